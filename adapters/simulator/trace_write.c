/* The writer of access traces. Rows collect in one buffer; a full buffer goes to the stream, through zstd if the trace is
 * compressed. Rows are checked by the reader's rules, so that every trace that was written can be read. */
#include "trace_write.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "packer.h"
#include "trace_row.h"

#define BUFFER_BYTES  65536u
#define ROW_BYTES_MAX (TRACE_ROW_MOST + 64u) /* a name has less than 64 bytes */
#define COMMENT_MAX   4000u
#define AGENT_MAX     ((1u << 20) - 1u)
#define PAGE_MASK     ((uint64_t)4095)

struct trace_writer {
	FILE *out;
	const char *name;
	size_t length; /* bytes in the buffer */
	char buffer[BUFFER_BYTES];
	struct packer *packer; /* NULL: plain text */
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

static bool put_range(const struct trace_writer *writer, char **end, const struct source_range *range,
		      char error[SOURCE_ERROR_MAX])
{
	if (!is_name(range->name))
		return fail(writer, error, "the name of the range at 0x%llx cannot stand in a trace",
			    (unsigned long long)range->base);
	if (range->is_device)
		return fail(writer, error, "the range at 0x%llx is not managed and cannot stand in a trace",
			    (unsigned long long)range->base);
	*end = trace_row_range(*end, range->base, range->bytes, range->name, range->is_fresh);
	return true;
}

static bool put_kernel(const struct trace_writer *writer, char **end, const char *name,
		       char error[SOURCE_ERROR_MAX])
{
	if (name[0] == '\0' || !is_name(name))
		return fail(writer, error, "the name of a kernel cannot stand in a trace");
	*end = trace_row_kernel(*end, name);
	return true;
}

static bool put_access(const struct trace_writer *writer, char **end, const struct source_row *row,
		       char error[SOURCE_ERROR_MAX])
{
	struct trace_access access = {.time_ns = row->time_ns,
				      .address = row->address,
				      .agent = row->agent,
				      .has_time = row->has_time,
				      .is_cpu = row->is_cpu,
				      .access = (uint8_t)row->access};

	if (row->access == UVMP_ACCESS_ATOMIC_WEAK || trace_row_letter(row->access) == '\0')
		return fail(writer, error, "this sort of access cannot stand in a trace");
	if (!row->is_cpu && row->agent > AGENT_MAX)
		return fail(writer, error, "agent %u is above %u", row->agent, AGENT_MAX);
	*end = trace_row_access(*end, &access);
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

static bool put_free(const struct trace_writer *writer, char **end, const struct source_row *row,
		     char error[SOURCE_ERROR_MAX])
{
	if (row->is_part && !is_part(writer, row, error))
		return false;
	if (row->is_part && (row->bytes & PAGE_MASK) != 0)
		return fail_pages(writer, row, error);
	*end = row->is_part ? trace_row_free_part(*end, row->address, row->bytes)
			    : trace_row_free(*end, row->address);
	return true;
}

static bool put_prefetch(const struct trace_writer *writer, char **end, const struct source_row *row,
			 char error[SOURCE_ERROR_MAX])
{
	if (!is_part(writer, row, error))
		return false;
	*end = trace_row_prefetch(*end, row->to_gpu ? "gpu" : "cpu", row->address, row->bytes);
	return true;
}

static bool put_advice(const struct trace_writer *writer, char **end, const struct source_row *row,
		       char error[SOURCE_ERROR_MAX])
{
	const char *processor = row->to_gpu ? "gpu" : row->to_none ? "none" : "cpu";

	if ((unsigned)row->advice >= TRACE_ROW_ADVICES)
		return fail(writer, error, "this sort of advice cannot stand in a trace");
	if (!is_part(writer, row, error))
		return false;
	*end = trace_row_advise(*end, row->advice, processor, row->address, row->bytes);
	return true;
}

bool trace_write_row(struct trace_writer *writer, const struct source_row *row, char error[SOURCE_ERROR_MAX])
{
	bool is_good = true;
	char *end;

	if (writer->length > BUFFER_BYTES - ROW_BYTES_MAX && !put_buffer(writer, false, error))
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
		end = trace_row_text(end, TRACE_ROW_SYNC);
		break;
	case SOURCE_BATCH:
		end = trace_row_text(end, TRACE_ROW_BATCH);
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

struct trace_writer *trace_write_open(FILE *out, const char *name, bool is_packed, const char *comment,
				      char error[SOURCE_ERROR_MAX])
{
	struct trace_writer *writer = calloc(1, sizeof(*writer));
	char *end;

	if (!writer) {
		snprintf(error, SOURCE_ERROR_MAX, "out of memory");
		return NULL;
	}
	writer->out = out;
	writer->name = name;
	if (is_packed && !(writer->packer = packer_open())) {
		fail(writer, error,
		     packer_is_available() ? "out of memory"
					   : "cannot be compressed: this program was built without zstd");
		trace_write_abandon(writer);
		return NULL;
	}
	end = trace_row_text(writer->buffer, TRACE_ROW_FIRST);
	if (comment && strlen(comment) <= COMMENT_MAX)
		end = trace_row_text(trace_row_text(trace_row_text(end, "# "), comment), "\n");
	writer->length = (size_t)(end - writer->buffer);
	return writer;
}

bool trace_write_close(struct trace_writer *writer, char error[SOURCE_ERROR_MAX])
{
	bool is_good = put_buffer(writer, true, error);

	trace_write_abandon(writer);
	return is_good;
}

void trace_write_abandon(struct trace_writer *writer)
{
	packer_close(writer->packer);
	free(writer);
}
