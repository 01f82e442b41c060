/* Forward and inverse cuFFT-like transform of 2^scale complex floats in one dimension, in place for the
 * caller.
 *
 * A transform that is too long for the shared memory of one thread block is done in passes (Cooley and Tukey,
 * decimation in frequency): n = R1 * R2 * ... * RP with factors of at most 2^radix. Pass p < P works on
 * columns of Rp elements that lie S = R(p+1) * ... * RP apart, and puts the results where the elements were.
 * The last pass transforms runs of RP neighbouring elements and puts the results in order, n / RP apart. A
 * thread block of 256 threads takes 16 neighbouring columns, or 16 runs whose results are neighbours, so that
 * its loads and stores are pieces of 128 bytes: n >= 2^18 touches a page for each of them. A thread loads all
 * its elements before it waits.
 *
 * The first pass reads the caller's array, the last one writes it (or the second array with out=1; the
 * inverse transform goes back). What lies between is in the plan's work area of n elements, which cuFFT
 * allocates as plain device memory, where nothing faults: with work=0 those accesses are left out. With
 * work=1 the area is managed too (cufftSetWorkArea).
 *
 * Footprint: 8 * 2^scale bytes an array. Allen & Ge 2021 give no size; 101,494 faults without prefetching
 * (table I) fit scale=25 in place (65,536 pages). */
#include <stdlib.h>

#include "workload.h"

enum { SCALE, RADIX, OUT, WORK, ITERATIONS };
enum { SIGNAL, SPECTRUM };
enum { NOWHERE = WORKLOAD_RANGES_MAX };

#define COMPLEX_BYTES 8u
#define COLUMNS       16u
#define WARPS         8u

/* The pass that runs. All sizes are powers of two. */
struct pass {
	unsigned index, count;      /* of passes */
	uint64_t radix, stride;     /* Rp and S; the last one has S = 1 */
	uint64_t columns;           /* 16, or fewer if there are no more */
	uint64_t first_radix, runs; /* last pass: R1, and how far apart its 16 runs lie */
	unsigned from, to;          /* ranges, or NOWHERE */
	uint32_t flops;             /* of one element */
};

static unsigned passes_of(const struct workload *workload)
{
	return (unsigned)workload_ceil_div(workload->value[SCALE], workload->value[RADIX]);
}

/* Bits of factor p: as even as possible, the larger ones first. */
static unsigned bits_of(const struct workload *workload, unsigned p)
{
	unsigned scale = (unsigned)workload->value[SCALE], count = passes_of(workload);

	return scale / count + (p < scale % count);
}

static bool cufft_open(struct workload *workload)
{
	uint64_t bytes = (uint64_t)COMPLEX_BYTES << workload->value[SCALE];

	workload_add_range(workload, "signal", bytes);
	if (workload->value[OUT])
		workload_add_fresh(workload, "spectrum", bytes);
	if (workload->value[WORK] && passes_of(workload) > 1)
		workload_add_fresh(workload, "work", bytes);
	workload->state = calloc(1, sizeof(struct pass));
	return workload->state != NULL;
}

static void cufft_close(struct workload *workload)
{
	free(workload->state);
}

static bool cufft_launch(struct workload *workload)
{
	struct pass *pass = workload->state;
	unsigned scale = (unsigned)workload->value[SCALE], bits, behind = 0, first = bits_of(workload, 0);
	bool is_inverse, is_last;
	unsigned work;

	pass->count = passes_of(workload);
	pass->index = (unsigned)(workload->kernels_done % pass->count);
	is_inverse = workload->kernels_done / pass->count % 2 == 1;
	is_last = pass->index + 1 == pass->count;
	bits = bits_of(workload, pass->index);
	for (unsigned p = pass->index + 1; p < pass->count; p++)
		behind += bits_of(workload, p);
	pass->radix = (uint64_t)1 << bits;
	pass->stride = (uint64_t)1 << behind;
	pass->first_radix = (uint64_t)1 << first;
	pass->runs = (uint64_t)1 << (scale - first);
	pass->columns = !is_last ? pass->stride : pass->count > 1 ? pass->first_radix : 1;
	if (pass->columns > COLUMNS)
		pass->columns = COLUMNS;
	pass->flops = 5 * bits;
	work = workload->value[WORK] ? workload->ranges - 1 : NOWHERE;
	pass->from = pass->to = work;
	if (pass->index == 0)
		pass->from = is_inverse && workload->value[OUT] ? SPECTRUM : SIGNAL;
	if (is_last)
		pass->to = !is_inverse && workload->value[OUT] ? SPECTRUM : SIGNAL;

	workload->kernel = is_inverse ? "fft_inverse" : "fft_forward";
	workload->blocks = ((uint64_t)1 << scale) / pass->radix / pass->columns;
	workload->warps = WARPS;
	return workload->kernels_done < 2 * (uint64_t)pass->count * workload->value[ITERATIONS];
}

/* First element of the thread block's columns, not in the last pass. */
static uint64_t first_column(const struct pass *pass, uint64_t block)
{
	uint64_t column = block * pass->columns, group = column / pass->stride;

	return group * pass->stride * pass->radix + (column & (pass->stride - 1));
}

/* Last pass: the run number d1, d2, ... d(P-1), digits by factors, has its results at ... d2, d1. The thread
 * block has 16 values of d1 and one of the others: which, is the upper part of its number. */
static uint64_t other_digits(const struct pass *pass, uint64_t block)
{
	return block / (pass->first_radix / pass->columns);
}

static uint64_t first_digit(const struct pass *pass, uint64_t block)
{
	return block % (pass->first_radix / pass->columns) * pass->columns;
}

/* Digits 2 to P - 1 turned around. */
static uint64_t reversed(const struct workload *workload, uint64_t digits)
{
	uint64_t result = 0;

	for (unsigned p = passes_of(workload) - 1; p-- > 1;) {
		unsigned bits = bits_of(workload, p);

		result = result << bits | (digits & (((uint64_t)1 << bits) - 1));
		digits >>= bits;
	}
	return result;
}

/* Elements of the thread block's row q (one of each column), all passes but the last one's loads. */
static uint64_t row_of(const struct workload *workload, const struct pass *pass, uint64_t block, uint64_t q)
{
	if (pass->index + 1 < pass->count)
		return first_column(pass, block) + q * pass->stride;
	if (pass->count == 1)
		return q;
	return (q << (workload->value[SCALE] - bits_of(workload, pass->index))) +
	       reversed(workload, other_digits(pass, block)) * pass->first_radix + first_digit(pass, block);
}

/* Up to 32 of the warp's rows; slot->row counts them. False: they are done. */
static bool set_rows(struct workload *workload, struct workload_slot *slot, unsigned range,
                     enum uvmp_access access)
{
	const struct pass *pass = workload->state;
	uint64_t share = workload_ceil_div(pass->radix, WARPS), first = slot->warp * share;
	uint32_t lanes = 0;

	if (range == NOWHERE)
		return false;
	for (; lanes < WORKLOAD_LANES && slot->row < share && first + slot->row < pass->radix; slot->row++)
		slot->lane[lanes++] = workload->range[range].base +
		                      row_of(workload, pass, slot->block, first + slot->row) * COMPLEX_BYTES;
	if (lanes == 0)
		return false;
	workload_set_lanes(slot, lanes, (uint32_t)pass->columns * COMPLEX_BYTES, access);
	slot->goes_on = slot->row < share && first + slot->row < pass->radix;
	return true;
}

/* The next of the warp's runs of the last pass. */
static bool set_run(struct workload *workload, struct workload_slot *slot)
{
	const struct pass *pass = workload->state;
	uint64_t share = workload_ceil_div(pass->columns, WARPS), run = slot->warp * share + slot->row;
	uint64_t first = first_digit(pass, slot->block) + run;

	if (pass->from == NOWHERE || slot->row == share || run >= pass->columns)
		return false;
	workload_set_wide(slot,
	                  workload->range[pass->from].base +
	                          (first * pass->runs + other_digits(pass, slot->block) * pass->radix) *
	                                  COMPLEX_BYTES,
	                  pass->radix * COMPLEX_BYTES, UVMP_ACCESS_READ);
	slot->goes_on = ++slot->row < share && run + 1 < pass->columns;
	return true;
}

/* slot->step is 0 while the warp loads, 1 while it stores; the flops are with the first store, or with the
 * loads of a pass whose stores are left out. */
static bool cufft_span(struct workload *workload, struct workload_slot *slot)
{
	const struct pass *pass = workload->state;
	bool is_last = pass->index + 1 == pass->count && pass->count > 1;
	uint32_t flops = (uint32_t)(pass->radix * pass->columns / WARPS) * pass->flops;

	if (slot->step == 0) {
		uint64_t done = slot->row;

		if (is_last ? set_run(workload, slot)
		            : set_rows(workload, slot, pass->from, UVMP_ACCESS_READ)) {
			if (done == 0 && pass->to == NOWHERE)
				slot->flops = flops;
			return true;
		}
		slot->step = 1;
		slot->row = 0;
	}
	if (!set_rows(workload, slot, pass->to, UVMP_ACCESS_WRITE))
		return false;
	if (slot->step == 1)
		slot->flops = flops;
	slot->step = 2;
	return true;
}

const struct workload_type workload_cufft = {
        .name = "cufft",
        .summary = "forward and inverse Fourier transform of complex floats in passes",
        .param = {{"scale", "complex numbers, as a power of two", 4, 34, 25, false},
                  {"radix", "longest transform of one thread block, as a power of two", 4, 12, 9, false},
                  {"out", "0 in place, 1 into another array", 0, 1, 0, false},
                  {"work", "0 the work area is device memory, 1 managed", 0, 1, 0, false},
                  {"iterations", "forward and inverse transforms", 1, 1000000, 1, false},
                  WORKLOAD_AGENTS},
        .open = cufft_open,
        .close = cufft_close,
        .launch = cufft_launch,
        .span = cufft_span,
};
