/* Breadth-first search, data-driven and warp-centric: in every pass a warp takes 32 vertices from a worklist,
 * one by one, and of each 32 edges at a time, one a lane. A lane that finds an end without a level stores the
 * next one and puts the end on a list of its own (in local memory); when that is full, and at the end of the
 * warp, the lists are appended to the other worklist, where an atomicAdd reserves entries.
 *
 * Here a vertex is found once only. On a GPU two lanes that see it unvisited at the same moment both put it
 * on their lists; that would need worklists without a bound. */
#include <stdlib.h>

#include "graph_warp.h"

enum { LEVELS = GRAPH_LEVELS };
enum { LENGTH = 0, ITEM, ROW, RUN, SEEN, STORE, FULL_ADD, FULL_PUSH, PUSH };

#define LOCAL_SIZE 128u /* entries of a lane's own list */

/* The lists of a warp's lanes; they are linked through next[], and end at their own beginning: tail's next is
 * the first. */
struct lists {
	uint32_t tail[32], at[32]; /* at: where on the worklist */
	uint8_t length[32];
	uint32_t full; /* mask of lanes whose list is */
};

struct bfs {
	struct graph_state g;
	uint32_t *next;
	struct lists *warp; /* [(vertices + 31) / 32] */
};

static bool bfs_open(struct workload *workload)
{
	struct bfs *bfs;
	uint64_t vertices;

	if (!graph_open_levels(workload, sizeof(*bfs)))
		return false;
	bfs = workload->state;
	vertices = bfs->g.graph.vertices;
	bfs->next = graph_array(&bfs->g, vertices, sizeof(*bfs->next));
	bfs->warp = graph_array(&bfs->g, (vertices + 31) / 32, sizeof(*bfs->warp));
	graph_range(workload, "over", 1, 1);
	if (!graph_add_lists(workload))
		return false;
	bfs->g.list[0].item[0] = bfs->g.root;
	bfs->g.list[0].length = 1;
	graph_add(workload);
	return true;
}

static bool bfs_launch(struct workload *workload)
{
	return graph_launch_list(workload, "bfs_dwc");
}

static struct lists *lists_of(struct bfs *bfs, const struct workload_slot *slot)
{
	return &bfs->warp[graph_first(slot) / 32];
}

static void append(struct bfs *bfs, struct lists *lists, unsigned lane, uint32_t vertex)
{
	if (lists->length[lane] == 0) {
		bfs->next[vertex] = vertex;
	} else {
		bfs->next[vertex] = bfs->next[lists->tail[lane]];
		bfs->next[lists->tail[lane]] = vertex;
	}
	lists->tail[lane] = vertex;
	if (++lists->length[lane] == LOCAL_SIZE)
		lists->full |= (uint32_t)1 << lane;
}

/* Levels count at once: returns the ends that were found, each by one lane. */
static uint32_t find(struct bfs *bfs, const struct workload_slot *slot, uint32_t vertex)
{
	const uint32_t *end = bfs->g.graph.edge + bfs->g.graph.offset[vertex] + slot->row;
	uint32_t mask = graph_run_equal(&bfs->g, slot, bfs->g.level, GRAPH_INFINITY, vertex);
	uint32_t found = 0;

	while (mask != 0) {
		unsigned lane = graph_take(&mask);

		if (bfs->g.level[end[lane]] != GRAPH_INFINITY)
			continue;
		bfs->g.level[end[lane]] = bfs->g.pass + 1;
		append(bfs, lists_of(bfs, slot), lane, end[lane]);
		found |= (uint32_t)1 << lane;
	}
	return found;
}

/* Takes the first of a lane's list; its place on the worklist. */
static uint32_t pop(struct bfs *bfs, struct lists *lists, unsigned lane)
{
	uint32_t tail = lists->tail[lane], first = bfs->next[tail], at = lists->at[lane]++;

	bfs->next[tail] = bfs->next[first];
	lists->length[lane]--;
	graph_list_next(&bfs->g)->item[at] = first;
	return at;
}

/* Room on the next worklist for the lists of these lanes. */
static void reserve_entries(struct bfs *bfs, struct lists *lists, uint32_t mask)
{
	uint64_t *length = &graph_list_next(&bfs->g)->length;

	while (mask != 0) {
		unsigned lane = graph_take(&mask);

		lists->at[lane] = (uint32_t)*length;
		*length += lists->length[lane];
	}
}

/* One entry of each lane that has one goes to the worklist; false: no lane has one. */
static bool push(struct workload *workload, struct workload_slot *slot)
{
	struct bfs *bfs = workload->state;
	struct lists *lists = lists_of(bfs, slot);
	uint64_t base = workload->range[graph_list_next(&bfs->g)->items].base;
	uint32_t lanes = 0;

	for (unsigned lane = 0; lane < 32; lane++)
		if (lists->length[lane] != 0)
			slot->lane[lanes++] = base + (uint64_t)pop(bfs, lists, lane) * 8;
	if (lanes == 0)
		return false;
	workload_set_lanes(slot, lanes, 8, UVMP_ACCESS_WRITE);
	return true;
}

/* A full list goes to the worklist, as one run of addresses. */
static void push_full(struct workload *workload, struct workload_slot *slot)
{
	struct bfs *bfs = workload->state;
	struct lists *lists = lists_of(bfs, slot);
	unsigned lane = graph_take(&lists->full);
	uint64_t at = lists->at[lane];

	while (lists->length[lane] != 0)
		pop(bfs, lists, lane);
	workload_set_span(slot, workload->range[graph_list_next(&bfs->g)->items].base + at * 8,
			  LOCAL_SIZE * 8, UVMP_ACCESS_WRITE);
}

/* What follows when the edges in hand are done with. */
static void next_run(struct bfs *bfs, struct workload_slot *slot)
{
	if (lists_of(bfs, slot)->full != 0) {
		slot->step = FULL_ADD;
		return;
	}
	slot->row += 32;
	slot->step = RUN;
}

/* The next vertex of the worklist, or the end of the warp. */
static bool take_item(struct workload *workload, struct workload_slot *slot)
{
	struct bfs *bfs = workload->state;
	uint64_t item = graph_first(slot) + slot->own[0];

	if (slot->own[0] == 32 || item >= graph_list_now(&bfs->g)->length) {
		reserve_entries(bfs, lists_of(bfs, slot), UINT32_MAX);
		slot->step = PUSH;
		graph_one(workload, slot, UVMP_ACCESS_ATOMIC_STRONG, graph_list_next(&bfs->g)->end, 0, 4);
		return true;
	}
	slot->row = 0;
	slot->step = ROW;
	graph_one(workload, slot, UVMP_ACCESS_READ, graph_list_now(&bfs->g)->items, item, 8);
	return true;
}

static bool bfs_span(struct workload *workload, struct workload_slot *slot)
{
	static const struct graph_use fill[] = {{LEVELS, 4, 0, UVMP_ACCESS_WRITE}};
	struct bfs *bfs = workload->state;
	const struct graph_list *list = graph_list_now(&bfs->g);
	uint32_t vertex, run;

	if (bfs->g.is_filling)
		return GRAPH_STRAIGHT(workload, slot, fill);
	if (graph_first(slot) >= list->length)
		return false;
	/* behind the last item vertex means nothing, and is not used */
	vertex = list->item[(graph_first(slot) + slot->own[0]) % list->length];
	switch (slot->step) {
	case LENGTH:
		slot->step = ITEM;
		graph_one(workload, slot, UVMP_ACCESS_READ, list->end, 0, 4);
		return true;
	case ROW:
		slot->step = RUN;
		graph_row(workload, slot, vertex);
		return true;
	case RUN:
		if (graph_run(&bfs->g, slot, vertex) != 0) {
			slot->step = SEEN;
			graph_run_edges(workload, slot, bfs->g.edges, 8, vertex);
			return true;
		}
		slot->own[0]++;
		return take_item(workload, slot);
	case SEEN:
		run = graph_run(&bfs->g, slot, vertex);
		slot->own[1] = find(bfs, slot, vertex);
		graph_run_ends(workload, slot, UVMP_ACCESS_READ, LEVELS, 4, vertex, graph_lanes(run));
		if (slot->own[1] != 0)
			slot->step = STORE;
		else
			next_run(bfs, slot);
		return true;
	case STORE:
		graph_run_ends(workload, slot, UVMP_ACCESS_WRITE, LEVELS, 4, vertex, (uint32_t)slot->own[1]);
		next_run(bfs, slot);
		return true;
	case FULL_ADD:
		reserve_entries(bfs, lists_of(bfs, slot),
				lists_of(bfs, slot)->full & (~lists_of(bfs, slot)->full + 1));
		slot->step = FULL_PUSH;
		graph_one(workload, slot, UVMP_ACCESS_ATOMIC_STRONG, graph_list_next(&bfs->g)->end, 0, 4);
		return true;
	case FULL_PUSH:
		push_full(workload, slot);
		next_run(bfs, slot);
		return true;
	case PUSH:
		return push(workload, slot) && workload_go_on(slot);
	default:
		return take_item(workload, slot);
	}
}

const struct workload_type workload_bfs_dwc = {
	.name = "bfs_dwc",
	.summary = "breadth-first search, data-driven-warp-centric (GraphBIG)" GRAPH_SIZES,
	.param = {GRAPH_PARAMS(21, 8), GRAPH_WORKLIST("16777216"), WORKLOAD_AGENTS},
	.open = bfs_open,
	.close = graph_close,
	.launch = bfs_launch,
	.span = bfs_span,
};
