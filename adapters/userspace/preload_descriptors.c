/* Protects the pager's descriptors from programs that close unknown descriptors, as daemons do. */
#include "preload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_ours(int fd)
{
	return fd >= 0 && preload_next_descriptor(fd) == fd;
}

static int no_descriptor(void)
{
	errno = EBADF;
	return -1;
}

EXPORT int close(int fd)
{
	return is_ours(fd) ? no_descriptor() : (int)syscall(SYS_close, fd);
}

EXPORT int dup3(int from, int to, int flags)
{
	return is_ours(to) ? no_descriptor() : (int)syscall(SYS_dup3, from, to, flags);
}

EXPORT int dup2(int from, int to)
{
	if (from == to)
		return fcntl(from, F_GETFD) < 0 ? -1 : to;
	return dup3(from, to, 0);
}

/* Closes the ranges around each descriptor of the pager. */
EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	while (first <= last && first <= INT_MAX) {
		int ours = preload_next_descriptor((int)first);

		if (ours < 0 || (unsigned)ours > last)
			break;
		if ((unsigned)ours > first &&
		    syscall(SYS_close_range, first, (unsigned)ours - 1u, flags) != 0)
			return -1;
		first = (unsigned)ours + 1u;
		if (first > last)
			return 0;
	}
	return (int)syscall(SYS_close_range, first, last, flags);
}

EXPORT void closefrom(int first)
{
	(void)close_range(first < 0 ? 0u : (unsigned)first, UINT_MAX, 0);
}
