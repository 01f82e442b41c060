/* lru_stack.h: Mattson's stack distances, in O(log n) an access.
 *
 * The distance of an access is the number of distinct units that were accessed since the last access to the same unit, that
 * unit included: 1 means that nothing else was accessed in between. A memory of C units that evicts the least recently used
 * one hits exactly if the distance is at most C, for every C. So one pass over the accesses answers for all sizes
 * (Mattson, Gecsei, Slutz, Traiger, IBM Systems Journal 9(2), 1970).
 *
 * Each accessed unit owns one slot of a line of slots, in the order of last accesses. A bitmap has a bit for each owned slot,
 * a Fenwick tree the number of bits for each word. If the line is full, the owned slots move together. */
#ifndef UVMSIM_CURVE_LRU_STACK_H
#define UVMSIM_CURVE_LRU_STACK_H

#include <stdbool.h>
#include <stdint.h>

#define LRU_STACK_FIRST UINT64_C(0) /* the unit was never accessed before */

struct lru_stack {
	uint64_t live; /* units that were accessed */
	/* private */
	uint32_t units;
	uint32_t *slot;	      /* by unit: its slot + 1; 0: never accessed */
	uint32_t *owner;      /* by slot */
	uint64_t *owned;      /* bitmap of slots */
	uint32_t *tree;	      /* by word of the bitmap, from 1 on */
	uint32_t slots, next; /* slots: a multiple of 64 */
};

/* For units 0..units - 1. False: out of memory; close it all the same. */
bool lru_stack_open(struct lru_stack *stack, uint32_t units);
/* Units 0..units - 1 may be accessed from now on, at least as many as before. False: out of memory. */
bool lru_stack_grow(struct lru_stack *stack, uint32_t units);
void lru_stack_close(struct lru_stack *stack);
/* The distance of an access to the unit, or LRU_STACK_FIRST. False: out of memory. Memory: 4 bytes a unit, and at most
 * 17 bytes an accessed unit. */
bool lru_stack_access(struct lru_stack *stack, uint32_t unit, uint64_t *distance);

/* How many accesses have had each distance. Starts as zeros. */
struct lru_histogram {
	uint64_t *count; /* by distance, from 1 on; [0]: first accesses */
	uint64_t room, accesses;
};

/* False: out of memory. */
bool lru_histogram_add(struct lru_histogram *histogram, uint64_t distance);
/* Accesses with a distance above `capacity`, without first accesses. Cost: O(greatest distance). */
uint64_t lru_histogram_above(const struct lru_histogram *histogram, uint64_t capacity);
void lru_histogram_close(struct lru_histogram *histogram);

#endif
