/* The plugins of uvmp-run --plugin, in each process. */
#undef _FORTIFY_SOURCE
#include "preload_managed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin_files.h"

static struct plugin_files files;
static char problem[PLUGIN_FILES_ERROR_MAX]; /* of the first file that cannot be loaded; else empty */

static void load(const char *path)
{
	char error[PLUGIN_FILES_ERROR_MAX];

	if (!plugin_files_load(&files, path, error, sizeof(error)))
		snprintf(problem, sizeof(problem), "--plugin: %.100s: %.300s", path, error);
}

void preload_load_plugins(void)
{
	const char *all = getenv(RUN_PLUGINS);
	char *paths = all ? strdup(all) : NULL, *rest = NULL;

	if (all && !paths)
		snprintf(problem, sizeof(problem), "--plugin: out of memory");
	for (char *path = paths ? strtok_r(paths, "\n", &rest) : NULL; path && problem[0] == '\0';
	     path = strtok_r(NULL, "\n", &rest))
		load(path);
	free(paths);
}

bool preload_take_plugins(struct uvmp_pager_config *config, char *text, size_t bytes)
{
	config->plugins = plugin_files_all(&files);
	if (problem[0] != '\0')
		snprintf(text, bytes, "%s", problem);
	return problem[0] == '\0';
}
