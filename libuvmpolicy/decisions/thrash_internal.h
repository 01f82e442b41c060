/* What the files of the detector share. */
#ifndef UVMPOLICY_THRASH_INTERNAL_H
#define UVMPOLICY_THRASH_INTERNAL_H

#include "../base/bits_internal.h"
#include "../base/debug_internal.h"
#include "../base/mask_internal.h"
#include "uvmpolicy/thrash.h"

#define THROTTLES_MAX 255u
#define EVENTS_MAX    7u

/* A time as a page keeps it [driver: rounded-stamps]. */
static inline uint64_t stored(const struct uvmp_thrash_space *space, uint64_t time_ns)
{
	return space->params.quirks ? time_ns & ~(uint64_t)63 : time_ns;
}

/* As uvmp_mask_test, for a page of a block. */
static inline bool uvmpi_thrash_in(const uvmp_mask *pages, uint32_t page)
{
	return (pages->word[page / 64u] >> (page % 64u) & 1u) != 0;
}

static inline bool is_region_inside(const struct uvmp_thrash_block *block, struct uvmp_region region)
{
	return region.first < region.end && region.end <= block->pages;
}

/* Was the address space initialised? What the functions that are called for each fault and each event check, instead of
 * uvmp_thrash_space_is_valid; a block that was not initialised has no pages, and a region is never inside it. */
static inline bool uvmpi_thrash_is_ready(const struct uvmp_thrash_space *space)
{
	return space != NULL && space->lapse_ns != 0;
}

/* What the boundary promises for each event and each hint, and debug builds assert behind it. */
static inline bool uvmpi_thrash_is_sound(const struct uvmp_thrash_space *space, const struct uvmp_thrash_block *block)
{
	return uvmp_thrash_space_is_valid(space) && uvmp_thrash_block_is_valid(block) &&
	       (!block->has_pages || uvmpi_mask_is_subset(&block->thrashing, &block->begun));
}

static inline bool uvmpi_thrash_accepts_event(const struct uvmp_thrash_space *space,
                                              const struct uvmp_thrash_block *block, struct uvmp_region region,
                                              uint32_t proc)
{
	return uvmpi_thrash_is_sound(space, block) && is_region_inside(block, region) && proc < UVMP_PROCS_MAX;
}

static inline bool uvmpi_thrash_accepts_facts(const struct uvmp_thrash_space *space,
                                              const struct uvmp_thrash_block *block,
                                              const struct uvmp_processors *processors,
                                              const struct uvmp_thrash_facts *facts)
{
	return uvmpi_thrash_is_sound(space, block) && uvmp_processors_is_valid(processors) &&
	       facts->page < block->pages && facts->requester < processors->count &&
	       is_optional_proc(facts->has_preferred, facts->preferred, processors->count);
}

/* The duration of a number of lapses: of the initial lapse [driver: reset-leftovers], or of the present lapse. */
static inline uint64_t uvmpi_thrash_lapses(const struct uvmp_thrash_space *space, uint32_t multiple)
{
	uint64_t lapse = space->params.quirks ? (uint64_t)space->params.lapse_us * 1000u : space->lapse_ns;

	return lapse * multiple;
}

static inline bool uvmpi_thrash_is_demand(enum uvmp_migrate_cause cause)
{
	return cause == UVMP_MIGRATE_FAULT || cause == UVMP_MIGRATE_ACCESS_COUNTER;
}

/* As uvmp_thrash_effect_of [driver: thrashing-events]. */
static inline enum uvmp_thrash_effect uvmpi_thrash_effect_of(const struct uvmp_thrash_space *space,
                                                             const struct uvmp_thrash_migration *migration)
{
	if (!space->params.is_enabled || migration->cause == UVMP_MIGRATE_EVICTION ||
	    migration->to != migration->final_to)
		return UVMP_THRASH_IGNORED;
	if (migration->is_copy || migration->is_read_duplicated ||
	    (!uvmpi_thrash_is_demand(migration->cause) && migration->cause != UVMP_MIGRATE_PREFETCH))
		return UVMP_THRASH_RESETS;
	return UVMP_THRASH_COUNTS;
}

/* Does an event raise the first suspicion of a block, whose last event is given? Then it needs its array. */
static inline bool uvmpi_thrash_is_suspicious(const struct uvmp_thrash_space *space, uint64_t last_ns,
                                              uint32_t last_proc, uint32_t proc, uint64_t now_ns)
{
	return last_ns != 0 && last_proc != proc && now_ns - last_ns <= space->lapse_ns;
}

/* As uvmp_thrash_decide, uvmp_thrash_migrate and uvmp_thrash_revoke, for arguments that those accept. */
enum uvmp_status uvmpi_thrash_decide(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block,
                                     const struct uvmp_processors *processors,
                                     const struct uvmp_thrash_facts *facts, struct uvmp_thrash_hint *hint);
enum uvmp_status uvmpi_thrash_migrate(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block,
                                      const struct uvmp_thrash_migration *migration);
enum uvmp_status uvmpi_thrash_revoke(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block,
                                     struct uvmp_region region, uint32_t proc, uint64_t now_ns);

/* [driver: pin-and-reset]. If no processor is throttled, the period continues and keeps its end. */
static inline void uvmpi_thrash_end_throttling(struct uvmp_thrash_page *page)
{
	if (page->throttled != 0)
		page->throttle_end_ns = 0;
	page->throttled = 0;
}
void uvmpi_thrash_page_reset(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block, uint32_t page);
/* The first pin of a page that is not pinned. */
void uvmpi_thrash_page_pin(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block, uint32_t page,
                           uint32_t proc, uint64_t now_ns);

/* Gives up the array. No page may be in the queue. */
void uvmpi_thrash_block_forget(struct uvmp_thrash_block *block);

#endif
