/* Slots of units in two classes: a bitmap for each class, with summaries above, for orders that ask for the next unit of a class.
 * Arguments are not checked: a slot is below slots->begun, where the text does not say otherwise. */
#ifndef UVMPOLICY_SLOTS_INTERNAL_H
#define UVMPOLICY_SLOTS_INTERNAL_H

#include "../base/bits_internal.h"
#include "evict_internal.h"

#define SLOT_LEVELS  6u /* 64^6 > 2 * UVMP_UNITS_MAX */
#define SLOT_CLASSES 2u
#define SLOT_BITS    64u

/* The words of both classes are side by side. */
struct slot_word {
	uint64_t of[SLOT_CLASSES];
};

/* word[0]: bit s % 64 of word s / 64 of a class: slot s has a unit of the class. word[n]: bit w % 64 of word w / 64: word w of
 * level n - 1 is not 0. The highest level has one word. A class that has no unit in slots 64w..64w+63 is passed over in
 * one step, and a search goes up and down once. */
struct slots {
	struct slot_word *word[SLOT_LEVELS];
	uint32_t levels;
	uint32_t count; /* slots */
	uint32_t begun; /* words of slots 0..begun-1 have been written; a multiple of 64 */
};

/* Bytes for the words, at most: in all, and per two slots. */
#define SLOTS_HEAD_BYTES    (SLOT_LEVELS * sizeof(struct slot_word))
#define SLOTS_BYTES_PER_TWO 1u

/* No slot has a unit; writes no word. Returns the end of the words. */
void *uvmpi_slots_init(struct slots *slots, uint32_t count, void *memory);
/* Cheap test of the structure. */
bool uvmpi_slots_is_valid(const struct slots *slots);
/* Writes the words of the next 64 slots. */
void uvmpi_slots_begin(struct slots *slots);
/* Copies the classes of slots 0..count-1 to slots that were set up for as many or more; `from` has no others. */
void uvmpi_slots_move(const struct slots *from, struct slots *to, uint32_t count);

/* -- a slot -- */

static inline bool slots_has(const struct slots *slots, uint32_t class, uint32_t slot)
{
	return (slots->word[0][slot / SLOT_BITS].of[class] >> slot % SLOT_BITS & 1u) != 0;
}

/* A word of level 0 is no longer, or has become, 0. */
void uvmpi_slots_set_above(struct slots *slots, uint32_t class, uint32_t word);
void uvmpi_slots_clear_above(struct slots *slots, uint32_t class, uint32_t word);

/* The slot gets a unit of the class / loses it. */
static inline void slots_set(struct slots *slots, uint32_t class, uint32_t slot)
{
	uint64_t *word = &slots->word[0][slot / SLOT_BITS].of[class], was = *word;

	*word = was | (uint64_t)1 << slot % SLOT_BITS;
	if (was == 0)
		uvmpi_slots_set_above(slots, class, slot / SLOT_BITS);
}
static inline void slots_clear(struct slots *slots, uint32_t class, uint32_t slot)
{
	uint64_t *word = &slots->word[0][slot / SLOT_BITS].of[class];

	*word &= ~((uint64_t)1 << slot % SLOT_BITS);
	if (*word == 0)
		uvmpi_slots_clear_above(slots, class, slot / SLOT_BITS);
}
/* The slots of the word that begins with slot `first` lose their units; returns the word. */
static inline struct slot_word slots_take_word(struct slots *slots, uint32_t first)
{
	struct slot_word *word = &slots->word[0][first / SLOT_BITS], was = *word;

	*word = (struct slot_word){{0, 0}};
	for (uint32_t class = 0; class < SLOT_CLASSES; class++)
		uvmpi_slots_clear_above(slots, class, first / SLOT_BITS);
	return was;
}

/* -- search: O(levels) -- */

/* The lowest slot of the class from `from` on, a slot; no slot of the same word is. UVMP_UNIT_NONE: none. */
uint32_t uvmpi_slots_next_word(const struct slots *slots, uint32_t class, uint32_t from);

/* The lowest slot of the class from `from` on, which may be beyond all slots; UVMP_UNIT_NONE: none. */
static inline uint32_t slots_next(const struct slots *slots, uint32_t class, uint32_t from)
{
	uint64_t rest;

	if (from >= slots->begun)
		return UVMP_UNIT_NONE;
	rest = slots->word[0][from / SLOT_BITS].of[class] >> from % SLOT_BITS;
	return rest != 0 ? from + lowest_bit(rest) : uvmpi_slots_next_word(slots, class, from);
}
/* The highest slot of the class below `end`; there is one. */
uint32_t uvmpi_slots_previous(const struct slots *slots, uint32_t class, uint32_t end);

#endif
