/* Recorded rows of a source are those of the source, in another process too. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared_rows.h"

static const char text[] = "uvmp-trace 1\n"
			   "# uvmp-run memory=33\n"
			   "range,0x200000000,8388608,a\n"
			   "5,3,r,0x200000000\n"
			   ",cpu,w,0x200001000\n"
			   "kernel,k\n"
			   "7,1048575,p,0x2007ff000\n"
			   "prefetch,gpu,0x200000000,4096\n"
			   "advise,preferred,none,0x200000000,8192\n"
			   "batch\n"
			   "free,0x200000000\n";
static char error[SOURCE_ERROR_MAX];

static struct source *open_trace(void)
{
	FILE *in = fmemopen((void *)(uintptr_t)text, sizeof(text) - 1u, "r");
	struct source *source;

	assert_non_null(in);
	source = trace_open_stream(in, "a trace", error);
	assert_non_null(source);
	return source;
}

static struct source *open_workload(void)
{
	struct source *source = workload_open("bfs:scale=13", 3, error);

	assert_non_null(source);
	source->wants_bytes = true;
	return source;
}

/* Of an access, fields that are not its own are unspecified. */
static bool is_same(const struct source_row *a, const struct source_row *b)
{
	if (a->kind != SOURCE_ACCESS || b->kind != SOURCE_ACCESS)
		return memcmp(a, b, sizeof(*a)) == 0;
	return a->has_time == b->has_time && a->time_ns == b->time_ns && a->is_cpu == b->is_cpu && a->agent == b->agent &&
	       a->access == b->access && a->address == b->address && a->access_bytes == b->access_bytes;
}

/* Rows until and including a second END. 0: a row differs. */
static uint32_t compare(struct source *a, struct source *b)
{
	static struct source_row row[2];
	uint32_t rows = 0;

	for (uint32_t ends = 0; ends < 2; rows++) {
		a->next(a, &row[0]);
		b->next(b, &row[1]);
		if (!is_same(&row[0], &row[1]))
			return 0;
		ends += row[0].kind == SOURCE_END;
	}
	return rows;
}

static void read_all(struct source *source)
{
	static struct source_row row;

	do
		source->next(source, &row);
	while (row.kind != SOURCE_END);
	source->close(source);
}

/* In a process of its own: records the source, although another run opens it, too. */
static void record(struct shared_rows *rows, struct source *(*open)(void))
{
	struct source *source = open(), *second = open();

	shared_rows_record(rows, 1, source);
	shared_rows_record(rows, 1, second);
	second->close(second);
	if (shared_rows_source(rows, 1))
		_exit(1);
	read_all(source);
	_exit(0);
}

static void check(struct source *(*open)(void), uint32_t least)
{
	struct shared_rows *rows = shared_rows_open(2);
	struct source *again, *copy;
	int status = 0;
	pid_t child;

	assert_non_null(rows);
	assert_null(shared_rows_source(rows, 1));
	child = fork();
	if (child == 0)
		record(rows, open);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	again = open();
	copy = shared_rows_source(rows, 1);
	assert_non_null(copy);
	assert_string_equal(copy->name, again->name);
	assert_true(compare(again, copy) >= least);
	assert_string_equal(copy->recorded_policy, again->recorded_policy);
	assert_int_equal(copy->recorded_bytes, again->recorded_bytes);
	assert_int_equal(copy->line != 0, again->line != 0);
	assert_null(shared_rows_source(rows, 0));
	again->close(again);
	copy->close(copy);
	shared_rows_drop(rows, 1);
	assert_null(shared_rows_source(rows, 1));
	shared_rows_close(rows);
}

static void rows_of_a_trace(void **state)
{
	(void)state;
	check(open_trace, 11);
}

static void rows_of_a_workload(void **state)
{
	(void)state;
	check(open_workload, 10000);
}

/* A source that is closed in the middle can be recorded again. */
static void half_a_source_is_not_recorded(void **state)
{
	struct shared_rows *rows = shared_rows_open(1);
	struct source *source = open_trace(), *copy;
	static struct source_row row;

	(void)state;
	shared_rows_record(rows, 0, source);
	source->next(source, &row);
	source->close(source);
	assert_null(shared_rows_source(rows, 0));
	source = open_trace();
	shared_rows_record(rows, 0, source);
	read_all(source);
	copy = shared_rows_source(rows, 0);
	assert_non_null(copy);
	source = open_trace();
	assert_true(compare(source, copy) >= 11);
	source->close(source);
	copy->close(copy);
	shared_rows_close(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_a_trace),
		cmocka_unit_test(rows_of_a_workload),
		cmocka_unit_test(half_a_source_is_not_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
