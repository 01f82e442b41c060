/* Compressed rows, made without a list of edges: the edges are gone through twice, once to count those of
 * each row, once to store them where the counts say. */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "graph.h"

bool graph_reserve(struct graph *graph, uint64_t vertices)
{
	uint64_t had = graph->offset != NULL ? graph->vertices + 1 : 0;
	uint64_t *offset = array_again(graph->offset, vertices + 1, sizeof(*offset));

	if (offset == NULL)
		return false;
	if (vertices + 1 > had)
		memset(offset + had, 0, (size_t)(vertices + 1 - had) * sizeof(*offset));
	graph->offset = offset;
	graph->vertices = vertices;
	return true;
}

bool graph_place(struct graph *graph, bool is_weighted)
{
	uint64_t entries = graph->edges != 0 ? graph->edges : 1;

	graph->edge = array_again(NULL, entries, sizeof(*graph->edge));
	if (is_weighted)
		graph->weight = array_again(NULL, entries, sizeof(*graph->weight));
	if (graph->edge == NULL || (is_weighted && graph->weight == NULL))
		return false;
	for (uint64_t v = 0; v < graph->vertices; v++)
		graph->offset[v + 1] += graph->offset[v];
	return true;
}

/* Every offset has moved to the end of its row, which is the start of the next one. */
void graph_close_rows(struct graph *graph)
{
	memmove(graph->offset + 1, graph->offset, (size_t)graph->vertices * sizeof(*graph->offset));
	graph->offset[0] = 0;
}

void graph_free(struct graph *graph)
{
	free(graph->offset);
	free(graph->edge);
	free(graph->weight);
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
