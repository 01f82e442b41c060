/* What adapters/nvidia-uvm uses of NVIDIA's UVM driver and of the kernel, for tests: its own declarations with the
 * names and members that the adapter names, and a small model behind them (nvidia_mock.c). Processor ids, hint
 * types, causes and apertures have the driver's values. */
#ifndef NVIDIA_MOCK_H
#define NVIDIA_MOCK_H

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- kernel: words, memory, text -- */

#define BITS_PER_LONG (8 * __SIZEOF_LONG__)
#ifndef MOCK_PAGE_SHIFT
#define MOCK_PAGE_SHIFT 12
#endif
#define PAGE_SIZE		     (1ul << MOCK_PAGE_SHIFT)
#define ARRAY_SIZE(a)		     (sizeof(a) / sizeof((a)[0]))
#define min(a, b)		     ((a) < (b) ? (a) : (b))
#define max(a, b)		     ((a) > (b) ? (a) : (b))
#define min_t(type, a, b)	     min((type)(a), (type)(b))
#define NUMA_NO_NODE		     (-1)
#define KERN_ERR		     "<3>"
#define KERN_INFO		     "<6>"
#define MODULE_PARM_DESC(name, text) _Static_assert(sizeof(text) > 1, "a description")
/* Tests set parameters by name. */
#define module_param(name, type, mode)	    void *const mock_parameter_##name = &name
#define container_of(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

int printk(const char *format, ...) __attribute__((format(printf, 1, 2)));
void *uvm_kvmalloc(size_t bytes);
void *uvm_kvmalloc_zero(size_t bytes);
void uvm_kvfree(void *memory);
void sort(void *base, size_t count, size_t bytes, int (*compare)(const void *, const void *), void *swap);
extern const void *mock_thread;
#define current mock_thread

struct list_head {
	struct list_head *next, *prev;
};
static inline bool list_empty(const struct list_head *list)
{
	return list->next == list;
}

/* -- kernel: locks, xarray, deferred work, debugfs -- */

struct mutex {
	bool is_held;
};
typedef struct {
	bool is_held;
} spinlock_t;
#define DEFINE_SPINLOCK(name) spinlock_t name
void mutex_init(struct mutex *mutex);
void mutex_destroy(struct mutex *mutex);
void mutex_lock(struct mutex *mutex);
void mutex_unlock(struct mutex *mutex);
void spin_lock_init(spinlock_t *lock);
void spin_lock(spinlock_t *lock);
void spin_unlock(spinlock_t *lock);

/* A table without order, which grows. */
struct xarray {
	struct mock_entry {
		unsigned long key;
		void *value;
	} * entry;
	size_t entries, capacity;
};
#define DEFINE_XARRAY(name) struct xarray name
#define NV_UVM_GFP_FLAGS    0
void xa_init(struct xarray *array);
void xa_destroy(struct xarray *array);
void *xa_load(struct xarray *array, unsigned long key);
void *xa_store(struct xarray *array, unsigned long key, void *value, int flags);
void *xa_erase(struct xarray *array, unsigned long key);
bool xa_is_err(const void *entry);
/* Entries may be erased during the walk. */
void *mock_xa_first(struct xarray *array, unsigned long *key);
#define xa_for_each(array, key, value) while (((value) = mock_xa_first(array, &(key))) != NULL)

struct work_struct {
	void (*function)(struct work_struct *work);
};
struct delayed_work {
	struct work_struct work;
	bool is_pending;
	unsigned long delay_us;
};
#define INIT_DELAYED_WORK(dwork, entry) ((dwork)->work.function = (entry))
#define to_delayed_work(pointer)	container_of(pointer, struct delayed_work, work)
#define usecs_to_jiffies(microseconds)	(microseconds)
#define UVM_ENTRY_VOID(call)		(call)
int schedule_delayed_work(struct delayed_work *work, unsigned long delay_us);
int cancel_delayed_work_sync(struct delayed_work *work);

struct dentry;
struct seq_file {
	char text[2048];
	size_t length;
};
struct mock_file {
	int (*show)(struct seq_file *file, void *unused);
};
#define DEFINE_SHOW_ATTRIBUTE(name) static const struct mock_file name##_fops = {name##_show}
void seq_printf(struct seq_file *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct dentry *debugfs_create_dir(const char *name, struct dentry *parent);
struct dentry *debugfs_create_file(const char *name, int mode, struct dentry *parent, void *data,
				   const struct mock_file *file);
void debugfs_remove(struct dentry *entry);

/* -- driver: numbers, processors -- */

typedef uint8_t NvU8;
typedef uint16_t NvU16;
typedef uint32_t NvU32;
typedef uint64_t NvU64;
typedef enum { NV_OK, NV_ERR_INVALID_ARGUMENT, NV_ERR_NO_MEMORY, NV_ERR_NOT_SUPPORTED } NV_STATUS;

#define UVM_PARENT_ID_MAX_GPUS		 32
#define UVM_PARENT_ID_MAX_SUB_PROCESSORS 8
#define UVM_ID_MAX_GPUS			 256
#define UVM_ID_MAX_PROCESSORS		 257

typedef struct {
	NvU32 val;
} uvm_processor_id_t;
typedef struct {
	NvU32 val;
} uvm_parent_processor_id_t;
#define UVM_ID_CPU		    ((uvm_processor_id_t){0})
#define UVM_ID_INVALID		    ((uvm_processor_id_t){UVM_ID_MAX_PROCESSORS})
#define UVM_ID_IS_CPU(id)	    ((id).val == 0)
#define UVM_ID_IS_VALID(id)	    ((id).val != UVM_ID_MAX_PROCESSORS)
#define UVM_ID_IS_GPU(id)	    (!UVM_ID_IS_CPU(id) && UVM_ID_IS_VALID(id))
#define uvm_id_value(id)	    ((id).val)
#define uvm_id_gpu_index(id)	    ((id).val - 1u)
#define uvm_id_equal(a, b)	    ((a).val == (b).val)
#define uvm_parent_id_gpu_index(id) ((id).val - 1u)
static inline uvm_processor_id_t uvm_id_from_value(NvU32 value)
{
	return (uvm_processor_id_t){value};
}

typedef struct {
	unsigned long bitmap[(UVM_ID_MAX_PROCESSORS + BITS_PER_LONG - 1) / BITS_PER_LONG];
} uvm_processor_mask_t;
bool uvm_processor_mask_test(const uvm_processor_mask_t *mask, uvm_processor_id_t id);
void uvm_processor_mask_set(uvm_processor_mask_t *mask, uvm_processor_id_t id);
void uvm_processor_mask_zero(uvm_processor_mask_t *mask);
bool uvm_processor_mask_empty(const uvm_processor_mask_t *mask);
bool uvm_processor_mask_equal(const uvm_processor_mask_t *a, const uvm_processor_mask_t *b);
bool uvm_processor_mask_andnot(uvm_processor_mask_t *to, const uvm_processor_mask_t *a,
			       const uvm_processor_mask_t *b);
#define for_each_id_in_mask(id, mask)                                                                        \
	for ((id) = UVM_ID_CPU; (id).val < UVM_ID_MAX_PROCESSORS; (id).val++)                                \
		if (uvm_processor_mask_test(mask, id))

typedef struct {
	uvm_parent_processor_id_t id;
} uvm_parent_gpu_t;

/* -- driver: pages, policies, VA blocks, VA spaces -- */

#define UVM_VA_BLOCK_SIZE      0x200000ul
#define UVM_BIG_PAGE_SIZE      0x10000ul
#define PAGES_PER_UVM_VA_BLOCK (UVM_VA_BLOCK_SIZE / PAGE_SIZE)
#if MOCK_PAGE_SHIFT == 16
typedef uint8_t uvm_page_index_t;
#else
typedef uint16_t uvm_page_index_t;
#endif
typedef struct {
	uvm_page_index_t first, outer;
} uvm_va_block_region_t;
typedef struct {
	unsigned long bitmap[(PAGES_PER_UVM_VA_BLOCK + BITS_PER_LONG - 1) / BITS_PER_LONG];
} uvm_page_mask_t;

typedef enum {
	UVM_READ_DUPLICATION_UNSET,
	UVM_READ_DUPLICATION_ENABLED,
	UVM_READ_DUPLICATION_DISABLED
} uvm_read_duplication_policy_t;
typedef struct {
	uvm_processor_id_t preferred_location;
	uvm_processor_mask_t accessed_by;
	uvm_read_duplication_policy_t read_duplication;
} uvm_va_policy_t;
typedef struct {
	uvm_va_policy_t policy;
} uvm_va_range_managed_t;

typedef struct {
	int operations; /* that were added */
} uvm_tracker_t;
#define UVM_TRACKER_INIT() ((uvm_tracker_t){0})
NV_STATUS uvm_tracker_add_tracker_safe(uvm_tracker_t *to, uvm_tracker_t *from);
void uvm_tracker_deinit(uvm_tracker_t *tracker);

typedef struct {
	bool is_held;
} uvm_mutex_t;
void uvm_mutex_lock(uvm_mutex_t *mutex);
void uvm_mutex_unlock(uvm_mutex_t *mutex);

enum { UVM_PTE_BITS_CPU_READ, UVM_PTE_BITS_CPU_WRITE, UVM_PTE_BITS_CPU_MAX };

typedef struct uvm_va_space_struct uvm_va_space_t;
typedef struct uvm_va_block_struct {
	uvm_mutex_t lock;
	uvm_va_range_managed_t *managed_range; /* NULL: system-allocated memory */
	NvU64 start, end;		       /* end inclusive */
	uvm_processor_mask_t resident, mapped;
	struct {
		uvm_page_mask_t resident;
		uvm_page_mask_t pte_bits[UVM_PTE_BITS_CPU_MAX];
	} cpu;
	struct {
		uvm_page_mask_t resident;
	} * gpus[UVM_ID_MAX_GPUS];
	uvm_tracker_t tracker;
	struct {
		uvm_processor_id_t last_migration_proc_id;
		NvU16 fault_migrations_to_last_proc;
	} prefetch_info;
	/* of the mock */
	uvm_va_space_t *space;
	uvm_va_policy_t policy;		    /* of system-allocated memory */
	uvm_va_block_region_t prefetchable; /* likewise */
	uvm_processor_mask_t holders;	    /* of every page */
} uvm_va_block_t;

struct vm_area_struct;
struct mm_struct;
struct uvm_make_resident_context_struct {
	uvm_processor_id_t dest_id;
};
typedef struct {
	uvm_page_mask_t caller_page_mask;
	uvm_processor_mask_t scratch_processor_mask, unmap_processors_mask;
	struct uvm_make_resident_context_struct make_resident;
	struct {
		struct vm_area_struct *vma;
	} hmm;
} uvm_va_block_context_t;
uvm_va_block_context_t *uvm_va_block_context_alloc(struct mm_struct *mm);
void uvm_va_block_context_init(uvm_va_block_context_t *context, struct mm_struct *mm);
void uvm_va_block_context_free(uvm_va_block_context_t *context);

uvm_va_space_t *uvm_va_block_get_va_space(uvm_va_block_t *va_block);
bool uvm_va_block_is_hmm(uvm_va_block_t *va_block);
uvm_page_mask_t *uvm_va_block_resident_mask_get(uvm_va_block_t *va_block, uvm_processor_id_t id, int node);
const uvm_va_policy_t *uvm_va_policy_get(uvm_va_block_t *va_block, NvU64 address);
const uvm_va_policy_t *uvm_va_policy_get_region(uvm_va_block_t *va_block, uvm_va_block_region_t region);
uvm_va_block_region_t uvm_hmm_get_prefetch_region(uvm_va_block_t *va_block, struct vm_area_struct *vma,
						  const uvm_va_policy_t *policy, NvU64 address);
void uvm_hmm_migrate_begin_wait(uvm_va_block_t *va_block);
void uvm_hmm_migrate_finish(uvm_va_block_t *va_block);
NvU64 uvm_va_block_region_start(uvm_va_block_t *va_block, uvm_va_block_region_t region);
uvm_va_block_region_t uvm_va_block_region_from_start_end(uvm_va_block_t *va_block, NvU64 start, NvU64 end);
uvm_va_block_region_t uvm_va_block_region_from_start_size(uvm_va_block_t *va_block, NvU64 start, NvU64 bytes);
uvm_va_block_region_t uvm_va_block_region_for_page(uvm_page_index_t page);
uvm_page_index_t uvm_va_block_cpu_page_index(uvm_va_block_t *va_block, NvU64 address);
void uvm_va_block_page_resident_processors(uvm_va_block_t *va_block, uvm_page_index_t page,
					   uvm_processor_mask_t *processors);
NV_STATUS uvm_va_block_unmap(uvm_va_block_t *va_block, uvm_va_block_context_t *context, uvm_processor_id_t id,
			     uvm_va_block_region_t region, const uvm_page_mask_t *pages,
			     uvm_tracker_t *tracker);

#define MOCK_GROUPS_MAX 32u
typedef struct {
	struct {
		NvU64 start, end; /* end inclusive */
	} node;
} uvm_range_group_range_t;
/* From an index on, the first group that overlaps [start, end]; NULL: none. */
uvm_range_group_range_t *mock_group(uvm_va_space_t *va_space, NvU64 start, NvU64 end,
				    const uvm_range_group_range_t *after);
#define uvm_range_group_for_each_range_in(group, va_space, start, end)                                       \
	for ((group) = mock_group(va_space, start, end, NULL); (group) != NULL;                              \
	     (group) = mock_group(va_space, start, end, group))

/* -- driver: events -- */

typedef enum {
	UVM_MAKE_RESIDENT_CAUSE_REPLAYABLE_FAULT,
	UVM_MAKE_RESIDENT_CAUSE_NON_REPLAYABLE_FAULT,
	UVM_MAKE_RESIDENT_CAUSE_ACCESS_COUNTER,
	UVM_MAKE_RESIDENT_CAUSE_PREFETCH,
	UVM_MAKE_RESIDENT_CAUSE_EVICTION,
	UVM_MAKE_RESIDENT_CAUSE_API_TOOLS,
	UVM_MAKE_RESIDENT_CAUSE_API_MIGRATE,
	UVM_MAKE_RESIDENT_CAUSE_API_SET_RANGE_GROUP,
	UVM_MAKE_RESIDENT_CAUSE_API_HINT
} uvm_make_resident_cause_t;
typedef enum {
	UVM_VA_BLOCK_TRANSFER_MODE_MOVE = 1,
	UVM_VA_BLOCK_TRANSFER_MODE_COPY
} uvm_va_block_transfer_mode_t;
typedef enum {
	UVM_PERF_EVENT_BLOCK_DESTROY,
	UVM_PERF_EVENT_BLOCK_SHRINK,
	UVM_PERF_EVENT_BLOCK_MUNMAP,
	UVM_PERF_EVENT_MODULE_UNLOAD,
	UVM_PERF_EVENT_MIGRATION,
	UVM_PERF_EVENT_REVOCATION,
	UVM_PERF_EVENT_COUNT
} uvm_perf_event_t;
typedef union {
	struct {
		uvm_va_block_t *block;
	} block_destroy, block_shrink;
	struct {
		uvm_va_block_t *block;
		uvm_va_block_region_t region;
	} block_munmap;
	struct {
		const void *module;
		uvm_va_block_t *block; /* NULL: of a range */
	} module_unload;
	struct {
		uvm_va_block_t *block;
		uvm_processor_id_t dst;
		NvU64 address, bytes;
		uvm_va_block_transfer_mode_t transfer_mode;
		uvm_make_resident_cause_t cause;
		struct uvm_make_resident_context_struct *make_resident_context;
	} migration;
	struct {
		uvm_va_block_t *block;
		uvm_processor_id_t proc_id;
		NvU64 address, bytes;
	} revocation;
} uvm_perf_event_data_t;
typedef void (*uvm_perf_event_callback_t)(uvm_va_space_t *va_space, uvm_perf_event_t event,
					  uvm_perf_event_data_t *data);
typedef struct {
	uvm_perf_event_callback_t callback[UVM_PERF_EVENT_COUNT];
	uint32_t capacity; /* registrations that succeed; 0: all */
	uint32_t registered;
} uvm_perf_va_space_events_t;
NV_STATUS uvm_perf_register_event_callback(uvm_perf_va_space_events_t *events, uvm_perf_event_t event,
					   uvm_perf_event_callback_t callback);
void uvm_perf_unregister_event_callback(uvm_perf_va_space_events_t *events, uvm_perf_event_t event,
					uvm_perf_event_callback_t callback);

struct uvm_va_space_struct {
	uvm_perf_va_space_events_t perf_events;
	uvm_processor_mask_t registered_gpus;
	uvm_processor_mask_t can_access[UVM_ID_MAX_PROCESSORS];
	uvm_processor_mask_t has_fast_link[UVM_ID_MAX_PROCESSORS];
	uvm_processor_mask_t has_native_atomics[UVM_ID_MAX_PROCESSORS];
	/* of the mock */
	uvm_range_group_range_t group[MOCK_GROUPS_MAX];
	uint32_t groups;
	int readers;
	bool is_written;
};
void uvm_va_space_down_read(uvm_va_space_t *va_space);
void uvm_va_space_up_read(uvm_va_space_t *va_space);
void uvm_va_space_down_write(uvm_va_space_t *va_space);
void uvm_va_space_up_write(uvm_va_space_t *va_space);
bool uvm_processor_has_memory(uvm_processor_id_t id);
NvU64 mock_time(void);
#define NV_GETTIME() mock_time()

extern struct mock_global {
	bool conf_computing_enabled;
} g_uvm_global;

/* -- driver: GPUs and their memory -- */

#define UVM_CHUNK_SIZE_MAX 0x200000ul
typedef enum {
	UVM_PMM_GPU_CHUNK_STATE_PMA_OWNED,
	UVM_PMM_GPU_CHUNK_STATE_FREE,
	UVM_PMM_GPU_CHUNK_STATE_IS_SPLIT,
	UVM_PMM_GPU_CHUNK_STATE_TEMP_PINNED,
	UVM_PMM_GPU_CHUNK_STATE_ALLOCATED
} uvm_pmm_gpu_chunk_state_t;
typedef struct {
	NvU64 address;
	uvm_pmm_gpu_chunk_state_t state;
	struct list_head list;
	/* of the mock */
	NvU64 bytes; /* 0: UVM_CHUNK_SIZE_MAX */
	bool is_kernel;
} uvm_gpu_chunk_t;
typedef struct {
	uvm_gpu_chunk_t chunk;
} uvm_gpu_root_chunk_t;
enum {
	UVM_PMM_ALLOC_LIST_UNUSED,
	UVM_PMM_ALLOC_LIST_DISCARDED,
	UVM_PMM_ALLOC_LIST_USED,
	UVM_PMM_ALLOC_LIST_COUNT
};
typedef struct {
	struct {
		size_t count;
		uvm_gpu_root_chunk_t *array;
		struct list_head alloc_list[UVM_PMM_ALLOC_LIST_COUNT];
	} root_chunks;
} uvm_pmm_gpu_t;
typedef struct {
	uvm_processor_id_t id;
	uvm_pmm_gpu_t pmm;
} uvm_gpu_t;
#define uvm_pmm_to_gpu(pointer)	     container_of(pointer, uvm_gpu_t, pmm)
#define uvm_gpu_chunk_is_user(chunk) (!(chunk)->is_kernel)
static inline NvU64 uvm_gpu_chunk_get_size(const uvm_gpu_chunk_t *chunk)
{
	return chunk->bytes != 0 ? chunk->bytes : UVM_CHUNK_SIZE_MAX;
}

typedef enum {
	UVM_APERTURE_PEER_0,
	UVM_APERTURE_PEER_7 = 7,
	UVM_APERTURE_SYS = 9,
	UVM_APERTURE_SYS_NON_COHERENT,
	UVM_APERTURE_VID
} uvm_aperture_t;
typedef enum {
	UVM_FAULT_ACCESS_TYPE_PREFETCH,
	UVM_FAULT_ACCESS_TYPE_READ,
	UVM_FAULT_ACCESS_TYPE_WRITE,
	UVM_FAULT_ACCESS_TYPE_ATOMIC_WEAK,
	UVM_FAULT_ACCESS_TYPE_ATOMIC_STRONG
} uvm_fault_access_type_t;
typedef struct {
	NvU64 fault_address;
	struct {
		NvU64 address;
		uvm_aperture_t aperture;
	} instance_ptr;
	struct {
		NvU8 ve_id;
	} fault_source;
	uvm_fault_access_type_t fault_access_type;
	uvm_va_space_t *va_space;
	uvm_gpu_t *gpu;
	uint32_t mark; /* of the tests */
} uvm_fault_buffer_entry_t;

/* -- driver: hints, and the functions behind the seams -- */

typedef struct {
	uvm_page_mask_t prefetch_pages_mask;
	uvm_processor_id_t residency;
} uvm_perf_prefetch_hint_t;
typedef struct {
	uvm_page_mask_t pages;
} uvm_perf_prefetch_bitmap_tree_t;
typedef enum {
	UVM_PERF_THRASHING_HINT_TYPE_NONE,
	UVM_PERF_THRASHING_HINT_TYPE_PIN,
	UVM_PERF_THRASHING_HINT_TYPE_THROTTLE
} uvm_perf_thrashing_hint_type_t;
typedef struct {
	uvm_perf_thrashing_hint_type_t type;
	union {
		struct {
			uvm_processor_id_t residency;
			uvm_processor_mask_t processors;
		} pin;
		struct {
			NvU64 end_time_stamp;
		} throttle;
	};
} uvm_perf_thrashing_hint_t;
typedef struct mock_get_parameters UVM_TEST_GET_PAGE_THRASHING_POLICY_PARAMS;
typedef struct mock_set_parameters UVM_TEST_SET_PAGE_THRASHING_POLICY_PARAMS;
struct file;

bool uvm_perf_prefetch_enabled(uvm_va_space_t *va_space);
NV_STATUS uvm_perf_heuristics_init(void);
void uvm_perf_heuristics_exit(void);
void uvm_perf_prefetch_get_hint_va_block(uvm_va_block_t *va_block, uvm_va_block_context_t *context,
					 uvm_processor_id_t to, const uvm_page_mask_t *faulted,
					 uvm_va_block_region_t region, uvm_perf_prefetch_bitmap_tree_t *tree,
					 uvm_perf_prefetch_hint_t *hint);
NV_STATUS uvm_perf_thrashing_load(uvm_va_space_t *va_space);
void uvm_perf_thrashing_register_gpu(uvm_va_space_t *va_space, uvm_gpu_t *gpu);
void uvm_perf_thrashing_stop(uvm_va_space_t *va_space);
void uvm_perf_thrashing_unload(uvm_va_space_t *va_space);
uvm_perf_thrashing_hint_t uvm_perf_thrashing_get_hint(uvm_va_block_t *va_block,
						      uvm_va_block_context_t *context, NvU64 address,
						      uvm_processor_id_t requester);
const uvm_page_mask_t *uvm_perf_thrashing_get_thrashing_pages(uvm_va_block_t *va_block);
uvm_processor_mask_t *uvm_perf_thrashing_get_thrashing_processors(uvm_va_block_t *va_block, NvU64 address);
void uvm_perf_thrashing_info_destroy(uvm_va_block_t *va_block);
NV_STATUS uvm_perf_thrashing_unmap_remote_pinned_pages_all(uvm_va_block_t *va_block,
							   uvm_va_block_context_t *context,
							   uvm_va_block_region_t region);
NV_STATUS uvm_test_get_page_thrashing_policy(UVM_TEST_GET_PAGE_THRASHING_POLICY_PARAMS *params,
					     struct file *file);
NV_STATUS uvm_test_set_page_thrashing_policy(UVM_TEST_SET_PAGE_THRASHING_POLICY_PARAMS *params,
					     struct file *file);
NV_STATUS uvm_pmm_gpu_init(uvm_pmm_gpu_t *pmm);
void uvm_pmm_gpu_deinit(uvm_pmm_gpu_t *pmm);
void uvm_pmm_gpu_unpin_allocated(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk, uvm_va_block_t *va_block);
void uvm_pmm_gpu_mark_root_chunk_used(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk);
void uvm_pmm_gpu_mark_root_chunk_unused(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk);
void uvm_pmm_gpu_mark_root_chunk_discarded(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk);

/* -- what tests set and read -- */

extern struct mock {
	NvU64 now_ns;
	int allocations;		/* memory in use */
	int fail_allocation;		/* 1: the next allocation fails, once; 2: the one after it, ... */
	int mutexes;			/* of the adapter, held now */
	int lookups;			/* in xarrays */
	char log[4096];			/* of printk */
	const struct mock_file *counts; /* in debugfs; NULL: none */
	bool is_prefetch_off;
	uvm_processor_mask_t without_memory;
	/* unmapped pages: the latest call, and the number of calls */
	uvm_processor_id_t unmapped_id;
	uvm_page_mask_t unmapped;
	int unmaps, fail_unmap;
	/* answers of the driver's functions, and their calls */
	uvm_perf_prefetch_hint_t hint;
	uvm_processor_id_t last;
	NvU16 faults;
	uvm_perf_thrashing_hint_t thrash;
	uvm_page_mask_t thrashing;
	int real_hints, real_thrash, real_loads, real_unloads, real_registers, real_stops, real_destroys,
		real_unmaps, real_tests, real_marks;
	NV_STATUS real_status;
} mock;

/* Begins with an empty world: no policy, no memory in use. */
void mock_reset(void);
/* Sets the module parameters and loads: the status of the load. */
NV_STATUS mock_load(const char *policy, bool is_shadow);
void mock_exit(void);
/* A VA space with GPUs of these ids registered. 0 ends the list. */
void mock_space_open(uvm_va_space_t *va_space, const NvU32 *ids);
void mock_space_close(uvm_va_space_t *va_space);
void mock_register(uvm_va_space_t *va_space, NvU32 id);
/* `pages` pages from `start` on, of a managed range, or of system-allocated memory if `range` is NULL. */
void mock_block(uvm_va_block_t *va_block, uvm_va_space_t *va_space, uvm_va_range_managed_t *range,
		NvU64 start, uint32_t pages);
/* Calls the callback that is registered for the event. */
void mock_notify(uvm_va_space_t *va_space, uvm_perf_event_t event, uvm_perf_event_data_t *data);
/* Runs the work if it is pending. */
void mock_work(struct delayed_work *work);
void mock_page_set(uvm_page_mask_t *mask, uint32_t page);

#endif
