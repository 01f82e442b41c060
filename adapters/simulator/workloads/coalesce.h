/* coalesce.h: the memory accesses of a warp's load or store, by GPGPU-Sim's rules of compute capability 1.3: one for
 * each segment in which any lane lies, in ascending order. A segment has 128 bytes; 32 or 64 with elements of one or
 * two bytes. */
#ifndef UVMSIM_COALESCE_H
#define UVMSIM_COALESCE_H

#include "workload.h"

/* The bytes [at, end), of elements of 4 bytes or more: how many accesses. 0 bytes have none. */
uint32_t coalesce_run(uint64_t at, uint64_t end);
/* The lanes of the step in hand, in the order of their addresses from now on: slot->accesses[] says how many accesses
 * begin with each, 0 if earlier lanes have all that it wants. */
void coalesce_lanes(struct workload_slot *slot);

#endif
