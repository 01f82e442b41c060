/* Prefetch by cost: the rules at the top of prefetch_auto*.c, one by one, worked by hand. Without a price of room, a stay of a
 * whole block costs 12 + 512 copies; the first fault of mode dense brings a big page, for 12 + 16 / 4 and 16 copies. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "prefetch/prefetch_auto_internal.h"
#include "support/prefetch_case.h"

#define BLOCKS 80
#define TURN   1000u /* pages of the memory */
#define WHOLE  524u  /* cost of a stay */

static struct prefetch_case c;
static struct auto_block block[BLOCKS];
static uvmp_mask resident[BLOCKS];
static struct auto_range *range;
static struct auto_processor *processor;

/* Memory is full, and room has no price. The first mode of the range is whole, and the next stay is a probe. */
static void prepare(void)
{
	prefetch_case_init(&c, UVMP_PREFETCH_AUTO, 512);
	memset(block, 0, sizeof(block));
	memset(resident, 0, sizeof(resident));
	range = (struct auto_range *)c.range.word;
	processor = (struct auto_processor *)c.processor;
	c.params.auto_price = 1;
	c.facts.memory = (struct uvmp_prefetch_memory){.pages = TURN, .evicted_pages = 5000};
	c.facts.range_pages = 1u << 20;
	range->largest = 255;
	range->has_begun = true;
	range->since = 16;
}

/* Pages of the block fault, and arrive with those that are prefetched: so many in all. */
static uint32_t fault(uint32_t b, const char *pages)
{
	uint32_t came;

	c.state.block = &block[b];
	c.resident = resident[b];
	assert_int_equal(prefetch_case_decide(&c, pages), UVMP_OK);
	if (c.hint.to != UVMP_PROC_NONE)
		prefetch_case_arrive(&c);
	uvmp_mask_or(&c.resident, &c.resident, &c.faulted);
	came = uvmp_mask_weight(&c.resident) - uvmp_mask_weight(&resident[b]);
	resident[b] = c.resident;
	return came;
}

static void leave(uint32_t b, const char *pages)
{
	uvmp_mask gone = page_text(pages);
	struct uvmp_prefetch_departure departure = {.gone = &gone, .processor = 1};

	uvmp_mask_andnot(&resident[b], &resident[b], &gone);
	c.facts.memory.evicted_pages += uvmp_mask_weight(&gone);
	departure.evicted_pages = c.facts.memory.evicted_pages;
	assert_int_equal(uvmp_prefetch_left(UVMP_PREFETCH_AUTO, &block[b], &departure), UVMP_OK);
}

/* A memory full of pages comes elsewhere. */
static void pass_turn(void)
{
	processor->time += TURN;
}

/* -- what no mode decides -- */

static void test_before_the_first_eviction(void **state)
{
	(void)state;
	prepare();
	c.facts.memory.evicted_pages = 0;
	for (uint32_t b = 0; b < 20; b++)
		assert_int_equal(fault(b, "5"), 512);
	assert_int_equal(processor->time, 20 * 512);
	assert_int_equal(range->gap, 0);
	assert_true(block[0].is_known);
	c.facts.memory.evicted_pages = 1; /* the stay goes on */
	resident[0] = page_text("0-99");
	assert_int_equal(fault(0, "100"), 412);
	assert_int_equal(range->gap, 0);
	assert_int_equal(fault(20, "5"), 16); /* another one begins: a probe */
}

static void test_cpu(void **state)
{
	struct auto_range none = {.largest = 255, .has_begun = true, .since = 16};

	(void)state;
	prepare();
	c.facts.to = UVMP_CPU;
	assert_int_equal(fault(0, "5"), 512);
	assert_memory_equal(range, &none, sizeof(none));
	assert_false(block[0].is_known);
}

/* Density with `threshold`. */
static void test_without_states(void **state)
{
	(void)state;
	prepare();
	c.facts.memory.pages = 0;
	assert_int_equal(fault(0, "5"), 16);
	assert_false(block[0].is_known);
	prepare();
	c.state.block = NULL;
	assert_int_equal(prefetch_case_decide(&c, "5"), UVMP_OK);
	assert_int_equal(uvmp_mask_weight(&c.hint.pages), 15);
	assert_int_equal(processor->time, 0);
	c.params.threshold = 1;
	assert_int_equal(prefetch_case_decide(&c, "5"), UVMP_OK);
	assert_int_equal(uvmp_mask_weight(&c.hint.pages), 511);
}

/* -- the first mode -- */

/* After 20 services of blocks without pages, of so many faulted pages each, and the first eviction. */
static uint32_t first_mode(uint32_t blocks, const char *pages)
{
	prepare();
	range->has_begun = false;
	c.facts.memory = (struct uvmp_prefetch_memory){.pages = (uint64_t)blocks * 512u, .evicted_pages = 0};
	for (uint32_t b = 0; b < 20; b++)
		assert_int_equal(fault(b, pages), 512);
	assert_false(range->has_begun);
	c.facts.memory.evicted_pages = 1;
	(void)fault(20, pages);
	assert_true(range->has_begun);
	return range->mode;
}

/* A memory of fewer than 16 blocks, and fewer than two faults in each empty block. */
static void test_first_mode(void **state)
{
	(void)state;
	assert_int_equal(first_mode(15, "5"), AUTO_DENSE);
	assert_int_equal(first_mode(16, "5"), AUTO_WHOLE);
	assert_int_equal(first_mode(15, "5,300"), AUTO_WHOLE);
	assert_int_equal(first_mode(1, "5"), AUTO_DENSE);
	assert_int_equal(processor->faults, 21);
	assert_int_equal(processor->groups, 21);
}

/* It may change after two turns, as after other changes, and is not chosen again. */
static void test_first_mode_may_change(void **state)
{
	(void)state;
	assert_int_equal(first_mode(4, "5"), AUTO_DENSE);
	assert_int_equal(range->patience, 0);
	assert_int_equal(range->hold_until, processor->time - 16 + 2 * 4 * 512);
	for (uint32_t b = 21; b < 60 && range->mode == AUTO_DENSE; b++)
		for (uint32_t page = 0; page < 512 && range->mode == AUTO_DENSE; page += 16) {
			char text[8];

			(void)snprintf(text, sizeof(text), "%u", page);
			(void)fault(b, text);
		}
	assert_true(processor->time >= 2 * 4 * 512);
	assert_int_not_equal(range->mode, AUTO_DENSE);
	range->mode = AUTO_WHOLE;
	range->gap = 64;
	assert_int_equal(fault(70, "5"), 512);
}

/* Only whole blocks: auto_gap=0. A range that is used for the first time after the eviction counts the faults of others. */
static void test_first_mode_of_others(void **state)
{
	(void)state;
	prepare();
	c.params.auto_gap = 0;
	range->has_begun = false;
	assert_int_equal(fault(0, "5"), 512);
	prepare();
	range->has_begun = false;
	(void)fault(0, "5,300");
	assert_int_equal(range->mode, AUTO_WHOLE);
	*range = (struct auto_range){.largest = 255}; /* another range */
	assert_int_equal(fault(1, "5"), 16);
	assert_int_equal(range->mode, AUTO_DENSE);
}

/* Old services count less. */
static void test_services_are_halved(void **state)
{
	(void)state;
	prepare();
	processor->faults = 300;
	processor->groups = 62;
	(void)fault(0, "5");
	assert_int_equal(processor->groups, 63);
	(void)fault(1, "5-7");
	assert_int_equal(processor->faults, 152);
	assert_int_equal(processor->groups, 32);
	(void)fault(1, "9"); /* the block has pages */
	assert_int_equal(processor->groups, 32);
}

/* -- probes -- */

/* The first stay, and then every fourth. */
static void test_probes(void **state)
{
	(void)state;
	prepare();
	c.facts.memory.pages = 100000;
	for (uint32_t b = 0; b < 9; b++)
		assert_int_equal(fault(b, "5"), b % 4 == 0 ? 16 : 512);
	for (uint32_t i = 0; i < AUTO_PROBES; i++) {
		assert_int_equal(range->probing[i], AUTO_DENSE);
		assert_int_equal(block[4 * i].probe, i);
		assert_int_equal(range->probe[i].begun, 4 * i * 512); /* a block for each stay */
		assert_int_equal(range->probe[i].cost.pages, 16);
		assert_int_equal(range->probe[i].cost.fixed, 16);
	}
	assert_int_equal(block[1].probe, AUTO_PROBES);
}

/* A stay, and a probe, end when a memory full of pages has come since. */
static void test_end_of_stays(void **state)
{
	(void)state;
	prepare();
	(void)fault(0, "5");
	processor->time += TURN - 513; /* and one page less than 512 of its own */
	(void)fault(0, "6");
	assert_int_equal(range->seen[0], 0);
	processor->time++;
	assert_int_equal(range->probing[0], AUTO_DENSE);
	(void)fault(0, "100");
	assert_int_equal(range->seen[0], 1);
	assert_int_equal(range->gap, 8);
	assert_int_equal(block[0].begun, TURN);
	assert_int_equal(block[0].mode, AUTO_WHOLE);
	leave(0, "0-511"); /* in mode whole also when nothing of it is left */
	processor->time += 9;
	(void)fault(0, "5");
	assert_int_equal(block[0].begun, TURN + 512 + 9);
	leave(0, "0-510");
	processor->time += 9;
	(void)fault(0, "5");
	assert_int_equal(block[0].begun, TURN + 512 + 9);
}

static void test_gap_of_no_probes(void **state)
{
	(void)state;
	prepare();
	c.params.auto_gap = 0;
	for (uint32_t b = 0; b < 9; b++)
		assert_int_equal(fault(b, "5"), 512);
	prepare();
	c.params.auto_gap = 1; /* and of nothing but probes: three at a time */
	for (uint32_t b = 0; b < 3; b++)
		assert_int_equal(fault(b, "5"), 16);
}

/* A range has no probe in its first 16 stays; fewer, if the gap is never so long. After a change of the mode, at once. */
static void test_young_ranges(void **state)
{
	static const uint8_t stays[] = {16, 16, 3};
	static const uint8_t gap[] = {255, 16, 3};

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		prepare();
		c.facts.memory.pages = 100000;
		c.params.auto_gap = gap[i];
		range->since = 0;
		for (uint32_t b = 0; b < stays[i]; b++)
			assert_int_equal(fault(b, "5"), 512);
		assert_int_equal(fault(stays[i], "5"), 16);
		assert_int_equal(block[stays[i]].mode, AUTO_DENSE);
	}
	prepare();
	range->since = 0;
	range->patience = 1; /* it has returned to whole */
	assert_int_equal(fault(0, "5"), 16);
	prepare();
	range->since = 0;
	range->mode = AUTO_DENSE;
	range->hold_until = processor->time + TURN;
	(void)fault(0, "5");
	assert_int_equal(block[0].mode, AUTO_SPARSE);
}

/* A range without change probes less and less. */
static void test_gaps_double(void **state)
{
	static const uint8_t gap[] = {8, 16, 20, 20};

	(void)state;
	prepare();
	c.params.auto_gap = 20;
	for (uint32_t i = 0; i < 4; i++) {
		range->since = i == 0 ? 16 : range->gap; /* due */
		assert_int_equal(fault(i, "5"), 16);
		assert_int_equal(fault(i, "16-511"), 496); /* complete: it costs what the whole block costs, and more */
		assert_int_equal(range->gap, gap[i]);
		assert_int_equal(range->mode, AUTO_WHOLE);
		pass_turn();
	}
}

/* Three at a time; the next one waits for the next stay after one of them has ended, also with the longest gap. */
static void test_no_place(void **state)
{
	(void)state;
	prepare();
	c.facts.memory.pages = 100000;
	range->gap = 255;
	c.params.auto_gap = 255;
	for (uint32_t b = 0; b < 3; b++) {
		range->since = 254;
		assert_int_equal(fault(b, "5"), 16);
	}
	range->since = 254;
	assert_int_equal(fault(3, "5"), 512);
	assert_int_equal(fault(4, "5"), 512);
	range->probing[1] = AUTO_WHOLE;
	assert_int_equal(fault(5, "5"), 16);
	assert_int_equal(block[5].probe, 1);
	assert_int_equal(fault(1, "16"), 16); /* was a probe, and costs the new one nothing */
	assert_int_equal(range->probe[1].cost.pages, 16);
}

/* First dense, twice; then by turns, the mode that was seen less. */
static void test_mode_of_probes(void **state)
{
	static const struct {
		uint8_t mode, seen[2];
		uint16_t dense_pages, dense_fixed;
		enum auto_mode probed;
	} row[] = {
	        {AUTO_WHOLE, {1, 0}, 900, 900, AUTO_DENSE},  {AUTO_WHOLE, {2, 0}, 900, 900, AUTO_SPARSE},
	        {AUTO_WHOLE, {2, 2}, 900, 900, AUTO_DENSE},  {AUTO_WHOLE, {3, 2}, 900, 900, AUTO_SPARSE},
	        {AUTO_DENSE, {9, 0}, 100, 100, AUTO_SPARSE}, {AUTO_SPARSE, {0, 9}, 100, 100, AUTO_DENSE},
	        /* accesses from begin to end: nearly all of the block, in a few steps */
	        {AUTO_WHOLE, {3, 2}, 480, 287, AUTO_DENSE},  {AUTO_WHOLE, {3, 2}, 480, 288, AUTO_SPARSE},
	        {AUTO_WHOLE, {3, 2}, 479, 100, AUTO_SPARSE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		prepare();
		range->mode = row[i].mode;
		memcpy(range->seen, row[i].seen, sizeof(range->seen));
		range->mean[0] = (struct auto_cost){row[i].dense_pages, row[i].dense_fixed};
		(void)fault(0, "5");
		assert_int_equal(block[0].mode, row[i].probed);
		assert_int_equal(range->probing[0], row[i].probed);
	}
}

/* A quarter of the mean is new. */
static void test_mean_of_probes(void **state)
{
	(void)state;
	prepare();
	range->mean[0] = (struct auto_cost){400, 200};
	range->seen[0] = 1;
	assert_int_equal(fault(0, "5"), 16);
	pass_turn();
	pass_turn();
	(void)fault(1, "5");
	assert_int_equal(range->mean[0].pages, (3 * 400 + 16) / 4);
	assert_int_equal(range->mean[0].fixed, (3 * 200 + 16) / 4);
	assert_int_equal(range->seen[0], 2);
}

/* After 255 of them both counts are halved, and a mode that was not seen stays unseen. */
static void test_many_probes(void **state)
{
	static const uint8_t row[][2] = {{0, 0}, {3, 3}, {4, 2}, {200, 100}};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		prepare();
		range->seen[0] = 255;
		range->seen[1] = row[i][0];
		range->mean[0] = range->mean[1] = (struct auto_cost){500, 500};
		c.params.auto_gap = 1;
		range->gap = 1;
		range->probing[0] = AUTO_DENSE;
		processor->time = 5000;
		(void)fault(0, "5");
		assert_int_equal(range->seen[0], 128);
		assert_int_equal(range->seen[1], row[i][1]);
		assert_int_equal(range->mode, AUTO_WHOLE);
	}
}

/* -- inside a stay -- */

/* Each fault costs 12 for the service, 16 for the pages, and 4 since they leave in parts; what has cost 524 gets the rest. */
static void test_ski_rental(void **state)
{
	char text[8];

	(void)state;
	prepare();
	range->mode = AUTO_SPARSE;
	range->hold_until = 0x70000000;
	range->gap = 64;
	for (uint32_t i = 0; i < 17; i++) {
		assert_true(block[0].mode == AUTO_SPARSE || i == 0);
		assert_int_equal(block[0].spent, i * 32);
		(void)snprintf(text, sizeof(text), "%u", 16 * i);
		assert_int_equal(fault(0, text), 16);
	}
	assert_int_equal(range->pages, 512); /* of the mode: the rest, too */
	assert_int_equal(range->fixed, 17 * 16);
	assert_int_equal(block[0].spent, 17 * 32);
	assert_in_range(block[0].spent, WHOLE, 2 * WHOLE);
	assert_int_equal(block[0].mode, AUTO_WHOLE);
	assert_int_equal(fault(0, "300"), 512 - 17 * 16);
	assert_int_equal(block[0].spent, 17 * 32);
}

/* A probe that has spent as much has used all of the block; so has one that has brought all of it. */
static void test_probes_that_end(void **state)
{
	char text[8];

	(void)state;
	prepare();
	for (uint32_t i = 0; i < 17; i++) {
		(void)snprintf(text, sizeof(text), "%u", 16 * i);
		c.params.threshold = 99; /* no larger node than a big page is dense */
		(void)fault(0, text);
		assert_int_equal(range->seen[0], i >= 16);
	}
	assert_int_equal(range->mean[0].pages, 512);
	assert_int_equal(range->mean[0].fixed, 17 * 16);
	prepare();
	(void)fault(0, "0-511");
	assert_int_equal(range->seen[0], 1);
	assert_int_equal(range->mean[0].pages, 512);
	assert_int_equal(range->mean[0].fixed, 12 + 512 / 4);
}

/* -- the mode of a range -- */

/* Two probes that cost less than four fifths of 524. */
static void test_finer(void **state)
{
	static const struct {
		uint8_t seen;
		uint16_t pages, fixed;
		enum auto_mode mode;
	} row[] = {{1, 10, 10, AUTO_WHOLE}, {2, 400, 15, AUTO_DENSE}, {2, 400, 16, AUTO_WHOLE}};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		prepare();
		range->seen[0] = (uint8_t)(row[i].seen - 1);
		range->mean[0] = (struct auto_cost){row[i].pages, row[i].fixed};
		range->probe[0].cost = range->mean[0];
		range->probing[0] = AUTO_DENSE;
		range->gap = 64;
		processor->time = 7000;
		(void)fault(0, "5");
		assert_int_equal(range->seen[0], row[i].seen);
		assert_int_equal(range->mode, row[i].mode);
		if (range->mode == AUTO_WHOLE)
			continue;
		assert_true(range->is_filling);
		assert_int_equal(range->hold_until, 7000 + 2 * TURN);
		assert_int_equal(range->gap, 4); /* and the stay that begins is a probe of the other mode */
		assert_int_equal(block[0].mode, AUTO_SPARSE);
	}
}

/* Range in a mode, which may change and has filled memory; the next stays are no probes. */
static void go_on(enum auto_mode mode)
{
	prepare();
	range->mode = (uint8_t)mode;
	range->seen[mode - 1] = 2;
	range->gap = 255;
	c.params.auto_gap = 255;
}

/* The first turn does not count; then the mean of eight stays does, and of 64 at most. */
static void test_own_mean(void **state)
{
	(void)state;
	go_on(AUTO_SPARSE);
	range->is_filling = true;
	c.facts.memory.pages = 1000000;
	range->hold_until = 600 + 1000000;
	(void)fault(0, "5");
	assert_int_equal(range->stays, 1);
	assert_int_equal(range->pages, 16);
	processor->time = 600;
	for (uint32_t b = 1; b < 10; b++)
		(void)fault(b, "5,100");
	assert_int_equal(range->stays, 8);
	assert_int_equal(range->seen[1], 8);
	assert_int_equal(range->mean[1].pages, 32);
	assert_int_equal(range->mean[1].fixed, 12 + 8);
	assert_int_equal(range->mode, AUTO_SPARSE);
	for (uint32_t b = 10; b < 65; b++)
		(void)fault(b, "5,100");
	assert_int_equal(range->stays, 63);
	(void)fault(65, "5,100");
	assert_int_equal(range->stays, 32);
	assert_int_equal(range->pages, 32 * 32);
	assert_int_equal(range->fixed, 32 * 20);
	block[66] = (struct auto_block){.mode = AUTO_DENSE, .probe = AUTO_PROBES, .is_known = true, .begun = processor->time};
	range->ahead = 0;
	(void)fault(66, "5"); /* of another mode: no cost of this one */
	assert_int_equal(range->pages, 32 * 32);
}

/* What costs more than whole blocks ends, and is tried again after 1, 2, 4, ... 32 turns. */
static void test_return_to_whole(void **state)
{
	static const uint8_t patience[] = {1, 2, 4, 8, 16, 32, 32};

	(void)state;
	go_on(AUTO_DENSE);
	for (size_t i = 0; i < sizeof(patience); i++) {
		uint32_t now = 10000 * (uint32_t)(i + 1);

		processor->time = now;
		range->ahead = 0;
		range->mode = AUTO_DENSE;
		range->gap = 255;
		range->since = 0;
		range->hold_until = now + 1;
		range->stays = 8;
		range->pages = 8 * 900;
		memset(block, 0, sizeof(block));
		memset(resident, 0, sizeof(resident));
		(void)fault(0, "5");
		assert_int_equal(range->mode, AUTO_WHOLE);
		assert_int_equal(range->patience, patience[i]);
		assert_int_equal(range->hold_until, processor->time + patience[i] * TURN);
		assert_int_equal(range->seen[0] + range->seen[1], 0);
		assert_false(range->is_filling);
	}
}

/* Until the time has come the mode stays, at any cost; where times wrap, too. */
static void test_hold(void **state)
{
	static const uint32_t times[] = {1000, 0x80000000u, 0xfffffff0u};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		go_on(AUTO_DENSE);
		processor->time = times[i];
		range->hold_until = times[i] + 17;
		range->stays = 20;
		range->pages = 20 * 900;
		(void)fault(0, "5");
		assert_int_equal(range->mode, AUTO_DENSE);
		(void)fault(1, "5");
		assert_int_equal(range->mode, AUTO_WHOLE);
	}
	/* so does mode whole, once it has been returned to */
	prepare();
	range->patience = 1;
	range->gap = 64;
	range->hold_until = 5000;
	range->seen[0] = 9;
	range->probing[0] = AUTO_DENSE;
	processor->time = 4000;
	(void)fault(0, "5");
	assert_int_equal(range->probing[0], AUTO_WHOLE);
	assert_int_equal(range->mode, AUTO_WHOLE);
	/* a new range holds nothing, and a time that is past stays past */
	prepare();
	processor->time = 0x80000000u;
	range->seen[0] = 1;
	range->probing[0] = AUTO_DENSE;
	(void)fault(0, "5");
	assert_int_equal(range->mode, AUTO_DENSE);
	go_on(AUTO_DENSE);
	range->stays = 20;
	range->pages = 20 * 100;
	range->hold_until = 1;
	processor->time = 0x70000000u;
	(void)fault(0, "5");
	assert_int_equal(range->mode, AUTO_DENSE);
	assert_int_equal(range->hold_until, 0x70000010u);
}

/* -- blocks of different size -- */

static void test_parts(void **state)
{
	(void)state;
	prepare();
	range->largest = 0;
	assert_int_equal(uvmp_block_from_shape(40, 0, 16, &c.facts.block), UVMP_OK);
	(void)fault(0, "5"); /* the largest so far: a probe */
	assert_int_equal(range->largest, 19);
	assert_int_equal(range->probing[0], AUTO_DENSE);
	range->seen[0] = range->seen[1] = 7;
	assert_int_equal(uvmp_block_from_shape(512, 0, 16, &c.facts.block), UVMP_OK);
	(void)fault(1, "5");
	assert_int_equal(range->largest, 255);
	assert_int_equal(range->seen[0] + range->seen[1] + range->probing[0], 0);
	/* smaller ones follow: no probe, no stay that counts, no end of others' probes, no mode */
	range->mode = AUTO_SPARSE;
	range->probing[1] = AUTO_DENSE;
	range->seen[1] = 2;
	range->mean[1] = (struct auto_cost){300, 0};
	range->since = 64;
	range->stays = 20;
	pass_turn();
	assert_int_equal(uvmp_block_from_shape(40, 0, 16, &c.facts.block), UVMP_OK);
	assert_int_equal(fault(2, "5"), 16);
	assert_int_equal(block[2].mode, AUTO_SPARSE);
	assert_int_equal(block[2].spent, 32);
	assert_int_equal(range->stays, 20);
	assert_int_equal(range->pages, 0);
	assert_int_equal(range->mode, AUTO_SPARSE);
	assert_int_equal(range->probing[1], AUTO_DENSE);
	(void)fault(2, "20"); /* but the stay has its own bound: 12 + 40 */
	assert_int_equal(block[2].mode, AUTO_WHOLE);
}

/* -- the price of a page -- */

/* A page that returns after half a turn is worth two copies, at most auto_price. */
static void test_price(void **state)
{
	(void)state;
	prepare();
	c.params.auto_price = 4;
	processor->evicted = 5000;
	processor->departed = 999;
	(void)fault(0, "5");
	leave(0, "0-9");
	assert_int_equal(block[0].departed, 10);
	leave(0, "10-15");
	assert_int_equal(block[0].departed, 16);
	assert_int_equal(block[0].left, 5016);
	c.facts.memory.evicted_pages += 500; /* half a turn later: worth two copies each */
	(void)fault(0, "5");
	assert_int_equal(processor->worth, 16 * 2 * 16);
	assert_int_equal(processor->departed, 999 + 516);
	assert_int_equal(block[0].departed, 0);
	leave(0, "0");
	c.facts.memory.evicted_pages += 250;
	(void)fault(0, "0");
	assert_int_equal(processor->worth, 512 + 4 * 16); /* the most */
	block[0].departed = 0xfffe; /* the sums end there */
	leave(0, "-");
	assert_int_equal(block[0].departed, 0xfffe);
	leave(0, "0-1");
	assert_int_equal(block[0].departed, 0xffff);
	block[0].departed = 0;
	c.facts.memory.evicted_pages -= 2;
	leave(0, "0");
	(void)fault(0, "0"); /* at once */
	assert_int_equal(processor->worth, 512 + 2 * 4 * 16);
	c.facts.memory.evicted_pages += 233;
	(void)fault(1, "0");
	assert_int_equal(processor->departed, 2000);
	c.facts.memory.evicted_pages++;
	(void)fault(2, "0"); /* after two turns all of it counts half */
	assert_int_equal(processor->departed, 1000);
	assert_int_equal(processor->worth, 320);
}

/* What a page costs: a copy, and the mean worth of the room. */
static void test_cost_of_room(void **state)
{
	static const struct {
		uint32_t most, worth, spent;
	} row[] = {{4, 0, 32}, {4, 1000, 16 + 16 * 17 / 16}, {4, 999, 32}, {4, 64000, 16 + 16 * 5}, {4, 90000, 16 + 16 * 5},
	           {1, 64000, 32}};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		prepare();
		c.params.auto_price = row[i].most;
		processor->evicted = 5000;
		processor->departed = 999;
		processor->worth = row[i].worth;
		(void)fault(0, "5");
		assert_int_equal(block[0].spent, row[i].spent);
	}
}

/* Half a memory of pages without returns counts before the first. */
static void test_price_begins(void **state)
{
	(void)state;
	prepare();
	c.facts.memory.evicted_pages = 0;
	(void)fault(0, "5");
	assert_int_equal(processor->departed, TURN / 2);
	c.facts.memory.evicted_pages = 30;
	(void)fault(1, "5");
	assert_int_equal(processor->departed, TURN / 2 + 30);
	assert_int_equal(processor->evicted, 30);
}

/* Memory of any size: times wrap at 2^32, so that a turn has 2^25 pages at most. */
static void test_sizes_of_memory(void **state)
{
	(void)state;
	prepare();
	c.facts.memory.pages = ~(uint64_t)0;
	c.params.auto_price = 2;
	c.facts.memory.evicted_pages = 0;
	(void)fault(0, "5");
	assert_int_equal(processor->departed, 1u << 24);
	prepare();
	c.facts.memory.pages = 1; /* less than an eviction */
	c.params.auto_price = 2;
	(void)fault(0, "5");
	leave(0, "5");
	(void)fault(0, "5");
	assert_int_equal(processor->worth, 16); /* 32, half after two turns */
}

/* -- blocks ahead -- */

#define STREAM_BLOCKS 40u

/* A range of STREAM_BLOCKS blocks without probes, in a memory of 128. */
static void prepare_stream(void)
{
	prepare();
	c.params.auto_gap = 0;
	c.facts.memory.pages = 128 * 512;
	c.facts.range_pages = STREAM_BLOCKS * 512;
}

/* A page of the block faults. The blocks that come ahead, bit b for block b. */
static uint64_t enter(uint32_t b)
{
	uint64_t came = 0;

	c.facts.range_first = b * 512;
	(void)fault(b, "5");
	c.facts.is_follow = true;
	while (c.hint.follow != UVMP_PAGE_NONE) {
		b = (uint32_t)c.hint.follow / 512;
		assert_int_equal(c.hint.follow, c.facts.range_first + 512);
		c.facts.range_first = c.hint.follow;
		if (fault(b, "-") == 0) {
			assert_int_equal(c.hint.rule, UVMP_RULE_NONE);
			continue;
		}
		assert_int_equal(c.hint.rule, UVMP_RULE_AHEAD);
		assert_int_equal(uvmp_mask_weight(&resident[b]), 512);
		assert_int_equal(block[b].mode, AUTO_WHOLE);
		came |= (uint64_t)1 << b;
	}
	c.facts.is_follow = false;
	return came;
}

/* Bits first..last. */
static uint64_t blocks(uint32_t first, uint32_t last)
{
	return ((uint64_t)2 << last) - ((uint64_t)1 << first);
}

/* The second fault in a row brings a block, and each one that goes on twice as many, as far as there is credit: two blocks at
 * first, and an eighth of a block for each block that the stream has used. Before the first eviction, too. */
static void test_stream(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		prepare_stream();
		c.facts.memory.evicted_pages = i == 0 ? 5000 : 0;
		block[0].is_known = true;
		assert_int_equal(enter(0), 0);
		assert_int_equal(block[1].degree, 1);
		assert_int_equal(enter(1), blocks(2, 2));
		assert_int_equal(range->credit, 1 - 8);
		assert_int_equal(enter(3), blocks(4, 5));
		assert_int_equal(enter(6), blocks(7, 8));
		assert_int_equal(block[9].degree, 4);
		assert_int_equal(block[9].came, 2);
		assert_int_equal(range->credit, 1 + 2 + 3 - 16);
		assert_int_equal(enter(9), blocks(10, 12));
		assert_int_equal(enter(13), blocks(14, 16));
		assert_int_equal(enter(17), blocks(18, 21));
		assert_int_equal(enter(22), blocks(23, 26));
		assert_int_equal(enter(27), blocks(28, 31));
		assert_true(range->ahead == 0 || i == 1);
		assert_int_equal(processor->time, 32 * 512);
		assert_int_equal(enter(30), 0); /* it is there */
	}
}

/* Two of them at once, and faults out of order between them. */
static void test_streams(void **state)
{
	(void)state;
	prepare_stream();
	assert_int_equal(enter(0), 0);
	assert_int_equal(enter(20), 0);
	assert_int_equal(enter(35), 0);
	assert_int_equal(enter(1), blocks(2, 2));
	assert_int_equal(enter(33), 0);
	assert_int_equal(enter(21), blocks(22, 22));
	assert_int_equal(enter(3), blocks(4, 4)); /* no credit for two */
	assert_int_equal(range->credit, 1 + 1 + 2 - 16);
	assert_int_equal(block[5].degree, 4);
	assert_int_equal(enter(23), blocks(24, 24));
}

/* A stream goes on before an eighth of memory has come. */
static void test_stream_ends(void **state)
{
	(void)state;
	for (uint32_t late = 0; late < 2; late++) {
		prepare_stream();
		(void)enter(0);
		processor->time += 16 * 512 - 1 + late;
		assert_int_equal(enter(1), late ? 0 : blocks(2, 2));
		assert_int_equal(range->credit, late ? 0 : 1 - 8);
	}
}

/* Four resident blocks are passed, also those of which pages are resident; not five. */
static void test_stream_passes(void **state)
{
	(void)state;
	for (uint32_t more = 0; more < 2; more++) {
		prepare_stream();
		for (uint32_t b = 1; b <= 4 + more; b++)
			resident[b] = page_text(b % 2 == 0 ? "0-511" : "77");
		assert_int_equal(enter(0), 0);
		assert_int_equal(block[5].degree, more ? 0 : 1);
		assert_int_equal(enter(5 + more), more ? 0 : blocks(6, 6));
	}
	prepare_stream();
	resident[2] = page_text("7");
	(void)enter(0);
	assert_int_equal(enter(1), blocks(3, 3));
	assert_int_equal(uvmp_mask_weight(&resident[2]), 1);
	prepare_stream(); /* to the end of the range */
	resident[39] = page_text("7");
	(void)enter(37);
	assert_int_equal(enter(38), 0);
	assert_int_equal(enter(39), 0);
	prepare_stream();
	(void)enter(37);
	assert_int_equal(enter(38), blocks(39, 39));
}

/* Each sixteenth time, nothing comes: the next block must fault. */
static void test_stream_check(void **state)
{
	(void)state;
	prepare_stream();
	range->checks = 15;
	(void)enter(0);
	assert_int_equal(range->checks, 15);
	assert_int_equal(enter(1), 0);
	assert_int_equal(range->checks, 0);
	assert_int_equal(block[2].degree, 2);
	assert_int_equal(enter(2), blocks(3, 4));
}

/* auto_ahead, a sixteenth of memory, the mode. */
static void test_stream_limits(void **state)
{
	(void)state;
	prepare_stream();
	c.params.auto_ahead = 0;
	(void)enter(0);
	assert_int_equal(block[1].degree, 0);
	prepare_stream();
	c.facts.memory.pages = 16 * 512 - 1;
	(void)enter(0);
	assert_int_equal(block[1].degree, 0);
	c.facts.memory.pages = 16 * 512;
	(void)enter(10);
	assert_int_equal(enter(11), blocks(12, 12)); /* one at a time */
	assert_int_equal(range->credit, -8);	  /* of two blocks, an eighth of memory */
	prepare_stream();
	range->mode = AUTO_DENSE;
	range->hold_until = 10000;
	(void)enter(0);
	assert_int_equal(block[1].degree, 0);
	prepare_stream();
	c.facts.memory.pages = ~(uint64_t)0;
	range->credit = 31984; /* of 4000 blocks */
	(void)enter(0);
	c.params.auto_ahead = 1;
	(void)enter(1);
	assert_int_equal(range->credit, 31984 - 8);
}

/* While all data fit, a stream that goes on brings all its blocks at once, as far as there is credit. */
static void test_stream_fits(void **state)
{
	(void)state;
	prepare_stream();
	c.facts.memory.evicted_pages = 0;
	c.facts.memory.fits = true;
	block[0].is_known = true;
	assert_int_equal(enter(0), 0);
	assert_int_equal(block[1].degree, 1);
	assert_int_equal(enter(1), blocks(2, 3));
	assert_int_equal(block[4].degree, 4);
	assert_int_equal(range->credit, 1 - 16);
	range->credit = 16;
	assert_int_equal(enter(4), blocks(5, 8));
	assert_int_equal(range->credit, 16 + 2 * 9 + 1 - 32);
	assert_int_equal(enter(20), 0);
	c.facts.memory.fits = false;
	assert_int_equal(enter(21), blocks(22, 22)); /* one after the other again */
}

/* A quarter of memory, and no limit of the credit but the greatest number. */
static void test_stream_fits_limits(void **state)
{
	(void)state;
	prepare_stream();
	c.facts.memory.fits = true;
	c.facts.memory.pages = 4 * 512 - 1;
	(void)enter(0);
	assert_int_equal(block[1].degree, 0);
	c.facts.memory.pages = 4 * 512;
	(void)enter(9);
	processor->time = block[10].begun; /* an eighth of memory is less than a block */
	assert_int_equal(enter(10), blocks(11, 11));
	c.facts.memory.pages = 16 * 512;
	(void)enter(20);
	range->credit = 31984; /* of 4000 blocks */
	assert_int_equal(enter(21), blocks(22, 25));
	assert_int_equal(range->credit, 31984 - 32);
	c.facts.memory.fits = false;
	assert_int_equal(enter(26), blocks(27, 27));
	assert_int_equal(range->credit, 16 - 16 - 8); /* two blocks, an eighth of memory, and one has come */
}

/* As prepare_stream; nothing has been evicted, and all data fit. */
static void prepare_opening(void)
{
	prepare_stream();
	c.facts.memory.evicted_pages = 0;
	c.facts.memory.fits = true;
}

/* Before the first eviction, two blocks come with the first one of a range, on credit that the range is given. */
static void test_opening(void **state)
{
	(void)state;
	prepare_opening();
	assert_int_equal(enter(0), blocks(1, 2));
	assert_int_equal(block[3].degree, 4);
	assert_int_equal(block[3].came, 2);
	assert_int_equal(range->credit, 0);
	assert_int_equal(processor->opened, 2);
	assert_int_equal(enter(3), blocks(4, 7)); /* its two, and those of the range */
	assert_int_equal(range->credit, 2 * 8 + 3 - 4 * 8);
	assert_int_equal(processor->opened, 0);
	prepare_opening();
	assert_int_equal(enter(4), 0); /* another block than the first one */
	prepare_opening();
	c.facts.memory.evicted_pages = 1;
	assert_int_equal(enter(0), 0);
	assert_int_equal(processor->opened, 0);
}

/* If not all data fit, only the small ranges. */
static void test_opening_small(void **state)
{
	(void)state;
	for (uint32_t small = 0; small < 2; small++) {
		prepare_opening();
		c.facts.memory.fits = false;
		c.facts.range_pages = (4 - small) * 512;
		assert_int_equal(enter(0), small ? blocks(1, 2) : 0);
		assert_int_equal(processor->small.credit, 0);
		assert_int_equal(processor->opened, 2 * small);
	}
}

/* As far as memory has room, and a quarter of it; 16 blocks of a GPU that no stream has confirmed. */
static void test_opening_limits(void **state)
{
	static const struct {
		uint32_t memory, time, opened, checks, came;
	} limits[] = {
		{8, 5, 0, 0, 2}, {8, 6, 0, 0, 1}, {8, 7, 0, 0, 0}, {8, 9, 0, 0, 0},   {4, 0, 0, 0, 1},
		{3, 0, 0, 0, 0}, {8, 0, 14, 0, 2}, {8, 0, 15, 0, 1}, {8, 0, 16, 0, 0}, {8, 0, 0, 15, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		prepare_opening();
		c.facts.memory.pages = limits[i].memory * 512;
		processor->time = limits[i].time * 512;
		processor->opened = (uint8_t)limits[i].opened;
		range->checks = limits[i].checks & 15u;
		assert_int_equal(enter(0), blocks(1, limits[i].came));
		assert_int_equal(processor->opened, limits[i].opened + limits[i].came);
	}
	prepare_opening();
	c.params.auto_ahead = 1;
	assert_int_equal(enter(0), blocks(1, 1));
	prepare_stream();
	processor->opened = 1; /* of a range whose stream has brought more */
	(void)enter(0);
	(void)enter(1);
	assert_int_equal(enter(3), blocks(4, 5));
	(void)enter(6);
	assert_int_equal(processor->opened, 0);
}

/* Nothing comes ahead of a probe; the stream goes on. */
static void test_stream_probe(void **state)
{
	(void)state;
	prepare_stream();
	(void)enter(0);
	assert_int_equal(enter(1), blocks(2, 2));
	c.params.auto_gap = 64;
	range->since = 16; /* at once */
	assert_int_equal(enter(3), 0);
	assert_int_equal(block[3].mode, AUTO_DENSE);
	assert_int_equal(block[4].degree, 4);
	assert_int_equal(enter(4), blocks(5, 6));
}

/* Pages with another preferred location, or that thrash, do not come. */
static void test_stream_elsewhere(void **state)
{
	uvmp_mask thrashing = page_text("0-511");

	(void)state;
	prepare_stream();
	c.facts.thrashing = &thrashing;
	(void)enter(0);
	assert_int_equal(enter(1), 0);
	assert_int_equal(range->credit, 1);
	assert_int_equal(block[3].degree, 2);
	assert_int_equal(block[3].came, 0);
}

/* Pages that come ahead return, too. */
static void test_stream_price(void **state)
{
	(void)state;
	prepare_stream();
	c.params.auto_price = 4;
	(void)enter(0);
	resident[2] = page_text("0-9");
	leave(2, "0-9");
	c.facts.memory.evicted_pages += 128 * 256;
	assert_int_equal(enter(1), blocks(2, 2));
	assert_int_equal(processor->worth, 10 * 32);
	assert_int_equal(block[2].departed, 0);
}

/* A follow that no answer has named, or for which there is no state. */
static void test_stream_without_state(void **state)
{
	(void)state;
	prepare_stream();
	c.facts.is_follow = true;
	c.state.block = NULL;
	assert_int_equal(prefetch_case_decide(&c, "-"), UVMP_OK);
	assert_int_equal(c.hint.to, UVMP_PROC_NONE);
	assert_int_equal(c.hint.follow, UVMP_PAGE_NONE);
	c.facts.to = UVMP_CPU;
	c.state.block = &block[0];
	assert_int_equal(prefetch_case_decide(&c, "-"), UVMP_OK);
	assert_int_equal(c.hint.to, UVMP_PROC_NONE);
	c.facts.to = 1;
	assert_int_equal(prefetch_case_decide(&c, "-"), UVMP_OK);
	assert_int_equal(block[0].degree, 0);
	assert_int_equal(c.hint.follow, UVMP_PAGE_NONE);
}

/* The hint says which rule answered; other prefetchers have none. */
static void test_rules(void **state)
{
	static const struct {
		struct auto_block block;
		enum uvmp_rule rule;
	} row[] = {
	        {{.mode = AUTO_WHOLE, .probe = AUTO_PROBES}, UVMP_RULE_WHOLE},
	        {{.mode = AUTO_WHOLE, .probe = 1, .spent = 600}, UVMP_RULE_REST},
	        {{.mode = AUTO_DENSE, .probe = AUTO_PROBES}, UVMP_RULE_DENSE},
	        {{.mode = AUTO_DENSE, .probe = 2}, UVMP_RULE_PROBE_DENSE},
	        {{.mode = AUTO_SPARSE, .probe = AUTO_PROBES}, UVMP_RULE_SPARSE},
	        {{.mode = AUTO_SPARSE, .probe = 0}, UVMP_RULE_PROBE_SPARSE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		prepare();
		block[0] = row[i].block;
		block[0].is_known = true;
		resident[0] = page_text("77");
		(void)fault(0, "5");
		assert_int_equal(c.hint.rule, row[i].rule);
	}
	c.facts.memory.evicted_pages = 0;
	(void)fault(0, "6");
	assert_int_equal(c.hint.rule, UVMP_RULE_FITS);
	c.params.prefetcher = UVMP_PREFETCH_DENSITY;
	(void)fault(0, "7");
	assert_int_equal(c.hint.rule, UVMP_RULE_NONE);
}

/* -- small ranges, and frames -- */

/* Below four blocks: they learn together. */
static void test_small_ranges(void **state)
{
	struct auto_range none = {.largest = 255, .has_begun = true, .since = 16};

	(void)state;
	prepare();
	c.facts.memory.pages = 100000;
	processor->small.largest = 255;
	processor->small.since = 16;
	c.facts.range_pages = 2047;
	assert_int_equal(fault(0, "5"), 16);
	for (uint32_t b = 1; b < 4; b++)
		assert_int_equal(fault(b, "5"), 512);
	c.facts.range_pages = 512; /* another one */
	assert_int_equal(fault(4, "5"), 16);
	assert_int_equal(processor->small.probing[1], AUTO_DENSE);
	assert_memory_equal(range, &none, sizeof(none));
	c.facts.range_pages = 2048;
	assert_int_equal(fault(5, "5"), 16);
	assert_int_equal(range->since, 0);
	assert_int_equal(processor->small.since, 0);
}

/* Mode sparse brings frames: big pages, or pages. */
static void test_frames(void **state)
{
	(void)state;
	for (uint32_t frame = 0; frame < 3; frame++) {
		prepare();
		range->mode = AUTO_SPARSE;
		range->hold_until = processor->time + TURN;
		c.params.auto_gap = 0;
		c.facts.memory.frame_pages = frame;
		assert_int_equal(fault(0, "5"), frame == 1 ? 1 : 16);
		c.params.auto_threshold = 100;
		assert_int_equal(fault(1, "5"), 1);
		c.params.auto_threshold = 99;
		assert_int_equal(fault(2, "5"), 16);
		assert_int_equal(c.hint.rule, UVMP_RULE_SPARSE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_before_the_first_eviction),
	        cmocka_unit_test(test_cpu),
	        cmocka_unit_test(test_without_states),
	        cmocka_unit_test(test_first_mode),
	        cmocka_unit_test(test_first_mode_may_change),
	        cmocka_unit_test(test_first_mode_of_others),
	        cmocka_unit_test(test_services_are_halved),
	        cmocka_unit_test(test_probes),
	        cmocka_unit_test(test_end_of_stays),
	        cmocka_unit_test(test_gap_of_no_probes),
	        cmocka_unit_test(test_young_ranges),
	        cmocka_unit_test(test_gaps_double),
	        cmocka_unit_test(test_no_place),
	        cmocka_unit_test(test_mode_of_probes),
	        cmocka_unit_test(test_mean_of_probes),
	        cmocka_unit_test(test_many_probes),
	        cmocka_unit_test(test_ski_rental),
	        cmocka_unit_test(test_probes_that_end),
	        cmocka_unit_test(test_finer),
	        cmocka_unit_test(test_own_mean),
	        cmocka_unit_test(test_return_to_whole),
	        cmocka_unit_test(test_hold),
	        cmocka_unit_test(test_parts),
	        cmocka_unit_test(test_price),
	        cmocka_unit_test(test_cost_of_room),
	        cmocka_unit_test(test_price_begins),
	        cmocka_unit_test(test_sizes_of_memory),
	        cmocka_unit_test(test_stream),
	        cmocka_unit_test(test_streams),
	        cmocka_unit_test(test_stream_ends),
	        cmocka_unit_test(test_stream_passes),
	        cmocka_unit_test(test_stream_check),
	        cmocka_unit_test(test_stream_limits),
	        cmocka_unit_test(test_stream_fits),
	        cmocka_unit_test(test_stream_fits_limits),
	        cmocka_unit_test(test_opening), cmocka_unit_test(test_opening_small),
	        cmocka_unit_test(test_opening_limits),
	        cmocka_unit_test(test_stream_probe),
	        cmocka_unit_test(test_stream_elsewhere),
	        cmocka_unit_test(test_stream_price),
	        cmocka_unit_test(test_stream_without_state),
	        cmocka_unit_test(test_rules),
	        cmocka_unit_test(test_small_ranges),
	        cmocka_unit_test(test_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
