/* Address spaces, channels, ranges, blocks, and the residency of blocks on processors.
 *
 * Address spaces and ranges have slots, which stay the same until they are removed. Channels are sorted. range_order
 * lists the slots of ranges by (space, start), for binary search. A block is created on first use. It is in two
 * singly linked lists: the list of its range, newest first, and the list of its hash bucket. Address space and
 * 2 MiB window select the bucket. Blocks of several ranges can share a window, so a look-up also compares
 * addresses.
 *
 * A range is split [driver: va-policy] in three steps: its record is copied into a new slot, the blocks above the cut
 * move to the new range, and the block across the cut is cut in two. All memory is allocated before any change.
 * The parts of a range share an origin, which identifies them when the range is freed. The origin is the start
 * of the lowest part. No later range can start at that address.
 */
#include "../base/geometry_internal.h"
#include "../base/sized_internal.h"
#include "space_internal.h"
#include "prefetch_states_internal.h"

#define WINDOW_SHIFT 21u /* 2 MiB */

/* -- spaces -- */

uint32_t uvmpi_space_find(const struct uvmp_service *s, uint64_t id)
{
	for (uint32_t i = 0; i < s->spaces_used; i++)
		if (s->space[i].users != 0 && s->space[i].id == id)
			return i;
	return NO_INDEX;
}

uint32_t uvmpi_space_use(struct uvmp_service *s, uint64_t id)
{
	uint32_t slot = uvmpi_space_find(s, id);

	for (uint32_t i = 0; slot == NO_INDEX && i < s->spaces; i++)
		if (s->space[i].users == 0)
			slot = i;
	if (slot == NO_INDEX)
		return NO_INDEX;
	if (s->space[slot].users == 0) {
		s->space[slot].id = id;
		uvmp_thrash_space_init(&s->space[slot].thrash, &s->policy.thrash);
	}
	s->space[slot].users++;
	if (slot >= s->spaces_used)
		s->spaces_used = slot + 1u;
	return slot;
}

void uvmpi_space_unuse(struct uvmp_service *s, uint32_t slot)
{
	s->space[slot].users--;
}

/* -- channels -- */

/* Negative, 0 or positive: a is before, equal to, or after b. */
static int compare(const struct instance *a, const struct instance *b)
{
	if (a->gpu != b->gpu)
		return a->gpu < b->gpu ? -1 : 1;
	if (a->aperture != b->aperture)
		return a->aperture < b->aperture ? -1 : 1;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->subcontext < b->subcontext ? -1 : a->subcontext > b->subcontext;
}

bool uvmpi_instance_is_before(const struct instance *a, const struct instance *b)
{
	return compare(a, b) < 0;
}

/* Index of the first instance that is not before `key`; they are sorted. */
static uint32_t find_key(const struct uvmp_service *s, const struct instance *key)
{
	uint32_t first = 0, end = s->instances;

	while (first < end) {
		uint32_t middle = first + (end - first) / 2u;

		if (compare(&s->instance[middle], key) < 0)
			first = middle + 1u;
		else
			end = middle;
	}
	return first;
}

static bool is_key(const struct uvmp_service *s, uint32_t index, const struct instance *key)
{
	return index < s->instances && compare(&s->instance[index], key) == 0;
}

/* The same channel, with any subcontext? */
static bool is_sibling(const struct uvmp_service *s, uint32_t index, const struct instance *key)
{
	const struct instance *at = &s->instance[index];

	return index < s->instances && at->gpu == key->gpu && at->aperture == key->aperture &&
	       at->key == key->key;
}

uint32_t uvmpi_instance_find(const struct uvmp_service *s, uint32_t gpu, uint32_t aperture, uint64_t instance,
                             uint32_t subcontext, bool *is_channel)
{
	struct instance key = {.key = instance, .aperture = aperture, .subcontext = subcontext, .gpu = gpu};
	uint32_t index = find_key(s, &key);

	if (is_channel != NULL)
		*is_channel = is_sibling(s, index, &key) || (index > 0 && is_sibling(s, index - 1u, &key));
	return is_key(s, index, &key) ? s->instance[index].space : NO_INDEX;
}

enum uvmp_status uvmp_service_bind(struct uvmp_service *service, uint32_t gpu, uint32_t aperture,
                                   uint64_t instance, uint32_t subcontext, uint64_t space)
{
	struct instance key = {.key = instance, .aperture = aperture, .subcontext = subcontext, .gpu = gpu};
	uint32_t index;

	if (!uvmp_service_is_valid(service))
		return UVMP_ERR_ARGUMENT;
	if (gpu == UVMP_CPU || gpu >= service->processors.count || aperture > UVMP_APERTURE_VID)
		return UVMP_ERR_RANGE;
	index = find_key(service, &key);
	if (is_key(service, index, &key))
		return UVMP_ERR_CONFLICT;
	if (service->instances == service->instance_slots)
		return UVMP_ERR_SPACE;
	key.space = uvmpi_space_use(service, space);
	if (key.space == NO_INDEX)
		return UVMP_ERR_SPACE;
	for (uint32_t i = service->instances++; i > index; i--)
		service->instance[i] = service->instance[i - 1u];
	service->instance[index] = key;
	return UVMP_OK;
}

enum uvmp_status uvmp_service_unbind(struct uvmp_service *service, uint32_t gpu, uint32_t aperture,
                                     uint64_t instance, uint32_t subcontext)
{
	struct instance key = {.key = instance, .aperture = aperture, .subcontext = subcontext, .gpu = gpu};
	uint32_t index;

	if (!uvmp_service_is_valid(service))
		return UVMP_ERR_ARGUMENT;
	index = find_key(service, &key);
	if (!is_key(service, index, &key))
		return UVMP_ERR_STATE;
	uvmpi_space_unuse(service, service->instance[index].space);
	service->instances--;
	for (uint32_t i = index; i < service->instances; i++)
		service->instance[i] = service->instance[i + 1u];
	return UVMP_OK;
}

/* -- ranges -- */

uint32_t uvmpi_range_from(const struct uvmp_service *s, uint32_t space, uvmp_addr address)
{
	uint32_t first = 0, end = s->ranges;

	while (first < end) {
		uint32_t middle = first + (end - first) / 2u;
		const struct range *r = &s->range[s->range_order[middle]];

		if (r->space < space || (r->space == space && r->last < address))
			first = middle + 1u;
		else
			end = middle;
	}
	return first;
}

/* Does the range at this index of range_order belong to the space and begin at or below the address? */
static bool begins_below(const struct uvmp_service *s, uint32_t index, uint32_t space, uvmp_addr address)
{
	return uvmpi_range_is_in(s, index, space) && s->range[s->range_order[index]].start <= address;
}

uint32_t uvmpi_range_find(const struct uvmp_service *s, uint32_t space, uvmp_addr address)
{
	uint32_t index = uvmpi_range_from(s, space, address);

	return begins_below(s, index, space, address) ? index : NO_INDEX;
}

bool uvmpi_range_covers(const struct uvmp_service *s, uint32_t space, uvmp_addr base, uvmp_addr last)
{
	uint32_t index = uvmpi_range_from(s, space, base);

	for (; begins_below(s, index, space, base); index++) {
		uvmp_addr range_last = s->range[s->range_order[index]].last;

		if (range_last >= last)
			return true;
		base = range_last + 1u;
	}
	return false;
}

/* A free slot for a range; the caller has checked that one exists. */
static uint32_t take_slot(struct uvmp_service *s)
{
	uint32_t slot = s->free_range;

	s->free_range = s->range[slot].next_free;
	uvmpi_prefetch_states_clear(s, slot);
	return slot;
}

/* Puts the range into the order, at this index. */
static void order_insert(struct uvmp_service *s, uint32_t index, uint32_t slot)
{
	for (uint32_t i = s->ranges++; i > index; i--)
		s->range_order[i] = s->range_order[i - 1u];
	s->range_order[index] = slot;
}

/* Whole pages, and below 2^64? An end of 2^64 itself wraps to 0 and is allowed. */
static bool are_pages(const struct uvmp_service *s, uvmp_addr base, uint64_t bytes)
{
	return bytes != 0 && ((base | bytes) & (s->page_bytes - 1u)) == 0 && bytes - 1u <= UINT64_MAX - base;
}

enum uvmp_status uvmp_service_add_range(struct uvmp_service *service, uint64_t space, uvmp_addr base,
                                        uint64_t bytes, enum uvmp_right right, uint32_t home)
{
	uint32_t slot, index;
	struct range *r;

	if (!uvmp_service_is_valid(service))
		return UVMP_ERR_ARGUMENT;
	if (!are_pages(service, base, bytes) || (uint32_t)right - 1u >= UVMP_RIGHT_READ_WRITE_ATOMIC ||
	    (home != UVMP_CPU && home != UVMP_PROC_NONE))
		return UVMP_ERR_RANGE;
	slot = uvmpi_space_find(service, space);
	index = uvmpi_range_from(service, slot, base);
	if (begins_below(service, index, slot, base + (bytes - 1u)))
		return UVMP_ERR_CONFLICT;
	if (service->ranges == service->range_slots)
		return UVMP_ERR_SPACE;
	slot = uvmpi_space_use(service, space);
	if (slot == NO_INDEX)
		return UVMP_ERR_SPACE;
	index = uvmpi_range_from(service, slot, base);
	r = &service->range[take_slot(service)];
	*r = (struct range){.start = base,
	                    .last = base + (bytes - 1u),
	                    .origin = base,
	                    .space = slot,
	                    .next_free = NO_INDEX,
	                    .preferred = UVMP_PROC_NONE,
	                    .duplication = UVMP_DUPLICATION_UNSET,
	                    .right = (uint8_t)right,
	                    .home = (uint8_t)home,
	                    .allocation = (uint32_t)(r - service->range)};
	order_insert(service, index, r->allocation);
	service->adapt.managed_bytes += bytes;
	uvmpi_runtime_watch(service, r->allocation, r->last);
	return UVMP_OK;
}

void uvmpi_range_remove(struct uvmp_service *s, uint32_t index, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t slot = s->range_order[index + i];
		struct range *r = &s->range[slot];

		s->adapt.managed_bytes -= r->last - r->start + 1u;
		uvmpi_runtime_forget(s, slot);
		uvmpi_space_unuse(s, r->space);
		r->next_free = s->free_range;
		s->free_range = slot;
	}
	s->ranges -= count;
	for (; index < s->ranges; index++)
		s->range_order[index] = s->range_order[index + count];
}

/* If the first part of a range was freed, the lowest remaining part becomes the origin. */
static void begin_later(struct uvmp_service *s, uint32_t space, uvmp_addr origin)
{
	uint32_t heir = NO_INDEX, index;
	uvmp_addr last = 0;

	for (index = uvmpi_range_from(s, space, origin); uvmpi_range_is_in(s, index, space); index++) {
		struct range *r = &s->range[s->range_order[index]];

		if (r->origin != origin)
			continue;
		if (heir == NO_INDEX)
			heir = s->range_order[index];
		r->origin = s->range[heir].start;
		r->allocation = heir;
		last = r->last;
	}
	if (heir == NO_INDEX)
		return;
	s->range[heir].pattern = UVMP_PATTERN_UNDECIDED;
	uvmpi_runtime_watch(s, heir, last);
}

void uvmpi_range_remove_part(struct uvmp_service *s, uint32_t index, uint32_t count)
{
	const struct range first = s->range[s->range_order[index]];

	uvmpi_range_remove(s, index, count);
	if (first.start == first.origin)
		begin_later(s, first.space, first.origin);
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

/* Puts the block into its bucket and the list of its range. */
static void link_block(struct uvmp_service *s, handle h)
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

/* Frees the block and all of its state. */
static void give_block(struct uvmp_service *s, handle h)
{
	struct block *b = block_at(s, h);
	bool has_chunk_maps = s->order->is_chunked && !block_is_whole(s, b);

	for (handle next, at = b->residency; at != 0; at = next) {
		const struct residency *p = residency_at(s, at);

		next = p->next;
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

/* A block of this range, not yet linked; 0: the arena is full. */
static handle take_block(struct uvmp_service *s, uint32_t slot, uvmp_addr start, uint32_t pages)
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
	h = take_block(s, s->range_order[index], shape.start, shape.pages);
	if (h == 0)
		return 0;
	if (r->home == UVMP_CPU && !fill_home(s, block_at(s, h))) {
		give_block(s, h);
		return 0;
	}
	link_block(s, h);
	*status = UVMP_OK;
	return h;
}

void uvmpi_block_remove(struct uvmp_service *s, handle h)
{
	unlink_block(s, h);
	give_block(s, h);
}

void uvmpi_block_shape(const struct uvmp_service *s, const struct block *b, struct uvmp_block *shape)
{
	shape->start = b->start;
	shape->last = block_last(s, b);
	shape->pages = b->pages;
	shape->big_pages = s->geometry.big_page_bytes >> s->page_shift;
	shape->offset = (uint32_t)(b->start >> s->page_shift) & (shape->big_pages - 1u);
}

/* -- splitting -- */

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
	handle h = take_block(s, b->range, address, b->pages - block_page(s, b, address));
	bool is_full = h == 0;

	for (struct residency *at = residency_first(s, b); !is_full && at != NULL; at = residency_next(s, at))
		is_full = uvmpi_residency_make(s, block_at(s, h), at->proc) == NULL;
	if (!is_full && b->cold != 0)
		is_full = uvmpi_cold_make(s, block_at(s, h)) == NULL;
	if (is_full && h != 0) {
		give_block(s, h);
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
		link_block(s, above);
	}
	upper_slot = take_slot(s);
	upper = &s->range[upper_slot];
	*upper = *r;
	upper->start = address;
	upper->block = 0;
	upper->log = 0;
	r->last = address - 1u;
	s->space[r->space].users++;
	order_insert(s, uvmpi_range_from(s, r->space, r->start) + 1u, upper_slot);
	move_blocks(s, r, upper_slot);
	return UVMP_OK;
}

/* -- residency of a block on a processor -- */

struct residency *uvmpi_residency_make(struct uvmp_service *s, struct block *b, uint32_t proc)
{
	struct residency *p = uvmpi_residency_find(s, b, proc);
	handle h;

	if (p != NULL)
		return p;
	h = uvmpi_arena_take(s, SLAB_RESIDENCY);
	if (h == 0)
		return NULL;
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

/* -- queries -- */

static void describe(const struct uvmp_service *s, const struct block *b, uint32_t page,
                     struct uvmp_page_state *state)
{
	uint64_t right[3];

	uvmpi_block_mapped(s, b, page, right);
	state->resident = uvmpi_block_holders(s, b, page);
	state->read = right[UVMP_RIGHT_READ - 1u];
	state->write = right[UVMP_RIGHT_READ_WRITE - 1u];
	state->atomic = right[UVMP_RIGHT_READ_WRITE_ATOMIC - 1u];
	state->is_duplicated = block_is_duplicated(s, b, page);
	state->is_discarded = block_is_discarded(s, b, page);
	if (b->thrash != 0) {
		const struct uvmp_thrash_block *t = &thrash_at(s, b->thrash)->block;

		state->is_pinned = uvmp_mask_test(&t->pinned, page);
		state->is_thrashing = uvmp_mask_test(&t->thrashing, page);
	}
}

enum uvmp_status uvmp_service_page(const struct uvmp_service *service, uint64_t space, uvmp_addr address,
                                   struct uvmp_page_state *state)
{
	struct uvmp_page_state found = {0};
	const struct range *r;
	uint32_t slot, index;
	handle h;

	if (!uvmp_service_is_valid(service) || state == NULL)
		return UVMP_ERR_ARGUMENT;
	slot = uvmpi_space_find(service, space);
	index = uvmpi_range_find(service, slot, address);
	if (index == NO_INDEX)
		return UVMP_ERR_UNKNOWN;
	r = &service->range[service->range_order[index]];
	h = uvmpi_block_find(service, slot, address);
	if (h != 0) {
		const struct block *b = block_at(service, h);

		describe(service, b, block_page(service, b, address), &found);
	} else if (r->home == UVMP_CPU) { /* there is no block yet */
		found.resident = 1;
		found.read = 1;
		found.write = r->right >= UVMP_RIGHT_READ_WRITE;
		found.atomic = r->right >= UVMP_RIGHT_READ_WRITE_ATOMIC;
	}
	return uvmpi_sized_write(state, state->size, &found, sizeof(found), sizeof(found.size));
}
