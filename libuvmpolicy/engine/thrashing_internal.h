/* The thrashing detector's view of a block. */
#ifndef UVMPOLICY_THRASHING_INTERNAL_H
#define UVMPOLICY_THRASHING_INTERNAL_H

#include "../decisions/thrash_internal.h"
#include "arena_internal.h"
#include "service_internal.h"

/* Do pages that have now arrived on `to` tell the detector anything? Without an array of pages, only the last event of the
 * block counts, and it may be the same. */
static inline bool uvmpi_thrashing_listens(const struct uvmp_service *s, handle block, uint32_t to)
{
	const struct block *b = block_at(s, block);

	return s->policy.thrash.is_enabled && (b->thrash != 0 || b->event_ns != s->now_ns || b->event_proc != to);
}
/* Would an event on the processor now find no array of pages, and raise no suspicion? Then it is kept as the block's last
 * event, and all that the detector does with any number of such events is to keep one. */
static inline bool uvmpi_thrashing_is_quiet(const struct uvmp_service *s, handle block, uint32_t proc)
{
	const struct block *b = block_at(s, block);

	return b->thrash == 0 &&
	       !uvmpi_thrash_is_suspicious(&space_of(s, b)->thrash, b->event_ns, b->event_proc, proc, s->now_ns);
}
/* Without an array of pages the detector only needs the last event, which the block keeps itself. */
static inline void uvmpi_thrashing_keep_event(struct block *b, uint64_t now_ns, uint32_t proc)
{
	b->event_ns = now_ns;
	b->event_proc = (uint8_t)proc;
}
/* The detector's events. */
void uvmpi_thrashing_migrated(struct uvmp_service *s, handle block,
			      const struct uvmp_thrash_migration *migration);
void uvmpi_thrashing_revoked(struct uvmp_service *s, handle block, struct uvmp_region run, uint32_t proc);
/* Forgets the thrashing of these pages / of the block. */
void uvmpi_thrashing_reset(struct uvmp_service *s, handle block, const uvmp_mask *pages);
void uvmpi_thrashing_end(struct uvmp_service *s, handle block);
/* What the detector says of a fault; the block has thrashing state. */
void uvmpi_thrashing_ask(struct uvmp_service *s, handle block, uint32_t page, uint32_t requester,
			 struct uvmp_thrash_hint *hint);
/* How often the page was throttled since its last pin; the block has thrashing state. */
uint8_t uvmpi_thrashing_throttles(const struct uvmp_service *s, const struct block *b, uint32_t page);

#endif
