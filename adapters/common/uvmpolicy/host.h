/* host.h: the host kit. A simulator that knows "this warp missed this page at this time" gets a complete
 * unified-memory driver: library libuvmpolicy-host, which contains libuvmpolicy.
 *
 *   #include <uvmpolicy/host.h>
 *
 *   struct uvmp_host_options options = {.size = sizeof(options), .memory_bytes = 64 << 20,
 *                                       .is_all_managed = true, .user = simulator, .unmap = shoot_down,
 *                                       .copy_ns = copy_time, .replay = wake};
 *   char error[UVMP_HOST_ERROR_MAX];
 *   struct uvmp_host *host = uvmp_host_open(&options, error);
 *   uint64_t next_ns = UINT64_MAX;
 *
 *   if (!host)
 *           ... error says which option is wrong, and what is accepted ...
 *   for (now_ns = 0; ...; now_ns += cycle_ns) {
 *           ... for each warp that misses: uvmp_host_fault(host, warp, address, access, now_ns); the warp
 *               stalls; next_ns = now_ns ...
 *           if (now_ns >= next_ns)
 *                   next_ns = uvmp_host_run(host, now_ns); // calls unmap, copy_ns and replay
 *   }
 *   uvmp_host_close(host);
 *
 * A host object is one address space on the CPU (processor 0) and on GPUs (processors 1, 2, ...), all with
 * the same amount of memory. Each GPU can access the memory of the CPU and of the other GPUs. The host object
 * owns an engine (service.h) with a growing arena, the fault buffers, the queue of stalled accesses, and the
 * frames of each GPU's memory. A simulator with several processes puts the number of the process into the
 * upper bits of its addresses, or opens a host object for each process.
 *
 * Time. The simulator owns the clock. Times are nanoseconds since any moment and should not decrease; an
 * earlier time counts as the latest. uvmp_host_run performs all work that is due and returns the time of its
 * next call, or UINT64_MAX if it waits for an event. After an event (a fault, the end of a copy, a request)
 * the simulator calls uvmp_host_run at the time of the event or soon after it: a decision is taken at the
 * time of its event. Callbacks get the time at which their event takes place, which can be earlier than the
 * argument of uvmp_host_run. Without copy_ns, copy and the four times of the options everything happens at
 * the time of the fault.
 *
 * Accesses. `replay` says that a stalled access can go on. Its page was mapped with the necessary right at
 * that moment. If the page departs before the simulator retries the access, the retry is a new fault.
 * Accesses whose page did not arrive stay stalled; the host object reports them to the engine again, as the
 * hardware does at a replay.
 *
 * TLB. `map` and `unmap` report each change of the page tables. `unmap` is the shoot-down: the simulator
 * drops the translations of these pages before it returns. While a page is copied away no processor can write
 * it.
 *
 * Frames. A page that is resident on a GPU has a frame: an offset in the memory of that GPU, below
 * uvmp_host_capacity. No two resident pages of a GPU share a frame. Each callback is about contiguous
 * addresses in contiguous frames.
 *
 * Callbacks run inside uvmp_host_run, on its thread. A callback may call each function of this header but
 * uvmp_host_run and uvmp_host_close: they do nothing then, and fail with UVMP_ERR_STATE (uvmp_host_status).
 * Requests and faults of a callback are taken up before the same uvmp_host_run returns. Calls on different
 * host objects may run at the same time; the caller orders calls on one object.
 *
 * Memory. The host object allocates with malloc, or with `allocate`. If memory is short, nothing is lost:
 * calls that need memory return UVMP_ERR_NO_MEMORY and change nothing; uvmp_host_run stops before the action
 * that needs memory, and its next call tries again.
 *
 * Fields are only added at the end of the structures. docs/host.md is the manual. */
#ifndef UVMPOLICY_HOST_H
#define UVMPOLICY_HOST_H

#include <uvmpolicy/plugin.h>
#include <uvmpolicy/service.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The host object. Private. */
struct uvmp_host;

/* -- callbacks ------------------------------------------------------------------------------------- */

/* In place of an offset: the memory of the CPU, whose frames belong to the simulator. */
#define UVMP_HOST_NO_FRAME UINT64_MAX

/* A copy of contiguous pages between two memories, or (is_zero_fill) pages that begin as zeros. One transfer
 * of the driver is one copy, or several if its frames are not contiguous. */
struct uvmp_host_copy {
	uint64_t id;	     /* 1, 2, 3, ...: for uvmp_host_copied */
	uvmp_addr address;   /* of the first page */
	uint64_t bytes;	     /* whole pages */
	uint32_t from, to;   /* processors; is_zero_fill: from is UVMP_PROC_NONE */
	uint64_t from_frame; /* offset in the memory of GPU `from`; UVMP_HOST_NO_FRAME: not a GPU */
	uint64_t to_frame;   /* offset in the memory of GPU `to`; UVMP_HOST_NO_FRAME: not a GPU */
	enum uvmp_cause cause;
	uint32_t part; /* 0: begins a transfer; 1, 2, ...: continues the transfer of the copy before, with
			* another frame. A simulator that charges each transfer a latency charges part 0 */
	bool is_zero_fill;
	uint64_t now_ns; /* when the copy begins */
};

/* Pages that enter (map) or leave (unmap) the page tables of a processor. */
struct uvmp_host_mapping {
	uint32_t processor;    /* whose page tables */
	uint32_t holder;       /* processor whose memory the pages lie in */
	uvmp_addr address;     /* of the first page */
	uint64_t bytes;	       /* whole pages */
	uint64_t frame;	       /* of the first page: offset in the memory of GPU `holder`; the others
				* follow. UVMP_HOST_NO_FRAME: memory of the CPU */
	enum uvmp_right right; /* map: from now on. unmap: what remains; UVMP_RIGHT_NONE: nothing */
	uint64_t now_ns;
};

/* A stalled access. */
struct uvmp_host_waiter {
	uint32_t processor; /* of uvmp_host_fault_on; 1 for uvmp_host_fault */
	uint64_t warp;	    /* as given with the fault */
	uvmp_addr address;  /* as given with the fault */
	enum uvmp_access access;
	uint64_t since_ns, now_ns; /* when it stalled; now */
};

/* A request that has ended. */
struct uvmp_host_done {
	uint64_t request;	 /* number: uvmp_host_last_request after the call */
	enum uvmp_status status; /* UVMP_OK; UVMP_ERR_UNKNOWN: a part is not managed; UVMP_ERR_SPACE: too many
				  * ranges; or the status of a failed copy */
	uint64_t now_ns;
};

/* -- opening --------------------------------------------------------------------------------------- */

/* What is zero has the value named here. The size reaches at least to `memory_bytes`. */
struct uvmp_host_options {
	uint32_t size;	     /* sizeof(struct uvmp_host_options), see base.h */
	uint32_t page_bytes; /* 4096, 16384, 65536 or 2097152, if the eviction order takes it; 0: 4096 */
	/* Memory of each GPU for managed pages, above 0. Rounded down to roots of 2 MiB (evict=lru) or to
	 * pages (other orders). */
	uint64_t memory_bytes;
	const char *policy; /* policy string (policy.h), copied; NULL or "": the driver's policy */
	uint32_t gpus;	    /* 1..63; 0: 1 */
	uint32_t utlbs;	    /* uTLBs of each GPU, 1..4096; 0: 64. Warp w has uTLB w modulo `utlbs` */
	/* All addresses are managed: memory is cut into ranges on first touch. false: faults outside of
	 * uvmp_host_add_range are cancelled. */
	bool is_all_managed;
	/* Data of a new range is on the CPU, mapped there with all rights (without a call of `map`). false:
	 * pages are zeros, made where they are touched first. */
	bool is_on_cpu;
	/* is_all_managed: size and alignment of the ranges, a power of two, 2 MiB to 2^40; 0:
	 * UVMP_HOST_RANGE_BYTES, the memory that the driver services at a time. In larger ranges prefetchers
	 * that walk a range reach memory that the program never touched. */
	uint64_t range_bytes;
	uint64_t seed;		  /* of the random choices of prefetch=random and evict=random4k */
	uint64_t batch_ns;	  /* driver time for a batch of faults, */
	uint64_t fault_ns;	  /* for each fault of the batch, before merging, */
	uint64_t replay_ns;	  /* and for a replay */
	uint64_t memory_retry_ns; /* if memory is short, uvmp_host_run asks to be called after it; 0: 1 ms */
	uint32_t sms; /* SMs of each GPU, 0..65535, for threads=on and sm_throttle=on; 0: both are off */
	/* Ranges at a time, 1..2^20; advice and free_part cut ranges. 0: 65536; with is_all_managed on 64
	 * bits 262144, which are 512 GiB in ranges of 2 MiB. */
	uint32_t ranges;
	/* Orders other than evict=lru: only resident pages count against the memory, as in UVM Smart, and
	 * each has a frame of its own. false: a unit of the order counts with all its pages while one of them
	 * is resident, and its frames are contiguous where the free memory is. */
	bool counts_pages;
	void *user; /* first argument of each callback. Each callback may be NULL */
	/* Pages enter the page tables, or get another right there. */
	void (*map)(void *user, const struct uvmp_host_mapping *mapping);
	/* Pages left the page tables, or (right is not UVMP_RIGHT_NONE) lost rights. */
	void (*unmap)(void *user, const struct uvmp_host_mapping *mapping);
	/* How long the copy takes, ns. The copies of one direction follow one another. Data may be moved
	 * here. NULL, without `copy`: copies take no time. */
	uint64_t (*copy_ns)(void *user, const struct uvmp_host_copy *copy);
	/* Begins the copy, in place of copy_ns; uvmp_host_copied reports its end, also from inside. All
	 * copies of one COPY action begin at once: the simulator queues them for its link. */
	void (*copy)(void *user, const struct uvmp_host_copy *copy);
	/* The access can be retried. */
	void (*replay)(void *user, const struct uvmp_host_waiter *waiter);
	/* The access will never be served. UVMP_ERR_UNKNOWN: no range has the address. UVMP_ERR_NO_MEMORY:
	 * its page cannot become resident, or each time departs before a replay. Others: the status of a
	 * failed copy. The simulator ends the warp or the program. */
	void (*cancel)(void *user, const struct uvmp_host_waiter *waiter, enum uvmp_status status);
	/* A request has ended. */
	void (*done)(void *user, const struct uvmp_host_done *done);
	/* threads=on, sm_throttle=on: from now on stopped_sms SMs of the GPU are stopped, and each SM may run
	 * extra_blocks thread blocks more than fit. */
	void (*limit)(void *user, uint32_t gpu, uint32_t stopped_sms, uint32_t extra_blocks, uint64_t now_ns);
	/* A line of the decision log (service.h), without newline. */
	void (*log)(void *user, const char *line);
	/* Memory for the host object, aligned to 16, of any contents; NULL: none. Both or neither. Default:
	 * malloc and free. `allocate` is called by uvmp_host_open, and later when tables grow. */
	void *(*allocate)(void *user, size_t bytes);
	void (*release)(void *user, void *memory);
	/* Prefetchers and eviction orders of your own, which `policy` may name (plugin.h). They stay as they
	 * are until uvmp_host_close, and call no function of this host object. NULL: none. */
	const struct uvmp_plugins *plugins;
};

#define UVMP_HOST_ERROR_MAX   1024u
#define UVMP_HOST_RANGE_BYTES ((uint64_t)2 << 20)

/* Opens a host object. NULL: `error` (may be NULL) names the option that is wrong, and what is accepted; or
 * memory is short. */
UVMP_API struct uvmp_host *uvmp_host_open(const struct uvmp_host_options *options,
					  char error[UVMP_HOST_ERROR_MAX]);
/* Frees everything; no callback but `release` is called. NULL: no effect. */
UVMP_API void uvmp_host_close(struct uvmp_host *host);

/* -- memory of the program ------------------------------------------------------------------------- */

/* Manages the pages that [base, base + bytes) touches. Use it for each allocation; with is_all_managed it is
 * optional: prefetchers that know allocations do better with it. UVMP_ERR_RANGE: 0 bytes, or the end is
 * beyond 2^64. UVMP_ERR_CONFLICT: a page is managed already (two allocations share a page, a range that was
 * cut on first touch). If a free waits, a range that is managed still is added behind it, as a request.
 * UVMP_ERR_SPACE: options.ranges. UVMP_ERR_NO_MEMORY. O(ranges). */
UVMP_API enum uvmp_status uvmp_host_add_range(struct uvmp_host *host, uvmp_addr base, uint64_t bytes);
/* The same for a range whose data does not begin where is_on_cpu says: `home` is UVMP_CPU if its data is on
 * the CPU, mapped there with all rights, and UVMP_PROC_NONE if its pages are zeros, made where they are
 * touched first. UVMP_ERR_RANGE: home, too. */
UVMP_API enum uvmp_status uvmp_host_add_range_on(struct uvmp_host *host, uvmp_addr base, uint64_t bytes,
						 uint32_t home);

/* The functions below queue a request. uvmp_host_run performs it; `done` reports its end with the number of
 * the request (uvmp_host_last_request). UVMP_ERR_RANGE: no such processor, no such advice, 0 bytes, or the
 * end is beyond 2^64. UVMP_ERR_NO_MEMORY: nothing was queued. [base, base + bytes) grows to whole pages, but
 * uvmp_host_free_part shrinks it: a page is freed if all of it is. */

/* Frees the range that uvmp_host_add_range added at `base`. Stalled accesses to it are cancelled. */
UVMP_API enum uvmp_status uvmp_host_free(struct uvmp_host *host, uvmp_addr base, uint64_t now_ns);
/* Frees the managed pages of [base, base + bytes), of one or more ranges; with is_all_managed pages that were
 * never touched are skipped. */
UVMP_API enum uvmp_status uvmp_host_free_part(struct uvmp_host *host, uvmp_addr base, uint64_t bytes,
					      uint64_t now_ns);
/* Moves the pages to a processor, as cudaMemPrefetchAsync. */
UVMP_API enum uvmp_status uvmp_host_prefetch(struct uvmp_host *host, uvmp_addr base, uint64_t bytes,
					     uint32_t processor, uint64_t now_ns);
/* As cudaMemAdvise. `processor` may be UVMP_PROC_NONE where the advice has no processor. */
UVMP_API enum uvmp_status uvmp_host_advise(struct uvmp_host *host, uvmp_addr base, uint64_t bytes,
					   enum uvmp_advice advice, uint32_t processor, uint64_t now_ns);
/* Number of the latest queued request: 1, 2, 3, ...; 0: none yet. */
UVMP_API uint64_t uvmp_host_last_request(const struct uvmp_host *host);

/* -- accesses -------------------------------------------------------------------------------------- */

/* An access of a warp of GPU 1 missed: its page is not mapped with the necessary right. The warp stalls until
 * `replay` or `cancel`. One warp may stall on several addresses; each fault gets its own answer. If the page
 * is mapped meanwhile, `replay` follows without a fault. An access UVMP_ACCESS_PREFETCH is a hint: no warp
 * waits, and no answer follows. UVMP_ERR_RANGE: access. UVMP_ERR_NO_MEMORY: the fault is not recorded; repeat
 * it. O(1); a replay is O(stalled accesses). */
UVMP_API enum uvmp_status uvmp_host_fault(struct uvmp_host *host, uint64_t warp, uvmp_addr address,
					  enum uvmp_access access, uint64_t now_ns);
/* The same for any processor. 0: the CPU, whose faults queue with the requests; `warp` is its thread, and an
 * atomic access counts as a write. UVMP_ERR_RANGE: processor, too. */
UVMP_API enum uvmp_status uvmp_host_fault_on(struct uvmp_host *host, uint32_t processor, uint64_t warp,
					     uvmp_addr address, enum uvmp_access access, uint64_t now_ns);

/* Does the policy use accesses to pages that are mapped? Constant after uvmp_host_open. If false,
 * uvmp_host_access has no effect. */
UVMP_API bool uvmp_host_wants_accesses(const struct uvmp_host *host);
/* Reports an access that hit, also the retry after a replay. Without it, recency and frequency orders know
 * arrivals and services only. UVMP_ERR_RANGE: processor, access. O(1), see uvmp_service_access. */
UVMP_API enum uvmp_status uvmp_host_access(struct uvmp_host *host, uint32_t processor, uvmp_addr address,
					   enum uvmp_access access);

/* Performs all work that is due at now_ns, in order of time, and calls the callbacks. Returns the time of the
 * next call (after now_ns), or UINT64_MAX: none until an event. Errors: uvmp_host_status is
 * UVMP_ERR_NO_MEMORY (memory is short: the returned time is now_ns + memory_retry_ns), UVMP_ERR_CONFLICT
 * (stalled accesses were cancelled, because none could continue in 1000 services in a row), UVMP_ERR_STATE
 * (called from a callback; returns UINT64_MAX). */
UVMP_API uint64_t uvmp_host_run(struct uvmp_host *host, uint64_t now_ns);

/* The time of the next call of uvmp_host_run: that which the latest call returned, or that of an event since
 * then. UINT64_MAX: none. A simulator may compare its clock with this time instead of keeping it. O(1). */
UVMP_API uint64_t uvmp_host_next_ns(const struct uvmp_host *host);

/* The copy `id` of the callback `copy` has ended with `status`: UVMP_OK, or negative: no byte was copied. Its
 * pages then stay where they were, and accesses that wait for them are cancelled with `status`.
 * UVMP_ERR_STATE: no such copy is in progress. UVMP_ERR_RANGE: status is positive. */
UVMP_API enum uvmp_status uvmp_host_copied(struct uvmp_host *host, uint64_t id, enum uvmp_status status,
					   uint64_t now_ns);

/* -- queries --------------------------------------------------------------------------------------- */

/* Do the page tables of the processor allow this access now? For simulators without page tables. O(1). */
UVMP_API bool uvmp_host_is_mapped(const struct uvmp_host *host, uint32_t processor, uvmp_addr address,
				  enum uvmp_access access);

/* State of one page. */
struct uvmp_host_page_state {
	uint32_t size;	      /* set by the caller, see base.h */
	uint64_t resident;    /* set of processors that hold the page: bit p for processor p */
	uint64_t read, write; /* sets of processors that may read, write it */
	uint64_t frame;	      /* offset in the memory of this GPU; UVMP_HOST_NO_FRAME: not resident there */
};
/* UVMP_ERR_ARGUMENT: page->size. UVMP_ERR_RANGE: processor. UVMP_ERR_UNKNOWN: the page is not managed. */
UVMP_API enum uvmp_status uvmp_host_page(const struct uvmp_host *host, uint32_t processor, uvmp_addr address,
					 struct uvmp_host_page_state *page);

/* Bytes of frames of a GPU: memory_bytes, rounded down; with memory_ratio of the policy that much more. */
UVMP_API uint64_t uvmp_host_capacity(const struct uvmp_host *host);

/* Sums over all GPUs since uvmp_host_open. */
struct uvmp_host_counts {
	uint32_t size;	     /* set by the caller, see base.h */
	uint64_t faults;     /* of GPUs, as given by the simulator */
	uint64_t cpu_faults; /* the same of the CPU */
	uint64_t fetched;    /* entries of the fault buffers, repeated faults included, */
	uint64_t coalesced;  /* after merging, */
	uint64_t duplicates; /* as the driver counts them */
	uint64_t batches, replays;
	uint64_t replayed;  /* accesses that went on */
	uint64_t cancelled; /* accesses that did not */
	uint64_t throttles; /* THROTTLE actions */
	uint64_t evictions; /* victims */
	uint64_t pages_evicted;
	uint64_t pages_in;	   /* copied from the CPU to GPUs, */
	uint64_t pages_out;	   /* from GPUs to the CPU, */
	uint64_t pages_peer;	   /* from GPU to GPU */
	uint64_t pages_zeroed;	   /* filled with zeros on a GPU */
	uint64_t pages_prefetched; /* of pages_in, pages_peer and pages_zeroed: had not faulted */
	uint64_t bytes_in, bytes_out, bytes_peer;
	uint64_t copies_in, copies_out, copies_peer; /* transfers */
	uint64_t copy_failures;
	uint64_t waiting;	   /* stalled accesses now */
	uint64_t requests_waiting; /* requests that have not ended, faults of the CPU included */
};
/* UVMP_ERR_ARGUMENT: counts->size. O(GPUs). */
UVMP_API enum uvmp_status uvmp_host_count(const struct uvmp_host *host, struct uvmp_host_counts *counts);

/* Status and text of the latest failure of a call on the host object; UVMP_OK and "": none so far. Requests
 * that end with an error and cancelled accesses are failures of the program: they have a callback. */
UVMP_API enum uvmp_status uvmp_host_status(const struct uvmp_host *host);
UVMP_API const char *uvmp_host_error(const struct uvmp_host *host);

/* The engine, for queries, uvmp_service_begin_kernel and uvmp_service_end_kernel. Its address space is
 * UVMP_HOST_SPACE. Do not call uvmp_service_next, _complete, _grow, _bind, _add_range, or a request. */
#define UVMP_HOST_SPACE 1u
UVMP_API struct uvmp_service *uvmp_host_service(struct uvmp_host *host);

#ifdef __cplusplus
}
#endif
#endif
