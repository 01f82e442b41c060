/* thread.h: a CPU thread in which the driver works, and what the engine's actions cost it.
 *
 * There are three (timed.h): the bottom half, the program's own, and the worker for deferred prefetches.
 * All share the engine, the GPU and the link; each has its own clock. Copies are only submitted, and end
 * later on the link; mappings, replays and threads that wait for copies come after them.
 *
 * thread.c has the loop. It calls thread_fault.c, thread_memory.c, thread_copy.c and thread_map.c, which
 * do not call each other. thread_pages.c has the pages that wait for copies: thread.c, thread_copy.c, thread_fault.c and
 * thread_map.c call it. */
#ifndef UVMSIM_THREAD_H
#define UVMSIM_THREAD_H

#include "system.h"

/* A transfer to the GPU. */
struct thread_arrival {
	const struct sim_block *block;
	uvmp_mask pages;
	uint64_t end_ns;
};

/* Pages that the engine has evicted and whose write-back has not been submitted. */
struct thread_departure {
	struct sim_block *block;
	uvmp_mask pages;
};

#define THREAD_DEPARTURES (GROUP_COPIES_MAX + 1u) /* victims in a group of copies */

struct thread {
	struct system *system;
	uint64_t now_ns;
	uint64_t
		copies_ns; /* all copies that it has submitted (the program's threads: of the call or fault in hand) have ended */
	uint64_t replay_ns;  /* its last replay has been seen */
	uint64_t evict_root; /* being emptied */
	uint64_t evicted_ns; /* what the last evictions have copied has arrived; 0: nothing to wait for */
	uint64_t
		early_ns; /* plan=unobtrusive: the batch began then, and no page was evicted for it yet; 0: one was */
	bool is_ahead;	    /* free_buffer: pages are evicted before the batch needs memory */
	uint64_t leave_ns;  /* the present victim leaves from then on; 0: when the thread gets there */
	uint64_t memory_ns; /* the memory of the block being serviced is free */
	uvmp_addr block;    /* being serviced */
	uint64_t
		end_ns; /* the action in hand ends then, or when the thread is ready with it, whichever is later */
	bool is_fault_of_cpu; /* looking at the block and mapping are part of cpu_fault_ns */
	uint64_t until_ns;    /* of the last THROTTLE; 0: none since */
	/* With pipelines_copies: the push in hand, until an action that neither copies nor populates; its block is NULL else. */
	const struct sim_block *push_block;
	enum model_direction push_direction;
	uint64_t push_bytes;
	/* for observers (watch.h) */
	enum observe_thread number;
	uint64_t start_ns; /* of the last transfer */
	bool is_batch_open, is_eviction_open;
	bool is_first_part; /* of the eviction in hand */
	struct observe_event batch, eviction;
	struct thread_arrival arrival[GROUP_STEPS_MAX]; /* with maps_copies: transfers of the batch, fault or call in hand */
	uint32_t arrivals;
	struct thread_departure departure[THREAD_DEPARTURES]; /* the same of victims whose write-back has not been submitted */
	uint32_t departures;
	/* the batch in hand */
	bool has_batch;
	uint64_t batch_ns, first_copy_ns, last_ns, batch_pages;
	uint64_t group_ns; /* its oldest fault was written; batch_ns without faults */
};

/* The thread works for `ns`, which is added to `sum`. */
static inline void thread_work(struct thread *t, uint64_t ns, uint64_t *sum)
{
	t->now_ns += ns;
	*sum += ns;
}

static inline void thread_wait(struct thread *t, uint64_t until_ns, uint64_t *sum)
{
	if (until_ns > t->now_ns)
		thread_work(t, until_ns - t->now_ns, sum);
}

/* An action, but no COPY or POPULATE, takes its time, and is seen by the GPU; `target`: what it is about.
 * False: out of memory; the host has the error. */
bool thread_perform(struct thread *t, const struct uvmp_action *action, const struct host_target *target);
/* Performs the engine's actions up to the DONE of `ticket` (0: of the bottom half), whose status is
 * *status; RETRY if the engine has nothing to do: notifications end so. False: an error of the run; the
 * host has it. */
bool thread_pump(struct thread *t, uint64_t ticket, enum uvmp_status *status);

#endif
