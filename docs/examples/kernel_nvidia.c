/* NVIDIA's UVM driver on the library: page masks used in place, fault entries, the prefetch decision, and the
 * module's parameters as a policy. docs/embedding-kernel.md says where in the driver each of these belongs.
 *
 * `make test` compiles this file as a kernel would, and runs it: tests/unit/test_kernel_nvidia.c. */
#include "kernel_nvidia.h"

#include <uvmpolicy/advanced.h>
#include <uvmpolicy/uvmpolicy.h>

/* -- page masks
 * ----------------------------------------------------------------------------------------------- */

/* With 64-bit words both are 8 words and agree bit by bit, in either byte order: a pointer is enough. The
 * kernel is compiled with -fno-strict-aliasing, which makes that legal. Elsewhere (32-bit kernels, pages of
 * 64 KiB: one word) the set is copied into `room`. NULL stays NULL: "there is no such mask". */
#if BITS_PER_LONG == 64 && UVM_VA_BLOCK_SIZE / PAGE_SIZE == 512
#define IS_SAME_LAYOUT 1
_Static_assert(sizeof(uvm_page_mask_t) == sizeof(uvmp_mask), "eight words");
_Static_assert(_Alignof(uvm_page_mask_t) == _Alignof(uvmp_mask), "of the same alignment");
#else
#define IS_SAME_LAYOUT 0
#endif

/* bitmap_to_arr64 of the kernel does this too, for `bits` bits. */
static void nvidia_mask_copy(uvmp_mask *to, const unsigned long *bitmap, uint32_t bits)
{
	uvmp_mask_zero(to);
	for (uint32_t bit = 0; bit < bits; bit += BITS_PER_LONG)
		to->word[bit / 64u] |= (uint64_t)bitmap[bit / BITS_PER_LONG] << (bit % 64u);
}

static const uvmp_mask *nvidia_pages(const uvm_page_mask_t *mask, uvmp_mask *room)
{
	if (mask == NULL || IS_SAME_LAYOUT)
		return (const uvmp_mask *)mask;
	nvidia_mask_copy(room, mask->bitmap, PAGES_PER_UVM_VA_BLOCK);
	return room;
}

/* -- one decision: what to prefetch
 * --------------------------------------------------------------------------- */

/* What the driver holds where it asks for a hint: VA space lock (read or write) and block lock are taken. */
struct nvidia_prefetch {
	NvU64 start, end; /* of the block, end inclusive */
	NvU32 big_page_bytes;
	NvU32 destination;   /* 0: the CPU; GPUs numbered 1..63 by the caller */
	NvU32 preferred;     /* likewise, UVMP_PROC_NONE: no preferred location */
	bool is_first_touch; /* the block is resident nowhere */
	bool is_hmm;
	uvm_va_block_region_t faulted_region, hmm_region;
	const uvm_page_mask_t *faulted;
	const uvm_page_mask_t *resident;        /* on the destination, NULL: it has no state in the block */
	const uvm_page_mask_t *thrashing;       /* NULL: there are none */
	const uvm_page_mask_t *cpu_read_mapped; /* only where the destination is the CPU */
};

static struct uvmp_region nvidia_region(uvm_va_block_region_t region)
{
	return (struct uvmp_region){region.first, region.end};
}

/* Fills *hint: pages to fetch too are in hint->pages, if hint->to is the destination. `state` is one per
 * block; keep it where the driver keeps its prefetch_info. */
static enum uvmp_status nvidia_prefetch_hint(const struct uvmp_prefetch_params *params,
                                             const struct nvidia_prefetch *ask,
                                             struct uvmp_prefetch_state *state,
                                             struct uvmp_prefetch_hint *hint)
{
	uvmp_mask room[4];
	struct uvmp_prefetch_facts facts = {
	        .faulted = nvidia_pages(ask->faulted, &room[0]),
	        .resident = nvidia_pages(ask->resident, &room[1]),
	        .thrashing = nvidia_pages(ask->thrashing, &room[2]),
	        .cpu_read_mapped = nvidia_pages(ask->cpu_read_mapped, &room[3]),
	        .faulted_region = nvidia_region(ask->faulted_region),
	        .to = ask->destination,
	        .has_preferred = ask->preferred != UVMP_PROC_NONE,
	        .preferred = ask->preferred,
	        .is_first_touch = ask->is_first_touch,
	        .is_hmm = ask->is_hmm,
	        .max_region = nvidia_region(ask->hmm_region),
	};
	struct uvmp_geometry geometry;
	enum uvmp_status status;

	status = uvmp_geometry_init(&geometry, PAGE_SIZE, ask->big_page_bytes, UVM_VA_BLOCK_SIZE);
	if (status == UVMP_OK)
		status = uvmp_geometry_block(&geometry, ask->start, ask->end, 0, &facts.block);
	if (status != UVMP_OK)
		return status;
	return uvmp_prefetch_decide(params, &facts, state, hint);
}

/* -- fault entries
 * -------------------------------------------------------------------------------------------- */

_Static_assert((int)UVM_FAULT_ACCESS_TYPE_ATOMIC_STRONG == (int)UVMP_ACCESS_ATOMIC_STRONG,
               "accesses have the same order");
_Static_assert((int)UVM_FAULT_TYPE_FATAL == (int)UVMP_FAULT_FATAL, "and so have types");

/* By name: numbers behind SYS differ between versions of the driver. */
static enum uvmp_aperture nvidia_aperture(uvm_aperture_t aperture)
{
	switch (aperture) {
	case UVM_APERTURE_SYS:
		return UVMP_APERTURE_SYS;
	case UVM_APERTURE_VID:
		return UVMP_APERTURE_VID;
	default: /* peers */
		return (enum uvmp_aperture)aperture;
	}
}

/* The driver parses the 32 bytes that the GPU writes into its own entry; the library's is filled at the same
 * place. There is nothing to share: an entry is read once, in an order that the hardware dictates. */
static void nvidia_fault(const uvm_fault_buffer_entry_t *entry, struct uvmp_fault *fault)
{
	*fault = (struct uvmp_fault){
	        .address = entry->fault_address,
	        .timestamp_ns = entry->timestamp,
	        .instance = entry->instance_ptr.address,
	        .aperture = nvidia_aperture(entry->instance_ptr.aperture),
	        .subcontext = entry->fault_source.ve_id,
	        .utlb = entry->fault_source.utlb_id,
	        .type = (uint8_t)entry->fault_type,
	        .access = (uint8_t)entry->fault_access_type,
	        .is_valid = true,
	};
}

/* -- parameters
 * ----------------------------------------------------------------------------------------------- */

/* uvm_perf_ and uvm_ parameters of the module, as the user gave them. */
struct nvidia_parameters {
	unsigned int prefetch_enable, prefetch_threshold, prefetch_min_faults;
	unsigned int fault_batch_count, fault_replay_policy, fault_replay_update_put_ratio, fault_coalesce;
	unsigned int fault_max_batches_per_service, fault_max_throttle_per_service;
	unsigned int reenable_prefetch_faults_lapse_msec;
	unsigned int thrashing_enable, thrashing_threshold, thrashing_pin_threshold, thrashing_lapse_usec;
	unsigned int thrashing_nap, thrashing_epoch, thrashing_pin, thrashing_max_resets,
	        lapse_vote_threshold;
	unsigned int map_remote_on_native_atomics_fault, map_remote_on_eviction;
	int access_counter_migration_enable;
	unsigned int access_counter_batch_count, access_counter_threshold;
	unsigned int global_oversubscription, pma_batch_nonpinned_order;
};

static uint32_t nvidia_in(unsigned int value, uint32_t low, uint32_t high, uint32_t otherwise)
{
	return value >= low && value <= high ? value : otherwise;
}

static uint32_t nvidia_clamp(unsigned int value, uint32_t low, uint32_t high)
{
	if (value < low)
		return low;
	return value > high ? high : value;
}

static void nvidia_thrashing(const struct nvidia_parameters *given, struct uvmp_thrash_params *thrash)
{
	thrash->is_enabled = nvidia_in(given->thrashing_enable, 0, 1, 1) != 0;
	if (!thrash->is_enabled)
		return;
	thrash->threshold = nvidia_in(given->thrashing_threshold, 1, 7, thrash->threshold);
	thrash->pin_threshold = nvidia_in(given->thrashing_pin_threshold, 1, 255, thrash->pin_threshold);
	thrash->lapse_us = nvidia_in(given->thrashing_lapse_usec, 1, UINT32_MAX, thrash->lapse_us);
	thrash->vote_threshold = given->lapse_vote_threshold; /* 0 means 500 [driver: vote-threshold-zero] there, and
							       * here */
	thrash->nap = nvidia_in(given->thrashing_nap, 1, 100, thrash->nap);
	thrash->epoch = nvidia_in(given->thrashing_epoch, 1, UINT32_MAX, thrash->epoch);
	thrash->pin = given->thrashing_pin;
	thrash->max_resets = given->thrashing_max_resets;
}

/* The policy that the module's parameters ask for, corrected as the driver corrects them: the parser of
 * policy strings would refuse what is out of range, the driver takes its default. UVMP_ERR_RANGE: what is
 * beyond even the library's range, which is wider than any sensible value. */
static enum uvmp_status nvidia_policy(const struct nvidia_parameters *given, struct uvmp_policy *policy)
{
	uvmp_policy_init(policy);
	if (given->prefetch_enable == 0) {
		uvmp_prefetch_params_init(&policy->prefetch, UVMP_PREFETCH_NONE);
	} else {
		policy->prefetch.threshold = nvidia_in(given->prefetch_threshold, 0, 100, 51);
		policy->prefetch.min_faults = nvidia_in(given->prefetch_min_faults, 1, 20, 1);
	}
	policy->replay.max_batch = nvidia_clamp(given->fault_batch_count, 1, 1u << 20);
	policy->replay.policy = (enum uvmp_replay_policy)nvidia_in(
	        given->fault_replay_policy, UVMP_REPLAY_BLOCK, UVMP_REPLAY_ONCE, UVMP_REPLAY_BATCH_FLUSH);
	if (policy->replay.policy == UVMP_REPLAY_BATCH_FLUSH)
		policy->replay.update_put_ratio = nvidia_clamp(given->fault_replay_update_put_ratio, 0, 100);
	policy->replay.max_batches = given->fault_max_batches_per_service;
	policy->replay.max_throttled = given->fault_max_throttle_per_service;
	policy->replay.prefetch_lapse_ms = given->reenable_prefetch_faults_lapse_msec;
	policy->coalesce = given->fault_coalesce != 0;
	nvidia_thrashing(given, &policy->thrash);
	policy->map_on_atomics = given->map_remote_on_native_atomics_fault != 0;
	if (given->access_counter_migration_enable == 0) {
		policy->counters = UVMP_COUNTERS_OFF;
	} else {
		policy->counters =
		        given->access_counter_migration_enable > 0 ? UVMP_COUNTERS_ON : UVMP_COUNTERS_DRIVER;
		policy->counter_batch = nvidia_clamp(given->access_counter_batch_count, 1, 65536);
		policy->counter_threshold = nvidia_clamp(given->access_counter_threshold, 1, 65535);
		policy->map_on_eviction = given->map_remote_on_eviction != 0;
	}
	policy->pma_order = given->global_oversubscription != 0 ? given->pma_batch_nonpinned_order : 0;
	return uvmp_policy_is_valid(policy) ? UVMP_OK : UVMP_ERR_RANGE;
}

/* In a driver these would be the parts of its own files; here they would be unused without a table of them.
 */
const struct nvidia_glue {
	__typeof__(nvidia_prefetch_hint) *prefetch_hint;
	__typeof__(nvidia_fault) *fault;
	__typeof__(nvidia_policy) *policy;
} nvidia_glue = {nvidia_prefetch_hint, nvidia_fault, nvidia_policy};
