/* Random page touch: every page once a pass, in an order that is shuffled anew for each pass. The shuffle is
 * computed, not stored, so that memory does not grow with the array. */
#include <stdlib.h>

#include "permute.h"
#include "workload.h"

enum { BYTES, PASSES, WRITE };

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
	workload->blocks = pages_of(workload);
	return workload->kernels_done < workload->value[PASSES];
}

static bool random_span(struct workload *workload, struct workload_slot *slot)
{
	if (slot->step++ != 0)
		return false;
	workload_set_span(
	        slot, workload->range[0].base + permutation_at(workload->state, slot->block) * WORKLOAD_PAGE,
	        1, workload->value[WRITE] ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
	return true;
}

const struct workload_type workload_random = {
        .name = "random",
        .summary = "touches every page once a pass, in random order",
        .param = {{"bytes", "size of the one array", 1, (uint64_t)1 << 40, 32 << 20, true},
                  {"passes", "kernels, each touching everything in another order", 1, 1000000, 3, false},
                  {"write", "0 loads, 1 stores", 0, 1, 0, false},
                  WORKLOAD_AGENTS},
        .open = random_open,
        .close = random_close,
        .launch = random_launch,
        .span = random_span,
};
