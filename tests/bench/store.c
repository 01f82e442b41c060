/* How fast backing stores are, and how much room they take: bench-store [FILE [DIRECTORY]]. The pages hold
 * FILE over and over, by itself its own program; files are made in DIRECTORY. The better of two rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store.h"

#define BYTES     ((size_t)64 << 20)
#define RUNS_MOST 1024u
#define PAGE      UVMP_STORE_PAGE_BYTES

enum what { FIRST, AGAIN, READ, WHATS };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint8_t *load(const char *path)
{
	uint8_t *memory = aligned_alloc(PAGE, BYTES);
	FILE *file = fopen(path, "rb");
	size_t bytes = file && memory ? fread(memory, 1, BYTES, file) : 0;

	if (file)
		fclose(file);
	if (bytes == 0) {
		fprintf(stderr, "bench-store: %s: cannot be read\n", path);
		exit(2);
	}
	for (size_t i = bytes; i < BYTES; i++)
		memory[i] = memory[i - bytes];
	return memory;
}

/* Small runs are slow: fewer of them will do. */
static size_t bytes_of(size_t run)
{
	return run * RUNS_MOST < BYTES ? run * RUNS_MOST : BYTES;
}

static double measure(struct uvmp_pager_store *store, size_t run, enum what what, uint8_t *memory,
                      uint8_t *to)
{
	double start = now();

	for (size_t at = 0; at < bytes_of(run); at += run) {
		int error = what == READ ? store->read(store, at / PAGE, run / PAGE, to)
		                         : store->write(store, at / PAGE, run / PAGE, memory + at);

		if (error != 0) {
			fprintf(stderr, "bench-store: %s\n", strerror(-error));
			exit(1);
		}
	}
	return (double)(bytes_of(run) >> 20) / (now() - start);
}

static void row(const char *name, size_t run, uint8_t *memory, uint8_t *to)
{
	double speed[WHATS] = {0}, size = 0;

	for (int round = 0; round < 2; round++) {
		char text[300];
		int error;
		struct uvmp_pager_store *store =
		        uvmp_store_open(name, BYTES / PAGE, &error, text, sizeof(text));

		if (!store) {
			printf("%-20s %s\n", name, text);
			return;
		}
		for (int what = FIRST; what < WHATS; what++) {
			double is = measure(store, run, (enum what)what, memory, to);

			speed[what] = is > speed[what] ? is : speed[what];
		}
		size = (double)store->size(store) / (double)bytes_of(run);
		store->close(store);
	}
	printf("%-20s %4zu KiB %8.0f %8.0f %8.0f MiB/s %6.2f\n", name, run >> 10, speed[FIRST], speed[AGAIN],
	       speed[READ], size);
}

int main(int argc, char **argv)
{
	static const char *const name[] = {"mem", "zstd:-20", "zstd:-5", "zstd:-1", "zstd:1", "zstd:3"};
	static const size_t run[] = {(size_t)2 << 20, 65536, 4096};
	uint8_t *memory = load(argc > 1 ? argv[1] : "/proc/self/exe"), *to = aligned_alloc(PAGE, run[0]);
	char file[300];

	if (!to)
		return 1;
	snprintf(file, sizeof(file), "file:%s", argc > 2 ? argv[2] : "/var/tmp");
	printf("%-20s %8s %8s %8s %8s %12s\n", "store", "at a time", "written", "again", "read", "size");
	for (size_t k = 0; k < sizeof(run) / sizeof(run[0]); k++) {
		row(file, run[k], memory, to);
		for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
			row(name[i], run[k], memory, to);
	}
	free(memory);
	free(to);
	return 0;
}
