/* Unit tests of the importers: the exact output of each for small inputs, and the inputs that each refuses.
 * Every output must be readable as a trace. Published files are imported if they are present. */
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

#include "import.h"

#define PUBLISHED "../shared/traces"
#define HEAD      "uvmp-trace 1\n# import "
#define HEAD_SIZED "uvmp-trace 2\n# import " /* accesses have bytes */

static char error[SOURCE_ERROR_MAX];
static char *output; /* of the last import */
static size_t output_length;

static FILE *file_of(const void *bytes, size_t length)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	rewind(file);
	return file;
}

static bool import_file(const char *format, FILE *in, const struct import_options *options)
{
	FILE *out;
	bool is_good;

	free(output);
	out = open_memstream(&output, &output_length);
	assert_non_null(out);
	error[0] = '\0';
	is_good = import_run(import_format_find(format), in, "in", options ? options : &import_defaults, out,
	                     error);
	assert_int_equal(fclose(out), 0);
	fclose(in);
	assert_int_equal(is_good, error[0] == '\0');
	return is_good;
}

static void assert_readable(void)
{
	struct source *source = trace_open_stream(file_of(output, output_length), "out", error);
	struct source_row row;

	assert_non_null(source);
	do
		source->next(source, &row);
	while (row.kind != SOURCE_END && row.kind != SOURCE_BAD);
	assert_string_equal(source->error, "");
	source->close(source);
}

/* Profilers list faults only, and the head says so. */
static const char *format_head(const char *format, bool is_faults)
{
	static char text[64];

	snprintf(text, sizeof(text), "%s%s", format, is_faults ? ", faults only" : "");
	return text;
}

static void assert_import_bytes(const char *format, const void *bytes, size_t length,
                                const struct import_options *options, const char *rows)
{
	const char *name, *head = strcmp(format, "oracleGeneral") == 0 ? HEAD_SIZED : HEAD;
	bool is_faults;

	import_file(format, file_of(bytes, length), options);
	assert_string_equal(error, "");
	assert_int_equal(strncmp(output, head, strlen(head)), 0);
	is_faults = strcmp(format, "nvprof") == 0 || strcmp(format, "uvmsmart-batches") == 0;
	name = format_head(format, is_faults);
	assert_int_equal(strncmp(output + strlen(head), name, strlen(name)), 0);
	assert_string_equal(output + strlen(head) + strlen(name) + 1, rows);
	assert_readable();
}

static void assert_import(const char *format, const char *text, const struct import_options *options,
                          const char *rows)
{
	assert_import_bytes(format, text, strlen(text), options, rows);
}

static void assert_bad(const char *format, const char *text, const struct import_options *options,
                       const char *message)
{
	assert_false(import_file(format, file_of(text, strlen(text)), options));
	assert_string_equal(error, message);
	if (!options || !options->ranges.file) /* bad input is found before anything is written */
		assert_int_equal(output_length, 0);
}

/* Options with another file, which the caller closes. */
static struct import_options with(const char *ranges, const char *kernels)
{
	struct import_options options = import_defaults;

	if (ranges)
		options.ranges = (struct import_file){file_of(ranges, strlen(ranges)), "ranges"};
	if (kernels)
		options.kernels = (struct import_file){file_of(kernels, strlen(kernels)), "kernels"};
	return options;
}

static void end_options(struct import_options *options)
{
	if (options->ranges.file)
		fclose(options->ranges.file);
	if (options->kernels.file)
		fclose(options->kernels.file);
}

static void assert_bad_ranges(const char *ranges, const char *message)
{
	struct import_options options = with(ranges, NULL);

	assert_false(import_file("addresses", file_of("0x1000\n", 7), &options));
	assert_string_equal(error, message);
	end_options(&options);
}

static void assert_bad_kernels(const char *kernels, const char *message)
{
	struct import_options options = with(NULL, kernels);

	assert_bad("uvmsmart-access", "1,1\n", &options, message);
	end_options(&options);
}

/* -- formats -- */

static void table(void **state)
{
	const struct import_format *format;
	size_t count = 0;

	(void)state;
	for (; (format = import_format_at(count)) != NULL; count++) {
		assert_ptr_equal(import_format_find(import_format_name(format)), format);
		assert_true(import_format_summary(format)[0] != '\0');
	}
	assert_int_equal(count, 14);
	assert_null(import_format_find("bogus"));
	assert_null(import_format_at(count + 1));
}

static void addresses(void **state)
{
	struct import_options options = import_defaults;

	(void)state;
	assert_import("addresses",
	              "0x200000\n2097153\n# a "
	              "comment\n\n7,w,0x201FFF\ncpu,r,0x200000\n3,a,0X200001\n0,p,0x200000\n",
	              NULL,
	              "range,0x200000,2097152\n,0,r,0x200000\n,0,r,0x200001\n,7,w,0x201fff\n,cpu,r,0x200000\n"
	              ",3,a,0x200001\n,0,p,0x200000\n");
	/* neighbouring blocks are one range, others are not; the highest block of all */
	assert_import(
	        "addresses", "0x7fffff\n0x400000\n0x200000\n0xffffffffffffffff\n0xa00000\n", NULL,
	        "range,0x200000,6291456\nrange,0xa00000,2097152\nrange,0xffffffffffe00000,2097152\n"
	        ",0,r,0x7fffff\n,0,r,0x400000\n,0,r,0x200000\n,0,r,0xffffffffffffffff\n,0,r,0xa00000\n");
	options.agents = 2;
	options.is_hex = true;
	assert_import("addresses", "10\n11\nff\n9,r,10\n0x12\n", &options,
	              "range,0x0,2097152\n,0,r,0x10\n,1,r,0x11\n,0,r,0xff\n,9,r,0x10\n,1,r,0x12\n");
}

static void untidy_text(void **state)
{
	(void)state;
	assert_import("addresses", "0x10 \t\r\n\r\n# caf\xe9 \x1b[1m\n0x20\r\n", NULL,
	              "range,0x0,2097152\n,0,r,0x10\n,0,r,0x20\n");
}

static void bad_addresses(void **state)
{
	(void)state;
	assert_bad("addresses", "", NULL, "in:1: there is no access in it");
	assert_bad("addresses", "# nothing\n", NULL, "in:1: there is no access in it");
	assert_bad("addresses", "1\n0x\n", NULL, "in:2: address \"0x\" is not a number of 64 bits");
	assert_bad("addresses", "0x10000000000000000\n", NULL,
	           "in:1: address \"0x10000000000000000\" is not a number of 64 bits");
	assert_bad("addresses", "1\n12ab\n", NULL,
	           "in:2: address \"12ab\" has letters but no 0x; --hex reads all as hexadecimal");
	assert_bad("addresses", "1,r\n", NULL, "in:1: neither ADDRESS nor AGENT,ACCESS,ADDRESS");
	assert_bad("addresses", "1,r,1,1\n", NULL, "in:1: neither ADDRESS nor AGENT,ACCESS,ADDRESS");
	assert_bad("addresses", "1,x,1\n", NULL, "in:1: access \"x\" is not one of r, w, a, p");
	assert_bad("addresses", "1,,1\n", NULL, "in:1: access \"\" is not one of r, w, a, p");
	assert_bad("addresses", "1048576,r,1\n", NULL, "in:1: agent \"1048576\" is not cpu or 0..1048575");
	assert_bad("addresses", "gpu,r,1\n", NULL, "in:1: agent \"gpu\" is not cpu or 0..1048575");
	assert_bad("addresses", "1\n2", NULL,
	           "in:2: the file ends within this line: its line feed is missing");
	assert_false(import_file("addresses", file_of("1\n\0\n", 4), NULL));
	assert_string_equal(error, "in:2: NUL byte (byte 0x00) in the line");
}

static void access_stream(void **state)
{
	struct import_options options = import_defaults;

	(void)state;
	assert_import("uvmsmart-access", "cycle,page\n1481,512\n1482,513\n2962,1023\n", NULL,
	              "range,0x200000,2097152\n1000,0,r,0x200000\n1000,0,r,0x201000\n2000,0,r,0x3ff000\n");
	options.clock_mhz = 1000;
	options.agents = 2;
	assert_import("uvmsmart-access", "5,512\n5,513\n6,514\n", &options,
	              "range,0x200000,2097152\n5,0,r,0x200000\n5,1,r,0x201000\n6,0,r,0x202000\n");
	assert_bad("uvmsmart-access", "cycle,page\n5,512\n4,512\n", &options,
	           "in:3: time goes backwards, from 5 ns to 4 ns");
	assert_bad("uvmsmart-access", "page,cycle\n", NULL,
	           "in:1: cycle \"page\" is not a decimal number, or too large");
	assert_bad("uvmsmart-access", "1,c0000\n", NULL,
	           "in:1: page \"c0000\" is not a decimal number, or too large");
	assert_bad("uvmsmart-access", "1,4503599627370496\n", NULL,
	           "in:1: page \"4503599627370496\" is not a decimal number, or too large");
	options.clock_mhz = 1;
	assert_bad("uvmsmart-access", "18446744073709551615,1\n", &options,
	           "in:1: cycle \"18446744073709551615\" is not a decimal number, or too large");
	assert_bad("uvmsmart-access", "1\n", NULL, "in:1: not the fields cycle,page");
	assert_bad("uvmsmart-access", "1,2,3\n", NULL, "in:1: not the fields cycle,page");
	assert_bad("uvmsmart-access", "cycle,page\n", NULL, "in:1: there is no access in it");
}

/* Kernels begin before their first access and end before the first one behind them; those without
 * accesses are there, too. */
static void kernels(void **state)
{
	struct import_options options = with(NULL, "iteration,kernel,start_cycle,end_cycle\n1,1,10,20\n2,"
	                                           "Kernel2,20,25\n3,a b,26,30\n4,4,50,60\n");

	(void)state;
	options.clock_mhz = 1000;
	assert_import("uvmsmart-access", "9,0\n10,0\n20,1\n31,2\n", &options,
	              "range,0x0,2097152\n9,0,r,0x0\nkernel,kernel "
	              "1\n10,0,r,0x0\n20,0,r,0x1000\nsync\nkernel,Kernel2\nsync\n"
	              "kernel,a b\nsync\n31,0,r,0x2000\nkernel,kernel 4\nsync\n");
	end_options(&options);
	assert_bad_kernels("", "kernels:1: there are no kernels");
	assert_bad_kernels(
	        "kernel,start,end_cycle\n",
	        "kernels:1: the first line must name the columns kernel, start_cycle and end_cycle");
	assert_bad_kernels("kernel,start_cycle,end_cycle\n1,5,4\n",
	                   "kernels:2: the kernel ends before it begins");
	assert_bad_kernels("kernel,start_cycle,end_cycle\n1,5,9\n2,8,10\n",
	                   "kernels:3: the kernel begins before the one before it has ended");
	assert_bad_kernels("kernel,start_cycle,end_cycle\n1,5\n",
	                   "kernels:2: not as many fields as the first line has");
	assert_bad_kernels("kernel,start_cycle,end_cycle\n1,5,x\n",
	                   "kernels:2: a cycle is not a decimal number");
	assert_bad_kernels("kernel,start_cycle,end_cycle\n1,5,7",
	                   "kernels:2: the file ends within this line: its line feed is missing");
}

#define ALLOCATIONS "set,benchmark,index,requested_bytes,rounded_bytes,start_addr\n"

static void ranges(void **state)
{
	static const char allocations[] =
	        ALLOCATIONS "logs,one,0,1,65536,10000\naccess,one,0,1,65536,20000\n"
	                    "access,two,0,1,65536,40000\naccess,two,1,1,131072,50000\n";
	struct import_options options = with("10000,8192,a b\n0x40000,1\n", NULL);

	(void)state;
	assert_import("addresses", "0x10001\n0x40000\n0x11fff\n", &options,
	              "range,0x10000,8192,a b\nrange,0x40000,1\n,0,r,0x10001\n,0,r,0x40000\n,0,r,0x11fff\n");
	rewind(options.ranges.file);
	assert_bad("addresses", "0x10001\n0x12000\n", &options,
	           "in:2: address 0x12000 is in no range of ranges");
	end_options(&options);
	options = with(allocations, NULL);
	options.benchmark = "two";
	assert_import("uvmsmart-access", "0,80\n", &options,
	              "range,0x40000,65536,two 0\nrange,0x50000,131072,two 1\n0,0,r,0x50000\n");
	rewind(options.ranges.file);
	options.benchmark = NULL;
	assert_bad("uvmsmart-access", "0,80\n", &options,
	           "ranges:4: ranges of one and of two; --benchmark says which");
	rewind(options.ranges.file);
	assert_import("uvmsmart-batches", "one,p,0,10000\n", &options,
	              "range,0x10000,65536,one 0\nkernel,one\n,0,r,0x10000\nsync\n");
	rewind(options.ranges.file);
	options.benchmark = "three";
	assert_bad("uvmsmart-access", "0,80\n", &options,
	           "ranges:5: there are no ranges of three in set access");
	end_options(&options);
}

/* Ranges move to multiples of 2 MiB in their order, and accesses with them. */
static void ranges_apart(void **state)
{
	struct import_options options = with("210000,65536,a\n220000,2097153,b\n800000,4096,c\n", NULL);

	(void)state;
	options.is_apart = true;
	assert_import("addresses", "0x220000\n0x210004\n0x800fff\n0x420000\n", &options,
	              "range,0x400000,65536,a\nrange,0x600000,2097153,b\nrange,0xa00000,4096,c\n"
	              ",0,r,0x600000\n,0,r,0x400004\n,0,r,0xa00fff\n,0,r,0x800000\n");
	end_options(&options);
	options = with("fffffffffffff000,4096\n", NULL);
	options.is_apart = true;
	assert_bad("addresses", "0xfffffffffffff000\n", &options,
		"ranges: range 1 (0xfffffffffffff000,4096): --apart would end it past the last address");
	end_options(&options);
}

static void bad_ranges(void **state)
{
	(void)state;
	assert_bad_ranges("", "ranges:1: there are no ranges");
	assert_bad_ranges(
	        "1000\n",
	        "ranges:1: 1 fields; BASE,BYTES[,NAME], or the first line of allocations of UVM Smart");
	assert_bad_ranges("zz,1\n", "ranges:1: base \"zz\" is not a hexadecimal number");
	assert_bad_ranges("1000,0x10\n", "ranges:1: size \"0x10\" is not a decimal number");
	assert_bad_ranges("1001,1\n", "ranges:1: the base of the range is not a multiple of 4096");
	assert_bad_ranges("1000,0\n", "ranges:1: the range has no bytes, or more than there are addresses");
	assert_bad_ranges("fffffffffffff000,4097\n",
	                  "ranges:1: the range has no bytes, or more than there are addresses");
	assert_bad_ranges("1000,8192\n2000,1\n", "ranges:2: the range overlaps another one");
	assert_bad_ranges("2000,1\n1000,4097\n", "ranges:2: the range overlaps another one");
	assert_bad_ranges(
	        ALLOCATIONS "access,a,0,1,65536\n",
	        "ranges:2: not the fields set,benchmark,index,requested_bytes,rounded_bytes,start_addr");
	assert_bad_ranges(ALLOCATIONS "access,a,0,1,x,10000\n",
	                  "ranges:2: size \"x\" is not a decimal number");
	assert_bad_ranges(ALLOCATIONS "access,a,0,1,1,x\n",
	                  "ranges:2: start \"x\" is not a hexadecimal number");
	assert_bad_ranges("\x1f\x8b\n",
	                  "ranges:1: is gzip-compressed; give it as `zcat FILE | uvmsim import FORMAT -`");
}

static void batches(void **state)
{
	static const char text[] =
	        "benchmark,prefetcher,batch,fault_addr\na,P,0,c0000000\na,P,0,c0001000\na,P,1,c0002000\n"
	        "a,P,3,c0003000\na,P,3,c0003000\na,P,3,c0004000\nb,P,0,0\na,Q,0,200000\n";
	struct import_options options = import_defaults;

	(void)state;
	options.benchmark = "a";
	options.prefetcher = "P";
	assert_import(
	        "uvmsmart-batches", text, &options,
	        "range,0xc0000000,2097152\nkernel,a\n,0,r,0xc0000000\n,1,r,0xc0001000\n,0,r,0xc0002000\n"
	        ",0,r,0xc0003000\n,1,r,0xc0003000\n,2,r,0xc0004000\nsync\n");
	options.prefetcher = NULL;
	assert_bad("uvmsmart-batches", text, &options,
	           "in:9: a second list, a with Q after a with P: --benchmark and --prefetcher say which");
	options.benchmark = "c";
	assert_bad("uvmsmart-batches", text, &options, "in:9: there are no faults of c");
	options.prefetcher = "R";
	assert_bad("uvmsmart-batches", text, &options, "in:9: there are no faults of c with R");
	assert_bad("uvmsmart-batches", "a,P,1,0\na,P,0,0\n", NULL, "in:2: batch 0 comes after batch 1");
	assert_bad("uvmsmart-batches", "a,P,x,0\n", NULL, "in:1: batch \"x\" is not a decimal number");
	assert_bad("uvmsmart-batches", "a,P,0,x\n", NULL, "in:1: address \"x\" is not a hexadecimal number");
	assert_bad("uvmsmart-batches", "a,P,0\n", NULL,
	           "in:1: not the fields benchmark,prefetcher,batch,fault_addr");
}

/* -- records -- */

static size_t put_record(unsigned char *to, uint32_t second, uint64_t id, uint32_t bytes)
{
	memset(to, 0xff, 24);
	for (unsigned i = 0; i < 4; i++) {
		to[i] = (unsigned char)(second >> 8 * i);
		to[12 + i] = (unsigned char)(bytes >> 8 * i);
	}
	for (unsigned i = 0; i < 8; i++)
		to[4 + i] = (unsigned char)(id >> 8 * i);
	return 24;
}

static void oracle_general(void **state)
{
	struct import_options options = import_defaults;
	unsigned char bytes[24 * 5];
	size_t length = 0;

	(void)state;
	options.agents = 3;
	length += put_record(bytes + length, 4000000000u, UINT64_C(0xfedcba9876543210), 512);
	length += put_record(bytes + length, 4000000000u, 7, 0);
	length += put_record(bytes + length, 4000000002u, UINT64_C(0xfedcba9876543210), 4097);
	length += put_record(bytes + length, 4000000002u, 8, 1);
	length += put_record(bytes + length, 4000000003u, 7, 4096);
	assert_import_bytes("oracleGeneral", bytes, length, &options,
	                    "range,0x7e0000000000,16384,objects\n0,0,r,0x7e0000000000,512\n0,1,r,0x7e0000002000\n"
	                    "2000000000,2,r,0x7e0000000000,4096\n2000000000,2,r,0x7e0000001000,1\n"
	                    "2000000000,0,r,0x7e0000003000,1\n3000000000,1,r,0x7e0000002000,4096\n");
	assert_false(import_file("oracleGeneral", file_of(bytes, length - 1), NULL));
	assert_string_equal(error, "in: record 5: ends after 23 of 24 bytes");
	assert_false(import_file("oracleGeneral", file_of(bytes, 0), NULL));
	assert_string_equal(error, "in: record 1: there is no access in it");
	put_record(bytes + 48, 3999999999u, 1, 1);
	assert_false(import_file("oracleGeneral", file_of(bytes, length), NULL));
	assert_string_equal(error, "in: record 3: time goes backwards, from 4000000000 s to 3999999999 s");
	assert_int_equal(output_length, 0);
}

/* Many objects, to see the table grow. */
static void many_objects(void **state)
{
	enum { OBJECTS = 3000 };
	unsigned char *bytes = calloc(2 * OBJECTS, 24);
	char *row;

	(void)state;
	assert_non_null(bytes);
	for (unsigned i = 0; i < 2 * OBJECTS; i++)
		put_record(bytes + (size_t)24 * i, 1, (uint64_t)(i % OBJECTS) << 32, 4096);
	assert_true(import_file("oracleGeneral", file_of(bytes, (size_t)48 * OBJECTS), NULL));
	row = strstr(output, "range,0x7e0000000000,12288000,objects\n");
	assert_non_null(row);
	assert_non_null(strstr(row, "0,0,r,0x7e0000bb7000,4096\n0,0,r,0x7e0000000000,4096\n"));
	assert_string_equal(output + output_length - strlen("0,0,r,0x7e0000bb7000,4096\n"),
	                    "0,0,r,0x7e0000bb7000,4096\n");
	free(bytes);
}

/* 4294967295 bytes an object: 2 TiB are full soon. */
static void too_large_objects(void **state)
{
	unsigned char bytes[24 * 513];
	size_t length = 0;

	(void)state;
	for (unsigned i = 0; i < 513; i++)
		length += put_record(bytes + length, 0, i, UINT32_MAX);
	assert_false(import_file("oracleGeneral", file_of(bytes, length), NULL));
	assert_string_equal(error, "in: record 513: all objects together have more than 2199023255552 bytes");
}

/* -- nvprof -- */

#define PROFILE_HEAD                                                                                         \
	"==1== Profiling result:\n"                                                                          \
	"   Start  Duration  Grid Size            Device  Unified Memory  Virtual Address  Name\n"
/* start, duration (of these widths), value, address, name */
#define ROW(start, duration, value, address, name)                                                           \
	start "  " duration "    (1 1 1)   GeForce GTX 108  " value "  " address "  " name "\n"
#define GPU_FAULT "[Unified Memory GPU page faults]"
#define CPU_FAULT "[Unified Memory CPU page faults]"

static void nvprof(void **state)
{
	static const char text[] = "my program says hello \n" PROFILE_HEAD /* blanks at the end of a line */
	        ROW("10.000ms", "       -", "   PC 0x400b82", "       0x400000",
	            CPU_FAULT) ROW("11.000ms", "10.000us", "             1", "       0x200000",
	                           GPU_FAULT) ROW("11.005ms", "1.0000ms", "             -", "              -",
	                                          "void (anonymous namespace)::f<int, 2>(int*, char) [108]")
	                ROW("11.010ms", "1.7280us", "    4.000000KB", "       0x200000",
	                    "[Unified Memory Memcpy HtoD]")
	                        ROW("11.020ms", "10.000us", "             9", "       0x210000", GPU_FAULT)
	                                ROW("12.005ms", "10.000us", "             1", "       0x220000",
	                                    GPU_FAULT) /* within rounding */
	        ROW("12.006ms", "10.000us", "             1", "       0x230000", GPU_FAULT) /* of the next */
	        ROW("12.007ms", "1.0000us", "             -", "              -", "second [109]")
	                ROW("12.009ms", "       -", "   PC 0x400b82", "       0x220000", CPU_FAULT)
	                        ROW("1.20000s", "10.000us", "             1", "       0x240000",
	                            GPU_FAULT) /* no kernel runs now */
	        "\nRegs: Number of registers used per CUDA thread.\n";

	(void)state;
	assert_import("nvprof", text, NULL,
	              "range,0x200000,4194304\n10000000,cpu,r,0x400000\nkernel,void (anonymous "
	              "namespace)::f<int; 2>\n11000000,0,r,0x200000\n"
	              "11020000,0,r,0x210000\n12005000,0,r,0x220000\nsync\nkernel,second\n12006000,0,r,"
	              "0x230000\nsync\n"
	              "12009000,cpu,r,0x220000\n1200000000,0,r,0x240000\n");
}

static void bad_nvprof(void **state)
{
	(void)state;
	assert_bad("nvprof", "hello\n", NULL,
	           "in:1: there is no table: no line from Start and Duration to Virtual Address and Name");
	assert_bad("nvprof", PROFILE_HEAD "\n", NULL, "in:3: there is no access in it");
	assert_bad("nvprof", "   Start  Duration  Grid Size  Name\n", NULL,
	           "in:1: the table has no column Virtual Address: unified memory was not profiled");
	assert_bad("nvprof", PROFILE_HEAD "10.000ms  -\n", NULL,
	           "in:3: not a row of the table: it has no name below `Name`");
	assert_bad("nvprof",
	           PROFILE_HEAD ROW("10.000 h", "       -", "             1", "       0x400000", CPU_FAULT),
	           NULL, "in:3: start \"10.000\" is not a time as 681.75ms");
	assert_bad("nvprof",
	           PROFILE_HEAD ROW("1.0000ms", "    long", "             1", "       0x400000", CPU_FAULT),
	           NULL, "in:3: duration \"long\" is not a time as 183.74us");
	assert_bad("nvprof",
	           PROFILE_HEAD ROW("1.0000ms", "       -", "             1", "              -", CPU_FAULT),
	           NULL, "in:3: virtual address \"-\" is not a hexadecimal number");
	assert_bad("nvprof",
	           PROFILE_HEAD ROW("2.0000ms", "       -", "             1", "         0x1000", CPU_FAULT)
	                   ROW("1.0000ms", "       -", "             1", "         0x1000", CPU_FAULT),
	           NULL, "in:4: time goes backwards, from 2000000 ns to 1000000 ns");
}

/* -- input and output -- */

static void from_a_pipe(void **state)
{
	FILE *in = popen("printf '0x1000\\n0x2000\\n'", "r");

	(void)state;
	assert_non_null(in);
	assert_true(
	        import_file("addresses", in, NULL)); /* fclose of it leaves a child, which init collects */
	assert_string_equal(output, HEAD "addresses\nrange,0x0,2097152\n,0,r,0x1000\n,0,r,0x2000\n");
}

static void compressed(void **state)
{
	(void)state;
	assert_bad("addresses", "\x1f\x8b\b\n", NULL,
	           "in:1: is gzip-compressed; give it as `zcat FILE | uvmsim import FORMAT -`");
#ifdef HAVE_ZSTD
	static const char text[] = "0x1000\n0x2000\n";
	char packed[200];
	size_t length = ZSTD_compress(packed, sizeof(packed), text, strlen(text), 1);

	assert_import_bytes("addresses", packed, length, NULL,
	                    "range,0x0,2097152\n,0,r,0x1000\n,0,r,0x2000\n");
	assert_false(import_file("addresses", file_of(packed, length - 1), NULL));
	assert_non_null(strstr(error, ": the compressed data ends in the middle"));
	packed[4] = (char)(packed[4] | 8); /* reserved */
	assert_false(import_file("addresses", file_of(packed, length), NULL));
	assert_memory_equal(error, "in:1: bad compressed data: ", 27);
#else
	assert_bad("addresses", "\x28\xb5\x2f\xfd\n", NULL,
	           "in:1: is zstd-compressed, and this program was built without zstd");
#endif
}

static void full_disk(void **state)
{
	FILE *out = fopen("/dev/full", "w"), *in = file_of("1\n", 2);

	(void)state;
	if (out == NULL) {
		print_message("/dev/full is not there: skipped\n");
		fclose(in);
		return;
	}
	assert_false(import_run(import_format_find("addresses"), in, "in", &import_defaults, out, error));
	assert_string_equal(error, "standard output: No space left on device");
	fclose(in);
	fclose(out);
}

/* More ranges than a trace may have. */
static void many_ranges(void **state)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	(void)state;
	assert_non_null(out);
	for (unsigned i = 0; i <= 65536; i++)
		fprintf(out, "0x%x00000\n", 4 * i);
	fclose(out);
	assert_bad("addresses", text, NULL,
	           "in:65537: more than 65536 ranges: touched memory has too many gaps, or --ranges too many "
	           "lines");
	free(text);
}

/* -- published files -- */

/* Is the file there? */
static bool is_there(const char *path)
{
	if (access(path, R_OK) == 0)
		return true;
	print_message("%s is not there: skipped\n", path);
	return false;
}

static unsigned count(const char *what)
{
	unsigned found = 0;

	/* not strstr, which under the address sanitizer measures all of the text each time */
	for (size_t at = 0; at + strlen(what) <= output_length; at++)
		found += memcmp(output + at, what, strlen(what)) == 0;
	return found;
}

static void published_stream(void **state)
{
	static const char path[] = PUBLISHED "/uvmsmart-access/backprop_access.csv.gz";
	static bool is_touched[4 * 512];
	struct source_row row;
	struct source *source;
	unsigned pages = 0;
	FILE *in;

	(void)state;
	if (!is_there(path))
		return;
	in = popen("gzip -dc " PUBLISHED "/uvmsmart-access/backprop_access.csv.gz", "r");
	assert_non_null(in);
	assert_true(import_file("uvmsmart-access", in, NULL));
	source = trace_open_stream(file_of(output, output_length), "out", error);
	assert_non_null(source);
	for (source->next(source, &row); row.kind != SOURCE_END; source->next(source, &row)) {
		size_t page = (size_t)(row.address - 0xc0000000u) / 4096;

		assert_int_not_equal(row.kind, SOURCE_BAD);
		if (row.kind != SOURCE_ACCESS)
			continue;
		assert_true(page < 4 * 512);
		pages += !is_touched[page];
		is_touched[page] = true;
	}
	source->close(source);
	assert_int_equal(pages, 934); /* as its README counts */
}

static void published_profile(void **state)
{
	static const char path[] = PUBLISHED "/uvmsmart/real-1080ti/gpu-trace/getHWPrefetcherP1.nvprof.txt";
	FILE *in = is_there(path) ? fopen(path, "r") : NULL;

	(void)state;
	if (in == NULL)
		return;
	assert_true(import_file("nvprof", in, NULL));
	assert_readable();
	assert_int_equal(count("cpu,r,"), 12);
	assert_int_equal(count(",0,r,"), 6);
	assert_non_null(strstr(output, "kernel,getHWPrefetch\n688940000,0,r,0x7f246e000000\n"));
	assert_non_null(
	        strstr(output, "689320000,0,r,0x7f246e100000\nsync\n689510000,cpu,r,0x7f246e100000\n"));
}

static void published_records(void **state)
{
	static const char path[] = PUBLISHED "/libcachesim/cloudPhysicsIO.first20000.oracleGeneral.bin";
	FILE *in = is_there(path) ? fopen(path, "r") : NULL;

	(void)state;
	if (in == NULL)
		return;
	assert_true(import_file("oracleGeneral", in, NULL));
	assert_readable();
	assert_non_null(strstr(
	        output, "\nrange,0x7e0000000000,749674496,objects\n")); /* 183026 pages of 13778 objects */
	assert_int_equal(count(",0,r,"), 212423);
}

static int end_output(void **state)
{
	(void)state;
	free(output);
	output = NULL;
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test(table),
	        cmocka_unit_test(addresses),
	        cmocka_unit_test(untidy_text),
	        cmocka_unit_test(bad_addresses),
	        cmocka_unit_test(access_stream),
	        cmocka_unit_test(kernels),
	        cmocka_unit_test(ranges),
	        cmocka_unit_test(ranges_apart),
	        cmocka_unit_test(bad_ranges),
	        cmocka_unit_test(batches),
	        cmocka_unit_test(oracle_general),
	        cmocka_unit_test(many_objects),
	        cmocka_unit_test(too_large_objects),
	        cmocka_unit_test(nvprof),
	        cmocka_unit_test(bad_nvprof),
	        cmocka_unit_test(from_a_pipe),
	        cmocka_unit_test(compressed),
	        cmocka_unit_test(full_disk),
	        cmocka_unit_test(many_ranges),
	        cmocka_unit_test(published_stream),
	        cmocka_unit_test(published_profile),
	        cmocka_unit_test(published_records),
	};

	return cmocka_run_group_tests(tests, NULL, end_output);
}
