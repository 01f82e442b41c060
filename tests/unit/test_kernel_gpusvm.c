/* docs/examples/kernel_gpusvm.c over a small model of drm_gpusvm: chunk sizes, ranges that never overlap or
 * split, invalidation, device memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "../../docs/examples/kernel_gpusvm.c"

#define BASE 0x40000000ul

/* -- the layer -- */

struct drm_gpusvm_range {
	unsigned long start, end;
	bool is_on_device, is_valid, is_bound;
};

static struct drm_gpusvm_range range[600];
static uint32_t ranges, populated, shared;
static bool is_populate_failing, is_cpu_quick;
static uint64_t now_ns;
static struct svm_block block;
static struct drm_gpusvm gpusvm;
static char page_owner;

bool IS_ERR(const void *pointer)
{
	return (uintptr_t)pointer >= (uintptr_t)-4095;
}

uint64_t ktime_get_ns(void)
{
	return now_ns += 1000;
}

static struct drm_gpusvm_range *find(unsigned long start, unsigned long end)
{
	for (uint32_t i = 0; i < ranges; i++)
		if (range[i].start < end && start < range[i].end)
			return &range[i];
	return NULL;
}

struct drm_gpusvm_range *drm_gpusvm_range_find_or_insert(struct drm_gpusvm *svm, unsigned long fault_addr,
                                                         unsigned long gpuva_start, unsigned long gpuva_end,
                                                         const struct drm_gpusvm_ctx *ctx)
{
	static const unsigned long chunk_sizes[] = {0x200000, 0x10000, 0x1000};
	struct drm_gpusvm_range *there = find(fault_addr, fault_addr + 1);

	assert_ptr_equal(svm, &gpusvm);
	assert_int_equal(shared, 0);
	(void)ctx;
	if (there != NULL)
		return there;
	for (uint32_t i = 0; i < 3; i++) {
		unsigned long start = fault_addr & ~(chunk_sizes[i] - 1), end = start + chunk_sizes[i];

		if (start < gpuva_start || end > gpuva_end || find(start, end) != NULL)
			continue;
		range[ranges] = (struct drm_gpusvm_range){.start = start, .end = end};
		return &range[ranges++];
	}
	return (struct drm_gpusvm_range *)(uintptr_t)-22;
}

unsigned long drm_gpusvm_range_start(struct drm_gpusvm_range *r)
{
	return r->start;
}

unsigned long drm_gpusvm_range_end(struct drm_gpusvm_range *r)
{
	return r->end;
}

int drm_gpusvm_range_get_pages(struct drm_gpusvm *svm, struct drm_gpusvm_range *r,
                               const struct drm_gpusvm_ctx *ctx)
{
	(void)svm;
	assert_int_equal(shared, 0);
	if (ctx->device_private_page_owner != &page_owner) /* pages of another device: they go to the CPU */
		r->is_on_device = false;
	r->is_valid = !is_cpu_quick;
	return 0;
}

bool drm_gpusvm_range_pages_valid(struct drm_gpusvm *svm, struct drm_gpusvm_range *r)
{
	(void)svm;
	assert_int_equal(shared, 1);
	return r->is_valid;
}

void drm_gpusvm_notifier_lock(struct drm_gpusvm *svm)
{
	(void)svm;
	shared++;
}

void drm_gpusvm_notifier_unlock(struct drm_gpusvm *svm)
{
	(void)svm;
	assert_int_equal(shared--, 1);
}

int drm_pagemap_populate_mm(struct drm_pagemap *dpagemap, unsigned long start, unsigned long end,
                            struct mm_struct *mm, unsigned long timeslice_ms)
{
	struct drm_gpusvm_range *r = find(start, end);

	(void)dpagemap, (void)mm, (void)timeslice_ms;
	assert_int_equal(shared, 0);
	assert_true(r->start == start && r->end == end);
	populated++;
	r->is_on_device = !is_populate_failing;
	return is_populate_failing ? -16 : 0;
}

struct svm_block *svm_block_get(unsigned long address)
{
	assert_int_equal(address, BASE);
	return &block;
}

bool svm_in_device_memory(struct drm_gpusvm_range *r)
{
	return r->is_on_device;
}

int svm_bind(struct drm_gpusvm_range *r)
{
	assert_int_equal(shared, 1);
	r->is_bound = true;
	return 0;
}

/* The CPU touches a page: its range goes home, as the layer's migrate_to_ram does with all of an allocation.
 */
static void cpu_touches(uint32_t page)
{
	struct drm_gpusvm_range *r = find(BASE + page * PAGE, BASE + page * PAGE + 1);

	svm_invalidate(&block, r->start, r->end);
	r->is_on_device = r->is_valid = r->is_bound = false;
}

/* -- tests -- */

static struct svm svm;
static struct uvmp_thrash_page pages[512];

static void start(uint32_t threshold)
{
	struct uvmp_thrash_params thrash;

	memset(range, 0, sizeof(range));
	memset(&block, 0, sizeof(block));
	ranges = populated = shared = 0;
	is_populate_failing = is_cpu_quick = false;
	now_ns = 0;
	svm = (struct svm){.gpusvm = &gpusvm,
	                   .page_owner = &page_owner,
	                   .processors = {.count = 2, .can_access = {1, 3}, .native_atomics = {1, 2}}};
	uvmp_prefetch_params_init(&svm.prefetch, UVMP_PREFETCH_DENSITY);
	svm.prefetch.threshold = threshold;
	uvmp_thrash_params_init(&thrash);
	assert_int_equal(uvmp_thrash_space_init(&svm.thrash, &thrash), UVMP_OK);
	uvmp_prefetch_state_init(&block.prefetch);
	assert_int_equal(uvmp_thrash_block_init(&block.thrash, BASE, 512), UVMP_OK);
}

static int fault(uint32_t page)
{
	return svm_fault(&svm, BASE + page * PAGE, BASE, BASE + BLOCK_BYTES);
}

static void assert_on_device(uint32_t first, uint32_t end)
{
	uvmp_mask want = {{0}};

	uvmp_mask_region_set(&want, (struct uvmp_region){first, end});
	assert_true(uvmp_mask_equal(&block.on_device, &want));
	for (uint32_t page = first; page < end; page++)
		assert_true(find(BASE + page * PAGE, BASE + page * PAGE + 1)->is_bound);
}

static void test_density_chooses_the_ranges(void **state)
{
	(void)state;
	start(51);
	assert_int_equal(fault(5), 0);
	assert_int_equal(ranges, 1);
	assert_int_equal(range[0].end - range[0].start, 0x10000);
	assert_on_device(0, 16);
	assert_int_equal(fault(16), 0);
	assert_on_device(0, 32);
	assert_int_equal(fault(40), 0); /* 48 of 64 pages: the rest is fetched too, in a separate range */
	assert_on_device(0, 64);
	assert_int_equal(ranges, 4);
	assert_int_equal(fault(5), 0); /* it is there: nothing moves twice */
	assert_on_device(0, 64);
}

static void test_whole_block(void **state)
{
	(void)state;
	start(1);
	assert_int_equal(fault(300), 0);
	assert_int_equal(ranges, 1);
	assert_int_equal(range[0].end - range[0].start, BLOCK_BYTES);
	assert_on_device(0, 512);
}

/* Nothing is asked for outside VMA and GPU mapping. */
static void test_window(void **state)
{
	(void)state;
	start(1);
	assert_int_equal(svm_fault(&svm, BASE + 20 * PAGE, BASE + 3 * PAGE, BASE + 40 * PAGE), 0);
	assert_on_device(3, 40);
}

static void test_the_cpu_takes_it_back(void **state)
{
	(void)state;
	start(51);
	assert_int_equal(fault(5), 0);
	cpu_touches(0);
	assert_on_device(0, 0);
	assert_int_equal(uvmp_mask_weight(&block.went_home), 16);
	assert_int_equal(fault(5), 0);
	assert_on_device(0, 16);
	assert_true(uvmp_mask_is_empty(&block.went_home));
	is_cpu_quick = true;
	cpu_touches(0);
	assert_int_equal(fault(5), SVM_AGAIN);
	assert_on_device(0, 0);
}

static void test_no_device_memory(void **state)
{
	(void)state;
	start(51);
	is_populate_failing = true;
	assert_int_equal(fault(5), 0); /* mapped where it is */
	assert_on_device(0, 0);
	assert_true(range[0].is_bound);
}

/* Back and forth: throttled, and in the end the page stays on the CPU and is only mapped. */
static void test_thrashing(void **state)
{
	uint32_t again = 0, rounds = 0;

	(void)state;
	start(51);
	assert_int_equal(uvmp_thrash_block_give(&block.thrash, pages, sizeof(pages)), UVMP_OK);
	for (; rounds < 100; rounds++) {
		uint32_t before = populated;
		int error = fault(5);

		now_ns += 100000;
		if (error == SVM_AGAIN) {
			again++;
			now_ns += 400000;
			continue;
		}
		assert_int_equal(error, 0);
		if (populated == before)
			break; /* pinned */
		cpu_touches(5);
		now_ns += 100000;
	}
	assert_true(rounds < 100);
	assert_true(again > 0);
	assert_false(uvmp_mask_test(&block.on_device, 5));
	assert_true(find(BASE + 5 * PAGE, BASE + 5 * PAGE + 1)->is_bound);
}

static void test_victims(void **state)
{
	static uint64_t memory[4096];
	struct uvmp_evict order;
	uint32_t unit;

	(void)state;
	assert_true(uvmp_evict_size(UVMP_EVICT_LRU_2M, 8) <= sizeof(memory));
	assert_int_equal(uvmp_evict_init(&order, UVMP_EVICT_LRU_2M, 8, memory, sizeof(memory)), UVMP_OK);
	assert_int_equal(svm_victim(&order, &unit), UVMP_ERR_NO_MEMORY);
	svm_used(&order, 3);
	svm_used(&order, 5);
	svm_used(&order, 3);
	assert_int_equal(svm_victim(&order, &unit), UVMP_OK);
	assert_int_equal(unit, 5);
	assert_int_equal(svm_victim(&order, &unit), UVMP_OK);
	assert_int_equal(unit, 3);
	assert_int_equal(svm_victim(&order, &unit), UVMP_ERR_NO_MEMORY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_density_chooses_the_ranges),
	        cmocka_unit_test(test_whole_block),
	        cmocka_unit_test(test_window),
	        cmocka_unit_test(test_the_cpu_takes_it_back),
	        cmocka_unit_test(test_no_device_memory),
	        cmocka_unit_test(test_thrashing),
	        cmocka_unit_test(test_victims),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
