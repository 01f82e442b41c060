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
 * Units that arrive, and units that the hand passes, get the next slot of an array. So the order of the slots is the circle,
 * beginning at the hand. A bitmap for each of the two classes, without and with a chance, says which slots have a unit of the
 * class. Summaries above the bitmaps (slots_internal.h) find the next one in a few steps however far it is. If all slots
 * have been given, the units move up without gaps: there are twice as many slots as units, so that each unit that gets a slot
 * pays for one move.
 *
 * A reserve is a boundary for each class: it moves by as many units of the class as have come or left before it. */
#include "clock2m_internal.h"

static struct clock *state_of(const struct uvmp_evict *evict)
{
	return (struct clock *)evict->state;
}

static void init(struct uvmp_evict *evict)
{
	struct clock *clock = state_of(evict);

	*clock = (struct clock){.begun = 0};
	clock->unit = (uint32_t *)(void *)uvmpi_slots_init(&clock->slots, 2u * evict->units, clock->memory);
	clock->slot = clock->unit + 2u * evict->units;
}

static void move(const struct uvmp_evict *from, struct uvmp_evict *to)
{
	const struct clock *old = state_of(from);
	struct clock *clock = state_of(to), fresh = *clock;

	*clock = *old;
	clock->slots = fresh.slots;
	clock->unit = fresh.unit;
	clock->slot = fresh.slot;
	uvmpi_slots_move(&old->slots, &clock->slots, old->end);
	__builtin_memcpy(clock->unit, old->unit, old->end * sizeof(*clock->unit));
	__builtin_memcpy(clock->slot, old->slot, old->begun * sizeof(*clock->slot));
}

static bool is_valid(const struct uvmp_evict *evict)
{
	const struct clock *clock = state_of(evict);

	return uvmpi_slots_is_valid(&clock->slots) && clock->slots.count == 2u * evict->units && clock->unit != NULL &&
	       clock->slot != NULL && clock->begun <= evict->units && evict->count <= clock->begun &&
	       clock->chances <= evict->count && clock->end <= clock->slots.count && clock->hand <= clock->end;
}

static bool contains(const struct uvmp_evict *evict, uint32_t unit)
{
	const struct clock *clock = state_of(evict);

	return unit < clock->begun && clock->slot[unit] != UVMP_UNIT_NONE;
}

/* -- change -- */

static inline bool is_before(const struct clock *clock, uint32_t class, uint32_t slot)
{
	return slot < clock->boundary[class].at;
}

/* A listed unit leaves its slot. */
static inline void leave(struct clock *clock, uint32_t unit, uint32_t class)
{
	uint32_t slot = clock->slot[unit];

	slots_clear(&clock->slots, class, slot);
	clock->boundary[class].count -= is_before(clock, class, slot);
	clock->chances -= class;
	clock->slot[unit] = UVMP_UNIT_NONE;
}

/* The unit of a slot moves to a lower slot, or stays. */
static void move_unit(struct clock *clock, uint32_t class, uint32_t slot, uint32_t to)
{
	slots_set(&clock->slots, class, to);
	clock->unit[to] = clock->unit[slot];
	clock->slot[clock->unit[to]] = to;
}

/* All units move up to the lowest slots. */
static UVMPI_NOINLINE void move_up(struct clock *clock)
{
	uint32_t to = 0, at, class, before[SLOT_CLASSES] = {0, 0};

	for (uint32_t first = 0; first < clock->end; first += SLOT_BITS) {
		struct slot_word were = slots_take_word(&clock->slots, first);

		for (uint64_t rest = were.of[0] | were.of[1]; rest != 0; rest &= rest - 1u, to++) {
			at = lowest_bit(rest);
			for (class = 0; class < SLOT_CLASSES; class++)
				before[class] += is_before(clock, class, first + at);
			move_unit(clock, were.of[1] >> at & 1u, first + at, to);
		}
	}
	for (class = 0; class < SLOT_CLASSES; class++)
		clock->boundary[class].at = before[class];
	clock->end = to;
	clock->hand = 0;
}

/* A unit that is not listed gets the next slot, without a chance. */
static inline void append(struct clock *clock, uint32_t unit)
{
	if (clock->end == clock->slots.count)
		move_up(clock);
	if (clock->end == clock->slots.begun)
		uvmpi_slots_begin(&clock->slots);
	slots_set(&clock->slots, 0, clock->end);
	clock->unit[clock->end] = unit;
	clock->slot[unit] = clock->end++;
}

static enum uvmp_status touch(struct uvmp_evict *evict, uint32_t unit)
{
	struct clock *clock = state_of(evict);
	uint32_t slot;

	for (; clock->begun <= unit; clock->begun++)
		clock->slot[clock->begun] = UVMP_UNIT_NONE;
	slot = clock->slot[unit];
	if (slot == UVMP_UNIT_NONE) {
		append(clock, unit);
		evict->count++;
	} else if (slots_has(&clock->slots, 0, slot)) {
		slots_clear(&clock->slots, 0, slot);
		slots_set(&clock->slots, 1, slot);
		clock->boundary[0].count -= is_before(clock, 0, slot);
		clock->boundary[1].count += is_before(clock, 1, slot);
		clock->chances++;
	}
	return UVMP_OK;
}

static enum uvmp_status take_off(struct uvmp_evict *evict, uint32_t unit)
{
	struct clock *clock = state_of(evict);

	if (!contains(evict, unit))
		return UVMP_OK;
	leave(clock, unit, slots_has(&clock->slots, 1, clock->slot[unit]));
	evict->count--;
	return UVMP_OK;
}

/* -- search -- */

/* The unit of a class that `rank` units of the class precede. */
static uint32_t find_rank(struct clock *clock, uint32_t class, uint32_t rank)
{
	struct clock_boundary *b = &clock->boundary[class];

	for (; b->count > rank; b->count--)
		b->at = uvmpi_slots_previous(&clock->slots, class, b->at);
	for (; b->count < rank; b->count++)
		b->at = slots_next(&clock->slots, class, b->at) + 1u;
	return clock->unit[slots_next(&clock->slots, class, b->at)];
}

/* Moves the hand to the first unit without a chance, and returns its slot: units with a chance on the way become the newest,
 * without. UVMP_UNIT_NONE, no such unit, is the largest number. */
static uint32_t move_hand(struct clock *clock)
{
	uint32_t with = slots_next(&clock->slots, 1, clock->hand), without = slots_next(&clock->slots, 0, clock->hand), unit;
	bool is_moved;

	while (with < without) {
		unit = clock->unit[with];
		clock->hand = with;
		leave(clock, unit, 1);
		is_moved = clock->end == clock->slots.count;
		append(clock, unit);
		if (is_moved || without == UVMP_UNIT_NONE) /* all units moved up, or this unit is the first one without */
			without = slots_next(&clock->slots, 0, clock->hand);
		with = slots_next(&clock->slots, 1, clock->hand);
	}
	clock->hand = without;
	return without;
}

static enum uvmp_status victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank, enum evict_walk walk,
			       uint32_t used, uint32_t *unit)
{
	struct clock *clock = state_of(evict);
	uint32_t first = move_hand(clock), without = evict->count - clock->chances;

	(void)random, (void)walk, (void)used;
	if (rank == 0)
		*unit = clock->unit[first];
	else
		*unit = rank < without ? find_rank(clock, 0, rank) : find_rank(clock, 1, rank - without);
	return UVMP_OK;
}

static enum uvmp_status next(const struct uvmp_evict *evict, uint64_t *random, enum evict_walk walk, uint32_t *unit)
{
	const struct clock *clock = state_of(evict);
	uint32_t slot, class;

	(void)random, (void)walk;
	if (!contains(evict, *unit))
		return UVMP_ERR_NO_MEMORY;
	slot = clock->slot[*unit];
	class = slots_has(&clock->slots, 1, slot);
	slot = slots_next(&clock->slots, class, slot + 1u);
	if (slot == UVMP_UNIT_NONE && class == 0)
		slot = slots_next(&clock->slots, 1, 0);
	if (slot == UVMP_UNIT_NONE)
		return UVMP_ERR_NO_MEMORY;
	*unit = clock->unit[slot];
	return UVMP_OK;
}

const struct eviction_order uvmpi_order_clock2m = {
	.name = "clock2m",
	.summary = "blocks in turn; one that was touched since the last turn has a second chance",
	.traits = {.unit_pages = 512, .has_granularity = true, .has_reserve = true},
	.state_bytes = sizeof(struct clock) + SLOTS_HEAD_BYTES,
	.unit_bytes = SLOTS_BYTES_PER_TWO + 3u * sizeof(uint32_t),
	EVICT_FUNCTIONS(init, move, is_valid, contains, touch, take_off, victim, next),
};
