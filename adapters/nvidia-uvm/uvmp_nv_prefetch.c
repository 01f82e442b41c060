/* The prefetch hint: which pages of a VA block are prefetched with the pages that migrate because of faults. The
 * VA space lock and the block lock are held.
 *
 * density keeps its state where the driver keeps it, in va_block->prefetch_info. Other prefetchers have a state of
 * the block (uvmp_nv_state.c). A tree is brought up to date from the pages that are resident before each decision,
 * because pages also arrive and leave without the prefetcher. */
#include "uvmp_nv.h"

/* A call of the driver. */
struct request {
	uvm_va_block_t *va_block;
	uvm_va_block_context_t *context;
	uvm_processor_id_t to;
	const uvm_page_mask_t *faulted;
	uvm_va_block_region_t region;
};

/* State in va_block->prefetch_info, and the answer. */
struct decision {
	uvm_processor_id_t last;
	NvU16 faults;
	uvm_processor_id_t residency; /* UVM_ID_INVALID: prefetch nothing */
	struct uvmp_prefetch_hint hint;
};

/* Copies of masks: those of the driver where their size differs, and the faults that are left. */
struct copies {
	uvmp_mask faulted, resident, thrashing, cpu_read, cpu_resident;
};

static const uvm_page_mask_t *resident_of(uvm_va_block_t *va_block, uvm_processor_id_t id)
{
	if (UVM_ID_IS_GPU(id) && va_block->gpus[uvm_id_gpu_index(id)] == NULL)
		return NULL;
	return uvm_va_block_resident_mask_get(va_block, id, NUMA_NO_NODE);
}

/* False: a processor has no number. */
static bool read_facts(const struct uvmp_nv_space *space, const struct request *ask, struct copies *copy,
		       struct uvmp_prefetch_facts *facts)
{
	uvm_va_block_t *va_block = ask->va_block;
	const uvm_va_policy_t *policy = uvm_va_policy_get_region(va_block, ask->region);
	bool is_cpu = UVM_ID_IS_CPU(ask->to);

	facts->faulted = uvmp_nv_pages(ask->faulted, &copy->faulted);
	facts->faulted_region = uvmp_nv_region(ask->region);
	facts->resident = uvmp_nv_pages(resident_of(va_block, ask->to), &copy->resident);
	facts->thrashing = uvmp_nv_pages(uvm_perf_thrashing_get_thrashing_pages(va_block), &copy->thrashing);
	facts->is_first_touch = uvm_processor_mask_empty(&va_block->resident);
	facts->is_hmm = uvm_va_block_is_hmm(va_block);
	if (facts->is_hmm)
		facts->max_region = uvmp_nv_region(
			uvm_hmm_get_prefetch_region(va_block, ask->context->hmm.vma, policy,
						    uvm_va_block_region_start(va_block, ask->region)));
	facts->is_confidential = g_uvm_global.conf_computing_enabled;
	if (facts->is_confidential && !is_cpu)
		facts->cpu_resident =
			uvmp_nv_pages(uvm_va_block_resident_mask_get(va_block, UVM_ID_CPU, NUMA_NO_NODE),
				      &copy->cpu_resident);
	if (is_cpu && !facts->is_hmm)
		facts->cpu_read_mapped =
			uvmp_nv_pages(&va_block->cpu.pte_bits[UVM_PTE_BITS_CPU_READ], &copy->cpu_read);
	facts->has_preferred = UVM_ID_IS_VALID(policy->preferred_location);
	return uvmp_nv_number(space, ask->to, &facts->to) &&
	       uvmp_nv_number(space, policy->preferred_location, &facts->preferred) &&
	       uvmp_geometry_block(&uvmp_nv.geometry, va_block->start, va_block->end, 0, &facts->block) ==
		       UVMP_OK;
}

/* Removes range groups of which no page has faulted. A block can have more range groups than a kernel stack has
 * room for, so the library is told of none. */
static void filter_range_groups(const struct request *ask, const uvmp_mask *faulted,
				struct decision *decision)
{
	uvm_va_block_t *va_block = ask->va_block;
	uvm_va_space_t *va_space = uvm_va_block_get_va_space(va_block);
	uvm_range_group_range_t *group;

	uvm_range_group_for_each_range_in(group, va_space, va_block->start, va_block->end)
	{
		struct uvmp_region region = uvmp_nv_region(
			uvm_va_block_region_from_start_end(va_block, max(group->node.start, va_block->start),
							   min(group->node.end, va_block->end)));

		if (!uvmp_mask_region_any(faulted, region))
			uvmp_mask_region_clear(&decision->hint.pages, region);
	}
	if (uvmp_mask_is_empty(&decision->hint.pages))
		decision->residency = UVM_ID_INVALID;
}

/* Prefetchers that are not the driver's decide for GPUs, about pages that are absent, and the driver also hands
 * over faults on pages that are there. Like the driver's, they move nothing away from a preferred location.
 * False: there is nothing to decide. */
static bool strip(const struct request *ask, struct copies *copy, struct uvmp_prefetch_facts *facts)
{
	if (uvmp_nv.prefetcher->is_driver)
		return true;
	if (uvmp_nv.prefetcher->is_off || UVM_ID_IS_CPU(ask->to) ||
	    (facts->has_preferred && facts->preferred != facts->to))
		return false;
	if (facts->resident != NULL)
		uvmp_mask_andnot(&copy->faulted, facts->faulted, facts->resident);
	else
		copy->faulted = *facts->faulted;
	facts->faulted = &copy->faulted;
	facts->faulted_region = uvmp_mask_bounds(facts->faulted);
	return !uvmp_region_is_empty(facts->faulted_region);
}

/* What the driver's prefetcher leaves out by itself: pages that it was asked about, thrashing pages, and pages of
 * system-allocated memory that may not migrate. */
static void leave_out(const struct request *ask, const struct uvmp_prefetch_facts *facts, uvmp_mask *pages)
{
	uvmp_mask room;

	if (uvmp_nv.prefetcher->is_driver)
		return;
	uvmp_mask_andnot(pages, pages, uvmp_nv_pages(ask->faulted, &room));
	if (facts->thrashing != NULL)
		uvmp_mask_andnot(pages, pages, facts->thrashing);
	if (facts->is_hmm)
		uvmp_mask_region_and(pages, pages, facts->max_region);
}

/* State of the prefetcher; false: no memory. */
static bool read_state(struct uvmp_nv_space *space, const struct request *ask,
		       const struct uvmp_prefetch_facts *facts, const struct decision *decision,
		       struct uvmp_prefetch_state *state)
{
	static const uvmp_mask none;
	const struct uvmp_prefetch_traits *traits = uvmp_nv.prefetcher;
	struct uvmp_nv_block *block;

	uvmp_prefetch_state_init(state);
	if (traits->has_tree || traits->has_random || traits->block_bytes != 0) {
		block = uvmp_nv_block_get(space, ask->va_block);
		if (block == NULL)
			return false;
		*state = block->prefetch;
		if (state->tree != NULL)
			uvmp_tree_assign(state->tree, facts->resident != NULL ? facts->resident : &none);
	}
	if (!uvmp_nv_number(space, decision->last, &state->last_proc))
		return false;
	state->faults = decision->faults;
	return true;
}

/* False: the library cannot decide, and nothing has changed. */
static bool decide(struct uvmp_nv_space *space, const struct request *ask, struct decision *decision)
{
	struct uvmp_prefetch_facts facts = {.faulted = NULL};
	struct uvmp_prefetch_state state;
	struct copies copy;

	decision->residency = UVM_ID_INVALID;
	uvmp_mask_zero(&decision->hint.pages);
	if (!read_facts(space, ask, &copy, &facts))
		return false;
	if (!strip(ask, &copy, &facts))
		return true;
	if (!read_state(space, ask, &facts, decision, &state) ||
	    uvmp_prefetch_decide(&uvmp_nv.policy.prefetch, &facts, &state, &decision->hint) != UVMP_OK)
		return false;
	decision->last = uvmp_nv_id(space, state.last_proc);
	decision->faults = state.faults;
	decision->residency = uvmp_nv_id(space, decision->hint.to);
	leave_out(ask, &facts, &decision->hint.pages);
	if (UVM_ID_IS_VALID(decision->residency))
		filter_range_groups(ask, facts.faulted, decision);
	return true;
}

static void read_info(const uvm_va_block_t *va_block, struct decision *decision)
{
	decision->last = va_block->prefetch_info.last_migration_proc_id;
	decision->faults = va_block->prefetch_info.fault_migrations_to_last_proc;
}

/* -- shadow -- */

/* Only density promises the driver's pages where nothing is prefetched, and the driver's state. */
static void compare(const struct request *ask, const struct decision *own,
		    const uvm_perf_prefetch_hint_t *driver)
{
	const uvm_va_block_t *va_block = ask->va_block;
	bool is_driver = uvmp_nv.prefetcher->is_driver, is_same;
	uvmp_mask room;
	const uvmp_mask *pages = uvmp_nv_pages(&driver->prefetch_pages_mask, &room);

	is_same = uvm_id_equal(own->residency, driver->residency);
	if (is_driver || UVM_ID_IS_VALID(driver->residency))
		is_same &= uvmp_mask_equal(&own->hint.pages, pages);
	if (is_driver)
		is_same &= uvm_id_equal(own->last, va_block->prefetch_info.last_migration_proc_id) &&
			   own->faults == va_block->prefetch_info.fault_migrations_to_last_proc;
	if (!is_same)
		uvmp_nv_differs(UVMP_NV_PREFETCH,
				"block 0x%llx: %u pages to %u of the driver, %u to %u of the library",
				(unsigned long long)va_block->start, uvmp_mask_weight(pages),
				uvm_id_value(driver->residency), uvmp_mask_weight(&own->hint.pages),
				uvm_id_value(own->residency));
}

/* -- the seam -- */

void __wrap_uvm_perf_prefetch_get_hint_va_block(uvm_va_block_t *va_block, uvm_va_block_context_t *context,
						uvm_processor_id_t to, const uvm_page_mask_t *faulted,
						uvm_va_block_region_t region,
						uvm_perf_prefetch_bitmap_tree_t *tree,
						uvm_perf_prefetch_hint_t *hint)
{
	const struct request ask = {va_block, context, to, faulted, region};
	uvm_va_space_t *va_space = uvm_va_block_get_va_space(va_block);
	struct uvmp_nv_space *space = NULL;
	struct decision own;
	bool is_decided = false;

	/* uvm_perf_prefetch_enable=0 and the driver's tests switch prefetching off under any policy. */
	if (uvmp_nv.mode != UVMP_NV_OFF && uvm_perf_prefetch_enabled(va_space))
		space = uvmp_nv_space_of(va_space);
	if (space != NULL) {
		read_info(va_block, &own);
		is_decided = decide(space, &ask, &own);
		if (is_decided)
			uvmp_nv_decided(UVMP_NV_PREFETCH);
		else
			uvmp_nv_left(UVMP_NV_PREFETCH);
	}
	if (is_decided && uvmp_nv.mode == UVMP_NV_DECIDE) {
		uvmp_nv_pages_to(&hint->prefetch_pages_mask, &own.hint.pages);
		hint->residency = own.residency;
		va_block->prefetch_info.last_migration_proc_id = own.last;
		va_block->prefetch_info.fault_migrations_to_last_proc = own.faults;
		return;
	}
	__real_uvm_perf_prefetch_get_hint_va_block(va_block, context, to, faulted, region, tree, hint);
	if (is_decided)
		compare(&ask, &own, hint);
}
