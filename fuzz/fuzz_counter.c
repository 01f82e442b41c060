/* Fuzzing of counter.h: bytes give processors, residency and notifications (tests/model/residency_case.c says
 * how); the naive model must name the same pages. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/naive_counter.h"
#include "model/residency_case.h"

#define INPUT_MAX 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hold(bool is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "fuzz_counter: not true: %s\n", what);
	abort();
}

static void compare(struct residency_source *source, const struct uvmp_processors *processors)
{
	static struct counter_case c;
	bool is_named[512];
	uvmp_mask pages;

	residency_case_counter(source, processors, &c);
	naive_counter_expand(processors, &c.facts, c.notes, c.count, is_named);
	hold(uvmp_counter_expand(processors, &c.facts, c.notes, c.count, &pages) == UVMP_OK,
	     "the facts are taken");
	for (uint32_t page = 0; page < 512; page++)
		hold(uvmp_mask_test(&pages, page) == is_named[page], "same pages as the model");

	/* a page or a GPU out of range is refused */
	c.facts.gpu = residency_draw(source, 70);
	c.facts.page_bytes = residency_draw(source, 65536);
	(void)uvmp_counter_expand(processors, &c.facts, c.notes, c.count, &pages);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct residency_source source = {.data = data, .size = size};
	struct uvmp_processors processors;

	if (size == 0 || size > INPUT_MAX)
		return 0;
	residency_case_processors(&source, &processors);
	if (processors.count < 2)
		return 0;
	while (source.at < size)
		compare(&source, &processors);
	return 0;
}
