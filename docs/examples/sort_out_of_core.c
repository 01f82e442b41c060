/* Sorts more keys of 8 bytes than memory may hold: runs that fit, then all runs merged at once.
 *
 *   cc -O2 sort_out_of_core.c $(pkg-config --cflags --libs libuvmpolicy-pager) -o sort_out_of_core
 *   ./sort_out_of_core -n 8 -b 32 -p "prefetch=none" -s zstd -f 0
 *
 * -n millions of keys; -b budget in MiB, if not a quarter of keys and result; -p policy; -s store; -f 1 (as
 * without -f): runs and their pieces are fetched by a call, and what was merged is given up. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <uvmpolicy/pager.h>

#define PIECE ((size_t)1 << 15) /* keys: 256 KiB */
static struct uvmp_pager *pager;

static uint64_t mix(uint64_t i)
{
	return ((i ^ 0x5851f42d4c957f2du) * 0x9e3779b97f4a7c15u ^ i >> 3) * 0xbf58476d1ce4e5b9u;
}

static int compare(const void *a, const void *b)
{
	return (*(const uint64_t *)a > *(const uint64_t *)b) - (*(const uint64_t *)a < *(const uint64_t *)b);
}

static void merge(uint64_t *to, uint64_t *from, size_t keys, size_t run, size_t *at, bool is_ahead)
{
	for (size_t done = 0; done < keys; done++) {
		size_t best = keys;
		for (size_t i = 0; i * run < keys; i++)
			if (at[i] < run &&
			    (best == keys || from[i * run + at[i]] < from[best * run + at[best]]))
				best = i;
		uint64_t *key = from + best * run + at[best];

		if (is_ahead && done % PIECE == 0)
			uvmp_pager_prefetch(pager, to + done, PIECE * sizeof(*to), true);
		to[done] = *key;
		if (++at[best] % PIECE == 0 && at[best] < run && is_ahead) {
			uvmp_pager_advise(pager, key + 1 - PIECE, PIECE * sizeof(*key), UVMP_PAGER_DISCARD);
			uvmp_pager_prefetch(pager, key + 1, PIECE * sizeof(*key), true);
		}
	}
}

int main(int argc, char **argv)
{
	const char *value[128] = {['n'] = "8", ['b'] = "0", ['f'] = "1"};
	char rest, error[256] = "-n 1..1048575, millions of keys; -b MIB; -p POLICY; -s STORE; -f 0|1";
	struct uvmp_pager_config config;
	struct uvmp_pager_stats before, s;
	struct timespec start, end;
	for (int c; (c = getopt(argc, argv, "n:b:p:s:f:")) != -1;)
		value[c] = optarg ? optarg : "";
	int n = 0, mib = 0;
	bool is_right = sscanf(value['n'], "%9d%c", &n, &rest) == 1 && n >= 1 && n < 1 << 20 &&
	                sscanf(value['b'], "%9d%c", &mib, &rest) == 1 && mib >= 0 && !value['?'];
	size_t keys = (size_t)n << 20, bytes = 2 * keys * sizeof(uint64_t);
	size_t run = PIECE, is_ahead = *value['f'] == '1';
	uint64_t sum = 0, wrong = 0;
	uvmp_pager_config_init(&config);
	config.budget_bytes = mib != 0 ? (uint64_t)mib << 20 : bytes / 4;
	config.policy = value['p'];
	config.store = value['s'];
	if (!is_right || optind != argc || uvmp_pager_create(&config, &pager, error, sizeof(error)) != 0)
		return fprintf(stderr, "sort: %s\n", error), 2;
	uint64_t *key = uvmp_pager_alloc(pager, bytes / 2), *result = uvmp_pager_alloc(pager, bytes / 2);
	while (keys % (2 * run) == 0 && run * sizeof(*key) * 8 <= config.budget_bytes)
		run *= 2;
	size_t *at = calloc(keys / run, sizeof(*at));
	if (!key || !result || !at)
		return perror("sort"), 2;
	for (size_t i = 0; i < keys; i++) {
		key[i] = mix(i);
		sum += mix(key[i]);
	}
	uvmp_pager_stats(pager, &before);
	timespec_get(&start, TIME_UTC);
	for (size_t i = 0; i < keys; i += run) {
		if (is_ahead)
			uvmp_pager_prefetch(pager, key + i, run * sizeof(*key), true);
		qsort(key + i, run, sizeof(*key), compare);
	}
	merge(result, key, keys, run, at, is_ahead);
	timespec_get(&end, TIME_UTC);
	uvmp_pager_stats(pager, &s);
	for (size_t i = 0; i < keys; i++) {
		wrong += i > 0 && result[i - 1] > result[i];
		sum -= mix(result[i]);
	}
	double took = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9;
	printf("sort %s: %.2f s, %.1f M keys/s, %.0f MiB/s, %zu faults, %zu evictions, %zu MiB in, %zu out\n",
	       wrong == 0 && sum == 0 ? "right" : "WRONG", took, (double)keys / took * 1e-6,
	       (double)(s.bytes_in + s.bytes_out - before.bytes_in - before.bytes_out) / took / (1 << 20),
	       s.faults, s.evictions, s.bytes_in >> 20, s.bytes_out >> 20);
	uvmp_pager_destroy(pager);
	return wrong != 0 || sum != 0;
}
