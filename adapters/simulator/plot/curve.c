/* A curve: what moves to the GPU over the size of its memory, for each policy. */
#include "plot_internal.h"

enum { LINES = 16, LABEL_COLUMNS = 10, POLICIES_MOST = 26 };

struct canvas {
	char cell[LINES][PLOT_COLUMNS];
	uint64_t memory_least, memory_most, most; /* bytes */
};

static void extend(struct canvas *c, const struct report *report)
{
	uint64_t memory = report->result.memory_bytes;

	if (c->memory_least == 0 || memory < c->memory_least)
		c->memory_least = memory;
	if (memory > c->memory_most)
		c->memory_most = memory;
	if (report->result.h2d_bytes > c->most)
		c->most = report->result.h2d_bytes;
	if (report->has_bound && report->bound_h2d_bytes > c->most)
		c->most = report->bound_h2d_bytes;
}

/* Of points in one place the first remains, but the optimum always gives way. */
static void put(struct canvas *c, uint64_t memory, uint64_t bytes, char mark)
{
	uint64_t width = c->memory_most - c->memory_least;
	size_t column = width != 0 ? (size_t)((double)(memory - c->memory_least) / (double)width * (PLOT_COLUMNS - 1)) : 0;
	size_t line = c->most != 0 ? (size_t)((double)bytes / (double)c->most * (LINES - 1) + 0.5) : 0;
	char *cell = &c->cell[LINES - 1 - line][column];

	if (*cell == ' ' || *cell == '*')
		*cell = mark;
}

/* The letter of a policy, by the order in which policies appear; 0: there are too many. */
static char letter_of(const struct report *report, size_t index)
{
	char letter = 'a';

	for (size_t i = 0; i < index; i++) {
		size_t k = 0;

		if (strcmp(report[i].policy, report[index].policy) == 0)
			break;
		while (k < i && strcmp(report[k].policy, report[i].policy) != 0)
			k++;
		letter = (char)(letter + (k == i));
	}
	return letter < 'a' + POLICIES_MOST ? letter : '\0';
}

static bool is_drawn(const struct report *report, const struct report *first)
{
	return report->is_complete && report->seed == first->seed && report->draw == 0 &&
	       strcmp(report->workload, first->workload) == 0;
}

static void draw_canvas(const struct canvas *c, FILE *out)
{
	char most[PLOT_TEXT_MAX], least[PLOT_TEXT_MAX], text[PLOT_TEXT_MAX];

	plot_bytes(text, c->most);
	for (int line = 0; line < LINES; line++) {
		fprintf(out, "%*s %s", LABEL_COLUMNS, line == 0 ? text : line == LINES - 1 ? "0 B" : "",
			plot_is_utf8() ? "│" : "|");
		for (int column = 0; column < PLOT_COLUMNS; column++) {
			char mark = c->cell[line][column];

			if (mark != ' ')
				plot_colour(mark == '*' ? PLOT_GREY : (enum plot_colour)(PLOT_BLUE + (mark - 'a') % 4), out);
			fputc(mark, out);
			if (mark != ' ')
				plot_colour(PLOT_PLAIN, out);
		}
		fputc('\n', out);
	}
	plot_bytes(least, c->memory_least);
	plot_bytes(most, c->memory_most);
	fprintf(out, "%*s %-*s%*s\n", LABEL_COLUMNS, "", PLOT_COLUMNS / 2, least, PLOT_COLUMNS / 2, most);
}

static void draw_workload(const struct report *report, size_t count, FILE *out)
{
	struct canvas canvas = {.memory_least = 0};
	bool has_bound = false;

	memset(canvas.cell, ' ', sizeof(canvas.cell));
	for (size_t i = 0; i < count; i++)
		if (is_drawn(&report[i], report))
			extend(&canvas, &report[i]);
	fprintf(out, "%.79s\nmoved to the GPU, over its memory\n", report->workload);
	for (size_t i = 0; i < count; i++) {
		char letter = letter_of(report, i);

		if (!is_drawn(&report[i], report) || letter == '\0')
			continue;
		put(&canvas, report[i].result.memory_bytes, report[i].result.h2d_bytes, letter);
		has_bound = has_bound || report[i].has_bound;
		if (report[i].has_bound)
			put(&canvas, report[i].result.memory_bytes, report[i].bound_h2d_bytes, '*');
	}
	draw_canvas(&canvas, out);
	for (size_t i = 0, next = 'a'; i < count; i++) {
		if ((size_t)letter_of(report, i) != next)
			continue;
		fprintf(out, "  %c  %.75s\n", (char)next++, report[i].policy_given);
	}
	if (strcmp(report[0].policy, report[count - 1].policy) != 0)
		fputs("     Of several policies in one place the first one is shown.\n", out);
	if (has_bound)
		fputs("  *  Belady's optimum, if no policy is in the same place\n", out);
}

void plot_curve(const struct report *report, size_t count, FILE *out)
{
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && strcmp(report[i].workload, report[end].workload) == 0; end++)
			;
		fputs(i == 0 ? "" : "\n", out);
		draw_workload(&report[i], end - i, out);
	}
}
