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
 * partition is kept: at the end of an interval it advances, once past each chunk. The chunk before the victim
 * is kept too. */
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
	return (struct mhpe *)evict->state;
}

static struct recency_link *links_of(const struct uvmp_evict *evict)
{
	return (struct recency_link *)(state_of(evict) + 1);
}

static void init(struct uvmp_evict *evict)
{
	struct mhpe *mhpe = state_of(evict);

	*mhpe = (struct mhpe){.begun = 1, .last = 1};
	mhpe->stamp = (uint64_t *)(links_of(evict) + evict->units + 1u);
	uvmpi_recency_init(&mhpe->list, links_of(evict), evict->units);
}

static void move(const struct uvmp_evict *from, struct uvmp_evict *to)
{
	const struct mhpe *old = state_of(from);
	struct mhpe *mhpe = state_of(to), fresh = *mhpe;

	*mhpe = *old;
	mhpe->list = fresh.list;
	mhpe->stamp = fresh.stamp;
	uvmpi_recency_move(&old->list, &mhpe->list);
	__builtin_memcpy(mhpe->stamp, old->stamp, old->stamped * sizeof(*mhpe->stamp));
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
	       mhpe->list.units == evict->units && uvmpi_recency_is_valid(&mhpe->list, evict->count);
}

static bool contains(const struct uvmp_evict *evict, uint32_t unit)
{
	return uvmpi_recency_contains(&state_of(evict)->list, unit);
}

static enum uvmp_status touch(struct uvmp_evict *evict, uint32_t unit)
{
	struct mhpe *mhpe = state_of(evict);

	if (uvmpi_recency_contains(&mhpe->list, unit))
		return UVMP_OK;
	begin(mhpe, unit);
	mhpe->wrong += mhpe->stamp[unit] >= mhpe->last;
	mhpe->stamp[unit] = ++mhpe->clock;
	mhpe->came++;
	(void)uvmpi_recency_touch(&mhpe->list, unit);
	evict->count++;
	return UVMP_OK;
}

static enum uvmp_status take_off(struct uvmp_evict *evict, uint32_t unit)
{
	struct mhpe *mhpe = state_of(evict);

	if (!uvmpi_recency_contains(&mhpe->list, unit))
		return UVMP_OK;
	for (struct mhpe_place *place = mhpe->place; place < mhpe->place + MHPE_PLACES; place++) {
		if (place->count == 0 || mhpe->stamp[unit] > mhpe->stamp[place->last - 1u])
			continue;
		place->count--;
		if (place->last == unit + 1u)
			place->last = mhpe->list.link[place->last].prev;
	}
	mhpe->stamp[unit] = 0;
	uvmpi_recency_take_off(&mhpe->list, unit);
	evict->count--;
	return UVMP_OK;
}

static enum uvmp_status forget(struct uvmp_evict *evict, uint32_t unit)
{
	struct mhpe *mhpe = state_of(evict);

	take_off(evict, unit);
	begin(mhpe, unit);
	mhpe->stamp[unit] = 0;
	return UVMP_OK;
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
	mhpe->distance = distance < DISTANCE_MOST ? (uint32_t)distance : (uint32_t)DISTANCE_MOST;
}

/* What came in the interval that was the last one is old now. */
static void age(struct uvmp_evict *evict)
{
	struct mhpe *mhpe = state_of(evict);
	struct mhpe_place *old = &mhpe->place[MHPE_OLD];
	const struct recency_link *link = mhpe->list.link;

	mhpe->last = mhpe->begun;
	mhpe->begun = mhpe->clock + 1u;
	for (uint32_t next = link[old->last].next; next != 0 && mhpe->stamp[next - 1u] < mhpe->last;
	     next = link[next].next) {
		old->last = next;
		old->count++;
	}
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

/* How many chunks are older than the first to go. */
static uint32_t start_index(const struct mhpe *mhpe)
{
	uint32_t old = mhpe->place[MHPE_OLD].count;

	return mhpe->is_lru || old <= mhpe->distance ? 0 : old - 1u - mhpe->distance;
}

/* The first to go. */
static uint32_t start(const struct mhpe *mhpe)
{
	uint32_t at = mhpe->place[MHPE_OLD].last;

	if (start_index(mhpe) == 0)
		return uvmpi_recency_oldest(&mhpe->list);
	for (uint32_t i = 0; i < mhpe->distance; i++)
		at = mhpe->list.link[at].prev;
	return at - 1u;
}

static enum uvmp_status next(const struct uvmp_evict *evict, uint64_t *random, enum evict_walk walk, uint32_t *unit)
{
	const struct mhpe *mhpe = state_of(evict);
	uint32_t first = start(mhpe);

	(void)random, (void)walk;
	if (!uvmpi_recency_contains(&mhpe->list, *unit))
		return UVMP_ERR_NO_MEMORY;
	if (mhpe->stamp[*unit] > mhpe->stamp[first])
		return evict_found(uvmpi_recency_newer(&mhpe->list, *unit), unit);
	if (*unit != uvmpi_recency_oldest(&mhpe->list))
		return evict_found(uvmpi_recency_older(&mhpe->list, *unit), unit);
	return evict_found(uvmpi_recency_newer(&mhpe->list, first), unit);
}

/* The chunk that `index` older chunks precede; moves the place from where it was, by as many chunks as have left or aged since. */
static uint32_t find_index(struct mhpe *mhpe, struct mhpe_place *place, uint32_t index)
{
	const struct recency_link *link = mhpe->list.link;

	for (; place->count < index; place->count++)
		place->last = link[place->last].next;
	for (; place->count > index; place->count--)
		place->last = link[place->last].prev;
	return link[place->last].next - 1u;
}

/* Chunks leave from the first one backwards to the oldest, then from behind the first one forwards. */
static enum uvmp_status victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank, enum evict_walk walk,
			       uint32_t used, uint32_t *unit)
{
	struct mhpe *mhpe = state_of(evict);
	uint32_t first = start_index(mhpe);

	(void)random, (void)walk, (void)used;
	if (rank == first) /* the oldest chunk: the place stays where it is for a later call */
		*unit = uvmpi_recency_oldest(&mhpe->list);
	else if (rank < first)
		*unit = find_index(mhpe, &mhpe->place[rank == 0 ? MHPE_FIRST : MHPE_BACKWARDS], first - rank);
	else
		*unit = find_index(mhpe, &mhpe->place[MHPE_FORWARDS], rank);
	return UVMP_OK;
}

const struct eviction_order uvmpi_order_mhpe = {
	.name = "mhpe",
	.summary = "the newest that arrived before the last two intervals, or the oldest (CPPE)",
	.traits = {.unit_pages = CHUNK_PAGES, .has_reserve = true, .has_touches = true},
	.state_bytes = sizeof(struct mhpe) + sizeof(struct recency_link),
	.unit_bytes = sizeof(struct recency_link) + sizeof(uint64_t),
	EVICT_FUNCTIONS(init, move, is_valid, contains, touch, take_off, victim, next),
	.forget = forget,
	.batch = batch,
	.left = left,
};
