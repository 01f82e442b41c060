/* STREAM triad, a[i] = b[i] + s * c[i] over doubles. A thread block of 1024 threads covers 8 KiB of each
 * array; it loads b and c and stores a, page after page. */
#include "workload.h"

enum { BYTES, PASSES };
enum { A, B, C, ARRAYS };

#define BLOCK_BYTES 8192u
#define BLOCK_PAGES (BLOCK_BYTES / WORKLOAD_PAGE)

static bool stream_open(struct workload *workload)
{
	workload_add_range(workload, "a", workload->value[BYTES]);
	workload_add_range(workload, "b", workload->value[BYTES]);
	workload_add_range(workload, "c", workload->value[BYTES]);
	return true;
}

static bool stream_launch(struct workload *workload)
{
	workload->kernel = "triad";
	workload->blocks = workload_ceil_div(workload->value[BYTES], BLOCK_BYTES);
	return workload->kernels_done < workload->value[PASSES];
}

static bool stream_span(struct workload *workload, struct workload_slot *slot)
{
	static const unsigned order[ARRAYS] = {B, C, A};
	uint64_t offset = slot->block * BLOCK_BYTES + slot->step / ARRAYS * WORKLOAD_PAGE;
	unsigned array = order[slot->step % ARRAYS];

	if (slot->step == (uint64_t)BLOCK_PAGES * ARRAYS || offset >= workload->value[BYTES])
		return false;
	slot->step++;
	workload_set_span(slot, workload->range[array].base + offset, 1,
	                  array == A ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
	return true;
}

const struct workload_type workload_stream = {
        .name = "stream",
        .summary = "STREAM triad, a[i] = b[i] + s * c[i]",
        .param = {{"bytes", "size of each of the three arrays", 8, (uint64_t)1 << 38, 16 << 20, true},
                  {"passes", "kernels", 1, 1000000, 5, false},
                  WORKLOAD_AGENTS},
        .open = stream_open,
        .launch = stream_launch,
        .span = stream_span,
};
