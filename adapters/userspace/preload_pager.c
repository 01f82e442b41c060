/* The pager of a process under uvmp-run: creation at the first large allocation, forks, and the end of the
 * process.
 *
 * If the pager cannot be created, the program runs without one, and uvmp-run reports it. With --require the
 * process ends instead. */
#undef _FORTIFY_SOURCE
#include "high_fd.h"
#include "preload_managed.h"
#include "preload_next.h"
#include "store_internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

uint64_t *preload_managed, *preload_bounced;
struct uvmp_pager *preload_pager;
struct run_shared *preload_shared;
size_t preload_threshold = SIZE_MAX;

static struct run_slot *slot;
static FILE *log_file; /* NULL: another process writes the log, or none */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static bool is_tried, is_made;

/* Signals are blocked while a thread works for the pager: a handler may touch managed memory or allocate, and
 * no thread would service that while this one holds the lock. */
void preload_enter(sigset_t *before)
{
	sigset_t every;

	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, before);
	preload_is_inside = true;
}

void preload_leave(const sigset_t *before)
{
	preload_is_inside = false;
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* -- creation -- */

static void open_shared(void)
{
	const char *path = getenv(RUN_SHARED);
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *memory;

	if (fd < 0)
		return;
	memory = (void *)syscall(SYS_mmap, NULL, sizeof(*preload_shared), PROT_READ | PROT_WRITE, MAP_SHARED,
				 fd, 0);
	close(fd);
	if (memory != MAP_FAILED)
		preload_shared = memory;
}

static void take_slot(void)
{
	uint32_t number = preload_shared ? __atomic_fetch_add(&preload_shared->slots, 1, __ATOMIC_ACQ_REL)
					 : RUN_PROCESSES;

	slot = number < RUN_PROCESSES ? &preload_shared->slot[number] : NULL;
	if (!slot)
		return;
	slot->pid = (int32_t)getpid();
	snprintf(slot->name, sizeof(slot->name), "%s", program_invocation_short_name);
}

static int open_high(const char *path)
{
	return high_fd(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
}

/* The report names a log that cannot be opened, as one that cannot be written. */
static void open_log(const char *path)
{
	int fd = path && *path ? open_high(path) : -1;

	log_file = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (path && *path && !log_file && slot)
		slot->log_error = errno;
}

static void enter_thread(void)
{
	preload_is_inside = true;
	preload_watch_thread();
}

/* Only one process has the log, the trace, and the store by its file name. */
static bool become_first(void)
{
	uint32_t unclaimed = 0;

	return preload_shared && __atomic_compare_exchange_n(&preload_shared->first, &unclaimed, 1, false,
							     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* A store named by a file is for the first process. Other processes have unnamed files in the same directory.
 */
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

/* The file disappears however the process ends. */
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
	config.thread_began = enter_thread;
	if (!preload_take_plugins(&config, text, bytes))
		return -ELIBACC;
	if (is_first) {
		open_log(getenv(RUN_LOG));
		config.log = log_file;
		config.trace = getenv(RUN_TRACE);
		if (slot)
			slot->is_recorded = log_file || (config.trace && *config.trace);
	} else {
		error = store_beside(config.store, store);
		config.store = store;
		if (error != 0) {
			snprintf(text, bytes, "%.180s: the first process has the device", store);
			return error;
		}
	}
	error = uvmp_pager_create(&config, &preload_pager, text, bytes);
	if (error == 0 && is_first)
		remove_name(config.store);
	return error;
}

/* The kernel must not be given managed memory if it cannot have its faults serviced. */
static void set_bounced(void)
{
	if (preload_pager && !uvmp_pager_serves_kernel(preload_pager))
		preload_bounced = preload_managed;
}

/* False: out of address space. */
static bool make_map(void)
{
	void *map = (void *)syscall(SYS_mmap, NULL, PRELOAD_BLOCKS / 8u, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);

	if (map == MAP_FAILED)
		return false;
	preload_managed = map;
	return true;
}

/* The program must not continue as if its memory were limited. */
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

	if (error == 0 && !make_map()) {
		error = -ENOMEM;
		snprintf(text, sizeof(text), "no address space for the map of managed memory (%zu MiB)",
			 (size_t)(PRELOAD_BLOCKS / 8u >> 20));
		uvmp_pager_destroy(preload_pager);
		preload_pager = NULL;
	}
	if (slot) {
		slot->error = error;
		memcpy(slot->text, text, sizeof(text));
	}
	if (error != 0)
		end_if_required(text);
	set_bounced();
	if (slot && preload_pager)
		uvmp_pager_show_stats(preload_pager, &slot->stats);
}

struct uvmp_pager *preload_make_pager(void)
{
	if (__atomic_load_n(&is_made, __ATOMIC_ACQUIRE))
		return preload_pager;
	pthread_mutex_lock(&making);
	if (!is_tried) {
		is_tried = true;
		take_slot();
		make_pager();
		__atomic_store_n(&is_made, true, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&making);
	return preload_pager;
}

/* -- forks -- */

static sigset_t mask_at_fork;

/* A fork finds the pager made, or not begun; then the child makes its own. Signals are blocked from before
 * the fork until after it. The handlers of the program run outside of these, those of the pager inside. */
static void before_fork(void)
{
	sigset_t before;

	preload_enter(&before);
	pthread_mutex_lock(&making);
	mask_at_fork = before;
}

static void in_parent(void)
{
	sigset_t before = mask_at_fork;

	pthread_mutex_unlock(&making);
	preload_leave(&before);
}

/* A child has a slot of its own. Its user may differ from that of the process that made the pager. */
static void in_child(void)
{
	sigset_t before = mask_at_fork;

	preload_heap_in_child();
	pthread_mutex_init(&making, NULL);
	slot = NULL;
	log_file = NULL;
	set_bounced();
	if (preload_pager)
		take_slot();
	if (slot)
		uvmp_pager_show_stats(preload_pager, &slot->stats);
	preload_leave(&before);
}

/* The log is not the pager's, but must be protected as well. */
int preload_next_descriptor(int from)
{
	int next = -1, log = -1;

	if (preload_pager && !preload_is_inside) {
		next = uvmp_pager_next_descriptor(preload_pager, from);
		log = log_file ? fileno_unlocked(log_file) : -1;
	}
	return log >= from && (next < 0 || log < next) ? log : next;
}

/* -- beginning and end of a process -- */

static char *plugin_text(size_t *bytes)
{
	if (!slot)
		return NULL;
	*bytes = sizeof(slot->plugin);
	return slot->plugin;
}

/* Flushes the log. The caller is the thread that writes the log, so no lock is needed. A copying thread that crashes may
 * interrupt a write; the last line may then be cut. */
static void save_log(void)
{
	if (log_file && (fflush_unlocked(log_file) != 0 || ferror_unlocked(log_file)) && slot)
		slot->log_error = errno;
}

static const struct plugin_end plugin_end = {plugin_text, save_log};

__attribute__((constructor)) static void begin(void)
{
	if (strcmp(program_invocation_short_name, "uvmp-run") == 0)
		return;
	preload_is_inside = true;
	open_shared();
	if (preload_shared)
		__atomic_fetch_add(&preload_shared->loaded, 1, __ATOMIC_ACQ_REL);
	(void)next_is_libc(NULL); /* finds the next allocator */
	pthread_atfork(before_fork, in_parent, in_child);
	at_quick_exit(preload_end);
	preload_load_plugins(&plugin_end);
	preload_threshold = run_threshold();
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

/* Writes log and trace before this process ends or is replaced. After vfork they are the parent's. */
void preload_end(void)
{
	sigset_t before;

	if (preload_is_inside || !slot || slot->pid != getpid())
		return;
	preload_enter(&before);
	finish_log(log_file);
	if (preload_pager &&
	    uvmp_pager_flush(preload_pager) != -EBUSY) /* including what the servicing thread is doing */
		uvmp_pager_show_stats(preload_pager, &slot->stats);
	preload_leave(&before);
}

__attribute__((destructor)) static void end(void)
{
	preload_end();
}

EXPORT void _exit(int status)
{
	if (preload_is_inside && slot && slot->pid == getpid())
		preload_plugin_exits();
	preload_end();
	for (;;)
		syscall(SYS_exit_group, status);
}

EXPORT void _Exit(int status)
{
	_exit(status);
}

EXPORT void exit(int status)
{
	static void (*next)(int);
	void *found;

	if (preload_is_inside && slot && slot->pid == getpid())
		preload_plugin_exits();
	found = dlsym(RTLD_NEXT, "exit");
	memcpy(&next, &found, sizeof(next));
	next(status);
	for (;;)
		syscall(SYS_exit_group, status);
}
