/* mask.h: edges of words and of the set, empty and reversed regions, ends beyond 512, source and destination
 * the same. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "uvmpolicy/mask.h"

#define REGION(a, b) ((struct uvmp_region){(a), (b)})

static const uint32_t edges[] = {0, 1, 62, 63, 64, 65, 127, 128, 255, 256, 447, 448, 510, 511};
#define EDGES (sizeof(edges) / sizeof(edges[0]))

static void assert_region(struct uvmp_region r, uint32_t first, uint32_t end)
{
	assert_int_equal(r.first, first);
	assert_int_equal(r.end, end);
}

static uvmp_mask of_region(uint32_t first, uint32_t end)
{
	uvmp_mask m;

	uvmp_mask_zero(&m);
	uvmp_mask_region_set(&m, REGION(first, end));
	return m;
}

static void test_single_pages(void **state)
{
	uvmp_mask m;

	(void)state;
	uvmp_mask_zero(&m);
	for (size_t i = 0; i < EDGES; i++) {
		assert_false(uvmp_mask_test(&m, edges[i]));
		uvmp_mask_set(&m, edges[i]);
		assert_true(uvmp_mask_test(&m, edges[i]));
		assert_int_equal(uvmp_mask_weight(&m), i + 1);
	}
	for (size_t i = 0; i < EDGES; i++) {
		uvmp_mask_clear(&m, edges[i]);
		assert_false(uvmp_mask_test(&m, edges[i]));
	}
	assert_true(uvmp_mask_is_empty(&m));
}

static void test_pages_beyond_the_set_do_not_exist(void **state)
{
	uvmp_mask m = of_region(0, 512), full = m;

	(void)state;
	assert_false(uvmp_mask_test(&m, 512));
	assert_false(uvmp_mask_test(&m, UINT32_MAX));
	uvmp_mask_clear(&m, 512);
	uvmp_mask_clear(&m, UINT32_MAX);
	assert_true(uvmp_mask_equal(&m, &full));
	uvmp_mask_zero(&m);
	uvmp_mask_set(&m, 512);
	uvmp_mask_set(&m, UINT32_MAX);
	assert_true(uvmp_mask_is_empty(&m));
}

static void test_weight_and_emptiness(void **state)
{
	uvmp_mask m = of_region(0, 512);

	(void)state;
	assert_int_equal(uvmp_mask_weight(&m), 512);
	assert_false(uvmp_mask_is_empty(&m));
	uvmp_mask_zero(&m);
	assert_int_equal(uvmp_mask_weight(&m), 0);
	assert_true(uvmp_mask_is_empty(&m));
	uvmp_mask_set(&m, 511);
	assert_false(uvmp_mask_is_empty(&m));
}

static void test_copy_and_equal(void **state)
{
	uvmp_mask a = of_region(3, 300), b;

	(void)state;
	uvmp_mask_copy(&b, &a);
	assert_true(uvmp_mask_equal(&a, &b));
	uvmp_mask_set(&b, 511);
	assert_false(uvmp_mask_equal(&a, &b));
}

static void test_set_algebra(void **state)
{
	uvmp_mask a = of_region(10, 200), b = of_region(100, 400), m;

	(void)state;
	uvmp_mask_or(&m, &a, &b);
	assert_int_equal(uvmp_mask_weight(&m), 390);
	assert_true(uvmp_mask_is_subset(&a, &m));
	assert_false(uvmp_mask_is_subset(&m, &a));
	uvmp_mask_and(&m, &a, &b);
	assert_region(uvmp_mask_bounds(&m), 100, 200);
	uvmp_mask_andnot(&m, &a, &b);
	assert_region(uvmp_mask_bounds(&m), 10, 100);
	assert_true(uvmp_mask_intersects(&a, &b));
	assert_false(uvmp_mask_intersects(&m, &b));
	/* in place */
	uvmp_mask_andnot(&a, &a, &a);
	assert_true(uvmp_mask_is_empty(&a));
	assert_true(uvmp_mask_is_subset(&a, &b));
	uvmp_mask_or(&a, &a, &b);
	uvmp_mask_and(&b, &a, &b);
	assert_true(uvmp_mask_equal(&a, &b));
}

static void test_shifts(void **state)
{
	static const uint32_t distance[] = {0,   1,   63,  64,  65,  128, 200,
	                                    447, 448, 511, 512, 513, 576, UINT32_MAX};
	const uvmp_mask source = of_region(5, 300);

	(void)state;
	for (size_t i = 0; i < sizeof(distance) / sizeof(distance[0]); i++) {
		uint64_t d = distance[i];
		uvmp_mask up, down;

		uvmp_mask_shift_up(&up, &source, distance[i]);
		uvmp_mask_shift_down(&down, &source, distance[i]);
		for (uint32_t p = 0; p < UVMP_MASK_BITS; p++) {
			assert_int_equal(uvmp_mask_test(&up, p), p >= d + 5 && p < d + 300);
			assert_int_equal(uvmp_mask_test(&down, p), p + d >= 5 && p + d < 300);
		}
	}
}

static void test_shifts_in_place(void **state)
{
	uvmp_mask m = of_region(0, 100), expected = of_region(77, 177);

	(void)state;
	uvmp_mask_shift_up(&m, &m, 77);
	assert_true(uvmp_mask_equal(&m, &expected));
	uvmp_mask_shift_down(&m, &m, 77);
	expected = of_region(0, 100);
	assert_true(uvmp_mask_equal(&m, &expected));
}

static void test_empty_regions(void **state)
{
	uvmp_mask full = of_region(0, 512), m;
	const struct uvmp_region empty[] = {{0, 0},  {64, 64},   {70, 60},   {74, 74},
	                                    {63, 2}, {512, 512}, {512, 600}, {UINT32_MAX, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
		uvmp_mask_zero(&m);
		uvmp_mask_region_set(&m, empty[i]);
		assert_true(uvmp_mask_is_empty(&m));
		assert_int_equal(uvmp_mask_region_weight(&full, empty[i]), 0);
		assert_false(uvmp_mask_region_any(&full, empty[i]));
		assert_true(uvmp_mask_region_all(&m, empty[i]));
		uvmp_mask_copy(&m, &full);
		uvmp_mask_region_clear(&m, empty[i]);
		assert_true(uvmp_mask_equal(&m, &full));
		uvmp_mask_region_and(&m, &full, empty[i]);
		assert_true(uvmp_mask_is_empty(&m));
	}
}

static void test_region_properties(void **state)
{
	(void)state;
	assert_true(uvmp_region_is_empty(REGION(0, 0)));
	assert_true(uvmp_region_is_empty(REGION(5, 5)));
	assert_true(uvmp_region_is_empty(REGION(6, 5)));
	assert_false(uvmp_region_is_empty(REGION(5, 6)));
	assert_int_equal(uvmp_region_pages(REGION(5, 16)), 11);
	assert_int_equal(uvmp_region_pages(REGION(16, 5)), 0);
	assert_int_equal(uvmp_region_pages(REGION(7, 7)), 0);
	assert_region(uvmp_region_intersect(REGION(2, 9), REGION(5, 20)), 5, 9);
	assert_region(uvmp_region_intersect(REGION(5, 20), REGION(2, 9)), 5, 9);
	assert_region(uvmp_region_intersect(REGION(2, 5), REGION(5, 9)), 0, 0);
	assert_region(uvmp_region_intersect(REGION(9, 2), REGION(0, 512)), 0, 0);
}

static void test_regions_at_every_edge(void **state)
{
	(void)state;
	for (size_t i = 0; i < EDGES; i++)
		for (size_t j = i; j < EDGES; j++) {
			struct uvmp_region r = {edges[i], edges[j] + 1};
			uvmp_mask m = of_region(r.first, r.end), rest = of_region(0, 512);

			assert_int_equal(uvmp_mask_weight(&m), uvmp_region_pages(r));
			assert_region(uvmp_mask_bounds(&m), r.first, r.end);
			assert_true(uvmp_mask_region_all(&m, r));
			uvmp_mask_region_clear(&rest, r);
			assert_false(uvmp_mask_intersects(&m, &rest));
			assert_false(uvmp_mask_region_any(&rest, r));
			assert_int_equal(uvmp_mask_weight(&rest), 512 - uvmp_region_pages(r));
			uvmp_mask_clear(&m, edges[j]);
			assert_false(uvmp_mask_region_all(&m, r));
			assert_int_equal(uvmp_mask_region_weight(&m, r), uvmp_region_pages(r) - 1);
		}
}

static void test_regions_beyond_the_set_are_cut(void **state)
{
	uvmp_mask m = of_region(500, 10000), n = of_region(0, UINT32_MAX);

	(void)state;
	assert_region(uvmp_mask_bounds(&m), 500, 512);
	assert_int_equal(uvmp_mask_weight(&n), 512);
	assert_true(uvmp_mask_region_all(&m, REGION(500, UINT32_MAX)));
	assert_int_equal(uvmp_mask_region_weight(&n, REGION(510, 600)), 2);
	uvmp_mask_region_and(&n, &n, REGION(64, 1000));
	assert_region(uvmp_mask_bounds(&n), 64, 512);
}

static void test_next_page(void **state)
{
	uvmp_mask m = of_region(70, 200);

	(void)state;
	assert_int_equal(uvmp_mask_next_set(&m, 0), 70);
	assert_int_equal(uvmp_mask_next_set(&m, 70), 70);
	assert_int_equal(uvmp_mask_next_set(&m, 199), 199);
	assert_int_equal(uvmp_mask_next_set(&m, 200), 512);
	assert_int_equal(uvmp_mask_next_set(&m, 512), 512);
	assert_int_equal(uvmp_mask_next_set(&m, UINT32_MAX), 512);
	assert_int_equal(uvmp_mask_next_clear(&m, 0), 0);
	assert_int_equal(uvmp_mask_next_clear(&m, 70), 200);
	m = of_region(0, 512);
	assert_int_equal(uvmp_mask_next_clear(&m, 0), 512);
	assert_int_equal(uvmp_mask_next_clear(&m, 512), 512);
}

static void test_hull(void **state)
{
	uvmp_mask m;

	(void)state;
	uvmp_mask_zero(&m);
	assert_region(uvmp_mask_bounds(&m), 0, 0);
	uvmp_mask_set(&m, 130);
	assert_region(uvmp_mask_bounds(&m), 130, 131);
	uvmp_mask_set(&m, 63);
	uvmp_mask_set(&m, 511);
	assert_region(uvmp_mask_bounds(&m), 63, 512);
	uvmp_mask_clear(&m, 511);
	uvmp_mask_set(&m, 0);
	assert_region(uvmp_mask_bounds(&m), 0, 131);
}

static void test_walk_over_runs(void **state)
{
	static const struct uvmp_region expected[] = {{0, 1}, {60, 70}, {128, 192}, {510, 512}};
	struct uvmp_region r;
	uvmp_mask m;
	size_t n = 0;

	(void)state;
	uvmp_mask_zero(&m);
	assert_region(uvmp_mask_next_run(&m, 0), 0, 0);
	for (size_t i = 0; i < 4; i++)
		uvmp_mask_region_set(&m, expected[i]);
	for (r = uvmp_mask_next_run(&m, 0); r.end; r = uvmp_mask_next_run(&m, r.end)) {
		assert_region(r, expected[n].first, expected[n].end);
		n++;
	}
	assert_int_equal(n, 4);
	assert_region(uvmp_mask_next_run(&m, 65), 65, 70); /* cut at `from` */
	assert_region(uvmp_mask_next_run(&m, 512), 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_single_pages),
	        cmocka_unit_test(test_pages_beyond_the_set_do_not_exist),
	        cmocka_unit_test(test_weight_and_emptiness),
	        cmocka_unit_test(test_copy_and_equal),
	        cmocka_unit_test(test_set_algebra),
	        cmocka_unit_test(test_shifts),
	        cmocka_unit_test(test_shifts_in_place),
	        cmocka_unit_test(test_empty_regions),
	        cmocka_unit_test(test_region_properties),
	        cmocka_unit_test(test_regions_at_every_edge),
	        cmocka_unit_test(test_regions_beyond_the_set_are_cut),
	        cmocka_unit_test(test_next_page),
	        cmocka_unit_test(test_hull),
	        cmocka_unit_test(test_walk_over_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
