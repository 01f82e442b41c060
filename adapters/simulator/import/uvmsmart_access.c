/* Access streams of UVM Smart: `cycle,page`, every access of every SM at the load/store unit, in order; pages
 * are numbers of 4 KiB pages, cycles become nanoseconds. The stream tells neither SM nor whether it wrote:
 * accesses are reads, dealt to agents in turn. A second file says when kernels began and ended: a kernel's
 * row stands before the first access from its first cycle on, its end before the first access behind its last
 * cycle. */
#include "import/importer.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

#define KERNEL_NAME_MAX 48u
#define FIELDS_MAX	16u

struct kernel {
	uint64_t first, last; /* cycles */
	char name[KERNEL_NAME_MAX];
};

struct stream {
	struct kernel *kernel;
	size_t kernels, kernels_capacity;
	size_t at;    /* the next kernel that is to end */
	bool is_open; /* it has begun */
};

/* -- kernels -- */

/* Which columns matter, by their names. */
struct columns {
	size_t name, first, last, count;
};

static bool take_head(struct import_text *text, struct columns *columns)
{
	char *field[FIELDS_MAX];

	*columns = (struct columns){IMPORT_NONE, IMPORT_NONE, IMPORT_NONE, 0};
	columns->count = import_fields(text->lines.text, field, FIELDS_MAX);
	for (size_t i = 0; i < columns->count && columns->count <= FIELDS_MAX; i++) {
		if (strcmp(field[i], "kernel") == 0)
			columns->name = i;
		else if (strcmp(field[i], "start_cycle") == 0)
			columns->first = i;
		else if (strcmp(field[i], "end_cycle") == 0)
			columns->last = i;
	}
	if (columns->name != IMPORT_NONE && columns->first != IMPORT_NONE && columns->last != IMPORT_NONE)
		return true;
	return import_text_bad(text,
			       "the first line must name the columns kernel, start_cycle and end_cycle");
}

static bool add_kernel(struct import_text *text, struct stream *stream, const struct kernel *kernel)
{
	if (kernel->last < kernel->first)
		return import_text_bad(text, "the kernel ends before it begins");
	if (stream->kernels > 0 && kernel->first < stream->kernel[stream->kernels - 1].last)
		return import_text_bad(text, "the kernel begins before the one before it has ended");
	if (!ARRAY_RESERVE(stream->kernel, stream->kernels_capacity, stream->kernels + 1))
		return import_text_bad(text, "out of memory");
	stream->kernel[stream->kernels++] = *kernel;
	return true;
}

static bool take_kernel(struct import_text *text, const struct columns *columns, struct stream *stream)
{
	char *field[FIELDS_MAX];
	struct kernel kernel;
	const char *name;

	if (import_fields(text->lines.text, field, FIELDS_MAX) != columns->count)
		return import_text_bad(text, "not as many fields as the first line has");
	if (!import_decimal(field[columns->first], &kernel.first) ||
	    !import_decimal(field[columns->last], &kernel.last))
		return import_text_bad(text, "a cycle is not a decimal number");
	name = field[columns->name];
	snprintf(kernel.name, sizeof(kernel.name), "%s%.40s",
		 name[strspn(name, "0123456789")] == '\0' ? "kernel " : "", name);
	return add_kernel(text, stream, &kernel);
}

static bool read_kernel_lines(struct import_text *text, struct stream *stream)
{
	enum line_status status = import_text_next(text);
	struct columns columns;

	if (status == LINE_END)
		return import_text_bad(text, "there are no kernels");
	if (status == LINE_BAD || !take_head(text, &columns))
		return false;
	while ((status = import_text_next(text)) == LINE_OK)
		if (!take_kernel(text, &columns, stream))
			return false;
	return status == LINE_END;
}

/* Read once, kept for the second reading of the accesses. */
static bool read_kernels(struct import *import, struct stream *stream)
{
	const struct import_file *file = &import->options->kernels;
	struct import_text *text = calloc(1, sizeof(*text));
	bool is_good;

	if (!text)
		return import_bad(import, "out of memory");
	is_good = import_text_open(text, file->file, file->name, import->error) &&
		  read_kernel_lines(text, stream);
	import_text_close(text);
	free(text);
	return is_good;
}

/* Ends and begins the kernels that end and begin before an access at this cycle. */
static bool step_kernels(struct import *import, struct stream *stream, uint64_t cycle)
{
	for (; stream->at < stream->kernels; stream->at++) {
		const struct kernel *kernel = &stream->kernel[stream->at];

		if (cycle < kernel->first)
			return true;
		if (!stream->is_open && !import_kernel(import, kernel->name))
			return false;
		stream->is_open = true;
		if (cycle <= kernel->last)
			return true;
		if (!import_sync(import))
			return false;
		stream->is_open = false;
	}
	return true;
}

/* -- accesses -- */

/* Cycles of the core's clock, rounded down; false if 64 bits are too few. */
static bool to_ns(uint64_t cycle, uint32_t mhz, uint64_t *ns)
{
	uint64_t whole = cycle / mhz;

	if (whole > UINT64_MAX / 1000u - 1)
		return false;
	*ns = whole * 1000u + cycle % mhz * 1000u / mhz;
	return true;
}

static bool take_line(struct import *import, struct stream *stream)
{
	struct source_row row = {.kind = SOURCE_ACCESS, .has_time = true, .access = UVMP_ACCESS_READ};
	uint64_t cycle, page;
	char *field[2];

	if (import_fields(import->text.lines.text, field, 2) != 2)
		return import_bad(import, "not the fields cycle,page");
	if (!import_decimal(field[0], &cycle) || !to_ns(cycle, import->options->clock_mhz, &row.time_ns))
		return import_bad(import, "cycle \"%.40s\" is not a decimal number, or too large", field[0]);
	if (!import_decimal(field[1], &page) || page > UINT64_MAX / IMPORT_PAGE)
		return import_bad(import, "page \"%.40s\" is not a decimal number, or too large", field[1]);
	if (!step_kernels(import, stream, cycle))
		return false;
	row.address = page * IMPORT_PAGE;
	row.agent = import_agent(import);
	return import_access(import, &row);
}

static bool read_stream(struct import *import)
{
	struct stream *stream = import->state;
	enum line_status status;

	if (!stream) {
		stream = import->state = calloc(1, sizeof(*stream));
		if (!stream)
			return import_bad(import, "out of memory");
		if (import->options->kernels.file && !read_kernels(import, stream))
			return false;
	}
	stream->at = 0;
	stream->is_open = false;
	status = import_next(import);
	if (status == LINE_OK && strcmp(import->text.lines.text, "cycle,page") == 0)
		status = import_next(import);
	for (; status == LINE_OK; status = import_next(import))
		if (!take_line(import, stream))
			return false;
	return status == LINE_END && step_kernels(import, stream, UINT64_MAX);
}

static void end_stream(struct import *import)
{
	struct stream *stream = import->state;

	if (stream)
		free(stream->kernel);
	free(stream);
}

static bool shows(const char *head, size_t length)
{
	return length > 11 && memcmp(head, "cycle,page", 10) == 0 && (head[10] == '\n' || head[10] == '\r');
}

const struct import_format import_uvmsmart_access = {
	.name = "uvmsmart-access",
	.summary = "accesses of a simulated GPU (UVM Smart): lines cycle,page",
	.options = IMPORT_RANGES | IMPORT_AGENTS | IMPORT_KERNELS | IMPORT_CLOCK_MHZ | IMPORT_BENCHMARK,
	.ranges_set = "access",
	.read = read_stream,
	.end = end_stream,
	.shows = shows,
};
