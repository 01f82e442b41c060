/* Pinning against cyclic thrashing (Park, Kim and Han, CASES'20, from its abstract).
 *
 * If a program accesses more data than fits into memory in a cycle, recency fails: each block is evicted
 * shortly before its next use, and every cycle moves all data. The authors find such repeated replacement in
 * the driver and pin pages, so that at least the pinned pages are resident in the next cycle.
 *
 * The abstract gives no details. Assumed:
 *  - A block returns when it faults after an eviction. The return counts if at most `reach` blocks were
 *    evicted since the eviction of the block; otherwise the count of returns starts from 0.
 *  - After `rounds` counted returns in a row the block is pinned, unless the pinned blocks then exceed their
 *    share of memory: the other blocks of the cycle need memory, too.
 *  - A block that is prefetched has not returned, because its use is not certain.
 *  - The driver does not see uses of pinned blocks. So all pins end, oldest first, after `patience` evictions
 *    without a counted return: the evicted blocks are then not part of a cycle. Distances are numbers of
 *    evictions, not times. */
#include "adapt_internal.h"

#define ROUNDS_MAX 255u

const struct parameter uvmpi_cyclic_parameters[1] = {
        PARAMETER(struct uvmp_cyclic_params, share_percent, "cyclic_share", 0, 100, 75, 1, LIMIT_NONE, NULL,
                  "percent of memory that may be pinned"),
};

void uvmp_cyclic_params_init(struct uvmp_cyclic_params *params)
{
	if (params == NULL)
		return;
	*params = (struct uvmp_cyclic_params){
	        .rounds = 2, .reach_percent = 400, .patience_percent = 400};
	uvmpi_parameters_init(uvmpi_cyclic_parameters, 1, params);
}

static bool is_within(uint32_t x, uint32_t max)
{
	return x > 0 && x <= max;
}

bool uvmp_cyclic_params_is_valid(const struct uvmp_cyclic_params *params)
{
	return params != NULL && is_within(params->rounds, ROUNDS_MAX) &&
	       parameter_accepts(&uvmpi_cyclic_parameters[0], params->share_percent) &&
	       is_within(params->reach_percent, 10000u) && is_within(params->patience_percent, 10000u);
}

enum uvmp_status uvmp_cyclic_init(struct uvmp_cyclic_state *state, struct uvmp_cyclic_block *block,
                                  uint32_t blocks, uint32_t capacity)
{
	if (state == NULL || block == NULL)
		return UVMP_ERR_ARGUMENT;
	if (!is_within(blocks, UINT32_MAX - 1u))
		return UVMP_ERR_RANGE;
	*state = (struct uvmp_cyclic_state){.block = block, .blocks = blocks, .capacity = capacity};
	for (uint32_t i = 0; i < blocks; i++)
		block[i] = (struct uvmp_cyclic_block){0};
	return UVMP_OK;
}

bool uvmp_cyclic_is_valid(const struct uvmp_cyclic_state *state)
{
	return state != NULL && state->block != NULL && state->newest <= state->blocks &&
	       state->oldest <= state->blocks && state->pinned <= state->blocks &&
	       (state->pinned == 0) == (state->oldest == 0);
}

static uint64_t share(const struct uvmp_cyclic_state *state, uint32_t percent)
{
	return (uint64_t)state->capacity * percent / 100u;
}

/* -- list of the pinned: newest to oldest, numbers plus one -- */

static void pin(struct uvmp_cyclic_state *state, uint32_t index)
{
	struct uvmp_cyclic_block *block = &state->block[index];

	block->is_pinned = true;
	block->older = state->newest;
	block->newer = 0;
	if (state->newest != 0)
		state->block[state->newest - 1u].newer = index + 1u;
	else
		state->oldest = index + 1u;
	state->newest = index + 1u;
	state->pinned++;
}

static void unpin(struct uvmp_cyclic_state *state, struct uvmp_cyclic_block *block)
{
	if (!block->is_pinned)
		return;
	if (block->newer != 0)
		state->block[block->newer - 1u].older = block->older;
	else
		state->newest = block->older;
	if (block->older != 0)
		state->block[block->older - 1u].newer = block->newer;
	else
		state->oldest = block->newer;
	block->newer = 0;
	block->older = 0;
	block->is_pinned = false;
	state->pinned--;
}

/* -- events -- */

static enum uvmp_status check(const struct uvmp_cyclic_state *state, uint32_t block)
{
	if (!uvmp_cyclic_is_valid(state))
		return UVMP_ERR_ARGUMENT;
	return block < state->blocks ? UVMP_OK : UVMP_ERR_RANGE;
}

enum uvmp_status uvmp_cyclic_evict(struct uvmp_cyclic_state *state, uint32_t index)
{
	enum uvmp_status status = check(state, index);

	if (status != UVMP_OK)
		return status;
	if (state->block[index].is_away)
		return UVMP_ERR_STATE;
	unpin(state, &state->block[index]);
	state->evictions++;
	state->block[index].left = state->evictions;
	state->block[index].is_away = true;
	return UVMP_OK;
}

/* A block that a fault has brought back: does it walk in a circle? */
static bool is_circling(const struct uvmp_cyclic_params *params, struct uvmp_cyclic_state *state,
                        struct uvmp_cyclic_block *block)
{
	if (state->evictions - block->left > share(state, params->reach_percent)) {
		block->rounds = 0;
		return false;
	}
	if (block->rounds < ROUNDS_MAX)
		block->rounds++;
	state->returned = state->evictions;
	return block->rounds >= params->rounds;
}

enum uvmp_status uvmp_cyclic_return(const struct uvmp_cyclic_params *params, struct uvmp_cyclic_state *state,
                                    uint32_t index, bool is_fault, bool *is_pinned)
{
	enum uvmp_status status = check(state, index);
	struct uvmp_cyclic_block *block;

	if (!uvmp_cyclic_params_is_valid(params) || is_pinned == NULL)
		return UVMP_ERR_ARGUMENT;
	if (status != UVMP_OK)
		return status;
	block = &state->block[index];
	if (block->is_away && is_fault && is_circling(params, state, block) &&
	    state->pinned < share(state, params->share_percent))
		pin(state, index);
	block->is_away = false;
	*is_pinned = block->is_pinned;
	return UVMP_OK;
}

enum uvmp_status uvmp_cyclic_free(struct uvmp_cyclic_state *state, uint32_t index)
{
	enum uvmp_status status = check(state, index);

	if (status != UVMP_OK)
		return status;
	unpin(state, &state->block[index]);
	state->block[index] = (struct uvmp_cyclic_block){0};
	return UVMP_OK;
}

enum uvmp_status uvmp_cyclic_release(const struct uvmp_cyclic_params *params, struct uvmp_cyclic_state *state,
                                     uint32_t *block)
{
	if (!uvmp_cyclic_is_valid(state) || !uvmp_cyclic_params_is_valid(params) || block == NULL)
		return UVMP_ERR_ARGUMENT;
	*block = UINT32_MAX;
	if (state->pinned == 0 ||
	    (state->pinned <= share(state, params->share_percent) &&
	     state->evictions - state->returned < share(state, params->patience_percent)))
		return UVMP_OK;
	*block = state->oldest - 1u;
	state->block[*block].rounds = 0;
	unpin(state, &state->block[*block]);
	return UVMP_OK;
}
