/* The host kit decides as the simulator: the same program through both gives the same decision log, time stamps included.
 * The program's rows are taken where the simulator takes them: when a bottom half has ended. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <uvmpolicy/host.h>

#include "source.h"
#include "stalled.h"
#include "untimed.h"

#define AGENTS 4096u

/* A program whose threads stall and go on, as untimed.c runs it. */
struct program {
	struct source *source;
	struct source_row row;
	bool has_row, has_ended, is_waiting; /* for a request, or a fault of the CPU */
	bool is_busy; /* a bottom half runs */
	bool is_stalled[AGENTS];
	uint32_t stalled;
	uint64_t replays;
	struct uvmp_host *host;
	FILE *log;
};

static void stall(struct program *p)
{
	p->is_stalled[p->row.agent] = true;
	p->stalled++;
	assert_int_equal(uvmp_host_fault(p->host, p->row.agent, p->row.address, p->row.access, 0), UVMP_OK);
}

/* True: the row is done. */
static bool use_page(struct program *p)
{
	const struct source_row *row = &p->row;
	uint32_t processor = row->is_cpu ? UVMP_CPU : 1u;

	if (row->is_cpu ? p->stalled != 0 : p->is_stalled[row->agent])
		return false;
	if (uvmp_host_is_mapped(p->host, processor, row->address, row->access)) {
		assert_int_equal(uvmp_host_access(p->host, processor, row->address, row->access), UVMP_OK);
		return true;
	}
	if (!row->is_cpu) {
		stall(p);
		return true;
	}
	p->is_waiting = true;
	assert_int_equal(uvmp_host_fault_on(p->host, UVMP_CPU, 0, row->address, row->access, 0), UVMP_OK);
	return true;
}

static bool request(struct program *p)
{
	if (p->stalled != 0)
		return false;
	p->is_waiting = true;
	if (p->row.kind == SOURCE_PREFETCH)
		uvmp_host_prefetch(p->host, p->row.address, p->row.bytes, p->row.to_gpu ? 1u : 0u, 0);
	else
		uvmp_host_advise(p->host, p->row.address, p->row.bytes, p->row.advice,
				 p->row.to_none ? UVMP_PROC_NONE : p->row.to_gpu ? 1u : 0u, 0);
	return true;
}

static bool take_row(struct program *p)
{
	switch (p->row.kind) {
	case SOURCE_ACCESS:
		return use_page(p);
	case SOURCE_RANGE:
		assert_int_equal(uvmp_host_add_range(p->host, p->row.range.base, p->row.range.bytes), UVMP_OK);
		return true;
	case SOURCE_PREFETCH:
	case SOURCE_ADVISE:
		return request(p);
	case SOURCE_SYNC:
		return p->stalled == 0;
	case SOURCE_END:
		p->has_ended = true;
		return false;
	default:
		assert_int_equal(p->row.kind, SOURCE_KERNEL);
		return true;
	}
}

static void take_rows(struct program *p)
{
	while (!p->is_waiting && !p->has_ended) {
		if (!p->has_row)
			p->source->next(p->source, &p->row);
		p->has_row = !take_row(p);
		if (p->has_row)
			return;
	}
}

static void replay(void *user, const struct uvmp_host_waiter *waiter)
{
	struct program *p = user;

	assert_int_equal(uvmp_host_access(p->host, waiter->processor, waiter->address, waiter->access), UVMP_OK);
	p->replays++;
	if (waiter->processor == UVMP_CPU) {
		p->is_waiting = false;
		return;
	}
	assert_true(p->is_stalled[waiter->warp]);
	p->is_stalled[waiter->warp] = false;
	p->stalled--;
}

static void done(void *user, const struct uvmp_host_done *d)
{
	struct program *p = user;

	assert_int_equal(d->status, UVMP_OK);
	p->is_waiting = false;
}

static void log_line(void *user, const char *line)
{
	struct program *p = user;

	fprintf(p->log, "%s\n", line);
	p->is_busy |= strstr(line, " batch ") != NULL;
	if (strstr(line, " done ") == NULL || strstr(line, "ticket=") != NULL)
		return;
	p->is_busy = false;
	take_rows(p);
}

/* The log of the host kit, to be freed. */
static char *run_kit(const char *workload, const char *policy, uint64_t memory_bytes, bool is_on_cpu)
{
	struct program *p = calloc(1, sizeof(*p));
	struct uvmp_host_options options = {.size = sizeof(options),
					    .memory_bytes = memory_bytes,
					    .policy = policy,
					    .is_on_cpu = is_on_cpu,
					    .seed = 1,
					    .counts_pages = true,
					    .replay_ns = STALLED_REPLAY_NS,
					    .user = p,
					    .replay = replay,
					    .done = done,
					    .log = log_line};
	char error[SOURCE_ERROR_MAX], why[UVMP_HOST_ERROR_MAX], *text = NULL;
	uint64_t now_ns = 0, next_ns;
	size_t length;

	p->source = workload_open(workload, 1, error);
	assert_non_null(p->source);
	p->host = uvmp_host_open(&options, why);
	if (!p->host)
		fail_msg("%s", why);
	p->log = open_memstream(&text, &length);
	while (!p->has_ended || p->stalled != 0) {
		take_rows(p);
		next_ns = uvmp_host_run(p->host, now_ns);
		while ((p->stalled != 0 || p->is_waiting || p->is_busy) && next_ns != UINT64_MAX) {
			now_ns = next_ns;
			next_ns = uvmp_host_run(p->host, now_ns);
		}
		assert_true(p->stalled == 0 && !p->is_waiting);
	}
	assert_true(p->replays > 0);
	assert_true(uvmp_service_check(uvmp_host_service(p->host)));
	fclose(p->log);
	uvmp_host_close(p->host);
	p->source->close(p->source);
	free(p);
	return text;
}

static char *run_simulator(const char *workload, const char *text, uint64_t memory_bytes)
{
	char error[SOURCE_ERROR_MAX] = "", *log = NULL;
	struct source *source = workload_open(workload, 1, error);
	struct uvmp_policy policy;
	struct sim_result result;
	size_t length;
	FILE *file = open_memstream(&log, &length);
	struct sim_run run = {&policy, {memory_bytes, 100}, 1, {.file = file}, 0, NULL};

	assert_non_null(source);
	assert_int_equal(uvmp_policy_parse(text, strlen(text), &policy, NULL), UVMP_OK);
	if (!untimed_run(source, &run, &result, error))
		fail_msg("%s: %s", text, error);
	source->close(source);
	fclose(file);
	return log;
}

static void compare(const char *workload, const char *policy, uint64_t memory_bytes, bool is_on_cpu)
{
	char *expected = run_simulator(workload, policy, memory_bytes);
	char *got = run_kit(workload, policy, memory_bytes, is_on_cpu);
	size_t i = 0, line = 0;

	assert_true(strlen(expected) > 1000);
	for (; expected[i] == got[i] && expected[i] != '\0'; i++)
		line = expected[i] == '\n' ? i + 1 : line;
	if (expected[i] != got[i])
		fail_msg("%s, %s: simulator\n%.300s\nhost kit\n%.300s", workload, policy, expected + line, got + line);
	free(expected);
	free(got);
}

/* remote=auto is left out: CLEAR has numbers of access counters, which each host chooses. */
static const char *const policies[] = {"",
				       "thrash=off prefetch=none",
				       "batch=32 replay=batch",
				       "replay=once",
				       "plan=overlapped",
				       "preset=uvmsmart",
				       "preset=uvmsmart evict=lru4k",
				       "evict=lru2m prefetch=density",
				       "evict=tbne prefetch=tbn",
				       "evict=lfu2m",
				       "evict=random4k prefetch=random",
				       "evict=auto prefetch=auto"};

static void test_policies(void **unused)
{
	static const struct {
		const char *name;
		bool is_on_cpu;
	} workload[] = {{"stream:bytes=2M,passes=2", true},
			   {"random:bytes=6M,passes=2,write=1", true},
			   {"random:bytes=6M,passes=2,agents=600", true}};

	(void)unused;
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++)
		for (size_t w = 0; w < sizeof(workload) / sizeof(workload[0]); w++)
			compare(workload[w].name, policies[i], (uint64_t)4 << 20, workload[w].is_on_cpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_policies)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
