/* Steps of warps that work on graphs (graph_warp.h). */
#include <stdlib.h>

#include "graph_warp.h"
#include "array.h"

/* -- state -- */

static bool make_graph(struct workload *workload, struct graph *graph, bool is_weighted)
{
	const char *path = workload->text[GRAPH_FILE];
	struct graph_shape shape = {.scale = (unsigned)workload->value[GRAPH_SCALE],
				    .degree = (unsigned)workload->value[GRAPH_DEGREE],
				    .skew = (unsigned)workload->value[GRAPH_SKEW]};
	struct graph_options options = {workload->value[GRAPH_DIRECTED] != 0, is_weighted};

	if (path != NULL)
		return graph_load(graph, path, options, workload->source.error);
	if (is_weighted)
		return graph_build_weighted(graph, shape, &workload->random);
	return graph_build(graph, shape, &workload->random);
}

bool graph_open(struct workload *workload, size_t bytes, bool is_weighted)
{
	struct graph_state *state = workload->state = calloc(1, bytes);

	if (state == NULL || !make_graph(workload, &state->graph, is_weighted))
		return false;
	state->root = graph_hub(&state->graph);
	return true;
}

void graph_close(struct workload *workload)
{
	struct graph_state *state = workload->state;

	if (state == NULL)
		return;
	graph_free(&state->graph);
	for (unsigned i = 0; i < state->arrays; i++)
		free(state->array[i]);
	free(state);
}

void *graph_array(struct graph_state *state, uint64_t count, size_t size)
{
	void *array = array_zeros(count, size);

	state->array[state->arrays++] = array;
	return array;
}

uint32_t *graph_array_of(struct graph_state *state, uint64_t count, uint32_t value)
{
	uint32_t *array = graph_array(state, count, sizeof(*array));

	for (uint64_t i = 0; array != NULL && i < count; i++)
		array[i] = value;
	return array;
}

bool graph_has_arrays(const struct graph_state *state)
{
	for (unsigned i = 0; i < state->arrays; i++)
		if (state->array[i] == NULL)
			return false;
	return true;
}

unsigned graph_range(struct workload *workload, const char *name, uint64_t count, uint64_t bytes)
{
	workload_add_range(workload, name, count * bytes);
	return workload->ranges - 1;
}

unsigned graph_fresh(struct workload *workload, const char *name, uint64_t count, uint64_t bytes)
{
	workload_add_fresh(workload, name, count * bytes);
	return workload->ranges - 1;
}

void graph_add(struct workload *workload)
{
	struct graph_state *state = workload->state;

	state->offsets = graph_range(workload, "offsets", state->graph.vertices + 1, 8);
	state->edges = graph_range(workload, "edges", state->graph.edges, 8);
}

bool graph_add_lists(struct workload *workload)
{
	struct graph_state *state = workload->state;
	struct graph_list *list = state->list;
	uint64_t vertices = state->graph.vertices, capacity = workload->value[GRAPH_ROOM];

	if (capacity < vertices)
		capacity = vertices;
	for (unsigned i = 0; i < 2; i++)
		list[i].item = graph_array(state, vertices, sizeof(*list[i].item));
	/* the host fills the first one */
	list[0].items = graph_range(workload, "worklist0", capacity, 8);
	list[0].end = graph_range(workload, "end0", 1, 4);
	list[1].items = graph_fresh(workload, "worklist1", capacity, 8);
	list[1].end = graph_range(workload, "end1", 1, 4);
	return graph_has_arrays(state);
}

bool graph_open_levels(struct workload *workload, size_t bytes)
{
	struct graph_state *state;

	if (!graph_open(workload, bytes, false))
		return false;
	state = workload->state;
	state->level = graph_array_of(state, state->graph.vertices, GRAPH_INFINITY);
	if (state->level == NULL)
		return false;
	state->level[state->root] = 0;
	state->result = state->level;
	graph_fresh(workload, "levels", state->graph.vertices, 4);
	return true;
}

bool graph_open_search(struct workload *workload)
{
	if (!graph_open_levels(workload, sizeof(struct graph_state)))
		return false;
	graph_range(workload, "changed", 1, 1);
	graph_add(workload);
	return true;
}

/* -- kernels -- */

void graph_grid(struct workload *workload, const char *kernel, uint64_t threads)
{
	struct graph_state *state = workload->state;

	workload->kernel = kernel;
	workload->blocks = workload_ceil_div(threads, GRAPH_THREADS);
	workload->warps =
		threads < GRAPH_THREADS ? (uint32_t)workload_ceil_div(threads, 32) : GRAPH_THREADS / 32;
	state->threads = threads;
}

/* The next kernel, as the state says, in passes. */
static void count_kernel(struct workload *workload, unsigned kernels)
{
	struct graph_state *state = workload->state;
	uint64_t done = workload->kernels_done;

	state->is_filling = done == 0;
	state->is_second = done > 0 && (done - 1) % kernels == 1;
	state->pass = done > 0 ? (uint32_t)((done - 1) / kernels) : 0;
}

static void launch_fill(struct workload *workload)
{
	const struct graph_state *state = workload->state;

	graph_grid(workload, "initialize", state->graph.vertices);
}

bool graph_launch(struct workload *workload, const char *first, const char *second)
{
	struct graph_state *state = workload->state;
	bool is_again = state->is_again;

	count_kernel(workload, second != NULL ? 2 : 1);
	state->is_again = false;
	if (state->is_filling) {
		launch_fill(workload);
		return true;
	}
	if (state->pass > 0 && !state->is_second && !is_again)
		return false;
	graph_grid(workload, state->is_second ? second : first, state->graph.vertices);
	return true;
}

bool graph_launch_list(struct workload *workload, const char *kernel)
{
	struct graph_state *state = workload->state;

	count_kernel(workload, 1);
	if (state->is_filling) {
		launch_fill(workload);
		return true;
	}
	if (graph_list_now(state)->length == 0)
		return false;
	state->item = graph_list_now(state)->item;
	graph_list_next(state)->length = 0;
	graph_grid(workload, kernel, graph_list_now(state)->length);
	return true;
}

/* -- lanes -- */

uint32_t graph_equal(const struct graph_state *state, const struct workload_slot *slot, const uint32_t *array,
		     uint32_t value, uint32_t mask)
{
	uint32_t equal = 0;

	while (mask != 0) {
		unsigned lane = graph_take(&mask);

		equal |= (uint32_t)(array[graph_vertex(state, slot, lane)] == value) << lane;
	}
	return equal;
}

uint32_t graph_flagged(const struct graph_state *state, const struct workload_slot *slot, const bool *flag,
		       uint32_t mask)
{
	uint32_t flagged = 0;

	while (mask != 0) {
		unsigned lane = graph_take(&mask);

		flagged |= (uint32_t)flag[graph_vertex(state, slot, lane)] << lane;
	}
	return flagged;
}

uint32_t graph_ends_equal(const struct graph_state *state, const struct workload_slot *slot,
			  const uint32_t *array, uint32_t value, uint32_t mask)
{
	uint32_t equal = 0;

	while (mask != 0) {
		unsigned lane = graph_take(&mask);

		equal |= (uint32_t)(array[graph_end(state, slot, lane)] == value) << lane;
	}
	return equal;
}

uint32_t graph_ends_unflagged(const struct graph_state *state, const struct workload_slot *slot,
			      const bool *flag, uint32_t mask)
{
	uint32_t unflagged = 0;

	while (mask != 0) {
		unsigned lane = graph_take(&mask);

		unflagged |= (uint32_t)!flag[graph_end(state, slot, lane)] << lane;
	}
	return unflagged;
}

void graph_set_flags(const struct graph_state *state, const struct workload_slot *slot, bool *flag,
		     bool value, uint32_t mask)
{
	while (mask != 0)
		flag[graph_vertex(state, slot, graph_take(&mask))] = value;
}

void graph_set_ends(const struct graph_state *state, const struct workload_slot *slot, uint32_t *array,
		    uint32_t value, uint32_t mask)
{
	while (mask != 0)
		array[graph_end(state, slot, graph_take(&mask))] = value;
}

/* -- steps -- */

uint32_t graph_alive(const struct graph_state *state, const struct workload_slot *slot)
{
	uint64_t first = graph_first(slot);

	return first < state->threads ? graph_lanes(state->threads - first) : 0;
}

static void finish_lanes(struct workload_slot *slot, uint32_t lanes, uint32_t bytes, enum uvmp_access access)
{
	workload_set_lanes(slot, lanes, bytes, access);
	slot->flops = lanes;
}

void graph_one(struct workload *workload, struct workload_slot *slot, enum uvmp_access access, unsigned range,
	       uint64_t index, uint32_t bytes)
{
	workload_set_wide(slot, workload->range[range].base + index * bytes, bytes, access);
}

void graph_threads(struct workload *workload, struct workload_slot *slot, enum uvmp_access access,
		   unsigned range, uint32_t bytes, unsigned shift, uint32_t mask)
{
	unsigned low = (unsigned)__builtin_ctz(mask), high = 31 - (unsigned)__builtin_clz(mask);

	workload_set_wide(slot, workload->range[range].base + (graph_first(slot) + low + shift) * bytes,
			  (uint64_t)(high - low + 1) * bytes, access);
	slot->flops = (uint32_t)__builtin_popcount(mask);
}

void graph_vertices(struct workload *workload, struct workload_slot *slot, enum uvmp_access access,
		    unsigned range, uint32_t bytes, unsigned shift, uint32_t mask)
{
	const struct graph_state *state = workload->state;
	uint64_t base = workload->range[range].base;
	uint32_t lanes = 0;

	if (state->item == NULL) {
		graph_threads(workload, slot, access, range, bytes, shift, mask);
		return;
	}
	while (mask != 0)
		slot->lane[lanes++] =
			base + ((uint64_t)graph_vertex(state, slot, graph_take(&mask)) + shift) * bytes;
	finish_lanes(slot, lanes, bytes, access);
}

void graph_ends(struct workload *workload, struct workload_slot *slot, enum uvmp_access access,
		unsigned range, uint32_t bytes, uint32_t mask)
{
	const struct graph_state *state = workload->state;
	uint64_t base = workload->range[range].base;
	uint32_t lanes = 0;

	while (mask != 0)
		slot->lane[lanes++] = base + (uint64_t)graph_end(state, slot, graph_take(&mask)) * bytes;
	finish_lanes(slot, lanes, bytes, access);
}

/* One edge of each lane that has one left; false: no lane has one. */
static bool walk_edges(struct workload *workload, struct workload_slot *slot)
{
	const struct graph_state *state = workload->state;
	uint64_t base = workload->range[state->edges].base;
	uint32_t mask = (uint32_t)slot->own[0], left = 0, lanes = 0;

	while (mask != 0) {
		unsigned lane = graph_take(&mask);
		uint64_t edge = graph_edge(state, slot, lane);

		if (edge >= state->graph.offset[graph_vertex(state, slot, lane) + 1])
			continue;
		left |= (uint32_t)1 << lane;
		slot->lane[lanes++] = base + edge * 8;
	}
	slot->own[0] = left;
	if (left == 0)
		return false;
	finish_lanes(slot, lanes, 8, UVMP_ACCESS_READ);
	return true;
}

bool graph_walk(struct workload *workload, struct workload_slot *slot)
{
	const struct graph_state *state = workload->state;
	uint32_t mask = (uint32_t)slot->own[0];

	switch (slot->step++) {
	case WALK_START:
		graph_vertices(workload, slot, UVMP_ACCESS_READ, state->offsets, 8, 0, mask);
		return workload_go_on(slot);
	case WALK_STOP:
		graph_vertices(workload, slot, UVMP_ACCESS_READ, state->offsets, 8, 1, mask);
		return true;
	default:
		return walk_edges(workload, slot);
	}
}

bool graph_choose(struct workload *workload, struct workload_slot *slot, unsigned range, uint32_t bytes,
		  uint32_t mask, uint64_t then, uint64_t over)
{
	uint32_t alive = graph_alive(workload->state, slot);

	if (alive == 0)
		return false;
	slot->own[0] = mask;
	slot->step = mask != 0 ? then : over;
	graph_threads(workload, slot, UVMP_ACCESS_READ, range, bytes, 0, alive);
	return true;
}

bool graph_straight(struct workload *workload, struct workload_slot *slot, const struct graph_use *use,
		    unsigned uses)
{
	uint32_t alive = graph_alive(workload->state, slot);

	if (alive == 0 || slot->step == uses)
		return false;
	use += slot->step++;
	graph_threads(workload, slot, use->access, use->range, use->bytes, use->shift, alive);
	slot->goes_on = slot->step < uses && use[1].access == use->access;
	return true;
}

/* -- a warp per vertex -- */

uint32_t graph_ahead(const struct graph_state *state, const struct workload_slot *slot)
{
	return graph_alive(state, slot) & ~graph_lanes(slot->own[0]);
}

bool graph_look(struct workload *workload, struct workload_slot *slot, unsigned range, uint32_t bytes,
		uint32_t wanted, uint64_t found)
{
	uint32_t looked = graph_ahead(workload->state, slot);

	if (looked == 0)
		return false;
	slot->row = 0;
	if (wanted != 0) {
		slot->own[0] = (unsigned)__builtin_ctz(wanted);
		slot->step = found;
		looked &= graph_lanes(slot->own[0] + 1);
	} else {
		slot->own[0] = 32;
	}
	graph_threads(workload, slot, UVMP_ACCESS_READ, range, bytes, 0, looked);
	return true;
}

void graph_row(struct workload *workload, struct workload_slot *slot, uint32_t vertex)
{
	const struct graph_state *state = workload->state;

	workload_set_wide(slot, workload->range[state->offsets].base + (uint64_t)vertex * 8, 16,
			  UVMP_ACCESS_READ);
}

uint32_t graph_run(const struct graph_state *state, const struct workload_slot *slot, uint32_t vertex)
{
	uint64_t degree = state->graph.offset[vertex + 1] - state->graph.offset[vertex];

	if (slot->row >= degree)
		return 0;
	return degree - slot->row < 32 ? (uint32_t)(degree - slot->row) : 32;
}

void graph_run_edges(struct workload *workload, struct workload_slot *slot, unsigned range, uint32_t bytes,
		     uint32_t vertex)
{
	const struct graph_state *state = workload->state;
	uint32_t run = graph_run(state, slot, vertex);

	workload_set_wide(slot,
			  workload->range[range].base + (state->graph.offset[vertex] + slot->row) * bytes,
			  (uint64_t)run * bytes, UVMP_ACCESS_READ);
	slot->flops = run;
}

void graph_run_ends(struct workload *workload, struct workload_slot *slot, enum uvmp_access access,
		    unsigned range, uint32_t bytes, uint32_t vertex, uint32_t mask)
{
	const struct graph_state *state = workload->state;
	const uint32_t *end = state->graph.edge + state->graph.offset[vertex] + slot->row;
	uint64_t base = workload->range[range].base;
	uint32_t lanes = 0;

	while (mask != 0)
		slot->lane[lanes++] = base + (uint64_t)end[graph_take(&mask)] * bytes;
	finish_lanes(slot, lanes, bytes, access);
}

uint32_t graph_run_equal(const struct graph_state *state, const struct workload_slot *slot,
			 const uint32_t *array, uint32_t value, uint32_t vertex)
{
	const uint32_t *end = state->graph.edge + state->graph.offset[vertex] + slot->row;
	uint32_t run = graph_run(state, slot, vertex), mask = 0;

	for (uint32_t lane = 0; lane < run; lane++)
		mask |= (uint32_t)(array[end[lane]] == value) << lane;
	return mask;
}
