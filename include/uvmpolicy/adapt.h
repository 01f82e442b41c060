/* adapt.h: controllers, which change the parameters of later decisions.
 *
 * A controller takes events of a run and returns parameters. No controller decides about a page. Each has its
 * own state and can be used without the others:
 *
 *   controller | result                                                                | source
 *   -----------|-----------------------------------------------------------------------|-------------------
 *   pattern    | access pattern of each allocation, and a verdict for the device       | DATE'21
 *   threshold  | density threshold from evictions and refaults                         | Allen and Ge 2021
 *   early      | density threshold from fault rates, per block and global              | Early-Adaptor 2023
 *   lifetime   | mean lifetime of pages, and premature evictions                       | ASPLOS'20
 *   threads    | extra thread blocks per SM, from the mean lifetime                    | ASPLOS'20
 *   throttle   | number of stopped SMs                                                 | ETC, ASPLOS'19
 *   etc        | which of ETC's three techniques fit the program                       | ETC, ASPLOS'19
 *   cyclic     | blocks to pin among those that are evicted and return in cycles       | CASES'20
 *
 * Memory belongs to the caller. Time is an argument and never decreases. A step costs O(1) unless stated
 * otherwise. `_params_init` sets the source's values, or values of this library if the source has none (the
 * .c files say which). `_is_valid` checks changed parameters.
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

/* Name as in the policy string ("pressure", "threads", ...); NULL for a value outside the enumeration. */
UVMP_API const char *uvmp_controller_name(enum uvmp_controller controller);

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

/* Verdict for the whole device. A verdict is never revoked. */
enum uvmp_pattern_verdict {
	UVMP_PATTERN_KEEP = 0,	     /* nothing changes */
	UVMP_PATTERN_EVICT_TREE = 1, /* evict by TBNe from now on */
	UVMP_PATTERN_REMOTE = 2	     /* TBNe, and remote access while memory is full (mode `oversub`) */
};

#define UVMP_PATTERN_NONE UINT64_MAX /* no kernel; a kernel without end; not a cycle */

/* A kernel whose window is still open. */
struct uvmp_pattern_kernel {
	uint64_t id;	 /* 0, 1, ... in order of launch */
	uint64_t launch; /* cycle */
	uint64_t last;	 /* cycle of its end, which belongs to it; UVMP_PATTERN_NONE while it runs */
};

/* An allocation. Cycles are stored plus one; 0 means "never". Private to the functions below. */
struct uvmp_pattern_data {
	uint32_t *block;  /* caller's, one entry per block of 64 KiB: was the block logged? */
	uint32_t blocks;  /* 0: no allocation at this index */
	uint32_t pending; /* chain of blocks logged in the present cycle while no kernel ran */
	uint32_t last_block;
	uint64_t last;	  /* latest record */
	uint64_t descent; /* first of the latest two records that run backwards */
	uint64_t repeat;  /* latest record of a block that was logged before */
	uint64_t linear;  /* first closed kernel with ascending records */
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

/* Starts an engine for up to `data_count` allocations and `open_max` (at least 1) concurrent kernels. If a
 * kernel may start in the cycle in which another ends, open_max must be one larger. Both arrays belong to the
 * caller and must outlive the engine. UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE: open_max or data_count is
 * 0. */
UVMP_API enum uvmp_status uvmp_pattern_init(struct uvmp_pattern_engine *engine,
					    struct uvmp_pattern_kernel *open, uint32_t open_max,
					    struct uvmp_pattern_data *data, uint32_t data_count);
UVMP_API bool uvmp_pattern_is_valid(const struct uvmp_pattern_engine *engine);

/* Sets index `data` to an allocation of `blocks` blocks of 64 KiB (rounded size) without history. `block` is
 * an array of `blocks` entries. With blocks 0 (block may then be NULL) the index becomes empty. O(blocks).
 * UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE: no such index, blocks above 2^32 - 4. */
UVMP_API enum uvmp_status uvmp_pattern_watch(struct uvmp_pattern_engine *engine, uint32_t data,
					     uint32_t *block, uint32_t blocks);

/* Reports the start of a kernel, the end of a kernel, and a block scheduled by TBNp or SL (the log holds
 * nothing else). Cycles never decrease over all three calls. Within a cycle only the order of the records
 * matters. The bounds of a kernel are inclusive: every record of the cycle of its launch or end belongs to
 * the kernel, even a record reported before the launch. A record may therefore belong to several kernels.
 * A caller that never reports an end reproduces [uvmsmart: kernels-never-end].
 *
 *   launch   O(1); if the cycle has records, O(data), and O(blocks of these records) once; O(open) if
 *            open_max kernels are open
 *   end      O(log open). The first event of a later cycle costs O(open), O(data) for each kernel that
 *            closes, and O(open) while other ended kernels are still to close
 *   record   O(1) amortised
 *
 * UVMP_ERR_ARGUMENT: NULL, engine not valid. UVMP_ERR_STATE: the cycle decreases; no such kernel, or the
 * kernel has ended. UVMP_ERR_RANGE: cycle UINT64_MAX; no such allocation or block. UVMP_ERR_SPACE: open_max
 * kernels are open. */
UVMP_API enum uvmp_status uvmp_pattern_launch(struct uvmp_pattern_engine *engine, uint64_t cycle,
					      uint64_t *id);
UVMP_API enum uvmp_status uvmp_pattern_end(struct uvmp_pattern_engine *engine, uint64_t id, uint64_t cycle);
UVMP_API enum uvmp_status uvmp_pattern_log(struct uvmp_pattern_engine *engine, uint64_t cycle, uint32_t data,
					   uint32_t block);

/* The pattern of one allocation over all kernels so far. UNDECIDED also for NULL, for an engine that is not
 * valid and for an index out of range. O(log open). */
UVMP_API enum uvmp_pattern uvmp_pattern_of(const struct uvmp_pattern_engine *engine, uint32_t data);
/* The verdict over all allocations, freed ones included. KEEP for NULL and for an engine that is not valid.
 * O(1). */
UVMP_API enum uvmp_pattern_verdict uvmp_pattern_decide(const struct uvmp_pattern_engine *engine);

/* -- prefetch threshold, the result of the controllers below ---------------------------------- */

struct uvmp_prefetch_setting {
	bool is_on;	    /* prefetch at all? */
	uint32_t threshold; /* density, percent, 1..100; 100 if off */
};

/* -- threshold: adaptive prefetching as Allen and Ge propose (section VI.B) --------------------- */

struct uvmp_threshold_params {
	bool is_off_when_full; /* managed memory above GPU memory: prefetch off, no tuning; default: false */
	uint32_t aggressive;   /* threshold while all data fits, and the lowest; 1..base; default: 1 */
	uint32_t base;	       /* threshold at which tuning starts, ..100; default: 51, the driver's */
	uint32_t step;	       /* percentage points, 1..100; default: 10 */
	uint32_t window;       /* faulted pages between two adjustments, 1..1048576; default: 1024 */
	uint32_t evicted_high; /* evicted pages per fault, 1..65536: from here, with refaults, raise the
				   threshold; default: 64 */
	uint32_t evicted_low;  /* below this, lower the threshold; 0..evicted_high; default: 8 */
	uint32_t refault_percent; /* of the faults, 1..100: below this, lower the threshold; default: 10 */
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
/* Adds `load` to the window and sets *setting from the threshold. managed_bytes above memory_bytes means that
 * the data does not fit. UVMP_ERR_ARGUMENT: NULL, params not valid. UVMP_ERR_RANGE: more refaults than
 * faults, or a state that these params cannot reach. */
UVMP_API enum uvmp_status uvmp_threshold_step(const struct uvmp_threshold_params *params,
					      const struct uvmp_threshold_load *load, uint64_t managed_bytes,
					      uint64_t memory_bytes, struct uvmp_threshold_state *state,
					      struct uvmp_prefetch_setting *setting);

/* -- early: threshold by fault rates, after Early-Adaptor's published idea --------------------- */

struct uvmp_early_params {
	uint64_t epoch_ns;	 /* interval of the rates, at least 1; default: 10 ms. Exact for up to 2^24
				   blocks and 2^40 faults per epoch. */
	uint32_t aggressive;	 /* threshold of a block with a high rate, 1..base; default: 26 */
	uint32_t base;		 /* threshold of a block near the mean; default: 51 */
	uint32_t cautious;	 /* threshold of a block with a low rate, base..100; default: 76 */
	uint32_t hot_percent;	 /* of the mean: from here a rate is high; cold_percent + 1..65535;
				   default: 150 */
	uint32_t cold_percent;	 /* of the mean: up to here a rate is low; default: 50 */
	uint32_t step;		 /* percentage points by which the global rate shifts all three, 1..99;
				   default: 10 */
	uint32_t change_percent; /* least change of the global rate that has an effect, 1..100; default: 10 */
};

/* One per block, zeroed at first. */
struct uvmp_early_block {
	uint64_t epoch;	 /* plus one; 0: never faulted */
	uint32_t faults; /* of that epoch; does not wrap */
	uint32_t before; /* of the epoch before; 0 if it had none */
};

struct uvmp_early_state {
	uint64_t epoch;			/* now_ns / epoch_ns */
	uint64_t faults, before;	/* of this epoch, of the last */
	uint64_t blocks, blocks_before; /* that faulted in this epoch, in the last */
	uint32_t shift;			/* percentage points, 0..99 */
	bool is_full;			/* this epoch had evictions */
	bool has_before;		/* at least one epoch has ended */
};

UVMP_API void uvmp_early_params_init(struct uvmp_early_params *params);
UVMP_API bool uvmp_early_params_is_valid(const struct uvmp_early_params *params);
/* Starts at now_ns. No effect for NULL or params that are not valid. */
UVMP_API void uvmp_early_init(const struct uvmp_early_params *params, uint64_t now_ns,
			      struct uvmp_early_state *state);
/* Counts the `faults` (at least 1) faulted pages of a block before its service, and sets *threshold for the
 * block. UVMP_ERR_ARGUMENT: NULL, params not valid. UVMP_ERR_RANGE: no faults. UVMP_ERR_STATE: now_ns lies in
 * an earlier epoch; within an epoch time may decrease. */
UVMP_API enum uvmp_status uvmp_early_fault(const struct uvmp_early_params *params,
					   struct uvmp_early_state *state, struct uvmp_early_block *block,
					   uint64_t now_ns, uint32_t faults, uint32_t *threshold);
/* Reports an eviction. Errors as above. */
UVMP_API enum uvmp_status uvmp_early_evict(const struct uvmp_early_params *params,
					   struct uvmp_early_state *state, uint64_t now_ns);

/* -- lifetime: how long pages stay (Kim et al., section 4.1) ----------------------------------- */

/* A page is the unit of allocation and eviction: 4 KiB, 64 KiB or a chunk. All times have the same unit,
 * which the caller chooses. */
struct uvmp_lifetime {
	uint64_t *page; /* caller's: 0 never resident, UINT64_MAX evicted, else time of allocation plus one */
	uint64_t pages;
	uint64_t sum, count; /* of the lifetimes; halved together before sum could overflow */
	uint64_t evictions;  /* all */
	/* Pages that faulted again after their eviction. In the engine with evict=lru a page is a root of
	 * 2 MiB, whichever block owns the root next. The count is then of roots filled by a fault after an
	 * eviction: under memory pressure nearly all roots. */
	uint64_t premature;
};

/* All pages not resident. O(pages). UVMP_ERR_ARGUMENT: NULL. */
UVMP_API enum uvmp_status uvmp_lifetime_init(struct uvmp_lifetime *lifetime, uint64_t *page, uint64_t pages);
/* The page becomes resident by a fault (is_fault) or a prefetch; is evicted; is freed or released by its
 * owner, which counts as no lifetime. UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE: no such page; an allocation
 * time above UINT64_MAX - 2 (an eviction may have any time). UVMP_ERR_STATE: allocate: resident already;
 * evict: not resident, or before its allocation time; free: never, also of a page that is not resident. */
UVMP_API enum uvmp_status uvmp_lifetime_allocate(struct uvmp_lifetime *lifetime, uint64_t page, uint64_t now,
						 bool is_fault);
UVMP_API enum uvmp_status uvmp_lifetime_evict(struct uvmp_lifetime *lifetime, uint64_t page, uint64_t now);
UVMP_API enum uvmp_status uvmp_lifetime_free(struct uvmp_lifetime *lifetime, uint64_t page);
/* Mean since the start, rounded down; 0 if nothing was evicted yet, or NULL. */
UVMP_API uint64_t uvmp_lifetime_mean(const struct uvmp_lifetime *lifetime);

/* -- threads: thread oversubscription (Kim et al., sections 4.1 and 5) -------------------------- */

struct uvmp_threads_params {
	uint64_t period;       /* time between two adjustments, at least 1; source: 100,000 cycles */
	uint32_t drop_percent; /* of the mean lifetime, 1..100: such a fall withdraws a block; source: 20 */
	uint32_t start;	       /* extra thread blocks per SM from the beginning, ..max; source: 1 */
	uint32_t max;	       /* most extra thread blocks; default: 2 (the source tries 2x and 3x) */
	bool is_each_period;   /* mean of the period's evictions alone; default: since the start */
};

struct uvmp_threads_state {
	uint64_t due;	     /* time of the next adjustment */
	uint64_t mean;	     /* mean lifetime at the last adjustment; 0: none yet */
	uint64_t sum, count; /* of uvmp_lifetime at the last adjustment */
	uint32_t runnable;   /* extra thread blocks of an SM that may be switched in */
	uint32_t allocated;  /* extra thread blocks allocated to an SM; never fewer than runnable */
};

UVMP_API void uvmp_threads_params_init(struct uvmp_threads_params *params);
UVMP_API bool uvmp_threads_params_is_valid(const struct uvmp_threads_params *params);
/* No effect for NULL. */
UVMP_API void uvmp_threads_init(const struct uvmp_threads_params *params, uint64_t now,
				struct uvmp_threads_state *state);
/* Adjusts state->runnable if a period has ended. Several periods without a call count as one.
 * UVMP_ERR_ARGUMENT: NULL, params not valid. UVMP_ERR_RANGE: runnable above params->max. */
UVMP_API enum uvmp_status uvmp_threads_step(const struct uvmp_threads_params *params,
					    const struct uvmp_lifetime *lifetime, uint64_t now,
					    struct uvmp_threads_state *state);

/* -- throttle: ETC's memory-aware throttling (Li et al., as Kim et al. describe it) --------------- */

enum uvmp_throttle_phase {
	UVMP_THROTTLE_IDLE = 0,	   /* not triggered: memory has not been full */
	UVMP_THROTTLE_INITIAL = 1, /* half of the SMs are stopped */
	UVMP_THROTTLE_DETECT = 2,
	UVMP_THROTTLE_EXECUTE = 3
};

struct uvmp_throttle_params {
	uint32_t sms;			   /* of the GPU, 1..65535; default: 16 (the source's) */
	uint32_t min_running;		   /* SMs that always run, 1..sms; default: 1 */
	uint32_t step;			   /* SMs throttled or released together, 1..65535; default: 1 */
	uint64_t initial, detect, execute; /* lengths, time, at least 1; default: 100,000, 20,000, 80,000 */
	uint32_t thrash_percent; /* refaults, of the faults of a detection epoch: throttle; default: 20 */
	uint32_t calm_percent;	 /* below this, release; 1..thrash_percent..100; default: 5 */
};

struct uvmp_throttle_state {
	uint64_t until;		   /* end of the phase */
	uint64_t faults, refaults; /* of this detection epoch */
	uint32_t throttled;	   /* stopped SMs */
	enum uvmp_throttle_phase phase;
};

UVMP_API void uvmp_throttle_params_init(struct uvmp_throttle_params *params);
UVMP_API bool uvmp_throttle_params_is_valid(const struct uvmp_throttle_params *params);
/* No effect for NULL. */
UVMP_API void uvmp_throttle_init(struct uvmp_throttle_state *state);
/* Adds the faults, refaults (faults on pages evicted before) and evicted pages since the last step, and sets
 * state->throttled. At most one phase ends per step. UVMP_ERR_ARGUMENT: NULL, params not valid.
 * UVMP_ERR_RANGE: more refaults than faults; more SMs throttled than these params allow. */
UVMP_API enum uvmp_status uvmp_throttle_step(const struct uvmp_throttle_params *params, uint32_t faults,
					     uint32_t refaults, uint32_t evicted, uint64_t now,
					     struct uvmp_throttle_state *state);

/* -- etc: techniques for a class of programs --------------------------------------------------------- */

enum uvmp_etc_class {
	UVMP_ETC_REGULAR = 0,	     /* no data shared between kernels */
	UVMP_ETC_REGULAR_SHARED = 1, /* data is used again */
	UVMP_ETC_IRREGULAR = 2
};

#define UVMP_ETC_EVICTION    1u /* proactive eviction */
#define UVMP_ETC_THROTTLING  2u
#define UVMP_ETC_COMPRESSION 4u

/* The class of a program: the worst class among the patterns of its allocations. REGULAR for NULL.
 * O(count). */
UVMP_API enum uvmp_etc_class uvmp_etc_classify(const enum uvmp_pattern *pattern, uint32_t count);
/* The techniques of a class, as a set of UVMP_ETC_*; all techniques for an unknown class. */
UVMP_API uint32_t uvmp_etc_techniques(enum uvmp_etc_class program);
/* Is a proactive eviction due? With UVMP_ETC_EVICTION, once fewer than `reserve_percent` (..100) of `total`
 * pages are free. False if free or the percentage is out of range. */
UVMP_API bool uvmp_etc_evicts_ahead(uint32_t techniques, uint64_t free, uint64_t total,
				    uint32_t reserve_percent);
/* Capacity of a memory of `bytes`: with compression `ratio_percent` (at least 100; less counts as 100) of
 * `bytes`, rounded down to pages of `page_bytes`; at most UINT64_MAX. 0 if page_bytes is 0. */
UVMP_API uint64_t uvmp_etc_capacity(uint32_t techniques, uint64_t bytes, uint32_t ratio_percent,
				    uint32_t page_bytes);

/* -- cyclic: pinning some of the blocks that are evicted and return in cycles (CASES'20) ------------- */

struct uvmp_cyclic_params {
	uint32_t rounds;	/* returns in a row that make a cycle, 1..255; default: 2 */
	uint32_t share_percent; /* of memory that may be pinned, 0..100; default: 75 */
	uint32_t reach_percent; /* of memory, 1..10000: a return counts if at most this much was evicted since
				   the block's eviction; default: 400 */
	uint32_t patience_percent; /* of memory, 1..10000: after evictions of this much without a return that
				      counts, pins are released; default: 400 */
};

/* One per block, zeroed at first; index 0..blocks - 1. */
struct uvmp_cyclic_block {
	uint64_t left;	       /* number of the block's last eviction, plus one; 0: never evicted */
	uint32_t newer, older; /* neighbours in the list of pinned blocks, plus one; 0: none */
	uint8_t rounds;	       /* returns in a row */
	bool is_pinned;
	bool is_away; /* evicted, not resident again yet */
};

struct uvmp_cyclic_state {
	struct uvmp_cyclic_block *block; /* caller's */
	uint32_t blocks;
	uint32_t capacity; /* blocks that memory holds */
	uint32_t pinned;
	uint32_t newest, oldest; /* plus one; 0: none */
	uint64_t evictions;
	uint64_t returned; /* evictions at the last return that counted */
};

UVMP_API void uvmp_cyclic_params_init(struct uvmp_cyclic_params *params);
UVMP_API bool uvmp_cyclic_params_is_valid(const struct uvmp_cyclic_params *params);
/* O(blocks). UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE: no blocks, UINT32_MAX blocks. */
UVMP_API enum uvmp_status uvmp_cyclic_init(struct uvmp_cyclic_state *state, struct uvmp_cyclic_block *block,
					   uint32_t blocks, uint32_t capacity);
UVMP_API bool uvmp_cyclic_is_valid(const struct uvmp_cyclic_state *state);
/* Reports the eviction of a whole block. A host that finds no other victim may evict a pinned block; the pin
 * then ends. UVMP_ERR_ARGUMENT: NULL, not valid. UVMP_ERR_RANGE: no such block. UVMP_ERR_STATE: the block is
 * evicted already. */
UVMP_API enum uvmp_status uvmp_cyclic_evict(struct uvmp_cyclic_state *state, uint32_t block);
/* Reports that the block is resident again. A fault (is_fault) counts as a return; a prefetch does not, and
 * keeps the block's rounds. *is_pinned: the block is pinned from now on (as state->block[].is_pinned). The
 * call has no effect on a block that was not evicted. Errors as above, and for params. */
UVMP_API enum uvmp_status uvmp_cyclic_return(const struct uvmp_cyclic_params *params,
					     struct uvmp_cyclic_state *state, uint32_t block, bool is_fault,
					     bool *is_pinned);
/* Reports that the block was freed; clears its history. Errors as above. */
UVMP_API enum uvmp_status uvmp_cyclic_free(struct uvmp_cyclic_state *state, uint32_t block);
/* Releases the oldest pin if the cycle has stopped or more is pinned than allowed, and stores its block.
 * *block is UINT32_MAX if no pin is released: repeat the call until then. Errors as above, and for params. */
UVMP_API enum uvmp_status uvmp_cyclic_release(const struct uvmp_cyclic_params *params,
					      struct uvmp_cyclic_state *state, uint32_t *block);

#ifdef __cplusplus
}
#endif
#endif
