/* Allocation and release of managed memory for the functions that libuvmp-preload replaces.
 *
 * Managed memory begins at multiples of 2 MiB, so the low bits tell most pointers apart. */
#undef _FORTIFY_SOURCE
#include "preload_managed.h"
#include "preload_next.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

void preload_mark(const void *memory, size_t bytes, bool is_managed)
{
	uintptr_t block = (uintptr_t)memory >> PRELOAD_BLOCK_SHIFT;
	uintptr_t end = ((uintptr_t)memory + bytes) >> PRELOAD_BLOCK_SHIFT;

	for (; block < end && block < PRELOAD_BLOCKS; block++) {
		uint64_t bit = (uint64_t)1 << (block % 64u);

		if (is_managed)
			__atomic_fetch_or(&preload_managed[block / 64u], bit, __ATOMIC_RELEASE);
		else
			__atomic_fetch_and(&preload_managed[block / 64u], ~bit, __ATOMIC_RELEASE);
	}
}

static bool is_on_managed_stack(void)
{
	return preload_is_in(&preload_managed, __builtin_frame_address(0));
}

void preload_count(enum run_reason reason, size_t bytes)
{
	if (!preload_shared || preload_is_inside)
		return;
	__atomic_fetch_add(&preload_shared->unmanaged[reason].count, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&preload_shared->unmanaged[reason].bytes, bytes, __ATOMIC_RELAXED);
}

static enum run_reason why_refused(size_t bytes)
{
	struct uvmp_pager_stats stats;

	uvmp_pager_stats(preload_pager, &stats);
	return bytes > stats.managed_most_bytes - stats.managed_bytes ? RUN_BEYOND : RUN_REFUSED;
}

/* Buffers that the C library allocates for files and directories, and gives to the kernel. */
static bool is_for_libc(const void *caller)
{
	return preload_bounced && next_is_libc(caller);
}

/* Runs between preload_enter and preload_leave. NULL: `reason` says why. */
static void *alloc_of_pager(size_t bytes, const void *caller, enum run_reason *reason)
{
	void *memory;

	if (!preload_make_pager()) {
		*reason = RUN_PAGERLESS;
		return NULL;
	}
	if (is_for_libc(caller)) {
		*reason = RUN_LIBC;
		return NULL;
	}
	memory = uvmp_pager_alloc(preload_pager, bytes);
	if (memory)
		preload_mark(memory, uvmp_pager_usable(preload_pager, memory), true);
	else
		*reason = why_refused(bytes);
	return memory;
}

__attribute__((noinline)) static void *alloc_large(size_t bytes, const void *caller)
{
	enum run_reason reason = RUN_STACK;
	void *memory = NULL;
	int error = errno;
	sigset_t before;

	if (!is_on_managed_stack()) {
		preload_enter(&before);
		memory = alloc_of_pager(bytes, caller, &reason);
		preload_leave(&before);
	}
	if (!memory)
		preload_count(reason, bytes);
	errno = error;
	return memory;
}

/* Counted small allocations are rare enough for a counter that processes share. */
static inline bool is_too_small(size_t bytes)
{
	if (bytes >= preload_threshold)
		return false;
	if (bytes >= PAGE_BYTES)
		preload_count(RUN_SMALL, bytes);
	return true;
}

void *preload_alloc_mapping(size_t bytes, const void *caller)
{
	return preload_is_inside || is_too_small(bytes) ? NULL : alloc_large(bytes, caller);
}

/* As preload_alloc_mapping, for malloc and related functions. */
__attribute__((noinline)) static void *alloc_block(size_t bytes, const void *caller)
{
	if (!next_is_bypassed())
		return preload_alloc_mapping(bytes, caller);
	preload_count(RUN_OWN, bytes);
	return NULL;
}

void *preload_alloc_block(size_t bytes, const void *caller)
{
	return bytes < preload_threshold ? (is_too_small(bytes), NULL) : alloc_block(bytes, caller);
}

size_t preload_usable(const void *memory)
{
	size_t bytes;
	sigset_t before;

	if (!preload_is_in(&preload_managed, memory) || preload_is_inside)
		return 0;
	preload_enter(&before);
	bytes = uvmp_pager_usable(preload_pager, memory);
	preload_leave(&before);
	return bytes;
}

/* Memory that was freed on a managed stack; another call frees it. Linked by the first words. */
static void *freed_later;

static void free_later(void *memory)
{
	void *next = __atomic_load_n(&freed_later, __ATOMIC_RELAXED);

	do
		memcpy(memory, &next, sizeof(next));
	while (!__atomic_compare_exchange_n(&freed_later, &next, memory, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
}

void preload_free(void *memory)
{
	void *next = NULL;
	sigset_t before;

	if (is_on_managed_stack()) {
		free_later(memory);
		return;
	}
	preload_enter(&before);
	if (freed_later)
		next = __atomic_exchange_n(&freed_later, NULL, __ATOMIC_ACQUIRE);
	while (memory) {
		preload_mark(memory, uvmp_pager_usable(preload_pager, memory), false);
		uvmp_pager_free(preload_pager, memory);
		memory = next;
		if (memory)
			memcpy(&next, memory, sizeof(next));
	}
	preload_leave(&before);
}
