/* Kinds "tbn" and "sl": UVM Smart's tree prefetchers over scripts of faults, arrivals and evictions.
 *
 *   case NAME alloc=65537,4096 resident=0-3 uncounted=- accurate=0 quirks=1
 *   layout            => trees=1x131072,1x65536     => full=... part=... root=...
 *   fault pages=17    => batch=17 migrate=16-31 blocks=1   => xfer=fault pages=16-17 bytes=8192 ...   =>
 * full=... arrive count=all  => arrived=16-31 queued=0 drop pages=3      => dropped=3                  =>
 * full=... dropblock blocks=1
 *
 * Pages and blocks count from the start of the heap; the allocations lie back to back there. Each tree is one
 * block of pages for the library. What is asked for waits in one queue, in the order asked; a page is in
 * flight until it arrives for the first time. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "vec.h"
#include "uvmpolicy/geometry.h"
#include "uvmpolicy/prefetch.h"

/* The original's managed heap; also bounds what a line of input can make us allocate. */
#define HEAP_BYTES ((uint64_t)1 << 30)
#define PAGE_BYTES 4096u
#define GROUPS_MAX 1024u

struct part {
	struct uvmp_tree tree;
	uint64_t first; /* page of the heap */
	uint32_t pages;
	uvmp_mask resident, pending, moved; /* moved: arrived or dropped in this step */
};

struct transfer {
	size_t part;
	struct uvmp_group group;
};

struct script {
	struct uvmp_prefetch_params params;
	bool is_accurate;
	struct part *part;
	size_t parts;
	uint64_t pages; /* of the whole heap */
	struct transfer *queue;
	size_t head, tail, capacity; /* the queue is [head, tail) */
};

static void *grow(void *memory, size_t count, size_t bytes)
{
	memory = realloc(memory, count * bytes);
	if (memory == NULL) {
		fputs("uvmsim: out of memory\n", stderr);
		exit(2);
	}
	return memory;
}

/* -- sets of heap pages, tree by tree -- */

/* A set from the input; asked for one tree after the other, ascending. */
struct heap_set {
	struct vec_range *range;
	size_t count, next;
};

static struct heap_set take_set(struct vec_args *args, const char *key, uint64_t limit)
{
	struct heap_set set = {NULL, 0, 0};

	set.count = vec_set(args, key, limit, &set.range);
	return set;
}

/* *mask = what of the set lies in [first, first + count), counted from first. */
static void cut_set(struct heap_set *set, uint64_t first, uint64_t count, uvmp_mask *mask)
{
	uvmp_mask_zero(mask);
	while (set->next < set->count && set->range[set->next].last < first)
		set->next++;
	for (size_t i = set->next; i < set->count && set->range[i].first < first + count; i++) {
		uint64_t from = set->range[i].first > first ? set->range[i].first - first : 0;
		uint64_t last = set->range[i].last - first;
		struct uvmp_region run = {(uint32_t)from, (uint32_t)(last < count ? last + 1 : count)};

		uvmp_mask_region_set(mask, run);
	}
}

static void print_pages(struct vec_set_printer *printer, const struct part *part, const uvmp_mask *mask)
{
	for (uint32_t p = uvmp_mask_next_set(mask, 0); p < UVMP_MASK_BITS;
	     p = uvmp_mask_next_set(mask, p + 1))
		vec_set_add(printer, part->first + p);
}

static void print_moved(const struct script *script, struct vec_out *out)
{
	struct vec_set_printer printer;

	vec_set_begin(&printer, out);
	for (size_t i = 0; i < script->parts; i++)
		print_pages(&printer, &script->part[i], &script->part[i].moved);
	vec_set_end(&printer);
}

static void forget_moved(struct script *script)
{
	for (size_t i = 0; i < script->parts; i++)
		uvmp_mask_zero(&script->part[i].moved);
}

/* -- the case line -- */

static void add_part(struct script *script, uint32_t bytes)
{
	struct part *part = &script->part[script->parts++];

	memset(part, 0, sizeof(*part));
	part->first = script->pages;
	part->pages = bytes / PAGE_BYTES;
	(void)uvmp_tree_init(&part->tree, bytes / UVMP_BASIC_BLOCK_BYTES);
	script->pages += part->pages;
}

static void add_allocation(struct script *script, struct vec_args *args, uint64_t bytes)
{
	struct uvmp_allocation allocation;
	size_t trees;

	if (uvmp_allocation_round(bytes, &allocation) != UVMP_OK ||
	    allocation.rounded_bytes > HEAP_BYTES - script->pages * PAGE_BYTES) {
		vec_fail(args, "alloc: rounded up, the sizes exceed the managed heap of %" PRIu64 " bytes",
		         HEAP_BYTES);
		return;
	}
	trees = (size_t)allocation.large_trees + (allocation.tail_bytes != 0);
	script->part = grow(script->part, script->parts + trees, sizeof(*script->part));
	for (uint64_t i = 0; i < allocation.large_trees; i++)
		add_part(script, UVMP_LARGE_PAGE_BYTES);
	if (allocation.tail_bytes != 0)
		add_part(script, allocation.tail_bytes);
}

static void take_allocations(struct script *script, struct vec_args *args)
{
	uint64_t *bytes;
	size_t count = vec_list(args, "alloc", 1, HEAP_BYTES, &bytes);

	for (size_t i = 0; i < count && !args->failed; i++)
		add_allocation(script, args, bytes[i]);
	free(bytes);
}

/* Pages that are there from the start. Without quirks the tree knows also those that came by user prefetch
 * (Q5). */
static void settle_pages(struct script *script, struct heap_set *resident, struct heap_set *uncounted)
{
	for (size_t i = 0; i < script->parts; i++) {
		struct part *part = &script->part[i];
		uvmp_mask counted, others;

		cut_set(resident, part->first, part->pages, &counted);
		cut_set(uncounted, part->first, part->pages, &others);
		uvmp_mask_or(&part->resident, &counted, &others);
		for (uint32_t p = 0; p < part->pages; p++)
			if (uvmp_mask_test(script->params.quirks ? &counted : &part->resident, p))
				uvmp_tree_add(&part->tree, p, 1, script->params.quirks);
	}
}

static void close_script(void *state)
{
	struct script *script = state;

	free(script->part);
	free(script->queue);
	free(script);
}

static void *open_script(struct vec_args *args, enum uvmp_prefetcher prefetcher)
{
	struct script *script = grow(NULL, 1, sizeof(*script));
	struct heap_set resident, uncounted;

	memset(script, 0, sizeof(*script));
	uvmp_prefetch_params_init(&script->params, prefetcher);
	take_allocations(script, args);
	resident = take_set(args, "resident", script->pages);
	uncounted = take_set(args, "uncounted", script->pages);
	script->is_accurate = vec_flag(args, "accurate");
	script->params.quirks = vec_flag(args, "quirks");
	if (!args->failed)
		settle_pages(script, &resident, &uncounted);
	free(resident.range);
	free(uncounted.range);
	if (!args->failed)
		return script;
	close_script(script);
	return NULL;
}

/* -- printing trees -- */

/* A value that has wrapped below zero prints as negative. */
static long long kilobytes(uint32_t pages)
{
	return pages <= INT32_MAX ? 4ll * pages : -4ll * (UINT32_MAX - pages) - 4;
}

static void print_trees(const struct script *script, struct vec_out *out)
{
	struct vec_set_printer full;
	const char *comma = "";

	vec_printf(out, "=> full=");
	vec_set_begin(&full, out);
	for (size_t i = 0; i < script->parts; i++)
		for (uint32_t b = 0; b < script->part[i].tree.blocks; b++)
			if (uvmp_tree_leaf(&script->part[i].tree, b) == UVMP_BASIC_BLOCK_PAGES)
				vec_set_add(&full, script->part[i].first / UVMP_BASIC_BLOCK_PAGES + b);
	vec_set_end(&full);
	vec_printf(out, " part=");
	for (size_t i = 0; i < script->parts; i++)
		for (uint32_t b = 0; b < script->part[i].tree.blocks; b++) {
			uint32_t pages = uvmp_tree_leaf(&script->part[i].tree, b);

			if (pages == 0 || pages == UVMP_BASIC_BLOCK_PAGES)
				continue;
			vec_printf(out, "%s%" PRIu64 ":%lld", comma,
			           script->part[i].first / UVMP_BASIC_BLOCK_PAGES + b, kilobytes(pages));
			comma = ",";
		}
	vec_printf(out, "%s root=", *comma == '\0' ? "-" : "");
	for (size_t i = 0; i < script->parts; i++)
		vec_printf(out, "%s%lld", i == 0 ? "" : ",", kilobytes(script->part[i].tree.node[0]));
	vec_printf(out, "%s\n", script->parts == 0 ? "-" : "");
}

/* -- steps -- */

static void step_layout(struct script *script, struct vec_args *args, struct vec_out *out)
{
	size_t run = 0;

	(void)args;
	vec_printf(out, "=> trees=%s", script->parts == 0 ? "-" : "");
	for (size_t i = 0; i < script->parts; i++) {
		run++;
		if (i + 1 < script->parts && script->part[i + 1].pages == script->part[i].pages)
			continue;
		vec_printf(out, "%zux%u%s", run, script->part[i].pages * PAGE_BYTES,
		           i + 1 < script->parts ? "," : "");
		run = 0;
	}
	vec_printf(out, "\n");
	print_trees(script, out);
}

/* Room for one more: what has arrived is given up once it is half of the array. */
static void make_room(struct script *script)
{
	if (script->tail < script->capacity)
		return;
	if (script->head != 0 && script->head >= script->capacity / 2) {
		memmove(script->queue, script->queue + script->head,
		        (script->tail - script->head) * sizeof(*script->queue));
		script->tail -= script->head;
		script->head = 0;
		return;
	}
	script->capacity = script->capacity * 2 + 64;
	script->queue = grow(script->queue, script->capacity, sizeof(*script->queue));
}

static void queue_transfer(struct script *script, size_t part, struct uvmp_group group)
{
	make_room(script);
	script->queue[script->tail].part = part;
	script->queue[script->tail++].group = group;
}

/* What one fault step prints, gathered over the trees. */
struct report {
	struct vec_out batch, migrate, blocks, transfers;
	struct vec_set_printer batch_set, migrate_set, blocks_set;
};

static void print_transfer(struct vec_out *out, const struct part *part, const struct uvmp_group *group)
{
	static const char *const name[] = {
	        [UVMP_GROUP_FAULT] = "fault",
	        [UVMP_GROUP_PREFETCH] = "prefetch",
	        [UVMP_GROUP_LATENCY] = "latency",
	};
	struct vec_set_printer pages;
	bool moves = group->kind != UVMP_GROUP_LATENCY;

	vec_printf(out, "=> xfer=%s pages=", name[group->kind]);
	vec_set_begin(&pages, out);
	for (uint32_t p = group->pages.first; p < group->pages.outer; p++)
		vec_set_add(&pages, part->first + p);
	vec_set_end(&pages);
	vec_printf(out, " bytes=%u\n", moves ? uvmp_region_pages(group->pages) * PAGE_BYTES : 0);
}

static enum uvmp_status decide(const struct script *script, struct part *part, const uvmp_mask *faulted,
                               struct uvmp_prefetch_hint *hint)
{
	struct uvmp_prefetch_facts facts = {
	        .faulted = faulted,
	        .faulted_region = uvmp_mask_hull(faulted),
	        .resident = &part->resident,
	        .pending = &part->pending,
	        .dst = 1,
	        .preferred = UVMP_PROC_NONE,
	};
	struct uvmp_prefetch_state state;
	enum uvmp_status status = uvmp_block_from_shape(part->pages, 0, UVMP_BASIC_BLOCK_PAGES, &facts.block);

	uvmp_prefetch_state_init(&state);
	state.tree = &part->tree;
	return status != UVMP_OK ? status : uvmp_prefetch_decide(&script->params, &facts, &state, hint);
}

static void fault_part(struct script *script, size_t index, const uvmp_mask *faulted, struct vec_args *args,
                       struct report *report)
{
	struct part *part = &script->part[index];
	struct uvmp_group group[GROUPS_MAX];
	struct uvmp_prefetch_hint hint;
	uint32_t count = 0;
	uvmp_mask pages;
	enum uvmp_status status = decide(script, part, faulted, &hint);

	if (status == UVMP_OK) {
		uvmp_mask_or(&pages, &hint.pages, faulted);
		status = uvmp_prefetch_groups(UVMP_GROUPING_RUN_TO_FAULT, &pages, faulted,
		                              script->is_accurate, group, GROUPS_MAX, &count);
	}
	if (status != UVMP_OK) {
		vec_fail(args, "the library refuses this step: %s", uvmp_status_text(status));
		return;
	}
	uvmp_mask_or(&part->pending, &part->pending, &pages);
	print_pages(&report->batch_set, part, faulted);
	print_pages(&report->migrate_set, part, &pages);
	for (uint32_t b = 0; b < part->tree.blocks; b++)
		if ((hint.basic_blocks >> b & 1u) != 0)
			vec_set_add(&report->blocks_set, part->first / UVMP_BASIC_BLOCK_PAGES + b);
	for (uint32_t i = 0; i < count; i++) {
		print_transfer(&report->transfers, part, &group[i]);
		queue_transfer(script, index, group[i]);
	}
}

static void print_report(struct report *report, struct vec_out *out)
{
	vec_set_end(&report->batch_set);
	vec_set_end(&report->migrate_set);
	vec_set_end(&report->blocks_set);
	vec_printf(out, "=> batch=%s migrate=%s blocks=%s\n", report->batch.text, report->migrate.text,
	           report->blocks.text);
	if (report->transfers.text != NULL)
		vec_printf(out, "%s", report->transfers.text);
	vec_out_free(&report->batch);
	vec_out_free(&report->migrate);
	vec_out_free(&report->blocks);
	vec_out_free(&report->transfers);
}

static void step_fault(struct script *script, struct vec_args *args, struct vec_out *out)
{
	struct heap_set set = take_set(args, "pages", script->pages);
	struct report report;

	memset(&report, 0, sizeof(report));
	vec_set_begin(&report.batch_set, &report.batch);
	vec_set_begin(&report.migrate_set, &report.migrate);
	vec_set_begin(&report.blocks_set, &report.blocks);
	for (size_t i = 0; i < script->parts && set.next < set.count && !args->failed; i++) {
		struct part *part = &script->part[i];
		uvmp_mask faulted;

		cut_set(&set, part->first, part->pages, &faulted);
		uvmp_mask_andnot(&faulted, &faulted, &part->resident);
		uvmp_mask_andnot(&faulted, &faulted, &part->pending);
		if (!uvmp_mask_is_empty(&faulted))
			fault_part(script, i, &faulted, args, &report);
	}
	print_report(&report, out);
	print_trees(script, out);
	free(set.range);
}

static uint64_t take_count(struct vec_args *args)
{
	const char *value = vec_text(args, "count");
	uint64_t count = UINT64_MAX;

	if (value == NULL || strcmp(value, "all") == 0)
		return count;
	if (!vec_scan_number(&value, UINT64_MAX, &count) || *value != '\0')
		vec_fail(args, "count: a number of queue entries or all is accepted");
	return count;
}

static void step_arrive(struct script *script, struct vec_args *args, struct vec_out *out)
{
	uint64_t count = take_count(args);

	if (args->failed)
		return;
	forget_moved(script);
	for (; count != 0 && script->head < script->tail; count--, script->head++) {
		const struct transfer *transfer = &script->queue[script->head];
		struct part *part = &script->part[transfer->part];

		if (transfer->group.kind == UVMP_GROUP_LATENCY)
			continue;
		uvmp_mask_region_set(&part->moved, transfer->group.pages);
		uvmp_mask_region_set(&part->resident, transfer->group.pages);
		uvmp_mask_region_clear(&part->pending, transfer->group.pages);
	}
	vec_printf(out, "=> arrived=");
	print_moved(script, out);
	vec_printf(out, " queued=%zu\n", script->tail - script->head);
}

static void print_dropped(const struct script *script, struct vec_out *out)
{
	vec_printf(out, "=> dropped=");
	print_moved(script, out);
	vec_printf(out, "\n");
	print_trees(script, out);
}

static void step_drop(struct script *script, struct vec_args *args, struct vec_out *out)
{
	struct heap_set set = take_set(args, "pages", script->pages);

	for (size_t i = 0; i < script->parts; i++) {
		struct part *part = &script->part[i];

		cut_set(&set, part->first, part->pages, &part->moved);
		uvmp_mask_and(&part->moved, &part->moved, &part->resident);
		uvmp_mask_andnot(&part->resident, &part->resident, &part->moved);
		for (uint32_t p = 0; p < part->pages; p++)
			if (uvmp_mask_test(&part->moved, p))
				uvmp_tree_sub(&part->tree, p, 1, script->params.quirks);
	}
	print_dropped(script, out);
	free(set.range);
}

static void step_dropblock(struct script *script, struct vec_args *args, struct vec_out *out)
{
	struct heap_set set = take_set(args, "blocks", script->pages / UVMP_BASIC_BLOCK_PAGES);

	forget_moved(script);
	for (size_t i = 0; i < script->parts; i++) {
		struct part *part = &script->part[i];
		uvmp_mask blocks;

		cut_set(&set, part->first / UVMP_BASIC_BLOCK_PAGES, part->tree.blocks, &blocks);
		for (uint32_t b = 0; b < part->tree.blocks; b++) {
			struct uvmp_region own = {b * UVMP_BASIC_BLOCK_PAGES,
			                          (b + 1) * UVMP_BASIC_BLOCK_PAGES};

			if (!uvmp_mask_test(&blocks, b) || !uvmp_mask_region_all(&part->resident, own))
				continue;
			uvmp_mask_region_set(&part->moved, own);
			uvmp_tree_sub(&part->tree, own.first, UVMP_BASIC_BLOCK_PAGES, script->params.quirks);
		}
		uvmp_mask_andnot(&part->resident, &part->resident, &part->moved);
	}
	print_dropped(script, out);
	free(set.range);
}

static void tree_line(void *state, const char *word, struct vec_args *args, struct vec_out *out)
{
	static const struct {
		const char *name;
		void (*step)(struct script *script, struct vec_args *args, struct vec_out *out);
	} steps[] = {
	        {"layout", step_layout}, {"fault", step_fault},         {"arrive", step_arrive},
	        {"drop", step_drop},     {"dropblock", step_dropblock},
	};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (strcmp(word, steps[i].name) == 0) {
			steps[i].step(state, args, out);
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
