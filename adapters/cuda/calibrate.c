/* uvmp-calibrate: measurements of a GPU as a model for `uvmsim --gpu FILE`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "measurements.h"
#include "options.h"
#include "output.h"
#include "output_conflicts.h"
#include "say.h"

static const char help[] = "usage: uvmp-calibrate MEASUREMENTS --link FILE.link [> FILE.gpu]\n"
			   "       uvmp-calibrate --help | -h | --version | -V\n"
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

/* Writes the link and prints the model: both or, if one cannot be written, none. False after a report. */
static bool write_both(struct output *output, const char *link, const char *model)
{
	FILE *out = output_begin(output) ? output_stream(output) : NULL;

	if (!out)
		return false;
	fputs(link, out);
	fputs(model, stdout);
	return output_flush_standard();
}

static int convert(FILE *in, const char *name, const char *link, struct output *output)
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
	is_good = is_good && write_both(output, text, model);
	free(model);
	free(text);
	return is_good ? DONE : BAD_INPUT;
}

/* NULL after a report. */
static FILE *open_measurements(const char *path)
{
	struct stat info;
	FILE *in;

	if (!output_reads(NULL, path))
		return NULL;
	in = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
	if (!in) {
		say_error("%s: %s", path, strerror(errno));
	} else if (fstat(fileno(in), &info) == 0 && S_ISDIR(info.st_mode)) {
		say_error("%s: %s", path, strerror(EISDIR));
		fclose(in);
		in = NULL;
	}
	return in;
}

static int run(const char *path, const char *link)
{
	struct output *output;
	FILE *in;
	int status;

	if (!path || !link)
		return say_error("MEASUREMENTS and --link FILE.link are needed; see uvmp-calibrate --help");
	if (!ends_in_link(link))
		return say_error("--link %s: the name must end in .link", link);
	in = open_measurements(path);
	if (!in)
		return BAD_INPUT;
	output = output_claim("--link", link);
	status = output ? convert(in, path, link, output) : BAD_INPUT;
	if (in != stdin)
		fclose(in);
	return output_close(output, status == DONE ? OUTPUT_COMPLETE : OUTPUT_DISCARD) ? status : BAD_INPUT;
}

static bool is_either(const char *word, const char *brief, const char *full)
{
	return strcmp(word, brief) == 0 || strcmp(word, full) == 0;
}

static int take(int argc, char **argv)
{
	static const char *const options[] = {"link=", NULL};
	struct options args = {.argc = argc, .argv = argv, .list = options, .help = "uvmp-calibrate --help"};
	const char *path = NULL, *link = NULL, *value;
	int option;

	if (argc == 2 && is_either(argv[1], "-h", "--help"))
		return fputs(help, stdout) < 0 ? BAD_INPUT : DONE;
	if (argc == 2 && is_either(argv[1], "-V", "--version"))
		return printf("uvmp-calibrate %s\n", UVMSIM_VERSION) < 0 ? BAD_INPUT : DONE;
	while ((option = options_next(&args, &value)) != OPTIONS_END) {
		if (option == OPTIONS_BAD)
			return BAD_INPUT;
		if (option != OPTIONS_OPERAND)
			link = value;
		else if (!path)
			path = value;
		else
			return say_error("unexpected argument %.200s; see uvmp-calibrate --help", value);
	}
	return run(path, link);
}

int main(int argc, char **argv)
{
	int status;

	say_program("uvmp-calibrate");
	output_ignore_pipe();
	if (!output_begin_standard())
		return BAD_INPUT;
	status = take(argc, argv);
	if (status == DONE && !output_flush_standard())
		status = BAD_INPUT;
	return output_end(status);
}
