/* Kinds "tbn" and "sl": UVM Smart's tree prefetchers over scripts of faults, arrivals and evictions.
 *
 *   case NAME alloc=65537,4096 resident=0-3 uncounted=- accurate=0 quirks=1
 *   layout            => trees=1x131072,1x65536     => full=... part=... root=...
 *   fault pages=17    => batch=17 migrate=16-31 blocks=1   => xfer=fault pages=16-17 bytes=8192 ...   =>
 * full=... arrive count=all  => arrived=16-31 queued=0 drop pages=3      => dropped=3                  =>
 * full=... dropblock blocks=1
 */
#include <stdlib.h>
#include <string.h>

#include "vec_heap.h"

struct script {
	struct heap heap;
	struct uvmp_tree *tree; /* [parts] */
	uvmp_mask *resident;    /* [parts] */
};

/* -- the case line -- */

static void make_trees(struct script *script)
{
	struct heap *heap = &script->heap;

	script->tree = vec_grow(NULL, heap->parts + 1, sizeof(*script->tree));
	script->resident = vec_grow(NULL, heap->parts + 1, sizeof(*script->resident));
	for (size_t i = 0; i < heap->parts; i++) {
		heap->part[i].tree = &script->tree[i];
		heap->part[i].resident = &script->resident[i];
		(void)uvmp_tree_init(&script->tree[i], heap->part[i].pages / UVMP_BASIC_BLOCK_PAGES);
	}
}

/* Pages that are there from the start. Without quirks the tree knows also those that came by user prefetch
 * [uvmsmart: user-prefetch-bypasses-tree]. */
static void settle_pages(struct heap *heap, struct heap_set *resident, struct heap_set *uncounted)
{
	for (size_t i = 0; i < heap->parts; i++) {
		struct heap_part *part = &heap->part[i];
		uvmp_mask counted, others;

		heap_cut_set(resident, part->first, part->pages, &counted);
		heap_cut_set(uncounted, part->first, part->pages, &others);
		uvmp_mask_or(part->resident, &counted, &others);
		for (uint32_t p = 0; p < part->pages; p++)
			if (uvmp_mask_test(heap->params.quirks ? &counted : part->resident, p))
				uvmp_tree_add(part->tree, p, 1, heap->params.quirks);
	}
}

static void close_script(void *state)
{
	struct script *script = state;

	heap_free(&script->heap);
	free(script->tree);
	free(script->resident);
	free(script);
}

static void *open_script(struct vec_args *args, enum uvmp_prefetcher prefetcher)
{
	struct script *script = vec_grow(NULL, 1, sizeof(*script));
	struct heap *heap = &script->heap;
	struct heap_set resident, uncounted;

	memset(script, 0, sizeof(*script));
	uvmp_prefetch_params_init(&heap->params, prefetcher);
	heap_take_allocations(heap, args);
	make_trees(script);
	resident = heap_take_set(args, "resident", heap->pages);
	uncounted = heap_take_set(args, "uncounted", heap->pages);
	heap->is_accurate = vec_flag(args, "accurate");
	heap->params.quirks = vec_flag(args, "quirks");
	if (!args->failed)
		settle_pages(heap, &resident, &uncounted);
	free(resident.range);
	free(uncounted.range);
	if (!args->failed)
		return script;
	close_script(script);
	return NULL;
}

/* -- steps -- */

static void step_layout(struct heap *heap, struct vec_args *args, struct vec_out *out)
{
	(void)args;
	heap_print_layout(heap, out);
	heap_print_trees(heap, out);
}

static void step_fault(struct heap *heap, struct vec_args *args, struct vec_out *out)
{
	struct heap_set set = heap_take_set(args, "pages", heap->pages);
	struct heap_report report;

	heap_fault(heap, &set, args, &report);
	heap_print_batch(&report, out);
	heap_print_transfers(&report, out);
	heap_print_trees(heap, out);
	heap_report_free(&report);
	free(set.range);
}

static void step_arrive(struct heap *heap, struct vec_args *args, struct vec_out *out)
{
	uint64_t count = heap_take_count(args);

	if (args->failed)
		return;
	heap_forget_moved(heap);
	for (; count != 0 && heap->head < heap->tail; count--, heap->head++) {
		const struct heap_transfer *transfer = &heap->queue[heap->head];
		struct heap_part *part = &heap->part[transfer->part];

		if (transfer->group.kind == UVMP_GROUP_LATENCY)
			continue;
		uvmp_mask_region_set(&part->moved, transfer->group.pages);
		uvmp_mask_region_set(part->resident, transfer->group.pages);
		uvmp_mask_region_clear(&part->pending, transfer->group.pages);
	}
	vec_printf(out, "=> arrived=");
	heap_print_moved(heap, out);
	vec_printf(out, " queued=%zu\n", heap->tail - heap->head);
}

static void print_dropped(const struct heap *heap, struct vec_out *out)
{
	vec_printf(out, "=> dropped=");
	heap_print_moved(heap, out);
	vec_printf(out, "\n");
	heap_print_trees(heap, out);
}

static void step_drop(struct heap *heap, struct vec_args *args, struct vec_out *out)
{
	struct heap_set set = heap_take_set(args, "pages", heap->pages);

	for (size_t i = 0; i < heap->parts; i++) {
		struct heap_part *part = &heap->part[i];

		heap_cut_set(&set, part->first, part->pages, &part->moved);
		uvmp_mask_and(&part->moved, &part->moved, part->resident);
		uvmp_mask_andnot(part->resident, part->resident, &part->moved);
		for (uint32_t p = 0; p < part->pages; p++)
			if (uvmp_mask_test(&part->moved, p))
				uvmp_tree_sub(part->tree, p, 1, heap->params.quirks);
	}
	print_dropped(heap, out);
	free(set.range);
}

static void step_dropblock(struct heap *heap, struct vec_args *args, struct vec_out *out)
{
	struct heap_set set = heap_take_set(args, "blocks", heap->pages / UVMP_BASIC_BLOCK_PAGES);

	heap_forget_moved(heap);
	for (size_t i = 0; i < heap->parts; i++) {
		struct heap_part *part = &heap->part[i];
		uvmp_mask blocks;

		heap_cut_set(&set, part->first / UVMP_BASIC_BLOCK_PAGES, part->tree->blocks, &blocks);
		for (uint32_t b = 0; b < part->tree->blocks; b++) {
			struct uvmp_region own = {b * UVMP_BASIC_BLOCK_PAGES,
			                          (b + 1) * UVMP_BASIC_BLOCK_PAGES};

			if (!uvmp_mask_test(&blocks, b) || !uvmp_mask_region_all(part->resident, own))
				continue;
			uvmp_mask_region_set(&part->moved, own);
			uvmp_tree_sub(part->tree, own.first, UVMP_BASIC_BLOCK_PAGES, heap->params.quirks);
		}
		uvmp_mask_andnot(part->resident, part->resident, &part->moved);
	}
	print_dropped(heap, out);
	free(set.range);
}

static void tree_line(void *state, const char *word, struct vec_args *args, struct vec_out *out)
{
	struct script *script = state;
	static const struct {
		const char *name;
		void (*step)(struct heap *heap, struct vec_args *args, struct vec_out *out);
	} steps[] = {
	        {"layout", step_layout}, {"fault", step_fault},         {"arrive", step_arrive},
	        {"drop", step_drop},     {"dropblock", step_dropblock},
	};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (strcmp(word, steps[i].name) == 0) {
			steps[i].step(&script->heap, args, out);
			return;
		}
	vec_fail(args, "step \"%.80s\" is not known; layout, fault, arrive, drop, dropblock are accepted",
	         word);
}

static void *open_tbn(struct vec_args *args, const char *case_name)
{
	(void)case_name;
	return open_script(args, UVMP_PREFETCH_TBN);
}

static void *open_sl(struct vec_args *args, const char *case_name)
{
	(void)case_name;
	return open_script(args, UVMP_PREFETCH_SL);
}

const struct vec_kind vec_tbn = {"tbn", true, open_tbn, close_script, tree_line};
const struct vec_kind vec_sl = {"sl", true, open_sl, close_script, tree_line};
