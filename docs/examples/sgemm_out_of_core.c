/* C = A B, with matrices that are larger than the memory that they may take.
 *
 *   cc -O3 sgemm_out_of_core.c $(pkg-config --cflags --libs libuvmpolicy-pager) -o sgemm_out_of_core
 *   ./sgemm_out_of_core -n 2048 -b 12 -p "prefetch=none" -s zstd -f 0
 *
 * -n rows, rounded up to 64; -b budget in MiB, if not a quarter of the matrices; -p policy; -s store.
 * Rows of C are computed panel by panel, and for each B comes by. With -f 1 (fetch ahead, as without -f) a
 * second thread brings the next rows of B while these are used; with -f 0 all comes by faults. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <uvmpolicy/pager.h>

#define DEPTH 64u /* rows of B at a time */
static struct uvmp_pager *pager;
static size_t n;

static uint64_t mix(uint64_t i)
{
	return ((i ^ 0x5851f42d4c957f2du) * 0x9e3779b97f4a7c15u ^ i >> 3) * 0xbf58476d1ce4e5b9u;
}

static void *bring(void *rows_of_b)
{
	uvmp_pager_prefetch(pager, rows_of_b, DEPTH * n * sizeof(float), true);
	return NULL;
}

static void multiply(float *c, const float *a, const float *b, size_t rows)
{
	for (; rows > 0; rows--, c += n, a += n)
		for (size_t k = 0; k < DEPTH; k += 4)
			for (size_t j = 0; j < n; j++)
				c[j] += a[k] * b[k * n + j] + a[k + 1] * b[(k + 1) * n + j] +
				        a[k + 2] * b[(k + 2) * n + j] + a[k + 3] * b[(k + 3) * n + j];
}

static void sgemm(float *c, const float *a, float *b, size_t panel, bool is_ahead)
{
	for (size_t k = 0, i = 0; i < n; k = (k + DEPTH) % n, i += k == 0 ? panel : 0) {
		size_t rows = n - i < panel ? n - i : panel, next = (k + DEPTH) % n;
		pthread_t thread;
		bool is_coming = is_ahead && !pthread_create(&thread, NULL, bring, b + next * n);

		multiply(c + i * n, a + i * n + k, b + k * n, rows);
		if (is_coming)
			pthread_join(thread, NULL);
	}
}

int main(int argc, char **argv)
{
	const char *value[128] = {['n'] = "2048", ['b'] = "0", ['f'] = "1"};
	char rest, error[256] = "-n 1..65472, rows; -b MIB; -p POLICY; -s STORE; -f 0|1";
	struct uvmp_pager_config config;
	struct uvmp_pager_stats before, s;
	struct timespec start, end;
	for (int c; (c = getopt(argc, argv, "n:b:p:s:f:")) != -1;)
		value[c] = optarg ? optarg : "";
	int rows = 0, mib = 0;
	bool is_right = sscanf(value['n'], "%9d%c", &rows, &rest) == 1 && rows >= 1 && rows <= 65472 &&
	                sscanf(value['b'], "%9d%c", &mib, &rest) == 1 && mib >= 0 && !value['?'];
	n = ((size_t)rows + DEPTH - 1) / DEPTH * DEPTH;
	size_t bytes = 3 * n * n * sizeof(float), wrong = 0;

	uvmp_pager_config_init(&config);
	config.budget_bytes = mib != 0 ? (uint64_t)mib << 20 : bytes / 4;
	config.policy = value['p'];
	config.store = value['s'];
	if (!is_right || optind != argc || uvmp_pager_create(&config, &pager, error, sizeof(error)) != 0)
		return fprintf(stderr, "sgemm: %s\n", error), 2;
	float *a = uvmp_pager_alloc(pager, bytes), *b = a + n * n, *c = b + n * n;
	uint64_t *bx = calloc(2 * n, sizeof(*bx)), *cx = bx + n;
	if (!a || !bx)
		return perror("sgemm"), 2;
	for (size_t i = 0; i < 2 * n * n; i++)
		a[i] = (float)(mix(i) >> 61);
	uvmp_pager_stats(pager, &before);
	timespec_get(&start, TIME_UTC);
	sgemm(c, a, b, config.budget_bytes / 16 / n + 1, *value['f'] == '1');
	timespec_get(&end, TIME_UTC);
	uvmp_pager_stats(pager, &s);
	for (size_t i = 0; i < n * n; i++) /* C x = A (B x) for a random x, in whole numbers (Freivalds) */
		bx[i / n] += (mix(n * n + i) >> 61) * mix(i % n);
	for (size_t i = 0; i < n * n; i++)
		cx[i / n] += (uint64_t)c[i] * mix(i % n) - (mix(i) >> 61) * bx[i % n];
	for (size_t i = 0; i < n; i++)
		wrong += cx[i] != 0;
	double took = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9;

	printf("sgemm %s: %.2f s, %.1f GFLOP/s, %.0f MiB/s, %zu faults, %zu evictions, %zu MiB in, %zu out\n",
	       wrong == 0 ? "right" : "WRONG", took, 2e-9 * (double)(n * n * n) / took,
	       (double)(s.bytes_in + s.bytes_out - before.bytes_in - before.bytes_out) / took / (1 << 20),
	       s.faults, s.evictions, s.bytes_in >> 20, s.bytes_out >> 20);
	uvmp_pager_destroy(pager);
	return wrong != 0;
}
