/* Counts by page and time; grid.h. */
#include "grid.h"

#include <string.h>

void grid_init(struct grid *g)
{
	memset(g, 0, sizeof(*g));
	g->row_pages = g->column_width = 1;
}

/* Of counts that do not fit the most that fits is kept. */
static uint32_t sum(uint32_t a, uint32_t b)
{
	return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static void merge_rows(struct grid *g)
{
	for (int plane = 0; plane < GRID_PLANES; plane++) {
		for (uint32_t row = 0; row < GRID_ROWS / 2; row++)
			for (uint32_t column = 0; column < g->columns; column++)
				g->cell[plane][row][column] = sum(g->cell[plane][2 * row][column],
								  g->cell[plane][2 * row + 1][column]);
		memset(g->cell[plane][GRID_ROWS / 2], 0, sizeof(g->cell[plane]) / 2);
	}
	g->rows = (g->rows + 1) / 2;
	g->row_pages *= 2;
}

static void merge_columns(struct grid *g)
{
	for (int plane = 0; plane < GRID_PLANES; plane++) {
		for (uint32_t row = 0; row < g->rows; row++) {
			uint32_t *cell = g->cell[plane][row];

			for (uint32_t column = 0; column < GRID_COLUMNS / 2; column++)
				cell[column] = sum(cell[2 * column], cell[2 * column + 1]);
			memset(cell + GRID_COLUMNS / 2, 0, sizeof(*cell) * GRID_COLUMNS / 2);
		}
	}
	g->columns = (g->columns + 1) / 2;
	g->column_width *= 2;
}

void grid_extend(struct grid *g, uint64_t time)
{
	uint32_t column;

	while (time / g->column_width >= GRID_COLUMNS)
		merge_columns(g);
	column = (uint32_t)(time / g->column_width);
	if (column >= g->columns)
		g->columns = column + 1;
}

static uint32_t pages_between(const struct grid_pages *p, uint64_t from, uint64_t end)
{
	uint32_t first = p->first + (uint32_t)(from - p->page);

	if (!p->mask)
		return (uint32_t)(end - from);
	return uvmp_mask_region_weight(p->mask, (struct uvmp_region){first, first + (uint32_t)(end - from)});
}

void grid_add(struct grid *g, enum grid_plane plane, const struct grid_pages *p, uint64_t time)
{
	uint64_t at = p->page, end = p->page + p->pages;

	if (p->pages == 0)
		return;
	grid_extend(g, time);
	while ((end - 1) / g->row_pages >= GRID_ROWS)
		merge_rows(g);
	while (at < end) {
		uint64_t row = at / g->row_pages, next = (row + 1) * g->row_pages;
		uint32_t *cell = &g->cell[plane][row][time / g->column_width];

		next = next < end ? next : end;
		*cell = sum(*cell, pages_between(p, at, next));
		if (row >= g->rows)
			g->rows = (uint32_t)row + 1;
		at = next;
	}
}

uint64_t grid_sum(const struct grid *g, enum grid_plane plane)
{
	uint64_t all = 0;

	for (uint32_t row = 0; row < g->rows; row++)
		for (uint32_t column = 0; column < g->columns; column++)
			all += g->cell[plane][row][column];
	return all;
}
