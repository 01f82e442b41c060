/* belady.h: how often Belady's optimum (MIN: evict the unit that is needed again last) misses in a memory of one size,
 * counted while the accesses go by: without knowing the future, and with state per unit, never per access.
 *
 * A unit moves as a whole: a page, a big page, a VABlock. Units are numbers from 0 on. */
#ifndef UVMSIM_BELADY_H
#define UVMSIM_BELADY_H

#include <stdbool.h>
#include <stdint.h>

#define BELADY_LEVELS	  6u /* of a tree with 64 children a node: enough for 32-bit slots */
#define BELADY_UNITS_MAX  (1u << 30)
#define BELADY_WEIGHT_MAX 512u

struct belady {
	uint64_t places; /* units that fit into memory, at least 1 */
	/* private; see belady.c */
	uint32_t units, room;
	uint32_t *slot;	 /* by unit */
	uint32_t *owner; /* by slot */
	uint64_t *start
		[BELADY_LEVELS]; /* slots at which a layer starts, as a bitmap, and where that is not empty */
	uint32_t slots, next_slot;
	uint64_t layers;
};

enum belady_result {
	BELADY_HIT = 0,
	BELADY_MISS,  /* again, after it was evicted or taken */
	BELADY_FIRST, /* never accessed before: also a miss */
};

void belady_open(struct belady *belady, uint64_t places);
void belady_close(struct belady *belady);
/* Units 0..units - 1 may be accessed from now on. False: out of memory, or more than BELADY_UNITS_MAX. */
bool belady_grow(struct belady *belady, uint32_t units);
enum belady_result belady_access(struct belady *belady, uint32_t unit);
/* Another owner takes the unit, resident or not: its next access misses. */
void belady_take(struct belady *belady, uint32_t unit);

/* What memory holds in the end is a choice among units of which the optimum need not decide: here the one whose
 * weights have the greatest sum, counting only units of a weight above 0 (at most BELADY_WEIGHT_MAX). */
struct belady_rest {
	uint64_t units, weight;
};
struct belady_rest belady_rest(const struct belady *belady,
			       uint32_t (*weight)(const void *context, uint32_t unit), const void *context);

#endif
