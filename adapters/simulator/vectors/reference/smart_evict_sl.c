/* SL, 64 KiB, of UVM Smart ([uvmsmart: victim-selection], policy 2): the first entry of the list whose basic
 * block may leave, in group order. So trees out of use lose their blocks first, oldest
 * block first, and a block that was touched long ago is safe while its tree is in use. */
#include "smart_evict_internal.h"

void smart_victims_sl(struct smart_evict *e, uint32_t skip, struct smart_victims *victims)
{
	for (uint32_t i = skip; i < e->entries; i++) {
		const struct smart_entry *entry = &e->entry[i];
		struct smart_tree *tree = &e->tree[entry->tree];
		struct uvmp_region block = smart_block_region(entry->first);

		if (!smart_is_evictable(tree, block))
			continue;
		victims->tree = entry->tree;
		victims->first = block.first;
		uvmp_mask_region_set(&victims->pages, block);
		uvmp_tree_sub(&tree->fill, entry->first, UVMP_BASIC_BLOCK_PAGES, e->quirks);
		return;
	}
}
