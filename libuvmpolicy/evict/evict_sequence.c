/* The sorted sequence of orders that spare units (sequence_internal.h). */
#include "sequence_internal.h"

/* -- setting up -- */

/* The largest spread number in a lane; every number up to it has a place there. */
static uint32_t largest(const struct sequence *seq, uint32_t lane)
{
	return seq->mask >> SEQUENCE_LANE_BITS * lane;
}

/* The highest lane has place for four or more. */
void uvmpi_sequence_init(struct sequence *seq, uint32_t elements, void *memory)
{
	uint32_t mask = 0, lanes = 1, next;

	while (mask < elements - 1u)
		mask = 2u * mask + 1u;
	while ((uint64_t)mask >> SEQUENCE_LANE_BITS * lanes >= 3u)
		lanes++;
	*seq = (struct sequence){.link = (struct recency_link *)memory,
				 .lanes = lanes,
				 .elements = elements,
				 .mask = mask,
				 .laned = lanes > 1u ? (mask >> SEQUENCE_LANE_BITS) + 1u : 0,
				 .last = {UVMP_UNIT_NONE, UVMP_UNIT_NONE}};
	for (uint32_t end = 0; end < lanes * SEQUENCE_KINDS; end++)
		seq->link[end] = (struct recency_link){end, end};
	seq->base[0] = lanes * SEQUENCE_KINDS;
	next = seq->base[0] + elements;
	for (uint32_t lane = 1; lane < lanes; lane++) {
		seq->base[lane] = next;
		next += largest(seq, lane) + 1u;
	}
	seq->key = (struct sequence_key *)(seq->link + next);
	seq->weight = (uint8_t *)(seq->key + elements);
	seq->kind = seq->weight + elements;
}

void uvmpi_sequence_move(const struct sequence *from, struct sequence *to, uint32_t begun)
{
	__builtin_memcpy(to->key, from->key, begun * sizeof(*to->key));
	__builtin_memcpy(to->weight, from->weight, begun);
	__builtin_memcpy(to->kind, from->kind, begun);
	for (uint32_t kind = 0; kind < SEQUENCE_KINDS; kind++)
		for (uint32_t element = sequence_first(from, kind); element != UVMP_UNIT_NONE;
		     element = sequence_next(from, element))
			sequence_append(to, element, kind);
	to->before = from->before;
	__builtin_memcpy(to->last, from->last, sizeof(to->last));
}

bool uvmpi_sequence_is_valid(const struct sequence *seq)
{
	return seq->link != NULL && seq->key != NULL && seq->weight != NULL && seq->kind != NULL && seq->elements != 0 &&
	       seq->elements <= UVMP_UNITS_MAX && seq->lanes - 1u < SEQUENCE_LANES &&
	       seq->base[0] == seq->lanes * SEQUENCE_KINDS;
}

/* -- lanes -- */

static bool has_lane(const struct sequence *seq, uint32_t lane, uint32_t spread)
{
	return lane < seq->lanes && spread <= largest(seq, lane);
}
void uvmpi_sequence_unlink_lanes(struct sequence *seq, uint32_t element)
{
	uint32_t spread = sequence_spread(seq, element);

	for (uint32_t lane = 1; has_lane(seq, lane, spread); lane++)
		link_remove(seq->link, seq->base[lane] + spread);
}

void uvmpi_sequence_append_lanes(struct sequence *seq, uint32_t element, uint32_t kind)
{
	uint32_t spread = sequence_spread(seq, element);

	for (uint32_t lane = 1; has_lane(seq, lane, spread); lane++)
		link_append(seq->link, seq->base[lane] + spread, sequence_end(lane, kind));
}

/* -- the boundary -- */

static bool is_before(const struct sequence *seq, uint32_t element)
{
	uint32_t last = seq->last[seq->kind[element]];

	return last != UVMP_UNIT_NONE && !sequence_is_less(seq, last, element);
}

void uvmpi_sequence_leave_place(struct sequence *seq, uint32_t element)
{
	uint32_t *last = &seq->last[seq->kind[element]];

	if (!is_before(seq, element))
		return;
	seq->before -= seq->weight[element];
	if (*last == element)
		*last = sequence_previous(seq, element);
}

/* The element is before the boundary if a greater one is. */
void uvmpi_sequence_take_place(struct sequence *seq, uint32_t element)
{
	uint32_t *last = &seq->last[seq->kind[element]], other = seq->last[1u - seq->kind[element]];
	bool is_last = *last == UVMP_UNIT_NONE || sequence_is_less(seq, *last, element);

	if (is_last && (other == UVMP_UNIT_NONE || sequence_is_less(seq, other, element)))
		return;
	seq->before += seq->weight[element];
	if (is_last)
		*last = element;
}

void uvmpi_sequence_weigh(struct sequence *seq, uint32_t element, uint32_t weight)
{
	if (seq->before != 0 && is_before(seq, element))
		seq->before += weight - seq->weight[element];
	seq->weight[element] = (uint8_t)weight;
}

/* The one with the smaller key of two elements, if there are two. */
static uint32_t lesser(const struct sequence *seq, uint32_t a, uint32_t b)
{
	if (a == UVMP_UNIT_NONE || b == UVMP_UNIT_NONE)
		return a == UVMP_UNIT_NONE ? b : a;
	return sequence_is_less(seq, a, b) ? a : b;
}

uint32_t uvmpi_sequence_behind(const struct sequence *seq, uint32_t kind)
{
	return seq->last[kind] == UVMP_UNIT_NONE ? sequence_first(seq, kind) : sequence_next(seq, seq->last[kind]);
}

uint32_t uvmpi_sequence_first_behind(const struct sequence *seq)
{
	return lesser(seq, uvmpi_sequence_behind(seq, 0), uvmpi_sequence_behind(seq, 1));
}

/* The last element before the boundary, which is not at the beginning. */
static uint32_t last_before(const struct sequence *seq)
{
	uint32_t a = seq->last[0], b = seq->last[1];

	if (a == UVMP_UNIT_NONE || b == UVMP_UNIT_NONE)
		return a == UVMP_UNIT_NONE ? b : a;
	return sequence_is_less(seq, a, b) ? b : a;
}

void uvmpi_sequence_seek(struct sequence *seq, uint32_t rank)
{
	uint32_t element;

	while (seq->before > rank) {
		element = last_before(seq);
		seq->last[seq->kind[element]] = sequence_previous(seq, element);
		seq->before -= seq->weight[element];
	}
	for (element = uvmpi_sequence_first_behind(seq); seq->before + seq->weight[element] <= rank;
	     element = uvmpi_sequence_first_behind(seq)) {
		seq->last[seq->kind[element]] = element;
		seq->before += seq->weight[element];
	}
}

/* -- search -- */

/* path[lane] becomes the last link of the lane and kind whose key is below the element's: an end, or a link of another. */
static void search(const struct sequence *seq, uint32_t element, uint32_t kind, uint32_t *path)
{
	uint32_t at = sequence_end(seq->lanes - 1u, kind), next, other;

	for (uint32_t lane = seq->lanes - 1u;; lane--) {
		for (next = seq->link[at].next; next >= seq->base[0]; next = seq->link[at].next) {
			other = next - seq->base[lane];
			if (!sequence_is_less(seq, lane == 0 ? other : sequence_gather(seq, other), element))
				break;
			at = next;
		}
		path[lane] = at;
		if (lane == 0)
			return;
		other = at - seq->base[lane]; /* the same element in the lane below */
		if (at < seq->base[0])
			at = sequence_end(lane - 1u, kind);
		else
			at = seq->base[lane - 1u] + (lane == 1u ? sequence_gather(seq, other) : other);
	}
}

void uvmpi_sequence_insert(struct sequence *seq, uint32_t element, uint32_t kind)
{
	uint32_t spread = sequence_spread(seq, element), path[SEQUENCE_LANES];
	uint32_t newest = sequence_element(seq, seq->link[sequence_end(0, kind)].prev);

	if (newest == UVMP_UNIT_NONE || sequence_is_less(seq, newest, element)) {
		sequence_append(seq, element, kind);
	} else {
		search(seq, element, kind, path);
		seq->kind[element] = (uint8_t)kind;
		link_insert(seq->link, seq->base[0] + element, path[0]);
		for (uint32_t lane = 1; has_lane(seq, lane, spread); lane++)
			link_insert(seq->link, seq->base[lane] + spread, path[lane]);
	}
	if (seq->before != 0)
		uvmpi_sequence_take_place(seq, element);
}

void uvmpi_sequence_link_lanes(struct sequence *seq, uint32_t element, uint32_t kind)
{
	uint32_t spread = sequence_spread(seq, element), at = seq->link[seq->base[0] + element].prev, other = 0;

	for (uint32_t lane = 1; has_lane(seq, lane, spread); lane++) {
		for (; at >= seq->base[0]; at = seq->link[at].prev) { /* back to an element of this lane */
			other = at - seq->base[lane - 1u];
			other = lane == 1u ? sequence_spread(seq, other) : other;
			if (has_lane(seq, lane, other))
				break;
		}
		at = at < seq->base[0] ? sequence_end(lane, kind) : seq->base[lane] + other;
		link_insert(seq->link, seq->base[lane] + spread, at);
	}
}

uint32_t uvmpi_sequence_first(const struct sequence *seq)
{
	return lesser(seq, sequence_first(seq, 0), sequence_first(seq, 1));
}

uint32_t uvmpi_sequence_next(const struct sequence *seq, uint32_t element)
{
	uint32_t path[SEQUENCE_LANES];

	search(seq, element, 1u - seq->kind[element], path);
	return lesser(seq, sequence_next(seq, element), sequence_element(seq, seq->link[path[0]].next));
}
