/* Transfers as lists of pages: one list for each page's group, source and place in the group, written in the
 * order of plan.h. */
#include "naive_plan.h"

#include <string.h>

#include "naive_residency.h"

#define PAGES UVMP_MASK_BITS

/* What is known of each page. */
struct page {
	bool is_absent, is_faulted, is_cut;
	uint32_t source;
	uint32_t group;    /* number of its group */
	uint32_t transfer; /* number of its transfer */
};

static void look(const struct uvmp_processors *processors, const struct uvmp_copy_facts *facts,
                 struct page page[PAGES])
{
	for (uint32_t p = 0; p < PAGES; p++) {
		uint64_t holders = 0;

		for (uint32_t h = 0; h < processors->count; h++)
			if (uvmp_mask_test(&facts->resident[h], p))
				holders |= (uint64_t)1 << h;
		page[p].is_absent = uvmp_mask_test(facts->pages, p) &&
		                    !uvmp_mask_test(&facts->resident[facts->to], p);
		page[p].is_faulted = facts->faulted != NULL && uvmp_mask_test(facts->faulted, p);
		page[p].is_cut = facts->cuts != NULL && uvmp_mask_test(facts->cuts, p);
		page[p].source = naive_closest(processors, facts->to, holders);
	}
}

static bool ends_group(enum uvmp_grouping grouping, const struct page *page, const struct page *next)
{
	if (!next->is_absent || grouping == UVMP_GROUPING_SINGLE)
		return true;
	if (grouping == UVMP_GROUPING_RUN_TO_FAULT)
		return page->is_faulted;
	return page->is_faulted != next->is_faulted;
}

/* Numbers groups and transfers from 1 on; page 0 starts the first of both. */
static void number(const struct uvmp_copy_facts *facts, struct page page[PAGES])
{
	uint32_t length = 1;

	page[0].group = page[0].transfer = 1;
	for (uint32_t p = 1; p < PAGES; p++) {
		bool is_new_group =
		        !page[p - 1].is_absent || ends_group(facts->grouping, &page[p - 1], &page[p]);
		bool is_new = is_new_group || page[p].is_cut || page[p].source != page[p - 1].source ||
		              length == facts->most_pages;

		page[p].group = page[p - 1].group + (is_new_group ? 1 : 0);
		page[p].transfer = page[p - 1].transfer + (is_new ? 1 : 0);
		length = is_new ? 1 : length + 1;
	}
}

/* Does the group hold a faulted page? */
static uint8_t kind_of(const struct page page[PAGES], uint32_t group)
{
	for (uint32_t p = 0; p < PAGES; p++)
		if (page[p].is_absent && page[p].group == group && page[p].is_faulted)
			return UVMP_GROUP_FAULT;
	return UVMP_GROUP_PREFETCH;
}

static uint32_t end_of(const struct page page[PAGES], uint32_t first)
{
	uint32_t end = first;

	while (end < PAGES && page[end].transfer == page[first].transfer)
		end++;
	return end;
}

static bool can_map(const struct uvmp_processors *processors, uint32_t who, uint32_t whose)
{
	return (processors->can_access[who] >> whose) % 2 == 1;
}

/* One transfer or two. */
static uint32_t write_legs(const struct uvmp_processors *processors, uint32_t to, struct naive_transfer whole,
                           struct naive_transfer *copy)
{
	uint32_t from = whole.from;

	copy[0] = whole;
	if (from == UVMP_PROC_NONE || from == 0 || to == 0 || can_map(processors, from, to) ||
	    can_map(processors, to, from))
		return 1;
	copy[0].to = 0;
	copy[0].is_staged = true;
	copy[1] = whole;
	copy[1].from = 0;
	return 2;
}

/* How many sources of absent pages are closer? No source is the last. */
static uint32_t rank_of(const struct uvmp_processors *processors, uint32_t to, const struct page page[PAGES],
                        uint32_t source)
{
	uint64_t sources = 0;
	uint32_t rank = 0, next;

	for (uint32_t p = 0; p < PAGES; p++)
		if (page[p].is_absent && page[p].source != UVMP_PROC_NONE)
			sources |= (uint64_t)1 << page[p].source;
	while ((next = naive_closest(processors, to, sources)) != source) {
		sources &= ~((uint64_t)1 << next);
		rank++;
	}
	return rank;
}

void naive_plan_add(const struct uvmp_region *transfer, uvmp_mask *pages, uvmp_mask *cuts)
{
	for (uint32_t p = transfer->first; p < transfer->end; p++)
		uvmp_mask_set(pages, p);
	if (transfer->first > 0 && uvmp_mask_test(pages, transfer->first - 1))
		uvmp_mask_set(cuts, transfer->first);
	if (uvmp_mask_test(pages, transfer->end))
		uvmp_mask_set(cuts, transfer->end);
}

/* Faulted ones first, then by page, first legs first. */
static bool precedes(const struct naive_transfer *a, const struct naive_transfer *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind;
	if (a->pages.first != b->pages.first)
		return a->pages.first < b->pages.first;
	return a->is_staged && !b->is_staged;
}

/* Do pages and cuts follow from the transfers, as many as are counted? */
static bool is_canonical(const struct uvmp_copy *copy, uint32_t transfers, const uvmp_mask *pages, const uvmp_mask *cuts)
{
	return transfers > 0 && transfers == uvmp_count_transfers(&copy->pages, &copy->cuts) &&
	       memcmp(pages, &copy->pages, sizeof(*pages)) == 0 && memcmp(cuts, &copy->cuts, sizeof(*cuts)) == 0;
}

int naive_plan_list(const struct uvmp_copy *copy, uint32_t count,
                    struct naive_transfer transfer[UVMP_PLAN_TRANSFERS_MAX])
{
	int transfers = 0;

	for (uint32_t i = 0; i < count; i++) {
		uvmp_mask pages = {{0}}, cuts = {{0}};
		int before = transfers;

		for (struct uvmp_region t = uvmp_next_transfer(&copy[i].pages, &copy[i].cuts, 0); t.end != 0;
		     t = uvmp_next_transfer(&copy[i].pages, &copy[i].cuts, t.end)) {
			struct naive_transfer one = {.pages = t,
			                             .from = copy[i].from,
			                             .to = copy[i].to,
			                             .kind = copy[i].kind,
			                             .is_staged = copy[i].is_staged};
			int at = transfers++;

			naive_plan_add(&t, &pages, &cuts);
			for (; at > 0 && precedes(&one, &transfer[at - 1]); at--)
				transfer[at] = transfer[at - 1];
			transfer[at] = one;
		}
		if (!is_canonical(&copy[i], (uint32_t)(transfers - before), &pages, &cuts))
			return -(int)i - 1;
	}
	return transfers;
}

uint32_t naive_plan_copies(const struct uvmp_processors *processors, const struct uvmp_copy_facts *facts,
                           struct naive_transfer copy[UVMP_PLAN_TRANSFERS_MAX])
{
	struct page page[PAGES];
	uint32_t count = 0;

	look(processors, facts, page);
	number(facts, page);
	for (uint8_t kind = UVMP_GROUP_FAULT; kind <= UVMP_GROUP_PREFETCH; kind++) {
		for (uint32_t p = 0; p < PAGES; p++) {
			struct naive_transfer whole;

			if (!page[p].is_absent || (p > 0 && page[p].transfer == page[p - 1].transfer) ||
			    kind_of(page, page[p].group) != kind)
				continue;
			memset(&whole, 0, sizeof(whole));
			whole.pages.first = p;
			whole.pages.end = end_of(page, p);
			whole.from = (uint8_t)page[p].source;
			whole.to = (uint8_t)facts->to;
			whole.kind = kind;
			whole.source = whole.from;
			whole.rank = rank_of(processors, facts->to, page, whole.source);
			count += write_legs(processors, facts->to, whole, copy + count);
		}
	}
	return count;
}

void naive_plan_merge(enum uvmp_plan_order order, uint32_t in, uint32_t out, struct uvmp_plan_step *step)
{
	uint32_t steps = 0;

	if (order == UVMP_PLAN_SERIAL) {
		for (uint32_t i = 0; i < out; i++)
			step[steps++] = (struct uvmp_plan_step){.index = i, .is_out = true};
		for (uint32_t i = 0; i < in; i++)
			step[steps++] = (struct uvmp_plan_step){.index = i, .is_out = false};
	} else {
		for (uint32_t i = 0; i < in || i < out; i++) {
			if (i < in)
				step[steps++] = (struct uvmp_plan_step){.index = i, .is_out = false};
			if (i < out)
				step[steps++] = (struct uvmp_plan_step){.index = i, .is_out = true};
		}
	}
	for (uint32_t i = 0; i < steps; i++) {
		step[i].after = UVMP_PLAN_AT_ONCE;
		for (uint32_t before = 0; before < i; before++)
			if (order == UVMP_PLAN_SERIAL || step[before].is_out == step[i].is_out)
				step[i].after = before;
	}
}

/* Some runs of pages, then holes in them. */
static void draw_mask(struct residency_source *source, uvmp_mask *mask)
{
	uint32_t runs = residency_draw(source, 8);
	uint32_t holes = residency_draw(source, 8);

	memset(mask, 0, sizeof(*mask));
	for (uint32_t i = 0; i < runs + holes; i++) {
		uint32_t first = residency_draw(source, PAGES);
		struct uvmp_region run = {first,
		                          first + 1 + residency_draw(source, i % 2 == 0 ? 8 : PAGES - first)};

		if (i < runs)
			uvmp_mask_region_set(mask, run);
		else
			uvmp_mask_region_clear(mask, run);
	}
	if (residency_draw(source, 8) == 1) /* many short runs */
		for (uint32_t p = residency_draw(source, 8); p < PAGES; p += 1 + residency_draw(source, 4))
			uvmp_mask_set(mask, p);
}

void plan_case_draw(struct residency_source *source, struct plan_case *c)
{
	static const uint32_t sizes[] = {0, 1, 2, 16};
	uint32_t size;

	memset(c, 0, sizeof(*c));
	residency_case_processors(source, &c->processors);
	if (residency_draw(source, 2) == 1) /* links are rare: more legs over the CPU */
		for (uint32_t p = 1; p < c->processors.count; p++)
			c->processors.can_access[p] = (uint64_t)1 << p | 1u;
	draw_mask(source, &c->pages);
	draw_mask(source, &c->faulted);
	draw_mask(source, &c->cuts);
	for (uint32_t p = 0; p < c->processors.count; p++)
		if (residency_draw(source, 3) != 0)
			draw_mask(source, &c->resident[p]);
	size = residency_draw(source, 8);
	c->facts.to = residency_draw(source, c->processors.count);
	c->facts.pages = &c->pages;
	c->facts.faulted = residency_draw(source, 8) == 1 ? NULL : &c->faulted;
	c->facts.resident = c->resident;
	c->facts.grouping = (uint8_t)residency_draw(source, 3);
	c->facts.cuts = residency_draw(source, 3) == 1 ? NULL : &c->cuts;
	c->facts.most_pages = size < 4 ? sizes[size] : residency_draw(source, 4 * PAGES);
}
