/* The queue of actions. */
#ifndef UVMPOLICY_QUEUE_INTERNAL_H
#define UVMPOLICY_QUEUE_INTERNAL_H

#include "../base/mask_internal.h"
#include "service_internal.h"

/* Is this an engine? Of the public functions that hosts call most. */
static inline bool service_is_valid(const struct uvmp_service *s)
{
	return s != NULL && s->magic == MAGIC;
}
/* How action number i of the group has ended. */
static inline enum uvmp_status action_result(const struct uvmp_service *s, uint32_t i)
{
	return (enum uvmp_status)(1 - (int)s->done[i]);
}

/* Adds the pages that COPY or POPULATE number i has not moved. */
static inline void action_add_failed(const struct uvmp_service *s, uint32_t i, uvmp_mask *failed)
{
	const struct uvmp_action *a = &s->action[i];

	if (action_result(s, i) == UVMP_OK)
		return;
	UVMPI_EACH_WORD(w)
		failed->word[w] |= a->pages.word[w] & ~a->cuts.word[w];
}

/* Forgets the results of the group before, if all its actions are completed. */
static inline void uvmpi_queue_begin_group(struct uvmp_service *s)
{
	if (!s->is_drained)
		return;
	s->base_id += s->actions;
	s->actions = s->handed = s->completed = 0;
	s->is_drained = s->has_failed = false;
}
/* Does the kind have transfers? Other kinds have no cuts and no subtrees. */
static inline bool action_has_transfers(const struct uvmp_action *a)
{
	return a->kind == UVMP_ACTION_COPY || a->kind == UVMP_ACTION_POPULATE;
}
/* A new action of the block (0: none) for the queue, filled with kind, cause, batch, time and block; never NULL.
 * It stays a draft until the next call: set its fields at once. `pages` may be NULL. Callers queue fewer than
 * UVMP_SERVICE_PENDING_MAX actions in a group, so that uvmpi_queue_pages always has a slot. An assertion checks this;
 * without assertions, an action too many would overwrite the last one, and no other memory. */
struct uvmp_action *uvmpi_queue(struct uvmp_service *s, enum uvmp_action_kind kind, enum uvmp_cause cause,
				handle block, const uvmp_mask *pages);
/* The same, whose pages the caller has written to uvmpi_queue_pages, or sets at once. */
struct uvmp_action *uvmpi_queue_with(struct uvmp_service *s, enum uvmp_action_kind kind, enum uvmp_cause cause,
				     handle block);
/* Where the pages of the next action belong. The results of the group before have been read. */
static inline uvmp_mask *uvmpi_queue_pages(struct uvmp_service *s)
{
	uvmpi_queue_begin_group(s);
	return &s->action[s->actions].pages;
}
/* First failure among the completed actions of the kinds that can fail; UVMP_OK. */
enum uvmp_status uvmpi_queue_status(const struct uvmp_service *s);

#endif
