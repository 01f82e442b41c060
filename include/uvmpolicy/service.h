/* service.h: the engine. Events in, actions out, no I/O.
 *
 * The engine combines the decisions of the other headers as the driver's bottom half does [driver:
 * batch-order, batch-walk, block-walk, permission-check, block-service, cpu-fault, bottom-half,
 * eviction-retry, thrashing, counter-service, va-policy]. The engine performs nothing itself. The host
 * reports events, takes actions, performs them, and reports the status of each, until no action is left:
 *
 *   uvmp_service_init(&params, memory, bytes, &service);
 *   uvmp_service_add_range(...); uvmp_service_bind(...);
 *   for (;;) {
 *           ... uvmp_service_fault(service, gpu, &fault) for what the hardware has reported ...
 *           do {
 *                   const struct uvmp_action *action;
 *
 *                   status = uvmp_service_next(service, now_ns, &action);
 *                   if (status == UVMP_OK) {
 *                           ... perform it; the text for the decision log: uvmp_action_print ...
 *                           uvmp_service_complete(service, action->id, UVMP_OK);
 *                   } else if (status == UVMP_ERR_ARENA) {
 *                           ... allocate another segment, aligned to 16, as large as all before together ...
 *                           uvmp_service_grow(service, more, more_bytes);
 *                   }
 *           } while (status == UVMP_OK || status == UVMP_ERR_ARENA);
 *   }
 *
 * Several actions may be outstanding. The host may perform all actions that uvmp_service_next returns before
 * UVMP_ERR_RETRY at the same time, except for `after` (see struct uvmp_action), and may complete them in any
 * order.
 *
 * One operation runs at a time: the bottom half of one GPU, one request, or one batch of access counters.
 * Between two VABlocks of a batch, where the driver drops its locks too, waiting requests go first: a range
 * can be freed while the batch holds faults on it. Waiting operations run in this order:
 *
 *  1. requests, first come first served
 *  2. unpinning of thrashing pages
 *  3. controllers that are due
 *  4. hot pages of one block and bottom halves, in alternation (GPUs in turn)
 *  5. access counters (lowest GPU first)
 *
 * With controllers (adapt, threads, sm_throttle, runtime) or prefetch=pattern, events change the parameters
 * of later decisions:
 *
 *   adapt=pressure, early  the density threshold of a GPU, or of a decision: from faults, faults on pages
 *                          that were evicted before, evictions, and managed bytes against the GPU's memory
 *   threads, sm_throttle   LIMIT actions: how many thread blocks and SMs may run. Only with
 *                          uvmp_service_gpu.sms. If a limit holds from the beginning, the first LIMIT
 *                          precedes the first batch. Later LIMITs follow BATCH, in its group, or are due at
 *                          uvmp_service_wakeup_ns
 *   runtime                starts evict=tbne and remote access when the access patterns favour them; the
 *                          patterns follow from uvmp_service_begin_kernel and the tree prefetchers
 *   prefetch=pattern       learns from faults and from uvmp_service_touch; without touches, from faults alone
 *   prefetch=safe          counts the distinct uTLBs that fault on a block in a batch, merged faults included
 *
 * One flag of the engine records for all GPUs whether memory has been full. The first GPU on which an
 * allocation does not fit switches prefetch_full, remote=oversub and runtime for all GPUs. The fault and
 * eviction rates of adapt=early are also common to all GPUs.
 *
 * The engine lives in one arena that the caller provides and can enlarge (uvmp_service_grow):
 *
 *   state                                         bytes
 *   --------------------------------------------  --------------------------------------------------------
 *   VABlock, from its first fault on (or from      48
 *     advice on accesses or discarding, if its
 *     data began on the CPU)
 *   processor that holds or maps pages of it       208
 *   block with thrashing state (thrash.h)          about 37 KiB
 *   chunk map of a block below 2 MiB               4.2 KiB
 *   remote=adaptive, always, oversub, runtime:     0.5 KiB
 *     block that a GPU has used
 *   controllers, prefetch=pattern: block with an   288 to 352
 *     arrival, a fault or an eviction
 *   prefetch=tbn, sl: block with a prefetch        400
 *     decision
 *   runtime: each 64 KiB of ranges                 4 to 8
 *   threads: each unit of a GPU's memory           8
 *   orders other than evict=lru: block that a GPU  20 to 9,000, by the unit: the tables double when more
 *     has ever had, beyond the parameter `blocks`    blocks come; outgrown tables stay in the arena
 *
 * Blocks, their state on processors, trees of basic blocks, chunk maps and tables of blocks are mandatory: if
 * the arena may have no space for them, uvmp_service_next hands out no action and returns UVMP_ERR_ARENA.
 * Faults and requests then wait until uvmp_service_grow. If the arena has no space for other state, the
 * engine decides without it. uvmp_service_size includes the state for each unit of a GPU's memory.
 *
 * HMM and ATS are left out, because they need the memory map of the process. A fault outside every range is
 * fatal, as in the driver without HMM and ATS.
 */
#ifndef UVMPOLICY_SERVICE_H
#define UVMPOLICY_SERVICE_H

#include "base.h"
#include "fault.h"
#include "policy.h"
#include "processor.h"
#include "residency.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- setting up ------------------------------------------------------------------------------ */

/* One GPU. The size reaches at least to `utlbs`; all elements of the array have the same size. */
struct uvmp_service_gpu {
	uint32_t size;	       /* set by the host, see base.h */
	uint64_t memory_bytes; /* managed memory, rounded down to roots of 2 MiB (orders other than evict=lru:
				 * to pages). At least one root; other orders: one unit (4 or 64 KiB, or the
				 * granularity; runtime=on: 2 MiB). With less, the GPU has no memory, and must
				 * be in processors->no_memory; otherwise the GPU must not be there. Below
				 * 2 MiB, a block service brings as many units as fit, those with faults
				 * first; the other pages stay, and fault again. The capacity is
				 * policy.memory_ratio percent of this value, so offsets of chunks may exceed
				 * memory_bytes */
	uint32_t splits;       /* roots that can be split at a time, see uvmp_pmm_params; at most the number
				 * of roots. policy.memory_ratio does not enlarge it: if it must suffice for
				 * all roots, scale it by the ratio. 0: two for each of params.ranges, which
				 * always suffices */
	uint32_t fault_entries; /* of its fault buffer, 2..65536. 0: 1024, or policy.replay.max_batch + 1 if
				 * that is more */
	uint32_t utlbs;		/* 1..4096; 0: 64 */
	uint32_t notes;		/* entries of its access-counter buffer, 0..65536; 0: no such buffer */
	uint32_t sms;		/* for threads=on and sm_throttle=on, 0..65535; 0: not known, both are off */
	bool counts_units; /* orders other than evict=lru: a unit counts with all its pages in the block from
			    * the arrival of its first page to the departure of its last one, as its frame
			    * does. Frames then lie within the capacity, apart from those of blocks smaller
			    * than their units. false: only resident pages count */
	bool asks_at_misses; /* remote=adaptive, always, oversub and runtime=on: no access makes a page hot.
			      * The host calls uvmp_service_miss when a TLB has no entry of a page that is
			      * mapped on the CPU, and may report a fault of such a page */
};

/* The size reaches at least to `requests`. Zero is a default in every field but `size` and `gpu`. */
struct uvmp_service_params {
	uint32_t size;	     /* set by the host, see base.h */
	uint32_t page_bytes; /* 4096, 16384, 65536 or 2097152, if the unit of eviction is a whole number of
			      * pages (uvmp_policy_needs); 0: 4096. The driver has PAGE_SIZE of its kernel:
			      * 4 KiB, on arm64 also 16 or 64 KiB; 2 MiB is an extension: a block is a page */
	const struct uvmp_policy *policy;	  /* copied; NULL: the driver's, as of uvmp_policy_init */
	const struct uvmp_processors *processors; /* copied; count 2 or more. NULL: the CPU and `gpus` GPUs,
						   * with the relations of uvmp_processors_init */
	const struct uvmp_service_gpu *gpu;	  /* [number of GPUs]: of GPU 1, 2, ... */
	uint32_t blocks; /* VABlocks with state that are expected, 1..2^24; 0: 1024. No limit: the hash table
			     * of blocks, and tables of orders other than evict=lru, grow when there are more,
			     * which takes arena for all of their blocks at once. No decision depends on it */
	uint32_t spaces; /* address spaces at a time, 1..4096; 0: 64 */
	uint32_t ranges; /* managed ranges at a time, 1..2^20; setting policies on parts, and freeing them,
			     * splits ranges; 0: 1024 */
	uint32_t instances;  /* channels that can be bound, 1..65536; 0: 256 */
	uint32_t requests;   /* requests that can wait, 1..4096; 0: 256 */
	bool has_ats;	     /* for counters=driver */
	uint64_t seed;	     /* of the random numbers for prefetch=random and evict=random4k */
	bool memory_is_zero; /* uvmp_service_init's memory holds zeros, as fresh memory of an operating system
			      * does: the engine does not write tables proportional to `blocks`, so the system
			      * commits their pages on first use */
	uint32_t gpus; /* GPUs, 1..63, if `processors` is NULL; 0: 1. With `processors`: 0, or their number
			      * without the CPU */
};

#define UVMP_SERVICE_ERROR_MAX 160u

/* The refused parameter, and the accepted values. */
struct uvmp_service_error {
	char field[40];	   /* as in C: "blocks", "gpu[0].splits", "policy->evict", "processors->smc[2]";
			    * NUL-terminated */
	uint64_t value;	   /* value given; 0 for pointers */
	uint64_t min, max; /* accepted numbers, and 0 where it is a default; if min exceeds max, the field has
			    * no range: see text */
	char text[UVMP_SERVICE_ERROR_MAX]; /* e.g. `gpu[0].notes: 65537 is not accepted; 0..65536`;
					    * NUL-terminated */
};

/* Checks the parameters. UVMP_OK: accepted, *error is unchanged. Otherwise *error (may be NULL) names the
 * bad field. UVMP_ERR_ARGUMENT: a field is missing, a size is wrong, or
 * policy or processors are not valid. UVMP_ERR_RANGE: a number, or a field that the library does not know.
 * UVMP_ERR_UNSUPPORTED: the eviction order does not support the page size; sequential, locality, stride or
 * next prefetch with several GPUs. uvmp_service_size and uvmp_service_init accept the same parameters.
 * O(GPUs). */
UVMP_API enum uvmp_status uvmp_service_params_check(const struct uvmp_service_params *params,
						    struct uvmp_service_error *error);

/* The engine. Private; lives in the arena. */
struct uvmp_service;

/* Bytes of arena that uvmp_service_init needs for `resident` blocks, each with state on two processors. The
 * result includes the space that one decision may need (10 KiB with two processors, 35 KiB with 64). 0 if a
 * parameter is out of range or the size does not fit size_t: uvmp_service_params_check names the field. */
UVMP_API size_t uvmp_service_size(const struct uvmp_service_params *params, uint32_t resident);

/* Builds an engine without address spaces, ranges or faults in `memory` (aligned to 16). *service then points
 * into `memory`. UVMP_ERR_ARGUMENT: NULL, misaligned, policy or processors not valid. UVMP_ERR_RANGE: a
 * parameter. UVMP_ERR_UNSUPPORTED: the eviction order does not support the page size; sequential, locality,
 * stride or next prefetch with several GPUs. UVMP_ERR_SPACE: bytes below uvmp_service_size(params, 0). */
UVMP_API enum uvmp_status uvmp_service_init(const struct uvmp_service_params *params, void *memory,
					    size_t bytes, struct uvmp_service **service);

#define UVMP_SERVICE_GROW_MIN 4096u

/* Adds an arena segment: the engine keeps and uses `memory` (aligned to 16, at least UVMP_SERVICE_GROW_MIN
 * bytes). A segment of uvmp_service_needs bytes always ends UVMP_ERR_ARENA, and so does one of 64 KiB, unless
 * tables of a page-wise order grow. UVMP_ERR_ARGUMENT: NULL, misaligned, or a part of it is the engine's
 * already. UVMP_ERR_SPACE: bytes is too small, or the arena has eight segments already. */
UVMP_API enum uvmp_status uvmp_service_grow(struct uvmp_service *service, void *memory, size_t bytes);

/* How much arena the next decision may take beyond what is free: the bytes of a segment to add with
 * uvmp_service_grow, so that it need not wait for UVMP_ERR_ARENA. 0: the arena suffices, or `service` is not
 * an engine. A host that cannot allocate where it calls uvmp_service_next asks before. Most decisions take
 * less. A call of uvmp_service_next that takes several decisions until one has an action may still return
 * UVMP_ERR_ARENA. O(GPUs + segments). */
UVMP_API uint64_t uvmp_service_needs(const struct uvmp_service *service);

struct uvmp_service_memory {
	uint32_t size;		   /* set by the host, see base.h */
	uint64_t bytes;		   /* of all segments */
	uint64_t used;		   /* by live state, and by freed state on the free lists */
	uint32_t blocks;	   /* VABlocks with state */
	uint32_t residencies;	   /* pairs of block and processor with state */
	uint32_t thrashing_blocks; /* with an array of pages for the thrashing detector */
};
/* UVMP_ERR_ARGUMENT: NULL, service, memory->size. O(1). */
UVMP_API enum uvmp_status uvmp_service_memory_used(const struct uvmp_service *service,
						   struct uvmp_service_memory *memory);

/* Cheap test of the header; false for NULL. All functions below return UVMP_ERR_ARGUMENT if the test fails,
 * and for NULL. Faults, accesses, notes, next and complete only test that `service` is an engine. */
UVMP_API bool uvmp_service_is_valid(const struct uvmp_service *service);
/* Checks the invariants of the whole state, between any two calls:
 *  - a page without residency has no mapping, and only a read-duplicated page has several residencies;
 *  - pages resident on a GPU lie in chunks that the block owns there;
 *  - chunks and queues agree (uvmp_pmm_check), and memory in use does not exceed the GPU's;
 *  - blocks lie in their ranges, and look-ups find them.
 * For tests and debug builds. O(blocks + roots). */
UVMP_API bool uvmp_service_check(const struct uvmp_service *service);

/* -- address spaces, channels, ranges: immediate --------------------------------------------- */

/* An address space exists while a range or a channel belongs to it; its id is any number. */

/* Binds a channel: faults and notifications with this instance key on `gpu` belong to `space`.
 * UVMP_ERR_RANGE: gpu, or aperture above 11. UVMP_ERR_CONFLICT: the key is bound already. UVMP_ERR_SPACE:
 * params.instances keys are bound. */
UVMP_API enum uvmp_status uvmp_service_bind(struct uvmp_service *service, uint32_t gpu, uint32_t aperture,
					    uint64_t instance, uint32_t subcontext, uint64_t space);
/* Removes a channel. Its faults that are still in the buffer cause a flush [driver: batch-order].
 * UVMP_ERR_STATE: the key is not bound. */
UVMP_API enum uvmp_status uvmp_service_unbind(struct uvmp_service *service, uint32_t gpu, uint32_t aperture,
					      uint64_t instance, uint32_t subcontext);

/* Adds the managed range [base, base + bytes), whole pages. `right` is the right of the process
 * ([driver: permission-check]; normally UVMP_RIGHT_READ_WRITE_ATOMIC). `home` is UVMP_PROC_NONE if the pages
 * are resident nowhere, as after allocation, or UVMP_CPU if the CPU holds and maps the data, as after
 * initialisation. Ranges of one address space do not overlap, but may share a 2 MiB window. UVMP_ERR_RANGE:
 * partial pages, 0 bytes, end beyond 2^64, right NONE, or home. UVMP_ERR_CONFLICT: the range overlaps
 * another. UVMP_ERR_SPACE: params.ranges or params.spaces exist. O(ranges). */
UVMP_API enum uvmp_status uvmp_service_add_range(struct uvmp_service *service, uint64_t space, uvmp_addr base,
						 uint64_t bytes, enum uvmp_right right, uint32_t home);

/* -- requests: queued ------------------------------------------------------------------------ */

/* Each request gets a ticket (*ticket, may be NULL) and ends with a DONE action that carries the ticket and
 * the status. Effects before an error stay.
 *
 *   returned by the call   UVMP_ERR_RANGE: no such processor, unknown advice or access, partial pages
 *                          UVMP_ERR_SPACE: params.requests requests wait already
 *   status in DONE         UVMP_ERR_UNKNOWN: part of [base, base + bytes) is not managed
 *                          (free_range: no range begins at base)
 *                          UVMP_ERR_SPACE: too many ranges
 *                          UVMP_ERR_NO_MEMORY: no memory on the GPU
 *                          any other: the status of a failed action */

/* Frees the rest of the range added at `base`. Advice may have split the range, and freed parts may have left
 * holes. After a failed action the request still frees the remaining blocks; DONE carries the first
 * failure. */
UVMP_API enum uvmp_status uvmp_service_free_range(struct uvmp_service *service, uint64_t space,
						  uvmp_addr base, uint64_t *ticket);
/* Frees the part [base, base + bytes) of one or more ranges, as munmap of a part does. The part is then
 * unmanaged, and new ranges can be added there, even next to the remaining part of the same 2 MiB. The
 * remaining parts keep their policy and are freed by the base of their range. If the freed part begins at
 * that base, the lowest remaining address becomes the base (runtime=on: with a new pattern).
 *
 * The request cuts ranges at both ends of the part, as advice does. A block across an end cannot be cut while
 * it has GPU memory or thrashing state. The engine first drops the pages of such a block in the part (UNMAP,
 * cause FREE, without a copy), moves its other pages to the CPU (cause HINT), and frees its memory. All other
 * pages outside the part stay in place.
 *
 * Further errors in DONE. UVMP_ERR_SPACE: each end inside a range takes one of params.ranges (the range
 * between two cuts is free again afterwards); nothing has changed, unless ranges were added meanwhile. The
 * status of an action that failed before both cuts: the part is still managed, pages in blocks across its
 * ends may have lost their contents, and the request can be repeated. After both cuts, a failed action does
 * not stop the request. */
UVMP_API enum uvmp_status uvmp_service_free_part(struct uvmp_service *service, uint64_t space, uvmp_addr base,
						 uint64_t bytes, uint64_t *ticket);

enum uvmp_advice {
	UVMP_ADVISE_PREFERRED = 0,   /* preferred location: `processor`, or UVMP_PROC_NONE to unset */
	UVMP_ADVISE_ACCESSED_BY,     /* map `processor` to the pages, wherever they are resident */
	UVMP_ADVISE_NOT_ACCESSED_BY, /* unset accessed-by for `processor` */
	UVMP_ADVISE_READ_DUPLICATE,  /* read-mostly: readers get copies */
	UVMP_ADVISE_NO_DUPLICATE,    /* forbid read duplication; existing copies collapse */
	UVMP_ADVISE_UNSET_DUPLICATE, /* back to the initial setting; existing copies collapse */
	UVMP_ADVISE_DISCARD	     /* the contents are no longer needed; mappings stay until pages
				      * move */
};
/* Sets a policy on part of the address space [driver: va-policy], with its side effects on mappings and
 * copies. A range that has the policy already does not change: no side effects, no split. */
UVMP_API enum uvmp_status uvmp_service_advise(struct uvmp_service *service, uint64_t space, uvmp_addr base,
					      uint64_t bytes, enum uvmp_advice advice, uint32_t processor,
					      uint64_t *ticket);

/* Moves pages to a processor, as cudaMemPrefetchAsync does (UVMP_CAUSE_MIGRATE). */
UVMP_API enum uvmp_status uvmp_service_migrate(struct uvmp_service *service, uint64_t space, uvmp_addr base,
					       uint64_t bytes, uint32_t processor, uint64_t *ticket);

/* Withdraws a victim of an eviction whose copy to the CPU the host has completed for the engine, but has not
 * begun for itself, because the copy waits for the link [uvmsmart: cancellation]. `base`, `bytes`: the pages
 * of that COPY. The request is a migration of these pages back to the GPU, with cause migrate; but its COPY
 * to the GPU moves no data, because the host keeps the pages in the GPU's memory and drops the copy to the
 * CPU. Another unit leaves for them if memory is full: one that is not held (uvmp_service_hold), not passed
 * over because a page is missing, and not protected by `reserve`. The pages return to the eviction order as
 * migrated ones do: a host that reports arrivals (UVMP_ACCESS_NONE) reports them for these pages, too. The
 * tree of prefetch=tbn or sl counts them again. Access counts and round trips stay as they
 * are. Not for evict=lru, whose victims are roots, and evict=lfu2m, which would choose the same unit again.
 *
 * UVMP_ERR_ARGUMENT: service. UVMP_ERR_RANGE: part, processor (the CPU, too, one without memory, and every
 * one with these orders). UVMP_ERR_SPACE: too many requests. The status in DONE: UVMP_ERR_NO_MEMORY: no
 * other unit can leave, and the victim leaves as decided; units that have left before stay away.
 * UVMP_ERR_UNKNOWN: part outside of ranges. */
UVMP_API enum uvmp_status uvmp_service_withdraw(struct uvmp_service *service, uint64_t space, uvmp_addr base,
						uint64_t bytes, uint32_t processor, uint64_t *ticket);

/* Reports a CPU fault [driver: cpu-fault]. `thread` identifies the faulting thread. The status in DONE:
 * UVMP_OK: the thread continues (if the CPU had the right already, the first such fault has no effect).
 * UVMP_ERR_RETRY: the fault is throttled; a THROTTLE action gives the time after which the thread faults
 * again. UVMP_ERR_UNKNOWN: outside all ranges, after a CANCEL (mode all). UVMP_ERR_CONFLICT: a write that the
 * range forbids, after a CANCEL (mode write). Returned by the call: UVMP_ERR_RANGE: access is neither READ
 * nor WRITE (the CPU does not report atomics). */
UVMP_API enum uvmp_status uvmp_service_cpu_fault(struct uvmp_service *service, uint64_t space,
						 uvmp_addr address, enum uvmp_access access, uint64_t thread,
						 uint64_t *ticket);

/* -- hardware events: immediate -------------------------------------------------------------- */

/* Reports an entry of a GPU's fault buffer (the engine ignores va_space and gpu of the entry, and assumes
 * is_valid). UVMP_ERR_SPACE: the buffer is full; the fault is dropped unless the host reports it again after
 * the next replay. UVMP_ERR_RANGE: gpu, or a field of the fault. O(1). */
UVMP_API enum uvmp_status uvmp_service_fault(struct uvmp_service *service, uint32_t gpu,
					     const struct uvmp_fault *fault);

/* Packed record: one access-counter notification [driver: counter-parameters]. */
struct uvmp_note {
	uvmp_addr address;
	uint64_t instance;
	uint32_t aperture; /* enum uvmp_aperture: where the instance block lies */
	uint32_t subcontext;
	uint32_t sub_granularity; /* bit k: the k-th 64 KiB of the 2 MiB was used */
	uint32_t bank;
	uint32_t tag;
};
/* UVMP_ERR_SPACE: the buffer is full and drops the notification. UVMP_ERR_RANGE: gpu, aperture, or the GPU
 * has no such buffer. O(1). */
UVMP_API enum uvmp_status uvmp_service_note(struct uvmp_service *service, uint32_t gpu,
					    const struct uvmp_note *note);

/* Reports that a processor accessed a page, for hosts that can observe accesses, such as simulators. The
 * driver's order ignores accesses [driver: order-by-service]; the other orders and quirks=0 use them.
 * evict=lfu2m counts each call as one touch of the 2 MiB, and each block service that finds or brings pages
 * there as another. Without calls, evict=lfu2m counts services only.
 *
 * With remote=adaptive, always, oversub and with runtime=on, the counters of the basic block count each call.
 * The host then also reports accesses to pages that are mapped on the CPU. Pages that become hot wait for
 * uvmp_service_next, which moves them (cause COUNTER), and evict=lfu2m ranks by these counters
 * [uvmsmart: eviction-list]. prefetch=pattern marks the page as used.
 *
 * UVMP_ACCESS_NONE is no access: a host that knows when copies end reports that the page has arrived
 * [uvmsmart: eviction-list]. Orders by recency then take it for the newest. Nothing counts the call, and
 * evict=lfu2m and the driver's order ignore it. From the first such call for a processor on, a decision to
 * migrate leaves listed units, and with evict=sl64k and tbne trees with listed units, at their place. Without
 * such calls, a page is the newest when the engine decides that it migrates.
 *
 * The call has no effect for the CPU, or on a page that the processor neither holds nor maps. With
 * UVMP_ACCESS_NONE it has no effect on a page that the processor does not hold. UVMP_ERR_RANGE: processor,
 * access. O(1); evict=lfu2m: O(log blocks); at most every 2^26th access O(blocks). */
UVMP_API enum uvmp_status uvmp_service_access(struct uvmp_service *service, uint32_t processor,
					      uint64_t space, uvmp_addr address, enum uvmp_access access);
/* For hosts whose TLBs hold pages on the CPU, as in UVM Smart [uvmsmart: remote-page-in-list]; they set
 * asks_at_misses, and report every access with uvmp_service_access. Is the page, whose access has missed the
 * TLB of the GPU, to migrate [uvmsmart: migrate-or-remote]? *migrates: the access is a fault, which the host
 * reports with uvmp_service_fault although the page is mapped; else it uses the page across the link. false,
 * too, if the page is not on the CPU, or in no range, or if the policy counts no accesses. Changes nothing.
 *
 * UVMP_ERR_ARGUMENT: service, migrates. UVMP_ERR_RANGE: processor (the CPU, too), access. O(1). */
UVMP_API enum uvmp_status uvmp_service_miss(const struct uvmp_service *service, uint32_t processor,
					    uint64_t space, uvmp_addr address, enum uvmp_access access,
					    bool *migrates);
/* For hosts that know when accesses and copies end, as UVM Smart [uvmsmart: evictable]: an access to the
 * page, or a copy to it, is under way until until_ns on the clock of uvmp_service_next. Until then, orders
 * with units of 64 KiB to 2 MiB evict the page's unit only if no other unit can leave, and evict=tbne does
 * not evict it along with another one; a victim then costs O(held units). With quirks, a unit of 2 MiB that
 * was ever held is also held while a page of it is missing [uvmsmart: incomplete-tree-stays]. Orders with
 * smaller units ignore the call: a unit that was just used is their last choice anyway. So does evict=auto,
 * which knows no accesses. The call has no effect on a block that has no memory of the GPU so far. An access
 * does not end when its pages leave: the hold stays until its time, or until the block is freed or split. A
 * time that is not later than that of the present hold has no effect.
 *
 * UVMP_ERR_ARGUMENT: service. UVMP_ERR_RANGE: processor (the CPU, too). O(1). */
UVMP_API enum uvmp_status uvmp_service_hold(struct uvmp_service *service, uint32_t processor, uint64_t space,
					    uvmp_addr address, uint64_t until_ns);
/* uvmp_service_access for a read. */
UVMP_API enum uvmp_status uvmp_service_touch(struct uvmp_service *service, uint32_t processor, uint64_t space,
					     uvmp_addr address);

/* Reports UVM Smart's device synchronisation [uvmsmart: device-synchronisation] on a GPU. Before the call,
 * the host writes back pages that kernels have written, with uvmp_service_migrate. The call is immediate,
 * gives no action, and is allowed at any time. Drivers without such a synchronisation never make it.
 *
 *   reset     access counts and round trips of every GPU (remote=adaptive, always, oversub; runtime=on)
 *             the trees of UVM Smart's prefetchers, so that no page counts as present, resident ones included
 *             touch counts of evict=lfu2m on this GPU; the age of units stays
 *             the flag that memory has been full, until memory is full again
 *   kept      prefetch_full and the switches of runtime=on, once made
 *             residency, hot pages, all controllers; orders but for the next row
 *   uncounted with a page-wise order, without counts_units: pages that are still resident no longer count
 *             against the memory, and their units are not evicted until they are used again, so that more
 *             pages can be resident than the memory has [uvmsmart: clean-pages-uncounted]. quirks=0: they
 *             count
 *
 * UVMP_ERR_ARGUMENT: service. UVMP_ERR_RANGE: gpu. O(blocks); evict=lfu2m: O(blocks * log blocks). */
UVMP_API enum uvmp_status uvmp_service_synchronise(struct uvmp_service *service, uint32_t gpu);

/* Do notifications, or pages that have become hot, wait for uvmp_service_next? */
UVMP_API bool uvmp_service_has_notes(const struct uvmp_service *service);

/* Reports the beginning and the end of a kernel on a GPU; *kernel is its number. runtime=on derives patterns
 * from the pages scheduled while kernels run. Without these events runtime=on finds no pattern, and evictions
 * stay at 2 MiB. A host that reports no ends reproduces UVM Smart without its profiler
 * [uvmsmart: kernels-never-end]. Other policies ignore the calls (*kernel is then 0). A time before the
 * latest event counts as the latest. UVMP_ERR_SPACE: 64 kernels run already; the new one is ignored.
 * UVMP_ERR_STATE: no such kernel runs. UVMP_ERR_RANGE: gpu. O(1); the first event after an end O(ranges). */
UVMP_API enum uvmp_status uvmp_service_begin_kernel(struct uvmp_service *service, uint32_t gpu,
						    uint64_t now_ns, uint64_t *kernel);
UVMP_API enum uvmp_status uvmp_service_end_kernel(struct uvmp_service *service, uint64_t kernel,
						  uint64_t now_ns);

/* -- actions --------------------------------------------------------------------------------- */

enum uvmp_action_kind {
	UVMP_ACTION_BATCH = 0, /* for the log: a batch of `faults` faults of GPU `to` was fetched;
				* `merged_faults` of them remain after merging */
	UVMP_ACTION_ALLOCATE,  /* `pages` on GPU `to` are backed by `bytes` bytes at `offset` of its memory,
			       * the first page first: a chunk, or frames of units. A unit of an order other
			       * than evict=lru has a frame of its size while a page of it is resident.
			       * Unless counts_units is set, only resident pages count against the memory,
			       * so that frames of incomplete units may lie beyond memory_bytes; with
			       * complete units no frame does. A host that needs no offsets completes
			       * ALLOCATE and FREE with UVMP_OK */
	UVMP_ACTION_POPULATE,  /* `pages` on `to` begin as zeros, in transfers as COPY */
	UVMP_ACTION_COPY,   /* `pages` from `from` to `to`, in transfers: the runs of `pages`, cut before each
			        * page of `cuts` (uvmp_action_next_transfer). `faulted_pages` of the pages
			        * faulted (uvmp_action_faulted) */
	UVMP_ACTION_UNMAP,  /* `pages` from the page tables of `to` */
	UVMP_ACTION_MAP,    /* `pages`, resident on `from`, into the page tables of `to`, with `right`;
			        * replaces earlier mappings */
	UVMP_ACTION_REVOKE, /* `to` keeps only `right` on `pages` */
	UVMP_ACTION_EVICT,  /* `pages` of the block will be evicted from GPU `from`; copies follow. A root
			        * with several blocks takes several EVICTs, and so do the regions that
			        * evict=tbne chooses together; `part` numbers them, from 0. EVICT itself frees
			        * no memory: if a copy fails, the block keeps its chunk, without another
			        * ALLOCATE. Memory changes its owner by a FREE, or by the next ALLOCATE that
			        * covers the offset */
	UVMP_ACTION_DISCARD, /* `pages` on `from` have lost their contents and are not copied */
	UVMP_ACTION_FREE,   /* the range of `pages` is freed: `bytes` bytes at `offset` of GPU `from` are free
			        * again. A unit whose last page was evicted or migrated releases its frame
			        * without FREE; the next ALLOCATE that covers the offset reuses it */
	UVMP_ACTION_FLUSH,  /* drops the entries of GPU `to`'s fault buffer; is_to_newest: up to the newest
				* entry. The engine drops `dropped_faults` entries of its own buffer too */
	UVMP_ACTION_REPLAY, /* GPU `to` retries its faulted accesses */
	UVMP_ACTION_WAIT,   /* for GPU `to`: until copies (waits_for_copies) or replays have ended */
	UVMP_ACTION_THROTTLE, /* faults of `to` on `pages` are not serviced before `until_ns` */
	UVMP_ACTION_CANCEL,   /* a fault of GPU `to` at `pages` (without a block: at `address`) cannot be
			        * serviced, in `cancel_mode` */
	UVMP_ACTION_CLEAR,    /* access counter of GPU `to`: `bank` and `tag`, or all (clears_all).
			        * remote=auto, if the notified pages of a block stay: also `rule` and the
			        * block, and the first CLEAR of the block's notifications `pages` */
	UVMP_ACTION_TOGGLE,   /* prefetch faults of GPU `to` are switched on (is_on) or off */
	UVMP_ACTION_LIMIT,   /* GPU `to` from now on: `stopped_sms` SMs are stopped (sm_throttle=on), and each
				* SM may run `extra_blocks` more thread blocks than fit (threads=on) */
	UVMP_ACTION_PATTERN, /* for the log (runtime=on): the allocation that begins at `address` now has
				* `pattern`. is_changed: from the next victim on, `verdict` applies */
	UVMP_ACTION_UNPIN,   /* for the log: the thrashing page `pages` may move again */
	UVMP_ACTION_DONE,    /* request `ticket` has ended with `status`: wake the thread that waits for it.
			        * 0: the bottom half of GPU `to` has ended, for the log */
	UVMP_ACTION_COMPLETE, /* only in the log, never handed out: the host has performed action `id`, with
				* `status`, at `time_ns` (uvmp_completion_print) */
	UVMP_ACTION_COUNT
};

/* Why the engine decided an action. */
enum uvmp_cause {
	UVMP_CAUSE_NONE = 0,
	UVMP_CAUSE_DEMAND,    /* the pages faulted */
	UVMP_CAUSE_PREFETCH,  /* the pages are prefetched; `faulted` and `present` explain the choice */
	UVMP_CAUSE_EVICTION,  /* another block needs memory: `for_address` */
	UVMP_CAUSE_COUNTER,   /* access counter */
	UVMP_CAUSE_PIN,	      /* the page thrashed, and is pinned to one processor */
	UVMP_CAUSE_HINT,      /* preferred location, accessed-by, read duplication */
	UVMP_CAUSE_MIGRATE,   /* request of the program */
	UVMP_CAUSE_REVOKE,    /* another processor writes */
	UVMP_CAUSE_THRASHING, /* throttled: other processors need the page too */
	UVMP_CAUSE_FATAL,     /* no range, or no right */
	UVMP_CAUSE_FREE,      /* the range, or a part of it, is freed */
	UVMP_CAUSE_ADAPT,     /* a controller of adapt.h */
	UVMP_CAUSE_ERROR,     /* an action failed: `status` */
	UVMP_CAUSE_COUNT
};

/* The list from whose head a victim was taken. */
enum uvmp_victim {
	UVMP_VICTIM_FREE = 0, /* a free root that is not back in the pool yet */
	UVMP_VICTIM_UNUSED,
	UVMP_VICTIM_DISCARDED,
	UVMP_VICTIM_USED,
	UVMP_VICTIM_ORDER,  /* of a page-wise order; of evict=auto: */
	UVMP_VICTIM_OLDEST, /* longest without a fault */
	UVMP_VICTIM_NEWEST, /* newest of the old ones */
	UVMP_VICTIM_SAMPLE, /* longest without a fault, though the newest of the old ones leave at present */
	UVMP_VICTIM_COUNT
};

/* Packed record: one action. Fields that the kind does not name are 0 (processors: UVMP_PROC_NONE, sets:
 * empty). A union gives each kind its own name for a field. The first name is the key of the decision log.
 *
 * One action covers all pages of one block with the same kind, cause, source and destination. An exception
 * are transfers that end before the faulted page of their group (grouping run-to-fault): they are an action
 * of their own, with faulted_pages 0. */
struct uvmp_action {
	uint64_t id;	  /* 1, 2, 3, ...; the host completes each */
	uint64_t after;	  /* the action may start once action `after` has ended; 0: immediately */
	uint64_t time_ns; /* of the uvmp_service_next call that decided the action */
	uint8_t kind;	  /* enum uvmp_action_kind */
	uint8_t cause;	  /* enum uvmp_cause */
	uint8_t from, to; /* processors */
	union {
		uint8_t right;	     /* MAP, REVOKE: enum uvmp_right */
		uint8_t cancel_mode; /* CANCEL: enum uvmp_cancel_mode */
	};
	union {
		bool is_update;
		bool is_to_newest;     /* FLUSH */
		bool waits_for_copies; /* WAIT */
		bool clears_all;       /* CLEAR */
		bool is_on;	       /* TOGGLE */
		bool is_changed;       /* PATTERN */
	};
	union {
		uint8_t victim; /* EVICT: enum uvmp_victim */
		uint8_t rule;	/* enum uvmp_rule. POPULATE, COPY of a fault, with it or of a notification;
				 * MAP of a first fault; CLEAR of pages that stay */
	};
	int8_t status;	/* DONE, COMPLETE, cause ERROR: enum uvmp_status */
	uint32_t batch; /* number of the batch, per GPU; 0: no batch */
	union {
		uint32_t count;
		uint32_t faults;	 /* BATCH */
		uint32_t part;		 /* EVICT: 0, 1, ... of one victim */
		uint32_t dropped_faults; /* FLUSH */
		uint32_t stopped_sms;	 /* LIMIT */
		uint32_t pattern;	 /* PATTERN: enum uvmp_pattern */
	};
	union {
		uint32_t detail;
		uint32_t merged_faults; /* BATCH: faults left after merging */
		uint32_t bytes;		/* ALLOCATE, FREE; EVICT: of `pages` */
		uint32_t faulted_pages; /* POPULATE, COPY: see uvmp_action_faulted */
		uint32_t tag;		/* CLEAR */
		uint32_t extra_blocks;	/* LIMIT: thread blocks of each SM */
		uint32_t verdict;	/* PATTERN: enum uvmp_pattern_verdict */
	};
	uint64_t ticket;
	union {
		uint64_t offset; /* ALLOCATE, FREE; EVICT with evict=lru: in the memory of the GPU, bytes */
		uint64_t bank;	 /* CLEAR */
	};
	uint64_t until_ns;
	uint64_t space;
	uvmp_addr address;     /* first byte of the block */
	uvmp_addr for_address; /* EVICT and the actions it causes: block that needs the memory */
	uint32_t page_bytes;
	uint32_t faulted;   /* cause PREFETCH: pages of the block that faulted in the same batch */
	uint32_t present;   /* cause PREFETCH: pages that were resident on `to` before */
	uint32_t throttles; /* cause PIN: earlier throttlings of the first pinned page */
	uvmp_mask pages;    /* of the block */
	uvmp_mask cuts;	    /* COPY, POPULATE: pages that begin a transfer although the page before them is in
			     * `pages`, too */
	uvmp_mask subtrees; /* cause PREFETCH: bounds of the subtrees that the prefetcher chose, see
			     * uvmp_prefetch_subtree; empty: the prefetcher chose no subtrees */
};

/* COPY, POPULATE: the first transfer at or after page `from`, cut at `from`; (0,0): no transfer. Walk all
 * transfers with
 *   for (t = uvmp_action_next_transfer(a, 0); t.end; t = uvmp_action_next_transfer(a, t.end))
 * Transfers ascend by page. Each has at least one page. O(words). */
UVMP_API struct uvmp_region uvmp_action_next_transfer(const struct uvmp_action *action, uint32_t from);
/* The number of transfers, 0..512. O(words). */
UVMP_API uint32_t uvmp_action_transfers(const struct uvmp_action *action);
/* How many pages at the end of a transfer faulted; the pages before them arrive with them. All pages of the
 * action faulted, or the last page of each transfer, or none. O(words). */
UVMP_API uint32_t uvmp_action_faulted(const struct uvmp_action *action, struct uvmp_region transfer);

/* Decides the next action. now_ns is the host's time and should not decrease. *action points into the
 * engine. The action is valid until the first call of uvmp_service_next after its completion; the completion
 * of a failed action may change `cuts`.
 *
 * UVMP_ERR_RETRY: no action now. If uvmp_service_pending() > 0, the host must complete some actions first.
 * Otherwise the engine is idle until an event or uvmp_service_wakeup_ns. UVMP_ERR_ARENA: the arena may be too
 * full for the next decision. No action is handed out, and *action is not written. State of blocks may have
 * been added. The same call continues after uvmp_service_grow, and the wait changes no decision. The call
 * returns UVMP_ERR_ARENA only if work waits and no action is outstanding. Freeing a range needs no arena,
 * unless a block is being serviced.
 *
 * O(pages of a block) per call. A request may also skip ranges or blocks without work. The choice of a victim
 * takes O(log units) for evict=sl64k, tbne and lfu2m, and O(1) amortised for the other orders, with and
 * without a reserve; and O(pages of a block) if units of the block that is serviced precede the victim. */
UVMP_API enum uvmp_status uvmp_service_next(struct uvmp_service *service, uint64_t now_ns,
					    const struct uvmp_action **action);

/* Reports that action `id` has ended with `status` (0, or negative: it failed).
 *
 *   failed COPY, POPULATE, ALLOCATE   pages keep their residency; the batch or request is cancelled. With
 *                                     orders other than evict=lru, units of the job without a resident page
 *                                     release their frames without FREE
 *   failed COPY of an eviction        the eviction stops. Copied pages are on the CPU; the other pages
 *                                     stay on the GPU, unmapped, in their memory
 *   any other failed action           counts as done, and ends the batch or request with the status
 *   UVMP_ERR_RETRY                    counts as UVMP_ERR_STATE: the engine does not repeat the action
 *
 * Returns UVMP_ERR_RANGE if status is positive; UVMP_ERR_STATE if no such action is outstanding: never handed
 * out, or completed already. */
UVMP_API enum uvmp_status uvmp_service_complete(struct uvmp_service *service, uint64_t id,
						enum uvmp_status status);
/* The same. `done` (may be NULL: none) tells which pages a COPY or POPULATE that failed has moved all the
 * same: they count as arrived. Without effect on other kinds, and on an action that has not failed. The host
 * continues with the other transfers of the action, or ends the action; the engine does not repeat
 * transfers. */
UVMP_API enum uvmp_status uvmp_service_complete_pages(struct uvmp_service *service, uint64_t id,
						      enum uvmp_status status, const uvmp_mask *done);

/* Number of outstanding actions. At UVMP_SERVICE_PENDING_MAX, uvmp_service_next returns UVMP_ERR_RETRY. */
#define UVMP_SERVICE_PENDING_MAX 2048u
UVMP_API uint32_t uvmp_service_pending(const struct uvmp_service *service);

/* Time of the next timed work, in nanoseconds. Timed work is unpinning, and periods of controllers that can
 * still change a limit without an event: threads until all extra blocks run and all lifetimes are evaluated,
 * sm_throttle until all SMs run and all faults are evaluated. Returns UINT64_MAX once no timed work remains,
 * and while uvmp_service_next returns UVMP_ERR_ARENA. */
UVMP_API uint64_t uvmp_service_wakeup_ns(const struct uvmp_service *service);

/* -- queries --------------------------------------------------------------------------------- */

/* State of one page. */
struct uvmp_page_state {
	uint32_t size;		      /* set by the host, see base.h */
	uint64_t resident;	      /* set of processors that hold the page */
	uint64_t read, write, atomic; /* sets of processors mapped with at least this right */
	bool is_duplicated, is_discarded, is_pinned, is_thrashing;
};
/* UVMP_ERR_ARGUMENT: state->size. UVMP_ERR_UNKNOWN: no range holds the address. O(processors). */
UVMP_API enum uvmp_status uvmp_service_page(const struct uvmp_service *service, uint64_t space,
					    uvmp_addr address, struct uvmp_page_state *state);

/* Sums over the bottom halves of a GPU. */
struct uvmp_service_counts {
	uint32_t size; /* set by the host, see base.h */
	uint64_t bottom_halves, batches;
	uint64_t faults;			 /* fetched, */
	uint64_t coalesced;			 /* after merging, */
	uint64_t duplicates, invalid_prefetches; /* as the driver counts them [driver: batch-order,
						  * permission-check] */
	uint64_t cancelled;			 /* CANCEL actions */
};
/* UVMP_ERR_ARGUMENT: counts->size. UVMP_ERR_RANGE: no such GPU. */
UVMP_API enum uvmp_status uvmp_service_count(const struct uvmp_service *service, uint32_t gpu,
					     struct uvmp_service_counts *counts);

/* -- the decision log ------------------------------------------------------------------------ */

/* Prints an action as one line of text without newline, NUL-terminated. Equal actions give equal text on
 * every system. For example
 *   12 copy t=81000 cause=demand space=1 block=0x7f0000000000 pages=0-15,32 from=0 to=1 batch=3
 * A line is `ID KIND` and words `KEY=VALUE`, one blank apart, in this order (in parentheses: the field, if
 * its name differs):
 *   t (time_ns)  after  cause  space  block (address)  pages  page_bytes  from  to
 *   right: r, rw, rwa; only MAP and REVOKE     mode (right): all, write; only CANCEL, and always
 *   victim: free, unused, discarded, used, order, oldest, newest, sample; only EVICT, and always
 *   rule: fits, whole, dense, sparse, probe-dense, probe-sparse, rest, ahead, limit, drawn, idle,
 *     expected, below-limit, not-drawn, full, short; only POPULATE, COPY, MAP and CLEAR
 *   for (for_address)  batch  count  detail  offset  update (is_update)  until (until_ns)
 *   faulted  present  throttles  cuts  subtrees  ticket  status
 * t is always printed. Any other field is left out if it is 0, UVMP_PROC_NONE or empty. Numbers are decimal
 * without leading zeros, but block, for and offset are hexadecimal (0x7f0000000000), and status has a minus
 * sign. pages, cuts and subtrees are maximal runs FIRST-LAST, or PAGE, in ascending order; cuts and
 * subtrees: only COPY and POPULATE. UVMP_ERR_SPACE: capacity; UVMP_ACTION_TEXT_MAX always suffices.
 * UVMP_ERR_RANGE: kind, cause, victim, rule, right, processors, a positive status, a right, victim, rule, cut
 * or subtree of a kind without one, or a cut that is not inside a run of pages. */
#define UVMP_ACTION_TEXT_MAX 4096u
UVMP_API enum uvmp_status uvmp_action_print(const struct uvmp_action *action, char *text, size_t capacity);

/* Prints the completion of action `id`, which an earlier line names, for hosts that log completions. time_ns
 * is on the clock of the actions; `status` is the argument of uvmp_service_complete. For example
 *   12 complete t=93500        13 complete t=95000 status=-5
 * A line has no other words. Errors: those of uvmp_action_print; UVMP_ERR_RANGE: status is positive or below
 * -128. */
UVMP_API enum uvmp_status uvmp_completion_print(uint64_t id, uint64_t time_ns, enum uvmp_status status,
						char *text, size_t capacity);

/* Parses a line of either kind (without newline). Only text that the printers produce is accepted, so
 * printing the result gives the same text. On error *action is unchanged and *offset (may be NULL) is the
 * position of the error. UVMP_ERR_SYNTAX: bad form, a field out of order, or a field that the printer leaves
 * out. UVMP_ERR_UNKNOWN: a word. UVMP_ERR_RANGE: a number. */
UVMP_API enum uvmp_status uvmp_action_parse(const char *text, size_t length, struct uvmp_action *action,
					    size_t *offset);

/* Names of kinds and causes as in the log; NULL outside the enumerations. */
UVMP_API const char *uvmp_action_name(enum uvmp_action_kind kind);
UVMP_API const char *uvmp_cause_name(enum uvmp_cause cause);

#ifdef __cplusplus
}
#endif
#endif
