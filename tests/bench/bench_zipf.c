/* A cache trace for comparisons with other simulators: requests whose objects follow Zipf's law with exponent 1. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "uvmpolicy/base.h"

#define REQUESTS     20000000u
#define OBJECTS      1000000u
#define OBJECT_BYTES 4096u
#define PER_SECOND   20000u
#define RECORD_BYTES 24u /* of oracleGeneral: seconds, object, size, number of the object's next request or -1 */

static uint32_t object[REQUESTS];
static int64_t next_request[REQUESTS];
static double sum[OBJECTS]; /* of the weights up to this rank */

/* The rank whose share of the sums holds a drawn number. */
static uint32_t draw_rank(uint64_t *state)
{
	double drawn = (double)(uvmp_random_next(state) >> 11) * 0x1p-53 * sum[OBJECTS - 1u];
	uint32_t low = 0, high = OBJECTS - 1u;

	while (low < high) {
		uint32_t middle = (low + high) / 2u;

		if (sum[middle] >= drawn)
			high = middle;
		else
			low = middle + 1u;
	}
	return low;
}

/* Ranks are spread over the objects at random. */
static void draw_objects(void)
{
	static uint32_t of_rank[OBJECTS];
	uint64_t state = 1;
	double total = 0;

	for (uint32_t i = 0; i < OBJECTS; i++) {
		sum[i] = total += 1.0 / (double)(i + 1u);
		of_rank[i] = i;
	}
	for (uint32_t i = OBJECTS - 1u; i > 0; i--) {
		uint32_t other = (uint32_t)(uvmp_random_next(&state) % (i + 1u)), rank = of_rank[i];

		of_rank[i] = of_rank[other];
		of_rank[other] = rank;
	}
	for (uint32_t i = 0; i < REQUESTS; i++)
		object[i] = of_rank[draw_rank(&state)];
}

static void find_next(void)
{
	static int64_t last[OBJECTS];

	for (uint32_t i = 0; i < OBJECTS; i++)
		last[i] = -1;
	for (uint32_t i = REQUESTS; i-- > 0;) {
		next_request[i] = last[object[i]];
		last[object[i]] = i;
	}
}

static void put(unsigned char *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (unsigned char)(value >> 8u * i);
}

int bench_write_zipf(const char *name)
{
	FILE *out = fopen(name, "wb");
	unsigned char record[RECORD_BYTES];

	if (out == NULL) {
		perror(name);
		return 1;
	}
	draw_objects();
	find_next();
	for (uint32_t i = 0; i < REQUESTS; i++) {
		put(record, i / PER_SECOND, 4);
		put(record + 4, (object[i] + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15), 8);
		put(record + 12, OBJECT_BYTES, 4);
		put(record + 16, (uint64_t)next_request[i], 8);
		fwrite(record, sizeof(record), 1, out);
	}
	if (ferror(out) | fclose(out)) {
		perror(name);
		return 1;
	}
	return 0;
}
