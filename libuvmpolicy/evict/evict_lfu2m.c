/* Least frequently used 2 MiB first ([uvmsmart: victim-selection], policy 4), of equals the least recently
 * touched. The counts live in the keys of the sequence, which stay when a unit is taken out: a large page that
 * comes back continues its count. The original counts in the root of each tree and takes the less written of
 * equals first. */
#include "lfu2m_internal.h"

#define CLASSES_SEARCHED 8u

static struct frequency *list_of(const struct uvmp_evict *evict)
{
	return (struct frequency *)evict->state;
}

static void init(struct uvmp_evict *evict)
{
	struct frequency *list = list_of(evict);

	uvmpi_sequence_init(&list->order, evict->units, list + 1);
	list->class = (struct frequency_class *)(void *)((uint8_t *)(list + 1) + SEQUENCE_HEAD_BYTES +
							 evict->units * SEQUENCE_ELEMENT_BYTES);
	list->classes = 0;
	list->unused = UVMP_UNIT_NONE;
	list->clock = 0;
	list->begun = 0;
}

/* There are as many classes as units that were ever touched, or fewer. */
static void move(const struct uvmp_evict *from, struct uvmp_evict *to)
{
	const struct frequency *old = list_of(from);
	struct frequency *list = list_of(to);

	uvmpi_sequence_move(&old->order, &list->order, old->begun);
	__builtin_memcpy(list->class, old->class, old->begun * sizeof(*list->class));
	list->classes = old->classes;
	list->unused = old->unused;
	list->clock = old->clock;
	list->begun = old->begun;
}

static bool is_valid(const struct uvmp_evict *evict)
{
	const struct frequency *list = list_of(evict);

	return uvmpi_sequence_is_valid(&list->order) && list->order.elements == evict->units && list->class != NULL &&
	       list->begun <= evict->units && evict->count <= list->begun;
}

static bool contains(const struct uvmp_evict *evict, uint32_t unit)
{
	const struct frequency *list = list_of(evict);

	return unit < list->begun && list->order.weight[unit] != 0;
}

/* Writes the state of the units up to this one that were never used. */
static void begin(struct frequency *list, uint32_t unit)
{
	for (; list->begun <= unit; list->begun++)
		sequence_begin(&list->order, list->begun);
}

/* -- classes of equal frequency -- */

static bool is_of(const struct frequency *list, uint32_t unit, uint64_t frequency)
{
	return unit != UVMP_UNIT_NONE && list->order.key[unit].high == frequency;
}

static uint32_t last_of_class(const struct frequency *list, uint32_t unit)
{
	return list->class[list->class[unit].number].last;
}

/* The unit is about to leave its place in the sequence. */
static inline void leave_class(struct frequency *list, uint32_t unit)
{
	uint32_t class = list->class[unit].number, previous = sequence_previous(&list->order, unit);

	if (list->class[class].last != unit)
		return;
	if (is_of(list, previous, list->order.key[unit].high)) {
		list->class[class].last = previous;
	} else {
		list->class[class].last = list->unused;
		list->unused = class;
	}
}

static inline uint32_t take_class(struct frequency *list)
{
	uint32_t class = list->unused;

	if (class == UVMP_UNIT_NONE)
		return list->classes++;
	list->unused = list->class[class].last;
	return class;
}

/* The unit has found its place in the sequence: its neighbours name its class. */
static void enter_class(struct frequency *list, uint32_t unit)
{
	uint64_t frequency = list->order.key[unit].high;
	uint32_t previous = sequence_previous(&list->order, unit), next = sequence_next(&list->order, unit), class;

	if (is_of(list, next, frequency)) {
		list->class[unit].number = list->class[next].number;
		return;
	}
	class = is_of(list, previous, frequency) ? list->class[previous].number : take_class(list);
	list->class[unit].number = class;
	list->class[class].last = unit;
}

/* -- change -- */

static enum uvmp_status take_off(struct uvmp_evict *evict, uint32_t unit)
{
	struct frequency *list = list_of(evict);

	if (!contains(evict, unit))
		return UVMP_OK;
	leave_class(list, unit);
	sequence_unlink(&list->order, unit);
	list->order.weight[unit] = 0;
	evict->count--;
	return UVMP_OK;
}

/* Puts a unit that is not listed at the place of its key. */
static void put(struct uvmp_evict *evict, uint32_t unit)
{
	struct frequency *list = list_of(evict);

	list->order.weight[unit] = 1;
	uvmpi_sequence_insert(&list->order, unit, list->order.kind[unit]);
	enter_class(list, unit);
	evict->count++;
}

/* The unit that precedes the place of a unit of this frequency with the newest stamp; UVMP_UNIT_NONE: none. False: the place is
 * not behind one of the lowest classes. */
static bool find_low(const struct frequency *list, uint32_t kind, uint64_t frequency, uint32_t *smaller)
{
	uint32_t next = sequence_first(&list->order, kind);

	*smaller = UVMP_UNIT_NONE;
	for (uint32_t i = 0; i < CLASSES_SEARCHED; i++) {
		if (next == UVMP_UNIT_NONE || list->order.key[next].high > frequency)
			return true;
		*smaller = last_of_class(list, next);
		next = sequence_next(&list->order, *smaller);
	}
	return false;
}

/* A unit arrives, or its frequency begins at 0 again. A unit that was evicted had one of the lowest frequencies. */
static void arrive(struct uvmp_evict *evict, uint32_t unit)
{
	struct frequency *list = list_of(evict);
	struct sequence_key *key = &list->order.key[unit];
	uint32_t kind, smaller;

	begin(list, unit);
	take_off(evict, unit);
	*key = (struct sequence_key){key->high + 1u, ++list->clock};
	kind = list->order.kind[unit];
	if (!find_low(list, kind, key->high, &smaller)) {
		put(evict, unit);
		return;
	}
	list->order.weight[unit] = 1;
	sequence_insert_behind(&list->order, unit, kind, smaller);
	enter_class(list, unit);
	evict->count++;
}

/* A listed unit is touched, whose frequency is not the largest number: the unit becomes the last of the next class, which is
 * next to its own, or a new one. */
static inline void raise(struct frequency *list, uint32_t unit)
{
	struct sequence_key *key = &list->order.key[unit];
	uint32_t smaller = last_of_class(list, unit), next = sequence_next(&list->order, smaller), class;
	bool has_next = is_of(list, next, key->high + 1u);

	if (has_next)
		smaller = last_of_class(list, next);
	else if (smaller == unit)
		smaller = sequence_previous(&list->order, unit);
	leave_class(list, unit);
	class = has_next ? list->class[next].number : take_class(list);
	list->class[unit].number = class;
	list->class[class].last = unit;
	sequence_unlink(&list->order, unit);
	*key = (struct sequence_key){key->high + 1u, ++list->clock};
	sequence_insert_behind(&list->order, unit, list->order.kind[unit], smaller);
}

static enum uvmp_status touch(struct uvmp_evict *evict, uint32_t unit)
{
	struct frequency *list = list_of(evict);

	if (contains(evict, unit) && list->order.key[unit].high != UINT64_MAX)
		raise(list, unit);
	else
		arrive(evict, unit);
	return UVMP_OK;
}

static enum uvmp_status forget(struct uvmp_evict *evict, uint32_t unit)
{
	struct frequency *list = list_of(evict);

	if (unit >= list->begun)
		return UVMP_OK;
	take_off(evict, unit);
	list->order.key[unit].high = 0;
	list->order.kind[unit] = 0;
	return UVMP_OK;
}

static void weigh(struct uvmp_evict *evict, uint32_t unit, uint64_t frequency)
{
	struct frequency *list = list_of(evict);

	if (!contains(evict, unit) || list->order.key[unit].high == frequency)
		return;
	take_off(evict, unit);
	list->order.key[unit].high = frequency;
	put(evict, unit);
}

static void spare(struct uvmp_evict *evict, uint32_t unit, bool is_spared)
{
	struct frequency *list = list_of(evict);
	bool is_listed = contains(evict, unit);

	begin(list, unit);
	if (list->order.kind[unit] == is_spared)
		return;
	take_off(evict, unit);
	list->order.kind[unit] = is_spared;
	if (is_listed)
		put(evict, unit);
}

/* -- search -- */

static enum uvmp_status victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank, enum evict_walk walk,
			       uint32_t used, uint32_t *unit)
{
	(void)random, (void)used;
	return evict_found(sequence_victim(&list_of(evict)->order, rank, walk), unit);
}

static enum uvmp_status next(const struct uvmp_evict *evict, uint64_t *random, enum evict_walk walk, uint32_t *unit)
{
	(void)random;
	if (!contains(evict, *unit))
		return UVMP_ERR_NO_MEMORY;
	return evict_found(sequence_walk(&list_of(evict)->order, *unit, walk), unit);
}

const struct eviction_order uvmpi_order_lfu2m = {
	.name = "lfu2m",
	.summary = "the least often touched block",
	.traits = {.unit_pages = 512,
		   .has_granularity = true,
		   .has_reserve = true,
		   .counts_uses = true,
		   .spares_incomplete = true},
	.state_bytes = sizeof(struct frequency) + SEQUENCE_HEAD_BYTES,
	.unit_bytes = SEQUENCE_ELEMENT_BYTES + sizeof(struct frequency_class),
	EVICT_FUNCTIONS(init, move, is_valid, contains, touch, take_off, victim, next),
	.forget = forget,
	.weigh = weigh,
	.spare = spare,
};
