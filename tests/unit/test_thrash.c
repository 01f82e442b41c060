/* thrash.h: the worked examples of [driver: thrashing], each row of the table in [driver: thrashing-table],
 * quirks [driver: pinned-total-grows, events-accumulate, lapse-widens, rounded-stamps, reset-leftovers,
 * vote-threshold-zero] with and without, memory of blocks, the queue, and bad input.
 *
 * Times are microseconds behind one second. A test is a script on page 7 of one block of 512 pages, first on
 * the CPU.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "uvmpolicy/thrash.h"

#define NONE  UVMP_PROC_NONE
#define PAGE  7u
#define T(us) (1000000000u + (uint64_t)((us)*1000.0 + 0.5))

static struct uvmp_thrash_params params;
static struct uvmp_processors processors;
static struct uvmp_thrash_space space;
static struct uvmp_thrash_block block, other;
static struct uvmp_thrash_page array[512], other_array[4];
static struct uvmp_thrash_facts facts;
static struct uvmp_thrash_hint hint;
static const struct uvmp_region seven = {PAGE, PAGE + 1};
static struct uvmp_thrash_page *const page = &array[PAGE];

/* GPUs that map system memory and nothing else. */
static void connect(uint32_t count)
{
	memset(&processors, 0, sizeof(processors));
	processors.count = count;
	for (uint32_t i = 0; i < count; i++) {
		processors.can_access[i] = (uint64_t)1 << i | 1;
		processors.native_atomics[i] = (uint64_t)1 << i;
	}
}

static void link_fast(uint32_t a, uint32_t b)
{
	processors.can_access[a] |= (uint64_t)1 << b;
	processors.can_access[b] |= (uint64_t)1 << a;
	processors.fast_link[a] |= (uint64_t)1 << b;
	processors.fast_link[b] |= (uint64_t)1 << a;
	processors.native_atomics[a] |= (uint64_t)1 << b;
	processors.native_atomics[b] |= (uint64_t)1 << a;
}

static void begin(void)
{
	assert_int_equal(uvmp_thrash_space_init(&space, &params), UVMP_OK);
	assert_int_equal(uvmp_thrash_block_init(&block, 40, 512), UVMP_OK);
	assert_int_equal(uvmp_thrash_block_give(&block, array, sizeof(array)), UVMP_OK);
	assert_int_equal(uvmp_thrash_block_init(&other, 41, 4), UVMP_OK);
	assert_int_equal(uvmp_thrash_block_give(&other, other_array, sizeof(other_array)), UVMP_OK);
	memset(&facts, 0, sizeof(facts));
	facts.page = PAGE;
	facts.has_preferred = false;
	facts.preferred = NONE;
	facts.residents = 1;
}

static int prepare(void **state)
{
	(void)state;
	uvmp_thrash_params_init(&params);
	connect(3);
	begin();
	return 0;
}

static void migrate_in(struct uvmp_thrash_block *to, struct uvmp_region region, uint64_t now_ns, uint32_t dst,
                       enum uvmp_migrate_cause cause)
{
	struct uvmp_thrash_migration m = {
	        .region = region, .to = dst, .final_to = dst, .cause = cause, .now_ns = now_ns};

	assert_int_equal(uvmp_thrash_migrate(&space, to, &m), UVMP_OK);
	if (to == &block)
		facts.residents = (uint64_t)1 << dst;
}

static void migrate(uint64_t now_ns, uint32_t dst)
{
	migrate_in(&block, seven, now_ns, dst, UVMP_MIGRATE_FAULT);
}

static enum uvmp_thrash_hint_kind ask(uint64_t now_ns, uint32_t requester)
{
	facts.now_ns = now_ns;
	facts.requester = requester;
	assert_int_equal(uvmp_thrash_decide(&space, &block, &processors, &facts, &hint), UVMP_OK);
	assert_true(uvmp_thrash_space_is_valid(&space) && uvmp_thrash_block_is_valid(&block));
	return hint.kind;
}

static void expect_none(uint64_t now_ns, uint32_t requester)
{
	assert_int_equal(ask(now_ns, requester), UVMP_THRASH_NONE);
}

static void expect_move(uint64_t now_ns, uint32_t requester)
{
	expect_none(now_ns, requester);
	migrate(now_ns, requester);
}

static void expect_pin(uint64_t now_ns, uint32_t requester, uint32_t to)
{
	assert_int_equal(ask(now_ns, requester), UVMP_THRASH_PIN);
	assert_int_equal(hint.pin_to, to);
	assert_int_equal(hint.procs, page->procs);
	assert_int_equal(hint.until_ns, 0);
}

static void expect_throttle(uint64_t now_ns, uint32_t requester, uint64_t until_ns)
{
	assert_int_equal(ask(now_ns, requester), UVMP_THRASH_THROTTLE);
	assert_int_equal(hint.until_ns, until_ns & ~(params.quirks ? (uint64_t)63 : 0));
	assert_int_equal(hint.pin_to, NONE);
}

/* The first 400 us: two processors, taking turns, from `first` on. */
static void bounce(uint32_t first, uint32_t second)
{
	for (uint32_t i = 0; i <= 4; i++)
		expect_move(T(100 * i), i % 2 == 0 ? first : second);
}

/* -- [driver: thrashing] -- */

static void test_example_a(void **state)
{
	uint32_t who = 0, waits;

	(void)state;
	expect_move(T(0), 1);
	assert_false(block.has_pages);
	expect_move(T(100), 0);
	assert_true(block.has_pages && page->event_ns == (T(100) & ~(uint64_t)63) && page->events == 0);
	for (uint32_t i = 2; i <= 4; i++) {
		assert_false(uvmp_mask_test(&block.thrashing, PAGE));
		expect_move(T(100 * i), i % 2 == 0 ? 1 : 0);
		assert_int_equal(page->events, i - 1);
	}
	assert_true(uvmp_mask_test(&block.thrashing, PAGE));
	expect_move(T(500), 0);
	assert_int_equal(space.lapse_ns, 562500);
	assert_true(page->spared == 0 && page->throttle_end_ns == T(1000) && page->events == 4);
	for (waits = 1; waits <= 10; waits++) {
		who = waits % 2 == 1 ? 1 : 0;
		expect_throttle(T(500 * waits + 100), who, T(500 * waits + 500));
		assert_int_equal(page->throttles, waits);
		if (waits == 3) /* asking again changes nothing */
			expect_throttle(T(500 * waits + 200), who, T(500 * waits + 500));
		if (waits < 10)
			expect_move(T(500 * waits + 500), who);
	}
	expect_pin(T(5500), 0, 0);
	assert_int_equal(hint.procs, 3);
	assert_true(page->throttles == 0 && page->pin_proc == 0 && block.throttlings == 10);
	migrate(T(5500), 0); /* carries out the pin: no event */
	assert_int_equal(block.last_ns, T(5000));
	assert_int_equal(page->deadline_ns, T(155500));
	assert_int_equal(uvmp_thrash_unpin_us(&space, T(5500)), 150000);
}

static void test_example_b(void **state)
{
	(void)state;
	link_fast(1, 2);
	bounce(1, 2);
	expect_pin(T(500), 2, 1);
	expect_pin(T(600), 1, 1);
	assert_int_equal(block.throttlings, 0);
}

static void test_example_c(void **state)
{
	(void)state;
	facts.has_preferred = true;
	facts.preferred = 0;
	bounce(1, 2);
	expect_pin(T(500), 2, 0);
}

/* A preferred location of 0 means no preferred location, not the CPU as in C. */
static void test_zeroed_facts(void **state)
{
	(void)state;
	facts.preferred = 0;
	bounce(1, 2);
	expect_move(T(500), 2);
	page->throttles = 10;
	expect_throttle(T(600), 1, T(1000));
}

/* D, and that a pin does not extend its deadline. */
static void test_example_d(void **state)
{
	(void)state;
	bounce(1, 2);
	expect_move(T(500), 2);
	page->throttles = 10;
	expect_throttle(T(600), 1, T(1000));
	assert_int_equal(page->throttles, 11);
	expect_pin(T(700), 2, 2);
	assert_int_equal(page->throttle_end_ns, 0);
	expect_pin(T(800), 1, 0); /* new period, all can reach the CPU (4a) */
	assert_int_equal(page->spared, 1);
	expect_pin(T(900), 2, 0); /* 4b */
	expect_pin(T(950), 1, 0);
	assert_int_equal(page->deadline_ns, T(150700));
	assert_int_equal(block.pins, 1);
}

static void test_example_e(void **state)
{
	(void)state;
	connect(2);
	link_fast(0, 1);
	bounce(1, 0);
	expect_pin(T(500), 0, 1);
}

/* F; [driver: rounded-stamps]: without the quirk a gap of exactly the lapse counts. */
static void test_example_f(void **state)
{
	(void)state;
	migrate(T(0), 1);
	migrate(T(100), 0);
	assert_int_equal(page->event_ns, T(99.968));
	migrate(T(600), 1);
	assert_int_equal(page->events, 0);
	migrate((T(600) & ~(uint64_t)63) + 499900, 0);
	assert_int_equal(page->events, 1);
	params.quirks = false;
	begin();
	migrate(T(0), 1);
	migrate(T(100), 0);
	assert_int_equal(page->event_ns, T(100));
	migrate(T(600), 1);
	assert_int_equal(page->events, 1);
}

/* G, [driver: events-accumulate]. */
static void test_example_g(void **state)
{
	(void)state;
	for (int quirks = 1; quirks >= 0; quirks--) {
		params.quirks = quirks != 0;
		begin();
		migrate(T(0), 1);
		migrate(T(100), 0);
		migrate(T(200), 1);
		migrate(T(10000200), 0);
		assert_int_equal(page->events, quirks);
		assert_int_equal(page->has_migrated, quirks);
		migrate(T(10000300), 1);
		migrate(T(10000400), 0);
		assert_int_equal(uvmp_mask_test(&block.thrashing, PAGE), quirks);
	}
}

static void test_example_h(void **state)
{
	void *memory = NULL;

	(void)state;
	bounce(1, 0);
	assert_int_equal(uvmp_thrash_block_take(&block, &memory), UVMP_ERR_STATE);
	expect_none(T(1000400), 0);
	assert_int_equal(block.resets, 0);
	expect_none(T(1000401), 0);
	assert_true(block.resets == 1 && !block.has_pages && uvmp_mask_is_empty(&block.thrashing));
	assert_true(block.last_ns == 0 && block.last_thrashing_ns == 0 && block.last_proc == NONE);
	assert_int_equal(uvmp_thrash_block_take(&block, &memory), UVMP_OK);
	assert_ptr_equal(memory, array);
	assert_int_equal(uvmp_thrash_block_take(&block, &memory), UVMP_ERR_STATE);
}

static void test_epoch_limit(void **state)
{
	(void)state;
	params.max_resets = 0;
	begin();
	bounce(1, 0);
	expect_none(T(2000000), 0);
	assert_true(block.has_pages);
	assert_int_equal(page->events, 3);
}

/* So many resets and no more; the state of the pages goes, what is behind an array begins afresh. */
static void test_epoch_again(void **state)
{
	uint32_t at = 0;

	(void)state;
	params.max_resets = 2;
	begin();
	for (uint32_t i = 1; i <= 3; i++, at += 2000000) {
		for (uint32_t k = 0; k <= 4; k++)
			migrate(T(at + 100 * k), 1 - k % 2);
		assert_true(page->throttles == 0 && page->spared == NONE && page->procs == 3);
		expect_none(T(at + 450), 1);
		expect_throttle(T(at + 460), 0, T(at + 950));
		expect_none(T(at + 1000401), 0);
		assert_int_equal(block.resets, i < 3 ? i : 2);
		assert_int_equal(block.has_pages, i == 3);
	}
}

/* [driver: pinned-total-grows]: only without the quirk may a block be reset after its pin is over. */
static void test_pinned_total_grows(void **state)
{
	struct uvmp_thrash_block *unpinned;
	uint32_t index;
	bool found;

	(void)state;
	for (int quirks = 1; quirks >= 0; quirks--) {
		params.quirks = quirks != 0;
		params.epoch = 1;
		begin();
		facts.has_preferred = true;
		facts.preferred = 0;
		bounce(1, 0);
		expect_pin(T(500), 1, 0);
		expect_pin(T(2000), 1, 0); /* pinned: no reset, and no gap is too long */
		assert_int_equal(block.resets, 0);
		assert_int_equal(uvmp_thrash_unpin(&space, T(900000), &unpinned, &index, &found), UVMP_OK);
		assert_true(found);
		expect_none(T(900000), 1);
		assert_int_equal(block.resets, 1 - quirks);
	}
}

/* -- [driver: thrashing-events] -- */

/* What resets, what is ignored, what counts, on two pages of which the first is pinned. */
static void test_causes(void **state)
{
	static const struct {
		enum uvmp_migrate_cause cause;
		uint32_t pages; /* that move, from the pinned one on */
		bool is_reset, is_event;
	} cases[] = {
	        {UVMP_MIGRATE_FAULT, 1, false, false},
	        {UVMP_MIGRATE_FAULT, 2, false, true}, /* one of them is not pinned */
	        {UVMP_MIGRATE_ACCESS_COUNTER, 1, false, false},
	        {UVMP_MIGRATE_ACCESS_COUNTER, 2, false, true},
	        {UVMP_MIGRATE_PREFETCH, 1, false, true},
	        {UVMP_MIGRATE_EVICTION, 2, false, false},
	        {UVMP_MIGRATE_NON_REPLAYABLE, 1, true, false},
	        {UVMP_MIGRATE_API_TOOLS, 1, true, false},
	        {UVMP_MIGRATE_API_MIGRATE, 1, true, false},
	        {UVMP_MIGRATE_API_RANGE_GROUP, 1, true, false},
	        {UVMP_MIGRATE_API_HINT, 1, true, false},
	        {(enum uvmp_migrate_cause)100, 1, true, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		facts.has_preferred = true;
		facts.preferred = 0;
		bounce(1, 0);
		expect_pin(T(500), 1, 0);
		migrate_in(&block, (struct uvmp_region){PAGE, PAGE + cases[i].pages}, T(600), 2,
		           cases[i].cause);
		assert_int_equal(block.last_ns, cases[i].is_event ? T(600) : T(400));
		assert_int_equal(block.last_proc, cases[i].is_event ? 2 : 1);
		assert_int_equal(page->events, cases[i].is_reset ? 0 : 3 + cases[i].is_event);
		assert_int_equal(uvmp_mask_test(&block.pinned, PAGE), !cases[i].is_reset);
		assert_int_equal(space.first == NULL, cases[i].is_reset);
	}
}

/* A reset forgets which kinds of events there were. */
static void test_kinds(void **state)
{
	(void)state;
	for (int quirks = 1; quirks >= 0; quirks--) {
		params.quirks = quirks != 0;
		begin();
		bounce(1, 0);
		assert_int_equal(uvmp_thrash_revoke(&space, &block, seven, 0, T(450)), UVMP_OK);
		assert_true(page->has_migrated && page->has_revoked && block.last_proc == 0);
		assert_int_equal(uvmp_thrash_reset(&space, &block, seven), UVMP_OK);
		assert_true(!page->has_migrated && !page->has_revoked && page->event_ns == 0);
		assert_true(block.has_pages && block.last_ns == T(450));
		assert_int_equal(uvmp_thrash_revoke(&space, &block, seven, 1, T(500)), UVMP_OK);
		assert_int_equal(uvmp_thrash_revoke(&space, &block, seven, 0, T(600)), UVMP_OK);
		assert_true(page->events == 1 && page->has_revoked && page->procs == 3);
		assert_int_equal(uvmp_thrash_revoke(&space, &block, seven, 1, T(5000)), UVMP_OK);
		assert_true(page->events == quirks && page->has_revoked == (quirks != 0)); /* [driver: events-accumulate] */
	}
}

static void test_filters(void **state)
{
	struct uvmp_thrash_migration m = {.region = seven, .to = 1, .final_to = 1, .now_ns = T(500)};
	const struct uvmp_thrash_block before = block;

	(void)state;
	migrate_in(&block, seven, T(0), 1, UVMP_MIGRATE_EVICTION);
	m.final_to = 2;
	assert_int_equal(uvmp_thrash_migrate(&space, &block, &m), UVMP_OK);
	m.final_to = 1;
	space.params.is_enabled = false;
	migrate(T(0), 1);
	assert_int_equal(uvmp_thrash_revoke(&space, &block, seven, 1, T(0)), UVMP_OK);
	expect_none(T(0), 1);
	assert_memory_equal(&block, &before, sizeof(before));
	space.params.is_enabled = true;
	for (int i = 0; i < 3; i++) {
		begin();
		bounce(1, 0);
		m.cause = i == 0 ? UVMP_MIGRATE_API_MIGRATE : UVMP_MIGRATE_ACCESS_COUNTER;
		m.is_copy = i == 1;
		m.is_read_duplicated = i == 2;
		assert_int_equal(uvmp_thrash_migrate(&space, &block, &m), UVMP_OK);
		assert_true(uvmp_mask_is_empty(&block.thrashing) && page->procs == 0);
		assert_int_equal(block.last_ns, T(400));
	}
}

static void test_array_begins(void **state)
{
	struct uvmp_thrash_migration m = {.region = seven, .now_ns = T(100)};

	(void)state;
	migrate(T(0), 1);
	migrate(T(100), 1); /* the same processor */
	migrate(T(601), 0); /* too late */
	assert_false(block.has_pages);
	migrate(T(0), 1);
	block.memory = NULL;
	assert_int_equal(uvmp_thrash_migrate(&space, &block, &m), UVMP_ERR_NO_MEMORY);
	assert_int_equal(uvmp_thrash_revoke(&space, &block, seven, 0, T(100)), UVMP_ERR_NO_MEMORY);
	assert_true(block.last_ns == T(0) && block.last_proc == 1 && !block.has_pages);
	assert_int_equal(uvmp_thrash_block_give(&block, array, sizeof(array)), UVMP_OK);
	m.now_ns = T(500); /* exactly the lapse */
	assert_int_equal(uvmp_thrash_migrate(&space, &block, &m), UVMP_OK);
	assert_true(block.has_pages && page->events == 0 && page->spared == NONE && page->block == &block);
}

/* Memory may hold anything: the entry of a page is written with its first event, and again after an epoch. */
static void test_entries_begin(void **state)
{
	const struct uvmp_region eight = {PAGE + 1, PAGE + 2};
	uint64_t epoch = T(2000 * 500 + 1000);

	(void)state;
	memset(array, 0xa5, sizeof(array));
	migrate(T(0), 1);
	migrate(T(100), 0);
	assert_true(block.has_pages && uvmp_mask_weight(&block.begun) == 1);
	assert_true(uvmp_mask_test(&block.begun, PAGE) && page->procs == 1 && page->throttles == 0);
	assert_true(array[PAGE - 1].procs == 0xa5a5a5a5a5a5a5a5u && array[PAGE + 1].procs == 0xa5a5a5a5a5a5a5a5u);
	assert_int_equal(uvmp_thrash_revoke(&space, &block, eight, 1, T(200)), UVMP_OK);
	assert_true(uvmp_mask_weight(&block.begun) == 2 && array[PAGE + 1].procs == 2);
	for (uint32_t i = 3; i < 6; i++)
		migrate(T(100 * i), i % 2);
	assert_true(uvmp_mask_test(&block.thrashing, PAGE) && page->events == 3);
	assert_int_equal(ask(T(500) + epoch, 0), UVMP_THRASH_NONE); /* resets the block */
	assert_false(block.has_pages);
	page->spared = 0;
	migrate(T(600) + epoch, 1);
	migrate(T(700) + epoch, 0);
	assert_true(block.has_pages && uvmp_mask_weight(&block.begun) == 1 && page->spared == NONE);
}

/* Counting stops at 7; a page that thrashes and then rests is reset by its next event; prefetched pages
 * count. */
static void test_counting(void **state)
{
	const struct uvmp_region two = {PAGE, PAGE + 2};

	(void)state;
	for (uint32_t i = 0; i <= 12; i++)
		migrate_in(&block, two, T(100 * i), i % 2, UVMP_MIGRATE_PREFETCH);
	assert_true(page->events == 7 && array[PAGE + 1].events == 7 && !page->has_revoked);
	migrate(T(9000), 1);
	assert_true(page->events == 0 && page->procs == 0 && array[PAGE + 1].events == 7);
	assert_true(uvmp_mask_weight(&block.thrashing) == 1);
	assert_int_equal(uvmp_thrash_reset(&space, &block, seven), UVMP_OK);
	assert_int_equal(uvmp_mask_weight(&block.thrashing), 1);
	assert_int_equal(uvmp_thrash_reset(&space, &block, two), UVMP_OK);
	assert_true(uvmp_mask_is_empty(&block.thrashing));
}

/* A late event leaves a pinned page alone; a revocation makes it throttle all but the spared one. */
static void test_revocation(void **state)
{
	(void)state;
	facts.has_preferred = true;
	facts.preferred = 0;
	bounce(1, 0);
	expect_pin(T(500), 1, 0);
	assert_int_equal(uvmp_thrash_revoke(&space, &block, seven, 1, T(3000)), UVMP_OK);
	assert_true(page->events == 3 && !page->has_revoked);
	assert_int_equal(uvmp_thrash_revoke(&space, &block, seven, 1, T(3100)), UVMP_OK);
	assert_true(page->has_revoked);
	expect_pin(T(3200), 2, 0); /* begins a period and is spared */
	expect_throttle(T(3300), 1, T(3700));
	assert_int_equal(page->throttles, 0); /* pinned: not counted */
	facts.residents = 1;
	expect_pin(T(3350), 2, 0);
	assert_int_equal(page->throttled, 2);
	facts.residents = 4; /* the page is elsewhere: throttling ends */
	expect_pin(T(3400), 2, 0);
	assert_int_equal(page->throttled, 0);
}

/* -- [driver: thrashing-hint, thrashing-table] -- */

/* Another processor is still throttled when one has waited enough: the period continues for that processor. */
static void test_two_throttled(void **state)
{
	(void)state;
	connect(4);
	bounce(1, 2);
	expect_move(T(500), 2);
	expect_throttle(T(600), 1, T(1000));
	expect_throttle(T(700), 3, T(1000));
	page->spared = 1;
	expect_none(T(800), 1);
	assert_true(page->throttled == 8 && page->throttle_end_ns == T(1000));
	page->spared = NONE;
	expect_none(T(900), 2); /* every processor was throttled in this period */
	assert_int_equal(page->spared, 2);
	page->throttles = 255;
	expect_throttle(T(950), 1, T(1000));
	assert_int_equal(page->throttles, 255);
	assert_int_equal(page->throttled, 10);
	expect_throttle(T(1500), 2, T(2000)); /* never twice in a row: this period throttles every processor */
	assert_int_equal(page->spared, NONE);
}

/* A period ends behind its end: at the end itself throttling is over and the period is not. */
static void test_end_of_period(void **state)
{
	(void)state;
	connect(4);
	bounce(1, 2);
	expect_move(T(500), 2);
	expect_throttle(T(600), 1, T(1000));
	expect_throttle(T(999.999), 3, T(1000));
	expect_throttle(T(1000), 1, T(1000));
	assert_true(page->spared == 2 && page->throttles == 3 && page->throttled == 10);
	expect_none(T(1000.001), 1);
	assert_true(page->spared == 1 && page->throttled == 8);
	assert_int_equal(page->throttle_end_ns, T(1500.001) & ~(uint64_t)63);
	assert_int_equal(page->procs, 14);
}

/* The gap is compared with the adapted lapse. A processor that has waited for longer is not throttled, and
 * its period is over. */
static void test_end_of_thrashing(void **state)
{
	(void)state;
	bounce(1, 0);
	expect_none(page->event_ns + 500000 + 62500, 0); /* long, and the vote changes nothing */
	assert_true(page->spared == NONE && space.vote == 1);
	begin();
	bounce(1, 0);
	expect_none(page->event_ns + 499999, 0); /* short: the lapse grows */
	assert_true(page->spared == 0 && space.lapse_ns == 562500);
	params.lapse_us = 400;
	begin();
	bounce(1, 0);
	expect_none(page->event_ns + 400001, 0);
	assert_int_equal(page->spared, NONE);
	expect_none(page->event_ns + 400000, 0);
	assert_int_equal(page->spared, 0);
	expect_throttle(page->event_ns + 400000, 1, page->throttle_end_ns);
	expect_none(T(2000), 1);
	assert_true(page->throttled == 0 && page->throttle_end_ns == 0 && page->throttles == 1);
}

/* Row 2: fast is a fast link and atomics, or a part of the same GPU; the preferred location must not have
 * taken part. */
static void test_table_fast(void **state)
{
	(void)state;
	link_fast(1, 2);
	processors.native_atomics[1] = 2;
	bounce(1, 2);
	expect_none(T(500), 2); /* row 5: near is 1, on which 2 has no atomics */
	begin();
	processors.native_atomics[1] = 6;
	processors.fast_link[1] = 0;
	bounce(1, 2);
	expect_none(T(500), 2); /* atomics without a fast link */
	begin();
	processors.smc[1] = 4;
	bounce(1, 2);
	expect_pin(T(500), 2, 1);
	assert_int_equal(hint.procs, 6);
	expect_throttle(T(510), 0, T(1000)); /* not fast for the CPU, which cannot map it: 4c */
}

static void test_table_preferred(void **state)
{
	(void)state;
	facts.has_preferred = true;
	facts.preferred = 2; /* no other processor can map it */
	bounce(1, 2);
	expect_none(T(500), 1);              /* 5c */
	expect_throttle(T(510), 2, T(1000)); /* 3c */
}

static void test_table_near(void **state)
{
	(void)state;
	connect(2); /* near is the CPU, both processors can map the GPU's memory: pinned at the GPU */
	link_fast(0, 1);
	bounce(0, 1);
	facts.residents = 1;
	expect_pin(T(500), 1, 1);
	begin();
	bounce(1, 0);
	facts.residents = 1;
	expect_none(T(500), 0); /* row 2, final */
	begin();                /* near cannot be reached by all: pinned there nevertheless */
	bounce(1, 0);
	processors.can_access[0] = 1;
	facts.residents = 1;
	expect_pin(T(500), 1, 0);
	processors.no_memory = 2;
	begin();
	bounce(0, 1);
	facts.residents = 2;
	expect_pin(T(500), 0, 0); /* GPU 1 has no memory */
}

static void test_table_hmm(void **state)
{
	(void)state;
	connect(2);
	link_fast(0, 1);
	bounce(1, 0);
	facts.residents = 0;
	expect_none(T(500), 0); /* no processor is near: row 5 */
	assert_int_equal(page->spared, 0);
	begin();
	bounce(1, 0);
	facts.residents = 0;
	facts.is_hmm = true;
	expect_pin(T(500), 1, 1);
	begin();
	bounce(0, 1);
	facts.residents = 2;
	facts.is_hmm = true;
	expect_pin(T(500), 0, 1); /* a GPU holds it: not the CPU */
}

/* Rows 3 with requester 1 preferred and not reachable by the others, then rows 4 without a common place. */
static void test_table_rows(void **state)
{
	(void)state;
	facts.has_preferred = true;
	facts.preferred = 1;
	bounce(1, 2);
	expect_none(T(500), 1); /* 3e */
	page->throttles = 10;
	expect_pin(T(510), 1, 1); /* 3d */
	expect_pin(T(520), 1, 1); /* 3a, pinned there */
	page->pin_proc = 2;
	expect_pin(T(530), 1, 1); /* 3a, spared */
	page->pin_proc = 2;
	page->spared = 2;
	expect_throttle(T(540), 1, page->throttle_end_ns); /* 3b */
	processors.can_access[1] = 2;
	processors.can_access[2] = 4;
	page->pin_proc = 2;
	facts.residents = 4;
	expect_pin(T(550), 2, 2); /* 4a: nothing in common */
	page->spared = 1;
	page->pin_proc = 1;
	expect_throttle(T(560), 2, page->throttle_end_ns); /* 4c */
	page->pin_proc = 2;
	page->throttled = 0;
	expect_pin(T(570), 2, 2); /* 4b */
}

/* The set to map: all that took part, and who asks. */
static void test_pinned_procs(void **state)
{
	(void)state;
	connect(4);
	facts.has_preferred = true;
	facts.preferred = 0;
	bounce(1, 2);
	expect_pin(T(500), 3, 0);
	assert_int_equal(hint.procs, 14);
}

/* -- [driver: lapse-adaptation] -- */

/* One question with the gap that is given, about a page that thrashes. */
static void gap(uint64_t gap_ns)
{
	page->events = 7;
	page->throttled = 0;
	expect_none(page->event_ns + gap_ns, 1);
}

static void test_lapse_short(void **state)
{
	static const uint64_t lapse[] = {562500, 632812, 711913, 800902, 901014, 1013640};

	(void)state;
	bounce(1, 0);
	page->spared = 1;
	page->throttle_end_ns = UINT64_MAX;
	for (uint32_t i = 0; i < 6; i++) {
		gap(0);
		assert_int_equal(space.lapse_ns, lapse[i]);
	}
	for (uint32_t i = 6; i < 59; i++)
		gap(0);
	assert_int_equal(space.lapse_ns, 511776316);
	assert_int_equal(space.vote, 0);
	for (int i = 1; i <= 128; i++) {
		gap(0);
		assert_int_equal(space.vote, -i);
	}
	gap(0); /* wraps to 127 */
	assert_int_equal(space.lapse_ns, 447804277);
	assert_int_equal(space.vote, 63);
	gap(0);
	assert_int_equal(space.lapse_ns, 497804277);
}

static void test_lapse_long(void **state)
{
	(void)state;
	bounce(1, 0);
	for (int i = 1; i < 32; i++) {
		gap(600000000);
		assert_true(space.vote == i && space.lapse_ns == 500000);
	}
	gap(600000000);
	assert_true(space.vote == 16 && space.lapse_ns == 562500);
	space.vote = 127;
	space.params.vote_threshold = 500;
	gap(600000000);
	assert_int_equal(space.vote, -64); /* wrapped, which is more than 500 */
	params.lapse_us = 501;             /* only the default adapts */
	begin();
	bounce(1, 0);
	gap(600000000);
	assert_true(space.vote == 0 && space.lapse_ns == 501000);
}

/* At the cap and behind it, and with a vote that is just enough. */
static void test_lapse_cap(void **state)
{
	(void)state;
	bounce(1, 0);
	space.vote = 31;
	space.lapse_ns = 499999999;
	gap(600000000);
	assert_true(space.vote == 16 && space.lapse_ns == 549999999); /* at most 50 ms a step */
	space.vote = 31;
	space.lapse_ns = 500000000;
	gap(600000000);
	assert_true(space.vote == 16 && space.lapse_ns == 437500000);
	params.quirks = false;
	params.vote_threshold = 1;
	begin();
	bounce(1, 0);
	page->spared = 1;
	page->throttle_end_ns = UINT64_MAX;
	space.lapse_ns = 42000;
	gap(0);
	assert_int_equal(space.lapse_ns, 36750);
	space.lapse_ns = 20000;
	gap(0);
	assert_true(space.lapse_ns == 15000 && space.vote == 0); /* at least 5 us a step */
	params.vote_threshold = 4;
	begin();
	bounce(1, 0);
	for (int i = 0; i < 4; i++)
		gap(600000000);
	assert_true(space.lapse_ns == 562500 && space.vote == 2);
}

/* [driver: lapse-widens]: short gaps shorten, long ones lengthen, within the limits. */
static void test_lapse_corrected(void **state)
{
	(void)state;
	params.quirks = false;
	params.vote_threshold = 2;
	params.max_resets = 0;
	begin();
	bounce(1, 0);
	page->spared = 1;
	page->throttle_end_ns = UINT64_MAX;
	gap(0);
	assert_true(space.vote == -1 && space.lapse_ns == 500000);
	gap(0);
	assert_true(space.vote == -1 && space.lapse_ns == 437500);
	for (int i = 0; i < 60; i++)
		gap(0);
	assert_true(space.vote == -2 && space.lapse_ns == 5000);
	for (int i = 0; i < 200; i++)
		gap(600000000);
	assert_true(space.vote == 2 && space.lapse_ns == 500000000);
}

/* [driver: reset-leftovers]: what a reset leaves, and which lapse nap and pin follow. */
static void test_reset_leftovers(void **state)
{
	(void)state;
	for (int quirks = 1; quirks >= 0; quirks--) {
		params.quirks = quirks != 0;
		begin();
		bounce(1, 0);
		space.lapse_ns = 1000000;
		space.params.lapse_us = quirks != 0 ? 500 : 501; /* no adaptation in the second round */
		expect_none(T(500), 0);
		expect_throttle(T(600), 1, quirks != 0 ? T(1000) : T(1500));
		assert_int_equal(uvmp_thrash_reset(&space, &block, seven), UVMP_OK);
		assert_true(page->throttled == 0 && page->throttle_end_ns == 0);
		assert_int_equal(page->throttles, quirks);
		assert_int_equal(page->spared, quirks != 0 ? 0 : NONE);
	}
}

/* [driver: reset-leftovers]: epoch and pin. */
static void test_reset_leftovers_long(void **state)
{
	(void)state;
	for (int quirks = 1; quirks >= 0; quirks--) {
		params.quirks = quirks != 0;
		begin();
		bounce(1, 0);
		space.lapse_ns = 600000;
		expect_none(T(1000401), 0); /* an epoch of the first lapse, none of 1.2 s */
		assert_int_equal(block.resets, quirks);
		begin();
		facts.has_preferred = true;
		facts.preferred = 0;
		bounce(1, 0);
		space.lapse_ns = 600000;
		space.params.lapse_us = quirks != 0 ? 500 : 501;
		expect_pin(T(500), 1, 0);
		assert_int_equal(page->deadline_ns, quirks != 0 ? T(150500) : T(180500));
	}
}

/* [driver: thrashing-parameters, vote-threshold-zero]. */
static void test_params(void **state)
{
	struct uvmp_thrash_params wrong = {.threshold = 8, .nap = 101, .pin_threshold = 256, .quirks = true};

	(void)state;
	uvmp_thrash_params_init(NULL);
	assert_true(params.is_enabled && params.threshold == 3 && params.pin_threshold == 10);
	assert_true(params.lapse_us == 500 && params.vote_threshold == 32 && params.nap == 1);
	assert_true(params.epoch == 2000 && params.pin == 300 && params.max_resets == 4 && params.quirks);
	assert_int_equal(uvmp_thrash_space_init(&space, &wrong), UVMP_OK);
	assert_true(space.params.threshold == 3 && space.params.pin_threshold == 10 && space.params.nap == 1);
	assert_true(space.params.lapse_us == 500 && space.params.epoch == 2000);
	assert_int_equal(space.params.vote_threshold, 500);
	assert_true(space.params.pin == 0 && space.params.max_resets == 0 && !space.params.is_enabled);
	wrong = (struct uvmp_thrash_params){true, 7, 255, 1, 1, 100, 1, 5, 6, true}; /* the limits */
	assert_int_equal(uvmp_thrash_space_init(&space, &wrong), UVMP_OK);
	assert_true(space.params.threshold == 7 && space.params.pin_threshold == 255);
	assert_true(space.params.lapse_us == 1 && space.lapse_ns == 1000 && space.params.nap == 100);
	assert_true(space.params.vote_threshold == 1 && space.params.epoch == 1);
	wrong = (struct uvmp_thrash_params){true, 1, 1, 1, 1, 1, 1, 5, 6, true};
	assert_int_equal(uvmp_thrash_space_init(&space, &wrong), UVMP_OK);
	assert_true(space.params.threshold == 1 && space.params.pin_threshold == 1);
	wrong.vote_threshold = 0;
	wrong.quirks = false;
	assert_int_equal(uvmp_thrash_space_init(&space, &wrong), UVMP_OK);
	assert_int_equal(space.params.vote_threshold, 32);
	assert_int_equal(uvmp_thrash_space_init(&space, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_space_init(NULL, &params), UVMP_ERR_ARGUMENT);
}

/* -- [driver: pin-and-reset] -- */

static void pin_other(uint32_t index, uint64_t now_ns)
{
	struct uvmp_thrash_facts f = {index, 1, 0, 1, false, now_ns, true};

	for (uint32_t i = 0; i < 5; i++)
		migrate_in(&other, (struct uvmp_region){index, index + 1}, now_ns - 500 + i, 1 - i % 2,
		           UVMP_MIGRATE_FAULT);
	space.lapse_ns = 500000;
	other_array[index].event_ns = now_ns;
	other_array[index].events = 7;
	uvmp_mask_set(&other.thrashing, index);
	assert_int_equal(uvmp_thrash_decide(&space, &other, &processors, &f, &hint), UVMP_OK);
	assert_int_equal(hint.kind, UVMP_THRASH_PIN);
}

static void test_queue(void **state)
{
	struct uvmp_thrash_block *unpinned = NULL;
	uint32_t index = 99;
	bool found;

	(void)state;
	assert_true(uvmp_thrash_unpin_us(&space, T(0)) == UVMP_THRASH_IDLE);
	assert_false(uvmp_thrash_unpin_is_due(&space, T(0)));
	assert_int_equal(uvmp_thrash_unpin(&space, T(0), &unpinned, &index, &found), UVMP_OK);
	assert_false(found);
	for (uint32_t i = 0; i < 4; i++)
		pin_other(i, T(1000 * i));
	assert_int_equal(uvmp_thrash_unpin_us(&space, T(100000.5)), 49999);
	assert_int_equal(uvmp_thrash_unpin_us(&space, T(160000)), 0);
	/* out of the middle, then from the end */
	assert_int_equal(uvmp_thrash_reset(&space, &other, (struct uvmp_region){1, 2}), UVMP_OK);
	assert_int_equal(uvmp_thrash_reset(&space, &other, (struct uvmp_region){3, 4}), UVMP_OK);
	assert_false(uvmp_thrash_unpin_is_due(&space, T(149979.999)));
	assert_int_equal(uvmp_thrash_unpin(&space, T(149979.999), &unpinned, &index, &found), UVMP_OK);
	assert_false(found);
	assert_true(uvmp_thrash_unpin_is_due(&space, T(149980)));
	assert_true(uvmp_thrash_unpin_is_due(&space, UINT64_MAX));
	assert_int_equal(uvmp_thrash_unpin(&space, T(149980), &unpinned, &index, &found), UVMP_OK);
	assert_true(found && unpinned == &other && index == 0);
	assert_int_equal(uvmp_thrash_unpin(&space, T(149980), &unpinned, &index, &found), UVMP_OK);
	assert_false(found);
	assert_int_equal(uvmp_thrash_block_end(&space, &other), UVMP_OK);
	assert_true(space.first == NULL && other.pins == 0 && !other.has_pages);
	space.params.pin = 0; /* for good */
	other.pins = UINT32_MAX;
	pin_other(2, T(9000));
	assert_true(space.first == NULL && other.pins == UINT32_MAX);
}

/* A page that leaves the head of the queue and is pinned again stands at its end. */
static void test_queue_again(void **state)
{
	struct uvmp_thrash_block *unpinned = NULL;
	uint32_t index = 99;
	bool found;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		pin_other(i, T(1000 * i));
	assert_int_equal(uvmp_thrash_unpin(&space, T(150000), &unpinned, &index, &found), UVMP_OK);
	assert_true(found && index == 0 && other_array[0].pin_proc == NONE);
	assert_false(uvmp_mask_test(&other.pinned, 0) || uvmp_mask_test(&other.thrashing, 0));
	pin_other(0, T(150100));
	assert_true(space.first == &other_array[1] && space.last == &other_array[0]);
	assert_true(other_array[0].next == NULL && other_array[2].next == &other_array[0]);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(uvmp_thrash_unpin(&space, T(300100), &unpinned, &index, &found), UVMP_OK);
		assert_true(found && index == (i + 1) % 3);
	}
	assert_true(space.first == NULL && space.last == NULL);
	assert_int_equal(other.pins, 4);
}

/* A block that ends takes all of its pages out of the queue, its first and last too, and no others. */
static void test_block_end(void **state)
{
	void *memory = NULL;

	(void)state;
	facts.has_preferred = true;
	facts.preferred = 0;
	pin_other(0, T(0));
	bounce(1, 0);
	expect_pin(T(500), 1, 0);
	pin_other(3, T(1000));
	other.resets = 3;
	other.throttlings = 5;
	assert_int_equal(uvmp_thrash_block_take(&other, &memory), UVMP_ERR_STATE);
	assert_int_equal(uvmp_thrash_block_end(&space, &other), UVMP_OK);
	assert_true(space.first == page && space.last == page && page->next == NULL);
	assert_true(uvmp_mask_is_empty(&other.thrashing) && uvmp_mask_is_empty(&other.pinned));
	assert_true(other.resets == 0 && other.pins == 0 && other.throttlings == 0);
	assert_true(other.id == 41 && other.pages == 4 && other.last_ns == 0 && other.last_proc == NONE);
	assert_int_equal(uvmp_thrash_block_take(&other, &memory), UVMP_OK);
	assert_ptr_equal(memory, other_array);
}

/* -- bad input -- */

static void test_bad_block(void **state)
{
	void *memory;

	(void)state;
	assert_int_equal(uvmp_thrash_block_init(NULL, 0, 1), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_block_init(&block, 0, 0), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_thrash_block_init(&block, 0, 513), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_thrash_array_size(0), 0);
	assert_int_equal(uvmp_thrash_array_size(513), 0);
	assert_int_equal(uvmp_thrash_array_size(512), sizeof(array));
	assert_int_equal(uvmp_thrash_block_give(&block, array, sizeof(array)), UVMP_ERR_STATE);
	assert_int_equal(uvmp_thrash_block_give(&block, NULL, 9), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_block_give(&block, (char *)array + 1, sizeof(array)), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_block_give(NULL, array, sizeof(array)), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_block_take(NULL, &memory), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_block_take(&block, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_block_take(&block, &memory), UVMP_OK);
	assert_int_equal(uvmp_thrash_block_give(&block, array, sizeof(array) - 1), UVMP_ERR_SPACE);
	assert_int_equal(uvmp_thrash_block_end(&space, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_block_end(NULL, &block), UVMP_ERR_ARGUMENT);
}

static void test_validity(void **state)
{
	struct uvmp_thrash_space s = space;
	struct uvmp_thrash_block b = block;

	(void)state;
	s.params.threshold = 0;
	assert_false(uvmp_thrash_space_is_valid(&s));
	s.params.threshold = 8;
	assert_false(uvmp_thrash_space_is_valid(&s));
	s = space;
	s.lapse_ns = 0;
	assert_false(uvmp_thrash_space_is_valid(&s));
	s = space;
	s.first = array;
	assert_false(uvmp_thrash_space_is_valid(&s));
	b.pages = 0;
	assert_false(uvmp_thrash_block_is_valid(&b));
	b = block;
	b.last_proc = 65;
	assert_false(uvmp_thrash_block_is_valid(&b));
	b = block;
	uvmp_mask_set(&b.thrashing, 0);
	assert_false(uvmp_thrash_block_is_valid(&b));
	uvmp_mask_clear(&b.thrashing, 0);
	uvmp_mask_set(&b.thrashing, 3);
	assert_false(uvmp_thrash_block_is_valid(&b));
	b.has_pages = true;
	assert_true(uvmp_thrash_block_is_valid(&b));
	uvmp_mask_set(&b.pinned, 4);
	assert_false(uvmp_thrash_block_is_valid(&b));
	b.memory = NULL;
	assert_false(uvmp_thrash_block_is_valid(&b));
}

/* What uvmp_thrash_migrate does to the thrashing page. */
static enum uvmp_thrash_effect observed(const struct uvmp_thrash_migration *m)
{
	const uint64_t before_ns = page->event_ns;

	assert_true(uvmp_mask_test(&block.thrashing, PAGE));
	assert_int_equal(uvmp_thrash_migrate(&space, &block, m), UVMP_OK);
	if (!uvmp_mask_test(&block.thrashing, PAGE))
		return UVMP_THRASH_RESETS;
	return page->event_ns != before_ns ? UVMP_THRASH_COUNTS : UVMP_THRASH_IGNORED;
}

/* uvmp_thrash_effect_of says what uvmp_thrash_migrate then does. */
static void test_effects(void **state)
{
	uint32_t seen[3] = {0, 0, 0};

	for (uint32_t i = 0; i < 8u * (UVMP_MIGRATE_API_HINT + 1u); i++) {
		const struct uvmp_thrash_migration m = {.region = seven,
		                                        .to = 1,
		                                        .final_to = 1u + (i & 1u),
		                                        .is_copy = (i & 2u) != 0,
		                                        .is_read_duplicated = (i & 4u) != 0,
		                                        .cause = (enum uvmp_migrate_cause)(i / 8u),
		                                        .now_ns = T(600)};
		enum uvmp_thrash_effect effect;

		prepare(state);
		bounce(0, 1);
		effect = uvmp_thrash_effect_of(&space, &m);
		assert_int_equal(effect, observed(&m));
		seen[effect]++;
		params.is_enabled = false;
		begin();
		assert_int_equal(uvmp_thrash_effect_of(&space, &m), UVMP_THRASH_IGNORED);
	}
	assert_true(seen[UVMP_THRASH_IGNORED] > 0 && seen[UVMP_THRASH_RESETS] > 0);
	assert_int_equal(seen[UVMP_THRASH_COUNTS], 3); /* fault, access counter, prefetch */
}

static void test_bad_events(void **state)
{
	struct uvmp_thrash_migration m = {.region = seven};
	const struct uvmp_region empty = {3, 3}, beyond = {511, 513};
	struct uvmp_thrash_space no_space = {.lapse_ns = 0};
	struct uvmp_thrash_block no_block = {.pages = 0};

	(void)state;
	assert_int_equal(uvmp_thrash_migrate(NULL, &block, &m), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_migrate(&space, NULL, &m), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_migrate(&space, &block, NULL), UVMP_ERR_ARGUMENT);
	m.to = 64;
	assert_int_equal(uvmp_thrash_migrate(&space, &block, &m), UVMP_ERR_RANGE);
	m.to = 0;
	m.final_to = 64;
	assert_int_equal(uvmp_thrash_migrate(&space, &block, &m), UVMP_ERR_RANGE);
	m.region = empty;
	assert_int_equal(uvmp_thrash_migrate(&space, &block, &m), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_thrash_migrate(&no_space, &block, &m), UVMP_ERR_ARGUMENT);
	m.region = seven;
	assert_int_equal(uvmp_thrash_migrate(&space, &no_block, &m), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_thrash_revoke(&no_space, &block, seven, 0, 1), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_revoke(&space, &no_block, seven, 0, 1), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_thrash_revoke(NULL, &block, seven, 0, 1), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_revoke(&space, NULL, seven, 0, 1), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_revoke(&space, &block, beyond, 0, 1), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_thrash_revoke(&space, &block, seven, 64, 1), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_thrash_reset(NULL, &block, seven), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_reset(&space, NULL, seven), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_reset(&space, &block, beyond), UVMP_ERR_RANGE);
}

static void test_bad_questions(void **state)
{
	struct uvmp_thrash_block *b;
	struct uvmp_thrash_space no_space = {.lapse_ns = 0};
	struct uvmp_thrash_block no_block = {.pages = 0};
	struct uvmp_processors many = {.count = 65};
	uint32_t p;
	bool found;

	(void)state;
	assert_int_equal(uvmp_thrash_decide(&no_space, &block, &processors, &facts, &hint), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_decide(&space, &no_block, &processors, &facts, &hint), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_thrash_decide(&space, &block, &many, &facts, &hint), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_decide(NULL, &block, &processors, &facts, &hint), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_decide(&space, NULL, &processors, &facts, &hint), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_decide(&space, &block, NULL, &facts, &hint), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_decide(&space, &block, &processors, NULL, &hint), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_decide(&space, &block, &processors, &facts, NULL), UVMP_ERR_ARGUMENT);
#define EXPECT_RANGE(field, value, good)                                                                     \
	facts.field = value;                                                                                 \
	assert_int_equal(uvmp_thrash_decide(&space, &block, &processors, &facts, &hint), UVMP_ERR_RANGE);    \
	facts.field = good
	EXPECT_RANGE(page, 512, PAGE);
	EXPECT_RANGE(requester, 3, 0);
	EXPECT_RANGE(preferred, 3, 0);
	EXPECT_RANGE(preferred, 1, NONE); /* without has_preferred */
	EXPECT_RANGE(has_preferred, true, false);
	facts.has_preferred = true;
	EXPECT_RANGE(preferred, 3, NONE);
	facts.has_preferred = false;
	bounce(0, 1);
	facts.now_ns = T(550);
	EXPECT_RANGE(residents, 8, 1); /* checked from here on, as the page thrashes */
	assert_int_equal(uvmp_thrash_decide(&space, &block, &processors, &facts, &hint), UVMP_OK);
	migrate(T(500), 5); /* a processor that does not exist takes part */
	facts.residents = 1;
	EXPECT_RANGE(requester, 0, 0);
	assert_int_equal(uvmp_thrash_unpin(NULL, 0, &b, &p, &found), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_unpin(&space, 0, NULL, &p, &found), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_unpin(&space, 0, &b, NULL, &found), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_thrash_unpin(&space, 0, &b, &p, NULL), UVMP_ERR_ARGUMENT);
	assert_true(uvmp_thrash_unpin_us(NULL, 0) == UVMP_THRASH_IDLE);
	assert_false(uvmp_thrash_unpin_is_due(NULL, 0));
	{
		const struct uvmp_thrash_migration event = {.to = 1, .final_to = 1};
		const struct uvmp_thrash_space zero = {.first = NULL};

		assert_int_equal(uvmp_thrash_effect_of(NULL, &event), UVMP_THRASH_IGNORED);
		assert_int_equal(uvmp_thrash_effect_of(&space, NULL), UVMP_THRASH_IGNORED);
		assert_int_equal(uvmp_thrash_effect_of(&zero, &event), UVMP_THRASH_IGNORED);
		assert_int_equal(uvmp_thrash_effect_of(&space, &event), UVMP_THRASH_COUNTS);
	}
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup(test, prepare)
	const struct CMUnitTest tests[] = {
	        TEST(test_example_a),     TEST(test_example_b),
	        TEST(test_example_c), TEST(test_zeroed_facts),     TEST(test_example_d),
	        TEST(test_example_e),     TEST(test_example_f),
	        TEST(test_example_g),     TEST(test_example_h),
	        TEST(test_epoch_limit),   TEST(test_epoch_again),
	        TEST(test_pinned_total_grows),           TEST(test_causes),
	        TEST(test_kinds),         TEST(test_filters),
	        TEST(test_array_begins),  TEST(test_entries_begin), TEST(test_counting),
	        TEST(test_revocation),    TEST(test_two_throttled),
	        TEST(test_end_of_period), TEST(test_end_of_thrashing),
	        TEST(test_table_fast),    TEST(test_table_preferred),
	        TEST(test_table_near),    TEST(test_table_hmm),
	        TEST(test_table_rows),    TEST(test_pinned_procs),
	        TEST(test_lapse_short),   TEST(test_lapse_long),
	        TEST(test_lapse_cap),     TEST(test_lapse_corrected),
	        TEST(test_reset_leftovers),           TEST(test_reset_leftovers_long),
	        TEST(test_params),        TEST(test_queue),
	        TEST(test_queue_again),   TEST(test_block_end),
	        TEST(test_bad_block),     TEST(test_validity),
	        TEST(test_effects), TEST(test_bad_events),    TEST(test_bad_questions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
