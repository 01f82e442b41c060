/* plan.h against tests/model/naive_plan.c on random moves, and what must hold for any:
 *  - every page that is asked for and not there arrives exactly once, nothing else does;
 *  - a transfer has one source, the closest holder of each of its pages; it crosses no cut and is not larger
 *    than allowed; and it ends for one of these reasons or with its group;
 *  - groups are those of uvmp_prefetch_groups, pieces have their kind, fault groups come first;
 *  - both legs over the CPU stand together, and only where there is no direct way;
 *  - a list that is too small is left alone;
 *  - a step waits for one before it, never for the other direction when both run side by side.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "support/seeds.h"
#include "model/naive_plan.h"
#include "model/naive_residency.h"

#define CASES 5000

static struct uvmp_copy set[UVMP_PLAN_COPIES_MAX], other_set[UVMP_PLAN_COPIES_MAX];
static struct naive_transfer copy[UVMP_PLAN_TRANSFERS_MAX], other[UVMP_PLAN_TRANSFERS_MAX];

static bool can_map(const struct plan_case *c, uint32_t who, uint32_t whose)
{
	return (c->processors.can_access[who] >> whose & 1u) != 0;
}

static uint32_t closest(const struct plan_case *c, uint32_t page)
{
	uint64_t holders = 0;

	for (uint32_t p = 0; p < c->processors.count; p++)
		if (uvmp_mask_test(&c->resident[p], page))
			holders |= (uint64_t)1 << p;
	return naive_closest(&c->processors, c->facts.to, holders);
}

static void absent_pages(const struct plan_case *c, uvmp_mask *absent)
{
	uvmp_mask_andnot(absent, &c->pages, &c->resident[c->facts.to]);
}

/* The transfer that brings the pages to the destination: of one source, `from`. */
static void check_piece(const struct plan_case *c, const struct naive_transfer *last, uint32_t from,
                        uvmp_mask *arrived)
{
	uint32_t most = c->facts.most_pages;

	assert_int_equal(last->to, c->facts.to);
	assert_false(last->is_staged);
	assert_true(last->pages.first < last->pages.end && last->pages.end <= UVMP_MASK_BITS);
	assert_true(most == 0 || uvmp_region_pages(last->pages) <= most);
	assert_false(uvmp_mask_region_any(arrived, last->pages));
	uvmp_mask_region_set(arrived, last->pages);
	for (uint32_t page = last->pages.first; page < last->pages.end; page++) {
		assert_int_equal(closest(c, page), from);
		if (page > last->pages.first && c->facts.cuts != NULL)
			assert_false(uvmp_mask_test(c->facts.cuts, page));
	}
}

/* Returns the number of transfers, 1 or 2, that begin at `first`. */
static uint32_t check_legs(const struct plan_case *c, const struct naive_transfer *first, uint32_t left,
                           uvmp_mask *arrived)
{
	uint32_t to = c->facts.to, from = first->from;
	bool is_direct = from == UVMP_PROC_NONE || from == UVMP_CPU || to == UVMP_CPU ||
	                 can_map(c, to, from) || can_map(c, from, to);

	assert_int_equal(first->is_staged, !is_direct);
	if (is_direct) {
		check_piece(c, first, from, arrived);
		return 1;
	}
	assert_true(left >= 2);
	assert_int_equal(first->to, UVMP_CPU);
	assert_int_equal(first[1].from, UVMP_CPU);
	assert_int_equal(first[1].kind, first->kind);
	assert_int_equal(first[1].pages.first, first->pages.first);
	assert_int_equal(first[1].pages.end, first->pages.end);
	check_piece(c, &first[1], from, arrived);
	return 2;
}

static void check_order(const struct naive_transfer *before, const struct naive_transfer *now)
{
	assert_true(before->kind <= now->kind);
	if (before->kind == now->kind)
		assert_true(before->pages.end <= now->pages.first);
}

/* What ends inside a group ends for a reason. */
static void check_end(const struct plan_case *c, struct uvmp_region pages)
{
	bool is_cut = c->facts.cuts != NULL && uvmp_mask_test(c->facts.cuts, pages.end);

	assert_true(is_cut || uvmp_region_pages(pages) == c->facts.most_pages ||
	            closest(c, pages.first) != closest(c, pages.end));
}

static void check_groups(const struct plan_case *c, uint32_t count)
{
	static const uvmp_mask none;
	static struct uvmp_group group[UVMP_MASK_BITS];
	uint32_t groups;
	uvmp_mask absent;

	absent_pages(c, &absent);
	assert_int_equal(uvmp_prefetch_groups((enum uvmp_grouping)c->facts.grouping, &absent,
	                                      c->facts.faulted != NULL ? c->facts.faulted : &none, false,
	                                      group, UVMP_MASK_BITS, &groups),
	                 UVMP_OK);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t of = 0;

		while (of < groups && group[of].pages.end <= copy[i].pages.first)
			of++;
		assert_true(of < groups && copy[i].pages.first >= group[of].pages.first &&
		            copy[i].pages.end <= group[of].pages.end);
		assert_int_equal(copy[i].kind, group[of].kind);
		if (copy[i].pages.end != group[of].pages.end)
			check_end(c, copy[i].pages);
	}
}

static void check_invariants(const struct plan_case *c, uint32_t count)
{
	uvmp_mask arrived, absent;
	uint32_t legs;

	uvmp_mask_zero(&arrived);
	for (uint32_t i = 0; i < count; i += legs) {
		legs = check_legs(c, &copy[i], count - i, &arrived);
		if (i > 0)
			check_order(&copy[i - 1], &copy[i]);
	}
	absent_pages(c, &absent);
	assert_true(uvmp_mask_equal(&arrived, &absent));
	check_groups(c, count);
}

static void assert_same(const struct naive_transfer *a, const struct naive_transfer *b)
{
	assert_int_equal(a->pages.first, b->pages.first);
	assert_int_equal(a->pages.end, b->pages.end);
	assert_int_equal(a->from, b->from);
	assert_int_equal(a->to, b->to);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->is_staged, b->is_staged);
}

/* Field by field: bytes of padding may differ. */
static bool is_same_set(const struct uvmp_copy *a, const struct uvmp_copy *b)
{
	return uvmp_mask_equal(&a->pages, &b->pages) && uvmp_mask_equal(&a->cuts, &b->cuts) && a->from == b->from &&
	       a->to == b->to && a->kind == b->kind && a->is_staged == b->is_staged;
}

static void check_space(const struct plan_case *c, uint32_t sets)
{
	uint32_t needed = 0;

	memset(other_set, 0x55, sizeof(other_set));
	assert_int_equal(uvmp_plan_copies(&c->processors, &c->facts, other_set, sets - 1, &needed),
	                 UVMP_ERR_SPACE);
	assert_int_equal(needed, sets);
	for (uint32_t i = 0; i < UVMP_PLAN_COPIES_MAX; i++)
		assert_int_equal(other_set[i].from, 0x55);
	assert_int_equal(uvmp_plan_copies(&c->processors, &c->facts, other_set, sets, &needed), UVMP_OK);
	assert_int_equal(needed, sets);
	for (uint32_t i = 0; i < sets; i++)
		assert_true(is_same_set(&other_set[i], &set[i]));
	if (sets < UVMP_PLAN_COPIES_MAX)
		assert_int_equal(other_set[sets].from, 0x55);
}

/* No two sets have the same kind, source and destination, and each follows the sets of closer sources. `copy` is the model's
 * list. */
static void check_sets(uint32_t sets, uint32_t transfers)
{
	uint64_t before = 0;

	for (uint32_t i = 0; i < sets; i++) {
		uint32_t first = uvmp_mask_next_set(&set[i].pages, 0), at = 0;
		uint64_t key;

		while (at < transfers && (copy[at].pages.first != first || copy[at].kind != set[i].kind ||
		                          copy[at].is_staged != set[i].is_staged))
			at++;
		assert_true(at < transfers);
		key = 1 + (((uint64_t)set[i].kind << 32 | copy[at].rank) << 1 | (copy[at].from != copy[at].source));
		assert_true(key > before);
		before = key;
	}
}

static void check_copies(struct residency_source *source)
{
	struct plan_case c;
	uint32_t sets, expected;

	plan_case_draw(source, &c);
	assert_int_equal(uvmp_plan_copies(&c.processors, &c.facts, set, UVMP_PLAN_COPIES_MAX, &sets), UVMP_OK);
	assert_true(sets <= 4 * c.processors.count);
	expected = naive_plan_copies(&c.processors, &c.facts, copy);
	assert_int_equal(naive_plan_list(set, sets, other), expected);
	for (uint32_t i = 0; i < expected; i++)
		assert_same(&other[i], &copy[i]);
	check_invariants(&c, expected);
	check_sets(sets, expected);
	if (sets > 0)
		check_space(&c, sets);
}

static void check_step(enum uvmp_plan_order order, const struct uvmp_plan_step *step, uint32_t at)
{
	uint32_t after = step[at].after;

	if (after == UVMP_PLAN_AT_ONCE) {
		assert_int_equal(step[at].index, 0);
		assert_true(at == 0 || (order != UVMP_PLAN_SERIAL && at == 1));
		return;
	}
	assert_true(after < at);
	if (order == UVMP_PLAN_SERIAL)
		assert_int_equal(after, at - 1);
	else
		assert_true(step[after].is_out == step[at].is_out && step[after].index + 1 == step[at].index);
}

static void check_merge(struct residency_source *source)
{
	static struct uvmp_plan_step step[2 * UVMP_PLAN_TRANSFERS_MAX], naive[2 * UVMP_PLAN_TRANSFERS_MAX];
	enum uvmp_plan_order order = (enum uvmp_plan_order)residency_draw(source, 3);
	uint32_t in = residency_draw(source, 20), out = residency_draw(source, 20);
	uint32_t next[2] = {0, 0};

	assert_int_equal(uvmp_plan_merge(order, in, out, step, in + out), UVMP_OK);
	naive_plan_merge(order, in, out, naive);
	for (uint32_t i = 0; i < in + out; i++) {
		assert_int_equal(step[i].index, naive[i].index);
		assert_int_equal(step[i].after, naive[i].after);
		assert_int_equal(step[i].is_out, naive[i].is_out);
		assert_int_equal(step[i].index, next[step[i].is_out]++);
		check_step(order, step, i);
	}
	assert_true(next[0] == in && next[1] == out);
}

static void check_many(uint64_t seed)
{
	struct residency_source source = {.random = seed};

	for (int i = 0; i < CASES; i++) {
		check_copies(&source);
		check_merge(&source);
	}
}

int main(void)
{
	return seeds_run(check_many);
}
