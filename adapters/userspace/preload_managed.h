/* preload_managed.h: the pager of a process, and its managed memory, as the replaced functions use them. */
#ifndef UVMP_PRELOAD_MANAGED_H
#define UVMP_PRELOAD_MANAGED_H

#include "preload.h"
#include "run.h"

#include <signal.h>

#include "preload_next.h"

#define PAGE_BYTES ((size_t)4096)
#define CALLER	   __builtin_return_address(0)

/* -- preload_pager.c -- */

extern HIDDEN struct uvmp_pager *preload_pager; /* NULL: none, or not yet */
extern HIDDEN struct run_shared *preload_shared;
extern HIDDEN size_t preload_threshold; /* bytes; SIZE_MAX: nothing is managed */

/* Around work for the pager: signals are blocked, and allocations are not managed. */
HIDDEN void preload_enter(sigset_t *before);
HIDDEN void preload_leave(const sigset_t *before);
/* Makes the pager at the first call. NULL: that failed. */
HIDDEN struct uvmp_pager *preload_make_pager(void);

/* -- preload_plugins.c -- */

/* The functions that the plugin loader calls before a plugin ends the process. Both are async-signal-safe. */
struct plugin_end {
	char *(*text)(size_t *bytes); /* where to note the plugin; NULL: nowhere */
	void (*save_log)(void);	      /* writes the log as far as it is known */
};

/* Loads the plugins of RUN_PLUGINS, when the process begins: a large allocation may happen within the dynamic linker. `end`
 * stays valid. */
HIDDEN void preload_load_plugins(const struct plugin_end *end);
/* False: one cannot be loaded; `text` says why. */
HIDDEN bool preload_take_plugins(struct uvmp_pager_config *config, char *text, size_t bytes);

/* A thread of the pager has begun: a plugin may use up its stack. */
HIDDEN void preload_watch_thread(void);
/* The thread of the pager that calls exit runs a plugin: notes that, and ends the process. */
HIDDEN void preload_plugin_exits(void) __attribute__((noreturn));

/* -- preload_managed.c -- */

HIDDEN void preload_mark(const void *memory, size_t bytes, bool is_managed);
/* Counts an allocation or a mapping that is not managed. */
HIDDEN void preload_count(enum run_reason reason, size_t bytes);
/* Managed memory for a mapping, or NULL: the kernel maps. */
HIDDEN void *preload_alloc_mapping(size_t bytes, const void *caller);
HIDDEN void *preload_alloc_block(size_t bytes, const void *caller);
/* Bytes from here to the end of the allocation; 0: not managed. */
HIDDEN size_t preload_usable(const void *memory);
HIDDEN void preload_free(void *memory);

/* Managed memory for malloc and related functions, or NULL: the next allocator allocates. */
static inline void *preload_alloc(size_t bytes, const void *caller)
{
	return bytes < PAGE_BYTES || preload_is_inside ? NULL : preload_alloc_block(bytes, caller);
}

/* The same as preload_usable, for the beginning of an allocation. */
static inline size_t preload_usable_whole(const void *memory)
{
	return (uintptr_t)memory % UVMP_PAGER_BLOCK_BYTES != 0 ? 0 : preload_usable(memory);
}

static inline size_t whole_pages(size_t bytes)
{
	return (bytes + PAGE_BYTES - 1u) & ~(PAGE_BYTES - 1u);
}

#endif
