/* SRAD of Rodinia (version 2): speckle-reducing anisotropic diffusion of an image of rows x cols floats, as a
 * program of managed memory (UVM Smart; SAND2022-1528, table 4-1). Two kernels an iteration, each of thread
 * blocks of 16 x 16 threads, a warp being two rows of its block's tile. The first loads the tile and the
 * cells around it (every row of threads those above and below, every thread of a row those left and right; at
 * the border of the image the border itself) and stores the diffusion coefficient and four differences; the
 * second updates the image from the coefficients of the tile and of the cells below and to the right. The
 * loads are those of the source between two barriers; the five stores, and the loads of the four differences,
 * do not wait for each other.
 *
 * In the study only the image is managed and the five coefficient arrays are ordinary memory of the GPU,
 * which cannot fault: their accesses are not shown. coefficients=1 makes them managed, too.
 *
 * The CPU draws the image; before each iteration it takes mean and variance of a corner, of 128 x 128 cells
 * as in Rodinia's own script, and at the end prints the image.
 *
 * rows=1024,cols=1024,iterations=2 is the published run of the page counts (1024 pages of the image). */
#include "cpu.h"
#include "runs.h"

enum { ROWS, COLS, ITERATIONS, COEFFICIENTS, CPU };
enum { C, E, W, S, N };

#define SIDE        16u
#define FLOAT_BYTES 4u
#define CORNER      128u /* rows and columns that the CPU reads */
#define STEPS       11u  /* of either kernel, those that do nothing included */

/* Instructions of a warp before a step, counted in what nvcc makes of the kernels (PTX), a division as ten; a barrier
 * stands where the source has one. */
struct code {
	uint16_t instructions, doubles;
	bool is_barrier;
};
static const struct code code[2][STEPS] = {
        {[0] = {27, 0, false}, [2] = {11, 0, true}, [5] = {11, 0, true}, [6] = {180, 12, true}},
        {[0] = {14, 0, false},
         [1] = {7, 0, true},
         [2] = {16, 0, true},
         [4] = {16, 0, true},
         [5] = {28, 0, true},
         [10] = {14, 6, true}}};

static const char *srad_check(const struct workload *workload)
{
	if (workload->value[ROWS] % SIDE != 0 || workload->value[COLS] % SIDE != 0)
		return "rows and cols must be multiples of 16";
	return NULL;
}

static bool srad_open(struct workload *workload)
{
	static const char *const name[] = {"c", "east", "west", "south", "north"};
	uint64_t bytes = workload->value[ROWS] * workload->value[COLS] * FLOAT_BYTES;

	for (unsigned i = 0; i < 5 && workload->value[COEFFICIENTS] != 0; i++)
		workload_add_fresh(workload, name[i], bytes);
	cpu_add_input(workload, workload->value[CPU], "image", bytes);
	return true;
}

/* Row `row` of the corner. */
static bool read_corner(struct workload *workload, uint64_t row)
{
	uint64_t cols = workload->value[COLS], length = cols < CORNER ? cols : CORNER;

	workload_set_cpu(workload, workload->range[workload->ranges - 1].base + row * cols * FLOAT_BYTES,
	                 length * FLOAT_BYTES, UVMP_ACCESS_READ);
	return true;
}

static bool srad_launch(struct workload *workload)
{
	const struct cpu_use input = {workload->ranges - 1, UVMP_ACCESS_WRITE, 0};
	uint64_t at = workload->ops, cpu = workload->value[CPU], rows = workload->value[ROWS];
	uint64_t reads = cpu == CPU_NONE ? 0 : rows < CORNER ? rows : CORNER;

	if (cpu_inputs(workload, cpu, &at, &input, 1))
		return true;
	if (!cpu_is_within(&at, workload->value[ITERATIONS] * (reads + 2)))
		return cpu_result(workload, cpu, at, workload->ranges - 1);
	at %= reads + 2;
	if (cpu_is_within(&at, reads))
		return read_corner(workload, at);
	workload->kernel = workload->kernels_done % 2 == 0 ? "srad_cuda_1" : "srad_cuda_2";
	workload->blocks = workload->value[ROWS] / SIDE * (workload->value[COLS] / SIDE);
	workload->warps = SIDE * SIDE / WORKLOAD_LANES;
	return true;
}

/* Where the warp is. */
struct place {
	uint64_t rows, cols;
	uint64_t top, left;                                              /* of the tile */
	uint64_t row;                                                    /* the upper one of the warp's two */
	bool is_first_row, is_last_row, is_first_column, is_last_column; /* of tiles */
};

static struct place place_of(const struct workload *workload, const struct workload_slot *slot)
{
	struct place p = {.rows = workload->value[ROWS], .cols = workload->value[COLS]};
	uint64_t tiles_x = p.cols / SIDE, tiles_y = p.rows / SIDE;
	uint64_t x = slot->block % tiles_x, y = slot->block / tiles_x;

	p.top = y * SIDE;
	p.left = x * SIDE;
	p.row = p.top + 2u * slot->warp;
	p.is_first_row = y == 0;
	p.is_last_row = y == tiles_y - 1;
	p.is_first_column = x == 0;
	p.is_last_column = x == tiles_x - 1;
	return p;
}

static uint64_t base_of(const struct workload *workload, unsigned coefficient)
{
	return workload->range[coefficient].base;
}

static uint64_t image_of(const struct workload *workload)
{
	return workload->range[workload->ranges - 1].base;
}

/* The warp's part of its tile. */
static bool set_own(struct workload_slot *slot, uint64_t base, const struct place *p, enum uvmp_access access)
{
	slot->lane[0] = base + (p->row * p->cols + p->left) * FLOAT_BYTES;
	slot->lane[1] = slot->lane[0] + p->cols * FLOAT_BYTES;
	runs_set(slot, 2, SIDE * FLOAT_BYTES, access);
	return true;
}

/* 16 cells of one row: both rows of the warp ask for the same. */
static bool load_row(struct workload_slot *slot, uint64_t base, const struct place *p, uint64_t row)
{
	runs_set_one(slot, base, row * p->cols + p->left, row * p->cols + p->left + SIDE, UVMP_ACCESS_READ);
	return true;
}

/* One cell for each of the warp's rows, `first` in the upper one. The index may run over the end of a row,
 * into the next or the one before, but not over those of the array: those threads load nothing. */
static bool load_sides(struct workload_slot *slot, uint64_t base, const struct place *p, int64_t first)
{
	int64_t cols = (int64_t)p->cols, cells = (int64_t)p->rows * cols;
	uint32_t lanes = 0;

	for (int64_t at = first; at <= first + cols; at += cols)
		if (at >= 0 && at < cells)
			slot->lane[lanes++] = base + (uint64_t)at * FLOAT_BYTES;
	if (lanes == 0)
		return false;
	workload_set_lanes(slot, lanes, FLOAT_BYTES, UVMP_ACCESS_READ);
	return true;
}

/* The cell to the left of the warp's part of the upper row. */
static int64_t west_of(const struct place *p)
{
	return (int64_t)(p->row * p->cols + p->left) - 1;
}

/* One step of the first kernel; false: it does nothing. */
static bool diffuse(struct workload *workload, struct workload_slot *slot, uint64_t step)
{
	struct place p = place_of(workload, slot);
	uint64_t image = image_of(workload);

	switch (step) {
	case 0:
		load_row(slot, image, &p, p.is_first_row ? p.top : p.top - 1);
		/* where the image is one tile high there is no load below */
		return (p.is_first_row && p.is_last_row) || workload_go_on(slot);
	case 1:
		if (p.is_last_row)
			return !p.is_first_row && load_row(slot, image, &p, p.top + SIDE - 1);
		return load_row(slot, image, &p, p.top + SIDE);
	case 2:
		return load_sides(slot, image, &p, west_of(&p)) && workload_go_on(slot);
	case 3:
		return load_sides(slot, image, &p, west_of(&p) + SIDE + 1);
	case 4:
		if (p.is_first_column)
			return load_sides(slot, image, &p, west_of(&p) + 1);
		return p.is_last_column && load_sides(slot, image, &p, west_of(&p) + SIDE);
	case 5:
		set_own(slot, image, &p, UVMP_ACCESS_READ);
		slot->flops = 40 * WORKLOAD_LANES;
		return true;
	default:
		return workload->value[COEFFICIENTS] != 0 &&
		       set_own(slot, base_of(workload, (unsigned)step - 6), &p, UVMP_ACCESS_WRITE) &&
		       (step == STEPS - 1 || workload_go_on(slot));
	}
}

/* One step of the second kernel; false: it does nothing. */
static bool update(struct workload *workload, struct workload_slot *slot, uint64_t step)
{
	struct place p = place_of(workload, slot);
	uint64_t image = image_of(workload), c = base_of(workload, C);

	if (step == 0) {
		set_own(slot, image, &p, UVMP_ACCESS_READ);
		slot->flops = 10 * WORKLOAD_LANES;
		return true;
	}
	if (step == STEPS - 1)
		return set_own(slot, image, &p, UVMP_ACCESS_WRITE);
	if (workload->value[COEFFICIENTS] == 0)
		return false;
	switch (step) {
	case 1:
		return load_row(slot, c, &p, p.is_last_row ? p.top + SIDE - 1 : p.top + SIDE);
	case 2:
		return load_sides(slot, c, &p, west_of(&p) + SIDE + 1);
	case 3:
		return p.is_last_column && load_sides(slot, c, &p, west_of(&p) + SIDE);
	case 4:
		return set_own(slot, c, &p, UVMP_ACCESS_READ);
	case 5:
		return set_own(slot, base_of(workload, N), &p, UVMP_ACCESS_READ) && workload_go_on(slot);
	case 6:
		return set_own(slot, base_of(workload, S), &p, UVMP_ACCESS_READ) && workload_go_on(slot);
	case 7:
		return set_own(slot, base_of(workload, W), &p, UVMP_ACCESS_READ) && workload_go_on(slot);
	case 8:
		return set_own(slot, base_of(workload, E), &p, UVMP_ACCESS_READ);
	default:
		return false;
	}
}

static bool srad_span(struct workload *workload, struct workload_slot *slot)
{
	while (slot->step < STEPS) {
		const struct code *before = &code[workload->kernels_done % 2][slot->step];
		uint64_t step = slot->step;

		if (before->instructions != 0 && slot->own[0]++ == 0)
			return workload_set_code(slot, before->instructions, before->doubles, before->is_barrier);
		slot->own[0] = 0;
		slot->step++;
		if (workload->kernels_done % 2 == 0 ? diffuse(workload, slot, step)
		                                    : update(workload, slot, step))
			return true;
	}
	return false;
}

const struct workload_type workload_srad = {
        .name = "srad",
        .summary = "Rodinia: speckle-reducing anisotropic diffusion of an image; published run: 1024 1024, 2 "
                   "iterations",
        .param = {{"rows", "rows, a multiple of 16", 16, 262144, 8192, false},
                  {"cols", "columns, a multiple of 16", 16, 262144, 8192, false},
                  {"iterations", "iterations of two kernels", 1, 1000000, 2, false},
                  {"coefficients", "1: the five coefficient arrays are managed, too", 0, 1, 0, false},
                  CPU_PARAM,
                  WORKLOAD_AGENTS},
        .check = srad_check,
        .open = srad_open,
        .launch = srad_launch,
        .span = srad_span,
};
