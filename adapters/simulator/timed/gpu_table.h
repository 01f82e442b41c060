/* gpu_table.h: the page tables, and what is queued for them. */
#ifndef UVMSIM_GPU_TABLE_H
#define UVMSIM_GPU_TABLE_H

#include "gpu_internal.h"

/* When the next event is due; GPU_NEVER: none is queued. */
static inline uint64_t gpu_table_next_ns(const struct gpu *gpu)
{
	return gpu->event_count != 0 ? gpu->event[0].time_ns : GPU_NEVER;
}
/* Does the next event take rights away? */
static inline bool gpu_table_takes_next(const struct gpu *gpu)
{
	return gpu->event_count != 0 && gpu->event[0].kind == EVENT_MAP &&
	       gpu->event[0].right != UVMP_RIGHT_READ_WRITE_ATOMIC;
}
/* Lanes whose pages have got rights look at the page tables when they ask next. Before SMs run. */
void gpu_table_wake_lanes(struct gpu *gpu);
/* It happens. */
void gpu_table_step(struct gpu *gpu);

#endif
