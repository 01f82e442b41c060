/* From when on the link and the MSHRs are idle; gpu_idle.h. */
#include "gpu_idle.h"

#include "gpu_remote.h"

uint64_t gpu_idle_ns(const struct gpu *gpu)
{
	uint64_t idle_ns = gpu->now_ns;

	if (gpu->mshr.count != 0)
		return GPU_NEVER;
	for (uint32_t i = 0; i < MODEL_DIRECTIONS; i++) {
		const struct link_engine *engine = &gpu->link->engine[i];

		if (engine->copies.until_ns > idle_ns)
			idle_ns = engine->copies.until_ns;
		if (engine->remote.until_ns > idle_ns)
			idle_ns = engine->remote.until_ns;
	}
	return idle_ns;
}

void gpu_idle_find_soonest(struct gpu *gpu)
{
	uint64_t idle_ns = gpu->retiring_count != 0 ? gpu_idle_ns(gpu) : GPU_NEVER;

	if (idle_ns < gpu->soonest_ns)
		gpu->soonest_ns = idle_ns;
	if (gpu_remote_next_ns(gpu) < gpu->soonest_ns)
		gpu->soonest_ns = gpu_remote_next_ns(gpu);
}
