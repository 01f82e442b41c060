/* agents.h: the warps and threads of the untimed driver that wait for a page.
 *
 * An agent stalls when it may not do what it wants with a page. Its fault is written into the fault buffer; if
 * that is full, as soon as it is not. A replay lets those go on whose page has come, and the others fault again:
 * first those whose fault has not been written since the replay before, each kind in the order of stalling.
 *
 * What a replay costs follows from what there is to do: a look at the agents of blocks that have changed, and
 * the faults for which the buffer has room. */
#ifndef UVMSIM_AGENTS_H
#define UVMSIM_AGENTS_H

#include "space.h"

#define AGENTS_UTLBS 64u /* agents share uTLBs: agent modulo this */

struct agent {
	struct sim_block *block;
	uint64_t stall; /* number of its last stall, from 1 on */
	uint32_t page;
	enum uvmp_access access;
	uint32_t next, previous; /* those that wait for the same block: 1 + number, 0: none */
	uint32_t
		unwritten; /* 1 + its place in the heap of agents whose fault could not be written yet; 0: not there */
	bool is_stalled;
};

/* An agent, for sorting. */
struct agent_turn {
	uint64_t stall;
	uint32_t agent;
};

struct agents {
	struct agent *agent;
	uint32_t count;	  /* numbers from 0 on that have room */
	uint32_t stalled; /* so many wait */
	uint64_t stalls;  /* so many have, ever */
	/* private */
	uint32_t *unwritten; /* heap: the oldest stall first */
	uint32_t unwritten_count;
	struct agent_turn *written; /* agents whose fault was written since the last replay, */
	struct agent_turn *before;  /* and before it: scratch, also for those that go on */
	uint32_t written_count;
	struct sim_block *
		*changed; /* blocks with waiting agents whose rights have changed since the last replay */
	uint32_t changed_count, changed_room;
};

/* Room for agent `index`. False: out of memory. */
bool agents_grow(struct agents *agents, uint32_t index);
void agents_close(struct agents *agents);
/* The agent, which does not wait, waits for the page; its fault is written if there is room. */
void agents_stall(struct agents *agents, struct uvmp_service *service, uint32_t index,
		  struct sim_block *block, uint32_t page, enum uvmp_access access);
/* Writes faults that found the buffer full. Cheap if there are none. */
void agents_report(struct agents *agents, struct uvmp_service *service);
/* The GPU's rights on pages of the block are about to change. False: out of memory. */
bool agents_see_change(struct agents *agents, struct sim_block *block);
/* A replay: ends the waiting of those whose page has come. *went (until the next call) lists them, if in_order in
 * the order of stalling; block and page of each are still there. */
uint32_t agents_release(struct agents *agents, bool in_order, const struct agent_turn **went);
/* And behind it: the others fault again. */
void agents_fault_again(struct agents *agents, struct uvmp_service *service);

#endif
