/* The operation that brings hot pages: pages on the CPU whose counted accesses have made a migration worth
 * while. */
#include "block_service_internal.h"
#include "job_internal.h"
#include "memory_internal.h"
#include "operations_internal.h"
#include "queue_internal.h"
#include "servicing_internal.h"
#include "space_internal.h"

/* Some of the pages may have arrived since, with a fault. */
void uvmpi_hot_start(struct uvmp_service *s)
{
	struct remote_run *run = &s->remote;
	struct uvmp_action *a;
	struct counters *c;

	run->block = s->hot_first;
	c = counters_of(s, block_at(s, run->block));
	run->gpu = c->gpu;
	run->pages = c->hot;
	uvmpi_hot_remove(s, c);
	for (uint32_t page = uvmp_mask_next_set(&run->pages, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(&run->pages, page + 1u)) {
		if (!block_is_on_cpu(s, block_at(s, run->block), page))
			uvmp_mask_clear(&run->pages, page);
	}
	if (uvmp_mask_is_empty(&run->pages))
		return;
	s->batch = ++s->gpu[run->gpu].note_batches;
	a = uvmpi_queue(s, UVMP_ACTION_BATCH, UVMP_CAUSE_COUNTER, 0, NULL);
	a->to = (uint8_t)run->gpu;
	a->count = a->detail = uvmp_mask_weight(&run->pages);
	uvmpi_prefetch_switch(s);
	run->phase = REMOTE_BEGUN;
}

void uvmpi_hot_advance(struct uvmp_service *s)
{
	struct remote_run *run = &s->remote;
	struct job *job = &run->servicing->job;

	if (run->phase == REMOTE_JOB) {
		uvmpi_memory_settle(s);
		run->phase = REMOTE_IDLE;
		return;
	}
	uvmpi_job_clear(job, run->block, run->gpu);
	job->cause = UVMP_CAUSE_COUNTER;
	job->is_prefetching = true;
	for (uint32_t page = uvmp_mask_next_set(&run->pages, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(&run->pages, page + 1u))
		(void)uvmpi_job_add_fault(s, job, page, UVMP_ACCESS_READ, (uint8_t)(1u << UVMP_ACCESS_READ));
	run->phase = REMOTE_JOB;
	uvmpi_servicing_start(s, run->servicing);
}

/* All nodes of the block's trees are 0, also those of pages that stay resident [uvmsmart: device-synchronisation]. */
static void reset_trees(struct uvmp_service *s, const struct block *b)
{
	struct counters *c = counters_of(s, b);
	struct uvmp_tree *tree;

	if (c != NULL)
		(void)uvmp_counter_tree_init(&c->tree, c->tree.blocks);
	if (b->cold == 0 || cold_at(s, b->cold)->tree == 0)
		return;
	tree = (struct uvmp_tree *)uvmpi_arena_at(s, cold_at(s, b->cold)->tree);
	(void)uvmp_tree_init(tree, tree->blocks);
}

enum uvmp_status uvmp_service_synchronise(struct uvmp_service *s, uint32_t gpu)
{
	if (!uvmp_service_is_valid(s))
		return UVMP_ERR_ARGUMENT;
	if (gpu == UVMP_CPU || gpu >= s->processors.count)
		return UVMP_ERR_RANGE;
	for (uint32_t i = 0; i < s->buckets; i++) {
		for (handle h = s->bucket[i]; h != 0; h = block_at(s, h)->chain) {
			reset_trees(s, block_at(s, h));
			uvmpi_memory_level(s, gpu, h);
			uvmpi_memory_unlist(s, gpu, h);
		}
	}
	uvmpi_memory_uncount(s, gpu);
	uvmpi_prefetch_switch(
		s); /* which stays [uvmsmart: prefetcher-not-restored], even if no batch has seen yet that memory is full */
	s->is_full = false;
	return UVMP_OK;
}
