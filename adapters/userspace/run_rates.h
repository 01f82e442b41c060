/* run_rates.h: what a run does now, from successive figures of its processes: rates, shares and thrashing. */
#ifndef UVMP_RUN_RATES_H
#define UVMP_RUN_RATES_H

#include "run.h"

#define RUN_HISTORY 256u /* intervals */

/* Of one interval. */
struct run_interval {
	uint64_t faults, bytes_in, bytes_out; /* per second */
	uint32_t stalled; /* per cent of the time in which a thread waited for a page, of the
					       * process with most */
};

/* Statistics of a process as of its last line about thrashing. */
struct run_thrash {
	uint64_t ns, waited_ns, bytes;
};

/* Zeroed: nothing has happened yet. */
struct run_rates {
	struct uvmp_pager_stats stats[RUN_PROCESSES], sum;
	struct run_thrash said[RUN_PROCESSES];
	uint32_t slots, used; /* processes; of them, those that used managed memory */
	uint64_t now_ns, waited_ns[RUN_PROCESSES];
	uint64_t thrash_until_ns;		  /* the run counts as thrashing until then */
	uint64_t fault_bytes;			  /* that a fault of the last interval with faults brought */
	struct run_interval history[RUN_HISTORY]; /* a ring */
	uint64_t intervals; /* ever; the last one is history[(intervals - 1) % RUN_HISTORY] */
};

/* Takes the figures of this moment, nanoseconds since the start. is_last: the program has ended. */
void run_rates_take(struct run_rates *rates, const struct run_shared *shared, uint64_t now_ns, bool is_last);
/* The interval `ago` intervals before the last one; zeros: there was none. */
struct run_interval run_rates_interval(const struct run_rates *rates, uint64_t ago);
bool run_rates_thrash(const struct run_rates *rates);

#endif
