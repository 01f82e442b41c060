/* unit_index.h: sparse unit numbers as dense indices, in the order of first use. */
#ifndef UVMSIM_CURVE_UNIT_INDEX_H
#define UVMSIM_CURVE_UNIT_INDEX_H

#include <stdbool.h>
#include <stdint.h>

/* Starts as zeros. */
struct unit_index {
	uint32_t count;
	/* private: open addressing */
	uint32_t *unit;	 /* by index */
	uint32_t *place; /* index + 1; 0: free */
	uint32_t room, places;
};

/* False: out of memory. */
bool unit_index_find(struct unit_index *index, uint32_t unit, uint32_t *at);
void unit_index_close(struct unit_index *index);

#endif
