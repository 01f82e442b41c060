/* userfaultfd: what this kernel lets this process do, and the calls. */
#include "pager_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/userfaultfd.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

#define WANTED (UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_THREAD_ID)

static int open_fd(bool is_user_mode)
{
	return (int)syscall(SYS_userfaultfd,
	                    O_CLOEXEC | O_NONBLOCK | (is_user_mode ? UFFD_USER_MODE_ONLY : 0));
}

/* An API handshake per descriptor: the first asks what there is. */
static uint64_t available(bool is_user_mode)
{
	struct uffdio_api api = {.api = UFFD_API};
	int fd = open_fd(is_user_mode);
	bool is_known = fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0;

	if (fd >= 0)
		close(fd);
	return is_known ? api.features : 0;
}

int uffd_open(struct uffd *uffd, bool is_user_mode, uint64_t page_bytes)
{
	struct uffdio_api api = {.api = UFFD_API};

	uffd->page_bytes = page_bytes;
	uffd->serves_kernel = !is_user_mode;
	uffd->fd = open_fd(is_user_mode);
	if (uffd->fd < 0 && errno == EPERM && !is_user_mode) {
		uffd->serves_kernel = false;
		uffd->fd = open_fd(true);
	}
	if (uffd->fd < 0)
		return -errno;
	uffd->features = available(!uffd->serves_kernel) & WANTED;
	api.features = uffd->features;
	if (ioctl(uffd->fd, UFFDIO_API, &api) != 0) {
		int error = -errno;

		close(uffd->fd);
		return error;
	}
	uffd->has_protect = (uffd->features & UFFD_FEATURE_PAGEFAULT_FLAG_WP) != 0;
	uffd->has_tid = (uffd->features & UFFD_FEATURE_THREAD_ID) != 0;
	return 0;
}

int uffd_register(const struct uffd *uffd, uint64_t base, uint64_t bytes)
{
	struct uffdio_register r = {.range = {base, bytes}, .mode = UFFDIO_REGISTER_MODE_MISSING};

	if (uffd->has_protect)
		r.mode |= UFFDIO_REGISTER_MODE_WP;
	return ioctl(uffd->fd, UFFDIO_REGISTER, &r) == 0 ? 0 : -errno;
}

void uffd_unregister(const struct uffd *uffd, uint64_t base, uint64_t bytes)
{
	struct uffdio_range range = {base, bytes};

	ioctl(uffd->fd, UFFDIO_UNREGISTER, &range);
}

/* Both calls may stop on the way, at a page that is there already or because the address space is changing;
 * how far they came is in `done`. */
static int go_on(int64_t done, uint64_t *at, uint64_t *left, uint64_t page_bytes)
{
	if (done > 0) {
		*at += (uint64_t)done;
		*left -= (uint64_t)done;
		return 0;
	}
	if (done == -EAGAIN)
		return 0;
	if (done != -EEXIST)
		return (int)done;
	*at += page_bytes;
	*left -= page_bytes;
	return 0;
}

int uffd_copy(const struct uffd *uffd, uint64_t to, const void *from, uint64_t bytes, bool protects)
{
	uint64_t at = 0, left = bytes;
	int error = 0;

	while (left != 0 && error == 0) {
		struct uffdio_copy copy = {.dst = to + at,
		                           .src = (uint64_t)(uintptr_t)from + at,
		                           .len = left,
		                           .mode = UFFDIO_COPY_MODE_DONTWAKE};

		if (protects && uffd->has_protect)
			copy.mode |= UFFDIO_COPY_MODE_WP;
		if (ioctl(uffd->fd, UFFDIO_COPY, &copy) == 0)
			return 0;
		error = go_on(copy.copy != 0 ? copy.copy : -errno, &at, &left, UVMP_STORE_PAGE_BYTES);
	}
	return error;
}

int uffd_zero(const struct uffd *uffd, uint64_t start, uint64_t bytes)
{
	uint64_t at = start, left = bytes;
	int error = 0;

	while (left != 0 && error == 0) {
		struct uffdio_zeropage zero = {.range = {at, left}, .mode = UFFDIO_ZEROPAGE_MODE_DONTWAKE};

		if (ioctl(uffd->fd, UFFDIO_ZEROPAGE, &zero) == 0)
			return 0;
		error = go_on(zero.zeropage != 0 ? zero.zeropage : -errno, &at, &left, UVMP_STORE_PAGE_BYTES);
	}
	return error;
}

bool uffd_fill(const struct uffd *uffd, uint64_t start, uint64_t bytes)
{
	bool was_missing = false;

	for (uint64_t at = start; at < start + bytes; at += UVMP_STORE_PAGE_BYTES) {
		struct uffdio_zeropage zero = {.range = {at, UVMP_STORE_PAGE_BYTES},
		                               .mode = UFFDIO_ZEROPAGE_MODE_DONTWAKE};

		if (ioctl(uffd->fd, UFFDIO_ZEROPAGE, &zero) == 0)
			was_missing = true;
	}
	return was_missing;
}

int uffd_protect(const struct uffd *uffd, uint64_t at, uint64_t bytes, bool protects)
{
	struct uffdio_writeprotect protect = {.range = {at, bytes},
	                                      .mode = protects ? UFFDIO_WRITEPROTECT_MODE_WP
	                                                       : UFFDIO_WRITEPROTECT_MODE_DONTWAKE};
	int result;

	if (!uffd->has_protect)
		return 0;
	do
		result = ioctl(uffd->fd, UFFDIO_WRITEPROTECT, &protect);
	while (result != 0 && errno == EAGAIN);
	return result == 0 ? 0 : -errno;
}

void uffd_wake(const struct uffd *uffd, uint64_t at, uint64_t bytes)
{
	struct uffdio_range range = {at, bytes};

	ioctl(uffd->fd, UFFDIO_WAKE, &range);
}
