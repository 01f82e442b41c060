/* Relations between processors [driver: processors]. The transpose is computed at each query, so a host
 * cannot give two relations that contradict each other. */
#include "processor_internal.h"

#include "bits_internal.h"

static bool row_is_valid(const struct uvmp_processors *p, uint32_t row, uint64_t all)
{
	uint64_t named = p->can_access[row] | p->fast_link[row] | p->native_atomics[row] | p->smc[row];
	uint64_t holds_itself = p->can_access[row] & p->native_atomics[row];
	uint64_t leaves_itself_out = p->fast_link[row] | p->smc[row];

	return (named & ~all) == 0 && (holds_itself & BIT(row)) != 0 && (leaves_itself_out & BIT(row)) == 0;
}

bool uvmp_processors_is_valid(const struct uvmp_processors *processors)
{
	uint64_t all;

	if (processors == NULL || processors->count == 0 || processors->count > UVMP_PROCS_MAX)
		return false;
	all = ~(uint64_t)0 >> (UVMP_PROCS_MAX - processors->count);
	for (uint32_t row = 0; row < processors->count; row++)
		if (!row_is_valid(processors, row, all))
			return false;
	return processors->smc[UVMP_CPU] == 0 && (processors->no_memory & ~all) == 0 &&
	       (processors->no_memory & BIT(UVMP_CPU)) == 0;
}

static bool has_processor(const struct uvmp_processors *processors, uint32_t processor)
{
	return uvmp_processors_is_valid(processors) && processor < processors->count;
}

uint64_t uvmpi_accessible_from(const struct uvmp_processors *processors, uint32_t processor)
{
	uint64_t from = 0;

	for (uint32_t row = 0; row < processors->count; row++)
		from |= (processors->can_access[row] >> processor & 1u) << row;
	return from;
}

uint64_t uvmp_accessible_from(const struct uvmp_processors *processors, uint32_t processor)
{
	return has_processor(processors, processor) ? uvmpi_accessible_from(processors, processor) : 0;
}

/* The lowest GPU, or the CPU if there is none. */
static uint32_t gpu_first(uint64_t set)
{
	uint64_t gpus = set & ~BIT(UVMP_CPU);

	return lowest_bit(gpus != 0 ? gpus : set);
}

uint32_t uvmpi_closest_of_many(const struct uvmp_processors *processors, uint32_t processor, uint64_t candidates)
{
	if ((candidates & BIT(processor)) != 0)
		return processor;
	if ((candidates & processors->smc[processor]) != 0)
		return lowest_bit(candidates & processors->smc[processor]);
	if ((candidates & processors->fast_link[processor]) != 0)
		return gpu_first(candidates & processors->fast_link[processor]);
	if ((candidates & processors->can_access[processor]) != 0)
		return gpu_first(candidates & processors->can_access[processor]);
	return lowest_bit(candidates);
}

uint32_t uvmp_closest_processor(const struct uvmp_processors *processors, uint32_t processor, uint64_t candidates)
{
	return has_processor(processors, processor) ? uvmpi_closest_processor(processors, processor, candidates)
						    : UVMP_PROC_NONE;
}
