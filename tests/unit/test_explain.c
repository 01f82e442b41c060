/* uvmsim explain: hand-written logs and what is told of them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "explain.h"

#define BLOCK "0x7f0000000000"
#define AT    UINT64_C(0x7f0000000000)

static char told[1048576], error[EXPLAIN_ERROR_MAX];

static bool explain(const char *log, struct explain_query query)
{
	FILE *in = tmpfile(), *out = tmpfile();
	bool is_good;
	size_t length;

	assert_non_null(in);
	assert_non_null(out);
	fputs(log, in);
	rewind(in);
	strcpy(error, "none");
	is_good = explain_log(in, "log", &query, out, error);
	rewind(out);
	length = fread(told, 1, sizeof(told) - 1, out);
	told[length] = '\0';
	fclose(in);
	fclose(out);
	return is_good;
}

/* The story of page 5 of the block. */
static void check_story(const char *log, const char *expected)
{
	struct explain_query query = {.has_address = true, .first = AT + 0x5678, .last = AT + 0x5678};

	assert_true(explain(log, query));
	assert_string_equal(told, expected);
}

static void check_bytes(const char *log, uint64_t first, uint64_t bytes, const char *expected)
{
	struct explain_query query = {.has_address = true, .first = first, .last = first + (bytes - 1)};

	assert_true(explain(log, query));
	assert_string_equal(told, expected);
}

static void test_demand_and_eviction(void **unused)
{
	(void)unused;
	check_story(
	        "1 batch t=80000 to=1 batch=3 count=4 detail=2\n"
	        "2 allocate t=81000 cause=demand space=1 block=" BLOCK
	        " pages=0-15 to=1 batch=3 detail=65536 offset=0x10000\n"
	        "3 copy t=81000 after=2 cause=demand space=1 block=" BLOCK " pages=0-15 from=0 to=1 batch=3\n"
	        "4 map t=81999 after=3 cause=demand space=1 block=" BLOCK
	        " pages=5 from=1 to=1 right=rwa batch=3\n"
	        "5 replay t=82000 to=1 batch=3\n"
	        "6 evict t=2000000 cause=eviction space=1 block=" BLOCK
	        " pages=0-15 from=1 victim=used for=0x7f0000200000 batch=9\n"
	        "7 unmap t=2000000 cause=eviction space=1 block=" BLOCK
	        " pages=5 to=1 for=0x7f0000200000 batch=9\n"
	        "8 copy t=2000001 cause=eviction space=1 block=" BLOCK
	        " pages=0-15 from=1 to=0 for=0x7f0000200000 batch=9\n"
	        "9 free t=2000001 cause=eviction space=1 block=" BLOCK
	        " pages=0-15 from=1 for=0x7f0000200000 batch=9 detail=2097152\n"
	        "10 copy t=2500000 cause=demand space=1 block=0x7f0000200000 pages=5 from=0 to=1 batch=9\n",
	        "t=0.081 ms  batch 3  allocated: 64 KiB at 0x10000 of GPU 1, for page 5 of block " BLOCK
	        ", on demand\n"
	        "t=0.081 ms  batch 3  demand: page 5 of block " BLOCK
	        " was not resident on GPU 1; migrated from the CPU with 15 pages around it\n"
	        "t=0.081 ms  batch 3  mapped (read-write-atomic): page 5 of block " BLOCK
	        " for GPU 1, on demand\n"
	        "t=2.000 ms  batch 9  evicted as the oldest of USED to make room for block 0x7f0000200000: "
	        "page 5 of block " BLOCK " from GPU 1\n"
	        "t=2.000 ms  batch 9  unmapped: page 5 of block " BLOCK
	        " from GPU 1, to make room for block 0x7f0000200000\n"
	        "t=2.000 ms  batch 9  eviction: page 5 of block " BLOCK
	        " migrated from GPU 1 to the CPU with 15 pages around it, to make room for block 0x7f0000200000\n"
	        "t=2.000 ms  batch 9  freed: 2 MiB at 0x0 of GPU 1, where page 5 of block " BLOCK
	        " was, to make room for block 0x7f0000200000\n"
	        "0x7f0000005678: arrived 1 time: 1 demand; evicted 1 time\n");
}

static void test_prefetch(void **unused)
{
	(void)unused;
	check_story(
	        "1 copy t=1 cause=prefetch block=" BLOCK
	        " pages=5-6 from=0 to=2 batch=1 faulted=5 present=12\n"
	        "2 copy t=2 cause=prefetch block=" BLOCK " pages=5 from=2 to=1 batch=1 faulted=1\n"
	        "3 copy t=3 cause=prefetch block=" BLOCK " pages=5 from=1 to=0 batch=1\n"
	        "4 populate t=4 cause=prefetch block=" BLOCK " pages=4-9 to=1 batch=2 present=2\n",
	        "t=0.000 ms  batch 1  prefetch: page 5 of block " BLOCK
	        " migrated to GPU 2 from the CPU with 1 page around it, prefetched because 17 pages of the block "
	        "had faulted or were resident (faulted=5, present=12)\n"
	        "t=0.000 ms  batch 1  prefetch: page 5 of block " BLOCK
	        " migrated to GPU 1 from GPU 2, prefetched because 1 page of the block "
	        "had faulted or was resident (faulted=1, present=0)\n"
	        "t=0.000 ms  batch 1  prefetch: page 5 of block " BLOCK
	        " migrated to the CPU from GPU 1, prefetched\n"
	        "t=0.000 ms  batch 2  new: page 5 of block " BLOCK
	        " arrives as zeros on GPU 1 with 5 pages around it, prefetched because 2 pages of the block "
	        "had faulted or were resident (faulted=0, present=2)\n"
	        "0x7f0000005678: arrived 4 times: 4 prefetch; evicted 0 times\n");
}

/* -- why a page was prefetched -- */

/* A log of one block, made line by line. Copies in a row are one step: each waits for the one before. */
static struct {
	char text[512 * 1024];
	size_t length;
	unsigned id;
	bool is_step;
	const char *block, *page_bytes;
} made;

static void start_log(void)
{
	made.length = made.id = 0;
	made.is_step = false;
	made.block = BLOCK;
	made.page_bytes = "";
}

static void end_step(void)
{
	made.is_step = false;
}

static void add(const char *kind, const char *cause, const char *pages, const char *rest)
{
	char after[32] = "";

	if (made.is_step)
		snprintf(after, sizeof(after), " after=%u", made.id);
	made.length += (size_t)snprintf(made.text + made.length, sizeof(made.text) - made.length,
	                                "%u %s t=0%s cause=%s block=%s pages=%s%s%s\n", ++made.id, kind,
	                                after, cause, made.block, pages, made.page_bytes, rest);
}

static void add_copy(const char *cause, unsigned from, unsigned to, const char *pages, const char *counts)
{
	char rest[128];

	snprintf(rest, sizeof(rest), " from=%u to=%u batch=1%s", from, to, counts);
	add("copy", cause, pages, rest);
	made.is_step = true;
}

static void add_faulted(unsigned from, unsigned to, const char *pages, unsigned detail)
{
	char counts[32];

	snprintf(counts, sizeof(counts), " detail=%u", detail);
	add_copy("demand", from, to, pages, counts);
}

static void add_fetched(unsigned from, unsigned to, const char *pages, const char *counts)
{
	add_copy("prefetch", from, to, pages, counts);
}

static void add_other(const char *kind, const char *cause, const char *pages, const char *rest)
{
	end_step();
	add(kind, cause, pages, rest);
}

/* The block is backed as a whole. */
static void add_whole(void)
{
	add_other("allocate", "demand", "0-511", " to=1 batch=1 detail=2097152");
}

static void add_eviction(const char *pages)
{
	add_other("evict", "eviction", pages, " from=1 victim=used batch=1");
	add_other("unmap", "eviction", pages, " to=1 batch=1");
	add_copy("eviction", 1, 0, pages, "");
}

/* The reasons of all prefetched pages of the story, one a line. */
static void check_reasons(uint64_t page, uint64_t pages, const char *expected)
{
	struct explain_query query = {.has_address = true, .first = AT + page * 4096};
	static char reasons[sizeof(told)];
	size_t length = 0;

	query.last = query.first + pages * 4096 - 1;
	assert_true(explain(made.text, query));
	for (char *line = strtok(told, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		const char *reason = strstr(line, ", prefetched ");

		if (reason != NULL)
			length += (size_t)snprintf(reasons + length, sizeof(reasons) - length, "%s\n",
			                           reason + strlen(", prefetched "));
	}
	reasons[length] = '\0';
	assert_string_equal(reasons, expected);
}

#define OWN "with the 64 KiB big page that faulted\n"
#define SUBTREE(counts, whose, where)                                                                        \
	"because " counts " big pages of " whose " subtree (" where ") had faulted or were resident\n"
#define COUNTS(pages, counts) "because " pages " pages of the block had faulted or were resident (" counts ")\n"

static void test_upgrade(void **unused)
{
	(void)unused;
	start_log();
	add_faulted(0, 1, "3", 1);
	add_faulted(0, 1, "20-21", 2);
	add_fetched(0, 1, "0-2", " faulted=3 subtrees=0,16");
	add_fetched(0, 1, "4-19", " faulted=3 subtrees=0,16,32");
	add_fetched(0, 1, "22-31", " faulted=3 subtrees=16,32");
	/* In the order of the log, although the reason of 0-2 is known only when all is read. */
	check_bytes(made.text, AT, 4096 * 4,
	            "t=0.000 ms  batch 1  demand: page 3 of block " BLOCK
	            " was not resident on GPU 1; migrated from the CPU\n"
	            "t=0.000 ms  batch 1  prefetch: pages 0-2 of block " BLOCK
	            " migrated to GPU 1 from the CPU, prefetched " OWN
	            "0x7f0000000000-0x7f0000003fff: its pages arrived 4 times: 1 demand, 3 prefetch; evicted 0 "
	            "times\n");
	check_reasons(10, 1, OWN);
	check_reasons(31, 1, OWN);
	check_reasons(10, 8, "with the 64 KiB big pages that faulted\n");
}

/* Copies that wait for nothing are a step of their own. */
static void test_steps(void **unused)
{
	(void)unused;
	start_log();
	add_faulted(0, 1, "3", 1);
	end_step();
	add_fetched(0, 1, "0-2", " faulted=1 present=1 subtrees=0,16"); /* page 3 faulted again */
	add_fetched(0, 1, "4-15", " faulted=1 present=1 subtrees=0,16");
	check_reasons(1, 1, OWN);
	/* A part of a big page, then the rest. */
	start_log();
	add_faulted(0, 1, "3", 1);
	end_step();
	add_fetched(0, 1, "0-1", " faulted=1 present=1 subtrees=0,16");
	end_step();
	add_fetched(0, 1, "2,4-15", " faulted=1 present=3 subtrees=0,16");
	check_reasons(1, 1, OWN);
	check_reasons(2, 1, OWN);
	/* What faulted is not named, or too much of it is. */
	start_log();
	add_fetched(0, 1, "0-15", " faulted=3 subtrees=0,16");
	check_reasons(1, 1, COUNTS("3", "faulted=3, present=0"));
	start_log();
	add_faulted(0, 1, "3-6", 4);
	add_fetched(0, 1, "0-2,7-15", " faulted=3 subtrees=0,16");
	check_reasons(1, 1, COUNTS("3", "faulted=3, present=0"));
}

/* 3 of 4 big pages; then 2 more and those that are there are 6 of 8; then 9 more and those 8 are 17 of 32. */
static void test_subtrees(void **unused)
{
	(void)unused;
	start_log();
	add_whole();
	add_faulted(0, 1, "0", 1);
	add_faulted(0, 1, "16-17", 2);
	add_faulted(0, 1, "40", 1);
	add_fetched(0, 1, "1-15", " faulted=4 subtrees=0,64");
	add_fetched(0, 1, "18-39", " faulted=4 subtrees=0,64");
	add_fetched(0, 1, "41-63", " faulted=4 subtrees=0,64");
	add_other("map", "demand", "0-63", " from=1 to=1 right=rwa batch=1");
	add_faulted(0, 1, "64", 1);
	add_faulted(0, 1, "80", 1);
	add_fetched(0, 1, "65-79", " faulted=2 present=64 subtrees=0,128");
	add_fetched(0, 1, "81-127", " faulted=2 present=64 subtrees=0,128");
	end_step();
	add_faulted(0, 1, "128-271", 144);
	add_fetched(0, 1, "272-511", " faulted=144 present=128 subtrees=0");
	check_reasons(1, 1, SUBTREE("3 of the 4", "its", "256 KiB at " BLOCK));
	check_reasons(63, 1, SUBTREE("3 of the 4", "its", "256 KiB at " BLOCK));
	check_reasons(100, 28, SUBTREE("6 of the 8", "their", "512 KiB at " BLOCK));
	check_reasons(511, 1, SUBTREE("17 of the 32", "its", "2 MiB at " BLOCK));
	/* The upper half; what is there before it is no part of it. */
	start_log();
	add_whole();
	add_faulted(0, 1, "5", 1);
	add_faulted(0, 1, "256-399", 144);
	add_fetched(0, 1, "400-511", " faulted=145 subtrees=256");
	check_reasons(511, 1, SUBTREE("9 of the 16", "its", "1 MiB at 0x7f0000100000"));
	/* A low threshold. */
	start_log();
	add_whole();
	add("populate", "demand", "0-3", " to=1 batch=1 detail=4");
	made.is_step = true;
	add("populate", "prefetch", "4-511", " to=1 batch=1 faulted=4 subtrees=0");
	check_reasons(511, 1,
	              "because 1 of the 32 big pages of its subtree (2 MiB at " BLOCK
	              ") had faulted or was resident\n");
	/* No subtree: prefetch=locality. */
	start_log();
	add_whole();
	add_faulted(0, 1, "5", 1);
	add_fetched(0, 1, "6-132", " faulted=1");
	check_reasons(20, 100,
	              "because 1 page of the block had faulted or was resident (faulted=1, present=0)\n");
	check_reasons(7, 1, "because 1 page of the block had faulted or was resident (faulted=1, present=0)\n");
}

/* One copy ends the pages of a subtree and begins those of the next one. */
static void test_two_subtrees(void **unused)
{
	(void)unused;
	start_log();
	add_whole();
	add_faulted(0, 1, "0", 1);
	add_faulted(0, 1, "16", 1);
	add_faulted(0, 1, "32", 1);
	add_fetched(0, 1, "33-79", " faulted=6 subtrees=0,64,96");
	add_faulted(0, 1, "80", 1);
	add_faulted(0, 1, "96-97", 2);
	add_fetched(0, 1, "98-111", " faulted=6 subtrees=96,112");
	check_reasons(63, 1, SUBTREE("3 of the 4", "its", "256 KiB at " BLOCK));
	check_reasons(64, 1,
	              "because 1 of the 2 big pages of its subtree (128 KiB at 0x7f0000040000) had faulted or "
	              "was resident\n");
	check_reasons(63, 2,
	              "because 3 of the 4 big pages of their subtree (256 KiB at " BLOCK
	              ") and 1 of the 2 big pages of the next one (128 KiB at 0x7f0000040000) had faulted or "
	              "were resident\n");
	/* All big pages of both were set. */
	check_reasons(100, 1, OWN);
	start_log();
	add_faulted(0, 1, "0", 1);
	add_fetched(0, 1, "1-30", " faulted=2 subtrees=0,16,32");
	add_faulted(0, 1, "31", 1);
	check_reasons(15, 2, "with the 64 KiB big pages that faulted\n");
	check_reasons(14, 2, OWN);
	check_reasons(16, 2, OWN);
}

/* The last subtree of a block ends with it. */
static void test_small_blocks(void **unused)
{
	(void)unused;
	start_log(); /* 40 pages, two and a half big pages */
	add_faulted(0, 1, "0", 1);
	add_faulted(0, 1, "16", 1);
	add_fetched(0, 1, "1-15", " faulted=2 subtrees=0,40");
	add_fetched(0, 1, "17-39", " faulted=2 subtrees=0,40");
	check_reasons(39, 1, SUBTREE("2 of the 3", "its", "160 KiB at " BLOCK));
	start_log();
	add_faulted(0, 1, "0-15", 16);
	add_faulted(0, 1, "48-79", 32);
	add_fetched(0, 1, "16-47", " faulted=48 subtrees=0,80");
	check_reasons(20, 1, SUBTREE("3 of the 5", "its", "320 KiB at " BLOCK));
	start_log(); /* behind the subtree there is more */
	add_faulted(0, 1, "0-15", 16);
	add_faulted(0, 1, "32-79", 48);
	add_fetched(0, 1, "16-31", " faulted=64 subtrees=0,64");
	check_reasons(20, 1, SUBTREE("3 of the 4", "its", "256 KiB at " BLOCK));
	start_log();
	add_faulted(0, 1, "0-15", 16);
	add_faulted(0, 1, "32-111", 80);
	add_fetched(0, 1, "16-31", " faulted=96 subtrees=0,112");
	check_reasons(20, 1, SUBTREE("6 of the 7", "its", "448 KiB at " BLOCK));
	start_log(); /* less than a big page */
	add_faulted(0, 1, "0", 1);
	add_fetched(0, 1, "1-6", " faulted=1 subtrees=0,7");
	check_reasons(6, 1, OWN);
}

/* A block that begins 5 pages behind a big-page boundary. Trees begin at the boundary, and the pages fetched
 * with the first node exclude the first 5 pages [driver: padding-clamp]. */
static void test_padding(void **unused)
{
	(void)unused;
	start_log();
	made.block = "0x7f0000005000";
	add_faulted(0, 1, "7", 1);
	add_faulted(0, 1, "11", 1);
	add_faulted(0, 1, "27", 1);
	add_fetched(0, 1, "5-6", " faulted=3 subtrees=0,59");
	add_fetched(0, 1, "8-10", " faulted=3 subtrees=0,59");
	add_fetched(0, 1, "12-26", " faulted=3 subtrees=0,59");
	add_fetched(0, 1, "28-58", " faulted=3 subtrees=0,59");
	check_reasons(5 + 58, 1, SUBTREE("3 of the 4", "its", "236 KiB at 0x7f0000005000"));
	check_reasons(5 + 9, 1, SUBTREE("3 of the 4", "its", "236 KiB at 0x7f0000005000"));
}

/* All pages of the block arrived and were evicted. */
static void start_evicted(void)
{
	start_log();
	add_whole();
	add_faulted(0, 1, "0-271", 272);
	add_fetched(0, 1, "272-511", " faulted=272 subtrees=0");
	add_eviction("0-511");
	end_step();
}

static void test_after_eviction(void **unused)
{
	(void)unused;
	start_evicted(); /* no page is resident */
	add_faulted(0, 1, "500", 1);
	add_fetched(0, 1, "496-499", " faulted=1 subtrees=496");
	add_fetched(0, 1, "501-511", " faulted=1 subtrees=496");
	check_reasons(510, 1, SUBTREE("17 of the 32", "its", "2 MiB at " BLOCK) OWN);
	start_evicted(); /* the log says otherwise: a copy failed */
	add_faulted(0, 1, "500", 1);
	add_fetched(0, 1, "496-499", " faulted=1 present=9 subtrees=496");
	add_fetched(0, 1, "501-511", " faulted=1 present=9 subtrees=496");
	check_reasons(510, 1,
	              SUBTREE("17 of the 32", "its", "2 MiB at " BLOCK) COUNTS("10", "faulted=1, present=9"));
	start_evicted(); /* the range is freed, and there is a new one */
	add_faulted(0, 1, "0-63", 64);
	add_other("unmap", "free", "0-63", " to=1");
	add_other("free", "free", "0-511", " from=1 detail=2097152");
	add_faulted(0, 1, "64", 1);
	add_fetched(0, 1, "65-79", " faulted=1 subtrees=64,80");
	check_reasons(70, 1, OWN);
}

/* Only freed pages lose their residency; the block that frees memory has no page in it. */
static void test_freed_part(void **unused)
{
	(void)unused;
	start_log(); /* the upper end: three big pages are left */
	add_faulted(0, 1, "0-15", 16);
	add_faulted(0, 1, "48-63", 16);
	end_step();
	add_other("unmap", "free", "48-63", " to=1");
	add_faulted(0, 1, "16", 1);
	add_fetched(0, 1, "17-47", " faulted=1 present=16 subtrees=0,48");
	check_reasons(40, 1, SUBTREE("2 of the 3", "its", "192 KiB at " BLOCK));
	start_log(); /* out of the middle */
	add_whole();
	add_faulted(0, 1, "0-47", 48);
	end_step();
	add_other("unmap", "free", "16-31", " to=1");
	add_faulted(0, 1, "64", 1);
	add_fetched(0, 1, "65-79", " faulted=1 present=32 subtrees=64,80");
	check_reasons(70, 1, OWN);
	start_log(); /* one of two gives back its memory */
	add_whole();
	add_faulted(0, 1, "0-31", 32);
	end_step();
	add_other("free", "free", "0-511", " from=2 detail=2097152");
	add_faulted(0, 1, "32", 1);
	add_fetched(0, 1, "33-63", " faulted=1 present=32 subtrees=0,64");
	check_reasons(60, 1, SUBTREE("3 of the 4", "its", "256 KiB at " BLOCK));
}

/* The CPU wants one of its pages back; it has had the rest since the beginning. */
static void test_to_the_cpu(void **unused)
{
	(void)unused;
	start_log();
	add_whole();
	add_other("unmap", "demand", "0-63", " to=0 batch=1");
	add_faulted(0, 1, "0-63", 64);
	end_step();
	add_faulted(1, 0, "5", 1);
	add_fetched(1, 0, "0-4", " faulted=1 present=448 subtrees=0");
	add_fetched(1, 0, "6-63", " faulted=1 present=448 subtrees=0");
	check_reasons(60, 1, SUBTREE("29 of the 32", "its", "2 MiB at " BLOCK));
	start_log(); /* it has nothing of a range that began as zeros on the GPU */
	add_whole();
	add_other("populate", "demand", "0-511", " to=1 batch=1 detail=512");
	end_step();
	add_faulted(1, 0, "5", 1);
	add_fetched(1, 0, "0-4", " faulted=1 subtrees=0,16");
	add_fetched(1, 0, "6-15", " faulted=1 subtrees=0,16");
	check_reasons(10, 1, OWN);
}

/* Pages leave one by one, also of the block whose faults are serviced. */
static void test_pagewise(void **unused)
{
	(void)unused;
	start_log();
	add_faulted(0, 1, "0-47", 48);
	add_eviction("3");
	add_eviction("44");
	end_step();
	add_faulted(0, 1, "48", 1);
	add_fetched(0, 1, "44", " faulted=1 present=46 subtrees=32,64"); /* page 3 is in the other half */
	add_fetched(0, 1, "49-63", " faulted=1 present=46 subtrees=32,64");
	check_reasons(60, 1, OWN);
	check_reasons(44, 1, SUBTREE("2 of the 2", "its", "128 KiB at 0x7f0000020000"));
}

static void test_two_gpus(void **unused)
{
	(void)unused;
	start_log();
	add_other("unmap", "demand", "0-63", " to=0 batch=1");
	add_faulted(0, 1, "0-63", 64);
	add_other("map", "demand", "0-63", " from=1 to=1 right=rwa batch=1");
	add_other("unmap", "demand", "0-31", " to=1 batch=1"); /* a move */
	add_faulted(1, 2, "0-31", 32);
	add_other("map", "demand", "0-31", " from=2 to=2 right=rwa batch=1");
	add_other("unmap", "demand", "32-63", " to=1 batch=1");
	add_faulted(1, 2, "32", 1);
	add_fetched(1, 2, "33-63", " faulted=1 present=32 subtrees=0,64");
	end_step();
	add_faulted(2, 1, "0", 1);
	add_fetched(2, 1, "1-15", " faulted=1 subtrees=0,16");
	check_reasons(60, 1, SUBTREE("3 of the 4", "its", "256 KiB at " BLOCK));
	check_reasons(10, 1, OWN);
	/* Over the CPU, where the pages do not stay: of that leg nothing is known. */
	end_step();
	add_other("unmap", "demand", "16-31", " to=2 batch=1");
	add_faulted(2, 0, "16", 1);
	add_faulted(0, 1, "16", 1);
	add_fetched(2, 0, "17-31", " faulted=1 present=16 subtrees=16,32");
	add_fetched(0, 1, "17-31", " faulted=1 present=16 subtrees=16,32");
	check_reasons(20, 1, COUNTS("17", "faulted=1, present=16") OWN);
}

static void test_duplicates(void **unused)
{
	(void)unused;
	start_log();
	add_other("unmap", "demand", "0-47", " to=0 batch=1");
	add_faulted(0, 1, "0-47", 48);
	add_other("map", "demand", "0-47", " from=1 to=1 right=rw batch=1");
	add_other("revoke", "revoke", "0-47", " to=1 right=r batch=1");
	add_faulted(1, 2, "0-47", 48); /* GPU 1 keeps them and maps them yet */
	add_other("map", "demand", "0-47", " from=2 to=2 right=r batch=1");
	add_faulted(0, 1, "48", 1);
	add_fetched(0, 1, "49-63", " faulted=1 present=48 subtrees=48,64");
	add_other("map", "demand", "48-63", " from=1 to=2 right=r batch=1"); /* remote */
	check_reasons(60, 1, OWN);
	/* An eviction takes the copies of GPU 2 too. */
	add_eviction("0-63");
	end_step();
	add_faulted(0, 2, "3", 1);
	add_fetched(0, 2, "0-2", " faulted=1 subtrees=0,16");
	add_fetched(0, 2, "4-15", " faulted=1 subtrees=0,16");
	check_reasons(10, 1, OWN);
	/* Without a mapping a copy is taken for moved; then the log says that it is still there. */
	start_log();
	add_faulted(0, 1, "0-47", 48);
	add_other("map", "demand", "0-47", " from=1 to=1 right=rw batch=1");
	add_other("revoke", "revoke", "0-47", " to=1 batch=1");
	add_faulted(1, 2, "0-47", 48);
	end_step();
	add_faulted(0, 1, "48", 1);
	add_fetched(0, 1, "49-63", " faulted=1 present=48 subtrees=48,64");
	check_reasons(60, 1, COUNTS("49", "faulted=1, present=48"));
}

static void test_late_log(void **unused)
{
	(void)unused;
	start_log(); /* what was there before is not known */
	made.is_step = true;
	made.id = 99;
	add_faulted(0, 1, "48", 1);
	add_fetched(0, 1, "40-47", " faulted=1 present=40 subtrees=0,64");
	add_fetched(0, 1, "49-63", " faulted=1 present=40 subtrees=0,64");
	check_reasons(60, 1, COUNTS("41", "faulted=1, present=40"));
	start_log(); /* unless something shows it */
	add_other("map", "demand", "0-39", " from=1 to=2 right=r batch=1");
	add_faulted(0, 1, "48", 1);
	add_fetched(0, 1, "40-47", " faulted=1 present=40 subtrees=0,64");
	add_fetched(0, 1, "49-63", " faulted=1 present=40 subtrees=0,64");
	check_reasons(60, 1, OWN);
	check_reasons(44, 1, SUBTREE("4 of the 4", "its", "256 KiB at " BLOCK));
}

/* More than a step can have: told nevertheless, each once. */
static void test_endless_step(void **unused)
{
	const char *end;
	unsigned lines = 0;

	(void)unused;
	start_log();
	for (unsigned i = 0; i < 2100; i++)
		add_fetched(0, 1, "5", " faulted=1");
	check_reasons(6, 1, "");
	assert_true(explain(
	        made.text,
	        (struct explain_query){.has_address = true, .first = AT + 0x5000, .last = AT + 0x5000}));
	for (end = told; *end != '\0'; end++)
		lines += *end == '\n';
	assert_int_equal(lines, 2101);
	assert_non_null(strstr(told, "arrived 2100 times: 2100 prefetch; evicted 0 times\n"));
}

static void test_big_page_is_page(void **unused)
{
	(void)unused;
	start_log();
	made.page_bytes = " page_bytes=65536";
	add_other("allocate", "demand", "0-31", " to=1 batch=1 detail=2097152");
	add_faulted(0, 1, "0-9", 10);
	add_faulted(0, 1, "20-26", 7);
	add_fetched(0, 1, "10-19", " faulted=17 subtrees=0,32");
	add_fetched(0, 1, "27-31", " faulted=17 subtrees=0,32");
	check_reasons(511, 1, SUBTREE("17 of the 32", "its", "2 MiB at " BLOCK));
	/* Pages of such sizes make no big pages. */
	for (unsigned i = 0; i < 3; i++) {
		static const char *const odd[] = {" page_bytes=131072", " page_bytes=5000", " page_bytes=1"};

		start_log();
		made.page_bytes = odd[i];
		add_faulted(0, 1, "0", 1);
		add_fetched(0, 1, "1-511", " faulted=2 subtrees=0");
		check_reasons(0, 512, COUNTS("2", "faulted=2, present=0"));
	}
}

/* plan=overlapped: another block leaves meanwhile. */
static void test_overlapped(void **unused)
{
	(void)unused;
	start_log();
	made.block = "0x7f0000200000";
	add_other("evict", "eviction", "0-511", " from=1 victim=used batch=1");
	made.block = BLOCK;
	add_faulted(0, 1, "3", 1);
	made.block = "0x7f0000200000";
	add_copy("eviction", 1, 0, "0-511", "");
	made.block = BLOCK;
	add_fetched(0, 1, "0-2", " faulted=1 subtrees=0,16");
	add_fetched(0, 1, "4-15", " faulted=1 subtrees=0,16");
	check_reasons(1, 1, OWN);
	check_bytes(made.text, AT + 0xf000, 4096 * 500,
	            "t=0.000 ms  batch 1  evicted as the oldest of USED to make room: pages 0-2 of block "
	            "0x7f0000200000 from GPU 1\n"
	            "t=0.000 ms  batch 1  eviction: pages 0-2 of block 0x7f0000200000 migrated from GPU 1 to the CPU "
	            "with 509 pages around them, to make room\n"
	            "t=0.000 ms  batch 1  prefetch: page 15 of block " BLOCK
	            " migrated to GPU 1 from the CPU with 11 pages around it, prefetched " OWN
	            "0x7f000000f000-0x7f0000202fff: its pages arrived 1 time: 1 prefetch; evicted 3 times\n");
}

static void test_thrashing(void **unused)
{
	(void)unused;
	check_story(
	        "1 throttle t=81000 cause=thrashing block=" BLOCK " pages=5 to=1 until=581000\n"
	        "2 copy t=90000 cause=pin block=" BLOCK " pages=5 from=1 to=0 throttles=10\n"
	        "3 map t=90000 cause=pin block=" BLOCK " pages=5 from=0 to=1 right=rw throttles=10\n"
	        "4 map t=90000 cause=pin block=" BLOCK " pages=5 from=0 to=2 right=r throttles=1\n"
	        "5 unpin t=150090000 block=" BLOCK " pages=5\n"
	        "6 map t=150100000 cause=pin block=" BLOCK " pages=5 to=1 right=r throttles=3\n",
	        "t=0.081 ms  throttled until 0.581 ms: GPU 1 is not serviced for page 5 of block " BLOCK
	        ", because other processors use it too\n"
	        "t=0.090 ms  pin: page 5 of block " BLOCK
	        " migrated to the CPU from GPU 1, pinned after 10 throttlings\n"
	        "t=0.090 ms  mapped remotely (read-write), resident on the CPU: page 5 of block " BLOCK
	        " for GPU 1, pinned after 10 throttlings\n"
	        "t=0.090 ms  mapped remotely (read), resident on the CPU: page 5 of block " BLOCK
	        " for GPU 2, pinned after 1 throttling\n"
	        "t=150.090 ms  unpinned: page 5 of block " BLOCK " may migrate again\n"
	        "t=150.100 ms  mapped (read): page 5 of block " BLOCK
	        " for GPU 1, pinned after 3 throttlings\n"
	        "0x7f0000005678: arrived 1 time: 1 pin; evicted 0 times; throttled 1 time; pinned 2 times\n");
}

/* Every story has the patterns, since they select the next victims. They do not describe the page itself. */
static void test_patterns(void **unused)
{
	struct explain_query query = {
	        .has_address = true, .first = AT, .last = AT, .has_space = true, .space = 2};
	static const char log[] = "1 pattern t=0 cause=adapt space=1 block=0x1000000 count=1\n"
	                          "2 copy t=0 cause=demand space=1 block=" BLOCK " pages=5 from=0 to=1\n"
	                          "3 pattern t=1000 cause=adapt space=2 block=0x2000000 batch=7 count=4\n"
	                          "4 pattern t=2000 cause=adapt batch=8 detail=2 update=1\n"
	                          "5 pattern t=3000 cause=adapt space=1 block=0x1000000 count=7\n"
	                          "6 pattern t=4000 cause=adapt detail=3 update=1\n";

	(void)unused;
	check_story(
	        log,
	        "t=0.000 ms  pattern: the allocation at 0x1000000 is linear\n"
	        "t=0.000 ms  demand: page 5 of block " BLOCK " was not resident on GPU 1; migrated from the CPU\n"
	        "t=0.001 ms  batch 7  space 2  pattern: the allocation at 0x2000000 is random, with "
	        "reuse\n"
	        "t=0.002 ms  batch 8  pattern: from now on victims are chosen by trees, and pages "
	        "are accessed remotely\n"
	        "t=0.003 ms  pattern: the allocation at 0x1000000 is ?\n"
	        "t=0.004 ms  pattern: from now on ?\n"
	        "0x7f0000005678: arrived 1 time: 1 demand; evicted 0 times\n");
	assert_true(explain(log, query));
	assert_string_equal(
	        told, "t=0.001 ms  batch 7  pattern: the allocation at 0x2000000 is random, with reuse\n"
	              "t=0.002 ms  batch 8  pattern: from now on victims are chosen by trees, and pages "
	              "are accessed remotely\n"
	              "t=0.004 ms  pattern: from now on ?\n"
	              "0x7f0000000000: the log has no action of this memory\n");
	/* before the summary */
	assert_true(explain("1 pattern t=0 cause=adapt space=1 block=0x1000000 count=1\n",
	                    (struct explain_query){.has_address = false}));
	assert_ptr_equal(strstr(told, "t=0.000 ms  pattern: the allocation at 0x1000000 is linear\n"), told);
	assert_non_null(strstr(told, "1 action: 1 pattern\n"));
}

static void test_other_causes(void **unused)
{
	(void)unused;
	check_story("1 copy t=0 cause=counter block=" BLOCK " pages=5 from=0 to=1\n"
	            "2 copy t=0 cause=hint block=" BLOCK " pages=5 from=0 to=1\n"
	            "3 copy t=0 cause=migrate block=" BLOCK " pages=5 from=1 to=0 ticket=77\n"
	            "4 revoke t=0 cause=revoke block=" BLOCK " pages=5 to=1 right=r\n"
	            "5 revoke t=0 cause=revoke block=" BLOCK " pages=5 to=2\n"
	            "6 discard t=0 cause=eviction block=" BLOCK " pages=5 from=1\n"
	            "7 unmap t=0 cause=free block=" BLOCK " pages=5 to=1\n"
	            "8 unmap t=0 cause=error block=" BLOCK " pages=5 to=1 status=-5\n"
	            "9 unmap t=0 cause=fatal block=" BLOCK " pages=5 to=1\n"
	            "10 copy t=0 block=" BLOCK " pages=5 to=1\n"
	            "11 wait t=0 block=" BLOCK " pages=5 to=1\n",
	            "t=0.000 ms  counter: page 5 of block " BLOCK
	            " migrated to GPU 1 from the CPU, because access counters report remote accesses\n"
	            "t=0.000 ms  hint: page 5 of block " BLOCK
	            " migrated to GPU 1 from the CPU, because of a preferred location, accessed-by or read "
	            "duplication\n"
	            "t=0.000 ms  request 77  migrate: page 5 of block " BLOCK
	            " migrated to the CPU from GPU 1, because the program requested it\n"
	            "t=0.000 ms  revoked: GPU 1 keeps only read on page 5 of block " BLOCK
	            ", because another processor writes\n"
	            "t=0.000 ms  revoked: GPU 2 keeps nothing on page 5 of block " BLOCK
	            ", because another processor writes\n"
	            "t=0.000 ms  discarded: page 5 of block " BLOCK
	            " on GPU 1 has no valid contents and is not copied, to make room\n"
	            "t=0.000 ms  unmapped: page 5 of block " BLOCK " from GPU 1, because the range was freed\n"
	            "t=0.000 ms  unmapped: page 5 of block " BLOCK
	            " from GPU 1, because of a failure (no memory, and no unit to evict)\n"
	            "t=0.000 ms  unmapped: page 5 of block " BLOCK
	            " from GPU 1, because there is no range or no permission\n"
	            "t=0.000 ms  none: page 5 of block " BLOCK " migrated to GPU 1 from somewhere\n"
	            "t=0.000 ms  wait: page 5 of block " BLOCK "\n"
	            "0x7f0000005678: arrived 4 times: 1 none, 1 counter, 1 hint, 1 migrate; evicted 1 time\n");
}

static void test_victims(void **unused)
{
	(void)unused;
	check_story("1 evict t=0 cause=eviction block=" BLOCK " pages=5 from=1 victim=free\n"
	            "2 evict t=0 cause=eviction block=" BLOCK " pages=5 from=1 victim=unused\n"
	            "3 evict t=0 cause=eviction block=" BLOCK " pages=5 from=1 victim=discarded\n"
	            "4 evict t=0 cause=eviction block=" BLOCK " pages=5 from=1 victim=order for=0x200000\n"
	            "5 evict t=0 cause=eviction block=" BLOCK " pages=5 from=1 victim=oldest\n"
	            "6 evict t=0 cause=eviction block=" BLOCK " pages=5 from=1 victim=newest\n"
	            "7 evict t=0 cause=eviction block=" BLOCK " pages=5 from=1 victim=sample\n",
	            "t=0.000 ms  evicted as a free root that was not yet returned to make room: page 5 of "
	            "block " BLOCK " from GPU 1\n"
	            "t=0.000 ms  evicted as the oldest of UNUSED to make room: page 5 of block " BLOCK
	            " from GPU 1\n"
	            "t=0.000 ms  evicted as the oldest of DISCARDED to make room: page 5 of block " BLOCK
	            " from GPU 1\n"
	            "t=0.000 ms  evicted as the next of the eviction order to make room for block 0x200000: "
	            "page 5 "
	            "of block " BLOCK " from GPU 1\n"
	            "t=0.000 ms  evicted as the longest without a fault to make room: page 5 of block " BLOCK
	            " from GPU 1\n"
	            "t=0.000 ms  evicted as the newest of the old ones, because data return in a cycle, to "
	            "make room: page 5 of block " BLOCK " from GPU 1\n"
	            "t=0.000 ms  evicted as the longest without a fault, to compare with the newest of the "
	            "old ones, to make room: page 5 of block " BLOCK " from GPU 1\n"
	            "0x7f0000005678: arrived 0 times; evicted 0 times\n");
}

/* The rules of remote=auto: why pages return, why they stay, and why a block begins on the CPU. Lines of other policies have no
 * rule. */
static void test_rules_of_remote_access(void **unused)
{
	(void)unused;
	check_story("1 copy t=0 cause=counter block=" BLOCK " pages=5 from=0 to=1 rule=limit\n"
	            "2 copy t=0 cause=counter block=" BLOCK " pages=5 from=0 to=1 rule=drawn\n"
	            "3 populate t=0 cause=counter block=" BLOCK " pages=5 to=1 rule=idle\n"
	            "4 clear t=0 cause=counter block=" BLOCK " pages=0-31 to=1 rule=below-limit\n"
	            "5 clear t=0 cause=counter block=" BLOCK " pages=5 to=2 rule=not-drawn batch=3\n"
	            "6 clear t=0 cause=counter block=" BLOCK " to=1 rule=not-drawn\n"
	            "7 clear t=0 cause=counter block=" BLOCK " pages=6 to=1 rule=below-limit\n"
	            "8 clear t=0 cause=counter to=1\n"
	            "9 map t=0 cause=counter block=" BLOCK " pages=5 from=0 to=1 right=rw rule=full\n"
	            "10 map t=0 cause=counter block=" BLOCK " pages=5 from=0 to=1 right=rw rule=short\n"
	            "11 map t=0 cause=counter block=" BLOCK " pages=5 from=0 to=1 right=r\n"
	            "12 map t=0 cause=counter block=" BLOCK " pages=5 from=1 to=1 right=rw\n"
	            "13 map t=0 cause=counter block=" BLOCK " pages=5 to=1 right=rw\n"
	            "14 copy t=0 cause=counter block=" BLOCK " pages=5 from=0 to=1 rule=expected\n",
	            "t=0.000 ms  counter: page 5 of block " BLOCK " migrated to GPU 1 from the CPU, because access "
	            "counters report remote accesses; the accesses have cost the limit, and memory has never been full\n"
	            "t=0.000 ms  counter: page 5 of block " BLOCK " migrated to GPU 1 from the CPU, because access "
	            "counters report remote accesses; the accesses have cost the limit, and the block was drawn\n"
	            "t=0.000 ms  new: page 5 of block " BLOCK " arrives as zeros on GPU 1, because access counters "
	            "report remote accesses; the pages take the place of an idle allocation\n"
	            "t=0.000 ms  not moved to GPU 1: page 5 of block " BLOCK
	            "; the accesses have cost less than the limit\n"
	            "t=0.000 ms  batch 3  not moved to GPU 2: page 5 of block " BLOCK
	            "; the accesses have cost the limit, but the block was not drawn\n"
	            "t=0.000 ms  mapped remotely (read-write), resident on the CPU: page 5 of block " BLOCK
	            " for GPU 1, until enough accesses from there are counted; this is the first fault in the block, "
	            "and memory has been full\n"
	            "t=0.000 ms  mapped remotely (read-write), resident on the CPU: page 5 of block " BLOCK
	            " for GPU 1, until enough accesses from there are counted; this is the first fault in the block, "
	            "and memory will be full\n"
	            "t=0.000 ms  mapped remotely (read), resident on the CPU: page 5 of block " BLOCK
	            " for GPU 1, until enough accesses from there are counted\n"
	            "t=0.000 ms  mapped (read-write): page 5 of block " BLOCK
	            " for GPU 1, because access counters report remote accesses\n"
	            "t=0.000 ms  mapped (read-write): page 5 of block " BLOCK
	            " for GPU 1, because access counters report remote accesses\n"
	            "t=0.000 ms  counter: page 5 of block " BLOCK " migrated to GPU 1 from the CPU, because access "
	            "counters report remote accesses; the allocation is expected to be used for more than a round\n"
	            "0x7f0000005678: arrived 4 times: 4 counter; evicted 0 times\n");
}

/* The rules of prefetch=auto. */
static void test_rules(void **unused)
{
	static const struct {
		const char *word, *text;
	} rule[] = {{"fits", "nothing has been evicted yet, so that faults bring whole blocks"},
		    {"whole", "whole blocks are the cheapest for this allocation"},
		    {"dense", "subtrees in use are the cheapest for this allocation"},
		    {"sparse", "single pages or big pages are the cheapest for this allocation"},
		    {"probe-dense", "a probe: what do subtrees in use cost here?"},
		    {"probe-sparse", "a probe: what do single pages or big pages cost here?"},
		    {"rest", "parts of the block have cost as much as all of it"},
		    {"ahead", "faults go through the allocation block after block or beg"
		     "in with its first one, and this block is next"}};

	(void)unused;
	for (size_t i = 0; i < sizeof(rule) / sizeof(rule[0]); i++) {
		char log[400], story[800];

		snprintf(log, sizeof(log),
		         "1 copy t=0 cause=demand block=" BLOCK " pages=5 from=0 to=1 rule=%s\n"
		         "2 copy t=0 cause=prefetch block=" BLOCK " pages=5 from=0 to=1 rule=%s\n",
		         rule[i].word, rule[i].word);
		snprintf(story, sizeof(story),
		         "t=0.000 ms  demand: page 5 of block " BLOCK " was not resident on GPU 1; migrated "
		         "from the CPU; %s\n"
		         "t=0.000 ms  prefetch: page 5 of block " BLOCK " migrated to GPU 1 from the CPU, "
		         "prefetched; %s\n"
		         "0x7f0000005678: arrived 2 times: 1 demand, 1 prefetch; evicted 0 times\n",
		         rule[i].text, rule[i].text);
		check_story(log, story);
	}
}

static void test_cancelled(void **unused)
{
	(void)unused;
	check_story("1 cancel t=0 cause=fatal block=0x7f0000005fff to=1 mode=all batch=1\n"
	            "2 cancel t=0 cause=fatal block=0x7f0000006000 to=1 mode=all batch=1\n"
	            "3 cancel t=0 cause=fatal block=0x7f0000004fff to=1 mode=all batch=1\n"
	            "4 cancel t=0 cause=fatal block=" BLOCK " pages=5 to=1 mode=write batch=1\n"
	            "5 cancel t=0 cause=error block=" BLOCK " pages=5 to=1 mode=all batch=1 status=-5\n",
	            "t=0.000 ms  batch 1  cancelled: no range, accesses of GPU 1 to 0x7f0000005fff cannot be "
	            "serviced\n"
	            "t=0.000 ms  batch 1  cancelled: no permission, writes and atomics of GPU 1 to page 5 of "
	            "block " BLOCK " cannot be serviced\n"
	            "t=0.000 ms  batch 1  cancelled: accesses of GPU 1 to page 5 of block " BLOCK
	            " cannot be serviced, because of a failure (no memory, and no unit to evict)\n"
	            "0x7f0000005678: arrived 0 times; evicted 0 times\n");
}

static void test_ranges(void **unused)
{
	static const char log[] = "1 copy t=0 cause=demand block=" BLOCK " pages=3-9,20 from=0 to=1\n"
	                          "2 populate t=0 cause=demand block=" BLOCK " pages=1,3-4 to=1\n"
	                          "3 discard t=0 cause=hint block=" BLOCK " pages=3,5 from=1\n"
	                          "4 unpin t=0 block=" BLOCK " pages=4-5\n"
	                          "5 free t=0 cause=free block=" BLOCK " pages=4-5 from=1 detail=100\n"
	                          "6 unmap t=0 cause=free block=0x7f0000200000 pages=0 to=1\n"
	                          "7 unmap t=0 cause=free block=0x7e0000000000 pages=0-511 to=1\n";

	(void)unused;
	check_bytes(
	        log, AT + 0x3fff, 0x2000,
	        "t=0.000 ms  demand: pages 3-5 of block " BLOCK
	        " were not resident on GPU 1; migrated from the CPU with 4 pages around them\n"
	        "t=0.000 ms  new: pages 3-4 of block " BLOCK
	        " arrive as zeros on GPU 1, on demand\n"
	        "t=0.000 ms  discarded: 2 pages of 3-5 of block " BLOCK
	        " on GPU 1 have no valid contents and are not copied, because of a preferred location, "
	        "accessed-by or read duplication\n"
	        "t=0.000 ms  unpinned: pages 4-5 of block " BLOCK " may migrate again\n"
	        "t=0.000 ms  freed: 100 bytes at 0x0 of GPU 1, where pages 4-5 of block " BLOCK
	        " were, because the range was freed\n"
	        "0x7f0000003fff-0x7f0000005ffe: its pages arrived 5 times: 5 demand; evicted 0 times\n");
	/* Before the block, across both blocks, at the end of memory. */
	check_bytes(log, AT - 1, 1, "0x7effffffffff: the log has no action of this memory\n");
	check_bytes(
	        log, AT + 0x1ff000, 0x1001,
	        "t=0.000 ms  unmapped: page 0 of block 0x7f0000200000 from GPU 1, because the range was freed\n"
	        "0x7f00001ff000-0x7f0000200000: its pages arrived 0 times; evicted 0 times\n");
	check_bytes("1 unmap t=0 block=0xffffffffffe00000 pages=510 to=1\n", UINT64_MAX - 4096, 2,
	            "t=0.000 ms  unmapped: page 510 of block 0xffffffffffe00000 from GPU 1\n"
	            "0xffffffffffffefff-0xfffffffffffff000: its pages arrived 0 times; evicted 0 times\n");
}

static void test_page_size(void **unused)
{
	(void)unused;
	check_bytes("1 unmap t=0 block=0x200000 pages=1 page_bytes=65536 to=1\n", 0x21ffff, 1,
	            "t=0.000 ms  unmapped: page 1 of block 0x200000 from GPU 1\n"
	            "0x21ffff: arrived 0 times; evicted 0 times\n");
	check_bytes("1 unmap t=0 block=0x200000 pages=1 page_bytes=65536 to=1\n", 0x220000, 1,
	            "0x220000: the log has no action of this memory\n");
}

static void test_spaces(void **unused)
{
	static const char log[] = "1 unmap t=0 space=1 block=" BLOCK " pages=5 to=1\n"
	                          "2 unmap t=0 space=2 block=" BLOCK " pages=5 to=3\n";
	struct explain_query query = {.has_address = true, .first = AT + 0x5000, .last = AT + 0x5000};

	(void)unused;
	assert_true(explain(log, query));
	assert_string_equal(told, "t=0.000 ms  unmapped: page 5 of block " BLOCK " from GPU 1\n"
	                          "t=0.000 ms  space 2  unmapped: page 5 of block " BLOCK " from GPU 3\n"
	                          "0x7f0000005000: arrived 0 times; evicted 0 times\n");
	query.has_space = true;
	query.space = 2;
	assert_true(explain(log, query));
	assert_string_equal(told, "t=0.000 ms  unmapped: page 5 of block " BLOCK " from GPU 3\n"
	                          "0x7f0000005000: arrived 0 times; evicted 0 times\n");
}

/* The answer for a space that the log lacks names those that it has. */
static void test_unknown_space(void **unused)
{
	static const char log[] = "1 batch t=0 to=1 batch=1 count=3\n"
	                          "2 unmap t=0 space=7 block=" BLOCK " pages=5 to=1\n"
	                          "3 unmap t=0 space=3 block=" BLOCK " pages=5 to=1\n"
	                          "4 unmap t=0 space=7 block=" BLOCK " pages=5 to=1\n";
	struct explain_query query = {.has_space = true, .space = 9, .first = AT, .last = AT};
	char many[1024] = "";

	(void)unused;
	assert_true(explain(log, query));
	assert_string_equal(told, "the log has no action of address space 9; it has 7, 3\n");
	query.has_address = true;
	assert_true(explain(log, query));
	assert_string_equal(told, "the log has no action of address space 9; it has 7, 3\n");
	query.space = 3;
	assert_true(explain(log, query));
	assert_string_equal(told, BLOCK ": the log has no action of this memory\n");
	for (unsigned i = 1; i <= 9; i++) {
		query.space = 10;
		sprintf(many + strlen(many), "%u unmap t=0 space=%u block=" BLOCK " pages=5 to=1\n", i, i);
		assert_true(explain(many, query));
		if (i == 8)
			assert_string_equal(told, "the log has no action of address space 10; it has 1, 2, 3, 4, 5, 6, 7, 8\n");
		query.space = i;
		assert_true(explain(many, query));
		assert_null(strstr(told, "address space"));
	}
	query.space = 10;
	assert_true(explain(many, query));
	assert_string_equal(told, "the log has no action of address space 10; it has 1, 2, 3, 4, 5, 6, 7, 8 and others\n");
}

static void test_summary(void **unused)
{
	struct explain_query query = {0};

	(void)unused;
	assert_true(explain(
	        "1 batch t=0 to=1 batch=1 count=3\n"
	        "2 copy t=0 cause=demand space=1 block=0x200000 pages=0-3 from=0 to=1 batch=1\n"
	        "3 copy t=0 cause=prefetch space=1 block=0x200000 pages=4-15 page_bytes=65536 from=0 to=1 "
	        "batch=1\n"
	        "4 copy t=0 cause=eviction space=1 block=0x200000 pages=0-15 from=1 to=0\n"
	        "5 copy t=0 cause=demand space=1 block=0x200000 pages=0-1 from=0 to=1\n"
	        "6 populate t=0 cause=demand space=1 block=0x400000 pages=7-8 to=1\n"
	        "7 discard t=0 cause=eviction space=1 block=0x400000 pages=7 from=1\n"
	        "8 throttle t=0 cause=thrashing space=2 block=0x200000 pages=1-2 to=1 until=9\n"
	        "9 map t=0 cause=pin space=2 block=0x200000 pages=1-2 from=0 to=1 right=r throttles=10\n"
	        "10 map t=0 cause=pin space=2 block=0x200000 pages=1-3 from=0 to=2 right=r throttles=10\n"
	        "11 copy t=0 cause=revoke space=2 block=0x200000 pages=9 from=0 to=1\n"
	        "12 replay t=0 to=1\n",
	        query));
	assert_string_equal(
	        told, "pages of block         space    demand  prefetch   counter       pin      hint   "
	              "migrate     other "
	              "  evicted   bounced  throttled    pinned\n"
	              "0x200000                   1         6        12         0         0         0        "
	              " 0         0 "
	              "       16         2          0         0\n"
	              "0x400000                   1         2         0         0         0         0        "
	              " 0         0 "
	              "        1         0          0         0\n"
	              "0x200000                   2         0         0         0         0         0        "
	              " 0         1 "
	              "        0         0          2         3\n"
	              "all 3                                8        12         0         0         0        "
	              " 0         1 "
	              "       17         2          2         3\n"
	              "\n"
	              "cause             copies       pages           bytes  pages zeroed\n"
	              "demand                 2           6           24576             2\n"
	              "prefetch               1          12          786432             0\n"
	              "eviction               1          16           65536             0\n"
	              "revoke                 1           1            4096             0\n"
	              "\n"
	              "12 actions: 1 batch, 1 populate, 5 copy, 2 map, 1 discard, 1 replay, 1 throttle\n");
	query.has_space = true;
	query.space = 9;
	assert_true(explain("1 replay t=0 to=1\n", query));
	assert_string_equal(told, "the log has no action of address space 9; it has none\n");
}

/* More blocks than are shown, and than fit into the first table; equals go by space, then by address. */
static void test_many_blocks(void **unused)
{
	struct explain_query query = {0};
	static char log[65536];
	size_t length = 0;
	const char *line;
	unsigned lines = 0;

	(void)unused;
	for (unsigned i = 300; i > 0; i--)
		length += (size_t)snprintf(
		        log + length, sizeof(log) - length,
		        "%u copy t=0 cause=demand space=%u block=0x%x pages=0-%u from=0 to=1\n", 301 - i, i % 2 + 1,
		        i / 2 * 2097152 + 4096, i <= 4 ? 9 : 3);
	assert_true(explain(log, query));
	for (line = told; strncmp(line, "all", 3) != 0; line = strchr(line, '\n') + 1)
		lines++;
	assert_int_equal(lines, 1 + 10);
	assert_memory_equal(line, "all 300", 7);
	line = strchr(told, '\n') + 1;
	assert_memory_equal(line, "0x201000                   1        10", 38);
	line = strchr(line, '\n') + 1;
	assert_memory_equal(line, "0x401000                   1        10", 38);
	line = strchr(line, '\n') + 1;
	assert_memory_equal(line, "0x1000                     2        10", 38);
	line = strchr(line, '\n') + 1;
	assert_memory_equal(line, "0x201000                   2        10", 38);
	line = strchr(line, '\n') + 1;
	assert_memory_equal(line, "0x601000                   1         4", 38);
}

static void check_bad(const char *log, const char *expected)
{
	struct explain_query query = {0};

	assert_false(explain(log, query));
	assert_string_equal(error, expected);
	query.has_address = true;
	assert_false(explain(log, query));
	assert_string_equal(error, expected);
}

static void test_bad_logs(void **unused)
{
	(void)unused;
	check_bad("1 replay t=0 to=1\n2 dance t=0\n", "log:2: unknown name or address at `dance t=0`");
	check_bad("1 replay\n", "log:1: syntax error at the end");
	check_bad("\n", "log:1: syntax error at the end");
	check_bad("1 replay t=0 to=64\n", "log:1: value out of range at `64`");
	check_bad("1 copy t=0 colour=0123456789012345678901234567890123456789\n",
	          "log:1: unknown name or address at `colour=012345678901234567890123456789012...`");
	check_bad("7 replay t=0\n7 complete t=1\n8 replay t=2\n8 replay t=2\n",
	          "log:4: action 8 follows action 8; in the log of one run the ids of actions increase");
	check_bad("7 replay t=0\n9 replay t=1\n1 replay t=0\n",
	          "log:3: action 1 follows action 9; in the log of one run the ids of actions increase");
	check_bad("1 replay t=0", "log:1: the file ends within this line: its line feed is missing");
	check_bad("1 replay t=0\r\n", "log:1: carriage return; lines end with one line feed");
}

/* What stood before the bad line is told. */
static void test_story_before_error(void **unused)
{
	struct explain_query query = {.has_address = true};

	(void)unused;
	assert_false(explain("1 unmap t=0 pages=0 to=1\nx\n", query));
	assert_string_equal(told, "t=0.000 ms  unmapped: page 0 of block 0x0 from GPU 1\n");
	/* Also what waited for the rest of its step. */
	assert_false(explain("1 copy t=0 cause=demand pages=0 from=0 to=1 detail=1\n"
	                     "2 copy t=0 after=1 cause=prefetch pages=1-15 from=0 to=1 faulted=1 subtrees=0,16\nx\n",
	                     query));
	assert_string_equal(told,
	                    "t=0.000 ms  demand: page 0 of block 0x0 was not resident on GPU 1; migrated from the CPU\n");
	query.first = query.last = 4096;
	assert_false(explain("1 copy t=0 cause=demand pages=0 from=0 to=1 detail=1\n"
	                     "2 copy t=0 after=1 cause=prefetch pages=1-15 from=0 to=1 faulted=1 subtrees=0,16\nx\n",
	                     query));
	assert_string_equal(told,
	                    "t=0.000 ms  prefetch: page 1 of block 0x0 migrated to GPU 1 from the CPU with 14 "
	                    "pages around it, prefetched with the 64 KiB big page that faulted\n");
}

/* -- the command -- */

static int run(const char *first, const char *second, const char *third)
{
	char *argv[5] = {strdup("explain"), first ? strdup(first) : NULL, second ? strdup(second) : NULL,
	                 third ? strdup(third) : NULL, NULL};
	int argc = 1 + (first != NULL) + (second != NULL) + (third != NULL);
	int status = cmd_explain(argc, argv);

	for (int i = 0; i < 4; i++)
		free(argv[i]);
	return status;
}

static void test_command(void **unused)
{
	char path[] = "/tmp/test_explain_XXXXXX";
	FILE *log = fdopen(mkstemp(path), "w");

	(void)unused;
	assert_non_null(log);
	fputs("1 unmap t=0 block=0x200000 pages=0 to=1\n", log);
	fclose(log);
	assert_int_equal(run(path, NULL, NULL), CLI_DONE);
	assert_int_equal(run(path, "200000", NULL), CLI_DONE);
	assert_int_equal(run(path, "0x20ABCD", "--space=0"), CLI_DONE);
	assert_int_equal(run(path, "0X200000-0x201000", NULL), CLI_DONE);
	assert_int_equal(run(path, "200000+64K", NULL), CLI_DONE);
	assert_int_equal(run(path, "ffffffffffffffff+1", NULL), CLI_DONE);

	assert_int_equal(run(NULL, NULL, NULL), CLI_BAD_INPUT);
	assert_int_equal(run(path, "200000", "201000"), CLI_BAD_INPUT);
	assert_int_equal(run(path, "--space=x", NULL), CLI_BAD_INPUT);
	assert_int_equal(run(path, "--colour", NULL), CLI_BAD_INPUT);
	assert_int_equal(run("/nonexistent", NULL, NULL), CLI_BAD_INPUT);
	for (unsigned i = 0; i < 11; i++) {
		static const char *const bad[] = {"",
		                                  "0x",
		                                  "20g",
		                                  "200000-",
		                                  "200000-x",
		                                  "200000-1fffff",
		                                  "200000-200000",
		                                  "200000+0",
		                                  "200000+x",
		                                  "ffffffffffffffff+2",
		                                  "10000000000000000"};

		assert_int_equal(run(path, bad[i], NULL), CLI_BAD_INPUT);
	}
	log = fopen(path, "w");
	assert_non_null(log);
	fputs("1 unmap\n", log);
	fclose(log);
	assert_int_equal(run(path, NULL, NULL), CLI_BAD_INPUT);
	unlink(path);
}

/* A copy says how long it took, if the log says when it completed and that was later. */
static void test_completions(void **unused)
{
	static const char with[] =
	        "1 batch t=1000 to=1 batch=1 count=1 detail=1\n"
	        "1 complete t=2000\n"
	        "2 copy t=2000 cause=demand space=1 block=" BLOCK " pages=5 from=0 to=1 batch=1\n"
	        "2 complete t=43250\n"
	        "3 copy t=2000 after=2 cause=prefetch space=1 block=" BLOCK
	        " pages=6 from=0 to=1 batch=1 faulted=1\n"
	        "3 complete t=2000\n"
	        "77 complete t=9000 status=-5\n"
	        "4 map t=3000 after=3 cause=demand space=1 block=" BLOCK
	        " pages=5-6 from=1 to=1 right=r batch=1\n"
	        "2 complete t=50000\n"; /* too late: the copy is told */

	(void)unused;
	check_bytes(
	        with, AT + 0x5000, 8192,
	        "t=0.002 ms  batch 1  demand: page 5 of block " BLOCK
	        " was not resident on GPU 1; migrated from the CPU; complete after 41.250 us\n"
	        "t=0.002 ms  batch 1  prefetch: page 6 of block " BLOCK
	        " migrated to GPU 1 from the CPU, prefetched because 1 page of the block had faulted or was resident"
	        " (faulted=1, present=0)\n"
	        "t=0.003 ms  batch 1  mapped (read): pages 5-6 of block " BLOCK " for GPU 1, on demand\n"
	        "0x7f0000005000-0x7f0000006fff: its pages arrived 2 times: 1 demand, 1 prefetch; evicted 0 "
	        "times\n");
	assert_true(explain(with, (struct explain_query){0}));
	assert_non_null(strstr(told, "\n4 actions: 1 batch, 2 copy, 1 map\n"));
	assert_null(strstr(told, "complete"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_demand_and_eviction),
	        cmocka_unit_test(test_completions),
	        cmocka_unit_test(test_prefetch),
	        cmocka_unit_test(test_upgrade),
	        cmocka_unit_test(test_steps),
	        cmocka_unit_test(test_subtrees),
	        cmocka_unit_test(test_two_subtrees),
	        cmocka_unit_test(test_small_blocks),
	        cmocka_unit_test(test_padding),
	        cmocka_unit_test(test_after_eviction),
	        cmocka_unit_test(test_freed_part),
	        cmocka_unit_test(test_to_the_cpu),
	        cmocka_unit_test(test_pagewise),
	        cmocka_unit_test(test_two_gpus),
	        cmocka_unit_test(test_duplicates),
	        cmocka_unit_test(test_late_log),
	        cmocka_unit_test(test_endless_step),
	        cmocka_unit_test(test_big_page_is_page),
	        cmocka_unit_test(test_overlapped),
	        cmocka_unit_test(test_thrashing),
	        cmocka_unit_test(test_patterns),
	        cmocka_unit_test(test_other_causes),
	        cmocka_unit_test(test_victims),
	        cmocka_unit_test(test_rules),
	        cmocka_unit_test(test_rules_of_remote_access),
	        cmocka_unit_test(test_cancelled),
	        cmocka_unit_test(test_ranges),
	        cmocka_unit_test(test_page_size),
	        cmocka_unit_test(test_spaces),
	        cmocka_unit_test(test_unknown_space),
	        cmocka_unit_test(test_summary),
	        cmocka_unit_test(test_many_blocks),
	        cmocka_unit_test(test_bad_logs),
	        cmocka_unit_test(test_story_before_error),
	        cmocka_unit_test(test_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
