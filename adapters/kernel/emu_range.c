/* Managed ranges of a space, by address: lookup, pieces, removal. */
#include <linux/mm.h>
#include <linux/slab.h>

#include "emu.h"

#define BLOCK_BYTES (2ull << 20)

struct emu_range *emu_range_find(struct emu_space *space, u64 address)
{
	return mtree_load(&space->ranges, address >> PAGE_SHIFT);
}

bool emu_range_covers(struct emu_space *space, u64 address, u64 bytes)
{
	unsigned long first = address >> PAGE_SHIFT, last = first + (bytes >> PAGE_SHIFT) - 1;
	MA_STATE(state, &space->ranges, first, first);
	bool is_covered;

	rcu_read_lock();
	do {
		is_covered = mas_walk(&state) != NULL;
		if (!is_covered || state.last >= last)
			break;
		mas_set(&state, state.last + 1);
	} while (true);
	rcu_read_unlock();
	return is_covered;
}

/* Other threads may add ranges meanwhile; only the worker removes them. */
static struct emu_range *next_piece(struct emu_space *space, u64 *first, u64 *last, u64 end)
{
	MA_STATE(mas, &space->ranges, *first, *first);
	struct emu_range *range;

	mas_lock(&mas);
	range = mas_find(&mas, end);
	*first = mas.index;
	*last = mas.last;
	mas_unlock(&mas);
	return range;
}

int emu_range_each_piece(struct emu_space *space, u64 address, u64 bytes,
			 int (*use)(struct emu_space *space, struct emu_range *range, u64 base, u64 bytes,
				    void *argument),
			 void *argument)
{
	u64 first = address >> PAGE_SHIFT, end = (address + bytes - 1u) >> PAGE_SHIFT, last;

	while (first <= end) {
		struct emu_range *range = next_piece(space, &first, &last, end);
		int result = 0;

		if (range == NULL)
			return 0;
		if (range->is_known)
			result = use(space, range, first << PAGE_SHIFT, (last - first + 1u) << PAGE_SHIFT,
				     argument);
		if (result != 0)
			return result;
		first = last + 1u;
		cond_resched();
	}
	return 0;
}

/* -- removal -- */

/* The range is not in the tree. A thread that found it there holds a GPU's lock. */
void emu_range_drop(struct emu_range *range)
{
	struct emu_driver *driver = range->space->driver;

	for (u32 i = 0; i < driver->params.gpus; i++) {
		spin_lock_irq(&driver->gpu[i].lock);
		spin_unlock_irq(&driver->gpu[i].lock);
	}
	kvfree(range);
}

static void free_page_data(struct emu_driver *driver, struct emu_page *page)
{
	for (u32 gpu = 1; gpu <= driver->params.gpus; gpu++)
		if (page->right[gpu] != UVMP_RIGHT_NONE)
			emu_broken(driver, "a page is freed that a GPU has mapped");
	if (page->data[UVMP_CPU])
		emu_frame_put_cpu(driver, page->data[UVMP_CPU]);
	page->data[UVMP_CPU] = NULL;
}

/* Removing needs memory of the kernel, even if the tree shrinks, and no caller could handle an error. */
void emu_range_remove(struct emu_space *space, u64 address, u64 bytes)
{
	unsigned long first = address >> PAGE_SHIFT, pages = bytes >> PAGE_SHIFT;

	if (mtree_store_range(&space->ranges, first, first + pages - 1, NULL, GFP_KERNEL | __GFP_NOFAIL) != 0)
		emu_broken(space->driver, "a range cannot be removed");
}

void emu_range_free(struct emu_range *range, u64 address, u64 bytes)
{
	struct emu_driver *driver = range->space->driver;

	emu_range_remove(range->space, address, bytes);
	for (u64 at = address; at < address + bytes; at += PAGE_SIZE) {
		free_page_data(driver, emu_range_page(range, at));
		if (at % BLOCK_BYTES == 0)
			cond_resched();
	}
	range->unmapped += bytes >> PAGE_SHIFT;
	if (range->unmapped == range->bytes >> PAGE_SHIFT)
		emu_range_drop(range);
}

/* Other ranges may lie between the pieces, in holes of the range. */
void emu_range_lowest(struct emu_range *range, u64 *address, u64 *bytes)
{
	unsigned long first = range->base >> PAGE_SHIFT,
		      last = (range->base + range->bytes - 1) >> PAGE_SHIFT;
	MA_STATE(state, &range->space->ranges, first, first);
	struct emu_range *found;

	rcu_read_lock();
	do
		found = mas_find(&state, last);
	while (found && found != range);
	*address = (u64)state.index << PAGE_SHIFT;
	*bytes = (u64)(state.last - state.index + 1) << PAGE_SHIFT;
	rcu_read_unlock();
}

void emu_range_zap(struct emu_space *space, u64 address, u64 bytes)
{
	unmap_mapping_range(space->inode->i_mapping, (loff_t)address, (loff_t)bytes, 0);
}
