/* Transfers of a thread; thread_copy.h. */
#include "thread_copy.h"

#include "thread_pages.h"

#define BASIC_BLOCK_BYTES 65536u

/* -- memory that copies wait for -- */

/* Evicted memory is allocated again only after the copies of the eviction, unless the plan overlaps both, or
 * memory is freed before it is needed. */
static bool waits_for_evictions(const struct thread *t)
{
	return t->system->model->queues_copies == 0 && t->system->host.params.run.policy->plan == UVMP_PLAN_SERIAL && !t->is_ahead;
}

void thread_wait_for_eviction(struct thread *t)
{
	if (waits_for_evictions(t))
		thread_wait(t, t->evicted_ns, &t->system->times->evict_ns);
	t->evicted_ns = 0;
	t->is_ahead = false;
}

/* Does a copy wait for all memory of its block? Else each arriving page waits only for its own memory. */
static bool waits_for_all(const struct system *system)
{
	const struct uvmp_policy *policy = system->host.params.run.policy;

	return host_has_roots(&system->host) ||
	       (policy->plan == UVMP_PLAN_SERIAL && policy->free_buffer == 0);
}

/* When is the block's memory ready for the first and the last arriving page? Of memory in pages the oldest is used
 * first. */
static struct reclaim_times take_memory(struct thread *t, uint32_t pages)
{
	struct system *system = t->system;

	if (waits_for_all(system))
		return (struct reclaim_times){t->memory_ns, t->memory_ns};
	return reclaim_take(&system->reclaim, pages);
}

/* -- what a submitted copy leaves behind -- */

/* A submitted copy runs while the thread continues; but a channel has a limited number of entries. */
static void push(struct thread *t, uint64_t *sum)
{
	thread_wait(t, t->system->push_ns[t->system->pushes % SYSTEM_PUSHES], sum);
}

static void note_push(struct thread *t, uint64_t end_ns)
{
	t->system->push_ns[t->system->pushes++ % SYSTEM_PUSHES] = end_ns;
	t->end_ns = end_ns;
}

static void note_copy(struct thread *t, uint64_t start_ns, uint64_t end_ns, uint32_t pages)
{
	if (t->batch_pages == 0)
		t->first_copy_ns = start_ns;
	t->last_ns = t->batch_pages == 0 ? end_ns : system_later(t->last_ns, end_ns);
	t->batch_pages += pages;
}

/* Mappings, replays and threads that wait for copies wait for this one. */
static void note_end(struct thread *t, uint64_t end_ns)
{
	t->copies_ns = system_later(t->copies_ns, end_ns);
}

/* With holds_memory, memory is evicted last until its pages have arrived. */
static void hold(struct system *system, const struct sim_block *block, const uvmp_mask *pages, uint64_t until_ns)
{
	if (system->model->holds_memory == 0)
		return;
	for (uint32_t page = uvmp_mask_next_set(pages, 0); page < UVMP_MASK_BITS; page = uvmp_mask_next_set(pages, page + 1u))
		(void)uvmp_service_hold(system->host.service, HOST_GPU, HOST_SPACE,
					block->shape.start + (uint64_t)page * system->model->page_bytes, until_ns);
}

/* -- transfers -- */

/* A copy to the CPU that takes places of withdrawn ones: the link has kept these free. */
static void copy_in_place(struct thread *t)
{
	const struct staged_place *taken = &t->system->staged.taken;

	t->start_ns = system_later(t->now_ns, taken->begin_ns);
	note_push(t, system_later(t->start_ns, taken->end_ns));
}

/* In UVM Smart (queues_copies) copies of a block do not wait for each other. */
static uint64_t copied_ns(const struct system *system, const struct sim_block *block)
{
	return system->model->queues_copies != 0 ? 0 : block->copied_ns;
}

/* The bytes that the push in hand has copied before; 0: the copy begins a push. The driver pushes all pages of a block that go
 * one way together, and the copy engine pipelines them. Their causes and the gaps between them make no difference. */
static uint64_t pushed_bytes(struct thread *t, const struct sim_block *block, enum model_direction direction, uint64_t bytes)
{
	uint64_t pushed = t->push_block == block && t->push_direction == direction ? t->push_bytes : 0;

	if (t->system->model->pipelines_copies == 0)
		return 0;
	t->push_block = block;
	t->push_direction = direction;
	t->push_bytes = pushed + bytes;
	return pushed;
}

/* The last basic block of the copy, `bytes` behind `pushed` bytes of its push, waits for memory until from_ns. */
static uint64_t delay_last(struct thread *t, enum model_direction direction, uint64_t from_ns, uint64_t pushed, uint64_t bytes)
{
	uint64_t last = bytes < BASIC_BLOCK_BYTES ? bytes : BASIC_BLOCK_BYTES;

	return link_delay_pages(&t->system->link, direction, from_ns, pushed + bytes - last, last);
}

/* The write-back of the transfer, which is on the link from t->start_ns to end_ns, takes its pages from the GPU. */
static void leave(struct thread *t, struct sim_block *block, struct uvmp_region transfer, uint64_t end_ns)
{
	thread_pages_leave(t, block, transfer, t->start_ns);
	staged_note_times(&t->system->staged, block, transfer.first, t->start_ns, end_ns);
}

/* When may the eviction's copy begin? */
static uint64_t leaves_ns(const struct thread *t)
{
	if (t->leave_ns != 0)
		return t->leave_ns;
	return t->system->model->waits_to_evict != 0 && waits_for_evictions(t) ? system_later(t->now_ns, t->copies_ns) : t->now_ns;
}

void thread_copy(struct thread *t, const struct uvmp_action *a, struct sim_block *block, struct uvmp_region transfer)
{
	uint32_t pages = uvmp_region_pages(transfer), placed = 0;
	struct system *system = t->system;
	uint64_t bytes = (uint64_t)pages * system->model->page_bytes, start_ns, end_ns, free_ns, pushed;
	bool is_out = a->cause == UVMP_CAUSE_EVICTION;
	enum model_direction direction = a->to == HOST_GPU ? MODEL_TO_GPU : MODEL_TO_CPU;
	uint64_t *sum = is_out ? &system->times->evict_ns : &system->times->migrate_ns;
	struct reclaim_times memory = {0, 0};

	if (direction == MODEL_TO_GPU)
		memory = take_memory(t, pages);
	if (is_out) /* pages in places of withdrawn victims are not in the push */
		placed = staged_place_pages(&system->staged, pages);
	bytes -= (uint64_t)placed * system->model->page_bytes;
	pushed = pushed_bytes(t, block, direction, bytes);
	thread_work(t, (pushed == 0 ? system->model->copy_ns : 0) + (uint64_t)pages * system->model->page_ns, sum);
	push(t, sum);
	if (is_out && placed == pages) {
		copy_in_place(t);
		leave(t, block, transfer, t->end_ns);
		return;
	}
	start_ns = system_later(is_out ? leaves_ns(t) : t->now_ns, copied_ns(system, block));
	start_ns = system_later(start_ns, memory.first_ns);
	start_ns = link_start_ns(&system->link, direction, start_ns);
	t->start_ns = start_ns;
	end_ns = link_copy_pages(&system->link, direction, start_ns, pushed, bytes);
	if (memory.last_ns > start_ns)
		end_ns = delay_last(t, direction, memory.last_ns, pushed, bytes);
	note_push(t, end_ns);
	free_ns = is_out && system->model->frees_at_start != 0 ? start_ns : end_ns;
	block->copied_ns = free_ns; /* the next copy of the block waits until then */
	if (!is_out)
		note_end(t, end_ns);
	else if (waits_for_evictions(t))
		note_end(t, free_ns);
	if (direction == MODEL_TO_GPU) {
		note_copy(t, start_ns, end_ns, pages);
		hold(system, block, &a->pages, end_ns);
		thread_pages_arrive(t, block, &a->pages, transfer, end_ns);
	}
	if (!is_out)
		return;
	leave(t, block, transfer, end_ns);
	reclaim_delay(&system->reclaim, free_ns);
	t->evicted_ns = system_later(t->evicted_ns, free_ns);
	if (host_has_roots(&system->host))
		system->root_ns[t->evict_root] = system_later(system->root_ns[t->evict_root], free_ns);
	else
		t->memory_ns = system_later(t->memory_ns, free_ns);
}

void thread_populate(struct thread *t, const struct uvmp_action *a, struct sim_block *block, uint32_t pages)
{
	struct system *system = t->system;
	uint64_t bytes = (uint64_t)pages * system->model->page_bytes;
	struct reclaim_times memory;

	if (a->to != HOST_GPU) /* the CPU's own, part of cpu_fault_ns */
		return;
	memory = take_memory(t, pages);
	thread_work(t, system->model->copy_ns, &system->times->migrate_ns);
	push(t, &system->times->migrate_ns);
	t->start_ns = system_later(system_later(system->zeroed_ns, t->now_ns), system_later(block->copied_ns, memory.last_ns));
	system->zeroed_ns = t->start_ns + bytes * 1000u / system->model->zero_mb_s;
	block->copied_ns = system->zeroed_ns;
	note_push(t, system->zeroed_ns);
	note_end(t, system->zeroed_ns);
}
