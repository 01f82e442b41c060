/* Evictions of the naive model: roots (evict=lru) and units, also during copies (plan=overlapped). */
#include "naive_service_internal.h"

#include <stdlib.h>
#include <string.h>

/* Order of units: the first of the runs that have to leave, as far as it is there. */
static void hold_run(const struct naive_service *n, struct eviction *e, const struct block *b)
{
	uint32_t i = 0;

	if (n->gpu[e->gpu].unit_pages == 0)
		return;
	while (!e->rest[i])
		i++;
	for (; i < PAGES && e->rest[i]; i++) {
		e->rest[i] = false;
		e->held[i] = i < b->pages && is_on(b, i, e->gpu);
		e->leaving[i] = e->held[i];
		e->lost[i] = e->held[i] && b->page[i].is_discarded;
		e->copied[i] = e->held[i] && !is_on(b, i, UVMP_CPU) && !b->page[i].is_discarded;
	}
}

/* A block is told to leave the root; its copies are planned. */
static void begin_leaving(struct naive_service *n, struct eviction *e, struct block *b)
{
	struct uvmp_action *action;

	e->block = b;
	memset(e->held, 0, sizeof(e->held));
	memset(e->leaving, 0, sizeof(e->leaving));
	memset(e->lost, 0, sizeof(e->lost));
	memset(e->copied, 0, sizeof(e->copied));
	hold_run(n, e, b);
	for (uint32_t f = 0; f < b->pages; f++) {
		const struct owned *o = &b->owned[e->gpu][f];

		for (uint32_t i = f; o->exists && o->chunk.root == e->root && i < o->end; i++) {
			e->held[i] = true;
			e->leaving[i] = in(b->page[i].resident, e->gpu);
			e->lost[i] = e->leaving[i] && b->page[i].is_discarded;
			e->copied[i] = e->leaving[i] && !in(b->page[i].resident, UVMP_CPU) &&
			               !b->page[i].is_discarded;
		}
	}
	if (naive_any(e->copied))
		naive_add_place(b, UVMP_CPU);
	action = naive_emit_pages(n, UVMP_ACTION_EVICT, UVMP_CAUSE_EVICTION, b, e->held);
	action->from = (uint8_t)e->gpu;
	action->victim = (uint8_t)e->victim;
	action->count = e->number++;
	action->offset = (uint64_t)e->root * UVMP_ROOT_CHUNK_BYTES;
	action->for_address = e->for_address;
	for (uint32_t i = 0; i < b->pages; i++)
		action->detail += e->held[i] ? n->page_bytes : 0;
	for (uint32_t i = 0; i < b->places; i++)
		naive_unmap(n, UVMP_CAUSE_EVICTION, b, b->place[i], e->leaving, e->for_address);
	if (naive_any(e->lost)) {
		action = naive_emit_pages(n, UVMP_ACTION_DISCARD, UVMP_CAUSE_EVICTION, b, e->lost);
		action->from = (uint8_t)e->gpu;
		action->for_address = e->for_address;
	}
	naive_plan_out(n, e);
}

/* The tree of tbn and sl does not count pages that an eviction took out. The nodes of a tree that leaves become empty; TBNe sums
 * all nodes up [uvmsmart: tree-updates, victim-selection]. */
static void leave_tree(const struct naive_service *n, const struct eviction *e, enum uvmp_status status)
{
	struct block *b = e->block;
	bool is_whole = n->gpu[e->gpu].order_pages == 0 ? (uint64_t)b->pages * n->page_bytes == UVMP_ROOT_CHUNK_BYTES
	                                                : n->gpu[e->gpu].order_pages == PAGES;

	if (!b->has_tree)
		return;
	for (uint32_t i = 0; i < b->pages; i++)
		if (e->leaving[i] && is_on(b, i, e->gpu))
			naive_tbn_count(&b->tree, i, false);
	if (n->policy.evict == UVMP_EVICT_TBN)
		naive_tbn_sum(&b->tree);
	if (is_whole && status == UVMP_OK)
		memset(b->tree.valid, 0, sizeof(b->tree.valid));
}

/* The copies have ended: what has arrived is the CPU's. If all has, the memory is free. */
static enum uvmp_status end_leaving(struct naive_service *n, struct eviction *e)
{
	struct block *b = e->block;
	struct uvmp_pmm_eviction ignored;
	enum uvmp_status status = UVMP_OK;
	bool found, nothing[PAGES] = {false};

	for (uint32_t k = 0; k < n->performed; k++)
		if (n->group[k].kind == UVMP_ACTION_COPY && n->group[k].cause == UVMP_CAUSE_EVICTION &&
		    n->status[k] != UVMP_OK) {
			status = n->status[k];
			for (uint32_t i = 0; i < PAGES; i++)
				if (naive_has_failed_to_move(n, k, i))
					e->leaving[i] = false;
		}
	for (uint32_t i = 0; i < b->pages; i++)
		if (e->leaving[i] && e->copied[i])
			b->page[i].resident |= 1;
	leave_tree(n, e, status);
	for (uint32_t p = 1; p < n->processors.count; p++)
		naive_leave_processor(n, b, p, e->leaving, false);
	for (uint32_t i = 0; i < b->pages; i++) {
		b->page[i].is_duplicated = b->page[i].is_duplicated && !e->leaving[i];
		e->leaving[i] = e->leaving[i] && !e->lost[i];
	}
	if (n->gpu[e->gpu].unit_pages != 0) {
		for (uint32_t i = 0; i < b->pages; i++)
			e->held[i] = e->held[i] && is_on(b, i, e->gpu);
		if (status != UVMP_OK)
			naive_decide_units(n, b, e->gpu, e->held, nothing);
		else
			naive_map_evicted(n, b, e->gpu, e->leaving, e->for_address);
		(void)naive_perform_group(n);
		return status;
	}
	if (status != UVMP_OK)
		return status;
	naive_pmm_evict_next(n->gpu[e->gpu].pmm, e->root, &ignored, &found);
	for (uint32_t f = 0; f < b->pages; f++)
		if (e->held[f])
			b->owned[e->gpu][f].exists = false;
	naive_map_evicted(n, b, e->gpu, e->leaving, e->for_address);
	(void)naive_perform_group(n);
	return UVMP_OK;
}

static int victim_of(const struct naive_pmm *before, uint32_t root)
{
	static const int kind[] = {UVMP_VICTIM_UNUSED, UVMP_VICTIM_DISCARDED, UVMP_VICTIM_USED};
	int queue = before->root[root].queue;

	return queue < 3 ? kind[queue] : UVMP_VICTIM_FREE;
}

/* Who has the first memory of the root? */
static struct block *first_owner(struct naive_service *n, uint32_t gpu, uint32_t root)
{
	struct block *first = NULL;
	uint32_t lowest = UINT32_MAX;

	for (uint32_t k = 0; k < NAIVE_BLOCKS; k++)
		for (uint32_t i = 0; n->block[k]->exists && i < n->block[k]->pages; i++) {
			const struct owned *o = &n->block[k]->owned[gpu][i];

			if (o->exists && o->chunk.root == root && o->chunk.page < lowest) {
				lowest = o->chunk.page;
				first = n->block[k];
			}
		}
	return first;
}

/* The next victim; NULL: none. */
static struct eviction *choose_victim(struct naive_service *n, uint32_t gpu, uvmp_addr for_address)
{
	struct naive_pmm *before = malloc(sizeof(*before));
	struct eviction *e = calloc(1, sizeof(*e));

	e->gpu = gpu;
	e->for_address = for_address;
	*before = *n->gpu[gpu].pmm;
	if (naive_pmm_evict_begin(n->gpu[gpu].pmm, UVMP_CHUNK_USER, &e->root) != UVMP_OK) {
		free(e);
		e = NULL;
	} else {
		e->victim = victim_of(before, e->root);
	}
	free(before);
	return e;
}

/* The blocks in the root that are left. */
static enum uvmp_status evict_rest(struct naive_service *n, struct eviction *e)
{
	enum uvmp_status status = UVMP_OK;
	struct block *b = first_owner(n, e->gpu, e->root);

	while (b != NULL && status == UVMP_OK) {
		begin_leaving(n, e, b);
		naive_emit_copies(n, NULL, NULL, 0, e);
		(void)naive_perform_group(n);
		status = end_leaving(n, e);
		b = first_owner(n, e->gpu, e->root);
	}
	if (status != UVMP_OK)
		naive_pmm_evict_abort(n->gpu[e->gpu].pmm, e->root);
	return status;
}

/* Evicts one unit, with TBNe its closure. */
enum uvmp_status naive_evict_unit(struct naive_service *n, uint32_t gpu, const struct block *b,
                                   const bool *want, bool withdraws, uvmp_addr for_address)
{
	struct eviction *e = calloc(1, sizeof(*e));
	enum uvmp_status status = UVMP_OK;
	struct unit unit;

	if (!naive_choose_unit(n, gpu, b, want, withdraws, &unit)) {
		free(e);
		return UVMP_ERR_NO_MEMORY;
	}
	e->gpu = gpu;
	e->for_address = for_address;
	e->victim = UVMP_VICTIM_ORDER;
	for (uint32_t i = unit.first; i < unit.first + n->gpu[gpu].unit_pages; i++)
		e->rest[i] = true;
	if (n->policy.evict == UVMP_EVICT_TBN)
		naive_take_closure(n, gpu, b, want, &unit, e->rest);
	while (status == UVMP_OK && naive_any(e->rest)) {
		begin_leaving(n, e, unit.block);
		naive_emit_copies(n, NULL, NULL, 0, e);
		(void)naive_perform_group(n);
		status = end_leaving(n, e);
	}
	free(e);
	return status;
}

/* free_buffer: before the batch is serviced, if it has a fault to service. */
void naive_keep_free(struct naive_service *n)
{
	const struct uvmp_fault *f = &n->fetch->entry[n->order[0]];
	struct range *range = n->orders > 0 ? naive_find_range(n, f->va_space, f->address) : NULL;
	uvmp_addr start = f->address / UVMP_ROOT_CHUNK_BYTES * UVMP_ROOT_CHUNK_BYTES;

	if (range == NULL)
		return;
	if (start < range->base)
		start = range->base;
	while (naive_is_over(n, n->in_gpu, 0) && naive_evict_unit(n, n->in_gpu, NULL, NULL, false, start) == UVMP_OK)
		;
}

/* Evicts for one chunk. The new chunk is parked, and the walk is repeated. */
enum uvmp_status naive_evict_root(struct naive_service *n, uint32_t gpu, uint32_t size, struct block *b)
{
	struct gpu *g = &n->gpu[gpu];
	struct eviction *e = choose_victim(n, gpu, b->start);
	enum uvmp_status status;

	if (e == NULL)
		return UVMP_ERR_NO_MEMORY;
	status = evict_rest(n, e);
	if (status == UVMP_OK) {
		status = naive_pmm_evict_end(g->pmm, e->root, UVMP_CHUNK_USER, size, b->number,
		                             &g->parked[g->parkeds]);
		if (status != UVMP_OK)
			naive_pmm_evict_release(g->pmm, e->root);
		g->parkeds += status == UVMP_OK;
		status = status == UVMP_OK ? UVMP_ERR_RETRY : UVMP_ERR_NO_MEMORY;
	}
	free(e);
	return status;
}

/* Which block of the batch follows? A walk, or a request between two walks, knows it from its beginning on: a range that is
 * added later is too late. */
void naive_look_ahead(struct naive_service *n)
{
	uint32_t next = n->position + n->walked;
	const struct uvmp_fault *f;
	struct range *range;

	n->has_next = false;
	if (n->in_gpu == 0 || next >= n->orders)
		return;
	f = &n->fetch->entry[n->order[next]];
	range = naive_find_range(n, f->va_space, f->address);
	if (range == NULL)
		return;
	n->has_next = true;
	n->next_start = f->address / UVMP_ROOT_CHUNK_BYTES * UVMP_ROOT_CHUNK_BYTES;
	if (n->next_start < range->base)
		n->next_start = range->base;
}

/* Overlapped: while pages of a block come, room is made for the next block of the batch, if the memory is
 * full and the victim does not hold the block itself. Its first block leaves now. */
struct eviction *naive_evict_ahead(struct naive_service *n, uint32_t gpu, const struct block *b)
{
	struct naive_pmm *pmm = n->gpu[gpu].pmm, *before;
	struct eviction *e;
	bool is_wrong;

	if (n->policy.plan != UVMP_PLAN_OVERLAPPED || gpu == UVMP_CPU || n->in_gpu == 0 || !n->has_next ||
	    n->gpu[gpu].unit_pages != 0)
		return NULL;
	for (uint32_t r = 0; r < pmm->params.roots; r++)
		if (pmm->root[r].node[0].state == NAIVE_POOL)
			return NULL;
	before = malloc(sizeof(*before));
	*before = *pmm;
	e = choose_victim(n, gpu, n->next_start);
	if (e != NULL) {
		is_wrong = e->victim == UVMP_VICTIM_FREE;
		for (uint32_t i = 0; i < b->pages; i++)
			if (b->owned[gpu][i].exists && b->owned[gpu][i].chunk.root == e->root)
				is_wrong = true;
		if (is_wrong) {
			*pmm = *before;
			free(e);
			e = NULL;
		} else if (first_owner(n, gpu, e->root) != NULL) {
			begin_leaving(n, e, first_owner(n, gpu, e->root));
		}
	}
	free(before);
	return e;
}

void naive_end_ahead(struct naive_service *n, struct eviction *e)
{
	if (e->block != NULL && end_leaving(n, e) != UVMP_OK)
		naive_pmm_evict_abort(n->gpu[e->gpu].pmm, e->root);
	else if (evict_rest(n, e) == UVMP_OK)
		naive_pmm_evict_release(n->gpu[e->gpu].pmm, e->root);
	free(e);
}
