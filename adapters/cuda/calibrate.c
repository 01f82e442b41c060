/* uvmp-calibrate: measurements of a GPU as a model for `uvmsim --gpu FILE`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "measurements.h"
#include "say.h"

static const char help[] = "usage: uvmp-calibrate MEASUREMENTS --link FILE.link [> FILE.gpu]\n"
			   "\n"
			   "Reads what uvmp-cuda-bench measured (-: standard input), writes the link as\n"
			   "FILE.link and prints the model of the GPU, which names that file: put both in\n"
			   "one folder. See docs/cuda.md.\n";

enum { DONE = 0, BAD_INPUT = 2 };

/* The name in the model: its folder is that of the model. */
static const char *link_name(const char *path, char name[MEASUREMENTS_ERROR_MAX])
{
	const char *slash = strrchr(path, '/');

	snprintf(name, MEASUREMENTS_ERROR_MAX, "./%.200s", slash ? slash + 1 : path);
	return name;
}

static bool ends_in_link(const char *path)
{
	size_t length = strlen(path);

	return length > 5 && strcmp(path + length - 5, ".link") == 0;
}

/* False: the error has been reported. */
static bool write_link(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");
	bool is_good = out && fputs(text, out) >= 0;

	if ((out && fclose(out) != 0) || !is_good) {
		say_error("%s: %s", path, strerror(errno));
		return false;
	}
	return true;
}

static int convert(FILE *in, const char *name, const char *link)
{
	static struct measurements measured;
	char error[MEASUREMENTS_ERROR_MAX], base[MEASUREMENTS_ERROR_MAX];
	char *model = NULL, *text = NULL; /* of the GPU and of the link: both are written, or none */
	size_t bytes = 0, text_bytes = 0;
	FILE *gpu, *out;
	bool is_good;

	if (!measurements_read(in, name, &measured, error))
		return say_error("%s", error);
	gpu = open_memstream(&model, &bytes);
	out = open_memstream(&text, &text_bytes);
	is_good = gpu && out && measurements_model(&measured, link_name(link, base), gpu, out, error);
	if (!gpu || !out)
		snprintf(error, sizeof(error), "out of memory");
	if (gpu)
		fclose(gpu);
	if (out)
		fclose(out);
	if (!is_good)
		say_error("%s: %s", name, error);
	is_good = is_good && write_link(link, text);
	if (is_good)
		fputs(model, stdout);
	free(model);
	free(text);
	if (!is_good)
		return BAD_INPUT;
	return fflush(stdout) == 0 ? DONE : say_error("standard output: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	const char *path = NULL, *link = NULL;
	FILE *in;
	int status;

	say_program("uvmp-calibrate");
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			fputs(help, stdout);
			return DONE;
		}
		if (strcmp(argv[i], "--link") == 0 && i + 1 < argc && !link)
			link = argv[++i];
		else if (!path && (argv[i][0] != '-' || argv[i][1] == '\0'))
			path = argv[i];
		else
			return say_error("\"%s\" is not expected here; see uvmp-calibrate --help", argv[i]);
	}
	if (!path || !link)
		return say_error("MEASUREMENTS and --link FILE.link are needed; see uvmp-calibrate --help");
	if (!ends_in_link(link))
		return say_error("--link %s: the name must end in .link", link);
	in = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
	if (!in)
		return say_error("%s: %s", path, strerror(errno));
	status = convert(in, path, link);
	if (in != stdin)
		fclose(in);
	return status;
}
