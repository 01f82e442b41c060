/* The host kit: options and their errors, times, callbacks, requests, failures, short memory. */
#include "support/host_mirror.h"

static struct mirror m;

static struct uvmp_host_counts counts_of(void)
{
	struct uvmp_host_counts counts = {.size = sizeof(counts)};

	assert_int_equal(uvmp_host_count(m.host, &counts), UVMP_OK);
	return counts;
}

/* -- options -- */

static void assert_refused(struct uvmp_host_options options, const char *expected)
{
	char error[UVMP_HOST_ERROR_MAX];

	assert_null(uvmp_host_open(&options, error));
	if (strncmp(error, expected, strlen(expected)) != 0)
		fail_msg("\"%s\" does not begin with \"%s\"", error, expected);
	assert_null(uvmp_host_open(&options, NULL));
}

static void *no_memory(void *user, size_t bytes)
{
	(void)user;
	(void)bytes;
	return NULL;
}

static void release(void *user, void *memory)
{
	(void)user;
	free(memory);
}

static void test_options(void **unused)
{
	struct uvmp_host_options good = {.size = sizeof(good), .memory_bytes = 4 << 20}, o;
	uint64_t larger[64] = {0};
	char error[UVMP_HOST_ERROR_MAX];

	(void)unused;
	assert_null(uvmp_host_open(NULL, error));
	assert_string_equal(error, "options: missing (NULL)");
	o = good, o.size = 0;
	assert_refused(o, "size: 0 is not accepted; sizeof(struct uvmp_host_options), which is ");
	o = good, o.size = UVMP_SIZE_MAX + 1;
	assert_refused(o, "size: 4097 is not accepted");
	o = good, o.memory_bytes = 0;
	assert_refused(o, "memory_bytes: 0 is not accepted; ");
	o = good, o.memory_bytes = 4096;
	assert_refused(o, "memory_bytes: not 2 MiB to 32 TiB (after memory_ratio); page-wise eviction orders take less");
	o = good, o.page_bytes = 8192;
	assert_refused(o, "page_bytes: 8192 is not accepted; 4096, 16384, 65536 or 2097152");
	o = good, o.gpus = 64;
	assert_refused(o, "gpus: 64 is not accepted; 0..63");
	o = good, o.utlbs = 5000;
	assert_refused(o, "utlbs: 5000 is not accepted; 1..4096");
	o = good, o.sms = 70000;
	assert_refused(o, "sms: 70000 is not accepted; 0..65535");
	o = good, o.ranges = 1 << 21;
	assert_refused(o, "ranges: 2097152 is not accepted; 1..1048576");
	o = good, o.range_bytes = 3 << 20;
	assert_refused(o, "range_bytes: 3145728 is not accepted; a power of two, 2097152..");
	o = good, o.policy = "prefetch=dens";
	assert_refused(o, "policy: prefetch: \"dens\" is not accepted; none density");
	o = good, o.policy = "nvidia-59";
	assert_refused(o, "policy: nvidia-59: neither key=value nor a preset; did you mean nvidia-595?");
	o = good, o.policy = "prefetch=stride", o.gpus = 2;
	assert_refused(o, "prefetch: ");
	o = good, o.policy = "evict=lru4k", o.page_bytes = 65536;
	assert_refused(o, "evict: pages of 64 KiB need lru");
	o = good, o.policy = "batch=65536";
	assert_refused(o, "policy: batch: 65536 is not accepted; 1..65535");
	o = good, o.copy = mirror_copy, o.copy_ns = mirror_copy_ns;
	assert_refused(o, "copy and copy_ns: both are set");
	o = good, o.allocate = no_memory;
	assert_refused(o, "allocate and release: one of them is set");
	o = good, o.allocate = no_memory, o.release = release;
	assert_refused(o, "out of memory");
	/* a later version of the structure: the fields behind must be 0 */
	memcpy(larger, &good, sizeof(good));
	((struct uvmp_host_options *)larger)->size = sizeof(larger);
	uvmp_host_close(uvmp_host_open((struct uvmp_host_options *)larger, error));
	assert_string_equal(error, "");
	((uint8_t *)larger)[sizeof(good)] = 1;
	assert_null(uvmp_host_open((struct uvmp_host_options *)larger, error));
	assert_string_equal(error, "size: an option is set that this version of the library does not know");
	/* an earlier one */
	o = good, o.size = offsetof(struct uvmp_host_options, policy), o.policy = "wrong";
	uvmp_host_close(uvmp_host_open(&o, error));
	assert_string_equal(error, "");
	uvmp_host_close(NULL);
}

/* -- times and callbacks -- */

static void test_times(void **unused)
{
	struct uvmp_host_counts counts;

	(void)unused;
	mirror_init(&m, "prefetch=none", 1, 4 << 20);
	m.options.is_on_cpu = true;
	m.options.batch_ns = 100;
	m.options.fault_ns = 10;
	m.options.replay_ns = 50;
	m.copy_ns = 1000;
	mirror_open(&m);
	mirror_add(&m, 0, 512);
	assert_true(uvmp_host_next_ns(m.host) == UINT64_MAX);
	m.now_ns = 500;
	mirror_access(&m, 1, 7, 3, UVMP_ACCESS_WRITE);
	mirror_access(&m, 1, 8, 4, UVMP_ACCESS_READ);
	assert_true(uvmp_host_next_ns(m.host) == 500);
	assert_true(uvmp_host_run(m.host, 400) == 500); /* not due yet */
	assert_int_equal(counts_of().waiting, 2);
	assert_true(uvmp_host_run(m.host, 500) == 620);   /* a batch of two */
	assert_true(uvmp_host_run(m.host, 619) == 620);
	assert_true(uvmp_host_run(m.host, 620) == 2620);  /* two pages */
	assert_int_equal(m.replays, 0);
	assert_true(uvmp_host_run(m.host, 3000) == UINT64_MAX);
	assert_int_equal(m.replays, 2);
	assert_true(m.last_ns == 2670); /* the replay, though the call was later */
	counts = counts_of();
	assert_int_equal(counts.faults, 2);
	assert_int_equal(counts.batches, 1);
	assert_int_equal(counts.fetched, 2);
	assert_int_equal(counts.pages_in, 2);
	assert_int_equal(counts.bytes_in, 8192);
	assert_int_equal(counts.copies_in, 1);
	assert_int_equal(counts.replayed, 2);
	assert_int_equal(counts.waiting, 0);
	mirror_check(&m);
	/* the CPU takes a page back */
	mirror_access(&m, UVMP_CPU, 1, 3, UVMP_ACCESS_WRITE);
	mirror_settle(&m);
	assert_int_equal(counts_of().cpu_faults, 1);
	assert_int_equal(counts_of().pages_out, 1);
	mirror_check(&m);
	mirror_close(&m);
}

/* Without a clock: times are 0, and a run ends when nothing is left to do. */
static void test_untimed(void **unused)
{
	(void)unused;
	mirror_init(&m, "", 1, 4 << 20);
	m.options.is_all_managed = true;
	m.options.copy_ns = NULL;
	mirror_open(&m);
	for (uint32_t page = 0; page < 4096; page += 100) {
		assert_int_equal(uvmp_host_fault(m.host, 1, mirror_address(&m, page), UVMP_ACCESS_READ, 0), UVMP_OK);
		m.waiting[m.waitings++] = (struct mirror_warp){1, 1, mirror_address(&m, page), UVMP_ACCESS_READ, false};
		m.options.replay = NULL;
		assert_true(uvmp_host_run(m.host, UINT64_MAX) == UINT64_MAX);
		assert_true(uvmp_host_is_mapped(m.host, 1, mirror_address(&m, page), UVMP_ACCESS_READ));
	}
	assert_true(counts_of().evictions > 0);
	mirror_close(&m);
}

/* -- asynchronous copies -- */

static void open_async(void)
{
	mirror_init(&m, "prefetch=none", 1, 4 << 20);
	m.options.is_on_cpu = true;
	m.options.copy_ns = NULL;
	m.options.copy = mirror_copy;
	m.may_cancel = true;
	mirror_open(&m);
	mirror_add(&m, 0, 1024);
}

static void test_asynchronous(void **unused)
{
	struct uvmp_host_copy copy;

	(void)unused;
	open_async();
	mirror_access(&m, 1, 1, 0, UVMP_ACCESS_READ);
	mirror_access(&m, 1, 2, 9, UVMP_ACCESS_READ);
	assert_true(uvmp_host_run(m.host, 10) == UINT64_MAX); /* the ends of two copies are events */
	assert_int_equal(m.copies, 2);
	copy = m.copy[0];
	m.now_ns = 20;
	mirror_copied(&m, 0, UVMP_OK);
	assert_true(uvmp_host_next_ns(m.host) == UINT64_MAX);
	assert_int_equal(uvmp_host_copied(m.host, copy.id, UVMP_OK, 20), UVMP_ERR_STATE);
	assert_string_equal(uvmp_host_error(m.host), "uvmp_host_copied: no such copy is in progress");
	assert_int_equal(uvmp_host_copied(m.host, 99, UVMP_OK, 20), UVMP_ERR_STATE);
	assert_int_equal(uvmp_host_copied(m.host, m.copy[0].id, UVMP_ERR_ARGUMENT * -1, 20), UVMP_ERR_RANGE);
	assert_int_equal(m.replays, 0);
	m.now_ns = 30;
	mirror_copied(&m, 0, UVMP_OK);
	assert_true(uvmp_host_next_ns(m.host) == 30);
	mirror_settle(&m);
	assert_int_equal(m.replays, 2);
	mirror_check(&m);
	mirror_close(&m);
}

static void test_failed_copy(void **unused)
{
	(void)unused;
	open_async();
	mirror_access(&m, 1, 1, 0, UVMP_ACCESS_READ);
	mirror_access(&m, 1, 2, 600, UVMP_ACCESS_READ);
	(void)uvmp_host_run(m.host, 10);
	mirror_copied(&m, 0, UVMP_ERR_STATE);
	mirror_settle(&m);
	assert_int_equal(m.cancels, 2); /* the batch is cancelled */
	assert_int_equal(m.cancel_status, UVMP_ERR_STATE);
	assert_int_equal(counts_of().copy_failures, 1);
	assert_int_equal(counts_of().cancelled, 2);
	mirror_check(&m);
	mirror_access(&m, 1, 1, 0, UVMP_ACCESS_READ); /* and the page is still on the CPU */
	mirror_settle(&m);
	assert_int_equal(m.replays, 1);
	mirror_check(&m);
	mirror_close(&m);
}

/* -- errors of the program -- */

static void test_cancel(void **unused)
{
	(void)unused;
	mirror_init(&m, "", 2, 4 << 20);
	m.may_cancel = true;
	mirror_open(&m);
	mirror_add(&m, 0, 16);
	mirror_access(&m, 2, 5, 100, UVMP_ACCESS_READ); /* not managed */
	mirror_settle(&m);
	assert_int_equal(m.cancels, 1);
	assert_int_equal(m.cancel_status, UVMP_ERR_UNKNOWN);
	mirror_access(&m, UVMP_CPU, 5, 100, UVMP_ACCESS_WRITE);
	mirror_settle(&m);
	assert_int_equal(m.cancels, 2);
	assert_int_equal(m.cancel_status, UVMP_ERR_UNKNOWN);
	assert_int_equal(uvmp_host_status(m.host), UVMP_OK); /* failures of the program, not of calls */
	mirror_close(&m);
}

static void test_bad_calls(void **unused)
{
	struct uvmp_host_page_state page = {.size = sizeof(page)};
	struct uvmp_host_counts counts = {.size = 0};

	(void)unused;
	mirror_init(&m, "", 1, 4 << 20);
	m.options.ranges = 2;
	mirror_open(&m);
	assert_string_equal(uvmp_host_error(m.host), "");
	mirror_add(&m, 0, 16);
	assert_int_equal(uvmp_host_add_range(m.host, MIRROR_BASE + 5, 1), UVMP_ERR_CONFLICT);
	assert_string_equal(uvmp_host_error(m.host), "uvmp_host_add_range: a page of it is managed already");
	assert_int_equal(uvmp_host_status(m.host), UVMP_ERR_CONFLICT);
	assert_int_equal(uvmp_host_add_range(m.host, MIRROR_BASE, 0), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_host_add_range(m.host, UINT64_MAX, 2), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_host_add_range(m.host, 0, UINT64_MAX), UVMP_ERR_RANGE);
	mirror_add(&m, 100, 1);
	assert_int_equal(uvmp_host_add_range(m.host, 0, 1), UVMP_ERR_SPACE);
	assert_int_equal(uvmp_host_fault(m.host, 0, 0, UVMP_ACCESS_NONE, 0), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_host_fault_on(m.host, 2, 0, 0, UVMP_ACCESS_READ, 0), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_host_fault_on(m.host, 0, 0, 0, UVMP_ACCESS_PREFETCH, 0), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_host_access(m.host, 2, 0, UVMP_ACCESS_READ), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_host_access(m.host, 1, 0, UVMP_ACCESS_NONE), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_host_prefetch(m.host, MIRROR_BASE, 1, 2, 0), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_host_prefetch(m.host, MIRROR_BASE, 0, 1, 0), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_host_free_part(m.host, MIRROR_BASE, 0, 0), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_host_advise(m.host, MIRROR_BASE, 1, (enum uvmp_advice)99, 1, 0), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_host_advise(m.host, MIRROR_BASE, 1, UVMP_ADVISE_ACCESSED_BY, UVMP_PROC_NONE, 0),
			 UVMP_ERR_RANGE);
	assert_int_equal(uvmp_host_advise(m.host, MIRROR_BASE, 1, UVMP_ADVISE_PREFERRED, 2, 0), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_host_page(m.host, 2, MIRROR_BASE, &page), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_host_page(m.host, 1, 0, &page), UVMP_ERR_UNKNOWN);
	page.size = 3;
	assert_int_equal(uvmp_host_page(m.host, 1, MIRROR_BASE, &page), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_host_count(m.host, &counts), UVMP_ERR_ARGUMENT);
	assert_false(uvmp_host_is_mapped(m.host, 2, MIRROR_BASE, UVMP_ACCESS_READ));
	assert_int_equal(uvmp_host_last_request(m.host), 0);
	mirror_close(&m);
	assert_int_equal(uvmp_host_fault(NULL, 0, 0, UVMP_ACCESS_READ, 0), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_host_add_range(NULL, 0, 1), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_host_add_range_on(NULL, 0, 1, UVMP_CPU), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_host_copied(NULL, 1, UVMP_OK, 0), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_host_status(NULL), UVMP_ERR_ARGUMENT);
	assert_true(uvmp_host_run(NULL, 0) == UINT64_MAX && uvmp_host_next_ns(NULL) == UINT64_MAX);
	assert_true(uvmp_host_capacity(NULL) == 0 && uvmp_host_service(NULL) == NULL);
	assert_false(uvmp_host_wants_accesses(NULL));
}

/* -- requests -- */

static void test_free_and_add(void **unused)
{
	(void)unused;
	mirror_init(&m, "prefetch=none", 1, 4 << 20);
	m.copy_ns = 100;
	mirror_open(&m);
	mirror_add(&m, 0, 512);
	mirror_access(&m, 1, 1, 3, UVMP_ACCESS_WRITE);
	(void)uvmp_host_run(m.host, 0); /* the page is on its way */
	assert_int_equal(uvmp_host_free(m.host, MIRROR_BASE, 0), UVMP_OK);
	assert_int_equal(uvmp_host_last_request(m.host), 1);
	/* the same memory, allocated again before the free is done */
	assert_int_equal(uvmp_host_add_range(m.host, MIRROR_BASE, 4096), UVMP_OK);
	assert_int_equal(uvmp_host_last_request(m.host), 2);
	m.expected[3] = MIRROR_UNKNOWN;
	m.may_cancel = true; /* page 3 is not managed afterwards */
	mirror_settle(&m);
	assert_int_equal(m.dones, 2);
	assert_int_equal(m.done.status, UVMP_OK);
	mirror_access(&m, 1, 2, 0, UVMP_ACCESS_WRITE);
	mirror_settle(&m);
	assert_true(uvmp_host_is_mapped(m.host, 1, MIRROR_BASE, UVMP_ACCESS_WRITE));
	mirror_check(&m);
	assert_int_equal(uvmp_host_free(m.host, MIRROR_BASE + 4096, 0), UVMP_OK);
	mirror_settle(&m);
	assert_int_equal(m.done.status, UVMP_ERR_UNKNOWN); /* no range begins there */
	assert_int_equal(m.done.request, 3);
	mirror_close(&m);
}

/* The rest of a range with a hole is freed as a whole, and can be added again. */
static void test_free_with_hole(void **unused)
{
	(void)unused;
	mirror_init(&m, "prefetch=none", 1, 4 << 20);
	m.options.is_on_cpu = true;
	mirror_open(&m);
	mirror_add(&m, 0, 60);
	assert_int_equal(uvmp_host_free_part(m.host, mirror_address(&m, 20), 20 * 4096, m.now_ns), UVMP_OK);
	assert_int_equal(uvmp_host_free(m.host, MIRROR_BASE, m.now_ns), UVMP_OK);
	mirror_settle(&m);
	assert_int_equal(m.done.status, UVMP_OK);
	mirror_freed(&m, 0, 60);
	for (uint32_t page = 0; page < 60; page += 10)
		assert_false(uvmp_host_is_mapped(m.host, UVMP_CPU, mirror_address(&m, page), UVMP_ACCESS_READ));
	mirror_add(&m, 0, 60);
	mirror_check(&m);
	mirror_close(&m);
}

/* Ranges of either home in one window of 2 MiB, with both values of the option: pages of one come from the CPU, pages of
 * the other begin as zeros. */
static void test_homes(void **unused)
{
	(void)unused;
	for (uint32_t n = 0; n < 2; n++) {
		mirror_init(&m, "prefetch=none", 1, 4 << 20);
		m.options.is_on_cpu = n != 0;
		mirror_open(&m);
		mirror_add_on(&m, 0, 100, UVMP_CPU);
		mirror_add_on(&m, 100, 100, UVMP_PROC_NONE);
		mirror_check(&m);
		assert_true(uvmp_host_is_mapped(m.host, UVMP_CPU, mirror_address(&m, 99), UVMP_ACCESS_WRITE));
		assert_false(uvmp_host_is_mapped(m.host, UVMP_CPU, mirror_address(&m, 100), UVMP_ACCESS_READ));
		for (uint32_t page = 0; page < 200; page += 25)
			mirror_access(&m, 1, page, page, UVMP_ACCESS_READ);
		mirror_settle(&m);
		assert_int_equal(counts_of().pages_in, 4);
		assert_int_equal(counts_of().pages_zeroed, 4);
		mirror_access(&m, UVMP_CPU, 1, 130, UVMP_ACCESS_WRITE); /* the CPU has a side of the window now */
		mirror_settle(&m);
		mirror_add_on(&m, 200, 50, UVMP_CPU);
		mirror_add_on(&m, 250, 50, UVMP_PROC_NONE);
		mirror_add(&m, 300, 50);
		mirror_check(&m);
		for (uint32_t page = 0; page < 350; page += 10) {
			mirror_access(&m, UVMP_CPU, page, page, UVMP_ACCESS_WRITE);
			mirror_access(&m, 1, page, page + 5, UVMP_ACCESS_WRITE);
		}
		mirror_settle(&m);
		mirror_check(&m);
		/* what is left of a range keeps its home */
		assert_int_equal(uvmp_host_free_part(m.host, mirror_address(&m, 20), 20 * 4096, m.now_ns), UVMP_OK);
		mirror_settle(&m);
		mirror_freed(&m, 20, 20);
		assert_true(uvmp_host_is_mapped(m.host, UVMP_CPU, mirror_address(&m, 41), UVMP_ACCESS_WRITE));
		assert_false(uvmp_host_is_mapped(m.host, UVMP_CPU, mirror_address(&m, 21), UVMP_ACCESS_READ));
		mirror_check(&m);
		assert_int_equal(uvmp_host_add_range_on(m.host, mirror_address(&m, 512), 4096, 1), UVMP_ERR_RANGE);
		assert_string_equal(uvmp_host_error(m.host), "uvmp_host_add_range_on: data begins on the CPU or nowhere");
		mirror_close(&m);
	}
}

/* -- failures of queries -- */

static void assert_failed(enum uvmp_status status, enum uvmp_status expected, const char *text)
{
	assert_int_equal(status, expected);
	assert_int_equal(uvmp_host_status(m.host), expected);
	assert_string_equal(uvmp_host_error(m.host), text);
}

/* A query that fails sets status and text, as other calls do: none is left of the failure before. */
static void test_failures_of_queries(void **unused)
{
	struct uvmp_host_page_state page = {.size = sizeof(page)};
	struct uvmp_host_counts counts = {.size = 0};

	(void)unused;
	mirror_init(&m, "", 1, 4 << 20);
	mirror_open(&m);
	mirror_add(&m, 0, 16);
	assert_failed(uvmp_host_prefetch(m.host, MIRROR_BASE, 4096, 9, 0), UVMP_ERR_RANGE,
		      "uvmp_host_prefetch: no such processor");
	assert_failed(uvmp_host_page(m.host, 1, UINT64_C(1) << 40, &page), UVMP_ERR_UNKNOWN,
		      "uvmp_host_page: the page is not managed");
	assert_failed(uvmp_host_page(m.host, 9, MIRROR_BASE, &page), UVMP_ERR_RANGE, "uvmp_host_page: no such processor");
	assert_failed(uvmp_host_page(m.host, 1, MIRROR_BASE, NULL), UVMP_ERR_ARGUMENT, "uvmp_host_page: page: missing (NULL)");
	page.size = 0;
	assert_failed(uvmp_host_page(m.host, 1, MIRROR_BASE, &page), UVMP_ERR_ARGUMENT,
		      "uvmp_host_page: page->size: set it to sizeof(*page)");
	assert_failed(uvmp_host_count(m.host, &counts), UVMP_ERR_ARGUMENT,
		      "uvmp_host_count: counts->size: set it to sizeof(*counts)");
	assert_failed(uvmp_host_count(m.host, NULL), UVMP_ERR_ARGUMENT, "uvmp_host_count: counts: missing (NULL)");
	mirror_close(&m);
}

/* Ranges of touched memory: an access that needs one more is cancelled, and the text names the options. By default there are
 * enough for 512 GiB, more than the memory of any GPU. */
static void test_ranges_of_touched_memory(void **unused)
{
	struct uvmp_host_options options = {.size = sizeof(options), .memory_bytes = 4 << 20, .is_all_managed = true, .ranges = 2};
	struct uvmp_host_counts counts = {.size = sizeof(counts)};
	struct uvmp_host *host = uvmp_host_open(&options, NULL);

	(void)unused;
	assert_non_null(host);
	for (uint64_t block = 0; block < 3; block++) {
		assert_string_equal(uvmp_host_error(host), "");
		assert_int_equal(uvmp_host_fault(host, 1, block << 21, UVMP_ACCESS_READ, block), UVMP_OK);
		(void)uvmp_host_run(host, block);
	}
	assert_int_equal(uvmp_host_status(host), UVMP_ERR_SPACE);
	assert_non_null(strstr(uvmp_host_error(host), "set ranges up to 1048576, or a larger range_bytes"));
	assert_int_equal(uvmp_host_count(host, &counts), UVMP_OK);
	assert_int_equal(counts.cancelled, 1);
	uvmp_host_close(host);
}

/* The default has room for 128 GiB and more; on 32-bit machines for 65,536 ranges only. */
static void test_default_ranges(void **unused)
{
	struct uvmp_host_options options = {.size = sizeof(options), .memory_bytes = 4 << 20, .is_all_managed = true};
	struct uvmp_host *host;

	(void)unused;
	if (sizeof(void *) < 8)
		skip();
	host = uvmp_host_open(&options, NULL);
	assert_non_null(host);
	for (uint64_t block = 0; block < 66000; block++) {
		assert_int_equal(uvmp_host_fault(host, 1, block << 21, UVMP_ACCESS_READ, block), UVMP_OK);
		(void)uvmp_host_run(host, block);
	}
	assert_string_equal(uvmp_host_error(host), "");
	uvmp_host_close(host);
}

/* A range that waits for a free keeps its home. */
static void test_home_behind_free(void **unused)
{
	(void)unused;
	for (uint32_t n = 0; n < 2; n++) {
		uint32_t home = n == 0 ? UVMP_CPU : UVMP_PROC_NONE;

		mirror_init(&m, "prefetch=none", 1, 4 << 20);
		m.options.is_on_cpu = n != 0;
		mirror_open(&m);
		mirror_add(&m, 0, 16);
		mirror_access(&m, 1, 1, 3, UVMP_ACCESS_WRITE);
		mirror_settle(&m);
		assert_int_equal(uvmp_host_free(m.host, MIRROR_BASE, m.now_ns), UVMP_OK);
		assert_int_equal(uvmp_host_add_range_on(m.host, MIRROR_BASE, 16 * 4096, home), UVMP_OK);
		mirror_settle(&m);
		assert_int_equal(m.dones, 2);
		assert_int_equal(m.done.status, UVMP_OK);
		assert_int_equal(uvmp_host_is_mapped(m.host, UVMP_CPU, MIRROR_BASE, UVMP_ACCESS_READ), n == 0);
		mirror_close(&m);
	}
}

static void test_prefetch_and_advice(void **unused)
{
	struct uvmp_host_page_state page = {.size = sizeof(page)};

	(void)unused;
	mirror_init(&m, "", 2, 8 << 20);
	m.options.is_on_cpu = true;
	mirror_open(&m);
	mirror_add(&m, 0, 1024);
	assert_int_equal(uvmp_host_prefetch(m.host, MIRROR_BASE + 1, 4096, 2, 0), UVMP_OK); /* touches two pages */
	mirror_settle(&m);
	assert_int_equal(counts_of().pages_in, 2);
	assert_int_equal(uvmp_host_page(m.host, 2, MIRROR_BASE + 4096, &page), UVMP_OK);
	assert_int_equal(page.resident, 1 << 2);
	assert_int_equal(uvmp_host_advise(m.host, MIRROR_BASE, 1024 * 4096, UVMP_ADVISE_ACCESSED_BY, 1, 0), UVMP_OK);
	mirror_settle(&m);
	assert_true(uvmp_host_is_mapped(m.host, 1, MIRROR_BASE, UVMP_ACCESS_READ));
	assert_int_equal(m.table[1][0].holder, 2);
	mirror_check(&m);
	mirror_close(&m);
}

/* -- callbacks that call -- */

static uint32_t left;

static void fault_again(struct mirror *mirror, const struct uvmp_host_waiter *waiter)
{
	assert_true(uvmp_host_run(mirror->host, waiter->now_ns) == UINT64_MAX);
	assert_int_equal(uvmp_host_status(mirror->host), UVMP_ERR_STATE);
	assert_string_equal(uvmp_host_error(mirror->host), "uvmp_host_run: called from a callback");
	uvmp_host_close(mirror->host);
	assert_string_equal(uvmp_host_error(mirror->host), "uvmp_host_close: called from a callback");
	if (left-- != 0)
		mirror_access(mirror, 1, left, 1000 + 600 * left, UVMP_ACCESS_WRITE);
}

static void test_reentrancy(void **unused)
{
	(void)unused;
	mirror_init(&m, "", 1, 4 << 20);
	m.on_replay = fault_again;
	mirror_open(&m);
	mirror_add(&m, 0, m.pages);
	left = 20;
	mirror_access(&m, 1, 99, 0, UVMP_ACCESS_WRITE);
	assert_true(uvmp_host_run(m.host, UINT64_MAX) == UINT64_MAX);
	assert_int_equal(m.replays, 21); /* in one call */
	mirror_check(&m);
	mirror_close(&m);
}

/* -- short memory -- */

static uint32_t allowed; /* allocations until memory is short */
static uint64_t held;

static void *some_memory(void *user, size_t bytes)
{
	(void)user;
	if (allowed == 0)
		return NULL;
	allowed--;
	held++;
	return malloc(bytes);
}

static void give_back(void *user, void *memory)
{
	(void)user;
	held--;
	free(memory);
}

static void test_short_open(void **unused)
{
	char error[UVMP_HOST_ERROR_MAX];
	struct uvmp_host *host = NULL;
	uint32_t n = 0;

	(void)unused;
	mirror_init(&m, "evict=lru2m", 2, 4 << 20);
	m.options.allocate = some_memory;
	m.options.release = give_back;
	for (; host == NULL; n++) {
		allowed = n;
		host = uvmp_host_open(&m.options, error);
		if (host == NULL)
			assert_memory_equal(error, "out of memory", 13);
		assert_true((held == 0) == (host == NULL));
	}
	assert_true(n > 5);
	uvmp_host_close(host);
	assert_int_equal(held, 0);
}

/* Memory is short at the n-th allocation. The program repeats its call, and loses nothing. */
static void test_short_run(void **unused)
{
	(void)unused;
	for (uint32_t n = 0; n < 40; n++) {
		uint32_t shorts = 0;

		mirror_init(&m, n % 2 == 0 ? "" : "evict=lru2m", 1, 4 << 20);
		m.options.allocate = some_memory;
		m.options.release = give_back;
		m.options.is_all_managed = true;
		allowed = UINT32_MAX;
		mirror_open(&m);
		allowed = n;
		for (uint32_t page = 0; page < m.pages; page += 300) {
			uvmp_addr address = mirror_address(&m, page);

			while (uvmp_host_fault(m.host, page, address, UVMP_ACCESS_WRITE, m.now_ns) != UVMP_OK) {
				assert_int_equal(uvmp_host_status(m.host), UVMP_ERR_NO_MEMORY);
				shorts++;
				allowed = UINT32_MAX;
			}
			m.waiting[m.waitings++] =
				(struct mirror_warp){1, page, address, UVMP_ACCESS_WRITE, false};
			(void)uvmp_host_run(m.host, m.now_ns);
			if (m.waitings != 0) {
				assert_int_equal(uvmp_host_status(m.host), UVMP_ERR_NO_MEMORY);
				assert_true(uvmp_host_next_ns(m.host) >= m.now_ns + 1000000u);
				shorts++;
				allowed = UINT32_MAX;
				(void)uvmp_host_run(m.host, m.now_ns);
			}
			assert_int_equal(m.waitings, 0);
		}
		assert_true(shorts != 0 || n > 5);
		mirror_check(&m);
		mirror_close(&m);
		assert_int_equal(held, 0);
	}
}

/* -- policies of the user's own -- */

static uint64_t own_key(void *user, const struct uvmp_evict_call *call)
{
	++*(uint32_t *)user;
	return UINT64_MAX - call->clock;
}

static void test_plugins(void **unused)
{
	uint32_t touches = 0;
	struct uvmp_evict_plugin newest = {.size = sizeof(newest), .name = "newest", .touch = own_key, .user = &touches};
	const struct uvmp_evict_plugin *orders[] = {&newest};
	struct uvmp_plugins plugins = {
		.size = sizeof(plugins), .version = UVMP_PLUGIN_VERSION, .orders = 1, .order = orders};
	struct uvmp_host_options options = {.size = sizeof(options),
					    .memory_bytes = 4 << 20,
					    .is_all_managed = true,
					    .policy = "prefetch=none evict=newest"};
	struct uvmp_host_page_state page = {.size = sizeof(page)};
	struct uvmp_host *host;

	(void)unused;
	newest.traits.unit_pages = 512;
	assert_refused(options, "policy: evict: ");
	options.plugins = &plugins;
	host = uvmp_host_open(&options, NULL);
	assert_non_null(host);
	for (uint64_t block = 0; block < 3; block++) { /* the memory has two */
		assert_int_equal(uvmp_host_fault(host, 1, block << 21, UVMP_ACCESS_READ, block), UVMP_OK);
		(void)uvmp_host_run(host, block);
	}
	assert_true(touches >= 3);
	for (uint64_t block = 0; block < 3; block++) { /* the newest but the arriving one has left */
		assert_int_equal(uvmp_host_page(host, 1, block << 21, &page), UVMP_OK);
		assert_int_equal(page.resident, block == 1 ? 1 : 2);
	}
	uvmp_host_close(host);
	newest.touch = NULL;
	assert_refused(options, "policy: ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),	      cmocka_unit_test(test_times),
		cmocka_unit_test(test_untimed),	      cmocka_unit_test(test_asynchronous),
		cmocka_unit_test(test_failed_copy),   cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_bad_calls),     cmocka_unit_test(test_free_and_add),
		cmocka_unit_test(test_free_with_hole), cmocka_unit_test(test_homes),
		cmocka_unit_test(test_failures_of_queries), cmocka_unit_test(test_ranges_of_touched_memory),
		cmocka_unit_test(test_default_ranges),
		cmocka_unit_test(test_home_behind_free),
		cmocka_unit_test(test_prefetch_and_advice), cmocka_unit_test(test_reentrancy),
		cmocka_unit_test(test_short_open),    cmocka_unit_test(test_short_run),
		cmocka_unit_test(test_plugins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
