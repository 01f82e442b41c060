/* Units by frequency of use. Arguments are not checked: the heap is valid, and a unit is below list->units.
 */
#ifndef UVMPOLICY_FREQUENCY_INTERNAL_H
#define UVMPOLICY_FREQUENCY_INTERNAL_H

#include "evict_internal.h"

/* The seldom used unit first, of equals the unit whose last touch is older: the order of UVM Smart's LFU 2
 * MiB, with frequency = counter * 4 + marks ([uvmsmart: eviction-list]; counter.h has both). A binary heap.
 */
struct frequency_key {
	uint64_t frequency;
	uint64_t stamp; /* number of the unit's last touch */
	uint64_t late;	/* 1: behind every unit with 0 (uvmpi_frequency_spare) */
};

struct frequency {
	struct frequency_key *key; /* [units] */
	uint32_t *heap;		   /* units, [units] */
	uint32_t *place;	   /* of a unit in the heap, UVMP_UNIT_NONE if not listed, [units] */
	uint32_t units;		   /* 1..UVMP_UNITS_MAX */
	uint32_t count;		   /* units that are listed */
	uint32_t begun;		   /* keys and places of units 0..begun-1 have been written */
	uint64_t clock;
};

/* Bytes behind the structure, per unit. */
#define FREQUENCY_UNIT_BYTES (sizeof(struct frequency_key) + 2u * sizeof(uint32_t))

/* An empty heap over FREQUENCY_UNIT_BYTES * units bytes, which are not read or written. */
void uvmpi_frequency_init(struct frequency *list, uint32_t units, void *memory);
/* Cheap test of the structure; keys are not looked at. */
bool uvmpi_frequency_is_valid(const struct frequency *list);
static inline bool uvmpi_frequency_contains(const struct frequency *list, uint32_t unit)
{
	return unit < list->begun && list->place[unit] != UVMP_UNIT_NONE;
}
/* The unit was touched and has been used `frequency` times; inserts it if need be. O(log units), as the next
 * three. */
void uvmpi_frequency_touch(struct frequency *list, uint32_t unit, uint64_t frequency);
/* The same without a touch (all counters were halved); no effect if the unit is not listed. */
void uvmpi_frequency_set(struct frequency *list, uint32_t unit, uint64_t frequency);
/* The unit, listed or not, goes behind all others, or among them again; touches do not change that. */
void uvmpi_frequency_spare(struct frequency *list, uint32_t unit, bool is_spared);
/* Takes the unit off; no effect if it is not listed. */
void uvmpi_frequency_remove(struct frequency *list, uint32_t unit);
/* The victim, UVMP_UNIT_NONE if the heap is empty. O(1). */
uint32_t uvmpi_frequency_least(const struct frequency *list);
/* The unit that `rank` listed units precede, UVMP_UNIT_NONE beyond the last. O(1) for rank 0, else O(count):
 * at most 192 comparisons with each. */
uint32_t uvmpi_frequency_at(const struct frequency *list, uint32_t rank);
/* The unit that follows `unit` in the order; UVMP_UNIT_NONE: at the end, or `unit` is not listed. O(units
 * that precede it). */
uint32_t uvmpi_frequency_next(const struct frequency *list, uint32_t unit);

#endif
