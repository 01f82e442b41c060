/* Second chance, the clock (Corbato's, as in textbooks on paging).
 *
 * Units form a circle in the order of their arrival. A touch of a listed unit gives the unit a chance and
 * does not move it. The hand is at the oldest unit. A unit with a chance loses the chance and becomes the
 * newest; the first unit without a chance is the victim. Each touch pays for at most one step of the hand, so
 * that a victim is O(1) amortised.
 *
 * Units without a chance are evicted first, then the others, each in the order of the circle: the hand takes
 * them in this order while no unit is touched, and moving the hand does not change the order. A unit arrives
 * without a chance: the touch that fetched the unit does not count, only later touches do.
 *
 * A reserve is a boundary in the circle for each of the two classes: it passes over units of the other class. */
#include "recency_internal.h"

/* Marks of a unit. */
enum {
	CHANCE = 1, /* touched since the hand passed, or since the unit arrived */
	BEFORE = 2  /* BEFORE << class: before the boundary of the class (0: without a chance) */
};

struct boundary {
	uint32_t last;	/* link of the last unit before the boundary, of either class; 0: none */
	uint32_t count; /* units of the class before it */
};

struct clock {
	struct recency list;
	uint8_t *mark; /* [units] */
	uint32_t chances; /* units with a chance */
	struct boundary boundary[2];
	struct recency_link link[]; /* [units + 1], then mark */
};

static struct clock *state_of(const struct uvmp_evict *evict)
{
	return evict->state;
}

static void init(struct uvmp_evict *evict)
{
	struct clock *clock = state_of(evict);

	uvmpi_recency_init(&clock->list, clock->link, evict->units);
	clock->mark = (uint8_t *)(clock->link + evict->units + 1u);
	clock->chances = 0;
	clock->boundary[0] = clock->boundary[1] = (struct boundary){0, 0};
}

static bool is_valid(const struct uvmp_evict *evict)
{
	const struct clock *clock = state_of(evict);

	return uvmpi_recency_is_valid(&clock->list, evict->count) && clock->list.units == evict->units &&
	       clock->mark != NULL && clock->chances <= evict->count;
}

static bool contains(const struct uvmp_evict *evict, uint32_t unit)
{
	return uvmpi_recency_contains(&state_of(evict)->list, unit);
}

/* -- change -- */

/* A listed unit leaves its place in the circle, or its class. */
static void leave_class(struct clock *clock, uint32_t unit)
{
	uint32_t class = clock->mark[unit] & CHANCE;

	if ((clock->mark[unit] & BEFORE << class) != 0)
		clock->boundary[class].count--;
}

static void leave_place(struct clock *clock, uint32_t unit)
{
	leave_class(clock, unit);
	for (uint32_t class = 0; class < 2u; class++) {
		if (clock->boundary[class].last == unit + 1u)
			clock->boundary[class].last = clock->list.link[unit + 1u].prev;
	}
	clock->chances -= clock->mark[unit] & CHANCE;
	clock->mark[unit] = 0;
}

static void begin(struct clock *clock, uint32_t unit)
{
	for (uint32_t i = clock->list.begun; i <= unit; i++)
		clock->mark[i] = 0;
	uvmpi_recency_begin(&clock->list, unit);
}

static void give_chance(struct clock *clock, uint32_t unit)
{
	leave_class(clock, unit);
	clock->mark[unit] |= CHANCE;
	clock->chances++;
	if ((clock->mark[unit] & BEFORE << CHANCE) != 0)
		clock->boundary[CHANCE].count++;
}

static void touch(struct uvmp_evict *evict, uint32_t unit)
{
	struct clock *clock = state_of(evict);

	if (unit >= clock->list.begun)
		begin(clock, unit);
	if (clock->list.link[unit + 1u].next == unit + 1u) {
		link_append(clock->list.link, unit + 1u, 0);
		evict->count++;
	} else if ((clock->mark[unit] & CHANCE) == 0) {
		give_chance(clock, unit);
	}
}

static void take_off(struct uvmp_evict *evict, uint32_t unit)
{
	struct clock *clock = state_of(evict);

	if (!contains(evict, unit))
		return;
	leave_place(clock, unit);
	uvmpi_recency_take_off(&clock->list, unit);
	evict->count--;
}

/* -- search -- */

/* The first unit of the class from this link on. */
static uint32_t search(const struct clock *clock, uint32_t at, uint32_t class)
{
	while (at != 0 && (clock->mark[at - 1u] & CHANCE) != class)
		at = clock->list.link[at].next;
	return at - 1u;
}

/* The unit of a class that `rank` units of the class precede. */
static uint32_t find_rank(struct clock *clock, uint32_t class, uint32_t rank)
{
	struct boundary *b = &clock->boundary[class];
	const struct recency_link *link = clock->list.link;

	for (; b->count > rank; b->last = link[b->last].prev) {
		clock->mark[b->last - 1u] &= (uint8_t)~(BEFORE << class);
		b->count -= (clock->mark[b->last - 1u] & CHANCE) == class;
	}
	while (b->count < rank) {
		b->last = link[b->last].next;
		clock->mark[b->last - 1u] |= (uint8_t)(BEFORE << class);
		b->count += (clock->mark[b->last - 1u] & CHANCE) == class;
	}
	return search(clock, link[b->last].next, class);
}

static enum uvmp_status victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank, enum evict_walk walk,
			       uint32_t *unit)
{
	struct clock *clock = state_of(evict);
	uint32_t head = uvmpi_recency_oldest(&clock->list);

	(void)random, (void)walk;
	for (; (clock->mark[head] & CHANCE) != 0; head = uvmpi_recency_oldest(&clock->list)) {
		leave_place(clock, head);
		uvmpi_recency_touch(&clock->list, head);
	}
	*unit = head;
	if (rank != 0) {
		uint32_t without = evict->count - clock->chances;

		*unit = rank < without ? find_rank(clock, 0, rank) : find_rank(clock, CHANCE, rank - without);
	}
	return UVMP_OK;
}

static enum uvmp_status next(const struct uvmp_evict *evict, uint64_t *random, enum evict_walk walk, uint32_t *unit)
{
	const struct clock *clock = state_of(evict);
	uint32_t found, class;

	(void)random, (void)walk;
	if (!contains(evict, *unit))
		return UVMP_ERR_NO_MEMORY;
	class = clock->mark[*unit] & CHANCE;
	found = search(clock, clock->list.link[*unit + 1u].next, class);
	if (found == UVMP_UNIT_NONE && class == 0)
		found = search(clock, clock->list.link[0].next, CHANCE);
	return evict_found(found, unit);
}

const struct eviction_order uvmpi_order_clock2m = {
	.name = "clock2m",
	.traits = {.unit_pages = 512, .has_granularity = true, .has_reserve = true},
	.state_bytes = sizeof(struct clock) + sizeof(struct recency_link),
	.unit_bytes = sizeof(struct recency_link) + sizeof(uint8_t),
	.init = init,
	.is_valid = is_valid,
	.contains = contains,
	.touch = touch,
	.remove = take_off,
	.victim = victim,
	.next = next,
};
