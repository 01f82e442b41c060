/* Unit tests of the eviction order auto: each rule of evict_auto.c by an example. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "evict/evict_auto_internal.h"

#define BLOCK  UVMP_EVICT_GROUP_UNITS
#define BLOCKS 64u
#define UNITS  (BLOCKS * BLOCK)

static uint64_t memory[(sizeof(struct auto_order) + 8u + UNITS * 12u + BLOCKS * sizeof(struct auto_group)) / 8u + 1u];
static struct uvmp_evict evict;

static struct auto_order *order(void)
{
	return evict.state;
}

static void open_order(void)
{
	memset(memory, 0xa5, sizeof(memory));
	assert_int_equal(uvmp_evict_init(&evict, UVMP_EVICT_AUTO, UNITS, memory, sizeof(memory)), UVMP_OK);
	assert_true(uvmp_evict_is_valid(&evict));
}

static void touch(uint32_t first, uint32_t end)
{
	for (uint32_t unit = first; unit < end; unit++)
		assert_int_equal(uvmp_evict_touch(&evict, unit), UVMP_OK);
}

static void batch(void)
{
	assert_int_equal(uvmp_evict_batch(&evict), UVMP_OK);
}

static uint32_t victim(void)
{
	uint32_t unit = UVMP_UNIT_NONE;

	assert_int_equal(uvmp_evict_victim(&evict, NULL, &unit), UVMP_OK);
	return unit;
}

/* The unit behind this one in the walk. */
static uint32_t behind(uint32_t unit)
{
	return uvmp_evict_next(&evict, NULL, &unit) == UVMP_OK ? unit : UVMP_UNIT_NONE;
}

static uint32_t together(uint32_t unit)
{
	return uvmp_evict_together(&evict, unit);
}

/* The victim leaves with its companions, with all their pages. */
static uint32_t evict_once(void)
{
	uint32_t unit = victim(), set = together(unit), units = 0;

	for (uint32_t i = 0; i < BLOCK; i++)
		units += set >> i & 1u;
	assert_int_equal(uvmp_evict_remove_set(&evict, unit / BLOCK * BLOCK, set), UVMP_OK);
	assert_int_equal(uvmp_evict_left(&evict, unit, units * AUTO_UNIT_PAGES, 0), UVMP_OK);
	return unit;
}

/* A block arrives as a whole in a batch of its own, where `most` blocks fit. */
static void arrive(uint32_t block, uint32_t most)
{
	batch();
	if (uvmp_evict_contains(&evict, block * BLOCK))
		return;
	if (evict.count == most * BLOCK)
		(void)evict_once();
	touch(block * BLOCK, block * BLOCK + BLOCK);
}

/* Rounds over the blocks, until the order keeps; false: not within so many. */
static bool cycle(uint32_t blocks, uint32_t most, uint32_t rounds)
{
	for (uint32_t i = 0; i < blocks * rounds && order()->rule == AUTO_OLDEST; i++)
		arrive(i % blocks, most);
	return order()->rule == AUTO_KEEP;
}

/* -- the list -- */

static void oldest_fault_first(void **state)
{
	(void)state;
	open_order();
	touch(100, 103);
	touch(100, 101); /* faults again */
	assert_int_equal(evict.count, 3);
	assert_int_equal(victim(), 101);
	assert_int_equal(uvmp_evict_chosen(&evict), UVMP_CHOICE_OLDEST);
	assert_int_equal(behind(101), 102);
	assert_int_equal(behind(102), 100);
	assert_int_equal(behind(100), UVMP_UNIT_NONE);
	assert_int_equal(behind(99), UVMP_UNIT_NONE); /* not listed */
	uvmp_evict_remove(&evict, 101);
	uvmp_evict_remove(&evict, 101); /* was not listed: no effect */
	assert_int_equal(evict.count, 2);
	assert_int_equal(victim(), 102);
	evict.reserve_percent = 99; /* no effect */
	assert_int_equal(victim(), 102);
}

static void whole_blocks(void **state)
{
	(void)state;
	open_order();
	touch(0, 16); /* half of a block in one batch */
	touch(40, 55); /* one unit less, */
	batch();
	touch(32, 40); /* and more in the next */
	assert_int_equal(together(3), 0xffffu);
	assert_int_equal(together(16), 0); /* not listed */
	assert_int_equal(together(40), 0x007fffffu); /* it and those that follow in the list */
	assert_int_equal(together(50), 0x007c00ffu);
	assert_int_equal(together(39), 0x80u);
	batch();
	touch(5, 6); /* a fault on a whole block moves all of it, */
	assert_int_equal(victim(), 40);
	assert_int_equal(behind(39), 0);
	assert_int_equal(behind(4), 5);
	touch(5, 6); /* once in a batch; then the unit */
	assert_int_equal(behind(4), 6);
	assert_int_equal(behind(15), 5);
	touch(41, 42); /* and of another block the unit alone */
	assert_int_equal(behind(40), 42);
	assert_int_equal(together(40), 1u << 8 | 0x007ffcffu);
}

/* Units of the block that have moved in this batch keep their places; old units move as fresh ones do. */
static void whole_moves_once(void **state)
{
	(void)state;
	open_order();
	touch(0, 16);
	touch(64, 128);
	for (uint32_t i = 0; i < 3; i++) {
		batch();
		touch(200 + i, 201 + i);
	}
	assert_int_equal(order()->stamp[5], 0); /* old */
	batch();
	touch(20, 21);
	touch(5, 6);
	assert_int_equal(victim(), 64);
	assert_int_equal(behind(202), 20);
	assert_int_equal(behind(20), 0);
	assert_int_equal(behind(15), UVMP_UNIT_NONE);
	assert_true(uvmp_evict_is_valid(&evict));
}

/* A block that is empty is not whole when units return. */
static void whole_until_empty(void **state)
{
	(void)state;
	open_order();
	touch(0, 32);
	for (uint32_t unit = 1; unit < 32; unit++)
		uvmp_evict_remove(&evict, unit);
	touch(1, 2);
	assert_int_equal(together(0), 3u);
	assert_int_equal(together(1), 3u);
	uvmp_evict_remove(&evict, 0);
	uvmp_evict_remove(&evict, 1);
	touch(0, 2);
	assert_int_equal(together(1), 2u); /* 1 is the last of the list: 0 does not follow */
}

/* -- fresh units -- */

static void fresh_by_share(void **state)
{
	(void)state;
	open_order();
	touch(0, 64);
	assert_int_equal(order()->fresh, 64);
	touch(64, 65); /* more than 64, but of the present batch */
	assert_int_equal(order()->fresh, 65);
	for (uint32_t i = 0; i < AUTO_BATCHES - 1u; i++) {
		batch();
		batch(); /* without an arrival: the same batch */
		touch(65 + i, 66 + i);
		assert_int_equal(order()->fresh, 66 + i);
	}
	batch();
	touch(67, 68); /* the first batch is the third before this one */
	assert_int_equal(order()->fresh, 64);
	assert_int_equal(order()->window, 4 + 1);
	uvmp_evict_remove(&evict, 4); /* the oldest fresh unit leaves */
	assert_int_equal(order()->window, 5 + 1);
	assert_int_equal(order()->fresh, 63);
	uvmp_evict_remove(&evict, 0); /* an old one */
	uvmp_evict_remove(&evict, 10);
	assert_int_equal(order()->fresh, 62);
	for (uint32_t i = 0; i < 4; i++) {
		batch();
		touch(100 + i, 101 + i);
	}
	assert_int_equal(order()->fresh, 64);
	for (uint32_t i = 0; i < 3; i++)
		batch();
	touch(128, 1024); /* an eighth of what is listed, but not of the batch */
	assert_int_equal(order()->fresh, 896 + 2); /* and of two batches before */
	for (uint32_t i = 0; i < 4; i++) {
		batch();
		touch(1024 + i, 1025 + i);
	}
	assert_int_equal(order()->fresh, evict.count / 8);
}

/* Fresh units are removed, and old ones stay. */
static void none_fresh(void **state)
{
	(void)state;
	open_order();
	touch(0, 70);
	for (uint32_t i = 0; i < 3; i++) {
		batch();
		touch(100 + i, 101 + i);
	}
	for (uint32_t unit = 9; unit < 103; unit++)
		uvmp_evict_remove(&evict, unit);
	assert_int_equal(evict.count, 9);
	assert_int_equal(order()->fresh, 0);
	assert_int_equal(order()->window, 0);
	order()->rule = AUTO_KEEP;
	order()->turn = BLOCK; /* no sample */
	assert_int_equal(victim(), 8);
	assert_int_equal(behind(8), 7);
	assert_int_equal(behind(0), UVMP_UNIT_NONE);
	touch(200, 201);
	assert_int_equal(order()->window, 200 + 1);
	assert_int_equal(behind(0), 200);
}

/* The number of arrivals passes 2^32; a unit that has not moved since then is still old. */
static void arrivals_wrap(void **state)
{
	(void)state;
	open_order();
	touch(0, 70);
	for (uint32_t i = 0; i < 3; i++) {
		batch();
		touch(100 + i, 101 + i);
	}
	assert_int_equal(order()->fresh, 64);
	order()->arrivals = 0xfffffffeu;
	for (uint32_t unit = 200; unit < 204; unit++) {
		batch();
		touch(unit, unit + 1);
	}
	assert_int_equal(order()->arrivals, 3); /* 0 is no stamp of a fresh unit */
	assert_int_equal(order()->stamp[201], 1);
	uvmp_evict_remove(&evict, 0);
	assert_true(uvmp_evict_is_valid(&evict));
	assert_int_equal(victim(), 1);
}

/* -- the rules -- */

static void keep_begins(void **state)
{
	(void)state;
	open_order();
	assert_true(cycle(24, 16, 6));
	open_order();
	assert_false(cycle(16, 16, 20)); /* nothing returns */
	open_order();
	evict.keeps_old = false;
	assert_false(cycle(24, 16, 20));
	evict.keeps_old = true;
	assert_true(cycle(24, 16, 1)); /* the score has been kept */
	order()->turn = BLOCK; /* no sample */
	assert_int_not_equal(victim(), uvmpi_recency_oldest(&order()->list));
	evict.keeps_old = false;
	assert_int_equal(victim(), uvmpi_recency_oldest(&order()->list));
}

/* Blocks that return in any other order do not begin it. */
static void no_order_no_keep(void **state)
{
	uint64_t random = 1;

	(void)state;
	open_order();
	for (uint32_t i = 0; i < 2000; i++) {
		arrive((uint32_t)uvmp_random_below(&random, 24), 16);
		assert_int_equal(order()->rule, AUTO_OLDEST);
	}
}

/* Under keep: a sample of the oldest, then three newest old blocks, and so on; the fresh ones stay. */
static void keep_and_samples(void **state)
{
	uint32_t oldest;

	(void)state;
	open_order();
	assert_true(cycle(24, 16, 6));
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t newest_old = order()->link[order()->window].prev - 1u;

		oldest = uvmpi_recency_oldest(&order()->list);
		assert_int_equal(evict_once(), i % 4 == 0 ? oldest : newest_old);
		assert_int_equal(uvmp_evict_chosen(&evict), i % 4 == 0 ? UVMP_CHOICE_SAMPLE : UVMP_CHOICE_NEWEST);
	}
	assert_true(order()->fresh >= 64);
	assert_int_equal(order()->evicted[AUTO_OLDEST], 2 * BLOCK);
	assert_int_equal(order()->evicted[AUTO_KEEP], 6 * BLOCK);
}

/* The walk under keep: old units backwards, then the fresh ones, oldest first. */
static void walk_under_keep(void **state)
{
	(void)state;
	open_order();
	touch(0, 8);
	touch(32, 101);
	for (uint32_t i = 0; i < 3; i++) {
		batch();
		touch(200 + i, 201 + i);
	}
	order()->rule = AUTO_KEEP;
	order()->turn = 2 * BLOCK;
	assert_int_equal(evict.count - order()->fresh, 16);
	assert_int_equal(victim(), 39);
	assert_int_equal(uvmp_evict_chosen(&evict), UVMP_CHOICE_NEWEST);
	assert_int_equal(behind(39), 38);
	assert_int_equal(behind(32), 7);
	assert_int_equal(behind(0), 40);
	assert_int_equal(behind(500), UVMP_UNIT_NONE); /* not listed */
	assert_int_equal(behind(40), 41);
	assert_int_equal(behind(202), UVMP_UNIT_NONE);
	assert_int_equal(together(5), 0x3fu); /* with older units, */
	order()->group[1].is_whole = false;
	assert_int_equal(together(36), 0x1fu);
	assert_int_equal(together(60), 0xf0000000u); /* and a fresh one with newer units */
	order()->turn = 4 * BLOCK; /* a sample */
	assert_int_equal(victim(), 0);
	assert_int_equal(together(5), 0xe0u);
	for (uint32_t unit = 0; unit < 40; unit++)
		uvmp_evict_remove(&evict, unit);
	order()->turn = 2 * BLOCK; /* all units are fresh: the oldest */
	assert_int_equal(victim(), 40);
	assert_int_equal(uvmp_evict_chosen(&evict), UVMP_CHOICE_SAMPLE);
}

/* The victims of keep return at once, those of the oldest do not: the oldest rules for a turn, then for two, ... */
static void regret_ends_keep(void **state)
{
	(void)state;
	for (uint32_t gap = 1; gap <= 256; gap *= 2) {
		if (gap == 1)
			open_order();
		assert_true(cycle(24, 16, 400));
		order()->regret[AUTO_OLDEST] = 0;
		order()->regret[AUTO_KEEP] = 32 * 16 - 1; /* one less than is evidence */
		order()->evicted[AUTO_KEEP] = 64;
		order()->evicted[AUTO_OLDEST] = 31;
		(void)uvmp_evict_touch(&evict, 63 * BLOCK);
		assert_int_equal(order()->rule, AUTO_KEEP);
		uvmp_evict_forget(&evict, 63 * BLOCK);
		order()->regret[AUTO_KEEP]++; /* and too few samples */
		(void)uvmp_evict_touch(&evict, 63 * BLOCK);
		assert_int_equal(order()->rule, AUTO_KEEP);
		uvmp_evict_forget(&evict, 63 * BLOCK);
		order()->evicted[AUTO_OLDEST] = 32;
		order()->regret[AUTO_OLDEST] = 16 * 16; /* the same for each unit */
		(void)uvmp_evict_touch(&evict, 63 * BLOCK);
		assert_int_equal(order()->rule, AUTO_KEEP);
		uvmp_evict_forget(&evict, 63 * BLOCK);
		order()->regret[AUTO_OLDEST]--;
		(void)uvmp_evict_touch(&evict, 63 * BLOCK);
		assert_int_equal(order()->rule, AUTO_OLDEST);
		uvmp_evict_forget(&evict, 63 * BLOCK);
		assert_int_equal(order()->wait, (gap < 64 ? gap : 64) * evict.count);
		assert_int_equal(order()->score, 0);
	}
}

/* The wait is in units that leave, and does not pass below 0; that of a large memory fits. */
static void waits(void **state)
{
	(void)state;
	open_order();
	touch(0, 128);
	order()->wait = 40;
	(void)evict_once();
	assert_int_equal(order()->wait, 8);
	(void)evict_once();
	assert_int_equal(order()->wait, 0);
	order()->rule = AUTO_KEEP;
	order()->regret[AUTO_KEEP] = 1000;
	order()->evicted[AUTO_OLDEST] = 1000;
	order()->gap = 1u << 27;
	(void)uvmp_evict_touch(&evict, 0);
	assert_int_equal(order()->rule, AUTO_OLDEST);
	assert_int_equal(order()->wait, 0xffffffffu);
}

/* What keep has evicted halves after a turn, so that what is recent counts. */
static void evidence_fades(void **state)
{
	(void)state;
	open_order();
	touch(0, 100);
	order()->rule = AUTO_KEEP;
	order()->evicted[AUTO_KEEP] = 100;
	order()->evicted[AUTO_OLDEST] = 30;
	order()->regret[AUTO_KEEP] = 9;
	order()->regret[AUTO_OLDEST] = 8;
	touch(100, 101);
	assert_int_equal(order()->evicted[AUTO_KEEP], 100);
	order()->evicted[AUTO_KEEP] = 102;
	touch(101, 102);
	assert_int_equal(order()->evicted[AUTO_KEEP], 51);
	assert_int_equal(order()->evicted[AUTO_OLDEST], 15);
	assert_int_equal(order()->regret[AUTO_KEEP], 4);
	assert_int_equal(order()->regret[AUTO_OLDEST], 4);
}

/* -- returns -- */

static void returns(void **state)
{
	(void)state;
	open_order();
	touch(0, 128);
	assert_int_equal(evict_once(), 0);
	assert_int_equal(order()->clock, 32);
	assert_int_equal(order()->group[0].departed, 32);
	touch(0, 1); /* at once: a weight of 96 * 16 / 97 */
	assert_int_equal(order()->group[0].departed, 31);
	assert_int_equal(order()->regret[AUTO_OLDEST], 15);
	assert_int_equal(order()->score, 4096); /* 32 is ahead of 0 */
	touch(1, 2); /* of the same block: the order of blocks is judged once in a batch */
	assert_int_equal(order()->score, 4096);
	assert_int_equal(order()->regret[AUTO_OLDEST], 30);
	uvmp_evict_forget(&evict, 5); /* the number names other memory */
	assert_int_equal(order()->group[0].departed, 0);
	touch(2, 3);
	assert_int_equal(order()->regret[AUTO_OLDEST], 30);
	order()->group[1].departed = 1; /* left too long ago */
	order()->group[1].left = order()->clock - evict.count - 1u;
	for (uint32_t unit = 32; unit < 64; unit++)
		uvmp_evict_remove(&evict, unit);
	touch(32, 33);
	assert_int_equal(order()->regret[AUTO_OLDEST], 30);
	assert_int_equal(order()->group[1].departed, 0);
}

/* Behind the block that returned last by more than the slack: out of order. */
static void out_of_order(void **state)
{
	(void)state;
	open_order();
	touch(0, 512);
	for (uint32_t i = 0; i < 4; i++)
		(void)evict_once();
	assert_int_equal(order()->clock, 128);
	touch(3 * BLOCK, 3 * BLOCK + 1); /* left at 128 */
	assert_int_equal(order()->score, 4096);
	touch(2 * BLOCK, 2 * BLOCK + 1); /* at 96: within the slack of 32 and a 32nd of the count */
	assert_int_equal(order()->score, 4096 - 256 + 4096);
	order()->judged = 128;
	touch(0, 1); /* at 32 */
	assert_int_equal(order()->score, 7936 - 496);
	assert_int_equal(order()->judged, 32);
	order()->judged = order()->clock - 600; /* further ahead than half a turn */
	touch(BLOCK, BLOCK + 1);
	assert_int_equal(order()->score, 7440 - 465);
}

static void reports(void **state)
{
	(void)state;
	open_order();
	assert_int_equal(uvmp_evict_left(&evict, 5, 16, 0), UVMP_OK); /* was never touched: no effect */
	assert_int_equal(order()->clock, 0);
	assert_int_equal(uvmp_evict_forget(&evict, 5), UVMP_OK);
	touch(0, 8);
	assert_int_equal(uvmp_evict_left(&evict, 0, 1, 0), UVMP_OK); /* a page is part of a unit */
	assert_int_equal(order()->clock, 1);
	assert_int_equal(uvmp_evict_left(&evict, 0, 512, 512), UVMP_OK);
	assert_int_equal(uvmp_evict_left(&evict, 1, 17, 0), UVMP_OK);
	assert_int_equal(order()->clock, 1 + 32 + 2);
	assert_int_equal(order()->group[0].departed, 32);
	assert_int_equal(order()->group[0].left, 35);
	assert_int_equal(together(UNITS), 0); /* out of range */
	assert_int_equal(uvmp_evict_together(NULL, 0), 0);
	assert_int_equal(uvmp_evict_chosen(NULL), UVMP_CHOICE_ORDER);
}

/* The end of the range cuts the last block. */
static void last_block(void **state)
{
	(void)state;
	assert_int_equal(uvmp_evict_init(&evict, UVMP_EVICT_AUTO, 50, memory, sizeof(memory)), UVMP_OK);
	touch(32, 50);
	batch();
	touch(40, 41);
	assert_int_equal(together(33), 0x3ffffu);
	assert_int_equal(evict_once(), 32);
	assert_int_equal(evict.count, 0);
}

/* -- tenants -- */

static void own(uint32_t block, uint32_t owner)
{
	assert_int_equal(uvmp_evict_own(&evict, block * BLOCK, owner), UVMP_OK);
}

/* Block 0 is the oldest, and all that tenant 1 has, of 16 blocks; half of what it lost has returned. */
static void two_tenants(void)
{
	open_order();
	own(0, 1);
	for (uint32_t block = 0; block < 16; block++) {
		batch();
		touch(block * BLOCK, block * BLOCK + BLOCK);
	}
	order()->tenant[1].evicted = 32;
	order()->tenant[1].returned = 16;
}

/* Its block becomes the newest, and block 1 leaves. */
static void little_stays(void **state)
{
	(void)state;
	two_tenants();
	assert_int_equal(order()->tenants, 2);
	assert_int_equal(victim(), BLOCK);
	assert_int_equal(order()->spared, 1);
	assert_int_equal(order()->link[0].prev, BLOCK);
	assert_int_equal(victim(), BLOCK);
	assert_int_equal(order()->spared, 1);
}

/* Each condition of the protection. */
static void not_protected(void **state)
{
	(void)state;
	two_tenants();
	order()->tenant[1].evicted = 31; /* little is known of it */
	assert_int_equal(victim(), 0);
	two_tenants();
	order()->tenant[1].returned = 15; /* less than half has returned */
	assert_int_equal(victim(), 0);
	two_tenants();
	order()->asker = 1;
	assert_int_equal(victim(), 0);
	two_tenants();
	own(15, 1); /* a quarter of half the memory is two blocks */
	assert_int_equal(victim(), BLOCK);
	two_tenants();
	own(15, 1);
	own(14, 1);
	assert_int_equal(victim(), 0);
	two_tenants();
	for (uint32_t block = 1; block < 16; block++)
		own(block, 17); /* the same tenant */
	assert_int_equal(order()->tenants, 1);
	order()->asker = 0;
	assert_int_equal(victim(), 0);
	assert_int_equal(order()->spared, 0);
}

/* A tenant in use stays, also with most of the memory, and if it asks: beside units of another tenant. */
static void used_stays(void **state)
{
	(void)state;
	two_tenants();
	evict.used = 1u << 0 | 1u << 2;
	order()->tenant[1].evicted = 0; /* not protected */
	order()->asker = 0;
	batch();
	touch(0, BLOCK); /* the only block that is not in use becomes the newest */
	assert_int_equal(evict_once(), 8 * BLOCK); /* the sample: seven blocks stay */
	assert_int_equal(order()->spared, 8);
	assert_int_equal(evict_once(), 0); /* seven more, and the block that is not in use */
	assert_int_equal(order()->spared, 15);
	two_tenants();
	evict.used = 1u << 1; /* the oldest block is theirs */
	order()->tenant[1].evicted = 0;
	assert_int_equal(victim(), BLOCK);
	assert_int_equal(order()->link[0].prev, BLOCK);
	evict.used = 1u << 1 | 1u << 0; /* all are: none stays */
	assert_int_equal(victim(), BLOCK);
	assert_int_equal(order()->link[0].prev, BLOCK);
	evict.used = 0;
}

/* The eighth protected victim leaves. */
static void sample_of_tenant(void **state)
{
	(void)state;
	two_tenants();
	order()->spared = 6;
	assert_int_equal(victim(), BLOCK);
	two_tenants();
	order()->spared = 7;
	assert_int_equal(victim(), 0);
	assert_int_equal(order()->spared, 8);
}

/* What a tenant lost halves after a turn of memory. */
static void losses_fade(void **state)
{
	(void)state;
	two_tenants();
	order()->tenant[1].evicted = 480 - 32;
	order()->asker = 1;
	assert_int_equal(evict_once(), 0); /* 480 units are left */
	assert_int_equal(order()->tenant[1].evicted, 480);
	two_tenants();
	order()->tenant[1].evicted = 482 - 32;
	order()->asker = 1;
	assert_int_equal(evict_once(), 0);
	assert_int_equal(order()->tenants, 1);
	assert_int_equal(order()->tenant[1].evicted, 241);
	assert_int_equal(order()->tenant[1].returned, 8);
	touch(0, 2); /* they return */
	assert_int_equal(order()->tenant[1].returned, 10);
	assert_int_equal(order()->tenant[1].listed, 2);
	assert_int_equal(order()->tenants, 2);
	assert_int_equal(order()->asker, 1);
	order()->group[0].left = order()->clock - evict.count - 1u; /* too long ago */
	touch(2, 3);
	assert_int_equal(order()->tenant[1].returned, 10);
}

/* Owners of blocks that are resident, not resident and never used. */
static void owners(void **state)
{
	(void)state;
	open_order();
	touch(0, 40);
	own(0, 3);
	assert_int_equal(order()->tenant[0].listed, 8);
	assert_int_equal(order()->tenant[3].listed, 32);
	assert_int_equal(order()->tenants, 2);
	own(1, 19);
	assert_int_equal(order()->tenant[0].listed, 0);
	assert_int_equal(order()->tenant[3].listed, 40);
	assert_int_equal(order()->tenants, 1);
	own(9, 5);
	assert_int_equal(order()->tenants, 1);
	touch(9 * BLOCK, 9 * BLOCK + 1);
	assert_int_equal(order()->tenants, 2);
	assert_int_equal(uvmp_evict_own(&evict, UNITS, 0), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_evict_own(NULL, 0, 0), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_init(&evict, UVMP_EVICT_LRU_4K, 32, memory, sizeof(memory)), UVMP_OK);
	assert_int_equal(uvmp_evict_own(&evict, 0, 1), UVMP_OK); /* no effect */
}

/* Other orders have no groups. */
static void other_orders(void **state)
{
	(void)state;
	assert_int_equal(uvmp_evict_init(&evict, UVMP_EVICT_LRU_4K, 32, memory, sizeof(memory)), UVMP_OK);
	touch(0, 2);
	assert_int_equal(victim(), 0);
	assert_int_equal(together(0), 0);
	assert_int_equal(uvmp_evict_chosen(&evict), UVMP_CHOICE_ORDER);
}

static void damaged(void **state)
{
	struct auto_order good;

	(void)state;
	open_order();
	touch(0, 4);
	good = *order();
#define DAMAGED(field, value)                                                                                \
	{                                                                                                    \
		order()->field = (value);                                                                    \
		assert_false(uvmp_evict_is_valid(&evict));                                                   \
		order()->field = good.field;                                                                 \
		assert_true(uvmp_evict_is_valid(&evict));                                                    \
	}
	DAMAGED(list.units, UNITS - 1u);
	DAMAGED(list.link, NULL);
	DAMAGED(fresh, 5);
	DAMAGED(score, 65537);
	DAMAGED(rule, AUTO_RULES);
#undef DAMAGED
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(oldest_fault_first),
		cmocka_unit_test(whole_blocks),
		cmocka_unit_test(whole_moves_once),
		cmocka_unit_test(whole_until_empty),
		cmocka_unit_test(fresh_by_share),
		cmocka_unit_test(none_fresh),
		cmocka_unit_test(arrivals_wrap),
		cmocka_unit_test(keep_begins),
		cmocka_unit_test(no_order_no_keep),
		cmocka_unit_test(keep_and_samples),
		cmocka_unit_test(walk_under_keep),
		cmocka_unit_test(regret_ends_keep),
		cmocka_unit_test(waits),
		cmocka_unit_test(evidence_fades),
		cmocka_unit_test(returns),
		cmocka_unit_test(out_of_order),
		cmocka_unit_test(reports),
		cmocka_unit_test(last_block),
		cmocka_unit_test(little_stays), cmocka_unit_test(not_protected), cmocka_unit_test(used_stays),
		cmocka_unit_test(sample_of_tenant), cmocka_unit_test(losses_fade), cmocka_unit_test(owners),
		cmocka_unit_test(other_orders),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests_name("the order auto", tests, NULL, NULL);
}
