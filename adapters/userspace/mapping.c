/* Mappings of areas. */
#include "pager_internal.h"

#include <sys/mman.h>

bool mapping_map(const struct uvmp_pager *p, const struct area *area, uint64_t first, uint64_t bytes)
{
	uint64_t offset = area->store_page * UVMP_STORE_PAGE_BYTES + (first - area->base);

	return mmap((void *)(uintptr_t)first, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		    p->store->fd, (off_t)offset) != MAP_FAILED;
}

/* Memory that is unregistered first sends no message, for which only this thread could be reading. Memory
 * that cannot be unregistered stays mapped. */
void mapping_unmap(struct uvmp_pager *p, const struct area *area)
{
	uint64_t first = area->base, bytes = 0;

	for (; area_next_own(area, first, &first, &bytes); first += bytes) {
		p->store->forget(p->store, area->store_page + (first - area->base) / UVMP_STORE_PAGE_BYTES,
				 bytes / UVMP_STORE_PAGE_BYTES);
		mprotect((void *)(uintptr_t)first, bytes, PROT_NONE); /* a stalled thread must not read zeros */
		if (uffd_unregister(&p->uffd, first, bytes) != 0)
			continue;
		if (p->trace) /* the trace must not see the address again: it stays taken */
			madvise((void *)(uintptr_t)first, bytes, MADV_DONTNEED);
		else
			munmap((void *)(uintptr_t)first, bytes);
	}
}

void mapping_free(struct uvmp_pager *p, struct area *area)
{
	uint64_t ticket = 0;
	enum uvmp_status queued;

	queued = uvmp_service_free_range(p->service, SPACE, area->base, &ticket);
	(void)actions_finish(p, queued, ticket);
	for (uint64_t i = 0; i < area->bytes / BLOCK_BYTES; i++)
		p->stats.resident_bytes -=
			(uint64_t)uvmp_mask_weight(&area->block[i].resident) * p->page_bytes;
	sample_forget(p, area->base, area->bytes);
	trace_file_free(p->trace, area->base);
	if (p->trace && area_usable(area, area->base) != area->bytes)
		areas_retire(&p->areas, area);
	mapping_unmap(p, area);
	areas_remove(&p->areas, area);
}
