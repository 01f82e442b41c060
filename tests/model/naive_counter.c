/* Access counters from [driver: counter-pages], in bytes and single pages. */
#include "naive_counter.h"

#include <string.h>

#include "naive_residency.h"

static void add(const struct uvmp_processors *processors, const struct uvmp_counter_facts *facts,
                const struct uvmp_counter_note *note, bool *is_named)
{
	uint32_t pages = 2097152u / facts->page_bytes;
	uint64_t holders = 0;
	uint32_t r;

	for (uint32_t p = 0; p < processors->count; p++)
		if (uvmp_mask_test(&facts->resident[p], note->page))
			holders += (uint64_t)1 << p;
	r = naive_closest(processors, facts->gpu, holders);
	if (r == UVMP_PROC_NONE || r == facts->gpu)
		return;
	if (facts->contiguous >> r & 1) {
		for (uint32_t page = 0; page < pages; page++) {
			uint32_t bit = page * facts->page_bytes / 65536u, end = bit + (facts->page_bytes + 65535u) / 65536u;
			bool is_hit = false;
			bool is_held = uvmp_mask_test(&facts->resident[r], page);

			for (; bit < end; bit++)
				is_hit = is_hit || (note->sub_granularity >> bit & 1) != 0;
			if (facts->quirks)
				is_named[page] = (is_named[page] || is_hit) && is_held;
			else
				is_named[page] = is_named[page] || (is_hit && is_held);
		}
	} else {
		is_named[note->page] = true;
	}
}

void naive_counter_expand(const struct uvmp_processors *processors, const struct uvmp_counter_facts *facts,
                          const struct uvmp_counter_note *notes, uint32_t count, bool *is_named)
{
	memset(is_named, 0, 512 * sizeof(*is_named));
	for (uint32_t i = 0; i < count; i++)
		if (facts->granularity == UVMP_COUNTER_2M)
			add(processors, facts, &notes[i], is_named);
}
