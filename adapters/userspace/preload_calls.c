/* System calls of programs that may not handle the kernel's page faults.
 *
 * An ordinary user's pager serves the faults of the program, not those of the kernel (UFFD_USER_MODE_ONLY): a
 * system call that meets a managed page that is not resident, or is clean and is to be written, fails with
 * EFAULT. So the C library's functions that give the caller's memory to the kernel are replaced here by ones
 * that give it other memory, "lent" for the call, and copy on both sides. Nothing depends on what is
 * resident. Memory that is not managed, and all memory where the pager serves the kernel's faults, goes to
 * the C library's function as it is, at the cost of a look at the address.
 *
 * Data is copied in pieces of PIECE bytes where that cannot be told from one call: files and block devices,
 * and writing to pipes. Elsewhere (datagrams, reads of pipes, terminals, character devices) the call is made
 * once, with as much lent memory as it asks for.
 *
 * Not covered: system calls not made by the functions below, among them syscall(), io_uring, aio, vmsplice,
 * process_vm_readv, sendmmsg, recvmmsg, MSG_ZEROCOPY, memory named by ioctl and fcntl, mkstemp, wide
 * character streams; pthread condition variables, semaphores and barriers in managed memory; thread stacks
 * and signal stacks that are managed memory. They fail with EFAULT when they meet a page as above. A read or
 * write of a file that is larger than PIECE is not atomic towards other readers and writers of that file. */
#undef _FORTIFY_SOURCE
#include "preload.h"

#include <alloca.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#undef fread_unlocked /* macros, where the compiler optimizes */
#undef fwrite_unlocked

#define PIECE      ((size_t)256 << 10)
#define PIECES     32u                  /* kept for the next call */
#define READ_MOST  ((size_t)0x7ffff000) /* of one call, as the kernel has it */
#define PARTS_MOST 1024                 /* IOV_MAX */
#define STACK_MOST ((size_t)64 << 10)

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
extern int __open_2(const char *path, int flags);
extern int __open64_2(const char *path, int flags);
extern int __openat_2(int folder, const char *path, int flags);
extern int __openat64_2(int folder, const char *path, int flags);
extern int __printf_chk(int flag, const char *format, ...);
extern int __fprintf_chk(FILE *file, int flag, const char *format, ...);
extern int __vprintf_chk(int flag, const char *format, va_list arguments);
extern int __vfprintf_chk(FILE *file, int flag, const char *format, va_list arguments);
extern int __vasprintf_chk(char **text, int flag, const char *format, va_list arguments);

/* -- the functions behind these -- */

/* All of them are in one section, so that they are looked up at once, at the start. */
struct function {
	const char *name;
	uintptr_t at;
} __attribute__((aligned(16)));

extern HIDDEN struct function __start_uvmp_functions[], __stop_uvmp_functions[];

static long nowhere(void)
{
	errno = ENOSYS;
	return -1;
}

static uintptr_t look_up(struct function *function)
{
	int error = errno;
	uintptr_t at = (uintptr_t)dlsym(RTLD_NEXT, function->name);

	if (at == 0)
		at = (uintptr_t)nowhere;
	__atomic_store_n(&function->at, at, __ATOMIC_RELAXED);
	errno = error;
	return at;
}

__attribute__((constructor)) static void look_up_all(void)
{
	for (struct function *f = __start_uvmp_functions; f != __stop_uvmp_functions; f++)
		look_up(f);
}

static inline uintptr_t find(struct function *function)
{
	uintptr_t at = __atomic_load_n(&function->at, __ATOMIC_RELAXED);

	return at != 0 ? at : look_up(function);
}

#define NAMED(name)                                                                                          \
	static struct function function_##name __attribute__((section("uvmp_functions"), used)) = {#name, 0}
#define REAL(name) ((__typeof__(&name))find(&function_##name))

/* -- lending -- */

static void *shelf[PIECES];

static void *map(size_t bytes)
{
	void *memory = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
	                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);

	return memory == MAP_FAILED ? NULL : memory;
}

/* PIECE bytes, or as many more as are wanted. NULL: out of memory. Signal handlers come here too: no locks.
 */
static void *take_room(size_t bytes)
{
	if (bytes > PIECE)
		return map(bytes);
	for (unsigned i = 0; i < PIECES; i++) {
		void *room = __atomic_load_n(&shelf[i], __ATOMIC_RELAXED)
		                     ? __atomic_exchange_n(&shelf[i], NULL, __ATOMIC_ACQUIRE)
		                     : NULL;

		if (room)
			return room;
	}
	return map(PIECE);
}

static void give_room(void *room, size_t bytes)
{
	for (unsigned i = 0; bytes <= PIECE && i < PIECES; i++) {
		void *nothing = NULL;

		if (__atomic_compare_exchange_n(&shelf[i], &nothing, room, false, __ATOMIC_RELEASE,
		                                __ATOMIC_RELAXED))
			return;
	}
	syscall(SYS_munmap, room, bytes <= PIECE ? PIECE : bytes);
}

struct loan {
	void *user, *room;
	size_t bytes;
	bool comes_back;
};

/* What one call has borrowed. */
struct desk {
	struct loan loan[5];
	unsigned count;
};

static void settle(struct desk *desk)
{
	int error = errno;

	for (unsigned i = 0; i < desk->count; i++) {
		struct loan *loan = &desk->loan[i];

		if (loan->comes_back)
			memcpy(loan->user, loan->room, loan->bytes);
		give_room(loan->room, loan->bytes);
	}
	errno = error;
}

static inline void leave(struct desk *desk)
{
	if (desk->count != 0)
		settle(desk);
}

static void *lend_now(struct desk *desk, void *user, size_t bytes, bool comes_back)
{
	void *room = take_room(bytes);

	if (!room)
		return user;
	memcpy(room, user, bytes);
	desk->loan[desk->count++] = (struct loan){user, room, bytes, comes_back};
	return room;
}

static inline void *lend(struct desk *desk, const void *user, size_t bytes, bool comes_back)
{
	if (!preload_is_kept(user) || bytes == 0)
		return (void *)(uintptr_t)user;
	return lend_now(desk, (void *)(uintptr_t)user, bytes, comes_back);
}

static inline const char *lend_text(struct desk *desk, const char *text)
{
	return preload_is_kept(text) ? lend_now(desk, (void *)(uintptr_t)text, strlen(text) + 1u, false)
	                             : text;
}

/* The end of a function settles, also when its thread is cancelled (this file is built with -fexceptions). */
#define DESK                                                                                                 \
	struct desk desk __attribute__((cleanup(leave)));                                                    \
	desk.count = 0
#define TEXT(text)            lend_text(&desk, text)
#define IN(memory, bytes)     lend(&desk, memory, bytes, false)
#define OUT(memory, bytes)    lend(&desk, memory, bytes, true)
#define ITEM(memory)          lend(&desk, memory, sizeof(*(memory)), true)
#define ADDRESS(memory, size) lend(&desk, memory, (size) ? *(size) : 0u, true)

#define NAME_IN(a, bytes) ((__CONST_SOCKADDR_ARG){.__sockaddr__ = IN((a).__sockaddr__, bytes)})
#define NAME_OUT(a, size) ((__SOCKADDR_ARG){.__sockaddr__ = ADDRESS((a).__sockaddr__, size)})

/* A function whose arguments are lent, and that is all. */
#define CALL(type, name, parameters, ...)                                                                    \
	NAMED(name);                                                                                         \
	EXPORT type name parameters                                                                          \
	{                                                                                                    \
		DESK;                                                                                        \
		return REAL(name)(__VA_ARGS__);                                                              \
	}

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
		give_room(room->at, room->bytes);
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
	room.at = take_room(room.bytes);
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

CALL(int, bind, (int fd, __CONST_SOCKADDR_ARG a, socklen_t n), fd, NAME_IN(a, n), n)
CALL(int, connect, (int fd, __CONST_SOCKADDR_ARG a, socklen_t n), fd, NAME_IN(a, n), n)
CALL(int, accept, (int fd, __SOCKADDR_ARG a, socklen_t *n), fd, NAME_OUT(a, n), ITEM(n))
CALL(int, accept4, (int fd, __SOCKADDR_ARG a, socklen_t *n, int flags), fd, NAME_OUT(a, n), ITEM(n), flags)
CALL(int, getsockname, (int fd, __SOCKADDR_ARG a, socklen_t *n), fd, NAME_OUT(a, n), ITEM(n))
CALL(int, getpeername, (int fd, __SOCKADDR_ARG a, socklen_t *n), fd, NAME_OUT(a, n), ITEM(n))
CALL(int, setsockopt, (int fd, int level, int name, const void *value, socklen_t n), fd, level, name,
     IN(value, n), n)
CALL(int, getsockopt, (int fd, int level, int name, void *value, socklen_t *n), fd, level, name,
     ADDRESS(value, n), ITEM(n))
CALL(int, socketpair, (int domain, int type, int protocol, int fd[2]), domain, type, protocol,
     OUT(fd, 2 * sizeof(int)))

/* -- waiting -- */

CALL(int, poll, (struct pollfd * fds, nfds_t n, int timeout_ms), OUT(fds, n * sizeof(*fds)), n, timeout_ms)
CALL(int, ppoll, (struct pollfd * fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask),
     OUT(fds, n * sizeof(*fds)), n, timeout, mask)
/* Sets may have more bits than an fd_set, or fewer. */
#define SET(set, n) OUT(set, n > 0 ? ((size_t)n + 63u) / 64u * 8u : 0u)
CALL(int, select, (int n, fd_set *in, fd_set *out, fd_set *odd, struct timeval *timeout), n, SET(in, n),
     SET(out, n), SET(odd, n), ITEM(timeout))
CALL(int, pselect,
     (int n, fd_set *in, fd_set *out, fd_set *odd, const struct timespec *timeout, const sigset_t *mask), n,
     SET(in, n), SET(out, n), SET(odd, n), timeout, mask)
CALL(int, epoll_ctl, (int fd, int what, int other, struct epoll_event *event), fd, what, other, ITEM(event))
CALL(int, epoll_wait, (int fd, struct epoll_event *event, int n, int timeout_ms), fd,
     OUT(event, n > 0 ? (size_t)n * sizeof(*event) : 0), n, timeout_ms)
CALL(int, epoll_pwait, (int fd, struct epoll_event *event, int n, int timeout_ms, const sigset_t *mask), fd,
     OUT(event, n > 0 ? (size_t)n * sizeof(*event) : 0), n, timeout_ms, mask)

/* -- small results -- */

CALL(int, pipe, (int fd[2]), OUT(fd, 2 * sizeof(int)))
CALL(int, pipe2, (int fd[2], int flags), OUT(fd, 2 * sizeof(int)), flags)
CALL(ssize_t, getrandom, (void *to, size_t bytes, unsigned flags), OUT(to, bytes), bytes, flags)
CALL(int, getentropy, (void *to, size_t bytes), OUT(to, bytes), bytes)
CALL(ssize_t, readlink, (const char *path, char *to, size_t bytes), TEXT(path), OUT(to, bytes), bytes)
CALL(ssize_t, readlinkat, (int folder, const char *path, char *to, size_t bytes), folder, TEXT(path),
     OUT(to, bytes), bytes)

NAMED(getcwd);
EXPORT char *getcwd(char *to, size_t bytes)
{
	DESK;
	char *room = OUT(to, bytes), *got = REAL(getcwd)(room, bytes);

	return got && room != to ? to : got;
}

/* -- paths -- */

NAMED(open);
NAMED(open64);
NAMED(openat);
NAMED(openat64);

/* The mode that may follow the flags. */
#define MODE(mode, flags)                                                                                    \
	mode_t mode = 0;                                                                                     \
	if (((flags)&O_CREAT) != 0 || ((flags)&O_TMPFILE) == O_TMPFILE) {                                    \
		va_list arguments;                                                                           \
		va_start(arguments, flags);                                                                  \
		mode = va_arg(arguments, mode_t);                                                            \
		va_end(arguments);                                                                           \
	}

EXPORT int open(const char *path, int flags, ...)
{
	DESK;
	MODE(mode, flags)
	return REAL(open)(TEXT(path), flags, mode);
}

EXPORT int open64(const char *path, int flags, ...)
{
	DESK;
	MODE(mode, flags)
	return REAL(open64)(TEXT(path), flags, mode);
}

EXPORT int openat(int folder, const char *path, int flags, ...)
{
	DESK;
	MODE(mode, flags)
	return REAL(openat)(folder, TEXT(path), flags, mode);
}

EXPORT int openat64(int folder, const char *path, int flags, ...)
{
	DESK;
	MODE(mode, flags)
	return REAL(openat64)(folder, TEXT(path), flags, mode);
}

CALL(int, __open_2, (const char *path, int flags), TEXT(path), flags)
CALL(int, __open64_2, (const char *path, int flags), TEXT(path), flags)
CALL(int, __openat_2, (int folder, const char *path, int flags), folder, TEXT(path), flags)
CALL(int, __openat64_2, (int folder, const char *path, int flags), folder, TEXT(path), flags)
CALL(int, creat, (const char *path, mode_t mode), TEXT(path), mode)
CALL(int, creat64, (const char *path, mode_t mode), TEXT(path), mode)
CALL(FILE *, fopen, (const char *path, const char *mode), TEXT(path), mode)
CALL(FILE *, fopen64, (const char *path, const char *mode), TEXT(path), mode)
CALL(FILE *, freopen, (const char *path, const char *mode, FILE *file), TEXT(path), mode, file)
CALL(FILE *, freopen64, (const char *path, const char *mode, FILE *file), TEXT(path), mode, file)
CALL(FILE *, popen, (const char *command, const char *mode), TEXT(command), mode)
CALL(int, system, (const char *command), TEXT(command))
CALL(DIR *, opendir, (const char *path), TEXT(path))
CALL(int, stat, (const char *path, struct stat *to), TEXT(path), ITEM(to))
CALL(int, stat64, (const char *path, struct stat64 *to), TEXT(path), ITEM(to))
CALL(int, lstat, (const char *path, struct stat *to), TEXT(path), ITEM(to))
CALL(int, lstat64, (const char *path, struct stat64 *to), TEXT(path), ITEM(to))
CALL(int, fstat, (int fd, struct stat *to), fd, ITEM(to))
CALL(int, fstat64, (int fd, struct stat64 *to), fd, ITEM(to))
CALL(int, fstatat, (int folder, const char *path, struct stat *to, int flags), folder, TEXT(path), ITEM(to),
     flags)
CALL(int, fstatat64, (int folder, const char *path, struct stat64 *to, int flags), folder, TEXT(path),
     ITEM(to), flags)
CALL(int, statx, (int folder, const char *path, int flags, unsigned mask, struct statx *to), folder,
     TEXT(path), flags, mask, ITEM(to))
CALL(int, statfs, (const char *path, struct statfs *to), TEXT(path), ITEM(to))
CALL(int, statfs64, (const char *path, struct statfs64 *to), TEXT(path), ITEM(to))
CALL(int, statvfs, (const char *path, struct statvfs *to), TEXT(path), ITEM(to))
CALL(int, statvfs64, (const char *path, struct statvfs64 *to), TEXT(path), ITEM(to))
CALL(int, access, (const char *path, int mode), TEXT(path), mode)
CALL(int, faccessat, (int folder, const char *path, int mode, int flags), folder, TEXT(path), mode, flags)
CALL(int, eaccess, (const char *path, int mode), TEXT(path), mode)
CALL(int, chdir, (const char *path), TEXT(path))
CALL(int, chroot, (const char *path), TEXT(path))
CALL(int, mkdir, (const char *path, mode_t mode), TEXT(path), mode)
CALL(int, mkdirat, (int folder, const char *path, mode_t mode), folder, TEXT(path), mode)
CALL(int, mkfifo, (const char *path, mode_t mode), TEXT(path), mode)
CALL(int, mknod, (const char *path, mode_t mode, dev_t device), TEXT(path), mode, device)
CALL(int, rmdir, (const char *path), TEXT(path))
CALL(int, unlink, (const char *path), TEXT(path))
CALL(int, unlinkat, (int folder, const char *path, int flags), folder, TEXT(path), flags)
CALL(int, remove, (const char *path), TEXT(path))
CALL(int, rename, (const char *from, const char *to), TEXT(from), TEXT(to))
CALL(int, renameat, (int f, const char *from, int t, const char *to), f, TEXT(from), t, TEXT(to))
CALL(int, renameat2, (int f, const char *from, int t, const char *to, unsigned flags), f, TEXT(from), t,
     TEXT(to), flags)
CALL(int, link, (const char *from, const char *to), TEXT(from), TEXT(to))
CALL(int, linkat, (int f, const char *from, int t, const char *to, int flags), f, TEXT(from), t, TEXT(to),
     flags)
CALL(int, symlink, (const char *from, const char *to), TEXT(from), TEXT(to))
CALL(int, symlinkat, (const char *from, int t, const char *to), TEXT(from), t, TEXT(to))
CALL(int, chmod, (const char *path, mode_t mode), TEXT(path), mode)
CALL(int, fchmodat, (int folder, const char *path, mode_t mode, int flags), folder, TEXT(path), mode, flags)
CALL(int, chown, (const char *path, uid_t user, gid_t group), TEXT(path), user, group)
CALL(int, lchown, (const char *path, uid_t user, gid_t group), TEXT(path), user, group)
CALL(int, fchownat, (int folder, const char *path, uid_t user, gid_t group, int flags), folder, TEXT(path),
     user, group, flags)
CALL(int, truncate, (const char *path, off_t bytes), TEXT(path), bytes)
CALL(int, truncate64, (const char *path, off64_t bytes), TEXT(path), bytes)
CALL(int, utimes, (const char *path, const struct timeval time[2]), TEXT(path), IN(time, 2 * sizeof(*time)))
CALL(int, utimensat, (int folder, const char *path, const struct timespec time[2], int flags), folder,
     TEXT(path), IN(time, 2 * sizeof(*time)), flags)
CALL(int, futimens, (int fd, const struct timespec time[2]), fd, IN(time, 2 * sizeof(*time)))
CALL(ssize_t, listxattr, (const char *path, char *to, size_t bytes), TEXT(path), OUT(to, bytes), bytes)
CALL(ssize_t, llistxattr, (const char *path, char *to, size_t bytes), TEXT(path), OUT(to, bytes), bytes)
CALL(ssize_t, getxattr, (const char *path, const char *name, void *to, size_t bytes), TEXT(path), TEXT(name),
     OUT(to, bytes), bytes)
CALL(ssize_t, lgetxattr, (const char *path, const char *name, void *to, size_t bytes), TEXT(path), TEXT(name),
     OUT(to, bytes), bytes)
CALL(int, setxattr, (const char *path, const char *name, const void *from, size_t bytes, int flags),
     TEXT(path), TEXT(name), IN(from, bytes), bytes, flags)
CALL(int, lsetxattr, (const char *path, const char *name, const void *from, size_t bytes, int flags),
     TEXT(path), TEXT(name), IN(from, bytes), bytes, flags)

/* -- programs --
 *
 * What is lent for an exec is never given back if it succeeds; behind vfork that would be the parent's. So it
 * is on the stack, unless it is large. */

#define STACKED(bytes) ((bytes) <= STACK_MOST ? alloca((bytes) + 1u) : map(bytes))

static size_t text_bytes(const char *text)
{
	return preload_is_kept(text) ? strlen(text) + 1u : 0;
}

static const char *stacked_text(const char *text, size_t bytes, void *room)
{
	return bytes != 0 && room ? memcpy(room, text, bytes) : text;
}

/* 0: nothing of it is managed. */
static size_t vector_bytes(char *const text[])
{
	bool is_kept = preload_is_kept(text);
	size_t bytes = sizeof(*text), i;

	for (i = 0; preload_kept && text && text[i]; i++) {
		is_kept = is_kept || preload_is_kept(text[i]);
		bytes += sizeof(*text) + strlen(text[i]) + 1u;
	}
	return is_kept ? bytes : 0;
}

static char *const *stacked_vector(char *const text[], size_t bytes, char **room)
{
	size_t count = 0;
	char *at;

	if (bytes == 0 || !room)
		return text;
	while (text[count])
		count++;
	at = (char *)(room + count + 1u);
	for (size_t i = 0; i < count; i++) {
		room[i] = at;
		at = stpcpy(at, text[i]) + 1;
	}
	room[count] = NULL;
	return room;
}

#define STACKED_TEXT(to, text)                                                                               \
	size_t to##_bytes = text_bytes(text);                                                                \
	void *to##_room = STACKED(to##_bytes);                                                               \
	const char *to = stacked_text(text, to##_bytes, to##_room)
#define STACKED_VECTOR(to, vector)                                                                           \
	size_t to##_bytes = vector_bytes(vector);                                                            \
	void *to##_room = STACKED(to##_bytes);                                                               \
	char *const *to = stacked_vector(vector, to##_bytes, to##_room)

#define EXEC(name, parameters, path, argument, environment, ...)                                             \
	NAMED(name);                                                                                         \
	EXPORT int name parameters                                                                           \
	{                                                                                                    \
		STACKED_TEXT(p, path);                                                                       \
		STACKED_VECTOR(a, argument);                                                                 \
		STACKED_VECTOR(e, environment);                                                              \
		preload_end();                                                                               \
                                                                                                             \
		return REAL(name)(__VA_ARGS__);                                                              \
	}

EXEC(execve, (const char *path, char *const argument[], char *const with[]), path, argument, with, p, a, e)
EXEC(execvpe, (const char *path, char *const argument[], char *const with[]), path, argument, with, p, a, e)
NAMED(fexecve);
EXPORT int fexecve(int fd, char *const argument[], char *const with[])
{
	STACKED_VECTOR(a, argument);
	STACKED_VECTOR(e, with);

	preload_end();
	return REAL(fexecve)(fd, a, e);
}

EXEC(posix_spawn,
     (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *how,
      char *const argument[], char *const with[]),
     path, argument, with, pid, p, actions, how, a, e)
EXEC(posix_spawnp,
     (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *how,
      char *const argument[], char *const with[]),
     path, argument, with, pid, p, actions, how, a, e)

EXPORT int execv(const char *path, char *const argument[])
{
	return execve(path, argument, environ);
}

EXPORT int execvp(const char *path, char *const argument[])
{
	return execvpe(path, argument, environ);
}

/* The arguments that stand in a call, up to NULL, as a vector on the stack. */
#define GATHER(vector, first, last)                                                                          \
	va_list last;                                                                                        \
	size_t count = 1;                                                                                    \
	va_start(last, first);                                                                               \
	while (va_arg(last, char *))                                                                         \
		count++;                                                                                     \
	va_end(last);                                                                                        \
	char **vector = alloca((count + 1u) * sizeof(char *));                                               \
	vector[0] = (char *)(uintptr_t)first;                                                                \
	va_start(last, first);                                                                               \
	for (size_t i = 1; i <= count; i++)                                                                  \
		vector[i] = va_arg(last, char *);

EXPORT int execl(const char *path, const char *first, ...)
{
	GATHER(vector, first, rest)
	va_end(rest);
	return execve(path, vector, environ);
}

EXPORT int execlp(const char *path, const char *first, ...)
{
	GATHER(vector, first, rest)
	va_end(rest);
	return execvpe(path, vector, environ);
}

EXPORT int execle(const char *path, const char *first, ...)
{
	char *const *with;
	GATHER(vector, first, rest)
	with = va_arg(rest, char *const *);
	va_end(rest);
	return execve(path, vector, with);
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
	struct room room __attribute__((cleanup(leave_room))) = {take_room(PIECE), PIECE};
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

EXPORT int __fprintf_chk(FILE *file, int flag, const char *format,
                         ...){PRINT(format, __vfprintf_chk(file, flag, format, arguments))}

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
