/* libuvmp-preload: puts a program's large allocations under a pager (uvmp-run).
 *
 * malloc and its kin, and anonymous private mmap, of RUN_THRESHOLD bytes and more give managed memory; the
 * rest is the C library's. Managed memory begins at multiples of 2 MiB, so most pointers are told apart by
 * their last bits. The pager is made at the first large allocation; what it allocates itself is never
 * managed. If it cannot be made the program runs without it, and uvmp-run says so. */
#include "run.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT    __attribute__((visibility("default")))
#define REPORT_NS 200000000u

/* The C library's own, by the names under which they cannot be replaced. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);
extern void *__libc_memalign(size_t, size_t);

static struct uvmp_pager *pager;
static struct run_slot *slot;
static struct run_shared *shared;
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static bool is_tried;
static size_t threshold = SIZE_MAX;
static __thread bool is_inside
        __attribute__((tls_model("initial-exec"))); /* this thread works for the pager */

/* -- making the pager -- */

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

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
	slot = NULL;
	for (uint32_t i = 0; shared && !slot && i < RUN_PROCESSES; i++) {
		int32_t free_pid = 0;

		if (__atomic_compare_exchange_n(&shared->slot[i].pid, &free_pid, (int32_t)getpid(), false,
		                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			slot = &shared->slot[i];
	}
}

static FILE *open_log(const char *name)
{
	const char *path = getenv(name);

	return path && *path ? fopen(path, "we") : NULL;
}

static void go_inside(void)
{
	is_inside = true;
}

static void make_pager(void)
{
	struct uvmp_pager_config config;
	uint32_t nobody = 0;

	uvmp_pager_config_init(&config);
	config.budget_bytes = number_of(RUN_BUDGET, 0);
	config.managed_bytes = number_of(RUN_MANAGED, 0);
	config.store = getenv(RUN_STORE);
	config.policy = getenv(RUN_POLICY);
	config.batch_threads = (uint32_t)number_of(RUN_THREADS, config.batch_threads);
	config.thread_began = go_inside;
	if (shared && __atomic_compare_exchange_n(&shared->first, &nobody, 1, false, __ATOMIC_ACQ_REL,
	                                          __ATOMIC_ACQUIRE)) {
		config.log = open_log(RUN_LOG);
		config.trace = getenv(RUN_TRACE);
	}
	if (slot)
		slot->error = uvmp_pager_create(&config, &pager, slot->text, sizeof(slot->text));
	else
		(void)uvmp_pager_create(&config, &pager, NULL, 0);
}

/* Statistics where uvmp-run sees them. */
static void report(void)
{
	if (slot && pager)
		uvmp_pager_stats(pager, &slot->stats);
}

static void *report_often(void *unused)
{
	struct timespec pause = {0, REPORT_NS};

	is_inside = true;
	for (;;) {
		nanosleep(&pause, NULL);
		report();
	}
	return unused;
}

static void begin_reports(void)
{
	sigset_t every, before;
	pthread_t thread;

	if (!slot || !pager)
		return;
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	if (pthread_create(&thread, NULL, report_often, NULL) == 0)
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* A fork finds the pager made, or not begun. Children of this process have slots of their own. */
static void before_fork(void)
{
	pthread_mutex_lock(&making);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&making);
}

static void in_child(void)
{
	pthread_mutex_init(&making, NULL);
	is_inside = true;
	take_slot();
	begin_reports();
	is_inside = false;
}

static struct uvmp_pager *the_pager(void)
{
	pthread_mutex_lock(&making);
	if (!is_tried) {
		is_tried = true;
		is_inside = true;
		make_pager();
		pthread_atfork(before_fork, in_parent,
		               in_child); /* behind the pager's: in the child it comes later */
		begin_reports();
		is_inside = false;
	}
	pthread_mutex_unlock(&making);
	return pager;
}

__attribute__((constructor)) static void begin(void)
{
	is_inside = true;
	open_shared();
	take_slot();
	threshold = number_of(RUN_THRESHOLD, SIZE_MAX);
	is_inside = false;
}

__attribute__((destructor)) static void end(void)
{
	is_inside = true;
	if (!pager || uvmp_pager_flush(pager) != -EBUSY)
		report();
}

/* A program that leaves without its destructors; perhaps a child of vfork, which lives in its parent's
 * memory. */
EXPORT void _exit(int status)
{
	bool was_inside = is_inside;

	end();
	is_inside = was_inside;
	for (;;)
		syscall(SYS_exit_group, status);
}

EXPORT void _Exit(int status)
{
	_exit(status);
}

/* -- whose memory -- */

static void *take(size_t bytes)
{
	void *memory = NULL;

	if (bytes < threshold || is_inside || !the_pager())
		return NULL;
	is_inside = true;
	memory = uvmp_pager_alloc(pager, bytes);
	is_inside = false;
	return memory;
}

static bool is_managed(const void *memory)
{
	return memory && (uintptr_t)memory % UVMP_PAGER_BLOCK_BYTES == 0 && pager && !is_inside &&
	       uvmp_pager_usable(pager, memory) != 0;
}

static void give(void *memory)
{
	is_inside = true;
	uvmp_pager_free(pager, memory);
	is_inside = false;
}

/* -- malloc and its kin -- */

EXPORT void *malloc(size_t bytes)
{
	void *memory = take(bytes);

	return memory ? memory : __libc_malloc(bytes);
}

EXPORT void *calloc(size_t count, size_t bytes)
{
	size_t all;
	void *memory = __builtin_mul_overflow(count, bytes, &all) ? NULL : take(all);

	return memory ? memory : __libc_calloc(count, bytes);
}

EXPORT void free(void *memory)
{
	int error = errno;

	if (is_managed(memory))
		give(memory);
	else
		__libc_free(memory);
	errno = error;
}

EXPORT size_t malloc_usable_size(void *memory)
{
	static size_t (*real)(void *);

	if (is_managed(memory))
		return uvmp_pager_usable(pager, memory);
	if (!real) {
		void *found = dlsym(RTLD_NEXT, "malloc_usable_size");

		memcpy(&real, &found, sizeof(real));
	}
	return real ? real(memory) : 0;
}

/* Into other memory, from managed or to it. */
static void *move(void *memory, size_t old, size_t bytes)
{
	void *to = malloc(bytes);

	if (!to)
		return NULL;
	memcpy(to, memory, old < bytes ? old : bytes);
	free(memory);
	return to;
}

EXPORT void *realloc(void *memory, size_t bytes)
{
	size_t old;

	if (!memory)
		return malloc(bytes);
	if (!is_managed(memory))
		return bytes < threshold || is_inside ? __libc_realloc(memory, bytes)
		                                      : move(memory, malloc_usable_size(memory), bytes);
	if (bytes == 0) {
		free(memory);
		return NULL;
	}
	old = uvmp_pager_usable(pager, memory);
	return bytes <= old && bytes > old / 2u ? memory : move(memory, old, bytes);
}

EXPORT void *memalign(size_t alignment, size_t bytes)
{
	void *memory = alignment <= UVMP_PAGER_BLOCK_BYTES ? take(bytes) : NULL;

	return memory ? memory : __libc_memalign(alignment, bytes);
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
	return memalign(alignment, bytes);
}

EXPORT int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
	void *got;
	int error = errno;

	if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1u)) != 0)
		return EINVAL;
	got = memalign(alignment, bytes);
	errno = error;
	if (!got)
		return ENOMEM;
	*memory = got;
	return 0;
}

EXPORT void *valloc(size_t bytes)
{
	return memalign((size_t)sysconf(_SC_PAGESIZE), bytes);
}

/* -- mmap and its kin -- */

static void *real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}

EXPORT void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	const int odd = MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_GROWSDOWN | MAP_STACK | MAP_HUGETLB |
	                MAP_LOCKED | MAP_32BIT;
	void *memory = NULL;

	if ((flags & (MAP_PRIVATE | MAP_ANONYMOUS)) == (MAP_PRIVATE | MAP_ANONYMOUS) && (flags & odd) == 0 &&
	    protection == (PROT_READ | PROT_WRITE) && !at)
		memory = take(bytes);
	return memory ? memory : real_mmap(at, bytes, protection, flags, fd, offset);
}

EXPORT void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	return mmap(at, bytes, protection, flags, fd, offset);
}

static bool is_within_managed(const void *memory)
{
	return pager && !is_inside && uvmp_pager_usable(pager, memory) != 0;
}

static size_t whole_pages(size_t bytes)
{
	return (bytes + 4095u) & ~(size_t)4095u;
}

EXPORT int munmap(void *memory, size_t bytes)
{
	size_t usable;
	int error;

	if (!is_within_managed(memory))
		return (int)syscall(SYS_munmap, memory, bytes);
	is_inside = true;
	usable = uvmp_pager_usable(pager, memory);
	if (is_managed(memory) && whole_pages(bytes) > usable)
		bytes = usable;
	error = uvmp_pager_unmap(pager, memory, whole_pages(bytes));
	is_inside = false;
	if (error == 0)
		return 0;
	errno = -error;
	return -1;
}

EXPORT void *mremap(void *memory, size_t old, size_t bytes, int flags, ...)
{
	va_list arguments;
	void *at, *to;

	va_start(arguments, flags);
	at = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void *) : NULL;
	va_end(arguments);
	if (!is_within_managed(memory))
		return (void *)syscall(SYS_mremap, memory, old, bytes, flags, at);
	if (bytes <= uvmp_pager_usable(pager, memory) && !at)
		return memory;
	if ((flags & MREMAP_MAYMOVE) == 0) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	to = at ? real_mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)
	        : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (to == MAP_FAILED)
		return MAP_FAILED;
	memcpy(to, memory, old < bytes ? old : bytes);
	munmap(memory, old);
	return to;
}

EXPORT int madvise(void *memory, size_t bytes, int advice)
{
	int error;

	if (!is_within_managed(memory))
		return (int)syscall(SYS_madvise, memory, bytes, advice);
	if (advice != MADV_DONTNEED && advice != MADV_FREE)
		return 0;
	is_inside = true;
	error = uvmp_pager_clear(pager, memory, bytes);
	is_inside = false;
	if (error == 0)
		return 0;
	errno = -error;
	return -1;
}
