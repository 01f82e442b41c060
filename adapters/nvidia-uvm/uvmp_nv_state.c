/* State of VA spaces and VA blocks, and the driver's events about their lives.
 *
 * A VA space is found by its address, a VA block by its address in the VA space's xarray. Their state lives from
 * uvm_perf_thrashing_load to _unload, and from first use to the block's end: BLOCK_DESTROY, BLOCK_SHRINK (a
 * split), MODULE_UNLOAD. */
#include "uvmp_nv.h"

/* Blocks and VA spaces are larger than 64 bytes, so no two of them have one key. */
#define KEY(pointer) ((unsigned long)(pointer) >> 6)

static DEFINE_XARRAY(spaces);

struct uvmp_nv_space *uvmp_nv_space_of(uvm_va_space_t *va_space)
{
	return xa_load(&spaces, KEY(va_space));
}

/* -- blocks -- */

static size_t tail_bytes(void)
{
	return (uvmp_nv.prefetcher->has_tree ? sizeof(struct uvmp_tree) : 0u) +
	       uvmp_nv.prefetcher->block_bytes;
}

/* Tree, then private state of the prefetcher, aligned to 8. */
static void lay_out(struct uvmp_nv_block *block)
{
	const struct uvmp_prefetch_traits *traits = uvmp_nv.prefetcher;
	uint32_t blocks = 1, pages = block->thrash.pages;
	NvU8 *at = (NvU8 *)block->bytes;

	_Static_assert(sizeof(struct uvmp_tree) % 8u == 0, "what follows the tree is aligned");
	if (traits->has_tree) {
		while (blocks * UVMP_BASIC_BLOCK_PAGES < pages)
			blocks *= 2u;
		block->prefetch.tree = (struct uvmp_tree *)at;
		(void)uvmp_tree_init(block->prefetch.tree, blocks);
		at += sizeof(struct uvmp_tree);
	}
	if (traits->block_bytes != 0)
		block->prefetch.block = at;
	block->prefetch.random = &block->random;
}

struct uvmp_nv_block *uvmp_nv_block_find(struct uvmp_nv_space *space, uvm_va_block_t *va_block)
{
	return xa_load(&space->blocks, KEY(va_block));
}

struct uvmp_nv_block *uvmp_nv_block_get(struct uvmp_nv_space *space, uvm_va_block_t *va_block)
{
	struct uvmp_nv_block *block = uvmp_nv_block_find(space, va_block);

	if (block != NULL)
		return block;
	block = uvm_kvmalloc_zero(sizeof(*block) + tail_bytes());
	if (block == NULL)
		return NULL;
	block->va_block = va_block;
	block->random = va_block->start;
	uvmp_thrash_block_init(&block->thrash, (uintptr_t)block,
			       (uint32_t)((va_block->end - va_block->start + 1u) / PAGE_SIZE));
	uvmp_prefetch_state_init(&block->prefetch);
	lay_out(block);
	if (xa_is_err(xa_store(&space->blocks, KEY(va_block), block, NV_UVM_GFP_FLAGS))) {
		uvm_kvfree(block);
		return NULL;
	}
	return block;
}

void uvmp_nv_block_drop(struct uvmp_nv_space *space, uvm_va_block_t *va_block)
{
	struct uvmp_nv_block *block = uvmp_nv_block_find(space, va_block);

	if (block == NULL)
		return;
	uvmp_nv_thrash_forget(space, block);
	xa_erase(&space->blocks, KEY(va_block));
	uvm_kvfree(block);
}

static void drop_all(struct uvmp_nv_space *space)
{
	struct uvmp_nv_block *block;
	unsigned long key;

	xa_for_each(&space->blocks, key, block) uvmp_nv_block_drop(space, block->va_block);
}

/* -- numbers of processors -- */

bool uvmp_nv_number(const struct uvmp_nv_space *space, uvm_processor_id_t id, uint32_t *number)
{
	*number = UVM_ID_IS_VALID(id) ? space->number[uvm_id_value(id)] : UVMP_PROC_NONE;
	return *number != 0 || UVM_ID_IS_CPU(id);
}

uvm_processor_id_t uvmp_nv_id(const struct uvmp_nv_space *space, uint32_t number)
{
	return number < space->count ? uvm_id_from_value(space->id[number]) : UVM_ID_INVALID;
}

uint64_t uvmp_nv_set(const struct uvmp_nv_space *space, const uvm_processor_mask_t *mask)
{
	uint64_t set = 0;

	for (uint32_t i = 0; i < space->count; i++)
		if (uvm_processor_mask_test(mask, uvmp_nv_id(space, i)))
			set |= (uint64_t)1 << i;
	return set;
}

void uvmp_nv_mask(const struct uvmp_nv_space *space, uint64_t set, uvm_processor_mask_t *mask)
{
	uvm_processor_mask_zero(mask);
	for (uint32_t i = 0; i < space->count; i++)
		if (set >> i & 1u)
			uvm_processor_mask_set(mask, uvmp_nv_id(space, i));
}

/* Until the detector reads the relations, each processor reaches its own memory. */
static void alone(struct uvmp_nv_space *space)
{
	struct uvmp_processors *p = &space->processors;

	memset(p, 0, sizeof(*p));
	p->count = space->count;
	for (uint32_t i = 0; i < p->count; i++)
		p->can_access[i] = p->native_atomics[i] = (uint64_t)1 << i;
}

/* Numbers rise with ids: where the driver takes the lowest id of several, the library takes the same. */
void uvmp_nv_space_add(struct uvmp_nv_space *space, uvm_processor_id_t id)
{
	uint32_t value = uvm_id_value(id), at = space->count;

	if (space->number[value] != 0 || space->count == UVMP_PROCS_MAX)
		return;
	if (space->id[at - 1u] > value)
		drop_all(space);
	for (; space->id[at - 1u] > value; at--) {
		space->id[at] = space->id[at - 1u];
		space->number[space->id[at]] = (NvU8)at;
	}
	space->id[at] = value;
	space->number[value] = (NvU8)at;
	space->count++;
	alone(space);
}

/* -- events -- */

static void on_block_end(uvm_va_space_t *va_space, uvm_perf_event_t event, uvm_perf_event_data_t *data)
{
	struct uvmp_nv_space *space = uvmp_nv_space_of(va_space);
	uvm_va_block_t *va_block = data->module_unload.block;

	if (event == UVM_PERF_EVENT_BLOCK_DESTROY)
		va_block = data->block_destroy.block;
	else if (event == UVM_PERF_EVENT_BLOCK_SHRINK)
		va_block = data->block_shrink.block;
	if (space != NULL && va_block != NULL)
		uvmp_nv_block_drop(space, va_block);
}

static const struct {
	uvm_perf_event_t event;
	uvm_perf_event_callback_t callback;
	bool is_thrashing; /* of the detector alone */
} events[] = {
	{UVM_PERF_EVENT_BLOCK_DESTROY, on_block_end, false},
	{UVM_PERF_EVENT_BLOCK_SHRINK, on_block_end, false},
	{UVM_PERF_EVENT_MODULE_UNLOAD, on_block_end, false},
	{UVM_PERF_EVENT_BLOCK_MUNMAP, uvmp_nv_thrash_event, true},
	{UVM_PERF_EVENT_MIGRATION, uvmp_nv_thrash_event, true},
	{UVM_PERF_EVENT_REVOCATION, uvmp_nv_thrash_event, true},
};

static void unregister(uvm_va_space_t *va_space)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(events); i++)
		uvm_perf_unregister_event_callback(&va_space->perf_events, events[i].event,
						   events[i].callback);
}

static NV_STATUS register_all(uvm_va_space_t *va_space)
{
	NV_STATUS status = NV_OK;

	for (uint32_t i = 0; i < ARRAY_SIZE(events) && status == NV_OK; i++)
		if (uvmp_nv.policy.thrash.is_enabled || !events[i].is_thrashing)
			status = uvm_perf_register_event_callback(&va_space->perf_events, events[i].event,
								  events[i].callback);
	if (status != NV_OK)
		unregister(va_space);
	return status;
}

/* -- VA spaces -- */

static void free_space(struct uvmp_nv_space *space)
{
	uvm_va_block_context_free(space->context);
	xa_destroy(&space->blocks);
	mutex_destroy(&space->lock);
	uvm_kvfree(space);
}

static struct uvmp_nv_space *make_space(uvm_va_space_t *va_space)
{
	struct uvmp_nv_space *space = uvm_kvmalloc_zero(sizeof(*space));

	if (space == NULL)
		return NULL;
	space->va_space = va_space;
	space->count = 1; /* the CPU; its id is 0 */
	alone(space);
	xa_init(&space->blocks);
	mutex_init(&space->lock);
	spin_lock_init(&space->clock_lock);
	space->context = uvm_va_block_context_alloc(NULL);
	if (space->context == NULL) {
		free_space(space);
		return NULL;
	}
	uvmp_nv_thrash_begin(space);
	return space;
}

NV_STATUS uvmp_nv_space_open(uvm_va_space_t *va_space)
{
	struct uvmp_nv_space *space = make_space(va_space);
	NV_STATUS status;

	if (space == NULL)
		return NV_ERR_NO_MEMORY;
	if (xa_is_err(xa_store(&spaces, KEY(va_space), space, NV_UVM_GFP_FLAGS))) {
		free_space(space);
		return NV_ERR_NO_MEMORY;
	}
	status = register_all(va_space);
	if (status != NV_OK) {
		xa_erase(&spaces, KEY(va_space));
		free_space(space);
	}
	return status;
}

/* The VA space lock is held for writing: no fault is serviced. Evictions may still report migrations, which the
 * callbacks ignore before they look up the VA space. */
void uvmp_nv_space_close(uvm_va_space_t *va_space)
{
	struct uvmp_nv_space *space = uvmp_nv_space_of(va_space);

	if (space == NULL)
		return;
	unregister(va_space);
	drop_all(space);
	xa_erase(&spaces, KEY(va_space));
	free_space(space);
}
