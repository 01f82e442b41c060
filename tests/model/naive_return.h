/* When do evicted pages return (uvmp_remote_pays)? Once more, from the rule alone: in bytes, with a flag for each part. */
#ifndef NAIVE_RETURN_H
#define NAIVE_RETURN_H

#include "uvmpolicy/counter.h"

struct naive_return {
	bool is_used[UVMP_REMOTE_PARTS];
	uint64_t remote_bytes; /* since the pages migrated last: accesses of 128 bytes, full units of 128 accesses */
};

void naive_return_add(struct naive_return *m, uint32_t parts, uint64_t accesses);
bool naive_return_pays(const struct naive_return *m, uint64_t bytes);
void naive_return_moved(struct naive_return *m);
/* Copies of these pages, and a block service, in bytes. */
uint64_t naive_return_cost(uint64_t bytes);

/* Do pages begin on the CPU (uvmp_remote_begins)? Once more: whole history since the last trial began. */
struct naive_start {
	uint64_t mapped, returned; /* bytes */
	uint64_t moving;	   /* blocks that still move */
};

bool naive_start_begins(struct naive_start *m, uint64_t bytes);

/* Likewise: a script on both, in which at most what is mapped returns. */
bool naive_start_compare(uint32_t (*draw)(void *source, uint32_t bound), bool (*is_over)(void *source), void *source);

/* A script of drawn operations on both, until `is_over`; true if they never differ. `draw` gives a number below its bound. */
bool naive_return_compare(uint32_t (*draw)(void *source, uint32_t bound), bool (*is_over)(void *source), void *source);

#endif
