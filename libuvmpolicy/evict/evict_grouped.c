/* Recency in groups ([uvmsmart: eviction-list], order of SL and TBNe), without sorting.
 *
 * Each group has a ring of its units, in the order of their last touches. Groups with units form a sequence in the order of
 * their newest units. A touch makes the unit the newest of its group and the group the newest of all. When a group loses its
 * newest unit, the group becomes as old as its next newest unit, and finds its place in the sequence by that unit's stamp. */
#include "../base/bits_internal.h"
#include "grouped_internal.h"

static uint32_t groups_of(uint32_t units)
{
	return (units - 1u) / UVMP_EVICT_GROUP_UNITS + 1u;
}

static struct grouped *list_of(const struct uvmp_evict *evict)
{
	return (struct grouped *)evict->state;
}

static uint32_t group_of(uint32_t unit)
{
	return unit / UVMP_EVICT_GROUP_UNITS;
}

static uint32_t bit_of(uint32_t unit)
{
	return (uint32_t)1 << unit % UVMP_EVICT_GROUP_UNITS;
}

void uvmpi_by_group_init(struct uvmp_evict *evict)
{
	uint32_t groups = groups_of(evict->units);
	struct grouped *list = list_of(evict);
	uint8_t *memory = (uint8_t *)(list + 1);

	uvmpi_sequence_init(&list->order, groups, memory);
	memory += SEQUENCE_HEAD_BYTES + groups * SEQUENCE_ELEMENT_BYTES;
	list->stamp = (uint64_t *)(void *)memory;
	list->link = (struct recency_link *)(list->stamp + evict->units);
	list->group = (struct group *)(list->link + groups + evict->units);
	list->clock = 0;
	list->begun = 0;
}

/* A link with the number that it has where there are other groups. */
static uint32_t moved(uint32_t at, const struct grouped *from, const struct grouped *to)
{
	return at < from->order.elements ? at : at - from->order.elements + to->order.elements;
}

static void move_link(const struct grouped *from, struct grouped *to, uint32_t at)
{
	const struct recency_link *link = &from->link[at];

	to->link[moved(at, from, to)] =
		(struct recency_link){moved(link->prev, from, to), moved(link->next, from, to)};
}

/* Only listed units have links and stamps that are read. */
void uvmpi_by_group_move(const struct uvmp_evict *from, struct uvmp_evict *to)
{
	const struct grouped *old = list_of(from);
	struct grouped *list = list_of(to);

	uvmpi_sequence_move(&old->order, &list->order, old->begun);
	__builtin_memcpy(list->group, old->group, old->begun * sizeof(*list->group));
	list->clock = old->clock;
	list->begun = old->begun;
	for (uint32_t group = 0; group < old->begun; group++) {
		move_link(old, list, group);
		for (uint32_t units = old->group[group].listed; units != 0; units &= units - 1u) {
			uint32_t unit = group * UVMP_EVICT_GROUP_UNITS + lowest_bit(units);

			list->stamp[unit] = old->stamp[unit];
			move_link(old, list, old->order.elements + unit);
		}
	}
}

bool uvmpi_by_group_is_valid(const struct uvmp_evict *evict)
{
	const struct grouped *list = list_of(evict);

	return uvmpi_sequence_is_valid(&list->order) && list->stamp != NULL && list->link != NULL && list->group != NULL &&
	       list->order.elements == groups_of(evict->units) && list->begun <= list->order.elements &&
	       evict->count <= list->begun * UVMP_EVICT_GROUP_UNITS;
}

bool uvmpi_by_group_contains(const struct uvmp_evict *evict, uint32_t unit)
{
	const struct grouped *list = list_of(evict);
	uint32_t group = group_of(unit);

	return group < list->begun && (list->group[group].listed & bit_of(unit)) != 0;
}

/* -- change -- */

/* Writes the state of the groups up to this one that were never used. */
static void begin(struct grouped *list, uint32_t group)
{
	for (; list->begun <= group; list->begun++) {
		sequence_begin(&list->order, list->begun);
		list->group[list->begun] = (struct group){0, 0};
		list->link[list->begun] = (struct recency_link){list->begun, list->begun};
	}
}

static uint32_t kind_of(const struct group *group)
{
	return (group->listed & ~group->spared) == 0;
}

/* The unit, which is in no ring, becomes the newest of its group. */
static inline void append_unit(struct grouped *list, uint32_t unit)
{
	link_append(list->link, list->order.elements + unit, group_of(unit));
	list->stamp[unit] = list->order.key[group_of(unit)].low = ++list->clock;
}

/* The unit is in the order from now on. */
static UVMPI_NOINLINE enum uvmp_status arrive(struct uvmp_evict *evict, uint32_t unit)
{
	struct grouped *list = list_of(evict);
	uint32_t number = group_of(unit);
	struct group *group = &list->group[number];

	if (number >= list->begun)
		begin(list, number);
	if (group->listed != 0)
		sequence_unlink(&list->order, number);
	group->listed |= bit_of(unit);
	list->order.weight[number]++;
	evict->count++;
	append_unit(list, unit);
	sequence_append(&list->order, number, kind_of(group));
	return UVMP_OK;
}

/* A listed unit is touched whose group has links in several lanes, or a place before or behind a boundary. */
static UVMPI_NOINLINE enum uvmp_status renew(struct grouped *list, uint32_t unit)
{
	uint32_t number = group_of(unit);

	sequence_unlink(&list->order, number);
	link_remove(list->link, list->order.elements + unit);
	append_unit(list, unit);
	sequence_append(&list->order, number, list->order.kind[number]);
	return UVMP_OK;
}

/* Both the unit and its group become the newest. The last touch again changes nothing; units that have entered since have its
 * stamp, too. */
enum uvmp_status uvmpi_by_group_touch(struct uvmp_evict *evict, uint32_t unit)
{
	struct grouped *list = list_of(evict);
	uint32_t number = group_of(unit), at;

	if (number >= list->begun || (list->group[number].listed & bit_of(unit)) == 0)
		return arrive(evict, unit);
	if (list->stamp[unit] == list->clock && list->link[number].prev == list->order.elements + unit)
		return UVMP_OK;
	if (!sequence_is_plain(&list->order, number))
		return renew(list, unit);
	link_remove(list->link, list->order.elements + unit);
	append_unit(list, unit);
	at = list->order.base[0] + number;
	link_remove(list->order.link, at);
	link_append(list->order.link, at, sequence_end(0, list->order.kind[number]));
	return UVMP_OK;
}

/* Is the group at its place: as new as its newest unit, and of its kind? It has a unit. */
static inline bool is_settled(const struct grouped *list, uint32_t number)
{
	uint64_t newest = list->stamp[list->link[number].prev - list->order.elements];

	return newest == list->order.key[number].low && kind_of(&list->group[number]) == list->order.kind[number];
}

/* The group, which has `weight` units now, finds its place. */
static UVMPI_NOINLINE enum uvmp_status settle(struct grouped *list, uint32_t number, uint32_t weight)
{
	if (weight != 0 && is_settled(list, number)) {
		uvmpi_sequence_weigh(&list->order, number, weight);
		return UVMP_OK;
	}
	sequence_unlink(&list->order, number);
	list->order.weight[number] = (uint8_t)weight;
	if (weight != 0) {
		list->order.key[number].low = list->stamp[list->link[number].prev - list->order.elements];
		uvmpi_sequence_insert(&list->order, number, kind_of(&list->group[number]));
	}
	return UVMP_OK;
}

enum uvmp_status uvmpi_by_group_enter(struct uvmp_evict *evict, uint32_t unit)
{
	struct grouped *list = list_of(evict);
	uint32_t number = group_of(unit);

	if (number >= list->begun || list->group[number].listed == 0)
		return arrive(evict, unit);
	list->group[number].listed |= bit_of(unit);
	evict->count++;
	link_append(list->link, list->order.elements + unit, number);
	list->stamp[unit] = list->order.key[number].low;
	return settle(list, number, list->order.weight[number] + 1u);
}

/* The group finds its place once, behind the last removal. Where the units stood on the way is of no consequence. */
enum uvmp_status uvmpi_by_group_remove_set(struct uvmp_evict *evict, uint32_t first, uint32_t units)
{
	struct grouped *list = list_of(evict);
	uint32_t number = group_of(first), weight;

	if (number >= list->begun)
		return UVMP_OK;
	units &= list->group[number].listed;
	if (units == 0)
		return UVMP_OK;
	list->group[number].listed &= ~units;
	weight = list->order.weight[number];
	evict->count -= weight;
	for (; units != 0; units &= units - 1u, weight--)
		link_remove(list->link, list->order.elements + first + lowest_bit(units));
	evict->count += weight;
	if (weight == 0 || list->order.before != 0 || !is_settled(list, number))
		return settle(list, number, weight);
	list->order.weight[number] = (uint8_t)weight;
	return UVMP_OK;
}

enum uvmp_status uvmpi_by_group_remove(struct uvmp_evict *evict, uint32_t unit)
{
	return uvmpi_by_group_remove_set(evict, unit - unit % UVMP_EVICT_GROUP_UNITS, bit_of(unit));
}

enum uvmp_status uvmpi_by_group_forget(struct uvmp_evict *evict, uint32_t unit)
{
	struct grouped *list = list_of(evict);

	(void)uvmpi_by_group_remove(evict, unit);
	if (group_of(unit) < list->begun)
		list->group[group_of(unit)].spared &= ~bit_of(unit);
	return UVMP_OK;
}

void uvmpi_by_group_spare(struct uvmp_evict *evict, uint32_t unit, bool is_spared)
{
	struct grouped *list = list_of(evict);
	uint32_t number = group_of(unit);

	if (number >= list->begun)
		begin(list, number);
	if (is_spared)
		list->group[number].spared |= bit_of(unit);
	else
		list->group[number].spared &= ~bit_of(unit);
	if (list->group[number].listed != 0)
		settle(list, number, list->order.weight[number]);
}

/* -- search -- */

/* Listed units of the group that the walk returns. */
static inline uint32_t wanted(const struct group *group, enum evict_walk walk)
{
	if (walk == EVICT_ANY)
		return group->listed;
	return group->listed & (walk == EVICT_SPARED ? group->spared : ~group->spared);
}

/* The first wanted unit from this link of a group's ring on. */
static inline uint32_t find_in_group(const struct grouped *list, uint32_t number, uint32_t at, enum evict_walk walk)
{
	uint32_t units = wanted(&list->group[number], walk);

	for (; at >= list->order.elements; at = list->link[at].next) {
		if ((units & bit_of(at - list->order.elements)) != 0)
			return at - list->order.elements;
	}
	return UVMP_UNIT_NONE;
}

/* The first wanted unit from this group on. Groups of kind 0 have a unit that is not spared. */
static uint32_t find_from(const struct grouped *list, uint32_t number, enum evict_walk walk)
{
	uint32_t found = UVMP_UNIT_NONE;

	while (number != UVMP_UNIT_NONE && found == UVMP_UNIT_NONE) {
		found = find_in_group(list, number, list->link[number].next, walk);
		number = walk == EVICT_UNSPARED ? sequence_next(&list->order, number)
						: uvmpi_sequence_next(&list->order, number);
	}
	return found;
}

static uint32_t find_first(const struct grouped *list, enum evict_walk walk)
{
	return find_from(list,
			 walk == EVICT_UNSPARED ? sequence_first(&list->order, 0)
						: uvmpi_sequence_first(&list->order),
			 walk);
}

/* The first wanted unit behind the `rank` first units. Spared units are wanted only if no others are behind, so that the first
 * unit behind is one. */
static uint32_t find_behind(struct grouped *list, uint32_t rank, enum evict_walk walk)
{
	uint32_t number, at, found;

	uvmpi_sequence_seek(&list->order, rank);
	number = uvmpi_sequence_first_behind(&list->order);
	at = list->link[number].next;
	for (uint32_t i = list->order.before; i < rank; i++)
		at = list->link[at].next;
	found = find_in_group(list, number, at, walk);
	if (found != UVMP_UNIT_NONE)
		return found;
	if (list->order.kind[number] == 0)
		number = sequence_next(&list->order, number);
	else
		number = uvmpi_sequence_behind(&list->order, 0);
	return find_from(list, number, EVICT_UNSPARED);
}

static uint32_t find_victim(struct grouped *list, uint32_t rank, enum evict_walk walk)
{
	return rank == 0 ? find_first(list, walk) : find_behind(list, rank, walk);
}

/* The general way: behind a reserve, or no unit is not spared, or all units in their order are wanted. */
static UVMPI_NOINLINE enum uvmp_status search(struct grouped *list, uint32_t rank, enum evict_walk walk, uint32_t *unit)
{
	uint32_t found;

	if (walk != EVICT_SPARED_LAST)
		return evict_found(find_victim(list, rank, walk), unit);
	found = find_victim(list, rank, EVICT_UNSPARED);
	return evict_found(found != UVMP_UNIT_NONE ? found : find_victim(list, rank, EVICT_SPARED), unit);
}

enum uvmp_status uvmpi_by_group_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank,
				       enum evict_walk walk, uint32_t used, uint32_t *unit)
{
	struct grouped *list = list_of(evict);
	uint32_t number = sequence_first(&list->order, 0);

	(void)random, (void)used;
	if (rank != 0 || number == UVMP_UNIT_NONE || walk > EVICT_UNSPARED)
		return search(list, rank, walk, unit);
	*unit = find_in_group(list, number, list->link[number].next, EVICT_UNSPARED);
	return UVMP_OK;
}

/* The next wanted unit behind a listed one. */
static uint32_t find_next(const struct grouped *list, uint32_t unit, enum evict_walk walk)
{
	uint32_t number = group_of(unit), found;

	found = find_in_group(list, number, list->link[list->order.elements + unit].next, walk);
	if (found != UVMP_UNIT_NONE)
		return found;
	return find_from(list,
			 walk == EVICT_UNSPARED ? sequence_next(&list->order, number)
						: uvmpi_sequence_next(&list->order, number),
			 walk);
}

enum uvmp_status uvmpi_by_group_next(const struct uvmp_evict *evict, uint64_t *random, enum evict_walk walk,
				     uint32_t *unit)
{
	const struct grouped *list = list_of(evict);
	uint32_t found;

	(void)random;
	if (!uvmpi_by_group_contains(evict, *unit))
		return UVMP_ERR_NO_MEMORY;
	if (walk != EVICT_SPARED_LAST)
		return evict_found(find_next(list, *unit, walk), unit);
	if ((list->group[group_of(*unit)].spared & bit_of(*unit)) != 0)
		return evict_found(find_next(list, *unit, EVICT_SPARED), unit);
	found = find_next(list, *unit, EVICT_UNSPARED);
	return evict_found(found != UVMP_UNIT_NONE ? found : find_first(list, EVICT_SPARED), unit);
}
