/* Breadth-first search of Rodinia over a random graph, as a program of managed memory (UVM Smart;
 * SAND2022-1528, table 4-1). Arrays in the order of allocation: nodes {first edge, number of edges} of 8
 * bytes, three masks of one byte a node (frontier, found now, seen), edges of 4 bytes, and the cost (level)
 * of each node of 4 bytes.
 *
 * Two kernels a level with a thread per node, 512 to a block. The first: a node of the frontier leaves it,
 * and edge by edge the nodes at the other end that are not seen get their cost and are marked as found. The
 * second: found nodes enter the frontier and are seen from then on. It ends when none was found. What the
 * masks hold in each kernel follows from the levels, so the search runs when the workload is opened.
 *
 * The CPU reads the graph from a file and sets the masks and costs; around the two kernels of a level it
 * copies a byte to memory of the GPU that is not managed (nothing found) and back; at the end it prints the
 * costs.
 *
 * Graphs as from Rodinia's generator: each node has edges to 2..4 others, every edge also stands at its other
 * end, ends are drawn uniformly. The search starts at node 0. `edges` asks for an exact number: that of the
 * published graph of 261444 nodes is 1568420 (2491 pages demanded); other published runs have 65536 and (in
 * SAND2022-1528) 4096 nodes. */
#include <stdlib.h>

#include "array.h"
#include "building.h"
#include "cpu.h"
#include "runs.h"

enum { NODES, EDGES, CPU };
enum { NODE_ARRAY, FRONTIER, FOUND, SEEN, EDGE_ARRAY, COST };

#define THREADS    512u
#define NODE_BYTES 8u
#define INT_BYTES  4u
#define LEAST      2u /* edges of a node to others */
#define MOST       4u
#define NEVER      UINT32_MAX

struct bfs {
	uint64_t nodes, edges;
	uint64_t *offset; /* [nodes + 1] */
	uint32_t *edge;
	uint32_t *level; /* [nodes] */
	uint32_t last;   /* level */
};

static void bfs_close(struct workload *workload)
{
	struct bfs *bfs = workload->state;

	if (bfs == NULL)
		return;
	free(bfs->offset);
	free(bfs->edge);
	free(bfs->level);
	free(bfs);
}

/* -- graph -- */

/* How many edges each node has to others, in degree[]; the sum is half the number of edges, rounded up.
 * False: interrupted. */
static bool draw_degrees(const struct workload *workload, struct bfs *bfs, uint32_t *degree, uint64_t *random)
{
	uint64_t wanted = (workload->value[EDGES] + 1) / 2, sum = 0;
	bool goes_on = true;

	for (uint64_t v = 0; v < bfs->nodes; v++) {
		degree[v] = LEAST + (uint32_t)uvmp_random_below(random, MOST - LEAST + 1);
		sum += degree[v];
	}
	bfs->edges = 2 * sum;
	if (wanted == 0)
		return true;
	bfs->edges = workload->value[EDGES];
	for (; sum < wanted && goes_on; sum++) {
		degree[uvmp_random_below(random, bfs->nodes)]++;
		goes_on = building_goes_on(sum, 0, 0);
	}
	for (uint64_t tries = 0; sum > wanted && goes_on; tries++) {
		uint32_t *one = &degree[uvmp_random_below(random, bfs->nodes)];

		sum -= *one != 0;
		*one -= *one != 0;
		goes_on = building_goes_on(tries, 0, 0);
	}
	return goes_on;
}

/* Draws all edges. First round: counts those of v in offset[v + 1]. Second: stores them at offset[v], which
 * moves on. An odd number of edges leaves out the last one's way back. False: interrupted. */
static bool draw_edges(struct bfs *bfs, const uint32_t *degree, uint64_t random, bool is_counting)
{
	uint64_t left = bfs->edges;

	for (uint64_t v = 0; v < bfs->nodes; v++) {
		if (!building_goes_on(v, is_counting ? 0 : bfs->nodes, 3 * bfs->nodes))
			return false;
		for (uint32_t i = 0; i < degree[v]; i++) {
			uint64_t end[2] = {v, uvmp_random_below(&random, bfs->nodes)};

			for (unsigned way = 0; way < 2 && left > 0; way++, left--) {
				if (is_counting)
					bfs->offset[end[way] + 1]++;
				else
					bfs->edge[bfs->offset[end[way]]++] = (uint32_t)end[1 - way];
			}
		}
	}
	return true;
}

static bool build(const struct workload *workload, struct bfs *bfs, uint64_t *random)
{
	uint32_t *degree = bfs->level; /* which is not needed yet */
	uint64_t seed;

	if (!draw_degrees(workload, bfs, degree, random))
		return false;
	bfs->edge = array_again(NULL, bfs->edges, sizeof(*bfs->edge));
	if (bfs->edge == NULL)
		return false;
	seed = uvmp_random_next(random);
	if (!draw_edges(bfs, degree, seed, true))
		return false;
	for (uint64_t v = 0; v < bfs->nodes; v++)
		bfs->offset[v + 1] += bfs->offset[v];
	if (!draw_edges(bfs, degree, seed, false))
		return false;
	/* every offset has moved to the end of its row, which is the start of the next one */
	for (uint64_t v = bfs->nodes; v > 0; v--)
		bfs->offset[v] = bfs->offset[v - 1];
	bfs->offset[0] = 0;
	return true;
}

/* All levels; false: out of memory, or interrupted. */
static bool search(struct bfs *bfs)
{
	uint32_t *queue = array_again(NULL, bfs->nodes, sizeof(*queue));
	uint64_t head = 0, tail = 1;

	if (queue == NULL)
		return false;
	for (uint64_t v = 0; v < bfs->nodes; v++)
		bfs->level[v] = NEVER;
	queue[0] = 0;
	bfs->level[0] = 0;
	for (; head < tail && building_goes_on(head, 2 * bfs->nodes, 3 * bfs->nodes); head++) {
		uint32_t v = queue[head];

		bfs->last = bfs->level[v];
		for (uint64_t i = bfs->offset[v]; i < bfs->offset[v + 1]; i++)
			if (bfs->level[bfs->edge[i]] == NEVER) {
				bfs->level[bfs->edge[i]] = bfs->level[v] + 1;
				queue[tail++] = bfs->edge[i];
			}
	}
	free(queue);
	return head == tail;
}

static bool bfs_open(struct workload *workload)
{
	struct bfs *bfs = workload->state = calloc(1, sizeof(*bfs));
	uint64_t nodes = workload->value[NODES], cpu = workload->value[CPU];

	if (bfs == NULL)
		return false;
	bfs->nodes = nodes;
	bfs->offset = array_zeros(nodes + 1, sizeof(*bfs->offset));
	bfs->level = array_again(NULL, nodes, sizeof(*bfs->level));
	if (bfs->offset == NULL || bfs->level == NULL || !build(workload, bfs, &workload->random) ||
	    !search(bfs))
		return false;
	cpu_add_input(workload, cpu, "graph_nodes", nodes * NODE_BYTES);
	cpu_add_input(workload, cpu, "graph_mask", nodes);
	cpu_add_input(workload, cpu, "updating_graph_mask", nodes);
	cpu_add_input(workload, cpu, "graph_visited", nodes);
	cpu_add_input(workload, cpu, "graph_edges", bfs->edges * INT_BYTES);
	cpu_add_input(workload, cpu, "cost", nodes * INT_BYTES);
	return true;
}

/* -- kernels -- */

static bool bfs_launch(struct workload *workload)
{
	static const struct cpu_use inputs[] = {
	        {NODE_ARRAY, UVMP_ACCESS_WRITE, 0}, {FRONTIER, UVMP_ACCESS_WRITE, 0},
	        {FOUND, UVMP_ACCESS_WRITE, 0},      {SEEN, UVMP_ACCESS_WRITE, 0},
	        {EDGE_ARRAY, UVMP_ACCESS_WRITE, 0}, {COST, UVMP_ACCESS_WRITE, 0}};
	const struct bfs *bfs = workload->state;
	uint64_t at = workload->ops, cpu = workload->value[CPU], copies = cpu == CPU_NONE ? 0 : 2;

	if (cpu_inputs(workload, cpu, &at, inputs, 6))
		return true;
	if (!cpu_is_within(&at, (bfs->last + 1) * (2 + copies)))
		return cpu_result(workload, cpu, at, COST);
	at %= 2 + copies;
	if (copies > 0 && (at == 0 || at == 3)) {
		workload_set_copy(workload, 1, at == 0, 0);
		return true;
	}
	workload->kernel = workload->kernels_done % 2 == 0 ? "Kernel" : "Kernel2";
	workload->blocks = workload_ceil_div(bfs->nodes, THREADS);
	workload->warps = THREADS / WORKLOAD_LANES;
	return true;
}

/* The warp's nodes of this level, as a mask. */
static uint32_t nodes_of_level(const struct bfs *bfs, uint64_t first, uint64_t end, uint64_t level)
{
	uint32_t mask = 0;

	for (uint64_t v = first; v < end; v++)
		mask |= (uint32_t)(bfs->level[v] == level) << (v - first);
	return mask;
}

/* The part of an array of `bytes` an element that spans those of the mask's nodes. */
static bool set_masked(struct workload *workload, struct workload_slot *slot, unsigned range, uint64_t bytes,
                       uint64_t first, uint32_t mask, enum uvmp_access access)
{
	uint64_t lowest = (uint64_t)__builtin_ctz(mask), highest = 31u - (uint64_t)__builtin_clz(mask);

	workload_set_wide(slot, workload->range[range].base + (first + lowest) * bytes,
	                  (highest - lowest + 1) * bytes, access);
	return true;
}

/* What lane[] is to hold for the edge in hand of each of the mask's nodes: */
enum target { THE_EDGE, THE_SEEN, THE_COST, THE_FOUND };

/* Fills lane[]; returns the lanes. */
static uint32_t gather(const struct workload *workload, struct workload_slot *slot, uint64_t first,
                       uint64_t mask, enum target target)
{
	static const unsigned range[] = {EDGE_ARRAY, SEEN, COST, FOUND};
	const struct bfs *bfs = workload->state;
	uint64_t base = workload->range[range[target]].base;
	uint32_t lanes = 0;

	for (; mask != 0; mask &= mask - 1) {
		uint64_t node = first + (uint64_t)__builtin_ctzll(mask), at = bfs->offset[node] + slot->row;

		if (at >= bfs->offset[node + 1])
			continue;
		if (target == THE_EDGE)
			slot->lane[lanes++] = base + at * INT_BYTES;
		else
			slot->lane[lanes++] = base + bfs->edge[at] * (target == THE_COST ? INT_BYTES : 1u);
	}
	return lanes;
}

/* Those of the mask's nodes whose edge in hand leads to one that is not seen. */
static uint64_t unseen_of(const struct workload *workload, const struct workload_slot *slot, uint64_t first,
                          uint64_t mask)
{
	const struct bfs *bfs = workload->state;
	uint64_t next_level = workload->kernels_done / 2 + 1, unseen = 0;

	for (; mask != 0; mask &= mask - 1) {
		uint64_t node = first + (uint64_t)__builtin_ctzll(mask), at = bfs->offset[node] + slot->row;

		if (at < bfs->offset[node + 1] && bfs->level[bfs->edge[at]] == next_level)
			unseen |= mask & (0 - mask);
	}
	return unseen;
}

/* One of the two fields of the mask's nodes. */
static bool load_nodes(struct workload *workload, struct workload_slot *slot, uint64_t first, uint32_t mask)
{
	return set_masked(workload, slot, NODE_ARRAY, NODE_BYTES, first, mask, UVMP_ACCESS_READ);
}

/* Steps of the first kernel: 0 the frontier, 1 leave it, 2 and 3 the nodes, then for edge slot->row of each:
 * 4 its end, 5 is that seen, and if not so for some: 6 the own cost, 7 the new costs, 8 the marks, 9 and 10
 * their nodes once more, which might have been overwritten for all that the compiler knows. own[0]: nodes of
 * the frontier, own[1]: those whose edge in hand leads to one not seen. */
static bool expand(struct workload *workload, struct workload_slot *slot, uint64_t first, uint64_t end)
{
	const struct bfs *bfs = workload->state;
	uint32_t lanes;

	switch (slot->step++) {
	case 0:
		slot->own[0] = nodes_of_level(bfs, first, end, workload->kernels_done / 2);
		workload_set_wide(slot, workload->range[FRONTIER].base + first, end - first,
		                  UVMP_ACCESS_READ);
		return true;
	case 1:
		return slot->own[0] != 0 && set_masked(workload, slot, FRONTIER, 1, first,
		                                       (uint32_t)slot->own[0], UVMP_ACCESS_WRITE);
	case 2:
		return load_nodes(workload, slot, first, (uint32_t)slot->own[0]) && workload_go_on(slot);
	case 3:
		return load_nodes(workload, slot, first, (uint32_t)slot->own[0]);
	case 4:
		lanes = gather(workload, slot, first, slot->own[0], THE_EDGE);
		if (lanes == 0)
			return false;
		workload_set_lanes(slot, lanes, INT_BYTES, UVMP_ACCESS_READ);
		return true;
	case 5:
		lanes = gather(workload, slot, first, slot->own[0], THE_SEEN);
		workload_set_lanes(slot, lanes, 1, UVMP_ACCESS_READ);
		slot->flops = 2 * WORKLOAD_LANES;
		slot->own[1] = unseen_of(workload, slot, first, slot->own[0]);
		if (slot->own[1] == 0) {
			slot->step = 4;
			slot->row++;
		}
		return true;
	case 6:
		return set_masked(workload, slot, COST, INT_BYTES, first, (uint32_t)slot->own[1],
		                  UVMP_ACCESS_READ);
	case 7:
		lanes = gather(workload, slot, first, slot->own[1], THE_COST);
		workload_set_lanes(slot, lanes, INT_BYTES, UVMP_ACCESS_WRITE);
		return workload_go_on(slot);
	case 8:
		lanes = gather(workload, slot, first, slot->own[1], THE_FOUND);
		workload_set_lanes(slot, lanes, 1, UVMP_ACCESS_WRITE);
		return true;
	case 9:
		return load_nodes(workload, slot, first, (uint32_t)slot->own[1]) && workload_go_on(slot);
	default:
		slot->step = 4;
		slot->row++;
		return load_nodes(workload, slot, first, (uint32_t)slot->own[1]);
	}
}

/* Steps of the second kernel: 0 the nodes found, 1..3 for those: the frontier, seen, found no more. */
static bool advance(struct workload *workload, struct workload_slot *slot, uint64_t first, uint64_t end)
{
	static const unsigned range[] = {FRONTIER, SEEN, FOUND};
	uint64_t step = slot->step++;

	if (step == 0) {
		slot->own[0] = nodes_of_level(workload->state, first, end, workload->kernels_done / 2 + 1);
		workload_set_wide(slot, workload->range[FOUND].base + first, end - first, UVMP_ACCESS_READ);
		return true;
	}
	return step <= 3 && slot->own[0] != 0 &&
	       set_masked(workload, slot, range[step - 1], 1, first, (uint32_t)slot->own[0],
	                  UVMP_ACCESS_WRITE) &&
	       (step == 3 || workload_go_on(slot));
}

static bool bfs_span(struct workload *workload, struct workload_slot *slot)
{
	const struct bfs *bfs = workload->state;
	uint64_t first = slot->block * THREADS + slot->warp * WORKLOAD_LANES, end = first + WORKLOAD_LANES;

	if (end > bfs->nodes)
		end = bfs->nodes;
	if (first >= end)
		return false;
	return workload->kernels_done % 2 == 0 ? expand(workload, slot, first, end)
	                                       : advance(workload, slot, first, end);
}

const struct workload_type workload_rodinia_bfs = {
        .name = "rodinia_bfs",
        .summary = "Rodinia: breadth-first search over a random graph; published run: 261444 nodes, 1568420 "
                   "edges",
        .param = {{"nodes", "nodes", 1, 1 << 26, 4190000, false},
                  {"edges", "entries of the edge list; 0: as generated, about 6 per node", 0, 1 << 30, 0,
                   false},
                  CPU_PARAM,
                  WORKLOAD_AGENTS},
        .open = bfs_open,
        .close = bfs_close,
        .launch = bfs_launch,
        .span = bfs_span,
};
