/* service.h: spaces, channels, ranges, blocks and their places; splitting [driver: va-policy]; and
 * uvmp_service_check against damage. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "decisions/pmm_internal.h"
#include "support/engine_internals.h"
#include "support/arena.h"
#include "support/seed.h"

#define PAGE   4096u
#define WINDOW ((uvmp_addr)UVMP_ROOT_CHUNK_BYTES)
#define BASE   0x7f0000000000u
#define RWA    UVMP_RIGHT_READ_WRITE_ATOMIC
#define NO_HOME UVMP_PROC_NONE

#define SPACES    3u
#define RANGES    6u
#define INSTANCES 4u

static uint8_t *memory;
static struct uvmp_service *s;

/* CPU, a GPU with four roots, another one without memory. */
static void make(enum uvmp_evictor evict, uint32_t page_bytes, uint32_t blocks, size_t bytes)
{
	static struct uvmp_policy policy;
	static struct uvmp_processors processors;
	const struct uvmp_service_gpu gpu[] = {
	        {.size = sizeof(gpu[0]), .memory_bytes = 4u * WINDOW, .splits = 4, .fault_entries = 2, .utlbs = 1},
	        {.size = sizeof(gpu[0]), .fault_entries = 2, .utlbs = 1},
	};
	struct uvmp_service_params params = {.size = sizeof(params),
	                                     .policy = &policy,
	                                     .processors = &processors,
	                                     .gpu = gpu,
	                                     .page_bytes = page_bytes,
	                                     .blocks = blocks,
	                                     .spaces = SPACES,
	                                     .ranges = RANGES,
	                                     .instances = INSTANCES,
	                                     .requests = 1};
	size_t fixed;

	uvmp_policy_init(&policy);
	policy.evict = evict;
	if (evict != UVMP_EVICT_LRU)
		assert_int_equal(uvmp_policy_parse("evict=lru4k", 11, &policy, NULL), UVMP_OK);
	processors.count = 3;
	processors.no_memory = 1u << 2;
	for (uint32_t i = 0; i < 3; i++)
		processors.can_access[i] = processors.native_atomics[i] = (uint64_t)1 << i;
	fixed = uvmp_service_size(&params, 0);
	assert_int_not_equal(fixed, 0);
	free(memory);
	memory = malloc(fixed + bytes);
	assert_non_null(memory);
	memset(memory, 0xa5, fixed + bytes);
	assert_int_equal(uvmp_service_init(&params, memory, fixed + bytes, &s), UVMP_OK);
	arena_without_reserve(s);
	assert_true(uvmp_service_check(s));
}

/* With this value it is found to be damaged, and to be well again with the old one. */
#define DAMAGE(where, value)                                                                                 \
	do {                                                                                                 \
		__typeof__(where) was = (where);                                                             \
		(where) = (__typeof__(where))(value);                                                        \
		assert_false(uvmp_service_check(s));                                                         \
		(where) = was;                                                                               \
		assert_true(uvmp_service_check(s));                                                          \
	} while (0)


static int setup(void **state)
{
	(void)state;
	make(UVMP_EVICT_LRU, PAGE, 64, 1u << 20);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(memory);
	memory = NULL;
	return 0;
}

static enum uvmp_status add(uint64_t space, uvmp_addr base, uint64_t bytes)
{
	return uvmp_service_add_range(s, space, base, bytes, RWA, NO_HOME);
}

/* Slot of the range with the address. */
static uint32_t slot_of(uint64_t space, uvmp_addr address)
{
	uint32_t index = uvmpi_range_find(s, uvmpi_space_find(s, space), address);

	assert_int_not_equal(index, NO_INDEX);
	return s->range_order[index];
}

static handle block(uint64_t space, uvmp_addr address)
{
	enum uvmp_status status;
	handle h = uvmpi_block_make(s, uvmpi_space_find(s, space), address, &status);

	assert_int_equal(status, UVMP_OK);
	assert_int_not_equal(h, 0);
	assert_int_equal(uvmpi_block_find(s, uvmpi_space_find(s, space), address), h);
	return h;
}

static enum uvmp_status split(uint64_t space, uvmp_addr address)
{
	handle busy = 12345;
	enum uvmp_status status = uvmpi_range_split(s, slot_of(space, address), address, &busy);

	assert_int_equal(busy == 12345, status != UVMP_ERR_RETRY);
	return status;
}

static void set_pages(uvmp_mask *mask, uint32_t first, uint32_t end)
{
	uvmp_mask_region_set(mask, (struct uvmp_region){first, end});
}

static void give_thrash(handle h)
{
	struct block *b = block_at(s, h);
	struct thrash *t;

	b->thrash = uvmpi_arena_take(s, SLAB_THRASH);
	t = thrash_at(s, b->thrash);
	assert_int_equal(uvmp_thrash_block_init(&t->block, h, b->pages), UVMP_OK);
	assert_int_equal(uvmp_thrash_block_give(&t->block, t + 1, uvmp_thrash_array_size(b->pages)), UVMP_OK);
}

static void give_tree(handle h)
{
	struct cold *extra = uvmpi_cold_make(s, block_at(s, h));

	extra->tree = uvmpi_arena_take(s, SLAB_TREE);
	assert_int_equal(uvmp_tree_init(uvmpi_arena_at(s, extra->tree), 32), UVMP_OK);
}

/* A whole block on GPU 1. */
static struct residency *give_root(handle h)
{
	struct residency *p = uvmpi_residency_make(s, block_at(s, h), 1);
	struct uvmp_chunk chunk;

	assert_int_equal(uvmp_pmm_alloc(s->gpu[1].pmm, UVMP_CHUNK_USER, UVMP_CHUNK_2M, h, &chunk), UVMP_OK);
	p->memory = chunk.root;
	p->has_memory = true;
	return p;
}

/* A small block's chunk at this page on GPU 1. */
static struct residency *give_chunk(handle h, uint32_t page)
{
	struct residency *p = uvmpi_residency_make(s, block_at(s, h), 1);
	struct uvmp_block shape;
	struct uvmp_region region;
	struct chunk_map *sub;

	if (!p->has_memory) {
		p->memory = uvmpi_arena_take(s, SLAB_CHUNK_MAP);
		p->has_memory = true;
	}
	sub = chunk_map_at(s, p->memory);
	uvmpi_block_shape(s, block_at(s, h), &shape);
	region = uvmp_block_chunk(&shape, page);
	assert_int_equal(region.first, page);
	uvmp_mask_region_set(&sub->backed, region);
	assert_int_equal(uvmp_pmm_alloc(s->gpu[1].pmm, UVMP_CHUNK_USER,
	                                uvmp_region_pages(region) * s->page_bytes == PAGE ? UVMP_CHUNK_4K
	                                                                                  : UVMP_CHUNK_64K,
	                                h, &sub->chunk[page]),
	                 UVMP_OK);
	return p;
}

/* -- spaces and channels -- */

static void test_spaces(void **state)
{
	(void)state;
	assert_int_equal(uvmpi_space_find(s, 0), NO_INDEX);
	assert_int_equal(uvmpi_space_use(s, 0), 0);
	assert_int_equal(uvmpi_space_use(s, UINT64_MAX), 1);
	assert_int_equal(uvmpi_space_use(s, 0), 0);
	assert_int_equal(uvmpi_space_use(s, 7), 2);
	assert_int_equal(uvmpi_space_use(s, 8), NO_INDEX);
	assert_int_equal(s->space[0].users, 2);
	assert_int_equal(uvmpi_space_find(s, UINT64_MAX), 1);
	assert_true(uvmp_thrash_space_is_valid(&s->space[1].thrash));

	/* A slot that is used again has no former state. */
	s->space[1].thrash.vote = 5;
	uvmpi_space_unuse(s, 1);
	assert_int_equal(uvmpi_space_find(s, UINT64_MAX), NO_INDEX);
	assert_int_equal(uvmpi_space_use(s, 8), 1);
	assert_int_equal(s->space[1].thrash.vote, 0);
	assert_int_equal(s->space[1].users, 1);
}

static void test_bind(void **state)
{
	bool is_channel;

	(void)state;
	assert_int_equal(uvmp_service_bind(s, 1, 0, 100, 0, 5), UVMP_OK);
	assert_int_equal(uvmp_service_bind(s, 1, 0, 100, 0, 6), UVMP_ERR_CONFLICT);
	assert_int_equal(uvmp_service_bind(s, 2, 0, 100, 0, 6), UVMP_OK);
	assert_int_equal(uvmp_service_bind(s, 1, UVMP_APERTURE_VID, 100, 0, 6), UVMP_OK);
	assert_int_equal(uvmp_service_bind(s, 1, 0, 100, 3, 6), UVMP_OK);
	assert_int_equal(uvmp_service_bind(s, 1, 0, 101, 0, 6), UVMP_ERR_SPACE);
	assert_int_equal(s->space[0].users, 1);
	assert_int_equal(s->space[1].users, 3);
	assert_true(uvmp_service_check(s));

	assert_int_equal(uvmpi_instance_find(s, 1, 0, 100, 0, NULL), 0);
	assert_int_equal(uvmpi_instance_find(s, 2, 0, 100, 0, &is_channel), 1);
	assert_true(is_channel);
	assert_int_equal(uvmpi_instance_find(s, 1, 0, 100, 2, &is_channel), NO_INDEX);
	assert_true(is_channel);
	assert_int_equal(uvmpi_instance_find(s, 1, 0, 99, 0, &is_channel), NO_INDEX);
	assert_false(is_channel);
	assert_int_equal(uvmpi_instance_find(s, 2, 1, 100, 0, &is_channel), NO_INDEX);
	assert_false(is_channel);

	assert_int_equal(uvmp_service_unbind(s, 1, 0, 100, 1), UVMP_ERR_STATE);
	assert_int_equal(uvmp_service_unbind(s, 1, 0, 100, 0), UVMP_OK);
	assert_int_equal(uvmp_service_unbind(s, 1, 0, 100, 0), UVMP_ERR_STATE);
	assert_int_equal(uvmpi_space_find(s, 5), NO_INDEX);
	assert_int_equal(uvmpi_instance_find(s, 1, 0, 100, 3, NULL), 1);
	assert_int_equal(uvmpi_instance_find(s, 2, 0, 100, 0, NULL), 1);
	assert_int_equal(uvmp_service_unbind(s, 1, 0, 100, 3), UVMP_OK);
	assert_int_equal(uvmp_service_unbind(s, 2, 0, 100, 0), UVMP_OK);
	assert_int_equal(uvmp_service_unbind(s, 1, UVMP_APERTURE_VID, 100, 0), UVMP_OK);
	assert_int_equal(uvmpi_space_find(s, 6), NO_INDEX);
	assert_true(uvmp_service_check(s));
}

static void test_bind_errors(void **state)
{
	(void)state;
	assert_int_equal(uvmp_service_bind(NULL, 1, 0, 1, 0, 1), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_unbind(NULL, 1, 0, 1, 0), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_bind(s, UVMP_CPU, 0, 1, 0, 1), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_bind(s, 3, 0, 1, 0, 1), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_bind(s, UINT32_MAX, 0, 1, 0, 1), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_bind(s, 1, 12, 1, 0, 1), UVMP_ERR_RANGE);
	for (uint32_t i = 0; i < SPACES; i++)
		assert_int_equal(uvmp_service_bind(s, 1, 0, i, 0, i), UVMP_OK);
	assert_int_equal(uvmp_service_bind(s, 1, 0, SPACES, 0, SPACES), UVMP_ERR_SPACE);
	assert_int_equal(s->instances, SPACES);
}

/* -- ranges -- */

static void test_add_range_errors(void **state)
{
	(void)state;
	assert_int_equal(uvmp_service_add_range(NULL, 1, BASE, PAGE, RWA, NO_HOME), UVMP_ERR_ARGUMENT);
	assert_int_equal(add(1, BASE, 0), UVMP_ERR_RANGE);
	assert_int_equal(add(1, BASE + 1, PAGE), UVMP_ERR_RANGE);
	assert_int_equal(add(1, BASE, PAGE - 1), UVMP_ERR_RANGE);
	assert_int_equal(add(1, UINT64_MAX - PAGE + 1, 2u * PAGE), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_add_range(s, 1, BASE, PAGE, UVMP_RIGHT_NONE, NO_HOME), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_add_range(s, 1, BASE, PAGE, (enum uvmp_right)4, NO_HOME), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_add_range(s, 1, BASE, PAGE, RWA, 1), UVMP_ERR_RANGE);
	assert_int_equal(s->ranges, 0);
	assert_int_equal(uvmpi_space_find(s, 1), NO_INDEX);
}

static void test_add_range_overlaps(void **state)
{
	(void)state;
	assert_int_equal(add(1, BASE + 4u * PAGE, 4u * PAGE), UVMP_OK);
	assert_int_equal(add(1, BASE, 5u * PAGE), UVMP_ERR_CONFLICT);
	assert_int_equal(add(1, BASE + 7u * PAGE, PAGE), UVMP_ERR_CONFLICT);
	assert_int_equal(add(1, BASE + 5u * PAGE, PAGE), UVMP_ERR_CONFLICT);
	assert_int_equal(add(1, BASE, 16u * PAGE), UVMP_ERR_CONFLICT);
	assert_int_equal(add(1, BASE, 4u * PAGE), UVMP_OK);
	assert_int_equal(add(1, BASE + 8u * PAGE, PAGE), UVMP_OK);
	assert_int_equal(add(0, BASE, 16u * PAGE), UVMP_OK); /* another space */
	assert_int_equal(add(1, UINT64_MAX - PAGE + 1, PAGE), UVMP_OK);
	assert_int_equal(add(1, UINT64_MAX - PAGE + 1, PAGE), UVMP_ERR_CONFLICT);
	assert_int_equal(add(1, 0, PAGE), UVMP_OK);
	assert_true(uvmp_service_check(s));
	assert_int_equal(add(1, PAGE, PAGE), UVMP_ERR_SPACE);
	assert_int_equal(s->space[uvmpi_space_find(s, 1)].users, 5);
}

static void test_add_range_spaces(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < SPACES; i++)
		assert_int_equal(add(SPACES - i, BASE, PAGE), UVMP_OK);
	assert_int_equal(add(99, BASE, PAGE), UVMP_ERR_SPACE);
	assert_int_equal(s->ranges, SPACES);
	/* The last use of a space gives its slot back. */
	uvmpi_range_remove(s, uvmpi_range_from(s, uvmpi_space_find(s, SPACES), BASE), 1);
	assert_int_equal(uvmpi_space_find(s, SPACES), NO_INDEX);
	assert_true(uvmp_service_check(s));
	assert_int_equal(add(99, BASE, PAGE), UVMP_OK);
	assert_true(uvmp_service_check(s));
}

static void test_find_and_cover(void **state)
{
	uint32_t one, none;

	(void)state;
	assert_int_equal(add(1, BASE + 8u * PAGE, 4u * PAGE), UVMP_OK);
	assert_int_equal(add(1, BASE, 4u * PAGE), UVMP_OK);
	assert_int_equal(add(1, BASE + 4u * PAGE, 2u * PAGE), UVMP_OK);
	assert_int_equal(add(2, BASE + 6u * PAGE, 2u * PAGE), UVMP_OK);
	one = uvmpi_space_find(s, 1);
	none = uvmpi_space_find(s, 3);
	assert_int_equal(none, NO_INDEX);

	assert_int_equal(uvmpi_range_from(s, one, 0), 0);
	assert_int_equal(uvmpi_range_find(s, one, BASE - 1), NO_INDEX);
	assert_int_equal(uvmpi_range_find(s, one, BASE), 0);
	assert_int_equal(uvmpi_range_find(s, one, BASE + 4u * PAGE - 1u), 0);
	assert_int_equal(uvmpi_range_find(s, one, BASE + 4u * PAGE), 1);
	assert_int_equal(uvmpi_range_find(s, one, BASE + 6u * PAGE), NO_INDEX);
	assert_int_equal(uvmpi_range_from(s, one, BASE + 6u * PAGE), 2);
	assert_int_equal(uvmpi_range_find(s, one, BASE + 12u * PAGE), NO_INDEX);
	assert_int_equal(uvmpi_range_from(s, one, BASE + 12u * PAGE), 3);
	assert_int_equal(uvmpi_range_find(s, one + 1u, BASE + 12u * PAGE), NO_INDEX);
	assert_int_equal(uvmpi_range_find(s, none, BASE), NO_INDEX);

	assert_true(uvmpi_range_covers(s, one, BASE, BASE));
	assert_true(uvmpi_range_covers(s, one, BASE + PAGE, BASE + 6u * PAGE - 1u));
	assert_false(uvmpi_range_covers(s, one, BASE, BASE + 6u * PAGE));
	assert_false(uvmpi_range_covers(s, one, BASE + 8u * PAGE, BASE + 12u * PAGE));
	assert_false(uvmpi_range_covers(s, one, BASE - 1u, BASE));
	assert_false(uvmpi_range_covers(s, none, BASE, BASE));
}

/* -- blocks -- */

static void test_blocks(void **state)
{
	enum uvmp_status status;
	struct uvmp_block shape;
	uint32_t one, two;
	handle a, b, c, d;

	(void)state;
	/* Two ranges of one space and one of another share a window. */
	assert_int_equal(add(1, BASE + 3u * PAGE, WINDOW), UVMP_OK);
	assert_int_equal(add(1, BASE, 2u * PAGE), UVMP_OK);
	assert_int_equal(add(2, BASE, 2u * WINDOW), UVMP_OK);
	one = uvmpi_space_find(s, 1);
	two = uvmpi_space_find(s, 2);
	assert_int_equal(uvmpi_block_find(s, one, BASE), 0);
	assert_int_equal(uvmpi_block_make(s, one, BASE + 2u * PAGE, &status), 0);
	assert_int_equal(status, UVMP_ERR_UNKNOWN);

	a = block(1, BASE + 5u * PAGE);
	b = block(1, BASE + PAGE);
	c = block(2, BASE + PAGE);
	d = block(1, BASE + WINDOW);
	assert_int_equal(uvmpi_block_make(s, one, BASE + 4u * PAGE, &status), a);
	assert_int_equal(status, UVMP_OK);
	assert_int_equal(uvmpi_block_find(s, one, BASE + 2u * PAGE), 0);
	assert_int_equal(uvmpi_block_find(s, two, BASE + WINDOW), 0);
	assert_int_equal(s->live[SLAB_BLOCK], 4);

	assert_int_equal(block_at(s, a)->start, BASE + 3u * PAGE);
	assert_int_equal(block_at(s, a)->pages, 509);
	assert_int_equal(block_at(s, a)->event_proc, UVMP_PROC_NONE);
	assert_int_equal(block_at(s, a)->last_proc, UVMP_PROC_NONE);
	assert_false(block_at(s, a)->is_touched);
	assert_false(block_is_whole(s, block_at(s, a)));
	assert_true(block_is_whole(s, block_at(s, c)));
	assert_int_equal(block_at(s, d)->pages, 3);
	assert_int_equal(block_last(s, block_at(s, d)), BASE + WINDOW + 3u * PAGE - 1u);
	uvmpi_block_shape(s, block_at(s, a), &shape);
	assert_true(uvmp_block_is_valid(&shape));
	assert_int_equal(shape.offset, 3);
	assert_int_equal(shape.big_pages, 16);
	assert_int_equal(shape.last, BASE + WINDOW - 1u);
	assert_true(uvmp_service_check(s));

	/* From the middle of the chain and of the list. */
	uvmpi_block_remove(s, a);
	assert_int_equal(uvmpi_block_find(s, one, BASE + 5u * PAGE), 0);
	assert_int_equal(uvmpi_block_find(s, one, BASE + PAGE), b);
	assert_int_equal(uvmpi_block_find(s, two, BASE + PAGE), c);
	assert_true(uvmp_service_check(s));
	uvmpi_block_remove(s, d);
	uvmpi_block_remove(s, b);
	uvmpi_block_remove(s, c);
	assert_int_equal(s->live[SLAB_BLOCK], 0);
	assert_true(uvmp_service_check(s));
}

/* The table has as many buckets as half of the blocks at least, while the arena has space for them. */
static void test_buckets_grow(void **state)
{
	handle h[200];

	(void)state;
	make(UVMP_EVICT_LRU, PAGE, 1, 65536);
	assert_int_equal(s->buckets, 1);
	assert_int_equal(add(1, BASE, 200u * WINDOW), UVMP_OK);
	for (uint32_t i = 0; i < 200; i++) {
		h[i] = block(1, BASE + i * WINDOW);
		assert_true(s->live[SLAB_BLOCK] / 2u <= s->buckets);
		assert_true(s->buckets == 1 || s->live[SLAB_BLOCK] >= s->buckets);
		assert_true(uvmp_service_check(s));
	}
	assert_int_equal(s->buckets, 128);
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(uvmpi_block_find(s, 0, BASE + i * WINDOW), h[i]);
	DAMAGE(s->bucket_array, s->segment[0].end);
	DAMAGE(s->bucket_array, 0);
	for (uint32_t i = 0; i < 200; i += 3)
		uvmpi_block_remove(s, h[i]);
	assert_true(uvmp_service_check(s));
	assert_int_equal(uvmpi_block_find(s, 0, BASE + 4u * WINDOW), h[4]);
	assert_int_equal(uvmpi_block_find(s, 0, BASE + 3u * WINDOW), 0);
}

/* Without space for more buckets, chains are longer. */
static void test_buckets_without_space(void **state)
{
	handle h[8];

	(void)state;
	make(UVMP_EVICT_LRU, PAGE, 1, 8u * sizeof(struct block));
	assert_int_equal(add(1, BASE, 8u * WINDOW), UVMP_OK);
	for (uint32_t i = 0; i < 7; i++)
		h[i] = block(1, BASE + i * WINDOW);
	s->segment[0].end = s->segment[0].unused + sizeof(struct block) / UNIT_BYTES;
	h[7] = block(1, BASE + 7u * WINDOW);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(uvmpi_block_find(s, 0, BASE + i * WINDOW), h[i]);
	assert_true(uvmp_service_check(s));

	/* the largest table does not grow */
	make(UVMP_EVICT_LRU, PAGE, 1u << 24, 65536);
	assert_int_equal(s->buckets, 1u << 24);
	assert_int_equal(add(1, BASE, 8u * WINDOW), UVMP_OK);
	s->live[SLAB_BLOCK] += 1u << 26; /* as if there were so many blocks */
	h[0] = block(1, BASE);
	s->live[SLAB_BLOCK] -= 1u << 26;
	assert_int_equal(s->buckets, 1u << 24);
	assert_int_equal(uvmpi_block_find(s, 0, BASE), h[0]);
}

/* Neighbouring windows, and those at a distance, do not meet in few buckets. */
static void test_buckets_spread(void **state)
{
	uint8_t count[64];

	(void)state;
	for (uint32_t shift = 0; shift <= 12; shift += 3) {
		uint32_t most = 0;

		memset(count, 0, sizeof(count));
		for (uint64_t i = 0; i < 64; i++) {
			uint8_t *at = &count[uvmpi_block_bucket(s, 1, BASE + (i << shift) * WINDOW)];

			if (++*at > most)
				most = *at;
		}
		assert_true(most <= 4);
	}
}

static void test_64k_pages(void **state)
{
	struct uvmp_block shape;
	handle h;

	(void)state;
	make(UVMP_EVICT_LRU, 65536, 4, 1u << 20);
	assert_int_equal(add(1, BASE, 4096), UVMP_ERR_RANGE);
	assert_int_equal(add(1, BASE + 65536, WINDOW), UVMP_OK);
	h = block(1, BASE + 3u * 65536u);
	assert_int_equal(block_at(s, h)->pages, 31);
	assert_int_equal(block_page(s, block_at(s, h), BASE + 3u * 65536u), 2);
	uvmpi_block_shape(s, block_at(s, h), &shape);
	assert_true(uvmp_block_is_valid(&shape));
	assert_int_equal(shape.big_pages, 1);
	uvmp_mask_set(&give_chunk(h, 4)->resident, 4);
	assert_true(uvmp_service_check(s));
	assert_int_equal(split(1, BASE + 3u * 65536u), UVMP_ERR_RETRY);
}

static void test_home(void **state)
{
	const struct residency *p;
	handle h;

	(void)state;
	assert_int_equal(uvmp_service_add_range(s, 1, BASE, WINDOW + PAGE, UVMP_RIGHT_READ, UVMP_CPU),
	                 UVMP_OK);
	h = block(1, BASE + WINDOW);
	p = uvmpi_residency_find(s, block_at(s, h), UVMP_CPU);
	assert_non_null(p);
	assert_int_equal(uvmp_mask_weight(&p->resident), 1);
	assert_int_equal(residency_right(p, 0), UVMP_RIGHT_READ);
	assert_int_equal(residency_right(p, 1), UVMP_RIGHT_NONE);
	assert_true(block_at(s, h)->is_touched);
	assert_null(uvmpi_residency_find(s, block_at(s, h), 1));
	h = block(1, BASE);
	assert_int_equal(uvmp_mask_weight(&uvmpi_residency_find(s, block_at(s, h), UVMP_CPU)->resident), 512);
	assert_true(uvmp_service_check(s));
}

/* Units that are left in the arena, free lists included. */
static void leave_units(uint32_t units)
{
	memset(s->free, 0, sizeof(s->free));
	s->segment[0].unused = s->segment[0].end - units;
}

static void test_no_memory(void **state)
{
	enum uvmp_status status = UVMP_OK;
	handle h;

	(void)state;
	assert_int_equal(uvmp_service_add_range(s, 1, BASE, 2u * WINDOW, RWA, UVMP_CPU), UVMP_OK);
	leave_units(2); /* not even a block */
	assert_int_equal(uvmpi_block_make(s, 0, BASE, &status), 0);
	assert_int_equal(status, UVMP_ERR_NO_MEMORY);
	leave_units(3); /* not its place */
	status = UVMP_OK;
	assert_int_equal(uvmpi_block_make(s, 0, BASE, &status), 0);
	assert_int_equal(status, UVMP_ERR_NO_MEMORY);
	assert_int_equal(s->live[SLAB_BLOCK], 0);
	assert_true(uvmp_service_check(s));
	leave_units(3 + 13);
	h = block(1, BASE);
	assert_null(uvmpi_residency_make(s, block_at(s, h), 1));
	assert_null(uvmpi_cold_make(s, block_at(s, h)));
	assert_non_null(uvmpi_residency_make(s, block_at(s, h), UVMP_CPU));
	assert_true(uvmp_service_check(s));
}

static void test_remove_gives_all_back(void **state)
{
	struct uvmp_thrash_migration event = {
	        .region = {0, 1}, .to = 1, .final_to = 1, .cause = UVMP_MIGRATE_FAULT, .now_ns = 100000};
	struct thrash *t;
	handle h;

	(void)state;
	assert_int_equal(uvmp_service_add_range(s, 1, BASE, 3u * PAGE, RWA, UVMP_CPU), UVMP_OK);
	h = block(1, BASE);
	give_tree(h);
	give_thrash(h);
	uvmpi_residency_make(s, block_at(s, h), 1)->memory = uvmpi_arena_take(s, SLAB_CHUNK_MAP);
	uvmpi_residency_find(s, block_at(s, h), 1)->has_memory = true;
	t = thrash_at(s, block_at(s, h)->thrash);
	for (uint32_t i = 0; i < 8; i++, event.now_ns += 1000) {
		event.to = event.final_to = i % 2u;
		assert_int_equal(uvmp_thrash_migrate(&s->space[0].thrash, &t->block, &event), UVMP_OK);
	}
	assert_true(uvmp_mask_test(&t->block.thrashing, 0));
	assert_true(uvmp_service_check(s));
	uvmpi_block_remove(s, h);
	for (uint32_t slab = 0; slab < SLAB_COUNT; slab++)
		assert_int_equal(s->live[slab], 0);
	assert_true(uvmp_service_check(s));

	/* An extra without tree; a small block whose place has no memory. */
	h = block(1, BASE);
	assert_non_null(uvmpi_cold_make(s, block_at(s, h)));
	assert_ptr_equal(uvmpi_cold_make(s, block_at(s, h)), cold_at(s, block_at(s, h)->cold));
	uvmpi_block_remove(s, h);
	for (uint32_t slab = 0; slab < SLAB_COUNT; slab++)
		assert_int_equal(s->live[slab], 0);
}

/* -- a block on processors -- */

static void test_places(void **state)
{
	struct residency *cpu, *gpu;
	uint64_t right[3];
	struct block *b;
	uvmp_mask some;
	handle h;

	(void)state;
	assert_int_equal(add(1, BASE, WINDOW), UVMP_OK);
	h = block(1, BASE);
	b = block_at(s, h);
	assert_null(uvmpi_residency_find(s, b, 0));
	cpu = uvmpi_residency_make(s, b, 0);
	gpu = uvmpi_residency_make(s, b, 2);
	assert_ptr_equal(uvmpi_residency_make(s, b, 0), cpu);
	assert_ptr_equal(uvmpi_residency_find(s, b, 2), gpu);
	assert_int_equal(s->live[SLAB_RESIDENCY], 2);

	uvmp_mask_set(&cpu->resident, 5);
	uvmp_mask_zero(&some);
	uvmp_mask_set(&some, 5);
	for (uint8_t i = 0; i <= RWA; i++) {
		uvmpi_residency_map(gpu, &some, i);
		assert_int_equal(residency_right(gpu, 5), i);
		assert_int_equal(residency_right(gpu, 4), 0);
		uvmpi_block_mapped(s, b, 5, right);
		for (uint32_t k = 0; k < 3; k++)
			assert_int_equal(right[k], k < i ? 1u << 2 : 0);
	}
	uvmpi_residency_map(cpu, &some, UVMP_RIGHT_READ);
	uvmpi_residency_map(gpu, &some, UVMP_RIGHT_READ_WRITE);
	uvmpi_block_mapped(s, b, 5, right);
	assert_int_equal(right[0], 5);
	assert_int_equal(right[1], 4);
	assert_int_equal(right[2], 0);
	assert_int_equal(uvmpi_block_holders(s, b, 5), 1);
	assert_int_equal(uvmpi_block_holders(s, b, 6), 0);
	set_pages(&s->holders[1], 0, 512);
	s->held |= BIT(1);
	uvmpi_block_residents(s, b);
	assert_true(uvmp_mask_equal(&s->holders[0], &some));
	assert_true(uvmp_mask_is_empty(&s->holders[1]));
	assert_true(uvmp_mask_is_empty(&s->holders[2]));
}

/* -- splitting [driver: va-policy] -- */

static void test_split_between_blocks(void **state)
{
	uint32_t lower, upper;
	handle h[3];

	(void)state;
	assert_int_equal(add(1, BASE, 3u * WINDOW), UVMP_OK);
	for (uint32_t i = 0; i < 3; i++)
		h[i] = block(1, BASE + i * WINDOW);
	s->range[slot_of(1, BASE)].preferred = 1;
	assert_int_equal(split(1, BASE), UVMP_OK); /* nothing to do */
	assert_int_equal(s->ranges, 1);
	assert_int_equal(split(1, BASE + WINDOW), UVMP_OK);
	assert_int_equal(s->ranges, 2);
	lower = slot_of(1, BASE);
	upper = slot_of(1, BASE + WINDOW);
	assert_int_not_equal(lower, upper);
	assert_int_equal(s->range[lower].last, BASE + WINDOW - 1u);
	assert_int_equal(s->range[upper].start, BASE + WINDOW);
	assert_int_equal(s->range[upper].last, BASE + 3u * WINDOW - 1u);
	assert_int_equal(s->range[upper].origin, BASE);
	assert_int_equal(s->range[upper].preferred, 1);
	assert_int_equal(s->space[0].users, 2);
	assert_int_equal(block_at(s, h[0])->range, lower);
	assert_int_equal(block_at(s, h[1])->range, upper);
	assert_int_equal(block_at(s, h[2])->range, upper);
	assert_true(uvmp_service_check(s));

	/* Where there is no block yet; blocks keep to absolute multiples of 2 MiB. */
	uvmpi_block_remove(s, h[1]);
	assert_int_equal(split(1, BASE + WINDOW + 5u * PAGE), UVMP_OK);
	assert_int_equal(block_at(s, block(1, BASE + WINDOW))->pages, 5);
	assert_int_equal(block_at(s, block(1, BASE + WINDOW + 5u * PAGE))->pages, 507);
	assert_true(uvmp_service_check(s));
}

/* A block is split: what is known of its pages goes with them. */
static void test_split_block(void **state)
{
	struct block *low, *high;
	struct residency *p;
	uint64_t right[3];
	handle h;

	(void)state;
	assert_int_equal(uvmp_service_add_range(s, 1, BASE, WINDOW, RWA, UVMP_CPU), UVMP_OK);
	h = block(1, BASE);
	low = block_at(s, h);
	p = uvmpi_residency_make(s, low, 2);
	set_pages(&p->low, 90, 110); /* read and write, remotely */
	set_pages(&p->high, 100, 120);
	p->is_mapped = true;
	give_tree(h);
	set_pages(&cold_at(s, low->cold)->duplicated, 98, 101);
	set_pages(&cold_at(s, low->cold)->discarded, 99, 103);
	low->faults = 7;
	low->last_proc = 1;
	low->event_ns = 5;
	low->event_proc = 1;
	assert_true(uvmp_service_check(s));

	assert_int_equal(split(1, BASE + 100u * PAGE), UVMP_OK);
	assert_true(uvmp_service_check(s));
	assert_int_equal(uvmpi_block_find(s, 0, BASE + 99u * PAGE), h);
	high = block_at(s, uvmpi_block_find(s, 0, BASE + 100u * PAGE));
	assert_int_equal(low->pages, 100);
	assert_int_equal(high->start, BASE + 100u * PAGE);
	assert_int_equal(high->pages, 412);
	assert_int_equal(high->range, slot_of(1, BASE + 100u * PAGE));
	assert_true(high->is_touched);
	assert_int_equal(uvmp_mask_weight(&uvmpi_residency_find(s, low, UVMP_CPU)->resident), 100);
	assert_int_equal(uvmp_mask_weight(&uvmpi_residency_find(s, high, UVMP_CPU)->resident), 412);
	uvmpi_block_mapped(s, low, 99, right);
	assert_int_equal(right[0], 1u | 1u << 2);
	assert_int_equal(right[1], 1);
	uvmpi_block_mapped(s, high, 9, right);
	assert_int_equal(right[2], 1u | 1u << 2);
	uvmpi_block_mapped(s, high, 19, right);
	assert_int_equal(right[1], 1u | 1u << 2);
	assert_int_equal(right[2], 1);
	uvmpi_block_mapped(s, high, 20, right);
	assert_int_equal(right[0], 1);
	assert_true(block_is_duplicated(s, low, 99));
	assert_true(block_is_duplicated(s, high, 0));
	assert_false(block_is_duplicated(s, high, 1));
	assert_int_equal(uvmp_mask_weight(&cold_at(s, low->cold)->discarded), 1);
	assert_int_equal(uvmp_mask_weight(&cold_at(s, high->cold)->discarded), 3);
	assert_int_equal(s->live[SLAB_TREE], 0);

	for (uint32_t i = 0; i < 2; i++) {
		const struct block *b = i == 0 ? low : high;

		assert_int_equal(b->faults, 0);
		assert_int_equal(b->last_proc, UVMP_PROC_NONE);
		assert_int_equal(b->event_ns, 0);
		assert_int_equal(b->event_proc, UVMP_PROC_NONE);
	}
	/* Once more, now with an extra that has no tree. */
	assert_int_equal(split(1, BASE + 50u * PAGE), UVMP_OK);
	assert_true(uvmp_service_check(s));
	assert_int_equal(low->pages, 50);
}

static void test_split_errors(void **state)
{
	handle h, busy = 0;
	uint32_t slot;

	(void)state;
	assert_int_equal(add(1, BASE, 2u * WINDOW), UVMP_OK);
	slot = slot_of(1, BASE);
	h = block(1, BASE);
	give_thrash(h);
	assert_int_equal(uvmpi_range_split(s, slot, BASE + PAGE, &busy), UVMP_ERR_RETRY);
	assert_int_equal(busy, h);
	uvmpi_arena_give(s, SLAB_THRASH, block_at(s, h)->thrash);
	block_at(s, h)->thrash = 0;
	give_root(h);
	busy = 0;
	assert_int_equal(uvmpi_range_split(s, slot, BASE + PAGE, &busy), UVMP_ERR_RETRY);
	assert_int_equal(busy, h);
	assert_int_equal(s->ranges, 1);
	assert_true(uvmp_service_check(s));
	/* Elsewhere it may be cut. */
	assert_int_equal(split(1, BASE + WINDOW), UVMP_OK);
	assert_int_equal(split(1, BASE + WINDOW + PAGE), UVMP_OK);

	for (uint32_t i = 2; s->ranges < RANGES; i++)
		assert_int_equal(split(1, BASE + WINDOW + i * PAGE), UVMP_OK);
	assert_int_equal(split(1, BASE + WINDOW + 100u * PAGE), UVMP_ERR_SPACE);
	assert_true(uvmp_service_check(s));
}

/* After each failure the state is unchanged. */
static void test_split_no_memory(void **state)
{
	static const uint32_t enough_for[] = {0, 3, 3 + 13, 3 + 2 * 13};
	handle h;

	(void)state;
	assert_int_equal(uvmp_service_add_range(s, 1, BASE, WINDOW, RWA, UVMP_CPU), UVMP_OK);
	h = block(1, BASE);
	uvmpi_residency_make(s, block_at(s, h), 1);
	assert_non_null(uvmpi_cold_make(s, block_at(s, h)));
	for (uint32_t i = 0; i < 4; i++) {
		leave_units(enough_for[i]);
		assert_int_equal(split(1, BASE + 100u * PAGE), UVMP_ERR_NO_MEMORY);
		assert_int_equal(s->ranges, 1);
		assert_int_equal(s->live[SLAB_BLOCK], 1);
		assert_int_equal(s->live[SLAB_RESIDENCY], 2);
		assert_int_equal(block_at(s, h)->pages, 512);
		assert_true(uvmp_service_check(s));
	}
}

/* -- looking -- */

static void test_page(void **state)
{
	struct uvmp_page_state page = {.size = sizeof(page), .resident = 77};
	handle h;

	(void)state;
	assert_int_equal(uvmp_service_page(NULL, 1, BASE, &page), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_page(s, 1, BASE, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_page(s, 1, BASE, &page), UVMP_ERR_UNKNOWN);
	assert_int_equal(add(1, BASE, WINDOW), UVMP_OK);
	assert_int_equal(uvmp_service_page(s, 1, BASE + WINDOW, &page), UVMP_ERR_UNKNOWN);
	assert_int_equal(uvmp_service_page(s, 2, BASE, &page), UVMP_ERR_UNKNOWN);
	assert_int_equal(page.resident, 77);
	assert_int_equal(uvmp_service_page(s, 1, BASE, &page), UVMP_OK);
	assert_int_equal(page.resident | page.read | page.write | page.atomic, 0);

	h = block(1, BASE);
	set_pages(&give_root(h)->resident, 3, 4);
	set_pages(&uvmpi_residency_make(s, block_at(s, h), 0)->resident, 3, 5);
	set_pages(&uvmpi_residency_make(s, block_at(s, h), 0)->low, 3, 4);
	set_pages(&uvmpi_residency_make(s, block_at(s, h), 1)->high, 3, 4);
	uvmpi_residency_make(s, block_at(s, h), 0)->is_mapped = true;
	uvmpi_residency_make(s, block_at(s, h), 1)->is_mapped = true;
	assert_false(uvmp_service_check(s)); /* two homes */
	set_pages(&uvmpi_cold_make(s, block_at(s, h))->duplicated, 3, 4);
	set_pages(&uvmpi_cold_make(s, block_at(s, h))->discarded, 4, 5);
	assert_true(uvmp_service_check(s));
	assert_int_equal(uvmp_service_page(s, 1, BASE + 4u * PAGE - 1u, &page), UVMP_OK);
	assert_int_equal(page.resident, 3);
	assert_int_equal(page.read, 3);
	assert_int_equal(page.write, 2);
	assert_int_equal(page.atomic, 0);
	assert_true(page.is_duplicated);
	assert_false(page.is_discarded || page.is_pinned || page.is_thrashing);
	give_thrash(h);
	set_pages(&thrash_at(s, block_at(s, h)->thrash)->block.thrashing, 4, 6);
	set_pages(&thrash_at(s, block_at(s, h)->thrash)->block.pinned, 5, 6);
	assert_int_equal(uvmp_service_page(s, 1, BASE + 4u * PAGE, &page), UVMP_OK);
	assert_int_equal(page.resident, 1);
	assert_false(page.is_duplicated || page.is_pinned);
	assert_true(page.is_discarded && page.is_thrashing);
	assert_int_equal(uvmp_service_page(s, 1, BASE + 5u * PAGE, &page), UVMP_OK);
	assert_true(page.is_pinned);
}

/* Data that is on the CPU from the beginning is there before anybody asks. */
static void test_page_at_home(void **state)
{
	struct uvmp_page_state page = {.size = sizeof(page)}, later = {.size = sizeof(later)};

	(void)state;
	for (uint32_t right = UVMP_RIGHT_READ; right <= RWA; right++) {
		uvmp_addr base = BASE + right * WINDOW;

		assert_int_equal(uvmp_service_add_range(s, 1, base, WINDOW, (enum uvmp_right)right, UVMP_CPU),
		                 UVMP_OK);
		assert_int_equal(uvmp_service_page(s, 1, base, &page), UVMP_OK);
		assert_int_equal(page.resident, 1);
		assert_int_equal(page.read + page.write + page.atomic, right);
		(void)block(1, base);
		assert_int_equal(uvmp_service_page(s, 1, base, &later), UVMP_OK);
		assert_int_equal(later.resident, page.resident);
		assert_int_equal(later.read, page.read);
		assert_int_equal(later.write, page.write);
		assert_int_equal(later.atomic, page.atomic);
	}
}

/* -- the check -- */

/* As DAMAGE for a page of a set that changes sides. */
#define DAMAGE_PAGE(mask, page)                                                                              \
	do {                                                                                                 \
		(mask).word[(page) / 64u] ^= (uint64_t)1 << (page) % 64u;                                    \
		assert_false(uvmp_service_check(s));                                                         \
		(mask).word[(page) / 64u] ^= (uint64_t)1 << (page) % 64u;                                    \
		assert_true(uvmp_service_check(s));                                                          \
	} while (0)

static void test_check_arena(void **state)
{
	static uint8_t more[4096] __attribute__((aligned(16)));
	handle a, b;

	(void)state;
	assert_false(uvmp_service_check(NULL));
	assert_int_equal(uvmp_service_grow(s, more, sizeof(more)), UVMP_OK);
	DAMAGE(s->magic, 0);
	DAMAGE(s->segment[0].first, 1);
	DAMAGE(s->segment[1].first, s->segment[1].first + 1u);
	DAMAGE(s->segment[1].unused, s->segment[1].first - 1u);
	DAMAGE(s->segment[1].unused, s->segment[1].end + 1u);
	a = uvmpi_arena_take(s, SLAB_COLD);
	b = uvmpi_arena_take(s, SLAB_COLD);
	uvmpi_arena_give(s, SLAB_COLD, a);
	uvmpi_arena_give(s, SLAB_COLD, b);
	assert_true(uvmp_service_check(s));
	DAMAGE(*(handle *)uvmpi_arena_at(s, a), b); /* closed */
	DAMAGE(*(handle *)uvmpi_arena_at(s, a), s->segment[0].unused);
	DAMAGE(*(handle *)uvmpi_arena_at(s, a), s->segment[0].unused - 1u); /* reaches beyond */
	DAMAGE(*(handle *)uvmpi_arena_at(s, a), s->segment[1].end);
	for (uint32_t slab = 0; slab < SLAB_COUNT; slab++)
		DAMAGE(s->live[slab], s->live[slab] + 1u);
}

static void test_check_ranges(void **state)
{
	uint32_t lower, upper, other, unused;

	(void)state;
	assert_int_equal(add(1, BASE, WINDOW), UVMP_OK);
	assert_int_equal(add(1, BASE + WINDOW, WINDOW), UVMP_OK);
	assert_int_equal(add(2, BASE, WINDOW), UVMP_OK);
	assert_int_equal(uvmp_service_bind(s, 1, 0, 1, 0, 1), UVMP_OK);
	assert_int_equal(uvmp_service_bind(s, 1, 0, 2, 0, 1), UVMP_OK);
	assert_true(uvmp_service_check(s));
	lower = slot_of(1, BASE);
	upper = slot_of(1, BASE + WINDOW);
	other = slot_of(2, BASE);
	unused = s->free_range;

	DAMAGE(s->instances, INSTANCES + 1u);
	DAMAGE(s->instance[0].gpu, 0);
	DAMAGE(s->instance[0].gpu, 3);
	DAMAGE(s->instance[0].space, SPACES);
	DAMAGE(s->instance[0].space, 2);
	DAMAGE(s->instance[0].key, 2);
	DAMAGE(s->instance[0].key, 3);
	DAMAGE(s->spaces_used, SPACES + 1u);
	DAMAGE(s->ranges, RANGES + 1u);
	DAMAGE(s->range_order[0], RANGES);
	DAMAGE(s->range_order[0], upper);
	DAMAGE(s->range_order[2], lower);
	s->range_order[1] = other;
	s->range_order[2] = upper;
	assert_false(uvmp_service_check(s));
	s->range_order[1] = upper;
	s->range_order[2] = other;
	DAMAGE(s->range[lower].space, 2);
	DAMAGE(s->range[lower].space, NO_INDEX);
	DAMAGE(s->range[lower].start, BASE + 1u);
	DAMAGE(s->range[lower].last, BASE + WINDOW);
	DAMAGE(s->range[lower].last, BASE + WINDOW + PAGE - 1u);
	DAMAGE(s->range[other].last, BASE - 1u);
	DAMAGE(s->free_range, NO_INDEX);
	DAMAGE(s->free_range, RANGES);
	DAMAGE(s->range[unused].next_free, unused);
	DAMAGE(s->space[0].users, 5);
	DAMAGE(s->space[2].users, 1);
	DAMAGE(s->space[0].thrash.lapse_ns, 0);
}

/* A processor has one state in a block, and exists. Neither state has anything else that could be wrong. */
static void test_check_processors(void **state)
{
	struct residency *cpu, *gpu;
	handle h;

	(void)state;
	assert_int_equal(add(1, BASE, WINDOW), UVMP_OK);
	h = block(1, BASE);
	cpu = uvmpi_residency_make(s, block_at(s, h), UVMP_CPU);
	gpu = uvmpi_residency_make(s, block_at(s, h), 2);
	assert_true(uvmp_service_check(s));
	DAMAGE(gpu->proc, UVMP_CPU);
	DAMAGE(cpu->proc, 2);
	DAMAGE(gpu->proc, 3);
	DAMAGE(cpu->proc, 63);
	/* each alone holds a page: twice without being duplicated, or once */
	set_pages(&cpu->resident, 3, 4);
	assert_true(uvmp_service_check(s));
	cpu->is_mapped = gpu->is_mapped = true;
	DAMAGE_PAGE(cpu->low, 4); /* mapped where no processor holds it */
	DAMAGE_PAGE(gpu->low, 4);
	DAMAGE_PAGE(gpu->high, 4);
	set_pages(&gpu->low, 3, 4);
	DAMAGE(gpu->is_mapped, false);
	assert_true(uvmp_service_check(s)); /* mapped to the CPU's */
}

static void test_check_blocks(void **state)
{
	struct block *a, *b;
	uint32_t slot, bucket;
	handle ha, hb;

	(void)state;
	assert_int_equal(add(1, BASE, 2u * WINDOW), UVMP_OK);
	assert_int_equal(add(1, BASE + 2u * WINDOW, WINDOW), UVMP_OK);
	ha = block(1, BASE);
	hb = block(1, BASE + WINDOW);
	a = block_at(s, ha);
	b = block_at(s, hb);
	slot = slot_of(1, BASE);
	bucket = uvmpi_block_bucket(s, 0, BASE);
	assert_int_not_equal(bucket, uvmpi_block_bucket(s, 0, BASE + WINDOW));
	assert_true(uvmp_service_check(s));

	DAMAGE(a->chain, ha); /* closed */
	DAMAGE(a->chain, hb); /* a block in the wrong bucket */
	DAMAGE(a->chain, s->segment[0].unused);
	DAMAGE(b->chain, ha);
	DAMAGE(b->chain, s->segment[0].unused);
	DAMAGE(s->bucket[bucket], 0);
	DAMAGE(a->range, RANGES);
	DAMAGE(a->range, s->free_range);
	DAMAGE(a->range, slot_of(1, BASE + 2u * WINDOW));
	DAMAGE(a->start, BASE + PAGE);
	DAMAGE(a->start, BASE + 2u * WINDOW);
	DAMAGE(a->pages, 511);
	/* A slot that would come behind all ranges. */
	s->range[s->free_range].space = 2;
	DAMAGE(a->range, s->free_range);
	DAMAGE(s->range[slot].block, ha); /* b is in no list */
	DAMAGE(a->range_next, hb);        /* closed */
	DAMAGE(a->range_next, s->segment[0].unused);
	DAMAGE(b->range_next, s->segment[0].unused);
	DAMAGE(s->range[slot_of(1, BASE + 2u * WINDOW)].block, ha);
	s->range[slot].block = ha; /* as many in lists, but one is not its own */
	s->range[slot_of(1, BASE + 2u * WINDOW)].block = hb;
	b->range_next = 0;
	assert_false(uvmp_service_check(s));
	s->range[slot_of(1, BASE + 2u * WINDOW)].block = 0;
	b->range_next = ha;
	s->range[slot].block = hb;
	assert_true(uvmp_service_check(s));
}

static void test_check_places(void **state)
{
	struct residency *cpu, *gpu;
	struct thrash *t;
	struct block *b;
	handle h;

	(void)state;
	assert_int_equal(uvmp_service_add_range(s, 1, BASE, 100u * PAGE, RWA, UVMP_CPU), UVMP_OK);
	h = block(1, BASE);
	b = block_at(s, h);
	cpu = uvmpi_residency_find(s, b, UVMP_CPU);
	gpu = uvmpi_residency_make(s, b, 2);
	give_tree(h);
	give_thrash(h);
	t = thrash_at(s, b->thrash);
	assert_true(uvmp_service_check(s));

	DAMAGE(b->residency, s->segment[0].unused);
	DAMAGE(cpu->next, b->residency); /* closed */
	DAMAGE(cpu->next, s->segment[0].unused);
	DAMAGE(gpu->proc, 3);
	DAMAGE(gpu->proc, UVMP_CPU);
	DAMAGE(b->residency, gpu->next); /* one is lost */
	DAMAGE(cpu->has_memory, true);
	DAMAGE(gpu->has_memory, true); /* it has none */
	DAMAGE_PAGE(gpu->resident, 1);
	DAMAGE_PAGE(cpu->resident, 1); /* mapped, nowhere resident */
	DAMAGE_PAGE(cpu->resident, 100);
	DAMAGE_PAGE(gpu->low, 100);
	DAMAGE_PAGE(cold_at(s, b->cold)->duplicated, 100);
	DAMAGE_PAGE(cold_at(s, b->cold)->discarded, 100);
	DAMAGE(cold_at(s, b->cold)->tree, 0);
	DAMAGE(cold_at(s, b->cold)->tree, s->segment[0].unused);
	DAMAGE(((struct uvmp_tree *)uvmpi_arena_at(s, cold_at(s, b->cold)->tree))->blocks, 3);
	DAMAGE(b->cold, 0);
	DAMAGE(b->cold, s->segment[0].unused);
	DAMAGE(b->thrash, 0);
	DAMAGE(b->thrash, s->segment[0].unused);
	DAMAGE(t->block.id, h + 1u);
	DAMAGE(t->block.pages, 0);
	DAMAGE(t->block.pages, 99);
	DAMAGE(t->block.memory, t->block.memory + 1);
}

/* Roots, and chunks of a smaller block. */
static void test_check_memory(void **state)
{
	struct residency *whole, *small;
	handle hw, hs;
	struct chunk_map *sub;

	(void)state;
	assert_int_equal(add(1, BASE, WINDOW + 40u * PAGE), UVMP_OK);
	hw = block(1, BASE);
	hs = block(1, BASE + WINDOW);
	whole = give_root(hw);
	set_pages(&whole->resident, 0, 512);
	uvmpi_residency_map(whole, &whole->resident, RWA);
	small = give_chunk(hs, 0);
	(void)give_chunk(hs, 33);
	set_pages(&small->resident, 4, 9);
	set_pages(&small->resident, 33, 34);
	sub = chunk_map_at(s, small->memory);
	assert_int_equal(sub->chunk[0].size, UVMP_CHUNK_64K);
	assert_int_equal(sub->chunk[33].size, UVMP_CHUNK_4K);
	assert_true(uvmp_service_check(s));

	DAMAGE(whole->has_memory, false);
	DAMAGE(whole->memory, 4);
	DAMAGE(whole->memory, 3);                  /* in the pool */
	DAMAGE(whole->memory, sub->chunk[0].root); /* split */
	DAMAGE(s->gpu[1].pmm->root[whole->memory].body, hs);
	DAMAGE(s->gpu[1].pmm->in_pool, 4);
	DAMAGE(s->gpu[1].used_pages, s->gpu[1].capacity_pages + 1u);
	DAMAGE(s->gpu[2].used_pages, 1);
	set_pages(&uvmpi_residency_make(s, block_at(s, hw), UVMP_CPU)->resident, 1, 2);
	set_pages(&uvmpi_cold_make(s, block_at(s, hw))->duplicated, 1, 2);
	DAMAGE_PAGE(cold_at(s, block_at(s, hw)->cold)->duplicated, 1); /* two homes */

	DAMAGE(small->memory, 0);
	DAMAGE(small->memory, s->segment[0].unused);
	DAMAGE_PAGE(small->resident, 20); /* no chunk */
	DAMAGE_PAGE(sub->backed, 34);     /* as before */
	DAMAGE_PAGE(sub->backed, 33);
	DAMAGE_PAGE(sub->backed, 0);
	DAMAGE_PAGE(sub->backed, 15);
	DAMAGE_PAGE(sub->backed, 40); /* beyond the block */
	DAMAGE(sub->chunk[0].size, UVMP_CHUNK_2M);
	DAMAGE(sub->chunk[0].size, UVMP_CHUNK_4K);
	DAMAGE(sub->chunk[0].root, 4);
	DAMAGE(sub->chunk[0].root, whole->memory);
	DAMAGE(sub->chunk[0].page, 512);
	DAMAGE(sub->chunk[0].page, sub->chunk[33].page);
	DAMAGE(sub->chunk[0].page, sub->chunk[0].page + 1u);
	DAMAGE(sub->chunk[33].page, 500); /* not split, but free */
	DAMAGE(sub->chunk[33].page, sub->chunk[33].page + 1u);
	DAMAGE(s->gpu[1]
	               .pmm->split[s->gpu[1].pmm->root[sub->chunk[0].root].body]
	               .slot[sub->chunk[0].page]
	               .next,
	       hw);
	(void)uvmp_pmm_unpin(s->gpu[1].pmm, (struct uvmp_chunk){whole->memory, 0, UVMP_CHUNK_2M});
	assert_true(uvmp_service_check(s));
}

/* A chunk that waits for its block has an owner too. */
static void test_check_parked(void **state)
{
	struct parked *parked = &s->parked[PARKED_MAX - 1u];
	handle h;

	(void)state;
	assert_int_equal(add(1, BASE, WINDOW), UVMP_OK);
	h = block(1, BASE);
	assert_int_equal(uvmp_pmm_alloc(s->gpu[1].pmm, UVMP_CHUNK_USER, UVMP_CHUNK_2M, h, &parked->chunk),
	                 UVMP_OK);
	assert_false(uvmp_service_check(s));
	parked->block = h;
	parked->gpu = 1;
	parked->is_set = true;
	assert_true(uvmp_service_check(s));
	DAMAGE(parked->gpu, 2);
	DAMAGE(parked->is_set, false);
}

/* Orders that count pages. */
static void test_check_units(void **state)
{
	struct gpu *g;
	struct residency *p;
	uvmp_mask some;
	enum uvmp_chunk_size size;
	handle h, other;

	(void)state;
	make(UVMP_EVICT_LRU_4K, PAGE, 4, 65536);
	g = &s->gpu[1];
	assert_int_equal(add(1, BASE, 40u * PAGE), UVMP_OK);
	assert_int_equal(add(1, BASE + WINDOW, WINDOW), UVMP_OK);
	h = block(1, BASE);
	other = block(1, BASE + WINDOW);
	p = uvmpi_residency_make(s, block_at(s, h), 1);
	uvmp_mask_zero(&some);
	set_pages(&some, 2, 5);
	assert_int_equal(
		uvmpi_memory_back(s, 1, h, &(struct arriving){&some, &some, UVMP_CAUSE_DEMAND}, &size),
		BACKING_DONE);
	uvmpi_memory_used(s, 1, h, &some, true);
	p->resident = some;
	assert_true(p->has_memory);
	assert_true(uvmp_service_check(s));

	DAMAGE(p->memory, 4);
	DAMAGE(p->memory, 1);
	DAMAGE(g->unit_block[p->memory], other);
	DAMAGE(g->unit_used[p->memory], 2);
	DAMAGE(g->used_pages, 2);
	DAMAGE_PAGE(p->resident, 7);
	/* what may leave, or not, but for while something comes or goes */
	(void)uvmp_evict_remove(&g->order, p->memory * 512u + 3u);
	assert_false(uvmp_service_check(s));
	s->active = s->run.servicing;
	assert_true(uvmp_service_check(s));
	s->active = NULL;
	(void)uvmp_evict_touch(&g->order, p->memory * 512u + 3u);
	assert_true(uvmp_service_check(s));
	(void)uvmp_evict_touch(&g->order, p->memory * 512u + 5u);
	assert_false(uvmp_service_check(s));
	(void)uvmp_evict_remove(&g->order, p->memory * 512u + 5u);
	g->cyclic.block = &(struct uvmp_cyclic_block){.is_pinned = true};
	assert_false(uvmp_service_check(s)); /* pinned, and in the order */
	g->cyclic.block = NULL;
	assert_true(uvmp_service_check(s));
	/* A small block has no struct chunk_map here. */
	uvmpi_block_remove(s, h);
	assert_int_equal(s->live[SLAB_RESIDENCY], 0);
}

/* -- against a list of pages -- */

#define PROP_PAGES 1200u /* two windows and a bit, of one space */

/* Which range a page is in (0: none; numbered as they come), and whether it begins one. */
struct naive {
	uint32_t range[PROP_PAGES];
	bool is_cut[PROP_PAGES + 1u];
};

static bool naive_add(struct naive *n, uint32_t first, uint32_t pages, uint32_t number)
{
	for (uint32_t i = first; i < first + pages; i++)
		if (n->range[i] != 0)
			return false;
	for (uint32_t i = first; i < first + pages; i++) {
		n->range[i] = number;
		n->is_cut[i] = false;
	}
	n->is_cut[first] = true;
	if (first + pages < PROP_PAGES)
		n->is_cut[first + pages] = true;
	return true;
}

static void naive_compare(const struct naive *n)
{
	for (uint32_t i = 0; i < PROP_PAGES; i += 7u) {
		uvmp_addr address = BASE + (uint64_t)i * PAGE;
		uint32_t index = uvmpi_range_find(s, uvmpi_space_find(s, 1), address);
		uint32_t first = i, end = i + 1u;

		assert_int_equal(index == NO_INDEX, n->range[i] == 0);
		if (index == NO_INDEX)
			continue;
		while (!n->is_cut[first])
			first--;
		while (end < PROP_PAGES && !n->is_cut[end])
			end++;
		assert_int_equal(s->range[s->range_order[index]].start, BASE + (uint64_t)first * PAGE);
		assert_int_equal(s->range[s->range_order[index]].last, BASE + (uint64_t)end * PAGE - 1u);
	}
}

static void naive_remove(struct naive *n, uint32_t slot)
{
	uint32_t first = (uint32_t)((s->range[slot].start - BASE) / PAGE);
	uint32_t end = (uint32_t)((s->range[slot].last + 1u - BASE) / PAGE);

	while (s->range[slot].block != 0)
		uvmpi_block_remove(s, s->range[slot].block);
	uvmpi_range_remove(s, uvmpi_range_from(s, s->range[slot].space, s->range[slot].start), 1);
	for (uint32_t i = first; i < end; i++)
		n->range[i] = 0;
}

static void run_random(uint64_t random)
{
	struct naive n;

	memset(&n, 0, sizeof(n));
	make(UVMP_EVICT_LRU, PAGE, 2, 65536);
	for (uint32_t event = 1; event <= 2000; event++) {
		uint32_t page = (uint32_t)uvmp_random_below(&random, PROP_PAGES);
		uint32_t pages = 1u + (uint32_t)uvmp_random_below(&random, PROP_PAGES - page);
		uvmp_addr address = BASE + (uint64_t)page * PAGE;
		uint32_t home = uvmp_random_below(&random, 2) != 0 ? UVMP_CPU : NO_HOME;
		enum uvmp_status status;
		handle busy;

		switch (uvmp_random_below(&random, 8)) {
		case 0:
		case 1:
			status = uvmp_service_add_range(s, 1, address, (uint64_t)pages * PAGE, RWA, home);
			if (status != UVMP_ERR_SPACE)
				assert_int_equal(status == UVMP_OK, naive_add(&n, page, pages, event));
			break;
		case 2:
			if (n.range[page] != 0)
				naive_remove(&n, slot_of(1, address));
			break;
		case 3:
		case 4:
			if (n.range[page] == 0)
				break;
			status = uvmpi_range_split(s, slot_of(1, address), address, &busy);
			assert_true(status == UVMP_OK || status == UVMP_ERR_SPACE);
			n.is_cut[page] |= status == UVMP_OK;
			break;
		default:
			uvmpi_block_make(s, uvmpi_space_find(s, 1), address, &status);
			assert_int_equal(status, n.range[page] != 0 ? UVMP_OK : UVMP_ERR_UNKNOWN);
			break;
		}
		assert_true(uvmp_service_check(s));
		if (event % 16u == 0)
			naive_compare(&n);
	}
}

static void test_random(void **state)
{
	(void)state;
	run_random(1);
	run_random(test_seed());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_spaces, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_bind, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_bind_errors, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_add_range_errors, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_add_range_overlaps, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_add_range_spaces, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_find_and_cover, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_blocks, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_buckets_grow, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_buckets_spread, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_buckets_without_space, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_64k_pages, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_home, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_remove_gives_all_back, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_places, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_split_between_blocks, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_split_block, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_split_errors, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_split_no_memory, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_page, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_page_at_home, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_check_arena, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_check_ranges, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_check_blocks, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_check_processors, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_check_places, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_check_memory, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_check_parked, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_check_units, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_random, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
