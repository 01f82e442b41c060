/* The state of the engine: what lives in the arena. docs/architecture.md lists the files of the engine from the lowest to the
 * highest, each with its task. A file uses files before it in the list only; `make check` reads the list.
 *
 * Structures: objects_internal.h has the objects of the arena and the elements of its tables. The header of a module has those
 * of the module: frames, controllers, private states of prefetchers, jobs, block service, evictions. This header has the
 * memory, the GPU, the operations that run, and the engine. A module whose inline functions read the engine includes this header.
 *
 * State machines are explicit: each `_advance` decides one thing, queues all actions of that and returns; the next call
 * comes when all of these are completed. An operation owns the job and the evictions that run for it (struct servicing).
 */
#ifndef UVMPOLICY_SERVICE_INTERNAL_H
#define UVMPOLICY_SERVICE_INTERNAL_H

#include "../base/bits_internal.h"
#include "block_service_internal.h"
#include "controllers_internal.h"
#include "eviction_internal.h"
#include "frames_internal.h"
#include "job_internal.h"
#include "objects_internal.h"
#include "prefetch_states_internal.h"
#include "uvmpolicy/adapt.h"
#include "uvmpolicy/counter.h"
#include "uvmpolicy/evict.h"
#include "uvmpolicy/geometry.h"
#include "uvmpolicy/plan.h"
#include "uvmpolicy/pmm.h"
#include "uvmpolicy/pressure.h"
#include "uvmpolicy/service.h"

#define UNIT_BYTES 16u
#define SEGMENTS_MAX 8u

#define MAGIC 0x75766d70656e6731u /* "uvmpeng1" */

/* Why an action is queued; evictions: for which block; mappings of remote=auto: by which rule. */
struct reason {
	uint8_t cause; /* enum uvmp_cause */
	uint8_t rule;  /* enum uvmp_rule */
	uvmp_addr for_address;
};
static inline struct reason because(uint32_t cause)
{
	return (struct reason){.cause = (uint8_t)cause};
}
static inline struct reason because_of_room(uvmp_addr for_address)
{
	return (struct reason){.cause = UVMP_CAUSE_EVICTION, .for_address = for_address};
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

/* remote=auto: a period of a tenant (remote_period.c). */
enum period {
	PERIOD_NONE,	  /* no notification so far */
	PERIOD_WATCHED,	  /* is it long? No round is complete so far */
	PERIOD_RETURNING, /* a round is complete: do the remote blocks return? */
	PERIOD_LONG,	  /* more than half of them have */
	PERIOD_EXPECTED	  /* it is probably long, as an earlier one was */
};

/* remote=auto: what a tenant uses across the link (remote_idle.c, remote_period.c). Times are `now` of struct idle. */
struct idle_tenant {
	uint32_t remote; /* blocks */
	uint32_t most;	 /* of them, in the present period */
	uint32_t due;	 /* RETURNING, EXPECTED: so many of them have still to return for the period to be long, or its round complete */
	uint64_t noted;	 /* time of the latest notification, or when the first of these blocks became remote */
	uint64_t heard;	 /* time of the latest notification; 0: none so far */
	uint64_t begun;	 /* time when the present round began */
	uint64_t before; /* time when the last complete round began; 0: none so far */
	uint64_t spent;	 /* copies of 4 KiB, in the present round */
	uint64_t opened; /* time when the present period began */
	uint16_t beside; /* set of tenants that were notified in the last watched period, or in one since; this tenant is one */
	uint8_t period;	 /* enum period */
	uint8_t gap;	 /* after a long period, so many are expected to be long */
	uint8_t left;	 /* of these */
	bool is_judged;	 /* a watched period has shown whether it is long */
};

/* All zero: no notification so far. */
struct idle {
	struct idle_tenant tenant[UVMP_EVICT_TENANTS];
	uint64_t now; /* copies that all notified accesses cost, and how many times a tenant's first block became remote */
	uint64_t before; /* time when the last complete round of any tenant began; 0: none so far */
	uint8_t latest; /* tenant that was notified last */
	uint8_t longs;	/* so many periods of any tenants were judged long in a row */
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
	uint32_t batch_most;	/* faults that the latest fetch could take; UINT32_MAX: all */
	bool was_in_one_block;	/* all faults of the latest full batch were */
	bool has_needed;	/* a block of the latest batch needed pages or mappings */
	uint32_t flushed, flushed_blocks; /* lately: entries that flushes dropped; blocks that needed pages or mappings (batch.c) */
	bool is_chained;	/* the next batch follows the latest one without a replay */
	bool owes_replay;	/* a batch was chained since the latest replay */
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
	struct idle idle;

	struct controls controls;
	uint64_t *utlb_seen; /* prefetch=safe: [utlbs], the walk in which it was seen last; else NULL */
	uint64_t walks;
};

/* Does the latest batch have as many faults as it may? */
static inline bool batch_is_full(const struct gpu *g)
{
	return g->batch.cached >= g->batch_most;
}

/* What flushes cost lately, in copies of 4 KiB for each block that was serviced: four entries that a flush drops take about as long
 * as one copy. */
static inline uint32_t flush_copies(const struct gpu *g)
{
	return g->flushed_blocks == 0 ? 0 : g->flushed / 4u / g->flushed_blocks;
}

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
	uint64_t used_bytes;   /* of the ranges that a GPU has used */
	uint64_t return_draws; /* remote=auto: see uvmp_remote_is_chosen */
};

#endif
