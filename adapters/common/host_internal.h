/* The inside of the host kit (uvmpolicy/host.h). From the lowest part to the highest:
 *
 *   host_memory    allocation, arena of the engine, error text
 *   host_ranges    which addresses are managed
 *   host_tables    page tables and frames, by windows of 2 MiB
 *   host_frames    which frames of a GPU are free
 *   host_counters  access counters of GPUs
 *   host_actions   what each action of the engine does
 *   host_requests  frees, prefetches, advice, faults of the CPU
 *   host_faults    stalled accesses of GPUs
 *   host_calls     what the simulator reports
 *   host_run       the order of events
 *   host_open      options
 *   host_query     queries */
#ifndef UVMP_HOSTKIT_INTERNAL_H
#define UVMP_HOSTKIT_INTERNAL_H

#include <uvmpolicy/host.h>
#include <uvmpolicy/uvmpolicy.h>

#include "engine_setup.h"
#include "stalled.h"

#define HOSTKIT_WINDOW_BYTES UVMP_ROOT_CHUNK_BYTES
#define HOSTKIT_NONE	     UINT32_MAX /* no frame, no index */
#define HOSTKIT_SEGMENTS     8u		/* of the arena, as many as the engine takes */
#define HOSTKIT_ACTIVE	     256u	/* requests that the engine has at a time */
#define HOSTKIT_NOTES	     256u	/* entries of the buffer of access counters; the simulator's has as many */
#define HOSTKIT_NEVER	     UINT64_MAX

/* -- tables -- */

struct hostkit_window;

/* What one processor maps and holds of a window. */
struct hostkit_side {
	struct hostkit_side *next; /* of the window */
	struct hostkit_window *window;
	uint32_t processor;
	bool is_departing; /* some of its pages may have departed; in the list of the GPU */
	uint8_t *right;	   /* [pages of a window]: enum uvmp_right, */
	uint8_t *holder;   /* and the processor whose memory is mapped */
	uint32_t *frame;   /* GPUs: number of the page's frame, or HOSTKIT_NONE */
	uint16_t *unit;	   /* of pages with a frame: first page of the unit, within the window */
	/* Pages that got a frame in operation `arriving_in`, and pages whose copy ended in group `landed_in`. The
	 * engine knows that they are resident once a later group has begun. */
	uint64_t arriving_in, landed_in;
	uvmp_mask arriving, landed;
	/* access counter: */
	uint32_t uses, used_parts, tag;
	bool has_notified;
};

struct hostkit_window {
	struct hostkit_window *next; /* of the bucket */
	uint64_t number;	     /* address / HOSTKIT_WINDOW_BYTES */
	struct hostkit_side *side;
};

struct hostkit_tables {
	struct hostkit_window **bucket;
	uint64_t buckets, windows; /* buckets: a power of two */
};

/* A page of a window. */
struct hostkit_place {
	struct hostkit_window *window;
	uint32_t page;
};

/* -- frames of a GPU -- */

struct hostkit_frames {
	uint64_t count;	      /* frames of the GPU */
	uint64_t *used;	      /* [(count + 63) / 64]: set of frames; NULL: the engine places all chunks */
	uint64_t *full;	      /* set of words of `used` without a free frame */
	uint64_t next;	      /* where the next search begins */
	struct hostkit_side **departing; /* [sides] */
	uint64_t departings, sides, capacity;
};

/* -- ranges -- */

struct hostkit_range {
	uint64_t start, last; /* bytes, both included */
	uint64_t base;	      /* by which the engine frees it */
	uint32_t home;	      /* processor that has its data at first, or UVMP_PROC_NONE */
};

struct hostkit_ranges {
	struct hostkit_range *range; /* by start */
	uint64_t count, capacity;
};

/* -- events and requests -- */

enum hostkit_kind {
	HOSTKIT_FAULT, /* of a GPU */
	HOSTKIT_CPU_FAULT,
	HOSTKIT_ADD,
	HOSTKIT_FREE,
	HOSTKIT_FREE_PART,
	HOSTKIT_PREFETCH,
	HOSTKIT_ADVISE
};

/* What the simulator reported. */
struct hostkit_event {
	enum hostkit_kind kind;
	enum uvmp_access access;
	enum uvmp_advice advice;
	uint32_t processor; /* HOSTKIT_ADD: home of the range */
	uint64_t time_ns;
	uint64_t number; /* of a request; 0: a fault */
	uint64_t warp;
	uint64_t address, bytes;
};

struct hostkit_fifo {
	struct hostkit_event *event;
	uint64_t first, count, capacity;
};

/* A request or a fault of the CPU that the engine has. */
struct hostkit_request {
	struct hostkit_event event;
	bool is_used;
	uint64_t ticket;
	uint64_t at, piece_last; /* FREE_PART: the piece that is being freed; what is before has been freed */
	bool is_over;		 /* FREE_PART: there is no other piece */
	uint64_t retry_ns; /* CPU_FAULT: throttled until then; 0: not */
	uint32_t tries;	   /* CPU_FAULT */
	enum uvmp_status status; /* FREE_PART: the first failure */
};

/* -- actions -- */

enum hostkit_state { HOSTKIT_WAITING, HOSTKIT_RUNNING, HOSTKIT_ENDED };

struct hostkit_action {
	const struct uvmp_action *action;
	uint64_t id, after;
	enum hostkit_state state;
	enum uvmp_status status;
	uint64_t end_ns;
	uint32_t pieces; /* asynchronous copies that have not ended */
	uvmp_mask moved; /* COPY, POPULATE: pages that were moved */
};

/* An asynchronous copy. */
struct hostkit_piece {
	uint32_t action; /* of the group */
	struct uvmp_region pages;
	bool is_ended;
};

struct uvmp_host {
	struct uvmp_host_options options; /* with all defaults filled in */
	struct uvmp_policy policy;
	struct uvmp_needs needs;
	bool is_chunked;      /* evict=lru */
	bool counts_accesses; /* GPUs have access counters */
	uint32_t window_pages, unit_pages;
	uint64_t capacity_bytes;

	struct uvmp_service *service;
	void *segment[HOSTKIT_SEGMENTS];
	uint32_t segments;
	uint64_t arena_bytes;

	struct hostkit_ranges ranges;
	struct hostkit_tables tables;
	struct hostkit_frames *gpu; /* [gpus + 1] */
	struct hostkit_side **counted; /* [counted_count]: by tag of the access counter; may be NULL */
	uint64_t counted_count, counted_capacity;

	/* time and events */
	bool is_running;
	bool is_short; /* of memory: this uvmp_host_run has stopped */
	uint64_t clock_ns, latest_ns; /* of the work that was done; of the latest call */
	uint64_t next_ns;
	struct hostkit_fifo inbox;
	struct hostkit_fifo queued; /* requests that the engine does not have yet */
	struct hostkit_request *request; /* [HOSTKIT_ACTIVE] */
	uint32_t requests, napping; /* in use; of them, throttled */
	uint64_t request_number;

	/* stalled accesses */
	struct stalled_queue stalled;
	uint64_t idle_gpus;	   /* set: their latest bottom half resumed no access */
	uint64_t throttled_ns;	   /* of the latest THROTTLE of a GPU; 0: none since a pause */
	uint64_t cpu_throttled_ns; /* the same of the CPU */
	uint64_t paused_until_ns;  /* 0: not paused */
	uint64_t arrived, fetched; /* pages that faults brought, entries of batches: ... */
	uint64_t arrived_before, fetched_before; /* ... and at the end of the bottom half before */
	uint64_t stale;		   /* bottom halves in a row without an arrival */

	/* the present group of actions */
	struct hostkit_action *action; /* [UVMP_SERVICE_PENDING_MAX] */
	uint32_t actions, actions_left;
	uint64_t group, operation; /* how many have begun */
	struct hostkit_piece *piece;
	uint64_t pieces, piece_capacity, first_piece_id;

	struct uvmp_host_counts counts;
	enum uvmp_status status;
	char error[UVMP_HOST_ERROR_MAX];
};

/* -- memory -- */

void hostkit_release(const struct uvmp_host_options *options, void *memory);
/* Zeros. NULL: memory is short. */
void *hostkit_zeros(const struct uvmp_host_options *options, uint64_t count, size_t each);
/* Gives an array of *capacity elements, of which `used` are used, space for `count`. Returns the array, which may have
 * moved; NULL: memory is short, and nothing has changed. */
void *hostkit_reserve(const struct uvmp_host *host, void *array, uint64_t *capacity, uint64_t used,
		      uint64_t count, size_t each);
/* Makes the engine for `params`. False: the text of the error is written. */
bool hostkit_open_engine(struct uvmp_host *host, struct uvmp_service_params *params);
/* False: memory is short. */
bool hostkit_grow_engine(struct uvmp_host *host);
/* Notes a failure; returns `status`. */
enum uvmp_status hostkit_fail(struct uvmp_host *host, enum uvmp_status status, const char *text);
/* uvmp_host_run stops, and tries again later; always false. */
bool hostkit_be_short(struct uvmp_host *host);

/* -- ranges -- */

bool hostkit_is_managed(const struct uvmp_host *host, uvmp_addr address);
/* The managed range that holds the first managed byte of [start, last], cut to it; false: there is no managed byte. */
bool hostkit_range_in(const struct uvmp_host *host, uint64_t start, uint64_t last, struct hostkit_range *part);
/* Space for `more` ranges beside those that the requests of the engine may cut. False: memory is short. */
bool hostkit_range_reserve(struct uvmp_host *host, uint64_t more);
/* Whole pages. */
enum uvmp_status hostkit_range_add(struct uvmp_host *host, uint64_t start, uint64_t last, uint32_t home);
/* With is_all_managed: manages the memory around the address unless it is managed. */
enum uvmp_status hostkit_range_touch(struct uvmp_host *host, uvmp_addr address);
/* The same for [start, last]. */
enum uvmp_status hostkit_range_touch_all(struct uvmp_host *host, uint64_t start, uint64_t last);
/* The engine has freed [start, last]. */
void hostkit_range_remove(struct uvmp_host *host, uint64_t start, uint64_t last);
/* The engine has freed the range that was added at `base`. */
void hostkit_range_free(struct uvmp_host *host, uint64_t base);

/* -- tables -- */

/* The side of a processor; NULL: it neither maps nor holds a page of the window. */
struct hostkit_side *hostkit_side(const struct uvmp_host *host, uint32_t processor, uvmp_addr address,
				  uint32_t *page);
enum uvmp_right hostkit_right(const struct uvmp_host *host, uint32_t processor, uvmp_addr address);
bool hostkit_may(const struct uvmp_host *host, uint32_t processor, uvmp_addr address, enum uvmp_access access);
/* Makes the sides that the action needs. False: memory is short. */
bool hostkit_prepare(struct uvmp_host *host, const struct uvmp_action *action);
/* Pages of a new range: the CPU has them if it is their home. */
void hostkit_tables_add(struct uvmp_host *host, uint64_t start, uint64_t last, uint32_t home);
/* Freed pages. Windows without managed memory are dropped. */
void hostkit_tables_remove(struct uvmp_host *host, uint64_t start, uint64_t last);
void hostkit_tables_close(struct uvmp_host *host);
/* MAP, UNMAP and REVOKE, with the callbacks. */
void hostkit_map(struct uvmp_host *host, const struct uvmp_action *action);
void hostkit_unmap(struct uvmp_host *host, const struct uvmp_action *action);

/* -- frames -- */

/* Offset of the page's frame; UVMP_HOST_NO_FRAME: it has none there. */
uint64_t hostkit_frame(const struct uvmp_host *host, uint32_t processor, uvmp_addr address);
bool hostkit_frames_open(struct uvmp_host *host);
void hostkit_frames_close(struct uvmp_host *host);
/* A new side of a GPU: space to note it. False: memory is short. */
bool hostkit_frames_expect(struct uvmp_host *host, uint32_t gpu);
/* ALLOCATE. False: no frame is free. */
bool hostkit_frames_allocate(struct uvmp_host *host, const struct uvmp_action *action);
/* COPY and POPULATE begin: each page has a frame afterwards. False: no frame is free. */
bool hostkit_frames_arrive(struct uvmp_host *host, const struct uvmp_action *action);
/* They have ended. */
void hostkit_frames_landed(struct uvmp_host *host, const struct uvmp_action *action);
/* Pages of the action may have departed from the processor. */
void hostkit_frames_depart(struct uvmp_host *host, const struct uvmp_action *action, uint32_t processor);
/* FREE. */
void hostkit_frames_free(struct uvmp_host *host, const struct uvmp_action *action);
/* The side goes: its frames are free. */
void hostkit_frames_drop(struct uvmp_host *host, struct hostkit_side *side);

/* -- counters -- */

/* A GPU has used a page of the CPU's memory. */
void hostkit_counter_use(struct uvmp_host *host, struct hostkit_side *side, uvmp_addr address);
/* CLEAR. */
void hostkit_counter_clear(struct uvmp_host *host, const struct uvmp_action *action);
/* The side goes. */
void hostkit_counter_drop(struct uvmp_host *host, const struct hostkit_side *side);

/* -- actions -- */

/* Begins an action. False: memory is short; nothing has changed. */
bool hostkit_begin(struct uvmp_host *host, uint32_t index);
/* Its time is over: what takes effect at the end. */
void hostkit_end(struct uvmp_host *host, uint32_t index);

/* -- requests -- */

bool hostkit_fifo_reserve(const struct uvmp_host *host, struct hostkit_fifo *fifo, uint64_t more);
void hostkit_fifo_push(struct hostkit_fifo *fifo, const struct hostkit_event *event);
struct hostkit_event hostkit_fifo_pop(struct hostkit_fifo *fifo);
/* Does a request that frees memory wait? */
bool hostkit_is_freeing(const struct uvmp_host *host);
/* Does a range wait that has the address? */
bool hostkit_is_announced(const struct uvmp_host *host, uvmp_addr address);
/* Hands requests to the engine. True: something has changed. */
bool hostkit_submit(struct uvmp_host *host);
/* When a throttled fault of the CPU is due. */
uint64_t hostkit_retry_ns(const struct uvmp_host *host);
/* DONE of a request. */
void hostkit_request_ended(struct uvmp_host *host, uint64_t ticket, enum uvmp_status status);

/* -- faults -- */

/* A fault of a GPU occurs. */
void hostkit_stall(struct uvmp_host *host, const struct hostkit_event *event);
/* Reports faults that did not fit into the buffer. */
void hostkit_report(struct uvmp_host *host);
/* REPLAY has ended. */
void hostkit_replay(struct uvmp_host *host, uint32_t gpu);
/* CANCEL. */
void hostkit_cancel(struct uvmp_host *host, const struct uvmp_action *action);
/* DONE of a bottom half. */
void hostkit_bottom_half_ended(struct uvmp_host *host, uint32_t gpu);
/* The answers to a stalled access, or to a fault of the CPU. */
void hostkit_answer(struct uvmp_host *host, const struct uvmp_host_waiter *waiter, bool is_cancelled,
		    enum uvmp_status status);

/* -- small helpers -- */

static inline uint64_t hostkit_later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t hostkit_sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* a + b, at most HOSTKIT_NEVER - 1, so that it is a time. */
static inline uint64_t hostkit_after(uint64_t a, uint64_t b)
{
	return b < HOSTKIT_NEVER - 1u - a ? a + b : HOSTKIT_NEVER - 1u;
}

/* Home of ranges for which the caller names none. */
static inline uint32_t hostkit_home(const struct uvmp_host *host)
{
	return host->options.is_on_cpu ? UVMP_CPU : UVMP_PROC_NONE;
}

static inline uvmp_addr hostkit_page_of(const struct uvmp_host *host, uvmp_addr address)
{
	return address & ~(uvmp_addr)(host->options.page_bytes - 1u);
}

/* Address of a page of the action's block. */
static inline uvmp_addr hostkit_address(const struct uvmp_host *host, const struct uvmp_action *a, uint32_t page)
{
	return a->address + (uint64_t)page * host->options.page_bytes;
}

/* -- host_lookups.c -- */

/* The window of an address: its number, its bucket, and the window itself; NULL: the host has no such window. */
uint64_t hostkit_window_number(uvmp_addr address);
struct hostkit_window **hostkit_bucket(const struct hostkit_tables *tables, uint64_t number);
struct hostkit_window *hostkit_window(const struct uvmp_host *host, uvmp_addr address);
/* The side of the window for the processor; NULL: it has none. */
struct hostkit_side *hostkit_side_in(const struct hostkit_window *window, uint32_t processor);
/* The page of the address in its window. */
uint32_t hostkit_page_in(const struct uvmp_host *host, uvmp_addr address);
/* Where the range that holds the address, or the next higher one, is or would be. */
uint64_t hostkit_range_index(const struct hostkit_ranges *ranges, uint64_t address);

#endif
