/* pmm.h: the memory manager of [driver: root-chunks], event by event; each quirk and its corrected form;
 * each error; and uvmp_pmm_check against damaged memory.
 *
 * Queues are compared as text, head first: "unused|discarded|used|free non-zero|free zero".
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "decisions/pmm_internal.h"

#define USER   UVMP_CHUNK_USER
#define KERNEL UVMP_CHUNK_KERNEL

static uint8_t *memory;
static size_t memory_bytes;

static int teardown(void **unused)
{
	(void)unused;
	free(memory);
	memory = NULL;
	return 0;
}

/* A fresh manager; one at a time. */
static struct uvmp_pmm *make(uint32_t roots, uint32_t splits, uint32_t order, bool zero, bool quirks)
{
	struct uvmp_pmm_params params = {roots, splits, order, zero, quirks, 0};
	struct uvmp_pmm *pmm = NULL;

	free(memory);
	memory_bytes = uvmp_pmm_size(&params);
	memory = malloc(memory_bytes);
	assert_int_equal(uvmp_pmm_init(&params, memory, memory_bytes, &pmm), UVMP_OK);
	assert_true(uvmp_pmm_check(pmm));
	return pmm;
}

static struct uvmp_chunk alloc_type(struct uvmp_pmm *pmm, enum uvmp_chunk_type type,
                                    enum uvmp_chunk_size size, uint32_t block)
{
	struct uvmp_chunk chunk = {99, 99, 99};

	assert_int_equal(uvmp_pmm_alloc(pmm, type, size, block, &chunk), UVMP_OK);
	assert_int_equal(chunk.size, size);
	assert_true(uvmp_pmm_check(pmm));
	return chunk;
}

static struct uvmp_chunk alloc(struct uvmp_pmm *pmm, enum uvmp_chunk_size size, uint32_t block)
{
	return alloc_type(pmm, USER, size, block);
}

static void unpin(struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
{
	assert_int_equal(uvmp_pmm_unpin(pmm, chunk), UVMP_OK);
	assert_true(uvmp_pmm_check(pmm));
}

static struct uvmp_chunk alloc_unpinned(struct uvmp_pmm *pmm, enum uvmp_chunk_size size, uint32_t block)
{
	struct uvmp_chunk chunk = alloc(pmm, size, block);

	unpin(pmm, chunk);
	return chunk;
}

static void release(struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
{
	assert_int_equal(uvmp_pmm_free(pmm, chunk), UVMP_OK);
	assert_true(uvmp_pmm_check(pmm));
}

static void mark(struct uvmp_pmm *pmm, struct uvmp_chunk chunk, enum uvmp_chunk_mark how)
{
	assert_int_equal(uvmp_pmm_mark(pmm, chunk, how), UVMP_OK);
	assert_true(uvmp_pmm_check(pmm));
}

static void touch(struct uvmp_pmm *pmm, struct uvmp_chunk chunk)
{
	assert_int_equal(uvmp_pmm_touch(pmm, chunk), UVMP_OK);
	assert_true(uvmp_pmm_check(pmm));
}

static enum uvmp_status alloc_status(struct uvmp_pmm *pmm, enum uvmp_chunk_size size)
{
	struct uvmp_chunk chunk;

	return uvmp_pmm_alloc(pmm, USER, size, 0, &chunk);
}

static uint32_t begin(struct uvmp_pmm *pmm, enum uvmp_chunk_type type)
{
	uint32_t root = UVMP_ROOT_NONE;

	assert_int_equal(uvmp_pmm_evict_begin(pmm, type, &root), UVMP_OK);
	assert_true(uvmp_pmm_check(pmm));
	return root;
}

/* The next block that leaves; its pages go to *pages. */
static uint32_t next(struct uvmp_pmm *pmm, uint32_t root, uvmp_mask *pages)
{
	struct uvmp_pmm_eviction eviction;
	uint32_t block = 0;
	bool found = false;

	assert_int_equal(uvmp_pmm_evict_peek(pmm, root, &block, &found), UVMP_OK);
	assert_true(found);
	assert_int_equal(uvmp_pmm_evict_next(pmm, root, &eviction, &found), UVMP_OK);
	assert_true(found);
	assert_int_equal(eviction.block, block);
	assert_true(uvmp_pmm_check(pmm));
	*pages = eviction.pages;
	return eviction.block;
}

static uint32_t drain(struct uvmp_pmm *pmm, uint32_t root)
{
	struct uvmp_pmm_eviction eviction;
	uint32_t blocks = 0, block = 77;
	bool found = true, is_next;

	while (found) {
		assert_int_equal(uvmp_pmm_evict_peek(pmm, root, &block, &is_next), UVMP_OK);
		assert_int_equal(uvmp_pmm_evict_next(pmm, root, &eviction, &found), UVMP_OK);
		assert_int_equal(is_next, found);
		assert_true(!found || block == eviction.block);
		blocks += found;
	}
	return blocks;
}

static struct uvmp_chunk end(struct uvmp_pmm *pmm, uint32_t root, enum uvmp_chunk_type type,
                             enum uvmp_chunk_size size, uint32_t block)
{
	struct uvmp_chunk chunk = {99, 99, 99};

	assert_int_equal(uvmp_pmm_evict_end(pmm, root, type, size, block, &chunk), UVMP_OK);
	assert_true(uvmp_pmm_check(pmm));
	assert_int_equal(chunk.root, root);
	assert_int_equal(chunk.page, 0);
	assert_int_equal(chunk.size, size);
	return chunk;
}

/* A whole eviction. */
static struct uvmp_chunk evict(struct uvmp_pmm *pmm, enum uvmp_chunk_size size, uint32_t block)
{
	uint32_t root = begin(pmm, USER);

	drain(pmm, root);
	return end(pmm, root, USER, size, block);
}

static void abort_eviction(struct uvmp_pmm *pmm, uint32_t root)
{
	assert_int_equal(uvmp_pmm_evict_abort(pmm, root), UVMP_OK);
	assert_true(uvmp_pmm_check(pmm));
}

static void check_queues(const struct uvmp_pmm *pmm, const char *expected, int line)
{
	char text[512];
	size_t at = 0;

	for (int list = UVMP_PMM_UNUSED; list <= UVMP_PMM_FREE_ZERO; list++) {
		const char *before = list == UVMP_PMM_UNUSED ? "" : "|";

		if (uvmp_pmm_first(pmm, (enum uvmp_pmm_list)list) == UVMP_ROOT_NONE)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s", before);
		for (uint32_t r = uvmp_pmm_first(pmm, (enum uvmp_pmm_list)list); r != UVMP_ROOT_NONE;
		     r = uvmp_pmm_next(pmm, r)) {
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%u", before, r);
			before = " ";
		}
	}
	if (strcmp(text, expected) != 0)
		fail_msg("line %d: queues are %s, not %s", line, text, expected);
}

#define assert_queues(pmm, expected) check_queues(pmm, expected, __LINE__)

static void check_chunk(struct uvmp_chunk chunk, uint32_t root, uint32_t page)
{
	assert_int_equal(chunk.root, root);
	assert_int_equal(chunk.page, page);
}

static struct uvmp_pmm_counts counts(const struct uvmp_pmm *pmm)
{
	struct uvmp_pmm_counts c;

	uvmp_pmm_count(pmm, &c);
	return c;
}

/* -- memory -- */

static void test_size_and_init(void **unused)
{
	static const struct uvmp_pmm_params bad[] = {
	        {0, 0, 6, true, true, 0},      {UVMP_ROOTS_MAX + 1u, 0, 6, true, true, 0},
	        {4, 5, 6, true, true, 0},      {UVMP_ROOTS_MAX, UVMP_SPLITS_MAX + 1u, 6, true, true, 0},
	        {4, 4, 21, true, true, 0},     {4, 4, 20, true, true, 8192},
	        {4, 4, 20, true, true, 65536},
	};
	struct uvmp_pmm_params good = {4, 4, 20, true, true, 4096};
	uint64_t space[16384];
	struct uvmp_pmm *pmm = NULL;
	size_t bytes = uvmp_pmm_size(&good);

	(void)unused;
	assert_int_equal(uvmp_pmm_size(NULL), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(uvmp_pmm_size(&bad[i]), 0);
		assert_int_equal(uvmp_pmm_init(&bad[i], space, sizeof(space), &pmm), UVMP_ERR_RANGE);
	}
	assert_true(bytes > 0 && bytes < sizeof(space));
	assert_int_equal(uvmp_pmm_init(NULL, space, bytes, &pmm), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_pmm_init(&good, NULL, bytes, &pmm), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_pmm_init(&good, (char *)space + 4, bytes, &pmm), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_pmm_init(&good, space, bytes, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_pmm_init(&good, space, bytes - 1, &pmm), UVMP_ERR_SPACE);
	assert_null(pmm);
	assert_int_equal(uvmp_pmm_init(&good, space, bytes, &pmm), UVMP_OK);
	assert_true(uvmp_pmm_check(pmm));
}

/* What the header promises about memory: 20 bytes a root, about 4.5 KiB a split. */
static void test_memory_per_root(void **unused)
{
	struct uvmp_pmm_params params = {UVMP_ROOTS_MAX, 0, 6, true, true, 0};

	(void)unused;
	assert_true(uvmp_pmm_size(&params) < UVMP_ROOTS_MAX * 21ull);
	params.splits = 1000;
	assert_true(uvmp_pmm_size(&params) < UVMP_ROOTS_MAX * 21ull + 1000u * 4608u);
}

static void test_missing_manager(void **unused)
{
	static const struct uvmp_chunk chunk = {0, 0, UVMP_CHUNK_2M};
	struct uvmp_pmm *pmm = make(2, 2, 6, true, true);
	struct uvmp_pmm_eviction eviction;
	struct uvmp_pmm_counts c = {.roots = 77};
	struct uvmp_chunk result;
	uint32_t root = 0;
	bool found;

	(void)unused;
	for (int i = 0; i < 2; i++) {
		struct uvmp_pmm *bad = i == 0 ? NULL : pmm;

		pmm->magic += i == 1;
		assert_false(uvmp_pmm_is_valid(bad));
		assert_false(uvmp_pmm_check(bad));
		assert_int_equal(uvmp_pmm_alloc(bad, USER, UVMP_CHUNK_2M, 0, &result), UVMP_ERR_ARGUMENT);
		assert_int_equal(uvmp_pmm_unpin(bad, chunk), UVMP_ERR_ARGUMENT);
		assert_int_equal(uvmp_pmm_free(bad, chunk), UVMP_ERR_ARGUMENT);
		assert_int_equal(uvmp_pmm_mark(bad, chunk, UVMP_MARK_USED), UVMP_ERR_ARGUMENT);
		assert_int_equal(uvmp_pmm_touch(bad, chunk), UVMP_ERR_ARGUMENT);
		assert_int_equal(uvmp_pmm_evict_begin(bad, USER, &root), UVMP_ERR_ARGUMENT);
		assert_int_equal(uvmp_pmm_evict_root(bad, 0), UVMP_ERR_ARGUMENT);
		assert_int_equal(uvmp_pmm_evict_next(bad, 0, &eviction, &found), UVMP_ERR_ARGUMENT);
		assert_int_equal(uvmp_pmm_evict_peek(bad, 0, &root, &found), UVMP_ERR_ARGUMENT);
		assert_int_equal(uvmp_pmm_evict_end(bad, 0, USER, UVMP_CHUNK_2M, 0, &result),
		                 UVMP_ERR_ARGUMENT);
		assert_int_equal(uvmp_pmm_evict_abort(bad, 0), UVMP_ERR_ARGUMENT);
		assert_int_equal(uvmp_pmm_evict_release(bad, 0), UVMP_ERR_ARGUMENT);
		assert_int_equal(uvmp_pmm_first(bad, UVMP_PMM_USED), UVMP_ROOT_NONE);
		assert_int_equal(uvmp_pmm_next(bad, 0), UVMP_ROOT_NONE);
		assert_false(uvmp_pmm_in_pool(bad, 0));
		uvmp_pmm_count(bad, &c);
		assert_int_equal(c.roots, 77);
	}
	pmm->magic--;
	assert_true(uvmp_pmm_is_valid(pmm));
	pmm->splits_fresh = 3;
	assert_false(uvmp_pmm_is_valid(pmm));
	pmm->splits_fresh = 0;
	pmm->params.batch_order = 99;
	assert_false(uvmp_pmm_is_valid(pmm));
}

static void test_bad_arguments(void **unused)
{
	struct uvmp_pmm *pmm = make(2, 2, 0, true, true);
	struct uvmp_chunk chunk = alloc_unpinned(pmm, UVMP_CHUNK_2M, 1), result;
	struct uvmp_pmm_eviction eviction;
	uint32_t root = 0;
	bool found;

	(void)unused;
	assert_int_equal(uvmp_pmm_alloc(pmm, USER, UVMP_CHUNK_2M, 0, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_pmm_alloc(pmm, (enum uvmp_chunk_type)2, UVMP_CHUNK_2M, 0, &result),
	                 UVMP_ERR_RANGE);
	assert_int_equal(uvmp_pmm_alloc(pmm, USER, (enum uvmp_chunk_size)3, 0, &result), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_pmm_mark(pmm, chunk, (enum uvmp_chunk_mark)3), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_pmm_evict_begin(pmm, USER, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_pmm_evict_begin(pmm, (enum uvmp_chunk_type)2, &root), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_pmm_evict_root(pmm, 2), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_pmm_evict_next(pmm, 2, &eviction, &found), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_pmm_evict_next(pmm, 0, &eviction, &found), UVMP_ERR_STATE);
	assert_int_equal(uvmp_pmm_evict_next(pmm, 0, NULL, &found), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_pmm_evict_next(pmm, 0, &eviction, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_pmm_evict_peek(pmm, 2, &root, &found), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_pmm_evict_peek(pmm, 0, &root, &found), UVMP_ERR_STATE);
	assert_int_equal(uvmp_pmm_evict_peek(pmm, 0, NULL, &found), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_pmm_evict_peek(pmm, 0, &root, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_pmm_evict_end(pmm, 2, USER, UVMP_CHUNK_2M, 0, &result), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_pmm_evict_end(pmm, 0, USER, UVMP_CHUNK_2M, 0, &result), UVMP_ERR_STATE);
	assert_int_equal(uvmp_pmm_evict_end(pmm, 0, USER, UVMP_CHUNK_2M, 0, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_pmm_evict_end(pmm, 0, (enum uvmp_chunk_type)2, UVMP_CHUNK_2M, 0, &result),
	                 UVMP_ERR_RANGE);
	assert_int_equal(uvmp_pmm_evict_end(pmm, 0, USER, (enum uvmp_chunk_size)3, 0, &result),
	                 UVMP_ERR_RANGE);
	assert_int_equal(uvmp_pmm_evict_abort(pmm, 2), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_pmm_evict_abort(pmm, 0), UVMP_ERR_STATE);
	assert_int_equal(uvmp_pmm_evict_release(pmm, 2), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_pmm_evict_release(pmm, 0), UVMP_ERR_STATE);
	assert_int_equal(uvmp_pmm_first(pmm, (enum uvmp_pmm_list)5), UVMP_ROOT_NONE);
	assert_int_equal(uvmp_pmm_next(pmm, 2), UVMP_ROOT_NONE);
	assert_int_equal(uvmp_pmm_next(pmm, 1), UVMP_ROOT_NONE); /* on no list */
	assert_false(uvmp_pmm_in_pool(pmm, 2));
	uvmp_pmm_count(pmm, NULL);
	assert_queues(pmm, "||0||");
	assert_int_equal(uvmp_pmm_evict_root(pmm, 0), UVMP_OK); /* evicted: pinned, and without an owner */
	assert_int_equal(uvmp_pmm_evict_next(pmm, 0, &eviction, &found), UVMP_OK);
	assert_int_equal(uvmp_pmm_unpin(pmm, chunk), UVMP_ERR_STATE);
}

/* Names that no chunk can have, and chunks that are not there. */
static void test_bad_handles(void **unused)
{
	static const struct uvmp_chunk impossible[] = {
	        {3, 0, 2}, {0, 0, 3}, {0, 512, 0}, {0, 8, 1}, {0, 16, 2}, {UINT32_MAX, 0, 0},
	};
	static const struct uvmp_chunk absent[] = {
	        {0, 0, 1},  /* a whole root */
	        {1, 0, 2},  /* a split one */
	        {1, 0, 0},  /* a 64K chunk */
	        {1, 32, 1}, /* free */
	        {1, 16, 1}, /* split */
	        {1, 17, 0}, /* free */
	        {2, 0, 2},  /* in the pool */
	        {2, 0, 0},
	};
	struct uvmp_pmm *pmm = make(3, 3, 0, true, true);
	uint8_t *copy = malloc(memory_bytes);

	(void)unused;
	alloc_unpinned(pmm, UVMP_CHUNK_2M, 1);
	check_chunk(alloc_unpinned(pmm, UVMP_CHUNK_64K, 2), 1, 0);
	check_chunk(alloc_unpinned(pmm, UVMP_CHUNK_4K, 3), 1, 16);
	memcpy(copy, memory, memory_bytes);
	for (size_t i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++) {
		assert_int_equal(uvmp_pmm_unpin(pmm, impossible[i]), UVMP_ERR_RANGE);
		assert_int_equal(uvmp_pmm_free(pmm, impossible[i]), UVMP_ERR_RANGE);
		assert_int_equal(uvmp_pmm_mark(pmm, impossible[i], UVMP_MARK_USED), UVMP_ERR_RANGE);
		assert_int_equal(uvmp_pmm_touch(pmm, impossible[i]), UVMP_ERR_RANGE);
	}
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
		assert_int_equal(uvmp_pmm_unpin(pmm, absent[i]), UVMP_ERR_STATE);
		assert_int_equal(uvmp_pmm_free(pmm, absent[i]), UVMP_ERR_STATE);
		assert_int_equal(uvmp_pmm_mark(pmm, absent[i], UVMP_MARK_USED), UVMP_ERR_STATE);
		assert_int_equal(uvmp_pmm_touch(pmm, absent[i]), UVMP_ERR_STATE);
	}
	/* Allocated, but not pinned. */
	assert_int_equal(uvmp_pmm_unpin(pmm, (struct uvmp_chunk){0, 0, 2}), UVMP_ERR_STATE);
	assert_int_equal(uvmp_pmm_unpin(pmm, (struct uvmp_chunk){1, 0, 1}), UVMP_ERR_STATE);
	assert_memory_equal(copy, memory, memory_bytes);
	free(copy);
}

/* -- [driver: root-queues] -- */

static void test_worked_example(void **unused)
{
	struct uvmp_pmm *pmm = make(8, 8, 6, true, true);
	struct uvmp_chunk block[6], small, tiny;
	uint32_t root;

	(void)unused;
	assert_int_equal(counts(pmm).in_pool, 8);
	block[0] = alloc(pmm, UVMP_CHUNK_2M, 0);
	assert_queues(pmm, "||||1 2 3 4 5 6 7");
	assert_int_equal(counts(pmm).pinned, 1);
	unpin(pmm, block[0]);
	assert_queues(pmm, "||0||1 2 3 4 5 6 7");
	for (uint32_t i = 1; i < 6; i++)
		block[i] = alloc_unpinned(pmm, UVMP_CHUNK_2M, i);
	assert_queues(pmm, "||0 1 2 3 4 5||6 7");
	small = alloc_unpinned(pmm, UVMP_CHUNK_64K, 20);
	check_chunk(small, 6, 0);
	assert_queues(pmm, "||0 1 2 3 4 5 6||7");
	assert_int_equal(counts(pmm).free_64k, 31);
	tiny = alloc_unpinned(pmm, UVMP_CHUNK_4K, 21);
	check_chunk(tiny, 6, 16);
	assert_queues(pmm, "||0 1 2 3 4 5 6||7");
	assert_int_equal(counts(pmm).free_64k, 30);
	assert_int_equal(counts(pmm).free_4k, 15);
	mark(pmm, block[0], UVMP_MARK_USED);
	assert_queues(pmm, "||1 2 3 4 5 6 0||7");
	mark(pmm, block[3], UVMP_MARK_UNUSED);
	mark(pmm, block[2], UVMP_MARK_DISCARDED);
	assert_queues(pmm, "3|2|1 4 5 6 0||7");
	alloc_unpinned(pmm, UVMP_CHUNK_2M, 7);
	assert_queues(pmm, "3|2|1 4 5 6 0 7||");
	assert_int_equal(alloc_status(pmm, UVMP_CHUNK_2M), UVMP_ERR_NO_MEMORY);
	small = evict(pmm, UVMP_CHUNK_2M, 8);
	assert_queues(pmm, "|2|1 4 5 6 0 7||");
	unpin(pmm, small);
	assert_queues(pmm, "|2|1 4 5 6 0 7 3||");
	unpin(pmm, evict(pmm, UVMP_CHUNK_2M, 9));
	assert_queues(pmm, "||1 4 5 6 0 7 3 2||");
	unpin(pmm, evict(pmm, UVMP_CHUNK_2M, 10));
	assert_queues(pmm, "||4 5 6 0 7 3 2 1||");
	release(pmm, tiny);
	assert_queues(pmm, "||4 5 0 7 3 2 1 6||");
	for (int i = 0; i < 8; i++)
		evict(pmm, UVMP_CHUNK_2M, 40);
	assert_queues(pmm, "||||");
	assert_int_equal(counts(pmm).pinned, 8);
	assert_int_equal(alloc_status(pmm, UVMP_CHUNK_2M), UVMP_ERR_NO_MEMORY);
	assert_int_equal(uvmp_pmm_evict_begin(pmm, USER, &root), UVMP_ERR_RETRY);
}

/* -- allocation, [driver: chunk-allocation] -- */

static void test_batches(void **unused)
{
	struct uvmp_pmm *pmm = make(5, 5, 1, false, true);

	(void)unused;
	alloc(pmm, UVMP_CHUNK_2M, 0);
	assert_queues(pmm, "|||1|"); /* not zeroed */
	assert_int_equal(counts(pmm).in_pool, 3);
	alloc(pmm, UVMP_CHUNK_2M, 0);
	alloc(pmm, UVMP_CHUNK_2M, 0);
	assert_queues(pmm, "|||3|");
	alloc(pmm, UVMP_CHUNK_2M, 0);
	check_chunk(alloc(pmm, UVMP_CHUNK_2M, 0), 4, 0); /* half a batch */
	assert_queues(pmm, "||||");
	assert_int_equal(counts(pmm).pinned, 5);
	assert_int_equal(alloc_status(pmm, UVMP_CHUNK_4K), UVMP_ERR_NO_MEMORY);
	pmm = make(3, 3, 0, true, true);
	alloc(pmm, UVMP_CHUNK_2M, 0);
	assert_queues(pmm, "||||");
	assert_true(uvmp_pmm_in_pool(pmm, 1));
	assert_false(uvmp_pmm_in_pool(pmm, 0));
}

/* The pool gives the lowest root, for any number of words in its bitmap. */
static void test_pool_gives_the_lowest(void **unused)
{
	static const uint32_t sizes[] = {1, 63, 64, 65, 4096, 4097};

	(void)unused;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct uvmp_pmm *pmm = make(sizes[i], 0, 0, true, true);
		struct uvmp_chunk chunk = {0, 0, UVMP_CHUNK_2M};

		for (uint32_t root = 0; root < sizes[i]; root++) {
			assert_int_equal(uvmp_pmm_alloc(pmm, USER, UVMP_CHUNK_2M, 0, &chunk), UVMP_OK);
			assert_int_equal(chunk.root, root);
		}
		assert_int_equal(alloc_status(pmm, UVMP_CHUNK_2M), UVMP_ERR_NO_MEMORY);
		assert_true(uvmp_pmm_check(pmm));
		release(pmm, chunk);
		chunk.root = sizes[i] / 2u;
		if (sizes[i] > 1)
			release(pmm, chunk);
		check_chunk(alloc(pmm, UVMP_CHUNK_2M, 0), chunk.root, 0);
	}
}

/* A 4K chunk splits a root twice; the pieces come in address order; smaller pieces are used before larger
 * ones. */
static void test_split_order(void **unused)
{
	struct uvmp_pmm *pmm = make(2, 2, 0, true, true);

	(void)unused;
	for (uint32_t page = 0; page < 17; page++)
		check_chunk(alloc(pmm, UVMP_CHUNK_4K, 1), 0, page);
	check_chunk(alloc(pmm, UVMP_CHUNK_64K, 1), 0, 32);
	check_chunk(alloc(pmm, UVMP_CHUNK_4K, 1), 0, 17);
	assert_int_equal(counts(pmm).free_64k, 29);
	assert_int_equal(counts(pmm).free_4k, 14);
	assert_int_equal(counts(pmm).allocated_pages, 18 + 16);
	assert_int_equal(counts(pmm).pinned, 0); /* pinned pieces are not counted */
	check_chunk(alloc(pmm, UVMP_CHUNK_2M, 1), 1, 0);
	assert_int_equal(counts(pmm).pinned, 1);
}

/* Free pieces form one queue over all roots. */
static void test_free_lists_are_fifo(void **unused)
{
	struct uvmp_pmm *pmm = make(3, 3, 0, true, true);
	struct uvmp_chunk a[32], b[32];

	(void)unused;
	for (int i = 0; i < 32; i++)
		a[i] = alloc_unpinned(pmm, UVMP_CHUNK_64K, 1);
	for (int i = 0; i < 32; i++)
		b[i] = alloc_unpinned(pmm, UVMP_CHUNK_64K, 2);
	release(pmm, b[7]);
	release(pmm, a[9]);
	release(pmm, b[3]);
	release(pmm, a[2]);
	check_chunk(alloc(pmm, UVMP_CHUNK_64K, 3), 1, 7 * 16);
	check_chunk(alloc(pmm, UVMP_CHUNK_4K, 3), 0, 9 * 16);
	check_chunk(alloc(pmm, UVMP_CHUNK_64K, 3), 1, 3 * 16);
	check_chunk(alloc(pmm, UVMP_CHUNK_64K, 3), 0, 2 * 16);
}

/* Zeroed memory is handed out first. */
static void test_zero_before_nonzero(void **unused)
{
	struct uvmp_pmm *pmm = make(4, 4, 6, true, true);
	struct uvmp_chunk first = alloc_unpinned(pmm, UVMP_CHUNK_2M, 1),
	                  other = alloc_unpinned(pmm, UVMP_CHUNK_2M, 2);
	uint32_t root;

	(void)unused;
	assert_queues(pmm, "||0 1||2 3");
	/* The freed root is the head of non-zero: it is the one that goes back, not the zeroed ones. */
	release(pmm, first);
	assert_queues(pmm, "||1||2 3");
	assert_true(uvmp_pmm_in_pool(pmm, 0));
	check_chunk(alloc(pmm, UVMP_CHUNK_2M, 3), 2, 0);
	release(pmm, other);
	check_chunk(alloc(pmm, UVMP_CHUNK_2M, 4), 3, 0);
	check_chunk(alloc(pmm, UVMP_CHUNK_2M, 5), 0, 0); /* the pool is asked last */
	/* The free list of non-zero roots is looked at after that of zero ones, eviction does it the other
	 * way. */
	pmm = make(6, 6, 6, false, true);
	alloc(pmm, UVMP_CHUNK_2M, 1);
	root = begin(pmm, USER);
	assert_int_equal(root, 1);
	assert_queues(pmm, "|||2 3 4 5|");
}

/* [driver: split-loses-zero]. */
static void test_remainders_of_zeroed_chunks(void **unused)
{
	for (int quirks = 0; quirks < 2; quirks++) {
		struct uvmp_pmm *pmm = make(2, 2, 6, true, quirks != 0);
		struct uvmp_chunk a = alloc(pmm, UVMP_CHUNK_64K, 1);
		uint32_t zero_64k = pmm_free_list(USER, UVMP_CHUNK_64K, 1);
		uint32_t zero_4k = pmm_free_list(USER, UVMP_CHUNK_4K, 1);

		(void)unused;
		assert_int_equal(pmm->list[zero_64k].count, quirks ? 0 : 31);
		/* Without the quirk the used chunk waits behind all zeroed ones. */
		alloc(pmm, UVMP_CHUNK_64K, 1);
		release(pmm, a);
		check_chunk(alloc(pmm, UVMP_CHUNK_64K, 1), 0, 32);
		check_chunk(alloc(pmm, UVMP_CHUNK_4K, 1), 0, 48);
		assert_int_equal(pmm->list[zero_4k].count, quirks ? 0 : 15);
		/* A chunk that is split out of a used one has no zeroed pieces. */
		for (int i = 4; i < 32; i++)
			alloc(pmm, UVMP_CHUNK_64K, 1);
		for (int i = 1; i < 16; i++)
			alloc(pmm, UVMP_CHUNK_4K, 1);
		check_chunk(alloc(pmm, UVMP_CHUNK_4K, 1), 0, 0);
		assert_int_equal(pmm->list[zero_4k].count, 0);
	}
}

static void test_split_records_run_out(void **unused)
{
	struct uvmp_pmm *pmm = make(4, 1, 0, true, true);
	struct uvmp_chunk a = alloc(pmm, UVMP_CHUNK_64K, 1), whole[3], result;
	uint8_t *copy = malloc(memory_bytes);
	uint32_t root;

	(void)unused;
	for (int i = 1; i < 32; i++)
		alloc_unpinned(pmm, UVMP_CHUNK_64K, 1);
	memcpy(copy, memory, memory_bytes);
	assert_int_equal(alloc_status(pmm, UVMP_CHUNK_64K), UVMP_ERR_SPACE);
	assert_int_equal(alloc_status(pmm, UVMP_CHUNK_4K), UVMP_ERR_SPACE);
	assert_memory_equal(copy, memory, memory_bytes);
	for (int i = 0; i < 3; i++)
		whole[i] = alloc_unpinned(pmm, UVMP_CHUNK_2M, 2);
	assert_int_equal(alloc_status(pmm, UVMP_CHUNK_4K), UVMP_ERR_NO_MEMORY); /* which comes first */
	/* The victim is whole and there is no record for its pieces; as a whole it can be had. */
	root = begin(pmm, USER);
	assert_int_equal(root, whole[0].root);
	drain(pmm, root);
	assert_int_equal(uvmp_pmm_evict_end(pmm, root, USER, UVMP_CHUNK_64K, 3, &result), UVMP_ERR_SPACE);
	assert_int_equal(counts(pmm).in_eviction, 1);
	end(pmm, root, USER, UVMP_CHUNK_2M, 3);
	/* A victim in pieces brings its own record. */
	unpin(pmm, a);
	assert_int_equal(uvmp_pmm_evict_root(pmm, 0), UVMP_OK);
	drain(pmm, 0);
	check_chunk(end(pmm, 0, USER, UVMP_CHUNK_4K, 3), 0, 0);
	assert_int_equal(counts(pmm).free_64k, 31);
	free(copy);
}

/* A record that was given back serves again. */
static void test_split_records_come_back(void **unused)
{
	struct uvmp_pmm *pmm = make(3, 2, 0, true, true);

	(void)unused;
	for (int round = 0; round < 3; round++) {
		struct uvmp_chunk a = alloc(pmm, UVMP_CHUNK_4K, 1);
		struct uvmp_chunk rest[31], b;

		for (int i = 0; i < 31; i++)
			rest[i] = alloc(pmm, UVMP_CHUNK_64K, 1);
		b = alloc(pmm, UVMP_CHUNK_64K, 2);
		assert_int_equal(b.root, 1);
		release(pmm, a);
		for (int i = 0; i < 31; i++)
			release(pmm, rest[i]);
		release(pmm, b);
		assert_int_equal(counts(pmm).in_pool, 3);
	}
	assert_int_equal(pmm->splits_fresh, 2);
}

/* -- queues, [driver: root-queues] -- */

static void test_unpin_goes_to_the_tail_of_used(void **unused)
{
	struct uvmp_pmm *pmm = make(3, 3, 0, true, true);
	struct uvmp_chunk a = alloc(pmm, UVMP_CHUNK_2M, 1), b = alloc(pmm, UVMP_CHUNK_2M, 2), c, d;

	(void)unused;
	assert_queues(pmm, "||||");
	unpin(pmm, b);
	unpin(pmm, a);
	assert_queues(pmm, "||1 0||");
	c = alloc(pmm, UVMP_CHUNK_64K, 3);
	d = alloc(pmm, UVMP_CHUNK_64K, 3);
	unpin(pmm, c);
	assert_queues(pmm, "||1 0||"); /* one piece is still pinned */
	unpin(pmm, d);
	assert_queues(pmm, "||1 0 2||");
}

/* A chunk claimed from a root takes the root off its queue. */
static void test_claim_takes_the_root_off(void **unused)
{
	struct uvmp_pmm *pmm = make(2, 2, 0, true, true);
	struct uvmp_chunk a = alloc_unpinned(pmm, UVMP_CHUNK_64K, 1), b;

	(void)unused;
	alloc_unpinned(pmm, UVMP_CHUNK_2M, 2);
	assert_queues(pmm, "||0 1||");
	b = alloc(pmm, UVMP_CHUNK_64K, 3);
	check_chunk(b, 0, 16);
	assert_queues(pmm, "||1||");
	release(pmm, a); /* another piece is pinned: the root stays off */
	assert_queues(pmm, "||1||");
	release(pmm, b); /* the last one of the root, which goes back to the pool */
	assert_queues(pmm, "||1||");
	assert_true(uvmp_pmm_in_pool(pmm, 0));
}

/* [driver: free-renews-root]. */
static void test_free_of_a_piece(void **unused)
{
	for (int quirks = 0; quirks < 2; quirks++) {
		struct uvmp_pmm *pmm = make(2, 2, 0, true, quirks != 0);
		struct uvmp_chunk a = alloc_unpinned(pmm, UVMP_CHUNK_64K, 1),
		                  b = alloc_unpinned(pmm, UVMP_CHUNK_64K, 1);

		(void)unused;
		alloc_unpinned(pmm, UVMP_CHUNK_2M, 2);
		assert_queues(pmm, "||0 1||");
		release(pmm, a);
		assert_queues(pmm, quirks ? "||1 0||" : "||0 1||");
		/* The last pinned piece: the root was off the queue and comes back. */
		a = alloc(pmm, UVMP_CHUNK_64K, 1);
		assert_queues(pmm, "||1||");
		release(pmm, a);
		assert_queues(pmm, "||1 0||");
		release(pmm, b);
		assert_queues(pmm, "||1||");
	}
}

static void test_marks_of_whole_chunks(void **unused)
{
	for (int quirks = 0; quirks < 2; quirks++) {
		struct uvmp_pmm *pmm = make(4, 4, 0, true, quirks != 0);
		struct uvmp_chunk c[4];

		(void)unused;
		for (uint32_t i = 0; i < 4; i++)
			c[i] = alloc(pmm, UVMP_CHUNK_2M, i);
		mark(pmm, c[0], UVMP_MARK_UNUSED); /* pinned: no effect */
		assert_queues(pmm, "||||");
		for (int i = 0; i < 4; i++)
			unpin(pmm, c[i]);
		assert_queues(pmm, "||0 1 2 3||");
		mark(pmm, c[2], UVMP_MARK_UNUSED);
		mark(pmm, c[1], UVMP_MARK_UNUSED);
		mark(pmm, c[3], UVMP_MARK_DISCARDED);
		assert_queues(pmm, "2 1|3|0||");
		mark(pmm, c[2], UVMP_MARK_UNUSED); /* again: to the tail */
		assert_queues(pmm, "1 2|3|0||");
		mark(pmm, c[1], UVMP_MARK_DISCARDED);
		mark(pmm, c[3], UVMP_MARK_USED);
		assert_queues(pmm, "2|1|0 3||");
		assert_int_equal(begin(pmm, USER), 2);
		mark(pmm, c[2], UVMP_MARK_USED); /* in eviction: no effect */
		assert_queues(pmm, "|1|0 3||");
		abort_eviction(pmm, 2);
		assert_queues(pmm, "|1|0 3 2||"); /* from any queue */
		assert_int_equal(begin(pmm, USER), 1);
		assert_int_equal(begin(pmm, USER), 0);
	}
}

/* [driver: marks-whole-roots]. */
static void test_marks_of_pieces(void **unused)
{
	struct uvmp_pmm *pmm = make(2, 2, 0, true, true);
	struct uvmp_chunk a = alloc_unpinned(pmm, UVMP_CHUNK_64K, 1), b, c;

	(void)unused;
	alloc_unpinned(pmm, UVMP_CHUNK_2M, 2);
	mark(pmm, a, UVMP_MARK_UNUSED);
	mark(pmm, a, UVMP_MARK_USED);
	assert_queues(pmm, "||0 1||");

	/* Without the quirk the root is as good as its best piece. */
	pmm = make(2, 2, 0, true, false);
	a = alloc_unpinned(pmm, UVMP_CHUNK_64K, 1);
	b = alloc_unpinned(pmm, UVMP_CHUNK_4K, 1);
	alloc_unpinned(pmm, UVMP_CHUNK_2M, 2);
	assert_queues(pmm, "||0 1||");
	mark(pmm, a, UVMP_MARK_UNUSED); /* b is still used: nothing moves */
	assert_queues(pmm, "||0 1||");
	mark(pmm, b, UVMP_MARK_DISCARDED);
	assert_queues(pmm, "|0|1||");
	mark(pmm, b, UVMP_MARK_UNUSED);
	assert_queues(pmm, "0||1||");
	mark(pmm, a, UVMP_MARK_USED);
	assert_queues(pmm, "||1 0||");
	mark(pmm, a, UVMP_MARK_UNUSED);
	assert_queues(pmm, "0||1||");
	/* A mark that names the queue the root is in moves it to the tail. */
	mark(pmm, b, UVMP_MARK_USED);
	assert_queues(pmm, "||1 0||");
	mark(pmm, (struct uvmp_chunk){1, 0, UVMP_CHUNK_2M}, UVMP_MARK_USED);
	assert_queues(pmm, "||0 1||");
	mark(pmm, b, UVMP_MARK_USED);
	assert_queues(pmm, "||1 0||");
	mark(pmm, b, UVMP_MARK_UNUSED);
	assert_queues(pmm, "0||1||");
	/* A new piece is used, and pins the root until it is unpinned; a freed chunk does not count.
	 */
	c = alloc(pmm, UVMP_CHUNK_64K, 3);
	assert_queues(pmm, "||1||");
	mark(pmm, c, UVMP_MARK_UNUSED); /* pinned: no effect */
	unpin(pmm, c);
	assert_queues(pmm, "||1 0||");
	release(pmm, c);
	assert_queues(pmm, "0||1||");
	release(pmm, b);
	assert_queues(pmm, "0||1||");
	/* An eviction that fails makes everything used. */
	assert_int_equal(begin(pmm, USER), 0);
	abort_eviction(pmm, 0);
	assert_queues(pmm, "||1 0||");
}

/* [driver: order-by-service]. */
static void test_touch(void **unused)
{
	for (int quirks = 0; quirks < 2; quirks++) {
		struct uvmp_pmm *pmm = make(4, 4, 0, true, quirks != 0);
		struct uvmp_chunk a = alloc_unpinned(pmm, UVMP_CHUNK_2M, 1),
		                  b = alloc_unpinned(pmm, UVMP_CHUNK_4K, 2);
		struct uvmp_chunk c = alloc_unpinned(pmm, UVMP_CHUNK_2M, 3), d = alloc(pmm, UVMP_CHUNK_2M, 4);

		(void)unused;
		touch(pmm, a);
		assert_queues(pmm, quirks ? "||0 1 2||" : "||1 2 0||");
		touch(pmm, b);
		assert_queues(pmm, quirks ? "||0 1 2||" : "||2 0 1||");
		touch(pmm, d); /* pinned */
		assert_queues(pmm, quirks ? "||0 1 2||" : "||2 0 1||");
		mark(pmm, a, UVMP_MARK_UNUSED);
		mark(pmm, c, UVMP_MARK_UNUSED);
		touch(pmm, a);
		assert_queues(pmm, quirks ? "0 2||1||" : "2 0||1||");
	}
}

/* -- free and merge, [driver: chunk-free] -- */

static void test_merge(void **unused)
{
	struct uvmp_pmm *pmm = make(3, 3, 6, true, true);
	struct uvmp_chunk tiny[16], small;

	(void)unused;
	for (int i = 0; i < 16; i++)
		tiny[i] = alloc_unpinned(pmm, UVMP_CHUNK_4K, 1);
	small = alloc_unpinned(pmm, UVMP_CHUNK_64K, 1);
	assert_queues(pmm, "||0||1 2");
	assert_int_equal(counts(pmm).free_64k, 30);
	for (int i = 1; i < 16; i++)
		release(pmm, tiny[i]);
	assert_int_equal(counts(pmm).free_4k, 15);
	assert_queues(pmm, "||0||1 2");
	/* 16 x 4K become 64K: that is a merge, so a free root (none is non-zero) goes back to the pool. */
	release(pmm, tiny[0]);
	assert_int_equal(counts(pmm).free_4k, 0);
	assert_int_equal(counts(pmm).free_64k, 31);
	assert_queues(pmm, "||0||2");
	assert_true(uvmp_pmm_in_pool(pmm, 1));
	/* The merged chunk is the newest free one. */
	for (uint32_t page = 32; page < 512; page += 16)
		check_chunk(alloc(pmm, UVMP_CHUNK_64K, 2), 0, page);
	check_chunk(alloc(pmm, UVMP_CHUNK_64K, 2), 0, 0);
	release(pmm, small); /* no merge */
	assert_int_equal(counts(pmm).in_pool, 1);
}

/* The last piece takes its 64K chunk and the root with it, in one call. */
static void test_merge_to_the_root(void **unused)
{
	struct uvmp_pmm *pmm = make(3, 3, 6, false, true);
	struct uvmp_chunk a = alloc_unpinned(pmm, UVMP_CHUNK_4K, 1);

	(void)unused;
	assert_queues(pmm, "||0|1 2|");
	release(pmm, a);
	/* The root that goes back is the head of the free list, not the one just freed. */
	assert_queues(pmm, "|||2 0|");
	assert_true(uvmp_pmm_in_pool(pmm, 1));
	assert_int_equal(counts(pmm).allocated_pages, 0);
	assert_int_equal(counts(pmm).free_64k + counts(pmm).free_4k, 0);
	/* Pinned ones likewise. */
	a = alloc(pmm, UVMP_CHUNK_64K, 1);
	check_chunk(a, 2, 0);
	release(pmm, a);
	assert_queues(pmm, "|||2|");
	assert_int_equal(counts(pmm).in_pool, 2);
	a = alloc(pmm, UVMP_CHUNK_2M, 1);
	assert_int_equal(counts(pmm).pinned, 1);
	release(pmm, a);
	assert_int_equal(counts(pmm).pinned, 0);
	assert_int_equal(counts(pmm).in_pool, 3);
}

/* -- eviction, [driver: victim-choice] -- */

/* A root of several blocks: the owner of the first piece goes first, with all it has there. */
static void test_evict_shared_root(void **unused)
{
	struct uvmp_pmm *pmm = make(1, 1, 0, true, true);
	struct uvmp_chunk chunk, tiny = {0, 0, 0};
	uvmp_mask pages;

	(void)unused;
	for (uint32_t i = 0; i < 4; i++)
		tiny = alloc_unpinned(pmm, UVMP_CHUNK_4K, 10 + i % 2);
	alloc_unpinned(pmm, UVMP_CHUNK_64K, 11);
	alloc_unpinned(pmm, UVMP_CHUNK_64K, 12);
	release(pmm, (struct uvmp_chunk){0, 0, UVMP_CHUNK_4K});
	assert_int_equal(begin(pmm, USER), 0);
	assert_int_equal(counts(pmm).free_64k + counts(pmm).free_4k, 0); /* pinned now */
	assert_int_equal(counts(pmm).in_eviction, 1);
	assert_int_equal(next(pmm, 0, &pages), 11);
	assert_int_equal(uvmp_mask_weight(&pages), 2 + 16);
	assert_true(uvmp_mask_test(&pages, 1) && uvmp_mask_test(&pages, 3) && uvmp_mask_test(&pages, 31));
	assert_int_equal(uvmp_pmm_free(pmm, tiny), UVMP_ERR_STATE); /* it has left */
	assert_int_equal(uvmp_pmm_unpin(pmm, tiny), UVMP_ERR_STATE);
	assert_int_equal(uvmp_pmm_evict_end(pmm, 0, USER, UVMP_CHUNK_2M, 1, &chunk), UVMP_ERR_STATE);
	assert_int_equal(uvmp_pmm_evict_release(pmm, 0), UVMP_ERR_STATE);
	assert_int_equal(next(pmm, 0, &pages), 10);
	assert_int_equal(uvmp_mask_weight(&pages), 1);
	assert_int_equal(next(pmm, 0, &pages), 12);
	assert_int_equal(counts(pmm).allocated_pages, 0);
	assert_int_equal(drain(pmm, 0), 0);
	chunk = end(pmm, 0, USER, UVMP_CHUNK_4K, 13);
	assert_int_equal(counts(pmm).free_64k, 31);
	assert_int_equal(counts(pmm).free_4k, 15);
	unpin(pmm, chunk);
	assert_queues(pmm, "||0||");
}

/* Chunks that others free during an eviction are pinned, and are free when it ends. */
static void test_free_during_eviction(void **unused)
{
	struct uvmp_pmm *pmm = make(2, 2, 0, true, true);
	struct uvmp_chunk a = alloc_unpinned(pmm, UVMP_CHUNK_64K, 1),
	                  b = alloc_unpinned(pmm, UVMP_CHUNK_64K, 2);
	struct uvmp_chunk whole = alloc_unpinned(pmm, UVMP_CHUNK_2M, 3);

	(void)unused;
	assert_int_equal(begin(pmm, USER), 0);
	release(pmm, a);
	assert_int_equal(uvmp_pmm_free(pmm, a), UVMP_ERR_STATE);
	assert_int_equal(uvmp_pmm_unpin(pmm, b), UVMP_ERR_STATE); /* not pinned */
	assert_int_equal(drain(pmm, 0), 1);
	end(pmm, 0, USER, UVMP_CHUNK_2M, 4);
	assert_int_equal(begin(pmm, USER), 1);
	assert_int_equal(counts(pmm).pinned, 1);
	release(pmm, whole);
	assert_int_equal(counts(pmm).pinned, 2);
	assert_int_equal(uvmp_pmm_free(pmm, whole), UVMP_ERR_STATE);
	assert_int_equal(drain(pmm, 1), 0);
	end(pmm, 1, USER, UVMP_CHUNK_2M, 5);
}

/* RETRY when another owner's chunk is in flight, NO_MEMORY when waiting does not help. */
static void test_retry_or_no_memory(void **unused)
{
	struct uvmp_pmm *pmm = make(1, 1, 0, true, true);
	struct uvmp_chunk a;
	uint32_t root = 77;

	(void)unused;
	a = alloc(pmm, UVMP_CHUNK_2M, 1);
	assert_int_equal(uvmp_pmm_evict_begin(pmm, USER, &root), UVMP_ERR_RETRY);
	assert_int_equal(uvmp_pmm_evict_begin(pmm, KERNEL, &root), UVMP_ERR_NO_MEMORY);
	unpin(pmm, a);
	assert_int_equal(begin(pmm, USER), 0);
	assert_int_equal(uvmp_pmm_evict_begin(pmm, USER, &root), UVMP_ERR_RETRY); /* in eviction */
	assert_int_equal(uvmp_pmm_evict_begin(pmm, KERNEL, &root), UVMP_ERR_NO_MEMORY);
	abort_eviction(pmm, 0);
	release(pmm, a);
	/* A pinned piece blocks the only root, and does not count as in flight. */
	alloc(pmm, UVMP_CHUNK_4K, 1);
	assert_int_equal(uvmp_pmm_evict_begin(pmm, USER, &root), UVMP_ERR_NO_MEMORY);
	assert_int_equal(root, 77);
}

static void test_victim_order(void **unused)
{
	struct uvmp_pmm *pmm = make(6, 6, 6, true, true);
	struct uvmp_chunk c[4];

	(void)unused;
	for (uint32_t i = 0; i < 4; i++)
		c[i] = alloc_unpinned(pmm, UVMP_CHUNK_2M, i);
	mark(pmm, c[3], UVMP_MARK_DISCARDED);
	mark(pmm, c[2], UVMP_MARK_UNUSED);
	assert_queues(pmm, "2|3|0 1||4 5");
	assert_int_equal(begin(pmm, KERNEL), 4); /* free ones first */
	assert_int_equal(begin(pmm, KERNEL), 5);
	assert_int_equal(begin(pmm, KERNEL), 2);
	assert_int_equal(begin(pmm, KERNEL), 3);
	assert_int_equal(begin(pmm, KERNEL), 0);
	assert_int_equal(begin(pmm, KERNEL), 1);
	/* A free root has no owner to evict. */
	assert_int_equal(drain(pmm, 4), 0);
	end(pmm, 4, USER, UVMP_CHUNK_64K, 9);
	assert_int_equal(drain(pmm, 0), 1);
	end(pmm, 0, KERNEL, UVMP_CHUNK_2M, 9);
}

/* Zeroed and other free roots at once: no sequence of calls leaves both, as a freed root goes back at once,
 * so one is moved by hand. Claims take the zeroed one first, eviction and the way back to the pool the other.
 */
static void test_free_roots_of_both_kinds(void **unused)
{
	struct uvmp_pmm *pmm = make(5, 5, 6, true, true);
	struct uvmp_chunk a = alloc_unpinned(pmm, UVMP_CHUNK_2M, 1);

	(void)unused;
	pmm_root_move(pmm, 2, UVMP_PMM_FREE_NONZERO);
	pmm_root_move(pmm, 3, UVMP_PMM_FREE_NONZERO);
	assert_queues(pmm, "||0|2 3|1 4");
	assert_int_equal(begin(pmm, USER), 2);
	release(pmm, a);
	assert_queues(pmm, "|||0|1 4");
	assert_true(uvmp_pmm_in_pool(pmm, 3));
	assert_int_equal(alloc(pmm, UVMP_CHUNK_2M, 1).root, 1);
	assert_int_equal(alloc(pmm, UVMP_CHUNK_2M, 1).root, 4);
	assert_int_equal(alloc(pmm, UVMP_CHUNK_2M, 1).root, 0);
}

/* An eviction that fails: a whole root. */
static void test_abort_whole(void **unused)
{
	struct uvmp_pmm *pmm = make(3, 3, 6, true, true);
	uvmp_mask pages;

	(void)unused;
	alloc_unpinned(pmm, UVMP_CHUNK_2M, 1);
	alloc_unpinned(pmm, UVMP_CHUNK_2M, 2);
	/* Nothing had left: to the tail of USED, and the free root goes back to the pool. */
	assert_int_equal(uvmp_pmm_evict_root(pmm, 0), UVMP_OK);
	abort_eviction(pmm, 0);
	assert_queues(pmm, "||1 0||");
	assert_true(uvmp_pmm_in_pool(pmm, 2));
	/* All had left: it is free, and goes back. */
	assert_int_equal(begin(pmm, USER), 1);
	next(pmm, 1, &pages);
	assert_int_equal(uvmp_mask_weight(&pages), 512);
	abort_eviction(pmm, 1);
	assert_queues(pmm, "||0||");
	assert_int_equal(counts(pmm).in_pool, 2);
	assert_int_equal(counts(pmm).pinned, 0);
}

/* An eviction that fails half way: what had left is free, with merges, the rest stays. */
static void test_abort_pieces(void **unused)
{
	for (int quirks = 0; quirks < 2; quirks++) {
		struct uvmp_pmm *pmm = make(2, 2, 0, true, quirks != 0);
		uvmp_mask pages;

		(void)unused;
		for (uint32_t i = 0; i < 16; i++)
			alloc_unpinned(pmm, UVMP_CHUNK_4K, 1);
		alloc_unpinned(pmm, UVMP_CHUNK_4K, 2);
		alloc_unpinned(pmm, UVMP_CHUNK_64K, 2);
		alloc_unpinned(pmm, UVMP_CHUNK_2M, 3);
		assert_int_equal(begin(pmm, USER), 0);
		assert_int_equal(next(pmm, 0, &pages), 1);
		abort_eviction(pmm, 0);
		assert_queues(pmm, "||1 0||");
		assert_int_equal(counts(pmm).free_64k, 30);
		assert_int_equal(counts(pmm).free_4k, 15);
		assert_int_equal(counts(pmm).allocated_pages, 17 + 512);
		assert_int_equal(counts(pmm).in_eviction, 0);
		/* Nothing has left. */
		assert_int_equal(uvmp_pmm_evict_root(pmm, 0), UVMP_OK);
		abort_eviction(pmm, 0);
		assert_queues(pmm, "||1 0||");
		/* Everything has left. */
		assert_int_equal(uvmp_pmm_evict_root(pmm, 0), UVMP_OK);
		assert_int_equal(drain(pmm, 0), 1);
		abort_eviction(pmm, 0);
		assert_queues(pmm, "||1||");
		assert_true(uvmp_pmm_in_pool(pmm, 0));
	}
}

/* The pool takes roots back by itself. */
static void test_release(void **unused)
{
	struct uvmp_pmm *pmm = make(3, 3, 0, true, true);
	uint32_t root;

	(void)unused;
	alloc_unpinned(pmm, UVMP_CHUNK_2M, 1);
	alloc_unpinned(pmm, UVMP_CHUNK_4K, 2);
	root = begin(pmm, KERNEL);
	assert_int_equal(root, 0);
	assert_int_equal(uvmp_pmm_evict_release(pmm, root), UVMP_ERR_STATE);
	drain(pmm, root);
	assert_int_equal(uvmp_pmm_evict_release(pmm, root), UVMP_OK);
	assert_true(uvmp_pmm_check(pmm));
	assert_true(uvmp_pmm_in_pool(pmm, 0));
	assert_int_equal(uvmp_pmm_evict_root(pmm, 1), UVMP_OK);
	drain(pmm, 1);
	assert_int_equal(uvmp_pmm_evict_release(pmm, 1), UVMP_OK);
	assert_true(uvmp_pmm_check(pmm));
	assert_int_equal(counts(pmm).in_pool, 3);
	assert_int_equal(counts(pmm).pinned, 0);
	assert_int_equal(uvmp_pmm_evict_release(pmm, 1), UVMP_ERR_STATE);
}

static void test_evict_root(void **unused)
{
	struct uvmp_pmm *pmm = make(4, 4, 1, true, true);
	struct uvmp_chunk a = alloc(pmm, UVMP_CHUNK_2M, 1), b;

	(void)unused;
	assert_queues(pmm, "||||1");
	assert_int_equal(uvmp_pmm_evict_root(pmm, 0), UVMP_ERR_RETRY); /* pinned */
	assert_int_equal(uvmp_pmm_evict_root(pmm, 2), UVMP_ERR_STATE); /* in the pool */
	assert_int_equal(uvmp_pmm_evict_root(pmm, 1), UVMP_OK);        /* free */
	assert_int_equal(uvmp_pmm_evict_root(pmm, 1), UVMP_ERR_RETRY); /* in eviction */
	abort_eviction(pmm, 1);
	b = alloc_type(pmm, KERNEL, UVMP_CHUNK_2M, 0);
	unpin(pmm, b);
	assert_int_equal(uvmp_pmm_evict_root(pmm, b.root), UVMP_ERR_STATE);
	unpin(pmm, a);
	assert_int_equal(uvmp_pmm_evict_root(pmm, 0), UVMP_OK);
	b = alloc(pmm, UVMP_CHUNK_4K, 1);
	assert_int_equal(uvmp_pmm_evict_root(pmm, b.root), UVMP_ERR_RETRY); /* a pinned piece */
}

/* -- memory of type KERNEL -- */

static void test_kernel(void **unused)
{
	for (int quirks = 0; quirks < 2; quirks++) {
		struct uvmp_pmm *pmm = make(4, 4, 6, true, quirks != 0);
		struct uvmp_chunk a = alloc_type(pmm, KERNEL, UVMP_CHUNK_4K, 0), b, c;
		uint32_t root;

		(void)unused;
		check_chunk(a, 0, 0);
		assert_queues(pmm, "||||"); /* one root at a time */
		assert_int_equal(counts(pmm).in_pool, 3);
		assert_int_equal(counts(pmm).free_64k, 0); /* user chunks only */
		assert_int_equal(counts(pmm).allocated_pages, 0);
		/* Types do not mix in a root. */
		b = alloc(pmm, UVMP_CHUNK_64K, 1);
		assert_int_equal(b.root, 1);
		check_chunk(alloc_type(pmm, KERNEL, UVMP_CHUNK_64K, 0), 0, 16);
		c = alloc_type(pmm, KERNEL, UVMP_CHUNK_4K, 0);
		check_chunk(c, 0, 1);
		/* Unpinned, marked, touched, partly freed: on no queue. */
		unpin(pmm, a);
		unpin(pmm, c);
		unpin(pmm, (struct uvmp_chunk){0, 16, UVMP_CHUNK_64K});
		mark(pmm, a, UVMP_MARK_UNUSED);
		touch(pmm, a);
		release(pmm, a);
		assert_queues(pmm, "||||2 3");
		/* It goes back to the pool when it is free, and takes no free user root along. */
		release(pmm, c);
		assert_queues(pmm, "||||2 3");
		release(pmm, (struct uvmp_chunk){0, 16, UVMP_CHUNK_64K});
		assert_queues(pmm, "||||2 3");
		assert_true(uvmp_pmm_in_pool(pmm, 0));
		/* With nothing in the pool, a free user root is evicted for it, then used ones. */
		alloc_type(pmm, KERNEL, UVMP_CHUNK_2M, 0);
		assert_int_equal(uvmp_pmm_alloc(pmm, KERNEL, UVMP_CHUNK_64K, 0, &c), UVMP_ERR_NO_MEMORY);
		root = begin(pmm, KERNEL);
		assert_int_equal(root, 2);
		c = end(pmm, root, KERNEL, UVMP_CHUNK_64K, 0);
		check_chunk(alloc_type(pmm, KERNEL, UVMP_CHUNK_64K, 0), 2, 16);
		unpin(pmm, c);
		assert_queues(pmm, "||||3");
	}
}

/* -- uvmp_pmm_check -- */

/* One root of each sort: 0 and 4 allocated, 1 pinned, 2 in pieces (page 0: 64K, page 16: 4K), 3 in eviction
 * and in pieces, 5 in kernel pieces, 6 free, 7 and 8 in the pool. Record 2 is in the chain of unused ones. */
static struct uvmp_pmm *make_rich(bool quirks)
{
	struct uvmp_pmm *pmm = make(9, 6, 1, true, quirks);
	struct uvmp_chunk kernel[33];

	assert_int_equal(alloc_unpinned(pmm, UVMP_CHUNK_2M, 1).root, 0);
	assert_int_equal(alloc(pmm, UVMP_CHUNK_2M, 2).root, 1);
	assert_int_equal(alloc_unpinned(pmm, UVMP_CHUNK_64K, 3).root, 2);
	assert_int_equal(uvmp_pmm_evict_root(pmm, 3), UVMP_OK);
	unpin(pmm, end(pmm, 3, USER, UVMP_CHUNK_64K, 4));
	assert_int_equal(uvmp_pmm_evict_root(pmm, 3), UVMP_OK);
	check_chunk(alloc_unpinned(pmm, UVMP_CHUNK_4K, 5), 2, 16);
	for (int i = 0; i < 33; i++)
		kernel[i] = alloc_type(pmm, KERNEL, UVMP_CHUNK_64K, 0);
	assert_int_equal(kernel[32].root, 5);
	for (int i = 0; i < 32; i++)
		release(pmm, kernel[i]);
	assert_int_equal(alloc_unpinned(pmm, UVMP_CHUNK_2M, 6).root, 4);
	assert_queues(pmm, "||0 2 4||6");
	assert_int_equal(pmm->split_chain, 2);
	assert_int_equal(counts(pmm).in_pool, 2);
	return pmm;
}

/* The n-th way to damage what make_rich made; false if there is no such way. */
static bool damage_root(struct uvmp_pmm *pmm, int n)
{
	struct pmm_root *root = pmm->root;

	switch (n) {
	case 0:
		root[0].state = PMM_STATES;
		return true;
	case 1:
		root[0].type = 2;
		return true;
	case 2:
		root[0].is_evicting = 2;
		return true;
	case 3:
		root[0].pinned_leaves = 1;
		return true;
	case 4:
		root[0].list = PMM_LIST_NONE;
		return true;
	case 5:
		root[1].list = UVMP_PMM_USED;
		return true;
	case 6:
		root[2].list = UVMP_PMM_UNUSED;
		return true;
	case 7:
		root[3].list = 200;
		return true;
	case 8:
		root[5].list = UVMP_PMM_USED;
		return true;
	case 9:
		root[6].list = UVMP_PMM_FREE_NONZERO; /* plausible, but not where it is */
		return true;
	case 10:
		root[6].list = UVMP_PMM_USED;
		return true;
	case 11:
		root[7].list = UVMP_PMM_USED;
		return true;
	case 12:
		root[6].is_evicting = 1;
		return true;
	case 13:
		root[1].is_evicting = 1;
		root[1].type = KERNEL;
		return true;
	case 14:
		root[2].body = pmm->splits_fresh;
		return true;
	case 15:
		root[2].body = root[3].body;
		return true;
	case 16:
		root[7].state = PMM_ALLOCATED;
		return true;
	case 17:
		root[2].pinned_leaves = 1;
		return true;
	case 18:
		root[5].type = USER;
		return true;
	default:
		return false;
	}
}

static bool damage_split(struct uvmp_pmm *pmm, int n)
{
	struct pmm_split *split = &pmm->split[pmm->root[2].body],
	                      *evicting = &pmm->split[pmm->root[3].body];

	switch (n) {
	case 0:
		split->groups |= 1u << 5;
		return true;
	case 1:
		uvmp_mask_zero(&split->live);
		return true;
	case 2:
		uvmp_mask_set(&split->live, 33);
		return true;
	case 3:
		uvmp_mask_set(&split->zero, 33);
		return true;
	case 4:
		uvmp_mask_set(&split->zero, 0);
		return true;
	case 5:
		uvmp_mask_set(&split->pinned, 32);
		pmm->root[2].pinned_leaves++;
		return true;
	case 6:
		uvmp_mask_set(&split->marked, 32);
		return true;
	case 7:
		uvmp_mask_set(&split->discarded, 0);
		return true;
	case 8:
		uvmp_mask_set(&split->pinned, 0);
		return true;
	case 9:
		uvmp_mask_clear(&evicting->live, 16);
		uvmp_mask_clear(&evicting->pinned, 16);
		pmm->root[3].pinned_leaves--;
		return true;
	case 10:
		uvmp_mask_set(&split->live, 32); /* an allocated chunk on a free list */
		return true;
	case 11:
		split->root = 3;
		return true;
	case 12:
		uvmp_mask_set(&split->marked, 0);
		uvmp_mask_set(&split->marked, 16);
		return true;
	case 13:
		uvmp_mask_set(&split->marked, 0);
		uvmp_mask_set(&split->marked, 16);
		uvmp_mask_set(&split->discarded, 16);
		return true;
	default:
		return false;
	}
}

static bool damage_list(struct uvmp_pmm *pmm, int n)
{
	uint32_t record = pmm->root[2].body, zero = !pmm->params.quirks;
	struct pmm_queue *used = &pmm->list[UVMP_PMM_USED];
	struct pmm_queue *pieces = &pmm->list[pmm_free_list(USER, UVMP_CHUNK_64K, zero)];

	switch (n) {
	case 0:
		used->count++;
		return true;
	case 1:
		used->head = pmm->params.roots;
		return true;
	case 2:
		used->head = 1;
		return true;
	case 3:
		used->head = PMM_NONE;
		return true;
	case 4:
		used->tail = 0;
		return true;
	case 5:
		pmm->root[2].link.prev = 4;
		return true;
	case 6:
		pmm->root[4].link.next = 0; /* a ring */
		return true;
	case 7:
		pmm->root[2].link.next = 0; /* a ring without the last */
		return true;
	case 8:
		pieces->head = pmm->splits_fresh * 512u;
		return true;
	case 9:
		pieces->head = pmm->split_chain * 512u; /* an unused record, last in its chain */
		return true;
	case 10:
		pmm->split[pmm->split_chain].root = 0;
		pieces->head = pmm->split_chain * 512u;
		return true;
	case 11:
		pmm->split[pmm->split_chain].root = 2;
		pieces->head = pmm->split_chain * 512u;
		return true;
	case 12:
		pieces->head = record * 512u; /* allocated */
		return true;
	case 13:
		pieces->head = record * 512u + 33u; /* inside a chunk */
		return true;
	case 14:
		pieces->head = record * 512u + 17u; /* of another size */
		return true;
	case 15:
		pmm->split[record].slot[64].next = 0xfffffff0u;
		return true;
	default:
		return false;
	}
}

static bool damage_header(struct uvmp_pmm *pmm, int n)
{
	switch (n) {
	case 0:
		pmm->in_pool++;
		return true;
	case 1:
		pmm->pinned++;
		return true;
	case 2:
		pmm->in_eviction--;
		return true;
	case 3:
		pmm->allocated_pages++;
		return true;
	case 4:
		pmm->splits_fresh++;
		return true;
	case 5:
		pmm->split_chain = PMM_NONE;
		return true;
	case 6:
		pmm->split_chain = pmm->splits_fresh;
		return true;
	case 7:
		pmm->split[pmm->split_chain].root = pmm->split_chain; /* a ring */
		return true;
	case 8:
		pmm->split_chain = pmm->root[2].body; /* in use */
		return true;
	case 9:
		pmm->level[0][0] ^= 1u << 7;
		return true;
	case 10:
		pmm->level[0][0] |= 1u << 9; /* behind the last root */
		return true;
	case 11:
		pmm->level[1][0] = 0;
		return true;
	case 12:
		pmm->level[3][0] |= 2;
		return true;
	case 13: /* the last bits of words, far behind the last root */
	case 14:
	case 15:
	case 16:
		pmm->level[n - 13][0] |= (uint64_t)1 << 63;
		return true;
	default:
		return false;
	}
}

static void check_damage(bool (*damage)(struct uvmp_pmm *pmm, int n), const char *what)
{
	for (int quirks = 0; quirks < 2; quirks++) {
		for (int n = 0; damage(make_rich(quirks != 0), n); n++) {
			struct uvmp_pmm *pmm = make_rich(quirks != 0);

			assert_true(uvmp_pmm_check(pmm));
			(void)damage(pmm, n);
			if (uvmp_pmm_check(pmm))
				fail_msg("%s %d (quirks=%d) was not noticed", what, n, quirks);
		}
	}
}

static void test_check_notices_damage(void **unused)
{
	(void)unused;
	check_damage(damage_root, "root");
	check_damage(damage_split, "split");
	check_damage(damage_list, "list");
	check_damage(damage_header, "header");
}

/* With any contents of the arrays, the check terminates and stays inside them. */
static void test_check_is_safe(void **unused)
{
	uint64_t seed = 5;

	(void)unused;
	for (int i = 0; i < 2000; i++) {
		struct uvmp_pmm *pmm =
		        i % 100 == 0 ? make_rich(i % 200 == 0) : (struct uvmp_pmm *)(void *)memory;
		uint8_t *from = i % 2 != 0 ? (uint8_t *)pmm->root : (uint8_t *)pmm->split;
		size_t at = (size_t)uvmp_random_below(&seed, (uint64_t)(memory + memory_bytes - from));

		from[at] = (uint8_t)uvmp_random_next(&seed);
		pmm->list[uvmp_random_below(&seed, PMM_LISTS)].head ^=
		        (uint32_t)uvmp_random_below(&seed, 2);
		(void)uvmp_pmm_check(pmm);
	}
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_size_and_init),
	        TEST(test_memory_per_root),
	        TEST(test_missing_manager),
	        TEST(test_bad_arguments),
	        TEST(test_bad_handles),
	        TEST(test_worked_example),
	        TEST(test_batches),
	        TEST(test_pool_gives_the_lowest),
	        TEST(test_split_order),
	        TEST(test_free_lists_are_fifo),
	        TEST(test_zero_before_nonzero),
	        TEST(test_remainders_of_zeroed_chunks),
	        TEST(test_split_records_run_out),
	        TEST(test_split_records_come_back),
	        TEST(test_unpin_goes_to_the_tail_of_used),
	        TEST(test_claim_takes_the_root_off),
	        TEST(test_free_of_a_piece),
	        TEST(test_marks_of_whole_chunks),
	        TEST(test_marks_of_pieces),
	        TEST(test_touch),
	        TEST(test_merge),
	        TEST(test_merge_to_the_root),
	        TEST(test_evict_shared_root),
	        TEST(test_free_during_eviction),
	        TEST(test_retry_or_no_memory),
	        TEST(test_victim_order),
	        TEST(test_free_roots_of_both_kinds),
	        TEST(test_abort_whole),
	        TEST(test_abort_pieces),
	        TEST(test_release),
	        TEST(test_evict_root),
	        TEST(test_kernel),
	        TEST(test_check_notices_damage),
	        TEST(test_check_is_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
