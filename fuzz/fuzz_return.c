/* Fuzzing of remote=auto (uvmp_remote_pays, uvmp_remote_begins of counter.h): bytes give a script, after each step of which the naive model gives
 * the same answer for all sizes. */
#include <stdio.h>
#include <stdlib.h>

#include "model/naive_return.h"

#define INPUT_MAX 1024u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct source {
	const uint8_t *data;
	size_t size, at;
};

static void hold(bool is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "fuzz_return: not true: %s\n", what);
	abort();
}

/* As many bytes as the bound needs; zeros once there are none left. */
static uint64_t take(struct source *source, uint64_t bound)
{
	uint64_t number = 0;

	for (uint64_t rest = bound - 1u; rest != 0; rest >>= 8)
		number = number << 8 | (source->at < source->size ? source->data[source->at++] : 0);
	return number % bound;
}

static uint32_t draw(void *source, uint32_t bound)
{
	return (uint32_t)take(source, bound);
}

static bool is_over(void *source)
{
	struct source *bytes = source;

	return bytes->at >= bytes->size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source source = {data, size, 0};

	if (size == 0 || size > INPUT_MAX)
		return 0;
	hold(naive_return_compare(draw, is_over, &source), "the model's answers");
	source.at = 0;
	hold(naive_start_compare(draw, is_over, &source), "the model's answers to first faults");
	return 0;
}
