/* plot.h: pictures of runs as text, at most 80 columns wide.
 *
 * Block characters if the locale is UTF-8, else ASCII. Colours if standard output is a terminal and NO_COLOR is not set
 * (https://no-color.org). */
#ifndef UVMSIM_PLOT_H
#define UVMSIM_PLOT_H

#include "../report.h"

enum plot_kind { PLOT_HEAT = 0, PLOT_BARS, PLOT_CURVE };

struct plot {
	enum plot_kind kind;
	uint32_t rows; /* of a heat map, at most */
	bool is_brief; /* a heat map alone, without the lines around it that name the run */
};

/* As the environment and standard output say. Call before plot_show. */
void plot_style_init(void);
/* Draws the runs, which are in the order of report_compare; those of a heat map have collectors. */
void plot_show(const struct plot *plot, const struct report *report, size_t count, FILE *out);

#endif
