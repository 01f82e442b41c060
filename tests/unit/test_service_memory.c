/* The memory of the engine's GPUs (memory*.c), called from inside: what a service step would ask for
 * is asked here, and the queue is completed by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/engine_internals.h"
#include "evict/evict_mhpe_internal.h"
#include "evict/lfu2m_internal.h"
#include "support/arena.h"

#define MIB2  0x200000u
#define BASE  0x40000000u
#define SMALL (0x80000000u + 5u * 4096u) /* 507 pages, 5 pages behind a boundary of 64 KiB [driver: root-chunks] */
#define TINY  0x90000000u                /* 32 pages: two chunks of 64 KiB */
#define EIGHT (BASE + 0x100000000ull)    /* 512 KiB */
#define SPACE 7u
#define ARENA (24u << 20)

static struct uvmp_service *s;
static void *arena;
static uint32_t slot;   /* of the space */
static char seen[2048]; /* kinds of the actions since forget(), a letter each; of copies a letter for each transfer */
static struct uvmp_action last[UVMP_ACTION_COUNT];
static uint32_t fail_kind, fail_skip; /* which action fails: this many of the kind succeed before */

static struct uvmp_policy policy;
static struct uvmp_processors processors;
static struct uvmp_service_gpu gpus[2];
static struct uvmp_service_params params;

/* State of evict=lfu2m on GPU 1. */
static const struct frequency *frequency_of(const struct uvmp_service *service)
{
	return service->gpu[1].order.state;
}

/* State of evict=mhpe on GPU 1. */
static const struct mhpe *mhpe_of(const struct uvmp_service *service)
{
	return service->gpu[1].order.state;
}

static void forget(void)
{
	seen[0] = 0;
	memset(last, 0, sizeof(last));
	fail_kind = UVMP_ACTION_COUNT;
	fail_skip = 0;
}

static void prepare(const char *text, uint32_t page_bytes, uint64_t roots, uint32_t splits)
{
	uvmp_policy_init(&policy);
	assert_int_equal(uvmp_policy_parse(text, strlen(text), &policy, NULL), UVMP_OK);
	memset(&processors, 0, sizeof(processors));
	processors.count = 3;
	for (uint32_t p = 0; p < 3; p++)
		processors.can_access[p] = processors.native_atomics[p] = 7;
	for (uint32_t i = 0; i < 2; i++)
		gpus[i] = (struct uvmp_service_gpu){
		        .size = sizeof(struct uvmp_service_gpu),
		         .memory_bytes = roots * MIB2, .splits = splits, .fault_entries = 16, .utlbs = 1};
	params = (struct uvmp_service_params){.size = sizeof(struct uvmp_service_params),
	                                      .policy = &policy,
	                                      .processors = &processors,
	                                      .gpu = gpus,
	                                      .page_bytes = page_bytes,
	                                      .blocks = 16,
	                                      .spaces = 1,
	                                      .ranges = 4,
	                                      .instances = 1,
	                                      .requests = 1,
	                                      .seed = 5};
	forget();
}

static void start(size_t spare)
{
	size_t bytes = uvmp_service_size(&params, 0) + spare;

	assert_true(bytes <= ARENA);
	assert_int_equal(uvmp_service_init(&params, arena, bytes, &s), UVMP_OK);
	assert_int_equal(uvmp_service_add_range(s, SPACE, BASE, 64ull * MIB2, UVMP_RIGHT_READ_WRITE_ATOMIC,
	                                        UVMP_PROC_NONE),
	                 UVMP_OK);
	slot = uvmpi_space_find(s, SPACE);
}

static void add_ranges(uint32_t page_bytes)
{
	start(1u << 20);
	assert_int_equal(uvmp_service_add_range(s, SPACE, SMALL, 507u * 4096u, UVMP_RIGHT_READ_WRITE_ATOMIC,
	                                        UVMP_PROC_NONE),
	                 page_bytes == 4096u ? UVMP_OK : UVMP_ERR_RANGE);
	assert_int_equal(
	        uvmp_service_add_range(s, SPACE, TINY, 0x20000, UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_PROC_NONE),
	        UVMP_OK);
}

static void open(const char *text, uint32_t page_bytes, uint64_t roots, uint32_t splits)
{
	prepare(text, page_bytes, roots, splits);
	add_ranges(page_bytes);
}

static handle at(uvmp_addr address)
{
	enum uvmp_status status;
	handle h = uvmpi_block_make(s, slot, address, &status);

	assert_int_equal(status, UVMP_OK);
	return h;
}

static handle block(uint32_t i)
{
	return at(BASE + (uint64_t)i * MIB2);
}

static struct residency *place(handle h, uint32_t proc)
{
	return uvmpi_residency_find(s, block_at(s, h), proc);
}

static uvmp_mask pages(uint32_t first, uint32_t end)
{
	uvmp_mask mask;

	uvmp_mask_zero(&mask);
	uvmp_mask_region_set(&mask, (struct uvmp_region){first, end});
	return mask;
}

/* The outcome of an action, or of a transfer. */
static bool fails(const struct uvmp_action *a)
{
	return a->kind == fail_kind && fail_skip-- == 0;
}

/* As many transfers as follow, each with an outcome of its own: fills in what uvmp_service_complete_pages would. */
static size_t move(struct uvmp_action *a, uint8_t *done)
{
	uvmp_mask moved = {{0}};
	size_t count = 0;

	for (struct uvmp_region t = uvmp_action_next_transfer(a, 0); t.end != 0;
	     t = uvmp_action_next_transfer(a, t.end), count++) {
		if (fails(a))
			*done = 1 - UVMP_ERR_STATE;
		else
			uvmp_mask_region_set(&moved, t);
	}
	a->cuts = moved;
	return count;
}

/* All that is queued is completed. */
static void drain(void)
{
	static const char letter[] = "BAPCUMRED-"; /* the rest: F */
	size_t n = strlen(seen);

	if (s->is_drained)
		return;
	for (uint32_t i = 0; i < s->actions; i++) {
		struct uvmp_action *a = &s->action[i];

		size_t count = 1;

		last[a->kind] = *a;
		s->done[i] = 1;
		if (a->kind == UVMP_ACTION_COPY || a->kind == UVMP_ACTION_POPULATE)
			count = move(a, &s->done[i]);
		else if (fails(a))
			s->done[i] = 1 - UVMP_ERR_STATE;
		s->has_failed |= s->done[i] != 1;
		while (count-- > 0)
			seen[n++] = a->kind < UVMP_ACTION_FREE ? letter[a->kind] : 'F';
	}
	seen[n] = 0;
	s->handed = s->completed = s->actions;
	s->is_drained = s->actions != 0;
}

static enum uvmp_status evict_start(uint32_t gpu, enum uvmp_chunk_size size, bool is_ahead)
{
	struct servicing *servicing = s->fault.servicing;

	return uvmpi_evict_start(s, &servicing->eviction, &servicing->job, gpu, size, is_ahead);
}

static bool evict_ahead(uint32_t gpu, uvmp_addr for_address)
{
	struct servicing *servicing = s->fault.servicing;

	return uvmpi_evict_ahead(s, &servicing->eviction, &servicing->job, gpu, for_address);
}

static bool evict_trim(uint32_t gpu, uvmp_addr for_address)
{
	return uvmpi_evict_trim(s, &s->fault.servicing->eviction, gpu, for_address);
}

static enum uvmp_status evict(void)
{
	while (s->fault.servicing->eviction.phase != EVICT_IDLE) {
		uvmpi_evict_advance(s, &s->fault.servicing->eviction);
		drain();
	}
	return s->fault.servicing->eviction.status;
}

/* Asks for memory as a step does, and starts the eviction that the answer asks for. */
static enum backing back(handle h, uint32_t gpu, const uvmp_mask *mask)
{
	const struct job *job = &s->fault.servicing->job;
	const struct arriving arriving = {mask, &job->faulted, job->cause};
	enum uvmp_chunk_size size;
	enum backing backing;

	if (uvmpi_residency_make(s, block_at(s, h), gpu) == NULL)
		return BACKING_FAILED;
	backing = uvmpi_memory_back(s, gpu, h, &arriving, &size);
	if (backing == BACKING_NEED_ROOM && evict_start(gpu, size, false) != UVMP_OK)
		return BACKING_FAILED;
	return backing;
}

/* As a step does, without copies. */
static enum uvmp_status bring(handle h, uint32_t gpu, uvmp_mask mask)
{
	enum backing backing;

	s->fault.servicing->job.block = h;
	s->fault.servicing->job.cause = UVMP_CAUSE_DEMAND;
	s->fault.servicing->job.faulted = pages(0, 1);
	do {
		backing = back(h, gpu, &mask);
		drain();
		if (backing == BACKING_NEED_ROOM && evict() != UVMP_OK)
			return s->fault.servicing->eviction.status;
		if (backing == BACKING_NEED_TABLES && !uvmpi_memory_grow(s, gpu))
			return UVMP_ERR_ARENA;
	} while (backing == BACKING_NEED_ROOM || backing == BACKING_NEED_TABLES);
	if (backing != BACKING_DONE)
		return UVMP_ERR_NO_MEMORY;
	uvmp_mask_or(&place(h, gpu)->resident, &place(h, gpu)->resident, &mask);
	uvmpi_memory_used(s, gpu, h, &mask, !s->fault.servicing->job.is_follow);
	return UVMP_OK;
}

static void have(handle h, uint32_t gpu, uint32_t first, uint32_t end)
{
	assert_int_equal(bring(h, gpu, pages(first, end)), UVMP_OK);
	uvmpi_memory_settle(s);
	if (s->gpu[gpu].pmm)
		assert_true(uvmp_pmm_check(s->gpu[gpu].pmm));
}

static uint32_t resident(handle h, uint32_t proc)
{
	return place(h, proc) ? uvmp_mask_weight(&place(h, proc)->resident) : 0;
}

static uint32_t first_of(enum uvmp_pmm_list list)
{
	return uvmp_pmm_first(s->gpu[1].pmm, list);
}

/* -- setting up -- */

static void sizes(void **state)
{
	struct uvmp_pmm_params pmm = {
	        .roots = 4, .splits = 4, .batch_order = 6, .is_zeroed = true, .quirks = true};

	(void)state;
	prepare("preset=nvidia-595", 4096, 4, 4);
	assert_int_equal(uvmpi_memory_size(&params, 1), uvmp_pmm_size(&pmm));
	gpus[0].splits = 9; /* at most the roots */
	assert_int_equal(uvmpi_memory_size(&params, 1), uvmp_pmm_size(&pmm));
	gpus[0].splits = 2;
	assert_true(uvmpi_memory_size(&params, 1) < uvmp_pmm_size(&pmm));
	gpus[0].memory_bytes = MIB2 - 1u;
	assert_int_equal(uvmpi_memory_size(&params, 1), 0);
	prepare("evict=lru2m", 4096, 4, 4);
	assert_int_equal(uvmpi_memory_size(&params, 1), 64 + 32 + 128 + 8 * 16 + uvmp_evict_size(UVMP_EVICT_LRU_2M, 16));
	prepare("evict=tbne", 4096, 4, 4);
	assert_int_equal(uvmpi_memory_size(&params, 1), 64 + 32 + 128 * 32 + 8 * 16 * 32 + uvmp_evict_size(UVMP_EVICT_TBN, 16 * 32));
	prepare("evict=lfu2m", 4096, 4, 4);
	assert_int_equal(uvmpi_memory_size(&params, 1), 64 + 32 + 128 + 8 * 16 + uvmp_evict_size(UVMP_EVICT_LFU_2M, 16));
	prepare("evict=lru4k", 4096, 4, 4);
	assert_int_equal(uvmpi_memory_size(&params, 1), 64 + 32 + 8 * 16 * 512 + uvmp_evict_size(UVMP_EVICT_LRU_4K, 16 * 512));
	params.blocks = 1u << 24; /* too many units */
	assert_int_equal(uvmpi_memory_size(&params, 1), 0);
	open("preset=nvidia-595", 4096, 4, 4);
	assert_int_equal(uvmpi_memory_init(s, &params, 1, arena, 0), UVMP_ERR_RANGE);
}

static void without_memory(void **state)
{
	uvmp_mask none = pages(0, 0);

	(void)state;
	prepare("preset=nvidia-595", 4096, 4, 4);
	gpus[1].memory_bytes = gpus[1].splits = 0;
	processors.no_memory = 4;
	start(1u << 20);
	assert_int_equal(bring(block(0), 2, pages(0, 1)), UVMP_ERR_NO_MEMORY);
	uvmpi_memory_used(s, 2, block(0), &none, true);
	uvmpi_memory_left(s, 2, block(0), &none, false);
	uvmpi_memory_free(s, 2, block(0));
	uvmpi_memory_used(s, 1, block(0), &none, true);
	uvmpi_memory_left(s, 1, block(0), &none, false);
	uvmpi_memory_free(s, 1, block(0));
	uvmpi_memory_touch(s, 1, block(0), 0);
	uvmpi_memory_cuts(s, block_at(s, block(0)), 2, &none);
	uvmpi_memory_unback(s, 2, block(0), &none);
	assert_true(uvmp_mask_is_empty(&none));
	assert_int_equal(evict_start(2, UVMP_CHUNK_2M, false), UVMP_ERR_NO_MEMORY);
	assert_string_equal(seen, "");
}

/* -- evict=lru -- */

static void whole_blocks(void **state)
{
	handle a, b, c;

	(void)state;
	open("preset=nvidia-595", 4096, 2, 2);
	a = block(0);
	b = block(1);
	c = block(2);
	have(a, 1, 0, 16);
	assert_string_equal(seen, "A");
	assert_int_equal(last[UVMP_ACTION_ALLOCATE].detail, MIB2);
	assert_int_equal(last[UVMP_ACTION_ALLOCATE].to, 1);
	assert_int_equal(last[UVMP_ACTION_ALLOCATE].cause, UVMP_CAUSE_DEMAND);
	assert_int_equal(uvmp_mask_weight(&last[UVMP_ACTION_ALLOCATE].pages), 512);
	assert_false(uvmpi_memory_is_full(s, 1));
	have(b, 1, 0, 512);
	assert_int_equal(last[UVMP_ACTION_ALLOCATE].offset, MIB2);
	assert_true(uvmpi_memory_is_full(s, 1));
	have(a, 1, 16, 20); /* serviced again: the newest; its chunk is there */
	assert_string_equal(seen, "AA");
	assert_int_equal(first_of(UVMP_PMM_USED), 1);
	forget();
	assert_non_null(uvmpi_cold_make(s, block_at(s, b)));
	uvmpi_residency_map(place(b, 1), &place(b, 1)->resident, UVMP_RIGHT_READ_WRITE);
	have(c, 1, 0, 1);
	assert_string_equal(seen, "EUCA");
	assert_int_equal(last[UVMP_ACTION_EVICT].from, 1);
	assert_int_equal(last[UVMP_ACTION_EVICT].victim, UVMP_VICTIM_USED);
	assert_int_equal(last[UVMP_ACTION_EVICT].offset, MIB2);
	assert_int_equal(last[UVMP_ACTION_EVICT].detail, MIB2);
	assert_int_equal(last[UVMP_ACTION_EVICT].address, BASE + MIB2);
	assert_int_equal(last[UVMP_ACTION_EVICT].for_address, BASE + 2u * MIB2);
	assert_int_equal(last[UVMP_ACTION_ALLOCATE].offset, MIB2);
	assert_int_equal(resident(b, 1), 0);
	assert_int_equal(resident(b, UVMP_CPU), 512);
	assert_false(place(b, 1)->has_memory);
	assert_true(place(c, 1)->has_memory);
	assert_int_equal(place(c, 1)->memory, 1);
	assert_true(uvmp_service_check(s));
}

/* A block of 2 MiB takes memory with its first page, and keeps it if no page is named. */
static void no_pages(void **state)
{
	uvmp_mask none = {{0}};
	const struct arriving arriving = {&none, &none, UVMP_CAUSE_DEMAND};
	enum uvmp_chunk_size size;

	(void)state;
	open("preset=nvidia-595", 4096, 2, 2);
	assert_non_null(uvmpi_residency_make(s, block_at(s, block(0)), 1));
	assert_int_equal(uvmpi_memory_back(s, 1, block(0), &arriving, &size), BACKING_DONE);
	assert_false(place(block(0), 1)->has_memory);
	have(block(0), 1, 0, 1);
	uvmpi_memory_unback(s, 1, block(0), &none);
	assert_true(place(block(0), 1)->has_memory);
}

/* [driver: root-queues, victim-choice]: UNUSED before DISCARDED before USED. */
static void victims_by_list(void **state)
{
	uvmp_mask all = pages(0, 512);

	(void)state;
	open("preset=nvidia-595", 4096, 3, 3);
	for (uint32_t i = 0; i < 3; i++)
		have(block(i), 1, 0, 2);
	uvmpi_memory_mark(s, 1, block(1), UVMP_MARK_DISCARDED);
	all = pages(0, 1);
	uvmpi_memory_left(s, 1, block(2), &all, false); /* one of two: not empty */
	assert_int_equal(first_of(UVMP_PMM_UNUSED), UVMP_ROOT_NONE);
	all = pages(0, 2);
	uvmpi_depart(s, block(2), uvmpi_residency_find(s, block_at(s, block(2)), 1), &all, DEPART_MOVED);
	assert_int_equal(first_of(UVMP_PMM_UNUSED), 2);
	s->fault.servicing->job.block = block(4);
	forget();
	assert_int_equal(evict_start(1, UVMP_CHUNK_2M, false), UVMP_OK);
	assert_int_equal(evict(), UVMP_OK);
	assert_string_equal(seen, "E"); /* nothing resident */
	assert_int_equal(last[UVMP_ACTION_EVICT].victim, UVMP_VICTIM_UNUSED);
	assert_int_equal(last[UVMP_ACTION_EVICT].for_address, block_at(s, block(4))->start);
	have(block(4), 1, 0, 1);
	have(block(5), 1, 0, 1);
	assert_int_equal(last[UVMP_ACTION_EVICT].victim, UVMP_VICTIM_DISCARDED);
	have(block(6), 1, 0, 1);
	assert_int_equal(last[UVMP_ACTION_EVICT].victim, UVMP_VICTIM_USED);
	assert_int_equal(last[UVMP_ACTION_EVICT].address, BASE);
	/* ahead: the root goes back to the pool, and the next allocation finds it */
	assert_int_equal(evict_start(1, UVMP_CHUNK_2M, true), UVMP_OK);
	assert_int_equal(evict(), UVMP_OK);
	assert_false(uvmpi_memory_is_full(s, 1));
	forget();
	have(block(7), 1, 0, 1);
	assert_string_equal(seen, "A");
}

static void free_victim(void **state)
{
	(void)state;
	open("preset=nvidia-595", 4096, 2, 2);
	have(block(0), 1, 0, 1);
	assert_false(uvmpi_memory_is_full(s, 1)); /* of the batch of 64 from the pool one root is free */
	assert_int_equal(evict_start(1, UVMP_CHUNK_2M, true), UVMP_OK);
	assert_int_equal(s->fault.servicing->eviction.victim, UVMP_VICTIM_FREE);
	assert_int_equal(evict(), UVMP_OK);
	assert_false(uvmpi_memory_is_full(s, 1));
	assert_string_equal(seen, "A");
}

/* [driver: root-chunks]: 507 pages that begin 5 pages behind a boundary: 11 chunks of 4 KiB and 31 of 64
 * KiB. */
static void small_blocks(void **state)
{
	uvmp_mask some = pages(10, 28), cuts = pages(0, 0);
	handle h;

	(void)state;
	open("preset=nvidia-595", 4096, 2, 2);
	h = at(SMALL);
	assert_int_equal(bring(h, 1, pages(0, 507)), UVMP_OK);
	assert_int_equal(strlen(seen), 42);
	assert_int_equal(last[UVMP_ACTION_ALLOCATE].detail, 65536);
	assert_int_equal(last[UVMP_ACTION_ALLOCATE].cause, UVMP_CAUSE_PREFETCH);
	assert_int_equal(s->live[SLAB_CHUNK_MAP], 1);
	uvmpi_memory_settle(s);
	uvmpi_memory_cuts(s, block_at(s, h), 1, &cuts);
	/* one 64 KiB chunk was split for the 11 pages: its last 5 pages lie between them and the next chunk
	 */
	assert_int_equal(uvmp_mask_weight(&cuts), 2);
	assert_true(uvmp_mask_test(&cuts, 0) && uvmp_mask_test(&cuts, 11));
	/* what holds something stays */
	place(h, 1)->resident = pages(11, 12);
	uvmpi_memory_unback(s, 1, h, &some);
	uvmp_mask_zero(&cuts);
	uvmpi_memory_cuts(s, block_at(s, h), 1, &cuts);
	assert_int_equal(uvmp_mask_weight(&cuts), 3); /* and behind the hole */
	forget();
	assert_int_equal(bring(h, 1, pages(0, 507)), UVMP_OK);
	assert_string_equal(seen, "AA");
	uvmpi_memory_unback(s, 1, h, &some); /* resident now */
	assert_int_equal(s->pinned_count, 2);
	forget();
	uvmpi_memory_free(s, 1, h);
	drain();
	assert_int_equal(strlen(seen), 42);
	assert_int_equal(last[UVMP_ACTION_FREE].from, 1);
	assert_int_equal(last[UVMP_ACTION_FREE].detail, 65536);
	assert_int_equal(s->pinned_count, 0);
	assert_int_equal(s->live[SLAB_CHUNK_MAP], 0);
	assert_false(place(h, 1)->has_memory);
	uvmpi_memory_settle(s);
	assert_true(uvmp_pmm_check(s->gpu[1].pmm));
}

/* The host refuses what was just allocated. */
static void refused_allocation(void **state)
{
	uvmp_mask one = pages(0, 1);
	handle h;

	(void)state;
	open("preset=nvidia-595", 4096, 1, 1);
	h = block(0);
	assert_int_equal(back(h, 1, &one), BACKING_DONE);
	drain();
	assert_int_equal(s->pinned_count, 1);
	uvmpi_memory_unback(s, 1, h, &one);
	assert_int_equal(s->pinned_count, 0);
	assert_false(place(h, 1)->has_memory);
	uvmpi_memory_unback(s, 1, h, &one);
	uvmpi_memory_settle(s);
	assert_true(uvmp_pmm_in_pool(s->gpu[1].pmm, 0));
	have(block(1), 1, 0, 1);
	/* two pinned blocks, one of which is freed */
	open("preset=nvidia-595", 4096, 4, 1);
	for (uint32_t i = 0; i < 3; i++) {
		h = block(i);
		assert_int_equal(back(h, 1 + i / 2u, &one), BACKING_DONE);
		drain();
	}
	uvmpi_memory_unback(s, 1, block(1), &one);
	assert_int_equal(s->pinned_count, 2);
	assert_int_equal(s->pinned[1].block, block(2));
	uvmpi_memory_unback(s, 2, block(2), &one);
	assert_int_equal(s->pinned_count, 1);
	uvmpi_memory_settle(s);
}

static void big_pages(void **state)
{
	handle h;

	(void)state;
	open("preset=nvidia-595", 65536, 1, 1);
	h = block(0);
	have(h, 1, 0, 32);
	assert_int_equal(last[UVMP_ACTION_ALLOCATE].detail, MIB2);
	forget();
	h = at(TINY);
	have(h, 1, 1, 2);
	assert_string_equal(seen, "ECA");
	assert_int_equal(uvmp_mask_weight(&last[UVMP_ACTION_EVICT].pages), 32);
	assert_int_equal(last[UVMP_ACTION_ALLOCATE].detail, 65536);
	have(h, 1, 0, 1);
	assert_int_equal(last[UVMP_ACTION_ALLOCATE].offset, 65536);
}

/* Two blocks in one root leave one after the other; a discarded page is not worth a copy, a duplicate has one
 * elsewhere. */
static void shared_root(void **state)
{
	struct uvmp_tree *tree;
	struct cold *extra;
	handle a, b;

	(void)state;
	open("preset=nvidia-595", 4096, 1, 1);
	a = at(SMALL);
	b = at(TINY);
	have(a, 1, 11, 21); /* one chunk */
	have(b, 1, 0, 32);
	extra = uvmpi_cold_make(s, block_at(s, b));
	extra->discarded = pages(0, 2);
	extra->duplicated = pages(4, 8);
	extra->tree = uvmpi_arena_take(s, SLAB_TREE);
	tree = uvmpi_arena_at(s, extra->tree);
	uvmp_tree_init(tree, 2);
	uvmp_tree_add(tree, 3, 16, true);
	assert_non_null(uvmpi_residency_make(s, block_at(s, b), 2));
	assert_non_null(uvmpi_residency_make(s, block_at(s, b), UVMP_CPU));
	place(b, 2)->resident = pages(4, 6);
	place(b, UVMP_CPU)->resident = pages(5, 8);
	s->range[block_at(s, b)->range].accessed_by = 4;
	forget();
	have(block(0), 1, 0, 1);
	/* first the block with the first chunk; MAP for the one with an accessed-by processor */
	assert_string_equal(seen, "ECEDCCMA");
	assert_int_equal(resident(a, UVMP_CPU), 10);
	assert_int_equal(resident(b, 1), 0);
	assert_int_equal(resident(b, UVMP_CPU), 30); /* not 0 and 1, which are discarded */
	assert_int_equal(resident(b, 2), 0);
	assert_int_equal(uvmp_mask_weight(&last[UVMP_ACTION_DISCARD].pages), 2);
	assert_int_equal(last[UVMP_ACTION_MAP].to, 2);
	extra = cold_at(s, block_at(s, b)->cold);
	assert_true(uvmp_mask_is_empty(&extra->duplicated));
	assert_int_equal(uvmp_tree_leaf(tree, 0), 0);
	assert_int_equal(s->live[SLAB_CHUNK_MAP], 0);
}

static void maps_to_the_evicted(void **state)
{
	struct cold *extra;

	(void)state;
	open("counters=on", 4096, 1, 1);
	assert_true(s->maps_evicted);
	have(block(0), 1, 0, 8);
	forget();
	have(block(1), 1, 0, 8);
	assert_string_equal(seen, "ECMA");
	assert_int_equal(last[UVMP_ACTION_MAP].to, 1);
	/* nothing is left to map; a large page's tree is emptied [uvmsmart: victim-selection] */
	extra = uvmpi_cold_make(s, block_at(s, block(1)));
	extra->discarded = pages(0, 512);
	extra->tree = uvmpi_arena_take(s, SLAB_TREE);
	uvmp_tree_init(uvmpi_arena_at(s, extra->tree), 32);
	uvmp_tree_add(uvmpi_arena_at(s, extra->tree), 500, 16, true);
	forget();
	have(block(2), 1, 0, 8);
	assert_string_equal(seen, "EDA");
	assert_null(place(block(1), UVMP_CPU));
	assert_int_equal(uvmp_tree_leaf(uvmpi_arena_at(s, extra->tree), 31), 0);
}

/* What could not be copied stays where it is, in memory that the block owns. */
static void failed_copies(void **state)
{
	uvmp_mask odd = pages(0, 0);
	handle a;

	(void)state;
	open("preset=nvidia-595", 4096, 2, 2);
	a = block(0);
	uvmp_mask_set(&odd, 3);
	uvmp_mask_set(&odd, 5);
	assert_int_equal(bring(a, 1, odd), UVMP_OK);
	uvmpi_memory_settle(s);
	have(block(1), 1, 0, 1);
	forget();
	fail_kind = UVMP_ACTION_COPY;
	fail_skip = 1;
	assert_int_equal(bring(block(2), 1, pages(0, 1)), UVMP_ERR_STATE);
	uvmpi_memory_settle(s);
	assert_string_equal(seen, "ECC");
	assert_int_equal(resident(a, UVMP_CPU), 1);
	assert_int_equal(resident(a, 1), 1);
	assert_true(uvmp_mask_test(&place(a, 1)->resident, 5));
	assert_true(place(a, 1)->has_memory);
	assert_true(uvmp_service_check(s));
	assert_int_equal(first_of(UVMP_PMM_USED), 1); /* the victim went to the tail */
	/* a split root: the first block has left, the second cannot */
	open("preset=nvidia-595", 4096, 1, 1);
	have(at(SMALL), 1, 0, 1);
	have(at(TINY), 1, 0, 1);
	forget();
	fail_kind = UVMP_ACTION_COPY;
	fail_skip = 1;
	assert_int_equal(bring(block(2), 1, pages(0, 1)), UVMP_ERR_STATE);
	assert_string_equal(seen, "ECEC");
	assert_false(place(at(SMALL), 1)->has_memory);
	assert_int_equal(resident(at(TINY), 1), 1);
	assert_true(place(at(TINY), 1)->has_memory);
	assert_true(uvmp_service_check(s));
}

static void full_arena(void **state)
{
	uvmp_mask one = pages(0, 1);

	(void)state;
	prepare("preset=nvidia-595", 4096, 1, 1);
	start(1024);
	arena_without_reserve(s);
	have(block(0), 1, 0, 1);
	while (uvmpi_arena_take(s, SLAB_RESIDENCY) != 0)
		;
	while (uvmpi_arena_take(s, SLAB_COLD) != 0)
		;
	s->fault.servicing->job.block = 0;
	assert_int_equal(evict_start(1, UVMP_CHUNK_2M, false), UVMP_OK);
	forget();
	assert_int_equal(evict(), UVMP_ERR_NO_MEMORY); /* no place on the CPU */
	assert_string_equal(seen, "");
	assert_int_equal(resident(block(0), 1), 1);
	assert_int_equal(first_of(UVMP_PMM_USED), 0);
	assert_int_equal(back(block(0), 2, &one), BACKING_FAILED);
	prepare("preset=nvidia-595", 4096, 1, 1);
	start(2048);
	arena_without_reserve(s);
	assert_int_equal(
	        uvmp_service_add_range(s, SPACE, SMALL, 4096, UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_PROC_NONE),
	        UVMP_OK);
	assert_int_equal(back(at(SMALL), 1, &one), BACKING_FAILED);
	assert_false(place(at(SMALL), 1)->has_memory);
}

static void no_split_records(void **state)
{
	(void)state;
	/* the one record is in use, and the victim is a whole root */
	open("preset=nvidia-595", 4096, 2, 1);
	have(block(0), 1, 0, 1);
	have(at(SMALL), 1, 0, 507);
	have(at(SMALL), 1, 0, 507);
	assert_int_equal(first_of(UVMP_PMM_USED), 0);
	assert_int_equal(bring(at(TINY), 1, pages(0, 1)), UVMP_ERR_NO_MEMORY);
	assert_false(uvmpi_memory_is_full(s, 1));
	assert_true(uvmp_pmm_check(s->gpu[1].pmm));
	/* the one record is in use, and a root is free, which must not be split */
	open("preset=nvidia-595", 4096, 3, 1);
	have(at(SMALL), 1, 0, 507);
	have(at(SMALL), 1, 0, 507);
	assert_int_equal(bring(at(TINY), 1, pages(0, 1)), UVMP_ERR_NO_MEMORY);
	assert_false(place(at(TINY), 1)->has_memory);
	assert_false(uvmpi_memory_is_full(s, 1));
	have(block(0), 1, 0, 1); /* a whole root */
	assert_true(uvmp_pmm_check(s->gpu[1].pmm));
}

static void everything_pinned(void **state)
{
	(void)state;
	open("preset=nvidia-595", 4096, 1, 1);
	assert_int_equal(bring(block(0), 1, pages(0, 1)), UVMP_OK);
	assert_int_equal(bring(block(1), 1, pages(0, 1)), UVMP_ERR_NO_MEMORY);
	uvmpi_memory_settle(s);
	assert_int_equal(bring(block(1), 1, pages(0, 1)), UVMP_OK);
}

/* What follows a fault never sends away the block that faulted. */
static void followers(void **state)
{
	(void)state;
	open("preset=nvidia-595", 4096, 1, 1);
	have(block(0), 1, 0, 1);
	s->fault.servicing->job.is_follow = true;
	s->fault.servicing->job.keep = block(0);
	assert_int_equal(bring(block(1), 1, pages(0, 1)), UVMP_ERR_NO_MEMORY);
	s->fault.servicing->job.keep = block(2);
	assert_int_equal(bring(block(1), 1, pages(0, 1)), UVMP_OK);
	uvmpi_memory_settle(s);
	s->fault.servicing->job.keep = 0;
	assert_int_equal(bring(block(0), 1, pages(0, 1)), UVMP_OK);
}

/* Chunks of a pass that was not enough, and parked ones, are free again when the operation ends. */
static void unneeded(void **state)
{
	uvmp_mask two = pages(0, 32), second = pages(16, 32);
	handle tiny;

	(void)state;
	open("preset=nvidia-595", 4096, 2, 2);
	have(block(0), 1, 0, 1);
	have(at(SMALL), 1, 0, 490); /* one chunk of 64 KiB is left of that root */
	tiny = at(TINY);
	s->fault.servicing->job.block = tiny;
	forget();
	assert_int_equal(back(tiny, 1, &two), BACKING_NEED_ROOM);
	assert_int_equal(s->pinned_count, 1);
	assert_int_equal(evict(), UVMP_OK);
	assert_string_equal(seen, "EC"); /* nothing was allocated yet */
	assert_true(s->parked[0].is_set);
	/* now only the second half is wanted: the first chunk is not told of */
	assert_int_equal(back(tiny, 1, &second), BACKING_DONE);
	drain();
	assert_string_equal(seen, "ECA");
	assert_false(s->parked[0].is_set);
	uvmpi_memory_settle(s);
	assert_true(uvmp_mask_equal(&chunk_map_at(s, place(tiny, 1)->memory)->backed, &second));
	assert_true(uvmp_service_check(s));
	/* no memory is needed now */
	open("preset=nvidia-595", 4096, 2, 2);
	have(block(0), 1, 0, 1);
	have(at(SMALL), 1, 0, 490);
	tiny = at(TINY);
	s->fault.servicing->job.block = tiny;
	assert_int_equal(back(tiny, 1, &two), BACKING_NEED_ROOM);
	assert_int_equal(evict(), UVMP_OK);
	uvmpi_memory_settle(s);
	assert_false(s->parked[0].is_set);
	assert_false(place(tiny, 1)->has_memory);
	assert_false(uvmpi_memory_is_full(s, 1));
	assert_true(uvmp_service_check(s));
}

/* They are no concern of another GPU or block that is served in the same operation. */
static void unneeded_elsewhere(void **state)
{
	uvmp_mask two = pages(0, 32);
	handle tiny;

	(void)state;
	open("preset=nvidia-595", 4096, 2, 2);
	have(block(0), 1, 0, 1);
	have(at(SMALL), 1, 0, 490);
	tiny = at(TINY);
	s->fault.servicing->job.block = tiny;
	assert_int_equal(back(tiny, 1, &two), BACKING_NEED_ROOM);
	assert_int_equal(evict(), UVMP_OK);
	forget();
	assert_int_equal(back(tiny, 2, &two), BACKING_DONE);
	drain();
	assert_string_equal(seen, "AA");
	assert_int_equal(bring(at(SMALL), 1, pages(491, 492)), UVMP_OK);
	assert_string_equal(seen, "AAA");
	uvmpi_memory_settle(s);
	assert_false(place(tiny, 1)->has_memory);
	assert_true(uvmp_service_check(s));
}

/* A block that gets no chunk has no memory, nor a record of chunks. */
static void nothing_for_it(void **state)
{
	(void)state;
	open("preset=nvidia-595", 4096, 2, 1); /* the record of the root that may be split is in use */
	have(block(0), 1, 0, 1);
	have(at(SMALL), 1, 0, 507);
	have(at(SMALL), 1, 0, 507);
	s->fault.servicing->job.block = at(TINY);
	assert_int_equal(bring(at(TINY), 1, pages(0, 1)), UVMP_ERR_NO_MEMORY);
	assert_false(place(at(TINY), 1)->has_memory);
	assert_int_equal(s->live[SLAB_CHUNK_MAP], 1);
	assert_true(uvmp_service_check(s));
}

/* Of a block with chunks in two roots only those in the victim leave. */
static void two_roots(void **state)
{
	(void)state;
	open("preset=nvidia-595", 4096, 2, 2);
	have(at(TINY), 1, 0, 1);
	have(at(SMALL), 1, 0, 507); /* the last one, of 64 KiB, is in the second root */
	have(at(TINY), 1, 16, 17);
	assert_int_equal(s->live[SLAB_CHUNK_MAP], 2);
	s->fault.servicing->job.block = block(0);
	have(block(0), 1, 0, 1);
	assert_int_equal(s->live[SLAB_CHUNK_MAP], 2);
	assert_true(place(at(SMALL), 1)->has_memory);
	assert_int_equal(resident(at(SMALL), 1) + resident(at(SMALL), UVMP_CPU), 507);
	assert_true(resident(at(SMALL), 1) > 0);
	assert_int_equal(resident(at(TINY), 1), 1);
}

/* Room is made while other pages come: a copy of theirs that fails is not the eviction's. */
static void copies_beside(void **state)
{
	(void)state;
	open("preset=nvidia-595", 4096, 1, 1);
	have(block(0), 1, 0, 1);
	forget();
	s->fault.servicing->job.block = block(1);
	s->in[0] = (struct uvmp_copy){.pages = {{1}}, .from = UVMP_CPU, .to = 2};
	s->fault.servicing->job.planned = 1;
	fail_kind = UVMP_ACTION_COPY;
	fail_skip = 1;
	assert_int_equal(evict_start(1, UVMP_CHUNK_2M, true), UVMP_OK);
	assert_int_equal(evict(), UVMP_OK);
	assert_string_equal(seen, "ECC");
	assert_int_equal(last[UVMP_ACTION_COPY].to, 2);
	assert_false(uvmpi_memory_is_full(s, 1));
}

static void parked_chunks(void **state)
{
	uvmp_mask one = pages(0, 1);

	(void)state;
	open("preset=nvidia-595", 4096, 6, 6);
	for (uint32_t i = 0; i < 6; i++)
		have(block(i), 1, 0, 1);
	s->fault.servicing->job.block = block(8);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(evict_start(1, UVMP_CHUNK_64K, false), UVMP_OK);
		assert_int_equal(evict(), UVMP_OK);
	}
	for (uint32_t i = 0; i < PARKED_MAX; i++)
		assert_true(s->parked[i].is_set);
	assert_false(uvmpi_memory_is_full(s, 1)); /* the fifth took the place of the fourth */
	forget();
	/* another GPU, another block, another size: not theirs */
	assert_int_equal(back(block(8), 2, &one), BACKING_DONE);
	drain();
	assert_int_equal(back(block(9), 1, &one), BACKING_DONE);
	drain();
	uvmpi_memory_settle(s);
	have(block(8), 1, 0, 1);
	assert_true(uvmp_pmm_check(s->gpu[1].pmm));
	/* of the same block, but of another size */
	s->fault.servicing->job.block = block(10);
	assert_int_equal(evict_start(1, UVMP_CHUNK_64K, false), UVMP_OK);
	assert_int_equal(evict(), UVMP_OK);
	assert_int_equal(back(block(10), 1, &one), BACKING_DONE);
	drain();
	assert_true(s->parked[0].is_set);
	uvmpi_memory_settle(s);
	assert_true(uvmp_pmm_check(s->gpu[1].pmm));
}

/* More chunks than can be remembered: the oldest ones are no longer pinned. */
static void many_pins(void **state)
{
	(void)state;
	prepare("preset=nvidia-595", 4096, PINNED_MAX + 2u, 0);
	params.ranges = 8;
	start(4u << 20);
	assert_int_equal(uvmp_service_add_range(s, SPACE, 0x8000000000u, (PINNED_MAX + 1ull) * MIB2,
	                                        UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_PROC_NONE),
	                 UVMP_OK);
	for (uint32_t i = 0; i <= PINNED_MAX; i++) {
		assert_int_equal(bring(at(0x8000000000u + (uint64_t)i * MIB2), 1, pages(0, 1)), UVMP_OK);
		seen[0] = 0;
	}
	assert_int_equal(s->pinned_count, PINNED_MAX);
	assert_int_equal(first_of(UVMP_PMM_USED), 0);
	assert_int_equal(uvmp_pmm_next(s->gpu[1].pmm, 0), UVMP_ROOT_NONE);
	uvmpi_memory_settle(s);
	assert_int_equal(uvmp_pmm_next(s->gpu[1].pmm, 0), 1);
}

/* quirks=0: touches and marks count, those of smaller chunks too. */
static void corrected(void **state)
{
	uvmp_mask none = pages(0, 0);

	(void)state;
	open("quirks=0", 4096, 3, 3);
	have(block(0), 1, 0, 1);
	have(at(TINY), 1, 0, 17);
	have(block(1), 1, 0, 1);
	assert_int_equal(first_of(UVMP_PMM_USED), 0);
	uvmpi_memory_touch(s, 1, block(0), 0);
	assert_int_equal(first_of(UVMP_PMM_USED), 1);
	uvmpi_memory_touch(s, 1, block(0), 1); /* not there */
	uvmpi_memory_touch(s, 1, at(TINY), 16);
	assert_int_equal(first_of(UVMP_PMM_USED), 2);
	uvmpi_memory_mark(s, 1, at(TINY), UVMP_MARK_UNUSED);
	assert_int_equal(first_of(UVMP_PMM_UNUSED), 1);
	uvmpi_memory_used(s, 1, at(TINY), &none, true); /* nothing came */
	assert_int_equal(first_of(UVMP_PMM_UNUSED), 1);
	none = pages(0, 1);
	uvmpi_memory_used(s, 1, at(TINY), &none, true);
	assert_int_equal(first_of(UVMP_PMM_UNUSED), UVMP_ROOT_NONE);
}

/* -- page-wise orders -- */

static void pages_of_4k(void **state)
{
	uvmp_mask some = pages(0, 2);
	handle a, b;

	(void)state;
	open("evict=lru4k", 4096, 1, 0);
	a = block(0);
	b = block(1);
	have(a, 1, 0, 512);
	assert_string_equal(seen, "AA"); /* page 0 has faulted */
	assert_true(uvmpi_memory_is_full(s, 1));
	uvmpi_memory_touch(s, 1, a, 0);
	have(b, 1, 0, 2);
	assert_string_equal(seen, "AAECECAA"); /* pages 1 and 2 */
	assert_int_equal(last[UVMP_ACTION_EVICT].victim, UVMP_VICTIM_ORDER);
	assert_int_equal(last[UVMP_ACTION_EVICT].detail, 4096);
	assert_true(uvmp_mask_test(&last[UVMP_ACTION_EVICT].pages, 2));
	assert_int_equal(resident(a, UVMP_CPU), 2);
	assert_int_equal(s->gpu[1].used_pages, 512);
	uvmpi_depart(s, b, uvmpi_residency_find(s, block_at(s, b), 1), &some, DEPART_MOVED);
	assert_int_equal(s->gpu[1].used_pages, 510);
	assert_int_equal(back(b, 1, &some), BACKING_DONE);
	assert_true(uvmpi_memory_is_full(s, 1)); /* they are coming */
	uvmpi_memory_abandon(s, 1, b, &some);
	assert_false(uvmpi_memory_is_full(s, 1));
	uvmpi_memory_settle(s);
	/* a copy that fails */
	have(b, 1, 0, 2);
	forget();
	fail_kind = UVMP_ACTION_COPY;
	assert_int_equal(bring(b, 1, pages(2, 3)), UVMP_ERR_STATE);
	assert_int_equal(s->gpu[1].used_pages, 512);
	assert_int_equal(resident(a, 1), 510);
	uvmpi_memory_mark(s, 1, a, UVMP_MARK_UNUSED); /* means nothing here */
	uvmpi_memory_free(s, 1, a);
	assert_false(place(a, 1)->has_memory);
	assert_int_equal(s->gpu[1].used_pages, 2);
	assert_int_equal(bring(b, 2, pages(0, 512)), UVMP_OK);
	assert_int_equal(bring(block(2), 1, pages(0, 512)), UVMP_OK);
	assert_int_equal(place(block(2), 1)->memory, 0); /* a's number */
}

static void more_blocks_than_numbers(void **state)
{
	(void)state;
	open("evict=lru4k", 4096, 1, 0);
	for (uint32_t i = 0; i < 16; i++)
		have(block(i), 1, 0, 1);
	assert_int_equal(uvmpi_memory_more(s, 2), 0);
	assert_true(uvmpi_memory_more(s, 1) > 32u * 512u * 17u);
	uvmpi_memory_free(s, 1, block(3));
	assert_int_equal(uvmpi_memory_more(s, 1), 0); /* its number is free */
	have(block(16), 1, 0, 1);
	assert_int_equal(s->gpu[1].numbers, 16);
	have(block(3), 1, 0, 1);
	assert_int_equal(s->gpu[1].numbers, 32);
	assert_int_equal(s->gpu[2].numbers, 16);
	assert_int_equal(s->gpu[1].order.units, 32 * 512);
	assert_int_equal(s->gpu[1].order.count, 17);
	assert_true(uvmp_service_check(s));
	for (uint32_t i = 17; i < 32; i++)
		have(block(i), 1, 0, 1);
	s->segment[0].end = s->segment[0].unused + 1000u; /* a full arena */
	assert_int_equal(bring(block(32), 1, pages(0, 1)), UVMP_ERR_ARENA);
	assert_int_equal(s->gpu[1].numbers, 32);
	assert_true(uvmp_service_check(s));
}

/* The order cannot have more units. */
static void as_many_numbers_as_possible(void **state)
{
	struct gpu *g;
	uint32_t numbers;

	(void)state;
	open("evict=lru4k", 4096, 1, 0);
	have(block(0), 1, 0, 1);
	g = &s->gpu[1];
	numbers = g->numbers;
	for (uint32_t i = 21; i < 32; i += 10) { /* too many units; too many for 32 bits */
		g->numbers = g->used_numbers = (uint32_t)1 << i;
		assert_int_equal(bring(block(1), 1, pages(0, 1)), UVMP_ERR_NO_MEMORY);
		assert_int_equal(uvmpi_memory_more(s, 1), 0);
		assert_false(uvmpi_memory_grow(s, 1));
	}
	g->numbers = numbers;
	g->used_numbers = 1;
	have(block(1), 1, 0, 1);
}

static void large_pages(void **state)
{
	uvmp_mask none = pages(0, 0);
	handle a, b;

	(void)state;
	open("evict=lru2m", 4096, 1, 0);
	a = block(0);
	b = block(1);
	have(a, 1, 0, 300);
	have(b, 1, 0, 200);
	forget();
	uvmpi_cold_make(s, block_at(s, a))->tree = uvmpi_arena_take(s, SLAB_TREE);
	have(b, 1, 200, 220);
	assert_string_equal(seen, "EC");
	assert_int_equal(resident(a, UVMP_CPU), 300);
	assert_int_equal(s->gpu[1].used_pages, 220);
	/* it is the only one, and does not make room for itself */
	have(a, 1, 0, 292);
	uvmpi_memory_touch(s, 1, b, 0);
	s->fault.servicing->job.is_follow = true;
	s->fault.servicing->job.keep = a;
	assert_int_equal(bring(b, 1, pages(220, 221)), UVMP_ERR_NO_MEMORY);
	s->fault.servicing->job.is_follow = false;
	uvmpi_memory_touch(s, 1, a, 0); /* b is older, and is passed over */
	have(b, 1, 220, 221);
	assert_int_equal(resident(a, 1), 0);
	/* nothing came: not in the order */
	uvmpi_memory_used(s, 1, a, &none, true);
	uvmpi_memory_free(s, 1, b);
	place(b, 1)->resident = none;
	assert_int_equal(evict_start(1, UVMP_CHUNK_2M, false), UVMP_ERR_NO_MEMORY);
	/* some pages stay: so does the unit */
	a = block(3);
	have(a, 1, 0, 2);
	none = pages(0, 1);
	uvmpi_depart(s, a, uvmpi_residency_find(s, block_at(s, a), 1), &none, DEPART_MOVED);
	assert_int_equal(s->gpu[1].used_pages, 1);
	s->fault.servicing->job.block = b;
	assert_int_equal(evict_start(1, UVMP_CHUNK_2M, false), UVMP_OK);
	forget();
	fail_kind = UVMP_ACTION_COPY;
	assert_int_equal(evict(), UVMP_ERR_STATE);
	assert_int_equal(resident(a, 1), 1);
}

/* One eviction; first and last of the regions that it has named. */
static struct uvmp_region leave_once(void)
{
	assert_int_equal(evict_start(1, UVMP_CHUNK_2M, false), UVMP_OK);
	forget();
	assert_int_equal(evict(), UVMP_OK);
	return uvmp_mask_bounds(&last[UVMP_ACTION_EVICT].pages);
}

#define ASSERT_LEAVES(block, blocks)                                                                         \
	do {                                                                                                 \
		struct uvmp_region gone = leave_once();                                                      \
		assert_int_equal(gone.first, 16 * (block));                                                  \
		assert_int_equal(gone.end, 16 * ((block) + (blocks)));                                     \
	} while (0)

static void basic_blocks(void **state)
{
	uvmp_mask some;
	handle a, b;

	(void)state;
	open("evict=sl64k reserve=20", 4096, 1, 0);
	a = block(0);
	b = block(1);
	for (uint32_t i = 0; i < 10; i++)
		have(a, 1, 16 * i, 16 * i + 16);
	s->fault.servicing->job.block = b;
	ASSERT_LEAVES(2, 1); /* [uvmsmart: victim-selection]: skip 2 */
	assert_int_equal(last[UVMP_ACTION_EVICT].detail, 65536);
	assert_string_equal(seen, "EC");
	for (int quirks = 0; quirks < 2; quirks++) {
		open(quirks ? "evict=sl64k" : "evict=sl64k quirks=0", 4096, 1, 0);
		a = at(SMALL);
		have(a, 1, 496, 507); /* all that it has there */
		have(a, 1, 0, 18);
		s->fault.servicing->job.block = block(2);
		some = pages(496, 507);
		(void)leave_once();
		assert_memory_equal(&last[UVMP_ACTION_EVICT].pages, &some, sizeof(some));
		(void)leave_once();
		(void)leave_once(); /* is not complete, but the only one left */
		assert_int_equal(s->gpu[1].used_pages, 0);
	}
	open("evict=sl64k quirks=0", 4096, 1, 0);
	a = block(0);
	b = block(1);
	have(a, 1, 0, 18);
	have(b, 1, 0, 100);
	some = pages(0, 1);
	/* The rest of its basic block can leave yet. */
	uvmpi_depart(s, a, uvmpi_residency_find(s, block_at(s, a), 1), &some, DEPART_MOVED);
	uvmpi_memory_touch(s, 1, a, 17);
	uvmpi_memory_touch(s, 1, b, 0);
	s->fault.servicing->job.block = block(2);
	some = pages(1, 16);
	(void)leave_once();
	assert_memory_equal(&last[UVMP_ACTION_EVICT].pages, &some, sizeof(some));
}

static void basic_blocks_in_use(void **state)
{
	handle a, b;

	(void)state;
	open("evict=sl64k", 4096, 1, 0);
	a = block(0);
	b = block(1);
	have(a, 1, 0, 48);
	s->fault.servicing->job.block = a;
	s->fault.servicing->job.arrive[1] = pages(17, 18); /* comes, or is there and wanted */
	ASSERT_LEAVES(0, 1);
	ASSERT_LEAVES(2, 1);
	assert_int_equal(evict_start(1, UVMP_CHUNK_2M, false), UVMP_ERR_NO_MEMORY);
	s->fault.servicing->job.block = b;
	s->fault.servicing->job.is_follow = true;
	s->fault.servicing->job.keep = a;
	assert_int_equal(evict_start(1, UVMP_CHUNK_2M, false), UVMP_ERR_NO_MEMORY);
	s->fault.servicing->job.keep = b;
	ASSERT_LEAVES(1, 1);
}

/* A reserve is not kept where nothing else may go. */
static void reserve(void **state)
{
	handle a, b;

	(void)state;
	open("evict=lru2m reserve=99", 4096, 1, 0);
	a = block(0);
	b = block(1);
	have(a, 1, 0, 100);
	have(b, 1, 0, 100);
	s->fault.servicing->job.block = b;
	assert_int_equal(evict_start(1, UVMP_CHUNK_2M, false), UVMP_OK);
	assert_int_equal(s->fault.servicing->eviction.root, place(a, 1)->memory);
	assert_int_equal(evict(), UVMP_OK);
	assert_int_equal(evict_start(1, UVMP_CHUNK_2M, false), UVMP_ERR_NO_MEMORY);
}

/* [uvmsmart: victim-selection], examples of the closure. */
static void trees(void **state)
{
	static const uint8_t order[] = {4, 0, 1, 2, 3, 5, 0, 1, 2, 3, 4};
	handle a;

	(void)state;
	open("evict=tbne", 4096, 1, 0);
	a = block(0);
	have(a, 1, 0, 512);
	s->fault.servicing->job.block = block(1);
	ASSERT_LEAVES(0, 1);
	ASSERT_LEAVES(1, 1);
	ASSERT_LEAVES(2, 2);
	ASSERT_LEAVES(4, 4);
	ASSERT_LEAVES(8, 8);
	ASSERT_LEAVES(16, 16);
	assert_int_equal(s->gpu[1].used_pages, 0);
	/* 512 KiB */
	assert_int_equal(
	        uvmp_service_add_range(s, SPACE, EIGHT, 0x80000, UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_PROC_NONE),
	        UVMP_OK);
	a = at(EIGHT);
	for (uint32_t i = 0; i < 8; i += 2)
		have(a, 1, 16 * i, 16 * i + 16);
	s->fault.servicing->job.block = block(1);
	ASSERT_LEAVES(6, 1); /* the last of four in one call */
	assert_string_equal(seen, "ECECECEC");
	assert_int_equal(last[UVMP_ACTION_EVICT].count, 3);
	for (uint32_t i = 0; i < 5; i++)
		have(a, 1, 16u * order[i], 16u * order[i] + 16);
	s->fault.servicing->job.block = block(1);
	ASSERT_LEAVES(4, 1);
	uvmpi_memory_free(s, 1, a);
	place(a, 1)->resident = pages(0, 0);
	for (uint32_t i = 5; i < 11; i++)
		have(a, 1, 16u * order[i], 16u * order[i] + 16);
	s->fault.servicing->job.block = block(1);
	ASSERT_LEAVES(4, 2);
	ASSERT_LEAVES(0, 4);
}

static void give_tree(handle h)
{
	struct cold *extra = uvmpi_cold_make(s, block_at(s, h));

	if (extra->tree == 0)
		extra->tree = uvmpi_arena_take(s, SLAB_TREE);
	uvmp_tree_init(uvmpi_arena_at(s, extra->tree), 32);
}

/* With a tree prefetcher its tree counts, what it has asked for and all; without quirks what is there, and
 * what is coming. */
static void trees_of_the_prefetcher(void **state)
{
	uvmp_mask half = pages(0, 256);
	struct uvmp_tree *tree;
	handle a;

	(void)state;
	open("prefetch=tbn evict=tbne", 4096, 1, 0);
	a = block(0);
	have(a, 1, 0, 256);
	s->fault.servicing->job.block = block(1);
	ASSERT_LEAVES(0, 1 + 15); /* no tree yet: below half of the root without the first */
	have(a, 1, 0, 256);
	uvmpi_cold_make(s, block_at(s, a));
	s->fault.servicing->job.block = a;
	s->fault.servicing->job.arrive[1] = pages(300, 320);
	ASSERT_LEAVES(0, 1); /* the incoming pages keep the root over half */
	have(a, 1, 0, 256);
	s->fault.servicing->job.block = a;
	s->fault.servicing->job.arrive[1] = pages(16, 17);
	ASSERT_LEAVES(2, 14); /* after block 0, and without block 1 */
	s->fault.servicing->job.arrive[1] = pages(0, 0);
	have(a, 1, 0, 256);
	give_tree(a);
	tree = uvmpi_arena_at(s, cold_at(s, block_at(s, a)->cold)->tree);
	half = pages(0, 288);
	uvmp_tree_assign(tree, &half);
	s->fault.servicing->job.block = block(1);
	ASSERT_LEAVES(0, 1); /* two more were asked for */
	assert_int_equal(uvmp_tree_leaf(tree, 0), 0);
	assert_int_equal(tree->node[0], 272);
	open("prefetch=tbn evict=tbne quirks=0", 4096, 1, 0);
	a = block(0);
	have(a, 1, 0, 256);
	give_tree(a);
	s->fault.servicing->job.block = block(1);
	ASSERT_LEAVES(0, 16);
	open("prefetch=none evict=tbne", 4096, 1, 0);
	a = block(0);
	have(a, 1, 0, 256);
	give_tree(a); /* of a prefetcher before */
	s->fault.servicing->job.block = block(1);
	ASSERT_LEAVES(0, 16);
}

/* A region of several does not arrive: the ones before have left, and it is the newest. */
static void failed_region(void **state)
{
	handle a;

	(void)state;
	open("evict=tbne", 4096, 1, 0);
	a = block(0);
	for (uint32_t i = 0; i < 8; i += 2)
		have(a, 1, 16 * i, 16 * i + 16);
	s->fault.servicing->job.block = block(1);
	assert_int_equal(evict_start(1, UVMP_CHUNK_2M, false), UVMP_OK);
	forget();
	fail_kind = UVMP_ACTION_COPY;
	fail_skip = 1;
	assert_int_equal(evict(), UVMP_ERR_STATE);
	assert_int_equal(s->gpu[1].used_pages, 48);
	assert_int_equal(s->gpu[1].order.count, 3);
	assert_true(uvmp_service_check(s));
	assert_int_equal(evict_start(1, UVMP_CHUNK_2M, false), UVMP_OK);
	assert_int_equal(s->fault.servicing->eviction.root % 32, 4);
}

/* Touches decide, and are kept after the pages are evicted. */
static void least_often(void **state)
{
	handle a, b, c;

	(void)state;
	open("evict=lfu2m", 4096, 1, 0);
	a = block(0);
	b = block(1);
	c = block(2);
	have(a, 1, 0, 1);
	uvmpi_memory_touch(s, 1, a, 0);
	have(b, 1, 0, 1);
	have(c, 1, 0, 1);
	s->fault.servicing->job.block = block(3);
	assert_int_equal(leave_once().end, 1);
	assert_int_equal(resident(b, 1), 0);
	have(b, 1, 0, 1); /* two by now */
	s->fault.servicing->job.block = block(3);
	leave_once();
	assert_int_equal(resident(c, 1), 0);
	uvmpi_memory_free(s, 1, a); /* forgotten */
	place(a, 1)->resident = pages(0, 0);
	have(a, 1, 0, 1);
	s->fault.servicing->job.block = block(3);
	leave_once();
	assert_int_equal(resident(a, 1), 0);
}

static void free_buffer(void **state)
{
	(void)state;
	open("preset=nvidia-595", 4096, 1, 1);
	assert_false(evict_trim(1, BASE)); /* chunks */
	open("evict=lru4k free_buffer=50", 4096, 1, 0);
	have(block(0), 1, 0, 256);
	assert_false(evict_trim(1, BASE));
	have(block(0), 1, 256, 257);
	assert_true(evict_trim(1, BASE + MIB2));
	forget();
	assert_int_equal(evict(), UVMP_OK);
	assert_string_equal(seen, "EC");
	assert_true(last[UVMP_ACTION_EVICT].for_address == BASE + MIB2);
	assert_false(evict_trim(1, BASE));
	s->gpu[2].used_pages = 512; /* without an owner */
	assert_false(evict_trim(2, BASE));
}

static void random_pages(void **state)
{
	(void)state;
	open("evict=random4k", 4096, 1, 0);
	have(block(0), 1, 0, 512);
	have(block(1), 1, 0, 1);
	assert_string_equal(seen, "AAECA");
	assert_int_equal(s->gpu[1].used_pages, 512);
	/* nearly all is the block that follows must keep: eight draws hit it */
	s->fault.servicing->job.is_follow = true;
	s->fault.servicing->job.keep = block(0);
	assert_int_equal(bring(block(2), 1, pages(0, 1)), UVMP_ERR_NO_MEMORY);
	s->fault.servicing->job.keep = block(1);
	assert_int_equal(bring(block(2), 1, pages(0, 1)), UVMP_OK);
}

/* Units between a page and a block: by recency, complete or not, but never what is coming. */
static void units_of_64k(void **state)
{
	handle a, b;

	(void)state;
	open("evict=lru2m granularity=64k", 4096, 1, 0);
	a = block(0);
	b = block(1);
	have(a, 1, 16, 20); /* not complete: no basic block of UVM Smart's, and not spared */
	have(a, 1, 0, 16);
	have(a, 1, 32, 64);
	uvmpi_memory_touch(s, 1, a, 33);
	s->fault.servicing->job.block = b;
	assert_int_equal(evict_start(1, UVMP_CHUNK_2M, false), UVMP_OK);
	forget();
	assert_int_equal(evict(), UVMP_OK);
	assert_int_equal(uvmp_mask_weight(&last[UVMP_ACTION_EVICT].pages), 4);
	ASSERT_LEAVES(0, 1);
	s->fault.servicing->job.block = a;
	s->fault.servicing->job.arrive[1] = pages(48, 49);
	ASSERT_LEAVES(2, 1); /* the older one is wanted */
	assert_int_equal(evict_start(1, UVMP_CHUNK_2M, false), UVMP_ERR_NO_MEMORY);
	s->fault.servicing->job.arrive[1] = pages(0, 0);
	ASSERT_LEAVES(3, 1);
	assert_int_equal(s->gpu[1].used_pages, 0);
}

/* Counts of units outlive their pages, not the block's memory. */
static void counts_of_units(void **state)
{
	handle a;

	(void)state;
	open("evict=lfu2m granularity=128k", 4096, 1, 0);
	a = block(0);
	have(a, 1, 0, 128);
	for (uint32_t unit = 0; unit < 3; unit++)
		uvmpi_memory_touch(s, 1, a, 32 * unit);
	s->fault.servicing->job.block = block(1);
	ASSERT_LEAVES(6, 2);
	have(a, 1, 96, 128);
	uvmpi_memory_touch(s, 1, a, 127); /* has three by now */
	s->fault.servicing->job.block = block(1);
	ASSERT_LEAVES(0, 2);
	uvmpi_memory_free(s, 1, a);
	place(a, 1)->resident = pages(0, 0);
	have(a, 1, 0, 64);
	uvmpi_memory_touch(s, 1, a, 0); /* two; the second has one, for what it had is forgotten */
	s->fault.servicing->job.block = block(1);
	ASSERT_LEAVES(2, 2);
}

/* A part of the block that leaves does not empty its tree, all of it does. */
static void trees_of_units(void **state)
{
	for (uint32_t large = 0; large < 2; large++) {
		struct uvmp_tree *tree;
		handle a;

		(void)state;
		open(large ? "evict=lru2m" : "evict=lru2m granularity=1m", 4096, 1, 0);
		a = block(0);
		have(a, 1, 0, 512);
		uvmpi_cold_make(s, block_at(s, a))->tree = uvmpi_arena_take(s, SLAB_TREE);
		tree = uvmpi_arena_at(s, cold_at(s, block_at(s, a)->cold)->tree);
		assert_int_equal(uvmp_tree_init(tree, 32), UVMP_OK);
		uvmp_tree_assign(tree, &place(a, 1)->resident);
		s->fault.servicing->job.block = block(1);
		ASSERT_LEAVES(0, large ? 32 : 16);
		assert_int_equal(tree->node[0], large ? 0 : 256);
	}
}

static void leave_ahead(const char *kinds)
{
	assert_true(evict_ahead(1, BASE));
	forget();
	assert_int_equal(evict(), UVMP_OK);
	assert_string_equal(seen, kinds);
	assert_true(last[UVMP_ACTION_EVICT].for_address == BASE);
}

/* Ahead, victims go until there is room for a unit; nothing that is wanted now is one. */
static void ahead_of_pages(void **state)
{
	handle a, b;

	(void)state;
	open("evict=lru4k", 4096, 1, 0);
	a = block(0);
	have(a, 1, 0, 512);
	s->fault.servicing->job.block = a;
	s->fault.servicing->job.arrive[1] = pages(0, 2);
	leave_ahead("EC");
	assert_int_equal(uvmp_mask_next_set(&last[UVMP_ACTION_EVICT].pages, 0), 2);
	assert_false(evict_ahead(1, BASE)); /* there is room */
	have(block(1), 1, 0, 1);
	s->fault.servicing->job.block = a;
	s->fault.servicing->job.arrive[1] = pages(0, 512);
	leave_ahead("EC"); /* the other block's */
	assert_int_equal(resident(block(1), 1), 0);
	s->gpu[1].coming_pages = 1;
	assert_false(evict_ahead(1, BASE)); /* all is wanted */
	open("evict=lru2m granularity=64k", 4096, 1, 0);
	a = block(0);
	b = block(1);
	have(a, 1, 0, 4);
	have(a, 1, 16, 20);
	have(a, 1, 32, 36);
	have(b, 1, 0, 500);
	s->fault.servicing->job.block = b;
	s->fault.servicing->job.arrive[1] = pages(0, 512);
	leave_ahead("ECECEC");                       /* one is not enough */
	assert_int_equal(s->gpu[1].used_pages, 500); /* nor are three, but no more may go */
	open("evict=lru2m", 4096, 2, 0);
	have(block(0), 1, 0, 512);
	have(block(1), 1, 0, 1);
	s->fault.servicing->job.block = block(1);
	leave_ahead("EC");
	open("preset=nvidia-595", 4096, 2, 2);
	have(block(0), 1, 0, 512);
	assert_false(evict_ahead(1, BASE));
	have(block(1), 1, 0, 512);
	s->fault.servicing->job.block = block(2);
	leave_ahead("EC");
}

/* Round and round over three blocks with memory for two. */
static void walk_in_circles(uint32_t rounds)
{
	for (uint32_t i = 0; i < 3 * rounds; i++)
		have(block(i % 3), 1, 0, 512);
}

static bool is_pinned(handle h)
{
	return s->gpu[1].cyclic.block[place(h, 1)->memory].is_pinned;
}

/* Block 2 wants the memory of block 0, which is pinned: the pin ends, and block 0 leaves. */
static void expect_pin_ends(const uvmp_mask *all)
{
	s->fault.servicing->job.block = block(2);
	s->fault.servicing->job.arrive[1] = *all;
	assert_int_equal(evict_start(1, UVMP_CHUNK_2M, false), UVMP_OK);
	assert_false(is_pinned(block(0)));
	assert_int_equal(s->fault.servicing->eviction.root / 2, place(block(0), 1)->memory);
	assert_int_equal(evict(), UVMP_OK);
	s->fault.servicing->job.arrive[1] = pages(0, 0);
}

static void circles(void **state)
{
	uvmp_mask all = pages(0, 512);

	(void)state;
	open("evict=lru2m granularity=1m cyclic=on cyclic_share=50", 4096, 2, 0);
	walk_in_circles(2);
	assert_int_equal(s->gpu[1].cyclic.pinned, 0);
	walk_in_circles(1); /* the second time that the first block returns; the share is one of two */
	assert_true(is_pinned(block(0)));
	assert_int_equal(s->gpu[1].cyclic.pinned, 1);
	forget();
	walk_in_circles(1); /* it is there, the others go */
	assert_int_equal(resident(block(0), 1), 512);
	assert_string_equal(seen, "EEAAEEAA");     /* two each; the CPU has the pages yet, here */
	uvmpi_memory_touch(s, 1, block(0), 0); /* changes nothing */
	assert_true(is_pinned(block(0)));
	/* a return without a fault does not count */
	uvmpi_memory_used(s, 1, block(2), &all, false);
	assert_int_equal(s->gpu[1].cyclic.pinned, 1);
	/* the other one is wanted: the pin ends, as nothing else can go */
	expect_pin_ends(&all);
	/* with a reserve, too */
	open("evict=lfu2m granularity=1m cyclic=on cyclic_share=50 reserve=10", 4096, 2, 0);
	walk_in_circles(3);
	assert_true(is_pinned(block(0)));
	expect_pin_ends(&all);
	/* the circle stands still: pins end when enough else was evicted */
	open("evict=lru2m cyclic=on", 4096, 2, 0);
	walk_in_circles(3);
	assert_true(is_pinned(block(0)));
	for (uint32_t i = 3; i < 13; i++) {
		have(block(i), 1, 0, 512);
		if (i < 7)
			assert_true(is_pinned(block(0)));
	}
	assert_int_equal(s->gpu[1].cyclic.pinned, 0);
	assert_int_equal(resident(block(0), 1), 0); /* and it was evicted in its turn */
	open("evict=lru2m cyclic=on", 4096, 2, 0);
	walk_in_circles(3);
	uvmpi_memory_free(s, 1, block(0));
	assert_int_equal(s->gpu[1].cyclic.pinned, 0);
	/* a part of it is not there when the pin ends */
	open("evict=lru2m granularity=1m cyclic=on", 4096, 2, 0);
	walk_in_circles(3);
	all = pages(0, 256);
	uvmpi_depart(s, block(0), uvmpi_residency_find(s, block_at(s, block(0)), 1), &all, DEPART_MOVED);
	assert_true(is_pinned(block(0)));
	assert_true(uvmpi_memory_unpin_oldest(s, 1));
	s->fault.servicing->job.block = block(1);
	ASSERT_LEAVES(0, 16); /* of the other block */
	ASSERT_LEAVES(16, 16);
	ASSERT_LEAVES(16, 16);
	assert_int_equal(s->gpu[1].order.count, 0);
}

/* What a pinned block is used counts, and it stays out of the order. */
static void counted_circles(void **state)
{
	const struct sequence_key *key;
	uint64_t before;
	uint32_t unit;

	(void)state;
	open("evict=lfu2m cyclic=on", 4096, 2, 0);
	walk_in_circles(3);
	assert_true(is_pinned(block(0)));
	unit = place(block(0), 1)->memory;
	key = &frequency_of(s)->order.key[unit];
	before = key->high;
	for (uint32_t i = 0; i < 10; i++)
		uvmpi_memory_touch(s, 1, block(0), 0);
	assert_int_equal(key->high, before + 10);
	assert_false(uvmp_evict_contains(&s->gpu[1].order, unit));
	assert_true(uvmpi_memory_unpin_oldest(s, 1));
	assert_true(uvmp_evict_contains(&s->gpu[1].order, unit));
	assert_int_equal(key->high, before + 11);
	/* access counters count: their count applies as soon as the unit is listed */
	open("evict=lfu2m cyclic=on remote=always", 4096, 2, 0);
	walk_in_circles(3);
	assert_true(is_pinned(block(0)));
	unit = place(block(0), 1)->memory;
	key = &frequency_of(s)->order.key[unit];
	for (uint32_t i = 0; i < 10; i++)
		uvmpi_remote_use(s, 1, block(0), 0, false);
	assert_true(uvmpi_memory_unpin_oldest(s, 1));
	assert_int_equal(key->high, 10 * 4 + 1);
}

/* evict=lfu2m, [uvmsmart: incomplete-tree-stays]: a block that is not complete goes last, however seldom
 * it was used. */
static void incomplete(void **state)
{
	static const char *const policies[] = {"evict=lfu2m", "evict=lfu2m reserve=10",
	                                       "evict=lfu2m granularity=1m", "evict=lfu2m quirks=0"};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		uvmp_mask some = pages(0, 1);
		handle a, b, c;

		open(policies[i], 4096, 2, 0);
		a = block(0);
		b = at(SMALL); /* 507 pages are all that it has */
		c = block(2);
		have(a, 1, 0, 100);
		have(c, 1, 0, 256);
		have(c, 1, 256, 512); /* complete now */
		have(b, 1, 0, 200);
		have(b, 1, 200, 300);
		s->fault.servicing->job.block = block(3);
		(void)leave_once();
		assert_int_equal(resident(a, 1), i == 3 ? 0 : 100);
		assert_true(i == 3 || resident(c, 1) < 512);
		open(policies[i], 4096, 2, 0);
		a = block(0);
		b = at(SMALL);
		have(a, 1, 0, 512);
		have(b, 1, 0, 507);
		uvmpi_depart(s, a, uvmpi_residency_find(s, block_at(s, a), 1), &some, DEPART_MOVED); /* not complete now */
		s->fault.servicing->job.block = block(3);
		(void)leave_once();
		assert_true(i == 2 || resident(i == 3 ? a : b, 1) == 0);
		if (i != 2) {
			(void)leave_once(); /* nothing else is left */
			assert_int_equal(s->gpu[1].used_pages, 0);
		}
	}
}

static void hold(uint32_t number, uint64_t until_ns)
{
	assert_int_equal(uvmp_service_hold(s, 1, SPACE, BASE + (uvmp_addr)number * MIB2, until_ns), UVMP_OK);
}

/* [uvmsmart: evictable]: memory in use leaves after other memory, with units of 1 and 2 MiB; a hold ends with its time, or when the
 * block leaves. */
static void held(void **state)
{
	static const char *const policies[] = {"evict=lru2m", "evict=lfu2m", "evict=clock2m", "evict=lru2m granularity=1m"};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		open(policies[i], 4096, 2, 0);
		s->now_ns = 1000;
		have(block(0), 1, 0, 512);
		have(block(1), 1, 0, 512);
		s->fault.servicing->job.block = block(2);
		hold(0, 1001);
		hold(0, 7);
		hold(3, 9000); /* not on the GPU */
		(void)leave_once();
		assert_int_equal(resident(block(0), 1), i == 3 ? 256 : 512);
		assert_int_equal(resident(block(1), 1), i == 3 ? 512 : 0);
		for (uint32_t j = 0; j < (i == 3 ? 3u : 1u); j++)
			(void)leave_once(); /* nothing else is left in the end */
		assert_int_equal(resident(block(0), 1), 0);
	}
	open(policies[0], 4096, 2, 0);
	s->now_ns = 1000;
	have(block(0), 1, 0, 512);
	have(block(1), 1, 0, 512);
	s->fault.servicing->job.block = block(2);
	hold(0, 1000);
	(void)leave_once();
	assert_int_equal(resident(block(0), 1), 0);
	assert_int_equal(resident(block(1), 1), 512);
	(void)uvmpi_residency_make(s, block_at(s, block(2)), UVMP_CPU);
	hold(2, 9000); /* the CPU has it */
	open("evict=lru", 4096, 2, 0);
	have(block(0), 1, 0, 512);
	hold(0, 9000); /* root chunks: no effect */
	assert_true(uvmp_service_check(s));
	assert_int_equal(uvmp_service_hold(NULL, 1, SPACE, BASE, 1), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_hold(s, UVMP_CPU, SPACE, BASE, 1), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_hold(s, 3, SPACE, BASE, 1), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_hold(s, 1, SPACE + 1, BASE, 1), UVMP_OK);
}

static void hold_page(uint32_t page, uint64_t until_ns)
{
	assert_int_equal(uvmp_service_hold(s, 1, SPACE, BASE + (uvmp_addr)page * 4096u, until_ns), UVMP_OK);
}

/* [uvmsmart: evictable]: a held basic block leaves after the others, and not with another one either. */
static void held_basic_blocks(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		open(i == 0 ? "evict=sl64k" : "evict=tbne", 4096, 1, 0);
		s->now_ns = 1000;
		have(block(0), 1, 0, 512);
		s->fault.servicing->job.block = block(1);
		hold_page(15, 1001);
		hold_page(40, 1001);
		ASSERT_LEAVES(1, 1);
		s->now_ns = 1001;
		ASSERT_LEAVES(0, 1);
	}
	/* without the hold of block 3, the closure evicts it as well */
	for (uint32_t is_held = 0; is_held < 2; is_held++) {
		open("evict=tbne", 4096, 1, 0);
		s->now_ns = 1000;
		have(block(0), 1, 0, 16);
		have(block(0), 1, 48, 64);
		s->fault.servicing->job.block = block(1);
		if (is_held != 0)
			hold_page(48, 2000);
		(void)leave_once();
		assert_int_equal(resident(block(0), 1), is_held != 0 ? 16 : 0);
	}
	/* smaller units are not held; a unit that has got other memory is not, either */
	open("evict=lru4k", 4096, 1, 0);
	have(block(0), 1, 0, 2);
	s->fault.servicing->job.block = block(1);
	hold_page(0, 9000);
	(void)leave_once();
	assert_false(uvmp_mask_test(&place(block(0), 1)->resident, 0));
	assert_true(uvmp_service_check(s));
}

/* [uvmsmart: incomplete-tree-stays] with evict=lru2m: only of units that were held, and only with quirks. */
static void held_incomplete(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		open(i == 2 ? "evict=lru2m quirks=0" : "evict=lru2m", 4096, 2, 0);
		s->now_ns = 1000;
		have(block(0), 1, 0, 100);
		have(block(1), 1, 0, 512);
		s->fault.servicing->job.block = block(2);
		if (i != 0)
			hold(0, 1);
		hold(1, 1);
		(void)leave_once();
		assert_int_equal(resident(block(0), 1), i == 1 ? 100 : 0);
		assert_int_equal(resident(block(1), 1), i == 1 ? 0 : 512);
	}
	(void)leave_once(); /* nothing else is left */
	assert_int_equal(s->gpu[1].used_pages, 0);
}

/* Two roots, both in use; the block being serviced is a third one. */
static void two_blocks(const char *orders)
{
	open(orders, 4096, 2, 0);
	have(block(0), 1, 0, 512);
	have(block(1), 1, 0, 512);
	s->fault.servicing->job.block = block(2);
}

static void arrived(uint32_t number)
{
	assert_int_equal(uvmp_service_access(s, 1, SPACE, BASE + (uvmp_addr)number * MIB2, UVMP_ACCESS_NONE), UVMP_OK);
}

/* [uvmsmart: eviction-list]: what has arrived is the newest, with orders by recency; orders by uses or by faults count
 * no arrival. */
static void arrivals(void **state)
{
	static const char *const policies[] = {"evict=lru2m", "evict=lru4k", "evict=sl64k",
	                                       "evict=tbne",  "evict=lfu2m", "evict=auto"};

	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		two_blocks(policies[i]);
		for (uint32_t j = 0; j < 3; j++)
			arrived(0);
		arrived(3); /* not on the GPU */
		(void)leave_once();
		if (i == 1) /* the first page is the newest, the second one the oldest */
			assert_true(uvmp_mask_test(&place(block(0), 1)->resident, 0) && resident(block(0), 1) == 511);
		else
			assert_true(resident(block(i >= 4 ? 0 : 1), 1) < 512 && resident(block(i >= 4 ? 1 : 0), 1) == 512);
	}
	for (uint32_t i = 0; i < 2; i++) { /* the driver's order: no effect, also where accesses have one */
		open(i == 0 ? "evict=lru" : "evict=lru quirks=0", 4096, 2, 0);
		have(block(0), 1, 0, 512);
		have(block(1), 1, 0, 512);
		arrived(0);
		assert_int_equal(first_of(UVMP_PMM_USED), 0);
		assert_true(uvmp_service_check(s));
	}
}

/* A host that has reported only pages that are elsewhere has reported no arrival. */
static void no_arrivals(void **state)
{
	(void)state;
	two_blocks("evict=lru2m");
	arrived(3);
	assert_false(s->gpu[1].hears_arrivals);
	arrived(0);
	assert_true(s->gpu[1].hears_arrivals);
}

/* [uvmsmart: eviction-list]: where the host reports arrivals, a decision makes nothing newer: neither a unit of which more pages
 * are to come nor the tree of a unit. */
static void decisions_before_arrivals(void **state)
{
	static const struct {
		const char *policy;
		bool hears;
		uint32_t leaves; /* block */
	} cases[] = {{"evict=lru2m", false, 1}, {"evict=lru2m", true, 0}, {"evict=sl64k", false, 1}, {"evict=sl64k", true, 0}};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		open(cases[i].policy, 4096, 2, 0);
		have(block(0), 1, 0, 256);
		have(block(1), 1, 0, 256);
		if (cases[i].hears) {
			arrived(0);
			arrived(1);
		}
		have(block(0), 1, 256, 288); /* is to come */
		s->fault.servicing->job.block = block(2);
		(void)leave_once();
		for (uint32_t j = 0; j < 2; j++)
			assert_int_equal(resident(block(j), 1) == (j == 0 ? 288 : 256), j != cases[i].leaves);
		assert_true(uvmp_service_check(s));
	}
	/* what is pinned stays out of the order */
	open("evict=lru2m cyclic=on", 4096, 2, 0);
	walk_in_circles(3);
	assert_true(is_pinned(block(0)));
	arrived(0);
	assert_true(s->gpu[1].hears_arrivals);
	have(block(0), 1, 0, 512);
	assert_true(is_pinned(block(0)));
	assert_false(uvmpi_evict_contains(&s->gpu[1].order, place(block(0), 1)->memory));
}

/* Evictions that follow a decision do not evict the block being serviced, with every order. */
static void kept(void **state)
{
	static const char *const policies[] = {"evict=lru2m", "evict=lru4k", "evict=sl64k",
	                                       "evict=tbne",  "evict=lfu2m", "evict=clock2m"};

	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		two_blocks(policies[i]);
		s->fault.servicing->job.is_follow = true;
		s->fault.servicing->job.keep = block(0);
		assert_int_equal(evict_start(1, UVMP_CHUNK_2M, false), UVMP_OK);
		assert_int_equal(s->fault.servicing->eviction.root / s->gpu[1].block_units,
				 place(block(1), 1)->memory);
		assert_int_equal(evict(), UVMP_OK);
		s->fault.servicing->job.is_follow = false;
		assert_int_equal(evict_start(1, UVMP_CHUNK_2M, false), UVMP_OK);
		assert_int_equal(s->fault.servicing->eviction.root / s->gpu[1].block_units,
				 place(block(0), 1)->memory);
	}
}

/* A block with pages of 64 KiB is freed: the units of those with the numbers behind it stay in the order. */
static void neighbours(void **state)
{
	static const char *const policies[] = {"evict=lru2m", "evict=lfu2m", "evict=clock2m",
	                                       "evict=lru2m granularity=64k"};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		open(policies[i], 65536, 4, 0);
		for (uint32_t j = 0; j < 4; j++)
			have(block(j), 1, 0, 32);
		uvmpi_memory_free(s, 1, block(0));
		place(block(0), 1)->resident = pages(0, 0);
		assert_int_equal(s->gpu[1].order.count, 3 * s->gpu[1].block_units);
		for (uint32_t j = 1; j < 4; j++)
			assert_true(uvmp_evict_contains(&s->gpu[1].order,
			                                place(block(j), 1)->memory * s->gpu[1].block_units));
		assert_true(uvmp_service_check(s));
	}
}

/* What a prefetch has brought back has not returned, but it can leave, and each time is counted. */
static void circles_with_prefetch(void **state)
{
	const struct uvmp_cyclic_block *first;

	(void)state;
	open("evict=lru2m cyclic=on", 4096, 2, 0);
	walk_in_circles(1);
	first = &s->gpu[1].cyclic.block[place(block(0), 1)->memory];
	assert_true(first->is_away);
	s->fault.servicing->job.is_follow = true;
	have(block(0), 1, 0, 512);
	s->fault.servicing->job.is_follow = false;
	assert_false(first->is_away);
	assert_int_equal(first->rounds, 0);
	have(block(1), 1, 0, 512);
	have(block(2), 1, 0, 512);
	assert_true(first->is_away);
	assert_int_equal(s->gpu[1].cyclic.evictions, 4);
	have(block(0), 1, 0, 512);
	assert_int_equal(first->rounds, 1);
	assert_false(is_pinned(block(0)));
}

/* memory_ratio: more chunks, or pages, than there are bytes. */
static void compressed(void **state)
{
	(void)state;
	open("preset=nvidia-595 memory_ratio=150", 4096, 2, 3);
	for (uint32_t i = 0; i < 3; i++)
		have(block(i), 1, 0, 512);
	assert_string_equal(seen, "AAA");
	assert_int_equal(last[UVMP_ACTION_ALLOCATE].offset, 2 * MIB2);
	assert_true(uvmpi_memory_is_full(s, 1));
	gpus[0].splits = 4;
	assert_int_equal(uvmp_service_size(&params, 0), 0);
	open("evict=lru4k memory_ratio=125", 4096, 1, 1);
	assert_int_equal(s->gpu[1].capacity_pages, 640);
	have(block(0), 1, 0, 512);
	have(block(1), 1, 0, 128);
	assert_string_equal(seen, "AAAA");
	assert_true(uvmpi_memory_is_full(s, 1));
	policy.memory_ratio = 1000;
	gpus[0].memory_bytes = (uint64_t)(UVMP_ROOTS_MAX / 10u + 1u) * MIB2;
	assert_int_equal(uvmp_service_size(&params, 0), 0);
}

/* MHPE gets the number of evicted pages that were not touched, if it is known. */
static void untouched_pages(void **state)
{
	struct history *history;
	handle a;

	(void)state;
	open("evict=mhpe", 4096, 1, 0);
	a = block(0);
	have(a, 1, 0, 64);
	s->fault.servicing->job.block = block(1);
	ASSERT_LEAVES(0, 1);
	assert_int_equal(mhpe_of(s)->left_pages, 16);
	assert_int_equal(mhpe_of(s)->untouched, 0);
	uvmpi_cold_make(s, block_at(s, a));
	ASSERT_LEAVES(1, 1);
	cold_at(s, block_at(s, a)->cold)->history = uvmpi_arena_take(s, SLAB_HISTORY);
	history = uvmpi_arena_at(s, cold_at(s, block_at(s, a)->cold)->history);
	history->gpu = 2;
	history->touched = pages(30, 34);
	ASSERT_LEAVES(2, 1);
	assert_int_equal(mhpe_of(s)->untouched, 0);
	history->gpu = 1;
	history->touched = pages(47, 50);
	ASSERT_LEAVES(3, 1);
	assert_int_equal(mhpe_of(s)->left_pages, 64);
	assert_int_equal(mhpe_of(s)->untouched, 14);
	cold_at(s, block_at(s, a)->cold)->history = 0;
}

static uint32_t victim_unit(uint32_t gpu)
{
	uint32_t unit = UVMP_UNIT_NONE;

	assert_int_equal(uvmp_evict_victim(&s->gpu[gpu].order, NULL, &unit), UVMP_OK);
	return unit;
}

/* evict=auto: blocks of which half or more arrived in one batch leave as one, else units that arrived one after the other. */
static void groups_leave(void **state)
{
	handle a, b, c;

	(void)state;
	open("evict=auto", 4096, 16, 0);
	a = block(0), b = block(1), c = block(2);
	have(a, 1, 0, 256);
	have(b, 1, 16, 48);
	have(c, 1, 0, 16);
	have(b, 1, 64, 80);
	assert_int_equal(victim_unit(1), 0);
	assert_int_equal(uvmp_service_touch(s, 1, SPACE, BASE), UVMP_OK);
	assert_int_equal(victim_unit(1), 0); /* learns from faults only */
	s->fault.servicing->job.block = block(3);
	ASSERT_LEAVES(0, 16);
	assert_int_equal(last[UVMP_ACTION_EVICT].victim, UVMP_VICTIM_OLDEST);
	ASSERT_LEAVES(1, 2);
	ASSERT_LEAVES(0, 1);
	ASSERT_LEAVES(4, 1);
	assert_int_equal(s->gpu[1].used_pages, 0);
	have(a, 1, 0, 256);
	have(a, 1, 480, 512);
	s->fault.servicing->job.block = a; /* a block makes no room for itself, whichever pages arrive */
	assert_int_equal(evict_start(1, UVMP_CHUNK_2M, false), UVMP_ERR_NO_MEMORY);
	have(b, 1, 0, 16);
	s->fault.servicing->job.block = a;
	ASSERT_LEAVES(0, 1); /* b */
	s->fault.servicing->job.block = b;
	assert_int_equal(evict_start(1, UVMP_CHUNK_2M, false), UVMP_OK);
	assert_int_equal(evict(), UVMP_OK); /* two runs of pages */
	assert_int_equal(s->gpu[1].used_pages, 0);
	assert_true(uvmp_service_check(s));
}

/* In a memory of fewer than 16 blocks whose pages count, a group is too much: units leave alone. If units count, it
 * leaves whole. */
static void groups_of_a_small_memory(void **state)
{
	(void)state;
	for (uint32_t roots = 15; roots <= 16; roots++) {
		for (uint32_t counts_units = 0; counts_units <= 1; counts_units++) {
			open("evict=auto", 4096, roots, 0);
			s->gpu[1].counts_units = counts_units;
			have(block(0), 1, 0, 512);
			s->fault.servicing->job.block = block(1);
			ASSERT_LEAVES(0, roots == 15 && !counts_units ? 1 : 32);
		}
	}
}

/* The copy of a whole block fails: all of it stays, and leaves after the others. */
static void groups_stay(void **state)
{
	handle a, b;

	(void)state;
	open("evict=auto", 4096, 16, 0);
	a = block(0), b = block(1);
	have(a, 1, 0, 512);
	s->fault.servicing->job.block = block(2);
	fail_kind = UVMP_ACTION_COPY;
	assert_int_equal(evict_start(1, UVMP_CHUNK_2M, false), UVMP_OK);
	assert_int_not_equal(evict(), UVMP_OK);
	assert_int_equal(resident(a, 1), 512);
	assert_int_equal(s->gpu[1].order.count, 32);
	forget();
	ASSERT_LEAVES(0, 32);
	have(b, 1, 0, 16);
	have(a, 1, 0, 32);
	ASSERT_LEAVES(0, 1); /* b */
	assert_int_equal(resident(a, 1), 32);
}

/* While all data may fit, evict=auto makes no more room ahead than the next block lacks. Pages that arrive are not missing. */
static void room_ahead_while_data_fit(void **state)
{
	struct job *job;
	handle a;

	(void)state;
	prepare("evict=auto", 4096, 16, 0);
	params.blocks = 24;
	add_ranges(4096);
	a = block(0);
	have(a, 1, 0, 432); /* 80 pages are free */
	for (uint32_t i = 10; i < 25; i++)
		have(block(i), 1, 0, 512);
	job = &s->fault.servicing->job;
	job->block = block(2);
	job->has_next = true;
	job->next_start = BASE;
	job->arrive[1] = pages(0, 200);
	assert_false(evict_ahead(1, BASE)); /* 80 pages are missing */
	s->is_full = true;
	assert_true(evict_ahead(1, BASE));
	assert_int_equal(evict(), UVMP_OK);
	assert_int_equal(resident(a, 1), 0);
	s->is_full = false;
	have(a, 1, 0, 400);
	have(at(TINY), 1, 0, 32); /* 80 pages are free */
	job->block = a;
	job->arrive[1] = pages(400, 500);
	assert_false(evict_ahead(1, BASE)); /* 12 pages are missing */
	s->is_full = true;
	job->arrive[1] = pages(400, 512);
	assert_false(evict_ahead(1, BASE)); /* none */
	job->arrive[1] = pages(400, 500);
	assert_true(evict_ahead(1, BASE));
	assert_int_equal(evict(), UVMP_OK);
	assert_int_equal(resident(block(10), 1), 0);
	s->is_full = false;
	have(block(10), 1, 0, 512);
	job->block = block(2);
	job->arrive[1] = pages(0, 200);
	job->next_start = BASE - MIB2; /* in no range: as a whole block */
	assert_true(evict_ahead(1, BASE - MIB2));
	assert_int_equal(evict(), UVMP_OK);
	assert_int_equal(resident(block(11), 1), 0);
	job->arrive[1] = pages(0, 0);
}

/* evict=auto makes room ahead for as much as the present block needs, unless the next block is resident. */
static void room_ahead(void **state)
{
	struct job *job;
	handle a, tiny;

	(void)state;
	prepare("evict=auto", 4096, 16, 0);
	params.blocks = 24;
	add_ranges(4096);
	a = block(0), tiny = at(TINY);
	have(tiny, 1, 0, 32);
	have(a, 1, 0, 400);
	for (uint32_t i = 10; i < 25; i++) /* all but one block of memory */
		have(block(i), 1, 0, 512);
	job = &s->fault.servicing->job;
	job->block = block(2);
	job->arrive[1] = pages(0, 80);
	assert_false(evict_ahead(1, BASE)); /* 80 pages are free */
	job->arrive[1] = pages(0, 81);
	job->has_next = true;
	job->next_start = TINY;
	assert_false(evict_ahead(1, TINY));
	job->next_start = BASE; /* not all of it is there */
	assert_true(evict_ahead(1, BASE));
	assert_int_equal(evict(), UVMP_OK);
	assert_int_equal(resident(tiny, 1), 0); /* the oldest */
	assert_int_equal(resident(a, 1), 400);
	have(tiny, 1, 0, 32);
	job->next_start = BASE + 3ull * MIB2; /* no block yet */
	assert_true(evict_ahead(1, BASE + 3ull * MIB2));
	assert_int_equal(evict(), UVMP_OK);
	assert_int_equal(resident(a, 1), 0);
	have(a, 1, 0, 464);
	(void)block(4);
	job->next_start = BASE + 4ull * MIB2; /* a block without pages on the GPU */
	job->arrive[1] = pages(0, 3);
	assert_false(evict_ahead(1, BASE + 4ull * MIB2)); /* 16 pages are free: a unit */
	have(a, 1, 464, 465);
	job->has_next = false;
	assert_true(evict_ahead(1, BASE));
	assert_int_equal(evict(), UVMP_OK);
	job->arrive[1] = pages(0, 0);
}

/* A host page of 64 KiB is the least that leaves; a block has 32 of them. */
static void pages_of_64k(void **state)
{
	handle a, b;

	(void)state;
	open("evict=lru2m granularity=64k", 65536, 1, 0);
	a = block(0);
	b = block(1);
	have(a, 1, 0, 32);
	assert_true(uvmpi_memory_is_full(s, 1));
	uvmpi_memory_touch(s, 1, a, 0); /* page 0 is the newest now */
	have(b, 1, 30, 32);
	assert_string_equal(seen, "AAECECA");
	assert_int_equal(last[UVMP_ACTION_EVICT].detail, 65536);
	assert_true(uvmp_mask_test(&last[UVMP_ACTION_EVICT].pages, 2));
	assert_int_equal(resident(a, UVMP_CPU), 2);
	assert_int_equal(resident(b, 1), 2);
	assert_true(uvmp_service_check(s));
	open("evict=lru2m granularity=128k", 65536, 1, 0);
	a = block(0);
	have(a, 1, 0, 32);
	have(block(1), 1, 0, 1);
	assert_int_equal(last[UVMP_ACTION_EVICT].detail, 0x20000);
	assert_int_equal(resident(a, 1), 30);
	assert_true(uvmp_service_check(s));
	open("evict=clock2m", 65536, 1, 0);
	a = block(0);
	have(a, 1, 0, 32);
	have(block(1), 1, 0, 1);
	assert_int_equal(resident(a, 1), 0);
	assert_true(uvmp_service_check(s));
}

/* Where page `first` lies, by the last ALLOCATE. */
static uint64_t placed(handle h, uint32_t first, uint32_t end)
{
	const struct uvmp_action *a = &last[UVMP_ACTION_ALLOCATE];

	have(h, 1, first, end);
	return a->offset - (uvmp_mask_next_set(&a->pages, 0) - first) * 4096u;
}

/* All of the block leaves, and its memory. */
static void give_up(handle h)
{
	uvmp_mask all = pages(0, 512);

	uvmpi_depart(s, h, uvmpi_residency_find(s, block_at(s, h), 1), &all, DEPART_MOVED);
	uvmpi_memory_free(s, 1, h);
}

/* Orders with groups: whole blocks lie in one root, other units in roots that are partly free. */
static void frames_by_root(void **state)
{
	(void)state;
	open("evict=auto prefetch=none", 4096, 4, 4);
	assert_int_equal(placed(block(0), 0, 512), 0);
	assert_int_equal(placed(block(1), 0, 16), MIB2);
	assert_int_equal(placed(block(2), 0, 16), MIB2 + 65536);
	assert_int_equal(placed(block(3), 0, 512), 2 * MIB2);
	assert_int_equal(placed(block(4), 32, 48), MIB2 + 2 * 65536);
	give_up(block(2)); /* the lowest free frame comes first */
	assert_int_equal(placed(block(5), 0, 16), MIB2 + 65536);
	assert_true(uvmp_service_check(s));
	give_up(block(1));
	give_up(block(4));
	give_up(block(5)); /* wholly free again */
	assert_int_equal(placed(block(6), 0, 512), MIB2);
	give_up(block(0));
	give_up(block(3)); /* two are: the first comes first */
	assert_int_equal(placed(block(7), 0, 512), 0);
	assert_int_equal(placed(block(0), 0, 16), 2 * MIB2);
	assert_int_equal(placed(block(0), 16, 512), 2 * MIB2 + 65536); /* not at once, but in order */
	assert_true(uvmp_service_check(s));
	assert_int_equal(placed(at(SMALL), 0, 507), 3 * MIB2); /* no whole block, and begins a root */
	assert_true(uvmp_service_check(s));
}

/* No root is wholly free: the block is scattered. Roots leave the list of partly free ones at its ends and between. */
static void frames_without_a_root(void **state)
{
	(void)state;
	open("evict=auto prefetch=none", 4096, 3, 3);
	assert_int_equal(placed(block(0), 0, 16), 0);
	assert_int_equal(placed(block(1), 0, 496), 65536); /* fills root 0 */
	assert_int_equal(placed(block(2), 0, 16), MIB2);
	assert_int_equal(placed(block(3), 0, 496), MIB2 + 65536);
	assert_int_equal(placed(block(4), 0, 16), 2 * MIB2);
	give_up(block(1));
	give_up(block(3)); /* list: 1, 0, 2 */
	forget();
	have(block(5), 1, 0, 512); /* 31 frames of root 1, one of root 0 */
	assert_string_equal(seen, "AAA");
	assert_int_equal(last[UVMP_ACTION_ALLOCATE].offset, 65536);
	assert_true(uvmp_mask_test(&last[UVMP_ACTION_ALLOCATE].pages, 511));
	assert_true(uvmp_service_check(s));
	give_up(block(2)); /* list: 1, 0, 2 */
	give_up(block(0));
	assert_true(uvmp_service_check(s));
	give_up(block(4)); /* the last of the list */
	assert_true(uvmp_service_check(s));
	give_up(block(5));
	assert_true(uvmp_service_check(s));
	assert_int_equal(placed(block(6), 0, 512) % MIB2, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(frames_by_root),
	        cmocka_unit_test(frames_without_a_root),
	        cmocka_unit_test(sizes),
	        cmocka_unit_test(without_memory),
	        cmocka_unit_test(whole_blocks),
	        cmocka_unit_test(no_pages),
	        cmocka_unit_test(victims_by_list),
	        cmocka_unit_test(free_victim),
	        cmocka_unit_test(small_blocks),
	        cmocka_unit_test(refused_allocation),
	        cmocka_unit_test(big_pages),
	        cmocka_unit_test(shared_root),
	        cmocka_unit_test(maps_to_the_evicted),
	        cmocka_unit_test(failed_copies),
	        cmocka_unit_test(full_arena),
	        cmocka_unit_test(no_split_records),
	        cmocka_unit_test(everything_pinned),
	        cmocka_unit_test(followers),
	        cmocka_unit_test(unneeded),
	        cmocka_unit_test(unneeded_elsewhere),
	        cmocka_unit_test(nothing_for_it),
	        cmocka_unit_test(two_roots),
	        cmocka_unit_test(copies_beside),
	        cmocka_unit_test(parked_chunks),
	        cmocka_unit_test(many_pins),
	        cmocka_unit_test(corrected),
	        cmocka_unit_test(pages_of_4k),
	        cmocka_unit_test(pages_of_64k),
	        cmocka_unit_test(more_blocks_than_numbers),
	        cmocka_unit_test(as_many_numbers_as_possible),
	        cmocka_unit_test(large_pages),
	        cmocka_unit_test(random_pages),
	        cmocka_unit_test(basic_blocks),
	        cmocka_unit_test(basic_blocks_in_use),
	        cmocka_unit_test(reserve),
	        cmocka_unit_test(trees),
	        cmocka_unit_test(trees_of_the_prefetcher),
	        cmocka_unit_test(failed_region),
	        cmocka_unit_test(least_often),
	        cmocka_unit_test(free_buffer),
	        cmocka_unit_test(units_of_64k),
	        cmocka_unit_test(counts_of_units),
	        cmocka_unit_test(trees_of_units),
	        cmocka_unit_test(ahead_of_pages),
	        cmocka_unit_test(circles),
	        cmocka_unit_test(circles_with_prefetch),
	        cmocka_unit_test(counted_circles),
	        cmocka_unit_test(incomplete),
	        cmocka_unit_test(held),
	        cmocka_unit_test(held_basic_blocks),
	        cmocka_unit_test(held_incomplete),
	        cmocka_unit_test(arrivals),
	        cmocka_unit_test(no_arrivals),
	        cmocka_unit_test(decisions_before_arrivals),
	        cmocka_unit_test(kept),
	        cmocka_unit_test(neighbours),
	        cmocka_unit_test(compressed),
	        cmocka_unit_test(untouched_pages),
	        cmocka_unit_test(groups_leave),
	        cmocka_unit_test(groups_of_a_small_memory), cmocka_unit_test(groups_stay),
	        cmocka_unit_test(room_ahead),
	        cmocka_unit_test(room_ahead_while_data_fit),
	};
	int failed;

	arena = aligned_alloc(16, ARENA);
	failed = arena ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
	free(arena);
	return failed;
}
