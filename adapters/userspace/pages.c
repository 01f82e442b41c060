/* Helpers of copies of the pages of a block (pages_in.c, pages_out.c). While a copy runs the program may
 * unmap pages; then they are foreign. */
#include "pager_internal.h"

#include <errno.h>
#include <sys/mman.h>

uint64_t pages_address(const struct uvmp_pager *p, const struct area *area, const struct block *block,
		       uint32_t page)
{
	return area->base + (uint64_t)(block - area->block) * BLOCK_BYTES + (uint64_t)page * p->page_bytes;
}

uint64_t pages_store_page(const struct uvmp_pager *p, const struct area *area, const struct block *block,
			  uint32_t page)
{
	return area->store_page + (pages_address(p, area, block, page) - area->base) / UVMP_STORE_PAGE_BYTES;
}

uint64_t pages_bytes(const struct uvmp_pager *p, struct uvmp_region run)
{
	return (uint64_t)(run.end - run.first) * p->page_bytes;
}

uint32_t pages_first(const struct uvmp_pager *p, const struct uvmp_action *a)
{
	return (uint32_t)(a->address % BLOCK_BYTES / p->page_bytes);
}

struct uvmp_region pages_next_part(const uvmp_mask *set, struct uvmp_region within, bool *is_in)
{
	uint32_t end;

	*is_in = uvmp_mask_test(set, within.first);
	end = *is_in ? uvmp_mask_next_clear(set, within.first) : uvmp_mask_next_set(set, within.first);
	within.end = end < within.end ? end : within.end;
	return within;
}

int pages_note_error(struct uvmp_pager *p, int error)
{
	if (error != 0 && p->error == 0)
		p->error = error;
	if (error != 0 && p->stats.store_error == 0)
		p->stats.store_error = error;
	return error;
}

enum uvmp_status pages_status(int error)
{
	if (error == 0)
		return UVMP_OK;
	if (error == -ENOMEM || error == -ENOSPC || error == -EDQUOT || error == -EFBIG)
		return UVMP_ERR_NO_MEMORY;
	return UVMP_ERR_STATE;
}

/* Unmapping messages are read directly before: nothing slow may happen in between. */
void pages_drop(struct uvmp_pager *p, const struct area *area, struct block *block, struct uvmp_region rest)
{
	messages_drain(p);
	while (rest.first != rest.end) {
		bool is_foreign;
		struct uvmp_region part = pages_next_part(&block->foreign, rest, &is_foreign);

		if (!is_foreign)
			madvise((void *)(uintptr_t)pages_address(p, area, block, part.first),
				pages_bytes(p, part), MADV_DONTNEED);
		rest.first = part.end;
	}
}

void pages_find_present(const struct uvmp_pager *p, const struct area *area, const struct block *block,
			struct uvmp_region run, uvmp_mask *there, uvmp_mask *in_part)
{
	uint32_t parts = p->page_bytes / UVMP_STORE_PAGE_BYTES;
	unsigned char is_there[BLOCK_BYTES / UVMP_STORE_PAGE_BYTES] = {0};

	uvmp_mask_zero(there);
	uvmp_mask_zero(in_part);
	(void)mincore((void *)(uintptr_t)pages_address(p, area, block, run.first), pages_bytes(p, run),
		      is_there);
	for (uint32_t page = run.first; page < run.end; page++) {
		uint32_t count = 0;

		for (uint32_t i = 0; i < parts; i++)
			count += is_there[(page - run.first) * parts + i] & 1u;
		if (count == parts)
			uvmp_mask_set(there, page);
		else if (count != 0)
			uvmp_mask_set(in_part, page);
	}
}
