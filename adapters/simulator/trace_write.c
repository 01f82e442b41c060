/* The writer of access traces. Rows collect in one buffer; a full buffer goes to the stream, through zstd if the trace is
 * compressed. Rows are checked by the reader's rules, so that every trace that was written can be read. */
#include "trace_write.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "packer.h"
#include "trace_binary.h"

#define BUFFER_BYTES  65536u
#define COMMENT_MAX   4000u
#define ROW_BYTES_MAX (COMMENT_MAX + 64u) /* a name has less than 64 bytes, a binary row at most 96 */
#define AGENT_MAX     ((1u << 20) - 1u)
#define PAGE_MASK     ((uint64_t)4095)

struct trace_writer {
	FILE *out;
	const char *name;
	size_t length; /* bytes in the buffer */
	char buffer[BUFFER_BYTES];
	struct packer *packer; /* NULL: not compressed */
	bool is_binary, is_sized;
	struct trace_binary binary; /* if it is */
};

__attribute__((format(printf, 3, 4))) static bool fail(const struct trace_writer *writer,
						       char error[SOURCE_ERROR_MAX], const char *format, ...)
{
	const char *name = writer->name;
	char text[SOURCE_ERROR_MAX / 2];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	snprintf(error, SOURCE_ERROR_MAX, "%.250s: %s", name, text);
	return false;
}

/* -- bytes -- */

static bool put_out(struct trace_writer *writer, const void *bytes, size_t length,
		    char error[SOURCE_ERROR_MAX])
{
	errno = 0;
	if (fwrite(bytes, 1, length, writer->out) == length)
		return true;
	return fail(writer, error, "%s", errno != 0 ? strerror(errno) : "write error");
}

/* Where compressed bytes go. */
struct target {
	struct trace_writer *writer;
	char *error;
};

static bool put_piece(void *to, const void *bytes, size_t length)
{
	const struct target *target = to;

	return put_out(target->writer, bytes, length, target->error);
}

static bool put_packed(struct trace_writer *writer, bool is_last, char error[SOURCE_ERROR_MAX])
{
	struct target target = {writer, error};

	if (packer_write(writer->packer, writer->buffer, writer->length, is_last, put_piece, &target))
		return true;
	if (packer_problem(writer->packer))
		fail(writer, error, "cannot be compressed: %s", packer_problem(writer->packer));
	return false;
}

/* Empties the buffer. */
static bool put_buffer(struct trace_writer *writer, bool is_last, char error[SOURCE_ERROR_MAX])
{
	bool is_good = writer->packer ? put_packed(writer, is_last, error)
				      : put_out(writer, writer->buffer, writer->length, error);

	writer->length = 0;
	if (!is_good || !is_last)
		return is_good;
	errno = 0;
	if (fflush(writer->out) == 0)
		return true;
	return fail(writer, error, "%s", errno != 0 ? strerror(errno) : "write error");
}

/* -- rows -- */

static bool is_name(const char *name)
{
	for (; *name != '\0'; name++)
		if (*name < ' ' || *name > '~' || *name == ',')
			return false;
	return true;
}

static bool put_range(struct trace_writer *writer, char **end, const struct source_range *range,
		      char error[SOURCE_ERROR_MAX])
{
	if (!is_name(range->name))
		return fail(writer, error, "the name of the range at 0x%llx cannot stand in a trace",
			    (unsigned long long)range->base);
	if (range->is_device)
		return fail(writer, error, "the range at 0x%llx is not managed and cannot stand in a trace",
			    (unsigned long long)range->base);
	if (writer->is_binary)
		*end = trace_binary_range(&writer->binary, *end, range->base, range->bytes, range->name,
					  range->is_fresh);
	else
		*end = trace_row_range(*end, range->base, range->bytes, range->name, range->is_fresh);
	return true;
}

static bool put_kernel(struct trace_writer *writer, char **end, const char *name,
		       char error[SOURCE_ERROR_MAX])
{
	if (name[0] == '\0' || !is_name(name))
		return fail(writer, error, "the name of a kernel cannot stand in a trace");
	*end = writer->is_binary ? trace_binary_kernel(&writer->binary, *end, name)
				 : trace_row_kernel(*end, name);
	return true;
}

static bool put_access(struct trace_writer *writer, char **end, const struct source_row *row,
		       char error[SOURCE_ERROR_MAX])
{
	struct trace_access access = {.time_ns = row->time_ns,
				      .address = row->address,
				      .agent = row->agent,
				      .bytes = writer->is_sized ? row->access_bytes : 0,
				      .has_time = row->has_time,
				      .is_cpu = row->is_cpu,
				      .access = (uint8_t)row->access};

	if (row->access == UVMP_ACCESS_ATOMIC_WEAK || trace_row_letter(row->access) == '\0')
		return fail(writer, error, "this sort of access cannot stand in a trace");
	if (!row->is_cpu && row->agent > AGENT_MAX)
		return fail(writer, error, "agent %u is above %u", row->agent, AGENT_MAX);
	if (row->access_bytes > TRACE_ROW_BYTES_MOST)
		return fail(writer, error, "an access of %u bytes is larger than a page, %u bytes",
			    row->access_bytes, TRACE_ROW_BYTES_MOST);
	if (row->has_time && row->time_ns > TRACE_ROW_TIME_MOST)
		return fail(writer, error, "time %llu is above %llu ns", (unsigned long long)row->time_ns,
			    (unsigned long long)TRACE_ROW_TIME_MOST);
	if (writer->is_binary && row->has_time && row->time_ns < writer->binary.time_ns)
		return fail(writer, error, "time goes backwards, from %llu to %llu",
			    (unsigned long long)writer->binary.time_ns, (unsigned long long)row->time_ns);
	*end = writer->is_binary ? trace_binary_access(&writer->binary, *end, &access)
				 : trace_row_access(*end, &access);
	return true;
}

static bool fail_pages(const struct trace_writer *writer, const struct source_row *row,
		       char error[SOURCE_ERROR_MAX])
{
	return fail(writer, error, "%llu bytes at 0x%llx cannot stand in a trace: no whole pages",
		    (unsigned long long)row->bytes, (unsigned long long)row->address);
}

static bool is_part(const struct trace_writer *writer, const struct source_row *row,
		    char error[SOURCE_ERROR_MAX])
{
	return ((row->address & PAGE_MASK) == 0 && row->bytes != 0) || fail_pages(writer, row, error);
}

static bool put_free(struct trace_writer *writer, char **end, const struct source_row *row,
		     char error[SOURCE_ERROR_MAX])
{
	if (row->is_part && !is_part(writer, row, error))
		return false;
	if (row->is_part && (row->bytes & PAGE_MASK) != 0)
		return fail_pages(writer, row, error);
	if (writer->is_binary)
		*end = row->is_part
			       ? trace_binary_part(&writer->binary, *end, TRACE_BINARY_FREE_PART,
						   row->address, row->bytes)
			       : trace_binary_single(&writer->binary, *end, TRACE_BINARY_FREE, row->address);
	else
		*end = row->is_part ? trace_row_free_part(*end, row->address, row->bytes)
				    : trace_row_free(*end, row->address);
	return true;
}

static bool put_prefetch(struct trace_writer *writer, char **end, const struct source_row *row,
			 char error[SOURCE_ERROR_MAX])
{
	if (!is_part(writer, row, error))
		return false;
	if (writer->is_binary)
		*end = trace_binary_part(&writer->binary, *end,
					 TRACE_BINARY_PREFETCH | (row->to_gpu ? TRACE_BINARY_TO_GPU : 0),
					 row->address, row->bytes);
	else
		*end = trace_row_prefetch(*end, row->to_gpu ? "gpu" : "cpu", row->address, row->bytes);
	return true;
}

/* The processor counts only for advice that has one. */
static char *put_binary_advice(struct trace_writer *writer, char *end, const struct source_row *row)
{
	uint64_t first = TRACE_BINARY_ADVISE | (uint64_t)row->advice << TRACE_BINARY_VALUE_SHIFT;

	if (row->advice <= UVMP_ADVISE_NOT_ACCESSED_BY && row->to_gpu)
		first |= TRACE_BINARY_TO_GPU;
	else if (row->advice == UVMP_ADVISE_PREFERRED && row->to_none)
		first |= TRACE_BINARY_TO_NONE;
	return trace_binary_part(&writer->binary, end, first, row->address, row->bytes);
}

static bool put_advice(struct trace_writer *writer, char **end, const struct source_row *row,
		       char error[SOURCE_ERROR_MAX])
{
	const char *processor = row->to_gpu ? "gpu" : row->to_none ? "none" : "cpu";

	if ((unsigned)row->advice >= TRACE_ROW_ADVICES)
		return fail(writer, error, "this sort of advice cannot stand in a trace");
	if (!is_part(writer, row, error))
		return false;
	*end = writer->is_binary ? put_binary_advice(writer, *end, row)
				 : trace_row_advise(*end, row->advice, processor, row->address, row->bytes);
	return true;
}

static char *put_single(struct trace_writer *writer, char *end, bool is_sync)
{
	if (writer->is_binary)
		return trace_binary_single(&writer->binary, end,
					   is_sync ? TRACE_BINARY_SYNC : TRACE_BINARY_BATCH, 0);
	return trace_row_text(end, is_sync ? TRACE_ROW_SYNC : TRACE_ROW_BATCH);
}

static bool make_room(struct trace_writer *writer, char error[SOURCE_ERROR_MAX])
{
	return writer->length <= BUFFER_BYTES - ROW_BYTES_MAX || put_buffer(writer, false, error);
}

bool trace_write_comment(struct trace_writer *writer, const char *text, size_t length,
			 char error[SOURCE_ERROR_MAX])
{
	char *end;

	if (length > COMMENT_MAX)
		return true;
	if (!make_room(writer, error))
		return false;
	end = writer->buffer + writer->length;
	if (writer->is_binary) {
		end = trace_binary_comment(&writer->binary, end, text, (uint32_t)length);
	} else {
		memcpy(end, text, length);
		end = trace_row_text(end + length, "\n");
	}
	writer->length = (size_t)(end - writer->buffer);
	return true;
}

bool trace_write_row(struct trace_writer *writer, const struct source_row *row, char error[SOURCE_ERROR_MAX])
{
	bool is_good = true;
	char *end;

	if (!make_room(writer, error))
		return false;
	end = writer->buffer + writer->length;
	switch (row->kind) {
	case SOURCE_ACCESS:
		is_good = put_access(writer, &end, row, error);
		break;
	case SOURCE_KERNEL:
		is_good = put_kernel(writer, &end, row->name, error);
		break;
	case SOURCE_RANGE:
		is_good = put_range(writer, &end, &row->range, error);
		break;
	case SOURCE_SYNC:
	case SOURCE_BATCH:
		end = put_single(writer, end, row->kind == SOURCE_SYNC);
		break;
	case SOURCE_FREE:
		is_good = put_free(writer, &end, row, error);
		break;
	case SOURCE_PREFETCH:
		is_good = put_prefetch(writer, &end, row, error);
		break;
	case SOURCE_ADVISE:
		is_good = put_advice(writer, &end, row, error);
		break;
	case SOURCE_END:
	case SOURCE_BAD:
		return fail(writer, error, "no row to write");
	}
	if (is_good)
		writer->length = (size_t)(end - writer->buffer);
	return is_good;
}

/* -- the whole -- */

struct trace_writer *trace_write_open(FILE *out, const char *name, unsigned form, const char *comment,
				      char error[SOURCE_ERROR_MAX])
{
	struct trace_writer *writer = calloc(1, sizeof(*writer));
	char text[COMMENT_MAX + 1], *end;
	int length;

	if (!writer) {
		snprintf(error, SOURCE_ERROR_MAX, "out of memory");
		return NULL;
	}
	writer->out = out;
	writer->name = name;
	if ((form & TRACE_WRITE_PACKED) != 0 && !(writer->packer = packer_open())) {
		fail(writer, error,
		     packer_is_available() ? "out of memory"
					   : "cannot be compressed: this program was built without zstd");
		trace_write_abandon(writer);
		return NULL;
	}
	writer->is_binary = (form & TRACE_WRITE_BINARY) != 0;
	writer->is_sized = (form & TRACE_WRITE_SIZED) != 0;
	end = writer->is_binary ? trace_binary_header(&writer->binary, writer->buffer, writer->is_sized)
				: trace_row_text(writer->buffer,
						 writer->is_sized ? TRACE_ROW_FIRST_SIZED : TRACE_ROW_FIRST);
	writer->length = (size_t)(end - writer->buffer);
	length = comment ? snprintf(text, sizeof(text), "# %s", comment) : 0;
	if (length > 0 && (size_t)length < sizeof(text)) /* there is room */
		(void)trace_write_comment(writer, text, (size_t)length, error);
	return writer;
}

bool trace_write_close(struct trace_writer *writer, char error[SOURCE_ERROR_MAX])
{
	bool is_good = make_room(writer, error);

	if (is_good && writer->is_binary)
		writer->length = (size_t)(trace_binary_end(&writer->binary, writer->buffer + writer->length) -
					  writer->buffer);
	is_good = is_good && put_buffer(writer, true, error);
	trace_write_abandon(writer);
	return is_good;
}

void trace_write_abandon(struct trace_writer *writer)
{
	packer_close(writer->packer);
	free(writer);
}
