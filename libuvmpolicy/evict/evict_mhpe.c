/* MHPE, the eviction of CPPE (Yu, Childers, Huang, Qian, Guo and Wang: Coordinated Page Prefetch and Eviction
 * for Memory Oversubscription Management in GPUs, IPDPS 2020; a change of the same authors' HPE, TCAD 2020).
 *
 * Published idea. Recency fails for programs that access more data than fits into memory in a cycle. So
 * recent chunks are evicted first, but not the most recent: chunks of 64 KiB form a chain in the order of
 * their migration; touches do not move them. Time is counted in intervals of migrations. Chunks that arrived
 * in the present interval or in the last one are not evicted; the others are the old partition. The first
 * strategy evicts the newest chunk of the old partition, some distance (the forward distance) away from its
 * end. If many evicted pages were never touched (prefetched in vain, or evicted too early), the strategy
 * becomes recency (the oldest chunk of the chain is evicted) and stays recency.
 *
 * Assumed, as only the abstract and descriptions of it were at hand:
 *  - An interval is at least 64 pages, here four chunks, and ends where a batch begins. The original services
 *    faults one by one. A batch of the driver may fetch hundreds of chunks, which must not evict each other
 *    before the GPU continues.
 *  - The untouch level of an interval is the number of untouched pages among 64 evicted pages, its mean over
 *    the interval. Intervals without evictions do not count. The strategy changes if in one of the first four
 *    the level is 32 or more, or 40 or more in their sum.
 *  - The forward distance starts at 0. At the end of an interval it grows by the level in chunks, and by the
 *    wrong evictions: chunks that returned in the interval of their eviction, or in the next. It is at most
 *    32.
 *  - If the old partition is empty, the oldest chunk of the chain is the victim. If a victim is refused, the
 *    next older chunk is the victim; after the oldest chunk, those newer than the first victim follow, in
 *    their order.
 *
 * Chunks have the number of their arrival, so that partitions are comparisons. The newest chunk of the old
 * partition is kept: at the end of an interval it advances, once past each chunk. */
#include "evict_mhpe_internal.h"

enum {
	CHUNK_PAGES = 16,
	INTERVAL_CHUNKS = 4,
	INTERVAL_PAGES = 64,
	FIRST_INTERVALS = 4,
	LEVEL_MOST = 32,  /* of one interval */
	LEVELS_MOST = 40, /* of the first ones together */
	DISTANCE_MOST = 32
};

static struct mhpe *state_of(const struct uvmp_evict *evict)
{
	return evict->state;
}

static void init(struct uvmp_evict *evict)
{
	struct mhpe *mhpe = state_of(evict);

	*mhpe = (struct mhpe){.stamp = (void *)(mhpe + 1), .begun = 1, .last = 1, .old = UVMP_UNIT_NONE};
	uvmpi_recency_init(&mhpe->list, (void *)(mhpe->stamp + evict->units), evict->units);
}

/* Writes the stamps up to the unit's that were never used. */
static void begin(struct mhpe *mhpe, uint32_t unit)
{
	for (; mhpe->stamped <= unit; mhpe->stamped++)
		mhpe->stamp[mhpe->stamped] = 0;
}

static bool is_valid(const struct uvmp_evict *evict)
{
	const struct mhpe *mhpe = state_of(evict);

	return mhpe->stamp != NULL && mhpe->stamped <= evict->units && mhpe->distance <= DISTANCE_MOST &&
	       uvmpi_by_recency_is_valid(evict);
}

static void touch(struct uvmp_evict *evict, uint32_t unit)
{
	struct mhpe *mhpe = state_of(evict);

	if (uvmpi_recency_contains(&mhpe->list, unit))
		return;
	begin(mhpe, unit);
	mhpe->wrong += mhpe->stamp[unit] >= mhpe->last;
	mhpe->stamp[unit] = ++mhpe->clock;
	mhpe->came++;
	uvmpi_by_recency_touch(evict, unit);
}

static void take_off(struct uvmp_evict *evict, uint32_t unit)
{
	struct mhpe *mhpe = state_of(evict);

	if (!uvmpi_recency_contains(&mhpe->list, unit))
		return;
	if (mhpe->old == unit)
		mhpe->old = mhpe->list.link[unit].prev;
	mhpe->stamp[unit] = 0;
	uvmpi_by_recency_remove(evict, unit);
}

static void forget(struct uvmp_evict *evict, uint32_t unit)
{
	struct mhpe *mhpe = state_of(evict);

	take_off(evict, unit);
	begin(mhpe, unit);
	mhpe->stamp[unit] = 0;
}

static void left(struct uvmp_evict *evict, uint32_t unit, uint32_t pages, uint32_t untouched)
{
	struct mhpe *mhpe = state_of(evict);

	begin(mhpe, unit);
	if (!uvmpi_recency_contains(&mhpe->list, unit))
		mhpe->stamp[unit] = mhpe->clock + 1u;
	mhpe->left_pages += pages;
	mhpe->untouched += untouched;
}

/* -- the end of an interval -- */

/* How well did the newest go? */
static void judge(struct mhpe *mhpe)
{
	uint64_t level, distance;

	if (mhpe->left_pages == 0)
		return;
	level = mhpe->untouched * INTERVAL_PAGES / mhpe->left_pages;
	if (mhpe->intervals < FIRST_INTERVALS) {
		mhpe->intervals++;
		mhpe->levels += (uint32_t)level;
		mhpe->is_lru |= level >= LEVEL_MOST || mhpe->levels >= LEVELS_MOST;
	}
	distance = mhpe->distance + (level + CHUNK_PAGES - 1u) / CHUNK_PAGES + mhpe->wrong;
	mhpe->distance = distance < DISTANCE_MOST ? (uint32_t)distance : DISTANCE_MOST;
}

/* What came in the interval that was the last one is old now. */
static void age(struct uvmp_evict *evict)
{
	struct mhpe *mhpe = state_of(evict);
	uint32_t next = mhpe->old == UVMP_UNIT_NONE ? mhpe->list.head : mhpe->list.link[mhpe->old].next;

	mhpe->last = mhpe->begun;
	mhpe->begun = mhpe->clock + 1u;
	for (; next != UVMP_UNIT_NONE && mhpe->stamp[next] < mhpe->last; next = mhpe->list.link[next].next)
		mhpe->old = next;
}

static void batch(struct uvmp_evict *evict)
{
	struct mhpe *mhpe = state_of(evict);

	if (mhpe->came < INTERVAL_CHUNKS)
		return;
	judge(mhpe);
	age(evict);
	mhpe->came = 0;
	mhpe->left_pages = mhpe->untouched = mhpe->wrong = 0;
}

/* -- victims -- */

/* The first to go. */
static uint32_t start(const struct uvmp_evict *evict)
{
	const struct mhpe *mhpe = state_of(evict);
	uint32_t unit = mhpe->old;

	if (mhpe->is_lru || unit == UVMP_UNIT_NONE)
		return mhpe->list.head;
	for (uint32_t i = 0; i < mhpe->distance && unit != mhpe->list.head; i++)
		unit = mhpe->list.link[unit].prev;
	return unit;
}

static enum uvmp_status next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit)
{
	const struct mhpe *mhpe = state_of(evict);
	uint32_t first = start(evict);

	(void)random;
	if (!uvmpi_recency_contains(&mhpe->list, *unit))
		return UVMP_ERR_NO_MEMORY;
	if (mhpe->stamp[*unit] > mhpe->stamp[first])
		return evict_found(mhpe->list.link[*unit].next, unit);
	if (*unit != mhpe->list.head)
		return evict_found(mhpe->list.link[*unit].prev, unit);
	return evict_found(mhpe->list.link[first].next, unit);
}

static enum uvmp_status victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank, uint32_t *unit)
{
	*unit = start(evict);
	while (rank-- > 0)
		(void)next(evict, random, unit);
	return UVMP_OK;
}

const struct eviction_order uvmpi_order_mhpe = {
	.name = "mhpe",
	.traits = {.unit_pages = CHUNK_PAGES, .has_reserve = true, .has_touches = true},
	.state_bytes = sizeof(struct mhpe),
	.unit_bytes = sizeof(struct recency_link) + sizeof(uint64_t),
	.init = init,
	.is_valid = is_valid,
	.contains = uvmpi_by_recency_contains,
	.touch = touch,
	.remove = take_off,
	.forget = forget,
	.victim = victim,
	.next = next,
	.batch = batch,
	.left = left,
};
