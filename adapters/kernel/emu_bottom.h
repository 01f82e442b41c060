/* emu_bottom.h: what the files of the bottom half share. All of it belongs to the worker, under driver->engine_lock.
 *
 *   emu_bottom.c   the worker's turn: what comes in, what is pumped, when it rests
 *   emu_request.c  what programs ask for, and the answers
 *   emu_engine.c   the engine: built, grown, and replaced by one with another policy
 *   emu_advice.c   advice that is in force, to be said again to a new engine
 *   emu_waiting.c  what GPUs report: faults of warps that wait, touches, notifications
 *   emu_record.c   the trace, so that the simulator sees the same events in the same order
 *   emu_perform.c  actions
 *   emu_place.c    where pages lie, and the frames of those that leave */
#ifndef EMU_BOTTOM_H
#define EMU_BOTTOM_H

#include "emu.h"

#include <linux/idr.h>

#define EMU_TRACED_SPACE 1u
#define EMU_TRACED_GPU	 1u
#define EMU_PIECES	 8u  /* of arena: no engine takes more */
#define EMU_UTLBS_MAX	 64u /* the simulator's */
#define EMU_LEAVING	 64u
#define EMU_NO_ROOT	 U64_MAX
#define EMU_REQUESTS	 32u /* that a round takes, so that the engine has no more at a time */

/* A fault that the engine was told of and that has not been answered. */
struct emu_waiting {
	u64 space, address; /* of the page */
	u32 gpu, utlb;
	u8 access;
	bool is_told, was_told; /* since the last replay, and before it */
};

struct emu_engine {
	struct uvmp_service *service;
	void *piece[EMU_PIECES]; /* of arena */
	u32 pieces;
	u64 bytes;
	u64 short_ns; /* there was no memory to make it grow: not before then again, on ktime_get_ns */
	u32 fault_room; /* of its fault buffers; as many can wait */
	struct emu_waiting *waiting; /* [fault_room] */
	struct uvmp_fault *fetched;  /* [fault_room] */
};

/* Pages whose frame on a processor may be free as soon as the engine has finished with them. */
struct emu_leaving {
	u64 space, address;
	u64 root; /* of the GPU's memory, that they lie in chunks of and are evicted from; EMU_NO_ROOT: none */
	u32 from;
	uvmp_mask pages;
};

struct emu_bottom {
	struct emu_driver *driver;
	struct xarray spaces;
	struct list_head pending; /* requests that were not looked at yet */
	struct list_head asked;	  /* those that the engine has, by ticket, */
	u32 asked_count;	  /* so many */
	u32 taken;		  /* requests, in this round */
	struct list_head held;	  /* those that are for the end of a round, */
	struct list_head due;	  /* and of this one */
	struct emu_engine engine;
	/* time */
	u64 start_ns;	      /* of the engine's clock, on ktime_get_ns */
	u64 now_ns;	      /* the engine's clock */
	u64 throttled_ns;     /* until_ns of the last THROTTLE that nobody has waited for; 0: none */
	u64 rest_ns;	      /* nobody could go on: until then; 0: no rest */
	u64 ended_ticket; /* of the last request that has ended, */
	int ended_status; /* and how: enum uvmp_status */
	u64 retry_space, retry_address, retry_ns; /* a CPU fault that was throttled comes again */
	/* faults */
	u32 waitings, untold; /* in the order of faulting; of them, not told since the last replay */
	u32 idle;	      /* bottom halves in a row that released nobody */
	u32 agents[EMU_UTLBS_MAX]; /* numbers given in this round, by uTLB */
	bool is_released;	   /* a warp went on in this bottom half */
	bool is_ending;	   /* no timer any more */
	bool is_changing;  /* the policy: nothing new comes in */
	bool wants_touches;
	bool counts_pages;	   /* the order does, and tells of no chunks */
	struct ida place[EMU_PROCS]; /* then: page numbers in a GPU's memory that are taken */
	struct emu_leaving leaving[EMU_LEAVING];
	u32 leavings;
	struct emu_leaving evicting; /* a block's memory in a root, while copies of it may fail, */
	bool is_evicting;	     /* if there is one */
	/* room that is too large for a stack */
	struct uvmp_action action, made;
	char line[UVMP_ACTION_TEXT_MAX + 1u];
};

static inline struct emu_gpu *emu_gpu_of(struct emu_bottom *bottom, u32 processor)
{
	return &bottom->driver->gpu[processor - 1u];
}

/* -- emu_base.c -- */

u64 emu_clock(const struct emu_bottom *bottom); /* what the engine's clock would say now */
void emu_pass_time(struct emu_bottom *bottom);	/* and it does */

/* -- emu_pump.c -- */

/* Performs actions until the engine has none or, if is_until_done, until the next DONE. False: it rests. */
bool emu_pump(struct emu_bottom *bottom, bool is_until_done);

/* emu_request.c */
void emu_request_init(struct emu_bottom *bottom);
bool emu_request_take(struct emu_bottom *bottom); /* those that have come; true: there were some */
void emu_request_answer(struct emu_bottom *bottom, u64 ticket, enum uvmp_status status); /* the engine's */
/* A round begins with reading the rings: who is held until then is due at its end. Due: the end has come, the engine has nothing to do. */
void emu_request_begin_reading(struct emu_bottom *bottom);
/* Ends due submissions. Returns the next change of policy that is due, for the caller to perform and to finish, or NULL. */
struct emu_request *emu_request_end_due(struct emu_bottom *bottom);
void emu_request_finish(struct emu_request *request, int status);
bool emu_request_is_held(const struct emu_bottom *bottom); /* for another round, or not taken yet */

/* emu_engine.c. Init and change say in the kernel log why they refuse. */
int emu_engine_init(struct emu_bottom *bottom);
void emu_engine_exit(struct emu_bottom *bottom);
void emu_engine_grow(struct emu_bottom *bottom); /* if it is running short */
int emu_engine_bind(struct emu_bottom *bottom, struct uvmp_service *service, u64 space);
void emu_engine_unbind(struct emu_bottom *bottom, u64 space);
/* Makes an engine with another policy; frees one; puts one in force. */
int emu_engine_make(struct emu_bottom *bottom, const struct uvmp_policy *policy, struct emu_engine *engine);
void emu_engine_free(struct emu_engine *engine);
void emu_engine_take(struct emu_bottom *bottom, const struct uvmp_policy *policy, const struct emu_engine *engine);
/* Writes to the kernel log why a policy is refused, and returns the error. */
int emu_engine_refuse(int error, const char *why);

/* emu_change.c: puts another policy in force. The engine has nothing to do. */
int emu_change_policy(struct emu_bottom *bottom, const struct uvmp_policy *policy);

/* emu_advice.c. Reserve: room for one piece, before the engine is asked; 0, or -ENOMEM: too many that it does not replace, or no memory.
 * Then either keep, when the engine has taken it, or release. */
int emu_advice_reserve(struct emu_space *space, u64 address, u64 bytes, u32 advice, u32 processor, struct emu_advice **reserved);
void emu_advice_keep(struct emu_space *space, struct emu_advice *reserved);
void emu_advice_release(struct emu_space *space, struct emu_advice *reserved);
void emu_advice_leave(struct emu_range *range, u64 address, u64 bytes); /* a part of the range that is about to leave the space */
void emu_advice_end(struct emu_space *space); /* nothing is managed any more */
typedef void emu_advice_use(struct emu_space *space, u64 address, u64 bytes, u32 advice, u32 processor, void *argument);
void emu_advice_repeat(struct emu_space *space, emu_advice_use *use, void *argument); /* piece by piece, the oldest first */

/* emu_reports.c: what the GPUs have; true: something was there */
bool emu_reports_take(struct emu_bottom *bottom);

/* emu_stalled.c */
bool emu_stalled_is_open(struct emu_bottom *bottom, u64 space);
const struct emu_page *emu_stalled_page(struct emu_bottom *bottom, u64 space, u64 address);
bool emu_stalled_may(const struct emu_page *page, u32 gpu, u8 access);
/* Tells the engine of the fault. False: no warp waits for it. */
bool emu_stalled_add(struct emu_bottom *bottom, const struct emu_waiting *stalled);
void emu_stalled_replay_only(struct emu_gpu *gpu);
void emu_waiting_report(struct emu_bottom *bottom);
void emu_waiting_replay(struct emu_bottom *bottom, u32 gpu);
void emu_waiting_cancel(struct emu_bottom *bottom, u32 gpu, u64 space, u64 address, bool only_writes);
void emu_waiting_bottom_half_ended(struct emu_bottom *bottom);
void emu_waiting_give_up(struct emu_bottom *bottom); /* all warps try anew */

/* emu_record.c. Rows of the first space, and of its GPU 1 and CPU. */
void emu_record_begin(struct emu_bottom *bottom);
void emu_record_range(struct emu_bottom *bottom, u64 space, u64 base, u64 bytes, bool is_fresh);
void emu_record_access(struct emu_bottom *bottom, u64 space, u32 gpu, u32 agent, u8 access, u64 address); /* gpu 0: CPU */
void emu_record_batch(struct emu_bottom *bottom);
void emu_record_free(struct emu_bottom *bottom, u64 space, u64 base);
void emu_record_free_part(struct emu_bottom *bottom, u64 space, u64 address, u64 bytes);
void emu_record_prefetch(struct emu_bottom *bottom, u64 space, u32 processor, u64 address, u64 bytes);
void emu_record_advise(struct emu_bottom *bottom, u64 space, u32 advice, u32 processor, u64 address, u64 bytes);
void emu_record_kernel(struct emu_bottom *bottom, u64 space, u32 gpu, bool is_begin);

/* emu_place.c */
void emu_place_init(struct emu_bottom *bottom);
void emu_place_exit(struct emu_bottom *bottom);
/* Has anybody the page mapped in its frame on this processor, with at least this right? */
bool emu_place_is_used(const struct emu_page *page, u32 on, enum uvmp_prot right);
bool emu_place_is_mapped(const struct emu_page *page, u32 on);
/* The frame is the page's. Note: whose data lies in a frame of a chunk (the page); where places are counted, which one it is. */
void emu_place_lay(struct emu_page *page, u32 processor, struct page *frame, unsigned long note);
void emu_place_lift(struct emu_page *page, u32 processor);
/* A frame for what comes, if there is none. */
enum uvmp_status emu_place_take(struct emu_bottom *bottom, struct emu_page *page, u32 processor);
bool emu_place_take_cpu(struct emu_bottom *bottom, struct emu_page *page);
/* The action's pages leave `from`, once the engine says that they have. Evict, its end: the same of a block's memory in a root. Coming: they do not leave `to`. */
void emu_place_leaving(struct emu_bottom *bottom, const struct uvmp_action *action, u32 from);
void emu_place_evict(struct emu_bottom *bottom, const struct uvmp_action *action);
void emu_place_end_eviction(struct emu_bottom *bottom, const struct uvmp_action *next);
void emu_place_coming(struct emu_bottom *bottom, const struct uvmp_action *action);
/* Pages that have left by now give their frames back; all of them: at the end of an operation, what has not left stays. */
void emu_place_settle(struct emu_bottom *bottom, bool is_all);
/* [address, address + bytes) is nobody's any more: no data on GPUs. */
void emu_place_forget(struct emu_bottom *bottom, struct emu_space *space, u64 address, u64 bytes);

/* emu_perform.c */
/* The CPU holds the page as the engine sees it, but has never used it: it gets a frame, and may use it with `right`. */
int emu_perform_home(struct emu_bottom *bottom, struct emu_space *space, u64 address, enum uvmp_prot right);

#endif
