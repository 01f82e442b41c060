/* staged.h: victims of evictions whose write-backs wait for the link, with maps_copies [uvmsmart: cancellation].
 *
 * The engine has decided that these victims leave. The GPU can use their pages until the write-back begins. A use withdraws the
 * victim: the engine takes the pages back and names another victim (uvmp_service_withdraw), which gets the place on the link.
 */
#ifndef UVMSIM_STAGED_H
#define UVMSIM_STAGED_H

#include "../host.h"

/* What an eviction changes in the counts and masks of a block, as it was before. */
struct staged_past {
	uvmp_mask evicted, written, unused;
};

struct staged_victim {
	struct sim_block *block;
	uvmp_mask pages;
	struct staged_past past;
	uint64_t begin_ns, end_ns; /* of the write-back */
	bool is_first;		   /* the first part of its eviction */
	bool is_used, is_over;	   /* a use waits for the engine; withdrawn, or refused by the engine */
};

/* A place in the queue of the link that a withdrawn victim has left. */
struct staged_place {
	uint64_t begin_ns, end_ns;
	uint32_t pages;
};

struct staged {
	struct staged_victim *victim; /* [first .. count), in the order of the evictions */
	size_t first, count, room;
	size_t used;	  /* victims with is_used */
	uint64_t used_ns; /* of the first of these uses */
	struct staged_victim back; /* that the engine takes back, if is_back */
	bool is_back;
	struct staged_place *place; /* the place of `back`, if is_back, is the last one */
	size_t places, places_room;
	struct staged_place taken; /* by the current victim; pages: those whose copies are not submitted yet */
};

/* Adds a victim, whose block is as before the eviction. False: out of memory. */
bool staged_add(struct staged *staged, const struct staged_victim *victim, uint64_t now_ns);
/* The write-back of the victim that was added last with this page begins and ends then; nothing if none was. */
void staged_note_times(struct staged *staged, const struct sim_block *block, uint32_t page, uint64_t begin_ns, uint64_t end_ns);
/* The page is used at now_ns. True: it is one of a victim that waits, and whose first use this is. */
bool staged_use(struct staged *staged, const struct sim_block *block, uint32_t page, uint64_t now_ns);
/* Makes the next victim that was used, and whose write-back begins after now_ns, `back`, and its place free. False: every use
 * has been dealt with, or memory is short. */
bool staged_take(struct staged *staged, uint64_t now_ns);
/* The engine has refused: `back` keeps its place. */
void staged_refuse(struct staged *staged);
/* The engine has taken `back` back: its block and the counts of the host are as before the eviction. */
void staged_restore(struct staged *staged, struct host *host);
/* A victim of so many pages leaves. Its pages take free places, the last one first; staged->taken says how many do, and when. */
void staged_fill(struct staged *staged, uint32_t pages);
/* Submits a transfer of so many pages of the victim: returns how many of them use its free places, each place once. */
uint32_t staged_place_pages(struct staged *staged, uint32_t pages);
/* Is the action about pages of `back`, which the GPU has and reaches all the time? */
bool staged_returns(const struct staged *staged, const struct uvmp_action *action);
void staged_close(struct staged *staged);

#endif
