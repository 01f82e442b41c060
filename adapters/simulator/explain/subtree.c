/* Which subtree a prefetch has fetched.
 *
 * Why a page was prefetched is not in its own action: the prefetcher takes a whole subtree of big pages when enough of it
 * is set. The subtree is the largest one around the page that is there as a whole. The mirror may be wrong (a log that
 * begins in the middle, a copy that failed); where it does not agree with the counts of the action, those are told. */
#include "explain_internal.h"

/* What is needed to find the subtree of a prefetched page. Leaves are pages too, but counted from the
 * big-page boundary at or before the block's start, where the trees of the prefetchers begin. */
struct forest {
	const struct uvmp_action *action;
	const struct block *block;
	const struct residency *residency; /* where the page came to */
	uvmp_mask set;			   /* faulted or there before */
	uint32_t padding;		   /* leaves before page 0 */
	uint32_t big;			   /* pages of a big page */
	bool has_hidden;		   /* some of the faulted pages were resident before */
};

struct node {
	struct uvmp_region pages;
	uint32_t set, big_pages; /* as in struct subtree */
	uint32_t nominal;	 /* big pages, if the block goes on */
};

/* False: the mirror and the action do not agree. */
static bool plant(const struct explanation *explanation, const struct uvmp_action *action,
		  struct forest *forest)
{
	const struct block *block = explain_look_up(explanation, action->space, action->address);
	const struct residency *residency = block != NULL ? block->residency : NULL;
	struct uvmp_region all = {0, block != NULL ? block->extent : 0};
	uint32_t bytes = page_bytes(action), faulted;

	while (residency != NULL && residency->processor != action->to)
		residency = residency->next;
	if (action->cause != UVMP_CAUSE_PREFETCH || residency == NULL || residency->step != explanation->step)
		return false;
	if (bytes < PAGE_BYTES_USUAL || bytes > BIG_PAGE_BYTES || (bytes & (bytes - 1)) != 0)
		return false;
	faulted = uvmp_mask_weight(&block->faulted);
	if (uvmp_mask_region_weight(&residency->before, all) != action->present || faulted > action->faulted)
		return false;
	forest->action = action;
	forest->block = block;
	forest->residency = residency;
	uvmp_mask_or(&forest->set, &block->faulted, &residency->before);
	forest->padding = (uint32_t)(action->address % BIG_PAGE_BYTES) / bytes;
	forest->big = BIG_PAGE_BYTES / bytes;
	forest->has_hidden = faulted < action->faulted;
	return true;
}

/* The block's pages below [leaf, end). */
static struct uvmp_region pages_below(const struct forest *forest, uint32_t leaf, uint32_t end)
{
	struct uvmp_region pages = {0, end > forest->padding ? end - forest->padding : 0};

	if (leaf > forest->padding)
		pages.first = leaf - forest->padding;
	if (pages.end > forest->block->extent)
		pages.end = forest->block->extent;
	return pages;
}

/* The node of `leaves` leaves from `leaf` on. */
static struct node node_at(const struct forest *forest, uint32_t leaf, uint32_t leaves)
{
	struct node node = {.pages = pages_below(forest, leaf, leaf + leaves),
			    .nominal = leaves / forest->big};

	for (uint32_t i = 0; i < node.nominal; i++) {
		struct uvmp_region part =
			pages_below(forest, leaf + i * forest->big, leaf + (i + 1) * forest->big);

		node.big_pages += !uvmp_region_is_empty(part);
		node.set += uvmp_mask_region_any(&forest->set, part);
	}
	return node;
}

/* Can it have been fetched as a whole? All of it is there, and something in it faulted. */
static bool is_fetched(const struct forest *forest, const struct node *node)
{
	struct uvmp_region pages = node->pages;

	/* [driver: padding-clamp]: a node that begins in the padding leaves out as many of its pages. */
	if (pages.first == 0 && forest->padding < pages.end)
		pages.first = forest->padding;
	if (!uvmp_mask_region_all(&forest->residency->holds, pages))
		return false;
	return uvmp_mask_region_any(&forest->block->faulted, node->pages) ||
	       (forest->has_hidden && uvmp_mask_region_any(&forest->residency->before, node->pages));
}

/* The largest such node that has all of `pages`.
 *
 * The log does not say where a block ends that is not backed as a whole. Is there nothing behind the extent,
 * or only nothing that was ever used? A node that reaches beyond is taken if its big pages were a majority in
 * either case; if only without those behind the extent, then only if no node within it has a majority. */
static bool find_node(const struct forest *forest, struct uvmp_region pages, struct node *found)
{
	uint32_t end = forest->block->extent + forest->padding, leaf = pages.first + forest->padding,
		 size = 1;
	bool has_found = false;

	while (size < end)
		size *= 2;
	if (size < forest->big)
		size = forest->big;
	for (; size >= forest->big; size /= 2) {
		uint32_t first = leaf - leaf % size;
		struct node node;
		bool is_whole;

		if (first + size < pages.end + forest->padding)
			break;
		if (size > forest->big && first + size / 2 >= end) /* all its pages are in its first half */
			continue;
		node = node_at(forest, first, size);
		if (!is_fetched(forest, &node))
			continue;
		is_whole = first + size <= end;
		if (2 * node.set > node.nominal || (is_whole && !has_found)) {
			*found = node;
			return true;
		}
		if (is_whole)
			break;
		if (!has_found && 2 * node.set > node.big_pages) {
			*found = node;
			has_found = true;
		}
	}
	return has_found;
}

/* The big pages of `pages`, if each of them can have been fetched by itself, because it faulted; else 0. */
static uint32_t big_pages_fetched(const struct forest *forest, struct uvmp_region pages)
{
	uint32_t leaf = pages.first + forest->padding, end = pages.end + forest->padding, count = 0;

	for (leaf -= leaf % forest->big; leaf < end; leaf += forest->big) {
		struct node node = node_at(forest, leaf, forest->big);

		if (!is_fetched(forest, &node))
			return 0;
		count++;
	}
	return count;
}

/* What has brought these pages of the action? Where all big pages of the subtree were set, their own would
 * have come without it. False: that is not known. */
bool explain_find_subtree(const struct explanation *explanation, const struct uvmp_action *action,
			  const uvmp_mask *pages, struct subtree *subtree)
{
	struct uvmp_region hull = uvmp_mask_hull(pages);
	struct forest forest;
	struct node node = {0};
	bool has_node;

	if (!plant(explanation, action, &forest))
		return false;
	*subtree = (struct subtree){0};
	has_node = find_node(&forest, hull, &node);
	if (!has_node || node.set == node.big_pages)
		subtree->own = big_pages_fetched(&forest, hull);
	if (!has_node || subtree->own > 0)
		return subtree->own > 0;
	subtree->address = action->address + (uint64_t)node.pages.first * page_bytes(action);
	subtree->bytes = (uint64_t)uvmp_region_pages(node.pages) * page_bytes(action);
	subtree->set = node.set;
	subtree->big_pages = node.big_pages;
	return true;
}
