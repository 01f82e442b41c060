/* Graphs in compressed rows, generated or loaded. */
#ifndef UVMSIM_GRAPH_H
#define UVMSIM_GRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "source.h"

/* The ends of vertex v's edges are edge[offset[v]..offset[v + 1] - 1]. Undirected: every edge stands in the
 * rows of both of its ends. There may be loops and parallel edges. */
struct graph {
	uint64_t vertices, edges; /* edges: length of edge[] */
	uint64_t *offset;         /* [vertices + 1] */
	uint32_t *edge;
	uint32_t *weight; /* of each entry of edge[]; NULL unless requested */
};

/* Vertices of a loaded graph are numbered 0..GRAPH_VERTEX_MAX: a slip in a file must not ask for all memory. */
#define GRAPH_VERTEX_MAX ((UINT32_C(1) << 28) - 1)
/* Weights of generated edges are 1..GRAPH_WEIGHT_MAX. */
#define GRAPH_WEIGHT_MAX 64u

/* Of a generated graph: 2^scale vertices (scale 1..31) and `degree` (1 or more) row entries per vertex on
 * average; skew: 0 (all vertices are alike) to GRAPH_SKEW_MAX (R-MAT's usual quadrants). */
struct graph_shape {
	unsigned scale, degree, skew;
};
#define GRAPH_SKEW_MAX 100u

/* An undirected R-MAT graph, drawn from *random, without weights. False when memory is short, or interrupted
 * (interrupt.h); *graph is then empty. */
bool graph_build(struct graph *graph, struct graph_shape shape, uint64_t *random);
/* The same with weights, which both directions of an edge share. */
bool graph_build_weighted(struct graph *graph, struct graph_shape shape, uint64_t *random);

struct graph_options {
	bool is_directed; /* an edge stands in the row of its first end only */
	bool is_weighted; /* the third column is kept; edges without one weigh 1 */
};

/* A graph from an edge list (edges.c says what that may look like), which is read twice. False with `error`
 * (`FILE:LINE: what is wrong`); *graph is then empty. */
bool graph_load(struct graph *graph, const char *path, struct graph_options options,
                char error[SOURCE_ERROR_MAX]);
/* The same from an open file, which is closed. */
bool graph_load_stream(struct graph *graph, FILE *in, const char *name, struct graph_options options,
                       char error[SOURCE_ERROR_MAX]);

/* Frees the arrays; an empty (zeroed) graph is fine too. */
void graph_free(struct graph *graph);
/* The vertex with the most edges, the first of several. */
uint32_t graph_hub(const struct graph *graph);

/* -- for those that make graphs -- */

struct graph_edge {
	uint32_t from, to, weight;
};

/* Rows from edges that can be listed twice, so that no list of edges is needed: graph_count() each, then
 * graph_place(), graph_store() each, graph_close_rows(). graph->vertices is the number of rows. */
/* Room for `vertices` rows, more or fewer than there were; the counts stay. False: out of memory. */
bool graph_reserve(struct graph *graph, uint64_t vertices);
static inline void graph_count(struct graph *graph, uint32_t vertex)
{
	graph->offset[vertex + 1]++;
	graph->edges++;
}
/* False: out of memory. */
bool graph_place(struct graph *graph, bool is_weighted);
static inline void graph_store(struct graph *graph, uint32_t from, uint32_t to, uint32_t weight)
{
	uint64_t at = graph->offset[from]++;

	graph->edge[at] = to;
	if (graph->weight != NULL)
		graph->weight[at] = weight;
}
void graph_close_rows(struct graph *graph);

#endif
