/* What a pager records: the trace reads, also of a program that is killed and of a file that is full; the
 * simulator decides the same; sampled pages keep their contents. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "untimed.h"
#include "support/paging.h"
#include "pager_internal.h"
#include "source.h"

static char folder[] = "/tmp/test_pager_record_XXXXXX";
static char path[64], other[64], error[SOURCE_ERROR_MAX];

static void name_files(const char *end)
{
	snprintf(path, sizeof(path), "%s/trace.csv%s", folder, end);
	snprintf(other, sizeof(other), "%s/log", folder);
}

static struct uvmp_pager *open_pager(const char *trace, const char *policy, FILE *log, uint32_t sample)
{
	struct uvmp_pager_config config;

	uvmp_pager_config_init(&config);
	config.budget_bytes = 8 * MIB;
	config.policy = policy;
	config.trace = trace;
	config.log = log;
	config.sample_pages = sample;
	return open_config(&config);
}

static void write_bytes(volatile uint8_t *memory, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += PAGE)
		memory[at] = (uint8_t)(at / PAGE % 251u);
}

static void check_bytes(const volatile uint8_t *memory, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += PAGE) {
		if (memory[at] != at / PAGE % 251u)
			fail_msg("page %zu", at / PAGE);
	}
}

/* Rows of the trace, which must be good to its end. */
static size_t rows(void)
{
	struct source *source = trace_open(path, error);
	struct source_row row;
	size_t accesses = 0;

	if (!source)
		fail_msg("%s", error);
	for (source->next(source, &row); row.kind != SOURCE_END; source->next(source, &row)) {
		if (row.kind == SOURCE_BAD)
			fail_msg("%s", source->error);
		accesses += row.kind == SOURCE_ACCESS;
	}
	source->close(source);
	return accesses;
}

static size_t size_of(const char *name)
{
	struct stat info;

	assert_int_equal(stat(name, &info), 0);
	return (size_t)info.st_size;
}

/* -- the file -- */

static void record_16_mib(const char *end)
{
	struct uvmp_pager *pager;

	name_files(end);
	pager = open_pager(path, "prefetch=none", NULL, 0);
	write_bytes(uvmp_pager_alloc(pager, 16 * MIB), 16 * MIB);
	uvmp_pager_destroy(pager);
	assert_int_equal(rows(), 16 * MIB / PAGE);
}

static void test_a_plain_trace(void **state)
{
	(void)state;
	record_16_mib("");
	assert_true(size_of(path) > 100000);
}

/* The kernel gives the address again; a trace cannot. */
static void test_memory_that_the_program_unmaps(void **state)
{
	struct uvmp_pager *pager;

	(void)state;
	name_files("");
	pager = open_pager(path, "prefetch=none", NULL, 0);
	for (int round = 0; round < 8; round++) {
		void *memory = uvmp_pager_alloc(pager, 4 * MIB);

		assert_non_null(memory);
		write_bytes(memory, 4 * MIB);
		assert_int_equal(munmap(memory, 4 * MIB), 0);
	}
	uvmp_pager_destroy(pager);
	assert_int_equal(rows(), 8 * 4 * MIB / PAGE);
}

static void test_a_compressed_trace(void **state)
{
	(void)state;
#ifdef HAVE_ZSTD
	record_16_mib(".zst");
	assert_true(size_of(path) < 100000);
#else
	struct uvmp_pager_config config;
	struct uvmp_pager *pager;

	uvmp_pager_config_init(&config);
	config.budget_bytes = 8 * MIB;
	config.trace = "trace.csv.zst";
	assert_int_equal(uvmp_pager_create(&config, &pager, error, sizeof(error)), -ENOTSUP);
	assert_non_null(strstr(error, "without zstd"));
#endif
}

static void test_a_trace_that_cannot_be(void **state)
{
	struct uvmp_pager_config config;
	struct uvmp_pager *pager;

	(void)state;
	uvmp_pager_config_init(&config);
	config.budget_bytes = 8 * MIB;
	config.trace = "/nowhere/at/all";
	assert_int_equal(uvmp_pager_create(&config, &pager, error, sizeof(error)), -ENOENT);
	assert_non_null(strstr(error, "/nowhere/at/all: No such file"));
	config.trace = NULL;
	config.sample_pages = 4097;
	assert_int_equal(uvmp_pager_create(&config, &pager, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "a sample of 4097 pages"));
}

static void kill_a_recording(const char *end)
{
	const struct timespec pause = {0, 10000000};
	size_t before = 0, size;
	pid_t child;
	int status;

	name_files(end);
	unlink(path);
	child = fork();
	if (child == 0) {
		struct uvmp_pager *pager = open_pager(path, "prefetch=none", NULL, 0);
		uint8_t *memory = uvmp_pager_alloc(pager, 16 * MIB);

		for (;;)
			write_bytes(memory, 16 * MIB);
	}
	for (int pieces = 0; pieces < 3; nanosleep(&pause, NULL)) {
		struct stat info;

		size = stat(path, &info) == 0 ? (size_t)info.st_size : 0;
		pieces += size > before;
		before = size;
	}
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(rows() > 0);
}

static void test_a_program_that_is_killed(void **state)
{
	(void)state;
	kill_a_recording("");
#ifdef HAVE_ZSTD
	kill_a_recording(".zst");
#endif
}

/* The trace ends early and is valid; the program continues. */
static void test_a_file_that_is_full(void **state)
{
	struct rlimit limit, less;
	struct uvmp_pager *pager;
	uint8_t *memory;

	(void)state;
	name_files("");
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	less = limit;
	less.rlim_cur = 400000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
	pager = open_pager(path, "prefetch=none", NULL, 0);
	memory = uvmp_pager_alloc(pager, 64 * MIB);
	write_bytes(memory, 64 * MIB);
	check_bytes(memory, 64 * MIB);
	assert_int_equal(uvmp_pager_flush(pager), -EFBIG);
	assert_int_equal(stats_of(pager).trace_error, -EFBIG);
	uvmp_pager_destroy(pager);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_true(size_of(path) <= 400000);
	(void)rows();

	pager = open_pager("/dev/full", "prefetch=none", NULL, 0);
	memory = uvmp_pager_alloc(pager, 16 * MIB);
	write_bytes(memory, 16 * MIB);
	check_bytes(memory, 16 * MIB);
	assert_int_equal(uvmp_pager_flush(pager), -ENOSPC);
	uvmp_pager_destroy(pager);
}

/* A program may close what it does not know, and use the number for its own file. */
static void test_a_descriptor_that_is_taken(void **state)
{
	struct stat trace, now;
	struct uvmp_pager *pager;
	int mine, fd = 0;

	(void)state;
	name_files("");
	pager = open_pager(path, "prefetch=none", NULL, 0);
	mine = open(other, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(stat(path, &trace), 0);
	while (fstat(fd, &now) != 0 || now.st_ino != trace.st_ino || now.st_dev != trace.st_dev)
		assert_true(++fd < 10000);
	assert_int_equal(dup2(mine, fd), fd);
	write_bytes(uvmp_pager_alloc(pager, 8 * MIB), 8 * MIB);
	assert_int_equal(uvmp_pager_flush(pager), -EBADF);
	uvmp_pager_destroy(pager);
	assert_int_equal(size_of(other), 0);
	close(mine);
}

/* -- the simulator -- */

static void play(struct uvmp_pager *pager)
{
	uint8_t *a = uvmp_pager_alloc(pager, 12 * MIB), *b = uvmp_pager_alloc(pager, 8 * MIB), *c;

	write_bytes(a, 12 * MIB);
	assert_int_equal(uvmp_pager_prefetch(pager, b, MIB, true), 0);
	write_bytes(b, 8 * MIB);
	check_bytes(a, 12 * MIB);
	assert_int_equal(uvmp_pager_prefetch(pager, a + MIB, MIB, false), 0);
	assert_int_equal(uvmp_pager_advise(pager, b, MIB, UVMP_PAGER_DISCARD), 0);
	assert_int_equal(uvmp_pager_advise(pager, a, 4 * MIB, UVMP_PAGER_PREFER_RESIDENT), 0);
	write_bytes(a, 12 * MIB);
	assert_int_equal(uvmp_pager_clear(pager, a, 65536), 0);
	assert_int_equal(uvmp_pager_free(pager, b), 0);
	c = uvmp_pager_alloc(pager, 16 * MIB);
	write_bytes(c, 16 * MIB);
	assert_int_equal(uvmp_pager_free(pager, a), 0);
	write_bytes(c, 16 * MIB);
	check_bytes(c, 16 * MIB);
	assert_int_equal(uvmp_pager_free(pager, c), 0);
}

static void plays_the_same(const char *policy)
{
	struct sim_memory memory = {.bytes = 8 * MIB};
	struct sim_result result;
	struct uvmp_policy parsed;
	char *log[2];
	size_t bytes[2];
	FILE *out = open_memstream(&log[0], &bytes[0]);
	struct uvmp_pager *pager;
	struct source *source;

	name_files("");
	pager = open_pager(path, policy, out, 0);
	play(pager);
	uvmp_pager_destroy(pager);
	fclose(out);
	out = open_memstream(&log[1], &bytes[1]);
	assert_int_equal(uvmp_policy_parse(policy, strlen(policy), &parsed, NULL), UVMP_OK);
	source = trace_open(path, error);
	assert_non_null(source);
	if (!untimed_run(source, &(struct sim_run){&parsed, memory, 1, {.file = out}, 0, NULL}, &result, error))
		fail_msg("%s", error);
	source->close(source);
	fclose(out);
	assert_true(bytes[0] > 10000);
	assert_int_equal(bytes[0], bytes[1]);
	assert_memory_equal(log[0], log[1], bytes[0]);
	free(log[0]);
	free(log[1]);
}

/* Calls and frees, too. */
static void test_the_simulator_decides_the_same(void **state)
{
	static const char *const policy[] = {"preset=nvidia-595", "prefetch=none evict=lru4k",
					     "preset=uvmsmart-tbn", "preset=access-lfu"};

	(void)state;
	for (size_t i = 0; i < sizeof(policy) / sizeof(policy[0]); i++)
		plays_the_same(policy[i]);
}

/* -- sampling -- */

/* Written, read, cleared, sent out and freed while pages of it are aside. */
static void test_sampled_pages_keep_their_contents(void **state)
{
	struct uvmp_pager *pager;
	uint64_t x = 1, faults;
	uint32_t *model = calloc(12 * MIB / PAGE, sizeof(*model));
	volatile uint32_t *memory;

	(void)state;
	name_files("");
	pager = open_pager(path, "prefetch=none evict=lru4k", NULL, 512);
	memory = uvmp_pager_alloc(pager, 12 * MIB);
	while (stats_of(pager).touches < 1000 || stats_of(pager).evictions < 1000) {
		for (uint32_t i = 0; i < 20000; i++) {
			size_t page;

			x = x * 6364136223846793005u + 1442695040888963407u;
			page = (x >> 33) % (12 * MIB / PAGE);
			if (memory[page * PAGE / 4u + page % 1024u] != model[page])
				fail_msg("page %zu", page);
			if ((x >> 60) == 1)
				model[page]++, memory[page * PAGE / 4u + page % 1024u]++;
		}
		assert_int_equal(uvmp_pager_clear(pager, (uint8_t *)(uintptr_t)memory + 16 * PAGE, 4 * PAGE),
				 0);
		memset(model + 16, 0, 4 * sizeof(*model));
		assert_int_equal(
			uvmp_pager_prefetch(pager, (uint8_t *)(uintptr_t)memory + 8 * MIB, MIB, false), 0);
		uvmp_pager_free(pager, uvmp_pager_alloc(pager, MIB));
	}
	assert_int_equal(stats_of(pager).trace_error, 0);
	faults = stats_of(pager).faults;
	uvmp_pager_destroy(pager);
	assert_true(rows() >= 1000 && rows() + 100000 > faults);
	free(model);
}

/* A child has a copy of what is aside, too. */
static void test_sampling_and_fork(void **state)
{
	struct uvmp_pager *pager = open_pager(NULL, "prefetch=none", NULL, 4096);
	uint8_t *memory = uvmp_pager_alloc(pager, 3 * MIB);
	const struct timespec pause = {0, 30000000};
	int status;
	pid_t child;

	(void)state;
	write_bytes(memory, 3 * MIB);
	for (int i = 0; i < 4; i++) {
		nanosleep(&pause, NULL);
		child = fork();
		if (child == 0) {
			for (size_t at = 0; at < 3 * MIB; at += PAGE) {
				if (memory[at] != at / PAGE % 251u)
					_exit(1);
			}
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		check_bytes(memory, 3 * MIB);
	}
	assert_true(stats_of(pager).touches > 0);
	uvmp_pager_destroy(pager);
}

/* -- numbers of threads -- */

static void test_numbers_of_threads(void **state)
{
	struct threads threads = {0};

	(void)state;
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 3000; i++)
			assert_int_equal(threads_number(&threads, 1000u + i * 256u), i);
	}
	assert_int_equal(threads_number(&threads, 0), 0);
	threads_close(&threads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_plain_trace),
					   cmocka_unit_test(test_memory_that_the_program_unmaps),
					   cmocka_unit_test(test_a_compressed_trace),
					   cmocka_unit_test(test_a_trace_that_cannot_be),
					   cmocka_unit_test(test_a_program_that_is_killed),
					   cmocka_unit_test(test_a_file_that_is_full),
					   cmocka_unit_test(test_a_descriptor_that_is_taken),
					   cmocka_unit_test(test_the_simulator_decides_the_same),
					   cmocka_unit_test(test_sampled_pages_keep_their_contents),
					   cmocka_unit_test(test_sampling_and_fork),
					   cmocka_unit_test(test_numbers_of_threads)};
	int failed;

	if (!can_page(NULL))
		return 0;
	if (!mkdtemp(folder))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	name_files(".zst");
	unlink(path);
	name_files("");
	unlink(path);
	unlink(other);
	rmdir(folder);
	return failed;
}
