/* Any bytes as an edge list, read in all four ways (directed or not, with weights or without): it is refused
 * with one line that names the input, or the graph's rows are in order, its ends are vertices, and as many
 * edges are in the rows of an undirected graph as in twice those of a directed one.
 *
 * Left out are inputs with numbers so large that their graph would fill memory, which is allowed, and
 * compressed ones, whose numbers are not known here (fuzz_trace.c tests decompression). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/graph.h"

#define NAME       "fuzzed.txt"
#define DIGITS_MAX 5u

static void require(bool is_true)
{
	if (!is_true)
		abort();
}

static bool is_wanted(const uint8_t *data, size_t size)
{
	static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
	size_t digits = 0, zeros = 0;

	if (size >= sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0)
		return false;
	for (size_t i = 0; i < size; i++) {
		bool is_digit = data[i] >= '0' && data[i] <= '9';

		zeros = is_digit && digits == zeros && data[i] == '0' ? zeros + 1 : is_digit ? zeros : 0;
		digits = is_digit ? digits + 1 : 0;
		/* from ten digits on a number is no vertex, and refused */
		if (digits - zeros > DIGITS_MAX && digits - zeros < 10)
			return false;
	}
	return true;
}

static void check_error(const char *error)
{
	require(memchr(error, '\0', SOURCE_ERROR_MAX) != NULL);
	require(strncmp(error, NAME ":", strlen(NAME) + 1) == 0);
	for (const char *p = error; *p != '\0'; p++)
		require(*p >= ' ' && *p <= '~');
}

static void check_graph(const struct graph *graph, bool is_weighted)
{
	require(graph->vertices != 0 && graph->edges != 0);
	require(graph->offset[0] == 0 && graph->offset[graph->vertices] == graph->edges);
	for (uint64_t v = 0; v < graph->vertices; v++)
		require(graph->offset[v] <= graph->offset[v + 1]);
	for (uint64_t i = 0; i < graph->edges; i++)
		require(graph->edge[i] < graph->vertices);
	require((graph->weight != NULL) == is_weighted);
	require(graph_hub(graph) < graph->vertices);
}

/* The graph's edges; 0: refused. */
static uint64_t read(char *data, size_t size, struct graph_options options)
{
	char error[SOURCE_ERROR_MAX] = "";
	FILE *in = fmemopen(data, size, "rb");
	struct graph graph;
	uint64_t edges;

	if (in == NULL) /* this libc refuses size 0 */
		return 0;
	if (!graph_load_stream(&graph, in, NAME, options, error)) {
		check_error(error);
		require(graph.offset == NULL && graph.edge == NULL && graph.weight == NULL);
		return 0;
	}
	check_graph(&graph, options.is_weighted);
	edges = graph.edges;
	graph_free(&graph);
	return edges;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char matrix[] =
	        "%%MatrixMarket"; /* which may be symmetric: both directions, with any request */
	char *copy;               /* as fmemopen wants to be able to write */

	if (!is_wanted(data, size))
		return 0;
	copy = malloc(size + 1);
	require(copy != NULL);
	memcpy(copy, data, size);
	copy[size] = '\0';
	for (unsigned weighted = 0; weighted < 2; weighted++) {
		uint64_t one = read(copy, size, (struct graph_options){true, weighted != 0});
		uint64_t both = read(copy, size, (struct graph_options){false, weighted != 0});

		require((one != 0) == (both != 0));
		require(both == 2 * one || strstr(copy, matrix) != NULL);
	}
	free(copy);
	return 0;
}
