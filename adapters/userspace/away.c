/* Managed memory that the program unmaps or moves behind the pager's back: munmap(2), mremap(2), or mmap(2)
 * over it, which the kernel tells by messages of its own (UFFD_EVENT_UNMAP, UFFD_EVENT_REMAP).
 *
 * A thread that does so has done it when the message comes, and goes on as soon as the message has been read.
 * From the change on until then every call to userfaultfd says EAGAIN, so whoever holds the lock reads what
 * there is and never waits for the servicing thread, which may be he himself. That is done in two steps:
 *
 * Hearing: at any time, in the middle of an action too. The pages are lost (areas.c): no action touches them
 * any more. What the store has of them is noted as departed, with the place where it belongs now.
 *
 * Settling: between actions. Contents are brought to where the memory has moved, pages that were resident
 * having moved by themselves, and that memory is the kernel's from then on. It is registered until then: who
 * touches a page that has not come waits. An area of which nothing is held is freed.
 *
 * Memory may move on before it has settled, or be unmapped: what is on its way to it is led on. */
#include "pager_internal.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/userfaultfd.h>

#define KERNEL_PAGE ((uint64_t)UVMP_STORE_PAGE_BYTES)

/* -- hearing -- */

/* Room for one more; false: out of memory. */
static bool has_room(void **array, size_t count, size_t *room, size_t size)
{
	size_t more = *room == 0 ? 64 : 2u * *room;
	void *larger;

	if (count < *room)
		return true;
	larger = realloc(*array, more * size);
	if (!larger)
		return false;
	*array = larger;
	*room = more;
	return true;
}

static void keep_fault(struct uvmp_pager *p, const struct uffd_msg *message)
{
	struct heard heard = {.address = message->arg.pagefault.address,
	                      .flags = message->arg.pagefault.flags,
	                      .tid = p->uffd.has_tid ? message->arg.pagefault.feat.ptid : 0};
	void *array = p->heard;

	if (!has_room(&array, p->heards, &p->heard_room, sizeof(heard))) { /* it faults again */
		uffd_wake(&p->uffd, heard.address & ~(KERNEL_PAGE - 1u), KERNEL_PAGE);
		return;
	}
	p->heard = array;
	p->heard[p->heards++] = heard;
}

static void depart(struct uvmp_pager *p, uint64_t from, uint64_t to, uint64_t bytes)
{
	void *array = p->departed;

	if (bytes == 0)
		return;
	if (!has_room(&array, p->departures, &p->departed_room, sizeof(*p->departed))) {
		p->stats.store_error = -ENOMEM;
		return;
	}
	p->departed = array;
	p->departed[p->departures++] = (struct departed){from, to, bytes};
}

/* Pages that are here go with the mapping, as new as they are: what the store has of them is old. */
static void lose_part(struct uvmp_pager *p, const struct part *part)
{
	uvmp_mask here;

	uvmp_mask_region_and(&here, &part->block->here, part->run);
	p->stats.resident_bytes -= (uint64_t)uvmp_mask_weight(&here) * p->page_bytes;
	uvmp_mask_andnot(&part->block->stored, &part->block->stored, &here);
	uvmp_mask_region_clear(&part->block->here, part->run);
	uvmp_mask_region_clear(&part->block->dirty, part->run);
	uvmp_mask_region_clear(&part->block->wanted, part->run);
}

/* None of it is lost yet. A page of ours may be several of the kernel's: where only some of these have left
 * the others stay, as the program's own. */
static void lose_run(struct uvmp_pager *p, struct area *area, uint64_t from, uint64_t bytes, uint64_t to)
{
	uint64_t mask = p->page_bytes - 1u, end = from + bytes;
	uint64_t first = from & ~mask, outer = (end + mask) & ~mask;
	struct part part;

	sample_depart(p, area, first, outer - first);
	for (uint64_t at = first; area_next(area, at, outer, &part); at += part.bytes)
		lose_part(p, &part);
	area_give(area, first, outer - first, true);
	depart(p, first, first, from - first);
	depart(p, from, to, bytes);
	depart(p, end, end, outer - end);
}

/* What is on its way to both sides of the address is two of them. */
static void cut(struct uvmp_pager *p, uint64_t at)
{
	for (size_t i = 0, count = p->departures; i < count; i++) {
		struct departed d = p->departed[i];

		if (d.to == 0 || at <= d.to || at >= d.to + d.bytes)
			continue;
		p->departed[i].bytes = at - d.to;
		depart(p, d.from + (at - d.to), at, d.to + d.bytes - at);
	}
}

static void lead_on(struct uvmp_pager *p, uint64_t from, uint64_t bytes, uint64_t to)
{
	cut(p, from);
	cut(p, from + bytes);
	for (size_t i = 0; i < p->departures; i++) {
		struct departed *d = &p->departed[i];

		if (d->to >= from && d->to < from + bytes)
			d->to = to == 0 ? 0 : to + (d->to - from);
	}
}

/* [from, from + bytes) is unmapped, or has moved. The program's range may begin and end anywhere. */
static void lose_range(struct uvmp_pager *p, uint64_t from, uint64_t bytes, uint64_t to)
{
	uint64_t end = from + bytes;

	lead_on(p, from, bytes, to);
	for (size_t i = 0; i < p->areas.count; i++) {
		struct area *area = p->areas.area[i];
		uint64_t outer = area->base + area->bytes < end ? area->base + area->bytes : end;
		uint64_t at = area->base > from ? area->base : from, first, some;

		for (; at < outer && area_next_ours(area, at, &first, &some) && first < outer;
		     at = first + some) {
			some = some < outer - first ? some : outer - first;
			lose_run(p, area, first, some, to == 0 ? 0 : to + (first - from));
		}
	}
}

uint32_t away_hear(struct uvmp_pager *p, uint32_t most)
{
	struct uffd_msg message[AWAY_HEAR_MOST];
	ssize_t bytes = read(p->uffd.fd, message, most * sizeof(message[0]));
	uint32_t count = bytes <= 0 ? 0 : (uint32_t)((size_t)bytes / sizeof(message[0]));

	for (uint32_t i = 0; i < count; i++) {
		const struct uffd_msg *m = &message[i];

		if (m->event == UFFD_EVENT_PAGEFAULT)
			keep_fault(p, m);
		else if (m->event == UFFD_EVENT_UNMAP)
			lose_range(p, m->arg.remove.start, m->arg.remove.end - m->arg.remove.start, 0);
		else if (m->event == UFFD_EVENT_REMAP)
			lose_range(p, m->arg.remap.from, m->arg.remap.len, m->arg.remap.to);
	}
	return count;
}

/* The kernel gives faults before other messages: there are as many as threads at most, since nobody is woken
 * here. */
void away_listen(struct uvmp_pager *p)
{
	while (uffd_is_changing(&p->uffd)) {
		while (away_hear(p, AWAY_HEAR_MOST) != 0)
			;
		sched_yield();
	}
}

/* -- settling -- */

/* What cannot be brought must not read as zeros. */
static void lose_contents(struct uvmp_pager *p, uint64_t to, uint64_t bytes, int error)
{
	if (p->stats.store_error == 0)
		p->stats.store_error = error;
	mprotect((void *)(uintptr_t)to, bytes, PROT_NONE);
}

/* A run of pages of the store within a block, to where it belongs. -EAGAIN: that is changing again. */
static int carry_run(struct uvmp_pager *p, uint64_t store_page, uint64_t to, uint64_t bytes)
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
		lose_contents(p, to, bytes, error);
	return 0;
}

static int carry_stored(struct uvmp_pager *p, const struct area *area, struct departed d)
{
	struct part part;
	int error = 0;

	for (uint64_t at = d.from; area_next(area, at, d.from + d.bytes, &part) && error == 0;
	     at += part.bytes) {
		struct uvmp_region run;
		uvmp_mask stored;

		uvmp_mask_region_and(&stored, &part.block->stored, part.run);
		for (run = uvmp_mask_next_run(&stored, 0); run.outer != 0 && error == 0;
		     run = uvmp_mask_next_run(&stored, run.outer)) {
			uint64_t block = at - at % BLOCK_BYTES;
			uint64_t first = block + (uint64_t)run.first * p->page_bytes;
			uint64_t outer = block + (uint64_t)run.outer * p->page_bytes;

			first = first > at ? first : at;
			outer = outer < at + part.bytes ? outer : at + part.bytes;
			error = carry_run(p, area->store_page + (first - area->base) / KERNEL_PAGE,
			                  d.to + (first - d.from), outer - first);
		}
	}
	return error;
}

/* Who waited there has been woken, and is not to be looked after any more. */
static void forget_heard(struct uvmp_pager *p, uint64_t at, uint64_t bytes)
{
	for (size_t i = 0; i < p->heards; i++) {
		if (p->heard[i].address - at < bytes)
			p->heard[i].address = 0;
	}
}

/* The memory is the kernel's now. -EAGAIN: not yet. */
static int let_go(struct uvmp_pager *p, uint64_t at, uint64_t bytes)
{
	int error = uffd_protect(&p->uffd, at, bytes, false);

	if (error == -EAGAIN)
		return error;
	error = uffd_unregister(&p->uffd, at, bytes);
	uffd_wake(&p->uffd, at, bytes);
	forget_heard(p, at, bytes);
	return error;
}

/* A mapping of the store's file has all its contents with it, so the file must keep them. */
static int deliver(struct uvmp_pager *p, struct departed d)
{
	struct area *area = areas_find(&p->areas, d.from);
	int error = 0;

	uffd_wake(&p->uffd, d.from, d.bytes);
	if (!area)
		return 0;
	if (d.to != 0 && !p->store->is_mapped)
		error = carry_stored(p, area, d);
	if (d.to != 0 && error == 0)
		error = let_go(p, d.to, d.bytes);
	if (error == -EAGAIN)
		return error;
	if (d.to != 0 && p->store->is_mapped)
		area->is_kept = true;
	else
		p->store->forget(p->store, area->store_page + (d.from - area->base) / KERNEL_PAGE,
		                 d.bytes / KERNEL_PAGE);
	return 0;
}

static void free_what_is_over(struct uvmp_pager *p)
{
	for (size_t i = p->areas.count; i-- > 0;) {
		if (p->areas.area[i]->held == 0)
			pager_free_area(p, p->areas.area[i]);
	}
}

void away_settle(struct uvmp_pager *p)
{
	if (p->departures == 0)
		return;
	while (p->departures != 0) {
		if (deliver(p, p->departed[0]) == -EAGAIN) {
			away_listen(p); /* it may belong elsewhere now */
			continue;
		}
		p->departures--;
		memmove(p->departed, p->departed + 1, p->departures * sizeof(*p->departed));
	}
	free_what_is_over(p);
}

/* -- memory that nobody knows -- */

/* It is what mremap has added to a mapping of ours, or has left behind. The largest range around it that
 * certainly holds nothing of ours. */
static void unknown_around(const struct uvmp_pager *p, uint64_t address, uint64_t *first, uint64_t *bytes)
{
	const struct area *area = areas_find(&p->areas, address);
	uint64_t block = address - address % BLOCK_BYTES;
	uint32_t page = (uint32_t)(address % BLOCK_BYTES / p->page_bytes), outer = page;
	const uvmp_mask *lost;

	*first = block;
	*bytes = BLOCK_BYTES;
	if (!area)
		return;
	lost = &area_block(area, address)->lost;
	while (page != 0 && uvmp_mask_test(lost, page - 1u))
		page--;
	outer = uvmp_mask_next_clear(lost, outer);
	*first = block + (uint64_t)page * p->page_bytes;
	*bytes = (uint64_t)(outer - page) * p->page_bytes;
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

/* The file behind it has other areas' pages there: it becomes memory of its own. Registered until it has, so
 * that nobody writes to the file meanwhile; hence the kernel sends a message, which one of us waits for and
 * one reads. */
static void detach(struct uvmp_pager *p, uint64_t page)
{
	struct replacing replacing = {p, page, false};
	pthread_t thread;

	if (pager_thread(&thread, replace, &replacing) != 0)
		return; /* it faults again */
	while (!atomic_load(&replacing.is_done)) {
		while (away_hear(p, AWAY_HEAR_MOST) != 0)
			;
		sched_yield();
	}
	pthread_join(thread, NULL);
	forget_heard(p, page, KERNEL_PAGE);
}

void away_let_go(struct uvmp_pager *p, uint64_t address)
{
	uint64_t page = address & ~(KERNEL_PAGE - 1u), first, bytes;

	unknown_around(p, address, &first, &bytes);
	if (p->store->is_mapped)
		detach(p, page);
	else if (let_go(p, first, bytes) != 0)
		(void)let_go(p, page, KERNEL_PAGE);
	uffd_wake(&p->uffd, page, KERNEL_PAGE);
}
