/* Reads managed memory that the program may unmap, protect or drop meanwhile. The kernel performs the read,
 * and returns an error where a load would end the process.
 *
 * A dropped page must be replaced first: its fault could only be serviced by the reading thread. */
#include "pager_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

/* Reads regardless of the protection. */
static bool read_forced(void *to, uint64_t from, uint64_t bytes)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	ssize_t done = fd < 0 ? -1 : pread(fd, to, bytes, (off_t)from);

	if (fd >= 0)
		close(fd);
	return done == (ssize_t)bytes;
}

int safe_read(const struct uffd *uffd, void *to, uint64_t from, uint64_t bytes)
{
	struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)from, bytes};
	ssize_t done = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	if (done == (ssize_t)bytes)
		return 0;
	if (done < 0 && (errno == EPERM || errno == ENOSYS)) { /* not for this process: as it always was */
		memcpy(to, (const void *)(uintptr_t)from, bytes);
		return 0;
	}
	if (uffd_is_changing(uffd))
		return -EAGAIN;
	return read_forced(to, from, bytes) ? 0 : -EFAULT;
}

int safe_read_prepare(const struct uffd *uffd, uint64_t from, uint64_t bytes)
{
	unsigned char is_there[BLOCK_BYTES / KERNEL_PAGE];
	int error = 0;

	if (mincore((void *)(uintptr_t)from, bytes, is_there) != 0)
		return uffd_is_changing(uffd) ? -EAGAIN : -errno;
	for (uint64_t i = 0; i < bytes / KERNEL_PAGE && error == 0; i++) {
		if ((is_there[i] & 1u) == 0)
			error = uffd_zero(uffd, from + i * KERNEL_PAGE, KERNEL_PAGE);
	}
	return error;
}
