/* plot_internal.h: the interface between the kinds of plots. */
#ifndef UVMSIM_PLOT_INTERNAL_H
#define UVMSIM_PLOT_INTERNAL_H

#include "observe/collector.h"
#include "plot.h"
#include "report/report_internal.h"

enum { PLOT_COLUMNS = 68, PLOT_TEXT_MAX = 64 };

enum plot_colour { PLOT_PLAIN = 0, PLOT_BLUE, PLOT_RED, PLOT_YELLOW, PLOT_GREEN, PLOT_GREY, PLOT_COLOURS };

/* -- style.c -- */

bool plot_is_utf8(void);
/* Colours of what follows; no output if there are none. */
void plot_colour(enum plot_colour colour, FILE *out);
/* A horizontal bar of `length` eighths of a column; ASCII rounds to whole columns. */
void plot_bar(uint64_t eighths, FILE *out);
/* A name cut to `columns` characters, or filled up with blanks. */
void plot_name(const char *name, int columns, FILE *out);
/* `value` in the unit that fits: at most three digits before the point. */
void plot_time(char text[PLOT_TEXT_MAX], uint64_t ns);
void plot_bytes(char text[PLOT_TEXT_MAX], uint64_t bytes);

/* -- the kinds -- */

void plot_heat(const struct plot *plot, const struct report *report, FILE *out);
void plot_bars(const struct report *report, size_t count, FILE *out);
void plot_curve(const struct report *report, size_t count, FILE *out);

#endif
