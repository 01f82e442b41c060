/* The writer of access traces. Rows are put together in one buffer by hand, since printf would take most of
 * the time; a full buffer goes to the stream, through zstd if the trace is compressed. Names are held to the
 * reader's rules, so that whatever has been written can be read. */
#include "trace_write.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#define BUFFER_BYTES  65536u
#define ROW_BYTES_MAX 160u /* a range with its name is the longest */
#define COMMENT_MAX   4000u
#define AGENT_MAX     ((1u << 20) - 1u)
#define PAGE_MASK     ((uint64_t)4095)

const char *const trace_advice[TRACE_ADVICE] = {[UVMP_ADVISE_PREFERRED] = "preferred",
                                                [UVMP_ADVISE_ACCESSED_BY] = "accessed-by",
                                                [UVMP_ADVISE_NOT_ACCESSED_BY] = "not-accessed-by",
                                                [UVMP_ADVISE_READ_DUPLICATE] = "read-duplicate",
                                                [UVMP_ADVISE_NO_DUPLICATE] = "no-duplicate",
                                                [UVMP_ADVISE_UNSET_DUPLICATE] = "unset-duplicate",
                                                [UVMP_ADVISE_DISCARD] = "discard"};

struct trace_writer {
	FILE *out;
	const char *name;
	size_t length; /* bytes in the buffer */
	char buffer[BUFFER_BYTES];
#ifdef HAVE_ZSTD
	ZSTD_CCtx *zstd; /* NULL: plain text */
	char packed[BUFFER_BYTES];
#endif
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

#ifdef HAVE_ZSTD
static bool put_packed(struct trace_writer *writer, bool is_last, char error[SOURCE_ERROR_MAX])
{
	ZSTD_inBuffer in = {writer->buffer, writer->length, 0};
	size_t rest;

	do {
		ZSTD_outBuffer out = {writer->packed, sizeof(writer->packed), 0};

		rest = ZSTD_compressStream2(writer->zstd, &out, &in, is_last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(rest))
			return fail(writer, error, "cannot be compressed: %s", ZSTD_getErrorName(rest));
		if (!put_out(writer, writer->packed, out.pos, error))
			return false;
	} while (is_last ? rest != 0 : in.pos < in.size);
	return true;
}
#endif

/* Empties the buffer. */
static bool put_buffer(struct trace_writer *writer, bool is_last, char error[SOURCE_ERROR_MAX])
{
	bool is_good;

#ifdef HAVE_ZSTD
	if (writer->zstd)
		is_good = put_packed(writer, is_last, error);
	else
#endif
		is_good = put_out(writer, writer->buffer, writer->length, error);
	writer->length = 0;
	if (!is_good || !is_last)
		return is_good;
	errno = 0;
	if (fflush(writer->out) == 0)
		return true;
	return fail(writer, error, "%s", errno != 0 ? strerror(errno) : "write error");
}

/* -- fields; there is always room for a row -- */

static void put_char(struct trace_writer *writer, char c)
{
	writer->buffer[writer->length++] = c;
}

static void put_text(struct trace_writer *writer, const char *text)
{
	size_t length = strlen(text);

	memcpy(writer->buffer + writer->length, text, length);
	writer->length += length;
}

static void put_number(struct trace_writer *writer, uint64_t number, unsigned base)
{
	char digits[20];
	size_t count = 0;

	do {
		digits[count++] = "0123456789abcdef"[number % base];
		number /= base;
	} while (number != 0);
	while (count > 0)
		put_char(writer, digits[--count]);
}

static void put_address(struct trace_writer *writer, uint64_t address)
{
	put_text(writer, "0x");
	put_number(writer, address, 16);
}

/* -- rows -- */

static bool is_name(const char *name)
{
	for (; *name != '\0'; name++)
		if (*name < ' ' || *name > '~' || *name == ',')
			return false;
	return true;
}

static bool put_range(struct trace_writer *writer, const struct source_range *range,
                      char error[SOURCE_ERROR_MAX])
{
	if (!is_name(range->name))
		return fail(writer, error, "the name of the range at 0x%llx cannot stand in a trace",
		            (unsigned long long)range->base);
	if (range->is_device)
		return fail(writer, error, "the range at 0x%llx is not managed and cannot stand in a trace",
		            (unsigned long long)range->base);
	put_text(writer, "range,");
	put_address(writer, range->base);
	put_char(writer, ',');
	put_number(writer, range->bytes, 10);
	if (range->name[0] != '\0' || range->is_fresh) {
		put_char(writer, ',');
		put_text(writer, range->name);
	}
	if (range->is_fresh)
		put_text(writer, ",fresh");
	return true;
}

static bool put_kernel(struct trace_writer *writer, const char *name, char error[SOURCE_ERROR_MAX])
{
	if (name[0] == '\0' || !is_name(name))
		return fail(writer, error, "the name of a kernel cannot stand in a trace");
	put_text(writer, "kernel,");
	put_text(writer, name);
	return true;
}

static bool put_access(struct trace_writer *writer, const struct source_row *row,
                       char error[SOURCE_ERROR_MAX])
{
	static const char letters[UVMP_ACCESS_NONE] = {[UVMP_ACCESS_PREFETCH] = 'p',
	                                               [UVMP_ACCESS_READ] = 'r',
	                                               [UVMP_ACCESS_WRITE] = 'w',
	                                               [UVMP_ACCESS_ATOMIC_STRONG] = 'a'};

	if ((unsigned)row->access >= UVMP_ACCESS_NONE || letters[row->access] == '\0')
		return fail(writer, error, "this sort of access cannot stand in a trace");
	if (!row->is_cpu && row->agent > AGENT_MAX)
		return fail(writer, error, "agent %u is above %u", row->agent, AGENT_MAX);
	if (row->has_time)
		put_number(writer, row->time_ns, 10);
	put_char(writer, ',');
	if (row->is_cpu)
		put_text(writer, "cpu");
	else
		put_number(writer, row->agent, 10);
	put_char(writer, ',');
	put_char(writer, letters[row->access]);
	put_char(writer, ',');
	put_address(writer, row->address);
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

static void put_part(struct trace_writer *writer, const struct source_row *row, const char *processor)
{
	put_text(writer, processor);
	put_char(writer, ',');
	put_address(writer, row->address);
	put_char(writer, ',');
	put_number(writer, row->bytes, 10);
}

static bool put_free(struct trace_writer *writer, const struct source_row *row, char error[SOURCE_ERROR_MAX])
{
	if (row->is_part && !is_part(writer, row, error))
		return false;
	if (row->is_part && (row->bytes & PAGE_MASK) != 0)
		return fail_pages(writer, row, error);
	put_text(writer, "free,");
	put_address(writer, row->address);
	if (!row->is_part)
		return true;
	put_char(writer, ',');
	put_number(writer, row->bytes, 10);
	return true;
}

static bool put_prefetch(struct trace_writer *writer, const struct source_row *row,
                         char error[SOURCE_ERROR_MAX])
{
	if (!is_part(writer, row, error))
		return false;
	put_text(writer, "prefetch,");
	put_part(writer, row, row->to_gpu ? "gpu" : "cpu");
	return true;
}

static bool put_advice(struct trace_writer *writer, const struct source_row *row,
                       char error[SOURCE_ERROR_MAX])
{
	const char *processor = row->to_gpu ? "gpu" : "cpu";

	if ((unsigned)row->advice >= TRACE_ADVICE)
		return fail(writer, error, "this sort of advice cannot stand in a trace");
	if (!is_part(writer, row, error))
		return false;
	if (row->advice > UVMP_ADVISE_NOT_ACCESSED_BY)
		processor = "";
	else if (row->advice == UVMP_ADVISE_PREFERRED && row->to_none)
		processor = "none";
	put_text(writer, "advise,");
	put_text(writer, trace_advice[row->advice]);
	put_char(writer, ',');
	put_part(writer, row, processor);
	return true;
}

bool trace_write_row(struct trace_writer *writer, const struct source_row *row, char error[SOURCE_ERROR_MAX])
{
	bool is_good = true;

	if (writer->length > BUFFER_BYTES - ROW_BYTES_MAX && !put_buffer(writer, false, error))
		return false;
	switch (row->kind) {
	case SOURCE_ACCESS:
		is_good = put_access(writer, row, error);
		break;
	case SOURCE_KERNEL:
		is_good = put_kernel(writer, row->name, error);
		break;
	case SOURCE_RANGE:
		is_good = put_range(writer, &row->range, error);
		break;
	case SOURCE_SYNC:
		put_text(writer, "sync");
		break;
	case SOURCE_BATCH:
		put_text(writer, "batch");
		break;
	case SOURCE_FREE:
		is_good = put_free(writer, row, error);
		break;
	case SOURCE_PREFETCH:
		is_good = put_prefetch(writer, row, error);
		break;
	case SOURCE_ADVISE:
		is_good = put_advice(writer, row, error);
		break;
	case SOURCE_END:
	case SOURCE_BAD:
		return fail(writer, error, "no row to write");
	}
	if (is_good)
		put_char(writer, '\n');
	return is_good;
}

/* -- the whole -- */

bool trace_write_can_pack(void)
{
#ifdef HAVE_ZSTD
	return true;
#else
	return false;
#endif
}

static bool start_packing(struct trace_writer *writer)
{
#ifdef HAVE_ZSTD
	writer->zstd = ZSTD_createCCtx();
	/* the check sum tells a damaged trace from a strange one */
	return writer->zstd && !ZSTD_isError(ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_checksumFlag, 1));
#else
	(void)writer;
	return false;
#endif
}

struct trace_writer *trace_write_open(FILE *out, const char *name, bool is_packed, const char *comment,
                                      char error[SOURCE_ERROR_MAX])
{
	struct trace_writer *writer = calloc(1, sizeof(*writer));

	if (!writer) {
		snprintf(error, SOURCE_ERROR_MAX, "out of memory");
		return NULL;
	}
	writer->out = out;
	writer->name = name;
	if (is_packed && !start_packing(writer)) {
		fail(writer, error,
		     trace_write_can_pack() ? "out of memory"
		                            : "cannot be compressed: this program was built without zstd");
		trace_write_abandon(writer);
		return NULL;
	}
	put_text(writer, "uvmp-trace 1\n");
	if (comment && strlen(comment) <= COMMENT_MAX) {
		put_text(writer, "# ");
		put_text(writer, comment);
		put_char(writer, '\n');
	}
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
#ifdef HAVE_ZSTD
	ZSTD_freeCCtx(writer->zstd);
#endif
	free(writer);
}
