/* Pinning against cyclic thrashing (CASES'20; adapt_cyclic.c has the rule and its source).
 *
 * The engine pins blocks of 2 MiB, whatever the unit of eviction: a block has left when its last page has,
 * and returns when a fault brings pages of it; a prefetch only brings it back. The units of a pinned block
 * are out of the order of eviction, so that choosing a victim costs nothing more; they come back as the
 * newest when the pin ends. Where nothing is left in the order, the oldest pin ends.
 */
#include "service_internal.h"

#define ALIGNMENT 16u

size_t uvmpi_cyclic_size(const struct uvmp_service_params *params)
{
	size_t bytes = params->blocks * sizeof(struct uvmp_cyclic_block);

	return params->policy->cyclic ? (bytes + ALIGNMENT - 1u) / ALIGNMENT * ALIGNMENT : 0;
}

void uvmpi_cyclic_init(struct gpu *g, const struct uvmp_service_params *params, void *memory)
{
	if (params->policy->cyclic)
		(void)uvmp_cyclic_init(
		        &g->cyclic, memory, params->blocks,
		        (uint32_t)(g->capacity_pages / ((uint64_t)g->block_units * g->unit_pages)));
}

static struct uvmp_cyclic_params params_of(const struct uvmp_service *s)
{
	struct uvmp_cyclic_params params;

	uvmp_cyclic_params_init(&params);
	params.share_percent = s->policy.cyclic_share;
	return params;
}

void uvmpi_cyclic_return(struct uvmp_service *s, uint32_t gpu, handle block)
{
	struct gpu *g = &s->gpu[gpu];
	struct uvmp_cyclic_params params = params_of(s);
	uint32_t number = uvmpi_residency_find(s, block_at(s, block), gpu)->memory;
	bool is_fault = block == s->step.block && s->step.cause == UVMP_CAUSE_DEMAND && !s->step.is_follow;
	bool is_pinned, was_pinned = uvmpi_cyclic_is_pinned(g, number);

	if (g->cyclic.block == NULL)
		return;
	(void)uvmp_cyclic_return(&params, &g->cyclic, number, is_fault, &is_pinned);
	if (is_pinned && !was_pinned)
		uvmpi_memory_list(s, gpu, number, false);
}

void uvmpi_cyclic_leave(struct uvmp_service *s, uint32_t gpu, handle block)
{
	struct gpu *g = &s->gpu[gpu];
	struct uvmp_cyclic_params params = params_of(s);
	const struct residency *p = uvmpi_residency_find(s, block_at(s, block), gpu);
	uint32_t number;

	if (g->cyclic.block == NULL || !uvmp_mask_is_empty(&p->resident))
		return;
	(void)uvmp_cyclic_evict(&g->cyclic, p->memory);
	for (;;) {
		(void)uvmp_cyclic_release(&params, &g->cyclic, &number);
		if (number == UINT32_MAX)
			return;
		uvmpi_memory_list(s, gpu, number, true);
	}
}

bool uvmpi_cyclic_give_up(struct uvmp_service *s, uint32_t gpu)
{
	struct gpu *g = &s->gpu[gpu];
	uint32_t number;

	if (g->cyclic.pinned == 0)
		return false;
	number = g->cyclic.oldest - 1u;
	(void)uvmp_cyclic_free(&g->cyclic, number);
	uvmpi_memory_list(s, gpu, number, true);
	return true;
}

void uvmpi_cyclic_forget(struct gpu *g, uint32_t number)
{
	if (g->cyclic.block != NULL)
		(void)uvmp_cyclic_free(&g->cyclic, number);
}
