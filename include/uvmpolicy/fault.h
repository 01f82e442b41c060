/* fault.h: fetching, merging, ordering and checking faults.
 *
 * The path of a batch:
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

/* Packed record: one entry of a GPU's fault buffer, and of a batch. */
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
	bool is_filtered;	/* merged into another entry, its representative */
	uint8_t access_mask;	/* representatives: bit 1 << access of every merged fault; 0: its own */
	uint32_t num_instances; /* representatives: number of merged faults, itself included; 0: 1 */

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

/* Does the buffer hold entries [driver: work-pending]? True if GET != cached PUT, if the entry at GET is
 * valid, or if PUT re-read (`put`, the present hardware value) differs from GET. Re-reading updates
 * cached_put. False for a buffer that is not valid or a put >= capacity. */
UVMP_API bool uvmp_fault_pending(struct uvmp_fault_buffer *buffer, uint32_t put);

enum uvmp_fetch_mode {
	UVMP_FETCH_BATCH_READY = 0, /* normal: a batch at most, stops at the first entry that is not ready */
	UVMP_FETCH_ALL = 1	    /* for cancelling: everything up to PUT */
};

struct uvmp_fetch_params {
	uint32_t max_batch;  /* raw entries per batch, merged ones included (driver: 256); any value, limited
			      * as uvmp_fault_max_batch says: 0 counts as 1, as in the driver */
	uint32_t page_bytes; /* 4096, 16384, 65536 or 2097152; 0: 4096 */
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

/* Largest number of entries in a batch [driver: fetch]: the configured `count`, but at least 1 and at most
 * the buffer's capacity. Fetch applies this limit; set uvmp_replay_params.max_batch to the limited value. */
UVMP_API uint32_t uvmp_fault_max_batch(uint32_t count, uint32_t capacity);

/* Fetches one batch [driver: fetch, coalescing]: moves entries from GET on into the batch, merges duplicates,
 * clears the valid bits and advances GET. `put` is the present hardware PUT, used only when the driver
 * re-reads the register. An empty buffer is success with batch->cached = 0. uTLB records up to the previous
 * batch's max_utlb are cleared first.
 *
 * UVMP_ERR_ARGUMENT: a pointer is NULL or a structure is not valid. UVMP_ERR_RANGE: put, mode or page_bytes,
 * or a field of an entry (access, aperture above 11, uTLB number) is out of range. UVMP_ERR_SPACE: the
 * batch's array is too small (for the limited max_batch; mode ALL: for the entries before PUT).
 * UVMP_ERR_RETRY: an entry that the batch needs is not valid yet. The driver would spin here. Nothing has
 * changed; call again later. With quirks call again with the same `put`: the driver reads the register before
 * it spins, and fetches entries that arrive meanwhile with a later batch [driver: cached-put]. */
UVMP_API enum uvmp_status uvmp_fault_fetch(const struct uvmp_fetch_params *params, enum uvmp_fetch_mode mode,
					   uint32_t put, struct uvmp_fault_buffer *buffer,
					   struct uvmp_fault_batch *batch);

/* Flush [driver: flush]: discards the entries from GET up to cached PUT. With update_put, re-reads PUT first;
 * otherwise ignores `put`. Stores the number of discarded entries in *discarded. UVMP_ERR_RETRY: an entry is
 * not valid yet (the driver waits there). Unlike after other errors, the entries before it are discarded and
 * counted in *discarded, and GET points to the entry. Call again without update_put, so that PUT keeps the
 * value read. UVMP_ERR_ARGUMENT: buffer not valid, discarded is NULL. UVMP_ERR_RANGE: put. */
UVMP_API enum uvmp_status uvmp_fault_flush(struct uvmp_fault_buffer *buffer, bool update_put, uint32_t put,
					   uint32_t *discarded);

/* -- order ----------------------------------------------------------------------------------- */

/* Writes to order[] the indices of the batch's representatives in arrival order and returns their number
 * (batch->coalesced). order must have room for batch->coalesced entries. 0 if order is NULL or the batch is
 * not valid. */
UVMP_API uint32_t uvmp_fault_representatives(const struct uvmp_fault_batch *batch, uint32_t *order);

/* Words of scratch memory that ordering `count` indices needs. */
#define UVMP_FAULT_ORDER_WORDS(count) (2u * (count) + 2u)

/* Sorts indices by (aperture, instance, subcontext), so that neighbours share one channel look-up (the first
 * sort of [driver: batch-order]). Ties keep their arrival order, that is the order of the indices. Every
 * order[i] must index entry[], each index once. `scratch` holds UVMP_FAULT_ORDER_WORDS(count) words of any
 * contents. O(n) if the indices rise, as uvmp_fault_representatives writes them, and at most 16 instances are
 * among them. Otherwise, or if scratch is NULL, O(n log n) in place, O(n) if in order already. No effect if
 * entry or order is NULL. */
UVMP_API void uvmp_fault_order_by_instance(const struct uvmp_fault *entry, uint32_t *order, uint32_t count,
					   uint64_t *scratch);

/* Sorts indices by (VA space, GPU, page address) ascending, then access descending: the most intrusive access
 * of a page comes first (the second sort of [driver: batch-order]). Ties keep their arrival order, which the
 * driver's sort leaves undefined. Conditions as above. O(n) if the entries have at most 16 pairs of VA space
 * and GPU, page addresses below 2^57, accesses below 8, and indices below 2^16. Otherwise, or if scratch is
 * NULL, O(n log n) in place. */
UVMP_API void uvmp_fault_order(const struct uvmp_fault *entry, uint32_t *order, uint32_t count,
			       uint64_t *scratch);

/* uvmp_fault_representatives and uvmp_fault_order in one call, which visits each entry less often: writes to
 * order[] the indices of the representatives in that order, and returns their number. `scratch` holds
 * UVMP_FAULT_ORDER_WORDS(batch->coalesced) words of any contents, or is NULL. 0 if order is NULL or the batch
 * is not valid. */
UVMP_API uint32_t uvmp_fault_order_batch(const struct uvmp_fault_batch *batch, uint32_t *order,
					 uint64_t *scratch);

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
	uint32_t duplicates; /* duplicates that this bin adds to the batch: num_instances of each entry with
			      * the page of the entry before it (never the first of a bin), num_instances - 1
			      * of each other entry */
};

/* The bin that starts at position `first`: following entries of the same VA space and GPU whose address is at
 * most block_last (the last byte of the block that holds the first entry). Before the call, the caller skips
 * fatal entries and entries without a GPU [driver: batch-walk]. UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE:
 * first >= count, or block_last below the first entry's address. */
UVMP_API enum uvmp_status uvmp_fault_bin_next(const struct uvmp_fault *entry, const uint32_t *order,
					      uint32_t count, uint32_t first, uvmp_addr block_last,
					      struct uvmp_fault_bin *bin);

/* -- permissions ----------------------------------------------------------------------------- */

/* The right that an access needs: PREFETCH and READ need READ, WRITE and ATOMIC_WEAK need READ_WRITE,
 * ATOMIC_STRONG needs READ_WRITE_ATOMIC, NONE nothing. */
UVMP_API enum uvmp_right uvmp_access_right(enum uvmp_access access);

/* Result for one entry of a walk; the next entry of the same page uses it. */
struct uvmp_fault_verdict {
	bool is_duplicate;		   /* same page as the entry before it in this walk */
	bool is_throttled;		   /* set by the caller (thrash.h) or inherited */
	bool is_invalid_prefetch;	   /* prefetch without the right to it: dropped, or inherited */
	bool is_fatal;			   /* fetched as fatal, or refused by the permission table */
	bool is_already_mapped;		   /* the GPU has the right already: stale, nothing to do */
	enum uvmp_cancel_mode cancel_mode; /* if is_fatal */
	enum uvmp_access service_access;   /* access to service as; UVMP_ACCESS_NONE: skip */
	uint8_t service_mask;		   /* set of accesses to service as; 0 if skipped */
	uint32_t invalid_prefetches;	   /* adds to the batch's count of invalid prefetches */
};

struct uvmp_fault_facts {
	enum uvmp_right right;	/* right of the process on the page. 0 is UVMP_RIGHT_NONE, as during
				 * teardown: every access is refused */
	enum uvmp_right mapped; /* right of the faulting GPU's present mapping of the page; 0: no mapping */
	bool is_retry;		/* this walk repeats an earlier walk (eviction): counters do not change */
	bool is_unmapped;	/* no range holds the address [driver: batch-walk]: `right` and `mapped` are
				 * ignored. The driver dispatches such an entry alone, without a previous
				 * entry, and counts its duplicates. */
};

/* Applies the steps of [driver: block-walk] up to the thrashing hint, with the permission table [driver:
 * permission-check], to one entry. `previous` and `previous_verdict` are the previous entry of this walk;
 * both are NULL for the first entry. A fault that fetch marked fatal is checked like any other: the driver
 * skips such faults only between bins. If no range holds the address [driver: batch-walk], a PREFETCH is an
 * invalid prefetch, and any other access is fatal and cancels ALL. UVMP_ERR_ARGUMENT: fault, facts or
 * verdict is NULL, or only one of the previous two is. UVMP_ERR_RANGE: an access or right out of range, or
 * an access mask that lacks the fault's own access. */
UVMP_API enum uvmp_status uvmp_fault_classify(const struct uvmp_fault *fault,
					      const struct uvmp_fault_facts *facts,
					      const struct uvmp_fault *previous,
					      const struct uvmp_fault_verdict *previous_verdict,
					      struct uvmp_fault_verdict *verdict);

#ifdef __cplusplus
}
#endif
#endif
