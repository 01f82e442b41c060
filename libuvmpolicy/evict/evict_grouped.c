/* Recency in groups ([uvmsmart: eviction-list], order of SL and TBNe), without sorting.
 *
 * Each group has a list of its units, in the order of their last touches. Groups with units form a recency
 * list of groups. A touch makes the unit the newest of its group and the group the newest of all: the touch
 * appends to two lists. When a group loses its newest unit, the group becomes as old as its next newest unit,
 * and moves towards the head past the groups that were touched since, by the stamps of the units. */
#include "grouped_internal.h"

static uint32_t groups_of(uint32_t units, uint32_t group_units)
{
	return (units - 1u) / group_units + 1u;
}

void uvmpi_grouped_init(struct grouped *list, uint32_t units, uint32_t group_units, void *memory)
{
	uint32_t groups = groups_of(units, group_units);

	*list = (struct grouped){.link = memory, .units = units, .group_units = group_units};
	list->ends = (void *)(list->link + units);
	uvmpi_recency_init(&list->order, (void *)(list->ends + groups), groups);
}

bool uvmpi_grouped_is_valid(const struct grouped *list)
{
	return list->link != NULL && list->ends != NULL && list->group_units != 0 && list->units != 0 &&
	       uvmpi_recency_is_valid(&list->order) &&
	       list->order.units == groups_of(list->units, list->group_units) && list->begun <= list->units &&
	       list->count <= list->begun && list->count >= list->order.count;
}

/* Takes a listed unit out of its group's list. */
static void unlink_unit(struct grouped *list, struct grouped_ends *ends, uint32_t unit)
{
	struct grouped_link *link = &list->link[unit];

	if (link->prev == UVMP_UNIT_NONE)
		ends->head = link->next;
	else
		list->link[link->prev].next = link->next;
	if (link->next == UVMP_UNIT_NONE)
		ends->tail = link->prev;
	else
		list->link[link->next].prev = link->prev;
	link->prev = link->next = unit;
	list->count--;
}

/* Writes the links up to the unit's that were never used. */
static void begin(struct grouped *list, uint32_t unit)
{
	for (; list->begun <= unit; list->begun++) {
		list->link[list->begun] = (struct grouped_link){0, list->begun, list->begun};
		if (list->begun % list->group_units == 0)
			list->ends[list->begun / list->group_units] =
				(struct grouped_ends){UVMP_UNIT_NONE, UVMP_UNIT_NONE};
	}
}

void uvmpi_grouped_touch(struct grouped *list, uint32_t unit)
{
	struct grouped_ends *ends;

	begin(list, unit);
	ends = &list->ends[unit / list->group_units];
	if (list->link[unit].next != unit)
		unlink_unit(list, ends, unit);
	list->link[unit] = (struct grouped_link){++list->clock, ends->tail, UVMP_UNIT_NONE};
	if (ends->tail == UVMP_UNIT_NONE)
		ends->head = unit;
	else
		list->link[ends->tail].next = unit;
	ends->tail = unit;
	list->count++;
	uvmpi_recency_touch(&list->order, unit / list->group_units);
}

static uint64_t newest(const struct grouped *list, uint32_t group)
{
	return list->link[list->ends[group].tail].stamp;
}

/* The group has become older: it goes behind the first group towards the head that is older still. */
static void settle(struct grouped *list, uint32_t group)
{
	struct recency *order = &list->order;
	uint32_t before = order->link[group].prev, behind = group;

	while (before != UVMP_UNIT_NONE && newest(list, before) > newest(list, group)) {
		behind = before;
		before = order->link[before].prev;
	}
	if (behind == group)
		return;
	uvmpi_recency_take_off(order, group);
	order->link[group] = (struct recency_link){before, behind};
	order->link[behind].prev = group;
	if (before == UVMP_UNIT_NONE)
		order->head = group;
	else
		order->link[before].next = group;
	order->count++;
}

void uvmpi_grouped_take_off(struct grouped *list, uint32_t unit)
{
	uint32_t group = unit / list->group_units;
	bool was_newest = list->ends[group].tail == unit;

	unlink_unit(list, &list->ends[group], unit);
	if (list->ends[group].tail == UVMP_UNIT_NONE)
		uvmpi_recency_take_off(&list->order, group);
	else if (was_newest)
		settle(list, group);
}

uint32_t uvmpi_grouped_next(const struct grouped *list, uint32_t unit)
{
	uint32_t next, group;

	if (!uvmpi_grouped_contains(list, unit))
		return UVMP_UNIT_NONE;
	next = list->link[unit].next;
	if (next != UVMP_UNIT_NONE)
		return next;
	group = uvmpi_recency_next(&list->order, unit / list->group_units);
	return group != UVMP_UNIT_NONE ? list->ends[group].head : UVMP_UNIT_NONE;
}

uint32_t uvmpi_grouped_oldest(const struct grouped *list)
{
	return list->count != 0 ? list->ends[list->order.head].head : UVMP_UNIT_NONE;
}

/* -- orders in groups -- */

static struct grouped *list_of(const struct uvmp_evict *evict)
{
	return evict->state;
}

void uvmpi_by_group_init(struct uvmp_evict *evict)
{
	uvmpi_grouped_init(list_of(evict), evict->units, UVMP_EVICT_GROUP_UNITS, list_of(evict) + 1);
}

bool uvmpi_by_group_is_valid(const struct uvmp_evict *evict)
{
	const struct grouped *list = list_of(evict);

	return uvmpi_grouped_is_valid(list) && list->units == evict->units &&
	       list->group_units == UVMP_EVICT_GROUP_UNITS && list->count == evict->count;
}

bool uvmpi_by_group_contains(const struct uvmp_evict *evict, uint32_t unit)
{
	return uvmpi_grouped_contains(list_of(evict), unit);
}

void uvmpi_by_group_touch(struct uvmp_evict *evict, uint32_t unit)
{
	uvmpi_grouped_touch(list_of(evict), unit);
	evict->count = list_of(evict)->count;
}

void uvmpi_by_group_remove(struct uvmp_evict *evict, uint32_t unit)
{
	if (uvmpi_grouped_contains(list_of(evict), unit))
		uvmpi_grouped_take_off(list_of(evict), unit);
	evict->count = list_of(evict)->count;
}

enum uvmp_status uvmpi_by_group_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank,
				       uint32_t *unit)
{
	(void)random;
	*unit = uvmpi_grouped_oldest(list_of(evict));
	while (rank-- > 0)
		*unit = uvmpi_grouped_next(list_of(evict), *unit);
	return UVMP_OK;
}

enum uvmp_status uvmpi_by_group_next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit)
{
	(void)random;
	return evict_found(uvmpi_grouped_next(list_of(evict), *unit), unit);
}
