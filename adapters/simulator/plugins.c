/* Shared objects with plugins. */
#include "plugins.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "say.h"

#define PLUGINS_MOST 256u /* of a kind, as uvmp_plugins_check accepts */
#define OPTION "--plugin"

static const struct uvmp_prefetch_plugin *prefetchers[PLUGINS_MOST];
static const struct uvmp_evict_plugin *orders[PLUGINS_MOST];
static struct uvmp_plugins all = {
	.size = sizeof(all), .version = UVMP_PLUGIN_VERSION, .prefetcher = prefetchers, .order = orders};

const struct uvmp_plugins *plugins_all(void)
{
	return &all;
}

static bool refuse(const char *path, const char *what)
{
	say_error(OPTION ": %.200s: %s", path, what);
	return false;
}

/* Opens the shared object; NULL after a report. It stays loaded. */
static void *open_object(const char *path)
{
	size_t bytes = strlen(path) + sizeof("./");
	char *name = malloc(bytes);
	void *object = NULL;

	if (!name) {
		refuse(path, strerror(errno));
		return NULL;
	}
	snprintf(name, bytes, "%s%s", strchr(path, '/') ? "" : "./", path);
	if (access(name, R_OK) != 0) {
		refuse(path, strerror(errno));
	} else {
		object = dlopen(name, RTLD_NOW | RTLD_LOCAL);
		if (!object)
			refuse(path, dlerror());
	}
	free(name);
	return object;
}

/* The list of the shared object; NULL after a report. */
static const struct uvmp_plugins *list_of(const char *path)
{
	const struct uvmp_plugins *(*function)(uint32_t);
	const struct uvmp_plugins *list = NULL;
	void *object = open_object(path), *symbol;

	if (!object)
		return NULL;
	symbol = dlsym(object, UVMP_PLUGIN_SYMBOL);
	if (symbol) {
		memcpy(&function, &symbol, sizeof(function));
		list = function(UVMP_PLUGIN_VERSION);
	}
	if (!symbol)
		refuse(path, "the shared object has no function " UVMP_PLUGIN_SYMBOL " (uvmpolicy/plugin.h)");
	else if (!list)
		refuse(path, "made for another version of the library; compile it again");
	return list;
}

/* Adds a valid list. Names of plugins that are there already are found by the check that follows. */
static bool add(const char *path, const struct uvmp_plugins *list)
{
	char error[UVMP_PLUGINS_ERROR_MAX];

	if (all.prefetchers + list->prefetchers > PLUGINS_MOST || all.orders + list->orders > PLUGINS_MOST)
		return refuse(path, "too many plugins; 256 of a kind");
	for (uint32_t i = 0; i < list->prefetchers; i++)
		prefetchers[all.prefetchers++] = list->prefetcher[i];
	for (uint32_t i = 0; i < list->orders; i++)
		orders[all.orders++] = list->order[i];
	return uvmp_plugins_check(&all, error, sizeof(error)) == UVMP_OK || refuse(path, error);
}

bool plugins_load(const char *path)
{
	const struct uvmp_plugins *list = list_of(path);
	char error[UVMP_PLUGINS_ERROR_MAX];

	if (!list)
		return false;
	if (uvmp_plugins_check(list, error, sizeof(error)) != UVMP_OK)
		return refuse(path, error);
	if (!add(path, list))
		return false;
	options_use_plugins(&all);
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
