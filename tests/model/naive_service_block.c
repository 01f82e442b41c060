/* Block service of the naive model [driver: block-service]: pages of one block go to their destinations. */
#include "naive_service_internal.h"

#include <stdlib.h>
#include <string.h>

#include "naive_plan.h"
#include "naive_residency.h"

/* ALLOCATE for the chunks that are wanted and that the host does not know yet. */
static uint32_t announce(struct naive_service *n, const struct block_service *s, uint32_t gpu, uint32_t *first)
{
	struct block *b = s->block;
	uint32_t firsts = 0;

	for (uint32_t k = 0; k < n->pins; k++) {
		struct owned *o = &n->pin[k].block->owned[n->pin[k].gpu][n->pin[k].first];
		bool pages[PAGES] = {false}, has_faulted = false, is_wanted = false;
		struct uvmp_action *action;

		if (n->pin[k].block != b || n->pin[k].gpu != gpu || o->is_announced)
			continue;
		for (uint32_t i = o->first; i < o->end; i++) {
			pages[i] = true;
			is_wanted = is_wanted || s->want[gpu][i];
			has_faulted = has_faulted || (s->want[gpu][i] && !s->prefetched[i]);
		}
		if (!is_wanted)
			continue;
		action = naive_emit_pages(n, UVMP_ACTION_ALLOCATE, has_faulted ? s->cause : UVMP_CAUSE_PREFETCH, b,
		                    pages);
		action->to = (uint8_t)gpu;
		action->offset = naive_offset_of(o->chunk);
		action->detail = naive_bytes_of(n, o->chunk);
		o->is_announced = true;
		first[firsts++] = o->first;
	}
	return firsts;
}

/* Memory for less than a block: the wanted pages of some units stay wanted, those of others are left out. */
static void drop_units(const struct naive_service *n, struct block_service *s, uint32_t gpu)
{
	const struct gpu *g = &n->gpu[gpu];
	uint64_t most = g->memory_pages / g->unit_pages, kept = 0;
	bool keep[PAGES] = {false};

	for (int with_fault = 1; with_fault >= 0; with_fault--)
		for (uint32_t first = 0; first < s->block->pages; first += g->unit_pages) {
			bool is_wanted = false;

			for (uint32_t i = first; i < s->block->pages && i < first + g->unit_pages; i++)
				is_wanted = is_wanted ||
				            (s->want[gpu][i] && (with_fault == 0 || !s->prefetched[i]));
			if (is_wanted && !keep[first] && kept < most) {
				keep[first] = true;
				kept++;
			}
		}
	for (uint32_t i = 0; i < s->block->pages; i++)
		s->want[gpu][i] = s->want[gpu][i] && keep[i - i % g->unit_pages];
}

/* Orders of units: evicts until the wanted pages that are not resident fit. */
static enum uvmp_status make_room(struct naive_service *n, struct block_service *s, uint32_t gpu)
{
	struct block *b = s->block;
	enum uvmp_status status = UVMP_OK;

	b->is_known[gpu] = true;
	while (status == UVMP_OK) {
		uint32_t missing = 0;

		for (uint32_t i = 0; i < b->pages; i++)
			missing += naive_page_counts(n, b, gpu, i, s->want[gpu]) && !naive_page_counts(n, b, gpu, i, NULL);
		n->is_full = n->is_full || naive_is_over(n, gpu, missing);
		if (naive_count_pages(n, gpu) + missing <= n->gpu[gpu].memory_pages)
			return UVMP_OK;
		status = naive_evict_unit(n, gpu, b, s->want[gpu], s->withdraws, b->start);
	}
	return status;
}

/* Order of units: frames for the units of the wanted pages. */
static enum uvmp_status allocate_frames(struct naive_service *n, struct block_service *s, uint32_t gpu)
{
	struct gpu *g = &n->gpu[gpu];
	struct block *b = s->block;
	struct frame_run run = {{false}, 0, 0, 0, UVMP_CAUSE_NONE};
	enum uvmp_status status;

	for (uint32_t first = 0; first < b->pages; first += g->unit_pages) {
		bool is_wanted = false, has_faulted = false;

		for (uint32_t i = first; i < b->pages && i < first + g->unit_pages; i++) {
			is_wanted = is_wanted || s->want[gpu][i];
			has_faulted = has_faulted || (s->want[gpu][i] && !s->prefetched[i]);
		}
		if (!is_wanted || b->frame[gpu][first] != 0)
			continue;
		naive_take_frame(g, &b->frame[gpu][first]);
		naive_add_frame(n, b, gpu, UVMP_ACTION_ALLOCATE, first,
		          has_faulted ? s->cause : UVMP_CAUSE_PREFETCH, &run);
	}
	naive_emit_frames(n, b, gpu, UVMP_ACTION_ALLOCATE, &run);
	if (n->actions == 0)
		return UVMP_OK;
	status = naive_perform_group(n);
	if (status != UVMP_OK)
		naive_give_frames(g, b, gpu, s->want[gpu]);
	return status;
}

/* Every missing chunk of a destination. */
static enum uvmp_status allocate(struct naive_service *n, struct block_service *s, uint32_t gpu)
{
	struct block *b = s->block;
	uint32_t first[PAGES], firsts;
	enum uvmp_status status;

	naive_add_place(b, gpu);
	if (gpu == UVMP_CPU)
		return UVMP_OK;
	if (n->gpu[gpu].unit_pages != 0) {
		drop_units(n, s, gpu);
		status = make_room(n, s, gpu);
		return status == UVMP_OK ? allocate_frames(n, s, gpu) : status;
	}
	for (uint32_t i = 0; i < b->pages; i++) {
		struct uvmp_region region = naive_chunk_around(n, b, i);
		struct uvmp_chunk chunk;

		if (!s->want[gpu][i] || b->owned[gpu][region.first].exists)
			continue;
		status = naive_take_parked_chunk(&n->gpu[gpu], naive_size_of(n, region), &chunk)
		                 ? UVMP_OK
		                 : naive_pmm_alloc(n->gpu[gpu].pmm, UVMP_CHUNK_USER, naive_size_of(n, region),
		                                   b->number, &chunk);
		n->is_full = n->is_full || status == UVMP_ERR_NO_MEMORY;
		if (status == UVMP_ERR_NO_MEMORY)
			return naive_evict_root(n, gpu, naive_size_of(n, region), b);
		if (status != UVMP_OK)
			return UVMP_ERR_NO_MEMORY;
		naive_own_chunk(n, b, gpu, region, chunk);
	}
	firsts = announce(n, s, gpu, first);
	if (firsts == 0)
		return UVMP_OK;
	status = naive_perform_group(n);
	for (uint32_t i = 0; i < firsts && status != UVMP_OK; i++)
		if (n->status[i] != UVMP_OK)
			naive_disown_chunk(n, b, gpu, first[i]);
	return status;
}

/* What stands in the way of the copies. */
static void clear_way(struct naive_service *n, struct block_service *s, uint32_t dst)
{
	struct block *b = s->block;
	bool absent[PAGES] = {false}, extra[PAGES] = {false};

	for (uint32_t k = 0; k < b->places; k++) {
		uint32_t p = b->place[k];
		bool down[PAGES] = {false};
		struct uvmp_action *action;

		for (uint32_t i = 0; i < b->pages; i++)
			down[i] = s->want[dst][i] && s->duplicate[i] && !in(b->page[i].resident, dst) &&
			          in(b->page[i].resident, p) && b->page[i].right[p] > UVMP_RIGHT_READ;
		if (!naive_any(down))
			continue;
		action = naive_emit_pages(n, UVMP_ACTION_REVOKE, UVMP_CAUSE_REVOKE, b, down);
		action->to = (uint8_t)p;
		action->right = UVMP_RIGHT_READ;
		for (uint32_t i = 0; i < b->pages; i++)
			if (down[i])
				b->page[i].right[p] = UVMP_RIGHT_READ;
	}
	for (uint32_t k = 0; k < b->places; k++) {
		bool remote[PAGES] = {false};

		for (uint32_t i = 0; i < b->pages; i++)
			remote[i] = s->want[dst][i] && s->duplicate[i] && !in(b->page[i].resident, dst) &&
			            !in(b->page[i].resident, b->place[k]);
		naive_unmap(n, s->cause, b, b->place[k], remote, 0);
	}
	for (uint32_t i = 0; i < b->pages; i++) {
		absent[i] = s->want[dst][i] && !s->duplicate[i] && !in(b->page[i].resident, dst);
		extra[i] = s->want[dst][i] && !s->duplicate[i] && in(b->page[i].resident, dst) &&
		           b->page[i].is_duplicated;
	}
	for (uint32_t k = 0; k < b->places; k++)
		naive_unmap(n, s->cause, b, b->place[k], absent, 0);
	for (uint32_t k = 0; k < b->places; k++)
		if (b->place[k] != dst)
			naive_unmap(n, s->cause, b, b->place[k], extra, 0);
}

/* The detector hears of what came from where. */
static void report(struct naive_service *n, struct block_service *s, uint32_t dst, bool is_duplicate)
{
	struct block *b = s->block;

	for (uint32_t from = 0; from < n->procs; from++) {
		for (uint32_t i = 0; i < b->pages; i++) {
			struct uvmp_thrash_migration m = {.to = dst, .final_to = dst, .now_ns = n->now};
			uint32_t end = i;

			while (end < b->pages && s->arrived[end] && s->source[end] == from &&
			       s->duplicate[end] == is_duplicate && n->label[end] == n->label[i])
				end++;
			if (end == i)
				continue;
			m.region.first = i;
			m.region.end = end;
			m.cause = n->label[i] ? UVMP_MIGRATE_PREFETCH : s->migrate_cause;
			m.is_copy = is_duplicate;
			m.is_read_duplicated = b->range->duplication == UVMP_DUPLICATION_ENABLED;
			naive_thrash_migrate(&naive_space_of(n, b)->thrash, b->number, &m);
			b->is_suspect = b->is_suspect || naive_thrash_of(n, b)->has_array;
			i = end - 1;
		}
	}
}

static void settle(struct naive_service *n, struct block_service *s, uint32_t dst)
{
	struct block *b = s->block;
	bool here[PAGES] = {false}, moved[PAGES] = {false};

	for (uint32_t i = 0; i < b->pages; i++) {
		here[i] = s->want[dst][i] && (s->arrived[i] || in(b->page[i].resident, dst));
		moved[i] = here[i] && !s->duplicate[i];
		if (here[i])
			b->page[i].resident |= bit(dst);
	}
	for (uint32_t k = 0; k < b->places; k++)
		if (b->place[k] != dst)
			naive_leave_processor(n, b, b->place[k], moved, false);
	for (uint32_t i = 0; i < b->pages; i++)
		if (here[i])
			b->page[i].is_duplicated = (b->page[i].resident & (b->page[i].resident - 1)) != 0;
	naive_decide_units(n, b, dst, here, s->arrived);
	if ((uint64_t)b->pages * n->page_bytes == UVMP_ROOT_CHUNK_BYTES)
		memset(here, 1, sizeof(here)); /* even if no page moved [driver: root-queues] */
	naive_mark_chunks(n, b, dst, here, UVMP_MARK_USED);
}

static enum uvmp_status serve_destination(struct naive_service *n, struct block_service *s, uint32_t dst)
{
	static struct naive_transfer in[UVMP_PLAN_TRANSFERS_MAX];
	bool has_failed[PAGES] = {false};
	struct block *b = s->block;
	enum uvmp_status status = allocate(n, s, dst);
	struct eviction *ahead;
	uint32_t ins;

	if (status != UVMP_OK)
		return status;
	for (uint32_t i = 0; i < PAGES; i++)
		s->source[i] = dst;
	memset(s->arrived, 0, sizeof(s->arrived));
	clear_way(n, s, dst);
	for (uint32_t i = 0; i < b->pages; i++)
		s->arrived[i] = s->want[dst][i] && !is_on(b, i, dst);
	ins = naive_plan_in(n, s, dst, in);
	ahead = naive_evict_ahead(n, dst, b);
	naive_emit_copies(n, s, in, ins, ahead);
	(void)naive_perform_group(n);
	for (uint32_t k = 0; k < n->performed; k++) {
		bool is_out =
		        n->group[k].kind == UVMP_ACTION_COPY && n->group[k].cause == UVMP_CAUSE_EVICTION;

		if (n->status[k] == UVMP_OK || is_out)
			continue;
		if (status == UVMP_OK)
			status = n->status[k];
		if (n->group[k].kind == UVMP_ACTION_COPY || n->group[k].kind == UVMP_ACTION_POPULATE)
			for (uint32_t i = 0; i < PAGES; i++)
				if (naive_has_failed_to_move(n, k, i))
					has_failed[i] = true, s->arrived[i] = false;
	}
	if (ahead != NULL)
		naive_end_ahead(n, ahead);
	report(n, s, dst, true);
	report(n, s, dst, false);
	settle(n, s, dst);
	if (dst != UVMP_CPU)
		naive_give_frames(&n->gpu[dst], b, dst, has_failed);
	if (status != UVMP_OK || s->is_unmapped)
		return status;
	naive_map_pages(n, s, dst);
	return naive_perform_group(n);
}

enum uvmp_status naive_serve_block(struct naive_service *n, struct block_service *s)
{
	uint32_t destinations = 0, only = 0;

	for (uint32_t p = 0; p < n->procs; p++)
		if (naive_any(s->want[p])) {
			destinations++;
			only = p;
		}
	if (destinations > 0)
		naive_add_prefetched(n, s, destinations, only);
	for (uint32_t p = 0; p < n->procs; p++) {
		enum uvmp_status status = naive_any(s->want[p]) ? serve_destination(n, s, p) : UVMP_OK;

		if (status != UVMP_OK)
			return status;
	}
	return UVMP_OK;
}

/* Hint and residency of a page that is to be serviced; true: it is throttled, until *until_ns. */
bool naive_choose_destination(struct naive_service *n, struct block_service *s, uint32_t i, enum uvmp_access access,
                              uint8_t accesses, uint8_t operation, uint64_t *until_ns)
{
	struct block *b = s->block;
	const struct range *range = b->range;
	struct uvmp_thrash_facts asked = {i,     s->requester, range->preferred, b->page[i].resident,
	                                  false, n->now,        range->preferred != NONE};
	uint32_t throttles = naive_thrash_of(n, b)->page[i].thr_count;
	struct uvmp_thrash_hint hint = naive_thrash_decide(&naive_space_of(n, b)->thrash, b->number, &asked);
	struct uvmp_residency_facts facts = {.requester = s->requester,
	                                     .accesses = accesses,
	                                     .operation = operation,
	                                     .has_preferred = range->preferred != NONE,
	                                     .preferred = range->preferred,
	                                     .accessed_by = range->accessed_by,
	                                     .resident = b->page[i].resident,
	                                     .pin = hint.pin_to,
	                                     .has_pin = hint.pin_to != NONE,
	                                     .duplication = (uint8_t)range->duplication,
	                                     .is_duplicated = b->page[i].is_duplicated,
	                                     .maps_on_atomics = n->policy.map_on_atomics};
	struct uvmp_residency_place place;

	if (hint.kind == UVMP_THRASH_THROTTLE) {
		*until_ns = hint.until_ns;
		return true;
	}
	if (hint.kind == UVMP_THRASH_PIN) {
		s->pinned[i] = true;
		s->procs[i] = hint.procs;
	}
	s->throttles[i] = throttles;
	place = naive_residency_select(&n->processors, &facts);
	s->want[place.to][i] = true;
	s->duplicate[i] = place.is_duplicate &&
	                  (operation != UVMP_OPERATION_ACCESS_COUNTER || !n->policy.quirks); /* [driver: counter-ignores-duplication] */
	s->access[i] = (uint8_t)access;
	return false;
}

/* A block service for a request, repeated after each eviction. */
enum uvmp_status naive_serve_request_block(struct naive_service *n, const struct block_service *wanted)
{
	struct block_service *s = malloc(sizeof(*s));
	enum uvmp_status status = UVMP_ERR_RETRY;

	for (uint32_t k = 0; k < WALKS && status == UVMP_ERR_RETRY; k++) {
		*s = *wanted;
		s->is_retry = k > 0;
		status = naive_serve_block(n, s);
	}
	free(s);
	return status == UVMP_ERR_RETRY ? UVMP_ERR_NO_MEMORY : status;
}
