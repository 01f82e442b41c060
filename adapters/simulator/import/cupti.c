/* Records of CUPTI's activity interface, one a line: the kind of the record, then its fields by their names in cupti_activity.h:
 * `UNIFIED_MEMORY_COUNTER counterKind=GPU_PAGE_FAULT value=3 start=100 end=300 address=0x7f0000000000 flags=2 srcId=0` and
 * `KERNEL start=90 end=900 deviceId=0 name=scale`. Kinds of counters are names or numbers. Other records are skipped. */
#include "import/profile.h"
#include "import/records.h"

#include <string.h>

enum counter { TO_GPU = 1, TO_CPU, CPU_FAULT, GPU_FAULT, OTHER };

static const struct pairs_name kinds[] = {{"BYTES_TRANSFER_HTOD", 1, TO_GPU},
					  {"BYTES_TRANSFER_DTOH", 2, TO_CPU},
					  {"CPU_PAGE_FAULT_COUNT", 3, CPU_FAULT},
					  {"GPU_PAGE_FAULT", 4, GPU_FAULT},
					  {"THRASHING", 5, OTHER},
					  {"THROTTLING", 6, OTHER},
					  {"REMOTE_MAP", 7, OTHER},
					  {"BYTES_TRANSFER_DTOD", 8, OTHER},
					  {"UNKNOWN", 0, OTHER}};

/* `flags`: the access of a fault, or the cause of a migration. */
static bool take_flags(struct import *import, const struct pairs *pairs, struct import_event *event)
{
	static const uint8_t access[] = {UVMP_ACCESS_READ, UVMP_ACCESS_READ, UVMP_ACCESS_WRITE,
					 UVMP_ACCESS_ATOMIC_STRONG, UVMP_ACCESS_PREFETCH};
	uint64_t flags;
	bool is_missing;

	if (!pairs_number(import, pairs, "flags", &flags, &is_missing))
		return false;
	event->access = access[flags < sizeof(access) ? flags : 0];
	event->cause = (uint8_t)(flags < IMPORT_CAUSES ? flags : IMPORT_CAUSE_UNKNOWN);
	return true;
}

static bool is_wanted(struct import *import, const struct pairs *pairs, const char *device_key, bool *wanted)
{
	uint64_t device, process;
	bool has_no_device, has_no_process;

	return pairs_number(import, pairs, device_key, &device, &has_no_device) &&
	       pairs_number(import, pairs, "processId", &process, &has_no_process) &&
	       (has_no_device || import_wants(import, IMPORT_DEVICE, device, wanted)) &&
	       (has_no_process || import_wants(import, IMPORT_PROCESS, process, wanted));
}

static bool take_counter(struct import *import, const struct pairs *pairs)
{
	struct import_event event = {.start = 0};
	const char *device = "srcId";
	bool is_missing, wanted = true;
	uint8_t counter = OTHER;
	uint64_t value;

	if (!pairs_name(import, pairs, "counterKind", kinds, sizeof(kinds) / sizeof(kinds[0]), &counter))
		return false;
	if (counter == OTHER)
		return true;
	if (!pairs_number(import, pairs, "start", &event.start, NULL) ||
	    !pairs_number(import, pairs, "end", &event.end, &is_missing) ||
	    !pairs_number(import, pairs, "address", &event.address, NULL) ||
	    !pairs_number(import, pairs, "value", &value, NULL) || !take_flags(import, pairs, &event))
		return false;
	event.kind = counter == GPU_FAULT   ? IMPORT_GPU_FAULT
		     : counter == CPU_FAULT ? IMPORT_CPU_FAULT
					    : IMPORT_MIGRATION;
	event.to_gpu = counter == TO_GPU;
	if (event.kind == IMPORT_CPU_FAULT) { /* has no end and no GPU */
		device = "";
		event.access = event.access == UVMP_ACCESS_WRITE ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ;
	} else {
		event.bytes = value;
	}
	if (counter == TO_GPU)
		device = "dstId";
	if (is_missing || event.kind == IMPORT_CPU_FAULT)
		event.end = event.start;
	return is_wanted(import, pairs, device, &wanted) &&
	       (!wanted || import_profile_add(import, "the record", &event));
}

static bool take_kernel(struct import *import, const struct pairs *pairs)
{
	struct import_event event = {.kind = IMPORT_KERNEL, .name = pairs_text(pairs, "name")};
	bool wanted = true;

	event.name = event.name ? event.name : "";
	return pairs_number(import, pairs, "start", &event.start, NULL) &&
	       pairs_number(import, pairs, "end", &event.end, NULL) &&
	       is_wanted(import, pairs, "deviceId", &wanted) &&
	       (!wanted || import_profile_add(import, "the kernel", &event));
}

static bool take_record(struct import *import, const struct pairs *pairs)
{
	const char *kind = records_kind(pairs, "CUPTI_ACTIVITY_KIND_");

	if (strcmp(kind, "UNIFIED_MEMORY_COUNTER") == 0)
		return take_counter(import, pairs);
	if (strcmp(kind, "KERNEL") == 0 || strcmp(kind, "CONCURRENT_KERNEL") == 0)
		return take_kernel(import, pairs);
	return kind != pairs->word || import_bad(import, "\"%.40s\" is no kind of a record of CUPTI", kind);
}

static bool read_lines(struct import *import)
{
	return records_read(import, take_record);
}

static bool shows(const char *head, size_t length)
{
	static const char *const words[] = {"UNIFIED_MEMORY_COUNTER ", "KERNEL ", "CUPTI_ACTIVITY_KIND_", NULL};

	return records_show(head, length, words);
}

const struct import_format import_cupti = {
	.name = "cupti",
	.summary = "records of CUPTI: UNIFIED_MEMORY_COUNTER and KERNEL with KEY=VALUE",
	.options = IMPORT_RANGES | IMPORT_BENCHMARK | IMPORT_TOUCHED | IMPORT_DEVICE | IMPORT_PROCESS,
	.has_faults_only = true,
	.is_profile = true,
	.read = read_lines,
	.shows = shows,
};
