/* mmap and related functions: anonymous private mappings of RUN_THRESHOLD bytes and more are managed. */
#undef _FORTIFY_SOURCE
#include "preload_managed.h"
#include "preload_next.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int answer(int error)
{
	if (error == 0)
		return 0;
	errno = -error;
	return -1;
}

/* The first part of a range that is all managed, by one allocation, or all not. */
struct part {
	size_t bytes;
	bool is_managed;
};

static struct part first_part(const uint8_t *memory, size_t bytes)
{
	struct part part = {preload_usable(memory), true};

	if (part.bytes > bytes)
		part.bytes = bytes;
	if (part.bytes != 0)
		return part;
	part.is_managed = false;
	while (part.bytes < bytes) {
		size_t step =
			UVMP_PAGER_BLOCK_BYTES - (uintptr_t)(memory + part.bytes) % UVMP_PAGER_BLOCK_BYTES;

		part.bytes = step < bytes - part.bytes ? part.bytes + step : bytes;
		if (part.bytes < bytes && preload_usable(memory + part.bytes) != 0)
			break;
	}
	return part;
}

/* Blocks that are unmapped as a whole lose their marks; blocks at the edges may hold other managed pages. */
static void unmark(const void *memory, size_t bytes)
{
	uintptr_t mask = UVMP_PAGER_BLOCK_BYTES - 1u;
	uintptr_t first = ((uintptr_t)memory + mask) & ~mask, end = ((uintptr_t)memory + bytes) & ~mask;

	if (first < end)
		preload_mark((void *)first, end - first, false);
}

static int unmap_managed(uint8_t *memory, size_t bytes)
{
	sigset_t before;
	int error;

	preload_enter(&before);
	unmark(memory, bytes);
	error = uvmp_pager_unmap(preload_pager, memory, bytes);
	preload_leave(&before);
	return answer(error);
}

static bool is_any_managed(const void *memory, size_t bytes)
{
	struct part part = first_part(memory, bytes);

	return part.is_managed || part.bytes < bytes;
}

EXPORT int munmap(void *memory, size_t asked)
{
	size_t bytes = whole_pages(asked);
	uint8_t *at = memory;
	int result = 0;

	if (!preload_managed || preload_is_inside || bytes == 0 || (uintptr_t)memory % PAGE_BYTES != 0 ||
	    !is_any_managed(memory, bytes))
		return (int)syscall(SYS_munmap, memory, asked);
	while (bytes != 0 && result == 0) {
		struct part part = first_part(at, bytes);

		result = part.is_managed ? unmap_managed(at, part.bytes)
					 : (int)syscall(SYS_munmap, at, part.bytes);
		at += part.bytes;
		bytes -= part.bytes;
	}
	return result;
}

/* Arguments of mmap. */
struct mapping {
	void *at;
	size_t bytes;
	int protection, flags, fd;
	off_t offset;
};

static void *real_mmap(const struct mapping *m)
{
	return (void *)syscall(SYS_mmap, m->at, m->bytes, m->protection, m->flags, m->fd, m->offset);
}

/* Reason for which a mapping above the threshold is not managed; RUN_REASONS: it can be managed. */
static enum run_reason why_not(const struct mapping *m, const void *caller)
{
	if ((m->flags & MAP_HUGETLB) != 0)
		return RUN_HUGE;
	if ((m->flags & MAP_ANONYMOUS) == 0)
		return RUN_FILE;
	if ((m->flags & (MAP_SHARED | MAP_PRIVATE)) != MAP_PRIVATE)
		return RUN_COMMON;
	if (m->protection == PROT_NONE)
		return RUN_RESERVED;
	if (m->at || (m->flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0)
		return RUN_FIXED;
	if (m->protection != (PROT_READ | PROT_WRITE))
		return RUN_PROTECTED;
	if ((m->flags & (MAP_GROWSDOWN | MAP_STACK | MAP_LOCKED | MAP_32BIT)) != 0)
		return RUN_SPECIAL;
	return next_is_allocator(caller) ? RUN_ALLOCATOR : RUN_REASONS;
}

/* NULL: the kernel maps. */
static void *map_managed(const struct mapping *m, const void *caller)
{
	enum run_reason reason;

	if (preload_is_inside || m->bytes < PAGE_BYTES)
		return NULL;
	reason = why_not(m, caller);
	if (reason == RUN_REASONS)
		return preload_alloc_mapping(m->bytes, caller);
	if (m->bytes >= preload_threshold)
		preload_count(reason, m->bytes);
	return NULL;
}

/* Managed memory is whole blocks; munmap would not free bytes beyond those passed to mmap. */
static void *trim(uint8_t *memory, size_t bytes)
{
	size_t all = preload_usable(memory);

	if (bytes < all)
		unmap_managed(memory + bytes, all - bytes);
	return memory;
}

/* A mapping over managed memory is not managed; the pager learns of it from the kernel. Unmapping here first
 * would leave the address to other threads for a moment, and lose the memory if the mapping fails. */
static void *map(const struct mapping *m, const void *caller)
{
	void *memory = map_managed(m, caller);

	if (memory)
		return trim(memory, whole_pages(m->bytes));
	memory = real_mmap(m);
	if ((m->flags & MAP_FIXED) != 0 && memory != MAP_FAILED && preload_managed && !preload_is_inside)
		unmark(memory, whole_pages(m->bytes));
	return memory;
}

EXPORT void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	return map(&(struct mapping){at, bytes, protection, flags, fd, offset}, CALLER);
}

EXPORT void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	return map(&(struct mapping){at, bytes, protection, flags, fd, offset}, CALLER);
}

static void *remap_managed(uint8_t *memory, size_t old, size_t bytes, int flags, void *at, const void *caller)
{
	void *to;

	if ((flags & MREMAP_DONTUNMAP) != 0) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	if (!at && bytes <= old) {
		if (bytes < old)
			munmap(memory + bytes, old - bytes);
		return memory;
	}
	if ((flags & MREMAP_MAYMOVE) == 0) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	to = map(&(struct mapping){at, bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0},
		 caller);
	if (to == MAP_FAILED)
		return MAP_FAILED;
	memcpy(to, memory, old < bytes ? old : bytes);
	munmap(memory, old);
	return to;
}

EXPORT void *mremap(void *memory, size_t old, size_t bytes, int flags, ...)
{
	va_list arguments;
	void *at;

	va_start(arguments, flags);
	at = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void *) : NULL;
	va_end(arguments);
	if (bytes != 0 && preload_usable(memory) != 0)
		return remap_managed(memory, whole_pages(old), whole_pages(bytes), flags, at, CALLER);
	return (void *)syscall(SYS_mremap, memory, old, bytes, flags, at);
}

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum use { CLEARS, IDLE, REFUSED, OF_KERNEL };

/* The pager decides what is resident, and forks inherit managed memory in their own way. */
static enum use use_of(int advice)
{
	static const int idle[] = {MADV_WILLNEED, MADV_COLD,	  MADV_PAGEOUT,	       MADV_POPULATE_READ,
				   MADV_HUGEPAGE, MADV_MERGEABLE, MADV_POPULATE_WRITE, MADV_COLLAPSE,
				   MADV_DONTFORK, MADV_DOFORK};

	if (advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_DONTNEED_LOCKED)
		return CLEARS;
	if (advice == MADV_WIPEONFORK)
		return REFUSED;
	for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++)
		if (advice == idle[i])
			return IDLE;
	return OF_KERNEL;
}

static int advise_managed(uint8_t *memory, size_t bytes, int advice)
{
	sigset_t before;
	int error;

	switch (use_of(advice)) {
	case IDLE:
		return 0;
	case REFUSED:
		return answer(-EINVAL);
	case OF_KERNEL:
		return (int)syscall(SYS_madvise, memory, bytes, advice);
	case CLEARS:
		break;
	}
	preload_enter(&before);
	error = uvmp_pager_clear(preload_pager, memory, bytes);
	preload_leave(&before);
	return answer(error);
}

EXPORT int madvise(void *memory, size_t bytes, int advice)
{
	uint8_t *at = memory;
	size_t left = whole_pages(bytes);
	int result = 0;

	if (!preload_managed || preload_is_inside || (uintptr_t)memory % PAGE_BYTES != 0 ||
	    !is_any_managed(memory, left))
		return (int)syscall(SYS_madvise, memory, bytes, advice);
	while (left != 0 && result == 0) {
		struct part part = first_part(at, left);

		result = part.is_managed ? advise_managed(at, part.bytes, advice)
					 : (int)syscall(SYS_madvise, at, part.bytes, advice);
		at += part.bytes;
		left -= part.bytes;
	}
	return result;
}

/* Locked memory would exceed the budget, and could not be evicted. The call reports success. */
EXPORT int mlock(const void *memory, size_t bytes)
{
	return preload_usable(memory) != 0 ? 0 : (int)syscall(SYS_mlock, memory, bytes);
}

EXPORT int mlock2(const void *memory, size_t bytes, unsigned flags)
{
	return preload_usable(memory) != 0 ? 0 : (int)syscall(SYS_mlock2, memory, bytes, flags);
}

EXPORT int mlockall(int flags)
{
	return preload_threshold != SIZE_MAX ? 0 : (int)syscall(SYS_mlockall, flags);
}
