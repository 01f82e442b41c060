/* The input of `uvmsim whatif`: a trace as it is, or a profile, imported once or twice into temporary files. */
#include "whatif/whatif.h"

#include <errno.h>
#include <string.h>

#include "cli.h"
#include "nearest.h"

/* A file that can be read again and again. */
static FILE *open_rewindable(const char *path)
{
	FILE *in = cli_open(path), *kept;
	char buffer[16384];
	size_t length;

	if (!in || fseeko(in, 0, SEEK_CUR) == 0)
		return in;
	kept = tmpfile();
	while (kept && (length = fread(buffer, 1, sizeof(buffer), in)) > 0)
		fwrite(buffer, 1, length, kept);
	cli_close(in);
	if (kept && !ferror(kept) && fseeko(kept, 0, SEEK_SET) == 0)
		return kept;
	say_error("%.200s: cannot be kept in a temporary file: %s", path, strerror(errno));
	if (kept)
		fclose(kept);
	return NULL;
}

/* What `--trace` reads: traces, and cache traces by their names. */
static bool is_trace(const struct whatif_request *request, FILE *in)
{
	if (request->from)
		return strcmp(request->from, "trace") == 0;
	return import_shows_trace(in) || strstr(request->path, "oracleGeneral") != NULL;
}

static const struct import_format *find_format(const struct whatif_request *request, FILE *in)
{
	const struct import_format *format;
	char error[SOURCE_ERROR_MAX] = "", hint[NEAREST_TEXT_MAX];
	struct nearest nearest;

	if (!request->from) {
		format = import_detect(in, request->path, error);
		if (!format)
			say_error("%s", error);
		return format;
	}
	format = import_format_find(request->from);
	if (format)
		return format;
	nearest_start(&nearest, request->from, strlen(request->from));
	nearest_try(&nearest, "trace");
	for (size_t i = 0; (format = import_format_at(i)) != NULL; i++)
		nearest_try(&nearest, import_format_name(format));
	say_error("--from: there is no format %.100s%s; see `uvmsim list formats`", request->from,
		  nearest_hint(&nearest, hint));
	return NULL;
}

/* One reading more. */
static bool import_reading(const struct whatif_request *request, const struct import_format *format, FILE *in,
			   enum import_touched touched, struct whatif_input *input)
{
	struct whatif_reading *reading = &input->reading[input->readings];
	struct import_options options = request->import;
	char error[SOURCE_ERROR_MAX] = "";

	options.touched = touched;
	options.told = &input->told;
	reading->is_most = touched == IMPORT_TOUCHED_MIGRATED;
	reading->sources = (struct cli_sources){.count = 1, .source = {{"-", true}}, .kept = tmpfile()};
	if (!reading->sources.kept)
		snprintf(error, sizeof(error), "no temporary file: %s", strerror(errno));
	else if (fseeko(in, 0, SEEK_SET) == 0 &&
		 import_run(format, in, request->path, &options, reading->sources.kept, error) &&
		 fflush(reading->sources.kept) == 0)
		input->readings++;
	if (input->readings > 0 && reading == &input->reading[input->readings - 1])
		return true;
	cli_source_close_all(&reading->sources);
	say_error("%s", error[0] != '\0' ? error : strerror(errno));
	return false;
}

/* Does the format know the given ones of --device and --process? False: the error is printed. */
static bool can_choose(const struct whatif_request *request, const char *format, unsigned options)
{
	unsigned unknown = ((request->import.has_device ? IMPORT_DEVICE : 0u) |
			    (request->import.has_process ? IMPORT_PROCESS : 0u)) &
			   ~options;

	if (unknown != 0)
		say_error("whatif: %s has no use for --%s", format,
			  (unknown & IMPORT_DEVICE) != 0 ? "device" : "process");
	return unknown == 0;
}

static bool read_profile(const struct whatif_request *request, const struct import_format *format, FILE *in,
			 struct whatif_input *input)
{
	bool is_bounded = (import_format_options(format) & IMPORT_TOUCHED) != 0;

	input->format = import_format_name(format);
	if (!can_choose(request, input->format, import_format_options(format)))
		return false;
	if (!is_bounded)
		return import_reading(request, format, in, IMPORT_TOUCHED_FAULTS, input);
	/* The second reading is made first: it accepts a profile of migrations alone. */
	if (!import_reading(request, format, in, IMPORT_TOUCHED_MIGRATED, input))
		return false;
	if (input->told.is_profile &&
	    (input->told.gpu_faults + input->told.cpu_faults == 0 || input->told.migrations == 0))
		return true;
	input->reading[1] = input->reading[0];
	input->readings = 0;
	if (!import_reading(request, format, in, IMPORT_TOUCHED_FAULTS, input)) {
		cli_source_close_all(&input->reading[1].sources);
		return false;
	}
	input->readings = 2;
	return true;
}

bool whatif_read(const struct whatif_request *request, struct whatif_input *input)
{
	FILE *in = open_rewindable(request->path);
	const struct import_format *format = NULL;
	bool is_good = in != NULL;

	input->path = request->path;
	if (is_good && is_trace(request, in)) {
		input->format = "trace";
		if (!can_choose(request, input->format, 0)) {
			cli_close(in);
			return false;
		}
		input->readings = 1;
		input->reading[0].sources =
			(struct cli_sources){.count = 1, .source = {{request->path, true}}};
		if (strcmp(request->path, "-") != 0) {
			cli_close(in);
			return true;
		}
		input->reading[0].sources.kept = in;
		return true;
	}
	is_good = is_good && (format = find_format(request, in)) != NULL &&
		  read_profile(request, format, in, input);
	if (in)
		cli_close(in);
	return is_good;
}

void whatif_input_close(struct whatif_input *input)
{
	for (size_t i = 0; i < input->readings; i++)
		cli_source_close_all(&input->reading[i].sources);
}
