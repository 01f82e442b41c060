/* Which processor holds and maps which pages of a block, as far as a log says. */
#include "explain_internal.h"

#include <stdlib.h>

/* Before the first action, the CPU holds and maps all pages, as after initialisation. */
static void reset_pages(struct residency *residency, const uvmp_mask *pages)
{
	bool has = residency->processor == UVMP_CPU;

	uvmp_mask_andnot(&residency->holds, &residency->holds, pages);
	uvmp_mask_andnot(&residency->maps, &residency->maps, pages);
	if (has)
		uvmp_mask_or(&residency->holds, &residency->holds, pages);
	if (has)
		uvmp_mask_or(&residency->maps, &residency->maps, pages);
}

static void reset_residency(struct residency *residency)
{
	uvmp_mask all;

	uvmp_mask_zero(&all);
	uvmp_mask_region_set(&all, (struct uvmp_region){0, UVMP_MASK_BITS});
	reset_pages(residency, &all);
	residency->step = 0;
}

/* NULL: out of memory. */
static struct residency *find_residency(struct block *block, uint32_t processor)
{
	struct residency *residency = block->residency;

	while (residency != NULL && residency->processor != processor)
		residency = residency->next;
	if (residency != NULL)
		return residency;
	residency = malloc(sizeof(*residency));
	if (residency == NULL)
		return NULL;
	residency->processor = processor;
	reset_residency(residency);
	residency->next = block->residency;
	block->residency = residency;
	return residency;
}

void explain_free_mirror(struct block *block)
{
	while (block->residency != NULL) {
		struct residency *next = block->residency->next;

		free(block->residency);
		block->residency = next;
	}
}

static void add_faulted(struct block *block, const struct uvmp_action *action, uint64_t step)
{
	struct uvmp_region transfer;

	if (block->step != step)
		uvmp_mask_zero(&block->faulted);
	block->step = step;
	for (transfer = uvmp_action_next_transfer(action, 0); transfer.end != 0;
	     transfer = uvmp_action_next_transfer(action, transfer.end)) {
		uint32_t faulted = uvmp_action_faulted(action, transfer);

		uvmp_mask_region_set(&block->faulted,
				     (struct uvmp_region){transfer.end - faulted, transfer.end});
	}
}

/* COPY, POPULATE. A move removes all mappings first. A processor that still maps its own copy keeps it as a duplicate. */
static void arrive(struct block *block, struct residency *to, const struct uvmp_action *action, uint64_t step)
{
	uvmp_mask departing = action->pages;

	if (to->step != step)
		to->before = to->holds;
	to->step = step;
	uvmp_mask_or(&to->holds, &to->holds, &action->pages);
	for (struct residency *residency = block->residency; residency != NULL; residency = residency->next) {
		if (residency == to)
			continue;
		if (action->kind == UVMP_ACTION_POPULATE) /* no processor holds them */
			uvmp_mask_andnot(&residency->maps, &residency->maps, &action->pages);
		uvmp_mask_andnot(&departing, &action->pages, &residency->maps);
		uvmp_mask_andnot(&residency->holds, &residency->holds, &departing);
	}
	if (!is_eviction(action))
		add_faulted(block, action, step);
}

/* EVICT: duplicates on other GPUs are given up with the pages of `from`. */
static void depart(struct block *block, struct residency *from, const uvmp_mask *pages)
{
	uvmp_mask departing;

	uvmp_mask_and(&departing, &from->holds, pages);
	for (struct residency *residency = block->residency; residency != NULL; residency = residency->next) {
		if (residency->processor == UVMP_CPU)
			continue;
		uvmp_mask_andnot(&residency->holds, &residency->holds, &departing);
		uvmp_mask_andnot(&residency->maps, &residency->maps, &departing);
	}
}

/* MAP: `pages` are on `from`. */
static void show(struct residency *from, struct residency *to, const uvmp_mask *pages)
{
	uvmp_mask_or(&from->holds, &from->holds, pages);
	if (from == to)
		uvmp_mask_or(&to->maps, &to->maps, pages);
	else
		uvmp_mask_andnot(&to->maps, &to->maps, pages);
}

static bool is_on_gpus(const struct block *block)
{
	for (const struct residency *residency = block->residency; residency != NULL;
	     residency = residency->next) {
		if (residency->processor != UVMP_CPU && !uvmp_mask_is_empty(&residency->holds))
			return true;
	}
	return false;
}

/* The program has freed pages. If the block keeps some, it ends where the freed pages begin. */
static void forget_pages(struct block *block, const uvmp_mask *pages)
{
	uint32_t first = uvmp_mask_bounds(pages).first;

	if (first < block->extent)
		block->extent = first;
	for (struct residency *residency = block->residency; residency != NULL; residency = residency->next)
		reset_pages(residency, pages);
}

/* A processor gives memory back. After the last one, the extent of the block is not known until its next allocation. */
static void forget_memory(struct block *block, const struct uvmp_action *action)
{
	for (struct residency *residency = block->residency; residency != NULL; residency = residency->next) {
		if (residency->processor == action->from)
			reset_pages(residency, &action->pages);
	}
	if (!is_on_gpus(block))
		block->extent = 0;
}

static void apply(struct block *block, struct residency *from, struct residency *to,
		  const struct uvmp_action *action, uint64_t step)
{
	switch ((enum uvmp_action_kind)action->kind) {
	case UVMP_ACTION_COPY:
	case UVMP_ACTION_POPULATE:
		if (to != NULL)
			arrive(block, to, action, step);
		return;
	case UVMP_ACTION_EVICT:
		if (from != NULL)
			depart(block, from, &action->pages);
		return;
	case UVMP_ACTION_MAP:
		if (from != NULL && to != NULL)
			show(from, to, &action->pages);
		return;
	case UVMP_ACTION_UNMAP: /* a processor whose mapping ends gives up its copy, too */
		if (to == NULL)
			return;
		uvmp_mask_andnot(&to->holds, &to->holds, &action->pages);
		uvmp_mask_andnot(&to->maps, &to->maps, &action->pages);
		return;
	case UVMP_ACTION_REVOKE:
		if (to != NULL && action->right == UVMP_RIGHT_NONE)
			uvmp_mask_andnot(&to->maps, &to->maps, &action->pages);
		return;
	default: /* discarded pages stay until they are evicted */
		return;
	}
}

bool explain_mirror(struct explanation *explanation, const struct uvmp_action *action)
{
	struct block *block = explain_find_block(explanation, action->space, action->address);
	uint32_t end = uvmp_mask_bounds(&action->pages).end;
	struct residency *from = NULL, *to = NULL;

	if (block == NULL)
		return false;
	if (action->cause == UVMP_CAUSE_FREE) {
		if (action->kind == UVMP_ACTION_FREE)
			forget_memory(block, action);
		else
			forget_pages(block, &action->pages);
		return true;
	}
	if (end > block->extent)
		block->extent = end;
	/* The CPU holds all pages at first. */
	if (find_residency(block, UVMP_CPU) == NULL)
		return false;
	if (action->from < UVMP_PROC_NONE && (from = find_residency(block, action->from)) == NULL)
		return false;
	if (action->to < UVMP_PROC_NONE && (to = find_residency(block, action->to)) == NULL)
		return false;
	apply(block, from, to, action, explanation->step);
	return true;
}
