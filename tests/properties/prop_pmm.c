/* Properties of the memory manager: random scripts against the naive model, which compare every queue, free
 * list and counter after each step; pages are neither lost nor gained; an error changes nothing; the pool
 * gives the lowest. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/seed.h"
#include "model/naive_pmm.h"

#define STEPS 250

/* Small values of the first byte make allocations: without a bias to them scripts free nearly all they get.
 */
static void random_script(uint64_t *seed, uint8_t *script, size_t size)
{
	uint64_t bias = uvmp_random_below(seed, 3);

	for (size_t i = 0; i < size; i++)
		script[i] = (uint8_t)uvmp_random_next(seed);
	for (size_t i = 3; i < size; i += 3) {
		if (uvmp_random_below(seed, 4) < bias)
			script[i] = (uint8_t)uvmp_random_below(seed, 9);
	}
}

static void check_scripts(uint64_t seed)
{
	uint8_t script[3 * STEPS];

	for (int i = 0; i < 60; i++) {
		uint64_t start = seed;

		random_script(&seed, script, sizeof(script));
		if (!naive_pmm_script(script, sizeof(script)))
			fail_msg("UVMP_TEST_SEED=%llu", (unsigned long long)start);
	}
}

static void test_fixed_seed(void **unused)
{
	(void)unused;
	check_scripts(1);
}

static void test_printed_seed(void **unused)
{
	(void)unused;
	check_scripts(test_seed());
}

/* -- conservation -- */

struct owned {
	struct uvmp_chunk chunk;
	bool is_pinned;
};

static uint32_t small_pages; /* of 4 KiB, of the smallest chunk */

static uint64_t pages_of(const struct uvmp_pmm *pmm)
{
	struct uvmp_pmm_counts counts;
	uint64_t roots;

	uvmp_pmm_count(pmm, &counts);
	roots = counts.in_pool;
	for (int list = UVMP_PMM_FREE_NONZERO; list <= UVMP_PMM_FREE_ZERO; list++) {
		for (uint32_t r = uvmp_pmm_first(pmm, (enum uvmp_pmm_list)list); r != UVMP_ROOT_NONE;
		     r = uvmp_pmm_next(pmm, r))
			roots++;
	}
	return roots * 512u + counts.free_64k * 16u + counts.free_4k * small_pages + counts.allocated_pages;
}

/* No two chunks of the same root overlap. */
static void claim_pages(uvmp_mask *taken, struct uvmp_chunk chunk, bool is_taken)
{
	const uint32_t pages[] = {small_pages, 16, 512};
	struct uvmp_region region = {chunk.page, chunk.page + pages[chunk.size]};

	if (is_taken) {
		assert_false(uvmp_mask_region_any(&taken[chunk.root], region));
		uvmp_mask_region_set(&taken[chunk.root], region);
	} else {
		assert_true(uvmp_mask_region_all(&taken[chunk.root], region));
		uvmp_mask_region_clear(&taken[chunk.root], region);
	}
}

static void check_conservation(uint64_t seed, bool quirks)
{
	enum { ROOTS = 40, CHUNKS = 600 };
	struct uvmp_pmm_params params = {ROOTS, ROOTS, (uint32_t)(seed % 7u), seed % 2u != 0, quirks,
	                                 small_pages * 4096u};
	void *memory = malloc(uvmp_pmm_size(&params));
	static struct owned owned[CHUNKS];
	static uvmp_mask taken[ROOTS];
	struct uvmp_pmm *pmm;
	uint32_t count = 0;

	memset(taken, 0, sizeof(taken));
	assert_int_equal(uvmp_pmm_init(&params, memory, uvmp_pmm_size(&params), &pmm), UVMP_OK);
	for (int step = 0; step < 6000; step++) {
		uint32_t k = (uint32_t)uvmp_random_below(&seed, count);
		uint32_t size = (uint32_t)uvmp_random_below(&seed, 20) == 0
		                        ? 2u
		                        : (uint32_t)uvmp_random_below(&seed, 2);

		if (count < CHUNKS && uvmp_random_below(&seed, 100) < 55) {
			if (uvmp_pmm_alloc(pmm, UVMP_CHUNK_USER, (enum uvmp_chunk_size)size, 0,
			                   &owned[count].chunk) == UVMP_OK) {
				claim_pages(taken, owned[count].chunk, true);
				owned[count++].is_pinned = true;
			}
		} else if (count > 0 && owned[k].is_pinned && uvmp_random_below(&seed, 2) == 0) {
			assert_int_equal(uvmp_pmm_unpin(pmm, owned[k].chunk), UVMP_OK);
			owned[k].is_pinned = false;
		} else if (count > 0) {
			assert_int_equal(uvmp_pmm_free(pmm, owned[k].chunk), UVMP_OK);
			claim_pages(taken, owned[k].chunk, false);
			assert_int_equal(uvmp_pmm_free(pmm, owned[k].chunk), UVMP_ERR_STATE);
			owned[k] = owned[--count];
		}
		assert_int_equal(pages_of(pmm), ROOTS * 512u);
		if (step % 100 == 0)
			assert_true(uvmp_pmm_check(pmm));
	}
	/* When everything is freed the whole memory is one row of roots again. */
	while (count > 0)
		assert_int_equal(uvmp_pmm_free(pmm, owned[--count].chunk), UVMP_OK);
	assert_true(uvmp_pmm_check(pmm));
	for (uint32_t i = 0; i < ROOTS; i++)
		assert_int_equal(uvmp_pmm_alloc(pmm, UVMP_CHUNK_USER, UVMP_CHUNK_2M, 0, &owned[i].chunk),
		                 UVMP_OK);
	free(memory);
}

static void test_conservation(void **unused)
{
	uint64_t seed = test_seed();

	(void)unused;
	for (small_pages = 1; small_pages <= 4; small_pages += 3) {
		check_conservation(1, true);
		check_conservation(seed, true);
		check_conservation(seed + 1, false);
	}
}

/* -- the pool -- */

/* Over all levels of the bitmap: the removed element is always the smallest. */
static void check_pool(uint64_t seed, uint32_t roots)
{
	struct uvmp_pmm_params params = {roots, 0, 0, true, true, 0};
	size_t bytes = uvmp_pmm_size(&params);
	void *memory = malloc(bytes);
	bool *in_pool = malloc(roots * sizeof(*in_pool));
	struct uvmp_pmm *pmm;
	struct uvmp_chunk chunk;

	assert_int_equal(uvmp_pmm_init(&params, memory, bytes, &pmm), UVMP_OK);
	for (uint32_t i = 0; i < roots; i++) {
		assert_int_equal(uvmp_pmm_alloc(pmm, UVMP_CHUNK_USER, UVMP_CHUNK_2M, 0, &chunk), UVMP_OK);
		assert_int_equal(chunk.root, i);
		in_pool[i] = false;
	}
	assert_int_equal(uvmp_pmm_alloc(pmm, UVMP_CHUNK_USER, UVMP_CHUNK_2M, 0, &chunk), UVMP_ERR_NO_MEMORY);
	for (int i = 0; i < 300; i++) {
		chunk.root = (uint32_t)uvmp_random_below(&seed, roots);
		chunk.page = 0;
		chunk.size = UVMP_CHUNK_2M;
		assert_int_equal(uvmp_pmm_free(pmm, chunk), in_pool[chunk.root] ? UVMP_ERR_STATE : UVMP_OK);
		in_pool[chunk.root] = true;
	}
	assert_true(uvmp_pmm_check(pmm));
	for (uint32_t i = 0; i < roots; i++) {
		if (!in_pool[i])
			continue;
		assert_int_equal(uvmp_pmm_alloc(pmm, UVMP_CHUNK_USER, UVMP_CHUNK_2M, 0, &chunk), UVMP_OK);
		assert_int_equal(chunk.root, i);
	}
	assert_true(uvmp_pmm_check(pmm));
	free(in_pool);
	free(memory);
}

static void test_pool_gives_the_lowest(void **unused)
{
	(void)unused;
	check_pool(1, 1);
	check_pool(2, 64);
	check_pool(3, 65);
	check_pool(4, 4097);
	check_pool(5, 70000);
}

/* -- errors -- */

/* A call that fails leaves every byte as it was. */
static void test_errors_change_nothing(void **unused)
{
	struct uvmp_pmm_params params = {6, 3, 1, true, true, 0};
	size_t bytes = uvmp_pmm_size(&params);
	uint8_t *memory = calloc(1, bytes), *copy = malloc(bytes);
	uint64_t seed = 7;
	struct uvmp_pmm *pmm;
	int errors = 0;

	(void)unused;
	assert_int_equal(uvmp_pmm_init(&params, memory, bytes, &pmm), UVMP_OK);
	for (int i = 0; i < 4000; i++) {
		uint64_t r = uvmp_random_next(&seed);
		struct uvmp_chunk chunk = {(r >> 8) % 8u, (uint16_t)((r >> 16) % 36u * 16u),
		                           (uint8_t)((r >> 32) % 4u)};
		uint32_t root = (r >> 40) % 8u;
		struct uvmp_pmm_eviction eviction;
		enum uvmp_status status;
		bool found;

		memcpy(copy, memory, bytes);
		switch (r % 10u) {
		case 0:
			status = uvmp_pmm_unpin(pmm, chunk);
			break;
		case 1:
			status = uvmp_pmm_free(pmm, chunk);
			break;
		case 2:
			status = uvmp_pmm_mark(pmm, chunk, (enum uvmp_chunk_mark)((r >> 50) % 4u));
			break;
		case 3:
			status = uvmp_pmm_evict_root(pmm, root);
			break;
		case 4:
			status = uvmp_pmm_evict_next(pmm, root, &eviction, &found);
			break;
		case 5:
			status = uvmp_pmm_evict_end(pmm, root, UVMP_CHUNK_USER,
			                            (enum uvmp_chunk_size)((r >> 50) % 4u), 1, &chunk);
			break;
		case 6:
			status = uvmp_pmm_evict_abort(pmm, root);
			break;
		case 7:
			status = uvmp_pmm_evict_release(pmm, root);
			break;
		default:
			status = uvmp_pmm_alloc(pmm, UVMP_CHUNK_USER, (enum uvmp_chunk_size)((r >> 50) % 4u),
			                        1, &chunk);
			break;
		}
		if (status == UVMP_OK)
			continue;
		assert_memory_equal(copy, memory, bytes);
		errors++;
	}
	assert_true(errors > 1000 && errors < 3900);
	free(copy);
	free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_fixed_seed),
	        cmocka_unit_test(test_printed_seed),
	        cmocka_unit_test(test_conservation),
	        cmocka_unit_test(test_pool_gives_the_lowest),
	        cmocka_unit_test(test_errors_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
