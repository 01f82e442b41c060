/* Access counters: from notifications to pages that move and counters that are cleared [driver:
 * counter-service].
 *
 * A notification names a page and, by the bits of its sub-granularity, the 64 KiB parts around the page that
 * were used. The bits are valid only where virtual and physical neighbours are the same, that is where the
 * closest holder has the whole block in one chunk; elsewhere only the page counts. */
#include "uvmpolicy/counter.h"

#include "../base/bits_internal.h"
#include "../base/processor_internal.h"

#define BLOCK_BYTES   0x200000u
#define PIECE_BYTES   0x10000u /* 2 MiB / 32 */
#define THRESHOLD_MAX 65535u

enum uvmp_status uvmp_counter_derive_sizes(enum uvmp_counter_granularity granularity,
                                           struct uvmp_counter_sizes *sizes)
{
	static const uint8_t sub_shift[] = {16, 16, 19, 29};
	uint32_t row = (uint32_t)granularity - UVMP_COUNTER_64K;

	if (sizes == NULL)
		return UVMP_ERR_ARGUMENT;
	if (row > UVMP_COUNTER_16G - UVMP_COUNTER_64K)
		return UVMP_ERR_RANGE;
	sizes->sub_bytes = (uint64_t)1 << sub_shift[row];
	sizes->translation_bytes = granularity == UVMP_COUNTER_64K ? PIECE_BYTES : BLOCK_BYTES;
	sizes->regions = sizes->sub_bytes < sizes->translation_bytes
	                         ? (uint32_t)(sizes->translation_bytes >> sub_shift[row])
	                         : 1u;
	return UVMP_OK;
}

bool uvmp_counter_is_enabled(int32_t parameter, bool has_ats)
{
	return parameter < 0 ? has_ats : parameter > 0;
}

uint32_t uvmp_counter_max_batch(uint32_t count, uint32_t capacity)
{
	return minimum(count > 0 ? count : 1u, capacity);
}

uint32_t uvmp_counter_threshold(uint32_t threshold)
{
	return minimum(threshold > 0 ? threshold : 1u, THRESHOLD_MAX);
}

bool uvmp_counter_is_serviced(uint32_t page_bytes, bool quirks)
{
	return page_bytes_or_default(page_bytes) != 4096u || !quirks; /* [driver: notifications-drained] */
}

bool uvmp_counter_maps_evicted(bool maps_on_eviction, bool is_enabled)
{
	return maps_on_eviction && is_enabled;
}

/* Facts of zero that stand for others. */
static void complete_facts(struct uvmp_counter_facts *facts)
{
	facts->page_bytes = page_bytes_or_default(facts->page_bytes);
	if ((uint32_t)facts->granularity == 0)
		facts->granularity = UVMP_COUNTER_2M;
}

static enum uvmp_status check_facts(const struct uvmp_processors *processors,
                                    const struct uvmp_counter_facts *facts,
                                    const struct uvmp_counter_note *notes, uint32_t count)
{
	if (facts->gpu == UVMP_CPU || facts->gpu >= processors->count || !is_page_size(facts->page_bytes) ||
	    (uint32_t)facts->granularity > UVMP_COUNTER_16G)
		return UVMP_ERR_RANGE;
	for (uint32_t i = 0; i < count; i++)
		if (notes[i].page >= BLOCK_BYTES / facts->page_bytes)
			return UVMP_ERR_RANGE;
	return UVMP_OK;
}

static uint64_t holders(const struct uvmp_processors *processors, const uvmp_mask *resident, uint32_t page)
{
	uint64_t set = 0;

	for (uint32_t p = 0; p < processors->count; p++)
		set |= (uint64_t)uvmp_mask_test(&resident[p], page) << p;
	return set;
}

/* A page of 2 MiB is the whole block: each piece names it. */
static void pieces_to_pages(uint32_t pieces, uint32_t page_bytes, uvmp_mask *pages)
{
	uint32_t pages_per_piece = PIECE_BYTES / page_bytes;

	uvmp_mask_zero(pages);
	if (pages_per_piece == 0) {
		uvmp_mask_region_set(pages, (struct uvmp_region){0, pieces != 0});
		return;
	}
	for (uint32_t k = 0; k < 32u; k++)
		if ((pieces >> k & 1u) != 0)
			uvmp_mask_region_set(
			        pages, (struct uvmp_region){k * pages_per_piece, (k + 1u) * pages_per_piece});
}

static void add_note(const struct uvmp_processors *processors, const struct uvmp_counter_facts *facts,
                     const struct uvmp_counter_note *note, uvmp_mask *pages)
{
	uint64_t set = holders(processors, facts->resident, note->page);
	uint32_t nearest = uvmpi_closest_processor(processors, facts->gpu, set);
	uvmp_mask named;

	if (nearest == UVMP_PROC_NONE || nearest == facts->gpu)
		return;
	if ((facts->contiguous >> nearest & 1u) == 0) {
		uvmp_mask_set(pages, note->page);
		return;
	}
	pieces_to_pages(note->sub_granularity, facts->page_bytes, &named);
	if (!facts->quirks)
		uvmp_mask_and(&named, &named, &facts->resident[nearest]);
	uvmp_mask_or(pages, pages, &named);
	if (facts->quirks)
		uvmp_mask_and(pages, pages, &facts->resident[nearest]); /* [driver: trimmed-notifications] */
}

enum uvmp_status uvmp_counter_expand(const struct uvmp_processors *processors,
                                     const struct uvmp_counter_facts *facts,
                                     const struct uvmp_counter_note *notes, uint32_t count, uvmp_mask *pages)
{
	struct uvmp_counter_facts full;
	enum uvmp_status status;

	if (!uvmp_processors_is_valid(processors) || facts == NULL || facts->resident == NULL ||
	    (notes == NULL && count > 0) || pages == NULL)
		return UVMP_ERR_ARGUMENT;
	full = *facts;
	complete_facts(&full);
	status = check_facts(processors, &full, notes, count);
	if (status != UVMP_OK)
		return status;
	uvmp_mask_zero(pages);
	if (full.granularity != UVMP_COUNTER_2M)
		return UVMP_OK;
	for (uint32_t i = 0; i < count; i++)
		add_note(processors, &full, &notes[i], pages);
	return UVMP_OK;
}

enum uvmp_status uvmp_counter_filter(uvmp_mask *to, const uvmp_mask *from,
                                     const struct uvmp_counter_block *block)
{
	if (to == NULL || from == NULL || block == NULL || block->resident == NULL)
		return UVMP_ERR_ARGUMENT;
	if (!block->is_mapped) {
		uvmp_mask_zero(to);
		return UVMP_OK;
	}
	uvmp_mask_andnot(to, from, block->resident);
	if (block->fixed != NULL)
		uvmp_mask_andnot(to, to, block->fixed);
	if (block->throttled != NULL)
		uvmp_mask_andnot(to, to, block->throttled);
	return UVMP_OK;
}

enum uvmp_status uvmp_counter_settle(uvmp_mask *to, const uvmp_mask *resident, uint32_t count,
                                     uint64_t *processors, struct uvmp_region *region)
{
	uvmp_mask moved;

	if (to == NULL || resident == NULL || processors == NULL || region == NULL)
		return UVMP_ERR_ARGUMENT;
	if (count > UVMP_PROCS_MAX)
		return UVMP_ERR_RANGE;
	*processors = 0;
	uvmp_mask_zero(&moved);
	for (uint32_t p = 0; p < count; p++) {
		uvmp_mask_andnot(&to[p], &to[p], &resident[p]);
		uvmp_mask_or(&moved, &moved, &to[p]);
		*processors |= (uint64_t)!uvmp_mask_is_empty(&to[p]) << p;
	}
	*region = uvmp_mask_bounds(&moved);
	return UVMP_OK;
}

enum uvmp_counter_clear uvmp_counter_clears(enum uvmp_counter_place place, enum uvmp_status result,
                                            bool quirks)
{
	if (result != UVMP_OK)
		return UVMP_COUNTER_CLEAR_NONE;
	switch (place) {
	case UVMP_COUNTER_BLOCK:
	case UVMP_COUNTER_ATS:
		return UVMP_COUNTER_CLEAR_GROUP;
	case UVMP_COUNTER_NO_BLOCK:
	case UVMP_COUNTER_NOWHERE:
		return quirks ? UVMP_COUNTER_CLEAR_FIRST : UVMP_COUNTER_CLEAR_THIS; /* [driver: clears-first-notification] */
	default:
		return UVMP_COUNTER_CLEAR_NONE;
	}
}

bool uvmp_counter_clears_all(const uint32_t *tags, uint32_t count, bool is_gb100, uint32_t buffers)
{
	if (tags == NULL || !is_gb100 || buffers < 2)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if ((tags[i] & 1u) != 0)
			return true;
	return false;
}
