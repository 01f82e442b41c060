/* The state of the clock, for evict_clock2m.c and its tests. */
#ifndef UVMPOLICY_EVICT_CLOCK2M_INTERNAL_H
#define UVMPOLICY_EVICT_CLOCK2M_INTERNAL_H

#include "slots_internal.h"

/* Of the first units of a class. */
struct clock_boundary {
	uint32_t at;	/* a slot, or one past the last */
	uint32_t count; /* units of the class in lower slots */
};

struct clock {
	struct slots slots; /* class 0: without a chance; 1: with one */
	uint32_t *unit;	    /* [slots]: of a slot that a class has */
	uint32_t *slot;	    /* [units]; UVMP_UNIT_NONE: the unit is not listed */
	uint32_t begun;	    /* slot[0..begun-1] have been written */
	uint32_t hand;	    /* no unit is in a lower slot */
	uint32_t end;	    /* slots below have been given */
	uint32_t chances;   /* units with a chance */
	struct clock_boundary boundary[SLOT_CLASSES];
	uint64_t memory[]; /* the words of the slots; then unit, slot */
};

#endif
