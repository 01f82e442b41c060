/* Recency in groups: the functions of orders over basic blocks in trees. */
#ifndef UVMPOLICY_GROUPED_INTERNAL_H
#define UVMPOLICY_GROUPED_INTERNAL_H

#include "sequence_internal.h"

/* Groups of UVMP_EVICT_GROUP_UNITS units in the order of the newest touch of any of their units, and inside a group units in
 * the order of their touches. The first unit of the first group is the victim of UVM Smart's SL and the first victim of TBNe
 * [uvmsmart: eviction-list]. Groups in which a unit is not spared are of kind 0 of the sequence, others of kind 1. */
struct group {
	uint32_t listed; /* bit u: unit u of the group may be evicted */
	uint32_t spared; /* bit u: it is spared, listed or not */
};

struct grouped {
	struct sequence order;	   /* of the groups, by the stamp of their newest unit */
	struct group *group;	   /* [groups] */
	uint64_t *stamp;	   /* [units]: number of the last touch */
	struct recency_link *link; /* [groups + units]: the ends of each group's ring, then the units */
	uint64_t clock;
	uint32_t begun; /* the state of groups 0..begun-1 has been written */
};

/* state_bytes, unit_bytes and group_bytes of the descriptor. */
#define GROUPED_STATE_BYTES (sizeof(struct grouped) + SEQUENCE_HEAD_BYTES)
#define GROUPED_UNIT_BYTES  (sizeof(uint64_t) + sizeof(struct recency_link))
#define GROUPED_GROUP_BYTES (SEQUENCE_ELEMENT_BYTES + sizeof(struct group) + sizeof(struct recency_link))

void uvmpi_by_group_init(struct uvmp_evict *evict);
void uvmpi_by_group_move(const struct uvmp_evict *from, struct uvmp_evict *to);
bool uvmpi_by_group_is_valid(const struct uvmp_evict *evict);
bool uvmpi_by_group_contains(const struct uvmp_evict *evict, uint32_t unit);
/* O(1); a first touch as uvmpi_by_recency_touch. */
enum uvmp_status uvmpi_by_group_touch(struct uvmp_evict *evict, uint32_t unit);
/* Lists the unit behind the newest of its group; the group keeps its place. Without a listed unit the group becomes the newest.
 * O(1). */
enum uvmp_status uvmpi_by_group_enter(struct uvmp_evict *evict, uint32_t unit);
/* O(units of the set); O(log groups) more if the newest unit of the group is in the set, or all that are not spared. */
enum uvmp_status uvmpi_by_group_remove_set(struct uvmp_evict *evict, uint32_t first, uint32_t units);
/* The same for one unit. */
enum uvmp_status uvmpi_by_group_remove(struct uvmp_evict *evict, uint32_t unit);
enum uvmp_status uvmpi_by_group_forget(struct uvmp_evict *evict, uint32_t unit);
/* O(1); O(log groups) if the group becomes one of spared units only, or is no longer. */
void uvmpi_by_group_spare(struct uvmp_evict *evict, uint32_t unit, bool is_spared);
enum uvmp_status uvmpi_by_group_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank,
				       enum evict_walk walk, uint32_t used, uint32_t *unit);
enum uvmp_status uvmpi_by_group_next(const struct uvmp_evict *evict, uint64_t *random, enum evict_walk walk,
				     uint32_t *unit);

#endif
