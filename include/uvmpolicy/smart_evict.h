/* smart_evict.h: what leaves, the way the simulator UVM Smart has it, entry by entry.
 *
 * The whole of section 3 of the uvm-smart specification as one state machine over the caller's memory: a list
 * of entries with the cycle of their last touch, which every eviction sorts; six orders of victims; a queue
 * of ranges on their way out, from which an access can call them back; the write that is on the wire. It
 * answers as the original does also where entries of different sizes meet after a change of policy. Hosts
 * that want the orders alone, without sorting, take evict.h.
 *
 *   uvmp_smart_evict_select()      sorts, chooses, and puts the victims into the queue (3.1 to 3.5)
 *   uvmp_smart_evict_closure()     TBNe alone: what leaves a tree with a block (3.4)
 *   uvmp_smart_evict_start() ...   the queue: writing, calling back, synchronising (3.5 to 3.7)
 *
 * When to evict is in pressure.h (3.3): one call of uvmp_smart_evict_select a cycle while
 * uvmp_pressure_is_over; with a buffer_percent it is pre-eviction.
 *
 * A tree is at most 32 basic blocks of 16 pages of 4 KiB (tree.h). Trees are numbered in ascending order of
 * address; a page is named by its tree and its place there, 0..511.
 *
 * Quirks reproduced by default, each with the corrected rule that quirks = false selects (specification,
 * section 10; UVM Smart Q2 is in tree.h, Q4, Q19 and Q22 are the host's):
 *   Q5   pages of a user prefetch do not count in the tree: the host adds them (uvmp_tree_add), or not
 *   Q6   counter and rw of an entry are renewed from the tree's root, if the entry starts where the tree
 *        does, and else never, and a range is judged by the entry of its first page; corrected: both are
 *        those of the entry's own basic block, and all entries of a range are asked
 *   Q7   LRU 2 MiB and LFU 2 MiB leave a tree alone that is not wholly resident; corrected: its resident
 *        pages leave
 *   Q8   a write on the wire counts as memory to come, although its pages are free already: the host hands
 *        uvmp_smart_evict_leaving to pressure.h
 *   Q9   calling a range back makes all its pages dirty; corrected: they stay what they were
 *   Q10  clean pages stay resident through a synchronisation, but are not accounted for; later more pages
 *        than there are can be free, and `total - free` wraps. Corrected: they are invalidated as well,
 *        and the queue is empty
 *   Q13  accesses to remote memory wait behind a migration that waits for memory
 *   Q15  a change of policy leaves entries of another size in the list; corrected: the list is rebuilt,
 *        and pages that are not resident are neither written nor called back
 */
#ifndef UVMPOLICY_SMART_EVICT_H
#define UVMPOLICY_SMART_EVICT_H

#include "base.h"
#include "counter.h"
#include "mask.h"
#include "tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- the read channel ------------------------------------------------------------------------ */

/* What the read channel, being free, starts next (4.5, Q13). */
enum uvmp_smart_read {
	UVMP_SMART_READ_NONE = 0, /* the head waits for memory */
	UVMP_SMART_READ_HEAD,	  /* the head of the queue */
	UVMP_SMART_READ_REMOTE	  /* the first remote access of the queue */
};

/* `head_pages` is what the head of the (not empty) queue needs, 0 for a remote access. With quirks nothing
 * starts while that exceeds `free`; without, remote accesses need not wait. */
UVMP_API enum uvmp_smart_read uvmp_smart_evict_read(uint64_t head_pages, uint64_t free, bool has_remote,
						    bool quirks);

/* -- state ----------------------------------------------------------------------------------- */

/* Values as in the original's option. */
enum uvmp_smart_evictor {
	UVMP_SMART_LRU_2M = 0,	  /* least recently touched tree */
	UVMP_SMART_TBN = 1,	  /* TBNe: a basic block, and what its tree is then better off without */
	UVMP_SMART_SL = 2,	  /* basic block, oldest of the tree whose newest touch is oldest */
	UVMP_SMART_RANDOM_4K = 3, /* page, from a random place of the list on */
	UVMP_SMART_LFU_2M = 4,	  /* least often accessed tree, then the less written, then the older one */
	UVMP_SMART_LRU_4K = 5,	  /* least recently touched page */
	UVMP_SMART_EVICTORS
};

/* "lru2m", "tbn", "sl", "random4k", "lfu2m", "lru4k"; NULL for a value outside the enumeration. */
UVMP_API const char *uvmp_smart_evict_name(enum uvmp_smart_evictor evictor);

/* One entry of the list. */
struct uvmp_smart_entry {
	uint64_t cycle; /* of the last touch */
	uint32_t tree;
	uint16_t first;	  /* page of the tree */
	uint16_t pages;	  /* 1..512; 1, 16 or the whole tree */
	uint32_t counter; /* word of the tree's root when the list was last sorted (Q6) */
	uint32_t rw;	  /* likewise its marks: 0 untouched, 1 read only, 2 written only, 3 both */
};

/* What is known of one tree. The host may change every field but the last three. */
struct uvmp_smart_tree {
	struct uvmp_tree fill; /* pages resident or requested; the host adds what it requests */
	uvmp_mask valid;       /* pages resident on the device */
	uvmp_mask dirty;       /* pages stored to since they came */
	uvmp_mask pinned;      /* pages that an access holds at this moment */
	uvmp_mask staged;      /* pages of ranges in the queue */
	uint64_t newest;       /* of the cycles of its entries, when last sorted in groups */
	uint32_t first;	       /* number of its first page, all trees counted through */
};

enum uvmp_smart_kind {
	UVMP_SMART_WRITEBACK = 0, /* copied to the host, also if clean */
	UVMP_SMART_INVALIDATE = 1 /* known never to have been written */
};

/* Pages of one tree that leave together. */
struct uvmp_smart_range {
	uint32_t tree;
	struct uvmp_region pages;
	enum uvmp_smart_kind kind;
};

struct uvmp_smart_evict {
	enum uvmp_smart_evictor evictor; /* change it with uvmp_smart_evict_switch */
	uint32_t reserve_percent;	 /* 0..100 of the list, at its cold end, are protected */
	bool is_invalidation_instant;	 /* option invalidate_clean: ranges of that kind take no time */
	bool quirks;
	uint64_t total, free; /* pages of device memory; the functions below keep `free` */

	const struct uvmp_counter_tree *counter; /* [trees], the host's; NULL: nothing is counted */

	struct uvmp_smart_tree *tree;
	uint32_t trees, trees_max;
	uint32_t pages, pages_max; /* of all trees */

	struct uvmp_smart_entry *entry;	  /* the list, [pages_max] */
	struct uvmp_smart_entry *scratch; /* [pages_max] */
	uint32_t entries;
	uint32_t *index; /* places of the entries in the list: by page, by basic block, by tree */
	struct uvmp_smart_range *queue; /* oldest first, [pages_max] */
	uint32_t queued;		/* ranges */
	bool is_writing;
	struct uvmp_smart_range in_flight; /* while is_writing */
};

#define UVMP_SMART_TREES_MAX (1u << 20)
#define UVMP_SMART_PAGES_MAX (1u << 28)

/* Bytes of memory for so many trees and pages; 0 if one of them is 0 or above its maximum, or if the size
 * does not fit size_t. */
UVMP_API size_t uvmp_smart_evict_size(uint32_t trees, uint32_t pages);

/* An empty list, no tree yet, no reserve, quirks on, all of `total` free. UVMP_ERR_ARGUMENT: NULL, or memory
 * not aligned to 8. UVMP_ERR_RANGE: evictor, or uvmp_smart_evict_size says 0. UVMP_ERR_SPACE: bytes. O(1). */
UVMP_API enum uvmp_status uvmp_smart_evict_init(struct uvmp_smart_evict *evict,
						enum uvmp_smart_evictor evictor, uint64_t total,
						uint32_t trees, uint32_t pages, void *memory, size_t bytes);
/* Cheap test of the struct, not of the memory; false for NULL. Every function below returns
 * UVMP_ERR_ARGUMENT for what is not valid, and UVMP_ERR_RANGE for a tree or page that is not there. */
UVMP_API bool uvmp_smart_evict_is_valid(const struct uvmp_smart_evict *evict);

/* The next tree, number evict->trees before the call: nothing resident, nothing counted. UVMP_ERR_RANGE:
 * blocks is not one of 1, 2, 4, 8, 16, 32. UVMP_ERR_SPACE: more trees or pages than announced.
 * O(pages). */
UVMP_API enum uvmp_status uvmp_smart_evict_add_tree(struct uvmp_smart_evict *evict, uint32_t blocks);

/* Another policy, from now on (Q15). Without quirks the list is rebuilt: an entry that was larger becomes one
 * for each smaller unit that holds a resident page outside the queue, entries that were smaller become one
 * with the newest of their cycles. UVMP_ERR_RANGE: evictor. O(1); without quirks O(n log n). */
UVMP_API enum uvmp_status uvmp_smart_evict_switch(struct uvmp_smart_evict *evict,
						  enum uvmp_smart_evictor evictor);

/* -- the list (3.1) -------------------------------------------------------------------------- */

/* The first entry that holds the page gets this cycle; if none does, one of the policy's unit is appended.
 * O(1). */
UVMP_API enum uvmp_status uvmp_smart_evict_touch(struct uvmp_smart_evict *evict, uint32_t tree, uint32_t page,
						 uint64_t cycle);
/* A requested page has come: takes a free page, is resident, is touched. UVMP_ERR_NO_MEMORY: none is free.
 * O(1). */
UVMP_API enum uvmp_status uvmp_smart_evict_arrive(struct uvmp_smart_evict *evict, uint32_t tree,
						  uint32_t page, uint64_t cycle);
/* Renews counter and rw (Q6) and sorts the list, as every eviction does first: a stable merge sort,
 * O(n log n) where the list is out of order, O(n) where it is not. */
UVMP_API enum uvmp_status uvmp_smart_evict_order(struct uvmp_smart_evict *evict);

/* -- the victims (3.2 to 3.4) ---------------------------------------------------------------- */

/* What an eviction has put into the queue. */
struct uvmp_smart_choice {
	uint32_t ranges; /* the last ones of the queue, ascending; 0: nothing may leave now, ask again */
	uint32_t tree;	 /* that they are of */
	uint32_t page;	 /* first page of the unit that the order named; TBNe takes more along */
};

/* One eviction: sorts the list, passes over the reserve, chooses the victims, takes them out of their tree's
 * fill state, puts each run of them as one range at the end of the queue and removes their entries. At most
 * 16 ranges; without quirks LRU 2 MiB and LFU 2 MiB at most 256. `random` is needed by RANDOM_4K only, which
 * draws once, or not at all if the reserve leaves nothing to draw from (where the original divides by zero).
 * UVMP_ERR_ARGUMENT: NULL, or random missing. O(n log n) for n entries. */
UVMP_API enum uvmp_status uvmp_smart_evict_select(struct uvmp_smart_evict *evict, uint64_t *random,
						  struct uvmp_smart_choice *choice);

/* TBNe's second step, after the first victim has been taken from the tree: bottom up, every subtree that
 * holds something but less than half loses its full blocks. `evictable`: blocks that may leave, bit b for
 * block b. Returns the set of blocks that leave; their leaves become 0 and all inner nodes sums. 0 for a tree
 * that is not valid. At most 31 judged nodes. */
UVMP_API uint32_t uvmp_smart_evict_closure(struct uvmp_tree *tree, uint32_t evictable);

/* -- the queue (3.5 to 3.7) ------------------------------------------------------------------ */

/* Pages of all ranges in the queue, and with quirks (Q8) of the write in flight: leaving_pages of pressure.h.
 * 0 for what is not valid. O(queue). */
UVMP_API uint64_t uvmp_smart_evict_leaving(const struct uvmp_smart_evict *evict);

/* What began to leave. */
struct uvmp_smart_write {
	bool is_started; /* false: the queue is empty or a write is in flight; the rest is zero */
	struct uvmp_smart_range range;
	uint32_t dirty, clean; /* pages; in the original a page that is not resident counts as clean */
};

/* Starts the head of the queue: its pages are neither resident nor dirty any more and their memory is free.
 * With quirks each page frees one, resident or not (Q15). The host shoots down mappings, copies, and adds a
 * round trip to the tree's counters (4.3). An instant invalidation is over at once, anything else when
 * uvmp_smart_evict_end is called. O(queue). */
UVMP_API enum uvmp_status uvmp_smart_evict_start(struct uvmp_smart_evict *evict,
						 struct uvmp_smart_write *write);
/* The write in flight is over; UVMP_ERR_STATE: there is none. */
UVMP_API enum uvmp_status uvmp_smart_evict_end(struct uvmp_smart_evict *evict);

/* An access has found the page resident, by TLB or by page walk, or a user prefetch has passed it: the oldest
 * range of the queue that holds it is withdrawn. Its pages (without quirks those that are resident) count in
 * the tree again, become dirty (Q9) and are touched, in order. range->pages is (0,0) if there was none.
 * `range` may be NULL. O(1) if the page is not staged, else O(queue). */
UVMP_API enum uvmp_status uvmp_smart_evict_cancel(struct uvmp_smart_evict *evict, uint32_t tree,
						  uint32_t page, uint64_t cycle,
						  struct uvmp_smart_range *range);

/* The device is synchronised: the pages in `dirty` of all trees, which the host copies back before the call,
 * are not resident any more (Q10); all memory is free, the list empty, all fill states zero, and the host
 * makes its counters zero. The queue stays; without quirks it is empty, for nothing is left to write. A write
 * in flight goes on to its end: its pages were free before. O(trees + entries). */
UVMP_API enum uvmp_status uvmp_smart_evict_synchronise(struct uvmp_smart_evict *evict);

#ifdef __cplusplus
}
#endif
#endif
