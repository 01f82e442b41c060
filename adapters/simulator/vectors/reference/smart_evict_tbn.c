/* TBNe of UVM Smart ([uvmsmart: victim-selection], policy 1): the first victim is that of SL, and the
 * library's closure of its tree names the basic blocks that are evicted with the victim. */
#include "smart_evict_internal.h"

#include "uvmpolicy/evict.h"

static uint32_t evictable_blocks(const struct smart_tree *tree)
{
	uint32_t blocks = 0;

	for (uint32_t b = 0; b < tree->fill.blocks; b++)
		if (smart_is_evictable(tree, smart_block_region(b * UVMP_BASIC_BLOCK_PAGES)))
			blocks |= (uint32_t)1 << b;
	return blocks;
}

void smart_victims_tbn(struct smart_evict *e, uint32_t skip, struct smart_victims *victims)
{
	struct smart_tree *tree;
	uint32_t dropped;

	smart_victims_sl(e, skip, victims);
	if (uvmp_mask_is_empty(&victims->pages))
		return;
	tree = &e->tree[victims->tree];
	dropped = uvmp_evict_tbn_closure(&tree->fill, evictable_blocks(tree));
	for (uint32_t b = 0; b < tree->fill.blocks; b++)
		if ((dropped >> b & 1u) != 0)
			uvmp_mask_region_set(&victims->pages, smart_block_region(b * UVMP_BASIC_BLOCK_PAGES));
}
