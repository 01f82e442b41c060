/* Controllers in the engine: events of a run go to each controller that the policy turns on. */
#ifndef UVMPOLICY_CONTROLLERS_INTERNAL_H
#define UVMPOLICY_CONTROLLERS_INTERNAL_H

#include "../adapt/adapt_internal.h"
#include "objects_internal.h"

/* Controllers of a GPU. */
struct controls {
	struct uvmp_threshold_load load; /* since the last event `batch` */
	struct control_answer answer;
	struct uvmp_lifetime lifetime; /* of its units of memory: roots, or those of the order */
	/* private, NULL: the controller is off; of the CPU: states that the GPUs share */
	void *state[UVMP_CONTROLLER_COUNT];
	bool has_lifetimes;
	bool is_timed; /* some controller has due_ns */
	bool has_begun; /* a batch has begun: periods run */
	uint32_t told_sms, told_blocks; /* of the answer, in the last LIMIT */
};

/* Those of the engine. */
struct adapt {
	bool is_on; /* there is any, or a prefetcher or an order that needs a history */
	bool has_touches; /* a prefetcher or the order reads which pages are touched */
	bool counts_refaults;
	uint32_t tuner; /* the controller that changes the density threshold; UVMP_CONTROLLER_COUNT: none */
	uint64_t managed_bytes; /* of all ranges */
};

/* Units of a GPU's memory whose lifetimes are kept, in an array of 64-bit numbers. */
uint64_t uvmpi_adapt_units(const struct uvmp_service_params *params, uint32_t gpu);
/* Bytes of private state of the controllers that the policy turns on: on a GPU; of the CPU: that the GPUs share. */
uint64_t uvmpi_adapt_state_bytes(const struct uvmp_service_params *params, uint32_t processor);
/* Bytes of private state of each block that has a history. */
uint32_t uvmpi_adapt_block_bytes(const struct uvmp_policy *policy);
/* `memory`: uvmpi_adapt_state_bytes of zeros. */
void uvmpi_adapt_init(struct uvmp_service *s, const struct uvmp_service_params *params, uint8_t *memory);
void uvmpi_adapt_init_gpu(struct uvmp_service *s, const struct uvmp_service_params *params, uint32_t gpu,
			  uint64_t *units, uint8_t *memory);
/* A batch begins: the controllers of the GPU look; queues LIMIT where their answer has changed. */
void uvmpi_adapt_batch(struct uvmp_service *s, uint32_t gpu);
/* The same for all GPUs, where time alone gives reason; true if it queued something. */
bool uvmpi_adapt_due(struct uvmp_service *s);
uint64_t uvmpi_adapt_wakeup_ns(const struct uvmp_service *s);
/* Pages have arrived on a GPU (all that were to arrive, and are there now); which of these the GPU has faulted on, and
 * which of those were not there before. */
void uvmpi_adapt_arrived(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *arrived,
			 const uvmp_mask *faulted, const uvmp_mask *missed);
/* Pages are no longer resident on a GPU; they still have their memory. */
void uvmpi_adapt_left(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *gone, bool is_eviction);
/* The GPU has used a page, if it has it. */
void uvmpi_adapt_touch(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t page);
/* Parameters for a prefetch decision after so many faults, NO_INDEX: they have been counted before; false: prefetch
 * nothing. */
bool uvmpi_adapt_tune(struct uvmp_service *s, handle block, uint32_t to, uint32_t faults,
		      struct uvmp_prefetch_params *params);

#endif
