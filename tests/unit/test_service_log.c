/* The decision log line by line: what each field looks like, what is left out, and where reading stops. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "uvmpolicy/fault.h"
#include "uvmpolicy/mask.h"
#include "uvmpolicy/service.h"

#define BLOCK 0x7f0000000000u

static char text[UVMP_ACTION_TEXT_MAX];

static struct uvmp_action action_of(enum uvmp_action_kind kind)
{
	struct uvmp_action action;

	memset(&action, 0, sizeof(action));
	action.id = 1;
	action.kind = (uint8_t)kind;
	action.from = action.to = UVMP_PROC_NONE;
	return action;
}

static void add_pages(struct uvmp_action *action, uint32_t first, uint32_t end)
{
	uvmp_mask_region_set(&action->pages, (struct uvmp_region){first, end});
}

static void assert_same(const struct uvmp_action *a, const struct uvmp_action *b)
{
	assert_true(a->id == b->id && a->after == b->after && a->time_ns == b->time_ns);
	assert_true(a->kind == b->kind && a->cause == b->cause && a->from == b->from && a->to == b->to);
	assert_true(a->right == b->right && a->is_update == b->is_update && a->victim == b->victim);
	assert_true(a->status == b->status && a->batch == b->batch && a->count == b->count);
	assert_true(a->detail == b->detail && a->ticket == b->ticket && a->offset == b->offset);
	assert_true(a->until_ns == b->until_ns && a->space == b->space && a->address == b->address);
	assert_true(a->for_address == b->for_address && a->page_bytes == b->page_bytes);
	assert_true(a->faulted == b->faulted && a->present == b->present && a->throttles == b->throttles);
	assert_true(uvmp_mask_equal(&a->cuts, &b->cuts));
	assert_true(uvmp_mask_equal(&a->subtrees, &b->subtrees));
	assert_true(uvmp_mask_equal(&a->pages, &b->pages));
}

/* The action has this text, and the text is this action. */
static void check(const struct uvmp_action *action, const char *expected)
{
	struct uvmp_action again;
	size_t offset = 77;

	assert_int_equal(uvmp_action_print(action, text, sizeof(text)), UVMP_OK);
	assert_string_equal(text, expected);
	memset(&again, 0xa5, sizeof(again));
	assert_int_equal(uvmp_action_parse(text, strlen(text), &again, &offset), UVMP_OK);
	assert_int_equal(offset, 77);
	assert_same(action, &again);
}

static void check_bad(const char *line, enum uvmp_status expected, size_t stop)
{
	struct uvmp_action action, before;
	size_t offset = 999;

	memset(&action, 0x5a, sizeof(action));
	memcpy(&before, &action, sizeof(action));
	print_message("%s\n", line);
	assert_int_equal(uvmp_action_parse(line, strlen(line), &action, &offset), expected);
	assert_int_equal(offset, stop);
	assert_memory_equal(&action, &before, sizeof(action));
	assert_int_equal(uvmp_action_parse(line, strlen(line), &action, NULL), expected);
}

static void test_example_of_the_header(void **unused)
{
	struct uvmp_action a = action_of(UVMP_ACTION_COPY);

	(void)unused;
	a.id = 12;
	a.time_ns = 81000;
	a.cause = UVMP_CAUSE_DEMAND;
	a.space = 1;
	a.address = BLOCK;
	a.from = UVMP_CPU;
	a.to = 1;
	a.batch = 3;
	add_pages(&a, 0, 16);
	add_pages(&a, 32, 33);
	check(&a,
	      "12 copy t=81000 cause=demand space=1 block=0x7f0000000000 pages=0-15,32 from=0 to=1 batch=3");
}

static void test_nothing_to_say(void **unused)
{
	(void)unused;
	for (uint32_t kind = 0; kind < UVMP_ACTION_COUNT; kind++) {
		struct uvmp_action a = action_of((enum uvmp_action_kind)kind);
		char expected[64];

		snprintf(expected, sizeof(expected), "1 %s t=0%s",
		         uvmp_action_name((enum uvmp_action_kind)kind),
		         kind == UVMP_ACTION_CANCEL  ? " mode=all"
		         : kind == UVMP_ACTION_EVICT ? " victim=free"
		                                     : "");
		check(&a, expected);
	}
}

static void test_everything_said(void **unused)
{
	struct uvmp_action a = action_of(UVMP_ACTION_MAP);
	const char *most =
	        "18446744073709551615 map t=18446744073709551615 after=18446744073709551615 cause=error "
	        "space=18446744073709551615 block=0xffffffffffffffff pages=511 page_bytes=4294967295 from=63 "
	        "to=63 "
	        "right=rwa for=0xffffffffffffffff batch=4294967295 count=4294967295 detail=4294967295 "
	        "offset=0xffffffffffffffff update=1 until=18446744073709551615 faulted=4294967295 "
	        "present=4294967295 throttles=4294967295 ticket=18446744073709551615 status=-128";

	(void)unused;
	a.id = a.time_ns = a.after = a.space = a.address = a.for_address = a.offset = UINT64_MAX;
	a.until_ns = a.ticket = UINT64_MAX;
	a.page_bytes = a.batch = a.count = a.detail = a.faulted = a.present = a.throttles = UINT32_MAX;
	a.cause = UVMP_CAUSE_ERROR;
	a.from = a.to = 63;
	a.right = UVMP_RIGHT_READ_WRITE_ATOMIC;
	a.is_update = true;
	a.status = -128;
	add_pages(&a, 511, 512);
	check(&a, most);

	/* The longest set of pages beside it: two pages, then a gap. */
	memset(&a.pages, 0, sizeof(a.pages));
	for (uint32_t page = 0; page < 512; page += 3)
		add_pages(&a, page, page + 2);
	a.kind = UVMP_ACTION_CANCEL;
	a.cancel_mode = UVMP_CANCEL_WRITE_AND_ATOMIC;
	assert_int_equal(uvmp_action_print(&a, text, sizeof(text)), UVMP_OK);
	assert_true(strlen(text) < sizeof(text) - 256);
}

static void test_words(void **unused)
{
	static const char *const right[] = {"", " right=r", " right=rw", " right=rwa"};
	static const char *const mode[] = {"all", "write"};
	static const char *const victim[] = {"free", "unused", "discarded", "used",
						"order", "oldest", "newest", "sample"};
	static const char *const rule[] = {"", "fits", "whole", "dense", "sparse", "probe-dense", "probe-sparse", "rest",
	                                   "ahead", "limit", "drawn", "idle", "expected", "below-limit", "not-drawn", "full", "short"};
	static const uint8_t ruled[] = {UVMP_ACTION_COPY, UVMP_ACTION_POPULATE, UVMP_ACTION_MAP, UVMP_ACTION_CLEAR};
	struct uvmp_action a;
	char expected[80];

	(void)unused;
	for (uint8_t r = 0; r < 4; r++) {
		a = action_of(r % 2 == 0 ? UVMP_ACTION_MAP : UVMP_ACTION_REVOKE);
		a.right = r;
		snprintf(expected, sizeof(expected), "1 %s t=0%s", r % 2 == 0 ? "map" : "revoke", right[r]);
		check(&a, expected);
	}
	for (uint8_t m = 0; m < 2; m++) {
		a = action_of(UVMP_ACTION_CANCEL);
		a.right = m;
		snprintf(expected, sizeof(expected), "1 cancel t=0 mode=%s", mode[m]);
		check(&a, expected);
	}
	for (uint32_t i = 0; i < sizeof(ruled); i++) {
		for (uint8_t r = 0; r < UVMP_RULE_COUNT; r++) {
			a = action_of(ruled[i]);
			a.rule = r;
			snprintf(expected, sizeof(expected), "1 %s t=0%s%s", uvmp_action_name((enum uvmp_action_kind)ruled[i]),
			         r == 0 ? "" : " rule=", rule[r]);
			check(&a, expected);
		}
	}
	for (uint8_t v = 0; v < UVMP_VICTIM_COUNT; v++) {
		a = action_of(UVMP_ACTION_EVICT);
		a.victim = v;
		snprintf(expected, sizeof(expected), "1 evict t=0 victim=%s", victim[v]);
		check(&a, expected);
	}
	for (uint8_t c = 1; c < UVMP_CAUSE_COUNT; c++) {
		a = action_of(UVMP_ACTION_UNMAP);
		a.cause = c;
		snprintf(expected, sizeof(expected), "1 unmap t=0 cause=%s",
		         uvmp_cause_name((enum uvmp_cause)c));
		check(&a, expected);
	}
}

static void test_pages(void **unused)
{
	struct uvmp_action a = action_of(UVMP_ACTION_UNPIN);

	(void)unused;
	add_pages(&a, 0, 1);
	check(&a, "1 unpin t=0 pages=0");
	add_pages(&a, 2, 4);
	check(&a, "1 unpin t=0 pages=0,2-3");
	add_pages(&a, 62, 66);
	add_pages(&a, 510, 512);
	check(&a, "1 unpin t=0 pages=0,2-3,62-65,510-511");
	add_pages(&a, 0, 512);
	check(&a, "1 unpin t=0 pages=0-511");
}

static void check_unprintable(const struct uvmp_action *action)
{
	strcpy(text, "as before");
	assert_int_equal(uvmp_action_print(action, text, sizeof(text)), UVMP_ERR_RANGE);
	assert_string_equal(text, "as before");
}

static void test_subtrees(void **unused)
{
	struct uvmp_action a = action_of(UVMP_ACTION_POPULATE);

	(void)unused;
	uvmp_mask_set(&a.subtrees, 0);
	check(&a, "1 populate t=0 subtrees=0");
	a.kind = UVMP_ACTION_COPY;
	uvmp_mask_set(&a.subtrees, 16);
	uvmp_mask_set(&a.subtrees, 17);
	uvmp_mask_set(&a.subtrees, 511);
	a.throttles = 1;
	a.ticket = 2;
	check(&a, "1 copy t=0 throttles=1 subtrees=0,16-17,511 ticket=2");
	a.kind = UVMP_ACTION_MAP;
	check_unprintable(&a);
	check_bad("1 map t=0 subtrees=0-15", UVMP_ERR_SYNTAX, 10);
	check_bad("1 copy t=0 subtrees=", UVMP_ERR_SYNTAX, 20);
	check_bad("1 copy t=0 subtrees=0-512", UVMP_ERR_RANGE, 22);
	check_bad("1 copy t=0 subtrees=5-4", UVMP_ERR_SYNTAX, 20);
	check_bad("1 copy t=0 subtrees=0-15,16", UVMP_ERR_SYNTAX, 25);
	check_bad("1 copy t=0 ticket=1 subtrees=0", UVMP_ERR_SYNTAX, 20);
}

/* Cuts are inside runs of the pages, of COPY and POPULATE. */
static void test_cuts(void **unused)
{
	struct uvmp_action a = action_of(UVMP_ACTION_POPULATE);

	(void)unused;
	add_pages(&a, 0, 4);
	add_pages(&a, 62, 66);
	uvmp_mask_set(&a.cuts, 1);
	uvmp_mask_set(&a.cuts, 64);
	check(&a, "1 populate t=0 pages=0-3,62-65 cuts=1,64");
	a.kind = UVMP_ACTION_COPY;
	uvmp_mask_set(&a.cuts, 2);
	uvmp_mask_set(&a.subtrees, 0);
	check(&a, "1 copy t=0 pages=0-3,62-65 cuts=1-2,64 subtrees=0");
	a.kind = UVMP_ACTION_MAP;
	check_unprintable(&a);
	for (uint32_t bad = 0; bad < 512; bad++) {
		bool is_inside = (bad > 0 && bad < 4) || (bad > 62 && bad < 66);

		a = action_of(UVMP_ACTION_COPY);
		add_pages(&a, 0, 4);
		add_pages(&a, 62, 66);
		uvmp_mask_set(&a.cuts, bad);
		if (!is_inside)
			check_unprintable(&a);
		else
			assert_int_equal(uvmp_action_print(&a, text, sizeof(text)), UVMP_OK);
	}
	check_bad("1 copy t=0 pages=0-3 cuts=", UVMP_ERR_SYNTAX, 26);
	check_bad("1 copy t=0 pages=0-3 cuts=0", UVMP_ERR_SYNTAX, 26);
	check_bad("1 copy t=0 pages=0-3 cuts=1,4", UVMP_ERR_SYNTAX, 26);
	check_bad("1 copy t=0 cuts=1", UVMP_ERR_SYNTAX, 16);
	check_bad("1 copy t=0 pages=0-3 cuts=1,512", UVMP_ERR_RANGE, 28);
	check_bad("1 map t=0 pages=0-3 cuts=1", UVMP_ERR_SYNTAX, 20);
	check_bad("1 copy t=0 pages=0-3 subtrees=0 cuts=1", UVMP_ERR_SYNTAX, 32);
}

/* The longest line: runs of two pages, each cut, and bounds of subtrees of the same form; all numbers are as long as can be. */
static void test_longest(void **unused)
{
	struct uvmp_action a = action_of(UVMP_ACTION_POPULATE), again;

	(void)unused;
	a.id = a.after = a.time_ns = a.space = a.address = a.for_address = UINT64_MAX;
	a.offset = a.until_ns = a.ticket = UINT64_MAX;
	a.cause = UVMP_CAUSE_THRASHING;
	a.page_bytes = a.batch = a.count = a.detail = a.faulted = a.present = a.throttles = UINT32_MAX;
	a.from = a.to = UVMP_PROCS_MAX - 1;
	a.is_update = true;
	a.status = -128;
	for (uint32_t page = 1; page + 1 < 512; page += 3) {
		add_pages(&a, page, page + 2);
		uvmp_mask_set(&a.cuts, page + 1);
		uvmp_mask_set(&a.subtrees, page);
		uvmp_mask_set(&a.subtrees, page + 1);
	}
	assert_int_equal(uvmp_action_print(&a, text, sizeof(text)), UVMP_OK);
	assert_in_range(strlen(text), 3600, UVMP_ACTION_TEXT_MAX - 1);
	assert_int_equal(uvmp_action_parse(text, strlen(text), &again, NULL), UVMP_OK);
	assert_same(&again, &a);
}

/* The transfers of an action, and how many pages at the end of each faulted: all, the last one, none. */
static void test_transfers(void **unused)
{
	struct uvmp_action a = action_of(UVMP_ACTION_COPY);
	static const struct uvmp_region expected[] = {{0, 2}, {2, 4}, {62, 66}};
	struct uvmp_region t = {0, 0};

	(void)unused;
	add_pages(&a, 0, 4);
	add_pages(&a, 62, 66);
	uvmp_mask_set(&a.cuts, 2);
	assert_int_equal(uvmp_action_transfers(&a), 3);
	for (uint32_t i = 0; i < 3; i++) {
		t = uvmp_action_next_transfer(&a, t.end);
		assert_int_equal(t.first, expected[i].first);
		assert_int_equal(t.end, expected[i].end);
		a.faulted_pages = 8;
		assert_int_equal(uvmp_action_faulted(&a, t), t.end - t.first);
		a.faulted_pages = 3;
		assert_int_equal(uvmp_action_faulted(&a, t), 1);
		a.faulted_pages = 0;
		assert_int_equal(uvmp_action_faulted(&a, t), 0);
	}
	assert_int_equal(uvmp_action_next_transfer(&a, t.end).end, 0);
}

static void test_done(void **unused)
{
	struct uvmp_action a = action_of(UVMP_ACTION_DONE);

	(void)unused;
	a.id = 900;
	a.ticket = 7;
	a.status = UVMP_ERR_UNSUPPORTED;
	check(&a, "900 done t=0 ticket=7 status=-10");
	a.status = UVMP_OK;
	a.to = 2;
	check(&a, "900 done t=0 to=2 ticket=7");
}

/* The end of an action: its number, the time and the status, and no other word. */
static void test_completions(void **unused)
{
	struct uvmp_action a = action_of(UVMP_ACTION_COMPLETE);

	(void)unused;
	a.id = 12;
	a.time_ns = 93500;
	check(&a, "12 complete t=93500");
	a.status = UVMP_ERR_NO_MEMORY;
	check(&a, "12 complete t=93500 status=-5");
	a.batch = 1;
	check_unprintable(&a);
	a = action_of(UVMP_ACTION_COMPLETE);
	a.to = 1;
	check_unprintable(&a);
	a = action_of(UVMP_ACTION_COMPLETE);
	add_pages(&a, 0, 1);
	check_unprintable(&a);
	check_bad("12 complete", UVMP_ERR_SYNTAX, 11);
	check_bad("12 complete t=5 cause=demand", UVMP_ERR_SYNTAX, 16);
	check_bad("12 complete t=5 to=1", UVMP_ERR_SYNTAX, 16);
	check_bad("12 complete t=5 end=1", UVMP_ERR_UNKNOWN, 16);
	check_bad("12 completed t=5", UVMP_ERR_UNKNOWN, 3);
	check_bad("12 complete t=5 status=5", UVMP_ERR_SYNTAX, 23);
}

static void test_completion_print(void **unused)
{
	char small[sizeof("7 complete t=8")] = "as before";

	(void)unused;
	assert_int_equal(uvmp_completion_print(12, 93500, UVMP_OK, text, sizeof(text)), UVMP_OK);
	assert_string_equal(text, "12 complete t=93500");
	assert_int_equal(
	        uvmp_completion_print(UINT64_MAX, UINT64_MAX, (enum uvmp_status) - 128, text, sizeof(text)),
	        UVMP_OK);
	assert_string_equal(text, "18446744073709551615 complete t=18446744073709551615 status=-128");
	strcpy(text, "as before");
	assert_int_equal(uvmp_completion_print(1, 2, (enum uvmp_status)1, text, sizeof(text)),
	                 UVMP_ERR_RANGE);
	assert_int_equal(uvmp_completion_print(1, 2, (enum uvmp_status) - 129, text, sizeof(text)),
	                 UVMP_ERR_RANGE);
	assert_int_equal(uvmp_completion_print(1, 2, (enum uvmp_status) - 256, text, sizeof(text)),
	                 UVMP_ERR_RANGE);
	assert_string_equal(text, "as before");
	assert_int_equal(uvmp_completion_print(1, 2, UVMP_OK, NULL, 80), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_completion_print(7, 8, UVMP_OK, small, sizeof(small) - 1), UVMP_ERR_SPACE);
	assert_string_equal(small, "as before");
	assert_int_equal(uvmp_completion_print(7, 8, UVMP_OK, small, sizeof(small)), UVMP_OK);
	assert_string_equal(small, "7 complete t=8");
}

static void test_capacity(void **unused)
{
	struct uvmp_action a = action_of(UVMP_ACTION_REPLAY);
	char small[sizeof("1 replay t=0")];

	(void)unused;
	memset(small, 'x', sizeof(small));
	for (size_t capacity = 0; capacity < sizeof(small); capacity++) {
		assert_int_equal(uvmp_action_print(&a, small, capacity), UVMP_ERR_SPACE);
		for (size_t i = 0; i < sizeof(small); i++)
			assert_int_equal(small[i], 'x');
	}
	assert_int_equal(uvmp_action_print(&a, small, sizeof(small)), UVMP_OK);
	assert_string_equal(small, "1 replay t=0");
}

static void test_refused_actions(void **unused)
{
	struct uvmp_action a = action_of(UVMP_ACTION_COPY);

	(void)unused;
	assert_int_equal(uvmp_action_print(NULL, text, sizeof(text)), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_action_print(&a, NULL, 0), UVMP_ERR_ARGUMENT);
	a.kind = UVMP_ACTION_COUNT;
	check_unprintable(&a);
	a.kind = 255;
	check_unprintable(&a);
	a = action_of(UVMP_ACTION_COPY);
	a.cause = UVMP_CAUSE_COUNT;
	check_unprintable(&a);
	a = action_of(UVMP_ACTION_COPY);
	a.from = UVMP_PROC_NONE + 1;
	check_unprintable(&a);
	a = action_of(UVMP_ACTION_COPY);
	a.status = 1;
	check_unprintable(&a);
	a = action_of(UVMP_ACTION_COPY);
	a.right = UVMP_RIGHT_READ; /* which a copy does not have */
	check_unprintable(&a);
	a.kind = UVMP_ACTION_MAP;
	a.right = 4;
	check_unprintable(&a);
	a.kind = UVMP_ACTION_CANCEL;
	check_unprintable(&a);
	a = action_of(UVMP_ACTION_EVICT);
	a.victim = UVMP_VICTIM_COUNT;
	check_unprintable(&a);
	a = action_of(UVMP_ACTION_COPY);
	a.rule = UVMP_RULE_COUNT;
	check_unprintable(&a);
	a.kind = UVMP_ACTION_MAP;
	check_unprintable(&a);
	a.kind = UVMP_ACTION_CLEAR;
	check_unprintable(&a);
	a = action_of(UVMP_ACTION_UNMAP);
	a.rule = UVMP_RULE_FULL; /* which only four kinds have */
	check_unprintable(&a);
	a.kind = UVMP_ACTION_FREE;
	a.victim = UVMP_VICTIM_USED;
	check_unprintable(&a);
}

static void test_refused_texts(void **unused)
{
	struct uvmp_action a;
	size_t offset = 5;

	(void)unused;
	assert_int_equal(uvmp_action_parse(NULL, 0, &a, &offset), UVMP_ERR_ARGUMENT);
	assert_int_equal(offset, 0);
	assert_int_equal(uvmp_action_parse("1 copy t=0", 10, NULL, NULL), UVMP_ERR_ARGUMENT);

	check_bad("", UVMP_ERR_SYNTAX, 0);
	check_bad("copy t=0", UVMP_ERR_SYNTAX, 0);
	check_bad("01 copy t=0", UVMP_ERR_SYNTAX, 0);
	check_bad("18446744073709551616 copy t=0", UVMP_ERR_RANGE, 0);
	check_bad("1", UVMP_ERR_SYNTAX, 1);
	check_bad("1,copy", UVMP_ERR_SYNTAX, 1);
	check_bad("1 ", UVMP_ERR_UNKNOWN, 2);
	check_bad("1 cop t=0", UVMP_ERR_UNKNOWN, 2);
	check_bad("1 copyy t=0", UVMP_ERR_UNKNOWN, 2);
	check_bad("1 copy", UVMP_ERR_SYNTAX, 6);
	check_bad("1 copy cause=demand", UVMP_ERR_SYNTAX, 6);
	check_bad("1 copy t", UVMP_ERR_SYNTAX, 6);
	check_bad("1 copy t=", UVMP_ERR_SYNTAX, 9);
	check_bad("1 copy t=-1", UVMP_ERR_SYNTAX, 9);
	check_bad("1 copy t=0x5", UVMP_ERR_SYNTAX, 10);
	check_bad("1 copy t=5,", UVMP_ERR_SYNTAX, 10);
	check_bad("1 copy t=5 ", UVMP_ERR_UNKNOWN, 11);
	check_bad("1 copy t=5  to=1", UVMP_ERR_UNKNOWN, 11);
	check_bad("1 copy t=5 colour=1", UVMP_ERR_UNKNOWN, 11);
	check_bad("1 copy t=5 to=1 to=1", UVMP_ERR_SYNTAX, 16);
	check_bad("1 copy t=5 to=1 from=2", UVMP_ERR_SYNTAX, 16);
	/* what is left out */
	check_bad("1 copy t=5 after=0", UVMP_ERR_SYNTAX, 17);
	check_bad("1 copy t=5 cause=none", UVMP_ERR_SYNTAX, 17);
	check_bad("1 copy t=5 update=0", UVMP_ERR_SYNTAX, 18);
	check_bad("1 copy t=5 block=0x0", UVMP_ERR_SYNTAX, 17);
	check_bad("1 map t=5 right=", UVMP_ERR_SYNTAX, 16);
	/* what a kind does not have, or must have */
	check_bad("1 copy t=5 right=r", UVMP_ERR_SYNTAX, 11);
	check_bad("1 map t=5 mode=all", UVMP_ERR_SYNTAX, 10);
	check_bad("1 cancel t=5", UVMP_ERR_SYNTAX, 12);
	check_bad("1 evict t=5 from=1", UVMP_ERR_SYNTAX, 18);
	check_bad("1 unmap t=5 rule=full", UVMP_ERR_SYNTAX, 12);
	check_bad("1 clear t=5 rule=", UVMP_ERR_SYNTAX, 17);
	check_bad("1 clear t=5 rule=below", UVMP_ERR_UNKNOWN, 17);
	check_bad("1 clear t=5 victim=free", UVMP_ERR_SYNTAX, 12);
	/* values */
	check_bad("1 copy t=5 cause=demands", UVMP_ERR_UNKNOWN, 17);
	check_bad("1 copy t=5 update=2", UVMP_ERR_RANGE, 18);
	check_bad("1 copy t=5 from=64", UVMP_ERR_RANGE, 16);
	check_bad("1 copy t=5 batch=4294967296", UVMP_ERR_RANGE, 17);
	check_bad("1 copy t=5 block=7f00", UVMP_ERR_SYNTAX, 17);
	check_bad("1 copy t=5 block=0x", UVMP_ERR_SYNTAX, 19);
	check_bad("1 copy t=5 block=0xg", UVMP_ERR_SYNTAX, 19);
	check_bad("1 copy t=5 block=0xF", UVMP_ERR_SYNTAX, 19);
	check_bad("1 copy t=5 block=0x10000000000000000", UVMP_ERR_RANGE, 19);
	check_bad("1 done t=5 status=5", UVMP_ERR_SYNTAX, 18);
	check_bad("1 done t=5 status=-129", UVMP_ERR_RANGE, 19);
	check_bad("1 done t=5 status=-0", UVMP_ERR_SYNTAX, 18);
	/* pages */
	check_bad("1 copy t=5 pages=", UVMP_ERR_SYNTAX, 17);
	check_bad("1 copy t=5 pages=512", UVMP_ERR_RANGE, 17);
	check_bad("1 copy t=5 pages=3-", UVMP_ERR_SYNTAX, 19);
	check_bad("1 copy t=5 pages=3-3", UVMP_ERR_SYNTAX, 17);
	check_bad("1 copy t=5 pages=3-600", UVMP_ERR_RANGE, 19);
	check_bad("1 copy t=5 pages=3-5,6", UVMP_ERR_SYNTAX, 21);
	check_bad("1 copy t=5 pages=3,", UVMP_ERR_SYNTAX, 19);
	check_bad("1 copy t=5 pages=3,1", UVMP_ERR_SYNTAX, 19);
}

/* A text may end where memory ends; a NUL is a byte like others. */
static void test_length_is_obeyed(void **unused)
{
	struct uvmp_action a;
	size_t offset = 0;

	(void)unused;
	assert_int_equal(uvmp_action_parse("1 copy t=12 to=1", 10, &a, NULL), UVMP_OK);
	assert_true(a.time_ns == 1 && a.to == UVMP_PROC_NONE);
	assert_int_equal(uvmp_action_parse("1 copy t=1\0", 11, &a, &offset), UVMP_ERR_SYNTAX);
	assert_int_equal(offset, 10);
}

static void test_names(void **unused)
{
	(void)unused;
	assert_string_equal(uvmp_action_name(UVMP_ACTION_BATCH), "batch");
	assert_string_equal(uvmp_action_name(UVMP_ACTION_THROTTLE), "throttle");
	assert_string_equal(uvmp_action_name(UVMP_ACTION_DONE), "done");
	assert_string_equal(uvmp_action_name(UVMP_ACTION_COMPLETE), "complete");
	assert_null(uvmp_action_name(UVMP_ACTION_COUNT));
	assert_null(uvmp_action_name((enum uvmp_action_kind) - 1));
	assert_string_equal(uvmp_cause_name(UVMP_CAUSE_NONE), "none");
	assert_string_equal(uvmp_cause_name(UVMP_CAUSE_ERROR), "error");
	assert_null(uvmp_cause_name(UVMP_CAUSE_COUNT));
	assert_null(uvmp_cause_name((enum uvmp_cause) - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_example_of_the_header),
	        cmocka_unit_test(test_nothing_to_say),
	        cmocka_unit_test(test_everything_said),
	        cmocka_unit_test(test_words),
	        cmocka_unit_test(test_pages),
	        cmocka_unit_test(test_subtrees),
	        cmocka_unit_test(test_cuts),
	        cmocka_unit_test(test_transfers),
	        cmocka_unit_test(test_longest),
	        cmocka_unit_test(test_done),
	        cmocka_unit_test(test_completions),
	        cmocka_unit_test(test_completion_print),
	        cmocka_unit_test(test_capacity),
	        cmocka_unit_test(test_refused_actions),
	        cmocka_unit_test(test_refused_texts),
	        cmocka_unit_test(test_length_is_obeyed),
	        cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
