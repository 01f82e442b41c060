/* Is the state of the memory manager consistent?
 *
 * Three conditions together prove that every list has exactly its members, in a line. Each walk from a head
 * meets only chunks that belong on that list and whose back links match (so it meets no chunk twice). The
 * walk is as long as the list's counter. The counters are the numbers of chunks that belong there, counted
 * from the chunks' own states. Every value is checked before it is used as an index. */
#include "pmm_internal.h"

/* What is counted from the chunks, to be compared with the counters. */
struct tally {
	uint64_t allocated_pages;
	uint32_t in_pool, pinned, in_eviction, splits;
	uint32_t list[PMM_LISTS];
};

/* First pages of the pieces of a root. */
static void piece_starts(const struct uvmp_pmm *pmm, const struct pmm_split *split, uvmp_mask *starts)
{
	uvmp_mask_zero(starts);
	for (uint32_t page = 0; page < PMM_PAGES;
	     page += pmm_chunk_pages(pmm, pmm_leaf_size(split, page)))
		uvmp_mask_set(starts, page);
}

/* No 64 KiB chunk is split for nothing, nor the root. */
static bool is_merged(const struct pmm_split *split)
{
	bool ok = !uvmp_mask_is_empty(&split->live);

	for (uint32_t g = 0; g < PMM_GROUPS; g++) {
		struct uvmp_region group = {g * PMM_GROUP, (g + 1u) * PMM_GROUP};

		ok &= ((split->groups >> g) & 1u) == 0 || uvmp_mask_region_any(&split->live, group);
	}
	return ok;
}

static bool masks_are_sound(const struct uvmp_pmm *pmm, const struct pmm_root *r,
                            const struct pmm_split *split, const uvmp_mask *starts)
{
	/* [driver: split-loses-zero, marks-whole-roots]: these are not kept. */
	bool ok = !pmm->params.quirks ||
	          (uvmp_mask_is_empty(&split->zero) && uvmp_mask_is_empty(&split->marked));

	ok &= uvmp_mask_is_subset(&split->live, starts);
	ok &= uvmp_mask_is_subset(&split->zero, starts);
	ok &= !uvmp_mask_intersects(&split->live, &split->zero);
	ok &= uvmp_mask_is_subset(&split->pinned, &split->live);
	ok &= uvmp_mask_is_subset(&split->marked, &split->live);
	ok &= uvmp_mask_is_subset(&split->discarded, &split->marked);
	ok &= uvmp_mask_weight(&split->pinned) == r->pinned_leaves;
	return ok && (!r->is_evicting || uvmp_mask_equal(&split->live, starts));
}

/* A split root: its record is its own and sound; its pieces are counted. */
static bool check_split(const struct uvmp_pmm *pmm, uint32_t root, struct tally *tally)
{
	const struct pmm_root *r = &pmm->root[root];
	const struct pmm_split *split;
	uvmp_mask starts;

	if (r->body >= pmm->splits_fresh || pmm->split[r->body].root != root)
		return false;
	split = &pmm->split[r->body];
	tally->splits++;
	piece_starts(pmm, split, &starts);
	for (uint32_t page = 0; page < PMM_PAGES; page++) {
		uint32_t size = pmm_leaf_size(split, page);

		if (!uvmp_mask_test(&starts, page))
			continue;
		if (!uvmp_mask_test(&split->live, page))
			tally->list[pmm_free_list(r->type, size, uvmp_mask_test(&split->zero, page))]++;
		else if (r->type == UVMP_CHUNK_USER &&
		         !(r->is_evicting && uvmp_mask_test(&split->pinned, page)))
			tally->allocated_pages += pmm_chunk_pages(pmm, size);
	}
	return is_merged(split) && masks_are_sound(pmm, r, split, &starts);
}

/* Is the root on the list that its state asks for? Among the queues without quirks, a split one's marks
 * decide. */
static bool list_is_right(const struct uvmp_pmm *pmm, const struct pmm_root *r)
{
	const struct pmm_split *split;

	if (r->state == PMM_FREE)
		return r->list == pmm_free_list(r->type, UVMP_CHUNK_2M, 0) ||
		       r->list == pmm_free_list(r->type, UVMP_CHUNK_2M, 1);
	if (r->state == PMM_POOL || r->type != UVMP_CHUNK_USER || pmm_root_is_pinned(r) ||
	    r->is_evicting)
		return r->list == PMM_LIST_NONE;
	if (r->state != PMM_SPLIT)
		return r->list < PMM_QUEUES;
	split = &pmm->split[r->body];
	if (!uvmp_mask_equal(&split->live, &split->marked))
		return r->list == UVMP_PMM_USED;
	return r->list == (uvmp_mask_is_empty(&split->discarded) ? UVMP_PMM_UNUSED : UVMP_PMM_DISCARDED);
}

static bool check_root(const struct uvmp_pmm *pmm, uint32_t root, struct tally *tally)
{
	const struct pmm_root *r = &pmm->root[root];
	bool is_whole = r->state == PMM_ALLOCATED || (r->state == PMM_PINNED && !r->is_evicting);

	if (r->state >= PMM_STATES || r->type > UVMP_CHUNK_KERNEL || r->is_evicting > 1u)
		return false;
	if (r->state == PMM_SPLIT ? !check_split(pmm, root, tally) : r->pinned_leaves != 0)
		return false;
	if (!list_is_right(pmm, r))
		return false;
	tally->in_pool += r->state == PMM_POOL;
	tally->pinned += r->state == PMM_PINNED;
	tally->in_eviction += r->is_evicting;
	if (r->list != PMM_LIST_NONE)
		tally->list[r->list]++;
	if (is_whole && r->type == UVMP_CHUNK_USER)
		tally->allocated_pages += PMM_PAGES;
	/* Only user memory in use can be in eviction. */
	return !r->is_evicting || (r->type == UVMP_CHUNK_USER && r->state >= PMM_SPLIT);
}

/* The link of a member, if it is one of this list; else NULL. */
static const struct pmm_link *member_link(const struct uvmp_pmm *pmm, uint32_t list, uint32_t member)
{
	uint32_t record = member / PMM_PAGES, page = member % PMM_PAGES;
	const struct pmm_split *split;
	const struct pmm_root *r;

	if (list < PMM_ROOT_LISTS)
		return member < pmm->params.roots && pmm->root[member].list == list ? &pmm->root[member].link
		                                                                    : NULL;
	if (record >= pmm->splits_fresh || pmm->split[record].root >= pmm->params.roots)
		return NULL;
	split = &pmm->split[record];
	r = &pmm->root[split->root];
	if (r->state != PMM_SPLIT || r->body != record || uvmp_mask_test(&split->live, page) ||
	    page % pmm_chunk_pages(pmm, pmm_leaf_size(split, page)) != 0)
		return NULL;
	if (pmm_free_list(r->type, pmm_leaf_size(split, page),
	                       uvmp_mask_test(&split->zero, page)) != list)
		return NULL;
	return &split->slot[page];
}

static bool check_list(const struct uvmp_pmm *pmm, uint32_t list)
{
	const struct pmm_queue *queue = &pmm->list[list];
	const struct pmm_link *link;
	uint32_t prev = PMM_NONE, member = queue->head;

	for (uint32_t i = 0; i < queue->count; i++) {
		link = member_link(pmm, list, member);
		if (link == NULL || link->prev != prev)
			return false;
		prev = member;
		member = link->next;
	}
	return member == PMM_NONE && queue->tail == prev;
}

/* Does a split root say that the record is its own? */
static bool is_in_use(const struct uvmp_pmm *pmm, uint32_t record)
{
	uint32_t root = pmm->split[record].root;

	return root < pmm->params.roots && pmm->root[root].state == PMM_SPLIT &&
	       pmm->root[root].body == record;
}

/* Records in the chain of unused ones; more than there are if the chain is broken. */
static uint32_t chain_length(const struct uvmp_pmm *pmm)
{
	uint32_t length = 0;

	for (uint32_t at = pmm->split_chain; at != PMM_NONE; at = pmm->split[at].root) {
		if (at >= pmm->splits_fresh || length >= pmm->splits_fresh || is_in_use(pmm, at))
			return pmm->splits_fresh + 1u;
		length++;
	}
	return length;
}

/* The required value of a bit of the pool's bitmap: level 0 describes roots, the other levels the words
 * below. */
static bool level_bit(const struct uvmp_pmm *pmm, uint32_t level, uint32_t i)
{
	if (level == 0)
		return i < pmm->params.roots && pmm->root[i].state == PMM_POOL;
	return i < pmm_level_words(pmm->params.roots, level - 1u) && pmm->level[level - 1u][i] != 0;
}

static bool check_pool(const struct uvmp_pmm *pmm)
{
	bool ok = true;

	for (uint32_t level = 0; level < PMM_LEVELS; level++) {
		uint32_t bits = pmm_level_words(pmm->params.roots, level) * 64u;

		for (uint32_t i = 0; i < bits; i++)
			ok &= ((pmm->level[level][i / 64u] >> (i % 64u)) & 1u) == level_bit(pmm, level, i);
	}
	return ok;
}

bool uvmp_pmm_check(const struct uvmp_pmm *pmm)
{
	struct tally tally = {0, 0, 0, 0, 0, {0}};
	bool ok = true;

	if (!uvmp_pmm_is_valid(pmm))
		return false;
	for (uint32_t root = 0; ok && root < pmm->params.roots; root++)
		ok = check_root(pmm, root, &tally);
	for (uint32_t list = 0; list < PMM_LISTS; list++)
		ok = ok && tally.list[list] == pmm->list[list].count && check_list(pmm, list);
	ok &= tally.in_pool == pmm->in_pool;
	ok &= tally.pinned == pmm->pinned;
	ok &= tally.in_eviction == pmm->in_eviction;
	ok &= tally.allocated_pages == pmm->allocated_pages;
	ok &= tally.splits + chain_length(pmm) == pmm->splits_fresh;
	return ok && check_pool(pmm);
}
