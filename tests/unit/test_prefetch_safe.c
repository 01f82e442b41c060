/* Sharing-aware prefetch: which threshold counts, errors; worked by hand from the words at the top of
 * prefetch_safe.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/prefetch_case.h"

static struct prefetch_case c;

/* Page 300 faults, pages 256 to 319 are there, with so many uTLBs. */
static void decide(uint32_t utlbs, const char *pages)
{
	uvmp_mask expected = page_text(pages);

	c.resident = page_text("256-295,304-319");
	c.facts.utlbs = utlbs;
	assert_int_equal(prefetch_case_decide(&c, "300"), UVMP_OK);
	assert_memory_equal(&c.hint.pages, &expected, sizeof(expected));
	assert_int_equal(c.hint.to, uvmp_mask_is_empty(&expected) ? UVMP_PROC_NONE : 1);
}

/* 64 of 512 pages are 12.5 percent: of 256 they are 25, of 128 they are 50. */
static void test_thresholds(void **state)
{
	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_SAFE, 512);
	decide(0, "256-299,301-319"); /* not known: as the driver, 51 */
	decide(1, "256-299,301-319"); /* private: 99, but this node is full */
	decide(2, "0-299,301-511");
	decide(4096, "0-299,301-511");
	c.params.shared_utlbs = 5;
	decide(4, "256-299,301-319");
	decide(5, "0-299,301-511");
	c.params.shared_threshold = 25;
	decide(5, "256-299,301-383");
	c.params.private_threshold = 100;
	decide(4, "-");
	c.params.private_threshold = 12; /* the other way round */
	c.params.shared_threshold = 100;
	decide(4, "0-299,301-511");
	decide(5, "-");
	c.params.threshold = 49;
	decide(0, "256-299,301-383");
	assert_int_equal(c.state.faults, 11);
	assert_int_equal(c.params.threshold, 49);
}

/* By default a fault in a block that is not shared fetches its 64 KiB. */
static void test_a_first_fault(void **state)
{
	uvmp_mask expected = page_text("288-299,301-303");

	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_SAFE, 512);
	c.facts.utlbs = 1;
	assert_int_equal(prefetch_case_decide(&c, "300"), UVMP_OK);
	assert_memory_equal(&c.hint.pages, &expected, sizeof(expected));
}

static void test_errors(void **state)
{
	(void)state;
	prefetch_case_init(&c, UVMP_PREFETCH_SAFE, 512);
	assert_int_equal(prefetch_case_decide(&c, "-"), UVMP_ERR_RANGE);
	c.facts.is_follow = true;
	assert_int_equal(prefetch_case_decide(&c, "1"), UVMP_ERR_RANGE);
	c.params.shared_utlbs = 1;
	assert_int_equal(prefetch_case_decide(&c, "1"), UVMP_ERR_ARGUMENT);
	assert_int_equal(c.state.faults, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_thresholds),
	        cmocka_unit_test(test_a_first_fault),
	        cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
