/* What a run does now, from successive figures of its processes.
 *
 * Threads wait in the interval in which a process publishes that they did: a share may come an interval late, and is 100 %
 * at most. A process thrashes when its statistics say so (thrash.h), and from then on for as long as that period was, at
 * least THRASH_SHOWN_NS. */
#include "run_rates.h"

#include "run_figures.h"

#define THRASH_SHOWN_NS 2000000000u

static uint64_t per_second(uint64_t more, uint64_t ns)
{
	return ns == 0 ? 0 : (uint64_t)((double)more * 1e9 / (double)ns);
}

static uint64_t waited_most(struct run_rates *rates)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < rates->slots; i++) {
		uint64_t waited = rates->stats[i].waited_ns - rates->waited_ns[i];

		most = waited > most ? waited : most;
		rates->waited_ns[i] = rates->stats[i].waited_ns;
	}
	return most;
}

static void note_thrashing(struct run_rates *rates, const struct uvmp_pager_stats *before)
{
	uint64_t more = rates->sum.thrash_ns - before->thrash_ns;

	if (more != 0)
		rates->thrash_until_ns = rates->now_ns + (more > THRASH_SHOWN_NS ? more : THRASH_SHOWN_NS);
}

void run_rates_take(struct run_rates *rates, const struct run_shared *shared, uint64_t now_ns, bool is_last)
{
	struct run_interval *to = &rates->history[rates->intervals % RUN_HISTORY];
	const struct uvmp_pager_stats before = rates->sum;
	uint64_t ns = now_ns - rates->now_ns, waited, faults, bytes;

	rates->slots = run_read(shared, rates->stats, is_last);
	rates->used = run_sum(rates->stats, rates->slots, &rates->sum);
	rates->now_ns = now_ns;
	rates->intervals++;
	faults = rates->sum.faults - before.faults;
	bytes = rates->sum.bytes_in - before.bytes_in;
	waited = waited_most(rates);
	to->faults = per_second(faults, ns);
	to->bytes_in = per_second(bytes, ns);
	to->bytes_out = per_second(rates->sum.bytes_out - before.bytes_out, ns);
	to->stalled =
		ns == 0 || waited >= ns ? (uint32_t)(waited != 0) * 100u : (uint32_t)(waited * 100u / ns);
	if (faults != 0)
		rates->fault_bytes = (bytes + rates->sum.bytes_zeroed - before.bytes_zeroed) / faults;
	note_thrashing(rates, &before);
}

struct run_interval run_rates_interval(const struct run_rates *rates, uint64_t ago)
{
	const struct run_interval none = {0};

	if (ago >= rates->intervals || ago >= RUN_HISTORY)
		return none;
	return rates->history[(rates->intervals - 1u - ago) % RUN_HISTORY];
}

bool run_rates_thrash(const struct run_rates *rates)
{
	return rates->now_ns < rates->thrash_until_ns;
}
