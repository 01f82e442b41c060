/* Breadth-first search over an R-MAT graph in CSR form, one queue; for record.sh. usage: bfs SCALE DEGREE */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 1;

static uint32_t draw(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33);
}

static void draw_edge(unsigned scale, uint32_t *u, uint32_t *v)
{
	*u = *v = 0;
	for (unsigned i = 0; i < scale; i++) {
		uint32_t quadrant = draw() % 100u;

		*u = *u * 2u + (quadrant >= 76u);
		*v = *v * 2u + ((quadrant >= 57u && quadrant < 76u) || quadrant >= 95u);
	}
}

int main(int arguments, char **argument)
{
	unsigned scale = arguments > 1 ? (unsigned)atoi(argument[1]) : 16u;
	uint32_t n = 1u << scale, m = n * (arguments > 2 ? (uint32_t)atoi(argument[2]) : 8u), head = 0,
	         tail = 0;
	uint32_t *offset = calloc(n + 2u, 4), *edge = malloc(4u * (size_t)m), *level = calloc(n, 4),
	         *queue = malloc(4u * (size_t)n);
	uint64_t sum = 0, seed = state;
	uint32_t u, v;

	if (!offset || !edge || !level || !queue)
		return 1;
	for (uint32_t i = 0; i < m; i++) {
		draw_edge(scale, &u, &v);
		offset[u + 2u]++;
	}
	for (uint32_t i = 2; i <= n + 1u; i++)
		offset[i] += offset[i - 1u];
	state = seed;
	for (uint32_t i = 0; i < m; i++) {
		draw_edge(scale, &u, &v);
		edge[offset[u + 1u]++] = v;
	}
	level[0] = 1;
	queue[tail++] = 0;
	while (head != tail) {
		u = queue[head++];
		for (uint32_t i = offset[u]; i < offset[u + 1u]; i++) {
			if (level[edge[i]] != 0)
				continue;
			level[edge[i]] = level[u] + 1u;
			queue[tail++] = edge[i];
		}
	}
	for (u = 0; u < n; u++)
		sum += level[u];
	printf("%u vertices reached, levels sum to %llu\n", tail, (unsigned long long)sum);
	return 0;
}
