/* Ranges; space_internal.h.
 *
 * Ranges have slots, which stay the same until they are removed. range_order lists them by (space, start), for binary
 * search. */
#include "prefetch_states_internal.h"
#include "runtime_logs_internal.h"
#include "space_internal.h"

uint32_t uvmpi_range_from(const struct uvmp_service *s, uint32_t space, uvmp_addr address)
{
	uint32_t first = 0, end = s->ranges;

	while (first < end) {
		uint32_t middle = first + (end - first) / 2u;
		const struct range *r = &s->range[s->range_order[middle]];

		if (r->space < space || (r->space == space && r->last < address))
			first = middle + 1u;
		else
			end = middle;
	}
	return first;
}

/* Does the range at this index of range_order belong to the space and begin at or below the address? */
static bool begins_below(const struct uvmp_service *s, uint32_t index, uint32_t space, uvmp_addr address)
{
	return uvmpi_range_is_in(s, index, space) && s->range[s->range_order[index]].start <= address;
}

uint32_t uvmpi_range_find(const struct uvmp_service *s, uint32_t space, uvmp_addr address)
{
	uint32_t index = uvmpi_range_from(s, space, address);

	return begins_below(s, index, space, address) ? index : NO_INDEX;
}

bool uvmpi_range_covers(const struct uvmp_service *s, uint32_t space, uvmp_addr base, uvmp_addr last)
{
	uint32_t index = uvmpi_range_from(s, space, base);

	for (; begins_below(s, index, space, base); index++) {
		uvmp_addr range_last = s->range[s->range_order[index]].last;

		if (range_last >= last)
			return true;
		base = range_last + 1u;
	}
	return false;
}

uint32_t uvmpi_range_take_slot(struct uvmp_service *s)
{
	uint32_t slot = s->free_range;

	s->free_range = s->range[slot].next_free;
	uvmpi_prefetch_states_clear(s, slot);
	return slot;
}

void uvmpi_range_insert(struct uvmp_service *s, uint32_t index, uint32_t slot)
{
	for (uint32_t i = s->ranges++; i > index; i--)
		s->range_order[i] = s->range_order[i - 1u];
	s->range_order[index] = slot;
}

/* Whole pages, and below 2^64? An end of 2^64 itself wraps to 0 and is allowed. */
static bool are_pages(const struct uvmp_service *s, uvmp_addr base, uint64_t bytes)
{
	return bytes != 0 && ((base | bytes) & (s->page_bytes - 1u)) == 0 && bytes - 1u <= UINT64_MAX - base;
}

enum uvmp_status uvmp_service_add_range(struct uvmp_service *service, uint64_t space, uvmp_addr base,
                                        uint64_t bytes, enum uvmp_right right, uint32_t home)
{
	uint32_t slot, index;
	struct range *r;

	if (!uvmp_service_is_valid(service))
		return UVMP_ERR_ARGUMENT;
	if (!are_pages(service, base, bytes) || (uint32_t)right - 1u >= UVMP_RIGHT_READ_WRITE_ATOMIC ||
	    (home != UVMP_CPU && home != UVMP_PROC_NONE))
		return UVMP_ERR_RANGE;
	slot = uvmpi_space_find(service, space);
	index = uvmpi_range_from(service, slot, base);
	if (begins_below(service, index, slot, base + (bytes - 1u)))
		return UVMP_ERR_CONFLICT;
	if (service->ranges == service->range_slots)
		return UVMP_ERR_SPACE;
	slot = uvmpi_space_use(service, space);
	if (slot == NO_INDEX)
		return UVMP_ERR_SPACE;
	index = uvmpi_range_from(service, slot, base);
	r = &service->range[uvmpi_range_take_slot(service)];
	*r = (struct range){.start = base,
	                    .last = base + (bytes - 1u),
	                    .origin = base,
	                    .space = slot,
	                    .next_free = NO_INDEX,
	                    .preferred = UVMP_PROC_NONE,
	                    .duplication = UVMP_DUPLICATION_UNSET,
	                    .right = (uint8_t)right,
	                    .home = (uint8_t)home,
	                    .allocation = (uint32_t)(r - service->range)};
	uvmpi_range_insert(service, index, r->allocation);
	service->adapt.managed_bytes += bytes;
	uvmpi_runtime_watch(service, r->allocation, r->last);
	return UVMP_OK;
}

void uvmpi_range_remove(struct uvmp_service *s, uint32_t index, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t slot = s->range_order[index + i];
		struct range *r = &s->range[slot];

		s->adapt.managed_bytes -= r->last - r->start + 1u;
		s->used_bytes -= r->is_used ? r->last - r->start + 1u : 0;
		uvmpi_runtime_forget(s, slot);
		uvmpi_space_unuse(s, r->space);
		r->next_free = s->free_range;
		s->free_range = slot;
	}
	s->ranges -= count;
	for (; index < s->ranges; index++)
		s->range_order[index] = s->range_order[index + count];
}

/* If the first part of a range was freed, the lowest remaining part becomes the origin. */
static void begin_later(struct uvmp_service *s, uint32_t space, uvmp_addr origin)
{
	uint32_t heir = NO_INDEX, index;
	uvmp_addr last = 0;

	for (index = uvmpi_range_from(s, space, origin); uvmpi_range_is_in(s, index, space); index++) {
		struct range *r = &s->range[s->range_order[index]];

		if (r->origin != origin)
			continue;
		if (heir == NO_INDEX)
			heir = s->range_order[index];
		r->origin = s->range[heir].start;
		r->allocation = heir;
		last = r->last;
	}
	if (heir == NO_INDEX)
		return;
	s->range[heir].pattern = UVMP_PATTERN_UNDECIDED;
	uvmpi_runtime_watch(s, heir, last);
}

void uvmpi_range_remove_part(struct uvmp_service *s, uint32_t index, uint32_t count)
{
	const struct range first = s->range[s->range_order[index]];

	uvmpi_range_remove(s, index, count);
	if (first.start == first.origin)
		begin_later(s, first.space, first.origin);
}
