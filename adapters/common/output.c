/* Files that are replaced when their new content is complete; output.h. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output_conflicts.h"
#include "output_path.h"
#include "say.h"

#define ATTEMPTS_MOST 100
#define BASE_MOST     200u /* bytes of a name that are kept beside the file */

struct output {
	const char *option, *path;
	char *target; /* the path without links in its last part */
	char *beside; /* NULL: nothing is written beside the target */
	FILE *file;
	int fd;		/* of the file beside, until there is a stream; -1: none */
	int descriptor; /* that the path names; -1: none */
	bool is_direct, is_copied;
	pid_t process;		      /* that writes beside the target, and may remove the file there */
	struct output *_Atomic next; /* that is unfinished */
};

/* The outputs with a file beside their targets. A signal handler may walk the list at any time. */
static struct output *_Atomic unfinished;

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

/* SIGPIPE had its default action. */
static bool ends_by_pipe;

void output_ignore_pipe(void)
{
	const struct sigaction ignored = {.sa_handler = SIG_IGN};
	struct sigaction before;

	ends_by_pipe = sigaction(SIGPIPE, &ignored, &before) == 0 && before.sa_handler == SIG_DFL;
}

bool output_is_abandoned(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
	struct stat info;

	return ends_by_pipe && fstat(out.fd, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)) &&
	       poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

int output_end(int status)
{
	if (ferror(stdout) && output_is_abandoned()) {
		signal(SIGPIPE, SIG_DFL);
		raise(SIGPIPE);
	}
	return status;
}

bool output_flush_standard(void)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	if (output_is_abandoned())
		return false;
	say_error("standard output: %s", errno != 0 ? strerror(errno) : "write error");
	return false;
}

static bool refuse(const struct output *o, const char *why)
{
	say_error("%s %s: %s", o->option, o->path, why);
	return false;
}

/* -- claiming -- */

/* A path without a name that could be replaced, such as /proc/PID/fd/3, is written directly. */
static bool find_target(struct output *o)
{
	struct stat info, target;
	bool is_found = o->descriptor < 0 ? stat(o->path, &info) == 0 : fstat(o->descriptor, &info) == 0;

	o->target = output_path_resolve(o->path);
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
	size_t length = output_path_folder_length(o->target);
	char *folder = output_path_folder(o->target);
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
	output_conflicts_remove(o);
	if (o->fd >= 0)
		close(o->fd);
	free(o->target);
	free(o->beside);
	free(o);
}

struct output *output_claim(const char *option, const char *path)
{
	struct output *o = calloc(1, sizeof(*o));

	if (!o) {
		say_error("out of memory");
		return NULL;
	}
	*o = (struct output){.option = option, .path = path, .fd = -1, .descriptor = output_path_descriptor(path)};
	if (find_target(o) && output_conflicts_add(o, option, path, o->target, o->descriptor) && check_access(o))
		return o;
	free_output(o);
	return NULL;
}

/* -- writing -- */

/* A new file in the folder, of the first `length` bytes of `folder`. */
static int create_in(struct output *o, const char *folder, size_t length)
{
	const char *base = o->target + output_path_folder_length(o->target);
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

static void add_unfinished(struct output *o)
{
	o->process = getpid();
	o->next = unfinished;
	unfinished = o;
}

static void drop_unfinished(const struct output *o)
{
	struct output *_Atomic *at = &unfinished;

	while (*at && *at != o)
		at = &(*at)->next;
	if (*at)
		*at = o->next;
}

void output_remove_unfinished(void)
{
	for (const struct output *o = unfinished; o; o = o->next)
		if (o->process == getpid())
			unlink(o->beside);
}

bool output_begin(struct output *o)
{
	struct stat before;
	bool has_file;

	if (o->is_direct || o->beside)
		return true;
	has_file = stat(o->target, &before) == 0;
	o->fd = create_in(o, o->target, output_path_folder_length(o->target));
	if (o->fd < 0 && has_file)
		o->fd = create_elsewhere(o);
	if (o->fd < 0)
		return refuse(o, strerror(errno));
	add_unfinished(o);
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
	drop_unfinished(o);
	if (error != 0 && result != OUTPUT_DISCARD)
		is_good = refuse(o, strerror(error));
	if (o->beside && (!is_good || result == OUTPUT_DISCARD))
		unlink(o->beside);
	else if (o->beside)
		is_good = publish(o, result);
	free_output(o);
	return is_good;
}
