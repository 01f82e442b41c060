/* The rows that importers hand over. Times may not go back and addresses must be in ranges, as the reader of
 * traces demands, so that every trace that was written can be read. */
#include "import/importer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
	if (import->place[0] != '\0') {
		snprintf(import->error, SOURCE_ERROR_MAX, "%.220s: %.90s: %.190s", import->name,
			 import->place, cause);
		return false;
	}
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
	if (row.has_time && row.time_ns > TRACE_ROW_TIME_MOST)
		return import_bad(import, "the time is %llu ns; a trace ends at %llu ns",
				  (unsigned long long)row.time_ns, (unsigned long long)TRACE_ROW_TIME_MOST);
	if (row.has_time)
		import->time_ns = row.time_ns;
	if (import->is_scan)
		return import_ranges_see(&import->ranges, row.address) || import_no_memory(import);
	if (!import_ranges_hold(&import->ranges, row.address))
		return import_bad(import, "address 0x%llx is in no range of %.100s",
				  (unsigned long long)row.address,
				  ranges ? ranges : "the first reading: the file has changed");
	if (import->base)
		row.address += import->base[import->ranges.last_hit] -
			       import->ranges.range[import->ranges.last_hit].base;
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

/* Keeps the smallest values. */
static void remember(struct import_seen *seen, uint64_t value)
{
	size_t at = 0;

	while (at < seen->count && seen->value[at] < value)
		at++;
	if (at < seen->count && seen->value[at] == value)
		return;
	if (seen->count == IMPORT_SEEN_MAX) {
		seen->has_more = true;
		if (at == seen->count)
			return;
		seen->count--;
	}
	memmove(&seen->value[at + 1], &seen->value[at], (seen->count - at) * sizeof(seen->value[0]));
	seen->value[at] = value;
	seen->count++;
}

bool import_sees(struct import *import, enum import_option which, uint64_t value)
{
	bool is_device = which == IMPORT_DEVICE;
	uint64_t only = is_device ? import->device : import->process;

	remember(is_device ? &import->devices : &import->processes, value);
	if (only == value)
		*(is_device ? &import->has_device : &import->has_process) = true;
	return only == IMPORT_ANY || only == value;
}

bool import_wants(struct import *import, enum import_option which, uint64_t value, bool *wanted)
{
	const struct import_options *options = import->options;
	bool is_device = which == IMPORT_DEVICE,
	     is_chosen = is_device ? options->has_device : options->has_process;
	uint64_t *only = is_device ? &import->device : &import->process;
	const char *what = is_device ? "GPU" : "process";

	if (!import_sees(import, which, value))
		*wanted = false;
	if (*only == IMPORT_ANY)
		*only = value;
	return *only == value || is_chosen ||
	       import_bad(import, "events of %s %llu and of %s %llu; --%s says which", what,
			  (unsigned long long)*only, what, (unsigned long long)value,
			  is_device ? "device" : "process");
}

/* The error: there is no event of the chosen GPU or process. Returns false. */
static bool say_seen(struct import *import, const char *what, uint64_t chosen, const struct import_seen *seen)
{
	char list[IMPORT_SEEN_MAX * 22u] = "";
	size_t length = 0;

	if (seen->count == 0)
		return import_bad(import, "there is no event of %s %llu; no event names a %s", what,
				  (unsigned long long)chosen, what);
	for (size_t i = 0; i < seen->count; i++)
		length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%llu", i > 0 ? ", " : "",
					   (unsigned long long)seen->value[i]);
	return import_bad(import, "there is no event of %s %llu; there are some of %s%s", what,
			  (unsigned long long)chosen, list, seen->has_more ? " and others" : "");
}

bool import_check_chosen(struct import *import)
{
	const struct import_options *options = import->options;

	if (options->has_device && !import->has_device)
		return say_seen(import, "GPU", options->device, &import->devices);
	return !options->has_process || import->has_process ||
	       say_seen(import, "process", options->process, &import->processes);
}

bool import_batch(struct import *import)
{
	struct source_row row = {.kind = SOURCE_BATCH};

	return import->is_scan || trace_write_row(import->writer, &row, import->error);
}

/* Sees all blocks of [address, end). */
static bool see_all(struct import *import, uint64_t address, uint64_t last)
{
	for (uint64_t block = address / IMPORT_BLOCK; block <= last / IMPORT_BLOCK; block++)
		if (!import_ranges_see(&import->ranges, block * IMPORT_BLOCK))
			return import_no_memory(import);
	return true;
}

bool import_call_prefetch(struct import *import, uint64_t address, uint64_t bytes, bool to_gpu)
{
	struct source_row row = {.kind = SOURCE_PREFETCH, .to_gpu = to_gpu};
	const struct source_range *range;
	uint64_t last = address + (bytes - 1u);

	if (last < address)
		return import_bad(import, "%llu bytes from 0x%llx on end behind the last address",
				  (unsigned long long)bytes, (unsigned long long)address);
	if (import->is_scan)
		return see_all(import, address, last);
	if (!import_ranges_hold(&import->ranges, address))
		return import_bad(import, "address 0x%llx is in no range", (unsigned long long)address);
	range = &import->ranges.range[import->ranges.last_hit];
	row.address = address / IMPORT_PAGE * IMPORT_PAGE;
	if (last - range->base >= range->bytes)
		last = range->base + (range->bytes - 1u);
	row.bytes = last / IMPORT_PAGE * IMPORT_PAGE + IMPORT_PAGE - row.address;
	if (row.address + (row.bytes - 1u) - range->base >= range->bytes) /* the range ends within a page */
		row.bytes = range->base + range->bytes - row.address;
	if (import->base)
		row.address += import->base[import->ranges.last_hit] - range->base;
	return trace_write_row(import->writer, &row, import->error);
}

void import_note(struct import *import, const char *format, ...)
{
	struct import_told *told = &import->told;
	char text[IMPORT_NOTE_MAX];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	for (size_t i = 0; i < told->notes; i++)
		if (strcmp(told->note[i], text) == 0)
			return;
	if (told->notes < IMPORT_NOTES_MAX)
		memcpy(told->note[told->notes++], text, sizeof(text));
}

/* `void f<int>(int*, char) [108]`: without arguments, which have commas, and without the number of the
 * launch. */
void import_cut_name(char *name)
{
	static const char nameless[] = "(anonymous namespace)";
	char *end = strchr(name, '(');

	while (end && strncmp(end, nameless, strlen(nameless)) == 0)
		end = strchr(end + 1, '(');
	if (!end)
		end = strstr(name, " [");
	if (end)
		*end = '\0';
}
