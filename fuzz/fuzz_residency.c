/* Fuzzing of residency.h: bytes give processors, the facts of a destination, of rights and of levels; the
 * naive model must say the same. Which byte gives what: tests/model/residency_case.c. The last part feeds
 * bytes as facts without any care: the library may refuse them, no more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/naive_residency.h"
#include "model/residency_case.h"

#define INPUT_MAX 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hold(bool is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "fuzz_residency: not true: %s\n", what);
	abort();
}

static void compare_places(struct residency_source *source, const struct uvmp_processors *processors)
{
	struct uvmp_residency_facts facts;
	struct uvmp_residency_place place, naive;

	residency_case_facts(source, processors, &facts);
	naive = naive_residency_select(processors, &facts);
	hold(uvmp_residency_select(processors, &facts, &place) == UVMP_OK, "the facts are taken");
	hold(place.row == naive.row && place.to == naive.to &&
	             place.is_duplicate == naive.is_duplicate && place.nearest == naive.nearest,
	     "same place as the model");
}

static void compare_maps(struct residency_source *source, const struct uvmp_processors *processors)
{
	struct uvmp_map_facts facts;
	struct uvmp_map map, naive;

	residency_case_map(source, processors, &facts);
	naive = naive_residency_map(processors, &facts);
	hold(uvmp_residency_map(processors, &facts, &map) == UVMP_OK, "the facts are taken");
	hold(map.right == naive.right && map.victims == naive.victims && map.left == naive.left &&
	             map.others_atomic == naive.others_atomic && map.others == naive.others &&
	             map.others_right == naive.others_right && map.leaves_discarded == naive.leaves_discarded,
	     "same rights as the model");
}

/* Any numbers in the facts; flags stay flags. */
static void try_anything(struct residency_source *source, const struct uvmp_processors *processors)
{
	struct uvmp_residency_facts facts;
	struct uvmp_map_facts map_facts;
	struct uvmp_residency_place place;
	struct uvmp_map map;

	residency_case_facts(source, processors, &facts);
	facts.requester = residency_draw(source, 70);
	facts.preferred = residency_draw(source, 70);
	facts.pin = residency_draw(source, 70);
	facts.resident |= (uint64_t)residency_draw(source, 256) << residency_draw(source, 64);
	facts.accesses = (uint8_t)residency_draw(source, 256);
	facts.duplication = (uint8_t)residency_draw(source, 256);
	if (uvmp_residency_select(processors, &facts, &place) == UVMP_OK)
		hold(place.to < processors->count, "the destination exists");
	residency_case_map(source, processors, &map_facts);
	map_facts.requester = residency_draw(source, 70);
	map_facts.to = residency_draw(source, 70);
	map_facts.access = (uint8_t)residency_draw(source, 256);
	map_facts.right = (uint8_t)residency_draw(source, 256);
	(void)uvmp_residency_map(processors, &map_facts, &map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct residency_source source = {.data = data, .size = size};
	struct uvmp_processors processors;

	if (size == 0 || size > INPUT_MAX)
		return 0;
	residency_case_processors(&source, &processors);
	while (source.at < size) {
		compare_places(&source, &processors);
		compare_maps(&source, &processors);
		try_anything(&source, &processors);
	}
	return 0;
}
