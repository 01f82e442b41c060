/* service.h: the engine. Events in, actions out, no I/O.
 *
 * The decisions of the other headers strung together as the driver's bottom half does ([driver: batch-order,
 * batch-walk, block-walk, permission-check, block-service, ats-window, cpu-fault, non-replayable-fault,
 * bottom-half, eviction-retry], 8 and 9). The engine performs nothing. The host tells it what happened, then
 * pulls actions, performs them and says how each went, until there are none:
 *
 *   uvmp_service_init(&params, memory, bytes, &service);
 *   uvmp_service_add_range(...); uvmp_service_bind(...);
 *   for (;;) {
 *           ... uvmp_service_fault(service, gpu, &fault) for what the hardware has reported ...
 *           do {
 *                   status = uvmp_service_next(service, now_ns, &action);
 *                   if (status == UVMP_OK) {
 *                           ... perform it; the text for the decision log: uvmp_action_print ...
 *                           uvmp_service_complete(service, action.id, UVMP_OK);
 *                   } else if (status == UVMP_ERR_ARENA) {
 *                           ... allocate more, aligned to 16; each piece at least as large as all before ...
 *                           uvmp_service_grow(service, more, more_bytes);
 *                   }
 *           } while (status == UVMP_OK || status == UVMP_ERR_ARENA);
 *   }
 *
 * Several actions may be handed out before the first is completed: all that uvmp_service_next gives until it
 * answers UVMP_ERR_RETRY may be performed at the same time, but for `after` (see struct uvmp_action). So they
 * may be completed in any order.
 *
 * One operation runs at a time: the bottom half of one GPU, one request, one batch of access counters.
 * Between two VABlocks of a batch, where the driver drops its locks too, requests that have arrived meanwhile
 * go first: a range can be freed while faults on it are in the batch. Order among those that wait: requests
 * as they came, the unpinning of thrashing pages, controllers that are due, hot pages of one block and bottom
 * halves (GPUs in turn) by turns, access counters (GPUs in turn).
 *
 * Where the policy has controllers (adapt, threads, sm_throttle, runtime) or prefetch=pattern, what happens
 * changes the parameters of the next decisions:
 *
 *   adapt=pressure, early  the density threshold of a GPU, or of a decision: from faults, faults on pages
 *                          that were evicted before, evictions, and managed bytes against the GPU's memory
 *   threads, sm_throttle   LIMIT actions: how many thread blocks and SMs may run. Only with
 *                          uvmp_service_gpu.sms. The first LIMIT precedes the first batch if a limit holds
 *                          from the beginning. Later ones follow BATCH, in its group, or are due at
 *                          uvmp_service_wakeup_ns
 *   runtime                evict=tbne begins, and remote access, when uvmp_service_begin_kernel and what tree
 *                          prefetchers scheduled show patterns that want it
 *   prefetch=pattern       learns from faults and from uvmp_service_touch; without touches, from faults alone
 *   prefetch=safe          counts the uTLBs that fault on a block in a batch: distinct ones, merged faults
 *                          included
 *
 * Whether memory has been full is one flag of the engine, with several GPUs too: the first of them on which
 * something does not fit switches prefetch_full, remote=oversub and runtime for all. So is what adapt=early
 * knows of faults and evictions.
 *
 * Everything lives in one arena that the caller provides and can enlarge (uvmp_service_grow). A VABlock costs
 * 48 bytes from the first fault on (or from advice on accesses or discarding, if its data began on the CPU),
 * and 208 for each processor that holds or maps pages of it; a block whose pages bounce about 37 KiB more
 * (thrash.h), one below 2 MiB 4.2 KiB for its chunks. Policies with remote or runtime take 0.5 KiB more for a
 * block that a GPU has used. What controllers and prefetch=pattern know of a block takes 368 bytes, from the
 * first page that comes, faults or leaves; runtime 4 to 8 for each 64 KiB of ranges; threads 8 for each unit
 * of a GPU's memory. Where there is no room for these, decisions are taken without. Blocks and their state on
 * processors are never done without: where there might be no room for them, uvmp_service_next decides nothing
 * and says UVMP_ERR_ARENA; faults and requests wait, and go on after uvmp_service_grow as if nothing had
 * happened.
 *
 * What cannot be known without a process' memory map is left out: HMM and ATS. A fault outside every range is
 * fatal, as in the driver without them.
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

struct uvmp_service_gpu {
	uint64_t memory_bytes;	/* managed memory, whole roots of 2 MiB count (other orders than evict=lru:
				 * whole pages); less than a root: none (the GPU must then be in
				 * processors->no_memory, and only then). What counts is what it holds:
				 * policy.memory_ratio percent of this, so that offsets of chunks may lie
				 * beyond it */
	uint32_t splits;	/* roots that can be split at a time, see uvmp_pmm_params; at most its roots
				 * count. Not enlarged by policy.memory_ratio: where it must suffice for all
				 * roots, it must follow the ratio */
	uint32_t fault_entries; /* of its fault buffer, 2..65536; sensible: policy.replay.max_batch and
				 * more */
	uint32_t utlbs;		/* 1..4096 */
	uint32_t notes;		/* entries of its access-counter buffer, 0..65536; 0: has none */
	uint32_t sms;		/* for threads=on and sm_throttle=on, 0..65535; 0: not known, they are off */
};

struct uvmp_service_params {
	const struct uvmp_policy *policy;	  /* copied */
	const struct uvmp_processors *processors; /* copied; count 2 or more */
	const struct uvmp_service_gpu *gpu;	  /* [processors->count - 1]: of GPU 1, 2, ... */
	uint32_t page_bytes;			  /* 4096 or 65536 (evict=lru|lru2m|lfu2m|clock2m) */
	uint32_t blocks;    /* VABlocks with state, 1..2^24: sizes the table they are found by, and for orders
			     * other than evict=lru the number of blocks */
	uint32_t spaces;    /* address spaces at a time, 1..4096 */
	uint32_t ranges;    /* managed ranges at a time, 1..2^20; setting policies on parts, and freeing them,
			     * splits ranges */
	uint32_t instances; /* channels that can be bound, 1..65536 */
	uint32_t requests;  /* requests that can wait, 1..4096 */
	bool has_ats;	    /* for counters=driver */
	uint64_t seed;	    /* for what is random: prefetch=random, evict=random4k */
	bool memory_is_zero; /* uvmp_service_init's memory holds zeros, as fresh memory of an operating system
			      * does: tables that are proportional to `blocks` are not written, and take
			      * memory as they are used */
};

#define UVMP_SERVICE_ERROR_MAX 160u

/* Which parameter is refused, and what is accepted. */
struct uvmp_service_error {
	char field[40];	   /* as in C: "blocks", "gpu[0].splits", "policy->evict"; NUL-terminated */
	uint64_t value;	   /* that was given; 0 for pointers */
	uint64_t min, max; /* accepted numbers; min above max: no such range, see text */
	char text[UVMP_SERVICE_ERROR_MAX]; /* e.g. `gpu[0].utlbs: 0 is not accepted; 1..4096`;
					    * NUL-terminated */
};

/* Are the parameters accepted? UVMP_OK: *error is unchanged. Otherwise *error (may be NULL) names the first
 * field that is not, in the order of the structures: UVMP_ERR_ARGUMENT: missing, policy or processors not
 * valid. UVMP_ERR_RANGE: a number. UVMP_ERR_UNSUPPORTED: evict order and page size do not go together;
 * sequential, locality, stride or next prefetch with several GPUs. uvmp_service_size and uvmp_service_init
 * accept what this accepts. O(GPUs). */
UVMP_API enum uvmp_status uvmp_service_params_check(const struct uvmp_service_params *params,
						    struct uvmp_service_error *error);

/* The engine. Private; lives in the arena. */
struct uvmp_service;

/* Bytes of arena for uvmp_service_init with room for `resident` blocks, each with two processors, beside what
 * one decision may need (10 KiB with two processors, 35 KiB with 64); 0 if a parameter is out of range or the
 * size does not fit size_t: uvmp_service_params_check says which. */
UVMP_API size_t uvmp_service_size(const struct uvmp_service_params *params, uint32_t resident);

/* Builds the engine in `memory` (aligned to 16): no spaces, ranges or faults; *service then points into it.
 * UVMP_ERR_ARGUMENT: NULL, misaligned, policy or processors not valid. UVMP_ERR_RANGE: a parameter.
 * UVMP_ERR_UNSUPPORTED: evict order and page size do not go together; sequential, locality, stride or next
 * prefetch with several GPUs. UVMP_ERR_SPACE: bytes below uvmp_service_size(params, 0). */
UVMP_API enum uvmp_status uvmp_service_init(const struct uvmp_service_params *params, void *memory,
					    size_t bytes, struct uvmp_service **service);

/* More arena: the engine keeps and uses `memory` (aligned to 16, at least 4096 bytes; it must not overlap
 * what it has). 64 KiB at once always end UVMP_ERR_ARENA. UVMP_ERR_ARGUMENT, UVMP_ERR_SPACE: bytes; eight
 * pieces are there already. */
UVMP_API enum uvmp_status uvmp_service_grow(struct uvmp_service *service, void *memory, size_t bytes);

struct uvmp_service_memory {
	uint64_t bytes;		   /* of all pieces */
	uint64_t used;		   /* by what exists now, and by what was freed and waits to be used again */
	uint32_t blocks;	   /* VABlocks with state */
	uint32_t places;	   /* pairs of block and processor with state */
	uint32_t thrashing_blocks; /* with an array of pages for the thrashing detector */
};
UVMP_API void uvmp_service_memory_used(const struct uvmp_service *service,
				       struct uvmp_service_memory *memory);

/* Cheap test of the header; false for NULL. All functions below return UVMP_ERR_ARGUMENT where it is false,
 * and for NULL. */
UVMP_API bool uvmp_service_is_valid(const struct uvmp_service *service);
/* Walks everything: a page that is resident nowhere is mapped nowhere; it has one home unless it is
 * read-duplicated; what is resident on a GPU lies in chunks that the block owns there; chunks and queues
 * agree (uvmp_pmm_check); memory in use does not exceed the GPU's; blocks lie in their ranges and are found.
 * For tests and debug builds; O(blocks + roots). Valid between any two calls. */
UVMP_API bool uvmp_service_check(const struct uvmp_service *service);

/* -- spaces, channels, ranges: at once ------------------------------------------------------- */

/* An address space exists while a range or a channel belongs to it; its id is any number. */

/* Faults and notifications with this instance key on `gpu` belong to `space`. UVMP_ERR_RANGE: gpu, aperture
 * above 11. UVMP_ERR_CONFLICT: the key is bound. UVMP_ERR_SPACE: params.instances are. */
UVMP_API enum uvmp_status uvmp_service_bind(struct uvmp_service *service, uint32_t gpu, uint32_t aperture,
					    uint64_t instance, uint32_t subcontext, uint64_t space);
/* The channel is gone. Faults of it that are still in the buffer flush the buffer ([driver: batch-order],
 * step 3). UVMP_ERR_STATE: the key is not bound. */
UVMP_API enum uvmp_status uvmp_service_unbind(struct uvmp_service *service, uint32_t gpu, uint32_t aperture,
					      uint64_t instance, uint32_t subcontext);

/* Managed memory [base, base + bytes), whole pages. `right` is what the process may do with it
 * ([driver: permission-check]; normally UVMP_RIGHT_READ_WRITE_ATOMIC). `home`: UVMP_PROC_NONE: resident
 * nowhere, as after allocation; UVMP_CPU: its data is on the CPU, which has it mapped, as after
 * initialisation. Ranges of one space do not overlap, but may share a 2 MiB window. UVMP_ERR_RANGE: not whole
 * pages, no bytes, beyond 2^64, right NONE, home. UVMP_ERR_CONFLICT: overlaps. UVMP_ERR_SPACE: params.ranges
 * or params.spaces exist. O(ranges). */
UVMP_API enum uvmp_status uvmp_service_add_range(struct uvmp_service *service, uint64_t space, uvmp_addr base,
						 uint64_t bytes, enum uvmp_right right, uint32_t home);

/* -- requests: queued ------------------------------------------------------------------------ */

/* All get a ticket (*ticket, may be NULL) and end with a DONE action that names it and the status. Errors at
 * once: UVMP_ERR_RANGE: a processor that does not exist, unknown advice or access, not whole pages;
 * UVMP_ERR_SPACE: params.requests wait already. Errors in DONE: UVMP_ERR_UNKNOWN: [base, base + bytes) is not
 * wholly in managed ranges (free_range: base is not where a range begins); UVMP_ERR_SPACE: too many ranges;
 * UVMP_ERR_NO_MEMORY: no memory on the GPU; or the status of a failed action. What was done
 * before an error stays. */

/* Frees all that is left of the range added at `base`: it may have been split by advice, and have holes where
 * parts were freed. A failed action does not stop it: the rest is freed, and DONE has the first failure. */
UVMP_API enum uvmp_status uvmp_service_free_range(struct uvmp_service *service, uint64_t space,
						  uvmp_addr base, uint64_t *ticket);
/* Frees the part [base, base + bytes) of one or more ranges, as munmap of a part does. Nothing of it is
 * managed from then on, and ranges can be added there, also next to what stays in the same 2 MiB. What stays
 * keeps its policy and is freed by the base of its range; where the part begins at that base, by the address
 * at which the lowest piece that stays begins, from now on (runtime=on: with a new pattern).
 *
 * Ranges are cut at the ends of the part, as by advice. A block across an end that has memory on a GPU, or
 * thrashing state, cannot be cut as it is: its pages in the part leave first (UNMAP, cause FREE, and no
 * copy), the rest of it moves to the CPU (cause HINT), and its memory is freed. All other pages outside the
 * part stay where they are.
 *
 * Errors in DONE, beside those above: UVMP_ERR_SPACE: each end that lies inside a range takes one of
 * params.ranges (the one between two is free again afterwards); nothing is changed, unless ranges were added
 * since it began. The status of a failed action before both ends were cut: all of the part is still managed,
 * pages of it in blocks across its ends may have lost their contents; it can be asked for again. Any later
 * failure does not stop it. */
UVMP_API enum uvmp_status uvmp_service_free_part(struct uvmp_service *service, uint64_t space, uvmp_addr base,
						 uint64_t bytes, uint64_t *ticket);

enum uvmp_advice {
	UVMP_ADVISE_PREFERRED = 0,   /* preferred location: `processor`, or UVMP_PROC_NONE to unset */
	UVMP_ADVISE_ACCESSED_BY,     /* `processor` is to be mapped wherever the pages are */
	UVMP_ADVISE_NOT_ACCESSED_BY, /* no more */
	UVMP_ADVISE_READ_DUPLICATE,  /* read-mostly: readers get copies */
	UVMP_ADVISE_NO_DUPLICATE,    /* never, and copies that exist collapse */
	UVMP_ADVISE_UNSET_DUPLICATE, /* as at the beginning; copies that exist collapse */
	UVMP_ADVISE_DISCARD	     /* the contents are no longer needed; mappings stay until pages
				      * move */
};
/* Sets a policy on part of the space [driver: va-policy], with the side effects on mappings and copies that
 * it has. Ranges that have the policy already stay as they are: no side effects, no split. */
UVMP_API enum uvmp_status uvmp_service_advise(struct uvmp_service *service, uint64_t space, uvmp_addr base,
					      uint64_t bytes, enum uvmp_advice advice, uint32_t processor,
					      uint64_t *ticket);

/* Moves pages to a processor, as cudaMemPrefetchAsync does (cause API_MIGRATE). */
UVMP_API enum uvmp_status uvmp_service_migrate(struct uvmp_service *service, uint64_t space, uvmp_addr base,
					       uint64_t bytes, uint32_t processor, uint64_t *ticket);

/* The CPU has faulted [driver: cpu-fault]. `thread` tells faulting threads apart. The status in DONE:
 * UVMP_OK: the thread goes on (if the CPU had the right already, the first such fault is let pass and nothing
 * is done). UVMP_ERR_RETRY: throttled; a THROTTLE action says until when, then the thread faults again.
 * UVMP_ERR_UNKNOWN: outside all ranges, after a CANCEL (mode all). UVMP_ERR_CONFLICT: a write where the range
 * forbids it, after a CANCEL (mode write). At once, UVMP_ERR_RANGE: access is neither READ nor WRITE (the CPU
 * cannot tell atomics). */
UVMP_API enum uvmp_status uvmp_service_cpu_fault(struct uvmp_service *service, uint64_t space,
						 uvmp_addr address, enum uvmp_access access, uint64_t thread,
						 uint64_t *ticket);

/* -- hardware events: at once ---------------------------------------------------------------- */

/* A GPU has written an entry into its fault buffer (va_space and gpu of the entry are ignored; is_valid is
 * taken as true). UVMP_ERR_SPACE: the buffer is full; the fault is lost unless the host reports it again
 * after the next replay. UVMP_ERR_RANGE: gpu, or a field of the fault out of its range. O(1). */
UVMP_API enum uvmp_status uvmp_service_fault(struct uvmp_service *service, uint32_t gpu,
					     const struct uvmp_fault *fault);

/* One access-counter notification [driver: counter-parameters]. */
struct uvmp_note {
	uvmp_addr address;
	uint64_t instance;
	uint32_t aperture;
	uint32_t subcontext;
	uint32_t sub_granularity; /* bit k: the k-th 64 KiB of the 2 MiB was used */
	uint32_t bank;
	uint32_t tag;
};
/* UVMP_ERR_SPACE: the buffer is full, the notification is lost. UVMP_ERR_RANGE: gpu, aperture, or the GPU has
 * no such buffer. O(1). */
UVMP_API enum uvmp_status uvmp_service_note(struct uvmp_service *service, uint32_t gpu,
					    const struct uvmp_note *note);

/* A processor has used a page, where a host can see that: a simulator. The driver's order ignores it
 * [driver: order-by-service]; the other orders, and quirks=0, do not. evict=lfu2m counts each call, and each
 * step that brings pages or finds them there, as one touch of the 2 MiB: a host that tells of nothing gets
 * the least often serviced.
 *
 * With remote other than off, and with runtime=on, each call is an access for the counters of the basic
 * block, and hosts tell also of accesses to pages that are mapped where they lie, on the CPU: what then has
 * become hot waits for uvmp_service_next, which moves it (cause COUNTER). evict=lfu2m then goes by these
 * counters [uvmsmart: eviction-list]. prefetch=pattern takes the page for used.
 *
 * No effect on a page that the processor neither holds nor has mapped, nor for the CPU. UVMP_ERR_RANGE:
 * processor, access. O(1); evict=lfu2m: O(log blocks); at most each 2^26th access O(blocks). */
UVMP_API enum uvmp_status uvmp_service_access(struct uvmp_service *service, uint32_t processor,
					      uint64_t space, uvmp_addr address, enum uvmp_access access);
/* The same, to read. */
UVMP_API enum uvmp_status uvmp_service_touch(struct uvmp_service *service, uint32_t processor, uint64_t space,
					     uvmp_addr address);

/* UVM Smart's device synchronisation [uvmsmart: device-synchronisation] has happened on a GPU. What its
 * kernels have written the host has sent back before, with uvmp_service_migrate; this begins anew what its
 * driver then begins anew: nothing has been accessed yet, and no block has made a round trip (remote other
 * than off, runtime=on; counters do not tell GPUs apart: all are cleared), all units of evict=lfu2m on this
 * GPU are alike but for their age, and memory counts as never having been full, until it is again. What
 * followed from that stays: prefetch_full, and what runtime=on has switched. So do pages, also hot ones, all
 * other orders and all controllers; pages that were only read go on counting as used (there they are no
 * longer counted, [uvmsmart: clean-pages-uncounted]). At once, without an action, at any time. Drivers
 * without such a synchronisation never call it. UVMP_ERR_ARGUMENT: service. UVMP_ERR_RANGE: gpu. O(blocks);
 * evict=lfu2m: O(blocks * log blocks). */
UVMP_API enum uvmp_status uvmp_service_synchronise(struct uvmp_service *service, uint32_t gpu);

/* Do notifications, or pages that have become hot, wait for uvmp_service_next? */
UVMP_API bool uvmp_service_has_notes(const struct uvmp_service *service);

/* A kernel begins on a GPU, and ends; *kernel is its number. runtime=on takes patterns from what is scheduled
 * while kernels run; without such events there are none, and evictions stay at 2 MiB. A host that tells of no
 * ends has what UVM Smart does without its profiler [uvmsmart: kernels-never-end]. Other policies take no
 * notice (*kernel is 0 then). Time that runs back counts as the latest. UVMP_ERR_SPACE: 64 run already; this
 * one is not known of. UVMP_ERR_STATE: no such kernel runs. UVMP_ERR_RANGE: gpu. O(1), but O(ranges) for the
 * first event behind an end. */
UVMP_API enum uvmp_status uvmp_service_begin_kernel(struct uvmp_service *service, uint32_t gpu,
						    uint64_t now_ns, uint64_t *kernel);
UVMP_API enum uvmp_status uvmp_service_end_kernel(struct uvmp_service *service, uint64_t kernel,
						  uint64_t now_ns);

/* -- actions --------------------------------------------------------------------------------- */

enum uvmp_action_kind {
	UVMP_ACTION_BATCH = 0, /* for the log: a batch of `faults` faults of GPU `to` was fetched;
				* `merged_faults` of them are left after merging */
	UVMP_ACTION_ALLOCATE,  /* `pages` on GPU `to` are backed by `bytes` bytes at `offset` of its memory,
			       * the first page first: a chunk, or frames of units. A unit of an order other
			       * than evict=lru has a frame of its size while a page of it is resident. Only
			       * resident pages count against the memory, so that frames of incomplete units
			       * may lie beyond memory_bytes; with complete units no frame does. A host that
			       * needs no offsets completes ALLOCATE and FREE with UVMP_OK */
	UVMP_ACTION_POPULATE,  /* `pages` on `to` begin as zeros; `faulted_pages` as for COPY */
	UVMP_ACTION_COPY,      /* one run, from `from` to `to`; its last `faulted_pages` pages faulted */
	UVMP_ACTION_UNMAP,     /* `pages` from the page tables of `to` */
	UVMP_ACTION_MAP,       /* `pages` into the page tables of `to`, with `right`, where they lie on
			        * `from`; replaces what was mapped there */
	UVMP_ACTION_REVOKE,    /* `to` keeps only `right` on `pages` */
	UVMP_ACTION_EVICT,     /* what `pages` of the block hold on GPU `from` has to leave; copies follow. A
			        * root of several blocks takes several, and so do the regions that evict=tbne
			        * chooses together; `part` numbers them, from 0. It takes no memory away: a
			        * copy may fail, then the block keeps its chunk, and no ALLOCATE tells of it
			        * again. Memory at an offset belongs to another owner after a FREE, or the
			        * next ALLOCATE that covers it */
	UVMP_ACTION_DISCARD,   /* `pages` on `from` have lost their contents and are not copied */
	UVMP_ACTION_FREE,   /* the range of `pages` is freed: `bytes` bytes at `offset` of GPU `from` are free
			        * again. A unit whose last page was evicted or migrated gives its frame up
			        * without FREE; the next ALLOCATE that covers the offset says so */
	UVMP_ACTION_FLUSH,  /* the fault buffer of GPU `to`: what is in it is dropped;
				* is_to_newest: up to the newest entry. `dropped_faults` entries of the
				* engine's own buffer are dropped too */
	UVMP_ACTION_REPLAY, /* GPU `to` tries again what faulted */
	UVMP_ACTION_WAIT,   /* for GPU `to`: until copies (waits_for_copies) or replays have ended */
	UVMP_ACTION_THROTTLE, /* `to` is not serviced for `pages` before `until_ns` */
	UVMP_ACTION_CANCEL,   /* a fault of GPU `to` at `pages` (or `address`, where there is no block)
			        * cannot be serviced, in `cancel_mode` */
	UVMP_ACTION_CLEAR,    /* access counter of GPU `to`: `bank` and `tag`, or all (clears_all) */
	UVMP_ACTION_TOGGLE,   /* prefetch faults of GPU `to` are switched on (is_on) or off */
	UVMP_ACTION_LIMIT,   /* GPU `to` from now on: `stopped_sms` SMs stand still (sm_throttle=on), and each
				* SM may run `extra_blocks` more thread blocks than fit (threads=on) */
	UVMP_ACTION_PATTERN, /* for the log (runtime=on): the allocation that begins at `address` shows
				* `pattern` now. is_changed: from the next victim on, the patterns ask for
				* `verdict` */
	UVMP_ACTION_UNPIN,   /* for the log: thrashing page of `pages` is free to move again */
	UVMP_ACTION_DONE,    /* for the log: request `ticket` or (0) the bottom half of GPU `to` has ended
			        * with `status` */
	UVMP_ACTION_COMPLETE, /* only in the log, never handed out: the host has performed action `id`, with
				* `status`, at `time_ns` (uvmp_completion_print) */
	UVMP_ACTION_COUNT
};

/* Why. */
enum uvmp_cause {
	UVMP_CAUSE_NONE = 0,
	UVMP_CAUSE_DEMAND,    /* it faulted */
	UVMP_CAUSE_PREFETCH,  /* it came along; reason says with what */
	UVMP_CAUSE_EVICTION,  /* room was needed; reason: for which block */
	UVMP_CAUSE_COUNTER,   /* access counter */
	UVMP_CAUSE_PIN,	      /* it bounced, and stays on one processor */
	UVMP_CAUSE_HINT,      /* preferred location, accessed-by, read duplication */
	UVMP_CAUSE_MIGRATE,   /* the program asked */
	UVMP_CAUSE_REVOKE,    /* another processor writes */
	UVMP_CAUSE_THRASHING, /* throttled: others need the page too */
	UVMP_CAUSE_FATAL,     /* no range, no right */
	UVMP_CAUSE_FREE,      /* the range, or a part of it, is gone */
	UVMP_CAUSE_ADAPT,     /* a controller of adapt.h */
	UVMP_CAUSE_ERROR,     /* something failed: `status` */
	UVMP_CAUSE_COUNT
};

/* Which list a victim was the head of. */
enum uvmp_victim {
	UVMP_VICTIM_FREE = 0, /* a free root that was not handed back yet */
	UVMP_VICTIM_UNUSED,
	UVMP_VICTIM_DISCARDED,
	UVMP_VICTIM_USED,
	UVMP_VICTIM_ORDER /* of a page-wise order */
};

#define UVMP_ACTION_SUBTREES 2u

/* What to do. Fields that the kind does not name are 0 (processors: UVMP_PROC_NONE, sets: empty). A union
 * gives each kind its own name for a field. The first name is the key of the decision log. */
struct uvmp_action {
	uint64_t id;	  /* 1, 2, 3, ...; to be completed */
	uint64_t after;	  /* may start when this one has ended; 0: at once */
	uint64_t time_ns; /* of the call that decided it */
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
	uint8_t victim; /* EVICT: enum uvmp_victim */
	int8_t status;	/* DONE, COMPLETE, cause ERROR: enum uvmp_status */
	uint32_t batch; /* number of the batch (per GPU) this belongs to; 0: none */
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
		uint32_t bytes;		/* ALLOCATE, FREE */
		uint32_t faulted_pages; /* POPULATE, COPY: at the end of the run */
		uint32_t tag;		/* CLEAR */
		uint32_t extra_blocks;	/* LIMIT: thread blocks of each SM */
		uint32_t verdict;	/* PATTERN: enum uvmp_pattern_verdict */
	};
	uint64_t ticket;
	union {
		uint64_t offset; /* ALLOCATE, FREE: of the chunk in the memory of the GPU, in bytes */
		uint64_t bank;	 /* CLEAR */
	};
	uint64_t until_ns;
	uint64_t space;
	uvmp_addr address;     /* first byte of the block */
	uvmp_addr for_address; /* EVICT and what follows from it: block that needs the room */
	uint32_t page_bytes;
	uint32_t faulted;   /* cause PREFETCH: pages of the block that faulted with them, */
	uint32_t present;   /* and pages that `to` had before; */
	uint32_t throttles; /* cause PIN: times the page had been throttled */
	/* Cause PREFETCH: the subtree that the prefetcher chose for the first page of the run, and, if the last
	 * page has another one, that (uvmp_prefetch_subtree; pages of the block). Otherwise empty */
	struct uvmp_region subtree[UVMP_ACTION_SUBTREES];
	struct uvmp_region run; /* COPY, POPULATE: the run; else the bounding region of `pages` */
	uvmp_mask pages;	/* of the block */
};

/* The next action. UVMP_ERR_ARENA: the arena may be too full for the next decision. Then nothing has changed
 * and *action is not written; the same call goes on after uvmp_service_grow. A range can be freed without
 * arena, unless a block is being serviced. The status is not given while actions are outstanding, or when
 * there is nothing to do. UVMP_ERR_RETRY: none now: with uvmp_service_pending() > 0 some must be completed
 * first, else there is nothing to do until an event or uvmp_service_wakeup_ns. Time is the host's and should
 * not go back. O(pages of a block) a call; more only for a request that steps over ranges or blocks without
 * finding anything to do, and to choose a victim where evict=sl64k or tbne passes basic blocks over, or with
 * a reserve: O(units of the GPU), evict=lfu2m with quirks and a reserve up to O(blocks) for each block passed
 * over. */
UVMP_API enum uvmp_status uvmp_service_next(struct uvmp_service *service, uint64_t now_ns,
					    struct uvmp_action *action);

/* Action `id` has ended with `status` (0, or negative: it failed). After a failed COPY, POPULATE or ALLOCATE
 * the pages stay where they were; the fault, with its batch, or the request that needed it is cancelled.
 * An eviction goes on only when all copies of a block have arrived: those that did are on the CPU then, those
 * that failed stay on the GPU, unmapped, in the memory that they had.
 * Failures of other kinds are taken as done, and end the batch or request with that status.
 * UVMP_ERR_RETRY counts as UVMP_ERR_STATE: nothing is tried again because of it.
 * UVMP_ERR_STATE: no such action is outstanding: it was never handed out, or is completed. */
UVMP_API enum uvmp_status uvmp_service_complete(struct uvmp_service *service, uint64_t id,
						enum uvmp_status status);

/* Actions handed out and not completed. At most UVMP_SERVICE_PENDING_MAX: then next() gives
 * UVMP_ERR_RETRY. */
#define UVMP_SERVICE_PENDING_MAX 2048u
UVMP_API uint32_t uvmp_service_pending(const struct uvmp_service *service);

/* When time alone gives work, in nanoseconds; UINT64_MAX: never, also while uvmp_service_next says
 * UVMP_ERR_ARENA. Unpinning; and looks of controllers, as long as they can change anything without an event:
 * threads until all extra blocks are given and lifetimes are judged, sm_throttle until all SMs run and no
 * fault is left to be judged. So a host that sleeps until then sleeps for good in the end. */
UVMP_API uint64_t uvmp_service_wakeup_ns(const struct uvmp_service *service);

/* -- looking --------------------------------------------------------------------------------- */

/* What is known of one page. */
struct uvmp_page_state {
	uint64_t resident;	      /* set of processors that hold it */
	uint64_t read, write, atomic; /* sets of processors that are mapped so, each including the next */
	bool is_duplicated, is_discarded, is_pinned, is_thrashing;
};
/* UVMP_ERR_UNKNOWN: the address is in no range. O(processors). */
UVMP_API enum uvmp_status uvmp_service_page(const struct uvmp_service *service, uint64_t space,
					    uvmp_addr address, struct uvmp_page_state *state);

/* Sums over the bottom halves of a GPU. */
struct uvmp_service_counts {
	uint64_t bottom_halves, batches;
	uint64_t faults;			 /* fetched, */
	uint64_t coalesced;			 /* after merging, */
	uint64_t duplicates, invalid_prefetches; /* as the driver counts them [driver: batch-order,
						  * permission-check] */
	uint64_t cancelled;			 /* CANCEL actions */
};
/* UVMP_ERR_RANGE: no such GPU. */
UVMP_API enum uvmp_status uvmp_service_count(const struct uvmp_service *service, uint32_t gpu,
					     struct uvmp_service_counts *counts);

/* -- the decision log ------------------------------------------------------------------------ */

/* One action as one line of text without newline, NUL-terminated; the same action gives the same text
 * everywhere. For example
 *   12 copy t=81000 cause=demand space=1 block=0x7f0000000000 pages=0-15,32 from=0 to=1 batch=3
 * A line is `ID KIND` and words `KEY=VALUE`, one blank apart, in this order (in parentheses: the field, where
 * it is called otherwise):
 *   t (time_ns)  after  cause  space  block (address)  pages  page_bytes  from  to
 *   right: r, rw, rwa; only MAP and REVOKE     mode (right): all, write; only CANCEL, and always
 *   victim: free, unused, discarded, used, order; only EVICT, and always
 *   for (for_address)  batch  count  detail  offset  update (is_update)  until (until_ns)
 *   faulted  present  throttles  subtree  ticket  status
 * A field that is 0, UVMP_PROC_NONE or empty is left out; t never is. Numbers are decimal without leading
 * zeros, but block, for and offset hexadecimal (0x7f0000000000), and status has a minus sign. pages are runs
 * FIRST-LAST, or PAGE, in ascending order, joined where they touch. subtree is one such run, or two with a comma, the second behind the first. `run` is not printed: it is the bounding
 * region of pages. UVMP_ERR_SPACE: capacity; UVMP_ACTION_TEXT_MAX always suffices. UVMP_ERR_RANGE: kind,
 * cause, victim, right, processors, a positive status; a right or victim of a kind that has none. */
#define UVMP_ACTION_TEXT_MAX 3072u
UVMP_API enum uvmp_status uvmp_action_print(const struct uvmp_action *action, char *text, size_t capacity);

/* The same for the end of an action, where a host logs it: action `id`, which a line before names, completed
 * at time_ns, on the clock of the actions' times, with `status` (what uvmp_service_complete gets). For
 * example
 *   12 complete t=93500        13 complete t=95000 status=-5
 * A line has no other words. Errors: those of uvmp_action_print; UVMP_ERR_RANGE: status is positive or below
 * -128. */
UVMP_API enum uvmp_status uvmp_completion_print(uint64_t id, uint64_t time_ns, enum uvmp_status status,
						char *text, size_t capacity);

/* Reads a line of either kind (without newline) back, and only what print gives: printing brings back the
 * same text. On error *action is unchanged and *offset (may be NULL) says where it stopped. UVMP_ERR_SYNTAX
 * (also: a field out of its place, or one that would have been left out), UVMP_ERR_UNKNOWN (word),
 * UVMP_ERR_RANGE (number).
 */
UVMP_API enum uvmp_status uvmp_action_parse(const char *text, size_t length, struct uvmp_action *action,
					    size_t *offset);

/* Names of kinds and causes as in the log; NULL outside the enumerations. */
UVMP_API const char *uvmp_action_name(enum uvmp_action_kind kind);
UVMP_API const char *uvmp_cause_name(enum uvmp_cause cause);

#ifdef __cplusplus
}
#endif
#endif
