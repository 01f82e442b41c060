/* Cold state of a block: made at the first need, given back with the block. */
#include "cold_internal.h"

#include "../policy/needs_internal.h"

_Static_assert(sizeof(struct cold) <= NEEDS_COLD_BYTES && NEEDS_COLD_BYTES % UNIT_BYTES == 0, "needs.block_bytes");
_Static_assert(sizeof(struct counters) <= NEEDS_COUNTERS_BYTES && NEEDS_COUNTERS_BYTES % UNIT_BYTES == 0, "needs.block_bytes");
_Static_assert(sizeof(struct history) + UNIT_BYTES - 1u <= NEEDS_HISTORY_BYTES, "needs.block_bytes");
_Static_assert(sizeof(struct uvmp_tree) <= NEEDS_TREE_BYTES && NEEDS_TREE_BYTES % UNIT_BYTES == 0, "needs.block_bytes");

struct cold *uvmpi_cold_make(struct uvmp_service *s, struct block *b)
{
	if (b->cold == 0)
		b->cold = uvmpi_arena_take(s, SLAB_COLD);
	return b->cold != 0 ? cold_at(s, b->cold) : NULL;
}

struct history *uvmpi_history_make(struct uvmp_service *s, struct block *b)
{
	struct cold *cold = uvmpi_cold_make(s, b);

	if (cold == NULL)
		return NULL;
	if (cold->history == 0)
		cold->history = uvmpi_arena_take(s, SLAB_HISTORY);
	return block_history(s, b);
}

void uvmpi_history_give(struct uvmp_service *s, struct block *b)
{
	struct cold *cold = cold_at(s, b->cold);

	if (cold->history != 0)
		uvmpi_arena_give(s, SLAB_HISTORY, cold->history);
	cold->history = 0;
}

uint32_t uvmpi_counters_leaves(const struct uvmp_service *s, const struct block *b)
{
	uint32_t leaves = 1;

	while (leaves * counter_pages(s) < b->pages)
		leaves *= 2u;
	return leaves;
}

struct counters *uvmpi_counters_make(struct uvmp_service *s, struct block *b)
{
	struct cold *cold = uvmpi_cold_make(s, b);

	if (cold == NULL)
		return NULL;
	if (cold->counters == 0) {
		cold->counters = uvmpi_arena_take(s, SLAB_COUNTERS);
		if (cold->counters == 0)
			return NULL;
		(void)uvmp_counter_tree_init(&counters_of(s, b)->tree, uvmpi_counters_leaves(s, b));
	}
	return counters_of(s, b);
}

void uvmpi_hot_add(struct uvmp_service *s, handle h, struct counters *c, uint32_t gpu, uint32_t page)
{
	if (!uvmp_mask_is_empty(&c->hot)) {
		if (c->gpu == gpu)
			uvmp_mask_set(&c->hot, page);
		return;
	}
	uvmp_mask_set(&c->hot, page);
	c->gpu = gpu;
	c->before = s->hot_last;
	if (s->hot_last != 0)
		counters_of(s, block_at(s, s->hot_last))->next = h;
	else
		s->hot_first = h;
	s->hot_last = h;
}

void uvmpi_hot_remove(struct uvmp_service *s, struct counters *c)
{
	if (c->before != 0)
		counters_of(s, block_at(s, c->before))->next = c->next;
	else
		s->hot_first = c->next;
	if (c->next != 0)
		counters_of(s, block_at(s, c->next))->before = c->before;
	else
		s->hot_last = c->before;
	c->before = c->next = 0;
	uvmp_mask_zero(&c->hot);
}

void uvmpi_counters_give(struct uvmp_service *s, struct block *b)
{
	struct counters *c = counters_of(s, b);

	if (c == NULL)
		return;
	if (!uvmp_mask_is_empty(&c->hot))
		uvmpi_hot_remove(s, c);
	uvmpi_arena_give(s, SLAB_COUNTERS, cold_at(s, b->cold)->counters);
	cold_at(s, b->cold)->counters = 0;
}
