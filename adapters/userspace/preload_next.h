/* preload_next.h: the allocator behind libuvmp-preload: the C library's, or one that the program is
 * linked with (jemalloc, tcmalloc, mimalloc). All functions are of one allocator, since memory of
 * one must not be given to another.
 *
 * If the allocator is not the C library's, the pager's own memory comes from a separate heap:
 * another allocator may hold its locks while it calls mmap, and so while it waits for the pager. */
#ifndef UVMP_PRELOAD_NEXT_H
#define UVMP_PRELOAD_NEXT_H

#include "preload.h"

/* This thread works for the pager: its allocations are not managed. */
extern HIDDEN __thread bool preload_is_inside __attribute__((tls_model("initial-exec")));

HIDDEN void *next_malloc(size_t bytes);
HIDDEN void *next_calloc(size_t count, size_t bytes);
HIDDEN void *next_realloc(void *memory, size_t bytes);
HIDDEN void next_free(void *memory);
HIDDEN void *next_memalign(size_t alignment, size_t bytes);
/* 0: unknown. */
HIDDEN size_t next_usable_size(void *memory);

/* A function of the allocator beside those of the C library, such as jemalloc's sdallocx; 0: it has none. */
HIDDEN uintptr_t next_function(const char *name);

/* Does the program define malloc or free itself? Then libuvmp-preload is not called, and must not
 * return managed memory. */
HIDDEN bool next_is_bypassed(void);
/* Is the caller code of an allocator other than the C library's? Its mappings hold small allocations. */
HIDDEN bool next_is_allocator(const void *caller);
/* Is the caller code of the C library? */
HIDDEN bool next_is_libc(const void *caller);

/* -- the pager's own heap (preload_heap.c) -- */

/* Aligned to 64, or to `alignment` if that is more. Zeros. NULL: out of memory. Never managed. */
HIDDEN void *preload_heap_take(size_t bytes, size_t alignment);
HIDDEN bool preload_heap_has(const void *memory);
HIDDEN void preload_heap_give(void *memory);
/* Memory of this heap. */
HIDDEN size_t preload_heap_usable(const void *memory);
/* For the child of a fork, in which no other thread uses the heap. */
HIDDEN void preload_heap_in_child(void);

#endif
