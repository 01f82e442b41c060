/* Facts from random numbers or from fuzzed bytes. */
#include "residency_case.h"

#include <string.h>

static uint8_t next_byte(struct residency_source *source)
{
	if (source->data == NULL)
		return (uint8_t)(uvmp_random_next(&source->random) >> 32);
	return source->at < source->size ? source->data[source->at++] : 0;
}

uint32_t residency_draw(struct residency_source *source, uint32_t bound)
{
	uint32_t number = next_byte(source);

	if (bound > 256)
		number = number << 8 | next_byte(source);
	return number % bound;
}

static bool flag(struct residency_source *source)
{
	return residency_draw(source, 2) == 1;
}

static uint64_t proc_set(struct residency_source *source, const struct uvmp_processors *processors)
{
	return residency_draw(source, 1u << processors->count);
}

static uint32_t proc_or_none(struct residency_source *source, const struct uvmp_processors *processors)
{
	uint32_t p = residency_draw(source, processors->count + 2);

	return p < processors->count ? p : UVMP_PROC_NONE;
}

void residency_case_processors(struct residency_source *source, struct uvmp_processors *processors)
{
	memset(processors, 0, sizeof(*processors));
	processors->count = 1 + residency_draw(source, 6);
	for (uint32_t p = 0; p < processors->count; p++) {
		uint64_t self = (uint64_t)1 << p;

		processors->can_access[p] = proc_set(source, processors) | self;
		processors->fast_link[p] =
		        proc_set(source, processors) & proc_set(source, processors) & ~self;
		processors->native_atomics[p] = proc_set(source, processors) | self;
		if (p > 0 && residency_draw(source, 8) == 1)
			processors->smc[p] = proc_set(source, processors) & ~self & ~(uint64_t)1;
	}
	if (residency_draw(source, 4) == 1)
		processors->no_memory = proc_set(source, processors) & ~(uint64_t)1;
}

void residency_case_facts(struct residency_source *source, const struct uvmp_processors *processors,
                          struct uvmp_residency_facts *facts)
{
	memset(facts, 0, sizeof(*facts));
	facts->requester = residency_draw(source, processors->count);
	facts->accesses = (uint8_t)(1 + residency_draw(source, 31));
	if (flag(source))
		facts->accesses = (uint8_t)(1u << residency_draw(source, 5));
	facts->operation = (uint8_t)residency_draw(source, 3);
	facts->preferred = flag(source) ? proc_or_none(source, processors) : UVMP_PROC_NONE;
	facts->has_preferred = facts->preferred != UVMP_PROC_NONE;
	facts->accessed_by = proc_set(source, processors) & proc_set(source, processors);
	facts->resident = flag(source) ? (uint64_t)1 << residency_draw(source, processors->count)
	                               : proc_set(source, processors);
	facts->pin = residency_draw(source, 5) == 1 ? proc_or_none(source, processors) : UVMP_PROC_NONE;
	facts->has_pin = facts->pin != UVMP_PROC_NONE;
	facts->duplication = (uint8_t)(flag(source) ? residency_draw(source, 3) : 0);
	facts->is_duplicated = residency_draw(source, 5) == 1;
	facts->is_hmm = residency_draw(source, 4) == 1;
	facts->is_hmm_system = residency_draw(source, 4) == 1;
	facts->is_hmm_fixed = residency_draw(source, 4) == 1;
	facts->is_system_forced = residency_draw(source, 20) == 1;
	facts->is_foreign = flag(source);
	facts->maps_on_atomics = flag(source);
}

void residency_case_map(struct residency_source *source, const struct uvmp_processors *processors,
                        struct uvmp_map_facts *facts)
{
	static const uint8_t needed[] = {1, 1, 2, 2, 3};

	memset(facts, 0, sizeof(*facts));
	facts->requester = residency_draw(source, processors->count);
	facts->to = residency_draw(source, processors->count);
	facts->access = (uint8_t)residency_draw(source, 5);
	facts->right = (uint8_t)(3 - residency_draw(source, 3));
	if (facts->right < needed[facts->access])
		facts->right = needed[facts->access];
	facts->read = proc_set(source, processors);
	facts->write = facts->read & proc_set(source, processors);
	facts->atomic = facts->write & proc_set(source, processors);
	facts->accessed_by = proc_set(source, processors);
	facts->thrashing = flag(source) ? proc_set(source, processors) : 0;
	facts->preferred = proc_or_none(source, processors);
	facts->has_preferred = facts->preferred != UVMP_PROC_NONE;
	facts->duplication = (uint8_t)residency_draw(source, 3);
	facts->is_duplicated = residency_draw(source, 4) == 1;
	facts->is_hmm = residency_draw(source, 4) == 1;
	facts->has_migrated = flag(source);
	facts->is_discarded = residency_draw(source, 4) == 1;
	facts->is_integrated = residency_draw(source, 8) == 1;
	facts->is_cpu_barred = residency_draw(source, 4) == 1;
}

static void draw_resident(struct residency_source *source, uint32_t pages, uvmp_mask *mask)
{
	uint32_t runs = residency_draw(source, 4);

	for (uint32_t i = 0; i < runs; i++) {
		uint32_t first = residency_draw(source, pages);

		uvmp_mask_region_set(
		        mask, (struct uvmp_region){first, first + 1 + residency_draw(source, pages - first)});
	}
}

void residency_case_counter(struct residency_source *source, const struct uvmp_processors *processors,
                            struct counter_case *c)
{
	uint32_t pages;

	memset(c, 0, sizeof(*c));
	c->facts.gpu = 1 + residency_draw(source, processors->count - 1);
	c->facts.page_bytes = 4096u << 2 * residency_draw(source, 3);
	c->facts.granularity =
	        (uint8_t)(residency_draw(source, 8) == 1 ? 1 + residency_draw(source, 4) : UVMP_COUNTER_2M);
	c->facts.quirks = flag(source);
	c->facts.contiguous = proc_set(source, processors) | proc_set(source, processors);
	c->facts.resident = c->resident;
	pages = 2097152u / c->facts.page_bytes;
	for (uint32_t p = 0; p < processors->count; p++)
		draw_resident(source, pages, &c->resident[p]);
	c->count = residency_draw(source, COUNTER_CASE_NOTES + 1);
	for (uint32_t i = 0; i < c->count; i++) {
		c->notes[i].page = residency_draw(source, pages);
		for (int k = 0; k < 2; k++)
			c->notes[i].sub_granularity =
			        c->notes[i].sub_granularity << 16 | residency_draw(source, 65536);
	}
}
