/* Cutting what is fetched into transfers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "support/page_text.h"
#include "uvmpolicy/prefetch.h"

#define CAPACITY 1024u

static struct uvmp_group group[CAPACITY];

/* Groups as text: F, P, L (fault, prefetch, latency), first page + number of pages: "F0+4 P4+12". */
static void assert_groups(enum uvmp_grouping grouping, const char *pages, const char *faulted, bool latency,
                          const char *expected)
{
	static const char letter[] = "FPL";
	uvmp_mask all = page_text(pages), faults = page_text(faulted);
	char text[1024] = "";
	uint32_t count = 0;

	assert_int_equal(uvmp_prefetch_groups(grouping, &all, &faults, latency, group, CAPACITY, &count),
	                 UVMP_OK);
	for (uint32_t i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%c%u+%u", i == 0 ? "" : " ",
		         letter[group[i].kind], group[i].pages.first, uvmp_region_pages(group[i].pages));
	assert_string_equal(text, expected);
}

/* The examples of UVM Smart [uvmsmart: transfer-split], in pages of 4 KiB. */
static void test_run_to_fault(void **state)
{
	(void)state;
	assert_groups(UVMP_GROUPING_RUN_TO_FAULT, "0-15", "3", false, "F0+4 P4+12");
	assert_groups(UVMP_GROUPING_RUN_TO_FAULT, "0-15", "0,3", false, "F0+1 F1+3 P4+12");
	assert_groups(UVMP_GROUPING_RUN_TO_FAULT, "0-15", "15", false, "F0+16");
	assert_groups(UVMP_GROUPING_RUN_TO_FAULT, "0-63", "2,5,31,32", false, "F0+3 F3+3 F6+26 F32+1 P33+31");
	assert_groups(UVMP_GROUPING_RUN_TO_FAULT, "0-31", "2,20", true, "L2+1 F0+3 L20+1 F3+18 P21+11");
	assert_groups(UVMP_GROUPING_RUN_TO_FAULT, "0-15", "15", true, "L15+1 F0+16");
	/* A gap ends a group; the next run does not know of faults before it. */
	assert_groups(UVMP_GROUPING_RUN_TO_FAULT, "0-3,8-11", "1,9", false, "F0+2 P2+2 F8+2 P10+2");
	/* [uvmsmart: tbnp]: fault on block 0 after 1, 3, 5 and 7: the filled blocks are apart */
	assert_groups(UVMP_GROUPING_RUN_TO_FAULT, "0-15,32-47,64-79,96-111", "0", false,
	              "F0+1 P1+15 P32+16 P64+16 P96+16");
	assert_groups(UVMP_GROUPING_RUN_TO_FAULT, "508-511", "511", false, "F508+4");
	assert_groups(UVMP_GROUPING_RUN_TO_FAULT, "0-511", "-", true, "P0+512");
}

static void test_by_cause(void **state)
{
	(void)state;
	assert_groups(UVMP_GROUPING_BY_CAUSE, "0-15", "3", false, "P0+3 F3+1 P4+12");
	assert_groups(UVMP_GROUPING_BY_CAUSE, "0-15", "0-1,3", false, "F0+2 P2+1 F3+1 P4+12");
	assert_groups(UVMP_GROUPING_BY_CAUSE, "0-3,8-11", "3,8-11", false, "P0+3 F3+1 F8+4");
	assert_groups(UVMP_GROUPING_BY_CAUSE, "510-511", "511", false, "P510+1 F511+1");
	assert_groups(UVMP_GROUPING_BY_CAUSE, "0-511", "0-511", false, "F0+512");
	assert_groups(UVMP_GROUPING_BY_CAUSE, "0-15", "3", true, "P0+3 F3+1 P4+12"); /* no latency here */
}

static void test_single(void **state)
{
	(void)state;
	assert_groups(UVMP_GROUPING_SINGLE, "0-2", "0-2", false, "F0+1 F1+1 F2+1"); /* UVM Smart [uvmsmart: on-demand] */
	assert_groups(UVMP_GROUPING_SINGLE, "4,103", "4", false, "F4+1 P103+1");    /* [uvmsmart: random-page] */
	assert_groups(UVMP_GROUPING_SINGLE, "4,103", "4", true, "L4+1 F4+1 P103+1");
}

static void test_empty(void **state)
{
	(void)state;
	assert_groups(UVMP_GROUPING_BY_CAUSE, "-", "-", false, "");
	assert_groups(UVMP_GROUPING_RUN_TO_FAULT, "-", "7", true,
	              ""); /* a fault that is not fetched counts for nothing */
	assert_groups(UVMP_GROUPING_SINGLE, "3", "7", false, "P3+1");
}

static void test_space(void **state)
{
	uvmp_mask all = page_text("0-511"), before_and_after = page_text("0-15"), faults = page_text("3");
	struct uvmp_group small[2] = {{{7, 7}, UVMP_GROUP_LATENCY}, {{7, 7}, UVMP_GROUP_LATENCY}}, kept[2];
	uint32_t count = 99;

	(void)state;
	memcpy(kept, small, sizeof(kept));
	assert_int_equal(uvmp_prefetch_groups(UVMP_GROUPING_BY_CAUSE, &before_and_after, &faults, false,
	                                      small, 2, &count),
	                 UVMP_ERR_SPACE);
	assert_int_equal(count, 3);
	assert_memory_equal(kept, small, sizeof(kept));
	count = 99;
	assert_int_equal(uvmp_prefetch_groups(UVMP_GROUPING_SINGLE, &all, &all, true, NULL, 0, &count),
	                 UVMP_ERR_SPACE);
	assert_int_equal(count, 1024); /* the most that can be */
	assert_int_equal(
	        uvmp_prefetch_groups(UVMP_GROUPING_SINGLE, &all, &all, true, group, CAPACITY, &count),
	        UVMP_OK);
	assert_int_equal(count, 1024);
	uvmp_mask_zero(&all);
	assert_int_equal(uvmp_prefetch_groups(UVMP_GROUPING_SINGLE, &all, &all, true, NULL, 0, &count),
	                 UVMP_OK);
	assert_int_equal(count, 0);
}

static void test_errors(void **state)
{
	uvmp_mask all = page_text("0-15");
	uint32_t count = 99;

	(void)state;
	assert_int_equal(uvmp_prefetch_groups(UVMP_GROUPING_SINGLE, NULL, &all, false, group, 9, &count),
	                 UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_prefetch_groups(UVMP_GROUPING_SINGLE, &all, NULL, false, group, 9, &count),
	                 UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_prefetch_groups(UVMP_GROUPING_SINGLE, &all, &all, false, group, 9, NULL),
	                 UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_prefetch_groups(UVMP_GROUPING_SINGLE, &all, &all, false, NULL, 9, &count),
	                 UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_prefetch_groups((enum uvmp_grouping)3, &all, &all, false, group, 9, &count),
	                 UVMP_ERR_RANGE);
	assert_int_equal(uvmp_prefetch_groups((enum uvmp_grouping) - 1, &all, &all, false, group, 9, &count),
	                 UVMP_ERR_RANGE);
	assert_int_equal(count, 99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_run_to_fault), cmocka_unit_test(test_by_cause),
	        cmocka_unit_test(test_single),       cmocka_unit_test(test_empty),
	        cmocka_unit_test(test_space),        cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
