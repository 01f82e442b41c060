/* emu_bottom.h: what the files of the bottom half share. All of it belongs to the worker, under
 * driver->engine_lock. emu.h has the list of files. */
#ifndef EMU_BOTTOM_H
#define EMU_BOTTOM_H

#include "emu.h"
#include "engine_setup.h"
#include "stalled.h"

#include <linux/idr.h>

#define EMU_TRACED_SPACE 1u
#define EMU_TRACED_GPU	 1u
#define EMU_SEGMENTS	 8u  /* arena segments that an engine accepts */
#define EMU_UTLBS_MAX	 SETUP_UTLBS
#define EMU_DEPARTING	 64u
#define EMU_NO_ROOT	 U64_MAX
#define EMU_REQUESTS	 32u /* taken in a round, and at most in the engine at a time */

struct emu_engine {
	struct uvmp_service *service;
	void *segment[EMU_SEGMENTS]; /* of arena */
	u32 segments;
	u64 bytes;
	u64 retry_grow_ns;	 /* the arena could not grow: no attempt before this time of ktime_get_ns */
	u32 fault_capacity;	 /* faults that the engine's buffers hold; as many warps can be stalled */
	struct stalled *stalled; /* [fault_capacity] */
	struct uvmp_fault *fetched; /* [fault_capacity] */
};

/* Pages whose frame on a processor may become free once the engine has moved them. */
struct emu_departing {
	u64 space, address;
	u64 root; /* root of the GPU's memory that is being evicted; EMU_NO_ROOT: none */
	u32 from;
	uvmp_mask pages;
};

struct emu_bottom {
	struct emu_driver *driver;
	struct xarray spaces;
	struct list_head pending; /* requests that were not taken yet */
	struct list_head asked;	  /* requests given to the engine, by ticket */
	u32 asked_count;	  /* their number */
	u32 taken;		  /* requests, in this round */
	struct list_head held;	  /* requests held for the end of a round */
	struct list_head due;	  /* requests due at the end of this round */
	struct emu_engine engine;
	/* time */
	u64 start_ns;	     /* time of ktime_get_ns at the engine's time 0 */
	u64 now_ns;	     /* the engine's clock */
	u64 throttled_ns;    /* until_ns of the last THROTTLE that has not delayed a warp yet; 0: none */
	u64 paused_until_ns; /* no warp could continue before this time; 0: not paused */
	u64 ended_ticket;    /* of the last request that has ended */
	int ended_status;    /* its enum uvmp_status */
	u64 retry_space, retry_address, retry_ns; /* a throttled CPU fault is retried */
	/* faults */
	struct stalled_queue stalled; /* warps; `agent` is the uTLB */
	u32 agents[EMU_UTLBS_MAX];    /* agents numbered in this round, by uTLB */
	bool is_ending;		      /* the timer is not started again */
	bool is_changing;	      /* the policy is being changed: no request is taken */
	bool wants_touches;
	bool counts_pages; /* the eviction order counts pages; frames of units are ignored */
	struct ida frame_numbers[EMU_PROCS]; /* then: page numbers of a GPU's memory in use */
	struct emu_departing departing[EMU_DEPARTING];
	u32 departing_count;
	struct emu_departing evicting; /* the block of an evicted root whose copies may still fail */
	bool is_evicting;	       /* it is valid */
	/* too large for the stack */
	uvmp_mask moved; /* pages that the latest COPY or POPULATE has moved, even if it failed */
	struct uvmp_action made;
	char line[UVMP_ACTION_TEXT_MAX + 1u];
};

static inline struct emu_gpu *emu_gpu_of(struct emu_bottom *bottom, u32 processor)
{
	return &bottom->driver->gpu[processor - 1u];
}

/* -- emu_base.c -- */

u64 emu_clock(const struct emu_bottom *bottom); /* the present time of the engine's clock */
void emu_pass_time(struct emu_bottom *bottom);	/* advances now_ns to it */

/* -- emu_pump.c -- */

/* Performs actions until the engine has none or, if is_until_done, until the next DONE. False: paused. */
bool emu_pump(struct emu_bottom *bottom, bool is_until_done);

/* emu_request.c */
void emu_request_init(struct emu_bottom *bottom);
bool emu_request_take(struct emu_bottom *bottom); /* takes new requests; true: there were some */
void emu_request_answer(struct emu_bottom *bottom, u64 ticket,
			enum uvmp_status status); /* of a request of the engine */
/* A round begins with reading the rings: requests held until then are due at its end. */
void emu_request_begin_reading(struct emu_bottom *bottom);
/* Ends due submissions. Returns the next change of policy that is due, for the caller to perform and to finish, or NULL. */
struct emu_request *emu_request_end_due(struct emu_bottom *bottom);
void emu_request_finish(struct emu_request *request, int status);
bool emu_request_is_held(const struct emu_bottom *bottom); /* requests held for another round, or
							    * not taken yet */

/* emu_engine.c. Init and change write to the kernel log why they refuse. */
int emu_engine_init(struct emu_bottom *bottom);
void emu_engine_exit(struct emu_bottom *bottom);
void emu_engine_grow(struct emu_bottom *bottom); /* if little arena is left */
int emu_engine_bind(struct emu_bottom *bottom, struct uvmp_service *service, u64 space);
void emu_engine_unbind(struct emu_bottom *bottom, u64 space);
/* Makes an engine with another policy; frees one; puts one in force. */
int emu_engine_make(struct emu_bottom *bottom, const struct uvmp_policy *policy, struct emu_engine *engine);
void emu_engine_free(struct emu_engine *engine);
void emu_engine_take(struct emu_bottom *bottom, const struct uvmp_policy *policy,
		     const struct emu_engine *engine);
/* Writes to the kernel log why a policy is refused, and returns the error. */
int emu_engine_refuse(int error, const char *why);

/* emu_change.c: puts another policy in force. The engine has nothing to do. */
int emu_change_policy(struct emu_bottom *bottom, const struct uvmp_policy *policy);

/* emu_advice.c. Reserve: before the engine gets the advice; 0, or -ENOMEM: too much other advice in
 * force, or no memory. Then keep, if the engine accepts it, or release. */
int emu_advice_reserve(struct emu_space *space, u64 address, u64 bytes, u32 advice, u32 processor,
		       struct emu_advice **reserved);
void emu_advice_keep(struct emu_space *space, struct emu_advice *reserved);
void emu_advice_release(struct emu_space *space, struct emu_advice *reserved);
void emu_advice_unmap(struct emu_range *range, u64 address, u64 bytes); /* pages of the range are about
									 * to be unmapped */
void emu_advice_close(struct emu_space *space);				/* the space has no managed memory */
typedef void emu_advice_use(struct emu_space *space, u64 address, u64 bytes, u32 advice, u32 processor,
			    void *argument);
void emu_advice_repeat(struct emu_space *space, emu_advice_use *use,
		       void *argument); /* piece by piece, the oldest first */

/* emu_reports.c: takes the reports of the GPUs. True: there were some. */
bool emu_reports_take(struct emu_bottom *bottom);

/* emu_stalled.c */
bool emu_stalled_is_open(struct emu_bottom *bottom, u64 space);
const struct emu_page *emu_stalled_page(struct emu_bottom *bottom, u64 space, u64 address);
bool emu_stalled_may(const struct emu_page *page, u32 gpu, u8 access);
/* Adds a fault and reports it to the engine. False: no warp waits for it. */
bool emu_stalled_add(struct emu_bottom *bottom, const struct stalled *fault);
void emu_stalled_replay_only(struct emu_gpu *gpu);
void emu_stalled_report(struct emu_bottom *bottom);
void emu_stalled_replay(struct emu_bottom *bottom, u32 gpu);
void emu_stalled_cancel(struct emu_bottom *bottom, u32 gpu, u64 space, u64 address, bool only_writes);
void emu_stalled_bottom_half_ended(struct emu_bottom *bottom);
void emu_stalled_give_up(struct emu_bottom *bottom); /* all warps retry */

/* emu_record.c. Rows of the first space, of its GPU 1 and of the CPU. */
void emu_record_begin(struct emu_bottom *bottom);
void emu_record_range(struct emu_bottom *bottom, u64 space, u64 base, u64 bytes, bool is_fresh);
void emu_record_access(struct emu_bottom *bottom, u64 space, u32 gpu, u32 agent, u8 access,
		       u64 address); /* gpu 0: CPU */
void emu_record_batch(struct emu_bottom *bottom);
void emu_record_free(struct emu_bottom *bottom, u64 space, u64 base);
void emu_record_free_part(struct emu_bottom *bottom, u64 space, u64 address, u64 bytes);
void emu_record_prefetch(struct emu_bottom *bottom, u64 space, u32 processor, u64 address, u64 bytes);
void emu_record_advise(struct emu_bottom *bottom, u64 space, u32 advice, u32 processor, u64 address,
		       u64 bytes);
void emu_record_kernel(struct emu_bottom *bottom, u64 space, u32 gpu, bool is_begin);

/* emu_residency.c */
void emu_residency_init(struct emu_bottom *bottom);
void emu_residency_exit(struct emu_bottom *bottom);
/* Does a processor map the page in its frame on `on`, with at least this right? */
bool emu_residency_is_used(const struct emu_page *page, u32 on, enum uvmp_right right);
bool emu_residency_is_mapped(const struct emu_page *page, u32 on);
/* Attaches a frame to the page. Note: in a frame of a chunk the page that owns it; where pages are
 * counted, its number. */
void emu_residency_attach(struct emu_page *page, u32 processor, struct page *frame, unsigned long note);
void emu_residency_detach(struct emu_page *page, u32 processor);
/* Gives the page a frame on the processor, if it has none. */
enum uvmp_status emu_residency_add_frame(struct emu_bottom *bottom, struct emu_page *page, u32 processor);
bool emu_residency_add_cpu_frame(struct emu_bottom *bottom, struct emu_page *page);
/* Pages of the action's block leave `from`, once the engine has moved them. Evict and end_eviction: the same
 * for a block's memory in a root. Arriving: the pages of the action do not leave `to`. */
void emu_residency_departing(struct emu_bottom *bottom, const struct uvmp_action *action, u32 from,
			     const uvmp_mask *pages);
void emu_residency_evict(struct emu_bottom *bottom, const struct uvmp_action *action);
void emu_residency_end_eviction(struct emu_bottom *bottom, const struct uvmp_action *next);
void emu_residency_arriving(struct emu_bottom *bottom, const struct uvmp_action *action);
/* Frees the frames of pages that have departed. is_all: at the end of an operation, all notes are
 * dropped. */
void emu_residency_settle(struct emu_bottom *bottom, bool is_all);
/* [address, address + bytes) has no data on GPUs. */
void emu_residency_forget(struct emu_bottom *bottom, struct emu_space *space, u64 address, u64 bytes);

/* emu_perform.c */
/* The page is resident on the CPU but was never used: gives it a frame, and maps it with `right`. */
int emu_perform_first_use(struct emu_bottom *bottom, struct emu_space *space, u64 address,
			  enum uvmp_right right);

#endif
