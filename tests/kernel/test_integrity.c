/* Four processes and two GPUs use four times the memory that the GPUs have, at random, and every word is
 * compared with a model. Words of one page belong to different users: in each group of four, one to the CPU,
 * one to each GPU, and one is only added to, by all three. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu.h"

#define PROCESSES 4u
#define GPUS      2u
#define BYTES     (8u * MIB) /* of each process; each GPU has 4 MiB: PROCESSES * BYTES = 4 * GPUS * 4 MiB */
#define WORDS     (BYTES / 8u)
#define USERS     3u /* the CPU and the GPUs */
#define SHARED    3u /* which word of four is added to by all */
#define LAUNCHES  5u
#define ACCESSES  128u /* of a launch */

struct work {
	int fd;
	uint64_t *at;
	uint64_t *model; /* [WORDS]; of shared words the sum of all that was added */
	uint64_t seed;
	bool has_advice;
};

struct user {
	struct work *work;
	unsigned processor;
	uint64_t random;
	unsigned char *used; /* [WORDS]: in this launch, whose warps run in any order */
};

/* Half of the accesses go to a few places, so that several processors want the same pages. */
static size_t any_word(struct user *user, unsigned which)
{
	uint64_t random = emu_random(&user->random);
	size_t group = random & 1u ? (random >> 8) % (WORDS / 4u)
	                           : (random >> 8) % 8u * (WORDS / 32u) + (random >> 32) % 2048u;

	return group * 4u + which;
}

/* Advice splits blocks, whose memory is then allocated in parts. A GPU has two roots here: if both have parts
 * of the arriving block, no root may be evicted, and the driver cancels because memory is short (pmm.h,
 * eviction). */
static void run(struct work *work, struct emu_job *job, unsigned gpu, uint32_t share)
{
	if (work->has_advice)
		emu_job_insist(job, work->fd, gpu, share);
	else
		emu_job_run(job, work->fd, gpu, share);
}

static void launch(struct user *user, struct emu_job *job)
{
	struct work *work = user->work;

	emu_job_clear(job);
	while (job->accesses < ACCESSES) {
		unsigned kind = (unsigned)(emu_random(&user->random) % 4u);
		size_t word = any_word(user, kind == 3u ? SHARED : user->processor);

		if (user->used[word])
			continue;
		user->used[word] = 1;
		emu_job_add(job,
		            kind == 0   ? UVMP_EMU_READ
		            : kind == 1 ? UVMP_EMU_WRITE
		                        : UVMP_EMU_ADD,
		            work->at + word, emu_random(&user->random));
	}
	for (size_t i = 0; i < job->accesses; i++)
		user->used[(const uint64_t *)(uintptr_t)job->access[i].address - work->at] = 0;
	uint64_t *values = malloc(ACCESSES * sizeof(*values));

	EXPECT(values != NULL, "no memory");
	for (size_t i = 0; i < job->accesses; i++)
		values[i] = job->access[i].value;
	run(work, job, user->processor, 6);
	for (size_t i = 0; i < job->accesses; i++) {
		size_t word = (size_t)((const uint64_t *)(uintptr_t)job->access[i].address - work->at);
		uint64_t *model = &work->model[word];

		if (word % 4u == SHARED) { /* what it found depends on the others */
			__atomic_fetch_add(model, values[i], __ATOMIC_RELAXED);
			continue;
		}
		if (job->access[i].kind == UVMP_EMU_WRITE)
			*model = values[i];
		else
			EXPECT(job->access[i].value == *model, "GPU %u, word %zu: 0x%llx, expected 0x%llx",
			       user->processor, word, (unsigned long long)job->access[i].value,
			       (unsigned long long)*model);
		if (job->access[i].kind == UVMP_EMU_ADD)
			*model += values[i];
	}
	free(values);
}

static void cpu_round(struct user *user)
{
	struct work *work = user->work;

	for (unsigned i = 0; i < ACCESSES / 4u; i++) {
		uint64_t value = emu_random(&user->random);
		size_t word = any_word(user, value % 4u == 3u ? SHARED : 0);

		if (word % 4u == SHARED) {
			__atomic_fetch_add(&work->at[word], value, __ATOMIC_SEQ_CST);
			__atomic_fetch_add(&work->model[word], value, __ATOMIC_RELAXED);
			continue;
		}
		EXPECT(work->at[word] == work->model[word], "the CPU, word %zu: 0x%llx, expected 0x%llx",
		       word, (unsigned long long)work->at[word], (unsigned long long)work->model[word]);
		if (value & 4u)
			work->at[word] = work->model[word] = value;
	}
}

/* Advice and prefetches on parts, which change where pages are and never what is in them. */
static void advise_something(struct user *user)
{
	struct work *work = user->work;
	uint64_t random = emu_random(&user->random);
	size_t page = (random >> 8) % (BYTES / PAGE_BYTES - 64u), pages = 1u + (random >> 32) % 64u;
	enum uvmp_emu_advice advice = (enum uvmp_emu_advice)((random >> 48) % UVMP_EMU_DISCARD);
	unsigned processor = (unsigned)((random >> 56) % (GPUS + 1u));
	int error;

	if (random & 1u)
		error = emu_prefetch(work->fd, work->at + page * PAGE_WORDS, pages * PAGE_BYTES, processor);
	else
		error = emu_advise(work->fd, work->at + page * PAGE_WORDS, pages * PAGE_BYTES, advice,
		                   processor);
	/* A preferred location may have no room for a page that is wanted there: that is an answer, too. */
	EXPECT(error == 0 || error == -ENOMEM, "%s %u for %u: %s", random & 1u ? "PREFETCH" : "ADVISE",
	       advice, processor, strerror(-error));
}

static void *use(void *argument)
{
	struct user *user = argument;
	struct emu_job job = {0};

	user->used = calloc(WORDS, 1);
	EXPECT(user->used != NULL, "no memory");
	for (unsigned i = 0; i < LAUNCHES; i++) {
		if (user->processor == 0)
			cpu_round(user);
		else
			launch(user, &job);
		if (user->work->has_advice)
			advise_something(user);
	}
	emu_job_free(&job);
	free(user->used);
	return NULL;
}

/* Every word, where it is (by CRC), by the GPUs (some all over), by the CPU (all). */
static void compare_all(struct work *work)
{
	uint32_t crc = emu_crc(work->model, BYTES);

	emu_expect_crc(work->fd, work->at, BYTES, crc, "all contents");
	for (unsigned gpu = 1; gpu <= GPUS; gpu++) {
		struct emu_job job = {0};

		for (size_t word = gpu * 31u; word < WORDS; word += 2039)
			emu_job_add(&job, UVMP_EMU_READ, work->at + word, 0);
		run(work, &job, gpu, 32);
		for (size_t i = 0; i < job.accesses; i++) {
			size_t word = gpu * 31u + i * 2039u;

			EXPECT(job.access[i].value == work->model[word],
			       "GPU %u at last, word %zu: 0x%llx, expected 0x%llx", gpu, word,
			       (unsigned long long)job.access[i].value,
			       (unsigned long long)work->model[word]);
		}
		emu_job_free(&job);
	}
	for (size_t word = 0; word < WORDS; word++)
		EXPECT(work->at[word] == work->model[word],
		       "the CPU at last, word %zu: 0x%llx, expected 0x%llx", word,
		       (unsigned long long)work->at[word], (unsigned long long)work->model[word]);
	emu_expect_crc(work->fd, work->at, BYTES, crc, "all contents, read by all");
}

static void be_a_process(void *argument)
{
	struct work *work = argument;
	struct user user[USERS];
	pthread_t thread[USERS];

	work->fd = emu_open();
	work->at = emu_map_at(work->fd, BYTES, work->seed % 3u * PAGE_BYTES);
	work->model = calloc(WORDS, 8);
	EXPECT(work->model != NULL, "no memory");
	for (size_t word = 0; word < WORDS; word += 5) /* the first contents, all over */
		work->at[word] = work->model[word] = emu_value(word, work->seed);
	for (unsigned i = 0; i < USERS; i++) {
		user[i] = (struct user){.work = work, .processor = i, .random = work->seed * 8u + i};
		EXPECT(pthread_create(&thread[i], NULL, use, &user[i]) == 0, "pthread_create");
	}
	for (unsigned i = 0; i < USERS; i++)
		EXPECT(pthread_join(thread[i], NULL) == 0, "pthread_join");
	compare_all(work);
}

static void four_processes(bool has_advice)
{
	struct work work[PROCESSES];
	pid_t child[PROCESSES];
	struct uvmp_emu_stats stats;

	for (unsigned i = 0; i < PROCESSES; i++) {
		work[i] = (struct work){.seed = 100u + i, .has_advice = has_advice};
		child[i] = emu_start(be_a_process, &work[i]);
	}
	for (unsigned i = 0; i < PROCESSES; i++)
		emu_finish(child[i]);
	stats = emu_stats(0);
	EXPECT(stats.evictions > 0 && stats.pages_in > 0 && stats.pages_out > 0,
	       "four times the memory, and %llu evictions, %llu pages in, %llu out",
	       (unsigned long long)stats.evictions, (unsigned long long)stats.pages_in,
	       (unsigned long long)stats.pages_out);
	EXPECT(stats.cpu_faults > 0 && stats.replays > 0, "no fault");
	for (unsigned gpu = 1; gpu <= GPUS; gpu++)
		EXPECT(emu_stats(gpu).evictions > 0, "GPU %u has never been full", gpu);
}

static void plain(void)
{
	four_processes(false);
}

static void with_advice(void)
{
	four_processes(true);
}

int main(int argc, char **argv)
{
	static const struct emu_case cases[] = {
	        {"plain", "gpus=2 memory_mib=4", plain},
	        {"with_advice", "gpus=2 memory_mib=4 fault_entries=32", with_advice},
	};

	return emu_main(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
