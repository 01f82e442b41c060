/* How full the subtrees were for which pages were prefetched.
 *
 * The action names the subtrees. How many of their big pages had faulted or were there, the mirror knows. The mirror may
 * be wrong (a log that begins in the middle, a copy that failed). If it does not agree with the counts of the action,
 * the counts of the action are told instead. */
#include "explain_internal.h"

/* What is needed to count the big pages of a subtree. */
struct facts {
	const struct uvmp_action *action;
	const struct block *block;
	const struct residency *residency; /* where the pages arrived */
	uvmp_mask set;			   /* faulted or there before */
	uint32_t padding; /* pages from the last big-page boundary to the start of the block */
	uint32_t big;	  /* pages of a big page */
	bool has_hidden;  /* some of the faulted pages were resident before */
};

/* False: the mirror and the action do not agree. */
static bool collect_facts(const struct explanation *explanation, const struct uvmp_action *action,
			  struct facts *facts)
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
	facts->action = action;
	facts->block = block;
	facts->residency = residency;
	uvmp_mask_or(&facts->set, &block->faulted, &residency->before);
	facts->padding = (uint32_t)(action->address % BIG_PAGE_BYTES) / bytes;
	facts->big = BIG_PAGE_BYTES / bytes;
	facts->has_hidden = faulted < action->faulted;
	return true;
}

/* The first big page of `pages`, cut at its end. */
static struct uvmp_region first_big_page(const struct facts *facts, struct uvmp_region pages)
{
	uint32_t end = pages.first + facts->big - (pages.first + facts->padding) % facts->big;

	if (end < pages.end)
		pages.end = end;
	return pages;
}

static struct node count_node(const struct facts *facts, struct uvmp_region pages)
{
	uint64_t bytes = page_bytes(facts->action);
	struct node node = {.address = facts->action->address + pages.first * bytes,
			    .bytes = uvmp_region_pages(pages) * bytes};

	while (!uvmp_region_is_empty(pages)) {
		struct uvmp_region big = first_big_page(facts, pages);

		node.big_pages++;
		node.set += uvmp_mask_region_any(&facts->set, big);
		pages.first = big.end;
	}
	return node;
}

/* The big pages that hold `pages`, if each of them can have been fetched by itself, because it faulted; else 0. */
static uint32_t count_faulted(const struct facts *facts, struct uvmp_region pages,
			      struct uvmp_region subtrees)
{
	uint32_t count = 0, before = (pages.first + facts->padding) % facts->big;

	pages.first -= before < pages.first ? before : pages.first;
	for (; !uvmp_region_is_empty(pages); count++) {
		struct uvmp_region big =
			first_big_page(facts, (struct uvmp_region){pages.first, subtrees.end});

		if (!uvmp_mask_region_any(&facts->block->faulted, big) &&
		    !(facts->has_hidden && uvmp_mask_region_any(&facts->residency->before, big)))
			return 0;
		pages.first = big.end;
	}
	return count;
}

/* The subtrees of the first and the last page of a transfer; an empty region: none. A chosen subtree holds a page that
 * faulted, or arrives in part. So a run of prefetched pages begins in one subtree and can end in the next one. */
static void find_regions(const struct uvmp_action *action, struct uvmp_region region[SUBTREES_MAX])
{
	struct uvmp_region run = uvmp_mask_bounds(&action->pages);

	region[0] = uvmp_prefetch_subtree(&action->subtrees, run.first);
	region[1] = (struct uvmp_region){0, 0};
	if (run.end > region[0].end)
		region[1] = uvmp_prefetch_subtree(&action->subtrees, run.end - 1u);
}

bool explain_find_subtree(const struct explanation *explanation, const struct uvmp_action *action,
			  const uvmp_mask *pages, struct subtree *subtree)
{
	struct uvmp_region bounds = uvmp_mask_bounds(pages), regions[SUBTREES_MAX], subtrees;
	struct facts facts;
	bool is_full = true;

	*subtree = (struct subtree){0};
	find_regions(action, regions);
	subtrees = regions[0];
	if (uvmp_region_is_empty(subtrees) || !collect_facts(explanation, action, &facts))
		return false;
	for (uint32_t i = 0; i < SUBTREES_MAX; i++) {
		struct uvmp_region region = regions[i];
		struct node node;

		if (bounds.first >= region.end || bounds.end <= region.first)
			continue;
		node = count_node(&facts, region);
		if (node.set == 0) /* the faulted pages are not known */
			return false;
		is_full = is_full && node.set == node.big_pages;
		subtree->node[subtree->nodes++] = node;
		subtrees.end = region.end;
	}
	if (is_full)
		subtree->own = count_faulted(&facts, bounds, subtrees);
	return subtree->nodes > 0;
}
