/* Distances of evictions and returns; returns.h. */
#include "returns.h"

#include <stdbool.h>
#include <string.h>

#define USED_MOST (RETURNS_SLOTS / 4u * 3u)

/* The finalizer of MurmurHash3: all bits of the page number reach all bits of the result. */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	x ^= x >> 33;
	x *= UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ x >> 33;
}

/* The upper half of the hash decides; the lower half is for the place in the table. */
static bool is_watched(const struct returns *r, uint64_t hash)
{
	return (hash >> 32 & ((UINT64_C(1) << r->shift) - 1u)) == 0;
}

/* The slot of the page, or the free one where it belongs. */
static struct returns_slot *find(struct returns *r, uint64_t page, uint64_t hash)
{
	uint32_t at = (uint32_t)hash % RETURNS_SLOTS;

	while (r->slot[at].page != 0 && r->slot[at].page != page + 1)
		at = (at + 1) % RETURNS_SLOTS;
	return &r->slot[at];
}

static void watch_fewer(struct returns *r)
{
	memcpy(r->spare, r->slot, sizeof(r->spare));
	memset(r->slot, 0, sizeof(r->slot));
	r->shift++;
	r->used = 0;
	for (uint32_t i = 0; i < RETURNS_SLOTS; i++) {
		uint64_t page = r->spare[i].page - 1, hash = mix(page);

		if (r->spare[i].page == 0 || !is_watched(r, hash))
			continue;
		*find(r, page, hash) = r->spare[i];
		r->used++;
	}
}

static void evict_one(struct returns *r, uint64_t page)
{
	uint64_t hash = mix(page);
	struct returns_slot *slot;

	while (is_watched(r, hash)) {
		slot = find(r, page, hash);
		if (slot->page == 0 && r->used >= USED_MOST) {
			watch_fewer(r);
			continue;
		}
		r->used += slot->page == 0;
		slot->page = page + 1;
		slot->stamp = r->arrived + 1;
		return;
	}
}

void returns_evicted(struct returns *r, uint64_t page, uint32_t pages)
{
	for (uint32_t i = 0; i < pages; i++)
		evict_one(r, page + i);
}

void returns_arrived(struct returns *r, uint64_t page, uint32_t pages)
{
	const uint64_t before = r->arrived;

	r->arrived += pages;
	if (r->used == 0)
		return;
	for (uint32_t i = 0; i < pages; i++) {
		uint64_t hash = mix(page + i);
		struct returns_slot *slot = is_watched(r, hash) ? find(r, page + i, hash) : NULL;

		if (!slot || slot->page == 0 || slot->stamp == 0)
			continue;
		histogram_add(&r->distance, before + i + 1 - (slot->stamp - 1), UINT64_C(1) << r->shift);
		slot->stamp = 0;
	}
}
