/* plugin_files.h: plugins in shared objects (docs/plugins.md), as programs load them that report errors in their own way. */
#ifndef UVMP_HOST_PLUGIN_FILES_H
#define UVMP_HOST_PLUGIN_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "uvmpolicy/plugin.h"

#define PLUGIN_FILES_MOST      256u /* plugins of a kind, as uvmp_plugins_check accepts */
#define PLUGIN_FILES_ERROR_MAX 512u

/* Zeros: no plugin. Does not move while a policy uses its plugins. */
struct plugin_files {
	struct uvmp_plugins all;
	const struct uvmp_prefetch_plugin *prefetcher[PLUGIN_FILES_MOST];
	const struct uvmp_evict_plugin *order[PLUGIN_FILES_MOST];
};

/* The plugins of all files; a valid list, empty at first. */
const struct uvmp_plugins *plugin_files_all(struct plugin_files *files);
/* Adds the plugins of a shared object, which stays loaded for the rest of the process. A path without `/` is a file of the
 * working directory. False: nothing was added; `error` says why in one line, cut at `bytes` (PLUGIN_FILES_ERROR_MAX). */
bool plugin_files_load(struct plugin_files *files, const char *path, char *error, size_t bytes);

#endif
