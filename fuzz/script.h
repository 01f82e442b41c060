/* script.h: the input of a fuzz target as a source of numbers, for models that compare themselves with the library on a script. */
#ifndef UVMP_FUZZ_SCRIPT_H
#define UVMP_FUZZ_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define INPUT_MAX 1024u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct source {
	const uint8_t *data;
	size_t size, at;
};

static inline void hold(bool is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "not true: %s\n", what);
	abort();
}

/* As many bytes as the bound needs; zeros once there are none left. */
static inline uint64_t take(struct source *source, uint64_t bound)
{
	uint64_t number = 0;

	for (uint64_t rest = bound - 1u; rest != 0; rest >>= 8)
		number = number << 8 | (source->at < source->size ? source->data[source->at++] : 0);
	return number % bound;
}

static inline uint32_t draw(void *source, uint32_t bound)
{
	return (uint32_t)take(source, bound);
}

static inline bool is_over(void *source)
{
	struct source *bytes = source;

	return bytes->at >= bytes->size;
}

#endif
