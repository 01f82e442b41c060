/* UVM Smart's access counters once more, word for word [uvmsmart: counter-register, access-counting,
 * round-trips]: every level of every tree is an array of nodes, each with its own marks. And the decision to
 * migrate [uvmsmart: migrate-or-remote] in real floating point. */
#ifndef NAIVE_COUNTER_LEAF_H
#define NAIVE_COUNTER_LEAF_H

#include "uvmpolicy/counter.h"

#define NAIVE_LEAF_TREES  4
#define NAIVE_LEAF_LEVELS 6

struct naive_leaf_node {
	uint32_t word;
	bool is_read, is_written;
};

struct naive_leaf {
	unsigned trees;
	unsigned levels[NAIVE_LEAF_TREES]; /* level 0: leaves; the root is on the last */
	struct naive_leaf_node node[NAIVE_LEAF_TREES][NAIVE_LEAF_LEVELS][32];
};

void naive_leaf_init(struct naive_leaf *m, unsigned trees, const uint32_t *blocks);
void naive_leaf_access(struct naive_leaf *m, const struct uvmp_counter_access *access, bool quirks);
void naive_leaf_halve(struct naive_leaf *m);
void naive_leaf_round_trip(struct naive_leaf *m, unsigned tree, bool quirks);

/* Do the library's trees hold the same? */
bool naive_leaf_equals(const struct naive_leaf *m, const struct uvmp_counter_tree *trees);

/* A script of drawn operations on both, until `is_over`; true if they never differ. `draw` gives a number
 * below its bound. */
bool naive_leaf_compare(uint32_t (*draw)(void *source, uint32_t bound), bool (*is_over)(void *source),
			void *source, bool quirks);

/* [uvmsmart: oversubscription-switch, eviction-trigger] in 32-bit floats. */
bool naive_pressure_is_over(const struct uvmp_pressure *pressure);
/* The threshold of the adaptive mode while memory is not over-subscribed. */
double naive_pressure_threshold(const struct uvmp_pressure *pressure, uint32_t ts);

#endif
