/* cli_source.h: the sources that a subcommand is given with --workload and --trace, each of which can be
 * opened again and again. */
#ifndef UVMSIM_CLI_SOURCE_H
#define UVMSIM_CLI_SOURCE_H

#include <stddef.h>

#include "source.h"

#define CLI_SOURCES_MAX 64

struct cli_source {
	const char *spec; /* workload, or file name of the trace; `-` is standard input */
	bool is_trace;
};

/* What the head of a trace says of its recording (source.h). */
struct cli_recorded {
	uint64_t bytes;
	bool has_faults_only;
	char policy[UVMP_POLICY_TEXT_MAX];
};

/* Starts as zeros. */
struct cli_sources {
	struct cli_source source[CLI_SOURCES_MAX];
	size_t count;
	uint64_t seed; /* as given; of workloads */
	FILE *kept;    /* standard input, for all readings but a single one */
	char kept_error[SOURCE_ERROR_MAX];
};

/* CLI_DONE, or CLI_BAD_INPUT after a report: there are too many, or an output is the same file. */
int cli_source_add(struct cli_sources *sources, bool is_trace, const char *spec);
/* The same for the value of an option, which is checked before anything runs: the words of a workload, the first line of a
 * trace that is a regular file. */
int cli_source_take(struct cli_sources *sources, bool is_trace, const char *spec);
/* Standard input can be read once. Where it is among the sources this keeps it in a temporary file, from
 * which every opening reads at its own pace, in other processes too. cli_source_open reports errors. */
void cli_source_keep_stdin(struct cli_sources *sources);
/* Opens one, from its start, a workload with this seed; standard input directly unless it is kept. NULL with
 * `error` filled. */
struct source *cli_source_open(const struct cli_sources *sources, size_t index, uint64_t seed,
			       char error[SOURCE_ERROR_MAX]);
/* A trace that every opening reads from its beginning. */
bool cli_source_is_file(const struct cli_sources *sources, size_t index);
/* Drops the temporary file; opened sources must have been closed. */
void cli_source_close_all(struct cli_sources *sources);

#endif
