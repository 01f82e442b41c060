/* The table of far-fault MSHRs by itself: pages in and out, who waits, room; and compared with a plain list.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "timed/mshr.h"

static struct mshr mshr;

static void open_table(uint32_t size)
{
	memset(&mshr, 0, sizeof(mshr));
	assert_true(mshr_open(&mshr, size));
}

static void wait_for(uint32_t entry, uint32_t warp)
{
	const struct mshr_waiter waiter = {.sm = warp / 64, .warp = warp, .number = warp % 64};

	assert_true(mshr_wait(&mshr, entry, &waiter));
}

static void assert_next(uint32_t entry, uint32_t warp)
{
	struct mshr_waiter waiter;

	assert_true(mshr_release(&mshr, entry, &waiter));
	assert_int_equal(waiter.sm, warp / 64);
	assert_int_equal(waiter.warp, warp);
	assert_int_equal(waiter.number, warp % 64);
}

static void assert_no_waiter(uint32_t entry)
{
	struct mshr_waiter waiter;

	assert_false(mshr_release(&mshr, entry, &waiter));
}

static void test_pages_and_waiters(void **unused)
{
	uint32_t seven, eight;

	(void)unused;
	open_table(2);
	assert_int_equal(mshr_find(&mshr, 7), MSHR_NONE);
	seven = mshr_add(&mshr, 7);
	eight = mshr_add(&mshr, 8);
	assert_int_equal(mshr_find(&mshr, 7), seven);
	assert_int_equal(mshr_find(&mshr, 8), eight);
	assert_int_equal(mshr_add(&mshr, 9), MSHR_NONE); /* full */
	assert_int_equal(mshr.count, 2);
	wait_for(seven, 1);
	wait_for(eight, 2);
	wait_for(mshr.size, 100); /* for room */
	wait_for(seven, 3);
	assert_next(seven, 1); /* in the order of coming */
	assert_next(seven, 3);
	assert_no_waiter(seven);
	mshr_drop(&mshr, seven);
	assert_int_equal(mshr_find(&mshr, 7), MSHR_NONE);
	assert_int_equal(mshr.oldest, eight);
	assert_next(mshr.size, 100);
	assert_no_waiter(mshr.size);
	seven = mshr_add(&mshr, 9);
	assert_int_not_equal(seven, MSHR_NONE);
	assert_no_waiter(seven); /* it is a new one */
	assert_false(mshr.entry[seven].is_written);
	assert_next(eight, 2);
	mshr_drop(&mshr, eight);
	mshr_drop(&mshr, seven);
	assert_int_equal(mshr.count, 0);
	assert_int_equal(mshr.oldest, MSHR_NONE);
	mshr_close(&mshr);
}

static void test_many_waiters(void **unused)
{
	(void)unused;
	open_table(3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_not_equal(mshr_add(&mshr, i), MSHR_NONE);
	for (uint32_t i = 0; i < 5000; i++) /* more than there is room for at first */
		wait_for(mshr_find(&mshr, i % 3), i);
	for (uint32_t i = 0; i < 5000; i++)
		assert_next(mshr_find(&mshr, i % 3), i);
	assert_int_equal(mshr.waiters, 8192);
	for (uint32_t i = 0; i < 8192; i++) /* those that were let go are used again */
		wait_for(0, i);
	assert_int_equal(mshr.waiters, 8192);
	mshr_close(&mshr);
}

/* Pages in a list by age, as the table has to have them. */
static uint64_t list[64];
static uint32_t listed;

static void check_list(void)
{
	uint32_t at = mshr.oldest;

	assert_int_equal(mshr.count, listed);
	for (uint32_t i = 0; i < listed; i++) {
		assert_int_equal(mshr.entry[at].page, list[i]);
		assert_int_equal(mshr_find(&mshr, list[i]), at);
		at = mshr.entry[at].newer;
	}
	assert_int_equal(at, MSHR_NONE);
}

static void drop_listed(uint32_t i)
{
	mshr_drop(&mshr, mshr_find(&mshr, list[i]));
	memmove(&list[i], &list[i + 1], (listed - i - 1) * sizeof(*list));
	listed--;
}

static void test_as_a_list(void **unused)
{
	uint64_t random = 12345;

	(void)unused;
	listed = 0;
	open_table(64);
	for (uint32_t i = 0; i < 20000; i++) {
		uint64_t page;

		random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
		page = random >> 33;
		if ((random >> 20) % 5 < 3 && mshr_find(&mshr, page) == MSHR_NONE) {
			assert_int_equal(mshr_add(&mshr, page) == MSHR_NONE, listed == 64);
			if (listed < 64)
				list[listed++] = page;
		} else if (listed != 0) {
			drop_listed((uint32_t)(random >> 40) % listed);
		}
		check_list();
	}
	mshr_close(&mshr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages_and_waiters),
		cmocka_unit_test(test_many_waiters),
		cmocka_unit_test(test_as_a_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
