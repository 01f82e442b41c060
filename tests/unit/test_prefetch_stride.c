/* Prefetch by stride: learning, trust, streams side by side, other blocks, errors; worked by hand from the
 * words at the top of prefetch_stride.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "support/prefetch_caller.h"
#include "support/prefetch_case.h"

static struct prefetch_case c;

static void decide(const char *faulted, const char *pages)
{
	uvmp_mask expected = page_text(pages);

	assert_int_equal(prefetch_case_decide(&c, faulted), UVMP_OK);
	assert_memory_equal(&c.hint.pages, &expected, sizeof(expected));
	assert_int_equal(c.hint.to, uvmp_mask_is_empty(&expected) ? UVMP_PROC_NONE : 1);
	assert_int_equal(c.hint.basic_blocks, 0);
	prefetch_case_arrive(&c);
}

/* The stream at `at`: 0 was used last. */
static void stream(uint32_t at, uint64_t page, int32_t stride, uint32_t confidence)
{
	assert_true(at < c.range.stride.streams);
	assert_true(c.range.stride.stream[at].page == page);
	assert_int_equal(c.range.stride.stream[at].stride, stride);
	assert_int_equal(c.range.stride.stream[at].confidence, confidence);
}

/* Three faults show a stride twice; from then on every fifth page of it faults. */
static void test_one_stream(void **state)
{
	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_STRIDE, 512);
	decide("100", "-");
	stream(0, 100, 0, 0);
	decide("103", "-");
	stream(0, 103, 3, 1);
	decide("106", "109,112,115,118");
	stream(0, 106, 3, 2);
	assert_true(c.hint.follow == UVMP_PAGE_NONE);
	decide("121", "124,127,130,133");
	stream(0, 121, 3, 3);
	/* 112 left again and faults: nothing expects it, but it is near */
	uvmp_mask_clear(&c.resident, 112);
	decide("112", "-");
	stream(0, 112, 3, 2);
	assert_int_equal(c.range.stride.streams, 1);
}

static void test_all_in_one_batch(void **state)
{
	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_STRIDE, 512);
	/* 18 would be expected at most; 20 is near, and costs one point of three */
	decide("10-13,20", "14-17,21-24");
	stream(0, 20, 1, 2);
	decide("25", "26-29");
	stream(0, 25, 1, 3);
	decide("31-33", "34-37"); /* 31 likewise; 32 and 33 are expected again */
	stream(0, 33, 1, 4);
}

static void test_downwards(void **state)
{
	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_STRIDE, 64);
	c.params.stride_depth = 2;
	decide("60", "-");
	decide("50", "-");
	decide("40", "20,30");
	decide("10", "0"); /* the next one would lie before the range */
	stream(0, 10, -10, 3);
	assert_true(c.range.stride.budget == 0);
}

/* With a confidence of 1 the second fault is enough; with 7 the eighth. */
static void test_confidence(void **state)
{
	char page[16];

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_STRIDE, 512);
	c.params.stride_confidence = 1;
	decide("5", "-");
	decide("7", "9,11,13,15");
	prefetch_case_init(&c, UVMP_PREFETCH_STRIDE, 512);
	c.params.stride_confidence = 7;
	c.params.stride_depth = 1;
	for (uint32_t p = 0; p < 7; p++) {
		snprintf(page, sizeof(page), "%u", p);
		decide(page, "-");
	}
	decide("7", "8");
	decide("9", "10"); /* no more than 7 */
	stream(0, 9, 1, 7);
}

/* What does not fit costs a point each; only from the last on the stride changes. */
static void test_decay(void **state)
{
	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_STRIDE, 512);
	c.params.stride_confidence = 3;
	decide("0,2,4,6", "8,10,12,14");
	stream(0, 6, 2, 3);
	decide("101", "-");
	stream(0, 101, 2, 2);
	decide("150", "-");
	stream(0, 150, 2, 1);
	decide("140", "-");
	stream(0, 140, -10, 1);
	decide("140", "-"); /* the same page once more says nothing */
	stream(0, 140, -10, 1);
	assert_int_equal(c.range.stride.streams, 1);
}

/* Streams further apart than 512 pages do not disturb one another; a fifth takes the place of the oldest. */
static void test_streams_side_by_side(void **state)
{
	static const uint64_t first[] = {0, 1025, 2050, 3075, 4100};

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_STRIDE, 512);
	c.facts.range_pages = 8192;
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 4; i++) {
			c.facts.range_first = first[i];
			uvmp_mask_zero(&c.resident);
			decide(round == 0 ? "1" : "5", "-");
			assert_int_equal(c.range.stride.streams, round == 0 ? i + 1 : 4);
		}
	for (uint32_t i = 0; i < 4; i++)
		stream(i, first[3 - i] + 5, 4, 1);
	c.facts.range_first = first[4];
	decide("9", "-");
	assert_int_equal(c.range.stride.streams, 4);
	stream(0, 4109, 0, 0);
	stream(3, 1030, 4, 1);
	c.facts.range_first = first[1]; /* the last comes to the front, the others keep their order */
	decide("9", "13,17,21,25");
	stream(0, 1034, 4, 2);
	stream(1, 4109, 0, 0);
	stream(2, 3080, 4, 1);
	stream(3, 2055, 4, 1);
}

/* 512 pages away is near, 513 is not; of two streams equally near the one used last takes the page. */
static void test_nearest(void **state)
{
	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_STRIDE, 512);
	c.facts.range_pages = 8192;
	decide("0", "-");
	c.facts.range_first = 512;
	decide("0", "-");
	assert_int_equal(c.range.stride.streams, 1);
	stream(0, 512, 512, 1);
	c.facts.range_first = 1024;
	c.params.stride_confidence = 7;
	c.range.stride.stream[0].stride = 0;
	decide("1", "-");
	assert_int_equal(c.range.stride.streams, 2);
	c.facts.range_first = 600;
	decide("168", "-"); /* 768: 256 behind 512, 257 before 1025 */
	stream(0, 768, 256, 1);
	stream(1, 1025, 0, 0);
	c.range.stride.stream[0].page = 700;
	c.range.stride.stream[1].page = 720;
	decide("110", "-");
	stream(0, 710, 10, 1);
	stream(1, 720, 0, 0);
}

/* -- beyond the block -- */

static void batch(struct prefetch_caller *caller, const char *faulted, const char *fetched, unsigned asked)
{
	uvmp_mask pages = page_text(faulted), expected = page_text(fetched);

	assert_int_equal(prefetch_caller_batch(caller, &pages), UVMP_OK);
	assert_memory_equal(&caller->fetched, &expected, sizeof(expected));
	assert_int_equal(caller->asked, asked);
}

/* 100 pages in blocks of 16. */
static void test_other_blocks(void **state)
{
	struct prefetch_caller caller;

	(void)state;
	prefetch_caller_init(&caller, UVMP_PREFETCH_STRIDE, 100, 16);
	batch(&caller, "1", "-", 1);
	batch(&caller, "6", "-", 1);
	caller.resident = page_text("16-31");
	batch(&caller, "11", "-", 2); /* 16, 21, 26 and 31 are there: one question in vain */
	batch(&caller, "36", "41,46,51,56", 2);
	batch(&caller, "61", "66,71,76,81", 3);
	batch(&caller, "86", "91,96", 2); /* the range ends */
	assert_true(caller.range.stride.budget == 0);
	/* a stride of more than a block asks one block for each page, here downwards */
	prefetch_caller_init(&caller, UVMP_PREFETCH_STRIDE, 100, 16);
	batch(&caller, "98", "-", 1);
	batch(&caller, "78", "-", 1);
	batch(&caller, "58", "18,38", 3);
	assert_true(caller.range.stride.budget == 0);
}

/* Of several streams that leave the block in one decision, the one with the highest page continues; a stream
 * that stays inside does not stop it. */
static void test_one_goes_on(void **state)
{
	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_STRIDE, 512);
	c.facts.range_first = 1024;
	c.facts.range_pages = 4096;
	c.range.stride.streams = 3;
	c.range.stride.stream[0] = (struct stride_stream){1024 + 30, -20, 5};
	c.range.stride.stream[1] = (struct stride_stream){1024 + 90, 100, 5};
	c.range.stride.stream[2] = (struct stride_stream){1024 + 288, 1, 5};
	decide("10,190,289", "290-293,390,490");
	assert_true(c.hint.follow == 1024 + 590);
	assert_true(c.range.stride.cursor == 1024 + 590);
	assert_true(c.range.stride.budget == 1);
	assert_int_equal(c.range.stride.step, 100);
	prefetch_case_init(&c, UVMP_PREFETCH_STRIDE, 512);
	c.facts.range_first = 1024;
	c.facts.range_pages = 4096;
	c.range.stride.streams = 2;
	c.range.stride.stream[0] = (struct stride_stream){1024 + 30, -20, 5};
	c.range.stride.stream[1] = (struct stride_stream){1024 + 288, 1, 5};
	decide("10,289", "290-293");
	assert_true(c.hint.follow == 1024 - 10);
	assert_true(c.range.stride.budget == 4);
	assert_int_equal(c.range.stride.step, -20);
}

/* What the driver's own prefetcher would leave alone. */
static void test_not_admitted(void **state)
{
	struct uvmp_region group = {12, 14};
	uvmp_mask thrashing = page_text("16");

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_STRIDE, 64);
	c.facts.thrashing = &thrashing;
	c.facts.range_group = &group;
	c.facts.range_groups = 1;
	c.pending = page_text("14");
	c.params.stride_depth = 5;
	decide("6,8,10", "18,20");
	decide("12", "22");
	uvmp_mask_clear(&c.resident, 13);
	c.facts.has_preferred = true;
	c.facts.preferred = 2;
	decide("24", "-");
	c.facts.has_preferred = true;
	c.facts.preferred = 1;
	decide("36", "38,40,42,44,46");
}

/* -- errors -- */

static void refused(const char *faulted, enum uvmp_status status)
{
	union prefetch_range before = c.range;
	struct uvmp_prefetch_hint hint;

	memset(&c.hint, 0x5a, sizeof(c.hint));
	hint = c.hint;
	assert_int_equal(prefetch_case_decide(&c, faulted), status);
	assert_memory_equal(&c.range, &before, sizeof(before));
	assert_memory_equal(&c.hint, &hint, sizeof(hint));
}

static void test_errors_change_nothing(void **state)
{
	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_STRIDE, 16);
	refused("16", UVMP_ERR_RANGE);
	refused("-", UVMP_ERR_RANGE);
	c.facts.range_pages = 15;
	refused("0", UVMP_ERR_RANGE);
	c.facts.range_pages = 16;
	c.state.range = NULL;
	refused("0", UVMP_ERR_ARGUMENT);
	c.state.range = &c.range;
	c.range.stride.streams = STRIDE_STREAMS + 1u;
	refused("0", UVMP_ERR_ARGUMENT);
	c.range.stride.streams = 0;
	c.params.stride_depth = 0;
	refused("0", UVMP_ERR_ARGUMENT);
}

/* A follow that no decision requested; one without remaining pages; a budget out of range. */
static void test_follow(void **state)
{
	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_STRIDE, 16);
	c.facts.is_follow = true;
	c.facts.range_first = 16;
	c.facts.range_pages = 48;
	decide("-", "-");
	c.range.stride.budget = 1;
	refused("-", UVMP_ERR_RANGE);
	c.range.stride.cursor = 32;
	refused("-", UVMP_ERR_RANGE);
	c.range.stride.cursor = 17;
	c.range.stride.step = 3;
	c.range.stride.budget = UINT64_MAX;
	decide("-", "1,4,7,10");
	assert_true(c.range.stride.budget == 0 && c.hint.follow == UVMP_PAGE_NONE);
	c.range.stride.cursor = 30;
	c.range.stride.budget = 3;
	decide("2", "14"); /* 2 faults in the same batch: learnt when it is decided for */
	assert_true(c.hint.follow == 33);
	assert_int_equal(c.range.stride.streams, 0);
}

/* With any contents of the state, a decision terminates and stays in bounds. */
static void test_odd_streams(void **state)
{
	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_STRIDE, 16);
	c.range.stride.streams = 2;
	c.range.stride.stream[0] = (struct stride_stream){UINT64_MAX, INT32_MIN, UINT32_MAX};
	c.range.stride.stream[1] = (struct stride_stream){3, INT32_MAX, UINT32_MAX};
	decide("4", "-");
	stream(0, 4, INT32_MAX, UINT32_MAX - 1u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_one_stream),
	        cmocka_unit_test(test_all_in_one_batch),
	        cmocka_unit_test(test_downwards),
	        cmocka_unit_test(test_confidence),
	        cmocka_unit_test(test_decay),
	        cmocka_unit_test(test_streams_side_by_side),
	        cmocka_unit_test(test_nearest),
	        cmocka_unit_test(test_other_blocks),
	        cmocka_unit_test(test_one_goes_on),
	        cmocka_unit_test(test_not_admitted),
	        cmocka_unit_test(test_errors_change_nothing),
	        cmocka_unit_test(test_follow),
	        cmocka_unit_test(test_odd_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
