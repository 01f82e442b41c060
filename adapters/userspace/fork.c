/* All pagers of the process, and forks: the child inherits memory and state, and pages by itself from a copy
 * of the store. */
#include "pager_internal.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct uvmp_pager *all;

void pager_list_add(struct uvmp_pager *p)
{
	pthread_mutex_lock(&all_lock);
	p->next = all;
	all = p;
	pthread_mutex_unlock(&all_lock);
}

void pager_list_remove(struct uvmp_pager *p)
{
	struct uvmp_pager **at = &all;

	pthread_mutex_lock(&all_lock);
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	pthread_mutex_unlock(&all_lock);
}

static struct pager_caller at_fork; /* of the thread that holds all_lock */

static void before_fork(void)
{
	struct pager_caller caller;

	pager_block_signals(&caller);
	pthread_mutex_lock(&all_lock);
	at_fork = caller;
	for (struct uvmp_pager *p = all; p; p = p->next) {
		pthread_mutex_lock(&p->lock);
		messages_drain(p); /* the child gets no messages */
		moved_settle(p);
		pager_log_flush(p); /* so that the child does not write inherited lines again */
		if (p->store->fork)
			(void)p->store->fork(p->store, UVMP_STORE_BEFORE_FORK);
	}
}

static void in_parent(void)
{
	struct pager_caller caller = at_fork;

	for (struct uvmp_pager *p = all; p; p = p->next) {
		if (p->store->fork)
			(void)p->store->fork(p->store, UVMP_STORE_PARENT);
		pager_release(p);
	}
	pthread_mutex_unlock(&all_lock);
	pager_restore_signals(&caller);
}

/* Mapped memory would be the parent's: a mapping of its copy replaces it. Protection is not inherited. */
static bool begin_area(struct uvmp_pager *p, struct area *area)
{
	uint64_t first = area->base, bytes = 0;

	for (; area_next_own(area, first, &first, &bytes); first += bytes) {
		if (p->store->is_mapped && !mapping_map(p, area, first, bytes))
			return false;
		if (uffd_register(&p->uffd, first, bytes) != 0)
			return false;
	}
	for (uint64_t i = 0; i < area->bytes / BLOCK_BYTES; i++)
		area->block[i].dirty = area->block[i].resident;
	return true;
}

/* The child has the memory and the pager's state, but neither thread nor registration. The descriptor is the
 * parent's: calls to it would change the parent's memory. */
static bool begin_again(struct uvmp_pager *p)
{
	bool is_user_mode = !p->uffd.serves_kernel;

	p->log = NULL; /* the parent's, as is the trace */
	trace_file_leave(p->trace);
	p->trace = NULL;
	close(p->uffd.fd);
	close(p->stop[0]);
	close(p->stop[1]);
	p->uffd.fd = -1;
	p->is_running = false;
	p->shown = NULL;
	p->stats = (struct uvmp_pager_stats){.budget_bytes = p->stats.budget_bytes,
					     .resident_bytes = p->stats.resident_bytes,
					     .peak_managed_bytes = p->areas.bytes};
	p->thrash = (struct thrash){.begin_ns = 0};
	p->pendings = p->moves = 0;
	stalled_clear(&p->stalled);
	if (p->store->fork && p->store->fork(p->store, UVMP_STORE_CHILD) != 0)
		return false;
	if (uffd_open(&p->uffd, is_user_mode, p->store->is_mapped) != 0)
		return false;
	for (size_t i = 0; i < p->areas.count; i++) {
		if (!begin_area(p, p->areas.area[i]))
			return false;
	}
	return pager_start(p, p->copiers.wanted) == 0;
}

/* Missing pages must not read as zeros. */
static void close_off(const struct area *area)
{
	uint64_t first = area->base, bytes = 0;

	for (; area_next_own(area, first, &first, &bytes); first += bytes)
		mprotect((void *)(uintptr_t)first, bytes, PROT_NONE);
}

static void in_child(void)
{
	for (struct uvmp_pager *p = all; p; p = p->next) {
		pthread_mutex_init(&p->lock, NULL);
		if (begin_again(p))
			continue;
		for (size_t i = 0; i < p->areas.count; i++)
			close_off(p->areas.area[i]);
	}
	pthread_mutex_init(&all_lock, NULL);
	pager_restore_signals(&at_fork);
}

/* Registered before the program's own handlers, so that these find its memory serviced, in the child too. */
__attribute__((constructor(101))) static void register_forks(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}
