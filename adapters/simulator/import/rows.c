/* The rows that importers hand over. Times may not go back and addresses must be in ranges, as the reader of
 * traces demands, so that every trace that was written can be read. */
#include "import/importer.h"

#include <stdarg.h>
#include <stdio.h>

enum line_status import_next(struct import *import)
{
	return import_text_next(&import->text);
}

bool import_bad(struct import *import, const char *format, ...)
{
	char cause[SOURCE_ERROR_MAX / 2 - 64];
	va_list list;

	va_start(list, format);
	vsnprintf(cause, sizeof(cause), format, list);
	va_end(list);
	if (import->is_text)
		return import_text_bad(&import->text, "%s", cause);
	snprintf(import->error, SOURCE_ERROR_MAX, "%.250s: record %llu: %s", import->name,
		 (unsigned long long)(import->record == 0 ? 1 : import->record), cause);
	return false;
}

uint32_t import_agent(struct import *import)
{
	uint32_t agent = import->next_agent;

	import->next_agent = agent + 1 < import->options->agents ? agent + 1 : 0;
	return agent;
}

bool import_no_memory(struct import *import)
{
	snprintf(import->error, SOURCE_ERROR_MAX, "out of memory");
	return false;
}

bool import_access(struct import *import, const struct source_row *access)
{
	const char *ranges = import->options->ranges.file ? import->options->ranges.name : NULL;
	struct source_row row = *access;

	import->accesses++;
	if (row.has_time && row.time_ns < import->time_ns)
		return import_bad(import, "time goes backwards, from %llu ns to %llu ns",
				  (unsigned long long)import->time_ns, (unsigned long long)row.time_ns);
	if (row.has_time)
		import->time_ns = row.time_ns;
	if (import->is_scan)
		return import_ranges_see(&import->ranges, row.address) || import_no_memory(import);
	if (!import_ranges_hold(&import->ranges, row.address))
		return import_bad(import, "address 0x%llx is in no range of %.100s",
				  (unsigned long long)row.address,
				  ranges ? ranges : "the first reading: the file has changed");
	if (import->base)
		row.address += import->base[import->ranges.last_hit] - import->ranges.range[import->ranges.last_hit].base;
	row.kind = SOURCE_ACCESS;
	return trace_write_row(import->writer, &row, import->error);
}

bool import_kernel(struct import *import, const char *name)
{
	struct source_row row = {.kind = SOURCE_KERNEL};

	if (import->is_scan)
		return true;
	snprintf(row.name, sizeof(row.name), "%.*s", (int)sizeof(row.name) - 1,
		 name[0] != '\0' ? name : "kernel");
	for (char *at = row.name; *at != '\0'; at++) {
		if (*at == ',')
			*at = ';';
		else if (*at < ' ' || *at > '~')
			*at = '?';
	}
	return trace_write_row(import->writer, &row, import->error);
}

bool import_sync(struct import *import)
{
	struct source_row row = {.kind = SOURCE_SYNC};

	return import->is_scan || trace_write_row(import->writer, &row, import->error);
}
