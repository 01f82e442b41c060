/* Mappings of the naive model [driver: va-policy, other-mappings]. */
#include "naive_service_internal.h"

#include <string.h>

#include "naive_residency.h"

/* UNMAP of these pages from a processor. */
void naive_unmap(struct naive_service *n, enum uvmp_cause cause, struct block *b, uint32_t p,
                  const bool *pages, uvmp_addr for_address)
{
	bool gone[PAGES] = {false};
	struct uvmp_action *action;

	for (uint32_t i = 0; i < b->pages; i++)
		gone[i] = pages[i] && b->page[i].right[p] != UVMP_RIGHT_NONE;
	if (!naive_any(gone))
		return;
	action = naive_emit_pages(n, UVMP_ACTION_UNMAP, cause, b, gone);
	action->to = (uint8_t)p;
	action->for_address = for_address;
	for (uint32_t i = 0; i < b->pages; i++)
		if (gone[i])
			b->page[i].right[p] = UVMP_RIGHT_NONE;
}

static bool is_local_only(const struct naive_service *n, const struct range *range, uint32_t p)
{
	return range->duplication == UVMP_DUPLICATION_ENABLED ||
	       (range->preferred == p && !in(n->processors.no_memory, p));
}

/* [driver: va-policy]: the highest right that is possible remotely. */
static uint8_t remote_right(const struct naive_service *n, const struct block *b, uint32_t i, uint32_t p,
                            uint32_t holder)
{
	uint64_t native = n->processors.native_atomics[holder];
	uint8_t right = UVMP_RIGHT_READ_WRITE_ATOMIC;

	for (uint32_t other = 0; other < n->procs; other++)
		if (other != p && !in(native, p) && b->page[i].right[other] >= UVMP_RIGHT_READ_WRITE)
			right = UVMP_RIGHT_READ_WRITE;
	for (uint32_t other = 0; other < n->procs; other++)
		if (other != p && !in(native, other) &&
		    b->page[i].right[other] == UVMP_RIGHT_READ_WRITE_ATOMIC)
			right = UVMP_RIGHT_READ;
	return right < (uint8_t)b->range->right ? right : (uint8_t)b->range->right;
}

/* A processor is mapped to pages that others hold. */
void naive_map_remote(struct naive_service *n, enum uvmp_cause cause, struct block *b, uint32_t p,
                       const bool *pages, uvmp_addr for_address)
{
	for (uint32_t holder = 0; holder < n->procs && !is_local_only(n, b->range, p); holder++) {
		uint8_t gain[PAGES] = {0};

		for (uint32_t i = 0; i < b->pages && in(n->processors.can_access[p], holder); i++) {
			const struct page *page = &b->page[i];

			if (pages[i] && !in(page->resident, p) && !page->is_duplicated &&
			    naive_closest(&n->processors, p, page->resident) == holder &&
			    remote_right(n, b, i, p, holder) > page->right[p])
				gain[i] = remote_right(n, b, i, p, holder);
		}
		for (uint8_t right = 1; right <= 3; right++) {
			bool flag[PAGES] = {false};
			struct uvmp_action *action;

			for (uint32_t i = 0; i < b->pages; i++)
				flag[i] = gain[i] == right;
			if (!naive_any(flag))
				continue;
			naive_add_place(b, p);
			action = naive_emit_pages(n, UVMP_ACTION_MAP, cause, b, flag);
			action->to = (uint8_t)p;
			action->from = (uint8_t)holder;
			action->right = right;
			action->for_address = for_address;
			for (uint32_t i = 0; i < b->pages; i++)
				if (flag[i])
					b->page[i].right[p] = right;
		}
	}
}

/* Accessed-by processors get their mappings of evicted pages back. */
void naive_map_evicted(struct naive_service *n, struct block *b, uint32_t gpu, const bool *pages,
                        uvmp_addr for_address)
{
	for (uint32_t p = 0; p < n->procs; p++)
		if (in(b->range->accessed_by, p) || (p == gpu && n->maps_evicted))
			naive_map_remote(n, UVMP_CAUSE_EVICTION, b, p, pages, for_address);
}

/* Of the first pinned page among these. */
uint32_t naive_throttles_of(const struct block_service *s, const bool *pages)
{
	for (uint32_t i = 0; i < PAGES; i++)
		if (pages[i] && s->pinned[i])
			return s->throttles[i];
	return 0;
}

/* Does a pinned page come with the transfer? */
bool naive_is_pinning(const struct block_service *s, const struct naive_transfer *t)
{
	for (uint32_t i = t->pages.first; i < t->pages.end; i++)
		if (s->pinned[i])
			return true;
	return false;
}

static struct uvmp_map rights_of(struct naive_service *n, struct block_service *s, uint32_t dst, uint32_t i)
{
	const struct page *page = &s->block->page[i];
	const struct range *range = s->block->range;
	struct uvmp_map_facts facts = {.requester = s->requester,
	                               .to = dst,
	                               .access = s->access[i],
	                               .right = (uint8_t)range->right,
	                               .read = naive_mapped_at(n, page, UVMP_RIGHT_READ),
	                               .write = naive_mapped_at(n, page, UVMP_RIGHT_READ_WRITE),
	                               .atomic = naive_mapped_at(n, page, UVMP_RIGHT_READ_WRITE_ATOMIC),
	                               .accessed_by = range->accessed_by,
	                               .thrashing = s->pinned[i] ? s->procs[i] : 0,
	                               .has_preferred = range->preferred != NONE,
	                               .preferred = range->preferred,
	                               .duplication = (uint8_t)range->duplication,
	                               .is_duplicated = page->is_duplicated,
	                               .has_migrated = s->arrived[i] ||
	                                               s->migrate_cause == UVMP_MIGRATE_ACCESS_COUNTER,
	                               .is_discarded = page->is_discarded};

	return naive_residency_map(&n->processors, &facts);
}

/* Pages become mapped; only what changes. */
static void map(struct naive_service *n, const struct block_service *s, uint32_t p, uint32_t from, uint8_t right,
                const bool *pages)
{
	enum uvmp_cause cause = p == s->requester ? s->cause : UVMP_CAUSE_HINT;
	struct block *b = s->block;
	bool changed[PAGES] = {false};
	struct uvmp_action *action;

	for (uint32_t i = 0; i < b->pages; i++)
		changed[i] = pages[i] && b->page[i].right[p] < right;
	if (!naive_any(changed))
		return;
	for (uint32_t i = 0; i < b->pages; i++)
		if (changed[i] && s->pinned[i])
			cause = UVMP_CAUSE_PIN;
	action = naive_emit_pages(n, UVMP_ACTION_MAP, cause, b, changed);
	action->to = (uint8_t)p;
	action->from = (uint8_t)from;
	if (cause == UVMP_CAUSE_PIN)
		action->throttles = naive_throttles_of(s, changed);
	action->right = right;
	naive_add_place(b, p);
	for (uint32_t i = 0; i < b->pages; i++)
		if (changed[i])
			b->page[i].right[p] = right;
}

static void revoke(struct naive_service *n, struct block_service *s, uint32_t p, uint8_t left, const bool *pages)
{
	struct block *b = s->block;
	struct uvmp_action *action;

	if (!naive_any(pages))
		return;
	action = naive_emit_pages(n, UVMP_ACTION_REVOKE, UVMP_CAUSE_REVOKE, b, pages);
	action->to = (uint8_t)p;
	action->right = left;
	for (uint32_t i = 0; i < b->pages; i++) {
		uint32_t end = i;

		while (end < b->pages && pages[end])
			b->page[end++].right[p] = left;
		if (end > i)
			naive_thrash_revoke(&naive_space_of(n, b)->thrash, b->number, (struct uvmp_region){i, end},
			                    p, n->now);
		b->is_suspect = b->is_suspect || naive_thrash_of(n, b)->has_array;
		i = end > i ? end - 1 : i;
	}
}

static void map_others(struct naive_service *n, struct block_service *s, uint32_t dst, const struct uvmp_map *rights)
{
	struct block *b = s->block;
	uvmp_mask level[3], pinned;
	uint32_t levels;

	naive_pack(s->pinned, &pinned);
	for (uint8_t right = 1; right <= 3; right++) {
		bool flag[PAGES] = {false};

		for (uint32_t i = 0; i < b->pages; i++)
			flag[i] = s->want[dst][i] && rights[i].right == right;
		naive_pack(flag, &level[right - 1]);
	}
	levels = naive_residency_levels(level, &pinned, n->policy.quirks);
	for (uint32_t p = 0; p < n->procs; p++)
		for (uint8_t right = 1; right <= 3; right++) {
			bool flag[PAGES] = {false};

			for (uint32_t i = 0; i < b->pages; i++)
				flag[i] = s->want[dst][i] && rights[i].right <= levels &&
				          ((right == 3 && in(rights[i].others_atomic, p)) ||
				           (right == rights[i].others_right && in(rights[i].others, p)));
			map(n, s, p, dst, right, flag);
		}
}

void naive_map_pages(struct naive_service *n, struct block_service *s, uint32_t dst)
{
	struct block *b = s->block;
	struct uvmp_map rights[PAGES];
	bool all[PAGES], is_lost;

	memset(rights, 0, sizeof(rights));
	for (uint32_t i = 0; i < b->pages; i++)
		if (s->want[dst][i])
			rights[i] = rights_of(n, s, dst, i);
	for (uint32_t k = 0; k < b->places; k++)
		for (uint8_t left = 1; left <= 2; left++) {
			bool flag[PAGES] = {false};

			for (uint32_t i = 0; i < b->pages; i++)
				flag[i] = s->want[dst][i] && in(rights[i].victims, b->place[k]) &&
				          rights[i].left == left;
			revoke(n, s, b->place[k], left, flag);
		}
	for (uint8_t right = 1; right <= 3; right++) {
		bool flag[PAGES] = {false};

		for (uint32_t i = 0; i < b->pages; i++)
			flag[i] = s->want[dst][i] && rights[i].right == right;
		if (in(n->processors.can_access[s->requester], dst))
			map(n, s, s->requester, dst, right, flag);
	}
	map_others(n, s, dst, rights);
	for (uint32_t i = 0; i < b->pages; i++)
		if (s->want[dst][i] && rights[i].leaves_discarded)
			b->page[i].is_discarded = false;
	is_lost = true;
	for (uint32_t i = 0; i < b->pages; i++)
		if (in(b->page[i].resident, dst) && !b->page[i].is_discarded)
			is_lost = false;
	for (uint32_t i = 0; i < b->pages; i++) /* [driver: root-queues]: mapping pages of which some are discarded */
		if (s->want[dst][i] && b->page[i].is_discarded && s->requester == dst)
			is_lost = true;
	memset(all, 1, sizeof(all));
	if (is_lost)
		naive_mark_chunks(n, b, dst, all, UVMP_MARK_DISCARDED);
}
