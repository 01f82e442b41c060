/* The file of a database. SQLite opens files by their names, so what has no name, or is compressed, is copied to a temporary
 * file. A file that is shorter than its head says has been cut off. */
#include "import/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_BYTES 100u /* of the file */

static uint32_t big_endian(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* So many bytes the file should have; 0: its head does not say. */
static uint64_t stated_bytes(const unsigned char *head)
{
	uint32_t page = (uint32_t)head[16] << 8 | head[17];

	if (big_endian(head + 24) != big_endian(head + 92))
		return 0;
	return (uint64_t)(page == 1 ? 65536u : page) * big_endian(head + 28);
}

static bool check_head(struct import *import, const unsigned char *head, size_t length)
{
	static const char magic[16] = "SQLite format 3";

	if (length == 0)
		return import_bad(import, "is empty");
	if (length < sizeof(magic) || memcmp(head, magic, sizeof(magic)) != 0)
		return import_bad(import,
				  "is no SQLite database; write one with `nsys export --type sqlite`");
	return length == HEAD_BYTES ||
	       import_bad(import, "is cut off: the head of an SQLite database has %u bytes", HEAD_BYTES);
}

static bool check_length(struct import *import, const unsigned char *head, uint64_t length)
{
	uint64_t stated = stated_bytes(head);

	return length >= stated || import_bad(import, "is cut off: it has %llu of %llu bytes",
					      (unsigned long long)length, (unsigned long long)stated);
}

/* Is the name in hand that of the very file that is read, uncompressed? */
static bool is_plain_file(const struct import *import, const unsigned char *head, uint64_t *length)
{
	struct stat named, opened;
	unsigned char first[HEAD_BYTES];

	if (fileno(import->in) < 0 || fstat(fileno(import->in), &opened) != 0 ||
	    stat(import->name, &named) != 0)
		return false;
	*length = (uint64_t)opened.st_size;
	return S_ISREG(opened.st_mode) && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino &&
	       pread(fileno(import->in), first, sizeof(first), 0) == (ssize_t)sizeof(first) &&
	       memcmp(first, head, sizeof(first)) == 0;
}

/* Copies the head and the rest to a temporary file, whose path is filled. Returns its length; 0: the error is filled. */
static uint64_t copy_input(struct import *import, const unsigned char *head, char path[DATABASE_PATH_MAX])
{
	const char *folder = getenv("TMPDIR"), *problem;
	FILE *in = import_view_file(import->view), *out;
	uint64_t length = HEAD_BYTES;
	char buffer[16384];
	size_t got;
	int fd;

	snprintf(path, DATABASE_PATH_MAX, "%.4000s/uvmsim-XXXXXX", folder ? folder : "/tmp");
	fd = mkstemp(path);
	out = fd < 0 ? NULL : fdopen(fd, "wb");
	if (!out) {
		import_bad(import, "cannot be kept in a temporary file: %s", strerror(errno));
		path[0] = '\0';
		return 0;
	}
	fwrite(head, 1, HEAD_BYTES, out);
	while ((got = fread(buffer, 1, sizeof(buffer), in)) > 0) {
		fwrite(buffer, 1, got, out);
		length += got;
	}
	problem = import_view_problem(import->view);
	if (ferror(in))
		import_bad(import, "%s", problem ? problem : strerror(errno));
	else if (ferror(out))
		import_bad(import, "cannot be kept in a temporary file: %s", strerror(errno));
	if (fclose(out) == 0 && import->error[0] == '\0')
		return length;
	if (import->error[0] == '\0')
		import_bad(import, "cannot be kept in a temporary file: %s", strerror(errno));
	return 0;
}

bool database_file(struct import *import, char path[DATABASE_PATH_MAX], bool *is_temporary)
{
	unsigned char head[HEAD_BYTES];
	size_t got = fread(head, 1, sizeof(head), import_view_file(import->view));
	uint64_t length = 0;

	*is_temporary = false;
	if (ferror(import_view_file(import->view)))
		return import_bad(import, "%s",
				  import_view_problem(import->view) ? import_view_problem(import->view)
								    : strerror(errno));
	if (!check_head(import, head, got))
		return false;
	if (is_plain_file(import, head, &length)) {
		snprintf(path, DATABASE_PATH_MAX, "%.4095s", import->name);
		return check_length(import, head, length);
	}
	length = copy_input(import, head, path);
	*is_temporary = length > 0 && check_length(import, head, length);
	if (!*is_temporary && path[0] != '\0')
		unlink(path);
	return *is_temporary;
}
