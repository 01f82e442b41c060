/* emu_page.c: MAP, REVOKE and UNMAP.
 *
 * The page table of a GPU is right[] and on[] of its pages, under the GPU's lock. The CPU has page
 * tables of its own, which faults fill as right[0] and on[0] allow (emu_mapping.c). Changed entries are
 * removed afterwards, and the next access faults and fills the new one. */
#include "emu.h"

/* Change of the mapping of one page. */
typedef void page_change(struct emu_page *page, const struct uvmp_action *action);

static void set(struct emu_page *page, u32 processor, u8 right, u8 on)
{
	page->right[processor] = right;
	page->on[processor] = on;
}

static void do_map(struct emu_page *page, const struct uvmp_action *action)
{
	set(page, action->to, action->right, action->from);
}

static void do_revoke(struct emu_page *page, const struct uvmp_action *action)
{
	if (page->right[action->to] > action->right)
		page->right[action->to] = action->right;
}

static void do_unmap(struct emu_page *page, const struct uvmp_action *action)
{
	set(page, action->to, UVMP_RIGHT_NONE, EMU_UNMAPPED);
}

/* -- the pages of an action ----------------------------------------------------------------------- */

int emu_page_each(struct emu_space *space, const struct uvmp_action *action, const uvmp_mask *pages,
		  int (*use)(struct emu_page *page, u64 address, const struct uvmp_action *action,
			     void *argument),
		  void *argument)
{
	for (u32 at = uvmp_mask_next_set(pages, 0); at < UVMP_MASK_BITS;
	     at = uvmp_mask_next_set(pages, at + 1)) {
		u64 address = action->address + (u64)at * PAGE_SIZE;
		struct emu_page *page = emu_page_find(space, address);
		int result;

		if (!page)
			continue;
		result = use(page, address, action, argument);
		if (result < 0)
			return result;
	}
	return 0;
}

/* -- changing ------------------------------------------------------------------------------------- */

struct work {
	page_change *change;
	uvmp_mask stale; /* pages of which the CPU may have stale entries */
};

static int use(struct emu_page *page, u64 address, const struct uvmp_action *action, void *argument)
{
	struct work *work = argument;
	u8 right = page->right[action->to], on = page->on[action->to];

	work->change(page, action);
	if (page->right[action->to] == right && page->on[action->to] == on)
		return 0;
	if (action->to == UVMP_CPU && page->is_filled) {
		page->is_filled = false;
		uvmp_mask_set(&work->stale, (u32)((address - action->address) >> PAGE_SHIFT));
	}
	return 0;
}

static void change_cpu(struct emu_space *space, const struct uvmp_action *action, struct work *work)
{
	struct uvmp_region run;

	down_write(&space->cpu_lock);
	emu_page_each(space, action, &action->pages, use, work);
	up_write(&space->cpu_lock);
	for (run = uvmp_mask_next_run(&work->stale, 0); run.end > 0;
	     run = uvmp_mask_next_run(&work->stale, run.end))
		emu_range_zap(space, action->address + (u64)run.first * PAGE_SIZE,
			      (u64)uvmp_region_pages(run) * PAGE_SIZE);
}

static void change_gpu(struct emu_space *space, const struct uvmp_action *action, struct work *work)
{
	struct emu_gpu *gpu = &space->driver->gpu[action->to - 1];
	unsigned long flags;

	spin_lock_irqsave(&gpu->lock, flags);
	emu_page_each(space, action, &action->pages, use, work);
	spin_unlock_irqrestore(&gpu->lock, flags);
}

static void perform(struct emu_space *space, const struct uvmp_action *action, page_change *change)
{
	struct work work = {.change = change};

	if (action->to == UVMP_CPU)
		change_cpu(space, action, &work);
	else
		change_gpu(space, action, &work);
}

static int has_frame(struct emu_page *page, u64 address, const struct uvmp_action *action, void *argument)
{
	return page->data[action->from] ? 0 : -ENOENT;
}

void emu_page_map(struct emu_space *space, const struct uvmp_action *action)
{
	if (emu_page_each(space, action, &action->pages, has_frame, NULL) != 0)
		emu_broken(space->driver, "a page is mapped where it has no frame");
	perform(space, action, do_map);
}

void emu_page_revoke(struct emu_space *space, const struct uvmp_action *action)
{
	perform(space, action, do_revoke);
}

void emu_page_unmap(struct emu_space *space, const struct uvmp_action *action)
{
	perform(space, action, do_unmap);
}
