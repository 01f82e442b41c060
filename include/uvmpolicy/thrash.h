/* thrash.h: pages that bounce between processors, and hints against it.
 *
 * The driver's thrashing detector [driver: thrashing]. The host reports every migration and
 * every revocation of access; before it services a fault it asks for a hint:
 *
 *   NONE      service as usual;
 *   PIN       leave the page on one processor and map it from the others (hint.pin_to, hint.procs);
 *   THROTTLE  do not service this processor's fault before hint.until_ns, so that another processor makes
 *             progress with the page.
 *
 * A page thrashes once `threshold` events each followed the previous event within the lapse. While the page
 * thrashes, time is divided into throttling periods of one nap; in each period one processor is spared and
 * the others are throttled. After pin_threshold throttlings the page is pinned, for pin * lapse; then a
 * worker unpins it.
 *
 * State: one struct per address space, one per block, and an array of pages for each block suspected of
 * thrashing. All belong to the caller, and hold pointers to each other: neither a block nor its array may
 * move while the detector uses it. Times come from the host, in nanoseconds; differences use unsigned
 * arithmetic. As in the driver, 0 means "never": a clock starts above 0, or the first event does not count.
 *
 * Quirks reproduced by default, and the corrected rule:
 *  [driver: pinned-total-grows]
 *       a block in which a page was ever pinned is never reset by epoch / only while a page is pinned
 *  [driver: events-accumulate]
 *       a late event below the threshold keeps the count / starts counting again
 *  [driver: lapse-widens]
 *       many short gaps make the lapse longer; the vote is 8 bits and wraps / vote_threshold more short
 *       than long gaps make the lapse shorter, more long ones longer, within 5 us and 500 ms; the vote stays
 *       within -vote_threshold..vote_threshold
 *  [driver: rounded-stamps]
 *       times of pages lose 6 bits / are kept in full
 *  [driver: reset-leftovers]
 *       throttle count and spared processor outlive a reset of the page; nap, epoch and pin keep to the
 *       lapse of the beginning / are reset; follow the lapse (a pin takes the lapse of its moment; pages
 *       leave the queue in the order in which they were pinned)
 *  [driver: vote-threshold-zero]
 *       a vote threshold of 0 becomes 500 / the default, 32
 */
#ifndef UVMPOLICY_THRASH_H
#define UVMPOLICY_THRASH_H

#include "base.h"
#include "mask.h"
#include "processor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Module parameters [driver: thrashing-parameters]. Products with the lapse are 64-bit nanoseconds and
 * wrap, as the driver's. Set with uvmp_thrash_params_init. uvmp_policy_is_valid checks them in a policy. */
struct uvmp_thrash_params {
	bool is_enabled;	 /* false: no event counts, and every hint is NONE */
	uint32_t threshold;	 /* events, 1..7; driver: 3 */
	uint32_t pin_threshold;	 /* throttlings, 1..255; driver: 10 */
	uint32_t lapse_us;	 /* microseconds, at least 1; driver: 500, and only 500 adapts */
	uint32_t vote_threshold; /* at least 1; driver: 32; see [driver: vote-threshold-zero] */
	uint32_t nap;		 /* lapses, 1..100; driver: 1 */
	uint32_t epoch;		 /* lapses, at least 1; driver: 2000 */
	uint32_t pin;		 /* lapses; 0: pinned permanently; driver: 300 */
	uint32_t max_resets;	 /* epoch resets of one block; 0: none; driver: 4 */
	bool quirks;
};

/* The driver's defaults, quirks on. No effect for NULL. */
UVMP_API void uvmp_thrash_params_init(struct uvmp_thrash_params *params);

struct uvmp_thrash_block;

/* One page [driver: thrashing-state]. Only the detector writes it. */
struct uvmp_thrash_page {
	uint64_t event_ns;	  /* last event, low 6 bits 0 with quirks [driver: rounded-stamps]; 0: none */
	uint64_t throttle_end_ns; /* end of the throttling period, stored likewise; 0: none */
	uint64_t procs;		  /* processors that took part */
	uint64_t throttled;	  /* subset of procs */
	uint64_t deadline_ns;	  /* in the queue: when to unpin */
	struct uvmp_thrash_block *block;
	struct uvmp_thrash_page *next, *previous; /* queue of the address space */
	uint8_t events;				  /* 0..7 */
	uint8_t throttles;			  /* 0..255 */
	uint8_t pin_proc;			  /* where it is pinned, or UVMP_PROC_NONE */
	uint8_t spared;				  /* processor that is not throttled, or UVMP_PROC_NONE */
	bool has_migrated, has_revoked;		  /* kinds of events since the last reset */
	bool is_queued;
};

/* One VABlock. Initialise with uvmp_thrash_block_init; only the detector writes it. */
struct uvmp_thrash_block {
	uint64_t id;			 /* the caller's */
	struct uvmp_thrash_page *memory; /* the caller's array, NULL if none was given */
	uint64_t last_ns;		 /* last event; 0: none */
	uint64_t last_thrashing_ns;	 /* last event of a thrashing page; 0: none */
	uint64_t throttlings;		 /* THROTTLE hints that began a throttling; a statistic */
	uint32_t pages;			 /* 1..512 */
	uint32_t last_proc;		 /* processor of the last event, or UVMP_PROC_NONE */
	uint32_t resets;		 /* epoch resets so far */
	uint32_t pins;			 /* pages pinned so far, saturating; never counts down
					  * [driver: pinned-total-grows] */
	bool has_pages;			 /* the array is in use; without it no page has any state */
	uvmp_mask thrashing;
	uvmp_mask pinned; /* subset of thrashing */
	uvmp_mask begun;  /* has_pages: pages that had an event, whose entries of the array are written */
};

/* One address space. */
struct uvmp_thrash_space {
	struct uvmp_thrash_params params;      /* after correction */
	uint64_t lapse_ns;		       /* adapts [driver: lapse-adaptation] */
	int32_t vote;			       /* long gaps less short ones */
	struct uvmp_thrash_page *first, *last; /* pinned pages in the order in which they were pinned */
};

/* Takes a copy of the parameters; a value out of its range becomes its default, as when the driver is loaded
 * (but see [driver: vote-threshold-zero]). UVMP_ERR_ARGUMENT: NULL. */
UVMP_API enum uvmp_status uvmp_thrash_space_init(struct uvmp_thrash_space *space,
						 const struct uvmp_thrash_params *params);
UVMP_API bool uvmp_thrash_space_is_valid(const struct uvmp_thrash_space *space);

/* A block of `pages` pages, with no memory. UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE: pages not in 1..512. */
UVMP_API enum uvmp_status uvmp_thrash_block_init(struct uvmp_thrash_block *block, uint64_t id,
						 uint32_t pages);
UVMP_API bool uvmp_thrash_block_is_valid(const struct uvmp_thrash_block *block);

/* All functions below return UVMP_ERR_ARGUMENT for NULL and where an _is_valid is false, UVMP_ERR_RANGE for
 * pages outside the block, empty regions, and processors above 63 (or, with struct uvmp_processors, that do
 * not exist). uvmp_thrash_migrate, _revoke and _decide are called for each event and each fault: instead of
 * _is_valid they check only that space was initialised (UVMP_ERR_ARGUMENT), that block was (UVMP_ERR_RANGE,
 * as it has no pages otherwise), and that the count of processors is at most 64 (UVMP_ERR_ARGUMENT). */

/* -- memory of a block -- */

/* Bytes of the page array of a block of `pages` pages; 0 if pages is not in 1..512. About 36 KiB for 512. */
UVMP_API size_t uvmp_thrash_array_size(uint32_t pages);

/* Gives the block memory for its array, aligned for uint64_t, with any contents. UVMP_ERR_ARGUMENT: also if
 * misaligned. UVMP_ERR_SPACE: less than uvmp_thrash_array_size. UVMP_ERR_STATE: the block has memory. */
UVMP_API enum uvmp_status uvmp_thrash_block_give(struct uvmp_thrash_block *block, void *memory, size_t bytes);

/* Takes the memory back if the array is not in use: before the first suspicion, after an epoch reset, after
 * uvmp_thrash_block_end. UVMP_ERR_STATE: in use, or there is none. */
UVMP_API enum uvmp_status uvmp_thrash_block_take(struct uvmp_thrash_block *block, void **memory);

/* Resets the block, before its removal or for reuse: its pages leave the queue, its array is no longer in
 * use, and its counts are 0. Only the id and the memory stay. O(pages). */
UVMP_API enum uvmp_status uvmp_thrash_block_end(struct uvmp_thrash_space *space,
						struct uvmp_thrash_block *block);

/* -- events [driver: thrashing-events] -- */

/* Why pages move. */
enum uvmp_migrate_cause {
	UVMP_MIGRATE_FAULT = 0,	     /* replayable fault, or CPU fault */
	UVMP_MIGRATE_NON_REPLAYABLE, /* fault of a copy engine or the host channel */
	UVMP_MIGRATE_ACCESS_COUNTER,
	UVMP_MIGRATE_PREFETCH,
	UVMP_MIGRATE_EVICTION,
	UVMP_MIGRATE_API_TOOLS,
	UVMP_MIGRATE_API_MIGRATE,
	UVMP_MIGRATE_API_RANGE_GROUP,
	UVMP_MIGRATE_API_HINT /* values above count like this one */
};

struct uvmp_thrash_migration {
	struct uvmp_region region;
	uint32_t to;	   /* of this copy; 0 is the CPU */
	uint32_t final_to; /* of the whole operation; 0 is the CPU. Set it even where it is `to`: another
			    * processor means the first leg of a staged copy, which is no event */
	enum uvmp_migrate_cause cause;
	bool is_copy;		 /* the source keeps its pages */
	bool is_read_duplicated; /* the policy has read duplication enabled */
	uint64_t now_ns;	 /* above 0 */
};

/* What a migration does to the pages of its region [driver: thrashing-events]. */
enum uvmp_thrash_effect {
	UVMP_THRASH_IGNORED = 0, /* detector off, eviction, or first leg of a staged copy */
	UVMP_THRASH_RESETS,	 /* thrashing pages are reset */
	UVMP_THRASH_COUNTS	 /* the event counts, and may need the array of the block */
};
/* The effect that uvmp_thrash_migrate has. Hosts ask before they make a block for the event. The region and
 * the time do not matter. UVMP_THRASH_IGNORED: also for NULL and a space that was not initialised. O(1). */
UVMP_API enum uvmp_thrash_effect uvmp_thrash_effect_of(const struct uvmp_thrash_space *space,
						       const struct uvmp_thrash_migration *migration);

/* Reports a migration. Events that the driver filters out succeed too; some reset the pages.
 * UVMP_ERR_NO_MEMORY: the block needs its array. The host gives it memory and repeats the call, or continues
 * without memory, and the event is dropped. O(pages of the region). */
UVMP_API enum uvmp_status uvmp_thrash_migrate(struct uvmp_thrash_space *space,
					      struct uvmp_thrash_block *block,
					      const struct uvmp_thrash_migration *migration);

/* Reports that access of `proc` to pages was revoked. Errors and cost as above. */
UVMP_API enum uvmp_status uvmp_thrash_revoke(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block,
					     struct uvmp_region region, uint32_t proc, uint64_t now_ns);

/* Resets the thrashing pages of the region, as after migrations that the user asks for, read duplication and
 * unmapping. O(thrashing pages). */
UVMP_API enum uvmp_status uvmp_thrash_reset(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block,
					    struct uvmp_region region);

/* -- hints [driver: thrashing-hint] -- */

enum uvmp_thrash_hint_kind { UVMP_THRASH_NONE = 0, UVMP_THRASH_PIN = 1, UVMP_THRASH_THROTTLE = 2 };

struct uvmp_thrash_facts {
	uint32_t page;
	uint32_t requester; /* processor that faulted */
	uint32_t preferred; /* preferred location; without has_preferred 0 or UVMP_PROC_NONE */
	uint64_t residents; /* processors that hold the page; 0: none */
	bool is_hmm;	    /* a page that no processor holds counts as the CPU's */
	uint64_t now_ns;    /* above 0 */
	bool has_preferred; /* the page has a preferred location: `preferred` */
};

struct uvmp_thrash_hint {
	enum uvmp_thrash_hint_kind kind;
	uint32_t pin_to;   /* PIN: processor, else UVMP_PROC_NONE */
	uint64_t procs;	   /* PIN: processors that should be able to reach the page, else 0 */
	uint64_t until_ns; /* THROTTLE, else 0 */
};

/* Gives the hint for a fault, and changes the state: a page with hint PIN counts as pinned, a processor with
 * hint THROTTLE counts as throttled, and the lapse adapts. If the call pins the first page of the queue, the
 * host arms its timer, see uvmp_thrash_unpin_us. UVMP_ERR_RANGE: also if the page had enough events to
 * thrash, and a processor that does not exist holds it or took part in its events. O(processors), plus
 * O(pages) per epoch reset. */
UVMP_API enum uvmp_status uvmp_thrash_decide(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block,
					     const struct uvmp_processors *processors,
					     const struct uvmp_thrash_facts *facts,
					     struct uvmp_thrash_hint *hint);

/* -- the unpin worker [driver: pin-and-reset] -- */

#define UVMP_THRASH_IDLE UINT64_MAX

/* Microseconds until the worker should run, rounded down; 0 if the worker is due; UVMP_THRASH_IDLE if no page
 * is queued or space is not valid. */
UVMP_API uint64_t uvmp_thrash_unpin_us(const struct uvmp_thrash_space *space, uint64_t now_ns);

/* Would uvmp_thrash_unpin find a page now? The page is space->first. Hosts ask to lock the block of the page
 * before they unpin it. False if space is not valid. O(1). */
UVMP_API bool uvmp_thrash_unpin_is_due(const struct uvmp_thrash_space *space, uint64_t now_ns);

/* Unpins and resets the page at the head of the queue if its deadline is at most 20 us ahead. *block and
 * *page then name the page, and *found is true. The host unmaps the page from each processor without a copy
 * that is not "accessed by". Repeat until *found is false (*block and *page are then not written), then arm
 * the timer with uvmp_thrash_unpin_us. O(1). */
UVMP_API enum uvmp_status uvmp_thrash_unpin(struct uvmp_thrash_space *space, uint64_t now_ns,
					    struct uvmp_thrash_block **block, uint32_t *page, bool *found);

#ifdef __cplusplus
}
#endif
#endif
