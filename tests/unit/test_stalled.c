/* Tests of the queue of stalled faults. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "stalled.h"

#define MOST 8u

/* An engine whose fault buffer holds `room` faults, and pages that arrive. */
struct host {
	struct stalled_queue queue;
	struct stalled fault[MOST];
	uint64_t reported[64]; /* addresses, in the order of reports */
	uint32_t reports, room;
	uint64_t arrived; /* bit i: page i */
};

static bool report(void *context, const struct stalled *fault)
{
	struct host *host = context;

	if (host->room == 0)
		return false;
	host->room--;
	host->reported[host->reports++] = fault->address;
	return true;
}

static bool resume(void *context, const struct stalled *fault)
{
	const struct host *host = context;

	return (host->arrived >> fault->address & 1u) != 0;
}

static void open_host(struct host *host, uint32_t room)
{
	memset(host, 0, sizeof(*host));
	host->queue.fault = host->fault;
	host->queue.capacity = MOST;
	host->room = room;
}

static void add(struct host *host, uint64_t address, uint32_t gpu)
{
	struct stalled fault = {.address = address, .gpu = gpu};

	stalled_add(&host->queue, &fault, report, host);
}

static void assert_reports(struct host *host, uint32_t count, const uint64_t *want)
{
	assert_int_equal(host->reports, count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(host->reported[i], want[i]);
	host->reports = 0;
}

static void a_full_buffer(void **state)
{
	struct host host;

	(void)state;
	open_host(&host, 2);
	for (uint64_t i = 0; i < 4; i++)
		add(&host, i, 1);
	assert_reports(&host, 2, (uint64_t[]){0, 1});
	assert_int_equal(host.queue.unreported, 2);
	stalled_report(&host.queue, report, &host); /* still full */
	assert_reports(&host, 0, NULL);
	host.room = 1;
	stalled_report(&host.queue, report, &host);
	assert_reports(&host, 1, (uint64_t[]){2});
	host.room = 5;
	stalled_report(&host.queue, report, &host);
	stalled_report(&host.queue, report, &host); /* all are reported */
	assert_reports(&host, 1, (uint64_t[]){3});
	assert_int_equal(host.queue.unreported, 0);
}

/* First the faults that the buffer had no room for before the replay, then the others, each in their order. */
static void order_after_a_replay(void **state)
{
	struct host host;

	(void)state;
	open_host(&host, 3);
	for (uint64_t i = 0; i < 5; i++)
		add(&host, i, 1);
	host.reports = 0;
	host.room = 3;
	host.arrived = 1u << 1;
	stalled_replay(&host.queue, 1, resume, &host);
	assert_int_equal(host.queue.count, 4);
	assert_int_equal(host.queue.unreported, 4);
	stalled_report_again(&host.queue, report, &host);
	assert_reports(&host, 3, (uint64_t[]){3, 4, 0});
	host.room = 3;
	stalled_report(&host.queue, report, &host);
	assert_reports(&host, 1, (uint64_t[]){2});
	assert_false(stalled_is_idle(&host.queue)); /* one went on */
}

static void another_gpu_keeps_its_faults(void **state)
{
	struct host host;

	(void)state;
	open_host(&host, 8);
	add(&host, 0, 1);
	add(&host, 1, 2);
	host.reports = 0;
	host.arrived = 3;
	stalled_replay(&host.queue, 1, resume, &host);
	stalled_report_again(&host.queue, report, &host);
	assert_reports(&host, 0, NULL);
	assert_int_equal(host.queue.count, 1);
	assert_int_equal(host.queue.fault[0].gpu, 2);
	stalled_replay(&host.queue, 2, resume, &host);
	assert_int_equal(host.queue.count, 0);
}

static void removal(void **state)
{
	struct host host;

	(void)state;
	open_host(&host, 2);
	for (uint64_t i = 0; i < 4; i++)
		add(&host, i, 1);
	host.arrived = 1u << 0 | 1u << 3;
	stalled_remove(&host.queue, resume, &host);
	assert_int_equal(host.queue.count, 2);
	assert_int_equal(host.queue.unreported, 1);
	assert_int_equal(host.queue.fault[0].address, 1);
	assert_int_equal(host.queue.fault[1].address, 2);
	assert_false(stalled_is_idle(&host.queue));
}

static void idle_bottom_halves(void **state)
{
	struct host host;

	(void)state;
	open_host(&host, 2);
	assert_false(stalled_is_idle(&host.queue)); /* no fault is stalled */
	add(&host, 0, 1);
	for (uint32_t i = 1; i < STALLED_IDLE_MOST; i++) {
		assert_true(stalled_is_idle(&host.queue));
		assert_false(stalled_is_stuck(&host.queue));
	}
	assert_true(stalled_is_idle(&host.queue));
	assert_true(stalled_is_stuck(&host.queue));
	stalled_clear(&host.queue);
	assert_false(stalled_is_stuck(&host.queue));
	assert_int_equal(host.queue.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_buffer),
		cmocka_unit_test(order_after_a_replay),
		cmocka_unit_test(another_gpu_keeps_its_faults),
		cmocka_unit_test(removal),
		cmocka_unit_test(idle_bottom_halves),
	};

	return cmocka_run_group_tests_name("stalled", tests, NULL, NULL);
}
