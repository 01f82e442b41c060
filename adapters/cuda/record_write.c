/* Events of a real GPU as a trace: sorted by time. Ranges that no allocation announces stand first. */
#include "record_memory.h"

#include <stdlib.h>

struct writer {
	FILE *out;
	struct record_memory memory;
	uint64_t kernel_end; /* the latest of the kernels so far */
	uint64_t group_end;  /* of the faults that are serviced together */
	uint32_t agents;     /* of the open group; 0: no group is open */
	bool needs_sync;
};

static int by_time(const void *a, const void *b)
{
	const struct record_event *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->order < right->order ? -1 : left->order > right->order;
}

static void write_row(struct writer *w, const char *word, uint64_t base, uint64_t end)
{
	fprintf(w->out, "%s,0x%llx,%llu\n", word, (unsigned long long)base, (unsigned long long)(end - base));
}

static void end_group(struct writer *w)
{
	if (w->agents > 0)
		fputs("batch\n", w->out);
	w->agents = 0;
}

static void write_unknown(struct writer *w)
{
	for (uint64_t base = 0, end; record_memory_unknown(&w->memory, &base, &end); base = end)
		write_row(w, "range", base, end);
}

/* Memory that is reused stays one range: parts that were declared before are left out. */
static void write_range(struct writer *w, const struct record_event *event)
{
	uint64_t end = event->address + event->bytes;

	end_group(w);
	for (uint64_t base = event->address, run_end; record_memory_declare(&w->memory, &base, end, &run_end); base = run_end)
		write_row(w, "range", base, run_end);
}

static void write_free(struct writer *w, const struct record_event *event)
{
	if (!event->is_final)
		return;
	end_group(w);
	write_row(w, "free", event->address, event->address + event->bytes);
}

/* Names of kernels may contain what a row cannot. */
static void write_kernel(struct writer *w, const struct record_event *event)
{
	end_group(w);
	fputs("kernel,", w->out);
	for (const char *at = event->name ? event->name : ""; *at != '\0'; at++)
		fputc(*at == ',' ? ';' : *at < ' ' || *at > '~' ? '?' : *at, w->out);
	fputc('\n', w->out);
	w->kernel_end = event->end > w->kernel_end ? event->end : w->kernel_end;
	w->needs_sync = true;
}

static void write_gpu_fault(struct writer *w, const struct record_event *event)
{
	if (event->start >= w->group_end)
		end_group(w);
	if (w->agents == 0 || event->end > w->group_end)
		w->group_end = event->end;
	fprintf(w->out, "%llu,%u,%c,0x%llx\n", (unsigned long long)event->start, w->agents++, event->access,
		(unsigned long long)event->address);
}

static void write_cpu_fault(struct writer *w, const struct record_event *event)
{
	end_group(w);
	if (w->needs_sync && event->start >= w->kernel_end) {
		fputs("sync\n", w->out);
		w->needs_sync = false;
	}
	fprintf(w->out, "%llu,cpu,%c,0x%llx\n", (unsigned long long)event->start, event->access,
		(unsigned long long)event->address);
}

static void (*const write_event[])(struct writer *w, const struct record_event *event) = {
	[RECORD_RANGE] = write_range,         [RECORD_FREE] = write_free,           [RECORD_KERNEL] = write_kernel,
	[RECORD_GPU_FAULT] = write_gpu_fault, [RECORD_CPU_FAULT] = write_cpu_fault,
};

bool cuda_record_write(struct cuda_record *record, FILE *out)
{
	struct writer w = {.out = out};
	bool is_good = true;
	uint64_t missing;

	if (record->count != 0)
		qsort(record->event, record->count, sizeof(*record->event), by_time);
	is_good = record_memory_open(&w.memory, record);
	if (is_good) {
		fputs("uvmp-trace 1\n# recorded on a GPU: faults only, with the driver's batches\n", out);
		missing = record->lost + record->dropped;
		if (missing != 0)
			fprintf(out, "# %llu events are missing\n", (unsigned long long)missing);
		write_unknown(&w);
		for (size_t i = 0; i < record->count; i++)
			write_event[record->event[i].kind](&w, &record->event[i]);
		end_group(&w);
		if (w.needs_sync)
			fputs("sync\n", out);
	}
	record_memory_close(&w.memory);
	return is_good && ferror(out) == 0;
}
