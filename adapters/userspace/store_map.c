/* Pages in a memory file that managed memory is a mapping of: resident pages are mapped, others are
 * only in the file. Nothing is copied and no memory is saved: this store is a cheap way to get the
 * trace and the decisions of a program.
 *
 * The file consists of whole pages and holes; a hole is a page that was never touched, or was cleared. */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "high_fd.h"

struct map {
	struct uvmp_pager_store store;
	int child; /* the copy for a child while it is forked; -1: none */
};

/* The pager reads and writes by mapping; these are for other users of the store. */
static int read_pages(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, void *to)
{
	size_t bytes = pages * UVMP_STORE_PAGE_BYTES;

	return pread(store->fd, to, bytes, (off_t)(page * UVMP_STORE_PAGE_BYTES)) == (ssize_t)bytes ? 0
												    : -EIO;
}

static int write_pages(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, const void *from)
{
	size_t bytes = pages * UVMP_STORE_PAGE_BYTES;
	ssize_t done = pwrite(store->fd, from, bytes, (off_t)(page * UVMP_STORE_PAGE_BYTES));

	if (done < 0)
		return -errno;
	return done == (ssize_t)bytes ? 0 : -ENOSPC;
}

static void forget(struct uvmp_pager_store *store, uint64_t page, uint64_t pages)
{
	(void)fallocate(store->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			(off_t)(page * UVMP_STORE_PAGE_BYTES), (off_t)(pages * UVMP_STORE_PAGE_BYTES));
}

static uint64_t size(const struct uvmp_pager_store *store)
{
	struct stat stat;

	return fstat(store->fd, &stat) == 0 ? (uint64_t)stat.st_blocks * 512u : 0;
}

static int make_file(off_t bytes)
{
	int fd = high_fd(memfd_create("uvmp-pager", MFD_CLOEXEC));
	int error;

	if (fd >= 0 && ftruncate(fd, bytes) == 0)
		return fd;
	error = -errno;
	if (fd >= 0)
		close(fd);
	return error;
}

/* -- fork -- */

static int copy_run(int from, int to, off_t at, off_t end)
{
	if (lseek(to, at, SEEK_SET) < 0)
		return -errno;
	while (at < end) {
		ssize_t done = sendfile(to, from, &at, (size_t)(end - at));

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
	}
	return 0;
}

/* Copies only pages with contents. */
static int copy_file(int from, int to)
{
	off_t at = 0;
	int error = 0;

	while (error == 0 && (at = lseek(from, at, SEEK_DATA)) >= 0) {
		off_t hole = lseek(from, at, SEEK_HOLE);

		error = hole < 0 ? -errno : copy_run(from, to, at, hole);
		at = hole;
	}
	if (error == 0 && errno != ENXIO)
		error = -errno;
	return error;
}

static int copy_for_child(struct map *map)
{
	struct stat stat;
	int error;

	if (fstat(map->store.fd, &stat) != 0)
		return -errno;
	map->child = make_file(stat.st_size);
	if (map->child < 0)
		return map->child;
	error = copy_file(map->store.fd, map->child);
	if (error != 0) {
		close(map->child);
		map->child = -1;
	}
	return error;
}

static int fork_map(struct uvmp_pager_store *store, enum uvmp_store_fork stage)
{
	struct map *map = (struct map *)store;

	if (stage == UVMP_STORE_BEFORE_FORK)
		return copy_for_child(map);
	if (stage == UVMP_STORE_CHILD) { /* the file is the parent's, even without a copy */
		close(store->fd);
		store->fd = map->child;
		map->child = -1;
		return store->fd < 0 ? -EBUSY : 0;
	}
	if (map->child >= 0)
		close(map->child);
	map->child = -1;
	return 0;
}

/* -- opening -- */

static void close_map(struct uvmp_pager_store *store)
{
	if (store->fd >= 0)
		close(store->fd);
	free(store);
}

struct uvmp_pager_store *uvmp_store_map(uint64_t pages, int *error)
{
	struct map *map = calloc(1, sizeof(*map));
	int fd;

	*error = -ENOMEM;
	if (!map)
		return NULL;
	fd = make_file((off_t)(pages * UVMP_STORE_PAGE_BYTES));
	if (fd < 0) {
		*error = fd;
		free(map);
		return NULL;
	}
	map->child = -1;
	map->store = (struct uvmp_pager_store){.read = read_pages,
					       .write = write_pages,
					       .forget = forget,
					       .fork = fork_map,
					       .size = size,
					       .close = close_map,
					       .is_parallel = true,
					       .is_mapped = true,
					       .fd = fd};
	return &map->store;
}
