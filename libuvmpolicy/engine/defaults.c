/* Parameters that the host leaves 0. */
#include "defaults_internal.h"

#include "uvmpolicy/pmm.h"

#define PAGE_BYTES	 4096u
#define BLOCKS		 1024u
#define SPACES		 64u
#define RANGES		 1024u
#define INSTANCES	 256u
#define REQUESTS	 256u
#define UTLBS		 64u
#define ENTRIES_LEAST	 1024u
#define SPLITS_PER_RANGE 2u /* roots: the first and the last block of a range may be smaller than a root */

static uint32_t or_default(uint32_t given, uint32_t value)
{
	return given != 0 ? given : value;
}

void uvmpi_params_fill(struct uvmp_service_params *params)
{
	params->page_bytes = or_default(params->page_bytes, PAGE_BYTES);
	params->blocks = or_default(params->blocks, BLOCKS);
	params->spaces = or_default(params->spaces, SPACES);
	params->ranges = or_default(params->ranges, RANGES);
	params->instances = or_default(params->instances, INSTANCES);
	params->requests = or_default(params->requests, REQUESTS);
	if (params->processors == NULL)
		params->gpus = or_default(params->gpus, 1);
}

/* A batch fits, and one entry stays free. */
static uint32_t entries(const struct uvmp_policy *policy)
{
	uint32_t batch = policy->replay.max_batch;

	return batch < ENTRIES_LEAST ? ENTRIES_LEAST : batch + 1u;
}

static uint32_t splits(const struct uvmp_service_params *params, uint64_t memory_bytes)
{
	uint64_t roots = uvmpi_params_capacity(params, memory_bytes) / UVMP_ROOT_CHUNK_BYTES;
	uint64_t most = (uint64_t)params->ranges * SPLITS_PER_RANGE; /* below UVMP_SPLITS_MAX */

	return (uint32_t)(most < roots ? most : roots);
}

struct uvmp_service_gpu uvmpi_params_gpu(const struct uvmp_service_params *params, uint32_t gpu)
{
	struct uvmp_service_gpu own;

	(void)uvmpi_params_read_gpu(params, gpu, &own); /* the size was checked */
	own.utlbs = or_default(own.utlbs, UTLBS);
	if (own.fault_entries == 0)
		own.fault_entries = entries(params->policy);
	if (own.splits == 0)
		own.splits = splits(params, own.memory_bytes);
	return own;
}
