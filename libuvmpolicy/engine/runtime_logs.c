/* The logs of the pattern engine, runtime=on [uvmsmart: runtime-engine].
 *
 * Basic blocks are numbered by the 2 MiB window of their VABlock, 32 to each, from that in which the allocation begins. Each
 * has an entry in an array in the arena. An allocation for which the arena has no space shows no pattern.
 */
#include "../policy/needs_internal.h"
#include "arena_internal.h"
#include "runtime_logs_internal.h"

_Static_assert(2u * UVMP_TREE_BLOCKS_MAX * sizeof(uint32_t) <= NEEDS_LOG_BYTES, "needs.block_bytes");

static uint64_t kernels_bytes(void)
{
	return KERNELS_MAX * sizeof(struct uvmp_pattern_kernel);
}

uint64_t uvmpi_runtime_bytes(const struct uvmp_service_params *params)
{
	return params->policy->runtime
		       ? kernels_bytes() + params->ranges * (uint64_t)sizeof(struct uvmp_pattern_data)
		       : 0;
}

void uvmpi_runtime_init(struct uvmp_service *s, const struct uvmp_service_params *params, uint8_t *memory)
{
	if (s->policy.runtime)
		(void)uvmp_pattern_init(
			&s->patterns, (struct uvmp_pattern_kernel *)(void *)memory, KERNELS_MAX,
			(struct uvmp_pattern_data *)(void *)(memory + kernels_bytes()), params->ranges);
}

void uvmpi_runtime_watch(struct uvmp_service *s, uint32_t slot, uvmp_addr last)
{
	struct range *r = &s->range[slot];
	uint64_t blocks = (uvmpi_runtime_window(last) - uvmpi_runtime_window(r->start) + 1u) * UVMP_TREE_BLOCKS_MAX;
	enum slab slab = uvmpi_arena_array(blocks * sizeof(uint32_t));

	if (!s->policy.runtime || slab == SLAB_COUNT)
		return;
	r->log = uvmpi_arena_take(s, slab);
	if (r->log != 0)
		(void)uvmp_pattern_watch(&s->patterns, slot, (uint32_t *)uvmpi_arena_at(s, r->log), (uint32_t)blocks);
}

enum slab uvmpi_runtime_slab(const struct uvmp_service *s, uint32_t allocation)
{
	return uvmpi_arena_array((uint64_t)s->patterns.data[allocation].blocks * sizeof(uint32_t));
}

void uvmpi_runtime_forget(struct uvmp_service *s, uint32_t slot)
{
	struct range *r = &s->range[slot];

	if (r->log == 0)
		return;
	uvmpi_arena_give(s, uvmpi_runtime_slab(s, slot), r->log);
	(void)uvmp_pattern_watch(&s->patterns, slot, NULL, 0);
}
