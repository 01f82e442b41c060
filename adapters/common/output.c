/* Files that are replaced when their new content is complete; output.h. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "say.h"

#define LINKS_MOST    40
#define ATTEMPTS_MOST 100
#define BASE_MOST     200u /* bytes of a name that are kept beside the file */

/* A regular file: its own numbers; one that does not exist: those of its folder, and its name. */
struct identity {
	dev_t device;
	ino_t inode;
	char name[NAME_MAX + 1];
};

struct entry {
	struct identity identity;
	const struct output *output; /* NULL: an input */
	char *label;
};

struct output {
	const char *option, *path;
	char *target; /* the path without links in its last part */
	char *beside; /* NULL: nothing is written beside the target */
	FILE *file;
	int fd;		/* of the file beside, until there is a stream; -1: none */
	int descriptor; /* that the path names; -1: none */
	bool is_direct, is_copied;
};

static struct entry *entries;
static size_t entry_count;

/* -- standard files -- */

bool output_begin_standard(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) != -1)
			continue;
		if (open("/dev/null", O_RDWR) != fd)
			return false;
		if (fd == STDOUT_FILENO) {
			say_error("standard output is closed");
			return false;
		}
	}
	return true;
}

bool output_flush_standard(void)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	say_error("standard output: %s", errno != 0 ? strerror(errno) : "write error");
	return false;
}

static bool refuse(const struct output *o, const char *why)
{
	say_error("%s %s: %s", o->option, o->path, why);
	return false;
}

/* -- paths -- */

/* The descriptor that a path names. */
static int descriptor_of(const char *path)
{
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
	char *end;

	if (strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		size_t length = strlen(folders[i]);
		long number;

		if (strncmp(path, folders[i], length) != 0 || path[length] < '0' || path[length] > '9')
			continue;
		number = strtol(path + length, &end, 10);
		if (*end == '\0' && number <= INT_MAX)
			return (int)number;
	}
	return -1;
}

/* The length of the path's folder with its last slash; 0: the working folder. */
static size_t folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1u : 0;
}

/* Replaces the last part of `path`, which it frees. */
static char *follow(char *path, const char *link)
{
	char *all = NULL;

	if (asprintf(&all, "%.*s%s", link[0] == '/' ? 0 : (int)folder_length(path), path, link) < 0)
		all = NULL;
	free(path);
	return all;
}

static char *resolve(const char *path)
{
	char *at = strdup(path);

	for (int i = 0; at && i < LINKS_MOST; i++) {
		char link[PATH_MAX];
		ssize_t length = readlink(at, link, sizeof(link) - 1u);

		if (length < 0)
			break;
		link[length] = '\0';
		at = follow(at, link);
	}
	return at;
}

/* False: not a regular file, or not to be found. */
static bool identify(const char *path, struct identity *identity)
{
	size_t length = folder_length(path);
	struct stat info;
	char *folder;
	bool is_found;

	memset(identity, 0, sizeof(*identity));
	is_found = stat(path, &info) == 0;
	if (!is_found && errno == ENOENT && strlen(path + length) <= NAME_MAX) {
		folder = length != 0 ? strndup(path, length) : strdup(".");
		is_found = folder && stat(folder, &info) == 0;
		free(folder);
		memcpy(identity->name, path + length, strlen(path + length));
	} else {
		is_found = is_found && S_ISREG(info.st_mode);
	}
	if (!is_found)
		return false;
	identity->device = info.st_dev;
	identity->inode = info.st_ino;
	return true;
}

static bool identify_descriptor(int fd, struct identity *identity)
{
	struct stat info;

	memset(identity, 0, sizeof(*identity));
	if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
		return false;
	identity->device = info.st_dev;
	identity->inode = info.st_ino;
	return true;
}

static bool is_same(const struct identity *a, const struct identity *b)
{
	return a->device == b->device && a->inode == b->inode && strcmp(a->name, b->name) == 0;
}

/* -- conflicts -- */

static bool add_entry(const struct identity *identity, const struct output *output, const char *option, const char *path)
{
	char *label = NULL;
	struct entry *all;

	for (size_t i = 0; i < entry_count; i++)
		if (!output && !entries[i].output && is_same(&entries[i].identity, identity))
			return true;
	all = reallocarray(entries, entry_count + 1u, sizeof(*entries));
	if (!all)
		return false;
	entries = all;
	if (asprintf(&label, "%s%s%s", option ? option : "", option ? " " : "", path) < 0)
		return false;
	entries[entry_count++] = (struct entry){*identity, output, label};
	return true;
}

static void drop_entry(const struct output *output)
{
	for (size_t i = 0; i < entry_count; i++) {
		if (entries[i].output != output)
			continue;
		free(entries[i].label);
		entries[i] = entries[--entry_count];
		break;
	}
	if (entry_count == 0) {
		free(entries);
		entries = NULL;
	}
}

/* The redirected standard output or standard error, unless the path names it as such. */
static const char *redirection(const struct identity *identity, int named)
{
	struct identity other;

	if (named != STDOUT_FILENO && identify_descriptor(STDOUT_FILENO, &other) && is_same(identity, &other))
		return "standard output";
	if (named != STDERR_FILENO && identify_descriptor(STDERR_FILENO, &other) && is_same(identity, &other))
		return "standard error";
	return NULL;
}

static bool identify_input(const char *path, struct identity *identity)
{
	if (strcmp(path, "-") == 0)
		return identify_descriptor(STDIN_FILENO, identity);
	return identify(path, identity) && identity->name[0] == '\0';
}

void output_protect(const char *option, const char *path)
{
	struct identity identity;

	if (identify_input(path, &identity))
		(void)add_entry(&identity, NULL, option, path);
}

bool output_reads(const char *option, const char *path)
{
	struct identity identity;
	const char *written;

	if (!identify_input(path, &identity)) /* opening it says what is wrong */
		return true;
	written = redirection(&identity, -1);
	for (size_t i = 0; i < entry_count && !written; i++)
		if (entries[i].output && is_same(&entries[i].identity, &identity))
			written = entries[i].label;
	if (written) {
		say_error("%s%s%s: is an input, and also the file of %.300s; name another file", option ? option : "",
			  option ? " " : "", path, written);
		return false;
	}
	(void)add_entry(&identity, NULL, option, path);
	return true;
}

static bool check_conflicts(const struct output *o, const struct identity *identity)
{
	const char *also = redirection(identity, o->descriptor);
	char text[PATH_MAX + 128];

	for (size_t i = 0; i < entry_count && !also; i++) {
		if (!is_same(&entries[i].identity, identity))
			continue;
		snprintf(text, sizeof(text), entries[i].output ? "is also the file of %.300s; name another file"
							       : "is an input (%.300s); name another file",
			 entries[i].label);
		return refuse(o, text);
	}
	if (!also)
		return true;
	snprintf(text, sizeof(text), "is also the file of %s; name another file", also);
	return refuse(o, text);
}

/* -- claiming -- */

/* A path without a name that could be replaced, such as /proc/PID/fd/3, is written directly. */
static bool find_target(struct output *o)
{
	struct stat info, target;
	bool is_found = o->descriptor < 0 ? stat(o->path, &info) == 0 : fstat(o->descriptor, &info) == 0;

	o->target = resolve(o->path);
	if (!o->target)
		return refuse(o, strerror(ENOMEM));
	if (o->descriptor >= 0)
		o->is_direct = true;
	else if (is_found)
		o->is_direct = !S_ISREG(info.st_mode) || stat(o->target, &target) != 0 ||
			       target.st_dev != info.st_dev || target.st_ino != info.st_ino;
	if (is_found && S_ISDIR(info.st_mode))
		return refuse(o, strerror(EISDIR));
	return true;
}

static bool check_access(const struct output *o)
{
	size_t length = folder_length(o->target);
	char *folder = length != 0 ? strndup(o->target, length) : strdup(".");
	bool is_good;

	if (o->descriptor >= 0)
		is_good = fcntl(o->descriptor, F_GETFL) >= 0;
	else
		is_good = access(o->target, W_OK) == 0 || (o->is_direct && access(o->path, W_OK) == 0) ||
			  (errno == ENOENT && o->target[length] != '\0' && folder && access(folder, W_OK | X_OK) == 0);
	free(folder);
	return is_good || refuse(o, strerror(errno));
}

static void free_output(struct output *o)
{
	drop_entry(o);
	if (o->fd >= 0)
		close(o->fd);
	free(o->target);
	free(o->beside);
	free(o);
}

struct output *output_claim(const char *option, const char *path)
{
	struct output *o = calloc(1, sizeof(*o));
	struct identity identity;
	bool is_file;

	if (!o) {
		say_error("out of memory");
		return NULL;
	}
	*o = (struct output){.option = option, .path = path, .fd = -1, .descriptor = descriptor_of(path)};
	if (find_target(o)) {
		is_file = o->descriptor >= 0 ? identify_descriptor(o->descriptor, &identity) : identify(o->target, &identity);
		if (!is_file && check_access(o))
			return o;
		if (is_file && check_conflicts(o, &identity) && check_access(o)) {
			if (add_entry(&identity, o, option, path))
				return o;
			say_error("out of memory");
		}
	}
	free_output(o);
	return NULL;
}

/* -- writing -- */

/* A new file in the folder, of the first `length` bytes of `folder`. */
static int create_in(struct output *o, const char *folder, size_t length)
{
	const char *base = o->target + folder_length(o->target);
	size_t bytes = strlen(base);
	int fd = -1;

	base += bytes > BASE_MOST ? bytes - BASE_MOST : 0;
	errno = EEXIST;
	for (int i = 0; fd < 0 && errno == EEXIST && i < ATTEMPTS_MOST; i++) {
		char more[16] = "";

		if (i > 0)
			snprintf(more, sizeof(more), "-%d", i);
		free(o->beside);
		if (asprintf(&o->beside, "%.*s%snew.%ld%s.%s", (int)length, folder,
			     length != 0 && folder[length - 1u] != '/' ? "/" : "", (long)getpid(), more, base) < 0) {
			o->beside = NULL;
			errno = ENOMEM;
			return -1;
		}
		fd = open(o->beside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	}
	if (fd < 0) {
		free(o->beside);
		o->beside = NULL;
	}
	return fd;
}

/* For a file that may be written in a folder that may not: creates the new content in TMPDIR; publish copies it. */
static int create_elsewhere(struct output *o)
{
	const char *folder = getenv("TMPDIR");
	int error = errno, fd;

	folder = folder && *folder ? folder : "/tmp";
	fd = create_in(o, folder, strlen(folder));
	errno = fd < 0 ? error : errno;
	return fd;
}

/* Gives the new file the mode of the old one. If links or owner would be lost, publish copies instead of renaming. */
static void keep_nature(struct output *o, const struct stat *before)
{
	struct stat now;

	(void)fchmod(o->fd, before->st_mode & 07777);
	o->is_copied = fstat(o->fd, &now) != 0 || before->st_nlink > 1 || before->st_uid != now.st_uid ||
		       before->st_gid != now.st_gid;
}

bool output_begin(struct output *o)
{
	struct stat before;
	bool has_file;

	if (o->is_direct || o->beside)
		return true;
	has_file = stat(o->target, &before) == 0;
	o->fd = create_in(o, o->target, folder_length(o->target));
	if (o->fd < 0 && has_file)
		o->fd = create_elsewhere(o);
	if (o->fd < 0)
		return refuse(o, strerror(errno));
	if (has_file)
		keep_nature(o, &before);
	return true;
}

FILE *output_stream(struct output *o)
{
	int fd = o->fd;

	if (o->file)
		return o->file;
	if (o->descriptor >= 0)
		fd = fcntl(o->descriptor, F_DUPFD_CLOEXEC, 0);
	else if (o->is_direct)
		fd = open(o->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd >= 0)
		o->file = fdopen(fd, "w");
	if (!o->file) {
		(void)refuse(o, strerror(errno));
		if (fd >= 0)
			close(fd);
	}
	o->fd = -1;
	return o->file;
}

struct output *output_open(const char *option, const char *path, FILE **stream)
{
	struct output *o = output_claim(option, path);

	*stream = o && output_begin(o) ? output_stream(o) : NULL;
	if (*stream)
		return o;
	output_close(o, OUTPUT_DISCARD);
	return NULL;
}

bool output_sync(struct output *o)
{
	if (fflush(o->file) != 0 || !o->beside || fsync(fileno(o->file)) == 0)
		return true;
	return refuse(o, strerror(errno));
}

const char *output_place(const struct output *o)
{
	return o->beside ? o->beside : o->path;
}

bool output_is_beside(const struct output *o)
{
	return o->beside != NULL;
}

/* -- closing -- */

/* Closes the stream. Returns 0 or an errno. */
static int end_stream(struct output *o)
{
	bool is_bad = o->file && ferror(o->file);
	int error = 0;

	if (o->file && fclose(o->file) != 0)
		is_bad = true;
	if (is_bad)
		error = errno != 0 ? errno : EIO;
	o->file = NULL;
	return error;
}

static bool copy_bytes(int from, int to)
{
	char buffer[65536];
	ssize_t got, put;

	while ((got = read(from, buffer, sizeof(buffer))) > 0) {
		for (ssize_t done = 0; done < got; done += put) {
			put = write(to, buffer + done, (size_t)(got - done));
			if (put <= 0)
				return false;
		}
	}
	return got == 0;
}

static bool copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out = -1;
	bool is_good = false;

	if (in >= 0)
		out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (out >= 0)
		is_good = copy_bytes(in, out);
	if (out >= 0 && close(out) != 0)
		is_good = false;
	if (in >= 0)
		close(in);
	return is_good;
}

/* Replaces the file by the new content. */
static bool publish(struct output *o, enum output_result result)
{
	struct stat info;

	if (result == OUTPUT_PARTIAL && access(o->target, F_OK) == 0) {
		if (stat(o->beside, &info) == 0 && info.st_size == 0) {
			unlink(o->beside);
			return true;
		}
		say_note("%s %s: stays as it was; what was written is in %s", o->option, o->path, o->beside);
		return true;
	}
	if (!o->is_copied && rename(o->beside, o->target) == 0)
		return true;
	if (copy(o->beside, o->target)) {
		unlink(o->beside);
		return true;
	}
	say_error("%s %s: %s; the whole content is in %s", o->option, o->path, strerror(errno), o->beside);
	return false;
}

bool output_close(struct output *o, enum output_result result)
{
	bool is_good = true;
	int error;

	if (!o)
		return true;
	error = end_stream(o);
	if (error != 0 && result != OUTPUT_DISCARD)
		is_good = refuse(o, strerror(error));
	if (o->beside && (!is_good || result == OUTPUT_DISCARD))
		unlink(o->beside);
	else if (o->beside)
		is_good = publish(o, result);
	free_output(o);
	return is_good;
}
