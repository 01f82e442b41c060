/* Calls functions of the core on inputs drawn from a seed; bench.sh counts their instructions.
 *
 * usage: bench                       lists the cases: NAME|FUNCTION|UNITS|CALLS|ORIGINAL|BUDGET|BUDGET_NS|
 *                                    FLOOR|UNIT|TEXT, with 0 and - where a field is unknown
 *        bench CASE SEED CALLS       calls the function of a case so often
 *        bench ns CASE SEED REPEATS  prints the nanoseconds of one unit, the least of as many runs, which end
 *                                    after two seconds at the latest once there were two
 *        bench arena                 the memory that an engine needs
 *        bench state                 the memory of uvmsim per page of 32 GB on 12 GB, in thousandths of bytes
 *        bench order NAME RESERVE BYTES TIMES  touches and victims of an eviction order (orders.sh)
 *        bench zipf FILE             writes a cache trace (oracleGeneral): 20 million requests by Zipf's law
 *        bench measure FILE PROGRAM ARGUMENT...  runs the program, its output into the file, and prints wall
 *                                    and CPU time in microseconds and the most memory that it held, in KiB */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "uvmpolicy/base.h"

#if defined(__has_include)
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif
#endif
#ifndef CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_START_INSTRUMENTATION (void)0
#endif

#define CALLS 2000u

static const struct bench_case *const tables[] = {bench_prefetch_cases, bench_faults_cases,
                                                  bench_thrash_cases, bench_evict_cases, bench_engine_cases,
                                                  bench_batches_cases};

static const struct bench_case *running;
static uint64_t random_state, begin_ns, spent_ns, loops;
static bool is_counting;

uint32_t bench_draw(uint32_t bound)
{
	return (uint32_t)uvmp_random_below(&random_state, bound);
}

uint64_t bench_draw_long(uint64_t bound)
{
	return uvmp_random_below(&random_state, bound);
}

void bench_check(int is_ok)
{
	if (is_ok)
		return;
	fprintf(stderr, "bench: %s: a call failed\n", running ? running->name : "-");
	exit(1);
}

void *bench_memory(size_t bytes)
{
	void *memory = aligned_alloc(64, (bytes + 63u) / 64u * 64u);

	bench_check(memory != NULL);
	return memory;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void bench_begin(void)
{
	if (!is_counting)
		CALLGRIND_START_INSTRUMENTATION;
	is_counting = true;
	begin_ns = now_ns();
}

void bench_end(void)
{
	spent_ns += now_ns() - begin_ns;
	loops++;
}

/* What an empty loop seems to take: the clock itself. */
static uint64_t clock_ns(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 1000; i++) {
		spent_ns = 0;
		bench_begin();
		bench_end();
		least = spent_ns < least ? spent_ns : least;
	}
	return least;
}

static void print_time(uint64_t seed, unsigned long repeats)
{
	uint64_t of_clock = clock_ns(), start = now_ns(), least = UINT64_MAX;
	unsigned long calls = running->calls ? running->calls : CALLS;

	for (unsigned long i = 0; i < repeats && (i < 2 || now_ns() - start < 2000000000u); i++) {
		random_state = seed;
		spent_ns = loops = 0;
		running->run(calls);
		spent_ns -= loops * of_clock < spent_ns ? loops * of_clock : spent_ns;
		least = spent_ns < least ? spent_ns : least;
	}
	printf("%.1f\n", (double)least / (double)calls / running->units);
}

static void list(void)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		for (const struct bench_case *c = tables[i]; c->name; c++)
			printf("%s|%s|%" PRIu32 "|%" PRIu32 "|%" PRIu32 "|%" PRIu32 "|%" PRIu32 "|%s|%s|%s\n",
			       c->name, c->function, c->units, c->calls ? c->calls : CALLS, c->original,
			       c->budget, c->budget_ns, c->floor ? c->floor : "-", c->unit, c->text);
	}
}

static bool find(const char *name)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		for (const struct bench_case *c = tables[i]; c->name; c++) {
			if (strcmp(c->name, name) == 0)
				running = c;
		}
	}
	if (!running)
		fprintf(stderr, "bench: no case is named %s; `bench` alone lists them\n", name);
	return running != NULL;
}

static int measure(const char *file, char **program)
{
	uint64_t start = now_ns();
	long long cpu_us;
	struct rusage usage;
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (freopen(file, "w", stdout))
			execvp(program[0], program);
		_exit(1);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0 ||
	    getrusage(RUSAGE_CHILDREN, &usage) != 0)
		return 1;
	cpu_us = (long long)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
	         usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
	printf("%" PRIu64 " %lld %ld\n", (now_ns() - start) / 1000u, cpu_us, usage.ru_maxrss);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 3 && strcmp(argv[1], "measure") == 0)
		return measure(argv[2], argv + 3);
	if (argc == 6 && strcmp(argv[1], "order") == 0)
		return bench_orders(argv[2], strtoul(argv[3], NULL, 10), strtoull(argv[4], NULL, 10),
		                    strtoul(argv[5], NULL, 10));
	if (argc == 2 && strcmp(argv[1], "arena") == 0)
		bench_print_arena();
	else if (argc == 3 && strcmp(argv[1], "zipf") == 0)
		return bench_write_zipf(argv[2]);
	else if (argc == 2 && strcmp(argv[1], "state") == 0)
		bench_print_state();
	else if (argc == 5 && strcmp(argv[1], "ns") == 0 && find(argv[2]))
		print_time(strtoull(argv[3], NULL, 10), strtoul(argv[4], NULL, 10));
	else if (argc == 4 && find(argv[1])) {
		random_state = strtoull(argv[2], NULL, 10);
		running->run(strtoul(argv[3], NULL, 10));
	} else if (argc == 1)
		list();
	else
		return 2;
	return 0;
}
