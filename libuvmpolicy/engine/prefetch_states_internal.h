/* Private states of the prefetchers that the policy names: of blocks (behind the history), ranges, processors. */
#ifndef UVMPOLICY_PREFETCH_STATES_ENGINE_INTERNAL_H
#define UVMPOLICY_PREFETCH_STATES_ENGINE_INTERNAL_H

#include "objects_internal.h"
#include "uvmpolicy/policy.h"

/* Offsets of the private states of one prefetcher, bytes. */
struct prefetch_offsets {
	enum uvmp_prefetcher prefetcher;
	const struct uvmp_prefetch_plugin *plugin; /* UVMP_PREFETCH_PLUGIN */
	uint32_t block, range, processor;
};

/* Private states of `prefetch` and of `prefetch_full` (prefetch_states.c). */
struct prefetch_states {
	struct prefetch_offsets of[2];
	uint32_t count;
	uint32_t present; /* the prefetcher that decides now, index in `of` */
	uint32_t block_bytes, range_bytes, processor_bytes; /* of both together */
	uint32_t kernels; /* that have begun */
	bool has_bytes;	  /* not all of these are 0 */
	bool counts_touches;
	bool has_memory; /* a prefetcher knows the memory and hears of evictions */
	uint8_t *range;					    /* [range slots][range_bytes] */
	uint8_t *processor;				    /* [processors][processor_bytes] */
};

/* Sets everything but the memory. */
void uvmpi_prefetch_states_init(const struct uvmp_policy *policy, struct prefetch_states *states);
/* Sets the private states of `state` for a decision about the block, which lies in the range of this slot. */
void uvmpi_prefetch_states_give(struct uvmp_service *s, struct block *b, uint32_t slot, uint32_t processor,
				struct uvmp_prefetch_state *state);
/* The page of the block, which is resident, was accessed; for policies that count touches. */
void uvmpi_prefetch_states_touch(struct uvmp_service *s, handle h, uint32_t page);
/* The slot will hold another range. */
void uvmpi_prefetch_states_clear(struct uvmp_service *s, uint32_t slot);
/* Pages of a block with this history were evicted from the processor, for prefetchers that read touches. */
void uvmpi_prefetch_states_left(const struct uvmp_service *s, struct history *history, uint32_t processor,
				const uvmp_mask *gone);
/* Pages of the block were evicted from the GPU, for prefetchers that know the memory. */
void uvmpi_prefetch_states_evicted(struct uvmp_service *s, handle h, uint32_t gpu, const uvmp_mask *gone);

#endif
