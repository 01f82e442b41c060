/* Tests of the trace writer: what it has written reads back as the same rows, and what it could not write is
 * an error. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "packer.h"
#include "source.h"
#include "support/seed.h"
#include "trace_row.h"
#include "trace_write.h"
#include "uvmpolicy/uvmpolicy.h"

static char error[SOURCE_ERROR_MAX];

static struct source_row next(struct source *source)
{
	struct source_row row;

	memset(&row, 0, sizeof(row));
	source->next(source, &row);
	return row;
}

/* Bytes of accesses do not come back from a trace without them (version 1). */
static void assert_same(const struct source_row *a, const struct source_row *b, unsigned form)
{
	assert_int_equal(a->kind, b->kind);
	if (a->kind == SOURCE_ACCESS) {
		assert_int_equal(a->has_time, b->has_time);
		assert_int_equal(a->has_time ? a->time_ns : 0, b->has_time ? b->time_ns : 0);
		assert_int_equal(a->is_cpu, b->is_cpu);
		assert_int_equal(a->agent, b->agent);
		assert_int_equal(a->access, b->access);
		assert_int_equal((form & TRACE_WRITE_SIZED) != 0 ? a->access_bytes : 0, b->access_bytes);
		assert_int_equal(a->address, b->address);
	} else if (a->kind == SOURCE_KERNEL) {
		assert_string_equal(a->name, b->name);
	} else if (a->kind == SOURCE_RANGE) {
		assert_int_equal(a->range.base, b->range.base);
		assert_int_equal(a->range.bytes, b->range.bytes);
		assert_string_equal(a->range.name, b->range.name);
		assert_int_equal(a->range.is_fresh, b->range.is_fresh);
		assert_false(b->range.is_device);
	} else if (a->kind == SOURCE_FREE) {
		assert_int_equal(a->address, b->address);
		assert_int_equal(a->bytes, b->bytes);
		assert_int_equal(a->is_part, b->is_part);
	} else if (a->kind == SOURCE_PREFETCH || a->kind == SOURCE_ADVISE) {
		assert_int_equal(a->address, b->address);
		assert_int_equal(a->bytes, b->bytes);
		assert_int_equal(a->to_gpu, b->to_gpu);
		assert_int_equal(a->to_none, b->to_none);
		if (a->kind == SOURCE_ADVISE)
			assert_int_equal(a->advice, b->advice);
	}
}

static struct trace_writer *begin(FILE *file, unsigned form)
{
	struct trace_writer *writer = trace_write_open(file, "t", form, NULL, error);

	assert_non_null(writer);
	return writer;
}

static struct source *read_back(FILE *file)
{
	struct source *source;

	rewind(file);
	source = trace_open_stream(file, "t", error);
	assert_non_null(source);
	return source;
}

/* -- forms: text and binary, each also compressed, with and without bytes of accesses -- */

#define FORMS 8u

static bool is_available(unsigned form)
{
	return (form & TRACE_WRITE_PACKED) == 0 || packer_is_available();
}

/* -- workloads -- */

static const char *const specs[] = {
        "regular:bytes=2m,passes=2",  "random:bytes=1m", "sgemm:n=300", "stream:bytes=512k,passes=2,agents=7",
        "stencil:n=300,iterations=2", "bfs:scale=10",
};

#define ROWS_MOST 30000u

static void write_workload(const char *spec, FILE *file, unsigned form)
{
	struct source *source = workload_open(spec, 7, error);
	struct trace_writer *writer = begin(file, form);

	if (!source)
		fail_msg("%s", error);
	source->wants_bytes = true;
	for (unsigned i = 0; i < ROWS_MOST; i++) {
		struct source_row row = next(source);

		if (row.kind == SOURCE_END)
			break;
		assert_true(trace_write_row(writer, &row, error));
	}
	assert_true(trace_write_close(writer, error));
	source->close(source);
}

static void check_workload(const char *spec, unsigned form)
{
	struct source *workload, *trace;
	struct source_row a, b = {.kind = SOURCE_BAD};
	FILE *file = tmpfile();

	assert_non_null(file);
	write_workload(spec, file, form);
	workload = workload_open(spec, 7, error);
	assert_non_null(workload);
	workload->wants_bytes = true;
	trace = read_back(file);
	assert_int_equal(trace->has_bytes, (form & TRACE_WRITE_SIZED) != 0);
	for (unsigned i = 0; i < ROWS_MOST && b.kind != SOURCE_END; i++) {
		a = next(workload);
		b = next(trace);
		assert_same(&a, &b, form);
	}
	assert_int_equal(next(trace).kind, SOURCE_END);
	workload->close(workload);
	trace->close(trace);
}

static void workloads_come_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
		for (unsigned form = 0; form < FORMS; form++)
			if (is_available(form))
				check_workload(specs[i], form);
}

/* -- any rows -- */

enum { ROWS = 20000, RANGES = 40 };

struct maker {
	uint64_t random;
	struct source_range range[RANGES];
	bool is_rest[RANGES];   /* a part was freed */
	unsigned freed, ranges; /* the first `freed` are */
	uint64_t time_ns;
};

static uint64_t pick(struct maker *maker, uint64_t below)
{
	return uvmp_random_below(&maker->random, below);
}

static void make_name(struct maker *maker, char *name, uint64_t length)
{
	for (uint64_t i = 0; i < length; i++) {
		name[i] = (char)(' ' + pick(maker, '~' - ' ' + 1));
		name[i] = name[i] == ',' ? ';' : name[i];
	}
	name[length] = '\0';
}

static const struct source_range *pick_range(struct maker *maker)
{
	return &maker->range[maker->freed + pick(maker, maker->ranges - maker->freed)];
}

/* Ranges are of odd sizes and far from each other; the last one ends where addresses do. */
static void make_range(struct maker *maker, struct source_row *row)
{
	struct source_range *range = &maker->range[maker->ranges];
	uint64_t room = UINT64_C(1) << 58;

	row->kind = SOURCE_RANGE;
	range->base = room * maker->ranges + (pick(maker, room / 2) & ~UINT64_C(4095));
	range->bytes = 1 + pick(maker, room / 2);
	if (++maker->ranges == RANGES) {
		range->base = UINT64_MAX - 4095;
		range->bytes = 4096;
	}
	make_name(maker, range->name, pick(maker, sizeof(range->name)));
	range->is_fresh = pick(maker, 2) != 0;
	row->range = *range;
}

static void make_access(struct maker *maker, struct source_row *row)
{
	static const enum uvmp_access sorts[] = {UVMP_ACCESS_READ, UVMP_ACCESS_WRITE,
	                                         UVMP_ACCESS_ATOMIC_STRONG, UVMP_ACCESS_PREFETCH};
	const struct source_range *range = pick_range(maker);

	row->kind = SOURCE_ACCESS;
	row->has_time = pick(maker, 2) != 0;
	if (row->has_time)
		row->time_ns = maker->time_ns += pick(maker, UINT64_C(1) << pick(maker, 48));
	row->is_cpu = pick(maker, 10) == 0;
	row->agent = row->is_cpu ? 0 : (uint32_t)pick(maker, 1u << 20);
	row->access = sorts[pick(maker, 4)];
	row->address = range->base + pick(maker, range->bytes);
	row->access_bytes = pick(maker, 2) != 0 ? (uint16_t)pick(maker, TRACE_ROW_BYTES_MOST + 1u) : 0;
}

/* For part of a range; some advice names no processor, and a preferred location can be none. */
static void make_call(struct maker *maker, struct source_row *row)
{
	const struct source_range *range = pick_range(maker);

	row->kind = pick(maker, 2) != 0 ? SOURCE_PREFETCH : SOURCE_ADVISE;
	row->address = range->base + (pick(maker, range->bytes) & ~UINT64_C(4095));
	row->bytes = 1 + pick(maker, range->bytes - (row->address - range->base));
	row->to_gpu = pick(maker, 2) != 0;
	if (row->kind == SOURCE_PREFETCH)
		return;
	row->advice = (enum uvmp_advice)pick(maker, UVMP_ADVISE_DISCARD + 1u);
	row->to_none = row->advice == UVMP_ADVISE_PREFERRED && pick(maker, 3) == 0;
	if (row->to_none || row->advice > UVMP_ADVISE_NOT_ACCESSED_BY)
		row->to_gpu = false;
}

/* The upper end of a range goes, at least a page of it; the range keeps one page or more. */
static void make_part(struct maker *maker, struct source_row *row)
{
	unsigned at = maker->freed + (unsigned)pick(maker, maker->ranges - maker->freed);
	struct source_range *range = &maker->range[at];
	uint64_t pages = (range->bytes - 1) / 4096 + 1, kept;

	if (pages < 2)
		return;
	kept = 1 + pick(maker, pages - 1);
	row->kind = SOURCE_FREE;
	row->is_part = true;
	row->address = range->base + kept * 4096;
	row->bytes = (pages - kept) * 4096;
	range->bytes = kept * 4096;
	maker->is_rest[at] = true;
}

/* What is left of a range is a part of it. */
static void make_free(struct maker *maker, struct source_row *row)
{
	row->kind = SOURCE_FREE;
	row->address = maker->range[maker->freed].base;
	row->bytes = maker->range[maker->freed].bytes;
	row->is_part = maker->is_rest[maker->freed++];
}

static struct source_row make_row(struct maker *maker)
{
	struct source_row row = {.kind = SOURCE_SYNC};
	uint64_t sort = pick(maker, 200);

	if (maker->ranges == 0 || (sort == 0 && maker->ranges < RANGES)) {
		make_range(maker, &row);
	} else if (sort == 1) {
		row.kind = SOURCE_KERNEL;
		make_name(maker, row.name, 1 + pick(maker, sizeof(row.name) - 1));
	} else if (sort == 2) {
		make_call(maker, &row);
	} else if (sort == 3) {
		row.kind = SOURCE_BATCH;
	} else if (sort == 4 && maker->freed + 1 < maker->ranges) {
		make_free(maker, &row);
	} else if (sort == 5) {
		make_part(maker, &row);
	} else if (sort > 6) {
		make_access(maker, &row);
	}
	return row;
}

static struct maker *new_maker(uint64_t seed)
{
	struct maker *maker = calloc(1, sizeof(*maker));

	assert_non_null(maker);
	maker->random = seed;
	return maker;
}

static void check_rows(uint64_t seed, unsigned form)
{
	struct maker *maker = new_maker(seed);
	FILE *file = tmpfile();
	struct trace_writer *writer;
	struct source *trace;

	assert_non_null(file);
	writer = begin(file, form);
	for (unsigned i = 0; i < ROWS; i++) {
		struct source_row row = make_row(maker);

		if (!trace_write_row(writer, &row, error))
			fail_msg("%s", error);
	}
	assert_true(trace_write_close(writer, error));
	free(maker);
	maker = new_maker(seed);
	trace = read_back(file);
	for (unsigned i = 0; i < ROWS; i++) {
		struct source_row a = make_row(maker), b = next(trace);

		if (b.kind == SOURCE_BAD)
			fail_msg("%s", trace->error);
		assert_same(&a, &b, form);
	}
	assert_int_equal(next(trace).kind, SOURCE_END);
	if (trace->total != 0)
		assert_int_equal(trace->done, trace->total);
	trace->close(trace);
	free(maker);
}

static void any_rows_come_back(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		uint64_t seed = i == 0 ? 1 : test_seed();

		for (unsigned form = 0; form < FORMS; form++)
			if (is_available(form))
				check_rows(seed, form);
	}
}

/* -- bytes, and refusals -- */

static struct source_row advice(enum uvmp_advice what, bool to_gpu, bool to_none)
{
	return (struct source_row){.kind = SOURCE_ADVISE,
	                           .address = 0x200000,
	                           .bytes = 1,
	                           .to_gpu = to_gpu,
	                           .to_none = to_none,
	                           .advice = what};
}

/* One access as text. */
static void check_text(unsigned form, struct source_row row, const char *want)
{
	char got[64];
	FILE *file = tmpfile();
	struct trace_writer *writer;

	assert_non_null(file);
	writer = begin(file, form);
	assert_true(trace_write_row(writer, &row, error));
	assert_true(trace_write_close(writer, error));
	rewind(file);
	got[fread(got, 1, sizeof(got) - 1, file)] = '\0';
	assert_string_equal(got, want);
	fclose(file);
}

/* Version 1 leaves the bytes out, version 2 those that are not known. */
static void bytes_of_an_access(void **state)
{
	struct source_row row = {.kind = SOURCE_ACCESS, .agent = 3, .access = UVMP_ACCESS_READ, .address = 0x1000};

	(void)state;
	check_text(0, row, "uvmp-trace 1\n,3,r,0x1000\n");
	check_text(TRACE_WRITE_SIZED, row, "uvmp-trace 2\n,3,r,0x1000\n");
	row.access_bytes = 4096;
	check_text(0, row, "uvmp-trace 1\n,3,r,0x1000\n");
	check_text(TRACE_WRITE_SIZED, row, "uvmp-trace 2\n,3,r,0x1000,4096\n");
}

static void the_very_bytes(void **state)
{
	static const char want[] = "uvmp-trace 1\n"
	                           "# made up\n"
	                           "range,0x200000,8192,a b\n"
	                           "range,0x400000,1\n"
	                           "kernel,k<int>\n"
	                           "0,0,r,0x200000\n"
	                           ",1048575,w,0x201fff\n"
	                           "9223372036854775807,cpu,a,0x400000\n"
	                           "range,0x600000,1,c,fresh\n"
	                           "range,0x800000,1,,fresh\n"
	                           "prefetch,gpu,0x200000,8192\n"
	                           "prefetch,cpu,0x201000,1\n"
	                           "advise,preferred,gpu,0x200000,1\n"
	                           "advise,preferred,none,0x200000,1\n"
	                           "advise,accessed-by,cpu,0x200000,1\n"
	                           "advise,not-accessed-by,gpu,0x200000,1\n"
	                           "advise,read-duplicate,,0x200000,1\n"
	                           "advise,no-duplicate,,0x200000,1\n"
	                           "advise,unset-duplicate,,0x200000,1\n"
	                           "advise,discard,,0x200000,1\n"
	                           "sync\n"
	                           "free,0x201000,4096\n"
	                           "free,0x400000\n";
	struct source_row rows[] = {
	        {.kind = SOURCE_RANGE, .range = {.base = 0x200000, .bytes = 8192, .name = "a b"}},
	        {.kind = SOURCE_RANGE, .range = {.base = 0x400000, .bytes = 1}},
	        {.kind = SOURCE_KERNEL, .name = "k<int>"},
	        {.kind = SOURCE_ACCESS, .has_time = true, .access = UVMP_ACCESS_READ, .address = 0x200000},
	        {.kind = SOURCE_ACCESS, .agent = 1048575, .access = UVMP_ACCESS_WRITE, .address = 0x201fff},
	        {.kind = SOURCE_ACCESS,
	         .has_time = true,
	         .time_ns = INT64_MAX,
	         .is_cpu = true,
	         .access = UVMP_ACCESS_ATOMIC_STRONG,
	         .address = 0x400000},
	        {.kind = SOURCE_RANGE,
	         .range = {.base = 0x600000, .bytes = 1, .name = "c", .is_fresh = true}},
	        {.kind = SOURCE_RANGE, .range = {.base = 0x800000, .bytes = 1, .is_fresh = true}},
	        {.kind = SOURCE_PREFETCH, .to_gpu = true, .address = 0x200000, .bytes = 8192},
	        {.kind = SOURCE_PREFETCH, .address = 0x201000, .bytes = 1},
	        advice(UVMP_ADVISE_PREFERRED, true, false),
	        advice(UVMP_ADVISE_PREFERRED, false, true),
	        advice(UVMP_ADVISE_ACCESSED_BY, false, false),
	        advice(UVMP_ADVISE_NOT_ACCESSED_BY, true, false),
	        advice(UVMP_ADVISE_READ_DUPLICATE, true, true), /* processors do not matter */
	        advice(UVMP_ADVISE_NO_DUPLICATE, false, false),
	        advice(UVMP_ADVISE_UNSET_DUPLICATE, false, false),
	        advice(UVMP_ADVISE_DISCARD, false, false),
	        {.kind = SOURCE_SYNC},
	        {.kind = SOURCE_FREE, .address = 0x201000, .bytes = 4096, .is_part = true},
	        {.kind = SOURCE_FREE, .address = 0x400000, .bytes = 1},
	};
	char got[sizeof(want) + 1];
	FILE *file = tmpfile();
	struct trace_writer *writer;

	(void)state;
	assert_non_null(file);
	writer = trace_write_open(file, "t", 0, "made up", error);
	assert_non_null(writer);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_true(trace_write_row(writer, &rows[i], error));
	assert_true(trace_write_close(writer, error));
	rewind(file);
	assert_int_equal(fread(got, 1, sizeof(got), file), sizeof(want) - 1);
	assert_memory_equal(got, want, sizeof(want) - 1);
	fclose(file);
}

static void refuse(struct source_row row, const char *message)
{
	FILE *file = tmpfile();
	struct trace_writer *writer;

	assert_non_null(file);
	writer = begin(file, 0);
	assert_false(trace_write_row(writer, &row, error));
	assert_string_equal(error, message);
	trace_write_abandon(writer);
	fclose(file);
}

static void what_cannot_be_read_is_not_written(void **state)
{
	(void)state;
	refuse((struct source_row){.kind = SOURCE_KERNEL, .name = "f(a,b)"},
	       "t: the name of a kernel cannot stand in a trace");
	refuse((struct source_row){.kind = SOURCE_KERNEL}, "t: the name of a kernel cannot stand in a trace");
	refuse((struct source_row){.kind = SOURCE_RANGE,
	                           .range = {.base = 0x1000, .bytes = 1, .name = "a\nb"}},
	       "t: the name of the range at 0x1000 cannot stand in a trace");
	refuse((struct source_row){.kind = SOURCE_RANGE,
	                           .range = {.base = 0x1000, .bytes = 1, .is_device = true}},
	       "t: the range at 0x1000 is not managed and cannot stand in a trace");
	refuse((struct source_row){.kind = SOURCE_PREFETCH, .address = 0x1001, .bytes = 1},
	       "t: 1 bytes at 0x1001 cannot stand in a trace: no whole pages");
	refuse((struct source_row){.kind = SOURCE_PREFETCH, .address = 0x1000},
	       "t: 0 bytes at 0x1000 cannot stand in a trace: no whole pages");
	refuse((struct source_row){.kind = SOURCE_ADVISE, .address = 0x1001, .bytes = 1},
	       "t: 1 bytes at 0x1001 cannot stand in a trace: no whole pages");
	refuse((struct source_row){.kind = SOURCE_ADVISE,
	                           .address = 0x1000,
	                           .bytes = 1,
	                           .advice = (enum uvmp_advice)TRACE_ROW_ADVICES},
	       "t: this sort of advice cannot stand in a trace");
	refuse((struct source_row){.kind = SOURCE_FREE, .address = 0x1000, .bytes = 4097, .is_part = true},
	       "t: 4097 bytes at 0x1000 cannot stand in a trace: no whole pages");
	refuse((struct source_row){.kind = SOURCE_FREE, .address = 0x1001, .bytes = 4096, .is_part = true},
	       "t: 4096 bytes at 0x1001 cannot stand in a trace: no whole pages");
	refuse((struct source_row){.kind = SOURCE_FREE, .address = 0x1000, .is_part = true},
	       "t: 0 bytes at 0x1000 cannot stand in a trace: no whole pages");
	refuse((struct source_row){.kind = SOURCE_ACCESS, .agent = 1u << 20, .access = UVMP_ACCESS_READ},
	       "t: agent 1048576 is above 1048575");
	refuse((struct source_row){.kind = SOURCE_ACCESS, .access = UVMP_ACCESS_ATOMIC_WEAK},
	       "t: this sort of access cannot stand in a trace");
	refuse((struct source_row){.kind = SOURCE_ACCESS, .access = UVMP_ACCESS_NONE},
	       "t: this sort of access cannot stand in a trace");
	refuse((struct source_row){.kind = SOURCE_ACCESS, .access = UVMP_ACCESS_READ, .access_bytes = 4097},
	       "t: an access of 4097 bytes is larger than a page, 4096 bytes");
	refuse((struct source_row){.kind = SOURCE_BAD}, "t: no row to write");
}

static void full_disk(void **state)
{
	struct source_row row = {.kind = SOURCE_SYNC};

	(void)state;
	for (unsigned form = 0; form < FORMS; form++) {
		FILE *file = fopen("/dev/full", "wb");
		struct trace_writer *writer;

		if (!file)
			skip();
		if (!is_available(form)) {
			fclose(file);
			continue;
		}
		writer = begin(file, form);
		assert_true(trace_write_row(writer, &row, error)); /* still in the buffer */
		assert_false(trace_write_close(writer, error));
		assert_string_equal(error, "t: No space left on device");
		fclose(file);
	}
}

/* A long trace notices it before its end. */
static void full_disk_early(void **state)
{
	FILE *file = fopen("/dev/full", "wb");
	struct source_row row = {.kind = SOURCE_SYNC};
	struct trace_writer *writer;
	unsigned i = 0;

	(void)state;
	if (!file)
		skip();
	writer = begin(file, 0);
	while (i < 100000 && trace_write_row(writer, &row, error))
		i++;
	assert_true(i < 100000);
	assert_string_equal(error, "t: No space left on device");
	trace_write_abandon(writer);
	fclose(file);
}

static void without_zstd(void **state)
{
	(void)state;
	if (packer_is_available())
		skip();
	assert_null(trace_write_open(stdout, "t.zst", TRACE_WRITE_PACKED, NULL, error));
	assert_string_equal(error, "t.zst: cannot be compressed: this program was built without zstd");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(workloads_come_back), cmocka_unit_test(any_rows_come_back),
	        cmocka_unit_test(the_very_bytes),      cmocka_unit_test(what_cannot_be_read_is_not_written),
	        cmocka_unit_test(full_disk),           cmocka_unit_test(full_disk_early),
	        cmocka_unit_test(without_zstd),        cmocka_unit_test(bytes_of_an_access),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
