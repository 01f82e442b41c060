/* Stack distances: see lru_stack.h. */
#include "lru_stack.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

#define WORD_BITS   64u
#define SLOTS_LEAST 1024u

bool lru_stack_open(struct lru_stack *s, uint32_t units)
{
	memset(s, 0, sizeof(*s));
	s->units = units;
	s->slot = array_zeros(units != 0 ? units : 1u, sizeof(*s->slot));
	return s->slot != NULL;
}

bool lru_stack_grow(struct lru_stack *s, uint32_t units)
{
	if (!ARRAY_RESIZE(s->slot, s->units, units))
		return false;
	s->units = units;
	return true;
}

void lru_stack_close(struct lru_stack *s)
{
	free(s->slot);
	free(s->owner);
	free(s->owned);
	free(s->tree);
	memset(s, 0, sizeof(*s));
}

/* -- the tree over words of the bitmap -- */

/* One more, or one less, in the word. */
static void tree_add(struct lru_stack *s, uint32_t word, uint32_t change)
{
	for (uint32_t i = word + 1u; i <= s->slots / WORD_BITS; i += i & (0u - i))
		s->tree[i] += change;
}

/* In all words before this one. */
static uint64_t tree_before(const struct lru_stack *s, uint32_t word)
{
	uint64_t sum = 0;

	for (uint32_t i = word; i != 0; i -= i & (0u - i))
		sum += s->tree[i];
	return sum;
}

/* Owned slots from this one on. */
static uint64_t owned_from(const struct lru_stack *s, uint32_t slot)
{
	uint64_t below = s->owned[slot / WORD_BITS] & ((UINT64_C(1) << slot % WORD_BITS) - 1u);

	return s->live - tree_before(s, slot / WORD_BITS) - (uint64_t)__builtin_popcountll(below);
}

static void take(struct lru_stack *s, uint32_t slot, uint32_t unit)
{
	s->owned[slot / WORD_BITS] |= UINT64_C(1) << slot % WORD_BITS;
	s->owner[slot] = unit;
	s->slot[unit] = slot + 1u;
	tree_add(s, slot / WORD_BITS, 1u);
	s->live++;
}

static void give_up(struct lru_stack *s, uint32_t slot)
{
	s->owned[slot / WORD_BITS] &= ~(UINT64_C(1) << slot % WORD_BITS);
	tree_add(s, slot / WORD_BITS, UINT32_MAX);
	s->live--;
}

/* -- room -- */

static bool resize(struct lru_stack *s, uint32_t slots)
{
	uint32_t *owner = array_again(s->owner, slots, sizeof(*owner));
	uint64_t *owned;
	uint32_t *tree;

	if (owner)
		s->owner = owner;
	owned = owner ? array_again(s->owned, slots / WORD_BITS, sizeof(*owned)) : NULL;
	if (owned)
		s->owned = owned;
	tree = owned ? array_again(s->tree, slots / WORD_BITS + 1u, sizeof(*tree)) : NULL;
	if (!tree)
		return false;
	s->tree = tree;
	s->slots = slots;
	return true;
}

/* Moves the owned slots together, in their order, and doubles the line if more than half of it is owned. */
static bool make_room(struct lru_stack *s)
{
	uint32_t used = s->next, slots = s->slots != 0 ? s->slots : SLOTS_LEAST, kept = 0;

	if (s->live > slots / 2u) {
		if (slots > UINT32_MAX / 2u)
			return false;
		slots *= 2u;
	}
	for (uint32_t slot = 0; slot < used; slot++)
		if ((s->owned[slot / WORD_BITS] >> slot % WORD_BITS & 1u) != 0)
			s->owner[kept++] = s->owner[slot];
	if (!resize(s, slots))
		return false;
	memset(s->owned, 0, slots / WORD_BITS * sizeof(*s->owned));
	memset(s->tree, 0, (slots / WORD_BITS + 1u) * sizeof(*s->tree));
	s->live = 0;
	for (uint32_t slot = 0; slot < kept; slot++)
		take(s, slot, s->owner[slot]);
	s->next = kept;
	return true;
}

bool lru_stack_access(struct lru_stack *s, uint32_t unit, uint64_t *distance)
{
	*distance = LRU_STACK_FIRST;
	if (s->next == s->slots && !make_room(s))
		return false;
	if (s->slot[unit] != 0) {
		uint32_t slot = s->slot[unit] - 1u;

		*distance = owned_from(s, slot);
		if (*distance == 1)
			return true;
		give_up(s, slot);
	}
	take(s, s->next++, unit);
	return true;
}

/* -- the histogram -- */

bool lru_histogram_add(struct lru_histogram *h, uint64_t distance)
{
	uint64_t before = h->room;

	if (!ARRAY_RESERVE(h->count, h->room, distance + 1u))
		return false;
	if (h->room != before)
		memset(h->count + before, 0, (size_t)(h->room - before) * sizeof(*h->count));
	h->count[distance]++;
	h->accesses++;
	return true;
}

uint64_t lru_histogram_above(const struct lru_histogram *h, uint64_t capacity)
{
	uint64_t sum = 0;

	for (uint64_t d = capacity + 1u; d < h->room && d != 0; d++)
		sum += h->count[d];
	return sum;
}

void lru_histogram_close(struct lru_histogram *h)
{
	free(h->count);
	memset(h, 0, sizeof(*h));
}
