/* A doubly linked list in an array: unit u is link[u]. Touching unlinks a unit and appends it at the tail, so
 * the head is always the one whose last touch is oldest. "Not on the list" is a unit that points at itself,
 * which no listed unit can. */
#include "evict_internal.h"

enum uvmp_status uvmp_recency_init(struct uvmp_recency *list, struct uvmp_recency_link *link, uint32_t units)
{
	if (list == NULL || link == NULL)
		return UVMP_ERR_ARGUMENT;
	if (units == 0 || units > UVMP_UNITS_MAX)
		return UVMP_ERR_RANGE;
	list->link = link;
	list->units = units;
	list->begun = 0;
	list->head = list->tail = UVMP_UNIT_NONE;
	list->count = 0;
	return UVMP_OK;
}

bool uvmp_recency_is_valid(const struct uvmp_recency *list)
{
	if (list == NULL || list->link == NULL || list->units > UVMP_UNITS_MAX ||
	    list->begun > list->units || list->count > list->begun)
		return false;
	if (list->count == 0)
		return list->units != 0 && list->head == UVMP_UNIT_NONE && list->tail == UVMP_UNIT_NONE;
	return list->head < list->begun && list->tail < list->begun;
}

bool uvmp_recency_contains(const struct uvmp_recency *list, uint32_t unit)
{
	return uvmp_recency_is_valid(list) && uvmp_recency_is_listed(list, unit);
}

void uvmp_recency_take_off(struct uvmp_recency *list, uint32_t unit)
{
	struct uvmp_recency_link *link = &list->link[unit];

	if (link->prev == UVMP_UNIT_NONE)
		list->head = link->next;
	else
		list->link[link->prev].next = link->next;
	if (link->next == UVMP_UNIT_NONE)
		list->tail = link->prev;
	else
		list->link[link->next].prev = link->prev;
	link->prev = link->next = unit;
	list->count--;
}

void uvmp_recency_remove(struct uvmp_recency *list, uint32_t unit)
{
	if (uvmp_recency_contains(list, unit))
		uvmp_recency_take_off(list, unit);
}

void uvmp_recency_touch(struct uvmp_recency *list, uint32_t unit)
{
	if (!uvmp_recency_is_valid(list) || unit >= list->units)
		return;
	if (uvmp_recency_is_listed(list, unit))
		uvmp_recency_take_off(list, unit);
	for (; list->begun <= unit; list->begun++)
		list->link[list->begun] = (struct uvmp_recency_link){list->begun, list->begun};
	list->link[unit].prev = list->tail;
	list->link[unit].next = UVMP_UNIT_NONE;
	if (list->tail == UVMP_UNIT_NONE)
		list->head = unit;
	else
		list->link[list->tail].next = unit;
	list->tail = unit;
	list->count++;
}

uint32_t uvmp_recency_next(const struct uvmp_recency *list, uint32_t unit)
{
	return uvmp_recency_contains(list, unit) ? list->link[unit].next : UVMP_UNIT_NONE;
}
