/* Contents that the program does not need. */
#include "pager_internal.h"

#include <sys/mman.h>

static void discard_run(struct uvmp_pager *p, const struct area *area, struct block *block,
			struct uvmp_region run)
{
	uint64_t bytes = pages_bytes(p, run);
	uvmp_mask resident;

	p->store->forget(p->store, pages_store_page(p, area, block, run.first),
			 bytes / UVMP_STORE_PAGE_BYTES);
	uvmp_mask_region_clear(&block->stored, run);
	uvmp_mask_region_clear(&block->cleaned, run);
	if (p->uffd.is_mapped)
		return;
	uvmp_mask_region_and(&resident, &block->resident, run);
	for (run = uvmp_mask_next_run(&resident, 0); run.end != 0;
	     run = uvmp_mask_next_run(&resident, run.end)) {
		if (uffd_protect(&p->uffd, pages_address(p, area, block, run.first), pages_bytes(p, run),
				 true) == 0)
			uvmp_mask_region_clear(&block->dirty, run);
	}
}

static void discard_in_block(struct uvmp_pager *p, const struct area *area, struct block *block,
			     struct uvmp_region rest)
{
	while (rest.first != rest.end) {
		bool is_foreign;
		struct uvmp_region part = pages_next_part(&block->foreign, rest, &is_foreign);

		if (!is_foreign)
			discard_run(p, area, block, part);
		rest.first = part.end;
	}
}

void discard_contents(struct uvmp_pager *p, uint64_t base, uint64_t bytes)
{
	const struct area *area = areas_find(&p->areas, base);
	struct part part;

	for (uint64_t at = base; area_next(area, at, base + bytes, &part); at += part.bytes)
		discard_in_block(p, area, part.block, part.run);
}

/* A page that is resident and missing is one that the program has dropped (take_missing in faults.c). */
void discard_and_zero(struct uvmp_pager *p, uint64_t base, uint64_t bytes)
{
	const struct area *area = areas_find(&p->areas, base);
	uint64_t first = base, some = 0;

	sample_forget(p, base, bytes);
	discard_contents(p, base, bytes);
	messages_drain(p);
	for (; area_next_own(area, first, &first, &some) && first < base + bytes; first += some) {
		some = some < base + bytes - first ? some : base + bytes - first;
		madvise((void *)(uintptr_t)first, some, MADV_DONTNEED);
	}
}
