/* Evictions of the engine under random policies of the orders, their units, plans, pins and compressed
 * memory: after each action the engine is sound (uvmp_service_check), it agrees with a host that only sees
 * its actions, no more than memory holds is resident, and every bottom half ends. With preset=auto, data that fit are
 * not evicted. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "support/engine_host.h"
#include "support/seed.h"

#define BASE   0x40000000u
#define BLOCKS 8u
#define PAGES  (BLOCKS * 512u)
#define CASES  24
#define ROUNDS 60
#define FITS   200

static struct engine e;

static uint32_t below(uint64_t *random, uint32_t bound)
{
	return (uint32_t)uvmp_random_below(random, bound);
}

/* True: pages may be of 64 KiB. */
static bool random_policy(uint64_t *random, char text[256])
{
	static const char *const order[] = {"lru",      "lru2m", "lfu2m", "clock2m", "lru4k",
	                                    "random4k", "sl64k", "tbne",  "mhpe",    "auto"};
	static const char *const size[] = {"64k", "128k", "256k", "512k", "1m", "2m"};
	static const char *const plan[] = {"serial", "overlapped", "unobtrusive"};
	static const char *const prefetch[] = {"none", "density", "tbn", "block", "auto"};
	uint32_t evict = below(random, 12);

	if (evict > 9) /* auto three times as often: whole and partial blocks, and two rules */
		evict = 9;

	snprintf(text, 256, "evict=%s plan=%s prefetch=%s memory_ratio=%u batch=%u", order[evict],
	         plan[below(random, 3)], prefetch[below(random, 5)], 100 + 25 * below(random, 4),
	         1 + below(random, 64));
	if (evict >= 1 && evict <= 3)
		snprintf(text + strlen(text), 256 - strlen(text), " granularity=%s cyclic=%s",
		         size[below(random, 6)], below(random, 2) == 0 ? "on" : "off");
	if (evict != 0 && below(random, 3) == 0)
		snprintf(text + strlen(text), 256 - strlen(text), " free_buffer=%u", below(random, 60));
	if (evict != 0 && evict != 5 && evict != 9 && below(random, 3) == 0)
		snprintf(text + strlen(text), 256 - strlen(text), " reserve=%u", below(random, 100));
	return evict <= 3;
}

static void assert_fits(uint64_t capacity_bytes)
{
	uint64_t pages = 0;

	for (uint32_t page = 0; page < PAGES; page++) {
		struct uvmp_page_state p = {.size = sizeof(p)};

		assert_int_equal(uvmp_service_page(e.service, 1, BASE + page * ENGINE_PAGE, &p), UVMP_OK);
		pages += p.resident >> 1 & 1u;
	}
	assert_true(pages * ENGINE_PAGE <= capacity_bytes);
}

/* Faults of one batch or a few; scans in circles among them, where pages come back. */
static void report(uint64_t *random, uint32_t *cursor)
{
	uint32_t count = 1 + below(random, 40), stride = 1 + below(random, 100);
	bool is_scan = below(random, 2) == 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t page = is_scan ? *cursor % PAGES : below(random, PAGES);

		*cursor += stride;
		engine_fault(&e, 1, 1, BASE + page * ENGINE_PAGE,
		             below(random, 2) == 0 ? UVMP_ACCESS_READ : UVMP_ACCESS_WRITE);
		if (below(random, 4) == 0)
			(void)uvmp_service_touch(e.service, 1, 1,
			                         BASE + (uint64_t)below(random, PAGES) * ENGINE_PAGE);
	}
}

static void live(uint64_t *random)
{
	uint32_t roots = 1 + below(random, 4), cursor = 0;
	char text[256];
	bool can_be_large = random_policy(random, text);

	engine_init(&e, 1, roots);
	if (can_be_large && below(random, 2) == 0)
		e.params.page_bytes = 65536;
	if (!engine_policy(&e, text))
		fail_msg("%s is no policy", text);
	assert_true(engine_start(&e, 16, 1u << 18));
	engine_range(&e, 1, BASE, (uint64_t)PAGES * ENGINE_PAGE,
	             below(random, 2) == 0 ? UVMP_CPU : UVMP_PROC_NONE);
	engine_bind(&e, 1, 1);
	for (int round = 0; round < ROUNDS; round++) {
		report(random, &cursor);
		if (below(random, 8) == 0)
			(void)uvmp_service_cpu_fault(e.service, 1,
			                             BASE + (uint64_t)below(random, PAGES) * ENGINE_PAGE,
			                             UVMP_ACCESS_WRITE, 1, NULL);
		if (engine_run(&e) != UVMP_OK)
			fail_msg("%s, round %d: ended with %d", text, round, (int)e.status);
		engine_forget(&e);
		assert_true(engine_agrees(&e));
	}
	assert_fits(((uint64_t)roots << 21) * e.policy.memory_ratio / 100u);
	engine_stop(&e);
}

/* Two ranges fill memory, or a part of it. Room that preset=auto makes ahead evicts nothing. */
static void fit(uint64_t *random)
{
	uint32_t units = BLOCKS * 32u - below(random, 3) * below(random, 40), first = 1 + below(random, units - 1u), cursor = 0;
	uint32_t pages[] = {first * 16u, (units - first) * 16u};
	uint64_t start[] = {BASE, BASE + (((uint64_t)pages[0] + 511u) >> 9 << 21)};
	char text[64];

	engine_init(&e, 1, BLOCKS);
	e.gpu[0].counts_units = below(random, 2) == 0;
	snprintf(text, sizeof(text), "preset=auto remote=off batch=%u", 1 + below(random, 96));
	assert_true(engine_policy(&e, text));
	assert_true(engine_start(&e, 16, 1u << 18));
	for (uint32_t i = 0; i < 2; i++)
		engine_range(&e, 1, start[i], (uint64_t)pages[i] * ENGINE_PAGE, UVMP_CPU);
	engine_bind(&e, 1, 1);
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t count = 1 + below(random, 80), which = below(random, 2);
		bool is_scan = below(random, 2) == 0;

		for (uint32_t i = 0; i < count; i++) {
			uint32_t page = (is_scan ? cursor++ * 67u : below(random, PAGES)) % pages[which];

			engine_fault(&e, 1, 1, start[which] + (uint64_t)page * ENGINE_PAGE, UVMP_ACCESS_READ);
		}
		assert_int_equal(engine_run(&e), UVMP_OK);
		if (e.count[UVMP_ACTION_EVICT] != 0)
			fail_msg("%s, %u and %u pages, round %d: evicts", text, pages[0], pages[1], round);
		engine_forget(&e);
	}
	engine_stop(&e);
}

static void check_fit(uint64_t random)
{
	for (uint32_t i = 0; i < test_share_of(FITS); i++)
		fit(&random);
}

static void what_fits_stays(void **state)
{
	(void)state;
	check_fit(20260102);
	check_fit(test_seed());
}

static void check(uint64_t random)
{
	for (uint32_t i = 0; i < test_share_of(CASES); i++)
		live(&random);
}

static void fixed_seed(void **state)
{
	(void)state;
	check(20260101);
}

static void printed_seed(void **state)
{
	(void)state;
	check(test_seed());
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(fixed_seed), cmocka_unit_test(printed_seed),
	                                   cmocka_unit_test(what_fits_stays)};

	return cmocka_run_group_tests_name("evictions of the engine", tests, NULL, NULL);
}
