/* high_fd.h: descriptors that stay out of the program's way. */
#ifndef UVMP_PAGER_HIGH_FD_H
#define UVMP_PAGER_HIGH_FD_H

#include <fcntl.h>
#include <unistd.h>

#define HIGH_FD 512 /* programs count on low numbers, and close them */

/* The same, closed on exec, under a high number if that can be had; negative: as it was, errno too. */
static inline int high_fd(int fd)
{
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

#endif
