#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "emu.h"

#define DEVICE     "/dev/" UVMP_EMU_DEVICE
#define DEBUGFS    "/sys/kernel/debug"
#define INSISTS    20u
#define HANGS_MS   120000u /* a case that takes longer hangs: the slowest take a tenth of it, */
#define SLOWER     6u      /* but in a kernel that looks at each access */
#define SETTLES_MS 10000u
#define TAINTS_MEANING_A_BUG                                                                                 \
	((1u << 5) | (1u << 7) | (1u << 9) | (1u << 14)) /* bad page, died, warned, locked up */

/* What all processes of a case see. */
struct shared {
	int is_failed, is_told;
	char why[512];
};
static struct shared *shared;
static const char *modules = "/modules";
static bool is_good = true;

/* -- small things ------------------------------------------------------------------------------- */

uint64_t emu_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint64_t emu_value(size_t index, uint64_t round)
{
	return (index + 1u) * 0x9e3779b97f4a7c15u + round;
}

void emu_sleep_ms(unsigned ms)
{
	struct timespec rest = {.tv_sec = ms / 1000u, .tv_nsec = (long)(ms % 1000u) * 1000000};

	while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
		;
}

uint64_t emu_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

static sigjmp_buf touch_end;

static void touch_signal(int number)
{
	siglongjmp(touch_end, number);
}

int emu_touch(volatile uint64_t *at, bool is_write)
{
	struct sigaction mine = {.sa_handler = touch_signal}, segv, bus;
	int number;

	sigaction(SIGSEGV, &mine, &segv);
	sigaction(SIGBUS, &mine, &bus);
	number = sigsetjmp(touch_end, 1);
	if (number == 0) {
		uint64_t value = *at;

		if (is_write)
			*at = value;
	}
	sigaction(SIGSEGV, &segv, NULL);
	sigaction(SIGBUS, &bus, NULL);
	return number;
}

char *emu_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0, room = 65536;
	char *text = malloc(room);

	while (fd >= 0 && text) {
		ssize_t got = read(fd, text + used, room - used - 1u);

		if (got <= 0)
			break;
		used += (size_t)got;
		if (used + 1u == room)
			text = realloc(text, room *= 2u);
	}
	if (fd < 0) {
		free(text);
		return NULL;
	}
	close(fd);
	if (text)
		text[used] = 0;
	return text;
}

int emu_file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t done;
	int error;

	if (fd < 0)
		return -errno;
	done = write(fd, text, strlen(text));
	error = done < 0 ? -errno : 0;
	close(fd);
	return error;
}

uint64_t emu_field(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = text; line && *line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		if (strncmp(line, name, length) != 0)
			continue;
		if (line[length] == ' ' || line[length] == ':' || line[length] == '\t')
			return strtoull(line + length + strspn(line + length, ": \t"), NULL, 10);
	}
	return UINT64_MAX;
}

/* -- processes ---------------------------------------------------------------------------------- */

_Noreturn void emu_fail(const char *file, int line, const char *format, ...)
{
	va_list list;
	int used;

	if (__atomic_exchange_n(&shared->is_failed, 1, __ATOMIC_SEQ_CST) == 0) {
		const char *name = strrchr(file, '/');

		used = snprintf(shared->why, sizeof(shared->why), "%s:%d: ", name ? name + 1 : file, line);
		va_start(list, format);
		vsnprintf(shared->why + used, sizeof(shared->why) - (size_t)used, format, list);
		va_end(list);
		__atomic_store_n(&shared->is_told, 1, __ATOMIC_SEQ_CST);
	}
	/* Who ends now may end the others, too. */
	for (unsigned i = 0; i < 1000u && !__atomic_load_n(&shared->is_told, __ATOMIC_SEQ_CST); i++)
		emu_sleep_ms(1);
	_exit(1);
}

pid_t emu_start(void (*run)(void *argument), void *argument)
{
	pid_t child;

	fflush(stdout);
	child = fork();
	EXPECT(child >= 0, "fork: %s", strerror(errno));
	if (child > 0)
		return child;
	run(argument);
	_exit(0);
}

static int end_of(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0)
		EXPECT(errno == EINTR, "waitpid: %s", strerror(errno));
	return status;
}

void emu_finish(pid_t child)
{
	int status = end_of(child);

	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child ended with status 0x%x",
	       (unsigned)status);
}

void emu_finish_killed(pid_t child)
{
	int status = end_of(child);

	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
	       "a child ended with status 0x%x, not by SIGKILL", (unsigned)status);
}

/* -- the module --------------------------------------------------------------------------------- */

static int load_file(const char *name, const char *parameters)
{
	char path[512];
	int fd, error;

	snprintf(path, sizeof(path), "%s/%s.ko", modules, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	error = syscall(SYS_finit_module, fd, parameters, 0) == 0 ? 0 : -errno;
	close(fd);
	return error;
}

int emu_load(const char *parameters)
{
	int error = load_file("uvmpolicy", "");

	if (error != 0 && error != -EEXIST)
		return error;
	return load_file("uvmpolicy_emu", parameters);
}

static int unload_file(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) == 0 ? 0 : -errno;
}

int emu_unload(void)
{
	return unload_file("uvmpolicy_emu");
}

/* The last descriptor of a killed process is released a little after the process was reaped. */
static int unload_when_let_go(void)
{
	uint64_t until = emu_now_ms() + SETTLES_MS;
	int error;

	while ((error = emu_unload()) != 0 && error != -ENOENT && emu_now_ms() < until)
		emu_sleep_ms(20);
	return error;
}

char *emu_debugfs_read(const char *name)
{
	char path[128];
	char *text;

	snprintf(path, sizeof(path), DEBUGFS "/uvmp_emu/%s", name);
	text = emu_file(path);
	EXPECT(text != NULL, "%s: %s", path, strerror(errno));
	return text;
}

int emu_debugfs_write(const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), DEBUGFS "/uvmp_emu/%s", name);
	return emu_file_write(path, text);
}

/* -- the device --------------------------------------------------------------------------------- */

int emu_open(void)
{
	int fd = open(DEVICE, O_RDWR);

	EXPECT(fd >= 0, "open " DEVICE ": %s", strerror(errno));
	return fd;
}

uint64_t *emu_map(int fd, size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	EXPECT(at != MAP_FAILED, "mmap of %zu bytes: %s", bytes, strerror(errno));
	return at;
}

uint64_t *emu_map_at(int fd, size_t bytes, size_t offset)
{
	size_t room = bytes + offset + BLOCK_BYTES;
	char *space = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *begin;
	void *at;

	EXPECT(space != MAP_FAILED, "mmap of address space: %s", strerror(errno));
	begin = (char *)(((uintptr_t)space + BLOCK_BYTES - 1u) & ~(uintptr_t)(BLOCK_BYTES - 1u)) + offset;
	at = mmap(begin, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	EXPECT(at == (void *)begin, "mmap of %zu bytes at %p: %s", bytes, (void *)begin, strerror(errno));
	if (begin > space)
		munmap(space, (size_t)(begin - space));
	munmap(begin + bytes, (size_t)(space + room - (begin + bytes)));
	return at;
}

void emu_unmap(void *at, size_t bytes)
{
	EXPECT(munmap(at, bytes) == 0, "munmap of %zu bytes: %s", bytes, strerror(errno));
}

int emu_ioctl(int fd, unsigned long request, void *argument)
{
	return ioctl(fd, request, argument) == 0 ? 0 : -errno;
}

struct uvmp_emu_stats emu_stats(unsigned gpu)
{
	struct uvmp_emu_stats stats;
	int fd = emu_open();
	int error;

	memset(&stats, 0, sizeof(stats));
	stats.gpu = gpu;
	error = emu_ioctl(fd, UVMP_EMU_STATS, &stats);
	EXPECT(error == 0, "STATS of %u: %s", gpu, strerror(-error));
	close(fd);
	return stats;
}

int emu_advise(int fd, const void *at, size_t bytes, enum uvmp_emu_advice advice, unsigned processor)
{
	struct uvmp_emu_call call = {
	        .address = (uintptr_t)at, .bytes = bytes, .processor = processor, .advice = advice};

	return emu_ioctl(fd, UVMP_EMU_ADVISE, &call);
}

int emu_prefetch(int fd, const void *at, size_t bytes, unsigned processor)
{
	struct uvmp_emu_call call = {.address = (uintptr_t)at, .bytes = bytes, .processor = processor};

	return emu_ioctl(fd, UVMP_EMU_PREFETCH_RANGE, &call);
}

int emu_look(int fd, const void *at, size_t bytes, uint8_t *where, uint32_t *crc)
{
	struct uvmp_emu_look look = {.address = (uintptr_t)at, .bytes = bytes, .where = (uintptr_t)where};
	int error = emu_ioctl(fd, UVMP_EMU_LOOK, &look);

	if (crc)
		*crc = look.crc;
	return error;
}

static uint32_t crc_table[256];

static void crc_table_fill(void)
{
	for (uint32_t i = 0; i < 256u; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (crc & 1u ? 0xedb88320u : 0u);
		crc_table[i] = crc;
	}
}

uint32_t emu_crc(const void *bytes, size_t count)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const unsigned char *at = bytes;
	uint32_t crc = 0xffffffffu;

	pthread_once(&once, crc_table_fill);
	for (size_t i = 0; i < count; i++)
		crc = (crc >> 8) ^ crc_table[(crc ^ at[i]) & 0xffu];
	return ~crc;
}

void emu_expect_crc(int fd, const void *at, size_t bytes, uint32_t crc, const char *when)
{
	uint32_t seen = 0;
	int error = emu_look(fd, at, bytes, NULL, &seen);

	EXPECT(error == 0, "LOOK %s: %s", when, strerror(-error));
	EXPECT(seen == crc, "%s: crc 0x%08x, expected 0x%08x", when, seen, crc);
}

/* The first page that is not held by the set; bytes / PAGE_BYTES: none. */
static size_t first_elsewhere(int fd, const void *at, size_t bytes, unsigned set, unsigned *seen)
{
	size_t pages = bytes / PAGE_BYTES, page = 0;
	uint8_t *where = malloc(pages);
	int error;

	EXPECT(where != NULL, "no memory");
	error = emu_look(fd, at, bytes, where, NULL);
	EXPECT(error == 0, "LOOK at %zu pages: %s", pages, strerror(-error));
	while (page < pages && where[page] == set)
		page++;
	*seen = page < pages ? where[page] : set;
	free(where);
	return page;
}

void emu_expect_where(int fd, const void *at, size_t bytes, unsigned set, const char *when)
{
	unsigned seen;
	size_t page = first_elsewhere(fd, at, bytes, set, &seen);

	EXPECT(page == bytes / PAGE_BYTES, "%s: page %zu is held by the set 0x%x, expected 0x%x", when, page,
	       seen, set);
}

void emu_await_where(int fd, const void *at, size_t bytes, unsigned set, const char *when)
{
	uint64_t until = emu_now_ms() + SETTLES_MS;
	unsigned seen;

	while (first_elsewhere(fd, at, bytes, set, &seen) < bytes / PAGE_BYTES && emu_now_ms() < until)
		emu_sleep_ms(10);
	emu_expect_where(fd, at, bytes, set, when);
}

int emu_gpu_try(int fd, unsigned gpu, enum uvmp_emu_kind kind, const void *at, uint64_t *value)
{
	struct uvmp_emu_access access = {.address = (uintptr_t)at, .value = *value, .kind = kind};
	struct uvmp_emu_warp warp = {.access = (uintptr_t)&access, .accesses = 1, .done = 77, .status = 77};
	struct uvmp_emu_submit submit = {.warp = (uintptr_t)&warp, .warps = 1, .gpu = gpu, .failed = 77};
	int error = emu_ioctl(fd, UVMP_EMU_SUBMIT, &submit);

	EXPECT(error == 0, "SUBMIT to GPU %u: %s", gpu, strerror(-error));
	EXPECT(warp.done == (warp.status == 0) && submit.failed == (warp.status != 0),
	       "a warp with status %d has done %u, and the submission says %u failed", warp.status, warp.done,
	       submit.failed);
	*value = access.value;
	return warp.status;
}

static uint64_t gpu_does(int fd, unsigned gpu, enum uvmp_emu_kind kind, const uint64_t *at, uint64_t value)
{
	int status = emu_gpu_try(fd, gpu, kind, at, &value);

	EXPECT(status == 0, "GPU %u, access of kind %d at %p: status %d", gpu, (int)kind, (const void *)at,
	       status);
	return value;
}

uint64_t emu_gpu_read(int fd, unsigned gpu, const uint64_t *at)
{
	return gpu_does(fd, gpu, UVMP_EMU_READ, at, 0xdeadu);
}

void emu_gpu_write(int fd, unsigned gpu, uint64_t *at, uint64_t value)
{
	gpu_does(fd, gpu, UVMP_EMU_WRITE, at, value);
}

uint64_t emu_gpu_add(int fd, unsigned gpu, uint64_t *at, uint64_t value)
{
	return gpu_does(fd, gpu, UVMP_EMU_ADD, at, value);
}

void emu_job_add(struct emu_job *job, enum uvmp_emu_kind kind, const void *at, uint64_t value)
{
	if (job->accesses == job->room) {
		job->room = job->room ? job->room * 2u : 256u;
		job->access = realloc(job->access, job->room * sizeof(*job->access));
		EXPECT(job->access != NULL, "no memory");
	}
	job->access[job->accesses++] =
	        (struct uvmp_emu_access){.address = (uintptr_t)at, .value = value, .kind = kind};
}

int emu_job_submit(struct emu_job *job, int fd, unsigned gpu, uint32_t share)
{
	uint32_t warps = (uint32_t)((job->accesses + share - 1u) / share);
	struct uvmp_emu_submit submit = {.warps = warps, .gpu = gpu};
	int error;

	free(job->warp);
	job->warps = warps;
	job->warp = calloc(warps, sizeof(*job->warp));
	EXPECT(job->warp != NULL, "no memory");
	for (uint32_t i = 0; i < warps; i++) {
		size_t first = (size_t)i * share, left = job->accesses - first;

		job->warp[i] = (struct uvmp_emu_warp){.access = (uintptr_t)&job->access[first],
		                                      .accesses = left < share ? (uint32_t)left : share,
		                                      .sm = i % 1024u};
	}
	submit.warp = (uintptr_t)job->warp;
	error = emu_ioctl(fd, UVMP_EMU_SUBMIT, &submit);
	job->failed = submit.failed;
	return error;
}

void emu_job_run(struct emu_job *job, int fd, unsigned gpu, uint32_t share)
{
	int error = emu_job_submit(job, fd, gpu, share);

	EXPECT(error == 0, "SUBMIT of %u warps to GPU %u: %s", job->warps, gpu, strerror(-error));
	EXPECT(job->failed == 0, "%u of %u warps failed", job->failed, job->warps);
	for (uint32_t i = 0; i < job->warps; i++)
		EXPECT(job->warp[i].status == 0 && job->warp[i].done == job->warp[i].accesses,
		       "warp %u has done %u of %u, status %d, and the submission says that none failed", i,
		       job->warp[i].done, job->warp[i].accesses, job->warp[i].status);
}

/* The warps that were cancelled, with what each has left. */
static int submit_rest(struct emu_job *job, int fd, unsigned gpu)
{
	struct uvmp_emu_submit submit = {.warp = (uintptr_t)job->warp, .gpu = gpu};
	int error;

	for (uint32_t i = 0; i < job->warps; i++) {
		struct uvmp_emu_warp warp = job->warp[i];

		if (warp.status == 0)
			continue;
		EXPECT(warp.status == -EFAULT, "a warp ended with status %d", warp.status);
		warp.access += warp.done * sizeof(*job->access);
		warp.accesses -= warp.done;
		job->warp[submit.warps++] = warp;
	}
	job->warps = submit.warps;
	error = emu_ioctl(fd, UVMP_EMU_SUBMIT, &submit);
	job->failed = submit.failed;
	return error;
}

void emu_job_insist(struct emu_job *job, int fd, unsigned gpu, uint32_t share)
{
	int error = emu_job_submit(job, fd, gpu, share);

	for (unsigned again = 0; error == 0 && job->failed != 0 && again < INSISTS; again++)
		error = submit_rest(job, fd, gpu);
	EXPECT(error == 0, "SUBMIT to GPU %u: %s", gpu, strerror(-error));
	EXPECT(job->failed == 0, "%u warps failed, %u times and more", job->failed, INSISTS);
}

void emu_job_clear(struct emu_job *job)
{
	job->accesses = 0;
}

void emu_job_free(struct emu_job *job)
{
	free(job->access);
	free(job->warp);
	*job = (struct emu_job){0};
}

/* -- cases -------------------------------------------------------------------------------------- */

static unsigned long taints(void)
{
	char *text = emu_file("/proc/sys/kernel/tainted");
	unsigned long taint = text ? strtoul(text, NULL, 10) : 0;

	free(text);
	return taint & TAINTS_MEANING_A_BUG;
}

static bool is_slow_kernel(void)
{
	char *text = emu_file("/proc/cmdline");
	bool is_slow = text && strstr(text, "kasan");

	free(text);
	return is_slow;
}

/* Ends the case's process, and what it has left running. False: it was still running after a time in which
 * every case is long done. */
static bool wait_for_case(pid_t child, int *status)
{
	uint64_t until = emu_now_ms() + (is_slow_kernel() ? SLOWER : 1u) * HANGS_MS;
	bool is_over;

	while (!(is_over = waitpid(child, status, WNOHANG) == child) && emu_now_ms() < until)
		emu_sleep_ms(2);
	kill(-child, SIGKILL);
	if (!is_over)
		waitpid(child, status, WNOHANG);
	while (is_over && waitpid(-1, NULL, WNOHANG) > 0)
		;
	return is_over;
}

static void check_left_overs(void *argument)
{
	unsigned long taint_before = *(unsigned long *)argument;
	uint64_t until = emu_now_ms() + SETTLES_MS;
	struct uvmp_emu_stats stats = emu_stats(0);

	while ((stats.frames_gpu != 0 || stats.frames_cpu != 0) && emu_now_ms() < until) {
		emu_sleep_ms(20);
		stats = emu_stats(0);
	}
	EXPECT(stats.broken == 0, "%llu of the module's own checks have failed",
	       (unsigned long long)stats.broken);
	EXPECT(stats.frames_gpu == 0 && stats.frames_cpu == 0,
	       "all is closed, and %llu pages of GPU memory and %llu of system memory still hold data",
	       (unsigned long long)stats.frames_gpu, (unsigned long long)stats.frames_cpu);
	EXPECT(taints() == taint_before, "the kernel has become tainted: 0x%lx", taints());
}

static void tell_failure(const char *program, const struct emu_case *one, const char *what, const char *why)
{
	printf("FAIL %s %s: %s%s\n", program, one->name, what, why);
	fflush(stdout);
	is_good = false;
}

/* In the kernel log, to separate the messages of the cases, and to show how long each takes. */
static void mark(const char *program, const struct emu_case *one)
{
	char line[256];

	snprintf(line, sizeof(line), "<6>test: %s %s\n", program, one->name);
	emu_file_write("/dev/kmsg", line);
}

/* False: what follows cannot run. */
static bool run_case(const char *program, const struct emu_case *one)
{
	unsigned long taint = taints();
	int status = 0, error;
	bool is_over;
	pid_t child;

	mark(program, one);
	memset(shared, 0, sizeof(*shared));
	error = one->parameters ? emu_load(one->parameters) : 0;
	if (error != 0) {
		tell_failure(program, one, "the module does not load: ", strerror(-error));
		return false;
	}
	child = fork();
	if (child == 0) {
		setpgid(0, 0);
		one->run();
		_exit(0);
	}
	setpgid(child, child);
	is_over = wait_for_case(child, &status);
	if (is_over && status == 0 && one->parameters)
		is_over = wait_for_case(emu_start(check_left_overs, &taint), &status);
	if (!is_over) {
		tell_failure(program, one, "no end within minutes", "");
		return false;
	}
	error = unload_when_let_go();
	if (!one->parameters && error == -ENOENT)
		error = 0;
	if (shared->is_failed)
		tell_failure(program, one, "", shared->why);
	else if (status != 0)
		tell_failure(program, one, "ended by a signal: ", strsignal(status & 0x7f));
	else if (error != 0)
		tell_failure(program, one, "the module does not unload: ", strerror(-error));
	else
		printf("ok   %s %s\n", program, one->name);
	fflush(stdout);
	return error == 0;
}

static void mount_all(void)
{
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	mount("debugfs", DEBUGFS, "debugfs", 0, NULL);
}

int emu_main(int argc, char **argv, const struct emu_case *cases, size_t count)
{
	const char *slash = strrchr(argv[0], '/');
	const char *program = slash ? slash + 1 : argv[0];
	const char *only = argc > 3 ? argv[3] : NULL;
	bool is_core_loaded;

	if (argc > 1)
		modules = argv[1];
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 2;
	mount_all();
	unload_when_let_go();
	is_core_loaded = access("/sys/module/uvmpolicy", F_OK) == 0;
	for (size_t i = 0; i < count; i++) {
		if (only && strcmp(only, cases[i].name) != 0)
			continue;
		if (!run_case(program, &cases[i]))
			break;
	}
	if (!is_core_loaded)
		unload_file("uvmpolicy");
	return is_good ? 0 : 1;
}
