/* The NVIDIA driver's order: its queues of root chunks, which are the state of pmm.h. No function of this
 * folder keeps it, so that the descriptor has traits only. */
#include "evict_internal.h"

const struct eviction_order uvmpi_order_lru = {
	.name = "lru",
	.summary = "the least recently serviced block, as the driver does",
	.traits = {.unit_pages = 512, .is_chunked = true},
};
