/* The runtime engine of DATE'21 in the engine [uvmsmart: runtime-engine]: runtime=on.
 *
 * Allocations are ranges as they were added, kernels are reported by the host, the log has the blocks that a
 * tree prefetcher has scheduled, in the order of its decisions. The patterns are judged as in the original:
 * before a victim is chosen, and once when memory is found full. Each consequence is permanent:
 *
 *   no verdict       the 2 MiB of the oldest basic block are evicted
 *   EVICT_TREE       evict=tbne unchanged
 *   REMOTE           that, and the remote mode becomes `oversub`
 *
 * Basic blocks are numbered by the 2 MiB window of their VABlock, 32 to each, from that in which the
 * allocation begins. Each has an entry in an array in the arena; an allocation for which there is no room
 * shows no pattern. Whether a kernel ever ends [uvmsmart: kernels-never-end] is the host's to say.
 */
#include "cold_internal.h"
#include "queue_internal.h"
#include "service_runtime_internal.h"

#include "../policy/needs_internal.h"

_Static_assert(2u * UVMP_TREE_BLOCKS_MAX * sizeof(uint32_t) <= NEEDS_LOG_BYTES, "needs.block_bytes");

#define WINDOW_SHIFT 21u

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

/* -- allocations -- */

static uint64_t window_of(uvmp_addr address)
{
	return address >> WINDOW_SHIFT;
}

void uvmpi_runtime_watch(struct uvmp_service *s, uint32_t slot, uvmp_addr last)
{
	struct range *r = &s->range[slot];
	uint64_t blocks = (window_of(last) - window_of(r->start) + 1u) * UVMP_TREE_BLOCKS_MAX;
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

/* -- events -- */

/* Time of the log; it never decreases, even if a host's clock does. */
static uint64_t cycle(const struct uvmp_service *s, uint64_t now_ns)
{
	return now_ns > s->patterns.now ? now_ns : s->patterns.now;
}

static void tell_pattern(struct uvmp_service *s, const struct range *r)
{
	uint8_t pattern = (uint8_t)uvmp_pattern_of(&s->patterns, r->allocation);
	struct uvmp_action *a;

	if (s->range[r->allocation].pattern == pattern)
		return;
	s->range[r->allocation].pattern = pattern;
	a = uvmpi_queue(s, UVMP_ACTION_PATTERN, UVMP_CAUSE_ADAPT, 0, NULL);
	a->space = s->space[r->space].id;
	a->address = r->origin;
	a->count = pattern;
}

void uvmpi_runtime_log(struct uvmp_service *s, const struct block *b, uint32_t basic_blocks)
{
	const struct range *r = range_of(s, b);
	uint32_t first = (uint32_t)(window_of(b->start) - window_of(r->origin)) * UVMP_TREE_BLOCKS_MAX;

	for (uint32_t i = 0; i < UVMP_TREE_BLOCKS_MAX; i++) {
		if ((basic_blocks >> i & 1u) != 0) /* refused where the allocation has no array */
			(void)uvmp_pattern_log(&s->patterns, cycle(s, s->now_ns), r->allocation, first + i);
	}
	tell_pattern(s, r);
}

enum uvmp_status uvmp_service_begin_kernel(struct uvmp_service *s, uint32_t gpu, uint64_t now_ns,
					   uint64_t *kernel)
{
	if (!uvmp_service_is_valid(s) || !kernel)
		return UVMP_ERR_ARGUMENT;
	if (gpu == UVMP_CPU || gpu >= s->processors.count)
		return UVMP_ERR_RANGE;
	*kernel = 0;
	s->prefetch_states.kernels++;
	return s->policy.runtime ? uvmp_pattern_launch(&s->patterns, cycle(s, now_ns), kernel) : UVMP_OK;
}

enum uvmp_status uvmp_service_end_kernel(struct uvmp_service *s, uint64_t kernel, uint64_t now_ns)
{
	if (!uvmp_service_is_valid(s))
		return UVMP_ERR_ARGUMENT;
	return s->policy.runtime ? uvmp_pattern_end(&s->patterns, kernel, cycle(s, now_ns)) : UVMP_OK;
}

/* -- verdicts -- */

void uvmpi_runtime_judge(struct uvmp_service *s)
{
	if (!s->policy.runtime)
		return;
	s->verdict = uvmp_pattern_decide(&s->patterns);
	if (s->verdict == UVMP_PATTERN_REMOTE)
		s->tuned.remote.remote = UVMP_REMOTE_OVERSUB;
}

void uvmpi_runtime_tell(struct uvmp_service *s)
{
	struct uvmp_action *a;

	if (s->verdict == s->told)
		return;
	s->told = s->verdict;
	a = uvmpi_queue(s, UVMP_ACTION_PATTERN, UVMP_CAUSE_ADAPT, 0, NULL);
	a->is_update = true;
	a->detail = s->verdict;
}

bool uvmpi_runtime_evicts_whole(const struct uvmp_service *s)
{
	return s->policy.runtime && s->verdict == UVMP_PATTERN_KEEP;
}
