/* agents.h: the agents of the untimed simulator. An agent stands for a warp of the GPU that takes turns with the others.
 *
 * An agent stalls if it lacks the right to a page. Its fault is written into the fault buffer; if the buffer is full, as
 * soon as it has room. At a replay the agents whose page has arrived continue, and the others fault again: first the
 * agents whose fault has not been written since the replay before, each kind in the order of stalling.
 *
 * The cost of a replay is proportional to the agents of blocks that have changed, and to the faults that the buffer has
 * room for. */
#ifndef UVMSIM_AGENTS_H
#define UVMSIM_AGENTS_H

#include "space.h"


struct agent {
	struct sim_block *block;
	uint64_t stall; /* number of its last stall, from 1 on */
	uint32_t page;
	enum uvmp_access access;
	uint32_t next, previous; /* agents that are stalled on the same block: 1 + number, 0: none */
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
	uint32_t stalled; /* how many wait now */
	uint64_t stalls;  /* how often one has stalled */
	/* private */
	uint32_t *unwritten; /* heap: the oldest stall first */
	uint32_t unwritten_count;
	struct agent_turn *written; /* agents whose fault was written since the last replay, */
	struct agent_turn *before;  /* and before it: scratch, also for agents that continue */
	uint32_t written_count;
	struct sim_block *
		*changed; /* blocks with waiting agents whose rights have changed since the last replay */
	uint32_t changed_count, changed_room;
};

/* Room for agent `index`. False: out of memory. */
bool agents_grow(struct agents *agents, uint32_t index);
void agents_close(struct agents *agents);
/* The agent stalls on the page; its fault is written if there is room. */
void agents_stall(struct agents *agents, struct uvmp_service *service, uint32_t index,
		  struct sim_block *block, uint32_t page, enum uvmp_access access);
/* Writes faults that found the buffer full. Cheap if there are none. */
void agents_report(struct agents *agents, struct uvmp_service *service);
/* The GPU's rights on pages of the block are about to change. False: out of memory. */
bool agents_see_change(struct agents *agents, struct sim_block *block);
/* A replay: the agents whose page has arrived continue. *went (until the next call) lists them, if in_order in the order
 * of stalling, with block and page. Returns how many. */
uint32_t agents_release(struct agents *agents, bool in_order, const struct agent_turn **went);
/* After agents_release: the other agents fault again. */
void agents_fault_again(struct agents *agents, struct uvmp_service *service);

#endif
