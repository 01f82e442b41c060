/* The driver's decisions, to be compared with the simulator's: a program with one GPU that waits for each of
 * its kernels. Leaves NAME.policy, NAME.log and NAME.trace in OUT for each policy; host_decisions.sh does the
 * comparing. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu.h"

#define LARGE (6u * MIB) /* the GPU has 4 MiB */
#define SMALL (2u * MIB + 65u * PAGE_BYTES)

/* Pages of the large range that are unmapped in the end. */
#define HOLE       700u
#define HOLE_PAGES 600u

/* 64 uTLBs, as the simulator has them. */
#define FIXED "gpus=1 memory_mib=4 utlbs=64 log_kib=16384 fault_entries="

static const char *out = "/out";

static void save(const char *name, const char *what)
{
	char *text = emu_debugfs_read(what), path[512];

	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.%s", out, *name ? name : "default", what);
	file = fopen(path, "w");
	EXPECT(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s cannot be written", path);
	EXPECT(strlen(text) > 1000u || *what == 'p', "the %s has only %zu bytes", what, strlen(text));
	free(text);
}

static void save_all(void)
{
	char *name = emu_file("/sys/module/uvmpolicy_emu/parameters/policy");

	EXPECT(name != NULL, "the parameter cannot be read");
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
	for (size_t last = strlen(name); last > 0 && name[last - 1u] == '_'; last--)
		name[last - 1u] = 0;
	save(name, "policy");
	save(name, "log");
	save(name, "trace");
	free(name);
}

/* -- the program --------------------------------------------------------------------------------- */

static uint64_t *page(uint64_t *at, size_t number)
{
	return at + number * PAGE_WORDS;
}

/* Each page once, in order, by 64 warps side by side. */
static void stream(int fd, uint64_t *at, size_t pages, enum uvmp_emu_kind kind)
{
	struct emu_job job = {0};

	for (size_t i = 0; i < pages; i++)
		emu_job_add(&job, kind, page(at, i / 64u + i % 64u * (pages / 64u)), i);
	emu_job_run(&job, fd, 1, (uint32_t)(pages / 64u));
	emu_job_free(&job);
}

static void scatter(int fd, uint64_t *at, size_t pages, uint64_t *random)
{
	struct emu_job job = {0};

	for (size_t i = 0; i < 640; i++) {
		uint64_t r = emu_random(random);

		emu_job_add(&job,
		            r % 3u == 0   ? UVMP_EMU_ADD
		            : r % 3u == 1 ? UVMP_EMU_WRITE
		                          : UVMP_EMU_READ,
		            page(at, (r >> 8) % pages), r);
	}
	emu_job_run(&job, fd, 1, 10);
	emu_job_free(&job);
}

static void use_by_cpu(uint64_t *at, size_t pages, size_t step, bool is_write)
{
	for (size_t i = 0; i < pages; i += step) {
		volatile uint64_t *word = page(at, i);

		if (is_write)
			*word = i;
		else
			(void)*word;
	}
}

/* A part in the middle, across the end of a block of 2 MiB: memory beside it is used, then a new range
 * at its address. */
static void cut(int fd, uint64_t *large, uint64_t *random)
{
	uint64_t *hole = page(large, HOLE), *above = page(hole, HOLE_PAGES), *fresh;

	emu_unmap(hole, HOLE_PAGES * PAGE_BYTES);
	scatter(fd, large, HOLE, random);
	use_by_cpu(above, LARGE / PAGE_BYTES - HOLE - HOLE_PAGES, 5, true);
	fresh = mmap(hole, HOLE_PAGES / 2u * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
	             0);
	EXPECT(fresh == hole, "mmap where a part was unmapped: %s", strerror(errno));
	scatter(fd, fresh, HOLE_PAGES / 2u, random);
	scatter(fd, large, HOLE, random);
}

static void run(void)
{
	int fd = emu_open();
	uint64_t *large = emu_map_at(fd, LARGE, 0), *small = emu_map_at(fd, SMALL, 7u * PAGE_BYTES);
	uint64_t random = 1;
	const size_t pages = LARGE / PAGE_BYTES;

	use_by_cpu(large, pages / 2u, 3, true);
	stream(fd, large, pages, UVMP_EMU_READ);
	scatter(fd, small, SMALL / PAGE_BYTES, &random);
	use_by_cpu(large, pages, 97, false);
	EXPECT(emu_prefetch(fd, large, LARGE / 4u, 1) == 0, "PREFETCH to the GPU");
	scatter(fd, large, pages, &random);
	EXPECT(emu_advise(fd, page(large, 100), 300u * PAGE_BYTES, UVMP_EMU_READ_DUPLICATE, 0) == 0,
	       "ADVISE");
	scatter(fd, large, pages / 3u, &random);
	use_by_cpu(large, pages / 3u, 31, false);
	use_by_cpu(large, pages / 3u, 301, true);
	EXPECT(emu_prefetch(fd, small, MIB, 0) == 0, "PREFETCH to the CPU");
	stream(fd, large, pages, UVMP_EMU_ADD);
	emu_unmap(small, SMALL);
	scatter(fd, large, pages, &random);
	cut(fd, large, &random);
	save_all();
}

int main(int argc, char **argv)
{
	static const struct emu_case cases[] = {
	        {"default", FIXED "256", run},
	        {"small_ring", FIXED "32 policy=prefetch=none,thrash=off", run},
	        {"lru4k", FIXED "256 policy=prefetch=none,evict=lru4k", run},
	        {"tbn", FIXED "256 policy=preset=uvmsmart-tbn", run},
	        {"beyond_block", FIXED "256 policy=preset=beyond-block", run},
	        {"block", FIXED "256 policy=replay=block", run},
	        {"once", FIXED "256 policy=preset=nvidia-once", run},
	        {"batch", FIXED "64 policy=replay=batch,thrash=off", run},
	        {"lfu", FIXED "256 policy=preset=access-lfu", run},
	        {"cppe", FIXED "256 policy=preset=cppe", run},
	        {"random", FIXED "256 policy=prefetch=random,evict=random4k", run},
	        {"corrected", FIXED "256 policy=quirks=0", run},
	};

	if (argc > 2)
		out = argv[2];
	return emu_main(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
