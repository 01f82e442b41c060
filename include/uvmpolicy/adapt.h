/* adapt.h: should the rules change?
 *
 * Controllers: events of a run go in, parameters of the next decisions come out. None of them decides about a
 * page; each is a state of its own that may be used without the others:
 *
 *   pattern     which pattern does each allocation show, and what follows?                (DATE'21)
 *   threshold   density threshold from what is evicted and faults again                (Allen and Ge 2021)
 *   early       density threshold from fault rates, by block and globally              (Early-Adaptor 2023)
 *   lifetime    how long do pages stay, how many were evicted too early?               (ASPLOS'20)
 *   threads     extra thread blocks per SM, by the mean lifetime                       (ASPLOS'20)
 *   throttle    how many SMs stand still?                                              (ETC, ASPLOS'19)
 *   etc         which of ETC's three techniques fit the program?                       (ETC, ASPLOS'19)
 *   cyclic      blocks that leave and come back in circles: pin some of them           (CASES'20)
 *
 * Memory belongs to the caller; time is an argument and never runs back. A step costs O(1) unless said
 * otherwise. Parameters are checked where they enter: a `_params_init` gives the source's values (or ours,
 * where the source has none; the .c files say which), and an `_is_valid` tells whether changed ones are
 * accepted.
 */
#ifndef UVMPOLICY_ADAPT_H
#define UVMPOLICY_ADAPT_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- controllers of the policy string ------------------------------------------------------------- */

/* Every controller whose events the engine hands on, in the order of the policy string. Each file adapt_*.c
 * defines the descriptor of one row. */
/* clang-format off */
#define UVMP_CONTROLLERS(ROW)                                                                                \
	ROW(PRESSURE, pressure)	      /* adapt=pressure: threshold from evictions and refaults */            \
	ROW(EARLY, early)	      /* adapt=early: threshold from the fault rates of blocks */            \
	ROW(THREADS, threads)	      /* threads=on: extra thread blocks per SM */                           \
	ROW(SM_THROTTLE, sm_throttle) /* sm_throttle=on: SMs that stand still */                             \
/* a new row goes above this line */
/* clang-format on */

/* UVMP_CONTROLLER_PRESSURE (0), UVMP_CONTROLLER_EARLY, ... in the order of the list. */
enum uvmp_controller {
#define UVMP_CONTROLLER_VALUE(CONSTANT, name) UVMP_CONTROLLER_##CONSTANT,
	UVMP_CONTROLLERS(UVMP_CONTROLLER_VALUE)
#undef UVMP_CONTROLLER_VALUE
		UVMP_CONTROLLER_COUNT
};

/* What changes the density threshold while a program runs? At most one controller does. */
enum uvmp_adapt {
	UVMP_ADAPT_OFF = 0,  /* "off" */
	UVMP_ADAPT_PRESSURE, /* "pressure": uvmp_threshold_step, from evictions and refaults */
	UVMP_ADAPT_EARLY,    /* "early": uvmp_early_fault, from the fault rates of blocks */
	UVMP_ADAPT_COUNT
};

/* Parameters of the controllers, with the names, units and ranges of the policy string. */
struct uvmp_controls {
	/* of uvmp_threshold_params; base is threshold, or 1 if that is 0; pressure_low at most that */
	uint32_t pressure_low, pressure_step, pressure_window;
	bool pressure_off;
	/* of uvmp_early_params; base is the same; early_low at most that, early_high at least */
	uint32_t early_low, early_high, early_epoch_us;
	bool threads; /* uvmp_threads_step decides; reported by UVMP_ACTION_LIMIT */
	uint32_t extra_blocks, threads_period_us, threads_drop; /* of uvmp_threads_params */
	bool sm_throttle;     /* uvmp_throttle_step decides; reported by UVMP_ACTION_LIMIT */
	uint32_t sm_epoch_us; /* of uvmp_throttle_params: initial; detect is 1/5 of it, execute 4/5 */
};

/* -- pattern: the runtime engine of DATE'21 (UVM Smart [uvmsmart: runtime-engine]) ---------------------- */

enum uvmp_pattern {
	UVMP_PATTERN_UNDECIDED = 0,
	UVMP_PATTERN_LINEAR = 1,
	UVMP_PATTERN_LINEAR_REUSE = 2,
	UVMP_PATTERN_RANDOM = 3,
	UVMP_PATTERN_RANDOM_REUSE = 4,
	UVMP_PATTERN_MIXED = 5,
	UVMP_PATTERN_MIXED_REUSE = 6
};

/* What is to be done for the whole device. Nothing is ever set back. */
enum uvmp_pattern_verdict {
	UVMP_PATTERN_KEEP = 0,	     /* nothing changes */
	UVMP_PATTERN_EVICT_TREE = 1, /* evict by TBNe from now on */
	UVMP_PATTERN_REMOTE = 2	     /* that, and remote access while memory is full (mode `oversub`) */
};

#define UVMP_PATTERN_NONE UINT64_MAX /* no kernel; a kernel without end; not a cycle */

/* A kernel whose window is not over. */
struct uvmp_pattern_kernel {
	uint64_t id;	 /* 0, 1, ... in order of launch */
	uint64_t launch; /* cycle */
	uint64_t last;	 /* cycle of its end, which belongs to it; UVMP_PATTERN_NONE while it runs */
};

/* An allocation. Cycles are stored plus one, 0 is "never". Belongs to the functions below. */
struct uvmp_pattern_data {
	uint32_t *block;  /* caller's, one a block of 64 KiB: was it logged? */
	uint32_t blocks;  /* 0: no allocation stands here */
	uint32_t pending; /* chain of blocks logged in the present cycle while no kernel ran */
	uint32_t last_block;
	uint64_t last;	  /* latest record */
	uint64_t descent; /* first of the latest two records that run backwards */
	uint64_t repeat;  /* latest record of a block that was logged before */
	uint64_t linear;  /* first kernel, of those that are over, with ascending records */
	uint64_t random;  /* first kernel with a descent */
	uint64_t reuse;	  /* first kernel with reuse */
};

struct uvmp_pattern_engine {
	struct uvmp_pattern_kernel *open; /* caller's; ascending id */
	struct uvmp_pattern_data *data;	  /* caller's */
	uint32_t opens, open_max, count, ending;
	uint64_t now, logged, next_id;
	bool is_random, is_reused;
};

/* An engine for up to `data_count` allocations and `open_max` (at least 1) kernels at the same time; one more
 * is needed if a kernel may start in the cycle in which another ends. Both arrays stay the caller's and must
 * outlive the engine. UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE: open_max or data_count is 0. */
UVMP_API enum uvmp_status uvmp_pattern_init(struct uvmp_pattern_engine *engine,
					    struct uvmp_pattern_kernel *open, uint32_t open_max,
					    struct uvmp_pattern_data *data, uint32_t data_count);
UVMP_API bool uvmp_pattern_is_valid(const struct uvmp_pattern_engine *engine);

/* An allocation of `blocks` blocks of 64 KiB (rounded size) stands at index `data` from now on, without
 * history; blocks 0 (block may be NULL then): none is there any longer. `block` is an array of that many
 * entries. O(blocks). UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE: no such index, blocks above 2^32 - 4. */
UVMP_API enum uvmp_status uvmp_pattern_watch(struct uvmp_pattern_engine *engine, uint32_t data,
					     uint32_t *block, uint32_t blocks);

/* A kernel starts, a kernel ends, a block was scheduled by TBNp or SL (the log holds nothing else). Cycles of
 * all three never decrease; within a cycle their order does not matter but for that of the records. The
 * bounds of a kernel are inclusive: what is logged in the cycle of its launch or end belongs to it, also what
 * was logged before the launch was reported; so a record may belong to several kernels.
 * [uvmsmart: kernels-never-end] (without the profiler option no kernel ever ends) is reproduced by never
 * reporting an end. Launch: O(data) if that cycle has records, else O(1), and O(blocks of these records)
 * once; O(open) where open_max kernels are open. End: O(log open); the first event of a later cycle costs
 * O(open), and O(data) for each kernel that is over, and O(open) while others that have ended are still to be
 * over. Record: O(1), counted over many. UVMP_ERR_ARGUMENT: NULL, engine not valid. UVMP_ERR_STATE: the cycle
 * runs back; no such kernel, or it has ended. UVMP_ERR_RANGE: cycle UINT64_MAX; no such allocation or block.
 * UVMP_ERR_SPACE: open_max kernels are open. */
UVMP_API enum uvmp_status uvmp_pattern_launch(struct uvmp_pattern_engine *engine, uint64_t cycle,
					      uint64_t *id);
UVMP_API enum uvmp_status uvmp_pattern_end(struct uvmp_pattern_engine *engine, uint64_t id, uint64_t cycle);
UVMP_API enum uvmp_status uvmp_pattern_log(struct uvmp_pattern_engine *engine, uint64_t cycle, uint32_t data,
					   uint32_t block);

/* The pattern of one allocation, of all kernels so far. O(log open). UNDECIDED also for NULL, for an engine
 * that is not valid and for an index out of range. */
UVMP_API enum uvmp_pattern uvmp_pattern_of(const struct uvmp_pattern_engine *engine, uint32_t data);
/* The policy. O(1). Allocations that are gone keep their say. KEEP for NULL and for an engine that is not
 * valid. */
UVMP_API enum uvmp_pattern_verdict uvmp_pattern_decide(const struct uvmp_pattern_engine *engine);

/* -- prefetch threshold, as the controllers below give it ------------------------------------- */

struct uvmp_prefetch_setting {
	bool is_on;	    /* prefetch at all? */
	uint32_t threshold; /* density, percent, 1..100; 100 if off */
};

/* -- threshold: adaptive prefetching as Allen and Ge propose (section VI.B) --------------------- */

struct uvmp_threshold_params {
	bool is_off_when_full;	  /* does not fit: prefetch off, nothing is tuned; default: false */
	uint32_t aggressive;	  /* threshold while all fits, and the lowest; 1..base; default: 1 */
	uint32_t base;		  /* threshold at which tuning starts, ..100; default: 51, the driver's */
	uint32_t step;		  /* percent points, 1..100; default: 10 */
	uint32_t window;	  /* faulted pages between two looks, 1..1048576; default: 1024 */
	uint32_t evicted_high;	  /* pages evicted a fault, 1..65536: so many, and refaults: raise;
				   default: 64 */
	uint32_t evicted_low;	  /* fewer: lower; 0..evicted_high; default: 8 */
	uint32_t refault_percent; /* of the faults, 1..100: fewer refaults: lower; default: 10 */
};

/* What happened since the last step. */
struct uvmp_threshold_load {
	uint32_t faults;   /* faulted pages that had to be made resident */
	uint32_t refaults; /* of these, pages that were evicted before */
	uint32_t evicted_pages;
};

struct uvmp_threshold_state {
	uint64_t faults, refaults, evicted_pages; /* of this window */
	uint32_t threshold;			  /* 101: off */
};

UVMP_API void uvmp_threshold_params_init(struct uvmp_threshold_params *params);
UVMP_API bool uvmp_threshold_params_is_valid(const struct uvmp_threshold_params *params);
/* No effect for NULL. */
UVMP_API void uvmp_threshold_init(const struct uvmp_threshold_params *params,
				  struct uvmp_threshold_state *state);
/* Managed bytes against GPU memory bytes. UVMP_ERR_ARGUMENT: NULL, params not valid. UVMP_ERR_RANGE: more
 * refaults than faults; state is none of these params. */
UVMP_API enum uvmp_status uvmp_threshold_step(const struct uvmp_threshold_params *params,
					      const struct uvmp_threshold_load *load, uint64_t managed_bytes,
					      uint64_t memory_bytes, struct uvmp_threshold_state *state,
					      struct uvmp_prefetch_setting *setting);

/* -- early: threshold by fault rates, after Early-Adaptor's published idea --------------------- */

struct uvmp_early_params {
	uint64_t epoch_ns;	 /* over which rates are taken, at least 1; default: 10 ms. Exact for up to
				   2^24 blocks and 2^40 faults an epoch. */
	uint32_t aggressive;	 /* threshold of a block with a high rate, 1..base; default: 26 */
	uint32_t base;		 /* of one near the mean; default: 51 */
	uint32_t cautious;	 /* of one with a low rate, base..100; default: 76 */
	uint32_t hot_percent;	 /* of the mean: from here a rate is high; cold_percent + 1..65535;
				   default: 150 */
	uint32_t cold_percent;	 /* up to here it is low; default: 50 */
	uint32_t step;		 /* percent points by which the global rate shifts all three, 1..99;
				   default: 10 */
	uint32_t change_percent; /* change of the global rate that counts, 1..100; default: 10 */
};

/* One a block, zeroed at first. */
struct uvmp_early_block {
	uint64_t epoch;	 /* plus one; 0: never faulted */
	uint32_t faults; /* of that epoch; does not wrap */
	uint32_t before; /* of the epoch before; 0 if it had none */
};

struct uvmp_early_state {
	uint64_t epoch;			/* now_ns / epoch_ns */
	uint64_t faults, before;	/* of this epoch, of the last */
	uint64_t blocks, blocks_before; /* that faulted in it */
	uint32_t shift;			/* percent points, 0..99 */
	bool is_full;			/* evictions in this epoch */
	bool has_before;		/* an epoch is over */
};

UVMP_API void uvmp_early_params_init(struct uvmp_early_params *params);
UVMP_API bool uvmp_early_params_is_valid(const struct uvmp_early_params *params);
/* Starts at now_ns. No effect for NULL or params that are not valid. */
UVMP_API void uvmp_early_init(const struct uvmp_early_params *params, uint64_t now_ns,
			      struct uvmp_early_state *state);
/* A block with `faults` (at least 1) faulted pages is about to be serviced: counts them and gives the
 * threshold for it. UVMP_ERR_ARGUMENT: NULL, params not valid. UVMP_ERR_RANGE: no faults. UVMP_ERR_STATE:
 * time runs back to an earlier epoch; within the epoch it may. */
UVMP_API enum uvmp_status uvmp_early_fault(const struct uvmp_early_params *params,
					   struct uvmp_early_state *state, struct uvmp_early_block *block,
					   uint64_t now_ns, uint32_t faults, uint32_t *threshold);
/* Something was evicted. Errors as above. */
UVMP_API enum uvmp_status uvmp_early_evict(const struct uvmp_early_params *params,
					   struct uvmp_early_state *state, uint64_t now_ns);

/* -- lifetime: how long pages stay (Kim et al., section 4.1) ----------------------------------- */

/* A page here is whatever is allocated and evicted as one: 4 KiB, 64 KiB or a chunk. Time in any unit, the
 * same everywhere. */
struct uvmp_lifetime {
	uint64_t *page; /* caller's: 0 never resident, UINT64_MAX evicted, else time of allocation plus one */
	uint64_t pages;
	uint64_t sum, count; /* of the lifetimes; halved together before sum could overflow */
	uint64_t evictions;  /* all */
	/* pages that faulted again after they were evicted; in the engine with evict=lru a page is a root of
	 * 2 MiB, whichever block has it next: there it counts roots that were filled by a fault after an
	 * eviction, which under pressure is nearly each of them */
	uint64_t premature;
};

/* All pages not resident. O(pages). UVMP_ERR_ARGUMENT: NULL. */
UVMP_API enum uvmp_status uvmp_lifetime_init(struct uvmp_lifetime *lifetime, uint64_t *page, uint64_t pages);
/* The page becomes resident, by a fault on it or otherwise (prefetched); is evicted; is freed or given back
 * unasked, which counts as no lifetime. UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE: no such page; resident from
 * a time above UINT64_MAX - 2 (an eviction may be at any). UVMP_ERR_STATE: resident already; not resident;
 * evicted before it came. */
UVMP_API enum uvmp_status uvmp_lifetime_allocate(struct uvmp_lifetime *lifetime, uint64_t page, uint64_t now,
						 bool is_fault);
UVMP_API enum uvmp_status uvmp_lifetime_evict(struct uvmp_lifetime *lifetime, uint64_t page, uint64_t now);
UVMP_API enum uvmp_status uvmp_lifetime_free(struct uvmp_lifetime *lifetime, uint64_t page);
/* Mean since the start, rounded down; 0 if nothing was evicted yet, or NULL. */
UVMP_API uint64_t uvmp_lifetime_mean(const struct uvmp_lifetime *lifetime);

/* -- threads: thread oversubscription (Kim et al., sections 4.1 and 5) -------------------------- */

struct uvmp_threads_params {
	uint64_t period;       /* time between two looks, at least 1; source: 100,000 cycles */
	uint32_t drop_percent; /* of the mean lifetime, 1..100: such a fall takes a block back; source: 20 */
	uint32_t start;	       /* extra thread blocks an SM from the beginning, ..max; source: 1 */
	uint32_t max;	       /* most extra thread blocks; default: 2 (the source tries 2x and 3x) */
	bool is_each_period;   /* mean of the period's evictions alone; default: since the start */
};

struct uvmp_threads_state {
	uint64_t due;	     /* time of the next look */
	uint64_t mean;	     /* at the last one; 0: none yet */
	uint64_t sum, count; /* of uvmp_lifetime at the last one */
	uint32_t runnable;   /* extra thread blocks of an SM that may be switched in */
	uint32_t allocated;  /* that have been given to an SM; never fewer than runnable */
};

UVMP_API void uvmp_threads_params_init(struct uvmp_threads_params *params);
UVMP_API bool uvmp_threads_params_is_valid(const struct uvmp_threads_params *params);
/* No effect for NULL. */
UVMP_API void uvmp_threads_init(const struct uvmp_threads_params *params, uint64_t now,
				struct uvmp_threads_state *state);
/* Looks if it is time; periods that went by without a call count as one. state->runnable is the answer.
 * UVMP_ERR_ARGUMENT: NULL, params not valid. UVMP_ERR_RANGE: runnable above params->max. */
UVMP_API enum uvmp_status uvmp_threads_step(const struct uvmp_threads_params *params,
					    const struct uvmp_lifetime *lifetime, uint64_t now,
					    struct uvmp_threads_state *state);

/* -- throttle: ETC's memory-aware throttling (Li et al., as Kim et al. tell it) ------------------- */

enum uvmp_throttle_phase {
	UVMP_THROTTLE_IDLE = 0,	   /* not triggered: memory has not been full */
	UVMP_THROTTLE_INITIAL = 1, /* half of the SMs stand still */
	UVMP_THROTTLE_DETECT = 2,
	UVMP_THROTTLE_EXECUTE = 3
};

struct uvmp_throttle_params {
	uint32_t sms;			   /* of the GPU, 1..65535; default: 16 (the source's) */
	uint32_t min_running;		   /* SMs that always run, 1..sms; default: 1 */
	uint32_t step;			   /* SMs throttled or released at once, 1..65535; default: 1 */
	uint64_t initial, detect, execute; /* lengths, time, at least 1; default: 100,000, 20,000, 80,000 */
	uint32_t thrash_percent; /* refaults of the faults of a detection epoch: throttle; default: 20 */
	uint32_t calm_percent;	 /* fewer: release; 1..thrash_percent..100; default: 5 */
};

struct uvmp_throttle_state {
	uint64_t until;		   /* end of the phase */
	uint64_t faults, refaults; /* of this detection epoch */
	uint32_t throttled;	   /* SMs that stand still */
	uint8_t phase;		   /* enum uvmp_throttle_phase */
};

UVMP_API void uvmp_throttle_params_init(struct uvmp_throttle_params *params);
UVMP_API bool uvmp_throttle_params_is_valid(const struct uvmp_throttle_params *params);
/* No effect for NULL. */
UVMP_API void uvmp_throttle_init(struct uvmp_throttle_state *state);
/* What happened up to `now` since the last step: faults, those of them on pages evicted before, pages
 * evicted. state->throttled is the answer. At most one phase ends a step. UVMP_ERR_ARGUMENT: NULL, params not
 * valid. UVMP_ERR_RANGE: more refaults than faults; more SMs throttled than these params allow. */
UVMP_API enum uvmp_status uvmp_throttle_step(const struct uvmp_throttle_params *params, uint32_t faults,
					     uint32_t refaults, uint32_t evicted, uint64_t now,
					     struct uvmp_throttle_state *state);

/* -- etc: which of its techniques, for which program ------------------------------------------------ */

enum uvmp_etc_class {
	UVMP_ETC_REGULAR = 0,	     /* no data shared between kernels */
	UVMP_ETC_REGULAR_SHARED = 1, /* data is used again */
	UVMP_ETC_IRREGULAR = 2
};

#define UVMP_ETC_EVICTION    1u /* proactive eviction */
#define UVMP_ETC_THROTTLING  2u
#define UVMP_ETC_COMPRESSION 4u

/* The class that the patterns of a program's allocations suggest: the worst of them. REGULAR for NULL.
 * O(count). */
UVMP_API enum uvmp_etc_class uvmp_etc_classify(const enum uvmp_pattern *pattern, uint32_t count);
/* The techniques of a class, a set of the above; all of them for no class. */
UVMP_API uint32_t uvmp_etc_techniques(enum uvmp_etc_class program);
/* Is it time to evict before anybody asks? With that technique, once fewer than `reserve_percent` (..100) of
 * `total` pages are free. False if free or the percentage is out of range. */
UVMP_API bool uvmp_etc_evicts_ahead(uint32_t techniques, uint64_t free, uint64_t total,
				    uint32_t reserve_percent);
/* What a memory of `bytes` holds: with compression `ratio_percent` (100 and above; less counts as 100) of it,
 * rounded down to pages of `page_bytes`; not above UINT64_MAX. 0 if page_bytes is 0. */
UVMP_API uint64_t uvmp_etc_capacity(uint32_t techniques, uint64_t bytes, uint32_t ratio_percent,
				    uint32_t page_bytes);

/* -- cyclic: pinning part of what leaves and comes back in circles (CASES'20) ----------------------- */

struct uvmp_cyclic_params {
	uint32_t rounds;	/* returns in a row that make a circle, 1..255; default: 2 */
	uint32_t share_percent; /* of memory that may be pinned, 0..100; default: 75 */
	uint32_t reach_percent; /* of memory, 1..10000: a return counts if no more was evicted since the block
				   left; default: 400 */
	uint32_t patience_percent; /* of memory, 1..10000: so much evicted without a return that counts:
				      pins are given up; default: 400 */
};

/* One a block, zeroed at first; index 0..blocks - 1. */
struct uvmp_cyclic_block {
	uint64_t left;	       /* number of the eviction by which it left, plus one; 0: never */
	uint32_t newer, older; /* neighbours among the pinned, plus one; 0: none */
	uint8_t rounds;	       /* returns in a row */
	bool is_pinned;
	bool is_away; /* evicted, not yet back */
};

struct uvmp_cyclic_state {
	struct uvmp_cyclic_block *block; /* caller's */
	uint32_t blocks;
	uint32_t capacity; /* blocks that memory holds */
	uint32_t pinned;
	uint32_t newest, oldest; /* plus one; 0: none */
	uint64_t evictions;
	uint64_t returned; /* evictions when last a return counted */
};

UVMP_API void uvmp_cyclic_params_init(struct uvmp_cyclic_params *params);
UVMP_API bool uvmp_cyclic_params_is_valid(const struct uvmp_cyclic_params *params);
/* O(blocks). UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE: no blocks, UINT32_MAX blocks. */
UVMP_API enum uvmp_status uvmp_cyclic_init(struct uvmp_cyclic_state *state, struct uvmp_cyclic_block *block,
					   uint32_t blocks, uint32_t capacity);
UVMP_API bool uvmp_cyclic_is_valid(const struct uvmp_cyclic_state *state);
/* The block was evicted (whole). A pinned one may be, if the host finds nothing else; its pin ends.
 * UVMP_ERR_ARGUMENT: NULL, not valid. UVMP_ERR_RANGE: no such block. UVMP_ERR_STATE: it is away already. */
UVMP_API enum uvmp_status uvmp_cyclic_evict(struct uvmp_cyclic_state *state, uint32_t block);
/* The block is resident again, by a fault on it or otherwise (prefetched): then it has returned, but
 * that is no return, and its rounds stay what they were. *is_pinned: it is to be kept
 * (state->block[].is_pinned says so too). A block that is not away changes nothing. Errors as above, and for
 * params. */
UVMP_API enum uvmp_status uvmp_cyclic_return(const struct uvmp_cyclic_params *params,
					     struct uvmp_cyclic_state *state, uint32_t block, bool is_fault,
					     bool *is_pinned);
/* The block was freed: its history is gone. Errors as above. */
UVMP_API enum uvmp_status uvmp_cyclic_free(struct uvmp_cyclic_state *state, uint32_t block);
/* Is a pin to be given up? The oldest one, if the circle stands still or more is pinned than allowed; *block
 * is UINT32_MAX if there is none. Call until then. Errors as above, and for params. */
UVMP_API enum uvmp_status uvmp_cyclic_release(const struct uvmp_cyclic_params *params,
					      struct uvmp_cyclic_state *state, uint32_t *block);

#ifdef __cplusplus
}
#endif
#endif
