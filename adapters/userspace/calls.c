/* The program's calls about its managed memory. */
#include "pager_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HOLES_MOST 64u

/* Address space that begins with a block. */
static uint8_t *reserve(uint64_t bytes)
{
	uint8_t *memory = mmap(NULL, bytes + BLOCK_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t before;

	if (memory == MAP_FAILED)
		return NULL;
	before = (BLOCK_BYTES - (uint64_t)(uintptr_t)memory % BLOCK_BYTES) % BLOCK_BYTES;
	if (before != 0)
		munmap(memory, before);
	munmap(memory + before + bytes, BLOCK_BYTES - before);
	return memory + before;
}

static void leave_hole(const struct uvmp_pager *p, uint8_t *hole, uint64_t bytes)
{
	if (areas_are_retired(&p->areas, (uint64_t)(uintptr_t)hole, bytes) &&
	    !areas_overlap(&p->areas, (uint64_t)(uintptr_t)hole, bytes))
		mprotect(hole, bytes, PROT_NONE);
	else
		munmap(hole, bytes);
}

/* Reserves address space outside of holes that the program has made in an area: the engine knows the area as
 * a whole. While a trace is recorded, also outside of areas that the program has unmapped or moved itself: in
 * a trace an address is used once. Such addresses stay reserved. */
static uint8_t *reserve_apart(const struct uvmp_pager *p, uint64_t bytes)
{
	uint8_t *hole[HOLES_MOST], *memory = NULL;
	size_t holes = 0;

	while (!memory && holes < HOLES_MOST) {
		memory = reserve(bytes);
		if (!memory)
			break;
		if (areas_overlap(&p->areas, (uint64_t)(uintptr_t)memory, bytes) ||
		    areas_are_retired(&p->areas, (uint64_t)(uintptr_t)memory, bytes)) {
			hole[holes++] = memory;
			memory = NULL;
		}
	}
	while (holes != 0)
		leave_hole(p, hole[--holes], bytes);
	return memory;
}

/* Single pages of 4 KiB are mapped and dropped, so the kernel must not merge them into huge pages. */
static bool add_area(struct uvmp_pager *p, uint64_t base, uint64_t asked)
{
	struct area *area = areas_add(&p->areas, base, asked);

	if (!area)
		return false;
	if (p->store->is_mapped && !mapping_map(p, area, base, area->bytes)) {
		areas_remove(&p->areas, area);
		return false;
	}
	madvise((void *)(uintptr_t)base, area->bytes, MADV_NOHUGEPAGE);
	if (uffd_register(&p->uffd, base, area->bytes) == 0) {
		if (uvmp_service_add_range(p->service, SPACE, base, area->bytes, UVMP_RIGHT_READ_WRITE_ATOMIC,
					   UVMP_PROC_NONE) == UVMP_OK)
			return true;
		uffd_unregister(&p->uffd, base, area->bytes);
	}
	areas_remove(&p->areas, area);
	return false;
}

void *uvmp_pager_alloc(struct uvmp_pager *p, size_t asked)
{
	uint64_t bytes = ((uint64_t)asked + BLOCK_BYTES - 1u) / BLOCK_BYTES * BLOCK_BYTES;
	uint8_t *memory;
	bool is_added;

	if (!p || asked == 0) {
		errno = EINVAL;
		return NULL;
	}
	pager_enter(p);
	memory = bytes < asked || bytes > (uint64_t)1 << 46 ? NULL : reserve_apart(p, bytes);
	if (memory) {
		is_added = add_area(p, (uint64_t)(uintptr_t)memory, asked);
		if (is_added && p->areas.bytes > p->stats.peak_managed_bytes)
			p->stats.peak_managed_bytes = p->areas.bytes;
		if (is_added)
			trace_file_range(p->trace, (uint64_t)(uintptr_t)memory, bytes);
		if (!is_added) {
			munmap(memory, bytes);
			memory = NULL;
		}
	}
	pager_leave(p);
	if (!memory)
		errno = ENOMEM;
	return memory;
}

int uvmp_pager_free(struct uvmp_pager *p, void *memory)
{
	uint64_t base = (uint64_t)(uintptr_t)memory;
	struct area *area;

	if (!memory)
		return 0;
	if (!p)
		return -EINVAL;
	pager_enter(p);
	area = areas_find(&p->areas, base);
	if (area && area->base == base)
		mapping_free(p, area);
	else
		area = NULL;
	pager_leave(p);
	return area ? 0 : -EINVAL;
}

/* The area that holds all of these whole pages, or NULL. */
static struct area *whole_pages(const struct uvmp_pager *p, uint64_t base, uint64_t bytes)
{
	struct area *area = areas_find(&p->areas, base);

	if (!area || base % p->page_bytes != 0 || bytes % p->page_bytes != 0 ||
	    bytes > area_usable(area, base))
		return NULL;
	return area;
}

int uvmp_pager_unmap(struct uvmp_pager *p, void *memory, size_t bytes)
{
	uint64_t base = (uint64_t)(uintptr_t)memory;
	struct area *area;

	if (!p || bytes == 0)
		return -EINVAL;
	pager_enter(p);
	area = whole_pages(p, base, bytes);
	if (area) {
		area_unmap(area, base, bytes, false);
		if (area->mapped == 0)
			mapping_free(p, area);
		else
			discard_and_zero(p, base, bytes);
	}
	pager_leave(p);
	return area ? 0 : -EINVAL;
}

/* Whole pages within the range. A page shared with neighbours keeps its contents. */
static int on_whole_pages(struct uvmp_pager *p, const void *memory, size_t bytes,
			  void (*how)(struct uvmp_pager *, uint64_t, uint64_t))
{
	uint64_t mask = p ? p->page_bytes - 1u : 0, base = (uint64_t)(uintptr_t)memory;
	uint64_t first = (base + mask) & ~mask, end = (base + bytes) & ~mask;
	bool is_ours;

	if (!p || bytes > UINT64_MAX - base)
		return -EINVAL;
	pager_enter(p);
	is_ours = first < end ? whole_pages(p, first, end - first) != NULL
			      : areas_find(&p->areas, base) != NULL;
	if (is_ours && first < end)
		how(p, first, end - first);
	pager_leave(p);
	return is_ours ? 0 : -EINVAL;
}

int uvmp_pager_clear(struct uvmp_pager *p, void *memory, size_t bytes)
{
	return on_whole_pages(p, memory, bytes, discard_and_zero);
}

size_t uvmp_pager_usable(struct uvmp_pager *p, const void *memory)
{
	uint64_t base = (uint64_t)(uintptr_t)memory;
	size_t bytes;

	if (!p)
		return 0;
	pager_enter(p);
	bytes = (size_t)area_usable(areas_find(&p->areas, base), base);
	pager_leave(p);
	return bytes;
}

/* Whole pages around [*base, *base + *bytes). */
static bool take_pages(const struct uvmp_pager *p, uint64_t *base, uint64_t *bytes)
{
	uint64_t end = *base + *bytes, mask = p->page_bytes - 1u;

	if (*bytes == 0 || end < *base || end > UINT64_MAX - mask)
		return false;
	*base &= ~mask;
	*bytes = ((end + mask) & ~mask) - *base;
	return true;
}

int uvmp_pager_prefetch(struct uvmp_pager *p, const void *memory, size_t asked, bool is_in)
{
	uint64_t base = (uint64_t)(uintptr_t)memory, bytes = asked, ticket = 0;
	enum uvmp_status queued;
	int error;

	if (!p || !take_pages(p, &base, &bytes))
		return -EINVAL;
	pager_enter(p);
	queued = uvmp_service_migrate(p->service, SPACE, base, bytes, is_in ? GPU : UVMP_CPU, &ticket);
	error = actions_finish(p, queued, ticket);
	if (error == 0)
		trace_file_prefetch(p->trace, base, bytes, is_in);
	pager_leave(p);
	return error;
}

struct translation {
	enum uvmp_advice advice;
	uint32_t processor;
	const char *name; /* of the processor, in traces */
};

static bool translate(enum uvmp_pager_advice advice, struct translation *to)
{
	static const struct translation table[] = {
		[UVMP_PAGER_PREFER_RESIDENT] = {UVMP_ADVISE_PREFERRED, GPU, "gpu"},
		[UVMP_PAGER_PREFER_STORE] = {UVMP_ADVISE_PREFERRED, UVMP_CPU, "cpu"},
		[UVMP_PAGER_PREFER_NONE] = {UVMP_ADVISE_PREFERRED, UVMP_PROC_NONE, "none"},
		[UVMP_PAGER_ACCESSED_BY] = {UVMP_ADVISE_ACCESSED_BY, GPU, "gpu"}};

	if ((uint32_t)advice >= sizeof(table) / sizeof(table[0]))
		return false;
	*to = table[advice];
	return true;
}

int uvmp_pager_advise(struct uvmp_pager *p, void *memory, size_t asked, enum uvmp_pager_advice advice)
{
	uint64_t base = (uint64_t)(uintptr_t)memory, bytes = asked, ticket = 0;
	enum uvmp_status queued;
	struct translation to;
	int error;

	if (advice == UVMP_PAGER_DISCARD) /* no decision changes, and advice would split blocks of the
					   * engine */
		return on_whole_pages(p, memory, asked, discard_contents);
	if (advice == UVMP_PAGER_READ_MOSTLY) /* a clean page has its second copy, in the store */
		return asked != 0 && asked <= uvmp_pager_usable(p, memory) ? 0 : -EINVAL;
	if (!p || !translate(advice, &to) || !take_pages(p, &base, &bytes))
		return -EINVAL;
	pager_enter(p);
	queued = uvmp_service_advise(p->service, SPACE, base, bytes, to.advice, to.processor, &ticket);
	error = actions_finish(p, queued, ticket);
	if (error == 0)
		trace_file_advise(p->trace, to.advice, to.name, base, bytes);
	pager_leave(p);
	return error;
}
