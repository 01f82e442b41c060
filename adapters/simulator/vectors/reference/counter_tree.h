/* counter_tree.h: sets the state of an access counter tree (counter.h), as steps of the vectors and tests do. */
#ifndef UVMSIM_COUNTER_TREE_H
#define UVMSIM_COUNTER_TREE_H

#include "uvmpolicy/counter.h"

/* Sets the whole word of the node over the blocks [first, first + blocks). UVMP_ERR_ARGUMENT: no tree.
 * UVMP_ERR_RANGE: no such node. */
enum uvmp_status counter_tree_set_word(struct uvmp_counter_tree *tree, uint32_t first, uint32_t blocks,
				       uint32_t word);
/* Sets the fields of one leaf. UVMP_ERR_RANGE also: a field is too large. */
enum uvmp_status counter_tree_set(struct uvmp_counter_tree *tree, uint32_t block, uint32_t count,
				  uint32_t rounds);

#endif
