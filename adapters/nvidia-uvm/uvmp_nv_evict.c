/* The victim: which root chunk of 2 MiB the driver evicts where no root chunk is free.
 *
 * The driver's three lists stay as they are: unused chunks are evicted first, then discarded ones. The library's
 * order chooses among the used ones. The driver marks a chunk as used when it services faults there: this is what
 * the order learns, since the driver sees no accesses. evict=lru is the driver's own order: nothing is done. */
#include "uvmp_nv.h"

/* One GPU. Chunk number: address / 2 MiB. */
struct order {
	spinlock_t lock;
	struct uvmp_evict evict;
};

static struct order *orders[UVM_ID_MAX_GPUS];

/* NULL: the driver's order alone. */
static struct order *order_of(uvm_pmm_gpu_t *pmm)
{
	return uvmp_nv.mode == UVMP_NV_OFF ? NULL : orders[uvm_id_gpu_index(uvm_pmm_to_gpu(pmm)->id)];
}

static uint32_t unit_of(const uvm_gpu_chunk_t *chunk)
{
	return (uint32_t)(chunk->address / UVM_CHUNK_SIZE_MAX);
}

/* -- life of a GPU -- */

/* Without memory for it, the driver's order alone decides on this GPU. */
static void open_order(uvm_pmm_gpu_t *pmm)
{
	enum uvmp_evictor evictor = uvmp_nv.policy.evict;
	uint32_t units = (uint32_t)pmm->root_chunks.count;
	size_t bytes = uvmp_evict_size(evictor, units);
	struct order *order;

	if (bytes == 0) /* evict=lru, or a GPU without memory */
		return;
	order = uvm_kvmalloc_zero(sizeof(*order) + bytes);
	if (order == NULL)
		return;
	spin_lock_init(&order->lock);
	(void)uvmp_evict_init(&order->evict, evictor, units, order + 1, bytes);
	order->evict.reserve_percent = uvmp_nv.policy.reserve;
	orders[uvm_id_gpu_index(uvm_pmm_to_gpu(pmm)->id)] = order;
}

NV_STATUS __wrap_uvm_pmm_gpu_init(uvm_pmm_gpu_t *pmm)
{
	NV_STATUS status = __real_uvm_pmm_gpu_init(pmm);

	if (status == NV_OK && uvmp_nv.mode != UVMP_NV_OFF)
		open_order(pmm);
	return status;
}

void __wrap_uvm_pmm_gpu_deinit(uvm_pmm_gpu_t *pmm)
{
	uint32_t index = uvm_id_gpu_index(uvm_pmm_to_gpu(pmm)->id);

	__real_uvm_pmm_gpu_deinit(pmm);
	uvm_kvfree(orders[index]);
	orders[index] = NULL;
}

/* -- what the order learns -- */

static void used(uvm_pmm_gpu_t *pmm, const uvm_gpu_chunk_t *chunk, bool is_new)
{
	struct order *order = order_of(pmm);

	if (order == NULL)
		return;
	spin_lock(&order->lock);
	if (is_new) /* other data: counts of the data before do not count */
		(void)uvmp_evict_forget(&order->evict, unit_of(chunk));
	(void)uvmp_evict_touch(&order->evict, unit_of(chunk));
	spin_unlock(&order->lock);
}

static void unused(uvm_pmm_gpu_t *pmm, const uvm_gpu_chunk_t *chunk)
{
	struct order *order = order_of(pmm);

	if (order == NULL)
		return;
	spin_lock(&order->lock);
	(void)uvmp_evict_remove(&order->evict, unit_of(chunk));
	spin_unlock(&order->lock);
}

/* A VA block owns the chunk from now on. Smaller chunks share a root chunk. */
void __wrap_uvm_pmm_gpu_unpin_allocated(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk, uvm_va_block_t *va_block)
{
	__real_uvm_pmm_gpu_unpin_allocated(pmm, chunk, va_block);
	used(pmm, chunk, uvm_gpu_chunk_get_size(chunk) == UVM_CHUNK_SIZE_MAX);
}

void __wrap_uvm_pmm_gpu_mark_root_chunk_used(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	__real_uvm_pmm_gpu_mark_root_chunk_used(pmm, chunk);
	used(pmm, chunk, false);
}

void __wrap_uvm_pmm_gpu_mark_root_chunk_unused(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	__real_uvm_pmm_gpu_mark_root_chunk_unused(pmm, chunk);
	unused(pmm, chunk);
}

void __wrap_uvm_pmm_gpu_mark_root_chunk_discarded(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	__real_uvm_pmm_gpu_mark_root_chunk_discarded(pmm, chunk);
	unused(pmm, chunk);
}

/* -- the choice -- */

/* Chunks are freed, pinned and unpinned without the order, so a victim is tested. It stays in the driver's list of
 * used chunks exactly as long as it may be evicted. */
static bool may_go(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk,
		   bool (*is_evictable)(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk))
{
	return uvm_gpu_chunk_is_user(chunk) &&
	       (chunk->state == UVM_PMM_GPU_CHUNK_STATE_ALLOCATED ||
		chunk->state == UVM_PMM_GPU_CHUNK_STATE_IS_SPLIT) &&
	       !list_empty(&chunk->list) && is_evictable(pmm, chunk);
}

/* The first of the order that may be evicted; units that may not leave the order until their next touch. NULL:
 * none. */
static uvm_gpu_chunk_t *choose(uvm_pmm_gpu_t *pmm, struct order *order,
			       bool (*is_evictable)(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk))
{
	uint32_t unit;

	while (uvmp_evict_victim(&order->evict, NULL, &unit) == UVMP_OK) {
		uvm_gpu_chunk_t *chunk = &pmm->root_chunks.array[unit].chunk;

		if (may_go(pmm, chunk, is_evictable))
			return chunk;
		(void)uvmp_evict_remove(&order->evict, unit);
	}
	return NULL;
}

static bool has_only_used(const uvm_pmm_gpu_t *pmm)
{
	return list_empty(&pmm->root_chunks.alloc_list[UVM_PMM_ALLOC_LIST_UNUSED]) &&
	       list_empty(&pmm->root_chunks.alloc_list[UVM_PMM_ALLOC_LIST_DISCARDED]);
}

static void compare(const uvm_gpu_chunk_t *driver, const uvm_gpu_chunk_t *own)
{
	if (driver != own)
		uvmp_nv_differs(UVMP_NV_EVICT, "chunk 0x%llx of the driver, 0x%llx of the library",
				(unsigned long long)driver->address, (unsigned long long)own->address);
}

uvm_gpu_chunk_t *uvmp_nv_victim(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *driver,
				bool (*is_evictable)(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk))
{
	struct order *order = order_of(pmm);
	uvm_gpu_chunk_t *own = NULL, *victim = driver;

	if (order == NULL || driver == NULL)
		return driver;
	spin_lock(&order->lock);
	if (has_only_used(pmm)) {
		own = choose(pmm, order, is_evictable);
		if (own == NULL)
			uvmp_nv_left(UVMP_NV_EVICT);
	}
	if (own != NULL) {
		uvmp_nv_decided(UVMP_NV_EVICT);
		if (uvmp_nv.mode == UVMP_NV_SHADOW)
			compare(driver, own);
		else
			victim = own;
	}
	(void)uvmp_evict_forget(&order->evict, unit_of(victim));
	spin_unlock(&order->lock);
	return victim;
}
