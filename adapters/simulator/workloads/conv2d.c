/* 2DCONV of PolyBench/GPU: a 3 x 3 convolution of ni x nj floats, as a program of managed memory (UVM Smart).
 * One kernel of thread blocks of 32 x 8 threads; a warp is 32 cells of one row. It loads the row above, its
 * own and the one below, without waiting in between, each three times, shifted by one column, which are on
 * the same pages and shown as one load, and stores its cells. The border of the result is not written.
 *
 * The CPU draws the input and prints every 10,000th element of the result.
 *
 * ni=1024,nj=1024 are the published logs. */
#include "cpu.h"
#include "runs.h"

enum { NI, NJ, CPU };
enum { A, B };

#define BLOCK_ROWS  8u
#define FLOAT_BYTES 4u
#define PRINTED     10000u

static bool conv2d_open(struct workload *workload)
{
	uint64_t bytes = workload->value[NI] * workload->value[NJ] * FLOAT_BYTES;

	cpu_add_input(workload, workload->value[CPU], "a", bytes);
	workload_add_fresh(workload, "b", bytes);
	return true;
}

static bool conv2d_launch(struct workload *workload)
{
	static const struct cpu_use input = {A, UVMP_ACCESS_WRITE, 0};
	uint64_t at = workload->ops, cpu = workload->value[CPU];
	uint64_t printed = workload_ceil_div(workload->value[NI] * workload->value[NJ], PRINTED);

	if (cpu_inputs(workload, cpu, &at, &input, 1))
		return true;
	if (!cpu_is_within(&at, 1)) {
		if (cpu == CPU_NONE || at == printed)
			return false;
		workload_set_cpu(workload, workload->range[B].base + at * PRINTED * FLOAT_BYTES, FLOAT_BYTES,
		                 UVMP_ACCESS_READ);
		return true;
	}
	workload->kernel = "convolution2d";
	workload->blocks = workload_ceil_div(workload->value[NI], BLOCK_ROWS) *
	                   workload_ceil_div(workload->value[NJ], WORKLOAD_LANES);
	workload->warps = BLOCK_ROWS;
	return true;
}

static bool conv2d_span(struct workload *workload, struct workload_slot *slot)
{
	uint64_t ni = workload->value[NI], nj = workload->value[NJ];
	uint64_t blocks_x = workload_ceil_div(nj, WORKLOAD_LANES);
	uint64_t i = slot->block / blocks_x * BLOCK_ROWS + slot->warp;
	uint64_t j = slot->block % blocks_x * WORKLOAD_LANES, end = j + WORKLOAD_LANES;

	if (j == 0)
		j = 1;
	if (end > nj - 1)
		end = nj - 1;
	if (i == 0 || i >= ni - 1 || j >= end || slot->step == 4)
		return false;
	if (slot->step == 3) {
		runs_set_one(slot, workload->range[B].base, i * nj + j, i * nj + end, UVMP_ACCESS_WRITE);
	} else {
		uint64_t row = (i + slot->step - 1) * nj;

		runs_set_one(slot, workload->range[A].base, row + j - 1, row + end + 1, UVMP_ACCESS_READ);
		slot->flops = 6 * WORKLOAD_LANES;
		slot->goes_on = slot->step < 2;
	}
	slot->step++;
	return true;
}

const struct workload_type workload_conv2d = {
        .name = "conv2d",
        .summary = "PolyBench/GPU: 3 x 3 convolution; published run: 1024 1024",
        .param = {{"ni", "rows", 3, 262144, 5792, false},
                  {"nj", "columns", 3, 262144, 5792, false},
                  CPU_PARAM,
                  WORKLOAD_AGENTS},
        .open = conv2d_open,
        .launch = conv2d_launch,
        .span = conv2d_span,
};
