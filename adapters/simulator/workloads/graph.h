/* Generated scale-free graphs in compressed rows. */
#ifndef UVMSIM_GRAPH_H
#define UVMSIM_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

/* Undirected: every edge stands in the rows of both of its ends. The ends of vertex v's edges are
 * edge[offset[v]..offset[v + 1] - 1]. There may be loops and parallel edges. */
struct graph {
	uint64_t vertices, edges; /* edges: length of edge[] */
	uint64_t *offset;         /* [vertices + 1] */
	uint32_t *edge;
};

/* An R-MAT graph of 2^scale vertices (scale 1..31) and `degree` (1 or more) row entries per vertex on
 * average, drawn from *random. False when memory is short; *graph is then empty. */
bool graph_build(struct graph *graph, unsigned scale, unsigned degree, uint64_t *random);
/* Frees the arrays; an empty (zeroed) graph is fine too. */
void graph_free(struct graph *graph);
/* The vertex with the most edges, the first of several. */
uint32_t graph_hub(const struct graph *graph);

#endif
