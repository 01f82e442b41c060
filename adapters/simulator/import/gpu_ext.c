/* Tables of gpu_ext's tracers of NVIDIA's driver. chunk_trace says which chunk of GPU memory is used, when a fault populates a
 * page in it; a chunk of 2 MiB begins its VABlock, so the page itself is not known, and the first of the chunk stands for it.
 * prefetch_trace says for which faulted page the driver looks for a prefetch region; the rows of one service of a VABlock follow
 * each other. Times are whole milliseconds, and rows of several processors may be a little out of order: the order of rows
 * counts. A printed summary may follow the table. */
#include "import/columns.h"

#include <stdlib.h>
#include <string.h>

#define NS_PER_MS   1000000u
#define BLOCK_PAGES (IMPORT_BLOCK / IMPORT_PAGE)

struct table {
	struct columns columns;
	/* of the row before, and of its group of faults */
	uint64_t start, first, last_page;
	uint32_t agents;
	uint64_t unplaced, evictions;
};

enum { TIME = 0, VA_START, KIND, PAGE, OWNER, FIRST };
static const char *const chunk_columns[] = {"time_ms", "va_start", "hook_type", "va_page_index", "owner_pid"};
static const char *const prefetch_columns[] = {"time_ms",    "va_start",   "page_index",
					       "page_index", "owner_tgid", "faulted_first"};

static bool is_chunk(const struct import *import)
{
	return import->format == &import_gpu_ext_chunk;
}

/* What follows the table is no row: a line without a comma. */
static bool is_end(const char *line)
{
	return strchr(line, ',') == NULL;
}

static bool take_common(struct import *import, struct table *table, struct source_row *row, bool *wanted)
{
	const char *const *names = is_chunk(import) ? chunk_columns : prefetch_columns;
	uint64_t ms, page, owner;
	bool is_empty, has_no_owner;

	if (!columns_number(import, &table->columns, TIME, names[TIME], &ms, &is_empty) ||
	    !columns_number(import, &table->columns, VA_START, names[VA_START], &row->address, wanted) ||
	    !columns_number(import, &table->columns, PAGE, names[PAGE], &page, &is_empty) ||
	    !columns_number(import, &table->columns, OWNER, names[OWNER], &owner, &has_no_owner))
		return false;
	*wanted = !*wanted; /* chunks of memory that is not managed have no block */
	table->unplaced += !*wanted;
	if (ms > UINT64_MAX / NS_PER_MS)
		return import_bad(import, "time_ms %llu is too large", (unsigned long long)ms);
	if (page >= BLOCK_PAGES)
		return import_bad(import, "%s %llu is not 0..511", names[PAGE], (unsigned long long)page);
	if (*wanted && (row->address % IMPORT_PAGE != 0 || row->address > UINT64_MAX - IMPORT_BLOCK))
		return import_bad(import, "va_start 0x%llx is not that of a VABlock",
				  (unsigned long long)row->address);
	row->has_time = true;
	row->time_ns = ms * NS_PER_MS > import->time_ns ? ms * NS_PER_MS : import->time_ns;
	row->address += page * IMPORT_PAGE;
	return has_no_owner || !*wanted || import_wants(import, IMPORT_PROCESS, owner, wanted);
}

static bool take_chunk(struct import *import, struct table *table)
{
	struct source_row row = {.kind = SOURCE_ACCESS, .access = UVMP_ACCESS_READ};
	const char *kind = columns_text(&table->columns, KIND);
	bool is_used = strcmp(kind, "POPULATE") == 0 || strcmp(kind, "USED") == 0, wanted = true;

	table->evictions += strcmp(kind, "EVICTION_PREPARE") == 0;
	if (kind[0] == '\0' || kind[strspn(kind, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_")] != '\0')
		return import_bad(import, "hook_type \"%.40s\" is not known", kind);
	if (!is_used)
		return true;
	row.agent = import_agent(import);
	return take_common(import, table, &row, &wanted) && (!wanted || import_access(import, &row));
}

/* Faults of one service are of agents of their own: none waits for another. */
static bool take_prefetch(struct import *import, struct table *table)
{
	struct source_row row = {.kind = SOURCE_ACCESS, .access = UVMP_ACCESS_READ};
	uint64_t start = 0, first = 0;
	bool wanted = true, is_empty, joins;

	if (!take_common(import, table, &row, &wanted))
		return false;
	if (!wanted)
		return true;
	if (!columns_number(import, &table->columns, VA_START, "va_start", &start, &is_empty) ||
	    !columns_number(import, &table->columns, FIRST, "faulted_first", &first, &is_empty))
		return false;
	joins = table->agents > 0 && table->agents < IMPORT_AGENTS_MAX && start == table->start &&
		first == table->first && row.address > table->last_page;
	if (!joins && table->agents > 0) {
		if (!import_batch(import))
			return false;
		table->agents = 0;
	}
	table->start = start;
	table->first = first;
	table->last_page = row.address;
	row.agent = table->agents++;
	return import_access(import, &row);
}

static bool read_rows(struct import *import, struct table *table)
{
	enum line_status status;

	while ((status = import_next(import)) == LINE_OK && !is_end(import->text.lines.text)) {
		if (!columns_row(import, &table->columns))
			return false;
		if (!(is_chunk(import) ? take_chunk(import, table) : take_prefetch(import, table)))
			return false;
	}
	while (status == LINE_OK) /* the summary */
		status = import_next(import);
	if (status == LINE_BAD)
		return false;
	if (table->unplaced > 0)
		import_note(import, "%llu rows name no VABlock and are left out",
			    (unsigned long long)table->unplaced);
	if (is_chunk(import))
		import_note(import, "tells chunks, not pages: the first page of a chunk stands for the page "
				    "that was populated");
	return table->agents == 0 || import_batch(import);
}

static bool read_table(struct import *import)
{
	const char *const *names = is_chunk(import) ? chunk_columns : prefetch_columns;
	size_t count = is_chunk(import) ? FIRST : FIRST + 1u;
	enum line_status status = import_next(import);
	struct table *table;
	bool is_good;

	if (status == LINE_END)
		return import_bad(import, "is empty");
	if (status == LINE_BAD)
		return false;
	table = calloc(1, sizeof(*table));
	if (!table)
		return import_no_memory(import);
	is_good = columns_head(import, &table->columns, names, count, KIND + 1u) && read_rows(import, table) &&
		  import_check_chosen(import);
	free(table);
	return is_good;
}

static bool begins(const char *head, size_t length, const char *text)
{
	return length > strlen(text) && memcmp(head, text, strlen(text)) == 0;
}

static bool shows_chunk(const char *head, size_t length)
{
	return begins(head, length, "time_ms,hook_type,") || begins(head, length, "time_ms,cpu,hook_type,");
}

static bool shows_prefetch(const char *head, size_t length)
{
	return begins(head, length, "time_ms,cpu,fault_pid,");
}

const struct import_format import_gpu_ext_chunk = {
	.name = "gpu_ext-chunk",
	.summary = "uses of GPU memory, as gpu_ext's chunk_trace prints them",
	.options = IMPORT_RANGES | IMPORT_BENCHMARK | IMPORT_AGENTS | IMPORT_PROCESS,
	.has_faults_only = true,
	.read = read_table,
	.shows = shows_chunk,
};

const struct import_format import_gpu_ext_prefetch = {
	.name = "gpu_ext-prefetch",
	.summary = "faulted pages, as gpu_ext's prefetch_trace prints them",
	.options = IMPORT_RANGES | IMPORT_BENCHMARK | IMPORT_PROCESS,
	.has_faults_only = true,
	.read = read_table,
	.shows = shows_prefetch,
};
