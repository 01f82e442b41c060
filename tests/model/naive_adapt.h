/* naive_adapt.h: the controllers of adapt.h again, from the whole history of a run. Each keeps all events and
 * walks over them for every answer. Parameters are taken to be right. */
#ifndef NAIVE_ADAPT_H
#define NAIVE_ADAPT_H

#include "uvmpolicy/adapt.h"

#define NAIVE_ADAPT_MAX    400u /* events */
#define NAIVE_ADAPT_BLOCKS 16u

/* -- threshold -- */
struct naive_threshold {
	struct uvmp_threshold_load load[NAIVE_ADAPT_MAX];
	bool fits[NAIVE_ADAPT_MAX];
	uint32_t count;
};
/* After all loads: 101 is off. */
uint32_t naive_threshold(const struct naive_threshold *naive, const struct uvmp_threshold_params *params);

/* -- early -- */
struct naive_early {
	uint64_t start_ns;
	struct {
		uint64_t now_ns;
		uint32_t block, faults; /* faults 0: an eviction */
	} event[NAIVE_ADAPT_MAX];
	uint32_t count;
};
/* The threshold of the last event, which must be a fault. */
uint32_t naive_early(const struct naive_early *naive, const struct uvmp_early_params *params);

/* -- lifetimes and threads -- */
struct naive_threads {
	struct {
		uint64_t now, life; /* life UINT64_MAX: a look, which may be too early */
	} event[NAIVE_ADAPT_MAX];
	uint32_t count;
};
uint32_t naive_threads(const struct naive_threads *naive, const struct uvmp_threads_params *params);

/* -- throttle -- */
struct naive_throttle {
	struct {
		uint64_t now;
		uint32_t faults, refaults, evicted;
	} event[NAIVE_ADAPT_MAX];
	uint32_t count;
};
uint32_t naive_throttle(const struct naive_throttle *naive, const struct uvmp_throttle_params *params);

/* -- cyclic -- */
enum naive_cyclic_kind {
	NAIVE_CYCLIC_EVICT,
	NAIVE_CYCLIC_RETURN,
	NAIVE_CYCLIC_PREFETCH,
	NAIVE_CYCLIC_FREE,
	NAIVE_CYCLIC_RELEASE
};
struct naive_cyclic {
	struct {
		enum naive_cyclic_kind kind;
		uint32_t block;
	} event[NAIVE_ADAPT_MAX];
	uint32_t count, capacity;
};
/* Replays all events: pins in order of age, oldest first; returns their number. *released: what the last
 * event released, UINT32_MAX if nothing. */
uint32_t naive_cyclic(const struct naive_cyclic *naive, const struct uvmp_cyclic_params *params,
		      uint32_t *pins, uint32_t *released);

#endif
