/* Private states of the prefetchers that the policy names: of blocks (behind the history), ranges, processors. */
#ifndef UVMPOLICY_PREFETCH_STATES_ENGINE_INTERNAL_H
#define UVMPOLICY_PREFETCH_STATES_ENGINE_INTERNAL_H

#include "service_internal.h"

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
