/* recorded.h: a source of rows as a workload that a time model can drive (the end of workload.h).
 *
 * A `kernel` row begins a kernel, `sync` or the next `kernel` ends it; accesses of the GPU outside one make a kernel
 * without a name, and what the CPU does in the middle of a kernel cuts it in two of the same name, for the CPU comes
 * after what the GPU was asked for. In a kernel every agent is a warp that makes its accesses one after another, each
 * of the bytes that the row tells, else of RECORDED_BYTES. All warps of a kernel run at the same time: agents that are
 * as many apart as the GPU holds warps are one, and one that first appears behind the window shares the warp of
 * another, its number modulo those that were seen. Times in the rows are ignored: they hold the stalls of the machine
 * on which they were taken. */
#ifndef UVMSIM_RECORDED_H
#define UVMSIM_RECORDED_H

#include "workload.h"

#define RECORDED_BYTES  128u      /* 32 threads of 4 bytes, where a row does not tell */
#define RECORDED_WINDOW (1u << 20) /* rows that are read ahead at most */
#define RECORDED_IDLE   4096u     /* operations of an idle step: short, for a warp holds up those behind it */

/* What the GPU holds: all warps of a kernel are to run at the same time. */
struct recorded_gpu {
	uint32_t sms, blocks_per_sm, warps_per_sm; /* 1 or more */
};

/* Ranges go to add_range as they are announced: those that come first before this returns, later ones during
 * workload_launch and workload_step. It answers NULL, or what is wrong. `window`: rows to read ahead, RECORDED_WINDOW
 * but for tests. NULL with `error` filled: out of memory, a bad source, or what add_range says.
 *
 * When the source or add_range fails later, all warps end, workload_launch answers false, and workload->source.error
 * (else empty) says why. Close with workload->source.close(&workload->source); `source` stays the caller's. */
struct workload *recorded_open(struct source *source, const struct recorded_gpu *gpu, uint32_t window,
                               const char *(*add_range)(void *context, const struct source_range *range),
                               void *context, char error[SOURCE_ERROR_MAX]);

#endif
