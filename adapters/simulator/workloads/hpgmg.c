/* HPGMG-FV with CUDA (Williams; Sakharnykh): geometric multigrid V-cycles on a cube of boxes, fourth-order
 * finite volumes, red-black Gauss-Seidel smoother.
 *
 * A level has boxes^3 boxes of dim^3 cells; the next level has as many boxes of half the side. A box of one
 * vector is its cells with a ghost zone of two, rows padded to 4 doubles, planes and boxes to 8. A level is
 * one allocation: vector after vector, in each box after box. A program works on tiles of 32 x 4 x 8 cells,
 * one a thread block, box after box; a warp is 32 cells of a plane and walks through the planes.
 *
 * V-cycle: on the way down on each level 2 * smooths sweeps, the residual, its restriction to the next level
 * and a cleared solution there; on the way up interpolation and the sweeps again; the last level only has one
 * round of sweeps. Before each sweep and residual the ghost zones are filled: between boxes by a list of
 * small copies, at the walls of the cube from the cells beside them (faces; edges lie on the same pages).
 * Those copies jump from box to box, and faces across the rows take two cells of each row: this is the
 * random-like part that Allen & Ge 2021 (figure 7) see. Levels of less than 10,000 cells are the CPU's, as in
 * the published build, and left out.
 *
 * Footprint of a level: 10 vectors * boxes^3 * padded (dim + 4)^3 * 8 bytes; three vectors are not used by a
 * V-cycle (alpha, e, r). The program's arguments "6 8" are box=6, boxes=2 (236 MB), "7 8" are box=7, boxes=2
 * (1.7 GB). Allen & Ge 2021 give none; of 139,785 faults without prefetching (table I) the first is nearer.
 */
#include <stdlib.h>

#include "array.h"
#include "gather.h"

enum { BOX, BOXES, SMOOTHS, CYCLES };
enum vector { TEMP, U, F, R, DINV, BETA_I, BETA_J, BETA_K, ALPHA, E, VECTORS };

#define DOUBLE_BYTES 8u
#define GHOSTS       2u
#define LEVELS_MAX   8u
#define GPU_CELLS    10000u
#define TILE_I       32u
#define TILE_J       4u
#define TILE_K       8u
#define WARP         32u
#define COPY_WARPS   2u

/* Cells i + i0 .. i + i1 and j + j0 .. j + j1 of plane k + dk. Fine: twice i, j, k, on the level above. */
struct access {
	uint8_t vector;
	bool is_fine;
	int8_t i0, i1, j0, j1, dk;
};

#define LOADS_MAX     16u
#define LOADS_AT_ONCE 8u /* a run of 5 rows of at most 2112 bytes touches 4 pages: 32 lanes */

struct kernel {
	const char *name;
	enum { CELLS, COPY, WALL } shape;
	uint32_t flops; /* of one cell */
	uint8_t loads, stores;
	struct access load[LOADS_MAX], store[2];
};

/* clang-format off */
/* What the operator reads: the cross with arms of two cells and the edges of the cube, in u; the faces of the
 * cell and those beside them, in the coefficients. Cells beside the middle row lie between the rows that are
 * named, so they need not be. */
#define OPERATOR                                                                       \
	{U, false, 0, 0, 0, 0, -2}, {U, false, 0, 0, -1, 1, -1}, {U, false, 0, 0, -2, 2, 0}, \
	{U, false, 0, 0, -1, 1, 1}, {U, false, 0, 0, 0, 0, 2},                                 \
	{BETA_I, false, 0, 1, -1, 1, 0}, {BETA_I, false, 0, 1, 0, 0, -1}, {BETA_I, false, 0, 1, 0, 0, 1}, \
	{BETA_J, false, -1, 1, 0, 1, 0}, {BETA_J, false, 0, 0, 0, 1, -1}, {BETA_J, false, 0, 0, 0, 1, 1}, \
	{BETA_K, false, 0, 0, -1, 1, 0}, {BETA_K, false, 0, 0, -1, 1, 1}
#define OPERATOR_LOADS 13

static const struct kernel smooth = {"smooth", CELLS, 100, OPERATOR_LOADS + 2, 1,
	{OPERATOR, {F, false, 0, 0, 0, 0, 0}, {DINV, false, 0, 0, 0, 0, 0}},
	{{U, false, 0, 0, 0, 0, 0}}};
static const struct kernel residual = {"residual", CELLS, 98, OPERATOR_LOADS + 1, 1,
	{OPERATOR, {F, false, 0, 0, 0, 0, 0}},
	{{TEMP, false, 0, 0, 0, 0, 0}}};
/* of coarse cells */
static const struct kernel restriction = {"restriction", CELLS, 8, 2, 1,
	{{TEMP, true, 0, 1, 0, 1, 0}, {TEMP, true, 0, 1, 0, 1, 1}},
	{{F, false, 0, 0, 0, 0, 0}}};
static const struct kernel zero_vector = {"zero_vector", CELLS, 0, 0, 1, {{0}},
	{{U, false, 0, 0, 0, 0, 0}}};
static const struct kernel interpolation = {"interpolation", CELLS, 400, 5, 2,
	{{U, false, -1, 1, -1, 1, -1}, {U, false, -1, 1, -1, 1, 0}, {U, false, -1, 1, -1, 1, 1},
	 {U, true, 0, 1, 0, 1, 0}, {U, true, 0, 1, 0, 1, 1}},
	{{U, true, 0, 1, 0, 1, 0}, {U, true, 0, 1, 0, 1, 1}}};
static const struct kernel exchange = {"exchange_boundary", COPY, 0, 1, 1, {{U, false, 0, 0, 0, 0, 0}}, {{0}}};
static const struct kernel walls = {"apply_BCs", WALL, 8, 1, 1, {{U, false, 0, 0, 0, 0, 0}}, {{0}}};
/* clang-format on */

struct level {
	uint64_t dim, pitch_j, pitch_k, volume; /* in cells */
	uint64_t tile_i, tile_j, tile_k;
	uint64_t tiles; /* of one box */
};

/* One kernel of a V-cycle. */
struct launch {
	const struct kernel *kernel;
	unsigned level;
};

/* One face of one box, and the number of its first tile in the list that it is in. */
struct face {
	uint32_t box;
	uint8_t axis, side;
	uint64_t first;
};

struct hpgmg {
	struct level level[LEVELS_MAX];
	unsigned levels, launches;
	struct launch *launch;
	struct face *inner, *outer; /* between boxes; at a wall */
	uint64_t inners, outers;
	/* the kernel that runs */
	const struct kernel *kernel;
	unsigned at;
};

/* -- levels -- */

static uint64_t round_up(uint64_t number, uint64_t step)
{
	return workload_ceil_div(number, step) * step;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void init_level(struct level *level, uint64_t dim)
{
	level->dim = dim;
	level->pitch_j = round_up(dim + 2 * GHOSTS, 4);
	level->pitch_k = round_up(level->pitch_j * (dim + 2 * GHOSTS), 8);
	level->volume = round_up(level->pitch_k * (dim + 2 * GHOSTS), 8);
	level->tile_i = smaller(dim, TILE_I);
	level->tile_j = smaller(dim, TILE_J);
	level->tile_k = smaller(dim, TILE_K);
	level->tiles = dim / level->tile_i * (dim / level->tile_j) * (dim / level->tile_k);
}

static uint64_t box_count(const struct workload *workload)
{
	return workload->value[BOXES] * workload->value[BOXES] * workload->value[BOXES];
}

static bool is_on_gpu(const struct workload *workload, uint64_t dim)
{
	uint64_t side = dim * workload->value[BOXES];

	return dim >= TILE_J && side * side * side >= GPU_CELLS;
}

/* -- the list of launches of a V-cycle -- */

static void add_launch(struct hpgmg *hpgmg, const struct kernel *kernel, unsigned level)
{
	hpgmg->launch[hpgmg->launches++] = (struct launch){kernel, level};
}

static void add_ghosts(struct hpgmg *hpgmg, unsigned level)
{
	if (hpgmg->inners > 0)
		add_launch(hpgmg, &exchange, level);
	add_launch(hpgmg, &walls, level);
}

static void add_sweeps(const struct workload *workload, struct hpgmg *hpgmg, unsigned level)
{
	for (uint64_t sweep = 0; sweep < 2 * workload->value[SMOOTHS]; sweep++) {
		add_ghosts(hpgmg, level);
		add_launch(hpgmg, &smooth, level);
	}
}

static void add_cycle(const struct workload *workload, struct hpgmg *hpgmg)
{
	unsigned last = hpgmg->levels - 1;

	for (unsigned level = 0; level < last; level++) {
		add_sweeps(workload, hpgmg, level);
		add_ghosts(hpgmg, level);
		add_launch(hpgmg, &residual, level);
		add_launch(hpgmg, &restriction, level + 1);
		add_launch(hpgmg, &zero_vector, level + 1);
	}
	add_sweeps(workload, hpgmg, last);
	for (unsigned level = last; level-- > 0;) {
		add_ghosts(hpgmg, level + 1);
		add_launch(hpgmg, &interpolation, level + 1);
		add_sweeps(workload, hpgmg, level);
	}
}

/* -- faces -- */

static uint64_t box_step(const struct workload *workload, unsigned axis)
{
	uint64_t boxes = workload->value[BOXES];

	return axis == 0 ? 1 : axis == 1 ? boxes : boxes * boxes;
}

static void add_faces(const struct workload *workload, struct hpgmg *hpgmg)
{
	for (uint32_t box = 0; box < box_count(workload); box++)
		for (unsigned face = 0; face < 6; face++) {
			unsigned axis = face / 2, side = face % 2;
			uint64_t place = box / box_step(workload, axis) % workload->value[BOXES];
			bool is_wall = place == (side == 0 ? 0 : workload->value[BOXES] - 1);
			struct face *list = is_wall ? hpgmg->outer : hpgmg->inner;
			uint64_t *count = is_wall ? &hpgmg->outers : &hpgmg->inners;

			list[(*count)++] = (struct face){box, (uint8_t)axis, (uint8_t)side, 0};
		}
}

/* The ghost cells behind a face: two along the axis, else the side of the box. */
static uint64_t extent_of(const struct level *level, unsigned face_axis, unsigned axis)
{
	return axis == face_axis ? GHOSTS : level->dim;
}

static uint64_t tile_extent(const struct level *level, unsigned face_axis, unsigned axis)
{
	uint64_t tile = axis == 0 ? level->tile_i : axis == 1 ? level->tile_j : level->tile_k;

	return smaller(tile, extent_of(level, face_axis, axis));
}

static uint64_t face_tiles(const struct level *level, unsigned face_axis)
{
	uint64_t tiles = 1;

	for (unsigned axis = 0; axis < 3; axis++)
		tiles *= extent_of(level, face_axis, axis) / tile_extent(level, face_axis, axis);
	return tiles;
}

/* Numbers the tiles of a list on one level; returns how many there are. */
static uint64_t number_tiles(struct face *list, uint64_t count, const struct level *level)
{
	uint64_t tiles = 0;

	for (uint64_t i = 0; i < count; i++) {
		list[i].first = tiles;
		tiles += face_tiles(level, list[i].axis);
	}
	return tiles;
}

static const struct face *find_face(const struct face *list, uint64_t count, uint64_t tile)
{
	uint64_t low = 0;

	while (count > 1) { /* the last one that does not start behind the tile */
		uint64_t half = count / 2;

		if (list[low + half].first <= tile)
			low += half;
		count -= half;
	}
	return &list[low];
}

/* -- workload -- */

static bool hpgmg_open(struct workload *workload)
{
	struct hpgmg *hpgmg = calloc(1, sizeof(*hpgmg));
	uint64_t sweeps = 2 * workload->value[SMOOTHS];

	if (hpgmg == NULL)
		return false;
	workload->state = hpgmg;
	for (uint64_t dim = (uint64_t)1 << workload->value[BOX];
	     hpgmg->levels == 0 || (hpgmg->levels < LEVELS_MAX && is_on_gpu(workload, dim)); dim /= 2) {
		static const char *const name[LEVELS_MAX] = {"level0", "level1", "level2", "level3",
		                                             "level4", "level5", "level6", "level7"};
		struct level *level = &hpgmg->level[hpgmg->levels];

		init_level(level, dim);
		workload_add_range(workload, name[hpgmg->levels],
		                   VECTORS * box_count(workload) * level->volume * DOUBLE_BYTES);
		hpgmg->levels++;
	}
	/* a level: 3 launches a sweep, twice, and 8 more */
	hpgmg->launch = array_zeros(hpgmg->levels * (2 * 3 * sweeps + 8), sizeof(*hpgmg->launch));
	hpgmg->inner = array_zeros(box_count(workload) * 6, sizeof(*hpgmg->inner));
	hpgmg->outer = array_zeros(box_count(workload) * 6, sizeof(*hpgmg->outer));
	if (hpgmg->launch == NULL || hpgmg->inner == NULL || hpgmg->outer == NULL)
		return false;
	add_faces(workload, hpgmg);
	add_cycle(workload, hpgmg);
	return true;
}

static void hpgmg_close(struct workload *workload)
{
	struct hpgmg *hpgmg = workload->state;

	if (hpgmg == NULL)
		return;
	free(hpgmg->launch);
	free(hpgmg->inner);
	free(hpgmg->outer);
	free(hpgmg);
}

static bool hpgmg_launch(struct workload *workload)
{
	struct hpgmg *hpgmg = workload->state;
	const struct launch *launch = &hpgmg->launch[workload->kernels_done % hpgmg->launches];
	const struct level *level = &hpgmg->level[launch->level];

	hpgmg->kernel = launch->kernel;
	hpgmg->at = launch->level;
	workload->kernel = launch->kernel->name;
	workload->warps = COPY_WARPS;
	if (launch->kernel->shape == COPY) {
		workload->blocks = number_tiles(hpgmg->inner, hpgmg->inners, level);
	} else if (launch->kernel->shape == WALL) {
		workload->blocks = number_tiles(hpgmg->outer, hpgmg->outers, level);
	} else {
		workload->blocks = box_count(workload) * level->tiles;
		workload->warps = (uint32_t)workload_ceil_div(level->tile_i * level->tile_j, WARP);
	}
	return workload->kernels_done / hpgmg->launches < workload->value[CYCLES];
}

/* Cell (0, 0, 0) is the first that is no ghost. */
static uint64_t address_of(const struct workload *workload, unsigned at, unsigned vector, uint64_t box,
                           int64_t i, int64_t j, int64_t k)
{
	const struct level *level = &((const struct hpgmg *)workload->state)->level[at];
	uint64_t cell = (uint64_t)(i + (int64_t)GHOSTS) + (uint64_t)(j + (int64_t)GHOSTS) * level->pitch_j +
	                (uint64_t)(k + (int64_t)GHOSTS) * level->pitch_k;

	return workload->range[at].base +
	       ((vector * box_count(workload) + box) * level->volume + cell) * DOUBLE_BYTES;
}

/* -- tiles of cells -- */

/* The warp's cells of one plane: tile_i cells of each of `rows` rows. */
struct place {
	uint64_t box, cells, rows;
	int64_t i, j, k;
};

static struct place place_of(const struct level *level, const struct workload_slot *slot)
{
	uint64_t box = slot->block / level->tiles, tile = slot->block - box * level->tiles;
	uint64_t across = level->dim / level->tile_i, down = level->dim / level->tile_j;
	uint64_t rows = smaller(WARP / level->tile_i, level->tile_j);

	return (struct place){box,
	                      level->tile_i,
	                      rows,
	                      (int64_t)(tile % across * level->tile_i),
	                      (int64_t)(tile / across % down * level->tile_j + slot->warp * rows),
	                      (int64_t)(tile / across / down * level->tile_k + slot->row)};
}

static uint32_t add_access(struct workload *workload, struct workload_slot *slot, uint32_t lanes,
                           const struct access *access, const struct place *place)
{
	const struct hpgmg *hpgmg = workload->state;
	unsigned at = hpgmg->at - access->is_fine;
	int64_t scale = access->is_fine ? 2 : 1, cells = (int64_t)place->cells, rows = (int64_t)place->rows;
	int64_t i = scale * place->i, j = scale * place->j, k = scale * place->k + access->dk;
	uint64_t first =
	        address_of(workload, at, access->vector, place->box, i + access->i0, j + access->j0, k);
	uint64_t last =
	        address_of(workload, at, access->vector, place->box, i + scale * (cells - 1) + access->i1,
	                   j + scale * (rows - 1) + access->j1, k);

	return gather_run(slot, lanes, first, last + DOUBLE_BYTES - first);
}

/* Plane slot->row; slot->step counts its loads, then the stores. */
static bool set_cells(struct workload *workload, struct workload_slot *slot)
{
	const struct hpgmg *hpgmg = workload->state;
	const struct kernel *kernel = hpgmg->kernel;
	const struct level *level = &hpgmg->level[hpgmg->at];
	struct place place;
	uint32_t lanes = 0;

	if (slot->row == level->tile_k)
		return false;
	place = place_of(level, slot);
	if (slot->step < kernel->loads) {
		bool is_first = slot->step == 0;

		for (unsigned i = 0; i < LOADS_AT_ONCE && slot->step < kernel->loads; i++)
			lanes = add_access(workload, slot, lanes, &kernel->load[slot->step++], &place);
		workload_set_lanes(slot, lanes, DOUBLE_BYTES, UVMP_ACCESS_READ);
		slot->goes_on = slot->step < kernel->loads;
		if (is_first)
			slot->flops = kernel->flops * WARP;
		return true;
	}
	for (unsigned i = 0; i < kernel->stores; i++)
		lanes = add_access(workload, slot, lanes, &kernel->store[i], &place);
	workload_set_lanes(slot, lanes, DOUBLE_BYTES, UVMP_ACCESS_WRITE);
	slot->step = 0;
	slot->row++;
	return true;
}

/* -- tiles of faces -- */

/* The rows of a tile's cells slot->row * 32 .. + 31 in the ghost zone (store) or where they come from (load).
 */
static bool set_face(struct workload *workload, struct workload_slot *slot)
{
	const struct hpgmg *hpgmg = workload->state;
	const struct level *level = &hpgmg->level[hpgmg->at];
	bool is_wall = hpgmg->kernel->shape == WALL, is_store = slot->step == 1;
	const struct face *face = is_wall ? find_face(hpgmg->outer, hpgmg->outers, slot->block)
	                                  : find_face(hpgmg->inner, hpgmg->inners, slot->block);
	uint64_t size[3], tile = slot->block - face->first, box = face->box, cells, rows, chunk;
	int64_t low[3];
	uint32_t lanes = 0;

	for (unsigned axis = 0; axis < 3; axis++) {
		uint64_t tiles;

		size[axis] = tile_extent(level, face->axis, axis);
		tiles = extent_of(level, face->axis, axis) / size[axis];
		low[axis] = (int64_t)(tile % tiles * size[axis]);
		tile /= tiles;
	}
	cells = size[0] * size[1] * size[2];
	chunk = slot->row * COPY_WARPS + slot->warp;
	if (chunk * WARP >= cells)
		return false;
	/* along the axis: ghosts -2, -1 or dim, dim + 1; their neighbour's cells, or the box's own at a wall
	 */
	if (is_store)
		low[face->axis] = face->side == 0 ? -(int64_t)GHOSTS : (int64_t)level->dim;
	else if ((face->side == 0) != is_wall)
		low[face->axis] = (int64_t)(level->dim - GHOSTS);
	if (!is_store && !is_wall)
		box = face->side == 0 ? box - box_step(workload, face->axis)
		                      : box + box_step(workload, face->axis);
	rows = smaller(WARP, cells) / size[0];
	for (uint64_t row = chunk * WARP / size[0]; rows > 0; rows--, row++)
		lanes = gather_run(slot, lanes,
		                   address_of(workload, hpgmg->at, U, box, low[0],
		                              low[1] + (int64_t)(row % size[1]),
		                              low[2] + (int64_t)(row / size[1])),
		                   size[0] * DOUBLE_BYTES);
	workload_set_lanes(slot, lanes, DOUBLE_BYTES, is_store ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
	slot->flops = is_store ? 0 : hpgmg->kernel->flops * WARP;
	slot->step ^= 1;
	slot->row += is_store;
	return true;
}

static bool hpgmg_span(struct workload *workload, struct workload_slot *slot)
{
	if (((const struct hpgmg *)workload->state)->kernel->shape == CELLS)
		return set_cells(workload, slot);
	return set_face(workload, slot);
}

const struct workload_type workload_hpgmg = {
        .name = "hpgmg",
        .summary = "HPGMG: multigrid V-cycles on a cube of boxes, fourth-order stencil",
        .param = {{"box", "cells along a box's side, as a power of two; arguments 6 8: 6", 4, 8, 6, false},
                  {"boxes", "boxes along a side of the cube; arguments 6 8: 2", 1, 8, 2, false},
                  {"smooths", "pairs of sweeps before and after; the program does 3", 1, 8, 2, false},
                  {"cycles", "V-cycles", 1, 1000000, 1, false},
                  WORKLOAD_AGENTS},
        .open = hpgmg_open,
        .close = hpgmg_close,
        .launch = hpgmg_launch,
        .span = hpgmg_span,
};
