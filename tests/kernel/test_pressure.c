/* Memory that runs short: what the module keeps for later it gives back, and what programs have in it stays
 * right. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu.h"

#define BYTES    (16u * MIB)
#define ONE_ROOT "memory_mib=2 policy="

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

/* -- one page is missing ----------------------------------------------------------------------------- */

/* The Nth page of `whose` memory, from now on, is refused. */
static void fail_frame(const char *whose, unsigned nth)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", nth);
	EXPECT(emu_debugfs_write(whose, text) == 0, "%s", whose);
}

static void expect_failed(const char *whose)
{
	char *left = emu_debugfs_read(whose);

	EXPECT(strtol(left, NULL, 10) == 0, "%s: none was missing", whose);
	free(left);
}

/* One piece of managed memory, and what it should hold. */
struct piece {
	int fd;
	uint64_t *at, *model;
	size_t bytes;
};

static struct piece make_piece(int fd, size_t bytes, uint64_t round)
{
	struct piece piece = {fd, emu_map_at(fd, bytes, 0), malloc(bytes), bytes};

	EXPECT(piece.model != NULL, "no memory");
	for (size_t i = 0; i < bytes / 8u; i++)
		piece.at[i] = piece.model[i] = emu_value(i, round);
	return piece;
}

static void expect_contents(const struct piece *piece, const char *when)
{
	emu_expect_crc(piece->fd, piece->at, piece->bytes, emu_crc(piece->model, piece->bytes), when);
}

/* GPU 1 uses every other page: evicting them later takes as many copies. */
static void use_piece(const struct piece *piece, enum uvmp_emu_kind kind, uint64_t round)
{
	struct emu_job job = {0};

	for (size_t word = round % PAGE_WORDS; word < piece->bytes / 8u; word += 2u * PAGE_WORDS) {
		if (kind == UVMP_EMU_WRITE)
			piece->model[word] = emu_value(word, round);
		emu_job_add(&job, kind, piece->at + word, emu_value(word, round));
	}
	emu_job_run(&job, piece->fd, 1, 4);
	for (size_t i = 0; i < job.accesses; i++) {
		size_t word = round % PAGE_WORDS + i * 2u * PAGE_WORDS;

		EXPECT(job.access[i].value == piece->model[word], "word %zu is 0x%llx", word,
		       (unsigned long long)job.access[i].value);
	}
	emu_job_free(&job);
	expect_contents(piece, "after the GPU's use");
}

static void expect_refused(const struct piece *piece, const char *whose, unsigned nth)
{
	uint64_t value = 0;
	int status;

	fail_frame(whose, nth);
	status = emu_gpu_try(piece->fd, 1, UVMP_EMU_READ, piece->at, &value);
	EXPECT(status == -EFAULT, "without memory a warp ends with status %d", status);
	expect_failed(whose);
}

static void expect_frames(uint64_t frames, const char *when)
{
	uint64_t seen = emu_stats(1).frames_gpu;

	EXPECT(seen == frames, "%s: %llu pages of GPU memory in use, expected %llu", when,
	       (unsigned long long)seen, (unsigned long long)frames);
	EXPECT(emu_stats(0).broken == 0, "%s: a check of the module's own has failed", when);
}

static size_t pages_on_gpu(const struct piece *piece)
{
	static uint8_t where[BLOCK_BYTES / PAGE_BYTES];
	size_t pages = 0;

	EXPECT(emu_look(piece->fd, piece->at, piece->bytes, where, NULL) == 0, "LOOK");
	for (size_t i = 0; i < piece->bytes / PAGE_BYTES; i++)
		pages += where[i] == ON_GPU(1);
	return pages;
}

/* A block is on its way out when the CPU has no page for one of its copies: what has not left stays, what has
 * comes back into the memory that the block still has. Newer: another block on the GPU, which stays; NULL:
 * none, and memory is given out by blocks. */
static void eviction_fails(struct piece *block, struct piece *newer, struct piece *next)
{
	for (unsigned round = 0; round < 3u; round++) {
		size_t pages = block->bytes / PAGE_BYTES / 2u, on_gpu;

		use_piece(block, UVMP_EMU_WRITE, 2u * round + 1u);
		if (newer)
			use_piece(newer, UVMP_EMU_READ, 1);
		expect_frames(512, "the GPU is full");
		expect_refused(next, "fail_cpu_frame", 1u + 50u * round);
		on_gpu = pages_on_gpu(block);
		EXPECT(on_gpu > 0 && on_gpu < pages, "%zu of %zu pages are still on the GPU", on_gpu, pages);
		expect_contents(block, "after a failed eviction");
		expect_frames(newer ? pages + on_gpu : 512, "after a failed eviction");
	}
	use_piece(block, UVMP_EMU_READ, 5);
}

static void eviction_of_root(void)
{
	int fd = emu_open();
	struct piece block = make_piece(fd, BLOCK_BYTES, 1), next = make_piece(fd, BLOCK_BYTES, 2);

	eviction_fails(&block, NULL, &next);
	use_piece(&next, UVMP_EMU_WRITE, 9);
	emu_expect_where(fd, block.at, block.bytes, ON_CPU, "with memory again");
	expect_contents(&block, "with memory again");
	expect_frames(512, "with memory again");
}

/* Pages are counted: two blocks fill the GPU, every other page of each. */
static void eviction_of_pages(void)
{
	int fd = emu_open();
	struct piece block = make_piece(fd, BLOCK_BYTES, 1), other = make_piece(fd, BLOCK_BYTES, 2),
	             next = make_piece(fd, BLOCK_BYTES, 3);

	eviction_fails(&block, &other, &next);
	use_piece(&next, UVMP_EMU_WRITE, 9);
	expect_contents(&block, "with memory again");
	expect_contents(&other, "with memory again");
	expect_frames(pages_on_gpu(&block) + pages_on_gpu(&other) + pages_on_gpu(&next), "with memory again");
}

/* Two blocks have their memory in one root. The first is evicted, being on the CPU as well; then the
 * second cannot be. */
static void eviction_of_second(void)
{
	int fd = emu_open();
	struct piece first = make_piece(fd, MIB, 1), second = make_piece(fd, MIB, 2),
	             next = make_piece(fd, MIB, 3);
	size_t on_gpu;

	EXPECT(emu_advise(fd, first.at, first.bytes, UVMP_EMU_READ_DUPLICATE, 0) == 0, "READ_DUPLICATE");
	use_piece(&first, UVMP_EMU_READ, 1);
	use_piece(&second, UVMP_EMU_WRITE, 2);
	expect_frames(512, "a root for two");
	expect_refused(&next, "fail_cpu_frame", 20);
	emu_expect_where(fd, first.at, first.bytes, ON_CPU, "who leaves first");
	on_gpu = pages_on_gpu(&second);
	EXPECT(on_gpu > 0 && on_gpu < 128, "%zu of 128 pages of the second are still on the GPU", on_gpu);
	expect_frames(256, "one of two has left");
	use_piece(&second, UVMP_EMU_WRITE, 4);
	use_piece(&first, UVMP_EMU_READ, 5);
	expect_frames(512, "a root for two, again");
	use_piece(&next, UVMP_EMU_WRITE, 7);
	expect_contents(&first, "with memory again");
	expect_contents(&second, "with memory again");
	expect_frames(256, "with memory again");
}

/* The GPU has no page for a part of the arriving pages: none of them stays. */
static void allocation_fails(void)
{
	int fd = emu_open();
	struct piece block = make_piece(fd, BLOCK_BYTES, 1), part = make_piece(fd, MIB, 2);

	expect_refused(&block, "fail_gpu_frame", 100);
	expect_frames(0, "a block without memory");
	expect_refused(&part, "fail_gpu_frame", 5);
	expect_frames(0, "a part of a block without memory");
	expect_contents(&block, "without memory");
	use_piece(&block, UVMP_EMU_WRITE, 3);
	use_piece(&part, UVMP_EMU_WRITE, 5);
	expect_frames(512 + 256, "with memory");
}

#define LAUNCHES 16u
#define ACCESSES 200u

static void touch_on_cpu(struct piece *piece, uint64_t *random)
{
	for (unsigned i = 0; i < 8u; i++) {
		size_t word = emu_random(random) % (piece->bytes / 8u);
		int number = emu_touch(piece->at + word, true);

		EXPECT(number == 0 || number == SIGBUS, "the CPU's access ends with signal %d", number);
		if (number == SIGBUS) /* one page was missing, and only one */
			number = emu_touch(piece->at + word, true);
		EXPECT(number == 0, "the CPU's access ends with signal %d, again", number);
		EXPECT(piece->at[word] == piece->model[word], "word %zu is 0x%llx", word,
		       (unsigned long long)piece->at[word]);
	}
}

static void move_a_part(const struct piece *piece, uint64_t *random)
{
	uint64_t what = emu_random(random);
	size_t page = (what >> 8) % (piece->bytes / PAGE_BYTES - 256u);
	void *at = piece->at + page * PAGE_WORDS;
	size_t bytes = (1u + (what >> 32) % 256u) * PAGE_BYTES;
	unsigned processor = (unsigned)((what >> 56) % 3u);
	int error = what & 1u
	                    ? emu_prefetch(piece->fd, at, bytes, processor)
	                    : emu_advise(piece->fd, at, bytes,
	                                 (enum uvmp_emu_advice)((what >> 48) % UVMP_EMU_DISCARD), processor);

	EXPECT(error == 0 || error == -ENOMEM, "PREFETCH or ADVISE: %s", strerror(-error));
}

static void use_at_random(struct piece *piece, struct emu_job *job, uint64_t *random, bool is_some)
{
	unsigned gpu = 1u + (unsigned)(emu_random(random) % 2u);

	emu_job_clear(job);
	for (unsigned i = 0; i < ACCESSES; i++) {
		uint64_t what = emu_random(random);
		size_t word = (what >> 16) % (is_some ? BLOCK_BYTES / 8u : piece->bytes / 8u);

		if (what & 1u)
			piece->model[word] = emu_value(word, 0);
		emu_job_add(job, what & 1u ? UVMP_EMU_WRITE : UVMP_EMU_READ, piece->at + word,
		            emu_value(word, 0));
	}
	emu_job_insist(job, piece->fd, gpu, 4);
}

/* Again and again one page is missing, anywhere. */
static void any_fails(void)
{
	int fd = emu_open();
	struct piece piece = make_piece(fd, BYTES / 2u, 1);
	struct emu_job job = {0};
	uint64_t random = 1;

	for (unsigned i = 0; i < LAUNCHES; i++) {
		fail_frame("fail_cpu_frame", 1u + (unsigned)(emu_random(&random) % 1024u));
		fail_frame("fail_gpu_frame", 1u + (unsigned)(emu_random(&random) % 1024u));
		use_at_random(&piece, &job, &random, i % 2u == 0);
		move_a_part(&piece, &random);
		touch_on_cpu(&piece, &random);
		if (i % 4u == 3u)
			expect_contents(&piece, "while pages are missing");
	}
	fail_frame("fail_cpu_frame", 0);
	fail_frame("fail_gpu_frame", 0);
	use_at_random(&piece, &job, &random, false);
	expect_contents(&piece, "with memory again");
	emu_job_free(&job);
}

int main(int argc, char **argv)
{
	static const struct emu_case cases[] = {
	        {"dropped", "", dropped},
	        {"short_of_memory", "", short_of_memory},
	        {"eviction_of_root", ONE_ROOT "prefetch=none,thrash=off", eviction_of_root},
	        {"eviction_of_pages", ONE_ROOT "prefetch=none,thrash=off,evict=lru2m", eviction_of_pages},
	        {"eviction_of_second", ONE_ROOT "prefetch=none,thrash=off", eviction_of_second},
	        {"allocation_fails", "memory_mib=4 policy=prefetch=none", allocation_fails},
	        {"any_fails", "gpus=2 memory_mib=4", any_fails},
	        {"any_fails_of_pages", "gpus=2 memory_mib=4 policy=evict=lru4k", any_fails},
	};

	return emu_main(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
