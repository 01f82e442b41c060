/* The worker that unpins pages [driver: pin-and-reset]. */
#include "../base/bits_internal.h"
#include "mapping_internal.h"
#include "operations_internal.h"
#include "queue_internal.h"
#include "space_internal.h"

#define UNPINS_MAX 64u

/* What was mapped for the sake of the pin goes. */
static void unpin(struct uvmp_service *s, handle h, uint32_t page)
{
	const struct block *b = block_at(s, h);
	uvmp_mask pages;

	uvmp_mask_zero(&pages);
	uvmp_mask_set(&pages, page);
	uvmpi_mapping_unmap(s, h, &pages, range_of(s, b)->accessed_by | uvmpi_block_holders(s, b, page),
			    because(UVMP_CAUSE_PIN));
	uvmpi_queue(s, UVMP_ACTION_UNPIN, UVMP_CAUSE_PIN, h, &pages);
}

/* The next page of the space whose pin is over; false: none, or there is no space in this slot. */
static bool next_due(struct uvmp_service *s, uint32_t space, handle *block, uint32_t *page)
{
	struct uvmp_thrash_block *of = NULL;
	bool found = false;

	uvmp_thrash_unpin(&s->space[space].thrash, s->now_ns, &of, page, &found);
	if (found)
		*block = (handle)of->id;
	return found;
}

bool uvmpi_unpin_due(struct uvmp_service *s)
{
	/* each page takes an action a processor, and one for itself */
	uint32_t most = minimum(UNPINS_MAX, (UVMP_SERVICE_PENDING_MAX - 1u) / (s->processors.count + 1u));
	uint32_t count = 0, page;
	handle block;

	for (uint32_t i = 0; i < s->spaces_used; i++) {
		while (count < most && next_due(s, i, &block, &page)) {
			unpin(s, block, page);
			count++;
		}
	}
	return count != 0;
}
