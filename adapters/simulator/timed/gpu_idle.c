/* From when on the link and the MSHRs are idle; gpu_idle.h. */
#include "gpu_idle.h"

uint64_t gpu_idle_ns(const struct gpu *gpu)
{
	return gpu->mshr.count != 0 ? GPU_NEVER : link_idle_ns(gpu->link, gpu->now_ns);
}

/* When the next walk ends whose access asks (gpu_remote.h); GPU_NEVER: no access asks. */
static uint64_t next_answer_ns(const struct gpu *gpu)
{
	uint64_t next_ns = GPU_NEVER;

	for (size_t i = 0; i < gpu->asking_count; i++)
		if (gpu->asking[i].time_ns < next_ns)
			next_ns = gpu->asking[i].time_ns;
	return next_ns;
}

void gpu_idle_find_soonest(struct gpu *gpu)
{
	uint64_t idle_ns = gpu->retiring_count != 0 ? gpu_idle_ns(gpu) : GPU_NEVER;
	uint64_t answer_ns = next_answer_ns(gpu);

	if (idle_ns < gpu->soonest_ns)
		gpu->soonest_ns = idle_ns;
	if (answer_ns < gpu->soonest_ns)
		gpu->soonest_ns = answer_ns;
}
