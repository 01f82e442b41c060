/* plugin_crash.h: what a program does when a plugin crashes (docs/plugins.md).
 *
 * The handler of SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT names the plugin and the signal in one line on standard error,
 * removes the unfinished outputs (output_remove_unfinished), and lets the signal end the process. */
#ifndef UVMP_HOST_PLUGIN_CRASH_H
#define UVMP_HOST_PLUGIN_CRASH_H

/* Call it before a plugin is loaded, whose constructors may crash. The first call installs the handler. `path` is not
 * copied. */
void plugin_crash_watch(const char *path);
/* The plugin watched last is loaded. A crash at an instruction of its shared object is the plugin's; with other crashes the
 * line names all plugins. `function`: any function of the plugin. */
void plugin_crash_loaded(void (*function)(void));

#endif
