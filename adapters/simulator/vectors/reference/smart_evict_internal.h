/* What UVM Smart's eviction is made of. Its state is valid, and trees and pages are there, in everything
 * below. */
#ifndef UVMPOLICY_EVICT_SMART_INTERNAL_H
#define UVMPOLICY_EVICT_SMART_INTERNAL_H

#include "smart_evict.h"

/* Pages that are evicted together: pages of one tree; none if no page may be evicted. */
struct smart_victims {
	uint32_t tree;
	uint32_t first; /* page that the order named */
	uvmp_mask pages;
};

static inline uint32_t smart_tree_pages(const struct smart_evict *e, uint32_t tree)
{
	return e->tree[tree].fill.blocks * UVMP_BASIC_BLOCK_PAGES;
}

static inline struct uvmp_region smart_entry_region(const struct smart_entry *entry)
{
	return (struct uvmp_region){entry->first, (uint32_t)entry->first + entry->pages};
}

static inline struct uvmp_region smart_block_region(uint32_t page)
{
	uint32_t first = page / UVMP_BASIC_BLOCK_PAGES * UVMP_BASIC_BLOCK_PAGES;

	return (struct uvmp_region){first, first + UVMP_BASIC_BLOCK_PAGES};
}

/* Where the index keeps the place of the entry that starts at this page and has so many. */
#define SMART_NO_ENTRY 0xffffffffu

static inline uint32_t *smart_slot(const struct smart_evict *e, uint32_t tree, uint32_t first, uint32_t pages)
{
	uint32_t page = e->tree[tree].first + first;

	if (pages == 1)
		return &e->index[page];
	if (pages == UVMP_BASIC_BLOCK_PAGES)
		return &e->index[e->pages_max + page / UVMP_BASIC_BLOCK_PAGES];
	return &e->index[e->pages_max + e->pages_max / UVMP_BASIC_BLOCK_PAGES + tree];
}

/* Is there such a page? */
static inline bool smart_has_page(const struct smart_evict *e, uint32_t tree, uint32_t page)
{
	return tree < e->trees && page < smart_tree_pages(e, tree);
}

/* -- the list (smart_evict_list.c) -- */
void smart_list_touch(struct smart_evict *e, uint32_t tree, uint32_t page, uint64_t cycle);
void smart_list_sort(struct smart_evict *e);
void smart_list_rebuild(struct smart_evict *e);
void smart_list_clear(struct smart_evict *e);
/* Index of the first entry that holds the page; e->entries if none does. */
uint32_t smart_list_find(const struct smart_evict *e, uint32_t tree, uint32_t page);
/* For each page of the range, ascending, the first entry that holds it leaves the list. */
void smart_list_remove(struct smart_evict *e, uint32_t tree, struct uvmp_region pages);

/* May these pages leave [uvmsmart: evictable]? */
bool smart_is_evictable(const struct smart_tree *tree, struct uvmp_region pages);
/* Returns the first index >= `from` of an entry whose own pages may be evicted, or e->entries if no entry qualifies. */
uint32_t smart_find_evictable(const struct smart_evict *e, uint32_t from);

/* -- victims -- */
/* One function per rule, each in its file evict_smart_RULE.c: passes over the first `skip` entries, chooses,
 * and takes what it has chosen out of the tree's fill state. `victims->pages` is empty when it is called. */
void smart_victims_large(struct smart_evict *e, uint32_t skip, struct smart_victims *victims);
void smart_victims_lru4k(struct smart_evict *e, uint32_t skip, struct smart_victims *victims);
void smart_victims_random4k(struct smart_evict *e, uint32_t skip, uint64_t *random,
                            struct smart_victims *victims);
void smart_victims_sl(struct smart_evict *e, uint32_t skip, struct smart_victims *victims);
void smart_victims_tbn(struct smart_evict *e, uint32_t skip, struct smart_victims *victims);

#endif
