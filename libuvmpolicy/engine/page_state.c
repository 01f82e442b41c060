/* What the engine knows of one page. */
#include "../base/sized_internal.h"
#include "space_internal.h"

static void describe(const struct uvmp_service *s, const struct block *b, uint32_t page,
                     struct uvmp_page_state *state)
{
	uint64_t right[3];

	uvmpi_block_mapped(s, b, page, right);
	state->resident = uvmpi_block_holders(s, b, page);
	state->read = right[UVMP_RIGHT_READ - 1u];
	state->write = right[UVMP_RIGHT_READ_WRITE - 1u];
	state->atomic = right[UVMP_RIGHT_READ_WRITE_ATOMIC - 1u];
	state->is_duplicated = block_is_duplicated(s, b, page);
	state->is_discarded = block_is_discarded(s, b, page);
	if (b->thrash != 0) {
		const struct uvmp_thrash_block *t = &thrash_at(s, b->thrash)->block;

		state->is_pinned = uvmp_mask_test(&t->pinned, page);
		state->is_thrashing = uvmp_mask_test(&t->thrashing, page);
	}
}

enum uvmp_status uvmp_service_page(const struct uvmp_service *service, uint64_t space, uvmp_addr address,
                                   struct uvmp_page_state *state)
{
	struct uvmp_page_state found = {0};
	const struct range *r;
	uint32_t slot, index;
	handle h;

	if (!uvmp_service_is_valid(service) || state == NULL)
		return UVMP_ERR_ARGUMENT;
	slot = uvmpi_space_find(service, space);
	index = uvmpi_range_find(service, slot, address);
	if (index == NO_INDEX)
		return UVMP_ERR_UNKNOWN;
	r = &service->range[service->range_order[index]];
	h = uvmpi_block_find(service, slot, address);
	if (h != 0) {
		const struct block *b = block_at(service, h);

		describe(service, b, block_page(service, b, address), &found);
	} else if (r->home == UVMP_CPU) { /* there is no block yet */
		found.resident = 1;
		found.read = 1;
		found.write = r->right >= UVMP_RIGHT_READ_WRITE;
		found.atomic = r->right >= UVMP_RIGHT_READ_WRITE_ATOMIC;
	}
	return uvmpi_sized_write(state, state->size, &found, sizeof(found), sizeof(found.size));
}
