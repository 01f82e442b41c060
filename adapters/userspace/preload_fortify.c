/* Functions that programs built with _FORTIFY_SOURCE call. If the buffer is too small, the C library ends the
 * program. */
#undef _FORTIFY_SOURCE
#ifndef __NO_INLINE__ /* the C library's headers must not define the functions that are defined here */
#define __NO_INLINE__ 1
#endif
#include "preload_bounce.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

extern ssize_t __read_chk(int fd, void *to, size_t bytes, size_t buffer);
extern ssize_t __pread_chk(int fd, void *to, size_t bytes, off_t at, size_t buffer);
extern ssize_t __pread64_chk(int fd, void *to, size_t bytes, off64_t at, size_t buffer);
extern ssize_t __recv_chk(int fd, void *to, size_t bytes, size_t buffer, int flags);
extern ssize_t __recvfrom_chk(int fd, void *to, size_t bytes, size_t buffer, int flags,
			      __SOCKADDR_ARG address, socklen_t *address_bytes);
extern size_t __fread_chk(void *to, size_t buffer, size_t bytes, size_t count, FILE *file);
extern size_t __fread_unlocked_chk(void *to, size_t buffer, size_t bytes, size_t count, FILE *file);
extern char *__getcwd_chk(char *to, size_t bytes, size_t buffer);
extern ssize_t __readlink_chk(const char *path, char *to, size_t bytes, size_t buffer);
extern ssize_t __readlinkat_chk(int folder, const char *path, char *to, size_t bytes, size_t buffer);
extern int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t buffer);
extern int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask,
		       size_t buffer);

#define CHECKED(type, name, parameters, is_enough, arguments, plainly)                                       \
	NAMED(name);                                                                                         \
	EXPORT type name parameters                                                                          \
	{                                                                                                    \
		return (is_enough) ? plainly : REAL(name) arguments;                                         \
	}

/* clang-format off */
CHECKED(ssize_t, __read_chk, (int fd, void *to, size_t bytes, size_t buffer), bytes <= buffer,
	(fd, to, bytes, buffer), read(fd, to, bytes))
CHECKED(ssize_t, __pread_chk, (int fd, void *to, size_t bytes, off_t at, size_t buffer), bytes <= buffer,
	(fd, to, bytes, at, buffer), pread(fd, to, bytes, at))
CHECKED(ssize_t, __pread64_chk, (int fd, void *to, size_t bytes, off64_t at, size_t buffer), bytes <= buffer,
	(fd, to, bytes, at, buffer), pread(fd, to, bytes, at))
CHECKED(ssize_t, __recv_chk, (int fd, void *to, size_t bytes, size_t buffer, int flags), bytes <= buffer,
	(fd, to, bytes, buffer, flags), recv(fd, to, bytes, flags))
CHECKED(ssize_t, __recvfrom_chk,
	(int fd, void *to, size_t bytes, size_t buffer, int flags, __SOCKADDR_ARG address, socklen_t *n),
	bytes <= buffer, (fd, to, bytes, buffer, flags, address, n), recvfrom(fd, to, bytes, flags, address, n))
CHECKED(size_t, __fread_chk, (void *to, size_t buffer, size_t bytes, size_t count, FILE *file),
	bytes == 0 || count <= buffer / bytes, (to, buffer, bytes, count, file), fread(to, bytes, count, file))
CHECKED(size_t, __fread_unlocked_chk, (void *to, size_t buffer, size_t bytes, size_t count, FILE *file),
	bytes == 0 || count <= buffer / bytes, (to, buffer, bytes, count, file),
	fread_unlocked(to, bytes, count, file))
CHECKED(char *, __getcwd_chk, (char *to, size_t bytes, size_t buffer), bytes <= buffer, (to, bytes, buffer),
	getcwd(to, bytes))
CHECKED(ssize_t, __readlink_chk, (const char *path, char *to, size_t bytes, size_t buffer), bytes <= buffer,
	(path, to, bytes, buffer), readlink(path, to, bytes))
CHECKED(ssize_t, __readlinkat_chk, (int folder, const char *path, char *to, size_t bytes, size_t buffer),
	bytes <= buffer, (folder, path, to, bytes, buffer), readlinkat(folder, path, to, bytes))
CHECKED(int, __poll_chk, (struct pollfd *fds, nfds_t n, int timeout_ms, size_t buffer),
	n <= buffer / sizeof(*fds), (fds, n, timeout_ms, buffer), poll(fds, n, timeout_ms))
CHECKED(int, __ppoll_chk,
	(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask, size_t buffer),
	n <= buffer / sizeof(*fds), (fds, n, timeout, mask, buffer), ppoll(fds, n, timeout, mask))
/* clang-format on */
