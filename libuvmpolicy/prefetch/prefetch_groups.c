/* Cuts fetched pages into transfers.
 *
 * Every group starts where the last group ended and is a part of one run of pages. By cause (driver): the
 * group ends where demand changes to prefetch or back. Run to fault (UVM Smart [uvmsmart: transfer-split]):
 * it ends after the next faulting page. Single (UVM Smart [uvmsmart: on-demand]): it is one page. In all
 * three a group that ends in a faulting page is a fault group. */
#include "uvmpolicy/prefetch.h"

#include "../base/mask_internal.h"

/* Where the group ends that starts the run. */
static uint32_t group_end(enum uvmp_grouping grouping, struct uvmp_region run, const uvmp_mask *faulted)
{
	if (grouping == UVMP_GROUPING_SINGLE)
		return run.first + 1u;
	if (grouping == UVMP_GROUPING_RUN_TO_FAULT)
		return minimum(run.end, uvmpi_mask_next_set(faulted, run.first) + 1u);
	if (uvmp_mask_test(faulted, run.first))
		return minimum(run.end, uvmpi_mask_next_clear(faulted, run.first));
	return minimum(run.end, uvmpi_mask_next_set(faulted, run.first));
}

/* Stores the group if there is room; the number of groups counts on. */
static void put(struct uvmp_group *group, uint32_t capacity, uint32_t *count, struct uvmp_region pages,
		enum uvmp_group_kind kind)
{
	if (*count < capacity) {
		group[*count].pages = pages;
		group[*count].kind = kind;
	}
	(*count)++;
}

static uint32_t cut(enum uvmp_grouping grouping, const uvmp_mask *pages, const uvmp_mask *faulted,
		    bool latency, struct uvmp_group *group, uint32_t capacity)
{
	struct uvmp_region run;
	uint32_t count = 0;

	for (run = uvmpi_mask_next_run(pages, 0); run.end != 0; run = uvmpi_mask_next_run(pages, run.end)) {
		run.end = group_end(grouping, run, faulted);
		if (uvmp_mask_test(faulted, run.end - 1u)) {
			struct uvmp_region last = {run.end - 1u, run.end};

			if (latency)
				put(group, capacity, &count, last, UVMP_GROUP_LATENCY);
			put(group, capacity, &count, run, UVMP_GROUP_FAULT);
		} else {
			put(group, capacity, &count, run, UVMP_GROUP_PREFETCH);
		}
	}
	return count;
}

enum uvmp_status uvmp_prefetch_groups(enum uvmp_grouping grouping, const uvmp_mask *pages,
				      const uvmp_mask *faulted, bool latency, struct uvmp_group *group,
				      uint32_t capacity, uint32_t *count)
{
	if (pages == NULL || faulted == NULL || count == NULL || (group == NULL && capacity != 0))
		return UVMP_ERR_ARGUMENT;
	if ((uint32_t)grouping > UVMP_GROUPING_SINGLE)
		return UVMP_ERR_RANGE;
	if (grouping == UVMP_GROUPING_BY_CAUSE)
		latency = false; /* the driver has no such thing */
	*count = cut(grouping, pages, faulted, latency, NULL, 0);
	if (*count > capacity)
		return UVMP_ERR_SPACE;
	(void)cut(grouping, pages, faulted, latency, group, capacity);
	return UVMP_OK;
}
