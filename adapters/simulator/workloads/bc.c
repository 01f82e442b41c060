/* Betweenness centrality, topological and thread-centric (Sariyuce et al., GPGPU-6): for each of some roots a
 * breadth-first search that counts the shortest paths to every vertex, a kernel per level; then back level by
 * level, summing up which part of the paths of the level in hand comes through each vertex; then that is
 * added to the vertex's centrality. GraphBIG takes every vertex as a root; here it is the first few that have
 * edges.
 *
 * Path counts stop at 2^32 - 1. Parts are computed here in fixed point with 16 binary digits; on the GPU they
 * are floats. */
#include "graph_warp.h"

enum { ROOTS = GRAPH_OWN };
enum { CENTRALITIES, PARTS, DISTANCES, PATHS, OVER };
enum { LEVEL = 0, SEEN = WALK_END, SET, RAISE, SEEN_AGAIN, OWN_PATHS, COUNT, DONE };
enum { BACK_PATHS = WALK_END + 1, BACK_END_PATHS, BACK_PARTS, BACK_STORE };
enum { SUM_DISTANCE = 0, SUM_PART, SUM_OLD, SUM_STORE };
enum phase { CLEAR, FORWARD, BACKWARD, SUM_UP };

#define FRACTION_BITS 16
#define PATHS_MAX     UINT32_MAX

struct bc {
	struct graph_state g;
	uint32_t *distance, *paths;
	uint64_t *part, *centrality;
	uint64_t *growth; /* of the part of a vertex in the kernel that runs */
	enum phase phase;
	uint64_t roots_done;
	uint32_t next_root; /* roots are searched from here on */
};

static bool bc_open(struct workload *workload)
{
	struct bc *bc;
	uint64_t vertices;

	if (!graph_open(workload, sizeof(*bc), false))
		return false;
	bc = workload->state;
	vertices = bc->g.graph.vertices;
	bc->distance = graph_array_of(&bc->g, vertices, GRAPH_INFINITY);
	bc->paths = graph_array(&bc->g, vertices, sizeof(*bc->paths));
	bc->part = graph_array(&bc->g, vertices, sizeof(*bc->part));
	bc->growth = graph_array(&bc->g, vertices, sizeof(*bc->growth));
	bc->centrality = graph_array(&bc->g, vertices, sizeof(*bc->centrality));
	if (!graph_has_arrays(&bc->g))
		return false;
	bc->phase = SUM_UP;
	bc->g.result = bc->distance;
	bc->g.wide_result = bc->centrality;
	graph_range(workload, "centralities", vertices, 4);
	graph_fresh(workload, "parts", vertices, 4);
	graph_fresh(workload, "distances", vertices, 4);
	graph_fresh(workload, "paths", vertices, 4);
	graph_range(workload, "over", 1, 1);
	graph_add(workload);
	return true;
}

/* -- the order of kernels -- */

/* The next vertex with edges becomes the root; false: no such vertex is left. */
static bool next_root(struct workload *workload)
{
	struct bc *bc = workload->state;
	const struct graph *graph = &bc->g.graph;
	uint64_t v = bc->next_root;

	while (v < graph->vertices && graph->offset[v + 1] == graph->offset[v])
		v++;
	if (v == graph->vertices || bc->roots_done == workload->value[ROOTS])
		return false;
	bc->roots_done++;
	bc->g.root = (uint32_t)v;
	bc->next_root = (uint32_t)v + 1;
	for (v = 0; v < graph->vertices; v++) {
		bc->distance[v] = GRAPH_INFINITY;
		bc->paths[v] = 0;
		bc->part[v] = bc->growth[v] = 0;
	}
	bc->distance[bc->g.root] = 0;
	bc->paths[bc->g.root] = 1;
	return true;
}

/* pass: the level whose vertices count paths on, or whose paths are shared out. */
static bool next_phase(struct workload *workload)
{
	struct bc *bc = workload->state;

	switch (bc->phase) {
	case SUM_UP:
		bc->phase = CLEAR;
		return next_root(workload);
	case CLEAR:
		bc->phase = FORWARD;
		bc->g.pass = 0;
		return true;
	case FORWARD:
		if (bc->g.is_again) {
			bc->g.pass++;
			return true;
		}
		bc->phase = bc->g.pass > 0 ? BACKWARD : SUM_UP;
		return true;
	default:
		bc->phase = --bc->g.pass > 0 ? BACKWARD : SUM_UP;
		return true;
	}
}

static bool bc_launch(struct workload *workload)
{
	static const char *const name[] = {[CLEAR] = "bc_init",
					   [FORWARD] = "bc_forward",
					   [BACKWARD] = "bc_backward",
					   [SUM_UP] = "bc_sum"};
	struct bc *bc = workload->state;

	if (!next_phase(workload))
		return false;
	bc->g.is_again = false;
	graph_grid(workload, name[bc->phase], bc->g.graph.vertices);
	return true;
}

/* Steps that both directions begin with: the threads of vertices of a level. */
static bool begin(struct workload *workload, struct workload_slot *slot, uint32_t level)
{
	struct bc *bc = workload->state;
	uint32_t mask = graph_equal(&bc->g, slot, bc->distance, level, graph_alive(&bc->g, slot));

	return graph_choose(workload, slot, DISTANCES, 4, mask, WALK_START, DONE);
}

/* -- forward -- */

static void count_paths(struct bc *bc, const struct workload_slot *slot, uint32_t mask)
{
	while (mask != 0) {
		unsigned lane = graph_take(&mask);
		uint32_t *paths = &bc->paths[graph_end(&bc->g, slot, lane)];
		uint32_t more = bc->paths[graph_vertex(&bc->g, slot, lane)];

		*paths = more > PATHS_MAX - *paths ? PATHS_MAX : *paths + more;
	}
}

static bool forward(struct workload *workload, struct workload_slot *slot)
{
	struct bc *bc = workload->state;
	uint32_t mask = (uint32_t)slot->own[0], chosen = (uint32_t)slot->own[1];

	switch (slot->step) {
	case LEVEL:
		return begin(workload, slot, bc->g.pass);
	case SEEN:
		slot->own[1] = graph_ends_equal(&bc->g, slot, bc->distance, GRAPH_INFINITY, mask);
		slot->step = slot->own[1] != 0 ? SET : SEEN_AGAIN;
		graph_ends(workload, slot, UVMP_ACCESS_READ, DISTANCES, 4, mask);
		return true;
	case SET:
		slot->step = RAISE;
		graph_set_ends(&bc->g, slot, bc->distance, bc->g.pass + 1, chosen);
		bc->g.is_again = true;
		graph_ends(workload, slot, UVMP_ACCESS_WRITE, DISTANCES, 4, chosen);
		return workload_go_on(slot);
	case RAISE:
		slot->step = SEEN_AGAIN;
		graph_one(workload, slot, UVMP_ACCESS_WRITE, OVER, 0, 1);
		return true;
	case SEEN_AGAIN:
		chosen = graph_ends_equal(&bc->g, slot, bc->distance, bc->g.pass + 1, mask);
		slot->own[1] = chosen;
		graph_ends(workload, slot, UVMP_ACCESS_READ, DISTANCES, 4, mask);
		graph_go(slot, OWN_PATHS, chosen);
		return true;
	case OWN_PATHS:
		slot->step = COUNT;
		graph_threads(workload, slot, UVMP_ACCESS_READ, PATHS, 4, 0, chosen);
		return true;
	case COUNT:
		count_paths(bc, slot, chosen);
		graph_ends(workload, slot, UVMP_ACCESS_ATOMIC_STRONG, PATHS, 4, chosen);
		graph_next_edges(slot);
		return true;
	case DONE:
		return false;
	default:
		return graph_walk(workload, slot);
	}
}

/* -- backward -- */

/* paths / end_paths * (1 + end's part), rounded down. No product exceeds 64 bits, for paths never exceed
 * those of an end, and parts are below the number of vertices (unless path counts have stopped: then they
 * mean nothing). */
static uint64_t share(uint64_t part, uint32_t paths, uint32_t end_paths)
{
	uint64_t whole = ((uint64_t)1 << FRACTION_BITS) + part;

	return whole / end_paths * paths + whole % end_paths * paths / end_paths;
}

static void collect(struct bc *bc, const struct workload_slot *slot, uint32_t mask)
{
	while (mask != 0) {
		unsigned lane = graph_take(&mask);
		uint32_t v = graph_vertex(&bc->g, slot, lane), end = graph_end(&bc->g, slot, lane);

		bc->growth[v] += share(bc->part[end], bc->paths[v], bc->paths[end]);
	}
}

static void grow(struct bc *bc, const struct workload_slot *slot, uint32_t mask)
{
	while (mask != 0) {
		uint64_t v = graph_first(slot) + graph_take(&mask);

		bc->part[v] += bc->growth[v];
	}
}

/* own[1]: the lanes that began, and above them those whose end is of the level in hand. */
static bool backward(struct workload *workload, struct workload_slot *slot)
{
	struct bc *bc = workload->state;
	uint32_t mask = (uint32_t)slot->own[0], all = (uint32_t)slot->own[1];
	uint32_t chosen = (uint32_t)(slot->own[1] >> 32);

	switch (slot->step) {
	case LEVEL:
		if (!begin(workload, slot, bc->g.pass - 1))
			return false;
		slot->own[1] = slot->own[0];
		return true;
	case SEEN:
		chosen = graph_ends_equal(&bc->g, slot, bc->distance, bc->g.pass, mask);
		slot->own[1] = (uint64_t)chosen << 32 | all;
		graph_ends(workload, slot, UVMP_ACCESS_READ, DISTANCES, 4, mask);
		graph_go(slot, BACK_PATHS, chosen);
		return true;
	case BACK_PATHS:
		slot->step = BACK_END_PATHS;
		graph_threads(workload, slot, UVMP_ACCESS_READ, PATHS, 4, 0, chosen);
		return workload_go_on(slot);
	case BACK_END_PATHS:
		slot->step = BACK_PARTS;
		graph_ends(workload, slot, UVMP_ACCESS_READ, PATHS, 4, chosen);
		return workload_go_on(slot);
	case BACK_PARTS:
		collect(bc, slot, chosen);
		graph_ends(workload, slot, UVMP_ACCESS_READ, PARTS, 4, chosen);
		slot->flops *= 4;
		graph_next_edges(slot);
		return true;
	case BACK_STORE:
		slot->step = DONE;
		grow(bc, slot, all);
		graph_threads(workload, slot, UVMP_ACCESS_WRITE, PARTS, 4, 0, all);
		return true;
	case DONE:
		return false;
	default:
		if (graph_walk(workload, slot))
			return true;
		slot->step = BACK_STORE;
		graph_threads(workload, slot, UVMP_ACCESS_READ, PARTS, 4, 0, all);
		return true;
	}
}

/* -- sum -- */

static bool sum_up(struct workload *workload, struct workload_slot *slot)
{
	struct bc *bc = workload->state;
	uint32_t alive = graph_alive(&bc->g, slot), mask = (uint32_t)slot->own[0];

	if (slot->step == SUM_DISTANCE) {
		/* neither the root nor what it does not reach */
		if (bc->g.root - graph_first(slot) < 32)
			alive &= ~((uint32_t)1 << (bc->g.root - graph_first(slot)));
		if (alive == 0)
			return false;
		slot->own[0] = alive & ~graph_equal(&bc->g, slot, bc->distance, GRAPH_INFINITY, alive);
		slot->step = SUM_PART;
		graph_threads(workload, slot, UVMP_ACCESS_READ, DISTANCES, 4, 0, alive);
		return true;
	}
	if (mask == 0)
		return false;
	switch (slot->step++) {
	case SUM_PART:
		graph_threads(workload, slot, UVMP_ACCESS_READ, PARTS, 4, 0, mask);
		return workload_go_on(slot);
	case SUM_OLD:
		graph_threads(workload, slot, UVMP_ACCESS_READ, CENTRALITIES, 4, 0, mask);
		return true;
	case SUM_STORE:
		graph_threads(workload, slot, UVMP_ACCESS_WRITE, CENTRALITIES, 4, 0, mask);
		while (mask != 0) {
			uint64_t v = graph_first(slot) + graph_take(&mask);

			bc->centrality[v] += bc->part[v];
		}
		return true;
	default:
		return false;
	}
}

static bool bc_span(struct workload *workload, struct workload_slot *slot)
{
	static const struct graph_use fill[] = {{DISTANCES, 4, 0, UVMP_ACCESS_WRITE},
						{PATHS, 4, 0, UVMP_ACCESS_WRITE},
						{PARTS, 4, 0, UVMP_ACCESS_WRITE}};
	struct bc *bc = workload->state;

	switch (bc->phase) {
	case CLEAR:
		return GRAPH_STRAIGHT(workload, slot, fill);
	case FORWARD:
		return forward(workload, slot);
	case BACKWARD:
		return backward(workload, slot);
	default:
		return sum_up(workload, slot);
	}
}

const struct workload_type workload_bc = {
	.name = "bc",
	.summary = "betweenness centrality, topological-thread-centric (GraphBIG)" GRAPH_SIZES,
	.param = {GRAPH_PARAMS(17, 8),
		  {"roots", "vertices from which paths are counted; GraphBIG: all", 1, UINT32_MAX, 1, false},
		  WORKLOAD_AGENTS},
	.open = bc_open,
	.close = graph_close,
	.launch = bc_launch,
	.span = bc_span,
};
