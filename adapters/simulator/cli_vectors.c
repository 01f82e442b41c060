/* decide and check: vector files against the library. */
#include "cli.h"

#include "vectors/vec.h"

const char help_decide[] = "usage: uvmsim decide FILE\n"
			   "\n"
			   "Reads a vector file (-: standard input), recomputes its `=> ` lines, and prints\n"
			   "the whole file. Stops at the first bad line, after printing the lines before.\n"
			   "\n"
			   "Exit status: 0 done; 2 bad input. Format: docs/vectors.md.\n";

const char help_check[] = "usage: uvmsim check FILE...\n"
			  "\n"
			  "Computes the `=> ` lines of vector files (-: standard input) and compares them.\n"
			  "Prints each input line whose results differ or are missing, with the expected\n"
			  "and the computed lines; ends with `N passed, M failed`, counted in input lines.\n"
			  "\n"
			  "Exit status: 0 all passed; 1 some failed; 2 bad input.\n"
			  "Format: docs/vectors.md.\n";

static const char *const no_options[] = {NULL};

/* One file through `work`. Returns CLI_DONE or CLI_BAD_INPUT. */
static int process(const char *path, void (*work)(FILE *, const char *, FILE *, struct vec_result *),
		   struct vec_result *result)
{
	FILE *in = cli_open(path);

	if (in == NULL)
		return CLI_BAD_INPUT;
	work(in, path, stdout, result);
	cli_close(in);
	if (result->is_bad)
		return say_error("%s", result->error);
	return CLI_DONE;
}

int cmd_decide(int argc, char **argv)
{
	struct options args = CLI_OPTIONS(no_options, "decide");
	struct vec_result result = {0};
	const char *path = NULL, *value;
	int what;

	while ((what = options_next(&args, &value)) != OPTIONS_END) {
		if (what == OPTIONS_BAD)
			return CLI_BAD_INPUT;
		if (path != NULL)
			return say_error("decide takes one file; see `uvmsim decide --help`");
		path = value;
	}
	if (path == NULL)
		return say_error("a file must follow decide; see `uvmsim decide --help`");
	return process(path, vec_decide, &result);
}

int cmd_check(int argc, char **argv)
{
	struct options args = CLI_OPTIONS(no_options, "check");
	unsigned long long passed = 0, failed = 0;
	int what, files = 0, status = CLI_DONE;
	const char *path;

	while ((what = options_next(&args, &path)) != OPTIONS_END) {
		struct vec_result result = {0};

		if (what == OPTIONS_BAD)
			return CLI_BAD_INPUT;
		files++;
		if (process(path, vec_check, &result) != CLI_DONE)
			status = CLI_BAD_INPUT;
		else if (result.passed + result.failed == 0)
			status = say_error("%s: the file holds no input line: nothing is checked", path);
		passed += result.passed;
		failed += result.failed;
	}
	if (files == 0)
		return say_error("a file must follow check; see `uvmsim check --help`");
	printf("%llu passed, %llu failed\n", passed, failed);
	return status == CLI_DONE && failed > 0 ? CLI_CHECK_FAILED : status;
}
