/* Kind "smart_counter": UVM Smart's access counters over scripts of accesses and write-backs.
 *
 *   case NAME alloc=524288
 *   layout                            => trees=1x524288
 *   access page=16 write=1 times=1    => block=1 count=1 rounds=0 rw=2 path=1:2,1:2,1:2
 *   set block=1 count=9 rounds=30     => block=1 count=9 rounds=30 rw=2 path=1:2,1:2,1:2
 *   setnode first=0 blocks=4 count=7  => first=0 blocks=4 count=7 rw=2
 *   round tree=0                      => tree=0 counts=1x0,1x9,6x0 rounds=1x1,1x31,6x1 ...
 *   show tree=0                       => tree=0 ...
 *
 * Pages and blocks count from the start of the heap, trees in the order made. A path lists the nodes above a
 * block from the root down, `inner` all nodes above blocks, level by level.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "vec_heap.h"
#include "uvmpolicy/counter.h"
#include "reference/counter_tree.h"

/* A line of input must not keep us busy for long. */
#define TIMES_MAX 100000u

struct script {
	struct heap heap; /* its parts are the trees */
	struct uvmp_counter_tree *tree;
	uint32_t trees, blocks; /* blocks of all trees */
};

/* -- the case line -- */

static void counter_close(void *state)
{
	struct script *script = state;

	heap_free(&script->heap);
	free(script->tree);
	free(script);
}

static void *counter_open(struct vec_args *args, const char *case_name)
{
	struct script *script = vec_grow(NULL, 1, sizeof(*script));

	(void)case_name;
	memset(script, 0, sizeof(*script));
	heap_take_allocations(&script->heap, args);
	if (!args->failed && script->heap.parts == 0)
		vec_fail(args, "alloc=- is not accepted; at least one size");
	if (args->failed) {
		counter_close(script);
		return NULL;
	}
	script->trees = (uint32_t)script->heap.parts;
	script->tree = vec_grow(NULL, script->trees, sizeof(*script->tree));
	for (uint32_t t = 0; t < script->trees; t++) {
		uint32_t blocks = script->heap.part[t].pages / UVMP_BASIC_BLOCK_PAGES;

		(void)uvmp_counter_tree_init(&script->tree[t], blocks);
		script->blocks += blocks;
	}
	return script;
}

static uint32_t first_block(const struct script *script, uint32_t tree)
{
	return (uint32_t)(script->heap.part[tree].first / UVMP_BASIC_BLOCK_PAGES);
}

static uint32_t tree_of(const struct script *script, uint64_t block)
{
	uint32_t tree = script->trees - 1u;

	while (first_block(script, tree) > block)
		tree--;
	return tree;
}

/* -- printing -- */

/* Numbers one by one, equal neighbours together: `2x5,1x0`, `-` if none. */
struct runs {
	struct vec_out *out;
	uint64_t value, count;
	bool is_behind;
};

static void runs_end(struct runs *runs)
{
	if (runs->count != 0)
		vec_printf(runs->out, "%s%" PRIu64 "x%" PRIu64, runs->is_behind ? "," : "", runs->count,
		           runs->value);
	else
		vec_printf(runs->out, "-");
}

static void runs_add(struct runs *runs, uint64_t value)
{
	if (runs->count != 0 && runs->value != value) {
		runs_end(runs);
		runs->is_behind = true;
		runs->count = 0;
	}
	runs->value = value;
	runs->count++;
}

static struct runs runs_begin(struct vec_out *out, const char *key)
{
	vec_printf(out, "%s", key);
	return (struct runs){.out = out};
}

static void print_block(const struct script *script, uint64_t heap_block, struct vec_out *out)
{
	uint32_t t = tree_of(script, heap_block);
	const struct uvmp_counter_tree *tree = &script->tree[t];
	uint32_t block = (uint32_t)heap_block - first_block(script, t);

	vec_printf(out, "=> block=%" PRIu64 " count=%" PRIu32 " rounds=%" PRIu32 " rw=%" PRIu32 " path=%s",
	           heap_block, uvmp_counter_tree_count(tree, block), uvmp_counter_tree_rounds(tree, block),
	           uvmp_counter_tree_marks(tree, block, 1), tree->blocks == 1u ? "-" : "");
	for (uint32_t size = tree->blocks; size > 1u; size /= 2u) {
		uint32_t first = block - block % size;

		vec_printf(out, "%s%" PRIu32 ":%" PRIu32, size == tree->blocks ? "" : ",",
		           uvmp_counter_tree_word(tree, first, size),
		           uvmp_counter_tree_marks(tree, first, size));
	}
	vec_printf(out, "\n");
}

static void print_tree(const struct script *script, uint32_t t, struct vec_out *out)
{
	const struct uvmp_counter_tree *tree = &script->tree[t];
	struct runs runs;

	vec_printf(out, "=> tree=%" PRIu32, t);
	runs = runs_begin(out, " counts=");
	for (uint32_t b = 0; b < tree->blocks; b++)
		runs_add(&runs, uvmp_counter_tree_count(tree, b));
	runs_end(&runs);
	runs = runs_begin(out, " rounds=");
	for (uint32_t b = 0; b < tree->blocks; b++)
		runs_add(&runs, uvmp_counter_tree_rounds(tree, b));
	runs_end(&runs);
	runs = runs_begin(out, " rw=");
	for (uint32_t b = 0; b < tree->blocks; b++)
		runs_add(&runs, uvmp_counter_tree_marks(tree, b, 1));
	runs_end(&runs);
	runs = runs_begin(out, " inner=");
	for (uint32_t size = tree->blocks; size > 1u; size /= 2u)
		for (uint32_t first = 0; first < tree->blocks; first += size)
			runs_add(&runs, uvmp_counter_tree_word(tree, first, size));
	runs_end(&runs);
	vec_printf(out, "\n");
}

/* -- steps -- */

static void step_layout(struct script *script, struct vec_args *args, struct vec_out *out)
{
	(void)args;
	heap_print_layout(&script->heap, out);
}

static void step_access(struct script *script, struct vec_args *args, struct vec_out *out)
{
	uint64_t pages = (uint64_t)script->blocks * UVMP_BASIC_BLOCK_PAGES;
	uint64_t block = vec_number(args, "page", 0, pages - 1u) / UVMP_BASIC_BLOCK_PAGES;
	bool is_write = vec_flag(args, "write");
	uint64_t times = vec_number(args, "times", 0, TIMES_MAX);
	uint32_t tree = tree_of(script, block);
	struct uvmp_counter_access access = {
	        .tree = tree, .block = (uint32_t)block - first_block(script, tree), .is_write = is_write};

	if (args->failed)
		return;
	for (uint64_t i = 0; i < times; i++)
		(void)uvmp_counter_record(script->tree, script->trees, &access, true);
	print_block(script, block, out);
}

static void step_set(struct script *script, struct vec_args *args, struct vec_out *out)
{
	uint64_t block = vec_number(args, "block", 0, script->blocks - 1u);
	uint32_t count = (uint32_t)vec_number(args, "count", 0, UVMP_COUNTER_COUNT_MAX);
	uint32_t rounds = (uint32_t)vec_number(args, "rounds", 0, UVMP_COUNTER_ROUNDS_MAX);
	uint32_t tree = tree_of(script, block);

	if (args->failed)
		return;
	(void)counter_tree_set(&script->tree[tree], (uint32_t)block - first_block(script, tree), count,
	                       rounds);
	print_block(script, block, out);
}

static void step_setnode(struct script *script, struct vec_args *args, struct vec_out *out)
{
	uint64_t block = vec_number(args, "first", 0, script->blocks - 1u);
	uint32_t blocks = (uint32_t)vec_number(args, "blocks", 2, UVMP_TREE_BLOCKS_MAX);
	uint32_t count = (uint32_t)vec_number(args, "count", 0, UINT32_MAX);
	uint32_t t = tree_of(script, block);
	uint32_t first = (uint32_t)block - first_block(script, t);

	if (args->failed)
		return;
	if (counter_tree_set_word(&script->tree[t], first, blocks, count) != UVMP_OK) {
		vec_fail(args, "no node of its tree starts at block %" PRIu64 " and spans %" PRIu32 " blocks",
		         block, blocks);
		return;
	}
	vec_printf(out, "=> first=%" PRIu64 " blocks=%" PRIu32 " count=%" PRIu32 " rw=%" PRIu32 "\n", block,
	           blocks, count, uvmp_counter_tree_marks(&script->tree[t], first, blocks));
}

static void step_round(struct script *script, struct vec_args *args, struct vec_out *out)
{
	uint32_t tree = (uint32_t)vec_number(args, "tree", 0, script->trees - 1u);

	if (args->failed)
		return;
	uvmp_counter_tree_round_trip(&script->tree[tree], true);
	print_tree(script, tree, out);
}

static void step_show(struct script *script, struct vec_args *args, struct vec_out *out)
{
	uint32_t tree = (uint32_t)vec_number(args, "tree", 0, script->trees - 1u);

	if (!args->failed)
		print_tree(script, tree, out);
}

static void counter_line(void *state, const char *word, struct vec_args *args, struct vec_out *out)
{
	static const struct {
		const char *name;
		void (*step)(struct script *, struct vec_args *, struct vec_out *);
	} steps[] = {
	        {"layout", step_layout},   {"access", step_access}, {"set", step_set},
	        {"setnode", step_setnode}, {"round", step_round},   {"show", step_show},
	};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (strcmp(word, steps[i].name) == 0) {
			steps[i].step(state, args, out);
			return;
		}
	vec_fail(args, "step \"%.80s\" is not known; layout, access, set, setnode, round, show are accepted",
	         word);
}

const struct vec_kind vec_smart_counter = {.name = "smart_counter",
                                           .is_scripted = true,
                                           .open = counter_open,
                                           .close = counter_close,
                                           .line = counter_line};
