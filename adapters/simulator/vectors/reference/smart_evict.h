/* smart_evict.h: the eviction of the simulator UVM Smart, entry by entry. A reference, not part of the
 * library.
 *
 * The conformance vectors check this state machine, and the tests hold the library's eviction orders
 * (evict.h) against it. The engine does not run it. It implements the chapter "Eviction" of docs/uvmsmart-rules.md
 * over the caller's memory:
 *   - a list of entries with the cycle of their last touch, which every eviction sorts
 *   - six orders of victims
 *   - a queue of ranges that are being evicted, from which an access can cancel a range
 *   - the write in flight
 * Its answers equal those of the original also where entries of different sizes meet after a change of
 * policy.
 *
 *   smart_evict_select()      sorts the list, chooses victims, and queues them
 *                                  [uvmsmart: eviction-list, evictable, eviction-trigger, victim-selection, write-back]
 *   smart_evict_start() ...   the queue: writing, cancelling, synchronising
 *                                  [uvmsmart: write-back, cancellation, device-synchronisation]
 *
 * pressure.h decides when to evict [uvmsmart: eviction-trigger]: call smart_evict_select once a cycle while
 * uvmp_pressure_is_over. With a buffer_percent this is pre-eviction.
 *
 * A tree has at most 32 basic blocks of 16 pages of 4 KiB (tree.h). Trees are numbered in ascending order of
 * address. A page is named by its tree and its index in the tree, 0..511.
 *
 * Quirks reproduced by default, each with the corrected rule that quirks = false selects
 * ([uvmsmart: partial-leaf-grows] is in tree.h, [uvmsmart: prefetcher-not-restored, staged-block-chosen,
 * written-mark-stays] are the host's):
 *   [uvmsmart: user-prefetch-bypasses-tree]
 *        pages of a user prefetch do not count in the tree: the host adds them (uvmp_tree_add), or not
 *   [uvmsmart: root-marks-only]
 *        counter and rw of an entry are renewed from the tree's root, if the entry starts where the tree
 *        does, and else never; the kind of a range is that of the entry of its first page. Corrected: both
 *        are those of the entry's own basic block, and all entries of a range are tested
 *   [uvmsmart: incomplete-tree-stays]
 *        LRU 2 MiB and LFU 2 MiB never evict a tree that is not wholly resident. Corrected: its resident
 *        pages are evicted
 *   [uvmsmart: write-credited-twice]
 *        a write in flight counts as memory that is about to be free, although its pages are free already:
 *        the host passes smart_evict_leaving to pressure.h
 *   [uvmsmart: cancel-dirties]
 *        cancelling a range makes all its pages dirty. Corrected: their state does not change
 *   [uvmsmart: clean-pages-uncounted]
 *        clean pages stay resident through a synchronisation, but are not accounted for; later more pages
 *        than the total can be free, and `total - free` wraps. Corrected: they are invalidated as well,
 *        and the queue is empty
 *   [uvmsmart: remote-waits-for-head]
 *        accesses to remote memory wait behind a migration that waits for memory
 *   [uvmsmart: stale-list-units]
 *        a change of policy leaves entries of another size in the list. Corrected: the list is rebuilt,
 *        and pages that are not resident are neither written nor cancelled
 */
#ifndef UVMSIM_SMART_EVICT_H
#define UVMSIM_SMART_EVICT_H

#include "uvmpolicy/base.h"
#include "uvmpolicy/counter.h"
#include "uvmpolicy/mask.h"
#include "uvmpolicy/tree.h"

/* -- the read channel ------------------------------------------------------------------------ */

/* What the read channel, being free, starts next [uvmsmart: remote-request, remote-waits-for-head]. */
enum smart_read {
	SMART_READ_NONE = 0, /* the head waits for memory */
	SMART_READ_HEAD,     /* the head of the queue */
	SMART_READ_REMOTE    /* the first remote access of the queue */
};

/* `head_pages` is what the head of the (not empty) queue needs, 0 for a remote access. With quirks nothing
 * starts while that exceeds `free`; without, remote accesses need not wait. */
enum smart_read smart_evict_read(uint64_t head_pages, uint64_t free, bool has_remote, bool quirks);

/* -- state ----------------------------------------------------------------------------------- */

/* Values as in the original's option. */
enum smart_evictor {
	SMART_LRU_2M = 0,    /* least recently touched tree */
	SMART_TBN = 1,       /* TBNe: a basic block, and what its tree is then better off without */
	SMART_SL = 2,        /* basic block, oldest of the tree whose newest touch is oldest */
	SMART_RANDOM_4K = 3, /* page, from a random place of the list on */
	SMART_LFU_2M = 4,    /* least often accessed tree, then the less written, then the older one */
	SMART_LRU_4K = 5,    /* least recently touched page */
	SMART_EVICTORS
};

/* One entry of the list. */
struct smart_entry {
	uint64_t cycle; /* of the last touch */
	uint32_t tree;
	uint16_t first;   /* page of the tree */
	uint16_t pages;   /* 1..512; 1, 16 or the whole tree */
	uint32_t counter; /* word of the tree's root when the list was last sorted [uvmsmart: root-marks-only] */
	uint32_t rw;      /* likewise its marks: 0 untouched, 1 read only, 2 written only, 3 both */
};

/* What is known of one tree. The host may change every field but the last three. */
struct smart_tree {
	struct uvmp_tree fill; /* pages resident or requested; the host adds what it requests */
	uvmp_mask valid;       /* pages resident on the device */
	uvmp_mask dirty;       /* pages stored to since they came */
	uvmp_mask pinned;      /* pages that an access holds at this moment */
	uvmp_mask staged;      /* pages of ranges in the queue */
	uint64_t newest;       /* of the cycles of its entries, when last sorted in groups */
	uint32_t first;        /* number of its first page, all trees counted through */
};

enum smart_kind {
	SMART_WRITEBACK = 0, /* copied to the host, also if clean */
	SMART_INVALIDATE = 1 /* known never to have been written */
};

/* Pages of one tree that leave together. */
struct smart_range {
	uint32_t tree;
	struct uvmp_region pages;
	enum smart_kind kind;
};

struct smart_evict {
	enum smart_evictor evictor;   /* change it with smart_evict_switch */
	uint32_t reserve_percent;     /* 0..100 of the list, at its cold end, are protected */
	bool is_invalidation_instant; /* option invalidate_clean: ranges of that kind take no time */
	bool quirks;
	uint64_t total, free; /* pages of device memory; the functions below keep `free` */

	const struct uvmp_counter_tree *counter; /* [trees], the host's; NULL: nothing is counted */

	struct smart_tree *tree;
	uint32_t trees, trees_max;
	uint32_t pages, pages_max; /* of all trees */

	struct smart_entry *entry;   /* the list, [pages_max] */
	struct smart_entry *scratch; /* [pages_max] */
	uint32_t entries;
	uint32_t *index;           /* places of the entries in the list: by page, by basic block, by tree */
	struct smart_range *queue; /* oldest first, [pages_max] */
	uint32_t queued;           /* ranges */
	bool is_writing;
	struct smart_range in_flight; /* while is_writing */
};

#define SMART_TREES_MAX (1u << 20)
#define SMART_PAGES_MAX (1u << 28)

/* Bytes of memory for so many trees and pages; 0 if one of them is 0 or above its maximum, or if the size
 * does not fit size_t. */
size_t smart_evict_size(uint32_t trees, uint32_t pages);

/* An empty list, no tree yet, no reserve, quirks on, all of `total` free. UVMP_ERR_ARGUMENT: NULL, or memory
 * not aligned to 8. UVMP_ERR_RANGE: evictor, or smart_evict_size says 0. UVMP_ERR_SPACE: bytes. O(1). */
enum uvmp_status smart_evict_init(struct smart_evict *evict, enum smart_evictor evictor, uint64_t total,
                                  uint32_t trees, uint32_t pages, void *memory, size_t bytes);
/* Cheap test of the struct, not of the memory; false for NULL. Every function below returns
 * UVMP_ERR_ARGUMENT for what is not valid, and UVMP_ERR_RANGE for a tree or page that is not there. */
bool smart_evict_is_valid(const struct smart_evict *evict);

/* The next tree, number evict->trees before the call: nothing resident, nothing counted. UVMP_ERR_RANGE:
 * blocks is not one of 1, 2, 4, 8, 16, 32. UVMP_ERR_SPACE: more trees or pages than announced.
 * O(pages). */
enum uvmp_status smart_evict_add_tree(struct smart_evict *evict, uint32_t blocks);

/* Another policy, from now on [uvmsmart: stale-list-units]. Without quirks the list is rebuilt: an entry that
 * was larger becomes one for each smaller unit that holds a resident page outside the queue, entries that
 * were smaller become one with the newest of their cycles. UVMP_ERR_RANGE: evictor. O(1); without quirks O(n
 * log n). */
enum uvmp_status smart_evict_switch(struct smart_evict *evict, enum smart_evictor evictor);

/* -- the list [uvmsmart: eviction-list]
 * -------------------------------------------------------------------------- */

/* The first entry that holds the page gets this cycle; if none does, one of the policy's unit is appended.
 * O(1). */
enum uvmp_status smart_evict_touch(struct smart_evict *evict, uint32_t tree, uint32_t page, uint64_t cycle);
/* A requested page has come: takes a free page, is resident, is touched. UVMP_ERR_NO_MEMORY: none is free.
 * O(1). */
enum uvmp_status smart_evict_arrive(struct smart_evict *evict, uint32_t tree, uint32_t page, uint64_t cycle);
/* Renews counter and rw [uvmsmart: root-marks-only] and sorts the list, as every eviction does first: a
 * stable merge sort, O(n log n) where the list is out of order, O(n) where it is not. */
enum uvmp_status smart_evict_order(struct smart_evict *evict);

/* -- the victims [uvmsmart: evictable, eviction-trigger, victim-selection]
 * ---------------------------------------------------------------- */

/* What an eviction has put into the queue. */
struct smart_choice {
	uint32_t ranges; /* the last ones of the queue, ascending; 0: nothing may leave now, ask again */
	uint32_t tree;   /* that they are of */
	uint32_t page;   /* first page of the unit that the order named; TBNe takes more along */
};

/* One eviction: sorts the list, passes over the reserve, chooses the victims, takes them out of their tree's
 * fill state, puts each run of them as one range at the end of the queue and removes their entries. At most
 * 16 ranges; without quirks LRU 2 MiB and LFU 2 MiB at most 256. `random` is needed by RANDOM_4K only, which
 * draws once, or not at all if the reserve leaves nothing to draw from (where the original divides by zero).
 * UVMP_ERR_ARGUMENT: NULL, or random missing. O(n log n) for n entries. */
enum uvmp_status smart_evict_select(struct smart_evict *evict, uint64_t *random, struct smart_choice *choice);

/* -- the queue [uvmsmart: write-back, cancellation, device-synchronisation]
 * ------------------------------------------------------------------ */

/* Pages of all ranges in the queue, and with quirks [uvmsmart: write-credited-twice] of the write in flight:
 * leaving_pages of pressure.h. 0 for what is not valid. O(queue). */
uint64_t smart_evict_leaving(const struct smart_evict *evict);

/* What began to leave. */
struct smart_write {
	bool is_started; /* false: the queue is empty or a write is in flight; the rest is zero */
	struct smart_range range;
	uint32_t dirty, clean; /* pages; in the original a page that is not resident counts as clean */
};

/* Starts the head of the queue: its pages are no longer resident or dirty, and their memory is free.
 * With quirks each page frees one, resident or not [uvmsmart: stale-list-units]. The host shoots down
 * mappings, copies, and adds a round trip to the tree's counters [uvmsmart: round-trips]. An instant
 * invalidation is over at once, anything else when smart_evict_end is called. O(queue). */
enum uvmp_status smart_evict_start(struct smart_evict *evict, struct smart_write *write);
/* The write in flight is over; UVMP_ERR_STATE: there is none. */
enum uvmp_status smart_evict_end(struct smart_evict *evict);

/* An access has found the page resident, by TLB or by page walk, or a user prefetch has passed it: the oldest
 * range of the queue that holds it is withdrawn. Its pages (without quirks those that are resident) count in
 * the tree again, become dirty [uvmsmart: cancel-dirties] and are touched, in order. range->pages is (0,0) if
 * there was none. `range` may be NULL. O(1) if the page is not staged, else O(queue). */
enum uvmp_status smart_evict_cancel(struct smart_evict *evict, uint32_t tree, uint32_t page, uint64_t cycle,
                                    struct smart_range *range);

/* The device is synchronised: the pages in `dirty` of all trees, which the host copies back before the call,
 * are no longer resident [uvmsmart: clean-pages-uncounted]; all memory is free, the list empty, all fill
 * states zero, and the host makes its counters zero. The queue stays; without quirks it is empty, for nothing
 * is left to write. A write in flight goes on to its end: its pages were free before. O(trees + entries). */
enum uvmp_status smart_evict_synchronise(struct smart_evict *evict);

#endif
