#include "counters.h"

#define SUB_BYTES 65536u

static uint32_t minimum32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

bool counters_use(struct host *host, struct sim_block *block, uint32_t page, uint32_t requests)
{
	struct sim_counter *counter = &block->counter;
	uint64_t address = block->shape.start + (uint64_t)page * host->space.page_bytes;
	struct uvmp_note note = {.aperture = UVMP_APERTURE_VID, .tag = block->number};

	counter->sub |= (uint32_t)1 << address % ROOT_BYTES / SUB_BYTES;
	counter->uses += minimum32(host->needs.requests ? requests : 1u, UINT32_MAX - counter->uses);
	if (counter->has_notified ||
	    counter->uses < uvmp_counter_threshold(host->params.run.policy->counter_threshold))
		return false;
	note.address = address / SUB_BYTES * SUB_BYTES;
	note.sub_granularity = counter->sub;
	counter->has_notified = uvmp_service_note(host->service, HOST_GPU, &note) == UVMP_OK;
	return counter->has_notified;
}

/* Numbers of a range's blocks follow each other. */
void counters_clear(struct host *host, const struct uvmp_action *action)
{
	for (size_t r = 0; r < host->space.ranges; r++) {
		struct sim_range *range = host->space.range[r];
		uint32_t at = action->tag - range->block[0].number;

		for (uint64_t b = 0; action->clears_all && b < range->blocks; b++)
			range->block[b].counter = (struct sim_counter){0};
		if (action->clears_all || at >= range->blocks)
			continue;
		range->block[at].counter = (struct sim_counter){0};
		return;
	}
}
