/* Events of a real GPU as a trace: sorted by time. A range that no event has announced stands before its first fault. */
#include "record.h"

#include <stdlib.h>
#include <string.h>

#define PAGE  UINT64_C(4096)
#define BLOCK UINT64_C(2097152)

enum kind { RANGE = 0, FREE, KERNEL, GPU_FAULT, CPU_FAULT };

struct event {
	uint64_t start, end, address, bytes;
	size_t order; /* of arrival: events of one time keep it */
	enum kind kind;
	char access;
	char *name;
};

struct cuda_record {
	struct event *event;
	size_t count, room;
	uint64_t lost, dropped;
};

/* A declared range, half-open. */
struct span {
	uint64_t base, end;
};

/* Writing. */
struct writer {
	FILE *out;
	struct span *span;
	size_t spans;
	uint64_t kernel_end; /* the latest of the kernels so far */
	uint64_t group_end;  /* of the faults that are serviced together */
	uint32_t agents;     /* of the open group; 0: no group is open */
	bool needs_sync;
};

struct cuda_record *cuda_record_open(void)
{
	return calloc(1, sizeof(struct cuda_record));
}

void cuda_record_close(struct cuda_record *record)
{
	for (size_t i = 0; record && i < record->count; i++)
		free(record->event[i].name);
	if (record)
		free(record->event);
	free(record);
}

static struct event *add(struct cuda_record *record, enum kind kind, uint64_t start_ns, uint64_t end_ns)
{
	if (record->count == record->room) {
		size_t room = record->room != 0 ? 2 * record->room : 1024;
		struct event *event = realloc(record->event, room * sizeof(*event));

		if (!event) {
			record->lost++;
			return NULL;
		}
		record->event = event;
		record->room = room;
	}
	record->event[record->count] = (struct event){
		.kind = kind, .start = start_ns, .end = end_ns > start_ns ? end_ns : start_ns, .order = record->count};
	return &record->event[record->count++];
}

void cuda_record_range(struct cuda_record *record, uint64_t time_ns, uint64_t base, uint64_t bytes)
{
	struct event *event = bytes != 0 ? add(record, RANGE, time_ns, time_ns) : NULL;

	if (!event)
		return;
	event->address = base & ~(PAGE - 1);
	event->bytes = (base + bytes + PAGE - 1) / PAGE * PAGE - event->address;
}

void cuda_record_free(struct cuda_record *record, uint64_t time_ns, uint64_t base)
{
	struct event *event = add(record, FREE, time_ns, time_ns);

	if (event)
		event->address = base & ~(PAGE - 1);
}

void cuda_record_kernel(struct cuda_record *record, uint64_t start_ns, uint64_t end_ns, const char *name)
{
	struct event *event = add(record, KERNEL, start_ns, end_ns);

	if (event)
		event->name = strdup(name ? name : "");
}

void cuda_record_gpu_fault(struct cuda_record *record, uint64_t start_ns, uint64_t end_ns, uint64_t address, char access)
{
	struct event *event = add(record, GPU_FAULT, start_ns, end_ns);

	if (event) {
		event->address = address;
		event->access = access;
	}
}

void cuda_record_cpu_fault(struct cuda_record *record, uint64_t time_ns, uint64_t address, char access)
{
	struct event *event = add(record, CPU_FAULT, time_ns, time_ns);

	if (event) {
		event->address = address;
		event->access = access;
	}
}

void cuda_record_dropped(struct cuda_record *record, uint64_t count)
{
	record->dropped += count;
}

/* -- writing -- */

static int by_time(const void *a, const void *b)
{
	const struct event *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->order < right->order ? -1 : left->order > right->order;
}

static const struct span *find(const struct writer *w, uint64_t base, uint64_t end)
{
	for (size_t i = 0; i < w->spans; i++)
		if (base < w->span[i].end && w->span[i].base < end)
			return &w->span[i];
	return NULL;
}

static void declare(struct writer *w, uint64_t base, uint64_t end)
{
	w->span[w->spans++] = (struct span){base, end};
	fprintf(w->out, "range,0x%llx,%llu\n", (unsigned long long)base, (unsigned long long)(end - base));
}

/* Memory that is reused stays one range: a trace cannot declare freed memory again. Parts of the range that were declared
 * before are left out. */
static void write_range(struct writer *w, const struct event *event)
{
	uint64_t base = event->address, end = base + event->bytes;

	while (base < end) {
		const struct span *span = find(w, base, base + PAGE);
		uint64_t next = end;

		if (span) {
			base = span->end;
			continue;
		}
		for (size_t i = 0; i < w->spans; i++)
			if (w->span[i].base > base && w->span[i].base < next)
				next = w->span[i].base;
		declare(w, base, next);
		base = next;
	}
}

/* Faults in memory of which no allocation was told. */
static void cover(struct writer *w, uint64_t address)
{
	struct event event = {.address = address / BLOCK * BLOCK, .bytes = BLOCK};

	if (!find(w, address, address + 1))
		write_range(w, &event);
}

/* The allocation that begins at the base, before this event; NULL: none. */
static const struct event *allocation_of(const struct cuda_record *record, size_t index)
{
	for (size_t i = index; i-- > 0;)
		if (record->event[i].kind == RANGE && record->event[i].address == record->event[index].address)
			return &record->event[i];
	return NULL;
}

/* Is any of the memory in use after the event? Then the trace must not free it. */
static bool is_used_again(const struct cuda_record *record, size_t index, uint64_t base, uint64_t end)
{
	for (size_t i = index + 1; i < record->count; i++) {
		const struct event *event = &record->event[i];
		uint64_t bytes = event->kind == RANGE ? event->bytes : 1;

		if (event->kind != KERNEL && event->kind != FREE && event->address < end && event->address + bytes > base)
			return true;
	}
	return false;
}

static void end_group(struct writer *w)
{
	if (w->agents > 0)
		fputs("batch\n", w->out);
	w->agents = 0;
}

static void write_free(struct writer *w, const struct cuda_record *record, size_t index)
{
	const struct event *from = allocation_of(record, index);

	if (!from || is_used_again(record, index, from->address, from->address + from->bytes))
		return;
	end_group(w);
	fprintf(w->out, "free,0x%llx,%llu\n", (unsigned long long)from->address, (unsigned long long)from->bytes);
}

/* Names of kernels may contain what a row cannot. */
static void write_kernel(struct writer *w, const struct event *event)
{
	end_group(w);
	fputs("kernel,", w->out);
	for (const char *at = event->name ? event->name : ""; *at != '\0'; at++)
		fputc(*at == ',' ? ';' : *at < ' ' || *at > '~' ? '?' : *at, w->out);
	fputc('\n', w->out);
	w->kernel_end = event->end > w->kernel_end ? event->end : w->kernel_end;
	w->needs_sync = true;
}

static void write_gpu_fault(struct writer *w, const struct event *event)
{
	if (w->agents == 0 || event->end > w->group_end)
		w->group_end = event->end;
	fprintf(w->out, "%llu,%u,%c,0x%llx\n", (unsigned long long)event->start, w->agents++, event->access,
		(unsigned long long)event->address);
}

static void write_cpu_fault(struct writer *w, const struct event *event)
{
	if (w->needs_sync && event->start >= w->kernel_end) {
		fputs("sync\n", w->out);
		w->needs_sync = false;
	}
	fprintf(w->out, "%llu,cpu,%c,0x%llx\n", (unsigned long long)event->start, event->access,
		(unsigned long long)event->address);
}

static void write_event(struct writer *w, const struct cuda_record *record, size_t index)
{
	const struct event *event = &record->event[index];

	if (event->kind == CPU_FAULT || (event->kind == GPU_FAULT && event->start >= w->group_end))
		end_group(w);
	if (event->kind == GPU_FAULT || event->kind == CPU_FAULT)
		cover(w, event->address);
	switch (event->kind) {
	case RANGE:
		end_group(w);
		write_range(w, event);
		break;
	case FREE:
		write_free(w, record, index);
		break;
	case KERNEL:
		write_kernel(w, event);
		break;
	case GPU_FAULT:
		write_gpu_fault(w, event);
		break;
	case CPU_FAULT:
		write_cpu_fault(w, event);
		break;
	}
}

bool cuda_record_write(struct cuda_record *record, FILE *out)
{
	struct writer w = {.out = out};
	uint64_t missing;

	/* a range is split at most at each range before it, and each fault declares one more */
	w.span = calloc(2 * record->count + 1, sizeof(*w.span));
	if (!w.span)
		return false;
	if (record->count != 0)
		qsort(record->event, record->count, sizeof(*record->event), by_time);
	fputs("uvmp-trace 1\n# recorded on a GPU: faults only, with the driver's batches\n", out);
	missing = record->lost + record->dropped;
	if (missing != 0)
		fprintf(out, "# %llu events are missing\n", (unsigned long long)missing);
	for (size_t i = 0; i < record->count; i++)
		write_event(&w, record, i);
	end_group(&w);
	if (w.needs_sync)
		fputs("sync\n", out);
	free(w.span);
	return ferror(out) == 0;
}
