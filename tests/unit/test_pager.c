/* The pager with real faults: reads return what was written, while other pages are evicted and loaded. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/around.h"
#include "support/paging.h"
#include "support/seed.h"

/* -- bad input -- */

static void refused(struct uvmp_pager_config *config, int status, const char *says)
{
	struct uvmp_pager *pager = NULL;

	pager_error[0] = '\0';
	assert_int_equal(uvmp_pager_create(config, &pager, pager_error, sizeof(pager_error)), status);
	assert_null(pager);
	if (!strstr(pager_error, says))
		fail_msg("\"%s\" does not say \"%s\"", pager_error, says);
	assert_int_equal(uvmp_pager_create(config, &pager, NULL, 0), status);
}

static void test_bad_configurations(void **state)
{
	struct uvmp_pager_config config;
	struct uvmp_pager *pager;

	(void)state;
	uvmp_pager_config_init(&config);
	refused(&config, -EINVAL, "budget: 0 bytes");
	config.budget_bytes = 8 * MIB - 1u;
	refused(&config, -EINVAL,
	        "budget: 8388607 bytes are not accepted; 8 MiB and more: one instruction may need four "
	        "VABlocks");
	config.budget_bytes = UINT64_MAX;
	refused(&config, -EINVAL, "64 TiB at most");
	config.budget_bytes = 8 * MIB;
	config.policy = "prefetch=sideways";
	refused(&config, -EINVAL, "policy: prefetch: \"sideways\" is not accepted");
	config.policy = "max_batches=0";
	refused(&config, -EINVAL, "services no fault");
	config.policy = "batch=65536";
	refused(&config, -EINVAL, "policy: batch: 65536 is not accepted; 1..65535");
	config.policy = NULL;
	config.page_bytes = 8192;
	refused(&config, -EINVAL, "pages of 8192 bytes");
	config.page_bytes = 65536;
	config.policy = "evict=lru4k";
	refused(&config, -EINVAL, "only evict=lru");
	config.policy = NULL;
	config.page_bytes = 4096;
	config.batch_threads = 0;
	refused(&config, -EINVAL, "0 threads");
	config.batch_threads = 1;
	config.managed_bytes = 1;
	refused(&config, -EINVAL, "managed memory: 1 bytes");
	config.managed_bytes = (uint64_t)1 << 46;
	refused(&config, -EINVAL, "(managed_bytes, --managed): 70368744177664 bytes are not accepted; 3516");
	config.managed_bytes = 0;
	config.store = "tape";
	refused(&config, -EINVAL, "\"tape\" is not accepted; mem, zstd, file:PATH");
	config.store = "file:/nowhere/at/all";
	refused(&config, -ENOENT, "No such file");
	config.store = "file:/dev/null";
	refused(&config, -EINVAL, "not a file, directory or block device");
	assert_int_equal(uvmp_pager_create(NULL, &pager, pager_error, sizeof(pager_error)), -EINVAL);
	assert_int_equal(uvmp_pager_create(&config, NULL, NULL, 0), -EINVAL);
	uvmp_pager_destroy(NULL);
}

/* A file that holds something is not ours. */
/* Callers that were compiled with a shorter or a longer version of a structure. */
static void test_sizes_of_other_versions(void **state)
{
	struct {
		struct uvmp_pager_config config;
		unsigned char more[8];
	} longer;
	struct {
		struct uvmp_pager_stats stats;
		unsigned char more[8];
	} shown = {.more = {1}};
	size_t until_trace = offsetof(struct uvmp_pager_config, trace);
	struct uvmp_pager *pager;

	(void)state;
	memset(&longer, 0xff, sizeof(longer));
	uvmp_pager_config_init_size(&longer.config, until_trace);
	assert_int_equal(longer.config.page_bytes, 4096);
	assert_ptr_equal(longer.config.trace, (void *)UINTPTR_MAX); /* not of that version: not written */
	longer.config.budget_bytes = UVMP_PAGER_BUDGET_LEAST;
	assert_int_equal(uvmp_pager_create_size(&longer.config, until_trace, &pager, pager_error, sizeof(pager_error)), 0);

	uvmp_pager_stats_size(pager, &shown.stats, offsetof(struct uvmp_pager_stats, managed_bytes));
	assert_true(shown.stats.budget_bytes == UVMP_PAGER_BUDGET_LEAST);
	assert_true(shown.stats.managed_most_bytes == 0);
	uvmp_pager_stats_size(pager, &shown.stats, sizeof(shown));
	assert_true(shown.stats.managed_most_bytes != 0);
	assert_int_equal(shown.more[0], 0);
	shown.more[0] = 1;
	uvmp_pager_show_stats_size(pager, &shown.stats, sizeof(shown));
	assert_non_null(uvmp_pager_alloc(pager, MIB));
	assert_true(shown.stats.managed_bytes == 2 * MIB);
	assert_int_equal(shown.more[0], 0);
	uvmp_pager_destroy(pager);

	uvmp_pager_config_init_size(&longer.config, sizeof(longer));
	longer.config.budget_bytes = UVMP_PAGER_BUDGET_LEAST;
	assert_int_equal(uvmp_pager_create_size(&longer.config, sizeof(longer), &pager, pager_error, sizeof(pager_error)), 0);
	uvmp_pager_destroy(pager);
	longer.more[7] = 1;
	assert_int_equal(uvmp_pager_create_size(&longer.config, sizeof(longer), &pager, pager_error, sizeof(pager_error)), -EINVAL);
	assert_string_equal(pager_error, "the configuration has fields that this library does not have");
}

/* Statistics for other processes: a copy is of one moment, or says that it is not. */
static void test_shown_statistics(void **state)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, "mem");
	struct uvmp_pager_stats shown, copy, now;

	(void)state;
	memset(&shown, 0, sizeof(shown));
	uvmp_pager_show_stats(pager, &shown);
	assert_non_null(uvmp_pager_alloc(pager, MIB));
	assert_true(shown.sequence != 0 && shown.sequence % 2 == 0);
	assert_true(uvmp_pager_read_stats(&shown, &copy));
	assert_memory_equal(&copy, &shown, sizeof(copy));
	uvmp_pager_stats(pager, &now);
	assert_true(copy.managed_bytes == now.managed_bytes && copy.budget_bytes == now.budget_bytes);
	shown.sequence--; /* a writer that died in the middle */
	assert_false(uvmp_pager_read_stats(&shown, &copy));
	assert_true(copy.managed_bytes == now.managed_bytes);
	assert_non_null(uvmp_pager_alloc(pager, MIB));
	assert_true(uvmp_pager_read_stats(&shown, &copy));
	copy.managed_most_bytes = 1;
	assert_true(uvmp_pager_read_stats_size(&shown, &copy, offsetof(struct uvmp_pager_stats, managed_most_bytes)));
	assert_true(copy.managed_most_bytes == 1); /* not of that version: not written */
	uvmp_pager_show_stats(pager, NULL);
	uvmp_pager_destroy(pager);
}

static void test_metrics(void **state)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, "mem");
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes), *full = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(uvmp_pager_alloc(pager, MIB));
	assert_int_equal(uvmp_pager_write_metrics(pager, out), 0);
	fclose(out);
	assert_non_null(strstr(text, "# TYPE uvmp_pager_in_bytes counter\n# UNIT uvmp_pager_in_bytes bytes\n# HELP "));
	assert_non_null(strstr(text, "\nuvmp_pager_managed_bytes 2097152\n"));
	assert_non_null(strstr(text, "\nuvmp_pager_faults_total 0\n"));
	assert_non_null(strstr(text, "\nuvmp_pager_waited_seconds_total 0.000000000\n"));
	assert_string_equal(text + bytes - 6, "# EOF\n");
	assert_int_equal(uvmp_pager_write_metrics(NULL, stdout), -EINVAL);
	assert_int_equal(uvmp_pager_write_metrics(pager, NULL), -EINVAL);
	if (full) {
		assert_int_equal(uvmp_pager_write_metrics(pager, full), -ENOSPC);
		fclose(full);
	}
	free(text);
	uvmp_pager_destroy(pager);
}

static void test_a_file_in_use_is_left_alone(void **state)
{
	struct uvmp_pager_config config;
	char path[] = "/tmp/test_pager_XXXXXX", store[64];
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(write(fd, "mine", 4), 4);
	uvmp_pager_config_init(&config);
	config.budget_bytes = 8 * MIB;
	snprintf(store, sizeof(store), "file:%s", path);
	config.store = store;
	refused(&config, -EEXIST, "holds 4 bytes");
	assert_int_equal(ftruncate(fd, 0), 0);
	{
		struct uvmp_pager *pager = open_with(8 * MIB, NULL, store);

		assert_int_equal(access(path, F_OK), -1); /* no file is left behind in any case */
		uvmp_pager_destroy(pager);
	}
	close(fd);
}

static void test_bad_calls(void **state)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, NULL);
	uint8_t *memory = uvmp_pager_alloc(pager, 7 * MIB), other[16];

	(void)state;
	assert_non_null(memory);
	assert_null(uvmp_pager_alloc(pager, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(uvmp_pager_alloc(pager, SIZE_MAX));
	assert_int_equal(errno, ENOMEM);
	assert_null(uvmp_pager_alloc(pager, 2000 * MIB)); /* 64 times the budget */
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(uvmp_pager_free(pager, other), -EINVAL);
	assert_int_equal(uvmp_pager_free(pager, memory + PAGE), -EINVAL);
	assert_int_equal(uvmp_pager_free(pager, NULL), 0);
	assert_int_equal(uvmp_pager_prefetch(pager, other, 16, true), -EINVAL);
	assert_int_equal(uvmp_pager_prefetch(pager, memory, 0, true), -EINVAL);
	assert_int_equal(uvmp_pager_prefetch(pager, memory, 18 * MIB, true), -EINVAL);
	assert_int_equal(uvmp_pager_advise(pager, memory, PAGE, (enum uvmp_pager_advice)99), -EINVAL);
	assert_int_equal(uvmp_pager_unmap(pager, memory + 1, PAGE), -EINVAL);
	assert_int_equal(uvmp_pager_unmap(pager, memory, 10 * MIB), -EINVAL);
	assert_int_equal(uvmp_pager_clear(pager, other, 16), -EINVAL);
	assert_int_equal(uvmp_pager_usable(pager, other), 0);
	assert_int_equal(uvmp_pager_usable(pager, memory + PAGE), 8 * MIB - PAGE); /* whole VABlocks */
	assert_int_equal(uvmp_pager_free(pager, memory), 0);
	assert_int_equal(uvmp_pager_free(pager, memory), -EINVAL);
	uvmp_pager_destroy(pager);
}

/* -- contents -- */

static void test_contents_outlive_eviction(void **state)
{
	static const char *const store[] = {"mem", "zstd", "file:/tmp"};
	static const char *const policy[] = {"prefetch=density", "prefetch=none evict=lru4k",
	                                     "preset=uvmsmart-tbn", "plan=overlapped replay=block",
	                                     "replay=once batch=7"};
	const uint64_t seed = test_seed();

	(void)state;
	for (size_t i = 0; i < sizeof(store) / sizeof(store[0]); i++) {
		for (size_t k = 0; k < sizeof(policy) / sizeof(policy[0]); k++) {
			struct uvmp_pager *pager;
			uint64_t *memory;

			if (!test_is_chosen(seed + k, (uint32_t)i,
			                    3)) /* as a share: each policy with one store */
				continue;
			pager = open_with(8 * MIB, policy[k], store[i]);
			memory = uvmp_pager_alloc(pager, 32 * MIB);
			assert_non_null(memory);
			for (uint64_t round = 0; round < 2; round++) {
				write_pages(memory, 32 * MIB, round);
				check_pages(memory, 32 * MIB, round);
			}
			assert_true(stats_of(pager).resident_bytes <= 8 * MIB);
			assert_true(stats_of(pager).bytes_out >= 2u * 24u * MIB);
			assert_true(stats_of(pager).store_bytes != 0);
			assert_int_equal(stats_of(pager).store_error, 0);
			uvmp_pager_destroy(pager);
		}
	}
}

static void test_fresh_memory_is_zero_and_costs_no_write(void **state)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, "mem");
	uint64_t *memory = uvmp_pager_alloc(pager, 64 * MIB), sum = 0;

	(void)state;
	for (size_t i = 0; i < 64 * MIB / 8u; i += 64)
		sum += memory[i];
	assert_int_equal(sum, 0);
	assert_int_equal(stats_of(pager).bytes_out, 0);
	assert_true(stats_of(pager).bytes_dropped >= 56u * MIB);
	uvmp_pager_destroy(pager);
}

/* What was written once and is only read from then on is written to the store once. */
static void test_clean_pages_leave_without_a_write(void **state)
{
	struct uvmp_pager *pager = open_with(8 * MIB, "prefetch=none", "mem");
	uint64_t *memory = uvmp_pager_alloc(pager, 32 * MIB);

	(void)state;
	write_pages(memory, 32 * MIB, 0);
	for (int round = 0; round < 4; round++)
		check_pages(memory, 32 * MIB, 0);
	assert_int_equal(stats_of(pager).bytes_out, 32 * MIB);
	assert_true(stats_of(pager).bytes_in >= 4u * 24u * MIB);
	memory[0] = 5; /* and a write to a clean page is seen */
	assert_true(stats_of(pager).write_faults + stats_of(pager).faults > 0);
	for (size_t i = 8 * MIB / 8u; i < 32 * MIB / 8u; i += 512)
		(void)*(volatile uint64_t *)&memory[i];
	assert_int_equal(memory[0], 5);
	uvmp_pager_destroy(pager);
}

static void test_pages_of_64_kib(void **state)
{
	struct uvmp_pager_config config;
	struct uvmp_pager *pager;
	uint64_t *memory;

	(void)state;
	uvmp_pager_config_init(&config);
	config.budget_bytes = 8 * MIB;
	config.page_bytes = 65536;
	assert_int_equal(uvmp_pager_create(&config, &pager, NULL, 0), 0);
	memory = uvmp_pager_alloc(pager, 32 * MIB);
	write_pages(memory, 32 * MIB, 1);
	check_pages(memory, 32 * MIB, 1);
	assert_true(stats_of(pager).faults <= 2 * 256);
	uvmp_pager_destroy(pager);
}

/* -- calls -- */

static void test_prefetch_in_and_out(void **state)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, "mem");
	uint64_t *memory = uvmp_pager_alloc(pager, 8 * MIB);
	uint64_t faults;

	(void)state;
	write_pages(memory, 8 * MIB, 0);
	assert_int_equal(uvmp_pager_prefetch(pager, memory, 8 * MIB, false), 0);
	assert_int_equal(stats_of(pager).resident_bytes, 0);
	assert_int_equal(stats_of(pager).bytes_out, 8 * MIB);
	assert_int_equal(uvmp_pager_prefetch(pager, memory, 8 * MIB, true), 0);
	assert_int_equal(stats_of(pager).resident_bytes, 8 * MIB);
	faults = stats_of(pager).faults;
	check_pages(memory, 8 * MIB, 0);
	assert_int_equal(stats_of(pager).faults, faults);
	uvmp_pager_destroy(pager);
}

static void test_discard_saves_writes_but_not_those_after_it(void **state)
{
	struct uvmp_pager *pager = open_with(8 * MIB, "prefetch=none", "mem");
	uint64_t *memory = uvmp_pager_alloc(pager, 32 * MIB);

	(void)state;
	write_pages(memory, 8 * MIB, 0);
	assert_int_equal(uvmp_pager_advise(pager, (uint8_t *)memory + 1, 8 * MIB - 2, UVMP_PAGER_DISCARD), 0);
	memory[3 * 512] = 77; /* page 3 matters again */
	write_pages(memory + 8 * MIB / 8u, 24 * MIB, 1);
	assert_int_equal(stats_of(pager).bytes_out, 16u * MIB + 3u * PAGE); /* of the 24 MiB eight are here */
	assert_int_equal(memory[3 * 512], 77);
	assert_int_equal(memory[0], word_of(0, 0)); /* not all of their pages was discarded */
	assert_int_equal(memory[8 * MIB / 8u - 1u], word_of(2047, 0));
	check_pages(memory + 8 * MIB / 8u, 24 * MIB, 1);
	uvmp_pager_destroy(pager);
}

static void test_advice_is_accepted(void **state)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, "mem");
	uint64_t *memory = uvmp_pager_alloc(pager, 16 * MIB);

	(void)state;
	for (int advice = UVMP_PAGER_PREFER_RESIDENT; advice <= UVMP_PAGER_ACCESSED_BY; advice++) {
		assert_int_equal(uvmp_pager_advise(pager, memory, 6 * MIB, (enum uvmp_pager_advice)advice),
		                 0);
		write_pages(memory, 16 * MIB, (uint64_t)advice);
		check_pages(memory, 16 * MIB, (uint64_t)advice);
	}
	assert_int_equal(uvmp_pager_advise(pager, memory, 6 * MIB, UVMP_PAGER_READ_MOSTLY), 0);
	assert_int_equal(uvmp_pager_advise(pager, memory, 17 * MIB, UVMP_PAGER_READ_MOSTLY), -EINVAL);
	uvmp_pager_destroy(pager);
}

static void test_parts_that_are_given_back(void **state)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, "mem");
	uint8_t *memory = uvmp_pager_alloc(pager, 16 * MIB);

	(void)state;
	memset(memory, 7, 16 * MIB);
	assert_int_equal(uvmp_pager_clear(pager, memory + MIB + 1, 3 * MIB), 0);
	assert_int_equal(memory[MIB], 7); /* its page is not wholly inside */
	assert_int_equal(memory[MIB + PAGE], 0);
	assert_int_equal(memory[4 * MIB - 1], 0);
	assert_int_equal(memory[4 * MIB], 7);
	memory[MIB + PAGE] = 9;
	assert_int_equal(uvmp_pager_unmap(pager, memory + 8 * MIB, 8 * MIB), 0);
	assert_int_equal(memory[10 * MIB], 0);
	memset(memory + 4 * MIB, 1, 4 * MIB);
	assert_int_equal(memory[MIB + PAGE], 9);
	assert_int_equal(madvise(memory + 4 * MIB, MIB, MADV_DONTNEED), 0); /* unknown to the pager */
	assert_int_equal(memory[4 * MIB], 0);
	assert_int_equal(uvmp_pager_unmap(pager, memory, 8 * MIB), 0); /* all of it now */
	assert_int_equal(uvmp_pager_usable(pager, memory), 0);
	uvmp_pager_destroy(pager);
}

/* -- threads -- */

struct job {
	uint64_t *memory;
	size_t bytes;
	uint64_t seed, bad;
};

static void *hammer(void *context)
{
	struct job *job = context;
	size_t words = job->bytes / 8u;
	uint64_t *model = calloc(words, 8), x = job->seed;

	for (int i = 0; i < 20000; i++) {
		size_t at;

		x = x * 6364136223846793005u + 1442695040888963407u;
		at = (x >> 33) % words;
		if (i % 2 == 0)
			job->memory[at] = model[at] = x;
		else
			job->bad += job->memory[at] != model[at];
	}
	for (size_t at = 0; at < words; at++)
		job->bad += job->memory[at] != model[at];
	free(model);
	return NULL;
}

/* Each has its own place in the store, also where others were. */
static void test_many_allocations(void **state)
{
	enum { MANY = 3000 };
	static volatile uint64_t *memory[MANY];
	struct uvmp_pager_config config;
	struct uvmp_pager *pager;

	(void)state;
	uvmp_pager_config_init(&config);
	config.budget_bytes = 8 * MIB;
	config.managed_bytes = (uint64_t)MANY * 2 * MIB;
	config.policy = "prefetch=none evict=lru4k";
	pager = open_config(&config);
	for (size_t i = 0; i < MANY; i++) {
		memory[i] = uvmp_pager_alloc(pager, 4096);
		assert_non_null((void *)(uintptr_t)memory[i]);
		*memory[i] = i + 1u;
	}
	assert_null(uvmp_pager_alloc(pager, 4096));
	for (size_t i = 0; i < MANY; i += 3)
		assert_int_equal(uvmp_pager_free(pager, (void *)(uintptr_t)memory[i]), 0);
	for (size_t i = 0; i < MANY; i += 3) {
		memory[i] = uvmp_pager_alloc(pager, 4096);
		assert_non_null((void *)(uintptr_t)memory[i]);
		assert_int_equal(*memory[i], 0);
		*memory[i] = i + 1u;
	}
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(*memory[i], i + 1u);
	uvmp_pager_destroy(pager);
}

static void test_threads_see_their_own_writes(void **state)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, "mem");
	uint8_t *memory = uvmp_pager_alloc(pager, 16 * MIB);
	struct job job[4];
	pthread_t thread[4];

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		job[i] = (struct job){(uint64_t *)(void *)(memory + i * 4 * MIB), 4 * MIB, i + 1u, 0};
		assert_int_equal(pthread_create(&thread[i], NULL, hammer, &job[i]), 0);
	}
	for (size_t i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		assert_int_equal(job[i].bad, 0);
	}
	assert_true(stats_of(pager).evictions > 0);
	uvmp_pager_destroy(pager);
}

static pthread_barrier_t barrier;

static void *add_one(void *context)
{
	uint64_t *word = context;

	pthread_barrier_wait(&barrier);
	__atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void test_64_threads_on_one_page(void **state)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, "mem");
	uint64_t *memory = uvmp_pager_alloc(pager, 8 * MIB);
	pthread_t thread[64];

	(void)state;
	for (int round = 1; round <= 4; round++) {
		pthread_barrier_init(&barrier, NULL, 64);
		for (int i = 0; i < 64; i++)
			assert_int_equal(pthread_create(&thread[i], NULL, add_one, memory), 0);
		for (int i = 0; i < 64; i++)
			pthread_join(thread[i], NULL);
		pthread_barrier_destroy(&barrier);
		assert_int_equal(*memory, 64u * (unsigned)round);
		assert_int_equal(uvmp_pager_prefetch(pager, memory, 8 * MIB, false), 0);
	}
	uvmp_pager_destroy(pager);
}

static void test_two_pagers(void **state)
{
	struct uvmp_pager *one = open_with(8 * MIB, NULL, "mem"),
	                  *two = open_with(16 * MIB, "evict=lru4k", "zstd");
	uint64_t *a = uvmp_pager_alloc(one, 32 * MIB), *b = uvmp_pager_alloc(two, 32 * MIB);

	(void)state;
	for (size_t i = 0; i < 32 * MIB / 8u; i += 256)
		a[i] = b[i] = i;
	for (size_t i = 0; i < 32 * MIB / 8u; i += 256)
		assert_true(a[i] == i && b[i] == i);
	assert_int_equal(uvmp_pager_free(one, b), -EINVAL);
	uvmp_pager_destroy(one);
	check_pages(b, 0, 0);
	assert_int_equal(b[256], 256);
	uvmp_pager_destroy(two);
}

/* -- the system -- */

static void test_system_calls_reach_it(void **state)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, "mem");
	uint8_t *memory = uvmp_pager_alloc(pager, 32 * MIB), *copy = malloc(32 * MIB);
	char path[] = "/tmp/test_pager_XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	unlink(path);
	if (!uvmp_pager_serves_kernel(pager)) {
		free(copy);
		print_message("skipped: this process may not handle faults of the kernel\n");
		skip();
	}
	for (size_t i = 0; i < 32 * MIB; i++)
		memory[i] = (uint8_t)(i * 31u >> 3);
	assert_int_equal(write(fd, memory, 32 * MIB), 32 * MIB);
	memset(memory, 0, 32 * MIB);
	assert_int_equal(pread(fd, memory, 32 * MIB, 0), 32 * MIB);
	assert_int_equal(pread(fd, copy, 32 * MIB, 0), 32 * MIB);
	assert_memory_equal(memory, copy, 32 * MIB);
	close(fd);
	free(copy);
	uvmp_pager_destroy(pager);
}

static void test_user_mode_says_what_it_cannot(void **state)
{
	struct uvmp_pager_config config;
	struct uvmp_pager *pager;
	char features[600];
	uint64_t *memory;

	(void)state;
	uvmp_pager_config_init(&config);
	config.budget_bytes = 8 * MIB;
	config.is_user_mode = true;
	assert_int_equal(uvmp_pager_create(&config, &pager, NULL, 0), 0);
	uvmp_pager_features(pager, features, sizeof(features));
	assert_non_null(strstr(features, "fail with EFAULT"));
	memory = uvmp_pager_alloc(pager, 32 * MIB);
	write_pages(memory, 32 * MIB, 3);
	check_pages(memory, 32 * MIB, 3);
	uvmp_pager_destroy(pager);
}

static void fork_with(const char *store)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, store);
	uint64_t *memory = uvmp_pager_alloc(pager, 32 * MIB);
	int status;
	pid_t pid;

	write_pages(memory, 32 * MIB, 0);
	pid = fork();
	if (pid == 0) {
		for (size_t i = 0; i < 32 * MIB / PAGE; i++) {
			if (memory[i * 512u + i % 512u] != word_of(i, 0))
				_exit(1);
		}
		for (size_t i = 0; i < 32 * MIB / PAGE; i++)
			memory[i * 512u] = i;
		for (size_t i = 0; i < 32 * MIB / PAGE; i++) {
			if (memory[i * 512u] != i)
				_exit(2);
		}
		_exit(0);
	}
	write_pages(memory, 32 * MIB, 1); /* meanwhile, and not seen there */
	check_pages(memory, 32 * MIB, 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	check_pages(memory, 32 * MIB, 1);
	uvmp_pager_destroy(pager);
}

static void test_a_child_goes_on(void **state)
{
	(void)state;
	fork_with("mem");
	fork_with("zstd");
	fork_with("file:/tmp");
}

/* -- stores that fail -- */

struct broken {
	struct around around;
	int read_error, write_error;
	uint64_t writes_left;
};

static int broken_read(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, void *to)
{
	struct broken *broken = (struct broken *)store;

	return broken->read_error != 0 ? broken->read_error
	                               : broken->around.real->read(broken->around.real, page, pages, to);
}

static int broken_write(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, const void *from)
{
	struct broken *broken = (struct broken *)store;

	if (broken->writes_left == 0)
		return broken->write_error;
	broken->writes_left--;
	return broken->around.real->write(broken->around.real, page, pages, from);
}

static void broken_close(struct uvmp_pager_store *store)
{
	around_close(store);
	free(store);
}

static struct broken *break_store(void)
{
	struct broken *broken = calloc(1, sizeof(*broken));

	assert_non_null(broken);
	around_memory(&broken->around, 64 * MIB / PAGE, broken_read, broken_write);
	broken->around.store.close = broken_close;
	broken->writes_left = UINT64_MAX;
	return broken;
}

static struct uvmp_pager *open_broken(struct broken *broken)
{
	struct uvmp_pager_config config;

	uvmp_pager_config_init(&config);
	config.budget_bytes = 8 * MIB;
	config.managed_bytes = 64 * MIB;
	config.policy = "prefetch=none";
	config.own_store = &broken->around.store;
	return open_config(&config);
}

static sigjmp_buf escape;
static void *volatile bad_address;

static void caught(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	bad_address = info->si_value.sival_ptr;
	siglongjmp(escape, 1);
}

/* True: the access raised SIGBUS. */
static bool dies(volatile uint64_t *word)
{
	struct sigaction action = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO}, before;
	bool has_died = false;

	sigaction(SIGBUS, &action, &before);
	if (sigsetjmp(escape, 1) == 0)
		(void)*word;
	else
		has_died = true;
	sigaction(SIGBUS, &before, NULL);
	return has_died;
}

static void test_a_store_that_cannot_be_read(void **state)
{
	struct broken *broken = break_store();
	struct uvmp_pager *pager = open_broken(broken);
	uint64_t *memory = uvmp_pager_alloc(pager, 32 * MIB);

	(void)state;
	write_pages(memory, 32 * MIB, 0);
	broken->read_error = -EIO;
	assert_true(dies(memory));
	assert_ptr_equal(bad_address, memory);
	assert_int_equal(stats_of(pager).store_error, -EIO);
	assert_int_equal(uvmp_pager_prefetch(pager, memory, PAGE, true), -EIO);
	broken->read_error = 0; /* nothing is lost by that */
	check_pages(memory, 32 * MIB, 0);
	uvmp_pager_destroy(pager);
}

static void test_a_store_that_is_full(void **state)
{
	struct broken *broken = break_store();
	struct uvmp_pager *pager = open_broken(broken);
	uint64_t *memory = uvmp_pager_alloc(pager, 32 * MIB);

	(void)state;
	write_pages(memory, 8 * MIB, 0);
	broken->writes_left = 0;
	broken->write_error = -ENOSPC;
	assert_true(dies(memory + 16 * MIB / 8u));
	assert_int_equal(stats_of(pager).store_error, -ENOSPC);
	check_pages(memory, 8 * MIB, 0); /* resident pages are unchanged */
	assert_int_equal(uvmp_pager_prefetch(pager, memory, 8 * MIB, false), -ENOSPC);
	check_pages(memory, 8 * MIB, 0);
	broken->writes_left = UINT64_MAX;
	write_pages(memory, 32 * MIB, 1);
	check_pages(memory, 32 * MIB, 1);
	uvmp_pager_destroy(pager);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_bad_configurations),
					   cmocka_unit_test(test_sizes_of_other_versions),
	                                   cmocka_unit_test(test_shown_statistics),
	                                   cmocka_unit_test(test_metrics),
	                                   cmocka_unit_test(test_a_file_in_use_is_left_alone),
	                                   cmocka_unit_test(test_bad_calls),
	                                   cmocka_unit_test(test_contents_outlive_eviction),
	                                   cmocka_unit_test(test_fresh_memory_is_zero_and_costs_no_write),
	                                   cmocka_unit_test(test_clean_pages_leave_without_a_write),
	                                   cmocka_unit_test(test_pages_of_64_kib),
	                                   cmocka_unit_test(test_prefetch_in_and_out),
	                                   cmocka_unit_test(test_discard_saves_writes_but_not_those_after_it),
	                                   cmocka_unit_test(test_advice_is_accepted),
	                                   cmocka_unit_test(test_parts_that_are_given_back),
	                                   cmocka_unit_test(test_many_allocations),
	                                   cmocka_unit_test(test_threads_see_their_own_writes),
	                                   cmocka_unit_test(test_64_threads_on_one_page),
	                                   cmocka_unit_test(test_two_pagers),
	                                   cmocka_unit_test(test_system_calls_reach_it),
	                                   cmocka_unit_test(test_user_mode_says_what_it_cannot),
	                                   cmocka_unit_test(test_a_child_goes_on),
	                                   cmocka_unit_test(test_a_store_that_cannot_be_read),
	                                   cmocka_unit_test(test_a_store_that_is_full)};

	if (!can_page(NULL))
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
