/* Breadth-first search, topological with a frontier kept in flags, two kernels a pass (Harish and Narayanan,
 * HiPC 2007): vertices on the frontier leave it, and give their ends that were not visited in earlier passes
 * a level and a place on the next frontier; then that becomes the frontier. No atomics: several threads may
 * store the same level. */
#include "graph_warp.h"

enum { LEVELS, FRONTIER, UPDATING, VISITED, FLAG };
enum { FRONT = 0, SEEN = WALK_END, OWN, STORE, MARK, OVER, LEAVE };
enum { NEXT = 0, ENTER, VISIT, CLEAR, RAISE };

struct bfs {
	struct graph_state g;
	uint32_t *level;
	bool *is_front, *is_updating, *is_visited;
	bool is_second; /* the kernel that runs is the second of its pass */
};

static bool bfs_open(struct workload *workload)
{
	struct bfs *bfs;
	uint64_t vertices;

	if (!graph_open(workload, sizeof(*bfs), false))
		return false;
	bfs = workload->state;
	vertices = bfs->g.graph.vertices;
	bfs->level = graph_array_of(&bfs->g, vertices, GRAPH_INFINITY);
	bfs->is_front = graph_array(&bfs->g, vertices, 1);
	bfs->is_updating = graph_array(&bfs->g, vertices, 1);
	bfs->is_visited = graph_array(&bfs->g, vertices, 1);
	if (bfs->level == NULL || bfs->is_front == NULL || bfs->is_updating == NULL ||
	    bfs->is_visited == NULL)
		return false;
	bfs->g.result = bfs->level;
	bfs->level[bfs->g.root] = 0;
	bfs->is_front[bfs->g.root] = bfs->is_visited[bfs->g.root] = true;
	graph_fresh(workload, "levels", vertices, 4);
	graph_fresh(workload, "frontier", vertices, 1);
	graph_fresh(workload, "updating", vertices, 1);
	graph_fresh(workload, "visited", vertices, 1);
	graph_range(workload, "over", 1, 1);
	graph_add(workload);
	return true;
}

static bool bfs_launch(struct workload *workload)
{
	struct bfs *bfs = workload->state;
	static const char *const name[] = {"bfs_tf_visit", "bfs_tf_advance"};

	bfs->g.is_filling = workload->kernels_done == 0;
	bfs->is_second = !bfs->g.is_filling && workload->kernels_done % 2 == 0;
	if (workload->kernels_done > 1 && !bfs->is_second && !bfs->g.is_again)
		return false;
	bfs->g.is_again = false;
	graph_grid(workload, bfs->g.is_filling ? "initialize" : name[bfs->is_second], bfs->g.graph.vertices);
	return true;
}

static uint32_t flagged(const bool *flag, const struct workload_slot *slot, uint32_t alive)
{
	uint64_t first = graph_first(slot);
	uint32_t mask = 0;

	for (unsigned lane = 0; lane < 32 && alive >> lane != 0; lane++)
		mask |= (uint32_t)flag[first + lane] << lane;
	return mask;
}

static void set_flags(bool *flag, const struct workload_slot *slot, uint32_t mask, bool value)
{
	while (mask != 0)
		flag[graph_first(slot) + graph_take(&mask)] = value;
}

static uint32_t unvisited_ends(const struct bfs *bfs, const struct workload_slot *slot, uint32_t mask)
{
	uint32_t unvisited = 0;

	while (mask != 0) {
		unsigned lane = graph_take(&mask);

		unvisited |= (uint32_t)!bfs->is_visited[graph_end(&bfs->g, slot, lane)] << lane;
	}
	return unvisited;
}

static void store(struct bfs *bfs, const struct workload_slot *slot, uint32_t mask)
{
	while (mask != 0) {
		unsigned lane = graph_take(&mask);
		uint32_t end = graph_end(&bfs->g, slot, lane);

		bfs->level[end] = bfs->level[graph_vertex(&bfs->g, slot, lane)] + 1;
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
		slot->own[0] = flagged(bfs->is_updating, slot, alive);
		graph_threads(workload, slot, UVMP_ACCESS_READ, UPDATING, 1, 0, alive);
		return true;
	case ENTER:
		if (mask == 0)
			return false;
		set_flags(bfs->is_front, slot, mask, true);
		graph_threads(workload, slot, UVMP_ACCESS_WRITE, FRONTIER, 1, 0, mask);
		return workload_go_on(slot);
	case VISIT:
		set_flags(bfs->is_visited, slot, mask, true);
		graph_threads(workload, slot, UVMP_ACCESS_WRITE, VISITED, 1, 0, mask);
		return workload_go_on(slot);
	case CLEAR:
		set_flags(bfs->is_updating, slot, mask, false);
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
		mask = graph_alive(&bfs->g, slot);
		if (mask == 0)
			return false;
		slot->own[0] = flagged(bfs->is_front, slot, mask);
		slot->step = slot->own[0] != 0 ? LEAVE : OVER;
		graph_threads(workload, slot, UVMP_ACCESS_READ, FRONTIER, 1, 0, mask);
		return true;
	case LEAVE:
		set_flags(bfs->is_front, slot, mask, false);
		slot->step = WALK_START;
		graph_threads(workload, slot, UVMP_ACCESS_WRITE, FRONTIER, 1, 0, mask);
		return true;
	case SEEN:
		slot->own[1] = unvisited_ends(bfs, slot, mask);
		graph_ends(workload, slot, UVMP_ACCESS_READ, VISITED, 1, mask);
		if (slot->own[1] != 0)
			slot->step = OWN;
		else
			graph_next_edges(slot);
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
	return bfs->is_second ? advance(workload, slot) : visit(workload, slot);
}

const struct workload_type workload_bfs_tf = {
        .name = "bfs_tf",
        .summary = "breadth-first search, topological-frontier (GraphBIG)" GRAPH_SIZES,
        .param = {GRAPH_PARAMS(8), WORKLOAD_AGENTS},
        .open = bfs_open,
        .close = graph_close,
        .launch = bfs_launch,
        .span = bfs_span,
};
