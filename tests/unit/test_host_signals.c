/* The host kit: limits of SMs and thread blocks, and what reported hits cause: access counters, recency. */
#include "support/host_mirror.h"

static struct mirror m;

static struct uvmp_host_counts counts_of(struct uvmp_host *host)
{
	struct uvmp_host_counts counts = {.size = sizeof(counts)};

	assert_int_equal(uvmp_host_count(host, &counts), UVMP_OK);
	return counts;
}

/* -- limits -- */

#define SMS 8u

struct limit {
	uint32_t stopped_sms, extra_blocks;
	uint64_t now_ns;
	uint64_t replays; /* before it */
};

static struct limit limit[64];
static uint32_t limits, limited_gpu;

/* Each call has news; its time is that of the other callbacks. */
static void take_limit(void *user, uint32_t gpu, uint32_t stopped_sms, uint32_t extra_blocks, uint64_t now_ns)
{
	struct mirror *mirror = user;

	mirror_time(mirror, now_ns);
	limited_gpu = gpu;
	assert_true(limits < sizeof(limit) / sizeof(limit[0]));
	if (limits != 0)
		assert_true(limit[limits - 1u].stopped_sms != stopped_sms ||
			    limit[limits - 1u].extra_blocks != extra_blocks);
	limit[limits++] = (struct limit){stopped_sms, extra_blocks, now_ns, mirror->replays};
}

static void open_limited(const char *policy, uint32_t gpus, uint32_t sms)
{
	limits = 0;
	mirror_init(&m, policy, gpus, 4 << 20);
	m.options.is_on_cpu = true;
	m.options.sms = sms;
	m.options.limit = take_limit;
	m.copy_ns = 100;
	mirror_open(&m);
	mirror_add(&m, 0, m.pages);
}

/* One page of each of the 2 MiB [first, end). */
static void read_roots(uint32_t gpu, uint32_t first, uint32_t end)
{
	for (uint32_t root = first; root < end; root++) {
		mirror_access(&m, gpu, root, root * 512u, UVMP_ACCESS_READ);
		(void)uvmp_host_run(m.host, m.now_ns);
		while (m.waitings != 0) {
			m.now_ns = uvmp_host_next_ns(m.host);
			(void)uvmp_host_run(m.host, m.now_ns);
		}
	}
}

/* Half of the SMs stop with the first eviction; once the program is calm they run again, in calls that uvmp_host_run
 * asks for. */
static void test_stopped_sms(void **unused)
{
	(void)unused;
	open_limited("sm_throttle=on prefetch=none", 2, SMS);
	read_roots(2, 0, 2);
	mirror_settle(&m);
	assert_int_equal(limits, 0); /* memory is full, nothing was evicted */
	read_roots(2, 2, 4);
	assert_int_equal(limits, 1);
	assert_int_equal(limited_gpu, 2);
	assert_int_equal(limit[0].stopped_sms, SMS / 2u);
	assert_int_equal(limit[0].extra_blocks, 0);
	assert_true(uvmp_host_next_ns(m.host) != UINT64_MAX); /* the controller is due */
	mirror_settle(&m);
	assert_true(limits > 1);
	for (uint32_t i = 1; i < limits; i++) {
		assert_true(limit[i].stopped_sms < limit[i - 1u].stopped_sms);
		assert_true(limit[i].now_ns > limit[i - 1u].now_ns);
	}
	assert_int_equal(limit[limits - 1u].stopped_sms, 0);
	assert_true(uvmp_host_next_ns(m.host) == UINT64_MAX); /* all run */
	mirror_check(&m);
	mirror_close(&m);
}

/* The limit of the beginning precedes the first batch. */
static void test_extra_blocks(void **unused)
{
	(void)unused;
	open_limited("threads=on prefetch=none evict=lru2m", 1, SMS);
	read_roots(1, 0, 1);
	assert_true(limits != 0);
	assert_int_equal(limit[0].stopped_sms, 0);
	assert_int_equal(limit[0].extra_blocks, 1);
	assert_int_equal(limit[0].replays, 0);
	mirror_settle(&m);
	mirror_close(&m);
}

static void assert_no_limits(const char *policy, uint32_t sms)
{
	open_limited(policy, 1, sms);
	read_roots(1, 0, 8);
	mirror_settle(&m);
	assert_true(counts_of(m.host).evictions > 0);
	assert_int_equal(limits, 0);
	mirror_close(&m);
}

static void test_no_limits(void **unused)
{
	(void)unused;
	assert_no_limits("sm_throttle=on threads=on evict=lru2m", 0); /* both are off */
	assert_no_limits("evict=lru2m", SMS);
	/* without the callback */
	mirror_init(&m, "sm_throttle=on threads=on evict=lru2m", 1, 4 << 20);
	m.options.sms = SMS;
	mirror_open(&m);
	mirror_add(&m, 0, m.pages);
	read_roots(1, 0, 8);
	mirror_settle(&m);
	assert_true(counts_of(m.host).evictions > 0);
	mirror_close(&m);
}

/* -- access counters -- */

#define THRESHOLD 4u
#define COUNTING  "prefetch=none counters=on counter_threshold=4 evict=lru2m"

/* 4 MiB on the CPU, mapped on both GPUs. */
static void open_counting(const char *policy)
{
	mirror_init(&m, policy, 2, 4 << 20);
	m.options.is_on_cpu = true;
	mirror_open(&m);
	mirror_add(&m, 0, 1024);
	for (uint32_t gpu = 1; gpu <= 2; gpu++)
		assert_int_equal(uvmp_host_advise(m.host, MIRROR_BASE, 4 << 20, UVMP_ADVISE_ACCESSED_BY, gpu, 0),
				 UVMP_OK);
	mirror_settle(&m);
	assert_true(uvmp_host_is_mapped(m.host, 1, mirror_address(&m, 1023), UVMP_ACCESS_WRITE));
}

static void use(uint32_t processor, uint32_t page, uint32_t times)
{
	while (times-- != 0)
		mirror_access(&m, processor, 0, page, UVMP_ACCESS_READ);
}

static uint64_t holders(uint32_t page)
{
	struct uvmp_host_page_state state = {.size = sizeof(state)};

	assert_int_equal(uvmp_host_page(m.host, 0, mirror_address(&m, page), &state), UVMP_OK);
	return state.resident;
}

/* A counter notifies at its threshold; the notification is an event that is due at once, and brings the page. */
static void test_counter_notifies(void **unused)
{
	(void)unused;
	open_counting(COUNTING);
	assert_true(uvmp_host_wants_accesses(m.host));
	m.now_ns = 700;
	(void)uvmp_host_run(m.host, m.now_ns);
	use(1, 5, THRESHOLD - 1u);
	use(2, 5, THRESHOLD - 1u);   /* another GPU counts for itself, */
	use(1, 600, THRESHOLD - 1u); /* and each 2 MiB */
	use(UVMP_CPU, 5, 100);	     /* the CPU is not counted */
	assert_true(uvmp_host_next_ns(m.host) == UINT64_MAX);
	use(1, 5, 1);
	assert_true(uvmp_host_next_ns(m.host) == 700);
	assert_int_equal(holders(5), 1u << UVMP_CPU);
	mirror_settle(&m);
	assert_int_equal(holders(5), 1u << 1);
	assert_int_equal(holders(600), 1u << UVMP_CPU);
	assert_int_equal(counts_of(m.host).faults, 0);
	assert_true(counts_of(m.host).pages_in > 0);
	mirror_check(&m);
	mirror_close(&m);
}

/* The counter counts from 0 once the engine has cleared it. Pages that the GPU holds are not counted. */
static void test_counter_is_cleared(void **unused)
{
	uint64_t pages;

	(void)unused;
	open_counting(COUNTING);
	use(1, 5, THRESHOLD);
	mirror_settle(&m);
	assert_int_equal(holders(5), 1u << 1);
	pages = counts_of(m.host).pages_in;
	use(1, 5, 10u * THRESHOLD); /* at home */
	assert_true(uvmp_host_next_ns(m.host) == UINT64_MAX);
	use(1, 300, THRESHOLD - 1u);
	assert_true(uvmp_host_next_ns(m.host) == UINT64_MAX);
	use(1, 300, 1);
	mirror_settle(&m);
	assert_int_equal(holders(300), 1u << 1);
	assert_true(counts_of(m.host).pages_in > pages);
	mirror_check(&m);
	mirror_close(&m);
}

/* Policies that use no accesses: reports have no effect. The driver drains the notifications of 4 KiB pages. */
static void test_no_counter(void **unused)
{
	static const char *const policy[] = {"", "prefetch=none", "counters=off", "evict=auto prefetch=auto"};

	(void)unused;
	for (uint32_t i = 0; i < sizeof(policy) / sizeof(policy[0]); i++) {
		open_counting(policy[i]);
		assert_false(uvmp_host_wants_accesses(m.host));
		use(1, 5, 1000);
		assert_true(uvmp_host_next_ns(m.host) == UINT64_MAX);
		assert_true(uvmp_host_run(m.host, m.now_ns) == UINT64_MAX);
		assert_int_equal(holders(5), 1u << UVMP_CPU);
		assert_int_equal(counts_of(m.host).pages_in, 0);
		mirror_close(&m);
	}
}

#define NOTES	256u /* that wait, at most */
#define WINDOWS 300u

static bool is_on_gpu(struct uvmp_host *host, uint32_t window)
{
	struct uvmp_host_page_state state = {.size = sizeof(state)};

	assert_int_equal(uvmp_host_page(host, 1, MIRROR_BASE + ((uint64_t)window << 21), &state), UVMP_OK);
	return state.resident == 1u << 1;
}

static uint32_t use_all(struct uvmp_host *host)
{
	uint32_t arrived = 0;

	for (uint32_t window = 0; window < WINDOWS; window++)
		assert_int_equal(
			uvmp_host_access(host, 1, MIRROR_BASE + ((uint64_t)window << 21), UVMP_ACCESS_READ), UVMP_OK);
	(void)uvmp_host_run(host, UINT64_MAX);
	for (uint32_t window = 0; window < WINDOWS; window++)
		arrived += is_on_gpu(host, window);
	return arrived;
}

/* A notification that finds no space in the buffer is lost; the next access notifies. */
static void test_buffer_of_notifications(void **unused)
{
	struct uvmp_host_options options = {.size = sizeof(options),
					    .memory_bytes = (uint64_t)1 << 30,
					    .is_on_cpu = true,
					    .policy = "prefetch=none counters=on counter_threshold=1"};
	struct uvmp_host *host = uvmp_host_open(&options, NULL);
	uint32_t arrived;

	(void)unused;
	assert_non_null(host);
	assert_int_equal(uvmp_host_add_range(host, MIRROR_BASE, (uint64_t)WINDOWS << 21), UVMP_OK);
	assert_int_equal(uvmp_host_advise(host, MIRROR_BASE, (uint64_t)WINDOWS << 21, UVMP_ADVISE_ACCESSED_BY, 1, 0),
			 UVMP_OK);
	(void)uvmp_host_run(host, UINT64_MAX);
	arrived = use_all(host);
	assert_in_range(arrived, 1, NOTES);
	assert_int_equal(use_all(host), WINDOWS);
	uvmp_host_close(host);
}

/* -- recency -- */

/* Of two 2 MiB the older leaves; a reported hit makes it the newer. Without reports the order knows arrivals. */
static void test_recency(void **unused)
{
	(void)unused;
	for (uint32_t reports = 0; reports < 2; reports++) {
		mirror_init(&m, "prefetch=none evict=lru2m", 1, 4 << 20);
		m.options.is_on_cpu = true;
		mirror_open(&m);
		mirror_add(&m, 0, m.pages);
		assert_true(uvmp_host_wants_accesses(m.host));
		read_roots(1, 0, 2);
		if (reports != 0)
			assert_int_equal(uvmp_host_access(m.host, 1, MIRROR_BASE, UVMP_ACCESS_READ), UVMP_OK);
		read_roots(1, 2, 3);
		assert_int_equal(holders(0), reports != 0 ? 1u << 1 : 1u << UVMP_CPU);
		assert_int_equal(holders(512), reports != 0 ? 1u << UVMP_CPU : 1u << 1);
		mirror_close(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stopped_sms),	    cmocka_unit_test(test_extra_blocks),
		cmocka_unit_test(test_no_limits),	    cmocka_unit_test(test_counter_notifies),
		cmocka_unit_test(test_counter_is_cleared),  cmocka_unit_test(test_no_counter),
		cmocka_unit_test(test_buffer_of_notifications), cmocka_unit_test(test_recency),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
