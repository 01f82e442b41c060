/* adapters/nvidia-uvm: the prefetch hint over the mock of the driver: processor ids, confidential computing, range
 * groups, system-allocated memory, prefetchers that are not the driver's, shadow mode, lives of blocks. The test
 * of hashes, test_nvidia_oracle, compares the answers with the driver's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "uvmp_nv.h"

#define BASE 0x7f0000000000u

/* Ids of nine GPUs that are not partitioned, in any order. */
static const NvU32 nine[] = {1, 9, 17, 25, 33, 41, 49, 57, 65, 0};

static uvm_va_space_t va_space;
static uvm_va_range_managed_t range;
static uvm_va_block_t block;
static uvm_va_block_context_t context = {.hmm = {.vma = (struct vm_area_struct *)(void *)&mock}};
static uvm_page_mask_t resident;
static uvm_perf_prefetch_bitmap_tree_t tree;

static uvm_processor_id_t gpu(NvU32 value)
{
	return (uvm_processor_id_t){value};
}

static void begin(const char *policy, bool is_shadow, const NvU32 *ids)
{
	mock_reset();
	if (mock_load(policy, is_shadow) != NV_OK)
		fail_msg("%s", mock.log);
	mock_space_open(&va_space, ids);
	mock_block(&block, &va_space, &range, BASE, 512);
	memset(&resident, 0, sizeof(resident));
}

static void finish(void)
{
	mock_space_close(&va_space);
	mock_exit();
}

static void make_resident(NvU32 id, uint32_t first, uint32_t end)
{
	for (uint32_t page = first; page < end; page++)
		mock_page_set(&resident, page);
	block.gpus[id - 1u] = (void *)&resident;
	uvm_processor_mask_set(&block.resident, gpu(id));
}

/* The hint for faults on pages [first, end) that migrate to `to`. */
static uvm_perf_prefetch_hint_t ask(uvm_processor_id_t to, uint32_t first, uint32_t end)
{
	uvm_va_block_region_t region = {(uvm_page_index_t)first, (uvm_page_index_t)end};
	uvm_page_mask_t faulted = {{0}};
	uvm_perf_prefetch_hint_t hint;

	memset(&hint, 0xa5, sizeof(hint));
	for (uint32_t page = first; page < end; page++)
		mock_page_set(&faulted, page);
	__wrap_uvm_perf_prefetch_get_hint_va_block(&block, &context, to, &faulted, region, &tree, &hint);
	return hint;
}

static uint32_t weight(const uvm_perf_prefetch_hint_t *hint)
{
	uvmp_mask room;

	return uvmp_mask_weight(uvmp_nv_pages(&hint->prefetch_pages_mask, &room));
}

/* The hint prefetches pages [first, end) to `to`. */
static void check(const uvm_perf_prefetch_hint_t *hint, NvU32 to, uint32_t first, uint32_t end)
{
	uvmp_mask pages = {{0}}, room;
	struct uvmp_region region = {first, end};

	uvmp_mask_region_set(&pages, region);
	assert_int_equal(hint->residency.val, to);
	assert_true(uvmp_mask_equal(uvmp_nv_pages(&hint->prefetch_pages_mask, &room), &pages));
}

static struct uvmp_nv_count counted(enum uvmp_nv_kind kind)
{
	struct uvmp_nv_count count;

	uvmp_nv_counts_get(kind, &count);
	return count;
}

static bool has_state(void)
{
	return uvmp_nv_block_find(uvmp_nv_space_of(&va_space), &block) != NULL;
}

/* What the detector would find. */
static void make_thrashing(uint32_t first, uint32_t end)
{
	struct uvmp_region region = {first, end};

	uvmp_mask_region_set(&uvmp_nv_block_get(uvmp_nv_space_of(&va_space), &block)->thrash.thrashing,
			     region);
}

/* -- density -- */

static void test_density(void **state)
{
	uvm_perf_prefetch_hint_t hint;

	(void)state;
	begin("nvidia-595", false, nine);
	make_resident(1, 100, 101); /* not the first touch */
	hint = ask(gpu(1), 0, 1);
	check(&hint, 1, 1, 16); /* the rest of the big page */
	assert_int_equal(block.prefetch_info.last_migration_proc_id.val, 1);
	assert_int_equal(block.prefetch_info.fault_migrations_to_last_proc, 1);
	hint = ask(gpu(1), 16, 18);
	assert_int_equal(block.prefetch_info.fault_migrations_to_last_proc, 3);
	assert_int_equal(mock.real_hints, 0);
	assert_int_equal(counted(UVMP_NV_PREFETCH).decisions, 2);
	assert_false(has_state()); /* the driver's own fields suffice */
	finish();
}

/* Each id as destination, as preferred location, and as the last destination. */
static void test_ids(void **state)
{
	uvm_perf_prefetch_hint_t hint;

	(void)state;
	begin("nvidia-595", false, nine);
	make_resident(1, 100, 101);
	for (uint32_t i = 0; nine[i] != 0; i++) {
		range.policy.preferred_location = UVM_ID_INVALID;
		hint = ask(gpu(nine[i]), 0, 1);
		check(&hint, nine[i], 1, 16);
		assert_int_equal(block.prefetch_info.last_migration_proc_id.val, nine[i]);
		assert_int_equal(block.prefetch_info.fault_migrations_to_last_proc, 1);
		/* no prefetch away from the preferred location */
		range.policy.preferred_location = gpu(nine[(i + 1) % 9]);
		hint = ask(gpu(nine[i]), 0, 1);
		check(&hint, UVM_ID_MAX_PROCESSORS, 0, 0);
		assert_int_equal(block.prefetch_info.fault_migrations_to_last_proc, 2);
		range.policy.preferred_location = gpu(nine[i]);
		hint = ask(gpu(nine[i]), 0, 1);
		check(&hint, nine[i], 1, 16);
	}
	hint = ask(UVM_ID_CPU, 0, 1);
	check(&hint, UVM_ID_MAX_PROCESSORS, 0, 0); /* the preferred location is the ninth GPU */
	range.policy.preferred_location = UVM_ID_CPU;
	hint = ask(UVM_ID_CPU, 0, 1);
	check(&hint, 0, 1, 16);
	finish();
}

/* A VA space has numbers for 63 GPUs. */
static void test_the_64th_gpu_is_left_to_the_driver(void **state)
{
	NvU32 ids[66];

	(void)state;
	for (uint32_t i = 0; i < 65; i++)
		ids[i] = 2 * i + 1;
	ids[65] = 0;
	begin("nvidia-595", false, ids);
	make_resident(1, 100, 101);
	assert_int_equal(ask(gpu(2 * 62 + 1), 0, 1).residency.val, 2 * 62 + 1);
	assert_int_equal(mock.real_hints, 0);
	(void)ask(gpu(2 * 63 + 1), 0, 1);
	assert_int_equal(mock.real_hints, 1);
	range.policy.preferred_location = gpu(2 * 64 + 1);
	(void)ask(gpu(1), 0, 1);
	assert_int_equal(mock.real_hints, 2);
	assert_int_equal(counted(UVMP_NV_PREFETCH).left, 2);
	finish();
}

static void test_confidential(void **state)
{
	uvm_perf_prefetch_hint_t hint;

	(void)state;
	begin("nvidia-595", false, nine);
	make_resident(9, 100, 101);
	range.policy.preferred_location = gpu(1);
	hint = ask(gpu(9), 0, 1);
	check(&hint, UVM_ID_MAX_PROCESSORS, 0, 0);
	g_uvm_global.conf_computing_enabled = true;
	hint = ask(gpu(9), 0, 1); /* the page is not on the CPU */
	check(&hint, UVM_ID_MAX_PROCESSORS, 0, 0);
	mock_page_set(&block.cpu.resident, 0);
	hint = ask(gpu(9), 0, 1);
	check(&hint, 9, 1, 16);
	hint = ask(UVM_ID_CPU, 0, 1); /* always, to the CPU */
	check(&hint, 0, 1, 16);
	finish();
}

static void test_cpu_mappings(void **state)
{
	uvm_perf_prefetch_hint_t hint;

	(void)state;
	begin("nvidia-595", false, nine);
	uvm_processor_mask_set(&block.resident, gpu(1));
	for (uint32_t page = 8; page < 16; page++) {
		mock_page_set(&block.cpu.resident, page);
		mock_page_set(&block.cpu.pte_bits[UVM_PTE_BITS_CPU_READ], page);
	}
	hint = ask(UVM_ID_CPU, 0, 1);
	check(&hint, 0, 1, 8);
	finish();
}

static void test_first_touch(void **state)
{
	uvm_perf_prefetch_hint_t hint;

	(void)state;
	begin("nvidia-595", false, nine);
	range.policy.preferred_location = gpu(65);
	hint = ask(gpu(65), 0, 1);
	check(&hint, 65, 1, 512);
	finish();
}

/* A group without a fault gets no prefetch. There are more groups than the library accepts as an array. */
static void test_range_groups(void **state)
{
	uvm_perf_prefetch_hint_t hint;

	(void)state;
	begin("threshold=1", false, nine);
	make_resident(1, 100, 101);
	for (uint32_t i = 0; i < MOCK_GROUPS_MAX; i++) {
		va_space.group[i].node.start = BASE + (NvU64)i * 0x10000u;
		va_space.group[i].node.end = va_space.group[i].node.start + 0xffffu;
	}
	va_space.groups = MOCK_GROUPS_MAX;
	hint = ask(gpu(1), 40, 41);
	assert_int_equal(weight(&hint), 15);
	/* groups may reach beyond the block; without groups the whole block is fetched */
	va_space.group[0].node.start = BASE - 0x200000u;
	va_space.group[0].node.end = BASE + 0x1fffffu + 0x200000u;
	va_space.groups = 1;
	hint = ask(gpu(1), 40, 41);
	assert_int_equal(weight(&hint), 511);
	/* nothing is left */
	va_space.group[0].node.start = BASE;
	va_space.group[0].node.end = BASE + 40 * PAGE_SIZE - 1;
	va_space.group[1].node.start = BASE + 41 * PAGE_SIZE;
	va_space.group[1].node.end = BASE + 0x1fffffu;
	va_space.groups = 2;
	hint = ask(gpu(1), 40, 41);
	check(&hint, UVM_ID_MAX_PROCESSORS, 0, 0);
	finish();
}

static void test_system_allocated(void **state)
{
	uvm_perf_prefetch_hint_t hint;

	(void)state;
	begin("threshold=1", false, nine);
	mock_block(&block, &va_space, NULL, BASE, 512);
	make_resident(1, 100, 101);
	block.prefetchable = (uvm_va_block_region_t){0, 64};
	hint = ask(gpu(1), 0, 1);
	check(&hint, 1, 1, 64);
	block.prefetchable = (uvm_va_block_region_t){3, 8};
	hint = ask(UVM_ID_CPU, 3, 4);
	check(&hint, 0, 4, 8);
	finish();
}

static void test_prefetch_switched_off(void **state)
{
	(void)state;
	begin("nvidia-595", false, nine);
	mock.is_prefetch_off = true;
	(void)ask(gpu(1), 0, 1);
	assert_int_equal(mock.real_hints, 1);
	assert_int_equal(counted(UVMP_NV_PREFETCH).decisions, 0);
	finish();
	begin("prefetch=none", false, nine);
	(void)ask(gpu(1), 0, 1);
	assert_int_equal(mock.real_hints, 0);
	assert_int_equal(counted(UVMP_NV_PREFETCH).decisions, 1);
	finish();
}

/* -- prefetchers that are not the driver's -- */

static void test_tbn(void **state)
{
	uvm_perf_prefetch_hint_t hint;

	(void)state;
	begin("prefetch=tbn", false, nine);
	make_resident(9, 16, 32);
	hint = ask(gpu(9), 0, 1); /* the faulting basic block */
	check(&hint, 9, 1, 16);
	assert_true(has_state());
	/* faults on resident pages are left out: those on pages 16 to 31 ask for nothing */
	hint = ask(gpu(9), 16, 32);
	check(&hint, UVM_ID_MAX_PROCESSORS, 0, 0);
	hint = ask(gpu(9), 31, 33);
	check(&hint, 9, 33, 48);
	/* the tree follows the pages that are resident now: with the fault five of eight basic blocks */
	make_resident(9, 0, 64);
	hint = ask(gpu(9), 64, 65);
	check(&hint, 9, 65, 128);
	memset(&resident, 0, sizeof(resident));
	hint = ask(gpu(9), 64, 65);
	check(&hint, 9, 65, 80);
	hint = ask(UVM_ID_CPU, 0, 1);
	check(&hint, UVM_ID_MAX_PROCESSORS, 0, 0);
	finish();
}

/* They keep to what a program has advised, to the detector and to the range of system-allocated memory. */
static void test_block_keeps_to_advice(void **state)
{
	uvm_perf_prefetch_hint_t hint;

	(void)state;
	begin("prefetch=block", false, nine);
	hint = ask(gpu(9), 0, 1);
	check(&hint, 9, 1, 512);
	range.policy.preferred_location = gpu(1);
	hint = ask(gpu(9), 0, 1);
	check(&hint, UVM_ID_MAX_PROCESSORS, 0, 0);
	mock_block(&block, &va_space, NULL, BASE, 512);
	block.prefetchable = (uvm_va_block_region_t){8, 24};
	hint = ask(gpu(9), 8, 9);
	check(&hint, 9, 9, 24);
	make_resident(9, 8, 10);
	hint = ask(gpu(9), 8, 11); /* a page that was asked about is never prefetched */
	check(&hint, 9, 11, 24);
	make_thrashing(11, 20);
	hint = ask(gpu(9), 8, 11);
	check(&hint, 9, 20, 24);
	finish();
}

static void test_random_is_deterministic(void **state)
{
	uvm_perf_prefetch_hint_t first, second, again;

	(void)state;
	begin("prefetch=random", false, nine);
	first = ask(gpu(1), 0, 1);
	second = ask(gpu(1), 0, 1);
	assert_int_equal(weight(&first), 1);
	assert_memory_not_equal(&first, &second, sizeof(first));
	finish();
	begin("prefetch=random", false, nine);
	again = ask(gpu(1), 0, 1);
	assert_memory_equal(&first, &again, sizeof(first));
	finish();
}

/* -- lives -- */

static void test_lives_of_blocks(void **state)
{
	static const uvm_perf_event_t ends[] = {UVM_PERF_EVENT_BLOCK_DESTROY, UVM_PERF_EVENT_BLOCK_SHRINK,
						UVM_PERF_EVENT_MODULE_UNLOAD};
	uvm_perf_event_data_t data;
	int allocations;

	(void)state;
	begin("prefetch=tbn thrash=off", false, nine);
	allocations = mock.allocations;
	assert_int_equal(va_space.perf_events.registered, 3); /* nothing for the detector */
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		(void)ask(gpu(1), 0, 1);
		assert_true(has_state());
		assert_int_equal(mock.allocations, allocations + 1);
		data = (uvm_perf_event_data_t){.block_destroy = {&block}};
		if (ends[i] == UVM_PERF_EVENT_MODULE_UNLOAD)
			data = (uvm_perf_event_data_t){.module_unload = {&va_space, &block}};
		mock_notify(&va_space, ends[i], &data);
		assert_false(has_state());
		assert_int_equal(mock.allocations, allocations);
		mock_notify(&va_space, ends[i], &data); /* of a block without state */
	}
	data.module_unload.block = NULL; /* of a range */
	mock_notify(&va_space, UVM_PERF_EVENT_MODULE_UNLOAD, &data);
	(void)ask(gpu(1), 0, 1);
	__wrap_uvm_perf_thrashing_info_destroy(&block);
	assert_false(has_state());
	(void)ask(gpu(1), 0, 1); /* freed with the VA space */
	finish();
}

static void test_without_memory(void **state)
{
	uvm_va_space_t other = {.groups = 0};

	(void)state;
	begin("prefetch=tbn", false, nine);
	for (int i = 1; i <= 2; i++) { /* the block, its entry */
		mock.fail_allocation = i;
		(void)ask(gpu(1), 0, 1);
		assert_int_equal(mock.real_hints, i);
		assert_int_equal(counted(UVMP_NV_PREFETCH).left, i);
		assert_false(has_state());
	}
	(void)ask(gpu(1), 0, 1);
	assert_int_equal(mock.real_hints, 2);
	for (int i = 1; i <= 3; i++) { /* the VA space, its context, its entry */
		mock.fail_allocation = i;
		assert_int_equal(__wrap_uvm_perf_thrashing_load(&other), NV_ERR_NO_MEMORY);
		__wrap_uvm_perf_thrashing_unload(&other);
	}
	other.perf_events.capacity = 2;
	assert_int_equal(__wrap_uvm_perf_thrashing_load(&other), NV_ERR_NO_MEMORY);
	assert_int_equal(other.perf_events.registered, 0);
	finish();
}

/* -- shadow -- */

static void test_shadow(void **state)
{
	uvm_perf_prefetch_hint_t hint;
	struct seq_file file = {.length = 0};

	(void)state;
	begin("nvidia-595", true, nine);
	make_resident(9, 100, 101);
	/* the driver answers as the library would */
	mock.hint.residency = mock.last = gpu(9);
	mock.faults = 1;
	for (uint32_t page = 1; page < 16; page++)
		mock_page_set(&mock.hint.prefetch_pages_mask, page);
	hint = ask(gpu(9), 0, 1);
	assert_memory_equal(&hint, &mock.hint, sizeof(hint));
	assert_int_equal(counted(UVMP_NV_PREFETCH).decisions, 1);
	assert_int_equal(counted(UVMP_NV_PREFETCH).different, 0);
	/* the state that the driver has left is where the library goes on */
	mock.faults = 2;
	(void)ask(gpu(9), 0, 1);
	assert_int_equal(counted(UVMP_NV_PREFETCH).different, 0);
	/* another state, page, destination: the driver's answer stands */
	(void)ask(gpu(9), 0, 1);
	assert_int_equal(counted(UVMP_NV_PREFETCH).different, 1);
	mock.faults = 3;
	mock_page_set(&mock.hint.prefetch_pages_mask, 17);
	(void)ask(gpu(9), 0, 1);
	assert_int_equal(counted(UVMP_NV_PREFETCH).different, 2);
	hint = ask(gpu(17), 0, 1);
	assert_int_equal(hint.residency.val, 9);
	assert_int_equal(counted(UVMP_NV_PREFETCH).different, 3);
	assert_int_equal(mock.real_hints, 5);
	assert_int_equal(mock.counts->show(&file, NULL), 0);
	assert_non_null(strstr(file.text,
			       "block 0x7f0000000000: 16 pages to 9 of the driver, 15 to 17 of the library"));
	finish();
}

/* Another prefetcher has no state in prefetch_info, and leaves no pages where it prefetches nothing. */
static void test_shadow_of_another_prefetcher(void **state)
{
	(void)state;
	begin("prefetch=none", true, nine);
	mock_page_set(&mock.hint.prefetch_pages_mask, 17);
	mock.faults = 5;
	(void)ask(gpu(9), 0, 1);
	assert_int_equal(counted(UVMP_NV_PREFETCH).decisions, 1);
	assert_int_equal(counted(UVMP_NV_PREFETCH).different, 0);
	mock.hint.residency = gpu(9);
	(void)ask(gpu(9), 0, 1);
	assert_int_equal(counted(UVMP_NV_PREFETCH).different, 1);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_density),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_the_64th_gpu_is_left_to_the_driver),
		cmocka_unit_test(test_confidential),
		cmocka_unit_test(test_cpu_mappings),
		cmocka_unit_test(test_first_touch),
		cmocka_unit_test(test_range_groups),
		cmocka_unit_test(test_system_allocated),
		cmocka_unit_test(test_prefetch_switched_off),
		cmocka_unit_test(test_tbn),
		cmocka_unit_test(test_block_keeps_to_advice),
		cmocka_unit_test(test_random_is_deterministic),
		cmocka_unit_test(test_lives_of_blocks),
		cmocka_unit_test(test_without_memory),
		cmocka_unit_test(test_shadow),
		cmocka_unit_test(test_shadow_of_another_prefetcher),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
