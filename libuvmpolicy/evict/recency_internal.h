/* The recency list, and the functions of orders by recency. Arguments are not checked: the list is valid, and
 * a unit is below list->units. Every operation is O(1). */
#ifndef UVMPOLICY_RECENCY_INTERNAL_H
#define UVMPOLICY_RECENCY_INTERNAL_H

#include "evict_internal.h"

/* A doubly linked list of units 0..units-1, oldest first, closed to a ring. Link 0 is the end of the list: it follows the
 * newest unit and precedes the oldest. Unit u has link u + 1, so that UVMP_UNIT_NONE has link 0. A unit that is not listed
 * points at its own link. Memory of a unit is written when this unit or a later one is touched first, so that a list for many
 * units costs what the units in use cost. */
struct recency_link {
	uint32_t prev;
	uint32_t next;
};

struct recency {
	struct recency_link *link; /* [units + 1] */
	uint32_t units;		   /* 1..UVMP_UNITS_MAX */
	uint32_t begun;		   /* links of units 0..begun-1 have been written */
};

/* -- rings of links -- */

static inline void link_remove(struct recency_link *link, uint32_t at)
{
	uint32_t prev = link[at].prev, next = link[at].next;

	link[prev].next = next;
	link[next].prev = prev;
}

/* `at` is in no ring. */
static inline void link_insert(struct recency_link *link, uint32_t at, uint32_t prev)
{
	uint32_t next = link[prev].next;

	link[at] = (struct recency_link){prev, next};
	link[prev].next = at;
	link[next].prev = at;
}

/* As the newest of the ring with this end. */
static inline void link_append(struct recency_link *link, uint32_t at, uint32_t end)
{
	uint32_t prev = link[end].prev;

	link[at] = (struct recency_link){prev, end};
	link[prev].next = at;
	link[end].prev = at;
}

/* -- the list -- */

/* An empty list; only link[0] is written. */
static inline void uvmpi_recency_init(struct recency *list, struct recency_link *link, uint32_t units)
{
	*list = (struct recency){.link = link, .units = units};
	link[0] = (struct recency_link){0, 0};
}
/* Cheap test of the structure, which lists `count` units; links are not walked. */
bool uvmpi_recency_is_valid(const struct recency *list, uint32_t count);
/* Writes the links up to the unit's that were never used. */
void uvmpi_recency_begin(struct recency *list, uint32_t unit);
static inline bool uvmpi_recency_contains(const struct recency *list, uint32_t unit)
{
	return unit < list->begun && list->link[unit + 1u].next != unit + 1u;
}
/* Makes the unit the newest, and inserts it if need be. Returns whether the unit was listed. The first touch of a unit is
 * O(units before it that were not touched yet). */
static inline bool uvmpi_recency_touch(struct recency *list, uint32_t unit)
{
	uint32_t at = unit + 1u;
	bool was_listed;

	if (unit >= list->begun)
		uvmpi_recency_begin(list, unit);
	was_listed = list->link[at].next != at;
	link_remove(list->link, at); /* of a unit that is not listed: no effect */
	link_append(list->link, at, 0);
	return was_listed;
}
/* Takes a listed unit off the list. */
static inline void uvmpi_recency_take_off(struct recency *list, uint32_t unit)
{
	uint32_t at = unit + 1u;

	link_remove(list->link, at);
	list->link[at] = (struct recency_link){at, at};
}
/* UVMP_UNIT_NONE: the list is empty. */
static inline uint32_t uvmpi_recency_oldest(const struct recency *list)
{
	return list->link[0].next - 1u;
}
/* The neighbours of a listed unit; UVMP_UNIT_NONE: none. */
static inline uint32_t uvmpi_recency_newer(const struct recency *list, uint32_t unit)
{
	return list->link[unit + 1u].next - 1u;
}
static inline uint32_t uvmpi_recency_older(const struct recency *list, uint32_t unit)
{
	return list->link[unit + 1u].prev - 1u;
}
/* The next newer unit; UVMP_UNIT_NONE: at the end, or `unit` is not listed. */
static inline uint32_t uvmpi_recency_next(const struct recency *list, uint32_t unit)
{
	return uvmpi_recency_contains(list, unit) ? uvmpi_recency_newer(list, unit) : UVMP_UNIT_NONE;
}

/* Copies the links to a list that was set up for as many units or more. */
void uvmpi_recency_move(const struct recency *from, struct recency *to);

/* -- orders by recency -- */

/* The state of such an order. The `cold` oldest units are marked, so that a unit that leaves its place tells whether it was
 * one of them. A victim behind a reserve moves the boundary by as many units as have left or come since. */
struct by_recency {
	struct recency list;
	uint8_t *is_cold;	    /* [units] */
	uint32_t cold;		    /* units before the boundary; 0 until there is a reserve */
	uint32_t last;		    /* link of the newest of them; 0: none */
	uint32_t direct;	    /* units below have been begun, and none is cold */
	struct recency_link link[]; /* [units + 1], then is_cold */
};

/* state_bytes and unit_bytes of the descriptor. */
#define BY_RECENCY_STATE_BYTES (sizeof(struct by_recency) + sizeof(struct recency_link))
#define BY_RECENCY_UNIT_BYTES  (sizeof(struct recency_link) + sizeof(uint8_t))

void uvmpi_by_recency_init(struct uvmp_evict *evict);
void uvmpi_by_recency_move(const struct uvmp_evict *from, struct uvmp_evict *to);
bool uvmpi_by_recency_is_valid(const struct uvmp_evict *evict);
bool uvmpi_by_recency_contains(const struct uvmp_evict *evict, uint32_t unit);
enum uvmp_status uvmpi_by_recency_touch(struct uvmp_evict *evict, uint32_t unit);
enum uvmp_status uvmpi_by_recency_remove(struct uvmp_evict *evict, uint32_t unit);
enum uvmp_status uvmpi_by_recency_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank,
					 enum evict_walk walk, uint32_t used, uint32_t *unit);
enum uvmp_status uvmpi_by_recency_next(const struct uvmp_evict *evict, uint64_t *random, enum evict_walk walk,
				       uint32_t *unit);

/* The functions of an order by recency, of which `touch_` may be its own. */
#define BY_RECENCY_FUNCTIONS(touch_)                                                                         \
	EVICT_FUNCTIONS(uvmpi_by_recency_init, uvmpi_by_recency_move, uvmpi_by_recency_is_valid,             \
			uvmpi_by_recency_contains, touch_, uvmpi_by_recency_remove, uvmpi_by_recency_victim, \
			uvmpi_by_recency_next)

#endif
