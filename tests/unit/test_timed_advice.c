/* Programs that prefetch and advise, on the GPU of UVM Smart: mappings of pages that stay on the CPU, beside copies that queue. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "timed/timed.h"

#define MIB 1048576u

static char error[SOURCE_ERROR_MAX > MODEL_ERROR_MAX ? SOURCE_ERROR_MAX : MODEL_ERROR_MAX];
static struct sim_result result;
static struct sim_times times;

/* A page that is to stay on the CPU. */
#define PREFERRED "range,200000000,4096\nadvise,preferred,cpu,200000000,4096\n"

/* Runs a trace of these rows. */
static void run(const char *gpu, const char *rows, const char *policy_text, uint64_t memory_bytes)
{
	char text[512];
	int length = snprintf(text, sizeof(text), "uvmp-trace 2\n%s", rows);
	FILE *in = fmemopen(text, (size_t)length, "r");
	struct source *source;
	struct model model;
	struct uvmp_policy policy;
	struct sim_run settings = {.policy = &policy, .memory = {.bytes = memory_bytes}, .seed = 1};

	assert_in_range(length, 1, sizeof(text) - 1);
	assert_non_null(in);
	source = trace_open_stream(in, "t", error);
	assert_non_null(source);
	if (!model_open(gpu, NULL, &model, error))
		fail_msg("%s", error);
	assert_int_equal(uvmp_policy_parse(policy_text, strlen(policy_text), &policy, NULL), UVMP_OK);
	if (!timed_run(source, &model, &settings, &result, &times, error))
		fail_msg("%s", error);
	source->close(source);
}

/* The driver maps the page on the CPU with the right to write. The page does not come, so no warp waits for its arrival. */
static void test_preferred_on_the_cpu(void **unused)
{
	(void)unused;
	run("uvmsmart",
	    PREFERRED ",0,r,200000000,128\n,1,w,200000000,128\n",
	    "preset=uvmsmart-lru-od", 4u * MIB);
	assert_int_equal(result.faults_raw, 1);
	assert_int_equal(result.accesses, 2);
	assert_true(result.remote_accesses >= 2);
	assert_int_equal(result.pages_migrated, 0);
}

/* A write of the CPU lowers the GPU's right from atomics to writes. The page stays on the CPU, and an atomic access faults. */
static void test_lowered_right(void **unused)
{
	(void)unused;
	run("uvmsmart",
	    PREFERRED ",50,a,200000000,128\n,cpu,w,200000000,4096\n,0,a,200000000,128\n",
	    "preset=uvmsmart-lru-od", 4u * MIB);
	assert_int_equal(result.faults_raw, 2);
	assert_int_equal(result.accesses, 3);
	run("titan-v",
	    PREFERRED ",50,a,200000000,128\n,cpu,w,200000000,4096\n,0,w,200000000,128\n",
	    "preset=nvidia-595", 4u * MIB);
	assert_int_equal(result.accesses, 3);
	assert_int_equal(result.remote_accesses, 2);
	assert_int_equal(result.pages_migrated, 0);
}

/* Prefetches and write-backs fill the link. The advice unmaps pages whose copies are still queued, and maps them on the CPU: the
 * GPU sees the three changes of each page in this order. */
static void test_changes_of_a_page_stay_in_order(void **unused)
{
	(void)unused;
	run("uvmsmart",
	    "range,200000000,5242880,,fresh\nprefetch,gpu,200000000,5242880\n"
	    "advise,accessed-by,gpu,2002b7000,2056192\n,173,p,200452000,4096\n",
	    "preset=uvmsmart-always", 4u * MIB);
	assert_true(result.faults_raw <= 1);
	assert_true(result.remote_accesses > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_preferred_on_the_cpu),
		cmocka_unit_test(test_lowered_right),
		cmocka_unit_test(test_changes_of_a_page_stay_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
