/* Pinning against cyclic thrashing (CASES'20; adapt_cyclic.c has the rule and its source).
 *
 * The engine pins blocks of 2 MiB, with every unit of eviction. A block is evicted when its last page is
 * evicted, and returns when a fault fetches pages of it; a prefetch is not a return. The units of a pinned
 * block are out of the order of eviction, so that pins add nothing to the cost of choosing a victim. When a
 * pin ends, the caller (memory_units.c) puts the units back as the newest. If the order is empty, the oldest
 * pin ends.
 */
#include "cyclic_internal.h"

void uvmpi_cyclic_init(struct gpu *g, uint32_t blocks, void *memory)
{
	(void)uvmp_cyclic_init(&g->cyclic, (struct uvmp_cyclic_block *)memory, blocks,
			       (uint32_t)(g->capacity_pages / ((uint64_t)g->block_units * g->unit_pages)));
}

void uvmpi_cyclic_grow(struct gpu *g, uint32_t blocks, void *memory)
{
	struct uvmp_cyclic_block *block = (struct uvmp_cyclic_block *)memory;
	uint32_t before = g->cyclic.blocks;

	__builtin_memcpy(block, g->cyclic.block, before * sizeof(*block));
	__builtin_memset(block + before, 0, (blocks - before) * sizeof(*block));
	g->cyclic.block = block;
	g->cyclic.blocks = blocks;
}

static struct uvmp_cyclic_params params_of(const struct uvmp_service *s)
{
	struct uvmp_cyclic_params params;

	uvmp_cyclic_params_init(&params);
	params.share_percent = s->policy.cyclic_share;
	return params;
}

bool uvmpi_cyclic_return(const struct uvmp_service *s, struct gpu *g, uint32_t number, bool is_fault)
{
	struct uvmp_cyclic_params params = params_of(s);
	bool is_pinned, was_pinned = uvmpi_cyclic_is_pinned(g, number);

	if (g->cyclic.block == NULL)
		return false;
	(void)uvmp_cyclic_return(&params, &g->cyclic, number, is_fault, &is_pinned);
	return is_pinned && !was_pinned;
}

void uvmpi_cyclic_leave(struct gpu *g, uint32_t number)
{
	if (g->cyclic.block != NULL)
		(void)uvmp_cyclic_evict(&g->cyclic, number);
}

uint32_t uvmpi_cyclic_release(const struct uvmp_service *s, struct gpu *g)
{
	struct uvmp_cyclic_params params = params_of(s);
	uint32_t number = NO_INDEX;

	if (g->cyclic.block != NULL)
		(void)uvmp_cyclic_release(&params, &g->cyclic, &number);
	return number;
}

uint32_t uvmpi_cyclic_give_up(struct gpu *g)
{
	uint32_t number = g->cyclic.oldest - 1u;

	if (g->cyclic.pinned == 0)
		return NO_INDEX;
	(void)uvmp_cyclic_free(&g->cyclic, number);
	return number;
}

void uvmpi_cyclic_forget(struct gpu *g, uint32_t number)
{
	if (g->cyclic.block != NULL)
		(void)uvmp_cyclic_free(&g->cyclic, number);
}
