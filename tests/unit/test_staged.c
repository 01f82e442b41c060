/* Places on the link that withdrawn victims leave (timed/staged.h): who takes them, and that each is taken once. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "timed/staged.h"

static struct staged staged;
static struct sim_block block;

static int setup(void **state)
{
	(void)state;
	staged = (struct staged){0};
	block = (struct sim_block){0};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	staged_close(&staged);
	return 0;
}

/* A victim of pages [first, first + pages), written back from begin_ns to end_ns, is used and withdrawn at once. */
static void withdraw(uint32_t first, uint32_t pages, uint64_t begin_ns, uint64_t end_ns)
{
	struct staged_victim victim = {.block = &block, .begin_ns = begin_ns, .end_ns = end_ns};

	uvmp_mask_region_set(&victim.pages, (struct uvmp_region){first, first + pages});
	assert_true(staged_add(&staged, &victim, 0));
	assert_true(staged_use(&staged, &block, first, 1));
	assert_true(staged_take(&staged, 1));
}

static void a_victim_takes_the_last_place_first(void **state)
{
	(void)state;
	withdraw(0, 16, 100, 200);
	withdraw(16, 16, 200, 300);
	staged_fill(&staged, 16);
	assert_int_equal(staged.taken.pages, 16);
	assert_int_equal(staged.taken.begin_ns, 200);
	assert_int_equal(staged.taken.end_ns, 300);
	staged_fill(&staged, 32);
	assert_int_equal(staged.taken.pages, 16);
	assert_int_equal(staged.taken.begin_ns, 100);
	staged_fill(&staged, 16);
	assert_int_equal(staged.taken.pages, 0);
}

/* A victim of several transfers: 16 free places serve 16 of its pages, not 16 of each transfer. */
static void each_place_is_taken_once(void **state)
{
	(void)state;
	withdraw(0, 16, 100, 200);
	staged_fill(&staged, 40);
	assert_int_equal(staged_place_pages(&staged, 10), 10);
	assert_int_equal(staged_place_pages(&staged, 10), 6);
	assert_int_equal(staged_place_pages(&staged, 20), 0);
}

static void a_refused_victim_keeps_its_place(void **state)
{
	(void)state;
	withdraw(0, 16, 100, 200);
	staged_refuse(&staged);
	staged_fill(&staged, 16);
	assert_int_equal(staged.taken.pages, 0);
}

/* Once the write-back has begun, a use comes too late. */
static void a_write_back_that_has_begun_is_not_withdrawn(void **state)
{
	struct staged_victim victim = {.block = &block, .begin_ns = 100, .end_ns = 200};

	(void)state;
	uvmp_mask_set(&victim.pages, 3);
	assert_true(staged_add(&staged, &victim, 0));
	assert_false(staged_use(&staged, &block, 3, 100));
	assert_false(staged_use(&staged, &block, 4, 50));
	assert_true(staged_use(&staged, &block, 3, 50));
	assert_false(staged_use(&staged, &block, 3, 60));
	assert_false(staged_take(&staged, 100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_victim_takes_the_last_place_first, setup, teardown),
		cmocka_unit_test_setup_teardown(each_place_is_taken_once, setup, teardown),
		cmocka_unit_test_setup_teardown(a_refused_victim_keeps_its_place, setup, teardown),
		cmocka_unit_test_setup_teardown(a_write_back_that_has_begun_is_not_withdrawn, setup, teardown),
	};

	return cmocka_run_group_tests_name("staged", tests, NULL, NULL);
}
