/* pattern_case.h: random lives of kernels and allocations, played to the pattern engine and to its naive model,
 * from any source of numbers. */
#ifndef PATTERN_CASE_H
#define PATTERN_CASE_H

#include "naive_pattern.h"

#define PATTERN_CASE_DATA 3u
#define PATTERN_CASE_OPEN 4u

struct pattern_case {
	struct uvmp_pattern_engine engine;
	struct uvmp_pattern_kernel open[PATTERN_CASE_OPEN];
	struct uvmp_pattern_data data[PATTERN_CASE_DATA];
	uint32_t block[PATTERN_CASE_DATA][NAIVE_PATTERN_BLOCKS];
	struct naive_pattern naive;
	uint64_t cycle;
	uint32_t next[PATTERN_CASE_DATA]; /* block that would be ascending */
	bool is_forgotten;                /* an allocation was exchanged: verdicts may differ */
};

void pattern_case_init(struct pattern_case *c);
/* One event, chosen by the bits of `number`. False: engine and model disagree, or the engine refused what it
 * must take or took what it must refuse. */
bool pattern_case_step(struct pattern_case *c, uint32_t number);

#endif
