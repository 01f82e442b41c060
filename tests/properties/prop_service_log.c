/* The decision log: any well-formed action survives printing and parsing field by field, and its text is the
 * one that the header's words describe, put together here with snprintf; any text, however damaged, is either
 * refused and leaves the action alone, or is exactly what printing gives. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support/seeds.h"
#include "uvmpolicy/mask.h"
#include "uvmpolicy/service.h"

#define TEXT_MAX (2 * UVMP_ACTION_TEXT_MAX)

static uint64_t below(uint64_t *random, uint64_t bound)
{
	return uvmp_random_below(random, bound);
}

/* 0 more often than not; else of any length up to max. */
static uint64_t pick(uint64_t *random, uint64_t max)
{
	uint64_t kind = below(random, 8);

	if (kind < 4)
		return 0;
	if (kind == 4)
		return max;
	return (uvmp_random_next(random) >> below(random, 64)) & max;
}

static uint8_t pick_processor(uint64_t *random)
{
	return (uint8_t)(below(random, 3) == 0 ? UVMP_PROC_NONE : below(random, UVMP_PROCS_MAX));
}

static void pick_pages(uint64_t *random, struct uvmp_action *action)
{
	for (uint64_t runs = below(random, 2) == 0 ? 0 : 1 + below(random, 30); runs > 0; runs--) {
		uint32_t first = (uint32_t)below(random, 512);

		uvmp_mask_region_set(&action->pages,
		                     (struct uvmp_region){first, first + 1 + (uint32_t)below(random, 20)});
	}
}

/* Any bounds of subtrees, and cuts inside runs of the pages. */
static void pick_bounds(uint64_t *random, struct uvmp_action *action)
{
	for (uint64_t i = below(random, 2) == 0 ? 0 : below(random, 60); i > 0; i--)
		uvmp_mask_set(&action->subtrees, (uint32_t)below(random, 512));
	for (uint64_t i = below(random, 2) == 0 ? 0 : below(random, 200); i > 0; i--) {
		uint32_t page = 1 + (uint32_t)below(random, 511);

		if (uvmp_mask_test(&action->pages, page) && uvmp_mask_test(&action->pages, page - 1))
			uvmp_mask_set(&action->cuts, page);
	}
}

static bool has_rule(uint32_t kind)
{
	return kind == UVMP_ACTION_COPY || kind == UVMP_ACTION_POPULATE || kind == UVMP_ACTION_MAP || kind == UVMP_ACTION_CLEAR;
}

static struct uvmp_action random_action(uint64_t *random)
{
	struct uvmp_action a;

	memset(&a, 0, sizeof(a));
	a.id = pick(random, UINT64_MAX);
	a.time_ns = pick(random, UINT64_MAX);
	a.status = (int8_t) - (int)pick(random, 127);
	a.kind = (uint8_t)below(random, UVMP_ACTION_COUNT);
	a.from = a.to = UVMP_PROC_NONE;
	if (a.kind == UVMP_ACTION_COMPLETE) /* says no more */
		return a;
	a.after = pick(random, UINT64_MAX);
	a.cause = (uint8_t)below(random, UVMP_CAUSE_COUNT);
	a.from = pick_processor(random);
	a.to = pick_processor(random);
	if (a.kind == UVMP_ACTION_MAP || a.kind == UVMP_ACTION_REVOKE)
		a.right = (uint8_t)below(random, 4);
	if (a.kind == UVMP_ACTION_CANCEL)
		a.right = (uint8_t)below(random, 2);
	if (a.kind == UVMP_ACTION_EVICT)
		a.victim = (uint8_t)below(random, UVMP_VICTIM_COUNT);
	if (has_rule(a.kind))
		a.rule = (uint8_t)below(random, UVMP_RULE_COUNT);
	a.is_update = below(random, 2) != 0;
	a.batch = (uint32_t)pick(random, UINT32_MAX);
	a.count = (uint32_t)pick(random, UINT32_MAX);
	a.detail = (uint32_t)pick(random, UINT32_MAX);
	a.ticket = pick(random, UINT64_MAX);
	a.offset = pick(random, UINT64_MAX);
	a.until_ns = pick(random, UINT64_MAX);
	a.space = pick(random, UINT64_MAX);
	a.address = pick(random, UINT64_MAX);
	a.for_address = pick(random, UINT64_MAX);
	a.page_bytes = (uint32_t)pick(random, UINT32_MAX);
	a.faulted = (uint32_t)pick(random, UINT32_MAX);
	a.present = (uint32_t)pick(random, UINT32_MAX);
	a.throttles = (uint32_t)pick(random, UINT32_MAX);
	pick_pages(random, &a);
	if (a.kind == UVMP_ACTION_COPY || a.kind == UVMP_ACTION_POPULATE)
		pick_bounds(random, &a);
	return a;
}

__attribute__((format(printf, 2, 3))) static void append(char text[TEXT_MAX], const char *format, ...)
{
	size_t length = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + length, TEXT_MAX - length, format, args);
	va_end(args);
}

static void append_number(char text[TEXT_MAX], const char *key, uint64_t number)
{
	if (number != 0)
		append(text, " %s=%" PRIu64, key, number);
}

static void append_address(char text[TEXT_MAX], const char *key, uint64_t number)
{
	if (number != 0)
		append(text, " %s=0x%" PRIx64, key, number);
}

static void append_mask(char text[TEXT_MAX], const char *key, const uvmp_mask *pages)
{
	bool is_first = true;

	for (uint32_t page = 0; page < 512; page++) {
		uint32_t last = page;

		if (!uvmp_mask_test(pages, page))
			continue;
		while (uvmp_mask_test(pages, last + 1))
			last++;
		if (is_first)
			append(text, " %s=", key);
		append(text, "%s%u", is_first ? "" : ",", (unsigned)page);
		if (last > page)
			append(text, "-%u", (unsigned)last);
		is_first = false;
		page = last;
	}
}

static void naive_print(const struct uvmp_action *a, char text[TEXT_MAX])
{
	static const char *const right[] = {"", " right=r", " right=rw", " right=rwa"};
	static const char *const victim[] = {"free",  "unused", "discarded", "used",
					     "order", "oldest", "newest",    "sample"};
	static const char *const rule[] = {"fits",  "whole", "dense", "sparse",      "probe-dense", "probe-sparse", "rest", "ahead",
	                                   "limit", "drawn", "idle", "expected", "below-limit", "not-drawn",   "full",         "short"};

	text[0] = '\0';
	append(text, "%" PRIu64 " %s t=%" PRIu64, a->id, uvmp_action_name((enum uvmp_action_kind)a->kind),
	       a->time_ns);
	append_number(text, "after", a->after);
	if (a->cause != UVMP_CAUSE_NONE)
		append(text, " cause=%s", uvmp_cause_name((enum uvmp_cause)a->cause));
	append_number(text, "space", a->space);
	append_address(text, "block", a->address);
	append_mask(text, "pages", &a->pages);
	append_number(text, "page_bytes", a->page_bytes);
	if (a->from != UVMP_PROC_NONE)
		append(text, " from=%u", a->from);
	if (a->to != UVMP_PROC_NONE)
		append(text, " to=%u", a->to);
	if (a->kind == UVMP_ACTION_CANCEL)
		append(text, " mode=%s", a->right == 0 ? "all" : "write");
	else
		append(text, "%s", right[a->right]);
	if (a->kind == UVMP_ACTION_EVICT)
		append(text, " victim=%s", victim[a->victim]);
	if (has_rule(a->kind) && a->rule != 0)
		append(text, " rule=%s", rule[a->rule - 1]);
	append_address(text, "for", a->for_address);
	append_number(text, "batch", a->batch);
	append_number(text, "count", a->count);
	append_number(text, "detail", a->detail);
	append_address(text, "offset", a->offset);
	append_number(text, "update", a->is_update);
	append_number(text, "until", a->until_ns);
	append_number(text, "faulted", a->faulted);
	append_number(text, "present", a->present);
	append_number(text, "throttles", a->throttles);
	append_mask(text, "cuts", &a->cuts);
	append_mask(text, "subtrees", &a->subtrees);
	append_number(text, "ticket", a->ticket);
	if (a->status != 0)
		append(text, " status=%d", a->status);
}

static bool same(const struct uvmp_action *a, const struct uvmp_action *b)
{
	return a->id == b->id && a->after == b->after && a->time_ns == b->time_ns && a->kind == b->kind &&
	       a->cause == b->cause && a->from == b->from && a->to == b->to && a->right == b->right &&
	       a->is_update == b->is_update && a->victim == b->victim && a->status == b->status &&
	       a->batch == b->batch && a->count == b->count && a->detail == b->detail &&
	       a->ticket == b->ticket && a->offset == b->offset && a->until_ns == b->until_ns &&
	       a->space == b->space && a->address == b->address && a->for_address == b->for_address &&
	       a->page_bytes == b->page_bytes && a->faulted == b->faulted && a->present == b->present &&
	       a->throttles == b->throttles && uvmp_mask_equal(&a->cuts, &b->cuts) &&
	       uvmp_mask_equal(&a->subtrees, &b->subtrees) &&
	       uvmp_mask_equal(&a->pages, &b->pages);
}

/* Parses anything; says whether it is a line. */
static bool check_any(const char *text, size_t length)
{
	struct uvmp_action action, before;
	char again[UVMP_ACTION_TEXT_MAX];
	size_t offset = SIZE_MAX;

	memset(&action, 0x2a, sizeof(action));
	memcpy(&before, &action, sizeof(action));
	if (uvmp_action_parse(text, length, &action, &offset) != UVMP_OK) {
		assert_memory_equal(&action, &before, sizeof(action));
		assert_true(offset <= length);
		return false;
	}
	assert_int_equal(uvmp_action_print(&action, again, sizeof(again)), UVMP_OK);
	assert_int_equal(strlen(again), length);
	assert_memory_equal(again, text, length);
	return true;
}

/* Changes, removes, inserts or doubles a few bytes. */
static size_t mutate(uint64_t *random, char text[TEXT_MAX], size_t length)
{
	static const char likely[] = "=, 019-abx\t";
	size_t at = (size_t)below(random, length + 1), run = (size_t)below(random, length - at + 1);
	char byte =
	        below(random, 4) == 0 ? (char)below(random, 256) : likely[below(random, sizeof(likely) - 1)];

	switch (below(random, 4)) {
	case 0:
		if (at < length)
			text[at] = byte;
		return length;
	case 1:
		memmove(text + at, text + at + run, length - at - run);
		return length - run;
	case 2:
		if (length == TEXT_MAX)
			return length;
		memmove(text + at + 1, text + at, length - at);
		text[at] = byte;
		return length + 1;
	default:
		if (length + run > TEXT_MAX)
			return length;
		memmove(text + at + run, text + at, length - at);
		return length + run;
	}
}

static void check_actions(uint64_t random)
{
	uint32_t accepted = 0, refused = 0;

	for (int i = 0; i < 5000; i++) {
		struct uvmp_action action = random_action(&random), again;
		char text[TEXT_MAX], expected[TEXT_MAX];
		size_t length;

		naive_print(&action, expected);
		assert_int_equal(uvmp_action_print(&action, text, UVMP_ACTION_TEXT_MAX), UVMP_OK);
		assert_string_equal(text, expected);
		length = strlen(text);
		assert_int_equal(uvmp_action_print(&action, text, length), UVMP_ERR_SPACE);
		assert_int_equal(uvmp_action_parse(text, length, &again, NULL), UVMP_OK);
		assert_true(same(&action, &again));
		for (int m = 0; m < 5; m++) {
			length = mutate(&random, text, length);
			if (check_any(text, length))
				accepted++;
			else
				refused++;
		}
	}
	assert_true(accepted > 0 && refused > 0);
}

int main(void)
{
	return seeds_run(check_actions);
}
