/* Statistics and decision log. */
#include "pager_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "store_internal.h"

static void raise_to(uint64_t *peak, uint64_t now)
{
	*peak = *peak < now ? now : *peak;
}

/* Both are measured between two rounds of faults. */
static void note_peaks(struct uvmp_pager *p)
{
	raise_to(&p->stats.peak_resident_bytes, p->stats.resident_bytes);
	raise_to(&p->stats.peak_store_bytes, p->store->size(p->store));
}

void statistics_count(struct uvmp_pager *p, struct uvmp_pager_stats *stats)
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

void statistics_publish(struct uvmp_pager *p)
{
	struct uvmp_pager_stats now;

	if (!p->shown)
		return;
	statistics_count(p, &now);
	sized_copy(p->shown, p->shown_bytes, &now, sizeof(now));
}
