/* mask.h against the naive model (one bool a page), on random sets and regions. Each property runs from a
 * fixed seed and from one that changes and is printed; UVMP_TEST_SEED repeats a run. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "support/seed.h"
#include "model/naive_mask.h"
#include "base/mask_internal.h"

#define FIXED_SEED 20240601u
#define ROUNDS     1500

static uint64_t printed_seed;

static void for_both_seeds(void (*property)(uint64_t *random))
{
	uint64_t seeds[2] = {FIXED_SEED, printed_seed};

	for (int s = 0; s < 2; s++)
		for (int i = 0; i < ROUNDS; i++)
			property(&seeds[s]);
}

/* Empty, full, sparse, even, dense sets, and unions of a few runs: all should occur often. */
static void random_mask(uint64_t *random, uvmp_mask *mask, struct naive_mask *naive)
{
	uint64_t kind = uvmp_random_below(random, 8);

	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++) {
		uint64_t x = uvmp_random_next(random), y = uvmp_random_next(random),
		         z = uvmp_random_next(random);

		mask->word[i] = kind == 0   ? 0
		                : kind == 1 ? ~(uint64_t)0
		                : kind == 2 ? x & y & z
		                : kind == 3 ? x | y | z
		                : kind == 4 ? x
		                            : 0;
	}
	naive_mask_from(naive, mask);
	for (uint64_t runs = kind >= 5 ? 1 + uvmp_random_below(random, 4) : 0; runs > 0; runs--) {
		uint32_t first = (uint32_t)uvmp_random_below(random, 512);
		struct uvmp_region run = {first,
		                          first + 1 + (uint32_t)uvmp_random_below(random, 512 - first)};

		naive_mask_region_set(naive, run);
	}
	naive_mask_to(mask, naive);
}

/* Ends anywhere from 0 to 599, one time in ten near 2^32; in any order. */
static uint32_t random_end(uint64_t *random)
{
	if (uvmp_random_below(random, 10) == 0)
		return UINT32_MAX - (uint32_t)uvmp_random_below(random, 70);
	return (uint32_t)uvmp_random_below(random, 600);
}

static struct uvmp_region random_region(uint64_t *random)
{
	uint32_t first = random_end(random);

	return (struct uvmp_region){first, random_end(random)};
}

static void assert_same_region(struct uvmp_region a, struct uvmp_region b)
{
	assert_int_equal(a.first, b.first);
	assert_int_equal(a.end, b.end);
}

static void algebra(uint64_t *random)
{
	uvmp_mask a, b, m;
	struct naive_mask na, nb, nm;

	random_mask(random, &a, &na);
	random_mask(random, &b, &nb);
	uvmp_mask_or(&m, &a, &b);
	naive_mask_or(&nm, &na, &nb);
	assert_true(naive_mask_same(&nm, &m));
	uvmp_mask_and(&m, &a, &b);
	naive_mask_and(&nm, &na, &nb);
	assert_true(naive_mask_same(&nm, &m));
	uvmp_mask_zero(&m);
	assert_int_equal(uvmpi_mask_and_any(&m, &a, &b), !naive_mask_is_empty(&nm));
	assert_true(naive_mask_same(&nm, &m));
	assert_int_equal(uvmp_mask_intersects(&a, &b), naive_mask_intersects(&na, &nb));
	assert_int_equal(uvmp_mask_is_subset(&m, &a), true);
	uvmp_mask_andnot(&m, &a, &b);
	naive_mask_andnot(&nm, &na, &nb);
	assert_true(naive_mask_same(&nm, &m));
	assert_int_equal(uvmp_mask_is_subset(&a, &b), naive_mask_is_subset(&na, &nb));
	assert_int_equal(uvmp_mask_is_empty(&m), naive_mask_is_empty(&nm));
	uvmp_mask_zero(&m);
	assert_int_equal(uvmpi_mask_andnot_any(&m, &a, &b), !naive_mask_is_empty(&nm));
	assert_true(naive_mask_same(&nm, &m));
	assert_int_equal(uvmp_mask_weight(&a), naive_mask_weight(&na));
	assert_int_equal(uvmp_mask_equal(&a, &b), naive_mask_same(&na, &b));
	uvmp_mask_copy(&m, &b);
	assert_true(uvmp_mask_equal(&m, &b));
}

static void single_pages(uint64_t *random)
{
	uvmp_mask m;
	struct naive_mask n;
	uint32_t page = random_end(random);

	random_mask(random, &m, &n);
	assert_int_equal(uvmp_mask_test(&m, page), page < 512 && n.page[page]);
	uvmp_mask_set(&m, page);
	if (page < 512)
		n.page[page] = true;
	assert_true(naive_mask_same(&n, &m));
	uvmp_mask_clear(&m, page);
	if (page < 512)
		n.page[page] = false;
	assert_true(naive_mask_same(&n, &m));
}

static void shifts(uint64_t *random)
{
	uvmp_mask a, m;
	struct naive_mask na, nm;
	uint32_t pages = random_end(random);

	random_mask(random, &a, &na);
	uvmp_mask_shift_up(&m, &a, pages);
	naive_mask_shift_up(&nm, &na, pages);
	assert_true(naive_mask_same(&nm, &m));
	uvmp_mask_shift_down(&m, &a, pages);
	naive_mask_shift_down(&nm, &na, pages);
	assert_true(naive_mask_same(&nm, &m));
	/* in place */
	m = a;
	uvmp_mask_shift_down(&m, &m, pages);
	assert_true(naive_mask_same(&nm, &m));
	m = a;
	uvmp_mask_shift_up(&m, &m, pages);
	naive_mask_shift_up(&nm, &na, pages);
	assert_true(naive_mask_same(&nm, &m));
}

static void regions(uint64_t *random)
{
	struct uvmp_region r = random_region(random);
	uvmp_mask a, m;
	struct naive_mask na, nm;

	random_mask(random, &a, &na);
	assert_int_equal(uvmp_mask_region_weight(&a, r), naive_mask_region_weight(&na, r));
	assert_int_equal(uvmp_mask_region_any(&a, r), naive_mask_region_any(&na, r));
	assert_int_equal(uvmp_mask_region_all(&a, r), naive_mask_region_all(&na, r));
	uvmp_mask_region_and(&m, &a, r);
	naive_mask_region_and(&nm, &na, r);
	assert_true(naive_mask_same(&nm, &m));
	m = a;
	nm = na;
	uvmp_mask_region_set(&m, r);
	naive_mask_region_set(&nm, r);
	assert_true(naive_mask_same(&nm, &m));
	m = a;
	nm = na;
	uvmp_mask_region_clear(&m, r);
	naive_mask_region_clear(&nm, r);
	assert_true(naive_mask_same(&nm, &m));
}

static void region_arithmetic(uint64_t *random)
{
	struct uvmp_region a = {(uint32_t)uvmp_random_below(random, 513),
	                        (uint32_t)uvmp_random_below(random, 513)};
	struct uvmp_region b = {(uint32_t)uvmp_random_below(random, 513),
	                        (uint32_t)uvmp_random_below(random, 513)};

	assert_int_equal(uvmp_region_pages(a), naive_region_pages(a));
	assert_int_equal(uvmp_region_is_empty(a), naive_region_pages(a) == 0);
	assert_same_region(uvmp_region_intersect(a, b), naive_region_intersect(a, b));
	assert_same_region(uvmp_region_intersect(b, a), naive_region_intersect(a, b));
}

static void walking(uint64_t *random)
{
	uint32_t from = random_end(random), pages = 0, last = 0;
	struct uvmp_region r;
	uvmp_mask m;
	struct naive_mask n;

	random_mask(random, &m, &n);
	assert_int_equal(uvmp_mask_next_set(&m, from), naive_mask_next(&n, from, true));
	assert_int_equal(uvmp_mask_next_clear(&m, from), naive_mask_next(&n, from, false));
	assert_same_region(uvmp_mask_bounds(&m), naive_mask_hull(&n));
	assert_same_region(uvmp_mask_next_run(&m, from), naive_mask_next_run(&n, from));
	/* The runs ascend, do not touch, are full, and hold the set between them. */
	for (r = uvmp_mask_next_run(&m, 0); r.end != 0; r = uvmp_mask_next_run(&m, r.end)) {
		assert_true(last == 0 || r.first > last);
		assert_true(naive_mask_region_all(&n, r));
		pages += r.end - r.first;
		last = r.end;
	}
	assert_int_equal(pages, naive_mask_weight(&n));
}

#define PROPERTY(name)                                                                                       \
	static void test_##name(void **state)                                                                \
	{                                                                                                    \
		(void)state;                                                                                 \
		for_both_seeds(name);                                                                        \
	}

PROPERTY(algebra)
PROPERTY(single_pages)
PROPERTY(shifts)
PROPERTY(regions)
PROPERTY(region_arithmetic)
PROPERTY(walking)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_algebra),
	        cmocka_unit_test(test_single_pages),
	        cmocka_unit_test(test_shifts),
	        cmocka_unit_test(test_regions),
	        cmocka_unit_test(test_region_arithmetic),
	        cmocka_unit_test(test_walking),
	};

	printed_seed = test_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
