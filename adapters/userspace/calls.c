/* The program's calls about its managed memory: allocated, freed, moved, advised on. */
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

/* Not in a hole that the program has made in an area: the engine knows that as a whole. Nor, while a trace is
 * recorded, where an area was that the program has unmapped or moved by itself: a trace sees an address once.
 * What comes from there stays taken. */
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

bool pager_map_area(const struct uvmp_pager *p, const struct area *area, uint64_t first, uint64_t bytes)
{
	uint64_t offset = area->store_page * UVMP_STORE_PAGE_BYTES + (first - area->base);

	return mmap((void *)(uintptr_t)first, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
	            p->store->fd, (off_t)offset) != MAP_FAILED;
}

/* Pages of 4 KiB come and go: the kernel is not to make larger ones of them. */
static bool add_area(struct uvmp_pager *p, uint64_t base, uint64_t asked)
{
	struct area *area = areas_add(&p->areas, base, asked);

	if (!area)
		return false;
	if (p->store->is_mapped && !pager_map_area(p, area, base, area->bytes)) {
		areas_remove(&p->areas, area);
		return false;
	}
	madvise((void *)(uintptr_t)base, area->bytes, MADV_NOHUGEPAGE);
	if (uffd_register(&p->uffd, base, area->bytes) == 0) {
		if (uvmp_service_add_range(p->service, SPACE, base, area->bytes, UVMP_PROT_READ_WRITE_ATOMIC,
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

/* Requests: the lock is held, and what the engine wants done for them is done here. */
static int finish(struct uvmp_pager *p, enum uvmp_status queued, uint64_t ticket)
{
	enum uvmp_status status = queued;

	p->error = 0;
	if (queued == UVMP_OK)
		status = serve_pump(p, ticket);
	if (status == UVMP_OK)
		return 0;
	if (p->error != 0)
		return p->error;
	return status == UVMP_ERR_UNKNOWN || status == UVMP_ERR_RANGE ? -EINVAL : -ENOMEM;
}

/* What is unregistered first sends no message, for which nobody but us would be there; what cannot be is
 * left. */
void pager_unmap_area(struct uvmp_pager *p, const struct area *area)
{
	uint64_t first = area->base, bytes = 0;

	for (; area_next_ours(area, first, &first, &bytes); first += bytes) {
		p->store->forget(p->store, area->store_page + (first - area->base) / UVMP_STORE_PAGE_BYTES,
		                 bytes / UVMP_STORE_PAGE_BYTES);
		mprotect((void *)(uintptr_t)first, bytes, PROT_NONE); /* whoever waits there reads no zeros */
		if (uffd_unregister(&p->uffd, first, bytes) != 0)
			continue;
		if (p->trace) /* the trace must not see the address again: it stays taken */
			madvise((void *)(uintptr_t)first, bytes, MADV_DONTNEED);
		else
			munmap((void *)(uintptr_t)first, bytes);
	}
}

/* From here to the end of the area, or to what is lost. */
static uint64_t usable(const struct area *area, uint64_t base)
{
	uint64_t first, bytes;

	if (!area || !area_next_ours(area, base, &first, &bytes))
		return 0;
	return first == base ? bytes : 0;
}

void pager_free_area(struct uvmp_pager *p, struct area *area)
{
	uint64_t ticket = 0;
	enum uvmp_status queued;

	queued = uvmp_service_free_range(p->service, SPACE, area->base, &ticket);
	(void)finish(p, queued, ticket);
	for (uint64_t i = 0; i < area->bytes / BLOCK_BYTES; i++)
		p->stats.resident_bytes -= (uint64_t)uvmp_mask_weight(&area->block[i].here) * p->page_bytes;
	sample_forget(p, area->base, area->bytes);
	trace_file_free(p->trace, area->base);
	if (p->trace && usable(area, area->base) != area->bytes)
		areas_retire(&p->areas, area);
	pager_unmap_area(p, area);
	areas_remove(&p->areas, area);
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
		pager_free_area(p, area);
	else
		area = NULL;
	pager_leave(p);
	return area ? 0 : -EINVAL;
}

/* The area that holds all of these whole pages; NULL: none does. */
static struct area *whole_pages(const struct uvmp_pager *p, uint64_t base, uint64_t bytes)
{
	struct area *area = areas_find(&p->areas, base);

	if (!area || base % p->page_bytes != 0 || bytes % p->page_bytes != 0 || bytes > usable(area, base))
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
		area_give(area, base, bytes, false);
		if (area->held == 0)
			pager_free_area(p, area);
		else
			serve_clear(p, base, bytes);
	}
	pager_leave(p);
	return area ? 0 : -EINVAL;
}

/* Whole pages within the range: what shares a page with its neighbours keeps it. */
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
	return on_whole_pages(p, memory, bytes, serve_clear);
}

size_t uvmp_pager_usable(struct uvmp_pager *p, const void *memory)
{
	uint64_t base = (uint64_t)(uintptr_t)memory;
	size_t bytes;

	if (!p)
		return 0;
	pager_enter(p);
	bytes = (size_t)usable(areas_find(&p->areas, base), base);
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
	error = finish(p, queued, ticket);
	if (error == 0)
		trace_file_prefetch(p->trace, base, bytes, is_in);
	pager_leave(p);
	return error;
}

struct translation {
	enum uvmp_advice advice;
	uint32_t processor;
	const char *row; /* of the trace */
};

static bool translate(enum uvmp_pager_advice advice, struct translation *to)
{
	static const struct translation table[] = {
	        [UVMP_PAGER_PREFER_RESIDENT] = {UVMP_ADVISE_PREFERRED, GPU, "preferred,gpu"},
	        [UVMP_PAGER_PREFER_STORE] = {UVMP_ADVISE_PREFERRED, UVMP_CPU, "preferred,cpu"},
	        [UVMP_PAGER_PREFER_NONE] = {UVMP_ADVISE_PREFERRED, UVMP_PROC_NONE, "preferred,none"},
	        [UVMP_PAGER_ACCESSED_BY] = {UVMP_ADVISE_ACCESSED_BY, GPU, "accessed-by,gpu"}};

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

	if (advice == UVMP_PAGER_DISCARD) /* no decision changes; and the engine's advice would cut blocks */
		return on_whole_pages(p, memory, asked, serve_disown);
	if (advice == UVMP_PAGER_READ_MOSTLY) /* a clean page has its second copy, in the store */
		return asked != 0 && asked <= uvmp_pager_usable(p, memory) ? 0 : -EINVAL;
	if (!p || !translate(advice, &to) || !take_pages(p, &base, &bytes))
		return -EINVAL;
	pager_enter(p);
	queued = uvmp_service_advise(p->service, SPACE, base, bytes, to.advice, to.processor, &ticket);
	error = finish(p, queued, ticket);
	if (error == 0)
		trace_file_advise(p->trace, to.row, base, bytes);
	pager_leave(p);
	return error;
}
