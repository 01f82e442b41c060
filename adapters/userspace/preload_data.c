/* read, write, send, recv and related functions, through bounce buffers where memory is managed
 * (preload_calls.c). */
#undef _FORTIFY_SOURCE
#ifndef __NO_INLINE__ /* the C library's headers must not define the functions that are defined here */
#define __NO_INLINE__ 1
#endif
#include "preload_bounce.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define READ_MOST  ((size_t)0x7ffff000) /* in one call, as in the kernel */
#define PARTS_MOST 1024			/* IOV_MAX */

/* -- data: read, write and related functions -- */

struct transfer {
	ssize_t (*call)(const struct transfer *t, void *buffer, size_t bytes, size_t done);
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

/* Copies between the parts and the buffer, from byte `done` of the transfer on. */
static void copy(const struct transfer *t, uint8_t *buffer, size_t bytes, size_t done)
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
			memcpy(buffer, part, now);
		else
			memcpy(part, buffer, now);
		buffer += now;
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

/* May one call be split into several? */
static bool may_split(const struct transfer *t)
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

/* Stops where one call would: at the first piece that is incomplete. */
static ssize_t transfer(const struct transfer *t, size_t all)
{
	struct buffer buffer __attribute__((cleanup(give_back))) = {NULL, all};
	size_t done = 0;
	int error = errno;

	if (all > BUFFER_BYTES && may_split(t))
		buffer.bytes = BUFFER_BYTES;
	buffer.at = preload_take_buffer(buffer.bytes);
	if (!buffer.at) {
		errno = ENOMEM;
		return -1;
	}
	while (done < all) {
		size_t bytes = all - done < buffer.bytes ? all - done : buffer.bytes;
		ssize_t got;

		if (t->is_write)
			copy(t, buffer.at, bytes, done);
		got = t->call(t, buffer.at, bytes, done);
		if (got < 0 && done == 0)
			return got;
		if (got <= 0)
			break;
		if (!t->is_write) /* a datagram may report more bytes than it returned */
			copy(t, buffer.at, (size_t)got < bytes ? (size_t)got : bytes, done);
		done += (size_t)got;
		if ((size_t)got != bytes)
			break;
	}
	errno = error;
	return (ssize_t)done;
}

/* Is memory of the parts managed, and are the arguments valid? */
static bool needs_bounce(const struct iovec *part, int parts, size_t *all)
{
	bool is_bounced;

	if (!preload_bounced || parts <= 0 || parts > PARTS_MOST || !part)
		return false;
	is_bounced = preload_is_bounced(part);
	*all = 0;
	for (int i = 0; i < parts; i++) {
		is_bounced = is_bounced || preload_is_bounced(part[i].iov_base);
		if (part[i].iov_len > SSIZE_MAX - *all)
			return false;
		*all += part[i].iov_len;
	}
	if (*all > READ_MOST)
		*all = READ_MOST;
	return is_bounced && *all != 0;
}

static ssize_t file_call(const struct transfer *t, void *buffer, size_t bytes, size_t done)
{
	struct iovec one = {buffer, bytes};
	off_t at = t->has_offset ? t->offset + (off_t)done : -1;

	if (t->flags != 0)
		return t->is_write ? REAL(pwritev2)(t->fd, &one, 1, at, t->flags)
				   : REAL(preadv2)(t->fd, &one, 1, at, t->flags);
	if (t->has_offset)
		return t->is_write ? REAL(pwrite)(t->fd, buffer, bytes, at)
				   : REAL(pread)(t->fd, buffer, bytes, at);
	return t->is_write ? REAL(write)(t->fd, buffer, bytes) : REAL(read)(t->fd, buffer, bytes);
}

static ssize_t transfer_plain(int fd, const void *memory, size_t bytes, bool is_write)
{
	struct iovec part = {(void *)(uintptr_t)memory, bytes};
	struct transfer t = {.call = file_call, .fd = fd, .is_write = is_write, .part = &part, .parts = 1};

	return transfer(&t, bytes < READ_MOST ? bytes : READ_MOST);
}

static ssize_t transfer_at(int fd, const void *memory, size_t bytes, off_t at, bool is_write)
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
	return preload_is_bounced(to) && bytes != 0 ? transfer_plain(fd, to, bytes, READS)
						    : REAL(read)(fd, to, bytes);
}

EXPORT ssize_t write(int fd, const void *from, size_t bytes)
{
	return preload_is_bounced(from) && bytes != 0 ? transfer_plain(fd, from, bytes, WRITES)
						      : REAL(write)(fd, from, bytes);
}

EXPORT ssize_t pread(int fd, void *to, size_t bytes, off_t at)
{
	return preload_is_bounced(to) && bytes != 0 ? transfer_at(fd, to, bytes, at, READS)
						    : REAL(pread)(fd, to, bytes, at);
}

EXPORT ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
	return preload_is_bounced(from) && bytes != 0 ? transfer_at(fd, from, bytes, at, WRITES)
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

/* The functions with several parts. */
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
		return needs_bounce(part, parts, &all) ? transfer(&t, all) : __VA_ARGS__;                    \
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

static ssize_t message_call(const struct transfer *t, void *buffer, size_t bytes, size_t done)
{
	struct iovec one = {buffer, bytes};
	struct msghdr *message = t->message;

	message->msg_iov = &one;
	message->msg_iovlen = 1;
	if (done != 0) /* only streams are split, and descriptors were passed with the first piece */
		message->msg_controllen = 0;
	return t->is_write ? REAL(sendmsg)(t->fd, message, t->flags)
			   : REAL(recvmsg)(t->fd, message, t->flags);
}

/* A message whose parts, name or control data may be managed; `message` is the caller's own copy. */
static ssize_t pass_message(int fd, struct msghdr *message, int flags, bool is_write)
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
	BOUNCES;

	message->msg_name = OUT(before.msg_name, before.msg_namelen);
	message->msg_control = OUT(before.msg_control, before.msg_controllen);
	if (needs_bounce(t.part, t.parts, &all))
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

	if (!preload_bounced || !message || (flags & MSG_ZEROCOPY) != 0)
		return REAL(sendmsg)(fd, message, flags);
	mine = *message;
	return pass_message(fd, &mine, flags, WRITES);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	struct msghdr mine;
	ssize_t got;

	if (!preload_bounced || !message)
		return REAL(recvmsg)(fd, message, flags);
	mine = *message;
	got = pass_message(fd, &mine, flags, READS);
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

	if ((!preload_is_bounced(from) && !preload_is_bounced(to)) || (flags & MSG_ZEROCOPY) != 0)
		return REAL(sendto)(fd, from, bytes, flags, address, address_bytes);
	return pass_message(fd, &message, flags, WRITES);
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

	if (!preload_is_bounced(to) && !preload_is_bounced(from) && !preload_is_bounced(address_bytes))
		return REAL(recvfrom)(fd, to, bytes, flags, address, address_bytes);
	got = pass_message(fd, &message, flags, READS);
	if (got >= 0 && from && address_bytes)
		*address_bytes = message.msg_namelen;
	return got;
}

EXPORT ssize_t send(int fd, const void *from, size_t bytes, int flags)
{
	return preload_is_bounced(from)
		       ? sendto(fd, from, bytes, flags, (__CONST_SOCKADDR_ARG){.__sockaddr__ = NULL}, 0)
		       : REAL(send)(fd, from, bytes, flags);
}

EXPORT ssize_t recv(int fd, void *to, size_t bytes, int flags)
{
	return preload_is_bounced(to)
		       ? recvfrom(fd, to, bytes, flags, (__SOCKADDR_ARG){.__sockaddr__ = NULL}, NULL)
		       : REAL(recv)(fd, to, bytes, flags);
}
