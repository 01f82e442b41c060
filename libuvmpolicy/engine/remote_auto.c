/* remote=auto: pages that a GPU has lost by eviction stay mapped to it, and notifications of its access counters say when
 * they return (decisions/counter_return.c). The counters know which parts of a block were used since they were cleared; the
 * state of the block knows it since its pages returned last. */
#include "remote_internal.h"
#include "space_internal.h"

static struct uvmp_region part_at(const struct uvmp_service *s, uint32_t part)
{
	uint32_t pages = s->block_pages / UVMP_REMOTE_PARTS;

	return (struct uvmp_region){part * pages, (part + 1u) * pages};
}

static uint32_t parts_of(const struct uvmp_service *s, const uvmp_mask *pages)
{
	uint32_t parts = 0;

	for (uint32_t i = 0; i < UVMP_REMOTE_PARTS; i++)
		parts |= (uint32_t)uvmpi_mask_region_any(pages, part_at(s, i)) << i;
	return parts;
}

/* The pages of the parts that other processors hold, and the GPU does not. */
static void find_pages(const struct uvmp_service *s, const struct block *b, const struct residency *residency,
		       uint32_t parts, uvmp_mask *pages)
{
	uvmp_mask held;

	uvmpi_mask_zero(&held);
	uvmpi_mask_zero(pages);
	EACH_RESIDENCY (at, s, b)
		uvmpi_mask_or(&held, &held, &at->resident);
	uvmpi_mask_andnot(&held, &held, &residency->resident);
	for (uint32_t i = 0; i < UVMP_REMOTE_PARTS; i++)
		if ((parts >> i & 1u) != 0)
			uvmpi_mask_region_set(pages, part_at(s, i));
	uvmpi_mask_and(pages, pages, &held);
}

bool uvmpi_remote_auto_migrates(const struct uvmp_service *s, const struct block *b,
				struct residency *residency, uint64_t accesses, uvmp_mask *pages)
{
	uvmp_mask used;

	uvmp_remote_add(&residency->use, parts_of(s, pages), accesses);
	find_pages(s, b, residency, residency->use.parts, &used);
	uvmpi_mask_or(pages, pages, &used);
	return uvmp_remote_pays(&residency->use, uvmpi_mask_weight(pages) * s->page_bytes);
}
