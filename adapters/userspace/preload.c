/* libuvmp-preload: puts a program's large allocations under a pager (uvmp-run).
 *
 * malloc and its kin, and anonymous private mmap, of RUN_THRESHOLD bytes and more give managed memory; the
 * rest is the C library's. Managed memory begins at multiples of 2 MiB, so most pointers are told apart by
 * their last bits. The pager is made at the first large allocation; what it allocates itself is never
 * managed. If it cannot be made the program runs without it, and uvmp-run says so.
 *
 * Not managed: what enum run_reason (run.h) lists, which is counted; brk; allocations through the C library's
 * __libc_malloc. An allocation on a stack that is managed itself is among them, as the pager works on the
 * stack of its caller.
 *
 * A program may be linked with another allocator (jemalloc, tcmalloc, mimalloc): preload_next.c. */
#undef _FORTIFY_SOURCE
#include "high_fd.h"
#include "preload.h"
#include "preload_next.h"
#include "run.h"
#include "store_internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES ((size_t)4096)
#define CALLER     __builtin_return_address(0)

extern void cfree(void *); /* of old programs */

uint64_t *preload_managed, *preload_kept;

static struct uvmp_pager *pager;
static struct run_slot *slot;
static struct run_shared *shared;
static FILE *log_file; /* NULL: this process has none */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static bool is_tried, is_made;
static size_t threshold = SIZE_MAX;

/* Signals wait while a thread works for the pager: a handler may touch managed memory or allocate, and
 * nobody would service it while the thread has the pager's lock. */
static void enter(sigset_t *before)
{
	sigset_t every;

	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, before);
	preload_is_inside = true;
}

static void leave(const sigset_t *before)
{
	preload_is_inside = false;
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* -- making the pager -- */

static void open_shared(void)
{
	const char *path = getenv(RUN_SHARED);
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *memory;

	if (fd < 0)
		return;
	memory = (void *)syscall(SYS_mmap, NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (memory != MAP_FAILED)
		shared = memory;
}

static void take_slot(void)
{
	uint32_t number = shared ? __atomic_fetch_add(&shared->slots, 1, __ATOMIC_ACQ_REL) : RUN_PROCESSES;

	slot = number < RUN_PROCESSES ? &shared->slot[number] : NULL;
	if (!slot)
		return;
	slot->pid = (int32_t)getpid();
	snprintf(slot->name, sizeof(slot->name), "%s", program_invocation_short_name);
}

static int open_high(const char *path)
{
	return high_fd(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
}

/* What cannot be opened is in the report, as what cannot be written. */
static void open_log(const char *path)
{
	int fd = path && *path ? open_high(path) : -1;

	log_file = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (path && *path && !log_file && slot)
		slot->log_error = errno;
}

static void go_inside(void)
{
	preload_is_inside = true;
}

/* One process has the log, the trace, and the store's file by its name. */
static bool become_first(void)
{
	uint32_t nobody = 0;

	return shared && __atomic_compare_exchange_n(&shared->first, &nobody, 1, false, __ATOMIC_ACQ_REL,
	                                             __ATOMIC_ACQUIRE);
}

/* A file by its name is for the first process; where it is others make theirs, without a name. */
static int store_beside(const char *store, char text[PATH_MAX])
{
	struct stat info;
	char *slash;

	snprintf(text, PATH_MAX, "%s", store ? store : "mem");
	slash = strrchr(text, '/');
	if (strncmp(text, "file:", 5) != 0 || !slash)
		return 0;
	if (stat(text + 5, &info) == 0 && S_ISBLK(info.st_mode))
		return -EBUSY;
	if (stat(text + 5, &info) != 0 || !S_ISDIR(info.st_mode))
		slash[slash == text + 5] = '\0';
	return 0;
}

/* Nothing is left of it then, however the process ends. */
static void remove_name(const char *store)
{
	struct stat info;

	if (store && strncmp(store, "file:", 5) == 0 && stat(store + 5, &info) == 0 && S_ISREG(info.st_mode))
		unlink(store + 5);
}

static int create(char *text, size_t bytes)
{
	struct uvmp_pager_config config;
	bool is_first = become_first();
	char store[PATH_MAX];
	int error;

	run_config(&config);
	config.thread_began = go_inside;
	if (is_first) {
		open_log(getenv(RUN_LOG));
		config.log = log_file;
		config.trace = getenv(RUN_TRACE);
	} else {
		error = store_beside(config.store, store);
		config.store = store;
		if (error != 0) {
			snprintf(text, bytes, "%.180s: the first process has the device", store);
			return error;
		}
	}
	error = uvmp_pager_create(&config, &pager, text, bytes);
	if (error == 0 && is_first)
		remove_name(config.store);
	return error;
}

/* The kernel is not given managed memory whose faults it may not make. */
static void keep(void)
{
	if (pager && !uvmp_pager_serves_kernel(pager))
		preload_kept = preload_managed;
}

/* Without a map of what is managed there is none. */
static void make_map(void)
{
	preload_managed = (void *)syscall(SYS_mmap, NULL, PRELOAD_BLOCKS / 8u, PROT_READ | PROT_WRITE,
	                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
	if (preload_managed == MAP_FAILED) {
		preload_managed = NULL;
		pager = NULL;
	}
	keep();
}

/* The program must not go on as if its memory were limited. */
static void end_if_required(const char *text)
{
	if (!getenv(RUN_REQUIRE))
		return;
	if (!slot)
		fprintf(stderr, "uvmp-run: %s (process %d) cannot have a pager: %s\n",
		        program_invocation_short_name, (int)getpid(), text);
	for (;;)
		syscall(SYS_exit_group, RUN_NO_PAGER);
}

static void make_pager(void)
{
	char text[sizeof(slot->text)] = "";
	int error = create(text, sizeof(text));

	if (slot) {
		slot->error = error;
		memcpy(slot->text, text, sizeof(text));
	}
	if (error != 0)
		end_if_required(text);
	make_map();
	if (slot && pager)
		uvmp_pager_show_stats(pager, &slot->stats);
}

/* A fork finds the pager made, or not begun: then the child makes its own. Signals wait from before the fork
 * until behind it, as everywhere that locks are held. The program's handlers run outside of these, the
 * pager's within. */
static sigset_t mask_at_fork;

static void before_fork(void)
{
	sigset_t before;

	enter(&before);
	pthread_mutex_lock(&making);
	mask_at_fork = before;
}

static void in_parent(void)
{
	sigset_t before = mask_at_fork;

	pthread_mutex_unlock(&making);
	leave(&before);
}

/* Children of a process have slots of their own. The user may have changed since the pager was made. */
static void in_child(void)
{
	sigset_t before = mask_at_fork;

	preload_heap_in_child();
	pthread_mutex_init(&making, NULL);
	slot = NULL;
	log_file = NULL;
	keep();
	if (pager)
		take_slot();
	if (slot)
		uvmp_pager_show_stats(pager, &slot->stats);
	leave(&before);
}

static struct uvmp_pager *the_pager(void)
{
	if (__atomic_load_n(&is_made, __ATOMIC_ACQUIRE))
		return pager;
	pthread_mutex_lock(&making);
	if (!is_tried) {
		is_tried = true;
		take_slot();
		make_pager();
		__atomic_store_n(&is_made, true, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&making);
	return pager;
}

/* The log is not the pager's, but as little the program's. */
int preload_next_descriptor(int from)
{
	int next = -1, log = -1;

	if (pager && !preload_is_inside) {
		next = uvmp_pager_next_descriptor(pager, from);
		log = log_file ? fileno_unlocked(log_file) : -1;
	}
	return log >= from && (next < 0 || log < next) ? log : next;
}

/* -- what the C library allocates for itself: buffers of files and folders, that it gives to the kernel -- */

static bool is_for_libc(const void *caller)
{
	return preload_kept && next_is_libc(caller);
}

/* -- the life of a process -- */

__attribute__((constructor)) static void begin(void)
{
	if (strcmp(program_invocation_short_name, "uvmp-run") == 0)
		return;
	preload_is_inside = true;
	open_shared();
	if (shared)
		__atomic_fetch_add(&shared->loaded, 1, __ATOMIC_ACQ_REL);
	(void)next_is_libc(NULL); /* finds the allocator behind */
	pthread_atfork(before_fork, in_parent, in_child);
	at_quick_exit(preload_end);
	threshold = run_threshold();
	preload_is_inside = false;
}

static void finish_log(FILE *file)
{
	sigset_t before;
	bool has_failed;

	hold_too_large(&before);
	errno = 0;
	has_failed = file && (fflush(file) != 0 || ferror(file));
	if (has_failed && slot)
		slot->log_error = errno != 0 ? errno : EIO;
	release_too_large(&before, has_failed && errno == EFBIG);
}

/* What is written is complete, before this process ends or is replaced. Behind vfork it is the parent's. */
void preload_end(void)
{
	sigset_t before;

	if (preload_is_inside || !slot || slot->pid != getpid())
		return;
	enter(&before);
	finish_log(log_file);
	if (pager && uvmp_pager_flush(pager) != -EBUSY) /* with what the pager's thread has in hand */
		uvmp_pager_show_stats(pager, &slot->stats);
	leave(&before);
}

__attribute__((destructor)) static void end(void)
{
	preload_end();
}

EXPORT void _exit(int status)
{
	preload_end();
	for (;;)
		syscall(SYS_exit_group, status);
}

EXPORT void _Exit(int status)
{
	_exit(status);
}

/* -- whose memory -- */

static void mark(const void *memory, size_t bytes, bool is_managed)
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

/* An allocation or a mapping that is not managed. */
static void count(enum run_reason reason, size_t bytes)
{
	if (!shared || preload_is_inside)
		return;
	__atomic_fetch_add(&shared->unmanaged[reason].count, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shared->unmanaged[reason].bytes, bytes, __ATOMIC_RELAXED);
}

static enum run_reason why_refused(size_t bytes)
{
	struct uvmp_pager_stats stats;

	uvmp_pager_stats(pager, &stats);
	return bytes > stats.managed_most_bytes - stats.managed_bytes ? RUN_BEYOND : RUN_REFUSED;
}

/* Of the pager, which this thread works for. NULL: `reason` says why. */
static void *take_of_pager(size_t bytes, const void *caller, enum run_reason *reason)
{
	void *memory;

	if (!the_pager()) {
		*reason = RUN_PAGERLESS;
		return NULL;
	}
	if (is_for_libc(caller)) {
		*reason = RUN_LIBC;
		return NULL;
	}
	memory = uvmp_pager_alloc(pager, bytes);
	if (memory)
		mark(memory, uvmp_pager_usable(pager, memory), true);
	else
		*reason = why_refused(bytes);
	return memory;
}

__attribute__((noinline)) static void *take_large(size_t bytes, const void *caller)
{
	enum run_reason reason = RUN_STACK;
	void *memory = NULL;
	int error = errno;
	sigset_t before;

	if (!is_on_managed_stack()) {
		enter(&before);
		memory = take_of_pager(bytes, caller, &reason);
		leave(&before);
	}
	if (!memory)
		count(reason, bytes);
	errno = error;
	return memory;
}

/* Small ones that are counted are rare enough for a counter that processes share. */
static inline bool is_too_small(size_t bytes)
{
	if (bytes >= threshold)
		return false;
	if (bytes >= PAGE_BYTES)
		count(RUN_SMALL, bytes);
	return true;
}

/* NULL: the next allocator's turn. */
static void *take_mapping(size_t bytes, const void *caller)
{
	return preload_is_inside || is_too_small(bytes) ? NULL : take_large(bytes, caller);
}

/* The same for malloc and its kin. */
__attribute__((noinline)) static void *take_block(size_t bytes, const void *caller)
{
	if (!next_is_bypassed())
		return take_mapping(bytes, caller);
	count(RUN_OWN, bytes);
	return NULL;
}

static inline void *take_managed(size_t bytes, const void *caller)
{
	if (bytes < PAGE_BYTES || preload_is_inside)
		return NULL;
	return bytes < threshold ? (is_too_small(bytes), NULL) : take_block(bytes, caller);
}

/* From here to the end of its allocation; 0: not managed. */
static size_t usable(const void *memory)
{
	size_t bytes;
	sigset_t before;

	if (!preload_is_in(&preload_managed, memory) || preload_is_inside)
		return 0;
	enter(&before);
	bytes = uvmp_pager_usable(pager, memory);
	leave(&before);
	return bytes;
}

/* Of an allocation's begin. */
static inline size_t usable_whole(const void *memory)
{
	return (uintptr_t)memory % UVMP_PAGER_BLOCK_BYTES != 0 ? 0 : usable(memory);
}

/* Freed on a managed stack: somebody else does it. Linked by their first words. */
static void *late;

static void give_late(void *memory)
{
	void *next = __atomic_load_n(&late, __ATOMIC_RELAXED);

	do
		memcpy(memory, &next, sizeof(next));
	while (!__atomic_compare_exchange_n(&late, &next, memory, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static void give(void *memory)
{
	void *next = NULL;
	sigset_t before;

	if (is_on_managed_stack()) {
		give_late(memory);
		return;
	}
	enter(&before);
	if (late)
		next = __atomic_exchange_n(&late, NULL, __ATOMIC_ACQUIRE);
	while (memory) {
		mark(memory, uvmp_pager_usable(pager, memory), false);
		uvmp_pager_free(pager, memory);
		memory = next;
		if (memory)
			memcpy(&next, memory, sizeof(next));
	}
	leave(&before);
}

/* -- malloc and its kin -- */

EXPORT void *malloc(size_t bytes)
{
	void *memory = take_managed(bytes, CALLER);

	return memory ? memory : next_malloc(bytes);
}

EXPORT void *calloc(size_t number, size_t bytes)
{
	size_t all;
	void *memory = __builtin_mul_overflow(number, bytes, &all) ? NULL : take_managed(all, CALLER);

	return memory ? memory : next_calloc(number, bytes);
}

EXPORT void free(void *memory)
{
	int error = errno;

	if (memory && usable_whole(memory) != 0)
		give(memory);
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
	size_t bytes = usable_whole(memory);

	return bytes != 0 ? bytes : next_usable_size(memory);
}

/* Managed memory shrinks in place down to a half, and moves otherwise. */
static void *resize_managed(void *memory, size_t old, size_t bytes, const void *caller)
{
	void *to;

	if (bytes <= old && bytes > old / 2u)
		return memory;
	to = take_managed(bytes, caller);
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
	size_t old = usable_whole(memory);
	void *to;

	if (old != 0 && bytes != 0)
		return resize_managed(memory, old, bytes, caller);
	if (old != 0) {
		free(memory);
		return NULL;
	}
	if (memory && bytes >= threshold)
		old = next_usable_size(memory);
	to = memory && old == 0 ? NULL : take_managed(bytes, caller);
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
	void *memory = alignment <= UVMP_PAGER_BLOCK_BYTES ? take_managed(bytes, caller) : NULL;

	if (alignment > UVMP_PAGER_BLOCK_BYTES && bytes >= threshold)
		count(RUN_ALIGNED, bytes);
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

static size_t whole_pages(size_t bytes)
{
	return (bytes + PAGE_BYTES - 1u) & ~(PAGE_BYTES - 1u);
}

EXPORT void *pvalloc(size_t bytes)
{
	if (bytes <= SIZE_MAX - PAGE_BYTES)
		return align(PAGE_BYTES, whole_pages(bytes), CALLER);
	errno = ENOMEM;
	return NULL;
}

/* -- functions of other allocators, which may be given managed memory; without such an allocator they are
 * those of the C library's that do the same -- */

#define OF_ALLOCATOR(name)                                                                                   \
	static uintptr_t at;                                                                                 \
	if (at == 0)                                                                                         \
	at = next_function(#name)

EXPORT void dallocx(void *memory, int flags)
{
	OF_ALLOCATOR(dallocx);
	if (at == 0 || usable_whole(memory) != 0 || preload_heap_has(memory))
		free(memory);
	else
		((void (*)(void *, int))at)(memory, flags);
}

EXPORT void sdallocx(void *memory, size_t bytes, int flags)
{
	OF_ALLOCATOR(sdallocx);
	if (at == 0 || usable_whole(memory) != 0 || preload_heap_has(memory))
		free(memory);
	else
		((void (*)(void *, size_t, int))at)(memory, bytes, flags);
}

EXPORT size_t sallocx(const void *memory, int flags)
{
	void *plain = (void *)(uintptr_t)memory;
	OF_ALLOCATOR(sallocx);

	if (at == 0 || usable_whole(memory) != 0 || preload_heap_has(memory))
		return malloc_usable_size(plain);
	return ((size_t(*)(const void *, int))at)(memory, flags);
}

EXPORT void *rallocx(void *memory, size_t bytes, int flags)
{
	OF_ALLOCATOR(rallocx);
	if (at == 0 || usable_whole(memory) != 0 || preload_heap_has(memory))
		return resize(memory, bytes, CALLER);
	return ((void *(*)(void *, size_t, int))at)(memory, bytes, flags);
}

/* Managed memory keeps its size. */
EXPORT size_t xallocx(void *memory, size_t bytes, size_t extra, int flags)
{
	OF_ALLOCATOR(xallocx);
	if (at == 0 || usable_whole(memory) != 0 || preload_heap_has(memory))
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

/* -- mmap and its kin -- */

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
	struct part part = {usable(memory), true};

	if (part.bytes > bytes)
		part.bytes = bytes;
	if (part.bytes != 0)
		return part;
	part.is_managed = false;
	while (part.bytes < bytes) {
		size_t step =
		        UVMP_PAGER_BLOCK_BYTES - (uintptr_t)(memory + part.bytes) % UVMP_PAGER_BLOCK_BYTES;

		part.bytes = step < bytes - part.bytes ? part.bytes + step : bytes;
		if (part.bytes < bytes && usable(memory + part.bytes) != 0)
			break;
	}
	return part;
}

/* Whole blocks that go lose their marks; those at the edges may be needed yet. */
static void unmark(const void *memory, size_t bytes)
{
	uintptr_t mask = UVMP_PAGER_BLOCK_BYTES - 1u;
	uintptr_t first = ((uintptr_t)memory + mask) & ~mask, end = ((uintptr_t)memory + bytes) & ~mask;

	if (first < end)
		mark((void *)first, end - first, false);
}

static int unmap_managed(uint8_t *memory, size_t bytes)
{
	sigset_t before;
	int error;

	enter(&before);
	unmark(memory, bytes);
	error = uvmp_pager_unmap(pager, memory, bytes);
	leave(&before);
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

static void *real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}

/* Of a mapping from the threshold on; RUN_REASONS: it can be managed. */
static enum run_reason why_not(const void *at, int protection, int flags, const void *caller)
{
	if ((flags & MAP_HUGETLB) != 0)
		return RUN_HUGE;
	if ((flags & MAP_ANONYMOUS) == 0)
		return RUN_FILE;
	if ((flags & (MAP_SHARED | MAP_PRIVATE)) != MAP_PRIVATE)
		return RUN_COMMON;
	if (protection == PROT_NONE)
		return RUN_RESERVED;
	if (at || (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0)
		return RUN_FIXED;
	if (protection != (PROT_READ | PROT_WRITE))
		return RUN_PROTECTED;
	if ((flags & (MAP_GROWSDOWN | MAP_STACK | MAP_LOCKED | MAP_32BIT)) != 0)
		return RUN_SPECIAL;
	return next_is_allocator(caller) ? RUN_ALLOCATOR : RUN_REASONS;
}

/* NULL: the kernel's turn. */
static void *map_managed(const void *at, size_t bytes, int protection, int flags, const void *caller)
{
	enum run_reason reason;

	if (preload_is_inside || bytes < PAGE_BYTES)
		return NULL;
	reason = why_not(at, protection, flags, caller);
	if (reason == RUN_REASONS)
		return take_mapping(bytes, caller);
	if (bytes >= threshold)
		count(reason, bytes);
	return NULL;
}

/* Managed memory is whole blocks; munmap will not give back what mmap was not asked for. */
static void *trim(uint8_t *memory, size_t bytes)
{
	size_t all = usable(memory);

	if (bytes < all)
		unmap_managed(memory + bytes, all - bytes);
	return memory;
}

/* What is mapped over managed memory is the program's, and no more managed: the pager hears it from the
 * kernel. To unmap it here first would leave the place to any other thread for a moment, and would lose it if
 * the mapping cannot be made. */
static void *map(void *at, size_t bytes, int protection, int flags, int fd, off_t offset, const void *caller)
{
	void *memory = map_managed(at, bytes, protection, flags, caller);

	if (memory)
		return trim(memory, whole_pages(bytes));
	memory = real_mmap(at, bytes, protection, flags, fd, offset);
	if ((flags & MAP_FIXED) != 0 && memory != MAP_FAILED && preload_managed && !preload_is_inside)
		unmark(memory, whole_pages(bytes));
	return memory;
}

EXPORT void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	return map(at, bytes, protection, flags, fd, offset, CALLER);
}

EXPORT void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	return map(at, bytes, protection, flags, fd, offset, CALLER);
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
	to = map(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0,
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
	if (bytes != 0 && usable(memory) != 0)
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

/* What is resident is the pager's business, and its memory is inherited by a fork in its own way. */
static enum use use_of(int advice)
{
	static const int idle[] = {MADV_WILLNEED, MADV_COLD,      MADV_PAGEOUT,        MADV_POPULATE_READ,
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
	enter(&before);
	error = uvmp_pager_clear(pager, memory, bytes);
	leave(&before);
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

/* Locked memory would stay beyond the budget, and the pager could not take it away. Who asked believes it. */
EXPORT int mlock(const void *memory, size_t bytes)
{
	return usable(memory) != 0 ? 0 : (int)syscall(SYS_mlock, memory, bytes);
}

EXPORT int mlock2(const void *memory, size_t bytes, unsigned flags)
{
	return usable(memory) != 0 ? 0 : (int)syscall(SYS_mlock2, memory, bytes, flags);
}

EXPORT int mlockall(int flags)
{
	return threshold != SIZE_MAX ? 0 : (int)syscall(SYS_mlockall, flags);
}
