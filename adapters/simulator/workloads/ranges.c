/* The ranges of a workload: 2 MiB apart, each at a multiple of 2 MiB. */
#include <stdio.h>

#include "workload.h"

#define LARGE_PAGE ((uint64_t)2 << 20)
#define FIRST_BASE ((uint64_t)0x7e0000000000)

void workload_add_range(struct workload *workload, const char *name, uint64_t bytes)
{
	struct source_range *range = &workload->range[workload->ranges];
	uint64_t base = FIRST_BASE;

	if (workload->ranges > 0) {
		uint64_t end = range[-1].base + range[-1].bytes;

		base = (end + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE + LARGE_PAGE;
	}
	range->base = base;
	range->bytes = bytes;
	snprintf(range->name, sizeof(range->name), "%s", name);
	workload->ranges++;
}

void workload_add_fresh(struct workload *workload, const char *name, uint64_t bytes)
{
	workload_add_range(workload, name, bytes);
	workload->range[workload->ranges - 1].is_fresh = true;
}

void workload_add_device(struct workload *workload, const char *name, uint64_t bytes)
{
	workload_add_range(workload, name, bytes);
	workload->range[workload->ranges - 1].is_device = true;
	workload->has_device = true;
}
