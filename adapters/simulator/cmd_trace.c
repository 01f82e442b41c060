/* uvmsim trace: any source as a trace file. */
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "cli_source.h"
#include "interrupt.h"
#include "nearest.h"
#include "output.h"
#include "packer.h"
#include "progress.h"
#include "trace_oracle.h"
#include "trace_write.h"

const char help_trace[] =
	"usage: uvmsim trace --workload NAME[:k=v,...] | --trace FILE\n"
	"                    [--seed N] [--output FILE]\n"
	"                    [--format text|binary|oracleGeneral]\n"
	"\n"
	"Writes the accesses and calls of a workload, or of another trace, to managed\n"
	"memory in the trace format (docs/uvmsim.md), as text or binary.\n"
	"\n"
	"  --workload SPEC   a built-in program, see `uvmsim list workloads`\n"
	"  --trace FILE      a trace file, also compressed; - is standard input\n"
	"  --seed N          seed of all random choices (default 1)\n"
	"  --output FILE     instead of standard output; compressed if named *.zst\n"
	"  --format FORMAT   text (default); binary: read at once, without parsing; or\n"
	"                    oracleGeneral: the GPU's accesses as a cache trace of\n"
	"                    libCacheSim, an object for each page\n";

static const char *const options[] = {"workload=*", "trace=*", "seed=", "output=", "format=", "help", NULL};
enum option { WORKLOAD, TRACE, SEED, OUTPUT, FORMAT, HELP };

struct trace_output {
	const char *path; /* NULL: standard output */
	FILE *file;
	struct output *whole; /* NULL: standard output */
	unsigned form;	       /* TRACE_WRITE_* */
	bool is_oracle;	       /* a cache trace instead */
};

static int open_output(struct trace_output *output)
{
	output->file = stdout;
	if (output->path && strcmp(output->path, "-") == 0)
		output->path = NULL;
	if (!output->path)
		return CLI_DONE;
	if (packer_is_wanted(output->path) && output->is_oracle)
		return say_error(
			"--output %s: --format oracleGeneral is not compressed; name it without .zst",
			output->path);
	if (packer_is_wanted(output->path))
		output->form |= TRACE_WRITE_PACKED;
	if ((output->form & TRACE_WRITE_PACKED) != 0 && !packer_is_available())
		return say_error("--output %s: cannot be compressed, this program was built without zstd",
				 output->path);
	output->whole = output_open("--output", output->path, &output->file);
	return output->whole ? CLI_DONE : CLI_BAD_INPUT;
}

static void show(const struct source *source, uint64_t accesses, uint64_t kernels)
{
	struct progress_at at = {accesses, source->done,	source->total,
				 kernels,  source->kernel_done, source->kernel_total};

	if (accesses % PROGRESS_EVERY == 0)
		progress_show(&at, 1);
}

/* Of both, one is NULL. */
struct sink {
	struct trace_writer *writer;
	struct trace_oracle *oracle;
};

static bool copy_row(const struct sink *sink, const struct source_row *row, char error[SOURCE_ERROR_MAX])
{
	return sink->writer ? trace_write_row(sink->writer, row, error)
			    : trace_oracle_row(sink->oracle, row, error);
}

static bool copy_rows(struct source *source, const struct sink *sink, char error[SOURCE_ERROR_MAX])
{
	uint64_t accesses = 0, kernels = 0;
	struct source_row row;

	for (;;) {
		source->next(source, &row);
		if (interrupt_caught != 0)
			return false;
		if (row.kind == SOURCE_BAD) {
			memcpy(error, source->error, SOURCE_ERROR_MAX);
			return false;
		}
		if (row.kind == SOURCE_END)
			return true;
		if (!copy_row(sink, &row, error))
			return false;
		accesses += row.kind == SOURCE_ACCESS;
		kernels += row.kind == SOURCE_KERNEL;
		show(source, accesses, kernels);
	}
}

/* Comments go from trace to trace. */
struct comments {
	struct trace_writer *writer;
	char *error;
	bool has_failed;
};

static void copy_comment(void *context, const char *text, size_t length)
{
	struct comments *comments = context;

	if (!trace_write_comment(comments->writer, text, length, comments->error))
		comments->has_failed = true;
}

/* How the trace was made, for later readers. */
static const char *origin(char text[SOURCE_ERROR_MAX], const struct source *source,
			  const struct cli_sources *sources)
{
	if (sources->source[0].is_trace)
		return NULL;
	snprintf(text, SOURCE_ERROR_MAX, "workload %.400s seed %llu", source->name,
		 (unsigned long long)sources->seed);
	return text;
}

/* Accesses keep their bytes; a trace without bytes stays one of version 1. */
static bool write_trace(struct source *source, const struct cli_sources *sources, const struct trace_output *output,
			char error[SOURCE_ERROR_MAX])
{
	unsigned form = output->form | (source->has_bytes ? TRACE_WRITE_SIZED : 0);
	const char *name = output->path ? output->path : "standard output";
	char text[SOURCE_ERROR_MAX];
	struct trace_writer *writer =
		trace_write_open(output->file, name, form, origin(text, source, sources), error);
	struct comments comments = {writer, error, false};
	const struct sink sink = {.writer = writer};
	bool is_copied;

	if (!writer)
		return false;
	source->wants_bytes = true;
	source->comment = copy_comment;
	source->comment_context = &comments;
	is_copied = copy_rows(source, &sink, error) && !comments.has_failed;
	source->comment = NULL;
	source->comment_context = NULL;
	if (is_copied)
		return trace_write_close(writer, error);
	trace_write_abandon(writer);
	return false;
}

static bool write_oracle(struct source *source, const struct trace_output *output, char error[SOURCE_ERROR_MAX])
{
	struct sink sink = {.oracle = trace_oracle_open()};
	bool is_good;

	if (!sink.oracle) {
		snprintf(error, SOURCE_ERROR_MAX, "out of memory");
		return false;
	}
	source->wants_bytes = true;
	is_good = copy_rows(source, &sink, error) &&
		  trace_oracle_write(sink.oracle, output->file,
				     output->path ? output->path : "standard output", error);
	trace_oracle_close(sink.oracle);
	return is_good;
}

static int run(const struct cli_sources *sources, struct trace_output *output)
{
	char error[SOURCE_ERROR_MAX] = "";
	struct source *source;
	bool is_good, is_beside;

	interrupt_catch();
	if ((output->path && strcmp(output->path, "-") != 0) ||
	    !isatty(STDOUT_FILENO)) /* else the line would stand among the rows */
		progress_start(1);
	source = cli_source_open(sources, 0, sources->seed, error);
	if (!source) {
		progress_end();
		say_error("%s", error);
		return interrupt_caught != 0 ? interrupt_status() : CLI_BAD_INPUT;
	}
	if (open_output(output) != CLI_DONE) {
		progress_end();
		source->close(source);
		return CLI_BAD_INPUT;
	}
	is_good = output->is_oracle ? write_oracle(source, output, error)
				    : write_trace(source, sources, output, error);
	source->close(source);
	is_beside = output->whole && output_is_beside(output->whole);
	progress_end();
	interrupt_done();
	if (!output_close(output->whole, is_good ? OUTPUT_COMPLETE : OUTPUT_DISCARD))
		return CLI_BAD_INPUT;
	if (!is_good && interrupt_caught != 0) {
		say_error("trace: interrupted%s", is_beside ? ", no output file was written" : "");
		return interrupt_status();
	}
	/* main ends the process quietly if the reader of standard output has left. */
	return is_good || (!output->path && output_is_abandoned()) ? CLI_DONE : say_error("%s", error);
}

struct request {
	struct cli_sources sources;
	struct trace_output output;
};

static int take_format(const char *value, struct trace_output *output)
{
	char hint[NEAREST_TEXT_MAX];
	struct nearest nearest;

	output->form = strcmp(value, "binary") == 0 ? TRACE_WRITE_BINARY : 0;
	output->is_oracle = strcmp(value, "oracleGeneral") == 0;
	if (output->form != 0 || output->is_oracle || strcmp(value, "text") == 0)
		return CLI_DONE;
	nearest_start(&nearest, value, strlen(value));
	nearest_try(&nearest, "text");
	nearest_try(&nearest, "binary");
	nearest_try(&nearest, "oracleGeneral");
	return say_error("--format: \"%.40s\" is not accepted; text, binary or oracleGeneral%s", value,
			 nearest_hint(&nearest, hint));
}

static int take(void *request, int option, const char *value)
{
	struct request *q = request;

	switch ((enum option)option) {
	case WORKLOAD:
	case TRACE:
		if (q->sources.count > 0)
			return say_error("trace: one workload or trace");
		return cli_source_take(&q->sources, option == TRACE, value);
	case SEED:
		return cli_seed(value, &q->sources.seed);
	case OUTPUT:
		q->output.path = value;
		return CLI_DONE;
	case FORMAT:
		return take_format(value, &q->output);
	case HELP:
		break;
	}
	return CLI_BAD_INPUT;
}

int cmd_trace(int argc, char **argv)
{
	struct options args = CLI_OPTIONS(options, "trace");
	struct request q = {.sources = {.seed = 1}};
	int status = cli_take_options(&args, take, &q);

	if (status == CLI_DONE && q.sources.count == 0)
		return say_error("trace: one of --workload and --trace is needed; see `uvmsim trace --help`");
	return status == CLI_DONE ? run(&q.sources, &q.output) : status;
}
