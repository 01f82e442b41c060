/* reclaim.h: what was emptied first is used first, and the later of what is used counts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../adapters/simulator/timed/reclaim.h"

static struct reclaim queue;

static void assert_taken(uint64_t pages, uint64_t first_ns, uint64_t last_ns)
{
	struct reclaim_times times = reclaim_take(&queue, pages);

	assert_int_equal(times.first_ns, first_ns);
	assert_int_equal(times.last_ns, last_ns);
}

static void in_turn(void **state)
{
	(void)state;
	reclaim_init(&queue, 10);
	reclaim_delay(&queue, 99); /* of nothing */
	assert_taken(8, 0, 0);
	reclaim_empty(&queue, 4, 100);
	reclaim_delay(&queue, 150);
	reclaim_delay(&queue, 120); /* the later one counts */
	reclaim_empty(&queue, 4, 110);
	reclaim_empty(&queue, 4, 300);
	assert_taken(4, 0, 150); /* two that were never used */
	assert_taken(3, 150, 150);
	assert_taken(4, 110, 300);
	assert_taken(3, 300, 300);
	assert_taken(5, 0, 0); /* without a notification */
}

static void many(void **state)
{
	(void)state;
	reclaim_init(&queue, 0);
	for (uint32_t i = 0; i < 2 * RECLAIM_ENTRIES; i++)
		reclaim_empty(&queue, 2, 1000 + i);
	for (uint32_t i = 0; i + 1 < RECLAIM_ENTRIES; i++)
		assert_taken(2, 1000 + i, 1000 + i);
	/* the newest are one */
	assert_taken(1, 999 + 2 * RECLAIM_ENTRIES, 999 + 2 * RECLAIM_ENTRIES);
	assert_taken(2 * RECLAIM_ENTRIES + 1, 999 + 2 * RECLAIM_ENTRIES, 999 + 2 * RECLAIM_ENTRIES);
	assert_taken(1, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(in_turn), cmocka_unit_test(many)};

	return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
