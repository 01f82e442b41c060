/* Recency in groups, and the functions of orders in groups. Arguments are not checked: the list is valid, and
 * a unit is below list->units. */
#ifndef UVMPOLICY_GROUPED_INTERNAL_H
#define UVMPOLICY_GROUPED_INTERNAL_H

#include "recency_internal.h"

/* Units in groups of equal size, such as basic blocks in trees: groups in the order of the newest touch of
 * any of their units, and inside a group units in the order of their touches. The first unit of the first
 * group is the victim of UVM Smart's SL and the first victim of TBNe [uvmsmart: eviction-list]. */
struct grouped_link {
	uint64_t stamp; /* number of the unit's last touch */
	uint32_t prev;	/* in its group; prev = next = itself: not listed */
	uint32_t next;
};

struct grouped_ends {
	uint32_t head; /* oldest unit of the group, UVMP_UNIT_NONE if it has none */
	uint32_t tail; /* newest */
};

struct grouped {
	struct grouped_link *link; /* [units] */
	struct grouped_ends *ends; /* [groups] */
	struct recency order;	   /* of the groups that have units */
	uint32_t units;		   /* 1..UVMP_UNITS_MAX */
	uint32_t group_units;	   /* per group; unit u is in group u / group_units */
	uint32_t count;		   /* units that are listed */
	uint32_t begun; /* links of units 0..begun-1, and the ends of their groups, have been written */
	uint64_t clock;
};

/* Bytes behind the structure: per unit, and per group that has begun. */
#define GROUPED_UNIT_BYTES  sizeof(struct grouped_link)
#define GROUPED_GROUP_BYTES (sizeof(struct grouped_ends) + sizeof(struct recency_link))

/* An empty list; `memory`, aligned to 8, is not read or written. */
void uvmpi_grouped_init(struct grouped *list, uint32_t units, uint32_t group_units, void *memory);
/* Cheap test of the structure; links are not walked. */
bool uvmpi_grouped_is_valid(const struct grouped *list);
static inline bool uvmpi_grouped_contains(const struct grouped *list, uint32_t unit)
{
	return unit < list->begun && list->link[unit].next != unit;
}
/* Makes the unit the newest of its group, and its group the newest; inserts the unit if need be. O(1); a
 * first touch as uvmpi_recency_touch. */
void uvmpi_grouped_touch(struct grouped *list, uint32_t unit);
/* Takes a listed unit off the list. O(1); for the newest unit of its group, without which the group is older:
 * O(groups whose newest touch is between). The first group has no older ones, so that taking victims is
 * always O(1). */
void uvmpi_grouped_take_off(struct grouped *list, uint32_t unit);
/* The victim, UVMP_UNIT_NONE if the list is empty. O(1). */
uint32_t uvmpi_grouped_oldest(const struct grouped *list);
/* The unit that follows `unit` in the order: of its group, then the first of the next group. UVMP_UNIT_NONE:
 * at the end, or `unit` is not listed. O(1). */
uint32_t uvmpi_grouped_next(const struct grouped *list, uint32_t unit);

/* Functions of an order whose state is a struct grouped, with groups of UVMP_EVICT_GROUP_UNITS units. */
void uvmpi_by_group_init(struct uvmp_evict *evict);
bool uvmpi_by_group_is_valid(const struct uvmp_evict *evict);
bool uvmpi_by_group_contains(const struct uvmp_evict *evict, uint32_t unit);
void uvmpi_by_group_touch(struct uvmp_evict *evict, uint32_t unit);
void uvmpi_by_group_remove(struct uvmp_evict *evict, uint32_t unit);
enum uvmp_status uvmpi_by_group_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank,
				       uint32_t *unit);
enum uvmp_status uvmpi_by_group_next(const struct uvmp_evict *evict, uint64_t *random, uint32_t *unit);

#endif
