/* How faults are serviced: batches, which threads are woken when, and that the number of copying
 * threads changes no decision. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support/around.h"
#include "support/paging.h"
#include "uvmpolicy/service.h"

#define BLOCK   (2u * MIB)
#define THREADS 3u

static void pause_ms(long ms)
{
	struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

/* -- a store that holds the pager up, and sees who has gone on -- */

struct toucher {
	volatile uint64_t *word;
	uint64_t got;
	int tid;         /* 0: has not begun */
	int has_gone_on; /* its word has come */
};

struct watched {
	struct around around;
	struct toucher toucher[THREADS];
	int is_open; /* the gate before block 0 */
	bool is_watching;
	bool waits_for_the_last; /* a read lets the thread of the previous read continue first, if it can */
	uint32_t reads;          /* of blocks 1, 2, ... */
	uint32_t block[8];       /* in this order, */
	uint32_t gone_on[8];     /* and threads that had continued at each read */
	uint32_t writes;
	uint64_t first, pages, bad_page; /* of the last write; one with this page fails, 0: none */
};

static uint32_t count_gone_on(struct watched *w)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < THREADS; i++)
		count += (uint32_t)__atomic_load_n(&w->toucher[i].has_gone_on, __ATOMIC_ACQUIRE);
	return count;
}

static int watched_read(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, void *to)
{
	struct watched *w = (struct watched *)store;
	uint32_t block = (uint32_t)(page * PAGE / BLOCK);

	while (w->is_watching && block == 0 && !__atomic_load_n(&w->is_open, __ATOMIC_ACQUIRE))
		pause_ms(1);
	if (w->is_watching && block != 0 && w->reads < 8) {
		if (w->waits_for_the_last)
			for (int ms = 0; count_gone_on(w) < w->reads && ms < 20000; ms++)
				pause_ms(1);
		else
			pause_ms(30);
		w->block[w->reads] = block;
		w->gone_on[w->reads++] = count_gone_on(w);
	}
	return w->around.real->read(w->around.real, page, pages, to);
}

static int watched_write(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, const void *from)
{
	struct watched *w = (struct watched *)store;

	if (w->bad_page != 0 && w->bad_page - page < pages)
		return -EIO;
	w->writes++;
	w->first = page;
	w->pages = pages;
	return w->around.real->write(w->around.real, page, pages, from);
}

static void open_watched(struct watched *w)
{
	memset(w, 0, sizeof(*w));
	around_memory(&w->around, 16 * MIB / PAGE, watched_read, watched_write);
}

static void *touch(void *context)
{
	struct toucher *toucher = context;

	__atomic_store_n(&toucher->tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	toucher->got = *toucher->word;
	__atomic_store_n(&toucher->has_gone_on, 1, __ATOMIC_RELEASE);
	return NULL;
}

static char state_of(int tid)
{
	char path[64], text[512] = "", *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	if (file) {
		(void)!fread(text, 1, sizeof(text) - 1u, file);
		fclose(file);
	}
	end = strrchr(text, ')');
	return end ? end[2] : '?';
}

static bool is_asleep(const struct toucher *toucher)
{
	int tid = __atomic_load_n(&toucher->tid, __ATOMIC_ACQUIRE);
	char state = tid == 0 ? '?' : state_of(tid);

	return state == 'S' || state == 'D';
}

/* After it has reported its number, a thread only faults: where it sleeps, it sleeps in the fault. */
static void wait_until_they_fault(const struct toucher *toucher, size_t count)
{
	int asleep = 0;

	for (int ms = 0; asleep < 20; ms++) {
		size_t i = 0;

		while (i < count && is_asleep(&toucher[i]))
			i++;
		asleep = i == count ? asleep + 1 : 0;
		if (ms > 20000)
			fail_msg("a thread did not come to its fault");
		pause_ms(1);
	}
}

static struct uvmp_pager *open_on(struct watched *w, const char *policy)
{
	struct uvmp_pager_config config;

	uvmp_pager_config_init(&config);
	config.budget_bytes = 16 * MIB;
	config.managed_bytes = 16 * MIB;
	config.policy = policy;
	config.own_store = &w->around.store;
	return open_config(&config);
}

/* While the pager is held up in block 0, one thread faults in each of the next blocks. What that cost is what
 * the statistics show beside the one fault in block 0. */
static struct uvmp_pager_stats three_threads(struct watched *w, const char *policy, bool waits_for_the_last)
{
	struct uvmp_pager_stats before, after;
	struct toucher first = {0};
	pthread_t thread[THREADS + 1u];
	struct uvmp_pager *pager;
	uint64_t *memory;

	open_watched(w);
	pager = open_on(w, policy);
	memory = uvmp_pager_alloc(pager, (THREADS + 1u) * BLOCK);
	for (size_t i = 0; i <= THREADS; i++)
		memory[i * BLOCK / 8u] = 100u + i;
	assert_int_equal(uvmp_pager_prefetch(pager, memory, (THREADS + 1u) * BLOCK, false), 0);
	before = stats_of(pager);
	w->is_watching = true;
	w->waits_for_the_last = waits_for_the_last;
	first.word = memory;
	assert_int_equal(pthread_create(&thread[THREADS], NULL, touch, &first), 0);
	wait_until_they_fault(&first, 1);
	for (size_t i = 0; i < THREADS; i++) {
		w->toucher[i].word = memory + (i + 1u) * BLOCK / 8u;
		assert_int_equal(pthread_create(&thread[i], NULL, touch, &w->toucher[i]), 0);
		wait_until_they_fault(&w->toucher[i], 1);
	}
	__atomic_store_n(&w->is_open, 1, __ATOMIC_RELEASE);
	for (size_t i = 0; i <= THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(first.got, 100);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(w->toucher[i].got, 101u + i);
	after = stats_of(pager);
	uvmp_pager_destroy(pager);
	assert_int_equal(w->reads, THREADS);
	after.faults -= before.faults + 1u;
	after.batches -= before.batches + 1u;
	after.replays -= before.replays;
	after.wakeups -= before.wakeups + 1u;
	return after;
}

static void went_on_one_by_one(const struct watched *w)
{
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(w->gone_on[i], i);
}

static void went_on_together(const struct watched *w)
{
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(w->gone_on[i], 0);
}

/* One batch, but the threads of a block continue before the next block is serviced. The others retry in
 * vain: their faults are a second batch, which finds the pages resident. */
static void test_replay_block(void **state)
{
	struct uvmp_pager_stats stats;
	struct watched w;

	(void)state;
	stats = three_threads(&w, "prefetch=none replay=block", true);
	went_on_one_by_one(&w);
	assert_int_equal(stats.faults, 3);
	assert_int_equal(stats.batches, 2);
	assert_int_equal(stats.wakeups, 3 + 2 + 1);
}

/* No thread continues before the whole batch has been serviced; each is woken once. */
static void test_replay_batch(void **state)
{
	static const char *const policy[] = {"prefetch=none replay=batch",
	                                     "prefetch=none replay=batch_flush"};
	struct uvmp_pager_stats stats;
	struct watched w;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		stats = three_threads(&w, policy[i], false);
		went_on_together(&w);
		assert_int_equal(stats.faults, 3);
		assert_int_equal(stats.batches, 1);
		assert_int_equal(stats.wakeups, 3);
	}
}

/* Batches of one fault: the others stay in the buffer, and are serviced from there. What they report again is
 * still there afterwards: one fault of the second thread, two of the third. */
static void test_replay_batch_of_one(void **state)
{
	struct uvmp_pager_stats stats;
	struct watched w;

	(void)state;
	stats = three_threads(&w, "prefetch=none replay=batch batch=1", true);
	went_on_one_by_one(&w);
	assert_int_equal(stats.faults, 3);
	assert_int_equal(stats.batches, 3 + 3);
	assert_int_equal(stats.wakeups, 3 + 2 + 1);
}

/* A flush drops what is in the buffer: the others fault again, and that is what is serviced. */
static void test_replay_batch_flush_of_one(void **state)
{
	struct uvmp_pager_stats stats;
	struct watched w;

	(void)state;
	stats = three_threads(&w, "prefetch=none replay=batch_flush batch=1", true);
	went_on_one_by_one(&w);
	assert_int_equal(stats.faults, 3);
	assert_int_equal(stats.batches, 3);
	assert_int_equal(stats.wakeups, 3 + 2 + 1);
}

/* Three batches, and one replay when there is nothing left. */
static void test_replay_once(void **state)
{
	struct uvmp_pager_stats stats;
	struct watched w;

	(void)state;
	stats = three_threads(&w, "prefetch=none replay=once batch=1", false);
	went_on_together(&w);
	assert_int_equal(stats.faults, 3);
	assert_int_equal(stats.batches, 3);
	assert_int_equal(stats.wakeups, 3);
}

/* -- batches -- */

#define MANY 300u

/* More than 256 messages are one batch where the policy says so, and threads on the same page one fault. */
static struct uvmp_pager_stats many_threads(const char *policy)
{
	struct toucher *toucher = calloc(MANY + 1u, sizeof(*toucher));
	pthread_t *thread = calloc(MANY + 1u, sizeof(*thread));
	struct uvmp_pager_stats before, after;
	struct uvmp_pager *pager;
	struct watched w;
	uint64_t *memory;

	open_watched(&w);
	pager = open_on(&w, policy);
	memory = uvmp_pager_alloc(pager, 2 * BLOCK);
	for (size_t i = 0; i < 2 * BLOCK / PAGE; i++)
		memory[i * PAGE / 8u] = 1000u + i;
	assert_int_equal(uvmp_pager_prefetch(pager, memory, 2 * BLOCK, false), 0);
	before = stats_of(pager);
	w.is_watching = true;
	toucher[MANY].word = memory;
	assert_int_equal(pthread_create(&thread[MANY], NULL, touch, &toucher[MANY]), 0);
	wait_until_they_fault(&toucher[MANY], 1);
	for (size_t i = 0; i < MANY; i++) {
		toucher[i].word = memory + (BLOCK + i / 2u * PAGE) / 8u;
		assert_int_equal(pthread_create(&thread[i], NULL, touch, &toucher[i]), 0);
	}
	wait_until_they_fault(toucher, MANY);
	__atomic_store_n(&w.is_open, 1, __ATOMIC_RELEASE);
	for (size_t i = 0; i <= MANY; i++) {
		pthread_join(thread[i], NULL);
		assert_int_equal(toucher[i].got, i == MANY ? 1000u : 1000u + BLOCK / PAGE + i / 2u);
	}
	after = stats_of(pager);
	after.faults -= before.faults + 1u;
	after.batches -= before.batches + 1u;
	after.wakeups -= before.wakeups + 1u;
	after.bytes_in -= before.bytes_in + PAGE;
	uvmp_pager_destroy(pager);
	free(toucher);
	free(thread);
	return after;
}

static void test_a_batch_is_all_that_is_pending(void **state)
{
	struct uvmp_pager_stats stats = many_threads("prefetch=none batch=400");

	(void)state;
	assert_int_equal(stats.faults, MANY);
	assert_int_equal(stats.batches, 1);
	assert_int_equal(stats.bytes_in, MANY / 2u * PAGE);
	assert_int_equal(stats.wakeups, MANY);
}

static void test_a_batch_is_no_more_than_the_policy_says(void **state)
{
	struct uvmp_pager_stats stats = many_threads("prefetch=none replay=once batch=100");

	(void)state;
	assert_int_equal(stats.faults, MANY);
	assert_int_equal(stats.batches, MANY / 100u);
	assert_int_equal(stats.wakeups, MANY);
}

/* -- first writes to clean pages -- */

/* A thread that writes page after page stalls a few times, not 512 times; scattered writes open no
 * neighbours. */
static void test_writes_that_go_on_are_let_through(void **state)
{
	struct uvmp_pager_stats before, after;
	struct uvmp_pager *pager;
	struct watched w;
	uint64_t *memory;

	(void)state;
	open_watched(&w);
	pager = open_on(&w, "");
	memory = uvmp_pager_alloc(pager, BLOCK);
	for (size_t i = 0; i < BLOCK / PAGE; i++)
		memory[i * PAGE / 8u] = 1000u + i;
	assert_int_equal(uvmp_pager_prefetch(pager, memory, BLOCK, false), 0);
	assert_int_equal(uvmp_pager_prefetch(pager, memory, BLOCK, true), 0);
	before = stats_of(pager);
	for (size_t i = 0; i < BLOCK / PAGE; i++)
		memory[i * PAGE / 8u] = 2000u + i;
	after = stats_of(pager);
	assert_in_range(after.write_faults - before.write_faults, 2, 20);
	assert_int_equal(after.faults, before.faults);
	assert_int_equal(uvmp_pager_prefetch(pager, memory, BLOCK, false), 0);
	assert_int_equal(stats_of(pager).bytes_out - before.bytes_out, BLOCK);
	assert_int_equal(uvmp_pager_prefetch(pager, memory, BLOCK, true), 0);
	before = stats_of(pager);
	for (size_t i = 0; i < BLOCK / PAGE; i++) {
		assert_int_equal(memory[i * PAGE / 8u], 2000u + i);
		if (i % 7u == 3)
			memory[i * PAGE / 8u] = 3000u + i;
	}
	after = stats_of(pager);
	assert_int_equal(after.write_faults - before.write_faults, 73);
	assert_int_equal(uvmp_pager_prefetch(pager, memory, BLOCK, false), 0);
	assert_int_equal(stats_of(pager).bytes_out - before.bytes_out, 73u * PAGE);
	for (size_t i = 0; i < BLOCK / PAGE; i++)
		assert_int_equal(memory[i * PAGE / 8u], (i % 7u == 3 ? 3000u : 2000u) + i);
	uvmp_pager_destroy(pager);
}

/* -- pages that are written along -- */

#define CLUSTER 16u

static struct uvmp_pager *open_clustered(struct watched *w, uint64_t **memory)
{
	struct uvmp_pager *pager;

	open_watched(w);
	w->around.store.cluster_pages = CLUSTER;
	pager = open_on(w, "");
	*memory = uvmp_pager_alloc(pager, BLOCK);
	for (size_t i = 0; i < BLOCK / PAGE; i++)
		(*memory)[i * PAGE / 8u] = 1000u + i;
	return pager;
}

static int send_out(struct uvmp_pager *pager, const uint64_t *memory, size_t page, size_t pages)
{
	return uvmp_pager_prefetch(pager, memory + page * PAGE / 8u, pages * PAGE, false);
}

static void was_written(const struct watched *w, uint32_t writes, uint64_t first, uint64_t pages)
{
	assert_int_equal(w->writes, writes);
	assert_int_equal(w->first, first);
	assert_int_equal(w->pages, pages);
}

/* One page is evicted, its cluster is written and stays; later changes are written again, and nothing
 * else. */
static void test_neighbours_are_written_along(void **state)
{
	struct uvmp_pager_stats before, after;
	struct uvmp_pager *pager;
	struct watched w;
	uint64_t *memory;

	(void)state;
	pager = open_clustered(&w, &memory);
	assert_int_equal(send_out(pager, memory, 37, 1), 0);
	was_written(&w, 1, 32, CLUSTER);
	before = stats_of(pager);
	assert_int_equal(before.resident_bytes, BLOCK - PAGE);
	assert_int_equal(before.bytes_out, CLUSTER * PAGE);
	assert_int_equal(before.bytes_dropped, 0);
	for (size_t i = 32; i < 32 + CLUSTER; i++) /* they are here */
		assert_int_equal(i == 37 ? 1037 : memory[i * PAGE / 8u], 1000u + i);
	assert_int_equal(stats_of(pager).faults, before.faults);
	memory[40 * PAGE / 8u] = 77;
	assert_int_equal(stats_of(pager).write_faults, before.write_faults + 1u);
	assert_int_equal(send_out(pager, memory, 32, CLUSTER), 0);
	was_written(&w, 2, 40, 1);
	after = stats_of(pager);
	assert_int_equal(after.bytes_out - before.bytes_out, PAGE);
	assert_int_equal(after.bytes_dropped, (CLUSTER - 2u) * PAGE);
	for (size_t i = 0; i < BLOCK / PAGE; i++)
		assert_int_equal(memory[i * PAGE / 8u], i == 40 ? 77 : 1000u + i);
	uvmp_pager_destroy(pager);
}

/* What cannot be written along keeps nothing from leaving, and is dirty still. */
static void test_neighbours_that_cannot_be_written(void **state)
{
	struct uvmp_pager *pager;
	struct watched w;
	uint64_t *memory;

	(void)state;
	pager = open_clustered(&w, &memory);
	w.bad_page = 20;
	assert_int_equal(send_out(pager, memory, 18, 1), 0);
	was_written(&w, 1, 18, 1);
	assert_int_equal(send_out(pager, memory, 20, 1), -EIO);
	assert_int_equal(w.writes, 1);
	assert_int_equal(stats_of(pager).resident_bytes, BLOCK - PAGE);
	memory[21 * PAGE / 8u] = 77;
	w.bad_page = 0;
	assert_int_equal(send_out(pager, memory, 19, CLUSTER - 3u), 0);
	was_written(&w, 2, 19, CLUSTER - 3u);
	assert_int_equal(send_out(pager, memory, 16, 2), 0);
	was_written(&w, 3, 16, 2);
	for (size_t i = 0; i < BLOCK / PAGE; i++)
		assert_int_equal(memory[i * PAGE / 8u], i == 21 ? 77 : 1000u + i);
	uvmp_pager_destroy(pager);
}

/* A hole makes two stretches of a block. The second cannot be written: the first stays, too. */
static void test_a_block_leaves_whole_or_not_at_all(void **state)
{
	struct uvmp_pager_stats before;
	struct uvmp_pager *pager;
	struct watched w;
	uint64_t *memory;

	(void)state;
	open_watched(&w);
	pager = open_on(&w, "");
	memory = uvmp_pager_alloc(pager, BLOCK);
	for (size_t i = 0; i < BLOCK / PAGE; i++)
		memory[i * PAGE / 8u] = 1000u + i;
	assert_int_equal(send_out(pager, memory, 0, BLOCK / PAGE), 0);
	assert_int_equal(uvmp_pager_prefetch(pager, memory, BLOCK, true), 0);
	assert_int_equal(munmap(memory + 256u * PAGE / 8u, PAGE), 0);
	memory[300u * PAGE / 8u] = 77;
	before = stats_of(pager);
	w.bad_page = 300;
	assert_int_equal(send_out(pager, memory, 0, BLOCK / PAGE), -EIO);
	w.bad_page = 0;
	assert_int_equal(stats_of(pager).resident_bytes, before.resident_bytes);
	assert_int_equal(stats_of(pager).bytes_dropped, before.bytes_dropped);
	for (size_t i = 0; i < BLOCK / PAGE; i++) {
		if (i != 256)
			assert_int_equal(memory[i * PAGE / 8u], i == 300 ? 77 : 1000u + i);
	}
	assert_int_equal(stats_of(pager).faults, before.faults);
	uvmp_pager_destroy(pager);
}

/* Never touched, or zero again: nothing to write, now or later. */
static void test_neighbours_that_are_zero(void **state)
{
	struct uvmp_pager *pager;
	struct watched w;
	uint64_t *memory;

	(void)state;
	pager = open_clustered(&w, &memory);
	memory[3 * PAGE / 8u] = 0;
	assert_int_equal(send_out(pager, memory, 0, 1), 0);
	was_written(&w, 2, 4, CLUSTER - 4u);
	assert_int_equal(stats_of(pager).bytes_out, (CLUSTER - 1u) * PAGE);
	memory[3 * PAGE / 8u] = 77; /* it was the only one to stay without a place in the store */
	assert_int_equal(send_out(pager, memory, 0, CLUSTER), 0);
	was_written(&w, 3, 3, 1);
	assert_int_equal(memory[3 * PAGE / 8u], 77);
	uvmp_pager_destroy(pager);
}

/* -- threads that copy -- */

struct crowd {
	struct around around;
	uint32_t inside, most_inside, threads;
	int tid[16];
	bool is_slow;
	uint64_t bad_page, worse_page; /* reads and writes of them fail, -EIO and -EBADMSG */
};

static int enter(struct crowd *crowd, uint64_t page, uint64_t pages)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int tid = (int)syscall(SYS_gettid);
	uint32_t i = 0;

	pthread_mutex_lock(&lock);
	crowd->inside++;
	if (crowd->inside > crowd->most_inside)
		crowd->most_inside = crowd->inside;
	while (i < crowd->threads && crowd->tid[i] != tid)
		i++;
	if (i == crowd->threads && i < 16)
		crowd->tid[crowd->threads++] = tid;
	pthread_mutex_unlock(&lock);
	if (crowd->is_slow)
		pause_ms(2);
	if (crowd->worse_page - page < pages)
		return -EBADMSG;
	if (crowd->bad_page - page < pages) {
		pause_ms(20); /* the worse one is seen first */
		return -EIO;
	}
	return 0;
}

static void leave(struct crowd *crowd)
{
	__atomic_fetch_sub(&crowd->inside, 1, __ATOMIC_SEQ_CST);
}

static int crowd_read(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, void *to)
{
	struct crowd *crowd = (struct crowd *)store;
	int error = enter(crowd, page, pages);

	if (error == 0)
		error = crowd->around.real->read(crowd->around.real, page, pages, to);
	leave(crowd);
	return error;
}

static int crowd_write(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, const void *from)
{
	struct crowd *crowd = (struct crowd *)store;
	int error = enter(crowd, page, pages);

	if (error == 0)
		error = crowd->around.real->write(crowd->around.real, page, pages, from);
	leave(crowd);
	return error;
}

static struct uvmp_pager *open_crowd(struct crowd *crowd, uint32_t threads, bool is_parallel)
{
	struct uvmp_pager_config config;

	memset(crowd, 0, sizeof(*crowd));
	crowd->bad_page = crowd->worse_page = UINT64_MAX;
	around_memory(&crowd->around, 16 * MIB / PAGE, crowd_read, crowd_write);
	crowd->around.store.is_parallel = is_parallel;
	uvmp_pager_config_init(&config);
	config.budget_bytes = 8 * MIB;
	config.managed_bytes = 16 * MIB;
	config.policy = "";
	config.batch_threads = threads;
	config.own_store = &crowd->around.store;
	return open_config(&config);
}

static void fill(uint64_t *memory, size_t bytes)
{
	for (size_t i = 0; i < bytes / 8u; i++)
		memory[i] = i * 0x9e3779b97f4a7c15u;
}

static void check(const uint64_t *memory, size_t bytes)
{
	for (size_t i = 0; i < bytes / 8u; i++)
		assert_true(memory[i] == i * 0x9e3779b97f4a7c15u);
}

static void test_threads_share_a_copy(void **state)
{
	(void)state;
	for (int is_parallel = 0; is_parallel < 2; is_parallel++) {
		struct crowd crowd;
		struct uvmp_pager *pager = open_crowd(&crowd, 4, is_parallel != 0);
		uint64_t *memory = uvmp_pager_alloc(pager, 4 * MIB);

		fill(memory, 4 * MIB);
		crowd.is_slow = true;
		assert_int_equal(uvmp_pager_prefetch(pager, memory, 4 * MIB, false), 0);
		assert_int_equal(uvmp_pager_prefetch(pager, memory, 4 * MIB, true), 0);
		check(memory, 4 * MIB);
		if (is_parallel) {
			assert_in_range(crowd.most_inside, 2, 4);
			assert_in_range(crowd.threads, 2, 4);
		} else {
			assert_int_equal(crowd.most_inside, 1);
			assert_int_equal(crowd.threads, 1);
		}
		uvmp_pager_destroy(pager);
	}
}

/* The first error in the order of pages, whichever thread was faster; resident and stored pages are
 * unchanged. */
static void test_a_part_that_fails(void **state)
{
	struct crowd crowd;
	struct uvmp_pager *pager = open_crowd(&crowd, 4, true);
	uint64_t *memory = uvmp_pager_alloc(pager, 2 * MIB);

	(void)state;
	fill(memory, 2 * MIB);
	crowd.bad_page = 70;
	crowd.worse_page = 100;
	assert_int_equal(uvmp_pager_prefetch(pager, memory, 2 * MIB, false), -EIO);
	assert_int_equal(stats_of(pager).resident_bytes, 2 * MIB);
	assert_int_equal(stats_of(pager).bytes_out, 0);
	check(memory, 2 * MIB);
	memory[5] = 77; /* it was protected, and is not lost */
	memory[200 * PAGE / 8u] = 78;
	crowd.bad_page = crowd.worse_page = UINT64_MAX;
	assert_int_equal(uvmp_pager_prefetch(pager, memory, 2 * MIB, false), 0);
	assert_int_equal(stats_of(pager).bytes_out, 2 * MIB);
	crowd.bad_page = 70;
	crowd.worse_page = 100;
	assert_int_equal(uvmp_pager_prefetch(pager, memory, 2 * MIB, true), -EIO);
	assert_in_range(stats_of(pager).resident_bytes, 0,
	                2 * MIB - 2 * PAGE); /* what came before it may stay */
	assert_int_equal(stats_of(pager).store_error, -EIO);
	crowd.bad_page = crowd.worse_page = UINT64_MAX;
	assert_int_equal(memory[5], 77);
	assert_int_equal(memory[200 * PAGE / 8u], 78);
	memory[5] = 5 * 0x9e3779b97f4a7c15u;
	memory[200 * PAGE / 8u] = 200 * PAGE / 8u * 0x9e3779b97f4a7c15u;
	check(memory, 2 * MIB);
	uvmp_pager_destroy(pager);
}

/* The log without times, addresses counted from where the memory begins. */
static char *without_place(char *log, uint64_t base)
{
	char *text = NULL, *line, *rest = NULL, printed[UVMP_ACTION_TEXT_MAX];
	struct uvmp_action action;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	for (line = strtok_r(log, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		assert_int_equal(uvmp_action_parse(line, strlen(line), &action, NULL), UVMP_OK);
		action.time_ns = 0;
		action.address -= action.address != 0 ? base - MIB : 0;
		action.for_address -= action.for_address != 0 ? base - MIB : 0;
		assert_int_equal(uvmp_action_print(&action, printed, sizeof(printed)), UVMP_OK);
		fprintf(out, "%s\n", printed);
	}
	fclose(out);
	return text;
}

/* One thread that reads and writes, near and far. */
static char *log_of(const char *policy, const char *store, uint32_t threads, struct uvmp_pager_stats *stats)
{
	struct uvmp_pager_config config;
	struct uvmp_pager *pager;
	char *log = NULL, *text;
	uint64_t *memory, x = 1;
	size_t bytes;

	uvmp_pager_config_init(&config);
	config.budget_bytes = 8 * MIB;
	config.policy = policy;
	config.store = store;
	config.batch_threads = threads;
	config.log = open_memstream(&log, &bytes);
	assert_int_equal(uvmp_pager_create(&config, &pager, NULL, 0), 0);
	memory = uvmp_pager_alloc(pager, 32 * MIB);
	fill(memory, 32 * MIB);
	check(memory, 32 * MIB);
	for (int i = 0; i < 400; i++) {
		size_t at;

		x = x * 6364136223846793005u + 1442695040888963407u;
		at = (x >> 33) % (32 * MIB / 8u);
		assert_true(memory[at] == at * 0x9e3779b97f4a7c15u);
		if (i % 3 == 0)
			memory[at] = at * 0x9e3779b97f4a7c15u;
	}
	assert_int_equal(uvmp_pager_prefetch(pager, memory, 6 * MIB, true), 0);
	*stats = stats_of(pager);
	stats->stall_ns = stats->service_ns = stats->waited_ns = 0; /* depends on the load of the machine */
	stats->thrash_ns = stats->thrash_waited_ns = stats->thrash_bytes = 0;
	uvmp_pager_destroy(pager);
	fclose(config.log);
	text = without_place(log, (uint64_t)(uintptr_t)memory);
	free(log);
	return text;
}

static void test_the_number_of_threads_decides_nothing(void **state)
{
	static const char *const policy[] = {"", "prefetch=none evict=lru4k", "preset=uvmsmart-tbn"};
	static const char *const store[] = {"mem", "zstd", "file:/tmp"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct uvmp_pager_stats one, many;
		char *log = log_of(policy[i], store[i], 1, &one);

		assert_true(one.evictions > 0 && one.bytes_out > 0);
		for (uint32_t threads = 2; threads <= 4; threads += 2) {
			char *other = log_of(policy[i], store[i], threads, &many);

			assert_string_equal(log, other);
			assert_memory_equal(&one, &many, sizeof(one));
			free(other);
		}
		free(log);
	}
}

/* Nor does what the store likes to have written along. */
static void test_the_store_decides_nothing(void **state)
{
	static const char *const policy[] = {"evict=lru4k", "prefetch=none evict=lru4k"};
	static const char *const store[] = {"zstd", "file:/tmp"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct uvmp_pager_stats one, other;
		char *log = log_of(policy[i], "mem", 1, &one);

		for (size_t k = 0; k < 2; k++) {
			char *text = log_of(policy[i], store[k], 1, &other);

			assert_string_equal(log, text);
			assert_int_equal(one.faults, other.faults);
			assert_true(other.copies_out < one.copies_out);
			free(text);
		}
		free(log);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_replay_block),
	                                   cmocka_unit_test(test_replay_batch),
	                                   cmocka_unit_test(test_replay_batch_of_one),
	                                   cmocka_unit_test(test_replay_batch_flush_of_one),
	                                   cmocka_unit_test(test_replay_once),
	                                   cmocka_unit_test(test_a_batch_is_all_that_is_pending),
	                                   cmocka_unit_test(test_a_batch_is_no_more_than_the_policy_says),
	                                   cmocka_unit_test(test_writes_that_go_on_are_let_through),
	                                   cmocka_unit_test(test_neighbours_are_written_along),
	                                   cmocka_unit_test(test_neighbours_that_cannot_be_written),
	                                   cmocka_unit_test(test_neighbours_that_are_zero),
	                                   cmocka_unit_test(test_a_block_leaves_whole_or_not_at_all),
	                                   cmocka_unit_test(test_threads_share_a_copy),
	                                   cmocka_unit_test(test_a_part_that_fails),
	                                   cmocka_unit_test(test_the_number_of_threads_decides_nothing),
	                                   cmocka_unit_test(test_the_store_decides_nothing)};

	if (!can_page(NULL))
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
