/* Breadth-first search, topological and thread-centric: in every pass a thread per vertex looks whether its
 * vertex is of the level in hand; those that are go through their edges, and store the next level for ends
 * that have none yet. */
#include "graph_warp.h"

enum { LEVELS, FLAG };
enum { LEVEL = 0, SEEN = WALK_END, RAISE, STORE, OVER };

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
	bfs->g.pass = workload->kernels_done < 2 ? 0 : bfs->g.pass + 1;
	bfs->g.is_again = false;
	graph_grid(workload, bfs->g.is_filling ? "initialize" : "bfs_ttc", bfs->g.graph.vertices);
	return true;
}

static uint32_t unvisited_ends(const struct bfs *bfs, const struct workload_slot *slot, uint32_t mask)
{
	uint32_t unvisited = 0;

	while (mask != 0) {
		unsigned lane = graph_take(&mask);

		unvisited |= (uint32_t)(bfs->level[graph_end(&bfs->g, slot, lane)] == GRAPH_INFINITY) << lane;
	}
	return unvisited;
}

static void store(struct bfs *bfs, const struct workload_slot *slot, uint32_t mask)
{
	while (mask != 0)
		bfs->level[graph_end(&bfs->g, slot, graph_take(&mask))] = bfs->g.pass + 1;
	bfs->g.is_again = true;
}

static uint32_t of_this_level(const struct bfs *bfs, const struct workload_slot *slot, uint32_t alive)
{
	uint64_t first = graph_first(slot);
	uint32_t mask = 0;

	for (unsigned lane = 0; lane < 32 && alive >> lane != 0; lane++)
		mask |= (uint32_t)(bfs->level[first + lane] == bfs->g.pass) << lane;
	return mask;
}

static bool bfs_span(struct workload *workload, struct workload_slot *slot)
{
	static const struct graph_use fill[] = {{LEVELS, 4, 0, UVMP_ACCESS_WRITE}};
	struct bfs *bfs = workload->state;
	uint32_t mask;

	if (bfs->g.is_filling)
		return GRAPH_STRAIGHT(workload, slot, fill);
	switch (slot->step) {
	case LEVEL:
		mask = graph_alive(&bfs->g, slot);
		if (mask == 0)
			return false;
		slot->own[0] = of_this_level(bfs, slot, mask);
		slot->step = slot->own[0] != 0 ? WALK_START : OVER;
		graph_threads(workload, slot, UVMP_ACCESS_READ, LEVELS, 4, 0, mask);
		return true;
	case SEEN:
		slot->own[1] = unvisited_ends(bfs, slot, (uint32_t)slot->own[0]);
		graph_ends(workload, slot, UVMP_ACCESS_READ, LEVELS, 4, (uint32_t)slot->own[0]);
		if (slot->own[1] != 0)
			slot->step = RAISE;
		else
			graph_next_edges(slot);
		return true;
	case RAISE:
		slot->step = STORE;
		graph_one(workload, slot, UVMP_ACCESS_WRITE, FLAG, 0, 1);
		return workload_go_on(slot);
	case STORE:
		graph_ends(workload, slot, UVMP_ACCESS_WRITE, LEVELS, 4, (uint32_t)slot->own[1]);
		store(bfs, slot, (uint32_t)slot->own[1]);
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
        .param = {GRAPH_PARAMS(8), WORKLOAD_AGENTS},
        .open = bfs_open,
        .close = graph_close,
        .launch = bfs_launch,
        .span = bfs_span,
};
