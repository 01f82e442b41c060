/* The thrashing hint. With UVMP_NV_DECIDE the library's detector takes the place of the driver's: the driver's is
 * not loaded into the VA space, and every function of uvm_perf_thrashing.c that other files call comes here. With
 * UVMP_NV_SHADOW both detectors get the same events and times, and their hints are compared.
 *
 * The detector links the blocks of a VA space (queue of pinned pages), and its lapse adapts for all of them, while
 * the driver holds the VA space lock for reading only: space->lock protects it. */
#include "uvmp_nv.h"

_Static_assert((int)UVM_MAKE_RESIDENT_CAUSE_REPLAYABLE_FAULT == (int)UVMP_MIGRATE_FAULT &&
		       (int)UVM_MAKE_RESIDENT_CAUSE_NON_REPLAYABLE_FAULT ==
			       (int)UVMP_MIGRATE_NON_REPLAYABLE &&
		       (int)UVM_MAKE_RESIDENT_CAUSE_ACCESS_COUNTER == (int)UVMP_MIGRATE_ACCESS_COUNTER &&
		       (int)UVM_MAKE_RESIDENT_CAUSE_PREFETCH == (int)UVMP_MIGRATE_PREFETCH &&
		       (int)UVM_MAKE_RESIDENT_CAUSE_EVICTION == (int)UVMP_MIGRATE_EVICTION &&
		       (int)UVM_MAKE_RESIDENT_CAUSE_API_TOOLS == (int)UVMP_MIGRATE_API_TOOLS &&
		       (int)UVM_MAKE_RESIDENT_CAUSE_API_MIGRATE == (int)UVMP_MIGRATE_API_MIGRATE &&
		       (int)UVM_MAKE_RESIDENT_CAUSE_API_SET_RANGE_GROUP ==
			       (int)UVMP_MIGRATE_API_RANGE_GROUP &&
		       (int)UVM_MAKE_RESIDENT_CAUSE_API_HINT == (int)UVMP_MIGRATE_API_HINT,
	       "causes have the same numbers");
_Static_assert((int)UVM_PERF_THRASHING_HINT_TYPE_NONE == (int)UVMP_THRASH_NONE &&
		       (int)UVM_PERF_THRASHING_HINT_TYPE_PIN == (int)UVMP_THRASH_PIN &&
		       (int)UVM_PERF_THRASHING_HINT_TYPE_THROTTLE == (int)UVMP_THRASH_THROTTLE,
	       "and so have hints");

static bool is_deciding(void)
{
	return uvmp_nv.mode == UVMP_NV_DECIDE;
}

/* -- relations of the processors of a VA space -- */

static uint64_t row_of(const struct uvmp_nv_space *space, const uvm_processor_mask_t *relation,
		       uint32_t number)
{
	return uvmp_nv_set(space, &relation[uvm_id_value(uvmp_nv_id(space, number))]);
}

/* A row includes its own processor, also that of a GPU which is no longer registered. */
static uint64_t row_with_self(const struct uvmp_nv_space *space, const uvm_processor_mask_t *relation,
			      uint32_t number)
{
	return row_of(space, relation, number) | (uint64_t)1 << number;
}

/* Parts of a partitioned GPU have consecutive ids. */
static bool is_part_of_same(const struct uvmp_nv_space *space, uint32_t a, uint32_t b)
{
	return a != b && a != UVMP_CPU && b != UVMP_CPU &&
	       (space->id[a] - 1u) / UVM_PARENT_ID_MAX_SUB_PROCESSORS ==
		       (space->id[b] - 1u) / UVM_PARENT_ID_MAX_SUB_PROCESSORS;
}

/* Peers may be enabled at any time, and few faults hit pages that thrash, so the relations are read for each of
 * them. */
static void read_relations(struct uvmp_nv_space *space)
{
	const uvm_va_space_t *va_space = space->va_space;
	struct uvmp_processors *p = &space->processors;

	p->count = space->count;
	p->no_memory = 0;
	for (uint32_t a = 0; a < space->count; a++) {
		uvm_processor_id_t id = uvmp_nv_id(space, a);

		p->can_access[a] = row_with_self(space, va_space->can_access, a);
		p->fast_link[a] = row_of(space, va_space->has_fast_link, a);
		p->native_atomics[a] = row_with_self(space, va_space->has_native_atomics, a);
		p->smc[a] = 0;
		for (uint32_t b = 0; b < space->count; b++)
			if (is_part_of_same(space, a, b))
				p->smc[a] |= (uint64_t)1 << b;
		if (a != UVMP_CPU && uvm_processor_mask_test(&va_space->registered_gpus, id) &&
		    !uvm_processor_has_memory(id))
			p->no_memory |= (uint64_t)1 << a;
	}
}

/* -- memory of a block -- */

/* Gives the block its array of pages. The block lock is held, space->lock is not: memory may have to be
 * reclaimed. False: no memory, and the event is dropped, as in the driver. */
static bool give_array(struct uvmp_nv_space *space, struct uvmp_nv_block *block)
{
	size_t bytes = uvmp_thrash_array_size(block->thrash.pages);
	void *memory = uvm_kvmalloc(bytes);

	if (memory == NULL)
		return false;
	mutex_lock(&space->lock);
	(void)uvmp_thrash_block_give(&block->thrash, memory, bytes);
	mutex_unlock(&space->lock);
	return true;
}

void uvmp_nv_thrash_forget(struct uvmp_nv_space *space, struct uvmp_nv_block *block)
{
	void *memory = NULL;

	mutex_lock(&space->lock);
	(void)uvmp_thrash_block_end(&space->thrash, &block->thrash);
	(void)uvmp_thrash_block_take(&block->thrash, &memory);
	mutex_unlock(&space->lock);
	uvm_kvfree(memory);
}

/* -- shadow: pages that the driver's worker has unpinned -- */

static const uvmp_mask *drivers_pages(uvm_va_block_t *va_block, uvmp_mask *room)
{
	static const uvmp_mask none;
	const uvm_page_mask_t *pages = __real_uvm_perf_thrashing_get_thrashing_pages(va_block);

	return pages != NULL ? uvmp_nv_pages(pages, room) : &none;
}

/* The driver's worker resets pinned pages at times of its own, under the block lock. In shadow mode the library
 * has no worker, and follows before each event of the block. space->lock is held. */
static void follow_worker(struct uvmp_nv_space *space, struct uvmp_nv_block *block)
{
	uvmp_mask room, unpinned;

	if (is_deciding() || uvmp_mask_is_empty(&block->thrash.pinned))
		return;
	uvmp_mask_andnot(&unpinned, &block->thrash.pinned, drivers_pages(block->va_block, &room));
	for (struct uvmp_region run = uvmp_mask_next_run(&unpinned, 0); run.end != 0;
	     run = uvmp_mask_next_run(&unpinned, run.end))
		(void)uvmp_thrash_reset(&space->thrash, &block->thrash, run);
}

/* -- events -- */

/* One event, in the library's terms. */
struct event {
	uvm_va_block_t *va_block; /* NULL: none of a block */
	struct uvmp_region pages;
	bool is_migration;
	bool is_counted; /* can make pages thrash; the others reset pages */
	uint32_t processor;
	struct uvmp_thrash_migration migration;
};

static bool is_read_duplicated(uvm_va_block_t *va_block)
{
	return !uvm_va_block_is_hmm(va_block) &&
	       va_block->managed_range->policy.read_duplication == UVM_READ_DUPLICATION_ENABLED;
}

static bool read_migration(const struct uvmp_nv_space *space, const uvm_perf_event_data_t *data,
			   struct event *event)
{
	struct uvmp_thrash_migration *migration = &event->migration;
	enum uvmp_thrash_effect effect;

	event->is_migration = true;
	event->pages = uvmp_nv_region(uvm_va_block_region_from_start_size(
		event->va_block, data->migration.address, data->migration.bytes));
	migration->region = event->pages;
	migration->cause = (enum uvmp_migrate_cause)data->migration.cause;
	migration->is_copy = data->migration.transfer_mode != UVM_VA_BLOCK_TRANSFER_MODE_MOVE;
	migration->is_read_duplicated = is_read_duplicated(event->va_block);
	if (!uvmp_nv_number(space, data->migration.dst, &migration->to) ||
	    !uvmp_nv_number(space, data->migration.make_resident_context->dest_id, &migration->final_to))
		return false;
	effect = uvmp_thrash_effect_of(&space->thrash, migration);
	event->is_counted = effect == UVMP_THRASH_COUNTS;
	return effect != UVMP_THRASH_IGNORED;
}

static bool read_revocation(const struct uvmp_nv_space *space, const uvm_perf_event_data_t *data,
			    struct event *event)
{
	event->is_counted = true;
	event->pages = uvmp_nv_region(uvm_va_block_region_from_start_size(
		event->va_block, data->revocation.address, data->revocation.bytes));
	return uvmp_nv_number(space, data->revocation.proc_id, &event->processor);
}

static enum uvmp_status apply(struct uvmp_nv_space *space, struct uvmp_nv_block *block,
			      const struct event *event)
{
	if (event->is_migration)
		return uvmp_thrash_migrate(&space->thrash, &block->thrash, &event->migration);
	return uvmp_thrash_revoke(&space->thrash, &block->thrash, event->pages, event->processor,
				  event->migration.now_ns);
}

static void report(struct uvmp_nv_space *space, struct event *event)
{
	struct uvmp_nv_block *block;
	enum uvmp_status status;

	block = event->is_counted ? uvmp_nv_block_get(space, event->va_block)
				  : uvmp_nv_block_find(space, event->va_block);
	if (block == NULL)
		return;
	if (event->is_counted)
		event->migration.now_ns = uvmp_nv_read_clock(space);
	mutex_lock(&space->lock);
	follow_worker(space, block);
	status = apply(space, block, event);
	mutex_unlock(&space->lock);
	if (status == UVMP_ERR_NO_MEMORY && give_array(space, block)) {
		mutex_lock(&space->lock);
		(void)apply(space, block, event);
		mutex_unlock(&space->lock);
	}
}

static void reset_pages(struct uvmp_nv_space *space, uvm_va_block_t *va_block, struct uvmp_region pages)
{
	struct uvmp_nv_block *block = uvmp_nv_block_find(space, va_block);

	if (block == NULL)
		return;
	mutex_lock(&space->lock);
	follow_worker(space, block);
	(void)uvmp_thrash_reset(&space->thrash, &block->thrash, pages);
	mutex_unlock(&space->lock);
}

/* The VA block that the event is about; NULL if the detector ignores the event. An eviction may hold no VA space
 * lock, so the VA space must not be looked up for it. */
static uvm_va_block_t *block_of(uvm_perf_event_t event, const uvm_perf_event_data_t *data)
{
	if (event == UVM_PERF_EVENT_REVOCATION)
		return data->revocation.block;
	if (event == UVM_PERF_EVENT_BLOCK_MUNMAP)
		return data->block_munmap.block;
	return data->migration.cause != UVM_MAKE_RESIDENT_CAUSE_EVICTION ? data->migration.block : NULL;
}

/* Migrations, revocations and unmapped pages; the block lock is held. In shadow mode this callback was
 * registered before the driver's: it comes first. */
void uvmp_nv_thrash_event(uvm_va_space_t *va_space, uvm_perf_event_t id, uvm_perf_event_data_t *data)
{
	struct event event = {.va_block = block_of(id, data)};
	struct uvmp_nv_space *space = event.va_block != NULL ? uvmp_nv_space_of(va_space) : NULL;

	if (space == NULL)
		return;
	if (id == UVM_PERF_EVENT_BLOCK_MUNMAP)
		reset_pages(space, event.va_block, uvmp_nv_region(data->block_munmap.region));
	else if (id == UVM_PERF_EVENT_MIGRATION ? read_migration(space, data, &event)
						: read_revocation(space, data, &event))
		report(space, &event);
}

/* -- hints -- */

static bool read_facts(struct uvmp_nv_space *space, struct uvmp_nv_block *block,
		       uvm_va_block_context_t *context, NvU64 address, uvm_processor_id_t requester,
		       struct uvmp_thrash_facts *facts)
{
	uvm_va_block_t *va_block = block->va_block;
	uvm_processor_mask_t *residents = &context->scratch_processor_mask;

	facts->page = uvm_va_block_cpu_page_index(va_block, address);
	facts->is_hmm = uvm_va_block_is_hmm(va_block);
	if (!uvmp_nv_number(space, requester, &facts->requester) ||
	    !uvmp_nv_number(space, uvm_va_policy_get(va_block, address)->preferred_location,
			    &facts->preferred))
		return false;
	facts->has_preferred = facts->preferred != UVMP_PROC_NONE;
	if (!uvmp_mask_test(&block->thrash.thrashing, facts->page))
		return true; /* the detector looks at nothing else */
	read_relations(space);
	uvm_va_block_page_resident_processors(va_block, (uvm_page_index_t)facts->page, residents);
	facts->residents = uvmp_nv_set(space, residents);
	return true;
}

static void arm(struct uvmp_nv_space *space, NvU64 now_ns)
{
	uint64_t wait_us = uvmp_thrash_unpin_us(&space->thrash, now_ns);

	if (is_deciding() && wait_us != UVMP_THRASH_IDLE && !space->is_stopping)
		schedule_delayed_work(&space->unpin,
				      usecs_to_jiffies((unsigned int)min_t(NvU64, wait_us, UINT_MAX)));
}

/* UVMP_OK, or a status that says why the library has no hint. */
static enum uvmp_status decide(struct uvmp_nv_space *space, struct uvmp_nv_block *block,
			       uvm_va_block_context_t *context, NvU64 address, uvm_processor_id_t requester,
			       NvU64 now_ns, struct uvmp_thrash_hint *hint)
{
	struct uvmp_thrash_facts facts = {.now_ns = now_ns};
	enum uvmp_status status = UVMP_ERR_RANGE;
	void *memory = NULL;
	bool was_empty;

	mutex_lock(&space->lock);
	follow_worker(space, block);
	was_empty = space->thrash.first == NULL;
	if (read_facts(space, block, context, address, requester, &facts))
		status = uvmp_thrash_decide(&space->thrash, &block->thrash, &space->processors, &facts, hint);
	if (was_empty && space->thrash.first != NULL)
		arm(space, now_ns);
	(void)uvmp_thrash_block_take(&block->thrash, &memory); /* an epoch may have reset the block */
	mutex_unlock(&space->lock);
	uvm_kvfree(memory);
	return status;
}

static void answer(const struct uvmp_nv_space *space, const struct uvmp_thrash_hint *hint,
		   uvm_perf_thrashing_hint_t *to)
{
	to->type = (uvm_perf_thrashing_hint_type_t)hint->kind;
	if (hint->kind == UVMP_THRASH_PIN) {
		to->pin.residency = uvmp_nv_id(space, hint->pin_to);
		uvmp_nv_mask(space, hint->procs, &to->pin.processors);
	} else if (hint->kind == UVMP_THRASH_THROTTLE) {
		to->throttle.end_time_stamp = hint->until_ns;
	}
}

static bool is_same(const uvm_perf_thrashing_hint_t *a, const uvm_perf_thrashing_hint_t *b)
{
	if (a->type != b->type)
		return false;
	if (a->type == UVM_PERF_THRASHING_HINT_TYPE_PIN)
		return uvm_id_equal(a->pin.residency, b->pin.residency) &&
		       uvm_processor_mask_equal(&a->pin.processors, &b->pin.processors);
	return a->type == UVM_PERF_THRASHING_HINT_TYPE_NONE ||
	       a->throttle.end_time_stamp == b->throttle.end_time_stamp;
}

static void compare(struct uvmp_nv_block *block, NvU64 address, const uvm_perf_thrashing_hint_t *driver,
		    const uvm_perf_thrashing_hint_t *library)
{
	uvmp_mask room;

	if (!is_same(driver, library))
		uvmp_nv_differs(UVMP_NV_THRASH, "page 0x%llx: hint %d of the driver, %d of the library",
				(unsigned long long)address, (int)driver->type, (int)library->type);
	else if (!uvmp_mask_equal(drivers_pages(block->va_block, &room), &block->thrash.thrashing))
		uvmp_nv_differs(UVMP_NV_THRASH, "block 0x%llx: thrashing pages",
				(unsigned long long)block->va_block->start);
}

/* The library's hint; NONE where it has none. */
static uvm_perf_thrashing_hint_t hint_of(struct uvmp_nv_space *space, struct uvmp_nv_block *block,
					 uvm_va_block_context_t *context, NvU64 address,
					 uvm_processor_id_t requester, NvU64 now_ns)
{
	uvm_perf_thrashing_hint_t own = {.type = UVM_PERF_THRASHING_HINT_TYPE_NONE};
	struct uvmp_thrash_hint hint;

	if (decide(space, block, context, address, requester, now_ns, &hint) == UVMP_OK) {
		answer(space, &hint, &own);
		uvmp_nv_decided(UVMP_NV_THRASH);
	} else {
		uvmp_nv_left(UVMP_NV_THRASH);
	}
	return own;
}

uvm_perf_thrashing_hint_t __wrap_uvm_perf_thrashing_get_hint(uvm_va_block_t *va_block,
							     uvm_va_block_context_t *context, NvU64 address,
							     uvm_processor_id_t requester)
{
	uvm_perf_thrashing_hint_t driver = {.type = UVM_PERF_THRASHING_HINT_TYPE_NONE}, own = driver;
	struct uvmp_nv_space *space = NULL;
	struct uvmp_nv_block *block = NULL;
	NvU64 now_ns = 0;

	if (uvmp_nv.mode != UVMP_NV_OFF && uvmp_nv.policy.thrash.is_enabled)
		space = uvmp_nv_space_of(uvm_va_block_get_va_space(va_block));
	if (space != NULL)
		block = uvmp_nv_block_find(space, va_block);
	if (block != NULL) {
		now_ns = uvmp_nv_read_clock(space);
		own = hint_of(space, block, context, address, requester, now_ns);
	}
	if (is_deciding())
		return own;
	driver = __real_uvm_perf_thrashing_get_hint(va_block, context, address, requester);
	if (block != NULL)
		compare(block, address, &driver, &own);
	return driver;
}

/* -- what the driver asks of its detector -- */

/* The block lock is held for as long as the driver reads the mask. */
const uvm_page_mask_t *__wrap_uvm_perf_thrashing_get_thrashing_pages(uvm_va_block_t *va_block)
{
	struct uvmp_nv_space *space;
	struct uvmp_nv_block *block;

	if (!is_deciding())
		return __real_uvm_perf_thrashing_get_thrashing_pages(va_block);
	space = uvmp_nv_space_of(uvm_va_block_get_va_space(va_block));
	block = space != NULL ? uvmp_nv_block_find(space, va_block) : NULL;
	if (block == NULL || uvmp_mask_is_empty(&block->thrash.thrashing))
		return NULL;
	return (const uvm_page_mask_t *)(const void *)&block->thrash.thrashing;
}

/* The driver asks for pages that the detector has pinned, right after the hint. */
uvm_processor_mask_t *__wrap_uvm_perf_thrashing_get_thrashing_processors(uvm_va_block_t *va_block,
									 NvU64 address)
{
	static uvm_processor_mask_t none;
	struct uvmp_nv_space *space;
	struct uvmp_nv_block *block;
	uint32_t page;

	if (!is_deciding())
		return __real_uvm_perf_thrashing_get_thrashing_processors(va_block, address);
	space = uvmp_nv_space_of(uvm_va_block_get_va_space(va_block));
	block = space != NULL ? uvmp_nv_block_find(space, va_block) : NULL;
	page = uvm_va_block_cpu_page_index(va_block, address);
	if (block == NULL || !block->thrash.has_pages || !uvmp_mask_test(&block->thrash.begun, page))
		return &none;
	uvmp_nv_mask(space, block->thrash.memory[page].procs, &block->processors);
	return &block->processors;
}

/* -- unpinning -- */

/* Unmaps pinned pages from each processor that has no copy of them and is not "accessed by". */
static NV_STATUS unmap_pinned(struct uvmp_nv_block *block, uvm_va_block_context_t *context,
			      uvm_va_block_region_t region)
{
	uvm_va_block_t *va_block = block->va_block;
	const uvm_va_policy_t *policy = uvm_va_policy_get_region(va_block, region);
	uvm_processor_mask_t *processors = &context->unmap_processors_mask;
	uvm_page_mask_t *pages = &context->caller_page_mask;
	uvm_tracker_t tracker = UVM_TRACKER_INIT();
	NV_STATUS status = NV_OK, tracked;
	uvm_processor_id_t id;

	uvm_processor_mask_andnot(processors, &va_block->mapped, &policy->accessed_by);
	for_each_id_in_mask(id, processors)
	{
		uvmp_mask room, mapped = block->thrash.pinned;

		if (uvm_processor_mask_test(&va_block->resident, id))
			uvmp_mask_andnot(
				&mapped, &mapped,
				uvmp_nv_pages(uvm_va_block_resident_mask_get(va_block, id, NUMA_NO_NODE),
					      &room));
		if (uvmp_mask_is_empty(&mapped))
			continue;
		uvmp_nv_pages_to(pages, &mapped);
		status = uvm_va_block_unmap(va_block, context, id, region, pages, &tracker);
		if (status != NV_OK)
			break;
	}
	tracked = uvm_tracker_add_tracker_safe(&va_block->tracker, &tracker);
	uvm_tracker_deinit(&tracker);
	return status == NV_OK ? tracked : status;
}

NV_STATUS __wrap_uvm_perf_thrashing_unmap_remote_pinned_pages_all(uvm_va_block_t *va_block,
								  uvm_va_block_context_t *context,
								  uvm_va_block_region_t region)
{
	struct uvmp_nv_space *space;
	struct uvmp_nv_block *block;

	if (!is_deciding())
		return __real_uvm_perf_thrashing_unmap_remote_pinned_pages_all(va_block, context, region);
	space = uvmp_nv_space_of(uvm_va_block_get_va_space(va_block));
	block = space != NULL ? uvmp_nv_block_find(space, va_block) : NULL;
	if (block == NULL || uvmp_mask_is_empty(&block->thrash.pinned))
		return NV_OK;
	return unmap_pinned(block, context, region);
}

/* The page at the head of the queue if uvmp_thrash_unpin would unpin it now; else NULL. space->lock is held. */
static const struct uvmp_thrash_page *due_head(const struct uvmp_nv_space *space, NvU64 now_ns)
{
	return uvmp_thrash_unpin_is_due(&space->thrash, now_ns) ? space->thrash.first : NULL;
}

/* The block whose page is at the head of the queue, if the page is due. The VA space lock keeps it alive. */
static uvm_va_block_t *due_block(struct uvmp_nv_space *space)
{
	const struct uvmp_thrash_page *head;
	uvm_va_block_t *va_block = NULL;
	NvU64 now_ns = NV_GETTIME();

	mutex_lock(&space->lock);
	head = due_head(space, now_ns);
	if (head != NULL)
		va_block = ((struct uvmp_nv_block *)(uintptr_t)head->block->id)->va_block;
	else
		arm(space, now_ns);
	mutex_unlock(&space->lock);
	return va_block;
}

/* Page at the head of the queue if it is due and belongs to the block, whose lock is held; else
 * UVMP_MASK_BITS. Only the holder of this lock removes the page from the queue. */
static uint32_t due_page(struct uvmp_nv_space *space, const struct uvmp_nv_block *block, NvU64 now_ns)
{
	const struct uvmp_thrash_page *head;
	uint32_t page = UVMP_MASK_BITS;

	mutex_lock(&space->lock);
	head = due_head(space, now_ns);
	if (head != NULL && head->block == &block->thrash)
		page = (uint32_t)(head - block->thrash.memory);
	mutex_unlock(&space->lock);
	return page;
}

/* Unmaps and unpins the block's pages at the head of the queue. The block lock is held. */
static void unpin_pages(struct uvmp_nv_space *space, struct uvmp_nv_block *block)
{
	struct uvmp_thrash_block *unpinned;
	NvU64 now_ns = NV_GETTIME();
	uint32_t page;
	bool is_found = true;

	while (is_found && (page = due_page(space, block, now_ns)) != UVMP_MASK_BITS) {
		uvm_va_block_context_init(space->context, NULL);
		(void)unmap_pinned(block, space->context,
				   uvm_va_block_region_for_page((uvm_page_index_t)page));
		mutex_lock(&space->lock);
		(void)uvmp_thrash_unpin(&space->thrash, now_ns, &unpinned, &page, &is_found);
		mutex_unlock(&space->lock);
	}
}

static void unpin_work(struct work_struct *work)
{
	struct uvmp_nv_space *space = container_of(to_delayed_work(work), struct uvmp_nv_space, unpin);
	struct uvmp_nv_block *block;
	uvm_va_block_t *va_block;

	uvm_va_space_down_read(space->va_space);
	while (!space->is_stopping && (va_block = due_block(space)) != NULL) {
		if (uvm_va_block_is_hmm(va_block))
			uvm_hmm_migrate_begin_wait(va_block);
		uvm_mutex_lock(&va_block->lock);
		block = uvmp_nv_block_find(space, va_block);
		if (block != NULL)
			unpin_pages(space, block);
		uvm_mutex_unlock(&va_block->lock);
		if (uvm_va_block_is_hmm(va_block))
			uvm_hmm_migrate_finish(va_block);
	}
	uvm_va_space_up_read(space->va_space);
}

static void unpin_entry(struct work_struct *work)
{
	UVM_ENTRY_VOID(unpin_work(work));
}

/* -- VA spaces -- */

void uvmp_nv_thrash_begin(struct uvmp_nv_space *space)
{
	(void)uvmp_thrash_space_init(&space->thrash, &uvmp_nv.policy.thrash);
	INIT_DELAYED_WORK(&space->unpin, unpin_entry);
}

NV_STATUS __wrap_uvm_perf_thrashing_load(uvm_va_space_t *va_space)
{
	NV_STATUS status = NV_OK;

	if (uvmp_nv.mode != UVMP_NV_OFF)
		status = uvmp_nv_space_open(va_space);
	if (status == NV_OK && !is_deciding())
		status = __real_uvm_perf_thrashing_load(va_space);
	return status;
}

void __wrap_uvm_perf_thrashing_register_gpu(uvm_va_space_t *va_space, uvm_gpu_t *gpu)
{
	struct uvmp_nv_space *space = uvmp_nv_space_of(va_space);

	if (space != NULL)
		uvmp_nv_space_add(space, gpu->id);
	if (!is_deciding())
		__real_uvm_perf_thrashing_register_gpu(va_space, gpu);
}

void __wrap_uvm_perf_thrashing_stop(uvm_va_space_t *va_space)
{
	struct uvmp_nv_space *space = uvmp_nv_space_of(va_space);

	if (space != NULL) {
		uvm_va_space_down_write(va_space);
		space->is_stopping = true;
		uvm_va_space_up_write(va_space);
		(void)cancel_delayed_work_sync(&space->unpin);
	}
	if (!is_deciding())
		__real_uvm_perf_thrashing_stop(va_space);
}

void __wrap_uvm_perf_thrashing_unload(uvm_va_space_t *va_space)
{
	if (!is_deciding())
		__real_uvm_perf_thrashing_unload(va_space);
	uvmp_nv_space_close(va_space);
}

/* The driver forgets a block of system-allocated memory. */
void __wrap_uvm_perf_thrashing_info_destroy(uvm_va_block_t *va_block)
{
	struct uvmp_nv_space *space = NULL;

	if (uvmp_nv.mode != UVMP_NV_OFF)
		space = uvmp_nv_space_of(uvm_va_block_get_va_space(va_block));
	if (space != NULL)
		uvmp_nv_block_drop(space, va_block);
	if (!is_deciding())
		__real_uvm_perf_thrashing_info_destroy(va_block);
}

/* -- the driver's built-in tests, which change its detector -- */

NV_STATUS __wrap_uvm_test_get_page_thrashing_policy(UVM_TEST_GET_PAGE_THRASHING_POLICY_PARAMS *params,
						    struct file *filp)
{
	return is_deciding() ? NV_ERR_NOT_SUPPORTED : __real_uvm_test_get_page_thrashing_policy(params, filp);
}

NV_STATUS __wrap_uvm_test_set_page_thrashing_policy(UVM_TEST_SET_PAGE_THRASHING_POLICY_PARAMS *params,
						    struct file *filp)
{
	return is_deciding() ? NV_ERR_NOT_SUPPORTED : __real_uvm_test_set_page_thrashing_policy(params, filp);
}
