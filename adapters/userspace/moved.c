/* Settles memory that the program has unmapped or moved (messages.c), between actions.
 *
 * Stored contents are copied to where the program has moved their pages; resident pages moved with the
 * mapping. The memory stays registered until then, so that a thread that touches a missing page waits;
 * afterwards it belongs to the kernel. An area without mapped pages is freed. */
#include "pager_internal.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

/* Contents that cannot be copied must not read as zeros. */
static void revoke_access(struct uvmp_pager *p, uint64_t to, uint64_t bytes, int error)
{
	if (p->stats.store_error == 0)
		p->stats.store_error = error;
	mprotect((void *)(uintptr_t)to, bytes, PROT_NONE);
}

/* Copies a run of store pages of one block to `to`. -EAGAIN: that memory is changing again. */
static int copy_run(struct uvmp_pager *p, uint64_t store_page, uint64_t to, uint64_t bytes)
{
	const void *data = p->store->at ? p->store->at(p->store, store_page) : NULL;
	int error = 0;

	if (!data) {
		error = p->store->read(p->store, store_page, bytes / UVMP_STORE_PAGE_BYTES, p->bounce);
		data = p->bounce;
	}
	if (error == 0)
		error = uffd_copy(&p->uffd, to, data, bytes, false);
	if (error == -EAGAIN)
		return error;
	if (error != 0 && error != -ENOENT)
		revoke_access(p, to, bytes, error);
	return 0;
}

static int copy_stored(struct uvmp_pager *p, const struct area *area, struct moved d)
{
	struct part part;
	int error = 0;

	for (uint64_t at = d.from; area_next(area, at, d.from + d.bytes, &part) && error == 0;
	     at += part.bytes) {
		struct uvmp_region run;
		uvmp_mask stored;

		uvmp_mask_region_and(&stored, &part.block->stored, part.run);
		for (run = uvmp_mask_next_run(&stored, 0); run.end != 0 && error == 0;
		     run = uvmp_mask_next_run(&stored, run.end)) {
			uint64_t block = at - at % BLOCK_BYTES;
			uint64_t first = block + (uint64_t)run.first * p->page_bytes;
			uint64_t limit = block + (uint64_t)run.end * p->page_bytes;

			first = first > at ? first : at;
			limit = limit < at + part.bytes ? limit : at + part.bytes;
			error = copy_run(p, area->store_page + (first - area->base) / KERNEL_PAGE,
					 d.to + (first - d.from), limit - first);
		}
	}
	return error;
}

/* Gives the memory to the kernel. -EAGAIN: repeat later. */
static int release(struct uvmp_pager *p, uint64_t at, uint64_t bytes)
{
	int error = uffd_protect(&p->uffd, at, bytes, false);

	if (error == -EAGAIN)
		return error;
	error = uffd_unregister(&p->uffd, at, bytes);
	uffd_wake(&p->uffd, at, bytes);
	messages_forget(p, at, bytes);
	return error;
}

/* A mapping of the store's file takes its contents along, so the file must keep them. */
static int settle_one(struct uvmp_pager *p, struct moved d)
{
	struct area *area = areas_find(&p->areas, d.from);
	int error = 0;

	uffd_wake(&p->uffd, d.from, d.bytes);
	if (!area)
		return 0;
	if (d.to != 0 && !p->store->is_mapped)
		error = copy_stored(p, area, d);
	if (d.to != 0 && error == 0)
		error = release(p, d.to, d.bytes);
	if (error == -EAGAIN)
		return error;
	if (d.to != 0 && p->store->is_mapped)
		area->keeps_store = true;
	else
		p->store->forget(p->store, area->store_page + (d.from - area->base) / KERNEL_PAGE,
				 d.bytes / KERNEL_PAGE);
	return 0;
}

static void free_unmapped(struct uvmp_pager *p)
{
	for (size_t i = p->areas.count; i-- > 0;) {
		if (p->areas.area[i]->mapped == 0)
			mapping_free(p, p->areas.area[i]);
	}
}

void moved_settle(struct uvmp_pager *p)
{
	if (p->moves == 0)
		return;
	while (p->moves != 0) {
		if (settle_one(p, p->moved[0]) == -EAGAIN) {
			messages_drain(p); /* it may belong elsewhere now */
			continue;
		}
		p->moves--;
		memmove(p->moved, p->moved + 1, p->moves * sizeof(*p->moved));
	}
	free_unmapped(p);
}

/* -- memory that is not managed -- */

/* mremap has added this memory to a managed mapping, or has left it behind. Finds the largest range around
 * the address that certainly holds no managed page. */
static void unmanaged_around(const struct uvmp_pager *p, uint64_t address, uint64_t *first, uint64_t *bytes)
{
	const struct area *area = areas_find(&p->areas, address);
	uint64_t block = address - address % BLOCK_BYTES;
	uint32_t page = (uint32_t)(address % BLOCK_BYTES / p->page_bytes), limit = page;
	const uvmp_mask *foreign;

	*first = block;
	*bytes = BLOCK_BYTES;
	if (!area)
		return;
	foreign = &area_block(area, address)->foreign;
	while (page != 0 && uvmp_mask_test(foreign, page - 1u))
		page--;
	limit = uvmp_mask_next_clear(foreign, limit);
	*first = block + (uint64_t)page * p->page_bytes;
	*bytes = (uint64_t)(limit - page) * p->page_bytes;
	if (*bytes > block + BLOCK_BYTES - *first)
		*bytes = block + BLOCK_BYTES - *first;
}

struct replacing {
	const struct uvmp_pager *pager;
	uint64_t page;
	atomic_bool is_done;
};

static void *replace(void *context)
{
	struct replacing *r = context;

	if (r->pager->thread_began)
		r->pager->thread_began();
	(void)mmap((void *)(uintptr_t)r->page, KERNEL_PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	atomic_store(&r->is_done, true);
	return NULL;
}

/* The store's file has pages of other areas at this place, so the page gets anonymous memory instead. It
 * stays registered until then, so that no thread writes to the file. The kernel therefore sends a message for
 * the mmap, which one thread waits for and this one reads. */
static void replace_page(struct uvmp_pager *p, uint64_t page)
{
	struct replacing replacing = {p, page, false};
	pthread_t thread;

	if (pager_thread(&thread, replace, &replacing) != 0)
		return; /* it faults again */
	while (!atomic_load(&replacing.is_done)) {
		while (messages_read(p, MESSAGES_MOST) != 0)
			;
		sched_yield();
	}
	pthread_join(thread, NULL);
	messages_forget(p, page, KERNEL_PAGE);
}

void moved_release(struct uvmp_pager *p, uint64_t address)
{
	uint64_t page = address & ~(KERNEL_PAGE - 1u), first, bytes;

	unmanaged_around(p, address, &first, &bytes);
	if (p->store->is_mapped)
		replace_page(p, page);
	else if (release(p, first, bytes) != 0)
		(void)release(p, page, KERNEL_PAGE);
	uffd_wake(&p->uffd, page, KERNEL_PAGE);
}
