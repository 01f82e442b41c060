/* Shared objects with plugins. */
#include "plugin_files.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where an error is reported. */
struct text {
	char *at;
	size_t bytes;
};

static bool refuse(struct text error, const char *what)
{
	snprintf(error.at, error.bytes, "%s", what);
	return false;
}

/* The message of dlopen, without the name that precedes it. */
static const char *dl_message(const char *name)
{
	const char *message = dlerror();
	size_t length = strlen(name);

	if (!message)
		return "cannot be loaded";
	return strncmp(message, name, length) == 0 && strncmp(message + length, ": ", 2) == 0 ? message + length + 2
											       : message;
}

/* Reports why dlopen failed. A function of the library that the object calls must be linked into the object. */
static void refuse_object(const char *name, struct text error)
{
	const char *message = dl_message(name);
	bool lacks_library = strstr(message, "undefined symbol: uvmp_") != NULL;

	snprintf(error.at, error.bytes, "%s%s", message,
		 lacks_library ? "; link the object with libuvmpolicy.a (docs/plugins.md)" : "");
}

/* Opens the shared object; NULL after a report. */
static void *open_object(const char *path, struct text error)
{
	size_t bytes = strlen(path) + sizeof("./");
	char *name = malloc(bytes);
	void *object = NULL;
	struct stat status;

	if (!name) {
		refuse(error, strerror(errno));
		return NULL;
	}
	snprintf(name, bytes, "%s%s", strchr(path, '/') ? "" : "./", path);
	if (access(name, R_OK) != 0 || stat(name, &status) != 0) {
		refuse(error, strerror(errno));
	} else if (!S_ISREG(status.st_mode)) { /* dlopen waits for the writer of a pipe */
		refuse(error, "not a regular file");
	} else {
		object = dlopen(name, RTLD_NOW | RTLD_LOCAL);
		if (!object)
			refuse_object(name, error);
	}
	free(name);
	return object;
}

/* The list of the shared object; NULL after a report. */
static const struct uvmp_plugins *list_of(const char *path, struct text error)
{
	const struct uvmp_plugins *(*function)(uint32_t);
	const struct uvmp_plugins *list = NULL;
	void *object = open_object(path, error), *symbol;

	if (!object)
		return NULL;
	symbol = dlsym(object, UVMP_PLUGIN_SYMBOL);
	if (symbol) {
		memcpy(&function, &symbol, sizeof(function));
		list = function(UVMP_PLUGIN_VERSION);
	}
	if (!symbol)
		refuse(error, "the shared object has no function " UVMP_PLUGIN_SYMBOL " (uvmpolicy/plugin.h)");
	else if (!list)
		refuse(error, "made for another version of the library; compile it again");
	return list;
}

const struct uvmp_plugins *plugin_files_all(struct plugin_files *files)
{
	files->all.size = sizeof(files->all);
	files->all.version = UVMP_PLUGIN_VERSION;
	files->all.prefetcher = files->prefetcher;
	files->all.order = files->order;
	return &files->all;
}

/* Adds a valid list. */
static void add(struct plugin_files *files, const struct uvmp_plugins *list)
{
	for (uint32_t i = 0; i < list->prefetchers; i++)
		files->prefetcher[files->all.prefetchers++] = list->prefetcher[i];
	for (uint32_t i = 0; i < list->orders; i++)
		files->order[files->all.orders++] = list->order[i];
}

bool plugin_files_load(struct plugin_files *files, const char *path, char *error, size_t bytes)
{
	const struct uvmp_plugins *all = plugin_files_all(files), *list = list_of(path, (struct text){error, bytes});
	struct uvmp_plugins before = *all;

	if (!list || uvmp_plugins_check(list, error, bytes) != UVMP_OK)
		return false;
	if (all->prefetchers + list->prefetchers > PLUGIN_FILES_MOST || all->orders + list->orders > PLUGIN_FILES_MOST)
		return refuse((struct text){error, bytes}, "too many plugins; 256 of a kind");
	add(files, list);
	if (uvmp_plugins_check(all, error, bytes) == UVMP_OK) /* no name is there twice */
		return true;
	files->all = before;
	return false;
}
