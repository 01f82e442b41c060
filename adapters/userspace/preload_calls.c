/* System calls of programs whose pager may not service faults of the kernel.
 *
 * An ordinary user's pager services the faults of the program, not those of the kernel (UFFD_USER_MODE_ONLY).
 * A system call fails with EFAULT if it meets a managed page that is not resident, or writes to one that is
 * clean. The functions of the C library that give the caller's memory to the kernel are therefore replaced:
 * they give it a bounce buffer and copy on both sides, whether pages are resident or not. Memory that is not
 * managed, and all memory if the pager services the kernel's faults, goes to the C library's function
 * unchanged, at the cost of one look-up of the address.
 *
 * Data is copied in pieces of BUFFER_BYTES where the program cannot tell that from one call: files, block
 * devices, and writes to pipes. Elsewhere (datagrams, reads of pipes, terminals, character devices) one call
 * is made, with a buffer of the full size.
 *
 * Not covered: system calls not made by the functions here and in preload_data.c and preload_stream.c, among
 * them syscall(), io_uring, aio, vmsplice, process_vm_readv, sendmmsg, recvmmsg, MSG_ZEROCOPY, memory named
 * by ioctl and fcntl, mkstemp, wide character streams; pthread condition variables, semaphores and barriers
 * in managed memory; thread stacks and signal stacks in managed memory. They fail with EFAULT as above. A
 * read or write of a file that is larger than BUFFER_BYTES is not atomic towards other readers and writers of
 * the file. */
#undef _FORTIFY_SOURCE
#include "preload_bounce.h"

#include <alloca.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>

#define STACK_MOST ((size_t)64 << 10)

/* Called by programs that are built with _FORTIFY_SOURCE. */
extern int __open_2(const char *path, int flags);
extern int __open64_2(const char *path, int flags);
extern int __openat_2(int folder, const char *path, int flags);
extern int __openat64_2(int folder, const char *path, int flags);

/* -- sockets; their data is in preload_data.c -- */

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
	BOUNCES;
	char *buffer = OUT(to, bytes), *got = REAL(getcwd)(buffer, bytes);

	return got && buffer != to ? to : got;
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
	BOUNCES;
	MODE(mode, flags)
	return REAL(open)(TEXT(path), flags, mode);
}

EXPORT int open64(const char *path, int flags, ...)
{
	BOUNCES;
	MODE(mode, flags)
	return REAL(open64)(TEXT(path), flags, mode);
}

EXPORT int openat(int folder, const char *path, int flags, ...)
{
	BOUNCES;
	MODE(mode, flags)
	return REAL(openat)(folder, TEXT(path), flags, mode);
}

EXPORT int openat64(int folder, const char *path, int flags, ...)
{
	BOUNCES;
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
 * A successful exec never releases its buffers; after vfork they would be the parent's. So they are on the
 * stack, unless they are large. */

#define STACKED(bytes) ((bytes) <= STACK_MOST ? alloca((bytes) + 1u) : preload_map_buffer(bytes))

static size_t text_bytes(const char *text)
{
	return preload_is_bounced(text) ? strlen(text) + 1u : 0;
}

static const char *stacked_text(const char *text, size_t bytes, void *buffer)
{
	return bytes != 0 && buffer ? memcpy(buffer, text, bytes) : text;
}

/* 0: no part of it is managed. */
static size_t vector_bytes(char *const text[])
{
	bool is_bounced = preload_is_bounced(text);
	size_t bytes = sizeof(*text), i;

	for (i = 0; preload_bounced && text && text[i]; i++) {
		is_bounced = is_bounced || preload_is_bounced(text[i]);
		bytes += sizeof(*text) + strlen(text[i]) + 1u;
	}
	return is_bounced ? bytes : 0;
}

static char *const *stacked_vector(char *const text[], size_t bytes, char **buffer)
{
	size_t count = 0;
	char *at;

	if (bytes == 0 || !buffer)
		return text;
	while (text[count])
		count++;
	at = (char *)(buffer + count + 1u);
	for (size_t i = 0; i < count; i++) {
		buffer[i] = at;
		at = stpcpy(at, text[i]) + 1;
	}
	buffer[count] = NULL;
	return buffer;
}

#define STACKED_TEXT(to, text)                                                                               \
	size_t to##_bytes = text_bytes(text);                                                                \
	void *to##_buffer = STACKED(to##_bytes);                                                             \
	const char *to = stacked_text(text, to##_bytes, to##_buffer)
#define STACKED_VECTOR(to, vector)                                                                           \
	size_t to##_bytes = vector_bytes(vector);                                                            \
	void *to##_buffer = STACKED(to##_bytes);                                                             \
	char *const *to = stacked_vector(vector, to##_bytes, to##_buffer)

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

/* The variable arguments of a call, up to NULL, as a vector on the stack. */
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
