/* The program's calls about a pager: statistics, features, policy, descriptors. */
#include "metrics.h"
#include "pager_internal.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

/* Called as a process ends, so it does not wait for a store that does not answer. */
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
	pager_block_signals(&caller);
	error = flush(p);
	pager_restore_signals(&caller);
	return error;
}

void uvmp_pager_stats_size(struct uvmp_pager *p, struct uvmp_pager_stats *stats, size_t size)
{
	struct uvmp_pager_stats now;

	pager_enter(p);
	statistics_count(p, &now);
	pager_leave(p);
	sized_copy(stats, size, &now, sizeof(now)); /* may be managed memory */
}

void uvmp_pager_show_stats_size(struct uvmp_pager *p, struct uvmp_pager_stats *shown, size_t size)
{
	pager_enter(p);
	p->shown = shown;
	p->shown_bytes = size;
	pager_leave(p);
}

struct feature {
	bool is_there;
	const char *with, *without; /* NULL: no line */
};

void uvmp_pager_features(struct uvmp_pager *p, char *text, size_t bytes)
{
	const struct feature feature[] = {
		{p->uffd.serves_kernel, "System calls may use managed memory that is not resident.",
		 "System calls fail with EFAULT on managed memory that is not resident: this process may not "
		 "handle faults of the kernel. (Under uvmp-run the C library's calls use bounce buffers.)"},
		{p->uffd.is_mapped,
		 "Managed memory is mapped from a memory file: nothing is copied or written, and no memory "
		 "saved.",
		 NULL},
		{!p->uffd.is_mapped, "Clean pages are evicted without a write.", NULL},
		{p->uffd.has_tid, "Faults have thread ids.",
		 "Faults have no thread ids: traces have one thread, errors go to the process."},
		{p->uffd.has_events, "Managed memory that a system call unmaps or moves is released.",
		 "This kernel does not report memory that a system call unmaps or moves: the program must "
		 "not "
		 "do that."}};
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
	const int find_block[] = {p->uffd.fd, p->stop[0], p->stop[1], p->store->fd > 0 ? p->store->fd : -1,
				  trace_file_descriptor(p->trace)};
	int next = -1;

	for (size_t i = 0; i < sizeof(find_block) / sizeof(find_block[0]); i++) {
		if (find_block[i] >= from && (next < 0 || find_block[i] < next))
			next = find_block[i];
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

int uvmp_pager_write_metrics(struct uvmp_pager *p, FILE *out)
{
	struct metrics_pager one = {.labels = ""};

	if (!p || !out)
		return -EINVAL;
	uvmp_pager_stats(p, &one.stats);
	errno = 0;
	metrics_pagers(out, &one, 1);
	metrics_end(out);
	if (fflush(out) == 0 && !ferror(out))
		return 0;
	return errno != 0 ? -errno : -EIO;
}
