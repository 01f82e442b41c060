/* Ends of every kind, in the middle of what the driver does: fork, exec, exit, kill, munmap, close,
 * unloading. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu.h"

#define BYTES (6u * MIB)   /* of a process; the GPU has 4 */
#define OLD   (1ull << 40) /* more than GPUs ever add */

struct busy {
	int fd;
	uint64_t *at;
	size_t bytes;
	unsigned processor;
	uint64_t random;
	volatile bool *is_over; /* NULL: never by itself */
	bool may_fail;          /* its memory is being unmapped */
	uint64_t *sum;          /* NULL, or of each word what all have added to it */
};

static size_t add_somewhere(struct busy *busy)
{
	size_t word = emu_random(&busy->random) % (busy->bytes / 8u);

	if (busy->sum)
		__atomic_fetch_add(&busy->sum[word], 1, __ATOMIC_RELAXED);
	return word;
}

/* Launches and launches. */
static void *keep_gpu_busy(void *argument)
{
	struct busy *busy = argument;
	struct emu_job job = {0};

	do {
		int error;

		emu_job_clear(&job);
		for (unsigned i = 0; i < 128; i++) {
			if (emu_random(&busy->random) & 1u)
				emu_job_add(&job, UVMP_EMU_ADD, busy->at + add_somewhere(busy), 1);
			else
				emu_job_add(&job, UVMP_EMU_READ,
				            busy->at + emu_random(&busy->random) % (busy->bytes / 8u), 1);
		}
		error = emu_job_submit(&job, busy->fd, busy->processor, 4);
		EXPECT(error == 0, "SUBMIT: %s", strerror(-error));
		for (uint32_t i = 0; i < job.warps; i++)
			EXPECT(job.warp[i].status == 0 ? job.warp[i].done == job.warp[i].accesses
			                               : busy->may_fail && job.warp[i].status == -EFAULT &&
			                                         job.warp[i].done < job.warp[i].accesses,
			       "warp %u: status %d, done %u of %u", i, job.warp[i].status, job.warp[i].done,
			       job.warp[i].accesses);
	} while (!busy->is_over || !*busy->is_over);
	emu_job_free(&job);
	return NULL;
}

static void *keep_cpu_busy(void *argument)
{
	struct busy *busy = argument;

	do {
		for (unsigned i = 0; i < 64; i++)
			__atomic_fetch_add(busy->at + add_somewhere(busy), 1, __ATOMIC_SEQ_CST);
	} while (!busy->is_over || !*busy->is_over);
	return NULL;
}

static void be_busy(void *argument)
{
	static struct busy busy[3];
	pthread_t thread;
	int fd = emu_open();
	uint64_t *at = emu_map(fd, BYTES);

	(void)argument;
	for (unsigned i = 0; i < 3; i++) {
		busy[i] = (struct busy){.fd = fd, .at = at, .bytes = BYTES, .processor = i, .random = i};
		EXPECT(pthread_create(&thread, NULL, i ? keep_gpu_busy : keep_cpu_busy, &busy[i]) == 0,
		       "pthread_create");
	}
	for (;;)
		pause();
}

static void await_accesses(uint64_t more)
{
	uint64_t accesses = emu_stats(0).accesses, until = emu_now_ms() + 20000u;

	while (emu_stats(0).accesses < accesses + more && emu_now_ms() < until)
		emu_sleep_ms(1);
	EXPECT(emu_stats(0).accesses >= accesses + more, "GPUs stand still");
}

/* Memory of processes that ended is free again while others work: the CPU has no more frames than they
 * have pages. Of GPU memory they may have all, in chunks of which little holds data. */
static bool is_more_used(uint64_t frames)
{
	struct uvmp_emu_stats stats = emu_stats(0);

	return stats.frames_cpu > frames || (frames == 0 && stats.frames_gpu > 0);
}

static void await_frames(uint64_t frames)
{
	uint64_t until = emu_now_ms() + 10000u;

	while (is_more_used(frames) && emu_now_ms() < until)
		emu_sleep_ms(5);
	EXPECT(!is_more_used(frames), "%llu pages of system memory are still in use, %llu of GPUs'",
	       (unsigned long long)emu_stats(0).frames_cpu, (unsigned long long)emu_stats(0).frames_gpu);
}

/* Killed while GPUs and the CPU work, others beside it. */
static void killed(void)
{
	for (unsigned i = 0; i < 4; i++) {
		pid_t first = emu_start(be_busy, NULL), second = emu_start(be_busy, NULL);

		await_accesses(100u + i * 37u);
		kill(first, SIGKILL);
		emu_finish_killed(first);
		await_accesses(60); /* the other continues */
		await_frames(BYTES / PAGE_BYTES);
		kill(second, SIGKILL);
		emu_finish_killed(second);
		await_frames(0);
	}
}

/* exit() by one thread while others are in calls and faults. */
static void exit_while_busy(void *argument)
{
	static struct busy busy[3];
	pthread_t thread;
	int fd = emu_open();
	uint64_t *at = emu_map(fd, BYTES);

	for (unsigned i = 0; i < 3; i++) {
		busy[i] = (struct busy){.fd = fd, .at = at, .bytes = BYTES, .processor = i, .random = i};
		EXPECT(pthread_create(&thread, NULL, i ? keep_gpu_busy : keep_cpu_busy, &busy[i]) == 0,
		       "pthread_create");
	}
	await_accesses(60u + *(unsigned *)argument * 31u);
	_exit(0);
}

static void exited(void)
{
	for (unsigned i = 0; i < 4; i++)
		emu_finish(emu_start(exit_while_busy, &i));
	await_frames(0);
}

static void fork_and_check(struct busy *busy)
{
	pid_t child = fork();
	int status;

	EXPECT(child >= 0, "fork: %s", strerror(errno));
	if (child == 0) {
		for (size_t word = 5; word < busy->bytes / 8u; word += PAGE_WORDS)
			if (emu_touch(busy->at + word, true) != SIGBUS)
				_exit(1);
		_exit(0);
	}
	EXPECT(waitpid(child, &status, 0) == child && status == 0, "the child of a busy process: status 0x%x",
	       (unsigned)status);
}

/* fork() while GPUs and CPU work on the memory that the child inherits: the parent's sums are right, the
 * child gets none. */
static void forks_while_busy(void)
{
	volatile bool is_over = false;
	struct busy busy[3];
	pthread_t thread[3];
	int fd = emu_open();
	uint64_t *at = emu_map(fd, BYTES), *sum = calloc(BYTES / 8u, 8);

	EXPECT(sum != NULL, "no memory");
	for (unsigned i = 0; i < 3; i++) {
		busy[i] = (struct busy){.fd = fd,
		                        .at = at,
		                        .bytes = BYTES,
		                        .processor = i,
		                        .random = i,
		                        .is_over = &is_over,
		                        .sum = sum};
		EXPECT(pthread_create(&thread[i], NULL, i ? keep_gpu_busy : keep_cpu_busy, &busy[i]) == 0,
		       "pthread_create");
	}
	for (unsigned i = 0; i < 4; i++) {
		await_accesses(40);
		fork_and_check(&busy[0]);
	}
	is_over = true;
	for (unsigned i = 0; i < 3; i++)
		EXPECT(pthread_join(thread[i], NULL) == 0, "pthread_join");
	for (size_t word = 0; word < BYTES / 8u; word++)
		EXPECT(at[word] == sum[word], "word %zu is %llu, expected %llu", word,
		       (unsigned long long)at[word], (unsigned long long)sum[word]);
	free(sum);
}

/* The owner's memory goes with exec; the file that stays open is of no use to what runs then. */
static void exec_and_wait(void *argument)
{
	static struct busy busy[3];
	pthread_t thread;
	int fd = emu_open();
	uint64_t *at = emu_map(fd, BYTES);
	char name[32];

	(void)argument;
	for (unsigned i = 0; i < 3; i++) {
		busy[i] = (struct busy){.fd = fd, .at = at, .bytes = BYTES, .processor = i, .random = i};
		EXPECT(pthread_create(&thread, NULL, i ? keep_gpu_busy : keep_cpu_busy, &busy[i]) == 0,
		       "pthread_create");
	}
	await_accesses(100);
	snprintf(name, sizeof(name), "%d", fd);
	execl("/proc/self/exe", "test_life", "--inherited", name, (char *)NULL);
	EXPECT(false, "exec: %s", strerror(errno));
}

/* The program behind exec: exit status 0 if the descriptor behaves. */
static int inherited(int fd)
{
	struct uvmp_emu_info info;
	struct uvmp_emu_look look = {.address = 4096, .bytes = 4096};

	if (emu_ioctl(fd, UVMP_EMU_INFO, &info) != 0 || info.version != 1)
		return 10;
	if (emu_ioctl(fd, UVMP_EMU_LOOK, &look) != -EACCES)
		return 11;
	if (mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED || errno != EACCES)
		return 12;
	return 0;
}

static void execed(void)
{
	for (unsigned i = 0; i < 3; i++) {
		emu_finish(emu_start(exec_and_wait, NULL));
		await_frames(0);
	}
}

/* One thread unmaps, wholly and in parts, memory that GPUs and CPU are using; memory beside it stays
 * right. */
static void unmapped_in_service(void)
{
	volatile bool is_over = false;
	const size_t piece = 96u * PAGE_BYTES;
	struct busy busy[2];
	pthread_t thread[2];
	int fd = emu_open();
	char *at = (char *)emu_map_at(fd, BYTES, 0);
	uint64_t *beside = emu_map(fd, MIB);
	uint64_t random = 3;

	for (size_t i = 0; i < MIB / 8u; i++)
		beside[i] = emu_value(i, 1);
	for (unsigned i = 0; i < 2; i++) {
		busy[i] = (struct busy){.fd = fd,
		                        .at = (uint64_t *)at,
		                        .bytes = BYTES,
		                        .processor = 1u + i,
		                        .random = i,
		                        .is_over = &is_over,
		                        .may_fail = true};
		EXPECT(pthread_create(&thread[i], NULL, keep_gpu_busy, &busy[i]) == 0, "pthread_create");
	}
	for (unsigned round = 0; round < 30; round++) {
		size_t page = emu_random(&random) % ((BYTES - piece) / PAGE_BYTES),
		       pages = 1u + emu_random(&random) % 96u;
		char *hole = at + page * PAGE_BYTES;
		uint64_t *again;
		size_t bytes = pages * PAGE_BYTES;

		if (round % 10u == 9u) {
			hole = at;
			bytes = BYTES;
		}
		await_accesses(16);
		for (size_t i = 0; i < bytes; i += PAGE_BYTES)
			*(volatile uint64_t *)(hole + i) = OLD;
		emu_unmap(hole, bytes);
		if (bytes < BYTES)
			await_accesses(16);
		else
			emu_sleep_ms(20);
		again = mmap(hole, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
		EXPECT(again == (uint64_t *)hole, "mmap in the hole: %s", strerror(errno));
		/* New memory: zero but for what GPUs have added since, which is little. */
		for (size_t i = 0; i < bytes / 8u; i += PAGE_WORDS)
			EXPECT(again[i] < 100000u, "round %u: old contents in new memory: 0x%llx", round,
			       (unsigned long long)again[i]);
		beside[round] = emu_value(round, 1);
	}
	is_over = true;
	for (unsigned i = 0; i < 2; i++)
		EXPECT(pthread_join(thread[i], NULL) == 0, "pthread_join");
	for (size_t i = 0; i < MIB / 8u; i++)
		EXPECT(beside[i] == emu_value(i, 1), "word %zu of another range is 0x%llx", i,
		       (unsigned long long)beside[i]);
}

/* Processes that use up all ranges: each cut takes two more ranges, and all processes together want more
 * than there are. A few at a time, so that the driver never waits for one that is to ask next; the policy
 * keeps ranges in order, so that all at a time, or their end in the order of their beginning, would cost it
 * more. */
#define CROWD        160u
#define CROWD_PIECES 250u
#define CROWD_BYTES  ((2u * CROWD_PIECES + 1u) * PAGE_BYTES)
#define CUTTERS      4u

struct crowd {
	struct member {
		int fd, error;
		uint64_t *at;
	} member[CROWD];
	unsigned next;
};

/* By advice to every second page. */
static void cut_by_advice(struct member *member)
{
	for (size_t i = 0; i < CROWD_PIECES && member->error == 0; i++)
		member->error = emu_advise(member->fd, member->at + (2u * i + 1u) * PAGE_WORDS, PAGE_BYTES,
		                           UVMP_EMU_PREFERRED, 1);
}

static void *cut_and_cut(void *argument)
{
	struct crowd *crowd = argument;
	unsigned i;

	while ((i = __atomic_fetch_add(&crowd->next, 1, __ATOMIC_SEQ_CST)) < CROWD)
		cut_by_advice(&crowd->member[i]);
	return NULL;
}

static void use_up_ranges(struct crowd *crowd)
{
	pthread_t thread[CUTTERS];
	unsigned refused = 0;

	for (unsigned i = 0; i < CROWD; i++) {
		crowd->member[i].fd = emu_open();
		crowd->member[i].at = emu_map(crowd->member[i].fd, CROWD_BYTES);
	}
	for (unsigned i = 0; i < CUTTERS; i++)
		EXPECT(pthread_create(&thread[i], NULL, cut_and_cut, crowd) == 0, "pthread_create");
	for (unsigned i = 0; i < CUTTERS; i++)
		EXPECT(pthread_join(thread[i], NULL) == 0, "pthread_join");
	for (unsigned i = 0; i < CROWD; i++) {
		int error = crowd->member[i].error;

		EXPECT(error == 0 || error == -ENOMEM, "ADVISE without room: %s", strerror(-error));
		refused += error != 0;
	}
	EXPECT(refused > 0, "%u ranges of %u cuts each, and there is room", CROWD, CROWD_PIECES);
}

static void disperse(struct crowd *crowd)
{
	for (unsigned i = CROWD; i-- > 0;) {
		emu_unmap(crowd->member[i].at, CROWD_BYTES);
		close(crowd->member[i].fd);
	}
}

#define CUT_PAGES 24u
#define CUT_BYTES (CUT_PAGES * PAGE_BYTES)

static uint64_t *map_and_fill(int fd, unsigned round)
{
	uint64_t *at = emu_map(fd, CUT_BYTES);

	for (size_t i = 0; i < CUT_BYTES / 8u; i++)
		at[i] = emu_value(i, round);
	EXPECT(emu_prefetch(fd, at, CUT_BYTES / 2u, 1) == 0, "PREFETCH");
	return at;
}

/* Unmaps the middle without space for the cuts: the other parts stay, and nothing can be mapped there. */
static void cut_without_room(int fd, uint64_t *at, unsigned round)
{
	const size_t first = CUT_PAGES / 3u * PAGE_WORDS, end = 2u * first;

	emu_unmap(at + first, (end - first) * 8u);
	EXPECT(emu_stats(0).broken == 0, "the driver has lost track of what the policy has");
	EXPECT(emu_touch(at + first, false) == SIGSEGV, "the CPU reads what is gone");
	EXPECT(mmap(at + first, PAGE_BYTES, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED &&
	               errno == ENOMEM,
	       "mapped where the policy has not let go");
	for (size_t i = 0; i < CUT_BYTES / 8u; i++)
		if (i < first || i >= end)
			EXPECT(at[i] == emu_value(i, round), "word %zu is 0x%llx", i,
			       (unsigned long long)at[i]);
	EXPECT(emu_gpu_read(fd, 1, at + end + 1) == emu_value(end + 1u, round),
	       "the GPU reads another value");
}

static void expect_new(int fd, uint64_t *at)
{
	EXPECT(mmap(at, CUT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == at,
	       "mmap where everything was unmapped: %s", strerror(errno));
	for (size_t i = 0; i < CUT_BYTES / 8u; i += PAGE_WORDS / 2u)
		EXPECT(at[i] == 0, "old contents in new memory: 0x%llx", (unsigned long long)at[i]);
	EXPECT(emu_gpu_add(fd, 1, at + 5, 3) == 0 && at[5] == 3, "new memory does not work");
	emu_unmap(at, CUT_BYTES);
}

/* Unmaps all: while there is still no space, when there is space again, and after a change of policy. */
static void cut_with_ranges_used_up(void)
{
	static struct crowd crowd;
	int fd = emu_open();
	uint64_t *at[3];

	for (unsigned i = 0; i < 3; i++)
		at[i] = map_and_fill(fd, i);
	use_up_ranges(&crowd);
	for (unsigned i = 0; i < 3; i++)
		cut_without_room(fd, at[i], i);
	emu_unmap(at[0], CUT_BYTES);
	disperse(&crowd);
	expect_new(fd, at[0]);
	emu_unmap(at[1], CUT_BYTES);
	expect_new(fd, at[1]);
	EXPECT(emu_debugfs_write("policy", "prefetch=none") == 0, "a change of policy");
	emu_unmap(at[2], CUT_BYTES);
	expect_new(fd, at[2]);
	EXPECT(emu_stats(0).frames_cpu == 0, "memory of what was unmapped is still in use");
}

/* close() with work pending; the mapping keeps the space alive, and the data. */
static void closed_with_work(void)
{
	for (unsigned round = 0; round < 4; round++) {
		volatile bool is_over = false;
		int fd = emu_open();
		uint64_t *at = emu_map(fd, BYTES);
		struct busy busy = {.fd = fd,
		                    .at = at,
		                    .bytes = BYTES,
		                    .processor = 1,
		                    .random = round,
		                    .is_over = &is_over};
		int other = dup(fd);
		pthread_t thread;

		busy.fd = other;
		EXPECT(pthread_create(&thread, NULL, keep_gpu_busy, &busy) == 0, "pthread_create");
		await_accesses(100);
		close(fd);
		await_accesses(100);
		is_over = true;
		EXPECT(pthread_join(thread, NULL) == 0, "pthread_join");
		at[7] = 1234 + round;
		emu_gpu_write(other, 1, at + PAGE_WORDS, 99);
		EXPECT(emu_prefetch(other, at, BYTES / 2u, 1) == 0, "PREFETCH");
		close(other); /* the last descriptor: only the mapping is left, data on the GPU */
		EXPECT(at[7] == 1234 + round && at[PAGE_WORDS] == 99,
		       "data is lost with the last descriptor");
		at[7] = 5;
		EXPECT(at[7] == 5, "a write is lost");
		if (round % 2u)
			emu_unmap(at, BYTES);
	}
}

/* Unloading is refused while anything is open or mapped. */
static void unload_in_use(void)
{
	int fd = emu_open();
	uint64_t *at = emu_map(fd, PAGE_BYTES);

	EXPECT(emu_unload() == -EWOULDBLOCK, "the module unloads with an open file");
	close(fd);
	EXPECT(emu_unload() == -EWOULDBLOCK, "the module unloads with a mapping");
	at[0] = 7;
	EXPECT(at[0] == 7, "the mapping is dead");
}

/* Pages that the kernel has given away one by one, as it gives frames: neither free nor in one of its own
 * accounts. Memory of processes, caches, slabs or vmalloc, which the kernel frees at any time, is in those,
 * and by the thousand; what of it a module has lost has a name, for which init looks. A piece of 2 MiB of the
 * kernel's own mapping that is cut, as modules' code makes it do, has a page table from then on. */
static int64_t unaccounted_pages(void)
{
	static const char *const accounts[] = {"MemFree",    "Buffers", "Cached", "AnonPages",
	                                       "PageTables", "Slab",    "Percpu", "VmallocUsed"};
	char *zones, *text;
	int64_t kib, pages;

	EXPECT(emu_file_write("/proc/sys/vm/drop_caches", "3") == 0, "drop_caches");
	free(emu_file("/proc/sys/vm/stat_refresh")); /* what each processor counts for itself is added */
	zones = emu_file("/proc/zoneinfo");
	text = emu_file("/proc/meminfo");
	EXPECT(text != NULL && zones != NULL, "/proc/meminfo, /proc/zoneinfo");
	kib = (int64_t)emu_field(text, "MemTotal");
	for (size_t i = 0; i < sizeof(accounts) / sizeof(*accounts); i++)
		kib -= (int64_t)emu_field(text, accounts[i]);
	pages = kib / 4 - (int64_t)emu_field(text, "DirectMap4k") / 2048;
	for (char *at = zones; (at = strstr(at, " count:")) != NULL; at++)
		pages -= strtoll(at + 7, NULL, 10); /* free, at hand of a processor */
	free(zones);
	free(text);
	return pages;
}

/* Waits until no more are: some are given back by and by; what is lost stays lost. */
static int64_t await_unaccounted_pages(int64_t most, unsigned tries)
{
	int64_t least = unaccounted_pages();

	while (least > most && tries-- > 0) {
		int64_t now;

		emu_sleep_ms(50);
		now = unaccounted_pages();
		least = now < least ? now : least;
	}
	return least;
}

static void use_a_little(void *argument)
{
	int fd = emu_open();
	uint64_t *at = emu_map(fd, MIB);

	for (size_t i = 0; i < MIB / 8u; i += PAGE_WORDS)
		at[i] = i;
	EXPECT(emu_prefetch(fd, at, MIB, 1) == 0, "PREFETCH");
	EXPECT(emu_gpu_add(fd, 1, at + PAGE_WORDS, 1) == PAGE_WORDS && at[PAGE_WORDS] == PAGE_WORDS + 1u,
	       "wrong contents");
	if (argument) /* with everything still open */
		kill(getpid(), SIGKILL);
}

/* What each cycle keeps is found: a frame by the module's own count when it goes, other memory if it is more
 * than the kernel's own comings and goings. */
#define CYCLES 15u
#define FIRST  5u /* with which all that is set up once is */

static void load_and_unload(void)
{
	/* the sanitizer's shadow of vmalloc is in no account, and goes late */
	bool has_shadow = access("/sys/kernel/debug/kmemleak", F_OK) == 0;
	int64_t before = 0, after, most;

	for (unsigned i = 0; i < CYCLES; i++) {
		int error = emu_load(i % 2u ? "gpus=4 memory_mib=8" : "memory_mib=4 policy=preset=uvmsmart");
		uint64_t until = emu_now_ms() + 10000u;
		pid_t child;

		EXPECT(error == 0, "load %u: %s", i, strerror(-error));
		child = emu_start(use_a_little, i % 3u == 2u ? &until : NULL);
		if (i % 3u == 2u)
			emu_finish_killed(child);
		else
			emu_finish(child);
		while ((error = emu_unload()) != 0 && emu_now_ms() < until)
			emu_sleep_ms(1);
		EXPECT(error == 0, "unload %u: %s", i, strerror(-error));
		EXPECT(access("/dev/" UVMP_EMU_DEVICE, F_OK) != 0, "the device is still there");
		EXPECT(access("/sys/kernel/debug/uvmp_emu", F_OK) != 0, "its debugfs folder is still there");
		if (i + 1u == FIRST)
			before = await_unaccounted_pages(INT64_MIN, 10);
	}
	most = before + (CYCLES - FIRST) * (has_shadow ? 128 : 16);
	after = await_unaccounted_pages(most, 200);
	EXPECT(after <= most, "%u cycles have kept %lld pages", CYCLES - FIRST, (long long)(after - before));
}

int main(int argc, char **argv)
{
	static const struct emu_case cases[] = {
	        {"killed", "gpus=2 memory_mib=4 fault_entries=8", killed},
	        {"exited", "gpus=2 memory_mib=4", exited},
	        {"forks_while_busy", "gpus=2 memory_mib=4", forks_while_busy},
	        {"execed", "gpus=2 memory_mib=4", execed},
	        {"unmapped_in_service", "gpus=2 memory_mib=4", unmapped_in_service},
	        {"closed_with_work", "gpus=1 memory_mib=4", closed_with_work},
	        {"unload_in_use", "", unload_in_use},
	        {"load_and_unload", NULL, load_and_unload},
	        {"cut_with_ranges_used_up", "memory_mib=4", cut_with_ranges_used_up},
	};

	if (argc == 3 && strcmp(argv[1], "--inherited") == 0)
		return inherited(atoi(argv[2]));
	return emu_main(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
