/* Managed ranges, as the engine has them. Advice cuts ranges inside of the engine only. */
#include "host_internal.h"

#include <string.h>

/* -- adding -- */

/* Each request that the engine has may cut a range in two: these cuts cannot fail, and have their space before. */
bool hostkit_range_reserve(struct uvmp_host *h, uint64_t more)
{
	struct hostkit_ranges *ranges = &h->ranges;
	void *array = hostkit_reserve(h, ranges->range, &ranges->capacity, ranges->count,
				      ranges->count + HOSTKIT_ACTIVE + more, sizeof(*ranges->range));

	if (array == NULL)
		return false;
	ranges->range = array;
	return true;
}

static void insert(struct hostkit_ranges *ranges, uint64_t at, struct hostkit_range range)
{
	memmove(ranges->range + at + 1u, ranges->range + at,
		(size_t)(ranges->count - at) * sizeof(*ranges->range));
	ranges->range[at] = range;
	ranges->count++;
}

enum uvmp_status hostkit_range_add(struct uvmp_host *h, uint64_t start, uint64_t last, uint32_t home)
{
	uint64_t at = hostkit_range_index(&h->ranges, start);
	enum uvmp_status status;

	if (at < h->ranges.count && h->ranges.range[at].start <= last)
		return UVMP_ERR_CONFLICT;
	if (!hostkit_range_reserve(h, 1))
		return UVMP_ERR_NO_MEMORY;
	status = uvmp_service_add_range(h->service, UVMP_HOST_SPACE, start, last - start + 1u,
					UVMP_RIGHT_READ_WRITE_ATOMIC, home);
	if (status != UVMP_OK)
		return status;
	insert(&h->ranges, at, (struct hostkit_range){start, last, start, home});
	hostkit_tables_add(h, start, last, home);
	return UVMP_OK;
}

/* The range of the options around the address, without what is managed already. */
enum uvmp_status hostkit_range_touch(struct uvmp_host *h, uvmp_addr address)
{
	uint64_t start = address & ~(h->options.range_bytes - 1u), last = start + (h->options.range_bytes - 1u);
	const struct hostkit_range *range = h->ranges.range;
	uint64_t at = hostkit_range_index(&h->ranges, address);

	if (!h->options.is_all_managed || (at < h->ranges.count && range[at].start <= address))
		return UVMP_OK;
	if (at > 0)
		start = hostkit_later(start, range[at - 1u].last + 1u);
	if (at < h->ranges.count)
		last = hostkit_sooner(last, range[at].start - 1u);
	return hostkit_range_add(h, start, last, hostkit_home(h));
}

enum uvmp_status hostkit_range_touch_all(struct uvmp_host *h, uint64_t start, uint64_t last)
{
	enum uvmp_status status = UVMP_OK;

	while (h->options.is_all_managed && status == UVMP_OK) {
		uint64_t at;

		status = hostkit_range_touch(h, start);
		at = hostkit_range_index(&h->ranges, start);
		if (status != UVMP_OK || h->ranges.range[at].last >= last)
			break;
		start = h->ranges.range[at].last + 1u;
	}
	return status;
}

/* -- freeing -- */

/* If a part at the base of a range is freed, its lowest remaining address becomes its base. */
static void move_base(struct hostkit_ranges *ranges, uint64_t base, uint64_t start, uint64_t last)
{
	uint64_t fresh = UINT64_MAX;

	if (base < start || base > last)
		return;
	for (uint64_t i = 0; i < ranges->count; i++)
		if (ranges->range[i].base == base)
			fresh = hostkit_sooner(fresh, ranges->range[i].start);
	for (uint64_t i = 0; i < ranges->count; i++)
		if (ranges->range[i].base == base)
			ranges->range[i].base = fresh;
}

/* Removes [start, last] from range `at`, which it overlaps. The next range to look at. */
static uint64_t cut(struct hostkit_ranges *ranges, uint64_t at, uint64_t start, uint64_t last)
{
	struct hostkit_range range = ranges->range[at];

	ranges->count--;
	memmove(ranges->range + at, ranges->range + at + 1u,
		(size_t)(ranges->count - at) * sizeof(*ranges->range));
	if (range.start < start)
		insert(ranges, at++, (struct hostkit_range){range.start, start - 1u, range.base, range.home});
	if (range.last > last)
		insert(ranges, at++, (struct hostkit_range){last + 1u, range.last, range.base, range.home});
	move_base(ranges, range.base, start, last);
	return at;
}

void hostkit_range_remove(struct uvmp_host *h, uint64_t start, uint64_t last)
{
	uint64_t at = hostkit_range_index(&h->ranges, start);

	while (at < h->ranges.count && h->ranges.range[at].start <= last)
		at = cut(&h->ranges, at, start, last);
	hostkit_tables_remove(h, start, last);
}

/* From the highest part to the lowest: without the lowest, the others would get another base. */
void hostkit_range_free(struct uvmp_host *h, uint64_t base)
{
	for (uint64_t i = h->ranges.count; i-- > 0;) {
		struct hostkit_range range = h->ranges.range[i];

		if (range.base == base)
			hostkit_range_remove(h, range.start, range.last);
	}
}
