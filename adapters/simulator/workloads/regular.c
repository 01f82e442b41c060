/* Regular page touch, as Allen & Ge 2021 define it: each thread accesses the one page that has the number of
 * the thread in the grid. The 32 threads of a warp ask for 32 neighbouring pages with one instruction. */
#include "workload.h"

enum { BYTES, THREADS, PASSES, WRITE };

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
	workload->blocks = workload_ceil_div(pages_of(workload), workload->value[THREADS]);
	workload->warps = (uint32_t)workload_ceil_div(workload->value[THREADS], WORKLOAD_LANES);
	return workload->kernels_done < workload->value[PASSES];
}

static bool regular_step(struct workload *workload, struct workload_slot *slot)
{
	uint64_t thread = (uint64_t)slot->warp * WORKLOAD_LANES; /* the warp's first, in its block */
	uint64_t page = slot->block * workload->value[THREADS] + thread;
	uint64_t count = workload->value[THREADS] - thread;

	if (slot->step++ != 0 || page >= pages_of(workload))
		return false;
	if (count > WORKLOAD_LANES)
		count = WORKLOAD_LANES;
	if (count > pages_of(workload) - page)
		count = pages_of(workload) - page;
	workload_set_wide(slot, workload->range[0].base + page * WORKLOAD_PAGE,
	                  (count - 1) * WORKLOAD_PAGE + 1,
	                  workload->value[WRITE] ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
	return true;
}

const struct workload_type workload_regular = {
        .name = "regular",
        .summary = "each thread touches the page with its number (Allen & Ge 2021)",
        .param = {{"bytes", "size of the one array", 1, (uint64_t)1 << 40, 256 << 20, true},
                  {"threads", "of a thread block", 1, 1024, 256, false},
                  {"passes", "kernels, each touching everything", 1, 1000000, 3, false},
                  {"write", "0 loads, 1 stores", 0, 1, 0, false},
                  WORKLOAD_AGENTS},
        .open = regular_open,
        .launch = regular_launch,
        .span = regular_step,
};
