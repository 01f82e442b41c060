/* Kind "replay": the bottom half over scripts of what the fault buffer offers next.
 *
 *   case NAME policy=batch ratio=50 max_batches=20 max_throttled=5 max_batch=256 lapse_ms=1000
 *   batch t=1 cached=256 dups=0 invalid=0 blocks=2 fatal=none throttled=0 stale=0 fail=none
 *                 => do=start,fetch,block,block,replay
 *   empty t=2     => do=fetch,stop id=1 prefetch=on
 *
 * A line plays the host of the machine until the machine stops or wants to fetch what the next line brings.
 */
#include <stdlib.h>
#include <string.h>

#include "vec_kind.h"
#include "uvmpolicy/replay.h"

/* A line of output may not exceed VEC_LINE_MAX; a block prints at most 13 bytes. */
#define BLOCKS_MAX 1024u
#define NEVER      UINT32_MAX

enum stage { FAIL_NONE, FAIL_FETCH, FAIL_PREPROCESS, FAIL_SERVICE, FAIL_CANCEL };

struct script {
	struct uvmp_replay_params params;
	struct uvmp_replay_state state;
	struct uvmp_replay_action action; /* what the machine waits for; STOP between bottom halves */
};

/* What one line offers, and how far it has been serviced. */
struct offer {
	uint64_t now_ns;
	uint32_t cached, duplicates, invalid, blocks, fatal;
	bool is_throttled, is_stale;
	enum stage fails;
	uint32_t serviced;
	bool is_fetched;
};

static void *open_script(struct vec_args *args, const char *case_name)
{
	static const char *const policies[] = {"block", "batch", "batch_flush", "once", "batch_wait", NULL};
	struct script *script = vec_zeros(1, sizeof(*script));

	(void)case_name;
	script->params.policy = (enum uvmp_replay_policy)vec_choice(args, "policy", policies);
	script->params.update_put_ratio = (uint32_t)vec_number(args, "ratio", 0, UINT32_MAX);
	script->params.max_batches = (uint32_t)vec_number(args, "max_batches", 0, UINT32_MAX);
	script->params.max_throttled = (uint32_t)vec_number(args, "max_throttled", 0, UINT32_MAX);
	script->params.max_batch = (uint32_t)vec_number(args, "max_batch", 0, UINT32_MAX);
	script->params.prefetch_lapse_ms = (uint32_t)vec_number(args, "lapse_ms", 0, UINT32_MAX);
	script->params.quirks = true;
	uvmp_replay_init(&script->state);
	if (!args->failed)
		return script;
	free(script);
	return NULL;
}

static uint32_t take_fatal(struct vec_args *args, uint32_t blocks)
{
	const char *text = vec_text(args, "fatal");
	uint64_t block = NEVER;

	if (text == NULL || strcmp(text, "none") == 0)
		return NEVER;
	if (!vec_scan_number(&text, blocks - 1u, &block) || *text != '\0')
		vec_fail(args, "fatal: none or a dispatch 0..%u is accepted", blocks - 1u);
	return (uint32_t)block;
}

static void take_batch(struct vec_args *args, struct offer *offer)
{
	static const char *const stages[] = {"none", "fetch", "preprocess", "service", "cancel", NULL};

	offer->cached = (uint32_t)vec_number(args, "cached", 1, UINT32_MAX);
	offer->duplicates = (uint32_t)vec_number(args, "dups", 0, UINT32_MAX);
	offer->invalid = (uint32_t)vec_number(args, "invalid", 0, UINT32_MAX);
	offer->blocks = (uint32_t)vec_number(args, "blocks", 1, BLOCKS_MAX);
	offer->fatal = take_fatal(args, offer->blocks);
	offer->is_throttled = vec_flag(args, "throttled");
	offer->is_stale = vec_flag(args, "stale");
	offer->fails = (enum stage)vec_choice(args, "fail", stages);
}

/* Does the action at hand fail, being the `stage` that the line names? */
static enum uvmp_status outcome(const struct offer *offer, enum stage stage)
{
	return offer->fails == stage ? UVMP_ERR_UNSUPPORTED : UVMP_OK;
}

static const char *fetch(struct offer *offer, struct uvmp_replay_event *event)
{
	offer->is_fetched = true;
	event->kind = UVMP_REPLAY_EVENT_FETCHED;
	event->cached = offer->cached;
	event->status = outcome(offer, FAIL_FETCH);
	return event->status == UVMP_OK ? "fetch" : "fetch-error";
}

/* A dead channel ends preprocessing before it could fail. */
static const char *preprocess(struct offer *offer, struct uvmp_replay_event *event)
{
	event->kind = UVMP_REPLAY_EVENT_PREPROCESSED;
	event->is_stale = offer->is_stale;
	if (offer->is_stale)
		return "flush-update,replay";
	event->status = outcome(offer, FAIL_PREPROCESS);
	return "";
}

static const char *service(struct offer *offer, struct uvmp_replay_event *event)
{
	event->kind = UVMP_REPLAY_EVENT_SERVICED;
	if (offer->serviced == 0) {
		event->duplicates = offer->duplicates;
		event->invalid_prefetches = offer->invalid;
		event->has_throttled = offer->is_throttled;
	}
	event->has_fatal = offer->serviced == offer->fatal;
	offer->serviced++;
	event->is_last = offer->serviced == offer->blocks;
	if (event->is_last)
		event->status = outcome(offer, FAIL_SERVICE);
	return "block";
}

/* Performs the step that the machine requests; returns the words to print. */
static const char *perform(const struct uvmp_replay_action *action, struct offer *offer,
                           struct uvmp_replay_event *event)
{
	switch (action->kind) {
	case UVMP_REPLAY_FETCH:
		return fetch(offer, event);
	case UVMP_REPLAY_PREPROCESS:
		return preprocess(offer, event);
	case UVMP_REPLAY_SERVICE:
		return service(offer, event);
	case UVMP_REPLAY_PUSH:
		return "replay";
	case UVMP_REPLAY_FLUSH:
		return action->update_put ? "flush-update" : "flush-cached";
	case UVMP_REPLAY_WAIT_REPLAY:
		return "wait-replay";
	case UVMP_REPLAY_WAIT_WORK:
		return "wait-work";
	case UVMP_REPLAY_CANCEL_PRECISE:
		event->status = outcome(offer, FAIL_CANCEL);
		return "cancel-precise";
	case UVMP_REPLAY_CANCEL_BATCH:
		return "cancel-batch";
	case UVMP_REPLAY_STOP:
		break;
	}
	return "stop";
}

static void put_word(struct vec_out *out, const char *word)
{
	if (*word != '\0')
		vec_printf(out, "%s%s", out->text[out->length - 1] == '=' ? "" : ",", word);
}

static void play(struct script *script, struct offer *offer, struct vec_out *out)
{
	vec_printf(out, "=> do=");
	if (script->action.kind == UVMP_REPLAY_STOP) {
		put_word(out, "start");
		(void)uvmp_replay_start(&script->params, &script->state, &script->action);
	}
	while (script->action.kind != UVMP_REPLAY_STOP) {
		struct uvmp_replay_event event = {.kind = UVMP_REPLAY_EVENT_DONE, .now_ns = offer->now_ns};

		if (script->action.kind == UVMP_REPLAY_FETCH && offer->is_fetched) {
			vec_printf(out, "\n");
			return;
		}
		put_word(out, perform(&script->action, offer, &event));
		(void)uvmp_replay_step(&script->params, &script->state, &event, &script->action);
	}
	vec_printf(out, ",stop id=%u prefetch=%s\n", script->state.batch_id,
	           script->state.prefetch_faults.is_enabled ? "on" : "off");
}

static void replay_line(void *state, const char *word, struct vec_args *args, struct vec_out *out)
{
	struct offer offer = {.fatal = NEVER};

	if (strcmp(word, "batch") != 0 && strcmp(word, "empty") != 0) {
		vec_fail(args, "step \"%.80s\" is not known; batch, empty are accepted", word);
		return;
	}
	offer.now_ns = vec_number(args, "t", 0, UINT64_MAX);
	if (*word == 'b')
		take_batch(args, &offer);
	if (!args->failed)
		play(state, &offer, out);
}

const struct vec_kind vec_replay = {"replay", true, open_script, free, replay_line};
