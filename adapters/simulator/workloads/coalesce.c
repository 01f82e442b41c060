/* Coalescing; coalesce.h. */
#include "coalesce.h"

#define SEGMENT 128u

uint32_t coalesce_run(uint64_t at, uint64_t end)
{
	return at < end ? (uint32_t)((end - 1u) / SEGMENT - at / SEGMENT + 1u) : 0;
}

static uint32_t segment_bytes(uint32_t lane_bytes)
{
	return lane_bytes > 2u ? SEGMENT : SEGMENT / 4u * lane_bytes;
}

/* Few lanes, and mostly in order. */
static void sort(uint64_t *lane, uint32_t lanes)
{
	for (uint32_t i = 1; i < lanes; i++) {
		uint64_t at = lane[i];
		uint32_t to = i;

		for (; to > 0 && lane[to - 1u] > at; to--)
			lane[to] = lane[to - 1u];
		lane[to] = at;
	}
}

void coalesce_lanes(struct workload_slot *slot)
{
	uint32_t bytes = slot->lane_bytes != 0 ? slot->lane_bytes : 1u, segment = segment_bytes(bytes);
	uint64_t next = 0; /* the first segment that no lane has wanted yet */

	sort(slot->lane, slot->lanes);
	for (uint32_t i = 0; i < slot->lanes; i++) {
		uint64_t first = slot->lane[i] / segment, end = (slot->lane[i] + bytes - 1u) / segment + 1u;

		first = first < next ? next : first;
		slot->accesses[i] = (uint8_t)(first < end ? end - first : 0);
		next = end > next ? end : next;
	}
}
