/* record_events.h: events of a recorded GPU, between the files that collect, sort and write them. */
#ifndef UVMP_CUDA_RECORD_EVENTS_H
#define UVMP_CUDA_RECORD_EVENTS_H

#include "record.h"

#define RECORD_PAGE  UINT64_C(4096)
#define RECORD_BLOCK UINT64_C(2097152)

enum record_kind { RECORD_RANGE = 0, RECORD_FREE, RECORD_KERNEL, RECORD_GPU_FAULT, RECORD_CPU_FAULT };

struct record_event {
	uint64_t start, end, address;
	uint64_t bytes; /* of a range; of the range that is released, once record_memory_open has run; 0: not known */
	size_t order;	/* of arrival: events of one time keep it */
	enum record_kind kind;
	char access;
	bool is_final; /* of a release: no later event uses the memory */
	char *name;
};

struct cuda_record {
	struct record_event *event;
	size_t count, room;
	uint64_t lost, dropped;
};

#endif
