/* Fuzzing of UVM Smart's access counters and of the decision to migrate (counter.h, pressure.h): bytes give a
 * script, whose state must at each step be that of the naive model, and numbers, for which real floating
 * point must agree. */
#include "model/naive_counter_leaf.h"
#include "script.h"

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
