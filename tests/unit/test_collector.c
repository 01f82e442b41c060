/* Tests of the collector (collector.h) and its parts: downsampling against the events themselves, distances of returns
 * against a search of the whole past. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "observe/collector.h"

#define EVENTS 4000

static struct collector collector;

/* xorshift */
static uint64_t next_random(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* -- the grid -- */

struct counted {
	struct grid_pages pages;
	enum grid_plane plane;
	uint64_t time;
};

/* What a cell must hold: all pages of its rows at all times of its column. */
static uint64_t cell_of(const struct counted *all, size_t count, const struct grid *g, int plane, uint64_t row,
			uint64_t column)
{
	uint64_t sum = 0, first = row * g->row_pages, end = first + g->row_pages;

	for (size_t i = 0; i < count; i++) {
		const struct grid_pages *p = &all[i].pages;
		uint64_t at = p->page > first ? p->page : first;
		uint64_t last = p->page + p->pages < end ? p->page + p->pages : end;

		if ((int)all[i].plane != plane || all[i].time / g->column_width != column)
			continue;
		for (; at < last; at++)
			sum += !p->mask || uvmp_mask_test(p->mask, p->first + (uint32_t)(at - p->page));
	}
	return sum;
}

static void check_grid(uint64_t random, uint64_t pages, uint64_t times, size_t count)
{
	static struct counted all[EVENTS];
	static uvmp_mask mask;
	struct grid *g = &collector.grid;
	uint64_t time = 0;

	memset(&mask, 0x5a, sizeof(mask));
	grid_init(g);
	for (size_t i = 0; i < count; i++) {
		uint32_t first = (uint32_t)(next_random(&random) % 512u);

		time += next_random(&random) % (2 * times / count + 1);
		all[i].time = time;
		all[i].plane = (enum grid_plane)(next_random(&random) % GRID_PLANES);
		all[i].pages = (struct grid_pages){.page = next_random(&random) % (pages / 512u) * 512u + first,
						   .pages = 1 + (uint32_t)(next_random(&random) % (512u - first)),
						   .mask = i % 3 == 0 ? &mask : NULL,
						   .first = first};
		grid_add(g, all[i].plane, &all[i].pages, time);
	}
	assert_true(g->rows <= GRID_ROWS && g->columns <= GRID_COLUMNS);
	assert_true(g->column_width == 1 || g->columns > GRID_COLUMNS / 2);
	for (int plane = 0; plane < GRID_PLANES; plane++)
		for (uint32_t row = 0; row < GRID_ROWS; row += 7)
			for (uint32_t column = 0; column < GRID_COLUMNS; column += 5)
				assert_int_equal(g->cell[plane][row][column],
						 cell_of(all, count, g, plane, row, column));
}

static void test_grid_counts_each_page_once_at_any_resolution(void **state)
{
	(void)state;
	check_grid(1, 1024, 100, 20);
	check_grid(2, 1u << 16, 1000000, 300);
	check_grid(3, 1u << 22, UINT64_C(1) << 50, 300);
}

static void test_grid_keeps_sums_when_it_merges(void **state)
{
	struct grid *g = &collector.grid;
	struct grid_pages one = {.page = 5, .pages = 1};

	(void)state;
	grid_init(g);
	for (uint64_t time = 0; time < 512; time++)
		grid_add(g, GRID_EVICTED, &one, time);
	assert_int_equal(g->column_width, 1);
	grid_extend(g, 512);
	assert_int_equal(g->column_width, 2);
	assert_int_equal(g->columns, 257);
	assert_int_equal(g->cell[GRID_EVICTED][5][255], 2);
	assert_int_equal(g->cell[GRID_EVICTED][5][256], 0);
	one.page = 256;
	grid_add(g, GRID_EVICTED, &one, 0);
	assert_int_equal(g->row_pages, 2);
	assert_int_equal(g->cell[GRID_EVICTED][2][0], 2);
	assert_int_equal(g->cell[GRID_EVICTED][128][0], 1);
	assert_int_equal(grid_sum(g, GRID_EVICTED), 513);
	g->cell[GRID_EVICTED][128][0] = g->cell[GRID_EVICTED][128][1] = UINT32_MAX; /* counts stop at the most that fits */
	grid_extend(g, 1024);
	assert_int_equal(g->cell[GRID_EVICTED][128][0], UINT32_MAX);
}

/* -- returns -- */

static void test_returns_without_sampling_are_exact(void **state)
{
	struct returns *r = &collector.returns;

	(void)state;
	memset(r, 0, sizeof(*r));
	returns_arrived(r, 0, 512);
	returns_evicted(r, 0, 4);
	returns_arrived(r, 1000, 7);
	returns_arrived(r, 2, 1); /* 8 pages later */
	returns_arrived(r, 2, 1); /* it has not left since */
	returns_evicted(r, 2, 1);
	returns_evicted(r, 2, 1); /* the later one counts */
	returns_arrived(r, 2, 1);
	assert_int_equal(r->shift, 0);
	assert_int_equal(r->distance.count[4], 1); /* 8 */
	assert_int_equal(r->distance.count[1], 1); /* 1 */
}

/* In a loop over more pages than fit, oldest out first, all return at the same distance, and so does any sample of them. */
static void test_returns_of_a_sample_stand_for_all(void **state)
{
	const uint32_t pages = 200000, fit = 50000, rounds = 5, distance = pages - fit;
	struct returns *r = &collector.returns;
	uint64_t all = 0, expected = (uint64_t)pages * (rounds - 1);

	(void)state;
	memset(r, 0, sizeof(*r));
	for (uint32_t i = 0; i < pages * rounds; i++) {
		returns_arrived(r, i % pages, 1);
		if (i >= fit)
			returns_evicted(r, (i - fit) % pages, 1);
	}
	assert_true(r->shift > 0);
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		assert_true(r->distance.count[i] == 0 || (distance >= histogram_least(i) && distance <= histogram_least(i + 1)));
		all += r->distance.count[i];
	}
	/* of some 4000 pages that are watched: 5 standard deviations are below 10 % */
	assert_true(all > expected / 10 * 9 && all < expected / 10 * 11);
}

/* -- the collector -- */

static void tell(struct observe_event event)
{
	struct observer observer = collector_observer(&collector);

	observer.take(observer.context, &event);
}

static void test_collector_counts_by_kind(void **state)
{
	uvmp_mask evicted = {{0}};

	(void)state;
	collector_init(&collector);
	uvmp_mask_region_set(&evicted, (struct uvmp_region){10, 14});
	tell((struct observe_event){.kind = OBSERVE_BATCH, .start = 100, .end = 900, .faults = 200});
	tell((struct observe_event){.kind = OBSERVE_BATCH, .start = 1124, .end = 1200, .faults = 1});
	tell((struct observe_event){.kind = OBSERVE_COPY, .start = 300, .end = 400, .page = 522, .first = 10, .pages = 8,
				    .faulted = 3, .bytes = 32768, .to_gpu = true, .cause = UVMP_CAUSE_DEMAND, .evicted = &evicted});
	tell((struct observe_event){.kind = OBSERVE_COPY, .start = 500, .end = 600, .page = 522, .first = 10, .pages = 8,
				    .bytes = 32768, .cause = UVMP_CAUSE_EVICTION});
	tell((struct observe_event){.kind = OBSERVE_DROP, .start = 700, .end = 700, .page = 0, .pages = 2,
				    .cause = UVMP_CAUSE_FREE});
	tell((struct observe_event){.kind = OBSERVE_ZEROS, .start = 800, .end = 900, .pages = 4, .faulted = 4, .bytes = 16384,
				    .to_gpu = true, .cause = UVMP_CAUSE_DEMAND});
	tell((struct observe_event){.kind = OBSERVE_STALL, .start = 800, .end = 950});
	assert_int_equal(collector.batch_faults.count[8], 1);
	assert_int_equal(collector.batch_faults.count[1], 1);
	assert_int_equal(collector.batch_interval.count[11], 1); /* 1024 */
	assert_int_equal(grid_sum(&collector.grid, GRID_FAULTED), 3 + 4);
	assert_int_equal(grid_sum(&collector.grid, GRID_PREFETCHED), 5);
	assert_int_equal(grid_sum(&collector.grid, GRID_AGAIN), 4);
	assert_int_equal(grid_sum(&collector.grid, GRID_EVICTED), 8);
	assert_int_equal(grid_sum(&collector.grid, GRID_LEFT), 2);
	assert_int_equal(collector.cause_bytes[COLLECTOR_TO_GPU][UVMP_CAUSE_DEMAND], 32768);
	assert_int_equal(collector.cause_bytes[COLLECTOR_TO_CPU][UVMP_CAUSE_EVICTION], 32768);
	assert_int_equal(collector.zero_bytes, 16384);
	assert_int_equal(collector.stalled, 150);
	assert_int_equal(collector.grid.column_width * (collector.grid.columns - 1) <= 1200, 1);
	assert_int_equal(collector.grid.column_width * collector.grid.columns > 1200, 1);
}

static void test_layout_says_which_pages_there_are(void **state)
{
	/* blocks of 16 and 512 pages of one allocation, and one page far behind */
	static const struct observe_event block[] = {
		{.kind = OBSERVE_BLOCK, .page = 0, .pages = 16, .bytes = 65536, .address = 0x1f0000, .name = "a"},
		{.kind = OBSERVE_BLOCK, .page = 512, .pages = 512, .bytes = 2097152, .address = 0x200000, .name = "a", .number = 1},
		{.kind = OBSERVE_BLOCK, .page = 1000000, .pages = 1, .bytes = 4096, .address = 0x400000, .name = ""},
	};
	const struct layout *layout = &collector.layout;

	(void)state;
	collector_init(&collector);
	assert_true(layout_has(layout, 0, 1)); /* nothing is known */
	tell(block[0]);
	tell(block[1]);
	assert_int_equal(layout->allocations, 1);
	assert_int_equal(layout->allocation[0].bytes, 65536 + 2097152);
	assert_int_equal(layout->allocation[0].address, 0x1f0000);
	assert_true(layout_has(layout, 15, 16));
	assert_false(layout_has(layout, 16, 512));
	assert_true(layout_has(layout, 16, 513));
	assert_false(layout_has(layout, 1024, UINT64_C(1) << 40));
	tell(block[2]);
	assert_int_equal(layout->chunk_pages, 256);
	assert_true(layout_has(layout, 0, 256));
	assert_false(layout_has(layout, 256, 512));
	assert_false(layout_has(layout, 1024, 999936));
	assert_true(layout_has(layout, 1000000, 1000001));
	for (uint64_t i = 2; i < 20; i++) {
		struct observe_event other = block[2];

		other.page += i * 512;
		tell(other);
	}
	assert_int_equal(layout->allocations, 20);
	assert_string_equal(layout->allocation[LAYOUT_ALLOCATIONS - 1].name, "");
	assert_int_equal(collector.events, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grid_counts_each_page_once_at_any_resolution),
		cmocka_unit_test(test_grid_keeps_sums_when_it_merges),
		cmocka_unit_test(test_returns_without_sampling_are_exact),
		cmocka_unit_test(test_returns_of_a_sample_stand_for_all),
		cmocka_unit_test(test_collector_counts_by_kind),
		cmocka_unit_test(test_layout_says_which_pages_there_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
