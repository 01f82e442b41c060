/* The queue of actions that the engine has decided and the host has not completed yet.
 *
 * Actions are decided in groups. The next group begins when all actions of the group before are completed;
 * until then the results of that group can be read. */
#include "../base/debug_internal.h"
#include "arena_internal.h"
#include "queue_internal.h"

/* Empties the fields that the kind may leave out. The sets of cuts and subtrees are empty in a slot that no COPY and no
 * POPULATE has used. */
static void clear(struct uvmp_action *a)
{
	if (action_has_transfers(a)) {
		uvmpi_mask_zero(&a->cuts);
		uvmpi_mask_zero(&a->subtrees);
	}
	a->right = a->victim = 0;
	a->is_update = false;
	a->status = 0;
	a->count = a->detail = 0;
	a->ticket = a->offset = a->until_ns = 0;
	a->for_address = 0;
	a->faulted = a->present = a->throttles = 0;
}

/* Names the block, or none. */
static void name_block(const struct uvmp_service *s, handle h, struct uvmp_action *a)
{
	uint64_t space = 0;
	uvmp_addr address = 0;
	uint32_t page_bytes = 0;

	if (h != 0) {
		const struct block *b = block_at(s, h);

		space = space_of(s, b)->id;
		address = b->start;
		page_bytes = s->page_bytes;
	}
	a->space = space;
	a->address = address;
	a->page_bytes = page_bytes;
}

static inline struct uvmp_action *add(struct uvmp_service *s, enum uvmp_action_kind kind, enum uvmp_cause cause,
				      handle h)
{
	struct uvmp_action *a;
	uint32_t index;

	uvmpi_queue_begin_group(s);
	index = s->actions;
	UVMPI_ASSERT(index + 1u < UVMP_SERVICE_PENDING_MAX);
	a = &s->action[index];
	s->done[index] = 0;
	s->actions += index + 1u < UVMP_SERVICE_PENDING_MAX;
	clear(a);
	a->id = s->base_id + index;
	a->after = index == 0 ? 0 : a->id - 1u;
	a->time_ns = s->now_ns;
	a->kind = (uint8_t)kind;
	a->cause = (uint8_t)cause;
	a->from = a->to = UVMP_PROC_NONE;
	a->batch = s->batch;
	name_block(s, h, a);
	return a;
}

struct uvmp_action *uvmpi_queue_with(struct uvmp_service *s, enum uvmp_action_kind kind, enum uvmp_cause cause,
				     handle h)
{
	return add(s, kind, cause, h);
}

struct uvmp_action *uvmpi_queue(struct uvmp_service *s, enum uvmp_action_kind kind, enum uvmp_cause cause,
				handle h, const uvmp_mask *pages)
{
	struct uvmp_action *a = add(s, kind, cause, h);

	if (pages != NULL)
		a->pages = *pages;
	else
		uvmpi_mask_zero(&a->pages);
	return a;
}

enum uvmp_status uvmpi_queue_status(const struct uvmp_service *s)
{
	uint32_t i = 0;

	if (!s->has_failed)
		return UVMP_OK;
	while (action_result(s, i) == UVMP_OK) /* ends: some action of the group failed */
		i++;
	return action_result(s, i);
}
