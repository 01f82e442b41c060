/* What the programs over graphs share: the graph in GPU memory, and what a warp does with rows of it.
 *
 * They are the GPU programs of GraphBIG (Nai et al., SC'15) that Kim et al. ASPLOS'20 run (section 5.1
 * of their paper), with GraphBIG's arrays in the order of their allocation: offsets of vertices
 * + 1 and edges of 8 bytes, levels, colours, ranks and the like of 4, flags of one; thread blocks of 1024
 * threads, fewer when there are fewer vertices. The kernel that fills the arrays with their first values is
 * run too; what the host copies is not.
 *
 * The algorithm runs for real, in the order in which the warps take their turns: what a step reads decides
 * what the warp does next, and a store counts from the step that makes it. So a vertex that two warps see
 * unvisited at the same time is stored by both, as on a GPU. */
#ifndef UVMSIM_GRAPH_WARP_H
#define UVMSIM_GRAPH_WARP_H

#include "graph.h"
#include "workload.h"

#define GRAPH_THREADS	 1024u /* of a thread block */
#define GRAPH_INFINITY	 UINT32_MAX
#define GRAPH_ARRAYS_MAX 8

/* Every such workload's first parameters, with the scale and degree that it has by default. */
enum { GRAPH_SCALE, GRAPH_DEGREE, GRAPH_SKEW, GRAPH_FILE, GRAPH_DIRECTED, GRAPH_OWN };
#define GRAPH_PARAMS(start_scale, start_degree)                                                              \
	{"scale", "vertices of a generated graph (R-MAT), as a power of two", 1, 26, start_scale, false},    \
		{"degree", "its edges per vertex, each counted at both ends", 1, 64, start_degree, false},   \
		{"skew",                                                                                     \
		 "how uneven they are, in percent of R-MAT's usual; 0: all vertices are alike",              \
		 0,                                                                                          \
		 GRAPH_SKEW_MAX,                                                                             \
		 GRAPH_SKEW_MAX,                                                                             \
		 false},                                                                                     \
		{"file", "edge list to use instead: lines `u v` or `u v w`", 3, WORKLOAD_TEXT, 1, false},    \
	{                                                                                                    \
		"directed", "1: edges of the file go one way only", 0, 1, 0, false                           \
	}
/* The first own parameter of programs with worklists; GraphBIG's room is part of the text. */
#define GRAPH_ROOM GRAPH_OWN
#define GRAPH_WORKLIST(graphbig)                                                                             \
	{                                                                                                    \
		"worklist",                                                                                  \
			"entries that a worklist has room for, at least one per vertex; "                    \
			"GraphBIG: " graphbig,                                                               \
			0, UINT32_MAX, 0, false                                                              \
	}
/* Published: footprints of 26 to 349 MB, 74 MB on average (Kim et al. ASPLOS'20, section 5.1). */
#define GRAPH_SIZES "; 26 MB: scale=17,degree=23; 74 MB: scale=18,degree=34; 349 MB: scale=20,degree=40"

/* An array of 4-byte or other elements per thread, as a kernel without conditions uses it. */
struct graph_use {
	uint8_t range, bytes, shift; /* thread t uses element t + shift */
	enum uvmp_access access;
};

/* A worklist: its items, and the ranges of those and of the word that says where it ends. */
struct graph_list {
	uint32_t *item;
	uint64_t length;
	unsigned items, end;
};

struct graph_state {
	struct graph graph;
	uint32_t root;		   /* where a search starts: the vertex with the most edges */
	unsigned offsets, edges;   /* their ranges */
	uint32_t pass;		   /* its number, from 0: also the level or colour in hand */
	bool is_again;		   /* the flag by which the GPU requests another pass */
	bool is_filling;	   /* the kernel that runs is the one that fills the arrays */
	bool is_second;		   /* it is the second one of its pass */
	uint32_t *level;	   /* of each vertex, in searches by levels; the root's is 0 */
	struct graph_list list[2]; /* used in turns, see graph_list_now() */
	/* the worklist that drives the kernel; NULL: all vertices in order */
	const uint32_t *item;
	uint64_t threads; /* of the kernel: vertices or items */
	void *array[GRAPH_ARRAYS_MAX];
	unsigned arrays;
	/* the answer, for tests */
	const uint32_t *result;
	const uint64_t *wide_result;
};

/* Makes workload->state, `bytes` large and beginning with a graph_state, and its graph from the parameters.
 * False: out of memory, or workload->source.error says what is wrong with the file. */
bool graph_open(struct workload *workload, size_t bytes, bool is_weighted);
void graph_close(struct workload *workload);
/* An array that lives as long as the state. NULL: out of memory. Those of u32 are filled with a value. */
void *graph_array(struct graph_state *state, uint64_t count, size_t size);
uint32_t *graph_array_of(struct graph_state *state, uint64_t count, uint32_t value);
/* There was memory for all of them. */
bool graph_has_arrays(const struct graph_state *state);
/* Adds a range of `count` elements; returns its number. */
unsigned graph_range(struct workload *workload, const char *name, uint64_t count, uint64_t bytes);
/* The same with nothing in it: the GPU fills it, or writes it before it reads it. */
unsigned graph_fresh(struct workload *workload, const char *name, uint64_t count, uint64_t bytes);
/* Adds the ranges of the graph itself. */
void graph_add(struct workload *workload);
/* Makes two worklists, both empty, with room for GRAPH_ROOM entries, and adds their ranges. False: out of
 * memory. */
bool graph_add_lists(struct workload *workload);

/* Opens a search by levels: graph_open(), the levels, and their range, GRAPH_LEVELS. False as there. */
bool graph_open_levels(struct workload *workload, size_t bytes);
/* The whole open of one whose state is graph_state: the range GRAPH_FLAG, and then the graph. */
bool graph_open_search(struct workload *workload);
enum { GRAPH_LEVELS, GRAPH_FLAG };

/* -- kernels -- */

/* The kernel: its name and the grid of so many threads, or of a warp per 32 of them. */
void graph_grid(struct workload *workload, const char *kernel, uint64_t threads);
/* The launch of a program that fills its arrays and then makes passes over all vertices, of one kernel or
 * (second is not NULL) two, until a pass has ended without is_again being set by its last kernel. Sets pass,
 * is_filling and is_second. */
bool graph_launch(struct workload *workload, const char *first, const char *second);
/* The same with passes of one kernel over the worklist, until that is empty. */
bool graph_launch_list(struct workload *workload, const char *kernel);

/* The worklist that drives this pass, and the one that this pass fills for the next. */
static inline struct graph_list *graph_list_now(struct graph_state *state)
{
	return &state->list[state->pass % 2];
}

static inline struct graph_list *graph_list_next(struct graph_state *state)
{
	return &state->list[1 - state->pass % 2];
}

/* -- a thread per vertex or item -- */

/* First of the warp's 32 threads; in warp-centric kernels, the first of its 32 vertices or items. */
static inline uint64_t graph_first(const struct workload_slot *slot)
{
	return (slot->block * (GRAPH_THREADS / 32) + slot->warp) * 32;
}

/* Those of its lanes that have something to do. */
uint32_t graph_alive(const struct graph_state *state, const struct workload_slot *slot);

/* The first `count` lanes, 0..32. */
static inline uint32_t graph_lanes(uint64_t count)
{
	return count >= 32 ? UINT32_MAX : ((uint32_t)1 << count) - 1;
}

/* The first lane of the mask (not 0), which leaves it. */
static inline unsigned graph_take(uint32_t *mask)
{
	unsigned lane = (unsigned)__builtin_ctz(*mask);

	*mask &= *mask - 1;
	return lane;
}

static inline uint32_t graph_vertex(const struct graph_state *state, const struct workload_slot *slot,
				    unsigned lane)
{
	uint64_t thread = graph_first(slot) + lane;

	return state->item != NULL ? state->item[thread] : (uint32_t)thread;
}

/* Which end the lane has in hand: the slot's row counts the edges of every lane. */
static inline uint64_t graph_edge(const struct graph_state *state, const struct workload_slot *slot,
				  unsigned lane)
{
	return state->graph.offset[graph_vertex(state, slot, lane)] + slot->row;
}

static inline uint32_t graph_end(const struct graph_state *state, const struct workload_slot *slot,
				 unsigned lane)
{
	return state->graph.edge[graph_edge(state, slot, lane)];
}

/* Of the lanes of the mask, those whose vertex has that value, or a flag; those whose end in hand has that
 * value, or no flag. */
uint32_t graph_equal(const struct graph_state *state, const struct workload_slot *slot, const uint32_t *array,
		     uint32_t value, uint32_t mask);
uint32_t graph_flagged(const struct graph_state *state, const struct workload_slot *slot, const bool *flag,
		       uint32_t mask);
uint32_t graph_ends_equal(const struct graph_state *state, const struct workload_slot *slot,
			  const uint32_t *array, uint32_t value, uint32_t mask);
uint32_t graph_ends_unflagged(const struct graph_state *state, const struct workload_slot *slot,
			      const bool *flag, uint32_t mask);
/* Stores the value for each lane's vertex; for the end that each has in hand. */
void graph_set_flags(const struct graph_state *state, const struct workload_slot *slot, bool *flag,
		     bool value, uint32_t mask);
void graph_set_ends(const struct graph_state *state, const struct workload_slot *slot, uint32_t *array,
		    uint32_t value, uint32_t mask);

/* -- steps: each sets the slot's next one, for the lanes of the mask (not 0) -- */

/* One element for all lanes. */
void graph_one(struct workload *workload, struct workload_slot *slot, enum uvmp_access access, unsigned range,
	       uint64_t index, uint32_t bytes);
/* Element t + shift of thread t. */
void graph_threads(struct workload *workload, struct workload_slot *slot, enum uvmp_access access,
		   unsigned range, uint32_t bytes, unsigned shift, uint32_t mask);
/* The element of each lane's vertex, shifted. */
void graph_vertices(struct workload *workload, struct workload_slot *slot, enum uvmp_access access,
		    unsigned range, uint32_t bytes, unsigned shift, uint32_t mask);
/* The element of the end that each lane has in hand. */
void graph_ends(struct workload *workload, struct workload_slot *slot, enum uvmp_access access,
		unsigned range, uint32_t bytes, uint32_t mask);

/* Threads go through the edges of their vertices, in lockstep: steps WALK_START..WALK_EDGE read where the
 * edges begin and where they end, then one edge a lane, behind which the workload does with the ends what it
 * does in steps of its own, from WALK_END on; then it calls graph_next_edges(). own[0] is the mask of those
 * that walk. False, without a step: none has an edge left. */
enum { WALK_START = 1, WALK_STOP, WALK_EDGE, WALK_END };
bool graph_walk(struct workload *workload, struct workload_slot *slot);
static inline void graph_next_edges(struct workload_slot *slot)
{
	slot->row++;
	slot->step = WALK_EDGE;
}

/* On to that step, for the lanes of the mask, or to the next edges if there are none. */
static inline void graph_go(struct workload_slot *slot, uint64_t step, uint32_t mask)
{
	if (mask != 0)
		slot->step = step;
	else
		graph_next_edges(slot);
}

/* A kernel's first step: all threads load their elements, which chose those of the mask (of graph_alive());
 * they become own[0] and continue with step `then`, if there are any, else with `over`. False: no thread at
 * all. */
bool graph_choose(struct workload *workload, struct workload_slot *slot, unsigned range, uint32_t bytes,
		  uint32_t mask, uint64_t then, uint64_t over);

/* A kernel without conditions: the uses, one after the other; loads do not wait for each other, nor stores. */
bool graph_straight(struct workload *workload, struct workload_slot *slot, const struct graph_use *use,
		    unsigned uses);
#define GRAPH_STRAIGHT(workload, slot, uses)                                                                 \
	graph_straight(workload, slot, uses, (unsigned)(sizeof(uses) / sizeof((uses)[0])))

/* -- a warp per vertex: its lanes take 32 edges at a time; own[0] is the vertex in hand, of the warp's 32 -- */

/* The lanes of the vertex in hand and of those that follow. */
uint32_t graph_ahead(const struct graph_state *state, const struct workload_slot *slot);
/* The warp looks at the elements of those, which lie side by side: one step. The first that is wanted comes
 * in hand, and step `found` is next; without one, all are done with. False: there are none left. */
bool graph_look(struct workload *workload, struct workload_slot *slot, unsigned range, uint32_t bytes,
		uint32_t wanted, uint64_t found);
/* Where the vertex's edges begin and where they end. */
void graph_row(struct workload *workload, struct workload_slot *slot, uint32_t vertex);
/* So many of the vertex's edges are in hand, from slot->row (a multiple of 32) on: 0..32. */
uint32_t graph_run(const struct graph_state *state, const struct workload_slot *slot, uint32_t vertex);
/* Those edges, or another array that has an element for each of them. */
void graph_run_edges(struct workload *workload, struct workload_slot *slot, unsigned range, uint32_t bytes,
		     uint32_t vertex);
/* The elements of their ends; mask: of which of them. */
void graph_run_ends(struct workload *workload, struct workload_slot *slot, enum uvmp_access access,
		    unsigned range, uint32_t bytes, uint32_t vertex, uint32_t mask);
/* Which of their ends have that value. */
uint32_t graph_run_equal(const struct graph_state *state, const struct workload_slot *slot,
			 const uint32_t *array, uint32_t value, uint32_t vertex);

#endif
