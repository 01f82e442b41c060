/* The store "map", and programs that unmap, map over and move managed memory by system calls. Checks
 * contents of memory that stays, that was moved, and that was mapped where managed memory had been. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/paging.h"
#include "store.h"

/* Without the pager's knowledge, independent of the C library's wrappers. */
static void unmap(void *memory, size_t bytes)
{
	assert_int_equal(syscall(SYS_munmap, memory, bytes), 0);
}

static void *map_over(void *memory, size_t bytes)
{
	return mmap(memory, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void *move(void *memory, size_t old, size_t bytes, int flags, void *to)
{
	return (void *)syscall(SYS_mremap, memory, old, bytes, flags, to);
}

/* -- the store "map" -- */

static void test_map_holds_what_does_not_fit(void **state)
{
	static const char *const policy[] = {"prefetch=density", "prefetch=none evict=lru4k",
	                                     "preset=uvmsmart-tbn", "plan=overlapped replay=block",
	                                     "replay=once batch=7"};

	(void)state;
	for (size_t i = 0; i < sizeof(policy) / sizeof(policy[0]); i++) {
		struct uvmp_pager *pager = open_with(8 * MIB, policy[i], "map");
		void *memory = uvmp_pager_alloc(pager, 16 * MIB);

		assert_non_null(memory);
		for (uint64_t round = 0; round < 2; round++) {
			write_from(memory, 0, 4096, round);
			check_from(memory, 0, 4096, round);
		}
		assert_true(stats_of(pager).resident_bytes <= 8 * MIB);
		uvmp_pager_destroy(pager);
	}
}

static void test_map_with_strides_and_at_random(void **state)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, "map");
	uint64_t *memory = uvmp_pager_alloc(pager, 16 * MIB), x = 1;
	uint8_t *model = calloc(1, 16 * MIB / 64u);

	(void)state;
	for (size_t stride = 1; stride <= 4096; stride *= 8) { /* in cache lines */
		for (size_t i = 0; i < 16 * MIB / 64u; i += stride) {
			memory[i * 8u] += stride;
			model[i] = (uint8_t)(model[i] + stride);
		}
	}
	for (int i = 0; i < 20000; i++) {
		size_t at;

		x = x * 6364136223846793005u + 1442695040888963407u;
		at = (x >> 33) % (16 * MIB / 64u);
		memory[at * 8u]++;
		model[at]++;
	}
	for (size_t i = 0; i < 16 * MIB / 64u; i++)
		assert_int_equal((uint8_t)memory[i * 8u], model[i]);
	free(model);
	uvmp_pager_destroy(pager);
}

/* Arriving pages count as in, or as zeros the first time; none is written. */
static void test_map_counts(void **state)
{
	struct uvmp_pager *pager = open_with(8 * MIB, "prefetch=none", "map");
	void *memory = uvmp_pager_alloc(pager, 32 * MIB);
	struct uvmp_pager_stats stats;

	(void)state;
	write_from(memory, 0, 8192, 0);
	stats = stats_of(pager);
	assert_int_equal(stats.faults, 8192);
	assert_int_equal(stats.bytes_zeroed, 32 * MIB);
	assert_int_equal(stats.bytes_in, 0);
	assert_int_equal(stats.bytes_dropped, 24 * MIB);
	assert_int_equal(stats.resident_bytes, 8 * MIB);
	assert_int_equal(stats.store_bytes, 32 * MIB);
	check_from(memory, 0, 8192, 0);
	stats = stats_of(pager);
	assert_int_equal(stats.faults, 2 * 8192);
	assert_int_equal(stats.bytes_in, 32 * MIB);
	assert_int_equal(stats.bytes_zeroed, 32 * MIB);
	assert_int_equal(stats.bytes_dropped, 56 * MIB);
	assert_int_equal(stats.bytes_out, 0);
	assert_int_equal(stats.write_faults, 0);
	assert_int_equal(stats.store_error, 0);
	assert_int_equal(uvmp_pager_free(pager, memory), 0);
	assert_int_equal(stats_of(pager).store_bytes, 0); /* the file has given them back */
	assert_int_equal(stats_of(pager).resident_bytes, 0);
	uvmp_pager_destroy(pager);
}

static void test_map_gives_fresh_memory_again(void **state)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, "map");

	(void)state;
	for (uint64_t round = 0; round < 4; round++) {
		uint8_t *a = uvmp_pager_alloc(pager, 12 * MIB), *b = uvmp_pager_alloc(pager, 8 * MIB);

		for (size_t i = 0; i < 12 * MIB; i += 512)
			assert_int_equal(a[i], 0);
		write_from(a, 0, 3072, round);
		write_from(b, 0, 2048, round + 100u);
		assert_int_equal(uvmp_pager_clear(pager, b, 4 * MIB), 0);
		assert_int_equal(*word_at(b, 3), 0);
		check_from(a, 0, 3072, round);
		check_from(b, 1024, 1024, round + 100u);
		assert_int_equal(uvmp_pager_unmap(pager, a, 8 * MIB), 0);
		assert_int_equal(uvmp_pager_unmap(pager, a, 8 * MIB), 0); /* the same again is not the rest */
		assert_int_equal(*word_at(a, 5), 0);
		check_from(a, 2048, 1024, round);
		assert_int_equal(uvmp_pager_unmap(pager, a + 8 * MIB, 4 * MIB), 0);
		assert_int_equal(uvmp_pager_usable(pager, a), 0);
		assert_int_equal(uvmp_pager_free(pager, b), 0);
	}
	assert_int_equal(stats_of(pager).store_bytes, 0);
	uvmp_pager_destroy(pager);
}

static int child_of(void *memory)
{
	if (first_wrong(memory, 0, 8192, 0) != 8192)
		return 1;
	write_from(memory, 0, 8192, 7);
	if (first_wrong(memory, 0, 8192, 7) != 8192)
		return 2;
	return first_wrong(memory, 0, 8192, 7) == 8192 ? 0 : 3;
}

static void test_map_and_fork(void **state)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, "map");
	void *memory = uvmp_pager_alloc(pager, 32 * MIB);
	struct rlimit limit;
	int status, ready[2];
	pid_t pid;
	char c;

	(void)state;
	write_from(memory, 0, 8192, 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) { /* reads the contents at the time of the fork, after the parent has written all pages again */
		if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > 600 &&
		    uvmp_pager_next_descriptor(pager, 0) < 512)
			_exit(8);
		_exit(read(ready[0], &c, 1) == 1 ? child_of(memory) : 9);
	}
	write_from(memory, 0, 8192, 1);
	assert_int_equal(write(ready[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	check_from(memory, 0, 8192, 1); /* and nothing of what the child has written */
	assert_int_equal(uvmp_pager_free(pager, memory), 0);
	assert_int_equal(stats_of(pager).store_bytes, 0);
	close(ready[0]);
	close(ready[1]);
	uvmp_pager_destroy(pager);
}

/* No descriptor is left for the child's copy: what it gives up is not the parent's. */
static void test_map_and_a_fork_without_a_copy(void **state)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, "map");
	void *memory = uvmp_pager_alloc(pager, 4 * MIB), *more = uvmp_pager_alloc(pager, 4 * MIB);
	struct rlimit before, none;
	int status, next = dup(0);
	pid_t pid;

	(void)state;
	write_from(memory, 0, 1024, 1);
	write_from(more, 0, 1024, 2);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = (rlim_t)next;
	close(next);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	pid = fork();
	if (pid == 0) {
		(void)uvmp_pager_free(pager, more);
		uvmp_pager_destroy(pager);
		_exit(0);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	check_from(memory, 0, 1024, 1);
	check_from(more, 0, 1024, 2);
	uvmp_pager_destroy(pager);
}

static void test_map_as_a_plain_store(void **state)
{
	struct uvmp_pager_store *store;
	uint8_t data[2 * PAGE], back[2 * PAGE];
	int status;

	(void)state;
	store = uvmp_store_map(16, &status);
	assert_non_null(store);
	memset(data, 5, sizeof(data));
	assert_int_equal(store->write(store, 3, 2, data), 0);
	assert_int_equal(store->read(store, 3, 2, back), 0);
	assert_memory_equal(data, back, sizeof(data));
	assert_int_equal(store->size(store), 2 * PAGE);
	store->forget(store, 3, 1);
	assert_int_equal(store->size(store), PAGE);
	store->close(store);
}

/* -- behind the pager's back -- */

static const char *const stores[] = {"mem", "zstd", "file:/tmp", "map"};
#define STORES (sizeof(stores) / sizeof(stores[0]))

static void unmap_parts(const char *store)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, store);
	uint8_t *memory = uvmp_pager_alloc(pager, 16 * MIB), *other = uvmp_pager_alloc(pager, 8 * MIB);

	write_from(memory, 0, 4096, 0);
	write_from(other, 0, 2048, 1);
	unmap(memory + 3 * MIB, 6 * MIB); /* from within a VABlock to within another */
	assert_int_equal(uvmp_pager_usable(pager, memory), 3 * MIB);
	assert_int_equal(uvmp_pager_usable(pager, memory + 4 * MIB), 0);
	assert_int_equal(uvmp_pager_usable(pager, memory + 9 * MIB), 7 * MIB);
	for (int round = 0; round < 2; round++) {
		check_from(memory, 0, 768, 0);
		check_from(memory, 2304, 1792, 0);
		check_from(other, 0, 2048, 1);
	}
	assert_true(stats_of(pager).resident_bytes <= 8 * MIB);
	assert_int_equal(uvmp_pager_prefetch(pager, memory, 16 * MIB, false), 0);
	assert_int_equal(uvmp_pager_unmap(pager, memory + 2 * MIB, 4 * MIB), -EINVAL);
	assert_int_equal(uvmp_pager_clear(pager, memory + 2 * MIB, MIB), 0);
	assert_int_equal(*word_at(memory, 600), 0);
	check_from(memory, 2304, 1792, 0);
	unmap(memory, 16 * MIB); /* holes and all */
	assert_int_equal(uvmp_pager_usable(pager, memory), 0);
	assert_int_equal(uvmp_pager_usable(pager, memory + 15 * MIB), 0);
	assert_int_equal(stats_of(pager).managed_bytes, 8 * MIB);
	assert_int_equal(uvmp_pager_free(pager, memory), -EINVAL);
	check_from(other, 0, 2048, 1);
	assert_int_equal(uvmp_pager_free(pager, other), 0);
	assert_int_equal(stats_of(pager).resident_bytes, 0);
	assert_int_equal(stats_of(pager).store_error, 0);
	uvmp_pager_destroy(pager);
}

static void test_unmapped_parts(void **state)
{
	(void)state;
	for (size_t i = 0; i < STORES; i++)
		unmap_parts(stores[i]);
}

/* Addresses of a hole may be mapped by others, but not by a new allocation of the pager. */
static void test_allocating_beside_a_hole(void **state)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, "mem");
	uint8_t *memory = uvmp_pager_alloc(pager, 32 * MIB), *more[8];

	(void)state;
	write_from(memory, 0, 8192, 0);
	unmap(memory + 4 * MIB, 24 * MIB);
	for (size_t i = 0; i < 8; i++) {
		more[i] = uvmp_pager_alloc(pager, 4 * MIB);
		assert_non_null(more[i]);
		write_from(more[i], 0, 1024, i);
	}
	for (size_t i = 0; i < 8; i++)
		check_from(more[i], 0, 1024, i);
	check_from(memory, 0, 1024, 0);
	check_from(memory, 7168, 1024, 0);
	uvmp_pager_destroy(pager);
}

static void foreign_memory(const char *store)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, store);
	uint8_t *memory = uvmp_pager_alloc(pager, 16 * MIB);

	write_from(memory, 0, 4096, 0);
	for (uint64_t round = 0; round < 3; round++) { /* over resident pages, and over such as are stored */
		uint8_t *over = map_over(memory + (2u + 4u * round) * MIB + 5 * PAGE, 2 * MIB);

		assert_ptr_not_equal(over, MAP_FAILED);
		assert_int_equal(over[0] | over[2 * MIB - 1], 0);
		write_from(over, 0, 512, 50u + round);
	}
	for (int pass = 0; pass < 3; pass++) { /* heavy eviction */
		write_from(memory, 0, 512, 8);
		write_from(memory, 3584, 512, 8);
		check_from(memory, 1029, 507, 0);
		check_from(memory, 2053, 507, 0);
		check_from(memory, 0, 512, 8);
	}
	assert_int_equal(uvmp_pager_prefetch(pager, memory, 16 * MIB, false), 0);
	assert_int_equal(uvmp_pager_prefetch(pager, memory, 16 * MIB, true), 0);
	for (uint64_t round = 0; round < 3; round++)
		check_from(memory + (2u + 4u * round) * MIB + 5 * PAGE, 0, 512, 50u + round);
	assert_int_equal(uvmp_pager_free(pager, memory), 0);
	for (uint64_t round = 0; round < 3; round++) /* freeing leaves it alone, too */
		check_from(memory + (2u + 4u * round) * MIB + 5 * PAGE, 0, 512, 50u + round);
	uvmp_pager_destroy(pager);
}

static void test_foreign_memory_over_ours(void **state)
{
	(void)state;
	for (size_t i = 0; i < STORES; i++)
		foreign_memory(stores[i]);
}

static void move_whole(const char *store)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, store);
	uint8_t *memory = uvmp_pager_alloc(pager, 16 * MIB), *to;

	write_from(memory, 0, 4096, 0);
	check_from(memory, 0, 1024, 0); /* some are resident and clean */
	write_from(memory, 100, 100, 1);
	to = move(memory, 16 * MIB, 24 * MIB, MREMAP_MAYMOVE | MREMAP_FIXED,
	          mmap(NULL, 24 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	assert_ptr_not_equal(to, MAP_FAILED);
	check_from(to, 0, 100, 0);
	check_from(to, 100, 100, 1);
	check_from(to, 200, 3896, 0);
	for (size_t i = 4096; i < 6144; i++)
		assert_int_equal(*word_at(to, i), 0);
	write_from(to, 0, 6144, 2); /* unmanaged: resident for good */
	assert_int_equal(uvmp_pager_usable(pager, memory), 0);
	assert_int_equal(uvmp_pager_usable(pager, to), 0);
	assert_int_equal(stats_of(pager).managed_bytes, 0);
	assert_int_equal(stats_of(pager).resident_bytes, 0);
	assert_int_equal(stats_of(pager).store_error, 0);
	memory = uvmp_pager_alloc(pager, 16 * MIB); /* and the pager continues, in the same store */
	write_from(memory, 0, 4096, 3);
	check_from(memory, 0, 4096, 3);
	check_from(to, 0, 6144, 2);
	unmap(to, 24 * MIB);
	uvmp_pager_destroy(pager);
}

static void move_parts(const char *store)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, store);
	uint8_t *memory = uvmp_pager_alloc(pager, 16 * MIB), *part, *again;

	write_from(memory, 0, 4096, 0);
	part = move(memory + 5 * MIB, 3 * MIB, 3 * MIB, MREMAP_MAYMOVE | MREMAP_FIXED,
	            mmap(NULL, 3 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	assert_ptr_not_equal(part, MAP_FAILED);
	again = move(part + MIB, MIB, MIB, MREMAP_MAYMOVE | MREMAP_FIXED, memory + 12 * MIB); /* onto ours */
	assert_ptr_equal(again, memory + 12 * MIB);
	for (int pass = 0; pass < 2; pass++) {
		check_from(memory, 0, 1280, 0);
		check_from(memory, 2048, 1024, 0);
		check_from(memory, 3328, 768, 0);
		check_from(part - 5 * MIB, 1280, 256, 0);
		check_from(part - 5 * MIB, 1792, 256, 0);
		check_from(again - 6 * MIB, 1536, 256, 0);
	}
	assert_int_equal(uvmp_pager_usable(pager, memory), 5 * MIB);
	assert_int_equal(uvmp_pager_usable(pager, again), 0);
	assert_ptr_equal(move(memory + 13 * MIB, 3 * MIB, MIB, 0, NULL), memory + 13 * MIB); /* shrinks */
	assert_int_equal(uvmp_pager_usable(pager, memory + 13 * MIB), MIB);
	assert_int_equal(uvmp_pager_free(pager, memory), 0);
	check_from(part - 5 * MIB, 1280, 256, 0);
	check_from(again - 6 * MIB, 1536, 256, 0);
	uvmp_pager_destroy(pager);
}

/* What is added to a mapping of ours is registered as it is, and is not ours all the same. Memory that lay
 * behind it and is freed makes room. */
static void grow_in_place(const char *store)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, store);
	uint8_t *behind = uvmp_pager_alloc(pager, 8 * MIB), *memory = uvmp_pager_alloc(pager, 8 * MIB),
	        *other;

	write_from(memory, 0, 2048, 0);
	assert_int_equal(uvmp_pager_free(pager, behind), 0);
	if (move(memory, 8 * MIB, 12 * MIB, 0, NULL) == MAP_FAILED) {
		print_message("skipped: no room behind it to grow in place\n");
		uvmp_pager_destroy(pager);
		return;
	}
	other = uvmp_pager_alloc(pager, 8 * MIB);
	write_from(other, 0, 2048, 1);
	for (size_t i = 2048; i < 3072; i++)
		assert_int_equal(*word_at(memory, i), 0);
	write_from(memory, 2048, 1024, 2);
	check_from(memory, 0, 2048, 0);
	check_from(memory, 2048, 1024, 2);
	check_from(other, 0, 2048, 1);
	uvmp_pager_destroy(pager);
	check_from(memory, 2048, 1024, 2); /* the program's own */
	munmap(memory + 8 * MIB, 4 * MIB);
}

static void test_moved_memory(void **state)
{
	(void)state;
	for (size_t i = 0; i < STORES; i++) {
		move_whole(stores[i]);
		move_parts(stores[i]);
		grow_in_place(stores[i]);
	}
}

static void test_a_part_of_a_page_of_64_kib(void **state)
{
	struct uvmp_pager_config config;
	struct uvmp_pager *pager;
	uint8_t *memory, *to;

	(void)state;
	uvmp_pager_config_init(&config);
	config.budget_bytes = 8 * MIB;
	config.page_bytes = 65536;
	assert_int_equal(uvmp_pager_create(&config, &pager, NULL, 0), 0);
	memory = uvmp_pager_alloc(pager, 16 * MIB);
	write_from(memory, 0, 4096, 0);
	unmap(memory + 5 * PAGE, 2 * PAGE);
	to = move(memory + 8 * MIB + PAGE, 20 * PAGE, 20 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
	          mmap(NULL, 20 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	assert_ptr_not_equal(to, MAP_FAILED);
	for (int pass = 0; pass < 2; pass++) {
		check_from(memory, 0, 5, 0); /* what the hole leaves of its page */
		check_from(memory, 7, 2042, 0);
		check_from(memory, 2048, 1, 0);
		check_from(memory, 2069, 2027, 0);
		check_from(to - 8 * MIB - PAGE, 2049, 20, 0);
	}
	uvmp_pager_destroy(pager);
}

/* -- while others use what lies beside it -- */

struct neighbour {
	uint8_t *memory;
	size_t pages;
	uint64_t rounds, bad;
};

static bool is_over; /* atomic */

static void *use(void *context)
{
	struct neighbour *n = context;

	while (!__atomic_load_n(&is_over, __ATOMIC_SEQ_CST) || n->rounds == 0) {
		write_from(n->memory, 0, n->pages, n->rounds);
		n->bad += first_wrong(n->memory, 0, n->pages, n->rounds) != n->pages;
		n->rounds++;
	}
	return NULL;
}

/* Each round an area is made between the neighbours' and written, and goes in one of these ways, parts of it
 * while they are being evicted. */
static bool go(uint64_t round, uint8_t *memory)
{
	uint8_t *to;

	switch (round % 4u) {
	case 0:
		unmap(memory + MIB, MIB);
		if (first_wrong(memory, 0, 256, round) != 256 || first_wrong(memory, 512, 512, round) != 1024)
			return false;
		unmap(memory, 4 * MIB);
		return true;
	case 1:
		unmap(memory, 4 * MIB);
		return true;
	case 2:
		map_over(memory, 4 * MIB);
		write_from(memory, 0, 1024, round + 1u);
		for (int i = 0; i < 4; i++) {
			if (first_wrong(memory, 0, 1024, round + 1u) != 1024)
				return false;
		}
		unmap(memory, 4 * MIB);
		return true;
	default:
		to = move(memory, 4 * MIB, 4 * MIB, MREMAP_MAYMOVE | MREMAP_FIXED,
		          mmap(NULL, 4 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
		if (to == MAP_FAILED || first_wrong(to, 0, 1024, round) != 1024)
			return false;
		unmap(to, 4 * MIB);
		return true;
	}
}

static void beside_others(const char *store, uint64_t rounds)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, store);
	uint64_t wrong = UINT64_MAX;
	struct neighbour n[3];
	pthread_t thread[3];

	__atomic_store_n(&is_over, false, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < 3; i++) {
		n[i] = (struct neighbour){uvmp_pager_alloc(pager, 4 * MIB), 1024, 0, 0};
		assert_int_equal(pthread_create(&thread[i], NULL, use, &n[i]), 0);
	}
	for (uint64_t round = 0; round < rounds && wrong == UINT64_MAX; round++) {
		uint8_t *memory = uvmp_pager_alloc(pager, 4 * MIB);

		write_from(memory, 0, 1024, round);
		if (!go(round, memory))
			wrong = round;
	}
	__atomic_store_n(&is_over, true, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < 3; i++) {
		pthread_join(thread[i], NULL);
		assert_int_equal(n[i].bad, 0);
	}
	assert_int_equal(wrong, UINT64_MAX);
	assert_int_equal(stats_of(pager).managed_bytes, 12 * MIB);
	assert_int_equal(stats_of(pager).store_error, 0);
	uvmp_pager_destroy(pager);
}

static void test_beside_threads_that_fault(void **state)
{
	(void)state;
	for (size_t i = 0; i < STORES; i++)
		beside_others(stores[i], 12);
}

/* The calls of the program's own threads meet messages too. */
static void *call(void *context)
{
	struct uvmp_pager *pager = context;
	uint8_t *memory = uvmp_pager_alloc(pager, 8 * MIB);
	uint64_t bad = 0;

	for (uint64_t round = 0; !__atomic_load_n(&is_over, __ATOMIC_SEQ_CST); round++) {
		write_from(memory, 0, 2048, round);
		bad += uvmp_pager_prefetch(pager, memory, 8 * MIB, false) != 0;
		bad += uvmp_pager_prefetch(pager, memory, 4 * MIB, true) != 0;
		bad += first_wrong(memory, 0, 2048, round) != 2048;
	}
	return (void *)(uintptr_t)bad;
}

static void test_calls_do_not_wait_for_each_other(void **state)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, "mem");
	pthread_t thread;
	void *bad;

	(void)state;
	__atomic_store_n(&is_over, false, __ATOMIC_SEQ_CST);
	assert_int_equal(pthread_create(&thread, NULL, call, pager), 0);
	for (uint64_t round = 0; round < 24; round++) {
		uint8_t *memory = uvmp_pager_alloc(pager, 8 * MIB);

		write_from(memory, 0, 2048, round);
		assert_true(go(round, memory));
	}
	__atomic_store_n(&is_over, true, __ATOMIC_SEQ_CST);
	pthread_join(thread, &bad);
	assert_null(bad);
	uvmp_pager_destroy(pager);
}

/* -- dropped behind the pager's back -- */

/* The page is missing when it is to be evicted: reading it must not fault in the servicing thread. */
static void test_dropped_pages_leave_as_zeros(void **state)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, "mem");
	uint8_t *memory = uvmp_pager_alloc(pager, 16 * MIB);

	(void)state;
	write_from(memory, 0, 512, 0);
	assert_int_equal(syscall(SYS_madvise, memory + 8 * PAGE, 8 * PAGE, MADV_DONTNEED), 0);
	write_from(memory, 512, 3584, 0);
	check_from(memory, 0, 8, 0);
	for (size_t i = 8; i < 16; i++)
		assert_int_equal(*word_at(memory, i), 0);
	check_from(memory, 16, 4080, 0);
	uvmp_pager_destroy(pager);
}

static void test_protected_pages_leave_and_come_back(void **state)
{
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, "mem");
	uint8_t *memory = uvmp_pager_alloc(pager, 16 * MIB);

	(void)state;
	write_from(memory, 0, 512, 0);
	assert_int_equal(syscall(SYS_mprotect, memory + 8 * PAGE, 8 * PAGE, PROT_NONE), 0);
	write_from(memory, 512, 3584, 0);
	assert_int_equal(syscall(SYS_mprotect, memory + 8 * PAGE, 8 * PAGE, PROT_READ | PROT_WRITE), 0);
	check_from(memory, 0, 4096, 0);
	uvmp_pager_destroy(pager);
}

static void test_features_say_what_there_is(void **state)
{
	char text[900], cut[20];
	struct uvmp_pager *pager = open_with(8 * MIB, NULL, "map");

	(void)state;
	uvmp_pager_features(pager, text, sizeof(text));
	assert_non_null(strstr(text, "mapped from a memory file: nothing is copied"));
	assert_non_null(strstr(text, "that a system call unmaps or moves is released."));
	assert_null(strstr(text, "evicted without a write"));
	uvmp_pager_features(pager, cut, sizeof(cut));
	assert_int_equal(strlen(cut), sizeof(cut) - 1u);
	uvmp_pager_destroy(pager);
	pager = open_with(8 * MIB, NULL, "mem");
	uvmp_pager_features(pager, text, sizeof(text));
	assert_null(strstr(text, "memory file"));
	assert_non_null(strstr(text, "evicted without a write"));
	uvmp_pager_destroy(pager);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_map_holds_what_does_not_fit),
	                                   cmocka_unit_test(test_map_with_strides_and_at_random),
	                                   cmocka_unit_test(test_map_counts),
	                                   cmocka_unit_test(test_map_gives_fresh_memory_again),
	                                   cmocka_unit_test(test_map_and_fork),
	                                   cmocka_unit_test(test_map_and_a_fork_without_a_copy),
	                                   cmocka_unit_test(test_map_as_a_plain_store),
	                                   cmocka_unit_test(test_unmapped_parts),
	                                   cmocka_unit_test(test_allocating_beside_a_hole),
	                                   cmocka_unit_test(test_foreign_memory_over_ours),
	                                   cmocka_unit_test(test_moved_memory),
	                                   cmocka_unit_test(test_a_part_of_a_page_of_64_kib),
	                                   cmocka_unit_test(test_beside_threads_that_fault),
	                                   cmocka_unit_test(test_calls_do_not_wait_for_each_other),
	                                   cmocka_unit_test(test_dropped_pages_leave_as_zeros),
	                                   cmocka_unit_test(test_protected_pages_leave_and_come_back),
	                                   cmocka_unit_test(test_features_say_what_there_is)};

	if (!can_page("map"))
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
