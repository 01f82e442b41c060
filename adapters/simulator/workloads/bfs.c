/* Breadth-first search by levels over a generated scale-free graph (graph.h). The search really runs, in the
 * order in which the agents take their turns, and starts at the vertex with the most edges. One kernel per
 * level. A thread block is one warp: it takes one vertex of the frontier, reads where its edges lie, then 32
 * edges at a time, the levels of their ends, and for those not seen before stores the level and appends them
 * to the next frontier. The 32 loads or stores of one instruction are coalesced into one row per page.
 *
 * On the GPU: offsets[vertices + 1] and edges[] of 8 bytes, levels[] and two frontiers of 4. */
#include <stdlib.h>

#include "graph.h"
#include "workload.h"

enum { SCALE, DEGREE };
enum { OFFSETS, EDGES, LEVELS, FRONTIER };

#define WARP         32u
#define OFFSET_BYTES 8u
#define EDGE_BYTES   8u
#define LEVEL_BYTES  4u
#define VERTEX_BYTES 4u

/* Spans that a warp has still to issue for the edges in hand: at most one load and one store per lane, one
 * append. */
struct pending {
	unsigned count, at;
	struct {
		uint64_t address;
		uint32_t bytes;
		enum uvmp_access access;
	} span[2 * WARP + 1];
};

struct bfs {
	struct graph graph;
	uint32_t *frontier[2]; /* [vertices] each; the current one is kernels_done % 2 */
	uint64_t length[2];
	bool *is_seen;
	struct pending *pending; /* [agents] */
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
	free(bfs->pending);
	free(bfs);
}

static bool bfs_open(struct workload *workload)
{
	struct bfs *bfs = workload->state = calloc(1, sizeof(*bfs));
	uint64_t vertices = (uint64_t)1 << workload->value[SCALE];
	uint32_t start;

	if (bfs == NULL || !graph_build(&bfs->graph, (unsigned)workload->value[SCALE],
	                                (unsigned)workload->value[DEGREE], &workload->random))
		return false;
	bfs->frontier[0] = malloc(vertices * sizeof(*bfs->frontier[0]));
	bfs->frontier[1] = malloc(vertices * sizeof(*bfs->frontier[1]));
	bfs->is_seen = calloc(vertices, sizeof(*bfs->is_seen));
	bfs->pending = calloc(workload->agents, sizeof(*bfs->pending));
	if (bfs->frontier[0] == NULL || bfs->frontier[1] == NULL || bfs->is_seen == NULL ||
	    bfs->pending == NULL)
		return false;
	workload_add_range(workload, "offsets", (vertices + 1) * OFFSET_BYTES);
	workload_add_range(workload, "edges", bfs->graph.edges * EDGE_BYTES);
	workload_add_range(workload, "levels", vertices * LEVEL_BYTES);
	workload_add_range(workload, "frontier0", vertices * VERTEX_BYTES);
	workload_add_range(workload, "frontier1", vertices * VERTEX_BYTES);
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

static void add_pending(struct pending *pending, uint64_t address, uint32_t bytes, enum uvmp_access access)
{
	pending->span[pending->count].address = address;
	pending->span[pending->count].bytes = bytes;
	pending->span[pending->count].access = access;
	pending->count++;
}

/* Adds a load or store of one vertex's level, unless one from entry `since` on is of the same page. */
static void add_level(struct workload *workload, struct pending *pending, unsigned since, uint32_t vertex,
                      enum uvmp_access access)
{
	uint64_t address = workload->range[LEVELS].base + (uint64_t)vertex * LEVEL_BYTES;

	for (unsigned i = since; i < pending->count; i++)
		if (pending->span[i].address / WORKLOAD_PAGE == address / WORKLOAD_PAGE)
			return;
	add_pending(pending, address, LEVEL_BYTES, access);
}

/* What the warp does with edges first..first+count-1. */
static void visit(struct workload *workload, struct pending *pending, uint64_t first, uint64_t count)
{
	struct bfs *bfs = workload->state;
	unsigned next = (workload->kernels_done + 1) % 2, stores;
	uint64_t appended = bfs->length[next];
	const uint32_t *edge = bfs->graph.edge + first;

	pending->count = pending->at = 0;
	for (uint64_t i = 0; i < count; i++)
		add_level(workload, pending, 0, edge[i], UVMP_ACCESS_READ);
	stores = pending->count;
	for (uint64_t i = 0; i < count; i++) {
		if (bfs->is_seen[edge[i]])
			continue;
		bfs->is_seen[edge[i]] = true;
		bfs->frontier[next][bfs->length[next]++] = edge[i];
		add_level(workload, pending, stores, edge[i], UVMP_ACCESS_WRITE);
	}
	if (bfs->length[next] != appended)
		add_pending(pending, workload->range[FRONTIER + next].base + appended * VERTEX_BYTES,
		            (uint32_t)(bfs->length[next] - appended) * VERTEX_BYTES, UVMP_ACCESS_WRITE);
}

/* Steps: 0 the vertex, 1 its offsets, 2 its edges, slot->row of which are done. */
static bool bfs_span(struct workload *workload, struct workload_slot *slot)
{
	struct bfs *bfs = workload->state;
	struct pending *pending = &bfs->pending[slot - workload->slot];
	unsigned current = workload->kernels_done % 2;
	uint64_t vertex = bfs->frontier[current][slot->block];
	uint64_t first, rest;

	if (slot->step < 2) {
		if (slot->step++ == 0)
			workload_set_span(
			        slot, workload->range[FRONTIER + current].base + slot->block * VERTEX_BYTES,
			        VERTEX_BYTES, UVMP_ACCESS_READ);
		else
			workload_set_span(slot, workload->range[OFFSETS].base + vertex * OFFSET_BYTES,
			                  2 * OFFSET_BYTES, UVMP_ACCESS_READ);
		return true;
	}
	if (pending->at < pending->count) {
		workload_set_span(slot, pending->span[pending->at].address, pending->span[pending->at].bytes,
		                  pending->span[pending->at].access);
		pending->at++;
		return true;
	}
	first = bfs->graph.offset[vertex] + slot->row;
	rest = bfs->graph.offset[vertex + 1] - first;
	if (rest == 0)
		return false;
	if (rest > WARP)
		rest = WARP;
	visit(workload, pending, first, rest);
	workload_set_span(slot, workload->range[EDGES].base + first * EDGE_BYTES, rest * EDGE_BYTES,
	                  UVMP_ACCESS_READ);
	slot->row += rest;
	return true;
}

const struct workload_type workload_bfs = {
        .name = "bfs",
        .summary = "breadth-first search by levels over a generated scale-free graph (R-MAT)",
        .param = {{"scale", "vertices, as a power of two", 1, 24, 17, false},
                  {"degree", "edges per vertex, each counted at both ends", 1, 64, 12, false},
                  WORKLOAD_AGENTS},
        .open = bfs_open,
        .close = bfs_close,
        .launch = bfs_launch,
        .span = bfs_span,
};
