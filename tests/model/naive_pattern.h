/* naive_pattern.h: the runtime engine of DATE'21 of UVM Smart, rule by rule [uvmsmart: runtime-engine]: the
 * whole log is kept, and everything is recomputed from it. */
#ifndef NAIVE_PATTERN_H
#define NAIVE_PATTERN_H

#include "uvmpolicy/adapt.h"

#define NAIVE_PATTERN_MAX    2000u /* records, kernels */
#define NAIVE_PATTERN_BLOCKS 64u   /* of an allocation */

struct naive_pattern {
	struct {
		uint64_t cycle;
		uint32_t data, block;
	} record[NAIVE_PATTERN_MAX];
	struct {
		uint64_t launch, end; /* end UINT64_MAX: runs */
	} kernel[NAIVE_PATTERN_MAX];
	uint32_t records, kernels;
};

enum uvmp_pattern naive_pattern_of(const struct naive_pattern *naive, uint32_t data);
enum uvmp_pattern_verdict naive_pattern_decide(const struct naive_pattern *naive, uint32_t count);
/* Forgets an allocation's records. */
void naive_pattern_forget(struct naive_pattern *naive, uint32_t data);

#endif
