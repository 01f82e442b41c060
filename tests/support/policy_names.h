/* Lists of names as error messages print them, from the tables: a new row needs no change of a test. */
#ifndef SUPPORT_POLICY_NAMES_H
#define SUPPORT_POLICY_NAMES_H

#include <stdio.h>
#include <string.h>

#include "uvmpolicy/uvmpolicy.h"

#define POLICY_NAMES_MAX 1024

/* "none density ... auto" of the prefetchers, or "lru lru2m ..." of the eviction orders; then `behind`, such as " oldest". */
static inline const char *policy_names(const char *(*name)(uint32_t), const char *behind)
{
	static char text[POLICY_NAMES_MAX];
	size_t length = 0;

	for (uint32_t i = 0; name(i) != NULL; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s", i != 0 ? " " : "", name(i));
	snprintf(text + length, sizeof(text) - length, "%s", behind);
	return text;
}

static inline const char *prefetcher_at(uint32_t i)
{
	return uvmp_prefetch_name((enum uvmp_prefetcher)i);
}

static inline const char *evictor_at(uint32_t i)
{
	return uvmp_evict_name((enum uvmp_evictor)i);
}

/* "77 is not accepted; 0..9" */
static inline const char *not_accepted(uint32_t value, uint32_t max)
{
	static char text[64];

	snprintf(text, sizeof(text), "%u is not accepted; 0..%u", value, max);
	return text;
}

/* "sequential, locality, ... and forest know one GPU only" */
static inline const char *prefetchers_know_one_gpu(void)
{
	static char text[POLICY_NAMES_MAX];
	const char *last = NULL;
	size_t length = 0;

	for (uint32_t i = 0; i < UVMP_PREFETCH_COUNT; i++) {
		if (!uvmp_prefetch_traits_of((enum uvmp_prefetcher)i)->has_one_gpu)
			continue;
		if (last != NULL)
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s", length != 0 ? ", " : "", last);
		last = prefetcher_at(i);
	}
	snprintf(text + length, sizeof(text) - length, " and %s know one GPU only", last);
	return text;
}

/* "pages of 64 KiB need lru, lru2m, ... or auto": the orders with units of whole pages, and without trees of smaller ones. */
static inline const char *evictors_need(uint32_t page_bytes)
{
	static char text[POLICY_NAMES_MAX];
	size_t length = (size_t)snprintf(text, sizeof(text), "pages of %u KiB need ", page_bytes / 1024u), start = length;
	const char *last = NULL;

	for (uint32_t i = 0; i < UVMP_EVICT_COUNT; i++) {
		const struct uvmp_evict_traits *traits = uvmp_evict_traits_of((enum uvmp_evictor)i);

		if (traits->has_tree || (!traits->has_granularity && traits->unit_pages * 4096u < page_bytes))
			continue;
		if (last != NULL)
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s", length != start ? ", " : "",
						   last);
		last = evictor_at(i);
	}
	snprintf(text + length, sizeof(text) - length, " or %s", last);
	return text;
}

#endif
