/* gpu.h: a GPU with time: SMs and their warps, uTLBs that stall after a fault, a GMMU that writes faults.
 *
 * Time is in integer nanoseconds. The owner of the GPU (timed*.c, thread*.c) lets time pass, takes the faults that
 * were written until then, and queues what the driver does to the page tables for the time at which the GPU sees
 * it. Nothing here decides anything about memory.
 */
#ifndef UVMSIM_GPU_H
#define UVMSIM_GPU_H

#include "../model.h"
#include "../space.h"
#include "../workloads/workload.h"
#include "link.h"

struct gpu;

/* A fault as the GMMU has written it into the buffer. */
struct gpu_fault {
	uint64_t time_ns;
	uint64_t address; /* of the page */
	uint32_t utlb;
	uint32_t sm, warp;    /* of the request */
	uint8_t type, access; /* enum uvmp_fault_type, enum uvmp_access */
};

struct gpu_counts {
	uint64_t accesses;	/* pages that warps went through, each time they did */
	uint64_t pages_touched; /* distinct pages */
	uint64_t tlb_hits, tlb_misses, l2_tlb_hits, l2_tlb_misses;
	uint64_t remote_accesses, remote_bytes[MODEL_DIRECTIONS]; /* their bytes across the link, each way */
	uint64_t context_switches;				  /* thread blocks switched out */
	/* requests for pages that were in the table; that found the table full */
	uint64_t mshr_merged, mshr_stalled;
	uint64_t busy_ns; /* time in which some SM ran */
};

/* What a GPU reports while it runs; each function may be NULL. */
struct gpu_listener {
	/* A page is used at now_ns, with so many accesses more than were reported when it was asked about; 1 without `coalesces`. */
	void (*touch)(void *context, struct sim_block *block, uint32_t page, bool is_write, uint32_t accesses, uint64_t now_ns);
	/* These pages of the block are mapped now. */
	void (*arrive)(void *context, const struct sim_block *block, const uvmp_mask *pages);
	/* A page is used across the link. */
	void (*remote)(void *context, struct sim_block *block, uint32_t page, bool is_write, uint32_t requests, uint64_t now_ns);
	/* With remote_miss_ns: an access to a page on the CPU has missed the uTLB, and was touched before. True: it is a far
	 * fault. NULL: none is. */
	bool (*miss)(void *context, struct sim_block *block, uint32_t page, bool is_write);
	/* Some SM ran. */
	void (*busy)(void *context, uint64_t from_ns, uint64_t until_ns);
	void *context;
};

/* Remote accesses cross `link`. NULL: out of memory. */
struct gpu *gpu_open(const struct model *model, struct space *space, struct link *link,
		     struct gpu_listener listener);
void gpu_close(struct gpu *gpu);
/* What latencies are drawn from (memory_spread_ns); 0 unless set. */
void gpu_seed(struct gpu *gpu, uint64_t seed);

/* The workload's kernel (workload_launch has set it up) begins at at_ns. False: one of its thread blocks has more
 * warps than an SM. */
bool gpu_launch(struct gpu *gpu, struct workload *workload, uint64_t at_ns);
bool gpu_is_done(const struct gpu *gpu);    /* no warp is left */
uint64_t gpu_end_ns(const struct gpu *gpu); /* then: when the last one ended */
/* Warps of the kernel that have ended, and all. */
void gpu_progress(const struct gpu *gpu, uint64_t *done, uint64_t *total);
/* Every warp waits for a replay, and none is queued: only the driver can help. */
bool gpu_is_stuck(const struct gpu *gpu);
/* The GPU cannot continue: an access lies outside every range, its address; or GPU_OUT_OF_MEMORY. */
#define GPU_OUT_OF_MEMORY UINT64_MAX
bool gpu_is_lost(const struct gpu *gpu, uint64_t *address);

uint64_t gpu_now_ns(const struct gpu *gpu);
/* Lets time pass. */
void gpu_advance(struct gpu *gpu, uint64_t until_ns);
/* The same, but not beyond the time at which the kernel is done. */
void gpu_run(struct gpu *gpu, uint64_t until_ns);
/* Lets time pass until a fault has been written, the listener calls gpu_end_wait or the kernel is done, but not beyond limit_ns,
 * and says when that was; UINT64_MAX: all warps wait for a replay, nothing is queued, and limit_ns is UINT64_MAX. */
uint64_t gpu_wait(struct gpu *gpu, uint64_t limit_ns);
/* The present gpu_wait returns at the end of the quantum. */
void gpu_end_wait(struct gpu *gpu);

/* The next fault that was written at until_ns or before; NULL: none. It stays until gpu_take_fault. */
const struct gpu_fault *gpu_first_fault(const struct gpu *gpu, uint64_t until_ns);
void gpu_take_fault(struct gpu *gpu);
/* Of the faults taken, the driver has fetched or flushed all but the last `left`. */
void gpu_fetch_faults(struct gpu *gpu, uint64_t left);
/* The buffer has no room: waiting faults are not written before one is taken, and a replay forgets them. */
void gpu_block_faults(struct gpu *gpu);

/* Actions of the driver. The GPU sees each at at_ns, but actions on a block (with maps_copies: on a page) in the order in which
 * they were queued for it. `right` 0 unmaps. is_remote: the pages lie on the CPU and are used across the link.
 *
 * A replay is seen after all events of the same time that were queued before. An event that removes rights after it at the
 * same time first lets each SM run for a nanosecond, if warps are ready by then: so the GPU's time can pass until_ns
 * by that. */
void gpu_map(struct gpu *gpu, uint64_t at_ns, struct sim_block *block, const uvmp_mask *pages, uint32_t right,
	     bool is_remote);
/* The mappings of these pages stay, which gpu_map is to remove later, or to replace by some across the link. */
void gpu_keep(struct gpu *gpu, const struct sim_block *block, const uvmp_mask *pages);
void gpu_replay(struct gpu *gpu, uint64_t at_ns);

/* From at_ns on the `still` last SMs stand still (all but one at most), and every SM may have `extra` thread
 * blocks (GPU_EXTRA_MOST at most) besides those that fit. At first both are 0. */
#define GPU_EXTRA_MOST 64u
void gpu_limit(struct gpu *gpu, uint64_t at_ns, uint32_t still, uint32_t extra);

void gpu_count(const struct gpu *gpu, struct gpu_counts *counts);

#endif
