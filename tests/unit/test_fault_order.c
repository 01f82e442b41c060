/* fault.h, order and bins: the worked examples of [driver: batch-order], each sort key, ties, bad
 * input. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "uvmpolicy/fault.h"

#define BLOCK 0x200000u

static uint64_t scratch[UVMP_FAULT_ORDER_WORDS(70000)];

static struct uvmp_fault fault(uint64_t va_space, uint32_t gpu, uint64_t page, enum uvmp_access access,
                               uint32_t instances)
{
	struct uvmp_fault f = {.va_space = va_space,
	                       .gpu = gpu,
	                       .address = page * 4096u,
	                       .access = (uint8_t)access,
	                       .num_instances = instances};

	return f;
}

static void assert_order(const uint32_t *order, const uint32_t *expected, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(order[i], expected[i]);
}

/* The bin at `first`, in aligned blocks. */
static struct uvmp_fault_bin bin_at(const struct uvmp_fault *entry, const uint32_t *order, uint32_t count,
                                    uint32_t first)
{
	struct uvmp_fault_bin bin;

	assert_int_equal(uvmp_fault_bin_next(entry, order, count, first,
	                                     entry[order[first]].address | (BLOCK - 1u), &bin),
	                 UVMP_OK);
	assert_int_equal(bin.first, first);
	assert_int_equal(bin.va_space, entry[order[first]].va_space);
	assert_int_equal(bin.gpu, entry[order[first]].gpu);
	return bin;
}

/* 2, worked example 1: what 1.6.1 leaves */
static void test_example_1(void **state)
{
	const struct uvmp_fault e[] = {fault(1, 1, 2, UVMP_ACCESS_WRITE, 1),
	                               fault(1, 1, 1, UVMP_ACCESS_WRITE, 4)};
	uint32_t order[] = {0, 1};
	struct uvmp_fault_bin bin;

	(void)state;
	uvmp_fault_order(e, order, 2, scratch);
	assert_order(order, (const uint32_t[]){1, 0}, 2);
	bin = bin_at(e, order, 2, 0);
	assert_int_equal(bin.count, 2);
	assert_int_equal(bin.duplicates, 3);
}

/* 2, worked example 2: what 1.6.2 leaves */
static void test_example_2(void **state)
{
	const struct uvmp_fault e[] = {fault(1, 1, 1, UVMP_ACCESS_WRITE, 2),
	                               fault(1, 1, 1, UVMP_ACCESS_WRITE, 1)};
	uint32_t order[] = {1, 0};

	(void)state;
	uvmp_fault_order(e, order, 2, scratch);
	assert_order(order, (const uint32_t[]){0, 1}, 2);
	assert_int_equal(bin_at(e, order, 2, 0).duplicates, 2);
}

/* 2, worked example 3 */
static void test_example_3(void **state)
{
	const struct uvmp_fault e[] = {fault(1, 1, 9, UVMP_ACCESS_READ, 1),
	                               fault(1, 1, 9, UVMP_ACCESS_ATOMIC_STRONG, 1),
	                               fault(1, 1, 3, UVMP_ACCESS_PREFETCH, 1)};
	uint32_t order[] = {0, 1, 2};

	(void)state;
	uvmp_fault_order(e, order, 3, scratch);
	assert_order(order, (const uint32_t[]){2, 1, 0}, 3);
	assert_false(uvmp_fault_is_same_page(&e[2], &e[1]));
	assert_true(uvmp_fault_is_same_page(&e[1], &e[0]));
	assert_int_equal(bin_at(e, order, 3, 0).duplicates, 1);
}

/* VA space before GPU before page before access; all ascending but the access */
static void test_key_order(void **state)
{
	const struct uvmp_fault e[] = {
	        fault(UINT64_MAX, 0, 0, UVMP_ACCESS_READ, 1), fault(1, 2, 0, UVMP_ACCESS_READ, 1),
	        fault(1, 1, 7, UVMP_ACCESS_READ, 1),          fault(1, 1, 6, UVMP_ACCESS_PREFETCH, 1),
	        fault(1, 1, 6, UVMP_ACCESS_READ, 1),          fault(1, 1, 6, UVMP_ACCESS_WRITE, 1),
	        fault(1, 1, 6, UVMP_ACCESS_ATOMIC_WEAK, 1),   fault(1, 1, 6, UVMP_ACCESS_ATOMIC_STRONG, 1),
	        fault(1, 0, 9, UVMP_ACCESS_READ, 1),
	};
	uint32_t order[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};

	(void)state;
	uvmp_fault_order(e, order, 9, scratch);
	assert_order(order, (const uint32_t[]){8, 7, 6, 5, 4, 3, 2, 1, 0}, 9);
}

/* 2, step 2 */
static void test_order_by_instance(void **state)
{
	struct uvmp_fault e[6];
	uint32_t order[] = {0, 1, 2, 3, 4, 5};

	(void)state;
	memset(e, 0, sizeof(e));
	e[0].aperture = UVMP_APERTURE_VID;
	e[1].aperture = UVMP_APERTURE_SYS_NON_COHERENT;
	e[2].aperture = UVMP_APERTURE_SYS;
	e[2].instance = UINT64_MAX;
	e[3].aperture = UVMP_APERTURE_SYS;
	e[3].instance = 3;
	e[3].subcontext = 2;
	e[4].aperture = UVMP_APERTURE_SYS;
	e[4].instance = 3;
	e[4].subcontext = 1;
	e[5] = e[4];
	uvmp_fault_order_by_instance(e, order, 6, scratch);
	assert_order(order, (const uint32_t[]){4, 5, 3, 2, 1, 0}, 6);
}

/* every size around the shapes of a heap, every start of a rotation, both directions; equal keys keep arrival
 * order */
static void test_sizes_and_ties(void **state)
{
	struct uvmp_fault e[40];
	uint32_t order[40];

	(void)state;
	for (uint32_t n = 0; n <= 40; n++)
		for (uint32_t turn = 0; turn < 2u * n; turn++) {
			for (uint32_t i = 0; i < n; i++) {
				e[i] = fault(1, 1, i / 3u, UVMP_ACCESS_READ, 1);
				order[i] = turn < n ? (i + turn) % n : (2u * n - 1u - i + turn) % n;
			}
			uvmp_fault_order(e, order, n, scratch);
			for (uint32_t i = 0; i < n; i++)
				assert_int_equal(order[i], i);
		}
}

/* -- packed keys against the definition -- */

#define MANY 70000u

/* Does x precede y by the rules? The definition of the order, for entries a and b of the batch. */
static bool precedes(const struct uvmp_fault *e, uint32_t a, uint32_t b)
{
	const struct uvmp_fault *x = &e[a], *y = &e[b];

	if (x->va_space != y->va_space)
		return x->va_space < y->va_space;
	if (x->gpu != y->gpu)
		return x->gpu < y->gpu;
	if (x->address != y->address)
		return x->address < y->address;
	return x->access != y->access ? x->access > y->access : a < b;
}

/* A batch of these entries, none of which is filtered. */
static struct uvmp_fault_batch batch_of(const struct uvmp_fault *e, uint32_t n)
{
	static struct uvmp_utlb utlb;

	return (struct uvmp_fault_batch){.entry = (struct uvmp_fault *)e,
	                                 .capacity = n + 1u,
	                                 .utlb = &utlb,
	                                 .utlbs = 1,
	                                 .cached = n,
	                                 .coalesced = n};
}

/* Orders entries 0..n-1, from arrival order and, if `is_turned`, from the reverse order. */
static void assert_ordered(const struct uvmp_fault *e, uint32_t n, bool is_turned)
{
	static uint32_t order[MANY];
	static bool is_seen[MANY];

	for (uint32_t i = 0; i < n; i++)
		order[i] = is_turned ? n - 1u - i : i;
	uvmp_fault_order(e, order, n, scratch);
	memset(is_seen, 0, sizeof(is_seen));
	for (uint32_t i = 0; i < n; i++) {
		assert_true(order[i] < n && !is_seen[order[i]]);
		is_seen[order[i]] = true;
		if (i > 0)
			assert_true(precedes(e, order[i - 1u], order[i]));
	}
	if (!is_turned) {
		static uint32_t again[MANY];
		const struct uvmp_fault_batch batch = batch_of(e, n);

		assert_int_equal(uvmp_fault_order_batch(&batch, again, scratch), n);
		assert_memory_equal(again, order, n * sizeof(order[0]));
	}
}

/* uvmp_fault_order_batch: filtered entries are left out, and each reason to order without packed keys gives the same. */
static void test_order_batch(void **state)
{
	struct uvmp_fault e[] = {fault(1, 1, 9, UVMP_ACCESS_READ, 1), fault(1, 1, 8, UVMP_ACCESS_READ, 1),
	                         fault(1, 1, 7, UVMP_ACCESS_READ, 1), fault(1, 1, 6, UVMP_ACCESS_READ, 1)};
	struct uvmp_fault_batch batch = batch_of(e, 4);
	uint32_t order[] = {9, 9, 9, 9};

	(void)state;
	assert_int_equal(uvmp_fault_order_batch(NULL, order, scratch), 0);
	assert_int_equal(uvmp_fault_order_batch(&batch, NULL, scratch), 0);
	e[0].is_filtered = e[2].is_filtered = true;
	batch.coalesced = 2;
	assert_int_equal(uvmp_fault_order_batch(&batch, order, NULL), 2);
	assert_order(order, (const uint32_t[]){3, 1, 9, 9}, 4);
	order[0] = order[1] = 9;
	assert_int_equal(uvmp_fault_order_batch(&batch, order, scratch), 2);
	assert_order(order, (const uint32_t[]){3, 1, 9, 9}, 4);
	e[3].gpu = 0;
	assert_int_equal(uvmp_fault_order_batch(&batch, order, scratch), 2);
	assert_order(order, (const uint32_t[]){3, 1, 9, 9}, 4);
	e[3].va_space = 2;
	assert_int_equal(uvmp_fault_order_batch(&batch, order, scratch), 2);
	assert_order(order, (const uint32_t[]){1, 3, 9, 9}, 4);
	/* flags that do not fit the count cannot write behind the array */
	batch.coalesced = 1;
	assert_int_equal(uvmp_fault_order_batch(&batch, order, scratch), 1);
	assert_order(order, (const uint32_t[]){1, 3, 9, 9}, 4);
	batch.coalesced = 0;
	assert_int_equal(uvmp_fault_order_batch(&batch, order, scratch), 0);
	e[1].is_filtered = e[3].is_filtered = true;
	batch.coalesced = 1;
	assert_int_equal(uvmp_fault_order_batch(&batch, order, scratch), 0);
}

enum pattern { CONTIGUOUS, REVERSE, ONE_BLOCK, ONE_PAGE, SCATTERED, THREE_ARRAYS, WHOLE_SPACE, PATTERNS };

static uint64_t page_of(enum pattern pattern, uint32_t i, uint32_t n, uint64_t *random)
{
	switch (pattern) {
	case CONTIGUOUS:
		return i;
	case REVERSE:
		return n - i;
	case ONE_BLOCK:
		return uvmp_random_below(random, 512);
	case ONE_PAGE:
		return 77;
	case SCATTERED:
		return uvmp_random_below(random, 64) * 512u + uvmp_random_below(random, 64);
	case THREE_ARRAYS: /* too close together for buckets: the lower bits are sorted */
		return uvmp_random_below(random, 3) * 1000003u + uvmp_random_below(random, 300);
	default:
		return uvmp_random_below(random, (uint64_t)1 << 45);
	}
}

/* every pattern of pages, in batches of any size */
static void test_patterns(void **state)
{
	static struct uvmp_fault e[MANY];
	static const uint32_t sizes[] = {1, 2, 3, 64, 256, 1000, 65535};
	uint64_t random = 17;

	(void)state;
	for (uint32_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (enum pattern p = CONTIGUOUS; p < PATTERNS; p++) {
			for (uint32_t i = 0; i < sizes[s]; i++)
				e[i] = fault(5, 1, page_of(p, i, sizes[s], &random),
				             (enum uvmp_access)uvmp_random_below(&random, 5), 1);
			assert_ordered(e, sizes[s], false);
			if (sizes[s] < 65535u)
				assert_ordered(e, sizes[s], true);
		}
}

/* one field of one entry does not fit in a key: the entries are compared */
static void test_large_fields(void **state)
{
	static struct uvmp_fault e[MANY];
	uint64_t random = 23;

	(void)state;
	for (uint32_t turn = 0; turn < 6; turn++) {
		uint32_t n = turn == 5u ? 65537u : 100u;

		for (uint32_t i = 0; i < n; i++)
			e[i] = fault(5, 1, turn == 5u ? i : uvmp_random_below(&random, 64), UVMP_ACCESS_WRITE, 1);
		if (turn == 0)
			e[50].va_space = 4;
		else if (turn == 1)
			e[50].gpu = 2;
		else if (turn == 2)
			e[50].address++;
		else if (turn == 3)
			e[50].address += (uint64_t)1 << 57;
		else if (turn == 4)
			e[50].access = 8;
		assert_ordered(e, n, false);
	}
}

/* 1 to 40 pairs of address space and GPU: up to 16 are kept apart as classes */
static void test_classes_of_spaces(void **state)
{
	static struct uvmp_fault e[300];
	uint64_t random = 29;

	(void)state;
	for (uint32_t classes = 1; classes <= 40; classes++) {
		for (uint32_t i = 0; i < 300; i++) {
			uint64_t class = i < classes ? classes - 1u - i : uvmp_random_below(&random, classes);

			e[i] = fault(UINT64_MAX - class / 3u, (uint32_t)(class % 3u), uvmp_random_below(&random, 40),
			             (enum uvmp_access)uvmp_random_below(&random, 5), 1);
		}
		assert_ordered(e, 300, false);
		assert_ordered(e, 300, true);
		for (uint32_t i = 0; i < 300; i++)
			e[i].address = i * 4096u; /* the pages alone are in order */
		assert_ordered(e, 300, false);
	}
}

/* The definition of the order by instance. */
static bool precedes_by_instance(const struct uvmp_fault *e, uint32_t a, uint32_t b)
{
	const struct uvmp_fault *x = &e[a], *y = &e[b];

	if (x->aperture != y->aperture)
		return x->aperture < y->aperture;
	if (x->instance != y->instance)
		return x->instance < y->instance;
	return x->subcontext != y->subcontext ? x->subcontext < y->subcontext : a < b;
}

/* 1 to 40 instances, in order of arrival and in reverse order, with scratch memory and without */
static void test_classes_of_instances(void **state)
{
	static struct uvmp_fault e[300];
	uint64_t random = 31;
	uint32_t order[300];

	(void)state;
	for (uint32_t turn = 4; turn < 4u * 41u; turn++) {
		uint32_t classes = turn / 4u;

		for (uint32_t i = 0; i < 300; i++) {
			uint64_t class = i < classes ? classes - 1u - i : uvmp_random_below(&random, classes);

			e[i].aperture = 10u - (uint32_t)(class & 1u);
			e[i].instance = class / 2u % 5u;
			e[i].subcontext = (uint32_t)(class / 10u);
			order[i] = turn % 2u != 0 ? 299u - i : i;
		}
		uvmp_fault_order_by_instance(e, order, 300, turn / 2u % 2u != 0 ? scratch : NULL);
		for (uint32_t i = 1; i < 300; i++)
			assert_true(precedes_by_instance(e, order[i - 1u], order[i]));
	}
}

/* an index above 65535 does not fit either */
static void test_large_index(void **state)
{
	static struct uvmp_fault e[MANY];
	uint32_t order[3] = {65536, 3, 2};

	(void)state;
	e[65536] = e[3] = e[2] = fault(5, 1, 9, UVMP_ACCESS_READ, 1);
	uvmp_fault_order(e, order, 3, scratch);
	assert_order(order, (const uint32_t[]){2, 3, 65536}, 3);
}

static void test_same_page(void **state)
{
	struct uvmp_fault a = fault(1, 1, 5, UVMP_ACCESS_READ, 1), b = fault(1, 2, 5, UVMP_ACCESS_WRITE, 3);

	(void)state;
	assert_true(uvmp_fault_is_same_page(&a, &b)); /* the GPU is not compared */
	b.va_space = 2;
	assert_false(uvmp_fault_is_same_page(&a, &b));
	b = fault(1, 1, 6, UVMP_ACCESS_READ, 1);
	assert_false(uvmp_fault_is_same_page(&a, &b));
	assert_false(uvmp_fault_is_same_page(NULL, &b));
	assert_false(uvmp_fault_is_same_page(&a, NULL));
}

/* [driver: batch-walk]: a bin ends where VA space, GPU or block end; its first entry is never a duplicate */
static void test_bins(void **state)
{
	const struct uvmp_fault e[] = {
	        fault(1, 1, 5, UVMP_ACCESS_READ, 3),    fault(1, 1, 511, UVMP_ACCESS_READ, 1),
	        fault(1, 1, 512, UVMP_ACCESS_WRITE, 2), fault(1, 1, 512, UVMP_ACCESS_READ, 4),
	        fault(1, 2, 512, UVMP_ACCESS_READ, 1),  fault(2, 2, 512, UVMP_ACCESS_READ, 6)};
	const uint32_t order[] = {0, 1, 2, 3, 4, 5};
	static const uint32_t count[] = {2, 2, 1, 1}, duplicates[] = {2, 5, 0, 5};
	uint32_t first = 0;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		struct uvmp_fault_bin bin = bin_at(e, order, 6, first);

		assert_int_equal(bin.count, count[i]);
		assert_int_equal(bin.duplicates, duplicates[i]);
		first += bin.count;
	}
	assert_int_equal(first, 6);
}

/* the block's end is inclusive, and blocks may be shorter than 2 MiB */
static void test_bin_of_short_block(void **state)
{
	const struct uvmp_fault e[] = {fault(1, 1, 5, UVMP_ACCESS_READ, 1),
	                               fault(1, 1, 6, UVMP_ACCESS_READ, 1)};
	const uint32_t order[] = {0, 1};
	struct uvmp_fault_bin bin;

	(void)state;
	assert_int_equal(uvmp_fault_bin_next(e, order, 2, 0, 6u * 4096u - 1u, &bin), UVMP_OK);
	assert_int_equal(bin.count, 1);
	assert_int_equal(uvmp_fault_bin_next(e, order, 2, 0, 6u * 4096u, &bin), UVMP_OK);
	assert_int_equal(bin.count, 2);
	assert_int_equal(uvmp_fault_bin_next(e, order, 2, 0, UINT64_MAX, &bin), UVMP_OK);
	assert_int_equal(bin.count, 2);
}

/* Entries of a host that does not fetch have num_instances 0: each is one fault. */
static void test_bin_of_zeroed_entries(void **state)
{
	const struct uvmp_fault e[] = {fault(1, 1, 5, UVMP_ACCESS_READ, 0),
	                               fault(1, 1, 5, UVMP_ACCESS_READ, 0),
	                               fault(1, 1, 6, UVMP_ACCESS_READ, 0)};
	const uint32_t order[] = {0, 1, 2};

	(void)state;
	assert_int_equal(bin_at(e, order, 3, 0).duplicates, 1);
	assert_int_equal(bin_at(e, order, 3, 2).duplicates, 0);
}

static void test_bad_input(void **state)
{
	const struct uvmp_fault e[] = {fault(1, 1, 5, UVMP_ACCESS_READ, 1)};
	const uint32_t order[] = {0};
	uint32_t untouched[] = {1, 0};
	struct uvmp_fault_bin bin, before;

	(void)state;
	memset(&bin, 0x5a, sizeof(bin));
	before = bin;
	assert_int_equal(uvmp_fault_bin_next(NULL, order, 1, 0, UINT64_MAX, &bin), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_fault_bin_next(e, NULL, 1, 0, UINT64_MAX, &bin), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_fault_bin_next(e, order, 1, 0, UINT64_MAX, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_fault_bin_next(e, order, 1, 1, UINT64_MAX, &bin), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_fault_bin_next(e, order, 0, 0, UINT64_MAX, &bin), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_fault_bin_next(e, order, 1, 0, 5u * 4096u - 1u, &bin), UVMP_ERR_RANGE);
	assert_memory_equal(&bin, &before, sizeof(bin));

	uvmp_fault_order(NULL, untouched, 2, scratch);
	uvmp_fault_order_by_instance(NULL, untouched, 2, scratch);
	assert_order(untouched, (const uint32_t[]){1, 0}, 2);
	uvmp_fault_order(e, untouched, 0, scratch);
	uvmp_fault_order_by_instance(e, untouched, 0, scratch);
	assert_order(untouched, (const uint32_t[]){1, 0}, 2);
	uvmp_fault_order(e, untouched, 0, NULL);
	assert_order(untouched, (const uint32_t[]){1, 0}, 2);
	uvmp_fault_order(e, NULL, 1, scratch);
	uvmp_fault_order_by_instance(e, NULL, 1, scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_example_1),          cmocka_unit_test(test_example_2),
	        cmocka_unit_test(test_example_3),          cmocka_unit_test(test_key_order),
	        cmocka_unit_test(test_order_by_instance),  cmocka_unit_test(test_sizes_and_ties),
	        cmocka_unit_test(test_same_page),          cmocka_unit_test(test_bins),
	        cmocka_unit_test(test_bin_of_short_block), cmocka_unit_test(test_bin_of_zeroed_entries),
	        cmocka_unit_test(test_bad_input),
	        cmocka_unit_test(test_patterns),           cmocka_unit_test(test_large_fields),
	        cmocka_unit_test(test_large_index),        cmocka_unit_test(test_classes_of_spaces),
	        cmocka_unit_test(test_classes_of_instances), cmocka_unit_test(test_order_batch),
	};

	return cmocka_run_group_tests_name("fault_order", tests, NULL, NULL);
}
