/* cuSPARSE: a dense matrix is converted to compressed sparse rows and multiplied with another one, after the
 * example of "Professional CUDA C Programming" (chapter 8) that Allen & Ge 2021 use: n x n floats in
 * column-major order, one of three elements not zero, cusparseSnnz, cusparseSdense2csr, and a product with
 * `columns` columns (cusparseScsrmm).
 *
 * The library's kernels are not public. Assumed is what its interface asks for:
 *   nnz         a thread counts one row: a warp walks through the columns, of each of which it reads the
 * piece of its 32 rows (128 bytes), 16 columns at once; then the 32 counts. scan        prefix sums of the
 * counts are the row pointers. dense2csr   the same walk again; each thread appends what is not zero to its
 * row's values and column numbers: the 32 rows of a warp are 32 places far from each other. csrmm       a
 * warp multiplies one row with 8 columns: 32 of the row's values and column numbers, then the elements of B
 * that they name, column by column; at the end it stores 8 elements of C.
 *
 * Which elements are not zero is computed, not stored: row i has n / sparsity of them, more or less, one in
 * each of as many equal parts of the row, at a place that a hash of the seed, row and part gives. The host
 * holds the n + 1 row pointers.
 *
 * Footprint: 4 n (n + 2 columns + 2 n / sparsity + 2) bytes, nearly. Allen & Ge 2021 give no size; 2,342,572
 * faults without prefetching (table I) fit n=32768 (about 1.75 million pages). */
#include <stdlib.h>

#include "array.h"
#include "gather.h"
#include "uvmpolicy/base.h"

enum { N, SPARSITY, COLUMNS };
enum { DENSE, B, C, COUNTS, VALUES, POINTERS, INDICES };
enum { NNZ, SCAN, DENSE2CSR, CSRMM, KERNELS };

#define ELEMENT_BYTES 4u /* floats and ints */
#define WARP          32u
#define BLOCK_WARPS   4u
#define WALK          16u /* columns at once: two pages each at most */
#define TILE          8u  /* columns of B of one warp */

struct cusparse {
	uint64_t key;
	uint64_t *pointer; /* [n + 1] */
};

/* -- the matrix -- */

static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0x9e3779b97f4a7c15u;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	return x ^ (x >> 32);
}

/* As many as the mean, give or take an eighth. */
static uint64_t draw_length(const struct workload *workload, const struct cusparse *cusparse, uint64_t row)
{
	uint64_t mean = workload->value[N] / workload->value[SPARSITY], spread = mean / 8;
	uint64_t length = mean - spread + mix(cusparse->key ^ mix(row)) % (2 * spread + 1);

	return length < workload->value[N] ? length : workload->value[N];
}

static uint64_t length_of(const struct cusparse *cusparse, uint64_t row)
{
	return cusparse->pointer[row + 1] - cusparse->pointer[row];
}

/* Column of the row's element `index`: somewhere in part `index` of the row's `length` parts. */
static uint64_t column_of(const struct workload *workload, uint64_t row, uint64_t length, uint64_t index)
{
	const struct cusparse *cusparse = workload->state;
	uint64_t n = workload->value[N];
	uint64_t first = workload_ceil_div(index * n, length),
	         end = workload_ceil_div((index + 1) * n, length);

	return first + mix(cusparse->key + row * n + index) % (end - first);
}

/* How many of the row's elements lie before the column. */
static uint64_t count_before(const struct workload *workload, uint64_t row, uint64_t column)
{
	uint64_t length = length_of(workload->state, row), part;

	if (column == workload->value[N] || length == 0)
		return length;
	part = column * length / workload->value[N];
	return part + (column_of(workload, row, length, part) < column);
}

/* -- workload -- */

static bool cusparse_open(struct workload *workload)
{
	struct cusparse *cusparse = calloc(1, sizeof(*cusparse));
	uint64_t n = workload->value[N], elements;

	if (cusparse == NULL)
		return false;
	workload->state = cusparse;
	cusparse->key = uvmp_random_next(&workload->random);
	cusparse->pointer = array_zeros(n + 1, sizeof(*cusparse->pointer));
	if (cusparse->pointer == NULL)
		return false;
	for (uint64_t row = 0; row < n; row++)
		cusparse->pointer[row + 1] = cusparse->pointer[row] + draw_length(workload, cusparse, row);
	elements = cusparse->pointer[n] > 0 ? cusparse->pointer[n] : 1; /* no range is empty */
	workload_add_range(workload, "A", n * n * ELEMENT_BYTES);
	workload_add_range(workload, "B", n * workload->value[COLUMNS] * ELEMENT_BYTES);
	workload_add_fresh(workload, "C", n * workload->value[COLUMNS] * ELEMENT_BYTES);
	workload_add_fresh(workload, "nnzPerRow", n * ELEMENT_BYTES);
	workload_add_fresh(workload, "csrVal", elements * ELEMENT_BYTES);
	workload_add_fresh(workload, "csrRowPtr", (n + 1) * ELEMENT_BYTES);
	workload_add_fresh(workload, "csrColInd", elements * ELEMENT_BYTES);
	return true;
}

static void cusparse_close(struct workload *workload)
{
	struct cusparse *cusparse = workload->state;

	if (cusparse == NULL)
		return;
	free(cusparse->pointer);
	free(cusparse);
}

static bool cusparse_launch(struct workload *workload)
{
	static const char *const name[KERNELS] = {"nnz", "scan", "dense2csr", "csrmm"};
	uint64_t n = workload->value[N], warps;

	if (workload->kernels_done == KERNELS)
		return false;
	workload->kernel = name[workload->kernels_done];
	workload->warps = BLOCK_WARPS;
	warps = workload_ceil_div(n, WARP);
	if (workload->kernels_done == CSRMM)
		warps = n * workload_ceil_div(workload->value[COLUMNS], TILE);
	workload->blocks = workload_ceil_div(warps, BLOCK_WARPS);
	return true;
}

static uint64_t element_of(const struct workload *workload, unsigned range, uint64_t index)
{
	return workload->range[range].base + index * ELEMENT_BYTES;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* One number for each of the warp's rows. */
static void set_numbers(struct workload *workload, struct workload_slot *slot, unsigned range, uint64_t row,
                        uint64_t count, enum uvmp_access access)
{
	workload_set_wide(slot, element_of(workload, range, row), count * ELEMENT_BYTES, access);
}

/* The piece of 32 rows of the next 16 columns; slot->row is the first of them. */
static void set_columns(struct workload *workload, struct workload_slot *slot, uint64_t row, uint64_t count)
{
	uint64_t n = workload->value[N], end = smaller(slot->row + WALK, n);
	uint32_t lanes = 0;

	for (uint64_t column = slot->row; column < end; column++)
		lanes = gather_run(slot, lanes, element_of(workload, DENSE, column * n + row),
		                   count * ELEMENT_BYTES);
	workload_set_lanes(slot, lanes, ELEMENT_BYTES, UVMP_ACCESS_READ);
	slot->flops = (uint32_t)(end - slot->row) * WARP;
}

static bool set_nnz(struct workload *workload, struct workload_slot *slot, uint64_t row, uint64_t count)
{
	if (slot->row < workload->value[N]) {
		set_columns(workload, slot, row, count);
		slot->row += WALK;
		return true;
	}
	if (slot->step++ != 0)
		return false;
	set_numbers(workload, slot, COUNTS, row, count, UVMP_ACCESS_WRITE);
	return true;
}

/* The last pointer, behind the last row, comes with the last row's warp. */
static bool set_scan(struct workload *workload, struct workload_slot *slot, uint64_t row, uint64_t count)
{
	bool is_last = row + count == workload->value[N];

	if (slot->step == 2)
		return false;
	if (slot->step++ == 0)
		set_numbers(workload, slot, COUNTS, row, count, UVMP_ACCESS_READ);
	else
		set_numbers(workload, slot, POINTERS, row, count + is_last, UVMP_ACCESS_WRITE);
	return true;
}

/* The values that the rows have in the 16 columns from slot->row on. False: there are none. */
static bool set_values(struct workload *workload, struct workload_slot *slot, uint64_t row, uint64_t count)
{
	const struct cusparse *cusparse = workload->state;
	uint64_t end = smaller(slot->row + WALK, workload->value[N]);
	uint32_t lanes = 0;

	for (uint64_t i = row; i < row + count; i++) {
		uint64_t behind = count_before(workload, i, end);

		/* of several elements the last one stands for all: the page before its own, if they begin
		 * there, has had a last one already */
		if (behind > count_before(workload, i, slot->row))
			slot->lane[lanes++] = element_of(workload, VALUES, cusparse->pointer[i] + behind - 1);
	}
	slot->own[0] = lanes;
	if (lanes > 0)
		workload_set_lanes(slot, lanes, ELEMENT_BYTES, UVMP_ACCESS_WRITE);
	return lanes > 0;
}

/* The column numbers of the values just set, whose addresses stand in lane[]. */
static void set_indices(struct workload *workload, struct workload_slot *slot)
{
	for (uint32_t lane = 0; lane < slot->own[0]; lane++)
		slot->lane[lane] += workload->range[INDICES].base - workload->range[VALUES].base;
	workload_set_lanes(slot, (uint32_t)slot->own[0], ELEMENT_BYTES, UVMP_ACCESS_WRITE);
}

/* Steps: 0 the pointers; then for 16 columns each the dense matrix, values and indices. */
static bool set_dense2csr(struct workload *workload, struct workload_slot *slot, uint64_t row, uint64_t count)
{
	enum { POINTER_STEP, DENSE_STEP, VALUE_STEP, INDEX_STEP };

	if (slot->step == POINTER_STEP) {
		set_numbers(workload, slot, POINTERS, row, count, UVMP_ACCESS_READ);
		slot->step = DENSE_STEP;
		return true;
	}
	if (slot->step == VALUE_STEP) {
		if (set_values(workload, slot, row, count)) {
			slot->step = INDEX_STEP;
			return workload_go_on(slot);
		}
		slot->row += WALK;
		slot->step = DENSE_STEP;
	} else if (slot->step == INDEX_STEP) {
		set_indices(workload, slot);
		slot->row += WALK;
		slot->step = DENSE_STEP;
		return true;
	}
	if (slot->row >= workload->value[N])
		return false;
	set_columns(workload, slot, row, count);
	slot->step = VALUE_STEP;
	return true;
}

/* The warps of the first 8 columns follow each other row by row, then those of the next 8. Steps: 0 the
 * pointers; 1 the next 32 elements; 2 to 9 what they need of a column of B, without waiting in between; 10
 * the results. slot->row counts elements. */
static bool set_csrmm(struct workload *workload, struct workload_slot *slot)
{
	enum { POINTER_STEP, ELEMENT_STEP, GATHER_STEP, LAST_STEP = GATHER_STEP + TILE, END_STEP };
	const struct cusparse *cusparse = workload->state;
	uint64_t n = workload->value[N], warp = slot->block * BLOCK_WARPS + slot->warp;
	uint64_t tile = warp / n, row = warp - tile * n, column = tile * TILE;
	uint64_t columns, first, length, count;
	uint32_t lanes = 0, last; /* last: where the lanes of the last column begin, if several are joined */

	if (column >= workload->value[COLUMNS] || slot->step == END_STEP)
		return false;
	columns = smaller(workload->value[COLUMNS] - column, TILE);
	first = cusparse->pointer[row] + slot->row;
	length = length_of(cusparse, row);
	count = smaller(length - slot->row, WARP);
	if (slot->step == POINTER_STEP) {
		set_numbers(workload, slot, POINTERS, row, 2, UVMP_ACCESS_READ);
		slot->step = length > 0 ? ELEMENT_STEP : LAST_STEP;
		return true;
	}
	if (slot->step == ELEMENT_STEP) {
		lanes = gather_run(slot, lanes, element_of(workload, INDICES, first), count * ELEMENT_BYTES);
		lanes = gather_run(slot, lanes, element_of(workload, VALUES, first), count * ELEMENT_BYTES);
		workload_set_lanes(slot, lanes, ELEMENT_BYTES, UVMP_ACCESS_READ);
		slot->step = GATHER_STEP;
		return true;
	}
	if (slot->step == LAST_STEP) {
		for (; lanes < columns; lanes++)
			slot->lane[lanes] = element_of(workload, C, (column + lanes) * n + row);
		workload_set_lanes(slot, lanes, ELEMENT_BYTES, UVMP_ACCESS_WRITE);
		slot->step = END_STEP;
		return true;
	}
	last = slot->lanes - (uint32_t)count;
	for (; lanes < count; lanes++) {
		if (slot->step > GATHER_STEP) /* the same rows of the next column */
			slot->lane[lanes] = slot->lane[last + lanes] + n * ELEMENT_BYTES;
		else
			slot->lane[lanes] =
			        element_of(workload, B,
			                   column * n + column_of(workload, row, length, slot->row + lanes));
	}
	workload_set_lanes(slot, lanes, ELEMENT_BYTES, UVMP_ACCESS_READ);
	slot->flops = 2 * lanes;
	slot->goes_on = ++slot->step < GATHER_STEP + columns;
	if (!slot->goes_on) {
		slot->row += count;
		slot->step = slot->row < length ? ELEMENT_STEP : LAST_STEP;
	}
	return true;
}

static bool cusparse_span(struct workload *workload, struct workload_slot *slot)
{
	uint64_t row = (slot->block * BLOCK_WARPS + slot->warp) * WARP, n = workload->value[N], count;

	if (workload->kernels_done == CSRMM)
		return set_csrmm(workload, slot);
	if (row >= n)
		return false;
	count = smaller(n - row, WARP);
	if (workload->kernels_done == NNZ)
		return set_nnz(workload, slot, row, count);
	if (workload->kernels_done == SCAN)
		return set_scan(workload, slot, row, count);
	return set_dense2csr(workload, slot, row, count);
}

const struct workload_type workload_cusparse = {
        .name = "cusparse",
        .summary = "dense matrix to compressed sparse rows, then a sparse matrix product",
        .param = {{"n", "rows and columns", 1, 1 << 18, 6272, false},
                  {"sparsity", "one of this number of elements is not zero", 1, 1 << 18, 3, false},
                  {"columns", "columns of the matrix that it is multiplied with", 1, 1 << 18, 8, false},
                  WORKLOAD_AGENTS},
        .open = cusparse_open,
        .close = cusparse_close,
        .launch = cusparse_launch,
        .span = cusparse_span,
};
