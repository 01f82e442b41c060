/* Threads that perform the parts of one copy together. Free threads, the calling one included, take the
 * parts in ascending order; the call returns when all are done. The result does not depend on the
 * distribution: a failed copy has the error of its first failed part, since all earlier parts were
 * begun and are finished. */
#include "pager_internal.h"

#include <string.h>

#define PART_BYTES ((uint32_t)128 << 10) /* handing over smaller parts costs more than it saves */

/* The lock is held, and a part is left. */
static void do_part(struct copiers *c)
{
	struct uvmp_region part = {c->rest.first, c->rest.first + c->part_pages};
	int error;

	if (part.end > c->rest.end)
		part.end = c->rest.end;
	c->rest.first = part.end;
	c->busy++;
	pthread_mutex_unlock(&c->lock);
	error = c->copy(c->context, part);
	pthread_mutex_lock(&c->lock);
	c->busy--;
	if (error != 0 && (c->error == 0 || part.first < c->error_page)) {
		c->error = error;
		c->error_page = part.first;
	}
	if (error != 0)
		c->rest.first = c->rest.end;
	if (c->busy == 0 && c->rest.first == c->rest.end)
		pthread_cond_signal(&c->ended);
}

static void *help(void *context)
{
	struct copiers *c = context;

	if (c->thread_began)
		c->thread_began();
	pthread_mutex_lock(&c->lock);
	while (!c->ends) {
		if (c->rest.first != c->rest.end)
			do_part(c);
		else
			pthread_cond_wait(&c->begun, &c->lock);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

int copiers_open(struct copiers *c, uint32_t threads, uint32_t page_bytes, void (*thread_began)(void))
{
	int error = 0;

	memset(c, 0, sizeof(*c));
	c->wanted = threads;
	c->part_pages = PART_BYTES / page_bytes;
	c->thread_began = thread_began;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->begun, NULL);
	pthread_cond_init(&c->ended, NULL);
	while (c->helpers + 1u < threads && error == 0) {
		error = pager_thread(&c->helper[c->helpers], help, c);
		c->helpers += error == 0;
	}
	return error;
}

void copiers_close(struct copiers *c)
{
	if (c->wanted == 0)
		return;
	pthread_mutex_lock(&c->lock);
	c->ends = true;
	pthread_cond_broadcast(&c->begun);
	pthread_mutex_unlock(&c->lock);
	while (c->helpers != 0)
		pthread_join(c->helper[--c->helpers], NULL);
	pthread_cond_destroy(&c->begun);
	pthread_cond_destroy(&c->ended);
	pthread_mutex_destroy(&c->lock);
	c->wanted = 0;
}

int copiers_run(struct copiers *c, copy_part *copy, void *context, struct uvmp_region run)
{
	int error;

	if (c->helpers == 0 || run.end - run.first <= c->part_pages)
		return copy(context, run);
	pthread_mutex_lock(&c->lock);
	c->copy = copy;
	c->context = context;
	c->rest = run;
	c->error = 0;
	pthread_cond_broadcast(&c->begun);
	while (c->rest.first != c->rest.end)
		do_part(c);
	while (c->busy != 0)
		pthread_cond_wait(&c->ended, &c->lock);
	error = c->error;
	pthread_mutex_unlock(&c->lock);
	return error;
}
