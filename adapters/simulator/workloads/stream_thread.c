/* Streaming, thread by thread: the kernel stream_thread of the NVIDIA blog 2017 (Sakharnykh). Thread t of the
 * grid accesses elements t, t + threads, t + 2 * threads, ... of ptr, so that a warp's 32 threads share a
 * page with the warps beside them. The reading version adds up what it reads and at its end stores one
 * element per thread to output.
 *
 * The blog does not give the shape of the grid. The default fills a Tesla P100: 56 SMs of 2048 threads, with
 * thread blocks as large as those of the blog's other kernel (1024 threads). Nor does it say where output
 * lies; that its profile counts 64 MB for 64 MB of input means that output is not managed memory, which is
 * the default here. */
#include "workload.h"

enum { BYTES, TYPE_BYTES, GRID, BLOCK, WRITE, OUTPUT };

static bool stores_output(const struct workload *workload)
{
	return !workload->value[WRITE] && workload->value[OUTPUT];
}

static bool stream_thread_open(struct workload *workload)
{
	workload_add_range(workload, "ptr", workload->value[BYTES]);
	if (stores_output(workload))
		workload_add_range(workload, "output",
		                   workload->value[GRID] * workload->value[BLOCK] *
		                           workload->value[TYPE_BYTES]);
	return true;
}

static bool stream_thread_launch(struct workload *workload)
{
	workload->kernel = "stream_thread";
	workload->blocks = workload->value[GRID];
	workload->warps = (uint32_t)workload_ceil_div(workload->value[BLOCK], WORKLOAD_LANES);
	return workload->kernels_done == 0;
}

/* Steps: one of the warp's loads or stores each; slot->row is 1 when output has been stored. */
static bool stream_thread_step(struct workload *workload, struct workload_slot *slot)
{
	uint64_t size = workload->value[TYPE_BYTES], block = workload->value[BLOCK];
	uint64_t elements = workload->value[BYTES] / size;
	uint64_t lane = (uint64_t)slot->warp * WORKLOAD_LANES, thread = slot->block * block + lane;
	uint64_t lanes = block - lane < WORKLOAD_LANES ? block - lane : WORKLOAD_LANES;
	uint64_t first = thread + slot->step * workload->value[GRID] * block;

	if (first < elements) {
		if (lanes > elements - first)
			lanes = elements - first;
		slot->step++;
		workload_set_wide(slot, workload->range[0].base + first * size, lanes * size,
		                  workload->value[WRITE] ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
		slot->flops = workload->value[WRITE] ? 0 : (uint32_t)lanes;
		return true;
	}
	if (slot->row++ != 0 || !stores_output(workload))
		return false;
	workload_set_wide(slot, workload->range[1].base + thread * size, lanes * size, UVMP_ACCESS_WRITE);
	return true;
}

const struct workload_type workload_stream_thread = {
        .name = "stream_thread",
        .summary = "neighbouring threads read neighbouring elements, grid after grid (NVIDIA blog 2017)",
        .param = {{"bytes", "size of ptr", 16, (uint64_t)1 << 40, 64 << 20, true},
                  {"type_bytes", "size of an element", 1, 16, 4, false},
                  {"grid", "thread blocks", 1, 1 << 20, 112, false},
                  {"block", "threads of a thread block", 1, 1024, 1024, false},
                  {"write", "0 loads, 1 stores", 0, 1, 0, false},
                  {"output", "1: the sums go to managed memory, too", 0, 1, 0, false},
                  WORKLOAD_AGENTS},
        .open = stream_thread_open,
        .launch = stream_thread_launch,
        .span = stream_thread_step,
};
