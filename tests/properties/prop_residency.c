/* residency.h against tests/model/naive_residency.c on random processors and facts, and what must hold for
 * any:
 *  - the destination has memory, and only reads are duplicated;
 *  - the requester can use the page where it is put, or it is put where it was not asked for (pin, forced);
 *  - the requester never loses a right; victims keep less than they had;
 *  - others can map the destination and never get more than the requester.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "support/seeds.h"
#include "model/naive_residency.h"
#include "model/residency_case.h"
#include "uvmpolicy/fault.h"

static bool in(uint64_t set, uint32_t processor)
{
	return (set >> processor & 1u) != 0;
}

static void check_place(struct residency_source *source, const struct uvmp_processors *processors)
{
	struct uvmp_residency_facts facts;
	struct uvmp_residency_place place, naive;

	residency_case_facts(source, processors, &facts);
	naive = naive_residency_select(processors, &facts);
	assert_int_equal(uvmp_residency_select(processors, &facts, &place), UVMP_OK);
	assert_int_equal(place.row, naive.row);
	assert_int_equal(place.to, naive.to);
	assert_int_equal(place.is_duplicate, naive.is_duplicate);
	assert_int_equal(place.nearest, naive.nearest);

	assert_false(in(processors->no_memory, place.to));
	if (place.is_duplicate)
		assert_true((facts.accesses & ~3u) == 0 && place.to == facts.requester);
	if (place.nearest != UVMP_PROC_NONE)
		assert_true(in(facts.resident, place.nearest));
	else
		assert_int_equal(facts.resident, 0);
	if (place.row != 1 && place.row != 6 && place.row != 9 && place.to != facts.requester)
		assert_true(in(processors->can_access[facts.requester], place.to) ||
		            place.to == UVMP_CPU);
}

static void check_map(struct residency_source *source, const struct uvmp_processors *processors)
{
	struct uvmp_map_facts facts;
	struct uvmp_map map, naive;

	residency_case_map(source, processors, &facts);
	naive = naive_residency_map(processors, &facts);
	assert_int_equal(uvmp_residency_map(processors, &facts, &map), UVMP_OK);
	assert_int_equal(map.right, naive.right);
	assert_int_equal(map.leaves_discarded, naive.leaves_discarded);
	assert_int_equal(map.victims, naive.victims);
	assert_int_equal(map.left, naive.left);
	assert_int_equal(map.others_atomic, naive.others_atomic);
	assert_int_equal(map.others, naive.others);
	assert_int_equal(map.others_right, naive.others_right);

	assert_true(map.right >= uvmp_access_right((enum uvmp_access)facts.access) || facts.is_discarded);
	assert_true(map.right <= facts.right);
	assert_false(in(map.victims | map.others | map.others_atomic, facts.requester));
	assert_int_equal(map.victims & ~(map.left == UVMP_RIGHT_READ ? facts.write : facts.atomic), 0);
	assert_true(map.others_right <= map.right);
	assert_true(map.others_atomic == 0 || map.right == UVMP_RIGHT_READ_WRITE_ATOMIC);
	assert_int_equal(map.others & map.others_atomic, 0);
	for (uint32_t p = 0; p < processors->count; p++)
		if (in(map.others | map.others_atomic, p))
			assert_true(in(processors->can_access[p], facts.to));
}

static void check_levels(struct residency_source *source)
{
	uvmp_mask level[3], pinned;
	bool quirks = residency_draw(source, 2) == 1;

	memset(&pinned, 0, sizeof(pinned));
	pinned.word[7] = residency_draw(source, 16);
	memset(level, 0, sizeof(level));
	for (int i = 0; i < 3; i++)
		level[i].word[7] = residency_draw(source, 16) & residency_draw(source, 16);
	assert_int_equal(uvmp_residency_map_levels(level, &pinned, quirks),
	                 naive_residency_levels(level, &pinned, quirks));
}

static void check_many(uint64_t seed)
{
	struct residency_source source = {.random = seed};
	struct uvmp_processors processors;

	for (int i = 0; i < 20000; i++) {
		residency_case_processors(&source, &processors);
		assert_true(uvmp_processors_is_valid(&processors));
		for (int k = 0; k < 5; k++) {
			check_place(&source, &processors);
			check_map(&source, &processors);
		}
		check_levels(&source);
	}
}

int main(void)
{
	return seeds_run(check_many);
}
