/* Clock and threads of the pager, and protection of a thread that holds a lock. */
#include "pager_internal.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

uint64_t pager_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int pager_thread(pthread_t *thread, void *(*begin)(void *), void *context)
{
	sigset_t every, before;
	int error;

	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	error = pthread_create(thread, NULL, begin, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

/* A thread must release its lock itself. A signal handler may touch managed memory, whose fault would not be
 * serviced meanwhile, and a cancelled thread would leave the lock held without end. */
void pager_block_signals(struct pager_caller *caller)
{
	sigset_t every;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &caller->cancel_state);
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &caller->mask);
}

void pager_restore_signals(const struct pager_caller *caller)
{
	int find_block;

	pthread_sigmask(SIG_SETMASK, &caller->mask, NULL);
	pthread_setcancelstate(caller->cancel_state, &find_block);
}
