/* GPU-STREAM, triad only: a[i] = b[i] + s * c[i] over doubles, one thread an element, thread blocks of 1024
 * threads (Deakin et al., GPU-STREAM v2.0). The three arrays are allocated in the order a, b, c.
 *
 * A warp loads 256 bytes of b and as many of c with two instructions that do not wait for each other, and
 * stores a when both have come. This chain of three vectors is what Allen & Ge 2021 (figure 7) see in the
 * order of the faults: the page of a follows those of b and c. They give no size; without prefetching they
 * count 3,721,584 faults (table I). */
#include "workload.h"

enum { BYTES, PASSES };
enum { A, B, C };
enum { LOAD, STORE, END };

#define WARP_BYTES  256u /* 32 doubles: never across a page boundary */
#define BLOCK_WARPS 32u
#define FLOPS       64u /* a product and a sum for each thread */

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
	workload->blocks = workload_ceil_div(workload->value[BYTES], (uint64_t)WARP_BYTES * BLOCK_WARPS);
	workload->warps = BLOCK_WARPS;
	return workload->kernels_done < workload->value[PASSES];
}

static bool stream_span(struct workload *workload, struct workload_slot *slot)
{
	uint64_t offset = (slot->block * BLOCK_WARPS + slot->warp) * WARP_BYTES;
	uint64_t rest = workload->value[BYTES] - offset;

	if (offset >= workload->value[BYTES] || slot->step == END)
		return false;
	if (rest > WARP_BYTES)
		rest = WARP_BYTES;
	if (slot->step++ == STORE) {
		workload_set_wide(slot, workload->range[A].base + offset, rest, UVMP_ACCESS_WRITE);
		return true;
	}
	slot->lane[0] = workload->range[B].base + offset;
	slot->lane[1] = workload->range[C].base + offset;
	workload_set_lanes(slot, 2, (uint32_t)rest, UVMP_ACCESS_READ);
	slot->flops = FLOPS;
	return true;
}

const struct workload_type workload_stream = {
        .name = "stream",
        .summary = "STREAM triad, a[i] = b[i] + s * c[i]",
        .param = {{"bytes", "size of each of the three arrays", 8, (uint64_t)1 << 38, 86 << 20, true},
                  {"passes", "kernels", 1, 1000000, 5, false},
                  WORKLOAD_AGENTS},
        .open = stream_open,
        .launch = stream_launch,
        .span = stream_span,
};
