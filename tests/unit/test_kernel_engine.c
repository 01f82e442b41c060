/* docs/examples/kernel_engine.c as a driver would run it: rings, interrupt, worker. The decision log equals
 * that of the engine fed directly; nothing is performed while the lock is held; no interrupt is lost; the
 * arena grows as far as it can and no segment is lost; what time alone gives to do is done. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../docs/examples/kernel_engine.c"

#define SPACE 1u
#define BASE  UINT64_C(0x7f0000000000)
#define ROOT  UINT64_C(2097152)
#define LOG   (1u << 20)

/* -- the kernel and the driver -- */

struct ring {
	struct uvmp_fault entry[512];
	uint32_t get, put;
	bool is_masked;
};

static struct driver driver;
static struct ring ring;
static struct ring *rings[] = {&ring};
static char *text;
static size_t length;
static uint32_t queued;
static uint32_t asked, freed; /* segments of arena */
static size_t asked_bytes;    /* of the last one */
static void *segment[1024];
static bool is_one_late, is_memory_short;
static uint64_t now_ns;

void mutex_lock(struct mutex *lock)
{
	assert_int_equal(lock->held++, 0);
}

void mutex_unlock(struct mutex *lock)
{
	assert_int_equal(--lock->held, 0);
}

void queue_work_on_our_queue(struct work_struct *work)
{
	assert_ptr_equal(work, &driver.work);
	queued++;
}

uint64_t ktime_get_ns(void)
{
	return now_ns; /* stands still: logs can be compared whole */
}

bool ring_pending(struct ring *r)
{
	return r->get != r->put;
}

bool ring_peek(struct ring *r, struct uvmp_fault *fault)
{
	if (r->get == r->put)
		return false;
	*fault = r->entry[r->get];
	return true;
}

void ring_advance(struct ring *r)
{
	r->get++;
}

void mask_interrupt(struct ring *r)
{
	r->is_masked = true;
}

void *arena_alloc(size_t bytes)
{
	assert_int_equal(driver.lock.held, 0);
	assert_true(asked < sizeof(segment) / sizeof(segment[0]));
	asked_bytes = bytes;
	segment[asked] = is_memory_short ? NULL : aligned_alloc(16, (bytes + 15) / 16 * 16);
	return segment[asked++];
}

void arena_free(void *memory)
{
	assert_int_equal(driver.lock.held, 0);
	assert_true(asked > 0 && memory == segment[asked - 1]);
	free(memory);
	segment[asked - 1] = NULL;
	freed++;
}

void start_timer(struct hrtimer *timer, uint64_t at_ns)
{
	assert_int_equal(driver.lock.held, 0);
	timer->at_ns = at_ns;
}

struct waiter {
	uint64_t ticket;
};

void waiter_expect(struct waiter *waiter, uint64_t ticket)
{
	assert_int_equal(driver.lock.held, 1);
	waiter->ticket = ticket;
}

static void note(const struct uvmp_action *action)
{
	assert_int_equal(uvmp_action_print(action, text + length, LOG - length), UVMP_OK);
	length += strlen(text + length);
	text[length++] = '\n';
}

enum uvmp_status perform(const struct uvmp_action *action)
{
	assert_int_equal(driver.lock.held, 0);
	note(action);
	return UVMP_OK;
}

/* -- an engine -- */

static struct uvmp_service *engine(void **memory, uint32_t roots)
{
	struct uvmp_processors processors = {.count = 2, .can_access = {1, 3}, .native_atomics = {1, 2}};
	struct uvmp_service_gpu gpu = {
	        .size = sizeof(gpu), .memory_bytes = roots * ROOT, .splits = 2, .fault_entries = 64, .utlbs = 8};
	struct uvmp_policy policy;
	struct uvmp_service_params params = {.size = sizeof(params),
	                                     .policy = &policy,
	                                     .processors = &processors,
	                                     .gpu = &gpu,
	                                     .page_bytes = 4096,
	                                     .blocks = 64,
	                                     .spaces = 1,
	                                     .ranges = 4,
	                                     .instances = 1,
	                                     .requests = 4};
	struct uvmp_service *service;
	size_t bytes;

	uvmp_policy_init(&policy);
	bytes = uvmp_service_size(&params, 64);
	*memory = aligned_alloc(16, (bytes + 15) / 16 * 16);
	assert_int_equal(uvmp_service_init(&params, *memory, bytes, &service), UVMP_OK);
	assert_int_equal(uvmp_service_bind(service, 1, UVMP_APERTURE_VID, 0, 0, SPACE), UVMP_OK);
	assert_int_equal(uvmp_service_add_range(service, SPACE, BASE, 32 * ROOT, UVMP_RIGHT_READ_WRITE_ATOMIC,
	                                        UVMP_CPU),
	                 UVMP_OK);
	return service;
}

static struct uvmp_fault fault_at(uint32_t i)
{
	return (struct uvmp_fault){.address = BASE + (i * 7919u % 16384u) * 4096u,
	                           .aperture = UVMP_APERTURE_VID,
	                           .utlb = i % 8,
	                           .type = UVMP_FAULT_INVALID_PTE,
	                           .access = UVMP_ACCESS_WRITE};
}

void unmask_interrupt(struct ring *r)
{
	if (is_one_late)
		r->entry[r->put++] = fault_at(9000);
	is_one_late = false;
	r->is_masked = false;
}

static void start(void **memory)
{
	memset(&driver, 0, sizeof(driver));
	memset(&ring, 0, sizeof(ring));
	text = calloc(1, LOG);
	length = 0;
	queued = asked = freed = 0;
	is_one_late = is_memory_short = false;
	now_ns = 100000;
	driver.ring = rings;
	driver.gpus = 1;
	driver.service = engine(memory, 8);
}

static void stop(void *memory)
{
	assert_true(uvmp_service_check(driver.service));
	for (uint32_t i = 0; i < asked; i++)
		free(segment[i]);
	free(memory);
	free(text);
}

static void write_ring(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		ring.entry[ring.put++] = fault_at(i);
}

static void interrupt(void)
{
	if (!ring.is_masked)
		top_half(&driver, 1);
	while (queued > 0) {
		queued--;
		bottom_half(&driver);
	}
}

/* -- tests -- */

static void test_log_is_the_engines(void **state)
{
	void *memory, *other_memory;
	struct uvmp_service *service;
	const struct uvmp_action *action;
	char *driven;
	size_t driven_length;

	(void)state;
	start(&memory);
	write_ring(40);
	interrupt();
	assert_int_equal(ring.get, ring.put);
	assert_false(ring.is_masked);
	assert_true(driver.segments > 0); /* it looked ahead */
	assert_int_equal(freed, 0);
	driven = text;
	driven_length = length;

	text = calloc(1, LOG);
	length = 0;
	service = engine(&other_memory, 8);
	for (uint32_t i = 0; i < 40; i++) {
		struct uvmp_fault fault = fault_at(i);

		assert_int_equal(uvmp_service_fault(service, 1, &fault), UVMP_OK);
	}
	while (uvmp_service_next(service, 100000, &action) == UVMP_OK) {
		note(action);
		assert_int_equal(uvmp_service_complete(service, action->id, UVMP_OK), UVMP_OK);
	}
	assert_true(length > 10000); /* a lot was decided: evictions too */
	assert_non_null(strstr(text, " evict "));
	assert_int_equal(length, driven_length);
	assert_memory_equal(text, driven, length);
	free(driven);
	free(other_memory);
	stop(memory);
}

/* More faults than the engine's buffer has room for (64): the rest waits in the ring, and is not lost. */
static void test_ring_longer_than_the_engines_buffer(void **state)
{
	struct uvmp_service_counts counts = {.size = sizeof(counts)};
	void *memory;

	(void)state;
	start(&memory);
	write_ring(300);
	interrupt();
	assert_int_equal(ring.get, 300);
	assert_false(ring.is_masked);
	assert_int_equal(uvmp_service_count(driver.service, 1, &counts), UVMP_OK);
	assert_true(counts.faults > 0);
	stop(memory);
}

/* A fault that comes when all is done, while its interrupt is still masked. */
static void test_no_interrupt_is_lost(void **state)
{
	struct uvmp_fault late = fault_at(9000);
	struct uvmp_page_state page = {.size = sizeof(page)};
	void *memory;

	(void)state;
	start(&memory);
	write_ring(1);
	is_one_late = true;
	interrupt();
	assert_false(is_one_late);
	assert_int_equal(uvmp_service_page(driver.service, SPACE, late.address, &page), UVMP_OK);
	assert_int_equal(page.resident, 2);
	stop(memory);
}

static void test_cpu_fault(void **state)
{
	struct uvmp_fault first = fault_at(0);
	struct uvmp_page_state page = {.size = sizeof(page)};
	struct waiter waiter = {0};
	char done[64];
	void *memory;

	(void)state;
	start(&memory);
	write_ring(1);
	interrupt();
	assert_int_equal(cpu_fault(&driver, SPACE, first.address, true, 5, &waiter), UVMP_OK);
	assert_int_equal(queued, 1);
	interrupt();
	assert_int_equal(uvmp_service_page(driver.service, SPACE, first.address, &page), UVMP_OK);
	assert_int_equal(page.resident, 1);
	(void)snprintf(done, sizeof(done), "ticket=%u\n", (unsigned int)waiter.ticket);
	assert_non_null(strstr(text, done));
	stop(memory);
}

/* -- memory -- */

static uint64_t arena_bytes(void)
{
	struct uvmp_service_memory memory = {.size = sizeof(memory)};

	uvmp_service_memory_used(driver.service, &memory);
	return memory.bytes;
}

/* Pieces of the smallest size: many of them are no room. */
static void add_segments(void **small, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		small[i] = aligned_alloc(16, 4096);
		assert_int_equal(uvmp_service_grow(driver.service, small[i], 4096), UVMP_OK);
	}
}

static void free_segments(void **small, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		free(small[i]);
}

/* The arena doubles, from what it was at the beginning. What cannot be had is asked for again, and no larger.
 */
static void test_arena_doubles(void **state)
{
	uint64_t first;
	void *memory;

	(void)state;
	start(&memory);
	first = arena_bytes();
	is_memory_short = true;
	write_ring(40);
	interrupt();
	assert_true(asked > 1);
	assert_int_equal(asked_bytes, first);
	assert_int_equal(driver.segments, 0);
	assert_int_equal(arena_bytes(), first);
	is_memory_short = false;
	asked = 0;
	keep_room(&driver);
	assert_int_equal(driver.segments, 1);
	assert_int_equal(asked_bytes, first);
	assert_int_equal(arena_bytes(), 2 * first);
	stop(memory);
}

/* The seventh segment after the first is the last: the engine requests no further segment, even without
 * memory. */
static void test_arena_has_eight_segments(void **state)
{
	void *memory, *small[6];

	(void)state;
	start(&memory);
	add_segments(small, 6);
	driver.segments = 6;
	is_memory_short = true;
	keep_room(&driver);
	keep_room(&driver);
	assert_int_equal(asked, 2);
	is_memory_short = false;
	keep_room(&driver);
	assert_int_equal(asked, 3);
	assert_int_equal(driver.segments, 7);
	write_ring(300);
	interrupt();
	assert_int_equal(asked, 3);
	assert_int_equal(freed, 0);
	stop(memory);
	free_segments(small, 6);
}

/* A segment that the engine does not take is not lost. */
static void test_refused_segments_are_freed(void **state)
{
	void *memory, *small[7];
	uint64_t bytes;

	(void)state;
	start(&memory);
	add_segments(small, 7);
	bytes = arena_bytes();
	write_ring(40);
	interrupt();
	assert_true(asked > 1);
	assert_int_equal(freed, asked);
	assert_int_equal(driver.segments, 0);
	assert_int_equal(arena_bytes(), bytes);
	assert_int_equal(asked_bytes, bytes);
	stop(memory);
	free_segments(small, 7);
}

/* -- time -- */

static void bounce(void)
{
	struct uvmp_fault fault = fault_at(0);
	struct waiter waiter = {0};

	ring.entry[ring.put++] = fault;
	interrupt();
	now_ns += 100000;
	if (driver.timer.at_ns != 0)
		return;
	assert_int_equal(cpu_fault(&driver, SPACE, fault.address, true, 5, &waiter), UVMP_OK);
	interrupt();
	now_ns += 100000;
}

/* A page thrashes until it is pinned. From then on there are no faults; only the timer ends the pin, and it
 * is not set again. */
static void test_time_alone_unpins(void **state)
{
	struct uvmp_page_state page = {.size = sizeof(page)};
	void *memory;

	(void)state;
	start(&memory);
	for (uint32_t i = 0; i < 100 && driver.timer.at_ns == 0; i++)
		bounce();
	assert_true(driver.timer.at_ns > now_ns - 200000);
	assert_int_equal(uvmp_service_page(driver.service, SPACE, fault_at(0).address, &page), UVMP_OK);
	assert_true(page.is_pinned);
	now_ns = driver.timer.at_ns;
	driver.timer.at_ns = 0;
	length = 0;
	time_has_come(&driver);
	assert_int_equal(queued, 1);
	assert_int_equal(length, 0); /* not in the interrupt */
	interrupt();
	text[length] = '\0';
	assert_non_null(strstr(text, " unpin "));
	assert_int_equal(uvmp_service_page(driver.service, SPACE, fault_at(0).address, &page), UVMP_OK);
	assert_false(page.is_pinned);
	assert_int_equal(driver.timer.at_ns, 0);
	stop(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_log_is_the_engines),
	        cmocka_unit_test(test_ring_longer_than_the_engines_buffer),
	        cmocka_unit_test(test_no_interrupt_is_lost),
	        cmocka_unit_test(test_cpu_fault),
	        cmocka_unit_test(test_arena_doubles),
	        cmocka_unit_test(test_arena_has_eight_segments),
	        cmocka_unit_test(test_refused_segments_are_freed),
	        cmocka_unit_test(test_time_alone_unpins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
