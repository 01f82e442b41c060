/* adapters/nvidia-uvm: the module parameters: what is served, what is refused by name, what the kernel log says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "uvmp_nv.h"

static int set_up(void **state)
{
	(void)state;
	mock_reset();
	return 0;
}

static void test_without_a_policy_the_driver_is_as_before(void **state)
{
	const NvU32 ids[] = {1, 0};
	uvm_va_space_t va_space;

	(void)state;
	assert_int_equal(mock_load("", true), NV_OK);
	assert_int_equal(uvmp_nv.mode, UVMP_NV_OFF);
	assert_string_equal(mock.log, "");
	assert_null(mock.counts);
	mock_space_open(&va_space, ids);
	assert_null(uvmp_nv_space_of(&va_space));
	assert_int_equal(va_space.perf_events.registered, 0);
	mock_space_close(&va_space);
	assert_int_equal(mock.real_loads + mock.real_registers + mock.real_stops + mock.real_unloads, 4);
	assert_int_equal(__wrap_uvm_test_get_page_thrashing_policy(NULL, NULL), NV_OK);
	assert_int_equal(__wrap_uvm_test_set_page_thrashing_policy(NULL, NULL), NV_OK);
	assert_int_equal(mock.real_tests, 2);
	mock_exit();
	assert_int_equal(mock_load(NULL, false), NV_OK);
	assert_int_equal(uvmp_nv.mode, UVMP_NV_OFF);
	mock_exit();
}

static void test_served(void **state)
{
	static const char *const policies[] = {
		"nvidia-595",
		"preset=nvidia-aggressive",
		"prefetch=density,threshold=75,min_faults=3,quirks=0",
		"prefetch=tbn evict=lfu2m reserve=10",
		"prefetch=sl evict=clock2m",
		"prefetch=random evict=lru2m granularity=2m",
		"prefetch=block thrash=off",
		"prefetch=none thrash_threshold=2 pin_threshold=3 lapse_us=1000 nap=2 epoch=7 pin=9 "
		"max_resets=1",
		"uvmsmart batch=256 counters=driver",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		bool is_shadow = i % 2 != 0;
		char line[512];

		mock.log[0] = '\0';
		if (mock_load(policies[i], is_shadow) != NV_OK)
			fail_msg("%s: %s", policies[i], mock.log);
		assert_int_equal(uvmp_nv.mode, is_shadow ? UVMP_NV_SHADOW : UVMP_NV_DECIDE);
		snprintf(line, sizeof(line), "<6>nvidia-uvm: uvmp_policy: %s%s\n", policies[i],
			 is_shadow ? ", compared with the driver" : "");
		assert_string_equal(mock.log, line);
		assert_non_null(mock.counts);
		mock_exit();
	}
}

/* What is refused, and the text in the log. */
static const struct {
	const char *policy, *text;
} refused[] = {
	/* the parser's text */
	{"threshold=101", "threshold: 101 is not accepted; 0..100"},
	{"prefetch=desnity", "density"},
	{"evict=lru evict=lru", "evict"},
	/* prefetchers */
	{"prefetch=sequential",
	 "prefetch=sequential: it decides across VA blocks, and the driver holds the lock of one"},
	{"prefetch=locality", "prefetch=locality: it decides across VA blocks"},
	{"prefetch=stride", "prefetch=stride: it decides across VA blocks"},
	{"prefetch=next", "prefetch=next: it decides across VA blocks"},
	{"prefetch=forest", "prefetch=forest: it decides across VA blocks"},
	{"prefetch=auto", "prefetch=auto: it decides across VA blocks"},
	{"prefetch=pattern", "prefetch=pattern: the driver does not report touches of pages"},
	{"prefetch=safe", "prefetch=safe: the driver does not report the uTLBs of a block"},
	{"preset=cppe", "prefetch=pattern: the driver does not report touches of pages"},
	/* eviction orders */
	{"evict=lru4k",
	 "evict=lru4k: the driver evicts units of 2 MiB; lru|lru2m|lfu2m|clock2m, granularity=2m"},
	{"evict=random4k", "evict=random4k: the driver evicts units of 2 MiB"},
	{"evict=sl64k", "evict=sl64k: the driver evicts units of 2 MiB"},
	{"prefetch=tbn evict=tbne", "evict=tbne: the driver evicts units of 2 MiB"},
	{"evict=mhpe", "evict=mhpe: the driver evicts units of 2 MiB"},
	{"evict=auto", "evict=auto: the driver evicts units of 2 MiB"},
	{"evict=lru2m granularity=1m", "evict=lru2m: the driver evicts units of 2 MiB"},
	/* keys that stay the driver's */
	{"replay=once", "replay=once: the driver's parameter uvm_perf_fault_replay_policy sets this"},
	{"put_ratio=40",
	 "put_ratio=40: the driver's parameter uvm_perf_fault_replay_update_put_ratio sets this"},
	{"batch=128", "batch=128: the driver's parameter uvm_perf_fault_batch_count sets this"},
	{"coalesce=0", "coalesce=0: the driver's parameter uvm_perf_fault_coalesce sets this"},
	{"max_batches=2", "uvm_perf_fault_max_batches_per_service"},
	{"max_throttled=2", "uvm_perf_fault_max_throttle_per_service"},
	{"prefetch_lapse_ms=2", "uvm_perf_reenable_prefetch_faults_lapse_msec"},
	{"counters=on", "uvm_perf_access_counter_migration_enable"},
	{"counter_batch=2", "uvm_perf_access_counter_batch_count"},
	{"counter_threshold=2", "uvm_perf_access_counter_threshold"},
	{"map_on_eviction=0", "uvm_perf_map_remote_on_eviction"},
	{"map_on_atomics=1", "uvm_perf_map_remote_on_native_atomics_fault"},
	{"pma_order=3", "pma_order=3: the driver's parameter uvm_perf_pma_batch_nonpinned_order sets this"},
	{"uvmsmart", "batch=1: the driver's parameter uvm_perf_fault_batch_count sets this"},
	/* the rest, of which no word is listed in the adapter */
	{"adapt=pressure", "adapt=pressure: not available in this driver"},
	{"prefetch=tbn prefetch_full=none evict=lru2m", "prefetch_full=none: not available in this driver"},
	{"evict=lfu2m remote=adaptive", "remote=adaptive: not available in this driver"},
	{"evict=lru2m cyclic=on", "cyclic=on: not available in this driver"},
	{"evict=lru2m free_buffer=5", "free_buffer=5: not available in this driver"},
	{"plan=overlapped", "plan=overlapped: not available in this driver"},
	{"memory_ratio=200", "memory_ratio=200: not available in this driver"},
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		mock.log[0] = '\0';
		assert_int_equal(mock_load(refused[i].policy, false), NV_ERR_INVALID_ARGUMENT);
		assert_int_equal(uvmp_nv.mode, UVMP_NV_OFF);
		assert_int_equal(strncmp(mock.log, "<3>nvidia-uvm: uvmp_policy: ", 28), 0);
		if (strstr(mock.log, refused[i].text) == NULL)
			fail_msg("%s: %s", refused[i].policy, mock.log);
		mock_exit();
	}
}

static void test_load_without_memory(void **state)
{
	(void)state;
	mock.fail_allocation = 1;
	assert_int_equal(mock_load("nvidia-595", false), NV_ERR_NO_MEMORY);
	mock_exit();
	mock.fail_allocation = 2;
	assert_int_equal(mock_load("nvidia-595", false), NV_ERR_INVALID_ARGUMENT);
	assert_non_null(strstr(mock.log, "uvmp_policy: out of memory"));
	mock_exit();
}

/* The driver's own error ends the load, too. */
static void test_error_of_the_driver(void **state)
{
	(void)state;
	mock.real_status = NV_ERR_NO_MEMORY;
	assert_int_equal(mock_load("nvidia-595", false), NV_ERR_NO_MEMORY);
	mock_exit();
}

static void test_counts_in_debugfs(void **state)
{
	struct uvmp_nv_count count;
	struct seq_file file = {.length = 0};

	(void)state;
	assert_int_equal(mock_load("nvidia-595", true), NV_OK);
	uvmp_nv_decided(UVMP_NV_ORDER);
	uvmp_nv_decided(UVMP_NV_ORDER);
	uvmp_nv_left(UVMP_NV_THRASH);
	uvmp_nv_differs(UVMP_NV_ORDER, "first");
	uvmp_nv_differs(UVMP_NV_ORDER, "fault %d", 7);
	uvmp_nv_counts_get(UVMP_NV_ORDER, &count);
	assert_int_equal(count.decisions, 2);
	assert_int_equal(count.different, 2);
	assert_int_equal(mock.counts->show(&file, NULL), 0);
	assert_string_equal(file.text, "decision      library    different         left  latest difference\n"
				       "prefetch            0            0            0  \n"
				       "thrash              0            0            1  \n"
				       "evict               0            0            0  \n"
				       "order               2            2            0  fault 7\n");
	mock_exit();
	/* a new load counts from 0 */
	assert_int_equal(mock_load("nvidia-595", true), NV_OK);
	uvmp_nv_counts_get(UVMP_NV_ORDER, &count);
	assert_int_equal(count.decisions + count.different + count.left, 0);
	mock_exit();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_without_a_policy_the_driver_is_as_before, set_up),
		cmocka_unit_test_setup(test_served, set_up),
		cmocka_unit_test_setup(test_refused, set_up),
		cmocka_unit_test_setup(test_load_without_memory, set_up),
		cmocka_unit_test_setup(test_error_of_the_driver, set_up),
		cmocka_unit_test_setup(test_counts_in_debugfs, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
