/* counter.h: which remote pages have become hot?
 *
 * A GPU counts its accesses to memory of others and sends a notification when a counter passes the threshold.
 * These are the decisions around that (nvidia specification, section 8): sizes that follow from the
 * granularity (8.1), the pages that a group of notifications names (8.4), which of them may move (8.5), and
 * which notifications are cleared, so that their counters notify again (8.3, 8.7). No state. Where the pages
 * go is decided in residency.h, with operation ACCESS_COUNTER and access PREFETCH. The driver then ignores
 * the read-duplicate verdict and moves pages also where the policy would duplicate them (Q21); that is up to
 * the host, which heeds it for the corrected rule.
 *
 * Quirks reproduced by default: Q19 (with 4 KiB pages notifications are drained and nothing is done), Q20
 * (for an unowned address the batch's first notification is cleared, not the one at hand), Q22 (the residency
 * filter trims pages of earlier notifications too).
 */
#ifndef UVMPOLICY_COUNTER_H
#define UVMPOLICY_COUNTER_H

#include "base.h"
#include "mask.h"
#include "processor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- configuration (8.1) --------------------------------------------------------------------- */

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
/* Are notifications acted upon? Not with 4 KiB pages, as the driver has it (Q19); always without quirks.
 * False: drain the buffer, move nothing, clear nothing. */
UVMP_API bool uvmp_counter_is_serviced(uint32_t page_bytes, bool quirks);
/* Is a GPU mapped to pages that were evicted from it, so that its accesses are counted instead of faulting
 * (9.5)? `maps_on_eviction` is uvm_perf_map_remote_on_eviction (driver: true), `is_enabled` what
 * uvmp_counter_is_enabled says. */
UVMP_API bool uvmp_counter_maps_evicted(bool maps_on_eviction, bool is_enabled);

/* -- pages of a group (8.4) ------------------------------------------------------------------ */

/* A notification inside one VABlock. A group is a run of them for the same GPU and block. */
struct uvmp_counter_note {
	uint32_t page;		  /* of the block, 0..511 */
	uint32_t sub_granularity; /* bit k: the k-th piece of sub_bytes of the 2 MiB was used */
};

struct uvmp_counter_facts {
	uint32_t gpu;		   /* that notifies */
	uint32_t page_bytes;	   /* 4096, 16384 or 65536 */
	uint8_t granularity;	   /* enum uvmp_counter_granularity */
	bool quirks;
	uint64_t contiguous;	   /* set of processors on which the block lies in one chunk of 2 MiB */
	const uvmp_mask *resident; /* per processor of `processors`: pages of the block that it holds */
};

/* The pages that `count` notifications name. Other granularities than 2 MiB name nothing; nor does a page
 * that is nowhere or on the GPU already. Where the closest holder has the block in one chunk, the pages of
 * the sub-granularity are taken, limited to what that holder has; with quirks the limit applies to all pages
 * gathered so far (Q22), without them to this notification's. `pages` must be none of facts->resident.
 * O(count * processors).
 * UVMP_ERR_ARGUMENT: NULL (notes may be NULL if count is 0), or processors not valid. UVMP_ERR_RANGE: gpu is
 * no GPU of `processors`, page size or granularity out of range, a page beyond the 2 MiB that a block has. */
UVMP_API enum uvmp_status uvmp_counter_expand(const struct uvmp_processors *processors,
					      const struct uvmp_counter_facts *facts,
					      const struct uvmp_counter_note *notes, uint32_t count,
					      uvmp_mask *pages);

/* -- which of them may move (8.5) ------------------------------------------------------------ */

struct uvmp_counter_block {
	bool is_mapped;		     /* the GPU is mapped in the block; if not, nothing moves */
	const uvmp_mask *resident;   /* pages that the GPU holds */
	const uvmp_mask *fixed;	     /* may not move: range group, HMM without mapping; NULL: none */
	const uvmp_mask *throttled;  /* pages with the hint THROTTLE; NULL: none */
};

/* dst = the pages of src for which a destination is to be selected. dst may be src, but no mask of `block`.
 * UVMP_ERR_ARGUMENT: NULL where it is not allowed. */
UVMP_API enum uvmp_status uvmp_counter_filter(uvmp_mask *dst, const uvmp_mask *src,
					      const struct uvmp_counter_block *block);

/* After destinations were selected: takes from each destination[p] the pages of resident[p], p < count; gives
 * the set of processors that get any page and the hull of those pages. An empty set: there is nothing to
 * service. UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE: count above UVMP_PROCS_MAX. */
UVMP_API enum uvmp_status uvmp_counter_settle(uvmp_mask *destination, const uvmp_mask *resident,
					      uint32_t count, uint64_t *processors,
					      struct uvmp_region *region);

/* -- what is cleared (8.3, 8.7) -------------------------------------------------------------- */

/* Where a notification's address leads. */
enum uvmp_counter_place {
	UVMP_COUNTER_NO_SPACE = 0,   /* no VA space */
	UVMP_COUNTER_GPU_OFF,	     /* no GPU VA space, or migrations are off in the VA space */
	UVMP_COUNTER_BLOCK,	     /* managed range with a block: a group */
	UVMP_COUNTER_NO_BLOCK,	     /* managed range without a block there */
	UVMP_COUNTER_OTHER_RANGE,    /* a range that is not managed */
	UVMP_COUNTER_ATS,	     /* no range, but ATS: a group */
	UVMP_COUNTER_ATS_CDMM,	     /* the same in a system that keeps GPU memory off the kernel's lists */
	UVMP_COUNTER_HMM,	     /* no range, but an HMM block */
	UVMP_COUNTER_NOWHERE	     /* nothing there */
};

enum uvmp_counter_clear {
	UVMP_COUNTER_CLEAR_NONE = 0,
	UVMP_COUNTER_CLEAR_GROUP, /* every notification of the group (ATS: those whose page was migrated) */
	UVMP_COUNTER_CLEAR_THIS,  /* the notification at hand */
	UVMP_COUNTER_CLEAR_FIRST  /* the first notification of the batch, whatever that is (Q20) */
};

/* What to clear once the notification, or its group, has been serviced with `result`. A group is cleared
 * even if no page moved; after an error nothing is, and the batch ends. NONE for unknown places. */
UVMP_API enum uvmp_counter_clear uvmp_counter_clears(enum uvmp_counter_place place, enum uvmp_status result,
						     bool quirks);

/* Notifications are cleared one by one, by tag. Only on devices of the GB100 kind that have several
 * notification buffers, all counters at once if any tag has bit 0 set. False if tags is NULL. O(count). */
UVMP_API bool uvmp_counter_clears_all(const uint32_t *tags, uint32_t count, bool is_gb100, uint32_t buffers);

#ifdef __cplusplus
}
#endif
#endif
