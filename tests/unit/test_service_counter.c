/* Access counters in the engine [driver: counter-fetch, counter-service, counter-pages, counter-policy,
 * counter-clear, notifications-drained, clears-first-notification, counter-ignores-duplication,
 * trimmed-notifications], through the public functions. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/engine_internals.h"
#include "support/engine_host.h"

#define MIB2    0x200000u
#define KIB64   0x10000u
#define PAGE    4096u
#define BASE    0x40000000u
#define SPACE   1u
#define CHANNEL 0x1000u

static struct engine host;

static void prepare(uint32_t gpus)
{
	engine_init(&host, gpus, 4);
	host.hidden[3] = "space=";
	for (uint32_t i = 0; i < gpus; i++)
		host.gpu[i].notes = 1024;
	host.policy.counters = UVMP_COUNTERS_ON;
	host.policy.prefetch.prefetcher = UVMP_PREFETCH_NONE;
	host.policy.prefetch.threshold = 51;
}

static void begin(void)
{
	assert_true(uvmp_policy_is_valid(&host.policy));
	assert_true(engine_start(&host, 16, 1 << 20));
	for (uint32_t gpu = 1; gpu < host.processors.count; gpu++)
		assert_int_equal(uvmp_service_bind(host.service, gpu, UVMP_APERTURE_VID, CHANNEL, 0, SPACE),
		                 UVMP_OK);
}

static int stop(void **state)
{
	(void)state;
	engine_stop(&host);
	return 0;
}

static void set_quirks(bool quirks)
{
	host.policy.quirks = host.policy.prefetch.quirks = host.policy.replay.quirks =
	        host.policy.thrash.quirks = quirks;
}

static void add(uvmp_addr base, uint64_t bytes)
{
	assert_int_equal(uvmp_service_add_range(host.service, SPACE, base, bytes, UVMP_RIGHT_READ_WRITE_ATOMIC,
	                                        UVMP_CPU),
	                 UVMP_OK);
}

/* GPU 1 is mapped in the range, and so is notified. */
static void add_accessed(uvmp_addr base, uint64_t bytes)
{
	add(base, bytes);
	assert_int_equal(
	        uvmp_service_advise(host.service, SPACE, base, bytes, UVMP_ADVISE_ACCESSED_BY, 1, NULL),
	        UVMP_OK);
	engine_run(&host);
	engine_forget(&host);
}

static uint32_t tags;

static enum uvmp_status note_of(uint32_t gpu, uint64_t instance, uvmp_addr address, uint32_t bits)
{
	const struct uvmp_note note = {.address = address,
	                               .instance = instance,
	                               .aperture = UVMP_APERTURE_VID,
	                               .sub_granularity = bits,
	                               .bank = 1,
	                               .tag = ++tags};

	return uvmp_service_note(host.service, gpu, &note);
}

static void note(uvmp_addr address, uint32_t bits)
{
	assert_int_equal(note_of(1, CHANNEL, address, bits), UVMP_OK);
}

static bool has_line(const char *line)
{
	return strstr(host.text, line) != NULL;
}

static bool has_text(const char *text)
{
	if (strcmp(host.text, text) == 0)
		return true;
	fprintf(stderr, "wanted:\n%sgot:\n%s", text, host.text);
	return false;
}

static struct uvmp_page_state page_of(uvmp_addr address)
{
	struct uvmp_page_state state = {.size = sizeof(state)};

	assert_int_equal(uvmp_service_page(host.service, SPACE, address, &state), UVMP_OK);
	return state;
}

static uint32_t count_lines(const char *start)
{
	uint32_t count = 0;

	for (const char *at = strstr(host.text, start); at; at = strstr(at + 1, start))
		count++;
	return count;
}

/* -- the buffer -- */

static void test_arguments(void **state)
{
	struct uvmp_note bad = {.aperture = UVMP_APERTURE_VID + 1u};

	(void)state;
	prepare(2);
	host.gpu[1].notes = 0;
	begin();
	tags = 0;
	assert_int_equal(uvmp_service_note(NULL, 1, &bad), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_note(host.service, 1, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_note(host.service, 1, &bad), UVMP_ERR_RANGE);
	assert_int_equal(note_of(0, CHANNEL, BASE, 1), UVMP_ERR_RANGE);
	assert_int_equal(note_of(3, CHANNEL, BASE, 1), UVMP_ERR_RANGE);
	assert_int_equal(note_of(2, CHANNEL, BASE, 1), UVMP_ERR_RANGE);
}

/* One place stays free, as in the hardware's ring. Batches of 256; what arrives during one waits for the PUT
 * to be read again [driver: counter-fetch]. */
static void test_batches(void **state)
{
	(void)state;
	prepare(1);
	host.gpu[0].notes = 300;
	begin();
	for (uint32_t i = 0; i < 299; i++)
		assert_int_equal(note_of(1, 0xbad, BASE, 1), UVMP_OK);
	assert_int_equal(note_of(1, 0xbad, BASE, 1), UVMP_ERR_SPACE);
	assert_true(engine_step(&host));
	assert_int_equal(note_of(1, 0xbad, BASE, 1), UVMP_OK);
	engine_run(&host);
	assert_true(has_text("batch cause=counter to=1 batch=1 count=256 detail=256\n"
	                     "batch cause=counter to=1 batch=2 count=43 detail=43\n"
	                     "batch cause=counter to=1 batch=3 count=1 detail=1\n"));
}

/* -- what is not acted upon -- */

/* 4 KiB pages: nothing is done, nothing is cleared [driver: notifications-drained]. */
static void test_drained(void **state)
{
	(void)state;
	prepare(1);
	host.policy.counters = UVMP_COUNTERS_DRIVER;
	host.params.has_ats = true;
	begin();
	add_accessed(BASE, MIB2);
	note(BASE, 1);
	engine_run(&host);
	assert_true(has_text("batch cause=counter to=1 batch=1 count=1 detail=1\n"));
	assert_int_equal(page_of(BASE).resident, 1);
}

static void test_drained_without_quirks(void **state)
{
	(void)state;
	prepare(1);
	host.policy.counters = UVMP_COUNTERS_DRIVER;
	host.params.has_ats = true;
	set_quirks(false);
	begin();
	add_accessed(BASE, MIB2);
	note(BASE, 1);
	engine_run(&host);
	assert_int_equal(page_of(BASE).resident, 2);
	assert_true(has_line("clear cause=counter to=1"));
}

static void test_off(void **state)
{
	(void)state;
	prepare(1);
	host.policy.counters = UVMP_COUNTERS_OFF;
	begin();
	add_accessed(BASE, MIB2);
	note(BASE, 1);
	engine_run(&host);
	assert_true(has_text("batch cause=counter to=1 batch=1 count=1 detail=1\n"));
}

/* -- pages [driver: counter-pages, counter-policy] -- */

/* Worked example 2: pieces 0, 2 and 3 of a block that the CPU holds in one chunk. */
static void test_pieces(void **state)
{
	(void)state;
	prepare(1);
	begin();
	add_accessed(BASE, MIB2);
	tags = 6;
	note(BASE, 0xd);
	engine_run(&host);
	assert_true(
	        has_text("batch cause=counter to=1 batch=1 count=1 detail=1\n"
	                 "allocate cause=counter block=0x40000000 pages=0-511 to=1 batch=1 detail=2097152\n"
	                 "unmap cause=counter block=0x40000000 pages=0-15,32-63 to=1 batch=1\n"
	                 "unmap cause=counter block=0x40000000 pages=0-15,32-63 to=0 batch=1\n"
	                 "copy cause=counter block=0x40000000 pages=0-15,32-63 from=0 to=1 batch=1 detail=48\n"
	                 "map cause=counter block=0x40000000 pages=0-15,32-63 from=1 to=1 right=rwa batch=1\n"
	                 "clear cause=counter to=1 batch=1 detail=7 offset=0x1\n"));
	assert_int_equal(page_of(BASE).resident, 2);
	assert_int_equal(page_of(BASE + KIB64).resident, 1);
	/* what is there already: nothing but the clearing */
	engine_forget(&host);
	note(BASE, 0xd);
	engine_run(&host);
	assert_true(has_text("batch cause=counter to=1 batch=2 count=1 detail=1\n"
	                     "clear cause=counter to=1 batch=2 detail=8 offset=0x1\n"));
}

/* Worked example 3: a small block has no chunk of 2 MiB: only the page itself. */
static void test_small_block(void **state)
{
	(void)state;
	prepare(1);
	begin();
	add_accessed(BASE + MIB2 / 2, MIB2 / 2);
	note(BASE + MIB2 / 2 + 5 * PAGE, 0xffff0000);
	engine_run(&host);
	assert_true(has_line("copy cause=counter block=0x40100000 pages=5 from=0 to=1"));
	assert_int_equal(count_lines("copy"), 1);
}

/* 64 KiB pages, as the driver has it. */
static void test_large_pages(void **state)
{
	(void)state;
	prepare(1);
	host.params.page_bytes = 65536;
	begin();
	add_accessed(BASE, MIB2);
	note(BASE, 0x80000001);
	engine_run(&host);
	assert_int_equal(page_of(BASE).resident, 2);
	assert_int_equal(page_of(BASE + 31 * KIB64).resident, 2);
	assert_int_equal(page_of(BASE + 30 * KIB64).resident, 1);
}

/* Worked example 4: the preferred location holds the page: it stays, and the notification is cleared. */
static void test_preferred(void **state)
{
	(void)state;
	prepare(1);
	begin();
	add_accessed(BASE, MIB2);
	assert_int_equal(uvmp_service_advise(host.service, SPACE, BASE, MIB2, UVMP_ADVISE_PREFERRED, 0, NULL),
	                 UVMP_OK);
	engine_run(&host);
	engine_forget(&host);
	tags = 0;
	note(BASE, 1);
	engine_run(&host);
	assert_true(has_text("batch cause=counter to=1 batch=1 count=1 detail=1\n"
	                     "clear cause=counter to=1 batch=1 detail=1 offset=0x1\n"));
}

/* A GPU that is not mapped in the block moves nothing [driver: counter-policy]. */
static void test_not_mapped(void **state)
{
	(void)state;
	prepare(2);
	begin();
	add_accessed(BASE, MIB2);
	assert_int_equal(note_of(2, CHANNEL, BASE, 1), UVMP_OK);
	engine_run(&host);
	assert_false(has_line("copy"));
	assert_true(has_line("clear cause=counter to=2"));
	/* it has mappings no more */
	assert_int_equal(uvmp_service_migrate(host.service, SPACE, BASE, PAGE, 2, NULL), UVMP_OK);
	assert_int_equal(uvmp_service_migrate(host.service, SPACE, BASE, PAGE, 0, NULL), UVMP_OK);
	assert_int_equal(note_of(2, CHANNEL, BASE, 1), UVMP_OK);
	engine_forget(&host);
	engine_run(&host);
	assert_false(has_line("copy cause=counter"));
}

/* From a GPU that has the block in one root; accessed-by does not hold pages back from counters
 * [driver: counter-policy]. */
static void test_from_gpu(void **state)
{
	(void)state;
	prepare(2);
	host.processors.can_access[1] = host.processors.can_access[2] = 7;
	begin();
	add(BASE, MIB2);
	assert_int_equal(uvmp_service_migrate(host.service, SPACE, BASE, 2 * KIB64, 2, NULL), UVMP_OK);
	assert_int_equal(
	        uvmp_service_advise(host.service, SPACE, BASE, MIB2, UVMP_ADVISE_ACCESSED_BY, 1, NULL),
	        UVMP_OK);
	engine_run(&host);
	note(BASE, 0x7);
	engine_run(&host);
	assert_true(has_line("copy cause=counter block=0x40000000 pages=0-31 from=2 to=1"));
	assert_int_equal(page_of(BASE + 2 * KIB64).resident, 1);
}

/* [driver: counter-policy]: a prefetched page that is already resident takes no rights from other processors. */
static void test_revokes_nothing(void **state)
{
	(void)state;
	prepare(2);
	host.policy.prefetch.prefetcher = UVMP_PREFETCH_DENSITY;
	host.processors.can_access[2] = 7;
	begin();
	add(BASE, MIB2);
	assert_int_equal(uvmp_service_migrate(host.service, SPACE, BASE, 8 * PAGE, 1, NULL), UVMP_OK);
	assert_int_equal(
	        uvmp_service_advise(host.service, SPACE, BASE, MIB2, UVMP_ADVISE_ACCESSED_BY, 2, NULL),
	        UVMP_OK);
	engine_run(&host);
	assert_int_equal(page_of(BASE).write, 6);
	engine_forget(&host);
	note(BASE + 8 * PAGE, 1);
	engine_run(&host);
	assert_true(has_line("copy cause=counter block=0x40000000 pages=8-15 from=0 to=1"));
	assert_int_equal(count_lines("revoke"), 0);
	assert_int_equal(page_of(BASE).write, 6);
}

/* Pages that are where they belong stay out of the service: they gain no mapping [driver: counter-policy]. */
static void test_settled(void **state)
{
	struct uvmp_fault fault = engine_entry(SPACE, BASE + 20 * PAGE, UVMP_ACCESS_READ);

	(void)state;
	prepare(2);
	set_quirks(false); /* no trimmed notifications */
	begin();
	add(BASE, MIB2);
	assert_int_equal(uvmp_service_migrate(host.service, SPACE, BASE, PAGE, 2, NULL), UVMP_OK);
	assert_int_equal(uvmp_service_advise(host.service, SPACE, BASE, MIB2, UVMP_ADVISE_PREFERRED, 0, NULL),
	                 UVMP_OK);
	engine_run(&host);
	fault.instance = CHANNEL;
	assert_int_equal(uvmp_service_fault(host.service, 1, &fault), UVMP_OK);
	engine_run(&host);
	assert_int_equal(page_of(BASE + 20 * PAGE).read & 2, 2);
	engine_forget(&host);
	note(BASE, 1);
	note(BASE + KIB64, 2);
	engine_run(&host);
	assert_true(has_line("copy cause=counter block=0x40000000 pages=0 from=2 to=0"));
	assert_true(has_line("map cause=counter block=0x40000000 pages=0 from=0 to=1"));
	assert_int_equal(page_of(BASE + KIB64 + PAGE).read & 2, 0);
}

/* Page-wise orders have no roots: only the page itself. */
static void test_from_pages(void **state)
{
	(void)state;
	prepare(2);
	host.policy.evict = UVMP_EVICT_LRU_4K;
	host.processors.can_access[1] = host.processors.can_access[2] = 7;
	begin();
	add(BASE, MIB2);
	assert_int_equal(uvmp_service_migrate(host.service, SPACE, BASE, KIB64, 2, NULL), UVMP_OK);
	assert_int_equal(
	        uvmp_service_advise(host.service, SPACE, BASE, MIB2, UVMP_ADVISE_ACCESSED_BY, 1, NULL),
	        UVMP_OK);
	engine_run(&host);
	note(BASE, 0x1);
	engine_run(&host);
	assert_true(has_line("copy cause=counter block=0x40000000 pages=0 from=2 to=1"));
	assert_int_equal(page_of(BASE + PAGE).resident, 4);
}

/* [driver: trimmed-notifications]: the notification that comes last trims the pages of those before. */
static void trim(bool quirks, uint64_t first)
{
	prepare(2);
	set_quirks(quirks);
	host.processors.can_access[1] = host.processors.can_access[2] = 7;
	begin();
	add(BASE, MIB2);
	assert_int_equal(uvmp_service_migrate(host.service, SPACE, BASE + KIB64, KIB64, 2, NULL), UVMP_OK);
	assert_int_equal(
	        uvmp_service_advise(host.service, SPACE, BASE, MIB2, UVMP_ADVISE_ACCESSED_BY, 1, NULL),
	        UVMP_OK);
	engine_run(&host);
	note(BASE, 1);
	note(BASE + KIB64, 2);
	engine_run(&host);
	assert_int_equal(page_of(BASE).resident, first);
	assert_int_equal(page_of(BASE + KIB64).resident, 2);
	assert_int_equal(count_lines("clear"), 2);
}

static void test_trimmed(void **state)
{
	(void)state;
	trim(true, 1);
	engine_stop(&host);
	trim(false, 2);
}

/* [driver: counter-ignores-duplication]: moved, not copied, though the policy duplicates. */
static void test_ignores_duplication(void **state)
{
	(void)state;
	prepare(1);
	begin();
	add(BASE, MIB2);
	assert_int_equal(
	        uvmp_service_advise(host.service, SPACE, BASE, MIB2, UVMP_ADVISE_READ_DUPLICATE, 0, NULL),
	        UVMP_OK);
	assert_int_equal(uvmp_service_migrate(host.service, SPACE, BASE, PAGE, 1, NULL), UVMP_OK);
	engine_run(&host);
	note(BASE + KIB64, 2);
	engine_run(&host);
	assert_int_equal(page_of(BASE).resident, 3);
	assert_int_equal(page_of(BASE + KIB64).resident, 2);
}

/* -- groups and order [driver: counter-service] -- */

/* Arriving in any order, notifications are served by space and address, each block once. */
static void test_order(void **state)
{
	(void)state;
	prepare(1);
	begin();
	assert_int_equal(uvmp_service_bind(host.service, 1, UVMP_APERTURE_VID, 0x2000, 0, 0), UVMP_OK);
	assert_int_equal(uvmp_service_add_range(host.service, 0, BASE + MIB2, MIB2,
	                                        UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_CPU),
	                 UVMP_OK);
	add_accessed(BASE, 2 * MIB2);
	tags = 0;
	note(BASE + MIB2 + KIB64, 2);                                  /* 1 */
	note(BASE + KIB64, 2);                                         /* 2 */
	note(BASE, 1);                                                 /* 3 */
	assert_int_equal(note_of(1, 0xbad, BASE, 1), UVMP_OK);         /* 4: no such channel */
	note(BASE + MIB2, 1);                                          /* 5 */
	note(BASE + KIB64, 4);                                         /* 6 */
	assert_int_equal(note_of(1, 0x2000, BASE + MIB2, 1), UVMP_OK); /* 7: a range without block
								        * [driver: clears-first-notification] */
	assert_int_equal(note_of(1, 0x2000, BASE + 9 * MIB2, 1), UVMP_OK); /* 8: nothing there
									    * [driver: clears-first-notification] */
	assert_int_equal(note_of(1, 0x2000, BASE + 8 * MIB2, 1), UVMP_OK); /* 9 */
	engine_run(&host);
	assert_true(
	        has_text("batch cause=counter to=1 batch=1 count=9 detail=9\n"
	                 "clear cause=counter to=1 batch=1 detail=4 offset=0x1\n"
	                 "clear cause=counter to=1 batch=1 detail=4 offset=0x1\n"
	                 "clear cause=counter to=1 batch=1 detail=4 offset=0x1\n"
	                 "allocate cause=counter block=0x40000000 pages=0-511 to=1 batch=1 detail=2097152\n"
	                 "unmap cause=counter block=0x40000000 pages=0-47 to=1 batch=1\n"
	                 "unmap cause=counter block=0x40000000 pages=0-47 to=0 batch=1\n"
	                 "copy cause=counter block=0x40000000 pages=0-47 from=0 to=1 batch=1 detail=48\n"
	                 "map cause=counter block=0x40000000 pages=0-47 from=1 to=1 right=rwa batch=1\n"
	                 "clear cause=counter to=1 batch=1 detail=3 offset=0x1\n"
	                 "clear cause=counter to=1 batch=1 detail=2 offset=0x1\n"
	                 "clear cause=counter to=1 batch=1 detail=6 offset=0x1\n"
	                 "allocate cause=counter block=0x40200000 pages=0-511 to=1 batch=1 detail=2097152 "
	                 "offset=0x200000\n"
	                 "unmap cause=counter block=0x40200000 pages=0-31 to=1 batch=1\n"
	                 "unmap cause=counter block=0x40200000 pages=0-31 to=0 batch=1\n"
	                 "copy cause=counter block=0x40200000 pages=0-31 from=0 to=1 batch=1 detail=32\n"
	                 "map cause=counter block=0x40200000 pages=0-31 from=1 to=1 right=rwa batch=1\n"
	                 "clear cause=counter to=1 batch=1 detail=5 offset=0x1\n"
	                 "clear cause=counter to=1 batch=1 detail=1 offset=0x1\n"));
}

/* Without quirks the notification at hand is cleared, not the first one [driver:
 * clears-first-notification]. */
static void test_clears_this_without_quirks(void **state)
{
	(void)state;
	prepare(1);
	set_quirks(false);
	begin();
	tags = 0;
	assert_int_equal(note_of(1, 0xbad, BASE, 1), UVMP_OK);
	note(BASE, 1);
	engine_run(&host);
	assert_true(has_text("batch cause=counter to=1 batch=1 count=2 detail=2\n"
	                     "clear cause=counter to=1 batch=1 detail=2 offset=0x1\n"));
}

/* Blocks of two spaces at the same addresses are two groups; one that has more notifications than a group
 * holds is served in pieces. */
static void test_groups(void **state)
{
	(void)state;
	prepare(1);
	host.policy.counter_batch = 1024;
	begin();
	add_accessed(BASE, MIB2);
	assert_int_equal(uvmp_service_bind(host.service, 1, UVMP_APERTURE_VID, 0x2000, 0, 2), UVMP_OK);
	for (uint32_t i = 0; i < 300; i++)
		note(BASE, 1);
	assert_int_equal(note_of(1, 0x2000, BASE, 2), UVMP_OK);
	engine_run(&host);
	assert_int_equal(count_lines("clear"), 301);
	assert_int_equal(count_lines("copy"), 1);
}

/* The space is removed when the batch reaches it: only its channel had kept it. */
static void test_space_is_gone(void **state)
{
	(void)state;
	prepare(1);
	begin();
	assert_int_equal(uvmp_service_bind(host.service, 1, UVMP_APERTURE_VID, 0x2000, 0, 2), UVMP_OK);
	tags = 0;
	assert_int_equal(note_of(1, 0x2000, BASE, 1), UVMP_OK);
	assert_true(engine_step(&host));
	assert_int_equal(uvmp_service_unbind(host.service, 1, UVMP_APERTURE_VID, 0x2000, 0), UVMP_OK);
	engine_run(&host);
	assert_true(has_text("batch cause=counter to=1 batch=1 count=1 detail=1\n"));
}

/* -- room and failures -- */

static void fill(void)
{
	add_accessed(BASE, MIB2);
	add(BASE + 8 * MIB2, 4 * MIB2);
	assert_int_equal(uvmp_service_migrate(host.service, SPACE, BASE + 8 * MIB2, 4 * MIB2, 1, NULL),
	                 UVMP_OK);
	engine_run(&host);
	engine_forget(&host);
}

static void test_evicts(void **state)
{
	(void)state;
	prepare(1);
	begin();
	fill();
	note(BASE, 1);
	engine_run(&host);
	assert_true(has_line("evict cause=eviction block=0x41000000"));
	assert_int_equal(page_of(BASE).resident, 2);
	assert_int_equal(count_lines("clear"), 1);
}

static void test_gives_up(void **state)
{
	(void)state;
	prepare(1);
	begin();
	fill();
	note(BASE, 1);
	assert_true(engine_step(&host));
	assert_true(engine_step(&host)); /* the eviction has begun */
	host.service->counter.retries = 1100;
	assert_int_equal(engine_run(&host), UVMP_ERR_NO_MEMORY);
	assert_true(has_line("done cause=counter to=1 batch=1 status=-5\n"));
	assert_int_equal(page_of(BASE).resident, 1);
}

/* After an error nothing is cleared, and the batch ends. */
static void test_fails(void **state)
{
	(void)state;
	prepare(1);
	begin();
	add_accessed(BASE, 2 * MIB2);
	engine_fail(&host, UVMP_ACTION_COPY, 0, UINT32_MAX, UVMP_ERR_STATE);
	note(BASE, 1);
	note(BASE + MIB2, 1);
	assert_int_equal(engine_run(&host), UVMP_ERR_STATE);
	assert_false(has_line("clear"));
	assert_false(has_line("0x40200000"));
	assert_int_equal(page_of(BASE).resident, 1);
	host.failures = 0;
	note(BASE, 1);
	engine_run(&host);
	assert_int_equal(page_of(BASE).resident, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, NULL, stop)
	const struct CMUnitTest tests[] = {
	        TEST(test_arguments),       TEST(test_batches),      TEST(test_drained),
	        TEST(test_drained_without_quirks),    TEST(test_off),          TEST(test_pieces),
	        TEST(test_small_block),     TEST(test_large_pages),  TEST(test_preferred),
	        TEST(test_not_mapped),      TEST(test_from_gpu),     TEST(test_from_pages),
	        TEST(test_revokes_nothing), TEST(test_settled),      TEST(test_trimmed),     TEST(test_ignores_duplication),
	        TEST(test_order),           TEST(test_clears_this_without_quirks), TEST(test_groups),
	        TEST(test_space_is_gone),   TEST(test_evicts),       TEST(test_gives_up),
	        TEST(test_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
