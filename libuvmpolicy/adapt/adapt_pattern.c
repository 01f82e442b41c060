/* Pattern engine (DATE'21; UVM Smart [uvmsmart: runtime-engine]), incremental.
 *
 * The original recomputes all patterns from a log of scheduled blocks at each query. For kernel k and
 * allocation d, q is the part of the log that belongs to d, between launch and end of k, bounds included. q
 * is linear if it never descends. q has reuse if a block occurs in it twice or in the q of an earlier kernel.
 * The kernels' verdicts L, LR, R, RR are then combined in order of launch.
 *
 * The combination needs no table. Let l, r, u be the first kernels that are linear, that are random, that
 * have reuse. With l only the pattern is LINEAR, with r only RANDOM, each with reuse if there is a u. With
 * both, the later of l and r settles the pattern, since MIXED and MIXED_REUSE absorb all later verdicts: with
 * reuse if u is not later. So three numbers an allocation are enough, and each follows from facts of the
 * allocation alone:
 *
 *   r  Launches ascend. If two neighbouring records descend, all running kernels become random that were launched
 *      by the first of the two records; the oldest running kernel is the first of these, if there is one.
 *   u  A block that an earlier kernel had gives reuse to all running kernels, and so to the oldest: the earlier
 *      kernel is an older one, or the oldest. A new block gives reuse to all but the oldest, which share it.
 *   l  A running kernel is linear if it was launched after the first record of the latest descent and has a
 *      record: a search in the running kernels. Kernels that are over are examined once, when they end.
 *
 * Bounds are inclusive. So a kernel is over only when time has passed its end, and a launch includes the
 * records of its cycle that were reported before it. Records made while no kernel runs belong to no kernel,
 * unless a kernel is launched in the same cycle: such blocks are chained in the array of blocks until the
 * next cycle of the allocation.
 *
 * An entry of that array: 0 never logged, 1 logged in a kernel, else chained: index of the next + 3, 2 at the
 * end of the chain. */
#include "uvmpolicy/adapt.h"

#include "../base/bits_internal.h"

#define ENTRY_NEW   0u
#define ENTRY_SEEN  1u
#define ENTRY_END   2u
#define ENTRY_FIRST 3u

static void lower(uint64_t *id, uint64_t candidate)
{
	if (candidate < *id)
		*id = candidate;
}

enum uvmp_status uvmp_pattern_init(struct uvmp_pattern_engine *engine, struct uvmp_pattern_kernel *open,
                                   uint32_t open_max, struct uvmp_pattern_data *data, uint32_t data_count)
{
	if (engine == NULL || open == NULL || data == NULL)
		return UVMP_ERR_ARGUMENT;
	if (open_max == 0 || data_count == 0)
		return UVMP_ERR_RANGE;
	*engine = (struct uvmp_pattern_engine){
	        .open = open, .data = data, .open_max = open_max, .count = data_count};
	for (uint32_t i = 0; i < data_count; i++)
		(void)uvmp_pattern_watch(engine, i, NULL, 0);
	return UVMP_OK;
}

bool uvmp_pattern_is_valid(const struct uvmp_pattern_engine *engine)
{
	return engine != NULL && engine->open != NULL && engine->data != NULL &&
	       engine->opens <= engine->open_max && engine->ending <= engine->opens && engine->count > 0;
}

enum uvmp_status uvmp_pattern_watch(struct uvmp_pattern_engine *engine, uint32_t data, uint32_t *block,
                                    uint32_t blocks)
{
	if (!uvmp_pattern_is_valid(engine) || (block == NULL && blocks > 0))
		return UVMP_ERR_ARGUMENT;
	if (data >= engine->count || blocks > UINT32_MAX - ENTRY_FIRST)
		return UVMP_ERR_RANGE;
	for (uint32_t i = 0; i < blocks; i++)
		block[i] = ENTRY_NEW;
	engine->data[data] = (struct uvmp_pattern_data){
	        .block = block,
	        .blocks = blocks,
	        .pending = ENTRY_END,
	        .linear = UVMP_PATTERN_NONE,
	        .random = UVMP_PATTERN_NONE,
	        .reuse = UVMP_PATTERN_NONE,
	};
	return UVMP_OK;
}

/* -- kernels that are over -- */

/* The first running kernel that is linear on this allocation, as an index; engine->opens if none is. It was
 * launched after the latest descent began (>=: cycles of records are stored plus one) and by the latest
 * record. */
static uint32_t first_linear(const struct uvmp_pattern_engine *engine, const struct uvmp_pattern_data *data)
{
	uint32_t first = 0, end = engine->opens;

	while (first < end) {
		uint32_t middle = first + (end - first) / 2u;

		if (engine->open[middle].launch < data->descent)
			first = middle + 1u;
		else
			end = middle;
	}
	return first < engine->opens && engine->open[first].launch < data->last ? first : engine->opens;
}

static void settle(struct uvmp_pattern_engine *engine, const struct uvmp_pattern_kernel *kernel)
{
	for (uint32_t i = 0; i < engine->count; i++) {
		struct uvmp_pattern_data *data = &engine->data[i];

		if (kernel->launch < data->last && kernel->launch >= data->descent)
			lower(&data->linear, kernel->id);
	}
}

/* Advances time to `cycle`; kernels that ended before it are over. Within a cycle no further kernel can be
 * over, since an end is reported in its cycle. */
static void advance(struct uvmp_pattern_engine *engine, uint64_t cycle)
{
	uint32_t kept = 0;

	if (cycle == engine->now)
		return;
	engine->now = cycle;
	if (engine->ending == 0)
		return;
	for (uint32_t i = 0; i < engine->opens; i++) {
		if (engine->open[i].last < cycle) {
			settle(engine, &engine->open[i]);
			engine->ending--;
		} else {
			engine->open[kept++] = engine->open[i];
		}
	}
	engine->opens = kept;
}

static enum uvmp_status check_cycle(const struct uvmp_pattern_engine *engine, uint64_t cycle)
{
	if (cycle == UVMP_PATTERN_NONE)
		return UVMP_ERR_RANGE;
	return cycle < engine->now ? UVMP_ERR_STATE : UVMP_OK;
}

/* -- facts of an allocation -- */

static void set_random(struct uvmp_pattern_engine *engine, struct uvmp_pattern_data *data, uint64_t id)
{
	lower(&data->random, id);
	engine->is_random = true;
}

static void set_reuse(struct uvmp_pattern_engine *engine, struct uvmp_pattern_data *data, uint64_t id)
{
	lower(&data->reuse, id);
	engine->is_reused = true;
}

/* Empties the chain; its blocks become `entry`. */
static void unchain(struct uvmp_pattern_data *data, uint32_t entry)
{
	while (data->pending != ENTRY_END) {
		uint32_t block = data->pending - ENTRY_FIRST;

		data->pending = data->block[block];
		data->block[block] = entry;
	}
}

/* A kernel is launched in the cycle of the allocation's latest records. */
static void take_in(struct uvmp_pattern_engine *engine, struct uvmp_pattern_data *data, uint64_t id)
{
	if (engine->opens > 0) {
		set_reuse(engine, data, id); /* an elder kernel has them too */
		return;
	}
	if (data->repeat == data->last)
		set_reuse(engine, data, id);
	if (data->descent == data->last)
		set_random(engine, data, id);
	unchain(data, ENTRY_SEEN);
}

static void log_in_kernel(struct uvmp_pattern_engine *engine, struct uvmp_pattern_data *data, uint32_t block)
{
	if (engine->open[0].launch < data->descent)
		set_random(engine, data, engine->open[0].id);
	if (data->block[block] == ENTRY_SEEN)
		set_reuse(engine, data, engine->open[0].id);
	else if (engine->opens > 1)
		set_reuse(engine, data, engine->open[1].id);
	data->block[block] = ENTRY_SEEN;
}

static void log_in_gap(struct uvmp_pattern_data *data, uint64_t stamp, uint32_t block)
{
	if (data->block[block] != ENTRY_NEW) {
		data->repeat = stamp;
		return;
	}
	data->block[block] = data->pending;
	data->pending = block + ENTRY_FIRST;
}

/* -- events -- */

enum uvmp_status uvmp_pattern_launch(struct uvmp_pattern_engine *engine, uint64_t cycle, uint64_t *id)
{
	enum uvmp_status status;
	uint32_t running = 0;

	if (!uvmp_pattern_is_valid(engine) || id == NULL)
		return UVMP_ERR_ARGUMENT;
	status = check_cycle(engine, cycle);
	if (status != UVMP_OK)
		return status;
	if (engine->opens == engine->open_max) { /* unless one of them is over by now */
		for (uint32_t i = 0; i < engine->opens; i++)
			running += engine->open[i].last >= cycle;
		if (running == engine->open_max)
			return UVMP_ERR_SPACE;
	}
	advance(engine, cycle);
	*id = engine->next_id++;
	if (engine->logged == cycle + 1u)
		for (uint32_t i = 0; i < engine->count; i++)
			if (engine->data[i].last == cycle + 1u)
				take_in(engine, &engine->data[i], *id);
	engine->open[engine->opens++] =
	        (struct uvmp_pattern_kernel){.id = *id, .launch = cycle, .last = UVMP_PATTERN_NONE};
	return UVMP_OK;
}

enum uvmp_status uvmp_pattern_end(struct uvmp_pattern_engine *engine, uint64_t id, uint64_t cycle)
{
	uint32_t first = 0, end;
	enum uvmp_status status;

	if (!uvmp_pattern_is_valid(engine))
		return UVMP_ERR_ARGUMENT;
	status = check_cycle(engine, cycle);
	if (status != UVMP_OK)
		return status;
	end = engine->opens;
	while (first < end) {
		uint32_t middle = first + (end - first) / 2u;

		if (engine->open[middle].id < id)
			first = middle + 1u;
		else
			end = middle;
	}
	if (first == engine->opens || engine->open[first].id != id ||
	    engine->open[first].last != UVMP_PATTERN_NONE)
		return UVMP_ERR_STATE;
	engine->open[first].last = cycle;
	engine->ending++;
	advance(engine, cycle);
	return UVMP_OK;
}

enum uvmp_status uvmp_pattern_log(struct uvmp_pattern_engine *engine, uint64_t cycle, uint32_t index,
                                  uint32_t block)
{
	struct uvmp_pattern_data *data;
	enum uvmp_status status;

	if (!uvmp_pattern_is_valid(engine))
		return UVMP_ERR_ARGUMENT;
	if (index >= engine->count || block >= engine->data[index].blocks)
		return UVMP_ERR_RANGE;
	status = check_cycle(engine, cycle);
	if (status != UVMP_OK)
		return status;
	advance(engine, cycle);
	data = &engine->data[index];
	if (block < data->last_block)
		data->descent = data->last;
	if (data->last != cycle + 1u)
		unchain(data, ENTRY_NEW);
	if (engine->opens > 0)
		log_in_kernel(engine, data, block);
	else
		log_in_gap(data, cycle + 1u, block);
	data->last_block = block;
	data->last = cycle + 1u;
	engine->logged = cycle + 1u;
	return UVMP_OK;
}

/* -- answers -- */

enum uvmp_pattern uvmp_pattern_of(const struct uvmp_pattern_engine *engine, uint32_t index)
{
	const struct uvmp_pattern_data *data;
	uint64_t linear;
	uint32_t first;

	if (!uvmp_pattern_is_valid(engine) || index >= engine->count)
		return UVMP_PATTERN_UNDECIDED;
	data = &engine->data[index];
	linear = data->linear;
	first = first_linear(engine, data);
	if (first < engine->opens)
		lower(&linear, engine->open[first].id);
	if (linear == UVMP_PATTERN_NONE && data->random == UVMP_PATTERN_NONE)
		return UVMP_PATTERN_UNDECIDED;
	if (data->random == UVMP_PATTERN_NONE)
		return data->reuse == UVMP_PATTERN_NONE ? UVMP_PATTERN_LINEAR : UVMP_PATTERN_LINEAR_REUSE;
	if (linear == UVMP_PATTERN_NONE)
		return data->reuse == UVMP_PATTERN_NONE ? UVMP_PATTERN_RANDOM : UVMP_PATTERN_RANDOM_REUSE;
	if (data->reuse > linear && data->reuse > data->random)
		return UVMP_PATTERN_MIXED;
	return UVMP_PATTERN_MIXED_REUSE;
}

enum uvmp_pattern_verdict uvmp_pattern_decide(const struct uvmp_pattern_engine *engine)
{
	if (!uvmp_pattern_is_valid(engine))
		return UVMP_PATTERN_KEEP;
	if (engine->is_random)
		return UVMP_PATTERN_REMOTE;
	return engine->is_reused ? UVMP_PATTERN_EVICT_TREE : UVMP_PATTERN_KEEP;
}
