/* What a thread of the driver tells observers; watch.h. */
#include "watch.h"

#include "../observe/host_events.h"

static const struct observers *observers_of(const struct thread *t)
{
	return t->system->host.params.run.observers;
}

static void watch_end_batch(struct thread *t)
{
	if (!t->is_batch_open)
		return;
	t->is_batch_open = false;
	t->batch.end = t->now_ns;
	observe_tell(observers_of(t), &t->batch);
}

void watch_begin_batch(struct thread *t, const struct uvmp_action *a)
{
	watch_end_batch(t);
	t->is_batch_open = observers_of(t) != NULL;
	t->batch = (struct observe_event){.kind = OBSERVE_BATCH,
					  .thread = t->number,
					  .start = t->now_ns,
					  .faults = a->faults,
					  .merged = a->merged_faults};
}

static void end_eviction(struct thread *t)
{
	if (!t->is_eviction_open)
		return;
	t->is_eviction_open = false;
	observe_tell(observers_of(t), &t->eviction);
}

void watch_before(struct thread *t, const struct uvmp_action *a)
{
	bool begins = a->kind == UVMP_ACTION_EVICT && a->part == 0;

	if (observers_of(t) == NULL)
		return;
	if (begins || a->cause != UVMP_CAUSE_EVICTION)
		end_eviction(t);
	if (!begins)
		return;
	t->is_eviction_open = true;
	t->eviction = (struct observe_event){.kind = OBSERVE_EVICTION,
					     .thread = t->number,
					     .start = t->now_ns,
					     .end = t->now_ns,
					     .address = a->address,
					     .cause = a->cause};
}

static void extend_eviction(struct thread *t, const struct uvmp_action *a)
{
	if (a->cause == UVMP_CAUSE_EVICTION)
		t->eviction.end = t->now_ns;
}

void watch_after(struct thread *t, const struct uvmp_action *a, const struct host_target *target)
{
	if (observers_of(t) == NULL)
		return;
	extend_eviction(t, a);
	if (a->kind == UVMP_ACTION_DISCARD)
		host_events_discard(&t->system->host, a, target, t->now_ns);
	if (a->kind == UVMP_ACTION_REPLAY)
		observe_tell(observers_of(t), &(struct observe_event){.kind = OBSERVE_REPLAY,
								      .thread = t->number,
								      .start = t->end_ns - t->system->model->replay_ns,
								      .end = t->end_ns});
}

void watch_transfer(struct thread *t, const struct uvmp_action *a)
{
	if (observers_of(t) == NULL)
		return;
	if (a->cause != UVMP_CAUSE_EVICTION)
		end_eviction(t);
	extend_eviction(t, a);
	host_events_transfer(&t->system->host, t->number, t->start_ns, t->end_ns);
}

void watch_rest(struct thread *t)
{
	end_eviction(t);
	watch_end_batch(t);
}
