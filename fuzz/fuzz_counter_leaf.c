/* Fuzzing of UVM Smart's access counters and of the decision to migrate (counter.h, pressure.h): bytes give a
 * script, whose state must at each step be that of the naive model, and numbers, for which real floating
 * point must agree. */
#include <stdio.h>
#include <stdlib.h>

#include "model/naive_counter_leaf.h"

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
	fprintf(stderr, "fuzz_counter_leaf: not true: %s\n", what);
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

static uint64_t pages(struct source *source)
{
	return take(source, (uint64_t)1 << take(source, 41));
}

static void compare_numbers(struct source *source)
{
	struct uvmp_pressure pressure = {.total_pages = pages(source) + 1u};
	uint32_t factor = (uint32_t)(pages(source) & UINT32_MAX);
	double expected;

	pressure.free_pages = pages(source);
	pressure.incoming_pages = pages(source);
	pressure.leaving_pages = pages(source);
	pressure.buffer_percent = draw(source, 101);
	pressure.quirks = draw(source, 2) == 0;
	hold(uvmp_pressure_is_valid(&pressure), "the numbers are taken");
	hold(uvmp_pressure_is_over(&pressure) == naive_pressure_is_over(&pressure),
	     "as full as in floating point");
	expected = naive_pressure_threshold(&pressure, factor);
	if (expected < 9007199254740992.0)
		hold(uvmp_pressure_scale(&pressure, factor) + 1u == (uint64_t)expected, "the same threshold");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source source = {data, size, 0};

	if (size == 0 || size > INPUT_MAX)
		return 0;
	if (draw(&source, 2) == 0) {
		hold(naive_leaf_compare(draw, is_over, &source, draw(&source, 2) == 0),
		     "the model's counters");
		return 0;
	}
	while (source.at < source.size)
		compare_numbers(&source);
	return 0;
}
