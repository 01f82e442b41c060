/* Events of a profiler as rows. Faults of the GPU whose times overlap were serviced together: each is of an agent of its own,
 * and `batch` ends them. The GPU faults in kernels only, but a profiler lets a kernel begin after its first fault: a fault
 * outside every kernel belongs to the next one. Migrations are what follows from faults, but for two kinds of them. A call of
 * the program is a call again, under every policy. And pages that the driver brought without a fault may have been touched:
 * with --touched migrated they are, once, after they arrived. */
#include "import/profile.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

struct import_profile {
	struct import_event *event;
	uint64_t count, room;
	bool is_loaded; /* and sorted */
	/* writing */
	size_t next_kernel;  /* the first kernel that was not written */
	size_t ahead;	     /* find_ahead */
	uint64_t kernel_end; /* the latest end of those that were */
	bool is_open;	     /* a kernel has begun, and no sync ended it */
	uint64_t group_end;
	uint32_t batch;	  /* of the group, if its faults have one */
	uint32_t agents;  /* of the open group of faults; 0: none is open */
	uint32_t stalled; /* agents of the last group */
	uint32_t *wait;	  /* migrations during the open group, whose pages are touched behind it */
	uint64_t waiting, wait_room;
};

/* -- keeping -- */

bool import_profile_is_loaded(const struct import *import)
{
	return import->profile && import->profile->is_loaded;
}

static bool check(struct import *import, const char *what, const struct import_event *event)
{
	if (event->end < event->start)
		return import_bad(import, "%s ends at %llu ns, before it begins at %llu ns", what,
				  (unsigned long long)event->end, (unsigned long long)event->start);
	if (event->start > TRACE_ROW_TIME_MOST)
		return import_bad(import, "%s begins at %llu ns; a trace ends at %llu ns", what,
				  (unsigned long long)event->start, (unsigned long long)TRACE_ROW_TIME_MOST);
	if (event->kind != IMPORT_MIGRATION)
		return true;
	if (event->bytes == 0 || event->bytes > IMPORT_MIGRATION_MOST)
		return import_bad(import, "%s has %llu bytes; 1..%llu", what,
				  (unsigned long long)event->bytes,
				  (unsigned long long)IMPORT_MIGRATION_MOST);
	if (event->address + (event->bytes - 1u) < event->address)
		return import_bad(import, "%s ends behind the last address", what);
	return true;
}

bool import_profile_add(struct import *import, const char *what, const struct import_event *event)
{
	struct import_profile *profile = import->profile;
	struct import_event *kept;

	if (!profile)
		profile = import->profile = calloc(1, sizeof(*profile));
	if (!profile || profile->count == UINT32_MAX ||
	    !ARRAY_RESERVE(profile->event, profile->room, profile->count + 1u))
		return import_no_memory(import);
	if (!check(import, what, event))
		return false;
	kept = &profile->event[profile->count];
	*kept = *event;
	kept->order = (uint32_t)profile->count;
	if (event->kind == IMPORT_KERNEL) {
		kept->name = strdup(event->name);
		if (!kept->name)
			return import_no_memory(import);
	}
	profile->count++;
	return true;
}

void import_profile_free(struct import *import)
{
	struct import_profile *profile = import->profile;

	if (!profile)
		return;
	for (size_t i = 0; i < profile->count; i++)
		if (profile->event[i].kind == IMPORT_KERNEL)
			free((char *)(uintptr_t)profile->event[i].name);
	free(profile->event);
	free(profile->wait);
	free(profile);
	import->profile = NULL;
}

static int by_time(const void *a, const void *b)
{
	const struct import_event *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	return left->order < right->order ? -1 : left->order > right->order;
}

bool import_profile_load(struct import *import)
{
	struct import_profile *profile = import->profile;

	if (!import_check_chosen(import))
		return false;
	if (!profile)
		profile = import->profile = calloc(1, sizeof(*profile));
	if (!profile)
		return import_no_memory(import);
	if (profile->count > 0)
		qsort(profile->event, (size_t)profile->count, sizeof(*profile->event), by_time);
	profile->is_loaded = true;
	return import_profile_tell(profile->event, (size_t)profile->count, &import->told) ||
	       import_no_memory(import);
}

/* -- writing -- */

static bool access_at(struct import *import, const struct import_event *event, uint64_t address, bool is_cpu,
		      uint32_t agent)
{
	struct source_row row = {.kind = SOURCE_ACCESS, .has_time = true, .address = address, .agent = agent};

	row.is_cpu = is_cpu;
	row.access = (enum uvmp_access)event->access;
	row.time_ns = event->start > import->time_ns ? event->start : import->time_ns;
	return import_access(import, &row);
}

/* In the first reading only blocks count. */
static bool touch_pages(struct import *import, const struct import_event *event)
{
	const struct import_profile *profile = import->profile;
	uint64_t first = event->address / IMPORT_PAGE,
		 last = (event->address + (event->bytes - 1u)) / IMPORT_PAGE;
	uint64_t step = import->is_scan ? IMPORT_BLOCK / IMPORT_PAGE : 1;
	struct import_event touch = {.start = event->start, .access = UVMP_ACCESS_READ};
	uint32_t agents = profile->stalled > 0 ? profile->stalled : 1, turn = 0;

	for (uint64_t page = first;; page += step - page % step) {
		if (!access_at(import, &touch, page * IMPORT_PAGE, !event->to_gpu,
			       event->to_gpu ? turn++ % agents : 0))
			return false;
		if (last - page < step - page % step)
			return true;
	}
}

static bool end_group(struct import *import)
{
	struct import_profile *profile = import->profile;

	if (profile->agents == 0)
		return true;
	profile->stalled = profile->agents;
	profile->agents = 0;
	if (!import_batch(import))
		return false;
	for (uint64_t i = 0; i < profile->waiting; i++)
		if (!touch_pages(import, &profile->event[profile->wait[i]]))
			return false;
	profile->waiting = 0;
	return true;
}

static bool end_kernel(struct import *import)
{
	struct import_profile *profile = import->profile;

	if (!end_group(import) || !profile->is_open)
		return end_group(import);
	profile->is_open = false;
	return import_sync(import);
}

static bool write_kernel(struct import *import, size_t index)
{
	struct import_profile *profile = import->profile;
	const struct import_event *event = &profile->event[index];

	if (index < profile->next_kernel) /* it was written before its first fault */
		return true;
	if (!(profile->is_open && event->start >= profile->kernel_end ? end_kernel(import)
								      : end_group(import)))
		return false;
	profile->next_kernel = index + 1u;
	profile->kernel_end = event->end > profile->kernel_end ? event->end : profile->kernel_end;
	profile->is_open = true;
	return import_kernel(import, event->name);
}

/* The first kernel or fault of the CPU behind the event. Events are asked for in their order, so each is passed once. */
static size_t find_ahead(struct import_profile *profile, size_t index)
{
	if (profile->ahead <= index)
		profile->ahead = index + 1u;
	while (profile->ahead < profile->count && profile->event[profile->ahead].kind != IMPORT_CPU_FAULT &&
	       (profile->event[profile->ahead].kind != IMPORT_KERNEL ||
		profile->ahead < profile->next_kernel))
		profile->ahead++;
	return profile->ahead;
}

/* A fault after the end of all kernels so far: the kernel that it belongs to begins now. */
static bool begin_next_kernel(struct import *import, size_t index)
{
	struct import_profile *profile = import->profile;
	size_t ahead;

	if (profile->is_open && profile->event[index].start < profile->kernel_end)
		return true;
	ahead = find_ahead(profile, index);
	return ahead == profile->count || profile->event[ahead].kind != IMPORT_KERNEL ||
	       write_kernel(import, ahead);
}

/* Is the fault of the open group? */
static bool joins(const struct import_profile *profile, const struct import_event *event)
{
	if (profile->agents == IMPORT_AGENTS_MAX)
		return false;
	return event->has_batch ? event->batch == profile->batch : event->start < profile->group_end;
}

static bool write_gpu_fault(struct import *import, size_t index)
{
	struct import_profile *profile = import->profile;
	const struct import_event *event = &profile->event[index];

	if (!joins(profile, event) && !end_group(import))
		return false;
	if (!begin_next_kernel(import, index))
		return false;
	if (profile->agents == 0 || event->end > profile->group_end)
		profile->group_end = event->end;
	profile->batch = event->batch;
	return access_at(import, event, event->address, false, profile->agents++);
}

static bool write_cpu_fault(struct import *import, const struct import_event *event)
{
	struct import_profile *profile = import->profile;
	bool has_ended = profile->is_open && event->start >= profile->kernel_end;

	return (has_ended ? end_kernel(import) : end_group(import)) &&
	       access_at(import, event, event->address, true, 0);
}

/* A copy to the CPU whose cause is not told may be an eviction. */
bool import_profile_touches(const struct import_event *event)
{
	return event->cause != IMPORT_CAUSE_EVICTION &&
	       (event->to_gpu || event->cause != IMPORT_CAUSE_UNKNOWN);
}

static bool write_migration(struct import *import, size_t index)
{
	struct import_profile *profile = import->profile;
	const struct import_event *event = &profile->event[index];
	bool is_touched =
		import->options->touched == IMPORT_TOUCHED_MIGRATED && import_profile_touches(event);

	if (event->cause != IMPORT_CAUSE_USER && !is_touched)
		return true;
	if (event->cause == IMPORT_CAUSE_USER &&
	    !(end_group(import) && import_call_prefetch(import, event->address, event->bytes, event->to_gpu)))
		return false;
	if (!is_touched)
		return true;
	if (profile->agents == 0)
		return touch_pages(import, event);
	if (!ARRAY_RESERVE(profile->wait, profile->wait_room, profile->waiting + 1u))
		return import_no_memory(import);
	profile->wait[profile->waiting++] = (uint32_t)index;
	return true;
}

static bool write_event(struct import *import, size_t index)
{
	const struct import_event *event = &import->profile->event[index];

	switch ((enum import_event_kind)event->kind) {
	case IMPORT_KERNEL:
		return write_kernel(import, index);
	case IMPORT_GPU_FAULT:
		return write_gpu_fault(import, index);
	case IMPORT_CPU_FAULT:
		return write_cpu_fault(import, event);
	case IMPORT_MIGRATION:
		break;
	}
	return write_migration(import, index);
}

static bool has_accesses(struct import *import)
{
	const struct import_told *told = &import->told;
	bool is_chosen = import->options->has_device || import->options->has_process;

	if (told->gpu_faults + told->cpu_faults > 0)
		return true;
	if (told->migrations == 0)
		return import_bad(import, "there is neither a fault nor a migration of unified memory%s in it",
				  is_chosen ? " of the chosen GPU and process" : "");
	return import->options->touched == IMPORT_TOUCHED_MIGRATED ||
	       import_bad(import,
			  "there is no fault in it, only %llu migrations; --touched migrated makes accesses "
			  "of them",
			  (unsigned long long)told->migrations);
}

bool import_profile_write(struct import *import)
{
	struct import_profile *profile;

	if (!import_profile_is_loaded(import) && !import_profile_load(import))
		return false;
	profile = import->profile;
	if (!has_accesses(import))
		return false;
	profile->next_kernel = profile->ahead = 0;
	profile->kernel_end = profile->group_end = 0;
	profile->is_open = false;
	profile->agents = profile->stalled = 0;
	profile->waiting = 0;
	for (size_t i = 0; i < profile->count; i++)
		if (!write_event(import, i))
			return false;
	return end_kernel(import);
}
