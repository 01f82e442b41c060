/* One child per running task. Its answer, and how far it is, lie in memory shared with it, so that nothing
 * needs to be sent. The parent sleeps in pselect, the only place where it lets signals in: none can be missed
 * between a look and the sleep. */
#include "parallel.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "interrupt.h"
#include "progress.h"

#define ANSWERED 42 /* exit status of a process that has written its answer: a plugin may end it with any other */
#define LOOK_NS 250000000 /* how often progress is looked at */

struct child {
	pid_t pid; /* 0: none runs here */
	size_t index;
	void *answer; /* shared */
};

struct pool {
	const struct parallel *work;
	struct child *child;
	struct progress_at *at; /* shared, one per child */
	struct progress_at *running;
	size_t next, limit; /* tasks next..limit - 1 are still to be started */
	size_t alive;
	bool was_passed_on;
	sigset_t before;
};

unsigned parallel_processors(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef CPU_COUNT
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		return (unsigned)CPU_COUNT(&set);
#endif
	return online > 0 ? (unsigned)online : 1;
}

/* -- a child's life -- */

__attribute__((noreturn)) static void live(struct pool *pool, struct child *child, pid_t parent)
{
#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* the answer would have no reader */
#endif
	if (getppid() != parent)
		_exit(1);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_SETMASK, &pool->before, NULL);
	progress_redirect(&pool->at[child - pool->child]);
	pool->work->run(pool->work->context, child->index, child->answer);
	_exit(ANSWERED);
}

static bool start(struct pool *pool, struct child *child)
{
	pid_t parent = getpid();

	memset(child->answer, 0, pool->work->answer_bytes);
	memset(&pool->at[child - pool->child], 0, sizeof(*pool->at));
	child->index = pool->next;
	fflush(stdout);
	child->pid = fork();
	if (child->pid == 0)
		live(pool, child, parent);
	if (child->pid < 0) {
		child->pid = 0;
		return false;
	}
	pool->next++;
	pool->alive++;
	return true;
}

static struct child *free_child(struct pool *pool)
{
	struct child *child = pool->child;

	while (child->pid != 0)
		child++;
	return child;
}

/* As many as may run. If not even one can, that is an error. */
static bool start_all(struct pool *pool)
{
	while (pool->next < pool->limit && pool->alive < pool->work->jobs && interrupt_caught == 0)
		if (!start(pool, free_child(pool)))
			return pool->alive > 0;
	return true;
}

static void kill_behind(struct pool *pool, size_t limit)
{
	pool->limit = limit;
	for (unsigned i = 0; i < pool->work->jobs; i++)
		if (pool->child[i].pid != 0 && pool->child[i].index >= limit)
			kill(pool->child[i].pid, SIGKILL);
}

static void end(struct pool *pool, struct child *child, int status)
{
	const char *crash = NULL;
	char text[128];

	child->pid = 0;
	pool->alive--;
	if (child->index >= pool->limit)
		return;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != ANSWERED) {
		crash = text;
		if (WIFSIGNALED(status))
			snprintf(text, sizeof(text), "its process was ended by signal %d (%s)",
				 WTERMSIG(status), strsignal(WTERMSIG(status)));
		else
			snprintf(text, sizeof(text), "its process ended with status %d, without an answer", WEXITSTATUS(status));
	}
	if (!pool->work->take(pool->work->context, child->index, child->answer, crash))
		kill_behind(pool, child->index + 1);
}

static void end_all(struct pool *pool)
{
	for (unsigned i = 0; i < pool->work->jobs; i++) {
		struct child *child = &pool->child[i];
		int status = 0;

		if (child->pid != 0 && waitpid(child->pid, &status, WNOHANG) == child->pid)
			end(pool, child, status);
	}
}

/* -- the parent's -- */

static void look(struct pool *pool)
{
	size_t count = 0;

	if (!progress_is_on())
		return;
	for (unsigned i = 0; i < pool->work->jobs; i++)
		if (pool->child[i].pid != 0)
			pool->running[count++] = pool->at[i];
	progress_show(pool->running, count);
}

static void pass_on(struct pool *pool)
{
	if (interrupt_caught == 0 || pool->was_passed_on)
		return;
	pool->was_passed_on = true;
	for (unsigned i = 0; i < pool->work->jobs; i++)
		if (pool->child[i].pid != 0)
			kill(pool->child[i].pid, interrupt_caught);
}

static void wait_for_news(const struct pool *pool)
{
	struct timespec most = {0, LOOK_NS};

	pselect(0, NULL, NULL, NULL, progress_is_on() ? &most : NULL, &pool->before);
}

static void wake(int number)
{
	(void)number;
}

static bool run_pool(struct pool *pool)
{
	struct sigaction action = {.sa_handler = wake}, old;
	bool is_good = true;
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, &pool->before);
	sigdelset(&pool->before, SIGCHLD); /* the parent of this program may have blocked it */
	sigemptyset(&action.sa_mask);
	sigaction(SIGCHLD, &action, &old);
	for (;;) {
		if (is_good && !start_all(pool)) {
			is_good = false;
			pool->limit = pool->next;
		}
		if (pool->alive == 0)
			break;
		wait_for_news(pool);
		pass_on(pool);
		end_all(pool);
		look(pool);
	}
	sigaction(SIGCHLD, &old, NULL);
	sigprocmask(SIG_SETMASK, &pool->before, NULL);
	return is_good;
}

static size_t round_up(size_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

bool parallel_run(const struct parallel *work)
{
	size_t each = round_up(work->answer_bytes), jobs = work->jobs;
	size_t bytes = jobs * each + jobs * sizeof(struct progress_at);
	struct pool pool = {.work = work, .limit = work->count};
	bool is_good = false;
	char *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return false;
	pool.child = calloc(jobs, sizeof(*pool.child));
	pool.running = calloc(jobs, sizeof(*pool.running));
	pool.at = (struct progress_at *)(void *)(shared + jobs * each);
	for (size_t i = 0; i < jobs && pool.child; i++)
		pool.child[i].answer = shared + i * each;
	if (pool.child && pool.running)
		is_good = run_pool(&pool);
	free(pool.child);
	free(pool.running);
	munmap(shared, bytes);
	return is_good;
}
