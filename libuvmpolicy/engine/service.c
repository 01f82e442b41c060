/* The engine: events, scheduling, handing out actions.
 *
 * uvmp_service_next is the only place where anything is decided. It hands out what is queued; when all of
 * that is completed it lets the innermost machine that is active decide the next thing, until there is
 * something to hand out or nothing to do.
 */
#include "../base/bits_internal.h"
#include "../base/sized_internal.h"
#include "controllers_internal.h"
#include "memory_internal.h"
#include "operations_internal.h"
#include "prefetch_states_internal.h"
#include "queue_internal.h"
#include "remote_internal.h"
#include "servicing_internal.h"
#include "space_internal.h"

/* -- events -- */

enum uvmp_status uvmp_service_fault(struct uvmp_service *s, uint32_t gpu, const struct uvmp_fault *fault)
{
	struct gpu *g;
	uint32_t after;

	if (!service_is_valid(s) || !fault)
		return UVMP_ERR_ARGUMENT;
	if (gpu == UVMP_CPU || gpu >= s->processors.count || fault->access >= UVMP_ACCESS_NONE ||
	    fault->aperture > UVMP_APERTURE_VID || fault->utlb >= s->gpu[gpu].batch.utlbs)
		return UVMP_ERR_RANGE;
	g = &s->gpu[gpu];
	after = g->put + 1u == g->buffer.capacity ? 0 : g->put + 1u;
	if (after == g->buffer.get)
		return UVMP_ERR_SPACE;
	g->buffer.entry[g->put] = *fault;
	g->buffer.entry[g->put].is_valid = true;
	g->put = after;
	return UVMP_OK;
}

/* [uvmsmart: eviction-list]: a page that has arrived is the newest. Orders by uses rank what was used, and the driver's order
 * ranks services. */
static void arrived(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t page)
{
	if (s->order->is_chunked || s->order->ignores_accesses || s->order->counts_uses ||
	    (uvmpi_block_holders(s, block_at(s, block), page) >> gpu & 1u) == 0)
		return;
	s->gpu[gpu].hears_arrivals = true;
	uvmpi_memory_touch(s, gpu, block, page);
}

enum uvmp_status uvmp_service_access(struct uvmp_service *s, uint32_t processor, uint64_t space,
				     uvmp_addr address, enum uvmp_access access)
{
	uint32_t slot, page;
	handle h;

	if (!service_is_valid(s))
		return UVMP_ERR_ARGUMENT;
	if (processor >= s->processors.count || (uint32_t)access > UVMP_ACCESS_NONE)
		return UVMP_ERR_RANGE;
	slot = uvmpi_space_find(s, space);
	h = slot == NO_INDEX ? 0 : uvmpi_block_find(s, slot, address);
	if (h == 0 || processor == UVMP_CPU)
		return UVMP_OK;
	page = block_page(s, block_at(s, h), address);
	if (access == UVMP_ACCESS_NONE) {
		arrived(s, processor, h, page);
		return UVMP_OK;
	}
	uvmpi_remote_use(s, processor, h, page, access >= UVMP_ACCESS_WRITE);
	if (!s->order->ignores_accesses)
		uvmpi_memory_touch(s, processor, h, page);
	if (s->adapt.has_touches)
		uvmpi_adapt_touch(s, processor, h, page);
	if (s->prefetch_states.counts_touches && (uvmpi_block_holders(s, block_at(s, h), page) >> processor & 1u) != 0)
		uvmpi_prefetch_states_touch(s, h, page);
	return UVMP_OK;
}

enum uvmp_status uvmp_service_miss(const struct uvmp_service *s, uint32_t processor, uint64_t space,
				   uvmp_addr address, enum uvmp_access access, bool *migrates)
{
	uint32_t slot;
	handle h;

	if (!service_is_valid(s) || !migrates)
		return UVMP_ERR_ARGUMENT;
	if (processor == UVMP_CPU || processor >= s->processors.count || (uint32_t)access >= UVMP_ACCESS_NONE)
		return UVMP_ERR_RANGE;
	slot = uvmpi_space_find(s, space);
	h = slot == NO_INDEX ? 0 : uvmpi_block_find(s, slot, address);
	*migrates = h != 0 && uvmpi_remote_miss(s, processor, h, block_page(s, block_at(s, h), address),
						access >= UVMP_ACCESS_WRITE);
	return UVMP_OK;
}

enum uvmp_status uvmp_service_hold(struct uvmp_service *s, uint32_t processor, uint64_t space, uvmp_addr address,
				   uint64_t until_ns)
{
	uint32_t slot;
	handle h;

	if (!service_is_valid(s))
		return UVMP_ERR_ARGUMENT;
	if (processor == UVMP_CPU || processor >= s->processors.count)
		return UVMP_ERR_RANGE;
	slot = uvmpi_space_find(s, space);
	h = slot == NO_INDEX ? 0 : uvmpi_block_find(s, slot, address);
	if (h != 0)
		uvmpi_memory_hold(s, processor, h, block_page(s, block_at(s, h), address), until_ns);
	return UVMP_OK;
}

enum uvmp_status uvmp_service_touch(struct uvmp_service *s, uint32_t processor, uint64_t space,
				    uvmp_addr address)
{
	return uvmp_service_access(s, processor, space, address, UVMP_ACCESS_READ);
}

bool uvmp_service_has_notes(const struct uvmp_service *s)
{
	return service_is_valid(s) && (s->notes_waiting != 0 || uvmpi_hot_is_due(s));
}

enum uvmp_status uvmp_service_count(const struct uvmp_service *s, uint32_t gpu,
				    struct uvmp_service_counts *counts)
{
	if (!uvmp_service_is_valid(s) || !counts)
		return UVMP_ERR_ARGUMENT;
	if (gpu == UVMP_CPU || gpu >= s->processors.count)
		return UVMP_ERR_RANGE;
	return uvmpi_sized_write(counts, counts->size, &s->gpu[gpu].counts, sizeof(*counts), sizeof(counts->size));
}

/* -- scheduling -- */

/* A request that interrupts a bottom half may make room ahead for the next block of the batch. */
static void start_request(struct uvmp_service *s)
{
	uvmp_addr next_start = 0;
	bool has_next = uvmpi_fault_has_next(s, &next_start);

	uvmpi_request_start(s, has_next, next_start);
}

/* Starts what waits; false: nothing. */
UVMPI_NOINLINE static bool schedule(struct uvmp_service *s)
{
	uint32_t count = s->processors.count;

	s->batch = 0;
	if (s->request_count != 0) {
		start_request(s);
		return true;
	}
	if (uvmpi_unpin_due(s) || (s->adapt.is_on && uvmpi_adapt_due(s)))
		return true;
	if (uvmpi_hot_is_due(s) && !s->was_hot) {
		s->was_hot = true;
		uvmpi_hot_start(s);
		return true;
	}
	s->was_hot = false;
	for (uint32_t i = 0; i + 1u < count; i++) {
		uint32_t gpu = 1u + (s->next_gpu - 1u + i) % (count - 1u);

		if (uvmpi_fault_is_due(s, gpu)) {
			s->next_gpu = gpu + 1u < count ? gpu + 1u : 1u;
			uvmpi_fault_start(s, gpu);
			return true;
		}
	}
	for (uint32_t gpu = 1; gpu < count; gpu++) {
		if (uvmpi_counter_is_due(s, gpu)) {
			uvmpi_counter_start(s, gpu);
			return true;
		}
	}
	return uvmpi_hot_is_due(s);
}

static void advance_request(struct uvmp_service *s)
{
	s->batch = 0;
	if (uvmpi_request_is_active(s))
		uvmpi_request_advance(s);
	else
		start_request(s);
}

/* Lets the innermost active machine decide; false: nothing to do. */
static bool advance(struct uvmp_service *s)
{
	if (uvmpi_servicing_is_active(s))
		uvmpi_servicing_advance(s);
	else if (uvmpi_request_is_active(s) || (s->request_count != 0 && uvmpi_fault_is_between(s)))
		advance_request(s);
	else if (uvmpi_fault_is_active(s))
		uvmpi_fault_advance(s);
	else if (uvmpi_counter_is_active(s))
		uvmpi_counter_advance(s);
	else if (uvmpi_hot_is_active(s))
		uvmpi_hot_advance(s);
	else
		return schedule(s);
	return true;
}

/* Does the next step need an object of the arena? Freeing a range needs none and works during a shortage. */
static bool needs_arena(const struct uvmp_service *s)
{
	uint32_t active, beginning;

	if (uvmpi_servicing_is_active(s))
		return true;
	if (uvmpi_request_is_active(s))
		return uvmpi_request_needs_arena(s);
	active = (uint32_t)uvmpi_fault_is_active(s) + uvmpi_counter_is_active(s) + uvmpi_hot_is_active(s);
	beginning = s->request_count != 0 ? uvmpi_fault_is_between(s) : 0; /* a request that interrupts a bottom half */
	return active > beginning;
}

/* Tables of a GPU must grow, and the arena is too full for that? */
static bool lacks_tables(struct uvmp_service *s)
{
	if (s->table_gpu != 0 && !uvmpi_memory_grow(s, s->table_gpu))
		return true;
	s->table_gpu = 0;
	return false;
}

/* Decides until an action is queued. All decided actions have been handed out. */
static enum uvmp_status decide(struct uvmp_service *s)
{
	if (s->completed < s->actions)
		return UVMP_ERR_RETRY;
	do {
		if ((uvmpi_arena_is_short(s) && needs_arena(s)) || lacks_tables(s))
			return UVMP_ERR_ARENA;
		s->is_drained = s->actions != 0;
		if (!advance(s))
			return UVMP_ERR_RETRY;
		uvmpi_queue_begin_group(s); /* if no action was queued: the results are read */
	} while (s->actions == 0);
	return UVMP_OK;
}

static inline enum uvmp_status hand_out(struct uvmp_service *s, const struct uvmp_action **action)
{
	*action = &s->action[s->handed++];
	return UVMP_OK;
}

/* Out of line: the next of several actions saves no registers for it. */
UVMPI_NOINLINE static enum uvmp_status decide_next(struct uvmp_service *s, const struct uvmp_action **action)
{
	enum uvmp_status status = decide(s);

	return status == UVMP_OK ? hand_out(s, action) : status;
}

enum uvmp_status uvmp_service_next(struct uvmp_service *s, uint64_t now_ns, const struct uvmp_action **action)
{
	if (!service_is_valid(s) || !action)
		return UVMP_ERR_ARGUMENT;
	s->now_ns = now_ns;
	return s->handed != s->actions ? hand_out(s, action) : decide_next(s, action);
}

/* The stored result of an action. Inside the engine, RETRY means that an eviction has made room. */
static uint8_t result(const struct uvmp_action *a, enum uvmp_status status)
{
	if (status >= 0 || a->kind == UVMP_ACTION_DONE)
		return 1;
	if (status == UVMP_ERR_RETRY)
		status = UVMP_ERR_STATE;
	return (uint8_t)(1 - ((int)status > -128 ? (int)status : -128));
}

/* Notes that an action has failed, and the pages that a COPY or POPULATE has moved all the same, for action_add_failed. */
static void note_failure(struct uvmp_service *s, struct uvmp_action *a, const uvmp_mask *done)
{
	s->has_failed = true;
	if (action_has_transfers(a))
		uvmpi_mask_and(&a->cuts, &a->pages, uvmpi_mask_or_none(done));
}

static inline enum uvmp_status complete(struct uvmp_service *s, uint64_t id, enum uvmp_status status,
					const uvmp_mask *done)
{
	uint64_t index;

	if (!service_is_valid(s))
		return UVMP_ERR_ARGUMENT;
	if (status > UVMP_OK)
		return UVMP_ERR_RANGE;
	index = id - s->base_id;
	if (index >= s->handed || s->done[index])
		return UVMP_ERR_STATE;
	s->done[index] = result(&s->action[index], status);
	s->completed++;
	if (s->done[index] != 1u)
		note_failure(s, &s->action[index], done);
	return UVMP_OK;
}

enum uvmp_status uvmp_service_complete_pages(struct uvmp_service *s, uint64_t id, enum uvmp_status status,
					     const uvmp_mask *done)
{
	return complete(s, id, status, done);
}

enum uvmp_status uvmp_service_complete(struct uvmp_service *s, uint64_t id, enum uvmp_status status)
{
	return complete(s, id, status, NULL);
}

uint32_t uvmp_service_pending(const struct uvmp_service *s)
{
	return service_is_valid(s) ? s->handed - s->completed : 0;
}

uint64_t uvmp_service_needs(const struct uvmp_service *s)
{
	uint64_t bytes;

	if (!uvmp_service_is_valid(s))
		return 0;
	bytes = (uint64_t)s->reserve * UNIT_BYTES;
	for (uint32_t gpu = 1; gpu < s->processors.count; gpu++)
		bytes += uvmpi_memory_more(s, gpu);
	if (uvmpi_arena_room(s) >= bytes)
		return 0;
	return bytes > UVMP_SERVICE_GROW_MIN ? bytes : UVMP_SERVICE_GROW_MIN;
}

uint64_t uvmp_service_wakeup_ns(const struct uvmp_service *s)
{
	uint64_t soonest;

	if (!uvmp_service_is_valid(s))
		return UINT64_MAX;
	if (s->table_gpu != 0 || (uvmpi_arena_is_short(s) && needs_arena(s))) /* only uvmp_service_grow gives work */
		return UINT64_MAX;
	soonest = uvmpi_adapt_wakeup_ns(s);
	for (uint32_t i = 0; i < s->spaces_used; i++) {
		uint64_t us;

		if (s->space[i].users == 0)
			continue;
		us = uvmp_thrash_unpin_us(&s->space[i].thrash, s->now_ns);
		if (us != UVMP_THRASH_IDLE && s->now_ns + us * 1000u < soonest)
			soonest = s->now_ns + us * 1000u;
	}
	return soonest;
}
