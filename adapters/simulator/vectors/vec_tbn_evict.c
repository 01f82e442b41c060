/* Kind "tbn_evict": one eviction of TBNe on one tree.
 *
 *   tbn_evict tree=8 resident=0-95 pending=- staged=- pinned=- leaf=- order=5,0,1,2,3,4 quirks=1
 *   => first=5 victims=4-5 bytes=131072
 *   => full=0-3 part=- root=256
 *
 * `leaf` is a list of BLOCK:KB, KB signed. Sets are pages of the tree, but for `staged`, which is blocks. */
#include <stdlib.h>
#include <string.h>

#include "vec_heap.h"
#include "vectors/reference/smart_evict.h"

#define LEAF_KB_MAX (1u << 20)

struct state {
	struct smart_evict evict;
	_Alignas(uint64_t) unsigned char memory[65536];
};

static struct uvmp_region block_pages(uint32_t block)
{
	return (struct uvmp_region){block * UVMP_BASIC_BLOCK_PAGES, (block + 1) * UVMP_BASIC_BLOCK_PAGES};
}

static void stage(struct smart_evict *e, uint32_t block)
{
	e->queue[e->queued++] = (struct smart_range){0, block_pages(block), SMART_WRITEBACK};
	uvmp_mask_region_set(&e->tree[0].staged, block_pages(block));
	uvmp_tree_set_leaf(&e->tree[0].fill, block, 0);
}

/* Whole pages as a signed number of KB; what is below zero wraps, as in the tree. */
static bool scan_leaf(const char **text, uint32_t *pages)
{
	bool is_negative = **text == '-';
	uint64_t kilobytes;

	*text += is_negative;
	if (!vec_scan_number(text, LEAF_KB_MAX, &kilobytes) || kilobytes % 4 != 0)
		return false;
	*pages = (uint32_t)kilobytes / 4;
	if (is_negative)
		*pages = 0u - *pages;
	return true;
}

/* BLOCK:KB,... */
static void take_leaves(struct vec_args *args, struct uvmp_tree *tree)
{
	const char *text = vec_text(args, "leaf");
	uint64_t block;
	uint32_t pages;

	if (text == NULL || strcmp(text, "-") == 0)
		return;
	do {
		if (!vec_scan_number(&text, tree->blocks - 1, &block) || *text++ != ':' ||
		    !scan_leaf(&text, &pages)) {
			vec_fail(args, "leaf: a list of BLOCK:KB is accepted, KB a multiple of 4");
			return;
		}
		uvmp_tree_set_leaf(tree, (uint32_t)block, pages);
	} while (*text++ == ',');
	if (text[-1] != '\0')
		vec_fail(args, "leaf: a list of BLOCK:KB is accepted");
}

static void take_order(struct vec_args *args, struct smart_evict *e)
{
	uint64_t *block;
	size_t count = vec_list(args, "order", 0, e->tree[0].fill.blocks - 1, &block);

	for (size_t i = 0; i < count; i++)
		(void)smart_evict_touch(e, 0, (uint32_t)block[i] * UVMP_BASIC_BLOCK_PAGES, i);
	free(block);
}

static void take_tree(struct vec_args *args, struct smart_evict *e)
{
	struct smart_tree *tree = &e->tree[0];
	uint32_t pages = e->pages;
	uvmp_mask pending, staged;

	vec_mask(args, "resident", pages, &tree->valid, NULL);
	vec_mask(args, "pending", pages, &pending, NULL);
	vec_mask(args, "staged", tree->fill.blocks, &staged, NULL);
	vec_mask(args, "pinned", pages, &tree->pinned, NULL);
	if (args->failed)
		return;
	uvmp_mask_or(&pending, &pending, &tree->valid);
	uvmp_tree_assign(&tree->fill, &pending);
	for (uint32_t b = 0; b < tree->fill.blocks; b++)
		if (uvmp_mask_test(&staged, b))
			stage(e, b);
	take_leaves(args, &tree->fill);
	uvmp_tree_recompute(&tree->fill);
	take_order(args, e);
	e->quirks = vec_flag(args, "quirks");
}

static void print_victims(const struct smart_evict *e, uint32_t ranges, struct vec_out *out)
{
	const struct smart_range *range = e->queue + (e->queued - ranges);
	struct vec_set_printer printer;

	vec_printf(out, " victims=");
	vec_set_begin(&printer, out);
	for (uint32_t i = 0; i < ranges; i++)
		for (uint32_t p = range[i].pages.first; p < range[i].pages.end; p += UVMP_BASIC_BLOCK_PAGES)
			vec_set_add(&printer, p / UVMP_BASIC_BLOCK_PAGES);
	vec_set_end(&printer);
	vec_printf(out, " bytes=%s", ranges == 0 ? "-" : "");
	for (uint32_t i = 0; i < ranges; i++)
		vec_printf(out, "%s%u", i == 0 ? "" : ",", uvmp_region_pages(range[i].pages) * 4096);
	vec_printf(out, "\n");
}

static void print_result(struct state *state, struct vec_out *out)
{
	struct smart_evict *e = &state->evict;
	struct heap_part part = {.tree = &e->tree[0].fill, .pages = e->pages};
	struct heap heap = {.part = &part, .parts = 1};
	struct smart_choice choice;

	(void)smart_evict_select(e, NULL, &choice);
	if (choice.ranges == 0)
		vec_printf(out, "=> first=-");
	else
		vec_printf(out, "=> first=%u", choice.page / UVMP_BASIC_BLOCK_PAGES);
	print_victims(e, choice.ranges, out);
	heap_print_trees(&heap, out);
}

static void line(void *unused, const char *word, struct vec_args *args, struct vec_out *out)
{
	uint32_t blocks = (uint32_t)vec_number(args, "tree", 1, UVMP_TREE_BLOCKS_MAX);
	struct state *state;

	(void)unused;
	(void)word;
	if (!args->failed && (blocks & (blocks - 1)) != 0)
		vec_fail(args, "tree: 1, 2, 4, 8, 16 or 32 is accepted");
	if (args->failed)
		return;
	state = vec_grow(NULL, 1, sizeof(*state));
	(void)smart_evict_init(&state->evict, SMART_TBN, 1, 1, blocks * UVMP_BASIC_BLOCK_PAGES, state->memory,
	                       sizeof(state->memory));
	(void)smart_evict_add_tree(&state->evict, blocks);
	take_tree(args, &state->evict);
	if (!args->failed)
		print_result(state, out);
	free(state);
}

const struct vec_kind vec_tbn_evict = {"tbn_evict", false, NULL, NULL, line};
