/* Transfers of the naive model, and the copies that they make up. */
#include "naive_service_internal.h"

#include <string.h>

#include "naive_plan.h"

/* The page at which the memory of a GPU continues at another offset. */
static void mark_cuts(const struct naive_service *n, const struct block *b, uint32_t gpu, bool *cut)
{
	uint64_t behind = UINT64_MAX;

	for (uint32_t p = 0; p < b->pages; p++) {
		const struct owned *o = &b->owned[gpu][p];

		if (!o->exists)
			continue;
		cut[p] = cut[p] || naive_offset_of(o->chunk) != behind;
		behind = naive_offset_of(o->chunk) + (uint64_t)(o->end - o->first) * n->page_bytes;
	}
}

void naive_plan_out(struct naive_service *n, struct eviction *e)
{
	static uvmp_mask resident[NAIVE_PROCS];
	bool cut[PAGES] = {false};
	uvmp_mask pages, cuts;
	struct uvmp_copy_facts facts = {.to = UVMP_CPU,
	                                .pages = &pages,
	                                .resident = resident,
	                                .grouping = UVMP_GROUPING_BY_CAUSE,
	                                .cuts = &cuts};

	memset(resident, 0, sizeof(resident));
	naive_pack(e->copied, &pages);
	for (uint32_t p = 1; p < n->processors.count; p++) {
		bool here[PAGES] = {false};

		for (uint32_t i = 0; i < e->block->pages; i++)
			here[i] = e->copied[i] && in(e->block->page[i].resident, p);
		naive_pack(here, &resident[p]);
	}
	mark_cuts(n, e->block, e->gpu, cut);
	naive_pack(cut, &cuts);
	e->outs = naive_plan_copies(&n->processors, &facts, e->out);
}

/* Where the subtrees of the block begin, and end, that the prefetcher chose. */
static void name_subtrees(const struct naive_service *n, const struct block *b, uvmp_mask *subtrees)
{
	bool is_any = false;

	for (uint32_t i = 0; i < b->pages && n->is_hint; i++) {
		if (n->subtree[i].end == 0)
			continue;
		is_any = true;
		uvmp_mask_set(subtrees, n->subtree[i].first);
		if (n->subtree[i].end < b->pages)
			uvmp_mask_set(subtrees, n->subtree[i].end);
	}
	if (is_any)
		uvmp_mask_set(subtrees, b->pages);
}

static void label_copy(const struct naive_service *n, const struct block_service *s, uint8_t kind, struct uvmp_action *action)
{
	bool pages[PAGES];

	if (kind == UVMP_GROUP_FAULT) {
		action->detail = 0;
		for (uint32_t i = 0; i < PAGES; i++) {
			pages[i] = uvmp_mask_test(&action->pages, i);
			action->detail += pages[i] && !s->prefetched[i];
		}
		if (action->cause == UVMP_CAUSE_PIN)
			action->throttles = naive_throttles_of(s, pages);
		return;
	}
	action->faulted = s->faults;
	action->present = s->present;
	name_subtrees(n, s->block, &action->subtrees);
}

/* Transfers of the arriving pages. */
uint32_t naive_plan_in(struct naive_service *n, struct block_service *s, uint32_t dst, struct naive_transfer *copy)
{
	static uvmp_mask resident[NAIVE_PROCS];
	struct block *b = s->block;
	bool pages[PAGES] = {false}, faulted[PAGES] = {false}, cut[PAGES] = {false};
	uvmp_mask pages_mask, faulted_mask, cuts_mask;
	struct uvmp_copy_facts facts = {.to = dst,
	                                .pages = &pages_mask,
	                                .faulted = &faulted_mask,
	                                .resident = resident,
	                                .grouping = naive_has_tree(n) ? UVMP_GROUPING_RUN_TO_FAULT : UVMP_GROUPING_BY_CAUSE,
	                                .cuts = &cuts_mask};
	uint32_t copies;

	for (uint32_t i = 0; i < b->pages; i++) {
		pages[i] = s->want[dst][i];
		faulted[i] = pages[i] && !s->prefetched[i];
	}
	for (uint32_t p = 1; p < n->procs; p++)
		mark_cuts(n, b, p, cut);
	naive_pack(pages, &pages_mask);
	naive_pack(faulted, &faulted_mask);
	naive_pack(cut, &cuts_mask);
	for (uint32_t p = 0; p < n->procs; p++) {
		bool flag[PAGES];

		naive_resident_on(b, p, flag);
		naive_pack(flag, &resident[p]);
	}
	copies = naive_plan_copies(&n->processors, &facts, copy);
	for (uint32_t k = 0; k < copies; k++)
		for (uint32_t i = copy[k].pages.first; copy[k].to == dst && i < copy[k].pages.end; i++)
			s->source[i] = copy[k].from;
	return copies;
}

/* What the transfers of one action have in common, and the order of the actions. */
static uint64_t key_of(const struct block_service *s, const struct naive_transfer *t)
{
	bool is_pin = s != NULL && t->kind == UVMP_GROUP_FAULT && naive_is_pinning(s, t);
	bool is_second = t->from != t->source, has_faulted = false;

	for (uint32_t i = t->pages.first; i < t->pages.end; i++) /* [uvmsmart: transfer-split]: a border may cut the fault off */
		has_faulted = has_faulted || s == NULL || !s->prefetched[i];
	return (uint64_t)t->kind << 32 | t->rank << 8 | (uint64_t)is_second << 2 | (uint64_t)!is_pin << 1 | !has_faulted;
}

/* All transfers with a key become one action. */
static struct uvmp_action *emit_copy(struct naive_service *n, const struct block_service *s, struct block *b,
                                     const struct naive_transfer *t, uint32_t count, uint64_t key)
{
	struct uvmp_action *action = NULL;
	bool none[PAGES] = {false};

	for (uint32_t i = 0; i < count; i++) {
		if (key_of(s, &t[i]) != key)
			continue;
		if (action == NULL) {
			action = naive_emit_pages(n, t[i].from == NONE ? UVMP_ACTION_POPULATE : UVMP_ACTION_COPY,
			                    UVMP_CAUSE_EVICTION, b, none);
			action->from = t[i].from;
			action->to = t[i].to;
			if (s != NULL && t[i].kind == UVMP_GROUP_FAULT)
				action->cause = (uint8_t)(naive_is_pinning(s, &t[i]) ? UVMP_CAUSE_PIN : s->cause);
			else if (s != NULL)
				action->cause = UVMP_CAUSE_PREFETCH;
		}
		naive_plan_add(&t[i].pages, &action->pages, &action->cuts);
	}
	return action;
}

/* All actions of one direction (s: incoming), each after the one before it. */
static void emit_direction(struct naive_service *n, const struct block_service *s, const struct eviction *e,
                           const struct naive_transfer *t, uint32_t count)
{
	bool is_first = true;
	uint64_t done = 0;

	for (;;) {
		struct uvmp_action *action;
		uint64_t key = UINT64_MAX;

		for (uint32_t i = 0; i < count; i++) {
			uint64_t at = key_of(s, &t[i]);

			if ((is_first || at > done) && at < key)
				key = at;
		}
		if (key == UINT64_MAX)
			return;
		action = emit_copy(n, s, s != NULL ? s->block : e->block, t, count, key);
		if (s != NULL)
			label_copy(n, s, (uint8_t)(key >> 32), action);
		else
			action->for_address = e->for_address;
		is_first = false;
		done = key;
	}
}

/* Incoming pages of the block service (NULL: none) and evicted pages (NULL: none). Side by side, the first outgoing copy waits
 * for what the first incoming copy waits for. */
void naive_emit_copies(struct naive_service *n, const struct block_service *s, const struct naive_transfer *in,
                        uint32_t ins, const struct eviction *e)
{
	uint32_t outs = e == NULL || e->block == NULL ? 0 : e->outs, first = n->actions, out;

	if (n->policy.plan == UVMP_PLAN_SERIAL && outs != 0)
		emit_direction(n, NULL, e, e->out, outs);
	if (ins != 0)
		emit_direction(n, s, NULL, in, ins);
	out = n->actions;
	if (n->policy.plan == UVMP_PLAN_SERIAL || outs == 0)
		return;
	emit_direction(n, NULL, e, e->out, outs);
	n->group[out].after = n->group[first].after;
}
