/* UVM Smart's sequential-local eviction ([uvmsmart: eviction-list, victim-selection], policy 2): the oldest
 * basic block of the tree whose newest touch is oldest. The original sorts entries by tree and cycle; a list
 * in groups keeps that order without sorting. */
#include "grouped_internal.h"

const struct eviction_order uvmpi_order_sl64k = {
	.name = "sl64k",
	.summary = "the oldest basic block of the block whose newest touch is oldest (UVM Smart)",
	.traits = {.unit_pages = 16, .has_reserve = true, .spares_incomplete = true},
	.state_bytes = GROUPED_STATE_BYTES,
	.unit_bytes = GROUPED_UNIT_BYTES,
	.group_bytes = GROUPED_GROUP_BYTES,
	EVICT_FUNCTIONS(uvmpi_by_group_init, uvmpi_by_group_move, uvmpi_by_group_is_valid, uvmpi_by_group_contains,
			uvmpi_by_group_touch, uvmpi_by_group_remove, uvmpi_by_group_victim, uvmpi_by_group_next),
	.enter = uvmpi_by_group_enter,
	.remove_set = uvmpi_by_group_remove_set,
	.forget = uvmpi_by_group_forget,
	.spare = uvmpi_by_group_spare,
};
