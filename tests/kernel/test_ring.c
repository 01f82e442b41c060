/* The way of a fault: rings that are too small, duplicates, every replay policy, prefetch instructions,
 * faults that cannot be serviced, access counters. Even if the ring loses entries, every access is performed
 * once. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu.h"

/* Each of `warps` warps adds to `steps` words, pages apart, so that all fault at the same time; returns what
 * STATS of the GPU say of it. The contents are checked. */
static struct uvmp_emu_stats storm(int fd, size_t warps, size_t steps)
{
	const size_t bytes = warps * steps * PAGE_BYTES;
	uint64_t *at = emu_map_at(fd, bytes, 0);
	struct uvmp_emu_stats before = emu_stats(1), after;
	struct emu_job job = {0};

	for (size_t page = 0; page < warps * steps; page += 2)
		at[page * PAGE_WORDS] = page;
	for (size_t warp = 0; warp < warps; warp++)
		for (size_t step = 0; step < steps; step++)
			emu_job_add(&job, UVMP_EMU_ADD, at + (step * warps + warp) * PAGE_WORDS, 1000000);
	emu_job_run(&job, fd, 1, (uint32_t)steps);
	after = emu_stats(1);
	for (size_t warp = 0; warp < warps; warp++)
		for (size_t step = 0; step < steps; step++) {
			size_t page = step * warps + warp;
			uint64_t first = page % 2u ? 0 : page;

			EXPECT(job.access[warp * steps + step].value == first, "ADD in page %zu found %llu",
			       page, (unsigned long long)job.access[warp * steps + step].value);
			EXPECT(at[page * PAGE_WORDS] == first + 1000000u, "page %zu: %llu", page,
			       (unsigned long long)at[page * PAGE_WORDS]);
		}
	EXPECT(after.accesses - before.accesses == warps * steps, "%zu accesses made, %llu counted",
	       warps * steps, (unsigned long long)(after.accesses - before.accesses));
	emu_unmap(at, bytes);
	emu_job_free(&job);
	after.faults_written -= before.faults_written;
	after.faults_lost -= before.faults_lost;
	after.batches -= before.batches;
	after.bottom_halves -= before.bottom_halves;
	after.replays -= before.replays;
	after.flushed -= before.flushed;
	after.duplicates -= before.duplicates;
	return after;
}

static void overflow(size_t warps)
{
	int fd = emu_open();
	struct uvmp_emu_info info;
	struct uvmp_emu_stats stats;

	EXPECT(emu_ioctl(fd, UVMP_EMU_INFO, &info) == 0, "INFO");
	stats = storm(fd, warps, 2);
	EXPECT(stats.faults_lost > 0, "%zu warps, %u entries, and no fault was lost", warps,
	       info.fault_entries);
	EXPECT(stats.faults_written > 0 && stats.batches > 0 && stats.replays > 0, "no fault");
}

static void ring_of_2(void)
{
	overflow(300);
}

static void ring_of_16(void)
{
	overflow(600);
}

/* All warps want one page: what the ring holds are duplicates. */
static void one_page(int fd, unsigned warps)
{
	uint64_t *at = emu_map_at(fd, 4u * PAGE_BYTES, 0);
	struct emu_job job = {0};

	for (unsigned round = 0; round < 3; round++) {
		at[5] = 0;
		for (unsigned i = 0; i < warps; i++)
			emu_job_add(&job, UVMP_EMU_ADD, at + 5, 1);
		emu_job_run(&job, fd, 1, 1);
		EXPECT(at[5] == warps, "%u warps added 1, and the sum is %llu", warps,
		       (unsigned long long)at[5]);
		/* Atomics: each found another number. */
		unsigned char *found = calloc(warps, 1);

		EXPECT(found != NULL, "no memory");
		for (unsigned i = 0; i < warps; i++) {
			uint64_t value = job.access[i].value;

			EXPECT(value < warps && !found[value], "two ADDs found %llu",
			       (unsigned long long)value);
			found[value] = 1;
		}
		free(found);
		emu_job_clear(&job);
	}
	emu_unmap(at, 4u * PAGE_BYTES);
	emu_job_free(&job);
}

static void duplicates(void)
{
	int fd = emu_open();
	struct uvmp_emu_stats stats;

	one_page(fd, 600);
	stats = emu_stats(1);
	EXPECT(stats.duplicates > 0, "600 warps want one page, and no duplicate was seen");
}

static void set_policy(const char *text)
{
	int error = emu_debugfs_write("policy", text);

	EXPECT(error == 0, "policy %s: %s", text, strerror(-error));
}

/* Batches of 16 and a ring of 256 entries: more waits than a batch takes. */
static void replay_policies(void)
{
	int fd = emu_open();
	struct uvmp_emu_stats stats;

	set_policy("prefetch=none thrash=off replay=block batch=16");
	stats = storm(fd, 256, 2);
	EXPECT(stats.flushed == 0, "block: %llu entries flushed", (unsigned long long)stats.flushed);
	EXPECT(stats.replays >= stats.bottom_halves && stats.replays > 0,
	       "block: %llu replays in %llu batches", (unsigned long long)stats.replays,
	       (unsigned long long)stats.batches);
	one_page(fd, 200);

	set_policy("prefetch=none thrash=off replay=batch batch=16");
	stats = storm(fd, 256, 2);
	EXPECT(stats.flushed == 0, "batch: %llu entries flushed", (unsigned long long)stats.flushed);
	EXPECT(stats.replays >= stats.batches && stats.batches > 2, "batch: %llu replays in %llu batches",
	       (unsigned long long)stats.replays, (unsigned long long)stats.batches);
	one_page(fd, 200);

	set_policy("prefetch=none thrash=off replay=batch_wait batch=16");
	stats = storm(fd, 256, 2);
	EXPECT(stats.flushed == 0 && stats.replays > 0, "batch_wait: %llu entries flushed, %llu replays",
	       (unsigned long long)stats.flushed, (unsigned long long)stats.replays);
	one_page(fd, 200);

	set_policy("prefetch=none thrash=off replay=batch_flush put_ratio=0 batch=16");
	stats = storm(fd, 256, 2);
	EXPECT(stats.replays > 0, "batch_flush: no replay");
	one_page(fd, 200);
	stats = emu_stats(1);
	EXPECT(stats.flushed > 0, "batch_flush: nothing flushed");

	set_policy("prefetch=none thrash=off replay=once batch=16");
	stats = storm(fd, 256, 2);
	EXPECT(stats.replays <= stats.bottom_halves && stats.replays > 0 && stats.flushed == 0,
	       "once: %llu replays in %llu bottom halves, %llu entries flushed",
	       (unsigned long long)stats.replays, (unsigned long long)stats.bottom_halves,
	       (unsigned long long)stats.flushed);
	one_page(fd, 200);
}

/* Prefetch instructions bring pages, and the warp does not wait; where nothing is they are forgotten. */
static void prefetch_instructions(void)
{
	const size_t bytes = 64u * PAGE_BYTES;
	int fd = emu_open();
	uint64_t *at = emu_map_at(fd, bytes, 0), nothing = 0;
	uint64_t until = emu_now_ms() + 10000u;
	struct emu_job job = {0};
	uint8_t where[64];
	size_t there = 0;

	set_policy("prefetch=none");
	for (size_t i = 0; i < bytes / 8u; i++)
		at[i] = emu_value(i, 4);
	uint32_t crc = emu_crc(at, bytes);

	while (there < 64 && emu_now_ms() < until) { /* a prefetch that the ring has no place for is lost */
		emu_job_clear(&job);
		for (size_t page = 0; page < 64; page++)
			emu_job_add(&job, UVMP_EMU_PREFETCH, at + page * PAGE_WORDS + 3, 17);
		emu_job_run(&job, fd, 1, 8);
		EXPECT(emu_look(fd, at, bytes, where, NULL) == 0, "LOOK");
		for (there = 0; there < 64 && where[there] == ON_GPU(1);)
			there++;
	}
	EXPECT(there == 64, "page %zu was asked for by prefetches, and is held by 0x%x", there,
	       there < 64 ? where[there] : 0);
	for (size_t i = 0; i < job.accesses; i++)
		EXPECT(job.access[i].value == 17, "a prefetch has changed its value");
	emu_expect_crc(fd, at, bytes, crc, "prefetched by instructions");
	for (unsigned i = 0; i < 20; i++)
		EXPECT(emu_gpu_try(fd, 1, UVMP_EMU_PREFETCH, &nothing, &nothing) == 0,
		       "a prefetch of nothing fails");
	EXPECT(emu_gpu_read(fd, 1, at + 9) == emu_value(9, 4), "read after prefetches of nothing");
	emu_job_free(&job);
}

struct mover {
	int fd;
	uint64_t *at;
	bool is_over;
};

static void *move_to_and_fro(void *argument)
{
	struct mover *mover = argument;

	for (unsigned to = 1; !__atomic_load_n(&mover->is_over, __ATOMIC_SEQ_CST); to = !to)
		EXPECT(emu_prefetch(mover->fd, mover->at, MIB, to) == 0, "PREFETCH");
	return NULL;
}

/* No warp waits for a prefetch, but a submission ends when what it has reported is settled, also when the
 * driver was busy with something else. */
static void ends_settled(void)
{
	const size_t bytes = 64u * PAGE_BYTES;
	int fd = emu_open();
	uint64_t *at = emu_map_at(fd, bytes, 0);
	struct mover mover = {.fd = emu_open()};
	struct emu_job job = {0};
	pthread_t thread;

	set_policy("prefetch=none thrash=off replay=batch");
	mover.at = emu_map_at(mover.fd, MIB, 0);
	for (size_t page = 0; page < MIB / PAGE_BYTES; page++)
		mover.at[page * PAGE_WORDS] = page;
	for (size_t page = 0; page < 64; page++)
		emu_job_add(&job, UVMP_EMU_PREFETCH, at + page * PAGE_WORDS, 0);
	EXPECT(pthread_create(&thread, NULL, move_to_and_fro, &mover) == 0, "pthread_create");
	for (unsigned round = 0; round < 40; round++) {
		for (size_t page = 0; page < 64; page++)
			at[page * PAGE_WORDS] = page + round;
		emu_expect_where(fd, at, bytes, ON_CPU, "written by the CPU");
		emu_job_run(&job, fd, 1, 8);
		emu_expect_where(fd, at, bytes, ON_GPU(1), "prefetched, and the submission has ended");
	}
	__atomic_store_n(&mover.is_over, true, __ATOMIC_SEQ_CST);
	EXPECT(pthread_join(thread, NULL) == 0, "pthread_join");
	for (size_t page = 0; page < MIB / PAGE_BYTES; page++)
		EXPECT(mover.at[page * PAGE_WORDS] == page, "page %zu of what was moved", page);
	emu_job_free(&job);
}

/* Warps with accesses that are not allowed are cancelled after their earlier accesses; all others
 * continue. */
static void cancelled(void)
{
	const size_t bytes = 64u * PAGE_BYTES;
	int fd = emu_open();
	uint64_t *at = emu_map(fd, bytes);
	uint64_t *constant = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	char *nothing = mmap(NULL, PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct emu_job job = {0};
	uint32_t failed = 0;

	EXPECT(constant != MAP_FAILED && nothing != MAP_FAILED, "mmap: %s", strerror(errno));
	for (size_t warp = 0; warp < 64; warp++) {
		uint64_t *mine = at + warp * PAGE_WORDS;

		emu_job_add(&job, UVMP_EMU_ADD, mine, 1);
		emu_job_add(&job, UVMP_EMU_READ, constant + warp * PAGE_WORDS, 9);
		emu_job_add(&job, warp % 4u == 1 || warp % 4u == 2 ? UVMP_EMU_WRITE : UVMP_EMU_READ,
		            warp % 4u == 1   ? (void *)(constant + warp * PAGE_WORDS)
		            : warp % 4u == 2 ? (void *)constant /* which others read */
		            : warp % 4u == 3 ? (void *)nothing
		                             : (void *)constant,
		            77);
		emu_job_add(&job, UVMP_EMU_ADD, mine + 1, 2);
	}
	EXPECT(emu_job_submit(&job, fd, 1, 4) == 0, "SUBMIT: %s", strerror(errno));
	for (size_t warp = 0; warp < 64; warp++) {
		bool is_bad = warp % 4u != 0;

		failed += is_bad;
		EXPECT(job.warp[warp].status == (is_bad ? -EFAULT : 0) &&
		               job.warp[warp].done == (is_bad ? 2u : 4u),
		       "warp %zu: status %d, done %u", warp, job.warp[warp].status, job.warp[warp].done);
		EXPECT(at[warp * PAGE_WORDS] == 1 && at[warp * PAGE_WORDS + 1] == (is_bad ? 0 : 2),
		       "warp %zu: %llu and %llu in memory", warp, (unsigned long long)at[warp * PAGE_WORDS],
		       (unsigned long long)at[warp * PAGE_WORDS + 1]);
		EXPECT(constant[warp * PAGE_WORDS] == 0, "constant memory was written");
		EXPECT(job.access[warp * 4u + 1u].value == 0, "constant memory read as %llu",
		       (unsigned long long)job.access[warp * 4u + 1u].value);
	}
	EXPECT(job.failed == failed, "%u warps failed, the submission says %u", failed, job.failed);
	EXPECT(emu_stats(1).cancelled == failed, "%u warps failed, %llu counted", failed,
	       (unsigned long long)emu_stats(1).cancelled);
	emu_job_free(&job);
}

/* -- one page that all want ---------------------------------------------------------------------- */

#define ADDS 200u

struct player {
	int fd;
	uint64_t *at;
	unsigned processor;
};

static void *add_and_add(void *argument)
{
	const struct player *player = argument;

	for (unsigned i = 0; i < ADDS; i++) {
		if (player->processor == 0)
			__atomic_fetch_add(player->at, 1, __ATOMIC_SEQ_CST);
		else
			emu_gpu_add(player->fd, player->processor, player->at, 1);
		if (player->processor == 0) /* a word of its own on the same page */
			player->at[1]++;
	}
	return NULL;
}

static void bounce(const char *policy)
{
	int fd = emu_open();
	uint64_t *at = emu_map_at(fd, PAGE_BYTES, 0);
	struct player player[3];
	pthread_t thread[3];

	set_policy(policy);
	for (unsigned i = 0; i < 3; i++) {
		player[i] = (struct player){.fd = fd, .at = at, .processor = i};
		EXPECT(pthread_create(&thread[i], NULL, add_and_add, &player[i]) == 0, "pthread_create");
	}
	for (unsigned i = 0; i < 3; i++)
		EXPECT(pthread_join(thread[i], NULL) == 0, "pthread_join");
	EXPECT(at[0] == 3u * ADDS, "%s: three times %u added, and the sum is %llu", policy, ADDS,
	       (unsigned long long)at[0]);
	EXPECT(at[1] == ADDS, "%s: the CPU's own word is %llu", policy, (unsigned long long)at[1]);
	emu_unmap(at, PAGE_BYTES);
}

static void thrashing(void)
{
	bounce("thrash=off");
	bounce("thrash=on");
	bounce("thrash=on thrash_threshold=2 pin_threshold=2 nap=1 pin=5");
	bounce("thrash=on lapse_us=100000 pin_threshold=255 nap=1");
}

/* -- access counters ------------------------------------------------------------------------------ */

/* The GPU reads pages on the CPU until a counter says that they are hot. */
static void hot_pages(const char *policy, bool moves)
{
	const size_t bytes = 16u * PAGE_BYTES;
	int fd = emu_open();
	uint64_t *at = emu_map_at(fd, bytes, 0), until = emu_now_ms() + 10000u;
	uint64_t before = emu_stats(1).notifications;
	struct emu_job job = {0};
	uint8_t where[16];
	uint32_t crc;

	set_policy(policy);
	for (size_t i = 0; i < bytes / 8u; i++)
		at[i] = emu_value(i, 3);
	crc = emu_crc(at, bytes);
	EXPECT(emu_advise(fd, at, bytes, UVMP_EMU_ACCESSED_BY, 1) == 0, "ADVISE");
	emu_expect_where(fd, at, bytes, ON_CPU, "accessed by the GPU");
	do {
		emu_job_clear(&job);
		for (size_t i = 0; i < 512; i++)
			emu_job_add(&job, UVMP_EMU_READ, at + i % 16u * PAGE_WORDS + i, 0);
		emu_job_run(&job, fd, 1, 64);
		for (size_t i = 0; i < job.accesses; i++)
			EXPECT(job.access[i].value == emu_value(i % 16u * PAGE_WORDS + i, 3),
			       "remote read %zu", i);
		EXPECT(emu_look(fd, at, bytes, where, NULL) == 0, "LOOK");
	} while (moves ? where[0] != ON_GPU(1) && emu_now_ms() < until
	               : emu_stats(1).remote_accesses < 4096u);
	EXPECT(moves == (where[0] == ON_GPU(1)), "%s: the first page is held by 0x%x", policy, where[0]);
	EXPECT(!moves || emu_stats(1).notifications > before, "%s: pages moved without a notification",
	       policy);
	emu_expect_crc(fd, at, bytes, crc, "hot pages");
	emu_unmap(at, bytes);
	emu_job_free(&job);
}

static void access_counters(void)
{
	EXPECT(emu_stats(1).notifications == 0, "notifications of nothing");
	hot_pages("counters=off", false);
	hot_pages("counters=on counter_threshold=64 counter_batch=4", true);
	hot_pages("counters=on counter_threshold=1", true);
	hot_pages("quirks=0 counters=on counter_threshold=16", true);
}

int main(int argc, char **argv)
{
	static const struct emu_case cases[] = {
	        {"ring_of_2", "fault_entries=2", ring_of_2},
	        {"ring_of_16", "fault_entries=16 memory_mib=8", ring_of_16},
	        {"duplicates", "", duplicates},
	        {"replay_policies", "", replay_policies},
	        {"prefetch_instructions", "fault_entries=32", prefetch_instructions},
	        {"ends_settled", "", ends_settled},
	        {"cancelled", "", cancelled},
	        {"thrashing", "gpus=2", thrashing},
	        {"access_counters", "counter_entries=8", access_counters},
	};

	return emu_main(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
