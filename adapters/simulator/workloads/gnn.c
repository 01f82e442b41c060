/* Training of a graph neural network of two layers, in one of two ways.
 *
 * batch=0: the whole graph at once, as gpu_ext's program does it with gathers and scatters over lists of edges
 * in random order, a chunk of edges at a time. Forward, for each layer: `linear` reads a row for each node and
 * writes a hidden row; then for each chunk `select` gathers the hidden rows of the edges' sources into messages,
 * `scale` multiplies them by the edges' weights, `add` adds them to the rows of their targets. Backward the same
 * with sources and targets exchanged, and `linear` at last. Each edge stands in the lists in both directions,
 * and each node has an edge to itself.
 *
 * batch>0: mini-batches by neighbour sampling (GraphSAGE): `sample` draws `fanout` neighbours for each seed, in
 * a second kernel two thirds as many for each of those; `gather` copies the features of all distinct nodes;
 * `forward` and `backward` read and write the copies and hidden rows in order. Seeds are a twentieth of the
 * nodes, in another order in each epoch.
 *
 * Thread blocks are single warps. Each owns `slab` bytes of the widest array that is read or written in order,
 * and goes through them a page at a time: neighbouring thread blocks are a slab apart. The model's parameters,
 * which are small and stay, are left out.
 */
#include <stdlib.h>

#include "array.h"
#include "gather.h"
#include "graph.h"
#include "permute.h"
#include "uvmpolicy/base.h"

enum { SCALE, DEGREE, SKEW, FEATURES, HIDDEN, BATCH, FANOUT, CHUNK, EPOCHS, SLAB };

/* Arrays of either way. */
enum { X, H, OUT, GRAD_OUT, GRAD_H, SOURCE, TARGET, WEIGHT, MESSAGE };
enum { OFFSETS, EDGES, TABLE, NODES, GATHERED, HIDDEN_ROWS, GRADIENT };

#define ID_BYTES   8u
#define ITEMS_MOST 16u /* of a step: rows across page boundaries have two lanes */
#define SEED_SHARE 20u
#define PASSES	   4u /* of an epoch over the whole graph: two layers forward, two backward */
#define STAGES	   3u /* of a chunk */
#define ENTRY_NONE UINT64_MAX

/* An operand of a kernel: for each item so many bytes of an array. */
enum width { OF_ID, OF_WEIGHT, OF_FEATURES, OF_HIDDEN };
enum place { BY_ITEM, BY_CHUNK_ITEM, BY_SOURCE, BY_TARGET, BY_NODE };
struct operand {
	uint8_t range, width, place, access;
};
#define OPERANDS_MAX 3u
struct kernel {
	const char *name;
	unsigned operands;
	struct operand operand[OPERANDS_MAX];
};

#define READ   UVMP_ACCESS_READ
#define WRITE  UVMP_ACCESS_WRITE
#define ATOMIC UVMP_ACCESS_ATOMIC_STRONG
static const struct kernel linear[PASSES] = {
	{"linear", 2, {{X, OF_FEATURES, BY_ITEM, READ}, {H, OF_HIDDEN, BY_ITEM, WRITE}}},
	{"linear", 2, {{OUT, OF_HIDDEN, BY_ITEM, READ}, {H, OF_HIDDEN, BY_ITEM, WRITE}}},
	{"linear", 2, {{GRAD_H, OF_HIDDEN, BY_ITEM, READ}, {GRAD_OUT, OF_HIDDEN, BY_ITEM, WRITE}}},
	{"linear", 2, {{GRAD_H, OF_HIDDEN, BY_ITEM, READ}, {X, OF_FEATURES, BY_ITEM, READ}}},
};
/* A message times the weight of its edge, in both directions. */
#define SCALE_MESSAGE                                                                                        \
	{                                                                                                    \
		"scale", 3,                                                                                  \
		{                                                                                            \
			{WEIGHT, OF_WEIGHT, BY_CHUNK_ITEM, READ}, {MESSAGE, OF_HIDDEN, BY_ITEM, READ},       \
			{                                                                                    \
				MESSAGE, OF_HIDDEN, BY_ITEM, WRITE                                           \
			}                                                                                    \
		}                                                                                            \
	}
static const struct kernel of_chunk[2][STAGES] = {
	{{"select",
	  3,
	  {{SOURCE, OF_ID, BY_CHUNK_ITEM, READ},
	   {H, OF_HIDDEN, BY_SOURCE, READ},
	   {MESSAGE, OF_HIDDEN, BY_ITEM, WRITE}}},
	 SCALE_MESSAGE,
	 {"add",
	  3,
	  {{TARGET, OF_ID, BY_CHUNK_ITEM, READ},
	   {MESSAGE, OF_HIDDEN, BY_ITEM, READ},
	   {OUT, OF_HIDDEN, BY_TARGET, ATOMIC}}}},
	{{"select",
	  3,
	  {{TARGET, OF_ID, BY_CHUNK_ITEM, READ},
	   {GRAD_OUT, OF_HIDDEN, BY_TARGET, READ},
	   {MESSAGE, OF_HIDDEN, BY_ITEM, WRITE}}},
	 SCALE_MESSAGE,
	 {"add",
	  3,
	  {{SOURCE, OF_ID, BY_CHUNK_ITEM, READ},
	   {MESSAGE, OF_HIDDEN, BY_ITEM, READ},
	   {GRAD_H, OF_HIDDEN, BY_SOURCE, ATOMIC}}}},
};
enum { SAMPLE_1, SAMPLE_2, GATHER, FORWARD, BACKWARD, BATCH_KERNELS };
static const struct kernel of_batch[BATCH_KERNELS] = {
	{"sample", 0, {{0}}},
	{"sample", 0, {{0}}},
	{"gather",
	 3,
	 {{NODES, OF_ID, BY_ITEM, READ},
	  {TABLE, OF_FEATURES, BY_NODE, READ},
	  {GATHERED, OF_FEATURES, BY_ITEM, WRITE}}},
	{"forward", 2, {{GATHERED, OF_FEATURES, BY_ITEM, READ}, {HIDDEN_ROWS, OF_HIDDEN, BY_ITEM, WRITE}}},
	{"backward", 2, {{HIDDEN_ROWS, OF_HIDDEN, BY_ITEM, READ}, {GRADIENT, OF_HIDDEN, BY_ITEM, WRITE}}},
};

struct state {
	struct graph graph;
	uint64_t epoch, pass, at; /* of the kernel that is launched next: `at` counts within the pass */
	/* the kernel that runs */
	const struct kernel *kernel;
	uint64_t first, items;	 /* first: edge of the chunk */
	uint64_t own, at_a_time; /* items of a thread block, of a step */
	/* the whole graph */
	struct permutation shuffle; /* of the entries of the graph's rows */
	/* mini-batches */
	struct permutation seeds;
	uint32_t *node; /* [nodes_most]: the distinct nodes of the batch */
	uint64_t nodes, nodes_most;
	bool *is_in;	  /* [vertices]: in node[] */
	uint64_t *entry;  /* of graph.edge[], sampled by the kernel: `fanout` for each of its nodes */
	uint64_t sampled; /* nodes that the kernel samples for */
	uint32_t fanout;  /* of the kernel */
};

static bool is_whole(const struct workload *workload)
{
	return workload->value[BATCH] == 0;
}

static uint64_t vertices_of(const struct workload *workload)
{
	return (uint64_t)1 << workload->value[SCALE];
}

static uint64_t second_fanout(const struct workload *workload)
{
	uint64_t fanout = workload->value[FANOUT] * 2 / 3;

	return fanout != 0 ? fanout : 1;
}

static uint64_t seeds_of(const struct workload *workload)
{
	return workload_ceil_div(vertices_of(workload), SEED_SHARE);
}

/* -- opening -- */

/* Edges in the lists: the graph's, and one for each node. */
static uint64_t edges_of(const struct workload *workload)
{
	const struct state *state = workload->state;

	return state->graph.edges + vertices_of(workload);
}

static uint64_t chunk_of(const struct workload *workload)
{
	return workload->value[CHUNK] < edges_of(workload) ? workload->value[CHUNK] : edges_of(workload);
}

static void add_whole(struct workload *workload)
{
	uint64_t vertices = vertices_of(workload), edges = edges_of(workload);
	uint64_t hidden = workload->value[HIDDEN];

	workload_add_range(workload, "x", vertices * workload->value[FEATURES]);
	workload_add_fresh(workload, "h", vertices * hidden);
	workload_add_fresh(workload, "out", vertices * hidden);
	workload_add_fresh(workload, "grad_out", vertices * hidden);
	workload_add_fresh(workload, "grad_h", vertices * hidden);
	workload_add_range(workload, "source", edges * ID_BYTES);
	workload_add_range(workload, "target", edges * ID_BYTES);
	workload_add_range(workload, "weight", edges * 4);
	workload_add_fresh(workload, "message", chunk_of(workload) * hidden);
}

static bool add_batches(struct workload *workload, struct state *state)
{
	uint64_t vertices = vertices_of(workload), seeds = seeds_of(workload);
	uint64_t batch = workload->value[BATCH] < seeds ? workload->value[BATCH] : seeds;
	uint64_t first = batch * (1 + workload->value[FANOUT]), most;

	first = first < vertices ? first : vertices;
	most = first * (1 + second_fanout(workload));
	state->nodes_most = most < vertices ? most : vertices;
	workload_add_range(workload, "offsets", (vertices + 1) * ID_BYTES);
	workload_add_range(workload, "edges", state->graph.edges * ID_BYTES);
	workload_add_range(workload, "features", vertices * workload->value[FEATURES]);
	workload_add_fresh(workload, "nodes", state->nodes_most * ID_BYTES);
	workload_add_fresh(workload, "gathered", state->nodes_most * workload->value[FEATURES]);
	workload_add_fresh(workload, "hidden", state->nodes_most * workload->value[HIDDEN]);
	workload_add_fresh(workload, "gradient", state->nodes_most * workload->value[HIDDEN]);
	state->node = array_zeros(state->nodes_most, sizeof(*state->node));
	state->is_in = array_zeros(vertices, sizeof(*state->is_in));
	state->entry = array_zeros(first * workload->value[FANOUT], sizeof(*state->entry));
	return state->node != NULL && state->is_in != NULL && state->entry != NULL;
}

static bool gnn_open(struct workload *workload)
{
	struct state *state = workload->state = calloc(1, sizeof(*state));
	const struct graph_shape shape = {.scale = (unsigned)workload->value[SCALE],
					  .degree = (unsigned)workload->value[DEGREE],
					  .skew = (unsigned)workload->value[SKEW]};

	if (state == NULL || !graph_build(&state->graph, shape, &workload->random))
		return false;
	permutation_init(&state->shuffle, state->graph.edges, &workload->random);
	if (!is_whole(workload))
		return add_batches(workload, state);
	add_whole(workload);
	return true;
}

static void gnn_close(struct workload *workload)
{
	struct state *state = workload->state;

	if (state == NULL)
		return;
	graph_free(&state->graph);
	free(state->node);
	free(state->is_in);
	free(state->entry);
	free(state);
}

/* -- operands -- */

static uint64_t width_of(const struct workload *workload, const struct operand *operand)
{
	switch ((enum width)operand->width) {
	case OF_ID:
		return ID_BYTES;
	case OF_WEIGHT:
		return 4;
	case OF_FEATURES:
		return workload->value[FEATURES];
	default:
		return workload->value[HIDDEN];
	}
}

static bool is_in_order(const struct operand *operand)
{
	return operand->place == BY_ITEM || operand->place == BY_CHUNK_ITEM;
}

/* The vertex in whose row an entry of graph.edge[] stands. */
static uint64_t row_of(const struct graph *graph, uint64_t entry)
{
	uint64_t first = 0, last = graph->vertices - 1;

	while (first < last) {
		uint64_t middle = first + (last - first + 1) / 2;

		if (graph->offset[middle] <= entry)
			first = middle;
		else
			last = middle - 1;
	}
	return first;
}

/* The row of the operand's array that belongs to an item. */
static uint64_t place_of(const struct workload *workload, const struct operand *operand, uint64_t item)
{
	const struct state *state = workload->state;
	uint64_t edge = state->first + item, entry;

	if (operand->place == BY_ITEM)
		return item;
	if (operand->place == BY_CHUNK_ITEM)
		return edge;
	if (operand->place == BY_NODE)
		return state->node[item];
	if (edge >= state->graph.edges) /* a node's edge to itself */
		return edge - state->graph.edges;
	entry = permutation_at(&state->shuffle, edge);
	return operand->place == BY_SOURCE ? row_of(&state->graph, entry) : state->graph.edge[entry];
}

/* Items of a thread block and of a step: the widest operand in order decides. */
static void divide(struct workload *workload)
{
	struct state *state = workload->state;
	uint64_t widest = 1; /* bytes */

	for (unsigned i = 0; i < state->kernel->operands; i++) {
		const struct operand *operand = &state->kernel->operand[i];
		uint64_t width = width_of(workload, operand);

		if (is_in_order(operand) && width > widest)
			widest = width;
	}
	state->own = workload_ceil_div(workload->value[SLAB], widest);
	state->at_a_time = widest < WORKLOAD_PAGE ? WORKLOAD_PAGE / widest : 1;
	if (state->at_a_time > ITEMS_MOST)
		state->at_a_time = ITEMS_MOST;
	workload->blocks = workload_ceil_div(state->items, state->own);
}

/* Sets the step of one operand for `count` items. */
static void set_operand(struct workload *workload, struct workload_slot *slot, const struct operand *operand,
			uint64_t item, uint64_t count)
{
	uint64_t base = workload->range[operand->range].base, width = width_of(workload, operand);
	uint32_t lanes = 0;

	if (is_in_order(operand)) {
		workload_set_wide(slot, base + place_of(workload, operand, item) * width, count * width,
				  (enum uvmp_access)operand->access);
		slot->flops = (uint32_t)(count * width / 4);
		return;
	}
	for (uint64_t i = 0; i < count; i++)
		lanes = gather_run(slot, lanes, base + place_of(workload, operand, item + i) * width, width);
	workload_set_lanes(slot, lanes, lanes == count ? (uint32_t)width : 4,
			   (enum uvmp_access)operand->access);
}

/* -- kernels over the whole graph -- */

static bool launch_whole(struct workload *workload)
{
	struct state *state = workload->state;
	uint64_t edges = edges_of(workload), chunk = chunk_of(workload);
	uint64_t kernels = workload_ceil_div(edges, chunk) * STAGES;
	bool is_backward = state->pass >= PASSES / 2;
	uint64_t at = is_backward ? state->at : state->at - 1; /* among those of chunks */

	if (state->at == (is_backward ? kernels : 0)) {
		state->kernel = &linear[state->pass];
		state->first = 0;
		state->items = vertices_of(workload);
	} else {
		state->kernel = &of_chunk[is_backward][at % STAGES];
		state->first = at / STAGES * chunk;
		state->items = edges - state->first < chunk ? edges - state->first : chunk;
	}
	divide(workload);
	if (state->at++ < kernels)
		return true;
	state->at = 0;
	if (++state->pass == PASSES) {
		state->pass = 0;
		state->epoch++;
	}
	return true;
}

/* -- mini-batches -- */

static void add_node(struct state *state, uint32_t vertex)
{
	if (state->is_in[vertex])
		return;
	state->is_in[vertex] = true;
	state->node[state->nodes++] = vertex;
}

/* The batch's seeds are its first nodes. */
static void start_batch(struct workload *workload, uint64_t first, uint64_t count)
{
	struct state *state = workload->state;

	if (first == 0)
		permutation_init(&state->seeds, vertices_of(workload), &workload->random);
	while (state->nodes > 0)
		state->is_in[state->node[--state->nodes]] = false;
	for (uint64_t i = 0; i < count; i++)
		add_node(state, (uint32_t)permutation_at(&state->seeds, first + i));
}

/* Draws neighbours, with replacement, for all nodes so far. */
static void sample(struct workload *workload, uint32_t fanout)
{
	struct state *state = workload->state;
	const struct graph *graph = &state->graph;

	state->sampled = state->nodes;
	state->fanout = fanout;
	for (uint64_t i = 0; i < state->sampled; i++) {
		uint64_t vertex = state->node[i], first = graph->offset[vertex];
		uint64_t degree = graph->offset[vertex + 1] - first;

		for (uint32_t j = 0; j < fanout; j++) {
			uint64_t entry = first + uvmp_random_below(&workload->random, degree);

			state->entry[i * fanout + j] = degree != 0 ? entry : ENTRY_NONE;
			if (degree != 0)
				add_node(state, graph->edge[entry]);
		}
	}
}

static bool launch_batch(struct workload *workload)
{
	struct state *state = workload->state;
	uint64_t batch = workload->value[BATCH], seeds = seeds_of(workload), kernel = state->at;
	uint64_t first = state->pass * batch; /* a pass is a batch here */

	state->kernel = &of_batch[kernel];
	if (kernel == SAMPLE_1)
		start_batch(workload, first, seeds - first < batch ? seeds - first : batch);
	if (kernel == SAMPLE_1 || kernel == SAMPLE_2) {
		sample(workload,
		       (uint32_t)(kernel == SAMPLE_1 ? workload->value[FANOUT] : second_fanout(workload)));
		workload->blocks = workload_ceil_div(state->sampled, WORKLOAD_LANES);
	} else {
		state->items = state->nodes;
		divide(workload);
	}
	if (++state->at < BATCH_KERNELS)
		return true;
	state->at = 0;
	if (++state->pass * batch >= seeds) {
		state->pass = 0;
		state->epoch++;
	}
	return true;
}

/* A warp samples for 32 nodes: it reads their bounds, then an entry of each at a time. */
static bool sample_step(struct workload *workload, struct workload_slot *slot)
{
	const struct state *state = workload->state;
	uint64_t first = slot->block * WORKLOAD_LANES, end = first + WORKLOAD_LANES;
	uint32_t lanes = 0;

	if (end > state->sampled)
		end = state->sampled;
	while (lanes == 0) {
		if (slot->step > state->fanout)
			return false;
		for (uint64_t i = first; i < end; i++) {
			uint64_t at = workload->range[OFFSETS].base + state->node[i] * (uint64_t)ID_BYTES;

			if (slot->step > 0) {
				uint64_t entry = state->entry[i * state->fanout + slot->step - 1];

				if (entry == ENTRY_NONE)
					continue;
				at = workload->range[EDGES].base + entry * ID_BYTES;
			}
			slot->lane[lanes++] = at;
		}
		slot->step++;
	}
	workload_set_lanes(slot, lanes, ID_BYTES, READ);
	return true;
}

static bool gnn_launch(struct workload *workload)
{
	struct state *state = workload->state;

	if (state->epoch == workload->value[EPOCHS])
		return false;
	if (is_whole(workload))
		launch_whole(workload);
	else
		launch_batch(workload);
	workload->kernel = state->kernel->name;
	return true;
}

/* slot->row: the operand whose turn it is. */
static bool gnn_span(struct workload *workload, struct workload_slot *slot)
{
	const struct state *state = workload->state;
	uint64_t item = slot->block * state->own + slot->step * state->at_a_time, end, count;

	if (state->kernel->operands == 0)
		return sample_step(workload, slot);
	end = (slot->block + 1) * state->own;
	if (end > state->items)
		end = state->items;
	if (item >= end)
		return false;
	count = end - item < state->at_a_time ? end - item : state->at_a_time;
	set_operand(workload, slot, &state->kernel->operand[slot->row], item, count);
	if (++slot->row == state->kernel->operands) {
		slot->row = 0;
		slot->step++;
	}
	return true;
}

const struct workload_type workload_gnn = {
	.name = "gnn",
	.summary =
		"training of a graph neural network: the whole graph, or mini-batches by neighbour sampling",
	.param = {{"scale", "2^scale nodes", 1, 28, 18, false},
		  {"degree", "edges of a node, in both directions, on average", 2, 1024, 8, false},
		  {"skew", "0: nodes are alike; 100: a few have very many edges", 0, GRAPH_SKEW_MAX, 100,
		   false},
		  {"features", "bytes of a node's input row", 4, 65536, 512, true},
		  {"hidden", "bytes of a node's hidden row", 4, 65536, 256, true},
		  {"batch", "seeds of a mini-batch; 0: the whole graph at once", 0, 1000000, 512, false},
		  {"fanout", "with batch: neighbours of a seed; its neighbours have two thirds of that", 1,
		   1000, 15, false},
		  {"chunk", "with batch=0: edges of one kernel", 1, UINT32_MAX, 65536, false},
		  {"epochs", "passes over the graph or the seeds", 1, 100000, 1, false},
		  {"slab", "bytes of an array that one thread block works on", 4096, 64 << 20, 276 << 10,
		   true},
		  WORKLOAD_AGENTS},
	.open = gnn_open,
	.close = gnn_close,
	.launch = gnn_launch,
	.span = gnn_span,
};
