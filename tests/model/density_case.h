/* A density decision made from bytes: random ones in the property tests, a fuzzer's in fuzz_density. Any
 * bytes give valid facts. */
#ifndef DENSITY_CASE_H
#define DENSITY_CASE_H

#include "uvmpolicy/prefetch.h"

/* Where among the first bytes a test finds what it wants to choose itself; density_case_read tells the
 * rest. */
enum {
	DENSITY_OFFSET = 0,   /* low 4 bits: offset of the block; high 4 bits: from 13 on other big pages */
	DENSITY_THRESHOLD = 3 /* modulo 101 */
};

struct density_case {
	struct uvmp_prefetch_params params;
	struct uvmp_prefetch_facts facts;
	struct uvmp_prefetch_state state;
	uvmp_mask faulted, resident, thrashing, cpu_resident, cpu_read_mapped;
	struct uvmp_region group[3];
};

/* Bytes behind the end read as 0. The case points into itself: do not copy it. */
void density_case_read(struct density_case *c, const uint8_t *data, size_t size);
/* Does the library decide what the naive model decides, and change the same state? */
bool density_case_agrees(const struct density_case *c);
/* Likewise for the ATS variant, with the case's masks and its faulted region as the window. */
bool density_case_agrees_ats(const struct density_case *c);

#endif
