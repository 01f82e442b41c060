/* Victims whose write-backs wait; staged.h. */
#include "staged.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

static bool has_begun(const struct staged_victim *victim, uint64_t now_ns)
{
	return victim->begin_ns <= now_ns;
}

/* Victims at the front that are no longer of interest leave; the others move to the front if half of the array is free. */
static void drop(struct staged *staged, uint64_t now_ns)
{
	while (staged->first < staged->count) {
		struct staged_victim *victim = &staged->victim[staged->first];

		if (victim->is_used || (!victim->is_over && !has_begun(victim, now_ns)))
			break;
		victim->block->staged--;
		staged->first++;
	}
	if (staged->first <= staged->count / 2u)
		return;
	staged->count -= staged->first;
	memmove(staged->victim, staged->victim + staged->first, staged->count * sizeof(*staged->victim));
	staged->first = 0;
}

bool staged_add(struct staged *staged, const struct staged_victim *victim, uint64_t now_ns)
{
	struct staged_victim *added;

	drop(staged, now_ns);
	if (!ARRAY_RESERVE(staged->victim, staged->room, staged->count + 1u))
		return false;
	added = &staged->victim[staged->count++];
	*added = *victim;
	added->past = (struct staged_past){victim->block->evicted, victim->block->written, victim->block->unused};
	added->block->staged++;
	return true;
}

void staged_note_times(struct staged *staged, const struct sim_block *block, uint32_t page, uint64_t begin_ns, uint64_t end_ns)
{
	for (size_t i = staged->count; block->staged != 0 && i-- > staged->first;)
		if (staged->victim[i].block == block && uvmp_mask_test(&staged->victim[i].pages, page)) {
			staged->victim[i].begin_ns = begin_ns;
			staged->victim[i].end_ns = end_ns;
			return;
		}
}

bool staged_use(struct staged *staged, const struct sim_block *block, uint32_t page, uint64_t now_ns)
{
	for (size_t i = staged->first; i < staged->count; i++) {
		struct staged_victim *victim = &staged->victim[i];

		if (victim->block != block || victim->is_used || victim->is_over || has_begun(victim, now_ns) ||
		    !uvmp_mask_test(&victim->pages, page))
			continue;
		if (staged->used++ == 0)
			staged->used_ns = now_ns;
		victim->is_used = true;
		return true;
	}
	return false;
}

bool staged_take(struct staged *staged, uint64_t now_ns)
{
	staged->is_back = false;
	for (size_t i = staged->first; staged->used != 0 && i < staged->count; i++) {
		struct staged_victim *victim = &staged->victim[i];

		if (!victim->is_used)
			continue;
		victim->is_used = false;
		victim->is_over = true;
		staged->used--;
		if (has_begun(victim, now_ns))
			continue;
		if (!ARRAY_RESERVE(staged->place, staged->places_room, staged->places + 1u))
			return false;
		staged->back = *victim;
		staged->place[staged->places++] = (struct staged_place){victim->begin_ns, victim->end_ns,
									uvmp_mask_weight(&victim->pages)};
		staged->is_back = true;
		return true;
	}
	return false;
}

/* The mask has these pages as `before` has them. */
static void restore(uvmp_mask *mask, const uvmp_mask *before, const uvmp_mask *pages)
{
	uvmp_mask old;

	uvmp_mask_and(&old, before, pages);
	uvmp_mask_andnot(mask, mask, pages);
	uvmp_mask_or(mask, mask, &old);
}

void staged_restore(struct staged *staged, struct host *host)
{
	const struct staged_victim *back = &staged->back;
	struct sim_result *result = host->result;
	struct sim_block *block = back->block;
	uint32_t pages = uvmp_mask_weight(&back->pages);
	uvmp_mask unused;

	uvmp_mask_or(&block->resident, &block->resident, &back->pages);
	restore(&block->evicted, &back->past.evicted, &back->pages);
	restore(&block->written, &back->past.written, &back->pages);
	restore(&block->unused, &back->past.unused, &back->pages);
	uvmp_mask_and(&unused, &back->past.unused, &back->pages);
	result->pages_prefetched_unused -= uvmp_mask_weight(&unused);
	result->pages_evicted -= pages;
	result->evictions -= back->is_first;
	result->d2h_copies--;
	result->d2h_bytes -= (uint64_t)pages * host->space.page_bytes;
}

void staged_refuse(struct staged *staged)
{
	const struct staged_victim *back = &staged->back;

	if (staged->places != 0 && staged->place[staged->places - 1u].begin_ns == back->begin_ns)
		staged->places--;
}

void staged_fill(struct staged *staged, uint32_t pages)
{
	struct staged_place *taken = &staged->taken;

	*taken = (struct staged_place){0, 0, 0};
	while (taken->pages < pages && staged->places != 0) {
		struct staged_place *place = &staged->place[staged->places - 1u];
		uint32_t some = pages - taken->pages < place->pages ? pages - taken->pages : place->pages;

		taken->pages += some;
		taken->begin_ns = place->begin_ns > taken->begin_ns ? place->begin_ns : taken->begin_ns;
		taken->end_ns = place->end_ns > taken->end_ns ? place->end_ns : taken->end_ns;
		place->pages -= some;
		staged->places -= place->pages == 0;
	}
}

uint32_t staged_place_pages(struct staged *staged, uint32_t pages)
{
	uint32_t placed = staged->taken.pages < pages ? staged->taken.pages : pages;

	staged->taken.pages -= placed;
	return placed;
}

bool staged_returns(const struct staged *staged, const struct uvmp_action *a)
{
	return staged->is_back && a->to == HOST_GPU && a->cause != UVMP_CAUSE_EVICTION &&
	       (a->kind == UVMP_ACTION_MAP || a->kind == UVMP_ACTION_UNMAP || a->kind == UVMP_ACTION_COPY);
}

void staged_close(struct staged *staged)
{
	free(staged->victim);
	free(staged->place);
}
