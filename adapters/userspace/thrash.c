/* Thrashing: much of the time goes into pages that were resident before.
 *
 * A period lasts until the pager has brought a budget's worth of pages again that it had evicted, but at least
 * THRASH_PERIOD_NS. The process has thrashed in that period if threads waited for pages in at least one part in
 * THRASH_SHARE of the time. As soon as that share is lower after THRASH_PERIOD_NS, another period begins. A pass or two
 * over memory that does not fit is no thrashing: no period ends before THRASH_PASSES times the managed memory was brought
 * again.
 *
 * All figures are those of the statistics; bytes_in counts pages of the store only, all of which were evicted before. */
#include "thrash.h"

static void begin(struct thrash *thrash, const struct uvmp_pager_stats *stats, uint64_t now_ns)
{
	thrash->begin_ns = now_ns;
	thrash->begin_waited_ns = stats->waited_ns;
	thrash->begin_bytes = stats->bytes_in;
}

void thrash_wait(struct thrash *thrash, struct uvmp_pager_stats *stats, bool is_waiting, uint64_t now_ns)
{
	if (thrash->is_waiting)
		stats->waited_ns += now_ns - thrash->since_ns;
	thrash->is_waiting = is_waiting;
	thrash->since_ns = now_ns;
}

void thrash_judge(struct thrash *thrash, struct uvmp_pager_stats *stats, uint64_t now_ns)
{
	uint64_t period, waited, bytes;

	thrash_wait(thrash, stats, thrash->is_waiting, now_ns);
	if (thrash->begin_ns == 0)
		begin(thrash, stats, now_ns);
	period = now_ns - thrash->begin_ns;
	waited = stats->waited_ns - thrash->begin_waited_ns;
	bytes = stats->bytes_in - thrash->begin_bytes;
	if (period < THRASH_PERIOD_NS)
		return;
	if (waited >= period / THRASH_SHARE) {
		if (bytes < stats->budget_bytes ||
		    stats->bytes_in / THRASH_PASSES < stats->peak_managed_bytes)
			return;
		stats->thrash_ns += period;
		stats->thrash_waited_ns += waited;
		stats->thrash_bytes += bytes;
	}
	begin(thrash, stats, now_ns);
}
