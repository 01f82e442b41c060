/* Which copies, in which order: plan.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "model/naive_plan.h"
#include "support/page_text.h"
#include "uvmpolicy/plan.h"

static struct uvmp_copy copy[UVMP_PLAN_COPIES_MAX];
static struct naive_transfer transfer[UVMP_PLAN_TRANSFERS_MAX];

/* The CPU and GPUs 1..4. Every GPU can map system memory, 1 and 2 each other's; 1 and 2 and 1 and 4 have a
 * fast link; the CPU can map no GPU's memory. */
static const struct uvmp_processors five = {
        .count = 5,
        .can_access = {1, 1 | 2 | 4, 1 | 2 | 4, 1 | 8, 1 | 2 | 16},
        .fast_link = {0, 4 | 16, 2, 0, 2},
        .native_atomics = {1, 2, 4, 8, 16},
};

/* A move in text. Masks as in support/page_text.h; resident[p] may be NULL for none. */
struct move {
	uint32_t to;
	const char *pages, *faulted;
	uint8_t grouping;
	const char *resident[5];
	const char *cuts; /* NULL: none */
	uint32_t most_pages;
};

/* Transfers as text: F or P (fault, prefetch), first page + number of pages, source > destination; "z" if no
 * processor holds the pages, "~" behind a first leg: "F0+4:0>1 P4+12:z>1". */
static void write_copies(uint32_t sets, char *text, size_t size)
{
	int count = naive_plan_list(copy, sets, transfer);
	size_t at = 0;

	assert_true(count >= 0);

	text[0] = '\0';
	for (int i = 0; i < count && at < size; i++) {
		char from = transfer[i].from == UVMP_PROC_NONE ? 'z' : (char)('0' + transfer[i].from);

		at += (size_t)snprintf(text + at, size - at, "%s%c%u+%u:%c>%u%s", i == 0 ? "" : " ",
		                       "FP"[transfer[i].kind], transfer[i].pages.first,
		                       uvmp_region_pages(transfer[i].pages), from, transfer[i].to,
		                       transfer[i].is_staged ? "~" : "");
	}
}

static void assert_copies(struct move move, const char *expected)
{
	uvmp_mask pages = page_text(move.pages), faulted, cuts, resident[5];
	struct uvmp_copy_facts facts = {
	        .to = move.to,
	        .pages = &pages,
	        .resident = resident,
	        .grouping = move.grouping,
	        .most_pages = move.most_pages,
	};
	char text[2048];
	uint32_t count = 0;

	if (move.faulted != NULL) {
		faulted = page_text(move.faulted);
		facts.faulted = &faulted;
	}
	if (move.cuts != NULL) {
		cuts = page_text(move.cuts);
		facts.cuts = &cuts;
	}
	for (int p = 0; p < 5; p++)
		resident[p] = page_text(move.resident[p] != NULL ? move.resident[p] : "-");
	memset(copy, 0x55, sizeof(copy));
	assert_int_equal(uvmp_plan_copies(&five, &facts, copy, UVMP_PLAN_COPIES_MAX, &count), UVMP_OK);
	write_copies(count, text, sizeof(text));
	assert_string_equal(text, expected);
}

/* The examples of UVM Smart [uvmsmart: transfer-split], in pages of 4 KiB: the same transfers, fault
 * groups first. */
static void test_run_to_fault(void **state)
{
	const uint8_t g = UVMP_GROUPING_RUN_TO_FAULT;

	(void)state;
	assert_copies((struct move){1, "0-15", "3", g, {"0-511"}, NULL, 0}, "F0+4:0>1 P4+12:0>1");
	assert_copies((struct move){1, "0-15", "0,3", g, {"0-511"}, NULL, 0}, "F0+1:0>1 F1+3:0>1 P4+12:0>1");
	assert_copies((struct move){1, "0-15", "15", g, {"0-511"}, NULL, 0}, "F0+16:0>1");
	assert_copies((struct move){1, "0-63", "2,5,31,32", g, {"0-511"}, NULL, 0},
	              "F0+3:0>1 F3+3:0>1 F6+26:0>1 F32+1:0>1 P33+31:0>1");
	/* The last: the rest of tree A comes behind tree B's fault group. */
	assert_copies((struct move){1, "0-31,64-79", "2,20,79", g, {"0-511"}, NULL, 0},
	              "F0+3:0>1 F3+18:0>1 F64+16:0>1 P21+11:0>1");
}

/* The examples of UVM Smart [uvmsmart: zheng-prefetchers], locality-aware. */
static void test_locality(void **state)
{
	const uint8_t g = UVMP_GROUPING_RUN_TO_FAULT;

	(void)state;
	assert_copies((struct move){1, "0-127", "0", g, {NULL}, NULL, 0}, "F0+1:z>1 P1+127:z>1");
	assert_copies((struct move){1, "200-255", "200", g, {NULL}, NULL, 0}, "F200+1:z>1 P201+55:z>1");
	assert_copies((struct move){1, "0-227", "0,100", g, {NULL}, NULL, 0},
	              "F0+1:z>1 F1+100:z>1 P101+127:z>1");
	/* Here what is resident is left out by the plan. */
	assert_copies((struct move){1, "0-127", "0", g, {NULL, "10-19"}, NULL, 0},
	              "F0+1:z>1 P1+9:z>1 P20+108:z>1");
}

/* [driver: block-service]: a run of pages with one cause and one source is a transfer. */
static void test_by_cause(void **state)
{
	const uint8_t g = UVMP_GROUPING_BY_CAUSE;

	(void)state;
	assert_copies((struct move){1, "0-15", "3", g, {"0-511"}, NULL, 0}, "F3+1:0>1 P0+3:0>1 P4+12:0>1");
	assert_copies((struct move){1, "0-15", NULL, g, {"0-511"}, NULL, 0}, "P0+16:0>1");
	assert_copies((struct move){1, "0-511", "0-511", g, {"0-511"}, NULL, 0}, "F0+512:0>1");
	assert_copies((struct move){1, "500-511", "508-511", g, {"0-505"}, NULL, 0},
	              "F508+4:z>1 P500+6:0>1 P506+2:z>1");
	/* faults on pages that are not asked for, or there */
	assert_copies((struct move){1, "4-7", "0,5,9", g, {"0-511", "5"}, NULL, 0}, "P4+1:0>1 P6+2:0>1");
	assert_copies((struct move){1, "0-7", "0-7", g, {"0-7", "0-511"}, NULL, 0}, "");
	assert_copies((struct move){1, "-", "0-7", g, {NULL}, NULL, 0}, "");
}

/* UVM Smart [uvmsmart: on-demand, random-page]. */
static void test_single(void **state)
{
	const uint8_t g = UVMP_GROUPING_SINGLE;

	(void)state;
	assert_copies((struct move){1, "0-2", "0-2", g, {"0-511"}, NULL, 0}, "F0+1:0>1 F1+1:0>1 F2+1:0>1");
	assert_copies((struct move){1, "4,103", "103", g, {"0-511"}, NULL, 0}, "F103+1:0>1 P4+1:0>1");
}

/* [driver: processors]: the destination's fast links, then those whose memory it can map, then the lowest
 * processor. */
static void test_sources(void **state)
{
	(void)state;
	assert_copies((struct move){1, "0-9", "0-9", 0, {"0-3", NULL, "2-5", NULL, "4-7"}, NULL, 0},
	              "F0+2:0>1 F2+4:2>1 F6+2:4>1 F8+2:z>1");
	assert_copies((struct move){2, "0-9", "0-9", 0, {"0-3", "2-5", NULL, "4-7"}, NULL, 0},
	              "F0+2:0>2 F2+4:1>2 F6+2:3>0~ F6+2:0>2 F8+2:z>2");
	/* every source holds everything: one of them is enough */
	assert_copies((struct move){0, "0-9", NULL, 0, {NULL, NULL, "0-9", "0-511", "0-9"}, NULL, 0},
	              "P0+10:2>0");
	assert_copies((struct move){4, "0-9", NULL, 0, {"0-9", "0-511", "0-9"}, NULL, 0}, "P0+10:1>4");
}

/* From GPU to GPU over the CPU: only if neither can map the other. */
static void test_staged(void **state)
{
	const uint8_t run = UVMP_GROUPING_RUN_TO_FAULT;

	(void)state;
	assert_copies((struct move){3, "0-3", "1", 0, {NULL, "0-3"}, NULL, 0},
	              "F1+1:1>0~ F1+1:0>3 P0+1:1>0~ P0+1:0>3 P2+2:1>0~ P2+2:0>3");
	assert_copies((struct move){3, "0-3", "3", run, {NULL, "0-3"}, "2", 0},
	              "F0+2:1>0~ F0+2:0>3 F2+2:1>0~ F2+2:0>3");
	/* 4 can map 1, 1 cannot map 4 */
	assert_copies((struct move){4, "0", "0", 0, {NULL, "0"}, NULL, 0}, "F0+1:1>4");
	assert_copies((struct move){1, "0", "0", 0, {NULL, NULL, NULL, NULL, "0"}, NULL, 0}, "F0+1:4>1");
	/* the CPU can map neither, and needs no processor in between */
	assert_copies((struct move){0, "0", "0", 0, {NULL, NULL, NULL, "0"}, NULL, 0}, "F0+1:3>0");
}

/* [driver: processors], confidential set-ups: a GPU that cannot even map system memory is copied from all
 * the same. */
static void test_confidential(void **state)
{
	const struct uvmp_processors two = {.count = 2, .can_access = {1, 2}, .native_atomics = {1, 2}};
	uvmp_mask pages = page_text("0-3"), resident[2] = {{{0}}, {{0xf}}};
	struct uvmp_copy_facts facts = {.to = UVMP_CPU, .pages = &pages, .resident = resident};
	char text[64];
	uint32_t count = 0;

	(void)state;
	assert_int_equal(uvmp_plan_copies(&two, &facts, copy, 1, &count), UVMP_OK);
	write_copies(count, text, sizeof(text));
	assert_string_equal(text, "P0+4:1>0");
}

/* Pieces keep the kind of their group. */
static void test_cuts_and_sizes(void **state)
{
	const uint8_t run = UVMP_GROUPING_RUN_TO_FAULT;

	(void)state;
	assert_copies((struct move){1, "0-31", "20", run, {"0-511"}, "0,16,24", 0},
	              "F0+16:0>1 F16+5:0>1 P21+3:0>1 P24+8:0>1");
	assert_copies((struct move){1, "0-9", "0-9", 0, {"0-511"}, NULL, 4}, "F0+4:0>1 F4+4:0>1 F8+2:0>1");
	assert_copies((struct move){1, "0-9", "0-9", 0, {"0-511"}, "3,9", 4},
	              "F0+3:0>1 F3+4:0>1 F7+2:0>1 F9+1:0>1");
	assert_copies((struct move){1, "0-3", NULL, 0, {"0-511"}, NULL, 1},
	              "P0+1:0>1 P1+1:0>1 P2+1:0>1 P3+1:0>1");
	assert_copies((struct move){1, "508-511", NULL, 0, {"0-511"}, "511", 0xffffffffu},
	              "P508+3:0>1 P511+1:0>1");
	/* cuts where nothing is moved */
	assert_copies((struct move){1, "0-3,8-11", NULL, 0, {"0-511"}, "4-8", 0}, "P0+4:0>1 P8+4:0>1");
}

/* Transfers of 512 single pages over the CPU are two sets; one less is too little and stores nothing. */
static void test_space(void **state)
{
	uvmp_mask pages = page_text("0-511"), cuts = page_text("1-511"), resident[5];
	struct uvmp_copy_facts facts = {
	        .to = 3, .pages = &pages, .resident = resident, .grouping = UVMP_GROUPING_SINGLE};
	static struct uvmp_copy kept[UVMP_PLAN_COPIES_MAX];
	uint32_t count = 99;

	(void)state;
	memset(resident, 0, sizeof(resident));
	resident[2] = pages;
	memset(copy, 0x55, sizeof(copy));
	memcpy(kept, copy, sizeof(copy));
	assert_int_equal(uvmp_plan_copies(&five, &facts, copy, 1, &count), UVMP_ERR_SPACE);
	assert_int_equal(count, 2);
	assert_memory_equal(copy, kept, sizeof(copy));
	count = 99;
	assert_int_equal(uvmp_plan_copies(&five, &facts, NULL, 0, &count), UVMP_ERR_SPACE);
	assert_int_equal(count, 2);
	assert_int_equal(uvmp_plan_copies(&five, &facts, copy, 2, &count), UVMP_OK);
	assert_int_equal(count, 2);
	assert_memory_equal(&copy[2], &kept[2], sizeof(copy[2]));
	assert_true(copy[0].is_staged && !copy[1].is_staged);
	for (int i = 0; i < 2; i++) {
		assert_memory_equal(&copy[i].pages, &pages, sizeof(pages));
		assert_memory_equal(&copy[i].cuts, &cuts, sizeof(cuts));
		assert_int_equal(uvmp_count_transfers(&copy[i].pages, &copy[i].cuts), 512);
	}
	uvmp_mask_zero(&pages);
	assert_int_equal(uvmp_plan_copies(&five, &facts, NULL, 0, &count), UVMP_OK);
	assert_int_equal(count, 0);
}

/* The closest source first, pages that are resident nowhere last; fault groups before prefetch groups; the legs of
 * a set side by side. */
static void test_sets(void **state)
{
	uvmp_mask pages = page_text("0-9"), faulted = page_text("0-9"), resident[5];
	struct uvmp_copy_facts facts = {.to = 2, .pages = &pages, .faulted = &faulted, .resident = resident};
	static const uint8_t from[] = {1, 0, 3, 0, UVMP_PROC_NONE}, to[] = {2, 2, 0, 2, 2};
	uint32_t count = 0;

	(void)state;
	memset(resident, 0, sizeof(resident));
	resident[0] = page_text("0,4-5");
	resident[1] = page_text("2-3,8");
	resident[3] = page_text("6-7");
	assert_int_equal(uvmp_plan_copies(&five, &facts, copy, UVMP_PLAN_COPIES_MAX, &count), UVMP_OK);
	assert_int_equal(count, 5);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(copy[i].from, from[i]);
		assert_int_equal(copy[i].to, to[i]);
		assert_int_equal(copy[i].kind, UVMP_GROUP_FAULT);
	}
	faulted = page_text("9");
	assert_int_equal(uvmp_plan_copies(&five, &facts, copy, UVMP_PLAN_COPIES_MAX, &count), UVMP_OK);
	assert_int_equal(count, 6);
	assert_int_equal(copy[0].kind, UVMP_GROUP_FAULT);
	assert_int_equal(copy[5].kind, UVMP_GROUP_PREFETCH);
	assert_int_equal(copy[5].from, UVMP_PROC_NONE);
}

/* A walk over transfers, from any page. */
static void test_transfers(void **state)
{
	uvmp_mask pages = page_text("0-3,63-65,510-511"), cuts = page_text("0,2,64,500");
	static const struct uvmp_region expected[] = {{0, 2}, {2, 4}, {63, 64}, {64, 66}, {510, 512}};
	struct uvmp_region t = {0, 0};

	(void)state;
	assert_int_equal(uvmp_count_transfers(&pages, &cuts), 5);
	for (uint32_t i = 0; i < 5; i++) {
		t = uvmp_next_transfer(&pages, &cuts, t.end);
		assert_int_equal(t.first, expected[i].first);
		assert_int_equal(t.end, expected[i].end);
	}
	t = uvmp_next_transfer(&pages, &cuts, t.end);
	assert_int_equal(t.end, 0);
	t = uvmp_next_transfer(&pages, &cuts, 1); /* cut there */
	assert_int_equal(t.first, 1);
	assert_int_equal(t.end, 2);
	uvmp_mask_zero(&pages);
	assert_int_equal(uvmp_count_transfers(&pages, &cuts), 0);
	assert_int_equal(uvmp_next_transfer(&pages, &cuts, 0).end, 0);
}

static void test_copies_errors(void **state)
{
	uvmp_mask pages = page_text("0-511"), resident[5];
	const struct uvmp_copy_facts good = {.pages = &pages, .resident = resident};
	struct uvmp_copy_facts bad;
	struct uvmp_processors invalid = five;
	uint32_t count = 99;

	(void)state;
	memset(resident, 0, sizeof(resident));
	invalid.count = 0;
	assert_int_equal(uvmp_plan_copies(NULL, &good, copy, 9, &count), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_plan_copies(&invalid, &good, copy, 9, &count), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_plan_copies(&five, NULL, copy, 9, &count), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_plan_copies(&five, &good, NULL, 9, &count), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_plan_copies(&five, &good, copy, 9, NULL), UVMP_ERR_ARGUMENT);
	bad = good;
	bad.pages = NULL;
	assert_int_equal(uvmp_plan_copies(&five, &bad, copy, 9, &count), UVMP_ERR_ARGUMENT);
	bad = good;
	bad.resident = NULL;
	assert_int_equal(uvmp_plan_copies(&five, &bad, copy, 9, &count), UVMP_ERR_ARGUMENT);
	bad = good;
	bad.to = 5;
	assert_int_equal(uvmp_plan_copies(&five, &bad, copy, 9, &count), UVMP_ERR_RANGE);
	bad = good;
	bad.grouping = 3;
	assert_int_equal(uvmp_plan_copies(&five, &bad, copy, 9, &count), UVMP_ERR_RANGE);
	assert_int_equal(count, 99);
}

/* Steps as text: i or o, copy, @ the step to wait for: "i0 o0 i1@0". */
static void assert_steps(enum uvmp_plan_order order, uint32_t in, uint32_t out, const char *expected)
{
	struct uvmp_plan_step step[16];
	char text[256] = "";

	assert_int_equal(uvmp_plan_merge(order, in, out, step, 16), UVMP_OK);
	for (uint32_t i = 0; i < in + out; i++) {
		size_t at = strlen(text);

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%c%u", i == 0 ? "" : " ",
		                       step[i].is_out ? 'o' : 'i', step[i].index);
		if (step[i].after != UVMP_PLAN_AT_ONCE)
			snprintf(text + at, sizeof(text) - at, "@%u", step[i].after);
	}
	assert_string_equal(text, expected);
}

static void test_merge(void **state)
{
	(void)state;
	assert_steps(UVMP_PLAN_SERIAL, 2, 3, "o0 o1@0 o2@1 i0@2 i1@3");
	assert_steps(UVMP_PLAN_SERIAL, 2, 0, "i0 i1@0");
	assert_steps(UVMP_PLAN_SERIAL, 0, 2, "o0 o1@0");
	assert_steps(UVMP_PLAN_OVERLAPPED, 2, 2, "i0 o0 i1@0 o1@1");
	assert_steps(UVMP_PLAN_OVERLAPPED, 4, 1, "i0 o0 i1@0 i2@2 i3@3");
	assert_steps(UVMP_PLAN_OVERLAPPED, 1, 3, "i0 o0 o1@1 o2@2");
	assert_steps(UVMP_PLAN_OVERLAPPED, 0, 2, "o0 o1@0");
	assert_steps(UVMP_PLAN_OVERLAPPED, 2, 0, "i0 i1@0");
	assert_steps(UVMP_PLAN_OVERLAPPED, 0, 0, "");
	assert_steps(UVMP_PLAN_UNOBTRUSIVE, 2, 2, "i0 o0 i1@0 o1@1");
}

static void test_merge_errors(void **state)
{
	static struct uvmp_plan_step step[2 * UVMP_PLAN_TRANSFERS_MAX];
	const uint32_t most = UVMP_PLAN_TRANSFERS_MAX;
	const enum uvmp_plan_order wide = UVMP_PLAN_OVERLAPPED;

	(void)state;
	step[0].index = 77;
	assert_int_equal(uvmp_plan_merge(wide, 0, 1, NULL, 9), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_plan_merge(wide, 1, 0, NULL, 9), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_plan_merge((enum uvmp_plan_order)3, 1, 1, step, 9), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_plan_merge((enum uvmp_plan_order) - 1, 1, 1, step, 9), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_plan_merge(wide, most + 1, 0, step, 2 * most), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_plan_merge(wide, 0, most + 1, step, 2 * most), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_plan_merge(wide, 0xffffffffu, 1, step, 2 * most), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_plan_merge(wide, most, most, step, 2 * most - 1), UVMP_ERR_SPACE);
	assert_int_equal(step[0].index, 77);
	assert_int_equal(uvmp_plan_merge(wide, most, most, step, 2 * most), UVMP_OK);
	assert_int_equal(step[2 * most - 1].index, most - 1);
	assert_int_equal(step[2 * most - 1].after, 2 * most - 3);
	assert_int_equal(uvmp_plan_merge(wide, 0, 0, NULL, 0), UVMP_OK);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(uvmp_plan_name(UVMP_PLAN_SERIAL), "serial");
	assert_string_equal(uvmp_plan_name(UVMP_PLAN_OVERLAPPED), "overlapped");
	assert_string_equal(uvmp_plan_name(UVMP_PLAN_UNOBTRUSIVE), "unobtrusive");
	assert_null(uvmp_plan_name((enum uvmp_plan_order)3));
	assert_null(uvmp_plan_name((enum uvmp_plan_order) - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_run_to_fault), cmocka_unit_test(test_locality),
	        cmocka_unit_test(test_by_cause),     cmocka_unit_test(test_single),
	        cmocka_unit_test(test_sources),      cmocka_unit_test(test_staged),
	        cmocka_unit_test(test_confidential), cmocka_unit_test(test_cuts_and_sizes),
	        cmocka_unit_test(test_sets),         cmocka_unit_test(test_transfers),
	        cmocka_unit_test(test_space),        cmocka_unit_test(test_copies_errors),
	        cmocka_unit_test(test_merge),        cmocka_unit_test(test_merge_errors),
	        cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
