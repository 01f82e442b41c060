/* The generator of uvmp_random_next, for decisions that draw. */
#ifndef UVMPOLICY_RANDOM_INTERNAL_H
#define UVMPOLICY_RANDOM_INTERNAL_H

#include "uvmpolicy/base.h"

static inline uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state != 0 ? *state : 0x9e3779b97f4a7c15u;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1du;
}

/* `bound` is not 0. */
static inline uint64_t random_below(uint64_t *state, uint64_t bound)
{
	return random_next(state) % bound;
}

#endif
