/* Numbers below 64 are their own bin. Above, the bin is the power of two and the six bits behind the leading
 * one: 64 bins of equal width for each power, so that a bin is never wider than 1/64 of what it begins with.
 */
#include "spread.h"

#define EXACT 64u /* numbers below have a bin each; and bins of a power of two */
#define BITS  6u  /* of EXACT */

_Static_assert(SPREAD_BINS == EXACT + (64u - BITS) * EXACT, "a bin for every number of 64 bits");

/* Of the leading one; value is not 0. */
static uint32_t power_of(uint64_t value)
{
	uint32_t power = 0;

	for (uint32_t half = 32; half != 0; half /= 2) {
		if (value >> half != 0) {
			value >>= half;
			power += half;
		}
	}
	return power;
}

static uint32_t bin_of(uint64_t value)
{
	uint32_t shift;

	if (value < EXACT)
		return (uint32_t)value;
	shift = power_of(value) - BITS; /* value >> shift is 64..127 */
	return shift * EXACT + (uint32_t)(value >> shift);
}

/* The greatest number of the bin. */
static uint64_t end_of(uint32_t bin)
{
	uint32_t shift;

	if (bin < 2 * EXACT)
		return bin;
	shift = bin / EXACT - 1;
	return ((uint64_t)(bin % EXACT + EXACT) << shift) + ((UINT64_C(1) << shift) - 1);
}

void spread_add(struct spread *spread, uint64_t value)
{
	uint32_t *bin = &spread->bin[bin_of(value)];

	if (spread->count == 0 || value < spread->least)
		spread->least = value;
	if (value > spread->most)
		spread->most = value;
	spread->count++;
	spread->sum = value > UINT64_MAX - spread->sum ? UINT64_MAX : spread->sum + value;
	*bin += *bin != UINT32_MAX;
}

uint64_t spread_percentile(const struct spread *spread, uint32_t percent)
{
	uint64_t rank, below = 0; /* the rank-th smallest number is wanted; percent times count may not fit */

	if (spread->count == 0)
		return 0;
	percent = percent < 100 ? percent : 100;
	rank = spread->count / 100 * percent + (spread->count % 100 * percent + 99) / 100;
	rank = rank != 0 ? rank : 1;
	for (uint32_t bin = 0; bin < SPREAD_BINS; bin++) {
		below += spread->bin[bin];
		if (below >= rank)
			return end_of(bin) < spread->most ? end_of(bin) : spread->most;
	}
	return spread->most; /* full bins hold fewer values than were added */
}

uint64_t spread_mean(const struct spread *spread)
{
	return spread->count != 0 ? spread->sum / spread->count : 0;
}
