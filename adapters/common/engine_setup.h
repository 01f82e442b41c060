/* engine_setup.h: the parameters of an engine that influence decisions. Every host uses them, so that all hosts take the
 * same decisions from the same faults. Freestanding: the kernel module uses it, too. */
#ifndef UVMP_HOST_ENGINE_SETUP_H
#define UVMP_HOST_ENGINE_SETUP_H

#include "uvmpolicy/adapt.h"
#include "uvmpolicy/policy.h"
#include "uvmpolicy/pmm.h"

#define SETUP_UTLBS	    64u /* threads share them: number of the thread modulo this */
#define SETUP_ENTRIES_LEAST 1024u
#define SETUP_ENTRIES_MOST  65536u
#define SETUP_SPLITS_SPARE  4096u /* for ranges that are added later */

/* Entries of a GPU's fault buffer: a batch fits, and one entry stays free. At most SETUP_ENTRIES_MOST, because policies
 * limit batches. */
static inline uint32_t setup_fault_entries(const struct uvmp_policy *policy)
{
	uint32_t batch = policy->replay.max_batch;

	return batch < SETUP_ENTRIES_LEAST ? SETUP_ENTRIES_LEAST : batch + 1u;
}

/* Bytes that a GPU's memory holds, more than its size if the policy compresses pages. */
static inline uint64_t setup_capacity_bytes(const struct uvmp_policy *policy, uint64_t memory_bytes,
					    uint32_t page_bytes)
{
	return uvmp_etc_capacity(UVMP_ETC_COMPRESSION, memory_bytes, policy->memory_ratio, page_bytes);
}

/* Split records of a GPU with `capacity_bytes`. A root is split for a block that is smaller than a root: at most one split
 * per block. */
static inline uint32_t setup_splits(uint32_t blocks, uint64_t capacity_bytes)
{
	uint64_t most = (uint64_t)blocks + SETUP_SPLITS_SPARE, roots = capacity_bytes / UVMP_ROOT_CHUNK_BYTES;

	if (most > UVMP_SPLITS_MAX)
		most = UVMP_SPLITS_MAX;
	return (uint32_t)(most < roots ? most : roots);
}

/* Does the engine act on notifications of access counters? */
static inline bool setup_counts_accesses(const struct uvmp_policy *policy, uint32_t page_bytes, bool has_ats)
{
	struct uvmp_needs needs = {.size = sizeof(needs)};

	if (uvmp_policy_needs(policy, &needs) == UVMP_OK && needs.notifications)
		return true;
	return policy->counters == UVMP_COUNTERS_DRIVER && uvmp_counter_is_enabled(-1, has_ats) &&
	       uvmp_counter_is_serviced(page_bytes, policy->quirks);
}

#endif
