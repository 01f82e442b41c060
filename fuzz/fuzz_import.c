/* Any bytes as another tool's trace. The first byte chooses the format, the second one says with how many
 * agents and whether what follows is cut in two, of which the first part is a file of ranges or of kernels.
 * Import must end with an error that names its input, or with a trace that our reader reads to its end. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import.h"

#define NAME       "fuzzed"
#define OUTPUT_MAX 65536u /* a record may stand for a million accesses */

static void require(bool is_true)
{
	if (!is_true)
		abort();
}

static void check_error(const char *error)
{
	static const char full[] = "standard output: ";

	require(memchr(error, '\0', SOURCE_ERROR_MAX) != NULL);
	require(strncmp(error, NAME ":", strlen(NAME) + 1) == 0 || strncmp(error, full, strlen(full)) == 0);
	for (const char *p = error; *p != '\0'; p++)
		require(*p >= ' ' && *p <= '~');
}

/* fmemopen of nothing is refused by some libcs; it wants to be able to write. */
static FILE *open_bytes(char *bytes, size_t size)
{
	return fmemopen(bytes, size, "rb");
}

static void read_back(char *bytes, size_t size)
{
	char error[SOURCE_ERROR_MAX] = "";
	struct source *source = trace_open_stream(open_bytes(bytes, size), "out", error);
	struct source_row row;

	require(source != NULL);
	do {
		source->next(source, &row);
		require(row.kind != SOURCE_BAD);
	} while (row.kind != SOURCE_END);
	source->close(source);
}

static void import(const struct import_format *format, const struct import_options *options, char *bytes,
                   size_t size)
{
	char *trace = malloc(OUTPUT_MAX), error[SOURCE_ERROR_MAX] = "";
	FILE *out, *in = open_bytes(bytes, size);
	bool is_good;
	long length;

	require(trace != NULL);
	out = fmemopen(trace, OUTPUT_MAX, "wb");
	require(out != NULL);
	if (in != NULL) {
		is_good = import_run(format, in, NAME, options, out, error);
		length = ftell(out);
		fclose(in);
		require(is_good == (error[0] == '\0'));
		if (!is_good)
			check_error(error);
	} else {
		is_good = false;
		length = 0;
	}
	fclose(out);
	if (is_good) {
		require(length > 0);
		read_back(trace, (size_t)length);
	}
	free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct import_options options = import_defaults;
	struct import_told told = {.notes = 0};
	const struct import_format *format;
	size_t at = 2, second = 0;
	unsigned formats = 0;
	char *copy;

	if (size < 3)
		return 0;
	while (import_format_at(formats) != NULL)
		formats++;
	format = import_format_at(data[0] % formats);
	options.agents = 1 + (data[1] & 3u);
	options.is_hex = (data[1] & 4u) != 0;
	options.touched = (data[1] & 0x20u) != 0 ? IMPORT_TOUCHED_MIGRATED : IMPORT_TOUCHED_FAULTS;
	options.told = &told;
	copy = malloc(size);
	require(copy != NULL);
	memcpy(copy, data, size);
	if ((data[1] & 0x18u) != 0) { /* the second file ends at the first byte 0xff */
		const char *cut = memchr(copy + 2, 0xff, size - 2);

		second = cut != NULL ? (size_t)(cut - copy) - 2 : 0;
		at += cut != NULL ? second + 1 : 0;
	}
	if (second > 0 && (data[1] & 8u) != 0 && (import_format_options(format) & IMPORT_RANGES) != 0)
		options.ranges = (struct import_file){open_bytes(copy + 2, second), NAME};
	else if (second > 0 && (import_format_options(format) & IMPORT_KERNELS) != 0)
		options.kernels = (struct import_file){open_bytes(copy + 2, second), NAME};
	if (at < size)
		import(format, &options, copy + at, size - at);
	if (options.ranges.file != NULL)
		fclose(options.ranges.file);
	if (options.kernels.file != NULL)
		fclose(options.kernels.file);
	free(copy);
	return 0;
}
