/* What a pager tells of itself. */
#include "pager_internal.h"
#include "store_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

static void raise_to(uint64_t *peak, uint64_t now)
{
	*peak = *peak < now ? now : *peak;
}

/* Both as they are between two rounds of faults. */
static void note_peaks(struct uvmp_pager *p)
{
	raise_to(&p->stats.peak_resident_bytes, p->stats.resident_bytes);
	raise_to(&p->stats.peak_store_bytes, p->store->size(p->store));
}

static void count(struct uvmp_pager *p, struct uvmp_pager_stats *stats)
{
	note_peaks(p);
	*stats = p->stats;
	stats->managed_bytes = p->areas.bytes;
	stats->managed_most_bytes = p->areas.most;
	stats->store_bytes = p->store->size(p->store);
	stats->trace_error = trace_file_error(p->trace);
}

void pager_log(struct uvmp_pager *p, const char *line)
{
	sigset_t before;
	int result;

	hold_too_large(&before);
	result = fprintf(p->log, "%s\n", line);
	release_too_large(&before, result < 0 && errno == EFBIG);
}

void pager_log_flush(struct uvmp_pager *p)
{
	sigset_t before;
	int result;

	if (!p->log)
		return;
	hold_too_large(&before);
	result = fflush(p->log);
	release_too_large(&before, result != 0 && errno == EFBIG);
}

void pager_show(struct uvmp_pager *p)
{
	if (p->shown)
		count(p, p->shown);
}

/* A process ends with this: it does not wait for a store that does not answer. */
static int flush(struct uvmp_pager *p)
{
	struct timespec until;
	int error;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	if (pthread_mutex_timedlock(&p->lock, &until) != 0)
		return -EBUSY;
	pager_log_flush(p);
	trace_file_flush(p->trace);
	error = trace_file_error(p->trace);
	pthread_mutex_unlock(&p->lock);
	return error;
}

int uvmp_pager_flush(struct uvmp_pager *p)
{
	struct pager_caller caller;
	int error;

	if (!p)
		return -EINVAL;
	pager_hold_off(&caller);
	error = flush(p);
	pager_hold_off_no_more(&caller);
	return error;
}

void uvmp_pager_stats(struct uvmp_pager *p, struct uvmp_pager_stats *stats)
{
	struct uvmp_pager_stats now;

	pager_enter(p);
	count(p, &now);
	pager_leave(p);
	*stats = now; /* may be managed memory */
}

void uvmp_pager_show_stats(struct uvmp_pager *p, struct uvmp_pager_stats *shown)
{
	pager_enter(p);
	p->shown = shown;
	pager_leave(p);
}

struct feature {
	bool is_there;
	const char *with, *without; /* NULL: nothing to be said */
};

void uvmp_pager_features(struct uvmp_pager *p, char *text, size_t bytes)
{
	const struct feature feature[] = {
	        {p->uffd.serves_kernel, "System calls may be given managed memory that is not resident.",
	         "System calls fail with EFAULT on managed memory that is not resident: this process may not "
	         "handle faults of the kernel. (Under uvmp-run the C library's calls copy through other "
	         "memory.)"},
	        {p->uffd.is_mapped,
	         "Managed memory is mapped from a memory file: nothing is copied or written, and no memory "
	         "saved.",
	         NULL},
	        {!p->uffd.is_mapped, "Pages that were not changed leave without a write.", NULL},
	        {p->uffd.has_tid, "Faults tell their thread.",
	         "Faults do not tell their thread: traces have one, errors go to the process."},
	        {p->uffd.has_events,
	         "Managed memory that is unmapped or moved behind the pager's back is let go.",
	         "This kernel does not tell what is unmapped or moved behind the pager's back: the program "
	         "must not do "
	         "that."}};
	size_t used = 0;

	if (bytes != 0)
		text[0] = '\0';
	for (size_t i = 0; i < sizeof(feature) / sizeof(feature[0]) && used < bytes; i++) {
		const char *line = feature[i].is_there ? feature[i].with : feature[i].without;

		if (line)
			used += (size_t)snprintf(text + used, bytes - used, "%s\n", line);
	}
}

int uvmp_pager_next_descriptor(const struct uvmp_pager *p, int from)
{
	const int ours[] = {p->uffd.fd, p->stop[0], p->stop[1], p->store->fd > 0 ? p->store->fd : -1,
	                    trace_file_descriptor(p->trace)};
	int next = -1;

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		if (ours[i] >= from && (next < 0 || ours[i] < next))
			next = ours[i];
	}
	return next;
}

bool uvmp_pager_serves_kernel(const struct uvmp_pager *p)
{
	return p->uffd.serves_kernel;
}

void uvmp_pager_policy(struct uvmp_pager *p, char *text, size_t bytes)
{
	if (uvmp_policy_print(&p->policy, text, bytes) != UVMP_OK && bytes != 0)
		text[0] = '\0';
}
