/* adapters/nvidia-uvm: the thrashing detector over the mock of the driver: events, hints, ids, memory, the worker
 * that unpins, lives of blocks and VA spaces, shadow mode. The mock fails a test that allocates under a lock of the
 * adapter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "uvmp_nv.h"

#define BASE 0x7f0000000000u
#define PAGE 7u

static const NvU32 nine[] = {1, 9, 17, 25, 33, 41, 49, 57, 65, 0};

static uvm_va_space_t va_space;
static uvm_va_range_managed_t range;
static uvm_va_block_t block;
static uvm_va_block_context_t context;
static uvm_page_mask_t resident;

static uvm_processor_id_t id(NvU32 value)
{
	return (uvm_processor_id_t){value};
}

static NvU64 address_of(uint32_t page)
{
	return BASE + page * PAGE_SIZE;
}

static struct uvmp_nv_space *space(void)
{
	return uvmp_nv_space_of(&va_space);
}

static struct uvmp_nv_block *state_of_block(void)
{
	return uvmp_nv_block_find(space(), &block);
}

static void relate(NvU32 a, NvU32 b)
{
	uvm_processor_mask_set(&va_space.can_access[a], id(b));
}

static void begin(const char *policy, bool is_shadow, const NvU32 *ids)
{
	mock_reset();
	if (mock_load(policy, is_shadow) != NV_OK)
		fail_msg("%s", mock.log);
	mock_space_open(&va_space, ids);
	mock_block(&block, &va_space, &range, BASE, 512);
	relate(0, 0);
	for (; *ids != 0; ids++) {
		relate(*ids, *ids);
		relate(*ids, 0);
	}
	uvm_processor_mask_set(&block.holders, UVM_ID_CPU);
}

static void finish(void)
{
	mock_space_close(&va_space);
	mock_exit();
}

static uvm_perf_event_data_t migration_to(NvU32 to, uint32_t first, uint32_t pages)
{
	static struct uvm_make_resident_context_struct whole;

	whole.dest_id = id(to);
	return (uvm_perf_event_data_t){.migration = {.block = &block,
						     .dst = id(to),
						     .address = address_of(first),
						     .bytes = pages * PAGE_SIZE,
						     .transfer_mode = UVM_VA_BLOCK_TRANSFER_MODE_MOVE,
						     .cause = UVM_MAKE_RESIDENT_CAUSE_REPLAYABLE_FAULT,
						     .make_resident_context = &whole}};
}

static void migrate(NvU32 to, uint32_t first, uint32_t pages)
{
	uvm_perf_event_data_t data = migration_to(to, first, pages);

	mock.now_ns += 1000;
	mock_notify(&va_space, UVM_PERF_EVENT_MIGRATION, &data);
}

static void revoke(NvU32 from, uint32_t page)
{
	uvm_perf_event_data_t data = {.revocation = {&block, id(from), address_of(page), PAGE_SIZE}};

	mock.now_ns += 1000;
	mock_notify(&va_space, UVM_PERF_EVENT_REVOCATION, &data);
}

/* Pages [first, first + pages) bounce between two processors until they thrash. */
static void bounce(NvU32 a, NvU32 b, uint32_t first, uint32_t pages)
{
	for (uint32_t i = 0; i < 5; i++)
		migrate(i % 2 != 0 ? a : b, first, pages);
}

static uvm_perf_thrashing_hint_t ask(NvU32 requester, uint32_t page)
{
	mock.now_ns += 1000;
	return __wrap_uvm_perf_thrashing_get_hint(&block, &context, address_of(page), id(requester));
}

static bool is_thrashing(uint32_t page)
{
	const uvm_page_mask_t *pages = __wrap_uvm_perf_thrashing_get_thrashing_pages(&block);
	uvmp_mask room;

	return pages != NULL && uvmp_mask_test(uvmp_nv_pages(pages, &room), page);
}

static struct uvmp_nv_count counted(void)
{
	struct uvmp_nv_count count;

	uvmp_nv_counts_get(UVMP_NV_THRASH, &count);
	return count;
}

/* -- hints -- */

static void test_throttle(void **state)
{
	uvm_perf_thrashing_hint_t hint;
	NvU64 begun;

	(void)state;
	begin("nvidia-595", false, nine);
	assert_int_equal(mock.real_loads + mock.real_registers, 0); /* the driver's detector is not loaded */
	hint = ask(1, PAGE);
	assert_int_equal(hint.type, UVM_PERF_THRASHING_HINT_TYPE_NONE);
	assert_null(state_of_block());
	bounce(1, 9, PAGE, 1);
	assert_true(is_thrashing(PAGE));
	assert_false(is_thrashing(PAGE + 1));
	hint = ask(1, PAGE); /* begins a period and is spared */
	begun = mock.now_ns;
	assert_int_equal(hint.type, UVM_PERF_THRASHING_HINT_TYPE_NONE);
	hint = ask(9, PAGE);
	assert_int_equal(hint.type, UVM_PERF_THRASHING_HINT_TYPE_THROTTLE);
	assert_int_equal(hint.throttle.end_time_stamp, (begun + 500000u) & ~(NvU64)63);
	hint = ask(9, PAGE + 1);
	assert_int_equal(hint.type, UVM_PERF_THRASHING_HINT_TYPE_NONE);
	assert_int_equal(mock.real_thrash, 0);
	assert_int_equal(counted().decisions, 3);
	finish();
}

/* All pairs of ids; the answer is in ids of the driver. */
static void test_ids(void **state)
{
	(void)state;
	for (uint32_t a = 0; nine[a] != 0; a++)
		for (uint32_t b = 0; nine[b] != 0; b++) {
			uvm_processor_mask_t both = {{0}};
			uvm_perf_thrashing_hint_t hint;

			if (a == b)
				continue;
			begin("nvidia-595", false, nine);
			range.policy.preferred_location = id(nine[a]);
			relate(nine[b], nine[a]);
			bounce(nine[a], nine[b], PAGE, 1);
			hint = ask(nine[b], PAGE);
			uvm_processor_mask_set(&both, id(nine[a]));
			uvm_processor_mask_set(&both, id(nine[b]));
			assert_int_equal(hint.type, UVM_PERF_THRASHING_HINT_TYPE_PIN);
			assert_int_equal(hint.pin.residency.val, nine[a]);
			assert_memory_equal(&hint.pin.processors, &both, sizeof(both));
			assert_memory_equal(
				__wrap_uvm_perf_thrashing_get_thrashing_processors(&block, address_of(PAGE)),
				&both, sizeof(both));
			/* a preferred location without memory is the CPU */
			uvm_processor_mask_set(&mock.without_memory, id(nine[a]));
			hint = ask(nine[b], PAGE);
			assert_int_equal(hint.pin.residency.val, 0);
			finish();
		}
}

/* Parts of one GPU (ids 65 and 66) reach each other's memory; GPUs 57 and 65 do not. */
static void test_parts_of_a_gpu(void **state)
{
	const NvU32 parts[] = {57, 65, 66, 0};
	uvm_perf_thrashing_hint_t hint;

	(void)state;
	begin("nvidia-595", false, parts);
	uvm_processor_mask_zero(&block.holders);
	uvm_processor_mask_set(&block.holders, id(65));
	bounce(65, 66, PAGE, 1);
	hint = ask(66, PAGE);
	assert_int_equal(hint.type, UVM_PERF_THRASHING_HINT_TYPE_PIN);
	assert_int_equal(hint.pin.residency.val, 65);
	bounce(57, 65, PAGE + 1, 1);
	hint = ask(57, PAGE + 1);
	assert_int_equal(hint.type, UVM_PERF_THRASHING_HINT_TYPE_NONE);
	finish();
}

/* Fast links with atomics, as in the driver's table. */
static void test_fast_links(void **state)
{
	uvm_perf_thrashing_hint_t hint;

	(void)state;
	begin("nvidia-595", false, nine);
	uvm_processor_mask_zero(&block.holders);
	uvm_processor_mask_set(&block.holders, id(65));
	uvm_processor_mask_set(&va_space.has_fast_link[65], id(9));
	bounce(65, 9, PAGE, 1);
	hint = ask(9, PAGE);
	assert_int_equal(hint.type, UVM_PERF_THRASHING_HINT_TYPE_NONE);
	uvm_processor_mask_set(&va_space.has_native_atomics[65], id(9));
	hint = ask(9, PAGE);
	assert_int_equal(hint.type, UVM_PERF_THRASHING_HINT_TYPE_PIN);
	assert_int_equal(hint.pin.residency.val, 65);
	finish();
}

/* -- events -- */

static void test_ignored_events(void **state)
{
	uvm_va_space_t unknown = {.groups = 0};
	uvm_perf_event_data_t data;
	int lookups;

	(void)state;
	begin("nvidia-595", false, nine);
	data = migration_to(1, PAGE, 1);
	data.migration.block = NULL; /* pageable memory */
	mock_notify(&va_space, UVM_PERF_EVENT_MIGRATION, &data);
	data = migration_to(1, PAGE, 1);
	data.migration.cause =
		UVM_MAKE_RESIDENT_CAUSE_EVICTION; /* the VA space may be closing: it is not looked up */
	lookups = mock.lookups;
	mock_notify(&va_space, UVM_PERF_EVENT_MIGRATION, &data);
	assert_int_equal(mock.lookups, lookups);
	data = migration_to(1, PAGE, 1);
	data.migration.make_resident_context->dest_id = id(9); /* staged */
	mock_notify(&va_space, UVM_PERF_EVENT_MIGRATION, &data);
	data = migration_to(3, PAGE, 1); /* not registered */
	mock_notify(&va_space, UVM_PERF_EVENT_MIGRATION, &data);
	data = migration_to(1, PAGE, 1);
	data.migration.cause =
		UVM_MAKE_RESIDENT_CAUSE_API_MIGRATE; /* resets, and there is nothing to reset */
	mock_notify(&va_space, UVM_PERF_EVENT_MIGRATION, &data);
	data = migration_to(1, PAGE, 1);
	uvmp_nv_thrash_event(&unknown, UVM_PERF_EVENT_MIGRATION, &data);
	assert_null(state_of_block());
	finish();
}

static void test_resets(void **state)
{
	static const uvm_make_resident_cause_t causes[] = {UVM_MAKE_RESIDENT_CAUSE_NON_REPLAYABLE_FAULT,
							   UVM_MAKE_RESIDENT_CAUSE_API_MIGRATE,
							   UVM_MAKE_RESIDENT_CAUSE_API_HINT};
	uvm_perf_event_data_t data;

	(void)state;
	begin("nvidia-595", false, nine);
	for (size_t i = 0; i < ARRAY_SIZE(causes); i++) {
		bounce(1, 9, PAGE, 4);
		assert_true(is_thrashing(PAGE) && is_thrashing(PAGE + 3));
		data = migration_to(1, PAGE, 2);
		data.migration.cause = causes[i];
		mock_notify(&va_space, UVM_PERF_EVENT_MIGRATION, &data);
		assert_true(!is_thrashing(PAGE) && !is_thrashing(PAGE + 1) && is_thrashing(PAGE + 2));
	}
	bounce(1, 9, PAGE, 1);
	data = migration_to(1, PAGE, 1);
	data.migration.transfer_mode = UVM_VA_BLOCK_TRANSFER_MODE_COPY;
	mock_notify(&va_space, UVM_PERF_EVENT_MIGRATION, &data);
	assert_false(is_thrashing(PAGE));
	bounce(1, 9, PAGE, 1);
	range.policy.read_duplication = UVM_READ_DUPLICATION_ENABLED;
	migrate(1, PAGE, 1);
	assert_false(is_thrashing(PAGE));
	range.policy.read_duplication = UVM_READ_DUPLICATION_DISABLED;
	bounce(1, 9, PAGE, 2);
	data = (uvm_perf_event_data_t){.block_munmap = {&block, {PAGE, PAGE + 1}}};
	mock_notify(&va_space, UVM_PERF_EVENT_BLOCK_MUNMAP, &data);
	assert_true(!is_thrashing(PAGE) && is_thrashing(PAGE + 1));
	finish();
	begin("nvidia-595", false, nine);
	mock_notify(&va_space, UVM_PERF_EVENT_BLOCK_MUNMAP, &data); /* of a block without state */
	assert_null(state_of_block());
	finish();
}

static void test_revocations(void **state)
{
	(void)state;
	begin("nvidia-595", false, nine);
	for (uint32_t i = 0; i < 5; i++)
		revoke(i % 2 != 0 ? 65 : 0, PAGE);
	assert_true(is_thrashing(PAGE));
	revoke(3, PAGE); /* not registered */
	finish();
}

static void test_switched_off(void **state)
{
	(void)state;
	begin("thrash=off", false, nine);
	bounce(1, 9, PAGE, 1);
	assert_null(state_of_block());
	assert_int_equal(ask(1, PAGE).type, UVM_PERF_THRASHING_HINT_TYPE_NONE);
	assert_null(__wrap_uvm_perf_thrashing_get_thrashing_pages(&block));
	assert_int_equal(mock.real_thrash, 0);
	finish();
}

/* -- memory and lives -- */

static void test_memory(void **state)
{
	uvm_processor_mask_t none = {{0}};
	int allocations;

	(void)state;
	begin("epoch=1", false, nine);
	allocations = mock.allocations;
	mock.fail_allocation = 1; /* the state of the block */
	migrate(1, PAGE, 1);
	assert_null(state_of_block());
	migrate(1, PAGE, 1);
	assert_int_equal(mock.allocations, allocations + 1);
	assert_memory_equal(__wrap_uvm_perf_thrashing_get_thrashing_processors(&block, address_of(PAGE)),
			    &none, sizeof(none));
	mock.fail_allocation = 1; /* its pages: the event is dropped */
	migrate(9, PAGE, 1);
	assert_int_equal(mock.allocations, allocations + 1);
	bounce(1, 9, PAGE, 1);
	assert_int_equal(mock.allocations, allocations + 2);
	assert_true(is_thrashing(PAGE));
	/* An epoch later the block is reset, and the memory of its pages is free. */
	mock.now_ns += 10000000;
	assert_int_equal(ask(1, PAGE).type, UVM_PERF_THRASHING_HINT_TYPE_NONE);
	assert_false(is_thrashing(PAGE));
	assert_int_equal(mock.allocations, allocations + 1);
	bounce(1, 9, PAGE, 1);
	assert_int_equal(mock.allocations, allocations + 2);
	finish();
}

static void test_lives_of_blocks(void **state)
{
	uvm_perf_event_data_t data = {.block_destroy = {&block}};

	(void)state;
	begin("nvidia-595", false, nine);
	range.policy.preferred_location = UVM_ID_CPU;
	for (int i = 0; i < 3; i++) {
		bounce(1, 9, PAGE, 1);
		assert_int_equal(ask(1, PAGE).type, UVM_PERF_THRASHING_HINT_TYPE_PIN);
		assert_non_null(space()->thrash.first);
		mock_notify(&va_space, i == 0 ? UVM_PERF_EVENT_BLOCK_SHRINK : UVM_PERF_EVENT_BLOCK_DESTROY,
			    &data);
		assert_null(space()->thrash.first); /* its pages have left the queue */
		assert_null(state_of_block());
		assert_false(is_thrashing(PAGE));
	}
	bounce(1, 9, PAGE, 1);
	__wrap_uvm_perf_thrashing_info_destroy(&block);
	assert_null(state_of_block());
	assert_int_equal(mock.real_destroys, 0);
	bounce(1, 9, PAGE, 1); /* freed with the VA space */
	finish();
}

/* A GPU with a lower id than another shifts numbers, so the history is dropped; one with a higher id does not. */
static void test_registering_gpus(void **state)
{
	const NvU32 two[] = {9, 17, 0};
	uvm_perf_thrashing_hint_t hint;

	(void)state;
	begin("nvidia-595", false, two);
	bounce(9, 17, PAGE, 1);
	mock_register(&va_space, 65);
	mock_register(&va_space, 65);
	assert_true(is_thrashing(PAGE));
	mock_register(&va_space, 1);
	assert_null(state_of_block());
	range.policy.preferred_location = id(65);
	relate(9, 65);
	relate(65, 65);
	bounce(9, 65, PAGE, 1);
	hint = ask(9, PAGE);
	assert_int_equal(hint.type, UVM_PERF_THRASHING_HINT_TYPE_PIN);
	assert_int_equal(hint.pin.residency.val, 65);
	finish();
}

/* A GPU without a number gets no hint. */
static void test_the_64th_gpu(void **state)
{
	NvU32 ids[65];

	(void)state;
	for (uint32_t i = 0; i < 64; i++)
		ids[i] = 2 * i + 1;
	ids[64] = 0;
	begin("nvidia-595", false, ids);
	bounce(1, 2 * 62 + 1, PAGE, 1);
	assert_int_equal(ask(2 * 63 + 1, PAGE).type, UVM_PERF_THRASHING_HINT_TYPE_NONE);
	assert_int_equal(counted().left, 1);
	range.policy.preferred_location = id(2 * 63 + 1);
	assert_int_equal(ask(1, PAGE).type, UVM_PERF_THRASHING_HINT_TYPE_NONE);
	assert_int_equal(counted().left, 2);
	finish();
}

/* -- unpinning -- */

static uvmp_mask unmapped(void)
{
	uvmp_mask room;

	return *uvmp_nv_pages(&mock.unmapped, &room);
}

static void test_worker(void **state)
{
	struct delayed_work *work;

	(void)state;
	begin("pin=2", false, nine);
	range.policy.preferred_location = UVM_ID_CPU;
	bounce(1, 9, PAGE, 2);
	work = &space()->unpin;
	assert_int_equal(ask(1, PAGE).type, UVM_PERF_THRASHING_HINT_TYPE_PIN);
	assert_true(work->is_pending);
	assert_in_range(work->delay_us, 999, 1000);
	assert_int_equal(ask(1, PAGE + 1).type, UVM_PERF_THRASHING_HINT_TYPE_PIN);
	/* too early: the timer is set again */
	mock.now_ns += 500000;
	mock_work(work);
	assert_true(work->is_pending && work->delay_us < 600);
	assert_int_equal(mock.unmaps, 0);
	/* 1 is mapped and has no copy, 9 has one, 17 is accessed-by, the CPU holds the pages */
	for (uint32_t i = 0; i < 3; i++)
		uvm_processor_mask_set(&block.mapped, id(nine[i]));
	uvm_processor_mask_set(&range.policy.accessed_by, id(17));
	mock_page_set(&resident, PAGE);
	mock_page_set(&resident, PAGE + 1);
	block.gpus[8] = (void *)&resident;
	uvm_processor_mask_set(&block.resident, id(9));
	mock.now_ns += 600000;
	mock_work(work);
	assert_false(work->is_pending);
	assert_int_equal(mock.unmaps, 2); /* each page from GPU 1 */
	assert_int_equal(mock.unmapped_id.val, 1);
	assert_int_equal(block.tracker.operations, 2);
	assert_true(!is_thrashing(PAGE) && !is_thrashing(PAGE + 1));
	assert_null(space()->thrash.first);
	mock_work(work);
	finish();
}

/* Of the head alone: the timer is set for the next page. Unmapping may fail. */
static void test_worker_and_times(void **state)
{
	struct delayed_work *work;

	(void)state;
	begin("pin=2", false, nine);
	mock_block(&block, &va_space, NULL, BASE, 512); /* system-allocated memory */
	block.policy.preferred_location = UVM_ID_CPU;
	bounce(1, 9, PAGE, 2);
	work = &space()->unpin;
	assert_int_equal(ask(1, PAGE).type, UVM_PERF_THRASHING_HINT_TYPE_PIN);
	mock.now_ns += 400000;
	assert_int_equal(ask(1, PAGE + 1).type, UVM_PERF_THRASHING_HINT_TYPE_PIN);
	uvm_processor_mask_set(&block.mapped, id(1));
	uvm_processor_mask_set(&block.mapped, id(9));
	mock.fail_unmap = 1;
	mock.now_ns += 600000;
	mock_work(work);
	assert_int_equal(mock.unmaps, 1); /* of GPU 1, which failed */
	assert_true(!is_thrashing(PAGE) && is_thrashing(PAGE + 1));
	assert_true(work->is_pending);
	/* the VA space is being destroyed */
	__wrap_uvm_perf_thrashing_stop(&va_space);
	assert_false(work->is_pending);
	work->is_pending = true;
	mock.now_ns += 600000;
	mock_work(work);
	assert_true(is_thrashing(PAGE + 1));
	__wrap_uvm_perf_thrashing_info_destroy(&block);
	bounce(1, 9, PAGE, 1);
	assert_int_equal(ask(9, PAGE).type, UVM_PERF_THRASHING_HINT_TYPE_PIN);
	assert_false(work->is_pending);
	finish();
}

static void test_unmap_all(void **state)
{
	uvm_va_block_region_t pages = {0, 1}, all = {0, (uvm_page_index_t)PAGES_PER_UVM_VA_BLOCK};
	uvmp_mask expected = {{0}}, got;

	(void)state;
	begin("nvidia-595", false, nine);
	assert_int_equal(__wrap_uvm_perf_thrashing_unmap_remote_pinned_pages_all(&block, &context, pages),
			 NV_OK);
	range.policy.preferred_location = UVM_ID_CPU;
	bounce(1, 9, PAGE, 3);
	assert_int_equal(__wrap_uvm_perf_thrashing_unmap_remote_pinned_pages_all(&block, &context, all),
			 NV_OK);
	(void)ask(1, PAGE);
	(void)ask(1, PAGE + 2);
	uvm_processor_mask_set(&block.mapped, id(65));
	assert_int_equal(__wrap_uvm_perf_thrashing_unmap_remote_pinned_pages_all(&block, &context, all),
			 NV_OK);
	uvmp_mask_set(&expected, PAGE);
	uvmp_mask_set(&expected, PAGE + 2);
	got = unmapped();
	assert_true(uvmp_mask_equal(&got, &expected));
	assert_int_equal(mock.unmapped_id.val, 65);
	mock.fail_unmap = 1;
	assert_int_equal(__wrap_uvm_perf_thrashing_unmap_remote_pinned_pages_all(&block, &context, all),
			 NV_ERR_NO_MEMORY);
	assert_int_equal(mock.real_unmaps, 0);
	assert_int_equal(__wrap_uvm_test_get_page_thrashing_policy(NULL, NULL), NV_ERR_NOT_SUPPORTED);
	assert_int_equal(__wrap_uvm_test_set_page_thrashing_policy(NULL, NULL), NV_ERR_NOT_SUPPORTED);
	finish();
}

/* -- shadow -- */

static void test_shadow(void **state)
{
	uvm_perf_thrashing_hint_t hint;

	(void)state;
	begin("nvidia-595", true, nine);
	assert_int_equal(mock.real_loads, 1);
	assert_int_equal(mock.real_registers, 9);
	bounce(1, 9, PAGE, 1);
	mock_page_set(&mock.thrashing, PAGE); /* as the driver's detector finds */
	assert_int_equal(ask(1, PAGE).type, UVM_PERF_THRASHING_HINT_TYPE_NONE);
	assert_int_equal(counted().different, 0);
	/* the library throttles: the driver's answer stands, and the difference is counted */
	assert_int_equal(ask(9, PAGE).type, UVM_PERF_THRASHING_HINT_TYPE_NONE);
	assert_int_equal(counted().different, 1);
	mock.thrash.type = UVM_PERF_THRASHING_HINT_TYPE_THROTTLE;
	mock.thrash.throttle.end_time_stamp = state_of_block()->thrash.memory[PAGE].throttle_end_ns;
	hint = ask(9, PAGE);
	assert_int_equal(hint.type, UVM_PERF_THRASHING_HINT_TYPE_THROTTLE);
	assert_int_equal(counted().different, 1);
	mock.thrash.throttle.end_time_stamp++;
	(void)ask(9, PAGE);
	assert_int_equal(counted().different, 2);
	/* other thrashing pages */
	mock.thrash.throttle.end_time_stamp--;
	mock_page_set(&mock.thrashing, PAGE + 1);
	(void)ask(9, PAGE);
	assert_int_equal(counted().different, 3);
	assert_int_equal(counted().decisions, 5);
	assert_ptr_equal(__wrap_uvm_perf_thrashing_get_thrashing_pages(&block), &mock.thrashing);
	assert_ptr_equal(__wrap_uvm_perf_thrashing_get_thrashing_processors(&block, address_of(PAGE)),
			 &mock.without_memory);
	__wrap_uvm_perf_thrashing_info_destroy(&block);
	assert_int_equal(mock.real_destroys, 1);
	assert_int_equal(__wrap_uvm_perf_thrashing_unmap_remote_pinned_pages_all(
				 &block, &context, (uvm_va_block_region_t){0, 1}),
			 NV_OK);
	assert_int_equal(mock.real_unmaps, 1);
	finish();
	assert_int_equal(mock.real_stops + mock.real_unloads, 2);
}

/* The driver's worker unpins; the library's pages follow, and no timer is set. */
static void test_shadow_of_pins(void **state)
{
	(void)state;
	begin("nvidia-595", true, nine);
	range.policy.preferred_location = UVM_ID_CPU;
	bounce(1, 9, PAGE, 3);
	for (uint32_t page = PAGE; page < PAGE + 3; page++)
		mock_page_set(&mock.thrashing, page);
	mock.thrash.type = UVM_PERF_THRASHING_HINT_TYPE_PIN;
	uvm_processor_mask_set(&mock.thrash.pin.processors, id(1));
	uvm_processor_mask_set(&mock.thrash.pin.processors, id(9));
	(void)ask(1, PAGE);
	(void)ask(1, PAGE + 1);
	assert_int_equal(counted().different, 0);
	mock.thrash.pin.residency = id(9);
	(void)ask(1, PAGE + 2);
	assert_int_equal(counted().different, 1);
	assert_false(space()->unpin.is_pending);
	mock.thrash.pin.residency = UVM_ID_CPU;
	uvm_processor_mask_set(&mock.thrash.pin.processors, id(17));
	(void)ask(1, PAGE + 2);
	assert_int_equal(counted().different, 2);
	mock.thrashing.bitmap[0] &= ~(1ul << PAGE);
	mock.thrash.type = UVM_PERF_THRASHING_HINT_TYPE_NONE;
	(void)ask(1, PAGE);
	assert_int_equal(counted().different, 2);
	assert_false(uvmp_mask_test(&state_of_block()->thrash.thrashing, PAGE));
	assert_true(uvmp_mask_test(&state_of_block()->thrash.pinned, PAGE + 1));
	finish();
}

/* The driver's detector reads the library's time once, in the same thread. */
static void test_shadow_of_the_clock(void **state)
{
	char other;

	(void)state;
	begin("nvidia-595", true, nine);
	assert_int_equal(uvmp_nv_read_clock(space()), mock.now_ns);
	mock.now_ns += 5;
	assert_int_equal(uvmp_nv_driver_clock(&va_space), mock.now_ns - 5);
	assert_int_equal(uvmp_nv_driver_clock(&va_space), mock.now_ns);
	assert_int_equal(uvmp_nv_read_clock(space()), mock.now_ns);
	mock.now_ns += 5;
	mock_thread = &other;
	assert_int_equal(uvmp_nv_driver_clock(&va_space), mock.now_ns);
	mock_thread = &mock;
	assert_int_equal(uvmp_nv_driver_clock(&va_space), mock.now_ns - 5);
	finish();
	begin("nvidia-595", false, nine);
	(void)uvmp_nv_read_clock(space());
	mock.now_ns += 5;
	assert_int_equal(uvmp_nv_driver_clock(&va_space), mock.now_ns);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_throttle),	 cmocka_unit_test(test_ids),
		cmocka_unit_test(test_parts_of_a_gpu),	 cmocka_unit_test(test_fast_links),
		cmocka_unit_test(test_ignored_events),	 cmocka_unit_test(test_resets),
		cmocka_unit_test(test_revocations),	 cmocka_unit_test(test_switched_off),
		cmocka_unit_test(test_memory),		 cmocka_unit_test(test_lives_of_blocks),
		cmocka_unit_test(test_registering_gpus), cmocka_unit_test(test_the_64th_gpu),
		cmocka_unit_test(test_worker),		 cmocka_unit_test(test_worker_and_times),
		cmocka_unit_test(test_unmap_all),	 cmocka_unit_test(test_shadow),
		cmocka_unit_test(test_shadow_of_pins),	 cmocka_unit_test(test_shadow_of_the_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
