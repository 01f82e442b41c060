/* Pages that arrive and leave with the copies of a thread: when the GPU's page tables have them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "timed/thread_pages.h"

static struct model model;
static struct space space;
static struct link to_cpu;
static struct system system_of;
static struct thread thread;
static struct sim_block *block;
static char error[SOURCE_ERROR_MAX > MODEL_ERROR_MAX ? SOURCE_ERROR_MAX : MODEL_ERROR_MAX];

static int open_thread(void **unused)
{
	(void)unused;
	assert_true(model_open("asplos20", NULL, &model, error));
	assert_true(space_open(&space, model.page_bytes));
	assert_true(space_add_range(&space, &(struct source_range){.base = ROOT_BYTES, .bytes = ROOT_BYTES}, error));
	block = &space.range[0]->block[0];
	to_cpu = (struct link){.model = &model};
	memset(&system_of, 0, sizeof(system_of));
	memset(&thread, 0, sizeof(thread));
	system_of.model = &model;
	system_of.gpu = gpu_open(&model, &space, &to_cpu, (struct gpu_listener){0});
	assert_non_null(system_of.gpu);
	thread.system = &system_of;
	return 0;
}

static int close_thread(void **unused)
{
	(void)unused;
	gpu_close(system_of.gpu);
	space_close(&space);
	return 0;
}

static uvmp_mask mask_of(uint32_t first, uint32_t end)
{
	uvmp_mask pages;

	uvmp_mask_zero(&pages);
	uvmp_mask_region_set(&pages, (struct uvmp_region){first, end});
	return pages;
}

static void arrive(uint32_t first, uint32_t end, uint64_t end_ns)
{
	uvmp_mask pages = mask_of(first, end);

	thread_pages_arrive(&thread, block, &pages, (struct uvmp_region){first, end}, end_ns);
}

static bool is_mapped_at(uint32_t page, uint64_t at_ns)
{
	gpu_advance(system_of.gpu, at_ns);
	return right_on(block, UVMP_CPU + 1u, page) != UVMP_RIGHT_NONE;
}

/* The page has come twice in the batch: it is there with the second copy. Its neighbour came once. */
static void test_the_newest_transfer_maps(void **unused)
{
	uvmp_mask rest = mask_of(0, 3);

	(void)unused;
	arrive(0, 2, 1000);
	arrive(0, 1, 5000);
	thread_pages_map(&thread, block, UVMP_RIGHT_READ_WRITE_ATOMIC, &rest);
	assert_int_equal(uvmp_mask_weight(&rest), 1); /* page 2 has no transfer */
	assert_false(is_mapped_at(1, 999));
	assert_true(is_mapped_at(1, 1000));
	assert_false(is_mapped_at(0, 4999));
	assert_true(is_mapped_at(0, 5000));
}

/* The list of transfers is full: a page that comes once more is mapped with the other pages, not with its first copy. */
static void test_a_full_list_forgets_older_copies(void **unused)
{
	uvmp_mask rest = mask_of(0, 2);

	(void)unused;
	arrive(0, 2, 1000);
	for (uint32_t i = 1; i < GROUP_STEPS_MAX; i++)
		arrive(2, 3, 1000);
	arrive(0, 1, 5000);
	thread_pages_map(&thread, block, UVMP_RIGHT_READ_WRITE_ATOMIC, &rest);
	assert_true(uvmp_mask_test(&rest, 0) && !uvmp_mask_test(&rest, 1));
}

/* Copies of an earlier call say nothing about pages that are mapped in this one. */
static void test_calls_forget_earlier_arrivals(void **unused)
{
	uvmp_mask rest = mask_of(0, 1);

	(void)unused;
	arrive(0, 1, 1000);
	thread_pages_begin(&thread);
	thread_pages_map(&thread, block, UVMP_RIGHT_READ_WRITE_ATOMIC, &rest);
	assert_int_equal(uvmp_mask_weight(&rest), 1);
	assert_false(is_mapped_at(0, 10000));
}

/* Without the key no arrival is noted. */
static void test_mappings_wait_for_all_copies_without_the_key(void **unused)
{
	(void)unused;
	model.maps_copies = 0;
	arrive(0, 1, 1000);
	assert_int_equal(thread.arrivals, 0);
}

/* A victim of two runs: the GPU loses each when its write-back begins, and what no write-back takes at the end. */
static void test_victims_are_unmapped_with_their_copies(void **unused)
{
	uvmp_mask all = mask_of(0, 6);

	(void)unused;
	gpu_map(system_of.gpu, 0, block, &all, UVMP_RIGHT_READ_WRITE_ATOMIC, false);
	thread_pages_stage(&thread, block, &all);
	assert_true(is_mapped_at(0, 2000));
	thread_pages_leave(&thread, block, (struct uvmp_region){0, 2}, 3000);
	thread_pages_leave(&thread, block, (struct uvmp_region){2, 4}, 7000);
	assert_true(is_mapped_at(1, 2999));
	assert_false(is_mapped_at(1, 3000));
	assert_true(is_mapped_at(2, 6999));
	assert_false(is_mapped_at(2, 7000));
	assert_true(is_mapped_at(5, 7000));
	thread.now_ns = 8000;
	thread_pages_leave_rest(&thread);
	assert_false(is_mapped_at(5, 8000));
	assert_int_equal(thread.departures, 0);
}

/* More victims than the thread remembers: the older ones leave at once. */
static void test_too_many_victims_leave_at_once(void **unused)
{
	uvmp_mask all = mask_of(0, THREAD_DEPARTURES + 1u), one;

	(void)unused;
	gpu_map(system_of.gpu, 0, block, &all, UVMP_RIGHT_READ_WRITE_ATOMIC, false);
	for (uint32_t i = 0; i <= THREAD_DEPARTURES; i++) {
		one = mask_of(i, i + 1u);
		thread_pages_stage(&thread, block, &one);
	}
	assert_false(is_mapped_at(0, 1));
	assert_true(is_mapped_at(THREAD_DEPARTURES, 1));
	assert_int_equal(thread.departures, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_newest_transfer_maps, open_thread, close_thread),
		cmocka_unit_test_setup_teardown(test_a_full_list_forgets_older_copies, open_thread, close_thread),
		cmocka_unit_test_setup_teardown(test_calls_forget_earlier_arrivals, open_thread, close_thread),
		cmocka_unit_test_setup_teardown(test_mappings_wait_for_all_copies_without_the_key, open_thread, close_thread),
		cmocka_unit_test_setup_teardown(test_victims_are_unmapped_with_their_copies, open_thread, close_thread),
		cmocka_unit_test_setup_teardown(test_too_many_victims_leave_at_once, open_thread, close_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
