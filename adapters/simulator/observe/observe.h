/* observe.h: how a run tells others of what happens in it.
 *
 * A run has a list of observers, or none. Each observer gets every event, in the order in which the run decides them; an
 * event that lasts is told when its end is known, so that starts need not be in order. With a GPU model, times are ns of
 * simulated time. Without, the clock is the number of faults fetched so far, and nothing lasts. A run without observers
 * asks one pointer for each transfer of pages.
 */
#ifndef UVMSIM_OBSERVE_H
#define UVMSIM_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uvmpolicy/mask.h"

#define OBSERVERS_MOST 2u

enum observe_kind {
	OBSERVE_KERNEL = 0,   /* from its launch to its end: number */
	OBSERVE_STALL,	      /* a kernel was on the GPU, and no warp could run */
	OBSERVE_BATCH,	      /* the driver's thread services a fault batch: faults, merged */
	OBSERVE_COPY,	      /* managed pages cross the link: pages, bytes, to_gpu, cause */
	OBSERVE_ZEROS,	      /* pages that begin as zeros on the GPU: pages, bytes, cause */
	OBSERVE_PROGRAM_COPY, /* the program's own copy of memory that is not managed: bytes, to_gpu */
	OBSERVE_DROP,	      /* pages leave the GPU without a copy: pages, cause */
	OBSERVE_EVICTION,     /* a thread of the driver chooses a victim and unmaps it */
	OBSERVE_BLOCK,	      /* a VABlock of a managed allocation, before its pages are used: pages, bytes, name, number */
	OBSERVE_REPLAY,	      /* from the end of the copies that it waits for until the GPU has seen it */
	OBSERVE_KINDS
};

/* In which a driver's action takes place. */
enum observe_thread { OBSERVE_BOTTOM_HALF = 0, OBSERVE_PROGRAM, OBSERVE_DEFERRED, OBSERVE_THREADS };

struct observe_event {
	enum observe_kind kind;
	enum observe_thread thread;
	uint64_t start, end;
	uint64_t number; /* kernel, counted from 1; block, counted from 0 in its allocation */
	const char *name; /* of the allocation; while the observer is called */
	uint32_t faults, merged;
	/* pages: a run in one VABlock */
	uint64_t address;      /* of its first page */
	uint64_t page;	       /* that page, counted over all ranges in the order in which they were added */
	uint32_t first, pages; /* that page in its VABlock; how many */
	uint32_t faulted;      /* the last so many faulted; the others were prefetched or requested */
	const uvmp_mask *evicted; /* pages of the VABlock that were evicted before; NULL: none */
	uint64_t bytes;
	bool to_gpu;
	uint32_t cause; /* enum uvmp_cause */
};

struct observer {
	void (*take)(void *context, const struct observe_event *event);
	void *context;
};

struct observers {
	size_t count;
	struct observer list[OBSERVERS_MOST];
};

static inline void observe_add(struct observers *all, struct observer observer)
{
	all->list[all->count++] = observer;
}

static inline void observe_tell(const struct observers *all, const struct observe_event *event)
{
	for (size_t i = 0; i < all->count; i++)
		all->list[i].take(all->list[i].context, event);
}

#endif
