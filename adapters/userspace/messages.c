/* Messages of the kernel: faults, and managed memory that the program has unmapped or moved by munmap(2),
 * mremap(2), or mmap(2) over it (UFFD_EVENT_UNMAP, UFFD_EVENT_REMAP).
 *
 * Such a thread sends its message after the change, and continues once the message is read. In between every
 * call to userfaultfd returns EAGAIN. A thread that holds the lock therefore reads messages itself: it may be
 * the servicing thread, and must not wait for it.
 *
 * Messages may be read at any time, also within an action. Unmapped pages become foreign (areas.c), and no
 * action touches them from then on. Their stored contents are noted as moved; moved.c copies them between
 * actions. Memory may move again, or be unmapped, before that: then its contents are redirected. */
#include "array.h"
#include "pager_internal.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <linux/userfaultfd.h>

static void add_fault(struct uvmp_pager *p, const struct uffd_msg *message)
{
	struct pending pending = {.address = message->arg.pagefault.address,
				  .flags = message->arg.pagefault.flags,
				  .tid = p->uffd.has_tid ? message->arg.pagefault.feat.ptid : 0};

	if (!ARRAY_RESERVE(p->pending, p->pending_capacity, p->pendings + 1u)) { /* it faults again */
		uffd_wake(&p->uffd, pending.address & ~(KERNEL_PAGE - 1u), KERNEL_PAGE);
		return;
	}
	p->pending[p->pendings++] = pending;
}

static void add_move(struct uvmp_pager *p, uint64_t from, uint64_t to, uint64_t bytes)
{
	if (bytes == 0)
		return;
	if (!ARRAY_RESERVE(p->moved, p->moved_capacity, p->moves + 1u)) {
		p->stats.store_error = -ENOMEM;
		return;
	}
	p->moved[p->moves++] = (struct moved){from, to, bytes};
}

/* Resident pages take their contents along; older contents in the store are obsolete. */
static void unmap_part(struct uvmp_pager *p, const struct part *part)
{
	uvmp_mask resident;

	uvmp_mask_region_and(&resident, &part->block->resident, part->run);
	p->stats.resident_bytes -= (uint64_t)uvmp_mask_weight(&resident) * p->page_bytes;
	uvmp_mask_andnot(&part->block->stored, &part->block->stored, &resident);
	uvmp_mask_region_clear(&part->block->resident, part->run);
	uvmp_mask_region_clear(&part->block->dirty, part->run);
	uvmp_mask_region_clear(&part->block->write_wanted, part->run);
}

/* No page of the range is foreign yet. An engine's page may have several pages of the kernel: if only some of
 * these were unmapped, the others stay mapped as the program's own memory. */
static void unmap_run(struct uvmp_pager *p, struct area *area, uint64_t from, uint64_t bytes, uint64_t to)
{
	uint64_t mask = p->page_bytes - 1u, end = from + bytes;
	uint64_t first = from & ~mask, limit = (end + mask) & ~mask;
	struct part part;

	sample_store(p, area, first, limit - first);
	for (uint64_t at = first; area_next(area, at, limit, &part); at += part.bytes)
		unmap_part(p, &part);
	area_unmap(area, first, limit - first, true);
	add_move(p, first, first, from - first);
	add_move(p, from, to, bytes);
	add_move(p, end, end, limit - end);
}

/* Splits the moves whose destination crosses the address. */
static void split_moves(struct uvmp_pager *p, uint64_t at)
{
	for (size_t i = 0, count = p->moves; i < count; i++) {
		struct moved d = p->moved[i];

		if (d.to == 0 || at <= d.to || at >= d.to + d.bytes)
			continue;
		p->moved[i].bytes = at - d.to;
		add_move(p, d.from + (at - d.to), at, d.to + d.bytes - at);
	}
}

/* Contents on their way to the range go to `to` instead; to 0: nowhere. */
static void redirect(struct uvmp_pager *p, uint64_t from, uint64_t bytes, uint64_t to)
{
	split_moves(p, from);
	split_moves(p, from + bytes);
	for (size_t i = 0; i < p->moves; i++) {
		struct moved *d = &p->moved[i];

		if (d->to >= from && d->to < from + bytes)
			d->to = to == 0 ? 0 : to + (d->to - from);
	}
}

/* [from, from + bytes) was unmapped (to 0), or moved to `to`. The range may begin and end anywhere. */
static void unmap_range(struct uvmp_pager *p, uint64_t from, uint64_t bytes, uint64_t to)
{
	uint64_t end = from + bytes;

	redirect(p, from, bytes, to);
	for (size_t i = 0; i < p->areas.count; i++) {
		struct area *area = p->areas.area[i];
		uint64_t limit = area->base + area->bytes < end ? area->base + area->bytes : end;
		uint64_t at = area->base > from ? area->base : from, first, some;

		for (; at < limit && area_next_own(area, at, &first, &some) && first < limit;
		     at = first + some) {
			some = some < limit - first ? some : limit - first;
			unmap_run(p, area, first, some, to == 0 ? 0 : to + (first - from));
		}
	}
}

void messages_forget(struct uvmp_pager *p, uint64_t at, uint64_t bytes)
{
	for (size_t i = 0; i < p->pendings; i++) {
		if (p->pending[i].address - at < bytes)
			p->pending[i].address = 0;
	}
}

uint32_t messages_read(struct uvmp_pager *p, uint32_t most)
{
	struct uffd_msg message[MESSAGES_MOST];
	ssize_t bytes = read(p->uffd.fd, message, most * sizeof(message[0]));
	uint32_t count = bytes <= 0 ? 0 : (uint32_t)((size_t)bytes / sizeof(message[0]));

	for (uint32_t i = 0; i < count; i++) {
		const struct uffd_msg *m = &message[i];

		if (m->event == UFFD_EVENT_PAGEFAULT)
			add_fault(p, m);
		else if (m->event == UFFD_EVENT_UNMAP)
			unmap_range(p, m->arg.remove.start, m->arg.remove.end - m->arg.remove.start, 0);
		else if (m->event == UFFD_EVENT_REMAP)
			unmap_range(p, m->arg.remap.from, m->arg.remap.len, m->arg.remap.to);
	}
	return count;
}

/* The kernel reports faults before other messages. Their number is bounded by the number of threads, since
 * none is woken here. */
void messages_drain(struct uvmp_pager *p)
{
	while (uffd_is_changing(&p->uffd)) {
		while (messages_read(p, MESSAGES_MOST) != 0)
			;
		sched_yield();
	}
}
