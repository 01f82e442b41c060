/* Fuzzing of adapt.h's pattern engine: every four bytes are one event (tests/model/pattern_case.c says
 * which); the model that recomputes everything must see the same patterns after each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/pattern_case.h"

#define INPUT_MAX 1024u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pattern_case c;

	if (size > INPUT_MAX)
		return 0;
	pattern_case_init(&c);
	for (size_t i = 0; i + 4 <= size; i += 4) {
		uint32_t number = (uint32_t)data[i] | (uint32_t)data[i + 1] << 8 |
		                  (uint32_t)data[i + 2] << 16 | (uint32_t)data[i + 3] << 24;

		if (!pattern_case_step(&c, number)) {
			fprintf(stderr, "fuzz_pattern: differs after event %zu\n", i / 4);
			abort();
		}
	}
	return 0;
}
