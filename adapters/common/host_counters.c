/* Access counters of the GPUs: how often a GPU uses memory of the CPU that it has mapped. A counter stands for 2 MiB, of which
 * it knows which 64 KiB were used. When it reaches counter_threshold it notifies the engine once, and again
 * only after the engine has cleared it. The simulator counts alike (adapters/simulator/counters.h). */
#include "host_internal.h"

#define PART_BYTES 65536u

/* The number by which the engine names the counter; HOSTKIT_NONE: memory is short. */
static uint32_t tag_of(struct uvmp_host *h, struct hostkit_side *side)
{
	void *array;

	if (side->tag != HOSTKIT_NONE)
		return side->tag;
	array = hostkit_reserve(h, h->counted, &h->counted_capacity, h->counted_count, h->counted_count + 1u,
				sizeof(struct hostkit_side *));
	if (array == NULL || h->counted_count == HOSTKIT_NONE)
		return HOSTKIT_NONE;
	h->counted = array;
	h->counted[h->counted_count] = side;
	side->tag = (uint32_t)h->counted_count++;
	return side->tag;
}

/* Without memory for its number, a counter does not count. */
void hostkit_counter_use(struct uvmp_host *h, struct hostkit_side *side, uvmp_addr address)
{
	struct uvmp_note note = {.aperture = UVMP_APERTURE_VID, .address = address / PART_BYTES * PART_BYTES};

	note.tag = tag_of(h, side);
	if (note.tag == HOSTKIT_NONE)
		return;
	side->used_parts |= (uint32_t)1 << address % HOSTKIT_WINDOW_BYTES / PART_BYTES;
	if (side->uses < UINT32_MAX)
		side->uses++;
	if (side->has_notified || side->uses < uvmp_counter_threshold(h->policy.counter_threshold))
		return;
	note.sub_granularity = side->used_parts;
	side->has_notified = uvmp_service_note(h->service, side->processor, &note) == UVMP_OK;
}

static void clear(struct hostkit_side *side)
{
	side->uses = side->used_parts = 0;
	side->has_notified = false;
}

void hostkit_counter_clear(struct uvmp_host *h, const struct uvmp_action *a)
{
	for (uint64_t i = 0; a->clears_all && i < h->counted_count; i++)
		if (h->counted[i] != NULL && h->counted[i]->processor == a->to)
			clear(h->counted[i]);
	if (!a->clears_all && a->tag < h->counted_count && h->counted[a->tag] != NULL)
		clear(h->counted[a->tag]);
}

void hostkit_counter_drop(struct uvmp_host *h, const struct hostkit_side *side)
{
	if (side->tag != HOSTKIT_NONE)
		h->counted[side->tag] = NULL;
}
