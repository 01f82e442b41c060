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
 * runtime_logs.c keeps the logs. Whether a kernel ever ends [uvmsmart: kernels-never-end] is the host's to say.
 */
#include "cold_internal.h"
#include "queue_internal.h"
#include "service_runtime_internal.h"

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
	uint32_t first = (uint32_t)(uvmpi_runtime_window(b->start) - uvmpi_runtime_window(r->origin)) * UVMP_TREE_BLOCKS_MAX;

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
