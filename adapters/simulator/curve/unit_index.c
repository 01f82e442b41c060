/* A hash table of unit numbers: see unit_index.h. */
#include "unit_index.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

#define ROOM_LEAST 256u

static uint32_t place_of(const struct unit_index *index, uint32_t unit)
{
	uint32_t place = (uint32_t)(unit * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (index->places - 1u);

	while (index->place[place] != 0 && index->unit[index->place[place] - 1u] != unit)
		place = (place + 1u) & (index->places - 1u);
	return place;
}

static bool grow(struct unit_index *index)
{
	uint32_t room = index->room != 0 ? 2u * index->room : ROOM_LEAST;
	uint32_t *unit = room <= UINT32_MAX / 4u ? array_again(index->unit, room, sizeof(*unit)) : NULL;
	uint32_t *place;

	if (unit)
		index->unit = unit;
	place = unit ? array_zeros(2u * (uint64_t)room, sizeof(*place)) : NULL;
	if (!place)
		return false;
	free(index->place);
	index->place = place;
	index->places = 2u * room;
	index->room = room;
	for (uint32_t i = 0; i < index->count; i++)
		index->place[place_of(index, index->unit[i])] = i + 1u;
	return true;
}

bool unit_index_find(struct unit_index *index, uint32_t unit, uint32_t *at)
{
	uint32_t place;

	if (index->count == index->room && !grow(index))
		return false;
	place = place_of(index, unit);
	if (index->place[place] == 0) {
		index->unit[index->count++] = unit;
		index->place[place] = index->count;
	}
	*at = index->place[place] - 1u;
	return true;
}

void unit_index_close(struct unit_index *index)
{
	free(index->unit);
	free(index->place);
	memset(index, 0, sizeof(*index));
}
