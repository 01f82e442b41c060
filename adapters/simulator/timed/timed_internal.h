/* timed_internal.h: the state of a run with time. Only timed*.c use it; timed.h is for others.
 *
 * timed.c has the main loop and the results. It opens a run with timed_open.c and gives each step to one
 * actor: timed_program.c has the program's thread, timed_stream.c the items of streams and their kernels,
 * timed_bottom_half.c the driver's bottom half, and timed_job.c the prefetches of the program's thread and
 * of the driver's thread for deferred ones. timed_sleep.c says when the bottom half wakes, timed_listen.c
 * what the GPU reports to the engine, timed_progress.c reports progress. */
#ifndef UVMSIM_TIMED_INTERNAL_H
#define UVMSIM_TIMED_INTERNAL_H

#include "stream.h"
#include "sync.h"
#include "thread.h"
#include "watch_kernels.h"

#define TIMED_NEVER	UINT64_MAX /* a time that does not come, in ns */
#define TIMED_NO_STREAM UINT32_MAX /* the number of no stream */

/* A prefetch that a thread performs, a VABlock in each step. */
struct timed_job {
	bool is_active;	       /* it has not ended */
	bool is_deferred;      /* the driver's thread for deferred prefetches performs it */
	struct workload_op op; /* the pages, the direction and the stream */
	uint64_t at;	       /* the first address that has not been moved */
};

/* A run: the system, its actors, and the state of each. */
struct timed {
	struct system system; /* that all actors share */
	struct model model; /* of this run */
	struct uvmp_policy policy; /* the same, with cycle_batches */
	struct workload *workload; /* the program that runs */
	struct workload *recorded; /* the same if the source is a trace: this run closes it */
	struct streams streams;	   /* what the program has queued */

	struct thread program, bottom_half, deferred; /* the program's; the driver's two: for faults, and for deferred prefetches */
	struct timed_job call, background;	      /* of `program`; of `deferred` */

	/* the program's thread */
	struct workload_op op; /* CPU, or what the thread waits for */
	uint64_t cpu_at;	/* CPU: the next address of `op` */
	uint64_t cpu_accesses;	/* of the CPU, so far */
	bool is_walking;	/* `op` is an access of the CPU that has not ended */
	bool is_waiting;	/* for the streams, before `op` */
	bool has_ended;		/* the program has no operation left */
	struct sync sync; /* of the device, while is_syncing */
	uint64_t synced;  /* kernels that had ended when it was done last */
	bool is_syncing;
	struct workload_op held;	    /* if is_held: an item whose stream is full */
	struct workload_kernel held_kernel; /* of `held`, if that launches one */
	bool is_held;			    /* the program's thread waits until the stream has room */

	/* the kernel on the GPU */
	uint32_t running;	    /* its stream, or TIMED_NO_STREAM */
	uint64_t launch_ns, kernel; /* when it was launched, and its number in the engine */
	struct watch_kernels watch; /* reports kernels to the observers */

	/* what the GPU reports */
	bool withdraws;			    /* system_withdraws */
	bool counts_accesses, has_counters; /* the engine counts; the GPU does, and notifies */
	uint64_t note_ns;		    /* of the first notification of those that wait */

	/* the bottom half */
	uint64_t slice_ns;			 /* of the GPU, alone, between two reports of progress */
	bool is_timed;				 /* the next bottom half has time alone for a reason */
	uint32_t idle;				 /* bottom halves in a row after which no warp continued */
	uint64_t fetched, served, used, last_ns; /* at the end of the last one */
};

/* The run fails: host_fail. Always false. */
static inline bool timed_fail(struct timed *m, const char *text)
{
	return host_fail(&m->system.host, text);
}

#endif
