/* UVM Smart's recency list [uvmsmart: eviction-list].
 *
 * An array of entries, each some pages of one tree and the cycle of their last touch. A touch looks for the
 * entry that holds the page; without one, a new entry of the present policy's unit goes to the end. Before
 * each eviction the list is sorted, stably, so the order of equal entries is what earlier sorts and removals
 * have left. By policy the order is
 *   by cycle      LRU 2 MiB, LRU 4 KiB, random
 *   by group      SL, TBNe: trees by the newest touch of any of their entries, inside a tree by cycle
 *   by frequency  LFU: the tree's counter, then its marks, then cycle
 * The sort merges runs of 1, 2, 4, ... entries, in place but for a copy of the
 * left run; runs that follow each other in order already are left as they are, which makes a sorted list cost
 * one comparison an entry.
 *
 * Entries of different sizes can hold the same page after a change of policy [uvmsmart: stale-list-units].
 * Each entry was appended for a page that no other held, so there are never more entries than pages, and no
 * two for the same pages. So one place each for the page, its basic block and its tree says where the entries
 * are that hold it, and a touch need not search. */
#include "base/bits_internal.h"
#include "smart_evict_internal.h"

static bool is_grouped(enum smart_evictor evictor)
{
	return evictor == SMART_TBN || evictor == SMART_SL;
}

/* The policy's unit around the page. */
static struct uvmp_region unit_of(const struct smart_evict *e, uint32_t tree, uint32_t page)
{
	if (is_grouped(e->evictor))
		return smart_block_region(page);
	if (e->evictor == SMART_LRU_2M || e->evictor == SMART_LFU_2M)
		return (struct uvmp_region){0, smart_tree_pages(e, tree)};
	return (struct uvmp_region){page, page + 1u};
}

static struct smart_entry new_entry(uint32_t tree, struct uvmp_region pages, uint64_t cycle)
{
	return (struct smart_entry){.cycle = cycle,
	                            .tree = tree,
	                            .first = (uint16_t)pages.first,
	                            .pages = (uint16_t)uvmp_region_pages(pages)};
}

static uint32_t *slot_of(const struct smart_evict *e, const struct smart_entry *entry)
{
	return smart_slot(e, entry->tree, entry->first, entry->pages);
}

/* The entries from `from` on have moved. */
static void index_from(struct smart_evict *e, uint32_t from)
{
	for (uint32_t i = from; i < e->entries; i++)
		*slot_of(e, &e->entry[i]) = i;
}

uint32_t smart_list_find(const struct smart_evict *e, uint32_t tree, uint32_t page)
{
	uint32_t found = minimum(*smart_slot(e, tree, page, 1), *smart_slot(e, tree, 0, UVMP_MASK_BITS));

	found = minimum(found, *smart_slot(e, tree, page, UVMP_BASIC_BLOCK_PAGES));
	return minimum(found, e->entries);
}

void smart_list_touch(struct smart_evict *e, uint32_t tree, uint32_t page, uint64_t cycle)
{
	uint32_t i = smart_list_find(e, tree, page);

	if (i < e->entries) {
		e->entry[i].cycle = cycle;
		return;
	}
	e->entry[e->entries++] = new_entry(tree, unit_of(e, tree, page), cycle);
	index_from(e, i);
}

void smart_list_clear(struct smart_evict *e)
{
	for (uint32_t i = 0; i < e->entries; i++)
		*slot_of(e, &e->entry[i]) = SMART_NO_ENTRY;
	e->entries = 0;
}

void smart_list_remove(struct smart_evict *e, uint32_t tree, struct uvmp_region pages)
{
	uint32_t first = e->entries, kept;

	for (uint32_t page = pages.first; page < pages.end; page++) {
		uint32_t i = smart_list_find(e, tree, page);

		if (i == e->entries)
			continue;
		*slot_of(e, &e->entry[i]) = SMART_NO_ENTRY;
		e->entry[i].pages = 0; /* no longer an entry */
		first = minimum(first, i);
	}
	kept = first;
	for (uint32_t i = first; i < e->entries; i++)
		if (e->entry[i].pages != 0)
			e->entry[kept++] = e->entry[i];
	e->entries = kept;
	index_from(e, first);
}

/* -- what may leave -- */

bool smart_is_evictable(const struct smart_tree *tree, struct uvmp_region pages)
{
	return uvmp_mask_region_all(&tree->valid, pages) && !uvmp_mask_test(&tree->staged, pages.first) &&
	       !uvmp_mask_region_any(&tree->pinned, pages);
}

uint32_t smart_find_evictable(const struct smart_evict *e, uint32_t from)
{
	while (from < e->entries &&
	       !smart_is_evictable(&e->tree[e->entry[from].tree], smart_entry_region(&e->entry[from])))
		from++;
	return from;
}

/* -- sorting -- */

/* Counter and marks from the host's counters: of the root, and by the original only for entries that start
 * where the tree does [uvmsmart: root-marks-only]. The corrected rule takes those of the entry's own block,
 * unless it is a whole tree. */
static void renew(const struct smart_evict *e, struct smart_entry *entry)
{
	const struct uvmp_counter_tree *counter = &e->counter[entry->tree];
	uint32_t first = 0, blocks = counter->blocks;

	if (e->quirks && entry->first != 0)
		return;
	if (!e->quirks && entry->pages != smart_tree_pages(e, entry->tree)) {
		first = entry->first / UVMP_BASIC_BLOCK_PAGES;
		blocks = 1;
	}
	entry->counter = uvmp_counter_tree_word(counter, first, blocks);
	entry->rw = uvmp_counter_tree_marks(counter, first, blocks);
}

static void find_newest(struct smart_evict *e)
{
	for (uint32_t i = 0; i < e->entries; i++)
		e->tree[e->entry[i].tree].newest = 0;
	for (uint32_t i = 0; i < e->entries; i++) {
		uint64_t *newest = &e->tree[e->entry[i].tree].newest;

		if (*newest < e->entry[i].cycle)
			*newest = e->entry[i].cycle;
	}
}

static bool precedes_by_group(const struct smart_evict *e, const struct smart_entry *a,
                              const struct smart_entry *b)
{
	uint64_t newest_a = e->tree[a->tree].newest, newest_b = e->tree[b->tree].newest;

	if (newest_a != newest_b)
		return newest_a < newest_b;
	return a->tree != b->tree ? a->tree < b->tree : a->cycle < b->cycle;
}

static bool precedes_by_frequency(const struct smart_entry *a, const struct smart_entry *b)
{
	if (a->counter != b->counter)
		return a->counter < b->counter;
	return a->rw != b->rw ? a->rw < b->rw : a->cycle < b->cycle;
}

static bool precedes_by_place(const struct smart_entry *a, const struct smart_entry *b)
{
	return a->tree != b->tree ? a->tree < b->tree : a->first < b->first;
}

enum order { BY_CYCLE, BY_GROUP, BY_FREQUENCY, BY_PLACE };

static bool precedes(const struct smart_evict *e, enum order order, const struct smart_entry *a,
                     const struct smart_entry *b)
{
	switch (order) {
	case BY_GROUP:
		return precedes_by_group(e, a, b);
	case BY_FREQUENCY:
		return precedes_by_frequency(a, b);
	case BY_PLACE:
		return precedes_by_place(a, b);
	default:
		return a->cycle < b->cycle;
	}
}

/* Merges the sorted runs [low, middle) and [middle, high). */
static void merge(struct smart_evict *e, enum order order, uint32_t low, uint32_t middle, uint32_t high)
{
	uint32_t left = 0, lefts = middle - low, right = middle;

	for (uint32_t i = 0; i < lefts; i++)
		e->scratch[i] = e->entry[low + i];
	for (uint32_t at = low; left < lefts; at++) {
		bool is_right = right < high && precedes(e, order, &e->entry[right], &e->scratch[left]);

		e->entry[at] = is_right ? e->entry[right++] : e->scratch[left++];
	}
}

static void sort(struct smart_evict *e, enum order order)
{
	for (uint32_t width = 1; width < e->entries; width *= 2u)
		for (uint32_t middle = width; middle < e->entries; middle += 2u * width) {
			uint32_t rest = e->entries - middle;

			if (precedes(e, order, &e->entry[middle], &e->entry[middle - 1u]))
				merge(e, order, middle - width, middle, middle + minimum(rest, width));
		}
}

void smart_list_sort(struct smart_evict *e)
{
	for (uint32_t i = 0; e->counter != NULL && i < e->entries; i++)
		renew(e, &e->entry[i]);
	if (is_grouped(e->evictor)) {
		find_newest(e);
		sort(e, BY_GROUP);
	} else {
		sort(e, e->evictor == SMART_LFU_2M ? BY_FREQUENCY : BY_CYCLE);
	}
	index_from(e, 0);
}

/* -- rebuilding ([uvmsmart: stale-list-units] mended) -- */

/* Appends the new policy's units that hold a page of the old entry which stays: resident, and not on its way
 * out. Old entries come by place, so a
 * unit that exists already is the last one (or, where entries overlap because quirks were on before, one
 * further back). */
static uint32_t cut_entry(struct smart_evict *e, const struct smart_entry *old, uint32_t made)
{
	const struct smart_tree *tree = &e->tree[old->tree];
	struct uvmp_region pages = smart_entry_region(old);
	struct uvmp_region unit;
	uvmp_mask staying;

	uvmp_mask_andnot(&staying, &tree->valid, &tree->staged);
	for (uint32_t page = pages.first; page < pages.end; page = unit.end) {
		struct smart_entry *last = made != 0 ? &e->scratch[made - 1u] : NULL;

		unit = unit_of(e, old->tree, page);
		if (!uvmp_mask_region_any(&staying, uvmp_region_intersect(unit, pages)))
			continue;
		if (last == NULL || last->tree != old->tree || unit.first > last->first)
			e->scratch[made++] = new_entry(old->tree, unit, old->cycle);
		else if (unit.first == last->first && last->cycle < old->cycle)
			last->cycle = old->cycle;
	}
	return made;
}

void smart_list_rebuild(struct smart_evict *e)
{
	uint32_t made = 0;

	sort(e, BY_PLACE);
	for (uint32_t i = 0; i < e->entries; i++)
		made = cut_entry(e, &e->entry[i], made);
	smart_list_clear(e);
	for (uint32_t i = 0; i < made; i++)
		e->entry[i] = e->scratch[i];
	e->entries = made;
	index_from(e, 0);
}
