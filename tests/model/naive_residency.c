/* Where a page lives, row by row of the table [driver: residency-choice]; rights one processor at a time.
 */
#include "naive_residency.h"

#include <string.h>

static bool in(uint64_t set, uint32_t processor)
{
	return processor < 64 && (set >> processor) % 2 == 1;
}

uint32_t naive_closest(const struct uvmp_processors *processors, uint32_t src, uint64_t candidates)
{
	uint32_t n = processors->count;

	if (in(candidates, src))
		return src;
	if (src != 0)
		for (uint32_t p = 1; p < n; p++)
			if (in(candidates, p) && in(processors->smc[src], p))
				return p;
	for (int pass = 0; pass < 2; pass++) {
		uint64_t set = pass == 0 ? processors->fast_link[src] : processors->can_access[src];

		for (uint32_t p = 1; p < n; p++)
			if (in(candidates, p) && in(set, p))
				return p;
		if (in(candidates, 0) && in(set, 0))
			return 0;
	}
	for (uint32_t p = 0; p < n; p++)
		if (in(candidates, p))
			return p;
	return UVMP_PROC_NONE;
}

static bool can_read_dup(const struct uvmp_residency_facts *f)
{
	if (f->duplication == UVMP_DUPLICATION_ENABLED)
		return true;
	if (f->duplication == UVMP_DUPLICATION_UNSET && f->is_duplicated && f->pin == UVMP_PROC_NONE)
		return true;
	return false;
}

static uint32_t highest(uint8_t accesses)
{
	uint32_t access = UVMP_ACCESS_ATOMIC_STRONG;

	while ((accesses & (1 << access)) == 0)
		access--;
	return access;
}

static uint32_t lowest(uint8_t accesses)
{
	uint32_t access = UVMP_ACCESS_PREFETCH;

	while ((accesses & (1 << access)) == 0)
		access++;
	return access;
}

static uint8_t first_match(const struct uvmp_processors *procs, const struct uvmp_residency_facts *f,
                           uint32_t near, uint32_t *dst)
{
	uint32_t p = f->requester;
	bool condition[13] = {false};
	uint32_t result[13] = {0, 0, p, p, p, 0, f->pin, p, near, near, f->preferred, near, p};

	condition[1] =
	        f->is_system_forced || (f->is_hmm && f->is_hmm_fixed) || (f->is_hmm && f->is_hmm_system);
	condition[2] = can_read_dup(f) && highest(f->accesses) <= UVMP_ACCESS_READ;
	condition[3] = can_read_dup(f);
	condition[4] = p == f->preferred;
	condition[5] = p == 0 && f->is_hmm;
	condition[6] = f->pin != UVMP_PROC_NONE;
	condition[7] = near == UVMP_PROC_NONE;
	if (f->preferred < procs->count && in(procs->can_access[p], f->preferred))
		result[7] = f->preferred;
	condition[8] = in(f->accessed_by, p) && in(procs->can_access[p], near) &&
	               f->operation != UVMP_OPERATION_ACCESS_COUNTER;
	condition[9] = f->maps_on_atomics && lowest(f->accesses) >= UVMP_ACCESS_ATOMIC_WEAK && p > 0 &&
	               near > 0 && near < 64 && in(procs->native_atomics[near], p);
	condition[10] = near != p && in(procs->can_access[p], f->preferred);
	condition[11] = p == 0 && in(procs->can_access[0], near) && f->is_foreign;
	condition[12] = true;
	for (uint8_t row = 1;; row++)
		if (condition[row]) {
			*dst = result[row];
			return row;
		}
}

struct uvmp_residency_place naive_residency_select(const struct uvmp_processors *processors,
                                                   const struct uvmp_residency_facts *facts)
{
	struct uvmp_residency_place place;

	memset(&place, 0, sizeof(place));
	place.nearest = naive_closest(processors, facts->requester, facts->resident);
	place.row = first_match(processors, facts, place.nearest, &place.to);
	place.is_duplicate = place.row == 2;
	if (in(processors->no_memory, place.to)) {
		place.to = 0;
		place.is_duplicate = false;
	}
	return place;
}

static bool is_native(const struct uvmp_processors *procs, const struct uvmp_map_facts *f, uint32_t p)
{
	return in(procs->native_atomics[f->to], p);
}

static uint32_t naive_right(const struct uvmp_processors *procs, const struct uvmp_map_facts *f)
{
	static const uint32_t needed[5] = {1, 1, 2, 2, 3};
	uint32_t right = needed[f->access];
	bool can_dup = !f->is_hmm && f->duplication != UVMP_DUPLICATION_DISABLED &&
	               (f->duplication == UVMP_DUPLICATION_ENABLED || f->is_duplicated);

	if (f->right > 1 && right == 1 && !can_dup) {
		uint32_t holders = 0;

		for (uint32_t p = 0; p < procs->count; p++)
			holders += in(f->atomic, p) && !is_native(procs, f, p);
		if (holders == 0)
			right = 2;
	}
	if (f->right == 3 && right == 2 && is_native(procs, f, f->requester))
		right = 3;
	if (f->access <= UVMP_ACCESS_READ && right > 1 && f->is_discarded)
		right = 1;
	return right;
}

/* [driver: block-service], one processor: the right it keeps, or 4 if it loses none. */
static uint32_t kept_by(const struct uvmp_processors *procs, const struct uvmp_map_facts *f, uint32_t right,
                        uint32_t p)
{
	uint32_t has = (uint32_t)in(f->read, p) + (uint32_t)in(f->write, p) + (uint32_t)in(f->atomic, p);
	uint32_t revoked;

	if (f->has_migrated || right < 2 || has == 0 || p == f->requester)
		return 4;
	if ((right == 2 || is_native(procs, f, f->requester)) && is_native(procs, f, p))
		return 4;
	if (f->requester == 0)
		revoked = 3;
	else
		revoked = right == 3 ? 2 : 3;
	return has >= revoked ? revoked - 1 : 4;
}

/* [driver: other-mappings], one processor: is it mapped too? */
static bool is_mapped_too(const struct uvmp_processors *procs, const struct uvmp_map_facts *f, uint32_t p)
{
	if (f->duplication == UVMP_DUPLICATION_ENABLED)
		return false;
	if (f->duplication == UVMP_DUPLICATION_UNSET && f->is_duplicated)
		return false;
	if (!in(f->accessed_by, p) && !in(f->thrashing, p) && !f->is_integrated)
		return false;
	if (!in(procs->can_access[p], f->to) || p == f->requester)
		return false;
	if (p == f->preferred && p != f->to && !in(procs->no_memory, p))
		return false;
	return p != 0 || !f->is_cpu_barred;
}

static uint32_t right_of_other(const struct uvmp_processors *procs, const struct uvmp_map_facts *f,
                               uint32_t max, uint32_t p)
{
	if (max < 3)
		return max;
	if (is_native(procs, f, f->requester))
		return is_native(procs, f, p) ? 3 : 2;
	return f->requester == 0 ? 2 : 1;
}

struct uvmp_map naive_residency_map(const struct uvmp_processors *processors,
                                    const struct uvmp_map_facts *facts)
{
	struct uvmp_map map;

	memset(&map, 0, sizeof(map));
	map.right = (uint8_t)naive_right(processors, facts);
	map.leaves_discarded = map.right == 2 || map.right == 3;
	for (uint32_t p = 0; p < processors->count; p++) {
		uint32_t kept = kept_by(processors, facts, map.right, p);

		if (kept != 4) {
			map.victims |= (uint64_t)1 << p;
			map.left = (uint8_t)kept;
		}
		if (is_mapped_too(processors, facts, p)) {
			uint32_t right = right_of_other(processors, facts, map.right, p);

			if (right == 3) {
				map.others_atomic |= (uint64_t)1 << p;
			} else {
				map.others |= (uint64_t)1 << p;
				map.others_right = (uint8_t)right;
			}
		}
	}
	return map;
}

uint32_t naive_residency_levels(const uvmp_mask level[3], const uvmp_mask *pinned, bool quirks)
{
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t pages = 0, unpinned = 0;

		for (uint32_t page = 0; page < 512; page++)
			if (uvmp_mask_test(&level[i], page)) {
				pages++;
				unpinned += !uvmp_mask_test(pinned, page);
			}
		if (pages > 0 && unpinned == 0 && quirks)
			return i + 1;
	}
	return 3;
}
