/* service.h: the arena of the engine: objects, segments, what is in use. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/engine_internals.h"
#include "support/arena.h"

#define PIECE_BYTES 4096u

static uint8_t *memory;
static struct uvmp_service *s;

/* An engine with this policy, and this much arena for objects. */
static int setup_policy(const char *text, size_t bytes)
{
	static struct uvmp_policy policy;
	static struct uvmp_processors processors;
	static const struct uvmp_service_gpu gpu = {.size = sizeof(gpu), .memory_bytes = 2097152, .fault_entries = 2, .utlbs = 1};
	struct uvmp_service_params params = {.size = sizeof(params),
	                                     .policy = &policy,
	                                     .processors = &processors,
	                                     .gpu = &gpu,
	                                     .page_bytes = 4096,
	                                     .blocks = 1,
	                                     .spaces = 1,
	                                     .ranges = 1,
	                                     .instances = 1,
	                                     .requests = 1};
	size_t fixed;

	uvmp_policy_init(&policy);
	assert_int_equal(uvmp_policy_parse(text, strlen(text), &policy, NULL), UVMP_OK);
	processors.count = 2;
	for (uint32_t i = 0; i < 2; i++)
		processors.can_access[i] = processors.native_atomics[i] = (uint64_t)1 << i;
	fixed = uvmp_service_size(&params, 0);
	memory = malloc(fixed + bytes);
	assert_non_null(memory);
	memset(memory, 0xa5, fixed + bytes); /* it need not be cleared */
	assert_int_equal(uvmp_service_init(&params, memory, fixed + bytes, &s), UVMP_OK);
	arena_without_reserve(s);
	assert_true(uvmp_service_check(s));
	return 0;
}

static int setup_bytes(size_t bytes)
{
	return setup_policy("", bytes);
}

static int setup(void **state)
{
	(void)state;
	return setup_bytes(PIECE_BYTES);
}

static int teardown(void **state)
{
	(void)state;
	free(memory);
	return 0;
}

static bool is_zero(handle h, uint32_t bytes)
{
	const uint8_t *at = uvmpi_arena_at(s, h);

	for (uint32_t i = 0; i < bytes; i++)
		if (at[i] != 0)
			return false;
	return true;
}

static void test_objects_are_zeroed_and_aligned(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 2; round++) {
		handle h[SLAB_THRASH];

		for (uint32_t slab = 0; slab < SLAB_CHUNK_MAP; slab++) {
			h[slab] = uvmpi_arena_take(s, slab);
			assert_int_not_equal(h[slab], 0);
			assert_int_equal((uintptr_t)uvmpi_arena_at(s, h[slab]) % UNIT_BYTES, 0);
			assert_true(is_zero(h[slab], s->slab_bytes[slab]));
			assert_int_equal(s->live[slab], 1);
			memset(uvmpi_arena_at(s, h[slab]), 0xff, s->slab_bytes[slab]);
		}
		for (uint32_t slab = 0; slab < SLAB_CHUNK_MAP; slab++) {
			uvmpi_arena_give(s, slab, h[slab]);
			assert_int_equal(s->live[slab], 0);
		}
		assert_true(uvmp_service_check(s));
	}
}

static void test_last_given_is_first_taken(void **state)
{
	handle a = uvmpi_arena_take(s, SLAB_BLOCK), b = uvmpi_arena_take(s, SLAB_BLOCK);
	struct uvmp_service_memory before = {.size = sizeof(before)}, after = {.size = sizeof(after)};

	(void)state;
	assert_int_equal(b, a + sizeof(struct block) / UNIT_BYTES);
	uvmp_service_memory_used(s, &before);
	uvmpi_arena_give(s, SLAB_BLOCK, a);
	uvmpi_arena_give(s, SLAB_BLOCK, b);
	/* Another slab does not get it. */
	assert_int_not_equal(uvmpi_arena_take(s, SLAB_COLD), b);
	assert_int_equal(uvmpi_arena_take(s, SLAB_BLOCK), b);
	assert_int_equal(uvmpi_arena_take(s, SLAB_BLOCK), a);
	uvmp_service_memory_used(s, &after);
	assert_int_equal(after.used, before.used + s->slab_bytes[SLAB_COLD]);
	assert_int_equal(after.blocks, 2);
}

static void test_documented_sizes(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct block), 48);
	assert_int_equal(sizeof(struct residency), 208);
}

/* What a policy says that the engine takes for a block is as much as the objects of the block have, and not more than
 * one unit of the arena above. */
static void test_needs_of_a_block(void **state)
{
	static const struct {
		const char *policy;
		enum slab slab;
	} cases[] = {{"evict=lru2m remote=always", SLAB_COUNTERS}, {"prefetch=pattern", SLAB_HISTORY},
	             {"evict=mhpe", SLAB_HISTORY},		   {"adapt=pressure", SLAB_HISTORY},
	             {"adapt=early", SLAB_HISTORY},		   {"prefetch=forest", SLAB_HISTORY},
	             {"prefetch=tbn", SLAB_TREE},		   {"prefetch_full=sl", SLAB_TREE}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct uvmp_needs needs = {.size = sizeof(needs)};
		uint32_t bytes;

		assert_int_equal(setup_policy(cases[i].policy, PIECE_BYTES), 0);
		assert_int_equal(uvmp_policy_needs(&s->policy, &needs), UVMP_OK);
		bytes = s->slab_bytes[SLAB_COLD] + s->slab_bytes[cases[i].slab];
		assert_in_range(needs.block_bytes, bytes, bytes + UNIT_BYTES);
		free(memory);
	}
}

/* Takes objects until there is no room. */
static uint32_t fill(enum slab slab, handle *last)
{
	uint32_t count = 0;

	for (handle h = uvmpi_arena_take(s, slab); h != 0; h = uvmpi_arena_take(s, slab), count++)
		*last = h;
	return count;
}

static void test_full_then_grown(void **state)
{
	struct uvmp_service_memory used = {.size = sizeof(used)};
	uint8_t *more = aligned_alloc(UNIT_BYTES, 2u * PIECE_BYTES);
	uint32_t live;
	handle last = 0;

	(void)state;
	live = fill(SLAB_RESIDENCY, &last);
	assert_int_equal(live, PIECE_BYTES / sizeof(struct residency));
	assert_int_equal(s->live[SLAB_RESIDENCY], live);
	assert_int_equal(uvmpi_arena_take(s, SLAB_THRASH), 0);
	/* What is left at the end still does for smaller ones. */
	assert_int_not_equal(uvmpi_arena_take(s, SLAB_BLOCK), 0);

	uvmp_service_memory_used(s, &used);
	assert_int_equal(used.residencies, live);
	assert_int_equal(uvmp_service_grow(s, more, 2u * PIECE_BYTES), UVMP_OK);
	assert_int_equal(fill(SLAB_RESIDENCY, &last), 2u * PIECE_BYTES / sizeof(struct residency));
	assert_ptr_equal(uvmpi_arena_at(s, last),
	                 more + (2u * PIECE_BYTES / sizeof(struct residency) - 1u) * sizeof(struct residency));
	uvmpi_arena_give(s, SLAB_RESIDENCY, last);
	assert_int_equal(uvmpi_arena_take(s, SLAB_RESIDENCY), last);
	{
		struct uvmp_service_memory grown = {.size = sizeof(grown)};

		uvmp_service_memory_used(s, &grown);
		assert_int_equal(grown.bytes, used.bytes + 2u * PIECE_BYTES);
		assert_int_equal(grown.used,
		                 used.used + 2u * PIECE_BYTES / sizeof(struct residency) * sizeof(struct residency));
	}
	free(more);
}

/* What decisions can be taken without leaves the reserve to what they cannot. */
static void test_reserve(void **state)
{
	uint8_t *more = aligned_alloc(UNIT_BYTES, PIECE_BYTES);
	handle last = 0;

	(void)state;
	s->reserve = 80;
	assert_false(uvmpi_arena_is_short(s));
	assert_true(fill(SLAB_HISTORY, &last) > 0);
	assert_false(uvmpi_arena_is_short(s));
	while (!uvmpi_arena_is_short(s))
		assert_int_not_equal(uvmpi_arena_take(s, SLAB_BLOCK), 0);
	assert_int_equal(uvmpi_arena_take(s, SLAB_HISTORY), 0);
	assert_true(fill(SLAB_RESIDENCY, &last) > 0);
	assert_true(uvmpi_arena_is_short(s));
	assert_int_equal(uvmp_service_grow(s, more, PIECE_BYTES), UVMP_OK);
	assert_false(uvmpi_arena_is_short(s));
	free(more);
}

/* As service.h has it: 10 KiB with two processors, 35 with 64; 64 KiB always suffice. */
static void test_reserve_bytes(void **state)
{
	(void)state;
	assert_int_equal((uvmpi_arena_reserve(2) + 1023u) / 1024u, 10);
	assert_int_equal((uvmpi_arena_reserve(64) + 1023u) / 1024u, 35);
}

static void test_grow_errors(void **state)
{
	uint8_t *more = aligned_alloc(UNIT_BYTES, SEGMENTS_MAX * PIECE_BYTES);

	(void)state;
	assert_int_equal(uvmp_service_grow(NULL, more, PIECE_BYTES), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_grow(s, NULL, PIECE_BYTES), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_grow(s, more + 8, PIECE_BYTES), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_grow(s, more, PIECE_BYTES - 1u), UVMP_ERR_SPACE);
	assert_int_equal(uvmp_service_grow(s, s, PIECE_BYTES), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_grow(s, s->segment[0].memory, PIECE_BYTES), UVMP_ERR_ARGUMENT);
	assert_int_equal(s->segments, 1);
	for (uint32_t i = 1; i < SEGMENTS_MAX; i++) {
		assert_int_equal(uvmp_service_grow(s, more + i * PIECE_BYTES, PIECE_BYTES), UVMP_OK);
		if (i == SEGMENTS_MAX - 1u)
			break; /* an arena with eight segments refuses any memory */
		assert_int_equal(uvmp_service_grow(s, more + i * PIECE_BYTES, PIECE_BYTES), UVMP_ERR_ARGUMENT);
		assert_int_equal(uvmp_service_grow(s, more + (i + 1u) * PIECE_BYTES - UNIT_BYTES, PIECE_BYTES), UVMP_ERR_ARGUMENT);
		assert_int_equal(uvmp_service_grow(s, more + (i - 1u) * PIECE_BYTES + UNIT_BYTES, PIECE_BYTES), UVMP_ERR_ARGUMENT);
	}
	assert_int_equal(uvmp_service_grow(s, more, PIECE_BYTES), UVMP_ERR_SPACE);
	assert_int_equal(s->segments, SEGMENTS_MAX);
	assert_true(uvmp_service_check(s));
	free(more);
}

/* More than handles can number: the rest is not used. Nothing of it is touched before it is taken. */
static void test_grow_beyond_handles(void **state)
{
	struct uvmp_service_memory used = {.size = sizeof(used)};
	void *more;

	(void)state;
	if (SIZE_MAX == UINT32_MAX)
		skip(); /* a size_t cannot say so much */
	more = (void *)(uintptr_t)((uint64_t)1 << 60); /* beyond all memory of the program */
	assert_int_equal(uvmp_service_grow(s, more, (size_t)((uint64_t)UINT32_MAX * 64u)), UVMP_OK);
	uvmp_service_memory_used(s, &used);
	assert_int_equal(used.bytes, (uint64_t)UINT32_MAX * UNIT_BYTES);
	assert_int_equal(s->segment[1].end, UINT32_MAX);
	assert_true(uvmp_service_check(s));
}

static void test_memory_used(void **state)
{
	struct uvmp_service_memory used = {.size = sizeof(used), .bytes = 1};

	(void)state;
	assert_int_equal(uvmp_service_memory_used(NULL, &used), UVMP_ERR_ARGUMENT);
	assert_int_equal(used.bytes, 1);
	assert_int_equal(uvmp_service_memory_used(s, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_memory_used(s, &used), UVMP_OK);
	assert_true(used.bytes >= PIECE_BYTES && used.bytes <= PIECE_BYTES + UNIT_BYTES);
	assert_true(used.used <= UNIT_BYTES);
	assert_int_equal(used.blocks, 0);
	assert_int_equal(used.residencies, 0);
	assert_int_equal(used.thrashing_blocks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_objects_are_zeroed_and_aligned, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_last_given_is_first_taken, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_documented_sizes, setup, teardown),
	        cmocka_unit_test(test_needs_of_a_block),
	        cmocka_unit_test_setup_teardown(test_full_then_grown, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_reserve, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_reserve_bytes, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_grow_errors, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_grow_beyond_handles, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_memory_used, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
