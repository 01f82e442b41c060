/* R-MAT: an edge is found by dividing the adjacency matrix into quadrants, one of which is chosen with
 * unequal probabilities (0.57, 0.19, 0.19, 0.05), again and again down to one cell. Less skew draws them
 * towards 0.25 each, in equal steps, and so makes the hubs smaller: a row is expected to have up to
 * edges * (0.5 + 0.26 * skew)^scale entries. Vertex numbers are then shuffled, so that hubs do not stand side
 * by side. The edges are drawn twice from the same random numbers. An interrupt ends all of it. */
#include <stdlib.h>

#include "array.h"
#include "building.h"
#include "graph.h"
#include "permute.h"
#include "uvmpolicy/base.h"

/* The generator: where the quadrants end in 65536 parts. */
struct rmat {
	unsigned scale;
	uint32_t a, b, c;
	const uint32_t *shuffled;
	uint64_t seed;
};

static void set_quadrants(struct rmat *rmat, unsigned skew)
{
	rmat->a = 65536u * (2500 + 32 * skew) / 10000;
	rmat->b = 65536u * (5000 + 26 * skew) / 10000;
	rmat->c = 65536u * (7500 + 20 * skew) / 10000;
}

/* One edge; each level of the division takes 16 random bits. */
static void draw_edge(const struct rmat *rmat, uint64_t *random, uint64_t *row, uint64_t *column)
{
	const uint32_t a = rmat->a, b = rmat->b, c = rmat->c;
	uint64_t bits = 0;

	*row = *column = 0;
	for (unsigned level = 0; level < rmat->scale; level++) {
		uint32_t draw;

		if (level % 4 == 0)
			bits = uvmp_random_next(random);
		draw = (uint32_t)(bits & 0xffff);
		bits >>= 16;
		*row = *row << 1 | (draw >= b);
		*column = *column << 1 | ((draw >= a && draw < b) || draw >= c);
	}
}

/* Parallel edges weigh the same. */
static uint32_t weight_of(uint64_t seed, uint64_t u, uint64_t v)
{
	uint64_t state = seed ^ (u < v ? u << 32 | v : v << 32 | u);

	return 1 + (uint32_t)((uvmp_random_next(&state) >> 32) % GRAPH_WEIGHT_MAX);
}

/* Edges are drawn some at a time, so that the memory of their rows is on its way when they are stored. */
#define BATCH 64u

struct batch {
	unsigned count;
	uint32_t from[BATCH], to[BATCH];
};

static void draw_batch(struct batch *batch, const struct graph *graph, const struct rmat *rmat,
                       uint64_t *random)
{
	for (unsigned i = 0; i < batch->count; i++) {
		uint64_t row, column;

		draw_edge(rmat, random, &row, &column);
		batch->from[i] = rmat->shuffled[row];
		batch->to[i] = rmat->shuffled[column];
		__builtin_prefetch(&graph->offset[batch->from[i]]);
		__builtin_prefetch(&graph->offset[batch->to[i]]);
	}
}

static void count_batch(struct graph *graph, const struct batch *batch)
{
	for (unsigned i = 0; i < batch->count; i++) {
		graph_count(graph, batch->from[i]);
		graph_count(graph, batch->to[i]);
	}
}

static void store_batch(struct graph *graph, const struct batch *batch, uint64_t seed)
{
	for (unsigned i = 0; i < batch->count; i++) {
		__builtin_prefetch(&graph->edge[graph->offset[batch->from[i]]], 1);
		__builtin_prefetch(&graph->edge[graph->offset[batch->to[i]]], 1);
	}
	for (unsigned i = 0; i < batch->count; i++) {
		uint32_t u = batch->from[i], v = batch->to[i];
		uint32_t weight = graph->weight != NULL ? weight_of(seed, u, v) : 0;

		graph_store(graph, u, v, weight);
		graph_store(graph, v, u, weight);
	}
}

/* Draws all edges: the first time to count those of each vertex, the second time to store them. False:
 * interrupted. */
static bool draw_edges(struct graph *graph, const struct rmat *rmat, uint64_t edges, bool is_counting)
{
	uint64_t random = rmat->seed, before = graph->vertices + (is_counting ? 0 : edges);

	for (uint64_t done = 0; done < edges; done += BATCH) {
		if (!building_goes_on(done, before, graph->vertices + 2 * edges))
			return false;
		struct batch batch = {.count = edges - done < BATCH ? (unsigned)(edges - done) : BATCH};

		draw_batch(&batch, graph, rmat, &random);
		if (is_counting)
			count_batch(graph, &batch);
		else
			store_batch(graph, &batch, rmat->seed);
	}
	return true;
}

/* New numbers for the vertices; NULL: out of memory, or interrupted. */
static uint32_t *shuffle(uint64_t vertices, uint64_t edges, uint64_t *random)
{
	uint32_t *shuffled = array_again(NULL, vertices, sizeof(*shuffled));
	struct permutation permutation;

	permutation_init(&permutation, vertices, random);
	for (uint64_t v = 0; shuffled != NULL && v < vertices; v++) {
		if (!building_goes_on(v, 0, vertices + 2 * edges)) {
			free(shuffled);
			return NULL;
		}
		shuffled[v] = (uint32_t)permutation_at(&permutation, v);
	}
	return shuffled;
}

static bool build(struct graph *graph, struct graph_shape shape, uint64_t *random, bool is_weighted)
{
	uint64_t vertices = (uint64_t)1 << shape.scale, edges = vertices * shape.degree / 2;
	uint32_t *shuffled = shuffle(vertices, edges, random);
	struct rmat rmat = {.scale = shape.scale, .shuffled = shuffled};
	bool is_built;

	*graph = (struct graph){0};
	set_quadrants(&rmat, shape.skew);
	rmat.seed = uvmp_random_next(random);
	is_built = shuffled != NULL && graph_reserve(graph, vertices) &&
	           draw_edges(graph, &rmat, edges, true) && graph_place(graph, is_weighted) &&
	           draw_edges(graph, &rmat, edges, false);
	if (is_built)
		graph_close_rows(graph);
	else
		graph_free(graph);
	free(shuffled);
	return is_built;
}

bool graph_build(struct graph *graph, struct graph_shape shape, uint64_t *random)
{
	return build(graph, shape, random, false);
}

bool graph_build_weighted(struct graph *graph, struct graph_shape shape, uint64_t *random)
{
	return build(graph, shape, random, true);
}
