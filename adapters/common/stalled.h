/* stalled.h: the queue of stalled faults of a host, in the order of faulting. Freestanding: the kernel module uses it,
 * too. The simulator decides the same from the same faults (adapters/simulator/agents.h).
 *
 * A fault is reported to the engine when it occurs; if the engine's fault buffer is full, as soon as an entry is free. At a
 * replay the faults whose page has arrived are resumed. The others would only fault again: they are reported again at
 * once, first those that had not been reported since the replay before.
 *
 * The host gives two functions:
 *   report  puts the fault into the engine's fault buffer; false: the buffer is full
 *   resume  at a replay: true if the fault can go on, after the host has let it go */
#ifndef UVMP_HOST_STALLED_H
#define UVMP_HOST_STALLED_H

#include "uvmpolicy/base.h"

/* If so many bottom halves in a row resume no fault, the host should let all go: each can be killed in between. */
#define STALLED_IDLE_MOST 1000u
/* How much the engine's clock advances at a replay, in ns; the simulator's does the same. */
#define STALLED_REPLAY_NS 1000u

struct stalled {
	uint64_t address; /* of the page */
	uint64_t space, since_ns;
	uint64_t warp; /* the host's own number of the thread */
	uint32_t gpu;
	uint32_t agent;	 /* number of the thread, or uTLB */
	uint32_t thread; /* the operating system's number; 0: not known */
	uint8_t access;	 /* enum uvmp_access */
	bool is_cancelled;
	bool is_reported, was_reported; /* since the last replay; before that replay */
};

struct stalled_queue {
	struct stalled *fault; /* [capacity], the host's memory */
	uint32_t count, capacity;
	uint32_t unreported; /* of them, since the last replay */
	uint32_t idle;	     /* bottom halves in a row that resumed no fault */
	bool is_resumed;     /* this bottom half has resumed a fault */
};

typedef bool stalled_function(void *host, const struct stalled *fault);

/* Appends a fault and reports it. The queue must have space. */
static inline void stalled_add(struct stalled_queue *queue, const struct stalled *fault,
			       stalled_function *report, void *host)
{
	struct stalled *own = &queue->fault[queue->count++];

	*own = *fault;
	own->is_reported = report(host, own);
	queue->unreported += !own->is_reported;
}

static inline void stalled_report_some(struct stalled_queue *queue, bool were_reported,
				       stalled_function *report, void *host)
{
	for (uint32_t i = 0; i < queue->count && queue->unreported != 0; i++) {
		struct stalled *fault = &queue->fault[i];

		if (fault->is_reported || fault->was_reported != were_reported)
			continue;
		if (!report(host, fault))
			return;
		fault->is_reported = true;
		queue->unreported--;
	}
}

/* The engine's buffer may have free entries: reports the faults that it refused, oldest first. */
static inline void stalled_report(struct stalled_queue *queue, stalled_function *report, void *host)
{
	if (queue->unreported == 0)
		return;
	for (uint32_t i = 0; i < queue->count; i++)
		queue->fault[i].was_reported = false;
	stalled_report_some(queue, false, report, host);
}

/* A replay of `gpu`: removes the faults that are resumed. stalled_report_again must follow. */
static inline void stalled_replay(struct stalled_queue *queue, uint32_t gpu, stalled_function *resume,
				  void *host)
{
	uint32_t kept = 0;

	queue->unreported = 0;
	for (uint32_t i = 0; i < queue->count; i++) {
		struct stalled fault = queue->fault[i];

		if (fault.gpu == gpu && resume(host, &fault)) {
			queue->is_resumed = true;
			continue;
		}
		fault.was_reported = fault.is_reported;
		fault.is_reported = fault.is_reported && fault.gpu != gpu;
		queue->unreported += !fault.is_reported;
		queue->fault[kept++] = fault;
	}
	queue->count = kept;
}

/* Reports the faults that remain after a replay. */
static inline void stalled_report_again(struct stalled_queue *queue, stalled_function *report, void *host)
{
	stalled_report_some(queue, false, report, host);
	stalled_report_some(queue, true, report, host);
}

/* Removes the faults for which `is_removed` is true; they count as resumed. */
static inline void stalled_remove(struct stalled_queue *queue, stalled_function *is_removed, void *host)
{
	uint32_t kept = 0;

	queue->unreported = 0;
	for (uint32_t i = 0; i < queue->count; i++) {
		struct stalled fault = queue->fault[i];

		if (is_removed(host, &fault)) {
			queue->is_resumed = true;
			continue;
		}
		queue->unreported += !fault.is_reported;
		queue->fault[kept++] = fault;
	}
	queue->count = kept;
}

/* Forgets all faults. */
static inline void stalled_clear(struct stalled_queue *queue)
{
	queue->count = queue->unreported = queue->idle = 0;
}

/* A bottom half has ended. True: it resumed no fault, and some are stalled. Then no fault is resumed before
 * the throttled faults may be: the host advances the engine's clock to their time. If stalled_is_stuck, the
 * host should resume all of them. */
static inline bool stalled_is_idle(struct stalled_queue *queue)
{
	bool is_idle = !queue->is_resumed && queue->count != 0;

	queue->is_resumed = false;
	queue->idle = is_idle ? queue->idle + 1u : 0;
	return is_idle;
}

static inline bool stalled_is_stuck(const struct stalled_queue *queue)
{
	return queue->idle >= STALLED_IDLE_MOST;
}

#endif
