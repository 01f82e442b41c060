/* docs/examples/kernel_nvidia.c: its masks, entries and parameters against the library called by hand, and
 * against worked examples of [driver: coalescing, density]. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "../../docs/examples/kernel_nvidia.c"

#define GPU   1u
#define BLOCK UINT64_C(0x7f0000000000)

static uint64_t seed = 7;

/* -- masks -- */

/* As the kernel's set_bit does. */
static void set_bit(uvm_page_mask_t *mask, uint32_t page)
{
	mask->bitmap[page / BITS_PER_LONG] |= 1ul << (page % BITS_PER_LONG);
}

static void random_masks(uvm_page_mask_t *theirs, uvmp_mask *ours)
{
	uint64_t pages = uvmp_random_below(&seed, 40);

	memset(theirs, 0, sizeof(*theirs));
	uvmp_mask_zero(ours);
	for (uint64_t i = 0; i < pages; i++) {
		uint32_t page = (uint32_t)uvmp_random_below(&seed, 512);

		set_bit(theirs, page);
		uvmp_mask_set(ours, page);
	}
}

static void test_masks_agree(void **state)
{
	uvm_page_mask_t theirs;
	uvmp_mask ours, room, copy;

	(void)state;
	assert_null(nvidia_pages(NULL, &room));
	for (uint32_t page = 0; page < 512; page++) {
		memset(&theirs, 0, sizeof(theirs));
		set_bit(&theirs, page);
		uvmp_mask_zero(&ours);
		uvmp_mask_set(&ours, page);
		assert_true(uvmp_mask_equal(nvidia_pages(&theirs, &room), &ours));
		nvidia_mask_copy(&copy, theirs.bitmap, 512);
		assert_true(uvmp_mask_equal(&copy, &ours));
	}
	for (uint32_t i = 0; i < 1000; i++) {
		random_masks(&theirs, &ours);
		assert_true(uvmp_mask_equal(nvidia_pages(&theirs, &room), &ours));
		nvidia_mask_copy(&copy, theirs.bitmap, 512);
		assert_true(uvmp_mask_equal(&copy, &ours));
	}
	/* No copy is made where none is needed. */
	if (sizeof(long) == 8)
		assert_ptr_equal(nvidia_pages(&theirs, &room), &theirs);
}

/* Kernels with pages of 64 KiB have 32 pages in a block, and one word. */
static void test_short_masks_are_copied(void **state)
{
	unsigned long bitmap[64 / BITS_PER_LONG] = {0x80000001ul};
	uvmp_mask copy;

	(void)state;
	nvidia_mask_copy(&copy, bitmap, 32);
	assert_int_equal(copy.word[0], 0x80000001ul);
	for (uint32_t i = 1; i < UVMP_MASK_WORDS; i++)
		assert_int_equal(copy.word[i], 0);
}

/* -- the prefetch decision -- */

static void ask_about(struct nvidia_prefetch *ask, const uvm_page_mask_t *faulted, uint32_t first,
                      uint32_t end)
{
	*ask = (struct nvidia_prefetch){.start = BLOCK,
	                                .end = BLOCK + UVM_VA_BLOCK_SIZE - 1,
	                                .big_page_bytes = 65536,
	                                .destination = GPU,
	                                .preferred = UVMP_PROC_NONE,
	                                .faulted_region = {(NvU16)first, (NvU16)end},
	                                .faulted = faulted};
}

static void assert_hint(const struct nvidia_prefetch *ask, uint32_t first, uint32_t end, uint32_t faulted)
{
	struct uvmp_region region = {first, end};
	struct uvmp_prefetch_params params;
	struct uvmp_prefetch_state state;
	struct uvmp_prefetch_hint hint;
	uvmp_mask want = {{0}};

	uvmp_prefetch_params_init(&params, UVMP_PREFETCH_DENSITY);
	uvmp_prefetch_state_init(&state);
	assert_int_equal(nvidia_prefetch_hint(&params, ask, &state, &hint), UVMP_OK);
	uvmp_mask_region_set(&want, region);
	uvmp_mask_clear(&want, faulted);
	assert_true(uvmp_mask_equal(&hint.pages, &want));
	assert_int_equal(hint.to, uvmp_mask_is_empty(&want) ? UVMP_PROC_NONE : GPU);
}

static void test_worked_examples(void **state)
{
	uvm_page_mask_t faulted = {{0}}, resident = {{0}}, thrashing = {{0}};
	struct nvidia_prefetch ask;

	(void)state;
	set_bit(&faulted, 5);
	ask_about(&ask, &faulted, 5, 6);
	assert_hint(&ask, 0, 16, 5);

	set_bit(&thrashing, 7);
	ask.thrashing = &thrashing;
	assert_hint(&ask, 0, 0, 5);

	ask.thrashing = NULL;
	ask.preferred = GPU;
	ask.is_first_touch = true;
	assert_hint(&ask, 0, 512, 5);
	ask.preferred = 2;
	assert_hint(&ask, 0, 0, 5);

	memset(&faulted, 0, sizeof(faulted));
	set_bit(&faulted, 300);
	for (uint32_t page = 0; page < 256; page++)
		set_bit(&resident, page);
	ask_about(&ask, &faulted, 300, 301);
	ask.resident = &resident;
	assert_hint(&ask, 0, 512, 300);

	/* 507 pages that start 5 pages behind a boundary: quirk [driver: padding-clamp]. */
	memset(&faulted, 0, sizeof(faulted));
	set_bit(&faulted, 3);
	ask_about(&ask, &faulted, 3, 4);
	ask.start = BLOCK + 5 * PAGE_SIZE;
	assert_hint(&ask, 5, 11, 3);
}

/* The same answer, and the same state behind it, as from the library with facts put together by hand. */
static void test_same_as_the_library(void **state)
{
	struct uvmp_prefetch_params params;
	struct uvmp_prefetch_state theirs, ours;

	(void)state;
	uvmp_prefetch_params_init(&params, UVMP_PREFETCH_DENSITY);
	uvmp_prefetch_state_init(&theirs);
	uvmp_prefetch_state_init(&ours);
	for (uint32_t i = 0; i < 2000; i++) {
		uvm_page_mask_t faulted, resident, thrashing;
		uvmp_mask our_faulted, our_resident, our_thrashing;
		struct uvmp_prefetch_hint their_hint, our_hint;
		struct uvmp_prefetch_facts facts = {.to = 1 + i % 2};
		struct nvidia_prefetch ask;

		random_masks(&faulted, &our_faulted);
		random_masks(&resident, &our_resident);
		random_masks(&thrashing, &our_thrashing);
		if (uvmp_mask_is_empty(&our_faulted))
			continue;
		assert_int_equal(uvmp_block_from_shape(512, 0, 16, &facts.block), UVMP_OK);
		facts.faulted = &our_faulted;
		facts.faulted_region = uvmp_mask_bounds(&our_faulted);
		facts.resident = i % 3 == 0 ? NULL : &our_resident;
		facts.thrashing = i % 5 == 0 ? &our_thrashing : NULL;
		params.threshold = (uint32_t)uvmp_random_below(&seed, 101);
		ask_about(&ask, &faulted, facts.faulted_region.first, facts.faulted_region.end);
		ask.destination = facts.to;
		ask.resident = facts.resident == NULL ? NULL : &resident;
		ask.thrashing = facts.thrashing == NULL ? NULL : &thrashing;

		assert_int_equal(nvidia_prefetch_hint(&params, &ask, &theirs, &their_hint), UVMP_OK);
		assert_int_equal(uvmp_prefetch_decide(&params, &facts, &ours, &our_hint), UVMP_OK);
		assert_true(uvmp_mask_equal(&their_hint.pages, &our_hint.pages));
		assert_int_equal(their_hint.to, our_hint.to);
		assert_int_equal(theirs.faults, ours.faults);
	}
}

static void test_bad_block_is_refused(void **state)
{
	uvm_page_mask_t faulted = {{1}};
	struct uvmp_prefetch_params params;
	struct uvmp_prefetch_state prefetch;
	struct uvmp_prefetch_hint hint;
	struct nvidia_prefetch ask;

	(void)state;
	uvmp_prefetch_params_init(&params, UVMP_PREFETCH_DENSITY);
	uvmp_prefetch_state_init(&prefetch);
	ask_about(&ask, &faulted, 0, 1);
	ask.start++;
	assert_int_equal(nvidia_prefetch_hint(&params, &ask, &prefetch, &hint), UVMP_ERR_RANGE);
	ask_about(&ask, &faulted, 0, 1);
	ask.big_page_bytes = 65537;
	assert_int_equal(nvidia_prefetch_hint(&params, &ask, &prefetch, &hint), UVMP_ERR_RANGE);
}

/* -- fault entries -- */

struct row {
	NvU16 utlb;
	uint32_t page;
	uvm_fault_access_type_t access;
	uvm_fault_type_t type;
};

/* Fetches what the rows become; entries of the batch are returned. */
static void fetch(const struct row *row, uint32_t rows, struct uvmp_fault *entry,
                  struct uvmp_fault_batch *batch, struct uvmp_utlb *utlb, uint32_t utlbs)
{
	struct uvmp_fetch_params params = {
	        .max_batch = 256, .page_bytes = 4096, .coalesce = true, .quirks = true};
	struct uvmp_fault ring[8];
	struct uvmp_fault_buffer buffer = {.entry = ring, .capacity = 8};

	memset(ring, 0, sizeof(ring));
	assert_true(rows < 8);
	for (uint32_t i = 0; i < rows; i++) {
		uvm_fault_buffer_entry_t theirs = {.fault_address = BLOCK + (uint64_t)row[i].page * 4096,
		                                   .instance_ptr = {0x1000, UVM_APERTURE_SYS},
		                                   .fault_source = {row[i].utlb, 0},
		                                   .fault_type = row[i].type,
		                                   .fault_access_type = row[i].access};

		nvidia_fault(&theirs, &ring[i]);
	}
	*batch = (struct uvmp_fault_batch){.entry = entry, .capacity = 8, .utlb = utlb, .utlbs = utlbs};
	assert_int_equal(uvmp_fault_fetch(&params, UVMP_FETCH_BATCH_READY, rows, &buffer, batch), UVMP_OK);
}

#define R UVM_FAULT_ACCESS_TYPE_READ
#define W UVM_FAULT_ACCESS_TYPE_WRITE
#define P UVM_FAULT_TYPE_INVALID_PTE
#define F UVM_FAULT_TYPE_FATAL

static void test_entries_coalesce_as_in_the_driver(void **state)
{
	static const struct row first[] = {
	        {0, 1, R, P}, {0, 1, R, P}, {1, 1, R, P}, {1, 2, W, P}, {0, 1, W, P}};
	static const struct row third[] = {{0, 1, R, F}, {0, 1, R, P}, {0, 1, W, P}};
	struct uvmp_fault entry[8];
	struct uvmp_utlb utlb[2] = {{0}};
	struct uvmp_fault_batch batch;
	uint32_t order[8];
	uint64_t scratch[UVMP_FAULT_ORDER_WORDS(2)];

	(void)state;
	fetch(first, 5, entry, &batch, utlb, 2); /* [driver: coalescing], example 1 */
	assert_int_equal(batch.cached, 5);
	assert_int_equal(batch.coalesced, 2);
	assert_false(entry[3].is_filtered);
	assert_int_equal(entry[3].num_instances, 1);
	assert_false(entry[4].is_filtered);
	assert_int_equal(entry[4].num_instances, 4);
	assert_int_equal(entry[4].access_mask, 1u << UVMP_ACCESS_READ | 1u << UVMP_ACCESS_WRITE);
	assert_int_equal(uvmp_fault_representatives(&batch, order), 2);
	uvmp_fault_order(entry, order, 2, scratch);
	assert_int_equal(order[0], 4);
	assert_int_equal(order[1], 3);

	fetch(third, 3, entry, &batch, utlb, 2); /* example 3, quirk [driver: fatal-merge] */
	assert_int_equal(batch.coalesced, 1);
	assert_false(entry[2].is_filtered);
	assert_false(entry[2].is_fatal);
	assert_int_equal(entry[2].num_instances, 3);
}

static void test_every_field_of_an_entry(void **state)
{
	static const struct {
		uvm_aperture_t theirs;
		enum uvmp_aperture ours;
	} apertures[] = {{UVM_APERTURE_PEER_0, UVMP_APERTURE_PEER_0},
	                 {UVM_APERTURE_PEER_7, (enum uvmp_aperture)7},
	                 {UVM_APERTURE_SYS, UVMP_APERTURE_SYS},
	                 {UVM_APERTURE_VID, UVMP_APERTURE_VID}};
	uvm_fault_buffer_entry_t theirs = {.fault_address = UINT64_C(0x7fffdeadb000),
	                                   .timestamp = UINT64_C(0x123456789abcdef0),
	                                   .instance_ptr = {UINT64_C(0xfedcba9876543000), UVM_APERTURE_VID},
	                                   .fault_source = {65535, 63},
	                                   .fault_type = UVM_FAULT_TYPE_READ,
	                                   .fault_access_type = UVM_FAULT_ACCESS_TYPE_ATOMIC_STRONG};
	struct uvmp_fault fault;

	(void)state;
	nvidia_fault(&theirs, &fault);
	assert_int_equal(fault.address, theirs.fault_address);
	assert_int_equal(fault.timestamp_ns, theirs.timestamp);
	assert_int_equal(fault.instance, theirs.instance_ptr.address);
	assert_int_equal(fault.subcontext, 63);
	assert_int_equal(fault.utlb, 65535);
	assert_int_equal(fault.type, UVMP_FAULT_READ);
	assert_int_equal(fault.access, UVMP_ACCESS_ATOMIC_STRONG);
	assert_true(fault.is_valid);
	for (size_t i = 0; i < sizeof(apertures) / sizeof(apertures[0]); i++) {
		theirs.instance_ptr.aperture = apertures[i].theirs;
		nvidia_fault(&theirs, &fault);
		assert_int_equal(fault.aperture, apertures[i].ours);
	}
}

/* -- parameters -- */

static const struct nvidia_parameters defaults = {.prefetch_enable = 1,
                                                  .prefetch_threshold = 51,
                                                  .prefetch_min_faults = 1,
                                                  .fault_batch_count = 256,
                                                  .fault_replay_policy = 2,
                                                  .fault_replay_update_put_ratio = 50,
                                                  .fault_coalesce = 1,
                                                  .fault_max_batches_per_service = 20,
                                                  .fault_max_throttle_per_service = 5,
                                                  .reenable_prefetch_faults_lapse_msec = 1000,
                                                  .thrashing_enable = 1,
                                                  .thrashing_threshold = 3,
                                                  .thrashing_pin_threshold = 10,
                                                  .thrashing_lapse_usec = 500,
                                                  .thrashing_nap = 1,
                                                  .thrashing_epoch = 2000,
                                                  .thrashing_pin = 300,
                                                  .thrashing_max_resets = 4,
                                                  .lapse_vote_threshold = 32,
                                                  .map_remote_on_eviction = 1,
                                                  .access_counter_migration_enable = -1,
                                                  .access_counter_batch_count = 256,
                                                  .access_counter_threshold = 256,
                                                  .global_oversubscription = 1,
                                                  .pma_batch_nonpinned_order = 6};

/* The parameters mean the same as the policy string. */
static void assert_means(const struct nvidia_parameters *given, const char *text)
{
	char theirs[UVMP_POLICY_TEXT_MAX], ours[UVMP_POLICY_TEXT_MAX];
	struct uvmp_policy policy;

	assert_int_equal(nvidia_policy(given, &policy), UVMP_OK);
	assert_int_equal(uvmp_policy_print(&policy, theirs, sizeof(theirs)), UVMP_OK);
	assert_int_equal(uvmp_policy_parse(text, strlen(text), &policy, NULL), UVMP_OK);
	assert_int_equal(uvmp_policy_print(&policy, ours, sizeof(ours)), UVMP_OK);
	assert_string_equal(theirs, ours);
}

static void test_parameters(void **state)
{
	struct nvidia_parameters given = defaults;

	(void)state;
	assert_means(&given, "preset=nvidia-595");
	given.prefetch_threshold = 101; /* not accepted: the driver's default */
	given.prefetch_min_faults = 0;
	given.fault_replay_policy = 4;
	given.thrashing_threshold = 8;
	given.thrashing_nap = 0;
	given.fault_replay_update_put_ratio = 50;
	assert_means(&given, "preset=nvidia-595");
	given.fault_replay_update_put_ratio = 101; /* limited */
	given.fault_batch_count = 0;
	assert_means(&given, "put_ratio=100 batch=1");

	given = defaults;
	given.prefetch_enable = 0;
	given.thrashing_enable = 0;
	given.access_counter_migration_enable = 0;
	assert_means(&given, "prefetch=none thrash=off counters=off");

	given = defaults;
	given.prefetch_threshold = 0; /* [driver: threshold-zero] */
	given.prefetch_min_faults = 20;
	given.fault_replay_policy = 0;
	given.fault_coalesce = 0;
	given.fault_max_batches_per_service = 0;
	given.lapse_vote_threshold = 0; /* [driver: vote-threshold-zero] */
	given.thrashing_pin = 0;
	given.access_counter_migration_enable = 1;
	given.access_counter_threshold = 70000;
	given.map_remote_on_eviction = 0;
	given.map_remote_on_native_atomics_fault = 1;
	given.global_oversubscription = 0;
	assert_means(&given, "threshold=0 min_faults=20 replay=block coalesce=0 max_batches=0 lapse_votes=0 "
	                     "pin=0 counters=on "
	                     "counter_threshold=65535 map_on_eviction=0 map_on_atomics=1 pma_order=0");
}

static void test_parameters_beyond_the_library(void **state)
{
	struct nvidia_parameters given = defaults;
	struct uvmp_policy policy;

	(void)state;
	given.pma_batch_nonpinned_order = 21;
	assert_int_equal(nvidia_policy(&given, &policy), UVMP_ERR_RANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_masks_agree),
	        cmocka_unit_test(test_short_masks_are_copied),
	        cmocka_unit_test(test_worked_examples),
	        cmocka_unit_test(test_same_as_the_library),
	        cmocka_unit_test(test_bad_block_is_refused),
	        cmocka_unit_test(test_entries_coalesce_as_in_the_driver),
	        cmocka_unit_test(test_every_field_of_an_entry),
	        cmocka_unit_test(test_parameters),
	        cmocka_unit_test(test_parameters_beyond_the_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
