/* One batch of faults [driver: fetch, batch-order]: fetched from the buffer, translated to address spaces and
 * ordered; and the actions that a bottom half queues for its GPU. bottom_half_internal.h. */
#include "bottom_half_internal.h"

#include "../prefetch/prefetch_internal.h"
#include "memory_internal.h"
#include "operations_internal.h"
#include "queue_internal.h"
#include "remote_internal.h"
#include "space_internal.h"

#define FLUSH_BLOCKS 64u	/* serviced blocks before what flushes dropped counts half */
#define FLUSH_MOST   ((uint32_t)1 << 24) /* the same if no block needs anything */

/* -- actions for the GPU -- */

struct uvmp_action *uvmpi_batch_queue(struct uvmp_service *s, enum uvmp_action_kind kind)
{
	struct uvmp_action *a = uvmpi_queue(s, kind, UVMP_CAUSE_NONE, 0, NULL);

	a->to = (uint8_t)s->fault.gpu;
	return a;
}

void uvmpi_batch_wait(struct uvmp_service *s, bool for_copies)
{
	uvmpi_batch_queue(s, UVMP_ACTION_WAIT)->is_update = for_copies;
}

static void count_flushed(struct gpu *g, uint32_t entries)
{
	g->flushed += entries;
	if (g->flushed_blocks >= FLUSH_BLOCKS || g->flushed >= FLUSH_MOST) {
		g->flushed /= 2u;
		g->flushed_blocks /= 2u;
	}
}

void uvmpi_batch_flush(struct uvmp_service *s, bool update_put)
{
	struct gpu *g = gpu_of(s);
	struct uvmp_action *a = uvmpi_batch_queue(s, UVMP_ACTION_FLUSH);
	uint32_t discarded = 0;

	uvmp_fault_flush(&g->buffer, update_put, g->put, &discarded);
	a->is_update = update_put;
	a->count = discarded;
	count_flushed(g, discarded);
}

void uvmpi_batch_replay(struct uvmp_service *s)
{
	uvmpi_batch_queue(s, UVMP_ACTION_REPLAY);
	gpu_of(s)->owes_replay = false;
}

void uvmpi_batch_replay_all(struct uvmp_service *s)
{
	uvmpi_batch_flush(s, true);
	uvmpi_batch_replay(s);
}

/* -- fetch and order -- */

/* The most faults that the next batch may have. A smaller batch saves the service of further faults in the block only where a
 * flush drops them soon: after this batch, or after the next one of a chain. */
static uint32_t limit(const struct uvmp_service *s)
{
	const struct gpu *g = &s->gpu[s->fault.gpu];
	uint32_t most = uvmpi_remote_auto_batch(s, s->fault.gpu);
	uint32_t few = uvmpi_prefetch_batch_in_one_block(&s->tuned.prefetch);

	return g->was_in_one_block && few != 0 && g->params.policy == UVMP_REPLAY_BATCH_FLUSH ? minimum(most, few) : most;
}

void uvmpi_batch_fetch(struct uvmp_service *s, enum uvmp_fetch_mode mode)
{
	struct gpu *g = gpu_of(s);
	struct uvmp_fetch_params params = {.max_batch = limit(s),
					   .page_bytes = s->page_bytes,
					   .coalesce = s->policy.coalesce,
					   .quirks = s->policy.quirks};

	g->batch_most = mode == UVMP_FETCH_ALL ? UINT32_MAX : params.max_batch;
	(void)uvmp_fault_fetch(&params, mode, g->put, &g->buffer, &g->batch);
	g->representatives = 0;
	__builtin_memset(g->fatal, 0, g->batch.cached);
}

/* -- between two batches -- */

/* While data fit, a replay after each small batch costs more round trips of the GPU than it saves. So the next batch follows a full
 * batch that needed pages. If faults have other blocks, it services them. If its faults are on pages that have just arrived, they
 * are stale: it needs no pages, and the flush that follows it drops more of them, because they have had more time to come. */
void uvmpi_batch_serviced(struct uvmp_service *s)
{
	struct gpu *g = gpu_of(s);

	g->is_chained = g->has_needed && batch_is_full(g) && g->params.policy == UVMP_REPLAY_BATCH_FLUSH &&
			uvmpi_prefetch_chains_batches(&s->tuned.prefetch) && uvmpi_memory_fits(s);
	g->owes_replay |= g->is_chained;
}

void uvmpi_batch_count_block(struct uvmp_service *s, bool has_needed)
{
	struct gpu *g = gpu_of(s);

	g->has_needed |= has_needed;
	if (g->params.policy == UVMP_REPLAY_BATCH_FLUSH) /* the others flush nothing but in a cancel */
		g->flushed_blocks += has_needed;
}

void uvmpi_batch_announce(struct uvmp_service *s)
{
	struct gpu *g = gpu_of(s);
	struct uvmp_action *a;

	g->counts.batches++;
	g->counts.faults += g->batch.cached;
	g->counts.coalesced += g->batch.coalesced;
	s->batch = g->replay.batch_id;
	a = uvmpi_batch_queue(s, UVMP_ACTION_BATCH);
	a->count = g->batch.cached;
	a->detail = g->batch.coalesced;
}

/* The slot of the address space that raised the fault. NO_INDEX: its channel was unbound. If only the subcontext was
 * unbound, all faults of the subcontext are cancelled. */
static uint32_t find_space(struct uvmp_service *s, const struct uvmp_fault *fault)
{
	bool is_channel;
	uint32_t slot = uvmpi_instance_find(s, s->fault.gpu, fault->aperture, fault->instance,
					    fault->subcontext, &is_channel);

	if (slot == NO_INDEX && is_channel) {
		uvmpi_batch_queue(s, UVMP_ACTION_CANCEL)->cause = UVMP_CAUSE_FATAL;
		gpu_of(s)->counts.cancelled++;
	}
	return slot;
}

/* Sets the address spaces of the faults that are ordered by instance. False: a channel was unbound, and the batch is
 * void. */
static bool translate(struct uvmp_service *s)
{
	struct gpu *g = gpu_of(s);
	const struct uvmp_fault *before = NULL;

	for (uint32_t i = 0; i < g->representatives; i++) {
		struct uvmp_fault *fault = &g->batch.entry[g->order_of[i]];

		if (before && has_same_instance(before, fault)) {
			fault->va_space = before->va_space;
			fault->gpu = before->gpu;
		} else {
			uint32_t slot = find_space(s, fault);

			if (slot == NO_INDEX)
				return false;
			fault->va_space = s->space[slot].id;
			fault->gpu = s->fault.gpu;
		}
		before = fault;
	}
	return true;
}

/* The same for a batch of one instance, with one look-up. */
static bool translate_instance(struct uvmp_service *s)
{
	struct gpu *g = gpu_of(s);
	uint32_t slot = find_space(s, &g->batch.entry[0]), gpu = s->fault.gpu;
	const struct uvmp_fault *end = g->batch.entry + g->batch.cached;
	uint64_t id;

	if (slot == NO_INDEX)
		return false;
	id = s->space[slot].id;
	for (struct uvmp_fault *fault = g->batch.entry; fault != end; fault++) {
		fault->va_space = id;
		fault->gpu = gpu;
	}
	return true;
}

/* Translates the representatives of the batch, and orders them. False: the batch is void. */
static bool order_batch(struct uvmp_service *s)
{
	struct gpu *g = gpu_of(s);

	if (g->batch.is_single_instance) {
		if (!translate_instance(s))
			return false;
		g->representatives = uvmp_fault_order_batch(&g->batch, g->order_of, g->order_scratch);
		return true;
	}
	g->representatives = uvmp_fault_representatives(&g->batch, g->order_of);
	uvmp_fault_order_by_instance(g->batch.entry, g->order_of, g->representatives, g->order_scratch);
	if (!translate(s))
		return false;
	uvmp_fault_order(g->batch.entry, g->order_of, g->representatives, g->order_scratch);
	return true;
}

/* Are all faults of the batch, which are in order, in the same aligned 2 MiB? One fault shows nothing. */
static bool is_in_one_block(const struct uvmp_service *s, const struct gpu *g)
{
	const struct uvmp_fault *first = &g->batch.entry[g->order_of[0]];
	const struct uvmp_fault *last = &g->batch.entry[g->order_of[g->representatives - 1u]];
	uint64_t block_bytes = (uint64_t)s->block_pages * s->page_bytes;

	return g->batch.cached > 1u && first->va_space == last->va_space && first->address / block_bytes == last->address / block_bytes;
}

bool uvmpi_batch_order(struct uvmp_service *s)
{
	struct gpu *g = gpu_of(s);

	if (!order_batch(s)) {
		g->representatives = 0;
		uvmpi_batch_replay_all(s);
		return false;
	}
	if (batch_is_full(g))
		g->was_in_one_block = is_in_one_block(s, g);
	g->has_needed = false;
	s->fault.next_bin = 0;
	uvmpi_blocks_read_ahead(s, g->batch.entry, g->order_of, g->representatives, g->order_scratch);
	return true;
}

/* -- faults that are not dispatched yet -- */

bool uvmpi_batch_has_more(const struct uvmp_service *s, uvmp_addr *start)
{
	const struct gpu *g = &s->gpu[s->fault.gpu];
	const struct uvmp_fault *fault;
	struct uvmp_block shape;
	const struct range *r;
	uint32_t index;

	if (s->fault.phase == FAULT_IDLE || s->fault.next_bin >= g->representatives)
		return false;
	fault = &g->batch.entry[g->order_of[s->fault.next_bin]];
	index = uvmpi_range_find(s, uvmpi_space_find(s, fault->va_space), fault->address);
	if (index == NO_INDEX)
		return false;
	r = &s->range[s->range_order[index]];
	uvmp_geometry_block(&s->geometry, r->start, r->last,
			    uvmp_geometry_block_index(&s->geometry, r->start, fault->address), &shape);
	*start = shape.start;
	return true;
}

bool uvmpi_fault_has_next(const struct uvmp_service *s, uvmp_addr *start)
{
	return s->policy.plan != UVMP_PLAN_SERIAL && uvmpi_batch_has_more(s, start);
}
