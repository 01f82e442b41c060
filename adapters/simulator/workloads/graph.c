/* R-MAT: an edge is found by dividing the adjacency matrix into quadrants, one of which is chosen with
 * unequal probabilities (0.57, 0.19, 0.19, 0.05), again and again down to one cell. Vertex numbers are then
 * shuffled, so that hubs do not stand side by side. The edges are drawn twice from the same random numbers,
 * once to count and once to store, so that no list of edges is needed. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "permute.h"
#include "uvmpolicy/base.h"

/* One edge; each level of the division takes 16 random bits. */
static void draw_edge(uint64_t *random, unsigned scale, uint64_t *row, uint64_t *column)
{
	const uint32_t a = 65536u * 57 / 100, b = 65536u * 76 / 100, c = 65536u * 95 / 100;
	uint64_t bits = 0;

	*row = *column = 0;
	for (unsigned level = 0; level < scale; level++) {
		uint32_t draw;

		if (level % 4 == 0)
			bits = uvmp_random_next(random);
		draw = (uint32_t)(bits & 0xffff);
		bits >>= 16;
		*row = *row << 1 | (draw >= b);
		*column = *column << 1 | ((draw >= a && draw < b) || draw >= c);
	}
}

/* Draws all edges. First round: counts those of v in offset[v + 1]. Second: stores them at offset[v], which
 * moves on. */
static void draw_edges(struct graph *graph, unsigned scale, const struct permutation *shuffle,
                       uint64_t random, bool is_counting)
{
	for (uint64_t i = 0; i < graph->edges / 2; i++) {
		uint64_t u, v;

		draw_edge(&random, scale, &u, &v);
		u = permutation_at(shuffle, u);
		v = permutation_at(shuffle, v);
		if (is_counting) {
			graph->offset[u + 1]++;
			graph->offset[v + 1]++;
		} else {
			graph->edge[graph->offset[u]++] = (uint32_t)v;
			graph->edge[graph->offset[v]++] = (uint32_t)u;
		}
	}
}

bool graph_build(struct graph *graph, unsigned scale, unsigned degree, uint64_t *random)
{
	uint64_t vertices = (uint64_t)1 << scale, seed;
	struct permutation shuffle;

	graph->vertices = vertices;
	graph->edges = vertices * degree;
	graph->offset = calloc(vertices + 1, sizeof(*graph->offset));
	graph->edge = malloc(graph->edges * sizeof(*graph->edge));
	if (graph->offset == NULL || graph->edge == NULL) {
		graph_free(graph);
		return false;
	}
	permutation_init(&shuffle, vertices, random);
	seed = uvmp_random_next(random);
	draw_edges(graph, scale, &shuffle, seed, true);
	for (uint64_t v = 0; v < vertices; v++)
		graph->offset[v + 1] += graph->offset[v];
	draw_edges(graph, scale, &shuffle, seed, false);
	/* every offset has moved to the end of its row, which is the start of the next one */
	memmove(graph->offset + 1, graph->offset, vertices * sizeof(*graph->offset));
	graph->offset[0] = 0;
	return true;
}

void graph_free(struct graph *graph)
{
	free(graph->offset);
	free(graph->edge);
	*graph = (struct graph){0};
}

uint32_t graph_hub(const struct graph *graph)
{
	uint64_t hub = 0, most = 0;

	for (uint64_t v = 0; v < graph->vertices; v++) {
		uint64_t degree = graph->offset[v + 1] - graph->offset[v];

		if (degree > most) {
			most = degree;
			hub = v;
		}
	}
	return (uint32_t)hub;
}
