/* Least recently touched page first ([uvmsmart: victim-selection], policy 5): the order of lru2m, of single
 * pages. */
#include "recency_internal.h"

const struct eviction_order uvmpi_order_lru4k = {
	.name = "lru4k",
	.summary = "the least recently touched page",
	.traits = {.unit_pages = 1, .has_reserve = true},
	.state_bytes = BY_RECENCY_STATE_BYTES,
	.unit_bytes = BY_RECENCY_UNIT_BYTES,
	BY_RECENCY_FUNCTIONS(uvmpi_by_recency_touch),
};
