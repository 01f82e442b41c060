/* Evictions. */
#ifndef UVMPOLICY_EVICTION_INTERNAL_H
#define UVMPOLICY_EVICTION_INTERNAL_H

#include "job_internal.h"

enum evict_phase { EVICT_IDLE, EVICT_NEXT, EVICT_COMMIT };

struct eviction {
	enum evict_phase phase;
	struct job *job; /* that is being serviced: its pages stay; NULL: none */
	uint32_t gpu;
	uint32_t root;	  /* or unit */
	uint8_t victim;	  /* enum uvmp_victim */
	uvmp_addr for_address; /* block that needs the memory */
	bool is_ahead;	  /* for the next block, while this one's pages come: the root goes to the pool */
	uint32_t room;	  /* page-wise order, ahead: pages to be free, beside the incoming pages */
	bool is_whole;	  /* evict=tbne: all of the victim's block leaves, as the pattern engine has not spoken */
	enum uvmp_chunk_size size;
	handle block;	  /* whose pages leave now */
	uint32_t blocks;  /* so many of this victim have begun to leave */
	uvmp_mask rest;	  /* page-wise order: pages of the block whose turn comes yet, resident or not */
	uvmp_mask held;	  /* pages of the block with memory in the root */
	uvmp_mask pages;  /* the resident pages among them, which are evicted */
	uvmp_mask lost;	  /* discarded ones among these, not copied */
	uvmp_mask copied; /* others that the CPU does not have */
	enum uvmp_status status; /* result, when phase is EVICT_IDLE again */
};

/* Chooses the next victim and begins its eviction; the next advance queues the first actions. UVMP_ERR_NO_MEMORY:
 * nothing may be evicted. */
enum uvmp_status uvmpi_evict_start(struct uvmp_service *s, struct eviction *e, struct job *job, uint32_t gpu,
				   enum uvmp_chunk_size size, bool is_ahead);
/* The same for pages that arrive later, if memory is full: one root, or units until there is room for a unit. Pages of the
 * present job stay. False: nothing has begun. */
bool uvmpi_evict_ahead(struct uvmp_service *s, struct eviction *e, struct job *job, uint32_t gpu,
		       uvmp_addr for_address);
/* Decides the next thing of the eviction: a block leaves, its copies are done, or the end. */
void uvmpi_evict_advance(struct uvmp_service *s, struct eviction *e);
/* free_buffer (page-wise orders): between two batches, begins an eviction if less memory is free than the policy wants.
 * `for_address` is the first block of the batch. False: nothing has begun. */
bool uvmpi_evict_trim(struct uvmp_service *s, struct eviction *e, uint32_t gpu, uvmp_addr for_address);

#endif
