/* Random page touch, as Allen & Ge 2021 define it: each thread accesses one page, no two threads the same
 * one, in random order. A warp accesses its 32 pages with one instruction. The order is another one in each
 * pass; it is computed, not stored, so that memory does not grow with the array. */
#include <stdlib.h>

#include "permute.h"
#include "workload.h"

enum { BYTES, THREADS, PASSES, WRITE };

static uint64_t pages_of(const struct workload *workload)
{
	return workload_ceil_div(workload->value[BYTES], WORKLOAD_PAGE);
}

static bool random_open(struct workload *workload)
{
	workload_add_range(workload, "data", workload->value[BYTES]);
	workload->state = malloc(sizeof(struct permutation));
	return workload->state != NULL;
}

static void random_close(struct workload *workload)
{
	free(workload->state);
}

static bool random_launch(struct workload *workload)
{
	permutation_init(workload->state, pages_of(workload), &workload->random);
	workload->kernel = "touch";
	workload->blocks = workload_ceil_div(pages_of(workload), workload->value[THREADS]);
	workload->warps = (uint32_t)workload_ceil_div(workload->value[THREADS], WORKLOAD_LANES);
	return workload->kernels_done < workload->value[PASSES];
}

static bool random_step(struct workload *workload, struct workload_slot *slot)
{
	uint64_t thread = (uint64_t)slot->warp * WORKLOAD_LANES; /* the warp's first, in its block */
	uint64_t first = slot->block * workload->value[THREADS] + thread;
	uint32_t lanes = 0;

	if (slot->step++ != 0)
		return false;
	while (lanes < WORKLOAD_LANES && thread + lanes < workload->value[THREADS] &&
	       first + lanes < pages_of(workload)) {
		slot->lane[lanes] = workload->range[0].base +
		                    permutation_at(workload->state, first + lanes) * WORKLOAD_PAGE;
		lanes++;
	}
	if (lanes == 0)
		return false;
	workload_set_lanes(slot, lanes, 1, workload->value[WRITE] ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
	return true;
}

const struct workload_type workload_random = {
        .name = "random",
        .summary = "each thread touches one page, in random order (Allen & Ge 2021)",
        .param = {{"bytes", "size of the one array", 1, (uint64_t)1 << 40, 256 << 20, true},
                  {"threads", "of a thread block", 1, 1024, 256, false},
                  {"passes", "kernels, each touching everything in another order", 1, 1000000, 3, false},
                  {"write", "0 loads, 1 stores", 0, 1, 0, false},
                  WORKLOAD_AGENTS},
        .open = random_open,
        .close = random_close,
        .launch = random_launch,
        .span = random_step,
};
