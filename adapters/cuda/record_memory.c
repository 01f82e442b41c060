/* Segments of the memory that recorded events use: declared, unknown to every allocation, released for good. */
#include "record_memory.h"

#include <stdlib.h>
#include <string.h>

static bool is_fault(const struct record_event *event)
{
	return event->kind == RECORD_GPU_FAULT || event->kind == RECORD_CPU_FAULT;
}

/* -- segments -- */

static int by_number(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return *left < *right ? -1 : *left > *right;
}

/* Both ends of every allocation, and of every VABlock that faults. */
static bool cut_memory(struct record_memory *memory, const struct cuda_record *record)
{
	size_t cuts = 0, distinct = 0;

	memory->cut = calloc(2 * record->count + 1, sizeof(*memory->cut));
	if (!memory->cut)
		return false;
	for (size_t i = 0; i < record->count; i++) {
		const struct record_event *event = &record->event[i];
		uint64_t block = event->address / RECORD_BLOCK * RECORD_BLOCK;

		if (event->kind != RECORD_RANGE && !is_fault(event))
			continue;
		memory->cut[cuts++] = is_fault(event) ? block : event->address;
		memory->cut[cuts++] = is_fault(event) ? block + RECORD_BLOCK : event->address + event->bytes;
	}
	qsort(memory->cut, cuts, sizeof(*memory->cut), by_number);
	for (size_t i = 0; i < cuts; i++)
		if (distinct == 0 || memory->cut[i] != memory->cut[distinct - 1])
			memory->cut[distinct++] = memory->cut[i];
	memory->segments = distinct != 0 ? distinct - 1 : 0;
	return true;
}

/* The segment that contains the address, or that begins at it. */
static size_t segment_of(const struct record_memory *memory, uint64_t address)
{
	size_t low = 0, high = memory->segments;

	while (low < high) {
		size_t middle = low + (high - low + 1) / 2;

		if (memory->cut[middle] <= address)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

static size_t next_undeclared(struct record_memory *memory, size_t segment)
{
	while (memory->next[segment] != segment) {
		memory->next[segment] = memory->next[memory->next[segment]];
		segment = memory->next[segment];
	}
	return segment;
}

static void declare_nothing(struct record_memory *memory)
{
	for (size_t i = 0; i <= memory->segments; i++)
		memory->next[i] = i;
}

bool record_memory_declare(struct record_memory *memory, uint64_t *base, uint64_t end, uint64_t *run_end)
{
	size_t segment = next_undeclared(memory, segment_of(memory, *base)), last = segment_of(memory, end);

	if (segment >= last)
		return false;
	*base = memory->cut[segment];
	for (; segment < last && memory->next[segment] == segment; segment++)
		memory->next[segment] = segment + 1;
	*run_end = memory->cut[segment];
	return true;
}

bool record_memory_unknown(struct record_memory *memory, uint64_t *base, uint64_t *run_end)
{
	size_t segment = segment_of(memory, *base);

	while (segment < memory->segments && !memory->is_unknown[segment])
		segment++;
	if (segment >= memory->segments)
		return false;
	*base = memory->cut[segment];
	for (; segment < memory->segments && memory->is_unknown[segment]; segment++)
		memory->next[segment] = segment + 1;
	*run_end = memory->cut[segment];
	return true;
}

/* Memory that faults before any allocation announces it was allocated before the recorder could see that: its whole VABlock, but
 * for what is declared by then, is unknown. */
static void find_unknown(struct record_memory *memory, const struct cuda_record *record)
{
	declare_nothing(memory);
	for (size_t i = 0; i < record->count; i++) {
		const struct record_event *event = &record->event[i];
		uint64_t base = event->address, end = base + event->bytes, run_end;
		bool is_unknown = is_fault(event);

		if (is_unknown && next_undeclared(memory, segment_of(memory, base)) != segment_of(memory, base))
			continue;
		if (!is_unknown && event->kind != RECORD_RANGE)
			continue;
		if (is_unknown) {
			base = base / RECORD_BLOCK * RECORD_BLOCK;
			end = base + RECORD_BLOCK;
		}
		for (; record_memory_declare(memory, &base, end, &run_end); base = run_end)
			for (size_t s = segment_of(memory, base); is_unknown && memory->cut[s] < run_end; s++)
				memory->is_unknown[s] = true;
	}
	declare_nothing(memory);
}

/* -- releases -- */

static int by_address(const void *a, const void *b)
{
	const struct record_event *left = *(struct record_event *const *)a, *right = *(struct record_event *const *)b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return left < right ? -1 : left > right;
}

/* A release gets the size of the latest allocation at its address. */
static bool size_releases(struct cuda_record *record)
{
	struct record_event **sorted = calloc(record->count + 1, sizeof(struct record_event *));
	size_t count = 0;
	uint64_t bytes = 0;

	if (!sorted)
		return false;
	for (size_t i = 0; i < record->count; i++)
		if (record->event[i].kind == RECORD_RANGE || record->event[i].kind == RECORD_FREE)
			sorted[count++] = &record->event[i];
	qsort(sorted, count, sizeof(struct record_event *), by_address);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || sorted[i]->address != sorted[i - 1]->address)
			bytes = 0;
		if (sorted[i]->kind == RECORD_RANGE) {
			bytes = sorted[i]->bytes;
		} else {
			sorted[i]->bytes = bytes;
			bytes = 0;
		}
	}
	free(sorted);
	return true;
}

/* A segment tree over the segments, read from the last event to the first: `whole` marks nodes that are used as a whole, `part`
 * nodes of which anything is used. Leaf i is node leaves + i. */
struct uses {
	size_t leaves;
	bool *whole, *part;
};

static void mark_node(struct uses *uses, size_t node)
{
	uses->whole[node] = uses->part[node] = true;
}

static void mark(struct uses *uses, size_t first, size_t end)
{
	size_t low = first + uses->leaves, high = end + uses->leaves;

	for (size_t l = low, h = high; l < h; l /= 2, h /= 2) {
		if (l % 2 != 0)
			mark_node(uses, l++);
		if (h % 2 != 0)
			mark_node(uses, --h);
	}
	for (size_t l = low / 2, h = (high - 1) / 2; l > 0; l /= 2, h /= 2)
		uses->part[l] = uses->part[h] = true;
}

static bool is_any_marked(const struct uses *uses, size_t first, size_t end)
{
	size_t low = first + uses->leaves, high = end + uses->leaves;

	for (size_t l = low, h = high; l < h; l /= 2, h /= 2) {
		if (l % 2 != 0 && uses->part[l++])
			return true;
		if (h % 2 != 0 && uses->part[--h])
			return true;
	}
	for (size_t l = low / 2, h = (high - 1) / 2; l > 0; l /= 2, h /= 2)
		if (uses->whole[l] || uses->whole[h])
			return true;
	return false;
}

/* A release is final if no later event uses its memory: a trace cannot declare freed memory again. */
static bool find_final(struct record_memory *memory, struct cuda_record *record)
{
	struct uses uses = {.leaves = memory->segments};

	uses.whole = calloc(2 * memory->segments + 1, sizeof(*uses.whole));
	uses.part = calloc(2 * memory->segments + 1, sizeof(*uses.part));
	for (size_t i = record->count; uses.whole && uses.part && i-- > 0;) {
		struct record_event *event = &record->event[i];
		size_t first = segment_of(memory, event->address), end = segment_of(memory, event->address + event->bytes);

		if (is_fault(event))
			mark(&uses, first, first + 1);
		else if (event->kind == RECORD_RANGE)
			mark(&uses, first, end);
		else if (event->kind == RECORD_FREE)
			event->is_final = event->bytes != 0 && !is_any_marked(&uses, first, end);
	}
	free(uses.whole);
	free(uses.part);
	return uses.whole && uses.part;
}

bool record_memory_open(struct record_memory *memory, struct cuda_record *record)
{
	memset(memory, 0, sizeof(*memory));
	if (!cut_memory(memory, record) || !size_releases(record))
		return false;
	memory->next = calloc(memory->segments + 1, sizeof(*memory->next));
	memory->is_unknown = calloc(memory->segments + 1, sizeof(*memory->is_unknown));
	if (!memory->next || !memory->is_unknown || !find_final(memory, record))
		return false;
	find_unknown(memory, record);
	return true;
}

void record_memory_close(struct record_memory *memory)
{
	free(memory->cut);
	free(memory->next);
	free(memory->is_unknown);
}
