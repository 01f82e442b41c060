/* Resident pages that are set aside to detect touches (sampling.c): their addresses and contents.
 *
 * These contents exist nowhere else. Before pages of a block are moved, written or dropped, sample_restore,
 * sample_store or sample_forget must be called. */
#include "pager_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

int sample_open(struct sample *s, uint32_t pages, uint32_t page_bytes)
{
	*s = (struct sample){.page_bytes = page_bytes, .capacity = pages};
	if (pages == 0)
		return 0;
	s->page = malloc(pages * sizeof(*s->page));
	s->contents = mmap(NULL, (size_t)pages * page_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->contents == MAP_FAILED)
		s->contents = NULL;
	if (!s->page || !s->contents)
		return -ENOMEM;
	s->pages = pages;
	for (uint32_t i = 0; i < pages; i++)
		s->page[i] = SAMPLE_NONE;
	return 0;
}

void sample_close(struct sample *s)
{
	if (s->contents)
		munmap(s->contents, (size_t)s->capacity * s->page_bytes);
	free(s->page);
	*s = (struct sample){0};
}

struct block *sample_block(const struct uvmp_pager *p, uint64_t address, uint32_t *page)
{
	const struct area *area = areas_find(&p->areas, address);

	*page = (uint32_t)(address % BLOCK_BYTES / p->page_bytes);
	return area_block(area, address);
}

uint8_t *sample_contents(const struct sample *s, uint32_t i)
{
	return s->contents + (size_t)i * s->page_bytes;
}

void sample_store(struct uvmp_pager *p, const struct area *area, uint64_t base, uint64_t bytes)
{
	struct sample *s = &p->sample;

	for (uint32_t i = 0; i < s->pages; i++) {
		struct block *block;
		uint32_t page;
		int error;

		if (s->page[i] == SAMPLE_NONE || s->page[i] - base >= bytes)
			continue;
		block = sample_block(p, s->page[i], &page);
		error = p->store->write(p->store,
					area->store_page + (s->page[i] - area->base) / UVMP_STORE_PAGE_BYTES,
					s->page_bytes / UVMP_STORE_PAGE_BYTES, sample_contents(s, i));
		if (error != 0 && p->stats.store_error == 0)
			p->stats.store_error = error;
		uvmp_mask_set(&block->stored, page);
		uvmp_mask_clear(&block->resident, page);
		uvmp_mask_clear(&block->sampled, page);
		p->stats.resident_bytes -= s->page_bytes;
		s->page[i] = SAMPLE_NONE;
	}
}

void sample_forget(struct uvmp_pager *p, uint64_t base, uint64_t bytes)
{
	struct sample *s = &p->sample;

	for (uint32_t i = 0; i < s->pages; i++) {
		struct block *block;
		uint32_t page;

		if (s->page[i] == SAMPLE_NONE || s->page[i] - base >= bytes)
			continue;
		block = sample_block(p, s->page[i], &page);
		uvmp_mask_clear(&block->sampled, page);
		s->page[i] = SAMPLE_NONE;
	}
}
