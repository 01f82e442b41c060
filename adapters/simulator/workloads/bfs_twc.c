/* Breadth-first search, topological and warp-centric (Hong et al., PPoPP 2011): in every pass a warp looks
 * through 32 vertices one by one; of those of the level in hand it takes 32 edges at a time, one a lane, and
 * stores the next level for ends that have none yet. */
#include "graph_warp.h"

enum { LEVELS, FLAG };
enum { LEVEL = 0, OFFSETS, EDGES, SEEN, RAISE, STORE };

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
	graph_grid(workload, bfs->g.is_filling ? "initialize" : "bfs_twc", bfs->g.graph.vertices);
	return true;
}

/* Looks at levels from the vertex in hand on, up to the first of the level in hand, which is then in hand.
 * They lie side by side: one step. False: there are none left. */
static bool look(struct workload *workload, struct workload_slot *slot)
{
	struct bfs *bfs = workload->state;
	uint64_t first = graph_first(slot) + slot->own[0], v = first;
	uint64_t last = graph_first(slot) + 32;

	if (last > bfs->g.threads)
		last = bfs->g.threads;
	if (v >= last)
		return false;
	while (v < last && bfs->level[v] != bfs->g.pass)
		v++;
	slot->own[0] += v - first;
	slot->row = 0;
	if (v < last) {
		slot->step = OFFSETS;
		v++;
	}
	workload_set_wide(slot, workload->range[LEVELS].base + first * 4, (v - first) * 4, UVMP_ACCESS_READ);
	slot->flops = (uint32_t)(v - first);
	return true;
}

static uint32_t unvisited_ends(const struct bfs *bfs, const struct workload_slot *slot, uint32_t vertex)
{
	const uint32_t *end = bfs->g.graph.edge + bfs->g.graph.offset[vertex] + slot->row;
	uint32_t run = graph_run(&bfs->g, slot, vertex), mask = 0;

	for (uint32_t lane = 0; lane < run; lane++)
		mask |= (uint32_t)(bfs->level[end[lane]] == GRAPH_INFINITY) << lane;
	return mask;
}

static void store(struct bfs *bfs, const struct workload_slot *slot, uint32_t vertex, uint32_t mask)
{
	const uint32_t *end = bfs->g.graph.edge + bfs->g.graph.offset[vertex] + slot->row;

	while (mask != 0)
		bfs->level[end[graph_take(&mask)]] = bfs->g.pass + 1;
	bfs->g.is_again = true;
}

static void next_run(struct workload_slot *slot)
{
	slot->row += 32;
	slot->step = EDGES;
}

static bool bfs_span(struct workload *workload, struct workload_slot *slot)
{
	static const struct graph_use fill[] = {{LEVELS, 4, 0, UVMP_ACCESS_WRITE}};
	struct bfs *bfs = workload->state;
	uint32_t vertex = (uint32_t)(graph_first(slot) + slot->own[0]), mask = (uint32_t)slot->own[1];

	if (bfs->g.is_filling)
		return GRAPH_STRAIGHT(workload, slot, fill);
	switch (slot->step) {
	case OFFSETS:
		slot->step = EDGES;
		workload_set_wide(slot, workload->range[bfs->g.offsets].base + (uint64_t)vertex * 8, 16,
		                  UVMP_ACCESS_READ);
		return true;
	case EDGES:
		if (graph_run(&bfs->g, slot, vertex) != 0) {
			slot->step = SEEN;
			graph_run_edges(workload, slot, bfs->g.edges, 8, vertex);
			return true;
		}
		slot->own[0]++;
		slot->step = LEVEL;
		return look(workload, slot);
	case SEEN:
		mask = unvisited_ends(bfs, slot, vertex);
		slot->own[1] = mask;
		graph_run_ends(workload, slot, UVMP_ACCESS_READ, LEVELS, 4, vertex,
		               graph_lanes(graph_run(&bfs->g, slot, vertex)));
		if (mask != 0)
			slot->step = STORE;
		else
			next_run(slot);
		return true;
	case STORE:
		slot->step = RAISE;
		store(bfs, slot, vertex, mask);
		graph_run_ends(workload, slot, UVMP_ACCESS_WRITE, LEVELS, 4, vertex, mask);
		return workload_go_on(slot);
	case RAISE:
		graph_one(workload, slot, UVMP_ACCESS_WRITE, FLAG, 0, 1);
		next_run(slot);
		return true;
	default:
		return look(workload, slot);
	}
}

const struct workload_type workload_bfs_twc = {
        .name = "bfs_twc",
        .summary = "breadth-first search, topological-warp-centric (GraphBIG)" GRAPH_SIZES,
        .param = {GRAPH_PARAMS(8), WORKLOAD_AGENTS},
        .open = bfs_open,
        .close = graph_close,
        .launch = bfs_launch,
        .span = bfs_span,
};
