/* Vector search with inverted lists, as faiss's IVF,Flat: vectors lie in lists, one for each centroid; a query
 * reads all centroids and then whole lists, those of the nearest ones.
 *
 * Arrays: `centroids`; `codes`, the vectors, list by list in a seeded order, each list in whole pages with a
 * quarter more than it needs; `ids`, 8 bytes for each vector, in the same order; `queries`; `results`.
 *
 * With add=1 the vectors are added first, 32768 at a time in random order: a copy brings them to memory of the
 * GPU that is not managed, `assign` reads the centroids once for each 32 vectors, `append` writes each vector
 * and its id at the end of its list. Then each batch of queries is three kernels: `coarse` reads the centroids
 * once for each 32 queries; `scan` has a thread block for each query and list, whose four warps read the list's
 * pages in turn; `select` reads the ids of the 10 nearest vectors and writes them to the results.
 *
 * A query's nearest list is drawn by Zipf's law; the next nearest are its neighbours in a seeded order.
 */
#include <stdlib.h>

#include "array.h"
#include "gather.h"
#include "permute.h"
#include "uvmpolicy/base.h"
#include "weights.h"
#include "zipf.h"

enum { LISTS, LIST, VECTOR, SPREAD, ADD, QUERIES, BATCH, PROBES, SKEW };
enum { CENTROIDS, CODES, IDS, QUERY, RESULTS };
enum kernel { COPY, ASSIGN, APPEND, COARSE, SCAN, SELECT, KERNELS };
static const char *const names[KERNELS] = {"copy", "assign", "append", "coarse", "scan", "select"};

#define ADDED	 32768u /* vectors at a time */
#define TOGETHER 32u	/* vectors or queries that share a pass over the centroids */
#define STORED	 16u	/* vectors that a warp of `append` writes */
#define NEAREST	 10u	/* results of a query */
#define ID_BYTES 8u

struct list {
	uint64_t vectors;  /* that it has in the end */
	uint64_t appended; /* so far */
	uint64_t code, id; /* offsets in the two arrays */
	uint64_t before;   /* vectors of the lists with lower numbers */
};

struct state {
	struct list *list;
	uint64_t vectors;
	struct permutation arrival; /* of all vectors, numbered list by list */
	struct permutation popular; /* from ranks to places in the order of nearness */
	struct permutation near;    /* from those places to lists */
	struct zipf zipf;
	uint64_t next; /* first vector, or query, of the batch whose kernel is launched next */
	enum kernel kernel;
	/* of the kernel that runs */
	enum kernel running;
	uint64_t first, count; /* its vectors or queries */
	uint64_t *code, *id;   /* [count]: offsets at which the vectors are appended */
};

static const char *ivf_check(const struct workload *workload)
{
	if (workload->value[PROBES] > workload->value[LISTS])
		return "probes is larger than lists";
	if (workload->value[VECTOR] > workload->value[LIST])
		return "vector is larger than list";
	if (workload->value[LISTS] * workload->value[LIST] > (uint64_t)1 << 40)
		return "all lists together are larger than 1 TiB";
	return NULL;
}

/* -- opening -- */

/* Draws the sizes and places the lists; returns the bytes of `codes`. *ids: of `ids`. */
static uint64_t place_lists(struct workload *workload, struct state *state, uint64_t *ids)
{
	uint64_t lists = workload->value[LISTS], spread = workload->value[SPREAD], at = 0;
	struct permutation order;

	for (uint64_t i = 0; i < lists; i++) {
		uint64_t percent = 100 - spread + uvmp_random_below(&workload->random, 2 * spread + 1);
		uint64_t vectors = workload->value[LIST] * percent / 100 / workload->value[VECTOR];

		state->list[i].vectors = vectors != 0 ? vectors : 1;
		state->list[i].before = state->vectors;
		state->vectors += state->list[i].vectors;
	}
	permutation_init(&order, lists, &workload->random);
	*ids = 0;
	for (uint64_t i = 0; i < lists; i++) {
		struct list *list = &state->list[permutation_at(&order, i)];
		uint64_t bytes = list->vectors * workload->value[VECTOR] * 5 / 4;

		list->code = at;
		list->id = *ids;
		at += workload_ceil_div(bytes, WORKLOAD_PAGE) * WORKLOAD_PAGE;
		*ids += list->vectors * 5 / 4 * ID_BYTES;
	}
	return at;
}

static bool ivf_open(struct workload *workload)
{
	struct state *state = workload->state = calloc(1, sizeof(*state));
	uint64_t lists = workload->value[LISTS], codes, ids;

	if (state == NULL)
		return false;
	state->list = array_zeros(lists, sizeof(*state->list));
	state->code = array_zeros(ADDED, sizeof(*state->code));
	state->id = array_zeros(ADDED, sizeof(*state->id));
	if (state->list == NULL || state->code == NULL || state->id == NULL ||
	    !zipf_init(&state->zipf, (uint32_t)lists, (uint32_t)workload->value[SKEW]))
		return false;
	codes = place_lists(workload, state, &ids);
	permutation_init(&state->arrival, state->vectors, &workload->random);
	permutation_init(&state->popular, lists, &workload->random);
	permutation_init(&state->near, lists, &workload->random);
	workload_add_range(workload, "centroids", lists * workload->value[VECTOR]);
	workload_add_range(workload, "codes", codes);
	workload_add_range(workload, "ids", ids);
	workload->range[CODES].is_fresh = workload->range[IDS].is_fresh = workload->value[ADD] != 0;
	workload_add_range(workload, "queries", workload->value[QUERIES] * workload->value[VECTOR]);
	workload_add_fresh(workload, "results", workload->value[QUERIES] * NEAREST * ID_BYTES);
	state->kernel = workload->value[ADD] ? COPY : COARSE;
	return true;
}

static void ivf_close(struct workload *workload)
{
	struct state *state = workload->state;

	if (state == NULL)
		return;
	zipf_close(&state->zipf);
	free(state->list);
	free(state->code);
	free(state->id);
	free(state);
}

/* -- kernels -- */

/* The list of a vector, of those numbered list by list. */
static struct list *list_of(const struct workload *workload, uint64_t vector)
{
	const struct state *state = workload->state;
	uint64_t first = 0, last = workload->value[LISTS] - 1;

	while (first < last) {
		uint64_t middle = first + (last - first + 1) / 2;

		if (state->list[middle].before <= vector)
			first = middle;
		else
			last = middle - 1;
	}
	return &state->list[first];
}

/* Reserves the places of the batch's vectors. */
static void append_batch(struct workload *workload)
{
	struct state *state = workload->state;

	for (uint64_t i = 0; i < state->count; i++) {
		struct list *list = list_of(workload, permutation_at(&state->arrival, state->first + i));
		uint64_t place = list->appended++;

		state->code[i] = list->code + place * workload->value[VECTOR];
		state->id[i] = list->id + place * ID_BYTES;
	}
}

static uint64_t blocks_of(const struct workload *workload)
{
	const struct state *state = workload->state;

	switch (state->running) {
	case APPEND:
		return workload_ceil_div(state->count, STORED * WEIGHTS_WARPS);
	case SCAN:
		return state->count * workload->value[PROBES];
	case SELECT:
		return workload_ceil_div(state->count, WEIGHTS_WARPS);
	default:
		return workload_ceil_div(state->count, TOGETHER);
	}
}

/* The operation behind the present one. */
static void advance(struct workload *workload)
{
	struct state *state = workload->state;

	if (state->running != APPEND && state->running != SELECT) {
		state->kernel++;
		return;
	}
	state->next += state->count;
	if (state->running == SELECT) {
		state->kernel = COARSE;
	} else if (state->next < state->vectors) {
		state->kernel = COPY;
	} else {
		state->kernel = COARSE;
		state->next = 0;
	}
}

static bool ivf_launch(struct workload *workload)
{
	struct state *state = workload->state;
	bool is_adding = state->kernel < COARSE;
	uint64_t all = is_adding ? state->vectors : workload->value[QUERIES];
	uint64_t most = is_adding ? ADDED : workload->value[BATCH];

	if (state->next == all)
		return false;
	state->running = state->kernel;
	state->first = state->next;
	state->count = all - state->first < most ? all - state->first : most;
	if (state->running == COPY)
		workload_set_copy(workload, state->count * workload->value[VECTOR], true, 0);
	if (state->running == APPEND)
		append_batch(workload);
	workload->kernel = names[state->running];
	workload->blocks = blocks_of(workload);
	workload->warps = WEIGHTS_WARPS;
	advance(workload);
	return true;
}

/* -- steps -- */

/* The list that is the query's nearest but `probe`. */
static const struct list *probed(const struct workload *workload, uint64_t query, uint64_t probe)
{
	const struct state *state = workload->state;
	uint64_t random = workload->random ^ (query + 1) * UINT64_C(0x9e3779b97f4a7c15);
	uint64_t place = permutation_at(&state->popular, zipf_draw(&state->zipf, &random));

	return &state->list[permutation_at(&state->near, (place + probe) % workload->value[LISTS])];
}

static bool append(struct workload *workload, struct workload_slot *slot)
{
	const struct state *state = workload->state;
	uint64_t first = (slot->block * WEIGHTS_WARPS + slot->warp) * STORED;
	bool is_id = slot->step == 1;
	uint32_t lanes = 0, bytes = is_id ? ID_BYTES : (uint32_t)workload->value[VECTOR];
	uint64_t end = first + STORED < state->count ? first + STORED : state->count;

	if (first >= state->count || slot->step++ == 2)
		return false;
	for (uint64_t i = first; i < end; i++)
		lanes = gather_run(slot, lanes,
				   is_id ? workload->range[IDS].base + state->id[i]
					 : workload->range[CODES].base + state->code[i],
				   bytes);
	workload_set_lanes(slot, lanes, lanes == end - first ? bytes : 4, UVMP_ACCESS_WRITE);
	return true;
}

/* A page of the list at a time. */
static bool scan(struct workload *workload, struct workload_slot *slot)
{
	const struct state *state = workload->state;
	uint64_t probes = workload->value[PROBES];
	const struct list *list = probed(workload, state->first + slot->block / probes, slot->block % probes);
	uint64_t bytes = list->vectors * workload->value[VECTOR];
	uint64_t at = (slot->step++ * WEIGHTS_WARPS + slot->warp) * WORKLOAD_PAGE;

	if (at >= bytes)
		return false;
	bytes = bytes - at < WORKLOAD_PAGE ? bytes - at : WORKLOAD_PAGE;
	workload_set_wide(slot, workload->range[CODES].base + list->code + at, bytes, UVMP_ACCESS_READ);
	slot->flops = (uint32_t)bytes * 3 / 4; /* difference, product, sum of floats */
	return true;
}

static bool select_nearest(struct workload *workload, struct workload_slot *slot)
{
	const struct state *state = workload->state;
	uint64_t query = state->first + slot->block * WEIGHTS_WARPS + slot->warp;
	uint64_t random = workload->random ^ ~query * UINT64_C(0x9e3779b97f4a7c15);

	if (query >= state->first + state->count || slot->step == 2)
		return false;
	if (slot->step++ == 1) {
		workload_set_wide(slot, workload->range[RESULTS].base + query * NEAREST * ID_BYTES,
				  NEAREST * ID_BYTES, UVMP_ACCESS_WRITE);
		return true;
	}
	for (uint32_t i = 0; i < NEAREST; i++) {
		uint64_t probe = uvmp_random_below(&random, workload->value[PROBES]);
		const struct list *list = probed(workload, query, probe);

		slot->lane[i] = workload->range[IDS].base + list->id +
				uvmp_random_below(&random, list->vectors) * ID_BYTES;
	}
	workload_set_lanes(slot, NEAREST, ID_BYTES, UVMP_ACCESS_READ);
	return true;
}

/* The thread block's queries, then all centroids: slot->row is 1 with those. */
static bool coarse(struct workload *workload, struct workload_slot *slot)
{
	const struct state *state = workload->state;
	uint64_t first = slot->block * TOGETHER, vector = workload->value[VECTOR];
	uint64_t count = state->count - first < TOGETHER ? state->count - first : TOGETHER;

	if (state->running == COARSE && slot->row == 0) {
		if (weights_step(slot, workload->range[QUERY].base + (state->first + first) * vector,
				 count * vector, 0, UVMP_ACCESS_READ))
			return true;
		slot->row = 1;
		slot->step = 0;
	}
	return weights_step(slot, workload->range[CENTROIDS].base, workload->value[LISTS] * vector, count,
			    UVMP_ACCESS_READ);
}

static bool ivf_span(struct workload *workload, struct workload_slot *slot)
{
	const struct state *state = workload->state;

	switch (state->running) {
	case APPEND:
		return append(workload, slot);
	case SCAN:
		return scan(workload, slot);
	case SELECT:
		return select_nearest(workload, slot);
	default:
		return coarse(workload, slot);
	}
}

const struct workload_type workload_ivf = {
	.name = "ivf",
	.summary = "vector search with inverted lists: queries that read whole lists",
	.param = {{"lists", "inverted lists", 1, 1 << 20, 100, false},
		  {"list", "mean bytes of the vectors of a list", 4, (uint64_t)16 << 30, 2 << 20, true},
		  {"vector", "bytes of a vector", 4, 4096, 512, true},
		  {"spread", "lists are up to so many percent smaller or larger than the mean", 0, 90, 50,
		   false},
		  {"add", "1: the vectors are added first", 0, 1, 0, false},
		  {"queries", "after that", 1, UINT32_MAX, 512, false},
		  {"batch", "queries of one kernel", 1, 1 << 20, 64, false},
		  {"probes", "lists that a query reads", 1, 4096, 4, false},
		  {"skew", "exponent of the Zipf law of a query's nearest list, in hundredths", 0,
		   ZIPF_SKEW_MAX, 50, false},
		  WORKLOAD_AGENTS},
	.check = ivf_check,
	.open = ivf_open,
	.close = ivf_close,
	.launch = ivf_launch,
	.span = ivf_span,
};
