/* How fast the pager is, beside what it is compared with, measured by turns in one run; pager.sh calls it.
 *
 *   latency   a thread touches pages in random order; against a userfaultfd loop that decides nothing
 *   deciding  a thread touches pages in random order; the time of a fault, and the engine's part of that
 *   scan      a thread touches a word in each 4 KiB of stored memory, in order; against UFFDIO_COPY alone
 *   quarter   access patterns over four times the memory; against the kernel's paging of a mapped file
 *
 * usage: pager SECTION REPEATS SEED MIB DIRECTORY. One line per row on standard output:
 * section,what,system,unit,min,median,max,ratio of its median to that of the first row. Status 77:
 * cannot be measured here, and why. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/userfaultfd.h>

#include "deciding.h"
#include "pager.h"

#define KIB          1024u
#define MIB          ((size_t)1 << 20)
#define PAGE         4096u
#define WORDS        (PAGE / 8u)
#define REPEATS_MOST 32u
#define ROWS_MOST    16u
#define SKIPPED      77

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t random_state;

static uint64_t draw(uint64_t bound)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 33) % bound;
}

static void die(const char *what, int error)
{
	fprintf(stderr, "pager: %s: %s\n", what, strerror(error));
	exit(1);
}

static void skip(const char *why)
{
	printf("%s\n", why);
	exit(SKIPPED);
}

static void *map(size_t bytes)
{
	void *memory =
	        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		die("mmap", errno);
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	return memory;
}

/* -- rows: the same thing by several systems, all of them once in each repeat -- */

struct row {
	const char *system;
	double value[REPEATS_MOST];
};

struct table {
	const char *section, *what, *unit;
	struct row row[ROWS_MOST];
	uint32_t rows, repeats;
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void note(struct table *table, const char *system, uint32_t repeat, double value)
{
	uint32_t i = 0;

	while (i < table->rows && strcmp(table->row[i].system, system) != 0)
		i++;
	if (i == table->rows)
		table->row[table->rows++].system = system;
	table->row[i].value[repeat] = value;
}

/* The first row is what the others are compared with. */
static void print(struct table *table)
{
	for (uint32_t i = 0; i < table->rows; i++) {
		double *value = table->row[i].value;
		uint32_t middle = table->repeats / 2u;

		qsort(value, table->repeats, sizeof(*value), compare);
		printf("%s,%s,%s,%s,%.2f,%.2f,%.2f,%.2f\n", table->section, table->what, table->row[i].system,
		       table->unit, value[0], value[middle], value[table->repeats - 1u],
		       value[middle] / table->row[0].value[middle]);
	}
	fflush(stdout);
}

/* -- the loop that decides nothing -- */

struct loop {
	int fd, stop[2];
	pthread_t thread;
	uint64_t region_bytes, base;
	size_t source_bytes; /* one region, again and again; or as much as there is memory */
	uint8_t *source;
};

static void *serve(void *context)
{
	struct loop *loop = context;
	struct pollfd fds[2] = {{.fd = loop->fd, .events = POLLIN}, {.fd = loop->stop[0], .events = POLLIN}};
	struct uffd_msg message;
	uint64_t to;

	for (;;) {
		if (poll(fds, 2, -1) < 0 || fds[1].revents != 0)
			return NULL;
		if (read(loop->fd, &message, sizeof(message)) != sizeof(message))
			continue;
		to = message.arg.pagefault.address & ~(loop->region_bytes - 1u);
		struct uffdio_copy copy = {.dst = to,
		                           .src = (uint64_t)(uintptr_t)loop->source +
		                                  (to - loop->base) % loop->source_bytes,
		                           .len = loop->region_bytes};

		ioctl(loop->fd, UFFDIO_COPY, &copy);
	}
}

static int open_userfaultfd(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1 /* user mode only */);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0)
		skip("no userfaultfd for this process");
	return fd;
}

static void watch(int fd, void *memory, size_t bytes)
{
	struct uffdio_register range = {.range = {(uint64_t)(uintptr_t)memory, bytes},
	                                .mode = UFFDIO_REGISTER_MODE_MISSING};

	if (ioctl(fd, UFFDIO_REGISTER, &range) != 0)
		die("UFFDIO_REGISTER", errno);
}

static void begin_loop(struct loop *loop, const void *memory, uint64_t region_bytes, size_t source_bytes)
{
	loop->fd = open_userfaultfd();
	loop->region_bytes = region_bytes;
	loop->base = (uint64_t)(uintptr_t)memory;
	loop->source_bytes = source_bytes;
	loop->source = map(source_bytes);
	memset(loop->source, 1, source_bytes);
	if (pipe(loop->stop) != 0 || pthread_create(&loop->thread, NULL, serve, loop) != 0)
		die("the loop", errno);
}

static void end_loop(struct loop *loop)
{
	close(loop->stop[1]);
	pthread_join(loop->thread, NULL);
	close(loop->stop[0]);
	close(loop->fd);
	munmap(loop->source, loop->source_bytes);
}

/* -- the pager -- */

struct setup {
	uint64_t budget_bytes;
	const char *policy, *store;
	uint32_t page_bytes, threads;
};

static struct uvmp_pager *open_pager(const struct setup *setup)
{
	struct uvmp_pager_config config;
	struct uvmp_pager *pager;
	char error[300];

	uvmp_pager_config_init(&config);
	config.budget_bytes = setup->budget_bytes;
	config.policy = setup->policy;
	config.store = setup->store;
	if (setup->page_bytes != 0)
		config.page_bytes = setup->page_bytes;
	if (setup->threads != 0)
		config.batch_threads = setup->threads;
	if (uvmp_pager_create(&config, &pager, error, sizeof(error)) != 0)
		skip(error);
	return pager;
}

/* Memory whose contents are all in the store, and none of it resident. */
static uint64_t *alloc_stored(struct uvmp_pager *pager, size_t bytes)
{
	uint64_t *memory = uvmp_pager_alloc(pager, bytes);
	int error;

	if (!memory)
		die("uvmp_pager_alloc", errno);
	for (size_t i = 0; i < bytes / 8u; i += WORDS)
		memory[i] = i + 1u;
	error = uvmp_pager_prefetch(pager, memory, bytes, false);
	if (error != 0)
		die("uvmp_pager_prefetch", -error);
	return memory;
}

/* -- latency -- */

#define TOUCHES 2048u

static void shuffle(uint32_t *order, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	for (uint32_t i = count; i > 1; i--) {
		uint32_t k = (uint32_t)draw(i), last = order[i - 1u];

		order[i - 1u] = order[k];
		order[k] = last;
	}
}

/* Microseconds of the median touch. */
static double touch_all(uint64_t *memory, uint64_t region_bytes, const uint32_t *order, bool is_write)
{
	static double touch_us[TOUCHES];

	for (uint32_t i = 0; i < TOUCHES; i++) {
		volatile uint64_t *word = memory + order[i] * region_bytes / 8u;
		uint64_t start_ns = now_ns();

		if (is_write)
			*word = i;
		else
			(void)*word;
		touch_us[i] = (double)(now_ns() - start_ns) / 1000.0;
	}
	qsort(touch_us, TOUCHES, sizeof(double), compare);
	return touch_us[TOUCHES / 2u];
}

static double time_loop(uint64_t region_bytes, const uint32_t *order, bool has_source, bool is_write)
{
	size_t bytes = TOUCHES * region_bytes;
	uint8_t *room = map(bytes + region_bytes);
	uint64_t *memory =
	        (uint64_t *)(void *)(room + (region_bytes - (uintptr_t)room % region_bytes) % region_bytes);
	struct loop loop;
	double touch_us;

	begin_loop(&loop, memory, region_bytes, has_source ? bytes : region_bytes);
	watch(loop.fd, memory, bytes);
	touch_us = touch_all(memory, region_bytes, order, is_write);
	end_loop(&loop);
	munmap(room, bytes + region_bytes);
	return touch_us;
}

static double time_pager(uint32_t region_bytes, const uint32_t *order, bool is_stored, bool is_write)
{
	size_t bytes = TOUCHES * (size_t)region_bytes;
	struct setup setup = {bytes, "prefetch=none", "mem", region_bytes, 1};
	struct uvmp_pager *pager = open_pager(&setup);
	uint64_t *memory = is_stored ? alloc_stored(pager, bytes) : uvmp_pager_alloc(pager, bytes);
	double touch_us = touch_all(memory, region_bytes, order, is_write);

	uvmp_pager_destroy(pager);
	return touch_us;
}

static void latency(uint32_t repeats, const char *what, uint32_t region_bytes, bool is_write)
{
	struct table table = {.section = "latency", .what = what, .unit = "us", .repeats = repeats};
	static uint32_t order[TOUCHES];

	for (uint32_t i = 0; i < repeats; i++) {
		shuffle(order, TOUCHES);
		note(&table, "poll + read + UFFDIO_COPY", i, time_loop(region_bytes, order, true, is_write));
		note(&table, "the same; always the same source", i,
		     time_loop(region_bytes, order, false, is_write));
		note(&table, "pager: fresh memory", i, time_pager(region_bytes, order, false, is_write));
		note(&table, "pager: stored memory", i, time_pager(region_bytes, order, true, is_write));
	}
	print(&table);
}

/* -- deciding -- */

struct deciding {
	const char *what, *policy;
	uint32_t share; /* 1/share of the memory is resident */
};

/* Microseconds of a fault: all touches, over the faults that the kernel reported; `us` of them in the engine. */
static double time_faults(const struct deciding *d, const uint32_t *order, bool measures, double *in_engine_us)
{
	size_t bytes = TOUCHES * 32u * KIB;
	struct setup setup = {bytes / d->share, d->policy, "mem", PAGE, 1};
	struct uvmp_pager *pager = open_pager(&setup);
	const uint64_t *memory = alloc_stored(pager, bytes);
	struct uvmp_pager_stats before, after;
	uint64_t start_ns, spent_ns;

	uvmp_pager_stats(pager, &before);
	deciding_measure(measures);
	start_ns = now_ns();
	for (uint32_t i = 0; i < TOUCHES; i++)
		(void)*(const volatile uint64_t *)(memory + order[i] * (32u * KIB / 8u));
	spent_ns = now_ns() - start_ns;
	*in_engine_us = (double)deciding_ns() / 1000.0;
	deciding_measure(false);
	uvmp_pager_stats(pager, &after);
	uvmp_pager_destroy(pager);
	*in_engine_us /= (double)(after.faults - before.faults);
	return (double)spent_ns / 1000.0 / (double)(after.faults - before.faults);
}

static void decide(uint32_t repeats, const struct deciding *d)
{
	struct table table = {.section = "deciding", .what = d->what, .unit = "us", .repeats = repeats};
	static uint32_t order[TOUCHES];
	double in_engine_us;

	for (uint32_t i = 0; i < repeats; i++) {
		shuffle(order, TOUCHES);
		note(&table, "a fault; from the access to its end", i, time_faults(d, order, false, &in_engine_us));
		(void)time_faults(d, order, true, &in_engine_us);
		note(&table, "of which the engine decides", i, in_engine_us);
	}
	print(&table);
}

/* -- scan -- */

static double rate(size_t bytes, uint64_t spent_ns)
{
	return (double)bytes / (double)spent_ns;
}

static double copy_alone(size_t bytes, size_t region_bytes, bool drops)
{
	uint8_t *memory = map(bytes), *source = map(bytes);
	int fd = open_userfaultfd();
	uint64_t start_ns;

	memset(source, 1, bytes);
	watch(fd, memory, bytes);
	start_ns = now_ns();
	for (size_t at = 0; at < bytes; at += region_bytes) {
		struct uffdio_copy copy = {.dst = (uint64_t)(uintptr_t)(memory + at),
		                           .src = (uint64_t)(uintptr_t)(source + at),
		                           .len = region_bytes};

		if (ioctl(fd, UFFDIO_COPY, &copy) != 0)
			die("UFFDIO_COPY", errno);
		if (drops)
			madvise(memory + at, region_bytes, MADV_DONTNEED);
	}
	start_ns = now_ns() - start_ns;
	close(fd);
	munmap(memory, bytes);
	munmap(source, bytes);
	return rate(bytes, start_ns);
}

static double scan_pager(size_t bytes, const struct setup *setup)
{
	struct uvmp_pager *pager = open_pager(setup);
	const volatile uint64_t *memory = alloc_stored(pager, bytes);
	uint64_t start_ns = now_ns();

	for (size_t i = 0; i < bytes / 8u; i += WORDS)
		(void)memory[i];
	start_ns = now_ns() - start_ns;
	uvmp_pager_destroy(pager);
	return rate(bytes, start_ns);
}

struct scan {
	const char *what;
	size_t region_bytes;
	const char *policy;
	uint32_t page_bytes;
};

static void scan(uint32_t repeats, size_t bytes, const struct scan *s)
{
	struct table table = {.section = "scan", .what = s->what, .unit = "GB/s", .repeats = repeats};

	for (uint32_t i = 0; i < repeats; i++) {
		struct setup all = {bytes, s->policy, "mem", s->page_bytes, 1};
		struct setup quarter = {bytes / 4u, s->policy, "mem", s->page_bytes, 1}, threads = all;

		threads.threads = 2;
		note(&table, "UFFDIO_COPY", i, copy_alone(bytes, s->region_bytes, false));
		note(&table, "UFFDIO_COPY + MADV_DONTNEED", i, copy_alone(bytes, s->region_bytes, true));
		note(&table, "pager: room for all", i, scan_pager(bytes, &all));
		note(&table, "pager: room for all; 2 threads copy", i, scan_pager(bytes, &threads));
		note(&table, "pager: room for a quarter", i, scan_pager(bytes, &quarter));
	}
	print(&table);
}

/* -- a quarter of memory -- */

enum pattern { SEQUENTIAL, STRIDED, BLOCKED, RANDOM, PATTERNS };

static const char *const pattern_text[PATTERNS] = {
        "sequential: a word each 4 KiB; 2 passes",
        "strided: a word each 256 KiB; 64 passes; each a page further",
        "blocked: tiles of 64 rows of 16 KiB; rows 256 KiB apart; each tile 4 times",
        "random: as many accesses as there are pages"};

struct program {
	enum pattern pattern;
	bool is_write;
	size_t bytes;
	uint64_t seed;
};

static uint64_t sum;

static void use(const struct program *program, uint64_t *memory, size_t page)
{
	uint64_t *word = memory + page * WORDS;

	sum += *(volatile uint64_t *)word;
	if (program->is_write)
		*(volatile uint64_t *)word = sum;
}

static void run_strided(const struct program *program, uint64_t *memory, size_t stride)
{
	size_t pages = program->bytes / PAGE;

	for (size_t first = 0; first < stride; first++)
		for (size_t page = first; page < pages; page += stride)
			use(program, memory, page);
}

static void run_blocked(const struct program *program, uint64_t *memory)
{
	const size_t row = 64, tile_rows = 64, tile_pages = 4;
	size_t pages = program->bytes / PAGE;

	for (size_t band = 0; band < pages; band += tile_rows * row)
		for (size_t column = 0; column < row; column += tile_pages)
			for (size_t i = 0; i < 4u * tile_rows * tile_pages; i++)
				use(program, memory,
				    band + i / tile_pages % tile_rows * row + column + i % tile_pages);
}

static uint64_t run_program(const struct program *program, uint64_t *memory)
{
	uint64_t start_ns = now_ns();
	size_t pages = program->bytes / PAGE;

	random_state = program->seed;
	if (program->pattern == BLOCKED)
		run_blocked(program, memory);
	for (size_t i = 0; program->pattern == RANDOM && i < pages; i++)
		use(program, memory, draw(pages));
	for (int pass = 0; program->pattern == SEQUENTIAL && pass < 2; pass++)
		run_strided(program, memory, 1);
	if (program->pattern == STRIDED)
		run_strided(program, memory, 64);
	return now_ns() - start_ns;
}

static double run_pager(const struct program *program, const char *policy, const char *store)
{
	struct setup setup = {program->bytes / 4u, policy, store, 0, 1};
	struct uvmp_pager *pager = open_pager(&setup);
	uint64_t *memory = alloc_stored(pager, program->bytes);
	uint64_t spent_ns = run_program(program, memory);

	uvmp_pager_destroy(pager);
	return (double)spent_ns / 1e9;
}

/* -- the kernel's paging: a child in a memory cgroup that maps a file -- */

static char group[512];
static const char *limit_name;

static bool write_text(const char *directory, const char *name, const char *text)
{
	char path[700];
	int fd;
	bool is_written;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return is_written;
}

/* Beneath this process' own group, where the limits of that hold too. Version 1 has a memory hierarchy of its
 * own; in version 2 the group must hand the controller on. */
static bool make_group(const char *mount, const char *own, const char *name)
{
	char parent[400], text[32];

	snprintf(parent, sizeof(parent), "%s%s", mount, strcmp(own, "/") == 0 ? "" : own);
	(void)write_text(parent, "cgroup.subtree_control", "+memory");
	snprintf(group, sizeof(group), "%s/uvmp-bench-%d", parent, getpid());
	if (mkdir(group, 0755) != 0)
		return false;
	limit_name = name;
	snprintf(text, sizeof(text), "%zu", 64u * MIB);
	if (write_text(group, limit_name, text))
		return true;
	rmdir(group);
	return false;
}

static bool open_group(void)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[400];
	bool is_made = false;

	while (file && !is_made && fgets(line, sizeof(line), file)) {
		char *memory = strstr(line, ":memory:");

		line[strcspn(line, "\n")] = '\0';
		if (memory)
			is_made = make_group("/sys/fs/cgroup/memory", memory + 8, "memory.limit_in_bytes");
		else if (strncmp(line, "0::", 3) == 0)
			is_made = make_group("/sys/fs/cgroup", line + 3, "memory.max");
	}
	if (file)
		fclose(file);
	return is_made;
}

static uint64_t map_and_run(const struct program *program, int fd, int advice)
{
	uint64_t *memory = mmap(NULL, program->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return 0;
	madvise(memory, program->bytes, advice);
	return run_program(program, memory);
}

static double run_kernel(const struct program *program, int fd, int advice)
{
	uint64_t spent_ns = 0;
	int result[2], status = 0;
	pid_t pid;

	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (pipe(result) != 0)
		die("pipe", errno);
	pid = fork();
	if (pid == 0) {
		if (write_text(group, "cgroup.procs", "0"))
			spent_ns = map_and_run(program, fd, advice);
		_exit(write(result[1], &spent_ns, sizeof(spent_ns)) != sizeof(spent_ns));
	}
	close(result[1]);
	if (read(result[0], &spent_ns, sizeof(spent_ns)) != sizeof(spent_ns))
		spent_ns = 0;
	close(result[0]);
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		skip("the kernel killed the process in its memory cgroup: try BENCH_MIB=128");
	if (spent_ns == 0)
		die("the mapped file in its group", ECHILD);
	return (double)spent_ns / 1e9;
}

static int make_file(const char *directory, size_t bytes)
{
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	uint64_t page[WORDS] = {0};

	if (fd < 0)
		skip("BENCH_DIR: no unnamed files there");
	for (size_t at = 0; at < bytes; at += PAGE) {
		page[0] = at / 8u + 1u;
		if (write(fd, page, PAGE) != PAGE)
			die("the file to be mapped", errno);
	}
	return fd;
}

#define PAGEWISE "evict=lru4k" /* the driver's prefetcher; pages leave one by one */
#define DEMAND   "prefetch=none evict=lru4k"

static void quarter(uint32_t repeats, uint64_t seed, size_t bytes, const char *directory)
{
	char store[300], text[32];
	int fd;

	if (!open_group())
		skip("no memory cgroup can be made here");
	fd = make_file(directory, bytes);
	snprintf(store, sizeof(store), "file:%s", directory);
	/* a page table and a stack count too */
	snprintf(text, sizeof(text), "%zu", bytes / 4u + 2u * MIB);
	write_text(group, limit_name, text);
	for (uint32_t k = 0; k < 2u * PATTERNS; k++) {
		struct program program = {(enum pattern)(k / 2u), k % 2u == 1, bytes, seed};
		struct table table = {.section = program.is_write ? "quarter/read-write" : "quarter/read",
		                      .what = pattern_text[program.pattern],
		                      .unit = "s",
		                      .repeats = repeats};

		for (uint32_t i = 0; i < repeats; i++) {
			note(&table, "kernel: MADV_NORMAL", i, run_kernel(&program, fd, MADV_NORMAL));
			note(&table, "kernel: MADV_RANDOM", i, run_kernel(&program, fd, MADV_RANDOM));
			note(&table, "pager: file; its default policy", i, run_pager(&program, NULL, store));
			note(&table, "pager: file; driver's policy", i, run_pager(&program, "", store));
			note(&table, "pager: file; " PAGEWISE, i, run_pager(&program, PAGEWISE, store));
			note(&table, "pager: file; " DEMAND, i, run_pager(&program, DEMAND, store));
			note(&table, "pager: RAM; its default policy", i, run_pager(&program, NULL, "mem"));
			note(&table, "pager: RAM; driver's policy", i, run_pager(&program, "", "mem"));
			note(&table, "pager: RAM; " PAGEWISE, i, run_pager(&program, PAGEWISE, "mem"));
		}
		print(&table);
	}
	close(fd);
	rmdir(group);
}

int main(int count, char **argument)
{
	static const struct scan scans[] = {
	        {"64 KiB regions: pages of 64 KiB; prefetch=none", 64u * KIB, "prefetch=none", 65536},
	        {"2 MiB regions: prefetch=block", 2u * MIB, "prefetch=block", 4096},
	        {"2 MiB regions: driver's policy", 2u * MIB, "", 4096}};
	static const struct deciding decisions[] = {{"prefetch=none; room for all", "prefetch=none", 1},
	                                            {"default policy; room for all", NULL, 1},
	                                            {"default policy; room for a quarter", NULL, 4},
	                                            {"driver's policy; room for all", "", 1},
	                                            {"driver's policy; room for a quarter", "", 4}};
	uint32_t repeats;
	size_t bytes;

	if (count != 6) {
		fprintf(stderr, "usage: pager latency|deciding|scan|quarter REPEATS SEED MIB DIRECTORY\n");
		return 2;
	}
	repeats = (uint32_t)strtoul(argument[2], NULL, 10);
	repeats = repeats < 1 ? 1 : repeats > REPEATS_MOST ? REPEATS_MOST : repeats;
	random_state = strtoull(argument[3], NULL, 10);
	bytes = (size_t)strtoull(argument[4], NULL, 10) / 16u * 16u * MIB;
	if (bytes == 0)
		bytes = 16u * MIB;
	if (strcmp(argument[1], "latency") == 0) {
		latency(repeats, "4 KiB: read", 4096, false);
		latency(repeats, "4 KiB: written", 4096, true);
		latency(repeats, "64 KiB: read", 65536, false);
		latency(repeats, "64 KiB: written", 65536, true);
	} else if (strcmp(argument[1], "deciding") == 0) {
		for (size_t i = 0; i < sizeof(decisions) / sizeof(decisions[0]); i++)
			decide(repeats, &decisions[i]);
	} else if (strcmp(argument[1], "scan") == 0) {
		for (size_t i = 0; i < sizeof(scans) / sizeof(scans[0]); i++)
			scan(repeats, bytes, &scans[i]);
	} else {
		quarter(repeats, random_state, bytes, argument[5]);
	}
	return 0;
}
