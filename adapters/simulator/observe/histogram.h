/* histogram.h: how often values lie in [2^k, 2^(k+1)). */
#ifndef UVMSIM_HISTOGRAM_H
#define UVMSIM_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 65 };

/* Begins as zeros. Bucket 0 counts the value 0, bucket k the values in [2^(k-1), 2^k). */
struct histogram {
	uint64_t count[HISTOGRAM_BUCKETS];
};

static inline void histogram_add(struct histogram *h, uint64_t value, uint64_t times)
{
	h->count[value == 0 ? 0 : 64 - __builtin_clzll(value)] += times;
}

/* The least value of a bucket. */
static inline uint64_t histogram_least(uint32_t bucket)
{
	return bucket == 0 ? 0 : UINT64_C(1) << (bucket - 1);
}

#endif
