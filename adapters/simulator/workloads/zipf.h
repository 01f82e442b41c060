/* zipf.h: numbers by Zipf's law, drawn with integers only, so that every machine draws the same. */
#ifndef UVMSIM_ZIPF_H
#define UVMSIM_ZIPF_H

#include <stdbool.h>
#include <stdint.h>

/* The most numbers; the table has 8 bytes for each. */
#define ZIPF_COUNT_MAX ((uint32_t)1 << 22)
/* The largest exponent, in hundredths. */
#define ZIPF_SKEW_MAX 300u

struct zipf {
	uint32_t count;
	uint64_t *until; /* [count]: sum of the weights up to and with this number's */
};

/* Number k (from 0) has the weight (k + 1)^-(skew / 100), in units of 2^-40, rounded down, but at least one
 * unit. count is 1..ZIPF_COUNT_MAX, skew 0..ZIPF_SKEW_MAX. False: out of memory. */
bool zipf_init(struct zipf *zipf, uint32_t count, uint32_t skew);
/* A number below count. Takes one number from *random. */
uint32_t zipf_draw(const struct zipf *zipf, uint64_t *random);
/* Frees the table; a zeroed struct is fine, too. */
void zipf_close(struct zipf *zipf);

#endif
