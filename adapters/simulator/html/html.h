/* html.h: runs as one HTML file that needs no network: tables that any browser shows, charts where it has JavaScript, and the
 * same data as JSON in the element with id `data`, for programs (docs/pictures.md).
 *
 * Charts are drawn by Chart.js, which is inside the file if uvmsim was built with it. */
#ifndef UVMSIM_HTML_H
#define UVMSIM_HTML_H

#include "../observe/collector.h"
#include "../report.h"

/* The program's own command line. */
struct html_command {
	int argc;
	char **argv;		    /* argv[0] is the subcommand */
	const char *default_policy; /* of the environment, if it was used; NULL */
};

struct html_page {
	struct html_command command;
	/* run, compare: in the order of report_compare; NULL: none */
	const struct report *report;
	size_t reports;
	uint64_t not_drawn; /* runs whose pictures were not collected, to bound the memory */
	/* bound: the same source with several sizes of memory */
	const struct bound_report *bound;
	size_t bounds;
	/* explain */
	const char *log;
	const struct collector *log_pictures;
	const char *summary; /* text */
};

/* True if this program has the library for the charts; false after a report that names its package. */
bool html_is_built_in(void);
/* What could not be written is the file's error. False: out of memory. */
bool html_write(const struct html_page *page, FILE *out);

#endif
