/* Descriptors, folders and links of paths. */
#include "output_path.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINKS_MOST 40

int output_path_descriptor(const char *path)
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

size_t output_path_folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1u : 0;
}

char *output_path_folder(const char *path)
{
	size_t length = output_path_folder_length(path);

	return length != 0 ? strndup(path, length) : strdup(".");
}

/* Replaces the last part of `path`, which it frees. */
static char *follow(char *path, const char *link)
{
	char *all = NULL;

	if (asprintf(&all, "%.*s%s", link[0] == '/' ? 0 : (int)output_path_folder_length(path), path, link) < 0)
		all = NULL;
	free(path);
	return all;
}

char *output_path_resolve(const char *path)
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
