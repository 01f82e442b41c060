/* A backing store around another one that fails at random, leaving half of the work done, and that can be slow. */
#ifndef FLAKY_STORE_H
#define FLAKY_STORE_H

#include <stdatomic.h>
#include <stdint.h>

#include "store.h"

struct flaky_store {
	struct uvmp_pager_store store; /* for uvmp_pager_config.own_store, which owns all of it then */
	struct uvmp_pager_store *real;
	_Atomic uint32_t reads_fail, writes_fail; /* of 1000; 0: it works */
	_Atomic uint32_t delay_us;		  /* of each read and write */
	atomic_bool forks_fail;
	_Atomic uint64_t drawn, failed, calls;
	uint8_t *held; /* by page: it was written; NULL: there is no limit */
	uint64_t pages, most;
	_Atomic uint64_t count; /* of these */
	uint64_t seed;
};

/* Takes `real`. Works, without delay, until it is set otherwise. NULL: out of memory. */
struct flaky_store *flaky_store_around(struct uvmp_pager_store *real, uint64_t seed);

/* Of its `pages` at most `most` hold something at a time: a write beyond that is -ENOSPC. False: out of memory. */
bool flaky_store_limit(struct flaky_store *flaky, uint64_t pages, uint64_t most);

#endif
