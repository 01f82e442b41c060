/* Recomputes patterns from the log, with the table of [uvmsmart: runtime-engine]. */
#include "naive_pattern.h"

#include <stddef.h>
#include <string.h>

/* Rows: so far, from undecided on; columns: linear, linear_reuse, random, random_reuse. */
#define L  UVMP_PATTERN_LINEAR
#define LR UVMP_PATTERN_LINEAR_REUSE
#define R  UVMP_PATTERN_RANDOM
#define RR UVMP_PATTERN_RANDOM_REUSE
#define M  UVMP_PATTERN_MIXED
#define MR UVMP_PATTERN_MIXED_REUSE
static const enum uvmp_pattern table[7][4] = {
        {L, LR, R, RR},   {L, LR, M, MR}, {LR, LR, MR, MR}, {M, MR, R, RR},
        {MR, MR, RR, RR}, {M, M, M, M},   {MR, MR, MR, MR},
};

enum uvmp_pattern naive_pattern_of(const struct naive_pattern *naive, uint32_t data)
{
	enum uvmp_pattern pattern = UVMP_PATTERN_UNDECIDED;
	bool seen[NAIVE_PATTERN_BLOCKS] = {false};

	for (uint32_t k = 0; k < naive->kernels; k++) {
		bool mine[NAIVE_PATTERN_BLOCKS] = {false};
		bool is_linear = true, is_reused = false, is_empty = true;
		uint32_t last = 0;

		for (uint32_t i = 0; i < naive->records; i++) {
			uint32_t block = naive->record[i].block;

			if (naive->record[i].data != data ||
			    naive->record[i].cycle < naive->kernel[k].launch ||
			    naive->record[i].cycle > naive->kernel[k].end)
				continue;
			is_reused = is_reused || mine[block] || seen[block];
			is_linear = is_linear && block >= last;
			is_empty = false;
			mine[block] = true;
			last = block;
		}
		for (uint32_t b = 0; b < NAIVE_PATTERN_BLOCKS; b++)
			seen[b] = seen[b] || mine[b];
		if (!is_empty)
			pattern = table[pattern][(is_linear ? 0 : 2) + (is_reused ? 1 : 0)];
	}
	return pattern;
}

enum uvmp_pattern_verdict naive_pattern_decide(const struct naive_pattern *naive, uint32_t count)
{
	enum uvmp_pattern_verdict verdict = UVMP_PATTERN_KEEP;

	for (uint32_t i = 0; i < count; i++) {
		enum uvmp_pattern pattern = naive_pattern_of(naive, i);

		if (pattern == R || pattern == RR || pattern == M || pattern == MR)
			return UVMP_PATTERN_REMOTE;
		if (pattern == LR)
			verdict = UVMP_PATTERN_EVICT_TREE;
	}
	return verdict;
}

void naive_pattern_forget(struct naive_pattern *naive, uint32_t data)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < naive->records; i++)
		if (naive->record[i].data != data)
			naive->record[kept++] = naive->record[i];
	naive->records = kept;
}
