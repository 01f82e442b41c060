/* The recorded trace: rows of the trace format (docs/uvmsim.md) in a file, for `uvmsim run --trace`.
 *
 * Rows collect in one buffer, since they are written while faulting threads wait. A full buffer, or one
 * that has waited for a while (the servicing thread checks), is written whole: rows are never split,
 * and in compressed traces each piece is a zstd frame. So a killed program leaves a trace that is valid
 * up to the last piece.
 *
 * A row `batch` follows the faults that were serviced together, so that the simulator forms the same
 * batches. It is omitted if the next row implies it, because its thread is the only stalled one.
 *
 * A piece that cannot be written ends the trace before it: the statistics have the error, and the
 * program continues. The program may close the descriptor and reuse its number for another file, so
 * each write first checks that it is the same file. */
#include "trace_file.h"
#include "high_fd.h"
#include "packer.h"
#include "store_internal.h"
#include "trace_row.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES ((size_t)256 << 10)
#define NO_THREAD    UINT32_MAX

struct trace_file {
	int fd;
	dev_t device;
	ino_t inode;
	uint64_t written; /* bytes of whole pieces */
	int error;	  /* the first error, negative errno; nothing is written after it */
	size_t length;	  /* bytes in the buffer */
	uint32_t stalled; /* faults since the last row `batch` */
	uint32_t last;	  /* thread of the last of them */
	bool is_batch_over;
	char *buffer;
	uint64_t end; /* of the file, with the part of the present piece that is written */
	struct packer *packer; /* NULL: plain text */
};

/* -- pieces -- */

static bool is_ours(const struct trace_file *t)
{
	struct stat now;

	return fstat(t->fd, &now) == 0 && now.st_dev == t->device && now.st_ino == t->inode;
}

static int put_all(const struct trace_file *t, const char *bytes, size_t left)
{
	while (left != 0) {
		ssize_t some = write(t->fd, bytes, left);

		if (some < 0 && errno == EINTR)
			continue;
		if (some <= 0)
			return some < 0 ? -errno : -EIO;
		bytes += some;
		left -= (size_t)some;
	}
	return 0;
}

static bool put_out(void *to, const void *bytes, size_t length)
{
	struct trace_file *t = to;
	sigset_t before;

	hold_too_large(&before);
	t->error = put_all(t, bytes, length);
	release_too_large(&before, t->error == -EFBIG);
	t->end += length;
	return t->error == 0;
}

static void put_piece(struct trace_file *t)
{
	if (!is_ours(t))
		t->error = -EBADF;
	else if (!t->packer)
		(void)put_out(t, t->buffer, t->length);
	else if (!packer_write(t->packer, t->buffer, t->length, true, put_out, t) && t->error == 0)
		t->error = -ENOMEM;
}

void trace_file_flush(struct trace_file *t)
{
	if (!t || t->length == 0)
		return;
	if (t->error == 0) {
		put_piece(t);
		if (t->error == 0)
			t->written = t->end;
		else if (is_ours(t)) /* a partial piece is worse than none; only files can be truncated */
			(void)!ftruncate(t->fd, (off_t)t->written);
	}
	t->length = 0;
}

bool trace_file_waits(const struct trace_file *t)
{
	return t && t->length != 0;
}

int trace_file_descriptor(const struct trace_file *t)
{
	return t ? t->fd : -1;
}

int trace_file_error(const struct trace_file *t)
{
	return t ? t->error : 0;
}

static void flush_full(struct trace_file *t)
{
	if (t->length > BUFFER_BYTES - 2u * TRACE_ROW_MOST)
		trace_file_flush(t);
}

/* -- rows -- */

/* The end of the rows; the buffer has space for another row. */
static char *row_begin(const struct trace_file *t)
{
	return t->buffer + t->length;
}

static void row_end(struct trace_file *t, const char *end)
{
	t->length = (size_t)(end - t->buffer);
}

/* Before a row that follows a batch. `thread` is the row's thread, or NO_THREAD: the program's. */
static void end_batch(struct trace_file *t, uint32_t thread)
{
	flush_full(t);
	if (!t->is_batch_over)
		return;
	if (t->stalled > 1 || (t->stalled == 1 && t->last != thread))
		row_end(t, trace_row_text(row_begin(t), TRACE_ROW_BATCH));
	t->stalled = 0;
	t->is_batch_over = false;
}

void trace_file_batch(struct trace_file *t)
{
	if (t)
		t->is_batch_over = true;
}

void trace_file_access(struct trace_file *t, uint64_t time_ns, uint32_t thread, bool is_write,
		       uint64_t address, bool is_fault)
{
	struct trace_access access = {.time_ns = time_ns,
				      .address = address,
				      .agent = thread,
				      .has_time = true,
				      .access = is_write ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ};

	if (!t)
		return;
	end_batch(t, thread);
	row_end(t, trace_row_access(row_begin(t), &access));
	t->stalled += is_fault;
	if (is_fault)
		t->last = thread;
}

void trace_file_range(struct trace_file *t, uint64_t base, uint64_t bytes)
{
	if (!t)
		return;
	flush_full(t);
	row_end(t, trace_row_range(row_begin(t), base, bytes, "", true));
}

void trace_file_free(struct trace_file *t, uint64_t base)
{
	if (!t)
		return;
	end_batch(t, NO_THREAD);
	row_end(t, trace_row_free(row_begin(t), base));
}

void trace_file_prefetch(struct trace_file *t, uint64_t address, uint64_t bytes, bool is_in)
{
	if (!t)
		return;
	end_batch(t, NO_THREAD);
	row_end(t, trace_row_prefetch(row_begin(t), is_in ? "gpu" : "cpu", address, bytes));
}

void trace_file_advise(struct trace_file *t, uint32_t advice, const char *processor, uint64_t address,
		       uint64_t bytes)
{
	if (!t)
		return;
	end_batch(t, NO_THREAD);
	row_end(t, trace_row_advise(row_begin(t), advice, processor, address, bytes));
}

/* Characters that a line cannot hold become `?`. */
void trace_file_comment(struct trace_file *t, const char *format, ...)
{
	char text[2048];
	va_list list;

	if (!t)
		return;
	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	for (char *c = text; *c != '\0'; c++)
		*c = *c >= ' ' && *c <= '~' ? *c : '?';
	row_end(t, trace_row_text(trace_row_text(trace_row_text(row_begin(t), "# "), text), "\n"));
}

/* -- the whole -- */

static int open_file(struct trace_file *t, const char *path)
{
	struct stat info;

	if (packer_is_wanted(path) && !(t->packer = packer_open()))
		return packer_is_available() ? -ENOMEM : -ENOTSUP;
	t->buffer = malloc(BUFFER_BYTES);
	if (!t->buffer)
		return -ENOMEM;
	t->fd = high_fd(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
	if (t->fd < 0 || fstat(t->fd, &info) != 0)
		return -errno;
	t->device = info.st_dev;
	t->inode = info.st_ino;
	row_end(t, trace_row_text(row_begin(t), TRACE_ROW_FIRST));
	return 0;
}

struct trace_file *trace_file_open(const char *path, int *error)
{
	struct trace_file *t = calloc(1, sizeof(*t));

	*error = -ENOMEM;
	if (!t)
		return NULL;
	t->fd = -1;
	*error = open_file(t, path);
	if (*error == 0)
		return t;
	trace_file_leave(t);
	return NULL;
}

void trace_file_leave(struct trace_file *t)
{
	if (!t)
		return;
	if (t->fd >= 0 && is_ours(t))
		close(t->fd);
	packer_close(t->packer);
	free(t->buffer);
	free(t);
}

int trace_file_close(struct trace_file *t)
{
	int error;

	trace_file_flush(t);
	error = trace_file_error(t);
	trace_file_leave(t);
	return error;
}
