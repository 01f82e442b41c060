/* The state of the engine: what lives in the arena. Each layer uses layers below it only; the lowest comes first:
 *
 *   arena.c            memory: segments, slabs, handles
 *   queue.c            actions that are decided and not completed yet
 *   transfers.c        the transfers of an action
 *   cold.c             rarely needed state of a block
 *   prefetch_states.c  private states of the prefetchers
 *   space.c, ranges.c  address spaces, channels; ranges
 *   blocks.c           blocks, and their residency on processors
 *   range_split.c, page_state.c   splitting a range; what is known of one page
 *   mapping.c          mappings of one block
 *   thrashing.c        the thrashing detector's view of a block
 *   service_runtime.c  runtime=on: the pattern engine, and what follows from it
 *   cyclic.c           cyclic=on: blocks that leave and return in circles are pinned
 *   frames.c           frames of the units of page-wise orders
 *   unit_tables.c      tables of page-wise orders, which grow
 *   memory.c           memory of the GPUs; back ends: memory_chunks.c (root chunks), memory_units.c (page-wise orders)
 *   controllers.c      controllers: what a run does to the parameters of the next decisions
 *   remote_auto.c      remote=auto: which pages on the CPU return
 *   remote.c           counted accesses: what stays on the CPU, and what has become hot
 *   departing.c        pages leave a processor
 *   job.c              a job of the block service: which pages are to arrive where
 *   block_prefetch.c   block service: which further pages are to arrive
 *   block_map.c        block service: mappings of the pages that have arrived
 *   copies.c           the copies of a plan become actions
 *   block_service.c    block service: pages of one block to their destinations
 *   victim.c           victims of evictions: victim_roots.c, victim_units.c
 *   eviction.c         evictions
 *   servicing.c        a job with the evictions that it needs
 *   batch.c, walk.c, dispatch.c, cancel.c   parts of the bottom half
 *   bottom_half.c, request*.c, access_counter.c, hot.c, unpin.c   operations
 *   service.c, setup.c  events, scheduling, handing out actions; setting up
 *   check.c, log.c   the walk over everything; the text of an action
 *   params.c, defaults.c   what is accepted; what zeros stand for
 *
 * State machines are explicit: each `_advance` decides one thing, queues all actions of that and returns; the next call
 * comes when all of these are completed. An operation owns the job and the evictions that run for it (struct servicing).
 */
#ifndef UVMPOLICY_SERVICE_INTERNAL_H
#define UVMPOLICY_SERVICE_INTERNAL_H

#include "../adapt/adapt_internal.h"
#include "../base/bits_internal.h"
#include "uvmpolicy/counter.h"
#include "uvmpolicy/evict.h"
#include "uvmpolicy/geometry.h"
#include "uvmpolicy/plan.h"
#include "uvmpolicy/pmm.h"
#include "uvmpolicy/pressure.h"
#include "uvmpolicy/service.h"
#include "uvmpolicy/thrash.h"

/* Place of an object in the arena, in units of 16 bytes over all segments; 0: none. */
typedef uint32_t handle;

#define UNIT_BYTES 16u
#define SEGMENTS_MAX 8u
#define NO_INDEX   UINT32_MAX

#define MAGIC 0x75766d70656e6731u /* "uvmpeng1" */

/* Why an action is queued; evictions: for which block. */
struct reason {
	uint8_t cause; /* enum uvmp_cause */
	uvmp_addr for_address;
};
static inline struct reason because(uint32_t cause)
{
	return (struct reason){(uint8_t)cause, 0};
}

struct segment {
	uint8_t *memory;
	uint32_t first, end;   /* units, numbered over all segments; half-open */
	uint32_t unused;       /* first unit never handed out */
};

/* The last ones are arrays of 16, 32, ... bytes. */
#define ARRAY_CLASSES 28u
enum slab { SLAB_BLOCK, SLAB_RESIDENCY, SLAB_COLD, SLAB_TREE, SLAB_CHUNK_MAP, SLAB_THRASH, SLAB_COUNTERS, SLAB_HISTORY,
	    SLAB_ARRAY, SLAB_COUNT = SLAB_ARRAY + ARRAY_CLASSES };

/* One VABlock: 48 bytes. */
struct block {
	uvmp_addr start;
	uint64_t event_ns; /* thrashing, until there is a `thrash`: last event, */
	uint32_t range;	   /* slot */
	handle chain;	   /* next block of its hash bucket */
	handle range_next; /* next block of its range */
	handle residency;  /* first of its per-processor states */
	handle cold;
	handle thrash;
	uint16_t pages;
	uint16_t faults;   /* uvmp_prefetch_state.faults */
	uint8_t event_proc; /* and its processor */
	uint8_t last_proc; /* uvmp_prefetch_state.last_proc */
	bool is_touched;   /* some page was made resident once */
	uint8_t unused;
};

/* Residency of a block on one processor: 208 bytes. */
struct residency {
	uvmp_mask resident;
	uvmp_mask low, high; /* right of the processor on each page: enum uvmp_right as two bits */
	handle next;
	uint32_t memory;   /* whole block: root; small block: handle of a struct chunk_map; page-wise order: unit */
	uint8_t proc;
	bool has_memory;   /* `memory` means something */
	bool is_mapped;	   /* `low` or `high` may hold pages */
	bool has_begun_there; /* remote=auto: the first fault mapped the pages on the CPU; no page was evicted since */
	struct uvmp_remote_use use; /* remote=auto: of pages on other processors */
};

/* Cold state: what few blocks have. */
struct cold {
	uvmp_mask duplicated, discarded;
	handle tree;
	handle counters; /* remote and runtime: struct counters */
	handle history;
	uint32_t unused;
};

/* Counted accesses of a block, by all GPUs, and its pages that have become hot. */
struct counters {
	struct uvmp_counter_tree tree;
	uvmp_mask hot;	     /* on the CPU, to come to `gpu`; empty: the block is not in the list of s->hot_first */
	handle before, next; /* blocks of that list; 0: none */
	uint32_t gpu;
};

/* Past of a block, for controllers, prefetchers and eviction orders. Private states of the block follow: those of the
 * prefetchers, then that of the controller that changes the density threshold. */
struct history {
	uvmp_mask evicted; /* from some GPU, once */
	uvmp_mask touched; /* since they came to `gpu`, and still there */
	uint8_t gpu;	   /* 0: none yet */
};

/* Chunks of a block below 2 MiB on one GPU. */
struct chunk_map {
	uvmp_mask backed; /* pages with a chunk */
	struct uvmp_chunk chunk[UVMP_MASK_BITS]; /* by first page of the chunk */
};

/* Thrashing state of a block; the array of pages follows. */
struct thrash {
	struct uvmp_thrash_block block;
};

struct address_space {
	uint64_t id;
	uint32_t users; /* ranges and channels; 0: the slot is free */
	struct uvmp_thrash_space thrash;
};

/* remote=auto: blocks of a range that began on the CPU before memory was full (remote_auto.c). All zero: none so far. */
struct early_starts {
	uint32_t batch;	 /* of faults of `gpu`, in which the oldest open block began */
	uint16_t open;	 /* blocks of `gpu` whose use is not known yet */
	uint16_t more;	 /* so many may be open in addition to the first ones */
	uint16_t faults; /* pages that faulted together in unused blocks, */
	uint8_t blocks;	 /* and these blocks; both of the latest ones */
	uint8_t gpu;	 /* that uses the open blocks; means nothing while none is open */
};

struct range {
	uvmp_addr start, last; /* bytes */
	uvmp_addr origin;     /* start of the lowest piece that is left of the range that was added */
	uint64_t accessed_by;
	uint32_t space; /* slot */
	handle block;	/* first of its blocks */
	uint32_t next_free;
	uint8_t preferred;
	uint8_t duplication;
	uint8_t right;
	uint8_t home;
	uint8_t pattern;      /* of the allocation, as the log was told: enum uvmp_pattern */
	uint32_t allocation; /* slot of that piece, which may be its own */
	struct uvmp_remote_start first_faults; /* remote=auto */
	struct early_starts early_starts;
	handle log; /* runtime: what was scheduled of the allocation, an array; 0: none, or it is another's */
};

struct instance {
	uint64_t key;
	uint32_t aperture, subcontext, gpu;
	uint32_t space; /* slot */
};

/* A chunk that an eviction won, for the repeated walk of the same block. */
struct parked {
	struct uvmp_chunk chunk;
	handle block; /* its owner */
	uint8_t gpu;
	bool is_set;
};
#define PARKED_MAX 4u

/* A chunk taken by this operation. */
struct pinned {
	struct uvmp_chunk chunk;
	handle block;	/* its owner */
	uint16_t first; /* page of the block where it begins */
	uint8_t gpu;
	bool is_known;	/* the host was told: ALLOCATE is queued when all memory of a job is there */
};
#define PINNED_MAX 1024u

/* Controllers of a GPU. */
struct controls {
	struct uvmp_threshold_load load; /* since the last event `batch` */
	struct control_answer answer;
	struct uvmp_lifetime lifetime; /* of its units of memory: roots, or those of the order */
	/* private, NULL: the controller is off; of the CPU: states that the GPUs share */
	void *state[UVMP_CONTROLLER_COUNT];
	bool has_lifetimes;
	bool is_timed; /* some controller has due_ns */
	bool has_begun; /* a batch has begun: periods run */
	uint32_t told_sms, told_blocks; /* of the answer, in the last LIMIT */
};

/* Those of the engine. */
struct adapt {
	bool is_on; /* there is any, or a prefetcher or an order that needs a history */
	bool has_touches; /* a prefetcher or the order reads which pages are touched */
	bool counts_refaults;
	uint32_t tuner; /* the controller that changes the density threshold; UVMP_CONTROLLER_COUNT: none */
	uint64_t managed_bytes; /* of all ranges */
};

/* Offsets of the private states of one prefetcher, bytes. */
struct prefetch_offsets {
	enum uvmp_prefetcher prefetcher;
	const struct uvmp_prefetch_plugin *plugin; /* UVMP_PREFETCH_PLUGIN */
	uint32_t block, range, processor;
};

/* Private states of `prefetch` and of `prefetch_full` (prefetch_states.c). */
struct prefetch_states {
	struct prefetch_offsets of[2];
	uint32_t count;
	uint32_t present; /* the prefetcher that decides now, index in `of` */
	uint32_t block_bytes, range_bytes, processor_bytes; /* of both together */
	uint32_t kernels; /* that have begun */
	bool has_bytes;	  /* not all of these are 0 */
	bool counts_touches;
	bool has_memory; /* a prefetcher knows the memory and hears of evictions */
	uint8_t *range;					    /* [range slots][range_bytes] */
	uint8_t *processor;				    /* [processors][processor_bytes] */
};

#define KERNELS_MAX 64u /* running at the same time, that runtime=on knows of */

/* Frames of the units of a page-wise order (frames.c). */
struct frames {
	uint32_t *of_unit;     /* [units]: frame, NO_INDEX: none */
	uint32_t *next;	       /* [units]: of a free frame, the next one; NO_INDEX: last */
	uint32_t first, last;  /* free frames, the first to be reused first; by root: wholly free roots */
	uint32_t begun, unused; /* frames that were ever used, and the free ones among them */
	uint32_t partial;      /* by root: the first partly free root */
	bool by_root;	       /* orders with groups */
};

struct gpu {
	/* memory: pmm, or the page-wise order; only memory*.c and victim*.c ask which */
	struct uvmp_pmm *pmm;
	struct uvmp_evict order;
	uint32_t unit_pages, block_units; /* pages of an eviction unit; units in a block */
	uint64_t capacity_pages, used_pages;
	uint64_t uncounted_pages; /* of those used: stayed through a device synchronisation, after which all memory counts as free */
	uint64_t evicted_pages; /* so far; with prefetch_states.has_memory */
	uint32_t coming_pages; /* backed, and not used yet */
	bool asks_at_misses; /* see struct uvmp_service_gpu */
	bool hears_arrivals; /* the host reports pages that have arrived */
	bool counts_units;   /* a unit counts with all its pages, see struct uvmp_service_gpu */
	uint16_t *unit_used; /* [blocks]: pages that count for the block with this number */
	uint64_t *held_ns;   /* [units]: until when a unit is held; 0: never held so far; NULL: units are below 64 KiB */
	handle *unit_block; /* [blocks]: which block a block number of the order is; free ones: next free */
	uint32_t free_number;		/* used before; NO_INDEX: none */
	uint32_t used_numbers, numbers; /* block numbers that were ever used: the arrays hold nothing beyond; and all */
	struct frames frames;
	struct uvmp_cyclic_state cyclic; /* cyclic=on: of the blocks with these numbers; without blocks: off */

	/* faults */
	struct uvmp_fault_buffer buffer;
	uint32_t put;
	struct uvmp_fault_batch batch;
	uint32_t batch_most;	/* faults that this batch could have */
	uint32_t opening_batch; /* remote=auto: the latest batch in which a block opened; 0: none so far (remote_auto.c) */
	uint32_t *order_of; /* ordered representatives */
	uint64_t *order_scratch; /* [UVMP_FAULT_ORDER_WORDS(capacity of the batch)] */
	uint8_t *fatal;	    /* per entry of the batch: 0, or 1 + cancel mode */
	uint32_t representatives;
	struct uvmp_replay_params params;
	struct uvmp_replay_state replay;
	struct uvmp_service_counts counts;

	/* access counters */
	struct uvmp_note *note; /* ring */
	uint32_t note_capacity, note_get, note_put, note_cached_put;
	uint32_t note_batches;

	struct controls controls;
	uint64_t *utlb_seen; /* prefetch=safe: [utlbs], the walk in which it was seen last; else NULL */
	uint64_t walks;
};

/* -- a job of the block service (job.c); its operation owns it -- */

enum { UNNAMED_PLACE = 1, UNNAMED_ACCESS = 2 };

/* Pages whose destination follows from the same facts: their holders, and whether they are duplicated. */
struct job_class {
	uvmp_mask pages;  /* empty: no class yet */
	uint64_t holders; /* of each of them */
	uint8_t accesses; /* of the faults added last; as for uvmp_residency_facts */
	uint8_t access;   /* as what they are serviced: enum uvmp_access; NONE: each fault is decided for itself */
	uint8_t unnamed;  /* what the job does not name of the pages in `more` yet */
	struct uvmp_residency_place place; /* their destination */
	uvmp_mask more;	  /* faults like the last one */
};

enum job_phase { JOB_IDLE, JOB_ALLOCATE, JOB_MADE_ROOM, JOB_COPY, JOB_COMMIT, JOB_MAPPED };

struct job {
	/* set by the operation */
	handle block;
	uint32_t requester;
	uint8_t operation; /* enum uvmp_operation */
	uint8_t cause;	   /* enum uvmp_cause of pages that are not prefetched */
	uint8_t migrate;   /* enum uvmp_migrate_cause of the same */
	bool is_prefetching; /* ask the prefetcher [driver: prefetch-in-service] */
	bool is_retry;
	bool is_follow;	   /* prefetched pages only; fails if memory is full, never evicts `keep` */
	bool may_map;	   /* map the requester and others when the pages are there */
	bool has_next;	   /* room may be made ahead, for the next block of the batch, which starts at */
	uvmp_addr next_start;
	handle keep;
	uint32_t utlbs; /* uvmp_prefetch_facts.utlbs */
	uvmp_mask *arrive; /* [processors]: per destination */
	uint64_t destinations;
	uint64_t used; /* processors whose `arrive` may hold pages */
	struct job_class alike;
	uvmp_mask duplicate;
	bool has_duplicates; /* `duplicate` may hold pages */
	bool has_pins; /* `pinned` holds pages */
	bool has_throttled, has_remote; /* so do `throttled` and `remote` */
	bool takes_back; /* pages of a withdrawn victim: only a unit leaves for them that nothing holds or spares */
	uvmp_mask pinned;
	uvmp_mask throttled; /* the host was told: at most one THROTTLE a page */
	uvmp_mask remote;    /* faulted, and stay on the CPU */
	uvmp_mask access[3]; /* bits of enum uvmp_access, per page */
	uint32_t accesses;   /* bit per value of enum uvmp_access that some page has had */
	uint64_t pin_procs[UVMP_MASK_BITS]; /* of pinned pages only */
	uint8_t throttles[UVMP_MASK_BITS];
	/* set by the block service */
	enum job_phase phase;
	uint32_t to;
	enum uvmp_status status; /* result, when phase is JOB_IDLE again; UVMP_ERR_RETRY: decide again */
	enum uvmp_status error;	 /* of a failed action */
	uvmp_mask failed;	 /* pages that did not arrive */
	uvmp_mask *arrived_from;	 /* [processors]: pages that did, per source */
	uint64_t sources;	 /* processors whose `arrived_from` may hold pages */
	uvmp_mask faulted;
	uvmp_mask migrated; /* of this destination */
	uint32_t planned;   /* copies of them in s->in that are not queued yet */
	uint32_t present;   /* pages that the destination had when the prefetcher was asked */
	struct uvmp_prefetch_hint hint;
};

/* What the block service needs from its caller. */
enum need { NEED_NOTHING, NEED_ROOM, NEED_ROOM_AHEAD };
struct block_need {
	enum need kind;
	enum uvmp_chunk_size size; /* NEED_ROOM: of the chunk */
};

/* What is to become of the mappings of one processor (block_map.c). */
enum want { WANT_READ, WANT_WRITE, WANT_ATOMIC, WANT_LESS_READ, WANT_LESS_WRITE, WANT_COUNT };
struct map_want {
	uint32_t sets; /* bit i: pages[i] holds pages */
	/* that get this right, if they have less; LESS: that keep only the right to read, to read and write */
	uvmp_mask pages[WANT_COUNT];
};
struct map_wants {
	uint64_t processors; /* whose element of `of` means something */
	struct map_want *of; /* [processors] */
};

/* The right of a requester on a page that has just arrived on the requester, by the access of its service: what
 * uvmpi_residency_rights answers for the policy of one range (block_map.c). */
struct map_memo {
	uint64_t accessed_by; /* these facts are the same for all accesses */
	uint8_t requester, right, preferred, duplication;
	uint8_t of[UVMP_ACCESS_NONE]; /* enum uvmp_right; NONE: not asked yet, MAPS_OTHERS: others are mapped too */
};

/* The destination of the latest class of pages without a pin, and the facts that it follows from (job.c); so do the
 * processors and the policy key map_on_atomics, which do not change. */
struct place_memo {
	uint64_t accessed_by, holders;
	uint64_t key; /* requester, operation, accesses, preferred location, duplication; 0: none, as no page has no access */
	struct uvmp_residency_place place;
};

/* Evicted pages: where they come from, for which block they leave, and how many copies their plan has in s->out. */
struct outgoing {
	handle block;
	uvmp_addr for_address;
	uint32_t copies;
};

/* -- an eviction (eviction.c); the operation that runs it owns it -- */

enum evict_phase { EVICT_IDLE, EVICT_NEXT, EVICT_COMMIT };

struct eviction {
	enum evict_phase phase;
	struct job *job; /* that is being serviced: its pages stay; NULL: none */
	uint32_t gpu;
	uint32_t root;	  /* or unit */
	uint8_t victim;	  /* enum uvmp_victim */
	uvmp_addr for_address; /* block that needs the memory */
	bool is_ahead;	  /* for the next block, while this one's pages come: the root goes to the pool */
	uint32_t room;	  /* page-wise order, ahead: pages to be free, beside the incoming pages */
	bool is_whole;	  /* evict=tbne: all of the victim's block leaves, as the pattern engine has not spoken */
	enum uvmp_chunk_size size;
	handle block;	  /* whose pages leave now */
	uint32_t blocks;  /* so many of this victim have begun to leave */
	uvmp_mask rest;	  /* page-wise order: pages of the block whose turn comes yet, resident or not */
	uvmp_mask held;	  /* pages of the block with memory in the root */
	uvmp_mask pages;  /* the resident pages among them, which are evicted */
	uvmp_mask lost;	  /* discarded ones among these, not copied */
	uvmp_mask copied; /* others that the CPU does not have */
	enum uvmp_status status; /* result, when phase is EVICT_IDLE again */
};

/* A job with the evictions that it needs (servicing.c). */
struct servicing {
	struct job job;
	struct eviction eviction;
};

/* -- operations -- */

enum request_kind { REQUEST_FREE, REQUEST_FREE_PART, REQUEST_ADVISE, REQUEST_MIGRATE, REQUEST_CPU_FAULT,
		    REQUEST_WITHDRAW };

struct request {
	uint64_t ticket, space, thread;
	uvmp_addr base;
	uint64_t bytes;
	uint32_t processor;
	uint8_t kind, advice, access;
};

/* The request that runs. */
struct request_run {
	struct servicing *servicing;
	bool is_active;
	bool is_stepping; /* a block service runs for it, */
	bool has_stepped; /* and has ended well */
	bool is_last;	  /* the range at work is the last one */
	struct request request;
	uvmp_addr next, last; /* where the work continues; last byte */
	uint32_t phase;
	uint32_t range; /* slot at work */
	handle block;	/* at work */
	uvmp_addr make; /* from here on blocks of the range are made */
	uint64_t todo;	/* processors that are to be mapped in it */
	uint32_t retries;
	uint32_t batch; /* of the bottom half that it interrupts, */
	bool has_next;	/* and the next block of that */
	uvmp_addr next_start;
	enum uvmp_status status;
	uint8_t old; /* preferred location or duplication before */
};

enum fault_phase { FAULT_IDLE, FAULT_ACTION, FAULT_ANSWER, FAULT_JOB, FAULT_FOLLOW, FAULT_CANCEL };

/* The faults of one block: as struct uvmp_fault_bin, with their pages. */
struct bin {
	uint32_t first, count, duplicates;
	bool is_uniform; /* each fault has a page of its own, and the accesses of the first one; none is fatal */
	uvmp_mask pages;
};

/* The bottom half that runs. */
struct fault_run {
	struct servicing *servicing;
	enum fault_phase phase;
	uint32_t gpu;
	struct uvmp_replay_action action;
	struct uvmp_replay_event event;
	uint32_t next_bin; /* position in order_of */
	struct bin bin;
	uint32_t retries;
	uint64_t follow; /* page of the range, UVMP_PAGE_NONE */
	bool is_cancelling; /* inside the precise cancel */
	uint32_t cancel;    /* phase of the cancellation */
	uint64_t fatal_space;
	uint32_t fatal_gpu; /* 0: none */
	bool was_enabled;   /* prefetch faults */
	bool is_trimming;   /* room is made before the batch: free_buffer */
	bool is_leaving;    /* the first victim is still to leave: plan=unobtrusive */
};

enum counter_phase { COUNTER_IDLE, COUNTER_WALK, COUNTER_JOB };

/* Notifications of one group; what is beyond begins another. */
#define COUNTER_GROUP_MAX 256u

struct counter_run {
	struct servicing *servicing;
	enum counter_phase phase;
	uint32_t gpu, count, next, group; /* next: first of the present group */
	uint32_t retries;
	handle block;
	struct uvmp_counter_note note[COUNTER_GROUP_MAX];
};

#define NOTES_MAX 65536u

enum remote_phase { REMOTE_IDLE, REMOTE_BEGUN, REMOTE_JOB };

/* Hot pages of one block that come. */
struct remote_run {
	struct servicing *servicing;
	enum remote_phase phase;
	uint32_t gpu;
	handle block;
	uvmp_mask pages;
};

/* Parameters that begin as the policy says, and that change while the engine runs. */
struct tuned {
	struct uvmp_prefetch_params prefetch; /* distances in pages of the host */
	struct uvmp_remote_params remote;
};

struct uvmp_service {
	uint64_t magic;
	struct uvmp_policy policy;
	const struct uvmp_evict_traits *order; /* of policy.evict */
	struct uvmp_processors processors;
	struct uvmp_geometry geometry;
	uint32_t page_bytes, page_shift, block_pages;
	bool has_counters, maps_evicted;
	struct tuned tuned;
	bool is_full; /* some GPU's memory has been: prefetch_full */

	struct segment segment[SEGMENTS_MAX];
	uint32_t segments;
	handle free[SLAB_COUNT];
	uint32_t slab_bytes[SLAB_COUNT];
	uint32_t live[SLAB_COUNT];
	uint32_t reserve; /* units: the most that one decision must have */
	uint32_t table_gpu; /* whose tables must grow before the job continues; 0: none */

	handle *bucket;
	uint32_t buckets; /* power of two */
	handle bucket_array; /* `bucket` in the arena; 0: in the fixed part */
	struct address_space *space;
	uint32_t spaces, spaces_used; /* slots from spaces_used on were never used */
	struct range *range;
	uint32_t ranges, range_slots, free_range;
	uint32_t *range_order; /* slots by (space, start) */
	struct instance *instance;
	uint32_t instances, instance_slots;
	struct gpu *gpu; /* [processors.count], 0 is not used */

	struct request *request; /* ring */
	uint32_t request_capacity, request_get, request_count;
	uint64_t tickets;

	struct uvmp_action *action; /* [UVMP_SERVICE_PENDING_MAX] */
	uint32_t actions, handed, completed;
	/* per action: 0: outstanding; 1: it went well; 1 + n: it failed with status -n. Of a COPY or POPULATE that failed, `cuts`
	 * are now the pages that it has moved all the same */
	uint8_t *done;
	bool has_failed;  /* some action of the group failed */
	uint64_t base_id; /* id of action[0] */
	bool is_drained;  /* all completed; the results can be read until the next uvmpi_queue */
	uint32_t batch;	  /* for uvmp_action.batch */
	uint64_t now_ns;

	uvmp_mask *holders; /* [processors]; scratch: resident masks of one block, see uvmpi_block_residents */
	/* Scratch, the copies of one plan: of a job (job.planned of them), of an eviction (outgoing.copies). [4 * processors],
	 * [processors]: an eviction has one kind and no stop on the way. */
	struct uvmp_copy *in, *out;
	uint64_t held;	    /* processors whose element of `holders` may hold pages */
	uint32_t *note_order;
	struct uvmp_note *notes; /* batch of access counters */
	uint32_t notes_waiting;	 /* in the rings of all GPUs */

	struct parked parked[PARKED_MAX];
	bool has_parked; /* an element of `parked` may be set */
	struct pinned *pinned; /* [PINNED_MAX], oldest first: to unpin at the end of the operation */
	uint32_t pinned_count;

	uvmp_mask prefetched; /* by the latest job of any operation, which is not always the present one [driver: stale-prefetch-mask] */
	struct map_wants wants; /* of the job that is mapped now */
	struct map_memo map_memo;
	struct place_memo place_memo;
	struct servicing *active; /* of the operation that waits for it; NULL: none (servicing.c) */
	struct request_run run;
	struct fault_run fault;
	struct counter_run counter;
	struct remote_run remote;
	handle hot_first, hot_last; /* blocks with hot pages, oldest first; 0: none */
	bool was_hot;		    /* they have had their turn, bottom halves go first */
	uint32_t next_gpu; /* whose turn it is */
	struct adapt adapt;
	struct prefetch_states prefetch_states;
	struct uvmp_pattern_engine patterns; /* runtime=on */
	enum uvmp_pattern_verdict verdict, told; /* of theirs: as it was judged last, and as the log was told */

	/* [driver: cpu-fault]: the CPU fault that was let pass once */
	uint64_t latch_ns, latch_thread, latch_page, latch_space;
	bool has_latch;

	uint64_t random;
	uint64_t return_draws; /* remote=auto: see uvmp_remote_is_chosen */
};


/* -- service_runtime.c: all without effect unless runtime=on -- */

uint64_t uvmpi_runtime_bytes(const struct uvmp_service_params *params);
void uvmpi_runtime_init(struct uvmp_service *s, const struct uvmp_service_params *params, uint8_t *memory);
/* A range was added, or begins here now; `last` is the last byte of its last piece. If the arena has space, its blocks
 * can be logged. The range is removed. */
void uvmpi_runtime_watch(struct uvmp_service *s, uint32_t slot, uvmp_addr last);
void uvmpi_runtime_forget(struct uvmp_service *s, uint32_t slot);
/* Where the array of an allocation comes from; it has one. */
enum slab uvmpi_runtime_slab(const struct uvmp_service *s, uint32_t allocation);
/* With runtime=on: basic blocks that a tree prefetcher has scheduled. Queues PATTERN where the allocation's has changed. */
void uvmpi_runtime_log(struct uvmp_service *s, const struct block *b, uint32_t basic_blocks);
/* Memory is full: what do the patterns so far say? */
void uvmpi_runtime_judge(struct uvmp_service *s);
/* A victim begins to leave: queues PATTERN where that has changed since. */
void uvmpi_runtime_tell(struct uvmp_service *s);
/* Does evict=tbne still send 2 MiB away? */
bool uvmpi_runtime_evicts_whole(const struct uvmp_service *s);

#endif
