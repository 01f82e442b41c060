/* The queue of actions that the engine has decided and the host has not completed yet.
 *
 * Actions are decided in groups. The next group begins when all actions of the group before are completed;
 * until then the results of that group can be read. */
#include "arena_internal.h"
#include "queue_internal.h"

bool uvmp_service_is_valid(const struct uvmp_service *s)
{
	return s && s->magic == MAGIC && s->segments >= 1u && s->segments <= SEGMENTS_MAX &&
	       s->handed <= s->actions && s->completed <= s->handed && s->actions <= UVMP_SERVICE_PENDING_MAX;
}

void uvmpi_queue_begin_group(struct uvmp_service *s)
{
	if (!s->is_drained)
		return;
	s->base_id += s->actions;
	s->actions = s->handed = s->completed = 0;
	s->is_drained = false;
}

struct uvmp_action *uvmpi_queue(struct uvmp_service *s, enum uvmp_action_kind kind, enum uvmp_cause cause,
				handle h, const uvmp_mask *pages)
{
	struct uvmp_action *a;

	uvmpi_queue_begin_group(s);
	a = &s->action[s->actions];
	s->done[s->actions] = 0;
	s->actions += s->actions + 1u < UVMP_SERVICE_PENDING_MAX; /* the bounds of each part keep below */
	*a = (struct uvmp_action){.id = s->base_id + (uint64_t)(a - s->action),
				  .time_ns = s->now_ns,
				  .kind = (uint8_t)kind,
				  .cause = (uint8_t)cause,
				  .from = UVMP_PROC_NONE,
				  .to = UVMP_PROC_NONE,
				  .batch = s->batch};
	a->after = a == s->action ? 0 : a->id - 1u;
	if (h != 0) {
		const struct block *b = block_at(s, h);

		a->space = space_of(s, b)->id;
		a->address = b->start;
		a->page_bytes = s->page_bytes;
	}
	if (pages)
		a->pages = *pages;
	return a;
}

enum uvmp_status uvmpi_queue_status(const struct uvmp_service *s)
{
	for (uint32_t i = 0; i < s->actions; i++) {
		if (action_result(s, i) != UVMP_OK)
			return action_result(s, i);
	}
	return UVMP_OK;
}
