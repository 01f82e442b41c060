/* Progress and interruption of a timed run; timed_progress.h. */
#include "timed_progress.h"

#include "../interrupt.h"
#include "../progress.h"

bool timed_show_progress(struct timed *m)
{
	struct progress_at at = {.kernels = m->workload->kernels_done + (m->running != TIMED_NO_STREAM),
				 .done = m->system.host.source->done,
				 .total = m->system.host.source->total};
	struct gpu_counts counts;

	gpu_count(m->system.gpu, &counts);
	at.accesses = m->system.host.result->accesses = counts.accesses + m->cpu_accesses;
	if (m->running != TIMED_NO_STREAM)
		gpu_progress(m->system.gpu, &at.kernel_done, &at.kernel_total);
	if (interrupt_caught != 0)
		return timed_fail(m, "interrupted");
	progress_show(&at, 1);
	return true;
}
