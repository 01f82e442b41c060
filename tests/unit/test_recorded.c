/* Rows as a workload: small traces driven by hand, then long random ones whose warps run in a random order:
 * every agent gets its own rows in their order, with any window. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/seed.h"
#include "uvmpolicy/uvmpolicy.h"
#include "workloads/recorded.h"

#define BASE   0x200000000u
#define RANGES "range,200000000,4194304,a\n"

/* 4 blocks of 2 warps at a time */
static const struct recorded_gpu gpu = {.sms = 2, .blocks_per_sm = 2, .warps_per_sm = 4};
#define BLOCKS 4u
#define WARPS  8u

static char error[SOURCE_ERROR_MAX];
static struct source *source;
static struct workload *workload;
static unsigned ranges, ranges_accepted;

static const char *add_range(void *context, const struct source_range *range)
{
	assert_ptr_equal(context, &ranges);
	assert_true(range->bytes != 0);
	ranges++;
	return ranges > ranges_accepted ? "no more ranges" : NULL;
}

static void try_file(FILE *file, const struct recorded_gpu *on, uint32_t window)
{
	rewind(file);
	source = trace_open_stream(file, "t", error);
	assert_non_null(source);
	ranges = 0;
	error[0] = '\0';
	workload = recorded_open(source, on, window, add_range, &ranges, error);
}

static FILE *file_of(const char *rows)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	fprintf(file, "uvmp-trace 1\n%s", rows);
	return file;
}

static void open_rows(const char *rows, uint32_t window)
{
	ranges_accepted = 1000;
	try_file(file_of(rows), &gpu, window);
	if (!workload)
		fail_msg("%s", error);
	assert_string_equal(workload->source.name, "t");
	assert_null(workload_of(&workload->source));
}

static void close_rows(void)
{
	if (workload)
		workload->source.close(&workload->source);
	source->close(source);
}

/* -- operations -- */

static void expect_kernel(const char *name, uint64_t blocks, uint32_t warps)
{
	assert_true(workload_launch(workload));
	assert_int_equal(workload->op.kind, WORKLOAD_KERNEL);
	assert_false(workload->op.is_queued);
	assert_string_equal(workload->kernel, name);
	assert_int_equal(workload->blocks, blocks);
	assert_int_equal(workload->warps, warps);
}

static void expect_cpu(uint64_t at, uint64_t bytes, enum uvmp_access access)
{
	assert_true(workload_launch(workload));
	assert_int_equal(workload->op.kind, WORKLOAD_CPU);
	assert_int_equal(workload->op.at, at);
	assert_int_equal(workload->op.bytes, bytes);
	assert_int_equal(workload->op.access, access);
}

static void expect_end(const char *message)
{
	assert_false(workload_launch(workload));
	assert_false(workload_launch(workload));
	assert_string_equal(workload->source.error, message);
}

/* The next row of a warp: an access of one page. */
static void expect_row(struct workload_slot *slot, uint64_t at, enum uvmp_access access)
{
	uint64_t address;

	assert_true(workload_step(workload, slot));
	assert_int_equal(slot->at, at);
	assert_in_range(slot->end, at + 1, (at / 4096 + 1) * 4096);
	assert_int_equal(slot->lanes, 0);
	assert_int_equal(slot->access, access);
	assert_true(workload_next_page(slot, &address));
	assert_int_equal(address, at);
	assert_false(workload_next_page(slot, &address));
}

/* A row that tells its bytes: one lane of as many bytes. */
static void expect_bytes(struct workload_slot *slot, uint64_t at, uint32_t bytes, enum uvmp_access access)
{
	uint64_t address;

	assert_true(workload_step(workload, slot));
	assert_int_equal(slot->lanes, 1);
	assert_int_equal(slot->lane[0], at);
	assert_int_equal(slot->lane_bytes, bytes);
	assert_int_equal(slot->access, access);
	assert_true(workload_next_page(slot, &address));
	assert_int_equal(address, at);
	assert_false(workload_next_page(slot, &address));
}

static void expect_idle(struct workload_slot *slot)
{
	uint64_t address;

	assert_true(workload_step(workload, slot));
	assert_false(workload_next_page(slot, &address));
	assert_int_equal(slot->at, slot->end);
	assert_int_equal(slot->lanes, 0);
	assert_true(slot->at_once && slot->flops != 0);
}

static FILE *sized_file_of(const char *rows)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	fprintf(file, "uvmp-trace 2\n%s", rows);
	return file;
}

/* No step crosses the end of its page. */
static void test_bytes(void **unused)
{
	struct workload_slot slot;

	(void)unused;
	ranges_accepted = 1000;
	try_file(sized_file_of(RANGES ",0,r,200000000,1\n,0,w,200000f80,128\n,0,a,200000ff0,32\n"
				      ",0,r,200001fff,4096\n,0,w,20000103c,128\n,0,r,200002000\n,0,r,200003fff\n"),
		 &gpu, 1000);
	if (!workload)
		fail_msg("%s", error);
	expect_kernel("", 1, 1);
	workload_start_warp(workload, &slot, 0, 0);
	expect_bytes(&slot, BASE, 1, UVMP_ACCESS_READ);
	expect_bytes(&slot, BASE + 0xf80, 128, UVMP_ACCESS_WRITE);
	expect_bytes(&slot, BASE + 0xfe0, 32, UVMP_ACCESS_ATOMIC_STRONG);
	expect_bytes(&slot, BASE + 0x1000, 4096, UVMP_ACCESS_READ);
	expect_bytes(&slot, BASE + 0x1020, 128, UVMP_ACCESS_WRITE);
	assert_true(workload_step(workload, &slot));
	assert_int_equal(slot.end - slot.at, RECORDED_BYTES);
	assert_true(workload_step(workload, &slot));
	assert_int_equal(slot.at, BASE + 0x3fff);
	assert_int_equal(slot.end - slot.at, 1);
	assert_false(workload_step(workload, &slot));
	close_rows();
}

static void test_operations(void **unused)
{
	struct workload_slot slot;

	(void)unused;
	open_rows(RANGES "range,300000000,4096\n,cpu,w,200000010\n,cpu,w,200001000\n,cpu,w,200002fff\n"
	                 ",cpu,r,200003000\n,cpu,p,200004000\nprefetch,gpu,200000000,5000\n"
	                 "advise,preferred,none,200000000,4096\nadvise,accessed-by,gpu,200000000,8192\n"
	                 "kernel,k\n7,0,r,200000000\nsync\nsync\nkernel,empty\nkernel,l\n,0,a,200000000\n"
	                 "range,400000000,4096\n,cpu,r,200000000\n,0,w,200001000\nsync\n,0,r,400000000\n",
	          1000);
	assert_int_equal(ranges, 2);
	expect_cpu(0x200000010, 4096 - 16 + 1, UVMP_ACCESS_WRITE); /* from one page to the next */
	expect_cpu(0x200002fff, 1, UVMP_ACCESS_WRITE);
	expect_cpu(0x200003000, 1, UVMP_ACCESS_READ);
	expect_cpu(0x200004000, 1, UVMP_ACCESS_READ);
	assert_true(workload_launch(workload));
	assert_int_equal(workload->op.kind, WORKLOAD_PREFETCH);
	assert_int_equal(workload->op.at, BASE);
	assert_int_equal(workload->op.bytes, 8192);
	assert_true(workload->op.to_gpu && !workload->op.to_none);
	assert_true(workload_launch(workload));
	assert_int_equal(workload->op.kind, WORKLOAD_ADVISE);
	assert_int_equal(workload->op.advice, UVMP_ADVISE_PREFERRED);
	assert_true(workload->op.to_none);
	assert_true(workload_launch(workload));
	assert_int_equal(workload->op.advice, UVMP_ADVISE_ACCESSED_BY);
	assert_true(workload->op.to_gpu && !workload->op.to_none);
	expect_kernel("k", 1, 1);
	workload_start_warp(workload, &slot, 0, 0);
	expect_row(&slot, BASE, UVMP_ACCESS_READ);
	assert_false(workload_step(workload, &slot));
	workload_end_kernel(workload);
	expect_kernel("empty", 1, 1);
	workload_start_warp(workload, &slot, 0, 0);
	assert_false(workload_step(workload, &slot));
	expect_kernel("l", 1, 1);
	workload_start_warp(workload, &slot, 0, 0);
	expect_row(&slot, BASE, UVMP_ACCESS_ATOMIC_STRONG);
	assert_false(workload_step(workload, &slot));
	assert_int_equal(ranges, 3);
	expect_cpu(BASE, 1, UVMP_ACCESS_READ);
	expect_kernel("l", 1, 1); /* the rest of it */
	workload_start_warp(workload, &slot, 0, 0);
	expect_row(&slot, BASE + 4096, UVMP_ACCESS_WRITE);
	assert_false(workload_step(workload, &slot));
	expect_kernel("", 1, 1);
	workload_start_warp(workload, &slot, 0, 0);
	expect_row(&slot, 0x400000000, UVMP_ACCESS_READ);
	assert_false(workload_step(workload, &slot));
	expect_end("");
	close_rows();
}

/* A kernel is as small as it can be, and no larger than what runs at a time. */
static void test_shapes(void **unused)
{
	struct workload_slot first, second, third;

	(void)unused;
	open_rows(RANGES ",2,r,200000000\nsync\n,4,r,200000000\n,12,r,200001000\n,1,w,200002000\nsync\n"
	                 ",9,r,200000000\n,0,r,200000000\n,0,r,200000000\n,6,r,200000000\n",
	          3);
	expect_kernel("", 3, 1); /* agents 0 and 1 have nothing to do */
	workload_start_warp(workload, &first, 0, 0);
	assert_false(workload_step(workload, &first));
	workload_start_warp(workload, &first, 2, 0);
	expect_row(&first, BASE, UVMP_ACCESS_READ);
	assert_false(workload_step(workload, &first));
	expect_kernel("", BLOCKS, WARPS / BLOCKS);
	workload_start_warp(workload, &first, 0, 1); /* agents 4 and 12 */
	workload_start_warp(workload, &second, 1, 0);
	workload_start_warp(workload, &third, 3, 1);
	expect_row(&second, BASE + 8192, UVMP_ACCESS_WRITE);
	assert_false(workload_step(workload, &third));
	expect_row(&first, BASE, UVMP_ACCESS_READ);
	expect_row(&first, BASE + 4096, UVMP_ACCESS_READ);
	assert_false(workload_step(workload, &first));
	assert_false(workload_step(workload, &second));
	expect_kernel("", 2, 1); /* agent 6 is out of sight */
	close_rows();
}

static void test_idle(void **unused)
{
	struct workload_slot zero, one;

	(void)unused;
	open_rows(RANGES ",1,r,200000000\n,0,r,200000000\n,0,r,200001000\n,0,r,200002000\n"
	                 ",0,r,200003000\n,3,r,200004000\n",
	          2);
	expect_kernel("", 2, 1); /* agent 3 comes too late for a warp of its own */
	workload_start_warp(workload, &zero, 0, 0);
	workload_start_warp(workload, &one, 1, 0);
	expect_row(&one, BASE, UVMP_ACCESS_READ);
	expect_idle(&one);
	expect_row(&zero, BASE, UVMP_ACCESS_READ);
	expect_idle(&one);
	expect_row(&zero, BASE + 4096, UVMP_ACCESS_READ);
	expect_idle(&one);
	expect_row(&zero, BASE + 8192, UVMP_ACCESS_READ);
	expect_row(&one, BASE + 16384, UVMP_ACCESS_READ);
	assert_false(workload_step(workload, &one)); /* nothing is left to be read */
	expect_row(&zero, BASE + 12288, UVMP_ACCESS_READ);
	assert_false(workload_step(workload, &zero));
	expect_end("");
	close_rows();
}

/* -- errors -- */

static void test_errors(void **unused)
{
	struct workload_slot slot;

	(void)unused;
	try_file(file_of("nonsense\n"), &gpu, 10);
	assert_null(workload);
	assert_string_equal(error, "t:2: unknown row `nonsense`");
	close_rows();
	ranges_accepted = 1;
	try_file(file_of(RANGES "range,300000000,4096\n"), &gpu, 10);
	assert_null(workload);
	assert_string_equal(error, "no more ranges");
	close_rows();
	try_file(file_of(RANGES ",0,r,200000000\n,0,r,200000000\nrange,300000000,4096\n,0,r,300000000\n"),
	         &gpu, 1);
	assert_non_null(workload);
	expect_kernel("", 1, 1);
	workload_start_warp(workload, &slot, 0, 0);
	expect_row(&slot, BASE, UVMP_ACCESS_READ);
	assert_false(workload_step(workload, &slot));
	assert_false(workload_step(workload, &slot));
	expect_end("no more ranges");
	close_rows();
	/* within the window, in a kernel's row, in a CPU's, behind a call */
	open_rows(RANGES ",0,r,200000000\n,0,x,200000000\n", 10);
	expect_end("t:4: access `x` is not one of r, w, a, p");
	close_rows();
	open_rows(RANGES "kernel,k\nnonsense\n", 10);
	expect_end("t:4: unknown row `nonsense`");
	close_rows();
	open_rows(RANGES ",cpu,r,200000000\nnonsense\n", 10);
	expect_end("t:4: unknown row `nonsense`");
	close_rows();
	open_rows(RANGES "prefetch,gpu,200000000,4096\nnonsense\n", 10);
	expect_end("t:4: unknown row `nonsense`");
	close_rows();
	open_rows("", 10);
	expect_end("");
	close_rows();
}

/* -- any rows -- */

#define ROWS    6000u
#define AGENTS  13u /* more than there are warps */
#define KERNELS 5u

/* Row i belongs to kernel i * KERNELS / ROWS; its page is i, so that the address tells. */
struct rows {
	uint8_t agent[ROWS];
	uint32_t next[WARPS]; /* row that each warp has to make next */
	uint64_t random;
};

static uint32_t kernel_of(uint32_t row)
{
	return row * KERNELS / ROWS;
}

static FILE *make_rows(struct rows *rows)
{
	FILE *file = file_of("range,200000000,1073741824\n");

	for (uint32_t i = 0; i < ROWS; i++) {
		/* runs of one agent, long and short ones */
		bool is_same = i > 0 && uvmp_random_below(&rows->random, 100) < 90;

		rows->agent[i] =
		        is_same ? rows->agent[i - 1] : (uint8_t)uvmp_random_below(&rows->random, AGENTS);
		if (i == 0 || kernel_of(i) != kernel_of(i - 1))
			fprintf(file, "kernel,k%u\n", kernel_of(i));
		fprintf(file, ",%u,%c,%llx\n", rows->agent[i], "rw"[i % 2u],
		        (unsigned long long)BASE + (unsigned long long)i * 4096u);
	}
	return file;
}

static void find_next(struct rows *rows, uint32_t warp, uint32_t warps, uint32_t kernel)
{
	uint32_t *next = &rows->next[warp];

	while (*next < ROWS && kernel_of(*next) == kernel && rows->agent[*next] % WARPS % warps != warp)
		++*next;
}

static void run_kernel(struct rows *rows, uint32_t kernel)
{
	struct workload_slot slot[WARPS];
	uint32_t number[WARPS], alive = 0, warps;

	assert_true(workload_launch(workload));
	for (uint32_t block = 0; block < workload->blocks; block++)
		for (uint32_t warp = 0; warp < workload->warps; warp++) {
			workload_start_warp(workload, &slot[alive], block, warp);
			number[alive] = warp * BLOCKS + block;
			rows->next[number[alive++]] = ROWS * kernel / KERNELS;
		}
	warps = alive;
	while (alive > 0) {
		uint32_t i = (uint32_t)uvmp_random_below(&rows->random, alive);
		uint64_t address;

		find_next(rows, number[i], warps, kernel);
		if (!workload_step(workload, &slot[i])) {
			assert_true(rows->next[number[i]] == ROWS ||
			            kernel_of(rows->next[number[i]]) > kernel);
			slot[i] = slot[--alive];
			number[i] = number[alive];
		} else if (workload_next_page(&slot[i], &address)) {
			assert_int_equal(address, BASE + (uint64_t)rows->next[number[i]] * 4096u);
			assert_int_equal(slot[i].access,
			                 rows->next[number[i]]++ % 2u ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
		}
	}
	workload_end_kernel(workload);
}

static void check_rows(uint64_t seed, uint32_t window)
{
	struct rows *rows = calloc(1, sizeof(*rows));

	assert_non_null(rows);
	rows->random = seed;
	ranges_accepted = 1;
	try_file(make_rows(rows), &gpu, window);
	assert_non_null(workload);
	for (uint32_t kernel = 0; kernel < KERNELS; kernel++)
		run_kernel(rows, kernel);
	expect_end("");
	close_rows();
	free(rows);
}

static void test_any_rows(void **unused)
{
	static const uint32_t windows[] = {1, 2, 7, 100, 3000, RECORDED_WINDOW};

	(void)unused;
	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		check_rows(1, windows[i]);
		check_rows(test_seed(), windows[i]);
	}
}

/* As many warps as fit, for all numbers. */
static void test_gpus(void **unused)
{
	static const struct recorded_gpu gpus[] = {
	        {1, 1, 1}, {80, 32, 64}, {28, 32, 64}, {3, 32, 65}, {2, 16, 8}};
	static const uint32_t blocks[] = {1, 80 * 32, 28 * 32, 3 * 21, 2 * 8}, warps[] = {1, 2, 2, 3, 1};

	(void)unused;
	for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++) {
		char rows[128];

		snprintf(rows, sizeof(rows), RANGES ",%u,r,200000000\n", blocks[i] * warps[i] - 1u);
		ranges_accepted = 1;
		try_file(file_of(rows), &gpus[i], 10);
		assert_non_null(workload);
		expect_kernel("", blocks[i], warps[i]);
		close_rows();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_bytes), cmocka_unit_test(test_operations), cmocka_unit_test(test_shapes),
	        cmocka_unit_test(test_idle),       cmocka_unit_test(test_errors),
	        cmocka_unit_test(test_any_rows),   cmocka_unit_test(test_gpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
