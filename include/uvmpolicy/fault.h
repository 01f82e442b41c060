/* fault.h: what arrived, what is the same, in what order, and what may be serviced?
 *
 * The path of a batch :
 *   fault buffer --uvmp_fault_fetch--> entries of a batch, merged [driver: fetch]
 *   entries --uvmp_fault_order-------> indices of the representatives, sorted by VA space,
 *                                      GPU, page, access [driver: batch-order]
 *   order --uvmp_fault_bin_next------> one bin per VABlock [driver: batch-walk]
 *   entry --uvmp_fault_classify------> serviced as what, duplicate, fatal, invalid
 *                                      prefetch [driver: block-walk, permission-check]
 *
 * Quirks reproduced by default: [driver: cached-put] (PUT is re-read only when GET has caught up),
 * [driver: lost-merge] (an upgrade in the same uTLB leaves the batch's last fault on the merged entry),
 * [driver: fatal-merge] (only the new entry is tested for fatality before a merge). Without quirks: PUT is
 * re-read at every fetch; the last fault follows the representative; nothing merges into a fatal fault.
 */
#ifndef UVMPOLICY_FAULT_H
#define UVMPOLICY_FAULT_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why the access faulted. UVMP_FAULT_FATAL and all above are fatal: they are cancelled, not serviced. */
enum uvmp_fault_type {
	UVMP_FAULT_INVALID_PDE = 0,
	UVMP_FAULT_INVALID_PTE = 1,
	UVMP_FAULT_ATOMIC = 2, /* atomic access to a page that is mapped without atomics */
	UVMP_FAULT_WRITE = 3,  /* write to a read-only mapping */
	UVMP_FAULT_READ = 4,   /* read of a write-only mapping */
	UVMP_FAULT_FATAL = 5   /* first of the fatal types (5..255) */
};

/* Apertures of instance blocks, in the order of comparison. */
enum uvmp_aperture {
	UVMP_APERTURE_PEER_0 = 0, /* PEER_1..PEER_7 follow */
	UVMP_APERTURE_SYS = 9,
	UVMP_APERTURE_SYS_NON_COHERENT = 10,
	UVMP_APERTURE_VID = 11
};

/* Which accesses a fatal fault cancels. */
enum uvmp_cancel_mode { UVMP_CANCEL_ALL = 0, UVMP_CANCEL_WRITE_AND_ATOMIC = 1 };

/* One entry of a GPU's fault buffer, and of a batch. */
struct uvmp_fault {
	/* written by the GPU (the host's adapter) */
	uvmp_addr address;     /* any byte of the page; fetch aligns it down */
	uint64_t timestamp_ns; /* GPU clock; carried along, never compared */
	uint64_t instance;     /* address of the instance block: which channel group faulted */
	uint32_t aperture;     /* enum uvmp_aperture: where the instance block lies */
	uint32_t subcontext;   /* ve_id */
	uint32_t utlb;	       /* number of the uTLB on this GPU; 0 for all HUB clients */
	uint8_t type;	       /* enum uvmp_fault_type */
	uint8_t access;	       /* enum uvmp_access, PREFETCH..ATOMIC_STRONG */
	bool is_valid;	       /* the entry is completely written; fetch clears it in the buffer */

	/* written by fetch, in the batch */
	bool is_fatal;		/* type >= UVMP_FAULT_FATAL */
	bool is_filtered;	/* merged into another entry, which stands for it */
	uint8_t access_mask;	/* representatives: bit 1 << access of every merged fault */
	uint32_t num_instances; /* representatives: number of merged faults, itself included */

	/* written by the host after fetch, when it has looked up the channel */
	uint64_t va_space; /* the caller's id of the address space; sorts ascending */
	uint32_t gpu;	   /* GPU number, 0 if missing */
};

/* -- fetch ----------------------------------------------------------------------------------- */

/* A GPU's fault buffer: a ring that the GPU fills at PUT and the driver empties at GET. */
struct uvmp_fault_buffer {
	struct uvmp_fault *entry; /* [capacity], the host's */
	uint32_t capacity;	  /* 1..2^24 */
	uint32_t get;		  /* next entry to read, 0..capacity-1 */
	uint32_t cached_put;	  /* PUT as last read; both are set to the hardware's at start and resume */
};

UVMP_API bool uvmp_fault_buffer_is_valid(const struct uvmp_fault_buffer *buffer);

/* Is there work? [driver: work-pending] GET != cached PUT, or the entry at GET is valid, or PUT re-read
 * (`put`, the hardware's value now) differs from GET; where it is re-read, cached_put is updated. False for a
 * buffer that is not valid or a put >= capacity. */
UVMP_API bool uvmp_fault_pending(struct uvmp_fault_buffer *buffer, uint32_t put);

enum uvmp_fetch_mode {
	UVMP_FETCH_BATCH_READY = 0, /* normal: a batch at most, stops at the first entry that is not ready */
	UVMP_FETCH_ALL = 1	    /* for cancelling: everything up to PUT */
};

struct uvmp_fetch_params {
	uint32_t max_batch;  /* raw entries per batch, merged ones included (driver: 256); any value, limited
			      * as uvmp_fault_max_batch says */
	uint32_t page_bytes; /* 4096, 16384 or 65536 */
	bool coalesce;	     /* merge equal faults (driver: true) */
	bool quirks;
};

/* Per uTLB; the caller's array, all zero at start. */
struct uvmp_utlb {
	uint32_t num_pending; /* representatives of this batch */
	uint32_t last_fault;  /* index in the batch of the latest one; meaningful while num_pending > 0 */
	bool has_fatal;	      /* set by servicing */
};

struct uvmp_fault_batch {
	struct uvmp_fault *entry; /* [capacity], the caller's */
	uint32_t capacity;	  /* at least uvmp_fault_max_batch(); mode ALL may need the buffer's */
	struct uvmp_utlb *utlb;	  /* [utlbs], the caller's */
	uint32_t utlbs;
	/* results */
	uint32_t cached;	 /* raw entries fetched: entry[0..cached) */
	uint32_t coalesced;	 /* representatives among them */
	uint32_t max_utlb;	 /* highest uTLB number seen */
	bool is_single_instance; /* every representative came from the same instance (a hint, as the driver
				  * computes it) */
};

UVMP_API bool uvmp_fault_batch_is_valid(const struct uvmp_fault_batch *batch);

/* Entries that a batch may really have [driver: fetch]: `count` as configured, but at least 1 and at most the
 * buffer's capacity. Fetch applies it; uvmp_replay_params.max_batch should be given the same, limited
 * value. */
UVMP_API uint32_t uvmp_fault_max_batch(uint32_t count, uint32_t capacity);

/* Fetches one batch [driver: fetch, coalescing]: moves entries from GET on into the batch, merging as it
 * goes, clears their valid bits and advances GET. `put` is the hardware's PUT now; it is looked at only where
 * the driver re-reads the register. Finding nothing is success with batch->cached = 0. uTLB records up to the
 * previous batch's max_utlb are cleared first.
 *
 * UVMP_ERR_ARGUMENT: a pointer is NULL or a structure is not valid. UVMP_ERR_RANGE: put, mode or page_bytes,
 * or a field of an entry (access, aperture above 11, uTLB number) is out of range. UVMP_ERR_SPACE: the
 * batch's array is too small (for the limited max_batch; mode ALL: for what lies before PUT).
 * UVMP_ERR_RETRY: the driver would spin here, because an entry it must have is not valid yet: nothing has
 * changed, call again later. With quirks call again with the same `put`: the driver has read the register
 * before it spins, and takes what has arrived meanwhile with a later batch [driver: cached-put]. */
UVMP_API enum uvmp_status uvmp_fault_fetch(const struct uvmp_fetch_params *params, enum uvmp_fetch_mode mode,
					   uint32_t put, struct uvmp_fault_buffer *buffer,
					   struct uvmp_fault_batch *batch);

/* Flush [driver: flush]: discards the entries from GET up to cached PUT, after re-reading PUT if update_put
 * (`put` is ignored otherwise). Stores the number discarded in *discarded. UVMP_ERR_RETRY: an entry is not
 * valid yet; unlike after other errors, what lay before it has been discarded, *discarded says how many, and
 * GET stands on it (as in the driver, which waits there): call again without update_put, so that PUT stays as
 * read. UVMP_ERR_ARGUMENT: buffer not valid, discarded is NULL. UVMP_ERR_RANGE: put. */
UVMP_API enum uvmp_status uvmp_fault_flush(struct uvmp_fault_buffer *buffer, bool update_put, uint32_t put,
					   uint32_t *discarded);

/* -- order ----------------------------------------------------------------------------------- */

/* Writes to order[] the indices of the batch's representatives in arrival order and returns their number
 * (batch->coalesced). order must have room for batch->coalesced entries. 0 if order is NULL or the batch is
 * not valid. */
UVMP_API uint32_t uvmp_fault_representatives(const struct uvmp_fault_batch *batch, uint32_t *order);

/* Sorts indices by (aperture, instance, subcontext), so that neighbours share one channel look-up
 * ([driver: batch-order], step 2). Ties keep their arrival order, that is the order of the indices. O(n log
 * n) in place, O(n) if in order already. Every order[i] must index entry[]. No effect if a pointer is
 * NULL. */
UVMP_API void uvmp_fault_order_by_instance(const struct uvmp_fault *entry, uint32_t *order, uint32_t count);

/* Sorts indices by (VA space, GPU, page address) ascending, then access descending: the most intrusive access
 * of a page comes first ([driver: batch-order], step 4). Ties keep their arrival order: the driver's own sort
 * leaves that open, this is ours. Cost and conditions as above. */
UVMP_API void uvmp_fault_order(const struct uvmp_fault *entry, uint32_t *order, uint32_t count);

/* Same VA space and same page address? The GPU is not compared [driver: batch-order]. False if one of them
 * is NULL. */
UVMP_API bool uvmp_fault_is_same_page(const struct uvmp_fault *a, const struct uvmp_fault *b);

/* -- bins ------------------------------------------------------------------------------------ */

/* A run of ordered entries that one VABlock services. */
struct uvmp_fault_bin {
	uint64_t va_space;
	uint32_t gpu;
	uint32_t first;	     /* position in order[] */
	uint32_t count;	     /* entries, >= 1 */
	uint32_t duplicates; /* what this bin adds to the batch's duplicate count: sum of num_instances for
			      * entries whose page stands in the entry before them (never the first of a bin),
			      * num_instances - 1 for others */
};

/* The bin that starts at position `first`: following entries of the same VA space and GPU whose address is at
 * most block_last (the last byte of the block that holds the first entry). Entries have
 * num_instances >= 1. The caller steps over fatal entries and those without a GPU before it asks for a bin
 * [driver: batch-walk]. UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE: first >= count, or block_last below the first
 * entry's address. */
UVMP_API enum uvmp_status uvmp_fault_bin_next(const struct uvmp_fault *entry, const uint32_t *order,
					      uint32_t count, uint32_t first, uvmp_addr block_last,
					      struct uvmp_fault_bin *bin);

/* -- permissions ----------------------------------------------------------------------------- */

/* The right that an access needs: PREFETCH and READ need READ, WRITE and ATOMIC_WEAK need READ_WRITE,
 * ATOMIC_STRONG needs READ_WRITE_ATOMIC, NONE nothing. */
UVMP_API enum uvmp_right uvmp_access_prot(enum uvmp_access access);

/* What became of an entry of a walk; the next entry of the same page looks at it. */
struct uvmp_fault_verdict {
	bool is_duplicate;	     /* same page as the entry before it in this walk */
	bool is_throttled;	     /* set by the caller (thrash.h) or inherited */
	bool is_invalid_prefetch;    /* prefetch without the right to it: dropped, or inherited */
	bool is_fatal;		     /* fetched as fatal, or refused by the permission table */
	bool is_already_mapped;	     /* the GPU has the right already: stale, nothing to do */
	uint8_t cancel_mode;	     /* enum uvmp_cancel_mode, if is_fatal */
	uint8_t service_access;	     /* enum uvmp_access to service as; UVMP_ACCESS_NONE: skip */
	uint8_t service_mask;	     /* set of accesses to service as; 0 if skipped */
	uint32_t invalid_prefetches; /* adds to the batch's count of invalid prefetches */
};

struct uvmp_fault_facts {
	enum uvmp_right right;	/* right of the process on the page; NONE while it is being torn down */
	enum uvmp_right mapped; /* right that the faulting GPU's mapping of the page has now */
	bool is_retry;		/* this walk repeats an earlier one (eviction): counters are left alone */
	bool is_unmapped;	/* no range holds the address [driver: batch-walk]: `right` and `mapped`
				 * count for nothing. The driver dispatches such an entry by itself, with no
				 * entry before it, and counts its duplicates. */
};

/* Steps 1 to 6 of the walk [driver: block-walk] and the permission table [driver: permission-check] for one
 * entry. `previous` and `previous_verdict` are the entry before it in this walk, NULL for the first one (both
 * or none). A fault that fetch found fatal is judged like any other, as in the driver, which steps over such
 * faults only between bins. Where no range holds the address [driver: batch-walk], a PREFETCH is an invalid
 * prefetch and anything else is fatal and cancels ALL. UVMP_ERR_ARGUMENT: fault, facts or verdict is NULL, or
 * only one of the previous two is. UVMP_ERR_RANGE: an access or right out of range, or an access mask that
 * lacks the fault's own access. */
UVMP_API enum uvmp_status uvmp_fault_classify(const struct uvmp_fault *fault,
					      const struct uvmp_fault_facts *facts,
					      const struct uvmp_fault *previous,
					      const struct uvmp_fault_verdict *previous_verdict,
					      struct uvmp_fault_verdict *verdict);

#ifdef __cplusplus
}
#endif
#endif
