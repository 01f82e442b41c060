/* The working set over time (Denning, CACM 11(5), 1968): the distinct pages of each window of accesses, or of time. A page
 * has the number of the last window that has accessed it, as do its 64 KiB and its VABlock. */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "curve.h"
#include "interrupt.h"
#include "progress.h"
#include "quote.h"
#include "space.h"

#define SIZES 3u
static const unsigned unit_shift[SIZES] = {0, 4, 9}; /* 4 KiB, 64 KiB, VABlocks */

/* Counts of one window. */
struct counts {
	uint64_t accesses, cpu_accesses, first_pages;
	uint64_t units[SIZES];
};

struct windows {
	const struct working_set *set;
	struct source *source;
	FILE *out;
	char *error;
	struct space space;
	uint32_t *seen[SIZES]; /* by unit: 1 + the last window with an access; 0: none */
	uint64_t room[SIZES];
	uint32_t window; /* that is open, from 0 on */
	uint64_t begin;	 /* of the open window: accesses before it, or ns */
	uint64_t accesses, kernels;
	struct counts counts;
	bool is_started, has_row; /* a row was printed */
	bool has_failed;	  /* the last row has the error */
};

static bool fail(struct windows *w, const char *text)
{
	return source_fail(w->source, text, w->error);
}

/* -- output -- */

typedef unsigned long long number;

static const char *unit_of(const struct windows *w)
{
	return w->set->is_time ? "ns" : "accesses";
}

static void print_head(struct windows *w)
{
	if (w->set->format == REPORT_CSV)
		fputs("workload,unit,window,begin,accesses,cpu_accesses,pages,bytes,first_pages,units_64k,"
		      "blocks,error\n",
		      w->out);
	if (w->set->format == REPORT_TABLE)
		fprintf(w->out, "workload %s\n\n%6s %14s %12s %12s %10s %12s %10s %8s\n", w->source->name,
			"window", w->set->is_time ? "from ns" : "from access", "accesses", "of the CPU",
			"pages", "first time", "64 KiB", "VABlocks");
}

static void print_json(struct windows *w)
{
	const struct counts *c = &w->counts;

	fprintf(w->out, "%s{\"workload\": ", w->has_row ? ",\n " : "[");
	quote_json(w->source->name, w->out);
	fprintf(w->out,
		", \"unit\": \"%s\", \"window\": %llu, \"begin\": %llu, \"accesses\": %llu, "
		"\"cpu_accesses\": %llu",
		unit_of(w), (number)w->window, (number)w->begin, (number)c->accesses,
		(number)c->cpu_accesses);
	fprintf(w->out,
		", \"pages\": %llu, \"bytes\": %llu, \"first_pages\": %llu, \"units_64k\": %llu, \"blocks\": "
		"%llu, \"error\": ",
		(number)c->units[0], (number)c->units[0] * PAGE_BYTES, (number)c->first_pages,
		(number)c->units[1], (number)c->units[2]);
	if (w->has_failed)
		quote_json(w->error, w->out);
	else
		fputs("null", w->out);
	fputc('}', w->out);
}

static void print_csv(const struct windows *w)
{
	const struct counts *c = &w->counts;

	quote_csv(w->source->name, w->out);
	fprintf(w->out, ",%s,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,", unit_of(w), (number)w->window,
		(number)w->begin, (number)c->accesses, (number)c->cpu_accesses, (number)c->units[0],
		(number)c->units[0] * PAGE_BYTES, (number)c->first_pages, (number)c->units[1],
		(number)c->units[2]);
	if (w->has_failed)
		quote_csv(w->error, w->out);
	fputc('\n', w->out);
}

static void print_window(struct windows *w)
{
	const struct counts *c = &w->counts;

	if (!w->has_row)
		print_head(w);
	if (w->set->format == REPORT_JSON)
		print_json(w);
	else if (w->set->format == REPORT_CSV)
		print_csv(w);
	else
		fprintf(w->out, "%6llu %14llu %12llu %12llu %10llu %12llu %10llu %8llu\n", (number)w->window,
			(number)w->begin, (number)c->accesses, (number)c->cpu_accesses, (number)c->units[0],
			(number)c->first_pages, (number)c->units[1], (number)c->units[2]);
	w->has_row = true;
}

/* -- windows -- */

static void close_window(struct windows *w)
{
	if (w->counts.accesses != 0 || (w->has_failed && w->has_row))
		print_window(w);
	memset(&w->counts, 0, sizeof(w->counts));
	w->window++;
}

/* Opens the window of the access. Windows of time without an access have no row. False: *w has failed. */
static bool open_window(struct windows *w, const struct source_row *row)
{
	uint64_t at = w->set->is_time ? row->time_ns : w->accesses;

	if (w->set->is_time && !row->has_time)
		return fail(w, "an access has no time; give --window a number of accesses");
	if (w->is_started && at / w->set->window * w->set->window <= w->begin)
		return true; /* a row of an earlier time belongs to the window that is open */
	if (w->is_started)
		close_window(w);
	w->is_started = true;
	w->begin = at / w->set->window * w->set->window;
	return w->window != UINT32_MAX || fail(w, "there are too many windows");
}

/* Room for all units of the ranges. */
static bool make_room(struct windows *w)
{
	uint64_t pages = (uint64_t)w->space.numbers * UVMP_MASK_BITS;

	for (uint32_t i = 0; i < SIZES; i++) {
		uint64_t before = w->room[i], units = pages >> unit_shift[i];

		if (!ARRAY_RESERVE(w->seen[i], w->room[i], units))
			return fail(w, "out of memory");
		memset(w->seen[i] + before, 0, (size_t)(w->room[i] - before) * sizeof(*w->seen[i]));
	}
	return true;
}

static bool add_range(struct windows *w, const struct source_range *range)
{
	char text[SOURCE_ERROR_MAX];

	if (!space_add_range(&w->space, range, text))
		return fail(w, text);
	return make_room(w);
}

static bool access_row(struct windows *w, const struct source_row *row)
{
	const struct sim_block *block;
	uint32_t page;
	uint64_t unit;

	if (!open_window(w, row))
		return false;
	block = space_find(&w->space, row->address, &page);
	if (!block)
		return fail(w, "an access lies outside every range");
	unit = (uint64_t)block->number * UVMP_MASK_BITS + row->address % ROOT_BYTES / PAGE_BYTES;
	w->counts.first_pages += w->seen[0][unit] == 0;
	for (uint32_t i = 0; i < SIZES; i++) {
		uint32_t *seen = &w->seen[i][unit >> unit_shift[i]];

		w->counts.units[i] += *seen != w->window + 1u;
		*seen = w->window + 1u;
	}
	w->counts.accesses++;
	w->counts.cpu_accesses += row->is_cpu;
	w->accesses++;
	return true;
}

/* -- rows -- */

static void show(const struct windows *w)
{
	const struct source *source = w->source;
	struct progress_at at = {w->accesses, source->done,	   source->total,
				 w->kernels,  source->kernel_done, source->kernel_total};

	progress_show(&at, 1);
}

static bool take_row(struct windows *w, const struct source_row *row)
{
	switch (row->kind) {
	case SOURCE_BAD:
		snprintf(w->error, SOURCE_ERROR_MAX, "%s", w->source->error);
		return false;
	case SOURCE_RANGE:
		return add_range(w, &row->range);
	case SOURCE_FREE:
		return space_free(&w->space, row->address, row->bytes) || fail(w, "out of memory");
	case SOURCE_KERNEL:
		w->kernels++;
		return true;
	case SOURCE_ACCESS:
		if (w->accesses % PROGRESS_EVERY == 0)
			show(w);
		return access_row(w, row);
	default:
		return true;
	}
}

static bool read_rows(struct windows *w)
{
	struct source_row row;

	do {
		w->source->next(w->source, &row);
		if (interrupt_caught != 0) /* first: an interrupt also ends the source */
			return fail(w, "interrupted");
		if (!take_row(w, &row))
			return false;
	} while (row.kind != SOURCE_END);
	return true;
}

bool working_set_print(struct source *source, const struct working_set *set, FILE *out,
		       char error[SOURCE_ERROR_MAX])
{
	struct windows w = {.set = set, .source = source, .out = out, .error = error};
	bool is_good;

	if (!space_open(&w.space, PAGE_BYTES))
		return fail(&w, "out of memory");
	is_good = read_rows(&w);
	w.has_failed = !is_good;
	close_window(&w);
	if (is_good && !w.has_row)
		print_head(&w);
	if (set->format == REPORT_JSON && (is_good || w.has_row))
		fputs(w.has_row ? "]\n" : "[]\n", out);
	space_close(&w.space);
	for (uint32_t i = 0; i < SIZES; i++)
		free(w.seen[i]);
	return is_good;
}
