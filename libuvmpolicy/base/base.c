/* Version, status texts, the pseudo-random generator. */
#include "random_internal.h"

const char *uvmp_version(void)
{
	return UVMP_VERSION_STRING;
}

uint32_t uvmp_version_number(void)
{
	return UVMP_VERSION_NUMBER;
}

const char *uvmp_status_text(enum uvmp_status status)
{
	switch (status) {
	case UVMP_OK:
		return "success";
	case UVMP_ERR_ARGUMENT:
		return "missing or invalid argument";
	case UVMP_ERR_RANGE:
		return "value out of range";
	case UVMP_ERR_SPACE:
		return "array too small";
	case UVMP_ERR_STATE:
		return "call does not fit the present state";
	case UVMP_ERR_NO_MEMORY:
		return "no memory, and no unit to evict";
	case UVMP_ERR_RETRY:
		return "no result now: work is in flight, or nothing is left to do";
	case UVMP_ERR_SYNTAX:
		return "syntax error";
	case UVMP_ERR_UNKNOWN:
		return "unknown name or address";
	case UVMP_ERR_CONFLICT:
		return "contradicting values";
	case UVMP_ERR_ARENA:
		return "arena of the engine is too full";
	case UVMP_ERR_UNSUPPORTED:
		return "not supported";
	}
	return "unknown status";
}

uint64_t uvmp_random_next(uint64_t *state)
{
	return random_next(state);
}

uint64_t uvmp_random_below(uint64_t *state, uint64_t bound)
{
	return bound == 0 ? 0 : random_below(state, bound);
}
