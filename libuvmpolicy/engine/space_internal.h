/* Address spaces, channels, ranges, blocks, and the residency of blocks on processors. */
#ifndef UVMPOLICY_SPACE_INTERNAL_H
#define UVMPOLICY_SPACE_INTERNAL_H

#include "cold_internal.h"
#include "service_internal.h"

/* -- space.c -- */

/* Slot of a space, NO_INDEX if there is none. */
uint32_t uvmpi_space_find(const struct uvmp_service *s, uint64_t id);
/* The same, made if need be. */
uint32_t uvmpi_space_use(struct uvmp_service *s, uint64_t id);
void uvmpi_space_unuse(struct uvmp_service *s, uint32_t slot);
/* Slot of the space that a channel belongs to; NO_INDEX: unknown. *is_channel (may be NULL): some subcontext of the
 * same GPU, aperture and instance is bound. */
uint32_t uvmpi_instance_find(const struct uvmp_service *s, uint32_t gpu, uint32_t aperture, uint64_t instance,
			     uint32_t subcontext, bool *is_channel);
/* The order of the instances: ascending, none twice. */
bool uvmpi_instance_is_before(const struct instance *a, const struct instance *b);

/* -- ranges.c -- */

/* Index in range_order of the range that holds the address; NO_INDEX: none, or no such space (NO_INDEX). */
uint32_t uvmpi_range_find(const struct uvmp_service *s, uint32_t space, uvmp_addr address);
/* Index of the first range of the space that ends at or above the address (or where one would stand). */
uint32_t uvmpi_range_from(const struct uvmp_service *s, uint32_t space, uvmp_addr address);
/* Is there a range at this index of range_order, and is it one of the space? */
static inline bool uvmpi_range_is_in(const struct uvmp_service *s, uint32_t index, uint32_t space)
{
	return index < s->ranges && s->range[s->range_order[index]].space == space;
}
/* Is [base, last] wholly in ranges? */
bool uvmpi_range_covers(const struct uvmp_service *s, uint32_t space, uvmp_addr base, uvmp_addr last);
/* Removes `count` neighbouring ranges without blocks, from `index` of range_order on. */
void uvmpi_range_remove(struct uvmp_service *s, uint32_t index, uint32_t count);
/* Removes parts of one added range. Other parts may stay; if the lowest part is removed, their origin changes. */
void uvmpi_range_remove_part(struct uvmp_service *s, uint32_t index, uint32_t count);
/* A free slot for a range; the caller has checked that one exists. */
uint32_t uvmpi_range_take_slot(struct uvmp_service *s);
/* Puts the range into range_order, at this index. */
void uvmpi_range_insert(struct uvmp_service *s, uint32_t index, uint32_t slot);

/* -- blocks.c -- */

/* The hash bucket of this window. */
uint32_t uvmpi_block_bucket(const struct uvmp_service *s, uint32_t space, uvmp_addr address);
/* The block with the address; 0: none yet, or no range. */
handle uvmpi_block_find(const struct uvmp_service *s, uint32_t space, uvmp_addr address);
/* Brings the blocks of `count` ordered faults, whose address spaces are known, and their first residencies into the
 * cache. `scratch` has room for `count` values. Changes no decision. */
void uvmpi_blocks_read_ahead(const struct uvmp_service *s, const struct uvmp_fault *entry, const uint32_t *order,
			     uint32_t count, uint64_t *scratch);
/* The same, made if need be; 0 with *status: UVMP_ERR_UNKNOWN: no range; UVMP_ERR_NO_MEMORY: arena. */
handle uvmpi_block_make(struct uvmp_service *s, uint32_t space, uvmp_addr address, enum uvmp_status *status);
/* Removes the block from table, range and arena, with its thrashing state. The caller has freed its memory on all
 * processors; only a struct chunk_map may be left. */
void uvmpi_block_remove(struct uvmp_service *s, handle h);
/* A block of this range, not yet linked; 0: the arena is full. */
handle uvmpi_block_take(struct uvmp_service *s, uint32_t slot, uvmp_addr start, uint32_t pages);
/* Puts the block into its bucket and the list of its range. */
void uvmpi_block_link(struct uvmp_service *s, handle h);
/* Frees a block that is not linked, and all of its state. */
void uvmpi_block_give(struct uvmp_service *s, handle h);
void uvmpi_block_shape(const struct uvmp_service *s, const struct block *b, struct uvmp_block *shape);
static inline uvmp_addr block_last(const struct uvmp_service *s, const struct block *b)
{
	return b->start + (uint64_t)b->pages * s->page_bytes - 1u;
}
static inline uint32_t block_page(const struct uvmp_service *s, const struct block *b, uvmp_addr address)
{
	return (uint32_t)((address - b->start) >> s->page_shift);
}
static inline bool block_is_whole(const struct uvmp_service *s, const struct block *b)
{
	return b->pages == s->block_pages;
}
/* The states of a block on processors, in the order of its list; NULL: no more. */
static inline struct residency *residency_or_null(const struct uvmp_service *s, handle h)
{
	return h != 0 ? residency_at(s, h) : NULL;
}
static inline struct residency *residency_first(const struct uvmp_service *s, const struct block *b)
{
	return residency_or_null(s, b->residency);
}
static inline struct residency *residency_next(const struct uvmp_service *s, const struct residency *p)
{
	return residency_or_null(s, p->next);
}
#define EACH_RESIDENCY(p, s, b) \
	for (struct residency *p = residency_first(s, b); p != NULL; p = residency_next(s, p))
/* The block on a processor; NULL: nothing there. */
static inline struct residency *uvmpi_residency_find(const struct uvmp_service *s, const struct block *b,
						     uint32_t proc)
{
	struct residency *p = residency_first(s, b);

	while (p != NULL && p->proc != proc)
		p = residency_next(s, p);
	return p;
}
/* The same, made if need be; NULL: the arena is full. */
struct residency *uvmpi_residency_make(struct uvmp_service *s, struct block *b, uint32_t proc);
static inline bool block_is_duplicated(const struct uvmp_service *s, const struct block *b, uint32_t page)
{
	return b->cold != 0 && uvmp_mask_test(&cold_at(s, b->cold)->duplicated, page);
}
static inline bool block_is_discarded(const struct uvmp_service *s, const struct block *b, uint32_t page)
{
	return b->cold != 0 && uvmp_mask_test(&cold_at(s, b->cold)->discarded, page);
}
/* Sets of processors: holders of a page; those mapped with at least each right. */
uint64_t uvmpi_block_holders(const struct uvmp_service *s, const struct block *b, uint32_t page);
void uvmpi_block_mapped(const struct uvmp_service *s, const struct block *b, uint32_t page,
			uint64_t right[3]);
static inline uint8_t residency_right(const struct residency *p, uint32_t page)
{
	return (uint8_t)(uvmp_mask_test(&p->low, page) | (uvmp_mask_test(&p->high, page) << 1));
}
/* Of a processor that may have no state in the block. */
static inline uint8_t residency_right_or_none(const struct residency *p, uint32_t page)
{
	return p != NULL ? residency_right(p, page) : (uint8_t)UVMP_RIGHT_NONE;
}
/* Is the page resident on the CPU only? */
static inline bool block_is_on_cpu(const struct uvmp_service *s, const struct block *b, uint32_t page)
{
	return uvmpi_block_holders(s, b, page) == BIT(UVMP_CPU);
}
/* Fills s->holders[0..processors.count) with the resident masks of the block. */
void uvmpi_block_residents(struct uvmp_service *s, const struct block *b);
/* Sets the right on all pages of the set. */
static inline void uvmpi_residency_map(struct residency *p, const uvmp_mask *pages, uint8_t right)
{
	uint64_t low = 0u - (uint64_t)(right & 1u), high = 0u - (uint64_t)(right >> 1 & 1u);

	p->is_mapped |= right != UVMP_RIGHT_NONE;
	if (right == UVMP_RIGHT_READ_WRITE_ATOMIC) { /* both bits are set */
		uvmpi_mask_or(&p->low, &p->low, pages);
		uvmpi_mask_or(&p->high, &p->high, pages);
		return;
	}
	UVMPI_EACH_WORD(i) {
		p->low.word[i] = (p->low.word[i] & ~pages->word[i]) | (pages->word[i] & low);
		p->high.word[i] = (p->high.word[i] & ~pages->word[i]) | (pages->word[i] & high);
	}
}
/* Removes the pages on which the processor has at least `right`; false: no page is left. */
static inline bool residency_without(const struct residency *p, uint8_t right, uvmp_mask *pages)
{
	/* READ: low or high; READ_WRITE: high; all: low and high */
	uint64_t low_alone = right == UVMP_RIGHT_READ ? UVMPI_ALL_ONES : 0;
	uint64_t high_alone = right == UVMP_RIGHT_READ_WRITE_ATOMIC ? 0 : UVMPI_ALL_ONES, any = 0;

	UVMPI_EACH_WORD(i) {
		uint64_t low = p->low.word[i], high = p->high.word[i];

		any |= pages->word[i] &= ~((high & (low | high_alone)) | (low & low_alone));
	}
	return any != 0;
}
/* Pages that are mapped at all. */
static inline void residency_mapped(const struct residency *p, uvmp_mask *pages)
{
	uvmpi_mask_or(pages, &p->low, &p->high);
}

/* -- range_split.c -- */

/* Makes `address` (inside the range; its start: nothing to do) the start of a range of its own, and of a
 * block if it lies inside one [driver: va-policy]. The new range, the upper part, starts with zeros as its
 * prefetch state. UVMP_ERR_SPACE: no slot; UVMP_ERR_NO_MEMORY: arena; UVMP_ERR_RETRY: the block *busy lies
 * across and has memory on a GPU or thrashing state: first its pages go to the CPU, and both are freed. */
enum uvmp_status uvmpi_range_split(struct uvmp_service *s, uint32_t slot, uvmp_addr address, handle *busy);

#endif
