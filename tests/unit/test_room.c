/* room.h: what was emptied first is used first, and the later of what is used counts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../adapters/simulator/machine/room.h"

static struct room room;

static void assert_taken(uint64_t pages, uint64_t first_ns, uint64_t last_ns)
{
	struct room_times times = room_take(&room, pages);

	assert_int_equal(times.first_ns, first_ns);
	assert_int_equal(times.last_ns, last_ns);
}

static void in_turn(void **state)
{
	(void)state;
	room_init(&room, 10);
	room_delay(&room, 99); /* of nothing */
	assert_taken(8, 0, 0);
	room_empty(&room, 4, 100);
	room_delay(&room, 150);
	room_delay(&room, 120); /* the later one counts */
	room_empty(&room, 4, 110);
	room_empty(&room, 4, 300);
	assert_taken(4, 0, 150); /* two that were never used */
	assert_taken(3, 150, 150);
	assert_taken(4, 110, 300);
	assert_taken(3, 300, 300);
	assert_taken(5, 0, 0); /* of which nobody was told */
}

static void many(void **state)
{
	(void)state;
	room_init(&room, 0);
	for (uint32_t i = 0; i < 2 * ROOM_ENTRIES; i++)
		room_empty(&room, 2, 1000 + i);
	for (uint32_t i = 0; i + 1 < ROOM_ENTRIES; i++)
		assert_taken(2, 1000 + i, 1000 + i);
	/* the newest are one */
	assert_taken(1, 999 + 2 * ROOM_ENTRIES, 999 + 2 * ROOM_ENTRIES);
	assert_taken(2 * ROOM_ENTRIES + 1, 999 + 2 * ROOM_ENTRIES, 999 + 2 * ROOM_ENTRIES);
	assert_taken(1, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(in_turn), cmocka_unit_test(many)};

	return cmocka_run_group_tests_name("room", tests, NULL, NULL);
}
