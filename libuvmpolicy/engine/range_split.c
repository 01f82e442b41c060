/* Splitting a range [driver: va-policy]; space_internal.h.
 *
 * Its record is copied into a new slot, the blocks above the cut move to the new range, and the block across the cut is
 * cut in two. All memory is allocated before any change. The parts of a range share an origin, which identifies them
 * when the range is freed. The origin is the start of the lowest part. No later range can start at that address. */
#include "space_internal.h"

/* Does the block have memory on a GPU? */
static bool has_memory(const struct uvmp_service *s, const struct block *b)
{
	EACH_RESIDENCY(at, s, b)
		if (at->has_memory)
			return true;
	return false;
}

/* Creates an empty block for the pages from `address` on, with all of its state. 0: the arena is full. */
static handle take_upper(struct uvmp_service *s, const struct block *b, uvmp_addr address)
{
	handle h = uvmpi_block_take(s, b->range, address, b->pages - block_page(s, b, address));
	bool is_full = h == 0;

	for (struct residency *at = residency_first(s, b); !is_full && at != NULL; at = residency_next(s, at))
		is_full = uvmpi_residency_make(s, block_at(s, h), at->proc) == NULL;
	if (!is_full && b->cold != 0)
		is_full = uvmpi_cold_make(s, block_at(s, h)) == NULL;
	if (is_full && h != 0) {
		uvmpi_block_give(s, h);
		h = 0;
	}
	return h;
}

/* Pages from `cut` on move to another set, as its first ones. */
static void move_pages(uvmp_mask *lower, uvmp_mask *upper, uint32_t cut)
{
	struct uvmp_region above = {cut, UVMP_MASK_BITS};

	uvmp_mask_shift_down(upper, lower, cut);
	uvmpi_mask_region_clear(lower, above);
}

/* The upper block takes over its pages. Fault counts, access counters, remote uses, trees and histories start again in both blocks.
 */
static void split_block(struct uvmp_service *s, struct block *b, struct block *upper)
{
	uint32_t cut = b->pages - upper->pages;

	EACH_RESIDENCY(at, s, b) {
		struct residency *from = at,
		                 *to = uvmpi_residency_find(s, upper, from->proc);

		move_pages(&from->resident, &to->resident, cut);
		move_pages(&from->low, &to->low, cut);
		move_pages(&from->high, &to->high, cut);
		to->is_mapped = from->is_mapped;
		from->use = (struct uvmp_remote_use){0};
	}
	if (b->cold != 0) {
		struct cold *from = cold_at(s, b->cold), *to = cold_at(s, upper->cold);

		move_pages(&from->duplicated, &to->duplicated, cut);
		move_pages(&from->discarded, &to->discarded, cut);
		if (from->tree != 0)
			uvmpi_arena_give(s, SLAB_TREE, from->tree);
		from->tree = 0;
		uvmpi_counters_give(s, b);
		uvmpi_history_give(s, b);
	}
	upper->is_touched = b->is_touched;
	b->pages = (uint16_t)cut;
	b->faults = 0;
	b->last_proc = UVMP_PROC_NONE;
	b->event_ns = 0;
	b->event_proc = UVMP_PROC_NONE;
}

/* Moves the blocks of a range that begin at or above the start of another range to that range. */
static void move_blocks(struct uvmp_service *s, struct range *from, uint32_t to_slot)
{
	struct range *to = &s->range[to_slot];
	handle *at = &from->block;

	while (*at != 0) {
		handle h = *at;
		struct block *b = block_at(s, h);

		if (b->start < to->start) {
			at = &b->range_next;
			continue;
		}
		*at = b->range_next;
		b->range = to_slot;
		b->range_next = to->block;
		to->block = h;
	}
}

enum uvmp_status uvmpi_range_split(struct uvmp_service *s, uint32_t slot, uvmp_addr address, handle *busy)
{
	struct range *r = &s->range[slot], *upper;
	handle across, above = 0;
	uint32_t upper_slot;

	if (address == r->start)
		return UVMP_OK;
	if (s->ranges == s->range_slots)
		return UVMP_ERR_SPACE;
	across = uvmpi_block_find(s, r->space, address);
	if (across != 0 && block_at(s, across)->start != address) {
		struct block *b = block_at(s, across);

		if (b->thrash != 0 || has_memory(s, b)) {
			*busy = across;
			return UVMP_ERR_RETRY;
		}
		above = take_upper(s, b, address);
		if (above == 0)
			return UVMP_ERR_NO_MEMORY;
		split_block(s, b, block_at(s, above));
		uvmpi_block_link(s, above);
	}
	upper_slot = uvmpi_range_take_slot(s);
	upper = &s->range[upper_slot];
	*upper = *r;
	upper->start = address;
	upper->block = 0;
	upper->log = 0;
	r->last = address - 1u;
	s->space[r->space].users++;
	uvmpi_range_insert(s, uvmpi_range_from(s, r->space, r->start) + 1u, upper_slot);
	move_blocks(s, r, upper_slot);
	return UVMP_OK;
}
