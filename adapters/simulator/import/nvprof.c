/* The table that `nvprof --print-gpu-trace` prints. Rows are read from both sides: start and duration are the
 * first two words, the name begins where the head says `Name`, and the word before it is the virtual address;
 * what lies between differs from version to version. The last parentheses there are those of the device, `Tesla T4 (0)`, if its
 * name was not cut. A group of GPU faults becomes a read of its address (it tells no other), a CPU fault a read by the CPU, a
 * kernel a kernel; copies are what follows from them, and become reads of their pages only with --touched migrated. What is
 * printed around the table is left out.
 *
 * Times are rounded to five digits, so faults that were serviced together cannot be told from faults that
 * followed each other: rows are written in the order of the table, without batches.
 *
 * The table is in the order of starts, but those are rounded, and the profiler lets a kernel begin after its
 * first fault. The GPU faults in kernels only; so a fault outside one is held until the next kernel's row. */
#include "import/nvprof.h"

#include <stdlib.h>
#include <string.h>

#define HELD_MAX   1024u
#define DIGITS_MAX 9u

struct table {
	bool is_inside;
	size_t name_at; /* column of the names */
	bool was_there;
	bool is_open; /* a kernel has begun */
	uint64_t kernel_end;
	size_t held_count;
	struct source_row held[HELD_MAX];
};

struct times {
	uint64_t start, step, duration; /* ns; step: the unit of the last digit of start */
};

/* -- words -- */

/* `681.75ms`: in ns, and the unit of its last digit. False: no time. */
static bool parse_time(const char *word, uint64_t *ns, uint64_t *step)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};
	uint64_t value = 0, divisor = 1;
	bool is_fraction = false;
	unsigned digits = 0;

	for (; (*word >= '0' && *word <= '9') || (*word == '.' && !is_fraction); word++) {
		if (*word == '.') {
			is_fraction = true;
			continue;
		}
		if (++digits > DIGITS_MAX)
			return false;
		value = value * 10 + (unsigned)(*word - '0');
		divisor *= is_fraction ? 10 : 1;
	}
	for (size_t i = 0; digits > 0 && i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(word, units[i].name) != 0)
			continue;
		*ns = value * units[i].ns / divisor;
		*step = units[i].ns / divisor + (units[i].ns < divisor);
		return true;
	}
	return false;
}

/* The next word of the rest; empty at the end. */
static char *next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " "), *end = word + strcspn(word, " ");

	*rest = *end != '\0' ? end + 1 : end;
	*end = '\0';
	return word;
}

/* The last word of a text that ends with it or with blanks. */
static const char *last_word(char *text)
{
	size_t length = strlen(text);
	const char *blank;

	while (length > 0 && text[length - 1] == ' ')
		text[--length] = '\0';
	blank = strrchr(text, ' ');
	return blank ? blank + 1 : text;
}

/* -- rows -- */

static bool close_kernel(struct import *import, struct table *table)
{
	if (!table->is_open)
		return true;
	table->is_open = false;
	return import_sync(import);
}

static bool put_held(struct import *import, struct table *table)
{
	for (size_t i = 0; i < table->held_count; i++)
		if (!import_access(import, &table->held[i]))
			return false;
	table->held_count = 0;
	return true;
}

static bool put_kernel(struct import *import, struct table *table, const struct times *times, char *name)
{
	uint64_t end = times->start + times->duration;

	import_cut_name(name);
	if (table->is_open && times->start >= table->kernel_end && !close_kernel(import, table))
		return false;
	if (!table->is_open || end > table->kernel_end)
		table->kernel_end = end;
	table->is_open = true;
	return import_kernel(import, name) && put_held(import, table);
}

static bool put_gpu_fault(struct import *import, struct table *table, const struct times *times,
			  struct source_row *row)
{
	row->agent = import_agent(import);
	if (table->is_open && times->start >= table->kernel_end + times->step && !close_kernel(import, table))
		return false;
	if (table->is_open)
		return import_access(import, row);
	if (table->held_count == HELD_MAX && !put_held(import, table))
		return false;
	table->held[table->held_count++] = *row;
	return true;
}

static bool put_cpu_fault(struct import *import, struct table *table, const struct times *times,
			  struct source_row *row)
{
	row->is_cpu = true;
	if (table->is_open && times->start >= table->kernel_end && !close_kernel(import, table))
		return false;
	return put_held(import, table) && import_access(import, row);
}

static bool take_times(struct import *import, char **rest, struct times *times)
{
	const char *start = next_word(rest), *duration = next_word(rest);
	uint64_t step;

	times->duration = 0;
	if (!parse_time(start, &times->start, &times->step))
		return import_bad(import, "start \"%.40s\" is not a time as 681.75ms", start);
	if (strcmp(duration, "-") != 0 && !parse_time(duration, &times->duration, &step))
		return import_bad(import, "duration \"%.40s\" is not a time as 183.74us", duration);
	return true;
}

/* Pages that a copy brought to the GPU. A copy to the CPU may be an eviction: nvprof does not say. */
static bool put_copy(struct import *import, struct table *table, const struct times *times,
		     struct source_row *row, const struct import_event *event)
{
	uint64_t last = event->address + (event->bytes - 1u);
	uint64_t step = import->is_scan ? IMPORT_BLOCK : IMPORT_PAGE;

	if (import->options->touched != IMPORT_TOUCHED_MIGRATED || !import_profile_touches(event))
		return true;
	for (uint64_t at = event->address;; at = at / step * step + step) {
		row->address = at;
		if (!put_gpu_fault(import, table, times, row))
			return false;
		if (last / step == at / step)
			return true;
	}
}

/* The event is counted once; what it becomes is written in each reading. */
static bool tell(struct import *import, const char *what, const struct times *times,
		 struct import_event *event)
{
	event->start = times->start;
	event->end = times->start + times->duration;
	return import_profile_is_loaded(import) || import_profile_add(import, what, event);
}

/* The words of a row of unified memory, from the last: the address, and the size of a copy. */
static bool take_words(struct import *import, char *line, struct import_event *event)
{
	const char *address = last_word(line), *size;

	if (!import_hex(address, &event->address))
		return import_bad(import, "virtual address \"%.40s\" is not a hexadecimal number", address);
	if (address == line || event->kind == IMPORT_CPU_FAULT)
		return true;
	line[address - line - 1] = '\0';
	size = last_word(line);
	if (event->kind == IMPORT_MIGRATION)
		return nvprof_value(size, "", nvprof_sizes, &event->bytes) ||
		       import_bad(import, "size \"%.40s\" is not a size as 4.000000KB", size);
	if (!import_decimal(size, &event->faults))
		event->faults = 1;
	return true;
}

static bool take_row(struct import *import, struct table *table)
{
	struct source_row row = {.kind = SOURCE_ACCESS, .has_time = true, .access = UVMP_ACCESS_READ};
	char *line = import->text.lines.text, *name = line + table->name_at;
	struct import_event event = {.kind = IMPORT_KERNEL, .name = name};
	struct times times;
	bool wanted;

	if (import->text.lines.length <= table->name_at || name[-1] != ' ')
		return import_bad(import, "not a row of the table: it has no name below `Name`");
	name[-1] = '\0';
	if (!take_times(import, &line, &times))
		return false;
	if (name[0] == '[' && !nvprof_kind(name, &event.kind, &event.to_gpu))
		return true;
	if (!nvprof_wants(import, event.kind, line, &wanted))
		return false;
	if (!wanted)
		return true;
	if (event.kind == IMPORT_KERNEL)
		return tell(import, "the kernel", &times, &event) && put_kernel(import, table, &times, name);
	event.bytes = 0;
	if (!take_words(import, line, &event) || !tell(import, "the row", &times, &event))
		return false;
	row.address = event.address;
	row.time_ns = times.start;
	if (event.kind == IMPORT_MIGRATION)
		return put_copy(import, table, &times, &row, &event);
	return event.kind == IMPORT_GPU_FAULT ? put_gpu_fault(import, table, &times, &row)
					      : put_cpu_fault(import, table, &times, &row);
}

/* -- the table -- */

static bool take_head(struct import *import, struct table *table)
{
	const char *line = import->text.lines.text, *first = line + strspn(line, " ");
	size_t length = import->text.lines.length;

	if (strncmp(first, "Start ", 6) != 0 || !strstr(first, " Duration ") ||
	    strcmp(line + length - 4, "Name") != 0)
		return true;
	if (!strstr(first, " Virtual Address "))
		return import_bad(import,
				  "the table has no column Virtual Address: unified memory was not profiled");
	table->is_inside = table->was_there = true;
	table->name_at = length - 4;
	return true;
}

static bool take_line(struct import *import, struct table *table)
{
	const char *line = import->text.lines.text;

	if (!table->is_inside)
		return take_head(import, table);
	if (line[0] != '\0' && strncmp(line, "==", 2) != 0)
		return take_row(import, table);
	table->is_inside = false;
	return true;
}

static bool read_lines(struct import *import)
{
	struct table *table = import->state;
	enum line_status status;

	if (!table)
		table = import->state = malloc(sizeof(*table));
	if (!table)
		return import_bad(import, "out of memory");
	table->is_inside = table->was_there = table->is_open = false;
	table->held_count = 0;
	while ((status = import_next(import)) == LINE_OK)
		if (!take_line(import, table))
			return false;
	if (status == LINE_BAD)
		return false;
	if (!table->was_there)
		return import_bad(
			import,
			"there is no table: no line from Start and Duration to Virtual Address and Name");
	if (!import_profile_is_loaded(import) && !import_profile_load(import))
		return false;
	return close_kernel(import, table) && put_held(import, table);
}

static void end_lines(struct import *import)
{
	free(import->state);
}

static bool shows(const char *head, size_t length)
{
	static const char banner[] = "NVPROF is profiling";

	return memmem(head, length, banner, sizeof(banner) - 1u) != NULL &&
	       !memmem(head, length, "\"Start\",", 8);
}

const struct import_format import_nvprof = {
	.name = "nvprof",
	.summary = "faults and kernels of a real GPU, as `nvprof --print-gpu-trace` prints them",
	.options = IMPORT_RANGES | IMPORT_BENCHMARK | IMPORT_AGENTS | IMPORT_TOUCHED | IMPORT_DEVICE,
	.has_faults_only = true,
	.is_profile = true,
	.read = read_lines,
	.end = end_lines,
	.shows = shows,
};
