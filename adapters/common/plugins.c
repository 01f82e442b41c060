/* The option --plugin of programs. */
#include "plugins.h"

#include <string.h>

#include "options.h"
#include "output_conflicts.h"
#include "plugin_blame.h"
#include "plugin_crash.h"
#include "plugin_files.h"
#include "say.h"

#define OPTION "--plugin"

static struct plugin_files files;

const struct uvmp_plugins *plugins_all(void)
{
	return plugin_files_all(&files);
}

/* Tells the handler of crashes a function of the plugins behind the first ones. */
static void watch_code(uint32_t prefetchers, uint32_t orders)
{
	const struct uvmp_plugins *all = &files.all;

	if (all->prefetchers > prefetchers)
		plugin_blame_loaded((void (*)(void))all->prefetcher[prefetchers]->decide);
	else if (all->orders > orders)
		plugin_blame_loaded((void (*)(void))all->order[orders]->touch);
}

bool plugins_load(const char *path)
{
	uint32_t prefetchers = files.all.prefetchers, orders = files.all.orders;
	char error[PLUGIN_FILES_ERROR_MAX];

	if (!output_reads(OPTION, path))
		return false;
	plugin_crash_watch(path);
	if (!plugin_files_load(&files, path, error, sizeof(error))) {
		say_error(OPTION ": %.200s: %s", path, error);
		return false;
	}
	watch_code(prefetchers, orders);
	options_use_plugins(&files.all);
	return true;
}

bool plugins_load_all(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const char *path = NULL;

		if (strcmp(argv[i], OPTION) == 0 && i + 1 < argc)
			path = argv[++i];
		else if (strncmp(argv[i], OPTION "=", strlen(OPTION "=")) == 0)
			path = argv[i] + strlen(OPTION "=");
		if (path && !plugins_load(path))
			return false;
	}
	return true;
}
