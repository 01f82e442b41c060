/* The order of events: what the simulator reported, the ends of actions, times of the engine. */
#include "host_internal.h"

/* -- the group of actions -- */

static void write_log(struct uvmp_host *h, const struct uvmp_action *a)
{
	char text[UVMP_ACTION_TEXT_MAX];

	if (h->options.log == NULL)
		return;
	(void)uvmp_action_print(a, text, sizeof(text));
	h->options.log(h->options.user, text);
}

/* The next action; a full arena grows. UVMP_ERR_ARENA: memory is short. */
static enum uvmp_status next_action(struct uvmp_host *h, const struct uvmp_action **a)
{
	enum uvmp_status status = uvmp_service_next(h->service, h->clock_ns, a);

	while (status == UVMP_ERR_ARENA && hostkit_grow_engine(h))
		status = uvmp_service_next(h->service, h->clock_ns, a);
	if (status == UVMP_ERR_ARENA)
		(void)hostkit_be_short(h);
	return status;
}

/* Fetches the next group, if the engine has one. A pause holds bottom halves back, but no requests. */
static bool fetch(struct uvmp_host *h)
{
	const struct uvmp_action *a;

	if (h->paused_until_ns <= h->clock_ns)
		h->paused_until_ns = 0;
	if (h->paused_until_ns != 0 && h->requests == h->napping)
		return false;
	hostkit_report(h);
	while (h->actions < UVMP_SERVICE_PENDING_MAX && next_action(h, &a) == UVMP_OK) {
		h->action[h->actions++] = (struct hostkit_action){.action = a, .id = a->id, .after = a->after};
		h->actions_left++;
		write_log(h, a);
	}
	h->group += h->actions != 0;
	return h->actions != 0;
}

static bool has_ended(const struct uvmp_host *h, uint64_t id)
{
	uint64_t first = h->action[0].id;

	return id < first || id - first >= h->actions || h->action[id - first].state == HOSTKIT_ENDED;
}

/* The end of a running action; HOSTKIT_NEVER: the simulator reports it. */
static uint64_t end_of(const struct hostkit_action *act)
{
	return act->state != HOSTKIT_RUNNING || act->pieces != 0 ? HOSTKIT_NEVER : act->end_ns;
}

/* True: the state of the action has changed. */
static bool advance(struct uvmp_host *h, uint32_t index)
{
	struct hostkit_action *act = &h->action[index];
	bool is_some = false;

	if (act->state == HOSTKIT_WAITING && has_ended(h, act->after))
		is_some = hostkit_begin(h, index);
	if (end_of(act) > h->clock_ns)
		return is_some;
	hostkit_end(h, index);
	hostkit_report(h);
	h->actions_left--;
	return true;
}

/* Begins and ends the actions that are due. In a chain each waits for the one before. */
static bool advance_group(struct uvmp_host *h)
{
	bool is_some = false;

	for (uint32_t i = 0; i < h->actions && !h->is_short; i++)
		is_some |= advance(h, i);
	if (h->actions_left == 0 && h->actions != 0) {
		h->actions = 0;
		h->first_piece_id += h->pieces;
		h->pieces = 0;
	}
	return is_some;
}

/* -- time -- */

/* Takes up what the simulator has reported until now. */
static bool take_events(struct uvmp_host *h)
{
	bool is_some = false;

	while (h->inbox.count != 0 && h->inbox.event[h->inbox.first].time_ns <= h->clock_ns) {
		struct hostkit_event event = hostkit_fifo_pop(&h->inbox);

		is_some = true;
		if (event.kind == HOSTKIT_FAULT) {
			hostkit_stall(h, &event);
			continue;
		}
		h->counts.cpu_faults += event.kind == HOSTKIT_CPU_FAULT;
		hostkit_fifo_push(&h->queued, &event);
	}
	return is_some;
}

/* All that is due at the present time. */
static void work(struct uvmp_host *h)
{
	bool is_some = true;

	while (is_some && !h->is_short) {
		is_some = take_events(h);
		is_some |= hostkit_submit(h);
		is_some |= advance_group(h);
		if (h->actions == 0 && !h->is_short)
			is_some |= fetch(h);
	}
}

/* The next time at which something is due. */
static uint64_t next_time(const struct uvmp_host *h)
{
	uint64_t next = HOSTKIT_NEVER;

	if (h->inbox.count != 0)
		next = h->inbox.event[h->inbox.first].time_ns;
	for (uint32_t i = 0; i < h->actions; i++)
		next = hostkit_sooner(next, end_of(&h->action[i]));
	next = hostkit_sooner(next, hostkit_retry_ns(h));
	if (h->paused_until_ns != 0)
		next = hostkit_sooner(next, h->paused_until_ns);
	else if (h->actions == 0)
		next = hostkit_sooner(next, uvmp_service_wakeup_ns(h->service));
	return hostkit_later(next, h->clock_ns + 1u); /* what is due has been done */
}

uint64_t uvmp_host_run(struct uvmp_host *h, uint64_t now_ns)
{
	uint64_t next;

	if (h == NULL)
		return HOSTKIT_NEVER;
	if (h->is_running) {
		(void)hostkit_fail(h, UVMP_ERR_STATE, "uvmp_host_run: called from a callback");
		return HOSTKIT_NEVER;
	}
	h->is_running = true;
	h->is_short = false;
	for (;;) {
		work(h);
		next = next_time(h);
		if (h->is_short || next > now_ns || next == HOSTKIT_NEVER)
			break;
		h->clock_ns = next;
	}
	if (now_ns == HOSTKIT_NEVER)
		now_ns = h->clock_ns;
	if (h->is_short)
		next = hostkit_after(hostkit_later(h->clock_ns, now_ns), h->options.memory_retry_ns);
	else
		h->clock_ns = hostkit_later(h->clock_ns, now_ns);
	h->latest_ns = hostkit_later(h->latest_ns, hostkit_later(h->clock_ns, now_ns));
	h->next_ns = next;
	h->is_running = false;
	return next;
}

uint64_t uvmp_host_next_ns(const struct uvmp_host *h)
{
	return h == NULL ? HOSTKIT_NEVER : h->next_ns;
}
