/* Least frequently used 2 MiB first ([uvmsmart: victim-selection], policy 4), of equals the least recently
 * touched. The counts live in the keys of the sequence, which stay when a unit is taken out: a large page that
 * comes back continues its count. The original counts in the root of each tree and takes the less written of
 * equals first. */
#include "lfu2m_internal.h"

static struct frequency *list_of(const struct uvmp_evict *evict)
{
	return evict->state;
}

static void init(struct uvmp_evict *evict)
{
	struct frequency *list = list_of(evict);

	uvmpi_sequence_init(&list->order, evict->units, list + 1);
	list->clock = 0;
	list->begun = 0;
}

static bool is_valid(const struct uvmp_evict *evict)
{
	const struct frequency *list = list_of(evict);

	return uvmpi_sequence_is_valid(&list->order) && list->order.elements == evict->units &&
	       list->begun <= evict->units && evict->count <= list->begun;
}

static bool contains(const struct uvmp_evict *evict, uint32_t unit)
{
	const struct frequency *list = list_of(evict);

	return unit < list->begun && list->order.weight[unit] != 0;
}

/* Writes the state of the units up to this one that were never used. */
static void begin(struct frequency *list, uint32_t unit)
{
	for (; list->begun <= unit; list->begun++)
		sequence_begin(&list->order, list->begun);
}

/* -- change -- */

static void take_off(struct uvmp_evict *evict, uint32_t unit)
{
	struct frequency *list = list_of(evict);

	if (!contains(evict, unit))
		return;
	sequence_unlink(&list->order, unit);
	list->order.weight[unit] = 0;
	evict->count--;
}

/* Puts a unit that is not listed at the place of its key. */
static void put(struct uvmp_evict *evict, uint32_t unit)
{
	struct frequency *list = list_of(evict);

	list->order.weight[unit] = 1;
	uvmpi_sequence_insert(&list->order, unit, list->order.kind[unit]);
	evict->count++;
}

static void touch(struct uvmp_evict *evict, uint32_t unit)
{
	struct frequency *list = list_of(evict);

	begin(list, unit);
	take_off(evict, unit);
	list->order.key[unit].high++;
	list->order.key[unit].low = ++list->clock;
	put(evict, unit);
}

static void forget(struct uvmp_evict *evict, uint32_t unit)
{
	struct frequency *list = list_of(evict);

	if (unit >= list->begun)
		return;
	take_off(evict, unit);
	list->order.key[unit].high = 0;
	list->order.kind[unit] = 0;
}

static void weigh(struct uvmp_evict *evict, uint32_t unit, uint64_t frequency)
{
	struct frequency *list = list_of(evict);

	if (!contains(evict, unit) || list->order.key[unit].high == frequency)
		return;
	take_off(evict, unit);
	list->order.key[unit].high = frequency;
	put(evict, unit);
}

static void spare(struct uvmp_evict *evict, uint32_t unit, bool is_spared)
{
	struct frequency *list = list_of(evict);
	bool is_listed = contains(evict, unit);

	begin(list, unit);
	if (list->order.kind[unit] == is_spared)
		return;
	take_off(evict, unit);
	list->order.kind[unit] = is_spared;
	if (is_listed)
		put(evict, unit);
}

/* -- search -- */

static enum uvmp_status victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank, enum evict_walk walk,
			       uint32_t *unit)
{
	struct sequence *order = &list_of(evict)->order;
	uint32_t found;

	(void)random;
	if (rank != 0)
		uvmpi_sequence_seek(order, rank);
	if (walk == EVICT_ANY)
		return evict_found(rank != 0 ? uvmpi_sequence_first_behind(order) : uvmpi_sequence_first(order), unit);
	found = rank != 0 ? uvmpi_sequence_behind(order, 0) : sequence_first(order, 0);
	if (found == UVMP_UNIT_NONE && walk == EVICT_SPARED_LAST)
		found = rank != 0 ? uvmpi_sequence_behind(order, 1) : sequence_first(order, 1);
	return evict_found(found, unit);
}

static enum uvmp_status next(const struct uvmp_evict *evict, uint64_t *random, enum evict_walk walk, uint32_t *unit)
{
	const struct sequence *order = &list_of(evict)->order;
	uint32_t found;

	(void)random;
	if (!contains(evict, *unit))
		return UVMP_ERR_NO_MEMORY;
	if (walk == EVICT_ANY)
		return evict_found(uvmpi_sequence_next(order, *unit), unit);
	found = sequence_next(order, *unit);
	if (found == UVMP_UNIT_NONE && walk == EVICT_SPARED_LAST && order->kind[*unit] == 0)
		found = sequence_first(order, 1);
	return evict_found(found, unit);
}

const struct eviction_order uvmpi_order_lfu2m = {
	.name = "lfu2m",
	.traits = {.unit_pages = 512,
		   .has_granularity = true,
		   .has_reserve = true,
		   .counts_uses = true,
		   .spares_incomplete = true},
	.state_bytes = sizeof(struct frequency) + SEQUENCE_HEAD_BYTES,
	.unit_bytes = SEQUENCE_ELEMENT_BYTES,
	.init = init,
	.is_valid = is_valid,
	.contains = contains,
	.touch = touch,
	.remove = take_off,
	.forget = forget,
	.victim = victim,
	.next = next,
	.weigh = weigh,
	.spare = spare,
};
