/* malloc and related functions, of the C library and of other allocators: allocations of RUN_THRESHOLD bytes
 * and more are managed. */
#undef _FORTIFY_SOURCE
#include "preload_managed.h"
#include "preload_next.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

extern void cfree(void *); /* of old programs */

EXPORT void *malloc(size_t bytes)
{
	void *memory = preload_alloc(bytes, CALLER);

	return memory ? memory : next_malloc(bytes);
}

EXPORT void *calloc(size_t number, size_t bytes)
{
	size_t all;
	void *memory = __builtin_mul_overflow(number, bytes, &all) ? NULL : preload_alloc(all, CALLER);

	return memory ? memory : next_calloc(number, bytes);
}

EXPORT void free(void *memory)
{
	int error = errno;

	if (memory && preload_usable_whole(memory) != 0)
		preload_free(memory);
	else
		next_free(memory);
	errno = error;
}

EXPORT void cfree(void *memory)
{
	free(memory);
}

EXPORT size_t malloc_usable_size(void *memory)
{
	size_t bytes = preload_usable_whole(memory);

	return bytes != 0 ? bytes : next_usable_size(memory);
}

/* Managed memory shrinks in place down to a half; otherwise it moves. */
static void *resize_managed(void *memory, size_t old, size_t bytes, const void *caller)
{
	void *to;

	if (bytes <= old && bytes > old / 2u)
		return memory;
	to = preload_alloc(bytes, caller);
	if (!to)
		to = next_malloc(bytes);
	if (!to)
		return bytes <= old ? memory : NULL;
	memcpy(to, memory, old < bytes ? old : bytes);
	free(memory);
	return to;
}

static void *resize(void *memory, size_t bytes, const void *caller)
{
	size_t old = preload_usable_whole(memory);
	void *to;

	if (old != 0 && bytes != 0)
		return resize_managed(memory, old, bytes, caller);
	if (old != 0) {
		free(memory);
		return NULL;
	}
	if (memory && bytes >= preload_threshold)
		old = next_usable_size(memory);
	to = memory && old == 0 ? NULL : preload_alloc(bytes, caller);
	if (!to)
		return next_realloc(memory, bytes);
	if (!memory)
		return to;
	memcpy(to, memory, old < bytes ? old : bytes);
	next_free(memory);
	return to;
}

EXPORT void *realloc(void *memory, size_t bytes)
{
	return resize(memory, bytes, CALLER);
}

EXPORT void *reallocarray(void *memory, size_t number, size_t bytes)
{
	size_t all;

	if (!__builtin_mul_overflow(number, bytes, &all))
		return resize(memory, all, CALLER);
	errno = ENOMEM;
	return NULL;
}

static void *align(size_t alignment, size_t bytes, const void *caller)
{
	void *memory = alignment <= UVMP_PAGER_BLOCK_BYTES ? preload_alloc(bytes, caller) : NULL;

	if (alignment > UVMP_PAGER_BLOCK_BYTES && bytes >= preload_threshold)
		preload_count(RUN_ALIGNED, bytes);
	return memory ? memory : next_memalign(alignment, bytes);
}

EXPORT void *memalign(size_t alignment, size_t bytes)
{
	return align(alignment, bytes, CALLER);
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
	return align(alignment, bytes, CALLER);
}

EXPORT int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
	void *got;
	int error = errno;

	if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1u)) != 0)
		return EINVAL;
	got = align(alignment, bytes, CALLER);
	errno = error;
	if (!got)
		return ENOMEM;
	*memory = got;
	return 0;
}

EXPORT void *valloc(size_t bytes)
{
	return align(PAGE_BYTES, bytes, CALLER);
}

EXPORT void *pvalloc(size_t bytes)
{
	if (bytes <= SIZE_MAX - PAGE_BYTES)
		return align(PAGE_BYTES, whole_pages(bytes), CALLER);
	errno = ENOMEM;
	return NULL;
}

/* -- functions of other allocators. They may be given managed memory. Without such an allocator they are the
 * functions of the C library that do the same -- */

#define OF_ALLOCATOR(name)                                                                                   \
	static uintptr_t at;                                                                                 \
	if (at == 0)                                                                                         \
	at = next_function(#name)

EXPORT void dallocx(void *memory, int flags)
{
	OF_ALLOCATOR(dallocx);
	if (at == 0 || preload_usable_whole(memory) != 0 || preload_heap_has(memory))
		free(memory);
	else
		((void (*)(void *, int))at)(memory, flags);
}

EXPORT void sdallocx(void *memory, size_t bytes, int flags)
{
	OF_ALLOCATOR(sdallocx);
	if (at == 0 || preload_usable_whole(memory) != 0 || preload_heap_has(memory))
		free(memory);
	else
		((void (*)(void *, size_t, int))at)(memory, bytes, flags);
}

EXPORT size_t sallocx(const void *memory, int flags)
{
	void *plain = (void *)(uintptr_t)memory;
	OF_ALLOCATOR(sallocx);

	if (at == 0 || preload_usable_whole(memory) != 0 || preload_heap_has(memory))
		return malloc_usable_size(plain);
	return ((size_t(*)(const void *, int))at)(memory, flags);
}

EXPORT void *rallocx(void *memory, size_t bytes, int flags)
{
	OF_ALLOCATOR(rallocx);
	if (at == 0 || preload_usable_whole(memory) != 0 || preload_heap_has(memory))
		return resize(memory, bytes, CALLER);
	return ((void *(*)(void *, size_t, int))at)(memory, bytes, flags);
}

/* Managed memory keeps its size. */
EXPORT size_t xallocx(void *memory, size_t bytes, size_t extra, int flags)
{
	OF_ALLOCATOR(xallocx);
	if (at == 0 || preload_usable_whole(memory) != 0 || preload_heap_has(memory))
		return malloc_usable_size(memory);
	return ((size_t(*)(void *, size_t, size_t, int))at)(memory, bytes, extra, flags);
}

EXPORT void free_sized(void *memory, size_t bytes)
{
	(void)bytes;
	free(memory);
}

EXPORT void free_aligned_sized(void *memory, size_t alignment, size_t bytes)
{
	(void)alignment;
	(void)bytes;
	free(memory);
}
