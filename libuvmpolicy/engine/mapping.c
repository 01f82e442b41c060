/* Mappings of one block: who loses them, and where pages are mapped where they lie. */
#include "../base/bits_internal.h"
#include "../base/processor_internal.h"
#include "mapping_internal.h"
#include "queue_internal.h"
#include "space_internal.h"

/* Unmaps the pages of the set that the processor maps; *mapped: those. False: none. */
static bool unmap(struct residency *p, const uvmp_mask *pages, uvmp_mask *mapped)
{
	uint64_t any = 0, rest = 0;

	if (!p->is_mapped)
		return false;
	UVMPI_EACH_WORD(i) {
		uint64_t low = p->low.word[i], high = p->high.word[i], set = pages->word[i];

		any |= mapped->word[i] = (low | high) & set;
		rest |= p->low.word[i] = low & ~set;
		rest |= p->high.word[i] = high & ~set;
	}
	p->is_mapped = rest != 0;
	return any != 0;
}

void uvmpi_mapping_unmap(struct uvmp_service *s, handle h, const uvmp_mask *pages, uint64_t except,
			 struct reason reason)
{
	const struct block *b = block_at(s, h);
	uvmp_mask mapped;

	EACH_RESIDENCY(p, s, b) {
		struct uvmp_action *a;

		if ((except & BIT(p->proc)) != 0 || !unmap(p, pages, &mapped))
			continue;
		a = uvmpi_queue(s, UVMP_ACTION_UNMAP, (enum uvmp_cause)reason.cause, h, &mapped);
		a->to = p->proc;
		a->for_address = reason.for_address;
	}
}

void uvmpi_mapping_revoke(struct uvmp_service *s, handle h, struct residency *residency,
			  const uvmp_mask *pages, uint8_t right)
{
	struct uvmp_action *a = uvmpi_queue(s, UVMP_ACTION_REVOKE, UVMP_CAUSE_REVOKE, h, pages);

	a->to = residency->proc;
	a->right = right;
	uvmpi_residency_map(residency, pages, right);
}

struct uvmp_action *uvmpi_mapping_map(struct uvmp_service *s, handle h, struct residency *residency,
				      const uvmp_mask *pages, uint8_t right, struct reason reason)
{
	struct uvmp_action *a = uvmpi_queue(s, UVMP_ACTION_MAP, (enum uvmp_cause)reason.cause, h, pages);

	uvmpi_residency_map(residency, pages, right);
	a->to = residency->proc;
	a->right = right;
	a->for_address = reason.for_address;
	a->rule = reason.rule;
	return a;
}

/* Highest right that `proc` may have on a page that lies on `holder` [driver: va-policy] without revoking a right of
 * another processor. If a processor without native atomics there has all rights, `proc` may read. A processor without
 * native atomics gets all rights only if no other processor may write. */
static uint8_t remote_right(const struct uvmp_service *s, const struct block *b, uint32_t page, uint32_t proc,
			    uint32_t holder)
{
	uint64_t native = s->processors.native_atomics[holder], others = ~BIT(proc), right[3];
	uint8_t best = UVMP_RIGHT_READ_WRITE;

	uvmpi_block_mapped(s, b, page, right);
	if ((right[2] & others & ~native) != 0)
		best = UVMP_RIGHT_READ;
	else if ((native & BIT(proc)) != 0 || (right[1] & others) == 0)
		best = UVMP_RIGHT_READ_WRITE_ATOMIC;
	return (uint8_t)minimum(best, range_of(s, b)->right);
}

/* The pages of the set with the holders and the rights of `page`: they are decided alike. */
static void find_alike(const struct uvmp_service *s, const struct block *b, const uvmp_mask *pages, uint32_t page,
		       uvmp_mask *alike)
{
	*alike = *pages;
	EACH_RESIDENCY(p, s, b) {
		uvmpi_mask_keep_same(alike, &p->resident, page);
		uvmpi_mask_keep_same(alike, &p->low, page);
		uvmpi_mask_keep_same(alike, &p->high, page);
	}
}

/* The pages, among those that lie closest on `holder`, on which `proc` gains each right, up to `most`. */
static bool gains_remote(const struct uvmp_service *s, const struct block *b, const uvmp_mask *pages,
			 uint32_t proc, uint32_t holder, uint8_t most, uvmp_mask gain[3])
{
	const struct residency *residency = uvmpi_residency_find(s, b, proc);
	uvmp_mask left = *pages, class;
	bool any = false;

	if (uvmpi_residency_find(s, b, holder) == NULL)
		return false;
	for (int i = 0; i < 3; i++)
		uvmpi_mask_zero(&gain[i]);
	for (uint32_t page = uvmpi_mask_next_set(&left, 0); page < UVMP_MASK_BITS;
	     page = uvmpi_mask_next_set(&left, page)) {
		uint64_t holders = uvmpi_block_holders(s, b, page);
		uint8_t right;

		find_alike(s, b, &left, page, &class);
		uvmpi_mask_andnot(&left, &left, &class);
		if ((holders & BIT(proc)) != 0 ||
		    uvmpi_closest_processor(&s->processors, proc, holders) != holder)
			continue;
		right = (uint8_t)minimum(most, remote_right(s, b, page, proc, holder));
		if (right <= residency_right_or_none(residency, page))
			continue;
		uvmpi_mask_or(&gain[right - 1], &gain[right - 1], &class);
		any = true;
	}
	return any;
}

/* A preferred location, and any processor with read duplication, is only mapped to its own memory
 * [driver: other-mappings]. */
static bool stays_local(const struct uvmp_service *s, const struct range *range, uint32_t proc)
{
	return range->duplication == UVMP_DUPLICATION_ENABLED ||
	       (range->preferred == proc && (s->processors.no_memory & BIT(proc)) == 0);
}

static void map_remote(struct uvmp_service *s, handle h, uint32_t proc, const uvmp_mask *pages, uint8_t most,
		       struct reason reason)
{
	struct block *b = block_at(s, h);
	uvmp_mask gain[3];

	if (stays_local(s, range_of(s, b), proc))
		return;
	for (uint32_t holder = 0; holder < s->processors.count; holder++) {
		struct residency *residency;

		if ((s->processors.can_access[proc] & BIT(holder)) == 0 ||
		    !gains_remote(s, b, pages, proc, holder, most, gain))
			continue;
		residency = uvmpi_residency_make(s, b, proc);
		if (residency == NULL)
			return;
		for (uint8_t right = UVMP_RIGHT_READ; right <= UVMP_RIGHT_READ_WRITE_ATOMIC; right++)
			if (!uvmpi_mask_is_empty(&gain[right - 1]))
				uvmpi_mapping_map(s, h, residency, &gain[right - 1], right, reason)->from =
					(uint8_t)holder;
	}
}

void uvmpi_mapping_map_remote(struct uvmp_service *s, handle h, uint32_t proc, const uvmp_mask *pages,
			      struct reason reason)
{
	map_remote(s, h, proc, pages, UVMP_RIGHT_READ_WRITE_ATOMIC, reason);
}

void uvmpi_mapping_map_reads(struct uvmp_service *s, handle h, uint32_t proc, const uvmp_mask *pages,
			     struct reason reason)
{
	map_remote(s, h, proc, pages, UVMP_RIGHT_READ, reason);
}
