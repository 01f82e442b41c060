/* counter.h: sizes and parameters [driver: counter-parameters], the worked examples of
 * [driver: counter-service], quirks [driver: notifications-drained, clears-first-notification,
 * trimmed-notifications], filters [driver: counter-policy] and what is cleared [driver: counter-service,
 * counter-clear]. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "uvmpolicy/counter.h"
#include "uvmpolicy/residency.h"

static const struct uvmp_processors pcie = {.count = 3, .can_access = {1, 3, 5}, .native_atomics = {1, 2, 4}};

static const uvmp_mask all32 = {{0xffffffffu}};

static void check_sizes(enum uvmp_counter_granularity granularity, uint64_t sub, uint64_t translation,
                        uint32_t regions)
{
	struct uvmp_counter_sizes sizes;

	assert_int_equal(uvmp_counter_derive_sizes(granularity, &sizes), UVMP_OK);
	assert_int_equal(sizes.sub_bytes, sub);
	assert_int_equal(sizes.translation_bytes, translation);
	assert_int_equal(sizes.regions, regions);
}

/* [driver: counter-parameters]. */
static void test_sizes(void **unused)
{
	struct uvmp_counter_sizes sizes;

	(void)unused;
	check_sizes(UVMP_COUNTER_64K, 65536, 65536, 1);
	check_sizes(UVMP_COUNTER_2M, 65536, 2097152, 32);
	check_sizes(UVMP_COUNTER_16M, 524288, 2097152, 4);
	check_sizes(UVMP_COUNTER_16G, 536870912, 2097152, 1);
	assert_int_equal(uvmp_counter_derive_sizes((enum uvmp_counter_granularity)0, &sizes), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_counter_derive_sizes((enum uvmp_counter_granularity)5, &sizes), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_counter_derive_sizes(UVMP_COUNTER_2M, NULL), UVMP_ERR_ARGUMENT);
}

static void test_parameters(void **unused)
{
	(void)unused;
	assert_false(uvmp_counter_is_enabled(0, true));
	assert_true(uvmp_counter_is_enabled(1, false));
	assert_true(uvmp_counter_is_enabled(-1, true));
	assert_false(uvmp_counter_is_enabled(INT32_MIN, false));
	assert_int_equal(uvmp_counter_max_batch(256, 100), 100);
	assert_int_equal(uvmp_counter_max_batch(256, 1000), 256);
	assert_int_equal(uvmp_counter_max_batch(0, 1000), 1);
	assert_int_equal(uvmp_counter_threshold(256), 256);
	assert_int_equal(uvmp_counter_threshold(0), 1);
	assert_int_equal(uvmp_counter_threshold(65535), 65535);
	assert_int_equal(uvmp_counter_threshold(UINT32_MAX), 65535);
	/* [driver: remote-on-eviction] */
	assert_true(uvmp_counter_maps_evicted(true, true));
	assert_false(uvmp_counter_maps_evicted(true, false));
	assert_false(uvmp_counter_maps_evicted(false, true));
	/* [driver: notifications-drained]; worked example 1 of [driver: counter-service] */
	assert_false(uvmp_counter_is_serviced(4096, true));
	assert_true(uvmp_counter_is_serviced(4096, false));
	assert_true(uvmp_counter_is_serviced(65536, true));
	assert_false(uvmp_counter_is_serviced(0, true)); /* 4096 */
	assert_true(uvmp_counter_is_serviced(0, false));
}

/* Pages of GPU 1's notifications; at most 64 pages are looked at. */
static uint64_t expand(const struct uvmp_counter_facts *facts, const struct uvmp_counter_note *notes,
                       uint32_t count)
{
	uvmp_mask pages;

	assert_int_equal(uvmp_counter_expand(&pcie, facts, notes, count, &pages), UVMP_OK);
	for (uint32_t i = 1; i < UVMP_MASK_WORDS; i++)
		assert_int_equal(pages.word[i], 0);
	return pages.word[0];
}

static struct uvmp_counter_facts facts64(const uvmp_mask *resident)
{
	struct uvmp_counter_facts facts = {
	        .gpu = 1, .page_bytes = 65536, .granularity = UVMP_COUNTER_2M, .quirks = true};

	facts.contiguous = 7;
	facts.resident = resident;
	return facts;
}

/* [driver: counter-service], worked examples 2 and 3. */
static void test_examples(void **unused)
{
	const struct uvmp_counter_note note = {0, 0x0000000d}, none = {0, 0};
	uvmp_mask resident[3] = {all32, {{0}}, {{0}}};
	struct uvmp_counter_facts facts = facts64(resident);

	(void)unused;
	assert_int_equal(expand(&facts, &note, 1), 0xd);
	facts.contiguous = 0;
	assert_int_equal(expand(&facts, &note, 1), 1);
	facts.contiguous = 6; /* not on the closest holder */
	assert_int_equal(expand(&facts, &note, 1), 1);
	facts.contiguous = 1;
	resident[0].word[0] = 5;
	assert_int_equal(expand(&facts, &note, 1), 5);
	facts.page_bytes = 2097152; /* any piece names the page, which is the block */
	assert_int_equal(expand(&facts, &note, 1), 1);
	assert_int_equal(expand(&facts, &none, 1), 0);
	facts.page_bytes = 65536;
	facts.granularity = UVMP_COUNTER_64K;
	assert_int_equal(expand(&facts, &note, 1), 0);
	facts.granularity = UVMP_COUNTER_16G;
	assert_int_equal(expand(&facts, &note, 1), 0);
	assert_int_equal(expand(&facts, NULL, 0), 0);
}

static void test_small_pages(void **unused)
{
	const struct uvmp_counter_note note = {511, 2};
	uvmp_mask resident[3] = {{{0}}, {{0}}, {{0}}};
	struct uvmp_counter_facts facts = facts64(resident);

	(void)unused;
	uvmp_mask_region_set(&resident[0], (struct uvmp_region){0, 512});
	facts.page_bytes = 4096;
	assert_int_equal(expand(&facts, &note, 1), 0xffff0000u);
	resident[0].word[0] = 0x10000;
	assert_int_equal(expand(&facts, &note, 1), 0x10000u);
	facts.page_bytes = 16384;
	resident[0].word[0] = 0xff;
	assert_int_equal(expand(&facts, &(struct uvmp_counter_note){0, 2}, 1), 0xf0);
}

/* Zeroed facts: pages of 4 KiB, notifications for 2 MiB. */
static void test_zeroed_facts(void **unused)
{
	const struct uvmp_counter_note note = {511, 2};
	uvmp_mask resident[3] = {{{0}}, {{0}}, {{0}}};
	struct uvmp_counter_facts facts = {.gpu = 1, .resident = resident, .contiguous = 1};
	uvmp_mask pages;

	(void)unused;
	uvmp_mask_region_set(&resident[0], (struct uvmp_region){0, 512});
	assert_int_equal(expand(&facts, &note, 1), 0xffff0000u);
	facts.contiguous = 0; /* the page alone */
	assert_int_equal(uvmp_counter_expand(&pcie, &facts, &note, 1, &pages), UVMP_OK);
	assert_int_equal(uvmp_mask_weight(&pages), 1);
	assert_true(uvmp_mask_test(&pages, 511));
	assert_int_equal(facts.page_bytes, 0);
}

/* A page that is nowhere, or with the GPU that counts, adds nothing; the closest holder is asked. */
static void test_holders(void **unused)
{
	const struct uvmp_counter_note note = {3, 0xff};
	uvmp_mask resident[3] = {{{0}}, {{0}}, {{0}}};
	struct uvmp_counter_facts facts = facts64(resident);

	(void)unused;
	assert_int_equal(expand(&facts, &note, 1), 0);
	resident[0].word[0] = 0x0f;
	resident[2].word[0] = 0x3c;
	assert_int_equal(expand(&facts, &note, 1), 0x0f); /* GPU 1 can map the CPU's memory only */
	resident[0].word[0] = 0x03;
	assert_int_equal(expand(&facts, &note, 1), 0x3c);
	resident[1].word[0] = 0x08;
	assert_int_equal(expand(&facts, &note, 1), 0);
}

/* [driver: trimmed-notifications]. */
static void test_trimming(void **unused)
{
	const struct uvmp_counter_note notes[2] = {{0, 1}, {8, 0xff00}};
	uvmp_mask resident[3] = {{{0x0ff}}, {{0}}, {{0xf00}}};
	struct uvmp_counter_facts facts = facts64(resident);

	(void)unused;
	assert_int_equal(expand(&facts, notes, 2), 0xf00);
	facts.quirks = false;
	assert_int_equal(expand(&facts, notes, 2), 0xf01);
}

/* [driver: trimmed-notifications]: a notification whose 64 KiB parts have no owner, or that names none, trims
 * too; one beyond the chunk adds.
 */
static void test_trimming_order(void **unused)
{
	const struct uvmp_counter_note notes[3] = {{0, 3}, {8, 0}, {1, 0}};
	uvmp_mask resident[3] = {{{0x0ff}}, {{0}}, {{0xf00}}};
	struct uvmp_counter_facts facts = facts64(resident);

	(void)unused;
	assert_int_equal(expand(&facts, notes, 1), 3);
	assert_int_equal(expand(&facts, notes, 2), 0);
	facts.contiguous = 1; /* GPU 2 has it in pieces: its page alone, and nothing is trimmed */
	assert_int_equal(expand(&facts, notes, 2), 0x103);
	assert_int_equal(expand(&facts, notes, 3), 3); /* the next one does */
	facts.quirks = false;
	assert_int_equal(expand(&facts, notes, 3), 0x103);
}

/* [driver: counter-service], worked example 4, from the notification to the clearing. */
static void test_example_4(void **unused)
{
	const struct uvmp_counter_note note = {5, 0x20};
	const uvmp_mask resident[3] = {{{0x20}}, {{0}}, {{0}}};
	struct uvmp_counter_facts facts = facts64(resident);
	const struct uvmp_counter_block block = {true, &resident[1], NULL, NULL};
	struct uvmp_residency_facts fault = {.requester = 1,
	                                     .accesses = 1u << UVMP_ACCESS_PREFETCH,
	                                     .operation = UVMP_OPERATION_ACCESS_COUNTER,
	                                     .has_preferred = true,
	                                     .resident = 1};
	uvmp_mask pages, destination[3] = {{{0}}, {{0}}, {{0}}};
	struct uvmp_residency_place place;
	struct uvmp_region region;
	uint64_t processors;

	(void)unused;
	assert_int_equal(uvmp_counter_expand(&pcie, &facts, &note, 1, &pages), UVMP_OK);
	assert_int_equal(uvmp_counter_filter(&pages, &pages, &block), UVMP_OK);
	assert_int_equal(pages.word[0], 0x20);
	assert_int_equal(uvmp_residency_select(&pcie, &fault, &place), UVMP_OK);
	assert_true(place.row == 10 && place.to == UVMP_CPU);
	destination[place.to] = pages;
	assert_int_equal(uvmp_counter_settle(destination, resident, 3, &processors, &region), UVMP_OK);
	assert_true(processors == 0 && region.end == 0);
	assert_int_equal(uvmp_counter_clears(UVMP_COUNTER_BLOCK, UVMP_OK, true), UVMP_COUNTER_CLEAR_GROUP);
}

static void refuse(const struct uvmp_processors *processors, const struct uvmp_counter_facts *facts,
                   const struct uvmp_counter_note *notes, enum uvmp_status status)
{
	uvmp_mask pages = {{77}};

	assert_int_equal(uvmp_counter_expand(processors, facts, notes, 2, &pages), status);
	assert_int_equal(pages.word[0], 77);
}

static void test_expand_bad_input(void **unused)
{
	struct uvmp_counter_note notes[2] = {{0, 1}, {31, 1}};
	uvmp_mask resident[3] = {all32, {{0}}, {{0}}};
	const struct uvmp_counter_facts good = facts64(resident);
	struct uvmp_counter_facts f;

	(void)unused;
	refuse(NULL, &good, notes, UVMP_ERR_ARGUMENT);
	refuse(&pcie, NULL, notes, UVMP_ERR_ARGUMENT);
	refuse(&pcie, &good, NULL, UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_counter_expand(&pcie, &good, notes, 2, NULL), UVMP_ERR_ARGUMENT);
	f = good;
	f.resident = NULL;
	refuse(&pcie, &f, notes, UVMP_ERR_ARGUMENT);
	f = good;
	f.gpu = 0;
	refuse(&pcie, &f, notes, UVMP_ERR_RANGE);
	f = good;
	f.gpu = 3;
	refuse(&pcie, &f, notes, UVMP_ERR_RANGE);
	f = good;
	f.page_bytes = 8192;
	refuse(&pcie, &f, notes, UVMP_ERR_RANGE);
	f = good;
	f.granularity = 5;
	refuse(&pcie, &f, notes, UVMP_ERR_RANGE);
	notes[1].page = 32;
	refuse(&pcie, &good, notes, UVMP_ERR_RANGE);
	notes[1].page = 31;
	notes[0].page = UINT32_MAX;
	refuse(&pcie, &good, notes, UVMP_ERR_RANGE);
	assert_int_equal(uvmp_counter_expand(&pcie, &good, NULL, 1, &resident[1]), UVMP_ERR_ARGUMENT);
}

/* [driver: counter-policy]. */
static void test_filter(void **unused)
{
	const uvmp_mask src = {{0xff}}, resident = {{0x0f}}, fixed = {{0x10}}, throttled = {{0x20}};
	struct uvmp_counter_block block = {true, &resident, NULL, NULL};
	uvmp_mask dst;

	(void)unused;
	assert_int_equal(uvmp_counter_filter(&dst, &src, &block), UVMP_OK);
	assert_int_equal(dst.word[0], 0xf0);
	block.fixed = &fixed;
	block.throttled = &throttled;
	assert_int_equal(uvmp_counter_filter(&dst, &src, &block), UVMP_OK);
	assert_int_equal(dst.word[0], 0xc0);
	block.is_mapped = false;
	assert_int_equal(uvmp_counter_filter(&dst, &src, &block), UVMP_OK);
	assert_true(uvmp_mask_is_empty(&dst));
	assert_int_equal(uvmp_counter_filter(NULL, &src, &block), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_counter_filter(&dst, NULL, &block), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_counter_filter(&dst, &src, NULL), UVMP_ERR_ARGUMENT);
	block.resident = NULL;
	assert_int_equal(uvmp_counter_filter(&dst, &src, &block), UVMP_ERR_ARGUMENT);
}

/* [driver: counter-policy]: a page that is where it should go moves nowhere. */
static void test_settle(void **unused)
{
	const uvmp_mask resident[3] = {{{0x01}}, {{0}}, {{0x80}}};
	uvmp_mask destination[3] = {{{0x01}}, {{0x30}}, {{0xc0}}};
	uvmp_mask all[UVMP_PROCS_MAX] = {[63] = {{4}}};
	static const uvmp_mask none[UVMP_PROCS_MAX];
	struct uvmp_region region;
	uint64_t processors;

	(void)unused;
	assert_int_equal(uvmp_counter_settle(destination, resident, 3, &processors, &region), UVMP_OK);
	assert_int_equal(processors, 6);
	assert_int_equal(destination[0].word[0], 0);
	assert_int_equal(destination[1].word[0], 0x30);
	assert_int_equal(destination[2].word[0], 0x40);
	assert_int_equal(region.first, 4);
	assert_int_equal(region.end, 7);
	assert_int_equal(uvmp_counter_settle(destination, resident, 1, &processors, &region), UVMP_OK);
	assert_int_equal(processors, 0);
	assert_int_equal(region.end, 0);
	assert_int_equal(uvmp_counter_settle(all, none, 64, &processors, &region), UVMP_OK);
	assert_true(processors == (uint64_t)1 << 63 && region.first == 2 && region.end == 3);
	assert_int_equal(uvmp_counter_settle(destination, resident, 65, &processors, &region),
	                 UVMP_ERR_RANGE);
	assert_int_equal(uvmp_counter_settle(NULL, resident, 1, &processors, &region), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_counter_settle(destination, NULL, 1, &processors, &region), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_counter_settle(destination, resident, 1, NULL, &region), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_counter_settle(destination, resident, 1, &processors, NULL), UVMP_ERR_ARGUMENT);
}

/* [driver: counter-service, clears-first-notification]. */
static void test_clears(void **unused)
{
	static const enum uvmp_counter_clear expected[] = {
	        UVMP_COUNTER_CLEAR_NONE,  /* no VA space */
	        UVMP_COUNTER_CLEAR_NONE,  /* GPU off */
	        UVMP_COUNTER_CLEAR_GROUP, /* block */
	        UVMP_COUNTER_CLEAR_FIRST, /* no block */
	        UVMP_COUNTER_CLEAR_NONE,  /* other range */
	        UVMP_COUNTER_CLEAR_GROUP, /* ATS */
	        UVMP_COUNTER_CLEAR_NONE,  /* CDMM */
	        UVMP_COUNTER_CLEAR_NONE,  /* HMM */
	        UVMP_COUNTER_CLEAR_FIRST, /* nowhere */
	        UVMP_COUNTER_CLEAR_NONE,  /* no such place */
	};

	(void)unused;
	for (uint32_t i = 0; i < 10; i++) {
		enum uvmp_counter_place place = (enum uvmp_counter_place)i;
		enum uvmp_counter_clear corrected =
		        expected[i] == UVMP_COUNTER_CLEAR_FIRST ? UVMP_COUNTER_CLEAR_THIS : expected[i];

		assert_int_equal(uvmp_counter_clears(place, UVMP_OK, true), expected[i]);
		assert_int_equal(uvmp_counter_clears(place, UVMP_OK, false), corrected);
		assert_int_equal(uvmp_counter_clears(place, UVMP_ERR_NO_MEMORY, true),
		                 UVMP_COUNTER_CLEAR_NONE);
	}
}

/* [driver: counter-clear]. */
static void test_clears_all(void **unused)
{
	const uint32_t tags[] = {2, 4, 7};

	(void)unused;
	assert_true(uvmp_counter_clears_all(tags, 3, true, 2));
	assert_false(uvmp_counter_clears_all(tags, 2, true, 2));
	assert_true(uvmp_counter_clears_all(tags + 2, 1, true, 2));
	assert_false(uvmp_counter_clears_all(tags, 0, true, 2));
	assert_false(uvmp_counter_clears_all(tags, 3, true, 1));
	assert_false(uvmp_counter_clears_all(tags, 3, false, 2));
	assert_false(uvmp_counter_clears_all(NULL, 3, true, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_sizes),
	        cmocka_unit_test(test_parameters),
	        cmocka_unit_test(test_examples),
	        cmocka_unit_test(test_small_pages),
	        cmocka_unit_test(test_zeroed_facts),
	        cmocka_unit_test(test_holders),
	        cmocka_unit_test(test_trimming),
	        cmocka_unit_test(test_trimming_order),
	        cmocka_unit_test(test_example_4),
	        cmocka_unit_test(test_expand_bad_input),
	        cmocka_unit_test(test_filter),
	        cmocka_unit_test(test_settle),
	        cmocka_unit_test(test_clears),
	        cmocka_unit_test(test_clears_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
