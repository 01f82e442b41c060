/* A row's address becomes a page, a big page and a VABlock, numbered in the order in which their 2 MiB
 * windows are touched; each goes to the optimum of its size. Memory grows with the windows that are touched,
 * less than 40 bytes a page, never with accesses.
 *
 * A written unit that has left memory was written back. The write is counted when it is certain: at
 * the next miss, or at the end. Memory that was never used has no contents and need not move to its
 * first use. Freed memory need not leave. */
#include "bound.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "belady.h"
#include "bound_ranges.h"
#include "interrupt.h"
#include "progress.h"
#include "space.h"

#define WINDOW_SHIFT  21
#define WINDOW_PAGES  512u
#define WINDOW_UNITS  32u /* of 64 KiB */
#define WINDOWS_MAX   (BELADY_UNITS_MAX / WINDOW_PAGES)

static const unsigned page_shift[BOUND_LEVELS] = {0, 4, 9}; /* from pages to units */

/* 2 MiB of addresses in which something was touched. */
struct window {
	uint64_t number;      /* address >> WINDOW_SHIFT */
	uint64_t dirty[8];    /* pages written since they arrived */
	uint64_t home[8];     /* pages of fresh ranges that the CPU has used */
	uint64_t freed[8];    /* pages freed since their last access: their history restarts */
	uint32_t dirty_units; /* the same of 64 KiB */
	uint32_t freed_units;
	uint16_t pages;		    /* that belonged to ranges at the first access, of the whole */
	bool is_dirty, is_freed;    /* the whole */
	uint8_t unit[WINDOW_UNITS]; /* and of each 64 KiB */
};

/* The optimum of one size, and the other state of its counts. */
struct level {
	struct belady belady;
	uint64_t touched_pages, in_pages;  /* only pages with contents */
	uint64_t held_pages;		   /* pages that arrived in memory, with those that had no contents */
	uint64_t written, written_pages;   /* back, for certain */
	uint64_t dirty_count, dirty_pages; /* written and perhaps still there */
	uint64_t freed, freed_pages;	   /* that were still there */
};

struct bound {
	struct bound_result *result;
	struct sim_memory memory;
	struct source *source;
	char *error;
	bool is_open;

	struct bound_ranges ranges;

	struct window *window;
	uint32_t windows, windows_room;
	uint32_t *table; /* number -> index in window[] + 1, open addressing */
	uint32_t table_size;
	uint32_t last; /* index of the window found last */

	struct level level[BOUND_LEVELS];
	uint32_t levels;
	uint64_t kernels; /* so far */
};

static bool fail(struct bound *b, const char *text)
{
	return source_fail(b->source, text, b->error);
}

/* `error`: NULL, or what was wrong. */
static bool succeed(struct bound *b, const char *error)
{
	return error == NULL || fail(b, error);
}

/* -- windows -- */

/* Where the number stands in the table, or the free place where it would. */
static uint32_t place_of(const struct bound *b, uint64_t number)
{
	uint32_t place = (uint32_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (b->table_size - 1u);

	while (b->table[place] != 0 && b->window[b->table[place] - 1u].number != number)
		place = (place + 1u) & (b->table_size - 1u);
	return place;
}

static bool grow_windows(struct bound *b)
{
	uint32_t room = b->windows_room != 0 ? 2u * b->windows_room : 64u;
	struct window *window = array_again(b->window, room, sizeof(*window));
	uint32_t *table;

	if (window)
		b->window = window;
	table = window ? calloc(2u * (size_t)room, sizeof(*table)) : NULL;
	if (!table)
		return false;
	free(b->table);
	b->table = table;
	b->table_size = 2u * room;
	b->windows_room = room;
	for (uint32_t i = 0; i < b->windows; i++)
		b->table[place_of(b, b->window[i].number)] = i + 1u;
	return true;
}

static bool add_window(struct bound *b, uint64_t number)
{
	struct window *window;

	if (b->windows == WINDOWS_MAX || (b->windows == b->windows_room && !grow_windows(b)))
		return fail(b, "out of memory");
	for (uint32_t i = 0; i < b->levels; i++)
		if (!belady_grow(&b->level[i].belady, ((b->windows + 1u) * WINDOW_PAGES) >> page_shift[i]))
			return fail(b, "out of memory");
	window = &b->window[b->windows++];
	memset(window, 0, sizeof(*window));
	window->number = number;
	b->table[place_of(b, number)] = b->windows;
	return true;
}

/* Index of the address's window, made if it is new; UINT32_MAX: out of memory. */
static uint32_t find_window(struct bound *b, uint64_t address)
{
	uint64_t number = address >> WINDOW_SHIFT;
	uint32_t index;

	if (b->windows != 0 && b->window[b->last].number == number)
		return b->last;
	index = b->windows != 0 ? b->table[place_of(b, number)] : 0;
	if (index == 0) {
		if (!add_window(b, number))
			return UINT32_MAX;
		index = b->windows;
	}
	return b->last = index - 1u;
}

/* Memory is whole roots, as in a run: the memory of a percentage is rounded up, so that at 100 all data fits. */
static bool open_memory(struct bound *b)
{
	uint64_t bytes = space_memory_bytes(b->memory.bytes, b->memory.oversub_percent, b->ranges.footprint_bytes);

	if (b->ranges.count == 0 && b->source->line != 0) /* programs may do without managed memory */
		return fail(b, "there is no range: there is no memory to bound");
	if (b->ranges.count == 0)
		bytes = ROOT_BYTES;
	if (bytes == 0) {
		snprintf(b->error, SOURCE_ERROR_MAX,
			 "memory of %llu bytes is smaller than one VABlock (2 MiB)",
			 (unsigned long long)b->memory.bytes);
		return false;
	}
	b->result->memory_bytes = bytes;
	for (uint32_t i = 0; i < b->levels; i++)
		belady_open(&b->level[i].belady, bytes / ((uint64_t)PAGE_BYTES << page_shift[i]));
	b->is_open = true;
	return true;
}

/* -- units -- */

/* Fixes the weight of a unit: ranges that are announced later do not change earlier counts. */
static void measure(struct bound *b, uint32_t level, uint32_t unit)
{
	uint64_t bytes = (uint64_t)PAGE_BYTES << page_shift[level];
	struct window *window = &b->window[unit >> (page_shift[BOUND_LEVELS - 1] - page_shift[level])];
	uint64_t start = window->number << WINDOW_SHIFT;

	if (level == 1)
		window->unit[unit % WINDOW_UNITS] =
			(uint8_t)bound_ranges_pages(&b->ranges, start + unit % WINDOW_UNITS * bytes, bytes, false);
	if (level == 2)
		window->pages = (uint16_t)bound_ranges_pages(&b->ranges, start, bytes, false);
}

/* Pages of a unit that has been accessed. */
static uint32_t weigh(const struct bound *b, uint32_t level, uint32_t unit)
{
	if (level == 0)
		return 1;
	if (level == 1)
		return b->window[unit / WINDOW_UNITS].unit[unit % WINDOW_UNITS];
	return b->window[unit].pages;
}

/* Pages of a unit that the GPU accesses for the first time that have contents. */
static uint32_t weigh_contents(const struct bound *b, uint32_t level, uint32_t unit)
{
	uint32_t pages = 1u << page_shift[level], units = WINDOW_PAGES >> page_shift[level];
	uint32_t weight = weigh(b, level, unit), first = unit % units * pages;
	const struct window *window = &b->window[unit / units];

	if (!b->ranges.has_fresh)
		return weight;
	weight -= bound_ranges_pages(&b->ranges, (window->number << WINDOW_SHIFT) + (uint64_t)first * PAGE_BYTES,
			      (uint64_t)pages * PAGE_BYTES, true);
	for (uint32_t page = first; page < first + pages; page++)
		weight += (window->home[page / 64u] >> page % 64u & 1u) != 0;
	return weight;
}

/* The CPU has used a page. */
static void use_at_home(struct bound *b, uint32_t page)
{
	struct window *window = &b->window[page / WINDOW_PAGES];
	uint64_t start = (window->number << WINDOW_SHIFT) + page % WINDOW_PAGES * (uint64_t)PAGE_BYTES;

	if (b->ranges.has_fresh && bound_ranges_pages(&b->ranges, start, PAGE_BYTES, true) != 0)
		window->home[page / 64u % 8u] |= UINT64_C(1) << page % 64u;
}

static bool is_dirty(const struct bound *b, uint32_t level, uint32_t unit)
{
	if (level == 0)
		return (b->window[unit / WINDOW_PAGES].dirty[unit / 64u % 8u] >> unit % 64u & 1u) != 0;
	if (level == 1)
		return (b->window[unit / WINDOW_UNITS].dirty_units >> unit % WINDOW_UNITS & 1u) != 0;
	return b->window[unit].is_dirty;
}

/* It was the other. */
static void set_dirty(struct bound *b, uint32_t level, uint32_t unit, bool is)
{
	struct level *l = &b->level[level];
	uint32_t pages = weigh(b, level, unit);

	if (level == 0)
		b->window[unit / WINDOW_PAGES].dirty[unit / 64u % 8u] ^= UINT64_C(1) << unit % 64u;
	else if (level == 1)
		b->window[unit / WINDOW_UNITS].dirty_units ^= 1u << unit % WINDOW_UNITS;
	else
		b->window[unit].is_dirty = is;
	if (is) {
		l->dirty_count++;
		l->dirty_pages += pages;
	} else {
		l->dirty_count--;
		l->dirty_pages -= pages;
	}
}

/* It has certainly left since it was written. */
static void write_back(struct bound *b, uint32_t level, uint32_t unit)
{
	if (!is_dirty(b, level, unit))
		return;
	set_dirty(b, level, unit, false);
	b->level[level].written++;
	b->level[level].written_pages += weigh(b, level, unit);
}

static void set_freed(struct bound *b, uint32_t level, uint32_t unit)
{
	struct window *window = &b->window[unit / (WINDOW_PAGES >> page_shift[level])];

	if (level == 0) {
		window->freed[unit / 64u % 8u] |= UINT64_C(1) << unit % 64u;
		window->home[unit / 64u % 8u] &= ~(UINT64_C(1) << unit % 64u);
	} else if (level == 1) {
		window->freed_units |= UINT32_C(1) << unit % WINDOW_UNITS;
	} else {
		window->is_freed = true;
	}
}

/* Was it freed, and not accessed since? From now on it was not. */
static bool take_freed(struct bound *b, uint32_t level, uint32_t unit)
{
	struct window *window = &b->window[unit / (WINDOW_PAGES >> page_shift[level])];
	bool is_freed = window->is_freed;

	if (level == 0) {
		is_freed = (window->freed[unit / 64u % 8u] >> unit % 64u & 1u) != 0;
		window->freed[unit / 64u % 8u] &= ~(UINT64_C(1) << unit % 64u);
	} else if (level == 1) {
		is_freed = (window->freed_units >> unit % WINDOW_UNITS & 1u) != 0;
		window->freed_units &= ~(UINT32_C(1) << unit % WINDOW_UNITS);
	} else {
		window->is_freed = false;
	}
	return is_freed;
}

static void access_unit(struct bound *b, uint32_t level, uint32_t unit, bool is_write)
{
	struct level *l = &b->level[level];
	enum belady_result found = belady_access(&l->belady, unit);
	bool begins = take_freed(b, level, unit) || found == BELADY_FIRST;

	if (found != BELADY_HIT) {
		struct bound_level *result = &b->result->level[level];

		if (begins) {
			measure(b, level, unit);
			result->touched++;
			l->touched_pages += weigh_contents(b, level, unit);
			l->in_pages += weigh_contents(b, level, unit);
		} else {
			l->in_pages += weigh(b, level, unit);
		}
		result->misses++;
		l->held_pages += weigh(b, level, unit);
		write_back(b, level, unit);
	}
	if (is_write && !is_dirty(b, level, unit))
		set_dirty(b, level, unit, true);
}

static bool access_row(struct bound *b, const struct source_row *row)
{
	uint32_t window = find_window(b, row->address), page;

	if (window == UINT32_MAX)
		return false;
	page = window * WINDOW_PAGES + (uint32_t)(row->address / PAGE_BYTES % WINDOW_PAGES);
	b->result->accesses++;
	if (row->is_cpu)
		use_at_home(b, page);
	for (uint32_t i = 0; i < b->levels; i++) {
		if (row->is_cpu)
			belady_take(&b->level[i].belady, page >> page_shift[i]);
		else
			access_unit(b, i, page >> page_shift[i], row->access > UVMP_ACCESS_READ);
	}
	return true;
}

/* -- residency -- */

struct weighing {
	const struct bound *bound;
	uint32_t level;
	const struct bound_range
		*freed; /* only units that are freed completely, since their addresses are no longer managed; NULL: all */
};

static bool is_meant(const struct weighing *w, uint32_t unit)
{
	uint64_t bytes = (uint64_t)PAGE_BYTES << page_shift[w->level];
	uint32_t units = WINDOW_PAGES >> page_shift[w->level];
	uint64_t start = (w->bound->window[unit / units].number << WINDOW_SHIFT) + unit % units * bytes;

	if (!w->freed)
		return true;
	return start <= w->freed->last && start + (bytes - 1u) >= w->freed->start &&
	       bound_ranges_pages(&w->bound->ranges, start, bytes, false) == 0;
}

static uint32_t weigh_all(const void *context, uint32_t unit)
{
	const struct weighing *w = context;

	return is_meant(w, unit) ? weigh(w->bound, w->level, unit) : 0;
}

static uint32_t weigh_dirty(const void *context, uint32_t unit)
{
	const struct weighing *w = context;

	return is_dirty(w->bound, w->level, unit) ? weigh_all(context, unit) : 0;
}

/* -- freed memory -- */

/* Units of one window. `left`: what has been written of them and must have left before. */
static void free_window(struct bound *b, const struct weighing *w, uint32_t window, struct belady_rest *left)
{
	uint32_t units = WINDOW_PAGES >> page_shift[w->level];

	for (uint32_t unit = window * units; unit < (window + 1u) * units; unit++) {
		if (!is_meant(w, unit))
			continue;
		if (is_dirty(b, w->level, unit)) {
			left->units++;
			left->weight += weigh(b, w->level, unit);
			set_dirty(b, w->level, unit, false);
		}
		belady_take(&b->level[w->level].belady, unit);
		set_freed(b, w->level, unit);
	}
}

/* As at the end, units may still be resident at the size of which most fit. They are removed without an
 * eviction. */
static void free_units(struct bound *b, uint32_t level, const struct bound_range *freed)
{
	struct weighing weighing = {b, level, freed};
	struct level *l = &b->level[level];
	struct belady_rest here = belady_rest(&l->belady, weigh_all, &weighing);
	struct belady_rest dirty = belady_rest(&l->belady, weigh_dirty, &weighing), left = {0, 0};
	uint64_t first = freed->start >> WINDOW_SHIFT, last = freed->last >> WINDOW_SHIFT;

	for (uint64_t number = first; number <= last && b->windows != 0; number++) {
		uint32_t index = b->table[place_of(b, number)];

		if (index != 0)
			free_window(b, &weighing, index - 1u, &left);
	}
	l->freed += here.units;
	l->freed_pages += here.weight;
	l->written += left.units - dirty.units;
	l->written_pages += left.weight - dirty.weight;
}

static bool free_row(struct bound *b, const struct source_row *row)
{
	struct bound_range freed = {row->address, (row->address + row->bytes - 1u) | (PAGE_BYTES - 1u), false};

	if (!succeed(b, bound_ranges_cut(&b->ranges, &freed)))
		return false;
	for (uint32_t i = 0; i < b->levels; i++)
		free_units(b, i, &freed);
	return true;
}

/* -- the end -- */

/* Pages that arrived and are not in memory at the end have left. */
static void finish(struct bound *b)
{
	b->result->footprint_bytes = b->ranges.footprint_bytes;
	for (uint32_t i = 0; i < b->levels; i++) {
		const struct level *l = &b->level[i];
		struct bound_level *to = &b->result->level[i];
		struct weighing weighing = {b, i, NULL};
		struct belady_rest all = {0, 0}, dirty = {0, 0};

		if (b->is_open) {
			all = belady_rest(&l->belady, weigh_all, &weighing);
			dirty = belady_rest(&l->belady, weigh_dirty, &weighing);
		}
		to->unit_bytes = (uint64_t)PAGE_BYTES << page_shift[i];
		to->places = b->result->memory_bytes / to->unit_bytes;
		to->touched_bytes = l->touched_pages * PAGE_BYTES;
		to->h2d_bytes = l->in_pages * PAGE_BYTES;
		to->left = to->misses - l->freed - all.units;
		to->d2h_bytes = (l->held_pages - l->freed_pages - all.weight) * PAGE_BYTES;
		to->written_back = l->written + l->dirty_count - dirty.units;
		to->written_back_bytes = (l->written_pages + l->dirty_pages - dirty.weight) * PAGE_BYTES;
	}
}

/* -- rows -- */

static void show(const struct bound *b)
{
	const struct source *source = b->source;
	struct progress_at at = {b->result->accesses, source->done,	   source->total,
				 b->kernels,	      source->kernel_done, source->kernel_total};

	progress_show(&at, 1);
}

/* One row before the end. False: *b has failed. */
static bool take_row(struct bound *b, const struct source_row *row)
{
	switch (row->kind) {
	case SOURCE_BAD:
		snprintf(b->error, SOURCE_ERROR_MAX, "%s", b->source->error);
		return false;
	case SOURCE_RANGE:
		return succeed(b, bound_ranges_add(&b->ranges, &row->range));
	case SOURCE_KERNEL:
		b->kernels++;
		return true;
	case SOURCE_FREE:
		return free_row(b, row);
	case SOURCE_ACCESS:
		if (!access_row(b, row))
			return false;
		if (b->result->accesses % PROGRESS_EVERY == 0)
			show(b);
		return true;
	default:
		return true;
	}
}

static bool rows(struct bound *b)
{
	struct source_row row;

	do {
		b->source->next(b->source, &row);
		if (interrupt_caught != 0) /* first: an interrupt also ends the source */
			return fail(b, "interrupted");
		if (row.kind != SOURCE_RANGE && row.kind != SOURCE_BAD && !b->is_open && !open_memory(b))
			return false;
		if (!take_row(b, &row))
			return false;
	} while (row.kind != SOURCE_END);
	return true;
}

bool bound_run(struct source *source, struct sim_memory memory, uint32_t levels, struct bound_result *result,
	       char error[SOURCE_ERROR_MAX])
{
	struct bound bound = {.result = result, .memory = memory, .source = source, .error = error};
	bool done;

	memset(result, 0, sizeof(*result));
	bound.levels = result->levels = levels;
	done = rows(&bound);
	finish(&bound);
	for (uint32_t i = 0; i < levels; i++)
		belady_close(&bound.level[i].belady);
	bound_ranges_close(&bound.ranges);
	free(bound.window);
	free(bound.table);
	return done;
}
