/* The state of LFU 2 MiB, for evict_lfu2m.c and its tests. */
#ifndef UVMPOLICY_EVICT_LFU2M_INTERNAL_H
#define UVMPOLICY_EVICT_LFU2M_INTERNAL_H

#include "sequence_internal.h"

/* Units by frequency of use, of equals by the stamp of their last touch: the order of UVM Smart's LFU 2 MiB, with frequency =
 * counter * 4 + marks ([uvmsmart: eviction-list]; counter.h has both). Spared units are of kind 1. Key and kind of a unit stay
 * while the unit is not listed. */
struct frequency {
	struct sequence order; /* key.high: frequency, key.low: stamp */
	uint64_t clock;
	uint32_t begun; /* the state of units 0..begun-1 has been written */
};

#endif
