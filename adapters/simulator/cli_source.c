/* Sources by name. Standard input that must be read more than once is copied to a temporary file; each
 * opening reads that by position, so that several processes with the same descriptor do not move each other
 * on. */
#include "cli_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "output_conflicts.h"

int cli_source_add(struct cli_sources *sources, bool is_trace, const char *spec)
{
	if (sources->count == CLI_SOURCES_MAX)
		return say_error("more than %d workloads and traces", CLI_SOURCES_MAX);
	if (is_trace && !output_reads("--trace", spec))
		return CLI_BAD_INPUT;
	sources->source[sources->count++] = (struct cli_source){spec, is_trace};
	return CLI_DONE;
}

static bool protect_text(void *context, const char *text)
{
	(void)context;
	return output_reads("--workload", text);
}

int cli_source_take(struct cli_sources *sources, bool is_trace, const char *spec)
{
	int status = cli_source_add(sources, is_trace, spec);
	char error[SOURCE_ERROR_MAX] = "";
	struct stat info;
	bool is_good;

	if (status != CLI_DONE)
		return status;
	if (is_trace) /* a pipe is read once */
		is_good = strcmp(spec, "-") == 0 || (stat(spec, &info) == 0 && !S_ISREG(info.st_mode)) || trace_check(spec, error);
	else
		is_good = workload_check(spec, protect_text, NULL, error);
	if (!is_good && error[0] != '\0')
		say_error("%s", error);
	return is_good ? CLI_DONE : CLI_BAD_INPUT;
}

/* -- standard input -- */

static bool is_stdin(const struct cli_source *source)
{
	return source->is_trace && strcmp(source->spec, "-") == 0;
}

static bool copy_stdin(FILE *to)
{
	char buffer[65536];
	size_t length;

	while ((length = fread(buffer, 1, sizeof(buffer), stdin)) > 0) {
		if (fwrite(buffer, 1, length, to) != length)
			return false;
	}
	return !ferror(stdin) && fflush(to) == 0;
}

void cli_source_keep_stdin(struct cli_sources *sources)
{
	bool is_needed = false;

	for (size_t i = 0; i < sources->count; i++)
		is_needed = is_needed || is_stdin(&sources->source[i]);
	if (!is_needed || sources->kept || sources->kept_error[0] != '\0')
		return;
	sources->kept = tmpfile();
	if (sources->kept && copy_stdin(sources->kept))
		return;
	snprintf(sources->kept_error, SOURCE_ERROR_MAX, "-: cannot be kept in a temporary file: %s",
		 strerror(errno));
	if (sources->kept)
		fclose(sources->kept);
	sources->kept = NULL;
}

/* A reading of the kept input. */
struct reading {
	int fd;
	off_t at;
};

static ssize_t read_kept(void *cookie, char *to, size_t room)
{
	struct reading *reading = cookie;
	ssize_t got = pread(reading->fd, to, room, reading->at);

	reading->at += got > 0 ? got : 0;
	return got;
}

static int close_kept(void *cookie)
{
	free(cookie);
	return 0;
}

static struct source *open_kept(const struct cli_sources *sources, char error[SOURCE_ERROR_MAX])
{
	static const cookie_io_functions_t functions = {.read = read_kept, .close = close_kept};
	struct reading *reading = calloc(1, sizeof(*reading));
	FILE *in;

	if (reading)
		reading->fd = fileno(sources->kept);
	in = reading ? fopencookie(reading, "rb", functions) : NULL;
	if (in)
		return trace_open_stream(in, "-", error);
	free(reading);
	snprintf(error, SOURCE_ERROR_MAX, "out of memory");
	return NULL;
}

/* -- opening -- */

struct source *cli_source_open(const struct cli_sources *sources, size_t index, uint64_t seed,
			       char error[SOURCE_ERROR_MAX])
{
	const struct cli_source *source = &sources->source[index];

	if (!source->is_trace)
		return workload_open(source->spec, seed, error);
	if (!is_stdin(source))
		return trace_open(source->spec, error);
	if (sources->kept)
		return open_kept(sources, error);
	if (sources->kept_error[0] == '\0')
		return trace_open_stream(stdin, "-", error);
	memcpy(error, sources->kept_error, SOURCE_ERROR_MAX);
	return NULL;
}

bool cli_source_is_file(const struct cli_sources *sources, size_t index)
{
	const struct cli_source *source = &sources->source[index];
	struct stat info;

	if (!source->is_trace)
		return false;
	if (is_stdin(source))
		return sources->kept != NULL;
	return stat(source->spec, &info) == 0 && S_ISREG(info.st_mode);
}

void cli_source_close_all(struct cli_sources *sources)
{
	if (sources->kept)
		fclose(sources->kept);
	sources->kept = NULL;
}
