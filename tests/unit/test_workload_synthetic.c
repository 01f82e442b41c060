/* Unit tests of the synthetic patterns and of the numbers by Zipf's law that they draw. */
#include "support/workload_rows.h"
#include "workloads/zipf.h"

#define PAGES_MAX 4096u

/* -- Zipf's law -- */

static uint64_t weight_of(const struct zipf *zipf, uint32_t i)
{
	return zipf->until[i] - (i == 0 ? 0 : zipf->until[i - 1]);
}

/* weight^100 * k^skew, with the weight in units of 2^-40, is 1: factors above and below 1 alternate. */
static double product_of(uint64_t weight, uint32_t k, uint32_t skew)
{
	double product = 1, unit = (double)weight / (double)((uint64_t)1 << 40);
	uint32_t weights = 100;

	while (weights > 0 || skew > 0)
		if (skew > 0 && (product <= 1 || weights == 0)) {
			product *= k;
			skew--;
		} else {
			product *= unit;
			weights--;
		}
	return product;
}

static void zipf_weights(void **state)
{
	static const uint32_t skews[] = {0, 1, 50, 99, 100, 110, 120, 250, 300};

	(void)state;
	for (size_t s = 0; s < sizeof(skews) / sizeof(skews[0]); s++) {
		struct zipf zipf;

		assert_true(zipf_init(&zipf, 100000, skews[s]));
		assert_true(zipf.until[0] == (uint64_t)1 << 40);
		for (uint32_t i = 1; i < zipf.count; i += 1 + i / 16) {
			uint64_t weight = weight_of(&zipf, i);
			double error = product_of(weight, i + 1, skews[s]) - 1;

			assert_true(weight >= 1 && weight <= weight_of(&zipf, i - 1));
			if (weight < (uint64_t)1 << 20) /* the rounding to whole units is larger */
				continue;
			if (error > 2e-4 || error < -2e-4)
				fail_msg("skew %u, number %u: %g", skews[s], i, error);
		}
		zipf_close(&zipf);
	}
}

/* The share of each number among the draws is that of its weight within five standard deviations. */
static void zipf_shares(void **state)
{
	static uint32_t drawn[1000];
	const double draws = 1000000;
	uint64_t random = 5;
	struct zipf zipf;

	(void)state;
	assert_true(zipf_init(&zipf, 1000, 110));
	for (uint32_t i = 0; i < 1000000; i++)
		drawn[zipf_draw(&zipf, &random)]++;
	for (uint32_t i = 0; i < 1000; i++) {
		double expected = draws * (double)weight_of(&zipf, i) / (double)zipf.until[999];
		double off = drawn[i] - expected;

		assert_true(off * off <= 25 * expected);
	}
	zipf_close(&zipf);
	zipf_close(&zipf);
	assert_true(zipf_init(&zipf, 1, 300));
	assert_int_equal(zipf_draw(&zipf, &random), 0);
	zipf_close(&zipf);
}

/* -- patterns -- */

/* One kernel's accesses: by array and page; returns how many. */
static uint32_t seen[2][PAGES_MAX];
static uint64_t collect(struct rows *rows, const char *kernel)
{
	uint64_t accesses = 0;

	memset(seen, 0, sizeof(seen));
	for (rows_kernel(rows, kernel); rows->row.kind == SOURCE_ACCESS; rows_next(rows), accesses++) {
		assert_in_range(rows_offset(rows) / ROWS_PAGE, 0, PAGES_MAX - 1);
		seen[rows_range(rows)][rows_offset(rows) / ROWS_PAGE]++;
	}
	rows_sync(rows);
	return accesses;
}

static void assert_each(unsigned array, uint64_t pages, uint32_t times)
{
	for (uint64_t page = 0; page < PAGES_MAX; page++)
		assert_int_equal(seen[array][page], page < pages ? times : 0);
}

static uint64_t distinct(unsigned array)
{
	uint64_t count = 0;

	for (uint64_t page = 0; page < PAGES_MAX; page++)
		count += seen[array][page] != 0;
	return count;
}

/* One warp at a time: the pages in order, forth or back, as often as `inside` says. */
static void scans_in_order(void **state)
{
	static const struct {
		const char *spec, *kernel;
		uint64_t pages, passes;
		bool is_back;
	} cases[] = {
		{"synthetic:bytes=1000k,phases=scan@0,agents=1", "scan", 250, 1, false},
		{"synthetic:bytes=1000k,phases=scan@0,inside=4,pages=32,agents=1", "scan", 250, 4, false},
		{"synthetic:bytes=1001k,phases=back@0,pages=3,inside=2,agents=1", "back", 251, 2, true},
		{"synthetic:bytes=1,phases=back@0,agents=1", "back", 1, 1, true},
	};

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct rows rows = rows_open(cases[c].spec, 1);

		rows_kernel(&rows, cases[c].kernel);
		for (uint64_t i = 0; i < cases[c].pages * cases[c].passes; i++) {
			uint64_t at = i % cases[c].pages;

			assert_int_equal(rows.row.kind, SOURCE_ACCESS);
			assert_int_equal(rows.row.access, UVMP_ACCESS_READ);
			assert_int_equal(rows_offset(&rows) / ROWS_PAGE,
					 cases[c].is_back ? cases[c].pages - 1 - at : at);
			rows_next(&rows);
		}
		rows_sync(&rows);
		assert_int_equal(rows.row.kind, SOURCE_END);
		rows_close(&rows);
	}
}

/* As many accesses as asked for, less those of a page twice in a row; a uniform draw with replacement leaves
 * (1 - 1/n)^n of n pages untouched, 0.368 of them. */
static void uniform(void **state)
{
	struct rows rows = rows_open("synthetic:bytes=16m,phases=random@0,accesses=4096,agents=64", 3);
	uint64_t accesses;

	(void)state;
	accesses = collect(&rows, "random");
	assert_in_range(accesses, 4096 - 10, 4096);
	assert_in_range(distinct(0), 4096 * 612 / 1000, 4096 * 652 / 1000);
	rows_close(&rows);
	rows = rows_open("synthetic:bytes=16m,phases=random@0,accesses=1000,pages=7,agents=64", 3);
	assert_in_range(collect(&rows, "random"), 990, 1000);
	rows_close(&rows);
}

/* The most frequent page has its share, and ranks do not ascend with addresses. */
static void skewed(void **state)
{
	struct rows rows =
		rows_open("synthetic:bytes=16m,phases=zipf@0,skew=110,accesses=262144,agents=2048", 3);
	uint64_t accesses = collect(&rows, "zipf"), most = 0, low = 0;
	struct zipf zipf;
	double share;

	(void)state;
	assert_true(zipf_init(&zipf, 4096, 110));
	for (uint32_t page = 0; page < 4096; page++) {
		if (seen[0][page] > seen[0][most])
			most = page;
		low += page < 2048 && seen[0][page] >= 100;
	}
	/* the rest of what is drawn for it is coalesced with the access before: p of p */
	share = (double)weight_of(&zipf, 0) / (double)zipf.until[4095];
	assert_true(most > 0);
	assert_true((double)seen[0][most] > (share - share * share) * 262144 * 0.97);
	assert_true((double)seen[0][most] < (share - share * share) * 262144 * 1.03);
	assert_true(accesses < 262144 && accesses > 230000);
	assert_in_range(low, 80, 300); /* of about 370 frequent pages half lie in either half */
	zipf_close(&zipf);
	rows_close(&rows);
}

/* What a kernel touches does not depend on how many warps run at a time. */
static void order_of_warps(void **state)
{
	static uint32_t first[2][PAGES_MAX];
	const char *spec = "synthetic:bytes=16m,arrays=2,phases=scan@0/random@1,write=30,pages=2,agents=%u";
	const unsigned agents[] = {1, 7, 2048};
	char text[128];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct rows rows;

		snprintf(text, sizeof(text), spec, agents[i]);
		rows = rows_open(text, 9);
		collect(&rows, "mixed");
		if (i == 0)
			memcpy(first, seen, sizeof(seen));
		assert_memory_equal(first, seen, sizeof(seen));
		rows_close(&rows);
	}
}

/* The first pattern is done once, the second one as much as its share of the warps. */
static void mixed(void **state)
{
	struct rows rows =
		rows_open("synthetic:bytes=16m,arrays=2,phases=scan@0/random@1*2+back@1/scan@0,dense=20", 1);
	uint64_t accesses;

	(void)state;
	for (unsigned kernel = 0; kernel < 2; kernel++) {
		accesses = collect(&rows, "mixed");
		assert_each(0, 4096, 1);
		assert_in_range(accesses, 5 * 4096 - 30, 5 * 4096);
	}
	assert_int_equal(collect(&rows, "mixed"), 5 * 4096);
	assert_each(0, 4096, 4);
	assert_each(1, 4096, 1);
	assert_int_equal(rows.row.kind, SOURCE_END);
	rows_close(&rows);
}

/* With equal shares the warps of the two patterns alternate. */
static void interleaved(void **state)
{
	struct rows rows =
		rows_open("synthetic:bytes=16m,arrays=2,phases=scan@0/scan@1,dense=50,agents=1", 1);
	unsigned turns = 0;

	(void)state;
	rows_kernel(&rows, "mixed");
	for (unsigned before = 2; rows.row.kind == SOURCE_ACCESS; rows_next(&rows)) {
		turns += rows_range(&rows) != before;
		before = rows_range(&rows);
	}
	assert_int_equal(turns, 2 * 4096 / 64);
	rows_close(&rows);
}

static void phases_in_order(void **state)
{
	struct rows rows =
		rows_open("synthetic:bytes=256k,arrays=2,phases=scan@0+random@1*2+zipf@0,accesses=100", 1);

	(void)state;
	assert_int_equal(rows.ranges, 2);
	assert_int_equal(rows.range[1].bytes, 256 << 10);
	assert_int_equal(collect(&rows, "scan"), 64);
	assert_each(0, 64, 1);
	assert_each(1, 0, 0);
	for (unsigned i = 0; i < 2; i++) {
		collect(&rows, "random");
		assert_int_equal(distinct(0), 0);
		assert_true(distinct(1) > 40);
	}
	collect(&rows, "zipf");
	assert_true(distinct(0) > 10 && distinct(1) == 0);
	assert_int_equal(rows.row.kind, SOURCE_END);
	rows_close(&rows);
}

static void stores(void **state)
{
	static const unsigned percents[] = {0, 25, 100};

	(void)state;
	for (unsigned p = 0; p < 3; p++) {
		uint64_t writes = 0;
		char spec[96];
		struct rows rows;

		snprintf(spec, sizeof(spec), "synthetic:bytes=16m,phases=scan@0,write=%u", percents[p]);
		rows = rows_open(spec, 1);
		for (rows_kernel(&rows, "scan"); rows.row.kind == SOURCE_ACCESS; rows_next(&rows))
			writes += rows.row.access == UVMP_ACCESS_WRITE;
		/* five standard deviations are 139 */
		assert_in_range(writes + (p == 1 ? 139u : 0u), 4096 * percents[p] / 100,
				4096 * percents[p] / 100 + (p == 1 ? 278u : 0u));
		rows_close(&rows);
	}
}

/* Arrays of more pages than the table has numbers: groups of pages. */
static void large(void **state)
{
	struct rows rows = rows_open("synthetic:bytes=64g,phases=zipf@0,accesses=5000", 1);
	uint64_t accesses = 0, high = 0;

	(void)state;
	for (rows_kernel(&rows, "zipf"); rows.row.kind == SOURCE_ACCESS; rows_next(&rows), accesses++)
		high += rows_offset(&rows) >= (uint64_t)32 << 30;
	assert_in_range(accesses, 4900, 5000);
	assert_in_range(high, 1000, 4000);
	rows_close(&rows);
}

static void determined(void **state)
{
	(void)state;
	rows_determined("synthetic:bytes=1m,accesses=500", true);
	rows_determined("synthetic:bytes=1m,phases=zipf@0*3,accesses=500", true);
	rows_determined("synthetic:bytes=1m,phases=scan@0+back@0", false);
	rows_determined("synthetic:bytes=1m,phases=scan@0,write=50", true);
}

static void refused(void **state)
{
	(void)state;
#define PREFIX	   "workload synthetic: phases: "
#define NO_PATTERN ": a pattern is scan, back, random or zipf, as in scan@0"
#define NO_ARRAY   ": an array is a number from 0, below arrays="
	rows_refused("synthetic:phases=zip@0", PREFIX "`zip@0`" NO_PATTERN);
	rows_refused("synthetic:phases=scan@0+", PREFIX "``" NO_PATTERN);
	rows_refused("synthetic:phases=scan@0/+scan@0", PREFIX "`scan@0/`" NO_PATTERN);
	rows_refused("synthetic:phases=scan", PREFIX "`scan`: the array is missing, as in scan@0");
	rows_refused("synthetic:phases=scan*2+scan@0", PREFIX "`scan*2`: the array is missing, as in scan@0");
	rows_refused("synthetic:phases=scan@1", PREFIX "`scan@1`" NO_ARRAY);
	rows_refused("synthetic:arrays=2,phases=scan@1+back@", PREFIX "`back@`" NO_ARRAY);
	rows_refused("synthetic:phases=scan@00000000",
		     PREFIX "`scan@00000000`: only *N may follow, or + and the "
			    "next kernel");
	rows_refused("synthetic:phases=scan@0*0", PREFIX "`scan@0*0`: repetitions are 1..1000000");
	rows_refused("synthetic:phases=scan@0*1000001",
		     PREFIX "`scan@0*1000001`: repetitions are 1..1000000");
	rows_refused("synthetic:phases=scan@0*2*2",
		     PREFIX "`scan@0*2*2`: only *N may follow, or + and the next kernel");
	rows_refused("synthetic:phases=scan@0/scan@0/scan@0",
		     PREFIX "`scan@0/scan@0/scan@0`: only *N may follow, or + and the next kernel");
	rows_refused("synthetic:used=0", "workload synthetic: used=0 is not accepted; 1..4096");
	rows_refused("synthetic:used=4097", "workload synthetic: used=4097 is not accepted; 1..4096");
	rows_refused("synthetic:skew=301", "workload synthetic: skew=301 is not accepted; 0..300");
}

/* The bytes that an access moves across a link: what a scan uses in whole sectors, and a sector of what is drawn. */
static void used_bytes(void **state)
{
	static const struct {
		const char *used;
		unsigned bytes;
	} cases[] = {{"", 32}, {",used=1", 32}, {",used=33", 64}, {",used=4096", 4096}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned kernels = 0;
		char spec[160];
		struct source_row row;
		struct source *source;

		snprintf(spec, sizeof(spec),
			 "synthetic:bytes=256k,phases=scan@0+random@0+back@0,accesses=50,pages=2%s",
			 cases[i].used);
		source = workload_open(spec, 1, rows_error);
		assert_non_null(source);
		source->wants_bytes = true;
		for (source->next(source, &row); row.kind != SOURCE_END; source->next(source, &row)) {
			kernels += row.kind == SOURCE_KERNEL;
			if (row.kind == SOURCE_ACCESS)
				assert_int_equal(row.access_bytes, kernels == 2 ? 32 : cases[i].bytes);
		}
		assert_int_equal(kernels, 3);
		source->close(source);
	}
}

/* 64 kernels are accepted, 65 are not. */
static void kernels_at_most(void **state)
{
	char spec[700] = "synthetic:bytes=4k,phases=scan@0";
	struct rows rows;

	(void)state;
	for (unsigned i = 0; i < 63; i++)
		strcat(spec, "+scan@0");
	rows = rows_open(spec, 1);
	rows_close(&rows);
	strcat(spec, "+back@0");
	rows_refused(spec, PREFIX "`back@0`: there are more than 64 kernels joined by +");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zipf_weights),	   cmocka_unit_test(zipf_shares),
		cmocka_unit_test(scans_in_order),  cmocka_unit_test(uniform),
		cmocka_unit_test(skewed),	   cmocka_unit_test(order_of_warps),
		cmocka_unit_test(mixed),	   cmocka_unit_test(interleaved),
		cmocka_unit_test(phases_in_order), cmocka_unit_test(stores),
		cmocka_unit_test(large),	   cmocka_unit_test(determined),
		cmocka_unit_test(refused),	   cmocka_unit_test(kernels_at_most),
		cmocka_unit_test(used_bytes),
	};

	return cmocka_run_group_tests_name("workload synthetic", tests, NULL, NULL);
}
