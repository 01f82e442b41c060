/* Mappings of a thread; thread_map.h. */
#include "thread_map.h"

#include "thread_pages.h"

/* The CPU's own page tables. */
static void map_cpu(struct thread *t, const struct uvmp_action *a, const struct host_target *target)
{
	const struct model *model = t->system->model;
	uint32_t pages = uvmp_mask_weight(&a->pages);
	struct sim_times *times = t->system->times;

	if (a->kind == UVMP_ACTION_UNMAP)
		thread_work(t, model->unmap_ns + (uint64_t)pages * model->unmap_page_ns, &times->migrate_ns);
	else if (!t->is_fault_of_cpu)
		thread_work(t, model->map_ns + (uint64_t)pages * model->map_page_ns,
			    a->cause == UVMP_CAUSE_EVICTION ? &times->evict_ns : &times->map_ns);
	host_set_rights(target, a);
}

/* With maps_copies, the GPU uses the pages of a victim until its write-back begins: no sooner than the copies that are queued have
 * ended. A use withdraws the victim if it is complete: one run of pages. */
static bool stage(struct thread *t, const struct host_target *target)
{
	struct system *system = t->system;
	struct staged *staged = &system->staged;
	struct staged_victim victim = {.block = target->block, .pages = *target->pages, .is_first = t->is_first_part};

	thread_pages_stage(t, target->block, target->pages);
	victim.begin_ns = link_start_ns(&system->link, MODEL_TO_CPU, t->end_ns);
	if (staged->taken.pages != 0 && staged->taken.pages >= uvmp_mask_weight(target->pages))
		victim.begin_ns = system_later(t->end_ns, staged->taken.begin_ns);
	victim.end_ns = victim.begin_ns;
	if (system_withdraws(system) &&
	    uvmp_region_pages(uvmp_mask_next_run(target->pages, 0)) == uvmp_mask_weight(target->pages) &&
	    !staged_add(staged, &victim, t->now_ns))
		return host_fail(&system->host, "out of memory");
	return true;
}

/* The driver has decided about the rights; the GPU sees them later. A right that is only lowered is one on the same memory. */
static void note_given(const struct uvmp_action *a, const struct host_target *target)
{
	struct sim_block *block = target->block;

	host_set_planes(&block->given_low, &block->given_high, target->pages, a->right);
	if (a->kind == UVMP_ACTION_MAP && a->from == UVMP_CPU)
		uvmp_mask_or(&block->given_remote, &block->given_remote, target->pages);
	else if (a->kind != UVMP_ACTION_REVOKE)
		uvmp_mask_andnot(&block->given_remote, &block->given_remote, target->pages);
}

/* Queues the new rights on pages of the GPU's own memory and on pages on the CPU. */
static void give_pages(struct thread *t, uint64_t at_ns, const struct host_target *target, const uvmp_mask *pages, uint32_t right)
{
	uvmp_mask local, remote;

	uvmp_mask_andnot(&local, pages, &target->block->given_remote);
	uvmp_mask_and(&remote, pages, &target->block->given_remote);
	if (!uvmp_mask_is_empty(&local))
		gpu_map(t->system->gpu, at_ns, target->block, &local, right, false);
	if (!uvmp_mask_is_empty(&remote))
		gpu_map(t->system->gpu, at_ns, target->block, &remote, right, true);
}

/* The GPU sees the change of its page tables at t->end_ns; with maps_copies, pages that arrive or are evicted change with their
 * copies. */
static bool give(struct thread *t, const struct uvmp_action *a, const struct host_target *target)
{
	bool is_map = a->kind == UVMP_ACTION_MAP;
	uvmp_mask rest = *target->pages;

	if (!is_map && t->system->model->maps_copies != 0 && a->cause == UVMP_CAUSE_EVICTION)
		return stage(t, target);
	thread_pages_leave_rest(t);
	if (is_map && a->from != UVMP_CPU)
		thread_pages_map(t, target->block, a->right, &rest);
	give_pages(t, t->end_ns, target, &rest, a->right);
	return true;
}

bool thread_map(struct thread *t, const struct uvmp_action *a, const struct host_target *target)
{
	const struct model *model = t->system->model;
	struct sim_times *times = t->system->times;

	if (a->to != HOST_GPU) {
		map_cpu(t, a, target);
		return true;
	}
	note_given(a, target);
	if (!t->is_fault_of_cpu)
		thread_work(t, model->map_ns + (uint64_t)uvmp_mask_weight(&a->pages) * model->map_page_ns,
			    a->cause == UVMP_CAUSE_EVICTION ? &times->evict_ns : &times->map_ns);
	/* the thread waits until rights are removed; rights are granted after the data */
	t->end_ns = a->kind == UVMP_ACTION_MAP ? system_later(t->now_ns, t->copies_ns) : t->now_ns;
	if (!staged_returns(&t->system->staged, a) && !give(t, a, target))
		return false;
	if (t->batch_pages != 0)
		t->last_ns = system_later(t->last_ns, t->now_ns);
	return true;
}
