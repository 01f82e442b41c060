/* Unit tests of paged attention: the tests follow each block of the cache from its allocation to the last step that
 * reads the block. */
#include "support/workload_rows.h"

#define BLOCKS_MAX 4000u
#define LAYERS	   2u

/* Blocks by what the step's kernels did with their keys and values, in each layer. */
struct step {
	bool is_begun[BLOCKS_MAX];  /* written by prefill */
	bool is_stored[BLOCKS_MAX]; /* written by store */
	bool is_read[BLOCKS_MAX];
	unsigned stores, reads, prefills;
};

/* A page is a block. Keys and values of a block are used alike. */
static void collect(struct rows *rows, unsigned layer, unsigned pool, enum uvmp_access access, bool *used,
		    unsigned *count)
{
	static unsigned times[2 * BLOCKS_MAX];

	memset(times, 0, sizeof(times));
	for (; rows->row.kind == SOURCE_ACCESS; rows_next(rows)) {
		assert_int_equal(rows_range(rows), 1 + layer);
		assert_int_equal(rows->row.access, access);
		times[rows_offset(rows) / ROWS_PAGE]++;
	}
	rows_sync(rows);
	for (unsigned block = 0; block < pool; block++) {
		assert_true(times[block] <= 1); /* of one sequence */
		assert_int_equal(times[block], times[pool + block]);
		used[block] = times[block] == 1;
		*count += times[block];
	}
}

static bool is_kernel(const struct rows *rows, const char *name)
{
	return rows->row.kind == SOURCE_KERNEL && strcmp(rows->row.name, name) == 0;
}

static void read_layer(struct rows *rows, unsigned layer, unsigned pool, unsigned weights, struct step *step)
{
	unsigned pages = 0;

	memset(step, 0, sizeof(*step));
	for (rows_kernel(rows, "gemm"); rows->row.kind == SOURCE_ACCESS; rows_next(rows), pages++) {
		assert_int_equal(rows_range(rows), 0);
		assert_int_equal(rows_offset(rows) / ROWS_PAGE / weights, layer);
	}
	rows_sync(rows);
	assert_int_equal(pages, weights);
	if (is_kernel(rows, "prefill")) {
		rows_next(rows);
		collect(rows, layer, pool, UVMP_ACCESS_WRITE, step->is_begun, &step->prefills);
	}
	if (is_kernel(rows, "store")) {
		rows_next(rows);
		collect(rows, layer, pool, UVMP_ACCESS_WRITE, step->is_stored, &step->stores);
	}
	if (is_kernel(rows, "attention")) {
		rows_next(rows);
		collect(rows, layer, pool, UVMP_ACCESS_READ, step->is_read, &step->reads);
	}
}

/* What must hold from one step to the next; `since`: the step in which a free block was given back. */
static void follow(const struct step *before, const struct step *now, unsigned pool, unsigned number,
		   unsigned *since)
{
	unsigned newest_taken = 0, oldest_left = number + 1;

	for (unsigned block = 0; block < pool; block++) {
		bool is_written = now->is_begun[block] || now->is_stored[block];

		assert_false(now->is_begun[block] && now->is_stored[block]);
		assert_true(now->is_read[block] || !is_written);
		assert_true(!now->is_read[block] || before->is_read[block] || is_written);
		if (before->is_read[block] && (!now->is_read[block] || now->is_begun[block]))
			since[block] = number; /* given back in this step; perhaps taken again */
		if (is_written && (!before->is_read[block] || now->is_begun[block])) {
			if (since[block] > newest_taken)
				newest_taken = since[block];
		} else if (!now->is_read[block] && since[block] < oldest_left) {
			oldest_left = since[block];
		}
	}
	/* first in, first out */
	assert_true(newest_taken <= oldest_left);
}

/* Returns how many blocks changed hands. */
static unsigned run(const char *spec, unsigned pool, unsigned weights, unsigned sequences, unsigned steps)
{
	static struct step before, now, other;
	static unsigned since[BLOCKS_MAX];
	struct rows rows = rows_open(spec, 4);
	unsigned taken = 0;

	assert_int_equal(rows.ranges, 1 + LAYERS);
	assert_int_equal(rows.range[0].bytes, LAYERS * weights * ROWS_PAGE);
	assert_int_equal(rows.range[1].bytes, 2 * pool * ROWS_PAGE);
	memset(&before, 0, sizeof(before));
	memset(since, 0, sizeof(since));
	for (unsigned number = 1; number <= steps; number++) {
		read_layer(&rows, 0, pool, weights, &now);
		read_layer(&rows, 1, pool, weights, &other);
		assert_memory_equal(&now, &other, sizeof(now));
		assert_true(now.stores <= sequences);
		follow(&before, &now, pool, number, since);
		if (number > 1)
			taken += now.prefills;
		before = now;
	}
	assert_int_equal(rows.row.kind, SOURCE_END);
	rows_close(&rows);
	return taken;
}

/* 40 * ceil(101 / 16) blocks; in 60 steps about every sequence ends once. */
static void blocks(void **state)
{
	(void)state;
	assert_in_range(
		run("paged:layers=2,weights=48k,block=4k,sequences=40,prompt=41,output=60,steps=60,pool=150,"
		    "agents=5",
		    420, 12, 40, 60),
		40, 400);
}

/* Most of the time there is no free block. */
static void scarce(void **state)
{
	(void)state;
	assert_in_range(
		run("paged:layers=2,weights=48k,block=4k,sequences=40,prompt=41,output=60,steps=60,pool=40,"
		    "agents=1",
		    112, 12, 40, 60),
		10, 1000);
	run("paged:layers=2,weights=16k,block=4k,sequences=3,prompt=400,output=1,steps=30,pool=1", 1, 4, 3,
	    30);
}

static void skip_kernel(struct rows *rows, const char *name)
{
	for (rows_kernel(rows, name); rows->row.kind == SOURCE_ACCESS;)
		rows_next(rows);
	rows_sync(rows);
}

/* Nothing ends: each step stores a token for each sequence, and reads the blocks that hold its tokens. */
static void growing(void **state)
{
	struct rows rows = rows_open(
		"paged:layers=1,weights=4k,block=4k,sequences=1,prompt=1,output=65536,steps=40,pool=100", 4);
	unsigned first = 0, blocks = 0;

	(void)state;
	for (unsigned step = 0; step < 40; step++) {
		unsigned pages = 0;

		skip_kernel(&rows, "gemm");
		rows_kernel(&rows, step == 0 ? "prefill" : "store");
		for (; rows.row.kind == SOURCE_ACCESS; rows_next(&rows))
			assert_int_equal(rows.row.access, UVMP_ACCESS_WRITE);
		rows_sync(&rows);
		for (rows_kernel(&rows, "attention"); rows.row.kind == SOURCE_ACCESS; rows_next(&rows))
			pages++;
		rows_sync(&rows);
		if (step == 0)
			first = pages;
		assert_int_equal(pages % 2, 0);
		assert_in_range(pages / 2, blocks, blocks + (step == 0 ? 65536 : 1));
		blocks = pages / 2;
	}
	assert_in_range(2 * blocks - first, 4, 6); /* 39 tokens are 2 or 3 blocks */
	rows_close(&rows);
}

/* Blocks of many pages: of the last one only the tokens that it has are read. */
static void large_blocks(void **state)
{
	struct rows rows = rows_open("paged:layers=1,weights=4k,block=1m,sequences=1,prompt=1,output=1000,"
				     "steps=3,pool=400,agents=1",
				     4);
	unsigned stored = 0, reads[3];

	(void)state;
	for (unsigned step = 0; step < 3; step++) {
		skip_kernel(&rows, "gemm");
		for (rows_next(&rows); rows.row.kind == SOURCE_ACCESS; rows_next(&rows))
			stored += step == 1;
		rows_sync(&rows);
		reads[step] = 0;
		for (rows_kernel(&rows, "attention"); rows.row.kind == SOURCE_ACCESS; rows_next(&rows))
			reads[step]++;
		rows_sync(&rows);
	}
	assert_int_equal(stored, 2 * 16); /* a token: 64 KiB of keys, as many of values */
	assert_int_equal(reads[1], reads[0] + 2 * 16);
	assert_int_equal(reads[2], reads[1] + 2 * 16);
	assert_int_equal(reads[0] % 32, 0);
	rows_close(&rows);
}

static void determined(void **state)
{
	(void)state;
	rows_determined("paged:layers=2,weights=10k,block=3k,sequences=10,steps=5", true);
	rows_determined("paged:layers=12,weights=1,block=64,sequences=1,prompt=1,output=1,steps=5,pool=1",
			false);
}

static void refused(void **state)
{
	(void)state;
	rows_refused("paged:sequences=4096,prompt=65536",
		     "workload paged: sequences of such lengths need more than 67108864 block table entries");
	rows_refused("paged:sequences=500,prompt=20000,output=1,block=1m",
		     "workload paged: the pool of a layer is larger than 1 TiB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks),	cmocka_unit_test(scarce),     cmocka_unit_test(growing),
		cmocka_unit_test(large_blocks), cmocka_unit_test(determined), cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests_name("workload paged", tests, NULL, NULL);
}
