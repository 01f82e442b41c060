/* K-core: vertices of fewer than k edges are removed until there are none. Topological and thread-centric,
 * two kernels a pass: those removed last lower the degrees of their ends that are still there (atomicSub),
 * then a thread per vertex removes it if too little is left. */
#include "graph_warp.h"

enum { K = GRAPH_OWN };
enum { DEGREES, REMOVED, FLAGS, COUNT, OVER };
enum { FLAGGED = 0, THERE = WALK_END, LOWER, UNFLAG };
enum { LEFT = 0, DEGREE, REMOVE, RAISE_FLAG, COUNT_UP, RAISE };

struct kcore {
	struct graph_state g;
	uint32_t *degree;
	bool *is_removed, *is_flagged;
};

static bool kcore_open(struct workload *workload)
{
	struct kcore *kcore;
	uint64_t vertices;

	if (!graph_open(workload, sizeof(*kcore), false))
		return false;
	kcore = workload->state;
	vertices = kcore->g.graph.vertices;
	kcore->degree = graph_array(&kcore->g, vertices, sizeof(*kcore->degree));
	kcore->is_removed = graph_array(&kcore->g, vertices, 1);
	kcore->is_flagged = graph_array(&kcore->g, vertices, 1);
	if (!graph_has_arrays(&kcore->g))
		return false;
	for (uint64_t v = 0; v < vertices; v++)
		kcore->degree[v] = (uint32_t)(kcore->g.graph.offset[v + 1] - kcore->g.graph.offset[v]);
	kcore->g.result = kcore->degree;
	graph_fresh(workload, "degrees", vertices, 4);
	graph_fresh(workload, "removed", vertices, 1);
	graph_fresh(workload, "flags", vertices, 1);
	graph_range(workload, "count", 1, 4);
	graph_range(workload, "over", 1, 1);
	graph_add(workload);
	return true;
}

static bool kcore_launch(struct workload *workload)
{
	return graph_launch(workload, "kcore_lower", "kcore_remove");
}

/* -- first kernel -- */

static void lower(struct kcore *kcore, const struct workload_slot *slot, uint32_t mask)
{
	while (mask != 0)
		kcore->degree[graph_end(&kcore->g, slot, graph_take(&mask))]--;
}

/* own[1]: the lanes that are flagged, and above them those in hand. */
static bool lower_span(struct workload *workload, struct workload_slot *slot)
{
	struct kcore *kcore = workload->state;
	uint32_t mask = (uint32_t)slot->own[0];

	switch (slot->step) {
	case FLAGGED:
		mask = graph_flagged(&kcore->g, slot, kcore->is_flagged, graph_alive(&kcore->g, slot));
		slot->own[1] = mask;
		return graph_choose(workload, slot, FLAGS, 1, mask, WALK_START, UNFLAG);
	case THERE:
		graph_ends(workload, slot, UVMP_ACCESS_READ, REMOVED, 1, mask);
		mask = graph_ends_unflagged(&kcore->g, slot, kcore->is_removed, mask);
		slot->own[1] = (uint64_t)mask << 32 | (uint32_t)slot->own[1];
		graph_go(slot, LOWER, mask);
		return true;
	case LOWER:
		mask = (uint32_t)(slot->own[1] >> 32);
		lower(kcore, slot, mask);
		graph_ends(workload, slot, UVMP_ACCESS_ATOMIC_STRONG, DEGREES, 4, mask);
		graph_next_edges(slot);
		return true;
	case UNFLAG:
		return false;
	default:
		if (graph_walk(workload, slot))
			return true;
		mask = (uint32_t)slot->own[1];
		graph_set_flags(&kcore->g, slot, kcore->is_flagged, false, mask);
		graph_threads(workload, slot, UVMP_ACCESS_WRITE, FLAGS, 1, 0, mask);
		slot->step = UNFLAG;
		return true;
	}
}

/* -- second kernel -- */

static uint32_t too_few(const struct kcore *kcore, const struct workload_slot *slot, uint64_t k,
                        uint32_t mask)
{
	uint32_t few = 0;

	while (mask != 0) {
		unsigned lane = graph_take(&mask);

		few |= (uint32_t)(kcore->degree[graph_first(slot) + lane] < k) << lane;
	}
	return few;
}

static bool remove_span(struct workload *workload, struct workload_slot *slot)
{
	struct kcore *kcore = workload->state;
	uint32_t alive = graph_alive(&kcore->g, slot), mask = (uint32_t)slot->own[0];

	if (alive == 0 || (slot->step > LEFT && mask == 0))
		return false;
	switch (slot->step++) {
	case LEFT:
		slot->own[0] = alive & ~graph_flagged(&kcore->g, slot, kcore->is_removed, alive);
		graph_threads(workload, slot, UVMP_ACCESS_READ, REMOVED, 1, 0, alive);
		return true;
	case DEGREE:
		slot->own[0] = too_few(kcore, slot, workload->value[K], mask);
		graph_threads(workload, slot, UVMP_ACCESS_READ, DEGREES, 4, 0, mask);
		return true;
	case REMOVE:
		graph_set_flags(&kcore->g, slot, kcore->is_removed, true, mask);
		graph_threads(workload, slot, UVMP_ACCESS_WRITE, REMOVED, 1, 0, mask);
		return workload_go_on(slot);
	case RAISE_FLAG:
		graph_set_flags(&kcore->g, slot, kcore->is_flagged, true, mask);
		graph_threads(workload, slot, UVMP_ACCESS_WRITE, FLAGS, 1, 0, mask);
		return true;
	case COUNT_UP:
		graph_one(workload, slot, UVMP_ACCESS_ATOMIC_STRONG, COUNT, 0, 4);
		return true;
	case RAISE:
		kcore->g.is_again = true;
		graph_one(workload, slot, UVMP_ACCESS_WRITE, OVER, 0, 1);
		return true;
	default:
		return false;
	}
}

static bool kcore_span(struct workload *workload, struct workload_slot *slot)
{
	struct kcore *kcore = workload->state;
	unsigned offsets = kcore->g.offsets;
	const struct graph_use fill[] = {
	        {(uint8_t)offsets, 8, 1, UVMP_ACCESS_READ}, {(uint8_t)offsets, 8, 0, UVMP_ACCESS_READ},
	        {DEGREES, 4, 0, UVMP_ACCESS_WRITE},         {REMOVED, 1, 0, UVMP_ACCESS_WRITE},
	        {FLAGS, 1, 0, UVMP_ACCESS_WRITE},
	};

	if (kcore->g.is_filling)
		return GRAPH_STRAIGHT(workload, slot, fill);
	return kcore->g.is_second ? remove_span(workload, slot) : lower_span(workload, slot);
}

const struct workload_type workload_kcore = {
        .name = "kcore",
        .summary = "k-core decomposition, topological-thread-centric (GraphBIG)" GRAPH_SIZES,
        .param = {GRAPH_PARAMS(21, 8),
                  {"k", "edges that a vertex needs to stay", 1, 1000000, 3, false},
                  WORKLOAD_AGENTS},
        .open = kcore_open,
        .close = graph_close,
        .launch = kcore_launch,
        .span = kcore_span,
};
