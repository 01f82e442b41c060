/* Breadth-first search, topological and thread-centric: in every pass a thread per vertex looks whether its
 * vertex is of the level in hand; those that are go through their edges, and store the next level for ends
 * that have none yet. */
#include "graph_warp.h"

enum { LEVEL = 0, SEEN = WALK_END, RAISE, STORE, OVER };

static bool bfs_launch(struct workload *workload)
{
	return graph_launch(workload, "bfs_ttc", NULL);
}

static bool bfs_span(struct workload *workload, struct workload_slot *slot)
{
	static const struct graph_use fill[] = {{GRAPH_LEVELS, 4, 0, UVMP_ACCESS_WRITE}};
	struct graph_state *state = workload->state;
	uint32_t mask = (uint32_t)slot->own[0], unvisited = (uint32_t)slot->own[1];

	if (state->is_filling)
		return GRAPH_STRAIGHT(workload, slot, fill);
	switch (slot->step) {
	case LEVEL:
		mask = graph_equal(state, slot, state->level, state->pass, graph_alive(state, slot));
		return graph_choose(workload, slot, GRAPH_LEVELS, 4, mask, WALK_START, OVER);
	case SEEN:
		unvisited = graph_ends_equal(state, slot, state->level, GRAPH_INFINITY, mask);
		slot->own[1] = unvisited;
		graph_ends(workload, slot, UVMP_ACCESS_READ, GRAPH_LEVELS, 4, mask);
		graph_go(slot, RAISE, unvisited);
		return true;
	case RAISE:
		slot->step = STORE;
		graph_one(workload, slot, UVMP_ACCESS_WRITE, GRAPH_FLAG, 0, 1);
		return workload_go_on(slot);
	case STORE:
		graph_set_ends(state, slot, state->level, state->pass + 1, unvisited);
		state->is_again = true;
		graph_ends(workload, slot, UVMP_ACCESS_WRITE, GRAPH_LEVELS, 4, unvisited);
		graph_next_edges(slot);
		return true;
	case OVER:
		return false;
	default:
		return graph_walk(workload, slot);
	}
}

const struct workload_type workload_bfs_ttc = {
        .name = "bfs_ttc",
        .summary = "breadth-first search, topological-thread-centric (GraphBIG)" GRAPH_SIZES,
        .param = {GRAPH_PARAMS(21, 8), WORKLOAD_AGENTS},
        .open = graph_open_search,
        .close = graph_close,
        .launch = bfs_launch,
        .span = bfs_span,
};
