/* Pages in a file or on a block device (store_path.c), without the page cache where possible. Forgotten
 * pages become holes of the file.
 *
 * A rewritten page keeps its place: the disk cannot be full then, and whether the old contents survive
 * another error depends on the disk. Without direct I/O, errors that the system meets later are not
 * seen. */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/fs.h>

#include "high_fd.h"
#include "store_internal.h"

#define PAGE	      UVMP_STORE_PAGE_BYTES
#define COPY_PAGES    256u
#define CLUSTER_PAGES 16u

struct file {
	struct uvmp_pager_store store;
	struct place place;
	struct held held;
	int child; /* the copy for a child while it is forked; -1: none */
};

/* -- transfers -- */

static ssize_t some(int fd, bool is_write, uint8_t *memory, uint64_t bytes, uint64_t at)
{
	return is_write ? pwrite(fd, memory, bytes, (off_t)at) : pread(fd, memory, bytes, (off_t)at);
}

/* Continues after short transfers, in whole pages, as direct I/O requires. */
static int transfer(int fd, bool is_write, uint64_t at, uint64_t bytes, uint8_t *memory)
{
	while (bytes != 0) {
		ssize_t done = some(fd, is_write, memory, bytes, at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		done -= done % (ssize_t)PAGE;
		if (done == 0)
			return is_write ? -ENOSPC : -EIO;
		memory += done;
		at += (uint64_t)done;
		bytes -= (uint64_t)done;
	}
	return 0;
}

static int write_all(int fd, uint64_t at, uint64_t bytes, uint8_t *memory)
{
	sigset_t before;
	int error;

	hold_too_large(&before);
	error = transfer(fd, true, at, bytes, memory);
	release_too_large(&before, error == -EFBIG);
	return error;
}

static uint64_t byte_of(const struct file *file, uint64_t page)
{
	return file->place.start + page * PAGE;
}

static int read_pages(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, void *to)
{
	struct file *file = (struct file *)store;

	if (!held_has(&file->held, page, pages))
		return -EIO;
	return transfer(file->place.fd, false, byte_of(file, page), pages * PAGE, to);
}

static int write_pages(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, const void *from)
{
	struct file *file = (struct file *)store;
	uint8_t *memory = NULL;
	int error;

	memcpy(&memory, &from, sizeof(memory)); /* pwrite does not change it */
	error = write_all(file->place.fd, byte_of(file, page), pages * PAGE, memory);
	if (error == 0)
		held_add(&file->held, page, pages);
	return error;
}

/* Without support for holes the file keeps its size. Also for pages of a failed write. */
static void forget(struct uvmp_pager_store *store, uint64_t page, uint64_t pages)
{
	struct file *file = (struct file *)store;

	held_remove(&file->held, page, pages);
	if (!file->place.is_device)
		(void)fallocate(file->place.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				(off_t)byte_of(file, page), (off_t)(pages * PAGE));
}

static uint64_t size(const struct uvmp_pager_store *store)
{
	return ((const struct file *)store)->held.count * PAGE;
}

/* -- fork -- */

static int copy_pages(const struct file *file, int to, uint8_t *memory)
{
	struct held_run run = held_next(&file->held, 0, COPY_PAGES);
	int error = 0;

	for (; run.first != run.end && error == 0; run = held_next(&file->held, run.end, COPY_PAGES)) {
		uint64_t bytes = (run.end - run.first) * PAGE;

		error = transfer(file->place.fd, false, byte_of(file, run.first), bytes, memory);
		if (error == 0)
			error = write_all(to, byte_of(file, run.first), bytes, memory);
	}
	return error;
}

/* Copies on write if the file system supports it. */
static int copy_file(const struct file *file, int to)
{
	uint8_t *memory;
	int error;

	if (ioctl(to, FICLONE, file->place.fd) == 0)
		return 0;
	memory = mmap(NULL, COPY_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	error = copy_pages(file, to, memory);
	munmap(memory, COPY_PAGES * PAGE);
	return error;
}

/* A device cannot hold a second copy. */
static int copy_for_child(struct file *file)
{
	int copy, error;

	if (file->place.is_device)
		return -ENOTSUP;
	copy = place_open_beside(&file->place);
	if (copy < 0)
		return copy;
	error = copy_file(file, copy);
	if (error != 0)
		close(copy);
	else
		file->child = copy;
	return error;
}

static int fork_file(struct uvmp_pager_store *store, enum uvmp_store_fork stage)
{
	struct file *file = (struct file *)store;
	int copy = file->child;

	if (stage == UVMP_STORE_BEFORE_FORK)
		return copy_for_child(file);
	file->child = -1;
	if (stage == UVMP_STORE_PARENT) {
		if (copy >= 0)
			close(copy);
		return 0;
	}
	close(file->place.fd);
	file->place.fd = store->fd = high_fd(copy);
	return copy >= 0 ? 0 : -EBUSY;
}

/* -- */

static void close_file(struct uvmp_pager_store *store)
{
	struct file *file = (struct file *)store;

	if (file->place.fd >= 0)
		close(file->place.fd);
	held_close(&file->held);
	free(file);
}

struct uvmp_pager_store *uvmp_store_file(const char *path, uint64_t pages, int *error, char *text,
					 size_t text_bytes)
{
	struct file *file = calloc(1, sizeof(*file));

	*error = -ENOMEM;
	if (!file)
		return NULL;
	file->place.fd = file->child = -1;
	*error = held_open(&file->held, pages);
	if (*error == 0)
		*error = place_open(&file->place, path, pages, (struct text){text, text_bytes});
	if (*error != 0) {
		close_file(&file->store);
		return NULL;
	}
	file->place.fd = high_fd(file->place.fd);
	file->store = (struct uvmp_pager_store){.read = read_pages,
						.write = write_pages,
						.forget = forget,
						.fork = fork_file,
						.size = size,
						.close = close_file,
						.is_parallel = true,
						.cluster_pages = CLUSTER_PAGES,
						.fd = file->place.fd};
	return &file->store;
}
