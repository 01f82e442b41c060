/* collector.h: an observer that keeps what the pictures of a run show, in bounded memory: about 4 MiB for a run of any
 * length. Plain data, nothing that points: it may come from another process. */
#ifndef UVMSIM_COLLECTOR_H
#define UVMSIM_COLLECTOR_H

#include "grid.h"
#include "layout.h"
#include "observe.h"
#include "returns.h"
#include "uvmpolicy/service.h"

enum { COLLECTOR_TO_CPU = 0, COLLECTOR_TO_GPU, COLLECTOR_DIRECTIONS };

struct collector {
	struct grid grid;
	struct layout layout;
	struct histogram batch_faults;	 /* fetched in one batch */
	struct histogram batch_interval; /* between the beginnings of two batches */
	struct histogram copy_bytes[COLLECTOR_DIRECTIONS];
	struct returns returns;
	uint64_t cause_bytes[COLLECTOR_DIRECTIONS][UVMP_CAUSE_COUNT]; /* of managed pages */
	uint64_t zero_bytes, program_bytes[COLLECTOR_DIRECTIONS];
	uint64_t stalled; /* a kernel was on the GPU, and no warp could run */
	uint32_t page_bytes; /* 0: no page has moved */
	uint64_t events, batches, last_batch;
};

void collector_init(struct collector *collector);
struct observer collector_observer(struct collector *collector);

#endif
