/* The file of a program's name, and whether a library can be preloaded into it: the program must have a
 * dynamic loader, which must trust the environment. */
#include "run_program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* -- finding -- */

static int look_at(const char *path)
{
	struct stat info;

	if (stat(path, &info) != 0)
		return errno;
	return S_ISREG(info.st_mode) && access(path, X_OK) == 0 ? 0 : EACCES;
}

int run_program_find(const char *name, char path[PATH_MAX])
{
	const char *at = getenv("PATH");
	int error = ENOENT;

	if (strchr(name, '/')) {
		snprintf(path, PATH_MAX, "%s", name);
		return look_at(path);
	}
	for (at = at ? at : "/bin:/usr/bin"; *name; at++) {
		size_t length = strcspn(at, ":");

		snprintf(path, PATH_MAX, "%.*s/%s", length ? (int)length : 1, length ? at : ".", name);
		if (look_at(path) == 0)
			return 0;
		if (look_at(path) == EACCES)
			error = EACCES;
		at += length;
		if (*at == '\0')
			break;
	}
	return error;
}

/* -- objections -- */

static const char *object_to_rights(const char *path)
{
	struct stat info;

	if (stat(path, &info) != 0)
		return NULL;
	if ((info.st_mode & S_ISUID) != 0 && info.st_uid != getuid())
		return "is setuid: it ignores the libraries of its caller";
	if ((info.st_mode & S_ISGID) != 0 && info.st_gid != getgid())
		return "is setgid: it ignores the libraries of its caller";
	if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
		return "has file capabilities: it ignores the libraries of its caller";
	return NULL;
}

static bool has_loader(int fd, const Elf64_Ehdr *head)
{
	Elf64_Phdr part;

	for (unsigned i = 0; i < head->e_phnum; i++) {
		if (pread(fd, &part, sizeof(part), (off_t)(head->e_phoff + i * sizeof(part))) !=
		    (ssize_t)sizeof(part))
			return true; /* unknown */
		if (part.p_type == PT_INTERP)
			return true;
	}
	return false;
}

static const char *object_to_file(int fd, const Elf64_Ehdr *head)
{
	Elf64_Ehdr own = {.e_machine = 0};
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	bool is_known = self >= 0 && pread(self, &own, sizeof(own), 0) == (ssize_t)sizeof(own);

	if (self >= 0)
		close(self);
	if (is_known &&
	    (head->e_ident[EI_CLASS] != own.e_ident[EI_CLASS] || head->e_machine != own.e_machine))
		return "is made for another kind of processor than uvmp-run";
	return has_loader(fd, head) ? NULL : "is statically linked";
}

/* A script depends on its interpreter. */
static bool read_interpreter(int fd, char path[PATH_MAX])
{
	ssize_t bytes = pread(fd, path, PATH_MAX - 1, 0);
	char *first;

	if (bytes < 2 || path[0] != '#' || path[1] != '!')
		return false;
	path[bytes] = '\0';
	path[strcspn(path, "\n")] = '\0';
	first = path + 2 + strspn(path + 2, " \t");
	first[strcspn(first, " \t")] = '\0';
	memmove(path, first, strlen(first) + 1);
	return true;
}

const char *run_program_objection(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *objection = NULL;
	char interpreter[PATH_MAX];
	Elf64_Ehdr head;

	if (fd >= 0 && read_interpreter(fd, interpreter)) {
		close(fd);
		path = interpreter;
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	objection = object_to_rights(path);
	if (!objection && fd >= 0 && pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	    memcmp(head.e_ident, ELFMAG, SELFMAG) == 0)
		objection = object_to_file(fd, &head);
	if (fd >= 0)
		close(fd);
	return objection;
}
