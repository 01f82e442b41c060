/* Performs actions, and checks them: pages that an action needs must be there, and pages that it
 * removes or writes must not be mapped. A failed check is a bug of this module or of the engine, and is
 * counted (emu_broken). */
#include "emu_bottom.h"

#include <linux/highmem.h>
#include <linux/mm.h>

/* -- actions on memory -- */

static int attach_to_chunk(struct emu_page *page, u64 address, const struct uvmp_action *a, void *argument)
{
	struct emu_bottom *b = argument;
	u64 at = a->offset + (address - a->address) - (u64)uvmp_mask_next_set(&a->pages, 0) * PAGE_SIZE;
	struct page *frame = emu_frame_get_gpu(emu_gpu_of(b, a->to), at);
	struct emu_page *before;

	if (frame == NULL)
		return -ENOMEM;
	before = (struct emu_page *)page_private(frame);
	if (before != NULL && before != page) {
		if (emu_residency_is_mapped(before, a->to))
			emu_broken(b->driver, "memory that is still mapped is allocated again");
		before->data[a->to] = NULL;
	}
	if (page->data[a->to] != NULL && page->data[a->to] != frame)
		emu_residency_detach(page, a->to);
	if (before != page)
		clear_highpage(frame); /* frames of an evicted root are handed on with their contents */
	emu_residency_attach(page, a->to, frame, (unsigned long)page);
	return 0;
}

/* The engine takes a refused chunk back, and sends no FREE. Pages with data there had been evicted. */
static void drop_chunk(struct emu_bottom *b, const struct uvmp_action *a)
{
	struct emu_gpu *gpu = emu_gpu_of(b, a->to);
	unsigned long at, first = a->offset >> PAGE_SHIFT, pages = a->bytes >> PAGE_SHIFT;
	struct page *frame;

	xa_for_each_range(&gpu->frames, at, frame, first, first + pages - 1u)
	{
		struct emu_page *page = (struct emu_page *)page_private(frame);

		if (page != NULL)
			page->data[a->to] = NULL;
	}
	emu_frame_put_gpu(gpu, a->offset, a->bytes);
}

static enum uvmp_status allocate(struct emu_bottom *b, struct emu_space *space, const struct uvmp_action *a)
{
	if (emu_page_each(space, a, &a->pages, attach_to_chunk, b) != 0) {
		drop_chunk(b, a);
		return UVMP_ERR_NO_MEMORY;
	}
	emu_residency_arriving(b, a);
	return UVMP_OK;
}

static int detach_from_chunk(struct emu_page *page, u64 address, const struct uvmp_action *a, void *argument)
{
	struct emu_bottom *b = argument;

	if (page->data[a->from] == NULL)
		return 0;
	if (emu_residency_is_mapped(page, a->from))
		emu_broken(b->driver, "memory that is still mapped is freed");
	emu_residency_detach(page, a->from);
	return 0;
}

static enum uvmp_status free_chunk(struct emu_bottom *b, struct emu_space *space, const struct uvmp_action *a)
{
	emu_page_each(space, a, &a->pages, detach_from_chunk, b);
	emu_frame_put_gpu(emu_gpu_of(b, a->from), a->offset, a->bytes);
	return UVMP_OK;
}

static int populate_one(struct emu_page *page, u64 address, const struct uvmp_action *a, void *argument)
{
	struct emu_bottom *b = argument;
	enum uvmp_status status = emu_residency_add_frame(b, page, a->to);

	if (status != UVMP_OK)
		return status;
	if (emu_residency_is_mapped(page, a->to))
		emu_broken(b->driver, "a mapped page is cleared");
	clear_highpage(page->data[a->to]);
	return 0;
}

/* A page that is resident on the CPU and was never used has no frame, and reads as zeros. */
static int copy_one(struct emu_page *page, u64 address, const struct uvmp_action *a, void *argument)
{
	struct emu_bottom *b = argument;
	enum uvmp_status status = emu_residency_add_frame(b, page, a->to);

	if (status != UVMP_OK)
		return status;
	if (emu_residency_is_mapped(page, a->to))
		emu_broken(b->driver, "a page is copied to where it is mapped");
	if (emu_residency_is_used(page, a->from, UVMP_RIGHT_READ_WRITE))
		emu_broken(b->driver, "a page is copied while a processor may write it");
	if (page->data[a->from] != NULL)
		copy_highpage(page->data[a->to], page->data[a->from]);
	else if (a->from == UVMP_CPU)
		clear_highpage(page->data[a->to]);
	else
		emu_broken(b->driver, "a page is copied from where it is not");
	cond_resched();
	return 0;
}

/* Moves the pages of a COPY or POPULATE, one transfer after the other. A transfer that fails has moved no page; the
 * others are moved all the same. Returns the first failure. */
static enum uvmp_status move(struct emu_bottom *b, struct emu_space *space, const struct uvmp_action *a,
			     int (*use)(struct emu_page *page, u64 address, const struct uvmp_action *action,
					void *argument))
{
	struct uvmp_region transfer;
	uvmp_mask pages;
	int first = 0;

	emu_residency_arriving(b, a);
	uvmp_mask_zero(&b->moved);
	for (transfer = uvmp_action_next_transfer(a, 0); transfer.end != 0;
	     transfer = uvmp_action_next_transfer(a, transfer.end)) {
		int status;

		uvmp_mask_zero(&pages);
		uvmp_mask_region_set(&pages, transfer);
		status = emu_page_each(space, a, &pages, use, b);
		if (status == 0)
			uvmp_mask_or(&b->moved, &b->moved, &pages);
		else if (first == 0)
			first = status;
	}
	uvmp_mask_andnot(&pages, &a->pages, &b->moved);
	emu_residency_departing(b, a, a->to, &pages);
	return (enum uvmp_status)first;
}

static void count_copy(struct emu_bottom *b, const struct uvmp_action *a)
{
	u32 pages = uvmp_mask_weight(&b->moved);

	if (a->to == UVMP_CPU)
		emu_gpu_of(b, a->from)->stats.pages_out += pages;
	else if (a->from == UVMP_CPU)
		emu_gpu_of(b, a->to)->stats.pages_in += pages;
	else
		emu_gpu_of(b, a->to)->stats.pages_peer += pages;
}

static enum uvmp_status copy(struct emu_bottom *b, struct emu_space *space, const struct uvmp_action *a)
{
	enum uvmp_status status = move(b, space, a, copy_one);

	emu_residency_departing(b, a, a->from, &b->moved);
	count_copy(b, a);
	if (status != UVMP_OK && a->cause == UVMP_CAUSE_EVICTION)
		b->is_evicting = false;
	return status;
}

static enum uvmp_status populate(struct emu_bottom *b, struct emu_space *space, const struct uvmp_action *a)
{
	enum uvmp_status status = move(b, space, a, populate_one);

	if (a->to == UVMP_CPU)
		b->driver->stats.pages_populated += uvmp_mask_weight(&b->moved);
	else
		emu_gpu_of(b, a->to)->stats.pages_populated += uvmp_mask_weight(&b->moved);
	return status;
}

/* -- actions on page tables -- */

static int add_home_frame(struct emu_page *page, u64 address, const struct uvmp_action *a, void *argument)
{
	return emu_residency_add_cpu_frame(argument, page) ? 0 : -ENOMEM;
}

static enum uvmp_status map(struct emu_bottom *b, struct emu_space *space, const struct uvmp_action *a)
{
	if (a->from == UVMP_CPU && emu_page_each(space, a, &a->pages, add_home_frame, b) != 0)
		return UVMP_ERR_NO_MEMORY;
	emu_page_map(space, a);
	return UVMP_OK;
}

int emu_perform_first_use(struct emu_bottom *b, struct emu_space *space, u64 address, enum uvmp_right right)
{
	b->made = (struct uvmp_action){.kind = UVMP_ACTION_MAP,
				       .from = UVMP_CPU,
				       .to = UVMP_CPU,
				       .right = (u8)right,
				       .space = space->id,
				       .address = address & PAGE_MASK,
				       .page_bytes = PAGE_SIZE};
	uvmp_mask_set(&b->made.pages, 0);
	return map(b, space, &b->made) == UVMP_OK ? 0 : -ENOMEM;
}

/* -- actions on GPUs -- */

static enum uvmp_status cancel(struct emu_bottom *b, const struct uvmp_action *a)
{
	bool only_writes = a->cancel_mode == UVMP_CANCEL_WRITE_AND_ATOMIC;
	u32 at;

	if (a->to == UVMP_CPU)
		return UVMP_OK;
	if (uvmp_mask_is_empty(&a->pages)) {
		emu_gpu_cancel(emu_gpu_of(b, a->to), a->space, a->address, only_writes);
		emu_stalled_cancel(b, a->to, a->space, a->address, only_writes);
	}
	for (at = uvmp_mask_next_set(&a->pages, 0); at < UVMP_MASK_BITS;
	     at = uvmp_mask_next_set(&a->pages, at + 1u)) {
		u64 address = a->address + (u64)at * PAGE_SIZE;

		emu_gpu_cancel(emu_gpu_of(b, a->to), a->space, address, only_writes);
		emu_stalled_cancel(b, a->to, a->space, address, only_writes);
	}
	return UVMP_OK;
}

static void count_batch(struct emu_bottom *b, const struct uvmp_action *a)
{
	struct uvmp_emu_stats *stats = &emu_gpu_of(b, a->to)->stats;

	if (a->cause == UVMP_CAUSE_COUNTER)
		return;
	stats->batches++;
	stats->duplicates += a->faults - a->merged_faults;
}

static void throttle(struct emu_bottom *b, const struct uvmp_action *a)
{
	struct uvmp_emu_stats *stats = a->to == UVMP_CPU ? &b->driver->stats : &emu_gpu_of(b, a->to)->stats;

	stats->throttled++;
	b->throttled_ns = a->until_ns;
}

static enum uvmp_status perform_on_gpu(struct emu_bottom *b, const struct uvmp_action *a)
{
	switch ((enum uvmp_action_kind)a->kind) {
	case UVMP_ACTION_BATCH:
		count_batch(b, a);
		break;
	case UVMP_ACTION_FLUSH:
		emu_gpu_flush(emu_gpu_of(b, a->to));
		break;
	case UVMP_ACTION_REPLAY:
		emu_stalled_replay(b, a->to);
		break;
	case UVMP_ACTION_THROTTLE:
		throttle(b, a);
		break;
	case UVMP_ACTION_CANCEL:
		return cancel(b, a);
	case UVMP_ACTION_CLEAR:
		emu_counter_clear(emu_gpu_of(b, a->to), (u32)a->bank, a->tag, a->clears_all);
		break;
	case UVMP_ACTION_TOGGLE:
		emu_gpu_toggle(emu_gpu_of(b, a->to), a->is_on);
		break;
	case UVMP_ACTION_LIMIT: /* without `detail`: warps have no thread blocks here */
		emu_gpu_limit(emu_gpu_of(b, a->to), a->stopped_sms);
		break;
	default: /* logged only; no action runs asynchronously here */
		break;
	}
	return UVMP_OK;
}

static enum uvmp_status perform_on_pages(struct emu_bottom *b, struct emu_space *space,
					 const struct uvmp_action *a)
{
	switch ((enum uvmp_action_kind)a->kind) {
	case UVMP_ACTION_ALLOCATE:
		return b->counts_pages ? UVMP_OK : allocate(b, space, a); /* counted pages get frames on arrival */
	case UVMP_ACTION_POPULATE:
		return populate(b, space, a);
	case UVMP_ACTION_COPY:
		return copy(b, space, a);
	case UVMP_ACTION_MAP:
		return map(b, space, a);
	case UVMP_ACTION_REVOKE:
		emu_page_revoke(space, a);
		break;
	case UVMP_ACTION_UNMAP: /* of copies, when one is written */
		emu_page_unmap(space, a);
		emu_residency_departing(b, a, a->to, &a->pages);
		break;
	case UVMP_ACTION_EVICT:
		emu_residency_evict(b, a);
		break;
	case UVMP_ACTION_DISCARD:
		emu_residency_departing(b, a, a->from, &a->pages);
		break;
	case UVMP_ACTION_FREE:
		return b->counts_pages ? UVMP_OK : free_chunk(b, space, a);
	default:
		break;
	}
	return UVMP_OK;
}

static bool is_on_pages(const struct uvmp_action *a)
{
	return a->kind >= UVMP_ACTION_ALLOCATE && a->kind <= UVMP_ACTION_FREE;
}

enum uvmp_status emu_perform(struct emu_driver *driver, const struct uvmp_action *a)
{
	struct emu_bottom *b = driver->bottom;
	struct emu_space *space;

	emu_residency_end_eviction(b, a);
	emu_residency_settle(b, a->kind == UVMP_ACTION_DONE);
	if (!is_on_pages(a))
		return perform_on_gpu(b, a);
	space = xa_load(&b->spaces, a->space);
	if (space != NULL)
		return perform_on_pages(b, space, a);
	emu_broken(driver, "an action names a closed address space");
	return UVMP_ERR_STATE;
}
