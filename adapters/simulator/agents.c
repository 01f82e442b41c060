/* Stalled agents: see agents.h.
 *
 * Each stalled agent is in the list of its block, so that a change of the block finds it. It is also in one of two places:
 * in `written`, if its fault was written since the last replay, else in a heap by stall. At a replay the faults of the
 * heap are written first, then those of the agents in `written`; agents whose fault finds no room are in the heap
 * afterwards. */
#include "agents.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "engine_setup.h"
#include "host.h"

/* -- room -- */

bool agents_grow(struct agents *a, uint32_t index)
{
	uint32_t count = a->count ? a->count : 64u;

	while (count <= index)
		count *= 2u;
	if (!ARRAY_RESIZE(a->agent, a->count, count) || !ARRAY_RESIZE(a->unwritten, a->count, count) ||
	    !ARRAY_RESIZE(a->written, a->count, count) || !ARRAY_RESIZE(a->before, a->count, count))
		return false;
	a->count = count;
	return true;
}

void agents_close(struct agents *a)
{
	free(a->agent);
	free(a->unwritten);
	free(a->written);
	free(a->before);
	free(a->changed);
}

/* -- the heap of agents whose fault is not written yet -- */

static void put(struct agents *a, uint32_t place, uint32_t index)
{
	a->unwritten[place] = index;
	a->agent[index].unwritten = place + 1u;
}

static uint64_t stall_at(const struct agents *a, uint32_t place)
{
	return a->agent[a->unwritten[place]].stall;
}

/* Finds the agent its place, from `place` upwards or downwards. */
static void settle(struct agents *a, uint32_t place, uint32_t index)
{
	uint64_t stall = a->agent[index].stall;

	while (place > 0 && stall_at(a, (place - 1u) / 2u) > stall) {
		put(a, place, a->unwritten[(place - 1u) / 2u]);
		place = (place - 1u) / 2u;
	}
	for (;;) {
		uint32_t child = 2u * place + 1u;

		if (child + 1u < a->unwritten_count && stall_at(a, child + 1u) < stall_at(a, child))
			child++;
		if (child >= a->unwritten_count || stall_at(a, child) > stall)
			break;
		put(a, place, a->unwritten[child]);
		place = child;
	}
	put(a, place, index);
}

static void heap_add(struct agents *a, uint32_t index)
{
	uint32_t place = a->unwritten_count++;

	put(a, place, index);
	settle(a, place, index);
}

static void heap_remove(struct agents *a, uint32_t index)
{
	uint32_t place = a->agent[index].unwritten - 1u, last = a->unwritten[--a->unwritten_count];

	a->agent[index].unwritten = 0;
	if (last != index)
		settle(a, place, last);
}

/* -- faults -- */

/* False: the buffer is full. */
static bool write_fault(struct agents *a, struct uvmp_service *service, uint32_t index)
{
	const struct agent *agent = &a->agent[index];
	uint32_t right = right_on(agent->block, HOST_GPU, agent->page);
	struct uvmp_fault fault = {.address = agent->block->shape.start + (uint64_t)agent->page * PAGE_BYTES,
				   .aperture = UVMP_APERTURE_VID,
				   .utlb = index % SETUP_UTLBS,
				   .type = right == UVMP_RIGHT_NONE   ? UVMP_FAULT_INVALID_PTE
					   : right == UVMP_RIGHT_READ ? UVMP_FAULT_WRITE
								     : UVMP_FAULT_ATOMIC,
				   .access = (uint8_t)agent->access};

	if (uvmp_service_fault(service, HOST_GPU, &fault) != UVMP_OK)
		return false;
	a->written[a->written_count++] = (struct agent_turn){agent->stall, index};
	return true;
}

/* Asks for the lines of the block that the service of the fault reads, later. */
static void fetch_lines(const struct sim_block *block)
{
	__builtin_prefetch(&block->low[0], 1);
	__builtin_prefetch(&block->high[0], 1);
	__builtin_prefetch(&block->resident, 1);
	__builtin_prefetch(&block->touched, 1);
}

void agents_stall(struct agents *a, struct uvmp_service *service, uint32_t index, struct sim_block *block,
		  uint32_t page, enum uvmp_access access)
{
	struct agent *agent = &a->agent[index];

	*agent = (struct agent){.block = block,
				.page = page,
				.access = access,
				.stall = ++a->stalls,
				.is_stalled = true,
				.next = block->waiting};
	if (block->waiting != 0)
		a->agent[block->waiting - 1u].previous = index + 1u;
	block->waiting = index + 1u;
	a->stalled++;
	fetch_lines(block);
	if (!write_fault(a, service, index))
		heap_add(a, index);
}

void agents_report(struct agents *a, struct uvmp_service *service)
{
	while (a->unwritten_count > 0 && write_fault(a, service, a->unwritten[0]))
		heap_remove(a, a->unwritten[0]);
}

/* -- replays -- */

bool agents_see_change(struct agents *a, struct sim_block *block)
{
	if (block->waiting == 0 || (a->changed_count > 0 && a->changed[a->changed_count - 1u] == block))
		return true;
	if (!ARRAY_RESERVE(a->changed, a->changed_room, a->changed_count + 1u))
		return false;
	a->changed[a->changed_count++] = block;
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct agent_turn *x = a, *y = b;

	return x->stall < y->stall ? -1 : x->stall > y->stall;
}

/* Mostly they are in order. */
static void sort(struct agent_turn *turn, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		if (turn[i].stall < turn[i - 1u].stall) {
			qsort(turn, count, sizeof(*turn), compare);
			return;
		}
	}
}

static bool can_go_on(const struct agent *agent)
{
	return right_on(agent->block, HOST_GPU, agent->page) >= (uint32_t)uvmp_access_right(agent->access);
}

static void end_stall(struct agents *a, uint32_t index)
{
	struct agent *agent = &a->agent[index];

	if (agent->previous != 0)
		a->agent[agent->previous - 1u].next = agent->next;
	else
		agent->block->waiting = agent->next;
	if (agent->next != 0)
		a->agent[agent->next - 1u].previous = agent->previous;
	if (agent->unwritten != 0)
		heap_remove(a, index);
	agent->is_stalled = false;
	a->stalled--;
}

uint32_t agents_release(struct agents *a, bool in_order, const struct agent_turn **went)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < a->changed_count; i++) {
		for (uint32_t at = a->changed[i]->waiting; at != 0;) {
			const struct agent *agent = &a->agent[at - 1u];

			if (can_go_on(agent)) {
				a->before[count++] = (struct agent_turn){agent->stall, at - 1u};
				end_stall(a, at - 1u);
			}
			at = agent->next;
		}
	}
	a->changed_count = 0;
	if (in_order)
		sort(a->before, count);
	*went = a->before;
	return count;
}

void agents_fault_again(struct agents *a, struct uvmp_service *service)
{
	struct agent_turn *turn = a->written;
	uint32_t count = 0;

	for (uint32_t i = 0; i < a->written_count; i++)
		if (a->agent[turn[i].agent].is_stalled)
			turn[count++] = turn[i];
	a->written = a->before;
	a->before = turn;
	a->written_count = 0;
	agents_report(a, service);
	if (a->unwritten_count == 0)
		sort(turn, count);
	for (uint32_t i = 0; i < count; i++)
		if (a->unwritten_count > 0 || !write_fault(a, service, turn[i].agent))
			heap_add(a, turn[i].agent);
}
