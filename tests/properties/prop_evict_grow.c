/* Property of uvmp_evict_grow: an order that grows now and then answers every call as one of the final size. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/seed.h"
#include "uvmpolicy/evict.h"

#define UNITS_MAX 700u
#define HISTORIES 24
#define STEPS	  3000

static uint64_t seed;

struct pair {
	struct uvmp_evict whole, growing;
	void *memory, *growing_memory;
	uint64_t random[2]; /* for victims */
	uint64_t draw;
	uint32_t used; /* units below have been used */
};

static uint32_t below(struct pair *p, uint32_t bound)
{
	return (uint32_t)uvmp_random_below(&p->draw, bound);
}

/* Memory with arbitrary contents. */
static void *memory_for(enum uvmp_evictor evictor, uint32_t units)
{
	size_t bytes = uvmp_evict_size(evictor, units);
	void *memory = malloc(bytes);

	assert_non_null(memory);
	memset(memory, 0xa5, bytes);
	return memory;
}

static void grow(struct pair *p, uint32_t units)
{
	void *memory = memory_for(p->growing.evictor, units);

	assert_int_equal(uvmp_evict_grow(&p->growing, units, memory, uvmp_evict_size(p->growing.evictor, units)), UVMP_OK);
	assert_int_equal(p->growing.units, units);
	free(p->growing_memory);
	p->growing_memory = memory;
	assert_true(uvmp_evict_is_valid(&p->growing));
}

/* A unit for the next call; new units come a few at a time. */
static uint32_t next_unit(struct pair *p)
{
	uint32_t most = UNITS_MAX - p->used;
	uint32_t fresh = below(p, 8) == 0 ? 1u + below(p, below(p, 16) == 0 ? 64 : 3) : 0;

	p->used += fresh < most ? fresh : most;
	if (p->used > p->growing.units)
		grow(p, p->used + below(p, UNITS_MAX - p->used + 1u));
	return below(p, 4) == 0 ? p->used - 1u : below(p, p->used);
}

static void same(enum uvmp_status a, enum uvmp_status b)
{
	assert_int_equal(a, b);
}

static void choose(struct pair *p)
{
	uint32_t a = 7, b = 7;
	enum uvmp_status status = uvmp_evict_victim(&p->whole, &p->random[0], &a);

	same(status, uvmp_evict_victim(&p->growing, &p->random[1], &b));
	for (uint32_t i = below(p, 6); status == UVMP_OK; i--) {
		assert_int_equal(a, b);
		assert_int_equal(uvmp_evict_chosen(&p->whole), uvmp_evict_chosen(&p->growing));
		assert_int_equal(uvmp_evict_together(&p->whole, a), uvmp_evict_together(&p->growing, b));
		if (i == 0) {
			uint32_t untouched = below(p, 17);

			same(uvmp_evict_remove(&p->whole, a), uvmp_evict_remove(&p->growing, b));
			same(uvmp_evict_left(&p->whole, a, 16, untouched), uvmp_evict_left(&p->growing, b, 16, untouched));
			break;
		}
		status = uvmp_evict_next(&p->whole, &p->random[0], &a);
		same(status, uvmp_evict_next(&p->growing, &p->random[1], &b));
	}
}

static void step(struct pair *p)
{
	uint32_t unit = next_unit(p), what = below(p, 20), value = below(p, 40), first;

	switch (what) {
	case 0:
		same(uvmp_evict_remove(&p->whole, unit), uvmp_evict_remove(&p->growing, unit));
		break;
	case 1:
		first = unit - unit % UVMP_EVICT_GROUP_UNITS;
		value = (uint32_t)uvmp_random_next(&p->draw) & (uint32_t)uvmp_random_next(&p->draw);
		if (p->used - first < UVMP_EVICT_GROUP_UNITS)
			value &= ((uint32_t)1 << (p->used - first)) - 1u;
		same(uvmp_evict_remove_set(&p->whole, first, value), uvmp_evict_remove_set(&p->growing, first, value));
		break;
	case 2:
		same(uvmp_evict_forget(&p->whole, unit), uvmp_evict_forget(&p->growing, unit));
		break;
	case 3:
		same(uvmp_evict_weigh(&p->whole, unit, value), uvmp_evict_weigh(&p->growing, unit, value));
		break;
	case 4:
	case 5:
		same(uvmp_evict_spare(&p->whole, unit, value % 2 == 0), uvmp_evict_spare(&p->growing, unit, value % 2 == 0));
		break;
	case 6:
		same(uvmp_evict_own(&p->whole, unit, value), uvmp_evict_own(&p->growing, unit, value));
		break;
	case 7:
		same(uvmp_evict_batch(&p->whole), uvmp_evict_batch(&p->growing));
		break;
	case 8:
		p->whole.reserve_percent = p->growing.reserve_percent = value < 20 ? 0 : value;
		break;
	case 9:
	case 10:
	case 11:
		choose(p);
		break;
	default:
		same(uvmp_evict_touch(&p->whole, unit), uvmp_evict_touch(&p->growing, unit));
		break;
	}
	assert_int_equal(p->whole.count, p->growing.count);
	assert_int_equal(uvmp_evict_contains(&p->whole, unit), uvmp_evict_contains(&p->growing, unit));
}

static void history(enum uvmp_evictor evictor, uint64_t random)
{
	struct pair p = {.random = {random, random}, .draw = random};
	uint32_t units = 1u + below(&p, 40);

	p.memory = memory_for(evictor, UNITS_MAX);
	p.growing_memory = memory_for(evictor, units);
	p.used = 1;
	assert_int_equal(uvmp_evict_init(&p.whole, evictor, UNITS_MAX, p.memory, uvmp_evict_size(evictor, UNITS_MAX)), UVMP_OK);
	assert_int_equal(uvmp_evict_init(&p.growing, evictor, units, p.growing_memory, uvmp_evict_size(evictor, units)), UVMP_OK);
	p.whole.keeps_old = p.growing.keeps_old = below(&p, 2) == 0;
	for (uint32_t i = 0; i < STEPS; i++)
		step(&p);
	grow(&p, UNITS_MAX);
	p.whole.reserve_percent = p.growing.reserve_percent = 0;
	while (p.whole.count != 0)
		choose(&p);
	free(p.memory);
	free(p.growing_memory);
}

static void histories(void **state)
{
	(void)state;
	for (int evictor = UVMP_EVICT_LRU_2M; evictor < UVMP_EVICT_COUNT; evictor++)
		for (uint64_t i = 0; i < HISTORIES; i++)
			history((enum uvmp_evictor)evictor, (i % 2 == 0 ? 20260101 : seed) + 1000u * i);
}

static void refused(void **state)
{
	void *memory = memory_for(UVMP_EVICT_LFU_2M, 8), *more = memory_for(UVMP_EVICT_LFU_2M, 16);
	size_t bytes = uvmp_evict_size(UVMP_EVICT_LFU_2M, 16);
	struct uvmp_evict evict, before;

	(void)state;
	assert_int_equal(uvmp_evict_init(&evict, UVMP_EVICT_LFU_2M, 8, memory, uvmp_evict_size(UVMP_EVICT_LFU_2M, 8)), UVMP_OK);
	before = evict;
	assert_int_equal(uvmp_evict_grow(NULL, 16, more, bytes), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_grow(&evict, 16, NULL, bytes), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_grow(&evict, 16, (char *)more + 4, bytes), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_grow(&evict, 7, more, bytes), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_evict_grow(&evict, UVMP_UNITS_MAX + 1u, more, bytes), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_evict_grow(&evict, 16, more, bytes - 1u), UVMP_ERR_SPACE);
	assert_int_equal(uvmp_evict_grow(&evict, 8, memory, bytes), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_grow(&evict, 8, (char *)memory + 8, bytes), UVMP_ERR_ARGUMENT);
	assert_memory_equal(&evict, &before, sizeof(evict));
	assert_int_equal(uvmp_evict_grow(&evict, 16, more, bytes), UVMP_OK);
	assert_int_equal(evict.units, 16);
	free(memory);
	free(more);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(refused), cmocka_unit_test(histories)};

	seed = test_seed();
	return cmocka_run_group_tests_name("growing orders", tests, NULL, NULL);
}
