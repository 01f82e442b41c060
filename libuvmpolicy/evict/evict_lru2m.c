/* Least recently touched large page first ([uvmsmart: victim-selection], policy 0). The original stamps
 * entries with cycles and sorts stably. Time never runs backwards, so that this is the order of last touches,
 * which a recency list keeps without sorting. */
#include "recency_internal.h"

const struct eviction_order uvmpi_order_lru2m = {
	.name = "lru2m",
	.summary = "the least recently touched block",
	.traits = {.unit_pages = 512, .has_granularity = true, .has_reserve = true},
	.state_bytes = BY_RECENCY_STATE_BYTES,
	.unit_bytes = BY_RECENCY_UNIT_BYTES,
	BY_RECENCY_FUNCTIONS(uvmpi_by_recency_touch),
};
