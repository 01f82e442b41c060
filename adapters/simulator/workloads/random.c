/* Random page touch, as Allen & Ge 2021 define it: each thread accesses one page, no two threads the same
 * one, in random order. A warp accesses its 32 pages with one instruction. The order is another one in each
 * pass; it is computed, not stored, so that memory grows with the square root of the array. */
#include <stdlib.h>

#include "array.h"
#include "permute.h"
#include "workload.h"

enum { BYTES, THREADS, PASSES, WRITE };

struct random_state {
	struct permutation permutation;
	uint32_t *table; /* of the permutation, filled for each pass */
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t pages_of(const struct workload *workload)
{
	return workload_ceil_div(workload->value[BYTES], WORKLOAD_PAGE);
}

static bool random_open(struct workload *workload)
{
	struct random_state *state = calloc(1, sizeof(*state));

	workload_add_range(workload, "data", workload->value[BYTES]);
	workload->state = state;
	if (!state)
		return false;
	state->table = array_zeros(permutation_table_size(pages_of(workload)), sizeof(*state->table));
	return state->table != NULL;
}

static void random_close(struct workload *workload)
{
	struct random_state *state = workload->state;

	if (state)
		free(state->table);
	free(state);
}

static bool random_launch(struct workload *workload)
{
	struct random_state *state = workload->state;

	permutation_init(&state->permutation, pages_of(workload), &workload->random);
	permutation_fill_table(&state->permutation, state->table);
	workload->kernel = "touch";
	workload->blocks = workload_ceil_div(pages_of(workload), workload->value[THREADS]);
	workload->warps = (uint32_t)workload_ceil_div(workload->value[THREADS], WORKLOAD_LANES);
	return workload->kernels_done < workload->value[PASSES];
}

static bool random_step(struct workload *workload, struct workload_slot *slot)
{
	const struct random_state *state = workload->state;
	uint64_t thread = (uint64_t)slot->warp * WORKLOAD_LANES; /* the warp's first, in its block */
	uint64_t first = slot->block * workload->value[THREADS] + thread, pages = pages_of(workload);
	uint32_t lanes;

	if (slot->step++ != 0 || thread >= workload->value[THREADS] || first >= pages)
		return false;
	lanes = (uint32_t)least(least(workload->value[THREADS] - thread, pages - first), WORKLOAD_LANES);
	permutation_list(&state->permutation, state->table, first, lanes, slot->lane);
	for (uint32_t i = 0; i < lanes; i++)
		slot->lane[i] = workload->range[0].base + slot->lane[i] * WORKLOAD_PAGE;
	workload_set_lanes(slot, lanes, 1, workload->value[WRITE] ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
	return true;
}

const struct workload_type workload_random = {
        .name = "random",
        .summary = "each thread touches one page, in random order (Allen & Ge 2021)",
        .param = {{"bytes", "size of the one array", 1, (uint64_t)1 << 40, 256 << 20, true},
                  {"threads", "of a thread block", 1, 1024, 256, false},
                  {"passes", "kernels, each touching everything in another order", 1, 1000000, 3, false},
                  {"write", "0 loads, 1 stores", 0, 1, 0, false},
                  WORKLOAD_AGENTS},
        .open = random_open,
        .close = random_close,
        .launch = random_launch,
        .span = random_step,
};
