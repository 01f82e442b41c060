/* What becomes of ranges that were chosen [uvmsmart: write-back, cancellation, device-synchronisation],
 * and pages that come.
 *
 * A staged range stays resident until its write starts; until then an access can call it back. At the start,
 * not at the end, its pages leave memory, which is then free. The queue can hold a page twice, where a
 * change of policy has staged a tree over a smaller range [uvmsmart: stale-list-units], so the tree's set of
 * staged pages is recomputed from the queue when a range is removed. */
#include "smart_evict_internal.h"

static bool range_holds(const struct smart_range *range, uint32_t tree, uint32_t page)
{
	return range->tree == tree && page - range->pages.first < uvmp_region_pages(range->pages);
}

/* Takes range `at` out of the queue. */
static struct smart_range take(struct smart_evict *e, uint32_t at)
{
	struct smart_range range = e->queue[at];
	uvmp_mask *staged = &e->tree[range.tree].staged;

	e->queued--;
	for (uint32_t i = at; i < e->queued; i++)
		e->queue[i] = e->queue[i + 1u];
	uvmp_mask_zero(staged);
	for (uint32_t i = 0; i < e->queued; i++)
		if (e->queue[i].tree == range.tree)
			uvmp_mask_region_set(staged, e->queue[i].pages);
	return range;
}

static enum uvmp_status check(const struct smart_evict *e, uint32_t tree, uint32_t page)
{
	if (!smart_evict_is_valid(e))
		return UVMP_ERR_ARGUMENT;
	return smart_has_page(e, tree, page) ? UVMP_OK : UVMP_ERR_RANGE;
}

enum smart_read smart_evict_read(uint64_t head_pages, uint64_t free, bool has_remote, bool quirks)
{
	bool fits = head_pages <= free;

	if (has_remote && (fits || !quirks)) /* [uvmsmart: remote-waits-for-head] */
		return SMART_READ_REMOTE;
	return fits ? SMART_READ_HEAD : SMART_READ_NONE;
}

enum uvmp_status smart_evict_touch(struct smart_evict *evict, uint32_t tree, uint32_t page, uint64_t cycle)
{
	enum uvmp_status status = check(evict, tree, page);

	if (status == UVMP_OK)
		smart_list_touch(evict, tree, page, cycle);
	return status;
}

enum uvmp_status smart_evict_arrive(struct smart_evict *evict, uint32_t tree, uint32_t page, uint64_t cycle)
{
	enum uvmp_status status = check(evict, tree, page);

	if (status != UVMP_OK)
		return status;
	if (evict->free == 0)
		return UVMP_ERR_NO_MEMORY;
	evict->free--;
	uvmp_mask_set(&evict->tree[tree].valid, page);
	smart_list_touch(evict, tree, page, cycle);
	return UVMP_OK;
}

uint64_t smart_evict_leaving(const struct smart_evict *evict)
{
	uint64_t pages = 0;

	if (!smart_evict_is_valid(evict))
		return 0;
	for (uint32_t i = 0; i < evict->queued; i++)
		pages += uvmp_region_pages(evict->queue[i].pages);
	if (evict->quirks && evict->is_writing) /* [uvmsmart: write-credited-twice] */
		pages += uvmp_region_pages(evict->in_flight.pages);
	return pages;
}

enum uvmp_status smart_evict_start(struct smart_evict *evict, struct smart_write *write)
{
	struct smart_tree *tree;
	struct uvmp_region pages;
	uint32_t resident;

	if (!smart_evict_is_valid(evict) || write == NULL)
		return UVMP_ERR_ARGUMENT;
	*write = (struct smart_write){0};
	if (evict->is_writing || evict->queued == 0)
		return UVMP_OK;
	write->is_started = true;
	write->range = take(evict, 0);
	tree = &evict->tree[write->range.tree];
	pages = write->range.pages;
	/* Pages that are not resident: counted and freed all the same [uvmsmart: stale-list-units], or
	 * not. */
	resident = evict->quirks ? uvmp_region_pages(pages) : uvmp_mask_region_weight(&tree->valid, pages);
	write->dirty = uvmp_mask_region_weight(&tree->dirty, pages);
	write->clean = resident - write->dirty;
	evict->free += resident;
	uvmp_mask_region_clear(&tree->valid, pages);
	uvmp_mask_region_clear(&tree->dirty, pages);
	evict->is_writing = write->range.kind != SMART_INVALIDATE || !evict->is_invalidation_instant;
	evict->in_flight = write->range;
	return UVMP_OK;
}

enum uvmp_status smart_evict_end(struct smart_evict *evict)
{
	if (!smart_evict_is_valid(evict))
		return UVMP_ERR_ARGUMENT;
	if (!evict->is_writing)
		return UVMP_ERR_STATE;
	evict->is_writing = false;
	return UVMP_OK;
}

static void call_back(struct smart_evict *e, const struct smart_range *range, uint64_t cycle)
{
	struct smart_tree *tree = &e->tree[range->tree];

	if (e->quirks) /* [uvmsmart: cancel-dirties] */
		uvmp_mask_region_set(&tree->dirty, range->pages);
	for (uint32_t page = range->pages.first; page < range->pages.end; page++) {
		if (!e->quirks && !uvmp_mask_test(&tree->valid, page)) /* [uvmsmart: stale-list-units] */
			continue;
		uvmp_tree_add(&tree->fill, page, 1, e->quirks);
		smart_list_touch(e, range->tree, page, cycle);
	}
}

enum uvmp_status smart_evict_cancel(struct smart_evict *evict, uint32_t tree, uint32_t page, uint64_t cycle,
                                    struct smart_range *range)
{
	enum uvmp_status status = check(evict, tree, page);
	struct smart_range called = {.tree = tree};
	uint32_t i = 0;

	if (status != UVMP_OK)
		return status;
	if (!uvmp_mask_test(&evict->tree[tree].staged, page))
		i = evict->queued; /* the usual case, known without a search */
	while (i < evict->queued && !range_holds(&evict->queue[i], tree, page))
		i++;
	if (i < evict->queued) {
		called = take(evict, i);
		call_back(evict, &called, cycle);
	}
	if (range != NULL)
		*range = called;
	return UVMP_OK;
}

enum uvmp_status smart_evict_synchronise(struct smart_evict *evict)
{
	if (!smart_evict_is_valid(evict))
		return UVMP_ERR_ARGUMENT;
	for (uint32_t i = 0; i < evict->trees; i++) {
		struct smart_tree *tree = &evict->tree[i];

		/* [uvmsmart: clean-pages-uncounted]: clean pages stay, and ranges are still to be written;
		 * or nothing is left. */
		uvmp_mask_andnot(&tree->valid, &tree->valid, evict->quirks ? &tree->dirty : &tree->valid);
		uvmp_mask_zero(&tree->dirty);
		if (!evict->quirks)
			uvmp_mask_zero(&tree->staged);
		(void)uvmp_tree_init(&tree->fill, tree->fill.blocks);
	}
	if (!evict->quirks)
		evict->queued = 0;
	evict->free = evict->total;
	smart_list_clear(evict);
	return UVMP_OK;
}
