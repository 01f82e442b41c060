/* The heap of the scripted UVM Smart kinds; see vec_heap.h. */
#include "vec_heap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "uvmpolicy/geometry.h"

#define PAGE_BYTES 4096u
#define GROUPS_MAX 1024u

/* -- sets of heap pages, tree by tree -- */

struct heap_set heap_take_set(struct vec_args *args, const char *key, uint64_t limit)
{
	struct heap_set set = {NULL, 0, 0};

	set.count = vec_set(args, key, limit, &set.range);
	return set;
}

void heap_cut_set(struct heap_set *set, uint64_t first, uint64_t count, uvmp_mask *mask)
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

void heap_print_pages(struct vec_set_printer *printer, const struct heap_part *part, const uvmp_mask *mask)
{
	for (uint32_t p = uvmp_mask_next_set(mask, 0); p < UVMP_MASK_BITS;
	     p = uvmp_mask_next_set(mask, p + 1))
		vec_set_add(printer, part->first + p);
}

void heap_print_moved(const struct heap *heap, struct vec_out *out)
{
	struct vec_set_printer printer;

	vec_set_begin(&printer, out);
	for (size_t i = 0; i < heap->parts; i++)
		heap_print_pages(&printer, &heap->part[i], &heap->part[i].moved);
	vec_set_end(&printer);
}

void heap_forget_moved(struct heap *heap)
{
	for (size_t i = 0; i < heap->parts; i++)
		uvmp_mask_zero(&heap->part[i].moved);
}

/* -- layout -- */

static void add_part(struct heap *heap, uint32_t bytes)
{
	struct heap_part *part = &heap->part[heap->parts++];

	memset(part, 0, sizeof(*part));
	part->first = heap->pages;
	part->pages = bytes / PAGE_BYTES;
	heap->pages += part->pages;
}

static void add_allocation(struct heap *heap, struct vec_args *args, uint64_t bytes)
{
	struct uvmp_allocation allocation;
	size_t trees;

	if (uvmp_allocation_round(bytes, &allocation) != UVMP_OK ||
	    allocation.rounded_bytes > HEAP_BYTES_MAX - heap->pages * PAGE_BYTES) {
		vec_fail(args, "alloc: rounded up, the sizes exceed the managed heap of %" PRIu64 " bytes",
		         HEAP_BYTES_MAX);
		return;
	}
	trees = (size_t)allocation.large_trees + (allocation.tail_bytes != 0);
	heap->part = vec_grow(heap->part, heap->parts + trees, sizeof(*heap->part));
	for (uint64_t i = 0; i < allocation.large_trees; i++)
		add_part(heap, UVMP_LARGE_PAGE_BYTES);
	if (allocation.tail_bytes != 0)
		add_part(heap, allocation.tail_bytes);
}

void heap_take_allocations(struct heap *heap, struct vec_args *args)
{
	uint64_t *bytes;
	size_t count = vec_list(args, "alloc", 1, HEAP_BYTES_MAX, &bytes);

	for (size_t i = 0; i < count && !args->failed; i++)
		add_allocation(heap, args, bytes[i]);
	free(bytes);
}

/* -- printing trees -- */

/* A value that has wrapped below zero prints as negative. */
static long long kilobytes(uint32_t pages)
{
	return pages <= INT32_MAX ? 4ll * pages : -4ll * (UINT32_MAX - pages) - 4;
}

void heap_print_trees(const struct heap *heap, struct vec_out *out)
{
	struct vec_set_printer full;
	const char *comma = "";

	vec_printf(out, "=> full=");
	vec_set_begin(&full, out);
	for (size_t i = 0; i < heap->parts; i++)
		for (uint32_t b = 0; b < heap->part[i].tree->blocks; b++)
			if (uvmp_tree_leaf(heap->part[i].tree, b) == UVMP_BASIC_BLOCK_PAGES)
				vec_set_add(&full, heap->part[i].first / UVMP_BASIC_BLOCK_PAGES + b);
	vec_set_end(&full);
	vec_printf(out, " part=");
	for (size_t i = 0; i < heap->parts; i++)
		for (uint32_t b = 0; b < heap->part[i].tree->blocks; b++) {
			uint32_t pages = uvmp_tree_leaf(heap->part[i].tree, b);

			if (pages == 0 || pages == UVMP_BASIC_BLOCK_PAGES)
				continue;
			vec_printf(out, "%s%" PRIu64 ":%lld", comma,
			           heap->part[i].first / UVMP_BASIC_BLOCK_PAGES + b, kilobytes(pages));
			comma = ",";
		}
	vec_printf(out, "%s root=", *comma == '\0' ? "-" : "");
	for (size_t i = 0; i < heap->parts; i++)
		vec_printf(out, "%s%lld", i == 0 ? "" : ",", kilobytes(heap->part[i].tree->node[0]));
	vec_printf(out, "%s\n", heap->parts == 0 ? "-" : "");
}

void heap_print_layout(const struct heap *heap, struct vec_out *out)
{
	size_t run = 0;

	vec_printf(out, "=> trees=%s", heap->parts == 0 ? "-" : "");
	for (size_t i = 0; i < heap->parts; i++) {
		run++;
		if (i + 1 < heap->parts && heap->part[i + 1].pages == heap->part[i].pages)
			continue;
		vec_printf(out, "%zux%u%s", run, heap->part[i].pages * PAGE_BYTES,
		           i + 1 < heap->parts ? "," : "");
		run = 0;
	}
	vec_printf(out, "\n");
}

/* -- faults and arrivals -- */

/* Room for one more: what has arrived is given up once it is half of the array. */
static void make_room(struct heap *heap)
{
	if (heap->tail < heap->capacity)
		return;
	if (heap->head != 0 && heap->head >= heap->capacity / 2) {
		memmove(heap->queue, heap->queue + heap->head,
		        (heap->tail - heap->head) * sizeof(*heap->queue));
		heap->tail -= heap->head;
		heap->head = 0;
		return;
	}
	heap->capacity = heap->capacity * 2 + 64;
	heap->queue = vec_grow(heap->queue, heap->capacity, sizeof(*heap->queue));
}

static void queue_transfer(struct heap *heap, size_t part, struct uvmp_group group)
{
	make_room(heap);
	heap->queue[heap->tail].part = part;
	heap->queue[heap->tail++].group = group;
}

static void print_transfer(struct vec_out *out, const struct heap_part *part, const struct uvmp_group *group)
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
	for (uint32_t p = group->pages.first; p < group->pages.end; p++)
		vec_set_add(&pages, part->first + p);
	vec_set_end(&pages);
	vec_printf(out, " bytes=%u\n", moves ? uvmp_region_pages(group->pages) * PAGE_BYTES : 0);
}

static enum uvmp_status decide(const struct heap *heap, struct heap_part *part, const uvmp_mask *faulted,
                               struct uvmp_prefetch_hint *hint)
{
	struct uvmp_prefetch_facts facts = {
	        .faulted = faulted,
	        .faulted_region = uvmp_mask_bounds(faulted),
	        .resident = part->resident,
	        .pending = &part->pending,
	        .to = 1,
	};
	struct uvmp_prefetch_state state;
	enum uvmp_status status = uvmp_block_from_shape(part->pages, 0, UVMP_BASIC_BLOCK_PAGES, &facts.block);

	uvmp_prefetch_state_init(&state);
	state.tree = part->tree;
	return status != UVMP_OK ? status : uvmp_prefetch_decide(&heap->params, &facts, &state, hint);
}

static void fault_part(struct heap *heap, size_t index, const uvmp_mask *faulted, struct vec_args *args,
                       struct heap_report *report)
{
	struct heap_part *part = &heap->part[index];
	struct uvmp_group group[GROUPS_MAX];
	struct uvmp_prefetch_hint hint;
	uint32_t count = 0;
	uvmp_mask pages, fresh;
	bool is_single = heap->params.prefetcher == UVMP_PREFETCH_NONE;
	enum uvmp_status status = decide(heap, part, faulted, &hint);

	if (status == UVMP_OK) {
		uvmp_mask_or(&pages, &hint.pages, faulted);
		status = uvmp_prefetch_groups(is_single ? UVMP_GROUPING_SINGLE : UVMP_GROUPING_RUN_TO_FAULT,
		                              &pages, faulted, heap->is_accurate, group, GROUPS_MAX, &count);
	}
	if (status != UVMP_OK) {
		vec_fail(args, "the library refuses this step: %s", uvmp_status_text(status));
		return;
	}
	uvmp_mask_andnot(&fresh, &pages, &part->pending);
	report->fresh_pages += uvmp_mask_weight(&fresh);
	uvmp_mask_or(&part->pending, &part->pending, &pages);
	heap_print_pages(&report->batch_set, part, faulted);
	heap_print_pages(&report->migrate_set, part, &pages);
	for (uint32_t b = 0; b < part->tree->blocks; b++)
		if ((hint.basic_blocks >> b & 1u) != 0)
			vec_set_add(&report->blocks_set, part->first / UVMP_BASIC_BLOCK_PAGES + b);
	for (uint32_t i = 0; i < count; i++) {
		print_transfer(&report->transfers, part, &group[i]);
		queue_transfer(heap, index, group[i]);
	}
}

void heap_fault(struct heap *heap, struct heap_set *set, struct vec_args *args, struct heap_report *report)
{
	memset(report, 0, sizeof(*report));
	vec_set_begin(&report->batch_set, &report->batch);
	vec_set_begin(&report->migrate_set, &report->migrate);
	vec_set_begin(&report->blocks_set, &report->blocks);
	for (size_t i = 0; i < heap->parts && set->next < set->count && !args->failed; i++) {
		struct heap_part *part = &heap->part[i];
		uvmp_mask faulted;

		heap_cut_set(set, part->first, part->pages, &faulted);
		uvmp_mask_andnot(&faulted, &faulted, part->resident);
		uvmp_mask_andnot(&faulted, &faulted, &part->pending);
		if (!uvmp_mask_is_empty(&faulted))
			fault_part(heap, i, &faulted, args, report);
	}
	vec_set_end(&report->batch_set);
	vec_set_end(&report->migrate_set);
	vec_set_end(&report->blocks_set);
}

void heap_print_batch(const struct heap_report *report, struct vec_out *out)
{
	vec_printf(out, "=> batch=%s migrate=%s blocks=%s\n", report->batch.text, report->migrate.text,
	           report->blocks.text);
}

void heap_print_transfers(const struct heap_report *report, struct vec_out *out)
{
	if (report->transfers.text != NULL)
		vec_printf(out, "%s", report->transfers.text);
}

void heap_report_free(struct heap_report *report)
{
	vec_out_free(&report->batch);
	vec_out_free(&report->migrate);
	vec_out_free(&report->blocks);
	vec_out_free(&report->transfers);
}

uint64_t heap_take_count(struct vec_args *args)
{
	const char *value = vec_text(args, "count");
	uint64_t count = UINT64_MAX;

	if (value == NULL || strcmp(value, "all") == 0)
		return count;
	if (!vec_scan_number(&value, UINT64_MAX, &count) || *value != '\0')
		vec_fail(args, "count: a number of queue entries or all is accepted");
	return count;
}

uint64_t heap_queued_pages(const struct heap *heap)
{
	uint64_t pages = 0;

	for (size_t i = heap->head; i < heap->tail; i++)
		pages += uvmp_region_pages(heap->queue[i].group.pages);
	return pages;
}

void heap_free(struct heap *heap)
{
	free(heap->part);
	free(heap->queue);
}
