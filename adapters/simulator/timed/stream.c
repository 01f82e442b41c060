#include "stream.h"

#include <stdlib.h>

#define ROOM 64u

uint64_t streams_room_ns(const struct streams *streams, unsigned stream)
{
	const struct stream *s = &streams->stream[stream];

	return s->count < STREAM_MOST ? s->done_ns : UINT64_MAX;
}

bool streams_push(struct streams *streams, const struct workload_op *op, const struct workload_kernel *kernel,
		  uint64_t issued_ns)
{
	struct stream *s = &streams->stream[op->stream];
	struct stream_item *item;

	if (s->count == s->room) {
		size_t room = s->room ? 2 * s->room : ROOM;
		struct stream_item *fresh = malloc(room * sizeof(*fresh));

		if (!fresh)
			return false;
		for (size_t i = 0; i < s->count; i++)
			fresh[i] = s->item[(s->first + i) % s->room];
		free(s->item);
		s->item = fresh;
		s->room = room;
		s->first = 0;
	}
	item = &s->item[(s->first + s->count++) % s->room];
	*item = (struct stream_item){.op = *op, .issued_ns = issued_ns};
	if (op->kind == WORKLOAD_KERNEL)
		item->kernel = *kernel;
	if (op->kind == WORKLOAD_RECORD)
		item->number = streams->event[op->event].recorded = ++streams->records;
	return true;
}

const struct stream_item *streams_first(const struct streams *streams, unsigned stream, uint64_t *from_ns)
{
	const struct stream *s = &streams->stream[stream];
	const struct stream_item *item;

	if (s->count == 0 || s->is_running)
		return NULL;
	item = &s->item[s->first];
	*from_ns = item->issued_ns > s->done_ns ? item->issued_ns : s->done_ns;
	return item;
}

void streams_begin(struct streams *streams, unsigned stream)
{
	streams->stream[stream].is_running = true;
}

void streams_end(struct streams *streams, unsigned stream, uint64_t at_ns)
{
	struct stream *s = &streams->stream[stream];
	const struct stream_item *item = &s->item[s->first];

	streams_extend(streams, stream, at_ns);
	if (item->op.kind == WORKLOAD_RECORD && item->number > streams->event[item->op.event].done) {
		streams->event[item->op.event].done = item->number;
		streams->event[item->op.event].done_ns = s->done_ns;
	}
	s->first = (s->first + 1) % s->room;
	s->count--;
	s->is_running = false;
}

void streams_extend(struct streams *streams, unsigned stream, uint64_t at_ns)
{
	struct stream *s = &streams->stream[stream];

	if (s->done_ns < at_ns)
		s->done_ns = at_ns;
}

bool streams_is_idle(const struct streams *streams, unsigned stream, uint64_t now_ns)
{
	const struct stream *s = &streams->stream[stream];

	return s->count == 0 && s->done_ns <= now_ns;
}

uint64_t streams_wait_ns(const struct streams *streams, const struct workload_op *op)
{
	const struct stream_event *event = &streams->event[op->event];
	uint64_t ns = 0;

	if (op->kind == WORKLOAD_WAIT_EVENT) {
		if (event->recorded == 0)
			return 0;
		return event->done == event->recorded ? event->done_ns : UINT64_MAX;
	}
	for (unsigned i = 0; i < WORKLOAD_STREAMS; i++) {
		const struct stream *s = &streams->stream[i];

		if (op->kind != WORKLOAD_WAIT_ALL && i != op->stream)
			continue;
		if (s->count != 0)
			return UINT64_MAX;
		ns = s->done_ns > ns ? s->done_ns : ns;
	}
	return ns;
}

void streams_close(struct streams *streams)
{
	for (unsigned i = 0; i < WORKLOAD_STREAMS; i++)
		free(streams->stream[i].item);
}
