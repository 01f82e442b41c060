/* Groups of actions of the naive model. */
#include "naive_service_internal.h"

#include <string.h>

struct uvmp_action *naive_emit(struct naive_service *n, enum uvmp_action_kind kind, enum uvmp_cause cause)
{
	struct uvmp_action *action = &n->group[n->actions++];

	memset(action, 0, sizeof(*action));
	action->id = ++n->id;
	action->after = n->actions == 1 ? 0 : action->id - 1;
	action->time_ns = n->now;
	action->kind = (uint8_t)kind;
	action->cause = (uint8_t)cause;
	action->from = action->to = NONE;
	action->batch = n->batch;
	return action;
}

struct uvmp_action *naive_emit_pages(struct naive_service *n, enum uvmp_action_kind kind,
                                      enum uvmp_cause cause, const struct block *b, const bool *pages)
{
	struct uvmp_action *action = naive_emit(n, kind, cause);

	action->space = b->space;
	action->address = b->start;
	action->page_bytes = n->page_bytes;
	naive_pack(pages, &action->pages);
	return action;
}

/* A page of a copy that has failed. */
bool naive_has_failed_to_move(const struct naive_service *n, uint32_t k, uint32_t i)
{
	return uvmp_mask_test(&n->group[k].pages, i) && !uvmp_mask_test(&n->moved[k], i);
}

/* Performs all actions of the group. Returns the first status other than UVMP_OK, or UVMP_OK. */
enum uvmp_status naive_perform_group(struct naive_service *n)
{
	enum uvmp_status status = UVMP_OK;
	uint32_t actions = n->actions;

	n->performed = 0;
	if (actions == 0)
		return UVMP_OK;
	memset(n->status, 0, actions * sizeof(*n->status));
	memset(n->moved, 0, actions * sizeof(*n->moved));
	n->host_group(n->host, n->group, actions, n->status, n->moved);
	n->actions = 0;
	n->performed = actions;
	for (uint32_t i = 0; i < actions; i++)
		if (status == UVMP_OK)
			status = n->status[i];
	return status;
}

void naive_emit_throttle(struct naive_service *n, struct block *b, uint32_t p, uint32_t i, uint64_t until_ns)
{
	bool page[PAGES] = {false};
	struct uvmp_action *action;

	for (uint32_t k = 0; k < n->actions; k++) /* of this walk: each page once */
		if (uvmp_mask_test(&n->group[k].pages, i))
			return;
	page[i] = true;
	action = naive_emit_pages(n, UVMP_ACTION_THROTTLE, UVMP_CAUSE_THRASHING, b, page);
	action->to = (uint8_t)p;
	action->until_ns = until_ns;
}

/* Nothing can be done about it. */
void naive_emit_cancel(struct naive_service *n, uint32_t gpu, uint64_t space, uvmp_addr address,
                   enum uvmp_cause cause, uint8_t mode, bool has_pages)
{
	struct block *b = naive_find_block(n, space, address);
	struct uvmp_action *action;
	bool page[PAGES] = {false};

	if (b != NULL && has_pages) {
		page[(address - b->start) / n->page_bytes] = true;
		action = naive_emit_pages(n, UVMP_ACTION_CANCEL, cause, b, page);
	} else {
		action = naive_emit(n, UVMP_ACTION_CANCEL, cause);
		action->space = space;
		action->address = address;
		action->page_bytes = n->page_bytes;
	}
	action->to = (uint8_t)gpu;
	action->right = mode;
	action->status = (int8_t)(cause == UVMP_CAUSE_ERROR ? n->replay_error : UVMP_OK);
}
