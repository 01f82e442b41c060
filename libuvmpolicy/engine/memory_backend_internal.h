/* The two back ends of memory.c. Only memory*.c and victim*.c include this header (`make check`). uvmpi_chunks_NAME and
 * uvmpi_units_NAME do what uvmpi_memory_NAME promises (memory_internal.h), which calls them after its checks. */
#ifndef UVMPOLICY_MEMORY_BACKEND_INTERNAL_H
#define UVMPOLICY_MEMORY_BACKEND_INTERNAL_H

#include "memory_internal.h"
#include "space_internal.h"

/* Does the GPU manage root chunks? */
static inline bool uvmpi_has_chunks(const struct gpu *g)
{
	return g->pmm != NULL;
}

/* -- memory_chunks.c -- */

/* Whole roots in the memory of the GPU. */
static inline uint64_t uvmpi_chunks_roots(const struct uvmp_service_params *params, uint32_t gpu)
{
	return uvmpi_memory_capacity(params, gpu) / UVMP_ROOT_CHUNK_BYTES;
}
size_t uvmpi_chunks_size(const struct uvmp_service_params *params, uint32_t gpu);
enum uvmp_status uvmpi_chunks_init(struct uvmp_service *s, const struct uvmp_service_params *params,
				   uint32_t gpu, void *memory, size_t bytes);
struct uvmp_region uvmpi_chunks_unit(const struct uvmp_service *s, const struct block *b,
				     const struct residency *p, uint32_t page, uint32_t *root);
enum backing uvmpi_chunks_back(struct uvmp_service *s, uint32_t gpu, handle block, struct residency *p,
				const struct arriving *arriving, enum uvmp_chunk_size *size);
void uvmpi_chunks_unback(struct uvmp_service *s, uint32_t gpu, handle block, struct residency *p,
			 const uvmp_mask *pages);
void uvmpi_chunks_used(struct uvmp_service *s, uint32_t gpu, const struct block *b, const struct residency *p,
		       const uvmp_mask *pages);
void uvmpi_chunks_left(struct uvmp_service *s, uint32_t gpu, const struct block *b, const struct residency *p,
		       const uvmp_mask *pages);
void uvmpi_chunks_touch(struct uvmp_service *s, uint32_t gpu, const struct block *b, const struct residency *p,
			uint32_t page);
void uvmpi_chunks_mark(struct uvmp_service *s, uint32_t gpu, const struct block *b, const struct residency *p,
		       enum uvmp_chunk_mark mark);
void uvmpi_chunks_free(struct uvmp_service *s, uint32_t gpu, handle block, struct residency *p);
void uvmpi_chunks_settle(struct uvmp_service *s);
/* The block is smaller than 2 MiB. */
void uvmpi_chunks_cuts(const struct uvmp_service *s, const struct block *b, const struct residency *p,
		       uvmp_mask *cuts);
/* The chunks of these pages no longer belong to the block. */
void uvmpi_chunks_forget(struct uvmp_service *s, const struct block *b, struct residency *p,
			 const uvmp_mask *pages);
/* Pages of the block whose chunks lie in the root. */
void uvmpi_chunks_in_root(const struct uvmp_service *s, const struct block *b, const struct residency *p,
			  uint32_t root, uvmp_mask *pages);
/* The root that leaves next, and the list that names it. UVMP_ROOT_NONE: nothing may be evicted. */
struct root_victim {
	uint32_t root;
	enum uvmp_victim list;
};
struct root_victim uvmpi_chunks_victim(const struct uvmp_pmm *pmm);
bool uvmpi_chunks_are_full(const struct gpu *g);
bool uvmpi_chunks_check(const struct uvmp_service *s, handle block, const struct residency *p, uint64_t *pages);
uint64_t uvmpi_chunks_owned(const struct uvmp_service *s, uint32_t gpu);

/* -- memory_units.c -- */

/* Does a unit that is not complete leave after all complete units? */
static inline bool uvmpi_units_are_spared(const struct uvmp_service *s)
{
	return s->order->spares_incomplete && s->policy.quirks;
}
static inline bool uvmpi_units_have_room(const struct gpu *g, uint32_t pages)
{
	return g->used_pages + g->coming_pages + pages <= g->capacity_pages + g->uncounted_pages;
}
/* May pages stay that do not count [uvmsmart: clean-pages-uncounted]? Not if frames are memory (counts_units). */
static inline bool uvmpi_units_may_exceed(const struct uvmp_service *s, const struct gpu *g)
{
	return g->unit_used != NULL && !g->counts_units && s->policy.quirks;
}
uint64_t uvmpi_units_count(const struct uvmp_service_params *params);
size_t uvmpi_units_size(const struct uvmp_service_params *params);
enum uvmp_status uvmpi_units_init(struct uvmp_service *s, const struct uvmp_service_params *params,
				  uint32_t gpu, uint8_t *memory);
/* Bytes of arena by which the tables of the GPU grow if the next job needs that; 0: they suffice, or cannot grow. */
size_t uvmpi_units_more(const struct uvmp_service *s, const struct gpu *g);
/* The pages of the block that count while these are resident: they, or all pages of their units (counts_units). */
uint32_t uvmpi_units_counted(const struct gpu *g, const struct block *b, const uvmp_mask *resident);
struct uvmp_region uvmpi_units_unit(const struct gpu *g, const struct residency *p, uint32_t page, uint32_t *unit);
enum backing uvmpi_units_back(struct uvmp_service *s, uint32_t gpu, handle block, struct residency *p,
			      const struct arriving *arriving, enum uvmp_chunk_size *size);
/* The memory is smaller than a block. */
void uvmpi_units_fit(const struct gpu *g, uvmp_mask *pages, const uvmp_mask *faulted);
void uvmpi_units_abandon(struct gpu *g, const struct residency *p, const uvmp_mask *pages);
void uvmpi_units_used(struct uvmp_service *s, uint32_t gpu, const struct block *b, const struct residency *p,
		      const uvmp_mask *pages, bool is_fault);
void uvmpi_units_left(struct uvmp_service *s, uint32_t gpu, const struct block *b, const struct residency *p,
		      const uvmp_mask *pages, bool keeps_frames);
void uvmpi_units_touch(struct uvmp_service *s, uint32_t gpu, const struct block *b, const struct residency *p,
		       uint32_t page);
/* The unit of the page is held until then, or until its present end if that is later. */
void uvmpi_units_hold(struct gpu *g, const struct residency *p, uint32_t page, uint64_t until_ns);
void uvmpi_units_free(struct uvmp_service *s, uint32_t gpu, handle block, struct residency *p);
/* `pages` pages of the block in the victim `unit` were evicted, of which `untouched` had not been used. */
void uvmpi_units_evicted(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t unit, uint32_t pages,
			  uint32_t untouched);
bool uvmpi_units_are_short(const struct uvmp_service *s, const struct gpu *g);
bool uvmpi_units_check(const struct uvmp_service *s, handle block, const struct residency *p, bool is_idle,
		       uint64_t *pages);
bool uvmpi_units_check_gpu(const struct gpu *g);

#endif
