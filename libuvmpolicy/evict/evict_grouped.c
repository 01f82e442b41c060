/* Recency in groups ([uvmsmart: eviction-list], order of SL and TBNe), without sorting.
 *
 * Each group has a list of its units, in the order of their last touches; the groups that have any stand in a
 * recency list of their own. A touch makes the unit the newest of its group and the group the newest of all:
 * two lists to append to. When a group loses its newest unit it becomes as old as the next newest, and moves
 * towards the head past those groups that were touched since; the units' stamps tell. */
#include "evict_internal.h"

static uint32_t groups_of(uint32_t units, uint32_t group_units)
{
	return (units - 1u) / group_units + 1u;
}

size_t uvmp_grouped_size(uint32_t units, uint32_t group_units)
{
	uint64_t bytes;

	if (units == 0 || units > UVMP_UNITS_MAX || group_units == 0)
		return 0;
	bytes = (uint64_t)units * sizeof(struct uvmp_grouped_link) +
	        (uint64_t)groups_of(units, group_units) *
	                (sizeof(struct uvmp_grouped_ends) + sizeof(struct uvmp_recency_link));
	return (size_t)bytes * ((size_t)bytes == bytes);
}

enum uvmp_status uvmp_grouped_init(struct uvmp_grouped *list, uint32_t units, uint32_t group_units,
                                   void *memory, size_t bytes)
{
	size_t wanted = uvmp_grouped_size(units, group_units);
	uint32_t groups;

	if (list == NULL || memory == NULL || (uintptr_t)memory % sizeof(uint64_t) != 0)
		return UVMP_ERR_ARGUMENT;
	if (wanted == 0)
		return UVMP_ERR_RANGE;
	if (bytes < wanted)
		return UVMP_ERR_SPACE;
	groups = groups_of(units, group_units);
	*list = (struct uvmp_grouped){.link = memory, .units = units, .group_units = group_units};
	list->ends = (void *)(list->link + units);
	(void)uvmp_recency_init(&list->order, (void *)(list->ends + groups), groups);
	return UVMP_OK;
}

bool uvmp_grouped_is_valid(const struct uvmp_grouped *list)
{
	return list != NULL && list->link != NULL && list->ends != NULL && list->group_units != 0 &&
	       list->units != 0 && uvmp_recency_is_valid(&list->order) &&
	       list->order.units == groups_of(list->units, list->group_units) &&
	       list->begun <= list->units && list->count <= list->begun &&
	       list->count >= list->order.count;
}

/* Takes a listed unit out of its group's list. */
static void unlink_unit(struct uvmp_grouped *list, struct uvmp_grouped_ends *ends, uint32_t unit)
{
	struct uvmp_grouped_link *link = &list->link[unit];

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

bool uvmp_grouped_contains(const struct uvmp_grouped *list, uint32_t unit)
{
	return uvmp_grouped_is_valid(list) && uvmp_grouped_is_listed(list, unit);
}

/* Writes the links up to the unit's that were never used. */
static void begin(struct uvmp_grouped *list, uint32_t unit)
{
	for (; list->begun <= unit; list->begun++) {
		list->link[list->begun] = (struct uvmp_grouped_link){0, list->begun, list->begun};
		if (list->begun % list->group_units == 0)
			list->ends[list->begun / list->group_units] =
			        (struct uvmp_grouped_ends){UVMP_UNIT_NONE, UVMP_UNIT_NONE};
	}
}

void uvmp_grouped_touch(struct uvmp_grouped *list, uint32_t unit)
{
	struct uvmp_grouped_ends *ends;

	if (!uvmp_grouped_is_valid(list) || unit >= list->units)
		return;
	begin(list, unit);
	ends = &list->ends[unit / list->group_units];
	if (list->link[unit].next != unit)
		unlink_unit(list, ends, unit);
	list->link[unit] = (struct uvmp_grouped_link){++list->clock, ends->tail, UVMP_UNIT_NONE};
	if (ends->tail == UVMP_UNIT_NONE)
		ends->head = unit;
	else
		list->link[ends->tail].next = unit;
	ends->tail = unit;
	list->count++;
	uvmp_recency_touch(&list->order, unit / list->group_units);
}

static uint64_t newest(const struct uvmp_grouped *list, uint32_t group)
{
	return list->link[list->ends[group].tail].stamp;
}

/* The group has become older: it goes behind the first group towards the head that is older still. */
static void settle(struct uvmp_grouped *list, uint32_t group)
{
	struct uvmp_recency *order = &list->order;
	uint32_t before = order->link[group].prev, behind = group;

	while (before != UVMP_UNIT_NONE && newest(list, before) > newest(list, group)) {
		behind = before;
		before = order->link[before].prev;
	}
	if (behind == group)
		return;
	uvmp_recency_take_off(order, group);
	order->link[group] = (struct uvmp_recency_link){before, behind};
	order->link[behind].prev = group;
	if (before == UVMP_UNIT_NONE)
		order->head = group;
	else
		order->link[before].next = group;
	order->count++;
}

void uvmp_grouped_take_off(struct uvmp_grouped *list, uint32_t unit)
{
	uint32_t group = unit / list->group_units;
	bool was_newest = list->ends[group].tail == unit;

	unlink_unit(list, &list->ends[group], unit);
	if (list->ends[group].tail == UVMP_UNIT_NONE)
		uvmp_recency_take_off(&list->order, group);
	else if (was_newest)
		settle(list, group);
}

void uvmp_grouped_remove(struct uvmp_grouped *list, uint32_t unit)
{
	if (uvmp_grouped_contains(list, unit))
		uvmp_grouped_take_off(list, unit);
}

uint32_t uvmp_grouped_next(const struct uvmp_grouped *list, uint32_t unit)
{
	uint32_t next, group;

	if (!uvmp_grouped_contains(list, unit))
		return UVMP_UNIT_NONE;
	next = list->link[unit].next;
	if (next != UVMP_UNIT_NONE)
		return next;
	group = uvmp_recency_next(&list->order, unit / list->group_units);
	return group != UVMP_UNIT_NONE ? list->ends[group].head : UVMP_UNIT_NONE;
}

uint32_t uvmp_grouped_oldest(const struct uvmp_grouped *list)
{
	if (!uvmp_grouped_is_valid(list) || list->count == 0)
		return UVMP_UNIT_NONE;
	return list->ends[list->order.head].head;
}
