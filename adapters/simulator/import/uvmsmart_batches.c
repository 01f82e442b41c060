/* Far faults of UVM Smart: `benchmark,prefetcher,batch,fault_addr`, page addresses that faulted together. The
 * whole list is one kernel. The faults of a batch are by agents 0, 1, ...: none waits for another in its
 * batch, and agent 0, which is in every batch, waits for the batch before. A list belongs to the prefetcher
 * that was active when it was taken; a file with several lists must be told which. */
#include "import/importer.h"

#include <stdlib.h>
#include <string.h>

#define FIELDS	  4u
#define LABEL_MAX 64u

static const char head_line[] = "benchmark,prefetcher,batch,fault_addr";

struct list {
	char benchmark[LABEL_MAX], prefetcher[LABEL_MAX];
	bool is_begun;
	uint64_t batch;
	uint32_t agent; /* of the next fault of the batch */
};

static bool is_wanted(const char *label, const char *wanted)
{
	return !wanted || strcmp(label, wanted) == 0;
}

static bool begin_list(struct import *import, struct list *list, char *const field[FIELDS])
{
	if (strlen(field[0]) >= LABEL_MAX || strlen(field[1]) >= LABEL_MAX)
		return import_bad(import, "a name longer than %u bytes", LABEL_MAX - 1);
	strcpy(list->benchmark, field[0]);
	strcpy(list->prefetcher, field[1]);
	list->is_begun = true;
	return import_kernel(import, field[0]);
}

static bool take_batch(struct import *import, struct list *list, const char *text)
{
	bool is_first = list->batch == UINT64_MAX;
	uint64_t batch;

	if (!import_decimal(text, &batch) || batch == UINT64_MAX)
		return import_bad(import, "batch \"%.40s\" is not a decimal number", text);
	if (!is_first && batch < list->batch)
		return import_bad(import, "batch %s comes after batch %llu", text,
				  (unsigned long long)list->batch);
	if (batch != list->batch)
		list->agent = 0;
	list->batch = batch;
	if (list->agent < IMPORT_AGENTS_MAX)
		return true;
	return import_bad(import, "batch %s has more than %u faults", text, IMPORT_AGENTS_MAX);
}

static bool take_line(struct import *import, struct list *list)
{
	struct source_row row = {.kind = SOURCE_ACCESS, .access = UVMP_ACCESS_READ};
	char *field[FIELDS];

	if (import_fields(import->text.lines.text, field, FIELDS) != FIELDS)
		return import_bad(import, "not the fields %s", head_line);
	if (!is_wanted(field[0], import->options->benchmark) ||
	    !is_wanted(field[1], import->options->prefetcher))
		return true;
	if (!list->is_begun && !begin_list(import, list, field))
		return false;
	if (strcmp(field[0], list->benchmark) != 0 || strcmp(field[1], list->prefetcher) != 0)
		return import_bad(
			import,
			"a second list, %.60s with %.60s after %s with %s: --benchmark and --prefetcher "
			"say which",
			field[0], field[1], list->benchmark, list->prefetcher);
	if (!take_batch(import, list, field[2]))
		return false;
	if (!import_hex(field[3], &row.address))
		return import_bad(import, "address \"%.40s\" is not a hexadecimal number", field[3]);
	row.agent = list->agent++;
	return import_access(import, &row);
}

static bool read_lines(struct import *import)
{
	struct list list = {.batch = UINT64_MAX};
	enum line_status status = import_next(import);

	if (status == LINE_OK && strcmp(import->text.lines.text, head_line) == 0)
		status = import_next(import);
	for (; status == LINE_OK; status = import_next(import))
		if (!take_line(import, &list))
			return false;
	if (status == LINE_BAD)
		return false;
	if (list.is_begun)
		return import_sync(import);
	return import_bad(import, "there are no faults%s%.60s%s%.60s",
			  import->options->benchmark ? " of " : "",
			  import->options->benchmark ? import->options->benchmark : "",
			  import->options->prefetcher ? " with " : "",
			  import->options->prefetcher ? import->options->prefetcher : "");
}

static bool shows(const char *head, size_t length)
{
	return length > sizeof(head_line) - 1u && memcmp(head, head_line, sizeof(head_line) - 1u) == 0;
}

const struct import_format import_uvmsmart_batches = {
	.name = "uvmsmart-batches",
	.summary = "far faults of UVM Smart, batch by batch: benchmark,prefetcher,batch,fault_addr",
	.options = IMPORT_RANGES | IMPORT_BENCHMARK | IMPORT_PREFETCHER,
	.ranges_set = "logs",
	.has_faults_only = true,
	.read = read_lines,
	.shows = shows,
};
