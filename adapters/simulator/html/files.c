/* Style sheet, script and library of the HTML file, as the Makefile has turned them into arrays; empty without the library. */
#include "html_internal.h"

#include "say.h"

#ifdef HAVE_CHARTJS
#include "html.inc"

#define BUILT_IN(array) {array, sizeof(array)}
const struct html_file html_style = BUILT_IN(html_report_css), html_script = BUILT_IN(html_report_js),
		       html_library = BUILT_IN(html_chart_min_js);

bool html_is_built_in(void)
{
	return true;
}
#else
const struct html_file html_style, html_script, html_library;

bool html_is_built_in(void)
{
	say_error("--report: this uvmsim was built without Chart.js; install libjs-chart.js and build it again");
	return false;
}
#endif
