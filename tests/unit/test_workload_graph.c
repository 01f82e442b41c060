/* Unit tests of the programs over graphs and of the reader of edge lists. Every program is run a second time
 * here, naively: on whole arrays, element by element, with plain loops over vertices and edges; the pages
 * that this touches in each kernel must be those of the workload, and the answers must agree. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "source.h"
#include "workloads/graph_warp.h"

#define PAGE        4096u
#define NONE        UINT32_MAX
#define KERNELS_MAX 400u
#define RANGES_MAX  8u
#define PAGES_MAX   96u
#define VERTICES    2048u

static char error[SOURCE_ERROR_MAX];

static const char *const programs[] = {"bc",     "bfs_dwc", "bfs_ta", "bfs_tf", "bfs_ttc", "bfs_twc",
                                       "gc_dtc", "gc_ttc",  "kcore",  "pr",     "sssp_twc"};
#define PROGRAMS (sizeof(programs) / sizeof(programs[0]))

/* -- edge lists -- */

static struct graph parse(const char *text, struct graph_options options)
{
	FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "rb");
	struct graph graph;

	assert_non_null(in);
	if (!graph_load_stream(&graph, in, "list", options, error))
		fail_msg("%s", error);
	return graph;
}

/* `rows` is what the graph must be: "0: 1 2; 1: 0; ..." with end*weight where there are weights. */
static void assert_graph(struct graph graph, const char *rows)
{
	char text[512] = "";

	for (uint64_t v = 0; v < graph.vertices; v++) {
		sprintf(text + strlen(text), "%s%u:", v == 0 ? "" : "; ", (unsigned)v);
		for (uint64_t i = graph.offset[v]; i < graph.offset[v + 1]; i++) {
			sprintf(text + strlen(text), " %u", (unsigned)graph.edge[i]);
			if (graph.weight != NULL)
				sprintf(text + strlen(text), "*%u", (unsigned)graph.weight[i]);
		}
	}
	assert_string_equal(text, rows);
	assert_int_equal(graph.offset[graph.vertices], graph.edges);
	graph_free(&graph);
}

static const struct graph_options plain = {false, false}, directed = {true, false}, weighted = {false, true};

static void list_good(void **state)
{
	(void)state;
	assert_graph(parse("0 1\n", plain), "0: 1; 1: 0");
	assert_graph(parse("0 1", plain), "0: 1; 1: 0");
	assert_graph(parse("# Directed graph: x.txt\n# FromNodeId\tToNodeId\n0\t1\n\n1\t3\n% more\n", plain),
	             "0: 1; 1: 0 3; 2:; 3: 1");
	assert_graph(parse("0 1\n1 2\n2 0\n", directed), "0: 1; 1: 2; 2: 0");
	assert_graph(parse("  2   0 \r\n\t1\t2\t\r\n   \r\n # x\r\n", directed), "0:; 1: 2; 2: 0");
	/* loops stand twice in their row, parallel edges remain */
	assert_graph(parse("0 0\n0 1\n1 0\n", plain), "0: 0 0 1 1; 1: 0 0");
	assert_graph(parse("0 0\n", directed), "0: 0");
	/* a third column is read as a weight */
	assert_graph(parse("0 1 7\n1 2\n0 2 4294967295\n2 2 0\n", weighted),
	             "0: 1*7 2*4294967295; 1: 0*7 2*1; 2: 1*1 0*4294967295 2*0 2*0");
	assert_graph(parse("0 1 -0.5\n1 0 1082040961\n", directed), "0: 1; 1: 0");
	assert_graph(parse("0000000000000000000001 0\n", plain), "0: 1; 1: 0");
}

static void list_matrix_market(void **state)
{
	(void)state;
	assert_graph(parse("%%MatrixMarket matrix coordinate real general\n% c\n3 4 2\n1 2 0.5\n3 1 2e9\n",
	                   directed),
	             "0: 1; 1:; 2: 0; 3:");
	assert_graph(parse("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n", directed),
	             "0: 1; 1: 0; 2: 2 2");
	assert_graph(parse("%%MatrixMarket matrix coordinate integer general\n2 2 1\n\n2 1 9\n", weighted),
	             "0: 1*9; 1: 0*9");
	/* only the first line is a banner */
	assert_graph(parse("% x\n%%MatrixMarket matrix coordinate real general\n0 1\n", plain), "0: 1; 1: 0");
}

static void assert_bad(const char *text, struct graph_options options, const char *message)
{
	FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "rb");
	struct graph graph;

	assert_non_null(in);
	memset(error, 0, sizeof(error));
	assert_false(graph_load_stream(&graph, in, "list", options, error));
	assert_string_equal(error, message);
	assert_null(graph.offset);
	assert_null(graph.edge);
}

static void list_bad(void **state)
{
	(void)state;
	assert_bad("\n", plain, "list: holds no edge");
	assert_bad("# nothing\n# here", plain, "list: holds no edge");
	assert_bad("0\n", plain, "list:1: `u v` or `u v w` expected, the line ends too early");
	assert_bad("0 1\n2", plain, "list:2: `u v` or `u v w` expected, the line ends too early");
	assert_bad("0 1\n\n# x\na 1\n", plain, "list:4: `a` is not the number of a vertex");
	assert_bad("0,1\n", plain, "list:1: `0,1` is not the number of a vertex");
	assert_bad("0 -1\n", plain, "list:1: `-1` is not the number of a vertex");
	assert_bad("0 1.0\n", plain, "list:1: `1.0` is not the number of a vertex");
	assert_bad("0 1 2 3\n", plain, "list:1: `3` is one column too many: `u v` or `u v w` expected");
	assert_bad("0 1 2.5\n", weighted, "list:1: weight `2.5` is not a whole number of 0..4294967295");
	assert_bad("0 1 4294967296\n", weighted,
	           "list:1: weight `4294967296` is not a whole number of 0..4294967295");
	assert_bad("0 1\n0 \x01\x80\n", plain, "list:2: `??` is not the number of a vertex");
	assert_bad("uvmp-trace 1\n", plain, "list:1: `uvmp-trace` is not the number of a vertex");
}

static void list_huge_numbers(void **state)
{
	struct graph graph = parse("0 1000000\n", directed);

	(void)state;
	assert_int_equal(graph.vertices, 1000001);
	assert_int_equal(graph.edges, 1);
	graph_free(&graph);
	/* a slip, or keys: a large graph has at most 64 vertices an edge */
	graph = parse("0 1048575\n", plain);
	assert_int_equal(graph.vertices, 1048576);
	graph_free(&graph);
	assert_bad("0 1048576\n", plain,
	           "list: 1048577 vertices are too many for 1 edges: above 1048576, at most 64 an edge");
	assert_bad("%%MatrixMarket matrix coordinate real general\n9 1048577 2\n1 1 1\n1 1 1\n", plain,
	           "list:2: 1048577 vertices are too many for 2 edges: above 1048576, at most 64 an edge");
	assert_bad("0 268435456\n", plain, "list:1: vertex `268435456` is above 268435455");
	assert_bad("18446744073709551616 0\n", plain,
	           "list:1: vertex `18446744073709551616` is above 268435455");
	assert_bad("99999999999999999999999999999999999999999999 0\n", plain,
	           "list:1: `9999999999999999999999999999999999999999...` is not the number of a vertex");
}

static void list_bad_matrix_market(void **state)
{
#define BANNER "%%MatrixMarket matrix coordinate real general\n"
	(void)state;
	assert_bad("%%MatrixMarket matrix array real general\n1 1\n", plain,
	           "list:1: not a `matrix coordinate`, the only kind of Matrix Market that has edges");
	assert_bad("%%MatrixMarket\n1 1 1\n1 1\n", plain,
	           "list:1: not a `matrix coordinate`, the only kind of Matrix Market that has edges");
	assert_bad(BANNER "3 3\n1 1 1\n", plain, "list:2: `rows columns entries` expected, not ``");
	assert_bad(BANNER "3 3 1 9\n1 1 1\n", plain,
	           "list:2: `9` is one column too many: `rows columns entries` expected");
	assert_bad(BANNER "3 268435457 1\n1 1 1\n", plain,
	           "list:2: 268435457 vertices are more than 268435456");
	assert_bad(BANNER "3 3 1\n0 1 1\n", plain,
	           "list:3: vertex 0: a matrix has none, they are numbered from 1");
	assert_bad(BANNER "3 3 1\n1 4 1\n", plain, "list:3: vertex 4 is outside a matrix of 3");
	assert_bad(BANNER "3 3 1\n1 268435457 1\n", plain, "list:3: vertex `268435457` is above 268435456");
	assert_bad(BANNER "3 3 2\n1 3 1\n", plain, "list:3: the file ends after 1 entries of 2");
	assert_bad(BANNER "3 3 1\n1 3 1\n1 1 1\n", plain, "list:4: the file ends after 2 entries of 1");
	assert_bad(BANNER "3 3 0\n", plain, "list: holds no edge");
}

/* A file that is too small for enough edges is refused before any memory is taken; 17 * 2^16 vertices are not
 * too many for 17 * 2^10 edges. */
static void list_small_file(void **state)
{
	FILE *in = tmpfile();
	struct graph graph;

	(void)state;
	fputs("0 1\n0 268435455\n", in);
	fflush(in);
	assert_false(graph_load_stream(&graph, in, "list", plain, error));
	assert_string_equal(
	        error,
	        "list:2: 268435456 vertices are too many for 5 edges: above 1048576, at most 64 an edge");
	in = tmpfile();
	fputs("0 1114111\n", in);
	for (unsigned i = 1; i < 17 * 1024; i++)
		fputs("0 1\n", in);
	fflush(in);
	assert_true(graph_load_stream(&graph, in, "list", plain, error));
	assert_int_equal(graph.vertices, 1114112);
	graph_free(&graph);
}

/* An empty file, which fmemopen does not do; a file that is none; and one that cannot be read twice. */
static void list_files(void **state)
{
	struct graph graph;
	int ends[2];

	(void)state;
	assert_false(graph_load_stream(&graph, tmpfile(), "list", plain, error));
	assert_string_equal(error, "list: holds no edge");
	assert_false(graph_load(&graph, "/nonexistent/list", plain, error));
	assert_string_equal(error, "/nonexistent/list: No such file or directory");
	assert_false(graph_load(&graph, "-", plain, error));
	assert_string_equal(error, "-: an edge list is read twice, so it cannot be standard input");
	assert_false(graph_load(&graph, "/", plain, error));
	assert_string_equal(error, "/: cannot be read: Is a directory");
	assert_int_equal(pipe(ends), 0);
	close(ends[1]);
	assert_false(graph_load_stream(&graph, fdopen(ends[0], "rb"), "pipe", plain, error));
	assert_string_equal(error, "pipe: must be a regular file: it is read twice");
}

/* Other edges the second time. */
struct changing {
	const char *text[2];
	size_t at;
	unsigned round;
};

static ssize_t changing_read(void *cookie, char *to, size_t room)
{
	struct changing *changing = cookie;
	const char *text = changing->text[changing->round < 2 ? 0 : 1] + changing->at;
	size_t length = strlen(text) < room ? strlen(text) : room;

	memcpy(to, text, length);
	changing->at += length;
	return (ssize_t)length;
}

static int changing_seek(void *cookie, off64_t *offset, int whence)
{
	struct changing *changing = cookie;

	assert_true(whence == SEEK_SET && *offset == 0);
	changing->at = 0;
	changing->round++;
	return 0;
}

static void list_that_changes(void **state)
{
	static const char *const second[] = {"0 1\n",        "0 1\n1 2\n1 2\n", "2 2\n2 2\n",
	                                     "0 1\n1 300\n", "0 1\n2 1\n",      ""};

	(void)state;
	for (size_t i = 0; i < sizeof(second) / sizeof(second[0]); i++) {
		struct changing changing = {.text = {"0 1\n1 2\n", second[i]}};
		cookie_io_functions_t functions = {.read = changing_read, .seek = changing_seek};
		struct graph graph;

		assert_false(graph_load_stream(&graph, fopencookie(&changing, "rb", functions), "list", plain,
		                               error));
		assert_string_equal(error, "list: has changed while it was read");
	}
}

/* Longer than any buffer, with a comment that is too; plain and compressed. */
static void assert_long_list(FILE *in, unsigned edges)
{
	struct graph graph;

	rewind(in);
	if (!graph_load_stream(&graph, in, "list", directed, error))
		fail_msg("%s", error);
	assert_int_equal(graph.edges, edges);
	for (uint32_t v = 0; v < 1000; v++)
		for (uint64_t i = graph.offset[v]; i < graph.offset[v + 1]; i++) {
			uint64_t edge = v + 1000 * (i - graph.offset[v]);

			assert_int_equal(graph.edge[i], edge * 7 % 5003);
		}
	graph_free(&graph);
}

static size_t print_long_list(char **text, unsigned edges)
{
	size_t size;
	FILE *out = open_memstream(text, &size);

	fprintf(out, "#%0100000d\n", 0);
	for (unsigned i = 0; i < edges; i++)
		fprintf(out, "%u %u\n", i % 1000, i * 7 % 5003);
	fclose(out);
	return size;
}

static void list_long(void **state)
{
	const unsigned edges = 30000;
	char *text = NULL;
	size_t size = print_long_list(&text, edges);
	FILE *file = tmpfile();

	(void)state;
	fwrite(text, 1, size, file);
	assert_long_list(file, edges);
	free(text);
}

static void list_compressed(void **state)
{
	(void)state;
#ifdef HAVE_ZSTD
	const unsigned edges = 30000;
	char *text = NULL;
	size_t size = print_long_list(&text, edges), room = ZSTD_compressBound(size);
	char *packed = malloc(room);
	size_t packed_size = ZSTD_compress(packed, room, text, size, 3);
	struct graph graph;
	FILE *file = tmpfile();

	assert_false(ZSTD_isError(packed_size));
	fwrite(packed, 1, packed_size, file);
	assert_long_list(file, edges);

	file = tmpfile();
	fwrite(packed, 1, packed_size - 9, file);
	rewind(file);
	assert_false(graph_load_stream(&graph, file, "list", directed, error));
	assert_non_null(strstr(error, ": the compressed data ends in the middle"));

	file = tmpfile();
	memset(packed + packed_size / 2, 0xff, 64);
	fwrite(packed, 1, packed_size, file);
	rewind(file);
	assert_false(graph_load_stream(&graph, file, "list", directed, error));
	assert_memory_equal(error, "list:", 5);
	free(packed);
	free(text);
#endif
}

/* -- generated graphs -- */

static void rmat_weights(void **state)
{
	const struct graph_shape shape = {.scale = 9, .degree = 6, .skew = GRAPH_SKEW_MAX};
	uint64_t random[2] = {9, 9};
	struct graph g, h;
	uint32_t seen = 0;

	(void)state;
	assert_true(graph_build(&g, shape, &random[0]));
	assert_true(graph_build_weighted(&h, shape, &random[1]));
	assert_true(random[0] == random[1]);
	assert_int_equal(g.edges, h.edges);
	assert_memory_equal(g.offset, h.offset, (size_t)(g.vertices + 1) * sizeof(*g.offset));
	assert_memory_equal(g.edge, h.edge, (size_t)g.edges * sizeof(*g.edge));
	assert_null(g.weight);
	/* an edge weighs the same in both rows, as do all between the same two vertices */
	for (uint32_t u = 0; u < h.vertices; u++)
		for (uint64_t i = h.offset[u]; i < h.offset[u + 1]; i++) {
			uint32_t v = h.edge[i];

			assert_in_range(h.weight[i], 1, GRAPH_WEIGHT_MAX);
			seen |= h.weight[i] == 1 ? 1 : h.weight[i] == GRAPH_WEIGHT_MAX ? 2 : 0;
			for (uint64_t j = h.offset[v]; j < h.offset[v + 1]; j++)
				if (h.edge[j] == u)
					assert_int_equal(h.weight[i], h.weight[j]);
		}
	assert_int_equal(seen, 3);
	graph_free(&g);
	graph_free(&h);
}

/* Entries of the largest row of 4096 with 16 on average. */
static uint64_t largest_row(unsigned skew)
{
	const struct graph_shape shape = {.scale = 12, .degree = 16, .skew = skew};
	uint64_t random = 4, row;
	struct graph g;

	assert_true(graph_build(&g, shape, &random));
	assert_int_equal(g.edges, 4096 * 16);
	row = g.offset[graph_hub(&g) + 1] - g.offset[graph_hub(&g)];
	graph_free(&g);
	return row;
}

/* The first row is expected to have 16 (1 + 0.52 skew)^12 entries, three standard deviations more or less.
 * Without skew all rows have 16, but for chance. */
static void rmat_skew(void **state)
{
	(void)state;
	assert_in_range(largest_row(0), 24, 48);
	assert_in_range(largest_row(50), 256 - 3 * 16, 256 + 3 * 16);
	assert_in_range(largest_row(GRAPH_SKEW_MAX), 2434 - 3 * 49, 2434 + 3 * 49);
}

/* -- what holds for all programs -- */

static struct source *open_spec(const char *spec, uint64_t seed)
{
	struct source *source = workload_open(spec, seed, error);

	if (source == NULL)
		fail_msg("%s", error);
	return source;
}

static uint64_t footprint(const char *spec)
{
	struct source *source = open_spec(spec, 1);
	const struct workload *workload = workload_of(source);
	uint64_t bytes = 0;

	for (unsigned i = 0; i < workload->ranges; i++)
		bytes += workload->range[i].bytes;
	source->close(source);
	return bytes;
}

/* V vertices, E row entries: offsets 8 (V + 1), edges 8 E, and what the program has per vertex, edge, and
 * once. */
static void footprints(void **state)
{
	static const struct {
		unsigned vertex, edge, once;
	} own[PROGRAMS] = {{16, 0, 1}, {20, 0, 9}, {4, 0, 1}, {7, 0, 1}, {4, 0, 1}, {4, 0, 1},
	                   {24, 0, 8}, {8, 0, 1},  {6, 0, 5}, {8, 0, 0}, {9, 4, 1}};

	(void)state;
	for (size_t i = 0; i < PROGRAMS; i++) {
		char spec[64];
		uint64_t v = 1 << 12, e = v * 5;

		snprintf(spec, sizeof(spec), "%s:scale=12,degree=5", programs[i]);
		assert_int_equal(footprint(spec),
		                 (8 + own[i].vertex) * v + 8 + (8 + own[i].edge) * e + own[i].once);
	}
	assert_int_equal(footprint("bfs_ttc:scale=17"), 12 * 131072 + 8 + 8 * 8 * 131072 + 1);
	/* Kim et al. ASPLOS'20, section 5.1: footprints from 26 MB */
	assert_int_equal(footprint("bfs_ttc:scale=17,degree=23"), 25690121);
	/* GraphBIG's worklists have room for 16777216 and 8777216 vertices of 8 bytes */
	assert_int_equal(footprint("bfs_dwc:scale=12,degree=5,worklist=16777216"),
	                 footprint("bfs_dwc:scale=12,degree=5") + 2 * 8 * (16777216 - 4096));
	assert_int_equal(footprint("gc_dtc:scale=12,degree=5,worklist=8777216"),
	                 footprint("gc_dtc:scale=12,degree=5") + 2 * 8 * (8777216 - 4096));
}

static uint64_t hash_of(const char *spec, uint64_t seed, uint64_t *rows)
{
	struct source *source = open_spec(spec, seed);
	uint64_t hash = 0xcbf29ce484222325u;
	struct source_row row;

	*rows = 0;
	for (source->next(source, &row); row.kind != SOURCE_END; source->next(source, &row)) {
		hash = (hash ^ (uint64_t)row.kind) * 0x100000001b3u;
		if (row.kind != SOURCE_ACCESS)
			continue;
		hash = (hash ^ row.address ^ (uint64_t)row.agent << 20 ^ (uint64_t)row.access) *
		       0x100000001b3u;
		++*rows;
	}
	source->close(source);
	return hash;
}

static void determinism(void **state)
{
	(void)state;
	for (size_t i = 0; i < PROGRAMS; i++) {
		uint64_t rows[3], hash[3];
		char spec[64];

		snprintf(spec, sizeof(spec), "%s:scale=10,agents=9", programs[i]);
		hash[0] = hash_of(spec, 1, &rows[0]);
		hash[1] = hash_of(spec, 1, &rows[1]);
		hash[2] = hash_of(spec, 2, &rows[2]);
		assert_true(rows[0] == rows[1] && rows[0] > 100);
		assert_true(hash[0] == hash[1]);
		assert_true(hash[0] != hash[2]);
	}
}

/* -- a path of three vertices, step by step -- */

/* All rows of a workload of one agent, as `range:access`, kernels in brackets. */
static void print_rows(const char *spec, char *to, size_t room)
{
	struct source *source = open_spec(spec, 1);
	const struct workload *workload = workload_of(source);
	size_t used = 0;
	struct source_row row;

	to[0] = '\0';
	for (source->next(source, &row); row.kind != SOURCE_END; source->next(source, &row)) {
		unsigned i = 0;

		assert_true(used + 80 < room);
		if (row.kind == SOURCE_KERNEL)
			used += (size_t)sprintf(to + used, "%s[%s]", used != 0 ? " " : "", row.name);
		if (row.kind != SOURCE_ACCESS)
			continue;
		while (row.address - workload->range[i].base >= workload->range[i].bytes)
			assert_true(++i < workload->ranges);
		used += (size_t)sprintf(to + used, " %s:%c", workload->range[i].name,
		                        row.access == UVMP_ACCESS_READ    ? 'r'
		                        : row.access == UVMP_ACCESS_WRITE ? 'w'
		                                                          : 'a');
	}
	source->close(source);
}

static char *path_file(const char *text)
{
	static char name[] = "/tmp/uvmsim-graph-XXXXXX";
	int fd;

	strcpy(name + sizeof(name) - 7, "XXXXXX");
	fd = mkstemp(name);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return name;
}

static void assert_rows(const char *program, const char *parameters, const char *text, const char *rows)
{
	char *name = path_file(text), spec[128], got[4096];

	snprintf(spec, sizeof(spec), "%s:file=%s,agents=1%s", program, name, parameters);
	print_rows(spec, got, sizeof(got));
	unlink(name);
	assert_string_equal(got, rows);
}

/* 0 - 1 - 2: the search starts in the middle. Every array is one page, so neighbouring accesses of one array
 * and kind are one row: where edges begin and end, for instance. */
static void path_bfs(void **state)
{
	const char *const path = "0 1\n1 2\n";

	(void)state;
	/* one lane goes through two edges, then two lanes through one each */
	assert_rows("bfs_ttc", "", path,
	            "[initialize] levels:w"
	            " [bfs_ttc] levels:r offsets:r edges:r levels:r changed:w levels:w"
	            " edges:r levels:r changed:w levels:w"
	            " [bfs_ttc] levels:r offsets:r edges:r levels:r");
	/* two edges at a time; vertices 1, 2 looked at first and last */
	assert_rows("bfs_twc", "", path,
	            "[initialize] levels:w"
	            " [bfs_twc] levels:r offsets:r edges:r levels:r levels:w changed:w levels:r"
	            " [bfs_twc] levels:r offsets:r edges:r levels:r offsets:r edges:r levels:r");
	/* all vertices walk; the second pass finds nothing lower, so that there are two: lanes 0 and 2 see
	 * level 0 of vertex 1 while it is still to be used */
	assert_rows("bfs_ta", "", path,
	            "[initialize] levels:w"
	            " [bfs_ta] offsets:r edges:r levels:r levels:a edges:r levels:r levels:a changed:w"
	            " [bfs_ta] offsets:r edges:r levels:r edges:r levels:r");
	assert_rows("bfs_tf", "", path,
	            "[initialize] frontier:w updating:w visited:w levels:w"
	            " [bfs_tf_visit] frontier:r frontier:w offsets:r edges:r visited:r levels:r levels:w "
	            "updating:w"
	            " edges:r visited:r levels:r levels:w updating:w"
	            " [bfs_tf_advance] updating:r frontier:w visited:w updating:w over:w"
	            " [bfs_tf_visit] frontier:r frontier:w offsets:r edges:r visited:r"
	            " [bfs_tf_advance] updating:r");
	assert_rows("bfs_dwc", "", path,
	            "[initialize] levels:w"
	            " [bfs_dwc] end0:r worklist0:r offsets:r edges:r levels:r levels:w end1:a worklist1:w"
	            " [bfs_dwc] end1:r worklist1:r offsets:r edges:r levels:r worklist1:r offsets:r edges:r "
	            "levels:r"
	            " end0:a");
}

static void path_others(void **state)
{
	const char *const path = "0 1\n1 2\n", *const loop = "0 0\n", *const edge = "0 1 5\n";

	(void)state;
	/* distances from vertex 0: 0, 1, 2; back: level 1 first, then level 0 */
	assert_rows(
	        "bc", "", path,
	        "[bc_init] distances:w paths:w parts:w"
	        " [bc_forward] distances:r offsets:r edges:r distances:r distances:w over:w distances:r "
	        "paths:r"
	        " paths:a"
	        " [bc_forward] distances:r offsets:r edges:r distances:r edges:r distances:r distances:w "
	        "over:w"
	        " distances:r paths:r paths:a"
	        " [bc_forward] distances:r offsets:r edges:r distances:r"
	        " [bc_backward] distances:r offsets:r edges:r distances:r edges:r distances:r paths:r parts:r"
	        " parts:w"
	        " [bc_backward] distances:r offsets:r edges:r distances:r paths:r parts:r parts:w"
	        " [bc_sum] distances:r parts:r centralities:r centralities:w");
	/* k = 2: both ends go, then the middle; the third pass lowers nothing and removes nothing */
	assert_rows(
	        "kcore", ",k=2", path,
	        "[initialize] offsets:r degrees:w removed:w flags:w"
	        " [kcore_lower] flags:r [kcore_remove] removed:r degrees:r removed:w flags:w count:a over:w"
	        " [kcore_lower] flags:r offsets:r edges:r removed:r degrees:a flags:w"
	        " [kcore_remove] removed:r degrees:r removed:w flags:w count:a over:w"
	        " [kcore_lower] flags:r offsets:r edges:r removed:r edges:r removed:r flags:w"
	        " [kcore_remove] removed:r");
	assert_rows("pr", ",iterations=2", path,
	            "[initialize] ranks:w sums:w"
	            " [pagerank_add] ranks:r offsets:r edges:r sums:a edges:r sums:a"
	            " [pagerank_take] sums:r ranks:w sums:w"
	            " [pagerank_add] ranks:r offsets:r edges:r sums:a edges:r sums:a"
	            " [pagerank_take] sums:r ranks:w sums:w");
	/* the offer to vertex 1 is taken; in the second pass it offers 10 to vertex 0, in vain */
	assert_rows("sssp_twc", "", edge,
	            "[initialize] distances:w updates:w mask:w"
	            " [sssp_offer] mask:r offsets:r distances:r edges:r weights:r updates:a mask:w mask:r"
	            " [sssp_take] distances:r updates:r distances:w mask:w changed:w distances:r updates:w"
	            " [sssp_offer] mask:r offsets:r distances:r edges:r weights:r updates:a mask:w"
	            " [sssp_take] distances:r updates:r distances:r updates:w");
	/* a vertex does not compete with itself */
	assert_rows("gc_ttc", "", loop,
	            "[initialize] colours:w"
	            " [gc_ttc] colours:r numbers:r offsets:r edges:r colours:r numbers:r edges:r colours:r "
	            "numbers:r"
	            " colours:w");
	/* of two vertices one waits for the other */
	assert_rows("gc_ttc", "", edge,
	            "[initialize] colours:w"
	            " [gc_ttc] colours:r numbers:r offsets:r edges:r colours:r numbers:r colours:w over:w"
	            " [gc_ttc] colours:r numbers:r offsets:r edges:r colours:r colours:w");
	assert_rows("gc_dtc", "", edge,
	            "[initialize] colours:w"
	            " [gc_dtc] end0:r worklist0:r colours:r numbers:r offsets:r edges:r colours:r numbers:r "
	            "colours:w"
	            " end1:a worklist1:w"
	            " [gc_dtc] end1:r worklist1:r colours:r numbers:r offsets:r edges:r colours:r colours:w");
}

/* -- every program once more, naively -- */

/* Pages that each kernel touches: by kind of access, range and page. */
struct touched {
	bool page[3][RANGES_MAX][PAGES_MAX];
};

static struct touched wanted[KERNELS_MAX], seen[KERNELS_MAX];
enum kind { R, W, A };

struct model {
	const struct graph *g;
	uint32_t root;
	const struct workload *workload;
	struct touched *kernel; /* the one in hand */
	unsigned kernels;
	/* the answers */
	uint32_t small[VERTICES];
	uint64_t large[VERTICES];
	double real[VERTICES];
};

static struct model model;

static void begin_kernel(void)
{
	assert_true(model.kernels < KERNELS_MAX);
	model.kernel = &wanted[model.kernels++];
}

/* An element of the named array. */
static void touch(enum kind kind, const char *range, uint64_t element, unsigned bytes)
{
	unsigned i = 0;

	while (strcmp(model.workload->range[i].name, range) != 0)
		assert_true(++i < model.workload->ranges);
	assert_true((element + 1) * bytes <= model.workload->range[i].bytes);
	assert_true(element * bytes / PAGE < PAGES_MAX);
	model.kernel->page[kind][i][element * bytes / PAGE] = true;
}

static void touch_all(enum kind kind, const char *range, unsigned bytes)
{
	for (uint64_t v = 0; v < model.g->vertices; v++)
		touch(kind, range, v, bytes);
}

static void touch_offsets(uint32_t v)
{
	touch(R, "offsets", v, 8);
	touch(R, "offsets", v + 1, 8);
}

#define EACH_VERTEX(v)                                                                                       \
	uint32_t v = 0;                                                                                      \
	v < model.g->vertices;                                                                               \
	v++
#define EACH_EDGE(i, v)                                                                                      \
	uint64_t i = model.g->offset[v];                                                                     \
	i < model.g->offset[(v) + 1];                                                                        \
	i++

static void begin_search(void)
{
	for (EACH_VERTEX(v))
		model.small[v] = NONE;
	model.small[model.root] = 0;
	begin_kernel();
	touch_all(W, "levels", 4);
}

static void model_bfs_by_levels(void)
{
	bool is_again = true;

	begin_search();
	for (uint32_t level = 0; is_again; level++) {
		is_again = false;
		begin_kernel();
		touch_all(R, "levels", 4);
		for (EACH_VERTEX(v)) {
			if (model.small[v] != level)
				continue;
			touch_offsets(v);
			for (EACH_EDGE(i, v)) {
				uint32_t end = model.g->edge[i];

				touch(R, "edges", i, 8);
				touch(R, "levels", end, 4);
				if (model.small[end] != NONE)
					continue;
				model.small[end] = level + 1;
				touch(W, "levels", end, 4);
				touch(W, "changed", 0, 1);
				is_again = true;
			}
		}
	}
}

/* One warp after the other, as they run when there is one agent; the lanes of a warp in lockstep. */
static void model_bfs_ta(void)
{
	bool is_again = true;

	begin_search();
	while (is_again) {
		is_again = false;
		begin_kernel();
		for (EACH_VERTEX(first)) {
			uint64_t most = 0;

			touch_offsets(first);
			if (first % 32 != 0)
				continue;
			for (uint32_t v = first; v < first + 32 && v < model.g->vertices; v++)
				if (model.g->offset[v + 1] - model.g->offset[v] > most)
					most = model.g->offset[v + 1] - model.g->offset[v];
			for (uint64_t rank = 0; rank < most; rank++) {
				bool is_lower[32] = {false};

				for (uint32_t v = first; v < first + 32 && v < model.g->vertices; v++) {
					uint64_t i = model.g->offset[v] + rank;

					if (i >= model.g->offset[v + 1])
						continue;
					touch(R, "edges", i, 8);
					touch(R, "levels", v, 4);
					touch(R, "levels", model.g->edge[i], 4);
					is_lower[v - first] =
					        model.small[v] != NONE &&
					        model.small[v] + 1 < model.small[model.g->edge[i]];
				}
				for (uint32_t v = first; v < first + 32 && v < model.g->vertices; v++) {
					uint32_t end;

					if (!is_lower[v - first])
						continue;
					end = model.g->edge[model.g->offset[v] + rank];
					touch(A, "levels", end, 4);
					if (model.small[end] <= model.small[v] + 1)
						continue;
					model.small[end] = model.small[v] + 1;
					touch(W, "changed", 0, 1);
					is_again = true;
				}
			}
		}
	}
}

static void model_bfs_tf(void)
{
	static bool is_front[VERTICES], is_visited[VERTICES], is_updating[VERTICES];
	bool is_again = true;

	begin_search();
	touch_all(W, "frontier", 1);
	touch_all(W, "visited", 1);
	touch_all(W, "updating", 1);
	memset(is_front, 0, sizeof(is_front));
	memset(is_visited, 0, sizeof(is_visited));
	memset(is_updating, 0, sizeof(is_updating));
	is_front[model.root] = is_visited[model.root] = true;
	while (is_again) {
		is_again = false;
		begin_kernel();
		touch_all(R, "frontier", 1);
		for (EACH_VERTEX(v)) {
			if (!is_front[v])
				continue;
			touch(W, "frontier", v, 1);
			is_front[v] = false;
			touch_offsets(v);
			for (EACH_EDGE(i, v)) {
				uint32_t end = model.g->edge[i];

				touch(R, "edges", i, 8);
				touch(R, "visited", end, 1);
				if (is_visited[end])
					continue;
				touch(R, "levels", v, 4);
				touch(W, "levels", end, 4);
				touch(W, "updating", end, 1);
				model.small[end] = model.small[v] + 1;
				is_updating[end] = true;
			}
		}
		begin_kernel();
		touch_all(R, "updating", 1);
		for (EACH_VERTEX(v)) {
			if (!is_updating[v])
				continue;
			is_updating[v] = false;
			is_front[v] = is_visited[v] = is_again = true;
			touch(W, "frontier", v, 1);
			touch(W, "visited", v, 1);
			touch(W, "updating", v, 1);
			touch(W, "over", 0, 1);
		}
	}
}

static void model_bfs_dwc(void)
{
	static const char *const list[] = {"worklist0", "worklist1"}, *const end_of[] = {"end0", "end1"};
	uint32_t length = 1;

	begin_search();
	for (uint32_t level = 0; length > 0; level++) {
		uint32_t item = 0, found = 0;

		begin_kernel();
		touch(R, end_of[level % 2], 0, 4);
		touch(A, end_of[1 - level % 2], 0, 4);
		for (EACH_VERTEX(v)) {
			if (model.small[v] != level)
				continue;
			touch(R, list[level % 2], item++, 8);
			touch_offsets(v);
			for (EACH_EDGE(i, v)) {
				uint32_t end = model.g->edge[i];

				touch(R, "edges", i, 8);
				touch(R, "levels", end, 4);
				if (model.small[end] != NONE)
					continue;
				model.small[end] = level + 1;
				touch(W, "levels", end, 4);
				touch(W, list[1 - level % 2], found++, 8);
			}
		}
		assert_int_equal(item, length);
		length = found;
	}
}

/* The random numbers that the program gives to vertices. */
static void draw_numbers(uint32_t *number, uint64_t random)
{
	struct graph graph;

	if (model.workload->text[GRAPH_FILE] == NULL) {
		const struct graph_shape shape = {
		        .scale = (unsigned)model.workload->value[GRAPH_SCALE],
		        .degree = (unsigned)model.workload->value[GRAPH_DEGREE],
		        .skew = (unsigned)model.workload->value[GRAPH_SKEW],
		};

		assert_true(graph_build(&graph, shape, &random));
		graph_free(&graph);
	}
	for (EACH_VERTEX(v))
		number[v] = (uint32_t)(uvmp_random_next(&random) >> 33);
}

static void model_colouring(bool has_list, uint64_t seed)
{
	static const char *const list[] = {"worklist0", "worklist1"}, *const end_of[] = {"end0", "end1"};
	static uint32_t number[VERTICES];
	uint64_t waiting = 1;

	draw_numbers(number, seed);
	for (EACH_VERTEX(v))
		model.small[v] = NONE;
	begin_kernel();
	touch_all(W, "colours", 4);
	for (uint32_t pass = 0; waiting > 0; pass++) {
		uint64_t item = 0;

		waiting = 0;
		begin_kernel();
		if (has_list)
			touch(R, end_of[pass % 2], 0, 4);
		else
			touch_all(R, "colours", 4);
		for (EACH_VERTEX(v)) {
			bool is_largest = true;

			if (model.small[v] < pass)
				continue;
			if (has_list) {
				touch(R, list[pass % 2], item++, 8);
				touch(R, "colours", v, 4);
			}
			touch(R, "numbers", v, 4);
			touch_offsets(v);
			for (EACH_EDGE(i, v)) {
				uint32_t end = model.g->edge[i];

				touch(R, "edges", i, 8);
				touch(R, "colours", end, 4);
				if (model.small[end] < pass)
					continue;
				touch(R, "numbers", end, 4);
				is_largest =
				        number[end] < number[v] || (number[end] == number[v] && end >= v);
				if (!is_largest)
					break;
			}
			if (is_largest) {
				model.small[v] = pass;
				touch(W, "colours", v, 4);
				continue;
			}
			if (has_list) {
				touch(A, end_of[1 - pass % 2], 0, 4);
				touch(W, list[1 - pass % 2], waiting, 8);
			} else {
				touch(W, "over", 0, 1);
			}
			waiting++;
		}
	}
	for (EACH_VERTEX(v))
		for (EACH_EDGE(i, v))
			assert_true(model.g->edge[i] == v || model.small[v] != model.small[model.g->edge[i]]);
}

static void model_kcore(uint32_t k)
{
	static bool is_removed[VERTICES], is_flagged[VERTICES];
	bool is_again = true;

	memset(is_removed, 0, sizeof(is_removed));
	memset(is_flagged, 0, sizeof(is_flagged));
	begin_kernel();
	for (EACH_VERTEX(v)) {
		touch_offsets(v);
		model.small[v] = (uint32_t)(model.g->offset[v + 1] - model.g->offset[v]);
	}
	touch_all(W, "degrees", 4);
	touch_all(W, "removed", 1);
	touch_all(W, "flags", 1);
	while (is_again) {
		is_again = false;
		begin_kernel();
		touch_all(R, "flags", 1);
		for (EACH_VERTEX(v)) {
			if (!is_flagged[v])
				continue;
			touch_offsets(v);
			for (EACH_EDGE(i, v)) {
				touch(R, "edges", i, 8);
				touch(R, "removed", model.g->edge[i], 1);
				if (is_removed[model.g->edge[i]])
					continue;
				touch(A, "degrees", model.g->edge[i], 4);
				model.small[model.g->edge[i]]--;
			}
			touch(W, "flags", v, 1);
			is_flagged[v] = false;
		}
		begin_kernel();
		touch_all(R, "removed", 1);
		for (EACH_VERTEX(v)) {
			if (is_removed[v])
				continue;
			touch(R, "degrees", v, 4);
			if (model.small[v] >= k)
				continue;
			is_removed[v] = is_flagged[v] = is_again = true;
			touch(W, "removed", v, 1);
			touch(W, "flags", v, 1);
			touch(A, "count", 0, 4);
			touch(W, "over", 0, 1);
		}
	}
	/* what remains is a k-core: each vertex has k edges to others that remain */
	for (EACH_VERTEX(v)) {
		uint32_t left = 0;

		for (EACH_EDGE(i, v))
			left += !is_removed[model.g->edge[i]];
		if (!is_removed[v])
			assert_true(left >= k && left == model.small[v]);
	}
}

static void model_pr(unsigned iterations)
{
	static uint64_t sum[VERTICES];
	const uint64_t one = (uint64_t)1 << 48;

	memset(sum, 0, sizeof(sum));
	begin_kernel();
	touch_all(W, "ranks", 4);
	touch_all(W, "sums", 4);
	for (EACH_VERTEX(v)) {
		model.large[v] = one / model.g->vertices;
		model.real[v] = 1.0 / (double)model.g->vertices;
	}
	for (unsigned i = 0; i < iterations; i++) {
		static double real_sum[VERTICES];

		memset(real_sum, 0, sizeof(real_sum));
		begin_kernel();
		touch_all(R, "ranks", 4);
		for (EACH_VERTEX(v)) {
			uint64_t degree = model.g->offset[v + 1] - model.g->offset[v];

			touch_offsets(v);
			for (EACH_EDGE(e, v)) {
				touch(R, "edges", e, 8);
				touch(A, "sums", model.g->edge[e], 4);
				sum[model.g->edge[e]] += model.large[v] / degree;
				real_sum[model.g->edge[e]] += model.real[v] / (double)degree;
			}
		}
		begin_kernel();
		touch_all(R, "sums", 4);
		touch_all(W, "ranks", 4);
		touch_all(W, "sums", 4);
		for (EACH_VERTEX(v)) {
			model.large[v] = one * 15 / 100 / model.g->vertices + sum[v] * 85 / 100;
			model.real[v] = 0.15 / (double)model.g->vertices + 0.85 * real_sum[v];
			sum[v] = 0;
			assert_true((double)model.large[v] / (double)one > model.real[v] * 0.999999 - 1e-9);
			assert_true((double)model.large[v] / (double)one < model.real[v] * 1.000001 + 1e-9);
		}
	}
}

static void model_sssp(void)
{
	static uint64_t update[VERTICES];
	static bool is_changed[VERTICES];
	bool is_again = true;

	begin_kernel();
	touch_all(W, "distances", 4);
	touch_all(W, "updates", 4);
	touch_all(W, "mask", 1);
	for (EACH_VERTEX(v))
		model.large[v] = update[v] = UINT64_MAX;
	memset(is_changed, 0, sizeof(is_changed));
	model.large[model.root] = 0;
	is_changed[model.root] = true;
	while (is_again) {
		is_again = false;
		begin_kernel();
		touch_all(R, "mask", 1);
		for (EACH_VERTEX(v)) {
			if (!is_changed[v])
				continue;
			is_changed[v] = false;
			touch(W, "mask", v, 1);
			touch_offsets(v);
			touch(R, "distances", v, 4);
			for (EACH_EDGE(i, v)) {
				uint32_t end = model.g->edge[i];

				touch(R, "edges", i, 8);
				touch(R, "weights", i, 4);
				touch(A, "updates", end, 4);
				if (model.large[v] + model.g->weight[i] < update[end])
					update[end] = model.large[v] + model.g->weight[i];
			}
		}
		begin_kernel();
		for (EACH_VERTEX(v)) {
			touch(R, "distances", v, 4);
			touch(R, "updates", v, 4);
			if (model.large[v] > update[v]) {
				model.large[v] = update[v];
				is_changed[v] = is_again = true;
				touch(W, "distances", v, 4);
				touch(W, "mask", v, 1);
				touch(W, "changed", 0, 1);
			} else {
				update[v] = model.large[v];
				touch(W, "updates", v, 4);
			}
		}
	}
	/* no edge is a short cut, and every distance but the root's comes over an edge */
	for (EACH_VERTEX(v)) {
		bool is_reached = v == model.root || model.large[v] == UINT64_MAX;

		for (EACH_EDGE(i, v)) {
			if (model.large[v] == UINT64_MAX)
				continue;
			assert_true(model.large[model.g->edge[i]] <= model.large[v] + model.g->weight[i]);
			is_reached |= model.large[model.g->edge[i]] + model.g->weight[i] == model.large[v];
		}
		assert_true(is_reached);
	}
}

static void model_bc_forward(uint32_t *distance, double *paths)
{
	bool is_again = true;

	for (uint32_t level = 0; is_again; level++) {
		is_again = false;
		begin_kernel();
		touch_all(R, "distances", 4);
		for (EACH_VERTEX(v)) {
			if (distance[v] != level)
				continue;
			touch_offsets(v);
			for (EACH_EDGE(i, v)) {
				uint32_t end = model.g->edge[i];

				touch(R, "edges", i, 8);
				touch(R, "distances", end, 4);
				if (distance[end] == NONE) {
					distance[end] = level + 1;
					is_again = true;
					touch(W, "distances", end, 4);
					touch(W, "over", 0, 1);
				}
				if (distance[end] != level + 1)
					continue;
				paths[end] += paths[v];
				touch(R, "paths", v, 4);
				touch(A, "paths", end, 4);
			}
		}
	}
}

static void model_bc_backward(const uint32_t *distance, const double *paths, double *part)
{
	uint32_t most = 0;

	for (EACH_VERTEX(v))
		if (distance[v] != NONE && distance[v] > most)
			most = distance[v];
	for (uint32_t level = most; level > 0; level--) {
		begin_kernel();
		touch_all(R, "distances", 4);
		for (EACH_VERTEX(v)) {
			if (distance[v] != level - 1)
				continue;
			touch_offsets(v);
			for (EACH_EDGE(i, v)) {
				uint32_t end = model.g->edge[i];

				touch(R, "edges", i, 8);
				touch(R, "distances", end, 4);
				if (distance[end] != level)
					continue;
				touch(R, "paths", v, 4);
				touch(R, "paths", end, 4);
				touch(R, "parts", end, 4);
				part[v] += paths[v] / paths[end] * (1 + part[end]);
			}
			touch(R, "parts", v, 4);
			touch(W, "parts", v, 4);
		}
	}
}

static void model_bc(unsigned roots)
{
	static uint32_t distance[VERTICES];
	static double paths[VERTICES], part[VERTICES];

	memset(model.real, 0, sizeof(model.real));
	for (EACH_VERTEX(root)) {
		if (model.g->offset[root + 1] == model.g->offset[root] || roots == 0)
			continue;
		roots--;
		for (EACH_VERTEX(v)) {
			distance[v] = NONE;
			paths[v] = part[v] = 0;
		}
		distance[root] = 0;
		paths[root] = 1;
		begin_kernel();
		touch_all(W, "distances", 4);
		touch_all(W, "paths", 4);
		touch_all(W, "parts", 4);
		model_bc_forward(distance, paths);
		model_bc_backward(distance, paths, part);
		begin_kernel();
		for (EACH_VERTEX(v)) {
			if (v == root)
				continue;
			touch(R, "distances", v, 4);
			if (distance[v] == NONE)
				continue;
			touch(R, "parts", v, 4);
			touch(R, "centralities", v, 4);
			touch(W, "centralities", v, 4);
			model.real[v] += part[v];
		}
	}
}

/* -- the programs beside their models -- */

static void run_model(const char *program, uint64_t seed)
{
	const uint64_t own = model.workload->value[GRAPH_OWN];

	if (strcmp(program, "bc") == 0)
		model_bc((unsigned)own);
	else if (strcmp(program, "bfs_dwc") == 0)
		model_bfs_dwc();
	else if (strcmp(program, "bfs_ta") == 0)
		model_bfs_ta();
	else if (strcmp(program, "bfs_tf") == 0)
		model_bfs_tf();
	else if (strcmp(program, "bfs_ttc") == 0 || strcmp(program, "bfs_twc") == 0)
		model_bfs_by_levels();
	else if (strcmp(program, "kcore") == 0)
		model_kcore((uint32_t)own);
	else if (strcmp(program, "pr") == 0)
		model_pr((unsigned)own);
	else if (strcmp(program, "sssp_twc") == 0)
		model_sssp();
	else
		model_colouring(strcmp(program, "gc_dtc") == 0, seed);
}

/* Runs it to the end; returns the number of kernels. */
static unsigned collect(struct source *source)
{
	const struct workload *workload = workload_of(source);
	unsigned kernels = 0;
	struct source_row row;

	for (source->next(source, &row); row.kind != SOURCE_END; source->next(source, &row)) {
		enum kind kind = row.access == UVMP_ACCESS_READ ? R : row.access == UVMP_ACCESS_WRITE ? W : A;
		unsigned i = 0;

		if (row.kind == SOURCE_KERNEL)
			kernels++;
		if (row.kind != SOURCE_ACCESS)
			continue;
		while (row.address - workload->range[i].base >= workload->range[i].bytes)
			assert_true(++i < workload->ranges);
		assert_true(kernels > 0 && kernels <= KERNELS_MAX);
		seen[kernels - 1].page[kind][i][(row.address - workload->range[i].base) / PAGE] = true;
	}
	return kernels;
}

static void assert_answers(const struct graph_state *got, bool is_bc)
{
	for (EACH_VERTEX(v)) {
		double centrality;

		if (!is_bc && got->result != NULL)
			assert_int_equal(got->result[v], model.small[v]);
		if (!is_bc && got->wide_result != NULL)
			assert_true(got->wide_result[v] == model.large[v]);
		if (!is_bc)
			continue;
		centrality = (double)got->wide_result[v] / 65536;
		assert_true(centrality <= model.real[v] * 1.0001 + 0.001);
		assert_true(centrality >= model.real[v] * 0.999 - 0.1);
	}
}

static void compare(const char *program, const char *parameters, uint64_t seed)
{
	bool is_one_agent = strstr(parameters, "agents=1,") != NULL;
	struct source *source;
	unsigned kernels;
	char spec[256];

	snprintf(spec, sizeof(spec), "%s:%s", program, parameters);
	source = open_spec(spec, seed);
	memset(&model, 0, sizeof(model));
	memset(wanted, 0, sizeof(wanted));
	memset(seen, 0, sizeof(seen));
	model.workload = workload_of(source);
	model.g = &((const struct graph_state *)model.workload->state)->graph;
	model.root = graph_hub(model.g);
	assert_in_range(model.g->vertices, 1, VERTICES);
	run_model(program, seed);
	kernels = collect(source);
	/* without a frontier levels spread within a kernel as the warps take their turns */
	if (strcmp(program, "bfs_ta") != 0 || is_one_agent) {
		assert_int_equal(kernels, model.kernels);
		for (unsigned i = 0; i < kernels; i++)
			if (memcmp(&wanted[i], &seen[i], sizeof(seen[i])) != 0)
				fail_msg("%s: other pages in kernel %u", spec, i);
	}
	assert_answers(model.workload->state, strcmp(program, "bc") == 0);
	source->close(source);
}

static void against_models(void **state)
{
	(void)state;
	for (size_t i = 0; i < PROGRAMS; i++) {
		compare(programs[i], "agents=1,scale=1,degree=1", 1);
		compare(programs[i], "agents=1,scale=4,degree=3", 2);
		compare(programs[i], "agents=1,scale=10,degree=5", 3);
		compare(programs[i], "agents=7,scale=11,degree=6", 4);
		compare(programs[i], "agents=5000,scale=11,degree=2", 5);
	}
	compare("bc", "agents=7,scale=9,degree=3,roots=5", 6);
	compare("bc", "agents=7,scale=3,degree=1,roots=1000", 7);
	compare("kcore", "agents=7,scale=11,degree=6,k=1", 6);
	compare("kcore", "agents=7,scale=11,degree=6,k=9", 7);
	compare("kcore", "agents=7,scale=11,degree=6,k=100000", 8);
	compare("pr", "agents=7,scale=9,degree=3,iterations=1", 6);
}

/* Vertices that are no multiple of anything, one that has edges to all, and a chain that makes many levels.
 */
static void against_models_loaded(void **state)
{
	char *text = NULL, *name, spec[128];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	for (unsigned v = 0; v < 1300; v++)
		fprintf(out, "%u %u %u\n", 1300u, v, 1 + v % 7);
	for (unsigned v = 1300; v < 1349; v++)
		fprintf(out, "%u %u 3\n", v, v + 1);
	fprintf(out, "1351 1352 2\n1352 1352 0\n");
	fclose(out);
	name = path_file(text);
	for (size_t i = 0; i < PROGRAMS; i++) {
		snprintf(spec, sizeof(spec), "agents=1,file=%s", name);
		compare(programs[i], spec, 1);
		snprintf(spec, sizeof(spec), "agents=40,file=%s", name);
		compare(programs[i], spec, 2);
	}
	unlink(name);
	free(text);
}

/* The interface of time models: all warps of a kernel at once, each time another one takes a step. What is in
 * the slots must be enough, and the answers are the same in any order. */
static void run_in_disorder(struct workload *workload)
{
	uint64_t random = 77;

	while (workload_launch(workload)) {
		uint64_t warps = workload->blocks * workload->warps, left = warps;
		struct workload_slot *slot = calloc((size_t)warps, sizeof(*slot));

		assert_non_null(slot);
		for (uint64_t i = 0; i < warps; i++)
			workload_start_warp(workload, &slot[i], i / workload->warps,
			                    (uint32_t)(i % workload->warps));
		while (left > 0) {
			uint64_t i = uvmp_random_below(&random, left), address;

			if (workload_step(workload, &slot[i])) {
				while (workload_next_page(&slot[i], &address))
					;
				continue;
			}
			slot[i] = slot[--left];
		}
		free(slot);
		workload_end_kernel(workload);
	}
}

static void any_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < PROGRAMS; i++) {
		struct source *source;
		char spec[64];

		snprintf(spec, sizeof(spec), "%s:scale=11,degree=6", programs[i]);
		source = open_spec(spec, 4);
		memset(&model, 0, sizeof(model));
		model.workload = workload_of(source);
		model.g = &((const struct graph_state *)model.workload->state)->graph;
		model.root = graph_hub(model.g);
		run_model(programs[i], 4);
		run_in_disorder(workload_of(source));
		assert_answers(model.workload->state, strcmp(programs[i], "bc") == 0);
		source->close(source);
	}
}

/* A lane's own list of 128 fills up: a hub of more than 32 x 128 new ends is read by one warp, and the
 * worklist gets all vertices, once each. */
static void full_lists(void **state)
{
	const unsigned ends = 3 * 32 * 128 + 77;
	char *text = NULL, *name, spec[128];
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const struct graph_state *got;
	struct source *source;
	struct source_row row;
	unsigned items = 0;

	(void)state;
	for (unsigned v = 1; v <= ends; v++)
		fprintf(out, "0 %u\n", v);
	fclose(out);
	name = path_file(text);
	snprintf(spec, sizeof(spec), "bfs_dwc:file=%s", name);
	source = open_spec(spec, 1);
	unlink(name);
	for (source->next(source, &row); row.kind != SOURCE_END; source->next(source, &row))
		items += row.kind == SOURCE_KERNEL;
	assert_int_equal(items, 3);
	got = workload_of(source)->state;
	assert_int_equal(got->result[0], 0);
	for (unsigned v = 1; v <= ends; v++)
		assert_int_equal(got->result[v], 1);
	source->close(source);
	free(text);
}

static void bad_files(void **state)
{
	char *name = path_file("0 1\n1 x\n"), spec[128], expected[128];

	(void)state;
	snprintf(spec, sizeof(spec), "pr:file=%s", name);
	snprintf(expected, sizeof(expected), "%s:2: `x` is not the number of a vertex", name);
	for (size_t i = 0; i < PROGRAMS; i++) {
		assert_null(workload_open("bc:file=/nonexistent/list", 1, error));
		assert_string_equal(error, "/nonexistent/list: No such file or directory");
	}
	assert_null(workload_open(spec, 1, error));
	assert_string_equal(error, expected);
	unlink(name);
	assert_null(workload_open("bfs_ta:scale=27", 1, error));
	assert_string_equal(error, "workload bfs_ta: scale=27 is not accepted; 1..26");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(list_good),
	        cmocka_unit_test(list_matrix_market),
	        cmocka_unit_test(list_bad),
	        cmocka_unit_test(list_huge_numbers),
	        cmocka_unit_test(list_bad_matrix_market),
	        cmocka_unit_test(list_small_file),
	        cmocka_unit_test(list_files),
	        cmocka_unit_test(list_that_changes),
	        cmocka_unit_test(list_long),
	        cmocka_unit_test(list_compressed),
	        cmocka_unit_test(rmat_weights),
	        cmocka_unit_test(rmat_skew),
	        cmocka_unit_test(footprints),
	        cmocka_unit_test(determinism),
	        cmocka_unit_test(path_bfs),
	        cmocka_unit_test(path_others),
	        cmocka_unit_test(against_models),
	        cmocka_unit_test(against_models_loaded),
	        cmocka_unit_test(any_order),
	        cmocka_unit_test(full_lists),
	        cmocka_unit_test(bad_files),
	};

	return cmocka_run_group_tests_name("workload_graph", tests, NULL, NULL);
}
