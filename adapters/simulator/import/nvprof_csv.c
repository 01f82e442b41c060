/* The table that `nvprof --print-gpu-trace --csv` prints: a first line of names, a second one of units, then rows. It has what
 * nvprof's text has, and its columns are found by their names. The column `Unified Memory` holds a count for faults of the GPU, a
 * size for copies, and an address of code for faults of the CPU. Causes of copies are not told. */
#include "import/columns.h"
#include "import/nvprof.h"

#include <stdlib.h>
#include <string.h>

enum { START = 0, DURATION, NAME, ADDRESS, VALUE, DEVICE, WANTED };
static const char *const names[] = {"Start",	       "Duration",	 "Name",
				    "Virtual Address", "Unified Memory", "Device"};

struct table {
	struct columns columns;
	char unit[WANTED][8];
	uint64_t unsized;
};

static bool take_value(struct import *import, const char *text, const char *column_unit,
		       const struct nvprof_unit *unit, const char *name, uint64_t *value)
{
	return nvprof_value(text, column_unit, unit, value) ||
	       import_bad(import, "%s \"%.40s\" is no number with a unit", name, text);
}

static bool take_copy(struct import *import, struct table *table, struct import_event *event)
{
	const char *text = columns_text(&table->columns, VALUE);
	bool has_unit = table->unit[VALUE][0] != '\0' || text[strspn(text, "0123456789.")] != '\0';

	if (!has_unit) {
		table->unsized++;
		return true;
	}
	return take_value(import, text, table->unit[VALUE], nvprof_sizes, names[VALUE], &event->bytes) &&
	       import_profile_add(import, "the copy", event);
}

static bool take_fault(struct import *import, struct table *table, struct import_event *event)
{
	bool is_empty;

	event->access = UVMP_ACCESS_READ;
	if (event->kind == IMPORT_GPU_FAULT &&
	    !columns_number(import, &table->columns, VALUE, names[VALUE], &event->faults, &is_empty))
		return false;
	return import_profile_add(import, "the fault", event);
}

static bool take_row(struct import *import, struct table *table)
{
	const char *duration, *name;
	struct import_event event = {.kind = IMPORT_KERNEL};
	bool is_empty, wanted;

	if (!columns_row(import, &table->columns))
		return false;
	duration = columns_text(&table->columns, DURATION);
	name = columns_text(&table->columns, NAME);
	if (!take_value(import, columns_text(&table->columns, START), table->unit[START], nvprof_times,
			names[START], &event.start))
		return false;
	event.end = 0;
	if (duration[0] != '\0' && strcmp(duration, "-") != 0 &&
	    !take_value(import, duration, table->unit[DURATION], nvprof_times, names[DURATION], &event.end))
		return false;
	event.end += event.start;
	if (name[0] == '[' && !nvprof_kind(name, &event.kind, &event.to_gpu))
		return true;
	if (!nvprof_wants(import, event.kind, columns_text(&table->columns, DEVICE), &wanted))
		return false;
	if (!wanted)
		return true;
	if (event.kind == IMPORT_KERNEL) {
		import_cut_name(table->columns.field[table->columns.at[NAME]]);
		event.name = name;
		return import_profile_add(import, "the kernel", &event);
	}
	if (!columns_number(import, &table->columns, ADDRESS, names[ADDRESS], &event.address, &is_empty))
		return false;
	return event.kind == IMPORT_MIGRATION ? take_copy(import, table, &event)
					      : take_fault(import, table, &event);
}

static bool is_head(const char *line)
{
	return strncmp(line, "\"Start\"", 7) == 0 || strncmp(line, "Start,", 6) == 0;
}

static bool take_units(struct import *import, struct table *table)
{
	if (!columns_row(import, &table->columns))
		return false;
	for (size_t i = 0; i < WANTED; i++)
		snprintf(table->unit[i], sizeof(table->unit[i]), "%.7s", columns_text(&table->columns, i));
	return true;
}

static bool read_rows(struct import *import, struct table *table)
{
	enum line_status status;

	while ((status = import_next(import)) == LINE_OK && !is_head(import->text.lines.text))
		;
	if (status == LINE_END)
		return import_bad(import, "there is no table: no line that begins with \"Start\"");
	if (status == LINE_BAD || !columns_head(import, &table->columns, names, WANTED, ADDRESS))
		return false;
	if (table->columns.at[ADDRESS] == IMPORT_NONE || table->columns.at[VALUE] == IMPORT_NONE)
		return import_bad(
			import,
			"the table has no columns Unified Memory and Virtual Address: unified memory was not "
			"profiled");
	if (import_next(import) != LINE_OK || !take_units(import, table))
		return import->error[0] != '\0'
			       ? false
			       : import_bad(import, "the table has no units below its names");
	while ((status = import_next(import)) == LINE_OK) {
		const char *line = import->text.lines.text;

		if (line[0] != '\0' && strncmp(line, "==", 2) != 0 && !take_row(import, table))
			return false;
	}
	if (table->unsized > 0)
		import_note(import, "%llu copies have a size without a unit and are left out",
			    (unsigned long long)table->unsized);
	return status == LINE_END;
}

static bool read_csv(struct import *import)
{
	struct table *table;
	bool is_good = true;

	if (!import_profile_is_loaded(import)) {
		table = calloc(1, sizeof(*table));
		if (!table)
			return import_no_memory(import);
		is_good = read_rows(import, table);
		free(table);
	}
	return is_good && import_profile_write(import);
}

static bool shows(const char *head, size_t length)
{
	static const char line[] = "\"Start\",\"Duration\"";

	return memmem(head, length, line, sizeof(line) - 1u) != NULL;
}

const struct import_format import_nvprof_csv = {
	.name = "nvprof-csv",
	.summary = "the same with migrations, as `nvprof --print-gpu-trace --csv` prints them",
	.options = IMPORT_RANGES | IMPORT_BENCHMARK | IMPORT_TOUCHED | IMPORT_DEVICE,
	.has_faults_only = true,
	.is_profile = true,
	.read = read_csv,
	.shows = shows,
};
