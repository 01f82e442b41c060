/* Backing stores: a read returns the last write, after other writes, deletions, forks and failures. Tests
 * that need file systems and devices that only root can make report that they are skipped.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pager.h"
#include "store.h"

#define PAGE    UVMP_STORE_PAGE_BYTES
#define MIB     ((size_t)1 << 20)
#define PAGES   640u /* of most tests: no whole number of cells */
#define LONGEST 64u  /* pages of a run */

static char directory[] = "/tmp/test_store_XXXXXX";
static char error_text[300];

/* -- helpers -- */

static uint64_t draw(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15u;
	return (*state ^ *state >> 29) * 0xbf58476d1ce4e5b9u >> 11;
}

/* What page `page` holds in its `version`: noise, text, or hardly anything. */
static void fill(uint8_t *memory, uint64_t page, uint32_t version)
{
	uint64_t state = page << 32 | version, *word = (uint64_t *)(void *)memory;

	for (uint32_t i = 0; i < PAGE / 8u; i++)
		word[i] = (page + version) % 3u == 0 ? draw(&state) : (page + version) % 3u == 1 ? i / 7u : 0;
	word[version % (PAGE / 8u)] = state;
}

static void fill_run(uint8_t *memory, uint64_t page, uint64_t pages, uint32_t version)
{
	for (uint64_t i = 0; i < pages; i++)
		fill(memory + i * PAGE, page + i, version);
}

static uint8_t *aligned(uint64_t pages)
{
	uint8_t *memory = aligned_alloc(PAGE, pages * PAGE);

	assert_non_null(memory);
	return memory;
}

static struct uvmp_pager_store *open_store(const char *name, uint64_t pages)
{
	int error = 1;
	struct uvmp_pager_store *store = uvmp_store_open(name, pages, &error, error_text, sizeof(error_text));

	if (!store)
		fail_msg("%s", error_text);
	return store;
}

static bool holds(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, uint32_t version)
{
	uint8_t *is = aligned(pages), *should = aligned(pages);
	bool is_equal;

	memset(is, 0xa5, pages * PAGE);
	fill_run(should, page, pages, version);
	is_equal = store->read(store, page, pages, is) == 0 && memcmp(is, should, pages * PAGE) == 0;
	free(is);
	free(should);
	return is_equal;
}

static int put(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, uint32_t version)
{
	uint8_t *memory = aligned(pages);
	int error;

	fill_run(memory, page, pages, version);
	error = store->write(store, page, pages, memory);
	free(memory);
	return error;
}

/* What root's commands say last; NULL: they failed. */
static const char *command(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *command(const char *format, ...)
{
	static char line[300];
	char text[600];
	va_list arguments;
	FILE *pipe;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	line[0] = '\0';
	pipe = popen(text, "r");
	if (!pipe)
		return NULL;
	while (fgets(line, sizeof(line), pipe))
		line[strcspn(line, "\n")] = '\0';
	return pclose(pipe) == 0 ? line : NULL;
}

#define SKIP(why)                                                                                            \
	do {                                                                                                 \
		print_message("skipped: %s\n", why);                                                         \
		skip();                                                                                      \
	} while (0)

/* -- against a model -- */

struct model {
	struct uvmp_pager_store *store;
	uint32_t version[PAGES]; /* 0: nothing */
	uint64_t random;
};

static void write_some(struct model *m, uint64_t page, uint64_t pages)
{
	uint32_t version = (uint32_t)(draw(&m->random) % 1000000u) + 1u;

	assert_int_equal(put(m->store, page, pages, version), 0);
	for (uint64_t i = 0; i < pages; i++)
		m->version[page + i] = version;
}

static void check_some(const struct model *m, uint64_t page, uint64_t pages)
{
	uint8_t *is = aligned(pages), should[PAGE];
	bool is_there = true;

	for (uint64_t i = 0; i < pages; i++)
		is_there = is_there && m->version[page + i] != 0;
	assert_int_equal(m->store->read(m->store, page, pages, is), is_there ? 0 : -EIO);
	for (uint64_t i = 0; is_there && i < pages; i++) {
		fill(should, page + i, m->version[page + i]);
		assert_memory_equal(is + i * PAGE, should, PAGE);
	}
	free(is);
}

static void forget_some(struct model *m, uint64_t page, uint64_t pages)
{
	m->store->forget(m->store, page, pages);
	memset(&m->version[page], 0, pages * sizeof(m->version[0]));
}

static void one_step(struct model *m)
{
	uint64_t pages = draw(&m->random) % 3u == 0 ? 1u : 1u + draw(&m->random) % LONGEST;
	uint64_t page = draw(&m->random) % (PAGES - pages + 1u), what = draw(&m->random) % 8u;

	if (what < 3)
		write_some(m, page, pages);
	else if (what < 7)
		check_some(m, page, pages);
	else
		forget_some(m, page, pages);
}

static void check_all(const struct model *m)
{
	uint64_t held = 0;

	for (uint64_t page = 0; page < PAGES; page++) {
		check_some(m, page, 1);
		held += m->version[page] != 0;
	}
	/* of compressed memory a page that is forgotten may remain, with those beside it */
	assert_true(m->store->size(m->store) <= PAGES * PAGE);
	assert_int_equal(m->store->size(m->store) == 0, held == 0);
}

/* Both go on from the same pages, each for itself. */
static void fork_model(struct model *m, bool is_copied)
{
	struct uvmp_pager_store *store = m->store;
	int status = 0;
	pid_t child;

	if (store->fork)
		assert_int_equal(store->fork(store, UVMP_STORE_BEFORE_FORK), is_copied ? 0 : -ENOTSUP);
	child = fork();
	if (child == 0) {
		if (store->fork && store->fork(store, UVMP_STORE_CHILD) != 0)
			_exit(is_copied ? 2 : 0);
		m->random += 12345;
		for (uint32_t i = 0; i < 60; i++)
			one_step(m);
		check_all(m);
		_exit(0); /* a failure has jumped, and ends otherwise */
	}
	if (store->fork)
		assert_int_equal(store->fork(store, UVMP_STORE_PARENT), 0);
	for (uint32_t i = 0; i < 60; i++)
		one_step(m);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	check_all(m);
}

static void model_of(const char *name, uint64_t seed, bool is_copied)
{
	struct model m = {.store = open_store(name, PAGES), .random = seed};

	assert_int_equal(m.store->size(m.store), 0);
	for (uint32_t i = 0; i < 400; i++)
		one_step(&m);
	check_all(&m);
	fork_model(&m, is_copied);
	forget_some(&m, 0, PAGES);
	check_all(&m);
	for (uint32_t i = 0; i < 50; i++)
		one_step(&m);
	fork_model(&m, is_copied);
	m.store->close(m.store);
}

static void test_against_a_model(void **state)
{
	static const char *const name[] = {"mem", "zstd", "zstd:-50", "zstd:3", "file:/dev/shm"};
	char file[64];

	(void)state;
	snprintf(file, sizeof(file), "file:%s", directory);
	model_of(file, 77, true);
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		model_of(name[i], i, true);
}

/* What can be looked at in memory is what was written. */
static void test_at(void **state)
{
	struct uvmp_pager_store *store = open_store("mem", PAGES);
	uint8_t should[PAGE];

	(void)state;
	assert_int_equal(put(store, 3, 2, 9), 0);
	fill(should, 4, 9);
	assert_memory_equal((const uint8_t *)store->at(store, 3) + PAGE, should, PAGE);
	store->close(store);
}

/* -- parallel use: pages of four threads lie side by side -- */

#define THREADS 4u

struct worker {
	struct uvmp_pager_store *store;
	uint32_t number, failed;
};

static void *work(void *context)
{
	struct worker *w = context;
	uint32_t version[PAGES] = {0};
	uint64_t random = w->number;

	for (uint32_t i = 0; i < 500; i++) {
		uint64_t page = draw(&random) % (PAGES / THREADS) * THREADS + w->number;

		if (version[page] == 0 || draw(&random) % 2u == 0) {
			version[page] = i + 1u;
			w->failed += put(w->store, page, 1, i + 1u) != 0;
		}
		w->failed += !holds(w->store, page, 1, version[page]);
		w->failed += w->store->size(w->store) > PAGES * PAGE;
	}
	return NULL;
}

static void test_in_parallel(void **state)
{
	static const char *const name[] = {"mem", "zstd", "file:/tmp", "file:/dev/shm"};

	(void)state;
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		struct uvmp_pager_store *store = open_store(name[i], PAGES);
		struct worker worker[THREADS];
		pthread_t thread[THREADS];

		assert_true(store->is_parallel);
		for (uint32_t t = 0; t < THREADS; t++) {
			worker[t] = (struct worker){store, t, 0};
			assert_int_equal(pthread_create(&thread[t], NULL, work, &worker[t]), 0);
		}
		for (uint32_t t = 0; t < THREADS; t++) {
			pthread_join(thread[t], NULL);
			assert_int_equal(worker[t].failed, 0);
		}
		store->forget(store, 0, PAGES);
		assert_int_equal(store->size(store), 0);
		store->close(store);
	}
}

/* -- space -- */

/* Bytes that the process has in memory. */
static uint64_t resident(void)
{
	unsigned long long all = 0, here = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%llu %llu", &all, &here), 2);
	fclose(file);
	return here * PAGE;
}

/* Many rounds of other pages, of other sizes: what is forgotten is the system's again. */
static void test_memory_comes_back(void **state)
{
	static const char *const name[] = {"mem", "zstd"};
	const uint64_t pages = 64 * MIB / PAGE;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct uvmp_pager_store *store = open_store(name[i], pages);
		uint64_t random = 5, before, at_most = 0;
		uint8_t *memory = aligned(512);

		fill_run(memory, 0, 512, 1);
		before = resident();

		for (uint32_t round = 1; round < 40; round++) {
			uint64_t first = draw(&random) % (pages - 512u);

			assert_int_equal(store->write(store, first, 512, memory), 0);
			assert_int_equal(store->write(store, first + 7u, 200, memory + round * PAGE), 0);
			assert_int_equal(store->read(store, first + 5u, 9, memory), 0);
			at_most = store->size(store) > at_most ? store->size(store) : at_most;
			store->forget(store, first, 512);
			assert_int_equal(store->size(store), 0);
		}
		assert_true(at_most <= 2 * MIB + 2u * 16u * PAGE);
		assert_true(resident() <= before + 8 * MIB); /* of 78 MiB */
		store->close(store);
		free(memory);
	}
}

static void test_noise_is_kept_as_it_is(void **state)
{
	struct uvmp_pager_store *store = open_store("zstd", PAGES);
	uint64_t random = 1, *noise = (uint64_t *)(void *)aligned(PAGES),
	         *is = (uint64_t *)(void *)aligned(PAGES);

	(void)state;
	for (uint64_t i = 0; i < PAGES * PAGE / 8u; i++)
		noise[i] = draw(&random) << 32 ^ draw(&random);
	assert_int_equal(store->write(store, 0, PAGES, noise), 0);
	assert_true(store->size(store) <= PAGES * PAGE);
	assert_int_equal(store->read(store, 0, PAGES, is), 0);
	assert_memory_equal(is, noise, PAGES * PAGE);
	memset(noise, 0, PAGES * PAGE);
	assert_int_equal(store->write(store, 0, PAGES, noise), 0);
	assert_int_equal(store->size(store), PAGES / 16u * PAGE); /* a page a cell is the least */
	free(noise);
	free(is);
	store->close(store);
}

/* -- names and paths -- */

static void refused(const char *name, uint64_t pages, int error, const char *says)
{
	char text[300];
	int is = 0;

	assert_null(uvmp_store_open(name, pages, &is, text, sizeof(text)));
	if (is != error || !strstr(text, says))
		fail_msg("%s: %d, \"%s\"; not %d, \"%s\"", name, is, text, error, says);
	assert_null(uvmp_store_open(name, pages, &is, NULL, 0));
	assert_int_equal(is, error);
}

static void test_names(void **state)
{
	static const char *const bad[] = {"",
	                                  "tape",
	                                  "file",
	                                  "file:",
	                                  "memory",
	                                  "zstd:",
	                                  "zstd:x",
	                                  "zstd:1x",
	                                  "zstd:20",
	                                  "zstd:-51",
	                                  "zstd:99999999999999999999"};
	static const char *const good[] = {"mem", "zstd", "file:/tmp"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refused(bad[i], 1, -EINVAL, "is not accepted; mem, zstd, file:PATH");
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		refused(good[i], 0, -EINVAL, "Invalid argument");
		refused(good[i], UINT64_MAX, -EINVAL, "Invalid argument");
	}
}

static void in_directory(char name[300], const char *leaf)
{
	snprintf(name, 300, "file:%s/%s", directory, leaf);
}

static void test_paths_that_are_refused(void **state)
{
	char name[300], longest[5000];
	int fd;

	(void)state;
	in_directory(name, "pipe");
	assert_int_equal(mkfifo(name + 5, 0600), 0);
	refused(name, 1, -EINVAL, "not a file, directory or block device");
	refused("file:/dev/full", 1, -EINVAL, "not a file, directory or block device");
	in_directory(name, "none/at/all");
	refused(name, 1, -ENOENT, "none/at/all: No such file or directory");
	in_directory(name, "pipe/below");
	refused(name, 1, -ENOTDIR, "Not a directory");
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "file:/", 6);
	longest[sizeof(longest) - 1u] = '\0';
	refused(longest, 1, -ENAMETOOLONG, "File name too long");
	in_directory(name, "nowhere");
	assert_int_equal(symlink("/tmp/not-there-at-all/x", name + 5), 0);
	refused(name, 1, -EEXIST, "a link to nowhere");
	in_directory(name, "full");
	fd = open(name + 5, O_RDWR | O_CREAT, 0600);
	assert_int_equal(write(fd, "mine", 4), 4);
	refused(name, 1, -EEXIST, "holds 4 bytes; only an empty file is accepted");
	assert_int_equal(lseek(fd, 0, SEEK_END), 4);
	close(fd);
	in_directory(name, "link");
	assert_int_equal(symlink("full", name + 5), 0);
	refused(name, 1, -EEXIST, "holds 4 bytes");
}

/* New, empty, and by a link: neither a file nor its contents remain. */
static void test_files_have_no_name(void **state)
{
	static const char *const leaf[] = {"new", "empty", "to-empty"};
	char name[300];

	(void)state;
	in_directory(name, "to-empty");
	assert_int_equal(symlink("empty", name + 5), 0);
	for (size_t i = 0; i < 3; i++) {
		struct uvmp_pager_store *store;

		in_directory(name, "empty");
		close(open(name + 5, O_RDWR | O_CREAT, 0600));
		in_directory(name, leaf[i]);
		store = open_store(name, PAGES);
		assert_int_equal(access(name + 5, F_OK), -1);
		assert_int_equal(put(store, 5, 9, 1), 0);
		assert_true(holds(store, 5, 9, 1));
		store->close(store);
	}
	in_directory(name, "empty");
	assert_int_equal(access(name + 5, F_OK), -1);
}

static void test_relative_paths_outlive_chdir(void **state)
{
	struct uvmp_pager_store *store;
	char before[4096];

	(void)state;
	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(directory), 0);
	store = open_store("file:here", PAGES);
	assert_int_equal(chdir("/proc"), 0); /* where no file can be made */
	assert_int_equal(put(store, 0, 4, 1), 0);
	assert_int_equal(store->fork(store, UVMP_STORE_BEFORE_FORK), 0);
	assert_int_equal(store->fork(store, UVMP_STORE_CHILD), 0);
	assert_true(holds(store, 0, 4, 1));
	store->close(store);
	assert_int_equal(chdir(before), 0);
}

/* -- errors of files -- */

/* The store's file, which has no name. */
static int find_file(void)
{
	DIR *fds = opendir("/proc/self/fd");
	struct dirent *entry;
	int found = -1;

	while (found < 0 && (entry = readdir(fds))) {
		char path[300], to[300] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		if (readlink(path, to, sizeof(to) - 1u) > 0 && strstr(to, "(deleted)") &&
		    strncmp(to, directory, strlen(directory)) == 0)
			found = atoi(entry->d_name);
	}
	closedir(fds);
	return found;
}

static void test_short_reads(void **state)
{
	static const off_t length[] = {8 * PAGE + 100, 8 * PAGE, 512, 0};
	struct uvmp_pager_store *store;
	uint8_t *memory = aligned(8);
	char name[300];
	int fd;

	(void)state;
	in_directory(name, "short");
	store = open_store(name, PAGES);
	fd = find_file();
	assert_true(fd >= 0);
	assert_int_equal(put(store, 0, 16, 1), 0);
	for (size_t i = 0; i < sizeof(length) / sizeof(length[0]); i++) {
		assert_int_equal(ftruncate(fd, length[i]), 0);
		assert_int_equal(store->read(store, 6, 8, memory), -EIO);
		assert_int_equal(holds(store, 0, 8, 1), length[i] >= 8 * PAGE);
	}
	assert_int_equal(put(store, 0, 16, 2), 0);
	assert_true(holds(store, 0, 16, 2));
	store->close(store);
	free(memory);
}

static volatile sig_atomic_t caught;

static void catch_it(int number)
{
	(void)number;
	caught = 1;
}

/* A limit on the size of files is an error of the store, and no signal for the program. */
static void test_limit_of_file_size(void **state)
{
	struct rlimit limit = {4 * MIB, 4 * MIB};
	int status = 0;
	pid_t child;

	(void)state;
	child = fork();
	if (child == 0) {
		struct uvmp_pager_store *store;
		char name[300];

		signal(SIGXFSZ, catch_it);
		setrlimit(RLIMIT_FSIZE, &limit);
		in_directory(name, "limited");
		store = open_store(name, 16 * MIB / PAGE);
		if (put(store, 0, 512, 1) != 0 || put(store, 1000, 20, 1) != 0 ||
		    put(store, 1022, 4, 1) != -EFBIG || put(store, 2000, 1, 1) != -EFBIG)
			_exit(1);
		if (caught != 0 || !holds(store, 0, 512, 1) || !holds(store, 1000, 20, 1) ||
		    holds(store, 1022, 4, 1))
			_exit(2);
		raise(SIGXFSZ); /* the program's own still comes */
		_exit(caught == 1 ? 0 : 3);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* -- a full disk -- */

/* What was stored remains, what is forgotten makes room, and a fork has none. */
static void fill_up(const char *name)
{
	struct uvmp_pager_store *store = open_store(name, 64 * MIB / PAGE);
	uint64_t page = 0;
	int error;

	while ((error = put(store, page, 64, 1)) == 0)
		page += 64;
	assert_int_equal(error, -ENOSPC);
	assert_in_range(page, 256, 8 * MIB / PAGE);
	assert_false(holds(store, page, 64, 1));
	store->forget(store, page, 64);
	assert_true(holds(store, 0, page, 1));
	assert_int_equal(put(store, 64, 64, 2), 0); /* in its old place */
	assert_int_equal(store->fork(store, UVMP_STORE_BEFORE_FORK), -ENOSPC);
	assert_int_equal(store->fork(store, UVMP_STORE_PARENT), 0);
	store->forget(store, 0, 64);
	assert_int_equal(put(store, page, 32, 3), 0);
	assert_true(holds(store, 64, 64, 2));
	assert_true(holds(store, 128, page - 128, 1));
	assert_true(holds(store, page, 32, 3));
	assert_int_not_equal(store->fork(store, UVMP_STORE_BEFORE_FORK), 0);
	assert_int_equal(store->fork(store, UVMP_STORE_CHILD), -EBUSY);
	store->close(store);
}

static void test_full_memory_disk(void **state)
{
	char name[300];

	(void)state;
	in_directory(name, "mount");
	mkdir(name + 5, 0700);
	if (mount("none", name + 5, "tmpfs", 0, "size=6m") != 0)
		SKIP("a full disk: no file system can be mounted");
	fill_up(name);
	assert_int_equal(mount("none", name + 5, "tmpfs", MS_REMOUNT | MS_RDONLY, ""), 0);
	refused(name, 1, -EROFS, "Read-only file system");
	strcat(name, "/new");
	refused(name, 1, -EROFS, "Read-only file system");
	in_directory(name, "mount");
	assert_int_equal(umount(name + 5), 0);
}

/* -- devices: an image behind a loop device -- */

struct loop {
	char image[300], device[300];
};

static bool open_loop(struct loop *loop, const char *bytes, uint32_t sector)
{
	const char *device;

	in_directory(loop->image, "image");
	if (!command("truncate -s 0 %s; truncate -s %s %s", loop->image + 5, bytes, loop->image + 5))
		return false;
	device = command("losetup -f --show -b %u %s 2>&1", sector, loop->image + 5);
	snprintf(loop->device, sizeof(loop->device), "file:%s", device ? device : "");
	return device && strncmp(device, "/dev/", 5) == 0;
}

static void close_loop(const struct loop *loop)
{
	assert_non_null(command("losetup -d %s", loop->device + 5));
}

static void check_device(const struct loop *loop)
{
	struct uvmp_pager_store *store = open_store(loop->device, 64 * MIB / PAGE);
	const uint64_t end = (8u - 1u) * MIB / PAGE; /* behind the first MiB */

	refused(loop->device, 1, -EBUSY, "in use");
	assert_int_equal(put(store, 0, 512, 1), 0);
	assert_int_equal(put(store, end - 5u, 5, 2), 0);
	assert_int_equal(put(store, end - 2u, 4, 3), -ENOSPC);
	assert_int_equal(put(store, end + 100u, 1, 3), -ENOSPC);
	assert_true(holds(store, 0, 512, 1));
	assert_true(holds(store, end - 5u, 3, 2));
	assert_int_equal(store->size(store), 517 * PAGE);
	store->close(store);
	model_of(loop->device, 3, false); /* taken again, with what is ours on it */
}

static void test_devices(void **state)
{
	static const uint32_t sector[] = {512, 4096};
	struct loop loop;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		if (!open_loop(&loop, "8M", sector[i]))
			SKIP("block devices: no loop device can be made");
		check_device(&loop);
		close_loop(&loop);
	}
	assert_true(open_loop(&loop, "2M", 512));
	refused(loop.device, 1, -ENOSPC, "the device has 2097152 bytes; 3 MiB and more");
	close_loop(&loop);
}

/* Never written over: neither when it is mounted, nor when it is not. */
static void test_device_with_a_file_system(void **state)
{
	struct loop loop;
	char name[300];

	(void)state;
	if (!open_loop(&loop, "8M", 512))
		SKIP("a device in use: no loop device can be made");
	in_directory(name, "mount");
	mkdir(name + 5, 0700);
	if (!command("mkfs.ext4 -q -O ^has_journal %s 2>&1", loop.device + 5) ||
	    mount(loop.device + 5, name + 5, "ext4", 0, "") != 0) {
		close_loop(&loop);
		SKIP("a device in use: no ext4 can be made or mounted");
	}
	refused(loop.device, 1, -EBUSY, "in use: mounted");
	fill_up(name);
	assert_int_equal(umount(name + 5), 0);
	refused(loop.device, 1, -EEXIST, "its first MiB is not empty");
	assert_non_null(command("e2fsck -fn %s >/dev/null 2>&1", loop.device + 5));
	close_loop(&loop);
}

/* -- a pager that cannot be made leaves nothing behind, and closes its store -- */

struct own {
	struct uvmp_pager_store store;
	uint32_t closed;
};

static void close_own(struct uvmp_pager_store *store)
{
	((struct own *)store)->closed++;
}

static uint32_t count_fds(void)
{
	DIR *fds = opendir("/proc/self/fd");
	uint32_t count = 0;

	assert_non_null(fds);
	while (readdir(fds))
		count++;
	closedir(fds);
	return count;
}

static uint64_t first_free_fd(void)
{
	int fd = dup(0);

	assert_true(fd >= 0);
	close(fd);
	return (uint64_t)fd;
}

static uint64_t mapped(void)
{
	unsigned long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%llu", &pages), 1);
	fclose(file);
	return pages * PAGE;
}

static int create(struct own *own, const char *store, const char *policy)
{
	struct uvmp_pager_config config;
	struct uvmp_pager *pager = NULL;
	int status;

	uvmp_pager_config_init(&config);
	config.budget_bytes = 8 * MIB;
	config.managed_bytes = 1024 * MIB;
	config.batch_threads = 3;
	config.policy = policy;
	config.store = store;
	config.own_store = own ? &own->store : NULL;
	status = uvmp_pager_create(&config, &pager, error_text, sizeof(error_text));
	if (status == 0)
		uvmp_pager_destroy(pager);
	return status;
}

/* With so many descriptors, or so much address space, more than there are: until it can be made. */
static void with_limits(int resource, uint64_t now, uint64_t step, int error, const char *store)
{
	struct rlimit before, limit;
	struct own own = {{.close = close_own}, 0};
	uint32_t fds = count_fds(), failures = 0;
	uint64_t bytes;
	int status;

	assert_int_equal(getrlimit(resource, &before), 0);
	limit = before;
	bytes = mapped();
	do {
		limit.rlim_cur = now + step * failures;
		assert_int_equal(setrlimit(resource, &limit), 0);
		status = create(store ? NULL : &own, store, NULL);
		assert_int_equal(setrlimit(resource, &before), 0);
		failures++;
		assert_int_equal(count_fds(), fds);
		assert_int_equal(own.closed, store ? 0 : failures);
		if (status != 0 && status != error && status != -EAGAIN)
			fail_msg("%d: %s", status, error_text);
	} while (status != 0 && failures < 200);
	assert_int_equal(status, 0);
	assert_true(failures > 2); /* and the last one is a success */
	assert_true(mapped() < bytes + 64 * MIB);
}

static void test_pagers_that_cannot_be_made(void **state)
{
	struct own own = {{.close = close_own}, 0};
	char file[64];

	(void)state;
	snprintf(file, sizeof(file), "file:%s", directory);
	if (create(NULL, NULL, NULL) != 0)
		SKIP("pagers that cannot be made: no userfaultfd");
	assert_int_equal(create(&own, NULL, "prefetch=sideways"), -EINVAL);
	assert_int_equal(own.closed, 1);
	assert_int_equal(
	        uvmp_pager_create(&(struct uvmp_pager_config){.own_store = &own.store}, NULL, NULL, 0),
	        -EINVAL);
	assert_int_equal(own.closed, 2);
	with_limits(RLIMIT_NOFILE, first_free_fd(), 1, -EMFILE, NULL);
	with_limits(RLIMIT_NOFILE, first_free_fd(), 1, -EMFILE, file);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	with_limits(RLIMIT_AS, mapped(), 16 * MIB, -ENOMEM, "mem");
	with_limits(RLIMIT_AS, mapped(), 16 * MIB, -ENOMEM, "zstd");
#endif
}

/* -- */

static int begin(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	return command("rm -rf %s", directory) ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_against_a_model),
	        cmocka_unit_test(test_at),
	        cmocka_unit_test(test_in_parallel),
	        cmocka_unit_test(test_memory_comes_back),
	        cmocka_unit_test(test_noise_is_kept_as_it_is),
	        cmocka_unit_test(test_names),
	        cmocka_unit_test(test_paths_that_are_refused),
	        cmocka_unit_test(test_files_have_no_name),
	        cmocka_unit_test(test_relative_paths_outlive_chdir),
	        cmocka_unit_test(test_short_reads),
	        cmocka_unit_test(test_limit_of_file_size),
	        cmocka_unit_test(test_full_memory_disk),
	        cmocka_unit_test(test_devices),
	        cmocka_unit_test(test_device_with_a_file_system),
	        cmocka_unit_test(test_pagers_that_cannot_be_made),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
