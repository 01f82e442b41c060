/* Performs the engine's actions until it has none. Requests are taken between two actions. */
#include "emu_bottom.h"

#include <linux/timekeeping.h>

static void write_log(struct emu_bottom *b, const struct uvmp_action *a)
{
	size_t length;

	if (uvmp_action_print(a, b->line, UVMP_ACTION_TEXT_MAX) != UVMP_OK) {
		emu_broken(b->driver, "an action cannot be written into the log");
		return;
	}
	length = strlen(b->line);
	b->line[length++] = '\n';
	emu_text_add(&b->driver->log, b->line, length);
}

static enum uvmp_status next_action(struct emu_bottom *b, const struct uvmp_action **a)
{
	u64 began_ns = ktime_get_ns();
	enum uvmp_status status = uvmp_service_next(b->driver->service, b->now_ns, a);

	b->driver->stats.decide_ns += ktime_get_ns() - began_ns;
	return status;
}

static void complete_action(struct emu_bottom *b, const struct uvmp_action *a, enum uvmp_status status)
{
	u64 began_ns = ktime_get_ns();

	uvmp_service_complete_pages(b->driver->service, a->id, status, &b->moved);
	b->driver->stats.decide_ns += ktime_get_ns() - began_ns;
}

/* A request, or the bottom half of a GPU, has ended. */
static void end_operation(struct emu_bottom *b, const struct uvmp_action *a)
{
	if (a->ticket != 0) {
		emu_request_answer(b, a->ticket, (enum uvmp_status)a->status);
		return;
	}
	if (a->to != UVMP_CPU && a->to < EMU_PROCS)
		emu_gpu_of(b, a->to)->stats.bottom_halves++;
	emu_stalled_bottom_half_ended(b);
}

bool emu_pump(struct emu_bottom *b, bool is_until_done)
{
	const struct uvmp_action *a;
	enum uvmp_status status;

	emu_stalled_report(b);
	for (;;) {
		emu_engine_grow(b);
		status = next_action(b, &a);
		if (status == UVMP_ERR_ARENA) { /* nothing is lost: try again when there may be memory */
			b->paused_until_ns = emu_clock(b) + NSEC_PER_SEC;
			return false;
		}
		if (status != UVMP_OK)
			return true;
		write_log(b, a);
		complete_action(b, a, emu_perform(b->driver, a));
		emu_stalled_report(b);
		if (a->kind == UVMP_ACTION_DONE)
			end_operation(b, a);
		if (b->paused_until_ns != 0 && b->asked_count == 0)
			return false;
		if (a->kind == UVMP_ACTION_DONE && is_until_done)
			return true;
		emu_request_take(b);
		cond_resched();
	}
}
