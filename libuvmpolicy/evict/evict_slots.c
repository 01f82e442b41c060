/* Slots of units in two classes (slots_internal.h). */
#include "slots_internal.h"

/* -- setting up -- */

static uint32_t words_for(uint32_t bits)
{
	return (bits - 1u) / SLOT_BITS + 1u;
}

void *uvmpi_slots_init(struct slots *slots, uint32_t count, void *memory)
{
	struct slot_word *word = (struct slot_word *)memory;
	uint32_t bits = count;

	*slots = (struct slots){.count = count};
	do {
		slots->word[slots->levels++] = word;
		bits = words_for(bits);
		word += bits;
	} while (bits > 1u);
	return word;
}

bool uvmpi_slots_is_valid(const struct slots *slots)
{
	return slots->levels - 1u < SLOT_LEVELS && slots->word[slots->levels - 1u] != NULL && slots->begun % SLOT_BITS == 0 &&
	       slots->begun <= words_for(slots->count) * SLOT_BITS;
}

void uvmpi_slots_begin(struct slots *slots)
{
	uint32_t at = slots->begun / SLOT_BITS;

	slots->begun += SLOT_BITS;
	slots->word[0][at] = (struct slot_word){{0, 0}};
	for (uint32_t level = 1; level < slots->levels && at % SLOT_BITS == 0; level++) { /* the first below its word */
		at /= SLOT_BITS;
		slots->word[level][at] = (struct slot_word){{0, 0}};
	}
}

/* -- summaries -- */

void uvmpi_slots_set_above(struct slots *slots, uint32_t class, uint32_t at)
{
	uint64_t *word, was = 0;

	for (uint32_t level = 1; level < slots->levels && was == 0; level++, at /= SLOT_BITS) {
		word = &slots->word[level][at / SLOT_BITS].of[class];
		was = *word;
		*word = was | (uint64_t)1 << at % SLOT_BITS;
	}
}

void uvmpi_slots_clear_above(struct slots *slots, uint32_t class, uint32_t at)
{
	uint64_t *word, is = 0;

	for (uint32_t level = 1; level < slots->levels && is == 0; level++, at /= SLOT_BITS) {
		word = &slots->word[level][at / SLOT_BITS].of[class];
		is = *word &= ~((uint64_t)1 << at % SLOT_BITS);
	}
}

void uvmpi_slots_move(const struct slots *from, struct slots *to, uint32_t count)
{
	for (uint32_t at = 0; at * SLOT_BITS < count; at++) {
		uvmpi_slots_begin(to);
		to->word[0][at] = from->word[0][at];
		for (uint32_t class = 0; class < SLOT_CLASSES; class++)
			if (to->word[0][at].of[class] != 0)
				uvmpi_slots_set_above(to, class, at);
	}
}

/* -- search -- */

uint32_t uvmpi_slots_next_word(const struct slots *slots, uint32_t class, uint32_t from)
{
	uint32_t level = 0, at = from;
	uint64_t rest;

	do { /* up, until a word has a bit behind */
		if (++level == slots->levels)
			return UVMP_UNIT_NONE;
		at /= SLOT_BITS;
		rest = slots->word[level][at / SLOT_BITS].of[class] & ~(uint64_t)1 << at % SLOT_BITS;
	} while (rest == 0);
	at = at / SLOT_BITS * SLOT_BITS + lowest_bit(rest);
	while (level-- != 0)
		at = at * SLOT_BITS + lowest_bit(slots->word[level][at].of[class]);
	return at;
}

uint32_t uvmpi_slots_previous(const struct slots *slots, uint32_t class, uint32_t end)
{
	uint32_t level = 0, at = end - 1u;
	uint64_t rest = slots->word[0][at / SLOT_BITS].of[class] & ~(uint64_t)0 >> (SLOT_BITS - 1u - at % SLOT_BITS);

	while (rest == 0) { /* there is one: it ends */
		at /= SLOT_BITS;
		rest = slots->word[++level][at / SLOT_BITS].of[class] & (((uint64_t)1 << at % SLOT_BITS) - 1u);
	}
	at = at / SLOT_BITS * SLOT_BITS + highest_bit(rest);
	while (level-- != 0)
		at = at * SLOT_BITS + highest_bit(slots->word[level][at].of[class]);
	return at;
}
