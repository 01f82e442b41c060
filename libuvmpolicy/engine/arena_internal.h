/* Memory of the engine: objects of a few sizes in the segments that the host gave. */
#ifndef UVMPOLICY_ARENA_INTERNAL_H
#define UVMPOLICY_ARENA_INTERNAL_H

#include "../base/mask_internal.h"
#include "service_internal.h"

/* The object of a handle behind the first segment. */
void *uvmpi_arena_at_grown(const struct uvmp_service *s, handle h);
static inline void *uvmpi_arena_at(const struct uvmp_service *s, handle h)
{
	if (__builtin_expect(h >= s->segment[0].end, 0))
		return uvmpi_arena_at_grown(s, h);
	return s->segment[0].memory + (size_t)h * UNIT_BYTES; /* the first segment begins with handle 0 */
}
/* Bytes that one decision must have at most: it concerns one block, which may be cut in two, with its state on each of
 * `processors`; and the CPU's state of a victim. */
uint64_t uvmpi_arena_reserve(uint32_t processors);
/* Is there less than the reserve? Then nothing that may need an object is decided. O(segments). */
static inline bool uvmpi_arena_is_short(const struct uvmp_service *s)
{
	uint32_t i = 0;

	while (__builtin_expect(s->segment[i].end - s->segment[i].unused < s->reserve, 0)) {
		if (++i == s->segments)
			return true;
	}
	return false;
}
/* A zeroed object, 0 if the arena is full. Objects without which decisions can be taken leave the reserve alone. */
handle uvmpi_arena_take(struct uvmp_service *s, enum slab slab);
/* The slab of arrays of so many bytes, at most twice as large; SLAB_COUNT: too many. */
enum slab uvmpi_arena_array(uint64_t bytes);
/* Memory of so many bytes that is never given back, not zeroed, beside the reserve; NULL: no segment has that much. */
void *uvmpi_arena_take_bytes(struct uvmp_service *s, uint64_t bytes);
/* The largest number of bytes that were never used in one segment. */
uint64_t uvmpi_arena_room(const struct uvmp_service *s);
void uvmpi_arena_give(struct uvmp_service *s, enum slab slab, handle h);

static inline struct block *block_at(const struct uvmp_service *s, handle h)
{
	return (struct block *)uvmpi_arena_at(s, h);
}
static inline struct residency *residency_at(const struct uvmp_service *s, handle h)
{
	return (struct residency *)uvmpi_arena_at(s, h);
}
static inline struct cold *cold_at(const struct uvmp_service *s, handle h)
{
	return (struct cold *)uvmpi_arena_at(s, h);
}
static inline struct chunk_map *chunk_map_at(const struct uvmp_service *s, handle h)
{
	return (struct chunk_map *)uvmpi_arena_at(s, h);
}
static inline struct thrash *thrash_at(const struct uvmp_service *s, handle h)
{
	return (struct thrash *)uvmpi_arena_at(s, h);
}
static inline struct range *range_of(const struct uvmp_service *s, const struct block *b)
{
	return &s->range[b->range];
}
static inline struct address_space *space_of(const struct uvmp_service *s, const struct block *b)
{
	return &s->space[s->range[b->range].space];
}

#endif
