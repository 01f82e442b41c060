/* model.h: GPUs, their hosts and links as data (docs/models.md).
 *
 * A model is a small commented text file: `key = value   # where the number comes from`. NAME.gpu is a GPU;
 * it names its link, NAME.link, and may include NAME.host, the step costs of the driver's CPU, each of which
 * it may set itself instead. The files in models/ are built into the program; a name with a `/` in it, or
 * with its ending, is a file of the user's. All numbers are whole, with the unit in the name of the key. */
#ifndef UVMSIM_MODEL_H
#define UVMSIM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "model_ranges.h"
#include "pcie.h"

#define MODEL_ERROR_MAX	       512
#define MODEL_NAME_MAX	       256
#define MODEL_TITLE_MAX	       128
#define MODEL_SOURCE_MAX       384
#define MODEL_POINTS_MAX       32u
#define MODEL_UTLB_ENTRIES_MAX 4096u

enum model_direction { MODEL_TO_GPU = 0, MODEL_TO_CPU, MODEL_DIRECTIONS };

/* A transfer of `bytes` bytes runs at `mb_s` 10^6 bytes a second, start-up included, and takes `ns` ns. */
struct model_point {
	uint64_t bytes, mb_s, ns;
};

/* A change in the page tables drops the TLBs' entries of those pages, or all that all TLBs hold. */
enum model_shootdown { MODEL_SHOOTDOWN_ENTRY = 0, MODEL_SHOOTDOWN_WHOLE };

/* A table of points, or the formula of UVM Smart. */
struct model_link {
	char name[MODEL_NAME_MAX], title[MODEL_TITLE_MAX], source[MODEL_SOURCE_MAX];
	uint32_t latency_ns; /* the time of a transfer of 0 bytes */
	uint32_t points[MODEL_DIRECTIONS];
	struct model_point point[MODEL_DIRECTIONS][MODEL_POINTS_MAX]; /* by bytes */
	uint32_t request_bytes
		[MODEL_DIRECTIONS]; /* a remote request takes as long as so many bytes, or longer */
	bool has_formula;
	struct pcie formula; /* of both directions */
	struct model_ranges ranges;
};

/* docs/models.md says of each which action of the driver, or which part of the GPU, takes the time. */
struct model {
	char name[MODEL_NAME_MAX], title[MODEL_TITLE_MAX], source[MODEL_SOURCE_MAX];
	struct model_link link;
	struct model_ranges ranges; /* without those of the link */

	/* the GPU */
	uint32_t sms, warps_per_sm, blocks_per_sm;
	uint32_t context_bytes;		     /* registers and state of a warp */
	uint32_t sms_per_utlb, utlb_entries; /* entries: at most MODEL_UTLB_ENTRIES_MAX */
	uint32_t utlb_faults; /* outstanding ones, from which on the uTLB takes no translation */
	uint32_t l2_tlb_entries, tlb_entry_bytes; /* bytes that an entry of either TLB translates at most */
	uint32_t walk_ns, l2_tlb_ns; /* a miss of a uTLB: from the page tables; from the second level */
	uint32_t tlb_shootdown;	     /* enum model_shootdown */
	uint32_t clock_mhz, gflops;  /* of fp32 */
	uint32_t gflops_64;	     /* of fp64; 0: as many as of fp32 */
	uint32_t executes_code;	     /* 1: instructions between accesses take time, and thread blocks have barriers */
	uint64_t memory_bytes;	     /* for managed memory */
	uint32_t memory_mb_s, memory_latency_ns;
	uint32_t memory_spread_ns;  /* the latency of an access is up to that much longer */
	uint32_t remote_latency_ns; /* more, for a page on the CPU */
	uint32_t page_bytes;	    /* of the host */
	uint32_t fault_entries, fault_write_ns;
	uint32_t mshr_entries;	 /* far faults that the GMMU keeps, each once; 0: none, uTLBs are locked */
	uint32_t lock_holds;	 /* 1: a uTLB stays locked until its last fault is resolved, and stalls hits, too (gpu_lock.h) */
	uint32_t utlb_merges;	 /* 1: a uTLB has one fault outstanding for a page, whichever of its warps need it */
	uint32_t fault_burst_ns; /* faults of a uTLB within such a time are written together */
	uint32_t replay_ns;	 /* from the end of the copies to the access that is tried again */
	uint32_t launch_ns;	 /* from the launch of a kernel to its first access */

	/* the driver on the host's CPU */
	uint32_t interrupt_ns;		       /* from the fault in the buffer to the bottom half */
	uint32_t wakeup_ns;		       /* a bottom half */
	uint32_t batch_ns, fetch_ns, order_ns; /* a batch; a raw entry of it; an entry after coalescing */
	uint32_t skip_ns;		/* an entry after coalescing: the walk finds whether to skip it */
	uint32_t fault_ns;		/* more, if the walk services it: permission, thrashing, residency */
	uint32_t block_ns;		/* a VABlock of a batch */
	uint32_t page_ns;		/* a page that is copied, in whichever direction */
	uint32_t alloc_ns, alloc_roots; /* a call of the physical allocator, and the roots it yields */
	uint32_t zero_mb_s;
	uint32_t unmap_ns, unmap_page_ns; /* from the CPU: a block, and a page of it */
	uint32_t copy_ns;		  /* the submission of a copy */
	uint32_t map_ns, map_page_ns;	  /* to or from the GPU: a block, and a page of it */
	uint32_t evict_ns;		  /* an evicted root, besides copies, pages and mappings */
	uint32_t replay_push_ns;
	uint32_t flush_ns, flush_entry_ns; /* a flush, and an entry that it drops */
	uint32_t cpu_fault_ns;		   /* a CPU fault that brings pages back, besides pages and copies */
	uint32_t prefetch_call_ns,
		prefetch_defer_ns; /* a prefetch call; more if it is deferred to a thread */
	uint32_t counts_units;	   /* 1: a unit of a page-wise order counts whole, as its frame (service.h) */
	uint32_t has_ats;	   /* 1: coherent with the CPU; access counters are on unless the policy says no */
	uint32_t lacks_counters;   /* 1: the real chip has no access counters; the model notifies all the same */
	uint32_t range_bytes;	   /* a managed allocation is a multiple of them; 0: whole pages */
	uint32_t remote_miss_ns;   /* of a remote access that misses the TLB, hits are free; 0: the link's time, each time */
	uint32_t coalesces;	   /* 1: a warp's load or store is an access for each segment of it (workloads/coalesce.h) */
	uint32_t maps_copies;	   /* 1: the GPU can reach pages from the end of their own copy, and until they leave */
	uint32_t pipelines_copies; /* 1: transfers of a block in one direction are one push, and begin once (thread_copy.c) */
	uint32_t cycle_batches;	   /* 1: a batch has the faults of one ns; the policy's `batch` has no effect */
	uint32_t waits_to_evict;   /* 1: an eviction with plan=serial waits for the copies of its thread before it */
	uint32_t frees_at_start;   /* 1: evicted memory is free when its copy begins, not when it ends */
	uint32_t retires_idle;	   /* 1: warps end only while no transfer is under way */
	uint32_t keeps_faults;	   /* 1: the driver reads no more faults than the policy's `batch`; flushes drop none */
	uint32_t queues_copies;	   /* 1: the driver waits for no copy, and takes the next batch at once */
	uint32_t holds_memory;	   /* 1: memory with accesses or arriving pages is evicted last */
	uint32_t lists_arrivals;   /* 1: pages are the newest for eviction when the GPU can reach them */
	uint32_t data_on_cpu;	   /* 1: all data of the program begins on the CPU, outputs too */
	uint32_t rounds_ranges;	   /* 1: sizes of ranges are rounded as UVM Smart's allocations */
	bool checks_frames; /* no key: entries of TLBs depend on where each block lies (timed/timed_open.c) */
	uint32_t
		sync_frees; /* 1: a device synchronisation returns the pages that kernels have written (timed/sync.h) */
};

/* "titan-v", or a file: "my/gpu.gpu". `link` replaces the link that the GPU names; NULL: that one. False with
 * `error`: `FILE:LINE: cause`. */
bool model_open(const char *gpu, const char *link, struct model *model, char error[MODEL_ERROR_MAX]);
bool model_open_link(const char *link, struct model_link *out, char error[MODEL_ERROR_MAX]);

/* How many constants of the model, with its link, have a range. */
uint32_t model_uncertain(const struct model *model);
/* Draw `draw` of the model: each constant that has a range gets a number of the range, then each sum its old value.
 * Draw 0 is the model itself. A draw of an impossible GPU (its second level of TLBs has fewer entries than a uTLB, or
 * takes longer than a walk) is made again; after 64 times, those keys have the model's values. Depends on nothing
 * else. */
void model_draw(const struct model *model, uint64_t seed, uint32_t draw, struct model *drawn);

/* A transfer's time, start to end, on a link that carries nothing else in this direction. Of a table: exact at
 * its points, in proportion between them, the rate of the last point beyond. Of the formula: its cycles. Never
 * less for more bytes; 0 for none. */
uint64_t model_link_time(const struct model_link *link, enum model_direction direction, uint64_t bytes);
/* 10^6 bytes a second of the largest transfers. */
uint64_t model_link_mb_s(const struct model_link *link, enum model_direction direction);
uint64_t model_link_ns(const struct model *model, enum model_direction direction, uint64_t bytes);

/* -- the files that are built in, by name (the Makefile makes the table); the last row has none -- */
struct model_file {
	const char *name; /* with its ending */
	const unsigned char *bytes;
	size_t length;
};
extern const struct model_file model_files[];

/* What `uvmsim list gpus` prints. False with `error`. */
bool model_list(FILE *out, char error[MODEL_ERROR_MAX]);
/* The same of one GPU: a built-in name, or the path of a file. */
bool model_list_one(const char *name, FILE *out, char error[MODEL_ERROR_MAX]);

#endif
