/* A main() for fuzz targets that are built without libFuzzer: feeds each file named on the command line, and
 * every file below each directory, to the target once. Prints how many. Exit 1 if anything could not be read.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INPUT_MAX   (1u << 20)
#define DEPTH_MAX   16u
#define PATH_LENGTH 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long inputs;
static int status;

static void complain(const char *path)
{
	fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
	status = 1;
}

/* The target gets memory of exactly the input's size, so that the address sanitizer sees a read behind it. */
static void feed(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size + (size == 0));

	if (exact == NULL) {
		complain("memory");
		return;
	}
	memcpy(exact, data, size);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	inputs++;
}

static void replay_file(const char *path)
{
	static uint8_t buffer[INPUT_MAX];
	FILE *in = fopen(path, "rb");
	size_t size;

	if (in == NULL) {
		complain(path);
		return;
	}
	size = fread(buffer, 1, sizeof buffer, in);
	if (ferror(in))
		complain(path);
	else
		feed(buffer, size);
	fclose(in);
}

static void replay_path(const char *path, unsigned depth);

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void replay_directory(const char *path, unsigned depth)
{
	struct dirent **entry;
	char name[PATH_LENGTH];
	int count = scandir(path, &entry, is_visible, alphasort);

	if (count < 0) {
		complain(path);
		return;
	}
	for (int i = 0; i < count; i++) {
		int length = snprintf(name, sizeof name, "%s/%s", path, entry[i]->d_name);

		errno = ENAMETOOLONG;
		if (length < 0 || (size_t)length >= sizeof name)
			complain(path);
		else
			replay_path(name, depth + 1);
		free(entry[i]);
	}
	free(entry);
}

static void replay_path(const char *path, unsigned depth)
{
	struct stat info;

	if (stat(path, &info) != 0) {
		complain(path);
		return;
	}
	if (!S_ISDIR(info.st_mode)) {
		replay_file(path);
		return;
	}
	errno = ELOOP;
	if (depth > DEPTH_MAX)
		complain(path);
	else
		replay_directory(path, depth);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay_path(argv[i], 0);
	printf("%lu inputs\n", inputs);
	return status;
}
