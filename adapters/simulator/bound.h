/* bound.h: what must move if every page that is used must move to the GPU. For the accesses of a source, in its order, and a size
 * of memory: what is touched at all, and what moves under Belady's optimum (belady.h) with pages of 4 KiB, big pages of 64 KiB,
 * and VABlocks of 2 MiB.
 *
 * A unit takes a whole place in memory, but only the bytes of its ranges count. The optimum for 4 KiB is the bound of all policies
 * that move each page before it is accessed. The optima for 64 KiB and 2 MiB are bounds only of policies that move whole
 * units. */
#ifndef UVMSIM_BOUND_H
#define UVMSIM_BOUND_H

#include "untimed.h"
#include "source.h"

#define BOUND_LEVELS 3

/* Of one size of unit. */
struct bound_level {
	uint64_t unit_bytes;
	uint64_t places; /* units that fit into memory */
	/* compulsory: with any memory */
	uint64_t touched, touched_bytes;
	/* Belady's optimum */
	uint64_t misses, h2d_bytes;
	/* evicted, or taken by the CPU: all, as the driver copies them; and what has been written: the least among
	 * the schedules that have had the fewest misses, and of those the fewest leave, after every access. One that
	 * has them only in the end may write back less */
	uint64_t left, d2h_bytes;
	uint64_t written_back, written_back_bytes;
};

struct bound_result {
	uint64_t memory_bytes, footprint_bytes;
	uint64_t accesses; /* rows of the source */
	uint32_t levels;   /* how many of level[] are filled */
	struct bound_level level[BOUND_LEVELS];
};

/* Runs the source to its end, for the first `levels` sizes. False with `error` filled on bad input, when memory
 * runs out, and when interrupted (interrupt.h); *result covers the accesses until then. */
bool bound_run(struct source *source, struct sim_memory memory, uint32_t levels, struct bound_result *result,
	       char error[SOURCE_ERROR_MAX]);

#endif
