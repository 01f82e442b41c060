/* Events of the UVM tools interface (uvm_types.h of NVIDIA's driver), one a line: the name of the event, then its fields by their
 * names there: `GpuFault accessType=Write gpuIndex=1 address=0x7f0000000000 timeStamp=123 batchId=7`. Enumerations are names,
 * with or without what stands before them, or numbers; all other values are numbers. Fields that say nothing here may be left
 * out. What the queue has and no other source does: the batch of each fault. */
#include "import/profile.h"
#include "import/records.h"

#include <string.h>

#define NAMES(list) (list), sizeof(list) / sizeof((list)[0])

static const struct pairs_name accesses[] = {{"Invalid", 0, UVMP_ACCESS_READ},
					     {"Read", 1, UVMP_ACCESS_READ},
					     {"Write", 2, UVMP_ACCESS_WRITE},
					     {"Atomic", 3, UVMP_ACCESS_ATOMIC_STRONG},
					     {"Prefetch", 4, UVMP_ACCESS_PREFETCH}};
static const struct pairs_name causes[] = {
	{"Invalid", 0, IMPORT_CAUSE_UNKNOWN},	  {"User", 1, IMPORT_CAUSE_USER},
	{"Coherence", 2, IMPORT_CAUSE_COHERENCE}, {"Prefetch", 3, IMPORT_CAUSE_PREFETCH},
	{"Eviction", 4, IMPORT_CAUSE_EVICTION},	  {"AccessCounters", 5, IMPORT_CAUSE_COUNTERS}};

/* The event's GPU, by its index in the process; 0 is the CPU. */
static bool of_gpu(struct import *import, const struct pairs *pairs, const char *key, bool *wanted)
{
	uint64_t index;
	bool is_missing;

	return pairs_number(import, pairs, key, &index, &is_missing) &&
	       (is_missing || import_wants(import, IMPORT_DEVICE, index, wanted));
}

static bool take_gpu_fault(struct import *import, const struct pairs *pairs)
{
	struct import_event event = {.kind = IMPORT_GPU_FAULT, .faults = 1};
	bool has_no_batch, wanted = true;
	uint64_t batch;

	if (!pairs_name(import, pairs, "accessType", NAMES(accesses), &event.access) ||
	    !pairs_number(import, pairs, "address", &event.address, NULL) ||
	    !pairs_number(import, pairs, "timeStamp", &event.start, NULL) ||
	    !pairs_number(import, pairs, "batchId", &batch, &has_no_batch) ||
	    !of_gpu(import, pairs, "gpuIndex", &wanted))
		return false;
	event.end = event.start;
	event.has_batch = !has_no_batch;
	event.batch = (uint32_t)batch;
	return !wanted || import_profile_add(import, "the fault", &event);
}

static bool take_cpu_fault(struct import *import, const struct pairs *pairs)
{
	struct import_event event = {.kind = IMPORT_CPU_FAULT};
	bool is_missing, wanted = true;
	uint64_t process;

	if (!pairs_name(import, pairs, "accessType", NAMES(accesses), &event.access) ||
	    !pairs_number(import, pairs, "address", &event.address, NULL) ||
	    !pairs_number(import, pairs, "timeStamp", &event.start, NULL) ||
	    !pairs_number(import, pairs, "pid", &process, &is_missing) ||
	    (!is_missing && !import_wants(import, IMPORT_PROCESS, process, &wanted)))
		return false;
	event.end = event.start;
	return !wanted || import_profile_add(import, "the fault", &event);
}

static bool take_migration(struct import *import, const struct pairs *pairs)
{
	struct import_event event = {.kind = IMPORT_MIGRATION};
	uint64_t from, to;
	bool wanted = true;

	if (!pairs_name(import, pairs, "migrationCause", NAMES(causes), &event.cause) ||
	    !pairs_number(import, pairs, "srcIndex", &from, NULL) ||
	    !pairs_number(import, pairs, "dstIndex", &to, NULL) ||
	    !pairs_number(import, pairs, "address", &event.address, NULL) ||
	    !pairs_number(import, pairs, "migratedBytes", &event.bytes, NULL) ||
	    !pairs_number(import, pairs, "beginTimeStamp", &event.start, NULL) ||
	    !pairs_number(import, pairs, "endTimeStamp", &event.end, NULL))
		return false;
	if (from == to || (from != 0 && to != 0)) /* between GPUs */
		return true;
	event.to_gpu = to != 0;
	return import_wants(import, IMPORT_DEVICE, event.to_gpu ? to : from, &wanted) &&
	       (!wanted || import_profile_add(import, "the migration", &event));
}

static bool skip(struct import *import, const struct pairs *pairs)
{
	(void)import, (void)pairs;
	return true;
}

static bool note_overflow(struct import *import, const struct pairs *pairs)
{
	(void)pairs;
	import_note(import, "the GPU's fault buffer has overflowed: some faults are not in the events");
	return true;
}

static const struct {
	const char *name;
	records_take *take;
} events[] = {
	{"CpuFault", take_cpu_fault},
	{"Migration", take_migration},
	{"GpuFault", take_gpu_fault},
	{"GpuFaultReplay", skip},
	{"FaultBufferOverflow", note_overflow},
	{"FatalFault", skip},
	{"ReadDuplicate", skip},
	{"ReadDuplicateInvalidate", skip},
	{"PageSizeChange", skip},
	{"ThrashingDetected", skip},
	{"ThrottlingStart", skip},
	{"ThrottlingEnd", skip},
	{"MapRemote", skip},
	{"Eviction", skip},
	{"HmmSplit", skip},
	{"AccessCounter", skip},
};

static bool take_event(struct import *import, const struct pairs *pairs)
{
	const char *kind = records_kind(pairs, "UvmEventType");

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (strcmp(kind, events[i].name) == 0)
			return events[i].take(import, pairs);
	return import_bad(import, "\"%.40s\" is no event of the UVM tools", pairs->word);
}

static bool read_lines(struct import *import)
{
	return records_read(import, take_event);
}

static bool shows(const char *head, size_t length)
{
	static const char *const words[] = {"UvmEventType", "GpuFault ", "CpuFault ", "Migration ", NULL};

	return records_show(head, length, words);
}

const struct import_format import_uvm_tools = {
	.name = "uvm-tools",
	.summary = "events of the driver's tools queue: GpuFault, CpuFault, Migration with KEY=VALUE",
	.options = IMPORT_RANGES | IMPORT_BENCHMARK | IMPORT_TOUCHED | IMPORT_DEVICE | IMPORT_PROCESS,
	.has_faults_only = true,
	.is_profile = true,
	.read = read_lines,
	.shows = shows,
};
