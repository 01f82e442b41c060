/* Blocks, and their residency on processors; space_internal.h.
 *
 * A block is created on first use. It is in two singly linked lists: the list of its range, newest first, and the list
 * of its hash bucket. Address space and 2 MiB window select the bucket. Blocks of several ranges can share a window, so a
 * look-up also compares addresses. */
#include "../base/geometry_internal.h"
#include "remote_idle_internal.h"
#include "space_internal.h"

#define WINDOW_SHIFT 21u /* 2 MiB */

/* -- residency on a processor -- */

static void use_range(struct uvmp_service *s, struct range *range)
{
	if (range->is_used)
		return;
	range->is_used = true;
	s->used_bytes += range->last - range->start + 1u;
}

struct residency *uvmpi_residency_make(struct uvmp_service *s, struct block *b, uint32_t proc)
{
	struct residency *p = uvmpi_residency_find(s, b, proc);
	handle h;

	if (p != NULL)
		return p;
	h = uvmpi_arena_take(s, SLAB_RESIDENCY);
	if (h == 0)
		return NULL;
	if (proc != UVMP_CPU)
		use_range(s, range_of(s, b));
	p = residency_at(s, h);
	p->proc = (uint8_t)proc;
	p->next = b->residency;
	b->residency = h;
	return p;
}

uint64_t uvmpi_block_holders(const struct uvmp_service *s, const struct block *b, uint32_t page)
{
	uint64_t holders = 0;

	EACH_RESIDENCY(at, s, b)
		holders |= (uint64_t)uvmp_mask_test(&at->resident, page)
		           << at->proc;
	return holders;
}

void uvmpi_block_mapped(const struct uvmp_service *s, const struct block *b, uint32_t page, uint64_t right[3])
{
	right[0] = right[1] = right[2] = 0;
	EACH_RESIDENCY(p, s, b) {
		for (uint32_t i = 0; i < residency_right(p, page); i++)
			right[i] |= (uint64_t)1 << p->proc;
	}
}

void uvmpi_block_residents(struct uvmp_service *s, const struct block *b)
{
	for (; s->held != 0; s->held &= s->held - 1u)
		uvmpi_mask_zero(&s->holders[lowest_bit(s->held)]);
	EACH_RESIDENCY(p, s, b) {
		s->holders[p->proc] = p->resident;
		s->held |= BIT(p->proc);
	}
}

/* -- blocks -- */

uint32_t uvmpi_block_bucket(const struct uvmp_service *s, uint32_t space, uvmp_addr address)
{
	/* Multiplied with 2^64 divided by the golden ratio, whose upper half spreads regular distances. */
	uint64_t key = (address >> WINDOW_SHIFT | (uint64_t)space << 43) * 0x9e3779b97f4a7c15u;

	return (uint32_t)(key >> 32) & (s->buckets - 1u);
}

handle uvmpi_block_find(const struct uvmp_service *s, uint32_t space, uvmp_addr address)
{
	handle h = s->bucket[uvmpi_block_bucket(s, space, address)];

	while (h != 0) {
		const struct block *b = block_at(s, h);

		if (s->range[b->range].space == space && b->start <= address && address <= block_last(s, b))
			return h;
		h = b->chain;
	}
	return 0;
}

#define READ_AHEAD_STEP 7u /* faults of one block that are passed over at a time */

/* One miss of the cache leads to the next: bucket, block, residencies. Taken step by step for all blocks, the misses of
 * the blocks overlap. */
void uvmpi_blocks_read_ahead(const struct uvmp_service *s, const struct uvmp_fault *entry, const uint32_t *order,
			     uint32_t count, uint64_t *scratch)
{
	uint64_t window = UINT64_MAX;
	uint32_t slot = NO_INDEX, found = 0;
	uint64_t space = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct uvmp_fault *fault = &entry[order[i]];

		if (fault->address >> WINDOW_SHIFT == window) {
			uint32_t later = i + READ_AHEAD_STEP;

			/* the faults are ordered: of one address space, those between two of one window are in it */
			if (later < count && entry[order[later]].address >> WINDOW_SHIFT == window)
				i = later;
			continue;
		}
		window = fault->address >> WINDOW_SHIFT;
		if (slot == NO_INDEX || fault->va_space != space)
			slot = uvmpi_space_find(s, fault->va_space);
		space = fault->va_space;
		scratch[found] = uvmpi_block_bucket(s, slot, fault->address);
		__builtin_prefetch(&s->bucket[scratch[found++]]);
	}
	for (uint32_t i = 0; i < found; i++) {
		scratch[i] = s->bucket[scratch[i]];
		if (scratch[i] != 0)
			__builtin_prefetch(block_at(s, (handle)scratch[i]));
	}
	for (uint32_t i = 0; i < found; i++) {
		scratch[i] = scratch[i] != 0 ? block_at(s, (handle)scratch[i])->residency : 0;
		if (scratch[i] != 0)
			__builtin_prefetch(residency_at(s, (handle)scratch[i]));
	}
}

#define BLOCKS_PER_BUCKET 2u
#define BUCKETS_MOST	  (1u << 24)

/* Twice as many buckets. If the arena has no space for them, chains become longer. */
UVMPI_NOINLINE static void grow_buckets(struct uvmp_service *s)
{
	uint32_t before = s->buckets;
	handle array = uvmpi_arena_take(s, uvmpi_arena_array(2u * (uint64_t)before * sizeof(handle)));
	const handle *bucket = s->bucket;

	if (array == 0)
		return;
	s->bucket = (handle *)uvmpi_arena_at(s, array);
	s->buckets = 2u * before;
	for (uint32_t i = 0; i < before; i++) {
		for (handle next, h = bucket[i]; h != 0; h = next) {
			struct block *b = block_at(s, h);
			handle *head = &s->bucket[uvmpi_block_bucket(s, range_of(s, b)->space, b->start)];

			next = b->chain;
			b->chain = *head;
			*head = h;
		}
	}
	if (s->bucket_array != 0)
		uvmpi_arena_give(s, uvmpi_arena_array((uint64_t)before * sizeof(handle)), s->bucket_array);
	s->bucket_array = array;
}

void uvmpi_block_link(struct uvmp_service *s, handle h)
{
	struct block *b = block_at(s, h);
	struct range *r = range_of(s, b);
	handle *head;

	if (s->live[SLAB_BLOCK] / BLOCKS_PER_BUCKET > s->buckets && s->buckets < BUCKETS_MOST)
		grow_buckets(s);
	head = &s->bucket[uvmpi_block_bucket(s, r->space, b->start)];
	b->chain = *head;
	*head = h;
	b->range_next = r->block;
	r->block = h;
}

static void unlink_block(struct uvmp_service *s, handle h)
{
	struct block *b = block_at(s, h);
	struct range *r = range_of(s, b);
	handle *at = &s->bucket[uvmpi_block_bucket(s, r->space, b->start)];

	while (*at != h)
		at = &block_at(s, *at)->chain;
	*at = b->chain;
	at = &r->block;
	while (*at != h)
		at = &block_at(s, *at)->range_next;
	*at = b->range_next;
}

void uvmpi_block_give(struct uvmp_service *s, handle h)
{
	struct block *b = block_at(s, h);
	bool has_chunk_maps = s->order->is_chunked && !block_is_whole(s, b);

	for (handle next, at = b->residency; at != 0; at = next) {
		struct residency *p = residency_at(s, at);

		next = p->next;
		uvmpi_idle_return(s, p);
		if (has_chunk_maps && p->has_memory)
			uvmpi_arena_give(s, SLAB_CHUNK_MAP, p->memory);
		uvmpi_arena_give(s, SLAB_RESIDENCY, at);
	}
	if (b->cold != 0) {
		if (cold_at(s, b->cold)->tree != 0)
			uvmpi_arena_give(s, SLAB_TREE, cold_at(s, b->cold)->tree);
		uvmpi_counters_give(s, b);
		uvmpi_history_give(s, b);
		uvmpi_arena_give(s, SLAB_COLD, b->cold);
	}
	if (b->thrash != 0) {
		uvmp_thrash_block_end(&space_of(s, b)->thrash, &thrash_at(s, b->thrash)->block);
		uvmpi_arena_give(s, SLAB_THRASH, b->thrash);
	}
	uvmpi_arena_give(s, SLAB_BLOCK, h);
}

handle uvmpi_block_take(struct uvmp_service *s, uint32_t slot, uvmp_addr start, uint32_t pages)
{
	handle h = uvmpi_arena_take(s, SLAB_BLOCK);
	struct block *b;

	if (h == 0)
		return 0;
	b = block_at(s, h);
	b->start = start;
	b->range = slot;
	b->pages = (uint16_t)pages;
	b->event_proc = UVMP_PROC_NONE;
	b->last_proc = UVMP_PROC_NONE;
	return h;
}

/* All pages of the block are the CPU's, which has them mapped. False: the arena is full. */
static bool fill_home(struct uvmp_service *s, struct block *b)
{
	struct residency *p = uvmpi_residency_make(s, b, UVMP_CPU);

	if (p == NULL)
		return false;
	if (b->pages == UVMP_MASK_BITS)
		uvmpi_mask_fill(&p->resident);
	else
		uvmpi_mask_region_set(&p->resident, (struct uvmp_region){0, b->pages});
	uvmpi_residency_map(p, &p->resident, range_of(s, b)->right);
	b->is_touched = true;
	return true;
}

handle uvmpi_block_make(struct uvmp_service *s, uint32_t space, uvmp_addr address, enum uvmp_status *status)
{
	handle h = uvmpi_block_find(s, space, address);
	struct uvmp_block shape;
	const struct range *r;
	uint32_t index;

	*status = UVMP_OK;
	if (h != 0)
		return h;
	*status = UVMP_ERR_UNKNOWN;
	index = uvmpi_range_find(s, space, address);
	if (index == NO_INDEX)
		return 0;
	r = &s->range[s->range_order[index]];
	uvmpi_geometry_block_at(&s->geometry, r->start, r->last, address, &shape);
	*status = UVMP_ERR_NO_MEMORY;
	h = uvmpi_block_take(s, s->range_order[index], shape.start, shape.pages);
	if (h == 0)
		return 0;
	if (r->home == UVMP_CPU && !fill_home(s, block_at(s, h))) {
		uvmpi_block_give(s, h);
		return 0;
	}
	uvmpi_block_link(s, h);
	*status = UVMP_OK;
	return h;
}

void uvmpi_block_remove(struct uvmp_service *s, handle h)
{
	unlink_block(s, h);
	uvmpi_block_give(s, h);
}

void uvmpi_block_shape(const struct uvmp_service *s, const struct block *b, struct uvmp_block *shape)
{
	shape->start = b->start;
	shape->last = block_last(s, b);
	shape->pages = b->pages;
	shape->big_pages = s->geometry.big_page_bytes >> s->page_shift;
	shape->offset = (uint32_t)(b->start >> s->page_shift) & (shape->big_pages - 1u);
}
