/* naive_pmm.h: the driver's memory manager [driver: root-chunks, root-queues, chunk-allocation,
 * victim-choice, chunk-free] the long way: every chunk that could exist has a record, and lists are nothing
 * but stamps that say when a chunk joined. */
#ifndef NAIVE_PMM_H
#define NAIVE_PMM_H

#include "uvmpolicy/pmm.h"

#define NAIVE_PMM_ROOTS 12
#define NAIVE_PMM_NODES (1 + 32 + 512)
#define NAIVE_PMM_NO_QUEUE 3

enum naive_pmm_state { NAIVE_GONE, NAIVE_POOL, NAIVE_FREE, NAIVE_SPLIT, NAIVE_PINNED, NAIVE_ALLOCATED };

/* Node 0 is the root, 1..32 its 64 KiB chunks, 33..544 their 4 KiB chunks (of 16 KiB: each fourth). */
struct naive_pmm_node {
	enum naive_pmm_state state;
	bool is_zero;
	bool has_owner;
	uint32_t owner;
	int mark;	/* enum uvmp_chunk_mark */
	uint64_t stamp; /* FREE: when it joined its free list */
};

struct naive_pmm_root {
	enum uvmp_chunk_type type;
	bool in_eviction;
	int queue; /* 0..2, or NAIVE_PMM_NO_QUEUE */
	uint64_t stamp;
	struct naive_pmm_node node[NAIVE_PMM_NODES];
};

struct naive_pmm {
	struct uvmp_pmm_params params; /* roots at most NAIVE_PMM_ROOTS */
	uint64_t clock;
	struct naive_pmm_root root[NAIVE_PMM_ROOTS];
};

void naive_pmm_init(struct naive_pmm *n, const struct uvmp_pmm_params *params);

/* As the functions of pmm.h, for arguments that are not NULL. */
enum uvmp_status naive_pmm_alloc(struct naive_pmm *n, uint32_t type, uint32_t size, uint32_t block,
				 struct uvmp_chunk *chunk);
enum uvmp_status naive_pmm_unpin(struct naive_pmm *n, struct uvmp_chunk chunk);
enum uvmp_status naive_pmm_free(struct naive_pmm *n, struct uvmp_chunk chunk);
enum uvmp_status naive_pmm_mark(struct naive_pmm *n, struct uvmp_chunk chunk, uint32_t mark);
enum uvmp_status naive_pmm_touch(struct naive_pmm *n, struct uvmp_chunk chunk);
enum uvmp_status naive_pmm_evict_begin(struct naive_pmm *n, uint32_t type, uint32_t *root);
enum uvmp_status naive_pmm_evict_root(struct naive_pmm *n, uint32_t root);
enum uvmp_status naive_pmm_evict_next(struct naive_pmm *n, uint32_t root, struct uvmp_pmm_eviction *eviction,
				      bool *found);
enum uvmp_status naive_pmm_evict_end(struct naive_pmm *n, uint32_t root, uint32_t type, uint32_t size,
				     uint32_t block, struct uvmp_chunk *chunk);
enum uvmp_status naive_pmm_evict_abort(struct naive_pmm *n, uint32_t root);
enum uvmp_status naive_pmm_evict_release(struct naive_pmm *n, uint32_t root);

/* The k-th allocated chunk (modulo their number) in address order; false if there is none. */
bool naive_pmm_pick(const struct naive_pmm *n, uint32_t k, struct uvmp_chunk *chunk);
/* The k-th root in eviction likewise; `otherwise` if there is none. */
uint32_t naive_pmm_pick_evicting(const struct naive_pmm *n, uint32_t k, uint32_t otherwise);

/* Are all queues, free lists, counts and pool members of the two the same? */
bool naive_pmm_equals(const struct naive_pmm *n, const struct uvmp_pmm *pmm);

/* One step of a script, three bytes (what, how, for whom), taken by both. False if they differ in any answer
 * or afterwards in any list, or if uvmp_pmm_check fails. */
bool naive_pmm_step(struct naive_pmm *n, struct uvmp_pmm *pmm, const uint8_t step[3]);

/* A whole script from bytes: three for the parameters, then three a step. False if any step fails. */
bool naive_pmm_script(const uint8_t *data, size_t size);

#endif
