/* What a host that lies, or a machine that is as large or as small as it may be, could overrun: the queue of
 * actions, the list of pins, the arena at every size, the end of the address space. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decisions/pmm_internal.h"
#include "support/engine_internals.h"
#include "support/arena.h"
#include "support/engine_host.h"

#define MIB2  0x200000u
#define PAGE  4096u
#define BASE  ((uvmp_addr)0x40000000)
#define SPACE 1u

static struct engine e;

/* -- the queue ------------------------------------------------------------------------------- */

/* Queues as many actions as the queue may hold, and one more. */
static void overfill_queue(void)
{
	for (uint32_t i = 0; i < UVMP_SERVICE_PENDING_MAX; i++)
		(void)uvmpi_queue(e.service, UVMP_ACTION_WAIT, UVMP_CAUSE_DEMAND, 0, NULL);
}

/* A part of the engine that queues too many actions is found where it does so. Without assertions, the queue keeps its
 * bound. */
static void queue_is_full(void **state)
{
	(void)state;
	engine_init(&e, 1, 4);
	assert_true(engine_policy(&e, "prefetch=none"));
	assert_true(engine_start(&e, 4, 1 << 20));
#ifdef UVMPI_DEBUG
	{
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			signal(SIGILL, SIG_DFL); /* not cmocka's */
			signal(SIGTRAP, SIG_DFL);
			overfill_queue();
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		assert_true(WTERMSIG(status) == SIGILL || WTERMSIG(status) == SIGTRAP);
	}
#else
	overfill_queue();
	assert_int_equal(e.service->actions, UVMP_SERVICE_PENDING_MAX - 1u);
	assert_true(uvmp_service_check(e.service));
#endif
	engine_stop(&e);
}

/* Faults of a fatal type are never merged, and behind one each further fault of the page is judged by itself
 * [driver: block-walk]. While the page is throttled the host is told once, however many they
 * are. */
static void many_throttled(void **state)
{
	struct uvmp_fault f = engine_entry(SPACE, BASE + PAGE, UVMP_ACCESS_WRITE);

	(void)state;
	f.type = UVMP_FAULT_FATAL;
	engine_init(&e, 1, 4);
	assert_true(engine_policy(&e, "prefetch=none batch=3000"));
	e.gpu[0].fault_entries = 3000;
	assert_true(engine_start(&e, 4, 1 << 20));
	engine_bind(&e, 1, SPACE);
	engine_range(&e, SPACE, BASE, MIB2, UVMP_PROC_NONE);
	for (uint32_t i = 0; i < 50 && e.count[UVMP_ACTION_THROTTLE] == 0; i++) {
		engine_forget(&e);
		assert_int_equal(
		        uvmp_service_cpu_fault(e.service, SPACE, BASE + PAGE, UVMP_ACCESS_WRITE, 1, NULL),
		        UVMP_OK);
		e.now_ns += 100000;
		engine_run(&e);
		engine_forget(&e);
		engine_fault(&e, 1, SPACE, BASE,
		             UVMP_ACCESS_READ); /* the walk steps over fatal faults only here */
		for (uint32_t k = 0; k < 2500; k++)
			assert_int_equal(uvmp_service_fault(e.service, 1, &f), UVMP_OK);
		e.now_ns += 100000;
		engine_run(&e);
	}
	assert_int_equal(e.count[UVMP_ACTION_THROTTLE], 1);
	engine_stop(&e);
}

static struct uvmp_action finish(enum uvmp_action_kind failing)
{
	struct uvmp_action last = {.id = 0};
	const struct uvmp_action *a;

	while (uvmp_service_next(e.service, e.now_ns, &a) == UVMP_OK) {
		last = *a;
		assert_int_equal(
		        uvmp_service_complete(e.service, a->id, a->kind == failing ? UVMP_ERR_STATE : UVMP_OK),
		        UVMP_OK);
	}
	return last;
}

static void migrate(uvmp_addr base, uint64_t bytes, uint32_t processor)
{
	assert_int_equal(uvmp_service_migrate(e.service, SPACE, base, bytes, processor, NULL), UVMP_OK);
}

/* The CPU and 63 GPUs that all reach each other. */
static void start_largest(void)
{
	static struct uvmp_service_gpu gpu[UVMP_PROCS_MAX - 1u];

	engine_init(&e, 1, 1);
	assert_true(engine_policy(&e, "prefetch=none thrash=off"));
	e.processors.count = UVMP_PROCS_MAX;
	for (uint32_t p = 0; p < UVMP_PROCS_MAX; p++) {
		e.processors.can_access[p] = ~(uint64_t)0;
		e.processors.native_atomics[p] = ~(uint64_t)0;
		if (p != 0)
			gpu[p - 1u] = e.gpu[0];
	}
	e.params.gpu = gpu;
	assert_true(engine_start(&e, 64, 1 << 20));
}

/* 62 GPUs have one page each of a block, with GPU 1: duplicates that an advice has left, because an unmapping
 * in the block before failed. When GPU 1 loses them the CPU alone has them, and all processors are mapped to
 * them: few actions. */
static void many_mappings(void **state)
{
	const uvmp_addr block = BASE + MIB2, first = block - PAGE;
	const struct uvmp_action *a;
	uint32_t maps = 0;

	(void)state;
	start_largest();
	assert_int_equal(uvmp_service_add_range(e.service, SPACE, first, 65 * PAGE,
	                                        UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_PROC_NONE),
	                 UVMP_OK);
	assert_int_equal(uvmp_service_add_range(e.service, SPACE, BASE + 4 * MIB2, MIB2,
	                                        UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_PROC_NONE),
	                 UVMP_OK);
	assert_int_equal(
	        uvmp_service_advise(e.service, SPACE, first, 65 * PAGE, UVMP_ADVISE_READ_DUPLICATE, 0, NULL),
	        UVMP_OK);
	migrate(block, 64 * PAGE, 1);
	for (uint32_t p = 2; p < UVMP_PROCS_MAX; p++) {
		finish(UVMP_ACTION_COUNT);
		migrate(block + p * PAGE, PAGE, p);
	}
	migrate(first, PAGE, 1);
	assert_int_equal(uvmp_service_cpu_fault(e.service, SPACE, first, UVMP_ACCESS_READ, 1, NULL), UVMP_OK);
	finish(UVMP_ACTION_COUNT);

	/* the newest block comes first, and its unmapping fails */
	assert_int_equal(
	        uvmp_service_advise(e.service, SPACE, first, 65 * PAGE, UVMP_ADVISE_UNSET_DUPLICATE, 0, NULL),
	        UVMP_OK);
	assert_int_equal(finish(UVMP_ACTION_UNMAP).status, UVMP_ERR_STATE);
	e.service->range[0].accessed_by = ~(uint64_t)0; /* as 64 advices would set it */

	migrate(BASE + 4 * MIB2, PAGE, 1);
	while (uvmp_service_next(e.service, e.now_ns, &a) == UVMP_OK) {
		assert_true(e.service->actions < UVMP_SERVICE_PENDING_MAX - 1u);
		maps += a->kind == UVMP_ACTION_MAP && a->cause == UVMP_CAUSE_EVICTION;
		assert_int_equal(uvmp_service_complete(e.service, a->id, UVMP_OK), UVMP_OK);
	}
	assert_true(uvmp_service_check(e.service));
	assert_int_equal(maps, UVMP_PROCS_MAX - 1u);
	engine_stop(&e);
}

/* -- pins ------------------------------------------------------------------------------------ */

/* Asks for memory on GPU 1 as a step does. */
static enum backing back(struct uvmp_service *s, handle h, const uvmp_mask *pages)
{
	const struct arriving arriving = {pages, pages, UVMP_CAUSE_DEMAND};
	enum uvmp_chunk_size size;

	assert_non_null(uvmpi_residency_make(s, block_at(s, h), 1));
	return uvmpi_memory_back(s, 1, h, &arriving, &size);
}

/* All that may be pinned is, and the host knows of none of it: the present step needs them, and gets no more.
 */
static void no_room_for_pins(void **state)
{
	struct uvmp_service *s;
	uvmp_mask first;
	enum uvmp_status status;
	handle last;

	(void)state;
	engine_init(&e, 1, PINNED_MAX + 2u);
	e.params.blocks = PINNED_MAX + 2u;
	assert_true(engine_start(&e, PINNED_MAX + 2u, 0));
	s = e.service;
	assert_int_equal(uvmp_service_add_range(s, SPACE, BASE, (PINNED_MAX + 1ull) * MIB2,
	                                        UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_PROC_NONE),
	                 UVMP_OK);
	uvmp_mask_zero(&first);
	uvmp_mask_set(&first, 0);
	for (uint32_t i = 0; i < PINNED_MAX; i++) {
		handle h = uvmpi_block_make(s, 0, BASE + (uint64_t)i * MIB2, &status);

		assert_int_equal(back(s, h, &first), BACKING_DONE);
		s->pinned[i].is_known = false;
		s->actions = 0;
	}
	last = uvmpi_block_make(s, 0, BASE + (uint64_t)PINNED_MAX * MIB2, &status);
	assert_int_equal(back(s, last, &first), BACKING_FAILED);
	assert_int_equal(s->pinned_count, PINNED_MAX);
	assert_true(uvmp_service_check(s));
	s->pinned[7].is_known = true; /* the pin is not needed now */
	assert_int_equal(back(s, last, &first), BACKING_DONE);
	uvmpi_memory_settle(s);
	assert_true(uvmp_service_check(s));
	assert_int_equal(s->gpu[1].pmm->allocated_pages, 2u * 512u);
	engine_stop(&e);
}

/* -- retries --------------------------------------------------------------------------------- */

/* A host that answers "not now" has failed: the engine tries again only after its own evictions. */
static void no_retry_for_the_host(void **state)
{
	(void)state;
	engine_init(&e, 1, 4);
	assert_true(engine_policy(&e, "prefetch=locality locality_pages=512 quirks=0"));
	assert_true(engine_start(&e, 8, 1 << 20));
	engine_bind(&e, 1, SPACE);
	engine_range(&e, SPACE, BASE, 4 * MIB2, UVMP_PROC_NONE);

	/* pages of the next block, for which no access waits */
	engine_fail(&e, UVMP_ACTION_POPULATE, 2, 1000000, UVMP_ERR_RETRY);
	engine_fault(&e, 1, SPACE, BASE + 300 * PAGE, UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.count[UVMP_ACTION_POPULATE], 3);

	/* pages that faulted */
	engine_fault(&e, 1, SPACE, BASE + 2 * MIB2, UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_ERR_STATE);
	assert_int_equal(e.count[UVMP_ACTION_POPULATE], 5);
	assert_int_equal(e.count[UVMP_ACTION_CANCEL], 1);
	engine_stop(&e);
}

/* -- the arena ------------------------------------------------------------------------------- */

/* Everything that takes arena: blocks below 2 MiB, with home, duplicates, thrashing, prefetch trees, splits.
 */
static const char *const policies[] = {"prefetch=tbn thrash_threshold=1", "plan=overlapped",
                                       "prefetch=sl evict=lru4k", "prefetch=locality evict=lru2m"};

static void little_of_all(uint32_t round)
{
	const uvmp_addr odd = BASE + 8 * MIB2 + 3 * PAGE;

	switch (round % 8u) {
	case 0:
		(void)uvmp_service_advise(e.service, SPACE, odd, 100 * PAGE, UVMP_ADVISE_READ_DUPLICATE, 0,
		                          NULL);
		break;
	case 1:
		(void)uvmp_service_migrate(e.service, SPACE, BASE, 3 * MIB2, 1, NULL);
		break;
	case 2:
		(void)uvmp_service_advise(e.service, SPACE, BASE + 9 * PAGE, MIB2, UVMP_ADVISE_ACCESSED_BY, 1,
		                          NULL);
		break;
	case 3:
		(void)uvmp_service_advise(e.service, SPACE, BASE + MIB2, MIB2, UVMP_ADVISE_DISCARD, 0, NULL);
		break;
	default:
		break;
	}
	for (uint32_t i = 0; i < 5; i++) {
		struct uvmp_fault f = engine_entry(SPACE, BASE + i * (MIB2 + 5 * PAGE), UVMP_ACCESS_WRITE);

		(void)uvmp_service_fault(e.service, 1, &f);
		f.address = odd + (i * 20 + round) * PAGE;
		(void)uvmp_service_fault(e.service, 1, &f);
		(void)uvmp_service_cpu_fault(e.service, SPACE, i % 2u != 0 ? odd : BASE + 5 * PAGE,
		                             UVMP_ACCESS_WRITE, i, NULL);
	}
}

/* With `spare` bytes of arena; at action `grow_at` there comes more. Returns the status of the last DONE. */
static enum uvmp_status live(const char *policy, size_t spare, uint32_t grow_at, uint32_t *actions)
{
	void *more = NULL;
	enum uvmp_status worst = UVMP_OK;

	engine_init(&e, 1, 2);
	assert_true(engine_policy(&e, policy));
	e.params.blocks = 8;
	assert_true(engine_start(&e, 0, spare));
	arena_without_reserve(e.service);
	engine_bind(&e, 1, SPACE);
	engine_range(&e, SPACE, BASE, 6 * MIB2, UVMP_PROC_NONE);
	engine_range(&e, SPACE, BASE + 8 * MIB2 + 3 * PAGE, 200 * PAGE, UVMP_CPU);
	for (uint32_t round = 0; round < 5; round++) {
		little_of_all(round);
		while (engine_step(&e)) {
			assert_true(++*actions < 20000);
			if (*actions == grow_at) {
				more = aligned_alloc(16, 1 << 20);
				assert_int_equal(uvmp_service_grow(e.service, more, 1 << 20), UVMP_OK);
			}
			if (e.last.kind == UVMP_ACTION_DONE && e.status != UVMP_OK && worst == UVMP_OK)
				worst = e.status;
		}
		e.now_ns += 200000;
	}
	assert_true(engine_agrees(&e));
	assert_int_equal(uvmp_service_free_range(e.service, SPACE, BASE, NULL), UVMP_OK);
	assert_int_equal(uvmp_service_free_range(e.service, SPACE, BASE + 8 * MIB2 + 3 * PAGE, NULL),
	                 UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	for (uint32_t slab = 0; slab < SLAB_COUNT; slab++)
		assert_int_equal(e.service->live[slab], 0);
	assert_int_equal(e.service->gpu[1].used_pages, 0);
	free(more);
	engine_stop(&e);
	return worst;
}

/* From nothing to enough, so that it ends at every point where something is taken. */
static void arena_of_any_size(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		uint32_t actions = 0;

		for (size_t spare = 0; spare < 10000; spare += i == 0 ? 112 : 592)
			(void)live(policies[i], spare, 0, &(uint32_t){0});
		(void)live(policies[i], 1 << 20, 0, &actions);
		assert_true(actions > 150);
	}
}

/* It was too small, and grows between any two actions. */
static void arena_that_grows(void **state)
{
	uint32_t most = 0;

	(void)state;
	(void)live(policies[0], 1000, 0, &most);
	for (uint32_t at = 1; at <= most; at += 9)
		(void)live(policies[0], 1000, at, &(uint32_t){0});
}

/* Does the engine hand out an action? *has_changed becomes true if the engine hands out none because of its arena, and has
 * new state of blocks all the same. */
static bool step_on_demand(bool *has_changed)
{
	struct uvmp_service_memory before = {.size = sizeof(before)}, after = {.size = sizeof(after)};
	bool has_action;

	uvmp_service_memory_used(e.service, &before);
	has_action = engine_step(&e);
	uvmp_service_memory_used(e.service, &after);
	*has_changed = *has_changed || (!has_action && e.next == UVMP_ERR_ARENA && after.residencies > before.residencies);
	return has_action;
}

/* Runs little_of_all with 16 MiB of arena, or with none beside the reserve and a segment whenever the engine
 * wants one. Returns how many came. */
static uint32_t live_on_demand(const char *policy, uint32_t blocks, bool is_ample, bool *has_changed, char *text)
{
	void *segment[7];
	uint32_t segments = 0;
	size_t bytes;

	engine_init(&e, 1, 2);
	assert_true(engine_policy(&e, policy));
	e.params.blocks = blocks;
	assert_true(engine_start(&e, 0, is_ample ? 16u << 20 : 0));
	engine_bind(&e, 1, SPACE);
	engine_range(&e, SPACE, BASE, 6 * MIB2, UVMP_PROC_NONE);
	engine_range(&e, SPACE, BASE + 8 * MIB2 + 3 * PAGE, 200 * PAGE, UVMP_CPU);
	for (uint32_t round = 0; round < 5; round++) {
		little_of_all(round);
		for (;;) {
			while (step_on_demand(has_changed))
				;
			if (e.next != UVMP_ERR_ARENA)
				break;
			assert_int_equal(uvmp_service_pending(e.service), 0);
			assert_false(engine_step(&e)); /* the same call fails until the arena grows */
			assert_int_equal(e.next, UVMP_ERR_ARENA);
			assert_true(uvmp_service_check(e.service));
			assert_true(segments < 7);
			bytes = segments == 0 ? (size_t)uvmp_service_needs(e.service) : (size_t)12288 << segments;
			segment[segments] = aligned_alloc(16, bytes);
			assert_int_equal(uvmp_service_grow(e.service, segment[segments], bytes), UVMP_OK);
			segments++;
		}
		assert_int_equal(e.next, UVMP_ERR_RETRY);
		e.now_ns += 200000;
	}
	assert_true(engine_agrees(&e));
	assert_int_equal(e.count[UVMP_ACTION_CANCEL], 0);
	(void)snprintf(text, ENGINE_TEXT_BYTES, "%s", e.text);
	engine_stop(&e);
	for (uint32_t i = 0; i < segments; i++)
		free(segment[i]);
	return segments;
}

/* An arena that grows when the engine asks for it: the same decisions, and no fault is cancelled. */
static void arena_on_demand(void **state)
{
	static const char *const without[] = {"prefetch=tbn thrash=off", "plan=overlapped thrash=off",
	                                      "prefetch=sl evict=lru4k thrash=off",
	                                      "prefetch=locality evict=lru2m thrash=off"};
	char *ample = calloc(1, ENGINE_TEXT_BYTES), *demand = calloc(1, ENGINE_TEXT_BYTES);

	(void)state;
	for (uint32_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
		bool has_changed = false;

		assert_int_equal(live_on_demand(without[i], 8, true, &has_changed, ample), 0);
		assert_true(live_on_demand(without[i], 8, false, &has_changed, demand) > 0);
		assert_true(strlen(ample) > 1000);
		assert_string_equal(ample, demand);
	}
	free(ample);
	free(demand);
}

/* With tables for one block, the engine makes the state of the second one before it finds that the tables must grow, and
 * returns UVMP_ERR_ARENA then. The call after uvmp_service_grow continues there: the log is that of ample arena. */
static void arena_for_tables(void **state)
{
	static const char *const tables[] = {"prefetch=none evict=lru2m thrash=off", "prefetch=sl evict=lru4k thrash=off",
	                                     "prefetch=tbn evict=lfu2m thrash=off", "evict=sl64k thrash=off"};
	char *ample = calloc(1, ENGINE_TEXT_BYTES), *demand = calloc(1, ENGINE_TEXT_BYTES);

	(void)state;
	for (uint32_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		bool has_changed = false;

		assert_int_equal(live_on_demand(tables[i], 1, true, &has_changed, ample), 0);
		assert_false(has_changed);
		assert_true(live_on_demand(tables[i], 1, false, &has_changed, demand) > 0);
		assert_true(has_changed);
		assert_true(strlen(ample) > 1000);
		assert_string_equal(ample, demand);
	}
	free(ample);
	free(demand);
}

/* While a fault waits for arena before its block is serviced, a range can be freed. Then the fault is
 * serviced.
 */
static void free_without_arena(void **state)
{
	static _Alignas(16) uint8_t more[65536];
	struct uvmp_page_state page = {.size = sizeof(page)};

	(void)state;
	engine_init(&e, 1, 4);
	assert_true(engine_policy(&e, "prefetch=none threads=on"));
	e.gpu[0].sms = 4;
	assert_true(engine_start(&e, 4, 0));
	engine_bind(&e, 1, SPACE);
	engine_range(&e, SPACE, BASE, MIB2, UVMP_CPU);
	engine_range(&e, SPACE, BASE + MIB2, MIB2, UVMP_CPU);
	engine_fault(&e, 1, SPACE, BASE, UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.next, UVMP_ERR_RETRY);
	assert_true(uvmp_service_wakeup_ns(e.service) != UINT64_MAX);
	e.service->segment[0].end = e.service->segment[0].unused;       /* all of it is used */
	assert_true(uvmp_service_wakeup_ns(e.service) != UINT64_MAX); /* no work waits for arena */
	engine_fault(&e, 1, SPACE, BASE + MIB2, UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.next, UVMP_ERR_ARENA);
	assert_int_equal(uvmp_service_free_range(e.service, SPACE, BASE, NULL), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_true(engine_has(&e, "done cause=free"));
	assert_int_equal(e.next, UVMP_ERR_ARENA);
	assert_int_equal(uvmp_service_page(e.service, SPACE, BASE, &page), UVMP_ERR_UNKNOWN);
	assert_int_equal(uvmp_service_migrate(e.service, SPACE, BASE + MIB2, MIB2, 1, NULL), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.next, UVMP_ERR_ARENA);                     /* which another request does not */
	assert_true(uvmp_service_wakeup_ns(e.service) == UINT64_MAX); /* time alone does nothing */
	assert_int_equal(uvmp_service_grow(e.service, more, sizeof(more)), UVMP_OK);
	assert_true(uvmp_service_wakeup_ns(e.service) != UINT64_MAX); /* there is work, and arena for it */
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.next, UVMP_ERR_RETRY);
	assert_int_equal(uvmp_service_page(e.service, SPACE, BASE + MIB2, &page), UVMP_OK);
	assert_int_equal(page.resident, 2);
	assert_true(uvmp_service_wakeup_ns(e.service) != UINT64_MAX);
	assert_int_equal(e.count[UVMP_ACTION_CANCEL], 0);
	engine_stop(&e);
}

/* -- addresses ------------------------------------------------------------------------------- */

/* A range that ends with the address space: nothing runs over its end. */
static void last_addresses(void **state)
{
	const uvmp_addr last = (uvmp_addr)0 - 2u * MIB2;

	(void)state;
	engine_init(&e, 1, 1);
	assert_true(engine_policy(&e, "prefetch=sequential seq_pages=512"));
	assert_true(engine_start(&e, 8, 1 << 20));
	engine_bind(&e, 1, SPACE);
	engine_range(&e, SPACE, last, 2u * MIB2, UVMP_CPU);
	engine_fault(&e, 1, SPACE, last + 2u * MIB2 - 1u, UVMP_ACCESS_WRITE);
	engine_fault(&e, 1, SPACE, last, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(uvmp_service_migrate(e.service, SPACE, last, 2u * MIB2, 1, NULL), UVMP_OK);
	assert_int_equal(uvmp_service_advise(e.service, SPACE, last + MIB2 + PAGE, MIB2 - PAGE,
	                                     UVMP_ADVISE_PREFERRED, 1, NULL),
	                 UVMP_OK);
	assert_int_equal(uvmp_service_advise(e.service, SPACE, last, 2u * MIB2, UVMP_ADVISE_DISCARD, 0, NULL),
	                 UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_true(engine_agrees(&e));
	assert_int_equal(uvmp_service_free_range(e.service, SPACE, last, NULL), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.service->ranges, 0);
	assert_true(engine_agrees(&e));
	engine_stop(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(queue_is_full), cmocka_unit_test(many_throttled),    cmocka_unit_test(many_mappings),
	        cmocka_unit_test(no_room_for_pins),  cmocka_unit_test(no_retry_for_the_host),
	        cmocka_unit_test(arena_of_any_size), cmocka_unit_test(arena_that_grows),
	        cmocka_unit_test(arena_on_demand), cmocka_unit_test(arena_for_tables),   cmocka_unit_test(free_without_arena),
	        cmocka_unit_test(last_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
