/* Any bytes as a sweep file, or (first byte odd) as the results of a sweep. Reading must end with an error that names the place, or
 * with runs whose every value can be asked for; results that were read can be sorted and written, and read again as they are. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweep/csv_line.h"
#include "sweep/results.h"
#include "sweep/sweep_file.h"

#define ASKED_MOST 64u /* runs */

static void require(bool is_true)
{
	if (!is_true)
		abort();
}

/* fmemopen of nothing is refused by some libcs; it wants to be able to write. */
static FILE *open_bytes(char *bytes, size_t size)
{
	return size != 0 ? fmemopen(bytes, size, "rb") : fopen("/dev/null", "r");
}

static void read_sweep(char *bytes, size_t size)
{
	char error[SWEEP_ERROR_MAX] = "";
	FILE *in = open_bytes(bytes, size);
	struct sweep sweep;

	require(in != NULL);
	if (!sweep_parse(&sweep, in, "f", false, error)) {
		require(memchr(error, '\0', sizeof(error)) != NULL && strncmp(error, "f:", 2) == 0 &&
			strchr(error, '\n') == NULL);
		fclose(in);
		sweep_close(&sweep);
		return;
	}
	fclose(in);
	require(sweep.runs > 0 && sweep.runs <= SWEEP_RUNS_MAX &&
		sweep_axis_of(&sweep, SWEEP_SOURCE) != NULL);
	for (uint64_t i = 0; i < ASKED_MOST; i++) {
		uint64_t run = sweep.runs * i / ASKED_MOST, number = 0;

		for (size_t k = 0; k < sweep.axes; k++) {
			const struct sweep_axis *axis = &sweep.axis[k];
			const struct sweep_value *value = sweep_value_of(&sweep, axis, run);

			require(value >= axis->value && value < axis->value + axis->values &&
				value->text[0] != '\0');
			number = number * axis->values + (uint64_t)(value - axis->value);
		}
		require(number == run);
	}
	sweep_close(&sweep);
}

static void read_results(char *bytes, size_t size)
{
	char error[RESULTS_ERROR_MAX] = "";
	struct results results = {.header = NULL};
	FILE *in = open_bytes(bytes, size);
	uint64_t end = 0, again = 0;

	require(in != NULL);
	if (results_read(&results, in, "f", &end, error)) {
		struct results second = {.header = NULL};
		FILE *kept = open_bytes(bytes, end);

		require(end <= size && (end == 0 || bytes[end - 1] == '\n') && kept != NULL);
		require(results_read(&second, kept, "f", &again, error) && again == end &&
			second.count == results.count);
		for (size_t i = 0; i < results.count; i++)
			require(csv_line_fields(results.line[i].text) == csv_line_fields(results.header));
		require(results_sort(&results, error) || strncmp(error, "run ", 4) == 0);
		results_close(&second);
		fclose(kept);
	} else {
		require(memchr(error, '\0', sizeof(error)) != NULL && strncmp(error, "f:", 2) == 0);
	}
	fclose(in);
	results_close(&results);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = size > 1 ? malloc(size - 1) : NULL;

	if (!bytes)
		return 0;
	memcpy(bytes, data + 1, size - 1);
	if (data[0] % 2u == 0)
		read_sweep(bytes, size - 1);
	else
		read_results(bytes, size - 1);
	free(bytes);
	return 0;
}
