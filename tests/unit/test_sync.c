/* A device synchronisation: which pages it finds, and what it does to a program. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "timed/timed.h"
#include "timed/sync.h"

#define BASE ((uint64_t)1 << 40)

static char error[SOURCE_ERROR_MAX];

static void add_range(struct space *space, uint64_t base, uint64_t bytes, bool is_device)
{
	struct source_range range = {.base = base, .bytes = bytes, .is_device = is_device, .name = "array"};

	if (!space_add_range(space, &range, error))
		fail_msg("%s", error);
}

static void set_pages(uvmp_mask *mask, uint32_t first, uint32_t end)
{
	uvmp_mask_region_set(mask, (struct uvmp_region){first, end});
}

static void assert_next(const struct space *space, struct sync *sync, uint64_t at, uint64_t bytes)
{
	uint64_t found, length;

	assert_true(sync_next(space, sync, &found, &length));
	assert_int_equal(found, at);
	assert_int_equal(length, bytes);
}

/* Runs of what is there and was written, block by block; what is not managed has no pages to send. */
static void test_walk(void **unused)
{
	struct space space = {0};
	struct sync sync = {0};
	uint32_t page;
	uint64_t at, bytes;
	struct sim_block *block;

	(void)unused;
	assert_true(space_open(&space, PAGE_BYTES));
	assert_false(sync_next(&space, &sync, &at, &bytes));
	add_range(&space, BASE, 3u << 20, false);
	add_range(&space, BASE + (8u << 20), 2u << 20, true);
	add_range(&space, BASE + (16u << 20), 65536, false);
	sync = (struct sync){0};
	assert_false(sync_next(&space, &sync, &at, &bytes));
	block = space_find(&space, BASE, &page);
	set_pages(&block->resident, 0, 512);
	set_pages(&block->written, 3, 5);
	set_pages(&block->written, 511, 512);
	block = space_find(&space, BASE + ROOT_BYTES, &page);
	set_pages(&block->resident, 10, 12);
	set_pages(&block->written, 0, 256);
	block = space_find(&space, BASE + (16u << 20), &page);
	set_pages(&block->resident, 0, 16);
	set_pages(&block->written, 15, 16);
	sync = (struct sync){0};
	assert_next(&space, &sync, BASE + 3u * PAGE_BYTES, 2u * PAGE_BYTES);
	assert_next(&space, &sync, BASE + 511u * PAGE_BYTES, PAGE_BYTES);
	assert_next(&space, &sync, BASE + ROOT_BYTES + 10u * PAGE_BYTES, 2u * PAGE_BYTES);
	assert_next(&space, &sync, BASE + (16u << 20) + 15u * PAGE_BYTES, PAGE_BYTES);
	assert_false(sync_next(&space, &sync, &at, &bytes));
	assert_false(sync_next(&space, &sync, &at, &bytes));
	space_close(&space);
}

static struct sim_result result;
static struct sim_times times;

static void run(const char *workload, uint32_t sync_frees, uint64_t memory_bytes)
{
	struct source *source = workload_open(workload, 1, error);
	struct uvmp_policy policy;
	struct model model;

	if (!source)
		fail_msg("%s", error);
	assert_true(model_open("uvmsmart", NULL, &model, error));
	assert_int_equal(model.sync_frees, 1);
	model.sync_frees = sync_frees;
	model.frees_at_start = model.queues_copies = 0; /* evictions take time */
	assert_int_equal(uvmp_policy_parse("preset=uvmsmart", 15, &policy, NULL), UVMP_OK);
	if (!timed_run(
		    source, &model,
		    &(struct sim_run){&policy, (struct sim_memory){.bytes = memory_bytes}, 1, {.file = NULL}, 0, NULL},
		    &result, &times, error))
		fail_msg("%s", error);
	source->close(source);
}

/* backprop writes one half of its weights in each of two kernels, and the CPU works in between. */
static void test_frees(void **unused)
{
	struct sim_result kept;
	uint64_t kept_ns;

	(void)unused;
	run("backprop:n=16000", 0, 5u << 20);
	kept = result;
	kept_ns = times.kernel_ns;
	run("backprop:n=16000", 1, 5u << 20);
	assert_true(kept.pages_evicted > 0);
	assert_int_equal(result.pages_evicted, 0);
	assert_int_equal(result.pages_migrated, kept.pages_migrated);
	assert_true(result.cpu_faults < kept.cpu_faults);
	assert_true(times.kernel_ns < kept_ns);
	/* all weights and changes, 3 * 16001 * 17 floats, and the partial sums go back */
	assert_true(result.d2h_bytes >= 3u * 16001u * 17u * 4u + 64000u);
}

/* What is not written stays: the inputs, which the second kernel reads once more. */
static void test_clean_stay(void **unused)
{
	struct sim_result kept;

	(void)unused;
	run("backprop:n=16000", 0, 64u << 20);
	kept = result;
	run("backprop:n=16000", 1, 64u << 20);
	assert_int_equal(result.pages_migrated, kept.pages_migrated);
	assert_int_equal(result.refaults, 0);
}

/* Without the CPU's work no fault occurs. */
static void test_not_asked_for(void **unused)
{
	struct sim_result kept;

	(void)unused;
	run("backprop:n=16000,cpu=0", 0, 4u << 20);
	kept = result;
	run("backprop:n=16000,cpu=0", 1, 4u << 20);
	assert_memory_equal(&kept, &result, sizeof(kept));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_frees),
		cmocka_unit_test(test_clean_stay),
		cmocka_unit_test(test_not_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
