/* Least frequently used first ([uvmsmart: eviction-list], order of LFU 2 MiB), without sorting.
 *
 * A binary heap of units: no unit precedes the unit above it. When a unit's key changes, the unit rises while
 * it precedes the unit above, then sinks while one of the two below precedes it. An evicted unit is replaced
 * by the last unit of the heap, which then rises or sinks in the same way. Beyond the first unit the heap is
 * not sorted. The unit of a rank is found by bisection of the parts of its key, one after the other, counting
 * the keys that do not exceed. The unit after a given unit lies below units that precede it: the search
 * enters only those. */
#include "frequency_internal.h"

void uvmpi_frequency_init(struct frequency *list, uint32_t units, void *memory)
{
	*list = (struct frequency){.key = memory, .units = units};
	list->heap = (void *)(list->key + units);
	list->place = list->heap + units;
}

bool uvmpi_frequency_is_valid(const struct frequency *list)
{
	return list->key != NULL && list->heap != NULL && list->place != NULL && list->units != 0 &&
	       list->units <= UVMP_UNITS_MAX && list->begun <= list->units && list->count <= list->begun;
}

/* Writes the keys and places up to the unit's that were never used. */
static void begin(struct frequency *list, uint32_t unit)
{
	for (; list->begun <= unit; list->begun++) {
		list->key[list->begun] = (struct frequency_key){0};
		list->place[list->begun] = UVMP_UNIT_NONE;
	}
}

static bool is_less(const struct frequency_key *x, const struct frequency_key *y)
{
	if (x->late != y->late)
		return x->late < y->late;
	return x->frequency != y->frequency ? x->frequency < y->frequency : x->stamp < y->stamp;
}

/* Does the unit at place a precede the one at place b? */
static bool precedes(const struct frequency *list, uint32_t a, uint32_t b)
{
	return is_less(&list->key[list->heap[a]], &list->key[list->heap[b]]);
}

static void exchange(struct frequency *list, uint32_t a, uint32_t b)
{
	uint32_t unit = list->heap[a];

	list->heap[a] = list->heap[b];
	list->heap[b] = unit;
	list->place[list->heap[a]] = a;
	list->place[list->heap[b]] = b;
}

static void settle(struct frequency *list, uint32_t at)
{
	for (; at != 0 && precedes(list, at, (at - 1u) / 2u); at = (at - 1u) / 2u)
		exchange(list, at, (at - 1u) / 2u);
	for (uint32_t below = 2u * at + 1u; below < list->count; below = 2u * at + 1u) {
		if (below + 1u < list->count && precedes(list, below + 1u, below))
			below++;
		if (!precedes(list, below, at))
			return;
		exchange(list, at, below);
		at = below;
	}
}

void uvmpi_frequency_touch(struct frequency *list, uint32_t unit, uint64_t frequency)
{
	begin(list, unit);
	list->key[unit] = (struct frequency_key){frequency, ++list->clock, list->key[unit].late};
	if (list->place[unit] == UVMP_UNIT_NONE) {
		list->place[unit] = list->count;
		list->heap[list->count++] = unit;
	}
	settle(list, list->place[unit]);
}

void uvmpi_frequency_set(struct frequency *list, uint32_t unit, uint64_t frequency)
{
	if (!uvmpi_frequency_contains(list, unit))
		return;
	list->key[unit].frequency = frequency;
	settle(list, list->place[unit]);
}

void uvmpi_frequency_spare(struct frequency *list, uint32_t unit, bool is_spared)
{
	begin(list, unit);
	list->key[unit].late = is_spared;
	if (list->place[unit] != UVMP_UNIT_NONE)
		settle(list, list->place[unit]);
}

void uvmpi_frequency_remove(struct frequency *list, uint32_t unit)
{
	uint32_t at;

	if (!uvmpi_frequency_contains(list, unit))
		return;
	at = list->place[unit];
	exchange(list, at, --list->count);
	list->place[unit] = UVMP_UNIT_NONE;
	if (at < list->count)
		settle(list, at);
}

uint32_t uvmpi_frequency_least(const struct frequency *list)
{
	return list->count != 0 ? list->heap[0] : UVMP_UNIT_NONE;
}

/* Do at most `rank` units have a key up to this one? */
static bool is_below(const struct frequency *list, struct frequency_key key, uint32_t rank)
{
	uint32_t exceeding = 0;

	for (uint32_t at = 0; at < list->count; at++)
		exceeding += is_less(&key, &list->key[list->heap[at]]);
	return list->count - exceeding <= rank;
}

/* The least value of `part` of the key for which that is false. */
static void bisect(const struct frequency *list, struct frequency_key *key, uint64_t *part, uint32_t rank)
{
	uint64_t low = 0, high = UINT64_MAX;

	while (low < high) {
		*part = low + (high - low) / 2u;
		if (is_below(list, *key, rank))
			low = *part + 1u;
		else
			high = *part;
	}
	*part = low;
}

uint32_t uvmpi_frequency_at(const struct frequency *list, uint32_t rank)
{
	struct frequency_key key = {UINT64_MAX, UINT64_MAX, 0};
	uint32_t at = 0;

	if (rank == 0)
		return uvmpi_frequency_least(list);
	if (rank >= list->count)
		return UVMP_UNIT_NONE;
	bisect(list, &key, &key.late, rank);
	bisect(list, &key, &key.frequency, rank);
	bisect(list, &key, &key.stamp, rank);
	while (at < list->count - 1u && list->key[list->heap[at]].stamp != key.stamp)
		at++;
	return list->heap[at];
}

/* Returns the position after all units below this one, or the number of units if no such position exists. */
static uint32_t place_behind(const struct frequency *list, uint32_t at)
{
	while (at != 0 && (at % 2u == 0 || at + 1u == list->count))
		at = (at - 1u) / 2u;
	return at != 0 ? at + 1u : list->count;
}

static uint32_t place_below(const struct frequency *list, uint32_t at)
{
	return 2u * at + 1u < list->count ? 2u * at + 1u : place_behind(list, at);
}

uint32_t uvmpi_frequency_next(const struct frequency *list, uint32_t unit)
{
	uint32_t next = UVMP_UNIT_NONE, at = 0;

	if (!uvmpi_frequency_contains(list, unit))
		return UVMP_UNIT_NONE;
	while (at < list->count) {
		const struct frequency_key *key = &list->key[list->heap[at]];

		if (!is_less(&list->key[unit], key)) {
			at = place_below(list, at);
			continue;
		}
		if (next == UVMP_UNIT_NONE || is_less(key, &list->key[next]))
			next = list->heap[at];
		at = place_behind(list, at);
	}
	return next;
}
