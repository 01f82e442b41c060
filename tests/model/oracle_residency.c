/* See oracle.h: where a page should live, and which processor is closest. */
#include "oracle.h"

#include <string.h>

static uint32_t below_set(struct oracle *oracle, uint32_t processors)
{
	return oracle_below(oracle, 1u << processors);
}

static void draw_request(struct oracle *oracle, uint32_t processors, struct uvmp_residency_facts *facts)
{
	facts->requester = oracle_below(oracle, processors);
	facts->accesses = (uint8_t)(1u + oracle_below(oracle, 31));
	facts->operation = (uint8_t)oracle_below(oracle, 3);
	if (facts->operation == UVMP_OPERATION_ACCESS_COUNTER && facts->requester == UVMP_CPU)
		facts->operation = UVMP_OPERATION_FAULT;
	facts->preferred = oracle_below(oracle, 2) ? oracle_below(oracle, processors) : UVMP_PROC_NONE;
	facts->accessed_by = oracle_below(oracle, 2) ? below_set(oracle, processors) : 0;
	facts->resident = oracle_below(oracle, 8) ? (uint64_t)1 << oracle_below(oracle, processors) : 0;
	if (oracle_one_in(oracle, 4))
		facts->resident |= below_set(oracle, processors);
	facts->pin = oracle_one_in(oracle, 4) ? oracle_below(oracle, processors) : UVMP_PROC_NONE;
	facts->has_preferred = facts->preferred != UVMP_PROC_NONE;
	facts->has_pin = facts->pin != UVMP_PROC_NONE;
}

static void draw_block_state(struct oracle *oracle, struct uvmp_residency_facts *facts)
{
	bool is_system, is_fixed;

	facts->duplication = (uint8_t)oracle_below(oracle, 3);
	facts->is_duplicated = oracle_one_in(oracle, 3);
	facts->is_system_forced = oracle_one_in(oracle, 30);
	facts->is_hmm = oracle_one_in(oracle, 4);
	is_system = oracle_one_in(oracle, 15);
	is_fixed = oracle_one_in(oracle, 15);
	facts->is_hmm_system = is_system && facts->is_hmm;
	facts->is_hmm_fixed = is_fixed && facts->is_hmm;
	facts->is_foreign = oracle_one_in(oracle, 5);
	facts->maps_on_atomics = oracle_one_in(oracle, 3);
}

void oracle_residency(struct oracle *oracle)
{
	struct uvmp_processors processors;
	struct uvmp_residency_facts facts;
	struct uvmp_residency_place place;
	uint32_t candidates;

	memset(&facts, 0, sizeof(facts));
	memset(&place, 0, sizeof(place));
	oracle_processors(oracle, &processors);
	draw_request(oracle, processors.count, &facts);
	draw_block_state(oracle, &facts);
	if (oracle_below(oracle, 2)) /* holders of other pages of the block, without effect */
		(void)below_set(oracle, processors.count);
	candidates = below_set(oracle, processors.count);
	oracle_put(oracle, (uint32_t)uvmp_residency_select(&processors, &facts, &place), 4);
	oracle_put(oracle, place.to, 4);
	oracle_put(oracle, place.is_duplicate, 1);
	oracle_put(oracle, place.nearest, 4);
	oracle_put(oracle, uvmp_closest_processor(&processors, facts.requester, candidates), 4);
}
