/* The table of importers, and the two readings of an input: the first finds the ranges, the second writes the
 * trace. */
#include "import/importer.h"
#include "import/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct import_format *const formats[] = {
	&import_addresses,
	&import_cupti,
	&import_damon,
	&import_gpu_ext_chunk,
	&import_gpu_ext_prefetch,
	&import_lackey,
	&import_nsys,
	&import_nvprof,
	&import_nvprof_csv,
	&import_oracle_general,
	&import_uvm_eval,
	&import_uvm_tools,
	&import_uvmsmart_access,
	&import_uvmsmart_batches,
};

const struct import_options import_defaults = {.agents = 1, .clock_mhz = 1481};

const struct import_format *import_format_at(size_t index)
{
	return index < sizeof(formats) / sizeof(formats[0]) ? formats[index] : NULL;
}

const struct import_format *import_format_find(const char *name)
{
	const struct import_format *format;

	for (size_t i = 0; (format = import_format_at(i)) != NULL; i++)
		if (strcmp(format->name, name) == 0)
			return format;
	return NULL;
}

const char *import_format_name(const struct import_format *format)
{
	return format->name;
}

const char *import_format_summary(const struct import_format *format)
{
	return format->summary;
}

unsigned import_format_options(const struct import_format *format)
{
	return format->options;
}

/* -- a reading -- */

static bool open_input(struct import *import, FILE *in)
{
	if (import->is_text)
		return import_text_open(&import->text, in, import->name, import->error);
	import->view = import_view_open(in, false);
	return import->view || import_no_memory(import);
}

static void close_input(struct import *import)
{
	if (import->is_text)
		import_text_close(&import->text);
	import_view_close(import->view);
	import->view = NULL;
}

/* One reading, from where `in` stands to its end. */
static bool read_once(struct import *import, FILE *in)
{
	bool is_good;

	import->in = in;
	import->accesses = import->time_ns = import->record = 0;
	import->next_agent = 0;
	is_good = open_input(import, in) && import->format->read(import);
	if (is_good && import->accesses == 0)
		is_good = import_bad(import, "there is no access in it");
	close_input(import);
	return is_good;
}

static uint64_t round_up(uint64_t address)
{
	return (address + IMPORT_BLOCK - 1u) / IMPORT_BLOCK * IMPORT_BLOCK;
}

/* Chooses where the ranges are written: in their order, the first one near its base. */
static bool place_apart(struct import *import)
{
	const struct import_ranges *ranges = &import->ranges;
	uint64_t next = ranges->ranges == 0 ? 0 : round_up(ranges->range[0].base), after;

	import->base = calloc(ranges->ranges + 1u, sizeof(*import->base));
	if (!import->base)
		return import_no_memory(import);
	for (size_t i = 0; i < ranges->ranges; i++) {
		import->base[i] = next;
		after = round_up(next + ranges->range[i].bytes);
		if (after <= next || next < ranges->range[0].base) { /* past the last address */
			snprintf(import->error, SOURCE_ERROR_MAX, "%.250s: range %zu (0x%llx,%llu): --apart would end it past the last address",
				 import->options->ranges.name, i + 1u, (unsigned long long)ranges->range[i].base,
				 (unsigned long long)ranges->range[i].bytes);
			return false;
		}
		next = after;
	}
	return true;
}

static bool write_ranges(struct import *import)
{
	struct source_row row = {.kind = SOURCE_RANGE};

	if (import->options->is_apart && !place_apart(import))
		return false;
	for (size_t i = 0; i < import->ranges.ranges; i++) {
		row.range = import->ranges.range[i];
		if (import->base)
			row.range.base = import->base[i];
		if (!trace_write_row(import->writer, &row, import->error))
			return false;
	}
	return true;
}

static bool write_trace(struct import *import, FILE *in, FILE *out)
{
	char comment[80];

	snprintf(comment, sizeof(comment), "import %s%s%s", import->format->name,
		 (import->format->options & IMPORT_TOUCHED) != 0 &&
				 import->options->touched == IMPORT_TOUCHED_MIGRATED
			 ? " --touched migrated"
			 : "",
		 import->format->has_faults_only ? ", faults only" : "");
	import->is_scan = false;
	import->writer =
		trace_write_open(out, "standard output", import->format->has_bytes ? TRACE_WRITE_SIZED : 0,
				 comment, import->error);
	if (!import->writer)
		return false;
	if (write_ranges(import) && read_once(import, in))
		return trace_write_close(import->writer, import->error);
	trace_write_abandon(import->writer);
	return false;
}

/* -- two readings -- */

static bool cannot_keep(struct import *import)
{
	snprintf(import->error, SOURCE_ERROR_MAX, "%.250s: cannot be kept in a temporary file: %s",
		 import->name, strerror(errno));
	return false;
}

/* What cannot be rewound is copied, as it is; *kept must be closed. */
static bool keep(struct import *import, FILE *in, FILE **kept)
{
	char buffer[16384];
	size_t length;

	*kept = tmpfile();
	if (!*kept)
		return cannot_keep(import);
	while ((length = fread(buffer, 1, sizeof(buffer), in)) > 0)
		if (fwrite(buffer, 1, length, *kept) != length)
			return cannot_keep(import);
	if (ferror(in)) {
		snprintf(import->error, SOURCE_ERROR_MAX, "%.250s:1: cannot be read: %s", import->name,
			 strerror(errno));
		return false;
	}
	return fseeko(*kept, 0, SEEK_SET) == 0 || cannot_keep(import);
}

static bool scan(struct import *import, FILE *in)
{
	off_t start = ftello(in);
	const char *wrong;

	import->is_scan = true;
	if (!read_once(import, in))
		return false;
	wrong = import->format->makes_ranges ? NULL : import_ranges_make(&import->ranges);
	if (wrong)
		return import_bad(import, "%s", wrong);
	if (start >= 0 && fseeko(in, start, SEEK_SET) == 0)
		return true;
	snprintf(import->error, SOURCE_ERROR_MAX, "%.250s: cannot be read twice: %s", import->name,
		 strerror(errno));
	return false;
}

static bool read_twice(struct import *import, FILE *in, FILE *out)
{
	FILE *kept = NULL;
	bool is_good = fseeko(in, 0, SEEK_CUR) == 0 || keep(import, in, &kept);

	is_good = is_good && scan(import, kept ? kept : in) && write_trace(import, kept ? kept : in, out);
	if (kept)
		fclose(kept);
	return is_good;
}

bool import_run(const struct import_format *format, FILE *in, const char *name,
		const struct import_options *options, FILE *out, char error[SOURCE_ERROR_MAX])
{
	struct import *import = calloc(1, sizeof(*import));
	const struct import_file *ranges = &options->ranges;
	bool is_good;

	if (!import) {
		snprintf(error, SOURCE_ERROR_MAX, "out of memory");
		return false;
	}
	import->format = format;
	import->options = options;
	import->name = name;
	import->error = error;
	import->is_text = !format->is_binary;
	import->device = options->has_device ? options->device : IMPORT_ANY;
	import->process = options->has_process ? options->process : IMPORT_ANY;
	if (ranges->file)
		is_good = import_ranges_read(&import->ranges, ranges, format->ranges_set, options->benchmark,
					     error) &&
			  write_trace(import, in, out);
	else
		is_good = read_twice(import, in, out);
	if (format->end)
		format->end(import);
	import->told.is_profile = format->is_profile;
	import->told.has_faults_only = format->has_faults_only;
	if (options->told)
		*options->told = import->told;
	import_profile_free(import);
	import_ranges_free(&import->ranges);
	free(import->base);
	free(import);
	return is_good;
}
