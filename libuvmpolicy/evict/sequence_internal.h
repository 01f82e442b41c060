/* A sequence of elements in the order of their keys, in two kinds, with a boundary. For orders that spare units, and for their
 * reserve. Arguments are not checked: the sequence is valid, and an element is below seq->elements. */
#ifndef UVMPOLICY_SEQUENCE_INTERNAL_H
#define UVMPOLICY_SEQUENCE_INTERNAL_H

#include "recency_internal.h"

/* The elements of each kind form a sorted list. One of 16 elements of a list is also in lane 1, one of 16 of those also in lane 2,
 * and so on: a skip list (Pugh 1990). A search for a key begins in the highest lane. Which elements are in a lane follows from
 * their number alone: lane k has the elements whose spread number (a multiplication by an odd constant) is below
 * 2^(bits - 4k), so that every regular choice of elements is spread over the lanes. All keys of a sequence differ.
 *
 * Appending the newest element and removing are O(1) on average over the elements; inserting is O(log elements). */
struct sequence_key {
	uint64_t high, low;
};

#define SEQUENCE_LANE_BITS 4u
#define SEQUENCE_LANES	   8u
#define SEQUENCE_KINDS 2u

struct sequence {
	struct recency_link *link;     /* the ends of each lane and kind; then the links of lane 0, of lane 1, ... */
	struct sequence_key *key;      /* [elements] */
	uint8_t *weight;	       /* [elements]: units of the element, at most 255; 0: it is not in the sequence */
	uint8_t *kind;		       /* [elements] */
	uint32_t base[SEQUENCE_LANES]; /* where the links of a lane begin */
	uint32_t lanes, elements;
	uint32_t mask;		      /* of spread numbers */
	uint32_t laned;		      /* elements with a smaller spread number are in lane 1 */
	uint32_t before;	      /* sum of the weights before the boundary; 0 until there is a boundary */
	uint32_t last[SEQUENCE_KINDS]; /* the last element of each kind before the boundary; UVMP_UNIT_NONE: none */
};

/* Bytes behind the structure: in all, at the head, and per element. */
#define SEQUENCE_HEAD_BYTES    (SEQUENCE_LANES * SEQUENCE_KINDS * sizeof(struct recency_link))
#define SEQUENCE_ELEMENT_BYTES (sizeof(struct sequence_key) + 2u * sizeof(struct recency_link))

/* An empty sequence. Of `memory`, aligned to 8, only SEQUENCE_HEAD_BYTES are written. */
void uvmpi_sequence_init(struct sequence *seq, uint32_t elements, void *memory);
/* Copies elements 0..begun-1, the only ones in use, to an empty sequence for as many elements or more. O(begun). */
void uvmpi_sequence_move(const struct sequence *from, struct sequence *to, uint32_t begun);
/* Cheap test of the structure; links are not walked. */
bool uvmpi_sequence_is_valid(const struct sequence *seq);
/* Writes the state of an element: key 0, kind 0, not in the sequence. */
static inline void sequence_begin(struct sequence *seq, uint32_t element)
{
	seq->key[element] = (struct sequence_key){0, 0};
	seq->weight[element] = seq->kind[element] = 0;
}
static inline bool sequence_is_less(const struct sequence *seq, uint32_t a, uint32_t b)
{
	const struct sequence_key *x = &seq->key[a], *y = &seq->key[b];

	return x->high != y->high ? x->high < y->high : x->low < y->low;
}

/* -- positions -- */

static inline uint32_t sequence_end(uint32_t lane, uint32_t kind)
{
	return lane * SEQUENCE_KINDS + kind;
}
/* An element spread over the lanes, and back: multiplications by inverse numbers modulo 2^32. */
static inline uint32_t sequence_spread(const struct sequence *seq, uint32_t element)
{
	return element * 0x9e3779b1u & seq->mask;
}
static inline uint32_t sequence_gather(const struct sequence *seq, uint32_t spread)
{
	return spread * 0x0e8b2f51u & seq->mask;
}
/* The element of a link of lane 0; UVMP_UNIT_NONE: an end. */
static inline uint32_t sequence_element(const struct sequence *seq, uint32_t at)
{
	return at >= seq->base[0] ? at - seq->base[0] : UVMP_UNIT_NONE;
}

/* -- change -- */

/* The element is about to leave its place before or behind the boundary. */
void uvmpi_sequence_leave_place(struct sequence *seq, uint32_t element);
/* The element has a new place: is it before the boundary? */
void uvmpi_sequence_take_place(struct sequence *seq, uint32_t element);
/* Unlinks / appends / links an element that is linked in lane 0 in lane 1 and above. */
void uvmpi_sequence_unlink_lanes(struct sequence *seq, uint32_t element);
void uvmpi_sequence_append_lanes(struct sequence *seq, uint32_t element, uint32_t kind);
void uvmpi_sequence_link_lanes(struct sequence *seq, uint32_t element, uint32_t kind);

/* Takes the element out; its weight stays. */
static inline void sequence_unlink(struct sequence *seq, uint32_t element)
{
	if (seq->before != 0)
		uvmpi_sequence_leave_place(seq, element);
	link_remove(seq->link, seq->base[0] + element);
	if (sequence_spread(seq, element) < seq->laned)
		uvmpi_sequence_unlink_lanes(seq, element);
}
/* Does the place of the element consist of links in lane 0 alone? */
static inline bool sequence_is_plain(const struct sequence *seq, uint32_t element)
{
	return seq->before == 0 && sequence_spread(seq, element) >= seq->laned;
}
/* Puts in an element whose key exceeds all keys. */
static inline void sequence_append(struct sequence *seq, uint32_t element, uint32_t kind)
{
	seq->kind[element] = (uint8_t)kind;
	link_append(seq->link, seq->base[0] + element, sequence_end(0, kind));
	if (sequence_spread(seq, element) < seq->laned)
		uvmpi_sequence_append_lanes(seq, element, kind);
}
/* Puts the element in; the element of the kind with the next smaller key is known. UVMP_UNIT_NONE: no key of the kind is smaller.
 * O(1) on average over the elements: one of 16 is in lane 1, and reaches it over its neighbours. */
static inline void sequence_insert_behind(struct sequence *seq, uint32_t element, uint32_t kind, uint32_t smaller)
{
	seq->kind[element] = (uint8_t)kind;
	link_insert(seq->link, seq->base[0] + element,
		    smaller == UVMP_UNIT_NONE ? sequence_end(0, kind) : seq->base[0] + smaller);
	if (sequence_spread(seq, element) < seq->laned)
		uvmpi_sequence_link_lanes(seq, element, kind);
	if (seq->before != 0)
		uvmpi_sequence_take_place(seq, element);
}
/* Puts the element in by its key. O(log elements). */
void uvmpi_sequence_insert(struct sequence *seq, uint32_t element, uint32_t kind);
/* Changes the weight of an element that stays in its place. */
void uvmpi_sequence_weigh(struct sequence *seq, uint32_t element, uint32_t weight);

/* -- look; UVMP_UNIT_NONE: there is no such element -- */

static inline uint32_t sequence_first(const struct sequence *seq, uint32_t kind)
{
	return sequence_element(seq, seq->link[sequence_end(0, kind)].next);
}
/* The next one of the same kind. O(1). */
static inline uint32_t sequence_next(const struct sequence *seq, uint32_t element)
{
	return sequence_element(seq, seq->link[seq->base[0] + element].next);
}
/* The one before it of the same kind. O(1). */
static inline uint32_t sequence_previous(const struct sequence *seq, uint32_t element)
{
	return sequence_element(seq, seq->link[seq->base[0] + element].prev);
}
/* The first, and the next one, of any kind. O(log elements). */
uint32_t uvmpi_sequence_first(const struct sequence *seq);
uint32_t uvmpi_sequence_next(const struct sequence *seq, uint32_t element);
/* Moves the boundary before the element that covers `rank`, a number of units below the sum of all weights. O(units by which
 * the boundary moves): as many as have come or left since the last call, or by how much `rank` differs. */
void uvmpi_sequence_seek(struct sequence *seq, uint32_t rank);
/* The first behind the boundary, of a kind, and of any kind. */
uint32_t uvmpi_sequence_behind(const struct sequence *seq, uint32_t kind);
uint32_t uvmpi_sequence_first_behind(const struct sequence *seq);

/* -- walks of orders whose elements are units, and whose kind 1 has the spared ones -- */

/* The victim of eviction_order.victim. */
static inline uint32_t sequence_victim(struct sequence *seq, uint32_t rank, enum evict_walk walk)
{
	uint32_t found;

	if (rank != 0)
		uvmpi_sequence_seek(seq, rank);
	if (walk == EVICT_ANY)
		return rank != 0 ? uvmpi_sequence_first_behind(seq) : uvmpi_sequence_first(seq);
	found = rank != 0 ? uvmpi_sequence_behind(seq, 0) : sequence_first(seq, 0);
	if (found == UVMP_UNIT_NONE && walk == EVICT_SPARED_LAST)
		found = rank != 0 ? uvmpi_sequence_behind(seq, 1) : sequence_first(seq, 1);
	return found;
}
/* The unit that follows one of the walk. */
static inline uint32_t sequence_walk(const struct sequence *seq, uint32_t unit, enum evict_walk walk)
{
	uint32_t found;

	if (walk == EVICT_ANY)
		return uvmpi_sequence_next(seq, unit);
	found = sequence_next(seq, unit);
	if (found == UVMP_UNIT_NONE && walk == EVICT_SPARED_LAST && seq->kind[unit] == 0)
		found = sequence_first(seq, 1);
	return found;
}

#endif
