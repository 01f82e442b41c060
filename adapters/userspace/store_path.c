/* The path of a store, and whether it may be used: nothing with contents is overwritten.
 *
 *   a directory      an unnamed file is made in it
 *   no file yet      it is made, and unlinked at once, so that it disappears however the program ends
 *   an empty file    likewise
 *   a block device   if it is not in use, and its first MiB holds zeros or our mark. Pages begin after that
 *
 * Direct I/O is tried once. */
#include "store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <linux/fs.h>

#include "store.h"

#define HEAD_BYTES  ((uint64_t)1 << 20)
#define BLOCK_BYTES ((uint64_t)2 << 20) /* a VABlock */

static const char mark[] = "uvmp-store 1\n";

int text_refuse(struct text text, int error, const char *format, ...)
{
	va_list arguments;

	if (text.bytes == 0)
		return error;
	va_start(arguments, format);
	vsnprintf(text.to, text.bytes, format, arguments);
	va_end(arguments);
	return error;
}

/* Turns on direct I/O, if the file supports it for our pages. */
static void go_direct(int fd)
{
	_Alignas(UVMP_STORE_PAGE_BYTES) uint8_t page[UVMP_STORE_PAGE_BYTES];
	int flags = fcntl(fd, F_GETFL);

	if (fcntl(fd, F_SETFL, flags | O_DIRECT) != 0)
		return;
	if (pread(fd, page, sizeof(page), 0) != (ssize_t)sizeof(page))
		fcntl(fd, F_SETFL, flags);
}

/* -- files -- */

void hold_too_large(sigset_t *before)
{
	sigset_t too_large;

	sigemptyset(&too_large);
	sigaddset(&too_large, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &too_large, before);
}

void release_too_large(const sigset_t *before, bool came)
{
	const struct timespec now = {0};
	sigset_t too_large;

	sigemptyset(&too_large);
	sigaddset(&too_large, SIGXFSZ);
	while (came && sigtimedwait(&too_large, NULL, &now) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* A limit on file sizes, of the process or of the file system, is an error only when it is reached. */
static int make_large(int fd, uint64_t pages)
{
	sigset_t before;
	int error;

	hold_too_large(&before);
	error = ftruncate(fd, (off_t)(pages * UVMP_STORE_PAGE_BYTES)) == 0 ? 0 : -errno;
	release_too_large(&before, error == -EFBIG);
	return error == -EFBIG ? 0 : error;
}

/* Not O_TMPFILE, which not every file system supports. */
static int open_in(const char *directory)
{
	char path[PATH_MAX + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/.uvmp-store-XXXXXX", directory);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

int place_open_beside(const struct place *place)
{
	struct stat stat;
	int fd = open_in(place->directory), error;

	if (fd < 0)
		return fd;
	error = fstat(place->fd, &stat) == 0 ? 0 : -errno;
	if (error == 0)
		error = make_large(fd, (uint64_t)stat.st_size / UVMP_STORE_PAGE_BYTES);
	if (error != 0) {
		close(fd);
		return error;
	}
	if ((fcntl(place->fd, F_GETFL) & O_DIRECT) != 0)
		go_direct(fd);
	return fd;
}

static int take_directory(struct place *place, const char *path, struct text text)
{
	int fd;

	if (!realpath(path, place->directory))
		return -errno;
	fd = open_in(place->directory);
	if (fd < 0)
		return text_refuse(text, fd, "%.200s: no file can be made there: %s", path, strerror(-fd));
	place->fd = fd;
	return 0;
}

/* The file belongs to the store, and loses its name. */
static int take_file(struct place *place, const char *path, struct text text)
{
	struct stat stat;
	char *slash;

	if (fstat(place->fd, &stat) != 0 || !realpath(path, place->directory))
		return -errno;
	if (!S_ISREG(stat.st_mode) || stat.st_size != 0)
		return text_refuse(text, -EEXIST, "%.200s: holds %lld bytes; only an empty file is accepted",
				    path, (long long)stat.st_size);
	if (unlink(place->directory) != 0) {
		int error = -errno;

		return text_refuse(text, error, "%.200s: cannot be removed again: %s", path,
				    strerror(-error));
	}
	slash = strrchr(place->directory, '/');
	slash[slash == place->directory] = '\0';
	return 0;
}

/* -- devices -- */

static bool is_empty(const uint8_t *head)
{
	return head[0] == 0 && memcmp(head, head + 1, HEAD_BYTES - 1u) == 0;
}

/* A device that is empty, or has our mark, gets our mark. */
static int mark_device(int fd, uint8_t *head, const char *path, struct text text)
{
	ssize_t done = pread(fd, head, HEAD_BYTES, 0);

	if (done != (ssize_t)HEAD_BYTES)
		return done < 0 ? -errno : -EIO;
	if (memcmp(head, mark, sizeof(mark)) != 0 && !is_empty(head))
		return text_refuse(text, -EEXIST,
				    "%.200s: its first MiB is not empty (a file system, a partition table?); "
				    "only a device whose first MiB holds zeros is accepted",
				    path);
	memset(head, 0, UVMP_STORE_PAGE_BYTES);
	memcpy(head, mark, sizeof(mark));
	done = pwrite(fd, head, UVMP_STORE_PAGE_BYTES, 0);
	if (done != (ssize_t)UVMP_STORE_PAGE_BYTES)
		return done < 0 ? -errno : -EIO;
	return 0;
}

static int take_device(struct place *place, const char *path, struct text text)
{
	uint64_t bytes = 0;
	uint8_t *head;
	int error;

	place->is_device = true;
	place->start = HEAD_BYTES;
	if (ioctl(place->fd, BLKGETSIZE64, &bytes) != 0)
		return -errno;
	if (bytes < HEAD_BYTES + BLOCK_BYTES)
		return text_refuse(text, -ENOSPC, "%.200s: the device has %llu bytes; 3 MiB and more", path,
				    (unsigned long long)bytes);
	go_direct(place->fd);
	head = mmap(NULL, HEAD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (head == MAP_FAILED)
		return -ENOMEM;
	error = mark_device(place->fd, head, path, text);
	munmap(head, HEAD_BYTES);
	return error;
}

/* -- kinds of paths -- */

/* Opening some devices has effects, so the path is checked before. */
static int take_path(struct place *place, const char *path, struct text text)
{
	struct stat stat_of_path;
	bool is_there = stat(path, &stat_of_path) == 0;
	bool is_device = is_there && S_ISBLK(stat_of_path.st_mode);
	int flags = is_there ? 0 : O_CREAT | O_EXCL;

	if (!is_there && errno != ENOENT)
		return -errno;
	if (is_there && S_ISDIR(stat_of_path.st_mode))
		return take_directory(place, path, text);
	if (is_there && !is_device && !S_ISREG(stat_of_path.st_mode))
		return text_refuse(text, -EINVAL, "%.200s: not a file, directory or block device", path);
	if (is_device)
		flags = O_EXCL; /* exclusive */
	place->fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
	if (place->fd < 0 && errno == EBUSY)
		return text_refuse(text, -EBUSY, "%.200s: in use: mounted, or part of something", path);
	if (place->fd < 0 && errno == EEXIST)
		return text_refuse(text, -EEXIST, "%.200s: a link to nowhere", path);
	if (place->fd < 0)
		return -errno;
	return is_device ? take_device(place, path, text) : take_file(place, path, text);
}

int place_open(struct place *place, const char *path, uint64_t pages, struct text text)
{
	int error;

	*place = (struct place){.fd = -1};
	error = take_path(place, path, text);
	if (error == 0 && !place->is_device) {
		error = make_large(place->fd, pages);
		go_direct(place->fd);
	}
	if (error == 0)
		return 0;
	if (place->fd >= 0)
		close(place->fd);
	if (text.bytes != 0 && text.to[0] == '\0')
		text_refuse(text, error, "%.200s: %s", path, strerror(-error));
	return error;
}
