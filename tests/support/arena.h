/* Engines whose arena runs out in the middle of a decision, which uvmp_service_next does not let happen. */
#ifndef TEST_ARENA_H
#define TEST_ARENA_H

#include "support/engine_internals.h"

/* Keeps no reserve from now on: the arena has what the test gave it, and objects can be missing. */
static inline void arena_without_reserve(struct uvmp_service *s)
{
	s->segment[0].end -= s->reserve;
	s->reserve = 0;
}

#endif
