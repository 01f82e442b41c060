/* Breadth-first search in a graph that is larger than the memory that it may take.
 *
 *   cc -O2 bfs_out_of_core.c $(pkg-config --cflags --libs libuvmpolicy-pager) -o bfs_out_of_core
 *   ./bfs_out_of_core -n 17 -b 8 -p "prefetch=none" -s file:/var/tmp/edges -f 0
 *
 * -n: 2^n vertices, about 32 times as many edges (R-MAT); -b budget in MiB, if not a quarter of the graph;
 * -p policy; -s store. Level by level; with -f 1 (as without -f) levels with many edges fetch them in
 * windows, before the first edge of each is looked at; with -f 0 all comes by faults. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uvmpolicy/pager.h>

#define WINDOW ((uint64_t)1 << 18) /* edges: 1 MiB */
static struct uvmp_pager *pager;
static uint64_t *offset;
static uint32_t n, *edge, *distance;

static uint64_t mix(uint64_t i)
{
	return ((i ^ i >> 29) * 0x9e3779b97f4a7c15u ^ i >> 3) * 0xbf58476d1ce4e5b9u >> 20;
}

/* R-MAT with a = 0.57, b = c = 0.19, d = 0.05, vertex by vertex: how many edges leave one, and where they
 * lead. */
static uint64_t degree(uint32_t from)
{
	double edges = 32.0 * n;

	for (uint32_t bit = 1; bit < n; bit <<= 1)
		edges *= from & bit ? 0.24 : 0.76;
	return (uint64_t)(edges + (double)(mix(from) % 1000) / 1000);
}

static uint32_t target(uint32_t from, uint64_t random)
{
	uint32_t to = 0;

	for (uint32_t bit = 1; bit < n; bit <<= 1) {
		random = mix(random + bit);
		to |= random % 100 < (from & bit ? 21 : 25) ? bit : 0;
	}
	return to;
}

static uint64_t bfs(uint32_t level, uint64_t wanted, bool is_ahead)
{
	uint64_t next = 0, ready = wanted < offset[n] / 4 || !is_ahead ? UINT64_MAX : 0;

	for (uint32_t v = 0; v < n; v++) {
		if (distance[v] != level)
			continue;
		for (uint64_t e = offset[v]; e < offset[v + 1]; e++) {
			if (e >= ready) {
				ready = e + WINDOW < offset[n] ? e + WINDOW : offset[n];
				uvmp_pager_prefetch(pager, edge + e, (ready - e) * sizeof(*edge), true);
			}
			if (distance[edge[e]] != UINT32_MAX)
				continue;
			distance[edge[e]] = level + 1;
			next += offset[edge[e] + 1] - offset[edge[e]] + 1;
		}
	}
	return next;
}

static bool is_right(void)
{
	uint8_t *is_found = calloc(n, 1); /* has an edge from the level before */
	bool is_right = is_found && distance[0] == 0;

	for (uint32_t v = 0; is_right && v < n; v++)
		for (uint64_t e = offset[v]; is_right && e < offset[v + 1]; e++) {
			uint32_t to = edge[e];

			is_right = to == target(v, e) &&
			           (distance[v] == UINT32_MAX || distance[to] <= distance[v] + 1);
			is_found[to] |= distance[v] != UINT32_MAX && distance[to] == distance[v] + 1;
		}
	for (uint32_t v = 1; is_right && v < n; v++)
		is_right = is_found[v] == (distance[v] != UINT32_MAX && distance[v] != 0);
	free(is_found);
	return is_right;
}

int main(int argc, char **argv)
{
	const char *value[128] = {['n'] = "17", ['b'] = "0", ['f'] = "1"};
	char error[256] = "-n 10..27, vertices are 2^n; -b MIB; -p POLICY; -s STORE; -f 0|1";
	struct uvmp_pager_config config;
	struct uvmp_pager_stats s;
	struct timespec start, end;

	for (int c; (c = getopt(argc, argv, "n:b:p:s:f:")) != -1;)
		value[c] = optarg ? optarg : "";
	n = 1u << atoi(value['n']) % 32;
	uint64_t edges = 0, bytes = 0, budget = strtoull(value['b'], NULL, 10) << 20;

	for (uint32_t v = 0; v < n; v++)
		edges += degree(v);
	bytes = edges * sizeof(*edge) + n * (sizeof(*offset) + sizeof(*distance));
	uvmp_pager_config_init(&config);
	config.budget_bytes = budget != 0 ? budget : bytes / 4;
	config.policy = value['p'];
	config.store = value['s'];
	if (value['?'] || optind != argc || n < 1024 || n > 1 << 27 ||
	    uvmp_pager_create(&config, &pager, error, sizeof(error)) != 0)
		return fprintf(stderr, "bfs: %s\n", error), 2;
	edge = uvmp_pager_alloc(pager, edges * sizeof(*edge));
	offset = uvmp_pager_alloc(pager, (n + 1) * sizeof(*offset));
	distance = uvmp_pager_alloc(pager, n * sizeof(*distance));
	if (!edge || !offset || !distance)
		return perror("bfs"), 2;
	for (uint32_t v = 0; v < n; v++) {
		distance[v] = v == 0 ? 0 : UINT32_MAX;
		offset[v + 1] = offset[v] + degree(v);
		for (uint64_t e = offset[v]; e < offset[v + 1]; e++)
			edge[e] = target(v, e);
	}
	timespec_get(&start, TIME_UTC);
	uint32_t level = 0;
	for (uint64_t wanted = offset[1]; wanted != 0; level++)
		wanted = bfs(level, wanted, *value['f'] == '1');
	timespec_get(&end, TIME_UTC);
	uvmp_pager_stats(pager, &s);
	double took = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9;
	bool right = is_right();

	printf("bfs %s: %.2f s, %.1f M edges/s, %.0f MiB/s, %zu faults, %zu evictions, %zu MiB in, %zu out\n",
	       right ? "right" : "WRONG", took, (double)edges / took * 1e-6,
	       (double)(s.bytes_in + s.bytes_out) / took / (1 << 20), s.faults, s.evictions, s.bytes_in >> 20,
	       s.bytes_out >> 20);
	uvmp_pager_destroy(pager);
	return !right;
}
