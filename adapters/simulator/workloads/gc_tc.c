/* Graph colouring, thread-centric (Grosset et al., PPoPP 2011): every vertex has a random number; in every
 * pass a vertex without a colour gets that pass's, unless an end that has none yet either (or has just got
 * it) has a larger number. A thread goes through its edges until it finds such an end.
 *
 * Topological: a thread per vertex. Data-driven: a thread per item of a worklist, which at first holds all
 * vertices; those that get no colour go to the other worklist, where an atomicAdd reserves entries. */
#include "graph_warp.h"

enum { COLOURS, NUMBERS, OVER }; /* OVER: topological */
enum { BEGIN = 0, COLOUR = WALK_END, NUMBER, LATER, PUSH, DONE, ITEM, OWN, OWN_NUMBER };

struct gc {
	struct graph_state g;
	uint32_t *colour, *number;
};

static bool gc_open(struct workload *workload)
{
	struct gc *gc;
	uint64_t vertices;

	if (!graph_open(workload, sizeof(*gc), false))
		return false;
	gc = workload->state;
	vertices = gc->g.graph.vertices;
	gc->colour = graph_array_of(&gc->g, vertices, GRAPH_INFINITY);
	gc->number = graph_array(&gc->g, vertices, sizeof(*gc->number));
	if (!graph_has_arrays(&gc->g))
		return false;
	for (uint64_t v = 0; v < vertices; v++)
		gc->number[v] = (uint32_t)(uvmp_random_next(&workload->random) >> 33);
	gc->g.result = gc->colour;
	graph_fresh(workload, "colours", vertices, 4);
	graph_range(workload, "numbers", vertices, 4);
	return true;
}

static bool ttc_open(struct workload *workload)
{
	if (!gc_open(workload))
		return false;
	graph_range(workload, "over", 1, 1);
	graph_add(workload);
	return true;
}

static bool ttc_launch(struct workload *workload)
{
	return graph_launch(workload, "gc_ttc", NULL);
}

static bool dtc_open(struct workload *workload)
{
	struct graph_list *list;
	struct gc *gc;

	if (!gc_open(workload) || !graph_add_lists(workload))
		return false;
	gc = workload->state;
	list = &gc->g.list[0];
	list->length = gc->g.graph.vertices;
	for (uint64_t v = 0; v < list->length; v++)
		list->item[v] = (uint32_t)v;
	graph_add(workload);
	return true;
}

static bool dtc_launch(struct workload *workload)
{
	return graph_launch_list(workload, "gc_dtc");
}

static bool is_data_driven(const struct gc *gc)
{
	return gc->g.item != NULL;
}

/* -- lanes -- */

/* Those whose vertex has no colour. A thread's own vertex is coloured by no other. */
static uint32_t without_colour(const struct gc *gc, const struct workload_slot *slot)
{
	return graph_equal(&gc->g, slot, gc->colour, GRAPH_INFINITY, graph_alive(&gc->g, slot));
}

/* Those whose end has no colour of an earlier pass. */
static uint32_t ends_to_compare(const struct gc *gc, const struct workload_slot *slot, uint32_t mask)
{
	uint32_t compare = 0;

	while (mask != 0) {
		unsigned lane = graph_take(&mask);

		compare |= (uint32_t)(gc->colour[graph_end(&gc->g, slot, lane)] >= gc->g.pass) << lane;
	}
	return compare;
}

/* Those whose end has a larger number; the same number is larger at a smaller vertex. */
static uint32_t larger(const struct gc *gc, const struct workload_slot *slot, uint32_t mask)
{
	uint32_t found = 0;

	while (mask != 0) {
		unsigned lane = graph_take(&mask);
		uint32_t v = graph_vertex(&gc->g, slot, lane), end = graph_end(&gc->g, slot, lane);
		bool is_larger =
			gc->number[end] > gc->number[v] || (gc->number[end] == gc->number[v] && end < v);

		found |= (uint32_t)is_larger << lane;
	}
	return found;
}

static void set_colours(struct gc *gc, const struct workload_slot *slot, uint32_t mask)
{
	while (mask != 0)
		gc->colour[graph_vertex(&gc->g, slot, graph_take(&mask))] = gc->g.pass;
}

/* The vertices of these lanes go to the next worklist, side by side. */
static void push(struct workload *workload, struct workload_slot *slot, uint32_t mask)
{
	struct gc *gc = workload->state;
	struct graph_list *list = graph_list_next(&gc->g);
	uint64_t at = list->length;

	while (mask != 0)
		list->item[list->length++] = graph_vertex(&gc->g, slot, graph_take(&mask));
	workload_set_wide(slot, workload->range[list->items].base + at * 8, (list->length - at) * 8,
			  UVMP_ACCESS_WRITE);
}

/* -- steps; own[1]: the lanes that found a larger number, and above them those that compare -- */

/* The threads that found none colour their vertices, */
static bool colour(struct workload *workload, struct workload_slot *slot)
{
	struct gc *gc = workload->state;
	uint32_t found = (uint32_t)slot->own[1], mask = without_colour(gc, slot) & ~found;

	slot->step = found != 0 ? LATER : DONE;
	if (mask == 0)
		return false;
	set_colours(gc, slot, mask);
	graph_vertices(workload, slot, UVMP_ACCESS_WRITE, COLOURS, 4, 0, mask);
	return true;
}

/* the others try again in the next pass. */
static bool later(struct workload *workload, struct workload_slot *slot)
{
	struct gc *gc = workload->state;

	if (!is_data_driven(gc)) {
		gc->g.is_again = true;
		slot->step = DONE;
		graph_one(workload, slot, UVMP_ACCESS_WRITE, OVER, 0, 1);
		return true;
	}
	slot->step = PUSH;
	graph_one(workload, slot, UVMP_ACCESS_ATOMIC_STRONG, graph_list_next(&gc->g)->end, 0, 4);
	return true;
}

static bool finish(struct workload *workload, struct workload_slot *slot)
{
	return colour(workload, slot) || (slot->step == LATER && later(workload, slot));
}

static bool gc_span(struct workload *workload, struct workload_slot *slot)
{
	static const struct graph_use fill[] = {{COLOURS, 4, 0, UVMP_ACCESS_WRITE}};
	struct gc *gc = workload->state;
	uint32_t mask = (uint32_t)slot->own[0], found = (uint32_t)slot->own[1];
	uint32_t compare = (uint32_t)(slot->own[1] >> 32);
	const struct graph_list *list = graph_list_now(&gc->g);

	if (gc->g.is_filling)
		return GRAPH_STRAIGHT(workload, slot, fill);
	switch (slot->step) {
	case BEGIN:
		slot->own[0] = graph_alive(&gc->g, slot);
		if (slot->own[0] == 0)
			return false;
		if (is_data_driven(gc)) {
			slot->step = ITEM;
			graph_one(workload, slot, UVMP_ACCESS_READ, list->end, 0, 4);
			return true;
		}
		mask = (uint32_t)slot->own[0];
		/* fall through */
	case OWN:
		slot->own[0] = without_colour(gc, slot);
		slot->step = slot->own[0] != 0 ? OWN_NUMBER : DONE;
		graph_vertices(workload, slot, UVMP_ACCESS_READ, COLOURS, 4, 0, mask);
		return true;
	case ITEM:
		slot->step = OWN;
		graph_threads(workload, slot, UVMP_ACCESS_READ, list->items, 8, 0, mask);
		return true;
	case OWN_NUMBER:
		slot->step = WALK_START;
		graph_vertices(workload, slot, UVMP_ACCESS_READ, NUMBERS, 4, 0, mask);
		return true;
	case COLOUR:
		graph_ends(workload, slot, UVMP_ACCESS_READ, COLOURS, 4, mask);
		compare = ends_to_compare(gc, slot, mask);
		slot->own[1] = (uint64_t)compare << 32 | found;
		graph_go(slot, NUMBER, compare);
		return true;
	case NUMBER:
		graph_ends(workload, slot, UVMP_ACCESS_READ, NUMBERS, 4, compare);
		compare = larger(gc, slot, compare);
		slot->own[0] = mask & ~compare;
		slot->own[1] = found | compare;
		graph_next_edges(slot);
		return true;
	case LATER:
		return later(workload, slot);
	case PUSH:
		slot->step = DONE;
		push(workload, slot, found);
		return true;
	case DONE:
		return false;
	default:
		return graph_walk(workload, slot) || finish(workload, slot);
	}
}

const struct workload_type workload_gc_ttc = {
	.name = "gc_ttc",
	.summary = "graph colouring, topological-thread-centric (GraphBIG)" GRAPH_SIZES,
	.param = {GRAPH_PARAMS(17, 4), WORKLOAD_AGENTS},
	.open = ttc_open,
	.close = graph_close,
	.launch = ttc_launch,
	.span = gc_span,
};

const struct workload_type workload_gc_dtc = {
	.name = "gc_dtc",
	.summary = "graph colouring, data-driven-thread-centric (GraphBIG)" GRAPH_SIZES,
	.param = {GRAPH_PARAMS(17, 4), GRAPH_WORKLIST("8777216"), WORKLOAD_AGENTS},
	.open = dtc_open,
	.close = graph_close,
	.launch = dtc_launch,
	.span = gc_span,
};
