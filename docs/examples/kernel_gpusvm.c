/* The decisions of the library under Linux' drm_gpusvm layer: which pages of a VABlock are fetched with a
 * fault, in which ranges, whether to migrate at all, and which unit of device memory is evicted. The layer
 * does the rest. docs/embedding-kernel.md has the words; `make test` compiles this as a kernel would, and
 * runs it against a small model of the layer: tests/unit/test_kernel_gpusvm.c. */
#include "kernel_gpusvm.h"

#define PAGE        4096ul
#define BLOCK_BYTES 0x200000ul
#define GPU         1u

/* Of 2 MiB of the process' memory. The driver's own lock (vm->lock in xe; drm_gpusvm_driver_set_lock)
 * serialises all of it but the two fields that the notifier writes. */
struct svm_block {
	struct uvmp_prefetch_state prefetch;
	struct uvmp_thrash_block thrash;
	/* Written with the notifier lock held exclusively (svm_invalidate), or shared and the driver's lock
	 * beside it. */
	uvmp_mask on_device;
	uvmp_mask went_home; /* since the last fault; told to the thrashing detector then */
};

struct svm {
	struct drm_gpusvm *gpusvm;
	struct drm_pagemap *dpagemap;
	void *page_owner; /* `owner` of the device's struct dev_pagemap */
	struct uvmp_processors processors;
	struct uvmp_prefetch_params prefetch;
	struct uvmp_thrash_space thrash;
};

/* -- invalidation
 * ------------------------------------------------------------------------------------------------ */

/* From drm_gpusvm_ops.invalidate, for what [start, end) has in this block: the layer holds the notifier lock
 * exclusively, and memory may be being reclaimed, so nothing may be allocated here. Nothing is. */
void svm_invalidate(struct svm_block *block, unsigned long start, unsigned long end)
{
	unsigned long base = start & ~(BLOCK_BYTES - 1);
	struct uvmp_region invalidated = {(uint32_t)((start - base) / PAGE), (uint32_t)((end - base) / PAGE)};
	uvmp_mask home;

	uvmp_mask_region_and(&home, &block->on_device, invalidated);
	uvmp_mask_or(&block->went_home, &block->went_home, &home);
	uvmp_mask_region_clear(&block->on_device, invalidated);
}

/* -- thrashing
 * ---------------------------------------------------------------------------------------------------- */

/* An array of pages for a block that bounces is the caller's to give (uvmp_thrash_block_give, where it may
 * allocate); without one, as here, nothing is detected. */
static void tell_thrashing(struct svm *svm, struct svm_block *block, struct uvmp_region region, uint32_t dst)
{
	struct uvmp_thrash_migration migration = {.region = region,
	                                          .to = dst,
	                                          .final_to = dst,
	                                          .cause = UVMP_MIGRATE_FAULT,
	                                          .now_ns = ktime_get_ns()};

	(void)uvmp_thrash_migrate(&svm->thrash, &block->thrash, &migration);
}

static void ask_thrashing(struct svm *svm, struct svm_block *block, uint32_t page, bool is_on_device,
                          struct uvmp_thrash_hint *hint)
{
	struct uvmp_thrash_facts facts = {.page = page,
	                                  .requester = GPU,
	                                  .residents = is_on_device ? 1u << GPU : 1u << UVMP_CPU,
	                                  .is_hmm = true,
	                                  .now_ns = ktime_get_ns()};

	hint->kind = UVMP_THRASH_NONE;
	(void)uvmp_thrash_decide(&svm->thrash, &block->thrash, &svm->processors, &facts, hint);
}

/* -- bringing pages
 * ---------------------------------------------------------------------------------------------- */

/* The largest size of range that is wanted around `page`, as a region of the block. */
static struct uvmp_region largest_chunk(const uvmp_mask *wanted, uint32_t page)
{
	static const uint32_t sizes[] = {512, 16, 1}; /* pages; chunk_sizes of drm_gpusvm_init */
	struct uvmp_region chunk = {page, page + 1};

	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		chunk.first = page & ~(sizes[i] - 1);
		chunk.end = chunk.first + sizes[i];
		if (uvmp_mask_region_all(wanted, chunk))
			break;
	}
	return chunk;
}

/* One range on the device: made if need be, migrated, bound. gpuva_start and gpuva_end are what makes the
 * layer choose the size that was decided: it takes the largest chunk that lies between them. *got: what the
 * range really is. Without the owner in the context, the layer would take pages in device memory for those of
 * another device, and migrate them to the CPU: which is right where they must not be on the device. */
static int bring(struct svm *svm, struct svm_block *block, unsigned long base, struct uvmp_region chunk,
                 uint32_t page, bool is_migrated, struct uvmp_region *got)
{
	struct drm_gpusvm_ctx ctx = {.device_private_page_owner = is_migrated ? svm->page_owner : NULL,
	                             .devmem_possible = is_migrated};
	struct drm_gpusvm_range *range;
	bool is_there = false;
	int error;

	range = drm_gpusvm_range_find_or_insert(svm->gpusvm, base + page * PAGE, base + chunk.first * PAGE,
	                                        base + chunk.end * PAGE, &ctx);
	if (IS_ERR(range))
		return SVM_FAULT;
	got->first = (uint32_t)((drm_gpusvm_range_start(range) - base) / PAGE);
	got->end = (uint32_t)((drm_gpusvm_range_end(range) - base) / PAGE);
	if (is_migrated)
		(void)drm_pagemap_populate_mm(svm->dpagemap, drm_gpusvm_range_start(range),
		                              drm_gpusvm_range_end(range), svm->gpusvm->mm,
		                              ctx.timeslice_ms); /* fails: system memory is mapped */
	error = drm_gpusvm_range_get_pages(svm->gpusvm, range, &ctx);
	if (error != 0)
		return error;

	/* Between here and there the CPU may have changed its mind; under the lock it cannot. */
	drm_gpusvm_notifier_lock(svm->gpusvm);
	error = drm_gpusvm_range_pages_valid(svm->gpusvm, range) ? svm_bind(range) : SVM_AGAIN;
	if (error == 0 && svm_in_device_memory(range)) {
		uvmp_mask_region_set(&block->on_device, *got);
		is_there = true;
	}
	drm_gpusvm_notifier_unlock(svm->gpusvm);
	if (is_there)
		tell_thrashing(svm, block, *got, GPU);
	return error;
}

/* -- the fault
 * --------------------------------------------------------------------------------------------------- */

/* What the prefetcher adds to the page that faulted, inside [first, end) of the block: VMA and GPU mapping,
 * cut at it. */
static void decide_pages(struct svm *svm, struct svm_block *block, unsigned long base,
                         const uvmp_mask *on_device, uint32_t page, struct uvmp_region window,
                         uvmp_mask *wanted)
{
	uvmp_mask faulted = {{0}};
	struct uvmp_prefetch_hint hint;
	struct uvmp_prefetch_facts facts = {
	        .block = {.start = base, .last = base + BLOCK_BYTES - 1, .pages = 512, .big_pages = 16},
	        .faulted = &faulted,
	        .faulted_region = {page, page + 1},
	        .resident = on_device,
	        .to = GPU,
	        .is_hmm = true,
	        .max_region = window,
	        .thrashing = block->thrash.has_pages ? &block->thrash.thrashing : NULL};

	uvmp_mask_set(&faulted, page);
	*wanted = faulted;
	if (uvmp_prefetch_decide(&svm->prefetch, &facts, &block->prefetch, &hint) == UVMP_OK &&
	    hint.to == GPU)
		uvmp_mask_or(wanted, wanted, &hint.pages);
	uvmp_mask_andnot(wanted, wanted, on_device);
	uvmp_mask_set(wanted, page);
}

/* GPU page fault handler, in process context with the driver's lock held and no other. [start, end): where
 * VMA and GPU mapping both are, around the fault. 0: try again (replay); SVM_AGAIN: the CPU was quicker,
 * fault again; else it is the program's mistake. */
int svm_fault(struct svm *svm, unsigned long address, unsigned long start, unsigned long end)
{
	unsigned long base = address & ~(BLOCK_BYTES - 1);
	uint32_t page = (uint32_t)((address - base) / PAGE);
	struct uvmp_region window = {start > base ? (uint32_t)((start - base) / PAGE) : 0,
	                             end < base + BLOCK_BYTES ? (uint32_t)((end - base) / PAGE) : 512};
	struct svm_block *block = svm_block_get(base);
	struct uvmp_thrash_hint hint;
	struct uvmp_region got;
	uvmp_mask on_device, home, wanted;
	int error;

	if (block == NULL)
		return SVM_AGAIN;
	drm_gpusvm_notifier_lock(svm->gpusvm);
	on_device = block->on_device;
	home = block->went_home;
	uvmp_mask_zero(&block->went_home);
	drm_gpusvm_notifier_unlock(svm->gpusvm);

	for (got = uvmp_mask_next_run(&home, 0); got.end != 0; got = uvmp_mask_next_run(&home, got.end))
		tell_thrashing(svm, block, got, UVMP_CPU);
	ask_thrashing(svm, block, page, uvmp_mask_test(&on_device, page), &hint);
	if (hint.kind == UVMP_THRASH_THROTTLE)
		return SVM_AGAIN; /* not before hint.until_ns: answer the other faults first */
	if (hint.kind == UVMP_THRASH_PIN && hint.pin_to == UVMP_CPU)
		return bring(svm, block, base, (struct uvmp_region){page, page + 1}, page, false, &got);

	decide_pages(svm, block, base, &on_device, page, window, &wanted);
	error = bring(svm, block, base, largest_chunk(&wanted, page), page, true, &got);
	if (error != 0)
		return error;
	uvmp_mask_region_clear(&wanted, got);

	/* The rest is a favour: what does not come is left to its own fault. */
	while (!uvmp_mask_is_empty(&wanted)) {
		page = uvmp_mask_next_set(&wanted, 0);
		if (bring(svm, block, base, largest_chunk(&wanted, page), page, true, &got) != 0)
			break;
		uvmp_mask_region_clear(&wanted, got);
		uvmp_mask_clear(&wanted, page);
	}
	return 0;
}

/* -- eviction
 * ---------------------------------------------------------------------------------------------------- */

/* Which 2 MiB of device memory leaves; the driver calls drm_pagemap_evict_to_ram for each allocation that
 * lies there, with no notifier lock held (migration runs the notifiers, which take it). The order has a lock
 * of its own, one per device: address spaces share its memory. svm_used puts the unit back, as the newest,
 * when something was allocated there. */
enum uvmp_status svm_victim(struct uvmp_evict *order, uint32_t *unit)
{
	enum uvmp_status status = uvmp_evict_victim(order, NULL, unit);

	if (status == UVMP_OK)
		(void)uvmp_evict_remove(order, *unit); /* no other thread picks it during its eviction */
	return status;
}

void svm_used(struct uvmp_evict *order, uint32_t unit)
{
	(void)uvmp_evict_touch(order, unit);
}
