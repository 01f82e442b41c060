/* Unit tests of vector search with inverted lists. With vectors of a page each, the lists are what `append`
 * writes: runs of pages, with the free quarter of each list between them. */
#include "support/workload_rows.h"

#define PAGES_MAX 20000u
#define LISTS_MAX 200u
enum { CENTROIDS, CODES, IDS, QUERY, RESULTS };

/* Pages of `codes`: how often each was used by the last kernel, and to which list each belongs. */
static uint32_t used[PAGES_MAX];
static unsigned list_of[PAGES_MAX]; /* its number and 1; 0: none */
static struct {
	unsigned first, pages;
} list[LISTS_MAX + 1];
static unsigned lists;
static uint64_t accesses[5];

static void collect(struct rows *rows, const char *kernel)
{
	bool is_append = strcmp(kernel, "append") == 0;

	memset(used, 0, sizeof(used));
	memset(accesses, 0, sizeof(accesses));
	for (rows_kernel(rows, kernel); rows->row.kind == SOURCE_ACCESS; rows_next(rows)) {
		unsigned range = rows_range(rows);

		accesses[range]++;
		assert_int_equal(rows->row.access == UVMP_ACCESS_WRITE,
				 range == RESULTS || (is_append && range != CENTROIDS));
		if (range == CODES) {
			assert_in_range(rows_offset(rows) / ROWS_PAGE, 0, PAGES_MAX - 1);
			used[rows_offset(rows) / ROWS_PAGE]++;
		}
	}
	rows_sync(rows);
}

/* Reads all kernels that add vectors: each is written once, the lists grow from their starts. */
static uint64_t add(struct rows *rows)
{
	static bool is_written[PAGES_MAX];
	uint64_t vectors = 0;

	memset(is_written, 0, sizeof(is_written));
	memset(list_of, 0, sizeof(list_of));
	while (strcmp(rows->row.name, "assign") == 0) {
		uint64_t passes;

		collect(rows, "assign");
		passes = accesses[CENTROIDS] / rows_pages(rows, CENTROIDS);
		collect(rows, "append");
		for (unsigned page = 0; page < PAGES_MAX; page++)
			if (used[page] != 0) {
				assert_int_equal(used[page], 1);
				assert_false(is_written[page]);
				is_written[page] = true;
			}
		assert_int_equal(passes, (accesses[CODES] + 31) / 32);
		vectors += accesses[CODES];
	}
	lists = 0;
	for (unsigned page = 0; page < PAGES_MAX; page++) {
		if (!is_written[page])
			continue;
		if (page == 0 || !is_written[page - 1])
			list[++lists].first = page;
		list[lists].pages = page + 1 - list[lists].first;
		list_of[page] = lists;
	}
	return vectors;
}

/* Times that the last kernel read each list; all of a list or nothing. */
static unsigned read_lists(unsigned times[LISTS_MAX + 1])
{
	unsigned all = 0;

	for (unsigned page = 0; page < PAGES_MAX; page++)
		assert_true(used[page] == 0 || list_of[page] != 0);
	for (unsigned i = 1; i <= lists; i++) {
		times[i] = used[list[i].first];
		all += times[i];
		for (unsigned page = 0; page < list[i].pages; page++)
			assert_int_equal(used[list[i].first + page], times[i]);
	}
	return all;
}

#define SPEC "ivf:lists=100,list=400k,vector=4k,add=1"

static void added(void **state)
{
	struct rows rows = rows_open(SPEC ",queries=1", 3);
	uint64_t vectors = add(&rows), sum = 0;

	(void)state;
	assert_int_equal(rows.ranges, 5);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(rows.range[i].is_fresh, i == CODES || i == IDS || i == RESULTS);
	assert_int_equal(lists, 100);
	for (unsigned i = 1; i <= lists; i++) {
		assert_in_range(list[i].pages, 50, 150);
		sum += list[i].pages;
	}
	assert_int_equal(sum, vectors);
	/* a mean of 100, a standard deviation of 29 / 10 */
	assert_in_range(sum, 8500, 11500);
	assert_in_range(rows_pages(&rows, CODES), sum * 5 / 4, sum * 5 / 4 + 100);
	assert_int_equal(rows.range[IDS].bytes % 8, 0);
	rows_close(&rows);
}

/* Within a list vectors come one behind the other, in all lists at a time. */
static void appended_in_order(void **state)
{
	static unsigned count[LISTS_MAX + 1];
	struct rows rows = rows_open(SPEC ",queries=1,agents=1", 3);
	unsigned turns = 0, before = 0;

	(void)state;
	add(&rows);
	rows_close(&rows);
	rows = rows_open(SPEC ",queries=1,agents=1", 3);
	collect(&rows, "assign");
	for (rows_kernel(&rows, "append"); rows.row.kind == SOURCE_ACCESS; rows_next(&rows)) {
		unsigned page = (unsigned)(rows_offset(&rows) / ROWS_PAGE);

		if (rows_range(&rows) != CODES)
			continue;
		assert_int_equal(page, list[list_of[page]].first + count[list_of[page]]++);
		turns += list_of[page] != before;
		before = list_of[page];
	}
	assert_true(turns > 9 * 850);
	rows_close(&rows);
}

/* More vectors than are added at a time. */
static void added_in_batches(void **state)
{
	struct rows rows = rows_open("ivf:lists=10,list=4m,vector=512,spread=0,add=1,queries=1", 3);
	uint64_t ids = 0, kernels = 0;

	(void)state;
	while (strcmp(rows.row.name, "assign") == 0) {
		collect(&rows, "assign");
		collect(&rows, "append");
		ids += accesses[IDS];
		kernels++;
	}
	assert_int_equal(kernels, 3); /* 81,920 vectors */
	assert_true(ids > 0);
	rows_close(&rows);
}

static void searched(void **state)
{
	struct rows rows = rows_open(SPEC ",queries=70,batch=32,probes=5,skew=0", 3);
	unsigned times[LISTS_MAX + 1], seen = 0;

	(void)state;
	add(&rows);
	for (unsigned batch = 0; batch < 3; batch++) {
		unsigned queries = batch < 2 ? 32 : 6;

		collect(&rows, "coarse");
		assert_int_equal(accesses[CENTROIDS], rows_pages(&rows, CENTROIDS));
		assert_in_range(accesses[QUERY], queries, queries + 3);
		collect(&rows, "scan");
		assert_int_equal(read_lists(times), queries * 5);
		for (unsigned i = 1; i <= lists; i++)
			seen += batch == 0 && times[i] != 0;
		collect(&rows, "select");
		assert_in_range(accesses[IDS], 1, queries * 10);
		assert_in_range(accesses[RESULTS], queries, queries + 1);
	}
	/* of 32 neighbourhoods of 5 lists each: 100 * (1 - 0.95^32) = 81 lists */
	assert_in_range(seen, 65, 95);
	assert_int_equal(rows.row.kind, SOURCE_END);
	rows_close(&rows);
}

/* The lists of one query are different ones, all of them if it reads as many as there are. */
static void distinct_probes(void **state)
{
	struct rows rows = rows_open("ivf:lists=20,list=40k,vector=4k,add=1,queries=30,batch=1,probes=7", 3);
	unsigned times[LISTS_MAX + 1];

	(void)state;
	add(&rows);
	for (unsigned query = 0; query < 30; query++) {
		collect(&rows, "coarse");
		collect(&rows, "scan");
		assert_int_equal(read_lists(times), 7);
		for (unsigned i = 1; i <= lists; i++)
			assert_true(times[i] <= 1);
		collect(&rows, "select");
	}
	rows_close(&rows);
	rows = rows_open("ivf:lists=20,list=40k,vector=4k,add=1,queries=1,probes=20", 3);
	add(&rows);
	collect(&rows, "coarse");
	collect(&rows, "scan");
	assert_int_equal(read_lists(times), 20);
	rows_close(&rows);
}

/* Zipf's law with the exponent 2: the most frequent list has 61 % of the queries. */
static void skewed(void **state)
{
	struct rows rows = rows_open(SPEC ",queries=1000,batch=1000,probes=1,skew=200", 3);
	unsigned times[LISTS_MAX + 1], most = 0;

	(void)state;
	add(&rows);
	collect(&rows, "coarse");
	collect(&rows, "scan");
	assert_int_equal(read_lists(times), 1000);
	for (unsigned i = 1; i <= lists; i++)
		most = times[i] > most ? times[i] : most;
	assert_in_range(most, 611 - 78, 611 + 78); /* five standard deviations */
	rows_close(&rows);
}

static void determined(void **state)
{
	(void)state;
	rows_determined("ivf:lists=20,list=100k,queries=10", true);
	rows_determined("ivf:lists=20,list=100k,vector=300,queries=10,add=1", true);
	rows_determined("ivf:lists=1,list=4,vector=4,queries=1,probes=1,add=1,spread=90", false);
}

static void refused(void **state)
{
	(void)state;
	rows_refused("ivf:lists=3", "workload ivf: probes is larger than lists");
	rows_refused("ivf:list=500", "workload ivf: vector is larger than list");
	rows_refused("ivf:lists=1000000,list=16g", "workload ivf: all lists together are larger than 1 TiB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(added),
		cmocka_unit_test(appended_in_order),
		cmocka_unit_test(added_in_batches),
		cmocka_unit_test(searched),
		cmocka_unit_test(distinct_probes),
		cmocka_unit_test(skewed),
		cmocka_unit_test(determined),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests_name("workload ivf", tests, NULL, NULL);
}
