/* Serving many sequences with paged attention (vLLM): keys and values lie in blocks of 16 tokens, taken from
 * and given back to a pool, so that those of a sequence are scattered.
 *
 * Arrays: `weights`, of all layers; `kv0`, `kv1`, ...: a range for each layer, the keys of all blocks and then
 * their values. Each step generates a token of each running sequence. Kernels of a step, for each layer: `gemm`
 * reads the layer's weights; `prefill`, if sequences have begun, writes their prompts' keys and values; `store`
 * writes those of the others' new tokens; `attention` reads all keys and values of all running sequences: a
 * thread block for each sequence, whose four warps take its blocks in turn. Block tables and activations, which
 * are small and stay, are left out.
 *
 * Prompts and outputs have geometric lengths, up to 8 times the mean. The sequences of the first step are in the
 * middle of their outputs. Free blocks wait in a queue, at first in a seeded order. A sequence that ends, or
 * that finds no free block for its next token, gives its blocks back; the next one begins in its place as soon
 * as there are blocks for its prompt.
 */
#include <stdlib.h>

#include "array.h"
#include "permute.h"
#include "uvmpolicy/base.h"
#include "weights.h"

enum { LAYERS, WEIGHTS, BLOCK, SEQUENCES, PROMPT, OUTPUT, STEPS, POOL, TILE };
enum { MATRICES, CACHE };
enum kernel { GEMM, PREFILL, STORE, ATTENTION, KERNELS };
static const char *const names[KERNELS] = {"gemm", "prefill", "store", "attention"};

#define BLOCK_TOKENS 16u
#define LONGEST	     8u		 /* times the mean */
#define PIECE	     (64u << 10) /* of a block, read at once */
#define TABLES_MAX   ((uint64_t)1 << 26)

struct sequence {
	uint64_t prompt, output; /* tokens that it is to have */
	uint64_t tokens;	 /* stored; 0: it has not begun */
	uint64_t blocks;
	uint32_t *block; /* [blocks_most] */
};

struct state {
	uint64_t step, layer; /* of the kernel that is launched next */
	enum kernel kernel;
	uint64_t running_layer;
	enum kernel running;
	uint64_t blocks_most; /* of a sequence */
	uint64_t pool;
	uint32_t *queue; /* [pool]: a ring of free blocks */
	uint64_t queue_first, queue_count;
	struct sequence *sequence;
	uint32_t *table;	 /* of all sequences */
	uint32_t *list[KERNELS]; /* sequences of `prefill`, `store` and `attention` in this step */
	uint32_t count[KERNELS];
};

static uint64_t tokens_most(const struct workload *workload)
{
	return LONGEST * (workload->value[PROMPT] + workload->value[OUTPUT]);
}

/* Blocks that a sequence has in the end, on average. */
static uint64_t blocks_mean(const struct workload *workload)
{
	return workload_ceil_div(workload->value[PROMPT] + workload->value[OUTPUT], BLOCK_TOKENS);
}

static uint64_t pool_of(const struct workload *workload)
{
	uint64_t pool = workload->value[SEQUENCES] * blocks_mean(workload) * workload->value[POOL] / 100;

	return pool != 0 ? pool : 1;
}

static const char *paged_check(const struct workload *workload)
{
	if (workload->value[SEQUENCES] * workload_ceil_div(tokens_most(workload), BLOCK_TOKENS) > TABLES_MAX)
		return "sequences of such lengths need more than 67108864 block table entries";
	if (pool_of(workload) * workload->value[BLOCK] > (uint64_t)1 << 39)
		return "the pool of a layer is larger than 1 TiB";
	return NULL;
}

/* -- the scheduler -- */

static uint32_t take_block(struct state *state)
{
	uint32_t block = state->queue[state->queue_first];

	state->queue_first = (state->queue_first + 1) % state->pool;
	state->queue_count--;
	return block;
}

static void give_back(struct state *state, struct sequence *sequence)
{
	for (uint64_t i = 0; i < sequence->blocks; i++)
		state->queue[(state->queue_first + state->queue_count++) % state->pool] = sequence->block[i];
	sequence->blocks = sequence->tokens = 0;
}

/* A geometric length: at least 1, on average about `mean`. */
static uint64_t draw_length(uint64_t mean, uint64_t *random)
{
	uint64_t length = 1;

	while (length < LONGEST * mean && uvmp_random_below(random, mean) != 0)
		length++;
	return length;
}

/* The next request for a sequence's place; its prompt fits into the pool. */
static void draw_request(struct workload *workload, struct sequence *sequence)
{
	const struct state *state = workload->state;
	uint64_t most = state->pool * BLOCK_TOKENS;

	sequence->prompt = draw_length(workload->value[PROMPT], &workload->random);
	sequence->output = draw_length(workload->value[OUTPUT], &workload->random);
	if (sequence->prompt > most)
		sequence->prompt = most;
}

/* Stores `tokens` more tokens. False: there are not enough free blocks, and none is taken. */
static bool extend(struct state *state, struct sequence *sequence, uint64_t tokens)
{
	uint64_t blocks = workload_ceil_div(sequence->tokens + tokens, BLOCK_TOKENS);

	if (blocks > sequence->blocks + state->queue_count || blocks > state->blocks_most)
		return false;
	while (sequence->blocks < blocks)
		sequence->block[sequence->blocks++] = take_block(state);
	sequence->tokens += tokens;
	return true;
}

static void run_in(struct state *state, enum kernel kernel, uint32_t sequence)
{
	state->list[kernel][state->count[kernel]++] = sequence;
}

/* Who runs in the step: at first all that go on, then those that begin. */
static void schedule(struct workload *workload)
{
	struct state *state = workload->state;

	state->count[PREFILL] = state->count[STORE] = state->count[ATTENTION] = 0;
	for (uint32_t i = 0; i < workload->value[SEQUENCES]; i++) {
		struct sequence *sequence = &state->sequence[i];

		if (sequence->tokens == 0)
			continue;
		if (sequence->tokens < sequence->prompt + sequence->output && extend(state, sequence, 1)) {
			run_in(state, STORE, i);
			run_in(state, ATTENTION, i);
			continue;
		}
		give_back(state, sequence);
		draw_request(workload, sequence);
	}
	for (uint32_t i = 0; i < workload->value[SEQUENCES]; i++)
		if (state->sequence[i].tokens == 0 &&
		    extend(state, &state->sequence[i], state->sequence[i].prompt)) {
			run_in(state, PREFILL, i);
			run_in(state, ATTENTION, i);
		}
}

/* -- opening -- */

static void add_ranges(struct workload *workload)
{
	const struct state *state = workload->state;
	char name[] = "kv00";

	workload_add_range(workload, "weights", workload->value[LAYERS] * workload->value[WEIGHTS]);
	for (unsigned i = 0; i < workload->value[LAYERS]; i++) {
		snprintf(name, sizeof(name), "kv%u", i % 100);
		workload_add_fresh(workload, name, 2 * state->pool * workload->value[BLOCK]);
	}
}

/* In the middle of its output: what it has generated so far counts as a part of its prompt. */
static void draw_running(struct workload *workload, struct sequence *sequence)
{
	const struct state *state = workload->state;
	uint64_t done;

	draw_request(workload, sequence);
	done = uvmp_random_below(&workload->random, sequence->output);
	sequence->prompt += done;
	sequence->output -= done;
	if (sequence->prompt > state->pool * BLOCK_TOKENS)
		sequence->prompt = state->pool * BLOCK_TOKENS;
}

static bool paged_open(struct workload *workload)
{
	struct state *state = workload->state = calloc(1, sizeof(*state));
	uint64_t sequences = workload->value[SEQUENCES];
	struct permutation order;

	if (state == NULL)
		return false;
	state->pool = pool_of(workload);
	state->blocks_most = workload_ceil_div(tokens_most(workload), BLOCK_TOKENS);
	add_ranges(workload);
	state->queue = array_zeros(state->pool, sizeof(*state->queue));
	state->sequence = array_zeros(sequences, sizeof(*state->sequence));
	state->table = array_zeros(sequences * state->blocks_most, sizeof(*state->table));
	for (unsigned kernel = PREFILL; kernel < KERNELS; kernel++) {
		state->list[kernel] = array_zeros(sequences, sizeof(uint32_t));
		if (state->list[kernel] == NULL)
			return false;
	}
	if (state->queue == NULL || state->sequence == NULL || state->table == NULL)
		return false;
	permutation_init(&order, state->pool, &workload->random);
	for (; state->queue_count < state->pool; state->queue_count++)
		state->queue[state->queue_count] = (uint32_t)permutation_at(&order, state->queue_count);
	for (uint64_t i = 0; i < sequences; i++) {
		state->sequence[i].block = state->table + i * state->blocks_most;
		draw_running(workload, &state->sequence[i]);
	}
	return true;
}

static void paged_close(struct workload *workload)
{
	struct state *state = workload->state;

	if (state == NULL)
		return;
	free(state->queue);
	free(state->sequence);
	free(state->table);
	for (unsigned kernel = PREFILL; kernel < KERNELS; kernel++)
		free(state->list[kernel]);
	free(state);
}

/* -- kernels -- */

/* The kernel behind the present one, of those that have something to do. */
static void advance(struct workload *workload)
{
	struct state *state = workload->state;

	do
		state->kernel = (state->kernel + 1) % KERNELS;
	while (state->kernel != GEMM && state->count[state->kernel] == 0);
	if (state->kernel == GEMM && ++state->layer == workload->value[LAYERS]) {
		state->layer = 0;
		state->step++;
	}
}

static bool paged_launch(struct workload *workload)
{
	struct state *state = workload->state;

	if (state->step == workload->value[STEPS])
		return false;
	if (state->kernel == GEMM && state->layer == 0)
		schedule(workload);
	state->running = state->kernel;
	state->running_layer = state->layer;
	workload->kernel = names[state->kernel];
	workload->blocks = state->kernel == GEMM
				   ? weights_blocks(workload->value[WEIGHTS], workload->value[TILE])
				   : state->count[state->kernel];
	workload->warps = state->kernel == STORE ? 1 : WEIGHTS_WARPS;
	advance(workload);
	return true;
}

/* The address of a token's keys or values. */
static uint64_t token_at(const struct workload *workload, const struct sequence *sequence, uint64_t token,
			 bool is_value)
{
	const struct state *state = workload->state;
	uint64_t block = sequence->block[token / BLOCK_TOKENS] + (is_value ? state->pool : 0);

	return workload->range[CACHE + state->running_layer].base + block * workload->value[BLOCK] +
	       token % BLOCK_TOKENS * (workload->value[BLOCK] / BLOCK_TOKENS);
}

/* A warp's blocks of a sequence, piece by piece: first the keys, then (slot->row) the values. */
static bool step_of_blocks(struct workload *workload, struct workload_slot *slot,
			   const struct sequence *sequence, enum uvmp_access access)
{
	uint64_t token_bytes = workload->value[BLOCK] / BLOCK_TOKENS;
	uint64_t pieces = workload_ceil_div(workload->value[BLOCK], PIECE);

	for (; slot->row < 2; slot->row++, slot->step = 0) {
		uint64_t block = slot->step / pieces * WEIGHTS_WARPS + slot->warp,
			 first = block * BLOCK_TOKENS;
		uint64_t at = slot->step % pieces * PIECE, bytes;

		if (first >= sequence->tokens)
			continue;
		slot->step++;
		bytes = sequence->tokens - first < BLOCK_TOKENS ? sequence->tokens - first : BLOCK_TOKENS;
		bytes *= token_bytes;
		if (at >= bytes) /* a last block that is not full */
			at = bytes = 0;
		else
			bytes = bytes - at < PIECE ? bytes - at : PIECE;
		workload_set_wide(slot, token_at(workload, sequence, first, slot->row != 0) + at, bytes,
				  access);
		slot->flops = access == UVMP_ACCESS_READ ? (uint32_t)bytes : 0;
		return true;
	}
	return false;
}

static bool paged_span(struct workload *workload, struct workload_slot *slot)
{
	const struct state *state = workload->state;
	const struct sequence *sequence;

	if (state->running == GEMM)
		return weights_read(slot, slot->block,
				    workload->range[MATRICES].base +
					    state->running_layer * workload->value[WEIGHTS],
				    workload->value[WEIGHTS], workload->value[TILE], state->count[ATTENTION]);
	sequence = &state->sequence[state->list[state->running][slot->block]];
	if (state->running != STORE)
		return step_of_blocks(workload, slot, sequence,
				      state->running == PREFILL ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
	if (slot->step == 2)
		return false;
	workload_set_wide(slot, token_at(workload, sequence, sequence->tokens - 1, slot->step == 1),
			  workload->value[BLOCK] / BLOCK_TOKENS, UVMP_ACCESS_WRITE);
	return slot->step++ == 1 || workload_go_on(slot);
}

const struct workload_type workload_paged = {
	.name = "paged",
	.summary =
		"serving with paged attention: many sequences whose keys and values lie in scattered blocks",
	.param = {{"layers", "of the model", 1, 12, 4, false},
		  {"weights", "bytes of a layer's weights, read in each step", 1, (uint64_t)16 << 30,
		   20 << 20, true},
		  {"block", "bytes of the keys (and as many of the values) of 16 tokens in a layer", 64,
		   1 << 20, 8 << 10, true},
		  {"sequences", "that run together", 1, 4096, 64, false},
		  {"prompt", "mean tokens of a prompt", 1, 65536, 161, false},
		  {"output", "mean tokens generated for a prompt", 1, 65536, 338, false},
		  {"steps", "tokens generated for each place", 1, 1000000, 64, false},
		  {"pool", "blocks, in percent of what all sequences need in the end on average", 1, 400, 125,
		   false},
		  WEIGHTS_TILE,
		  WORKLOAD_AGENTS},
	.check = paged_check,
	.open = paged_open,
	.close = paged_close,
	.launch = paged_launch,
	.span = paged_span,
};
