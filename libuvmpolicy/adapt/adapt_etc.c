/* Which of ETC's techniques fit the program (Li et al., ASPLOS'19, from its abstract and from Kim et al.,
 * ASPLOS'20, sections 5.2 and 7).
 *
 * ETC distinguishes three classes of programs: regular without data shared between kernels, regular with
 * shared data, and irregular. Proactive eviction frees memory before it is needed. It must predict the time
 * of the need, which fails for irregular programs, so it is off for them. Throttling shrinks the working set.
 * Capacity compression lets memory hold more than its size, here by a given ratio.
 *
 * Assumed. Without sharing, evicted data is not used again, so proactive eviction alone hides all cost.
 * Throttling and compression help where data is used again, in the other two classes. The class follows from
 * the patterns of adapt_pattern.c: ascending without reuse; ascending with reuse; all others. ETC's timing of
 * proactive evictions is a fixed share of free memory here. */
#include "uvmpolicy/adapt.h"

enum uvmp_etc_class uvmp_etc_classify(const enum uvmp_pattern *pattern, uint32_t count)
{
	enum uvmp_etc_class program = UVMP_ETC_REGULAR;

	if (pattern == NULL)
		return program;
	for (uint32_t i = 0; i < count; i++) {
		if (pattern[i] >= UVMP_PATTERN_RANDOM)
			return UVMP_ETC_IRREGULAR;
		if (pattern[i] == UVMP_PATTERN_LINEAR_REUSE)
			program = UVMP_ETC_REGULAR_SHARED;
	}
	return program;
}

uint32_t uvmp_etc_techniques(enum uvmp_etc_class program)
{
	switch (program) {
	case UVMP_ETC_REGULAR:
		return UVMP_ETC_EVICTION;
	case UVMP_ETC_IRREGULAR:
		return UVMP_ETC_THROTTLING | UVMP_ETC_COMPRESSION;
	default:
		return UVMP_ETC_EVICTION | UVMP_ETC_THROTTLING | UVMP_ETC_COMPRESSION;
	}
}

bool uvmp_etc_evicts_ahead(uint32_t techniques, uint64_t free, uint64_t total, uint32_t reserve_percent)
{
	if ((techniques & UVMP_ETC_EVICTION) == 0 || free > total || reserve_percent > 100u)
		return false;
	/* rounded up, so that "fewer than" is exact */
	return free < total / 100u * reserve_percent + (total % 100u * reserve_percent + 99u) / 100u;
}

uint64_t uvmp_etc_capacity(uint32_t techniques, uint64_t bytes, uint32_t ratio_percent, uint32_t page_bytes)
{
	uint64_t extra, part, capacity = bytes;

	if (page_bytes == 0)
		return 0;
	if ((techniques & UVMP_ETC_COMPRESSION) != 0 && ratio_percent > 100u) {
		extra = ratio_percent - 100u;
		part = bytes % 100u * extra / 100u;
		if (bytes > UINT64_MAX - part || bytes / 100u > (UINT64_MAX - bytes - part) / extra)
			capacity = UINT64_MAX;
		else
			capacity = bytes + bytes / 100u * extra + part;
	}
	return capacity - capacity % page_bytes;
}
