/* gpu_internal.h: the state of the GPU. Only gpu*.c use it; gpu.h is for others.
 *
 * gpu.c advances time; gpu_warp.c has SMs, warps and their steps; gpu_ready.c chooses among the ready warps; gpu_group.c has
 * the thread blocks; gpu_translate.c translates addresses; gpu_use.c uses pages, with the keys of gpu_key.h and,
 * for pages on the CPU, the loads of gpu_load.c; gpu_fault.c has the faults of the GMMU, gpu_lock.c the
 * locks of uTLBs, gpu_mshr.c the warps that wait for each fault; gpu_table.c has the page tables and the queued changes of them. */
#ifndef UVMSIM_GPU_INTERNAL_H
#define UVMSIM_GPU_INTERNAL_H

#include "gpu.h"

#include "lanes.h"
#include "mshr.h"
#include "tlb.h"

#define GPU_NEVER	UINT64_MAX	/* a time that does not come, in ns */
#define GPU_BLOCK_SHIFT 21u		/* of a VABlock, in address bits */
#define GPU_BIG_SHIFT	16u		/* of a big page, in address bits */
#define GPU_SECTOR	WORKLOAD_SECTOR /* the least bytes that cross a link */
#define GPU_FOUND	256u		/* blocks that gpu->found remembers */

/* What becomes of a step's request for a page: the page is used, the warp waits for it, or the request is repeated later. */
enum gpu_outcome { GPU_USED, GPU_FAULTED, GPU_STALLED };

/* A warp of an SM, at its step. */
struct warp {
	uint64_t at;	   /* the next address of a span */
	uint64_t want;	   /* pages of a step at once that are still missing, by number */
	uint64_t pending;  /* with MSHRs: of those (a span: bit 0), the ones that come with an entry */
	uint64_t counted;  /* with `coalesces`: of the step's pages, those whose accesses were reported when they missed */
	uint64_t missing;  /* without MSHRs: of `want`, lanes that gpu->lanes has */
	uint64_t ready_ns; /* continues no sooner: it has begun, or was woken */
	uint32_t group;	   /* thread block on the SM */
	uint8_t needs;	   /* enum uvmp_right that the step needs */
	bool is_alive;		   /* it has begun, and has not ended */
	bool is_waiting;	   /* for a page, or a replay */
	bool is_at_barrier;	   /* it waits for the other warps of its thread block */
	bool wants_entry;	   /* in the MSHRs */
	bool is_retried;	   /* its next step passes the lock of the uTLB (gpu_lock.h) */
	bool has_step;		   /* `slot` is the step; else the workload has the next one */
	struct workload_slot slot; /* last: what is used most lies together */
};

/* Where the block of an address was found. */
struct found {
	uint64_t number; /* of the address, in 2 MiB */
	struct sim_block *block;
};

/* A thread block. */
struct group {
	uint32_t left;	     /* warps that are not done; 0: free */
	uint32_t waiting;    /* of those, for a page or a replay; */
	uint32_t at_barrier; /* and at a barrier, for the others */
	bool is_in;	     /* the SM holds it; else it has been switched out */
	bool has_run;	     /* it has been in, and has a context */
	bool is_held;	     /* it is out, and one too many */
	uint64_t out_number; /* in the order of going out */
	uint64_t in_ns;	     /* has been restored */
};

/* A warp that continues at ready_ns or later. */
struct ready {
	uint64_t ready_ns;
	uint32_t warp;
};

/* A streaming multiprocessor, with its warps and thread blocks. */
struct sm {
	uint64_t now_ns;		 /* its clock, which may be ahead of gpu->now_ns within a quantum */
	uint64_t memory_ns, flop_ns;	 /* its share of the memory, and its arithmetic, have time again */
	uint64_t memory_debt, flop_debt; /* what rounding has left undone */
	struct utlb *utlb;			 /* that sms_per_utlb SMs share */
	uint64_t random;			 /* state of the draws of memory latencies */
	uint32_t raised;			 /* faults that were kept in this quantum */
	struct warp *warp;			 /* [warps_room] */
	struct group *group;			 /* [groups_room] */
	uint32_t blocks, blocks_in, blocks_held; /* all; switched in; held */
	struct ready *ready; /* [first .. first + count), by time, those of one time in the order of coming */
	uint32_t first, count;
};

/* A TLB with what belongs to it: of the SMs (a uTLB), or the second level. */
struct utlb {
	struct tlb tlb;	  /* the entries, by the keys of gpu_key.h */
	uint64_t emptied; /* gpu->emptied, when this one was */
	uint64_t lock_ns; /* from here on no new translation; GPU_NEVER: no fault is out */
	uint32_t faults;  /* since the last replay */
	bool is_held;	  /* it is locked since before the last replay */
	struct gpu_fault *out; /* with lock_holds: the faults since the last replay, merged ones too, in the order of their times */
	size_t outs, out_room; /* their number, and the room for them */
	uint64_t *asked; /* with utlb_merges: [utlb_faults], page and right of each of `faults`; else NULL */
};

/* An entry that a uTLB gets when a remote access has ended. */
struct fill {
	uint64_t ready_ns, key;
	struct utlb *utlb;
};

/* An access to a page on the CPU that has missed the uTLB: the walk ends at time_ns, and then is asked about the page. */
struct asking {
	uint64_t time_ns, key;
	struct asker who;
	struct sim_block *block;
	uint32_t page; /* of the block */
	uint32_t accesses;
	bool is_write;
	bool has_crossed; /* the answer was a remote access, which ends at time_ns */
};

/* A warp that waits to end. */
struct retiring {
	uint64_t since_ns;
	uint32_t sm, warp;
};

/* What an event changes: rights on pages, warps that wait, or the SMs and thread blocks that may run. */
enum event_kind { EVENT_MAP, EVENT_REPLAY, EVENT_LIMIT };

/* An event of the page tables' heap (gpu_table.h). */
struct event {
	uint64_t time_ns, number; /* number: in the order of queueing */
	struct sim_block *block;  /* MAP */
	uvmp_mask pages;	  /* MAP: of the block */
	uint64_t fetched;      /* REPLAY: faults, by then */
	uint32_t still, extra; /* LIMIT: SMs that stand still, and thread blocks that an SM may have besides */
	uint8_t kind, right;   /* enum event_kind; MAP: enum uvmp_right, UVMP_RIGHT_NONE unmaps */
	bool is_remote;	       /* MAP: the pages are on the CPU */
};

/* The GPU. Model, space and link belong to the caller, all else to the GPU. */
struct gpu {
	const struct model *model;
	struct space *space;
	struct link *link;
	struct gpu_listener listener;
	uint64_t now_ns; /* its clock */
	uint64_t end_ns; /* of the last warp that ended */
	struct workload *workload;     /* that steps come from; NULL: no kernel was launched */
	struct workload_kernel kernel; /* that runs: a program that queues more of them sets up the next */
	uint64_t next_block;		  /* the first thread block that has not begun */
	uint32_t groups_per_sm;		  /* thread blocks of this kernel that an SM holds, */
	uint32_t extra;			  /* and those that it may have besides */
	uint32_t warps_room, groups_room; /* of an SM */
	uint64_t out_number;		  /* thread blocks that were switched out */
	uint32_t may_run, runs;		  /* SMs that do not stand still: as it was said, and now */
	uint32_t utlbs, page_shift;	  /* number of uTLBs; pages are 1 << page_shift bytes */
	bool ends_wait; /* gpu_wait returns at the end of the quantum */
	uint64_t lost;	/* is_lost: the address outside every range, or GPU_OUT_OF_MEMORY */
	bool is_lost;	/* the run cannot continue */

	struct sm *sm;	    /* [model->sms] */
	struct utlb *utlb;  /* [utlbs] */
	struct utlb l2;	  /* the second level; it has no lock */
	uint64_t emptied; /* how often all TLBs were emptied; each is emptied when it is used next */
	uint64_t alive;	  /* warps */
	uint64_t share;	  /* bytes per microsecond of one SM */

	struct gpu_fault *raised, *sorted; /* in this quantum */
	size_t raised_count, raised_room;
	struct gpu_fault *written; /* a ring: faults that the GMMU has written and the driver has not taken */
	size_t written_first, written_count, written_room;
	uint64_t written_number, taken,
		fetched; /* faults so far: written; taken out of the ring; fetched by the driver */
	struct mshr mshr;  /* with mshr_entries */
	struct lanes lanes; /* without MSHRs: lanes whose page has got no right since it refused them */
	uint64_t write_ns; /* the GMMU has time again */
	bool is_blocked;   /* the buffer is full */

	struct event *event; /* a heap, the next one at its top */
	size_t event_count, event_room;
	uint64_t event_number; /* of the next event */
	uint64_t *change_ns; /* with maps_copies: by block number and page, when the GPU sees the last change that was queued */
	size_t changes_room;
	bool owes_turn; /* no warp has run since the last replay */
	uint64_t *gained; /* pages that have got rights since SMs ran last; `lanes` still has their lanes */
	size_t gained_count, gained_room; /* number of such pages, and the room for them */
	uint64_t soonest_ns; /* between quanta: a warp is ready on an SM that may run; GPU_NEVER: all wait */
	bool asks_singly; /* the definition of a step that asks for many pages, for tests: page by page, and each page
	                   * again after each replay */

	struct asking *asking; /* accesses whose walks have not ended */
	size_t asking_count, asking_room;
	struct fill *fill; /* [fill_first .. fill_count), in the order of their times */
	size_t fill_first, fill_count, fill_room;
	struct retiring *retiring; /* with retires_idle: warps that wait to end */
	size_t retiring_count, retiring_room;
	struct found found[GPU_FOUND]; /* by the last bits of the number */
	struct gpu_counts counts;      /* since the GPU was opened */
};

/* The first address that the GPU cannot do, or GPU_OUT_OF_MEMORY, ends the run. */
static inline void gpu_lose(struct gpu *gpu, uint64_t address)
{
	if (gpu->is_lost)
		return;
	gpu->is_lost = true;
	gpu->lost = address;
}

#endif
