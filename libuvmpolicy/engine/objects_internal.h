/* Objects of the arena, and elements of the tables: blocks with their states, ranges, address spaces, channels. */
#ifndef UVMPOLICY_OBJECTS_INTERNAL_H
#define UVMPOLICY_OBJECTS_INTERNAL_H

#include "uvmpolicy/counter.h"
#include "uvmpolicy/pmm.h"
#include "uvmpolicy/service.h"
#include "uvmpolicy/thrash.h"

/* Place of an object in the arena, in units of 16 bytes over all segments; 0: none. */
typedef uint32_t handle;

#define NO_INDEX   UINT32_MAX

/* One VABlock: 48 bytes. */
struct block {
	uvmp_addr start;
	uint64_t event_ns; /* thrashing, until there is a `thrash`: last event, */
	uint32_t range;	   /* slot */
	handle chain;	   /* next block of its hash bucket */
	handle range_next; /* next block of its range */
	handle residency;  /* first of its per-processor states */
	handle cold;
	handle thrash;
	uint16_t pages;
	uint16_t faults;   /* uvmp_prefetch_state.faults */
	uint8_t event_proc; /* and its processor */
	uint8_t last_proc; /* uvmp_prefetch_state.last_proc */
	bool is_touched;   /* some page was made resident once */
	uint8_t unused;
};

/* Residency of a block on one processor: 208 bytes. */
struct residency {
	uvmp_mask resident;
	uvmp_mask low, high; /* right of the processor on each page: enum uvmp_right as two bits */
	handle next;
	uint32_t memory;   /* whole block: root; small block: handle of a struct chunk_map; page-wise order: unit */
	uint8_t proc;
	bool has_memory;   /* `memory` means something */
	bool is_mapped;	   /* `low` or `high` may hold pages */
	/* remote=auto: the first fault mapped the pages on the CPU, and no page was evicted since */
	bool has_begun_there : 1;
	uint8_t remote : 5; /* 1 + tenant for which the block counts as remote (remote_idle.c); 0: it does not */
	struct uvmp_remote_use use; /* remote=auto: of pages on other processors */
};

/* Cold state: what few blocks have. */
struct cold {
	uvmp_mask duplicated, discarded;
	handle tree;
	handle counters; /* remote and runtime: struct counters */
	handle history;
	uint32_t unused;
};

/* Counted accesses of a block, by all GPUs, and its pages that have become hot. */
struct counters {
	struct uvmp_counter_tree tree;
	uvmp_mask hot;	     /* on the CPU, to come to `gpu`; empty: the block is not in the list of s->hot_first */
	handle before, next; /* blocks of that list; 0: none */
	uint32_t gpu;
};

/* Past of a block, for controllers, prefetchers and eviction orders. Private states of the block follow: those of the
 * prefetchers, then that of the controller that changes the density threshold. */
struct history {
	uvmp_mask evicted; /* from some GPU, once */
	uvmp_mask touched; /* since they came to `gpu`, and still there */
	uint8_t gpu;	   /* 0: none yet */
};

/* Chunks of a block below 2 MiB on one GPU. */
struct chunk_map {
	uvmp_mask backed; /* pages with a chunk */
	struct uvmp_chunk chunk[UVMP_MASK_BITS]; /* by first page of the chunk */
};

/* Thrashing state of a block; the array of pages follows. */
struct thrash {
	struct uvmp_thrash_block block;
};

struct address_space {
	uint64_t id;
	uint32_t users; /* ranges and channels; 0: the slot is free */
	struct uvmp_thrash_space thrash;
};

/* remote=auto: blocks of a range that began on the CPU before memory was full (remote_auto.c). All zero: none so far. */
struct early_starts {
	uint32_t batch;	 /* of faults of `gpu`, in which the oldest open block began */
	uint16_t open;	 /* blocks of `gpu` whose use is not known yet */
	uint16_t more;	 /* so many may be open in addition to the first ones */
	uint16_t faults; /* pages that faulted together in unused blocks, */
	uint8_t blocks;	 /* and these blocks; both of the latest ones */
	uint8_t gpu;	 /* that uses the open blocks; means nothing while none is open */
};

struct range {
	uvmp_addr start, last; /* bytes */
	uvmp_addr origin;     /* start of the lowest piece that is left of the range that was added */
	uint64_t accessed_by;
	uint32_t space; /* slot */
	handle block;	/* first of its blocks */
	uint32_t next_free;
	uint8_t preferred;
	uint8_t duplication;
	uint8_t right;
	uint8_t home;
	bool is_used;	      /* a GPU has had a residency in one of its blocks */
	uint8_t pattern;      /* of the allocation, as the log was told: enum uvmp_pattern */
	uint32_t allocation; /* slot of that piece, which may be its own */
	struct uvmp_remote_start first_faults; /* remote=auto */
	struct early_starts early_starts;
	handle log; /* runtime: what was scheduled of the allocation, an array; 0: none, or it is another's */
};

struct instance {
	uint64_t key;
	uint32_t aperture, subcontext, gpu;
	uint32_t space; /* slot */
};

#endif
