/* Data to and from the kernel, through lent memory where it is managed: read, write, sockets, and the C
 * library's streams; what is lent and why stands in preload_calls.c. */
#undef _FORTIFY_SOURCE
#ifndef __NO_INLINE__ /* the C library's headers are not to define what is defined here */
#define __NO_INLINE__ 1
#endif
#include "preload_lend.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define READ_MOST  ((size_t)0x7ffff000) /* of one call, as the kernel has it */
#define PARTS_MOST 1024                 /* IOV_MAX */

/* What programs built with _FORTIFY_SOURCE call; `room` is the size of the buffer. */
extern ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room);
extern ssize_t __pread_chk(int fd, void *to, size_t bytes, off_t at, size_t room);
extern ssize_t __pread64_chk(int fd, void *to, size_t bytes, off64_t at, size_t room);
extern ssize_t __recv_chk(int fd, void *to, size_t bytes, size_t room, int flags);
extern ssize_t __recvfrom_chk(int fd, void *to, size_t bytes, size_t room, int flags, __SOCKADDR_ARG address,
                              socklen_t *address_bytes);
extern size_t __fread_chk(void *to, size_t room, size_t bytes, size_t count, FILE *file);
extern size_t __fread_unlocked_chk(void *to, size_t room, size_t bytes, size_t count, FILE *file);
extern char *__getcwd_chk(char *to, size_t bytes, size_t room);
extern ssize_t __readlink_chk(const char *path, char *to, size_t bytes, size_t room);
extern ssize_t __readlinkat_chk(int folder, const char *path, char *to, size_t bytes, size_t room);
extern int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t room);
extern int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask,
                       size_t room);
extern int __printf_chk(int flag, const char *format, ...);
extern int __fprintf_chk(FILE *file, int flag, const char *format, ...);
extern int __vprintf_chk(int flag, const char *format, va_list arguments);
extern int __vfprintf_chk(FILE *file, int flag, const char *format, va_list arguments);
extern int __vasprintf_chk(char **text, int flag, const char *format, va_list arguments);

/* -- data: read, write and their kin -- */

struct transfer {
	ssize_t (*call)(const struct transfer *t, void *room, size_t bytes, size_t done);
	int fd;
	bool is_write;
	const struct iovec *part;
	int parts;
	bool has_offset;
	off_t offset;
	int flags;
	struct msghdr *message; /* sockets; its parts are those above */
};

enum { READS = 0, WRITES = 1 };

NAMED(read);
NAMED(write);
NAMED(pread);
NAMED(pwrite);
NAMED(readv);
NAMED(writev);
NAMED(preadv);
NAMED(pwritev);
NAMED(preadv2);
NAMED(pwritev2);
NAMED(recv);
NAMED(recvfrom);
NAMED(recvmsg);
NAMED(send);
NAMED(sendto);
NAMED(sendmsg);

/* Between the parts and the room, at `done` of all. */
static void copy(const struct transfer *t, uint8_t *room, size_t bytes, size_t done)
{
	for (int i = 0; i < t->parts && bytes != 0; i++) {
		size_t length = t->part[i].iov_len, now;
		uint8_t *part = (uint8_t *)t->part[i].iov_base + done;

		if (done >= length) {
			done -= length;
			continue;
		}
		now = length - done < bytes ? length - done : bytes;
		if (t->is_write)
			memcpy(room, part, now);
		else
			memcpy(part, room, now);
		room += now;
		bytes -= now;
		done = 0;
	}
}

static bool is_stream_socket(int fd)
{
	int type = 0;
	socklen_t size = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

/* May one call be several? */
static bool goes_in_pieces(const struct transfer *t)
{
	struct stat file;

	if (fstat(t->fd, &file) != 0)
		return false;
	if (S_ISREG(file.st_mode) || S_ISBLK(file.st_mode))
		return true;
	if (!t->is_write || (t->flags & ~(MSG_NOSIGNAL | MSG_DONTWAIT)) != 0)
		return false;
	return S_ISFIFO(file.st_mode) || (S_ISSOCK(file.st_mode) && is_stream_socket(t->fd));
}

struct room {
	void *at;
	size_t bytes;
};

static void leave_room(struct room *room)
{
	int error = errno;

	if (room->at)
		preload_give_room(room->at, room->bytes);
	errno = error;
}

/* Stops where one call would: at the first piece that is not done whole. */
static ssize_t transfer(const struct transfer *t, size_t all)
{
	struct room room __attribute__((cleanup(leave_room))) = {NULL, all};
	size_t done = 0;
	int error = errno;

	if (all > PIECE && goes_in_pieces(t))
		room.bytes = PIECE;
	room.at = preload_take_room(room.bytes);
	if (!room.at) {
		errno = ENOMEM;
		return -1;
	}
	while (done < all) {
		size_t bytes = all - done < room.bytes ? all - done : room.bytes;
		ssize_t got;

		if (t->is_write)
			copy(t, room.at, bytes, done);
		got = t->call(t, room.at, bytes, done);
		if (got < 0 && done == 0)
			return got;
		if (got <= 0)
			break;
		if (!t->is_write) /* a datagram may tell more than it gave */
			copy(t, room.at, (size_t)got < bytes ? (size_t)got : bytes, done);
		done += (size_t)got;
		if ((size_t)got != bytes)
			break;
	}
	errno = error;
	return (ssize_t)done;
}

/* Is there something to lend, and a call that the kernel would not refuse for its arguments? */
static bool is_lent(const struct iovec *part, int parts, size_t *all)
{
	bool is_kept;

	if (!preload_kept || parts <= 0 || parts > PARTS_MOST || !part)
		return false;
	is_kept = preload_is_kept(part);
	*all = 0;
	for (int i = 0; i < parts; i++) {
		is_kept = is_kept || preload_is_kept(part[i].iov_base);
		if (part[i].iov_len > SSIZE_MAX - *all)
			return false;
		*all += part[i].iov_len;
	}
	if (*all > READ_MOST)
		*all = READ_MOST;
	return is_kept && *all != 0;
}

static ssize_t file_call(const struct transfer *t, void *room, size_t bytes, size_t done)
{
	struct iovec one = {room, bytes};
	off_t at = t->has_offset ? t->offset + (off_t)done : -1;

	if (t->flags != 0)
		return t->is_write ? REAL(pwritev2)(t->fd, &one, 1, at, t->flags)
		                   : REAL(preadv2)(t->fd, &one, 1, at, t->flags);
	if (t->has_offset)
		return t->is_write ? REAL(pwrite)(t->fd, room, bytes, at)
		                   : REAL(pread)(t->fd, room, bytes, at);
	return t->is_write ? REAL(write)(t->fd, room, bytes) : REAL(read)(t->fd, room, bytes);
}

static ssize_t plain(int fd, const void *memory, size_t bytes, bool is_write)
{
	struct iovec part = {(void *)(uintptr_t)memory, bytes};
	struct transfer t = {.call = file_call, .fd = fd, .is_write = is_write, .part = &part, .parts = 1};

	return transfer(&t, bytes < READ_MOST ? bytes : READ_MOST);
}

static ssize_t at_offset(int fd, const void *memory, size_t bytes, off_t at, bool is_write)
{
	struct iovec part = {(void *)(uintptr_t)memory, bytes};
	struct transfer t = {.call = file_call,
	                     .fd = fd,
	                     .is_write = is_write,
	                     .part = &part,
	                     .parts = 1,
	                     .has_offset = true,
	                     .offset = at};

	return transfer(&t, bytes < READ_MOST ? bytes : READ_MOST);
}

EXPORT ssize_t read(int fd, void *to, size_t bytes)
{
	return preload_is_kept(to) && bytes != 0 ? plain(fd, to, bytes, READS) : REAL(read)(fd, to, bytes);
}

EXPORT ssize_t write(int fd, const void *from, size_t bytes)
{
	return preload_is_kept(from) && bytes != 0 ? plain(fd, from, bytes, WRITES)
	                                           : REAL(write)(fd, from, bytes);
}

EXPORT ssize_t pread(int fd, void *to, size_t bytes, off_t at)
{
	return preload_is_kept(to) && bytes != 0 ? at_offset(fd, to, bytes, at, READS)
	                                         : REAL(pread)(fd, to, bytes, at);
}

EXPORT ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
	return preload_is_kept(from) && bytes != 0 ? at_offset(fd, from, bytes, at, WRITES)
	                                           : REAL(pwrite)(fd, from, bytes, at);
}

EXPORT ssize_t pread64(int fd, void *to, size_t bytes, off64_t at)
{
	return pread(fd, to, bytes, at);
}

EXPORT ssize_t pwrite64(int fd, const void *from, size_t bytes, off64_t at)
{
	return pwrite(fd, from, bytes, at);
}

/* The functions with parts, in one shape: what is asked, and whether it is lent. */
#define VECTORED(name, writes, parameters, has, offset_field, flags_field, ...)                              \
	EXPORT ssize_t name parameters                                                                       \
	{                                                                                                    \
		struct transfer t = {.call = file_call,                                                      \
		                     .fd = fd,                                                               \
		                     .is_write = writes,                                                     \
		                     .part = part,                                                           \
		                     .parts = parts,                                                         \
		                     .has_offset = (has),                                                    \
		                     .offset = (offset_field),                                               \
		                     .flags = (flags_field)};                                                \
		size_t all;                                                                                  \
                                                                                                             \
		return is_lent(part, parts, &all) ? transfer(&t, all) : __VA_ARGS__;                         \
	}

VECTORED(readv, READS, (int fd, const struct iovec *part, int parts), false, 0, 0,
         REAL(readv)(fd, part, parts))
VECTORED(writev, WRITES, (int fd, const struct iovec *part, int parts), false, 0, 0,
         REAL(writev)(fd, part, parts))
VECTORED(preadv, READS, (int fd, const struct iovec *part, int parts, off_t at), true, at, 0,
         REAL(preadv)(fd, part, parts, at))
VECTORED(pwritev, WRITES, (int fd, const struct iovec *part, int parts, off_t at), true, at, 0,
         REAL(pwritev)(fd, part, parts, at))
VECTORED(preadv2, READS, (int fd, const struct iovec *part, int parts, off_t at, int flags), at != -1, at,
         flags, REAL(preadv2)(fd, part, parts, at, flags))
VECTORED(pwritev2, WRITES, (int fd, const struct iovec *part, int parts, off_t at, int flags), at != -1, at,
         flags, REAL(pwritev2)(fd, part, parts, at, flags))

EXPORT ssize_t preadv64(int fd, const struct iovec *part, int parts, off64_t at)
{
	return preadv(fd, part, parts, at);
}

EXPORT ssize_t pwritev64(int fd, const struct iovec *part, int parts, off64_t at)
{
	return pwritev(fd, part, parts, at);
}

EXPORT ssize_t preadv64v2(int fd, const struct iovec *part, int parts, off64_t at, int flags)
{
	return preadv2(fd, part, parts, at, flags);
}

EXPORT ssize_t pwritev64v2(int fd, const struct iovec *part, int parts, off64_t at, int flags)
{
	return pwritev2(fd, part, parts, at, flags);
}

/* -- sockets -- */

static ssize_t message_call(const struct transfer *t, void *room, size_t bytes, size_t done)
{
	struct iovec one = {room, bytes};
	struct msghdr *message = t->message;

	message->msg_iov = &one;
	message->msg_iovlen = 1;
	if (done != 0) /* only streams come here, and descriptors have gone with the first piece */
		message->msg_controllen = 0;
	return t->is_write ? REAL(sendmsg)(t->fd, message, t->flags)
	                   : REAL(recvmsg)(t->fd, message, t->flags);
}

/* A message whose parts, name or control data may be managed; `message` is the caller's own copy. */
static ssize_t pass(int fd, struct msghdr *message, int flags, bool is_write)
{
	struct transfer t = {.call = message_call,
	                     .fd = fd,
	                     .is_write = is_write,
	                     .part = message->msg_iov,
	                     .parts = message->msg_iovlen <= PARTS_MOST ? (int)message->msg_iovlen : -1,
	                     .flags = flags,
	                     .message = message};
	const struct msghdr before = *message;
	ssize_t got;
	size_t all;
	DESK;

	message->msg_name = OUT(before.msg_name, before.msg_namelen);
	message->msg_control = OUT(before.msg_control, before.msg_controllen);
	if (is_lent(t.part, t.parts, &all))
		got = transfer(&t, all);
	else
		got = is_write ? REAL(sendmsg)(fd, message, flags) : REAL(recvmsg)(fd, message, flags);
	message->msg_name = before.msg_name;
	message->msg_control = before.msg_control;
	message->msg_iov = before.msg_iov;
	message->msg_iovlen = before.msg_iovlen;
	return got;
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	struct msghdr mine;

	if (!preload_kept || !message || (flags & MSG_ZEROCOPY) != 0)
		return REAL(sendmsg)(fd, message, flags);
	mine = *message;
	return pass(fd, &mine, flags, WRITES);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	struct msghdr mine;
	ssize_t got;

	if (!preload_kept || !message)
		return REAL(recvmsg)(fd, message, flags);
	mine = *message;
	got = pass(fd, &mine, flags, READS);
	if (got >= 0)
		*message = mine;
	return got;
}

EXPORT ssize_t sendto(int fd, const void *from, size_t bytes, int flags, __CONST_SOCKADDR_ARG address,
                      socklen_t address_bytes)
{
	const struct sockaddr *to = address.__sockaddr__;
	struct iovec part = {(void *)(uintptr_t)from, bytes};
	struct msghdr message = {.msg_name = (void *)(uintptr_t)to,
	                         .msg_namelen = to ? address_bytes : 0,
	                         .msg_iov = &part,
	                         .msg_iovlen = 1};

	if ((!preload_is_kept(from) && !preload_is_kept(to)) || (flags & MSG_ZEROCOPY) != 0)
		return REAL(sendto)(fd, from, bytes, flags, address, address_bytes);
	return pass(fd, &message, flags, WRITES);
}

EXPORT ssize_t recvfrom(int fd, void *to, size_t bytes, int flags, __SOCKADDR_ARG address,
                        socklen_t *address_bytes)
{
	struct sockaddr *from = address.__sockaddr__;
	struct iovec part = {to, bytes};
	struct msghdr message = {.msg_name = from,
	                         .msg_namelen = from && address_bytes ? *address_bytes : 0,
	                         .msg_iov = &part,
	                         .msg_iovlen = 1};
	ssize_t got;

	if (!preload_is_kept(to) && !preload_is_kept(from) && !preload_is_kept(address_bytes))
		return REAL(recvfrom)(fd, to, bytes, flags, address, address_bytes);
	got = pass(fd, &message, flags, READS);
	if (got >= 0 && from && address_bytes)
		*address_bytes = message.msg_namelen;
	return got;
}

EXPORT ssize_t send(int fd, const void *from, size_t bytes, int flags)
{
	return preload_is_kept(from)
	               ? sendto(fd, from, bytes, flags, (__CONST_SOCKADDR_ARG){.__sockaddr__ = NULL}, 0)
	               : REAL(send)(fd, from, bytes, flags);
}

EXPORT ssize_t recv(int fd, void *to, size_t bytes, int flags)
{
	return preload_is_kept(to)
	               ? recvfrom(fd, to, bytes, flags, (__SOCKADDR_ARG){.__sockaddr__ = NULL}, NULL)
	               : REAL(recv)(fd, to, bytes, flags);
}

/* -- standard input and output --
 *
 * A large fread or fwrite bypasses the file's buffer. The buffers themselves are the C library's own, which
 * are not managed (preload.c). */

NAMED(fread);
NAMED(fread_unlocked);
NAMED(fwrite);
NAMED(fwrite_unlocked);
NAMED(fputs);
NAMED(fputs_unlocked);
NAMED(puts);

/* The file is the caller's, or locked. */
static size_t stream(void *memory, size_t all, FILE *file, bool is_write)
{
	struct room room __attribute__((cleanup(leave_room))) = {preload_take_room(PIECE), PIECE};
	uint8_t *at = memory;
	size_t done = 0;

	while (room.at && done < all) {
		size_t bytes = all - done < PIECE ? all - done : PIECE, got;

		if (is_write)
			memcpy(room.at, at + done, bytes);
		got = is_write ? REAL(fwrite_unlocked)(room.at, 1, bytes, file)
		               : REAL(fread_unlocked)(room.at, 1, bytes, file);
		if (!is_write)
			memcpy(at + done, room.at, got);
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
	if (preload_is_kept(memory) && bytes != 0 && count != 0)                                             \
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
	return preload_is_kept(text) ? put(text, file, true) : REAL(fputs)(text, file);
}

EXPORT int fputs_unlocked(const char *text, FILE *file)
{
	return preload_is_kept(text) ? put(text, file, false) : REAL(fputs_unlocked)(text, file);
}

EXPORT int puts(const char *text)
{
	FILE *locked __attribute__((cleanup(unlock))) = NULL;
	size_t bytes;

	if (!preload_is_kept(text))
		return REAL(puts)(text);
	locked = stdout;
	flockfile(locked);
	bytes = strlen(text);
	if (put(text, stdout, false) == EOF || putc_unlocked('\n', stdout) == EOF)
		return EOF;
	return bytes < INT_MAX ? (int)bytes + 1 : INT_MAX;
}

/* A buffer of the program's that is managed is not used: the C library takes its own. */
CALL(int, setvbuf, (FILE * file, char *buffer, int mode, size_t bytes), file,
     preload_is_kept(buffer) ? NULL : buffer, mode, bytes)

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
	return preload_kept && (preload_is_kept(format) || strpbrk(format, "sS"));
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

/* -- what programs built with _FORTIFY_SOURCE call: too small a buffer ends them in the C library -- */

#define CHECKED(type, name, parameters, is_enough, arguments, plainly)                                       \
	NAMED(name);                                                                                         \
	EXPORT type name parameters                                                                          \
	{                                                                                                    \
		return (is_enough) ? plainly : REAL(name) arguments;                                         \
	}

/* clang-format off */
CHECKED(ssize_t, __read_chk, (int fd, void *to, size_t bytes, size_t room), bytes <= room,
	(fd, to, bytes, room), read(fd, to, bytes))
CHECKED(ssize_t, __pread_chk, (int fd, void *to, size_t bytes, off_t at, size_t room), bytes <= room,
	(fd, to, bytes, at, room), pread(fd, to, bytes, at))
CHECKED(ssize_t, __pread64_chk, (int fd, void *to, size_t bytes, off64_t at, size_t room), bytes <= room,
	(fd, to, bytes, at, room), pread(fd, to, bytes, at))
CHECKED(ssize_t, __recv_chk, (int fd, void *to, size_t bytes, size_t room, int flags), bytes <= room,
	(fd, to, bytes, room, flags), recv(fd, to, bytes, flags))
CHECKED(ssize_t, __recvfrom_chk,
	(int fd, void *to, size_t bytes, size_t room, int flags, __SOCKADDR_ARG address, socklen_t *n),
	bytes <= room, (fd, to, bytes, room, flags, address, n), recvfrom(fd, to, bytes, flags, address, n))
CHECKED(size_t, __fread_chk, (void *to, size_t room, size_t bytes, size_t count, FILE *file),
	bytes == 0 || count <= room / bytes, (to, room, bytes, count, file), fread(to, bytes, count, file))
CHECKED(size_t, __fread_unlocked_chk, (void *to, size_t room, size_t bytes, size_t count, FILE *file),
	bytes == 0 || count <= room / bytes, (to, room, bytes, count, file),
	fread_unlocked(to, bytes, count, file))
CHECKED(char *, __getcwd_chk, (char *to, size_t bytes, size_t room), bytes <= room, (to, bytes, room),
	getcwd(to, bytes))
CHECKED(ssize_t, __readlink_chk, (const char *path, char *to, size_t bytes, size_t room), bytes <= room,
	(path, to, bytes, room), readlink(path, to, bytes))
CHECKED(ssize_t, __readlinkat_chk, (int folder, const char *path, char *to, size_t bytes, size_t room),
	bytes <= room, (folder, path, to, bytes, room), readlinkat(folder, path, to, bytes))
CHECKED(int, __poll_chk, (struct pollfd *fds, nfds_t n, int timeout_ms, size_t room),
	n <= room / sizeof(*fds), (fds, n, timeout_ms, room), poll(fds, n, timeout_ms))
CHECKED(int, __ppoll_chk,
	(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask, size_t room),
	n <= room / sizeof(*fds), (fds, n, timeout, mask, room), ppoll(fds, n, timeout, mask))
/* clang-format on */
