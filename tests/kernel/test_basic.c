/* What a program gets from managed memory: the same bytes on every processor, and pages where policy and
 * advice want them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu.h"

static void fill(uint64_t *at, size_t bytes, uint64_t round)
{
	for (size_t i = 0; i < bytes / sizeof(*at); i++)
		at[i] = emu_value(i, round);
}

static void expect_filled(const uint64_t *at, size_t bytes, uint64_t round, const char *when)
{
	for (size_t i = 0; i < bytes / sizeof(*at); i++)
		EXPECT(at[i] == emu_value(i, round), "%s: word %zu is 0x%llx", when, i,
		       (unsigned long long)at[i]);
}

/* One word of each page, and which one changes from page to page. */
static uint64_t *word_of_page(uint64_t *at, size_t page)
{
	return at + page * PAGE_WORDS + page * 37u % PAGE_WORDS;
}

static void gpu_reads_pages(int fd, unsigned gpu, uint64_t *at, size_t bytes, uint64_t round)
{
	struct emu_job job = {0};

	for (size_t page = 0; page < bytes / PAGE_BYTES; page++)
		emu_job_add(&job, UVMP_EMU_READ, word_of_page(at, page), 0);
	emu_job_run(&job, fd, gpu, 8);
	for (size_t page = 0; page < job.accesses; page++) {
		uint64_t expected = emu_value((size_t)(word_of_page(at, page) - at), round);

		EXPECT(job.access[page].value == expected, "GPU %u read 0x%llx in page %zu, expected 0x%llx",
		       gpu, (unsigned long long)job.access[page].value, page, (unsigned long long)expected);
	}
	emu_job_free(&job);
}

/* The CPU writes, the GPU reads and adds, the CPU reads. */
static void cpu_gpu_cpu(void)
{
	const size_t bytes = MIB / 2u;
	int fd = emu_open();
	uint64_t *at = emu_map(fd, bytes);
	struct emu_job job = {0};

	fill(at, bytes, 1);
	gpu_reads_pages(fd, 1, at, bytes, 1);
	for (size_t i = 0; i < bytes / sizeof(*at); i += 3)
		emu_job_add(&job, UVMP_EMU_ADD, at + i, i);
	emu_job_run(&job, fd, 1, 64);
	for (size_t i = 0; i < job.accesses; i++)
		EXPECT(job.access[i].value == emu_value(i * 3u, 1), "ADD %zu found 0x%llx", i,
		       (unsigned long long)job.access[i].value);
	for (size_t i = 0; i < bytes / sizeof(*at); i++)
		EXPECT(at[i] == emu_value(i, 1) + (i % 3u ? 0 : i), "the CPU reads 0x%llx in word %zu",
		       (unsigned long long)at[i], i);
	emu_job_free(&job);
}

/* A warp's accesses are done in order: what it has written it reads; value <- what was there before. */
static void order_in_warp(void)
{
	int fd = emu_open();
	uint64_t *at = emu_map(fd, 4u * PAGE_BYTES);
	struct emu_job job = {0};

	for (uint64_t i = 0; i < 100; i++) {
		emu_job_add(&job, UVMP_EMU_WRITE, at + i % 4u * PAGE_WORDS, i);
		emu_job_add(&job, UVMP_EMU_ADD, at + i % 4u * PAGE_WORDS, 5);
		emu_job_add(&job, UVMP_EMU_READ, at + i % 4u * PAGE_WORDS, 0);
	}
	emu_job_run(&job, fd, 1, 300);
	for (uint64_t i = 0; i < 100; i++) {
		EXPECT(job.access[3u * i].value == i, "WRITE has changed its value");
		EXPECT(job.access[3u * i + 1u].value == i, "ADD %llu found 0x%llx", (unsigned long long)i,
		       (unsigned long long)job.access[3u * i + 1u].value);
		EXPECT(job.access[3u * i + 2u].value == i + 5u, "READ %llu got 0x%llx", (unsigned long long)i,
		       (unsigned long long)job.access[3u * i + 2u].value);
	}
	emu_job_free(&job);
}

/* LOOK says where pages are, moves nothing, and the contents are the same wherever they are. */
static void look(void)
{
	const size_t bytes = 64u * PAGE_BYTES;
	int fd = emu_open();
	uint64_t *at = emu_map_at(fd, 2u * bytes, 0);
	static const char zeros[64 * 4096];
	uint32_t crc;

	emu_expect_where(fd, at, 2u * bytes, 0, "never touched");
	emu_expect_crc(fd, at, bytes, emu_crc(zeros, bytes), "never touched");
	emu_expect_where(fd, at, 2u * bytes, 0, "LOOK has touched it");
	fill(at, bytes, 2);
	crc = emu_crc(at, bytes);
	emu_expect_where(fd, at, bytes, ON_CPU, "the CPU has written");
	emu_expect_where(fd, at + bytes / 8u, bytes, 0, "the CPU has written the other half");
	emu_expect_crc(fd, at, bytes, crc, "the CPU has written");
	gpu_reads_pages(fd, 1, at, bytes, 2);
	emu_expect_where(fd, at, bytes, ON_GPU(1), "the GPU has read");
	emu_expect_crc(fd, at, bytes, crc, "the GPU has read");
	emu_expect_where(fd, at, bytes, ON_GPU(1), "LOOK after the GPU");
	expect_filled(at, bytes, 2, "back on the CPU");
	emu_expect_where(fd, at, bytes, ON_CPU, "the CPU has read");
	emu_expect_crc(fd, at, bytes, crc, "the CPU has read");
	at[5] ^= 1;
	EXPECT(emu_crc(at, bytes) != crc, "the test's own CRC does not see a bit");
	emu_expect_crc(fd, at, bytes, emu_crc(at, bytes), "a bit was changed");
}

static void prefetch_range(void)
{
	const size_t bytes = 3u * MIB;
	int fd = emu_open();
	uint64_t *at = emu_map_at(fd, bytes, PAGE_BYTES * 5u);
	struct uvmp_emu_stats before, after;
	uint32_t crc;

	fill(at, bytes / 2u, 3); /* the others are untouched */
	crc = emu_crc(at, bytes / 2u);
	EXPECT(emu_prefetch(fd, at, bytes, 1) == 0, "PREFETCH to the GPU fails");
	emu_expect_where(fd, at, bytes, ON_GPU(1), "prefetched to the GPU");
	emu_expect_crc(fd, at, bytes / 2u, crc, "prefetched to the GPU");
	before = emu_stats(1);
	gpu_reads_pages(fd, 1, at, bytes / 2u, 3);
	EXPECT(emu_gpu_read(fd, 1, at + bytes / 16u + 7u) == 0, "a page that was never written is not zero");
	after = emu_stats(1);
	EXPECT(after.faults_written == before.faults_written, "the GPU faults on pages that were prefetched");
	EXPECT(after.accesses - before.accesses == bytes / 2u / PAGE_BYTES + 1u, "%llu accesses counted",
	       (unsigned long long)(after.accesses - before.accesses));
	EXPECT(emu_prefetch(fd, at + PAGE_WORDS, PAGE_BYTES * 3u, UVMP_EMU_CPU) == 0,
	       "PREFETCH to the CPU fails");
	emu_expect_where(fd, at, PAGE_BYTES, ON_GPU(1), "before what was prefetched to the CPU");
	emu_expect_where(fd, at + PAGE_WORDS, PAGE_BYTES * 3u, ON_CPU, "prefetched to the CPU");
	emu_expect_where(fd, at + 4u * PAGE_WORDS, bytes - 4u * PAGE_BYTES, ON_GPU(1), "behind that");
	EXPECT(emu_prefetch(fd, at, bytes, UVMP_EMU_CPU) == 0, "PREFETCH of all to the CPU fails");
	emu_expect_where(fd, at, bytes, ON_CPU, "all prefetched to the CPU");
	expect_filled(at, bytes / 2u, 3, "prefetched to the CPU");
	for (size_t i = bytes / 16u; i < bytes / 8u; i++)
		EXPECT(at[i] == 0, "word %zu that was never written is 0x%llx", i,
		       (unsigned long long)at[i]);
}

/* The preferred location CPU: the GPU uses the pages where they are. */
static void preferred_location(void)
{
	const size_t bytes = 32u * PAGE_BYTES;
	int fd = emu_open();
	uint64_t *at = emu_map_at(fd, bytes, 0);
	struct uvmp_emu_stats before = emu_stats(1), after;

	EXPECT(emu_advise(fd, at, bytes, UVMP_EMU_PREFERRED, UVMP_EMU_CPU) == 0, "ADVISE preferred fails");
	fill(at, bytes, 4);
	gpu_reads_pages(fd, 1, at, bytes, 4);
	after = emu_stats(1);
	emu_expect_where(fd, at, bytes, ON_CPU, "the GPU has read, preferred location CPU");
	EXPECT(after.pages_in == before.pages_in, "pages were copied to the GPU");
	EXPECT(after.remote_accesses - before.remote_accesses == bytes / PAGE_BYTES, "%llu remote accesses",
	       (unsigned long long)(after.remote_accesses - before.remote_accesses));
	emu_gpu_write(fd, 1, at + 9, 99);
	EXPECT(at[9] == 99, "the CPU does not see what the GPU has written where the page is");
	at[9] = 98;
	EXPECT(emu_gpu_read(fd, 1, at + 9) == 98, "the GPU does not see what the CPU has written");
	EXPECT(emu_advise(fd, at, bytes, UVMP_EMU_PREFERRED, 1) == 0, "ADVISE preferred GPU fails");
	EXPECT(emu_prefetch(fd, at, bytes, 1) == 0, "PREFETCH fails");
	emu_expect_where(fd, at, bytes, ON_GPU(1), "preferred and prefetched to the GPU");
	EXPECT(at[10] == emu_value(10, 4) && at[9] == 98, "contents changed on the way");
	EXPECT(emu_advise(fd, at, bytes, UVMP_EMU_PREFERRED, UVMP_EMU_NONE) == 0,
	       "ADVISE preferred none fails");
	at[9] = emu_value(9, 4);
	EXPECT(emu_prefetch(fd, at, bytes, UVMP_EMU_CPU) == 0, "PREFETCH fails");
	gpu_reads_pages(fd, 1, at, bytes, 4);
	emu_expect_where(fd, at, bytes, ON_GPU(1), "the GPU has read, after the preferred location was unset");
}

/* Accessed by the GPU: it is mapped to the CPU's pages before it asks. */
static void accessed_by(void)
{
	const size_t bytes = 32u * PAGE_BYTES;
	int fd = emu_open();
	uint64_t *at = emu_map_at(fd, bytes, 0);
	struct uvmp_emu_stats before, after;

	fill(at, bytes, 5);
	EXPECT(emu_advise(fd, at, bytes, UVMP_EMU_ACCESSED_BY, 1) == 0, "ADVISE accessed by fails");
	before = emu_stats(1);
	gpu_reads_pages(fd, 1, at, bytes, 5);
	after = emu_stats(1);
	emu_expect_where(fd, at, bytes, ON_CPU, "the GPU has read, accessed by it");
	EXPECT(after.remote_accesses - before.remote_accesses == bytes / PAGE_BYTES, "%llu remote accesses",
	       (unsigned long long)(after.remote_accesses - before.remote_accesses));
	EXPECT(after.faults_written == before.faults_written, "%llu faults on mapped pages",
	       (unsigned long long)(after.faults_written - before.faults_written));
	emu_gpu_write(fd, 1, at + 3, 1234);
	EXPECT(at[3] == 1234, "the CPU does not see the GPU's write");
	EXPECT(emu_advise(fd, at, bytes, UVMP_EMU_NOT_ACCESSED_BY, 1) == 0, "ADVISE not accessed by fails");
	at[3] = emu_value(3, 5);
	gpu_reads_pages(fd, 1, at, bytes, 5);
}

static void read_duplication(void)
{
	const size_t bytes = 16u * PAGE_BYTES;
	int fd = emu_open();
	uint64_t *at = emu_map_at(fd, bytes, 0);
	uint32_t crc;

	fill(at, bytes, 6);
	crc = emu_crc(at, bytes);
	EXPECT(emu_advise(fd, at, bytes, UVMP_EMU_READ_DUPLICATE, 0) == 0, "ADVISE read duplicate fails");
	gpu_reads_pages(fd, 1, at, bytes, 6);
	expect_filled(at, bytes, 6, "duplicated");
	gpu_reads_pages(fd, 2, at, bytes, 6);
	emu_expect_where(fd, at, bytes, ON_CPU | ON_GPU(1) | ON_GPU(2), "all have read");
	emu_expect_crc(fd, at, bytes, crc, "duplicated");
	emu_gpu_write(fd, 1, at + 2, 66); /* the copies of its page collapse */
	emu_expect_where(fd, at, PAGE_BYTES, ON_GPU(1), "GPU 1 has written");
	EXPECT(emu_gpu_read(fd, 2, at + 2) == 66, "GPU 2 reads a copy that is old");
	EXPECT(at[2] == 66, "the CPU reads a copy that is old");
	at[PAGE_WORDS] = 67;
	emu_expect_where(fd, at + PAGE_WORDS, PAGE_BYTES, ON_CPU, "the CPU has written");
	EXPECT(emu_gpu_read(fd, 1, at + PAGE_WORDS) == 67, "GPU 1 reads a copy that is old");
	EXPECT(emu_gpu_read(fd, 2, at + PAGE_WORDS) == 67, "GPU 2 reads a copy that is old");
	EXPECT(emu_gpu_add(fd, 2, at + 2u * PAGE_WORDS, 1) == emu_value(2u * PAGE_WORDS, 6), "ADD on a copy");
	EXPECT(at[2u * PAGE_WORDS] == emu_value(2u * PAGE_WORDS, 6) + 1u, "ADD on a copy got lost");
	EXPECT(emu_advise(fd, at, bytes, UVMP_EMU_NO_DUPLICATE, 0) == 0, "ADVISE no duplicate fails");
	for (size_t page = 0; page < bytes / PAGE_BYTES; page++) {
		uint8_t where;

		EXPECT(emu_look(fd, at + page * PAGE_WORDS, PAGE_BYTES, &where, NULL) == 0, "LOOK");
		EXPECT(where != 0 && (where & (where - 1)) == 0, "page %zu still has copies: 0x%x", page,
		       where);
	}
	EXPECT(emu_advise(fd, at, bytes, UVMP_EMU_UNSET_DUPLICATE, 0) == 0, "ADVISE unset duplicate fails");
	at[2] = emu_value(2, 6);
	at[PAGE_WORDS] = emu_value(PAGE_WORDS, 6);
	at[2u * PAGE_WORDS] -= 1;
	expect_filled(at, bytes, 6, "collapsed");
}

/* What is written after DISCARD counts. */
static void discard(void)
{
	const size_t bytes = 3u * MIB;
	int fd = emu_open();
	uint64_t *at = emu_map(fd, bytes);
	struct emu_job job = {0};

	for (unsigned round = 0; round < 3; round++) {
		fill(at, bytes, round);
		EXPECT(emu_prefetch(fd, at, bytes, round % 3u) == 0, "PREFETCH");
		EXPECT(emu_advise(fd, at, bytes, UVMP_EMU_DISCARD, 0) == 0, "ADVISE discard fails");
		for (size_t page = 0; page < bytes / PAGE_BYTES; page += 2)
			emu_job_add(&job, UVMP_EMU_WRITE, at + page * PAGE_WORDS, page + round);
		emu_job_run(&job, fd, 1 + round % 2u, 16);
		emu_job_clear(&job);
		for (size_t page = 1; page < bytes / PAGE_BYTES; page += 2)
			at[page * PAGE_WORDS] = page + round;
		EXPECT(emu_prefetch(fd, at, bytes, 1) == 0, "PREFETCH");
		for (size_t page = 0; page < bytes / PAGE_BYTES; page++)
			EXPECT(at[page * PAGE_WORDS] == page + round,
			       "page %zu, written behind DISCARD, reads 0x%llx", page,
			       (unsigned long long)at[page * PAGE_WORDS]);
	}
	emu_job_free(&job);
}

static void two_gpus(void)
{
	const size_t bytes = 128u * PAGE_BYTES;
	int fd = emu_open();
	uint64_t *at = emu_map_at(fd, bytes, 0);

	fill(at, bytes, 7);
	for (unsigned round = 1; round <= 6; round++) {
		unsigned gpu = 1 + round % 2u;
		struct emu_job job = {0};

		for (size_t page = 0; page < bytes / PAGE_BYTES; page++)
			emu_job_add(&job, UVMP_EMU_ADD, word_of_page(at, page), 1);
		emu_job_run(&job, fd, gpu, 4);
		for (size_t page = 0; page < job.accesses; page++)
			EXPECT(job.access[page].value ==
			               emu_value((size_t)(word_of_page(at, page) - at), 7) + round - 1u,
			       "GPU %u, round %u, page %zu: 0x%llx", gpu, round, page,
			       (unsigned long long)job.access[page].value);
		emu_job_free(&job);
	}
	for (size_t page = 0; page < bytes / PAGE_BYTES; page++)
		*word_of_page(at, page) -= 6u;
	expect_filled(at, bytes, 7, "six ADDs by two GPUs");
}

/* Ranges of any number of pages at any page of a VABlock. */
static void odd_ranges(void)
{
	static const size_t pages[] = {1, 3, 511, 513, 1025};
	int fd = emu_open();

	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
		size_t bytes = pages[i] * PAGE_BYTES;
		uint64_t *at = emu_map_at(fd, bytes, (i * 211u + 1u) % 512u * PAGE_BYTES);
		uint64_t *last = at + bytes / 8u - 1u;
		uint64_t nothing = 0;

		fill(at, bytes, 8);
		gpu_reads_pages(fd, 1, at, bytes, 8);
		EXPECT(emu_gpu_add(fd, 1, last, 1) == emu_value((size_t)(last - at), 8),
		       "last word, %zu pages", pages[i]);
		EXPECT(emu_gpu_try(fd, 1, UVMP_EMU_READ, last + 1, &nothing) == -EFAULT,
		       "the GPU reads behind %zu pages", pages[i]);
		EXPECT(emu_gpu_try(fd, 1, UVMP_EMU_READ, (char *)at - 8, &nothing) == -EFAULT,
		       "the GPU reads before %zu pages", pages[i]);
		*last -= 1;
		expect_filled(at, bytes, 8, "odd range");
		emu_unmap(at, bytes);
		EXPECT(emu_gpu_try(fd, 1, UVMP_EMU_READ, at, &nothing) == -EFAULT,
		       "the GPU reads what is unmapped");
	}
}

/* Ranges that share a VABlock are independent; a new mapping at the address of an old one is new. */
static void shared_window(void)
{
	enum { RANGES = 8, PAGES = 16 };
	const size_t bytes = PAGES * PAGE_BYTES;
	int fd = emu_open();
	uint64_t *base = emu_map_at(fd, RANGES * bytes, 64u * PAGE_BYTES);
	uint64_t *at[RANGES];

	fill(base, RANGES * bytes, 1);
	for (size_t i = 0; i < RANGES; i++) {
		at[i] = mmap(base + i * bytes / 8u, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		             0);
		EXPECT(at[i] == base + i * bytes / 8u, "mmap in the place of a range: %s", strerror(errno));
		for (size_t word = 0; word < bytes / 8u; word++)
			EXPECT(at[i][word] == 0, "a new mapping begins with 0x%llx",
			       (unsigned long long)at[i][word]);
		fill(at[i], bytes, 10u + i);
	}
	for (size_t i = 0; i < RANGES; i++)
		gpu_reads_pages(fd, 1, at[i], bytes, 10u + i);
	for (size_t i = 0; i < RANGES; i += 2)
		emu_unmap(at[i], bytes);
	for (size_t i = 0; i < RANGES; i++) {
		uint64_t value = 0;
		int status = emu_gpu_try(fd, 1, UVMP_EMU_READ, at[i] + 1, &value);

		EXPECT(status == (i % 2u ? 0 : -EFAULT), "range %zu: status %d", i, status);
		EXPECT(emu_look(fd, at[i], bytes, NULL, NULL) == (i % 2u ? 0 : -ENOENT), "LOOK at range %zu",
		       i);
		if (i % 2u == 0)
			continue;
		gpu_reads_pages(fd, 1, at[i], bytes, 10u + i);
		expect_filled(at[i], bytes, 10u + i, "its neighbours are gone");
	}
}

/* Unmapping the middle leaves both ends. */
static void part_unmapped(void)
{
	const size_t bytes = 2u * BLOCK_BYTES + 5u * PAGE_BYTES, from = BLOCK_BYTES / 2u,
	             to = BLOCK_BYTES + 3u * PAGE_BYTES;
	int fd = emu_open();
	uint64_t *at = emu_map_at(fd, bytes, 0);
	uint64_t value = 0;

	fill(at, bytes, 11);
	EXPECT(emu_prefetch(fd, at, bytes / 2u / PAGE_BYTES * PAGE_BYTES, 1) == 0, "PREFETCH");
	emu_unmap((char *)at + from, to - from);
	EXPECT(emu_gpu_try(fd, 1, UVMP_EMU_READ, (char *)at + from, &value) == -EFAULT,
	       "first page that is gone");
	EXPECT(emu_gpu_try(fd, 1, UVMP_EMU_READ, (char *)at + to - 8, &value) == -EFAULT,
	       "last page that is gone");
	EXPECT(emu_look(fd, at, bytes, NULL, NULL) == -ENOENT, "LOOK over what is gone");
	EXPECT(emu_touch((uint64_t *)((char *)at + from), false) == SIGSEGV, "the CPU reads what is gone");
	for (size_t i = 0; i < bytes / 8u; i++) {
		if (i * 8u >= from && i * 8u < to)
			continue;
		if (i % PAGE_WORDS == 17u)
			EXPECT(emu_gpu_read(fd, 1, at + i) == emu_value(i, 11),
			       "the GPU reads another value in word %zu", i);
		if (i % PAGE_WORDS == 17u)
			i += 5u * PAGE_WORDS;
	}
	for (size_t i = 0; i < bytes / 8u; i++)
		if (i * 8u < from || i * 8u >= to)
			EXPECT(at[i] == emu_value(i, 11), "word %zu is 0x%llx", i, (unsigned long long)at[i]);
	emu_unmap(at, from);
	EXPECT(at[to / 8u] == emu_value(to / 8u, 11), "the end went with the beginning");
	EXPECT(emu_stats(0).frames_cpu <= (bytes - to) / PAGE_BYTES,
	       "memory of what was unmapped is still in use");
}

static void only_to_read(void)
{
	const size_t bytes = 8u * PAGE_BYTES;
	int fd = emu_open();
	uint64_t *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	uint64_t value = 5;

	EXPECT(at != MAP_FAILED, "mmap to read: %s", strerror(errno));
	EXPECT(at[3] == 0, "new memory is not zero");
	EXPECT(emu_touch(at, true) == SIGSEGV, "the CPU can write what it may only read");
	EXPECT(emu_gpu_read(fd, 1, at + 3) == 0, "new memory is not zero for the GPU");
	EXPECT(emu_gpu_try(fd, 1, UVMP_EMU_WRITE, at, &value) == -EFAULT,
	       "the GPU can write what it may only read");
	EXPECT(emu_gpu_try(fd, 1, UVMP_EMU_ADD, at + PAGE_WORDS, &value) == -EFAULT, "the GPU can add to it");
	EXPECT(emu_gpu_read(fd, 1, at) == 0 && at[0] == 0 && at[PAGE_WORDS] == 0,
	       "a write that failed has written");
	EXPECT(mprotect(at, bytes, PROT_READ | PROT_WRITE) == -1 && errno == EACCES,
	       "more rights later than the policy was told of");
	EXPECT(emu_touch(at, true) == SIGSEGV, "the CPU can write after a mprotect that was refused");
}

/* Revoked rights hold for the CPU at once, wherever the page is. */
static void protected_later(void)
{
	const size_t bytes = 8u * PAGE_BYTES;
	int fd = emu_open();
	uint64_t *at = emu_map(fd, bytes);

	fill(at, bytes, 12);
	EXPECT(mprotect(at, bytes, PROT_READ) == 0, "mprotect to read: %s", strerror(errno));
	EXPECT(emu_touch(at, true) == SIGSEGV, "written after mprotect");
	gpu_reads_pages(fd, 1, at, bytes, 12);
	EXPECT(emu_touch(at, true) == SIGSEGV, "written after mprotect, from the GPU");
	expect_filled(at, bytes, 12, "protected");
	EXPECT(mprotect(at, bytes, PROT_NONE) == 0, "mprotect to nothing: %s", strerror(errno));
	EXPECT(emu_touch(at, false) == SIGSEGV, "read after mprotect");
	emu_gpu_write(fd, 1, at + 2, 4); /* GPUs do not see it */
	EXPECT(emu_touch(at, false) == SIGSEGV, "read after mprotect and a write by the GPU");
	EXPECT(mprotect(at, bytes, PROT_READ | PROT_WRITE) == 0, "mprotect back: %s", strerror(errno));
	EXPECT(at[2] == 4, "the GPU's write, where the CPU had no right, is lost");
	at[1] = 3;
	EXPECT(emu_gpu_read(fd, 1, at + 1) == 3, "written after mprotect back");
	EXPECT(mprotect(at + 2u * PAGE_WORDS, 3u * PAGE_BYTES, PROT_READ) == 0, "mprotect of a part: %s",
	       strerror(errno));
	for (size_t page = 0; page < bytes / PAGE_BYTES; page++) {
		bool is_part = page >= 2 && page < 5;

		EXPECT(emu_gpu_add(fd, 1, at + page * PAGE_WORDS + 7, 1) ==
		               emu_value(page * PAGE_WORDS + 7u, 12),
		       "the GPU, page %zu", page);
		EXPECT(emu_touch(at + page * PAGE_WORDS, true) == (is_part ? SIGSEGV : 0),
		       "written by the CPU, page %zu", page);
		EXPECT(at[page * PAGE_WORDS + 7] == emu_value(page * PAGE_WORDS + 7u, 12) + 1u, "page %zu",
		       page);
	}
}

/* Reading first and then writing, in every order of processors. */
static void read_then_write(void)
{
	int fd = emu_open();
	uint64_t *at = emu_map(fd, 3u * PAGE_BYTES);

	for (unsigned first = 0; first < 3; first++) {
		volatile uint64_t *word = at + first * PAGE_WORDS;
		uint64_t expected = 0;

		for (unsigned step = 0; step < 12; step++) {
			unsigned processor = (first + step + step / 3u) % 3u;
			uint64_t seen =
			        processor ? emu_gpu_read(fd, processor, (const uint64_t *)word) : *word;

			EXPECT(seen == expected, "step %u: processor %u reads %llu, expected %llu", step,
			       processor, (unsigned long long)seen, (unsigned long long)expected);
			expected += step + 1u;
			if (processor)
				emu_gpu_write(fd, processor, (uint64_t *)word, expected);
			else
				*word = expected;
		}
	}
}

/* The kernel copies from and to managed memory wherever it is. */
static void system_calls(void)
{
	const size_t bytes = 96u * PAGE_BYTES;
	int fd = emu_open(), file = (int)syscall(SYS_memfd_create, "copy", 0), pipes[2];
	uint64_t *at = emu_map(fd, bytes), *plain = malloc(bytes);

	EXPECT(file >= 0 && plain && pipe(pipes) == 0, "memfd, memory or pipe");
	fill(at, bytes, 13);
	EXPECT(emu_prefetch(fd, at, bytes, 1) == 0, "PREFETCH");
	EXPECT(pwrite(file, at, bytes, 0) == (ssize_t)bytes, "write from the GPU's memory: %s",
	       strerror(errno));
	EXPECT(pread(file, plain, bytes, 0) == (ssize_t)bytes, "read: %s", strerror(errno));
	expect_filled(plain, bytes, 13, "written to a file");
	fill(plain, bytes, 14);
	EXPECT(pwrite(file, plain, bytes, 0) == (ssize_t)bytes, "write: %s", strerror(errno));
	EXPECT(emu_prefetch(fd, at, bytes, 1) == 0, "PREFETCH");
	EXPECT(pread(file, at, bytes, 0) == (ssize_t)bytes, "read to the GPU's memory: %s", strerror(errno));
	gpu_reads_pages(fd, 1, at, bytes, 14);
	EXPECT(write(pipes[1], at, PAGE_BYTES) == (ssize_t)PAGE_BYTES, "write to a pipe: %s",
	       strerror(errno));
	EXPECT(emu_prefetch(fd, at, bytes, 1) == 0, "PREFETCH");
	EXPECT(read(pipes[0], at + PAGE_WORDS, PAGE_BYTES) == (ssize_t)PAGE_BYTES, "read: %s",
	       strerror(errno));
	EXPECT(emu_gpu_read(fd, 1, at + PAGE_WORDS + 1) == emu_value(1, 14), "read from a pipe");
	emu_unmap(at, bytes);
	EXPECT(pwrite(file, at, bytes, 0) == -1 && errno == EFAULT, "write from what is unmapped");
	free(plain);
}

/* A file written from memory that never was read, and from a range to read, must hold zeros: nothing of
 * former owners. */
static void old_contents(void)
{
	const size_t bytes = 2u * MIB;
	int fd = emu_open();

	for (unsigned round = 0; round < 6; round++) {
		uint64_t *at = emu_map(fd, bytes);
		struct emu_job job = {0};

		if (round % 3u == 1)
			EXPECT(emu_prefetch(fd, at, bytes, 1) == 0, "PREFETCH");
		if (round % 3u == 2) {
			EXPECT(emu_prefetch(fd, at, bytes, 1) == 0 &&
			               emu_advise(fd, at, bytes, UVMP_EMU_DISCARD, 0) == 0,
			       "DISCARD");
			EXPECT(emu_advise(fd, at, bytes, UVMP_EMU_PREFERRED, UVMP_EMU_CPU) == 0, "ADVISE");
		}
		for (size_t i = 0; i < bytes / 8u; i += 64)
			emu_job_add(&job, UVMP_EMU_READ, at + i, 1);
		emu_job_run(&job, fd, 1, 64);
		for (size_t i = 0; i < job.accesses; i++)
			EXPECT(job.access[i].value == 0, "round %u: the GPU finds old contents: 0x%llx",
			       round, (unsigned long long)job.access[i].value);
		for (size_t i = 0; i < bytes / 8u; i++)
			EXPECT(at[i] == 0, "round %u: the CPU finds old contents: 0x%llx", round,
			       (unsigned long long)at[i]);
		for (size_t i = 0; i < bytes / 8u; i++)
			at[i] = 0x5ec7e75ec7e7u;
		EXPECT(emu_prefetch(fd, at, bytes, round % 2u) == 0, "PREFETCH");
		emu_unmap(at, bytes);
		emu_job_free(&job);
	}
}

/* A range of 1 GiB of which little is touched, and one larger than allowed. */
static void huge_range(void)
{
	const size_t bytes = 1024u * MIB;
	int fd = emu_open();
	uint64_t *at = emu_map(fd, bytes);

	for (size_t i = 0; i < 32; i++) {
		uint64_t *word = at + i * (bytes / 8u / 32u) + i;

		if (i % 2u)
			emu_gpu_write(fd, 1, word, i);
		else
			*word = i;
	}
	at[bytes / 8u - 1u] = 77;
	EXPECT(emu_gpu_read(fd, 1, at + bytes / 8u - 1u) == 77, "last word");
	for (size_t i = 0; i < 32; i++) {
		uint64_t *word = at + i * (bytes / 8u / 32u) + i;

		EXPECT((i % 2u ? *word : emu_gpu_read(fd, 1, word)) == i, "word %zu", i);
	}
	EXPECT(mmap(NULL, UVMP_EMU_RANGE_BYTES + PAGE_BYTES, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0) ==
	               MAP_FAILED,
	       "a range larger than the largest is mapped");
	EXPECT(errno == EINVAL || errno == ENOMEM, "larger than the largest range: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	static const struct emu_case cases[] = {
	        {"cpu_gpu_cpu", "", cpu_gpu_cpu},
	        {"order_in_warp", "", order_in_warp},
	        {"look", "", look},
	        {"prefetch_range", "memory_mib=16", prefetch_range},
	        {"preferred_location", "", preferred_location},
	        {"accessed_by", "", accessed_by},
	        {"read_duplication", "gpus=2", read_duplication},
	        {"discard", "gpus=2 memory_mib=8", discard},
	        {"two_gpus", "gpus=2", two_gpus},
	        {"odd_ranges", "", odd_ranges},
	        {"shared_window", "", shared_window},
	        {"part_unmapped", "", part_unmapped},
	        {"only_to_read", "", only_to_read},
	        {"protected_later", "", protected_later},
	        {"read_then_write", "gpus=2", read_then_write},
	        {"system_calls", "", system_calls},
	        {"old_contents", "memory_mib=8", old_contents},
	        {"huge_range", "", huge_range},
	};

	return emu_main(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
