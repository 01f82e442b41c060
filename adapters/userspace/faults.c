/* Gives faults to the engine. The kernel reports:
 *
 * - A missing page: a fault of the GPU. The thread is noted as stalled.
 * - A missing page that is resident: another thread's fault has made it resident meanwhile; or the program
 * has dropped it (MADV_DONTNEED) and expects zeros; or it is sampled.
 * - A write to a protected page: the page was clean and becomes dirty. No decision is needed. */
#include "pager_internal.h"

#include <string.h>

#include <linux/userfaultfd.h>

#define AHEAD_MOST 64u /* pages that are opened for writing with one that is written */

/* A resident page was touched. */
static void touch(struct uvmp_pager *p, uint64_t address, uint32_t tid, bool is_write)
{
	uint32_t thread = threads_number(&p->threads, tid);

	trace_file_access(p->trace, p->now_ns, thread, is_write, address, false);
	if (p->wants_touches)
		(void)uvmp_service_access(p->service, GPU, SPACE, address,
					  is_write ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
}

/* Writes tend to continue: with a page as many following pages are opened as pages directly before it are
 * dirty. A thread that writes page after page then stalls a few times, not at each page; pages opened in vain
 * are written in vain. For a page that was not cleaned, cleaned pages count as dirty, and cleaned pages open
 * only cleaned pages: what the engine is told does not depend on the store. */
static struct uvmp_region pages_to_open(const struct block *block, uint32_t page)
{
	struct uvmp_region run = {page, page + 1u};
	uvmp_mask changed = block->dirty, open;
	uint32_t before = 0;

	if (uvmp_mask_test(&block->cleaned, page)) {
		uvmp_mask_andnot(&open, &block->cleaned, &changed);
	} else {
		uvmp_mask_or(&changed, &changed, &block->cleaned);
		uvmp_mask_andnot(&open, &block->resident, &changed);
	}
	while (before < AHEAD_MOST && before < page && uvmp_mask_test(&changed, page - before - 1u))
		before++;
	while (run.end <= page + before && run.end < UVMP_MASK_BITS && uvmp_mask_test(&open, run.end))
		run.end++;
	return run;
}

static void take_write(struct uvmp_pager *p, struct block *block, uint64_t address, uint32_t page,
		       uint32_t tid)
{
	struct uvmp_region run = {page, page + 1u};
	uint64_t bytes;

	p->stats.write_faults++;
	if (uvmp_mask_test(&block->resident, page) && !uvmp_mask_test(&block->sampled, page)) {
		run = pages_to_open(block, page);
		uvmp_mask_region_set(&block->dirty, run);
		if (!uvmp_mask_test(&block->cleaned, page))
			touch(p, address, tid, true);
		uvmp_mask_region_clear(&block->cleaned, run);
	}
	bytes = (uint64_t)(run.end - run.first) * p->page_bytes;
	uffd_protect(&p->uffd, address, bytes, false);
	uffd_wake(&p->uffd, address, bytes);
}

static void take_missing(struct uvmp_pager *p, struct block *block, uint64_t address, uint32_t page,
			 uint32_t tid, bool is_write)
{
	struct stalled fault = {.address = address,
				.gpu = GPU,
				.thread = tid,
				.access = is_write ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ};

	if (uvmp_mask_test(&block->sampled, page) && sample_touch(p, address, is_write)) {
		p->stats.touches++;
		touch(p, address, tid, is_write);
		return;
	}
	p->stats.faults++;
	if (uvmp_mask_test(&block->resident, page)) {
		if (uffd_fill(&p->uffd, address, p->page_bytes))
			uvmp_mask_set(&block->dirty, page);
		uffd_wake(&p->uffd, address, p->page_bytes);
		return;
	}
	if (is_write)
		uvmp_mask_set(&block->write_wanted, page);
	fault.since_ns = pager_now_ns();
	fault.agent = threads_number(&p->threads, tid);
	trace_file_access(p->trace, p->now_ns, fault.agent, is_write, address, true);
	waiting_add(p, &fault);
}

/* The block of a managed page that is not foreign, or NULL. */
static struct block *find_block(const struct uvmp_pager *p, uint64_t address, uint32_t *page)
{
	const struct area *area = areas_find(&p->areas, address);
	struct block *block;

	if (!area)
		return NULL;
	block = area_block(area, address);
	*page = (uint32_t)(address % BLOCK_BYTES / p->page_bytes);
	return uvmp_mask_test(&block->foreign, *page) ? NULL : block;
}

/* The page may have been freed or moved, or belong to a mapping that has grown: that is known once no change
 * is under way. */
static struct block *find_settled(struct uvmp_pager *p, uint64_t address, uint32_t *page)
{
	messages_drain(p);
	moved_settle(p);
	return find_block(p, address, page);
}

/* Pending fault i. An earlier one may have made it obsolete. */
static void take_fault(struct uvmp_pager *p, uint32_t i)
{
	struct pending pending = p->pending[i];
	uint64_t address = pending.address & ~(uint64_t)(p->page_bytes - 1u);
	uint32_t page;
	struct block *block = find_block(p, address, &page);

	if (!block)
		block = find_settled(p, address, &page);
	if (p->pending[i].address == 0)
		return;
	if (!block)
		moved_release(p, pending.address);
	else if ((pending.flags & UFFD_PAGEFAULT_FLAG_WP) != 0)
		take_write(p, block, address, page, pending.tid);
	else
		take_missing(p, block, address, page, pending.tid,
			     (pending.flags & UFFD_PAGEFAULT_FLAG_WRITE) != 0);
}

/* Advances the engine's clock. Recorded rows have the same time, so that the simulator has the same clock. */
static void advance_clock(struct uvmp_pager *p)
{
	uint64_t now_ns = (pager_now_ns() - p->start_ns) / 1000u * 1000u;

	if (now_ns > p->now_ns)
		p->now_ns = now_ns;
}

/* The engine's fault buffer holds what is pending, as a GPU's does; the policy makes batches of it. Memory
 * that was unmapped is settled before the faults. True: there may be more faults. */
static bool take_batch(struct uvmp_pager *p)
{
	uint32_t asked, got, count;

	do {
		uint32_t entries =
			p->pendings < p->fault_capacity ? p->fault_capacity - (uint32_t)p->pendings : 0;

		asked = entries < MESSAGES_MOST ? entries : MESSAGES_MOST;
		got = asked == 0 ? 0 : messages_read(p, asked);
	} while (got == asked && asked != 0);
	moved_settle(p);
	count = p->pendings < p->fault_capacity ? (uint32_t)p->pendings : p->fault_capacity;
	advance_clock(p);
	for (uint32_t i = 0; i < count; i++)
		take_fault(p, i);
	trace_file_batch(p->trace);
	p->pendings -= count;
	if (p->pendings != 0)
		memmove(p->pending, p->pending + count, p->pendings * sizeof(*p->pending));
	return got == asked;
}

void faults_service(struct uvmp_pager *p)
{
	bool has_more;

	do {
		has_more = take_batch(p);
		actions_perform(p, 0);
	} while (has_more || p->pendings != 0 || p->moves != 0);
}
