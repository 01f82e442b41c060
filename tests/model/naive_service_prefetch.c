/* Prefetch in the block services of the naive model [driver: prefetch-in-service]. */
#include "naive_service_internal.h"

#include <string.h>

#include "naive_density.h"

static bool ask_density(struct naive_service *n, struct block_service *s, uint32_t dst, bool *more)
{
	struct block *b = s->block;
	const struct naive_thrash_block *thrash = naive_thrash_of(n, b);
	bool flag[PAGES];
	uvmp_mask faulted, resident, mapped, thrashing;
	struct uvmp_prefetch_facts facts;
	struct naive_density hint;

	memset(&facts, 0, sizeof(facts));
	facts.block.start = b->start;
	facts.block.last = b->start + (uint64_t)b->pages * n->page_bytes - 1;
	facts.block.pages = b->pages;
	facts.block.big_pages = naive_big_pages(n);
	facts.block.offset = (uint32_t)(b->start / n->page_bytes % facts.block.big_pages);
	naive_pack(s->want[dst], &faulted);
	facts.faulted = &faulted;
	facts.faulted_region = naive_bounds(s->want[dst]);
	naive_resident_on(b, dst, flag);
	naive_pack(flag, &resident);
	facts.resident = &resident;
	facts.to = dst;
	facts.preferred = b->range->preferred;
	facts.has_preferred = facts.preferred != NONE;
	facts.is_first_touch = true;
	for (uint32_t i = 0; i < PAGES; i++) {
		flag[i] = i < b->pages && b->page[i].right[0] != UVMP_RIGHT_NONE;
		if (i < b->pages && b->page[i].resident != 0)
			facts.is_first_touch = false;
	}
	naive_pack(flag, &mapped);
	facts.cpu_read_mapped = &mapped;
	memset(flag, 0, sizeof(flag));
	for (uint32_t i = 0; i < b->pages; i++)
		flag[i] = thrash->has_array && thrash->page[i].thrashing;
	naive_pack(flag, &thrashing);
	facts.thrashing = n->policy.thrash.is_enabled && naive_any(flag) ? &thrashing : NULL;
	naive_density(&n->policy.prefetch, &facts, &b->prefetch, &hint);
	b->prefetch.last_proc = hint.last_proc;
	b->prefetch.faults = (uint16_t)hint.faults;
	memcpy(more, hint.pages, PAGES);
	memcpy(n->subtree, hint.subtree, sizeof(n->subtree));
	return hint.to != NONE;
}

/* A tree for each block; leaf 0 begins with its first page. */
static bool ask_tree(struct naive_service *n, struct block_service *s, uint32_t dst, bool *more)
{
	struct block *b = s->block;
	struct naive_tbn *tree = &b->tree;
	bool resident[PAGES], chosen[NAIVE_TBN_BLOCKS];
	uint32_t leaves = 1;

	while (16 * leaves < b->pages)
		leaves *= 2;
	if (!b->has_tree)
		naive_tbn_init(tree, b->pages, leaves, true, n->policy.quirks);
	b->has_tree = true;
	tree->is_tbn = n->policy.prefetch.prefetcher == UVMP_PREFETCH_TBN;
	naive_resident_on(b, dst, resident);
	naive_tbn_see(tree, resident);
	naive_tbn_fault(tree, s->want[dst], more, chosen);
	for (uint32_t k = 0; k < leaves; k++)
		if (chosen[k])
			n->subtree[16 * tree->node_first[k]] =
			        (struct uvmp_region){16 * tree->node_first[k], 16 * tree->node_end[k]};
	return naive_any(more);
}

/* What else comes: the answer stays for the walks that repeat this one. */
static void ask(struct naive_service *n, struct block_service *s, uint32_t dst)
{
	const struct block *b = s->block;
	bool is_density = n->policy.prefetch.prefetcher == UVMP_PREFETCH_DENSITY, is_missing = false;

	s->present = 0;
	for (uint32_t i = 0; i < b->pages; i++) {
		s->present += in(b->page[i].resident, dst);
		is_missing = is_missing || (s->want[dst][i] && !in(b->page[i].resident, dst));
	}
	n->present = s->present;
	memset(n->hint, 0, sizeof(n->hint));
	memset(n->subtree, 0, sizeof(n->subtree));
	n->is_hint = false;
	if (is_density) {
		n->is_hint = ask_density(n, s, dst, n->hint);
	} else if (naive_has_tree(n) && is_missing) {
		n->is_hint = ask_tree(n, s, dst, n->hint);
	} else if (n->policy.prefetch.prefetcher == UVMP_PREFETCH_BLOCK && is_missing) {
		for (uint32_t i = 0; i < b->pages; i++)
			n->hint[i] = !s->want[dst][i] && !in(b->page[i].resident, dst);
		n->is_hint = naive_any(n->hint);
	}
}

void naive_add_prefetched(struct naive_service *n, struct block_service *s, uint32_t destinations, uint32_t dst)
{
	struct block *b = s->block;
	bool is_density = n->policy.prefetch.prefetcher == UVMP_PREFETCH_DENSITY;

	for (uint32_t p = 0; p < n->procs; p++)
		for (uint32_t i = 0; i < b->pages; i++)
			s->faults += s->want[p][i];
	if (!s->is_prefetching || destinations != 1 || (dst == UVMP_CPU && !is_density)) {
		n->is_hint = false;
		if (!n->policy.quirks || !s->is_prefetching) /* else [driver: stale-prefetch-mask]: labels stay */
			memset(n->label, 0, sizeof(n->label));
		return;
	}
	if (!s->is_retry || is_density)
		ask(n, s, dst);
	s->present = n->present;
	for (uint32_t i = 0; i < PAGES; i++) /* a page evicted for its own block does not return */
		n->label[i] =
		        n->hint[i] && !s->want[dst][i] &&
		        !(n->is_hint && dst != UVMP_CPU && n->gpu[dst].unit_pages != 0 && is_on(b, i, dst));
	for (uint32_t i = 0; i < b->pages && n->is_hint; i++) {
		if (!n->label[i])
			continue;
		s->want[dst][i] = s->prefetched[i] = true;
		s->access[i] = UVMP_ACCESS_PREFETCH;
		s->duplicate[i] =
		        b->range->duplication == UVMP_DUPLICATION_ENABLED ||
		        (b->range->duplication == UVMP_DUPLICATION_UNSET && b->page[i].is_duplicated);
	}
}

/* [uvmsmart: oversubscription-switch]: from the next batch on. */
void naive_switch_prefetcher(struct naive_service *n)
{
	enum uvmp_prefetcher full = (enum uvmp_prefetcher)(n->policy.prefetch_full - 1u);
	bool quirks = n->policy.quirks;

	if (!n->is_full || n->policy.prefetch_full == 0 || n->policy.prefetch.prefetcher == full)
		return;
	uvmp_prefetch_params_init(&n->policy.prefetch, full);
	n->policy.prefetch.quirks = quirks;
}
