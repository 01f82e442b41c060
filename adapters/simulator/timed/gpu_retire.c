/* Warps that end only while no transfer is under way; gpu_retire.h.
 *
 * A warp of UVM Smart retires only while the queues of reads and write-backs are empty and none is in flight. So thread blocks
 * end together, when all their faults have been served, and the next ones begin together.
 *
 * A fault is in the queue from the end of its page walk until its page has arrived: that is its entry in the MSHRs. What is
 * prefetched or written back is on the link. Within a quantum the first fault or remote access ends the time in which
 * warps can end. */
#include "gpu_retire.h"

#include <stdlib.h>

#include "array.h"
#include "gpu_group.h"

void gpu_retire_add(struct gpu *gpu, uint32_t sm_index, uint32_t warp)
{
	if (!ARRAY_RESERVE(gpu->retiring, gpu->retiring_room, gpu->retiring_count + 1u)) {
		gpu_lose(gpu, GPU_OUT_OF_MEMORY);
		return;
	}
	gpu->retiring[gpu->retiring_count++] = (struct retiring){gpu->sm[sm_index].now_ns, sm_index, warp};
}

/* When the first walk of this quantum ends that finds no page on the GPU. */
static uint64_t first_walk_ns(const struct gpu *gpu)
{
	uint64_t first_ns = GPU_NEVER;

	for (size_t i = 0; i < gpu->raised_count; i++) {
		if (gpu->raised[i].time_ns < first_ns)
			first_ns = gpu->raised[i].time_ns;
	}
	for (size_t i = 0; i < gpu->asking_count; i++) {
		if (gpu->asking[i].time_ns < first_ns)
			first_ns = gpu->asking[i].time_ns;
	}
	return first_ns;
}

void gpu_retire(struct gpu *gpu, uint64_t idle_ns, uint64_t until_ns)
{
	uint64_t busy_ns = gpu->retiring_count != 0 ? first_walk_ns(gpu) : GPU_NEVER;
	size_t kept = 0;

	for (size_t i = 0; i < gpu->retiring_count; i++) {
		const struct retiring one = gpu->retiring[i];
		uint64_t end_ns = one.since_ns > idle_ns ? one.since_ns : idle_ns;

		if (end_ns > until_ns || end_ns >= busy_ns)
			gpu->retiring[kept++] = one;
		else
			gpu_group_end(gpu, one.sm, one.warp, end_ns);
	}
	gpu->retiring_count = kept;
}

void gpu_retire_close(struct gpu *gpu)
{
	free(gpu->retiring);
}
