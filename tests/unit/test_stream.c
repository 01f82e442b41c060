/* Streams and events: first by themselves, then as small programs on a machine in which only what a test
 * looks at takes time, so that the time of the run says what waited for what. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "timed/timed.h"
#include "timed/stream.h"

#define NEVER UINT64_MAX
#define ROOT  (2u << 20)

/* -- by themselves -- */

static struct workload_op op_of(enum workload_op_kind kind, unsigned stream, unsigned event)
{
	return (struct workload_op){.kind = kind, .stream = (uint8_t)stream, .event = (uint8_t)event};
}

static void push(struct streams *streams, enum workload_op_kind kind, unsigned stream, unsigned event,
		 uint64_t at_ns)
{
	struct workload_op op = op_of(kind, stream, event);

	assert_true(streams_push(streams, &op, NULL, at_ns));
}

static uint64_t wait_ns(const struct streams *streams, enum workload_op_kind kind, unsigned stream,
			unsigned event)
{
	struct workload_op op = op_of(kind, stream, event);

	return streams_wait_ns(streams, &op);
}

/* A stream holds a limited number of items; a thread that queues more waits for an item to end. */
static void test_full(void **unused)
{
	struct streams streams = {0};

	(void)unused;
	for (unsigned i = 0; i < STREAM_MOST; i++) {
		assert_int_equal(streams_room_ns(&streams, 2), 0);
		push(&streams, WORKLOAD_COPY, 2, 0, i);
	}
	assert_int_equal(streams_room_ns(&streams, 2), NEVER);
	assert_int_equal(streams_room_ns(&streams, 1), 0);
	streams_begin(&streams, 2);
	assert_int_equal(streams_room_ns(&streams, 2), NEVER);
	streams_end(&streams, 2, 5000);
	assert_int_equal(streams_room_ns(&streams, 2), 5000);
	push(&streams, WORKLOAD_COPY, 2, 0, 5000);
	assert_int_equal(streams_room_ns(&streams, 2), NEVER);
	streams_close(&streams);
}

static void test_order(void **unused)
{
	struct streams streams = {0};
	uint64_t from_ns = 0;

	(void)unused;
	assert_null(streams_first(&streams, 3, &from_ns));
	assert_true(streams_is_idle(&streams, 3, 0));
	push(&streams, WORKLOAD_COPY, 3, 0, 100);
	push(&streams, WORKLOAD_PREFETCH, 3, 0, 200);
	push(&streams, WORKLOAD_COPY, 4, 0, 50);
	assert_int_equal(streams_first(&streams, 3, &from_ns)->op.kind, WORKLOAD_COPY);
	assert_int_equal(from_ns, 100);
	streams_begin(&streams, 3);
	assert_null(streams_first(&streams, 3, &from_ns));
	assert_non_null(streams_first(&streams, 4, &from_ns));
	assert_int_equal(wait_ns(&streams, WORKLOAD_WAIT_STREAM, 3, 0), NEVER);
	streams_end(&streams, 3, 700);
	assert_int_equal(streams_first(&streams, 3, &from_ns)->op.kind, WORKLOAD_PREFETCH);
	assert_int_equal(from_ns, 700);
	streams_begin(&streams, 3);
	streams_end(&streams, 3, 600); /* nothing ends before what came first */
	assert_int_equal(wait_ns(&streams, WORKLOAD_WAIT_STREAM, 3, 0), 700);
	assert_int_equal(wait_ns(&streams, WORKLOAD_WAIT_STREAM, 5, 0), 0);
	assert_int_equal(wait_ns(&streams, WORKLOAD_WAIT_ALL, 3, 0), NEVER);
	assert_false(streams_is_idle(&streams, 3, 699));
	assert_true(streams_is_idle(&streams, 3, 700));
	streams_extend(&streams, 3, 900);
	assert_false(streams_is_idle(&streams, 3, 899));
	streams_begin(&streams, 4);
	streams_end(&streams, 4, 60);
	assert_int_equal(wait_ns(&streams, WORKLOAD_WAIT_ALL, 0, 0), 900);
	streams_close(&streams);
}

/* The ring grows in the middle, too. */
static void test_growth(void **unused)
{
	struct streams streams = {0};
	uint64_t from_ns, taken = 0;

	(void)unused;
	for (uint64_t i = 0; i < 1000; i++) {
		push(&streams, WORKLOAD_COPY, 1, 0, i);
		if (i % 3 != 0)
			continue;
		assert_int_equal(streams_first(&streams, 1, &from_ns)->issued_ns, taken++);
		streams_end(&streams, 1, 0);
	}
	for (; taken < 1000; taken++) {
		assert_int_equal(streams_first(&streams, 1, &from_ns)->issued_ns, taken);
		streams_end(&streams, 1, 0);
	}
	assert_null(streams_first(&streams, 1, &from_ns));
	streams_close(&streams);
}

static void end_first(struct streams *streams, unsigned stream, uint64_t at_ns)
{
	streams_begin(streams, stream);
	streams_end(streams, stream, at_ns);
}

static void test_events(void **unused)
{
	struct streams streams = {0};

	(void)unused;
	assert_int_equal(wait_ns(&streams, WORKLOAD_WAIT_EVENT, 0, 2), 0); /* never recorded */
	push(&streams, WORKLOAD_RECORD, 1, 2, 0);
	assert_int_equal(wait_ns(&streams, WORKLOAD_WAIT_EVENT, 0, 2), NEVER);
	assert_int_equal(wait_ns(&streams, WORKLOAD_WAIT_EVENT, 1, 3), 0); /* another event */
	end_first(&streams, 1, 500);
	assert_int_equal(wait_ns(&streams, WORKLOAD_WAIT_EVENT, 0, 2), 500);
	push(&streams, WORKLOAD_RECORD, 1, 2, 600); /* again: what was before does not count */
	assert_int_equal(wait_ns(&streams, WORKLOAD_WAIT_EVENT, 0, 2), NEVER);
	push(&streams, WORKLOAD_RECORD, 4, 2, 600); /* and in another stream, which is faster */
	end_first(&streams, 4, 650);
	assert_int_equal(wait_ns(&streams, WORKLOAD_WAIT_EVENT, 0, 2), 650);
	end_first(&streams, 1, 900); /* the older record has no effect */
	assert_int_equal(wait_ns(&streams, WORKLOAD_WAIT_EVENT, 0, 2), 650);
	streams_close(&streams);
}

/* -- programs -- */

#define DELAY_NS 30000u
#define DEFER_NS 50000u
#define BUSY	 30000000u /* operations of a warp, for some time */
#define SLACK_NS 5000u	   /* a kernel ends somewhere in a quantum of the GPU */

struct act {
	struct workload_op op; /* addresses are offsets: the first half of the memory was written by the CPU,
	                        * the rest is fresh */
	uint64_t at, bytes;    /* of a KERNEL: what its warp reads */
};

#define HALF (16u << 20)
#define ACT(kind_, ...)                                                                                      \
	{                                                                                                    \
		.op = {.kind = WORKLOAD_##kind_, __VA_ARGS__ }                                               \
	}
#define KERNEL(stream_) ACT(KERNEL, .is_queued = true, .stream = stream_)
#define READER(stream_) /* of the first page */                                                              \
	{                                                                                                    \
		.op = {.kind = WORKLOAD_KERNEL, .is_queued = true, .stream = stream_}, .bytes = 4096         \
	}
/* The thread writes a fresh page: one fault. Each in a VABlock of its own. */
#define DELAY(number)                                                                                        \
	ACT(CPU, .access = UVMP_ACCESS_WRITE, .at = HALF + (number) * (uint64_t)ROOT, .bytes = 1)
#define TO_GPU(stream_, root)                                                                                \
	ACT(PREFETCH, .to_gpu = true, .stream = stream_, .at = (root) * (uint64_t)ROOT, .bytes = ROOT)
#define TO_CPU(stream_, root)	ACT(PREFETCH, .stream = stream_, .at = (root) * (uint64_t)ROOT, .bytes = ROOT)
#define COPY_IN(stream_)	ACT(COPY, .to_gpu = true, .stream = stream_, .bytes = ROOT)
#define COPY_OUT(stream_)	ACT(COPY, .stream = stream_, .bytes = ROOT)
#define RECORD(stream_, event_) ACT(RECORD, .stream = stream_, .event = event_)
#define WAIT_EVENT(event_)	ACT(WAIT_EVENT, .event = event_)
#define WAIT_STREAM(stream_)	ACT(WAIT_STREAM, .stream = stream_)
#define WAIT_ALL		ACT(WAIT_ALL, .stream = 0)

static const struct act *act;
static size_t acts;
static struct sim_result result;
static struct sim_times times;
static char error[SOURCE_ERROR_MAX];

static bool act_launch(struct workload *workload)
{
	uint64_t base = workload->range[0].base;

	if (workload->ops == acts)
		return false;
	workload->op = act[workload->ops].op;
	workload->op.at = workload->op.at < HALF ? base + workload->op.at
						 : workload->range[1].base + (workload->op.at - HALF);
	workload->kernel = "k";
	workload->blocks = 1;
	workload->tag = workload->ops;
	return true;
}

static bool act_step(struct workload *workload, struct workload_slot *slot)
{
	const struct act *a = &act[workload->tag];

	if (slot->step++ != 0)
		return false;
	workload_set_wide(slot, workload->range[0].base + a->at, a->bytes, UVMP_ACCESS_READ);
	slot->flops = BUSY;
	return true;
}

/* Only faults of the CPU and deferring take the driver's time. */
static void open_quiet(struct model *model)
{
	assert_true(model_open("p100-pcie", NULL, model, error));
	model->replay_ns = model->launch_ns = model->interrupt_ns = model->wakeup_ns = 0;
	model->batch_ns = model->fetch_ns = model->order_ns = model->block_ns = model->page_ns = 0;
	model->alloc_ns = model->unmap_ns = model->unmap_page_ns = model->copy_ns = 0;
	model->map_ns = model->map_page_ns = model->evict_ns = model->replay_push_ns = 0;
	model->flush_ns = model->flush_entry_ns = model->prefetch_call_ns = 0;
	model->cpu_fault_ns = DELAY_NS;
	model->prefetch_defer_ns = DEFER_NS;
}

static bool try_acts(const struct act *first, size_t count)
{
	struct sim_memory memory = {.oversub_percent = 100};
	struct source *source = workload_open("regular:bytes=16m", 1, error);
	struct workload_type type;
	struct workload *workload;
	struct uvmp_policy policy;
	struct model model;
	bool is_done;

	assert_non_null(source);
	workload = workload_of(source);
	type = *workload->type;
	type.launch = act_launch;
	type.span = act_step;
	workload->type = &type;
	workload_add_fresh(workload, "fresh", HALF);
	act = first;
	acts = count;
	uvmp_policy_init(&policy);
	open_quiet(&model);
	is_done = timed_run(source, &model, &(struct sim_run){&policy, memory, 1, {.file = NULL}, 0, NULL}, &result,
			    &times, error);
	source->close(source);
	return is_done;
}

/* The time of the program. */
static uint64_t time_of_acts(const struct act *first, size_t count)
{
	if (!try_acts(first, count))
		fail_msg("%s", error);
	return times.time_ns;
}
#define TIME(...)                                                                                            \
	time_of_acts((const struct act[]){__VA_ARGS__},                                                      \
		     sizeof((const struct act[]){__VA_ARGS__}) / sizeof(struct act))

#define assert_near(a, b)                                                                                    \
	do {                                                                                                 \
		uint64_t near_ = (b);                                                                        \
		assert_in_range(a, near_ - SLACK_NS, near_ + SLACK_NS);                                      \
	} while (0)

static uint64_t link_ns(enum model_direction direction, uint64_t bytes)
{
	struct model model;

	open_quiet(&model);
	return model_link_ns(&model, direction, bytes);
}

static uint64_t kernel_ns(void)
{
	uint64_t ns = TIME(KERNEL(1), WAIT_ALL);

	assert_true(ns > 4 * DELAY_NS);
	return ns;
}

static void test_queue(void **unused)
{
	uint64_t kernel = kernel_ns();

	(void)unused;
	assert_int_equal(TIME(DELAY(0), DELAY(1)), 2 * DELAY_NS);
	assert_int_equal(times.cpu_ns, 2 * DELAY_NS);
	/* the thread continues at once, or waits */
	assert_near(TIME(KERNEL(1), DELAY(0), DELAY(1), WAIT_ALL), kernel);
	assert_near(TIME(KERNEL(1), DELAY(0), DELAY(1)), kernel); /* the end waits, too */
	assert_near(TIME(ACT(KERNEL, .stream = 1), DELAY(0)), kernel + DELAY_NS);
	assert_near(TIME(KERNEL(1), WAIT_STREAM(1), DELAY(0)), kernel + DELAY_NS);
	assert_near(TIME(KERNEL(1), WAIT_STREAM(2), DELAY(0)), kernel);
	/* one after another in a stream; kernels anywhere */
	assert_near(TIME(KERNEL(1), KERNEL(1), KERNEL(1)), 3 * kernel);
	assert_near(times.kernel_ns, 3 * kernel);
	assert_near(TIME(KERNEL(1), KERNEL(2)), 2 * kernel);
	assert_near(TIME(KERNEL(1), KERNEL(2), WAIT_STREAM(1), DELAY(0)), 2 * kernel);
	/* what is queued late begins late */
	assert_near(TIME(DELAY(0), KERNEL(1), DELAY(1)), DELAY_NS + kernel);
}

static void test_wait_for_events(void **unused)
{
	uint64_t kernel = kernel_ns();

	(void)unused;
	assert_int_equal(TIME(WAIT_EVENT(0), DELAY(0)), DELAY_NS);
	assert_near(TIME(KERNEL(1), RECORD(1, 0), WAIT_EVENT(0), DELAY(0)), kernel + DELAY_NS);
	assert_near(TIME(KERNEL(1), RECORD(2, 0), WAIT_EVENT(0), DELAY(0)), kernel);
	assert_near(TIME(KERNEL(1), RECORD(1, 0), KERNEL(1), WAIT_EVENT(0), DELAY(0), DELAY(1)), 2 * kernel);
	/* the last record counts */
	assert_near(TIME(RECORD(2, 0), KERNEL(1), RECORD(1, 0), WAIT_EVENT(0), DELAY(0)), kernel + DELAY_NS);
	assert_near(TIME(KERNEL(1), RECORD(1, 0), RECORD(2, 0), WAIT_EVENT(0), DELAY(0)), kernel);
	assert_near(TIME(KERNEL(1), RECORD(1, 0), RECORD(2, 0), WAIT_ALL, WAIT_EVENT(0), DELAY(0)),
		    kernel + DELAY_NS);
}

/* In an idle stream: back when all is submitted (to the GPU) or has arrived (to the CPU). */
static void test_prefetch_idle(void **unused)
{
	uint64_t in = link_ns(MODEL_TO_GPU, ROOT), out = link_ns(MODEL_TO_CPU, ROOT), kernel = kernel_ns();

	(void)unused;
	assert_true(in > 2 * DELAY_NS + SLACK_NS);
	assert_int_equal(TIME(TO_GPU(1, 0), DELAY(0), DELAY(1), WAIT_ALL), in);
	assert_int_equal(result.h2d_bytes, ROOT);
	assert_int_equal(result.h2d_copies, 1);
	assert_int_equal(TIME(TO_GPU(1, 0), WAIT_ALL, DELAY(0)), in + DELAY_NS);
	assert_int_equal(TIME(TO_GPU(1, 0), WAIT_ALL, TO_CPU(1, 0), DELAY(0)), in + out + DELAY_NS);
	assert_int_equal(result.d2h_bytes, ROOT);
	/* no call waits for the copies of other calls: no page of this root is on the GPU */
	assert_int_equal(TIME(TO_GPU(1, 0), TO_CPU(2, 1), DELAY(0), DELAY(1), WAIT_ALL), in);
	assert_int_equal(TIME(TO_GPU(1, 0), TO_CPU(2, 1), WAIT_STREAM(2), DELAY(0), DELAY(1)), in);
	/* what is already there costs nothing */
	assert_int_equal(TIME(TO_CPU(1, 0), DELAY(0)), DELAY_NS);
	assert_int_equal(TIME(TO_GPU(1, 0), WAIT_ALL, TO_GPU(1, 0), WAIT_ALL), in);
	/* a kernel behind it finds the pages; one in another stream does not wait */
	assert_near(TIME(TO_GPU(1, 0), READER(1)), in + kernel);
	assert_int_equal(result.faults_raw, 0);
	TIME(TO_GPU(1, 0), READER(2));
	assert_true(result.faults_raw > 0);
	assert_int_equal(result.h2d_bytes, ROOT);
}

/* In a busy stream: the thread continues, another thread is woken when the item reaches the head of the
 * stream. */
static void test_prefetch_deferred(void **unused)
{
	uint64_t in = link_ns(MODEL_TO_GPU, ROOT), out = link_ns(MODEL_TO_CPU, ROOT), kernel = kernel_ns();

	(void)unused;
	assert_near(TIME(KERNEL(1), TO_GPU(1, 0), DELAY(0), DELAY(1), DELAY(2), WAIT_ALL),
		    kernel + DEFER_NS + in);
	assert_int_equal(result.h2d_bytes, ROOT);
	assert_near(TIME(KERNEL(1), TO_GPU(1, 0), READER(1)), 2 * kernel + DEFER_NS + in);
	assert_int_equal(result.faults_raw, 0);
	/* while the kernel runs, in another stream */
	assert_near(TIME(KERNEL(1), TO_GPU(2, 0), WAIT_ALL), kernel > in ? kernel : in);
	/* copies that have not ended make a stream busy */
	assert_int_equal(TIME(TO_GPU(1, 0), TO_GPU(1, 1)), 2 * in + DEFER_NS);
	assert_int_equal(TIME(TO_GPU(1, 0), TO_GPU(2, 1)), 2 * in);
	/* one thread does all that is deferred. To the CPU it waits for the data, to the GPU it does not */
	assert_true(DEFER_NS + in > out && DEFER_NS + out > in);
	assert_int_equal(TIME(COPY_OUT(1), COPY_OUT(2), TO_GPU(1, 0), TO_GPU(2, 1)), out + DEFER_NS + 2 * in);
	assert_int_equal(TIME(TO_GPU(1, 0), WAIT_ALL, COPY_IN(1), COPY_IN(2), TO_CPU(1, 0), TO_GPU(2, 1)),
			 2 * in + DEFER_NS + out + DEFER_NS + in);
}

static void test_copies(void **unused)
{
	uint64_t in = link_ns(MODEL_TO_GPU, ROOT), out = link_ns(MODEL_TO_CPU, ROOT), kernel = kernel_ns();

	(void)unused;
	assert_int_equal(TIME(COPY_IN(1)), in);
	assert_int_equal(TIME(COPY_OUT(1)), out);
	assert_int_equal(result.h2d_bytes + result.d2h_bytes, 0); /* of managed memory */
	assert_int_equal(TIME(COPY_IN(1), DELAY(0), WAIT_ALL), in);
	assert_int_equal(TIME(COPY_IN(1), WAIT_STREAM(1), DELAY(0)), in + DELAY_NS);
	assert_int_equal(TIME(COPY_IN(1), COPY_IN(1)), 2 * in);
	assert_int_equal(TIME(COPY_IN(1), COPY_IN(2)), 2 * in); /* one engine */
	assert_int_equal(TIME(COPY_IN(1), COPY_OUT(2)), in > out ? in : out);
	assert_int_equal(TIME(COPY_IN(1), COPY_OUT(1)), in + out);
	assert_near(TIME(COPY_IN(1), KERNEL(1)), in + kernel);
}

/* The thread takes a page away from the GPU while a kernel runs; the next kernel fetches it again. */
static void test_thread_and_kernel(void **unused)
{
	const struct act write = ACT(CPU, .access = UVMP_ACCESS_WRITE, .bytes = 1);

	(void)unused;
	TIME(READER(1), WAIT_ALL, KERNEL(1), write, READER(1), WAIT_ALL);
	assert_int_equal(result.cpu_faults, 1);
	assert_int_equal(result.batches, 2);
	assert_int_equal(result.accesses, 3);
	assert_true(result.d2h_bytes > 0 && result.h2d_bytes == 2 * result.d2h_bytes);
}

static void test_bad_acts(void **unused)
{
	static const struct act outside[] = {
		ACT(CPU, .access = UVMP_ACCESS_READ, .at = 2 * HALF, .bytes = 1)};
	static const struct act too_long[] = {
		ACT(PREFETCH, .to_gpu = true, .at = HALF - ROOT, .bytes = 2 * (uint64_t)ROOT)};
	static const struct act late[] = {
		KERNEL(1),
		ACT(PREFETCH, .to_gpu = true, .stream = 1, .at = HALF - ROOT, .bytes = 2 * (uint64_t)ROOT),
		WAIT_ALL};
	static const struct act nowhere[] = {
		{.op = {.kind = WORKLOAD_KERNEL, .stream = 1}, .at = 4 * (uint64_t)HALF, .bytes = 4096}};

	(void)unused;
	assert_false(try_acts(outside, 1));
	assert_non_null(strstr(error, "an access of the CPU lies outside every range"));
	assert_false(try_acts(too_long, 1));
	assert_non_null(strstr(error, "a part of the range is not managed"));
	assert_int_equal(result.h2d_bytes, ROOT);
	assert_false(try_acts(late, 3));
	assert_non_null(strstr(error, "a part of the range is not managed"));
	assert_true(times.kernel_ns > 0);
	assert_false(try_acts(nowhere, 1));
	assert_non_null(strstr(error, "lies outside every range"));
	/* nothing is little, but not bad */
	assert_int_equal(
		TIME(ACT(PREFETCH, .to_gpu = true), ACT(COPY, .to_gpu = true), ACT(CPU, .at = 0), WAIT_ALL),
		0);
}

/* -- the tiled pipeline -- */

static uint64_t time_of_tiles(const char *order)
{
	struct sim_memory memory = {.bytes = 64u << 20};
	struct uvmp_policy policy;
	struct source *source;
	struct model model;
	char spec[96];
	bool is_done;

	uvmp_policy_init(&policy);
	assert_true(model_open("p100-pcie", NULL, &model, error));
	snprintf(spec, sizeof(spec), "tiles:tiles=4,tile=2m,weight=8000,order=%s", order);
	source = workload_open(spec, 1, error);
	if (!source)
		fail_msg("%s", error);
	is_done = timed_run(source, &model, &(struct sim_run){&policy, memory, 1, {.file = NULL}, 0, NULL}, &result,
			    &times, error);
	source->close(source);
	if (!is_done)
		fail_msg("%s", error);
	return times.time_ns;
}

/* NVIDIA blog 2017 (Sakharnykh): overlapping pays, more so without the prefetches in busy streams, and never
 * beats the longer of computing and moving. */
static void test_tiles(void **unused)
{
	uint64_t single, naive, optimized, compute, move;

	(void)unused;
	compute = time_of_tiles("compute");
	assert_int_equal(result.h2d_bytes + result.d2h_bytes + result.faults_raw, 0);
	move = time_of_tiles("move");
	assert_int_equal(times.kernel_ns, 0);
	assert_int_equal(result.h2d_bytes, 8u << 20);
	assert_int_equal(result.d2h_bytes, 8u << 20);
	single = time_of_tiles("single");
	assert_int_equal(result.faults_raw, 0);
	assert_int_equal(result.h2d_bytes, 8u << 20);
	assert_int_equal(result.d2h_bytes, 8u << 20);
	assert_in_range(single, (compute + move) * 98 / 100, (compute + move) * 102 / 100);
	naive = time_of_tiles("naive");
	assert_int_equal(result.h2d_bytes, 8u << 20);
	assert_int_equal(result.d2h_bytes, 6u << 20); /* the last tile stays */
	optimized = time_of_tiles("optimized");
	assert_int_equal(result.faults_raw, 0);
	assert_int_equal(result.d2h_bytes, 8u << 20);
	if (!(optimized < naive && naive < single && optimized >= compute && optimized >= move / 2))
		fail_msg("single %llu naive %llu optimized %llu compute %llu move %llu",
			 (unsigned long long)single, (unsigned long long)naive, (unsigned long long)optimized,
			 (unsigned long long)compute, (unsigned long long)move);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),	      cmocka_unit_test(test_order),
		cmocka_unit_test(test_growth),	      cmocka_unit_test(test_events),
		cmocka_unit_test(test_queue),	      cmocka_unit_test(test_wait_for_events),
		cmocka_unit_test(test_prefetch_idle), cmocka_unit_test(test_prefetch_deferred),
		cmocka_unit_test(test_copies),	      cmocka_unit_test(test_thread_and_kernel),
		cmocka_unit_test(test_bad_acts),      cmocka_unit_test(test_tiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
