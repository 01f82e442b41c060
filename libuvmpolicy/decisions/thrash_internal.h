/* What the files of the detector share. */
#ifndef UVMPOLICY_THRASH_INTERNAL_H
#define UVMPOLICY_THRASH_INTERNAL_H

#include "uvmpolicy/thrash.h"

#define THROTTLES_MAX 255u

#define BIT(processor) ((uint64_t)1 << (processor))

/* A time as a page keeps it [driver: rounded-stamps]. */
static inline uint64_t stored(const struct uvmp_thrash_space *space, uint64_t time_ns)
{
	return space->params.quirks ? time_ns & ~(uint64_t)63 : time_ns;
}

static inline bool is_region_inside(const struct uvmp_thrash_block *block, struct uvmp_region region)
{
	return !uvmp_region_is_empty(region) && region.end <= block->pages;
}

/* The duration of a number of lapses: of the initial lapse [driver: reset-leftovers], or of the present
 * lapse. */
uint64_t uvmpi_thrash_lapses(const struct uvmp_thrash_space *space, uint32_t multiple);

/* The table of hints for a page that thrashes [driver: thrashing-table]. *pin_to means something for PIN
 * only. */
enum uvmp_thrash_hint_kind uvmpi_thrash_choose(const struct uvmp_thrash_space *space,
                                              const struct uvmp_thrash_page *page,
                                              const struct uvmp_processors *processors,
                                              const struct uvmp_thrash_facts *facts, uint32_t *pin_to);

/* Moves the lapse by one observed gap [driver: lapse-adaptation]. */
void uvmpi_thrash_adapt(struct uvmp_thrash_space *space, uint64_t gap_ns);

/* [driver: pin-and-reset] */
void uvmpi_thrash_end_throttling(struct uvmp_thrash_page *page);
void uvmpi_thrash_page_reset(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block, uint32_t page);
void uvmpi_thrash_page_pin(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block,
                          const struct uvmp_thrash_facts *facts, uint32_t proc);

/* Gives up the array. No page may be in the queue. */
void uvmpi_thrash_block_forget(struct uvmp_thrash_block *block);

#endif
