/* plugin_blame.h: which plugin ended a process (docs/plugins.md). All but plugin_blame_watch and plugin_blame_loaded is
 * async-signal-safe. */
#ifndef UVMP_HOST_PLUGIN_BLAME_H
#define UVMP_HOST_PLUGIN_BLAME_H

#include <stddef.h>
#include <stdint.h>

#define PLUGIN_BLAME_SIGNALS 5u

/* The signals of a crash. */
extern const int plugin_blame_signal[PLUGIN_BLAME_SIGNALS];

/* A plugin is about to be loaded; its constructors may crash. `path` is not copied. */
void plugin_blame_watch(const char *path);
/* The plugin watched last is loaded; `function`: any function of it. */
void plugin_blame_loaded(void (*function)(void));
/* How many are watched. */
size_t plugin_blame_count(void);
/* The instruction that a signal interrupted, from the third argument of its handler; 0: not known on this machine. */
uintptr_t plugin_blame_interrupted(const void *context);
/* Is the instruction one of a plugin's shared object? */
int plugin_blame_has(uintptr_t instruction);
/* Writes `--plugin: PATH: crashed with SIGSEGV` for the signal of that number, or `... called exit` for the number 0, cut at
 * `bytes`. Names all plugins if the instruction is in none of several. Returns the length. */
size_t plugin_blame(uintptr_t instruction, int number, char *text, size_t bytes);

#endif
