/* counter.h against tests/model/naive_counter.c on random processors, residency and notifications, and what
 * must hold for any:
 *  - named pages are resident somewhere, none of them only on the GPU that counts;
 *  - the corrected rule names at least what the driver's does;
 *  - without quirks the order of the notifications does not matter.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "support/seeds.h"
#include "model/naive_counter.h"
#include "model/residency_case.h"

static void reverse(struct counter_case *c)
{
	for (uint32_t i = 0; i < c->count / 2; i++) {
		struct uvmp_counter_note note = c->notes[i];

		c->notes[i] = c->notes[c->count - 1 - i];
		c->notes[c->count - 1 - i] = note;
	}
}

static void check_corrected(const struct uvmp_processors *processors, struct counter_case *c,
                            const uvmp_mask *pages)
{
	uvmp_mask corrected, reversed;

	c->facts.quirks = false;
	assert_int_equal(uvmp_counter_expand(processors, &c->facts, c->notes, c->count, &corrected), UVMP_OK);
	assert_true(uvmp_mask_is_subset(pages, &corrected));
	reverse(c);
	assert_int_equal(uvmp_counter_expand(processors, &c->facts, c->notes, c->count, &reversed), UVMP_OK);
	assert_true(uvmp_mask_equal(&corrected, &reversed));
}

static void check_case(struct residency_source *source)
{
	struct uvmp_processors processors;
	struct counter_case c;
	uvmp_mask pages, others;
	bool is_named[512];

	do
		residency_case_processors(source, &processors);
	while (processors.count < 2);
	residency_case_counter(source, &processors, &c);
	assert_int_equal(uvmp_counter_expand(&processors, &c.facts, c.notes, c.count, &pages), UVMP_OK);
	naive_counter_expand(&processors, &c.facts, c.notes, c.count, is_named);
	for (uint32_t page = 0; page < 512; page++)
		assert_int_equal(uvmp_mask_test(&pages, page), is_named[page]);

	uvmp_mask_zero(&others);
	for (uint32_t p = 0; p < processors.count; p++)
		if (p != c.facts.gpu)
			uvmp_mask_or(&others, &others, &c.resident[p]);
	assert_true(uvmp_mask_is_subset(&pages, &others));
	check_corrected(&processors, &c, &pages);
}

static void check_many(uint64_t seed)
{
	struct residency_source source = {.random = seed};

	for (int i = 0; i < 10000; i++)
		check_case(&source);
}

int main(void)
{
	return seeds_run(check_many);
}
