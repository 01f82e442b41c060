/* [driver: bottom-half] line by line: one loop, each step calls the host and looks at the answer. */
#include "model/naive_replay.h"

enum uvmp_status naive_replay_run(struct naive_replay *gpu, const struct uvmp_replay_params *params,
                                  naive_perform *perform, void *host)
{
	uint32_t throttled = 0, batches = 0, replays = 0;
	uint32_t max_throttled = params->max_throttled, max_batches = params->max_batches;
	uint32_t ratio = params->update_put_ratio > 100 ? 100 : params->update_put_ratio;
	enum uvmp_replay_policy policy = params->policy;
	enum uvmp_status status = UVMP_OK;
	struct uvmp_replay_event e;

	if (policy > 4)
		policy = UVMP_REPLAY_BATCH_FLUSH;
	if (!params->quirks && max_throttled == 0)
		max_throttled = 1;
	if (!params->quirks && max_batches == 0)
		max_batches = 1;
	for (;;) {
		uint32_t cached, duplicates = 0, invalid = 0, limit;
		bool any_throttled = false, any_fatal = false;

		if (throttled >= max_throttled || batches >= max_batches)
			break;

		e = perform(host, UVMP_REPLAY_FETCH, false);
		status = e.status;
		cached = e.cached;
		if (status != UVMP_OK || cached == 0)
			break;
		gpu->batch_id++;

		e = perform(host, UVMP_REPLAY_PREPROCESS, false);
		status = e.status;
		if (status != UVMP_OK)
			break;
		if (e.is_stale) {
			replays++;
			continue;
		}

		do {
			e = perform(host, UVMP_REPLAY_SERVICE, false);
			status = e.status;
			duplicates += e.duplicates;
			invalid += e.invalid_prefetches;
			any_throttled |= e.has_throttled;
			any_fatal |= e.has_fatal;
			if (status == UVMP_OK && !e.is_none && policy == UVMP_REPLAY_BLOCK && !any_fatal) {
				struct uvmp_replay_event pushed = perform(host, UVMP_REPLAY_PUSH, false);

				e.now_ns = pushed.now_ns;
				status = pushed.status;
				if (status == UVMP_OK) {
					replays++;
					gpu->batch_id++;
				}
			}
		} while (status == UVMP_OK && !e.is_last && !e.is_none);

		limit = params->quirks ? params->max_batch : cached;
		if (gpu->is_prefetch_enabled && params->prefetch_lapse_ms > 0 &&
		    (uint64_t)invalid * 3 > (uint64_t)limit * 2) {
			gpu->is_prefetch_enabled = false;
			gpu->disabled_since_ns = e.now_ns;
		} else if (!gpu->is_prefetch_enabled &&
		           e.now_ns - gpu->disabled_since_ns >
		                   (uint64_t)params->prefetch_lapse_ms * 1000000) {
			gpu->is_prefetch_enabled = true;
			gpu->disabled_since_ns = 0;
		}

		if (status != UVMP_OK) {
			perform(host, UVMP_REPLAY_CANCEL_BATCH, false);
			break;
		}
		if (any_fatal) {
			status = perform(host, UVMP_REPLAY_WAIT_WORK, false).status;
			if (status == UVMP_OK)
				status = perform(host, UVMP_REPLAY_CANCEL_PRECISE, false).status;
			if (status != UVMP_OK)
				break;
			batches++;
			continue;
		}
		if (policy == UVMP_REPLAY_BATCH || policy == UVMP_REPLAY_BATCH_WAIT) {
			status = perform(host, UVMP_REPLAY_PUSH, false).status;
			if (status != UVMP_OK)
				break;
			replays++;
		}
		if (policy == UVMP_REPLAY_BATCH_WAIT) {
			status = perform(host, UVMP_REPLAY_WAIT_REPLAY, false).status;
			if (status != UVMP_OK)
				break;
		}
		if (policy == UVMP_REPLAY_BATCH_FLUSH) {
			status = perform(host, UVMP_REPLAY_FLUSH, duplicates * 100u > cached * ratio).status;
			if (status != UVMP_OK)
				break;
			status = perform(host, UVMP_REPLAY_PUSH, false).status;
			if (status != UVMP_OK)
				break;
			replays++;
			status = perform(host, UVMP_REPLAY_WAIT_REPLAY, false).status;
			if (status != UVMP_OK)
				break;
		}
		if (any_throttled)
			throttled++;
		batches++;
	}
	if ((status == UVMP_OK && policy == UVMP_REPLAY_ONCE) || replays == 0) {
		enum uvmp_status pushed = perform(host, UVMP_REPLAY_PUSH, false).status;

		if (params->quirks || status == UVMP_OK)
			status = pushed;
	}
	return status;
}
