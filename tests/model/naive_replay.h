/* naive_replay.h: the bottom half as straight-line code that calls the host back, where the core is a machine that the host
 * calls. */
#ifndef NAIVE_REPLAY_H
#define NAIVE_REPLAY_H

#include "uvmpolicy/replay.h"

/* Performs one action and says how it went. */
typedef struct uvmp_replay_event naive_perform(void *host, enum uvmp_replay_action_kind kind, bool update_put);

struct naive_replay {
	uint32_t batch_id;
	bool is_prefetch_enabled; /* start with true */
	uint64_t disabled_since_ns;
};

/* Runs one bottom half to its end. The status is its result. */
enum uvmp_status naive_replay_run(struct naive_replay *gpu, const struct uvmp_replay_params *params,
				  naive_perform *perform, void *host);

#endif
