/* A heat map: one row of characters for some pages, time from left to right. */
#include <string.h>

#include "plot_internal.h"

enum { LABEL_COLUMNS = 9 };

enum mark { NOTHING = 0, RESIDENT, EVICTED, FIRST, AGAIN, MARKS };

static const struct {
	const char *ascii, *utf8, *text;
	enum plot_colour colour;
} marks[MARKS] = {
	{" ", " ", "blank: in CPU memory", PLOT_PLAIN},
	{".", "░", "resident", PLOT_GREY},
	{"x", "×", "evicted", PLOT_YELLOW},
	{"+", "█", "first fetched", PLOT_BLUE},
	{"#", "▓", "fetched again", PLOT_RED},
};

/* Rows of the picture, each of `merged` rows of the grid; those between allocations are not drawn. */
struct view {
	const struct grid *grid;
	const struct layout *layout;
	uint32_t rows, merged;
};

static bool is_drawn(const struct view *v, uint32_t row)
{
	uint64_t pages = v->grid->row_pages * v->merged;

	return layout_has(v->layout, row * pages, (row + 1) * pages);
}

static uint32_t drawn_rows(const struct view *v)
{
	uint32_t drawn = 0;

	for (uint32_t row = 0; row < v->rows; row++)
		drawn += is_drawn(v, row);
	return drawn;
}

static struct view view_of(const struct collector *c, uint32_t rows_most)
{
	struct view view = {&c->grid, &c->layout, c->grid.rows, 1};

	while (drawn_rows(&view) > rows_most) {
		view.merged *= 2;
		view.rows = (c->grid.rows + view.merged - 1) / view.merged;
	}
	return view;
}

/* Pages counted in the columns [from, end) of a row of the picture. */
static uint64_t pages_in(const struct view *v, enum grid_plane plane, uint32_t row, uint32_t from, uint32_t end)
{
	uint64_t sum = 0;

	for (uint32_t r = row * v->merged; r < (row + 1) * v->merged && r < v->grid->rows; r++)
		for (uint32_t c = from; c < end; c++)
			sum += v->grid->cell[plane][r][c];
	return sum;
}

static uint32_t column_at(const struct view *v, uint32_t column)
{
	return column * v->grid->columns / PLOT_COLUMNS;
}

/* What happened in one character, by precedence; *resident: pages before and after it. */
static enum mark mark_of(const struct view *v, uint32_t row, uint32_t column, uint64_t *resident)
{
	uint32_t from = column_at(v, column), end = column_at(v, column + 1);
	uint32_t until = end > from ? end : from + 1; /* fewer columns than characters: some show the same */
	uint64_t arrived = pages_in(v, GRID_FAULTED, row, from, until) + pages_in(v, GRID_PREFETCHED, row, from, until);
	uint64_t again = pages_in(v, GRID_AGAIN, row, from, until), evicted = pages_in(v, GRID_EVICTED, row, from, until);
	uint64_t departed = evicted + pages_in(v, GRID_LEFT, row, from, until), before = *resident;

	if (end > from)
		*resident = before + arrived > departed ? before + arrived - departed : 0;
	if (again != 0)
		return AGAIN;
	if (arrived != 0)
		return FIRST;
	if (evicted != 0)
		return EVICTED;
	return before != 0 && *resident != 0 ? RESIDENT : NOTHING;
}

static void draw_row(const struct view *v, uint32_t row, FILE *out)
{
	enum plot_colour last = PLOT_PLAIN;
	uint64_t resident = 0;

	for (uint32_t column = 0; column < PLOT_COLUMNS; column++) {
		enum mark mark = mark_of(v, row, column, &resident);

		if (mark != NOTHING && marks[mark].colour != last)
			plot_colour(last = marks[mark].colour, out);
		fputs(plot_is_utf8() ? marks[mark].utf8 : marks[mark].ascii, out);
	}
	if (last != PLOT_PLAIN)
		plot_colour(PLOT_PLAIN, out);
}

static void draw_legend(FILE *out)
{
	static const enum mark order[] = {FIRST, RESIDENT, EVICTED, AGAIN};

	fputs("  ", out);
	for (size_t i = 0; i < COUNT(order); i++) {
		fputc(' ', out);
		plot_colour(marks[order[i]].colour, out);
		fputs(plot_is_utf8() ? marks[order[i]].utf8 : marks[order[i]].ascii, out);
		plot_colour(PLOT_PLAIN, out);
		fprintf(out, " %s ", marks[order[i]].text);
	}
	fprintf(out, " %s\n", marks[NOTHING].text);
}

/* Counted from the first page. */
static void draw_label(const struct view *v, uint64_t at, uint64_t row_bytes, FILE *out)
{
	uint64_t unit = row_bytes * v->rows >= UINT64_C(100000) << 20 ? UINT64_C(1) << 30 : 1u << 20;

	if (row_bytes % (1u << 20) != 0)
		unit = 1024;
	fprintf(out, "%5llu %ciB", (unsigned long long)(at / unit), unit == 1024 ? 'K' : unit == 1u << 20 ? 'M' : 'G');
}

/* The axis below the rows: time runs to the right. Without a GPU model faults are its clock. */
static void draw_clock(const struct report *report, FILE *out)
{
	const struct grid *g = &report->collector->grid;
	const char *axis = report->gpu ? "time -->" : "time, counted in faults fetched -->";
	int width = (int)strlen(axis), indent = (PLOT_COLUMNS - width) / 2;
	char end[PLOT_TEXT_MAX];

	if (report->gpu)
		plot_time(end, g->columns * g->column_width);
	else
		snprintf(end, sizeof(end), "%llu", (unsigned long long)report->result.faults_raw);
	fprintf(out, "%*s0%*s%*s\n", LABEL_COLUMNS + 1, "", indent + width - 1, axis, PLOT_COLUMNS - indent - width, end);
}

static void draw_title(const struct report *report, uint64_t row_bytes, FILE *out)
{
	char memory[PLOT_TEXT_MAX], row[PLOT_TEXT_MAX], footprint[PLOT_TEXT_MAX];

	plot_bytes(memory, report->result.memory_bytes);
	plot_bytes(footprint, report->result.footprint_bytes);
	plot_bytes(row, row_bytes);
	fprintf(out, "%.79s\n%.79s\n%s on a GPU with %s; one row: %s\n", report->workload, report->policy_given,
		footprint, memory, row);
}

/* Which row an allocation begins at, by its label, and where it lies. */
static void draw_allocations(const struct view *view, uint64_t row_bytes, uint64_t page_bytes, FILE *out)
{
	const struct layout *l = view->layout;
	char bytes[PLOT_TEXT_MAX];

	for (uint64_t i = 0; i < l->allocations && i < LAYOUT_ALLOCATIONS; i++) {
		const struct layout_allocation *own = &l->allocation[i];

		plot_bytes(bytes, own->bytes);
		draw_label(view, own->page * page_bytes / row_bytes * row_bytes, row_bytes, out);
		fprintf(out, "  %s%s%s at 0x%llx\n", own->name, own->name[0] != '\0' ? ", " : "", bytes,
			(unsigned long long)own->address);
	}
	if (l->allocations > LAYOUT_ALLOCATIONS)
		fprintf(out, "%*s  and %llu more allocations\n", LABEL_COLUMNS, "",
			(unsigned long long)(l->allocations - LAYOUT_ALLOCATIONS));
}

void plot_heat(const struct plot *plot, const struct report *report, FILE *out)
{
	const struct collector *c = report->collector;
	struct view view = view_of(c, plot->rows);
	uint64_t page_bytes = c->page_bytes != 0 ? c->page_bytes : 4096u;
	uint64_t row_bytes = c->grid.row_pages * view.merged * page_bytes;

	if (c->grid.rows == 0) {
		fputs("no page has moved: there is no picture\n", out);
		return;
	}
	if (!plot->is_brief)
		draw_title(report, row_bytes, out);
	if (!plot->is_brief)
		draw_allocations(&view, row_bytes, page_bytes, out);
	draw_legend(out);
	for (uint32_t row = 0; row < view.rows; row++) {
		if (!is_drawn(&view, row))
			continue;
		draw_label(&view, row * row_bytes, row_bytes, out);
		fputs(plot_is_utf8() ? "│" : "|", out);
		draw_row(&view, row, out);
		fputs(plot_is_utf8() ? "│\n" : "|\n", out);
	}
	draw_clock(report, out);
	if (!report->is_complete)
		fputs("the run is not complete\n", out);
}
