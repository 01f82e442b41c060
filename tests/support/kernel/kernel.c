#include "kernel.h"

#include <limits.h>

unsigned int kernel_allocations_left = UINT_MAX;

void *kvcalloc(size_t count, size_t bytes, int flags)
{
	(void)flags;
	return __atomic_fetch_sub(&kernel_allocations_left, 1, __ATOMIC_RELAXED) == 0 ? NULL
	                                                                              : calloc(count, bytes);
}

/* -- waiting -- */

_Thread_local struct task_struct *current;
pthread_mutex_t kernel_sleepers = PTHREAD_MUTEX_INITIALIZER;

void init_waitqueue_head(wait_queue_head_t *wait)
{
	pthread_cond_init(&wait->wakes, NULL);
}

void wake_up(wait_queue_head_t *wait)
{
	pthread_mutex_lock(&kernel_sleepers);
	pthread_cond_broadcast(&wait->wakes);
	pthread_mutex_unlock(&kernel_sleepers);
}

void kernel_sleep(wait_queue_head_t *wait)
{
	if (current != NULL)
		current->waits = wait;
	pthread_cond_wait(&wait->wakes, &kernel_sleepers);
	if (current != NULL)
		current->waits = NULL;
}

void init_completion(struct completion *completion)
{
	init_waitqueue_head(&completion->wait);
	completion->is_done = false;
}

void complete(struct completion *completion)
{
	pthread_mutex_lock(&kernel_sleepers);
	completion->is_done = true;
	pthread_cond_broadcast(&completion->wait.wakes);
	pthread_mutex_unlock(&kernel_sleepers);
}

int wait_for_completion_killable(struct completion *completion)
{
	int status = 0;

	pthread_mutex_lock(&kernel_sleepers);
	while (!completion->is_done && status == 0) {
		if (current != NULL && current->is_ending)
			status = -EINTR;
		else
			kernel_sleep(&completion->wait);
	}
	pthread_mutex_unlock(&kernel_sleepers);
	return status;
}

/* -- threads -- */

static void *start(void *argument)
{
	struct task_struct *task = argument;

	current = task;
	return (void *)(intptr_t)task->run(task->argument);
}

struct task_struct *kthread_run(int (*run)(void *argument), void *argument, const char *name, ...)
{
	struct task_struct *task = kvcalloc(1, sizeof(*task), GFP_KERNEL);

	(void)name;
	if (task == NULL)
		return NULL;
	task->run = run;
	task->argument = argument;
	if (pthread_create(&task->thread, NULL, start, task) == 0)
		return task;
	free(task);
	return NULL;
}

bool kthread_should_stop(void)
{
	return READ_ONCE(current->is_ending);
}

void kernel_kill(struct task_struct *task)
{
	pthread_mutex_lock(&kernel_sleepers);
	WRITE_ONCE(task->is_ending, true);
	if (task->waits != NULL)
		pthread_cond_broadcast(&task->waits->wakes);
	pthread_mutex_unlock(&kernel_sleepers);
}

int kthread_stop(struct task_struct *task)
{
	void *status;

	kernel_kill(task);
	pthread_join(task->thread, &status);
	free(task);
	return (int)(intptr_t)status;
}

/* -- interrupts -- */

static pthread_mutex_t controller = PTHREAD_MUTEX_INITIALIZER;
static struct irq_work *queued;

void init_irq_work(struct irq_work *irq, void (*func)(struct irq_work *irq))
{
	*irq = (struct irq_work){.func = func};
}

void irq_work_queue(struct irq_work *irq)
{
	pthread_mutex_lock(&controller);
	if (!irq->is_queued) {
		irq->is_queued = true;
		irq->next = queued;
		queued = irq;
	}
	pthread_mutex_unlock(&controller);
}

/* It may be queued again as soon as it runs. */
unsigned int kernel_interrupt(void)
{
	unsigned int count = 0;

	pthread_mutex_lock(&controller);
	while (queued != NULL) {
		struct irq_work *irq = queued;

		queued = irq->next;
		irq->is_queued = false;
		irq->is_running = true;
		pthread_mutex_unlock(&controller);
		irq->func(irq);
		pthread_mutex_lock(&controller);
		irq->is_running = false;
		count++;
	}
	pthread_mutex_unlock(&controller);
	return count;
}

void irq_work_sync(struct irq_work *irq)
{
	bool is_busy = true;

	while (is_busy) {
		kernel_interrupt();
		pthread_mutex_lock(&controller);
		is_busy = irq->is_queued || irq->is_running;
		pthread_mutex_unlock(&controller);
	}
}
