/* Relations between processors [driver: processors]. The transpose is computed at each query, so a host
 * cannot give two relations that contradict each other. */
#include "processor_internal.h"

#include "bits_internal.h"

static uint64_t all_of(const struct uvmp_processors *processors)
{
	return ~(uint64_t)0 >> (UVMP_PROCS_MAX - processors->count);
}

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
	all = all_of(processors);
	for (uint32_t row = 0; row < processors->count; row++)
		if (!row_is_valid(processors, row, all))
			return false;
	return processors->smc[UVMP_CPU] == 0 && (processors->no_memory & ~all) == 0 &&
	       (processors->no_memory & BIT(UVMP_CPU)) == 0;
}

/* Is the set without processors that do not exist, with `with` and without `without`? False: *fault says what is wrong,
 * but the name and the row. */
static bool is_set(uint64_t set, uint64_t all, uint64_t with, uint64_t without, struct processors_fault *fault)
{
	fault->value = set;
	if ((set & ~all) != 0)
		fault->why = "names a processor that does not exist";
	else if ((set & with) != with)
		fault->why = "must include its own processor";
	else if ((set & without) != 0)
		fault->why = "must not include its own processor";
	else
		return true;
	return false;
}

static bool check_row(const struct uvmp_processors *p, uint32_t row, struct processors_fault *fault)
{
	uint64_t all = all_of(p), own = BIT(row);

	fault->row = row;
	fault->name = "can_access";
	if (!is_set(p->can_access[row], all, own, 0, fault))
		return false;
	fault->name = "fast_link";
	if (!is_set(p->fast_link[row], all, 0, own, fault))
		return false;
	fault->name = "native_atomics";
	if (!is_set(p->native_atomics[row], all, own, 0, fault))
		return false;
	fault->name = "smc";
	if (!is_set(p->smc[row], all, 0, own, fault))
		return false;
	fault->why = "the CPU is no part of a GPU";
	return row != UVMP_CPU || p->smc[row] == 0;
}

bool uvmpi_processors_check(const struct uvmp_processors *p, struct processors_fault *fault)
{
	*fault = (struct processors_fault){.name = "count", .row = UVMP_PROC_NONE, .value = p->count, .why = NULL};
	if (p->count == 0 || p->count > UVMP_PROCS_MAX)
		return false;
	for (uint32_t row = 0; row < p->count; row++)
		if (!check_row(p, row, fault))
			return false;
	*fault = (struct processors_fault){
		.name = "no_memory", .row = UVMP_PROC_NONE, .value = p->no_memory, .why = "the CPU has memory"};
	if ((p->no_memory & BIT(UVMP_CPU)) != 0)
		return false;
	return is_set(p->no_memory, all_of(p), 0, 0, fault);
}

enum uvmp_status uvmp_processors_init(struct uvmp_processors *processors, uint32_t gpus)
{
	uint64_t all, peers;

	if (processors == NULL)
		return UVMP_ERR_ARGUMENT;
	if (gpus >= UVMP_PROCS_MAX)
		return UVMP_ERR_RANGE;
	__builtin_memset(processors, 0, sizeof(*processors));
	processors->count = gpus + 1u;
	all = all_of(processors);
	peers = all & ~BIT(UVMP_CPU);
	processors->can_access[UVMP_CPU] = processors->native_atomics[UVMP_CPU] = BIT(UVMP_CPU);
	for (uint32_t gpu = 1; gpu <= gpus; gpu++) {
		processors->can_access[gpu] = all;
		processors->native_atomics[gpu] = peers;
		processors->fast_link[gpu] = peers & ~BIT(gpu);
	}
	return UVMP_OK;
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
