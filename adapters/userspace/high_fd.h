/* high_fd.h: descriptors with high numbers. */
#ifndef UVMP_PAGER_HIGH_FD_H
#define UVMP_PAGER_HIGH_FD_H

#include <fcntl.h>
#include <unistd.h>

#define HIGH_FD 512 /* programs assume low numbers, and close them */

/* Duplicates the descriptor, closed on exec, to a high number if possible. Negative: returned
 * unchanged, with errno. */
static inline int high_fd(int fd)
{
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

#endif
