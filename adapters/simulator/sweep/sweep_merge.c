/* Merging: see sweep_merge.h. */
#include "sweep_merge.h"

#include <errno.h>
#include <string.h>

#include "../cli.h"
#include "output.h"
#include "results.h"

/* The run after `run` that has no line, from the i-th line on, which is moved on. */
static uint64_t next_missing(const struct results *results, uint64_t run, size_t *i)
{
	for (; *i < results->count && results->line[*i].run == run; run++)
		(*i)++;
	return run;
}

/* Lines are sorted and each is of another run. */
static int check_complete(const struct results *results)
{
	uint64_t missing = results->key.runs - results->count;
	size_t at = 0;

	if (missing == 0)
		return CLI_DONE;
	say_error("--merge: run %llu has no result in these files; %llu of %llu runs are missing",
		  (unsigned long long)next_missing(results, 0, &at), (unsigned long long)missing,
		  (unsigned long long)results->key.runs);
	return CLI_CHECK_FAILED;
}

static int read_all(struct results *results, const char *const *path, size_t count)
{
	char error[RESULTS_ERROR_MAX];

	for (size_t i = 0; i < count; i++) {
		uint64_t end;
		FILE *in = cli_open(path[i]);
		bool is_good;

		if (!in)
			return CLI_BAD_INPUT;
		is_good = results_read(results, in, path[i], &end, error);
		cli_close(in);
		if (!is_good)
			return say_error("--merge: %s", error);
	}
	if (!results->has_key)
		return say_error("--merge: these files have no results");
	return CLI_DONE;
}

int sweep_merge(const char *out, const char *const *path, size_t count)
{
	struct results results = {.header = NULL};
	struct output *output = NULL;
	char error[RESULTS_ERROR_MAX];
	int status = read_all(&results, path, count);

	if (status == CLI_DONE && !(output = output_claim("--merge", out)))
		status = CLI_BAD_INPUT;

	if (status == CLI_DONE && !results_sort(&results, error)) {
		say_error("--merge: %s", error);
		status = CLI_CHECK_FAILED;
	}
	if (status == CLI_DONE)
		status = check_complete(&results);
	if (status != CLI_DONE)
		output_close(output, OUTPUT_DISCARD);
	else if (!results_write(&results, output))
		status = CLI_BAD_INPUT;
	if (status == CLI_DONE)
		printf("%s: %zu runs of %zu files\n", out, results.count, count);
	results_close(&results);
	return status;
}
