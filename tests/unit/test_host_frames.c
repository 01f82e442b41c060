/* Frames of the host kit: every eviction order with every page size that it accepts, in a memory that is far too small. The
 * mirror (support/host_mirror.h) checks that frames lie within the memory, that no two resident pages share one, that
 * mappings are balanced, and that each access reads what was written last. */
#include "support/host_mirror.h"
#include "uvmpolicy/uvmpolicy.h"

#define ACCESSES 600u

static const char *const orders[] = {"lru",	"lru2m",  "lru4k",   "sl64k",	 "tbne", "lfu2m",
				     "clock2m", "random4k", "mhpe", "auto"};
static const uint32_t sizes[] = {4096, 16384, 65536, 2097152};
static struct mirror m;

/* Small and large ranges, so that blocks are smaller than units. */
static void add_ranges(void)
{
	uint32_t page = 0, step = m.page_bytes < 65536 ? 7u : 1u;

	for (uint32_t i = 0; i < 24; i++) {
		uint32_t count = i % 4 == 0 ? (uint32_t)((3u << 20) / m.page_bytes) + 1u : step * (i % 5 + 1u);

		if (page + count > m.pages)
			break;
		mirror_add(&m, page, count);
		page += count + (i % 3) * step;
	}
}

static bool is_managed(uint32_t page)
{
	struct uvmp_host_page_state state = {.size = sizeof(state)};

	return uvmp_host_page(m.host, 0, mirror_address(&m, page), &state) == UVMP_OK;
}

static void run(void)
{
	for (uint32_t i = 0; i < ACCESSES; i++) {
		uint32_t page = (uint32_t)uvmp_random_below(&m.random, m.pages);
		uint32_t gpu = 1u + i / 8u % (m.procs - 1u);

		if (is_managed(page))
			mirror_access(&m, gpu, i, page, i % 3 == 0 ? UVMP_ACCESS_READ : UVMP_ACCESS_WRITE);
		if (i % 16 == 15)
			mirror_settle(&m);
	}
	mirror_settle(&m);
	assert_int_equal(m.waitings, 0);
	mirror_check(&m);
}

static bool can_open(void)
{
	char error[UVMP_HOST_ERROR_MAX];
	struct uvmp_host *host = uvmp_host_open(&m.options, error);

	assert_true(host != NULL || strlen(error) > 20); /* a text, not a name alone */
	uvmp_host_close(host);
	return host != NULL;
}

/* How many pairs of order and page size work; each runs. */
static uint32_t run_all(const char *more, bool counts_pages)
{
	uint32_t runs = 0;

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
			char policy[128];

			snprintf(policy, sizeof(policy), "evict=%s %s", orders[i], more);
			mirror_init(&m, policy, 2, (uint64_t)10 << 20);
			m.options.page_bytes = sizes[k];
			m.options.counts_pages = counts_pages;
			m.options.is_on_cpu = k % 2 == 0;
			if (!can_open())
				continue;
			mirror_open(&m);
			add_ranges();
			run();
			mirror_close(&m);
			runs++;
		}
	}
	return runs;
}

static void test_units(void **unused)
{
	(void)unused;
	assert_true(run_all("prefetch=density", false) >= 14); /* 10 orders with 4 KiB, 4 with 64 KiB */
}

static void test_pages(void **unused)
{
	(void)unused;
	assert_true(run_all("prefetch=tbn", true) >= 14);
}

static void test_overlapped(void **unused)
{
	(void)unused;
	assert_true(run_all("plan=overlapped thrash=off", false) >= 14);
}

/* A GPU that compresses has more frames than memory. */
static void test_ratio(void **unused)
{
	(void)unused;
	mirror_init(&m, "evict=lru2m memory_ratio=150", 1, (uint64_t)8 << 20);
	mirror_open(&m);
	assert_true(uvmp_host_capacity(m.host) == (uint64_t)12 << 20);
	add_ranges();
	run();
	mirror_close(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_overlapped),
		cmocka_unit_test(test_ratio),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
