/* Memory that runs short: what the module keeps for later it gives back, and what programs have in it stays
 * right. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu.h"

#define BYTES (16u * MIB)

static void use_and_leave(void *argument)
{
	int fd = emu_open();
	uint64_t *at = emu_map(fd, BYTES);

	(void)argument;
	for (size_t i = 0; i < BYTES / 8u; i += PAGE_WORDS)
		at[i] = i;
	EXPECT(emu_prefetch(fd, at, BYTES / 2u, 1) == 0, "PREFETCH");
	EXPECT(emu_gpu_read(fd, 1, at + PAGE_WORDS) == PAGE_WORDS, "contents");
}

/* Fills the cache of frames: what a process has left. */
static uint64_t fill_cache(void)
{
	struct uvmp_emu_stats stats = emu_stats(0);
	uint64_t until = emu_now_ms() + 10000u, before = stats.frames_cpu + stats.frames_gpu;

	emu_finish(emu_start(use_and_leave, NULL));
	do {
		emu_sleep_ms(10);
		stats = emu_stats(0);
	} while (stats.frames_cpu + stats.frames_gpu > before && emu_now_ms() < until);
	EXPECT(stats.frames_cached > 0, "16 MiB were used and left, and no page is kept for later");
	return stats.frames_cached;
}

/* A working process beside it, whose data must not be touched. */
static void dropped(void)
{
	const size_t bytes = 4u * MIB;
	int fd = emu_open();
	uint64_t *at = emu_map(fd, bytes), cached;
	struct uvmp_emu_stats before, after;
	uint32_t crc;

	cached = fill_cache();
	for (size_t i = 0; i < bytes / 8u; i++)
		at[i] = emu_value(i, 1);
	EXPECT(emu_prefetch(fd, at, bytes / 2u, 1) == 0, "PREFETCH");
	crc = emu_crc(at + bytes / 16u, bytes / 2u);
	before = emu_stats(0);
	EXPECT(emu_file_write("/proc/sys/vm/drop_caches", "2") == 0, "drop_caches");
	after = emu_stats(0);
	EXPECT(after.frames_cached < before.frames_cached && after.frames_cached < cached,
	       "frames_cached was %llu, is %llu after drop_caches", (unsigned long long)before.frames_cached,
	       (unsigned long long)after.frames_cached);
	EXPECT(after.frames_shrunk - before.frames_shrunk == before.frames_cached - after.frames_cached,
	       "%llu frames left the cache, %llu shrunk",
	       (unsigned long long)(before.frames_cached - after.frames_cached),
	       (unsigned long long)(after.frames_shrunk - before.frames_shrunk));
	EXPECT(after.frames_cpu == before.frames_cpu && after.frames_gpu == before.frames_gpu,
	       "frames in use were given back");
	emu_expect_crc(fd, at + bytes / 16u, bytes / 2u, crc, "after drop_caches");
	for (size_t i = 0; i < bytes / 8u; i++)
		EXPECT(at[i] == emu_value(i, 1), "word %zu is 0x%llx", i, (unsigned long long)at[i]);
	EXPECT(emu_prefetch(fd, at, bytes, 1) == 0, "PREFETCH");
	EXPECT(emu_gpu_read(fd, 1, at + 77) == emu_value(77, 1), "after drop_caches");
}

static uint64_t free_mib(void)
{
	char *text = emu_file("/proc/meminfo");
	uint64_t kib = text ? emu_field(text, "MemFree") : 0;

	free(text);
	return kib / 1024u;
}

#define SCALE "/proc/sys/vm/watermark_scale_factor"
#define BOOST "/proc/sys/vm/watermark_boost_factor"

/* The kernel begins to ask for memory long before there is none, and what it asks for does not depend on how
 * memory is fragmented: who takes memory sees in time that some was given back, and need not be killed. */
static void ask_early(bool is_early)
{
	EXPECT(emu_file_write(SCALE, is_early ? "1000" : "10") == 0, SCALE); /* 10 %, 0.1 % of memory */
	EXPECT(emu_file_write(BOOST, is_early ? "0" : "15000") == 0, BOOST);
}

/* Takes memory until the module gives some back: most of it in large pages, which is quick. */
static void be_greedy(void *argument)
{
	uint64_t shrunk = *(uint64_t *)argument;

	EXPECT(emu_file_write("/proc/self/oom_score_adj", "1000") == 0, "oom_score_adj");
	while (emu_stats(0).frames_shrunk == shrunk) {
		size_t bytes = free_mib() > 320 ? 64u * MIB : MIB;
		char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		EXPECT(at != MAP_FAILED, "all memory is taken, and nothing was given back");
		madvise(at, bytes, MADV_HUGEPAGE);
		for (size_t i = 0; i < bytes; i += PAGE_BYTES)
			at[i] = 1;
	}
}

static void short_of_memory(void)
{
	const size_t bytes = 4u * MIB;
	int fd = emu_open(), status;
	uint64_t *at = emu_map(fd, bytes), round = 0;
	struct uvmp_emu_stats before, after;
	pid_t greedy;

	for (size_t i = 0; i < bytes / 8u; i++)
		at[i] = emu_value(i, 2);
	fill_cache();
	before = emu_stats(0);
	ask_early(true);
	greedy = emu_start(be_greedy, &before.frames_shrunk);
	while (waitpid(greedy, &status, WNOHANG) == 0) { /* pages move meanwhile */
		int error = emu_prefetch(fd, at, bytes, (unsigned)(round++ % 2u));

		EXPECT(error == 0 || error == -ENOMEM, "PREFETCH: %s", strerror(-error));
		emu_sleep_ms(20);
	}
	ask_early(false);
	EXPECT(status == 0, "who took the memory ended with status 0x%x", (unsigned)status);
	after = emu_stats(0);
	EXPECT(after.frames_shrunk > before.frames_shrunk, "nothing was given back");
	for (size_t i = 0; i < bytes / 8u; i++)
		EXPECT(at[i] == emu_value(i, 2), "word %zu is 0x%llx", i, (unsigned long long)at[i]);
	EXPECT(emu_prefetch(fd, at, bytes, 1) == 0, "PREFETCH with memory again");
	EXPECT(emu_gpu_read(fd, 1, at + 77) == emu_value(77, 2), "with memory again");
}

int main(int argc, char **argv)
{
	static const struct emu_case cases[] = {
	        {"dropped", "", dropped},
	        {"short_of_memory", "", short_of_memory},
	};

	return emu_main(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
