/* UVM Smart's eviction once more, rule by rule [uvmsmart: victim-selection]: flat arrays of pages,
 * an insertion sort, recursive trees in bytes, floats where the original has floats. */
#ifndef NAIVE_SMART_EVICT_H
#define NAIVE_SMART_EVICT_H

#include <stdbool.h>
#include <stdint.h>

#define NAIVE_SMART_TREES 4
#define NAIVE_SMART_PAGES 1024

enum naive_smart_policy {
	NAIVE_LRU2M = 0,
	NAIVE_TBNE = 1,
	NAIVE_SL = 2,
	NAIVE_RANDOM4K = 3,
	NAIVE_LFU2M = 4,
	NAIVE_LRU4K = 5
};

struct naive_smart_tree {
	int start, pages;
	uint64_t valid[63]; /* bytes; node 0 is the root, 2i+1 and 2i+2 are the children of i */
	uint32_t count;     /* of the root; with one block the register, round trips above bit 26 */
	uint32_t leaf[32]; /* the blocks' registers */
	bool read[32], written[32];
};

struct naive_smart_entry {
	int addr, size; /* pages of the heap */
	uint64_t cycle;
	uint32_t counter, rw;
};

struct naive_smart_range {
	int addr, size;
	bool is_invalidate;
};

struct naive_smart {
	enum naive_smart_policy policy;
	int reserve;
	bool invalidate_clean, quirks;
	uint64_t total, free;
	struct naive_smart_tree tree[NAIVE_SMART_TREES];
	int trees, pages;
	bool valid[NAIVE_SMART_PAGES], dirty[NAIVE_SMART_PAGES], pinned[NAIVE_SMART_PAGES];
	struct naive_smart_entry list[NAIVE_SMART_PAGES];
	int entries;
	struct naive_smart_range queue[NAIVE_SMART_PAGES];
	int queued;
	bool writing;
	struct naive_smart_range in_flight;
};

void naive_smart_init(struct naive_smart *m, enum naive_smart_policy policy, uint64_t total);
void naive_smart_add_tree(struct naive_smart *m, int blocks);
void naive_smart_add(struct naive_smart *m, int page, int pages); /* to the fill state, [uvmsmart: tree-updates] */
void naive_smart_count(struct naive_smart *m, int page, bool is_write);
void naive_smart_touch(struct naive_smart *m, int page, uint64_t cycle);
bool naive_smart_arrive(struct naive_smart *m, int page, uint64_t cycle);
void naive_smart_sort(struct naive_smart *m);
int naive_smart_select(struct naive_smart *m, uint64_t *random); /* ranges */
bool naive_smart_start(struct naive_smart *m, int *dirty, int *clean);
bool naive_smart_end(struct naive_smart *m);
bool naive_smart_cancel(struct naive_smart *m, int page, uint64_t cycle);
void naive_smart_synchronise(struct naive_smart *m);
void naive_smart_switch(struct naive_smart *m, enum naive_smart_policy policy);
bool naive_smart_staged(const struct naive_smart *m, int page);
uint64_t naive_smart_leaving(const struct naive_smart *m);

#endif
