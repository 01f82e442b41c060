/* Any bytes as a decision log: `uvmsim explain` refuses it with one line that names the place, or explains it, and the pictures
 * of the log (collector.h) hold each of its pages once: those in copies are those in cells. The first byte chooses the
 * question: a summary, or the story of some pages. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "observe/collector.h"

static struct collector collector;

static void require(bool is_true)
{
	if (!is_true)
		abort();
}

/* Besides the collector: what the cells must add up to. */
struct pages {
	uint64_t came, left, batches;
};

static void count(void *context, const struct observe_event *event)
{
	struct pages *pages = context;

	require(event->start <= event->end);
	pages->batches += event->kind == OBSERVE_BATCH;
	if (event->kind != OBSERVE_COPY && event->kind != OBSERVE_ZEROS && event->kind != OBSERVE_DROP)
		return;
	require(event->pages != 0 && event->first + event->pages <= UVMP_MASK_BITS && event->faulted <= event->pages);
	if (event->kind == OBSERVE_DROP || !event->to_gpu)
		pages->left += event->pages;
	else
		pages->came += event->pages;
}

static void check_pictures(const struct pages *pages)
{
	const struct grid *g = &collector.grid;
	uint64_t batches = 0;

	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		batches += collector.batch_faults.count[i];
	require(batches == pages->batches);
	require(g->rows <= GRID_ROWS && g->columns <= GRID_COLUMNS);
	require(grid_sum(g, GRID_FAULTED) + grid_sum(g, GRID_PREFETCHED) == pages->came);
	require(grid_sum(g, GRID_EVICTED) + grid_sum(g, GRID_LEFT) == pages->left);
	require(grid_sum(g, GRID_AGAIN) <= pages->came);
}

static void explain(const uint8_t *data, size_t size, const struct explain_query *query, const struct pages *pages)
{
	char error[EXPLAIN_ERROR_MAX] = "";
	FILE *in = fmemopen((void *)(uintptr_t)data, size, "r"), *out = fopen("/dev/null", "w");

	require(in && out);
	collector_init(&collector);
	if (!explain_log(in, "log", query, out, error))
		require(strncmp(error, "log:", 4) == 0 && strchr(error, '\n') == NULL);
	check_pictures(pages);
	fclose(in);
	fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pages pages = {0};
	struct observers observers = {.count = 0};
	struct explain_query query = {.first = UINT64_C(0x7e0000000000), .observers = &observers};

	if (size < 2)
		return 0;
	query.last = query.first + 4096u * data[0];
	query.has_address = data[0] % 2 != 0;
	observe_add(&observers, collector_observer(&collector));
	observe_add(&observers, (struct observer){count, &pages});
	explain(data + 1, size - 1, &query, &pages);
	return 0;
}
