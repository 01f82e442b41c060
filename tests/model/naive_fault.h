/* Fetch, order, bins and permissions as slow as their rules read: a second opinion for tests and
 * fuzzing. */
#ifndef NAIVE_FAULT_H
#define NAIVE_FAULT_H

#include "uvmpolicy/fault.h"

#define NAIVE_FAULT_MAX 2048u

struct naive_fetch {
	uint32_t cached, coalesced, max_utlb, get, cached_put;
	bool is_single_instance;
	struct uvmp_fault entry[NAIVE_FAULT_MAX];
};

/* What a fetch from `buffer` must give; looks only. Parameters must be valid, the buffer no larger than
 * NAIVE_FAULT_MAX. */
enum uvmp_status naive_fault_fetch(const struct uvmp_fetch_params *params, enum uvmp_fetch_mode mode,
				   uint32_t put, const struct uvmp_fault_buffer *buffer,
				   uint32_t batch_capacity, uint32_t utlbs, struct naive_fetch *out);

/* Sorts the indices by searching the smallest again and again. */
void naive_fault_order(const struct uvmp_fault *entry, uint32_t *order, uint32_t count);
void naive_fault_order_by_instance(const struct uvmp_fault *entry, uint32_t *order, uint32_t count);

/* Number of the bin of each position of an ordered list, in blocks of block_bytes, and whether the position
 * is a duplicate. Returns the number of bins. */
uint32_t naive_fault_bins(const struct uvmp_fault *entry, const uint32_t *order, uint32_t count,
			  uint64_t block_bytes, uint32_t *bin_of, bool *is_duplicate);

/* Valid input only. */
void naive_fault_classify(const struct uvmp_fault *fault, const struct uvmp_fault_facts *facts,
			  const struct uvmp_fault *previous,
			  const struct uvmp_fault_verdict *previous_verdict,
			  struct uvmp_fault_verdict *verdict);

#endif
