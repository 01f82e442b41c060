/* Touches of pages that are resident, by sampling: the pager sees faults alone, so some resident pages are
 * made to fault. In turn, a page of every block, then the next one, they are protected, copied aside, and
 * dropped; the engine goes on counting them as resident. The first touch brings the contents back, is
 * recorded, and is told the engine, as the simulator does for an access to a page that is there. Pages that
 * nobody has touched by the next turn go back as they were, so that the sample moves on.
 *
 * What is set aside has no copy elsewhere: whoever moves or drops pages of a block calls sample_restore,
 * sample_depart or sample_forget first. */
#include "pager_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define TURN_NS     (SAMPLE_MS * 1000000u)
#define BLOCKS_MOST 4096u /* a turn looks at so many, resident or not */
#define STRIDE      167u /* odd: of the page in a block from round to round, so that it comes by all of them */
#define NOWHERE     UINT64_MAX

int sample_open(struct sample *s, uint32_t pages, uint32_t page_bytes)
{
	*s = (struct sample){.page_bytes = page_bytes, .room = pages};
	if (pages == 0)
		return 0;
	s->page = malloc(pages * sizeof(*s->page));
	s->aside = mmap(NULL, (size_t)pages * page_bytes, PROT_READ | PROT_WRITE,
	                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->aside == MAP_FAILED)
		s->aside = NULL;
	if (!s->page || !s->aside)
		return -ENOMEM;
	s->pages = pages;
	for (uint32_t i = 0; i < pages; i++)
		s->page[i] = NOWHERE;
	return 0;
}

void sample_close(struct sample *s)
{
	if (s->aside)
		munmap(s->aside, (size_t)s->room * s->page_bytes);
	free(s->page);
	*s = (struct sample){0};
}

static struct block *block_at(struct uvmp_pager *p, uint64_t address, uint32_t *page)
{
	const struct area *area = areas_find(&p->areas, address);

	*page = (uint32_t)(address % BLOCK_BYTES / p->page_bytes);
	return area_block(area, address);
}

static uint8_t *aside(const struct sample *s, uint32_t i)
{
	return s->aside + (size_t)i * s->page_bytes;
}

/* -- back -- */

/* A page that is written comes without protection. */
static int put_back(struct uvmp_pager *p, uint32_t i, bool is_write)
{
	struct sample *s = &p->sample;
	uint32_t page;
	struct block *block = block_at(p, s->page[i], &page);
	bool is_dirty = is_write || uvmp_mask_test(&block->dirty, page);
	int error = uffd_copy(&p->uffd, s->page[i], aside(s, i), s->page_bytes, !is_dirty);

	if (error == -EAGAIN) { /* it may be elsewhere then */
		away_listen(p);
		return s->page[i] == NOWHERE ? 0 : put_back(p, i, is_write);
	}
	if (error != 0)
		return error;
	if (is_write)
		uvmp_mask_set(&block->dirty, page);
	uvmp_mask_clear(&block->aside, page);
	uffd_wake(&p->uffd, s->page[i], s->page_bytes);
	s->page[i] = NOWHERE;
	return 0;
}

static uint32_t find(const struct sample *s, uint64_t address)
{
	uint32_t i = 0;

	while (i < s->pages && s->page[i] != address)
		i++;
	return i;
}

bool sample_touch(struct uvmp_pager *p, uint64_t address, bool is_write)
{
	uint32_t i = find(&p->sample, address);

	return i < p->sample.pages && put_back(p, i, is_write) == 0;
}

/* The program moves the pages, or unmaps them: their contents go to the store, from where such pages follow.
 */
void sample_depart(struct uvmp_pager *p, const struct area *area, uint64_t base, uint64_t bytes)
{
	struct sample *s = &p->sample;

	for (uint32_t i = 0; i < s->pages; i++) {
		struct block *block;
		uint32_t page;
		int error;

		if (s->page[i] == NOWHERE || s->page[i] - base >= bytes)
			continue;
		block = block_at(p, s->page[i], &page);
		error = p->store->write(p->store,
		                        area->store_page + (s->page[i] - area->base) / UVMP_STORE_PAGE_BYTES,
		                        s->page_bytes / UVMP_STORE_PAGE_BYTES, aside(s, i));
		if (error != 0 && p->stats.store_error == 0)
			p->stats.store_error = error;
		uvmp_mask_set(&block->stored, page);
		uvmp_mask_clear(&block->here, page);
		uvmp_mask_clear(&block->aside, page);
		p->stats.resident_bytes -= s->page_bytes;
		s->page[i] = NOWHERE;
	}
}

/* For each page of the sample in [base, base + bytes). */
static int each(struct uvmp_pager *p, uint64_t base, uint64_t bytes, bool is_kept)
{
	struct sample *s = &p->sample;
	struct block *block;
	uint32_t page;
	int error = 0;

	for (uint32_t i = 0; i < s->pages && error == 0; i++) {
		if (s->page[i] == NOWHERE || s->page[i] - base >= bytes)
			continue;
		if (is_kept) {
			error = put_back(p, i, false);
			continue;
		}
		block = block_at(p, s->page[i], &page);
		uvmp_mask_clear(&block->aside, page);
		s->page[i] = NOWHERE;
	}
	return error;
}

int sample_restore(struct uvmp_pager *p, uint64_t base, uint64_t bytes)
{
	return each(p, base, bytes, true);
}

void sample_forget(struct uvmp_pager *p, uint64_t base, uint64_t bytes)
{
	(void)each(p, base, bytes, false);
}

/* -- aside -- */

/* A page that the program has cleared is here for the engine alone, and reading it would be a fault of ours.
 */
static bool is_present(const struct sample *s, uint64_t address)
{
	unsigned char present[16];

	if (mincore((void *)(uintptr_t)address, s->page_bytes, present) != 0)
		return false;
	for (uint32_t i = 0; i < s->page_bytes / UVMP_STORE_PAGE_BYTES; i++) {
		if ((present[i] & 1u) == 0)
			return false;
	}
	return true;
}

/* Protected first: a write in between waits, and finds the page missing when it is tried again. */
static bool set_aside(struct uvmp_pager *p, uint32_t i, struct block *block, uint64_t address, uint32_t page)
{
	struct sample *s = &p->sample;

	if (!is_present(s, address) || uffd_protect(&p->uffd, address, s->page_bytes, true) != 0)
		return false;
	if (peek(&p->uffd, aside(s, i), address, s->page_bytes) != 0 || uffd_is_changing(&p->uffd))
		return false;
	madvise((void *)(uintptr_t)address, s->page_bytes, MADV_DONTNEED);
	uvmp_mask_set(&block->aside, page);
	s->page[i] = address;
	return true;
}

/* The block at or behind the cursor. Behind the last one the next round begins, with other pages. */
static struct block *next_block(struct uvmp_pager *p, uint64_t *base)
{
	struct sample *s = &p->sample;
	const struct area *area = NULL;

	for (size_t i = 0; i < p->areas.count && !area; i++) {
		if (s->cursor < p->areas.area[i]->base + p->areas.area[i]->bytes)
			area = p->areas.area[i];
	}
	if (!area) {
		if (p->areas.count == 0)
			return NULL;
		area = p->areas.area[0];
		s->cursor = area->base;
		s->round += STRIDE;
	}
	*base = s->cursor < area->base ? area->base : s->cursor;
	s->cursor = *base + BLOCK_BYTES;
	return area_block(area, *base);
}

/* A page that is here, from that of this round on. */
static bool choose(const struct uvmp_pager *p, const struct block *block, uint32_t *page)
{
	uint32_t pages = (uint32_t)(BLOCK_BYTES / p->page_bytes), first = p->sample.round % pages;
	uvmp_mask here;

	uvmp_mask_andnot(&here, &block->here, &block->aside);
	*page = uvmp_mask_next_set(&here, first);
	if (*page >= pages)
		*page = uvmp_mask_next_set(&here, 0);
	return *page < pages;
}

void sample_turn(struct uvmp_pager *p)
{
	struct sample *s = &p->sample;
	uint64_t now_ns = pager_now_ns(), base;
	uint32_t i = 0, page;

	if (s->pages == 0 || now_ns - s->turn_ns < TURN_NS)
		return;
	s->turn_ns = now_ns;
	if (sample_restore(p, 0, UINT64_MAX) != 0)
		return;
	for (uint32_t looks = 0; looks < BLOCKS_MOST && i < s->pages; looks++) {
		struct block *block = next_block(p, &base);

		if (!block)
			return;
		if (choose(p, block, &page))
			i += set_aside(p, i, block, base + (uint64_t)page * p->page_bytes, page);
	}
}
