/* grid.h: counts of pages by page and time, in bounded memory.
 *
 * A cell stands for row_pages pages and for a length of time of column_width. When a page or a time lies outside, pairs of
 * rows or columns are merged until it lies inside: so every count stays exact, and the resolution says how coarse its
 * place is. At least half of the rows and columns are in use once the first merge has happened. */
#ifndef UVMSIM_GRID_H
#define UVMSIM_GRID_H

#include <stdint.h>

#include "uvmpolicy/mask.h"

enum { GRID_ROWS = 256, GRID_COLUMNS = 512 };

enum grid_plane {
	GRID_FAULTED = 0, /* pages that arrived for their own fault */
	GRID_PREFETCHED,  /* all others that arrived */
	GRID_AGAIN,	  /* of both: pages that were evicted before */
	GRID_EVICTED,
	GRID_LEFT, /* left the GPU for another cause */
	GRID_PLANES
};

struct grid {
	uint64_t row_pages, column_width; /* 1 at first */
	uint32_t rows, columns;		  /* in use: up to the last one that has been counted in */
	uint32_t cell[GRID_PLANES][GRID_ROWS][GRID_COLUMNS];
};

/* The pages that an event is about: a run, or those of it that are in a mask. */
struct grid_pages {
	uint64_t page;
	uint32_t pages;
	const uvmp_mask *mask; /* NULL: all */
	uint32_t first;	       /* bit of the mask that stands for `page` */
};

/* The grid begins as zeros. */
void grid_init(struct grid *grid);
void grid_add(struct grid *grid, enum grid_plane plane, const struct grid_pages *pages, uint64_t time);
/* The run lasted until `time`, even if nothing was counted then. */
void grid_extend(struct grid *grid, uint64_t time);
uint64_t grid_sum(const struct grid *grid, enum grid_plane plane);

#endif
