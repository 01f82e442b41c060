/* Breadth-first search, topological with atomics: in every pass every vertex lowers the levels of its ends to
 * its own plus one, where they are higher, with atomicMin; there is no frontier, so vertices not reached yet
 * go through their edges too, and a level may be lowered several times. The own level is loaded again for
 * every edge, for another thread may have lowered it. */
#include "graph_warp.h"

enum { LEVELS, FLAG };
enum { OWN = WALK_END, ENDS, MINIMUM, OVER };
#define CHANGED_BITS 32 /* own[1]: lanes that lower; above them, those that have lowered */

struct bfs {
	struct graph_state g;
	uint32_t *level;
};

static bool bfs_open(struct workload *workload)
{
	struct bfs *bfs;

	if (!graph_open(workload, sizeof(*bfs), false))
		return false;
	bfs = workload->state;
	bfs->level = graph_array_of(&bfs->g, bfs->g.graph.vertices, GRAPH_INFINITY);
	if (bfs->level == NULL)
		return false;
	bfs->g.result = bfs->level;
	bfs->level[bfs->g.root] = 0;
	graph_fresh(workload, "levels", bfs->g.graph.vertices, 4);
	graph_range(workload, "changed", 1, 1);
	graph_add(workload);
	return true;
}

static bool bfs_launch(struct workload *workload)
{
	struct bfs *bfs = workload->state;

	if (workload->kernels_done > 1 && !bfs->g.is_again)
		return false;
	bfs->g.is_filling = workload->kernels_done == 0;
	bfs->g.is_again = false;
	graph_grid(workload, bfs->g.is_filling ? "initialize" : "bfs_ta", bfs->g.graph.vertices);
	return true;
}

/* GraphBIG's infinity leaves room for adding one. */
static bool is_lower(const struct bfs *bfs, const struct workload_slot *slot, unsigned lane)
{
	uint32_t own = bfs->level[graph_vertex(&bfs->g, slot, lane)];

	return own != GRAPH_INFINITY && own + 1 < bfs->level[graph_end(&bfs->g, slot, lane)];
}

static uint32_t lower_ends(const struct bfs *bfs, const struct workload_slot *slot, uint32_t mask)
{
	uint32_t lower = 0;

	while (mask != 0) {
		unsigned lane = graph_take(&mask);

		lower |= (uint32_t)is_lower(bfs, slot, lane) << lane;
	}
	return lower;
}

/* The atomics, lane after lane; returns those that did lower a level. */
static uint32_t minimum(struct bfs *bfs, const struct workload_slot *slot, uint32_t mask)
{
	uint32_t changed = 0;

	while (mask != 0) {
		unsigned lane = graph_take(&mask);

		if (!is_lower(bfs, slot, lane))
			continue;
		bfs->level[graph_end(&bfs->g, slot, lane)] =
		        bfs->level[graph_vertex(&bfs->g, slot, lane)] + 1;
		changed |= (uint32_t)1 << lane;
	}
	return changed;
}

static bool bfs_span(struct workload *workload, struct workload_slot *slot)
{
	static const struct graph_use fill[] = {{LEVELS, 4, 0, UVMP_ACCESS_WRITE}};
	struct bfs *bfs = workload->state;
	uint32_t lanes = (uint32_t)slot->own[0], lower = (uint32_t)slot->own[1];

	if (bfs->g.is_filling)
		return GRAPH_STRAIGHT(workload, slot, fill);
	if (slot->step == 0) {
		slot->own[0] = graph_alive(&bfs->g, slot);
		slot->step = WALK_START;
		return slot->own[0] != 0 && graph_walk(workload, slot);
	}
	switch (slot->step) {
	case OWN:
		graph_vertices(workload, slot, UVMP_ACCESS_READ, LEVELS, 4, 0, lanes);
		slot->step = ENDS;
		return true;
	case ENDS:
		graph_ends(workload, slot, UVMP_ACCESS_READ, LEVELS, 4, lanes);
		lower = lower_ends(bfs, slot, lanes);
		slot->own[1] = slot->own[1] >> CHANGED_BITS << CHANGED_BITS | lower;
		if (lower != 0)
			slot->step = MINIMUM;
		else
			graph_next_edges(slot);
		return true;
	case MINIMUM:
		graph_ends(workload, slot, UVMP_ACCESS_ATOMIC_STRONG, LEVELS, 4, lower);
		slot->own[1] |= (uint64_t)minimum(bfs, slot, lower) << CHANGED_BITS;
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
		graph_one(workload, slot, UVMP_ACCESS_WRITE, FLAG, 0, 1);
		bfs->g.is_again = true;
		slot->step = OVER;
		return true;
	}
}

const struct workload_type workload_bfs_ta = {
        .name = "bfs_ta",
        .summary = "breadth-first search, topological-atomic (GraphBIG)" GRAPH_SIZES,
        .param = {GRAPH_PARAMS(8), WORKLOAD_AGENTS},
        .open = bfs_open,
        .close = graph_close,
        .launch = bfs_launch,
        .span = bfs_span,
};
