/* Relations between processors, without checks: the relations are valid, and `processor` is below their count. */
#ifndef UVMPOLICY_PROCESSOR_INTERNAL_H
#define UVMPOLICY_PROCESSOR_INTERNAL_H

#include "bits_internal.h"
#include "uvmpolicy/processor.h"

/* What is wrong with a relation. */
struct processors_fault {
	const char *name; /* of the field */
	uint32_t row;	  /* of a relation; UVMP_PROC_NONE: the field has no rows */
	uint64_t value;
	const char *why; /* NULL: a number out of range */
};
/* uvmp_processors_is_valid; false: *fault says what is wrong. */
bool uvmpi_processors_check(const struct uvmp_processors *processors, struct processors_fault *fault);

/* As uvmp_accessible_from. */
uint64_t uvmpi_accessible_from(const struct uvmp_processors *processors, uint32_t processor);
/* As uvmp_closest_processor; all candidates exist. */
uint32_t uvmpi_closest_of_many(const struct uvmp_processors *processors, uint32_t processor, uint64_t candidates);

/* The same. Most pages have one holder: the only candidate is the closest. */
static inline uint32_t uvmpi_closest_existing(const struct uvmp_processors *processors, uint32_t processor,
					      uint64_t candidates)
{
	if (candidates == 0)
		return UVMP_PROC_NONE;
	if ((candidates & (candidates - 1u)) == 0)
		return lowest_bit(candidates);
	return uvmpi_closest_of_many(processors, processor, candidates);
}

/* As uvmp_closest_processor. */
static inline uint32_t uvmpi_closest_processor(const struct uvmp_processors *processors, uint32_t processor,
					       uint64_t candidates)
{
	candidates &= ~(uint64_t)0 >> (UVMP_PROCS_MAX - processors->count);
	return uvmpi_closest_existing(processors, processor, candidates);
}

#endif
