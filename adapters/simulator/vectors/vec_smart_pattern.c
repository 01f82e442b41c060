/* Kind "smart_pattern": UVM Smart's runtime engine.
 *
 *   smart_pattern alloc=2097152,2097152 kernels=10:14 log=11:0,12:2,13:1 evict=lru2m remote=off
 *   => patterns=random,undecided evict=tbn remote=oversub
 *
 * `kernels` are launch:end in ascending id (end 0: still running), `log` is cycle:block in order of
 * scheduling, a block counted from the heap's start. Both must ascend in time, as the original's do. A kernel
 * that ends before its launch has no records at all and is left out.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "vec_kind.h"
#include "uvmpolicy/adapt.h"
#include "uvmpolicy/geometry.h"

#define BLOCK_BYTES 65536u
#define HEAP_BLOCKS (1u << 18) /* 16 GiB: sixteen times the original's heap */

struct pair {
	uint64_t cycle, value;
};

struct pairs {
	struct pair *pair;
	size_t count;
};

static const char *const evictions[] = {"lru4k", "lru2m", "lfu2m", "sl", "tbn", NULL};
static const char *const remotes[] = {"off", "adaptive", "always", "oversub", NULL};
static const char *const patterns[] = {"undecided",    "linear", "linear_reuse", "random",
                                       "random_reuse", "mixed",  "mixed_reuse"};

#define EVICT_TBN      4u
#define REMOTE_OVERSUB 3u

static bool scan_pair(const char **at, uint64_t max, struct pair *pair)
{
	if (!vec_scan_number(at, UINT64_MAX - 1, &pair->cycle) || **at != ':')
		return false;
	(*at)++;
	return vec_scan_number(at, max, &pair->value);
}

/* `cycle:value` separated by commas, cycles ascending. */
static void take_pairs(struct vec_args *args, const char *key, uint64_t max, struct pairs *pairs)
{
	const char *value = vec_text(args, key);
	const char *at = value;

	pairs->count = 0;
	pairs->pair = vec_zeros(value == NULL ? 1 : strlen(value) / 2 + 1, sizeof(struct pair));
	if (value == NULL || strcmp(value, "-") == 0)
		return;
	for (;;) {
		struct pair *pair = &pairs->pair[pairs->count];

		if (!scan_pair(&at, max, pair) || (pairs->count > 0 && pair[-1].cycle > pair->cycle))
			break;
		pairs->count++;
		if (*at == '\0')
			return;
		if (*at++ != ',')
			break;
	}
	vec_fail(args, "%s: a list of CYCLE:NUMBER with ascending cycles, - if empty; entry %zu is not one",
	         key, pairs->count + 1);
}

/* -- one case -- */

struct run {
	struct uvmp_pattern_engine engine;
	struct uvmp_pattern_kernel *open;
	struct uvmp_pattern_data *data;
	uint32_t *block; /* of the whole heap */
	uint32_t *first; /* per allocation, and the end of the last */
	size_t count;
	uint64_t *id; /* per kernel */
	bool *is_launched, *is_ended;
	struct pairs kernels, log;
};

static void take_allocations(struct vec_args *args, struct run *run)
{
	uint64_t *bytes = NULL;
	struct uvmp_allocation allocation;

	run->count = vec_list(args, "alloc", 1, (uint64_t)HEAP_BLOCKS * BLOCK_BYTES, &bytes);
	run->first = vec_zeros(run->count + 1, sizeof(*run->first));
	if (!args->failed && run->count == 0)
		vec_fail(args, "alloc=- is not accepted; at least one size");
	for (size_t i = 0; i < run->count; i++) {
		(void)uvmp_allocation_round(bytes[i], &allocation);
		if (allocation.rounded_bytes / BLOCK_BYTES > HEAP_BLOCKS - run->first[i]) {
			vec_fail(args, "alloc: more than %u blocks of 64 KiB", HEAP_BLOCKS);
			break;
		}
		run->first[i + 1] = run->first[i] + (uint32_t)(allocation.rounded_bytes / BLOCK_BYTES);
	}
	free(bytes);
}

static void set_up(struct run *run)
{
	run->open = vec_zeros(run->kernels.count + 1, sizeof(*run->open));
	run->data = vec_zeros(run->count + 1, sizeof(*run->data));
	run->block = vec_zeros(run->first[run->count] + 1, sizeof(*run->block));
	run->id = vec_zeros(run->kernels.count + 1, sizeof(*run->id));
	run->is_launched = vec_zeros(run->kernels.count + 1, sizeof(bool));
	run->is_ended = vec_zeros(run->kernels.count + 1, sizeof(bool));
	(void)uvmp_pattern_init(&run->engine, run->open, (uint32_t)run->kernels.count + 1u, run->data,
	                        (uint32_t)run->count);
	for (uint32_t i = 0; i < run->count; i++)
		(void)uvmp_pattern_watch(&run->engine, i, run->block + run->first[i],
		                         run->first[i + 1] - run->first[i]);
}

/* The kernels' events up to `cycle`: launches by it, ends before it. */
static void move_to(struct run *run, uint64_t cycle)
{
	for (;;) {
		uint64_t at = UINT64_MAX;
		size_t which = 0;
		bool is_end = false;

		for (size_t k = 0; k < run->kernels.count; k++) {
			const struct pair *kernel = &run->kernels.pair[k];

			if (kernel->value != 0 && kernel->value < kernel->cycle)
				continue;
			if (!run->is_launched[k] && kernel->cycle <= cycle && kernel->cycle < at) {
				at = kernel->cycle;
				which = k;
				is_end = false;
			}
			if (run->is_launched[k] && !run->is_ended[k] && kernel->value != 0 &&
			    kernel->value < cycle && kernel->value < at) {
				at = kernel->value;
				which = k;
				is_end = true;
			}
		}
		if (at == UINT64_MAX)
			return;
		if (is_end) {
			(void)uvmp_pattern_end(&run->engine, run->id[which], at);
			run->is_ended[which] = true;
		} else {
			(void)uvmp_pattern_launch(&run->engine, at, &run->id[which]);
			run->is_launched[which] = true;
		}
	}
}

static void replay(struct vec_args *args, struct run *run)
{
	set_up(run);
	for (size_t i = 0; i < run->log.count; i++) {
		const struct pair *record = &run->log.pair[i];
		uint32_t d = 0;

		if (record->value >= run->first[run->count]) {
			vec_fail(args, "log: block %" PRIu64 " is beyond the allocations", record->value);
			return;
		}
		while (record->value >= run->first[d + 1])
			d++;
		move_to(run, record->cycle);
		(void)uvmp_pattern_log(&run->engine, record->cycle, d,
		                       (uint32_t)record->value - run->first[d]);
	}
}

static void print(const struct run *run, uint32_t evict, uint32_t remote, struct vec_out *out)
{
	enum uvmp_pattern_verdict verdict = uvmp_pattern_decide(&run->engine);

	vec_printf(out, "=> patterns=");
	for (uint32_t i = 0; i < run->count; i++)
		vec_printf(out, "%s%s", i == 0 ? "" : ",", patterns[uvmp_pattern_of(&run->engine, i)]);
	vec_printf(out, " evict=%s remote=%s\n", evictions[verdict == UVMP_PATTERN_KEEP ? evict : EVICT_TBN],
	           remotes[verdict == UVMP_PATTERN_REMOTE ? REMOTE_OVERSUB : remote]);
}

static void smart_pattern_line(void *state, const char *word, struct vec_args *args, struct vec_out *out)
{
	struct run run = {.count = 0};
	uint32_t evict, remote;

	(void)state;
	(void)word;
	take_allocations(args, &run);
	take_pairs(args, "kernels", UINT64_MAX - 1, &run.kernels);
	take_pairs(args, "log", UINT32_MAX, &run.log);
	evict = vec_choice(args, "evict", evictions);
	remote = vec_choice(args, "remote", remotes);
	if (!args->failed)
		replay(args, &run);
	if (!args->failed)
		print(&run, evict, remote, out);
	free(run.open);
	free(run.data);
	free(run.block);
	free(run.first);
	free(run.id);
	free(run.is_launched);
	free(run.is_ended);
	free(run.kernels.pair);
	free(run.log.pair);
}

const struct vec_kind vec_smart_pattern = {.name = "smart_pattern", .line = smart_pattern_line};
