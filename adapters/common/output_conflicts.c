/* The list of inputs and outputs. */
#include "output_conflicts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output_path.h"
#include "say.h"

/* A regular file: its device and inode. A file that does not exist: those of its folder, and its name. */
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

static struct entry *entries;
static size_t entry_count;

/* -- identities -- */

/* False: not a regular file, or not to be found. */
static bool identify(const char *path, struct identity *identity)
{
	const char *name = path + output_path_folder_length(path);
	struct stat info;
	char *folder;
	bool is_found;

	memset(identity, 0, sizeof(*identity));
	is_found = stat(path, &info) == 0;
	if (!is_found && errno == ENOENT && strlen(name) <= NAME_MAX) {
		folder = output_path_folder(path);
		is_found = folder && stat(folder, &info) == 0;
		free(folder);
		memcpy(identity->name, name, strlen(name));
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

static bool identify_input(const char *path, struct identity *identity)
{
	if (strcmp(path, "-") == 0)
		return identify_descriptor(STDIN_FILENO, identity);
	return identify(path, identity) && identity->name[0] == '\0';
}

static bool is_same(const struct identity *a, const struct identity *b)
{
	return a->device == b->device && a->inode == b->inode && strcmp(a->name, b->name) == 0;
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

/* -- the list -- */

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

void output_conflicts_remove(const struct output *output)
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

/* -- inputs -- */

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

/* -- outputs -- */

/* False after a report. */
static bool check(const struct identity *identity, const char *option, const char *path, int descriptor)
{
	const char *also = redirection(identity, descriptor);

	for (size_t i = 0; i < entry_count && !also; i++) {
		if (!is_same(&entries[i].identity, identity))
			continue;
		if (!entries[i].output) {
			say_error("%s %s: is an input (%.300s); name another file", option, path, entries[i].label);
			return false;
		}
		also = entries[i].label;
	}
	if (also)
		say_error("%s %s: is also the file of %.300s; name another file", option, path, also);
	return !also;
}

bool output_conflicts_add(const struct output *output, const char *option, const char *path, const char *target, int descriptor)
{
	struct identity identity;

	if (!(descriptor >= 0 ? identify_descriptor(descriptor, &identity) : identify(target, &identity)))
		return true; /* a pipe or device has any number of uses */
	if (!check(&identity, option, path, descriptor))
		return false;
	if (add_entry(&identity, output, option, path))
		return true;
	say_error("out of memory");
	return false;
}
