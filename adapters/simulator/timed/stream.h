/* stream.h: streams and events: what a program has queued for the GPU and for the driver, and what has ended. Streams do
 * one thing after another, each for itself; timed_stream.c knows the things and how long they take. */
#ifndef UVMSIM_STREAM_H
#define UVMSIM_STREAM_H

#include "../workloads/workload.h"

struct stream_item {
	struct workload_op op; /* KERNEL, PREFETCH, COPY or RECORD */
	struct workload_kernel kernel;
	uint64_t issued_ns;
	uint64_t number; /* of a RECORD */
};

struct stream {
	struct stream_item *item; /* a ring */
	size_t first, count, room;
	bool is_running;  /* the first item */
	uint64_t done_ns; /* all before the first item had ended */
};

struct stream_event {
	uint64_t recorded; /* number of the last RECORD, 0: none */
	uint64_t done;	   /* of the last one of those that were reached, in any order, */
	uint64_t done_ns;  /* and when */
};

struct streams {
	struct stream stream[WORKLOAD_STREAMS];
	struct stream_event event[WORKLOAD_EVENTS];
	uint64_t records;
};

#define STREAM_MOST 1024u /* operations that a stream takes before a thread that queues more has to wait */

/* When a stream had room for one more, at the latest; UINT64_MAX: it is full, and it is not known yet. */
uint64_t streams_room_ns(const struct streams *streams, unsigned stream);
/* There is room. `kernel` is looked at for kernels. False: out of memory. */
bool streams_push(struct streams *streams, const struct workload_op *op, const struct workload_kernel *kernel,
		  uint64_t issued_ns);
/* The first item of a stream that waits to begin, and the earliest time at which it may; or NULL. */
const struct stream_item *streams_first(const struct streams *streams, unsigned stream, uint64_t *from_ns);
/* It has begun. */
void streams_begin(struct streams *streams, unsigned stream);
/* It has ended. */
void streams_end(struct streams *streams, unsigned stream, uint64_t at_ns);
/* The stream did something that was not queued until at_ns. */
void streams_extend(struct streams *streams, unsigned stream, uint64_t at_ns);
/* Nothing is queued, and all has ended by now_ns. */
bool streams_is_idle(const struct streams *streams, unsigned stream, uint64_t now_ns);

/* When a thread that waits for a WAIT_* operation continues; UINT64_MAX: not known yet. */
uint64_t streams_wait_ns(const struct streams *streams, const struct workload_op *op);
void streams_close(struct streams *streams);

#endif
