/* Random 4 KiB of UVM Smart ([uvmsmart: victim-selection], policy 3): one draw names a place in the list
 * behind the reserve; the first page from there on that may leave does. The search does not wrap, so a draw
 * near the end can find nothing. Where the original divides by zero, with nothing outside the reserve,
 * nothing is drawn and nothing leaves. */
#include "smart_evict_internal.h"

void smart_victims_random4k(struct smart_evict *e, uint32_t skip, uint64_t *random,
                            struct smart_victims *victims)
{
	uint64_t places = (uint64_t)e->entries * (100u - e->reserve_percent) / 100u;

	if (places != 0)
		smart_victims_lru4k(e, skip + (uint32_t)uvmp_random_below(random, places), victims);
}
