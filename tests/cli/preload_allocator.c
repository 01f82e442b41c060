/* A program that is linked with another allocator than the C library's, under uvmp-run: every function of the malloc family
 * takes memory of every other one, small and large. Run by preload.sh with a threshold of 1 MiB. */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB    ((size_t)1 << 20)
#define BLOCKS 64

/* jemalloc's, where they are. */
extern void *mallocx(size_t bytes, int flags) __attribute__((weak));
extern void *rallocx(void *memory, size_t bytes, int flags) __attribute__((weak));
extern size_t xallocx(void *memory, size_t bytes, size_t extra, int flags) __attribute__((weak));
extern size_t sallocx(const void *memory, int flags) __attribute__((weak));
extern void dallocx(void *memory, int flags) __attribute__((weak));
extern void sdallocx(void *memory, size_t bytes, int flags) __attribute__((weak));

static int failed;

static void check(int is_right, const char *name)
{
	printf("%s %s\n", is_right ? "ok  " : "FAIL", name);
	failed |= !is_right;
}

static int is_managed(const void *memory)
{
	return memory && (uintptr_t)memory % (2 * MIB) == 0;
}

/* The size that the allocator tells may be used. */
static int holds(void *memory, size_t bytes)
{
	uint8_t *at = memory;
	size_t usable = malloc_usable_size(memory);

	if (!memory || usable < bytes)
		return 0;
	memset(at, 0x5a, usable);
	return at[0] == 0x5a && at[usable - 1] == 0x5a;
}

static int all_functions(size_t bytes)
{
	void *m[9];
	int is_right = 1;

	m[0] = malloc(bytes);
	m[1] = calloc(1, bytes);
	m[2] = realloc(NULL, bytes);
	m[3] = reallocarray(NULL, bytes, 1);
	m[4] = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
	m[5] = NULL;
	is_right &= posix_memalign(&m[5], 256, bytes) == 0 && (uintptr_t)m[5] % 256 == 0;
	m[6] = memalign(128, bytes);
	m[7] = valloc(bytes);
	m[8] = pvalloc(bytes);
	for (size_t i = 0; i < 9; i++) {
		is_right &= holds(m[i], bytes);
		if (i == 8) {
			free(m[i]);
			break;
		}
		m[i] = realloc(m[i], i % 2 ? bytes * 3 : bytes / 3); /* from small to large and back */
		is_right &= holds(m[i], bytes / 3);
		free(m[i]);
	}
	return is_right;
}

static int grows(void)
{
	uint32_t *word = NULL;

	for (size_t n = 1000; n <= 6 * MIB / 4; n = n * 3 / 2) {
		uint32_t *larger = realloc(word, n * 4);

		for (size_t i = 0; word && i < n * 2 / 3 - 1; i++)
			if (larger[i] != i * 3)
				return 0;
		word = larger;
		for (size_t i = 0; i < n; i++)
			word[i] = (uint32_t)i * 3;
	}
	free(word);
	return 1;
}

static int of_jemalloc(void)
{
	uint8_t *a = malloc(3 * MIB), *b = malloc(3 * MIB), *c = malloc(3 * MIB), *d = mallocx(100, 0);

	a[5] = 7;
	if (sallocx(a, 0) < 3 * MIB || xallocx(a, 5 * MIB, 0, 0) < 3 * MIB)
		return 0;
	a = rallocx(a, 5 * MIB, 0);
	if (!a || a[5] != 7)
		return 0;
	dallocx(a, 0);
	sdallocx(b, 3 * MIB, 0);
	c = rallocx(c, 50, 0);
	d = rallocx(d, 3 * MIB, 0);
	free(c);
	dallocx(d, 0);
	return 1;
}

static void *churn(void *context)
{
	unsigned seed = (unsigned)(uintptr_t)context;
	uint8_t *block[BLOCKS] = {0};
	size_t size[BLOCKS];
	uintptr_t wrong = 0;

	for (int i = 0; i < 3000; i++) {
		unsigned at = (unsigned)rand_r(&seed) % BLOCKS;

		if (block[at])
			wrong += block[at][0] != (uint8_t)at || block[at][size[at] - 1] != (uint8_t)at;
		free(block[at]);
		size[at] = rand_r(&seed) % 8 ? 1 + (size_t)rand_r(&seed) % 50000 : 1 + (size_t)rand_r(&seed) % (2 * MIB);
		block[at] = malloc(size[at]);
		block[at][0] = block[at][size[at] - 1] = (uint8_t)at;
	}
	for (int i = 0; i < BLOCKS; i++)
		free(block[i]);
	return (void *)wrong;
}

static int threads(void)
{
	pthread_t thread[4];
	void *wrong;
	int is_right = 1;

	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, churn, (void *)(i + 1));
	for (int i = 0; i < 4; i++)
		is_right &= pthread_join(thread[i], &wrong) == 0 && wrong == NULL;
	return is_right;
}

static int forks(void)
{
	uint8_t *memory = malloc(12 * MIB);
	int status = 1;
	pid_t pid;

	memset(memory, 3, 12 * MIB);
	pid = fork();
	if (pid == 0) {
		memory = realloc(memory, 14 * MIB);
		_exit(memory[11 * MIB] == 3 && threads() && grows() ? 0 : 9);
	}
	memset(memory, 4, 12 * MIB);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		return 0;
	free(memory);
	return 1;
}

int main(int arguments, char **argument)
{
	void *large = malloc(4 * MIB);

	check(arguments < 2 || strcmp(argument[1], "managed") != 0 || is_managed(large), "a large allocation is managed");
	free(large);
	check(all_functions(100), "small");
	check(all_functions(700000), "across the threshold");
	check(all_functions(5 * MIB), "large");
	check(grows(), "realloc");
	check(!mallocx || of_jemalloc(), "the functions of jemalloc");
	check(threads(), "threads");
	check(forks(), "fork");
	return failed;
}
