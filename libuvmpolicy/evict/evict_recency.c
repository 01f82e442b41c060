/* Orders by recency: a doubly linked list in an array. Touching unlinks a unit and appends it at the end, so
 * the first unit is always the one whose last touch is oldest. A reserve is a boundary in the list. */
#include "../base/bits_internal.h"
#include "recency_internal.h"

bool uvmpi_recency_is_valid(const struct recency *list, uint32_t count)
{
	if (list->link == NULL || list->units - 1u >= UVMP_UNITS_MAX || list->begun > list->units || count > list->begun)
		return false;
	if (count == 0)
		return list->link[0].next == 0 && list->link[0].prev == 0;
	return list->link[0].next - 1u < list->begun && list->link[0].prev - 1u < list->begun;
}

void uvmpi_recency_begin(struct recency *list, uint32_t unit)
{
	for (; list->begun <= unit; list->begun++)
		list->link[list->begun + 1u] = (struct recency_link){list->begun + 1u, list->begun + 1u};
}

void uvmpi_recency_move(const struct recency *from, struct recency *to)
{
	to->begun = from->begun;
	__builtin_memcpy(to->link, from->link, ((size_t)from->begun + 1u) * sizeof(*to->link));
}

void uvmpi_by_recency_init(struct uvmp_evict *evict)
{
	struct by_recency *order = (struct by_recency *)evict->state;

	uvmpi_recency_init(&order->list, order->link, evict->units);
	order->is_cold = (uint8_t *)(order->link + evict->units + 1u);
	order->cold = order->last = order->direct = 0;
}

void uvmpi_by_recency_move(const struct uvmp_evict *from, struct uvmp_evict *to)
{
	const struct by_recency *old = (const struct by_recency *)from->state;
	struct by_recency *order = (struct by_recency *)to->state;

	uvmpi_recency_move(&old->list, &order->list);
	__builtin_memcpy(order->is_cold, old->is_cold, old->list.begun);
	order->cold = old->cold;
	order->last = old->last;
	order->direct = old->direct;
}

bool uvmpi_by_recency_is_valid(const struct uvmp_evict *evict)
{
	const struct by_recency *order = (const struct by_recency *)evict->state;

	return uvmpi_recency_is_valid(&order->list, evict->count) && order->list.units == evict->units &&
	       order->is_cold != NULL && order->cold <= evict->count && order->last <= order->list.begun;
}

bool uvmpi_by_recency_contains(const struct uvmp_evict *evict, uint32_t unit)
{
	const struct by_recency *order = (const struct by_recency *)evict->state;

	return uvmpi_recency_contains(&order->list, unit);
}

/* -- the boundary -- */

/* A listed unit leaves its place; a unit that is not listed is not cold. */
static inline void leave_place(struct by_recency *order, uint32_t unit)
{
	if (order->cold == 0 || !order->is_cold[unit])
		return;
	order->is_cold[unit] = false;
	order->cold--;
	if (order->last == unit + 1u)
		order->last = order->list.link[order->last].prev;
}

/* Moves the boundary behind the `rank` oldest units; *unit becomes the next one. */
static UVMPI_NOINLINE enum uvmp_status behind(struct by_recency *order, uint32_t rank, uint32_t *unit)
{
	order->direct = 0;
	for (; order->cold < rank; order->cold++) {
		order->last = order->list.link[order->last].next;
		order->is_cold[order->last - 1u] = true;
	}
	for (; order->cold > rank; order->cold--) {
		order->is_cold[order->last - 1u] = false;
		order->last = order->list.link[order->last].prev;
	}
	*unit = order->link[order->last].next - 1u;
	return UVMP_OK;
}

/* -- functions of the order -- */

static UVMPI_NOINLINE void begin(struct by_recency *order, uint32_t unit)
{
	for (uint32_t i = order->list.begun; i <= unit; i++)
		order->is_cold[i] = false;
	uvmpi_recency_begin(&order->list, unit);
	order->direct = order->cold == 0 ? order->list.begun : 0;
}

enum uvmp_status uvmpi_by_recency_touch(struct uvmp_evict *evict, uint32_t unit)
{
	struct by_recency *order = (struct by_recency *)evict->state;
	uint32_t at = unit + 1u;

	if (unit >= order->direct) {
		if (unit >= order->list.begun)
			begin(order, unit);
		leave_place(order, unit);
	}
	evict->count += order->link[at].next == at;
	link_remove(order->link, at); /* of a unit that is not listed: no effect */
	link_append(order->link, at, 0);
	return UVMP_OK;
}

enum uvmp_status uvmpi_by_recency_remove(struct uvmp_evict *evict, uint32_t unit)
{
	struct by_recency *order = (struct by_recency *)evict->state;
	struct recency_link *link = order->link;
	uint32_t at = unit + 1u;

	if (unit >= order->direct) {
		if (unit >= order->list.begun)
			return UVMP_OK;
		leave_place(order, unit);
	}
	if (link[at].next == at)
		return UVMP_OK;
	link_remove(link, at);
	link[at] = (struct recency_link){at, at};
	evict->count--;
	return UVMP_OK;
}

enum uvmp_status uvmpi_by_recency_victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank,
					 enum evict_walk walk, uint32_t used, uint32_t *unit)
{
	struct by_recency *order = (struct by_recency *)evict->state;

	(void)random, (void)walk, (void)used;
	if (rank != 0)
		return behind(order, rank, unit);
	*unit = order->link[0].next - 1u;
	return UVMP_OK;
}

enum uvmp_status uvmpi_by_recency_next(const struct uvmp_evict *evict, uint64_t *random, enum evict_walk walk,
				       uint32_t *unit)
{
	const struct by_recency *order = (const struct by_recency *)evict->state;

	(void)random, (void)walk;
	return evict_found(uvmpi_recency_next(&order->list, *unit), unit);
}
