/* watch_kernels.h: what the GPU's side tells observers (observe.h): kernels, and the times in which none of their warps
 * could run. Each function has no effect without observers. */
#ifndef UVMSIM_WATCH_KERNELS_H
#define UVMSIM_WATCH_KERNELS_H

#include "../observe/observe.h"

struct watch_kernels {
	const struct observers *observers; /* NULL: none */
	uint64_t number;		   /* of the last kernel, counted from 1 */
	uint64_t launch_ns, busy_ns;	   /* of that kernel; some SM has run until then */
	bool is_running;
};

void watch_kernels_launch(struct watch_kernels *watch, uint64_t at_ns);
/* Some SM ran from from_ns to until_ns. */
void watch_kernels_busy(struct watch_kernels *watch, uint64_t from_ns, uint64_t until_ns);
/* The kernel has ended, or the run is over. */
void watch_kernels_end(struct watch_kernels *watch, uint64_t at_ns);

#endif
