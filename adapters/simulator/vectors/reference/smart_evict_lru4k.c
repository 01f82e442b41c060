/* LRU 4 KiB of UVM Smart ([uvmsmart: victim-selection], policy 5): the first entry of the list, oldest touch
 * first, whose pages may leave. One page leaves, the entry's first; an entry of a larger unit, from before a
 * change of policy, is asked for all its pages all the same [uvmsmart: stale-list-units]. */
#include "smart_evict_internal.h"

/* Also the second half of random 4 KiB, which starts somewhere else. */
void smart_victims_lru4k(struct smart_evict *e, uint32_t skip, struct smart_victims *victims)
{
	uint32_t i = smart_find_evictable(e, skip);

	if (i >= e->entries)
		return;
	victims->tree = e->entry[i].tree;
	victims->first = e->entry[i].first;
	uvmp_mask_set(&victims->pages, victims->first);
	uvmp_tree_sub(&e->tree[victims->tree].fill, victims->first, 1, e->quirks);
}
