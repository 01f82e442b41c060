/* building.h: data that a workload needs before its first access, and that takes a while to make or to read. */
#ifndef UVMSIM_BUILDING_H
#define UVMSIM_BUILDING_H

#include "interrupt.h"
#include "progress.h"

/* Shows the progress (total 0: not known). False: the user has interrupted the program; the workload cannot
 * be opened, and workload_open says why. */
static inline bool building_show(uint64_t done, uint64_t total)
{
	progress_show(&(struct progress_at){.kernel_done = done, .kernel_total = total}, 1);
	return interrupt_caught == 0;
}

/* The same for loops that come here with every `done`, or with every multiple of a power of two up to
 * PROGRESS_EVERY: looks only now and then. `before`: what was done before the loop. */
static inline bool building_goes_on(uint64_t done, uint64_t before, uint64_t total)
{
	return done % PROGRESS_EVERY != 0 || building_show(before + done, total);
}

#endif
