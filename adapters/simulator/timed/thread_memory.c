/* Memory that a thread allocates and evicts; thread_memory.h. */
#include "thread_memory.h"

bool thread_is_frame(const struct thread *t, const struct uvmp_action *a)
{
	return (a->kind == UVMP_ACTION_ALLOCATE || a->kind == UVMP_ACTION_FREE) &&
	       !host_has_roots(&t->system->host);
}

/* The physical allocator gives several roots at a time. */
static void take_root(struct thread *t)
{
	struct system *system = t->system;

	if (system->cached_roots == 0) {
		thread_work(t, system->model->alloc_ns, &system->times->migrate_ns);
		system->cached_roots = system->model->alloc_roots;
	}
	system->cached_roots--;
}

/* A frame of a page-wise order is no root. Memory that frames use for the first time comes from the allocator all the same,
 * in whole roots. Frames that lie beyond the memory (counts_units = 0) stand for memory that was used before. */
static void back_frame(struct thread *t, const struct uvmp_action *a)
{
	struct system *system = t->system;
	uint64_t end = a->offset + a->bytes, most = host_capacity_bytes(&system->host);

	for (end = end < most ? end : most; system->backed_bytes < end; system->backed_bytes += ROOT_BYTES)
		take_root(t);
}

/* The block lies in one piece as long as each part follows the one before it, in memory as in the block. */
static void place(struct sim_block *block, const struct uvmp_action *a)
{
	struct uvmp_region run = uvmp_mask_next_run(&a->pages, 0);
	uint64_t base = a->offset - (uint64_t)run.first * a->page_bytes;

	if (run.first == 0) {
		block->frame_base = base;
		block->frame_end = run.end;
	} else {
		block->frame_end = run.first == block->frame_end && base == block->frame_base ? run.end : 0;
	}
}

void thread_allocate(struct thread *t, const struct uvmp_action *a, struct sim_block *block)
{
	struct system *system = t->system;
	uint64_t root = a->offset / ROOT_BYTES;

	if (thread_is_frame(t, a)) {
		back_frame(t, a);
		if (block != NULL)
			place(block, a);
		return;
	}
	t->memory_ns = system_later(t->memory_ns, system->root_ns[root]);
	if (system->root_ns[root] != 0) /* won by an eviction, or split before */
		return;
	system->root_ns[root] = 1;
	take_root(t);
}

void thread_evict(struct thread *t, const struct uvmp_action *a)
{
	struct system *system = t->system;
	uint32_t pages = uvmp_mask_weight(&a->pages);

	t->evict_root = a->offset / ROOT_BYTES;
	if (a->part == 0) { /* a root of several blocks is one */
		thread_work(t, system->model->evict_ns, &system->times->evict_ns);
		t->leave_ns = t->early_ns; /* the first that leaves does not wait for what the batch costs */
		t->early_ns = 0;
	}
	t->is_first_part = a->part == 0;
	staged_fill(&system->staged, pages);
	if (system->staged.taken.pages < pages || pages == 0)
		reclaim_empty(&system->reclaim, pages - system->staged.taken.pages, t->now_ns);
}
