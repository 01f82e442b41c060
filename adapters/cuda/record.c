/* Events of a real GPU, collected in memory until they are written. */
#include "record_events.h"

#include <stdlib.h>
#include <string.h>

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

static struct record_event *add(struct cuda_record *record, enum record_kind kind, uint64_t start_ns, uint64_t end_ns)
{
	if (record->count == record->room) {
		size_t room = record->room != 0 ? 2 * record->room : 1024;
		struct record_event *event = realloc(record->event, room * sizeof(*event));

		if (!event) {
			record->lost++;
			return NULL;
		}
		record->event = event;
		record->room = room;
	}
	record->event[record->count] = (struct record_event){
		.kind = kind, .start = start_ns, .end = end_ns > start_ns ? end_ns : start_ns, .order = record->count};
	return &record->event[record->count++];
}

void cuda_record_range(struct cuda_record *record, uint64_t time_ns, uint64_t base, uint64_t bytes)
{
	struct record_event *event = bytes != 0 ? add(record, RECORD_RANGE, time_ns, time_ns) : NULL;

	if (!event)
		return;
	event->address = base & ~(RECORD_PAGE - 1);
	event->bytes = (base + bytes + RECORD_PAGE - 1) / RECORD_PAGE * RECORD_PAGE - event->address;
}

void cuda_record_free(struct cuda_record *record, uint64_t time_ns, uint64_t base)
{
	struct record_event *event = add(record, RECORD_FREE, time_ns, time_ns);

	if (event)
		event->address = base & ~(RECORD_PAGE - 1);
}

void cuda_record_kernel(struct cuda_record *record, uint64_t start_ns, uint64_t end_ns, const char *name)
{
	struct record_event *event = add(record, RECORD_KERNEL, start_ns, end_ns);

	if (event)
		event->name = strdup(name ? name : "");
}

static void add_fault(struct cuda_record *record, struct record_event fault)
{
	struct record_event *event = add(record, fault.kind, fault.start, fault.end);

	if (event) {
		event->address = fault.address;
		event->access = fault.access;
	}
}

void cuda_record_gpu_fault(struct cuda_record *record, uint64_t start_ns, uint64_t end_ns, uint64_t address, char access)
{
	add_fault(record, (struct record_event){
				  .kind = RECORD_GPU_FAULT, .start = start_ns, .end = end_ns, .address = address, .access = access});
}

void cuda_record_cpu_fault(struct cuda_record *record, uint64_t time_ns, uint64_t address, char access)
{
	add_fault(record, (struct record_event){
				  .kind = RECORD_CPU_FAULT, .start = time_ns, .end = time_ns, .address = address, .access = access});
}

void cuda_record_dropped(struct cuda_record *record, uint64_t count)
{
	record->dropped += count;
}
