/* The linker gives the pager these functions in place of the engine's (--wrap), so that the pager is that of
 * the library, unchanged. */
#include <stdatomic.h>
#include <time.h>

#include "deciding.h"
#include "uvmpolicy/uvmpolicy.h"

static atomic_bool is_measuring;
static atomic_ullong spent_ns, calls;
static uint64_t clock_cost_ns;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void deciding_measure(bool is_on)
{
	for (int round = 0; clock_cost_ns == 0 || round < 100; round++) { /* the least: other programs interrupt some */
		uint64_t start = now_ns(), cost;

		for (int i = 0; i < 100; i++)
			(void)now_ns();
		cost = (now_ns() - start) / 100u;
		if (clock_cost_ns == 0 || cost < clock_cost_ns)
			clock_cost_ns = cost;
	}
	if (is_on)
		spent_ns = calls = 0;
	is_measuring = is_on;
}

uint64_t deciding_ns(void)
{
	uint64_t of_clock = calls * clock_cost_ns, all = spent_ns;

	return all > of_clock ? all - of_clock : 0;
}

static uint64_t begin(void)
{
	return atomic_load_explicit(&is_measuring, memory_order_relaxed) ? now_ns() : 0;
}

static void end(uint64_t began_ns)
{
	if (began_ns == 0)
		return;
	atomic_fetch_add_explicit(&spent_ns, now_ns() - began_ns, memory_order_relaxed);
	atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
}

/* NAME(PARAMETERS) of the engine, called by NAME's ARGUMENTS. */
#define WRAP(NAME, PARAMETERS, ARGUMENTS)                                                                            \
	__typeof__(NAME) __real_##NAME, __wrap_##NAME;                                                               \
	enum uvmp_status __wrap_##NAME PARAMETERS                                                                    \
	{                                                                                                            \
		uint64_t began_ns = begin();                                                                         \
		enum uvmp_status status = __real_##NAME ARGUMENTS;                                                   \
                                                                                                                     \
		end(began_ns);                                                                                       \
		return status;                                                                                       \
	}

WRAP(uvmp_service_fault, (struct uvmp_service *s, uint32_t gpu, const struct uvmp_fault *fault), (s, gpu, fault))
WRAP(uvmp_service_next, (struct uvmp_service *s, uint64_t now, const struct uvmp_action **action), (s, now, action))
WRAP(uvmp_service_access, (struct uvmp_service *s, uint32_t processor, uint64_t space, uvmp_addr at, enum uvmp_access access),
     (s, processor, space, at, access))
WRAP(uvmp_service_complete_pages,
     (struct uvmp_service *s, uint64_t id, enum uvmp_status result, const uvmp_mask *done), (s, id, result, done))
WRAP(uvmp_service_complete, (struct uvmp_service *s, uint64_t id, enum uvmp_status result), (s, id, result))
