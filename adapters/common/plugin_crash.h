/* plugin_crash.h: what a program does when a plugin ends its process (docs/plugins.md).
 *
 * The handler of SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT names the plugin and the signal in one line on standard error,
 * removes the unfinished outputs (output_remove_unfinished), and lets the signal end the process. A plugin that calls exit
 * is named likewise, and ends the process with SAY_BAD_INPUT. */
#ifndef UVMP_HOST_PLUGIN_CRASH_H
#define UVMP_HOST_PLUGIN_CRASH_H

/* Call it before a plugin is loaded, whose constructors may crash, and plugin_blame_loaded after it. The first call installs
 * the handlers. `path` is not copied. */
void plugin_crash_watch(const char *path);
/* The program itself ends: call it before main returns. */
void plugin_crash_done(void);

#endif
