/* Accesses as page numbers: see page_rows.h. Units are the pages of the simulator's blocks, 512 to a block, as in
 * page_cache.c. */
#include "page_rows.h"

#include <stdlib.h>
#include <string.h>

#include "engine_setup.h"
#include "host.h"
#include "interrupt.h"
#include "progress.h"

static const char out_of_memory[] = "memory is short";

struct reading {
	struct page_rows *rows;
	struct host host;
	struct sim_result result;
	bool has_failed;	/* the error of the host is filled */
	struct sim_piece piece; /* of the last access; its first page has unit first_unit; range NULL: none */
	uint32_t first_unit;
	uint32_t agent; /* that makes all accesses */
	bool has_agent, is_open;
	uint64_t kernels;
};

static bool refuse(struct reading *r, const char *reason)
{
	r->rows->reason = reason;
	return false;
}

/* The rows are wrong for every run, too. NULL: the host has said why. */
static bool fail(struct reading *r, const char *text)
{
	if (text)
		(void)host_fail(&r->host, text);
	r->has_failed = true;
	return false;
}

static bool find_unit(struct reading *r, uint64_t address, uint32_t *unit)
{
	uint32_t page;
	const struct sim_block *block;

	if (!r->piece.range || address < r->piece.start || address > r->piece.last) {
		block = space_find(&r->host.space, address, &page);
		if (!block)
			return fail(r, "an access lies outside every range");
		r->piece = r->host.space.found;
		r->first_unit = page_rows_first_unit(r->piece.range);
	}
	*unit = r->first_unit + (uint32_t)((address - r->piece.start) / PAGE_BYTES);
	return true;
}

static bool access_row(struct reading *r, const struct source_row *row)
{
	uint32_t unit;

	if (row->is_cpu)
		return refuse(r, "the CPU accesses pages");
	if (row->access == UVMP_ACCESS_PREFETCH)
		return refuse(r, "the program prefetches");
	if (r->has_agent && row->agent != r->agent && !r->rows->is_serial)
		return refuse(r, "several agents make the accesses; --serial takes them as one");
	r->agent = row->agent;
	r->has_agent = true;
	if (!find_unit(r, row->address, &unit))
		return false;
	r->rows->accesses++;
	return r->rows->access(r->rows->context, unit, r->piece.range->is_fresh) || refuse(r, out_of_memory);
}

static bool add_range(struct reading *r, const struct source_range *range)
{
	if (r->is_open)
		return refuse(r, "memory is allocated after the first access");
	if (range->is_device)
		return refuse(r, "a range is not managed");
	return host_add_range(&r->host, range) || fail(r, NULL);
}

static bool open_rows(struct reading *r)
{
	uint64_t units = (uint64_t)r->host.space.numbers * UVMP_MASK_BITS;
	bool can_open = host_can_open(&r->host);

	if (!can_open && r->host.error[0] != '\0')
		return fail(r, NULL);
	if (!can_open || units > UVMP_UNITS_MAX)
		return refuse(r, "the ranges are too many or too large for one pass");
	r->rows->footprint_bytes = r->host.space.footprint_bytes;
	r->is_open = true;
	return r->rows->open(r->rows->context, &r->host.space, (uint32_t)units) || refuse(r, out_of_memory);
}

static bool source_failed(struct reading *r)
{
	snprintf(r->host.error, SOURCE_ERROR_MAX, "%s", r->host.source->error);
	return fail(r, NULL);
}

static bool take_row(struct reading *r, const struct source_row *row)
{
	if (row->kind == SOURCE_BAD)
		return source_failed(r);
	if (row->kind == SOURCE_RANGE)
		return add_range(r, &row->range);
	if (!r->is_open && !open_rows(r))
		return false;
	switch (row->kind) {
	case SOURCE_ACCESS:
		return access_row(r, row);
	case SOURCE_KERNEL:
		r->kernels++;
		return true;
	case SOURCE_SYNC:
	case SOURCE_END:
		return true;
	case SOURCE_FREE:
		return refuse(r, "memory is freed");
	case SOURCE_PREFETCH:
	case SOURCE_ADVISE:
		return refuse(r, "the program prefetches or advises");
	default: /* SOURCE_BATCH */
		return refuse(r, "the rows say which faults are a batch");
	}
}

static void show(const struct reading *r)
{
	const struct source *source = r->host.source;
	struct progress_at at = {r->rows->accesses, source->done,	 source->total,
				 r->kernels,	    source->kernel_done, source->kernel_total};

	progress_show(&at, 1);
}

static enum page_rows_end read_rows(struct reading *r)
{
	struct source_row row;

	do {
		r->host.source->next(r->host.source, &row);
		if (interrupt_caught != 0) /* first: an interrupt also ends the source */
			return PAGE_ROWS_INTERRUPTED;
		if (!take_row(r, &row))
			return r->has_failed ? PAGE_ROWS_FAILED : PAGE_ROWS_REFUSED;
		if (row.kind == SOURCE_ACCESS && r->rows->accesses % PROGRESS_EVERY == 0)
			show(r);
	} while (row.kind != SOURCE_END);
	return PAGE_ROWS_DONE;
}

enum page_rows_end page_rows_run(struct page_rows *rows, struct source *source, char error[SOURCE_ERROR_MAX])
{
	struct host_params params = {.run = {.policy = rows->policy, .memory = {.oversub_percent = 100}},
				     .page_bytes = PAGE_BYTES,
				     .utlbs = SETUP_UTLBS,
				     .fault_entries = setup_fault_entries(rows->policy)};
	struct reading *r = calloc(1, sizeof(*r));
	enum page_rows_end end = PAGE_ROWS_REFUSED;

	rows->accesses = rows->footprint_bytes = 0;
	rows->reason = out_of_memory;
	error[0] = '\0';
	if (!r)
		return end;
	r->rows = rows;
	if (host_init(&r->host, &params, source, &r->result, error))
		end = read_rows(r);
	host_close(&r->host, end == PAGE_ROWS_DONE);
	free(r);
	return end;
}
