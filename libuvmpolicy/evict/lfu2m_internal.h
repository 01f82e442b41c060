/* The state of LFU 2 MiB, for evict_lfu2m.c and its tests. */
#ifndef UVMPOLICY_EVICT_LFU2M_INTERNAL_H
#define UVMPOLICY_EVICT_LFU2M_INTERNAL_H

#include "sequence_internal.h"

/* Units by frequency of use, of equals by the stamp of their last touch: the order of UVM Smart's LFU 2 MiB, with frequency =
 * counter * 4 + marks ([uvmsmart: eviction-list]; counter.h has both). Spared units are of kind 1. Key and kind of a unit stay
 * while the unit is not listed.
 *
 * Listed units of one frequency and kind are a class. A touch raises the frequency by one, so that the unit becomes the last one
 * of the next class: the classes name the place, and the sequence need not be searched. */
struct frequency_class {
	uint32_t number; /* of a listed unit: its class */
	uint32_t last;	 /* of a class: its last unit; of a class that is not in use: the next one of these */
};

struct frequency {
	struct sequence order; /* key.high: frequency, key.low: stamp */
	struct frequency_class *class; /* [units], of units and of classes */
	uint32_t classes;	       /* classes 0..classes-1 have been in use */
	uint32_t unused;	       /* the first of these that is not in use; UVMP_UNIT_NONE: none */
	uint64_t clock;
	uint32_t begun; /* the state of units 0..begun-1 has been written */
};

#endif
