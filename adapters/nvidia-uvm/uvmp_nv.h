/* uvmp_nv.h: the decisions of libuvmpolicy in NVIDIA's UVM driver (open kernel modules, 595). docs/nvidia-uvm.md
 * describes the build, the seams and the limits.
 *
 *   uvmp_nv_load.c      load and exit: module parameters, and what the driver cannot serve of a policy
 *   uvmp_nv_state.c     state of each VA space and each VA block, numbers of processors, events
 *   uvmp_nv_prefetch.c  prefetch hint
 *   uvmp_nv_thrash.c    thrashing hint
 *   uvmp_nv_evict.c     victim
 *   uvmp_nv_order.c     order of a batch of faults
 *   uvmp_nv_shadow.c    counts and differences, the detector's clock, debugfs
 *
 * Layers, lowest first: shadow < state < thrash < prefetch, evict, order < load. State calls back into
 * thrash (uvmp_nv_thrash_begin, _forget, _event): the driver's events arrive in one place.
 *
 * Locks, in this order; those of the driver are taken by the driver, unless a comment says otherwise:
 *
 *   VA space lock (read or write)        the driver's
 *   VA block lock                        the driver's: state of the block
 *   space->lock, a mutex                 the detector of the VA space, which links its blocks. The driver holds
 *                                        the VA space lock for reading only. No allocation under it
 *   pmm->list_lock, a spinlock           the driver's
 *   lock of an eviction order            per GPU
 *   lock of the counts                   innermost
 *
 * The mask of thrashing pages of a block changes under block lock and space->lock together, so that either
 * suffices to read it. */
#ifndef UVMP_NV_H
#define UVMP_NV_H

#ifdef UVMP_NV_DRIVER
#include UVMP_NV_DRIVER /* tests: what the adapter uses of driver and kernel */
#else
#include "uvm_api.h"
#include "uvm_common.h"
#include "uvm_linux.h"
#include "uvm_global.h"
#include "uvm_gpu.h"
#include "uvm_hal_types.h"
#include "uvm_hmm.h"
#include "uvm_kvmalloc.h"
#include "uvm_perf_events.h"
#include "uvm_perf_heuristics.h"
#include "uvm_perf_prefetch.h"
#include "uvm_perf_thrashing.h"
#include "uvm_pmm_gpu.h"
#include "uvm_processors.h"
#include "uvm_range_group.h"
#include "uvm_test.h"
#include "uvm_va_block.h"
#include "uvm_va_policy.h"
#include "uvm_va_range.h"
#include "uvm_va_space.h"
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/sort.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#endif

#include <uvmpolicy/evict.h>
#include <uvmpolicy/fault.h>
#include <uvmpolicy/geometry.h>
#include <uvmpolicy/mask.h>
#include <uvmpolicy/policy.h>
#include <uvmpolicy/prefetch.h>
#include <uvmpolicy/processor.h>
#include <uvmpolicy/thrash.h>

/* -- seams: functions of the driver whose callers call __wrap_NAME; __real_NAME is the driver's -- */

#define UVMP_NV_SEAMS(SEAM)                                                                                  \
	SEAM(uvm_perf_heuristics_init)                                                                       \
	SEAM(uvm_perf_heuristics_exit)                                                                       \
	SEAM(uvm_perf_prefetch_get_hint_va_block)                                                            \
	SEAM(uvm_perf_thrashing_load)                                                                        \
	SEAM(uvm_perf_thrashing_register_gpu)                                                                \
	SEAM(uvm_perf_thrashing_stop)                                                                        \
	SEAM(uvm_perf_thrashing_unload)                                                                      \
	SEAM(uvm_perf_thrashing_get_hint)                                                                    \
	SEAM(uvm_perf_thrashing_get_thrashing_pages)                                                         \
	SEAM(uvm_perf_thrashing_get_thrashing_processors)                                                    \
	SEAM(uvm_perf_thrashing_info_destroy)                                                                \
	SEAM(uvm_perf_thrashing_unmap_remote_pinned_pages_all)                                               \
	SEAM(uvm_test_get_page_thrashing_policy)                                                             \
	SEAM(uvm_test_set_page_thrashing_policy)                                                             \
	SEAM(uvm_pmm_gpu_init)                                                                               \
	SEAM(uvm_pmm_gpu_deinit)                                                                             \
	SEAM(uvm_pmm_gpu_unpin_allocated)                                                                    \
	SEAM(uvm_pmm_gpu_mark_root_chunk_used)                                                               \
	SEAM(uvm_pmm_gpu_mark_root_chunk_unused)                                                             \
	SEAM(uvm_pmm_gpu_mark_root_chunk_discarded)
#define UVMP_NV_DECLARE(name) extern __typeof__(name) __real_##name, __wrap_##name;
UVMP_NV_SEAMS(UVMP_NV_DECLARE)

/* -- settings, constant once the module is loaded -- */

enum uvmp_nv_mode {
	UVMP_NV_OFF,	/* no policy was given: the driver is as without the adapter */
	UVMP_NV_DECIDE, /* the library decides */
	UVMP_NV_SHADOW	/* the driver decides; the library's decisions are compared and counted */
};

struct uvmp_nv_settings {
	enum uvmp_nv_mode mode;
	struct uvmp_policy policy;
	const struct uvmp_prefetch_traits *prefetcher;
	struct uvmp_geometry geometry;
};
extern struct uvmp_nv_settings uvmp_nv;

/* Why `policy` cannot be served here, into `text` ("adapt=pressure: ..."); false if it can. `text` has
 * UVMP_POLICY_ERROR_MAX bytes. Needs some KiB of memory for a while; without it, the text says so. */
bool uvmp_nv_refuses(const struct uvmp_policy *policy, char *text);

/* -- state -- */

#define UVMP_NV_CLOCKS 16u

/* The time that a thread has read for the library, and that the driver's detector reads next. */
struct uvmp_nv_clock {
	const void *thread; /* NULL: none */
	NvU64 now_ns;
};

/* One VA space. */
struct uvmp_nv_space {
	uvm_va_space_t *va_space;
	struct xarray blocks; /* struct uvmp_nv_block */
	/* Library's numbers of processors, in the order of the driver's ids: a change needs the VA space lock
	 * for writing. */
	uint32_t count;
	NvU32 id[UVMP_PROCS_MAX];
	NvU8 number[UVM_ID_MAX_PROCESSORS]; /* 0: none yet; the CPU's is 0 */

	struct mutex lock;
	struct uvmp_thrash_space thrash;
	struct uvmp_processors processors;

	struct delayed_work unpin;
	bool is_stopping; /* VA space lock */
	uvm_va_block_context_t *context;

	spinlock_t clock_lock; /* shadow */
	struct uvmp_nv_clock clock[UVMP_NV_CLOCKS];
};

/* One VA block: made on first use, under its lock. */
struct uvmp_nv_block {
	uvm_va_block_t *va_block;
	struct uvmp_thrash_block thrash;
	uvm_processor_mask_t processors; /* answer of uvm_perf_thrashing_get_thrashing_processors */
	struct uvmp_prefetch_state prefetch;
	uint64_t random;
	uint64_t bytes[]; /* tree and private state of the prefetcher, if it has them */
};

/* NULL: not known (no policy, or no memory was left when the VA space was opened). */
struct uvmp_nv_space *uvmp_nv_space_of(uvm_va_space_t *va_space);
NV_STATUS uvmp_nv_space_open(uvm_va_space_t *va_space);
void uvmp_nv_space_close(uvm_va_space_t *va_space);
/* A GPU was registered. Its number follows from its id. If a GPU of a higher id has a number already, the states
 * of all blocks are dropped, since they hold numbers. */
void uvmp_nv_space_add(struct uvmp_nv_space *space, uvm_processor_id_t id);

/* NULL: none. The VA block lock is held. */
struct uvmp_nv_block *uvmp_nv_block_find(struct uvmp_nv_space *space, uvm_va_block_t *va_block);
/* The same; makes the state if the block has no state yet. NULL: no memory. */
struct uvmp_nv_block *uvmp_nv_block_get(struct uvmp_nv_space *space, uvm_va_block_t *va_block);
void uvmp_nv_block_drop(struct uvmp_nv_space *space, uvm_va_block_t *va_block);

/* Number of a processor; UVMP_PROC_NONE for UVM_ID_INVALID. False: it has none (the 64th GPU of the VA
 * space). */
bool uvmp_nv_number(const struct uvmp_nv_space *space, uvm_processor_id_t id, uint32_t *number);
uvm_processor_id_t uvmp_nv_id(const struct uvmp_nv_space *space, uint32_t number);
/* Those of the mask that have numbers. */
uint64_t uvmp_nv_set(const struct uvmp_nv_space *space, const uvm_processor_mask_t *mask);
void uvmp_nv_mask(const struct uvmp_nv_space *space, uint64_t set, uvm_processor_mask_t *mask);

/* -- thrashing -- */

void uvmp_nv_thrash_begin(struct uvmp_nv_space *space);
void uvmp_nv_thrash_event(uvm_va_space_t *va_space, uvm_perf_event_t event, uvm_perf_event_data_t *data);
/* Forgets what the detector knows of the block; gives its memory back. */
void uvmp_nv_thrash_forget(struct uvmp_nv_space *space, struct uvmp_nv_block *block);

/* -- victims: called by the driver's choice of a root chunk, with list_lock held (uvmp_nv_seams.h) -- */

/* `driver`: the driver's choice, NULL if it has none. `is_evictable`: the driver's test of a root chunk. Returns
 * the chunk to evict. */
uvm_gpu_chunk_t *uvmp_nv_victim(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *driver,
				bool (*is_evictable)(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk));

/* -- order of faults: in place of the driver's calls of sort() (uvmp_nv_seams.h) -- */

enum uvmp_nv_order { UVMP_NV_BY_INSTANCE, UVMP_NV_BY_PAGE };

void uvmp_nv_sort(uvm_parent_gpu_t *parent_gpu, uvm_fault_buffer_entry_t **fault, size_t count,
		  enum uvmp_nv_order order, int (*compare)(const void *, const void *));
void uvmp_nv_order_exit(void);

/* -- counts -- */

enum uvmp_nv_kind { UVMP_NV_PREFETCH, UVMP_NV_THRASH, UVMP_NV_EVICT, UVMP_NV_ORDER, UVMP_NV_KINDS };

struct uvmp_nv_count {
	NvU64 decisions; /* of the library */
	NvU64 different; /* shadow: of these, those that differ from the driver's */
	NvU64 left;	 /* to the driver, because the library could not decide */
};

#define UVMP_NV_LAST_MAX 160u

void uvmp_nv_counts_init(void);
void uvmp_nv_counts_exit(void);
void uvmp_nv_counts_get(enum uvmp_nv_kind kind, struct uvmp_nv_count *count);
void uvmp_nv_decided(enum uvmp_nv_kind kind);
void uvmp_nv_left(enum uvmp_nv_kind kind);
/* A difference, described as by printf; debugfs shows the latest one of each kind. */
void uvmp_nv_differs(enum uvmp_nv_kind kind, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* -- time -- */

/* Reads the clock. Shadow: the driver's detector then reads the same time, once, in this thread. */
NvU64 uvmp_nv_read_clock(struct uvmp_nv_space *space);
/* The clock of the driver's detector (uvmp_nv_seams.h). */
NvU64 uvmp_nv_driver_clock(uvm_va_space_t *va_space);

/* -- masks: page p is bit p of both; with pages of 64 KiB the driver's mask is shorter -- */

#if BITS_PER_LONG != 64
#error "the adapter needs a 64-bit kernel, as the driver does"
#endif
#define UVMP_NV_WORDS ((uint32_t)(PAGES_PER_UVM_VA_BLOCK + 63u) / 64u)

/* NULL stays NULL; `room` is used only where the sizes differ. */
static inline const uvmp_mask *uvmp_nv_pages(const uvm_page_mask_t *mask, uvmp_mask *room)
{
	if (mask == NULL || PAGES_PER_UVM_VA_BLOCK == UVMP_MASK_BITS)
		return (const uvmp_mask *)(const void *)mask;
	uvmp_mask_zero(room);
	for (uint32_t i = 0; i < UVMP_NV_WORDS; i++)
		room->word[i] = mask->bitmap[i];
	return room;
}

static inline void uvmp_nv_pages_to(uvm_page_mask_t *to, const uvmp_mask *from)
{
	for (uint32_t i = 0; i < UVMP_NV_WORDS; i++)
		to->bitmap[i] = from->word[i];
}

/* Indices of the driver have 16 bits, with pages of 64 KiB 8. */
static inline struct uvmp_region uvmp_nv_region(uvm_va_block_region_t region)
{
	return (struct uvmp_region){region.first, region.outer};
}

#endif
