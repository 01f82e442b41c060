/* The driver's density prefetcher: worked examples, corner cases of each step, copies of real hardware. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "../../libuvmpolicy/prefetch/prefetch_internal.h"
#include "support/page_text.h"
#include "uvmpolicy/prefetch.h"

#define NONE UVMP_PROC_NONE

static struct uvmp_prefetch_params params;
static struct uvmp_prefetch_facts facts;
static struct uvmp_prefetch_state block_state;
static struct uvmp_prefetch_hint hint;
static uvmp_mask faulted, resident, thrashing, cpu_resident, cpu_read_mapped;

static void set_shape(uint32_t pages, uint32_t offset, uint32_t big_pages)
{
	assert_int_equal(uvmp_block_from_shape(pages, offset, big_pages, &facts.block), UVMP_OK);
}

static void set_faults(const char *pages)
{
	faulted = page_text(pages);
	facts.faulted = &faulted;
	facts.faulted_region = uvmp_mask_bounds(&faulted);
}

static void set_mask(const uvmp_mask **fact, uvmp_mask *mask, const char *pages)
{
	*mask = page_text(pages);
	*fact = mask;
}

/* A whole block, aligned and managed; GPU 1 is the destination and nothing is preferred. */
static int prepare(void **state)
{
	(void)state;
	memset(&facts, 0, sizeof(facts));
	memset(&hint, 0x5a, sizeof(hint));
	uvmp_prefetch_params_init(&params, UVMP_PREFETCH_DENSITY);
	uvmp_prefetch_state_init(&block_state);
	set_shape(512, 0, 16);
	set_faults("5");
	facts.to = 1;
	facts.has_preferred = false;
	facts.preferred = NONE;
	return 0;
}

static void decide(void)
{
	assert_int_equal(uvmp_prefetch_decide(&params, &facts, &block_state, &hint), UVMP_OK);
	assert_true(hint.follow == UVMP_PAGE_NONE);
	assert_int_equal(hint.basic_blocks, 0);
	assert_int_equal(block_state.last_proc, facts.to);
}

static void assert_pages(const char *pages)
{
	uvmp_mask expected = page_text(pages);

	if (!uvmp_mask_equal(&hint.pages, &expected))
		fail_msg("prefetched pages are not %s", pages);
}

/* Decides; nothing prefetched means no destination either. */
static void expect(const char *pages)
{
	decide();
	assert_pages(pages);
	assert_int_equal(hint.to, uvmp_mask_is_empty(&hint.pages) ? NONE : facts.to);
}

struct example {
	uint32_t pages, offset, threshold;
	const char *resident, *faulted, *thrashing, *expected;
};

/* [driver: density], line by line. */
static void test_worked_examples(void **state)
{
	static const struct example example[] = {
	        {512, 0, 51, "", "5", "", "0-4,6-15"},
	        {512, 0, 51, "", "5,20", "", "0-4,6-19,21-31"},
	        {512, 0, 51, "", "0,256", "", "1-15,257-271"},
	        {512, 0, 51, "0-15", "16", "", "0-15,17-31"},
	        {512, 0, 51, "0-255", "300", "", "0-299,301-511"},
	        {512, 0, 51, "0-239", "250", "", "0-249,251-255"},
	        {512, 0, 51, "", "5", "7", ""},
	        {512, 0, 51, "", "5,40", "5", "32-39,41-47"},
	        {300, 0, 51, "", "0,290", "", "1-15,288-289,291-299"},
	        {300, 0, 51, "0-199", "290", "", "0-289,291-299"},
	        {20, 0, 51, "", "17", "", "16,18-19"},
	        {8, 5, 51, "", "3", "", "0-2,4-7"},
	        {507, 5, 51, "", "3", "", "5-10"},
	        {507, 5, 51, "", "3,12", "", "5-11,13-26"},
	        {512, 0, 25, "", "5", "", "0-4,6-31"},
	        {512, 0, 50, "", "5", "", "0-4,6-15"},
	        {512, 0, 100, "", "5", "", ""},
	        {512, 0, 0, "", "5", "", "0-4,6-511"},
	};

	for (size_t i = 0; i < sizeof(example) / sizeof(example[0]); i++) {
		const struct example *e = &example[i];

		prepare(state);
		set_shape(e->pages, e->offset, 16);
		params.threshold = e->threshold;
		set_faults(e->faulted);
		set_mask(&facts.resident, &resident, e->resident);
		if (e->thrashing[0] != '\0')
			set_mask(&facts.thrashing, &thrashing, e->thrashing);
		expect(e->expected);
	}
}

/* [driver: density] with a preferred location, [driver: density] "first touch" and "allowed". */
static void test_preferred_location(void **state)
{
	(void)state;
	facts.is_first_touch = true;
	facts.has_preferred = true;
	facts.preferred = 1;
	expect("0-4,6-511");
	facts.has_preferred = true;
	facts.preferred = 2;
	expect("");
	facts.has_preferred = false;
	facts.preferred = NONE;
	expect("0-4,6-15");
	facts.is_first_touch = false; /* something of the block is resident somewhere */
	facts.has_preferred = true;
	facts.preferred = 1;
	expect("0-4,6-15");
	facts.is_first_touch = true;
	params.threshold = 100; /* [driver: density-region]: first touch still works */
	expect("0-4,6-511");
}

/* [driver: density-region]: the fewest set leaves that are more than 51 % of a node. Big pages of one
 * page, so nothing grows. */
static void test_smallest_dense_nodes(void **state)
{
	static const uint32_t least[10] = {1, 2, 3, 5, 9, 17, 33, 66, 131, 262};

	(void)state;
	for (uint32_t height = 1; height < 10; height++)
		for (uint32_t missing = 0; missing < 2; missing++) {
			struct uvmp_region set = {1, least[height] - missing};

			set_shape(1u << height, 0, 1);
			set_faults("0");
			uvmp_mask_zero(&resident);
			uvmp_mask_region_set(&resident, set);
			facts.resident = &resident;
			decide();
			/* Page 0 is the first of the set pages; they are dense in the whole tree or not. */
			assert_int_equal(uvmp_mask_weight(&hint.pages) == (1u << height) - 1u, missing == 0);
		}
}

/* [driver: density-region]: 1 percent of a whole block is passed by one big page. A dense node wins over
 * sparse ones below it. */
static void test_thresholds(void **state)
{
	(void)state;
	params.threshold = 1;
	expect("0-4,6-511");
	params.threshold = 99;
	expect("0-4,6-15");
	prepare(state);
	set_shape(8, 0, 1);
	set_faults("0");
	set_mask(&facts.resident, &resident, "4-7");
	expect("1-7"); /* 5 of 8; the nodes (0,2) and (0,4) hold one page each */
}

/* [driver: density-tree]: only faulted segments are rounded up, in front of the first big page and behind
 * the last too. */
static void test_growth(void **state)
{
	(void)state;
	params.threshold = 54;
	set_mask(&facts.resident, &resident, "17"); /* one resident page weighs one page: 17 of 32 */
	expect("0-4,6-15");
	set_mask(&facts.resident, &resident, "17-18");
	expect("0-4,6-31");

	prepare(state); /* [0,9) [9,25) ... [489,505) [505,508) */
	set_shape(505, 7, 16);
	params.quirks = false;
	set_faults("8");
	expect("0-7"); /* padding 7 and 9 pages are the first node of 16 */
	set_faults("9");
	expect("10-24");
	set_faults("504");
	expect("489-503");

	prepare(state); /* a suffix */
	set_shape(35, 7, 16);
	set_faults("30");
	expect("25-29,31-34");
}

/* [driver: density-tree]: a segment with a thrashing page is not grown; thrashing pages are not
 * prefetched, attract nothing. */
static void test_thrashing(void **state)
{
	(void)state;
	set_mask(&facts.thrashing, &thrashing, "20");
	expect("0-4,6-15");
	set_mask(&facts.resident, &resident, "16-31");
	expect("0-4,6-19,21-31");
	facts.resident = NULL;
	set_mask(&facts.thrashing, &thrashing, "5");
	expect("");
	facts.has_preferred = true;
	facts.preferred = 1;
	facts.is_first_touch = true;
	set_mask(&facts.thrashing, &thrashing, "100-511");
	expect("0-4,6-99");
}

static void assert_subtree(uint32_t page, uint32_t first, uint32_t end)
{
	struct uvmp_region subtree = uvmp_prefetch_subtree(&hint.subtrees, page);

	assert_int_equal(subtree.first, first);
	assert_int_equal(subtree.end, end);
}

static void test_subtrees(void **state)
{
	(void)state;
	params.threshold = 60;
	set_faults("0,16,32,80,511");
	decide();
	assert_subtree(63, 0, 64);
	assert_subtree(79, 64, 80); /* between subtrees */
	assert_subtree(81, 80, 96);
	assert_subtree(500, 496, 512);
	/* What is clamped belongs to the subtree. */
	set_shape(507, 5, 16);
	set_faults("8,20");
	decide();
	assert_subtree(9, 0, 27);
	/* All of the block at its preferred location, or no prefetch at all: no subtrees. */
	facts.is_first_touch = facts.has_preferred = true;
	facts.preferred = facts.to;
	decide();
	assert_subtree(9, 0, 0);
	facts.preferred = 2;
	decide();
	assert_int_equal(hint.to, NONE);
	assert_true(uvmp_mask_is_empty(&hint.subtrees));
}

/* [driver: density-clamp, padding-clamp]: what starts in the padding loses its first pages; the corrected
 * form does not. */
static void test_padding(void **state)
{
	(void)state;
	set_shape(507, 5, 16);
	set_faults("3");
	params.quirks = false;
	expect("0-2,4-10");
	set_faults("3,12");
	expect("0-2,4-11,13-26");
	/* r = (4,8) becomes (5,3): nothing. The thrashing page keeps the first segment from growing. */
	params.quirks = true;
	params.threshold = 60;
	set_faults("0,1,2");
	set_mask(&facts.thrashing, &thrashing, "10");
	expect("");
	params.quirks = false;
	expect(""); /* leaves 5, 6 and 7 of (4,8) are pages 0, 1 and 2: all of them faulted */
	set_faults("1,2");
	params.threshold = 49;
	expect("0");
	params.quirks = true;
	expect("");
	/* A node behind the padding is where it should be in both forms. */
	prepare(state);
	set_shape(507, 5, 16);
	set_faults("11");
	expect("12-26");
	params.quirks = false;
	expect("12-26");
}

/* [driver: density]: only faults in the service region attract and count, but all of them weigh and none
 * is prefetched. */
static void test_smaller_region(void **state)
{
	(void)state;
	set_faults("5,100");
	facts.faulted_region.end = 6;
	expect("0-4,6-15");
	assert_int_equal(block_state.faults, 1);
	set_faults("5,20");
	facts.faulted_region.end = 6;
	expect("0-4,6-19,21-31");
	assert_int_equal(block_state.faults, 2);
}

/* [driver: density]: pages that the CPU has at home and mapped for reading are left out; a GPU ignores the
 * mask. */
static void test_cpu(void **state)
{
	(void)state;
	facts.to = UVMP_CPU;
	set_mask(&facts.resident, &resident, "0-3,16");
	set_mask(&facts.cpu_read_mapped, &cpu_read_mapped, "2-3,16-17");
	expect("0-1,4,6-15,17-31");
	facts.is_hmm = true;
	facts.max_region.end = 512;
	expect("0-4,6-31");
	facts.is_hmm = false;
	facts.to = 1;
	expect("0-4,6-31");
	facts.to = UVMP_CPU;
	facts.resident = NULL;
	expect("0-4,6-15");
	set_mask(&facts.resident, &resident, "16");
	facts.cpu_read_mapped = NULL;
	expect("0-4,6-31");
}

/* [driver: density]: confidential computing allows the CPU, and GPUs for pages that come from the CPU. */
static void test_confidential(void **state)
{
	(void)state;
	facts.has_preferred = true;
	facts.preferred = 2;
	facts.is_confidential = true;
	expect("");
	set_mask(&facts.cpu_resident, &cpu_resident, "4,6");
	expect("");
	set_mask(&facts.cpu_resident, &cpu_resident, "5");
	expect("0-4,6-15");
	facts.is_confidential = false;
	expect("");
	facts.to = UVMP_CPU;
	expect("");
	facts.is_confidential = true;
	facts.cpu_resident = NULL;
	expect("0-4,6-15");
}

/* [driver: density]: range groups are fetched only if one of their pages faulted. */
static void test_range_groups(void **state)
{
	static const struct uvmp_region group[] = {{0, 5}, {5, 8}, {8, 10}, {12, 400}};

	(void)state;
	facts.range_group = group;
	facts.range_groups = 1;
	expect("6-15");
	facts.range_groups = 4;
	expect("6-7,10-11");
	set_faults("0,5,8,12");
	expect("1-4,6-7,9-11,13-15");
	prepare(state); /* nothing is left: no destination */
	static const struct uvmp_region all[] = {{0, 5}, {6, 512}};
	facts.range_group = all;
	facts.range_groups = 2;
	expect("");
	assert_int_equal(block_state.faults, 1);
}

/* [driver: density]: below min_faults the pages are named, range groups unseen, but not to be fetched. */
static void test_min_faults(void **state)
{
	static const struct uvmp_region group = {0, 5};

	(void)state;
	params.min_faults = 3;
	facts.range_group = &group;
	facts.range_groups = 1;
	for (uint16_t faults = 1; faults < 3; faults++) {
		decide();
		assert_pages("0-4,6-15");
		assert_int_equal(hint.to, NONE);
		assert_int_equal(block_state.faults, faults);
	}
	expect("6-15");
	assert_int_equal(block_state.faults, 3);
	facts.to = 2; /* another destination starts from 0 */
	decide();
	assert_int_equal(hint.to, NONE);
	assert_int_equal(block_state.faults, 1);
}

/* After `faults` counted faults, uvmpi_prefetch_repeats does what the same request does: it counts, and tells whether the
 * answer stays. If not, it leaves the state. */
static void repeat_after(uint16_t faults)
{
	struct uvmp_prefetch_state before;
	uint32_t to;
	bool repeats;

	block_state.last_proc = facts.to;
	block_state.faults = faults;
	decide();
	to = hint.to;
	before = block_state;
	repeats = uvmpi_prefetch_repeats(&params, facts.to, uvmp_mask_weight(&faulted), &block_state);
	if (!repeats)
		assert_memory_equal(&block_state, &before, sizeof(before));
	before = repeats ? block_state : before;
	block_state.faults = (uint16_t)(faults + uvmp_mask_weight(&faulted));
	if (!params.quirks && faults > 0xffffu - uvmp_mask_weight(&faulted))
		block_state.faults = 0xffff;
	decide();
	assert_int_equal(repeats, hint.to == to);
	if (repeats)
		assert_memory_equal(&before, &block_state, sizeof(before));
}

static void test_repeats(void **state)
{
	(void)state;
	set_faults("5,7,100");
	for (params.min_faults = 1; params.min_faults <= 20; params.min_faults++) {
		for (uint32_t faults = 0; faults < 30; faults++) {
			for (uint32_t quirks = 0; quirks < 2; quirks++) {
				params.quirks = quirks != 0;
				repeat_after((uint16_t)faults);
				repeat_after((uint16_t)(0xffffu - faults));
			}
		}
	}
}

/* The counter advances although nothing is prefetched. */
static void test_count_without_pages(void **state)
{
	(void)state;
	params.threshold = 100;
	set_faults("5-9");
	expect("");
	expect("");
	assert_int_equal(block_state.faults, 10);
}

/* All pages of the block fault: nothing else is fetched. */
static void test_all_faulted(void **state)
{
	(void)state;
	set_faults("0-511");
	expect("");
	assert_int_equal(block_state.faults, 512);
}

/* Faults outside the faulted region are set, but nothing is fetched around them, however dense the tree is. */
static void test_no_candidate(void **state)
{
	(void)state;
	set_faults("5");
	set_mask(&facts.resident, &resident, "16-511");
	facts.faulted_region = (struct uvmp_region){32, 64};
	expect("");
	assert_int_equal(block_state.faults, 0);
}

static void test_counter_wraps(void **state)
{
	(void)state;
	block_state.last_proc = 1;
	block_state.faults = 65535; /* [driver: fault-count-wraps] */
	decide();
	assert_int_equal(block_state.faults, 0);
	assert_int_equal(hint.to, NONE);
	assert_pages("0-4,6-15");
	params.quirks = false;
	block_state.faults = 65534;
	expect("0-4,6-15");
	assert_int_equal(block_state.faults, 65535);
	expect("0-4,6-15");
	assert_int_equal(block_state.faults, 65535);
}

/* HMM: the tree is over the part that may be prefetched, with its own first and last segment and padding. */
static void test_hmm(void **state)
{
	(void)state;
	facts.is_hmm = true;
	facts.max_region.first = 3;
	facts.max_region.end = 40;
	expect("3-4,6-15"); /* segment [3,16); padding 3 */
	set_faults("35");
	expect("32-34,36-39");
	set_faults("20");
	expect("16-19,21-31");
	set_faults("5,20");
	expect("3-4,6-19,21-39");    /* 29 of 40 leaves */
	facts.max_region.end = 10; /* no big page: one segment, no padding */
	set_faults("5");
	expect("3-4,6-9");
	facts.max_region.first = 32;
	facts.max_region.end = 512;
	set_faults("40");
	expect("32-39,41-47");
	facts.has_preferred = true;
	facts.preferred = 1; /* first touch: all of the part, nothing else */
	facts.is_first_touch = true;
	expect("32-39,41-511");
}

/* [driver: padding-clamp] in an HMM block: padding 8 in front of page 3, so the driver starts at page 8. */
static void test_hmm_padding(void **state)
{
	(void)state;
	set_shape(100, 5, 16);
	facts.is_hmm = true;
	facts.max_region.first = 3;
	facts.max_region.end = 100;
	set_faults("9"); /* the node behind the padding */
	expect("3-8,10");
	set_faults("9,12"); /* with the padding in it: 24 of 32 */
	expect("8,10-11,13-26");
	params.quirks = false;
	expect("3-8,10-11,13-26");
}

/* HMM: pages outside the part neither weigh nor attract; they still count. */
static void test_hmm_faults_outside(void **state)
{
	(void)state;
	facts.is_hmm = true;
	facts.max_region.first = 32;
	facts.max_region.end = 64;
	set_faults("5,100");
	set_mask(&facts.resident, &resident, "0-31,64-511");
	expect("");
	assert_int_equal(block_state.faults, 2);
	set_faults("5,33,100");
	expect("32,34-47");
}

/* [driver: ats-prefetch]: no growth. The first-touch form takes the window. */
static void test_ats(void **state)
{
	struct uvmp_region window = {0, 512};
	uvmp_mask pages, expected;

	(void)state;
	faulted = page_text("5");
	assert_int_equal(uvmp_prefetch_ats(51, window, NULL, &faulted, false, &pages), UVMP_OK);
	assert_true(uvmp_mask_is_empty(&pages));
	resident = page_text("6-7");
	expected = page_text("4,6-7"); /* 3 of 4 */
	assert_int_equal(uvmp_prefetch_ats(51, window, &resident, &faulted, false, &pages), UVMP_OK);
	assert_true(uvmp_mask_equal(&pages, &expected));
	window.first = 5; /* the tree starts at the window: (5,6) (5,7) (5,9) */
	expected = page_text("6-8");
	assert_int_equal(uvmp_prefetch_ats(51, window, &resident, &faulted, false, &pages), UVMP_OK);
	assert_true(uvmp_mask_equal(&pages, &expected));
	window.end = 8;
	expected = page_text("6-7");
	assert_int_equal(uvmp_prefetch_ats(0, window, &resident, &faulted, false, &pages), UVMP_OK);
	assert_true(uvmp_mask_equal(&pages, &expected));
	assert_int_equal(uvmp_prefetch_ats(100, window, &resident, &faulted, false, &pages), UVMP_OK);
	assert_true(uvmp_mask_is_empty(&pages));
	assert_int_equal(uvmp_prefetch_ats(100, window, &resident, &faulted, true, &pages), UVMP_OK);
	assert_true(uvmp_mask_equal(&pages, &expected));
}

/* Windows that hold nothing, or that reach beyond any block. */
static void test_ats_window(void **state)
{
	struct uvmp_region window = {7, 7}, huge = {0, UINT32_MAX}, far = {600, 700}, reversed = {7, 6};
	uvmp_mask pages, before, expected = page_text("0-4,6-511");

	(void)state;
	faulted = page_text("5");
	assert_int_equal(uvmp_prefetch_ats(51, window, NULL, &faulted, true, &pages), UVMP_OK);
	assert_true(uvmp_mask_is_empty(&pages));
	assert_int_equal(uvmp_prefetch_ats(51, window, NULL, &faulted, false, &pages), UVMP_OK);
	assert_true(uvmp_mask_is_empty(&pages));
	assert_int_equal(uvmp_prefetch_ats(51, far, NULL, &faulted, true, &pages), UVMP_OK);
	assert_true(uvmp_mask_is_empty(&pages));
	assert_int_equal(uvmp_prefetch_ats(0, huge, NULL, &faulted, false, &pages), UVMP_OK);
	assert_true(uvmp_mask_equal(&pages, &expected));
	before = pages;
	assert_int_equal(uvmp_prefetch_ats(51, reversed, NULL, &faulted, true, &pages), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_prefetch_ats(101, huge, NULL, &faulted, true, &pages), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_prefetch_ats(51, huge, NULL, NULL, true, &pages), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_prefetch_ats(51, huge, NULL, &faulted, true, NULL), UVMP_ERR_ARGUMENT);
	assert_true(uvmp_mask_equal(&pages, &before));
}

static void test_errors(void **state)
{
	struct uvmp_prefetch_hint before;
	struct uvmp_prefetch_state state_before;

	(void)state;
	decide();
	before = hint;
	state_before = block_state;
	facts.faulted_region.end = 513;
	assert_int_equal(uvmp_prefetch_decide(&params, &facts, &block_state, &hint), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_prefetch_decide(NULL, &facts, &block_state, &hint), UVMP_ERR_ARGUMENT);
	params.quirks = false;
	params.threshold = 0; /* [driver: threshold-zero] */
	facts.faulted_region.end = 6;
	assert_int_equal(uvmp_prefetch_decide(&params, &facts, &block_state, &hint), UVMP_ERR_ARGUMENT);
	assert_memory_equal(&before, &hint, sizeof(hint));
	assert_memory_equal(&state_before, &block_state, sizeof(block_state));
}

/* Faults on the first page of 64 KiB blocks of one 2 MiB block, one by one, each served before the next.
 * `moved`: KiB that each brought, `last`: what the last one brought as blocks. */
static void replay(const uint32_t *block, const uint32_t *moved_kib, size_t count, const char *last)
{
	uvmp_mask fetched, expected = page_text(last);

	prepare(NULL);
	uvmp_mask_zero(&resident);
	facts.resident = &resident;
	for (size_t i = 0; i < count; i++) {
		uvmp_mask_zero(&faulted);
		uvmp_mask_set(&faulted, 16u * block[i]);
		facts.faulted_region = uvmp_mask_bounds(&faulted);
		decide();
		/* The hint may name pages that are there already. */
		uvmp_mask_or(&fetched, &hint.pages, &faulted);
		uvmp_mask_andnot(&fetched, &fetched, &resident);
		assert_int_equal(4u * uvmp_mask_weight(&fetched), moved_kib[i]);
		uvmp_mask_or(&resident, &resident, &fetched);
	}
	assert_true(uvmp_mask_equal(&fetched, &expected));
}

/* Three micro-benchmarks on a GeForce GTX 1080 Ti, copies as nvprof recorded them in 2019. */
static void test_real_hardware(void **state)
{
	static const uint32_t doubling[] = {0, 1, 2, 4, 8, 16}, doubled[] = {64, 64, 128, 256, 512, 1024};
	static const uint32_t gap[] = {1, 3, 0, 4, 8, 16}, gap_moved[] = {64, 64, 128, 256, 512, 1024};
	static const uint32_t odd[] = {1, 3, 5, 7, 0}, odd_moved[] = {64, 64, 64, 64, 256};
	static const uint32_t on[] = {1, 3, 5, 7, 0, 8, 16}, on_moved[] = {64, 64, 64, 64, 256, 512, 1024};

	(void)state;
	replay(doubling, doubled, 6, "256-511");
	replay(gap, gap_moved, 3, "0-15,32-47");
	replay(gap, gap_moved, 6, "256-511");
	replay(odd, odd_moved, 5, "0-15,32-47,64-79,96-111");
	replay(on, on_moved, 7, "256-511");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_worked_examples),
	        cmocka_unit_test_setup(test_preferred_location, prepare),
	        cmocka_unit_test_setup(test_smallest_dense_nodes, prepare),
	        cmocka_unit_test_setup(test_thresholds, prepare),
	        cmocka_unit_test_setup(test_subtrees, prepare),
	        cmocka_unit_test_setup(test_growth, prepare),
	        cmocka_unit_test_setup(test_thrashing, prepare),
	        cmocka_unit_test_setup(test_padding, prepare),
	        cmocka_unit_test_setup(test_smaller_region, prepare),
	        cmocka_unit_test_setup(test_cpu, prepare),
	        cmocka_unit_test_setup(test_confidential, prepare),
	        cmocka_unit_test_setup(test_range_groups, prepare),
	        cmocka_unit_test_setup(test_min_faults, prepare),
	        cmocka_unit_test_setup(test_repeats, prepare),
	        cmocka_unit_test_setup(test_count_without_pages, prepare),
	        cmocka_unit_test_setup(test_all_faulted, prepare),
	        cmocka_unit_test_setup(test_no_candidate, prepare),
	        cmocka_unit_test_setup(test_counter_wraps, prepare),
	        cmocka_unit_test_setup(test_hmm, prepare),
	        cmocka_unit_test_setup(test_hmm_padding, prepare),
	        cmocka_unit_test_setup(test_hmm_faults_outside, prepare),
	        cmocka_unit_test(test_ats),
	        cmocka_unit_test(test_ats_window),
	        cmocka_unit_test_setup(test_errors, prepare),
	        cmocka_unit_test(test_real_hardware),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
