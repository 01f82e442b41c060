/* Chooses among the kinds of plots. */
#include "plot_internal.h"

void plot_show(const struct plot *plot, const struct report *report, size_t count, FILE *out)
{
	const char *separator = "";

	if (plot->kind == PLOT_BARS) {
		plot_bars(report, count, out);
		return;
	}
	if (plot->kind == PLOT_CURVE) {
		plot_curve(report, count, out);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (!report[i].collector)
			continue;
		fputs(separator, out);
		plot_heat(plot, &report[i], out);
		separator = "\n";
	}
}
