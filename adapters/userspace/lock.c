/* The lock of a pager, as calls of the program take and release it. */
#include "pager_internal.h"

#include <pthread.h>

/* From here on the state of managed memory is up to date. */
void pager_enter(struct uvmp_pager *p)
{
	struct pager_caller caller;

	pager_block_signals(&caller);
	pthread_mutex_lock(&p->lock);
	p->caller = caller;
	moved_settle(p);
}

/* A call may have read faults together with another message: no other thread will service them. */
void pager_release(struct uvmp_pager *p)
{
	if (p->pendings != 0 || p->moves != 0)
		faults_service(p);
	statistics_publish(p);
	pthread_mutex_unlock(&p->lock);
}

void pager_leave(struct uvmp_pager *p)
{
	struct pager_caller caller = p->caller;

	pager_release(p);
	pager_restore_signals(&caller);
}
