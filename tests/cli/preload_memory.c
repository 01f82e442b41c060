/* malloc, mmap and their kin under uvmp-run: what is managed, what it holds, and what libuvmp-preload must not disturb.
 * Run by preload.sh with a threshold of 1 MiB and a budget of EVICT_BYTES / 2 or less. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MiB         ((size_t)1 << 20)
#define EVICT_BYTES (16 * MiB)

static uint8_t *others;
static int failed;

static void check(int is_right, const char *name)
{
	printf("%s %s\n", is_right ? "ok  " : "FAIL", name);
	failed |= !is_right;
}

static void evict(void)
{
	for (size_t i = 0; i < EVICT_BYTES; i += 4096)
		(void)*(volatile uint8_t *)(others + i);
}

static int is_managed(const void *memory)
{
	return memory && (uintptr_t)memory % (2 * MiB) == 0;
}

static void fill(void *memory, size_t bytes, unsigned seed)
{
	uint32_t *word = memory;

	for (size_t i = 0; i < bytes / 4; i++)
		word[i] = (uint32_t)i * 2654435761u + seed;
}

static int is_filled(const void *memory, size_t bytes, unsigned seed)
{
	const uint32_t *word = memory;

	for (size_t i = 0; i < bytes / 4; i++)
		if (word[i] != (uint32_t)i * 2654435761u + seed)
			return 0;
	return 1;
}

static int is_zero(const uint8_t *memory, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (memory[i] != 0)
			return 0;
	return 1;
}

static void allocations(void)
{
	volatile size_t most = SIZE_MAX;
	uint8_t *memory;
	void *got = NULL;

	memory = malloc(3 * MiB);
	fill(memory, 3 * MiB, 1);
	evict();
	check(is_managed(memory) && malloc_usable_size(memory) >= 3 * MiB, "malloc is managed");
	memory = realloc(memory, 9 * MiB);
	evict();
	check(is_managed(memory) && is_filled(memory, 3 * MiB, 1), "realloc: larger");
	memory = realloc(memory, 2 * MiB);
	check(is_filled(memory, 2 * MiB, 1), "realloc: smaller");
	memory = realloc(memory, 5000);
	check(!is_managed(memory) && is_filled(memory, 5000, 1), "realloc: below the threshold");
	memory = reallocarray(memory, MiB, 2);
	check(is_managed(memory) && is_filled(memory, 5000, 1), "reallocarray: above it again");
	errno = 0;
	check(!reallocarray(memory, most / 2, 3) && errno == ENOMEM && is_filled(memory, 5000, 1), "reallocarray: overflow");
	check(!calloc(most / 2, 3) && !malloc(most) && !pvalloc(most), "sizes that are too large");
	errno = 0;
	check(!realloc(memory, 0) && malloc_usable_size(NULL) == 0, "realloc: to nothing");
	free(NULL);
	for (int i = 0; i < 3; i++) {
		memory = calloc(3, MiB);
		check(is_managed(memory) && is_zero(memory, 3 * MiB), "calloc: zeros");
		memset(memory, 255, 3 * MiB);
		errno = 1234;
		free(memory);
		check(errno == 1234, "free: errno stays");
	}
	errno = 1234;
	memory = malloc(MiB);
	check(errno == 1234, "malloc: errno stays");
	free(memory);
	check(posix_memalign(&got, 3, MiB) == EINVAL && posix_memalign(&got, 4, MiB) == EINVAL, "posix_memalign: EINVAL");
	check(posix_memalign(&got, MiB, MiB) == 0 && is_managed(got), "posix_memalign");
	free(got);
	check(posix_memalign(&got, 8 * MiB, MiB) == 0 && (uintptr_t)got % (8 * MiB) == 0, "posix_memalign: 8 MiB");
	memset(got, 1, MiB);
	free(got);
	memory = aligned_alloc(4096, 2 * MiB);
	check(is_managed(memory), "aligned_alloc");
	free(memory);
	memory = valloc(2 * MiB);
	check(is_managed(memory), "valloc");
	free(memory);
	memory = pvalloc(2 * MiB - 1);
	check(is_managed(memory) && malloc_usable_size(memory) >= 2 * MiB, "pvalloc");
	free(memory);
	memory = malloc(1000);
	check(!is_managed(memory), "small ones are the C library's");
	free(memory);
}

static void mappings(void)
{
	const int rw = PROT_READ | PROT_WRITE, plain = MAP_PRIVATE | MAP_ANONYMOUS;
	uint8_t *memory = mmap(NULL, 6 * MiB, rw, plain | MAP_NORESERVE, -1, 0), *other;
	FILE *file = tmpfile();

	check(is_managed(memory) && is_zero(memory, 6 * MiB), "mmap is managed");
	fill(memory, 6 * MiB, 2);
	evict();
	check(mprotect(memory, 6 * MiB, PROT_READ) == 0 && is_filled(memory, 6 * MiB, 2), "mprotect: read");
	check(mprotect(memory, 6 * MiB, rw) == 0, "mprotect: write");
	memory[0] ^= 0;
	check(mlock(memory, 6 * MiB) == 0 && mlockall(MCL_CURRENT) == 0, "mlock");
	evict();
	check(is_filled(memory, 6 * MiB, 2) && munlock(memory, 6 * MiB) == 0, "mlock: what it holds");
	check(madvise(memory, 6 * MiB, MADV_HUGEPAGE) == 0 && madvise(memory, 6 * MiB, MADV_POPULATE_WRITE) == 0 &&
	              madvise(memory, 6 * MiB, MADV_SEQUENTIAL) == 0 && msync(memory, 6 * MiB, MS_SYNC) == 0,
	      "madvise: hints");
	check(is_filled(memory, 6 * MiB, 2), "madvise: what it holds");
	check(madvise(memory, 2 * MiB, MADV_WIPEONFORK) == -1, "madvise: WIPEONFORK is refused");
	check(madvise(memory + MiB, 3 * MiB, MADV_DONTNEED) == 0 && is_zero(memory + MiB, 3 * MiB) &&
	              is_filled(memory, MiB, 2), "madvise: DONTNEED");
	memory = mremap(memory, 6 * MiB, 12 * MiB, MREMAP_MAYMOVE);
	check(memory != MAP_FAILED && is_filled(memory, MiB, 2) && is_zero(memory + 6 * MiB, 6 * MiB), "mremap: larger");
	memset(memory + MiB, 7, 11 * MiB);
	check(mremap(memory, 12 * MiB, 5 * MiB, 0) == memory && is_filled(memory, MiB, 2) && memory[5 * MiB - 1] == 7,
	      "mremap: smaller");
	errno = 0;
	check(mmap(memory, 4 * MiB, PROT_READ, MAP_PRIVATE | MAP_FIXED, -1, 0) == MAP_FAILED && errno == EBADF &&
	              is_filled(memory, MiB, 2) && memory[4 * MiB] == 7, "mmap: one that fails leaves managed memory as it is");
	fwrite("mapped", 1, 7, file);
	fflush(file);
	check(ftruncate(fileno(file), 2 * MiB) == 0, "ftruncate");
	other = mmap(memory + 2 * MiB, 2 * MiB, PROT_READ, MAP_PRIVATE | MAP_FIXED, fileno(file), 0);
	evict();
	check(other == memory + 2 * MiB && strcmp((char *)other, "mapped") == 0, "mmap: a file over managed memory");
	check(is_filled(memory, MiB, 2) && memory[2 * MiB - 1] == 7 && memory[4 * MiB] == 7,
	      "mmap: what is around it");
	other = mmap(memory + MiB + 4096, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, fileno(file), 0);
	evict();
	check(strcmp((char *)other, "mapped") == 0 && memory[MiB + 4095] == 7 && memory[MiB + 8192] == 7 &&
	              is_filled(memory, MiB, 2), "mmap: a page of a file among managed ones");
	check(munmap(memory, 5 * MiB) == 0, "munmap");
	other = mmap(NULL, 4 * MiB, PROT_NONE, plain, -1, 0);
	check(mprotect(other, 4 * MiB, rw) == 0 && is_zero(other, 4 * MiB), "mmap: PROT_NONE first");
	munmap(other, 4 * MiB);
	for (int i = 0; i < 600; i++) { /* more than may be managed at a time */
		memory = mmap(NULL, MiB + 4096, rw, plain, -1, 0);
		if (!is_managed(memory))
			break;
		munmap(memory, MiB + 4096);
	}
	check(is_managed(memory), "munmap gives managed memory back");
	fclose(file);
}

static void *small_stack(void *unused)
{
	uint8_t *memory = malloc(4 * MiB);

	(void)unused;
	fill(memory, 4 * MiB, 3);
	evict();
	if (!is_filled(memory, 4 * MiB, 3))
		return NULL;
	free(memory);
	return &failed;
}

static void threads(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	void *result = NULL, *stack = malloc(2 * MiB);

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN);
	pthread_create(&thread, &attributes, small_stack, NULL);
	pthread_join(thread, &result);
	check(result != NULL, "a thread with the smallest stack");
	if (getenv("UVMP_RUN_USER_MODE")) /* the kernel writes to stacks */
		return;
	result = NULL;
	pthread_attr_setstack(&attributes, stack, 2 * MiB);
	pthread_create(&thread, &attributes, small_stack, NULL);
	pthread_join(thread, &result);
	check(result != NULL, "a thread whose stack is managed");
}

static void on_timer(int number)
{
	uint8_t *memory = malloc(2 * MiB);

	(void)number;
	memory[MiB] = 1;
	others[3 * MiB] = 9;
	free(memory);
}

static volatile int is_over;

static void *allocate_always(void *unused)
{
	while (!is_over) {
		uint8_t *memory = malloc(2 * MiB);

		memory[4096] = 1;
		free(memory);
	}
	return unused;
}

/* Handlers that allocate, and forks, while others allocate. */
static void signals_and_forks(void)
{
	pthread_t thread;
	int status = 0, sum = 0;
	uint8_t *memory = malloc(4 * MiB);

	fill(memory, 4 * MiB, 5);
	signal(SIGALRM, on_timer);
	pthread_create(&thread, NULL, allocate_always, NULL);
	for (int i = 0; i < 10; i++) {
		pid_t pid;

		ualarm(700, 0);
		pid = fork();
		if (pid == 0) {
			uint8_t *own = malloc(2 * MiB);

			memset(own, 1, 2 * MiB);
			evict();
			_exit(is_filled(memory, 4 * MiB, 5) && own[2 * MiB - 1] == 1 ? 0 : 1);
		}
		waitpid(pid, &status, 0);
		sum += status;
		for (int k = 0; k < 50; k++)
			free(malloc(3 * MiB));
	}
	is_over = 1;
	pthread_join(thread, NULL);
	check(sum == 0, "fork: what children hold");
	check(is_filled(memory, 4 * MiB, 5), "signals: what is held");
}

/* Handlers that free what is managed; they were there before the pager. */
static uint8_t *of_parent, *of_child, *for_both;
static int seen;

static void free_one(uint8_t **memory)
{
	seen += for_both && is_filled(for_both, 4 * MiB, 6);
	free(*memory);
	*memory = NULL;
}

static void look(void)
{
	seen += for_both && is_filled(for_both, 4 * MiB, 6);
}

static void in_parent(void)
{
	free_one(&of_parent);
}

static void in_child(void)
{
	free_one(&of_child);
}

static int ends_well(pid_t pid)
{
	int status = 1;

	return waitpid(pid, &status, 0) == pid && status == 0;
}

static void fork_handlers(void)
{
	pid_t pid;

	of_parent = malloc(2 * MiB);
	of_child = malloc(2 * MiB);
	memset(of_parent, 1, 2 * MiB);
	memset(of_child, 1, 2 * MiB);
	for_both = malloc(4 * MiB);
	fill(for_both, 4 * MiB, 6);
	evict();
	pid = fork();
	if (pid == 0)
		_exit(seen == 2 && !of_child && is_managed(malloc(2 * MiB)) ? 0 : 1);
	check(ends_well(pid), "fork handlers: in the child");
	check(seen == 2 && !of_parent && is_filled(for_both, 4 * MiB, 6), "fork handlers: in the parent");
}

static int write_and_read(void)
{
	uint8_t got[64];
	int fds[2];

	evict();
	return pipe(fds) == 0 && write(fds[1], for_both, 64) == 64 && read(fds[0], got, 64) == 64 &&
	       is_filled(got, 64, 6);
}

static int fork_as_nobody(void)
{
	pid_t pid;

	if (setuid(65534) != 0)
		return 1;
	pid = fork();
	if (pid == 0)
		_exit(write_and_read() ? 0 : 1);
	return ends_well(pid) && write_and_read() ? 0 : 2;
}

/* The child of a process that has become an ordinary user's may not let the kernel fault. */
static void other_users(void)
{
	pid_t pid;

	if (getuid() != 0)
		return;
	pid = fork();
	if (pid == 0)
		_exit(fork_as_nobody());
	check(ends_well(pid), "fork as another user: system calls");
}

/* A daemon's start. */
static void descriptors(void)
{
	int is_kept;
	pid_t pid = fork();

	if (pid == 0) {
		is_kept = close_range(3, ~0u, 0) == 0;
		for (int fd = 3; fd < 2000; fd++) {
			close(fd);
			dup2(1, fd);
		}
		closefrom(3);
		fill(for_both, 4 * MiB, 8);
		evict();
		_exit(is_kept && is_filled(for_both, 4 * MiB, 8) && fcntl(3, F_GETFD) < 0 ? 0 : 1);
	}
	check(ends_well(pid), "close_range, close, dup2, closefrom: managed memory stays");
}

int main(int arguments, char **argument)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	pthread_atfork(look, in_parent, in_child);
	others = malloc(EVICT_BYTES);
	memset(others, 1, EVICT_BYTES);
	if (arguments > 1) { /* ways to end */
		switch (*argument[1]) {
		case 'e': exit(7);
		case '_': _exit(7);
		case 'q': quick_exit(7);
		case 'a': abort();
		case 'k': raise(SIGKILL); break;
		case 'x': execl("/bin/true", "true", (char *)NULL); break;
		default: return 1;
		}
	}
	allocations();
	mappings();
	threads();
	signals_and_forks();
	fork_handlers();
	other_users();
	descriptors();
	return failed;
}
