/* The columns of results: key, parameters, results, host. */
#include <stdlib.h>
#include <string.h>

#include "../report/report_internal.h"
#include "quote.h"
#include "sweep_row.h"

static const char *const names[] = {[SWEEP_SOURCE] = "workload_given",
				    [SWEEP_GPU] = "gpu_given",
				    [SWEEP_MEMORY] = "memory_given",
				    [SWEEP_POLICY] = "policy_given",
				    [SWEEP_SEED] = "seed_given"};

/* The text of a stream whose last line feed the caller does not want. */
static char *finish(FILE *out, char **text, size_t *length)
{
	bool is_good = !ferror(out);

	if (fclose(out) != 0 || !is_good) {
		free(*text);
		return NULL;
	}
	for (char *end; (end = memchr(*text, '\n', *length)) != NULL;) {
		memmove(end, end + 1, (size_t)(*text + *length - end));
		(*length)--;
	}
	return *text;
}

char *sweep_header(const struct sweep *sweep)
{
	size_t length = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return NULL;
	fputs("sweep,run,runs,version,", out);
	for (size_t i = 0; i < sweep->axes; i++) {
		const struct sweep_axis *axis = &sweep->axis[i];

		fprintf(out, "%s,", axis->kind == SWEEP_KEY ? axis->name : names[axis->kind]);
	}
	report_csv_header(false, out);
	fputs(",host", out);
	return finish(out, &text, &length);
}

static void put_value(const struct sweep_axis *axis, const struct sweep_value *value, FILE *out)
{
	char percent[64];

	if (axis->kind == SWEEP_MEMORY && value->is_other && strpbrk(value->text, ".%") == NULL) {
		snprintf(percent, sizeof(percent), "%s%%", value->text);
		fputs(percent, out);
	} else if (axis->kind == SWEEP_KEY || axis->kind == SWEEP_SEED || axis->kind == SWEEP_MEMORY) {
		fputs(value->text, out);
	} else {
		quote_csv(value->text, out);
	}
	fputc(',', out);
}

char *sweep_row(const struct sweep *sweep, uint64_t run, const struct report *report, const char *host)
{
	const struct row row = report_row(report, 1);
	size_t length = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return NULL;
	fprintf(out, "%016llx,%llu,%llu,%s,", (unsigned long long)sweep->id, (unsigned long long)run,
		(unsigned long long)sweep->runs, UVMSIM_VERSION);
	for (size_t i = 0; i < sweep->axes; i++)
		put_value(&sweep->axis[i], sweep_value_of(sweep, &sweep->axis[i], run), out);
	report_csv_run(&row, report, false, out);
	fputc(',', out);
	quote_csv(host, out);
	return finish(out, &text, &length);
}
