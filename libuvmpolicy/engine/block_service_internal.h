/* The block service: pages of one block to their destinations. */
#ifndef UVMPOLICY_BLOCK_SERVICE_INTERNAL_H
#define UVMPOLICY_BLOCK_SERVICE_INTERNAL_H

#include "job_internal.h"

/* What the block service needs from its caller. */
enum need { NEED_NOTHING, NEED_ROOM, NEED_ROOM_AHEAD };
struct block_need {
	enum need kind;
	enum uvmp_chunk_size size; /* NEED_ROOM: of the chunk */
};

/* What is to become of the mappings of one processor (block_map.c). */
enum want { WANT_READ, WANT_WRITE, WANT_ATOMIC, WANT_LESS_READ, WANT_LESS_WRITE, WANT_COUNT };
struct map_want {
	uint32_t sets; /* bit i: pages[i] holds pages */
	/* that get this right, if they have less; LESS: that keep only the right to read, to read and write */
	uvmp_mask pages[WANT_COUNT];
};
struct map_wants {
	uint64_t processors; /* whose element of `of` means something */
	struct map_want *of; /* [processors] */
};

/* The right of a requester on a page that has just arrived on the requester, by the access of its service: what
 * uvmpi_residency_rights answers for the policy of one range (block_map.c). */
struct map_memo {
	uint64_t accessed_by; /* these facts are the same for all accesses */
	uint8_t requester, right, preferred, duplication;
	uint8_t of[UVMP_ACCESS_NONE]; /* enum uvmp_right; NONE: not asked yet, MAPS_OTHERS: others are mapped too */
};

/* Evicted pages: where they come from, for which block they leave, and how many copies their plan has in s->out. */
struct outgoing {
	handle block;
	uvmp_addr for_address;
	uint32_t copies;
};

/* -- block_prefetch.c -- */

/* Asks the prefetcher, and adds its pages to the job. */
void uvmpi_block_prefetch(struct uvmp_service *s, struct job *job);
/* The faults of the job are decided again. True: the prefetcher's answer stays, and has been counted where it would be. */
bool uvmpi_block_prefetch_repeats(const struct uvmp_service *s, const struct job *job, struct block *b);
const struct uvmp_prefetch_traits *uvmpi_prefetch_traits(const struct uvmp_service *s);
/* A batch begins: where memory has been full, the prefetcher for that takes over. */
void uvmpi_prefetch_switch(struct uvmp_service *s);
/* From the policy's pages of 4 KiB to the host's, once for each set of parameters. */
void uvmpi_prefetch_scale(struct uvmp_service *s);
/* Does the prefetcher keep trees of basic blocks, and how many has the block's? */
bool uvmpi_prefetch_has_tree(const struct uvmp_service *s);
uint32_t uvmpi_prefetch_tree_blocks(const struct block *b);
/* The tree no longer counts these pages. */
void uvmpi_prefetch_tree_leave(struct uvmp_tree *tree, const uvmp_mask *pages, bool quirks);
/* The block's tree, if there is one, counts these pages again. */
void uvmpi_prefetch_tree_return(struct uvmp_service *s, const struct block *b, const uvmp_mask *pages);

/* -- block_map.c -- */

/* Mappings of the pages that have arrived. `have_migrated`: there are some, all of job->migrated. */
void uvmpi_block_map(struct uvmp_service *s, struct job *job, const uvmp_mask *pages, bool have_migrated);

/* -- copies.c -- */

/* Queues the planned copies of the job (NULL: none), which are then no longer planned, and of an eviction, in the order of
 * the policy's plan. For POPULATE and COPY alike. */
void uvmpi_queue_copies(struct uvmp_service *s, struct job *job, struct outgoing outgoing);
/* The same as to plan and queue the copies of these pages at once, for pages that lie on one other processor, if nothing
 * is to leave, nothing is pinned, no transfer is cut, and groups are by cause. */
void uvmpi_queue_from_one(struct uvmp_service *s, const struct job *job, const uvmp_mask *pages, uint32_t from);

/* -- block_service.c -- */

/* Starts the job: prefetch decision, then destination by destination. */
void uvmpi_block_start(struct uvmp_service *s, struct job *job);
/* Continues a job of faults that has ended with UVMP_ERR_RETRY, if the same faults would give the same job now. False: they
 * must be walked again; nothing has changed. */
bool uvmpi_block_resume(struct uvmp_service *s, struct job *job);
/* Decides the next thing. `room` is the result of the room that the job needed before. */
struct block_need uvmpi_block_advance(struct uvmp_service *s, struct job *job, enum uvmp_status room);
/* Queues the copies, which NEED_ROOM_AHEAD has left to the caller. */
void uvmpi_block_queue_copies(struct uvmp_service *s, struct job *job);
/* Reads the results of the actions that have just been completed, if one of them has failed. */
void uvmpi_block_collect(struct uvmp_service *s, struct job *job);
void uvmpi_block_end(struct job *job, enum uvmp_status status);

#endif
