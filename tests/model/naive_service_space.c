/* Address spaces, ranges and blocks of the naive model, and sets of pages as arrays of flags. */
#include "naive_service_internal.h"

#include <string.h>

bool naive_any(const bool *flag)
{
	for (uint32_t i = 0; i < PAGES; i++)
		if (flag[i])
			return true;
	return false;
}

void naive_pack(const bool *flag, uvmp_mask *mask)
{
	memset(mask, 0, sizeof(*mask));
	for (uint32_t i = 0; i < PAGES; i++)
		if (flag[i])
			uvmp_mask_set(mask, i);
}

struct uvmp_region naive_bounds(const bool *flag)
{
	struct uvmp_region region = {0, 0};

	for (uint32_t i = PAGES; i-- > 0;)
		if (flag[i])
			region.first = i;
	for (uint32_t i = 0; i < PAGES; i++)
		if (flag[i])
			region.end = i + 1;
	return region;
}

struct space *naive_find_space(struct naive_service *n, uint64_t id)
{
	for (uint32_t i = 0; i < NAIVE_SPACES; i++)
		if (n->space[i].exists && n->space[i].id == id)
			return &n->space[i];
	return NULL;
}

struct space *naive_make_space(struct naive_service *n, uint64_t id)
{
	struct space *space = naive_find_space(n, id);

	for (uint32_t i = 0; i < n->max_spaces && space == NULL; i++)
		if (!n->space[i].exists) {
			space = &n->space[i];
			memset(space, 0, sizeof(*space));
			space->exists = true;
			space->id = id;
			naive_thrash_init(&space->thrash, &n->policy.thrash, &n->processors, NAIVE_BLOCKS,
			                  PAGES);
		}
	return space;
}

void naive_drop_space(struct naive_service *n, uint64_t id)
{
	struct space *space = naive_find_space(n, id);

	for (uint32_t i = 0; i < NAIVE_RANGES; i++)
		if (n->range[i].exists && n->range[i].space == id)
			return;
	for (uint32_t i = 0; i < NAIVE_CHANNELS; i++)
		if (n->channel[i].exists && n->channel[i].space == id)
			return;
	naive_thrash_free(&space->thrash);
	space->exists = false;
}

struct range *naive_find_range(struct naive_service *n, uint64_t space, uvmp_addr address)
{
	for (uint32_t i = 0; i < NAIVE_RANGES; i++)
		if (n->range[i].exists && n->range[i].space == space && n->range[i].base <= address &&
		    address <= n->range[i].end)
			return &n->range[i];
	return NULL;
}

struct block *naive_find_block(const struct naive_service *n, uint64_t space, uvmp_addr address)
{
	for (uint32_t i = 0; i < NAIVE_BLOCKS; i++) {
		struct block *b = n->block[i];

		if (b->exists && b->space == space && b->start <= address &&
		    address < b->start + (uint64_t)b->pages * n->page_bytes)
			return b;
	}
	return NULL;
}

/* From now on the processor has state of the block. */
void naive_add_place(struct block *b, uint32_t p)
{
	for (uint32_t i = 0; i < b->places; i++)
		if (b->place[i] == p)
			return;
	for (uint32_t i = b->places; i > 0; i--)
		b->place[i] = b->place[i - 1];
	b->place[0] = p;
	b->places++;
}

struct block *naive_make_block(struct naive_service *n, struct range *range, uvmp_addr address)
{
	struct block *b = naive_find_block(n, range->space, address);
	uvmp_addr first = address / UVMP_ROOT_CHUNK_BYTES * UVMP_ROOT_CHUNK_BYTES;
	uvmp_addr last = first + (UVMP_ROOT_CHUNK_BYTES - 1u);
	uint32_t i = 0;

	if (b != NULL)
		return b;
	while (n->block[i]->exists)
		i++;
	b = n->block[i];
	memset(b, 0, sizeof(*b));
	b->exists = true;
	b->number = i;
	b->stamp = ++n->stamps;
	b->space = range->space;
	b->range = range;
	b->start = first > range->base ? first : range->base;
	last = last < range->end ? last : range->end;
	b->pages = (uint32_t)((last - b->start + 1) / n->page_bytes);
	b->prefetch.last_proc = NONE;
	if (range->home == UVMP_CPU) {
		naive_add_place(b, UVMP_CPU);
		for (uint32_t p = 0; p < b->pages; p++) {
			b->page[p].resident = 1;
			b->page[p].right[0] = (uint8_t)range->right;
		}
	}
	return b;
}

struct space *naive_space_of(struct naive_service *n, const struct block *b)
{
	return naive_find_space(n, b->space);
}

struct naive_thrash_block *naive_thrash_of(struct naive_service *n, const struct block *b)
{
	return &naive_space_of(n, b)->thrash.block[b->number];
}

bool naive_is_anywhere_on(const struct block *b, uint32_t p)
{
	for (uint32_t i = 0; i < b->pages; i++)
		if (in(b->page[i].resident, p))
			return true;
	return false;
}

void naive_resident_on(const struct block *b, uint32_t p, bool *flag)
{
	for (uint32_t i = 0; i < PAGES; i++)
		flag[i] = i < b->pages && in(b->page[i].resident, p);
}

uint64_t naive_mapped_at(const struct naive_service *n, const struct page *page, uint32_t right)
{
	uint64_t set = 0;

	for (uint32_t p = 0; p < n->procs; p++)
		if (page->right[p] >= right)
			set |= bit(p);
	return set;
}

/* The newest block of a range that was made before a time; NULL: none. */
struct block *naive_block_before(struct naive_service *n, const struct range *range, uint64_t before)
{
	struct block *newest = NULL;

	for (uint32_t i = 0; i < NAIVE_BLOCKS; i++)
		if (n->block[i]->exists && n->block[i]->range == range && n->block[i]->stamp < before &&
		    (newest == NULL || n->block[i]->stamp > newest->stamp))
			newest = n->block[i];
	return newest;
}

/* The lowest piece of what was added as a range at `origin`, from `from` on; NULL: none. */
struct range *naive_lowest_piece(struct naive_service *n, uint64_t space, uvmp_addr origin, uvmp_addr from)
{
	struct range *lowest = NULL;

	for (uint32_t i = 0; i < NAIVE_RANGES; i++) {
		struct range *r = &n->range[i];

		if (r->exists && r->space == space && r->origin == origin && r->base >= from &&
		    (lowest == NULL || r->base < lowest->base))
			lowest = r;
	}
	return lowest;
}

bool naive_is_covered(struct naive_service *n, const struct request *r)
{
	uvmp_addr end = r->base + r->bytes - 1;
	struct range *range = naive_find_range(n, r->space, r->base);

	while (range != NULL && range->end < end)
		range = naive_find_range(n, r->space, range->end + 1);
	return range != NULL;
}

uvmp_addr naive_page_address(const struct naive_service *n, const struct block *b, uint32_t i)
{
	return b->start + (uint64_t)i * n->page_bytes;
}

/* Do tbn or sl decide? */
bool naive_has_tree(const struct naive_service *n)
{
	return n->policy.prefetch.prefetcher == UVMP_PREFETCH_TBN || n->policy.prefetch.prefetcher == UVMP_PREFETCH_SL;
}
