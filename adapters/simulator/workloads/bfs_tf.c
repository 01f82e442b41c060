/* Breadth-first search, topological with a frontier kept in flags, two kernels a pass (Harish and Narayanan,
 * HiPC 2007): vertices on the frontier leave it, and give their ends that were not visited in earlier passes
 * a level and a place on the next frontier; then that becomes the frontier. No atomics: several threads may
 * store the same level. */
#include "graph_warp.h"

enum { LEVELS = GRAPH_LEVELS, FRONTIER, UPDATING, VISITED, FLAG };
enum { FRONT = 0, SEEN = WALK_END, OWN, STORE, MARK, OVER, LEAVE };
enum { NEXT = 0, ENTER, VISIT, CLEAR, RAISE };

struct bfs {
	struct graph_state g;
	bool *is_front, *is_updating, *is_visited;
};

static bool bfs_open(struct workload *workload)
{
	struct bfs *bfs;
	uint64_t vertices;

	if (!graph_open_levels(workload, sizeof(*bfs)))
		return false;
	bfs = workload->state;
	vertices = bfs->g.graph.vertices;
	bfs->is_front = graph_array(&bfs->g, vertices, 1);
	bfs->is_updating = graph_array(&bfs->g, vertices, 1);
	bfs->is_visited = graph_array(&bfs->g, vertices, 1);
	if (!graph_has_arrays(&bfs->g))
		return false;
	bfs->is_front[bfs->g.root] = bfs->is_visited[bfs->g.root] = true;
	graph_fresh(workload, "frontier", vertices, 1);
	graph_fresh(workload, "updating", vertices, 1);
	graph_fresh(workload, "visited", vertices, 1);
	graph_range(workload, "over", 1, 1);
	graph_add(workload);
	return true;
}

static bool bfs_launch(struct workload *workload)
{
	return graph_launch(workload, "bfs_tf_visit", "bfs_tf_advance");
}

static void store(struct bfs *bfs, const struct workload_slot *slot, uint32_t mask)
{
	while (mask != 0) {
		unsigned lane = graph_take(&mask);
		uint32_t end = graph_end(&bfs->g, slot, lane);

		bfs->g.level[end] = bfs->g.level[graph_vertex(&bfs->g, slot, lane)] + 1;
		bfs->is_updating[end] = true;
	}
}

/* The second kernel. */
static bool advance(struct workload *workload, struct workload_slot *slot)
{
	struct bfs *bfs = workload->state;
	uint32_t alive = graph_alive(&bfs->g, slot), mask = (uint32_t)slot->own[0];

	switch (slot->step++) {
	case NEXT:
		if (alive == 0)
			return false;
		slot->own[0] = graph_flagged(&bfs->g, slot, bfs->is_updating, alive);
		graph_threads(workload, slot, UVMP_ACCESS_READ, UPDATING, 1, 0, alive);
		return true;
	case ENTER:
		if (mask == 0)
			return false;
		graph_set_flags(&bfs->g, slot, bfs->is_front, true, mask);
		graph_threads(workload, slot, UVMP_ACCESS_WRITE, FRONTIER, 1, 0, mask);
		return workload_go_on(slot);
	case VISIT:
		graph_set_flags(&bfs->g, slot, bfs->is_visited, true, mask);
		graph_threads(workload, slot, UVMP_ACCESS_WRITE, VISITED, 1, 0, mask);
		return workload_go_on(slot);
	case CLEAR:
		graph_set_flags(&bfs->g, slot, bfs->is_updating, false, mask);
		graph_threads(workload, slot, UVMP_ACCESS_WRITE, UPDATING, 1, 0, mask);
		return workload_go_on(slot);
	case RAISE:
		bfs->g.is_again = true;
		graph_one(workload, slot, UVMP_ACCESS_WRITE, FLAG, 0, 1);
		return true;
	default:
		return false;
	}
}

/* The first kernel. */
static bool visit(struct workload *workload, struct workload_slot *slot)
{
	struct bfs *bfs = workload->state;
	uint32_t mask = (uint32_t)slot->own[0], unvisited = (uint32_t)slot->own[1];

	switch (slot->step) {
	case FRONT:
		mask = graph_flagged(&bfs->g, slot, bfs->is_front, graph_alive(&bfs->g, slot));
		return graph_choose(workload, slot, FRONTIER, 1, mask, LEAVE, OVER);
	case LEAVE:
		graph_set_flags(&bfs->g, slot, bfs->is_front, false, mask);
		slot->step = WALK_START;
		graph_threads(workload, slot, UVMP_ACCESS_WRITE, FRONTIER, 1, 0, mask);
		return true;
	case SEEN:
		unvisited = graph_ends_unflagged(&bfs->g, slot, bfs->is_visited, mask);
		slot->own[1] = unvisited;
		graph_ends(workload, slot, UVMP_ACCESS_READ, VISITED, 1, mask);
		graph_go(slot, OWN, unvisited);
		return true;
	case OWN:
		slot->step = STORE;
		graph_vertices(workload, slot, UVMP_ACCESS_READ, LEVELS, 4, 0, unvisited);
		return true;
	case STORE:
		slot->step = MARK;
		store(bfs, slot, unvisited);
		graph_ends(workload, slot, UVMP_ACCESS_WRITE, LEVELS, 4, unvisited);
		return workload_go_on(slot);
	case MARK:
		graph_ends(workload, slot, UVMP_ACCESS_WRITE, UPDATING, 1, unvisited);
		graph_next_edges(slot);
		return true;
	case OVER:
		return false;
	default:
		return graph_walk(workload, slot);
	}
}

static bool bfs_span(struct workload *workload, struct workload_slot *slot)
{
	static const struct graph_use fill[] = {{FRONTIER, 1, 0, UVMP_ACCESS_WRITE},
	                                        {UPDATING, 1, 0, UVMP_ACCESS_WRITE},
	                                        {VISITED, 1, 0, UVMP_ACCESS_WRITE},
	                                        {LEVELS, 4, 0, UVMP_ACCESS_WRITE}};
	struct bfs *bfs = workload->state;

	if (bfs->g.is_filling)
		return GRAPH_STRAIGHT(workload, slot, fill);
	return bfs->g.is_second ? advance(workload, slot) : visit(workload, slot);
}

const struct workload_type workload_bfs_tf = {
        .name = "bfs_tf",
        .summary = "breadth-first search, topological-frontier (GraphBIG)" GRAPH_SIZES,
        .param = {GRAPH_PARAMS(21, 8), WORKLOAD_AGENTS},
        .open = bfs_open,
        .close = graph_close,
        .launch = bfs_launch,
        .span = bfs_span,
};
