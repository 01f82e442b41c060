/* userfaultfd: features for this process, and the calls. */
#include "high_fd.h"
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

#define EVENTS	   (UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP)
#define MAPPING	   (UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MINOR_SHMEM)
#define PROTECTING UFFD_FEATURE_PAGEFAULT_FLAG_WP
#define WANTED	   (PROTECTING | UFFD_FEATURE_THREAD_ID | EVENTS | MAPPING)

static int open_fd(bool is_user_mode)
{
	return (int)syscall(SYS_userfaultfd,
			    O_CLOEXEC | O_NONBLOCK | (is_user_mode ? UFFD_USER_MODE_ONLY : 0));
}

/* A descriptor allows one API handshake: the first one queries the features. */
static int find_features(bool is_user_mode, uint64_t *features)
{
	struct uffdio_api api = {.api = UFFD_API};
	int fd = open_fd(is_user_mode), error;

	if (fd < 0)
		return -errno;
	error = ioctl(fd, UFFDIO_API, &api) == 0 ? 0 : -errno;
	close(fd);
	*features = api.features & WANTED;
	return error;
}

static int open_either(struct uffd *uffd, bool is_user_mode)
{
	uffd->serves_kernel = !is_user_mode;
	uffd->fd = open_fd(is_user_mode);
	if (uffd->fd < 0 && errno == EPERM && !is_user_mode) {
		uffd->serves_kernel = false;
		uffd->fd = open_fd(true);
	}
	uffd->fd = high_fd(uffd->fd);
	return uffd->fd < 0 ? -errno : 0;
}

int uffd_open(struct uffd *uffd, bool is_user_mode, bool is_mapped)
{
	const uint64_t needed = is_mapped ? MAPPING : PROTECTING;
	struct uffdio_api api = {.api = UFFD_API};
	int error = open_either(uffd, is_user_mode);

	if (error != 0)
		return error;
	error = find_features(!uffd->serves_kernel, &uffd->features);
	api.features = uffd->features;
	if (error == 0 && (uffd->features & needed) != needed)
		error = -ENOTSUP;
	if (error == 0 && ioctl(uffd->fd, UFFDIO_API, &api) != 0)
		error = -errno;
	if (error != 0) {
		close(uffd->fd);
		uffd->fd = -1;
		return error;
	}
	uffd->is_mapped = is_mapped;
	uffd->has_tid = (uffd->features & UFFD_FEATURE_THREAD_ID) != 0;
	uffd->has_events = (uffd->features & EVENTS) == EVENTS;
	return 0;
}

int uffd_register(const struct uffd *uffd, uint64_t base, uint64_t bytes)
{
	struct uffdio_register r = {.range = {base, bytes}, .mode = UFFDIO_REGISTER_MODE_MISSING};

	r.mode |= uffd->is_mapped ? UFFDIO_REGISTER_MODE_MINOR : UFFDIO_REGISTER_MODE_WP;
	return ioctl(uffd->fd, UFFDIO_REGISTER, &r) == 0 ? 0 : -errno;
}

int uffd_unregister(const struct uffd *uffd, uint64_t base, uint64_t bytes)
{
	struct uffdio_range range = {base, bytes};

	return ioctl(uffd->fd, UFFDIO_UNREGISTER, &range) == 0 ? 0 : -errno;
}

/* -- calls over a range -- */

/* One call of the kernel for [at, at + bytes): bytes done, or a negative errno. */
struct step {
	int64_t (*call)(const struct uffd *uffd, const struct step *step, uint64_t at, uint64_t bytes);
	uint64_t start;
	const uint8_t *from; /* for `start` */
	bool protects;
};

/* A call may stop at a page that is present already (left as it is), or at the end of a mapping:
 * mprotect and similar calls of the program split mappings, which are then taken page by page. */
static int over(const struct uffd *uffd, const struct step *step, uint64_t bytes)
{
	uint64_t at = step->start, end = at + bytes, most = bytes;

	while (at != end) {
		uint64_t some = most < end - at ? most : end - at;
		int64_t done = step->call(uffd, step, at, some);

		if (done == -EEXIST)
			done = UVMP_STORE_PAGE_BYTES;
		if (done == -ENOENT && some > UVMP_STORE_PAGE_BYTES) {
			most = UVMP_STORE_PAGE_BYTES;
			continue;
		}
		if (done < 0)
			return (int)done;
		at += (uint64_t)done;
	}
	return 0;
}

/* Result of a call: the kernel sets `done` if it has begun. */
static int64_t result_of(int result, uint64_t bytes, int64_t done)
{
	if (result == 0)
		return (int64_t)bytes;
	return done != 0 ? done : -errno;
}

static int64_t copy_step(const struct uffd *uffd, const struct step *step, uint64_t at, uint64_t bytes)
{
	struct uffdio_copy copy = {.dst = at,
				   .src = (uint64_t)(uintptr_t)step->from + (at - step->start),
				   .len = bytes,
				   .mode = UFFDIO_COPY_MODE_DONTWAKE};
	int result;

	if (step->protects)
		copy.mode |= UFFDIO_COPY_MODE_WP;
	result = ioctl(uffd->fd, UFFDIO_COPY, &copy);
	return result_of(result, bytes, copy.copy);
}

int uffd_copy(const struct uffd *uffd, uint64_t to, const void *from, uint64_t bytes, bool protects)
{
	struct step step = {copy_step, to, from, protects};

	return over(uffd, &step, bytes);
}

static int64_t zero_step(const struct uffd *uffd, const struct step *step, uint64_t at, uint64_t bytes)
{
	struct uffdio_zeropage zero = {.range = {at, bytes}, .mode = UFFDIO_ZEROPAGE_MODE_DONTWAKE};
	int result = ioctl(uffd->fd, UFFDIO_ZEROPAGE, &zero);

	(void)step;
	return result_of(result, bytes, zero.zeropage);
}

int uffd_zero(const struct uffd *uffd, uint64_t at, uint64_t bytes)
{
	struct step step = {zero_step, at, NULL, false};

	return over(uffd, &step, bytes);
}

static int64_t continue_step(const struct uffd *uffd, const struct step *step, uint64_t at, uint64_t bytes)
{
	struct uffdio_continue go_on = {.range = {at, bytes}, .mode = UFFDIO_CONTINUE_MODE_DONTWAKE};
	int result = ioctl(uffd->fd, UFFDIO_CONTINUE, &go_on);

	(void)step;
	return result_of(result, bytes, go_on.mapped);
}

int uffd_continue(const struct uffd *uffd, uint64_t at, uint64_t bytes)
{
	struct step step = {continue_step, at, NULL, false};

	return over(uffd, &step, bytes);
}

bool uffd_fill(const struct uffd *uffd, uint64_t start, uint64_t bytes)
{
	struct step step = {zero_step, start, NULL, false};
	bool was_missing = false;

	if (uffd->is_mapped && uffd_continue(uffd, start, bytes) == 0)
		return true;
	for (uint64_t at = start; at < start + bytes;
	     at += UVMP_STORE_PAGE_BYTES) /* a part of a page may be there */
		was_missing = zero_step(uffd, &step, at, UVMP_STORE_PAGE_BYTES) > 0 || was_missing;
	return was_missing;
}

static int64_t protect_step(const struct uffd *uffd, const struct step *step, uint64_t at, uint64_t bytes)
{
	struct uffdio_writeprotect protect = {.range = {at, bytes},
					      .mode = step->protects ? UFFDIO_WRITEPROTECT_MODE_WP
								     : UFFDIO_WRITEPROTECT_MODE_DONTWAKE};
	int result = ioctl(uffd->fd, UFFDIO_WRITEPROTECT, &protect);

	return result_of(result, bytes, 0);
}

int uffd_protect(const struct uffd *uffd, uint64_t at, uint64_t bytes, bool protects)
{
	struct step step = {protect_step, at, NULL, protects};

	return uffd->is_mapped ? 0 : over(uffd, &step, bytes);
}

void uffd_wake(const struct uffd *uffd, uint64_t at, uint64_t bytes)
{
	struct uffdio_range range = {at, bytes};

	ioctl(uffd->fd, UFFDIO_WAKE, &range);
}

/* Every call then returns EAGAIN before it reads its arguments. */
bool uffd_is_changing(const struct uffd *uffd)
{
	struct uffdio_zeropage nothing = {.mode = UFFDIO_ZEROPAGE_MODE_DONTWAKE};

	return ioctl(uffd->fd, UFFDIO_ZEROPAGE, &nothing) != 0 && errno == EAGAIN;
}
