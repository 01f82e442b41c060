/* The SQLite export of Nsight Systems. Its tables exist only if there were events, and their columns have changed from version
 * to version: both are found by name. */
#include "import/nsys.h"
#include "import/profile.h"

#include <string.h>

struct nsys {
	struct import *import;
	struct database *database;
	struct nsys_codes codes;
	uint64_t unplaced; /* migrations without an address */
};

/* -- events -- */

/* The columns that all tables of events have, in this order. */
enum { START = 0, END, DEVICE, PID, OWN };
#define COMMON                                                                                               \
	{"start", true}, {"end", false}, {"deviceId", false},                                                \
	{                                                                                                    \
		"globalPid", false                                                                           \
	}

/* Times, GPU and process of a row. A globalPid has the process in bits 24 to 47. */
static bool take_common(struct nsys *nsys, struct import_event *event, bool is_strict, bool *wanted)
{
	struct import *import = nsys->import;
	uint64_t device, process;
	bool has_no_end, has_no_device, has_no_process, is_null;

	if (!database_number(nsys->database, START, &event->start, &is_null) ||
	    !database_number(nsys->database, END, &event->end, &has_no_end) ||
	    !database_number(nsys->database, DEVICE, &device, &has_no_device) ||
	    !database_number(nsys->database, PID, &process, &has_no_process))
		return false;
	if (has_no_end)
		event->end = event->start;
	process = process >> 24 & 0xffffffu;
	*wanted = true;
	if (!is_strict) { /* kernels of another GPU are left out */
		*wanted = has_no_device || import_sees(import, IMPORT_DEVICE, device);
		if (!has_no_process && !import_sees(import, IMPORT_PROCESS, process))
			*wanted = false;
		return true;
	}
	return (has_no_device || import_wants(import, IMPORT_DEVICE, device, wanted)) &&
	       (has_no_process || import_wants(import, IMPORT_PROCESS, process, wanted));
}

static bool take_gpu_fault(struct nsys *nsys)
{
	struct import_event event = {.kind = IMPORT_GPU_FAULT};
	uint64_t access;
	bool wanted, is_null, has_no_count;

	if (!take_common(nsys, &event, true, &wanted) ||
	    !database_number(nsys->database, OWN, &event.address, &is_null) ||
	    !database_number(nsys->database, OWN + 1, &event.faults, &has_no_count) ||
	    !database_number(nsys->database, OWN + 2, &access, &is_null))
		return false;
	event.faults = has_no_count ? 1 : event.faults;
	event.access = nsys->codes.access[access < NSYS_CODES ? access : 0];
	return !wanted || import_profile_add(nsys->import, "the fault", &event);
}

static bool take_cpu_fault(struct nsys *nsys)
{
	struct import_event event = {.kind = IMPORT_CPU_FAULT, .access = UVMP_ACCESS_READ};
	bool wanted, is_null;

	return take_common(nsys, &event, true, &wanted) &&
	       database_number(nsys->database, OWN, &event.address, &is_null) &&
	       (!wanted || import_profile_add(nsys->import, "the fault", &event));
}

static bool take_copy(struct nsys *nsys)
{
	struct import_event event = {.kind = IMPORT_MIGRATION};
	struct import_told *told = &nsys->import->told;
	uint64_t kind, cause, way;
	bool wanted, is_null, has_no_address;

	if (!database_number(nsys->database, OWN, &kind, &is_null))
		return false;
	way = kind < NSYS_CODES ? nsys->codes.way[kind] : NSYS_NOT_UNIFIED;
	if (way == NSYS_NOT_UNIFIED || way == NSYS_DEVICE_TO_DEVICE)
		return true;
	if (!take_common(nsys, &event, true, &wanted) ||
	    !database_number(nsys->database, OWN + 1, &event.bytes, &is_null) ||
	    !database_number(nsys->database, OWN + 2, &event.address, &has_no_address) ||
	    !database_number(nsys->database, OWN + 3, &cause, &is_null))
		return false;
	event.to_gpu = way == NSYS_HOST_TO_DEVICE;
	event.cause = nsys->codes.cause[cause < NSYS_CODES ? cause : IMPORT_CAUSE_UNKNOWN];
	if (!wanted)
		return true;
	if (!has_no_address)
		return import_profile_add(nsys->import, "the migration", &event);
	nsys->unplaced++;
	told->migrations++;
	told->moved[event.to_gpu ? IMPORT_TO_GPU : IMPORT_TO_CPU][event.cause].copies++;
	told->moved[event.to_gpu ? IMPORT_TO_GPU : IMPORT_TO_CPU][event.cause].bytes += event.bytes;
	return true;
}

static bool take_kernel(struct nsys *nsys)
{
	struct import_event event = {.kind = IMPORT_KERNEL};
	bool wanted;

	if (!take_common(nsys, &event, false, &wanted))
		return false;
	for (size_t i = OWN; i < OWN + 3 && (!event.name || event.name[0] == '\0'); i++)
		event.name = database_text(nsys->database, i);
	return !wanted || import_profile_add(nsys->import, "the kernel", &event);
}

/* -- tables -- */

static const struct table {
	const char *name;
	struct database_column column[DATABASE_COLUMNS_MAX];
	size_t columns;
	bool (*take)(struct nsys *nsys);
	const char *missing; /* NULL: is a matter of course */
} tables[] = {
	{"CUDA_UM_GPU_PAGE_FAULT_EVENTS",
	 {COMMON, {"address", true}, {"numberOfPageFaults", false}, {"faultAccessType", false}},
	 OWN + 3,
	 take_gpu_fault,
	 "the GPU had no fault, or nsys ran without --cuda-um-gpu-page-faults=true"},
	{"CUDA_UM_CPU_PAGE_FAULT_EVENTS",
	 {COMMON, {"address", true}},
	 OWN + 1,
	 take_cpu_fault,
	 "the CPU had no fault, or nsys ran without --cuda-um-cpu-page-faults=true"},
	{"CUPTI_ACTIVITY_KIND_MEMCPY",
	 {COMMON, {"copyKind", true}, {"bytes", true}, {"virtualAddress", false}, {"migrationCause", false}},
	 OWN + 4,
	 take_copy,
	 "nothing was copied, or nsys ran without --trace=cuda"},
	{"CUPTI_ACTIVITY_KIND_KERNEL",
	 {COMMON, {"shortName", false}, {"demangledName", false}, {"name", false}},
	 OWN + 3,
	 take_kernel,
	 NULL},
	{"CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
	 {COMMON, {"shortName", false}, {"demangledName", false}, {"name", false}},
	 OWN + 3,
	 take_kernel,
	 NULL},
};

static bool read_table(struct nsys *nsys, const struct table *table)
{
	enum line_status status = LINE_END;
	bool has_table;

	if (!database_rows(nsys->database, table->name, table->column, table->columns, &has_table))
		return false;
	if (!has_table && table->missing)
		import_note(nsys->import, "there is no table %s: %s", table->name, table->missing);
	while (has_table && (status = database_next(nsys->database)) == LINE_OK)
		if (!table->take(nsys))
			return false;
	return status == LINE_END;
}

/* The memory of the GPU whose events they are. */
static bool read_gpu(struct nsys *nsys)
{
	static const struct database_column columns[] = {{"id", true}, {"totalMemory", false}};
	enum line_status status = LINE_END;
	uint64_t id, bytes;
	bool has_table, is_null;

	if (!database_rows(nsys->database, "TARGET_INFO_GPU", columns, 2, &has_table))
		return false;
	while (has_table && (status = database_next(nsys->database)) == LINE_OK) {
		if (!database_number(nsys->database, 0, &id, &is_null) ||
		    !database_number(nsys->database, 1, &bytes, &is_null))
			return false;
		if (id == nsys->import->device)
			nsys->import->told.gpu_bytes = bytes;
	}
	return status == LINE_END;
}

static bool read_tables(struct nsys *nsys)
{
	if (!nsys_codes_read(nsys->database, &nsys->codes))
		return false;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (!read_table(nsys, &tables[i]))
			return false;
	if (!read_gpu(nsys))
		return false;
	if (nsys->unplaced > 0)
		import_note(nsys->import,
			    "%llu migrations have no virtual address: their bytes count, their pages are not "
			    "known",
			    (unsigned long long)nsys->unplaced);
	return true;
}

static bool read_database(struct import *import)
{
	struct nsys nsys = {.import = import};
	bool is_good = true;

	if (!import_profile_is_loaded(import)) {
		nsys.database = database_open(import);
		is_good = nsys.database && read_tables(&nsys);
		database_close(nsys.database);
		snprintf(import->place, sizeof(import->place), "database");
	}
	return is_good && import_profile_write(import);
}

static bool shows(const char *head, size_t length)
{
	return length >= 16 && memcmp(head, "SQLite format 3", 16) == 0;
}

const struct import_format import_nsys = {
	.name = "nsys",
	.summary = "faults, migrations and kernels of a real GPU: `nsys export --type sqlite`",
	.options = IMPORT_RANGES | IMPORT_BENCHMARK | IMPORT_TOUCHED | IMPORT_DEVICE | IMPORT_PROCESS,
	.is_binary = true,
	.has_faults_only = true,
	.is_profile = true,
	.read = read_database,
	.shows = shows,
};
