/* Breadth-first search, topological and warp-centric (Hong et al., PPoPP 2011): in every pass a warp looks
 * through 32 vertices one by one; of those of the level in hand it takes 32 edges at a time, one a lane, and
 * stores the next level for ends that have none yet. */
#include "graph_warp.h"

enum { LEVEL = 0, OFFSETS, EDGES, SEEN, RAISE, STORE };

static bool bfs_launch(struct workload *workload)
{
	return graph_launch(workload, "bfs_twc", NULL);
}

/* For the next vertex of the level in hand. */
static bool look(struct workload *workload, struct workload_slot *slot)
{
	const struct graph_state *state = workload->state;
	uint32_t wanted = graph_equal(state, slot, state->level, state->pass, graph_ahead(state, slot));

	return graph_look(workload, slot, GRAPH_LEVELS, 4, wanted, OFFSETS);
}

static void store(struct graph_state *state, const struct workload_slot *slot, uint32_t vertex, uint32_t mask)
{
	const uint32_t *end = state->graph.edge + state->graph.offset[vertex] + slot->row;

	while (mask != 0)
		state->level[end[graph_take(&mask)]] = state->pass + 1;
	state->is_again = true;
}

static void next_run(struct workload_slot *slot)
{
	slot->row += 32;
	slot->step = EDGES;
}

static bool bfs_span(struct workload *workload, struct workload_slot *slot)
{
	static const struct graph_use fill[] = {{GRAPH_LEVELS, 4, 0, UVMP_ACCESS_WRITE}};
	struct graph_state *state = workload->state;
	uint32_t vertex = (uint32_t)(graph_first(slot) + slot->own[0]), mask = (uint32_t)slot->own[1];

	if (state->is_filling)
		return GRAPH_STRAIGHT(workload, slot, fill);
	switch (slot->step) {
	case OFFSETS:
		slot->step = EDGES;
		graph_row(workload, slot, vertex);
		return true;
	case EDGES:
		if (graph_run(state, slot, vertex) != 0) {
			slot->step = SEEN;
			graph_run_edges(workload, slot, state->edges, 8, vertex);
			return true;
		}
		slot->own[0]++;
		slot->step = LEVEL;
		return look(workload, slot);
	case SEEN:
		mask = graph_run_equal(state, slot, state->level, GRAPH_INFINITY, vertex);
		slot->own[1] = mask;
		graph_run_ends(workload, slot, UVMP_ACCESS_READ, GRAPH_LEVELS, 4, vertex,
		               graph_lanes(graph_run(state, slot, vertex)));
		if (mask != 0)
			slot->step = STORE;
		else
			next_run(slot);
		return true;
	case STORE:
		slot->step = RAISE;
		store(state, slot, vertex, mask);
		graph_run_ends(workload, slot, UVMP_ACCESS_WRITE, GRAPH_LEVELS, 4, vertex, mask);
		return workload_go_on(slot);
	case RAISE:
		graph_one(workload, slot, UVMP_ACCESS_WRITE, GRAPH_FLAG, 0, 1);
		next_run(slot);
		return true;
	default:
		return look(workload, slot);
	}
}

const struct workload_type workload_bfs_twc = {
        .name = "bfs_twc",
        .summary = "breadth-first search, topological-warp-centric (GraphBIG)" GRAPH_SIZES,
        .param = {GRAPH_PARAMS(21, 8), WORKLOAD_AGENTS},
        .open = graph_open_search,
        .close = graph_close,
        .launch = bfs_launch,
        .span = bfs_span,
};
