/* Evictions: the pages of a victim leave the GPU, block by block.
 *
 * A state machine. NEXT finds the first block with memory in the victim (a root, or a unit of a page-wise order), and
 * queues the actions: unmap, discard, copy to the CPU. The block keeps its memory for now. COMMIT reads the results of the
 * copies. If all pages have arrived, the block loses the memory, MAP lets other processors reach the pages, and NEXT
 * continues. If a copy has failed, its pages stay, the victim becomes the newest of its queue, and the eviction fails.
 */
#include "../base/bits_internal.h"
#include "../decisions/plan_internal.h"
#include "block_service_internal.h"
#include "departing_internal.h"
#include "eviction_internal.h"
#include "mapping_internal.h"
#include "memory_internal.h"
#include "queue_internal.h"
#include "remote_idle_internal.h"
#include "remote_internal.h"
#include "service_runtime_internal.h"
#include "space_internal.h"
#include "victim_internal.h"

enum uvmp_status uvmpi_evict_start(struct uvmp_service *s, struct eviction *e, struct job *job,
				   uint32_t gpu, enum uvmp_chunk_size size, bool is_ahead)
{
	e->job = job;
	e->victim = UVMP_VICTIM_ORDER;
	e->is_ahead = is_ahead;
	e->room = 0;
	if (!uvmpi_victim_choose(s, e, gpu, is_ahead))
		return UVMP_ERR_NO_MEMORY;
	e->phase = EVICT_NEXT;
	e->gpu = gpu;
	e->for_address = uvmpi_victim_serviced(e) != 0 ? block_at(s, uvmpi_victim_serviced(e))->start : 0;
	e->size = size;
	e->block = 0;
	e->blocks = 0;
	e->status = UVMP_OK;
	return UVMP_OK;
}

bool uvmpi_evict_ahead(struct uvmp_service *s, struct eviction *e, struct job *job, uint32_t gpu,
		       uvmp_addr for_address)
{
	uint32_t room = uvmpi_victim_room_ahead(s, job, gpu);

	if (!uvmpi_memory_lacks_room(s, gpu, room) ||
	    uvmpi_evict_start(s, e, job, gpu, UVMP_CHUNK_2M, true) != UVMP_OK)
		return false;
	e->room = room;
	e->for_address = for_address;
	return true;
}

bool uvmpi_evict_trim(struct uvmp_service *s, struct eviction *e, uint32_t gpu, uvmp_addr for_address)
{
	if (!uvmpi_memory_is_short(s, gpu) ||
	    uvmpi_evict_start(s, e, NULL, gpu, UVMP_CHUNK_2M, false) != UVMP_OK)
		return false;
	e->for_address = for_address;
	return true;
}

/* -- EVICT_NEXT -- */

/* Of the block's pages in the victim: those that leave, those that are discarded, those that are copied. */
static void sort_pages(struct uvmp_service *s, struct eviction *e)
{
	const struct block *b = block_at(s, e->block);
	const struct residency *p = uvmpi_residency_find(s, b, e->gpu),
			       *cpu = uvmpi_residency_find(s, b, UVMP_CPU);

	uvmpi_mask_and(&e->pages, &e->held, &p->resident);
	uvmpi_mask_zero(&e->lost);
	e->copied = e->pages;
	if (b->cold != 0) {
		uvmpi_mask_and(&e->lost, &e->pages, &cold_at(s, b->cold)->discarded);
		uvmpi_mask_andnot(&e->copied, &e->pages, &e->lost);
	}
	if (cpu != NULL)
		uvmpi_mask_andnot(&e->copied, &e->copied, &cpu->resident);
}

static uint32_t plan_copies(struct uvmp_service *s, const struct eviction *e)
{
	const struct block *b = block_at(s, e->block);
	uvmp_mask cuts;
	struct uvmp_copy_facts facts = {.to = UVMP_CPU,
					.pages = &e->copied,
					.resident = s->holders,
					.grouping = UVMP_GROUPING_BY_CAUSE,
					.cuts = &cuts};

	uvmpi_mask_zero(&cuts);
	uvmpi_memory_cuts(s, b, e->gpu, &cuts);
	uvmpi_block_residents(s, b);
	return uvmpi_plan_copies(&s->processors, &facts, s->out);
}

/* Queues the copy of a block of 2 MiB that has state on the GPU and the CPU only, without a plan. False: another case, or
 * copies of a job are to be merged with the eviction. */
static bool copy_to_cpu(struct uvmp_service *s, const struct eviction *e)
{
	const struct block *b = block_at(s, e->block);
	const struct residency *second = residency_next(s, residency_first(s, b));
	struct uvmp_action *a;

	if (!block_is_whole(s, b) || (e->job != NULL && e->job->planned != 0) || second == NULL || residency_next(s, second) != NULL)
		return false;
	if (uvmpi_mask_is_empty(&e->copied))
		return true;
	a = uvmpi_queue(s, UVMP_ACTION_COPY, UVMP_CAUSE_EVICTION, e->block, &e->copied);
	a->from = (uint8_t)e->gpu;
	a->to = UVMP_CPU;
	a->for_address = e->for_address;
	return true;
}

/* The eviction has failed. */
static void give_up(struct uvmp_service *s, struct eviction *e, enum uvmp_status status)
{
	uvmpi_victim_keep(s, e);
	e->phase = EVICT_IDLE;
	e->status = status;
}

static void queue_leave(struct uvmp_service *s, struct eviction *e, enum uvmp_action_kind kind,
			const uvmp_mask *pages)
{
	struct uvmp_action *a = uvmpi_queue(s, kind, UVMP_CAUSE_EVICTION, e->block, pages);

	a->from = (uint8_t)e->gpu;
	a->for_address = e->for_address;
	if (kind != UVMP_ACTION_EVICT)
		return;
	a->victim = e->victim;
	a->count = e->blocks++;
	a->detail = (uvmpi_mask_next_clear(pages, 0) == UVMP_MASK_BITS ? UVMP_MASK_BITS
								       : uvmpi_mask_weight(pages)) *
		    s->page_bytes;
	a->offset = uvmpi_victim_offset(s, e);
}

/* Out of line, as each phase: no phase saves registers for another. */
UVMPI_NOINLINE static void evict_block(struct uvmp_service *s, struct eviction *e)
{
	sort_pages(s, e);
	if (!uvmpi_mask_is_empty(&e->copied) &&
	    uvmpi_residency_make(s, block_at(s, e->block), UVMP_CPU) == NULL) {
		give_up(s, e, UVMP_ERR_NO_MEMORY);
		return;
	}
	uvmpi_remote_leave(s, e->block, e->gpu, &e->pages);
	uvmpi_runtime_tell(s);
	queue_leave(s, e, UVMP_ACTION_EVICT, &e->held);
	uvmpi_mapping_unmap(s, e->block, &e->pages, 0, because_of_room(e->for_address));
	if (!uvmpi_mask_is_empty(&e->lost))
		queue_leave(s, e, UVMP_ACTION_DISCARD, &e->lost);
	if (!copy_to_cpu(s, e))
		uvmpi_queue_copies(s, e->job, (struct outgoing){e->block, e->for_address, plan_copies(s, e)});
	e->phase = EVICT_COMMIT;
}

/* The victim is empty. */
static void finish(struct uvmp_service *s, struct eviction *e)
{
	e->phase = EVICT_IDLE;
	uvmpi_victim_finish(s, e);
}

/* -- EVICT_COMMIT -- */

/* Pages whose copy has failed, and why. */
static enum uvmp_status failed_pages(const struct uvmp_service *s, uvmp_mask *failed)
{
	enum uvmp_status status = UVMP_OK;

	uvmpi_mask_zero(failed);
	for (uint32_t i = 0; s->has_failed && i < s->actions; i++) {
		const struct uvmp_action *a = &s->action[i];

		if (a->kind != UVMP_ACTION_COPY || a->cause != UVMP_CAUSE_EVICTION ||
		    action_result(s, i) == UVMP_OK)
			continue;
		action_add_failed(s, i, failed);
		status = action_result(s, i);
	}
	return status;
}

/* The tree of the UVM Smart family no longer counts the pages that left. A large page that leaves empties the tree
 * [uvmsmart: victim-selection]. */
static void leave_tree(struct uvmp_service *s, const struct block *b, const uvmp_mask *pages, bool is_large)
{
	struct uvmp_tree *tree;

	if (b->cold == 0 || cold_at(s, b->cold)->tree == 0)
		return;
	tree = (struct uvmp_tree *)uvmpi_arena_at(s, cold_at(s, b->cold)->tree);
	uvmpi_prefetch_tree_leave(tree, pages, s->policy.quirks);
	if (s->order->has_tree)
		uvmp_tree_recompute(tree);
	if (is_large)
		(void)uvmp_tree_init(tree, tree->blocks);
}

/* The pages that left are on the CPU only; duplicates on other GPUs are dropped, too [driver: victim-choice]. */
static void leave(struct uvmp_service *s, const struct eviction *e, const uvmp_mask *failed)
{
	struct block *b = block_at(s, e->block);
	struct residency *cpu = uvmpi_residency_find(s, b, UVMP_CPU);
	uvmp_mask gone;

	uvmpi_mask_andnot(&gone, &e->pages, failed);
	if (cpu != NULL)
		UVMPI_EACH_WORD (i)
			cpu->resident.word[i] |= e->copied.word[i] & gone.word[i];
	EACH_RESIDENCY (at, s, b) {
		if (at != cpu)
			uvmpi_depart(s, e->block, at, &gone,
				     at->proc == e->gpu ? DEPART_EVICTED : DEPART_MOVED);
	}
	if (b->cold != 0)
		uvmpi_mask_andnot(&cold_at(s, b->cold)->duplicated, &cold_at(s, b->cold)->duplicated, &gone);
	leave_tree(s, b, &gone, uvmpi_victim_is_large(s, e) && uvmpi_mask_is_empty(failed));
}

/* Is the GPU mapped to what it has lost? Its accesses are then counted. remote=auto needs a GPU that notifies, or no page
 * returned. */
static bool stays_mapped(const struct uvmp_service *s, uint32_t gpu)
{
	return s->maps_evicted && !remote_has_counts(s) &&
	       (!remote_is_auto(s) || s->gpu[gpu].note_capacity != 0);
}

/* Accessed-by processors, and the GPU itself where its accesses are counted, keep reaching the pages
 * [driver: victim-choice, remote-on-eviction]. */
static void map_again(struct uvmp_service *s, const struct eviction *e)
{
	const struct block *b = block_at(s, e->block);
	uint64_t processors = range_of(s, b)->accessed_by;
	uvmp_mask pages;

	if (stays_mapped(s, e->gpu)) {
		processors |= BIT(e->gpu);
		uvmpi_residency_find(s, b, e->gpu)->has_begun_there = false;
	}
	if (processors == 0 && b->cold == 0) /* no processor, and no counters */
		return;
	uvmpi_mask_andnot(&pages, &e->pages, &e->lost);
	if (uvmpi_mask_is_empty(&pages))
		return;
	for (uint32_t p = 0; p < s->processors.count; p++) {
		if ((processors & BIT(p)) != 0)
			uvmpi_mapping_map_remote(s, e->block, p, &pages,
						 because_of_room(e->for_address));
	}
	if (remote_is_auto(s) && uvmpi_residency_find(s, b, e->gpu)->is_mapped)
		uvmpi_idle_leave(s, b, uvmpi_residency_find(s, b, e->gpu));
	uvmpi_remote_map_evicted(s, e->block, e->gpu, &pages, e->for_address);
}

/* The number of departing pages that were not touched since they arrived; without a history: 0. */
static uint32_t count_untouched(const struct uvmp_service *s, const struct eviction *e)
{
	const struct history *history = block_history(s, block_at(s, e->block));
	uvmp_mask untouched;

	if (history == NULL || history->gpu != e->gpu)
		return 0;
	uvmpi_mask_andnot(&untouched, &e->pages, &history->touched);
	return uvmpi_mask_weight(&untouched);
}

UVMPI_NOINLINE static void commit(struct uvmp_service *s, struct eviction *e)
{
	uvmp_mask failed;
	enum uvmp_status status = failed_pages(s, &failed);
	uint32_t untouched = count_untouched(s, e);

	leave(s, e, &failed);
	if (status != UVMP_OK) {
		give_up(s, e, status);
		return;
	}
	uvmpi_victim_take(s, e, untouched);
	e->phase = EVICT_NEXT;
	map_again(s, e);
}

void uvmpi_evict_advance(struct uvmp_service *s, struct eviction *e)
{
	if (e->phase == EVICT_COMMIT)
		commit(s, e);
	else if (uvmpi_victim_next(s, e))
		evict_block(s, e);
	else
		finish(s, e);
}
