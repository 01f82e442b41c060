/* Streams of the C library: data from and to managed memory bypasses their buffers (preload_calls.c). */
#undef _FORTIFY_SOURCE
#ifndef __NO_INLINE__ /* the C library's headers must not define the functions that are defined here */
#define __NO_INLINE__ 1
#endif
#include "preload_bounce.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { READS = 0, WRITES = 1 };

/* Called by programs that are built with _FORTIFY_SOURCE. */
extern int __printf_chk(int flag, const char *format, ...);
extern int __fprintf_chk(FILE *file, int flag, const char *format, ...);
extern int __vprintf_chk(int flag, const char *format, va_list arguments);
extern int __vfprintf_chk(FILE *file, int flag, const char *format, va_list arguments);
extern int __vasprintf_chk(char **text, int flag, const char *format, va_list arguments);

/* A large fread or fwrite bypasses the buffer of the file. The buffers belong to the C library, and are not
 * managed (preload_managed.c). */

NAMED(fread);
NAMED(fread_unlocked);
NAMED(fwrite);
NAMED(fwrite_unlocked);
NAMED(fputs);
NAMED(fputs_unlocked);
NAMED(puts);

/* The caller owns or has locked the file. */
static size_t stream(void *memory, size_t all, FILE *file, bool is_write)
{
	struct buffer buffer
		__attribute__((cleanup(give_back))) = {preload_take_buffer(BUFFER_BYTES), BUFFER_BYTES};
	uint8_t *at = memory;
	size_t done = 0;

	while (buffer.at && done < all) {
		size_t bytes = all - done < BUFFER_BYTES ? all - done : BUFFER_BYTES, got;

		if (is_write)
			memcpy(buffer.at, at + done, bytes);
		got = is_write ? REAL(fwrite_unlocked)(buffer.at, 1, bytes, file)
			       : REAL(fread_unlocked)(buffer.at, 1, bytes, file);
		if (!is_write)
			memcpy(at + done, buffer.at, got);
		done += got;
		if (got != bytes)
			break;
	}
	return done;
}

static void unlock(FILE **file)
{
	if (*file)
		funlockfile(*file);
}

static size_t items(void *memory, size_t bytes, size_t count, FILE *file, bool is_write, bool is_locked)
{
	FILE *locked __attribute__((cleanup(unlock))) = is_locked ? file : NULL;
	size_t all, done;

	if (locked)
		flockfile(locked);
	if (__builtin_mul_overflow(bytes, count, &all))
		all = SIZE_MAX / bytes * bytes;
	done = stream(memory, all, file, is_write);
	return done == all ? count : done / bytes;
}

#define ITEMS(name, memory, writes, locks)                                                                   \
	if (preload_is_bounced(memory) && bytes != 0 && count != 0)                                          \
		return items((void *)(uintptr_t)memory, bytes, count, file, writes, locks);                  \
	return REAL(name)(memory, bytes, count, file);

EXPORT size_t fread(void *to, size_t bytes, size_t count, FILE *file){ITEMS(fread, to, READS, true)}

EXPORT size_t fread_unlocked(void *to, size_t bytes, size_t count,
			     FILE *file){ITEMS(fread_unlocked, to, READS, false)}

EXPORT size_t
	fwrite(const void *from, size_t bytes, size_t count, FILE *file){ITEMS(fwrite, from, WRITES, true)}

EXPORT size_t fwrite_unlocked(const void *from, size_t bytes, size_t count, FILE *file)
{
	ITEMS(fwrite_unlocked, from, WRITES, false)
}

static int put(const char *text, FILE *file, bool is_locked)
{
	size_t bytes = strlen(text);

	return bytes == 0 || items((void *)(uintptr_t)text, 1, bytes, file, WRITES, is_locked) == bytes ? 1
													: EOF;
}

EXPORT int fputs(const char *text, FILE *file)
{
	return preload_is_bounced(text) ? put(text, file, true) : REAL(fputs)(text, file);
}

EXPORT int fputs_unlocked(const char *text, FILE *file)
{
	return preload_is_bounced(text) ? put(text, file, false) : REAL(fputs_unlocked)(text, file);
}

EXPORT int puts(const char *text)
{
	FILE *locked __attribute__((cleanup(unlock))) = NULL;
	size_t bytes;

	if (!preload_is_bounced(text))
		return REAL(puts)(text);
	locked = stdout;
	flockfile(locked);
	bytes = strlen(text);
	if (put(text, stdout, false) == EOF || putc_unlocked('\n', stdout) == EOF)
		return EOF;
	return bytes < INT_MAX ? (int)bytes + 1 : INT_MAX;
}

/* A managed buffer is not used: the C library allocates its own. */
CALL(int, setvbuf, (FILE * file, char *buffer, int mode, size_t bytes), file,
     preload_is_bounced(buffer) ? NULL : buffer, mode, bytes)

EXPORT void setbuffer(FILE *file, char *buffer, size_t bytes)
{
	(void)setvbuf(file, buffer, buffer ? _IOFBF : _IONBF, bytes);
}

EXPORT void setbuf(FILE *file, char *buffer)
{
	setbuffer(file, buffer, BUFSIZ);
}

/* -- formatted output: long %s arguments bypass the buffer too -- */

NAMED(vprintf);
NAMED(vfprintf);
NAMED(__vprintf_chk);
NAMED(__vfprintf_chk);

static bool may_bypass(const char *format)
{
	return preload_bounced && (preload_is_bounced(format) || strpbrk(format, "sS"));
}

static int print(FILE *file, int flag, const char *format, va_list arguments)
{
	char *text;
	int length = __vasprintf_chk(&text, flag, format, arguments), error;
	bool is_written;

	if (length < 0)
		return length;
	is_written = fwrite(text, 1, (size_t)length, file) == (size_t)length;
	error = errno;
	free(text);
	errno = error;
	return is_written ? length : -1;
}

EXPORT int vfprintf(FILE *file, const char *format, va_list arguments)
{
	return may_bypass(format) ? print(file, 0, format, arguments)
				  : REAL(vfprintf)(file, format, arguments);
}

EXPORT int __vfprintf_chk(FILE *file, int flag, const char *format, va_list arguments)
{
	return may_bypass(format) ? print(file, flag, format, arguments)
				  : REAL(__vfprintf_chk)(file, flag, format, arguments);
}

EXPORT int vprintf(const char *format, va_list arguments)
{
	return vfprintf(stdout, format, arguments);
}

EXPORT int __vprintf_chk(int flag, const char *format, va_list arguments)
{
	return __vfprintf_chk(stdout, flag, format, arguments);
}

#define PRINT(last, ...)                                                                                     \
	va_list arguments;                                                                                   \
	int length;                                                                                          \
                                                                                                             \
	va_start(arguments, last);                                                                           \
	length = __VA_ARGS__;                                                                                \
	va_end(arguments);                                                                                   \
	return length;

EXPORT int printf(const char *format, ...){PRINT(format, vfprintf(stdout, format, arguments))}

EXPORT int fprintf(FILE *file, const char *format, ...){PRINT(format, vfprintf(file, format, arguments))}

EXPORT int __printf_chk(int flag, const char *format,
			...){PRINT(format, __vfprintf_chk(stdout, flag, format, arguments))}

EXPORT int __fprintf_chk(FILE *file, int flag, const char *format, ...)
{
	PRINT(format, __vfprintf_chk(file, flag, format, arguments))
}
