/* Tables of a GPU with a page-wise order (unit_tables_internal.h), in one allocation. They begin with as many blocks as
 * the parameters say, and double when a further block needs a number. */
#include "unit_tables_internal.h"
#include "../adapt/adapt_internal.h"
#include "arena_internal.h"
#include "cyclic_internal.h"
#include "frames_internal.h"
#include "uvmpolicy/plugin.h"

#define TABLE_ALIGNMENT 16u

/* Where each table begins, in bytes. */
struct table_offsets {
	uint64_t block, used, held, cyclic, frames, order, lifetimes, end;
};

uint64_t uvmpi_unit_tables_units(const struct uvmp_policy *policy, uint32_t blocks)
{
	return (uint64_t)blocks * (UVMP_MASK_BITS / uvmp_policy_unit_pages(policy));
}

static uint64_t aligned(uint64_t bytes)
{
	return (bytes + TABLE_ALIGNMENT - 1u) / TABLE_ALIGNMENT * TABLE_ALIGNMENT;
}

/* Bytes of the order itself; 0: too many units. */
static size_t order_bytes(const struct uvmp_policy *policy, uint64_t units)
{
	if (units > UVMP_UNITS_MAX)
		return 0;
	return policy->evict == UVMP_EVICT_PLUGIN ? uvmp_evict_plugin_size(policy->evict_plugin, (uint32_t)units)
						  : uvmp_evict_size(policy->evict, (uint32_t)units);
}

static enum uvmp_status init_order(struct uvmp_evict *order, const struct uvmp_policy *policy, uint32_t units,
				   void *memory, size_t bytes)
{
	return policy->evict == UVMP_EVICT_PLUGIN
		       ? uvmp_evict_init_plugin(order, policy->evict_plugin, policy->evict_value, units, memory, bytes)
		       : uvmp_evict_init(order, policy->evict, units, memory, bytes);
}

/* Units that can be held: large pages, and basic blocks of orders that learn from accesses. */
static uint64_t held_units(const struct uvmp_policy *policy, uint64_t blocks, uint64_t units)
{
	if (units == blocks)
		return units;
	return uvmp_policy_unit_pages(policy) >= UVMP_BASIC_BLOCK_PAGES &&
			       !uvmp_policy_evict_traits(policy)->ignores_accesses
		       ? units
		       : 0;
}

/* False: the order cannot have so many units. */
static bool lay_out(const struct uvmp_policy *policy, uint64_t blocks, struct table_offsets *at)
{
	uint64_t units = blocks <= UINT32_MAX ? uvmpi_unit_tables_units(policy, (uint32_t)blocks) : UINT64_MAX;
	size_t order = order_bytes(policy, units);

	at->block = 0;
	at->used = at->block + aligned(blocks * sizeof(handle));
	at->held = at->used + aligned(blocks * sizeof(uint16_t));
	at->cyclic = at->held + aligned(held_units(policy, blocks, units) * sizeof(uint64_t));
	at->frames = at->cyclic + aligned(policy->cyclic ? blocks * sizeof(struct uvmp_cyclic_block) : 0);
	at->order = at->frames + uvmpi_frames_size(units);
	at->end = at->lifetimes = at->order + order;
	return order != 0;
}

size_t uvmpi_unit_tables_size(const struct uvmp_policy *policy, uint32_t blocks)
{
	struct table_offsets at;

	if (!lay_out(policy, blocks, &at))
		return 0;
	/* 0 where size_t is narrower than the size; a product, as a branch could never be taken on a 64-bit
	 * host. */
	return (size_t)at.end * (size_t)((size_t)at.end == at.end);
}

enum uvmp_status uvmpi_unit_tables_init(struct gpu *g, const struct uvmp_policy *policy, uint32_t blocks, uint8_t *memory)
{
	uint32_t units = (uint32_t)uvmpi_unit_tables_units(policy, blocks);
	struct table_offsets at;

	(void)lay_out(policy, blocks, &at); /* checked before */
	g->numbers = blocks;
	g->unit_block = (handle *)(void *)(memory + at.block);
	g->unit_used = (uint16_t *)(void *)(memory + at.used);
	g->held_ns = held_units(policy, blocks, units) != 0 ? (uint64_t *)(void *)(memory + at.held) : NULL;
	if (policy->cyclic)
		uvmpi_cyclic_init(g, blocks, memory + at.cyclic);
	uvmpi_frames_init(&g->frames, units, memory + at.frames);
	return init_order(&g->order, policy, units, memory + at.order, (size_t)(at.end - at.order));
}

/* -- more blocks -- */

static bool lay_out_more(const struct uvmp_service *s, const struct gpu *g, struct table_offsets *at)
{
	if (!lay_out(&s->policy, 2u * (uint64_t)g->numbers, at))
		return false;
	if (g->controls.has_lifetimes) {
		at->lifetimes = aligned(at->end);
		at->end = at->lifetimes + uvmpi_unit_tables_units(&s->policy, 2u * g->numbers) * sizeof(uint64_t);
	}
	return (size_t)at->end == at->end;
}

size_t uvmpi_unit_tables_more(const struct uvmp_service *s, const struct gpu *g)
{
	struct table_offsets at;

	return lay_out_more(s, g, &at) ? (size_t)aligned(at.end) : 0;
}

bool uvmpi_unit_tables_grow(struct uvmp_service *s, struct gpu *g)
{
	uint32_t numbers = 2u * g->numbers, units;
	struct table_offsets at;
	uint8_t *memory;

	if (!lay_out_more(s, g, &at))
		return false;
	memory = (uint8_t *)uvmpi_arena_take_bytes(s, at.end);
	if (memory == NULL)
		return false;
	units = (uint32_t)uvmpi_unit_tables_units(&s->policy, numbers);
	__builtin_memcpy(memory + at.block, g->unit_block, g->used_numbers * sizeof(*g->unit_block));
	__builtin_memcpy(memory + at.used, g->unit_used, g->used_numbers * sizeof(*g->unit_used));
	if (g->held_ns != NULL) {
		__builtin_memcpy(memory + at.held, g->held_ns, g->used_numbers * g->block_units * sizeof(*g->held_ns));
		g->held_ns = (uint64_t *)(void *)(memory + at.held);
	}
	g->unit_block = (handle *)(void *)(memory + at.block);
	g->unit_used = (uint16_t *)(void *)(memory + at.used);
	if (s->policy.cyclic)
		uvmpi_cyclic_grow(g, numbers, memory + at.cyclic);
	uvmpi_frames_grow(&g->frames, g->used_numbers * g->block_units, g->order.units, units, memory + at.frames);
	(void)uvmp_evict_grow(&g->order, units, memory + at.order, (size_t)(at.lifetimes - at.order)); /* the sizes fit */
	if (g->controls.has_lifetimes)
		uvmpi_lifetime_move(&g->controls.lifetime, (uint64_t *)(void *)(memory + at.lifetimes), units);
	g->numbers = numbers;
	return true;
}
