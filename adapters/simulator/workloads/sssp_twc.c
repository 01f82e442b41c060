/* Shortest paths from one vertex, topological and warp-centric, two kernels a pass: vertices whose distance
 * has changed offer their ends the distance through them (atomicMin on a second array), a warp going through
 * 32 vertices one by one and taking 32 edges at a time; then a thread per vertex takes over what is shorter.
 */
#include "graph_warp.h"

enum { DISTANCES, MASK, UPDATES, WEIGHTS, FLAG };
enum { LOOK = 0, OFFSETS, DISTANCE, EDGES, WEIGHT, OFFER, CLEAR };
enum { OLD = 0, NEW, TAKE_LOAD, TAKE, MARK, RAISE, KEEP_LOAD, KEEP };

#define NO_DISTANCE UINT64_MAX

struct sssp {
	struct graph_state g;
	uint64_t *distance, *update;
	bool *is_changed;
};

static bool sssp_open(struct workload *workload)
{
	struct sssp *sssp;
	uint64_t vertices;

	if (!graph_open(workload, sizeof(*sssp), true))
		return false;
	sssp = workload->state;
	vertices = sssp->g.graph.vertices;
	sssp->distance = graph_array(&sssp->g, vertices, sizeof(*sssp->distance));
	sssp->update = graph_array(&sssp->g, vertices, sizeof(*sssp->update));
	sssp->is_changed = graph_array(&sssp->g, vertices, 1);
	if (!graph_has_arrays(&sssp->g))
		return false;
	for (uint64_t v = 0; v < vertices; v++)
		sssp->distance[v] = sssp->update[v] = NO_DISTANCE;
	sssp->distance[sssp->g.root] = 0;
	sssp->is_changed[sssp->g.root] = true;
	sssp->g.wide_result = sssp->distance;
	graph_fresh(workload, "distances", vertices, 4);
	graph_fresh(workload, "mask", vertices, 1);
	graph_fresh(workload, "updates", vertices, 4);
	graph_range(workload, "weights", sssp->g.graph.edges, 4);
	graph_range(workload, "changed", 1, 1);
	graph_add(workload);
	return true;
}

static bool sssp_launch(struct workload *workload)
{
	return graph_launch(workload, "sssp_offer", "sssp_take");
}

/* -- first kernel -- */

/* For the next vertex that has changed. */
static bool look(struct workload *workload, struct workload_slot *slot)
{
	const struct sssp *sssp = workload->state;
	uint32_t wanted = graph_flagged(&sssp->g, slot, sssp->is_changed, graph_ahead(&sssp->g, slot));

	return graph_look(workload, slot, MASK, 1, wanted, OFFSETS);
}

static void offer(struct sssp *sssp, const struct workload_slot *slot, uint32_t vertex)
{
	uint64_t at = sssp->g.graph.offset[vertex] + slot->row;
	uint32_t run = graph_run(&sssp->g, slot, vertex);

	for (uint64_t i = at; i < at + run; i++) {
		uint64_t distance = sssp->distance[vertex] + sssp->g.graph.weight[i];
		uint64_t *update = &sssp->update[sssp->g.graph.edge[i]];

		if (distance < *update)
			*update = distance;
	}
}

static bool offer_span(struct workload *workload, struct workload_slot *slot)
{
	struct sssp *sssp = workload->state;
	uint32_t vertex = (uint32_t)(graph_first(slot) + slot->own[0]);

	switch (slot->step) {
	case OFFSETS:
		slot->step = DISTANCE;
		graph_row(workload, slot, vertex);
		return workload_go_on(slot);
	case DISTANCE:
		slot->step = EDGES;
		graph_one(workload, slot, UVMP_ACCESS_READ, DISTANCES, vertex, 4);
		return true;
	case EDGES:
		if (graph_run(&sssp->g, slot, vertex) != 0) {
			slot->step = WEIGHT;
			graph_run_edges(workload, slot, sssp->g.edges, 8, vertex);
			return workload_go_on(slot);
		}
		slot->step = CLEAR;
		sssp->is_changed[vertex] = false;
		graph_one(workload, slot, UVMP_ACCESS_WRITE, MASK, vertex, 1);
		return true;
	case WEIGHT:
		slot->step = OFFER;
		graph_run_edges(workload, slot, WEIGHTS, 4, vertex);
		return true;
	case OFFER:
		offer(sssp, slot, vertex);
		graph_run_ends(workload, slot, UVMP_ACCESS_ATOMIC_STRONG, UPDATES, 4, vertex,
		               graph_lanes(graph_run(&sssp->g, slot, vertex)));
		slot->step = EDGES;
		slot->row += 32;
		return true;
	case CLEAR:
		slot->own[0]++;
		slot->step = LOOK;
		return look(workload, slot);
	default:
		return look(workload, slot);
	}
}

/* -- second kernel -- */

static uint32_t shorter(const struct sssp *sssp, const struct workload_slot *slot, uint32_t alive)
{
	uint64_t first = graph_first(slot);
	uint32_t mask = 0;

	for (unsigned lane = 0; lane < 32 && alive >> lane != 0; lane++)
		mask |= (uint32_t)(sssp->distance[first + lane] > sssp->update[first + lane]) << lane;
	return mask;
}

static void take(struct sssp *sssp, const struct workload_slot *slot, uint32_t mask)
{
	while (mask != 0) {
		uint64_t v = graph_first(slot) + graph_take(&mask);

		sssp->distance[v] = sssp->update[v];
		sssp->is_changed[v] = true;
	}
}

static void keep(struct sssp *sssp, const struct workload_slot *slot, uint32_t mask)
{
	while (mask != 0) {
		uint64_t v = graph_first(slot) + graph_take(&mask);

		sssp->update[v] = sssp->distance[v];
	}
}

/* The lanes that take go first, then those that keep. */
static bool take_span(struct workload *workload, struct workload_slot *slot)
{
	struct sssp *sssp = workload->state;
	uint32_t alive = graph_alive(&sssp->g, slot), mask = (uint32_t)slot->own[0];

	if (slot->step == TAKE_LOAD && mask == 0)
		slot->step = KEEP_LOAD;
	if (alive == 0 || (slot->step == KEEP_LOAD && mask == alive))
		return false;
	switch (slot->step++) {
	case OLD:
		graph_threads(workload, slot, UVMP_ACCESS_READ, DISTANCES, 4, 0, alive);
		return workload_go_on(slot);
	case NEW:
		slot->own[0] = shorter(sssp, slot, alive);
		graph_threads(workload, slot, UVMP_ACCESS_READ, UPDATES, 4, 0, alive);
		return true;
	case TAKE_LOAD:
		graph_threads(workload, slot, UVMP_ACCESS_READ, UPDATES, 4, 0, mask);
		return true;
	case TAKE:
		take(sssp, slot, mask);
		graph_threads(workload, slot, UVMP_ACCESS_WRITE, DISTANCES, 4, 0, mask);
		return workload_go_on(slot);
	case MARK:
		graph_threads(workload, slot, UVMP_ACCESS_WRITE, MASK, 1, 0, mask);
		return workload_go_on(slot);
	case RAISE:
		sssp->g.is_again = true;
		graph_one(workload, slot, UVMP_ACCESS_WRITE, FLAG, 0, 1);
		return true;
	case KEEP_LOAD:
		graph_threads(workload, slot, UVMP_ACCESS_READ, DISTANCES, 4, 0, alive & ~mask);
		return true;
	case KEEP:
		keep(sssp, slot, alive & ~mask);
		graph_threads(workload, slot, UVMP_ACCESS_WRITE, UPDATES, 4, 0, alive & ~mask);
		return true;
	default:
		return false;
	}
}

static bool sssp_span(struct workload *workload, struct workload_slot *slot)
{
	static const struct graph_use fill[] = {{DISTANCES, 4, 0, UVMP_ACCESS_WRITE},
	                                        {UPDATES, 4, 0, UVMP_ACCESS_WRITE},
	                                        {MASK, 1, 0, UVMP_ACCESS_WRITE}};
	struct sssp *sssp = workload->state;

	if (sssp->g.is_filling)
		return GRAPH_STRAIGHT(workload, slot, fill);
	return sssp->g.is_second ? take_span(workload, slot) : offer_span(workload, slot);
}

const struct workload_type workload_sssp_twc = {
        .name = "sssp_twc",
        .summary = "shortest paths, topological-warp-centric (GraphBIG)" GRAPH_SIZES,
        .param = {GRAPH_PARAMS(21, 8), WORKLOAD_AGENTS},
        .open = sssp_open,
        .close = graph_close,
        .launch = sssp_launch,
        .span = sssp_span,
};
