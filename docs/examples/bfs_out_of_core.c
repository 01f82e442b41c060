/* Breadth-first search in a graph that is larger than the memory that it may take.
 *
 *   cc -O2 bfs_out_of_core.c $(pkg-config --cflags --libs libuvmpolicy-pager) -o bfs_out_of_core
 *   ./bfs_out_of_core -n 18 -b 8 -p "prefetch=none" -s file:/var/tmp -f 0
 *
 * -n: 2^n vertices with 1 to 64 edges each, half of them to popular ones, as in R-MAT; -b budget in MiB, if
 * not a quarter of the graph; -p policy; -s store; -f 1 (as without -f): levels with many edges fetch them in
 * windows. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <uvmpolicy/pager.h>

#define WINDOW ((uint64_t)1 << 18) /* edges: 1 MiB */
static struct uvmp_pager *pager;
static uint32_t n, *edge, *distance; /* from vertex 0, which has 1; 0: not reached */
static uint64_t *offset;

static uint64_t mix(uint64_t i)
{
	return ((i ^ 0x5851f42d4c957f2du) * 0x9e3779b97f4a7c15u ^ i >> 3) * 0xbf58476d1ce4e5b9u >> 20;
}

static uint32_t target(uint64_t e)
{
	return (uint32_t)(mix(e) & (e % 2 == 0 ? mix(~e) : UINT32_MAX)) & (n - 1);
}

/* The edges of all vertices at one distance. How many there are at the next one? */
static uint64_t visit(uint32_t level, bool is_ahead)
{
	uint64_t next = 0, ready = is_ahead ? 0 : UINT64_MAX;
	for (uint32_t v = 0; v < n; v++)
		for (uint64_t e = offset[v]; distance[v] == level && e < offset[v + 1]; e++) {
			if (e >= ready) {
				ready = e + WINDOW < offset[n] ? e + WINDOW : offset[n];
				uvmp_pager_prefetch(pager, edge + e, (ready - e) * sizeof(*edge), true);
			}
			if (distance[edge[e]] == 0) {
				distance[edge[e]] = level + 1;
				next += offset[edge[e] + 1] - offset[edge[e]];
			}
		}
	return next;
}

int main(int argc, char **argv)
{
	const char *value[128] = {['n'] = "18", ['b'] = "0", ['f'] = "1"};
	char rest, error[256] = "-n 10..27, for 2^n vertices; -b MIB; -p POLICY; -s STORE; -f 0|1";
	struct uvmp_pager_config config;
	struct uvmp_pager_stats before, s;
	struct timespec start, end;
	for (int c; (c = getopt(argc, argv, "n:b:p:s:f:")) != -1;)
		value[c] = optarg ? optarg : "";
	int power = 0, mib = 0;
	bool is_right = sscanf(value['n'], "%9d%c", &power, &rest) == 1 && power >= 10 && power <= 27 &&
	                sscanf(value['b'], "%9d%c", &mib, &rest) == 1 && mib >= 0 && !value['?'];
	n = 1u << (is_right ? power : 0);
	uint64_t wrong = 0, wanted = 1, seen = 0;
	uvmp_pager_config_init(&config);
	config.budget_bytes = mib != 0 ? (uint64_t)mib << 20 : 33ull * n;
	config.policy = value['p'];
	config.store = value['s'];
	if (!is_right || optind != argc || uvmp_pager_create(&config, &pager, error, sizeof(error)) != 0)
		return fprintf(stderr, "bfs: %s\n", error), 2;
	edge = uvmp_pager_alloc(pager, 64ull * n * sizeof(*edge));
	offset = uvmp_pager_alloc(pager, (n + 1ull) * sizeof(*offset));
	distance = uvmp_pager_alloc(pager, n * sizeof(*distance));
	bool *is_found = calloc(n, sizeof(*is_found)); /* by an edge from one level less */
	if (!edge || !offset || !distance || !is_found)
		return perror("bfs"), 2;
	for (uint32_t v = 0; v < n; v++) {
		offset[v + 1] = offset[v] + mix(v) % 64 + 1;
		for (uint64_t e = offset[v]; e < offset[v + 1]; e++)
			edge[e] = target(e);
	}
	uvmp_pager_stats(pager, &before);
	timespec_get(&start, TIME_UTC);
	for (uint32_t level = distance[0] = 1; wanted != 0; level++, seen += wanted)
		wanted = visit(level, *value['f'] == '1' && wanted > n);
	timespec_get(&end, TIME_UTC);
	uvmp_pager_stats(pager, &s);
	for (uint32_t v = 0; v < n; v++)
		for (uint64_t e = offset[v]; e < offset[v + 1]; e++) {
			wrong += edge[e] != target(e) || (distance[v] != 0 && distance[edge[e]] - 1 > distance[v]);
			is_found[edge[e]] |= distance[v] != 0 && distance[edge[e]] == distance[v] + 1;
		}
	for (uint32_t v = 1; v < n; v++)
		wrong += is_found[v] != (distance[v] != 0);
	double took = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9;
	printf("bfs %s: %.2f s, %.1f M edges/s, %.0f MiB/s, %zu faults, %zu evictions, %zu MiB in, %zu out\n",
	       wrong == 0 ? "right" : "WRONG", took, (double)seen / took * 1e-6,
	       (double)(s.bytes_in + s.bytes_out - before.bytes_in - before.bytes_out) / took / (1 << 20),
	       s.faults, s.evictions, s.bytes_in >> 20, s.bytes_out >> 20);
	uvmp_pager_destroy(pager);
	return wrong != 0;
}
