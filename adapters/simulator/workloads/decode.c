/* Decoding with a dense language model: every token reads all weights, layer by layer, and the keys and values
 * of all tokens before it.
 *
 * Arrays: `weights`, one range: the layers one behind the other, then the output matrix; `kv`, the key-value
 * cache, allocated for the whole context as llama.cpp does: for each layer the keys of all sequences, then
 * their values. The prompt is one pass before the others. Kernels of a pass, for each layer:
 *
 * - qkv reads the first `attention` percent of the layer's weights;
 * - store writes the keys and values of the new tokens;
 * - attend reads keys and values of all tokens so far, in splits of 64 KiB; in the prompt's pass once for each
 *   128 new tokens, up to the last of them;
 * - ffn reads the rest of the layer.
 *
 * At last, head reads the output matrix. Activations and logits, which are small and stay, are left out.
 */
#include <stdlib.h>

#include "weights.h"

enum { LAYERS, LAYER, ATTENTION, HEAD, KV, PROMPT, TOKENS, SEQUENCES, TILE };
enum { WEIGHTS, CACHE };
enum kernel { QKV, STORE, ATTEND, FFN, OUTPUT };
static const char *const names[] = {"qkv", "store", "attend", "ffn", "head"};

#define SPLIT	    (64u << 10)
#define TILE_TOKENS 128u

struct state {
	uint64_t pass, passes, layer; /* of the kernel that is launched next */
	enum kernel kernel;
	/* of the kernel that runs */
	enum kernel running;
	uint64_t running_layer;
	uint64_t before, fresh; /* tokens of a sequence before the pass, and of the pass */
};

/* Bytes of the keys of one sequence in a layer. */
static uint64_t keys_of(const struct workload *workload)
{
	return (workload->value[PROMPT] + workload->value[TOKENS]) * workload->value[KV];
}

static const char *decode_check(const struct workload *workload)
{
	if (workload->value[PROMPT] == 0 && workload->value[TOKENS] == 0)
		return "prompt and tokens are both 0";
	if (keys_of(workload) * workload->value[SEQUENCES] > (uint64_t)1 << 40)
		return "the key-value cache of a layer is larger than 2 TiB";
	return NULL;
}

static uint64_t attention_of(const struct workload *workload)
{
	return workload->value[LAYER] * workload->value[ATTENTION] / 100;
}

static bool decode_open(struct workload *workload)
{
	struct state *state = workload->state = calloc(1, sizeof(*state));

	if (state == NULL)
		return false;
	workload_add_range(workload, "weights",
			   workload->value[LAYERS] * workload->value[LAYER] + workload->value[HEAD]);
	workload_add_fresh(workload, "kv",
			   2 * workload->value[LAYERS] * workload->value[SEQUENCES] * keys_of(workload));
	state->passes = workload->value[TOKENS] + (workload->value[PROMPT] != 0);
	return true;
}

static void decode_close(struct workload *workload)
{
	free(workload->state);
}

/* Where the keys (or values) of a sequence in the running kernel's layer begin. */
static uint64_t cache_at(const struct workload *workload, uint64_t sequence, bool is_value)
{
	const struct state *state = workload->state;
	uint64_t part = 2 * state->running_layer + is_value;

	return workload->range[CACHE].base +
	       (part * workload->value[SEQUENCES] + sequence) * keys_of(workload);
}

/* Splits of the keys of a sequence up to the pass's last token. */
static uint64_t splits_of(const struct workload *workload)
{
	const struct state *state = workload->state;

	return workload_ceil_div((state->before + state->fresh) * workload->value[KV], SPLIT);
}

static uint64_t blocks_of(const struct workload *workload)
{
	const struct state *state = workload->state;
	uint64_t sequences = workload->value[SEQUENCES];

	switch (state->running) {
	case QKV:
		return weights_blocks(attention_of(workload), workload->value[TILE]);
	case STORE:
		return sequences * workload_ceil_div(state->fresh * workload->value[KV], SPLIT);
	case ATTEND:
		return sequences * workload_ceil_div(state->fresh, TILE_TOKENS) * splits_of(workload);
	case FFN:
		return weights_blocks(workload->value[LAYER] - attention_of(workload), workload->value[TILE]);
	default:
		return weights_blocks(workload->value[HEAD], workload->value[TILE]);
	}
}

/* The kernel behind the present one. */
static void advance(struct workload *workload)
{
	struct state *state = workload->state;

	if (state->kernel == OUTPUT) {
		state->pass++;
		state->layer = 0;
		state->kernel = QKV;
	} else if (state->kernel == FFN && ++state->layer < workload->value[LAYERS]) {
		state->kernel = QKV;
	} else {
		state->kernel++;
	}
}

static bool decode_launch(struct workload *workload)
{
	struct state *state = workload->state;
	uint64_t prompt = workload->value[PROMPT];

	if (state->pass == state->passes)
		return false;
	state->running = state->kernel;
	state->running_layer = state->layer;
	state->before = state->pass == 0 ? 0 : prompt + state->pass - (prompt != 0);
	state->fresh = state->pass == 0 && prompt != 0 ? prompt : 1;
	workload->kernel = names[state->kernel];
	workload->blocks = blocks_of(workload);
	workload->warps = WEIGHTS_WARPS;
	advance(workload);
	return true;
}

/* -- steps -- */

/* A warp's part of [at, at + bytes), first of the keys, then of the values: slot->row is 1 with the values. */
static bool step_of_both(struct workload *workload, struct workload_slot *slot, uint64_t sequence,
			 uint64_t first, uint64_t bytes, enum uvmp_access access)
{
	for (; slot->row < 2; slot->row++, slot->step = 0)
		if (weights_step(slot, cache_at(workload, sequence, slot->row != 0) + first, bytes,
				 access == UVMP_ACCESS_READ, access))
			return true;
	return false;
}

static bool store(struct workload *workload, struct workload_slot *slot)
{
	const struct state *state = workload->state;
	uint64_t kv = workload->value[KV], bytes = state->fresh * kv, each = workload_ceil_div(bytes, SPLIT);
	uint64_t first = slot->block % each * SPLIT, count = SPLIT < bytes - first ? SPLIT : bytes - first;

	return step_of_both(workload, slot, slot->block / each, state->before * kv + first, count,
			    UVMP_ACCESS_WRITE);
}

/* Thread blocks: by sequence, tile of new tokens, split. */
static bool attend(struct workload *workload, struct workload_slot *slot)
{
	const struct state *state = workload->state;
	uint64_t splits = splits_of(workload), tiles = workload_ceil_div(state->fresh, TILE_TOKENS);
	uint64_t tile = slot->block / splits % tiles, first = slot->block % splits * SPLIT;
	uint64_t seen = (tile + 1) * TILE_TOKENS < state->fresh ? (tile + 1) * TILE_TOKENS : state->fresh;
	uint64_t bytes = (state->before + seen) * workload->value[KV];

	if (first >= bytes)
		return false;
	return step_of_both(workload, slot, slot->block / splits / tiles, first,
			    SPLIT < bytes - first ? SPLIT : bytes - first, UVMP_ACCESS_READ);
}

static bool decode_span(struct workload *workload, struct workload_slot *slot)
{
	const struct state *state = workload->state;
	uint64_t tile = workload->value[TILE], layer = workload->value[LAYER],
		 attention = attention_of(workload);
	uint64_t weights = workload->range[WEIGHTS].base, at = weights + state->running_layer * layer;
	uint64_t tokens = state->fresh * workload->value[SEQUENCES]; /* that multiply each byte */

	switch (state->running) {
	case QKV:
		return weights_read(slot, slot->block, at, attention, tile, tokens);
	case STORE:
		return store(workload, slot);
	case ATTEND:
		return attend(workload, slot);
	case FFN:
		return weights_read(slot, slot->block, at + attention, layer - attention, tile, tokens);
	default:
		return weights_read(slot, slot->block, weights + workload->value[LAYERS] * layer,
				    workload->value[HEAD], tile, workload->value[SEQUENCES]);
	}
}

const struct workload_type workload_decode = {
	.name = "decode",
	.summary = "decoding with a dense language model: all weights and a growing key-value cache for each "
		   "token",
	.param = {{"layers", "of the model", 1, 512, 12, false},
		  {"layer", "bytes of the weights of a layer", 1, (uint64_t)16 << 30, 16 << 20, true},
		  {"attention", "percent of a layer that is read before the keys and values", 0, 100, 33,
		   false},
		  {"head", "bytes of the output matrix", 0, (uint64_t)16 << 30, 8 << 20, true},
		  {"kv", "bytes of the keys (and as many of the values) of a token in a layer", 1, 1 << 20,
		   4096, true},
		  {"prompt", "tokens of one pass before the others; 0: no such pass", 0, 1000000, 512, false},
		  {"tokens", "tokens generated, a pass each", 0, 1000000, 16, false},
		  {"sequences", "decoded together", 1, 4096, 1, false},
		  WEIGHTS_TILE,
		  WORKLOAD_AGENTS},
	.check = decode_check,
	.open = decode_open,
	.close = decode_close,
	.launch = decode_launch,
	.span = decode_span,
};
