/* What the built-in workloads share.
 *
 * A workload is a sequence of kernels; a kernel is a grid of thread blocks, each of `warps` warps; a warp is
 * a sequence of steps. A step has the accesses of the warp before it waits: a run of bytes that it walks from
 * one page to the next (a span), a run of which it asks for all pages at once (at_once: neighbouring threads,
 * one load), or up to 32 addresses anywhere (lanes: a gather or scatter). Steps become page accesses: a run
 * one per page in ascending order, lanes one per page in the order in which the lanes name them first. An
 * access of the page of its warp's last one, of the same kind, is coalesced with it.
 *
 * A warp waits only when it needs a value: loads that do not depend on each other are issued one behind the
 * other, and so are stores. A program fills a step for each load or store and says of it with
 * workload_go_on() that the warp does not wait behind it; workload_step() joins such steps to one.
 *
 * As a source of rows a workload runs without time: workload.c deals the warps of the thread blocks in order
 * to the agents and lets those that run take turns, a row each. A time model drives the warps by itself, with
 * the functions at the end of this file.
 *
 * Between kernels the program's CPU thread may do other things: use managed memory itself, prefetch, advise,
 * wait. Kernels, prefetches and copies go into streams, each of which does one thing after another. Without
 * time all of it happens in the order of the program.
 *
 * What a step computes is in `flops`; a time model turns that into time, the untimed simulator ignores it.
 *
 * A new workload is one file and one row in the table of workload.c. */
#ifndef UVMSIM_WORKLOAD_H
#define UVMSIM_WORKLOAD_H

#include "source.h"

#define WORKLOAD_PARAMS_MAX 16
#define WORKLOAD_RANGES_MAX 16
#define WORKLOAD_PAGE	    4096u
#define WORKLOAD_SECTOR	    32u /* bytes that memory moves at least for a lane, and the link for a request */

/* `key=value` in the specification. Some values are text, without commas, such as the name of a file: max is
 * WORKLOAD_TEXT, the value is in workload->text. It has no default. So many parameters as its min says, right
 * before it, count only without it, and as many as its initial says, right behind it, only with it: they are
 * refused where they have no effect, and left out of the name. */
#define WORKLOAD_TEXT UINT64_MAX
struct workload_param {
	const char *name, *summary;
	uint64_t min, max, initial;
	bool is_size; /* bytes: units may follow the number (number.h) */
};

/* Every workload's last parameter. */
#define WORKLOAD_AGENTS                                                                                      \
	{                                                                                                    \
		"agents", "warps that run at the same time", 1, 262144, 80, false                            \
	}

#define WORKLOAD_LANES	      32u
#define WORKLOAD_JOINED_LANES (2 * WORKLOAD_LANES) /* of a step joined from several */

/* What one warp is doing. */
struct workload_slot {
	uint64_t block;	    /* number of its thread block in the kernel */
	uint32_t warp;	    /* and of the warp in that, 0..warps - 1 */
	uint32_t next;	    /* the warps that run form a ring */
	uint64_t step, row; /* the workload's own counters, 0 when a warp starts */
	uint64_t own[2];    /* more of them; what a warp remembers belongs here, not in a table by slot:
	                     * the user of the workload makes any number of slots */
	/* the step in hand; workload_set_* fill it */
	uint64_t at, end;    /* addresses of a span */
	uint32_t lanes;	     /* or the number of addresses in lane[] */
	uint32_t lane_bytes; /* bytes of each, not across a page boundary */
	enum uvmp_access access;
	bool at_once;	/* all pages of the span are requested before the warp waits */
	bool goes_on;	/* the warp does not wait before its next step; joined steps are never so */
	bool is_code;	    /* no access, only instructions, and (is_barrier) then a barrier; not joined */
	bool is_barrier;    /* of the thread block: __syncthreads() */
	uint16_t doubles, instructions; /* of a warp, with is_code: of fp64; all others */
	uint32_t flops; /* floating-point (or as many integer) operations of all threads of the warp,
	                 * done when the data has come */
	uint64_t lane[WORKLOAD_JOINED_LANES];
	uint8_t accesses[WORKLOAD_JOINED_LANES]; /* with `coalesces`: accesses that begin with the lane (coalesce.h) */
	/* workload.c only */
	uint32_t lanes_done;
	uint64_t lanes_seen; /* bit page % 64 is set for each page of the lanes done */
	uint64_t last_page;  /* of the warp's last page access */
	enum uvmp_access last_access;
};

/* What the program's thread does next. launch sets it with workload_set_* below; a KERNEL unless it does. */
#define WORKLOAD_STREAMS 8u
#define WORKLOAD_EVENTS	 8u
enum workload_op_kind {
	WORKLOAD_KERNEL = 0, /* a launch into `stream`. The thread waits for the kernel to end, or (is_queued)
	                        goes on */
	WORKLOAD_CPU,	     /* the thread itself goes through [at, at + bytes) with `access` */
	WORKLOAD_PREFETCH, /* moves [at, at + bytes), whole pages of one range, to the GPU (to_gpu) or CPU, in
	                      `stream` */
	WORKLOAD_ADVISE,   /* `advice` for [at, at + bytes), about the GPU (to_gpu) or CPU */
	WORKLOAD_COPY,	   /* `bytes` to the GPU (to_gpu) or CPU, to or from memory that is not managed, in
	                      `stream` */
	WORKLOAD_RECORD,   /* `event` is what `stream` has been given so far; until it is recorded again */
	WORKLOAD_WAIT_EVENT,  /* the thread waits until that has ended; not at all if it was never recorded */
	WORKLOAD_WAIT_STREAM, /* until all that `stream` has been given has ended */
	WORKLOAD_WAIT_ALL     /* all streams */
};

struct workload_op {
	enum workload_op_kind kind;
	bool is_queued, to_gpu;
	bool to_none;		 /* ADVISE: no processor is meant; a preferred location is unset */
	uint8_t stream, event;	 /* below WORKLOAD_STREAMS, WORKLOAD_EVENTS */
	enum uvmp_access access; /* READ or WRITE */
	enum uvmp_advice advice;
	uint64_t at, bytes;
};

/* The kernel that runs. Of queued kernels launch makes one after another before they run; each runs with what
 * launch has set here, so `tag` is how its steps know which one they belong to. */
struct workload_kernel {
	const char *name;
	uint64_t blocks;
	uint32_t warps; /* of each thread block, 1..32 */
	uint64_t tag;
};

struct workload {
	struct source source; /* first: the two are the same pointer to callers */
	const struct workload_type *type;
	uint64_t value[WORKLOAD_PARAMS_MAX]; /* in the order of type->param */
	char *text[WORKLOAD_PARAMS_MAX];     /* of those that are text; NULL: not given */
	struct source_range range[WORKLOAD_RANGES_MAX];
	unsigned ranges;
	void *state; /* the workload's own */
	uint64_t random;

	struct workload_op op; /* set by launch, as is the kernel: */
	const char *kernel;
	uint64_t blocks;
	uint32_t warps; /* of each thread block, 1..32; 1 unless launch sets it */
	uint64_t tag;	/* 0 unless launch sets it */
	uint64_t kernels_done;
	uint64_t ops; /* operations that launch has set before, kernels among them */
	bool coalesces; /* a time model's choice: lanes are in ascending order, and accesses[] says what they coalesce to */
	bool has_code; /* a time model's choice: steps of instructions are shown, else workload_step() skips them */

	/* workload.c only */
	int phase;
	unsigned ranges_shown;
	uint64_t next_block;
	uint32_t next_warp;
	uint64_t cpu_at; /* of a CPU operation */
	bool has_device;
	struct workload_slot *slot;
	uint32_t agents, current, previous; /* current: whose turn it is */
	char *name;
};

struct workload_type {
	const char *name, *summary;
	struct workload_param param[WORKLOAD_PARAMS_MAX]; /* the last one is agents */
	/* What is wrong with the parameters together (one by one they are in their ranges); NULL: nothing.
	 * The function may be NULL. */
	const char *(*check)(const struct workload *workload);
	/* Adds the ranges and builds the state. False: out of memory, or what source.error says if it is not
	 * empty; close is called then, too. */
	bool (*open)(struct workload *workload);
	/* Frees the state. NULL: nothing to do. */
	void (*close)(struct workload *workload);
	/* Sets the thread's next operation; for a kernel (no workload_set_* is called, or
	 * workload_set_queued) kernel, blocks (at least 1) and, unless it is 1, warps. False when the program
	 * has ended. */
	bool (*launch)(struct workload *workload);
	/* Fills the slot's next step with one of workload_set_*, one load or store of the program; false when
	 * the warp is done. */
	bool (*span)(struct workload *workload, struct workload_slot *slot);
};

extern const struct workload_type workload_regular, workload_random, workload_sgemm, workload_stream,
	workload_stencil, workload_bfs;
/* clang-format off */
/* of the measurements of driver costs (seed 000) */
extern const struct workload_type workload_cufft, workload_tealeaf, workload_hpgmg, workload_cusparse;
/* of the simulator studies (seed 001) */
extern const struct workload_type workload_backprop, workload_rodinia_bfs, workload_hotspot, workload_pathfinder,
        workload_srad, workload_nw, workload_sssp, workload_ra, workload_fdtd2d, workload_atax, workload_conv2d;
/* of the streaming study (seed 002) */
extern const struct workload_type workload_stream_thread, workload_stream_warp, workload_tiles;
/* graphs (seed 003) */
extern const struct workload_type workload_bc, workload_bfs_dwc, workload_bfs_ta, workload_bfs_tf, workload_bfs_ttc,
        workload_bfs_twc, workload_gc_dtc, workload_gc_ttc, workload_kcore, workload_pr, workload_sssp_twc;
/* what over-subscribes memory today (gpu_ext) */
extern const struct workload_type workload_decode, workload_moe, workload_paged, workload_gnn, workload_ivf;
/* patterns without a program */
extern const struct workload_type workload_synthetic;
/* clang-format on */

/* Adds a range; the ranges of a workload start at multiples of 2 MiB and leave at least that much free
 * between them. */
void workload_add_range(struct workload *workload, const char *name, uint64_t bytes);
/* The same, with nothing in it: the program allocates it and does not write it on the CPU. */
void workload_add_fresh(struct workload *workload, const char *name, uint64_t bytes);
/* Memory of the GPU that is not managed. */
void workload_add_device(struct workload *workload, const char *name, uint64_t bytes);

/* A run of bytes, walked page by page. `flops` is set to 0: set it afterwards. */
static inline void workload_set_span(struct workload_slot *slot, uint64_t at, uint64_t bytes,
				     enum uvmp_access access)
{
	slot->at = at;
	slot->end = at + bytes;
	slot->lanes = slot->lanes_done = 0;
	slot->access = access;
	slot->at_once = slot->goes_on = slot->is_code = false;
	slot->flops = 0;
}

/* The same, with all pages requested at once: the threads of the warp, or unrolled loads. */
static inline void workload_set_wide(struct workload_slot *slot, uint64_t at, uint64_t bytes,
				     enum uvmp_access access)
{
	workload_set_span(slot, at, bytes, access);
	slot->at_once = true;
}

/* The slot's first `lanes` addresses (1..32), in lane[], of `bytes` each. */
static inline void workload_set_lanes(struct workload_slot *slot, uint32_t lanes, uint32_t bytes,
				      enum uvmp_access access)
{
	slot->at = slot->end = 0;
	slot->lanes = lanes;
	slot->lanes_done = 0;
	slot->lanes_seen = 0;
	slot->lane_bytes = bytes;
	slot->access = access;
	slot->at_once = true;
	slot->goes_on = slot->is_code = false;
	slot->flops = 0;
}

/* The warp does not wait for the step just set: it needs no result of it before the next step, which (if
 * there is one) is of the same access kind. Both are on 32 pages at most. Always true. */
static inline bool workload_go_on(struct workload_slot *slot)
{
	slot->goes_on = true;
	return true;
}

/* No page, only `flops` operations: a run of no bytes at the start of a page of any size. */
static inline void workload_set_idle(struct workload_slot *slot, uint32_t flops)
{
	workload_set_wide(slot, (uint64_t)1 << 21, 0, UVMP_ACCESS_READ);
	slot->flops = flops;
}

/* No page: the warp executes instructions; then, if is_barrier, it waits until every warp of its thread block has come to the
 * barrier or has ended. `doubles` are those of fp64 and the conversions from and to it, `instructions` all others. It is a
 * step only where has_code is set. The step before ends with workload_go_on_to_code(), or does not go on. Always true. */
static inline bool workload_set_code(struct workload_slot *slot, uint16_t instructions, uint16_t doubles, bool is_barrier)
{
	workload_set_idle(slot, 0);
	slot->is_code = true;
	slot->is_barrier = is_barrier;
	slot->instructions = instructions;
	slot->doubles = doubles;
	return true;
}

/* workload_go_on() if the steps of instructions that follow are skipped: a barrier waits for the step before. Always true. */
static inline bool workload_go_on_to_code(const struct workload *workload, struct workload_slot *slot)
{
	slot->goes_on = !workload->has_code;
	return true;
}

static inline uint64_t workload_ceil_div(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

/* -- what launch sets -- */

/* The thread itself reads or writes [at, at + bytes). */
static inline void workload_set_cpu(struct workload *workload, uint64_t at, uint64_t bytes,
				    enum uvmp_access access)
{
	workload->op = (struct workload_op){.kind = WORKLOAD_CPU, .at = at, .bytes = bytes, .access = access};
}

static inline void workload_set_prefetch(struct workload *workload, uint64_t at, uint64_t bytes, bool to_gpu,
					 unsigned stream)
{
	workload->op = (struct workload_op){.kind = WORKLOAD_PREFETCH,
					    .at = at,
					    .bytes = bytes,
					    .to_gpu = to_gpu,
					    .stream = (uint8_t)stream};
}

static inline void workload_set_advise(struct workload *workload, uint64_t at, uint64_t bytes,
				       enum uvmp_advice advice, bool to_gpu)
{
	workload->op = (struct workload_op){
		.kind = WORKLOAD_ADVISE, .at = at, .bytes = bytes, .advice = advice, .to_gpu = to_gpu};
}

static inline void workload_set_copy(struct workload *workload, uint64_t bytes, bool to_gpu, unsigned stream)
{
	workload->op = (struct workload_op){
		.kind = WORKLOAD_COPY, .bytes = bytes, .to_gpu = to_gpu, .stream = (uint8_t)stream};
}

/* A kernel that the thread does not wait for; kernel, blocks and so on are set besides. */
static inline void workload_set_queued(struct workload *workload, unsigned stream)
{
	workload->op =
		(struct workload_op){.kind = WORKLOAD_KERNEL, .is_queued = true, .stream = (uint8_t)stream};
}

/* RECORD, WAIT_EVENT, WAIT_STREAM, WAIT_ALL; what the kind does not name is ignored. */
static inline void workload_set_sync(struct workload *workload, enum workload_op_kind kind, unsigned stream,
				     unsigned event)
{
	workload->op = (struct workload_op){.kind = kind, .stream = (uint8_t)stream, .event = (uint8_t)event};
}

/* -- for the user of a workload: launch, the kernel's warps from start to end in any interleaving,
 * end_kernel, launch ... Do not take rows from the same source. -- */

/* The workload behind a source; NULL: it is a trace. */
struct workload *workload_of(struct source *source);
/* The thread's next operation: op, and for a kernel kernel, blocks, warps and tag. False: the program has ended. */
bool workload_launch(struct workload *workload);
/* A queued kernel, to be kept until it runs; and back. */
static inline struct workload_kernel workload_keep_kernel(const struct workload *workload)
{
	return (struct workload_kernel){workload->kernel, workload->blocks, workload->warps, workload->tag};
}
static inline void workload_restore_kernel(struct workload *workload, const struct workload_kernel *kernel)
{
	workload->kernel = kernel->name;
	workload->blocks = kernel->blocks;
	workload->warps = kernel->warps;
	workload->tag = kernel->tag;
}
/* Makes the slot, which is the caller's, a warp that has done nothing yet. */
void workload_start_warp(struct workload *workload, struct workload_slot *slot, uint64_t block,
			 uint32_t warp);
/* Fills the slot's next step, joined from all up to the first that the warp waits for, as far as there is
 * room; false at the end of the warp. */
bool workload_step(struct workload *workload, struct workload_slot *slot);
/* Takes the next page access of the step in hand: an address on the page; the kind is slot->access. False:
 * there is no further one (none at all if the whole step is coalesced with the last access). */
bool workload_next_page(struct workload_slot *slot, uint64_t *address);
/* Every warp of the kernel has ended. */
void workload_end_kernel(struct workload *workload);

#endif
