/* Touches of resident pages, by sampling. The pager sees only faults, so it makes some resident pages fault:
 * in turn, one page of every block, then the next one. Such a page is protected, its contents are copied to
 * the sample, and the page is dropped; for the engine it stays resident. The first touch restores the
 * contents and is recorded and reported to the engine, as the simulator reports an access to a resident page.
 * Pages without a touch are restored at the next turn, and other pages are sampled. */
#include "pager_internal.h"

#include <errno.h>
#include <sys/mman.h>

#define TURN_NS	    (SAMPLE_MS * 1000000u)
#define BLOCKS_MOST 4096u /* blocks that a turn examines, resident or not */
#define STRIDE	    167u  /* of the page in a block from round to round; odd, so that every page is sampled */

/* -- restoring -- */

/* A page that is written is mapped without protection. */
static int restore(struct uvmp_pager *p, uint32_t i, bool is_write)
{
	struct sample *s = &p->sample;
	uint32_t page;
	struct block *block = sample_block(p, s->page[i], &page);
	bool is_dirty = is_write || uvmp_mask_test(&block->dirty, page);
	int error = uffd_copy(&p->uffd, s->page[i], sample_contents(s, i), s->page_bytes, !is_dirty);

	if (error == -EAGAIN) { /* it may be elsewhere then */
		messages_drain(p);
		return s->page[i] == SAMPLE_NONE ? 0 : restore(p, i, is_write);
	}
	if (error != 0)
		return error;
	if (is_write)
		uvmp_mask_set(&block->dirty, page);
	uvmp_mask_clear(&block->sampled, page);
	uffd_wake(&p->uffd, s->page[i], s->page_bytes);
	s->page[i] = SAMPLE_NONE;
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

	return i < p->sample.pages && restore(p, i, is_write) == 0;
}

int sample_restore(struct uvmp_pager *p, uint64_t base, uint64_t bytes)
{
	struct sample *s = &p->sample;
	int error = 0;

	for (uint32_t i = 0; i < s->pages && error == 0; i++) {
		if (s->page[i] != SAMPLE_NONE && s->page[i] - base < bytes)
			error = restore(p, i, false);
	}
	return error;
}

/* -- sampling -- */

/* A page that the program has cleared is resident for the engine only, and reading it would fault. */
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

/* The page is protected first: a thread that writes meanwhile stalls, and then faults on a missing page. */
static bool set_aside(struct uvmp_pager *p, uint32_t i, struct block *block, uint64_t address, uint32_t page)
{
	struct sample *s = &p->sample;

	if (!is_present(s, address) || uffd_protect(&p->uffd, address, s->page_bytes, true) != 0)
		return false;
	if (safe_read(&p->uffd, sample_contents(s, i), address, s->page_bytes) != 0 ||
	    uffd_is_changing(&p->uffd))
		return false;
	madvise((void *)(uintptr_t)address, s->page_bytes, MADV_DONTNEED);
	uvmp_mask_set(&block->sampled, page);
	s->page[i] = address;
	return true;
}

/* The block at or behind the cursor. Behind the last block the next round begins, with other pages. */
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

/* A resident page, from this round's page on. */
static bool choose(const struct uvmp_pager *p, const struct block *block, uint32_t *page)
{
	uint32_t pages = (uint32_t)(BLOCK_BYTES / p->page_bytes), first = p->sample.round % pages;
	uvmp_mask resident;

	uvmp_mask_andnot(&resident, &block->resident, &block->sampled);
	*page = uvmp_mask_next_set(&resident, first);
	if (*page >= pages)
		*page = uvmp_mask_next_set(&resident, 0);
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
