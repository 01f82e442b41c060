/* Holds and the choice of a unit that leaves. A protected unit leaves only if no other one can, and never for a withdrawn
 * victim. Held units stop being protected first, as an access ends by itself; then the order alone decides. */
#include "naive_withdraw.h"

#include <assert.h>

static bool is_same(const struct naive_hold *hold, uint32_t gpu, uint32_t block, uint32_t unit)
{
	return hold->gpu == gpu && hold->block == block && hold->unit == unit;
}

void naive_hold(struct naive_holds *holds, uint32_t gpu, uint32_t block, uint32_t unit, uint64_t until_ns)
{
	for (uint32_t i = 0; i < holds->count; i++)
		if (is_same(&holds->hold[i], gpu, block, unit)) {
			if (holds->hold[i].until_ns < until_ns)
				holds->hold[i].until_ns = until_ns;
			return;
		}
	if (until_ns == 0) /* a hold that has ended */
		return;
	assert(holds->count < NAIVE_HOLDS);
	holds->hold[holds->count++] = (struct naive_hold){gpu, block, unit, until_ns};
}

void naive_release(struct naive_holds *holds, uint32_t gpu, uint32_t block)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < holds->count; i++)
		if (holds->hold[i].gpu != gpu || holds->hold[i].block != block)
			holds->hold[kept++] = holds->hold[i];
	holds->count = kept;
}

bool naive_was_held(const struct naive_holds *holds, uint32_t gpu, uint32_t block, uint32_t unit, uint64_t *until_ns)
{
	for (uint32_t i = 0; i < holds->count; i++)
		if (is_same(&holds->hold[i], gpu, block, unit)) {
			*until_ns = holds->hold[i].until_ns;
			return true;
		}
	return false;
}

uint32_t naive_choose(const struct naive_candidate *list, uint32_t count, uint32_t reserve, bool withdraws)
{
	for (uint32_t i = reserve; i < count; i++)
		if (!list[i].is_own && !list[i].is_spared && !list[i].is_held)
			return i;
	if (withdraws)
		return NAIVE_NO_UNIT;
	for (uint32_t i = reserve; i < count; i++)
		if (!list[i].is_own && !list[i].is_spared)
			return i;
	for (uint32_t i = 0; i < count; i++)
		if (!list[i].is_own)
			return i;
	return NAIVE_NO_UNIT;
}
