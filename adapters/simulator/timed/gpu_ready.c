/* Ready warps; gpu_ready.h.
 *
 * The warps are in a list, ordered by the time at which they can continue; warps with equal times take turns.
 * The first warp takes a step and becomes ready again, after most others. So its new position is searched
 * from the end, and mostly no entry moves. */
#include "gpu_ready.h"

#include <string.h>

#include "gpu_idle.h"

/* The list has room for twice as many as can be ready, and reaches the end of that: back to the middle. */
static void close_up(const struct gpu *gpu, struct sm *sm)
{
	uint32_t first = gpu->warps_room / 2u;

	memmove(sm->ready + first, sm->ready + sm->first, sm->count * sizeof(*sm->ready));
	sm->first = first;
}

/* The first place behind all that are ready at ready_ns. */
static uint32_t place_behind(const struct sm *sm, uint64_t ready_ns)
{
	uint32_t low = sm->first, high = sm->first + sm->count;

	while (low < high) {
		uint32_t middle = (low + high) / 2u;

		if (sm->ready[middle].ready_ns <= ready_ns)
			low = middle + 1u;
		else
			high = middle;
	}
	return low;
}

/* Makes a free place in the list, which is not at its end, by moving the shorter part of it. */
static uint32_t free_place(struct sm *sm, uint64_t ready_ns)
{
	uint32_t at = place_behind(sm, ready_ns), before = at - sm->first, behind = sm->count - before;

	if (sm->first == 0 || behind < before) {
		memmove(sm->ready + at + 1u, sm->ready + at, behind * sizeof(*sm->ready));
		return at;
	}
	memmove(sm->ready + sm->first - 1u, sm->ready + sm->first, before * sizeof(*sm->ready));
	sm->first--;
	return at - 1u;
}

void gpu_ready_find_soonest(struct gpu *gpu)
{
	gpu->soonest_ns = GPU_NEVER;
	for (uint32_t i = 0; i < gpu->runs; i++) {
		const struct sm *sm = &gpu->sm[i];

		if (sm->count != 0 && sm->ready[sm->first].ready_ns < gpu->soonest_ns)
			gpu->soonest_ns = sm->ready[sm->first].ready_ns;
	}
	gpu_idle_find_soonest(gpu);
}

void gpu_ready_add(struct gpu *gpu, struct sm *sm, uint32_t warp, uint64_t ready_ns)
{
	uint32_t at;

	if (sm->first + sm->count == 2u * gpu->warps_room)
		close_up(gpu, sm);
	at = sm->first + sm->count;
	if (sm->count != 0 && sm->ready[at - 1u].ready_ns > ready_ns)
		at = free_place(sm, ready_ns);
	sm->ready[at] = (struct ready){ready_ns, warp};
	sm->count++;
	if (ready_ns < gpu->soonest_ns && sm < gpu->sm + gpu->runs)
		gpu->soonest_ns = ready_ns;
}
