/* Breadth-first search, topological with atomics: in every pass every vertex lowers the levels of its ends to
 * its own plus one, where they are higher, with atomicMin; there is no frontier, so vertices not reached yet
 * go through their edges too, and a level may be lowered several times. The own level is loaded again for
 * every edge, for another thread may have lowered it. */
#include "graph_warp.h"

enum { OWN = WALK_END, ENDS, MINIMUM, OVER };
#define CHANGED_BITS 32 /* own[1]: lanes that lower; above them, those that have lowered */

static bool bfs_launch(struct workload *workload)
{
	return graph_launch(workload, "bfs_ta", NULL);
}

/* GraphBIG's infinity can be incremented without overflow. */
static bool is_lower(const struct graph_state *state, const struct workload_slot *slot, unsigned lane)
{
	uint32_t own = state->level[graph_vertex(state, slot, lane)];

	return own != GRAPH_INFINITY && own + 1 < state->level[graph_end(state, slot, lane)];
}

static uint32_t lower_ends(const struct graph_state *state, const struct workload_slot *slot, uint32_t mask)
{
	uint32_t lower = 0;

	while (mask != 0) {
		unsigned lane = graph_take(&mask);

		lower |= (uint32_t)is_lower(state, slot, lane) << lane;
	}
	return lower;
}

/* The atomics, lane after lane; returns those that did lower a level. */
static uint32_t minimum(struct graph_state *state, const struct workload_slot *slot, uint32_t mask)
{
	uint32_t changed = 0;

	while (mask != 0) {
		unsigned lane = graph_take(&mask);

		if (!is_lower(state, slot, lane))
			continue;
		state->level[graph_end(state, slot, lane)] =
			state->level[graph_vertex(state, slot, lane)] + 1;
		changed |= (uint32_t)1 << lane;
	}
	return changed;
}

static bool bfs_span(struct workload *workload, struct workload_slot *slot)
{
	static const struct graph_use fill[] = {{GRAPH_LEVELS, 4, 0, UVMP_ACCESS_WRITE}};
	struct graph_state *state = workload->state;
	uint32_t lanes = (uint32_t)slot->own[0], lower = (uint32_t)slot->own[1];

	if (state->is_filling)
		return GRAPH_STRAIGHT(workload, slot, fill);
	if (slot->step == 0) {
		slot->own[0] = graph_alive(state, slot);
		slot->step = WALK_START;
		return slot->own[0] != 0 && graph_walk(workload, slot);
	}
	switch (slot->step) {
	case OWN:
		graph_vertices(workload, slot, UVMP_ACCESS_READ, GRAPH_LEVELS, 4, 0, lanes);
		slot->step = ENDS;
		return true;
	case ENDS:
		graph_ends(workload, slot, UVMP_ACCESS_READ, GRAPH_LEVELS, 4, lanes);
		lower = lower_ends(state, slot, lanes);
		slot->own[1] = slot->own[1] >> CHANGED_BITS << CHANGED_BITS | lower;
		graph_go(slot, MINIMUM, lower);
		return true;
	case MINIMUM:
		graph_ends(workload, slot, UVMP_ACCESS_ATOMIC_STRONG, GRAPH_LEVELS, 4, lower);
		slot->own[1] |= (uint64_t)minimum(state, slot, lower) << CHANGED_BITS;
		graph_next_edges(slot);
		return true;
	case OVER:
		return false;
	default:
		if (graph_walk(workload, slot)) {
			slot->goes_on |= slot->step == OWN; /* the own level is loaded beside the edge */
			return true;
		}
		if (slot->own[1] >> CHANGED_BITS == 0)
			return false;
		graph_one(workload, slot, UVMP_ACCESS_WRITE, GRAPH_FLAG, 0, 1);
		state->is_again = true;
		slot->step = OVER;
		return true;
	}
}

const struct workload_type workload_bfs_ta = {
	.name = "bfs_ta",
	.summary = "breadth-first search, topological-atomic (GraphBIG)" GRAPH_SIZES,
	.param = {GRAPH_PARAMS(17, 8), WORKLOAD_AGENTS},
	.open = graph_open_search,
	.close = graph_close,
	.launch = bfs_launch,
	.span = bfs_span,
};
