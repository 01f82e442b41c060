/* Tables of a GPU with a page-wise order: what is kept for each number of a block, and for each unit. */
#ifndef UVMPOLICY_UNIT_TABLES_INTERNAL_H
#define UVMPOLICY_UNIT_TABLES_INTERNAL_H

#include "memory_internal.h"

/* Units of so many blocks. */
uint64_t uvmpi_unit_tables_units(const struct uvmp_policy *policy, uint32_t blocks);
/* Bytes for so many blocks; 0: the order cannot have so many units, or size_t is narrower than the size. */
size_t uvmpi_unit_tables_size(const struct uvmp_policy *policy, uint32_t blocks);
/* Sets up the tables of the GPU, whose memory and units are known. Writes only what does not grow with the blocks, but for
 * cyclic=on. */
enum uvmp_status uvmpi_unit_tables_init(struct gpu *g, const struct uvmp_policy *policy, uint32_t blocks,
					uint8_t *memory);
/* Bytes of arena for tables of twice as many blocks; 0: the order cannot have so many. */
size_t uvmpi_unit_tables_more(const struct uvmp_service *s, const struct gpu *g);
/* Moves the tables to arena memory for twice as many blocks. The former tables stay unused in the arena. False: the arena is
 * full, or the order cannot have so many. O(blocks that were ever used), cyclic=on, threads=on: O(blocks). */
bool uvmpi_unit_tables_grow(struct uvmp_service *s, struct gpu *g);

#endif
