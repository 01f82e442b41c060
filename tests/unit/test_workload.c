/* Unit tests of the built-in workloads: the specification, the dealing of warps, and for the page touchers,
 * stencil and bfs the pages that they touch, computed here once more by brute force, element by element. The
 * others have files of their own. */
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "interrupt.h"
#include "source.h"
#include "space.h"
#include "workloads/graph.h"
#include "workloads/permute.h"

#define PAGE      4096u
#define RANGE_MAX 32
#define PAGES_MAX 1100u /* of one range, in the tests that keep sets */

static char error[SOURCE_ERROR_MAX];

/* A workload whose RANGE rows have been read. */
struct opened {
	struct source *source;
	struct source_range range[RANGE_MAX];
	unsigned ranges;
	struct source_row row; /* the row in hand; at first the one behind the ranges */
};

static void next(struct opened *w)
{
	w->source->next(w->source, &w->row);
}

static struct opened open_seeded(const char *spec, uint64_t seed)
{
	struct opened w = {.source = workload_open(spec, seed, error)};

	if (w.source == NULL)
		fail_msg("%s", error);
	for (next(&w); w.row.kind == SOURCE_RANGE; next(&w)) {
		assert_in_range(w.ranges, 0, RANGE_MAX - 1);
		w.range[w.ranges++] = w.row.range;
	}
	return w;
}

static struct opened open_spec(const char *spec)
{
	return open_seeded(spec, 1);
}

static void close_at_end(struct opened *w)
{
	assert_int_equal(w->row.kind, SOURCE_END);
	next(w);
	assert_int_equal(w->row.kind, SOURCE_END);
	w->source->close(w->source);
}

static unsigned range_of(const struct opened *w, uint64_t address)
{
	for (unsigned i = 0; i < w->ranges; i++)
		if (address >= w->range[i].base && address - w->range[i].base < w->range[i].bytes)
			return i;
	fail_msg("address 0x%llx is outside every range", (unsigned long long)address);
	return 0;
}

static void expect_kernel(struct opened *w, const char *name)
{
	assert_int_equal(w->row.kind, SOURCE_KERNEL);
	assert_string_equal(w->row.name, name);
	next(w);
}

static void expect_sync(struct opened *w)
{
	assert_int_equal(w->row.kind, SOURCE_SYNC);
	next(w);
}

/* The present row is this access; continues with the next. */
static void expect(struct opened *w, uint32_t agent, enum uvmp_access access, unsigned range, uint64_t page)
{
	assert_int_equal(w->row.kind, SOURCE_ACCESS);
	assert_false(w->row.has_time);
	assert_int_equal(w->row.agent, agent);
	assert_int_equal(w->row.access, access);
	assert_int_equal(range_of(w, w->row.address), range);
	assert_int_equal((w->row.address - w->range[range].base) / PAGE, page);
	next(w);
}

/* Which pages of which range were read and written. */
struct pages {
	bool touched[2][RANGE_MAX][PAGES_MAX];
};

static void add_bytes(struct pages *pages, bool is_write, unsigned range, uint64_t first, uint64_t bytes)
{
	for (uint64_t page = first / PAGE; page <= (first + bytes - 1) / PAGE; page++) {
		assert_in_range(page, 0, PAGES_MAX - 1);
		pages->touched[is_write][range][page] = true;
	}
}

/* -- specification
 * ------------------------------------------------------------------------------------------- */

static void assert_refused(const char *spec, const char *message)
{
	memset(error, 0, sizeof(error));
	assert_null(workload_open(spec, 1, error));
	assert_string_equal(error, message);
}

/* The message names all workloads, those of `uvmsim list workloads`. */
static void assert_unknown(const char *spec, const char *shown, const char *hint)
{
	char expected[2 * SOURCE_ERROR_MAX], *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	bool is_first = true;

	workload_list(out);
	fclose(out);
	snprintf(expected, sizeof(expected), "unknown workload `%s`%s; there are: ", shown, hint);
	for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		if (line[0] == ' ') /* a parameter */
			continue;
		snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%s%.*s",
		         is_first ? "" : ", ", (int)strcspn(line, " "), line);
		is_first = false;
	}
	assert_refused(spec, expected);
	free(text);
}

static void bad_specs(void **state)
{
	(void)state;
	assert_unknown("", "", "");
	assert_unknown("Stream", "Stream", "; did you mean stream?");
	assert_unknown("streams:passes=1", "streams", "; did you mean stream?");
	assert_unknown("a\nb", "a?b", "");
	assert_unknown("0123456789012345678901234567890123456789x",
	               "0123456789012345678901234567890123456789...", "");
	assert_refused("stream:", "workload stream: `` is not key=value");
	assert_refused("stream:passes=1,", "workload stream: `` is not key=value");
	assert_refused("stream:passes", "workload stream: `passes` is not key=value");
	assert_refused("stream:pass=1", "workload stream: unknown key `pass`; did you mean passes?; keys: bytes, passes, agents");
	assert_refused("stream:=1", "workload stream: unknown key ``; keys: bytes, passes, agents");
	assert_refused("stream:passes=1,passes=1", "workload stream: passes is given twice");
	assert_refused("stream:passes=", "workload stream: passes= is not accepted; 1..1000000");
	assert_refused("stream:passes=x", "workload stream: passes=x is not accepted; 1..1000000");
	assert_refused("stream:passes=-1", "workload stream: passes=-1 is not accepted; 1..1000000");
	assert_refused("stream:passes=1 ", "workload stream: passes=1  is not accepted; 1..1000000");
	assert_refused("stream:passes=1k", "workload stream: passes=1k is not accepted; 1..1000000");
	assert_refused("stream:passes=0", "workload stream: passes=0 is not accepted; 1..1000000");
	assert_refused("stream:agents=262145", "workload stream: agents=262145 is not accepted; 1..262144");
	assert_refused("stream:agents=0", "workload stream: agents=0 is not accepted; 1..262144");
	assert_refused("stream:passes=18446744073709551617",
	               "workload stream: passes=18446744073709551617 is not accepted; 1..1000000");
	assert_refused("regular:bytes=0",
	               "workload regular: bytes=0 is not accepted; 1..1T bytes; K, M, G or T may follow, as in 64K, 64MB or 1GiB");
	assert_refused("regular:bytes=1025g",
	               "workload regular: bytes=1025g is not accepted; 1..1T bytes; K, M, G or T may follow, as in 64K, 64MB or 1GiB");
	assert_refused("regular:bytes=k",
	               "workload regular: bytes=k is not accepted; 1..1T bytes; K, M, G or T may follow, as in 64K, 64MB or 1GiB");
	assert_refused(
	        "regular:bytes=17179869185g",
	        "workload regular: bytes=17179869185g is not accepted; 1..1T bytes; K, M, G or T may follow, as in 64K, 64MB or 1GiB");
	assert_refused("regular:bytes=1234567890123456789012345678901234567890123",
	               "workload regular: bytes=1234567890123456789012345678901234567890... is not accepted; "
	               "1..1T bytes; K, M, G or T may follow, as in 64K, 64MB or 1GiB");
	assert_refused("regular:bytes=1Kx", "workload regular: bytes=1Kx is not accepted; 1..1T bytes; K, M, G or T "
	                                    "may follow, as in 64K, 64MB or 1GiB");
	assert_refused("stream_warp:block=33", "workload stream_warp: block is not a multiple of 32");
	assert_refused("sgemm:n=0", "workload sgemm: n=0 is not accepted; 1..262144");
	assert_refused("stencil:n=2", "workload stencil: n=2 is not accepted; 3..262144");
	assert_refused("bfs:scale=25", "workload bfs: scale=25 is not accepted; 1..24");
	assert_refused("bfs:degree=0", "workload bfs: degree=0 is not accepted; 1..64");
}

static void assert_name(const char *spec, const char *name)
{
	struct source *source = workload_open(spec, 1, error);

	assert_non_null(source);
	assert_string_equal(source->name, name);
	source->close(source);
}

static void names(void **state)
{
	(void)state;
	assert_name("stream", "stream:bytes=90177536,passes=5,agents=80");
	assert_name("stream:agents=3,bytes=64K", "stream:bytes=65536,passes=5,agents=3");
	assert_name("stream:bytes=2m", "stream:bytes=2097152,passes=5,agents=80");
	assert_name("regular:bytes=1g", "regular:bytes=1073741824,threads=256,passes=3,write=0,agents=80");
	assert_name("regular:bytes=1024g",
	            "regular:bytes=1099511627776,threads=256,passes=3,write=0,agents=80");
	assert_name("regular:bytes=1T", "regular:bytes=1099511627776,threads=256,passes=3,write=0,agents=80");
	assert_name("stream:bytes=3MiB,passes=1", "stream:bytes=3145728,passes=1,agents=80");
	assert_name("random:write=1", "random:bytes=268435456,threads=256,passes=3,write=1,agents=80");
	assert_name("stencil", "stencil:n=5792,tile=32,iterations=4,agents=80");
	assert_name("stencil:tile=1,n=262144", "stencil:n=262144,tile=1,iterations=4,agents=80");
	assert_name("bfs:scale=3", "bfs:scale=3,degree=12,agents=80");
	/* a canonical name names the same workload again */
	assert_name("bfs:scale=3,degree=12,agents=80", "bfs:scale=3,degree=12,agents=80");
}

/* What belongs to a file of the user's has no effect without it, and what belongs to the graph that is made
 * otherwise has none with it. */
static void parameters_without_effect(void **state)
{
	char path[] = "/tmp/test_workload.XXXXXX", spec[64], name[128];
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(write(fd, "0 1\n", 4), 4);
	close(fd);
	assert_name("pr:degree=2,scale=3", "pr:scale=3,degree=2,skew=100,iterations=5,agents=80");
	assert_refused("pr:file=,scale=3",
	               "workload pr: a value must follow file=: edge list to use instead: lines `u v` or `u v w`");
	assert_refused("bfs_ttc:file=",
	               "workload bfs_ttc: a value must follow file=: edge list to use instead: lines `u v` or `u v w`");
	assert_refused("synthetic:phases=",
	               "workload synthetic: a value must follow phases=: kernels as scan@0+random@0*4+scan@0/zipf@0: scan, back, "
	               "random, zipf @ARRAY, `*` repeats, `/` mixes two; without it random@0");
	assert_refused("pr:directed=0", "workload pr: directed has no effect without file=");
	assert_refused("pr:directed=1,scale=3", "workload pr: directed has no effect without file=");
	assert_refused("pr:file=a,scale=3", "workload pr: scale has no effect with file=");
	assert_refused("pr:degree=8,file=a", "workload pr: degree has no effect with file=");
	assert_refused("pr:skew=8,file=a", "workload pr: skew has no effect with file=");
	assert_refused("pr:skew=101", "workload pr: skew=101 is not accepted; 0..100");
	snprintf(spec, sizeof(spec), "pr:file=%s", path);
	snprintf(name, sizeof(name), "%s,directed=0,iterations=5,agents=80", spec);
	assert_name(spec, name);
	assert_name(name, name);
	unlink(path);
	assert_name("tiles:order=naive,agents=3",
	            "tiles:tiles=16,tile=268435456,kernels=1,weight=1,order=naive,agents=3");
}

static void interrupted(void **state)
{
	static const char *const specs[] = {"bfs:scale=3,degree=12,agents=80",
	                                    "pr:scale=3,degree=8,skew=100,iterations=5,agents=80",
	                                    "sssp:nodes=9,degree=2,rounds=15,cpu=1,agents=80",
	                                    "rodinia_bfs:nodes=9,edges=0,cpu=1,agents=80",
	                                    "rodinia_bfs:nodes=9,edges=1,cpu=1,agents=80",
	                                    "rodinia_bfs:nodes=9,edges=99,cpu=1,agents=80",
	                                    "pr:file=/dev/zero,directed=0,iterations=5,agents=80"};
	char expected[SOURCE_ERROR_MAX];

	(void)state;
	interrupt_caught = SIGINT;
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		snprintf(expected, sizeof(expected), "%s: interrupted", specs[i]);
		assert_refused(specs[i], expected);
	}
	interrupt_caught = 0;
}

static void list_one(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_true(workload_list_one("regular", out, error));
	assert_false(workload_list_one("Regular", out, error));
	assert_non_null(strstr(error, "unknown workload `Regular`; did you mean regular?; there are: regular, "));
	fclose(out);
	assert_int_equal(strncmp(text, "regular ", 8), 0);
	assert_null(strstr(text, "random "));
	assert_non_null(strstr(text, "\n        bytes=256M  size of the one array (1..1T)\n"));
	free(text);
}

static void list(void **state)
{
	const char *const expected[] = {"regular", "random", "sgemm",     "stream",
	                                "stencil", "bfs",    "bytes=86M", "(1..262144)"};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	workload_list(out);
	fclose(out);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_non_null(strstr(text, expected[i]));
	free(text);
}

/* -- what holds for all
 * ------------------------------------------------------------------------------------------ */

static const char *const small[] = {
        "regular:bytes=1m,threads=99,agents=7", "random:bytes=1m,threads=99,agents=7",
        "sgemm:n=200,tile=48,agents=5",         "stream:bytes=100000,agents=7",
        "stencil:n=150,tile=20,agents=9",       "bfs:scale=10,degree=8,agents=6",
};
#define SMALL (sizeof(small) / sizeof(small[0]))

/* FNV-1a over all rows. */
static uint64_t hash_of(const char *spec, uint64_t seed)
{
	struct opened w = open_seeded(spec, seed);
	uint64_t hash = 0xcbf29ce484222325u;

	for (; w.row.kind != SOURCE_END; next(&w)) {
		const uint64_t part[] = {(uint64_t)w.row.kind, w.row.agent, (uint64_t)w.row.access,
		                         w.row.address};

		for (size_t i = 0; i < (w.row.kind == SOURCE_ACCESS ? 4u : 1u); i++)
			hash = (hash ^ part[i]) * 0x100000001b3u;
	}
	close_at_end(&w);
	return hash;
}

static void determinism(void **state)
{
	(void)state;
	for (size_t i = 0; i < SMALL; i++) {
		bool is_seeded = strncmp(small[i], "random", 6) == 0 || strncmp(small[i], "bfs", 3) == 0;

		assert_true(hash_of(small[i], 1) == hash_of(small[i], 1));
		assert_int_equal(hash_of(small[i], 1) == hash_of(small[i], 2), !is_seeded);
	}
}

/* Ranges lie apart on 2 MiB boundaries; rows lie inside them, between a kernel row and its sync. */
static void structure(void **state)
{
	const uint64_t large = 2u << 20;

	(void)state;
	for (size_t i = 0; i < SMALL; i++) {
		struct opened w = open_spec(small[i]);
		uint32_t agents = (uint32_t)atoi(strstr(small[i], "agents=") + 7);
		bool is_running = false;

		for (unsigned r = 0; r < w.ranges; r++) {
			assert_int_equal(w.range[r].base % large, 0);
			assert_true(w.range[r].bytes > 0 && w.range[r].name[0] != '\0');
			if (r > 0)
				assert_true(w.range[r].base >=
				            w.range[r - 1].base + w.range[r - 1].bytes + large);
		}
		for (; w.row.kind != SOURCE_END; next(&w)) {
			if (w.row.kind == SOURCE_ACCESS) {
				assert_true(is_running);
				assert_true(w.row.agent < agents);
				assert_true(w.row.access == UVMP_ACCESS_READ ||
				            w.row.access == UVMP_ACCESS_WRITE);
				range_of(&w, w.row.address);
				continue;
			}
			assert_int_equal(w.row.kind, is_running ? SOURCE_SYNC : SOURCE_KERNEL);
			is_running = !is_running;
		}
		assert_false(is_running);
		close_at_end(&w);
	}
}

/* The defaults are large enough to meet an over-subscription within 2 points: GPU memory is a whole number of
 * roots of 2 MiB, rounded up. hpgmg's sizes are powers of two: 225 MiB meet 200 % within 3. */
static void default_sizes(void **state)
{
	static const char *const specs[] = {
	        "regular",     "random",        "sgemm",    "stream",  "stencil",    "cufft", "tealeaf",
	        "stream_warp", "stream_thread", "backprop", "hotspot", "pathfinder", "srad",  "nw",
	        "ra",          "fdtd2d",        "atax",     "conv2d",  "hpgmg",
	        "synthetic",   "decode",        "moe"};
	static const uint32_t percents[] = {110, 125, 150, 200};

	(void)state;
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct opened w = open_spec(specs[i]);
		uint64_t bytes = 0;

		for (unsigned r = 0; r < w.ranges; r++)
			bytes += w.range[r].bytes;
		assert_in_range(bytes, UINT64_C(220) << 20, UINT64_C(270) << 20);
		for (size_t p = 0; p < 4; p++) {
			double asked = percents[p];
			double got =
			        100.0 * (double)bytes / (double)space_memory_bytes(0, percents[p], bytes);

			if (got > asked || got < asked - (strcmp(specs[i], "hpgmg") == 0 ? 3 : 2))
				fail_msg("%s: %.2f %% instead of %.0f %%", specs[i], got, asked);
		}
		w.source->close(w.source);
	}
}

/* -- permutation and graph
 * ---------------------------------------------------------------------------------------- */

static void permutation(void **state)
{
	static bool is_taken[5000];
	uint64_t random = 3;

	(void)state;
	for (uint64_t count = 1; count <= 5000; count += 1 + count / 3) {
		struct permutation p;

		permutation_init(&p, count, &random);
		memset(is_taken, 0, sizeof(is_taken));
		for (uint64_t i = 0; i < count; i++) {
			uint64_t at = permutation_at(&p, i);

			assert_true(at < count);
			assert_false(is_taken[at]);
			is_taken[at] = true;
		}
	}
}

/* permutation_list, by its table, lists what permutation_at says: of every count to 70, whose rows may end early, and of
 * some larger ones. */
static void permutation_by_table(void **state)
{
	uint64_t random = 3, to[64];

	(void)state;
	for (uint64_t count = 1; count <= 300000; count += 1 + count / 70 * (count / 2)) {
		uint32_t *table = calloc((size_t)permutation_table_size(count), sizeof(*table));
		struct permutation p;

		assert_non_null(table);
		permutation_init(&p, count, &random);
		permutation_fill_table(&p, table);
		for (uint64_t first = 0; first < count;) {
			uint32_t part = 1u + (uint32_t)uvmp_random_below(&random, 64);

			part = part < count - first ? part : (uint32_t)(count - first);
			permutation_list(&p, table, first, part, to);
			for (uint32_t i = 0; i < part; i++)
				assert_int_equal(to[i], permutation_at(&p, first + i));
			first += part;
		}
		free(table);
	}
}

static void graph(void **state)
{
	const struct graph_shape shape = {.scale = 8, .degree = 6, .skew = GRAPH_SKEW_MAX};
	uint64_t random = 5, most;
	struct graph g;

	(void)state;
	assert_true(graph_build(&g, shape, &random));
	assert_int_equal(g.vertices, 256);
	assert_int_equal(g.edges, 256 * 6);
	assert_int_equal(g.offset[0], 0);
	assert_int_equal(g.offset[256], g.edges);
	most = g.offset[graph_hub(&g) + 1] - g.offset[graph_hub(&g)];
	/* as often as v stands in u's row, u stands in v's */
	for (uint32_t u = 0; u < 256; u++) {
		assert_true(g.offset[u + 1] >= g.offset[u] && g.offset[u + 1] - g.offset[u] <= most);
		for (uint64_t i = g.offset[u]; i < g.offset[u + 1]; i++) {
			uint32_t v = g.edge[i];
			int there = 0, back = 0;

			assert_true(v < 256);
			for (uint64_t j = g.offset[u]; j < g.offset[u + 1]; j++)
				there += g.edge[j] == v;
			for (uint64_t j = g.offset[v]; j < g.offset[v + 1]; j++)
				back += g.edge[j] == u;
			assert_int_equal(there, back);
		}
	}
	/* scale-free: the hub is far above the average */
	assert_true(most > 5 * 6);
	graph_free(&g);
	graph_free(&g);
}

/* -- page touch
 * --------------------------------------------------------------------------------------------------- */

static void regular_order(void **state)
{
	struct opened w = open_spec("regular:bytes=20000,threads=1,passes=2,write=1,agents=2");

	(void)state;
	assert_int_equal(w.ranges, 1);
	assert_int_equal(w.range[0].bytes, 20000);
	for (int pass = 0; pass < 2; pass++) {
		expect_kernel(&w, "touch");
		for (uint32_t page = 0; page < 5; page++)
			expect(&w, page % 2, UVMP_ACCESS_WRITE, 0, page);
		expect_sync(&w);
	}
	close_at_end(&w);
}

/* Warps of 3 threads, a page each, for 2 agents over 11 pages: 0-2, 3-5, then 6-8, 9-10; agent 1 is done a
 * page earlier. */
static void regular_dealing(void **state)
{
	static const unsigned agent[] = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0};
	static const unsigned page[] = {0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8};
	struct opened w = open_spec("regular:bytes=44k,threads=3,passes=1,agents=2");

	(void)state;
	expect_kernel(&w, "touch");
	for (size_t i = 0; i < 11; i++)
		expect(&w, agent[i], UVMP_ACCESS_READ, 0, page[i]);
	expect_sync(&w);
	close_at_end(&w);
}

/* Agents leave the ring one by one, first, middle and last: 4 warps, more agents than that, the last warp is
 * short. */
static void regular_more_agents_than_blocks(void **state)
{
	static const unsigned agent[] = {0, 1, 2, 3, 0, 1, 2};
	static const unsigned page[] = {0, 2, 4, 6, 1, 3, 5};
	struct opened w = open_spec("regular:bytes=28k,threads=2,passes=1,agents=100");

	(void)state;
	expect_kernel(&w, "touch");
	for (size_t i = 0; i < 7; i++)
		expect(&w, agent[i], UVMP_ACCESS_READ, 0, page[i]);
	expect_sync(&w);
	close_at_end(&w);
}

static void random_pages(void **state)
{
	struct opened w = open_spec("random:bytes=409599,threads=1,passes=3,agents=4");
	uint64_t order[3][100];
	unsigned ascending = 0;

	(void)state;
	for (int pass = 0; pass < 3; pass++) {
		bool is_touched[100] = {false};

		expect_kernel(&w, "touch");
		for (unsigned i = 0; i < 100; i++) {
			uint64_t page = (w.row.address - w.range[0].base) / PAGE;

			expect(&w, i % 4, UVMP_ACCESS_READ, 0, page);
			assert_false(is_touched[page]);
			is_touched[page] = true;
			order[pass][i] = page;
			ascending += i > 0 && page == order[pass][i - 1] + 1;
		}
		expect_sync(&w);
	}
	close_at_end(&w);
	assert_memory_not_equal(order[0], order[1], sizeof(order[0]));
	assert_memory_not_equal(order[1], order[2], sizeof(order[1]));
	assert_in_range(ascending, 0, 20);
}

static void random_one_page(void **state)
{
	struct opened w = open_spec("random:bytes=1,passes=1,write=1");

	(void)state;
	expect_kernel(&w, "touch");
	expect(&w, 0, UVMP_ACCESS_WRITE, 0, 0);
	expect_sync(&w);
	close_at_end(&w);
}

/* -- stencil: every thread block has an agent of its own, whose pages must be those of its cells -- */

#define BLOCKS_MAX 64u

static struct pages seen[BLOCKS_MAX], wanted[BLOCKS_MAX];

/* Reads one kernel into seen[agent]. */
static void collect_kernel(struct opened *w, const char *name, unsigned blocks)
{
	memset(seen, 0, sizeof(seen));
	memset(wanted, 0, sizeof(wanted));
	expect_kernel(w, name);
	for (; w->row.kind == SOURCE_ACCESS; next(w)) {
		unsigned range = range_of(w, w->row.address);

		assert_in_range(w->row.agent, 0, blocks - 1);
		add_bytes(&seen[w->row.agent], w->row.access == UVMP_ACCESS_WRITE, range,
		          w->row.address - w->range[range].base, 1);
	}
	expect_sync(w);
}

/* One element of a matrix of n columns of floats. */
static void want(unsigned block, bool is_write, unsigned range, uint64_t n, uint64_t row, uint64_t column)
{
	add_bytes(&wanted[block], is_write, range, (row * n + column) * 4, 4);
}

static void stencil_case(uint64_t n, uint64_t tile, unsigned iterations)
{
	unsigned tiles = (unsigned)((n - 2 + tile - 1) / tile), blocks = tiles * tiles;
	struct opened w;
	char spec[80];

	assert_in_range(blocks, 1, BLOCKS_MAX);
	snprintf(spec, sizeof(spec), "stencil:n=%u,tile=%u,iterations=%u,agents=%u", (unsigned)n,
	         (unsigned)tile, iterations, blocks);
	w = open_spec(spec);
	assert_int_equal(w.ranges, 2);
	for (unsigned iteration = 0; iteration < iterations; iteration++) {
		unsigned from = iteration % 2, to = 1 - from;

		collect_kernel(&w, "jacobi", blocks);
		for (uint64_t y = 1; y + 1 < n; y++)
			for (uint64_t x = 1; x + 1 < n; x++) {
				unsigned block = (unsigned)((y - 1) / tile * tiles + (x - 1) / tile);

				want(block, false, from, n, y, x);
				want(block, false, from, n, y - 1, x);
				want(block, false, from, n, y + 1, x);
				want(block, false, from, n, y, x - 1);
				want(block, false, from, n, y, x + 1);
				want(block, true, to, n, y, x);
			}
		assert_memory_equal(seen, wanted, sizeof(seen));
	}
	close_at_end(&w);
}

static void stencil_pages(void **state)
{
	(void)state;
	stencil_case(3, 1, 1);
	stencil_case(34, 16, 2);
	stencil_case(100, 32, 3);
	stencil_case(200, 70, 2);
	stencil_case(129, 1024, 2);
	stencil_case(90, 11, 2);     /* some pages of a block's neighbourhood hold nothing but its corners */
	stencil_case(1037, 1024, 1); /* and some nothing but the cells beside a block */
}

/* -- bfs: the same graph searched here, level by level
 * -------------------------------------------------------------------- */

enum { OFFSETS, EDGES, LEVELS, FRONTIER };

/* Pages that kernel `level` must touch, in any order of its warps; finds the next level's vertices. */
static uint32_t want_level(const struct graph *g, int *level_of, int level)
{
	uint32_t here = 0, found = 0;
	unsigned current = (unsigned)level % 2;

	for (uint32_t v = 0; v < g->vertices; v++) {
		if (level_of[v] != level)
			continue;
		add_bytes(&wanted[0], false, FRONTIER + current, here++ * 4u, 4);
		add_bytes(&wanted[0], false, OFFSETS, v * 8u, 16);
		for (uint64_t i = g->offset[v]; i < g->offset[v + 1]; i++) {
			uint32_t u = g->edge[i];

			add_bytes(&wanted[0], false, EDGES, i * 8u, 8);
			add_bytes(&wanted[0], false, LEVELS, u * 4u, 4);
			if (level_of[u] >= 0)
				continue;
			level_of[u] = level + 1;
			add_bytes(&wanted[0], true, LEVELS, u * 4u, 4);
			add_bytes(&wanted[0], true, FRONTIER + 1 - current, found++ * 4u, 4);
		}
	}
	return found;
}

static void bfs_case(const char *spec, unsigned scale, unsigned degree, uint64_t seed)
{
	struct opened w = open_seeded(spec, seed);
	const struct graph_shape shape = {.scale = scale, .degree = degree, .skew = GRAPH_SKEW_MAX};
	int *level_of = malloc(sizeof(int) << scale);
	uint64_t random = seed;
	uint32_t found = 1;
	struct graph g;

	assert_non_null(level_of);
	assert_true(graph_build(&g, shape, &random));
	assert_int_equal(w.ranges, 5);
	assert_int_equal(w.range[EDGES].bytes, g.edges * 8);
	memset(level_of, 0xff, sizeof(int) << scale);
	level_of[graph_hub(&g)] = 0;
	for (int level = 0; found > 0; level++) {
		collect_kernel(&w, "bfs_level", BLOCKS_MAX);
		found = want_level(&g, level_of, level);
		for (unsigned agent = 1; agent < BLOCKS_MAX; agent++)
			for (size_t i = 0; i < sizeof(seen[0]); i++)
				((bool *)&seen[0])[i] |= ((const bool *)&seen[agent])[i];
		assert_memory_equal(&seen[0], &wanted[0], sizeof(seen[0]));
	}
	close_at_end(&w);
	graph_free(&g);
	free(level_of);
}

static void bfs_pages(void **state)
{
	(void)state;
	bfs_case("bfs:scale=1,degree=1,agents=1", 1, 1, 1);
	bfs_case("bfs:scale=12,degree=4,agents=1", 12, 4, 7);
	bfs_case("bfs:scale=12,degree=7,agents=64", 12, 7, 8);
	bfs_case("bfs:scale=14,degree=2,agents=5", 14, 2, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(bad_specs),
	        cmocka_unit_test(names),
	        cmocka_unit_test(default_sizes),
	        cmocka_unit_test(parameters_without_effect),
	        cmocka_unit_test(interrupted),
	        cmocka_unit_test(list_one),
	        cmocka_unit_test(list),
	        cmocka_unit_test(determinism),
	        cmocka_unit_test(structure),
	        cmocka_unit_test(permutation),
	        cmocka_unit_test(permutation_by_table),
	        cmocka_unit_test(graph),
	        cmocka_unit_test(regular_order),
	        cmocka_unit_test(regular_dealing),
	        cmocka_unit_test(regular_more_agents_than_blocks),
	        cmocka_unit_test(random_pages),
	        cmocka_unit_test(random_one_page),
	        cmocka_unit_test(stencil_pages),
	        cmocka_unit_test(bfs_pages),
	};

	return cmocka_run_group_tests_name("workload", tests, NULL, NULL);
}
