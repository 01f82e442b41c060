/* residency_case.h: random facts for residency.h and counter.h, drawn from a stream of bytes. */
#ifndef RESIDENCY_CASE_H
#define RESIDENCY_CASE_H

#include "uvmpolicy/counter.h"
#include "uvmpolicy/residency.h"

/* Where the numbers come from. */
struct residency_source {
	uint64_t random;     /* used if data is NULL */
	const uint8_t *data; /* bytes; behind their end zeros */
	size_t size, at;
};

/* 0..bound-1; bound at most 65,536. */
uint32_t residency_draw(struct residency_source *source, uint32_t bound);

/* Up to 6 processors with any relations that are valid. */
void residency_case_processors(struct residency_source *source, struct uvmp_processors *processors);
void residency_case_facts(struct residency_source *source, const struct uvmp_processors *processors,
			  struct uvmp_residency_facts *facts);
/* Facts that agree: rights nested, the access within the logical right. */
void residency_case_map(struct residency_source *source, const struct uvmp_processors *processors,
			struct uvmp_map_facts *facts);

#define COUNTER_CASE_NOTES 12u

struct counter_case {
	struct uvmp_counter_facts facts;
	uvmp_mask resident[UVMP_PROCS_MAX];
	struct uvmp_counter_note notes[COUNTER_CASE_NOTES];
	uint32_t count;
};

/* Needs two processors or more. facts.resident points into the case. */
void residency_case_counter(struct residency_source *source, const struct uvmp_processors *processors,
			    struct counter_case *c);

#endif
