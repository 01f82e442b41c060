/* The pager where programs are unkind to it: many threads on a page, threads that end in a fault, signals,
 * fork, exec and exit in mid-service, several pagers, limits, stores that fill up. What memory holds is
 * checked each time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/flaky_store.h"
#include "support/paging.h"
#include "support/seed.h"
#include "uvmpolicy/uvmpolicy.h"

#define BLOCK   (2 * MIB)
#define SECONDS 120u /* a child that takes longer hangs */

static struct uvmp_pager *open_flaky(uint64_t budget, struct flaky_store **flaky)
{
	struct uvmp_pager_config config;
	int status;

	*flaky = flaky_store_around(uvmp_store_mem(64 * MIB / PAGE, &status), 1);
	uvmp_pager_config_init(&config);
	config.budget_bytes = budget;
	config.managed_bytes = 64 * MIB;
	config.policy = "prefetch=none";
	config.own_store = &(*flaky)->store;
	return open_config(&config);
}

/* fork; in the child signals end it, as they end programs, and so does a hang. */
static pid_t fork_child(void)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	alarm(SECONDS);
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	return 0;
}

/* In a child, which returns 0 if all is well. */
static void in_child(int (*body)(void), int expected)
{
	int status;
	pid_t pid = fork_child();

	if (pid == 0)
		_exit(body());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		fail_msg("the child died of signal %d", WTERMSIG(status));
	assert_int_equal(WEXITSTATUS(status), expected);
}

static bool ends_well(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* -- many threads -- */

#define CROWD 64u
static pthread_barrier_t barrier;
static struct {
	uint64_t *memory;
	size_t stride; /* words between the threads' own */
	atomic_uint bad;
} crowd;

/* Each adds to the common word and writes its own; then each reads its neighbour's. */
static void *one_of_the_crowd(void *context)
{
	size_t i = (size_t)(uintptr_t)context, next = (i + 1u) % CROWD;
	uint64_t before;

	pthread_barrier_wait(&barrier);
	before = __atomic_load_n(&crowd.memory[next * crowd.stride + 1u], __ATOMIC_RELAXED);
	__atomic_fetch_add(&crowd.memory[0], 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&crowd.memory[i * crowd.stride + 1u], i + 1u, __ATOMIC_SEQ_CST);
	pthread_barrier_wait(&barrier);
	if (__atomic_load_n(&crowd.memory[next * crowd.stride + 1u], __ATOMIC_RELAXED) < before)
		atomic_fetch_add(&crowd.bad, 1);
	return NULL;
}

static void crowd_in(struct uvmp_pager *pager, size_t stride)
{
	pthread_t thread[CROWD];

	crowd.memory = uvmp_pager_alloc(pager, BLOCK);
	crowd.stride = stride;
	atomic_store(&crowd.bad, 0);
	for (uint64_t round = 1; round <= 3; round++) {
		pthread_barrier_init(&barrier, NULL, CROWD);
		for (size_t i = 0; i < CROWD; i++)
			assert_int_equal(
			        pthread_create(&thread[i], NULL, one_of_the_crowd, (void *)(uintptr_t)i), 0);
		for (size_t i = 0; i < CROWD; i++)
			pthread_join(thread[i], NULL);
		pthread_barrier_destroy(&barrier);
		assert_int_equal(atomic_load(&crowd.bad), 0);
		assert_int_equal(crowd.memory[0], round * CROWD);
		for (size_t i = 0; i < CROWD; i++)
			assert_int_equal(crowd.memory[i * stride + 1u], round * (i + 1u));
		assert_int_equal(uvmp_pager_prefetch(pager, crowd.memory, BLOCK, false), 0);
	}
	assert_int_equal(uvmp_pager_free(pager, crowd.memory), 0);
}

static void test_64_threads_on_a_page_and_on_a_block(void **state)
{
	static const char *const policy[] = {"prefetch=density", "prefetch=none replay=block",
	                                     "replay=once batch=5"};

	(void)state;
	for (size_t i = 0; i < sizeof(policy) / sizeof(policy[0]); i++) {
		struct uvmp_pager *pager = open_with(8 * MIB, policy[i], NULL);

		crowd_in(pager, 1);
		crowd_in(pager, 512);
		uvmp_pager_destroy(pager);
	}
}

/* -- threads that end in a fault -- */

static sigjmp_buf escape;
static atomic_bool is_about_to;

static void *touch(void *word)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	atomic_store(&is_about_to, true);
	return (void *)(uintptr_t) * (volatile uint64_t *)word;
}

static void *touch_or_escape(void *word)
{
	if (sigsetjmp(escape, 1) != 0)
		return NULL;
	return touch(word);
}

static void jump_out(int number)
{
	(void)number;
	siglongjmp(escape, 1);
}

static void leave_thread(int number)
{
	(void)number;
	pthread_exit(NULL);
}

enum end { CANCELLED, JUMPED, EXITED };

/* The fault waits behind a slow store while its thread goes. */
static void end_in_a_fault(struct uvmp_pager *pager, struct flaky_store *flaky, uint64_t *memory,
                           enum end end)
{
	struct sigaction action = {.sa_handler = end == JUMPED ? jump_out : leave_thread};
	pthread_t thread;

	sigaction(SIGUSR1, &action, NULL);
	assert_int_equal(uvmp_pager_prefetch(pager, memory, 8 * MIB, false), 0);
	atomic_store(&flaky->delay_us, 100000);
	atomic_store(&is_about_to, false);
	assert_int_equal(pthread_create(&thread, NULL, touch_or_escape, memory + 512u * 3u), 0);
	while (!atomic_load(&is_about_to))
		;
	usleep(30000);
	if (end == CANCELLED)
		pthread_cancel(thread);
	else
		pthread_kill(thread, SIGUSR1);
	pthread_join(thread, NULL);
	atomic_store(&flaky->delay_us, 0);
}

static void test_threads_that_end_in_a_fault(void **state)
{
	struct flaky_store *flaky;
	struct uvmp_pager *pager = open_flaky(8 * MIB, &flaky);
	uint64_t *memory = uvmp_pager_alloc(pager, 16 * MIB);

	(void)state;
	for (uint64_t round = 0; round < 6; round++) {
		write_pages(memory, 16 * MIB, round);
		end_in_a_fault(pager, flaky, memory, (enum end)(round % 3u));
		assert_true(are_pages(memory, 16 * MIB, round));
	}
	uvmp_pager_destroy(pager);
}

/* It ends, and then its page cannot come: the process lives, and the others' pages come. */
static void test_a_thread_that_ended_before_its_page_failed(void **state)
{
	struct flaky_store *flaky;
	struct uvmp_pager *pager = open_flaky(8 * MIB, &flaky);
	uint64_t *memory = uvmp_pager_alloc(pager, 16 * MIB);

	(void)state;
	write_pages(memory, 16 * MIB, 1);
	atomic_store(&flaky->reads_fail, 1000);
	end_in_a_fault(pager, flaky, memory, CANCELLED);
	usleep(150000);
	atomic_store(&flaky->reads_fail, 0);
	assert_true(are_pages(memory, 16 * MIB, 1));
	uvmp_pager_destroy(pager);
}

/* A cancellation that arrives while a thread works for the pager waits until the thread returns. */
static atomic_bool is_back;

static void *free_cancelled(void *pager)
{
	void *memory = uvmp_pager_alloc(pager, 16 * MIB);

	write_pages(memory, 16 * MIB, 1);
	pthread_cancel(pthread_self());
	uvmp_pager_flush(pager);
	uvmp_pager_free(pager, memory); /* makes holes in a file */
	atomic_store(&is_back, true);
	pthread_testcancel();
	return NULL;
}

static int cancel_in_a_call(void)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, "file:/tmp");
	uint64_t *memory = uvmp_pager_alloc(pager, 16 * MIB);
	pthread_t thread;
	void *result;

	write_pages(memory, 16 * MIB, 1);
	pthread_create(&thread, NULL, free_cancelled, pager);
	pthread_join(thread, &result);
	if (result != PTHREAD_CANCELED || !atomic_load(&is_back) || !are_pages(memory, 16 * MIB, 1))
		return 1;
	uvmp_pager_destroy(pager);
	return 0;
}

static void test_a_cancel_waits_for_the_pager(void **state)
{
	(void)state;
	in_child(cancel_in_a_call, 0);
}

/* Likewise a signal, whose handler touches managed memory. */
static struct {
	uint64_t *memory;
	int (*write)(struct uvmp_pager_store *, uint64_t, uint64_t, const void *);
	volatile sig_atomic_t caught, bad;
} handler;

static void touch_all(int number)
{
	(void)number;
	handler.caught++;
	if (!are_pages(handler.memory, 16 * MIB, 1))
		handler.bad++;
}

static int write_with_signal(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, const void *from)
{
	raise(SIGUSR2);
	return handler.write(store, page, pages, from);
}

static int signals_in_a_call(void)
{
	struct flaky_store *flaky;
	struct uvmp_pager *pager = open_flaky(8 * MIB, &flaky);
	uint64_t *memory = uvmp_pager_alloc(pager, 4 * MIB);

	handler.memory = uvmp_pager_alloc(pager, 16 * MIB);
	write_pages(handler.memory, 16 * MIB, 1);
	handler.write = flaky->store.write;
	flaky->store.write = write_with_signal;
	signal(SIGUSR2, touch_all);
	for (uint64_t round = 0; round < 4; round++) {
		write_pages(memory, 4 * MIB, round);
		if (uvmp_pager_prefetch(pager, memory, 4 * MIB, false) != 0 ||
		    !are_pages(memory, 4 * MIB, round))
			return 1;
	}
	uvmp_pager_destroy(pager);
	return handler.caught >= 4 && handler.bad == 0 ? 0 : 2;
}

static void test_signals_wait_for_the_pager(void **state)
{
	(void)state;
	in_child(signals_in_a_call, 0);
}

/* -- workers in the background -- */

static struct {
	uint64_t *memory;
	size_t bytes;
	atomic_bool stops;
	atomic_uint bad;
	_Atomic uint64_t rounds;
} work;

/* Each has every fourth page. */
static void *worker(void *context)
{
	size_t first = (size_t)(uintptr_t)context;

	for (uint64_t round = 1; !atomic_load(&work.stops); round++) {
		for (size_t i = first; i < work.bytes / PAGE; i += 4)
			work.memory[i * 512u] = word_of(i, round);
		for (size_t i = first; i < work.bytes / PAGE; i += 4) {
			if (work.memory[i * 512u] != word_of(i, round))
				atomic_fetch_add(&work.bad, 1);
		}
		atomic_fetch_add(&work.rounds, 1);
	}
	return NULL;
}

static void begin_work(pthread_t thread[4], uint64_t *memory, size_t bytes)
{
	work.memory = memory;
	work.bytes = bytes;
	atomic_store(&work.stops, false);
	atomic_store(&work.bad, 0);
	atomic_store(&work.rounds, 0);
	for (size_t i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, worker, (void *)(uintptr_t)i);
}

static void end_work(pthread_t thread[4])
{
	while (atomic_load(&work.rounds) < 8)
		usleep(1000);
	atomic_store(&work.stops, true);
	for (size_t i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(atomic_load(&work.bad), 0);
}

static _Atomic uint64_t caught;

static void count_signal(int number)
{
	(void)number;
	atomic_fetch_add(&caught, 1);
}

static void test_storms_of_signals(void **state)
{
	struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = count_signal};
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, "zstd");
	uint64_t *memory = uvmp_pager_alloc(pager, 32 * MIB);
	static const int signals[] = {SIGTERM, SIGINT, SIGUSR2};
	pthread_t thread[4];

	(void)state;
	sigaction(SIGALRM, &action, NULL);
	for (size_t i = 0; i < 3; i++)
		sigaction(signals[i], &action, NULL);
	begin_work(thread, memory, 32 * MIB);
	setitimer(ITIMER_REAL, &often, NULL);
	for (size_t i = 0; i < 3000; i++) {
		pthread_kill(thread[i % 4u], signals[i % 3u]);
		if (i % 8u == 0)
			usleep(100);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	end_work(thread);
	assert_true(atomic_load(&caught) > 100);
	signal(SIGALRM, SIG_DFL);
	for (size_t i = 0; i < 3; i++)
		signal(signals[i], SIG_DFL);
	uvmp_pager_destroy(pager);
}

/* -- fork, exec, exit -- */

/* Each word that the workers write is of some round; words that they do not write are unchanged. */
static bool is_whole(const uint64_t *quiet, size_t bytes)
{
	if (!are_pages(quiet, bytes, 5))
		return false;
	for (size_t i = 0; i < work.bytes / PAGE; i++) {
		uint64_t word = work.memory[i * 512u];

		if (word != 0 && word - word_of(i, 0) > atomic_load(&work.rounds) + 8u)
			return false;
	}
	return true;
}

static int child_of(uint64_t *quiet, size_t bytes)
{
	pid_t grandchild;

	if (!is_whole(quiet, bytes))
		return 1;
	write_pages(quiet, bytes, 6);
	grandchild = fork_child();
	if (grandchild == 0)
		_exit(!are_pages(quiet, bytes, 6));
	write_pages(quiet, bytes, 7);
	if (!ends_well(grandchild) || !are_pages(quiet, bytes, 7))
		return 2;
	return 0;
}

static void fork_at_work(const char *store)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, store);
	uint64_t *memory = uvmp_pager_alloc(pager, 16 * MIB), *quiet = uvmp_pager_alloc(pager, 16 * MIB);
	pthread_t thread[4];
	pid_t pid[4];

	write_pages(quiet, 16 * MIB, 5);
	begin_work(thread, memory, 16 * MIB);
	for (size_t i = 0; i < 4; i++) {
		usleep(3000);
		pid[i] = fork_child();
		if (pid[i] == 0)
			_exit(child_of(quiet, 16 * MIB));
	}
	for (size_t i = 0; i < 4; i++)
		assert_true(ends_well(pid[i]));
	end_work(thread);
	assert_true(are_pages(quiet, 16 * MIB, 5));
	uvmp_pager_destroy(pager);
}

static void test_fork_in_mid_service(void **state)
{
	(void)state;
	fork_at_work("mem");
	fork_at_work("zstd");
	fork_at_work("file:/tmp");
}

/* A child whose store could not be copied has no memory, instead of zeros; its accesses do not reach
 * the parent's memory. */
/* -- descriptors: a program closes those of low numbers, as at a daemon's start, or all -- */

static void close_from(int first, int last)
{
	for (int fd = first; fd < last; fd++)
		close(fd);
}

static int close_low(void)
{
	static const char *const stores[] = {"mem", "map"};

	for (size_t i = 0; i < 2; i++) {
		struct uvmp_pager *pager = open_with(8 * MIB, NULL, stores[i]);
		uint64_t *memory = uvmp_pager_alloc(pager, 16 * MIB);
		pid_t pid;

		write_pages(memory, 16 * MIB, i);
		close_from(3, 512);
		if (!are_pages(memory, 16 * MIB, i))
			return 1;
		pid = fork_child();
		if (pid == 0)
			_exit(are_pages(memory, 16 * MIB, i) ? 0 : 1);
		if (!ends_well(pid))
			return 2;
		uvmp_pager_destroy(pager);
	}
	return 0;
}

static void test_low_descriptors_are_the_programs(void **state)
{
	struct rlimit limit;

	(void)state;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < 600) {
		printf("skipped: no descriptors above 512 here\n");
		return;
	}
	in_child(close_low, 0);
}

/* A program must end before its memory reads as zeros. */
static void test_without_descriptors_the_process_ends(void **state)
{
	pid_t pid = fork_child();
	int status;

	(void)state;
	if (pid == 0) {
		struct uvmp_pager *pager = open_with(8 * MIB, NULL, "mem");
		uint64_t *memory = uvmp_pager_alloc(pager, 16 * MIB);

		signal(SIGABRT, SIG_DFL);
		write_pages(memory, 16 * MIB, 1);
		close_from(3, 1024);
		for (;;)
			(void)are_pages(memory, 16 * MIB, 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* Handlers that the program has registered before its first pager. */
static struct {
	uint64_t *memory; /* NULL: not for this test */
	unsigned prepared, in_child;
} forked;

static void on_prepare(void)
{
	forked.prepared += forked.memory && are_pages(forked.memory, 16 * MIB, 1);
}

static void on_child(void)
{
	forked.in_child += forked.memory && are_pages(forked.memory, 16 * MIB, 1);
}

static int forks_with_handlers(void)
{
	struct uvmp_pager *pager[2] = {open_with(8 * MIB, NULL, "mem"), open_with(8 * MIB, NULL, "mem")};
	sigset_t mask, before;
	int cancel_state, unused;
	pid_t pid;

	sigemptyset(&before);
	sigaddset(&before, SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	for (int is_last = 0; is_last < 2; is_last++) {
		forked.prepared = forked.in_child = 0;
		forked.memory = uvmp_pager_alloc(pager[is_last], 16 * MIB);
		write_pages(forked.memory, 16 * MIB, 1);
		pid = fork_child();
		pthread_sigmask(SIG_SETMASK, NULL, &mask);
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancel_state);
		pthread_setcancelstate(cancel_state, &unused);
		if (!sigismember(&mask, SIGUSR1) || sigismember(&mask, SIGUSR2) ||
		    cancel_state != PTHREAD_CANCEL_ENABLE)
			_exit(3);
		if (pid == 0)
			_exit(forked.prepared == 1 && forked.in_child == 1 ? 0 : 1);
		if (!ends_well(pid))
			return 1;
	}
	return are_pages(forked.memory, 16 * MIB, 1) ? 0 : 2;
}

static void test_fork_handlers_see_the_memory(void **state)
{
	(void)state;
	in_child(forks_with_handlers, 0);
}

static void test_fork_while_the_store_fails(void **state)
{
	struct flaky_store *flaky;
	struct uvmp_pager *pager = open_flaky(8 * MIB, &flaky);
	uint64_t *memory = uvmp_pager_alloc(pager, 16 * MIB), *other = uvmp_pager_alloc(pager, 4 * MIB);
	pid_t reads, frees;
	int status;

	(void)state;
	write_pages(memory, 16 * MIB, 3);
	write_pages(other, 4 * MIB, 4);
	atomic_store(&flaky->forks_fail, true);
	reads = fork_child();
	if (reads == 0)
		_exit(memory[0] == 0 ? 0 : 1);
	assert_int_equal(waitpid(reads, &status, 0), reads);
	assert_true(WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS));
	frees = fork_child();
	if (frees == 0)
		_exit(uvmp_pager_free(pager, memory) != 0 || (uvmp_pager_destroy(pager), false));
	assert_true(ends_well(frees));
	atomic_store(&flaky->forks_fail, false);
	assert_true(are_pages(memory, 16 * MIB, 3));
	assert_true(are_pages(other, 4 * MIB, 4));
	uvmp_pager_destroy(pager);
}

static int exec_at_work(void)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, NULL);
	pthread_t thread[4];

	begin_work(thread, uvmp_pager_alloc(pager, 32 * MIB), 32 * MIB);
	usleep(5000);
	execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
	return 1;
}

static int exit_at_work(void)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, NULL);
	pthread_t thread[4];

	begin_work(thread, uvmp_pager_alloc(pager, 32 * MIB), 32 * MIB);
	usleep(5000);
	exit(9);
}

static void test_exec_and_exit_in_mid_service(void **state)
{
	(void)state;
	in_child(exec_at_work, 7);
	in_child(exit_at_work, 9);
}

/* -- two pagers -- */

struct transfer {
	uint8_t *to;
	const uint8_t *from;
	size_t bytes;
};

static void *transfer(void *context)
{
	const struct transfer *t = context;

	for (int round = 0; round < 3; round++)
		memcpy(t->to, t->from, t->bytes);
	return NULL;
}

static void test_copies_between_two_pagers_both_ways(void **state)
{
	struct uvmp_pager *one = open_with(8 * MIB, NULL, "mem"),
	                  *two = open_with(12 * MIB, "prefetch=none", "zstd");
	uint8_t *a = uvmp_pager_alloc(one, 32 * MIB), *b = uvmp_pager_alloc(two, 32 * MIB);
	struct transfer there = {b, a, 16 * MIB}, back = {a + 16 * MIB, b + 16 * MIB, 16 * MIB};
	pthread_t thread;

	(void)state;
	for (size_t i = 0; i < 16 * MIB; i += 8) {
		*(uint64_t *)(void *)(a + i) = word_of(i, 1);
		*(uint64_t *)(void *)(b + 16 * MIB + i) = word_of(i, 2);
	}
	assert_int_equal(pthread_create(&thread, NULL, transfer, &there), 0);
	transfer(&back);
	pthread_join(thread, NULL);
	for (size_t i = 0; i < 16 * MIB; i += 8) {
		assert_int_equal(*(uint64_t *)(void *)(b + i), word_of(i, 1));
		assert_int_equal(*(uint64_t *)(void *)(a + 16 * MIB + i), word_of(i, 2));
	}
	uvmp_pager_destroy(one);
	assert_int_equal(*(uint64_t *)(void *)b, word_of(0, 1));
	uvmp_pager_destroy(two);
}

static void test_a_system_call_on_the_memory_of_both(void **state)
{
	struct uvmp_pager *one = open_with(8 * MIB, NULL, "mem"),
	                  *two = open_with(8 * MIB, NULL, "file:/tmp");
	uint64_t *a = uvmp_pager_alloc(one, 16 * MIB), *b = uvmp_pager_alloc(two, 16 * MIB);
	struct iovec all[2] = {{a, 16 * MIB}, {b, 16 * MIB}}, swapped[2] = {{b, 16 * MIB}, {a, 16 * MIB}};
	char path[] = "/tmp/test_pager_hard_XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	unlink(path);
	if (uvmp_pager_serves_kernel(one)) {
		write_pages(a, 16 * MIB, 1);
		write_pages(b, 16 * MIB, 2);
		assert_int_equal(pwritev(fd, all, 2, 0), 32 * MIB);
		assert_int_equal(preadv(fd, swapped, 2, 0), 32 * MIB);
		assert_true(are_pages(b, 16 * MIB, 1));
		assert_true(are_pages(a, 16 * MIB, 2));
	} else {
		print_message("skipped: this process may not handle faults of the kernel\n");
	}
	close(fd);
	uvmp_pager_destroy(one);
	uvmp_pager_destroy(two);
}

/* -- limits -- */

static size_t entries(const char *path)
{
	DIR *directory = opendir(path);
	size_t count = 0;

	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static size_t mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	size_t lines = 0;
	int c;

	while ((c = fgetc(maps)) != EOF)
		lines += c == '\n';
	fclose(maps);
	return lines;
}

static int creates_without_descriptors(void)
{
	struct rlimit limit = {3, 1024};
	struct uvmp_pager_config config;
	struct uvmp_pager *pager;

	for (int fd = 3; fd < 64; fd++)
		close(fd);
	uvmp_pager_config_init(&config);
	config.budget_bytes = 8 * MIB;
	for (limit.rlim_cur = 3; limit.rlim_cur < 5; limit.rlim_cur++) {
		setrlimit(RLIMIT_NOFILE, &limit);
		pager_error[0] = '\0';
		if (uvmp_pager_create(&config, &pager, pager_error, sizeof(pager_error)) != -EMFILE ||
		    !strstr(pager_error, "Too many open files"))
			return 1;
	}
	return 0;
}

static int forks_without_descriptors(void)
{
	struct rlimit limit = {64, 1024}; /* a limit is one of numbers: none of the pagers' is to be high */
	struct uvmp_pager *file, *mem;
	uint64_t *in_file, *in_mem;
	int status;
	pid_t pid;

	setrlimit(RLIMIT_NOFILE, &limit);
	file = open_with(8 * MIB, NULL, "file:/tmp");
	mem = open_with(8 * MIB, NULL, "mem");
	in_file = uvmp_pager_alloc(file, 16 * MIB);
	in_mem = uvmp_pager_alloc(mem, 16 * MIB);
	limit.rlim_cur = 3;
	write_pages(in_file, 16 * MIB, 1);
	write_pages(in_mem, 16 * MIB, 2);
	for (;; limit.rlim_cur++) { /* all that are open, and no more */
		int fd;

		setrlimit(RLIMIT_NOFILE, &limit);
		fd = dup(0);
		if (fd >= 0) {
			close(fd);
			break;
		}
	}
	limit.rlim_cur--;
	setrlimit(RLIMIT_NOFILE, &limit);
	pid = fork_child();
	if (pid == 0)
		_exit(!are_pages(in_mem, 16 * MIB, 2)); /* needs no more than the parent has */
	if (!ends_well(pid))
		return 1;
	pid = fork_child();
	if (pid == 0)
		_exit(in_file[0] == 0);
	waitpid(pid, &status, 0);
	if (!WIFSIGNALED(status)) /* neither zeros nor anything */
		return 2;
	return !are_pages(in_file, 16 * MIB, 1) || !are_pages(in_mem, 16 * MIB, 2);
}

static int creates_without_address_space(void)
{
	struct rlimit limit = {256 * MIB, 256 * MIB};
	struct uvmp_pager_config config;
	struct uvmp_pager *pager;
	size_t before = mappings();

	setrlimit(RLIMIT_AS, &limit);
	uvmp_pager_config_init(&config);
	config.budget_bytes = 1024 * MIB;
	pager_error[0] = '\0';
	if (uvmp_pager_create(&config, &pager, pager_error, sizeof(pager_error)) != -ENOMEM ||
	    pager_error[0] == '\0')
		return 1;
	return mappings() > before + 1u;
}

static void test_limits(void **state)
{
	(void)state;
	in_child(forks_without_descriptors, 0);
	in_child(creates_without_descriptors, 0);
	in_child(creates_without_address_space, 0);
}

/* The least growth of the number of mappings: malloc and the sanitizer map in bursts, a leak adds to each interval. */
static void note_growth(size_t *least, size_t *before)
{
	size_t now = mappings(), growth = now > *before ? now - *before : 0;

	*least = growth < *least ? growth : *least;
	*before = now;
}

static void test_200_pagers_leave_nothing_behind(void **state)
{
	static const char *const store[] = {"mem", "zstd", "file:/tmp"};
	size_t files = 0, threads = 0, maps = 0, growth = SIZE_MAX;

	(void)state;
	for (size_t i = 0; i < 220; i++) {
		struct uvmp_pager_config config;
		struct uvmp_pager *pager;
		uint64_t *memory;

		if (i == 20) {
			files = entries("/proc/self/fd");
			threads = entries("/proc/self/task");
			maps = mappings();
		}
		if (i > 20 && i % 20u == 0)
			note_growth(&growth, &maps);
		uvmp_pager_config_init(&config);
		config.budget_bytes = 8 * MIB;
		config.store = store[i % 3u];
		config.batch_threads = 1u + (uint32_t)i % 3u;
		assert_int_equal(uvmp_pager_create(&config, &pager, NULL, 0), 0);
		memory = uvmp_pager_alloc(pager, 10 * MIB);
		write_pages(memory, 10 * MIB, i);
		assert_true(are_pages(memory, 10 * MIB, i));
		uvmp_pager_destroy(pager);
	}
	assert_int_equal(entries("/proc/self/fd"), files);
	assert_int_equal(entries("/proc/self/task"), threads);
	note_growth(&growth, &maps);
	assert_true(growth < 2u); /* a mapping left by every tenth pager is 2 of each twenty */
}

/* -- the end of memory that is in use -- */

static void *wait_in_a_fault(void *word)
{
	if (sigsetjmp(escape, 1) != 0)
		return (void *)(uintptr_t)1;
	atomic_store(&is_about_to, true);
	return (void *)(uintptr_t)(*(volatile uint64_t *)word == word_of(0, 0) ? 2 : 3);
}

/* It reads what was there, or gets SIGSEGV; it neither hangs nor reads zeros. */
static int destroys_while_a_thread_waits(void)
{
	struct sigaction action = {.sa_handler = jump_out};
	struct flaky_store *flaky;
	struct uvmp_pager *pager = open_flaky(8 * MIB, &flaky);
	uint64_t *memory = uvmp_pager_alloc(pager, 16 * MIB);
	pthread_t thread;
	void *result;

	sigaction(SIGSEGV, &action, NULL);
	write_pages(memory, 16 * MIB, 0);
	if (uvmp_pager_prefetch(pager, memory, 16 * MIB, false) != 0)
		return 1;
	atomic_store(&flaky->delay_us, 50000);
	pthread_create(&thread, NULL, wait_in_a_fault, memory);
	while (!atomic_load(&is_about_to))
		;
	usleep(10000);
	uvmp_pager_destroy(pager);
	pthread_join(thread, &result);
	return result == (void *)(uintptr_t)3;
}

static void test_destroy_while_a_thread_waits(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		in_child(destroys_while_a_thread_waits, 0);
}

/* -- a store that fills up -- */

static sigjmp_buf full;

static void on_full(int number)
{
	(void)number;
	siglongjmp(full, 1);
}

static void test_a_full_store_and_room_again(void **state)
{
	struct sigaction action = {.sa_handler = on_full}, before;
	struct flaky_store *flaky;
	struct uvmp_pager *pager = open_flaky(8 * MIB, &flaky);
	uint64_t *first = uvmp_pager_alloc(pager, 16 * MIB), *second = uvmp_pager_alloc(pager, 32 * MIB);
	volatile bool was_full = false;

	(void)state;
	assert_true(flaky_store_limit(flaky, 64 * MIB / PAGE, 20 * MIB / PAGE));
	write_pages(first, 16 * MIB, 1);
	sigaction(SIGBUS, &action, &before);
	if (sigsetjmp(full, 1) == 0)
		write_pages(second, 32 * MIB, 2);
	else
		was_full = true;
	sigaction(SIGBUS, &before, NULL);
	assert_true(was_full);
	assert_int_equal(stats_of(pager).store_error, -ENOSPC);
	assert_int_equal(uvmp_pager_free(pager, second), 0);
	assert_true(are_pages(first, 16 * MIB, 1));
	second = uvmp_pager_alloc(pager, 4 * MIB); /* all that the store has room for */
	write_pages(second, 4 * MIB, 3);
	assert_true(are_pages(first, 16 * MIB, 1));
	assert_true(are_pages(second, 4 * MIB, 3));
	uvmp_pager_destroy(pager);
}

/* A thread that cannot receive the signal retries, with pauses, and continues when the store works. */
static void *touch_unsignalled(void *word)
{
	sigset_t every;

	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, NULL);
	return (void *)(uintptr_t) * (volatile uint64_t *)word;
}

static void test_a_cancel_that_cannot_be_delivered(void **state)
{
	struct flaky_store *flaky;
	struct uvmp_pager *pager = open_flaky(8 * MIB, &flaky);
	uint64_t *memory = uvmp_pager_alloc(pager, BLOCK), before;
	sigset_t every, mask;
	pthread_t thread;
	void *word;

	(void)state;
	memory[0] = 77;
	assert_int_equal(uvmp_pager_prefetch(pager, memory, BLOCK, false), 0);
	before = stats_of(pager).faults;
	atomic_store(&flaky->reads_fail, 1000);
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &mask); /* the process cannot receive it either */
	assert_int_equal(pthread_create(&thread, NULL, touch_unsignalled, memory), 0);
	while (stats_of(pager).faults - before < 1010)
		usleep(1000);
	before = stats_of(pager).faults;
	usleep(500000);
	assert_in_range(stats_of(pager).faults - before, 1, 200);
	atomic_store(&flaky->reads_fail, 0);
	pthread_join(thread, &word);
	assert_int_equal((uintptr_t)word, 77);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	uvmp_pager_destroy(pager);
}

/* Threads write to pages that come without protection, while the rest of the copy fails. */
static void *write_what_comes(void *memory)
{
	uint64_t *word = memory;

	for (uint64_t round = 1; !atomic_load(&work.stops); round++) {
		for (size_t i = 0; i < 4 * MIB / PAGE; i++)
			word[i * 512u + 7u] = word_of(i, round);
		for (size_t i = 0; i < 4 * MIB / PAGE; i++) {
			if (word[i * 512u + 7u] != word_of(i, round))
				atomic_fetch_add(&work.bad, 1);
		}
	}
	return NULL;
}

static void test_copies_that_fail_half_way_lose_nothing(void **state)
{
	struct sigaction action = {.sa_handler = count_signal}, before;
	struct flaky_store *flaky;
	struct uvmp_pager *pager = open_flaky(8 * MIB, &flaky);
	uint8_t *memory = uvmp_pager_alloc(pager, 32 * MIB);
	pthread_t thread[4];

	(void)state;
	sigaction(SIGBUS, &action, &before);
	atomic_store(&work.stops, false);
	atomic_store(&work.bad, 0);
	for (size_t i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, write_what_comes, memory + i * 8u * MIB);
	for (size_t i = 0; i < 200; i++) {
		atomic_store(&flaky->reads_fail, i % 4u == 0 ? 0 : 200);
		atomic_store(&flaky->writes_fail, i % 3u == 0 ? 0 : 200);
		(void)uvmp_pager_prefetch(pager, memory + i % 8u * BLOCK, BLOCK, true);
		usleep(2000);
	}
	atomic_store(&flaky->reads_fail, 0);
	atomic_store(&flaky->writes_fail, 0);
	atomic_store(&work.stops, true);
	for (size_t i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	sigaction(SIGBUS, &before, NULL);
	assert_int_equal(atomic_load(&work.bad), 0);
	assert_true(atomic_load(&flaky->failed) != 0);
	assert_true(stats_of(pager).resident_bytes <= 8 * MIB);
	uvmp_pager_destroy(pager);
}

/* -- what programs do behind the pager's back -- */

/* Pages that were dropped, and are not touched before their eviction. */
static void test_dropped_pages_leave(void **state)
{
	static const uint32_t page_bytes[] = {4096, 65536};

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct uvmp_pager_config config;
		struct uvmp_pager *pager;
		uint64_t *memory;

		uvmp_pager_config_init(&config);
		config.budget_bytes = 8 * MIB;
		config.page_bytes = page_bytes[k];
		assert_int_equal(uvmp_pager_create(&config, &pager, NULL, 0), 0);
		memory = uvmp_pager_alloc(pager, 32 * MIB);
		write_pages(memory, 8 * MIB, 1);
		assert_int_equal(madvise(memory + 512, 5 * PAGE, MADV_DONTNEED), 0);
		assert_int_equal(memory[3 * 512 + 3], 0);
		write_pages(memory + 8 * MIB / 8u, 24 * MIB, 2);
		for (size_t i = 0; i < 20; i++)
			assert_int_equal(memory[i * 512u + i], i >= 1 && i < 6 ? 0 : word_of(i, 1));
		assert_true(are_pages(memory + 8 * MIB / 8u, 24 * MIB, 2));
		assert_int_equal(uvmp_pager_clear(pager, memory, 64 * MIB), -EINVAL);
		assert_int_equal(uvmp_pager_clear(pager, memory, SIZE_MAX), -EINVAL);
		uvmp_pager_destroy(pager);
	}
}

/* Those that the store has are zero, too: they leave as what they are, and not as what they were. */
static void test_dropped_clean_pages_leave_as_zeros(void **state)
{
	static const uint32_t page_bytes[] = {4096, 65536};

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct uvmp_pager_config config;
		struct uvmp_pager *pager;
		uint64_t *memory, out;

		uvmp_pager_config_init(&config);
		config.budget_bytes = 8 * MIB;
		config.page_bytes = page_bytes[k];
		assert_int_equal(uvmp_pager_create(&config, &pager, NULL, 0), 0);
		memory = uvmp_pager_alloc(pager, BLOCK);
		write_pages(memory, BLOCK, 1);
		assert_int_equal(uvmp_pager_prefetch(pager, memory, BLOCK, false), 0);
		assert_int_equal(uvmp_pager_prefetch(pager, memory, BLOCK, true), 0);
		out = stats_of(pager).bytes_out;
		assert_int_equal(madvise(memory + 512, 35 * PAGE, MADV_DONTNEED), 0);
		assert_int_equal(uvmp_pager_prefetch(pager, memory, BLOCK, false), 0);
		assert_true(stats_of(pager).bytes_out - out <= 3 * 65536); /* and no others */
		for (size_t i = 0; i < BLOCK / PAGE; i++)
			assert_int_equal(memory[i * 512u + i % 512u], i >= 1 && i < 36 ? 0 : word_of(i, 1));
		uvmp_pager_destroy(pager);
	}
}

/* Also where the store is what is mapped. */
static void test_cleared_pages_leave(void **state)
{
	static const char *const store[] = {"mem", "zstd", "file:/tmp", "map"};

	(void)state;
	for (size_t k = 0; k < 4; k++) {
		struct uvmp_pager *pager = open_with(8 * MIB, "prefetch=none", store[k]);
		uint64_t *memory = uvmp_pager_alloc(pager, 32 * MIB);

		write_pages(memory, 8 * MIB, 1);
		assert_int_equal(uvmp_pager_clear(pager, memory + 512, 7 * PAGE), 0);
		assert_int_equal(uvmp_pager_advise(pager, memory + 16 * 512, 8 * PAGE, UVMP_PAGER_DISCARD),
		                 0);
		write_pages(memory + 8 * MIB / 8u, 24 * MIB, 2);
		for (size_t i = 0; i < 16; i++)
			assert_int_equal(memory[i * 512u + i], i >= 1 && i < 8 ? 0 : word_of(i, 1));
		for (size_t i = 16; i < 24; i++)
			assert_true(memory[i * 512u + i] == 0 || memory[i * 512u + i] == word_of(i, 1));
		assert_true(are_pages(memory + 8 * MIB / 8u, 24 * MIB, 2));
		uvmp_pager_destroy(pager);
	}
}

/* Advice splits memory; untouched pages still arrive. */
static void test_much_advice_leaves_room(void **state)
{
	struct uvmp_pager_config config;
	struct uvmp_pager *pager;
	uint64_t *memory;
	int status = 0, cuts = 0;

	(void)state;
	uvmp_pager_config_init(&config);
	config.budget_bytes = 8 * MIB;
	config.managed_bytes = 64 * MIB;
	config.policy = "prefetch=none evict=lru4k";
	assert_int_equal(uvmp_pager_create(&config, &pager, NULL, 0), 0);
	memory = uvmp_pager_alloc(pager, 64 * MIB);
	for (size_t i = 0; i < 32 * MIB / PAGE && status == 0; i += 3, cuts++) {
		status = uvmp_pager_advise(pager, memory + i * 512u, PAGE, UVMP_PAGER_PREFER_RESIDENT);
		memory[i * 512u] = 1;
	}
	assert_int_equal(status, -ENOMEM);
	assert_true(cuts > 1000);
	write_pages(memory, 64 * MIB, 1);
	assert_true(are_pages(memory, 64 * MIB, 1));
	uvmp_pager_destroy(pager);
}

/* With roots of 2 MiB, each block that advice halves splits a root. All halves fit in memory together. */
static void test_each_block_that_advice_halves_has_a_split(void **state)
{
	struct uvmp_pager_config config;
	struct uvmp_pager *pager;
	uint64_t *memory;

	(void)state;
	uvmp_pager_config_init(&config);
	config.budget_bytes = 64 * BLOCK;
	config.managed_bytes = 64 * BLOCK;
	config.policy = "evict=lru";
	pager = open_config(&config);
	memory = uvmp_pager_alloc(pager, 32 * BLOCK);
	for (size_t i = 0; i < 32; i++) {
		uint64_t *block = memory + i * (BLOCK / sizeof(*memory));

		assert_int_equal(uvmp_pager_advise(pager, block, BLOCK / 2, UVMP_PAGER_PREFER_RESIDENT), 0);
	}
	write_pages(memory, 32 * BLOCK, 1);
	assert_true(are_pages(memory, 32 * BLOCK, 1));
	assert_int_equal(stats_of(pager).evictions, 0);
	uvmp_pager_destroy(pager);
}

/* -- one instruction, four VABlocks -- */

/* Eight bytes by one instruction, where the processor has one that goes from memory to memory. */
static void move_word(uint8_t *to, const uint8_t *from)
{
#ifdef __x86_64__
	__asm__ volatile("movsq" : "+D"(to), "+S"(from) : : "memory");
#else
	memmove(to, from, 8);
#endif
}

/* Between borders of VABlocks, near and far: all four must be resident at once for it to end. */
static bool spans(uint8_t *memory, size_t bytes)
{
	const size_t blocks = bytes / BLOCK;
	bool is_right = true;

	for (size_t i = 1; i < blocks; i++) {
		uint8_t *from = memory + i * BLOCK - 4u, *to = memory + (blocks + 1u - i) * BLOCK - 3u;
		const uint64_t value = word_of(i, 77);

		if (i == 1 || to == from + 1)
			continue;
		memcpy(from, &value, sizeof(value));
		move_word(to, from);
		is_right = is_right && memcmp(to, &value, sizeof(value)) == 0;
	}
	return is_right;
}

/* If the access faulted without end, the alarm would end the test. */
static void test_one_instruction_needs_four_blocks(void **state)
{
	static const char *const policy[] = {"preset=nvidia-595", "preset=uvmsmart", "preset=uvmsmart-tbn",
	                                     "prefetch=none evict=lru4k", "evict=random4k"};

	(void)state;
	for (size_t i = 0; i < sizeof(policy) / sizeof(policy[0]); i++) {
		struct uvmp_pager *pager = open_with(UVMP_PAGER_BUDGET_LEAST, policy[i], NULL);
		uint8_t *memory = uvmp_pager_alloc(pager, 32 * MIB);

		alarm(60);
		write_pages((uint64_t *)(void *)memory, 32 * MIB, i);
		for (int round = 0; round < 4; round++)
			assert_true(spans(memory, 32 * MIB));
		assert_true(stats_of(pager).resident_bytes <= UVMP_PAGER_BUDGET_LEAST);
		assert_true(stats_of(pager).evictions > 0);
		alarm(0);
		uvmp_pager_destroy(pager);
	}
}

/* -- every preset -- */

static void work_under(const char *policy, const char *store, uint32_t page_bytes, uint64_t budget)
{
	struct uvmp_pager_config config;
	struct uvmp_pager *pager;
	uint64_t *memory;

	uvmp_pager_config_init(&config);
	config.budget_bytes = budget;
	config.policy = policy;
	config.store = store;
	config.page_bytes = page_bytes;
	config.batch_threads = 2;
	if (uvmp_pager_create(&config, &pager, pager_error, sizeof(pager_error)) != 0) {
		if (page_bytes != 65536 || !strstr(pager_error, "only evict=lru"))
			fail_msg("%s: %s", policy, pager_error);
		return;
	}
	memory = uvmp_pager_alloc(pager, 4 * budget);
	for (size_t i = 0; i < 4 * budget / PAGE; i += 3) /* not all of them */
		memory[i * 512u] = word_of(i, 0);
	for (size_t i = 0; i < 4 * budget / PAGE; i += 3) {
		if (memory[i * 512u] != word_of(i, 0))
			fail_msg("%s, store %s, pages of %u: page %zu", policy, store, page_bytes, i);
	}
	assert_true(spans((uint8_t *)memory, 4 * budget));
	if (stats_of(pager).resident_bytes > budget ||
	    (stats_of(pager).bytes_out == 0 && strcmp(store, "map") != 0) || stats_of(pager).evictions == 0)
		fail_msg("%s, store %s, pages of %u: %llu bytes resident, %llu written, %llu evictions",
		         policy, store, page_bytes, (unsigned long long)stats_of(pager).resident_bytes,
		         (unsigned long long)stats_of(pager).bytes_out,
		         (unsigned long long)stats_of(pager).evictions);
	uvmp_pager_destroy(pager);
}

/* Each with memory as its store, and with one other in turn. */
static void test_every_preset(void **state)
{
	static const char *const store[] = {"zstd", "file:/tmp", "map"};
	const uint64_t seed = test_seed();
	uint32_t presets = 0;

	(void)state;
	while (uvmp_policy_preset_at(presets))
		presets++;
	for (uint32_t i = 0; i < presets; i++) {
		char policy[64];

		if (!test_is_chosen(seed, i, presets))
			continue;
		snprintf(policy, sizeof(policy), "preset=%s", uvmp_policy_preset_at(i)->name);
		work_under(policy, "mem", 4096, UVMP_PAGER_BUDGET_LEAST);
		work_under(policy, "mem", 65536, UVMP_PAGER_BUDGET_LEAST);
		work_under(policy, store[i % 3u], 4096, UVMP_PAGER_BUDGET_LEAST);
		work_under(policy, store[i % 3u], 65536, UVMP_PAGER_BUDGET_LEAST);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_64_threads_on_a_page_and_on_a_block),
	                                   cmocka_unit_test(test_threads_that_end_in_a_fault),
	                                   cmocka_unit_test(test_a_thread_that_ended_before_its_page_failed),
	                                   cmocka_unit_test(test_a_cancel_waits_for_the_pager),
	                                   cmocka_unit_test(test_signals_wait_for_the_pager),
	                                   cmocka_unit_test(test_storms_of_signals),
	                                   cmocka_unit_test(test_fork_in_mid_service),
	                                   cmocka_unit_test(test_fork_while_the_store_fails),
	                                   cmocka_unit_test(test_low_descriptors_are_the_programs),
	                                   cmocka_unit_test(test_without_descriptors_the_process_ends),
	                                   cmocka_unit_test(test_fork_handlers_see_the_memory),
	                                   cmocka_unit_test(test_exec_and_exit_in_mid_service),
	                                   cmocka_unit_test(test_copies_between_two_pagers_both_ways),
	                                   cmocka_unit_test(test_a_system_call_on_the_memory_of_both),
	                                   cmocka_unit_test(test_limits),
	                                   cmocka_unit_test(test_200_pagers_leave_nothing_behind),
	                                   cmocka_unit_test(test_destroy_while_a_thread_waits),
	                                   cmocka_unit_test(test_a_full_store_and_room_again),
	                                   cmocka_unit_test(test_copies_that_fail_half_way_lose_nothing),
	                                   cmocka_unit_test(test_a_cancel_that_cannot_be_delivered),
	                                   cmocka_unit_test(test_dropped_pages_leave),
	                                   cmocka_unit_test(test_dropped_clean_pages_leave_as_zeros),
	                                   cmocka_unit_test(test_cleared_pages_leave),
	                                   cmocka_unit_test(test_much_advice_leaves_room),
	                                   cmocka_unit_test(test_each_block_that_advice_halves_has_a_split),
	                                   cmocka_unit_test(test_one_instruction_needs_four_blocks),
	                                   cmocka_unit_test(test_every_preset)};
	struct uvmp_pager_config config;
	struct uvmp_pager *pager;
	int status;

	pthread_atfork(on_prepare, NULL, on_child); /* before the first pager */
	uvmp_pager_config_init(&config);
	config.budget_bytes = 8 * MIB;
	status = uvmp_pager_create(&config, &pager, pager_error, sizeof(pager_error));
	if (status == -EPERM || status == -ENOSYS || status == -ENOTSUP) {
		printf("skipped: %s\n[  PASSED  ] 0 test(s).\n", pager_error);
		return 0;
	}
	uvmp_pager_destroy(pager);
	cmocka_set_test_filter(getenv("UVMP_TEST_FILTER")); /* a pattern; all without */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
