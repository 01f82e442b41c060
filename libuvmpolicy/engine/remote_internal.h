/* Counted accesses: which pages stay on the CPU, and which have become hot. */
#ifndef UVMPOLICY_REMOTE_INTERNAL_H
#define UVMPOLICY_REMOTE_INTERNAL_H

#include "service_internal.h"

/* Do notifications decide about pages on the CPU (remote_auto.c)? */
static inline bool remote_is_auto(const struct uvmp_service *s)
{
	return s->tuned.remote.remote == UVMP_REMOTE_AUTO;
}
/* Do accesses decide about them (remote.c)? */
static inline bool remote_has_counts(const struct uvmp_service *s)
{
	return s->tuned.remote.remote != UVMP_REMOTE_OFF && !remote_is_auto(s);
}
/* Are accesses counted? */
static inline bool remote_is_counting(const struct uvmp_service *s)
{
	return remote_has_counts(s) || s->policy.runtime;
}
/* Notifications of so many accesses name `pages` of the block, which the residency's GPU maps. Adds the pages of other
 * processors beside them that were used before. Returns the rule that decides whether the pages migrate. */
enum uvmp_rule uvmpi_remote_auto_rule(struct uvmp_service *s, const struct block *b, struct residency *residency,
				      uint64_t accesses, uvmp_mask *pages);
/* Do the notified pages stay where they are by this rule? */
static inline bool remote_rule_keeps(enum uvmp_rule rule)
{
	return rule == UVMP_RULE_BELOW || rule == UVMP_RULE_NOT_DRAWN;
}
/* The limit of remote=auto on the faults of the GPU's next batch; else that of the policy. */
uint32_t uvmpi_remote_auto_batch(const struct uvmp_service *s, uint32_t gpu);
/* A batch has faults on these pages of the block. If the GPU has not used the block, the pages that only the CPU holds may be
 * mapped where they are; faults on them then need no service. */
void uvmpi_remote_auto_begin(struct uvmp_service *s, handle block, uint32_t gpu, const uvmp_mask *faulted);
/* Notifications have made these pages migrate to the GPU. */
void uvmpi_remote_auto_returned(struct uvmp_service *s, handle block, uint32_t gpu, const uvmp_mask *pages);
/* Counts an access of the GPU to a page that it holds or maps. A page on the CPU may become hot. */
void uvmpi_remote_use(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t page, bool is_write);
/* An access to a page on the CPU has missed the TLB, and is counted. True: the page is to migrate. */
bool uvmpi_remote_miss(const struct uvmp_service *s, uint32_t gpu, handle block, uint32_t page, bool is_write);
/* Does a fault on the page decide again, although the GPU maps the page on the CPU? */
bool uvmpi_remote_is_asked(const struct uvmp_service *s, const struct block *b, uint32_t gpu, uint32_t page);
/* Counts a serviced fault of the GPU. True: the page stays on the CPU. Accesses are counted. */
bool uvmpi_remote_keeps_counted(struct uvmp_service *s, handle block, uint32_t gpu, uint32_t page,
				enum uvmp_access access);
/* The same; without counting, no page stays. */
static inline bool uvmpi_remote_keeps(struct uvmp_service *s, handle block, uint32_t gpu, uint32_t page,
				      enum uvmp_access access)
{
	return remote_is_counting(s) && uvmpi_remote_keeps_counted(s, block, gpu, page, access);
}
/* Queues MAP for these pages, and for all other pages of the block that would stay, except arriving pages. */
void uvmpi_remote_map(struct uvmp_service *s, handle block, uint32_t gpu, const uvmp_mask *remote,
		      const uvmp_mask *arriving);
/* Counts a round trip: an eviction of pages of the block begins. */
void uvmpi_remote_leave(struct uvmp_service *s, handle block, uint32_t gpu, const uvmp_mask *pages);
/* Queues MAP for the evicted pages that a read would leave on the CPU. The block at `for_address` needed the
 * memory. */
void uvmpi_remote_map_evicted(struct uvmp_service *s, handle block, uint32_t gpu, const uvmp_mask *pages,
			      uvmp_addr for_address);

#endif
