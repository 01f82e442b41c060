/* PageRank with damping 0.85, topological and thread-centric, two kernels an iteration: a thread per vertex
 * adds its share to the sum of each of its ends (atomicAdd), then a thread per vertex makes its sum the new
 * rank. GraphBIG has the program for CPUs only; this one is made like its other topological ones, whose graph
 * has outgoing edges only.
 *
 * Ranks are computed here in fixed point, 2^48 being the sum of all; on the GPU they are floats. */
#include "graph_warp.h"

enum { ITERATIONS = GRAPH_OWN };
enum { RANKS, SUMS };
enum { RANK = 0, ADD = WALK_END };
enum { SUM = 0, TAKE, CLEAR };

#define ONE ((uint64_t)1 << 48)

struct pr {
	struct graph_state g;
	uint64_t *rank, *sum;
};

static bool pr_open(struct workload *workload)
{
	struct pr *pr;
	uint64_t vertices;

	if (!graph_open(workload, sizeof(*pr), false))
		return false;
	pr = workload->state;
	vertices = pr->g.graph.vertices;
	pr->rank = graph_array(&pr->g, vertices, sizeof(*pr->rank));
	pr->sum = graph_array(&pr->g, vertices, sizeof(*pr->sum));
	if (!graph_has_arrays(&pr->g))
		return false;
	for (uint64_t v = 0; v < vertices; v++)
		pr->rank[v] = ONE / vertices;
	pr->g.wide_result = pr->rank;
	graph_fresh(workload, "ranks", vertices, 4);
	graph_fresh(workload, "sums", vertices, 4);
	graph_add(workload);
	return true;
}

static bool pr_launch(struct workload *workload)
{
	struct pr *pr = workload->state;

	/* the host counts the iterations: pass is still the one before */
	pr->g.is_again = pr->g.pass + 1 < workload->value[ITERATIONS];
	return graph_launch(workload, "pagerank_add", "pagerank_take");
}

/* -- first kernel -- */

static void add(struct pr *pr, const struct workload_slot *slot, uint32_t mask)
{
	const struct graph *graph = &pr->g.graph;

	while (mask != 0) {
		unsigned lane = graph_take(&mask);
		uint32_t v = graph_vertex(&pr->g, slot, lane);

		pr->sum[graph_end(&pr->g, slot, lane)] +=
		        pr->rank[v] / (graph->offset[v + 1] - graph->offset[v]);
	}
}

static bool add_span(struct workload *workload, struct workload_slot *slot)
{
	struct pr *pr = workload->state;
	uint32_t mask = (uint32_t)slot->own[0];

	switch (slot->step) {
	case RANK:
		slot->own[0] = graph_alive(&pr->g, slot);
		if (slot->own[0] == 0)
			return false;
		slot->step = WALK_START;
		graph_threads(workload, slot, UVMP_ACCESS_READ, RANKS, 4, 0, (uint32_t)slot->own[0]);
		return workload_go_on(slot);
	case ADD:
		add(pr, slot, mask);
		graph_ends(workload, slot, UVMP_ACCESS_ATOMIC_STRONG, SUMS, 4, mask);
		graph_next_edges(slot);
		return true;
	default:
		return graph_walk(workload, slot);
	}
}

/* -- second kernel -- */

static void take(struct pr *pr, const struct workload_slot *slot, uint32_t mask)
{
	uint64_t base = ONE * 15 / 100 / pr->g.graph.vertices;

	while (mask != 0) {
		uint64_t v = graph_first(slot) + graph_take(&mask);

		pr->rank[v] = base + pr->sum[v] * 85 / 100;
		pr->sum[v] = 0;
	}
}

static bool pr_span(struct workload *workload, struct workload_slot *slot)
{
	static const struct graph_use fill[] = {{RANKS, 4, 0, UVMP_ACCESS_WRITE},
	                                        {SUMS, 4, 0, UVMP_ACCESS_WRITE}};
	static const struct graph_use apply[] = {[SUM] = {SUMS, 4, 0, UVMP_ACCESS_READ},
	                                         [TAKE] = {RANKS, 4, 0, UVMP_ACCESS_WRITE},
	                                         [CLEAR] = {SUMS, 4, 0, UVMP_ACCESS_WRITE}};
	struct pr *pr = workload->state;

	if (pr->g.is_filling)
		return GRAPH_STRAIGHT(workload, slot, fill);
	if (!pr->g.is_second)
		return add_span(workload, slot);
	if (slot->step == TAKE)
		take(pr, slot, graph_alive(&pr->g, slot));
	return GRAPH_STRAIGHT(workload, slot, apply);
}

const struct workload_type workload_pr = {
        .name = "pr",
        .summary = "PageRank, topological-thread-centric (GraphBIG)" GRAPH_SIZES,
        .param = {GRAPH_PARAMS(17, 8),
                  {"iterations", "each of two kernels", 1, 1000000, 5, false},
                  WORKLOAD_AGENTS},
        .open = pr_open,
        .close = graph_close,
        .launch = pr_launch,
        .span = pr_span,
};
