/* What the built-in workloads share.
 *
 * A workload is a sequence of kernels; a kernel is a number of thread blocks; a thread block is a sequence of
 * spans, each a run of bytes that it reads or writes. workload.c does the rest as a GPU would: it deals the
 * blocks in order to the agents (each takes the next one when it has finished its own), lets the running
 * agents take turns, one row each, and turns spans into one row per page. A span that starts on the page of
 * its block's last row, with the same access, is coalesced with it.
 *
 * A new workload is one file and one row in the table of workload.c. */
#ifndef UVMSIM_WORKLOAD_H
#define UVMSIM_WORKLOAD_H

#include "source.h"

#define WORKLOAD_PARAMS_MAX 6
#define WORKLOAD_RANGES_MAX 6
#define WORKLOAD_PAGE       4096u

/* `key=value` in the specification. */
struct workload_param {
	const char *name, *summary;
	uint64_t min, max, initial;
	bool is_size; /* bytes: k, m and g may follow the number */
};

/* Every workload's last parameter. */
#define WORKLOAD_AGENTS                                                                                      \
	{                                                                                                    \
		"agents", "thread blocks that run at the same time", 1, 65536, 80, false                     \
	}

/* What one agent is doing. */
struct workload_slot {
	uint64_t block;          /* number of its thread block in the kernel */
	uint64_t step, row;      /* the workload's own counters, 0 when a block starts */
	uint64_t at, end;        /* addresses of the span in hand */
	uint64_t last_page;      /* of the block's last row */
	enum uvmp_access access; /* of the span in hand */
	enum uvmp_access last_access;
	uint32_t next; /* the agents that run form a ring */
};

struct workload {
	struct source source; /* first: the two are the same pointer to callers */
	const struct workload_type *type;
	uint64_t value[WORKLOAD_PARAMS_MAX]; /* in the order of type->param */
	struct source_range range[WORKLOAD_RANGES_MAX];
	unsigned ranges;
	void *state; /* the workload's own */
	uint64_t random;

	/* the kernel that runs */
	const char *kernel;
	uint64_t blocks;
	uint64_t kernels_done;

	/* workload.c only */
	int phase;
	unsigned ranges_shown;
	uint64_t next_block;
	struct workload_slot *slot;
	uint32_t agents, current, previous; /* current: whose turn it is */
	char name[256];
};

struct workload_type {
	const char *name, *summary;
	struct workload_param param[WORKLOAD_PARAMS_MAX]; /* the last one is agents */
	/* Adds the ranges and builds the state. False: out of memory. */
	bool (*open)(struct workload *workload);
	/* Frees the state. NULL: nothing to do. */
	void (*close)(struct workload *workload);
	/* Sets kernel and blocks (at least 1) of the next launch; false when there is none. */
	bool (*launch)(struct workload *workload);
	/* Sets at, end and access of the slot's next span; false when its block is done. */
	bool (*span)(struct workload *workload, struct workload_slot *slot);
};

extern const struct workload_type workload_regular, workload_random, workload_sgemm, workload_stream,
        workload_stencil, workload_bfs;

/* Adds a range; the ranges of a workload start at multiples of 2 MiB and leave at least that much free
 * between them. */
void workload_add_range(struct workload *workload, const char *name, uint64_t bytes);

static inline void workload_set_span(struct workload_slot *slot, uint64_t at, uint64_t bytes,
                                     enum uvmp_access access)
{
	slot->at = at;
	slot->end = at + bytes;
	slot->access = access;
}

static inline uint64_t workload_ceil_div(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

#endif
