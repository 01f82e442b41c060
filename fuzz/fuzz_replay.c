/* Fuzzing of the bottom half: bytes give the parameters and then the host's answers, one byte or a few each;
 * the naive model gets the same answers and must ask for the same actions.
 *
 * Bytes 0..5: policy (0..4) + 8 with quirks, ratio, max_batches, max_throttled, max_batch (times 2), lapse in
 * ms. An answer: bit 0 error, bit 1 stale / throttled, bit 2 fatal, bit 3 last bin, bit 4 no bin,
 * bits 5..7 time to pass in ms; then for a fetch one byte of raw faults, for servicing one byte of duplicates
 * and one of invalid prefetches. Behind the end of the input the buffer is empty and all goes well, so every
 * bottom half ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/naive_replay.h"

#define HEADER    6u
#define INPUT_MAX 4096u
#define ROUNDS    32u
#define LOG_MAX   (INPUT_MAX + 64u)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct host {
	const uint8_t *data;
	size_t size, at;
	uint64_t now_ns;
	uint32_t actions; /* of this bottom half */
	uint8_t log[LOG_MAX];
};

static void fail(const char *what)
{
	fprintf(stderr, "fuzz_replay: not true: %s\n", what);
	abort();
}

static uint8_t next(struct host *host)
{
	return host->at < host->size ? host->data[host->at++] : 0;
}

static struct uvmp_replay_event perform(void *context, enum uvmp_replay_action_kind kind, bool update_put)
{
	struct host *host = context;
	struct uvmp_replay_event event = {.kind = UVMP_REPLAY_EVENT_DONE};
	bool is_over = host->at >= host->size;
	uint8_t bits = next(host);

	if (host->actions == LOG_MAX)
		fail("a bottom half ends");
	host->log[host->actions++] = (uint8_t)(kind + (update_put ? 16 : 0));
	host->now_ns += (uint64_t)(bits >> 5) * 1000000u;
	event.now_ns = host->now_ns;
	event.status = (bits & 1u) != 0 ? UVMP_ERR_RETRY : UVMP_OK;
	if (kind == UVMP_REPLAY_FETCH) {
		event.kind = UVMP_REPLAY_EVENT_FETCHED;
		event.cached = next(host);
	} else if (kind == UVMP_REPLAY_PREPROCESS) {
		event.kind = UVMP_REPLAY_EVENT_PREPROCESSED;
		event.is_stale = (bits & 2u) != 0;
	} else if (kind == UVMP_REPLAY_SERVICE) {
		event.kind = UVMP_REPLAY_EVENT_SERVICED;
		event.has_throttled = (bits & 2u) != 0;
		event.has_fatal = (bits & 4u) != 0;
		event.is_last = (bits & 8u) != 0 || is_over;
		event.is_none = (bits & 16u) != 0;
		event.duplicates = next(host);
		event.invalid_prefetches = next(host);
	}
	return event;
}

static enum uvmp_status run_core(const struct uvmp_replay_params *params, struct uvmp_replay_state *state,
                                 struct host *host)
{
	struct uvmp_replay_action action;

	if (uvmp_replay_start(params, state, &action) != UVMP_OK)
		fail("an idle machine starts");
	while (action.kind != UVMP_REPLAY_STOP) {
		struct uvmp_replay_event event = perform(host, action.kind, action.update_put);

		if (uvmp_replay_step(params, state, &event, &action) != UVMP_OK ||
		    !uvmp_replay_is_valid(state))
			fail("the answer is taken");
	}
	return action.status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct host core, model;
	struct naive_replay naive = {0, true, 0};
	struct uvmp_replay_params params;
	struct uvmp_replay_state state;

	if (size < HEADER || size > INPUT_MAX)
		return 0;
	params = (struct uvmp_replay_params){
	        .policy = (enum uvmp_replay_policy)(data[0] % 8u % 6u),
	        .quirks = (data[0] & 8u) != 0,
	        .update_put_ratio = data[1],
	        .max_batches = data[2],
	        .max_throttled = data[3],
	        .max_batch = data[4] * 2u,
	        .prefetch_lapse_ms = data[5],
	};
	core.data = model.data = data;
	core.size = model.size = size;
	core.at = model.at = HEADER;
	core.now_ns = model.now_ns = 0;
	uvmp_replay_init(&state);
	for (uint32_t round = 0; round < ROUNDS && core.at < size; round++) {
		core.actions = model.actions = 0;
		if (run_core(&params, &state, &core) != naive_replay_run(&naive, &params, perform, &model))
			fail("same result as the model");
		if (core.actions != model.actions || memcmp(core.log, model.log, core.actions) != 0)
			fail("same actions as the model");
		if (state.batch_id != naive.batch_id ||
		    state.prefetch_faults.is_enabled != naive.is_prefetch_enabled ||
		    state.prefetch_faults.disabled_since_ns != naive.disabled_since_ns)
			fail("same state as the model");
	}
	return 0;
}
