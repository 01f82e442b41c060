/* Statistics and decision log. */
#include "pager_internal.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>

#include "store_internal.h"

#define READ_TRIES 200u /* of a copy that is consistent; a writer needs less than a microsecond */

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

/* Of any members: two of 32 bits share one. */
typedef uint64_t __attribute__((may_alias)) stats_word;
_Static_assert(sizeof(struct uvmp_pager_stats) % sizeof(stats_word) == 0, "whole words");

/* A sequence lock: readers in other processes repeat a copy during which the sequence was odd or has changed. Who sees a
 * word of a new copy also sees the odd sequence before it, since each word is stored with release and loaded with acquire.
 * A program of an older version has no sequence in its structure. */
static void publish(struct uvmp_pager_stats *shown, size_t bytes, const struct uvmp_pager_stats *now)
{
	const size_t before = offsetof(struct uvmp_pager_stats, sequence);
	stats_word *to = (stats_word *)shown;
	const stats_word *from = (const stats_word *)now;

	if (bytes < sizeof(*shown)) {
		sized_copy(shown, bytes, now, before);
		return;
	}
	__atomic_store_n(&shown->sequence, now->sequence - 1u, __ATOMIC_RELAXED);
	for (size_t i = 0; i < before / sizeof(*to); i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELEASE);
	__atomic_store_n(&shown->sequence, now->sequence, __ATOMIC_RELEASE);
	memset((char *)shown + sizeof(*shown), 0, bytes - sizeof(*shown));
}

void statistics_publish(struct uvmp_pager *p)
{
	struct uvmp_pager_stats now;

	if (!p->shown)
		return;
	p->stats.sequence += 2u;
	statistics_count(p, &now);
	publish(p->shown, p->shown_bytes, &now);
}

bool uvmp_pager_read_stats_size(const struct uvmp_pager_stats *shown, struct uvmp_pager_stats *stats,
				size_t size)
{
	const stats_word *from = (const stats_word *)shown;
	struct uvmp_pager_stats now;
	stats_word *to = (stats_word *)&now;

	for (unsigned tries = 0; tries < READ_TRIES; tries++) {
		uint64_t sequence = __atomic_load_n(&shown->sequence, __ATOMIC_ACQUIRE);

		for (size_t i = 0; i < sizeof(now) / sizeof(*to); i++)
			to[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
		sized_copy(stats, size, &now, sizeof(now));
		if (sequence % 2u == 0 && __atomic_load_n(&shown->sequence, __ATOMIC_RELAXED) == sequence)
			return true;
		sched_yield();
	}
	return false;
}
