/* vec_heap.h: the managed heap of the scripted UVM Smart kinds ("tbn", "sl", "smart_counter", "smart_evict").
 *
 * Allocations lie back to back and are cut into trees; each tree is one block of pages for the library. Pages
 * count from the start of the heap. Faults go to the prefetcher in force; what it asks for waits in one
 * queue, in the order asked, and a page is in flight until it arrives for the first time. Where fill states
 * and resident pages are kept is the kind's to say. */
#ifndef UVMSIM_VEC_HEAP_H
#define UVMSIM_VEC_HEAP_H

#include "vec_kind.h"

#include "uvmpolicy/prefetch.h"

/* The original's managed heap; also bounds what a line of input can make us allocate. */
#define HEAP_BYTES_MAX ((uint64_t)1 << 30)

struct heap_part {
	struct uvmp_tree *tree; /* the kind's, as the next: set both before the first fault */
	uvmp_mask *resident;
	uint64_t first; /* page of the heap */
	uint32_t pages;
	uvmp_mask pending;
	uvmp_mask moved; /* what the present step prints */
};

struct heap_transfer {
	size_t part;
	struct uvmp_group group;
};

struct heap {
	struct uvmp_prefetch_params params;
	bool is_accurate;
	struct heap_part *part;
	size_t parts;
	uint64_t pages; /* of all parts */
	struct heap_transfer *queue;
	size_t head, tail, capacity; /* the queue is [head, tail) */
};

void heap_free(struct heap *heap);
/* Key `alloc`: adds the parts. */
void heap_take_allocations(struct heap *heap, struct vec_args *args);

/* A set from the input; its parts are requested one after another, ascending. */
struct heap_set {
	struct vec_range *range; /* free it */
	size_t count, next;
};

struct heap_set heap_take_set(struct vec_args *args, const char *key, uint64_t limit);
/* *mask = what of the set lies in [first, first + count), counted from first. */
void heap_cut_set(struct heap_set *set, uint64_t first, uint64_t count, uvmp_mask *mask);
/* Key `count`: a number, or all (UINT64_MAX). */
uint64_t heap_take_count(struct vec_args *args);

/* What one fault step prints, gathered over the parts. */
struct heap_report {
	struct vec_out batch, migrate, blocks, transfers;
	struct vec_set_printer batch_set, migrate_set, blocks_set;
	uint64_t fresh_pages; /* requested that were not in flight before */
};

/* The pages of the set that are neither resident nor in flight fault in one batch. Free the report. */
void heap_fault(struct heap *heap, struct heap_set *set, struct vec_args *args, struct heap_report *report);
void heap_print_batch(const struct heap_report *report, struct vec_out *out);
void heap_print_transfers(const struct heap_report *report, struct vec_out *out);
void heap_report_free(struct heap_report *report);
/* Pages of all transfers that wait. */
uint64_t heap_queued_pages(const struct heap *heap);

void heap_forget_moved(struct heap *heap);
/* The pages of all parts' `moved`. */
void heap_print_moved(const struct heap *heap, struct vec_out *out);
void heap_print_pages(struct vec_set_printer *printer, const struct heap_part *part, const uvmp_mask *mask);
void heap_print_layout(const struct heap *heap, struct vec_out *out);
void heap_print_trees(const struct heap *heap, struct vec_out *out);

#endif
