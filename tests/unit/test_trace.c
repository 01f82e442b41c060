/* Unit tests of the trace reader: every kind of row, and bad input one by one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "source.h"

#define HEAD "uvmp-trace 1\n"
#define ONE  HEAD "range,10000,65536\n"
#define TWO  "uvmp-trace 2\nrange,10000,65536\n"

static char error[SOURCE_ERROR_MAX];

static struct source *open_bytes(const void *bytes, size_t length)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	rewind(file);
	memset(error, 0, sizeof(error));
	return trace_open_stream(file, "t.csv", error);
}

static struct source *open_text(const char *text)
{
	return open_bytes(text, strlen(text));
}

static struct source_row next(struct source *source)
{
	struct source_row row;

	memset(&row, 0x5a, sizeof(row));
	source->next(source, &row);
	return row;
}

static void assert_end(struct source *source)
{
	assert_int_equal(next(source).kind, SOURCE_END);
	assert_int_equal(next(source).kind, SOURCE_END);
	assert_string_equal(source->error, "");
	source->close(source);
}

static void assert_access(struct source *source, uint32_t agent, enum uvmp_access access, uint64_t address)
{
	struct source_row row = next(source);

	assert_int_equal(row.kind, SOURCE_ACCESS);
	assert_int_equal(row.agent, agent);
	assert_int_equal(row.access, access);
	assert_int_equal(row.address, address);
}

static void assert_range(struct source *source, uint64_t base, uint64_t bytes, const char *name)
{
	struct source_row row = next(source);

	assert_int_equal(row.kind, SOURCE_RANGE);
	assert_int_equal(row.range.base, base);
	assert_int_equal(row.range.bytes, bytes);
	assert_string_equal(row.range.name, name);
}

/* The rows must end in BAD with exactly this message, again and again; or opening must fail with it. */
static void assert_bad_source(struct source *source, const char *message)
{
	if (source == NULL) {
		assert_string_equal(error, message);
		return;
	}
	for (;;) {
		struct source_row row = next(source);

		assert_int_not_equal(row.kind, SOURCE_END);
		if (row.kind == SOURCE_BAD)
			break;
	}
	assert_string_equal(source->error, message);
	assert_int_equal(next(source).kind, SOURCE_BAD);
	assert_string_equal(source->error, message);
	source->close(source);
}

static void assert_bad(const char *text, const char *message)
{
	assert_bad_source(open_text(text), message);
}

static void every_row(void **state)
{
	struct source *source = open_text("uvmp-trace 1\n"
	                                  "# a comment, with, commas\n"
	                                  "range,0x10000,8192,matrix A\n"
	                                  "#\n"
	                                  "range,7F0000000000,1\n"
	                                  "kernel,vec add<float>\n"
	                                  "0,0,r,10000\n"
	                                  ",1048575,w,0x11FFF\n"
	                                  "5,7,a,0X7f0000000000\n"
	                                  "5,7,p,11000\n"
	                                  "sync\n");
	struct source_row row;

	(void)state;
	assert_non_null(source);
	assert_string_equal(source->name, "t.csv");
	assert_range(source, 0x10000, 8192, "matrix A");
	assert_range(source, 0x7f0000000000, 1, "");
	row = next(source);
	assert_int_equal(row.kind, SOURCE_KERNEL);
	assert_string_equal(row.name, "vec add<float>");
	row = next(source);
	assert_int_equal(row.kind, SOURCE_ACCESS);
	assert_true(row.has_time);
	assert_int_equal(row.time_ns, 0);
	assert_int_equal(row.agent, 0);
	assert_int_equal(row.access, UVMP_ACCESS_READ);
	assert_int_equal(row.address, 0x10000);
	row = next(source);
	assert_false(row.has_time);
	assert_int_equal(row.agent, 1048575);
	assert_int_equal(row.access, UVMP_ACCESS_WRITE);
	assert_int_equal(row.address, 0x11fff);
	row = next(source);
	assert_true(row.has_time);
	assert_int_equal(row.time_ns, 5);
	assert_int_equal(row.access, UVMP_ACCESS_ATOMIC_STRONG);
	assert_int_equal(row.address, 0x7f0000000000);
	assert_access(source, 7, UVMP_ACCESS_PREFETCH, 0x11000);
	assert_int_equal(next(source).kind, SOURCE_SYNC);
	assert_end(source);
}

static void ends(void **state)
{
	struct source *source;

	(void)state;
	assert_end(open_text("uvmp-trace 1"));
	assert_end(open_text(HEAD));
	/* what was cut off may have been a longer number */
	assert_bad(HEAD "# no newline", "t.csv:2: the trace ends within this line: its line feed is missing");
	assert_bad(ONE ",1,r,10000", "t.csv:3: the trace ends within this line: its line feed is missing");
	source = open_text(ONE ",1,r,10000\n");
	assert_range(source, 0x10000, 65536, "");
	assert_access(source, 1, UVMP_ACCESS_READ, 0x10000);
	assert_end(source);
}

static void first_line(void **state)
{
	(void)state;
	assert_bad("", "t.csv:1: is empty, the first line must be `uvmp-trace 1` or `uvmp-trace 2`");
	assert_bad("\n", "t.csv:1: the first line must be `uvmp-trace 1` or `uvmp-trace 2`, not ``");
	assert_bad("uvmp-trace 3\n",
	           "t.csv:1: the first line must be `uvmp-trace 1` or `uvmp-trace 2`, not `uvmp-trace 3`");
	assert_bad("uvmp-trace 1 \n", "t.csv:1: the first line must be `uvmp-trace 1` or `uvmp-trace 2`, not `uvmp-trace 1 `");
	assert_bad("# uvmp-trace 1\n",
	           "t.csv:1: the first line must be `uvmp-trace 1` or `uvmp-trace 2`, not `# uvmp-trace 1`");
	assert_bad("\x01\xff\x7f\r\n", "t.csv:1: the first line must be `uvmp-trace 1` or `uvmp-trace 2`, not `????`");
	assert_bad("uvm", "t.csv:1: the first line must be `uvmp-trace 1` or `uvmp-trace 2`, not `uvm`");
	assert_bad("0123456789012345678901234567890123456789x\n",
	           "t.csv:1: the first line must be `uvmp-trace 1` or `uvmp-trace 2`, not "
	           "`0123456789012345678901234567890123456789...`");
	assert_bad_source(open_bytes("uvmp\0trace", 10), "t.csv:1: NUL byte");
}

static void bad_rows(void **state)
{
	(void)state;
	assert_bad(HEAD "\n", "t.csv:2: empty line");
	assert_bad(HEAD "hello,1\n", "t.csv:2: unknown row `hello,1`");
	assert_bad(HEAD "ranges,0,1\n", "t.csv:2: unknown row `ranges,0,1`");
	assert_bad(HEAD " sync\n", "t.csv:2: unknown row ` sync`");
	assert_bad(HEAD "sync\x01\n", "t.csv:2: unknown row `sync?`");
	assert_bad(HEAD "sync,\n", "t.csv:2: too many fields: ``");
	assert_bad(HEAD "sync,1\n", "t.csv:2: too many fields: `1`");
	assert_bad(HEAD "kernel\n", "t.csv:2: name of the kernel is missing");
	assert_bad(HEAD "kernel,\n", "t.csv:2: name of the kernel is missing");
	assert_bad(HEAD "kernel,a,b\n", "t.csv:2: name of the kernel holds `,`, which is not a printable "
	                                "ASCII character or is a comma");
	assert_bad(HEAD "kernel,a\tb\n", "t.csv:2: name of the kernel holds `?`, which is not a printable "
	                                 "ASCII character or is a comma");
	assert_bad(HEAD "kernel,0123456789012345678901234567890123456789012345678901234567890123\n",
	           "t.csv:2: name of the kernel is longer than 63 bytes");
	assert_bad(HEAD "# fine\n-1,0,r,0\n", "t.csv:3: unknown row `-1,0,r,0`");
}

static void assert_call(struct source *source, enum source_row_kind kind, int advice, const char *processor,
                        uint64_t address, uint64_t bytes)
{
	struct source_row row = next(source);

	assert_int_equal(row.kind, kind);
	if (kind == SOURCE_ADVISE)
		assert_int_equal(row.advice, advice);
	assert_int_equal(row.to_gpu, strcmp(processor, "gpu") == 0);
	assert_int_equal(row.to_none, strcmp(processor, "none") == 0);
	assert_int_equal(row.address, address);
	assert_int_equal(row.bytes, bytes);
}

static void calls(void **state)
{
	struct source *source = open_text(HEAD "range,10000,4096\n"
	                                       "range,11000,1,b,fresh\n"
	                                       "range,12000,4097,,fresh\n"
	                                       "prefetch,gpu,0x10000,4096\n"
	                                       "prefetch,cpu,10000,16384\n"
	                                       "advise,preferred,gpu,10000,8192\n"
	                                       "advise,preferred,cpu,10000,8193\n"
	                                       "advise,preferred,none,11000,1\n"
	                                       "advise,accessed-by,gpu,12000,1\n"
	                                       "advise,not-accessed-by,cpu,12000,1\n"
	                                       "advise,read-duplicate,,12000,1\n"
	                                       "advise,no-duplicate,,12000,1\n"
	                                       "advise,unset-duplicate,,12000,1\n"
	                                       "advise,discard,,13000,4096\n");
	struct source_row row;

	(void)state;
	assert_non_null(source);
	assert_false(next(source).range.is_fresh);
	row = next(source);
	assert_true(row.range.is_fresh);
	assert_string_equal(row.range.name, "b");
	row = next(source);
	assert_true(row.range.is_fresh);
	assert_false(row.range.is_device);
	assert_string_equal(row.range.name, "");
	assert_call(source, SOURCE_PREFETCH, 0, "gpu", 0x10000, 4096);
	assert_call(source, SOURCE_PREFETCH, 0, "cpu", 0x10000, 16384); /* all that the pages hold */
	assert_call(source, SOURCE_ADVISE, UVMP_ADVISE_PREFERRED, "gpu", 0x10000, 8192);
	assert_call(source, SOURCE_ADVISE, UVMP_ADVISE_PREFERRED, "cpu", 0x10000, 8193);
	assert_call(source, SOURCE_ADVISE, UVMP_ADVISE_PREFERRED, "none", 0x11000, 1);
	assert_call(source, SOURCE_ADVISE, UVMP_ADVISE_ACCESSED_BY, "gpu", 0x12000, 1);
	assert_call(source, SOURCE_ADVISE, UVMP_ADVISE_NOT_ACCESSED_BY, "cpu", 0x12000, 1);
	assert_call(source, SOURCE_ADVISE, UVMP_ADVISE_READ_DUPLICATE, "", 0x12000, 1);
	assert_call(source, SOURCE_ADVISE, UVMP_ADVISE_NO_DUPLICATE, "", 0x12000, 1);
	assert_call(source, SOURCE_ADVISE, UVMP_ADVISE_UNSET_DUPLICATE, "", 0x12000, 1);
	assert_call(source, SOURCE_ADVISE, UVMP_ADVISE_DISCARD, "", 0x13000, 4096);
	assert_int_equal(next(source).kind, SOURCE_END);
	source->close(source);
}

static void bad_calls(void **state)
{
	(void)state;
	assert_bad(ONE "prefetch\n", "t.csv:3: processor `` is not gpu or cpu");
	assert_bad(ONE "prefetch,GPU,10000,1\n", "t.csv:3: processor `GPU` is not gpu or cpu");
	assert_bad(ONE "prefetch,none,10000,1\n", "t.csv:3: processor `none` is not gpu or cpu");
	assert_bad(ONE "prefetch,gpu\n", "t.csv:3: address is missing");
	assert_bad(ONE "prefetch,gpu,x,1\n", "t.csv:3: address `x` is not a hexadecimal number");
	assert_bad(ONE "prefetch,gpu,10000\n", "t.csv:3: size is missing");
	assert_bad(ONE "prefetch,gpu,10000,0x1\n", "t.csv:3: size `0x1` is not a decimal number");
	assert_bad(ONE "prefetch,gpu,10000,1,\n", "t.csv:3: too many fields: ``");
	assert_bad(ONE "prefetch,gpu,10000,0\n", "t.csv:3: size of 0 bytes");
	assert_bad(ONE "prefetch,gpu,10001,1\n", "t.csv:3: address 0x10001 is not a multiple of 4096");
	assert_bad(ONE "prefetch,gpu,0,1\n",
	           "t.csv:3: 1 bytes from 0x0 on are not all in ranges declared so far");
	assert_bad(ONE "prefetch,gpu,10000,1000001\n",
	           "t.csv:3: 1000001 bytes from 0x10000 on are not all in ranges declared so far");
	assert_bad(HEAD "range,1000,1\nrange,3000,1\nprefetch,gpu,1000,8193\n",
	           "t.csv:4: 8193 bytes from 0x1000 on are not all in ranges declared so far");
	assert_bad(ONE "prefetch,gpu,10000,18446744073709551615\n",
	           "t.csv:3: 18446744073709551615 bytes from 0x10000 on are not all in ranges declared so "
	           "far");
	assert_bad(ONE "advise,PREFERRED,gpu,10000,1\n",
	           "t.csv:3: advice `PREFERRED` is not one of preferred, accessed-by, not-accessed-by, "
	           "read-duplicate, no-duplicate, unset-duplicate, discard");
	assert_bad(ONE "advise,preferred,,10000,1\n", "t.csv:3: processor `` is not gpu, cpu or none");
	assert_bad(ONE "advise,accessed-by,none,10000,1\n", "t.csv:3: processor `none` is not gpu or cpu");
	assert_bad(ONE "advise,discard,gpu,10000,1\n",
	           "t.csv:3: processor `gpu` is not empty, which it is for this advice");
	assert_bad(ONE "advise,discard,,10000,0\n", "t.csv:3: size of 0 bytes");
	assert_bad(HEAD "range,1000,1,a,\n", "t.csv:2: `` after the name of the range is not `fresh`");
	assert_bad(HEAD "range,1000,1,a,b\n", "t.csv:2: `b` after the name of the range is not `fresh`");
	assert_bad(HEAD "range,1000,1,a,fresh,\n", "t.csv:2: too many fields: ``");
	assert_bad(HEAD "range,1000,1,\n", "t.csv:2: name of the range is missing");
}

static void bad_ranges(void **state)
{
	(void)state;
	assert_bad(HEAD "range\n", "t.csv:2: base is missing");
	assert_bad(HEAD "range,\n", "t.csv:2: base is missing");
	assert_bad(HEAD "range,0x\n", "t.csv:2: base `0x` is not a hexadecimal number");
	assert_bad(HEAD "range,xyz,1\n", "t.csv:2: base `xyz` is not a hexadecimal number");
	assert_bad(HEAD "range,10000000000000000,1\n",
	           "t.csv:2: base `10000000000000000` does not fit 64 bits");
	assert_bad(HEAD "range,1000\n", "t.csv:2: size of the range is missing");
	assert_bad(HEAD "range,1000,\n", "t.csv:2: size of the range is missing");
	assert_bad(HEAD "range,1000,0x10\n", "t.csv:2: size of the range `0x10` is not a decimal number");
	assert_bad(HEAD "range,1000,18446744073709551616\n",
	           "t.csv:2: size of the range `18446744073709551616` does not fit 64 bits");
	assert_bad(HEAD "range,1000,0\n", "t.csv:2: range of 0 bytes");
	assert_bad(HEAD "range,1001,1\n", "t.csv:2: base 0x1001 is not a multiple of 4096");
	assert_bad(HEAD "range,1000,18446744073709551615\n",
	           "t.csv:2: range of 18446744073709551615 bytes reaches beyond the address space");
	assert_bad(HEAD "range,1000,1,\n", "t.csv:2: name of the range is missing");
	assert_bad(HEAD "range,1000,1,01234567890123456789012345678901\n",
	           "t.csv:2: name of the range is longer than 31 bytes");
	assert_bad(ONE "range,10000,1\n", "t.csv:3: range overlaps the range at 0x10000");
	assert_bad(ONE "range,f000,4097\n", "t.csv:3: range overlaps the range at 0x10000");
	assert_bad(ONE "range,1f000,4096\n", "t.csv:3: range overlaps the range at 0x10000");
	assert_bad(ONE "range,0,1048576\n", "t.csv:3: range overlaps the range at 0x10000");
}

/* Ranges that touch, in any order, up to the very top of the address space. */
static void good_ranges(void **state)
{
	struct source *source =
	        open_text(ONE "range,20000,4096\nrange,f000,4096,below\n"
	                      "range,fffffffffffff000,4096\n"
	                      "range,0,4096\n"
	                      ",0,r,0\n,0,r,fffffffffffffFFF\n,0,r,20000\n,0,r,ffff\n,0,r,fff\n");

	(void)state;
	assert_range(source, 0x10000, 65536, "");
	assert_range(source, 0x20000, 4096, "");
	assert_range(source, 0xf000, 4096, "below");
	assert_range(source, 0xfffffffffffff000, 4096, "");
	assert_range(source, 0, 4096, "");
	assert_access(source, 0, UVMP_ACCESS_READ, 0);
	assert_access(source, 0, UVMP_ACCESS_READ, 0xffffffffffffffff);
	assert_access(source, 0, UVMP_ACCESS_READ, 0x20000);
	assert_access(source, 0, UVMP_ACCESS_READ, 0xffff);
	assert_access(source, 0, UVMP_ACCESS_READ, 0xfff);
	assert_end(source);
}

static void assert_free(struct source *source, uint64_t address, uint64_t bytes, bool is_part)
{
	struct source_row row = next(source);

	assert_int_equal(row.kind, SOURCE_FREE);
	assert_int_equal(row.address, address);
	assert_int_equal(row.bytes, bytes);
	assert_int_equal(row.is_part, is_part);
}

static void frees_and_batches(void **state)
{
	struct source *source = open_text(ONE ",0,w,10000\nbatch\nfree,0x10000\nrange,0,4096\n,0,r,fff\n"
	                                      "range,f000,8192\n,0,r,10000\n");

	(void)state;
	assert_range(source, 0x10000, 65536, "");
	assert_access(source, 0, UVMP_ACCESS_WRITE, 0x10000);
	assert_int_equal(next(source).kind, SOURCE_BATCH);
	assert_free(source, 0x10000, 65536, false);
	assert_range(source, 0, 4096, "");
	assert_access(source, 0, UVMP_ACCESS_READ, 0xfff);
	assert_range(source, 0xf000, 8192, "");
	assert_access(source, 0, UVMP_ACCESS_READ, 0x10000);
	assert_end(source);
	assert_bad(ONE "free\n", "t.csv:3: base is missing");
	assert_bad(ONE "free,\n", "t.csv:3: base is missing");
	assert_bad(ONE "free,11000\n", "t.csv:3: no range begins at 0x11000");
	assert_bad(ONE "free,20000\n", "t.csv:3: no range begins at 0x20000");
	assert_bad(ONE "batch,1\n", "t.csv:3: too many fields: `1`");
	assert_bad(ONE "free,10000\nfree,10000\n", "t.csv:4: no range begins at 0x10000");
	assert_bad(ONE "free,10000\n,0,r,10000\n", "t.csv:4: address 0x10000 is in no range declared so far");
	assert_bad(ONE "free,10000\nprefetch,gpu,10000,1\n",
	           "t.csv:4: 1 bytes from 0x10000 on are not all in ranges declared so far");
	/* a range below moves those above up in the table */
	assert_bad(ONE ",0,r,10000\nfree,10000\nrange,0,4096\n,0,r,10000\n",
	           "t.csv:6: address 0x10000 is in no range declared so far");
}

/* Parts: out of the middle, from the ends, over several ranges. What is left is a range on each side. */
static void frees_of_parts(void **state)
{
	struct source *source =
	        open_text(HEAD "range,10000,65536\nrange,20000,5000\nfree,14000,8192\n"
	                       ",0,r,13fff\n,0,r,16000\nrange,14000,8192,new,fresh\n,0,w,15fff\n"
	                       "free,1f000,8192\nfree,10000\nfree,14000\nfree,16000,36864\nfree,21000\n"
	                       "range,0x10000,1048576\nfree,10000,1048576\n");

	(void)state;
	assert_range(source, 0x10000, 65536, "");
	assert_range(source, 0x20000, 5000, "");
	assert_free(source, 0x14000, 8192, true);
	assert_access(source, 0, UVMP_ACCESS_READ, 0x13fff);
	assert_access(source, 0, UVMP_ACCESS_READ, 0x16000);
	assert_int_equal(next(source).kind, SOURCE_RANGE);
	assert_access(source, 0, UVMP_ACCESS_WRITE, 0x15fff);
	assert_free(source, 0x1f000, 8192, true); /* the end of one, the beginning of the next */
	assert_free(source, 0x10000, 16384, true);
	assert_free(source, 0x14000, 8192, false); /* as it was declared */
	assert_free(source, 0x16000, 36864, true);
	assert_free(source, 0x21000, 4096, true); /* 904 bytes of it were declared */
	assert_range(source, 0x10000, 1048576, "");
	assert_free(source, 0x10000, 1048576, true);
	assert_end(source);
}

/* A caller may copy a row or read any field: fields of other kinds are 0, also if *row held other values. */
static void assert_only(struct source_row row, struct source_row expected)
{
	assert_int_equal(row.kind, expected.kind);
	assert_int_equal(row.has_time, expected.has_time);
	assert_int_equal(row.time_ns, expected.time_ns);
	assert_int_equal(row.is_cpu, expected.is_cpu);
	assert_int_equal(row.agent, expected.agent);
	assert_int_equal(row.access, expected.access);
	assert_int_equal(row.address, expected.address);
	assert_string_equal(row.name, expected.name);
	assert_int_equal(row.bytes, expected.bytes);
	assert_int_equal(row.to_gpu, expected.to_gpu);
	assert_int_equal(row.to_none, expected.to_none);
	assert_int_equal(row.is_part, expected.is_part);
	assert_int_equal(row.advice, expected.advice);
	assert_int_equal(row.range.base, expected.range.base);
	assert_int_equal(row.range.bytes, expected.range.bytes);
	assert_string_equal(row.range.name, expected.range.name);
	assert_int_equal(row.range.is_fresh, expected.range.is_fresh);
	assert_int_equal(row.range.is_device, expected.range.is_device);
}

static void other_fields_are_0(void **state)
{
	struct source *source = open_text(ONE "prefetch,gpu,10000,4096\nadvise,preferred,none,10000,4096\n"
	                                      "kernel,k\nsync\nbatch\nfree,10000\n");

	(void)state;
	assert_only(next(source),
	            (struct source_row){.kind = SOURCE_RANGE, .range = {0x10000, 65536, "", 0, 0}});
	assert_only(next(source),
	            (struct source_row){
	                    .kind = SOURCE_PREFETCH, .address = 0x10000, .bytes = 4096, .to_gpu = true});
	assert_only(next(source), (struct source_row){.kind = SOURCE_ADVISE,
	                                              .address = 0x10000,
	                                              .bytes = 4096,
	                                              .to_none = true,
	                                              .advice = UVMP_ADVISE_PREFERRED});
	assert_only(next(source), (struct source_row){.kind = SOURCE_KERNEL, .name = "k"});
	assert_only(next(source), (struct source_row){.kind = SOURCE_SYNC});
	assert_only(next(source), (struct source_row){.kind = SOURCE_BATCH});
	assert_only(next(source),
	            (struct source_row){.kind = SOURCE_FREE, .address = 0x10000, .bytes = 65536});
	assert_only(next(source), (struct source_row){.kind = SOURCE_END});
	source->close(source);
}

static void bad_frees_of_parts(void **state)
{
	(void)state;
	assert_bad(ONE "free,10000,\n", "t.csv:3: size is missing");
	assert_bad(ONE "free,,4096\n", "t.csv:3: address is missing");
	assert_bad(ONE "free,10000,x\n", "t.csv:3: size `x` is not a decimal number");
	assert_bad(ONE "free,10000,4096,1\n", "t.csv:3: too many fields: `1`");
	assert_bad(ONE "free,10000,0\n", "t.csv:3: size of 0 bytes");
	assert_bad(ONE "free,10000,1\n", "t.csv:3: size 1 is not a multiple of 4096");
	assert_bad(ONE "free,10800,4096\n", "t.csv:3: address 0x10800 is not a multiple of 4096");
	assert_bad(ONE "free,f000,8192\n",
	           "t.csv:3: 8192 bytes from 0xf000 on are not all in ranges declared so far");
	assert_bad(ONE "free,1f000,8192\n",
	           "t.csv:3: 8192 bytes from 0x1f000 on are not all in ranges declared so far");
	assert_bad(
	        ONE "free,10000,18446744073709547520\n",
	        "t.csv:3: 18446744073709547520 bytes from 0x10000 on are not all in ranges declared so far");
	assert_bad(ONE "free,14000,8192\n,0,r,15fff\n",
	           "t.csv:4: address 0x15fff is in no range declared so far");
	assert_bad(ONE "free,14000,8192\nfree,13000,8192\n",
	           "t.csv:4: 8192 bytes from 0x13000 on are not all in ranges declared so far");
	assert_bad(ONE "free,14000,8192\nfree,14000\n", "t.csv:4: no range begins at 0x14000");
	assert_bad(ONE "free,14000,8192\nrange,14000,12288\n",
	           "t.csv:4: range overlaps the range at 0x16000");
	assert_bad(ONE "free,14000,8192\nrange,13000,8192\n", "t.csv:4: range overlaps the range at 0x10000");
}

/* Many ranges in descending and alternating order; every address is found in its own. */
static void many_ranges(void **state)
{
	const unsigned count = 300;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct source *source;

	(void)state;
	fputs(HEAD, out);
	for (unsigned i = 0; i < count; i++)
		fprintf(out, "range,%x,4096\n", 0x2000 * (i % 2 ? i : 2 * count - i));
	for (unsigned i = 0; i < count; i++)
		fprintf(out, ",%u,r,%x\n", i, 0x2000 * (i % 2 ? i : 2 * count - i) + 0xfff);
	fputs(",0,r,1000\n", out);
	fclose(out);
	source = open_text(text);
	assert_non_null(source);
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(next(source).kind, SOURCE_RANGE);
	for (unsigned i = 0; i < count; i++)
		assert_access(source, i, UVMP_ACCESS_READ, 0x2000u * (i % 2 ? i : 2 * count - i) + 0xfff);
	assert_bad_source(source, "t.csv:602: address 0x1000 is in no range declared so far");
	free(text);
}

static void carriage_returns(void **state)
{
	(void)state;
	assert_bad("uvmp-trace 1\r\n", "t.csv:1: carriage return; lines end with one line feed");
	assert_bad("uvmp-trace 2\r\n", "t.csv:1: carriage return; lines end with one line feed");
	assert_bad(HEAD "range,10000,65536\r\n", "t.csv:2: carriage return; lines end with one line feed");
	assert_bad(HEAD "# a comment\r\n", "t.csv:2: carriage return; lines end with one line feed");
}

static void too_many_ranges(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	fputs(HEAD, out);
	for (unsigned i = 0; i <= 65536; i++)
		fprintf(out, "range,%x000,1\n", i);
	fclose(out);
	assert_bad(text, "t.csv:65538: more than 65536 ranges");
	free(text);
}

static void bad_accesses(void **state)
{
	(void)state;
	assert_bad(ONE "1\n", "t.csv:3: agent is missing");
	assert_bad(ONE "1x,0,r,10000\n", "t.csv:3: time `1x` is not a decimal number");
	assert_bad(ONE "18446744073709551616,0,r,10000\n",
	           "t.csv:3: time `18446744073709551616` does not fit 64 bits");
	assert_bad(ONE "9223372036854775807,0,r,10000\n9223372036854775808,0,r,10000\n",
	           "t.csv:4: time 9223372036854775808 is above 9223372036854775807 ns");
	assert_bad(ONE ",\n", "t.csv:3: agent is missing");
	assert_bad(ONE ",,r,10000\n", "t.csv:3: agent is missing");
	assert_bad(ONE ",-1,r,10000\n", "t.csv:3: agent `-1` is not a decimal number");
	assert_bad(ONE ",1048576,r,10000\n", "t.csv:3: agent 1048576 is above 1048575");
	assert_bad(ONE ",0\n", "t.csv:3: access `` is not one of r, w, a, p");
	assert_bad(ONE ",0,x,10000\n", "t.csv:3: access `x` is not one of r, w, a, p");
	assert_bad(ONE ",0,rw,10000\n", "t.csv:3: access `rw` is not one of r, w, a, p");
	assert_bad(ONE ",0,r\n", "t.csv:3: address is missing");
	assert_bad(ONE ",0,r,\n", "t.csv:3: address is missing");
	assert_bad(ONE ",0,r,g\n", "t.csv:3: address `g` is not a hexadecimal number");
	assert_bad(ONE ",0,r,0x11111111111111111\n",
	           "t.csv:3: address `0x11111111111111111` does not fit 64 bits");
	assert_bad(ONE ",0,r,10000,\n", "t.csv:3: too many fields: ``");
	assert_bad(ONE ",0,r,10000,5\n", "t.csv:3: too many fields: `5`");
	assert_bad(ONE ",0,r,ffff\n", "t.csv:3: address 0xffff is in no range declared so far");
	assert_bad(ONE ",0,r,20000\n", "t.csv:3: address 0x20000 is in no range declared so far");
	assert_bad(HEAD ",0,r,0\n", "t.csv:2: address 0x0 is in no range declared so far");
	assert_bad(ONE ",0,r,20000\nrange,20000,1\n",
	           "t.csv:3: address 0x20000 is in no range declared so far");
	assert_bad(ONE "9,0,r,10000\n,0,r,10000\n8,0,r,10000\n", "t.csv:5: time goes backwards, from 9 to 8");
}

/* Version 2: an access may tell its bytes. */
static void access_bytes(void **state)
{
	static const struct {
		const char *row;
		uint16_t bytes;
	} good[] = {
	        {"5,0,r,10000,1", 1},      {",0,w,10fff,4096", 4096}, {",cpu,r,0x10000,128", 128},
	        {",0,p,10000", 0},         {",0,a,10000,", 0},        {",7,r,1ffff,00000000000000000000032", 32},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		char text[128];
		struct source *source;
		struct source_row row;

		snprintf(text, sizeof(text), TWO "%s\n", good[i].row);
		source = open_text(text);
		assert_non_null(source);
		assert_true(source->has_bytes);
		(void)next(source);
		row = next(source);
		assert_int_equal(row.kind, SOURCE_ACCESS);
		assert_int_equal(row.access_bytes, good[i].bytes);
		assert_end(source);
	}
	assert_bad(TWO ",0,r,10000,0\n", "t.csv:3: an access of 0 bytes: leave them out if they are not known");
	assert_bad(TWO ",0,r,10000,4097\n", "t.csv:3: an access of 4097 bytes is larger than a page, 4096 bytes");
	assert_bad(TWO ",0,r,10000,65537\n",
	           "t.csv:3: an access of 65537 bytes is larger than a page, 4096 bytes");
	assert_bad(TWO ",0,r,10000,0x10\n", "t.csv:3: size of the access `0x10` is not a decimal number");
	assert_bad(TWO ",0,r,10000,18446744073709551616\n",
	           "t.csv:3: size of the access `18446744073709551616` does not fit 64 bits");
	assert_bad(TWO ",0,r,10000,8,\n", "t.csv:3: too many fields: ``");
	assert_bad(TWO ",0,r,10000,,8\n", "t.csv:3: too many fields: `8`");
	assert_bad(TWO ",0,r,,8\n", "t.csv:3: address is missing");
	assert_bad(TWO ",0,r,20000,8\n", "t.csv:3: address 0x20000 is in no range declared so far");
}

/* Version 1 does not: the bytes are not known. */
static void no_access_bytes(void **state)
{
	struct source *source = open_text(ONE ",0,r,10000\n");
	struct source_row row;

	(void)state;
	assert_non_null(source);
	assert_false(source->has_bytes);
	(void)next(source);
	row = next(source);
	assert_int_equal(row.access_bytes, 0);
	assert_end(source);
}

/* The CPU itself is an agent too, by name. */
static void cpu_accesses(void **state)
{
	struct source *source = open_text(ONE "5,cpu,r,10000\n,cpu,w,0x10fff\n7,0,w,10000\n7,cpu,a,10000\n");
	static const struct {
		const char *word, *message;
	} wrong[] = {
	        {"CPU", "t.csv:3: agent `CPU` is not a decimal number"},
	        {"Cpu", "t.csv:3: agent `Cpu` is not a decimal number"},
	        {"cp", "t.csv:3: agent `cp` is not a decimal number"},
	        {"cpu0", "t.csv:3: agent `cpu0` is not a decimal number"},
	        {"cpu ", "t.csv:3: agent `cpu ` is not a decimal number"},
	        {" cpu", "t.csv:3: agent ` cpu` is not a decimal number"},
	        {"gpu", "t.csv:3: agent `gpu` is not a decimal number"},
	};
	struct source_row row;

	(void)state;
	row = next(source);
	assert_int_equal(row.kind, SOURCE_RANGE);
	row = next(source);
	assert_true(row.is_cpu && row.has_time);
	assert_int_equal(row.time_ns, 5);
	assert_int_equal(row.agent, 0);
	assert_int_equal(row.access, UVMP_ACCESS_READ);
	assert_int_equal(row.address, 0x10000);
	row = next(source);
	assert_true(row.is_cpu && !row.has_time);
	assert_int_equal(row.access, UVMP_ACCESS_WRITE);
	assert_int_equal(row.address, 0x10fff);
	assert_false(next(source).is_cpu);
	row = next(source);
	assert_true(row.is_cpu);
	assert_int_equal(row.access, UVMP_ACCESS_ATOMIC_STRONG);
	assert_end(source);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char text[128];

		snprintf(text, sizeof(text), ONE ",%s,r,10000\n", wrong[i].word);
		assert_bad(text, wrong[i].message);
	}
	/* the word belongs into the second field, and the rest of the row is judged as always */
	assert_bad(ONE "cpu,r,10000\n", "t.csv:3: unknown row `cpu,r,10000`");
	assert_bad(ONE "cpu,0,r,10000\n", "t.csv:3: unknown row `cpu,0,r,10000`");
	assert_bad(ONE ",cpu\n", "t.csv:3: access `` is not one of r, w, a, p");
	assert_bad(ONE ",cpu,w,20000\n", "t.csv:3: address 0x20000 is in no range declared so far");
	assert_bad(ONE "9,0,r,10000\n8,cpu,r,10000\n", "t.csv:4: time goes backwards, from 9 to 8");
}

static void long_lines(void **state)
{
	char *text = malloc(10000);
	struct source *source;

	(void)state;
	assert_non_null(text);
	/* 4096 bytes are a line, 4097 are not, with and without newline */
	for (size_t length = 4096; length <= 4097; length++)
		for (int with_newline = 0; with_newline < 2; with_newline++) {
			strcpy(text, HEAD);
			memset(text + strlen(HEAD), '#', length);
			strcpy(text + strlen(HEAD) + length, with_newline ? "\nsync\n" : "");
			if (length == 4096 && !with_newline) {
				assert_bad(text, "t.csv:2: the trace ends within this line: its line feed is "
				                 "missing");
				continue;
			}
			if (length == 4097) {
				assert_bad(text, "t.csv:2: line longer than 4096 bytes");
				continue;
			}
			source = open_text(text);
			assert_int_equal(next(source).kind, SOURCE_SYNC);
			assert_end(source);
		}
	free(text);
}

static void nul_bytes(void **state)
{
	static const char text[] = ONE ",0,r,10000\n,0,r,\0"
	                               "10000\n";

	(void)state;
	assert_bad_source(open_bytes(text, sizeof(text) - 1), "t.csv:4: NUL byte");
}

/* A line that never ends, with a count of how much was taken of it. */
static ssize_t endless(void *cookie, char *buffer, size_t size)
{
	*(size_t *)cookie += size;
	memset(buffer, 'x', size);
	return (ssize_t)size;
}

static void endless_line(void **state)
{
	size_t taken = 0;
	FILE *in = fopencookie(&taken, "r", (cookie_io_functions_t){.read = endless});

	(void)state;
	assert_non_null(in);
	assert_null(trace_open_stream(in, "pipe", error));
	assert_string_equal(error, "pipe:1: line longer than 4096 bytes");
	assert_in_range(taken, 4097, 1 << 20);
}

/* Long enough that lines straddle every refill of the buffer. */
static void many_rows(void **state)
{
	const unsigned rows = 50000;
	FILE *out = tmpfile();
	struct source *source;

	(void)state;
	assert_non_null(out);
	fputs(ONE, out);
	for (unsigned i = 0; i < rows; i++)
		fprintf(out, "%u,%u,%c,%x\n", i * 13, i % 1000, "rwap"[i % 4], 0x10000 + i % 65536);
	rewind(out);
	source = trace_open_stream(out, "long", error);
	assert_non_null(source);
	assert_int_equal(next(source).kind, SOURCE_RANGE);
	for (unsigned i = 0; i < rows; i++) {
		static const enum uvmp_access access[] = {UVMP_ACCESS_READ, UVMP_ACCESS_WRITE,
		                                          UVMP_ACCESS_ATOMIC_STRONG, UVMP_ACCESS_PREFETCH};

		assert_access(source, i % 1000, access[i % 4], 0x10000 + i % 65536);
	}
	assert_end(source);
}

static void files(void **state)
{
	char longest[600];

	(void)state;
	assert_null(trace_open("/nonexistent/file.csv", error));
	assert_string_equal(error, "/nonexistent/file.csv: No such file or directory");
	assert_null(trace_open("/dev/null", error));
	assert_string_equal(error, "/dev/null:1: is empty, the first line must be `uvmp-trace 1` or `uvmp-trace 2`");
	assert_null(trace_open("/", error));
	assert_string_equal(error, "/: cannot be read: Is a directory");
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_null(trace_open(longest, error));
	assert_non_null(strstr(error, "aaa: File name too long"));
}

static void standard_input(void **state)
{
	FILE *file = tmpfile();
	int saved = dup(0);
	struct source *source;

	(void)state;
	assert_non_null(file);
	fputs(ONE ",3,w,10008\nbad\n", file);
	fflush(file);
	rewind(file);
	assert_int_equal(dup2(fileno(file), 0), 0);
	source = trace_open("-", error);
	assert_non_null(source);
	assert_string_equal(source->name, "-");
	assert_range(source, 0x10000, 65536, "");
	assert_access(source, 3, UVMP_ACCESS_WRITE, 0x10008);
	assert_bad_source(source, "-:4: unknown row `bad`");
	dup2(saved, 0);
	close(saved);
	fclose(file);
	clearerr(stdin);
}

#ifdef HAVE_ZSTD
static size_t pack(char *to, size_t room, const char *text)
{
	size_t length = ZSTD_compress(to, room, text, strlen(text), 3);

	assert_false(ZSTD_isError(length));
	return length;
}

/* Rows may come out first; then, or when opening, the error holds the message. */
static void assert_damaged(const char *packed, size_t length, const char *message)
{
	struct source *source = open_bytes(packed, length);
	struct source_row row;

	if (source == NULL) {
		assert_non_null(strstr(error, message));
		return;
	}
	do {
		row = next(source);
		assert_int_not_equal(row.kind, SOURCE_END);
	} while (row.kind != SOURCE_BAD);
	assert_non_null(strstr(source->error, message));
	assert_ptr_equal(strstr(source->error, "t.csv:"), source->error);
	source->close(source);
}

static void compressed(void **state)
{
	char packed[4096];
	size_t length = pack(packed, sizeof(packed), ONE ",1,r,10000\n"), whole;
	struct source *source;

	(void)state;
	/* two frames, the first line of the second begins in the first */
	length += pack(packed + length, sizeof(packed) - length, ",2,");
	length += pack(packed + length, sizeof(packed) - length, "w,10000\n");
	source = open_bytes(packed, length);
	assert_non_null(source);
	assert_range(source, 0x10000, 65536, "");
	assert_access(source, 1, UVMP_ACCESS_READ, 0x10000);
	assert_access(source, 2, UVMP_ACCESS_WRITE, 0x10000);
	assert_end(source);

	whole = pack(packed, sizeof(packed), ONE ",1,r,10000\n");
	for (length = 4; length < whole; length++)
		assert_damaged(packed, length, "the compressed data ends in the middle");
	memcpy(packed + whole, "garbage", 7);
	assert_damaged(packed, whole + 7, "bad compressed data: ");
	/* an empty frame is an empty trace */
	whole = pack(packed, sizeof(packed), "");
	assert_bad_source(open_bytes(packed, whole),
	                  "t.csv:1: is empty, the first line must be `uvmp-trace 1` or `uvmp-trace 2`");
}

/* A trace that is much larger than all buffers; cut anywhere, it is an error after the rows that came
 * through. */
static void compressed_long(void **state)
{
	const unsigned rows = 60000;
	char *text = NULL, *packed;
	size_t size = 0, room, length;
	FILE *out = open_memstream(&text, &size);
	struct source *source;
	unsigned i;

	(void)state;
	fputs(ONE, out);
	for (i = 0; i < rows; i++)
		fprintf(out, "%u,%u,r,%x\n", i * 13, i % 1000, 0x10000 + i * 2654435761u % 65536);
	fclose(out);
	room = ZSTD_compressBound(size);
	packed = malloc(room);
	assert_non_null(packed);
	length = ZSTD_compress(packed, room, text, size, 1);
	source = open_bytes(packed, length);
	assert_non_null(source);
	assert_int_equal(next(source).kind, SOURCE_RANGE);
	for (i = 0; i < rows; i++)
		assert_access(source, i % 1000, UVMP_ACCESS_READ, 0x10000 + i * 2654435761u % 65536);
	assert_end(source);

	assert_damaged(packed, length / 2, "the compressed data ends in the middle");
	free(packed);
	free(text);
}
#else
static void compressed(void **state)
{
	(void)state;
	assert_bad("\x28\xb5\x2f\xfd....",
	           "t.csv: is zstd-compressed, and this program was built without zstd");
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(every_row),
	        cmocka_unit_test(ends),
	        cmocka_unit_test(first_line),
	        cmocka_unit_test(bad_rows),
	        cmocka_unit_test(calls),
	        cmocka_unit_test(bad_calls),
	        cmocka_unit_test(bad_ranges),
	        cmocka_unit_test(good_ranges),
	        cmocka_unit_test(frees_and_batches),
	        cmocka_unit_test(frees_of_parts),
	        cmocka_unit_test(bad_frees_of_parts),
	        cmocka_unit_test(other_fields_are_0),
	        cmocka_unit_test(many_ranges),
	        cmocka_unit_test(carriage_returns),
	        cmocka_unit_test(too_many_ranges),
	        cmocka_unit_test(cpu_accesses),
	        cmocka_unit_test(bad_accesses),
	        cmocka_unit_test(access_bytes),
	        cmocka_unit_test(no_access_bytes),
	        cmocka_unit_test(long_lines),
	        cmocka_unit_test(nul_bytes),
	        cmocka_unit_test(endless_line),
	        cmocka_unit_test(many_rows),
	        cmocka_unit_test(files),
	        cmocka_unit_test(standard_input),
	        cmocka_unit_test(compressed),
#ifdef HAVE_ZSTD
	        cmocka_unit_test(compressed_long),
#endif
	};

	return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
