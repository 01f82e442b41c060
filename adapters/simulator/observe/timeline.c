/* The Chrome trace event format; timeline.h. */
#include "timeline.h"

#include <stdlib.h>

#include "quote.h"
#include "uvmpolicy/service.h"

#define PROCESS	   1
#define LANES_MOST 1024u

/* Tracks, in the order in which viewers show them. */
enum track {
	KERNELS = 0,
	STALLS,
	BATCHES,
	REPLAYS,
	EVICTIONS,
	TO_GPU,
	TO_CPU,
	ZEROS,
	PROGRAM_TO_GPU,
	PROGRAM_TO_CPU,
	DROPS,
	TRACKS
};

static const char *const names[TRACKS] = {
	"kernels",
	"stalls: no warp can run",
	"fault batches",
	"replays",
	"evictions",
	"copies to the GPU",
	"copies to the CPU",
	"zeros on the GPU",
	"program's copies to the GPU",
	"program's copies to the CPU",
	"pages dropped",
};

struct timeline {
	FILE *file;
	bool has_events;
	uint64_t end[TRACKS][LANES_MOST]; /* of the last event on each lane */
	uint32_t lanes[TRACKS];
	bool has_notes;
};

/* -- writing -- */

static void separate(struct timeline *t)
{
	fputs(t->has_events ? ",\n" : "\n", t->file);
	t->has_events = true;
}

static unsigned tid_of(enum track track, uint32_t lane)
{
	return (unsigned)track * LANES_MOST + lane + 1u;
}

static void name_lane(struct timeline *t, enum track track, uint32_t lane)
{
	unsigned tid = tid_of(track, lane);

	separate(t);
	fprintf(t->file,
		"{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"args\":{\"name\":\"%s\"}}",
		PROCESS, tid, names[track]);
	separate(t);
	fprintf(t->file,
		"{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"args\":{\"sort_index\":"
		"%u}}",
		PROCESS, tid, tid);
}

/* The first lane on which no event is under way at `start`. If all are in use, the last one: its events overlap. */
static uint32_t lane_for(struct timeline *t, enum track track, uint64_t start)
{
	uint32_t lane = 0;

	while (lane < t->lanes[track] && t->end[track][lane] > start)
		lane++;
	if (lane == LANES_MOST)
		return LANES_MOST - 1u;
	if (lane == t->lanes[track]) {
		name_lane(t, track, lane);
		t->lanes[track]++;
	}
	return lane;
}

/* -- events -- */

static enum track track_of(const struct observe_event *e)
{
	switch (e->kind) {
	case OBSERVE_KERNEL:
		return KERNELS;
	case OBSERVE_STALL:
		return STALLS;
	case OBSERVE_BATCH:
		return BATCHES;
	case OBSERVE_REPLAY:
		return REPLAYS;
	case OBSERVE_EVICTION:
		return EVICTIONS;
	case OBSERVE_ZEROS:
		return ZEROS;
	case OBSERVE_PROGRAM_COPY:
		return e->to_gpu ? PROGRAM_TO_GPU : PROGRAM_TO_CPU;
	case OBSERVE_DROP:
		return DROPS;
	default:
		return e->to_gpu ? TO_GPU : TO_CPU;
	}
}

/* The name of one event, and its arguments. */
static void write_what(FILE *out, const struct observe_event *e)
{
	static const char *const thread[OBSERVE_THREADS] = {"bottom half", "program", "deferred prefetch"};

	switch (e->kind) {
	case OBSERVE_KERNEL:
		fprintf(out, "\"name\":\"kernel %llu\",\"args\":{", (unsigned long long)e->number);
		return;
	case OBSERVE_STALL:
		fprintf(out, "\"name\":\"stall\",\"args\":{\"kernel\":%llu", (unsigned long long)e->number);
		return;
	case OBSERVE_BATCH:
		fprintf(out, "\"name\":\"batch\",\"args\":{\"faults\":%u,\"merged\":%u", e->faults,
			e->merged);
		return;
	case OBSERVE_REPLAY:
		fputs("\"name\":\"replay\",\"args\":{", out);
		return;
	case OBSERVE_EVICTION:
		fprintf(out, "\"name\":\"eviction\",\"args\":{\"block\":\"0x%llx\",\"thread\":\"%s\"",
			(unsigned long long)e->address, thread[e->thread]);
		return;
	case OBSERVE_PROGRAM_COPY:
		fprintf(out, "\"name\":\"program\",\"args\":{\"bytes\":%llu", (unsigned long long)e->bytes);
		return;
	default:
		fprintf(out,
			"\"name\":\"%s\",\"args\":{\"bytes\":%llu,\"pages\":%u,\"faulted\":%u,\"address\":"
			"\"0x%llx\"",
			uvmp_cause_name((enum uvmp_cause)e->cause), (unsigned long long)e->bytes, e->pages,
			e->faulted, (unsigned long long)e->address);
		return;
	}
}

static void take(void *context, const struct observe_event *e)
{
	struct timeline *t = context;
	enum track track = track_of(e);
	uint64_t dur = e->end - e->start;
	uint32_t lane;

	if (e->kind == OBSERVE_BLOCK) /* has no time */
		return;
	lane = lane_for(t, track, e->start);
	if (e->end > t->end[track][lane])
		t->end[track][lane] = e->end;
	separate(t);
	fprintf(t->file, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%u,\"ts\":%llu.%03u,\"dur\":%llu.%03u,", PROCESS,
		tid_of(track, lane), (unsigned long long)(e->start / 1000u), (unsigned)(e->start % 1000u),
		(unsigned long long)(dur / 1000u), (unsigned)(dur % 1000u));
	write_what(t->file, e);
	fputs("}}", t->file);
}

struct observer timeline_observer(struct timeline *t)
{
	return (struct observer){take, t};
}

/* -- the file -- */

struct timeline *timeline_open(FILE *file)
{
	struct timeline *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->file = file;
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", file);
	separate(t);
	fprintf(file,
		"{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":0,\"args\":{\"name\":\"uvmsim\"}"
		"}",
		PROCESS);
	return t;
}

/* Ends the events before the first note. */
static void write_key(struct timeline *t, const char *key)
{
	fprintf(t->file, "%s\n\"%s\":", t->has_notes ? "," : "\n],\"otherData\":{", key);
	t->has_notes = true;
}

void timeline_say(struct timeline *t, const char *key, const char *text)
{
	write_key(t, key);
	quote_json(text, t->file);
}

void timeline_say_number(struct timeline *t, const char *key, uint64_t number)
{
	write_key(t, key);
	fprintf(t->file, "%llu", (unsigned long long)number);
}

void timeline_close(struct timeline *t)
{
	fputs(t->has_notes ? "}}\n" : "\n]}\n", t->file);
	free(t);
}
