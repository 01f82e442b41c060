/* Thrashing detection: a page that CPU and GPU take from each other. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "uvmpolicy/advanced.h"

#define PAGES  512u
#define BLOCKS 16u /* that are reported, then asked about, in one round */
#define PAGE   7u
#define MANY   64u
#define QUIET  300u
#define FIRST  4u       /* events after which the page thrashes */
#define FAST   100000u  /* ns between the events of a page: shorter than the lapse of 500 us */
#define SLOW   1000000u /* longer */

static const struct uvmp_processors processors = {
        .count = 2, .can_access = {1u, 3u}, .native_atomics = {1u, 2u}};

static struct uvmp_thrash_space space[BLOCKS];
static struct uvmp_thrash_block block[BLOCKS];

static void begin_blocks(void *memory, size_t bytes)
{
	struct uvmp_thrash_params params;

	uvmp_thrash_params_init(&params);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		bench_check(uvmp_thrash_space_init(&space[i], &params) == UVMP_OK &&
		            uvmp_thrash_block_init(&block[i], i, PAGES) == UVMP_OK &&
		            uvmp_thrash_block_give(&block[i], (char *)memory + i * bytes, bytes) == UVMP_OK);
	}
}

/* The lower bounds: read the state of the page and of its block and the facts, and write the hint; read the
 * migration, and write the state of the page and of its block. */
__attribute__((noinline)) void bench_hint_floor(const struct uvmp_thrash_block *b,
                                                const struct uvmp_thrash_facts *facts,
                                                struct uvmp_thrash_hint *hint);
void bench_hint_floor(const struct uvmp_thrash_block *b, const struct uvmp_thrash_facts *facts,
                      struct uvmp_thrash_hint *hint)
{
	const struct uvmp_thrash_page *page = &b->memory[facts->page];

	hint->kind = b->has_pages && page->events > 2u ? UVMP_THRASH_THROTTLE : UVMP_THRASH_NONE;
	hint->pin_to = facts->requester;
	hint->procs = page->procs & facts->residents;
	hint->until_ns = page->throttle_end_ns + page->event_ns + b->last_ns + facts->now_ns;
}

__attribute__((noinline)) void bench_event_floor(struct uvmp_thrash_block *b, struct uvmp_thrash_page *page,
                                                 const struct uvmp_thrash_migration *migration);
void bench_event_floor(struct uvmp_thrash_block *b, struct uvmp_thrash_page *page,
                       const struct uvmp_thrash_migration *migration)
{
	page->event_ns = migration->now_ns;
	page->procs = (uint64_t)1 << migration->final_to;
	page->events = (uint8_t)(page->events + 1u);
	page->has_migrated = migration->cause == UVMP_MIGRATE_FAULT && !migration->is_copy &&
	                     !migration->is_read_duplicated;
	b->last_ns = b->last_thrashing_ns = migration->now_ns;
	b->last_proc = migration->to;
	uvmp_mask_set(&b->thrashing, migration->region.first);
}

/* Reports `calls` events of `pages` pages from PAGE on, from alternate processors; the first ones follow each other after FAST,
 * or if `first` is 0 as the others after `gap_ns`. After each event the other processor faults on `page`. The hints are timed,
 * or the events. */
static void thrash(uint32_t page, uint32_t pages, uint32_t first, uint64_t gap_ns, int times_hint, unsigned long calls)
{
	size_t bytes = uvmp_thrash_array_size(PAGES);
	void *memory = bench_memory(BLOCKS * bytes);
	uint64_t now = 1000000;
	int is_ok = 1;

	memset(memory, 0, BLOCKS * bytes);
	begin_blocks(memory, bytes);
	for (unsigned long i = 0; i < calls; i += BLOCKS, now += i / BLOCKS < first ? FAST : gap_ns) {
		uint32_t to = i / BLOCKS % 2u;
		struct uvmp_thrash_migration migration = {
		        .region = {PAGE, PAGE + pages}, .to = to, .final_to = to, .now_ns = now};
		struct uvmp_thrash_facts facts = {.page = page,
		                                  .requester = 1u - to,
		                                  .residents = (uint64_t)1 << to,
		                                  .now_ns = now + 1000u};
		struct uvmp_thrash_hint hint;

		for (uint32_t b = 0; b < BLOCKS; b++) {
			struct uvmp_thrash_block copy = block[b];
			struct uvmp_thrash_page of_page = {0};

			bench_hint_floor(&block[b], &facts, &hint);
			bench_event_floor(&copy, &of_page, &migration);
		}
		if (!times_hint)
			bench_begin();
		for (uint32_t b = 0; b < BLOCKS; b++)
			is_ok &= uvmp_thrash_migrate(&space[b], &block[b], &migration) == UVMP_OK;
		if (!times_hint)
			bench_end();
		if (times_hint)
			bench_begin();
		for (uint32_t b = 0; b < BLOCKS; b++)
			is_ok &= uvmp_thrash_decide(&space[b], &block[b], &processors, &facts, &hint) ==
			         UVMP_OK;
		if (times_hint)
			bench_end();
	}
	bench_check(is_ok);
	free(memory);
}

static void hint_quiet(unsigned long calls)
{
	thrash(QUIET, 1, FIRST, FAST, 1, calls);
}

static void hint_none(unsigned long calls)
{
	thrash(PAGE, 1, 0, SLOW, 1, calls);
}

static void hint_slow(unsigned long calls)
{
	thrash(PAGE, 1, FIRST, SLOW, 1, calls);
}

static void hint_fast(unsigned long calls)
{
	thrash(PAGE, 1, FIRST, FAST, 1, calls);
}

static void event_slow(unsigned long calls)
{
	thrash(PAGE, 1, FIRST, SLOW, 0, calls);
}

static void event_fast(unsigned long calls)
{
	thrash(PAGE, 1, FIRST, FAST, 0, calls);
}

static void event_many(unsigned long calls)
{
	thrash(PAGE, MANY, FIRST, FAST, 0, calls);
}

#define HINT  "uvmp_thrash_decide", .units = 1, .budget = 60, .floor = "bench_hint_floor", .unit = "hint"
#define EVENT "uvmp_thrash_migrate", .units = 1, .budget = 120, .floor = "bench_event_floor", .unit = "event"

const struct bench_case bench_thrash_cases[] = {
        {"hint-quiet", HINT, .text = "hint: a page without events beside one that thrashes", .run = hint_quiet},
        {"hint-none", HINT, .text = "hint: a block in which no page ever thrashed; an event each 1000 us",
         .run = hint_none},
        {"hint-slow", HINT, .original = 69, .text = "hint: a page that thrashed; an event each 1000 us",
         .run = hint_slow},
        {"hint-fast", HINT, .original = 171, .text = "hint: a page that thrashes; an event each 100 us",
         .run = hint_fast},
        {"event-slow", EVENT, .original = 173, .text = "event: a page that thrashed; each 1000 us",
         .run = event_slow},
        {"event-fast", EVENT, .original = 238, .text = "event: a page that thrashes; each 100 us",
         .run = event_fast},
        {"event-64", "uvmp_thrash_migrate", .units = MANY, .unit = "page",
         .text = "event: 64 pages that thrash; each 100 us", .run = event_many},
        {0}};
