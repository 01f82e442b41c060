/* The lock of a pager, as calls of the program take it and give it back. */
#include "pager_internal.h"

#include <pthread.h>
#include <signal.h>

/* Who holds a lock of ours must come to its end: a handler of a signal may touch managed memory, which nobody
 * would service, and a thread that is cancelled leaves the lock held for good. */
void pager_hold_off(struct pager_caller *caller)
{
	sigset_t every;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &caller->cancel_state);
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &caller->mask);
}

void pager_hold_off_no_more(const struct pager_caller *caller)
{
	int ours;

	pthread_sigmask(SIG_SETMASK, &caller->mask, NULL);
	pthread_setcancelstate(caller->cancel_state, &ours);
}

/* What is known of managed memory is true from here on. */
void pager_enter(struct uvmp_pager *p)
{
	struct pager_caller caller;

	pager_hold_off(&caller);
	pthread_mutex_lock(&p->lock);
	p->caller = caller;
	away_settle(p);
}

/* Faults that a call has read, for a message that came with them, are nobody else's any more. */
void pager_release(struct uvmp_pager *p)
{
	if (p->heards != 0 || p->departures != 0)
		serve_all(p);
	pager_show(p);
	pthread_mutex_unlock(&p->lock);
}

void pager_leave(struct uvmp_pager *p)
{
	struct pager_caller caller = p->caller;

	pager_release(p);
	pager_hold_off_no_more(&caller);
}
