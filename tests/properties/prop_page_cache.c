/* The simulator's page caches beside the engine: random small traces under random policies. Where page_cache_run accepts a
 * trace, every count is that of untimed_run; it refuses what is not an access of one agent to pages with contents. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "page_cache.h"
#include "support/seed.h"
#include "uvmpolicy/uvmpolicy.h"

#define TRACES	   600u
#define ROWS	   2400u
#define RANGES	   3u
#define PAGE_LEAST 512u /* a simulated GPU has 2 MiB at least */

struct scene {
	uint64_t random;
	uint64_t base[RANGES], pages[RANGES];
	uint32_t ranges;
	bool is_odd; /* has rows that are refused */
	char text[ROWS * 40u];
	size_t length;
};

static struct scene scene;
static char error[SOURCE_ERROR_MAX];

static uint64_t below(uint64_t most)
{
	return uvmp_random_below(&scene.random, (uint32_t)most);
}

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	scene.length += (size_t)vsnprintf(scene.text + scene.length, sizeof(scene.text) - scene.length, format, list);
	va_end(list);
	assert_true(scene.length < sizeof(scene.text));
}

/* Ranges begin anywhere in a VABlock. */
static void put_ranges(void)
{
	uint64_t at = 0x7e0000000000u;

	scene.ranges = 1u + (uint32_t)below(RANGES);
	for (uint32_t i = 0; i < scene.ranges; i++) {
		at += below(700) * 4096u;
		scene.base[i] = at;
		scene.pages[i] = 1u + below(900);
		put("range,0x%llx,%llu\n", (unsigned long long)at, (unsigned long long)(scene.pages[i] * 4096u - below(64)));
		at += scene.pages[i] * 4096u;
	}
}

/* A place in a range. */
struct place {
	uint32_t range;
	uint64_t page;
};

/* Mostly a page among the first ones: a skewed choice. */
static struct place random_place(void)
{
	uint32_t i = (uint32_t)below(scene.ranges);

	return (struct place){i, below(below(3) == 0 ? scene.pages[i] : scene.pages[i] / 4u + 1u)};
}

/* A row that is no access of the cache's agent. A range before the first access is a range as the others. */
static void put_odd(bool is_first)
{
	uint64_t first = scene.base[0];

	scene.is_odd = true;
	switch (below(6)) {
	case 0:
		put(",1,r,0x%llx\n", (unsigned long long)first);
		break;
	case 1:
		put(",cpu,r,0x%llx\n", (unsigned long long)first);
		break;
	case 2:
		put("prefetch,gpu,0x%llx,4096\n", (unsigned long long)first);
		break;
	case 3:
		scene.is_odd = !is_first;
		put("range,0x%llx,4096\n", 0x7f0000000000ull);
		break;
	case 4:
		put(",0,p,0x%llx\n", (unsigned long long)first);
		break;
	default:
		put("free,0x%llx\n", (unsigned long long)first);
		break;
	}
}

/* Each scan reads pages in a row, so that memory fills. */
static void put_rows(bool has_odd)
{
	uint32_t rows = (uint32_t)below(ROWS - 4u), odd_at = has_odd ? (uint32_t)below(rows + 1u) : UINT32_MAX;
	struct place at = random_place();
	uint64_t time_ns = 0;

	for (uint32_t i = 0; i < rows; i++) {
		if (i == odd_at)
			put_odd(i == 0);
		if (below(200) == 0)
			put(below(2) == 0 ? "sync\n" : "kernel,k\n");
		at.page++;
		if (below(4) == 0 || at.page == scene.pages[at.range])
			at = random_place();
		time_ns += below(3) * below(300000);
		if (below(2) == 0)
			put("%llu", (unsigned long long)time_ns);
		put(",0,%c,0x%llx\n", "rrrwa"[below(5)],
		    (unsigned long long)(scene.base[at.range] + at.page * 4096u + below(63) * 64u));
	}
	if (odd_at == rows)
		put_odd(rows == 0);
}

static void compose(uint64_t seed, bool has_odd)
{
	scene.random = seed;
	scene.length = 0;
	scene.is_odd = false;
	put("uvmp-trace 1\n");
	put_ranges();
	put_rows(has_odd);
}

static struct source *open_scene(void)
{
	FILE *in = fmemopen(scene.text, scene.length, "r");
	struct source *source = in != NULL ? trace_open_stream(in, "scene", error) : NULL;

	if (source == NULL)
		fail_msg("%s", error);
	return source;
}

static struct uvmp_policy random_policy(void)
{
	static const char *const orders[] = {"lru4k", "random4k"};
	static const char *const more[] = {"", "thrash=off", "lapse_us=1000000 thrash_threshold=1 pin_threshold=1"};
	struct uvmp_policy_error wrong;
	struct uvmp_policy policy;
	char text[200], reserve[32] = "";
	size_t order = (size_t)below(2);

	if (order == 0 && below(2) == 0)
		snprintf(reserve, sizeof(reserve), " reserve=%u", (unsigned)below(100));
	snprintf(text, sizeof(text), "prefetch=none evict=%s%s %s", orders[order], reserve, more[below(3)]);
	if (uvmp_policy_parse(text, strlen(text), &policy, &wrong) != UVMP_OK)
		fail_msg("%s: %s", text, wrong.text);
	return policy;
}

static void compare(uint64_t seed, const struct sim_run *run)
{
	struct sim_result by_engine, by_cache;
	struct source *source = open_scene();
	enum page_cache_end end;

	assert_true(page_cache_suits(run));
	end = page_cache_run(source, run, &by_cache, error);
	source->close(source);
	if (scene.is_odd) {
		assert_int_equal(end, PAGE_CACHE_REFUSED);
		return;
	}
	source = open_scene();
	if (!untimed_run(source, run, &by_engine, error))
		fail_msg("seed 0x%" PRIx64 ": %s", seed, error);
	source->close(source);
	assert_int_equal(end, PAGE_CACHE_DONE);
	if (memcmp(&by_engine, &by_cache, sizeof(by_cache)) != 0)
		fail_msg("seed 0x%" PRIx64 ": engine %" PRIu64 " faults, %" PRIu64 " refaults, %" PRIu64
			 " evictions; cache %" PRIu64 ", %" PRIu64 ", %" PRIu64,
			 seed, by_engine.far_faults, by_engine.refaults, by_engine.evictions, by_cache.far_faults,
			 by_cache.refaults, by_cache.evictions);
}

static void same_counts_as_the_engine(void **state)
{
	uint64_t first = test_seed();

	(void)state;
	for (uint32_t i = 0; i < test_share_of(TRACES); i++) {
		uint64_t seed = (first + i) * 0x9e3779b97f4a7c15u;
		struct uvmp_policy policy;
		struct sim_run run = {.policy = &policy, .seed = seed};

		compose(seed, i % 4u == 0);
		policy = random_policy();
		if (below(4) == 0)
			run.memory.oversub_percent = 100u + (uint32_t)below(60);
		else
			run.memory.bytes = (PAGE_LEAST + below(PAGE_LEAST)) * 4096u;
		compare(seed, &run);
	}
}

/* Every other policy needs the engine: each key with a value that is not the default. */
static void only_policies_of_pages_suit(void **state)
{
	static const char *const refused[] = {
		"",
		"prefetch=none",
		"evict=lru4k",
		"prefetch=none evict=lru2m",
		"prefetch=none evict=sl64k",
		"prefetch=none evict=tbne",
		"prefetch=none evict=lfu2m",
		"prefetch=none evict=clock2m",
		"prefetch=none evict=mhpe",
		"prefetch=none evict=lru4k quirks=0",
		"prefetch=none evict=lru4k free_buffer=1",
		"prefetch=none evict=lru4k remote=always",
		"prefetch=none evict=lru4k prefetch_full=block",
		"prefetch=none evict=lru4k replay=once",
		"prefetch=none evict=lru4k batch=1",
		"prefetch=none evict=lru4k counters=on",
		"prefetch=none evict=lru4k plan=unobtrusive",
		"prefetch=none evict=lru4k memory_ratio=150",
		"prefetch=none evict=random4k max_batches=0",
	};
	struct uvmp_policy policy;
	struct sim_run run = {.policy = &policy};

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		assert_int_equal(uvmp_policy_parse(refused[i], strlen(refused[i]), &policy, NULL), UVMP_OK);
		if (page_cache_suits(&run))
			fail_msg("%s", refused[i]);
	}
	assert_int_equal(uvmp_policy_parse("prefetch=none evict=lru4k", 25, &policy, NULL), UVMP_OK);
	assert_true(page_cache_suits(&run));
	run.log.file = stderr;
	assert_false(page_cache_suits(&run));
}

/* Fresh pages are not copied, a range that is not managed is no cache, and the engine explains what is wrong. */
static void other_ranges_are_refused(void **state)
{
	static const char *const refused[] = {
		"range,0x200000000,8388608,x,fresh\n,0,r,0x200000000\n", ",0,r,0x200000000\n",
		"range,0x200000000,4096\n,0,r,0x200001000\n", "range,0x200000000,1\n,0,r\n"};
	struct uvmp_policy policy;
	struct sim_run run = {.policy = &policy, .memory = {.bytes = 2097152}};

	(void)state;
	assert_int_equal(uvmp_policy_parse("prefetch=none evict=lru4k", 25, &policy, NULL), UVMP_OK);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct sim_result result;
		struct source *source;

		scene.length = 0;
		put("uvmp-trace 1\n%s", refused[i]);
		source = open_scene();
		assert_int_equal(page_cache_run(source, &run, &result, error), PAGE_CACHE_REFUSED);
		source->close(source);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_counts_as_the_engine),
		cmocka_unit_test(only_policies_of_pages_suit),
		cmocka_unit_test(other_ranges_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
