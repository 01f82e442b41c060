/* The recency list, and the functions of orders by recency. Arguments are not checked: the list is valid, and
 * a unit is below list->units. Every operation is O(1). */
#ifndef UVMPOLICY_RECENCY_INTERNAL_H
#define UVMPOLICY_RECENCY_INTERNAL_H

#include "evict_internal.h"

/* A doubly linked list of units 0..units-1, oldest at the head. A unit that is not listed has prev = next =
 * itself. Memory of a unit is written when this unit or a later one is touched first, so that a list for many
 * units costs what the units in use cost. */
struct recency_link {
	uint32_t prev;
	uint32_t next;
};

struct recency {
	struct recency_link *link; /* [units] */
	uint32_t units;		   /* 1..UVMP_UNITS_MAX */
	uint32_t head;		   /* oldest, UVMP_UNIT_NONE when empty */
	uint32_t tail;		   /* newest */
	uint32_t count;
	uint32_t begun; /* links of units 0..begun-1 have been written */
};

/* An empty list; `link` is not read or written. */
void uvmpi_recency_init(struct recency *list, struct recency_link *link, uint32_t units);
/* Cheap test of the structure; links are not walked. */
bool uvmpi_recency_is_valid(const struct recency *list);
static inline bool uvmpi_recency_contains(const struct recency *list, uint32_t unit)
{
	return unit < list->begun && list->link[unit].next != unit;
}
/* Makes the unit the newest, and inserts it if need be. The first touch of a unit is O(units before it that
 * were not touched yet). */
void uvmpi_recency_touch(struct recency *list, uint32_t unit);
/* Takes a listed unit off the list. */
void uvmpi_recency_take_off(struct recency *list, uint32_t unit);
/* The next newer unit; UVMP_UNIT_NONE: at the end, or `unit` is not listed. */
static inline uint32_t uvmpi_recency_next(const struct recency *list, uint32_t unit)
{
	return uvmpi_recency_contains(list, unit) ? list->link[unit].next : UVMP_UNIT_NONE;
}

/* Functions of an order whose state begins with a struct recency; the links follow the state. */
void uvmpi_by_recency_init(struct uvmp_evict *evict);
bool uvmpi_by_recency_is_valid(const struct uvmp_evict *evict);
bool uvmpi_by_recency_contains(const struct uvmp_evict *evict, uint32_t unit);
void uvmpi_by_recency_touch(struct uvmp_evict *evict, uint32_t unit);
void uvmpi_by_recency_remove(struct uvmp_evict *evict, uint32_t unit);
enum uvmp_status uvmpi_by_recency_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank,
					 uint32_t *unit);
enum uvmp_status uvmpi_by_recency_next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit);

#endif
