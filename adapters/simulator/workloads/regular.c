/* Regular page touch: each thread block touches `chunk` pages in a row, thread blocks lie one behind the
 * other. With chunk=1 the pages are touched in ascending order; with more, each agent walks a stream of its
 * own. */
#include "workload.h"

enum { BYTES, CHUNK, PASSES, WRITE };

static bool regular_open(struct workload *workload)
{
	workload_add_range(workload, "data", workload->value[BYTES]);
	return true;
}

static uint64_t pages_of(const struct workload *workload)
{
	return workload_ceil_div(workload->value[BYTES], WORKLOAD_PAGE);
}

static bool regular_launch(struct workload *workload)
{
	workload->kernel = "touch";
	workload->blocks = workload_ceil_div(pages_of(workload), workload->value[CHUNK]);
	return workload->kernels_done < workload->value[PASSES];
}

static bool regular_span(struct workload *workload, struct workload_slot *slot)
{
	uint64_t page = slot->block * workload->value[CHUNK] + slot->step;

	if (slot->step == workload->value[CHUNK] || page >= pages_of(workload))
		return false;
	slot->step++;
	workload_set_span(slot, workload->range[0].base + page * WORKLOAD_PAGE, 1,
	                  workload->value[WRITE] ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
	return true;
}

const struct workload_type workload_regular = {
        .name = "regular",
        .summary = "touches every page once a pass, in ascending order",
        .param = {{"bytes", "size of the one array", 1, (uint64_t)1 << 40, 32 << 20, true},
                  {"chunk", "consecutive pages of one thread block", 1, 1 << 28, 1, false},
                  {"passes", "kernels, each touching everything", 1, 1000000, 3, false},
                  {"write", "0 loads, 1 stores", 0, 1, 0, false},
                  WORKLOAD_AGENTS},
        .open = regular_open,
        .launch = regular_launch,
        .span = regular_span,
};
