/* adapters/nvidia-uvm in a kernel with pages of 64 KiB: a block has 32 pages, the driver's masks are shorter than the
 * library's, and its page indices have 8 bits. Compiled with MOCK_PAGE_SHIFT=16. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "uvmp_nv.h"

#define BASE 0x7f0000000000u

static const NvU32 ids[] = {1, 65, 0};
static uvm_va_space_t va_space;
static uvm_va_range_managed_t range;
static uvm_va_block_t block;
static uvm_va_block_context_t context;

static uvm_processor_id_t id(NvU32 value)
{
	return (uvm_processor_id_t){value};
}

static void begin(const char *policy)
{
	mock_reset();
	assert_int_equal(mock_load(policy, false), NV_OK);
	mock_space_open(&va_space, ids);
	mock_block(&block, &va_space, &range, BASE, 32);
}

static void finish(void)
{
	mock_space_close(&va_space);
	mock_exit();
}

static void test_sizes(void **state)
{
	(void)state;
	assert_int_equal(PAGES_PER_UVM_VA_BLOCK, 32);
	assert_int_equal(sizeof(uvm_page_mask_t), 8);
	assert_int_equal(sizeof(uvm_page_index_t), 1);
}

/* With 2 of 4 pages there or faulted at threshold 49, the four are fetched. */
static void test_prefetch(void **state)
{
	struct {
		uvm_page_mask_t resident;
		unsigned long beyond; /* no part of the mask */
	} on_gpu = {{{1ul << 1}}, ~0ul};
	uvm_page_mask_t faulted = {{1}};
	uvm_perf_prefetch_bitmap_tree_t tree;
	uvm_perf_prefetch_hint_t hint;

	(void)state;
	begin("threshold=49");
	block.gpus[64] = (void *)&on_gpu;
	uvm_processor_mask_set(&block.resident, id(65));
	__wrap_uvm_perf_prefetch_get_hint_va_block(&block, &context, id(65), &faulted,
						   (uvm_va_block_region_t){0, 1}, &tree, &hint);
	assert_int_equal(hint.residency.val, 65);
	assert_int_equal(hint.prefetch_pages_mask.bitmap[0], 0xe);
	range.policy.preferred_location = id(65);
	uvm_processor_mask_zero(&block.resident);
	__wrap_uvm_perf_prefetch_get_hint_va_block(&block, &context, id(65), &faulted,
						   (uvm_va_block_region_t){0, 1}, &tree, &hint);
	assert_int_equal(hint.prefetch_pages_mask.bitmap[0], 0xfffffffe); /* first touch: the block */
	finish();
}

static void test_thrashing(void **state)
{
	struct uvm_make_resident_context_struct whole;
	uvm_perf_event_data_t data;

	(void)state;
	begin("nvidia-595");
	for (uint32_t i = 0; i < 5; i++) {
		mock.now_ns += 1000;
		whole.dest_id = id(ids[i % 2]);
		data = (uvm_perf_event_data_t){.migration = {.block = &block,
							     .dst = whole.dest_id,
							     .address = BASE + 31 * PAGE_SIZE,
							     .bytes = PAGE_SIZE,
							     .transfer_mode = UVM_VA_BLOCK_TRANSFER_MODE_MOVE,
							     .make_resident_context = &whole}};
		mock_notify(&va_space, UVM_PERF_EVENT_MIGRATION, &data);
	}
	assert_int_equal(__wrap_uvm_perf_thrashing_get_thrashing_pages(&block)->bitmap[0], 1ul << 31);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_prefetch),
		cmocka_unit_test(test_thrashing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
