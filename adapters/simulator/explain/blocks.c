/* Counts of pages, and the blocks that a log names, found by hashing. */
#include "explain_internal.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "uvmpolicy/fault.h"

void explain_count_pages(struct tally *tally, uvmp_mask *pinned, const struct uvmp_action *action,
			 const uvmp_mask *pages)
{
	uint32_t weight = uvmp_mask_weight(pages);
	uvmp_mask fresh;

	if (action->kind == UVMP_ACTION_COPY || action->kind == UVMP_ACTION_POPULATE) {
		if (is_eviction(action))
			tally->left += weight;
		else
			tally->came[action->cause] += weight;
	}
	if (action->kind == UVMP_ACTION_DISCARD && is_eviction(action))
		tally->left += weight;
	if (action->kind == UVMP_ACTION_THROTTLE)
		tally->throttles += weight;
	if (action->kind == UVMP_ACTION_UNPIN)
		uvmp_mask_andnot(pinned, pinned, pages);
	if (is_pinning(action)) {
		uvmp_mask_andnot(&fresh, pages, pinned);
		tally->pins += uvmp_mask_weight(&fresh);
		uvmp_mask_or(pinned, pinned, pages);
	}
}

uint64_t explain_arrived(const struct tally *tally)
{
	uint64_t sum = 0;

	for (uint32_t cause = 0; cause < UVMP_CAUSE_COUNT; cause++)
		sum += tally->came[cause];
	return sum;
}

static size_t hash(uint64_t space, uint64_t address)
{
	uint64_t state = address ^ space * 0x9e3779b97f4a7c15u;

	return (size_t)uvmp_random_next(&state);
}

static void add_slot(struct explanation *explanation, size_t index)
{
	const struct block *block = &explanation->block[index];
	size_t at = hash(block->space, block->address);

	while (explanation->slot[at % explanation->slots] != 0)
		at++;
	explanation->slot[at % explanation->slots] = (uint32_t)index + 1;
}

/* Makes room for one more block. At least half of the slots stay free. */
static bool make_room(struct explanation *explanation)
{
	if (explanation->blocks < explanation->room)
		return true;
	if (explanation->blocks >= UINT32_MAX / 2 ||
	    !ARRAY_RESERVE(explanation->block, explanation->room, explanation->blocks + 1))
		return false;
	free(explanation->slot);
	explanation->slots = 2 * explanation->room;
	explanation->slot = calloc(explanation->slots, sizeof(*explanation->slot));
	if (explanation->slot == NULL) {
		explanation->slots = 0;
		return false;
	}
	for (size_t i = 0; i < explanation->blocks; i++)
		add_slot(explanation, i);
	return true;
}

struct block *explain_look_up(const struct explanation *explanation, uint64_t space, uint64_t address)
{
	if (explanation->slots == 0)
		return NULL;
	for (size_t at = hash(space, address);; at++) {
		uint32_t number = explanation->slot[at % explanation->slots];
		struct block *block;

		if (number == 0)
			return NULL;
		block = &explanation->block[number - 1];
		if (block->space == space && block->address == address)
			return block;
	}
}

struct block *explain_find_block(struct explanation *explanation, uint64_t space, uint64_t address)
{
	struct block *block = explain_look_up(explanation, space, address);

	if (block != NULL)
		return block;
	if (!make_room(explanation))
		return NULL;
	block = &explanation->block[explanation->blocks];
	memset(block, 0, sizeof(*block));
	memset(block->left, UVMP_PROC_NONE, sizeof(block->left));
	block->space = space;
	block->address = address;
	add_slot(explanation, explanation->blocks++);
	return block;
}
