/* counter.h: access counters. The driver's decisions come first, then those of UVM Smart.
 *
 * A GPU counts its accesses to memory of other processors and sends a notification when a counter passes the
 * threshold. The driver's decisions [driver: counter-service] have no state:
 *
 *   sizes that follow from the granularity                        [driver: counter-parameters]
 *   the pages that a group of notifications names                 [driver: counter-pages]
 *   the pages that may move                                       [driver: counter-policy]
 *   the notifications to clear, so that their counters notify     [driver: counter-service, counter-clear]
 *     again
 *
 * residency.h chooses the destination, with operation ACCESS_COUNTER and access PREFETCH. The driver ignores
 * the read-duplicate verdict and moves pages even if the policy would duplicate them
 * [driver: counter-ignores-duplication]. The host reproduces that rule, or heeds the verdict for the
 * corrected rule.
 *
 * In UVM Smart [uvmsmart: access-counting] the GPU itself counts accesses per basic block, and decides at
 * each miss whether to migrate the page or to access the page remotely.
 *
 * Quirks reproduced by default: [driver: notifications-drained] (with 4 KiB pages notifications are drained
 * and nothing is done), [driver: clears-first-notification] (for an unowned address the batch's first
 * notification is cleared, not the present one), [driver: trimmed-notifications] (the residency filter trims
 * pages of earlier notifications too); [uvmsmart: retry-counted] (a stalled access is counted at each retry)
 * and [uvmsmart: counter-overflow] (saturation is tested on the whole word, so a count can overflow into the
 * round trips, and these wrap).
 */
#ifndef UVMPOLICY_COUNTER_H
#define UVMPOLICY_COUNTER_H

#include "base.h"
#include "mask.h"
#include "pressure.h"
#include "processor.h"
#include "tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- configuration [driver: counter-parameters]
 * --------------------------------------------------------------------- */

enum uvmp_counter_granularity {
	UVMP_COUNTER_64K = 1,
	UVMP_COUNTER_2M = 2, /* the driver's */
	UVMP_COUNTER_16M = 3,
	UVMP_COUNTER_16G = 4
};

struct uvmp_counter_sizes {
	uint64_t sub_bytes;	    /* memory that one bit of a notification's sub-granularity stands for */
	uint64_t translation_bytes; /* memory that one notification can name, at most 2 MiB */
	uint32_t regions;	    /* bits of the sub-granularity that count, 1..32 */
};

/* UVMP_ERR_ARGUMENT: sizes is NULL. UVMP_ERR_RANGE: no such granularity. */
UVMP_API enum uvmp_status uvmp_counter_derive_sizes(enum uvmp_counter_granularity granularity,
						    struct uvmp_counter_sizes *sizes);

/* Are migrations by access counters on? `parameter` is uvm_perf_access_counter_migration_enable: 0 off, above
 * on, below (driver: -1) on if the system can address its memory through the GPU's ATS. */
UVMP_API bool uvmp_counter_is_enabled(int32_t parameter, bool has_ats);
/* Notifications per batch: `count` (driver: 256), at least 1, at most what the buffer holds. */
UVMP_API uint32_t uvmp_counter_max_batch(uint32_t count, uint32_t capacity);
/* Accesses before a counter notifies: `threshold` (driver: 256), limited to 1..65535. */
UVMP_API uint32_t uvmp_counter_threshold(uint32_t threshold);
/* Are notifications serviced? With quirks not for 4 KiB pages [driver: notifications-drained]; without quirks
 * always. False: drain the buffer, move nothing, clear nothing. page_bytes 0: 4096. */
UVMP_API bool uvmp_counter_is_serviced(uint32_t page_bytes, bool quirks);
/* Is a GPU mapped to pages that were evicted from it, so that its accesses are counted instead of faulting
 * [driver: remote-on-eviction]? `maps_on_eviction` is uvm_perf_map_remote_on_eviction (driver: true),
 * `is_enabled` what uvmp_counter_is_enabled says. */
UVMP_API bool uvmp_counter_maps_evicted(bool maps_on_eviction, bool is_enabled);

/* -- pages of a group [driver: counter-pages]
 * ------------------------------------------------------------------ */

/* A notification inside one VABlock. A group is a run of them for the same GPU and block. */
struct uvmp_counter_note {
	uint32_t page;		  /* of the block, 0..511 */
	uint32_t sub_granularity; /* bit k: the k-th region of sub_bytes in the 2 MiB was used */
};

struct uvmp_counter_facts {
	uint32_t gpu;				   /* GPU that sent the notifications; required */
	uint32_t page_bytes;			   /* 4096, 16384, 65536 or 2097152; 0: 4096 */
	enum uvmp_counter_granularity granularity; /* 0: UVMP_COUNTER_2M */
	bool quirks;
	uint64_t contiguous;	   /* set of processors on which the block lies in one chunk of 2 MiB; 0: each
				    * notification names its page alone */
	const uvmp_mask *resident; /* per processor of `processors`: pages of the block that it holds */
};

/* Stores the pages that `count` notifications name in *pages. A notification of a granularity other than
 * 2 MiB names no page, nor does a notification for a page without residency or on the GPU already. If the
 * closest holder has the block in one chunk, the pages of the sub-granularity are added, limited to pages
 * resident on that holder. With quirks the limit applies to all pages gathered so far
 * [driver: trimmed-notifications], without quirks to the pages of this notification. `pages` must not be a
 * mask of facts->resident. O(count * processors). UVMP_ERR_ARGUMENT: NULL (notes may be NULL if count is 0),
 * or processors not valid. UVMP_ERR_RANGE: gpu is no GPU of `processors`, page size or granularity out of
 * range, or a page beyond the 2 MiB of a block. */
UVMP_API enum uvmp_status uvmp_counter_expand(const struct uvmp_processors *processors,
					      const struct uvmp_counter_facts *facts,
					      const struct uvmp_counter_note *notes, uint32_t count,
					      uvmp_mask *pages);

/* -- which of them may move [driver: counter-policy]
 * ------------------------------------------------------------ */

struct uvmp_counter_block {
	bool is_mapped;		    /* the GPU is mapped in the block; false: nothing moves */
	const uvmp_mask *resident;  /* pages that the GPU holds */
	const uvmp_mask *fixed;	    /* may not move: range group, HMM without mapping; NULL: none */
	const uvmp_mask *throttled; /* pages with the hint THROTTLE; NULL: none */
};

/* to = the pages of `from` that may move and need a destination. to may be from, but no mask of `block`.
 * UVMP_ERR_ARGUMENT: NULL, unless the field allows it. */
UVMP_API enum uvmp_status uvmp_counter_filter(uvmp_mask *to, const uvmp_mask *from,
					      const struct uvmp_counter_block *block);

/* After the choice of destinations: removes the pages of resident[p] from each to[p], p < count. Stores the
 * set of processors that receive pages, and the bounding region of these pages. An empty set means that no
 * service is needed. UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE: count above UVMP_PROCS_MAX. */
UVMP_API enum uvmp_status uvmp_counter_settle(uvmp_mask *to, const uvmp_mask *resident, uint32_t count,
					      uint64_t *processors, struct uvmp_region *region);

/* -- clearing notifications [driver: counter-service, counter-clear]
 * -------------------------------------------------------------- */

/* The owner of a notification's address. */
enum uvmp_counter_place {
	UVMP_COUNTER_NO_SPACE = 0, /* no VA space */
	UVMP_COUNTER_GPU_OFF,	   /* no GPU VA space, or migrations are off in the VA space */
	UVMP_COUNTER_BLOCK,	   /* managed range with a block: a group */
	UVMP_COUNTER_NO_BLOCK,	   /* managed range without a block at the address */
	UVMP_COUNTER_OTHER_RANGE,  /* a range that is not managed */
	UVMP_COUNTER_ATS,	   /* no range, but ATS: a group */
	UVMP_COUNTER_ATS_CDMM,	   /* the same in a system that keeps GPU memory off the kernel's lists */
	UVMP_COUNTER_HMM,	   /* no range, but an HMM block */
	UVMP_COUNTER_NOWHERE	   /* no owner */
};

enum uvmp_counter_clear {
	UVMP_COUNTER_CLEAR_NONE = 0,
	UVMP_COUNTER_CLEAR_GROUP, /* every notification of the group (ATS: of each migrated page) */
	UVMP_COUNTER_CLEAR_THIS,  /* the present notification */
	UVMP_COUNTER_CLEAR_FIRST  /* the first notification of the batch, even for another address
				   * [driver: clears-first-notification] */
};

/* What to clear once the notification, or its group, has been serviced with `result`. A group is cleared
 * even if no page moved. After an error nothing is cleared, and the batch ends. NONE for unknown places. */
UVMP_API enum uvmp_counter_clear uvmp_counter_clears(enum uvmp_counter_place place, enum uvmp_status result,
						     bool quirks);

/* Does one clear reset all counters? Only on devices of the GB100 kind with several notification buffers, if
 * any tag has bit 0 set. Otherwise notifications are cleared one by one, by tag. False if tags is NULL.
 * O(count). */
UVMP_API bool uvmp_counter_clears_all(const uint32_t *tags, uint32_t count, bool is_gb100, uint32_t buffers);

/* -- UVM Smart: access counters of a tree [uvmsmart: counter-register, access-counting, round-trips]
 * ----------------------------- */

#define UVMP_COUNTER_COUNT_MAX	0x7ffffffu /* 27 bits of a leaf: accesses */
#define UVMP_COUNTER_ROUNDS_MAX 31u	   /* the 5 bits above them: round trips */

/* Kinds of access to a node's memory since the start: bits of uvmp_counter_tree_marks. */
#define UVMP_COUNTER_READ    1u
#define UVMP_COUNTER_WRITTEN 2u

/* The counters of one tree of basic blocks (tree.h; nodes in the same order). A leaf holds accesses and
 * round trips (evicted and back), an inner node a plain count of the accesses below it. Counts are
 * historic: neither migration nor eviction clears them; init again at a device synchronisation. */
struct uvmp_counter_tree {
	uint32_t blocks;      /* 1, 2, 4, 8, 16 or 32 */
	uint32_t blocks_read; /* bit b: block b was read */
	uint32_t blocks_written;
	uint32_t node[UVMP_TREE_NODES_MAX];
};

/* All zero. UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE: blocks is not one of 1, 2, 4, 8, 16, 32. */
UVMP_API enum uvmp_status uvmp_counter_tree_init(struct uvmp_counter_tree *tree, uint32_t blocks);
UVMP_API bool uvmp_counter_tree_is_valid(const struct uvmp_counter_tree *tree);

/* All functions below treat a tree that is NULL or not valid as a tree without blocks. */

/* Fields of a leaf; 0 for a block outside the tree. */
UVMP_API uint32_t uvmp_counter_tree_count(const struct uvmp_counter_tree *tree, uint32_t block);
UVMP_API uint32_t uvmp_counter_tree_rounds(const struct uvmp_counter_tree *tree, uint32_t block);

/* The whole word of the node over the blocks [first, first + blocks). The word of a leaf includes the round
 * trips: the least-frequently-used order compares it in a tree of one block [uvmsmart: eviction-list]. 0 if
 * there is no such node. */
UVMP_API uint32_t uvmp_counter_tree_word(const struct uvmp_counter_tree *tree, uint32_t first,
					 uint32_t blocks);
/* UVMP_COUNTER_READ and _WRITTEN of that node; 0 if there is no such node. */
UVMP_API uint32_t uvmp_counter_tree_marks(const struct uvmp_counter_tree *tree, uint32_t first,
					  uint32_t blocks);

/* Clears the marks of a block that was evicted. UVM Smart never clears marks [uvmsmart: written-mark-stays]:
 * call this function for the corrected rule only. No effect outside the tree. */
UVMP_API void uvmp_counter_tree_clear_marks(struct uvmp_counter_tree *tree, uint32_t block);

/* Reports the start of a write-back of the tree: adds one round trip to every leaf [uvmsmart: round-trips].
 * After 31 the count wraps to 0; without quirks it stays at 31 [uvmsmart: counter-overflow]. O(blocks). */
UVMP_API void uvmp_counter_tree_round_trip(struct uvmp_counter_tree *tree, bool quirks);

struct uvmp_counter_access {
	uint32_t tree;	/* index of the tree accessed */
	uint32_t block; /* of the tree */
	bool is_write;
	bool is_retry; /* the access was looked up before, and stalled; counted again with quirks only
		        * [uvmsmart: retry-counted] */
};

/* Records one load or store, local, remote or faulting [uvmsmart: access-counting]: sets the marks, and adds
 * one access to each node from the root to the leaf. If the leaf is saturated, all trees are halved first.
 * With quirks only a leaf without round trips can saturate [uvmsmart: counter-overflow]. O(log blocks); at
 * most every 2^26th access O(count). UVMP_ERR_ARGUMENT: NULL, or the tree is not valid. UVMP_ERR_RANGE: no
 * such tree or block. */
UVMP_API enum uvmp_status uvmp_counter_record(struct uvmp_counter_tree *trees, uint32_t count,
					      const struct uvmp_counter_access *access, bool quirks);
/* Halves the counts of leaves and the words of inner nodes of all trees; round trips stay. No effect on trees
 * that are not valid. O(count). */
UVMP_API void uvmp_counter_halve(struct uvmp_counter_tree *trees, uint32_t count);

/* -- UVM Smart: migrate, or access remotely? [uvmsmart: migrate-or-remote]
 * --------------------------------- */

enum uvmp_remote {
	UVMP_REMOTE_OFF = 0,  /* every miss migrates */
	UVMP_REMOTE_ADAPTIVE, /* the threshold grows with memory occupancy; once over-subscribed, with the
			       * round trips of the block */
	UVMP_REMOTE_ALWAYS,   /* migrate after `threshold` accesses */
	UVMP_REMOTE_OVERSUB,  /* ALWAYS, but only once memory is over-subscribed */
	UVMP_REMOTE_AUTO,     /* decides by notifications instead, see uvmp_remote_pays */
	UVMP_REMOTE_COUNT
};

/* "off", "adaptive", "always", "oversub", "auto"; NULL for a value outside the enumeration. */
UVMP_API const char *uvmp_remote_name(enum uvmp_remote remote);

struct uvmp_remote_params {
	enum uvmp_remote remote;
	uint32_t threshold; /* accesses; shipped configuration: 8 */
	uint32_t penalty;   /* ADAPTIVE: factor per round trip; shipped: 2; 2^20 pins, 0 migrates at once */
};

/* OFF, threshold 8, penalty 2. No effect for NULL. */
UVMP_API void uvmp_remote_params_init(struct uvmp_remote_params *params);

struct uvmp_remote_facts {
	uint32_t count;	 /* of the block's leaf, this access counted */
	uint32_t rounds; /* round trips of the leaf, 0..31 */
	bool is_write;
	bool is_oversubscribed;	       /* uvmp_pressure_is_over was true since the last synchronisation */
	struct uvmp_pressure pressure; /* required in every mode; leaving_pages without the write in
					* flight */
};

struct uvmp_remote_verdict {
	bool migrates;	    /* false: access remotely */
	uint64_t threshold; /* least count that migrates, all else equal; 0: any count */
};

/* Decides a page-walk miss that no request in flight will resolve. A store always migrates. O(1).
 * UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE: no such mode, AUTO, rounds, or pressure not valid (checked in
 * every mode). */
UVMP_API enum uvmp_status uvmp_remote_decide(const struct uvmp_remote_params *params,
					     const struct uvmp_remote_facts *facts,
					     struct uvmp_remote_verdict *verdict);

/* -- auto: when do evicted pages return? ---------------------------------------------------------
 *
 * A GPU is mapped to the pages that it lost by eviction, and uses them across the link. Its access counters
 * notify. The block reaches its limit when the accesses have cost half of what moving its pages costs (ski
 * rental). If it then migrates,
 *
 *   remote accesses + move <= 1.5 * move + one notification        for each return of a block
 *
 * compared with moving the pages at once. Pages that are used less stay, and cost their accesses only.
 *
 * Until memory has been full, each block that reaches its limit migrates. After that, pages that return push
 * out others. That pays only if they are used more than those, which no driver sees. A program that goes
 * through more data than fits uses all of them alike, and each exchange is in vain. So then one of
 * UVMP_REMOTE_CHOICES blocks migrates, in the mean. The caller sets `spent` of the others to 0. A block that
 * is used often is soon chosen. The choice is drawn: no order of accesses keeps the same block on the CPU.
 * A block reaches its limit UVMP_REMOTE_CHOICES times in the mean before it returns, each time with up to one
 * notification more; there is no upper bound. */

#define UVMP_REMOTE_PARTS	16u  /* of 2 MiB: 128 KiB each */
#define UVMP_REMOTE_ACCESSES	128u /* a unit of `spent`: accesses of 128 bytes, as long as 4 pages */
#define UVMP_REMOTE_FAULT_PAGES 12u  /* a block service costs as much as copying so many pages of 4 KiB */
#define UVMP_REMOTE_CHOICES	10u  /* blocks at their limit for each one that returns to a full memory */

/* The accesses of one GPU to the pages of a VABlock on other processors. All zero: none so far. */
struct uvmp_remote_use {
	uint16_t parts; /* bit b: the b-th 128 KiB of the block was used since the last uvmp_remote_moved */
	uint8_t spent;	/* accesses since then or the last draw; unit: UVMP_REMOTE_ACCESSES; at most 255 */
};

/* Adds notifications: `accesses`, a part of UVMP_REMOTE_ACCESSES counts as a whole one, to the parts in the
 * set `parts`. No effect for NULL. O(1). */
UVMP_API void uvmp_remote_add(struct uvmp_remote_use *use, uint32_t parts, uint64_t accesses);
/* Has the block reached its limit, if its used pages have so many bytes, at most 2 MiB? False for NULL and
 * for 0 bytes. O(1). */
UVMP_API bool uvmp_remote_pays(const struct uvmp_remote_use *use, uint32_t bytes);
/* They have migrated: counts from zero. No effect for NULL. O(1). */
UVMP_API void uvmp_remote_moved(struct uvmp_remote_use *use);

/* Once memory has been full: does a block for which uvmp_remote_pays is true return? True for one of
 * UVMP_REMOTE_CHOICES calls, in the mean. `draws` is the state of the draw: 0 at first, then as the last call
 * left it. True for NULL. O(1). */
UVMP_API bool uvmp_remote_is_chosen(uint64_t *draws);

/* -- auto: do pages begin on the CPU? -------------------------------------------------------------
 *
 * Once memory is full, the first fault of a GPU in a VABlock may map the pages where they are, instead of
 * moving them. Their accesses then decide as above. An allocation whose pages return anyway pays half a move
 * in addition, so the pages of its next UVMP_REMOTE_GAP blocks move at once. Then blocks are mapped again to
 * see whether this has changed. */

#define UVMP_REMOTE_TRIAL_PAGES 512u /* pages of 4 KiB that may return before a trial fails */
#define UVMP_REMOTE_GAP		64u  /* blocks that move at once between two trials */

/* The first faults of one allocation. All zero: none so far. */
struct uvmp_remote_start {
	uint32_t mapped;   /* pages of 4 KiB that a first fault has mapped on the CPU */
	uint32_t returned; /* of these, pages that have returned */
	uint32_t left;	   /* blocks that still move before the next trial, below UVMP_REMOTE_GAP */
};

/* A first fault in a block whose pages on the CPU have so many bytes, once memory is full. True: they are
 * mapped where they are. True for NULL. O(1). */
UVMP_API bool uvmp_remote_begins(struct uvmp_remote_start *start, uint32_t bytes);
/* So many bytes of pages that a first fault had mapped on the CPU have returned. No effect for NULL. O(1). */
UVMP_API void uvmp_remote_returned(struct uvmp_remote_start *start, uint32_t bytes);

#ifdef __cplusplus
}
#endif
#endif
