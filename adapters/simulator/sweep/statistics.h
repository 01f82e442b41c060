/* statistics.h: is one value different from another, judged by pairs of runs? In whole numbers, so that the answer is the same on
 * every machine.
 *
 * Each pair gives the logarithm of a ratio. If nothing but chance tells the two sides apart, a logarithm is as likely as its
 * negative. Then the means of all subsets of the pairs divide the line into parts that have the true centre with equal
 * probability (Hartigan, JASA 64, 1969). This gives the p value of the test that flips signs at random, and an interval that
 * agrees with it: the interval is without 0 exactly if p is at most 0.05. Fewer than 6 pairs cannot show a difference. */
#ifndef UVMSIM_SWEEP_STATISTICS_H
#define UVMSIM_SWEEP_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATISTICS_BITS 24 /* of fraction, of logarithms to base 2 */
#define STATISTICS_ONE	INT64_C(1000000)

/* log2 of x >= 1, within 2^-23. */
int64_t statistics_log2(uint64_t x);
/* 2^log in millionths, within 2 parts in a million and 1 millionth; at most 2^40 of them. */
int64_t statistics_exp2(int64_t log);

struct statistics {
	size_t pairs, less, equal, more; /* logarithms below, at and above 0 */
	int64_t mean;			 /* of the logarithms: that of the geometric mean of the ratios */
	bool has_interval;
	int64_t low, high; /* 95 % */
	int64_t p;	   /* two-sided, in millionths */
};

/* Up to 14 pairs: all subsets. More: 19,999 subsets that are drawn, always the same. False: out of memory. `log` is 0..2^30 large
 * either way. */
bool statistics_of(const int64_t *log, size_t count, struct statistics *statistics);

#endif
