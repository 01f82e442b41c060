/* Advice in the naive model, and the cuts of ranges that it needs. */
#include "naive_service_internal.h"

#include <stdlib.h>
#include <string.h>

static bool has_effect(const struct range *range, const struct request *r)
{
	if (r->kind == FREE_PART)
		return true;
	switch (r->advice) {
	case UVMP_ADVISE_PREFERRED:
		return range->preferred != r->processor;
	case UVMP_ADVISE_ACCESSED_BY:
		return !in(range->accessed_by, r->processor);
	case UVMP_ADVISE_NOT_ACCESSED_BY:
		return in(range->accessed_by, r->processor);
	case UVMP_ADVISE_READ_DUPLICATE:
		return range->duplication != UVMP_DUPLICATION_ENABLED;
	case UVMP_ADVISE_NO_DUPLICATE:
		return range->duplication != UVMP_DUPLICATION_DISABLED;
	case UVMP_ADVISE_UNSET_DUPLICATE:
		return range->duplication != UVMP_DUPLICATION_UNSET;
	default:
		return false;
	}
}

/* Before it is cut a block that has memory on GPUs goes to the CPU, and the detector forgets it. */
static enum uvmp_status vacate(struct naive_service *n, struct block *b)
{
	struct block_service *s = calloc(1, sizeof(*s));
	enum uvmp_status status = UVMP_OK;

	s->block = b;
	s->requester = UVMP_CPU;
	s->cause = UVMP_CAUSE_HINT;
	s->migrate_cause = UVMP_MIGRATE_API_HINT;
	s->is_unmapped = true;
	for (uint32_t i = 0; i < b->pages; i++)
		if ((b->page[i].resident & ~(uint64_t)1) != 0) {
			s->want[UVMP_CPU][i] = true;
			s->access[i] = UVMP_ACCESS_PREFETCH;
		}
	if (naive_any(s->want[UVMP_CPU]))
		status = naive_serve_request_block(n, s);
	free(s);
	if (status != UVMP_OK)
		return status;
	naive_give_memory(n, b);
	for (uint32_t p = 0; p < n->procs; p++) {
		bool pages[PAGES] = {false};

		for (uint32_t i = 0; i < b->pages; i++)
			pages[i] = !b->page[i].is_duplicated && !b->page[i].is_discarded;
		if (in(b->range->accessed_by, p))
			naive_map_remote(n, UVMP_CAUSE_HINT, b, p, pages, 0);
	}
	b->is_suspect = false;
	naive_thrash_end(&naive_space_of(n, b)->thrash, b->number);
	return naive_perform_group(n);
}

/* The upper part of a block that has no memory becomes one of its own. */
static void cut_block(struct naive_service *n, struct block *b, uint32_t at)
{
	struct block *upper;
	uint32_t i = 0;

	while (n->block[i]->exists)
		i++;
	upper = n->block[i];
	memset(upper, 0, sizeof(*upper));
	upper->exists = true;
	upper->number = i;
	upper->stamp = ++n->stamps;
	upper->space = b->space;
	upper->range = b->range;
	upper->start = naive_page_address(n, b, at);
	upper->pages = b->pages - at;
	upper->prefetch.last_proc = NONE;
	for (uint32_t k = 0; k < b->places; k++)
		naive_add_place(upper, b->place[k]);
	for (uint32_t k = 0; k < upper->pages; k++)
		upper->page[k] = b->page[at + k];
	b->pages = at;
	memset(&b->prefetch, 0, sizeof(b->prefetch));
	b->has_tree = false;
	b->prefetch.last_proc = NONE;
	naive_thrash_end(&naive_space_of(n, b)->thrash, b->number);
}

/* Blocks go over to the new range one by one, newest first: the order turns round. */
static void hand_over(struct naive_service *n, const struct range *from, struct range *to)
{
	struct block *b = naive_block_before(n, from, UINT64_MAX);

	while (b != NULL) {
		struct block *next = naive_block_before(n, from, b->stamp);

		if (b->start >= to->base) {
			b->range = to;
			b->stamp = ++n->stamps;
		}
		b = next;
	}
}

/* Pages that will be freed are forgotten before the rest of their block moves. */
static enum uvmp_status leave_part(struct naive_service *n, struct block *b, const struct request *r)
{
	bool pages[PAGES] = {false};

	for (uint32_t i = 0; i < b->pages; i++)
		pages[i] =
		        naive_page_address(n, b, i) >= r->base && naive_page_address(n, b, i) <= r->base + r->bytes - 1;
	for (uint32_t k = 0; k < b->places; k++) {
		naive_unmap(n, UVMP_CAUSE_FREE, b, b->place[k], pages, 0);
		naive_leave_processor(n, b, b->place[k], pages, true);
	}
	for (uint32_t i = 0; i < b->pages; i++)
		if (pages[i])
			b->page[i].is_duplicated = b->page[i].is_discarded = false;
	return naive_perform_group(n);
}

/* A range that the advice changes, or the part ends, begins here. UVMP_ERR_RETRY: look again. */
enum uvmp_status naive_cut_range(struct naive_service *n, const struct request *r, uvmp_addr address)
{
	struct range *range = naive_find_range(n, r->space, address), *upper = NULL;
	struct block *b = naive_find_block(n, r->space, address);
	uint32_t ranges = 0;

	if (range == NULL || range->base == address || !has_effect(range, r))
		return UVMP_OK;
	for (uint32_t i = 0; i < NAIVE_RANGES; i++) {
		ranges += n->range[i].exists;
		if (!n->range[i].exists && upper == NULL)
			upper = &n->range[i];
	}
	if (ranges >= n->max_ranges)
		return UVMP_ERR_SPACE;
	if (b != NULL && b->start < address) {
		if (b->is_suspect || naive_has_memory(n, b)) {
			enum uvmp_status status = r->kind == FREE_PART ? leave_part(n, b, r) : UVMP_OK;

			if (status == UVMP_OK)
				status = vacate(n, b);
			return status == UVMP_OK ? UVMP_ERR_RETRY : status;
		}
		cut_block(n, b, (uint32_t)((address - b->start) / n->page_bytes));
	}
	*upper = *range;
	upper->base = address;
	range->end = address - 1;
	hand_over(n, range, upper);
	return UVMP_OK;
}

static uint64_t kept_at_home(const struct naive_service *n, uint32_t preferred)
{
	return preferred == NONE ? 0 : bit(preferred) & ~n->processors.no_memory;
}

/* Processors of the set lose what they map and do not hold. */
static void unmap_remote(struct naive_service *n, struct block *b, uint64_t procs)
{
	for (uint32_t k = 0; k < b->places; k++) {
		bool remote[PAGES] = {false};

		for (uint32_t i = 0; i < b->pages && in(procs, b->place[k]); i++)
			remote[i] = !in(b->page[i].resident, b->place[k]);
		naive_unmap(n, UVMP_CAUSE_HINT, b, b->place[k], remote, 0);
	}
}

/* Of several copies one remains. */
static void collapse(struct naive_service *n, struct block *b)
{
	uint32_t keeper[PAGES];

	for (uint32_t i = 0; i < b->pages; i++) {
		keeper[i] = b->range->preferred;
		if (!in(b->page[i].resident, keeper[i]))
			for (keeper[i] = 0; keeper[i] < n->procs && !in(b->page[i].resident, keeper[i]);)
				keeper[i]++;
	}
	for (uint32_t k = 0; k < b->places; k++) {
		bool lost[PAGES] = {false};

		for (uint32_t i = 0; i < b->pages; i++)
			lost[i] = b->page[i].is_duplicated && keeper[i] != b->place[k];
		naive_unmap(n, UVMP_CAUSE_HINT, b, b->place[k], lost, 0);
		naive_leave_processor(n, b, b->place[k], lost, false);
	}
	for (uint32_t i = 0; i < b->pages; i++)
		b->page[i].is_duplicated = false;
}

static void discard(struct naive_service *n, const struct request *r, struct block *b)
{
	for (uint32_t k = 0; k < b->places; k++) {
		bool pages[PAGES] = {false}, all[PAGES], is_lost = true;

		for (uint32_t i = 0; i < b->pages; i++) {
			pages[i] = in(b->page[i].resident, b->place[k]) && naive_page_address(n, b, i) >= r->base &&
			           naive_page_address(n, b, i) < r->base + r->bytes;
			if (pages[i])
				b->page[i].is_discarded = true;
			if (in(b->page[i].resident, b->place[k]) && !b->page[i].is_discarded)
				is_lost = false;
		}
		if (!naive_any(pages))
			continue;
		naive_emit_pages(n, UVMP_ACTION_DISCARD, UVMP_CAUSE_HINT, b, pages)->from = (uint8_t)b->place[k];
		memset(all, 1, sizeof(all));
		if (is_lost)
			naive_mark_chunks(n, b, b->place[k], all, UVMP_MARK_DISCARDED);
	}
}

/* Effects of new advice in a block: pages that move, then processors that are mapped. */
static void advise_block(struct naive_service *n, const struct request *r, const struct range *old,
                         struct block *b)
{
	bool is_enabled = b->range->duplication == UVMP_DUPLICATION_ENABLED;
	uint64_t gain = 0;

	if (r->advice == UVMP_ADVISE_DISCARD) {
		discard(n, r, b);
	} else if (r->advice == UVMP_ADVISE_PREFERRED && !is_enabled) {
		unmap_remote(n, b, kept_at_home(n, b->range->preferred));
		if (old->preferred != NONE)
			gain = bit(old->preferred) & b->range->accessed_by;
	} else if (r->advice == UVMP_ADVISE_ACCESSED_BY && !is_enabled) {
		gain = bit(r->processor);
	} else if (r->advice == UVMP_ADVISE_READ_DUPLICATE) {
		unmap_remote(n, b, ~(uint64_t)0);
		naive_thrash_reset(&naive_space_of(n, b)->thrash, b->number, (struct uvmp_region){0, b->pages});
	} else if ((r->advice == UVMP_ADVISE_NO_DUPLICATE || r->advice == UVMP_ADVISE_UNSET_DUPLICATE) &&
	           old->duplication == UVMP_DUPLICATION_ENABLED) {
		collapse(n, b);
		gain = b->range->accessed_by;
	}
	(void)naive_perform_group(n);
	for (uint32_t p = 0; p < n->procs; p++) {
		bool pages[PAGES] = {false};

		for (uint32_t i = 0; i < b->pages; i++)
			pages[i] = !b->page[i].is_duplicated && !b->page[i].is_discarded;
		if (in(gain, p))
			naive_map_remote(n, UVMP_CAUSE_HINT, b, p, pages, 0);
		(void)naive_perform_group(n);
	}
}

static void advise_range(struct naive_service *n, const struct request *r, struct range *range)
{
	struct range old = *range;

	if (r->advice != UVMP_ADVISE_DISCARD && !has_effect(range, r))
		return;
	if (r->advice == UVMP_ADVISE_PREFERRED)
		range->preferred = r->processor;
	if (r->advice == UVMP_ADVISE_ACCESSED_BY)
		range->accessed_by |= bit(r->processor);
	if (r->advice == UVMP_ADVISE_NOT_ACCESSED_BY)
		range->accessed_by &= ~bit(r->processor);
	if (r->advice == UVMP_ADVISE_READ_DUPLICATE)
		range->duplication = UVMP_DUPLICATION_ENABLED;
	if (r->advice == UVMP_ADVISE_NO_DUPLICATE)
		range->duplication = UVMP_DUPLICATION_DISABLED;
	if (r->advice == UVMP_ADVISE_UNSET_DUPLICATE)
		range->duplication = UVMP_DUPLICATION_UNSET;
	/* what the CPU has from the beginning is there without a block too */
	for (uvmp_addr at = r->base;
	     range->home == UVMP_CPU && at - r->base < r->bytes &&
	     (r->advice == UVMP_ADVISE_ACCESSED_BY || r->advice == UVMP_ADVISE_DISCARD);
	     at += n->page_bytes)
		if (at >= range->base && at <= range->end)
			(void)naive_make_block(n, range, at);
	for (struct block *b = naive_block_before(n, range, UINT64_MAX); b != NULL;
	     b = naive_block_before(n, range, b->stamp))
		advise_block(n, r, &old, b);
}

enum uvmp_status naive_advise_part(struct naive_service *n, const struct request *r)
{
	uvmp_addr end = r->base + r->bytes - 1, next = r->base;
	enum uvmp_status status = UVMP_OK;

	if (!naive_is_covered(n, r))
		return UVMP_ERR_UNKNOWN;
	do {
		status = naive_cut_range(n, r, r->base);
		if (status == UVMP_OK)
			status = naive_cut_range(n, r, end + 1);
	} while (status == UVMP_ERR_RETRY);
	if (status != UVMP_OK)
		return status;
	while (next <= end) {
		struct range *range = naive_find_range(n, r->space, next);

		next = range->end + 1;
		advise_range(n, r, range);
	}
	return UVMP_OK;
}
