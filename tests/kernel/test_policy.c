/* Policies that change while everything runs, and the driver's reports of its decisions. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <unistd.h>

#include <uvmpolicy/advanced.h>
#include <uvmpolicy/uvmpolicy.h>

#include "emu.h"

#define BYTES (6u * MIB) /* the GPUs have 4 each */
#define WORDS (BYTES / 8u)
#define USERS 3u

/* Every order of eviction, every replay policy, prefetchers, controllers. */
static const char *const policies[] = {
        "prefetch=none evict=lru replay=batch",
        "preset=nvidia-aggressive",
        "prefetch=tbn evict=lru2m replay=block",
        "evict=lru4k thrash=off",
        "preset=uvmsmart",
        "prefetch=sl evict=random4k replay=once",
        "evict=sl64k batch=8",
        "prefetch=tbn evict=tbne",
        "preset=uvmsmart-adaptive",
        "evict=lfu2m granularity=64k",
        "evict=clock2m replay=batch_wait",
        "preset=cppe",
        "evict=mhpe counters=on counter_threshold=8",
        "preset=adaptive",
        "preset=early-adaptor",
        "preset=cyclic",
        "preset=uvmsmart-runtime",
        "evict=lru2m granularity=128k free_buffer=10 reserve=10",
        "preset=granularity-64k",
        "preset=nvidia-595",
};
#define POLICIES (sizeof(policies) / sizeof(*policies))

struct user {
	int fd;
	uint64_t *at, *model;
	unsigned processor;
	volatile bool *is_over;
};

/* Each user has its own word of three, of all pages. */
static void *use(void *argument)
{
	struct user *user = argument;
	uint64_t random = user->processor;
	struct emu_job job = {0};

	while (!*user->is_over) {
		emu_job_clear(&job);
		for (unsigned i = 0; i < 64; i++) {
			size_t word = emu_random(&random) % (WORDS / USERS) * USERS + user->processor;

			if (user->processor == 0) {
				EXPECT(user->at[word] == user->model[word],
				       "the CPU, word %zu: 0x%llx, expected 0x%llx", word,
				       (unsigned long long)user->at[word],
				       (unsigned long long)user->model[word]);
				user->at[word] = ++user->model[word];
			} else {
				emu_job_add(&job, UVMP_EMU_ADD, user->at + word, 1);
				user->model[word]++;
			}
		}
		if (user->processor)
			emu_job_run(&job, user->fd, user->processor, 2);
	}
	emu_job_free(&job);
	return NULL;
}

static char *policy_now(void)
{
	char *text = emu_debugfs_read("policy");

	text[strcspn(text, "\n")] = 0;
	return text;
}

static void changed_in_flight(void)
{
	volatile bool is_over = false;
	struct user user[USERS];
	pthread_t thread[USERS];
	int fd = emu_open();
	uint64_t *at = emu_map_at(fd, BYTES, 0), *model = calloc(WORDS, 8);

	EXPECT(model != NULL, "no memory");
	EXPECT(emu_advise(fd, at, MIB, UVMP_EMU_PREFERRED, UVMP_EMU_CPU) == 0, "ADVISE");
	EXPECT(emu_advise(fd, at + MIB / 8u, MIB, UVMP_EMU_READ_DUPLICATE, 0) == 0, "ADVISE");
	for (unsigned i = 0; i < USERS; i++) {
		user[i] = (struct user){
		        .fd = fd, .at = at, .model = model, .processor = i, .is_over = &is_over};
		EXPECT(pthread_create(&thread[i], NULL, use, &user[i]) == 0, "pthread_create");
	}
	for (size_t i = 0; i < POLICIES; i++) {
		uint64_t accesses = emu_stats(0).accesses, changes = emu_stats(0).policy_changes;
		uint64_t until = emu_now_ms() + 20000u;
		int error = emu_debugfs_write("policy", policies[i]);
		char *canonical, *again;

		EXPECT(error == 0, "policy %s: %s", policies[i], strerror(-error));
		EXPECT(emu_stats(0).policy_changes == changes + 1u, "policy %s: the change is not counted",
		       policies[i]);
		while (emu_stats(0).accesses < accesses + 64u && emu_now_ms() < until)
			emu_sleep_ms(1);
		EXPECT(emu_stats(0).accesses >= accesses + 64u, "policy %s: GPUs stand still", policies[i]);
		/* The canonical form says what was asked for, and is itself a policy of the same form. */
		canonical = policy_now();
		if (strncmp(policies[i], "preset", 6) != 0) {
			char *words = strdup(policies[i]);

			for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
				EXPECT(strstr(canonical, word) != NULL, "policy %s reads as %s", policies[i],
				       canonical);
			free(words);
		}
		if (i % 5u == 0) {
			error = emu_debugfs_write("policy", canonical);
			EXPECT(error == 0, "canonical form %s: %s", canonical, strerror(-error));
			again = policy_now();
			EXPECT(strcmp(again, canonical) == 0, "%s becomes %s", canonical, again);
			free(again);
		}
		free(canonical);
	}
	is_over = true;
	for (unsigned i = 0; i < USERS; i++)
		EXPECT(pthread_join(thread[i], NULL) == 0, "pthread_join");
	emu_expect_crc(fd, at, BYTES, emu_crc(model, BYTES), "after all policies");
	for (size_t i = 0; i < WORDS; i++)
		EXPECT(at[i] == model[i], "word %zu: 0x%llx, expected 0x%llx", i, (unsigned long long)at[i],
		       (unsigned long long)model[i]);
	EXPECT(emu_stats(0).evictions > 0, "memory has never been full");
}

/* Data moves to the CPU when the policy changes, and advice holds under the new policy. */
static void home_and_advice(void)
{
	const size_t bytes = 32u * PAGE_BYTES;
	int fd = emu_open();
	uint64_t *at = emu_map_at(fd, bytes, 0), *preferred = emu_map_at(fd, bytes, 0);
	uint32_t crc;

	for (size_t i = 0; i < bytes / 8u; i++)
		at[i] = preferred[i] = emu_value(i, 1);
	crc = emu_crc(at, bytes);
	EXPECT(emu_advise(fd, preferred, bytes, UVMP_EMU_PREFERRED, UVMP_EMU_CPU) == 0, "ADVISE");
	EXPECT(emu_prefetch(fd, at, bytes, 1) == 0, "PREFETCH");
	emu_expect_where(fd, at, bytes, ON_GPU(1), "prefetched");
	EXPECT(emu_debugfs_write("policy", "preset=nvidia-batch") == 0, "policy");
	emu_expect_where(fd, at, bytes, ON_CPU, "the policy was changed");
	emu_expect_crc(fd, at, bytes, crc, "the policy was changed");
	EXPECT(emu_gpu_read(fd, 1, preferred + 9) == emu_value(9, 1), "read by the GPU");
	emu_expect_where(fd, preferred, bytes, ON_CPU, "preferred location, advised before the change");
	EXPECT(emu_gpu_read(fd, 1, at + 9) == emu_value(9, 1), "read by the GPU");
	emu_expect_where(fd, at, PAGE_BYTES, ON_GPU(1), "no advice");
}

/* After a change untouched memory is resident on the CPU, without a frame. While GPUs have copies of
 * it, the CPU may only read. */
static void home_with_copies(void)
{
	const size_t bytes = 8u * PAGE_BYTES;
	int fd = emu_open();
	uint64_t *at = emu_map_at(fd, bytes, 0);

	EXPECT(emu_debugfs_write("policy", "prefetch=none") == 0, "policy");
	EXPECT(emu_advise(fd, at, bytes, UVMP_EMU_READ_DUPLICATE, 0) == 0, "ADVISE");
	for (size_t page = 0; page < bytes / PAGE_BYTES; page++) {
		uint64_t *word = at + page * PAGE_WORDS + page;

		EXPECT(emu_gpu_read(fd, 1, word) == 0 && *(volatile uint64_t *)word == 0,
		       "page %zu is not zero", page);
		emu_expect_where(fd, at + page * PAGE_WORDS, PAGE_BYTES, ON_CPU | ON_GPU(1),
		                 "both have read");
		*(volatile uint64_t *)word = 7u + page;
		emu_expect_where(fd, at + page * PAGE_WORDS, PAGE_BYTES, ON_CPU, "the CPU has written");
		EXPECT(emu_gpu_read(fd, 1, word) == 7u + page, "page %zu: the GPU reads a copy that is old",
		       page);
	}
}

/* -- requests without end ------------------------------------------------------------------------ */

#define ASKERS      8u
#define ASKED_BYTES MIB
#define CHANGES     8u
/* Turns of each asker: several times what it takes if all are heard. Turns and not seconds, as they take
 * longer where all takes longer. */
#define PATIENCE 450u

struct asker {
	int fd;
	uint64_t *at, turns;
	bool is_over, has_given_up;
};

/* While one waits for its answer requests of others are there: the driver is never without. */
static void *ask_and_ask(void *argument)
{
	struct asker *asker = argument;

	for (unsigned to = 1; !__atomic_load_n(&asker->is_over, __ATOMIC_SEQ_CST); to = !to) {
		EXPECT(emu_prefetch(asker->fd, asker->at, ASKED_BYTES, to) == 0, "PREFETCH");
		if (__atomic_add_fetch(&asker->turns, 1, __ATOMIC_SEQ_CST) > PATIENCE) {
			__atomic_store_n(&asker->has_given_up, true, __ATOMIC_SEQ_CST);
			break;
		}
	}
	return NULL;
}

static void submit_a_little(void *argument)
{
	int fd = emu_open();
	uint64_t *at = emu_map(fd, 8u * PAGE_BYTES);
	struct emu_job job = {0};

	(void)argument;
	for (size_t page = 0; page < 8; page++)
		at[page * PAGE_WORDS] = page;
	for (size_t page = 0; page < 8; page++)
		emu_job_add(&job, UVMP_EMU_ADD, at + page * PAGE_WORDS, 5);
	emu_job_run(&job, fd, 1, 2);
	for (size_t page = 0; page < 8; page++)
		EXPECT(at[page * PAGE_WORDS] == page + 5u, "page %zu: %llu", page,
		       (unsigned long long)at[page * PAGE_WORDS]);
	emu_job_free(&job);
}

static void change_a_policy(void)
{
	uint64_t changes = emu_stats(0).policy_changes;

	EXPECT(emu_debugfs_write("policy", "preset=nvidia-batch") == 0, "policy");
	EXPECT(emu_stats(0).policy_changes == changes + 1u, "the change is not counted");
}

static void expect_turns(struct asker *asker, const char *when)
{
	uint64_t turns[ASKERS];

	for (unsigned i = 0; i < ASKERS; i++)
		turns[i] = __atomic_load_n(&asker[i].turns, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < ASKERS; i++) {
		while (__atomic_load_n(&asker[i].turns, __ATOMIC_SEQ_CST) < turns[i] + 2u &&
		       !__atomic_load_n(&asker[i].has_given_up, __ATOMIC_SEQ_CST))
			emu_sleep_ms(1);
		EXPECT(!__atomic_load_n(&asker[i].has_given_up, __ATOMIC_SEQ_CST), "%s: starved", when);
	}
}

/* A few threads that send requests as fast as possible do not starve the others. */
static void not_starved(void)
{
	struct asker asker[ASKERS];
	pthread_t thread[ASKERS];
	int fd = emu_open();

	for (unsigned i = 0; i < ASKERS; i++) {
		asker[i] = (struct asker){.fd = fd, .at = emu_map_at(fd, ASKED_BYTES, 0)};
		for (size_t page = 0; page < ASKED_BYTES / PAGE_BYTES; page++)
			asker[i].at[page * PAGE_WORDS] = emu_value(page, i);
	}
	for (unsigned i = 0; i < ASKERS; i++)
		EXPECT(pthread_create(&thread[i], NULL, ask_and_ask, &asker[i]) == 0, "pthread_create");
	expect_turns(asker, "at first");
	emu_finish(emu_start(submit_a_little, NULL));
	expect_turns(asker, "a submission");
	for (unsigned i = 0; i < CHANGES; i++)
		change_a_policy();
	expect_turns(asker, "changes of policy");
	for (unsigned i = 0; i < ASKERS; i++)
		__atomic_store_n(&asker[i].is_over, true, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < ASKERS; i++) {
		EXPECT(pthread_join(thread[i], NULL) == 0, "pthread_join");
		for (size_t page = 0; page < ASKED_BYTES / PAGE_BYTES; page++)
			EXPECT(asker[i].at[page * PAGE_WORDS] == emu_value(page, i), "page %zu", page);
	}
}

static void bad_policies(void)
{
	static const char *const bad[] = {
	        "evict=fifo",
	        "nonsense=1",
	        "threshold=101",
	        "prefetch=tbn threshold=30",
	        "preset=none-such",
	        "preset=nvidia-595 batch=0",
	        "replay=",
	        "=",
	        "evict=lru2m preset=nvidia-595",
	        "prefetch=sequential", /* not with several GPUs */
	};
	int fd = emu_open();
	uint64_t *at = emu_map(fd, PAGE_BYTES), changes;
	char *before, *after, *longest = malloc(100000);

	EXPECT(emu_debugfs_write("policy", "preset=uvmsmart") == 0, "policy");
	before = policy_now();
	changes = emu_stats(0).policy_changes;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int error = emu_debugfs_write("policy", bad[i]);

		EXPECT(error == -EINVAL, "policy '%s': %s", bad[i], error ? strerror(-error) : "is taken");
	}
	EXPECT(longest != NULL, "no memory");
	memset(longest, 'a', 99999);
	longest[99999] = 0;
	EXPECT(emu_debugfs_write("policy", longest) < 0, "100 KB of nonsense are a policy");
	for (size_t i = 0; i + 11u < 99999; i += 11u)
		memcpy(longest + i, "batch=0100 ", 11);
	EXPECT(emu_debugfs_write("policy", longest) < 0, "100 KB of one key are a policy");
	after = policy_now();
	EXPECT(strcmp(before, after) == 0, "a policy that was refused has changed %s to %s", before, after);
	EXPECT(emu_stats(0).policy_changes == changes, "a change that was refused is counted");
	at[1] = 4;
	EXPECT(emu_gpu_read(fd, 1, at + 1) == 4, "it works no more");
	EXPECT(emu_debugfs_write("policy", "preset=nvidia-595\n") == 0,
	       "a policy with a newline, as echo writes it");
	free(before);
	free(after);
	free(longest);
}

static void parameter(void)
{
	char *text;

	EXPECT(emu_load("policy=evict=lru4k,batch=77") == 0, "load");
	text = policy_now();
	EXPECT(strstr(text, "evict=lru4k") && strstr(text, "batch=77"),
	       "policy=evict=lru4k,batch=77 reads as %s", text);
	free(text);
	EXPECT(emu_unload() == 0, "unload");
}

/* -- what it tells -------------------------------------------------------------------------------- */

struct told {
	uint64_t in, out, populated, evictions, replays, batches, lines;
};

/* The decision log: whole lines, ids one after the other, each what the library itself would print. */
static struct told read_log(void)
{
	static struct uvmp_action action;
	static char again[UVMP_ACTION_TEXT_MAX];
	struct told told = {0};
	char *log = emu_debugfs_read("log"), *rest = log, *line;
	uint64_t id = 0;

	while ((line = strsep(&rest, "\n")) != NULL && *line) {
		told.lines++;
		EXPECT(rest != NULL, "the log ends in the middle of a line: '%s'", line);
		EXPECT(uvmp_action_parse(line, strlen(line), &action, NULL) == UVMP_OK, "the log says '%s'",
		       line);
		EXPECT(uvmp_action_print(&action, again, sizeof(again)) == UVMP_OK &&
		               strcmp(again, line) == 0,
		       "the log says '%s', printed again '%s'", line, again);
		EXPECT(id == 0 || action.id == id + 1u, "the log's id %llu behind %llu",
		       (unsigned long long)action.id, (unsigned long long)id);
		id = action.id;
		if (action.kind == UVMP_ACTION_COPY && action.to == 1)
			told.in += uvmp_mask_weight(&action.pages);
		if (action.kind == UVMP_ACTION_COPY && action.from == 1)
			told.out += uvmp_mask_weight(&action.pages);
		if (action.kind == UVMP_ACTION_POPULATE)
			told.populated += uvmp_mask_weight(&action.pages);
		told.evictions += action.kind == UVMP_ACTION_EVICT;
		told.replays += action.kind == UVMP_ACTION_REPLAY;
		told.batches += action.kind == UVMP_ACTION_BATCH;
	}
	free(log);
	return told;
}

static void decision_log(void)
{
	const size_t bytes = 10u * MIB;
	int fd = emu_open();
	uint64_t *at = emu_map_at(fd, bytes, 0);
	struct uvmp_emu_stats stats;
	struct emu_job job = {0};
	struct told told;
	char *text;

	for (size_t page = 0; page < bytes / PAGE_BYTES; page += 3)
		at[page * PAGE_WORDS] = page;
	for (size_t page = 0; page < bytes / PAGE_BYTES; page += 5)
		emu_job_add(&job, UVMP_EMU_ADD, at + page * PAGE_WORDS, 1);
	emu_job_run(&job, fd, 1, 8);
	for (size_t page = 0; page < bytes / PAGE_BYTES; page++)
		EXPECT(at[page * PAGE_WORDS] == (page % 3u ? 0 : page) + (page % 5u == 0), "page %zu", page);
	stats = emu_stats(1);
	told = read_log();
	EXPECT(told.lines > 50 && stats.evictions > 0, "%llu lines, %llu evictions",
	       (unsigned long long)told.lines, (unsigned long long)stats.evictions);
	EXPECT(told.in == stats.pages_in && told.out == stats.pages_out && told.replays == stats.replays &&
	               told.batches == stats.batches && told.evictions == stats.evictions &&
	               told.populated == emu_stats(0).pages_populated,
	       "log and statistics: pages in %llu %llu, out %llu %llu, populated %llu %llu, replays %llu "
	       "%llu, batches %llu "
	       "%llu, evictions %llu %llu",
	       (unsigned long long)told.in, (unsigned long long)stats.pages_in, (unsigned long long)told.out,
	       (unsigned long long)stats.pages_out, (unsigned long long)told.populated,
	       (unsigned long long)emu_stats(0).pages_populated, (unsigned long long)told.replays,
	       (unsigned long long)stats.replays, (unsigned long long)told.batches,
	       (unsigned long long)stats.batches, (unsigned long long)told.evictions,
	       (unsigned long long)stats.evictions);
	/* The text files say what STATS says. */
	text = emu_debugfs_read("gpu1");
	EXPECT(emu_field(text, "pages_in") == stats.pages_in &&
	               emu_field(text, "evictions") == stats.evictions,
	       "debugfs gpu1 has another number of pages_in or evictions than STATS");
	free(text);
	text = emu_debugfs_read("stats");
	EXPECT(emu_field(text, "cpu_faults") == emu_stats(0).cpu_faults && emu_field(text, "broken") == 0,
	       "debugfs stats has another number of cpu_faults or broken than STATS");
	free(text);
	EXPECT(emu_debugfs_write("clear", "1") == 0, "clear");
	text = emu_debugfs_read("log");
	EXPECT(text[0] == 0, "the log is not empty after clear: %.60s", text);
	free(text);
	emu_gpu_write(fd, 1, at, 1);
	EXPECT(read_log().lines > 0, "the log stays empty after clear");
	emu_job_free(&job);
}

/* A log smaller than its contents: the newest whole lines. */
static void small_log(void)
{
	int fd = emu_open();
	uint64_t *at = emu_map_at(fd, 8u * MIB, 0);
	struct told told;
	char *text;

	for (size_t page = 0; page < 8u * MIB / PAGE_BYTES; page++)
		at[page * PAGE_WORDS] = page;
	EXPECT(emu_prefetch(fd, at, 8u * MIB, 1) == 0, "PREFETCH");
	text = emu_debugfs_read("log");
	EXPECT(strlen(text) <= 2048u && strlen(text) > 1024u, "a log of 2 KiB has %zu bytes", strlen(text));
	EXPECT(strtoull(text, NULL, 10) > 1, "the oldest lines are still there");
	free(text);
	told = read_log();
	EXPECT(told.lines > 3, "%llu lines", (unsigned long long)told.lines);
}

static void trace(void)
{
	int fd = emu_open();
	uint64_t *at = emu_map(fd, 4u * PAGE_BYTES);
	char *text, *rest, *line, range[64], row[64];
	bool has_range = false, has_gpu = false, has_cpu = false;

	at[0] = 1;
	emu_gpu_read(fd, 1, at);
	emu_gpu_write(fd, 1, at + PAGE_WORDS, 2);
	EXPECT(at[PAGE_WORDS] == 2, "contents");
	snprintf(range, sizeof(range), "range,0x%llx,%zu", (unsigned long long)(uintptr_t)at,
	         4u * PAGE_BYTES);
	snprintf(row, sizeof(row), ",w,0x%llx", (unsigned long long)(uintptr_t)at);
	rest = text = emu_debugfs_read("trace");
	line = strsep(&rest, "\n");
	EXPECT(line && strcmp(line, "uvmp-trace 2") == 0, "the trace begins with '%s'", line ? line : "");
	while ((line = strsep(&rest, "\n")) != NULL && *line) {
		char *agent = strchr(line, ',');

		EXPECT(rest != NULL, "the trace ends in the middle of a line");
		has_range = has_range || strncmp(line, range, strlen(range)) == 0;
		if (!isdigit((unsigned char)*line) && *line != ',')
			continue;
		EXPECT(agent && (strncmp(agent, ",cpu,", 5) == 0 || isdigit((unsigned char)agent[1])),
		       "row '%s'", line);
		has_cpu = has_cpu || (strncmp(agent, ",cpu,", 5) == 0 && strstr(line, row));
		has_gpu = has_gpu || isdigit((unsigned char)agent[1]);
	}
	EXPECT(has_range && has_cpu && has_gpu,
	       "the trace has %s range, %s write of the CPU, %s access of the GPU", has_range ? "its" : "no",
	       has_cpu ? "its" : "no", has_gpu ? "its" : "no");
	free(text);
}

/* -- advice that outlives a policy --------------------------------------------------------------- */

#define ADVISED_PAGES 32u
#define HOLE_PAGES    8u
#define HOLE_FIRST    12u

static void map_again(int fd, uint64_t *at, size_t bytes)
{
	void *there = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);

	EXPECT(there == (void *)at, "mmap at %p: %s", (void *)at, strerror(errno));
}

static void fill(uint64_t *at, size_t pages, uint64_t round)
{
	for (size_t i = 0; i < pages * PAGE_WORDS; i++)
		at[i] = emu_value(i, round);
}

/* What was advised of pages that have been unmapped is not said of those that are mapped there later; what is
 * left of the range keeps it. */
static void advice_of_unmapped(void)
{
	int fd = emu_open();
	uint64_t *at = emu_map_at(fd, ADVISED_PAGES * PAGE_BYTES, 0);
	uint64_t *hole = at + HOLE_FIRST * PAGE_WORDS, *behind = hole + HOLE_PAGES * PAGE_WORDS;

	fill(at, ADVISED_PAGES, 1);
	EXPECT(emu_advise(fd, at, ADVISED_PAGES * PAGE_BYTES, UVMP_EMU_PREFERRED, UVMP_EMU_CPU) == 0,
	       "ADVISE");
	emu_unmap(hole, HOLE_PAGES * PAGE_BYTES);
	map_again(fd, hole, HOLE_PAGES * PAGE_BYTES);
	fill(hole, HOLE_PAGES, 2);
	/* advice on both, but only on a page of each */
	EXPECT(emu_advise(fd, behind - PAGE_WORDS, 2u * PAGE_BYTES, UVMP_EMU_PREFERRED, UVMP_EMU_CPU) == 0,
	       "ADVISE");
	for (unsigned round = 0; round < 2; round++) {
		EXPECT(emu_debugfs_write("policy", "preset=nvidia-batch prefetch=none") == 0, "policy");
		EXPECT(emu_gpu_read(fd, 1, hole) == emu_value(0, 2), "read by the GPU");
		EXPECT(emu_gpu_read(fd, 1, behind - PAGE_WORDS) ==
		               emu_value((HOLE_PAGES - 1u) * PAGE_WORDS, 2),
		       "read by the GPU");
		EXPECT(emu_gpu_read(fd, 1, hole - PAGE_WORDS) == emu_value((HOLE_FIRST - 1u) * PAGE_WORDS, 1),
		       "read by the GPU");
		EXPECT(emu_gpu_read(fd, 1, behind) == emu_value((HOLE_FIRST + HOLE_PAGES) * PAGE_WORDS, 1),
		       "read by the GPU");
		emu_expect_where(fd, hole, PAGE_BYTES, ON_GPU(1), "mapped later, not advised");
		emu_expect_where(fd, behind - PAGE_WORDS, PAGE_BYTES, ON_CPU, "mapped later, advised");
		emu_expect_where(fd, hole - PAGE_WORDS, PAGE_BYTES, ON_CPU, "advised, before the hole");
		emu_expect_where(fd, behind, PAGE_BYTES, ON_CPU, "advised, behind the hole");
	}
	/* the same place once more, after all of the advice has lost its pages */
	emu_unmap(at, ADVISED_PAGES * PAGE_BYTES);
	map_again(fd, at, ADVISED_PAGES * PAGE_BYTES);
	fill(at, ADVISED_PAGES, 3);
	EXPECT(emu_debugfs_write("policy", "preset=nvidia-batch prefetch=none") == 0, "policy");
	EXPECT(emu_gpu_read(fd, 1, behind) == emu_value((HOLE_FIRST + HOLE_PAGES) * PAGE_WORDS, 3),
	       "read by the GPU");
	emu_expect_where(fd, behind, PAGE_BYTES, ON_GPU(1), "all is new");
}

#define ADVICE_MOST 1024u /* uvmp_emu.h */

/* What there is no room for changes nothing; what replaces another, or comes when pages of another have gone,
 * has room. */
static void advice_without_room(void)
{
	int fd = emu_open();
	size_t pages = 2u * (ADVICE_MOST + 1u); /* each second one is advised */
	uint64_t *at = emu_map_at(fd, pages * PAGE_BYTES, 0), *last = at + 2u * ADVICE_MOST * PAGE_WORDS;
	int error;

	fill(last, 1, 7);
	for (size_t i = 0; i < ADVICE_MOST; i++) {
		error = emu_advise(fd, at + 2u * i * PAGE_WORDS, PAGE_BYTES, UVMP_EMU_PREFERRED,
		                   UVMP_EMU_CPU);
		EXPECT(error == 0, "ADVISE %zu: %s", i, strerror(-error));
	}
	error = emu_advise(fd, last, PAGE_BYTES, UVMP_EMU_PREFERRED, UVMP_EMU_CPU);
	EXPECT(error == -ENOMEM, "one piece more than there can be: %s",
	       error ? strerror(-error) : "is taken");
	EXPECT(emu_gpu_read(fd, 1, last) == emu_value(0, 7), "read by the GPU");
	emu_expect_where(fd, last, PAGE_BYTES, ON_GPU(1), "advice that was refused");
	EXPECT(emu_advise(fd, at, PAGE_BYTES, UVMP_EMU_PREFERRED, 1) == 0, "it replaces one");
	EXPECT(emu_advise(fd, at, PAGE_BYTES, UVMP_EMU_DISCARD, 0) == 0, "nothing is kept of it");
	emu_unmap(at + 2u * PAGE_WORDS, PAGE_BYTES);
	EXPECT(emu_advise(fd, last, PAGE_BYTES, UVMP_EMU_PREFERRED, UVMP_EMU_CPU) == 0, "one has gone");
	error = emu_advise(fd, last + PAGE_WORDS, PAGE_BYTES, UVMP_EMU_PREFERRED, UVMP_EMU_CPU);
	EXPECT(error == -ENOMEM, "one more: %s", error ? strerror(-error) : "is taken");
}

/* Under a new policy all is at home on the CPU, also what it has never used. Where a GPU has a copy of such a
 * page the CPU may read it and no more: the copy is not to outlive a write. */
static void copies_of_unused(void)
{
	int fd = emu_open();
	uint64_t *at = emu_map(fd, 2u * PAGE_BYTES), *read_first = at, *written_first = at + PAGE_WORDS;

	EXPECT(emu_advise(fd, at, 2u * PAGE_BYTES, UVMP_EMU_READ_DUPLICATE, 0) == 0, "ADVISE");
	EXPECT(emu_debugfs_write("policy", "preset=nvidia-batch prefetch=none") == 0, "policy");
	for (size_t page = 0; page < 2; page++)
		EXPECT(emu_gpu_read(fd, 1, at + page * PAGE_WORDS) == 0, "page %zu, read by the GPU", page);
	emu_expect_where(fd, at, 2u * PAGE_BYTES, ON_CPU | ON_GPU(1), "duplicated");
	EXPECT(*(volatile uint64_t *)read_first == 0, "read by the CPU");
	*(volatile uint64_t *)read_first = 5;
	*(volatile uint64_t *)written_first = 6;
	EXPECT(emu_gpu_read(fd, 1, read_first) == 5,
	       "the GPU does not see what the CPU wrote after it had read");
	EXPECT(emu_gpu_read(fd, 1, written_first) == 6, "the GPU does not see what the CPU wrote");
}

/* Pages that leave in many pieces at a time leave no frame behind. */
static void frames_go_back(void)
{
	const size_t pages = BLOCK_BYTES / PAGE_BYTES;
	int fd = emu_open();
	uint64_t *at = emu_map_at(fd, BLOCK_BYTES, 0), frames;
	struct emu_job job = {0};

	fill(at, pages, 9);
	frames = emu_stats(0).frames_cpu;
	EXPECT(frames == pages, "%llu frames of the CPU hold %zu pages", (unsigned long long)frames, pages);
	for (size_t page = 0; page < pages; page += 2)
		emu_job_add(&job, UVMP_EMU_READ, at + page * PAGE_WORDS, 0);
	emu_job_run(&job, fd, 1, 8);
	emu_job_free(&job);
	frames = emu_stats(0).frames_cpu;
	EXPECT(frames == pages / 2u, "each second page has left, and %llu frames hold the others",
	       (unsigned long long)frames);
	EXPECT(emu_prefetch(fd, at, BLOCK_BYTES, 1) == 0, "PREFETCH");
	emu_expect_where(fd, at, BLOCK_BYTES, ON_GPU(1), "prefetched");
	frames = emu_stats(0).frames_cpu;
	EXPECT(frames == 0, "all have left, and %llu frames of the CPU still hold them",
	       (unsigned long long)frames);
	for (size_t i = 0; i < pages * PAGE_WORDS; i++)
		EXPECT(at[i] == emu_value(i, 9), "word %zu", i);
}

/* -- readers of a log that grows ----------------------------------------------------------------- */

#define LINE_MOST 4096u

/* The next lines of the descriptor: none is torn, ids ascend behind *last, which becomes the newest. The
 * number of lines. */
static uint64_t read_lines(int fd, uint64_t *last, uint64_t *first)
{
	char text[LINE_MOST + 1u], *rest = text, *line;
	ssize_t got = read(fd, text, LINE_MOST);
	uint64_t lines = 0;

	EXPECT(got >= 0, "reading the log: %s", strerror(errno));
	text[got] = 0;
	while ((line = strsep(&rest, "\n")) != NULL && *line) {
		static struct uvmp_action action;

		EXPECT(rest != NULL, "it ends in the middle of a line: '%s'", line);
		EXPECT(uvmp_action_parse(line, strlen(line), &action, NULL) == UVMP_OK, "it says '%s'", line);
		EXPECT(action.id > *last, "id %llu behind %llu", (unsigned long long)action.id,
		       (unsigned long long)*last);
		if (lines++ == 0)
			*first = action.id;
		*last = action.id;
	}
	return lines;
}

static void log_that_grows(void)
{
	const char *path = "/sys/kernel/debug/uvmp_emu/log";
	int fd = emu_open(), log = open(path, O_RDONLY);
	uint64_t *at = emu_map_at(fd, 32u * MIB, 0), last = 0, first = 0, end, begin = 0;

	EXPECT(log >= 0, "%s: %s", path, strerror(errno));
	EXPECT(emu_prefetch(fd, at, 2u * MIB, 1) == 0, "PREFETCH");
	EXPECT(read_lines(log, &last, &first) > 0 && first == 1, "the log begins with id %llu",
	       (unsigned long long)first);
	/* what follows is more than is kept */
	EXPECT(emu_prefetch(fd, at + 2u * MIB / 8u, 30u * MIB, 1) == 0, "PREFETCH");
	end = last;
	EXPECT(read_lines(log, &last, &first) > 0, "nothing new");
	EXPECT(first > end + 1u, "id %llu is kept by a log of 8 KiB", (unsigned long long)first);
	begin = first;
	do {
		end = last;
	} while (read_lines(log, &last, &first) > 0 && first == end + 1u);
	EXPECT(last == end, "id %llu behind %llu, and nothing was written meanwhile",
	       (unsigned long long)first, (unsigned long long)end);
	EXPECT(read_lines(log, &last, &first) == 0, "there is something behind the end");
	/* at the end: what is new, and only that; from the beginning: the oldest */
	EXPECT(emu_prefetch(fd, at, PAGE_BYTES, 0) == 0, "PREFETCH");
	EXPECT(read_lines(log, &last, &first) > 0 && first == end + 1u, "id %llu behind %llu",
	       (unsigned long long)first, (unsigned long long)end);
	EXPECT(lseek(log, 0, SEEK_SET) == 0, "lseek: %s", strerror(errno));
	last = 0;
	EXPECT(read_lines(log, &last, &first) > 0 && first >= begin, "position 0 is id %llu, oldest was %llu",
	       (unsigned long long)first, (unsigned long long)begin);
	/* cleared: nothing, and then the next lines */
	EXPECT(lseek(log, 0, SEEK_SET) == 0 && emu_debugfs_write("clear", "1") == 0, "clear");
	EXPECT(read_lines(log, &last, &first) == 0, "the log was emptied");
	EXPECT(emu_prefetch(fd, at, PAGE_BYTES, 1) == 0, "PREFETCH");
	EXPECT(read_lines(log, &last, &first) > 0 && first > end, "id %llu", (unsigned long long)first);
	close(log);
}

/* What the engine refuses though it parses: the kernel log says why in words. */
static void refused_in_words(void)
{
	static char text[1u << 18];
	char *mine;
	int length;

	EXPECT(emu_debugfs_write("policy", "prefetch=sequential") == -EINVAL,
	       "prefetch=sequential is taken with two GPUs");
	length = klogctl(3 /* READ_ALL */, text, sizeof(text) - 1u);
	EXPECT(length > 0, "klogctl: %s", strerror(errno));
	text[length] = 0;
	mine = strstr(text, "uvmpolicy_emu: the policy is refused: ");
	EXPECT(mine != NULL, "the kernel log says nothing");
	EXPECT(strstr(mine, "one GPU only\n") != NULL, "the kernel log says '%.100s'", mine);
}

/* A ring longer than what the driver reads at a time: when a submission is over, all that it reported is
 * settled. */
static void long_ring(void)
{
	const size_t pages = 6000;
	int fd = emu_open();
	uint64_t *at = emu_map_at(fd, pages * PAGE_BYTES, 0);
	struct emu_job job = {0};

	for (size_t page = 0; page < pages; page++)
		emu_job_add(&job, UVMP_EMU_PREFETCH, at + page * PAGE_WORDS, 0);
	emu_job_run(&job, fd, 1, (uint32_t)pages);
	emu_expect_where(fd, at, pages * PAGE_BYTES, ON_GPU(1), "asked for by the GPU");
	EXPECT(emu_stats(1).faults_written == pages, "%llu faults, %zu pages",
	       (unsigned long long)emu_stats(1).faults_written, pages);
	emu_job_free(&job);
}

int main(int argc, char **argv)
{
	static const struct emu_case cases[] = {
	        {"changed_in_flight", "gpus=2 memory_mib=4 fault_entries=64", changed_in_flight},
	        {"home_and_advice", "", home_and_advice},
	        {"home_with_copies", "", home_with_copies},
	        {"not_starved", "gpus=1", not_starved},
	        {"bad_policies", "gpus=2", bad_policies},
	        {"parameter", NULL, parameter},
	        {"decision_log", "memory_mib=4 log_kib=16384", decision_log},
	        {"small_log", "memory_mib=16 log_kib=2 policy=prefetch=none", small_log},
	        {"trace", "", trace},
	        {"advice_of_unmapped", "", advice_of_unmapped},
	        {"advice_without_room", "", advice_without_room},
	        {"copies_of_unused", "", copies_of_unused},
	        {"frames_go_back", "policy=prefetch=none", frames_go_back},
	        {"refused_in_words", "gpus=2", refused_in_words},
	        {"long_ring", "fault_entries=8192 policy=prefetch=none,replay=once", long_ring},
	        {"log_that_grows", "memory_mib=4 log_kib=8", log_that_grows},
	};

	return emu_main(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
