/* Remote accesses whose pages TLBs hold; gpu_remote.h.
 *
 * UVM Smart decides when the page walk of a missed access ends, and counts each access when it is issued. So the accesses
 * that other warps issue meanwhile count for the decision [uvmsmart: migrate-or-remote]. All that ask in a quantum are
 * answered at its end, in the order in which their walks end. Remote accesses take remote_miss_ns each, one after another. */
#include "gpu_remote.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "gpu_fault.h"
#include "gpu_group.h"
#include "gpu_mshr.h"

void gpu_remote_ask(struct gpu *gpu, const struct asking *asking)
{
	if (!ARRAY_RESERVE(gpu->asking, gpu->asking_room, gpu->asking_count + 1u)) {
		gpu_lose(gpu, GPU_OUT_OF_MEMORY);
		return;
	}
	gpu->asking[gpu->asking_count++] = *asking;
	gpu->sm[asking->who.sm].warp[asking->who.warp].pending |= (uint64_t)1 << asking->who.number;
}

void gpu_remote_fill(struct gpu *gpu, uint64_t now_ns)
{
	while (gpu->fill_first < gpu->fill_count && gpu->fill[gpu->fill_first].ready_ns <= now_ns) {
		const struct fill *fill = &gpu->fill[gpu->fill_first++];

		if (!tlb_holds(&fill->utlb->tlb, fill->key))
			tlb_add(&fill->utlb->tlb, fill->key);
	}
	if (gpu->fill_first == gpu->fill_count)
		gpu->fill_first = gpu->fill_count = 0;
}

/* Accesses that load end in their order, and so do those that store; the entries of both are in the order of their times. */
static void add_fill(struct gpu *gpu, const struct fill *fill)
{
	size_t at = gpu->fill_count;

	if (!ARRAY_RESERVE(gpu->fill, gpu->fill_room, gpu->fill_count + 1u)) {
		gpu_lose(gpu, GPU_OUT_OF_MEMORY);
		return;
	}
	for (; at > gpu->fill_first && gpu->fill[at - 1u].ready_ns > fill->ready_ns; at--)
		gpu->fill[at] = gpu->fill[at - 1u];
	gpu->fill[at] = *fill;
	gpu->fill_count++;
}

/* asking->time_ns: from here on, when the access has ended. */
static void cross(struct gpu *gpu, struct asking *asking)
{
	struct sm *sm = &gpu->sm[asking->who.sm];
	enum model_direction direction = asking->is_write ? MODEL_TO_CPU : MODEL_TO_GPU;

	asking->time_ns = link_remote_fixed(gpu->link, direction, asking->time_ns,
					    (uint64_t)asking->accesses * gpu->model->remote_miss_ns);
	asking->has_crossed = true;
	gpu->counts.remote_accesses += asking->accesses;
	sm->warp[asking->who.warp].pending &= ~((uint64_t)1 << asking->who.number);
	add_fill(gpu, &(struct fill){asking->time_ns, asking->key, sm->utlb});
}

/* A warp tries again when the last of its remote accesses has ended: until then TLBs lack the entry, and the access would cross
 * the link once more. All accesses of a step have one direction, so a later one ends later. */
static void wake_crossed(struct gpu *gpu, size_t answered)
{
	for (size_t i = answered; i-- > 0;)
		if (gpu->asking[i].has_crossed)
			gpu_group_wake(gpu, gpu->asking[i].who.sm, gpu->asking[i].who.warp, gpu->asking[i].time_ns);
}

/* The page has a fault out, or gets one; the warp waits with a page that is coming. */
static void fault(struct gpu *gpu, const struct asking *asking, uint64_t page)
{
	bool is_new = true;

	if (gpu_mshr_is_there(gpu) &&
	    gpu_mshr_miss(gpu, &asking->who, page, &is_new) == GPU_STALLED) /* woken when an entry is free */
		gpu->sm[asking->who.sm].warp[asking->who.warp].pending &= ~((uint64_t)1 << asking->who.number);
	if (is_new && !(gpu_mshr_is_there(gpu) && gpu_mshr_is_coming(asking->block, asking->page)))
		gpu_fault_raise(gpu, asking->time_ns - gpu->model->walk_ns, &asking->who, page, UVMP_RIGHT_NONE);
}

static int by_time(const void *a, const void *b)
{
	const struct asking *left = a, *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	if (left->who.sm != right->who.sm)
		return left->who.sm < right->who.sm ? -1 : 1;
	if (left->who.warp != right->who.warp)
		return left->who.warp < right->who.warp ? -1 : 1;
	return (left->who.number > right->who.number) - (left->who.number < right->who.number);
}

void gpu_remote_answer(struct gpu *gpu, uint64_t until_ns)
{
	const struct gpu_listener *listener = &gpu->listener;
	size_t answered = 0;

	if (gpu->asking_count == 0)
		return;
	qsort(gpu->asking, gpu->asking_count, sizeof(*gpu->asking), by_time);
	for (; answered < gpu->asking_count && gpu->asking[answered].time_ns <= until_ns; answered++) {
		struct asking *asking = &gpu->asking[answered];
		uint64_t page = (asking->block->shape.start >> gpu->page_shift) + asking->page;

		if ((gpu_mshr_is_there(gpu) && (gpu_mshr_holds(gpu, page) || gpu_mshr_is_coming(asking->block, asking->page))) ||
		    (listener->miss &&
		     listener->miss(listener->context, asking->block, asking->page, asking->is_write)))
			fault(gpu, asking, page);
		else
			cross(gpu, asking);
	}
	wake_crossed(gpu, answered);
	gpu->asking_count -= answered;
	memmove(gpu->asking, gpu->asking + answered, gpu->asking_count * sizeof(*gpu->asking));
}
