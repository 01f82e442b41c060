/* The bottom half of the engine (bottom_half.c and its parts), through the public functions: what it does in which order
 * (docs/engine.md), the replay policies [driver: bottom-half], the walk over a block [driver: block-walk],
 * fatal faults and the precise cancel [driver: batch-walk, permission-check, flush], errors, pages beyond the
 * block. From inside only what would take a thousand evictions. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/engine_internals.h"
#include "support/arena.h"
#include "support/engine_host.h"

#define MIB2  0x200000u
#define PAGE  4096u
#define BASE  0x40000000u
#define SPACE 1u

static struct engine e;

/* `gpus` GPUs of `roots` roots, all bound to the space. */
static void start(const char *policy, uint32_t gpus, uint32_t roots)
{
	engine_open(&e, policy, gpus, roots, SPACE);
}

static void range(uint32_t blocks)
{
	engine_range(&e, SPACE, BASE, (uint64_t)blocks * MIB2, UVMP_PROC_NONE);
}

static void fault(uint32_t gpu, uvmp_addr address, enum uvmp_access access)
{
	engine_fault(&e, gpu, SPACE, address, access);
}

static struct uvmp_service_counts counts(uint32_t gpu)
{
	struct uvmp_service_counts c = {.size = sizeof(c)};

	assert_int_equal(uvmp_service_count(e.service, gpu, &c), UVMP_OK);
	return c;
}

static void stop(void)
{
	assert_true(engine_agrees(&e));
	engine_stop(&e);
}

/* One page comes to GPU 1. */
#define COME(block, page, offset, batch)                                                                     \
	"allocate cause=demand space=1 block=" block " pages=0-511 to=1 batch=" batch                        \
	" detail=2097152" offset "\n"                                                                        \
	"populate cause=demand space=1 block=" block " pages=" page " to=1 batch=" batch " detail=1\n"       \
	"map cause=demand space=1 block=" block " pages=" page " from=1 to=1 right=rwa batch=" batch "\n"

/* -- the four replay policies [driver: bottom-half, flush], two blocks in a batch -- */

static void two_blocks(const char *policy)
{
	start(policy, 1, 4);
	range(4);
	e.is_replaying = true;
	fault(1, BASE + MIB2 + 5 * PAGE, UVMP_ACCESS_READ);
	fault(1, BASE, UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.waitings, 0);
}

static void test_replay_block(void **state)
{
	(void)state;
	two_blocks("prefetch=none replay=block");
	/* the replay of the first block brings back what the second still waits for: another batch */
	engine_expect(&e,
	              "batch to=1 batch=1 count=2 detail=2\n" COME(
	                      "0x40000000", "0", "",
	                      "1") "replay to=1 batch=1\n" COME("0x40200000", "5", " offset=0x200000",
	                                                        "2") "replay to=1 batch=2\n"
	                                                             "batch to=1 batch=4 count=1 detail=1\n"
	                                                             "replay to=1 batch=4\n"
	                                                             "done to=1\n");
	assert_int_equal(counts(1).batches, 2);
	assert_int_equal(counts(1).bottom_halves, 1);
	assert_int_equal(counts(1).faults, 3);
	stop();
}

static void test_replay_batch(void **state)
{
	(void)state;
	two_blocks("prefetch=none replay=batch");
	engine_expect(&e, "batch to=1 batch=1 count=2 detail=2\n" COME("0x40000000", "0", "", "1")
	                          COME("0x40200000", "5", " offset=0x200000", "1") "replay to=1 batch=1\n"
	                                                                           "done to=1\n");
	stop();
}

static void test_replay_batch_flush(void **state)
{
	(void)state;
	two_blocks("prefetch=none replay=batch_flush");
	engine_expect(&e, "batch to=1 batch=1 count=2 detail=2\n" COME("0x40000000", "0", "", "1")
	                          COME("0x40200000", "5", " offset=0x200000", "1") "flush to=1 batch=1\n"
	                                                                           "replay to=1 batch=1\n"
	                                                                           "wait to=1 batch=1\n"
	                                                                           "done to=1\n");
	stop();
}

/* The loop fetches until the buffer is empty, and replays once. */
static void test_replay_once(void **state)
{
	(void)state;
	start("prefetch=none replay=once batch=1", 1, 4);
	range(4);
	fault(1, BASE, UVMP_ACCESS_WRITE);
	fault(1, BASE + MIB2, UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_OK);
	engine_expect(&e,
	              "batch to=1 batch=1 count=1 detail=1\n" COME(
	                      "0x40000000", "0", "",
	                      "1") "batch to=1 batch=2 count=1 detail=1\n" COME("0x40200000", "0",
	                                                                        " offset=0x200000",
	                                                                        "2") "replay to=1 batch=2\n"
	                                                                             "done to=1\n");
	stop();
}

/* -- flush and limits -- */

/* [driver: update-put]: more than half of the raw faults were duplicates: PUT is read again, and what came
 * meanwhile goes. */
static void report_late(struct engine *host, const struct uvmp_action *a)
{
	if (a->kind == UVMP_ACTION_MAP)
		engine_fault(host, 1, SPACE, BASE + MIB2, UVMP_ACCESS_WRITE);
}

static void flush_rule(uint32_t same, uint32_t dropped)
{
	start("prefetch=none", 1, 4);
	range(2);
	e.hook = report_late;
	for (uint32_t i = 0; i < same; i++)
		fault(1, BASE, UVMP_ACCESS_WRITE);
	for (uint32_t i = same; i < 4; i++)
		fault(1, BASE + i * PAGE, UVMP_ACCESS_WRITE);
	while (e.count[UVMP_ACTION_FLUSH] == 0)
		assert_true(engine_step(&e));
	assert_int_equal(e.last.is_update, dropped != 0);
	assert_int_equal(e.last.count, dropped);
	e.hook = NULL;
	engine_run(&e);
	assert_int_equal(e.count[UVMP_ACTION_BATCH], dropped != 0 ? 1 : 2);
	assert_int_equal(counts(1).duplicates, same - 1u);
	stop();
}

static void test_flush(void **state)
{
	(void)state;
	flush_rule(3, 0); /* 2 of 4: not more than half */
	flush_rule(4, 1);
}

/* [driver: bottom-half]: at most max_batches in a bottom half; what is left starts the next one. */
static void test_batches(void **state)
{
	(void)state;
	start("prefetch=none replay=batch batch=2 max_batches=2", 1, 4);
	range(1);
	for (uint32_t i = 0; i < 6; i++)
		fault(1, BASE + i * PAGE, UVMP_ACCESS_READ);
	engine_run(&e);
	assert_int_equal(counts(1).batches, 3);
	assert_int_equal(counts(1).bottom_halves, 2);
	assert_int_equal(counts(1).faults, 6);
	assert_int_equal(counts(1).coalesced, 6);
	assert_int_equal(e.count[UVMP_ACTION_REPLAY], 3);
	assert_int_equal(e.count[UVMP_ACTION_DONE], 2);
	stop();
}

/* -- thrashing: throttled faults [driver: block-walk] -- */

/* CPU and GPU write to a page in turn, 100 us apart, until a fault of the GPU is throttled. It faults twice
 * each time: the second entry of the page shares what became of the first. */
static bool bounce(void)
{
	for (uint32_t i = 0; i < 50; i++) {
		assert_int_equal(uvmp_service_cpu_fault(e.service, SPACE, BASE, UVMP_ACCESS_WRITE, 1, NULL),
		                 UVMP_OK);
		e.now_ns += 100000;
		engine_run(&e);
		engine_forget(&e);
		fault(1, BASE, UVMP_ACCESS_WRITE);
		fault(1, BASE, UVMP_ACCESS_READ);
		fault(1, BASE + PAGE, UVMP_ACCESS_READ);
		e.now_ns += 100000;
		engine_run(&e);
		if (e.count[UVMP_ACTION_THROTTLE] != 0)
			return true;
	}
	return false;
}

/* One batch with throttled faults ends the bottom half; what is left waits for the next one. */
static void test_throttled(void **state)
{
	(void)state;
	start("prefetch=none coalesce=0 batch=2 max_throttled=1 replay=batch", 1, 4);
	range(1);
	assert_true(bounce());
	assert_int_equal(e.count[UVMP_ACTION_THROTTLE], 1);
	assert_true(engine_has(&e, "throttle cause=thrashing space=1 block=0x40000000 pages=0 to=1 "));
	assert_int_equal(e.count[UVMP_ACTION_BATCH], 2);
	assert_int_equal(e.count[UVMP_ACTION_DONE], 2);
	stop();
}

/* A THROTTLE that fails ends the batch. */
static void test_throttle_fails(void **state)
{
	(void)state;
	start("prefetch=none coalesce=0 quirks=0 batch=2 max_throttled=1", 1, 4);
	range(1);
	engine_fail(&e, UVMP_ACTION_THROTTLE, 0, 1000, UVMP_ERR_STATE);
	assert_true(bounce());
	assert_true(engine_has(&e, "cancel cause=error space=1 block=0x40000000 pages=0 to=1 mode=all"));
	assert_true(engine_has(&e, "done to=1 status=-4\n"));
	stop();
}

/* -- channels [driver: batch-order] -- */

static void test_stale(void **state)
{
	struct uvmp_fault f = engine_entry(SPACE, BASE, UVMP_ACCESS_READ);

	(void)state;
	start("prefetch=none plan=unobtrusive", 1, 4); /* which does nothing for such a batch */
	range(1);
	fault(1, BASE, UVMP_ACCESS_READ);
	engine_fault(&e, 1, 2, BASE, UVMP_ACCESS_READ); /* of no range */
	fault(1, BASE + PAGE, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&e), UVMP_OK);
	engine_expect(&e, "batch to=1 batch=1 count=3 detail=3\n"
	                  "flush to=1 batch=1 update=1\n"
	                  "replay to=1 batch=1\n"
	                  "done to=1\n");

	/* another subcontext of the channel lives */
	f.subcontext = 7;
	assert_int_equal(uvmp_service_fault(e.service, 1, &f), UVMP_OK);
	engine_run(&e);
	engine_expect(&e, "batch to=1 batch=2 count=1 detail=1\n"
	                  "cancel cause=fatal to=1 mode=all batch=2\n"
	                  "flush to=1 batch=2 update=1\n"
	                  "replay to=1 batch=2\n"
	                  "done to=1\n");
	assert_int_equal(counts(1).cancelled, 1);

	/* the channel is taken away while its faults are in the buffer */
	fault(1, BASE, UVMP_ACCESS_READ);
	assert_int_equal(uvmp_service_unbind(e.service, 1, UVMP_APERTURE_VID, engine_instance(SPACE), 0),
	                 UVMP_OK);
	engine_run(&e);
	engine_expect(&e, "batch to=1 batch=3 count=1 detail=1\n"
	                  "flush to=1 batch=3 update=1\n"
	                  "replay to=1 batch=3\n"
	                  "done to=1\n");
	stop();
}

/* Instances that differ in the key, the aperture, the subcontext; two spaces. */
static void test_instances(void **state)
{
	struct uvmp_fault f = engine_entry(SPACE, BASE, UVMP_ACCESS_READ);

	(void)state;
	start("prefetch=none", 1, 4);
	range(1);
	engine_range(&e, 2, BASE, MIB2, UVMP_PROC_NONE);
	engine_bind(&e, 1, 2);
	assert_int_equal(uvmp_service_bind(e.service, 1, UVMP_APERTURE_SYS, engine_instance(SPACE), 0, SPACE),
	                 UVMP_OK);
	assert_int_equal(uvmp_service_bind(e.service, 1, UVMP_APERTURE_VID, engine_instance(SPACE), 1, SPACE),
	                 UVMP_OK);
	engine_fault(&e, 1, 2, BASE, UVMP_ACCESS_READ);
	fault(1, BASE, UVMP_ACCESS_READ);
	fault(1, BASE + PAGE, UVMP_ACCESS_READ);
	f.address = BASE + 2 * PAGE;
	f.subcontext = 1;
	assert_int_equal(uvmp_service_fault(e.service, 1, &f), UVMP_OK);
	f.address = BASE + 3 * PAGE;
	f.subcontext = 0;
	f.aperture = UVMP_APERTURE_SYS;
	assert_int_equal(uvmp_service_fault(e.service, 1, &f), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_true(engine_has(&e, "map cause=demand space=1 block=0x40000000 pages=0-3 "));
	assert_true(engine_has(&e, "map cause=demand space=2 block=0x40000000 pages=0 "));
	stop();
}

/* -- fatal faults -- */

#define ROUND                                                                                                \
	"wait to=1 batch=1 update=1\n"                                                                       \
	"wait to=1 batch=1\n"                                                                                \
	"flush to=1 batch=1 update=1\n"                                                                      \
	"replay to=1 batch=1\n"                                                                              \
	"wait to=1 batch=1\n"
#define ROUND_END                                                                                            \
	"flush to=1 batch=1 update=1\n"                                                                      \
	"replay to=1 batch=1\n"                                                                              \
	"replay to=1 batch=1\n"                                                                              \
	"done to=1\n"

/* [driver: permission-check], worked example: WRITE and READ merged on a page that may only be read: the read
 * is serviced, the write is cancelled when it comes again. */
static void test_read_only(void **state)
{
	(void)state;
	start("prefetch=none", 1, 4);
	engine_range_of(&e, SPACE, BASE, MIB2, UVMP_RIGHT_READ, UVMP_CPU);
	e.is_replaying = true;
	fault(1, BASE, UVMP_ACCESS_WRITE);
	fault(1, BASE, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&e), UVMP_OK);
	engine_expect(
	        &e,
	        "batch to=1 batch=1 count=2 detail=1\n"
	        "allocate cause=demand space=1 block=0x40000000 pages=0-511 to=1 batch=1 detail=2097152\n"
	        "unmap cause=demand space=1 block=0x40000000 pages=0 to=0 batch=1\n"
	        "copy cause=demand space=1 block=0x40000000 pages=0 from=0 to=1 batch=1 detail=1\n"
	        "map cause=demand space=1 block=0x40000000 pages=0 from=1 to=1 right=r batch=1\n" ROUND
	        "batch to=1 batch=1 count=1 detail=1\n"
	        "cancel cause=fatal space=1 block=0x40000000 pages=0 to=1 mode=write batch=1\n" ROUND_END);
	assert_int_equal(e.waitings, 0);
	assert_int_equal(counts(1).cancelled, 1);
	stop();
}

/* [driver: block-walk]: of a page whose atomic access is forbidden the reading is serviced, and the
 * write behind it on its own. Read duplication makes a copy for the first; the last verdict counts: what is
 * written has one home. */
static void test_two_verdicts(void **state)
{
	struct uvmp_fault f = engine_entry(SPACE, BASE, UVMP_ACCESS_READ);

	(void)state;
	start("prefetch=none", 1, 4);
	engine_range_of(&e, SPACE, BASE, MIB2, UVMP_RIGHT_READ_WRITE, UVMP_CPU);
	assert_int_equal(
	        uvmp_service_advise(e.service, SPACE, BASE, MIB2, UVMP_ADVISE_READ_DUPLICATE, 0, NULL),
	        UVMP_OK);
	engine_run(&e);
	assert_int_equal(engine_report(&e, 1, SPACE, &f), UVMP_OK);
	f.access = UVMP_ACCESS_ATOMIC_STRONG;
	assert_int_equal(engine_report(&e, 1, SPACE, &f), UVMP_OK);
	f.access = UVMP_ACCESS_WRITE;
	f.utlb = 1;
	assert_int_equal(engine_report(&e, 1, SPACE, &f), UVMP_OK);
	engine_run(&e);
	assert_int_equal(e.count[UVMP_ACTION_COPY], 1);
	assert_int_equal(engine_page(&e, SPACE, BASE).resident, 2);
	assert_int_equal(engine_page(&e, SPACE, BASE).write, 2);
	assert_false(engine_page(&e, SPACE, BASE).is_duplicated);
	stop();
}

/* [driver: batch-walk, permission-check], worked example: three prefetches of a page that no range holds:
 * nothing fatal, three invalid ones, two duplicates of three: PUT is read again. */
static void test_prefetch_outside(void **state)
{
	(void)state;
	start("prefetch=none", 1, 4);
	e.is_replaying = true;
	for (uint32_t i = 0; i < 3; i++)
		fault(1, BASE, UVMP_ACCESS_PREFETCH);
	assert_int_equal(engine_run(&e), UVMP_OK);
	engine_expect(&e, "batch to=1 batch=1 count=3 detail=1\n"
	                  "flush to=1 batch=1 update=1\n"
	                  "replay to=1 batch=1\n"
	                  "wait to=1 batch=1\n"
	                  "done to=1\n");
	assert_int_equal(counts(1).invalid_prefetches, 3);
	assert_int_equal(counts(1).duplicates, 2);
	assert_int_equal(counts(1).cancelled, 0);
	stop();
}

static void read_at_replay(struct engine *host, const struct uvmp_action *a)
{
	if (a->kind == UVMP_ACTION_REPLAY && host->count[UVMP_ACTION_DONE] == 0)
		(void)uvmp_service_cpu_fault(host->service, SPACE, BASE, UVMP_ACCESS_READ, 1, NULL);
}

/* A fault outside that is the last of its batch ends it: what follows from the batch (prefetch faults are
 * switched off) goes before the request that has come meanwhile. */
static void test_prefetch_outside_last(void **state)
{
	(void)state;
	start("prefetch=none replay=block batch=1", 1, 4);
	e.hook = read_at_replay;
	fault(1, BASE, UVMP_ACCESS_PREFETCH);
	engine_run(&e);
	assert_true(engine_has(&e, "replay to=1 batch=1\ntoggle to=1 batch=2\ncancel cause=fatal "));
	stop();
}

static void test_outside(void **state)
{
	(void)state;
	start("prefetch=none", 1, 4);
	e.is_replaying = true;
	fault(1, BASE + 3 * PAGE + 17, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&e), UVMP_OK);
	engine_expect(&e,
	              "batch to=1 batch=1 count=1 detail=1\n" ROUND "batch to=1 batch=1 count=1 detail=1\n"
	              "cancel cause=fatal space=1 block=0x40003000 to=1 mode=all batch=1\n" ROUND_END);
	assert_int_equal(e.waitings, 0);
	stop();
}

/* Outside ranges too the second entry of a page is a duplicate with all that was merged into it
 * [driver: batch-order]. */
static void test_duplicates_outside(void **state)
{
	(void)state;
	start("prefetch=none coalesce=0", 1, 4);
	for (uint32_t i = 0; i < 3; i++)
		fault(1, BASE, UVMP_ACCESS_PREFETCH);
	fault(1, BASE + PAGE, UVMP_ACCESS_PREFETCH);
	engine_run(&e);
	assert_int_equal(counts(1).duplicates, 2);
	stop();
}

/* Nothing comes again after the first flush: nothing is cancelled. */
static void test_gone_meanwhile(void **state)
{
	(void)state;
	start("prefetch=none", 1, 4);
	fault(1, BASE, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&e), UVMP_OK);
	engine_expect(&e, "batch to=1 batch=1 count=1 detail=1\n" ROUND ROUND_END);
	stop();
}

/* [driver: batch-walk]: what the GPU reports as fatal is stepped over and cancelled; what is of another
 * space waits. */
static void test_fatal_type(void **state)
{
	struct uvmp_fault f = engine_entry(SPACE, BASE + MIB2, UVMP_ACCESS_READ);

	(void)state;
	start("prefetch=none replay=block", 1, 4);
	range(1);
	engine_range(&e, 2, BASE, MIB2, UVMP_PROC_NONE);
	engine_bind(&e, 1, 2);
	e.is_replaying = true;
	f.type = UVMP_FAULT_FATAL;
	assert_int_equal(engine_report(&e, 1, SPACE, &f), UVMP_OK);
	f.address += PAGE;
	assert_int_equal(engine_report(&e, 1, SPACE, &f), UVMP_OK);
	fault(1, BASE, UVMP_ACCESS_READ);
	engine_fault(&e, 1, 2, BASE + MIB2, UVMP_ACCESS_READ); /* outside */
	engine_fault(&e, 1, 2, BASE, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.waitings, 0);
	assert_int_equal(counts(1).cancelled, 3);
	assert_true(engine_has(&e, "cancel cause=fatal space=1 block=0x40200000 to=1 mode=all"));
	assert_true(engine_has(&e, "cancel cause=fatal space=1 block=0x40201000 to=1 mode=all"));
	assert_true(engine_has(&e, "cancel cause=fatal space=2 block=0x40200000 to=1 mode=all"));
	stop();
}

/* The channel dies inside the precise cancel. */
static void unbind_at_wait(struct engine *host, const struct uvmp_action *a)
{
	if (a->kind != UVMP_ACTION_WAIT || a->is_update)
		return;
	host->is_replaying = uvmp_service_unbind(host->service, 1, UVMP_APERTURE_VID, engine_instance(SPACE),
	                                         0) == UVMP_OK; /* the first time */
}

static void test_stale_in_cancel(void **state)
{
	(void)state;
	start("prefetch=none", 1, 4);
	range(1);
	e.is_replaying = true;
	e.hook = unbind_at_wait;
	fault(1, BASE + MIB2, UVMP_ACCESS_READ);
	engine_run(&e);
	assert_int_equal(counts(1).cancelled, 0);
	assert_true(engine_has(&e, ROUND "batch to=1 batch=1 count=1 detail=1\n"
	                                 "flush to=1 batch=1 update=1\n"
	                                 "replay to=1 batch=1\n"));
	stop();
}

/* An action of the precise cancel fails: the bottom half ends with that. */
static void cancel_fails(enum uvmp_action_kind kind, uint32_t skip)
{
	start("prefetch=none quirks=0", 1, 4);
	range(1);
	e.is_replaying = true;
	engine_fail(&e, kind, skip, 1, UVMP_ERR_UNSUPPORTED);
	fault(1, BASE + MIB2, UVMP_ACCESS_READ);
	while (e.count[UVMP_ACTION_DONE] == 0)
		assert_true(engine_step(&e));
	assert_int_equal(e.status, UVMP_ERR_UNSUPPORTED);
	engine_run(&e); /* and the next one may do it */
	assert_int_equal(e.waitings, 0);
	stop();
}

static void test_cancel_fails(void **state)
{
	(void)state;
	cancel_fails(UVMP_ACTION_WAIT, 0); /* for copies: before it */
	cancel_fails(UVMP_ACTION_WAIT, 1);
	cancel_fails(UVMP_ACTION_FLUSH, 0);
	cancel_fails(UVMP_ACTION_CANCEL, 0);
	cancel_fails(UVMP_ACTION_REPLAY, 1);
}

/* What a dispatch inside the precise cancel cannot bring does not end it. */
static void test_copy_fails_in_cancel(void **state)
{
	(void)state;
	start("prefetch=none", 1, 4);
	range(1);
	e.is_replaying = true;
	engine_fail(&e, UVMP_ACTION_POPULATE, 1, 1, UVMP_ERR_STATE);
	fault(1, BASE, UVMP_ACCESS_READ);
	fault(1, BASE + MIB2, UVMP_ACCESS_READ);
	while (e.count[UVMP_ACTION_WAIT] < 2)
		assert_true(engine_step(&e));
	fault(1, BASE + 9 * PAGE, UVMP_ACCESS_READ); /* comes with the second fetch */
	while (!engine_has(&e, "flush"))
		assert_true(engine_step(&e));
	engine_run(&e);
	assert_int_equal(e.waitings, 0);
	assert_true(engine_has(&e, "cancel cause=fatal space=1 block=0x40200000 "));
	stop();
}

/* Neither does a block for which the arena has no room: the cancel steps over it. */
static void test_no_arena_in_cancel(void **state)
{
	(void)state;
	engine_init(&e, 1, 4);
	assert_true(engine_policy(&e, "prefetch=none"));
	assert_true(engine_start(&e, 0, 0));
	arena_without_reserve(e.service);
	engine_bind(&e, 1, SPACE);
	range(1);
	e.is_replaying = true;
	fault(1, BASE + MIB2, UVMP_ACCESS_READ);
	while (e.count[UVMP_ACTION_WAIT] < 2)
		assert_true(engine_step(&e));
	fault(1, BASE, UVMP_ACCESS_READ); /* comes with the second fetch */
	engine_run(&e);
	assert_true(engine_has(&e, "cancel cause=fatal space=1 block=0x40200000 "));
	assert_true(engine_has(&e, "cancel cause=error space=1 block=0x40000000 ")); /* with the next batch */
	assert_int_equal(e.waitings, 0);
	stop();
}

/* -- ranges that go -- */

/* Between two blocks of a batch the request goes first; the faults left are outside every range then. */
static void free_at_map(struct engine *host, const struct uvmp_action *a)
{
	if (a->kind == UVMP_ACTION_MAP && host->count[UVMP_ACTION_MAP] == 1)
		assert_int_equal(uvmp_service_free_range(host->service, SPACE, BASE, NULL), UVMP_OK);
}

static void test_freed_in_flight(void **state)
{
	(void)state;
	start("prefetch=none", 1, 4);
	range(2);
	e.is_replaying = true;
	e.hook = free_at_map;
	fault(1, BASE, UVMP_ACCESS_WRITE);
	fault(1, BASE + MIB2, UVMP_ACCESS_WRITE);
	fault(1, BASE + MIB2 + PAGE, UVMP_ACCESS_PREFETCH);
	engine_run(&e);
	engine_expect(
	        &e,
	        "batch to=1 batch=1 count=3 detail=3\n" COME(
	                "0x40000000", "0", "",
	                "1") "unmap cause=free space=1 block=0x40000000 pages=0 to=1\n"
	                     "free cause=free space=1 block=0x40000000 pages=0-511 from=1 detail=2097152\n"
	                     "done cause=free ticket=1\n" ROUND "batch to=1 batch=1 count=2 detail=2\n"
	                     "cancel cause=fatal space=1 block=0x40000000 to=1 mode=all batch=1\n"
	                     "cancel cause=fatal space=1 block=0x40200000 to=1 mode=all batch=1\n" ROUND_END);
	assert_int_equal(e.waitings, 0);
	stop();
}

/* The whole space goes, with its channel, while faults of it are in the batch. */
static void leave_at_map(struct engine *host, const struct uvmp_action *a)
{
	if (a->kind != UVMP_ACTION_MAP)
		return;
	(void)uvmp_service_free_range(host->service, SPACE, BASE, NULL);
	(void)uvmp_service_unbind(host->service, 1, UVMP_APERTURE_VID, engine_instance(SPACE), 0);
}

static void test_space_gone(void **state)
{
	(void)state;
	start("prefetch=none", 1, 4);
	range(2);
	e.hook = leave_at_map;
	fault(1, BASE, UVMP_ACCESS_WRITE);
	fault(1, BASE + MIB2, UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(counts(1).cancelled, 0); /* nothing came again */
	stop();
}

/* The same when the copy of the second block fails: the batch is cancelled, in an unknown address space. */
static void leave_at_populate(struct engine *host, const struct uvmp_action *a)
{
	if (a->kind != UVMP_ACTION_POPULATE)
		return;
	(void)uvmp_service_unbind(host->service, 1, UVMP_APERTURE_VID, engine_instance(SPACE), 0);
	(void)uvmp_service_free_range(host->service, SPACE, BASE, NULL);
}

static void test_space_gone_and_error(void **state)
{
	(void)state;
	start("prefetch=none quirks=0", 1, 4);
	range(1);
	e.hook = leave_at_populate;
	engine_fail(&e, UVMP_ACTION_POPULATE, 0, 1, UVMP_ERR_STATE);
	fault(1, BASE, UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_ERR_STATE);
	engine_expect(
	        &e, "batch to=1 batch=1 count=1 detail=1\n"
	            "allocate cause=demand space=1 block=0x40000000 pages=0-511 to=1 batch=1 detail=2097152\n"
	            "populate cause=demand space=1 block=0x40000000 pages=0 to=1 batch=1 detail=1\n"
	            "free cause=free space=1 block=0x40000000 pages=0-511 from=1 detail=2097152\n"
	            "done cause=free ticket=1\n"
	            "cancel cause=error space=1 block=0x40000000 to=1 mode=all batch=1 status=-4\n"
	            "flush to=1 batch=1 update=1\n"
	            "replay to=1 batch=1\n"
	            "replay to=1 batch=1\n"
	            "done to=1 status=-4\n");
	stop();
}

/* -- errors: the whole batch is cancelled -- */

static void failing_batch(const char *policy, enum uvmp_action_kind kind)
{
	start(policy, 1, 4);
	range(2);
	engine_fail(&e, UVMP_ACTION_MAP, 0, 0, UVMP_OK); /* never: a script that is over */
	engine_fail(&e, kind, 0, 1, UVMP_ERR_UNSUPPORTED);
	fault(1, BASE, UVMP_ACCESS_WRITE);
	fault(1, BASE + MIB2 + 3 * PAGE, UVMP_ACCESS_WRITE);
	engine_run(&e);
	assert_int_equal(counts(1).cancelled, 2);
}

static void test_refused_allocation(void **state)
{
	(void)state;
	failing_batch("prefetch=none quirks=0", UVMP_ACTION_ALLOCATE);
	assert_true(engine_has(&e, "replay to=1 batch=1\ndone to=1 status=-10\n"));
	assert_int_equal(e.count[UVMP_ACTION_POPULATE], 0);
	assert_int_equal(engine_page(&e, SPACE, BASE).resident, 0);
	stop();
	/* [driver: service-limit-zero]: the status of the last replay replaces it */
	failing_batch("prefetch=none", UVMP_ACTION_ALLOCATE);
	assert_true(engine_has(&e, "replay to=1 batch=1\ndone to=1\n"));
	stop();
}

static void test_failing_copy(void **state)
{
	(void)state;
	failing_batch("prefetch=none quirks=0", UVMP_ACTION_POPULATE);
	engine_expect(
	        &e, "batch to=1 batch=1 count=2 detail=2\n"
	            "allocate cause=demand space=1 block=0x40000000 pages=0-511 to=1 batch=1 detail=2097152\n"
	            "populate cause=demand space=1 block=0x40000000 pages=0 to=1 batch=1 detail=1\n"
	            "cancel cause=error space=1 block=0x40000000 pages=0 to=1 mode=all batch=1 status=-10\n"
	            "cancel cause=error space=1 block=0x40203000 to=1 mode=all batch=1 status=-10\n"
	            "flush to=1 batch=1 update=1\n"
	            "replay to=1 batch=1\n"
	            "replay to=1 batch=1\n"
	            "done to=1 status=-10\n");
	stop();
}

/* A batch that fails behind one that was cancelled precisely: all of it is cancelled. */
static void test_failing_after_precise(void **state)
{
	(void)state;
	start("prefetch=none batch=1", 1, 4);
	range(1);
	e.is_replaying = true;
	engine_fail(&e, UVMP_ACTION_POPULATE, 0, 2,
	            UVMP_ERR_UNSUPPORTED); /* the first one within the cancel */
	fault(1, BASE + MIB2, UVMP_ACCESS_WRITE);
	fault(1, BASE, UVMP_ACCESS_WRITE);
	engine_run(&e);
	assert_int_equal(counts(1).cancelled, 2);
	assert_true(engine_has(&e, "cancel cause=fatal space=1 block=0x40200000 to=1 mode=all"));
	assert_true(engine_has(&e, "cancel cause=error space=1 block=0x40000000 pages=0 to=1 mode=all"));
	stop();
}

/* Everything else that can fail in a batch. */
static void test_failing_rest(void **state)
{
	static const uint8_t kind[] = {UVMP_ACTION_BATCH, UVMP_ACTION_MAP, UVMP_ACTION_FLUSH,
	                               UVMP_ACTION_REPLAY, UVMP_ACTION_WAIT};

	(void)state;
	for (size_t i = 0; i < sizeof(kind); i++) {
		start("prefetch=none quirks=0", 1, 4);
		range(2);
		engine_fail(&e, (enum uvmp_action_kind)kind[i], 0, 1, UVMP_ERR_CONFLICT);
		fault(1, BASE, UVMP_ACCESS_WRITE);
		assert_int_equal(engine_run(&e), UVMP_ERR_CONFLICT);
		fault(1, BASE, UVMP_ACCESS_WRITE);
		assert_int_equal(engine_run(&e), UVMP_OK);
		stop();
	}
}

/* What an eviction queued beside its copies is taken as done, and ends the batch too. */
static void test_failing_eviction(void **state)
{
	static const uint8_t kind[] = {UVMP_ACTION_EVICT, UVMP_ACTION_UNMAP, UVMP_ACTION_DISCARD,
	                               UVMP_ACTION_MAP};

	(void)state;
	for (size_t i = 0; i < sizeof(kind); i++) {
		start("prefetch=none quirks=0 map_on_eviction=1 counters=on", 1, 1);
		range(2);
		fault(1, BASE, UVMP_ACCESS_WRITE);
		fault(1, BASE + PAGE, UVMP_ACCESS_WRITE);
		engine_run(&e);
		assert_int_equal(uvmp_service_advise(e.service, SPACE, BASE, PAGE, UVMP_ADVISE_DISCARD,
		                                     UVMP_PROC_NONE, NULL),
		                 UVMP_OK);
		engine_run(&e);
		engine_fail(&e, (enum uvmp_action_kind)kind[i], 0, 1, UVMP_ERR_CONFLICT);
		fault(1, BASE + MIB2, UVMP_ACCESS_WRITE);
		assert_int_equal(engine_run(&e), UVMP_ERR_CONFLICT);
		assert_int_equal(engine_page(&e, SPACE, BASE + PAGE).resident, 1);
		assert_int_equal(engine_page(&e, SPACE, BASE + MIB2).resident, 0);
		fault(1, BASE + MIB2, UVMP_ACCESS_WRITE);
		assert_int_equal(engine_run(&e), UVMP_OK);
		stop();
	}
}

/* No room in the arena for a block: no memory. */
static void test_no_arena(void **state)
{
	(void)state;
	engine_init(&e, 1, 4);
	assert_true(engine_policy(&e, "prefetch=none quirks=0"));
	assert_true(engine_start(&e, 0, 0));
	arena_without_reserve(e.service);
	engine_bind(&e, 1, SPACE);
	range(1);
	fault(1, BASE, UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_ERR_NO_MEMORY);
	engine_expect(&e, "batch to=1 batch=1 count=1 detail=1\n"
	                  "cancel cause=error space=1 block=0x40000000 to=1 mode=all batch=1 status=-5\n"
	                  "flush to=1 batch=1 update=1\n"
	                  "replay to=1 batch=1\n"
	                  "replay to=1 batch=1\n"
	                  "done to=1 status=-5\n");
	stop();
}

/* No memory: all of it is pinned by the same step. */
static void test_no_memory(void **state)
{
	(void)state;
	start("prefetch=none quirks=0", 1, 1);
	range(2);
	fault(1, BASE, UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_OK);
	engine_forget(&e);
	engine_fail(&e, UVMP_ACTION_COPY, 0, 1, UVMP_ERR_UNSUPPORTED); /* of the eviction */
	fault(1, BASE + MIB2, UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_ERR_UNSUPPORTED);
	assert_true(engine_has(&e, "cancel cause=error space=1 block=0x40200000 pages=0 to=1 mode=all"));
	assert_int_equal(engine_page(&e, SPACE, BASE).resident, 2);
	stop();
}

/* A block that is walked again and again. */
static void set_retries(struct engine *host, const struct uvmp_action *a)
{
	if (a->kind == UVMP_ACTION_EVICT)
		host->service->fault.retries = 1099;
}

static void test_retries_end(void **state)
{
	(void)state;
	start("prefetch=none quirks=0", 1, 1);
	range(2);
	fault(1, BASE, UVMP_ACCESS_WRITE);
	engine_run(&e);
	e.hook = set_retries;
	fault(1, BASE + MIB2, UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_ERR_NO_MEMORY);
	e.hook = NULL;
	fault(1, BASE + MIB2, UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_OK);
	stop();
}

/* More cancels than are queued at a time: groups of 1024, the last with flush and replay; a request that
 * comes in between goes first. */
static void free_at_cancel(struct engine *host, const struct uvmp_action *a)
{
	if (a->kind == UVMP_ACTION_CANCEL && host->count[UVMP_ACTION_CANCEL] == 1)
		assert_int_equal(uvmp_service_free_range(host->service, SPACE, BASE + 8 * MIB2, NULL),
		                 UVMP_OK);
}

static void test_many_cancels(void **state)
{
	(void)state;
	engine_init(&e, 1, 8);
	assert_true(engine_policy(&e, "prefetch=none quirks=0 batch=1100"));
	e.gpu[0].fault_entries = 2048;
	assert_true(engine_start(&e, 32, 0));
	engine_bind(&e, 1, SPACE);
	range(8);
	engine_range(&e, SPACE, BASE + 8 * MIB2, MIB2, UVMP_PROC_NONE);
	e.is_checking = false;
	e.hook = free_at_cancel;
	engine_fail(&e, UVMP_ACTION_POPULATE, 0, 1, UVMP_ERR_STATE);
	for (uint32_t i = 0; i < 1100; i++)
		fault(1, BASE + i * PAGE, UVMP_ACCESS_READ);
	while (e.count[UVMP_ACTION_CANCEL] < 1024)
		assert_true(engine_step(&e));
	engine_forget(&e);
	assert_true(engine_step(&e));
	assert_int_equal(e.last.kind, UVMP_ACTION_DONE);
	assert_int_equal(e.last.ticket, 1);
	assert_int_equal(engine_run(&e), UVMP_ERR_STATE);
	assert_int_equal(e.count[UVMP_ACTION_CANCEL], 76);
	assert_int_equal(e.count[UVMP_ACTION_FLUSH], 1);
	assert_int_equal(counts(1).cancelled, 1100);
	stop();
}

/* The same for fatal faults. */
static void test_many_fatal(void **state)
{
	(void)state;
	engine_init(&e, 1, 1);
	assert_true(engine_policy(&e, "prefetch=none batch=1100"));
	e.gpu[0].fault_entries = 2048;
	assert_true(engine_start(&e, 0, 0));
	arena_without_reserve(e.service);
	engine_bind(&e, 1, SPACE);
	e.is_replaying = true;
	e.is_checking = false;
	for (uint32_t i = 0; i < 1100; i++)
		fault(1, BASE + i * PAGE, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(counts(1).cancelled, 1100);
	assert_int_equal(e.waitings, 0);
	stop();
}

/* -- prefetch faults on and off [driver: prefetch-fault-toggle, toggle-by-configured-batch] -- */

static void invalid_prefetches(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		fault(1, BASE + 8 * MIB2 + i * PAGE, UVMP_ACCESS_PREFETCH);
	engine_run(&e);
}

static void test_toggle(void **state)
{
	(void)state;
	start("prefetch=none", 1, 4);
	range(1);
	invalid_prefetches(170);
	assert_int_equal(e.count[UVMP_ACTION_TOGGLE], 0);
	engine_forget(&e);
	invalid_prefetches(171); /* 513 > 512 */
	assert_int_equal(counts(1).invalid_prefetches, 341);
	engine_expect(&e, "batch to=1 batch=2 count=171 detail=171\n"
	                  "toggle to=1 batch=2\n"
	                  "flush to=1 batch=2\n"
	                  "replay to=1 batch=2\n"
	                  "wait to=1 batch=2\n"
	                  "done to=1\n");
	e.now_ns += 1000000001;
	fault(1, BASE, UVMP_ACCESS_READ);
	engine_run(&e);
	assert_true(engine_has(&e, "toggle to=1 batch=3 update=1\n"));
	stop();
}

/* -- what a batch begins with -- */

static uint32_t resident_pages(uvmp_addr base, uint32_t pages)
{
	struct uvmp_page_state page = {.size = sizeof(page)};
	uint32_t count = 0;

	for (uint32_t i = 0; i < pages; i++)
		count += uvmp_service_page(e.service, SPACE, base + i * (uvmp_addr)PAGE, &page) == UVMP_OK &&
		         (page.resident & 2u) != 0;
	return count;
}

/* [uvmsmart: eviction-trigger]: half of memory is made free before each batch, if it has a block to serve. */
static void test_free_buffer(void **state)
{
	(void)state;
	start("prefetch=block evict=sl64k free_buffer=50", 1, 1);
	range(2);
	fault(1, BASE, UVMP_ACCESS_WRITE);
	engine_run(&e);
	assert_int_equal(resident_pages(BASE, 512), 512);
	fault(1, 0x1000, UVMP_ACCESS_PREFETCH); /* nowhere */
	engine_run(&e);
	assert_int_equal(resident_pages(BASE, 512), 512);
	engine_forget(&e);
	fault(1, BASE, UVMP_ACCESS_WRITE);
	engine_run(&e);
	assert_true(engine_has(&e, "batch to=1 batch=3 count=1 detail=1\n"
	                           "evict cause=eviction space=1 block=0x40000000 pages=0-15 from=1"));
	assert_true(engine_has(&e, "for=0x40000000"));
	assert_int_equal(resident_pages(BASE, 512), 512); /* and back it comes with the fault */
	engine_fault(&e, 1, 3, BASE, UVMP_ACCESS_WRITE);  /* of a dead channel: all is flushed */
	engine_run(&e);
	assert_int_equal(resident_pages(BASE, 512), 512);
	/* a copy that fails ends it, not the batch */
	engine_forget(&e);
	fault(1, BASE + MIB2, UVMP_ACCESS_WRITE);
	engine_fail(&e, UVMP_ACTION_COPY, 1, 1, UVMP_ERR_UNSUPPORTED);
	engine_run(&e);
	assert_true(engine_has(&e, "replay to=1"));
	stop();
}

/* [uvmsmart: oversubscription-switch]: the batch that fills the memory is served as before, the next one
 * is not, for good. */
static void test_prefetch_full(void **state)
{
	static const char *const policy[] = {"prefetch=block prefetch_full=none evict=lru4k",
	                                     "prefetch=block prefetch_full=none evict=lru",
	                                     "prefetch=block prefetch_full=block evict=lru4k",
	                                     "prefetch=block evict=lru4k"};
	static const uint32_t expected[] = {1, 1, 512, 512};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		start(policy[i], i == 0 ? 2 : 1, 1);
		range(4);
		for (uint32_t k = 0; k < 3; k++) {
			fault(1, BASE + k * MIB2, UVMP_ACCESS_WRITE);
			engine_run(&e);
			assert_int_equal(resident_pages(BASE + k * MIB2, 512), k < 2 ? 512 : expected[i]);
		}
		stop();
	}
}

/* -- pages beyond the block -- */

/* Locality: the pages behind the block come too, but for one that faults later in the batch. */
static void test_follow_locality(void **state)
{
	(void)state;
	start("prefetch=locality locality_pages=512 evict=lru4k", 1, 4);
	range(4);
	engine_range(&e, 2, BASE, 4 * MIB2, UVMP_PROC_NONE);
	engine_bind(&e, 1, 2);
	fault(1, BASE + MIB2 - 2 * PAGE, UVMP_ACCESS_WRITE);
	fault(1, BASE + MIB2 + 2 * PAGE, UVMP_ACCESS_WRITE);
	fault(1, BASE + 3 * MIB2 + 511 * PAGE, UVMP_ACCESS_WRITE);
	engine_fault(&e, 1, 2, BASE + MIB2 + 3 * PAGE, UVMP_ACCESS_WRITE); /* another space's */
	engine_run(&e);
	assert_true(engine_has(
	        &e,
	        "batch to=1 batch=1 count=4 detail=4\n"
	        "allocate cause=demand space=1 block=0x40000000 pages=510 to=1 batch=1 detail=4096\n"
	        "allocate cause=prefetch space=1 block=0x40000000 pages=511 to=1 batch=1 detail=4096 offset=0x1000\n"
	        "populate cause=demand space=1 block=0x40000000 pages=510 to=1 batch=1 detail=1\n"
	        "populate cause=prefetch space=1 block=0x40000000 pages=511 to=1 batch=1 faulted=1\n"
	        "map cause=demand space=1 block=0x40000000 pages=510-511 from=1 to=1 right=rwa batch=1\n"
	        "allocate cause=prefetch space=1 block=0x40200000 pages=0-1 to=1 batch=1 detail=8192 offset=0x2000\n"
	        "allocate cause=prefetch space=1 block=0x40200000 pages=3-509 to=1 batch=1 detail=2076672 offset=0x4000\n"
	        "populate cause=prefetch space=1 block=0x40200000 pages=0-1,3-509 to=1 batch=1\n"
	        "map cause=demand space=1 block=0x40200000 pages=0-1,3-509 from=1 to=1 right=rwa batch=1\n"
	        "allocate cause=demand space=1 block=0x40200000 pages=2 to=1 batch=1 detail=4096 offset=0x1ff000\n"
	        "allocate cause=prefetch space=1 block=0x40200000 pages=510-511 to=1 batch=1 detail=8192 offset=0x200000\n"
	        "populate cause=demand space=1 block=0x40200000 pages=2 to=1 batch=1 detail=1\n"
	        "populate cause=prefetch space=1 block=0x40200000 pages=510-511 to=1 batch=1 faulted=1 "
	        "present=509\n"
	        "map cause=demand space=1 block=0x40200000 pages=2,510-511 from=1 to=1 right=rwa batch=1\n"
	        "allocate cause=prefetch space=1 block=0x40400000 pages=0-1 to=1 batch=1 detail=8192 offset=0x202000\n"
	        "populate cause=prefetch space=1 block=0x40400000 pages=0-1 to=1 batch=1\n"
	        "map cause=demand space=1 block=0x40400000 pages=0-1 from=1 to=1 right=rwa batch=1\n"
	        "allocate cause=demand space=1 block=0x40600000 pages=511 to=1 batch=1 detail=4096 offset=0x204000\n"
	        "populate cause=demand space=1 block=0x40600000 pages=511 to=1 batch=1 detail=1\n"
	        "map cause=demand space=1 block=0x40600000 pages=511 from=1 to=1 right=rwa batch=1\n"
	        "allocate cause=demand space=2 block=0x40200000 pages=3 to=1 batch=1 detail=4096 offset=0x205000\n"
	        "allocate cause=prefetch space=2 block=0x40200000 pages=4-511 to=1 batch=1 detail=2080768 "
	        "offset=0x206000\n"
	        "populate cause=demand space=2 block=0x40200000 pages=3 "));
	stop();
}

/* Sequential: the cursor walks from the beginning of the range, wherever the fault is, and over blocks. */
static void test_follow_sequential(void **state)
{
	(void)state;
	start("prefetch=sequential seq_pages=512", 1, 4);
	range(4);
	fault(1, BASE + MIB2 - 2 * PAGE, UVMP_ACCESS_WRITE);
	engine_run(&e);
	engine_expect(
	        &e,
	        "batch to=1 batch=1 count=1 detail=1\n"
	        "allocate cause=demand space=1 block=0x40000000 pages=0-511 to=1 batch=1 detail=2097152\n"
	        "populate cause=demand space=1 block=0x40000000 pages=0-510 to=1 batch=1 detail=1\n"
	        "populate cause=prefetch space=1 block=0x40000000 pages=511 to=1 batch=1 faulted=1\n"
	        "map cause=demand space=1 block=0x40000000 pages=0-511 from=1 to=1 right=rwa batch=1\n"
	        "allocate cause=prefetch space=1 block=0x40200000 pages=0-511 to=1 batch=1 detail=2097152 "
	        "offset=0x200000\n"
	        "populate cause=prefetch space=1 block=0x40200000 pages=0 to=1 batch=1\n"
	        "map cause=demand space=1 block=0x40200000 pages=0 from=1 to=1 right=rwa batch=1\n"
	        "flush to=1 batch=1\n"
	        "replay to=1 batch=1\n"
	        "wait to=1 batch=1\n"
	        "done to=1\n");
	/* the cursor stands at page 1 of the second block; a fault in the fourth makes it go on there */
	fault(1, BASE + 3 * MIB2, UVMP_ACCESS_WRITE);
	engine_run(&e);
	assert_true(
	        engine_has(&e, "populate cause=prefetch space=1 block=0x40200000 pages=1-511 to=1 batch=2"));
	stop();
}

/* What faults later in the batch counts only where it lies in the block that is asked, and in its space. */
static void test_follow_and_later_faults(void **state)
{
	(void)state;
	start("prefetch=locality locality_pages=512 evict=lru4k", 1, 4);
	range(2);
	engine_range(&e, 2, BASE, 2 * MIB2, UVMP_PROC_NONE);
	engine_bind(&e, 1, 2);
	fault(1, BASE + MIB2 - PAGE, UVMP_ACCESS_WRITE);
	engine_fault(&e, 1, 2, BASE + MIB2 + 3 * PAGE, UVMP_ACCESS_WRITE);
	engine_run(&e);
	assert_true(engine_has(&e, "populate cause=prefetch space=1 block=0x40200000 pages=0-510 to=1"));
	stop();

	start("prefetch=sequential seq_pages=512", 1, 8);
	range(4);
	for (uint32_t i = 0; i < 2; i++) { /* the cursor comes to the third block */
		fault(1, BASE + 3 * MIB2 + i * PAGE, UVMP_ACCESS_WRITE);
		engine_run(&e);
	}
	for (uint32_t i = 0; i < 2; i++) {
		uvmp_service_migrate(e.service, SPACE, BASE + i * MIB2, PAGE, 0, NULL);
		engine_run(&e);
	}
	engine_forget(&e);
	fault(1, BASE, UVMP_ACCESS_WRITE);
	fault(1, BASE + MIB2, UVMP_ACCESS_WRITE);
	engine_run(&e);
	assert_true(engine_has(&e, "populate cause=prefetch space=1 block=0x40400000 pages=0-511 to=1"));
	assert_true(strstr(e.text, "block=0x40400000") < strstr(e.text, "block=0x40200000"));
	stop();
}

/* A full GPU: what follows makes room too, but never takes the block that faulted; and it may fail quietly.
 */
static void test_follow_evicts(void **state)
{
	(void)state;
	start("prefetch=locality locality_pages=512", 1, 2);
	range(4);
	fault(1, BASE + 3 * MIB2, UVMP_ACCESS_WRITE);
	engine_run(&e);
	engine_forget(&e);
	fault(1, BASE + PAGE,
	      UVMP_ACCESS_WRITE); /* page 0 of the next block comes too, and evicts the old one */
	engine_run(&e);
	assert_int_equal(e.count[UVMP_ACTION_EVICT], 1);
	assert_int_equal(engine_page(&e, SPACE, BASE + MIB2).resident, 2);
	stop();

	start("prefetch=locality locality_pages=512", 1, 1);
	range(4);
	fault(1, BASE + PAGE, UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.count[UVMP_ACTION_EVICT], 0);
	assert_int_equal(engine_page(&e, SPACE, BASE + MIB2).resident, 0);
	stop();
}

/* The arena has room for the block that faulted, and no other. */
static void test_follow_without_arena(void **state)
{
	(void)state;
	engine_init(&e, 1, 4);
	assert_true(engine_policy(&e, "prefetch=locality locality_pages=512"));
	assert_true(engine_start(&e, 0, sizeof(struct block) + sizeof(struct residency)));
	arena_without_reserve(e.service);
	engine_bind(&e, 1, SPACE);
	range(2);
	fault(1, BASE + PAGE, UVMP_ACCESS_WRITE);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(engine_page(&e, SPACE, BASE + PAGE).resident, 2);
	assert_int_equal(e.count[UVMP_ACTION_CANCEL], 0);
	stop();
}

/* -- plan=overlapped: the next victim leaves while the present pages come -- */

static void test_overlapped(void **state)
{
	(void)state;
	start("prefetch=none plan=overlapped", 1, 2);
	e.hidden[1] = e.hidden[0]; /* shows `after` */
	range(5);
	for (uint32_t block = 0; block < 2; block++) {
		fault(1, BASE + block * MIB2, UVMP_ACCESS_WRITE);
		fault(1, BASE + block * MIB2 + 2 * PAGE, UVMP_ACCESS_WRITE);
	}
	engine_run(&e);
	engine_forget(&e);
	for (uint32_t block = 2; block < 4; block++) {
		fault(1, BASE + block * MIB2, UVMP_ACCESS_WRITE);
		fault(1, BASE + block * MIB2 + 2 * PAGE, UVMP_ACCESS_WRITE);
	}
	engine_run(&e);
	engine_expect(
	        &e, "batch to=1 batch=2 count=4 detail=4\n"
	            "evict cause=eviction space=1 block=0x40000000 pages=0-511 from=1 victim=used "
	            "for=0x40400000 batch=2 detail=2097152\n"
	            "unmap after=13 cause=eviction space=1 block=0x40000000 pages=0,2 to=1 for=0x40400000 "
	            "batch=2\n"
	            "copy after=14 cause=eviction space=1 block=0x40000000 pages=0,2 from=1 to=0 "
	            "for=0x40400000 batch=2\n"
	            "allocate cause=demand space=1 block=0x40400000 pages=0-511 to=1 batch=2 detail=2097152\n"
	            "evict cause=eviction space=1 block=0x40200000 pages=0-511 from=1 victim=used "
	            "for=0x40600000 batch=2 detail=2097152 offset=0x200000\n"
	            "unmap after=17 cause=eviction space=1 block=0x40200000 pages=0,2 to=1 for=0x40600000 "
	            "batch=2\n"
	            "populate after=18 cause=demand space=1 block=0x40400000 pages=0,2 to=1 batch=2 detail=2\n"
	            "copy after=18 cause=eviction space=1 block=0x40200000 pages=0,2 from=1 to=0 "
	            "for=0x40600000 batch=2\n"
	            "map cause=demand space=1 block=0x40400000 pages=0,2 from=1 to=1 right=rwa batch=2\n"
	            "allocate cause=demand space=1 block=0x40600000 pages=0-511 to=1 batch=2 detail=2097152 "
	            "offset=0x200000\n"
	            "populate cause=demand space=1 block=0x40600000 pages=0,2 to=1 batch=2 detail=2\n"
	            "map cause=demand space=1 block=0x40600000 pages=0,2 from=1 to=1 right=rwa batch=2\n"
	            "flush to=1 batch=2\n"
	            "replay to=1 batch=2\n"
	            "wait to=1 batch=2\n"
	            "done to=1\n");
	/* a request looks for room only when it needs it */
	assert_int_equal(uvmp_service_migrate(e.service, SPACE, BASE + 4 * MIB2, PAGE, 1, NULL), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(e.count[UVMP_ACTION_EVICT], 1);
	stop();
}

/* Eviction ahead never evicts the destination of the present block service, and is not made for a fatal
 * fault. */
static void test_overlapped_spares(void **state)
{
	(void)state;
	start("prefetch=none plan=overlapped", 1, 2);
	range(3);
	for (uint32_t block = 0; block < 2; block++) {
		fault(1, BASE + block * MIB2, UVMP_ACCESS_WRITE);
		engine_run(&e);
	}
	engine_forget(&e);
	fault(1, BASE + PAGE, UVMP_ACCESS_WRITE); /* its root is the oldest */
	fault(1, BASE + 2 * MIB2, UVMP_ACCESS_WRITE);
	engine_run(&e);
	assert_int_equal(engine_page(&e, SPACE, BASE + PAGE).resident, 2);
	assert_int_equal(engine_page(&e, SPACE, BASE + 2 * MIB2).resident, 2);
	assert_int_equal(e.count[UVMP_ACTION_EVICT], 1);
	engine_forget(&e);
	fault(1, BASE + MIB2, UVMP_ACCESS_WRITE);
	fault(1, BASE + 3 * MIB2, UVMP_ACCESS_WRITE); /* no range */
	engine_run(&e);
	assert_int_equal(e.count[UVMP_ACTION_EVICT], 1);
	stop();
}

/* -- the walk -- */

/* What is mapped already is stale; entries of one page follow each other; the walk is repeated after an
 * eviction without counting twice [driver: block-walk]. */
static void test_walk_again(void **state)
{
	(void)state;
	start("prefetch=none coalesce=0", 1, 1);
	range(2);
	fault(1, BASE, UVMP_ACCESS_WRITE);
	fault(1, BASE, UVMP_ACCESS_READ);
	engine_run(&e);
	fault(1, BASE, UVMP_ACCESS_READ);
	engine_run(&e);
	assert_int_equal(e.count[UVMP_ACTION_MAP], 1);
	assert_int_equal(counts(1).duplicates, 1);
	fault(1, BASE + MIB2, UVMP_ACCESS_WRITE);
	fault(1, BASE + MIB2, UVMP_ACCESS_WRITE);
	engine_run(&e);
	assert_int_equal(e.count[UVMP_ACTION_EVICT], 1);
	assert_int_equal(counts(1).duplicates, 2);
	stop();
}

/* A throttled page is throttled no more, or still, when the walk is repeated: no second THROTTLE. */
static void test_throttled_and_evicted(void **state)
{
	(void)state;
	start("prefetch=none", 1, 1);
	range(3);
	for (uint32_t i = 0; i < 30 && e.count[UVMP_ACTION_THROTTLE] == 0; i++) {
		engine_forget(&e);
		uvmp_service_cpu_fault(e.service, SPACE, BASE, UVMP_ACCESS_WRITE, 1, NULL);
		engine_run(&e);
		engine_forget(&e);
		fault(1, BASE + MIB2, UVMP_ACCESS_WRITE); /* takes the only root */
		engine_run(&e);
		engine_forget(&e);
		fault(1, BASE, UVMP_ACCESS_WRITE);
		fault(1, BASE + (i + 1u) * PAGE, UVMP_ACCESS_WRITE);
		engine_run(&e);
	}
	assert_int_equal(e.count[UVMP_ACTION_THROTTLE], 1);
	assert_true(engine_has(&e, "evict"));
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_replay_block),
	        cmocka_unit_test(test_replay_batch),
	        cmocka_unit_test(test_replay_batch_flush),
	        cmocka_unit_test(test_replay_once),
	        cmocka_unit_test(test_flush),
	        cmocka_unit_test(test_batches),
	        cmocka_unit_test(test_throttled),
	        cmocka_unit_test(test_throttle_fails),
	        cmocka_unit_test(test_stale),
	        cmocka_unit_test(test_instances),
	        cmocka_unit_test(test_read_only),
	        cmocka_unit_test(test_two_verdicts),
	        cmocka_unit_test(test_prefetch_outside),
	        cmocka_unit_test(test_prefetch_outside_last),
	        cmocka_unit_test(test_outside),
	        cmocka_unit_test(test_duplicates_outside),
	        cmocka_unit_test(test_gone_meanwhile),
	        cmocka_unit_test(test_fatal_type),
	        cmocka_unit_test(test_stale_in_cancel),
	        cmocka_unit_test(test_cancel_fails),
	        cmocka_unit_test(test_copy_fails_in_cancel),
	        cmocka_unit_test(test_no_arena_in_cancel),
	        cmocka_unit_test(test_freed_in_flight),
	        cmocka_unit_test(test_space_gone),
	        cmocka_unit_test(test_space_gone_and_error),
	        cmocka_unit_test(test_refused_allocation),
	        cmocka_unit_test(test_failing_copy),
	        cmocka_unit_test(test_failing_after_precise),
	        cmocka_unit_test(test_failing_rest),
	        cmocka_unit_test(test_failing_eviction),
	        cmocka_unit_test(test_no_arena),
	        cmocka_unit_test(test_no_memory),
	        cmocka_unit_test(test_retries_end),
	        cmocka_unit_test(test_many_cancels),
	        cmocka_unit_test(test_many_fatal),
	        cmocka_unit_test(test_toggle),
	        cmocka_unit_test(test_free_buffer),
	        cmocka_unit_test(test_prefetch_full),
	        cmocka_unit_test(test_follow_locality),
	        cmocka_unit_test(test_follow_sequential),
	        cmocka_unit_test(test_follow_and_later_faults),
	        cmocka_unit_test(test_follow_evicts),
	        cmocka_unit_test(test_follow_without_arena),
	        cmocka_unit_test(test_overlapped),
	        cmocka_unit_test(test_overlapped_spares),
	        cmocka_unit_test(test_walk_again),
	        cmocka_unit_test(test_throttled_and_evicted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
