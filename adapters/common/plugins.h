/* plugins.h: the option `--plugin FILE.so` of uvmsim and uvmp-run: policies in shared objects (docs/plugins.md). */
#ifndef UVMP_HOST_PLUGINS_H
#define UVMP_HOST_PLUGINS_H

#include <stdbool.h>

#include "uvmpolicy/plugin.h"

/* Loads the plugins of a shared object for the rest of the process; options_policy knows their names from then on. A
 * path without `/` is a file of the working directory. `path` is not copied. A crash of a plugin is reported
 * (plugin_crash.h). False after a report. */
bool plugins_load(const char *path);
/* Loads what the arguments of a subcommand name with --plugin, before the other options are read: a policy may precede the
 * option. argv[0] is not an argument. False after a report. */
bool plugins_load_all(int argc, char **argv);
/* All plugins that were loaded; never NULL. */
const struct uvmp_plugins *plugins_all(void);

#endif
