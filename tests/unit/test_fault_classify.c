/* fault.h, permissions: worked examples of [driver: batch-walk, block-walk], each row of
 * [driver: permission-check], bad input. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "model/naive_fault.h"
#include "uvmpolicy/fault.h"

/* Sets of accesses. */
enum { P = 1, R = 2, W = 4, A = 8, S = 16 };

static struct uvmp_fault fault(uint64_t page, enum uvmp_access access, uint8_t mask, uint32_t instances)
{
	struct uvmp_fault f = {.va_space = 1,
	                       .gpu = 1,
	                       .address = page * 4096u,
	                       .access = (uint8_t)access,
	                       .access_mask = mask,
	                       .num_instances = instances};

	return f;
}

static struct uvmp_fault_facts facts(enum uvmp_right logical, enum uvmp_right mapped)
{
	struct uvmp_fault_facts f = {.right = logical, .mapped = mapped, .is_retry = false};

	return f;
}

static struct uvmp_fault_verdict judge(struct uvmp_fault f, struct uvmp_fault_facts known)
{
	struct uvmp_fault_verdict v;

	assert_int_equal(uvmp_fault_classify(&f, &known, NULL, NULL, &v), UVMP_OK);
	return v;
}

static struct uvmp_fault_verdict judge_after(struct uvmp_fault f, struct uvmp_fault_facts known,
                                             struct uvmp_fault previous,
                                             struct uvmp_fault_verdict previous_verdict)
{
	struct uvmp_fault_verdict v;

	assert_int_equal(uvmp_fault_classify(&f, &known, &previous, &previous_verdict, &v), UVMP_OK);
	return v;
}

static void assert_serviced(struct uvmp_fault_verdict v, enum uvmp_access access, uint8_t mask)
{
	assert_int_equal(v.service_access, access);
	assert_int_equal(v.service_mask, mask);
}

static void assert_skipped(struct uvmp_fault_verdict v)
{
	assert_serviced(v, UVMP_ACCESS_NONE, 0);
}

/* [driver: access-types] */
static void test_access_prot(void **state)
{
	(void)state;
	assert_int_equal(uvmp_access_right(UVMP_ACCESS_PREFETCH), UVMP_RIGHT_READ);
	assert_int_equal(uvmp_access_right(UVMP_ACCESS_READ), UVMP_RIGHT_READ);
	assert_int_equal(uvmp_access_right(UVMP_ACCESS_WRITE), UVMP_RIGHT_READ_WRITE);
	assert_int_equal(uvmp_access_right(UVMP_ACCESS_ATOMIC_WEAK), UVMP_RIGHT_READ_WRITE);
	assert_int_equal(uvmp_access_right(UVMP_ACCESS_ATOMIC_STRONG), UVMP_RIGHT_READ_WRITE_ATOMIC);
	assert_int_equal(uvmp_access_right(UVMP_ACCESS_NONE), UVMP_RIGHT_NONE);
	assert_int_equal(uvmp_access_right((enum uvmp_access)77), UVMP_RIGHT_NONE);
}

/* 3, worked example 1 */
static void test_example_1(void **state)
{
	struct uvmp_fault_verdict v =
	        judge(fault(5, UVMP_ACCESS_WRITE, R | W, 2), facts(UVMP_RIGHT_READ, UVMP_RIGHT_NONE));

	(void)state;
	assert_serviced(v, UVMP_ACCESS_READ, R);
	assert_true(v.is_fatal);
	assert_int_equal(v.cancel_mode, UVMP_CANCEL_WRITE_AND_ATOMIC);
}

/* 3, worked example 2 */
static void test_example_2(void **state)
{
	struct uvmp_fault write = fault(5, UVMP_ACCESS_WRITE, W, 1), read = fault(5, UVMP_ACCESS_READ, R, 1);
	struct uvmp_fault_facts read_only = facts(UVMP_RIGHT_READ, UVMP_RIGHT_NONE);
	struct uvmp_fault_verdict first = judge(write, read_only), second;

	(void)state;
	assert_true(first.is_fatal);
	assert_int_equal(first.cancel_mode, UVMP_CANCEL_WRITE_AND_ATOMIC);
	assert_skipped(first);
	second = judge_after(read, read_only, write, first);
	assert_true(second.is_duplicate);
	assert_false(second.is_fatal);
	assert_serviced(second, UVMP_ACCESS_READ, R);
	/* and a third is the duplicate of one that has been serviced */
	assert_skipped(judge_after(fault(5, UVMP_ACCESS_PREFETCH, P, 1), read_only, read, second));
}

/* 3, worked example 3: the caller has throttled the first */
static void test_example_3(void **state)
{
	struct uvmp_fault strong = fault(5, UVMP_ACCESS_ATOMIC_STRONG, S, 1);
	struct uvmp_fault_facts all = facts(UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_RIGHT_NONE);
	struct uvmp_fault_verdict first = judge(strong, all), second;

	(void)state;
	assert_serviced(first, UVMP_ACCESS_ATOMIC_STRONG, S);
	assert_false(first.is_throttled);
	first.is_throttled = true;
	second = judge_after(fault(5, UVMP_ACCESS_READ, R, 1), all, strong, first);
	assert_true(second.is_duplicate);
	assert_true(second.is_throttled);
	assert_skipped(second);
	/* another page inherits nothing */
	second = judge_after(fault(6, UVMP_ACCESS_READ, R, 1), all, strong, first);
	assert_false(second.is_duplicate);
	assert_false(second.is_throttled);
	assert_serviced(second, UVMP_ACCESS_READ, R);
}

/* 3, worked example 4, and what a repeated walk makes of it */
static void test_example_4(void **state)
{
	struct uvmp_fault prefetch = fault(5, UVMP_ACCESS_PREFETCH, P, 3);
	struct uvmp_fault_facts known = facts(UVMP_RIGHT_NONE, UVMP_RIGHT_NONE);
	struct uvmp_fault_verdict v = judge(prefetch, known), second;

	(void)state;
	assert_true(v.is_invalid_prefetch);
	assert_int_equal(v.invalid_prefetches, 3);
	assert_false(v.is_fatal);
	assert_skipped(v);
	second = judge_after(prefetch, known, prefetch, v);
	assert_true(second.is_invalid_prefetch);
	assert_int_equal(second.invalid_prefetches, 0);

	known.is_retry = true;
	v = judge(prefetch, known);
	assert_false(v.is_invalid_prefetch);
	assert_int_equal(v.invalid_prefetches, 0);
	assert_skipped(v);
}

/* [driver: permission-check]: the rows that the examples leave out */
static void test_permission_rows(void **state)
{
	struct uvmp_fault_verdict v;

	(void)state;
	/* READ refused */
	v = judge(fault(5, UVMP_ACCESS_READ, P | R, 1), facts(UVMP_RIGHT_NONE, UVMP_RIGHT_NONE));
	assert_true(v.is_fatal);
	assert_int_equal(v.cancel_mode, UVMP_CANCEL_ALL);
	assert_skipped(v);
	/* more than READ, with reads, and not even reads are allowed */
	v = judge(fault(5, UVMP_ACCESS_ATOMIC_WEAK, R | A, 1), facts(UVMP_RIGHT_NONE, UVMP_RIGHT_NONE));
	assert_true(v.is_fatal);
	assert_int_equal(v.cancel_mode, UVMP_CANCEL_ALL);
	assert_skipped(v);
	/* the same without reads */
	v = judge(fault(5, UVMP_ACCESS_ATOMIC_WEAK, P | A, 1), facts(UVMP_RIGHT_NONE, UVMP_RIGHT_NONE));
	assert_true(v.is_fatal);
	assert_int_equal(v.cancel_mode, UVMP_CANCEL_WRITE_AND_ATOMIC);
	assert_skipped(v);
	/* allowed: the whole mask is serviced */
	v = judge(fault(5, UVMP_ACCESS_WRITE, P | R | W, 1),
	          facts(UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_RIGHT_READ));
	assert_false(v.is_fatal);
	assert_serviced(v, UVMP_ACCESS_WRITE, P | R | W);
}

/* [driver: block-walk]: an entry that the GPU may already perform */
static void test_already_mapped(void **state)
{
	struct uvmp_fault_verdict v;

	(void)state;
	v = judge(fault(5, UVMP_ACCESS_WRITE, W, 1),
	          facts(UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_RIGHT_READ_WRITE));
	assert_true(v.is_already_mapped);
	assert_skipped(v);
	/* cut down to a read that is mapped already: cancelled, nothing to service */
	v = judge(fault(5, UVMP_ACCESS_WRITE, R | W, 1), facts(UVMP_RIGHT_READ, UVMP_RIGHT_READ));
	assert_true(v.is_already_mapped);
	assert_true(v.is_fatal);
	assert_skipped(v);
}

/* [driver: block-walk] asks whether the entry before is fatal, for any reason */
static void test_fault_that_was_fetched_as_fatal(void **state)
{
	struct uvmp_fault write = fault(5, UVMP_ACCESS_WRITE, W, 1);
	struct uvmp_fault_facts all = facts(UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_RIGHT_NONE);
	struct uvmp_fault_verdict v;

	(void)state;
	write.is_fatal = true;
	v = judge(write, all);
	assert_true(v.is_fatal);
	assert_int_equal(v.cancel_mode, UVMP_CANCEL_ALL);
	v = judge_after(fault(5, UVMP_ACCESS_READ, R, 1), all, write, v);
	assert_true(v.is_duplicate);
	assert_false(v.is_fatal);
	assert_serviced(v, UVMP_ACCESS_READ, R);
}

/* [driver: batch-walk]: no range holds the address. With any rights, a prefetch is invalid and the other
 * accesses are cancelled. */
static void test_unmapped(void **state)
{
	(void)state;
	for (uint32_t access = UVMP_ACCESS_PREFETCH; access < UVMP_ACCESS_NONE; access++) {
		struct uvmp_fault_facts known = facts(UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_RIGHT_NONE);
		struct uvmp_fault f = fault(5, (enum uvmp_access)access, (uint8_t)(1u << access | P), 3);
		struct uvmp_fault_verdict v;

		known.is_unmapped = true;
		v = judge(f, known);
		assert_skipped(v);
		assert_false(v.is_already_mapped);
		if (access == UVMP_ACCESS_PREFETCH) {
			assert_true(v.is_invalid_prefetch);
			assert_int_equal(v.invalid_prefetches, 3);
			assert_false(v.is_fatal);
			continue;
		}
		assert_false(v.is_invalid_prefetch);
		assert_true(v.is_fatal);
		assert_int_equal(v.cancel_mode, UVMP_CANCEL_ALL);
		/* with reads among the merged ones too */
		f.access_mask = (uint8_t)(f.access_mask | R);
		v = judge(f, known);
		assert_true(v.is_fatal);
		assert_int_equal(v.cancel_mode, UVMP_CANCEL_ALL);
		assert_skipped(v);
	}
}

/* Entries of a host that does not fetch: zeros count as one fault with its own access. */
static void test_zeroed_entries(void **state)
{
	struct uvmp_fault_verdict v;

	(void)state;
	assert_serviced(judge(fault(5, UVMP_ACCESS_WRITE, 0, 0), facts(UVMP_RIGHT_READ_WRITE, UVMP_RIGHT_NONE)),
			UVMP_ACCESS_WRITE, W);
	v = judge(fault(5, UVMP_ACCESS_PREFETCH, 0, 0), facts(UVMP_RIGHT_NONE, UVMP_RIGHT_NONE));
	assert_true(v.is_invalid_prefetch);
	assert_int_equal(v.invalid_prefetches, 1);
	v = judge(fault(5, UVMP_ACCESS_READ, 0, 0), facts(UVMP_RIGHT_NONE, UVMP_RIGHT_NONE));
	assert_int_equal(v.cancel_mode, UVMP_CANCEL_ALL); /* the access is a read */
	v = judge(fault(5, UVMP_ACCESS_WRITE, 0, 0), facts(UVMP_RIGHT_NONE, UVMP_RIGHT_NONE));
	assert_int_equal(v.cancel_mode, UVMP_CANCEL_WRITE_AND_ATOMIC);
}

static void test_bad_input(void **state)
{
	struct uvmp_fault good = fault(5, UVMP_ACCESS_WRITE, W, 1), bad;
	struct uvmp_fault_facts known = facts(UVMP_RIGHT_READ, UVMP_RIGHT_NONE), wrong;
	struct uvmp_fault_verdict v, before;

	(void)state;
	memset(&v, 0, sizeof(v));
	v.invalid_prefetches = 0x5a5a5a5au;
	before = v;
	assert_int_equal(uvmp_fault_classify(NULL, &known, NULL, NULL, &v), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_fault_classify(&good, NULL, NULL, NULL, &v), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_fault_classify(&good, &known, NULL, NULL, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_fault_classify(&good, &known, &good, NULL, &v), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_fault_classify(&good, &known, NULL, &before, &v), UVMP_ERR_ARGUMENT);
	bad = good, bad.access = UVMP_ACCESS_NONE;
	assert_int_equal(uvmp_fault_classify(&bad, &known, NULL, NULL, &v), UVMP_ERR_RANGE);
	bad = good, bad.access_mask = W | 32;
	assert_int_equal(uvmp_fault_classify(&bad, &known, NULL, NULL, &v), UVMP_ERR_RANGE);
	bad = good, bad.access_mask = R;
	assert_int_equal(uvmp_fault_classify(&bad, &known, NULL, NULL, &v), UVMP_ERR_RANGE);
	wrong = known, wrong.right = (enum uvmp_right)4;
	assert_int_equal(uvmp_fault_classify(&good, &wrong, NULL, NULL, &v), UVMP_ERR_RANGE);
	wrong = known, wrong.mapped = (enum uvmp_right)4;
	assert_int_equal(uvmp_fault_classify(&good, &wrong, NULL, NULL, &v), UVMP_ERR_RANGE);
	assert_memory_equal(&v, &before, sizeof(v));
}

static void assert_like_naive(const struct uvmp_fault *f, const struct uvmp_fault_facts *known,
                              const struct uvmp_fault *previous,
                              const struct uvmp_fault_verdict *previous_verdict)
{
	struct uvmp_fault_verdict v, naive;

	assert_int_equal(uvmp_fault_classify(f, known, previous, previous_verdict, &v), UVMP_OK);
	naive_fault_classify(f, known, previous, previous_verdict, &naive);
	assert_int_equal(v.is_duplicate, naive.is_duplicate);
	assert_int_equal(v.is_throttled, naive.is_throttled);
	assert_int_equal(v.is_invalid_prefetch, naive.is_invalid_prefetch);
	assert_int_equal(v.is_fatal, naive.is_fatal);
	assert_int_equal(v.is_already_mapped, naive.is_already_mapped);
	assert_int_equal(v.cancel_mode, naive.cancel_mode);
	assert_int_equal(v.service_access, naive.service_access);
	assert_int_equal(v.service_mask, naive.service_mask);
	assert_int_equal(v.invalid_prefetches, naive.invalid_prefetches);
}

/* one fault with one set of facts after nothing, after another page, and after each kind of verdict on its
 * own page */
static void compare_one(uint32_t access, uint32_t mask, uint32_t known_bits)
{
	struct uvmp_fault f = fault(5, (enum uvmp_access)access, (uint8_t)mask, 3);
	struct uvmp_fault_facts known =
	        facts((enum uvmp_right)(known_bits & 3u), (enum uvmp_right)(known_bits >> 2 & 3u));

	known.is_retry = (known_bits & 16u) != 0;
	known.is_unmapped = (known_bits & 64u) != 0;
	f.is_fatal = (known_bits & 32u) != 0;
	assert_like_naive(&f, &known, NULL, NULL);
	for (uint32_t i = 0; i < 16u; i++) {
		struct uvmp_fault previous = fault(i & 1u ? 5 : 4, UVMP_ACCESS_ATOMIC_STRONG, S, 1);
		struct uvmp_fault_verdict verdict = {.is_throttled = (i & 2u) != 0,
		                                     .is_invalid_prefetch = (i & 4u) != 0,
		                                     .is_fatal = (i & 8u) != 0};

		assert_like_naive(&f, &known, &previous, &verdict);
	}
}

static void test_every_combination(void **state)
{
	(void)state;
	for (uint32_t access = 0; access < UVMP_ACCESS_NONE; access++)
		for (uint32_t mask = 0; mask < 32u; mask++)
			for (uint32_t known = 0; (mask >> access & 1u) != 0 && known < 128u; known++)
				compare_one(access, mask, known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_access_prot),    cmocka_unit_test(test_example_1),
	        cmocka_unit_test(test_example_2),      cmocka_unit_test(test_example_3),
	        cmocka_unit_test(test_example_4),      cmocka_unit_test(test_permission_rows),
	        cmocka_unit_test(test_already_mapped), cmocka_unit_test(test_fault_that_was_fetched_as_fatal),
	        cmocka_unit_test(test_bad_input),      cmocka_unit_test(test_every_combination),
	        cmocka_unit_test(test_unmapped),       cmocka_unit_test(test_zeroed_entries),
	};

	return cmocka_run_group_tests_name("fault_classify", tests, NULL, NULL);
}
