/* Memory of the GPUs: what backs pages. The back end of a GPU is root chunks or units of a page-wise order. */
#ifndef UVMPOLICY_MEMORY_INTERNAL_H
#define UVMPOLICY_MEMORY_INTERNAL_H

#include "defaults_internal.h"
#include "service_internal.h"

/* Bytes that the GPU holds, with compression (memory_ratio) more than it has. */
static inline uint64_t uvmpi_memory_capacity(const struct uvmp_service_params *params, uint32_t gpu)
{
	return uvmpi_params_capacity(params, uvmpi_params_gpu(params, gpu).memory_bytes);
}
/* The smallest memory, bytes: a root, or a unit of the order. With runtime=on, whole blocks leave, so that a smaller memory
 * would have to evict the block that arrives. */
uint32_t uvmpi_memory_least(const struct uvmp_policy *policy);
/* Does the GPU have memory? */
static inline bool uvmpi_memory_is_there(const struct uvmp_service_params *params, uint32_t gpu)
{
	return uvmpi_memory_capacity(params, gpu) >= uvmpi_memory_least(params->policy);
}
/* 0 also for a GPU without memory, and for an order with too many units (init: UVMP_ERR_RANGE). */
size_t uvmpi_memory_size(const struct uvmp_service_params *params, uint32_t gpu);
enum uvmp_status uvmpi_memory_init(struct uvmp_service *s, const struct uvmp_service_params *params, uint32_t gpu,
				  void *memory, size_t bytes);
/* Arriving pages. */
struct arriving {
	const uvmp_mask *pages, *faulted;
	uint8_t cause; /* enum uvmp_cause of the faulted ones */
};
/* A memory below 2 MiB takes no whole block: leaves pages out, so that the rest fits. Pages that have faulted stay before others;
 * those that are left out fault again. */
void uvmpi_memory_fit(const struct uvmp_service *s, uint32_t gpu, uvmp_mask *pages, const uvmp_mask *faulted);
/* The answer of uvmpi_memory_back. */
enum backing {
	BACKING_DONE,	   /* all pages have memory */
	BACKING_NEED_ROOM, /* the caller evicts (uvmpi_evict_start), then asks again */
	BACKING_NEED_TABLES, /* the tables of the GPU must grow (uvmpi_memory_grow); nothing has changed */
	BACKING_FAILED	   /* no eviction helps: the arena, the pins or the roots that may be split are used up */
};
/* Backs the pages of the block, which has state on `gpu`; queues ALLOCATE once all of them are. BACKING_NEED_ROOM sets
 * *size, the chunk for which memory is missing. */
enum backing uvmpi_memory_back(struct uvmp_service *s, uint32_t gpu, handle block, const struct arriving *arriving,
			      enum uvmp_chunk_size *size);
/* Tables for more blocks, from the arena. False: the arena is too full. */
bool uvmpi_memory_grow(struct uvmp_service *s, uint32_t gpu);
/* Bytes of arena that the next job may take for that. */
uint64_t uvmpi_memory_more(const struct uvmp_service *s, uint32_t gpu);
/* The host refused the ALLOCATE of these pages: their root chunks without a resident page are freed. */
void uvmpi_memory_unback(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *pages);
/* These pages were to arrive, and did not: units of page-wise orders without a resident page release their frames. Root
 * chunks stay with the block. */
void uvmpi_memory_abandon(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *pages);
/* Pages have arrived / have left; residency.resident may have been changed already or not. `is_fault`: a fault, not a
 * prefetch or a request, brought the pages. */
void uvmpi_memory_used(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *pages, bool is_fault);
/* keeps_frames: uvmpi_memory_free follows and queues FREE. */
void uvmpi_memory_left(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *pages, bool keeps_frames);
void uvmpi_memory_mark(struct uvmp_service *s, uint32_t gpu, handle block, enum uvmp_chunk_mark mark);
/* cyclic=on: ends the oldest pin, so that its units may be evicted. False: nothing is pinned. */
bool uvmpi_memory_unpin_oldest(struct uvmp_service *s, uint32_t gpu);
/* The unit of memory in which the page lies, a root or a unit of the order, and the pages of the block in it. */
struct uvmp_region uvmpi_memory_unit(const struct uvmp_service *s, uint32_t gpu, const struct block *b, uint32_t page,
				    uint32_t *unit);
/* The number of such units. */
uint64_t uvmpi_memory_units(const struct uvmp_service_params *params, uint32_t gpu);
/* A batch of faults begins; orders that learn from batches hear of it. */
void uvmpi_memory_begin_batch(struct uvmp_service *s, uint32_t gpu);
/* The GPU has used a page, if it has it. */
void uvmpi_memory_touch(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t page);
/* The page is in use, or arriving, until then. */
void uvmpi_memory_hold(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t page, uint64_t until_ns);
/* evict=lfu2m: the page's unit there, if it is listed, gets the rank that the block's counters give it. The block has
 * state on the GPU. */
void uvmpi_memory_weigh(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t page);
/* evict=lfu2m: all units of the block on the GPU rank as if they had never been used. */
void uvmpi_memory_level(struct uvmp_service *s, uint32_t gpu, handle block);
/* A device synchronisation: the block's units leave the order until they are used again; and, once all have, the pages that
 * are resident no longer count [uvmsmart: clean-pages-uncounted]. Page-wise orders with quirks, without counts_units. */
void uvmpi_memory_unlist(struct uvmp_service *s, uint32_t gpu, handle block);
void uvmpi_memory_uncount(struct uvmp_service *s, uint32_t gpu);
/* After an eviction, does the operation decide again (root chunks)? With page-wise orders the job continues. */
bool uvmpi_memory_repeats(const struct uvmp_service *s, uint32_t gpu);
/* Does the block have chunks on the processor? A block of 2 MiB has one chunk, which is contiguous. */
bool uvmpi_memory_is_chunked(const struct uvmp_service *s, const struct residency *p);
/* The pages that the memory of all GPUs has. O(GPUs). */
uint64_t uvmpi_memory_pages(const struct uvmp_service *s);
/* Do all ranges together exceed the memory of all GPUs? O(GPUs). */
bool uvmpi_memory_is_exceeded(const struct uvmp_service *s);
/* Do all ranges fit in the memory of all GPUs, and has no GPU's memory been full? O(GPUs). */
bool uvmpi_memory_fits(const struct uvmp_service *s);
/* Would the next allocation, of a chunk or of a whole unit, evict? */
bool uvmpi_memory_is_full(const struct uvmp_service *s, uint32_t gpu);
/* The same of so many pages: root chunks are asked for one chunk. */
bool uvmpi_memory_lacks_room(const struct uvmp_service *s, uint32_t gpu, uint32_t pages);
/* Pages that are not in use. Can exceed the capacity, as in the original, when pages that do not count have left [uvmsmart:
 * clean-pages-uncounted]. Pages in root chunks never count as used here. */
static inline uint64_t uvmpi_memory_free_pages(const struct gpu *g)
{
	return g->capacity_pages + g->uncounted_pages - g->used_pages;
}
/* Pages that get and lose memory together: of a root chunk, of a unit that counts with all its pages, or one page. */
uint32_t uvmpi_memory_frame_pages(const struct uvmp_service *s, uint32_t gpu);
/* May the host withdraw pages that were evicted? Not from root chunks, nor from an order that counts uses. */
bool uvmpi_memory_can_withdraw(const struct uvmp_service *s, uint32_t gpu);
/* free_buffer (page-wise orders): is less memory free than the policy wants? */
bool uvmpi_memory_is_short(const struct uvmp_service *s, uint32_t gpu);
/* Gives up all memory of the block on the GPU; queues FREE. Nothing is resident there. */
void uvmpi_memory_free(struct uvmp_service *s, uint32_t gpu, handle block);
/* The operation ends: pins end; parked chunks, and chunks without an ALLOCATE, are freed. */
void uvmpi_memory_settle(struct uvmp_service *s);
/* Adds the pages of the block where a new chunk begins, on this GPU. */
void uvmpi_memory_cuts(const struct uvmp_service *s, const struct block *b, uint32_t gpu, uvmp_mask *cuts);

/* For uvmp_service_check. */

/* Is p->memory the handle of a chunk map? The block has memory on p->proc. */
bool uvmpi_memory_has_map(const struct uvmp_service *s, const struct block *b, const struct residency *p);
/* Does the block own the memory of what is resident? Adds its pages to *pages, in the unit of uvmpi_memory_owned.
 * is_idle: no job and no eviction is active. */
bool uvmpi_memory_check(const struct uvmp_service *s, handle block, const struct residency *p, bool is_idle,
			uint64_t *pages);
/* Is the memory manager of the GPU sound in itself? */
bool uvmpi_memory_check_gpu(const struct uvmp_service *s, uint32_t gpu);
/* Pages that blocks own: of 4 KiB with chunks, else of the host. */
uint64_t uvmpi_memory_owned(const struct uvmp_service *s, uint32_t gpu);

#endif
