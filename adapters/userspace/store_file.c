/* Pages in a file or on a block device, at their number times 4 KiB, past the page cache where that is
 * possible.
 *
 * file:DIRECTORY makes an unnamed file there. file:PATH makes that file, or takes an empty one, and removes
 * it at the end: a file that holds something is not ours. A block device is taken as it is. */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/fs.h>

#define COPY_BYTES ((size_t)1 << 20)

struct file {
	struct uvmp_pager_store store;
	int fd, child; /* child: the copy for a child that is being forked; -1: none */
	bool is_device, is_named;
	char path[PATH_MAX];
};

/* -- transfers -- */

static int transfer(int fd, bool is_write, uint64_t page, uint64_t pages, uint8_t *memory)
{
	uint64_t at = page * UVMP_STORE_PAGE_BYTES, left = pages * UVMP_STORE_PAGE_BYTES;

	while (left != 0) {
		ssize_t done =
		        is_write ? pwrite(fd, memory, left, (off_t)at) : pread(fd, memory, left, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno == EINVAL && (fcntl(fd, F_GETFL) & O_DIRECT) != 0 &&
		    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_DIRECT) == 0)
			continue; /* opened directly, but this file system cannot do it */
		if (done < 0)
			return -errno;
		if (done == 0)
			return is_write ? -ENOSPC : -EIO; /* short */
		memory += done;
		at += (uint64_t)done;
		left -= (uint64_t)done;
	}
	return 0;
}

static int read_pages(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, void *to)
{
	return transfer(((struct file *)store)->fd, false, page, pages, to);
}

static int write_pages(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, const void *from)
{
	uint8_t *memory = NULL;

	memcpy(&memory, &from, sizeof(memory)); /* pwrite does not change it */
	return transfer(((struct file *)store)->fd, true, page, pages, memory);
}

static void forget(struct uvmp_pager_store *store, uint64_t page, uint64_t pages)
{
	struct file *file = (struct file *)store;

	if (!file->is_device) /* where it cannot, the file stays as large as it was */
		(void)fallocate(file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		                (off_t)(page * UVMP_STORE_PAGE_BYTES),
		                (off_t)(pages * UVMP_STORE_PAGE_BYTES));
}

static uint64_t size(const struct uvmp_pager_store *store)
{
	struct stat stat;

	return fstat(((const struct file *)store)->fd, &stat) == 0 ? (uint64_t)stat.st_blocks * 512u : 0;
}

/* -- fork -- */

static int open_unnamed(const char *directory)
{
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC | O_DIRECT, 0600);

	return fd >= 0 ? fd : open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

/* A directory as it is, or the one that a file lies in. */
static void directory_of(const struct file *file, char directory[PATH_MAX])
{
	char *slash;

	memcpy(directory, file->path, PATH_MAX);
	if (!file->is_named)
		return;
	slash = strrchr(directory, '/');
	if (slash)
		slash[slash == directory] = '\0';
	else
		memcpy(directory, ".", 2);
}

static int copy_data(int from, int to, uint64_t first, uint64_t outer, uint8_t *memory)
{
	while (first < outer) {
		uint64_t pages = (outer - first) / UVMP_STORE_PAGE_BYTES;
		int error;

		if (pages > COPY_BYTES / UVMP_STORE_PAGE_BYTES)
			pages = COPY_BYTES / UVMP_STORE_PAGE_BYTES;
		error = transfer(from, false, first / UVMP_STORE_PAGE_BYTES, pages, memory);
		if (error == 0)
			error = transfer(to, true, first / UVMP_STORE_PAGE_BYTES, pages, memory);
		if (error != 0)
			return error;
		first += pages * UVMP_STORE_PAGE_BYTES;
	}
	return 0;
}

/* Only what is there, in whole pages. */
static int copy_file(int from, int to)
{
	uint8_t *memory = mmap(NULL, COPY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	off_t at = 0, end = lseek(from, 0, SEEK_END);
	int error = 0;

	if (memory == MAP_FAILED)
		return -ENOMEM;
	if (ftruncate(to, end) != 0)
		error = -errno;
	while (error == 0 && (at = lseek(from, at, SEEK_DATA)) >= 0) {
		off_t hole = lseek(from, at, SEEK_HOLE);
		uint64_t first = (uint64_t)at / UVMP_STORE_PAGE_BYTES * UVMP_STORE_PAGE_BYTES;
		uint64_t outer = ((uint64_t)hole + UVMP_STORE_PAGE_BYTES - 1u) / UVMP_STORE_PAGE_BYTES *
		                 UVMP_STORE_PAGE_BYTES;

		error = copy_data(from, to, first, outer, memory);
		at = hole;
	}
	if (error == 0 && errno != ENXIO)
		error = -errno;
	munmap(memory, COPY_BYTES);
	return error;
}

static int copy_for_child(struct file *file)
{
	char directory[PATH_MAX];
	int error;

	if (file->is_device)
		return -ENOTSUP;
	directory_of(file, directory);
	file->child = open_unnamed(directory);
	if (file->child < 0)
		return -errno;
	if (ioctl(file->child, FICLONE, file->fd) == 0)
		return 0;
	error = copy_file(file->fd, file->child);
	if (error != 0) {
		close(file->child);
		file->child = -1;
	}
	return error;
}

static int fork_file(struct uvmp_pager_store *store, enum uvmp_store_fork stage)
{
	struct file *file = (struct file *)store;
	int old = file->child;

	if (stage == UVMP_STORE_BEFORE_FORK)
		return copy_for_child(file);
	if (stage == UVMP_STORE_CHILD) {
		if (file->child < 0)
			return -EBUSY;
		old = file->fd;
		file->fd = file->child;
		file->is_named = false;
	}
	if (old >= 0)
		close(old);
	file->child = -1;
	return 0;
}

/* -- opening -- */

static void close_file(struct uvmp_pager_store *store)
{
	struct file *file = (struct file *)store;

	close(file->fd);
	if (file->is_named)
		unlink(file->path);
	free(file);
}

static int open_path(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_DIRECT, 0600);

	return fd >= 0 || errno != EINVAL ? fd : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static int take_device(int fd, uint64_t pages, char *text, size_t text_bytes)
{
	uint64_t bytes = 0;

	if (ioctl(fd, BLKGETSIZE64, &bytes) != 0)
		return -errno;
	if (bytes / UVMP_STORE_PAGE_BYTES >= pages)
		return 0;
	snprintf(text, text_bytes, "the device has %llu bytes, %llu are needed", (unsigned long long)bytes,
	         (unsigned long long)(pages * UVMP_STORE_PAGE_BYTES));
	return -ENOSPC;
}

static int take(struct file *file, uint64_t pages, char *text, size_t text_bytes)
{
	struct stat stat;

	if (fstat(file->fd, &stat) != 0)
		return -errno;
	file->is_device = S_ISBLK(stat.st_mode);
	if (file->is_device)
		return take_device(file->fd, pages, text, text_bytes);
	if (!S_ISREG(stat.st_mode)) {
		snprintf(text, text_bytes, "%.200s: not a file, directory or block device", file->path);
		return -EINVAL;
	}
	if (stat.st_size != 0) {
		snprintf(text, text_bytes, "%.200s: holds %lld bytes; only an empty file is taken",
		         file->path, (long long)stat.st_size);
		return -EEXIST;
	}
	return ftruncate(file->fd, (off_t)(pages * UVMP_STORE_PAGE_BYTES)) == 0 ? 0 : -errno;
}

struct uvmp_pager_store *uvmp_store_file(const char *path, uint64_t pages, int *error, char *text,
                                         size_t text_bytes)
{
	struct file *file = calloc(1, sizeof(*file));
	struct stat stat_of_path;

	*error = -ENOMEM;
	if (!file)
		return NULL;
	file->child = -1;
	if (strlen(path) >= sizeof(file->path)) {
		*error = -ENAMETOOLONG;
		free(file);
		return NULL;
	}
	strcpy(file->path, path);
	file->is_named = stat(path, &stat_of_path) != 0 || !S_ISDIR(stat_of_path.st_mode);
	file->fd = file->is_named ? open_path(path) : open_unnamed(path);
	*error = file->fd < 0 ? -errno : take(file, pages, text, text_bytes);
	if (*error != 0) {
		if (file->fd >= 0)
			close(file->fd);
		free(file);
		return NULL;
	}
	file->is_named = file->is_named && !file->is_device;
	file->store = (struct uvmp_pager_store){.read = read_pages,
	                                        .write = write_pages,
	                                        .forget = forget,
	                                        .fork = fork_file,
	                                        .size = size,
	                                        .close = close_file,
	                                        .is_parallel = true};
	return &file->store;
}
