/* The engine's rooms share this: what lives in the arena, and who may do what with it.
 *
 *   service.c          setting up, events, scheduling, handing out actions
 *   service_arena.c    memory: segments, slabs, handles
 *   service_space.c    spaces, channels, ranges, blocks, places (a block on a processor)
 *   service_memory.c   memory of the GPUs: chunks or units
 *   service_evict.c    what leaves, as a state machine
 *   service_circle.c   cyclic=on: blocks that leave and return in circles are pinned
 *   service_step.c     one service step: pages of one block to their destinations, and mappings [driver: block-service]
 *   service_fault.c    the bottom half: fetch, order, walk, cancel (1 to 4)
 *   service_request.c  what the program asks for: free, advise, migrate, CPU faults; the unpin worker
 *   service_counter.c  access counters [driver: counter-service]
 *   service_remote.c   counted accesses: what stays on the CPU, what has become hot (UVM Smart, 4)
 *   service_adapt.c    controllers: what a run does to the parameters of the next decisions
 *   service_runtime.c  the pattern engine and what follows from it: runtime=on
 *   service_check.c    the walk over everything
 *   service_log.c      the text of an action
 *
 * State machines are explicit: every `_advance` decides one thing, queues all actions of it and returns; it
 * is called again when all of them are completed. Levels, the innermost first: eviction, step, then the
 * operation (request, bottom half, counters or hot pages).
 */
#ifndef UVMPOLICY_SERVICE_INTERNAL_H
#define UVMPOLICY_SERVICE_INTERNAL_H

#include "uvmpolicy/adapt.h"
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

#define BIT(processor) ((uint64_t)1 << (processor))

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
	uvmp_mask low, high; /* right of the processor on each page: enum uvmp_prot as two bits */
	handle next;
	uint32_t memory;   /* whole block: root; small block: handle of a struct chunk_map; page-wise order: unit */
	uint8_t proc;
	bool has_memory;   /* `memory` means something */
	uint8_t unused[6];
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

/* What controllers and prefetch=pattern know of a block. */
struct history {
	uvmp_mask evicted; /* from some GPU, once */
	uvmp_mask touched; /* since they came to `gpu`, and still there */
	uvmp_mask pattern; /* touched on `pattern_gpu` before they were evicted last */
	struct uvmp_early_block early;
	uint8_t gpu, pattern_gpu; /* 0: none yet */
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

struct range {
	uvmp_addr start, end; /* inclusive */
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
	handle log;	     /* runtime: what was scheduled of the allocation, an array; 0: none, or it is another's */
	struct uvmp_prefetch_range prefetch;
};

struct instance {
	uint64_t key;
	uint32_t aperture, subcontext, gpu;
	uint32_t space; /* slot */
};

/* A chunk that an eviction won, for the pass of the same block that follows. */
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
	bool is_known;	/* the host was told: ALLOCATE is queued when all that a step needs is there */
};
#define PINNED_MAX 1024u

/* Controllers of a GPU. */
struct controls {
	struct uvmp_threshold_load load; /* since the last look */
	struct uvmp_prefetch_setting setting; /* as pressure or early say */
	struct uvmp_threshold_state threshold;
	struct uvmp_lifetime lifetime; /* of its units of memory: roots, or those of the order */
	struct uvmp_threads_state threads;
	struct uvmp_throttle_params throttling;
	struct uvmp_throttle_state throttle;
	bool has_threads, has_throttle;
	bool has_begun;	       /* a batch has begun: periods run */
	uint32_t still, extra; /* as the last LIMIT said */
};

/* Those of the engine. */
struct adapt {
	bool is_on; /* there is any, or a prefetcher or an order that needs a history */
	bool has_touches; /* which pages are touched is of use: prefetch=pattern, evict=mhpe */
	bool counts_refaults;
	struct uvmp_threshold_params threshold;
	struct uvmp_early_params early_params;
	struct uvmp_early_state early;
	struct uvmp_threads_params threads;
	uint64_t managed_bytes; /* of all ranges */
};

#define KERNELS_MAX 64u /* running at the same time, that runtime=on knows of */

struct gpu {
	/* memory: pmm, or the page-wise order */
	struct uvmp_pmm *pmm;
	struct uvmp_evict order;
	uint32_t unit_pages, block_units; /* pages that leave as one; how many of those a block has */
	uint64_t capacity_pages, used_pages;
	uint32_t coming_pages; /* backed, and not used yet */
	uint16_t *unit_used; /* [blocks]: pages that count for the block with this number */
	handle *unit_block; /* [blocks]: which block a block number of the order is; free ones: next free */
	uint32_t free_number;		/* used before; NO_INDEX: none */
	uint32_t used_numbers, numbers; /* block numbers that were ever used: the arrays hold nothing beyond; and all */
	struct uvmp_cyclic_state cyclic; /* cyclic=on: of the blocks with these numbers; without blocks: off */

	/* faults */
	struct uvmp_fault_buffer buffer;
	uint32_t put;
	struct uvmp_fault_batch batch;
	uint32_t *order_of; /* ordered representatives */
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
	bool is_follow;	   /* prefetched pages only; may fail for want of memory, never evicts `keep` */
	bool may_map;	   /* map the requester and others when the pages are there */
	bool has_next;	   /* room may be made ahead, for the next block of the batch, which starts at */
	uvmp_addr next_start;
	handle keep;
	uint32_t utlbs; /* uvmp_prefetch_facts.utlbs */
	uvmp_mask *arrive; /* [processors]: per destination */
	uint64_t destinations;
	uvmp_mask duplicate;
	uvmp_mask pinned;
	uvmp_mask throttled; /* the host was told: at most one THROTTLE a page */
	uvmp_mask remote;    /* faulted, and stay on the CPU */
	uvmp_mask access[3]; /* bits of enum uvmp_access, per page */
	uint64_t pin_procs[UVMP_MASK_BITS];
	uint8_t throttles[UVMP_MASK_BITS];
	/* set by the block service */
	enum job_phase phase;
	uint32_t dst;
	enum uvmp_status status; /* result, when phase is JOB_IDLE again; UVMP_ERR_RETRY: decide again */
	enum uvmp_status error;	 /* of a failed action */
	uvmp_mask failed;	 /* pages that did not arrive */
	uvmp_mask *came;	 /* [processors]: pages that did, per source */
	uvmp_mask faulted;
	uvmp_mask migrated; /* of this destination */
	uint32_t present;   /* pages that the destination had when the prefetcher was asked */
	struct uvmp_prefetch_hint hint;
};

/* What the block service needs from its caller. */
enum need { NEED_NOTHING, NEED_ROOM, NEED_ROOM_AHEAD };
struct block_need {
	enum need kind;
	enum uvmp_chunk_size size; /* NEED_ROOM: of the chunk */
};

/* Equivalence classes of pages for the decision about mappings (block_map.c). */
struct map_classes {
	uvmp_mask first;      /* the first page of each class; by that page: */
	struct uvmp_map *map; /* [UVMP_MASK_BITS]: the decision */
	uvmp_mask *pages;     /* [UVMP_MASK_BITS]: the pages of the class */
};

/* Where evicted pages come from, and for which block they leave. */
struct outgoing {
	handle block;
	uvmp_addr for_address;
};

/* -- an eviction (service_evict.c); the operation that runs it owns it -- */

enum evict_phase { EVICT_IDLE, EVICT_NEXT, EVICT_COMMIT };

struct eviction {
	enum evict_phase phase;
	const struct job *job; /* that is being serviced: its pages stay; NULL: none */
	uint32_t gpu;
	uint32_t root;	  /* or unit */
	uint8_t victim;	  /* enum uvmp_victim */
	uvmp_addr for_address; /* block that needs the room */
	bool is_ahead;	  /* for the next block, while this one's pages come: the root goes to the pool */
	uint32_t room;	  /* page-wise order, ahead: so many pages shall be free, beside those that are coming */
	bool is_whole;	  /* evict=tbne: all of the victim's block leaves, as the pattern engine has not spoken */
	enum uvmp_chunk_size size;
	handle block;	  /* whose pages leave now */
	uint32_t blocks;  /* so many of this victim have begun to leave */
	uvmp_mask rest;	  /* page-wise order: pages of the block whose turn comes yet, resident or not */
	uvmp_mask held;	  /* pages of the block with memory in the root */
	uvmp_mask pages;  /* resident ones among them: what leaves */
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

enum request_kind { REQUEST_FREE, REQUEST_FREE_PART, REQUEST_ADVISE, REQUEST_MIGRATE, REQUEST_CPU_FAULT };

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
	bool is_stepping; /* a step runs for it, */
	bool has_stepped; /* and has ended well */
	bool is_last;	  /* the range at work is the last one */
	struct request request;
	uvmp_addr next, end; /* where the work goes on, and last byte */
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

enum fault_phase { FAULT_IDLE, FAULT_ACTION, FAULT_ANSWER, FAULT_STEP, FAULT_FOLLOW, FAULT_CANCEL };

/* The bottom half that runs. */
struct fault_run {
	struct servicing *servicing;
	enum fault_phase phase;
	uint32_t gpu;
	struct uvmp_replay_action action;
	struct uvmp_replay_event event;
	uint32_t next_bin; /* position in order_of */
	struct uvmp_fault_bin bin;
	uint32_t retries;
	uint64_t follow; /* page of the range, UVMP_PAGE_NONE */
	bool is_cancelling; /* inside the precise cancel */
	uint32_t cancel;    /* its step */
	uint64_t fatal_space;
	uint32_t fatal_gpu; /* 0: none */
	bool was_enabled;   /* prefetch faults */
	bool is_trimming;   /* room is made before the batch: free_buffer */
	bool is_leaving;    /* the first victim is still to leave: plan=unobtrusive */
};

enum counter_phase { COUNTER_IDLE, COUNTER_WALK, COUNTER_STEP };

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

enum remote_phase { REMOTE_IDLE, REMOTE_BEGUN, REMOTE_STEP };

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

	handle *bucket;
	uint32_t buckets; /* power of two */
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
	uint8_t *done; /* per action: 0: outstanding; 1: it went well; 1 + n: it failed with status -n */
	uint64_t base_id; /* id of action[0] */
	bool is_drained;  /* all completed; the results can be read until the next uvmpi_queue */
	uint32_t batch;	  /* for uvmp_action.batch */
	uint64_t now_ns;

	uvmp_mask *holders; /* [processors]; scratch: resident masks of one block, see uvmpi_block_residents */
	struct uvmp_copy *in, *out; /* [UVMP_PLAN_COPIES_MAX] each */
	uint32_t ins, outs;
	struct uvmp_plan_step *plan; /* [2 * UVMP_PLAN_COPIES_MAX] */
	uint32_t *note_order;
	struct uvmp_note *notes; /* batch of access counters */

	struct parked parked[PARKED_MAX];
	struct pinned *pinned; /* [PINNED_MAX], oldest first: to unpin at the end of the operation */
	uint32_t pinned_count;

	uvmp_mask prefetched; /* by the latest job of any operation, which is not always the present one [driver: stale-prefetch-mask] */
	struct map_classes classes;
	struct servicing *active; /* of the operation that waits for it; NULL: none (servicing.c) */
	struct request_run run;
	struct fault_run fault;
	struct counter_run counter;
	struct remote_run remote;
	handle hot_first, hot_last; /* blocks with hot pages, oldest first; 0: none */
	bool was_hot;		    /* they have had their turn, bottom halves go first */
	uint32_t next_gpu; /* whose turn it is */
	struct adapt adapt;
	struct uvmp_pattern_engine patterns; /* runtime=on */
	enum uvmp_pattern_verdict verdict, told; /* of theirs: as it was judged last, and as the log was told */

	/* [driver: cpu-fault]: the CPU fault that was let pass once */
	uint64_t latch_ns, latch_thread, latch_page, latch_space;
	bool has_latch;

	uint64_t random;
};

/* -- service_arena.c -- */

static inline void *uvmpi_arena_at(const struct uvmp_service *s, handle h)
{
	uint32_t i = 0;

	while (h >= s->segment[i].end) /* every handle lies in a segment */
		i++;
	return s->segment[i].memory + (size_t)(h - s->segment[i].first) * UNIT_BYTES;
}
/* Bytes that one decision must have at most: it concerns one block, which may be cut in two, with its state on each of
 * `processors`; and the CPU's state of a victim. */
uint64_t uvmpi_arena_reserve(uint32_t processors);
/* Is there less than the reserve? Then nothing that may need an object is decided. O(segments). */
static inline bool uvmpi_arena_is_short(const struct uvmp_service *s)
{
	for (uint32_t i = s->segments; i > 0; i--) {
		if (s->segment[i - 1u].end - s->segment[i - 1u].unused >= s->reserve)
			return false;
	}
	return true;
}
/* A zeroed object, 0 if the arena is full. Objects without which decisions can be taken leave the reserve alone. */
handle uvmpi_arena_take(struct uvmp_service *s, enum slab slab);
/* The slab of arrays of so many bytes, at most twice as large; SLAB_COUNT: too many. */
enum slab uvmpi_arena_array(uint64_t bytes);
void uvmpi_arena_give(struct uvmp_service *s, enum slab slab, handle h);

static inline struct block *block_at(const struct uvmp_service *s, handle h)
{
	return uvmpi_arena_at(s, h);
}
static inline struct residency *residency_at(const struct uvmp_service *s, handle h)
{
	return uvmpi_arena_at(s, h);
}
static inline struct cold *cold_at(const struct uvmp_service *s, handle h)
{
	return uvmpi_arena_at(s, h);
}
static inline struct chunk_map *chunk_map_at(const struct uvmp_service *s, handle h)
{
	return uvmpi_arena_at(s, h);
}
static inline struct thrash *thrash_at(const struct uvmp_service *s, handle h)
{
	return uvmpi_arena_at(s, h);
}
static inline struct range *range_of(const struct uvmp_service *s, const struct block *b)
{
	return &s->range[b->range];
}
static inline struct address_space *space_of(const struct uvmp_service *s, const struct block *b)
{
	return &s->space[s->range[b->range].space];
}

/* How action number i of the group has ended. */
static inline enum uvmp_status action_result(const struct uvmp_service *s, uint32_t i)
{
	return (enum uvmp_status)(1 - (int)s->done[i]);
}

/* -- cold.c: cold state of a block, made at the first need. NULL: the arena is full. -- */

struct cold *uvmpi_cold_make(struct uvmp_service *s, struct block *b);
/* History of the block; NULL: there is none. */
static inline struct history *block_history(const struct uvmp_service *s, const struct block *b)
{
	if (b->cold == 0 || cold_at(s, b->cold)->history == 0)
		return NULL;
	return uvmpi_arena_at(s, cold_at(s, b->cold)->history);
}
struct history *uvmpi_history_make(struct uvmp_service *s, struct block *b);
/* Gives the history back. The block has cold state. */
void uvmpi_history_give(struct uvmp_service *s, struct block *b);
/* What counts accesses; NULL: nothing of the block has been counted. */
static inline struct counters *counters_of(const struct uvmp_service *s, const struct block *b)
{
	handle h = b->cold != 0 ? cold_at(s, b->cold)->counters : 0;

	return h != 0 ? uvmpi_arena_at(s, h) : NULL;
}
/* Counters are for pieces of 64 KiB: how many pages is that, and how many pieces has the block's tree? */
static inline uint32_t counter_pages(const struct uvmp_service *s)
{
	return 65536u / s->page_bytes;
}
uint32_t uvmpi_counters_leaves(const struct uvmp_service *s, const struct block *b);
struct counters *uvmpi_counters_make(struct uvmp_service *s, struct block *b);
/* Gives the counters back, and takes the block off the list of blocks with hot pages. */
void uvmpi_counters_give(struct uvmp_service *s, struct block *b);
/* A page of the block has become hot: its block joins the list as the last. */
void uvmpi_hot_add(struct uvmp_service *s, handle block, struct counters *c, uint32_t gpu, uint32_t page);
/* Takes a block off the list; its pages are not hot any longer. */
void uvmpi_hot_remove(struct uvmp_service *s, struct counters *c);

/* -- service_space.c -- */

/* Slot of a space, NO_INDEX if there is none. */
uint32_t uvmpi_space_find(const struct uvmp_service *s, uint64_t id);
/* The same, made if need be. */
uint32_t uvmpi_space_use(struct uvmp_service *s, uint64_t id);
void uvmpi_space_unuse(struct uvmp_service *s, uint32_t slot);
/* Slot of the space that a channel belongs to; NO_INDEX: unknown. *is_channel (may be NULL): some subcontext of the
 * same GPU, aperture and instance is bound. */
uint32_t uvmpi_instance_find(const struct uvmp_service *s, uint32_t gpu, uint32_t aperture, uint64_t instance,
			    uint32_t subcontext, bool *is_channel);
/* The order of the instances: ascending, none twice. */
bool uvmpi_instance_is_before(const struct instance *a, const struct instance *b);
/* Index in range_order of the range that holds the address; NO_INDEX: none, or no such space (NO_INDEX). */
uint32_t uvmpi_range_find(const struct uvmp_service *s, uint32_t space, uvmp_addr address);
/* Index of the first range of the space that ends at or above the address (or where one would stand). */
uint32_t uvmpi_range_from(const struct uvmp_service *s, uint32_t space, uvmp_addr address);
/* Is there a range at this index of range_order, and is it one of the space? */
static inline bool uvmpi_range_is_in(const struct uvmp_service *s, uint32_t index, uint32_t space)
{
	return index < s->ranges && s->range[s->range_order[index]].space == space;
}
/* Is [base, end] wholly in ranges? */
bool uvmpi_range_covers(const struct uvmp_service *s, uint32_t space, uvmp_addr base, uvmp_addr end);
/* Makes `address` (inside the range; its start: nothing to do) the start of a range of its own, and of a
 * block if it lies inside one [driver: va-policy]. The new range, the upper part, starts with zeros as its
 * prefetch state. UVMP_ERR_SPACE: no slot; UVMP_ERR_NO_MEMORY: arena; UVMP_ERR_RETRY: the block *busy lies
 * across and has memory on a GPU or thrashing state: first its pages go to the CPU, and both are freed. */
enum uvmp_status uvmpi_range_split(struct uvmp_service *s, uint32_t slot, uvmp_addr address, handle *busy);
/* Takes neighbouring empty ranges (no blocks) away: `count` from `index` of range_order on. */
void uvmpi_range_remove(struct uvmp_service *s, uint32_t index, uint32_t count);
/* The same, all pieces of one range that was added, while others of it may stay: if the lowest goes, they have another origin. */
void uvmpi_range_remove_part(struct uvmp_service *s, uint32_t index, uint32_t count);
/* Where in the table blocks of this window hang. */
uint32_t uvmpi_block_bucket(const struct uvmp_service *s, uint32_t space, uvmp_addr address);
/* The block with the address; 0: none yet, or no range. */
handle uvmpi_block_find(const struct uvmp_service *s, uint32_t space, uvmp_addr address);
/* The same, made if need be; 0 with *status: UVMP_ERR_UNKNOWN: no range; UVMP_ERR_NO_MEMORY: arena. */
handle uvmpi_block_make(struct uvmp_service *s, uint32_t space, uvmp_addr address, enum uvmp_status *status);
/* Takes it out of table, range and arena, with its thrashing state. Its places have no memory any more, but for
 * a struct chunk_map that is still theirs. */
void uvmpi_block_remove(struct uvmp_service *s, handle h);
void uvmpi_block_shape(const struct uvmp_service *s, const struct block *b, struct uvmp_block *shape);
static inline uvmp_addr block_end(const struct uvmp_service *s, const struct block *b)
{
	return b->start + (uint64_t)b->pages * s->page_bytes - 1u;
}
static inline uint32_t block_page(const struct uvmp_service *s, const struct block *b, uvmp_addr address)
{
	return (uint32_t)((address - b->start) >> s->page_shift);
}
static inline bool block_is_whole(const struct uvmp_service *s, const struct block *b)
{
	return b->pages == s->block_pages;
}
/* The block on a processor; NULL: nothing there. */
struct residency *uvmpi_residency_find(const struct uvmp_service *s, const struct block *b, uint32_t proc);
/* The same, made if need be; NULL: the arena is full. */
struct residency *uvmpi_residency_make(struct uvmp_service *s, struct block *b, uint32_t proc);
static inline bool block_is_duplicated(const struct uvmp_service *s, const struct block *b, uint32_t page)
{
	return b->cold != 0 && uvmp_mask_test(&cold_at(s, b->cold)->duplicated, page);
}
static inline bool block_is_discarded(const struct uvmp_service *s, const struct block *b, uint32_t page)
{
	return b->cold != 0 && uvmp_mask_test(&cold_at(s, b->cold)->discarded, page);
}
/* Sets of processors: holders of a page; those mapped with at least each right. */
uint64_t uvmpi_block_holders(const struct uvmp_service *s, const struct block *b, uint32_t page);
void uvmpi_block_mapped(const struct uvmp_service *s, const struct block *b, uint32_t page, uint64_t right[3]);
static inline uint8_t residency_right(const struct residency *p, uint32_t page)
{
	return (uint8_t)(uvmp_mask_test(&p->low, page) | (uvmp_mask_test(&p->high, page) << 1));
}
/* Of a processor that may have no state in the block. */
static inline uint8_t residency_right_or_none(const struct residency *p, uint32_t page)
{
	return p != NULL ? residency_right(p, page) : (uint8_t)UVMP_PROT_NONE;
}
/* Is the page resident on the CPU only? */
static inline bool block_is_on_cpu(const struct uvmp_service *s, const struct block *b, uint32_t page)
{
	return uvmpi_block_holders(s, b, page) == BIT(UVMP_CPU);
}
/* Fills s->holders[0..processors.count) with the resident masks of the block. */
void uvmpi_block_residents(struct uvmp_service *s, const struct block *b);
/* Sets the right on all pages of the set. */
void uvmpi_residency_map(struct residency *p, const uvmp_mask *pages, uint8_t right);
/* Pages on which the processor has at least `right`. */
static inline void residency_has(const struct residency *p, uint8_t right, uvmp_mask *pages)
{
	if (right == UVMP_PROT_READ)
		uvmp_mask_or(pages, &p->low, &p->high);
	else if (right == UVMP_PROT_READ_WRITE)
		uvmp_mask_copy(pages, &p->high);
	else
		uvmp_mask_and(pages, &p->low, &p->high);
}
/* Pages that are mapped at all. */
static inline void residency_mapped(const struct residency *p, uvmp_mask *pages)
{
	uvmp_mask_or(pages, &p->low, &p->high);
}

/* -- queue.c -- */

/* Forgets the results of the group before, if all its actions are completed. */
void uvmpi_queue_begin_group(struct uvmp_service *s);
/* A new action of the block (0: none) for the queue, filled with kind, cause, batch, time and block; NULL: the
 * queue is full (which the callers' bounds exclude). It stays a draft until the next call: set its fields
 * at once. `pages` may be NULL. */
struct uvmp_action *uvmpi_queue(struct uvmp_service *s, enum uvmp_action_kind kind, enum uvmp_cause cause, handle block,
			       const uvmp_mask *pages);
/* copies.c: queues s->in and s->out in the order of the plan, and empties them. For POPULATE and COPY alike. */
void uvmpi_queue_copies(struct uvmp_service *s, const struct job *job, struct outgoing outgoing);
/* First failure among the completed actions of the kinds that can fail; UVMP_OK. */
enum uvmp_status uvmpi_queue_status(const struct uvmp_service *s);

/* -- mapping.c -- */

/* Queues UNMAP of the pages for each processor that has them mapped, but `except`; they are unmapped. */
void uvmpi_mapping_unmap(struct uvmp_service *s, handle block, const uvmp_mask *pages, uint64_t except,
			 struct reason reason);
/* Queues REVOKE: the processor keeps at most `right` on the pages. */
void uvmpi_mapping_revoke(struct uvmp_service *s, handle block, struct residency *residency, const uvmp_mask *pages,
			  uint8_t right);
/* Queues MAP of the pages, at least one; the caller sets `from` of the action, where the pages lie. */
struct uvmp_action *uvmpi_mapping_map(struct uvmp_service *s, handle block, struct residency *residency,
				      const uvmp_mask *pages, uint8_t right, struct reason reason);
/* Maps pages of the block on `proc` with at most `right`, where they lie (accessed-by and eviction); queues MAP. */
void uvmpi_mapping_map_remote(struct uvmp_service *s, handle block, uint32_t proc, const uvmp_mask *pages,
			      struct reason reason);
/* The same, with no more than the right to read. */
void uvmpi_mapping_map_reads(struct uvmp_service *s, handle block, uint32_t proc, const uvmp_mask *pages,
			     struct reason reason);

/* -- thrashing.c -- */

/* The detector's events. */
void uvmpi_thrashing_migrated(struct uvmp_service *s, handle block, const struct uvmp_thrash_migration *migration);
void uvmpi_thrashing_revoked(struct uvmp_service *s, handle block, struct uvmp_region run, uint32_t proc);
/* Forgets the thrashing of these pages / of the block. */
void uvmpi_thrashing_reset(struct uvmp_service *s, handle block, const uvmp_mask *pages);
void uvmpi_thrashing_end(struct uvmp_service *s, handle block);
/* What the detector says of a fault. */
void uvmpi_thrashing_ask(struct uvmp_service *s, handle block, uint32_t page, uint32_t requester,
			 struct uvmp_thrash_hint *hint);
/* How often the page was throttled since its last pin. */
uint8_t uvmpi_thrashing_throttles(const struct uvmp_service *s, const struct block *b, uint32_t page);

/* -- service_memory.c -- */

/* Bytes that the GPU holds, with compression (memory_ratio) more than it has. */
uint64_t uvmpi_memory_capacity(const struct uvmp_service_params *params, uint32_t gpu);
/* 0 also for a GPU without memory, and for an order with too many units (init: UVMP_ERR_RANGE). */
size_t uvmpi_memory_size(const struct uvmp_service_params *params, uint32_t gpu);
enum uvmp_status uvmpi_memory_init(struct uvmp_service *s, const struct uvmp_service_params *params, uint32_t gpu,
				  void *memory, size_t bytes);
/* Pages that are to arrive. */
struct arriving {
	const uvmp_mask *pages, *faulted;
	uint8_t cause; /* enum uvmp_cause of the faulted ones */
};
/* The answer of uvmpi_memory_back. */
enum backing {
	BACKING_DONE,	   /* all pages have memory */
	BACKING_NEED_ROOM, /* the caller evicts (uvmpi_evict_start), then asks again */
	BACKING_FAILED	   /* no eviction helps: the arena, the pins or the roots that may be split are used up */
};
/* Backs `pages` of the block, which has state on `gpu`; queues ALLOCATE once all of them are (none with page-wise orders,
 * which know no chunks). BACKING_NEED_ROOM sets *size, the chunk for which memory is missing. */
enum backing uvmpi_memory_back(struct uvmp_service *s, uint32_t gpu, handle block, const struct arriving *arriving,
			      enum uvmp_chunk_size *size);
/* The chunks of these pages (just allocated; the host refused) are free again, but for those that hold something. */
void uvmpi_memory_unback(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *pages);
/* Pages have arrived / have left; place.resident may have been changed already or not. `is_fault`: a fault, not a
 * prefetch or a request, brought the pages. */
void uvmpi_memory_used(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *pages, bool is_fault);
void uvmpi_memory_left(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *pages);
void uvmpi_memory_mark(struct uvmp_service *s, uint32_t gpu, handle block, enum uvmp_chunk_mark mark);
/* `pages` pages of the block in the victim `unit` were evicted, of which `untouched` had not been used. */
void uvmpi_memory_evicted(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t unit, uint32_t pages,
			 uint32_t untouched);
/* cyclic=on: ends the oldest pin, so that its units may be evicted. False: nothing is pinned. */
bool uvmpi_memory_unpin_oldest(struct uvmp_service *s, uint32_t gpu);
/* The unit of memory in which the page lies, a root or a unit of the order, and the pages of the block in it. */
struct uvmp_region uvmpi_memory_unit(const struct uvmp_service *s, uint32_t gpu, const struct block *b, uint32_t page,
				    uint32_t *unit);
/* How many such units there are. */
uint64_t uvmpi_memory_units(const struct uvmp_service_params *params, uint32_t gpu);
/* The GPU has used a page, if it has it. */
void uvmpi_memory_touch(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t page);
/* evict=lfu2m: the page's unit there, if it is listed, gets the rank that the block's counters give it. The block has
 * a place for the processor. */
void uvmpi_memory_weigh(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t page);
/* evict=lfu2m: all units of the block on the GPU rank as if they had never been used. */
void uvmpi_memory_level(struct uvmp_service *s, uint32_t gpu, handle block);
/* Gives up all memory of the block on the GPU; queues FREE. Nothing is resident there any more. */
void uvmpi_memory_free(struct uvmp_service *s, uint32_t gpu, handle block);
/* The operation ends: pins go; parked chunks, and those that no ALLOCATE told of, are freed. */
void uvmpi_memory_settle(struct uvmp_service *s);
/* Adds the pages of the block where a new chunk begins, on this GPU. */
void uvmpi_memory_cuts(const struct uvmp_service *s, const struct block *b, uint32_t gpu, uvmp_mask *cuts);
/* The chunks of these pages are not the block's any more. */
void uvmpi_memory_forget(struct uvmp_service *s, const struct block *b, struct residency *p, const uvmp_mask *pages);
/* Pages of the block whose chunks lie in the root. */
void uvmpi_memory_in_root(const struct uvmp_service *s, const struct block *b, const struct residency *p, uint32_t root,
			 uvmp_mask *pages);

/* -- service_evict.c -- */

/* Does the order itself put a unit that is not complete behind all others? */
static inline bool uvmpi_evict_spares(const struct uvmp_service *s)
{
	return s->order->counts_uses && s->policy.quirks && s->policy.reserve == 0;
}

/* Is all memory of the GPU in use, so that the next allocation would evict? */
bool uvmpi_evict_is_next(const struct uvmp_service *s, uint32_t gpu);
/* Begins to send away the next victim; queues nothing, the next advance does. UVMP_ERR_NO_MEMORY. */
enum uvmp_status uvmpi_evict_start(struct uvmp_service *s, struct eviction *e, const struct job *job, uint32_t gpu,
				   enum uvmp_chunk_size size, bool is_ahead);
/* The same for pages that come later, if there is need: the next victim, and with page-wise orders so many of them
 * that there is room for a unit. What the present step brings stays. False: nothing has begun. */
bool uvmpi_evict_ahead(struct uvmp_service *s, struct eviction *e, const struct job *job, uint32_t gpu,
		       uvmp_addr for_address);
/* Decides the next thing of the eviction: a block to send away, what became of it, or the end. */
void uvmpi_evict_advance(struct uvmp_service *s, struct eviction *e);
/* free_buffer (page-wise orders): between two batches, is less free than there should be, and has an eviction
 * begun for that? `for_address` is the block that the batch begins with. */
bool uvmpi_evict_trim(struct uvmp_service *s, struct eviction *e, uint32_t gpu, uvmp_addr for_address);

/* -- service_circle.c: page-wise orders, by block number; nothing happens while cyclic=off -- */

size_t uvmpi_cyclic_size(const struct uvmp_service_params *params);
void uvmpi_cyclic_init(struct gpu *g, const struct uvmp_service_params *params, void *memory);
static inline bool uvmpi_cyclic_is_pinned(const struct gpu *g, uint32_t number)
{
	return g->cyclic.block != NULL && g->cyclic.block[number].is_pinned;
}
/* Pages of the block have arrived. True: a fault brought the block back in a circle, and the block is pinned now. */
bool uvmpi_cyclic_return(const struct uvmp_service *s, struct gpu *g, uint32_t number, bool is_fault);
/* The last page of the block was evicted. */
void uvmpi_cyclic_leave(struct gpu *g, uint32_t number);
/* A block whose pin ends now; NO_INDEX: none. Called until there is none. */
uint32_t uvmpi_cyclic_release(const struct uvmp_service *s, struct gpu *g);
/* Ends the oldest pin; the block's number, NO_INDEX: nothing is pinned. */
uint32_t uvmpi_cyclic_give_up(struct gpu *g);
/* The number will stand for another block. */
void uvmpi_cyclic_forget(struct gpu *g, uint32_t number);

/* -- departing.c -- */

/* The pages are not resident on `proc` any longer, by eviction or otherwise: residency, memory and controllers follow. */
void uvmpi_depart(struct uvmp_service *s, handle block, uint32_t proc, const uvmp_mask *pages, bool is_eviction);

/* -- service_step.c -- */

/* How often the first pinned page among these had been throttled. */
static inline uint8_t job_throttles(const struct job *job, const uvmp_mask *pages)
{
	uvmp_mask pinned;

	uvmp_mask_and(&pinned, pages, &job->pinned);
	return job->throttles[uvmp_mask_next_set(&pinned, 0)];
}

/* -- job.c -- */

/* An empty job for the block: no destinations, no pages; `hint` stays. */
void uvmpi_job_clear(const struct uvmp_service *s, struct job *job, handle block, uint32_t requester);
/* Page to a destination. */
void uvmpi_job_add(struct job *job, uint32_t page, uint32_t dst, uint8_t access, bool is_duplicate);
/* Pages of the job's block to a destination as prefetched ones. Read duplication follows `duplication`, a policy
 * of the range. */
void uvmpi_job_add_prefetched(const struct uvmp_service *s, struct job *job, const uvmp_mask *pages, uint32_t dst,
			      uint8_t duplication);
/* Hint and destination for one faulting page, into the job; where *is_throttled is set, a THROTTLE action is queued and
 * nothing is added. */
enum uvmp_status uvmpi_job_add_fault(struct uvmp_service *s, struct job *job, uint32_t page, uint8_t access,
				     uint8_t accesses, bool *is_throttled);

/* -- block_prefetch.c -- */

/* Asks the prefetcher, and adds its pages to the job. */
void uvmpi_block_prefetch(struct uvmp_service *s, struct job *job);
const struct uvmp_prefetch_traits *uvmpi_prefetch_traits(const struct uvmp_service *s);
/* A batch begins: where memory has been full, the prefetcher for that takes over. */
void uvmpi_prefetch_switch(struct uvmp_service *s);
/* From the policy's pages of 4 KiB to the host's, once for each set of parameters. */
void uvmpi_prefetch_scale(struct uvmp_service *s);
/* Does the prefetcher keep trees of basic blocks, and how many has the block's? */
bool uvmpi_prefetch_has_tree(const struct uvmp_service *s);
uint32_t uvmpi_prefetch_tree_blocks(const struct block *b);

/* -- block_map.c -- */

/* Mappings of the pages that have arrived. */
void uvmpi_block_map(struct uvmp_service *s, struct job *job, const uvmp_mask *pages);

/* -- block_service.c -- */

/* Starts the job: prefetch decision, then destination by destination. */
void uvmpi_block_start(struct uvmp_service *s, struct job *job);
/* Decides the next thing. `room` is the result of the room that the job needed before. */
struct block_need uvmpi_block_advance(struct uvmp_service *s, struct job *job, enum uvmp_status room);
/* Queues the copies, which NEED_ROOM_AHEAD has left to the caller. */
void uvmpi_block_queue_copies(struct uvmp_service *s, const struct job *job);
/* Reads the results of the actions that have just been completed. */
void uvmpi_block_collect(struct uvmp_service *s, struct job *job);
void uvmpi_block_end(struct job *job, enum uvmp_status status);

/* -- servicing.c -- */

void uvmpi_servicing_start(struct uvmp_service *s, struct servicing *servicing);
/* Decides the next thing of the eviction, if there is one, or of the job. */
void uvmpi_servicing_advance(struct uvmp_service *s, struct servicing *servicing);
/* Evictions without a job that is being serviced: the first victim of a batch, and memory that is to be free. False:
 * nothing has begun. */
bool uvmpi_servicing_evict_ahead(struct uvmp_service *s, struct servicing *servicing, uint32_t gpu,
				 uvmp_addr for_address);
bool uvmpi_servicing_trim(struct uvmp_service *s, struct servicing *servicing, uint32_t gpu, uvmp_addr for_address);

/* -- service_fault.c, service_request.c, service_counter.c -- */

bool uvmpi_fault_is_due(struct uvmp_service *s, uint32_t gpu);
void uvmpi_fault_start(struct uvmp_service *s, uint32_t gpu);
void uvmpi_fault_advance(struct uvmp_service *s);
/* May room be made ahead, for faults of the batch behind the present block, and where does the block of the next one start? */
bool uvmpi_fault_has_next(const struct uvmp_service *s, uvmp_addr *start);
/* Between two blocks of a batch, where requests may go first? */
bool uvmpi_fault_is_between(const struct uvmp_service *s);

void uvmpi_request_start(struct uvmp_service *s);
void uvmpi_request_advance(struct uvmp_service *s);
/* Unpins what is due; true if it queued something. */
bool uvmpi_unpin_due(struct uvmp_service *s);

/* -- service_adapt.c -- */

/* Units of a GPU's memory whose lifetimes are kept, in an array of 64-bit numbers. */
uint64_t uvmpi_adapt_units(const struct uvmp_service_params *params, uint32_t gpu);
void uvmpi_adapt_init(struct uvmp_service *s);
void uvmpi_adapt_init_gpu(struct uvmp_service *s, const struct uvmp_service_params *params, uint32_t gpu,
			 uint64_t *units);
/* Does the policy ask this prefetcher, or will it once memory is full? */
bool uvmpi_adapt_prefetches(const struct uvmp_policy *policy, enum uvmp_prefetcher prefetcher);
/* A batch begins: the controllers of the GPU look; queues LIMIT where their answer has changed. */
void uvmpi_adapt_batch(struct uvmp_service *s, uint32_t gpu);
/* The same for all GPUs, where time alone gives reason; true if it queued something. */
bool uvmpi_adapt_due(struct uvmp_service *s);
uint64_t uvmpi_adapt_wakeup_ns(const struct uvmp_service *s);
/* Pages have arrived on a GPU (all that were to arrive, and are there now); which of these the GPU has faulted on, and
 * which of those were not there before. */
void uvmpi_adapt_arrived(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *arrived,
			 const uvmp_mask *faulted, const uvmp_mask *missed);
/* Pages are not resident on a GPU any more; they still have their memory. */
void uvmpi_adapt_left(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *gone, bool is_eviction);
/* The GPU has used a page, if it has it. */
void uvmpi_adapt_touch(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t page);
/* Parameters for a prefetch decision after so many faults, NO_INDEX: they have been counted before; false: prefetch
 * nothing. */
bool uvmpi_adapt_tune(struct uvmp_service *s, handle block, uint32_t dst, uint32_t faults,
		      struct uvmp_prefetch_params *params);
/* uvmp_prefetch_state.pattern */
uvmp_mask *uvmpi_adapt_pattern(const struct uvmp_service *s, const struct block *b, uint32_t dst);

/* -- service_runtime.c: all without effect unless runtime=on -- */

uint64_t uvmpi_runtime_bytes(const struct uvmp_service_params *params);
void uvmpi_runtime_init(struct uvmp_service *s, const struct uvmp_service_params *params, uint8_t *memory);
/* A range was added, or begins here now, and its last piece ends at `end`: its blocks can be logged, if the arena has
 * room for that. It is taken away. */
void uvmpi_runtime_watch(struct uvmp_service *s, uint32_t slot, uvmp_addr end);
void uvmpi_runtime_forget(struct uvmp_service *s, uint32_t slot);
/* Where the array of an allocation comes from; it has one. */
enum slab uvmpi_runtime_slab(const struct uvmp_service *s, uint32_t allocation);
/* Basic blocks that a tree prefetcher has scheduled. Queues PATTERN where the allocation's has changed. */
void uvmpi_runtime_log(struct uvmp_service *s, const struct block *b, uint32_t basic_blocks);
/* Memory is full: what do the patterns so far say? */
void uvmpi_runtime_judge(struct uvmp_service *s);
/* A victim begins to leave: queues PATTERN where that has changed since. */
void uvmpi_runtime_tell(struct uvmp_service *s);
/* Does evict=tbne still send 2 MiB away? */
bool uvmpi_runtime_evicts_whole(const struct uvmp_service *s);

bool uvmpi_counter_is_due(const struct uvmp_service *s, uint32_t gpu);
void uvmpi_counter_start(struct uvmp_service *s, uint32_t gpu);
void uvmpi_counter_advance(struct uvmp_service *s);

/* -- service_remote.c -- */

/* The GPU uses a page that it holds, or has mapped: counted, and a page on the CPU may have become hot. */
void uvmpi_remote_use(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t page, bool is_write);
/* A fault of the GPU is serviced: counted. True: the page stays on the CPU. */
bool uvmpi_remote_keeps(struct uvmp_service *s, handle block, uint32_t gpu, uint32_t page, uint8_t access);
/* Queues MAP for these pages, and for what else of the block would stay, unless it is to arrive. */
void uvmpi_remote_map(struct uvmp_service *s, handle block, uint32_t gpu, const uvmp_mask *remote,
		      const uvmp_mask *arriving);
/* Pages of the block begin to leave the GPU: a round trip. */
void uvmpi_remote_leave(struct uvmp_service *s, handle block, uint32_t gpu, const uvmp_mask *pages);
/* They have left, to make room for the block at `for_address`; queues MAP for those that would stay on the CPU anyway. */
void uvmpi_remote_map_evicted(struct uvmp_service *s, handle block, uint32_t gpu, const uvmp_mask *pages,
			     uvmp_addr for_address);

/* -- hot.c: the operation; as access counters -- */

bool uvmpi_hot_is_due(const struct uvmp_service *s);
void uvmpi_hot_start(struct uvmp_service *s);
void uvmpi_hot_advance(struct uvmp_service *s);

#endif
