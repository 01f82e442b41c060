/* The program that uvmp_run.sh runs under uvmp-run: memory larger than the budget, with a distinct
 * value in each word, and several ways to end meanwhile. usage: uvmp_run_program MODE MIB [ARGUMENT...] */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#define PAGE_WORDS   512u
#define THREADS_MOST 64u

static uint64_t *word;
static size_t words;
static volatile sig_atomic_t got;

static uint64_t value(size_t i, uint64_t round)
{
	return (i + 1u) * 0x9e3779b97f4a7c15u + round;
}

static void fill(size_t first, size_t outer, uint64_t round)
{
	for (size_t i = first; i < outer; i++)
		word[i] = value(i, round);
}

static int verify(const char *who, size_t first, size_t outer, uint64_t round)
{
	for (size_t i = first; i < outer; i++) {
		if (word[i] != value(i, round)) {
			printf("%s: word %zu is wrong\n", who, i);
			return 1;
		}
	}
	printf("%s: all words right\n", who);
	return 0;
}

static int simple(void)
{
	fill(0, words, 1);
	return verify("program", 0, words, 1);
}

/* Reads all of it so many times. */
static int circle(unsigned rounds)
{
	uint64_t sum = 0;

	fill(0, words, 1);
	while (rounds-- != 0)
		for (size_t i = 0; i < words; i += PAGE_WORDS)
			sum += ((volatile uint64_t *)word)[i];
	return sum == 0 ? 1 : verify("program", 0, words, 1);
}

/* Reads all of it round after round until the file exists. */
static int until_file(const char *path)
{
	uint64_t sum = 0;

	fill(0, words, 1);
	while (access(path, F_OK) != 0)
		for (size_t i = 0; i < words; i += PAGE_WORDS)
			sum += ((volatile uint64_t *)word)[i];
	return sum == 0 ? 1 : verify("program", 0, words, 1);
}

static void take_signal(int number)
{
	got = number;
}

/* Writes round after round until a signal arrives, in the middle of a round; then each word must be of
 * this round or the last. */
static int until_signal(void)
{
	static const int number[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGQUIT, SIGIO, SIGPROF, SIGXCPU};
	struct sigaction action = {.sa_handler = take_signal};
	uint64_t round = 0;
	size_t at = 0;

	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		sigaction(number[i], &action, NULL);
	fill(0, words, 0);
	puts("ready");
	fflush(stdout);
	while (!got) {
		round++;
		for (at = 0; at < words && !got; at += PAGE_WORDS)
			fill(at, at + PAGE_WORDS, round);
	}
	printf("signal %d\n", got);
	return verify("written", 0, at, round) | verify("not yet", at, words, round - 1u);
}

static int forked(void)
{
	int status;
	pid_t pid;

	fill(0, words, 1);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		status = verify("child", 0, words, 1);
		fill(0, words / 2u, 2);
		status |= verify("child, its own", 0, words / 2u, 2) | verify("child, the rest", words / 2u, words, 1);
		exit(status);
	}
	fill(words / 2u, words, 3);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		return 1;
	return verify("parent, first half", 0, words / 2u, 1) | verify("parent, second half", words / 2u, words, 3);
}

/* Many processes, each with its copy. */
static int many(unsigned children)
{
	int wrong = 0, status;

	fill(0, words, 1);
	fflush(stdout);
	for (unsigned i = 0; i < children; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			size_t at = (size_t)i * 7919u % words;

			_exit(word[at] != value(at, 1));
		}
		wrong += pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
	}
	printf("%u children, %d wrong\n", children, wrong);
	return wrong != 0;
}

static int executed(char **argument)
{
	pid_t pid;
	int status;

	fill(0, words, 1);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		execvp(argument[0], argument);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		return 1;
	if (verify("parent", 0, words, 1) != 0)
		return 1;
	fflush(stdout);
	execvp(argument[0], argument); /* and this process is replaced by it */
	return 1;
}

/* A daemon's start: what it does not know is closed, and the numbers are its own files' from then on. */
static int daemon_like(const char *path)
{
	struct stat info;
	int fd;

	fill(0, words, 1);
	for (fd = 3; fd < 1024; fd++)
		close(fd);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	fill(0, words, 2);
	if (fd < 0 || write(fd, "mine", 4) != 4 || fstat(fd, &info) != 0)
		return 1;
	printf("file %d has %d bytes\n", fd, (int)info.st_size);
	return verify("program", 0, words, 2);
}

struct part {
	pthread_t thread;
	size_t first, outer;
	int wrong;
};

static void *work(void *context)
{
	struct part *part = context;

	for (uint64_t round = 1; round <= 3; round++) {
		fill(part->first, part->outer, round);
		for (size_t i = part->first; i < part->outer; i++)
			part->wrong |= word[i] != value(i, round);
	}
	return NULL;
}

static int threads(bool waits)
{
	static struct part part[THREADS_MOST];
	int wrong = 0;

	for (size_t i = 0; i < THREADS_MOST; i++) {
		part[i].first = words / THREADS_MOST * i;
		part[i].outer = words / THREADS_MOST * (i + 1u);
		if (pthread_create(&part[i].thread, NULL, work, &part[i]) != 0)
			return 1;
	}
	if (!waits) { /* the others are in faults */
		usleep(50000);
		puts("leaving");
		return 7;
	}
	for (size_t i = 0; i < THREADS_MOST; i++) {
		pthread_join(part[i].thread, NULL);
		wrong |= part[i].wrong;
	}
	puts(wrong ? "wrong" : "all words right");
	return wrong;
}

/* Replaces itself by a program for which the kernel has no userfaultfd. */
static int without(char **argument)
{
	struct sock_filter filter[] = {
	        {BPF_LD | BPF_W | BPF_ABS, 0, 0, 0}, /* the number of the system call */
	        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_userfaultfd},
	        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS},
	        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		return 77;
	execvp(argument[0], argument);
	return 99;
}

/* Allocations of 4 MiB and mappings of 2 MiB of every kind that is not managed, and one that is. */
static int kinds(const char *path)
{
	const size_t bytes = 2u << 20;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), rw = PROT_READ | PROT_WRITE;
	char *reserved = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *volatile aligned = aligned_alloc(4u << 20, 4u << 20);
	volatile char *small = malloc(100000);

	if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0 || reserved == MAP_FAILED || !aligned || !small ||
	    mmap(reserved, bytes, rw, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != reserved ||
	    mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ||
	    mmap(NULL, bytes, rw, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ||
	    mmap(NULL, bytes, rw, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0) == MAP_FAILED ||
	    mmap(NULL, bytes, rw, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return 1;
	(void)mmap(NULL, bytes, rw, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0); /* there may be none */
	return simple();
}

int main(int arguments, char **argument)
{
	const char *mode = arguments > 2 ? argument[1] : "";

	words = arguments > 2 ? strtoul(argument[2], NULL, 10) * (1048576u / sizeof(*word)) : 0;
	word = words != 0 ? malloc(words * sizeof(*word)) : NULL;
	if (!word)
		return 99;
	if (strcmp(mode, "simple") == 0)
		return simple();
	if (strcmp(mode, "circle") == 0 && arguments > 3)
		return circle((unsigned)strtoul(argument[3], NULL, 10));
	if (strcmp(mode, "until") == 0 && arguments > 3)
		return until_file(argument[3]);
	if (strcmp(mode, "signal") == 0)
		return until_signal();
	if (strcmp(mode, "fork") == 0)
		return forked();
	if (strcmp(mode, "many") == 0 && arguments > 3)
		return many((unsigned)strtoul(argument[3], NULL, 10));
	if (strcmp(mode, "untouched") == 0)
		return 0;
	if (strcmp(mode, "without") == 0 && arguments > 3)
		return without(argument + 3);
	if (strcmp(mode, "kinds") == 0 && arguments > 3)
		return kinds(argument[3]);
	if (strcmp(mode, "exec") == 0 && arguments > 3)
		return executed(argument + 3);
	if (strcmp(mode, "daemon") == 0 && arguments > 3)
		return daemon_like(argument[3]);
	if (strcmp(mode, "threads") == 0)
		return threads(true);
	if (strcmp(mode, "leave") == 0)
		return threads(false);
	if (strcmp(mode, "abort") == 0)
		return simple() != 0 ? 1 : (fflush(stdout), abort(), 1);
	return 99;
}
