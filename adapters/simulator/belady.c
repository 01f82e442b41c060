/* MIN without the future.
 *
 * Long before MIN decides what to evict it is known what it may still hold. After any number of accesses
 * those contents of a memory with k places that are the end of a schedule with the fewest misses so far are
 * described by k + 1 layers of units, L0 to Lk: a set of k units is such a content exactly if it has, for
 * each i, at most i units in L0 to Li (E. Koutsoupias and C. Papadimitriou, "Beyond competitive analysis";
 * the layers are those of G. Brodal, G. Moruz and A. Negoescu, "OnlineMin"). So the units of L0 are surely
 * out, and Lk is the unit that was accessed last. An access of unit u
 *
 *   in L0       misses: the two uppermost layers become one, and u alone is the new uppermost one;
 *   in Li       hits: u leaves, the rest of Li joins the layer below it, and u is the new uppermost one.
 *
 * MIN misses the same accesses: for what it does up to one, what follows only decides among equals.
 *
 * The layers lie in the order of last accesses. Each access gets the next of a row of slots, its unit leaves
 * the slot of the access before; a layer is a stretch of that row, known by the slot at which it starts. So
 * all that happens to layers is: find the start at or before a slot, clear it, set a new one at the end. The
 * row is packed when it is full, which with three slots a unit costs a few steps an access at most.
 *
 * Before memory has been full there are fewer than k layers, one a unit.
 *
 * A unit that is taken leaves its slot to a filler, which is never accessed: that is the place that has
 * become free. When the row is packed, fillers are dropped, but a layer without any unit keeps one. */
#include "belady.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

#define NEVER	   0u /* values of slot[]: never accessed, */
#define TAKEN	   1u /* taken */
#define FIRST_SLOT 3u /* so that neither stands just before a slot */
#define NO_UNIT	   UINT32_MAX

/* -- where layers start -- */

static void set_start(struct belady *b, uint32_t slot)
{
	for (unsigned level = 0; level < BELADY_LEVELS; level++) {
		uint64_t *word = &b->start[level][slot / 64u];
		uint64_t before = *word;

		*word |= UINT64_C(1) << slot % 64u;
		if (before != 0)
			return;
		slot /= 64u;
	}
}

static void clear_start(struct belady *b, uint32_t slot)
{
	for (unsigned level = 0; level < BELADY_LEVELS; level++) {
		uint64_t *word = &b->start[level][slot / 64u];

		*word &= ~(UINT64_C(1) << slot % 64u);
		if (*word != 0)
			return;
		slot /= 64u;
	}
}

static bool is_start(const struct belady *b, uint32_t slot)
{
	return (b->start[0][slot / 64u] >> slot % 64u & 1u) != 0;
}

static uint32_t highest(uint64_t word)
{
	return 63u - (uint32_t)__builtin_clzll(word);
}

/* The last start at or before the slot; 0: the slot lies in L0. */
static uint32_t find_start(const struct belady *b, uint32_t slot)
{
	uint64_t word = b->start[0][slot / 64u] & UINT64_MAX >> (63u - slot % 64u);
	unsigned level = 0;

	while (word == 0) {
		if (++level == BELADY_LEVELS)
			return 0;
		slot /= 64u;
		word = b->start[level][slot / 64u] & ((UINT64_C(1) << slot % 64u) - 1u);
	}
	slot = slot / 64u * 64u + highest(word);
	while (level-- > 0)
		slot = slot * 64u + highest(b->start[level][slot]);
	return slot;
}

/* Words of one level of the tree. */
static size_t words(uint32_t slots, unsigned level)
{
	size_t count = slots;

	for (unsigned i = 0; i <= level; i++)
		count = count / 64u + 1u;
	return count;
}

/* The upper levels from the lowest. */
static void rebuild(struct belady *b)
{
	for (unsigned level = 1; level < BELADY_LEVELS; level++) {
		size_t below = words(b->slots, level - 1);

		memset(b->start[level], 0, words(b->slots, level) * sizeof(uint64_t));
		for (size_t i = 0; i < below; i++)
			b->start[level][i / 64u] |= (uint64_t)(b->start[level - 1][i] != 0) << i % 64u;
	}
}

/* -- opening, growing -- */

void belady_open(struct belady *b, uint64_t places)
{
	memset(b, 0, sizeof(*b));
	b->places = places;
	b->next_slot = FIRST_SLOT;
}

void belady_close(struct belady *b)
{
	free(b->slot);
	free(b->owner);
	for (unsigned level = 0; level < BELADY_LEVELS; level++)
		free(b->start[level]);
}

/* Makes room for `room` units. False: out of memory. */
static bool grow_arrays(struct belady *b, uint32_t room)
{
	uint32_t slots = 3u * room + 64u;

	if (!ARRAY_RESIZE(b->slot, b->room, room) || !ARRAY_RESIZE(b->owner, b->slots, slots))
		return false;
	for (unsigned level = 0; level < BELADY_LEVELS; level++) {
		size_t used = b->room != 0 ? words(b->slots, level) : 0;

		if (!ARRAY_RESIZE(b->start[level], used, words(slots, level)))
			return false;
	}
	b->room = room;
	b->slots = slots;
	rebuild(b);
	return true;
}

bool belady_grow(struct belady *b, uint32_t units)
{
	uint32_t room = b->room < 64u ? 64u : b->room;

	if (units > BELADY_UNITS_MAX)
		return false;
	while (room < units)
		room *= 2u;
	if (room > b->room && !grow_arrays(b, room))
		return false;
	b->units = units > b->units ? units : b->units;
	return true;
}

/* -- packing -- */

/* With places for all, every unit stays in memory: one layer each, and no fillers. */
static bool is_never_full(const struct belady *b)
{
	return b->units <= b->places;
}

static bool is_owned(const struct belady *b, uint32_t slot)
{
	return b->owner[slot] != NO_UNIT && b->slot[b->owner[slot]] == slot;
}

/* A layer that starts at `first` ends before `next`: without a unit it gets a filler. */
static uint32_t fill_layer(struct belady *b, uint32_t first, uint32_t next)
{
	if (first != next)
		return next;
	b->owner[next] = NO_UNIT;
	return next + 1u;
}

/* Moves units to the front of the row, with the layers they are in. Nothing moves back, so that one pass over
 * the row does. At most two slots a unit are left: one its own, one for a filler of as many layers. */
static void pack(struct belady *b)
{
	bool is_never = is_never_full(b);
	uint32_t next = FIRST_SLOT, first = 0;

	for (uint32_t slot = FIRST_SLOT; slot < b->next_slot; slot++) {
		bool starts = is_start(b, slot), stays = is_owned(b, slot);

		b->start[0][slot / 64u] &= ~(UINT64_C(1) << slot % 64u);
		if (starts && !is_never) {
			next = fill_layer(b, first, next);
			first = next;
		}
		if ((starts && !is_never) || (stays && is_never))
			b->start[0][next / 64u] |= UINT64_C(1) << next % 64u;
		if (stays) {
			b->owner[next] = b->owner[slot];
			b->slot[b->owner[next]] = next;
			next++;
		}
	}
	if (is_never)
		b->layers = next - FIRST_SLOT;
	else
		next = fill_layer(b, first, next);
	b->next_slot = next;
	rebuild(b);
}

/* -- accesses -- */

enum belady_result belady_access(struct belady *b, uint32_t unit)
{
	uint32_t slot = b->slot[unit], start = 0;

	if (slot + 1u == b->next_slot) /* the last one again */
		return BELADY_HIT;
	if (b->next_slot == b->slots) {
		pack(b);
		slot = b->slot[unit];
	}
	if (slot >= FIRST_SLOT)
		start = find_start(b, slot);
	if (start != 0)
		clear_start(b, start);
	else if (b->layers == b->places)
		clear_start(b, b->next_slot - 1u); /* the uppermost layer is the last access alone */
	else
		b->layers++;
	set_start(b, b->next_slot);
	b->owner[b->next_slot] = unit;
	b->slot[unit] = b->next_slot++;
	return start != 0 ? BELADY_HIT : slot == NEVER ? BELADY_FIRST : BELADY_MISS;
}

void belady_take(struct belady *b, uint32_t unit)
{
	if (b->slot[unit] != NEVER)
		b->slot[unit] = TAKEN;
}

/* -- the end -- */

/* From the lowest layer up: of the units seen, the heaviest that fit. */
struct belady_rest belady_rest(const struct belady *b, uint32_t (*weight)(const void *context, uint32_t unit),
			       const void *context)
{
	uint64_t count[BELADY_WEIGHT_MAX + 1] = {0}; /* by weight */
	struct belady_rest rest = {0, 0};
	uint64_t limit = b->places - b->layers;
	uint32_t least = BELADY_WEIGHT_MAX;

	for (uint32_t slot = FIRST_SLOT; slot < b->next_slot; slot++) {
		uint32_t heavy;

		limit += is_start(b, slot);
		heavy = is_owned(b, slot) ? weight(context, b->owner[slot]) : 0;
		if (heavy == 0)
			continue;
		count[heavy]++;
		least = heavy < least ? heavy : least;
		rest.units++;
		rest.weight += heavy;
		if (rest.units <= limit)
			continue;
		while (count[least] == 0)
			least++;
		count[least]--;
		rest.units--;
		rest.weight -= least;
	}
	return rest;
}
