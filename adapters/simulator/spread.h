/* spread.h: least, median, greatest and percentiles of a stream of whole numbers, in a fixed small memory. */
#ifndef UVMSIM_SPREAD_H
#define UVMSIM_SPREAD_H

#include <stdint.h>

/* Numbers fall into bins: exact below 64, then 64 of equal width for each power of two. So a percentile is too large by
 * at most 1/64; least, most and sum are exact. */
#define SPREAD_BINS 3776u

struct spread {
	uint64_t count, sum, least, most; /* least and most: 0 if count is 0; sum stays at 2^64 - 1 */
	uint32_t bin[SPREAD_BINS];	  /* stays at 2^32 - 1 */
};

/* `spread` starts as zeros. */
void spread_add(struct spread *spread, uint64_t value);
/* The number that percent (0..100) of all are not above, as the upper end of its bin, but never above the greatest
 * one; 0 if there are none. */
uint64_t spread_percentile(const struct spread *spread, uint32_t percent);
uint64_t spread_mean(const struct spread *spread); /* rounded down; 0 if there are none */

#endif
