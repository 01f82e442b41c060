/* See nvidia_mock.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "uvmp_nv.h"

struct mock mock;
struct mock_global g_uvm_global;
const void *mock_thread = &mock;
extern void *const mock_parameter_uvmp_policy, *const mock_parameter_uvmp_shadow;

/* -- kernel -- */

int printk(const char *format, ...)
{
	size_t length = strlen(mock.log);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(mock.log + length, sizeof(mock.log) - length, format, arguments);
	va_end(arguments);
	return 0;
}

/* The adapter allocates under no mutex of its own: memory may have to be reclaimed. */
void *uvm_kvmalloc(size_t bytes)
{
	void *memory;

	assert_int_equal(mock.mutexes, 0);
	if (mock.fail_allocation > 0 && --mock.fail_allocation == 0)
		return NULL;
	memory = malloc(bytes);
	assert_non_null(memory);
	memset(memory, 0x5a, bytes);
	mock.allocations++;
	return memory;
}

void *uvm_kvmalloc_zero(size_t bytes)
{
	void *memory = uvm_kvmalloc(bytes);

	return memory != NULL ? memset(memory, 0, bytes) : NULL;
}

void uvm_kvfree(void *memory)
{
	mock.allocations -= memory != NULL;
	free(memory);
}

void sort(void *base, size_t count, size_t bytes, int (*compare)(const void *, const void *), void *swap)
{
	(void)swap;
	qsort(base, count, bytes, compare);
}

void mutex_init(struct mutex *mutex)
{
	mutex->is_held = false;
}

void mutex_destroy(struct mutex *mutex)
{
	assert_false(mutex->is_held);
}

void mutex_lock(struct mutex *mutex)
{
	assert_false(mutex->is_held);
	mutex->is_held = true;
	mock.mutexes++;
}

void mutex_unlock(struct mutex *mutex)
{
	assert_true(mutex->is_held);
	mutex->is_held = false;
	mock.mutexes--;
}

void spin_lock_init(spinlock_t *lock)
{
	lock->is_held = false;
}

void spin_lock(spinlock_t *lock)
{
	assert_false(lock->is_held);
	lock->is_held = true;
}

void spin_unlock(spinlock_t *lock)
{
	assert_true(lock->is_held);
	lock->is_held = false;
}

void xa_init(struct xarray *array)
{
	memset(array, 0, sizeof(*array));
}

void xa_destroy(struct xarray *array)
{
	free(array->entry);
	memset(array, 0, sizeof(*array));
}

static struct mock_entry *find_entry(struct xarray *array, unsigned long key)
{
	for (size_t i = 0; i < array->entries; i++)
		if (array->entry[i].key == key)
			return &array->entry[i];
	return NULL;
}

void *xa_load(struct xarray *array, unsigned long key)
{
	struct mock_entry *entry = find_entry(array, key);

	mock.lookups++;
	return entry != NULL ? entry->value : NULL;
}

bool xa_is_err(const void *entry)
{
	return entry == &mock;
}

/* Also fails as an allocation. */
void *xa_store(struct xarray *array, unsigned long key, void *value, int flags)
{
	(void)flags;
	assert_null(find_entry(array, key));
	if (mock.fail_allocation > 0 && --mock.fail_allocation == 0)
		return &mock;
	if (array->entries == array->capacity) {
		array->capacity = 2u * array->capacity + 4u;
		array->entry = realloc(array->entry, array->capacity * sizeof(*array->entry));
		assert_non_null(array->entry);
	}
	array->entry[array->entries++] = (struct mock_entry){key, value};
	return NULL;
}

void *xa_erase(struct xarray *array, unsigned long key)
{
	struct mock_entry *entry = find_entry(array, key);
	void *value = entry != NULL ? entry->value : NULL;

	if (entry != NULL)
		*entry = array->entry[--array->entries];
	if (array->entries == 0)
		xa_destroy(array);
	return value;
}

void *mock_xa_first(struct xarray *array, unsigned long *key)
{
	if (array->entries == 0)
		return NULL;
	*key = array->entry[0].key;
	return array->entry[0].value;
}

int schedule_delayed_work(struct delayed_work *work, unsigned long delay_us)
{
	if (work->is_pending)
		return 0;
	work->is_pending = true;
	work->delay_us = delay_us;
	return 1;
}

int cancel_delayed_work_sync(struct delayed_work *work)
{
	int was_pending = work->is_pending;

	assert_int_equal(mock.mutexes, 0);
	work->is_pending = false;
	return was_pending;
}

void mock_work(struct delayed_work *work)
{
	if (!work->is_pending)
		return;
	work->is_pending = false;
	work->work.function(&work->work);
}

void seq_printf(struct seq_file *file, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	file->length += (size_t)vsnprintf(file->text + file->length, sizeof(file->text) - file->length,
					  format, arguments);
	va_end(arguments);
}

struct dentry *debugfs_create_dir(const char *name, struct dentry *parent)
{
	assert_string_equal(name, "uvmp_nvidia");
	assert_null(parent);
	return (struct dentry *)(void *)&mock;
}

struct dentry *debugfs_create_file(const char *name, int mode, struct dentry *parent, void *data,
				   const struct mock_file *file)
{
	assert_string_equal(name, "counts");
	assert_int_equal(mode, 0444);
	assert_ptr_equal(parent, &mock);
	assert_null(data);
	mock.counts = file;
	return parent;
}

void debugfs_remove(struct dentry *entry)
{
	if (entry != NULL)
		mock.counts = NULL;
}

/* -- driver: processors -- */

static unsigned long bit_of(uvm_processor_id_t id)
{
	return 1ul << (id.val % BITS_PER_LONG);
}

bool uvm_processor_mask_test(const uvm_processor_mask_t *mask, uvm_processor_id_t id)
{
	assert_true(id.val < UVM_ID_MAX_PROCESSORS);
	return (mask->bitmap[id.val / BITS_PER_LONG] & bit_of(id)) != 0;
}

void uvm_processor_mask_set(uvm_processor_mask_t *mask, uvm_processor_id_t id)
{
	assert_true(id.val < UVM_ID_MAX_PROCESSORS);
	mask->bitmap[id.val / BITS_PER_LONG] |= bit_of(id);
}

void uvm_processor_mask_zero(uvm_processor_mask_t *mask)
{
	memset(mask, 0, sizeof(*mask));
}

bool uvm_processor_mask_equal(const uvm_processor_mask_t *a, const uvm_processor_mask_t *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

bool uvm_processor_mask_empty(const uvm_processor_mask_t *mask)
{
	const uvm_processor_mask_t none = {{0}};

	return uvm_processor_mask_equal(mask, &none);
}

bool uvm_processor_mask_andnot(uvm_processor_mask_t *to, const uvm_processor_mask_t *a,
			       const uvm_processor_mask_t *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(to->bitmap); i++)
		to->bitmap[i] = a->bitmap[i] & ~b->bitmap[i];
	return !uvm_processor_mask_empty(to);
}

bool uvm_processor_has_memory(uvm_processor_id_t id)
{
	return !uvm_processor_mask_test(&mock.without_memory, id);
}

/* -- driver: blocks -- */

uvm_va_space_t *uvm_va_block_get_va_space(uvm_va_block_t *va_block)
{
	return va_block->space;
}

bool uvm_va_block_is_hmm(uvm_va_block_t *va_block)
{
	return va_block->managed_range == NULL;
}

uvm_page_mask_t *uvm_va_block_resident_mask_get(uvm_va_block_t *va_block, uvm_processor_id_t id, int node)
{
	assert_int_equal(node, NUMA_NO_NODE);
	if (UVM_ID_IS_CPU(id))
		return &va_block->cpu.resident;
	assert_non_null(va_block->gpus[uvm_id_gpu_index(id)]);
	return &va_block->gpus[uvm_id_gpu_index(id)]->resident;
}

const uvm_va_policy_t *uvm_va_policy_get(uvm_va_block_t *va_block, NvU64 address)
{
	assert_in_range(address, va_block->start, va_block->end);
	return va_block->managed_range != NULL ? &va_block->managed_range->policy : &va_block->policy;
}

NvU64 uvm_va_block_region_start(uvm_va_block_t *va_block, uvm_va_block_region_t region)
{
	return va_block->start + region.first * PAGE_SIZE;
}

const uvm_va_policy_t *uvm_va_policy_get_region(uvm_va_block_t *va_block, uvm_va_block_region_t region)
{
	return uvm_va_policy_get(va_block, uvm_va_block_region_start(va_block, region));
}

uvm_va_block_region_t uvm_hmm_get_prefetch_region(uvm_va_block_t *va_block, struct vm_area_struct *vma,
						  const uvm_va_policy_t *policy, NvU64 address)
{
	assert_true(uvm_va_block_is_hmm(va_block));
	assert_ptr_equal(vma, &mock);
	assert_ptr_equal(policy, &va_block->policy);
	assert_in_range(address, va_block->start, va_block->end);
	return va_block->prefetchable;
}

void uvm_hmm_migrate_begin_wait(uvm_va_block_t *va_block)
{
	assert_false(va_block->lock.is_held);
}

void uvm_hmm_migrate_finish(uvm_va_block_t *va_block)
{
	assert_false(va_block->lock.is_held);
}

uvm_page_index_t uvm_va_block_cpu_page_index(uvm_va_block_t *va_block, NvU64 address)
{
	assert_in_range(address, va_block->start, va_block->end);
	return (uvm_page_index_t)((address - va_block->start) / PAGE_SIZE);
}

uvm_va_block_region_t uvm_va_block_region_from_start_end(uvm_va_block_t *va_block, NvU64 start, NvU64 end)
{
	return (uvm_va_block_region_t){uvm_va_block_cpu_page_index(va_block, start),
				       (uvm_page_index_t)(uvm_va_block_cpu_page_index(va_block, end) + 1)};
}

uvm_va_block_region_t uvm_va_block_region_from_start_size(uvm_va_block_t *va_block, NvU64 start, NvU64 bytes)
{
	return uvm_va_block_region_from_start_end(va_block, start, start + bytes - 1);
}

uvm_va_block_region_t uvm_va_block_region_for_page(uvm_page_index_t page)
{
	return (uvm_va_block_region_t){page, (uvm_page_index_t)(page + 1)};
}

void uvm_va_block_page_resident_processors(uvm_va_block_t *va_block, uvm_page_index_t page,
					   uvm_processor_mask_t *processors)
{
	(void)page;
	*processors = va_block->holders;
}

NV_STATUS uvm_va_block_unmap(uvm_va_block_t *va_block, uvm_va_block_context_t *context, uvm_processor_id_t id,
			     uvm_va_block_region_t region, const uvm_page_mask_t *pages,
			     uvm_tracker_t *tracker)
{
	assert_true(region.first < region.outer);
	assert_ptr_equal(pages, &context->caller_page_mask);
	assert_int_equal(mock.mutexes, 0);
	(void)va_block;
	mock.unmapped_id = id;
	mock.unmapped = *pages;
	mock.unmaps++;
	tracker->operations++;
	return mock.fail_unmap-- == 1 ? NV_ERR_NO_MEMORY : NV_OK;
}

NV_STATUS uvm_tracker_add_tracker_safe(uvm_tracker_t *to, uvm_tracker_t *from)
{
	to->operations += from->operations;
	return NV_OK;
}

void uvm_tracker_deinit(uvm_tracker_t *tracker)
{
	tracker->operations = 0;
}

uvm_va_block_context_t *uvm_va_block_context_alloc(struct mm_struct *mm)
{
	assert_null(mm);
	return uvm_kvmalloc_zero(sizeof(uvm_va_block_context_t));
}

void uvm_va_block_context_init(uvm_va_block_context_t *context, struct mm_struct *mm)
{
	assert_null(mm);
	memset(context, 0, sizeof(*context));
}

void uvm_va_block_context_free(uvm_va_block_context_t *context)
{
	uvm_kvfree(context);
}

void uvm_mutex_lock(uvm_mutex_t *mutex)
{
	assert_false(mutex->is_held);
	assert_int_equal(mock.mutexes, 0);
	mutex->is_held = true;
}

void uvm_mutex_unlock(uvm_mutex_t *mutex)
{
	assert_true(mutex->is_held);
	mutex->is_held = false;
}

/* -- driver: VA spaces -- */

void uvm_va_space_down_read(uvm_va_space_t *va_space)
{
	assert_false(va_space->is_written);
	va_space->readers++;
}

void uvm_va_space_up_read(uvm_va_space_t *va_space)
{
	va_space->readers--;
}

void uvm_va_space_down_write(uvm_va_space_t *va_space)
{
	assert_false(va_space->is_written || va_space->readers != 0);
	va_space->is_written = true;
}

void uvm_va_space_up_write(uvm_va_space_t *va_space)
{
	va_space->is_written = false;
}

uvm_range_group_range_t *mock_group(uvm_va_space_t *va_space, NvU64 start, NvU64 end,
				    const uvm_range_group_range_t *after)
{
	for (uint32_t i = after != NULL ? (uint32_t)(after - va_space->group) + 1u : 0; i < va_space->groups;
	     i++)
		if (va_space->group[i].node.start <= end && va_space->group[i].node.end >= start)
			return &va_space->group[i];
	return NULL;
}

NV_STATUS uvm_perf_register_event_callback(uvm_perf_va_space_events_t *events, uvm_perf_event_t event,
					   uvm_perf_event_callback_t callback)
{
	assert_null(events->callback[event]);
	if (events->capacity != 0 && events->registered == events->capacity)
		return NV_ERR_NO_MEMORY;
	events->callback[event] = callback;
	events->registered++;
	return NV_OK;
}

void uvm_perf_unregister_event_callback(uvm_perf_va_space_events_t *events, uvm_perf_event_t event,
					uvm_perf_event_callback_t callback)
{
	if (events->callback[event] != callback)
		return;
	events->callback[event] = NULL;
	events->registered--;
}

NvU64 mock_time(void)
{
	return mock.now_ns;
}

/* -- the driver's functions behind the seams -- */

bool uvm_perf_prefetch_enabled(uvm_va_space_t *va_space)
{
	(void)va_space;
	return !mock.is_prefetch_off;
}

/* The linker's --wrap does this in the module. */
const uvm_page_mask_t *uvm_perf_thrashing_get_thrashing_pages(uvm_va_block_t *va_block)
{
	return __wrap_uvm_perf_thrashing_get_thrashing_pages(va_block);
}

NV_STATUS __real_uvm_perf_heuristics_init(void)
{
	return mock.real_status;
}

void __real_uvm_perf_heuristics_exit(void)
{
}

void __real_uvm_perf_prefetch_get_hint_va_block(uvm_va_block_t *va_block, uvm_va_block_context_t *context,
						uvm_processor_id_t to, const uvm_page_mask_t *faulted,
						uvm_va_block_region_t region,
						uvm_perf_prefetch_bitmap_tree_t *tree,
						uvm_perf_prefetch_hint_t *hint)
{
	(void)context, (void)to, (void)faulted, (void)region, (void)tree;
	mock.real_hints++;
	*hint = mock.hint;
	va_block->prefetch_info.last_migration_proc_id = mock.last;
	va_block->prefetch_info.fault_migrations_to_last_proc = mock.faults;
}

NV_STATUS __real_uvm_perf_thrashing_load(uvm_va_space_t *va_space)
{
	(void)va_space;
	mock.real_loads++;
	return mock.real_status;
}

void __real_uvm_perf_thrashing_register_gpu(uvm_va_space_t *va_space, uvm_gpu_t *gpu)
{
	(void)va_space, (void)gpu;
	mock.real_registers++;
}

void __real_uvm_perf_thrashing_stop(uvm_va_space_t *va_space)
{
	(void)va_space;
	mock.real_stops++;
}

void __real_uvm_perf_thrashing_unload(uvm_va_space_t *va_space)
{
	(void)va_space;
	mock.real_unloads++;
}

/* Reads the clock as the driver does. */
uvm_perf_thrashing_hint_t __real_uvm_perf_thrashing_get_hint(uvm_va_block_t *va_block,
							     uvm_va_block_context_t *context, NvU64 address,
							     uvm_processor_id_t requester)
{
	(void)context, (void)address, (void)requester;
	mock.real_thrash++;
	if (mock.thrash.type == UVM_PERF_THRASHING_HINT_TYPE_THROTTLE &&
	    mock.thrash.throttle.end_time_stamp == 0) {
		uvm_perf_thrashing_hint_t hint = mock.thrash;

		hint.throttle.end_time_stamp = uvmp_nv_driver_clock(va_block->space);
		return hint;
	}
	return mock.thrash;
}

const uvm_page_mask_t *__real_uvm_perf_thrashing_get_thrashing_pages(uvm_va_block_t *va_block)
{
	const uvm_page_mask_t none = {{0}};

	(void)va_block;
	return memcmp(&mock.thrashing, &none, sizeof(none)) != 0 ? &mock.thrashing : NULL;
}

uvm_processor_mask_t *__real_uvm_perf_thrashing_get_thrashing_processors(uvm_va_block_t *va_block,
									 NvU64 address)
{
	(void)va_block, (void)address;
	return &mock.without_memory;
}

void __real_uvm_perf_thrashing_info_destroy(uvm_va_block_t *va_block)
{
	(void)va_block;
	mock.real_destroys++;
}

NV_STATUS __real_uvm_perf_thrashing_unmap_remote_pinned_pages_all(uvm_va_block_t *va_block,
								  uvm_va_block_context_t *context,
								  uvm_va_block_region_t region)
{
	(void)va_block, (void)context, (void)region;
	mock.real_unmaps++;
	return NV_OK;
}

NV_STATUS __real_uvm_test_get_page_thrashing_policy(UVM_TEST_GET_PAGE_THRASHING_POLICY_PARAMS *params,
						    struct file *file)
{
	(void)params, (void)file;
	mock.real_tests++;
	return NV_OK;
}

NV_STATUS __real_uvm_test_set_page_thrashing_policy(UVM_TEST_SET_PAGE_THRASHING_POLICY_PARAMS *params,
						    struct file *file)
{
	(void)params, (void)file;
	mock.real_tests++;
	return NV_OK;
}

NV_STATUS __real_uvm_pmm_gpu_init(uvm_pmm_gpu_t *pmm)
{
	(void)pmm;
	return mock.real_status;
}

void __real_uvm_pmm_gpu_deinit(uvm_pmm_gpu_t *pmm)
{
	(void)pmm;
}

void __real_uvm_pmm_gpu_unpin_allocated(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk, uvm_va_block_t *va_block)
{
	(void)pmm, (void)chunk, (void)va_block;
	mock.real_marks++;
}

void __real_uvm_pmm_gpu_mark_root_chunk_used(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	(void)pmm, (void)chunk;
	mock.real_marks++;
}

void __real_uvm_pmm_gpu_mark_root_chunk_unused(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	(void)pmm, (void)chunk;
	mock.real_marks++;
}

void __real_uvm_pmm_gpu_mark_root_chunk_discarded(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	(void)pmm, (void)chunk;
	mock.real_marks++;
}

/* -- for tests -- */

void mock_reset(void)
{
	memset(&mock, 0, sizeof(mock));
	memset(&g_uvm_global, 0, sizeof(g_uvm_global));
	mock.now_ns = 1000000;
	mock.hint.residency = mock.last = UVM_ID_INVALID;
	memset(&uvmp_nv, 0, sizeof(uvmp_nv));
}

NV_STATUS mock_load(const char *policy, bool is_shadow)
{
	*(const char **)mock_parameter_uvmp_policy = policy;
	*(unsigned int *)mock_parameter_uvmp_shadow = is_shadow;
	return __wrap_uvm_perf_heuristics_init();
}

void mock_exit(void)
{
	__wrap_uvm_perf_heuristics_exit();
	assert_int_equal(mock.allocations, 0);
	assert_int_equal(mock.mutexes, 0);
	assert_null(mock.counts);
}

void mock_register(uvm_va_space_t *va_space, NvU32 id)
{
	uvm_gpu_t gpu = {.id = {id}};

	uvm_processor_mask_set(&va_space->registered_gpus, gpu.id);
	__wrap_uvm_perf_thrashing_register_gpu(va_space, &gpu);
}

void mock_space_open(uvm_va_space_t *va_space, const NvU32 *ids)
{
	memset(va_space, 0, sizeof(*va_space));
	assert_int_equal(__wrap_uvm_perf_thrashing_load(va_space), NV_OK);
	for (; *ids != 0; ids++)
		mock_register(va_space, *ids);
}

void mock_space_close(uvm_va_space_t *va_space)
{
	__wrap_uvm_perf_thrashing_stop(va_space);
	__wrap_uvm_perf_thrashing_unload(va_space);
	assert_int_equal(va_space->perf_events.registered, 0);
}

void mock_block(uvm_va_block_t *va_block, uvm_va_space_t *va_space, uvm_va_range_managed_t *range,
		NvU64 start, uint32_t pages)
{
	memset(va_block, 0, sizeof(*va_block));
	va_block->managed_range = range;
	va_block->start = start;
	va_block->end = start + pages * PAGE_SIZE - 1u;
	va_block->space = va_space;
	va_block->prefetch_info.last_migration_proc_id = UVM_ID_INVALID;
	va_block->policy.preferred_location = UVM_ID_INVALID;
	va_block->prefetchable.outer = (uvm_page_index_t)pages;
	if (range != NULL) {
		memset(range, 0, sizeof(*range));
		range->policy.preferred_location = UVM_ID_INVALID;
	}
}

void mock_notify(uvm_va_space_t *va_space, uvm_perf_event_t event, uvm_perf_event_data_t *data)
{
	if (va_space->perf_events.callback[event] != NULL)
		va_space->perf_events.callback[event](va_space, event, data);
}

void mock_page_set(uvm_page_mask_t *mask, uint32_t page)
{
	mask->bitmap[page / BITS_PER_LONG] |= 1ul << (page % BITS_PER_LONG);
}
