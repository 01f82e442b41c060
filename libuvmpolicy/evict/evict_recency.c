/* A doubly linked list in an array: unit u is link[u]. Touching unlinks a unit and appends it at the tail, so
 * the head is always the unit whose last touch is oldest. A unit that is not listed points at itself, which
 * no listed unit can. */
#include "recency_internal.h"

void uvmpi_recency_init(struct recency *list, struct recency_link *link, uint32_t units)
{
	*list = (struct recency){
		.link = link, .units = units, .head = UVMP_UNIT_NONE, .tail = UVMP_UNIT_NONE};
}

bool uvmpi_recency_is_valid(const struct recency *list)
{
	if (list->link == NULL || list->units > UVMP_UNITS_MAX || list->begun > list->units ||
	    list->count > list->begun)
		return false;
	if (list->count == 0)
		return list->units != 0 && list->head == UVMP_UNIT_NONE && list->tail == UVMP_UNIT_NONE;
	return list->head < list->begun && list->tail < list->begun;
}

void uvmpi_recency_take_off(struct recency *list, uint32_t unit)
{
	struct recency_link *link = &list->link[unit];

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

void uvmpi_recency_touch(struct recency *list, uint32_t unit)
{
	if (uvmpi_recency_contains(list, unit))
		uvmpi_recency_take_off(list, unit);
	for (; list->begun <= unit; list->begun++)
		list->link[list->begun] = (struct recency_link){list->begun, list->begun};
	list->link[unit].prev = list->tail;
	list->link[unit].next = UVMP_UNIT_NONE;
	if (list->tail == UVMP_UNIT_NONE)
		list->head = unit;
	else
		list->link[list->tail].next = unit;
	list->tail = unit;
	list->count++;
}

/* -- orders by recency -- */

static struct recency *list_of(const struct uvmp_evict *evict)
{
	return evict->state;
}

void uvmpi_by_recency_init(struct uvmp_evict *evict)
{
	uvmpi_recency_init(list_of(evict), (void *)(list_of(evict) + 1), evict->units);
}

bool uvmpi_by_recency_is_valid(const struct uvmp_evict *evict)
{
	const struct recency *list = list_of(evict);

	return uvmpi_recency_is_valid(list) && list->units == evict->units && list->count == evict->count;
}

bool uvmpi_by_recency_contains(const struct uvmp_evict *evict, uint32_t unit)
{
	return uvmpi_recency_contains(list_of(evict), unit);
}

void uvmpi_by_recency_touch(struct uvmp_evict *evict, uint32_t unit)
{
	uvmpi_recency_touch(list_of(evict), unit);
	evict->count = list_of(evict)->count;
}

void uvmpi_by_recency_remove(struct uvmp_evict *evict, uint32_t unit)
{
	if (uvmpi_recency_contains(list_of(evict), unit))
		uvmpi_recency_take_off(list_of(evict), unit);
	evict->count = list_of(evict)->count;
}

enum uvmp_status uvmpi_by_recency_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank,
					 uint32_t *unit)
{
	(void)random;
	*unit = list_of(evict)->head;
	while (rank-- > 0)
		*unit = uvmpi_recency_next(list_of(evict), *unit);
	return UVMP_OK;
}

enum uvmp_status uvmpi_by_recency_next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit)
{
	(void)random;
	return evict_found(uvmpi_recency_next(list_of(evict), *unit), unit);
}
