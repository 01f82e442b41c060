/* What a device synchronisation sends back; sync.h. */
#include "sync.h"

static bool next_run(const struct sim_block *block, uint32_t from, struct uvmp_region *run)
{
	uvmp_mask pages;

	uvmp_mask_and(&pages, &block->written, &block->resident);
	*run = uvmp_mask_next_run(&pages, from);
	return run->first < run->end;
}

bool sync_next(const struct space *space, struct sync *sync, uint64_t *address, uint64_t *bytes)
{
	for (; sync->range < space->ranges; sync->range++, sync->block = 0) {
		const struct sim_range *range = space->range[sync->range];

		for (; !range->is_device && sync->block < range->blocks; sync->block++, sync->page = 0) {
			const struct sim_block *block = &range->block[sync->block];
			struct uvmp_region run;

			if (!next_run(block, sync->page, &run))
				continue;
			sync->page = run.end;
			*address = block->shape.start + (uint64_t)run.first * space->page_bytes;
			*bytes = (uint64_t)(run.end - run.first) * space->page_bytes;
			return true;
		}
	}
	return false;
}
