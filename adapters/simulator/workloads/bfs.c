/* Breadth-first search by levels over a generated scale-free graph (graph.h). The search really runs, in the
 * order in which the agents take their turns, and starts at the vertex with the most edges. One kernel per
 * level. A thread block is one warp: it takes one vertex of the frontier, reads where its edges lie, then 32
 * edges at a time, the levels of their ends, and for those not seen before stores the level and appends them
 * to the next frontier. The 32 loads or stores of one instruction are coalesced into one row per page.
 *
 * On the GPU: offsets[vertices + 1] and edges[] of 8 bytes, levels[] and two frontiers of 4. */
#include <stdlib.h>

#include "array.h"
#include "graph.h"
#include "workload.h"

enum { SCALE, DEGREE };
enum { OFFSETS, EDGES, LEVELS, FRONTIER };

#define OFFSET_BYTES 8u
#define EDGE_BYTES   8u
#define LEVEL_BYTES  4u
#define VERTEX_BYTES 4u

struct bfs {
	struct graph graph;
	uint32_t *frontier[2]; /* [vertices] each; the current one is kernels_done % 2 */
	uint64_t length[2];
	bool *is_seen;
};

static void bfs_close(struct workload *workload)
{
	struct bfs *bfs = workload->state;

	if (bfs == NULL)
		return;
	graph_free(&bfs->graph);
	free(bfs->frontier[0]);
	free(bfs->frontier[1]);
	free(bfs->is_seen);
	free(bfs);
}

static bool bfs_open(struct workload *workload)
{
	struct bfs *bfs = workload->state = calloc(1, sizeof(*bfs));
	uint64_t vertices = (uint64_t)1 << workload->value[SCALE];
	struct graph_shape shape = {.scale = (unsigned)workload->value[SCALE],
	                            .degree = (unsigned)workload->value[DEGREE],
	                            .skew = GRAPH_SKEW_MAX};
	uint32_t start;

	if (bfs == NULL || !graph_build(&bfs->graph, shape, &workload->random))
		return false;
	bfs->frontier[0] = array_again(NULL, vertices, sizeof(*bfs->frontier[0]));
	bfs->frontier[1] = array_again(NULL, vertices, sizeof(*bfs->frontier[1]));
	bfs->is_seen = array_zeros(vertices, sizeof(*bfs->is_seen));
	if (bfs->frontier[0] == NULL || bfs->frontier[1] == NULL || bfs->is_seen == NULL)
		return false;
	workload_add_range(workload, "offsets", (vertices + 1) * OFFSET_BYTES);
	workload_add_range(workload, "edges", bfs->graph.edges * EDGE_BYTES);
	workload_add_range(workload, "levels", vertices * LEVEL_BYTES);
	workload_add_range(workload, "frontier0", vertices * VERTEX_BYTES);
	workload_add_fresh(workload, "frontier1", vertices * VERTEX_BYTES);
	start = graph_hub(&bfs->graph);
	bfs->frontier[0][0] = start;
	bfs->length[0] = 1;
	bfs->is_seen[start] = true;
	return true;
}

/* -- search -- */

static bool bfs_launch(struct workload *workload)
{
	struct bfs *bfs = workload->state;

	workload->kernel = "bfs_level";
	workload->blocks = bfs->length[workload->kernels_done % 2];
	bfs->length[(workload->kernels_done + 1) % 2] = 0;
	return workload->blocks != 0;
}

/* Loads or stores of the levels of some vertices, all at once. */
static void set_levels(struct workload *workload, struct workload_slot *slot, const uint32_t *vertex,
                       uint32_t count, enum uvmp_access access)
{
	for (uint32_t i = 0; i < count; i++)
		slot->lane[i] = workload->range[LEVELS].base + (uint64_t)vertex[i] * LEVEL_BYTES;
	workload_set_lanes(slot, count, LEVEL_BYTES, access);
}

/* The warp has claimed the unseen ends of these edges: own[0] is the place of the first in the next frontier,
 * own[1] their number. */
static void visit(struct workload *workload, struct workload_slot *slot, const uint32_t *edge, uint64_t count)
{
	struct bfs *bfs = workload->state;
	unsigned next = (workload->kernels_done + 1) % 2;

	slot->own[0] = bfs->length[next];
	for (uint64_t i = 0; i < count; i++) {
		if (bfs->is_seen[edge[i]])
			continue;
		bfs->is_seen[edge[i]] = true;
		bfs->frontier[next][bfs->length[next]++] = edge[i];
	}
	slot->own[1] = bfs->length[next] - slot->own[0];
}

enum step { LOAD_VERTEX, LOAD_OFFSETS, LOAD_EDGES, LOAD_LEVELS, STORE_LEVELS, APPEND };

/* slot->row counts the edges that are done. */
static bool bfs_span(struct workload *workload, struct workload_slot *slot)
{
	struct bfs *bfs = workload->state;
	unsigned current = workload->kernels_done % 2, next = 1 - current;
	uint64_t vertex = bfs->frontier[current][slot->block];
	uint64_t first = bfs->graph.offset[vertex] + slot->row;
	uint64_t rest = bfs->graph.offset[vertex + 1] - first;
	uint64_t count = rest < WORKLOAD_LANES ? rest : WORKLOAD_LANES;

	switch ((enum step)slot->step) {
	case LOAD_VERTEX:
		workload_set_span(slot, workload->range[FRONTIER + current].base + slot->block * VERTEX_BYTES,
		                  VERTEX_BYTES, UVMP_ACCESS_READ);
		slot->step = LOAD_OFFSETS;
		return true;
	case LOAD_OFFSETS:
		workload_set_span(slot, workload->range[OFFSETS].base + vertex * OFFSET_BYTES,
		                  2 * OFFSET_BYTES, UVMP_ACCESS_READ);
		slot->step = LOAD_EDGES;
		return true;
	case LOAD_EDGES:
		if (count == 0)
			return false;
		visit(workload, slot, bfs->graph.edge + first, count);
		workload_set_wide(slot, workload->range[EDGES].base + first * EDGE_BYTES, count * EDGE_BYTES,
		                  UVMP_ACCESS_READ);
		slot->step = LOAD_LEVELS;
		return true;
	case LOAD_LEVELS:
		set_levels(workload, slot, bfs->graph.edge + first, (uint32_t)count, UVMP_ACCESS_READ);
		slot->row += count;
		slot->step = slot->own[1] != 0 ? STORE_LEVELS : LOAD_EDGES;
		return true;
	case STORE_LEVELS:
		set_levels(workload, slot, bfs->frontier[next] + slot->own[0], (uint32_t)slot->own[1],
		           UVMP_ACCESS_WRITE);
		slot->step = APPEND;
		return workload_go_on(slot);
	case APPEND:
		workload_set_wide(slot, workload->range[FRONTIER + next].base + slot->own[0] * VERTEX_BYTES,
		                  slot->own[1] * VERTEX_BYTES, UVMP_ACCESS_WRITE);
		slot->step = LOAD_EDGES;
		return true;
	}
	return false;
}

const struct workload_type workload_bfs = {
        .name = "bfs",
        .summary = "breadth-first search by levels over a generated scale-free graph (R-MAT)",
        .param = {{"scale", "vertices, as a power of two", 1, 24, 20, false},
                  {"degree", "edges per vertex, each counted at both ends", 1, 64, 12, false},
                  WORKLOAD_AGENTS},
        .open = bfs_open,
        .close = bfs_close,
        .launch = bfs_launch,
        .span = bfs_span,
};
