/* remote=auto (uvmp_remote_pays) against tests/model/naive_return.c over random scripts, and the bounds of counter.h against an
 * adversary that knows every answer. For each return of a block, all in bytes across the link, with `note` for one
 * notification:
 *  - accesses and move cost at most 1.5 * move + note;
 *  - that is at most 3 * least + note, where `least` is what is best for one who knows how often the block will be used: leaving
 *    it, or moving it at once.
 * The same for where pages begin (uvmp_remote_begins): if all of them return, few begin on the CPU; if none do, all. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "model/naive_return.h"
#include "support/seeds.h"

static uint64_t random_state;

struct source {
	uint32_t left;
};

static uint32_t below(uint32_t bound)
{
	return (uint32_t)uvmp_random_below(&random_state, bound);
}

static uint32_t draw(void *source, uint32_t bound)
{
	(void)source;
	return below(bound);
}

static bool is_over(void *source)
{
	struct source *steps = source;

	return steps->left-- == 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The block is used until its pages move, or `use` bytes have crossed the link: of one stay on the CPU. */
static void check_return(struct uvmp_remote_use *use, uint32_t bytes, uint32_t accesses, uint64_t used)
{
	uint64_t note = (uint64_t)accesses * 128, move = naive_return_cost(bytes), paid = 0;

	note += 128 * 128; /* units are rounded up */
	while (paid < used && !uvmp_remote_pays(use, bytes)) {
		uvmp_remote_add(use, 1, accesses);
		paid += (uint64_t)accesses * 128;
	}
	if (!uvmp_remote_pays(use, bytes)) {
		assert_true(paid <= 3 * least(used, move) + note);
		return;
	}
	paid += move;
	assert_true(paid <= move + move / 2 + note);
	used = used > paid - move ? used : paid - move;
	assert_true(paid <= 3 * least(used, move) + note);
	uvmp_remote_moved(use);
}

static void check_bound(void)
{
	for (int i = 0; i < 500; i++) {
		struct uvmp_remote_use use = {0};
		uint32_t bytes = (1 + below(512)) * 4096, accesses = 128 * (1 + below(i % 2 == 0 ? 8 : 511));
		uint64_t move = naive_return_cost(bytes);

		for (int returns = 0; returns < 6; returns++) /* the adversary stops right behind the move */
			check_return(&use, bytes, accesses, 4 * move);
		use = (struct uvmp_remote_use){0};
		check_return(&use, bytes, accesses, move / 2 / (1 + below(4))); /* or before it */
	}
}

/* Of `blocks` first faults; what is mapped returns at once, or never. */
static uint32_t count_begun(uint32_t blocks, bool is_returned)
{
	struct uvmp_remote_start start = {0};
	uint32_t begun = 0;

	for (uint32_t i = 0; i < blocks; i++) {
		if (!uvmp_remote_begins(&start, 2u << 20))
			continue;
		begun++;
		if (is_returned)
			uvmp_remote_returned(&start, 2u << 20);
	}
	return begun;
}

static void check_begun(void)
{
	uint32_t blocks = 1 + below(10000);

	assert_int_equal(count_begun(blocks, false), blocks);
	assert_true(count_begun(blocks, true) <= 2 + blocks / 33);
}

static void check_all(uint64_t seed)
{
	random_state = seed;
	for (int i = 0; i < 100; i++) {
		struct source steps = {60};

		assert_true(naive_return_compare(draw, is_over, &steps));
		steps.left = 300;
		assert_true(naive_start_compare(draw, is_over, &steps));
		check_begun();
	}
	check_bound();
}

int main(void)
{
	return seeds_run(check_all);
}
