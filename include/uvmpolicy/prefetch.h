/* prefetch.h: which pages are fetched with the faulted pages?
 *
 * A decision looks at one VABlock (for the UVM Smart family: one tree) of at most 512 pages, at the pages
 * of it that faulted and at those that are there already, and names the pages to fetch with them.
 *
 *   uvmp_prefetch_decide()    any prefetcher, chosen by params->prefetcher
 *   uvmp_prefetch_check()     why uvmp_prefetch_decide refuses its arguments, in words
 *   uvmp_prefetch_left()      pages were evicted, for prefetchers that learn from that
 *   uvmp_prefetch_touched()   a resident page was accessed, likewise
 *   uvmp_prefetch_groups()    the pages to fetch, cut into transfers, in transfer order
 *
 * [driver: stale-prefetch-mask], the stale prefetch mask that labels the causes of a migration, is the
 * host's: no decision depends on it.
 *
 * docs/policies.md, "Adding a prefetcher", lists the files of a new prefetcher.
 */
#ifndef UVMPOLICY_PREFETCH_H
#define UVMPOLICY_PREFETCH_H

#include "base.h"
#include "geometry.h"
#include "mask.h"
#include "tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every prefetcher, as ROW(CONSTANT, name). prefetch_NAME.c defines it; a new prefetcher is one file and
 * one row. */
#define UVMP_PREFETCHERS(ROW)                                                                                \
	ROW(NONE, none)		    /* demand paging: nothing else */                                        \
	ROW(DENSITY, density)	    /* the NVIDIA driver: largest subtree above a threshold of density */    \
	ROW(TBN, tbn)		    /* UVM Smart: tree-based neighbourhood, subtrees above half */           \
	ROW(SL, sl)		    /* UVM Smart: sequential-local, the rest of each faulting basic block */ \
	ROW(RANDOM, random)	    /* one random 4 KiB page of the tree beside each faulting page */        \
	ROW(SEQUENTIAL, sequential) /* Zheng et al.: the range from first page to last */                    \
	ROW(LOCALITY, locality)	    /* Zheng et al.: 128 consecutive pages from the faulting one */          \
	ROW(BLOCK, block)	    /* the whole VABlock */                                                  \
	ROW(STRIDE, stride)	    /* the next pages of a stride that repeats */                            \
	ROW(NEXT, next)		    /* Rhee et al.: density, and the next blocks once this one is full */    \
	ROW(PATTERN, pattern)	    /* CPPE: what was touched before the eviction, else density */           \
	ROW(SAFE, safe)		    /* SAFE: density, its threshold by how many uTLBs share the block */     \
	ROW(FOREST, forest)	    /* Forest: trees that fit how each range was accessed */                 \
	ROW(AUTO, auto)		    /* whole blocks or parts of them, by what each range costs */            \
/* a new row goes above this line */

/* UVMP_PREFETCH_NONE (0), UVMP_PREFETCH_DENSITY, ... in the order of the list. UVMP_PREFETCH_PLUGIN: a
 * prefetcher that is not of the library, params->plugin (plugin.h). */
enum uvmp_prefetcher {
#define UVMP_PREFETCHER_VALUE(CONSTANT, name) UVMP_PREFETCH_##CONSTANT,
	UVMP_PREFETCHERS(UVMP_PREFETCHER_VALUE)
#undef UVMP_PREFETCHER_VALUE
		UVMP_PREFETCH_COUNT,
	UVMP_PREFETCH_PLUGIN = 63
};

/* Name as in the policy string ("none", "density", "tbn", ...); NULL for a value outside the list. */
UVMP_API const char *uvmp_prefetch_name(enum uvmp_prefetcher prefetcher);

enum uvmp_grouping {
	UVMP_GROUPING_BY_CAUSE = 0,	/* driver: runs of pages with one cause, demand or prefetch */
	UVMP_GROUPING_RUN_TO_FAULT = 1, /* UVM Smart [uvmsmart: transfer-split]: a run is cut behind each
					 * faulting page */
	UVMP_GROUPING_SINGLE = 2	/* UVM Smart, demand paging and random [uvmsmart: on-demand,
					 * random-page]: every page by itself. A page that random moves twice
					 * [uvmsmart: random-page-twice] is one group: masks cannot say it
					 * twice */
};

#define UVMP_PREFETCH_STATE_MAX 1040u

/* What engine and hosts know of a prefetcher. */
struct uvmp_prefetch_traits {
	enum uvmp_grouping grouping; /* how pages that arrive are cut into transfers */
	bool is_driver;	    /* decides as the driver does: for the CPU, too, and about pages that fault
			     * although they are there. The others decide for GPUs, about pages that are
			     * absent */
	bool is_off;	    /* never prefetches: need not be asked */
	bool may_repeat;    /* may be asked again about the same faults, as the driver asks after an eviction.
			     * The others have counted them in their state */
	bool has_tree;	    /* needs state->tree */
	bool walks_ranges;  /* goes on in other blocks of the range (hint->follow) */
	bool has_one_gpu;   /* its state of a range knows one GPU only */
	bool has_threshold; /* controllers (adapt.h) may change params->threshold */
	bool has_random;    /* needs state->random */
	bool has_touches;   /* reads which pages were touched before their eviction (uvmp_prefetch_left) */
	bool has_utlbs;	    /* reads facts->utlbs */
	/* Bytes of private state, zeros at first, aligned to 8, at most UVMP_PREFETCH_STATE_MAX; 0: none. The
	 * caller gives them in struct uvmp_prefetch_state. */
	uint16_t block_bytes;	  /* of each block, */
	uint16_t range_bytes;	  /* of each range, */
	uint16_t processor_bytes; /* of each processor that pages are prefetched to */
	bool counts_touches;	  /* learns from each access to a resident page */
	bool has_kernels;	  /* learns where a kernel begins */
	bool has_neighbour;	  /* reads facts->neighbour_pages and neighbour_present */
	bool has_memory;	  /* reads facts->memory, and learns from evictions (uvmp_prefetch_left) */
};

struct uvmp_prefetch_params {
	enum uvmp_prefetcher prefetcher;
	uint32_t threshold;	    /* density: percent, 0..100 (1..100 without quirks); driver: 51 */
	uint32_t min_faults;	    /* density: 1..20; driver: 1 */
	uint32_t sequential_pages;  /* sequential: pages per decision, 1..512; default 1 */
	uint32_t locality_pages;    /* locality: the faulting page and those behind, 1..512; default 128 */
	uint32_t stride_depth;	    /* stride: pages ahead, 1..64; default 4 */
	uint32_t stride_confidence; /* stride: how often a stride must have been seen, 1..7; default 2 */
	uint32_t next_blocks;	    /* next: blocks to fetch, 1..8; default 2 */
	uint32_t next_percent;	    /* next: with so much of its pages a block is full, 1..100; default 90 */
	uint32_t shared_utlbs;	    /* safe: uTLBs from which a block is shared, 2..4096; default 2 */
	uint32_t shared_threshold;  /* safe: `threshold` for shared blocks, 1..100; default 1 (all of it) */
	uint32_t private_threshold; /* safe: for the others, 1..100; default 99 (the faulting big pages) */
	uint32_t forest_window;	   /* forest: accesses to a range that are judged, 16..65535; default 10000 */
	uint32_t forest_linear;	   /* forest: R^2 of linear ranges, percent, 1..99; default 80 */
	uint32_t forest_coverage;  /* forest: of the range, percent, 1..100; default 60 */
	uint32_t forest_intensity; /* forest: of its pages, percent, 1..100; default 40 */
	uint32_t forest_rounds;	   /* forest: windows of a kernel, 1..255; default 10 */
	uint32_t auto_ahead;	   /* auto: blocks ahead of a stream of faults, at most, 0..8; default 4 */
	uint32_t auto_batch;	   /* auto, replay=batch_flush: most raw faults of a batch that follows a full
				    * batch in one block, 0..1024; default 16; 0: no such limit */
	uint32_t auto_chain;	   /* auto, replay=batch_flush: while all data fit, after a full batch that
				    * needed pages, the next one follows without a replay, 0..1; default 1 */
	uint32_t auto_fault;	   /* auto: cost of a service, pages of 4 KiB, 0..256; default 0: 12 */
	uint32_t auto_gap;	   /* auto: block stays from probe to probe, at most, 0..255; default 64 */
	uint32_t auto_price;	   /* auto: highest price of a page, in copies of it, 1..16; default 8 */
	uint32_t auto_threshold;   /* auto: `threshold` of sparse ranges, 0..100; default 0: 99, or 100
				    * where memory has frames of single pages */
	bool quirks;		   /* density, and next, pattern, safe, forest and auto, which use it */
	const struct uvmp_prefetch_plugin *plugin; /* UVMP_PREFETCH_PLUGIN only; NULL for the others */
	uint32_t value[UVMP_PLUGIN_VALUES_MAX];	   /* of its parameters; 0 for the others */
};

/* NULL for a value outside the list. */
UVMP_API const struct uvmp_prefetch_traits *uvmp_prefetch_traits_of(enum uvmp_prefetcher prefetcher);

/* The defaults above, with `prefetcher` and quirks on. uvmp_prefetch_params_init_plugin (plugin.h): those of
 * a plugin. */
UVMP_API void uvmp_prefetch_params_init(struct uvmp_prefetch_params *params, enum uvmp_prefetcher prefetcher);
/* Are all parameters in range, also those of other prefetchers? uvmp_prefetch_check says which one is not. */
UVMP_API bool uvmp_prefetch_params_is_valid(const struct uvmp_prefetch_params *params);

/* The memory of the destination. All zero: not known. */
struct uvmp_prefetch_memory {
	uint64_t pages;		/* that it holds; 0: not known */
	uint64_t evicted_pages; /* from it so far */
	uint32_t frame_pages;	/* of a frame, which takes room whole; 0: not known */
	/* all ranges fit in the memory of all GPUs, and no GPU's memory has been full; false: not so, or
	 * not known */
	bool fits;
};

/* What is known at the time of the decision. Masks are in pages of the block; NULL masks read as empty
 * unless the comment says otherwise; they may be the `pages` of the hint that the decision fills.
 *
 * All fields that are not required may stay 0: no preferred location, nothing resident, no limits, and what
 * the comments say. Required are `block`, `faulted`, and with is_hmm max_region. `to` 0 is the CPU.
 *
 * Out of range (UVMP_ERR_RANGE): a bit beyond block.pages in any mask; a `to` that is no processor; a
 * preferred that is no processor, or that names one without has_preferred; an empty `faulted` or a bad
 * faulted_region (both accepted with is_follow); a bad max_region (with is_hmm) or range group, where a bad
 * region is one that is reversed, empty (but for a faulted_region of 0, 0) or reaches beyond the block; a
 * block that is not in its range, for prefetchers with the trait walks_ranges; is_follow for any prefetcher
 * without that trait. */
struct uvmp_prefetch_facts {
	struct uvmp_block block;
	const uvmp_mask *faulted;	   /* pages about to move to `to` because they faulted; required */
	struct uvmp_region faulted_region; /* the service region. 0, 0: uvmp_mask_bounds of faulted */
	const uvmp_mask *resident;	   /* on `to`; NULL also if `to` has no state in this block */
	const uvmp_mask *pending;	   /* on their way to `to` (simulators; the driver has none) */
	uint32_t to;			   /* destination processor, 0..63; 0 is the CPU */

	/* the driver's policy (density, and those that use it; stride and what next fetches of other blocks
	 * and pattern of the old one keep to preferred, thrashing and range groups only) */
	bool has_preferred;		  /* the pages have a preferred location: `preferred` */
	uint32_t preferred;		  /* processor; without has_preferred 0 or UVMP_PROC_NONE */
	bool is_first_touch;		  /* no page of the block is resident anywhere */
	bool is_hmm;			  /* the block belongs to system memory (HMM), to no managed range */
	struct uvmp_region max_region;	  /* HMM: part of the block that may be prefetched, faults outside it
					   * attract nothing; required. Managed: ignored, all of it */
	bool is_confidential;		  /* confidential computing */
	const uvmp_mask *thrashing;	  /* thrashing pages; NULL: there is no such mask */
	const uvmp_mask *cpu_resident;	  /* confidential computing, `to` is a GPU: resident on the CPU */
	const uvmp_mask *cpu_read_mapped; /* `to` is the CPU: pages that it has mapped for reading */
	/* range groups that overlap the block, cut at it, [range_groups]; NULL if none */
	const struct uvmp_region *range_group;
	uint32_t range_groups;

	uint32_t utlbs; /* safe: distinct uTLBs that faulted on the block; 0: not known, also for the
			 * others */

	/* where the block lies in its range (sequential, locality, stride, next, forest, auto) */
	uint64_t range_first; /* page of the range that is page 0 of the block */
	uint64_t range_pages; /* pages of the whole range; >= range_first + block.pages. 0: the range is
			       * this block alone (range_first is then 0) */
	bool is_follow;	      /* asked because an earlier hint's `follow` said so. `faulted` then holds the
			       * pages of this block that fault in the same batch (they are left out), usually
			       * none; faulted_region is ignored */

	/* forest: the block of the same range that shares the aligned window of two VABlocks */
	uint32_t neighbour_pages;   /* of that block; 0: the range has no such block */
	uint32_t neighbour_present; /* of these, resident on `to` */

	struct uvmp_prefetch_memory memory; /* auto: of `to`; zeros if it is not known, or the CPU's */
};

#define UVMP_PAGE_NONE (~(uint64_t)0)

/* Per block. Start with uvmp_prefetch_state_init, then set the pointers that the prefetcher needs. */
struct uvmp_prefetch_state {
	/* density, and next, pattern, safe, forest and auto, which use it: */
	uint32_t last_proc; /* destination of the last call, starts at UVMP_PROC_NONE */
	uint16_t faults;    /* faulted pages handed over for last_proc ([driver: fault-count-wraps]: wraps
			     * at 65536) */
	/* tbn, sl: required; covers the block: 16 * blocks >= block.pages. none, random: kept up to date if
	 * there is one [uvmsmart: prefetch-batch], for an eviction that uses it. The others leave the tree
	 * alone: a host that switches prefetchers brings it up to date with uvmp_tree_assign. */
	struct uvmp_tree *tree;
	uint64_t *random; /* random: required, the generator's state */
	/* Private states of the prefetcher, as its traits say. A caller that switches prefetchers gives each
	 * its own. */
	void *block;	 /* block_bytes; NULL: the prefetcher decides as for a block without past */
	void *range;	 /* range_bytes, shared by the blocks of the range; required */
	void *processor; /* processor_bytes, of facts->to; required */
};

UVMP_API void uvmp_prefetch_state_init(struct uvmp_prefetch_state *state);
/* last_proc is a processor or UVMP_PROC_NONE; the tree is valid if there is one. */
UVMP_API bool uvmp_prefetch_state_is_valid(const struct uvmp_prefetch_state *state);

/* Which rule of preset=auto decided. */
enum uvmp_rule {
	UVMP_RULE_NONE, /* another policy */
	/* prefetch=auto: what a fault brings */
	UVMP_RULE_FITS,		/* nothing has been evicted: whole blocks */
	UVMP_RULE_WHOLE,	/* whole blocks are the cheapest in this range, */
	UVMP_RULE_DENSE,	/* or subtrees above `threshold`, */
	UVMP_RULE_SPARSE,	/* or those above `auto_threshold` */
	UVMP_RULE_PROBE_DENSE,	/* a probe: what do subtrees above `threshold` cost here, */
	UVMP_RULE_PROBE_SPARSE, /* or those above `auto_threshold`? */
	UVMP_RULE_REST,		/* parts of the block have cost as much as all of it */
	UVMP_RULE_AHEAD,	/* faults go through the range block after block, or begin with its first
				 * one: before the block faults */
	/* remote=auto: why pages of a block return */
	UVMP_RULE_LIMIT,    /* accesses across the link have cost the limit, and memory has never been full */
	UVMP_RULE_DRAWN,    /* they have cost the limit, memory has been full, and the block was drawn */
	UVMP_RULE_IDLE,	    /* the pages take the place of an idle allocation */
	UVMP_RULE_EXPECTED, /* the allocation is expected to be used for more than a round */
	/* remote=auto: why notified pages stay */
	UVMP_RULE_BELOW,     /* accesses across the link have cost less than the limit */
	UVMP_RULE_NOT_DRAWN, /* they have cost the limit, and the block was not drawn */
	/* remote=auto: why a first fault maps the pages of its block on the CPU */
	UVMP_RULE_FULL,	 /* the first fault came after memory had been full */
	UVMP_RULE_SHORT, /* the first fault came in a memory that will be full */
	UVMP_RULE_COUNT
};

/* A decision of a prefetcher with the trait walks_ranges may concern other blocks of the range than the one
 * that faulted. The caller goes on like this, at once and before any other decision of the range:
 *   decide for the block with the faults
 *   while hint->follow != UVMP_PAGE_NONE:
 *     note hint->pages (and that they are pending from now on)
 *     decide for the block that holds page hint->follow of the range, with its facts and is_follow set
 * The first follow-up decision may concern a block before the faulting block (sequential, stride). Each
 * further decision concerns a later block than the previous one (descending stride: an earlier block). The
 * number of follow-up decisions is at most the number of blocks of the range (sequential), the number of
 * blocks that locality_pages reach (locality), stride_depth (stride), next_blocks (next), 1 (forest) or
 * auto_ahead + 5 (auto). */
struct uvmp_prefetch_hint {
	uvmp_mask pages;    /* pages to fetch beside the faulted ones */
	uint32_t to;	    /* where to; UVMP_PROC_NONE: prefetch nothing, ignore `pages` (all but
				* density: `pages` is empty then) */
	uvmp_mask subtrees; /* where the chosen subtrees begin and end, see uvmp_prefetch_subtree; empty: the
				* prefetcher chose no subtrees */
	uint64_t follow;    /* page of the range whose block should be asked next, see below; UVMP_PAGE_NONE:
			     * no more */
	uint32_t basic_blocks; /* tbn, sl: set of basic blocks (bit b) that were chosen, also those with
				* nothing left to move */
	enum uvmp_rule rule;   /* auto: why */
};

/* Decides with params->prefetcher. UVMP_ERR_ARGUMENT: NULL, or params, state or block not valid, or something
 * that this prefetcher requires is missing. UVMP_ERR_RANGE: facts out of range, see there.
 * uvmp_prefetch_check says which. Cost: bounded by 512 pages, typically tens of words. */
UVMP_API enum uvmp_status uvmp_prefetch_decide(const struct uvmp_prefetch_params *params,
					       const struct uvmp_prefetch_facts *facts,
					       struct uvmp_prefetch_state *state,
					       struct uvmp_prefetch_hint *hint);

#define UVMP_PREFETCH_ERROR_MAX 160u

/* The status of uvmp_prefetch_decide with these arguments and a hint, without a decision: the state stays.
 * `text` (may be NULL) becomes one line that names the argument and what is accepted, e.g.
 * `params->threshold: 200 is not accepted; 0..100`, cut at `capacity` (UVMP_PREFETCH_ERROR_MAX suffices);
 * `text` is unchanged on success. For the set-up of a host and for its errors. O(parameters of the
 * prefetcher + words of a mask + range groups). */
UVMP_API enum uvmp_status uvmp_prefetch_check(const struct uvmp_prefetch_params *params,
					      const struct uvmp_prefetch_facts *facts,
					      const struct uvmp_prefetch_state *state, char *text,
					      size_t capacity);

/* Pages of a block that were evicted. */
struct uvmp_prefetch_departure {
	const uvmp_mask *gone;	  /* the pages that were evicted just now; required */
	const uvmp_mask *touched; /* those that were touched there since they arrived; NULL: not known */
	uint32_t processor;	  /* from which, 0..63 */
	uint64_t evicted_pages;	  /* from it so far, these among them; 0: not known */
};

/* Reports evicted pages. `block`: the prefetcher's private state of the block; NULL: no effect. No effect
 * without the traits has_touches or has_memory. UVMP_ERR_ARGUMENT: NULL, unknown prefetcher,
 * UVMP_PREFETCH_PLUGIN (call its function `left`). UVMP_ERR_RANGE: processor. O(words of a mask). */
UVMP_API enum uvmp_status uvmp_prefetch_left(enum uvmp_prefetcher prefetcher, void *block,
					     const struct uvmp_prefetch_departure *departure);

/* An access to a page that is resident on a GPU. */
struct uvmp_prefetch_touch {
	uint64_t range_page;  /* the page in its range */
	uint64_t range_pages; /* of the range; above range_page */
	uint32_t page;	      /* the same page in its block, below 512 */
	uint32_t kernels;     /* that have begun, on any GPU; wraps at 2^32 */
};

/* Reports an access, for prefetchers that learn from accesses. Uses state->block and state->range only. No
 * effect without the trait counts_touches. UVMP_ERR_ARGUMENT: NULL, params not valid, or the state lacks the
 * bytes of the range. UVMP_ERR_RANGE: a page out of range. O(1); forest: once a window O(log range_pages). */
UVMP_API enum uvmp_status uvmp_prefetch_touched(const struct uvmp_prefetch_params *params,
						const struct uvmp_prefetch_touch *touch,
						struct uvmp_prefetch_state *state);

/* The subtree of a page of hint->pages: the tree node for which the prefetcher chose the page. density, and
 * next, pattern, safe, forest and auto where they decide as density, choose nodes of big pages; tbn the
 * largest nodes that it filled, and faulting basic blocks; sl faulting basic blocks. Chosen subtrees are
 * disjoint.
 * `subtrees` is hint->subtrees, or uvmp_action.subtrees (service.h): it has the bit of the first page of each
 * subtree, and the bit of the page behind its last one. So a subtree lies between the last bit at or before
 * the page and the next bit. The region is empty if the prefetcher chose no subtrees; its end can lie behind
 * the end of the block (hint of tbn, sl). `page` < 512. O(words of a mask). */
UVMP_API struct uvmp_region uvmp_prefetch_subtree(const uvmp_mask *subtrees, uint32_t page);

/* The contracts of density and tbn follow. Those of all other prefetchers are in the comments above their
 * descriptors, in libuvmpolicy/prefetch/prefetch_NAME.c. */

/* UVMP_PREFETCH_DENSITY, the driver's prefetcher [driver: density-state, density, density-tree,
 * density-region, density-clamp]. Around each faulted page the largest node of a binary tree over the block's
 * pages of which more than `threshold` percent are resident or faulted, faulted big pages counting as wholly
 * faulted. On first touch of a block at its preferred location: the whole block. hint->pages may be non-empty
 * with hint->to = NONE (too few faults yet); it may hold pages that are resident on a GPU already, which is
 * harmless. Quirks: [driver: padding-clamp] (a region that starts in the padding before an unaligned block
 * loses the first pages), [driver: threshold-zero] (threshold 0 is accepted; 100 can never be exceeded, with
 * quirks or without), [driver: fault-count-wraps] (the fault counter wraps at 16 bits; without quirks it
 * saturates). */

/* UVMP_PREFETCH_TBN, UVM Smart's tree-based neighbourhood prefetcher [uvmsmart: tbnp]: every faulting basic
 * block, then the empty basic blocks of every subtree more than half full, in one pass from the leaves up.
 * Updates state->tree as if all that is asked for were on its way. hint->pages are the missing pages of the
 * chosen basic blocks beside the faulted ones; resident ones are left out, pending ones too but for
 * [uvmsmart: in-flight-requested-again]. Basic blocks count from the start of the block. Where the tree is
 * larger than the block (a block of no tree shape), nodes keep the tree's size and leaves behind the end of
 * the block are never chosen. UVMP_ERR_RANGE also: a faulted page is resident or pending. UVMP_ERR_ARGUMENT
 * also: there is no tree, or it does not cover the block. Quirks: [uvmsmart: ancestors-pass-full,
 * partial-leaf-grows] (tree.h); [uvmsmart: user-prefetch-bypasses-tree] is the host's (pages that came
 * without uvmp_tree_add); [uvmsmart: in-flight-requested-again] (pages of a chosen block that are pending are
 * requested again). Without quirks the leaves are recomputed from resident, pending and requested pages. */

/* The density tree over system-allocated memory (ATS; [driver: ats-prefetch]): no big-page alignment or
 * growth, no thrashing, no preferred location, no state. `window` is the part of the block that may be
 * prefetched (cut at 512; it may be empty); threshold is 0..100. If is_preferred_node_first_touch (the vma
 * prefers a node, the destination is the faulting GPU, and nothing is resident in the window or a counter
 * asked), the whole window is taken. `resident` may be NULL. *pages gets the prefetched pages without the
 * faulted ones; it may be one of the other masks. UVMP_ERR_ARGUMENT: faulted or pages is NULL.
 * UVMP_ERR_RANGE: threshold above 100, window reversed. */
UVMP_API enum uvmp_status uvmp_prefetch_ats(uint32_t threshold, struct uvmp_region window,
					    const uvmp_mask *resident, const uvmp_mask *faulted,
					    bool is_preferred_node_first_touch, uvmp_mask *pages);

/* -- grouping ---------------------------------------------------------------------------------- */

enum uvmp_group_kind {
	UVMP_GROUP_FAULT = 0,	 /* holds (for RUN_TO_FAULT: ends in) a faulting page */
	UVMP_GROUP_PREFETCH = 1, /* anything else */
	UVMP_GROUP_LATENCY = 2	 /* moves nothing: holds the channel for the next group's fault latency */
};

/* One transfer. */
struct uvmp_group {
	struct uvmp_region pages;
	enum uvmp_group_kind kind;
};

/* Cuts `pages` (faulted and prefetched ones together) into transfers, ascending. `faulted` says which
 * faulted; bits of it outside `pages` are ignored. With `latency`, RUN_TO_FAULT and SINGLE put a LATENCY
 * group of the faulting page before each fault group; BY_CAUSE does not know it. Stores the number in
 * *count; at most 1024 groups.
 * UVMP_ERR_ARGUMENT: NULL (group may be with capacity 0). UVMP_ERR_RANGE: unknown grouping.
 * UVMP_ERR_SPACE: capacity is too small; unlike after other errors, *count is the number needed (nothing
 * else is changed). */
UVMP_API enum uvmp_status uvmp_prefetch_groups(enum uvmp_grouping grouping, const uvmp_mask *pages,
					       const uvmp_mask *faulted, bool latency,
					       struct uvmp_group *group, uint32_t capacity, uint32_t *count);

#ifdef __cplusplus
}
#endif
#endif
