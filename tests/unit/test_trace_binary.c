/* Tests of the binary trace format: its very bytes, and for each malformed file one error that names the offset. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "source.h"
#include "trace_binary.h"
#include "trace_write.h"

#define BYTES_MOST 4096u
#define BASE	   UINT64_C(0x200000)

static char error[SOURCE_ERROR_MAX];

/* A trace in the making. */
static struct {
	struct trace_binary binary;
	char bytes[BYTES_MOST], *end;
} made;

static void begin_sized(bool is_sized)
{
	memset(&made, 0, sizeof(made));
	made.end = trace_binary_header(&made.binary, made.bytes, is_sized);
}

static void begin(void)
{
	begin_sized(false);
}

static void range(const char *name)
{
	made.end = trace_binary_range(&made.binary, made.end, BASE, 0x200000, name, false);
}

static void unit(uint64_t first, uint64_t second)
{
	made.end = trace_binary_unit(&made.binary, made.end, first, second);
}

static void finish(void)
{
	made.end = trace_binary_end(&made.binary, made.end);
}

static size_t length(void)
{
	return (size_t)(made.end - made.bytes);
}

/* The first `bytes` bytes as a file: a regular one is mapped, a stream in memory is read. */
static struct source *open_bytes(size_t bytes, bool is_mapped)
{
	FILE *file = is_mapped ? tmpfile() : fmemopen(made.bytes, bytes, "rb");

	assert_non_null(file);
	if (is_mapped) {
		assert_int_equal(fwrite(made.bytes, 1, bytes, file), bytes);
		rewind(file);
	}
	return trace_open_stream(file, "t", error);
}

/* Reads to the end. Number of rows; -1: an error, which is in `error`. */
static int read_all(size_t bytes, bool is_mapped)
{
	struct source *source = open_bytes(bytes, is_mapped);
	struct source_row row = {.kind = SOURCE_SYNC};
	int rows = -1;

	if (!source)
		return -1;
	for (; row.kind != SOURCE_END && row.kind != SOURCE_BAD; rows++)
		source->next(source, &row);
	if (row.kind == SOURCE_BAD) {
		memcpy(error, source->error, SOURCE_ERROR_MAX);
		rows = -1;
	}
	source->next(source, &row);
	assert_int_equal(row.kind, rows < 0 ? SOURCE_BAD : SOURCE_END);
	source->close(source);
	return rows;
}

static void refuse(const char *message)
{
	for (int is_mapped = 0; is_mapped < 2; is_mapped++) {
		assert_int_equal(read_all(length(), is_mapped), -1);
		assert_string_equal(error, message);
	}
}

/* A header, a range, and one row, whose error is expected. */
static void refuse_row(uint64_t first, uint64_t second, const char *message)
{
	begin();
	range("data");
	unit(first, second);
	finish();
	refuse(message);
}

/* -- good traces -- */

static void put_rows(bool is_sized)
{
	struct trace_access read = {.time_ns = UINT64_C(1) << 40, .address = BASE, .agent = 7, .has_time = true,
				    .access = UVMP_ACCESS_READ, .bytes = 4096};
	struct trace_access write = {.address = BASE + 4096, .is_cpu = true, .access = UVMP_ACCESS_WRITE};

	begin_sized(is_sized);
	made.end = trace_binary_comment(&made.binary, made.end, "# made", 6);
	range("data");
	made.end = trace_binary_kernel(&made.binary, made.end, "a name of seventeen");
	made.end = trace_binary_access(&made.binary, made.end, &read);
	made.end = trace_binary_access(&made.binary, made.end, &write);
	made.end = trace_binary_part(&made.binary, made.end, TRACE_BINARY_PREFETCH | TRACE_BINARY_TO_GPU, BASE, 4096);
	made.end = trace_binary_single(&made.binary, made.end, TRACE_BINARY_BATCH, 0);
	made.end = trace_binary_single(&made.binary, made.end, TRACE_BINARY_SYNC, 0);
	made.end = trace_binary_part(&made.binary, made.end, TRACE_BINARY_FREE_PART, BASE, 4096);
	made.end = trace_binary_single(&made.binary, made.end, TRACE_BINARY_FREE, BASE + 4096);
	finish();
}

static void rows_are_read(void **state)
{
	(void)state;
	for (int is_sized = 0; is_sized < 2; is_sized++) {
		put_rows(is_sized);
		assert_int_equal(read_all(length(), false), 9);
		assert_int_equal(read_all(length(), true), 9);
	}
}

/* docs/uvmsim.md shows these bytes. */
static void the_very_bytes(void **state)
{
	static const unsigned char want[] = {
		0xf5, 'u', 'v', 'm', 'p', 't', '\r', '\n', 1, 0, 0, 0, 4, 3, 2, 1,	     /* header */
		3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0,			     /* range */
		0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,			     /* its size */
		'a', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,			     /* its name */
		0x91, 5, 0, 0x80, 7, 0, 0, 0, 0x34, 0x12, 0x20, 0, 0, 0, 0, 0,		     /* 120,5,w,0x201234 */
		15, 0, 0, 0, 0, 0, 0, 0, 0x50, 0, 0, 0, 0, 0, 0, 0,			     /* end, at 80 */
	};
	struct trace_access access = {.time_ns = 120, .address = 0x201234, .agent = 5, .has_time = true,
				      .access = UVMP_ACCESS_WRITE};
	uint64_t sum = 0, sums = 0;

	(void)state;
	begin();
	range("a");
	made.end = trace_binary_access(&made.binary, made.end, &access);
	finish();
	assert_int_equal(length(), sizeof(want) + 16);
	assert_memory_equal(made.bytes, want, sizeof(want));
	for (size_t i = 0; i < sizeof(want) - 16; i += 8) {
		sum += trace_binary_read(want + i);
		sums += sum;
	}
	assert_true(trace_binary_read(made.end - 16) == sum);
	assert_true(trace_binary_read(made.end - 8) == sums);
}

/* The first row of a trace that reads as one access behind its range. */
static struct source_row read_access(void)
{
	struct source *source = open_bytes(length(), false);
	struct source_row row;

	assert_non_null(source);
	memset(&row, 0x5a, sizeof(row));
	source->next(source, &row);
	assert_int_equal(row.kind, SOURCE_RANGE);
	memset(&row, 0x5a, sizeof(row));
	source->next(source, &row);
	assert_int_equal(row.kind, SOURCE_ACCESS);
	source->close(source);
	return row;
}

/* Version 2 has 23 bits of time beside the bytes, version 1 has 36 and no bytes. A longer time takes a time row. */
static void bytes_and_times(void **state)
{
	static const uint64_t times[] = {0, 1, (1u << 23) - 1u, 1u << 23, UINT64_C(1) << 36, TRACE_ROW_TIME_MOST};
	static const uint16_t bytes[] = {0, 1, 128, 4095, 4096};

	(void)state;
	for (unsigned i = 0; i < 2u * 6u * 5u; i++) {
		bool is_sized = i % 2u != 0, is_far;
		struct trace_access access = {.time_ns = times[i / 2u % 6u], .address = BASE + 4095, .has_time = true,
					      .agent = 0xfffff, .bytes = bytes[i / 12u],
					      .access = UVMP_ACCESS_PREFETCH};
		struct source_row row;
		size_t before;

		begin_sized(is_sized);
		range("a");
		before = length();
		made.end = trace_binary_access(&made.binary, made.end, &access);
		is_far = access.time_ns >> (is_sized ? 23 : 36) != 0;
		assert_int_equal(length() - before, is_far ? 32 : 16);
		finish();
		row = read_access();
		assert_true(row.time_ns == access.time_ns && row.has_time && !row.is_cpu);
		assert_int_equal(row.access_bytes, is_sized ? access.bytes : 0);
		assert_int_equal(row.agent, 0xfffff);
		assert_int_equal(row.access, UVMP_ACCESS_PREFETCH);
		assert_true(row.address == BASE + 4095);
	}
}

/* docs/uvmsim.md shows the access of version 2, too: 120,5,w,0x201234,64. */
static void the_very_bytes_of_version_2(void **state)
{
	static const unsigned char header[] = {2, 0, 0, 0, 4, 3, 2, 1};
	static const unsigned char want[] = {0x91, 5, 0, 0, 4, 0xf0, 0, 0, 0x34, 0x12, 0x20, 0, 0, 0, 0, 0};
	struct trace_access access = {.time_ns = 120, .address = 0x201234, .agent = 5, .has_time = true,
				      .access = UVMP_ACCESS_WRITE, .bytes = 64};

	(void)state;
	begin_sized(true);
	assert_memory_equal(made.bytes + 8, header, sizeof(header));
	made.end = trace_binary_access(&made.binary, made.end, &access);
	assert_int_equal(length(), 32);
	assert_memory_equal(made.bytes + 16, want, sizeof(want));
}

/* -- damage -- */

/* A prefix is an error; the comment alone says where. */
static void every_prefix_is_an_error(void **state)
{
	(void)state;
	put_rows(true);
	for (size_t bytes = 16; bytes < length(); bytes++) {
		assert_int_equal(read_all(bytes, true), -1);
		assert_non_null(strstr(error, "t: byte "));
		assert_non_null(strstr(error, "cut off"));
		assert_int_equal(read_all(bytes, false), -1);
	}
}

/* One changed bit is an error wherever it is. */
static void every_changed_bit_is_an_error(void **state)
{
	(void)state;
	put_rows(true);
	for (size_t bit = 0; bit < 8 * length(); bit++) {
		made.bytes[bit / 8] = (char)(made.bytes[bit / 8] ^ 1 << bit % 8);
		if (read_all(length(), false) != -1)
			fail_msg("bit %zu is not noticed", bit);
		made.bytes[bit / 8] = (char)(made.bytes[bit / 8] ^ 1 << bit % 8);
	}
	assert_int_equal(read_all(length(), false), 9);
}

static void wrong_headers(void **state)
{
	(void)state;
	begin();
	finish();
	made.bytes[8] = 3;
	refuse("t: byte 8: binary traces of version 3 are unknown, the versions are 1 and 2");
	made.bytes[8] = 0;
	refuse("t: byte 8: binary traces of version 0 are unknown, the versions are 1 and 2");
	made.bytes[8] = 1;
	made.bytes[12] = 1;
	made.bytes[15] = 4;
	refuse("t: byte 12: the byte order is not little-endian");
}

static void wrong_ends(void **state)
{
	(void)state;
	begin();
	range("");
	refuse("t: byte 48: the trace has no end row: it was cut off");
	unit(TRACE_BINARY_END, 32);
	refuse("t: byte 48: the trace is cut off within this row");
	unit(0, 0);
	refuse("t: byte 48: the end row says that it is at byte 32: bytes are missing or added");
	begin();
	unit(TRACE_BINARY_END, 16);
	unit(0, 0);
	refuse("t: byte 16: the sums of the trace are wrong: bytes before have changed");
	begin();
	finish();
	unit(TRACE_BINARY_SYNC, 0);
	refuse("t: byte 16: bytes follow the end row");
}

static void wrong_rows(void **state)
{
	(void)state;
	/* the rows lie at 16 + 16 + 16 + 16 */
	refuse_row(0, 0, "t: byte 64: unknown kind of row 0");
	refuse_row(12, 0, "t: byte 64: unknown kind of row 12");
	refuse_row(TRACE_BINARY_SYNC | 16, 0, "t: byte 64: reserved bits are set: 0x0000000000000010");
	refuse_row(TRACE_BINARY_BATCH, 1, "t: byte 64: reserved bits are set in the second word");
	refuse_row(TRACE_BINARY_TIME | 16, 0, "t: byte 64: reserved bits are set: 0x0000000000000010");
	refuse_row(TRACE_BINARY_ACCESS, BASE - 1, "t: byte 64: address 0x1fffff is in no range declared so far");
	refuse_row(TRACE_BINARY_ACCESS | TRACE_BINARY_CPU | UINT64_C(1) << TRACE_BINARY_AGENT_SHIFT, BASE,
		   "t: byte 64: an access of the CPU has an agent, or one without time has a time");
	refuse_row(TRACE_BINARY_ACCESS | UINT64_C(1) << TRACE_BINARY_NS_SHIFT, BASE,
		   "t: byte 64: an access of the CPU has an agent, or one without time has a time");
	refuse_row(TRACE_BINARY_FREE, BASE + 4096, "t: byte 64: no range begins at 0x201000");
	refuse_row(TRACE_BINARY_FREE | 32, BASE, "t: byte 64: reserved bits are set: 0x0000000000000020");
	refuse_row(TRACE_BINARY_KERNEL, 0, "t: byte 64: name of the kernel is missing");
	refuse_row(TRACE_BINARY_KERNEL | UINT64_C(64) << TRACE_BINARY_VALUE_SHIFT, 0,
		   "t: byte 64: name of the kernel is longer than 63 bytes");
	refuse_row(TRACE_BINARY_KERNEL | 16, 0, "t: byte 64: reserved bits are set: 0x0000000000000010");
	refuse_row(TRACE_BINARY_KERNEL | 256, 1, "t: byte 64: reserved bits are set in the second word");
	refuse_row(TRACE_BINARY_COMMENT | UINT64_C(4097) << TRACE_BINARY_VALUE_SHIFT, 0,
		   "t: byte 64: comment longer than 4096 bytes");
	refuse_row(TRACE_BINARY_COMMENT | 16, 0, "t: byte 64: reserved bits are set: 0x0000000000000010");
	refuse_row(TRACE_BINARY_COMMENT, 1, "t: byte 64: reserved bits are set in the second word");
	refuse_row(TRACE_BINARY_END | 16, 64, "t: byte 64: reserved bits are set: 0x0000000000000010");
	refuse_row(TRACE_BINARY_RANGE | 32, 0, "t: byte 64: reserved bits are set: 0x0000000000000020");
}

/* A row of two units; the end row follows. */
static void refuse_call(uint64_t first, uint64_t address, uint64_t bytes, uint64_t behind, const char *message)
{
	begin();
	range("data");
	unit(first, address);
	unit(bytes, behind);
	finish();
	refuse(message);
}

/* In version 2 the bytes and the time are apart. */
static void wrong_sized_rows(void **state)
{
	static const struct {
		uint64_t first;
		const char *message;
	} wrong[] = {
		{UINT64_C(4097) << TRACE_BINARY_BYTES_SHIFT,
		 "t: byte 64: an access of 4097 bytes is larger than a page, 4096 bytes"},
		{UINT64_C(8191) << TRACE_BINARY_BYTES_SHIFT,
		 "t: byte 64: an access of 8191 bytes is larger than a page, 4096 bytes"},
		{UINT64_C(1) << TRACE_BINARY_SIZED_NS_SHIFT,
		 "t: byte 64: an access of the CPU has an agent, or one without time has a time"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		begin_sized(true);
		range("data");
		unit(TRACE_BINARY_ACCESS | wrong[i].first, BASE);
		finish();
		refuse(wrong[i].message);
	}
}

static void wrong_calls(void **state)
{
	const uint64_t advise = TRACE_BINARY_ADVISE, shift = TRACE_BINARY_VALUE_SHIFT;

	(void)state;
	refuse_call(TRACE_BINARY_PREFETCH, BASE + 1, 1, 0,
		    "t: byte 64: address 0x200001 is not a multiple of 4096");
	refuse_call(TRACE_BINARY_PREFETCH, BASE, 0, 0, "t: byte 64: size of 0 bytes");
	refuse_call(TRACE_BINARY_PREFETCH, BASE, 0x200001, 0,
		    "t: byte 64: 2097153 bytes from 0x200000 on are not all in ranges declared so far");
	refuse_call(TRACE_BINARY_PREFETCH, BASE, 1, 1, "t: byte 64: reserved bits are set behind the size");
	refuse_call(TRACE_BINARY_PREFETCH | 32, BASE, 1, 0,
		    "t: byte 64: reserved bits are set: 0x0000000000000020");
	refuse_call(TRACE_BINARY_FREE_PART, BASE, 4097, 0, "t: byte 64: size 4097 is not a multiple of 4096");
	refuse_call(advise | UINT64_C(7) << shift, BASE, 1, 0, "t: byte 64: advice 7 is above 6");
	refuse_call(advise | (uint64_t)UVMP_ADVISE_ACCESSED_BY << shift | TRACE_BINARY_TO_NONE, BASE, 1, 0,
		    "t: byte 64: advice `accessed-by` does not go with this processor");
	refuse_call(advise | TRACE_BINARY_TO_GPU | TRACE_BINARY_TO_NONE, BASE, 1, 0,
		    "t: byte 64: advice `preferred` does not go with this processor");
	refuse_call(advise | (uint64_t)UVMP_ADVISE_DISCARD << shift | TRACE_BINARY_TO_GPU, BASE, 1, 0,
		    "t: byte 64: advice `discard` does not go with this processor");
	refuse_call(TRACE_BINARY_RANGE, BASE, 4096, 0, "t: byte 64: range overlaps the range at 0x200000");
	refuse_call(TRACE_BINARY_RANGE, 1, 4096, 0, "t: byte 64: base 0x1 is not a multiple of 4096");
	refuse_call(TRACE_BINARY_RANGE | UINT64_C(32) << shift, 0, 4096, 0,
		    "t: byte 64: name of the range is longer than 31 bytes");
	refuse_call(TRACE_BINARY_KERNEL | 256, 0, ',', 0,
		    "t: byte 64: name of the kernel holds a byte that is not printable ASCII, or a comma");
	refuse_call(TRACE_BINARY_KERNEL | 256, 0, 'a', 1, "t: byte 64: byte 8 of the text is 0x01");
	refuse_call(TRACE_BINARY_COMMENT | 256, 0, '\n', 0, "t: byte 64: byte 0 of the text is 0x0a");
}

static void the_clock_ends(void **state)
{
	(void)state;
	begin();
	range("data");
	unit(TRACE_BINARY_TIME, TRACE_ROW_TIME_MOST);
	unit(TRACE_BINARY_ACCESS | TRACE_BINARY_TIMED | UINT64_C(1) << TRACE_BINARY_NS_SHIFT, BASE);
	finish();
	refuse("t: byte 80: time 9223372036854775808 is above 9223372036854775807 ns");
	begin();
	range("data");
	unit(TRACE_BINARY_TIME, TRACE_ROW_TIME_MOST);
	unit(TRACE_BINARY_TIME, UINT64_MAX);
	finish();
	refuse("t: byte 80: the time does not fit 64 bits");
}

/* -- the writer -- */

static void time_does_not_go_back(void **state)
{
	struct source_row row = {.kind = SOURCE_ACCESS, .has_time = true, .time_ns = 9, .access = UVMP_ACCESS_READ};
	FILE *file = tmpfile();
	struct trace_writer *writer;

	(void)state;
	assert_non_null(file);
	writer = trace_write_open(file, "t", TRACE_WRITE_BINARY, NULL, error);
	assert_non_null(writer);
	assert_true(trace_write_row(writer, &row, error));
	row.time_ns = 8;
	assert_false(trace_write_row(writer, &row, error));
	assert_string_equal(error, "t: time goes backwards, from 9 to 8");
	row.time_ns = UINT64_MAX;
	assert_false(trace_write_row(writer, &row, error));
	assert_string_equal(error, "t: time 18446744073709551615 is above 9223372036854775807 ns");
	trace_write_abandon(writer);
	fclose(file);
}

/* A comment is handed on as it was, in both forms; what it says of the recording is known. */
static char heard[64];

static void hear(void *context, const char *text, size_t bytes)
{
	assert_ptr_equal(context, heard);
	assert_true(bytes < sizeof(heard));
	memcpy(heard, text, bytes);
	heard[bytes] = '\0';
}

static void comments_go_through(void **state)
{
	static const char said[] = "# import nvprof, faults only";

	(void)state;
	for (unsigned form = 0; form <= TRACE_WRITE_BINARY; form += TRACE_WRITE_BINARY) {
		FILE *file = tmpfile();
		struct trace_writer *writer;
		struct source *source;
		struct source_row row;

		assert_non_null(file);
		writer = trace_write_open(file, "t", form, NULL, error);
		assert_non_null(writer);
		assert_true(trace_write_comment(writer, said, strlen(said), error));
		assert_true(trace_write_close(writer, error));
		rewind(file);
		source = trace_open_stream(file, "t", error);
		assert_non_null(source);
		source->comment = hear;
		source->comment_context = heard;
		heard[0] = '\0';
		source->next(source, &row);
		assert_int_equal(row.kind, SOURCE_END);
		assert_string_equal(heard, said);
		assert_true(source->has_faults_only);
		source->close(source);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_read),	      cmocka_unit_test(the_very_bytes),
		cmocka_unit_test(every_prefix_is_an_error),   cmocka_unit_test(every_changed_bit_is_an_error),
		cmocka_unit_test(wrong_headers),	      cmocka_unit_test(wrong_ends),
		cmocka_unit_test(wrong_rows),		      cmocka_unit_test(wrong_calls),
		cmocka_unit_test(the_clock_ends),	      cmocka_unit_test(time_does_not_go_back),
		cmocka_unit_test(comments_go_through),	      cmocka_unit_test(the_very_bytes_of_version_2),
		cmocka_unit_test(bytes_and_times),	      cmocka_unit_test(wrong_sized_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
