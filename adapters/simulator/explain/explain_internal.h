/* explain_internal.h: what the parts of explain share. From the lowest to the highest:
 *
 *   blocks.c    counts, and the table of blocks
 *   mirror.c    which processor holds which pages, as the log says
 *   subtree.c   how full the subtrees of a prefetch were
 *   sentence.c  one action in words
 *   story.c     what happened to the pages of a query
 *   summary.c   what happened to all blocks
 *   observe.c   events for observers
 *   explain.c   the reader of the log */
#ifndef UVMSIM_EXPLAIN_INTERNAL_H
#define UVMSIM_EXPLAIN_INTERNAL_H

#include <inttypes.h>
#include <stddef.h>

#include "explain.h"
#include "uvmpolicy/mask.h"
#include "uvmpolicy/service.h"

#define PAGE_BYTES_USUAL 4096u
#define BIG_PAGE_BYTES	 65536u
#define WINDOW_BYTES	 2097152u
#define KEPT_MAX	 2048u /* a group has at most two transfers per incoming page, and one per evicted page */
#define SPACES_SHOWN	 8u    /* of the log, in place of one that it lacks */
#define SUBTREES_MAX	 2u    /* in which a transfer of prefetched pages begins and ends */

/* What happened to pages, counted in pages. */
struct tally {
	uint64_t came[UVMP_CAUSE_COUNT];
	uint64_t left, bounces, throttles, pins;
};

/* The residency of a block on one processor. */
struct residency {
	struct residency *next;
	uvmp_mask holds;
	uvmp_mask maps;	  /* of the pages it holds */
	uvmp_mask before; /* the pages it held before the copies of step number `step` */
	uint64_t step;
	uint32_t processor;
};

struct block {
	uint64_t space, address;
	struct tally tally;
	uvmp_mask pinned;
	uint8_t left[UVMP_MASK_BITS]; /* the processor that the page left last; UVMP_PROC_NONE: none */
	/* for the story */
	struct residency *residency; /* a list */
	uint32_t extent;   /* pages up to the last one that the log has named; the block may be longer */
	uvmp_mask faulted; /* in step number `step` */
	uint64_t step;
};

/* A transfer that waits for the others of its step. */
struct kept {
	struct uvmp_action action; /* its `pages` are those of the transfer */
	uvmp_mask pages;
	uint64_t end_ns; /* the action completed then; 0: not known */
};

/* A subtree that a prefetcher chose. */
struct node {
	uint64_t address, bytes;
	uint32_t set, big_pages; /* big pages: with a page that faulted or was there, and all */
};

/* Why pages were prefetched: others of their big pages faulted, or enough of their subtrees was set. */
struct subtree {
	uint32_t own; /* big pages that arrived for their own fault; 0: the pages of subtrees, namely: */
	uint32_t nodes;
	struct node node[SUBTREES_MAX];
};

struct explanation {
	const struct explain_query *query;
	FILE *out;
	bool has_id;
	uint64_t last_id; /* of the actions so far, if has_id */
	struct tally tally;

	/* story */
	uvmp_mask pinned;
	bool has_told;
	uint64_t space;	   /* of the first action told */
	uint64_t step;	   /* copies of one group are a step; steps are numbered from 1 */
	struct kept *kept; /* [KEPT_MAX] */
	size_t kept_count;

	/* if the query has an address space */
	bool is_in_space;		     /* the log has an action of it */
	bool has_more_spaces;		     /* than these: */
	uint64_t named_space[SPACES_SHOWN]; /* of the log, by first sight */
	size_t named_spaces;

	struct explanation *seen; /* observers: a table of all blocks, whose `faulted` are the pages that were evicted */

	/* summary, and the blocks of the story */
	struct block *block;
	uint32_t *slot; /* number of the block plus 1; 0: free */
	size_t blocks, room, slots;
	uint64_t kinds[UVMP_ACTION_COUNT];
	struct {
		uint64_t copies, pages, bytes, zeroed;
	} cause[UVMP_CAUSE_COUNT];
};

static inline uint32_t page_bytes(const struct uvmp_action *action)
{
	return action->page_bytes != 0 ? action->page_bytes : PAGE_BYTES_USUAL;
}

static inline bool is_eviction(const struct uvmp_action *action)
{
	return action->cause == UVMP_CAUSE_EVICTION;
}

/* Does it begin the time in which its pages are pinned, if they are not yet? */
static inline bool is_pinning(const struct uvmp_action *action)
{
	return action->cause == UVMP_CAUSE_PIN &&
	       (action->kind == UVMP_ACTION_COPY || action->kind == UVMP_ACTION_POPULATE ||
		action->kind == UVMP_ACTION_MAP);
}

/* A finding of runtime=on concerns all later actions, for each page that a query names. */
static inline bool is_finding(const struct uvmp_action *action)
{
	return action->kind == UVMP_ACTION_PATTERN;
}

/* A conclusion of runtime=on concerns all address spaces. */
static inline bool is_conclusion(const struct uvmp_action *action)
{
	return is_finding(action) && action->is_changed;
}

static inline const char *explain_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* -- blocks.c -- */

/* Counts what an action does to `pages`, a subset of its own. */
void explain_count_pages(struct tally *tally, uvmp_mask *pinned, const struct uvmp_action *action,
			 const uvmp_mask *pages);
/* The pages that arrived, for any cause. */
uint64_t explain_arrived(const struct tally *tally);
/* NULL: the log has not named the block. */
struct block *explain_look_up(const struct explanation *explanation, uint64_t space, uint64_t address);
/* The same; a block that is not there is added. NULL: out of memory. */
struct block *explain_find_block(struct explanation *explanation, uint64_t space, uint64_t address);

/* -- mirror.c -- */

/* Applies the action to its block. False: out of memory. */
bool explain_mirror(struct explanation *explanation, const struct uvmp_action *action);
void explain_free_mirror(struct block *block);

/* -- subtree.c -- */

/* Finds why these pages of the action were fetched. If all big pages of their subtrees were set, they would have come
 * without a subtree. False: the log does not say. */
bool explain_find_subtree(const struct explanation *explanation, const struct uvmp_action *action,
			  const uvmp_mask *pages, struct subtree *subtree);

/* -- sentence.c -- */

/* Prints and counts one action. `subtree`: of prefetched pages; NULL: not known. `end_ns`: the action completed then;
 * 0: not known. */
void explain_tell_action(struct explanation *explanation, const struct uvmp_action *action,
			 const uvmp_mask *pages, const struct subtree *subtree, uint64_t end_ns);

/* -- story.c -- */

/* False: out of memory. */
bool explain_take_of_story(struct explanation *explanation, const struct uvmp_action *action);
/* A copy of the step in hand has completed. */
void explain_take_completion(struct explanation *explanation, const struct uvmp_action *completion);
/* The log has ended: tells the copies of the last step. */
void explain_end_step(struct explanation *explanation);
/* The closing line. */
void explain_tell_tally(const struct explanation *explanation);

/* -- observe.c -- */

/* Tells the observers of the query, if there are any. False: out of memory. */
bool explain_observe(struct explanation *explanation, const struct uvmp_action *action);
void explain_end_observing(struct explanation *explanation);

/* -- summary.c -- */

/* False: out of memory. */
bool explain_count_action(struct explanation *explanation, const struct uvmp_action *action);
void explain_print_summary(struct explanation *explanation);

#endif
