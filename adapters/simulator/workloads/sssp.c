/* Single-source shortest paths over a random graph, as a program of managed memory (UVM Smart): the algorithm
 * of Harish and Narayanan (HiPC 2007). Every node has edges to `degree` others, all different, of random
 * weights 0..999. Arrays in the order of allocation: first edge of each node, edges, weights, distances,
 * distances that are being updated, of 4 bytes each. The mask of active nodes is ordinary memory of the GPU,
 * which cannot fault, and is not shown.
 *
 * A thread per node, only 16 to a block. After a kernel that sets all distances, rounds of two: nodes that
 * are active offer the ends of their edges a shorter way (an atomic minimum: a load, then a
 * compare-and-swap); then all nodes take over their new distance and become active if it is shorter. Every
 * five rounds the CPU looks whether any node is active, and it stops after `rounds` in any case, done or not:
 * the study takes 15.
 *
 * The CPU draws the graph, copies the mask to itself before the first and after every fifth round, and prints
 * the distances.
 *
 * nodes=1048576,degree=2 are the published logs. */
#include <stdlib.h>

#include "array.h"
#include "building.h"
#include "cpu.h"
#include "runs.h"

enum { NODES, DEGREE, ROUNDS, CPU };
enum { VERTEX, EDGE, WEIGHT, DISTANCE, UPDATING };

#define THREADS	  16u
#define INT_BYTES 4u
#define WEIGHTS	  1000u
#define LOOK	  5u /* the CPU checks the result every LOOK rounds */
#define FAR	  UINT32_MAX

struct sssp {
	uint32_t *edge;	    /* [nodes * degree] */
	uint16_t *weight;   /* same */
	uint32_t *distance; /* [nodes] */
	uint32_t *updating; /* [nodes] */
	uint8_t *is_active; /* [nodes] */
	bool is_looked_at;  /* the mask, since the last kernel */
	bool has_ended;
};

static void sssp_close(struct workload *workload)
{
	struct sssp *sssp = workload->state;

	if (sssp == NULL)
		return;
	free(sssp->edge);
	free(sssp->weight);
	free(sssp->distance);
	free(sssp->updating);
	free(sssp->is_active);
	free(sssp);
}

static const char *sssp_check(const struct workload *workload)
{
	return workload->value[DEGREE] >= workload->value[NODES] ? "degree is not below nodes" : NULL;
}

/* An end for edge `index` of the node, none of which is the node or the end of an earlier edge. */
static uint32_t draw_end(const struct workload *workload, const uint32_t *earlier, uint64_t node,
			 uint64_t index, uint64_t *random)
{
	for (;;) {
		uint64_t end = uvmp_random_below(random, workload->value[NODES]), i = 0;

		while (i < index && earlier[i] != end)
			i++;
		if (end != node && i == index)
			return (uint32_t)end;
	}
}

static bool sssp_open(struct workload *workload)
{
	struct sssp *sssp = workload->state = calloc(1, sizeof(*sssp));
	uint64_t nodes = workload->value[NODES], degree = workload->value[DEGREE], edges = nodes * degree;

	if (sssp == NULL)
		return false;
	sssp->edge = array_again(NULL, edges, sizeof(*sssp->edge));
	sssp->weight = array_again(NULL, edges, sizeof(*sssp->weight));
	sssp->distance = array_again(NULL, nodes, sizeof(*sssp->distance));
	sssp->updating = array_again(NULL, nodes, sizeof(*sssp->updating));
	sssp->is_active = array_zeros(nodes, sizeof(*sssp->is_active));
	if (sssp->edge == NULL || sssp->weight == NULL || sssp->distance == NULL || sssp->updating == NULL ||
	    sssp->is_active == NULL)
		return false;
	for (uint64_t i = 0; i < edges; i++) {
		uint64_t node = i / degree;

		if (!building_goes_on(i, 0, edges))
			return false;
		sssp->edge[i] =
			draw_end(workload, sssp->edge + node * degree, node, i % degree, &workload->random);
		sssp->weight[i] = (uint16_t)uvmp_random_below(&workload->random, WEIGHTS);
	}
	for (uint64_t v = 0; v < nodes; v++)
		sssp->distance[v] = sssp->updating[v] = FAR;
	sssp->distance[0] = sssp->updating[0] = 0;
	sssp->is_active[0] = 1;
	cpu_add_input(workload, workload->value[CPU], "vertices", nodes * INT_BYTES);
	cpu_add_input(workload, workload->value[CPU], "edges", edges * INT_BYTES);
	cpu_add_input(workload, workload->value[CPU], "weights", edges * INT_BYTES);
	workload_add_fresh(workload, "distances", nodes * INT_BYTES);
	workload_add_fresh(workload, "updating_distances", nodes * INT_BYTES);
	return true;
}

/* What the first kernel of a round has done. */
static void relax(const struct workload *workload)
{
	uint64_t degree = workload->value[DEGREE];
	struct sssp *sssp = workload->state;

	for (uint64_t v = 0; v < workload->value[NODES]; v++) {
		if (!sssp->is_active[v])
			continue;
		sssp->is_active[v] = 0;
		for (uint64_t i = v * degree; i < (v + 1) * degree; i++) {
			uint32_t offer = sssp->distance[v] + sssp->weight[i];

			if (offer < sssp->updating[sssp->edge[i]])
				sssp->updating[sssp->edge[i]] = offer;
		}
	}
}

/* What the second kernel of a round has done; returns whether any node is active. */
static bool take_over(const struct workload *workload)
{
	struct sssp *sssp = workload->state;
	bool is_any_active = false;

	for (uint64_t v = 0; v < workload->value[NODES]; v++) {
		sssp->is_active[v] = sssp->distance[v] > sssp->updating[v];
		sssp->distance[v] = sssp->updating[v];
		is_any_active |= sssp->is_active[v];
	}
	return is_any_active;
}

/* The program's next kernel; false: the program has ended. */
static bool next_kernel(struct workload *workload)
{
	uint64_t kernels = workload->kernels_done, rounds = (kernels - 1) / 2;
	bool is_any_active = true;

	workload->blocks = workload_ceil_div(workload->value[NODES], THREADS);
	if (kernels == 0) {
		workload->kernel = "initializeArrays";
		return true;
	}
	if (kernels % 2 == 0) {
		relax(workload);
		workload->kernel = "Kernel2";
		return true;
	}
	if (rounds > 0)
		is_any_active = take_over(workload);
	workload->kernel = "Kernel1";
	return rounds % LOOK != 0 || (is_any_active && rounds < workload->value[ROUNDS]);
}

static bool sssp_launch(struct workload *workload)
{
	static const struct cpu_use inputs[] = {
		{VERTEX, UVMP_ACCESS_WRITE, 0}, {EDGE, UVMP_ACCESS_WRITE, 0}, {WEIGHT, UVMP_ACCESS_WRITE, 0}};
	struct sssp *sssp = workload->state;
	uint64_t at = workload->ops, cpu = workload->value[CPU];

	if (sssp->has_ended)
		return false;
	if (cpu_inputs(workload, cpu, &at, inputs, 3))
		return true;
	if (cpu != CPU_NONE && workload->kernels_done % (2 * LOOK) == 1 && !sssp->is_looked_at) {
		sssp->is_looked_at = true;
		workload_set_copy(workload, workload->value[NODES], false, 0);
		return true;
	}
	sssp->is_looked_at = false;
	if (next_kernel(workload))
		return true;
	sssp->has_ended = true;
	return cpu_result(workload, cpu, 0, DISTANCE);
}

/* -- steps -- */

static bool set_nodes(struct workload *workload, struct workload_slot *slot, unsigned range, uint64_t first,
		      uint64_t end, enum uvmp_access access)
{
	runs_set_one(slot, workload->range[range].base, first, end, access);
	return true;
}

static bool initialize(struct workload *workload, struct workload_slot *slot, uint64_t first, uint64_t end)
{
	uint64_t step = slot->step++;

	return step < 2 &&
	       set_nodes(workload, slot, step == 0 ? DISTANCE : UPDATING, first, end, UVMP_ACCESS_WRITE) &&
	       (step == 1 || workload_go_on(slot));
}

/* The nodes from the first to the last of those in a mask. */
static bool set_masked(struct workload *workload, struct workload_slot *slot, unsigned range, uint64_t first,
		       uint64_t mask, uint64_t more, enum uvmp_access access)
{
	uint64_t lowest = (uint64_t)__builtin_ctz((uint32_t)mask);
	uint64_t end = first + 32u - (uint64_t)__builtin_clz((uint32_t)mask) + more;

	if (end > workload->value[NODES])
		end = workload->value[NODES];
	return set_nodes(workload, slot, range, first + lowest, end, access);
}

/* For the edge in hand of each active node: the edge's own entry in an array, or that of its end. */
static bool gather(struct workload *workload, struct workload_slot *slot, unsigned range, bool is_of_end,
		   uint64_t first, enum uvmp_access access)
{
	const struct sssp *sssp = workload->state;
	uint32_t lanes = 0;

	for (uint32_t mask = (uint32_t)slot->own[0]; mask != 0; mask &= mask - 1) {
		uint64_t node = first + (uint64_t)__builtin_ctz(mask);
		uint64_t edge = node * workload->value[DEGREE] + slot->row;

		slot->lane[lanes++] =
			workload->range[range].base + (is_of_end ? sssp->edge[edge] : edge) * INT_BYTES;
	}
	workload_set_lanes(slot, lanes, INT_BYTES, access);
	return true;
}

/* Steps: 0 where the edges of the active nodes begin and end, 1 their distances, which are first needed with
 * a weight, then for edge slot->row of each: 2 its end, 3 its weight, 4 and 5 the minimum. own[0]: the active
 * nodes. */
static bool offer(struct workload *workload, struct workload_slot *slot, uint64_t first, uint64_t end)
{
	const struct sssp *sssp = workload->state;

	switch (slot->step++) {
	case 0:
		slot->own[0] = 0;
		for (uint64_t v = first; v < end; v++)
			slot->own[0] |= (uint64_t)sssp->is_active[v] << (v - first);
		return slot->own[0] != 0 &&
		       set_masked(workload, slot, VERTEX, first, slot->own[0], 1, UVMP_ACCESS_READ);
	case 1:
		return set_masked(workload, slot, DISTANCE, first, slot->own[0], 0, UVMP_ACCESS_READ) &&
		       workload_go_on(slot);
	case 2:
		return slot->row < workload->value[DEGREE] &&
		       gather(workload, slot, EDGE, false, first, UVMP_ACCESS_READ) && workload_go_on(slot);
	case 3:
		gather(workload, slot, WEIGHT, false, first, UVMP_ACCESS_READ);
		slot->flops = 2 * WORKLOAD_LANES;
		return true;
	case 4:
		return gather(workload, slot, UPDATING, true, first, UVMP_ACCESS_READ);
	default:
		gather(workload, slot, UPDATING, true, first, UVMP_ACCESS_ATOMIC_STRONG);
		slot->step = 2;
		slot->row++;
		return true;
	}
}

/* Steps: 0 and 1 both distances, 2 the shorter ones, 3 the distances to be updated next. */
static bool accept(struct workload *workload, struct workload_slot *slot, uint64_t first, uint64_t end)
{
	const struct sssp *sssp = workload->state;
	uint64_t shorter = 0;

	switch (slot->step++) {
	case 0:
		return set_nodes(workload, slot, DISTANCE, first, end, UVMP_ACCESS_READ) &&
		       workload_go_on(slot);
	case 1:
		set_nodes(workload, slot, UPDATING, first, end, UVMP_ACCESS_READ);
		slot->flops = WORKLOAD_LANES;
		return true;
	case 2:
		for (uint64_t v = first; v < end; v++)
			shorter |= (uint64_t)(sssp->updating[v] < sssp->distance[v]) << (v - first);
		if (shorter != 0)
			return set_masked(workload, slot, DISTANCE, first, shorter, 0, UVMP_ACCESS_WRITE) &&
			       workload_go_on(slot);
		slot->step++;
		/* fall through */
	case 3:
		return set_nodes(workload, slot, UPDATING, first, end, UVMP_ACCESS_WRITE);
	default:
		return false;
	}
}

static bool sssp_span(struct workload *workload, struct workload_slot *slot)
{
	uint64_t first = slot->block * THREADS, end = first + THREADS;

	if (end > workload->value[NODES])
		end = workload->value[NODES];
	if (workload->kernels_done == 0)
		return initialize(workload, slot, first, end);
	return workload->kernels_done % 2 == 1 ? offer(workload, slot, first, end)
					       : accept(workload, slot, first, end);
}

const struct workload_type workload_sssp = {
	.name = "sssp",
	.summary = "single-source shortest paths over a random graph as in UVM Smart; published run: "
		   "nodes=1048576",
	.param = {{"nodes", "nodes", 2, 1 << 26, 9 << 20, false},
		  {"degree", "edges of a node", 1, 32, 2, false},
		  {"rounds", "at most; rounded up to a multiple of 5", 1, 1000000, 15, false},
		  CPU_PARAM,
		  WORKLOAD_AGENTS},
	.check = sssp_check,
	.open = sssp_open,
	.close = sssp_close,
	.launch = sssp_launch,
	.span = sssp_span,
};
