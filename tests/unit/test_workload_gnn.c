/* Unit tests of the training of graph neural networks. */
#include "support/workload_rows.h"
#include "workloads/graph.h"
#include "workloads/permute.h"
#include "workloads/workload.h"

#define PAGES_MAX 4096u

enum { X, H, OUT, GRAD_OUT, GRAD_H, SOURCE, TARGET, WEIGHT, MESSAGE };
enum { OFFSETS, EDGES, TABLE, NODES, GATHERED, HIDDEN_ROWS, GRADIENT };

static uint64_t accesses[9], other_than_reads[9];
static bool touched[9][PAGES_MAX];

static void collect(struct rows *rows, const char *kernel)
{
	memset(accesses, 0, sizeof(accesses));
	memset(other_than_reads, 0, sizeof(other_than_reads));
	memset(touched, 0, sizeof(touched));
	for (rows_kernel(rows, kernel); rows->row.kind == SOURCE_ACCESS; rows_next(rows)) {
		unsigned range = rows_range(rows);

		assert_in_range(rows_offset(rows) / ROWS_PAGE, 0, PAGES_MAX - 1);
		accesses[range]++;
		other_than_reads[range] += rows->row.access != UVMP_ACCESS_READ;
		touched[range][rows_offset(rows) / ROWS_PAGE] = true;
	}
	rows_sync(rows);
}

/* Exactly the pages of bytes [first, end) of the array. */
static void assert_bytes(unsigned range, uint64_t first, uint64_t end)
{
	for (uint64_t page = 0; page < PAGES_MAX; page++) {
		bool is_wanted = page >= first / ROWS_PAGE && page * ROWS_PAGE < end;

		if (touched[range][page] != is_wanted)
			fail_msg("range %u, page %u", range, (unsigned)page);
	}
}

/* -- mini-batches -- */

/* The addresses that a sampling kernel asks for, warp by warp, lane by lane. `is_in`: the nodes that it may
 * sample for, to which those that it samples are added. Returns the number of entries. */
static uint64_t sample(struct workload *w, const struct graph *graph, bool *is_in)
{
	bool *is_next = calloc((size_t)graph->vertices, sizeof(bool));
	uint64_t entries = 0;

	assert_non_null(is_next);
	memcpy(is_next, is_in, (size_t)graph->vertices);
	assert_true(workload_launch(w));
	assert_string_equal(w->kernel, "sample");
	for (uint64_t block = 0; block < w->blocks; block++) {
		struct workload_slot slot;

		for (workload_start_warp(w, &slot, block, 0); workload_step(w, &slot);)
			for (uint32_t lane = 0; lane < slot.lanes; lane++) {
				const struct source_range *range =
					&w->range[slot.step == 1 ? OFFSETS : EDGES];
				uint64_t at = (slot.lane[lane] - range->base) / 8, vertex = 0;

				assert_in_range(slot.lane[lane], range->base, range->base + range->bytes - 1);
				if (slot.step == 1) {
					assert_true(is_in[at]);
					continue;
				}
				while (graph->offset[vertex + 1] <= at)
					vertex++;
				assert_true(is_in[vertex]);
				is_next[graph->edge[at]] = true;
				entries++;
			}
	}
	workload_end_kernel(w);
	memcpy(is_in, is_next, (size_t)graph->vertices);
	free(is_next);
	return entries;
}

/* The pages of an array that the next kernel uses; its rows are a page each. */
static void pages_of_kernel(struct workload *w, const char *name, unsigned range, bool *is_used)
{
	assert_true(workload_launch(w));
	assert_string_equal(w->kernel, name);
	for (uint64_t block = 0; block < w->blocks; block++) {
		struct workload_slot slot;
		uint64_t address;

		for (workload_start_warp(w, &slot, block, 0); workload_step(w, &slot);)
			while (workload_next_page(&slot, &address))
				if (address - w->range[range].base < w->range[range].bytes)
					is_used[(address - w->range[range].base) / ROWS_PAGE] = true;
	}
	workload_end_kernel(w);
}

/* Entries lie in the rows of the nodes that are sampled for; exactly those nodes and their samples are
 * gathered. */
static void sampled(void **state)
{
	const struct graph_shape shape = {.scale = 11, .degree = 6, .skew = 50};
	struct source *source = workload_open(
		"gnn:scale=11,degree=6,skew=50,features=4k,hidden=4k,batch=20,fanout=6,agents=1", 7,
		rows_error);
	struct workload *w = workload_of(source);
	bool is_in[2048] = {false}, is_gathered[2048] = {false}, is_written[2048] = {false};
	bool is_forward[2048] = {false}, is_backward[2048] = {false};
	struct permutation permutation;
	uint64_t random = 7, nodes = 0, lonely = 0, entries;
	struct graph graph;

	(void)state;
	assert_true(graph_build(&graph, shape, &random));
	permutation_init(&permutation, graph.edges, &random);
	permutation_init(&permutation, 2048, &random);
	assert_int_equal(w->range[EDGES].bytes, graph.edges * 8);
	for (unsigned i = 0; i < 20; i++) {
		uint64_t seed = permutation_at(&permutation, i);

		is_in[seed] = true;
		lonely += graph.offset[seed] == graph.offset[seed + 1];
	}
	assert_int_equal(sample(w, &graph, is_in), (20 - lonely) * 6);
	for (unsigned v = 0; v < 2048; v++)
		nodes += is_in[v];
	entries = sample(w, &graph, is_in);
	assert_int_equal(entries, (nodes - lonely) * 4);
	pages_of_kernel(w, "gather", TABLE, is_gathered);
	assert_memory_equal(is_gathered, is_in, sizeof(is_in));
	pages_of_kernel(w, "forward", GATHERED, is_forward);
	pages_of_kernel(w, "backward", HIDDEN_ROWS, is_backward);
	nodes = 0;
	for (unsigned v = 0; v < 2048; v++)
		nodes += is_in[v];
	memset(is_written, true, (size_t)nodes);
	assert_memory_equal(is_forward, is_written, sizeof(is_written));
	assert_memory_equal(is_backward, is_written, sizeof(is_written));
	source->close(source);
	graph_free(&graph);
}

/* A twentieth of the nodes, in batches, in each epoch. */
static void batches(void **state)
{
	struct rows rows =
		rows_open("gnn:scale=10,degree=4,features=64,hidden=64,batch=20,fanout=1,epochs=2", 1);
	unsigned kernels = 0;

	(void)state;
	for (; rows.row.kind != SOURCE_END; rows_next(&rows))
		kernels += rows.row.kind == SOURCE_KERNEL;
	assert_int_equal(kernels, 2 * 3 * 5); /* 52 seeds */
	rows_close(&rows);
}

/* -- the whole graph -- */

static void whole(void **state)
{
	const uint64_t features = 512, hidden = 1000, vertices = 1024, edges = 1024 * 5;
	struct rows rows = rows_open(
		"gnn:scale=10,degree=4,skew=0,features=512,hidden=1000,batch=0,chunk=2000,agents=9", 1);

	(void)state;
	assert_int_equal(rows.ranges, 9);
	assert_int_equal(rows.range[SOURCE].bytes, edges * 8);
	assert_int_equal(rows.range[MESSAGE].bytes, 2000 * hidden);
	for (unsigned pass = 0; pass < 4; pass++) {
		unsigned from = pass < 2 ? SOURCE : TARGET, to = pass < 2 ? TARGET : SOURCE;
		unsigned read = pass < 2 ? H : GRAD_OUT, written = pass < 2 ? OUT : GRAD_H;

		if (pass < 2) {
			collect(&rows, "linear");
			assert_bytes(pass == 0 ? X : OUT, 0, vertices * (pass == 0 ? features : hidden));
			assert_bytes(H, 0, vertices * hidden);
			assert_int_equal(other_than_reads[H], accesses[H]);
		}
		for (uint64_t first = 0; first < edges; first += 2000) {
			uint64_t end = first + 2000 < edges ? first + 2000 : edges;
			/* each edge has a row of its own on one or two pages; those of the edges of nodes to
			 * themselves follow each other */
			uint64_t least = end < edges ? (end - first) * 9 / 10 : (end - first) / 4;

			collect(&rows, "select");
			assert_bytes(from, first * 8, end * 8);
			assert_bytes(MESSAGE, 0, (end - first) * hidden);
			assert_int_equal(other_than_reads[MESSAGE], accesses[MESSAGE]);
			assert_in_range(accesses[read], least, (end - first) * 3 / 2);
			assert_int_equal(other_than_reads[read], 0);
			collect(&rows, "scale");
			assert_bytes(WEIGHT, first * 4, end * 4);
			assert_true(other_than_reads[MESSAGE] > 0);
			collect(&rows, "add");
			assert_bytes(to, first * 8, end * 8);
			assert_in_range(accesses[written], least, (end - first) * 3 / 2);
			assert_int_equal(other_than_reads[written], accesses[written]);
		}
		if (pass >= 2) {
			collect(&rows, "linear");
			assert_bytes(GRAD_H, 0, vertices * hidden);
		}
	}
	assert_int_equal(rows.row.kind, SOURCE_END);
	rows_close(&rows);
}

/* Neighbouring thread blocks begin a slab apart: 69 pages. */
static void slabs(void **state)
{
	struct rows rows =
		rows_open("gnn:scale=14,degree=2,skew=0,features=1k,hidden=1k,batch=0,slab=276k,agents=8", 1);

	(void)state;
	rows_kernel(&rows, "linear");
	for (unsigned agent = 0; agent < 8; agent++, rows_next(&rows)) {
		assert_int_equal(rows.row.agent, agent);
		assert_int_equal(rows_range(&rows), X);
		assert_int_equal(rows_offset(&rows), agent * 69u * 4096u);
	}
	rows_close(&rows);
}

/* In every epoch each source and each target is a node of an edge: with as many edges to themselves as nodes,
 * all rows are gathered and scattered. */
static void all_nodes(void **state)
{
	struct rows rows = rows_open(
		"gnn:scale=10,degree=2,skew=100,features=4k,hidden=4k,batch=0,chunk=100000,agents=1", 1);

	(void)state;
	collect(&rows, "linear");
	collect(&rows, "select");
	assert_bytes(H, 0, 1024 * 4096);
	collect(&rows, "scale");
	collect(&rows, "add");
	assert_bytes(OUT, 0, 1024 * 4096);
	assert_int_equal(other_than_reads[OUT], accesses[OUT]);
	rows_close(&rows);
}

static void determined(void **state)
{
	(void)state;
	rows_determined("gnn:scale=8,degree=4,features=100,hidden=60,batch=5", true);
	rows_determined("gnn:scale=8,degree=4,features=5000,hidden=60,batch=0,chunk=500,epochs=2", true);
	rows_determined("gnn:scale=1,degree=2,features=65536,hidden=65536,batch=1,fanout=1", true);
	rows_determined("gnn:scale=1,degree=2,features=65536,hidden=4,batch=0,slab=4k,chunk=1", true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sampled), cmocka_unit_test(batches),	cmocka_unit_test(whole),
		cmocka_unit_test(slabs),   cmocka_unit_test(all_nodes), cmocka_unit_test(determined),
	};

	return cmocka_run_group_tests_name("workload gnn", tests, NULL, NULL);
}
