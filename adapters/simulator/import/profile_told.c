/* What a profile says: bytes by direction and cause, faults, and the VABlocks that moved most. */
#include "import/profile.h"

#include <stdlib.h>

#include "array.h"

/* The part of an event in one block. */
struct part {
	uint64_t block, bytes;
	uint32_t turn; /* events in the order of their times */
	bool is_fault, to_gpu, is_eviction;
};

struct parts {
	struct part *part;
	uint64_t count, room;
};

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static bool add_part(struct parts *parts, const struct part *part)
{
	if (!ARRAY_RESERVE(parts->part, parts->room, parts->count + 1u))
		return false;
	parts->part[parts->count++] = *part;
	return true;
}

static bool add_parts(struct parts *parts, const struct import_event *event, uint32_t turn)
{
	uint64_t bytes = event->kind == IMPORT_MIGRATION ? event->bytes : 1u;
	uint64_t at = event->address, last = at + (bytes - 1u);
	struct part part = {.turn = turn, .to_gpu = event->to_gpu};

	part.is_fault = event->kind != IMPORT_MIGRATION;
	part.is_eviction = event->kind == IMPORT_MIGRATION && event->cause == IMPORT_CAUSE_EVICTION;
	for (;;) {
		uint64_t end = at / IMPORT_BLOCK * IMPORT_BLOCK + (IMPORT_BLOCK - 1u); /* its last byte */

		end = end < last ? end : last;
		part.block = at / IMPORT_BLOCK;
		part.bytes = part.is_fault ? 0 : end - at + 1u;
		if (!add_part(parts, &part))
			return false;
		if (end == last)
			return true;
		at = end + 1u;
	}
}

static int by_block(const void *a, const void *b)
{
	const struct part *left = a, *right = b;

	if (left->block != right->block)
		return left->block < right->block ? -1 : 1;
	return left->turn < right->turn ? -1 : left->turn > right->turn;
}

/* Keeps the block if it is among the hottest. */
static void rank(struct import_told *told, uint64_t block, uint64_t bytes, uint64_t faults)
{
	size_t at = told->hots;

	while (at > 0 && (told->hot[at - 1].bytes < bytes ||
			  (told->hot[at - 1].bytes == bytes && told->hot[at - 1].faults < faults)))
		at--;
	if (at == IMPORT_HOT_MAX)
		return;
	if (told->hots < IMPORT_HOT_MAX)
		told->hots++;
	for (size_t i = told->hots - 1; i > at; i--)
		told->hot[i] = told->hot[i - 1];
	told->hot[at].base = block * IMPORT_BLOCK;
	told->hot[at].bytes = bytes;
	told->hot[at].faults = faults;
}

/* Of one block, in the order of times: bytes that left by eviction and may have come again. */
static size_t tell_block(const struct part *part, size_t count, struct import_told *told)
{
	uint64_t bytes = 0, faults = 0, gone = 0;
	size_t i = 0;

	for (; i < count && part[i].block == part[0].block; i++) {
		uint64_t again = part[i].to_gpu ? (gone < part[i].bytes ? gone : part[i].bytes) : 0;

		faults += part[i].is_fault;
		bytes = sum(bytes, part[i].bytes);
		gone = sum(gone, part[i].is_eviction ? part[i].bytes : 0) - again;
		told->returned_bytes = sum(told->returned_bytes, again);
	}
	rank(told, part[0].block, bytes, faults);
	return i;
}

static void tell_event(const struct import_event *event, struct import_told *told)
{
	size_t way = event->to_gpu ? IMPORT_TO_GPU : IMPORT_TO_CPU;

	switch ((enum import_event_kind)event->kind) {
	case IMPORT_KERNEL:
		told->kernels++;
		break;
	case IMPORT_GPU_FAULT:
		told->gpu_faults++;
		told->gpu_faults_counted = sum(told->gpu_faults_counted, event->faults);
		break;
	case IMPORT_CPU_FAULT:
		told->cpu_faults++;
		break;
	case IMPORT_MIGRATION:
		told->migrations++;
		told->moved[way][event->cause].copies++;
		told->moved[way][event->cause].bytes =
			sum(told->moved[way][event->cause].bytes, event->bytes);
		break;
	}
	told->last_ns = event->end > told->last_ns ? event->end : told->last_ns;
}

bool import_profile_tell(const struct import_event *event, size_t count, struct import_told *told)
{
	struct parts parts = {.count = 0};
	bool is_good = true;

	told->first_ns = count > 0 ? event[0].start : 0;
	for (size_t i = 0; i < count && is_good; i++) {
		tell_event(&event[i], told);
		if (event[i].kind != IMPORT_KERNEL)
			is_good = add_parts(&parts, &event[i], (uint32_t)i);
	}
	if (is_good && parts.count > 0)
		qsort(parts.part, (size_t)parts.count, sizeof(*parts.part), by_block);
	for (size_t i = 0; is_good && i < parts.count;)
		i += tell_block(&parts.part[i], (size_t)parts.count - i, told);
	free(parts.part);
	return is_good;
}
