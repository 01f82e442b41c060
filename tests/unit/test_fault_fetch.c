/* fault.h, fetching: worked examples of [driver: fetch, coalescing], the pending test, flush, and
 * every error. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "uvmpolicy/fault.h"

#define RING  16u
#define UTLBS 8u

struct fixture {
	struct uvmp_fault ring[RING], entry[RING];
	struct uvmp_utlb utlb[UTLBS];
	struct uvmp_fault_buffer buffer;
	struct uvmp_fault_batch batch;
	struct uvmp_fetch_params params;
	uint32_t put;
};

static void start_at(struct fixture *f, uint32_t get)
{
	memset(f, 0, sizeof(*f));
	f->buffer =
	        (struct uvmp_fault_buffer){.entry = f->ring, .capacity = RING, .get = get, .cached_put = get};
	f->batch = (struct uvmp_fault_batch){
	        .entry = f->entry, .capacity = RING, .utlb = f->utlb, .utlbs = UTLBS};
	f->params = (struct uvmp_fetch_params){
	        .max_batch = RING, .page_bytes = 4096, .coalesce = true, .quirks = true};
	f->put = get;
}

/* The GPU writes one fault of instance 7. */
static struct uvmp_fault *raise_fault(struct fixture *f, uint32_t utlb, uint64_t page,
                                      enum uvmp_access access)
{
	struct uvmp_fault *e = &f->ring[f->put];

	memset(e, 0, sizeof(*e));
	e->address = page * 4096u + 5u;
	e->instance = 7;
	e->aperture = UVMP_APERTURE_VID;
	e->utlb = utlb;
	e->type = UVMP_FAULT_INVALID_PTE;
	e->access = (uint8_t)access;
	e->is_valid = true;
	f->put = (f->put + 1u) % RING;
	return e;
}

static enum uvmp_status fetch(struct fixture *f)
{
	return uvmp_fault_fetch(&f->params, UVMP_FETCH_BATCH_READY, f->put, &f->buffer, &f->batch);
}

static void assert_counts(const struct fixture *f, uint32_t cached, uint32_t coalesced)
{
	assert_int_equal(f->batch.cached, cached);
	assert_int_equal(f->batch.coalesced, coalesced);
}

/* Sets of accesses. */
enum { P = 1, R = 2, W = 4, A = 8, S = 16 };

static void assert_representative(const struct fixture *f, uint32_t i, uint64_t page, enum uvmp_access access,
                                  uint32_t instances, uint8_t mask)
{
	const struct uvmp_fault *e = &f->entry[i];

	assert_false(e->is_filtered);
	assert_int_equal(e->address, page * 4096u);
	assert_int_equal(e->access, access);
	assert_int_equal(e->num_instances, instances);
	assert_int_equal(e->access_mask, mask);
}

/* -- merging -- */

static void raise_example_1(struct fixture *f)
{
	raise_fault(f, 0, 1, UVMP_ACCESS_READ);
	raise_fault(f, 0, 1, UVMP_ACCESS_READ);
	raise_fault(f, 1, 1, UVMP_ACCESS_READ);
	raise_fault(f, 1, 2, UVMP_ACCESS_WRITE);
	raise_fault(f, 0, 1, UVMP_ACCESS_WRITE);
}

/* [driver: coalescing] example 1 */
static void test_merges_in_utlb_and_in_batch(void **state)
{
	struct fixture f;

	(void)state;
	for (int quirks = 0; quirks < 2; quirks++) {
		start_at(&f, 0);
		f.params.quirks = quirks != 0;
		raise_example_1(&f);
		assert_int_equal(fetch(&f), UVMP_OK);
		assert_counts(&f, 5, 2);
		assert_representative(&f, 3, 2, UVMP_ACCESS_WRITE, 1, W);
		assert_representative(&f, 4, 1, UVMP_ACCESS_WRITE, 4, R | W);
		for (uint32_t i = 0; i < 3; i++)
			assert_true(f.entry[i].is_filtered);
		assert_true(f.batch.is_single_instance);
		assert_int_equal(f.batch.max_utlb, 1);
		assert_int_equal(f.utlb[0].num_pending, 1);
		assert_int_equal(f.utlb[0].last_fault, 4);
		assert_int_equal(f.utlb[1].num_pending, 1);
		assert_int_equal(f.utlb[1].last_fault, 3);
		assert_int_equal(f.buffer.get, 5);
		assert_int_equal(f.buffer.cached_put, 5);
		for (uint32_t i = 0; i < RING; i++)
			assert_false(f.ring[i].is_valid);
	}
}

static void raise_example_2(struct fixture *f)
{
	raise_fault(f, 0, 1, UVMP_ACCESS_READ);
	raise_fault(f, 0, 1, UVMP_ACCESS_WRITE);
	raise_fault(f, 1, 1, UVMP_ACCESS_READ);
	raise_fault(f, 1, 1, UVMP_ACCESS_WRITE);
}

/* [driver: coalescing] example 2 [driver: lost-merge]: the upgrade leaves the batch's last fault on entry
 * 0, which swallows entry 2 */
static void test_upgrade_leaves_last_fault_behind(void **state)
{
	struct fixture f;

	(void)state;
	start_at(&f, 0);
	raise_example_2(&f);
	assert_int_equal(fetch(&f), UVMP_OK);
	assert_counts(&f, 4, 2);
	assert_representative(&f, 1, 1, UVMP_ACCESS_WRITE, 2, R | W);
	assert_representative(&f, 3, 1, UVMP_ACCESS_WRITE, 1, W);
	assert_true(f.entry[0].is_filtered);
	assert_int_equal(f.entry[0].num_instances, 3);
	assert_true(f.entry[2].is_filtered);
	assert_int_equal(f.entry[2].num_instances, 0);
	assert_int_equal(f.entry[2].access_mask, 0);
}

/* the same without [driver: lost-merge]: nothing is lost */
static void test_last_fault_follows_upgrade_without_quirks(void **state)
{
	struct fixture f;

	(void)state;
	start_at(&f, 0);
	f.params.quirks = false;
	raise_example_2(&f);
	assert_int_equal(fetch(&f), UVMP_OK);
	assert_counts(&f, 4, 1);
	assert_representative(&f, 1, 1, UVMP_ACCESS_WRITE, 4, R | W);
}

/* An upgrade of a page that is not the batch's last fault must not move it (here: to page 1, away from page
 * 2). */
static void test_upgrade_elsewhere_keeps_last_fault(void **state)
{
	struct fixture f;

	(void)state;
	for (int quirks = 0; quirks < 2; quirks++) {
		start_at(&f, 0);
		f.params.quirks = quirks != 0;
		raise_fault(&f, 0, 1, UVMP_ACCESS_READ);
		raise_fault(&f, 1, 2, UVMP_ACCESS_READ);
		raise_fault(&f, 0, 1, UVMP_ACCESS_WRITE);
		raise_fault(&f, 2, 2, UVMP_ACCESS_READ);
		assert_int_equal(fetch(&f), UVMP_OK);
		assert_counts(&f, 4, 2);
		assert_representative(&f, 1, 2, UVMP_ACCESS_READ, 2, R);
		assert_representative(&f, 2, 1, UVMP_ACCESS_WRITE, 2, R | W);
	}
}

static void raise_example_3(struct fixture *f)
{
	raise_fault(f, 0, 1, UVMP_ACCESS_READ)->type = UVMP_FAULT_FATAL;
	raise_fault(f, 0, 1, UVMP_ACCESS_READ);
	raise_fault(f, 0, 1, UVMP_ACCESS_WRITE);
}

/* [driver: coalescing] example 3 [driver: fatal-merge]: faults vanish into a fatal one, and a write even
 * replaces it */
static void test_merges_into_fatal(void **state)
{
	struct fixture f;

	(void)state;
	start_at(&f, 0);
	raise_example_3(&f);
	assert_int_equal(fetch(&f), UVMP_OK);
	assert_counts(&f, 3, 1);
	assert_representative(&f, 2, 1, UVMP_ACCESS_WRITE, 3, R | W);
	assert_false(f.entry[2].is_fatal);
	assert_true(f.entry[0].is_fatal);
}

/* the same without [driver: fatal-merge], by both rules */
static void test_nothing_merges_into_fatal_without_quirks(void **state)
{
	struct fixture f;

	(void)state;
	start_at(&f, 0);
	f.params.quirks = false;
	raise_example_3(&f);
	assert_int_equal(fetch(&f), UVMP_OK);
	assert_counts(&f, 3, 2);
	assert_representative(&f, 0, 1, UVMP_ACCESS_READ, 1, R);
	assert_true(f.entry[0].is_fatal);
	assert_representative(&f, 2, 1, UVMP_ACCESS_WRITE, 2, R | W);
	assert_false(f.entry[2].is_fatal);

	start_at(&f, 0);
	f.params.quirks = false;
	raise_fault(&f, 0, 1, UVMP_ACCESS_READ)->type = 255;
	raise_fault(&f, 1, 1, UVMP_ACCESS_READ);
	assert_int_equal(fetch(&f), UVMP_OK);
	assert_counts(&f, 2, 2);
}

static void test_fatal_is_never_merged(void **state)
{
	struct fixture f;

	(void)state;
	for (int quirks = 0; quirks < 2; quirks++) {
		start_at(&f, 0);
		f.params.quirks = quirks != 0;
		raise_fault(&f, 0, 1, UVMP_ACCESS_READ)->type = UVMP_FAULT_READ;
		raise_fault(&f, 0, 1, UVMP_ACCESS_READ)->type = UVMP_FAULT_FATAL;
		assert_int_equal(fetch(&f), UVMP_OK);
		assert_counts(&f, 2, 2);
		assert_false(f.entry[0].is_fatal);
		assert_true(f.entry[1].is_fatal);
	}
}

/* [driver: coalescing]: two faults of one uTLB on one page that another page separates stay two */
static void test_only_the_latest_are_compared(void **state)
{
	struct fixture f;

	(void)state;
	start_at(&f, 0);
	raise_fault(&f, 0, 1, UVMP_ACCESS_READ);
	raise_fault(&f, 0, 2, UVMP_ACCESS_READ);
	raise_fault(&f, 0, 1, UVMP_ACCESS_READ);
	assert_int_equal(fetch(&f), UVMP_OK);
	assert_counts(&f, 3, 3);
}

/* rule B takes no more intrusive access than the representative's */
static void test_other_utlb_does_not_upgrade(void **state)
{
	struct fixture f;

	(void)state;
	start_at(&f, 0);
	raise_fault(&f, 0, 1, UVMP_ACCESS_WRITE);
	raise_fault(&f, 1, 1, UVMP_ACCESS_WRITE);
	raise_fault(&f, 2, 1, UVMP_ACCESS_PREFETCH);
	raise_fault(&f, 3, 1, UVMP_ACCESS_ATOMIC_WEAK);
	raise_fault(&f, 4, 1, UVMP_ACCESS_ATOMIC_STRONG);
	assert_int_equal(fetch(&f), UVMP_OK);
	assert_counts(&f, 5, 3);
	assert_representative(&f, 0, 1, UVMP_ACCESS_WRITE, 3, P | W);
	assert_representative(&f, 3, 1, UVMP_ACCESS_ATOMIC_WEAK, 1, A);
	assert_representative(&f, 4, 1, UVMP_ACCESS_ATOMIC_STRONG, 1, S);
}

static void test_instances_keep_apart(void **state)
{
	struct fixture f;

	(void)state;
	for (int part = 0; part < 3; part++) {
		struct uvmp_fault *e;

		start_at(&f, 0);
		raise_fault(&f, 0, 1, UVMP_ACCESS_READ);
		e = raise_fault(&f, 0, 1, UVMP_ACCESS_READ);
		if (part == 0)
			e->instance = 8;
		else if (part == 1)
			e->aperture = UVMP_APERTURE_SYS;
		else
			e->subcontext = 1;
		assert_int_equal(fetch(&f), UVMP_OK);
		assert_counts(&f, 2, 2);
		assert_false(f.batch.is_single_instance);
	}
}

static void test_without_coalescing(void **state)
{
	struct fixture f;

	(void)state;
	start_at(&f, 0);
	f.params.coalesce = false;
	raise_example_1(&f);
	assert_int_equal(fetch(&f), UVMP_OK);
	assert_counts(&f, 5, 5);
	assert_int_equal(f.utlb[0].num_pending, 3);
	assert_int_equal(f.utlb[0].last_fault, 4);
}

static void test_page_size_decides_what_is_equal(void **state)
{
	struct fixture f;

	(void)state;
	start_at(&f, 0);
	f.params.page_bytes = 65536;
	raise_fault(&f, 0, 17, UVMP_ACCESS_READ);
	raise_fault(&f, 0, 31, UVMP_ACCESS_READ);
	raise_fault(&f, 0, 32, UVMP_ACCESS_READ);
	assert_int_equal(fetch(&f), UVMP_OK);
	assert_counts(&f, 3, 2);
	assert_representative(&f, 0, 16, UVMP_ACCESS_READ, 2, R);
	assert_representative(&f, 2, 32, UVMP_ACCESS_READ, 1, R);

	start_at(&f, 0);
	f.params.page_bytes = 16384;
	raise_fault(&f, 0, 17, UVMP_ACCESS_READ);
	raise_fault(&f, 0, 19, UVMP_ACCESS_READ);
	raise_fault(&f, 0, 20, UVMP_ACCESS_READ);
	assert_int_equal(fetch(&f), UVMP_OK);
	assert_counts(&f, 3, 2);
	assert_representative(&f, 0, 16, UVMP_ACCESS_READ, 2, R);
	assert_representative(&f, 2, 20, UVMP_ACCESS_READ, 1, R);
}

/* Zeroed parameters: pages of 4 KiB, and batches of one entry as with the driver's 0. */
static void test_zeroed_parameters(void **state)
{
	struct fixture f;

	(void)state;
	start_at(&f, 0);
	f.params = (struct uvmp_fetch_params){0};
	raise_fault(&f, 0, 17, UVMP_ACCESS_READ);
	raise_fault(&f, 0, 17, UVMP_ACCESS_READ);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(fetch(&f), UVMP_OK);
		assert_counts(&f, 1, 1);
		assert_representative(&f, 0, 17, UVMP_ACCESS_READ, 1, R);
	}
	assert_int_equal(f.buffer.get, 2);
}

/* -- how far a fetch goes -- */

/* [driver: fetch]: a batch ends at an entry that is not ready */
static void test_stops_at_entry_that_is_not_ready(void **state)
{
	struct fixture f;

	(void)state;
	start_at(&f, 0);
	for (uint32_t i = 0; i < 4; i++)
		raise_fault(&f, 0, i, UVMP_ACCESS_READ)->is_valid = i != 2;
	assert_int_equal(fetch(&f), UVMP_OK);
	assert_int_equal(f.batch.cached, 2);
	assert_int_equal(f.buffer.get, 2);
	assert_int_equal(f.buffer.cached_put, 4);
	assert_true(f.ring[3].is_valid);
}

/* [driver: fetch]: merged entries consume batch space; also around the end of the ring */
static void test_limit_counts_raw_entries(void **state)
{
	struct fixture f;

	(void)state;
	for (uint32_t get = 0; get < RING; get++) {
		start_at(&f, get);
		f.params.max_batch = 3;
		raise_fault(&f, 0, 1, UVMP_ACCESS_READ);
		raise_fault(&f, 0, 1, UVMP_ACCESS_READ);
		raise_fault(&f, 0, 2, UVMP_ACCESS_READ);
		raise_fault(&f, 0, 3, UVMP_ACCESS_READ);
		assert_int_equal(fetch(&f), UVMP_OK);
		assert_counts(&f, 3, 2);
		assert_int_equal(f.buffer.get, (get + 3u) % RING);
	}
}

/* [driver: fetch] */
static void test_limit_is_limited(void **state)
{
	struct fixture f;

	(void)state;
	assert_int_equal(uvmp_fault_max_batch(256, 4096), 256);
	assert_int_equal(uvmp_fault_max_batch(256, 100), 100);
	assert_int_equal(uvmp_fault_max_batch(256, 256), 256);
	assert_int_equal(uvmp_fault_max_batch(0, 100), 1);
	assert_int_equal(uvmp_fault_max_batch(UINT32_MAX, 1), 1);
	assert_int_equal(uvmp_fault_max_batch(1, 0), 0);

	start_at(&f, 0);
	raise_example_1(&f);
	f.params.max_batch = 0; /* counts as 1 */
	assert_int_equal(fetch(&f), UVMP_OK);
	assert_counts(&f, 1, 1);
	f.params.max_batch = UINT32_MAX; /* counts as RING, which the batch has room for */
	assert_int_equal(fetch(&f), UVMP_OK);
	assert_int_equal(f.batch.cached, 4);
}

static void test_mode_all_ignores_limit(void **state)
{
	struct fixture f;

	(void)state;
	start_at(&f, 14);
	f.params.max_batch = 1;
	raise_example_1(&f);
	assert_int_equal(uvmp_fault_fetch(&f.params, UVMP_FETCH_ALL, f.put, &f.buffer, &f.batch), UVMP_OK);
	assert_counts(&f, 5, 2);
	assert_int_equal(f.buffer.get, 3);
}

static void test_empty_buffer(void **state)
{
	struct fixture f;

	(void)state;
	start_at(&f, 3);
	f.batch.max_utlb = 2;
	for (uint32_t i = 0; i < 4; i++)
		f.utlb[i] = (struct uvmp_utlb){.num_pending = 1, .has_fatal = true};
	assert_int_equal(fetch(&f), UVMP_OK);
	assert_counts(&f, 0, 0);
	assert_true(f.batch.is_single_instance);
	assert_int_equal(f.batch.max_utlb, 0);
	/* only the uTLBs of the previous batch are cleared [driver: fetch] */
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(f.utlb[i].num_pending, 0);
		assert_false(f.utlb[i].has_fatal);
	}
	assert_true(f.utlb[3].has_fatal);
}

/* [driver: cached-put]: what lies behind the PUT of last time waits until GET has caught up */
static void test_leftovers_cap_the_next_batch(void **state)
{
	static const uint32_t second[2] = {3, 1}; /* without, with the quirk */
	struct fixture f;

	(void)state;
	for (int quirks = 0; quirks < 2; quirks++) {
		start_at(&f, 0);
		f.params.quirks = quirks != 0;
		f.params.max_batch = 3;
		for (uint32_t i = 0; i < 4; i++)
			raise_fault(&f, 0, i, UVMP_ACCESS_READ);
		assert_int_equal(fetch(&f), UVMP_OK);
		assert_int_equal(f.batch.cached, 3);
		for (uint32_t i = 0; i < 4; i++)
			raise_fault(&f, 0, i, UVMP_ACCESS_READ);
		assert_int_equal(fetch(&f), UVMP_OK);
		assert_int_equal(f.batch.cached, second[quirks]);
		assert_int_equal(f.buffer.cached_put, quirks ? 4 : 8);
	}
}

static void test_utlb_array_that_is_not_zero_is_harmless(void **state)
{
	struct fixture f;

	(void)state;
	start_at(&f, 0);
	f.utlb[5] = (struct uvmp_utlb){.num_pending = 1, .last_fault = 0xffffffffu};
	raise_fault(&f, 0, 1, UVMP_ACCESS_READ);
	raise_fault(&f, 5, 2, UVMP_ACCESS_READ);
	assert_int_equal(fetch(&f), UVMP_OK);
	assert_counts(&f, 2, 2);
}

/* -- errors of fetch -- */

/* Fetching gives this status and changes nothing at all. */
static void assert_refused(struct fixture *f, enum uvmp_fetch_mode mode, uint32_t put,
                           enum uvmp_status status)
{
	struct fixture before;

	memcpy(&before, f, sizeof(before));
	assert_int_equal(uvmp_fault_fetch(&f->params, mode, put, &f->buffer, &f->batch), status);
	assert_memory_equal(&before, f, sizeof(before));
}

static void test_fetch_arguments(void **state)
{
	struct fixture f;

	(void)state;
	start_at(&f, 0);
	assert_int_equal(uvmp_fault_fetch(NULL, UVMP_FETCH_ALL, 0, &f.buffer, &f.batch), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_fault_fetch(&f.params, UVMP_FETCH_ALL, 0, NULL, &f.batch), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_fault_fetch(&f.params, UVMP_FETCH_ALL, 0, &f.buffer, NULL), UVMP_ERR_ARGUMENT);
	f.batch.utlbs = 0;
	assert_refused(&f, UVMP_FETCH_BATCH_READY, f.put, UVMP_ERR_ARGUMENT);
}

static void test_fetch_ranges(void **state)
{
	static const uint32_t bad_pages[] = {1,     2048,  4097,  8192,	 12288,
	                                     32768, 65535, 131072, 0x80000000u};
	struct fixture f;

	(void)state;
	start_at(&f, 0);
	raise_example_1(&f);
	assert_refused(&f, UVMP_FETCH_BATCH_READY, RING, UVMP_ERR_RANGE);
	assert_refused(&f, (enum uvmp_fetch_mode)2, f.put, UVMP_ERR_RANGE);
	for (size_t i = 0; i < sizeof(bad_pages) / sizeof(bad_pages[0]); i++) {
		f.params.page_bytes = bad_pages[i];
		assert_refused(&f, UVMP_FETCH_BATCH_READY, f.put, UVMP_ERR_RANGE);
	}
}

static void test_fetch_bad_entries(void **state)
{
	struct fixture f;

	(void)state;
	for (uint32_t at = 0; at < 5; at++) {
		start_at(&f, 13);
		raise_example_1(&f);
		f.ring[(13u + at) % RING].access = UVMP_ACCESS_NONE;
		assert_refused(&f, UVMP_FETCH_BATCH_READY, f.put, UVMP_ERR_RANGE);

		start_at(&f, 13);
		raise_example_1(&f);
		f.ring[(13u + at) % RING].aperture = UVMP_APERTURE_VID + 1u;
		assert_refused(&f, UVMP_FETCH_BATCH_READY, f.put, UVMP_ERR_RANGE);

		start_at(&f, 13);
		raise_example_1(&f);
		f.ring[(13u + at) % RING].utlb = UTLBS;
		assert_refused(&f, UVMP_FETCH_ALL, f.put, UVMP_ERR_RANGE);

		/* entries after the limit are not read */
		f.params.max_batch = at + 1u;
		f.ring[(13u + at) % RING].utlb = 0;
		f.ring[(13u + at + 1u) % RING].utlb = UTLBS;
		assert_int_equal(fetch(&f), UVMP_OK);
		assert_int_equal(f.batch.cached, at + 1u);
	}
}

static void test_fetch_space(void **state)
{
	struct fixture f;

	(void)state;
	start_at(&f, 0);
	raise_example_1(&f);
	f.batch.capacity = RING - 1u;
	assert_refused(&f, UVMP_FETCH_BATCH_READY, f.put, UVMP_ERR_SPACE);
	f.params.max_batch = RING + 1u;
	assert_refused(&f, UVMP_FETCH_BATCH_READY, f.put, UVMP_ERR_SPACE);
	f.batch.capacity = 4;
	assert_refused(&f, UVMP_FETCH_ALL, f.put, UVMP_ERR_SPACE);
	f.batch.capacity = 5;
	assert_int_equal(uvmp_fault_fetch(&f.params, UVMP_FETCH_ALL, f.put, &f.buffer, &f.batch), UVMP_OK);
}

/* [driver: cached-put]: the driver has read PUT before it spins, so the next try is with the same one. */
static void test_fetch_again_with_the_same_put(void **state)
{
	struct fixture f;
	uint32_t put;

	(void)state;
	start_at(&f, 0);
	raise_fault(&f, 0, 1, UVMP_ACCESS_READ)->is_valid = false;
	put = f.put;
	assert_refused(&f, UVMP_FETCH_BATCH_READY, put, UVMP_ERR_RETRY);
	raise_fault(&f, 0, 2, UVMP_ACCESS_READ);
	f.ring[0].is_valid = true;
	assert_int_equal(uvmp_fault_fetch(&f.params, UVMP_FETCH_BATCH_READY, put, &f.buffer, &f.batch),
	                 UVMP_OK);
	assert_int_equal(f.batch.cached, 1);
	assert_int_equal(f.buffer.cached_put, 1);
}

/* [driver: fetch-modes]: where the driver spins */
static void test_fetch_retry(void **state)
{
	struct fixture f;

	(void)state;
	start_at(&f, 0);
	raise_example_1(&f);
	f.ring[0].is_valid = false;
	assert_refused(&f, UVMP_FETCH_BATCH_READY, f.put, UVMP_ERR_RETRY);
	f.ring[0].is_valid = true;
	f.ring[4].is_valid = false;
	assert_refused(&f, UVMP_FETCH_ALL, f.put, UVMP_ERR_RETRY);
	assert_int_equal(fetch(&f), UVMP_OK);
	assert_int_equal(f.batch.cached, 4);
}

/* -- validity -- */

static void test_buffer_is_valid(void **state)
{
	struct uvmp_fault entry[2] = {{0}};
	struct uvmp_fault_buffer good = {.entry = entry, .capacity = 2, .get = 1, .cached_put = 1}, bad;

	(void)state;
	assert_true(uvmp_fault_buffer_is_valid(&good));
	assert_false(uvmp_fault_buffer_is_valid(NULL));
	bad = good, bad.entry = NULL;
	assert_false(uvmp_fault_buffer_is_valid(&bad));
	bad = good, bad.capacity = 0;
	assert_false(uvmp_fault_buffer_is_valid(&bad));
	bad = good, bad.capacity = (1u << 24) + 1u;
	assert_false(uvmp_fault_buffer_is_valid(&bad));
	bad = good, bad.get = 2;
	assert_false(uvmp_fault_buffer_is_valid(&bad));
	bad = good, bad.cached_put = 2;
	assert_false(uvmp_fault_buffer_is_valid(&bad));
}

static void test_batch_is_valid(void **state)
{
	struct uvmp_fault entry[2] = {{0}};
	struct uvmp_utlb utlb[1] = {{0}};
	struct uvmp_fault_batch bad,
	        good = {.entry = entry, .capacity = 2, .utlb = utlb, .utlbs = 1, .cached = 2, .coalesced = 2};

	(void)state;
	assert_true(uvmp_fault_batch_is_valid(&good));
	assert_false(uvmp_fault_batch_is_valid(NULL));
	bad = good, bad.entry = NULL;
	assert_false(uvmp_fault_batch_is_valid(&bad));
	bad = good, bad.utlb = NULL;
	assert_false(uvmp_fault_batch_is_valid(&bad));
	bad = good, bad.capacity = bad.cached = bad.coalesced = 0;
	assert_false(uvmp_fault_batch_is_valid(&bad));
	bad = good, bad.cached = 3;
	assert_false(uvmp_fault_batch_is_valid(&bad));
	bad = good, bad.cached = 1;
	assert_false(uvmp_fault_batch_is_valid(&bad));
	bad = good, bad.max_utlb = 1;
	assert_false(uvmp_fault_batch_is_valid(&bad));
}

/* -- pending [driver: work-pending] -- */

static void test_pending(void **state)
{
	struct fixture f;

	(void)state;
	/* work is known already: PUT is not read */
	start_at(&f, 3);
	f.buffer.cached_put = 4;
	assert_true(uvmp_fault_pending(&f.buffer, 9));
	assert_int_equal(f.buffer.cached_put, 4);
	/* the entry is there before PUT: PUT is not read */
	start_at(&f, 3);
	f.ring[3].is_valid = true;
	assert_true(uvmp_fault_pending(&f.buffer, 9));
	assert_int_equal(f.buffer.cached_put, 3);
	/* PUT decides */
	start_at(&f, 3);
	assert_false(uvmp_fault_pending(&f.buffer, 3));
	assert_true(uvmp_fault_pending(&f.buffer, 9));
	assert_int_equal(f.buffer.cached_put, 9);
	/* bad input */
	assert_false(uvmp_fault_pending(&f.buffer, RING));
	assert_false(uvmp_fault_pending(NULL, 0));
}

/* -- flush [driver: flush] -- */

static void test_flush_modes(void **state)
{
	struct fixture f;
	uint32_t discarded = 77;

	(void)state;
	for (int update = 0; update < 2; update++) {
		start_at(&f, 14);
		raise_example_1(&f);
		f.buffer.cached_put = 1;
		assert_int_equal(uvmp_fault_flush(&f.buffer, update != 0, update ? f.put : RING, &discarded),
		                 UVMP_OK);
		assert_int_equal(discarded, update ? 5 : 3);
		assert_int_equal(f.buffer.get, update ? 3 : 1);
		assert_int_equal(f.buffer.cached_put, f.buffer.get);
		assert_int_equal(f.ring[1].is_valid, !update);
		assert_false(f.ring[14].is_valid);
	}
}

static void test_flush_waits_for_entry(void **state)
{
	struct fixture f;
	uint32_t discarded = 77;

	(void)state;
	start_at(&f, 0);
	raise_example_1(&f);
	f.ring[2].is_valid = false;
	assert_int_equal(uvmp_fault_flush(&f.buffer, true, f.put, &discarded), UVMP_ERR_RETRY);
	assert_int_equal(discarded, 2);
	assert_int_equal(f.buffer.get, 2);
	assert_int_equal(f.buffer.cached_put, 5);
	f.ring[2].is_valid = true;
	assert_int_equal(uvmp_fault_flush(&f.buffer, false, 0, &discarded), UVMP_OK);
	assert_int_equal(discarded, 3);
}

static void test_flush_bad_input(void **state)
{
	struct fixture f;
	uint32_t discarded = 77;

	(void)state;
	start_at(&f, 0);
	assert_int_equal(uvmp_fault_flush(NULL, false, 0, &discarded), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_fault_flush(&f.buffer, false, 0, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_fault_flush(&f.buffer, true, RING, &discarded), UVMP_ERR_RANGE);
	assert_int_equal(f.buffer.cached_put, 0);
	assert_int_equal(discarded, 77);
}

/* -- representatives -- */

static void test_representatives(void **state)
{
	struct fixture f;
	uint32_t order[RING] = {0};

	(void)state;
	start_at(&f, 0);
	raise_example_1(&f);
	assert_int_equal(fetch(&f), UVMP_OK);
	assert_int_equal(uvmp_fault_representatives(&f.batch, order), 2);
	assert_int_equal(order[0], 3);
	assert_int_equal(order[1], 4);
	/* flags that do not fit the count cannot write behind the array */
	order[2] = 99;
	f.entry[0].is_filtered = false;
	assert_int_equal(uvmp_fault_representatives(&f.batch, order), 2);
	assert_int_equal(order[2], 99);
	assert_int_equal(uvmp_fault_representatives(&f.batch, NULL), 0);
	assert_int_equal(uvmp_fault_representatives(NULL, order), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_merges_in_utlb_and_in_batch),
	        cmocka_unit_test(test_upgrade_leaves_last_fault_behind),
	        cmocka_unit_test(test_last_fault_follows_upgrade_without_quirks),
	        cmocka_unit_test(test_upgrade_elsewhere_keeps_last_fault),
	        cmocka_unit_test(test_merges_into_fatal),
	        cmocka_unit_test(test_nothing_merges_into_fatal_without_quirks),
	        cmocka_unit_test(test_fatal_is_never_merged),
	        cmocka_unit_test(test_only_the_latest_are_compared),
	        cmocka_unit_test(test_other_utlb_does_not_upgrade),
	        cmocka_unit_test(test_instances_keep_apart),
	        cmocka_unit_test(test_without_coalescing),
	        cmocka_unit_test(test_page_size_decides_what_is_equal),
	        cmocka_unit_test(test_zeroed_parameters),
	        cmocka_unit_test(test_stops_at_entry_that_is_not_ready),
	        cmocka_unit_test(test_limit_counts_raw_entries),
	        cmocka_unit_test(test_limit_is_limited),
	        cmocka_unit_test(test_mode_all_ignores_limit),
	        cmocka_unit_test(test_empty_buffer),
	        cmocka_unit_test(test_leftovers_cap_the_next_batch),
	        cmocka_unit_test(test_utlb_array_that_is_not_zero_is_harmless),
	        cmocka_unit_test(test_fetch_arguments),
	        cmocka_unit_test(test_fetch_ranges),
	        cmocka_unit_test(test_fetch_bad_entries),
	        cmocka_unit_test(test_fetch_space),
	        cmocka_unit_test(test_fetch_retry),
	        cmocka_unit_test(test_fetch_again_with_the_same_put),
	        cmocka_unit_test(test_buffer_is_valid),
	        cmocka_unit_test(test_batch_is_valid),
	        cmocka_unit_test(test_pending),
	        cmocka_unit_test(test_flush_modes),
	        cmocka_unit_test(test_flush_waits_for_entry),
	        cmocka_unit_test(test_flush_bad_input),
	        cmocka_unit_test(test_representatives),
	};

	return cmocka_run_group_tests_name("fault_fetch", tests, NULL, NULL);
}
