/* Decoding with a mixture of experts: a router chooses, for each token and layer, a few of many experts, and
 * only their matrices are read.
 *
 * The weights lie in one range as in a file of llama.cpp: layer by layer the part that every token uses, then
 * the gate matrices of all experts, the up matrices and the down matrices. With split=1 the shared parts, gate
 * and up, and down are three ranges. Kernels of a token, for each layer: `attention` reads the shared part;
 * `gate`, `up` and `down` read the chosen experts' matrices in ascending order. The prompt is one pass before,
 * over all experts that any of its tokens chooses, and can be repeated. With `row`, its kernels load experts by
 * rows (weights.h). The key-value cache (workload `decode`), activations and
 * logits, which are small and stay, are left out.
 *
 * Router: each expert of the last token is kept with a probability of `reuse` percent; the others are drawn by
 * Zipf's law with the exponent `skew` / 100. Which experts are frequent differs from layer to layer.
 *
 * skew=120,reuse=20 are calibrated, not measured: docs/uvmsim.md says against what.
 */
#include <stdlib.h>

#include "array.h"
#include "permute.h"
#include "uvmpolicy/base.h"
#include "weights.h"
#include "zipf.h"

enum {
	LAYERS,
	SHARED,
	EXPERTS,
	ACTIVE,
	EXPERT,
	SKEW,
	REUSE,
	PROMPT,
	PROMPTS,
	TOKENS,
	SPLIT,
	TILE,
	ROW,
	LOADS
};
enum kernel { ATTENTION, GATE, UP, DOWN, KERNELS };
static const char *const names[KERNELS] = {"attention", "gate", "up", "down"};

#define MATRICES   3u	 /* of an expert */
#define DRAWS_MOST 1000u /* for one expert; then the next rank that is free */

struct state {
	uint64_t pass, passes, layer; /* of the kernel that is launched next */
	uint64_t prompts;	      /* passes of prompts, which are the first */
	enum kernel kernel;
	uint64_t is_prefill, running_layer;
	enum kernel running;
	bool *is_chosen; /* [experts], by rank: of the token that is routed */
	bool *is_used;	 /* [experts]: of the pass and layer */
	uint32_t *used;	 /* the same as a list, ascending */
	uint32_t used_count;
	uint32_t *last; /* [layers * active]: ranks of the last token's experts */
	struct permutation *spread; /* [layers]: from ranks to experts */
	struct zipf zipf;
};

static const char *moe_check(const struct workload *workload)
{
	if (workload->value[ACTIVE] > workload->value[EXPERTS])
		return "active is larger than experts";
	if (workload->value[PROMPT] == 0 && workload->value[TOKENS] == 0)
		return "prompt and tokens are both 0";
	return NULL;
}

/* Bytes of one matrix of an expert: whole pages. */
static uint64_t slice_of(const struct workload *workload)
{
	return workload_ceil_div(workload->value[EXPERT], MATRICES * WORKLOAD_PAGE) * WORKLOAD_PAGE;
}

/* Bytes of all matrices of a kind in a layer. */
static uint64_t kind_of(const struct workload *workload)
{
	return workload->value[EXPERTS] * slice_of(workload);
}

static void add_ranges(struct workload *workload)
{
	uint64_t layers = workload->value[LAYERS], kind = kind_of(workload);

	if (!workload->value[SPLIT]) {
		workload_add_range(workload, "weights", layers * (workload->value[SHARED] + MATRICES * kind));
		return;
	}
	workload_add_range(workload, "shared", layers * workload->value[SHARED]);
	workload_add_range(workload, "gate_up", layers * 2 * kind);
	workload_add_range(workload, "down", layers * kind);
}

/* Where the shared part of a layer, or the kernel's matrices of all of its experts, begin. */
static uint64_t part_at(const struct workload *workload, uint64_t layer, enum kernel kernel)
{
	uint64_t shared = workload->value[SHARED], kind = kind_of(workload);

	if (!workload->value[SPLIT]) {
		uint64_t at = workload->range[0].base + layer * (shared + MATRICES * kind);

		return kernel == ATTENTION ? at : at + shared + (kernel - GATE) * kind;
	}
	if (kernel == ATTENTION)
		return workload->range[0].base + layer * shared;
	return kernel == DOWN ? workload->range[2].base + layer * kind
			      : workload->range[1].base + (2 * layer + (kernel - GATE)) * kind;
}

static bool moe_open(struct workload *workload)
{
	struct state *state = workload->state = calloc(1, sizeof(*state));
	uint64_t experts = workload->value[EXPERTS], layers = workload->value[LAYERS];

	if (state == NULL)
		return false;
	add_ranges(workload);
	state->prompts = workload->value[PROMPT] != 0 ? workload->value[PROMPTS] : 0;
	state->passes = workload->value[TOKENS] + state->prompts;
	state->is_chosen = array_zeros(experts, sizeof(bool));
	state->is_used = array_zeros(experts, sizeof(bool));
	state->used = array_zeros(experts, sizeof(*state->used));
	state->last = array_zeros(layers * workload->value[ACTIVE], sizeof(*state->last));
	state->spread = array_zeros(layers, sizeof(*state->spread));
	if (state->is_chosen == NULL || state->is_used == NULL || state->used == NULL ||
	    state->last == NULL || state->spread == NULL ||
	    !zipf_init(&state->zipf, (uint32_t)experts, (uint32_t)workload->value[SKEW]))
		return false;
	for (uint64_t layer = 0; layer < layers; layer++)
		permutation_init(&state->spread[layer], experts, &workload->random);
	return true;
}

static void moe_close(struct workload *workload)
{
	struct state *state = workload->state;

	if (state == NULL)
		return;
	zipf_close(&state->zipf);
	free(state->is_chosen);
	free(state->is_used);
	free(state->used);
	free(state->last);
	free(state->spread);
	free(state);
}

/* -- the router -- */

/* A rank that the token has not chosen yet. */
static uint32_t draw_rank(const struct state *state, uint32_t experts, uint64_t *random)
{
	uint32_t rank = zipf_draw(&state->zipf, random);

	for (unsigned draws = 1; state->is_chosen[rank]; draws++)
		rank = draws < DRAWS_MOST ? zipf_draw(&state->zipf, random) : (rank + 1) % experts;
	return rank;
}

/* Chooses one token's experts in a layer and marks them as used. */
static void route(struct workload *workload, uint64_t layer, bool is_first)
{
	struct state *state = workload->state;
	uint32_t active = (uint32_t)workload->value[ACTIVE], kept = 0;
	uint32_t *rank = &state->last[layer * active];

	for (uint32_t i = 0; i < active && !is_first; i++)
		if (uvmp_random_below(&workload->random, 100) < workload->value[REUSE]) {
			state->is_chosen[rank[i]] = true;
			rank[kept++] = rank[i];
		}
	while (kept < active) {
		rank[kept] = draw_rank(state, (uint32_t)workload->value[EXPERTS], &workload->random);
		state->is_chosen[rank[kept++]] = true;
	}
	for (uint32_t i = 0; i < active; i++) {
		state->is_chosen[rank[i]] = false;
		state->is_used[permutation_at(&state->spread[layer], rank[i])] = true;
	}
}

/* Routes all tokens of the pass through the layer. */
static void choose(struct workload *workload, bool is_prefill)
{
	struct state *state = workload->state;
	uint64_t tokens = is_prefill ? workload->value[PROMPT] : 1;

	for (uint32_t i = 0; i < workload->value[EXPERTS]; i++)
		state->is_used[i] = false;
	for (uint64_t token = 0; token < tokens; token++)
		route(workload, state->layer, state->pass == 0 && token == 0);
	state->used_count = 0;
	for (uint32_t i = 0; i < workload->value[EXPERTS]; i++)
		if (state->is_used[i])
			state->used[state->used_count++] = i;
}

/* -- kernels -- */

/* Are the matrices of the running kernel loaded by rows? */
static bool loads_rows(const struct workload *workload)
{
	const struct state *state = workload->state;

	return state->is_prefill && state->running != ATTENTION && workload->value[ROW] != 0;
}

static bool moe_launch(struct workload *workload)
{
	struct state *state = workload->state;

	if (state->pass == state->passes)
		return false;
	state->is_prefill = state->pass < state->prompts;
	if (state->kernel == ATTENTION)
		choose(workload, state->is_prefill);
	state->running = state->kernel;
	state->running_layer = state->layer;
	workload->kernel = names[state->kernel];
	workload->blocks =
		state->kernel == ATTENTION
			? weights_blocks(workload->value[SHARED], workload->value[TILE])
			: state->used_count * weights_blocks(slice_of(workload), workload->value[TILE]);
	workload->warps = loads_rows(workload) ? WEIGHTS_ROW_WARPS : WEIGHTS_WARPS;
	if (++state->kernel < KERNELS)
		return true;
	state->kernel = ATTENTION;
	if (++state->layer < workload->value[LAYERS])
		return true;
	state->layer = 0;
	state->pass++;
	return true;
}

static bool moe_span(struct workload *workload, struct workload_slot *slot)
{
	const struct state *state = workload->state;
	uint64_t slice = slice_of(workload), tile = workload->value[TILE], each = weights_blocks(slice, tile);
	uint64_t at = part_at(workload, state->running_layer, state->running);
	uint64_t tokens = state->is_prefill ? workload->value[PROMPT] : 1; /* that multiply each byte */

	if (state->running == ATTENTION)
		return weights_read(slot, slot->block, at, workload->value[SHARED], tile, tokens);
	tokens = workload_ceil_div(tokens * workload->value[ACTIVE], state->used_count);
	at += state->used[slot->block / each] * slice;
	if (loads_rows(workload)) {
		const struct weights_rows rows = {tile, workload->value[ROW], workload->value[LOADS]};

		return weights_read_rows(slot, slot->block % each, at, slice, &rows, tokens);
	}
	return weights_read(slot, slot->block % each, at, slice, tile, tokens);
}

const struct workload_type workload_moe = {
	.name = "moe",
	.summary = "decoding with a mixture of experts: a few of a layer's experts for each token",
	.param = {{"layers", "of the model", 1, 512, 8, false},
		  {"shared", "bytes of a layer that every token uses", 1, (uint64_t)16 << 30, 2 << 20, true},
		  {"experts", "of a layer", 1, 1024, 32, false},
		  {"active", "experts of a token in a layer", 1, 64, 4, false},
		  {"expert", "bytes of an expert, three matrices", 1, (uint64_t)1 << 30, 960 << 10, true},
		  {"skew", "exponent of the router's Zipf law, in hundredths", 0, ZIPF_SKEW_MAX, 120, false},
		  {"reuse", "percent of a token's experts that the next token keeps", 0, 100, 20, false},
		  {"prompt", "tokens of one pass before the others; 0: no such pass", 0, 1000000, 0, false},
		  {"prompts", "passes of such a prompt", 1, 1000000, 1, false},
		  {"tokens", "tokens generated, a pass each", 0, 1000000, 64, false},
		  {"split", "0: one range for all weights; 1: three ranges", 0, 1, 0, false},
		  WEIGHTS_TILE,
		  {"row",
		   "bytes of a row of an expert's matrices, by which a prompt loads them; 0: end to end", 0,
		   WORKLOAD_PAGE, 0, true},
		  {"loads", "rows that a warp loads together", 1, WEIGHTS_LOADS, WEIGHTS_LOADS, false},
		  WORKLOAD_AGENTS},
	.check = moe_check,
	.open = moe_open,
	.close = moe_close,
	.launch = moe_launch,
	.span = moe_span,
};
