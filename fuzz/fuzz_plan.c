/* Fuzzing of plan.h: bytes give processors, the residency of a block, a move and the lengths of two lists;
 * the naive model must say the same. Which byte gives what: tests/model/naive_plan.c. The last part takes
 * numbers without any care: the library may refuse them, no more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/naive_plan.h"

#define INPUT_MAX 1024u

static struct uvmp_copy set[UVMP_PLAN_COPIES_MAX];
static struct naive_transfer copy[UVMP_PLAN_TRANSFERS_MAX], naive_copy[UVMP_PLAN_TRANSFERS_MAX];
static struct uvmp_plan_step step[2 * UVMP_PLAN_TRANSFERS_MAX], naive_step[2 * UVMP_PLAN_TRANSFERS_MAX];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hold(bool is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "fuzz_plan: not true: %s\n", what);
	abort();
}

static void compare_copies(const struct plan_case *c)
{
	uint32_t sets, count, naive = naive_plan_copies(&c->processors, &c->facts, naive_copy);

	hold(uvmp_plan_copies(&c->processors, &c->facts, set, UVMP_PLAN_COPIES_MAX, &sets) == UVMP_OK,
	     "the facts are taken");
	count = (uint32_t)naive_plan_list(set, sets, copy);
	hold(count == naive, "as many transfers as the model");
	for (uint32_t i = 0; i < count; i++)
		hold(copy[i].pages.first == naive_copy[i].pages.first &&
		             copy[i].pages.end == naive_copy[i].pages.end &&
		             copy[i].from == naive_copy[i].from && copy[i].to == naive_copy[i].to &&
		             copy[i].kind == naive_copy[i].kind &&
		             copy[i].is_staged == naive_copy[i].is_staged,
		     "same transfer as the model");
}

static void compare_steps(struct residency_source *source)
{
	enum uvmp_plan_order order = (enum uvmp_plan_order)residency_draw(source, 2);
	uint32_t in = residency_draw(source, 40), out = residency_draw(source, 40);

	naive_plan_merge(order, in, out, naive_step);
	hold(uvmp_plan_merge(order, in, out, step, in + out) == UVMP_OK, "the lengths are taken");
	for (uint32_t i = 0; i < in + out; i++)
		hold(step[i].index == naive_step[i].index && step[i].after == naive_step[i].after &&
		             step[i].is_out == naive_step[i].is_out,
		     "same step as the model");
}

static void try_anything(struct residency_source *source, struct plan_case *c)
{
	struct uvmp_copy small[8];
	uint32_t capacity = residency_draw(source, 9), count = 0;
	uint32_t in = residency_draw(source, 2048), out = residency_draw(source, 2048);
	enum uvmp_status status;

	c->facts.to = residency_draw(source, 70);
	c->facts.grouping = (uint8_t)residency_draw(source, 5);
	c->facts.most_pages = residency_draw(source, 256) << residency_draw(source, 25);
	c->processors.can_access[residency_draw(source, 64)] ^= residency_draw(source, 256);
	status = uvmp_plan_copies(&c->processors, &c->facts, small, capacity, &count);
	hold(status != UVMP_OK || count <= capacity, "stored copies fit the capacity");
	hold(status != UVMP_ERR_SPACE || (count > capacity && count <= UVMP_PLAN_COPIES_MAX),
	     "the count needed exceeds the capacity, but not the limit");
	status = uvmp_plan_merge((enum uvmp_plan_order)residency_draw(source, 3), in, out, step,
	                         residency_draw(source, 2 * UVMP_PLAN_TRANSFERS_MAX + 1));
	hold(status != UVMP_OK || (in <= UVMP_PLAN_TRANSFERS_MAX && out <= UVMP_PLAN_TRANSFERS_MAX),
	     "lists above the limit are refused");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct residency_source source = {.data = data, .size = size};
	struct plan_case c;

	if (size == 0 || size > INPUT_MAX)
		return 0;
	while (source.at < size) {
		plan_case_draw(&source, &c);
		compare_copies(&c);
		compare_steps(&source);
		try_anything(&source, &c);
	}
	return 0;
}
