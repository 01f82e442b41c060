/* fault_buffer.h: which entries of a batch the walk services. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "../../adapters/simulator/host.h"
#include "../../adapters/simulator/timed/fault_buffer.h"

#define ROOM	    64u
#define BLOCK_PAGES 512u

static struct fault_buffer buffer;
static struct sim_block block[3];

static void open_all(void)
{
	memset(block, 0, sizeof(block));
	assert_true(fault_buffer_open(&buffer, ROOM));
}

static void add(struct sim_block *of, uint32_t page, enum uvmp_right right)
{
	fault_buffer_add(&buffer, (struct reported_fault){.block = of, .page = page, .right = right});
}

static void give(struct sim_block *to, uint32_t page, enum uvmp_right right)
{
	uvmp_mask pages;

	uvmp_mask_zero(&pages);
	uvmp_mask_set(&pages, page);
	host_set_planes(&to->given_low, &to->given_high, &pages, right);
}

static void test_duplicates(void **unused)
{
	(void)unused;
	open_all();
	for (unsigned i = 0; i < 5; i++) /* of several uTLBs */
		add(&block[0], 7, UVMP_RIGHT_READ);
	add(&block[0], 8, UVMP_RIGHT_READ);
	add(&block[1], 7, UVMP_RIGHT_READ);
	fault_buffer_take(&buffer, 7);
	assert_int_equal(buffer.count, 0);
	assert_int_equal(fault_buffer_walk(&buffer, &block[0]), 2);
	assert_int_equal(fault_buffer_walk(&buffer, &block[0]), 0); /* once */
	assert_int_equal(fault_buffer_walk(&buffer, &block[1]), 1);
	assert_int_equal(fault_buffer_walk(&buffer, &block[2]), 0);
	fault_buffer_close(&buffer);
}

/* The oldest fault of a batch; faults may be reported in another order than that of their times. */
static void test_oldest(void **unused)
{
	static const uint64_t written_ns[] = {70, 50, 60, 90};

	(void)unused;
	open_all();
	for (unsigned i = 0; i < 4; i++)
		fault_buffer_add(&buffer, (struct reported_fault){.block = &block[0], .page = i, .written_ns = written_ns[i]});
	assert_int_equal(fault_buffer_take(&buffer, 3), 50);
	assert_int_equal(fault_buffer_take(&buffer, 1), 90);
	assert_true(fault_buffer_take(&buffer, 0) == UINT64_MAX);
	fault_buffer_close(&buffer);
}

/* The strongest access decides. What the driver has done until the walk gets to the block counts. */
static void test_stale(void **unused)
{
	static const enum uvmp_right all[] = {UVMP_RIGHT_NONE, UVMP_RIGHT_READ, UVMP_RIGHT_READ_WRITE,
					      UVMP_RIGHT_READ_WRITE_ATOMIC};

	(void)unused;
	open_all();
	for (unsigned given = 0; given < 4; given++) {
		for (unsigned first = 1; first < 4; first++) {
			for (unsigned second = 1; second < 4; second++) {
				unsigned most = first > second ? first : second;

				give(&block[0], 511, all[given]);
				add(&block[0], 511, all[first]);
				add(&block[0], 511, all[second]);
				fault_buffer_take(&buffer, 2);
				assert_int_equal(fault_buffer_walk(&buffer, &block[0]), most > given);
			}
		}
	}
	add(&block[0], 511, UVMP_RIGHT_READ);
	fault_buffer_take(&buffer, 1);
	give(&block[0], 511, UVMP_RIGHT_NONE); /* evicted for a block before it in the batch */
	assert_int_equal(fault_buffer_walk(&buffer, &block[0]), 1);
	fault_buffer_close(&buffer);
}

/* A block that the walk did not get to brings nothing to a later batch. */
static void test_batches(void **unused)
{
	(void)unused;
	open_all();
	assert_int_equal(fault_buffer_walk(&buffer, &block[0]), 0);
	add(&block[0], 1, UVMP_RIGHT_READ_WRITE);
	add(&block[0], 2, UVMP_RIGHT_READ);
	add(NULL, 0, UVMP_RIGHT_READ);
	fault_buffer_take(&buffer, 3);
	add(&block[1], 3, UVMP_RIGHT_READ);
	fault_buffer_take(&buffer, 1);
	assert_int_equal(fault_buffer_walk(&buffer, &block[0]), 0);
	assert_int_equal(fault_buffer_walk(&buffer, &block[1]), 1);
	add(&block[0], 4, UVMP_RIGHT_READ);
	add(&block[0], 5, UVMP_RIGHT_READ);
	fault_buffer_drop(&buffer, 1); /* a flush */
	fault_buffer_take(&buffer, 1);
	assert_int_equal(fault_buffer_walk(&buffer, &block[0]), 1);
	fault_buffer_close(&buffer);
}

/* Random streams, against a list that is searched for each page. */
struct naive {
	struct reported_fault entry[ROOM];
	uint32_t count, given[3][BLOCK_PAGES];
};

static uint32_t naive_serviced(const struct naive *naive, uint32_t of, uint32_t taken)
{
	uint32_t serviced = 0;

	for (uint32_t page = 0; page < BLOCK_PAGES; page++) {
		uint32_t most = 0;

		for (uint32_t i = 0; i < taken; i++) {
			const struct reported_fault *fault = &naive->entry[i];

			if (fault->block == &block[of] && fault->page == page && fault->right > most)
				most = fault->right;
		}
		serviced += most > naive->given[of][page];
	}
	return serviced;
}

static void leave(struct naive *naive, uint32_t count)
{
	naive->count -= count;
	memmove(naive->entry, naive->entry + count, naive->count * sizeof(*naive->entry));
}

static void take_random(struct naive *naive, uint64_t *seed)
{
	uint32_t count = (uint32_t)uvmp_random_below(seed, naive->count + 1u);

	fault_buffer_take(&buffer, count);
	for (uint32_t of = 0; of < 3; of++)
		assert_int_equal(fault_buffer_walk(&buffer, &block[of]), naive_serviced(naive, of, count));
	leave(naive, count);
}

static void test_random(void **unused)
{
	static struct naive naive;
	uint64_t seed = 18;

	(void)unused;
	open_all();
	for (unsigned step = 0; step < 20000; step++) {
		uint32_t of = (uint32_t)uvmp_random_below(&seed, 3),
			 page = (uint32_t)uvmp_random_below(&seed, 12) * 46u;
		uint32_t right = 1u + (uint32_t)uvmp_random_below(&seed, 3), dropped;

		if (naive.count < ROOM) {
			add(&block[of], page, (enum uvmp_right)right);
			naive.entry[naive.count++] = (struct reported_fault){.block = &block[of], .page = page, .right = right};
		}
		if (uvmp_random_below(&seed, 4) == 0) {
			naive.given[of][page] = right - 1u;
			give(&block[of], page, (enum uvmp_right)(right - 1u));
		}
		if (uvmp_random_below(&seed, 16) == 0)
			take_random(&naive, &seed);
		if (uvmp_random_below(&seed, 64) == 0) {
			dropped = (uint32_t)uvmp_random_below(&seed, naive.count + 1u);
			fault_buffer_drop(&buffer, dropped);
			leave(&naive, dropped);
		}
		assert_int_equal(buffer.count, naive.count);
	}
	fault_buffer_close(&buffer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_duplicates), cmocka_unit_test(test_oldest),
		cmocka_unit_test(test_stale),
		cmocka_unit_test(test_batches),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
