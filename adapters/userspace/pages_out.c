/* Pages of a block leave memory: protected, written if dirty, and dropped. If the store writes many pages at
 * the cost of a few, dirty neighbours that stay are written along and are clean afterwards. The engine is not
 * told: its decisions do not depend on the store. */
#include "pager_internal.h"

#include <errno.h>

static bool is_zero(const uint64_t *word, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes / sizeof(*word); i++) {
		if (word[i] != 0)
			return false;
	}
	return true;
}

static uint8_t *bounce_page(const struct uvmp_pager *p, uint32_t page)
{
	return p->bounce + (uint64_t)page * p->page_bytes;
}

static int read_part(void *context, struct uvmp_region part)
{
	const struct copy *copy = context;
	struct uvmp_pager *p = copy->pager;

	return safe_read(&p->uffd, bounce_page(p, part.first),
			 pages_address(p, copy->area, copy->block, part.first), pages_bytes(p, part));
}

/* Copies dirty pages to the bounce buffer, while the program may write to them. Pages between them are clean
 * or missing, so one call protects the whole range. */
static int read_dirty(struct uvmp_pager *p, const struct area *area, const struct block *block,
		      const uvmp_mask *dirty)
{
	struct uvmp_region bounds = uvmp_mask_bounds(dirty), run;
	int error = 0;

	for (run = uvmp_mask_next_run(dirty, 0); run.end != 0 && error == 0;
	     run = uvmp_mask_next_run(dirty, run.end))
		error = safe_read_prepare(&p->uffd, pages_address(p, area, block, run.first),
					  pages_bytes(p, run));
	if (error == 0)
		error = uffd_protect(&p->uffd, pages_address(p, area, block, bounds.first),
				     pages_bytes(p, bounds), true);
	for (run = uvmp_mask_next_run(dirty, 0); run.end != 0 && error == 0;
	     run = uvmp_mask_next_run(dirty, run.end)) {
		struct copy copy = {p, area, block, run, NULL};

		error = copiers_run(&p->copiers, read_part, &copy, run);
	}
	return error;
}

/* Dirty pages that are not stored and hold zeros count as never touched. */
static void skip_zeros(const struct uvmp_pager *p, struct block *block, uvmp_mask *dirty)
{
	uvmp_mask fresh;

	uvmp_mask_andnot(&fresh, dirty, &block->stored);
	for (uint32_t page = uvmp_mask_next_set(&fresh, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(&fresh, page + 1u)) {
		if (!is_zero((const void *)bounce_page(p, page), p->page_bytes)) /* of a page, so aligned */
			continue;
		uvmp_mask_clear(dirty, page);
		uvmp_mask_clear(&block->dirty, page);
	}
}

static int write_part(void *context, struct uvmp_region part)
{
	const struct copy *copy = context;
	struct uvmp_pager *p = copy->pager;

	return p->store->write(p->store, pages_store_page(p, copy->area, copy->block, part.first),
			       pages_bytes(p, part) / UVMP_STORE_PAGE_BYTES, bounce_page(p, part.first));
}

static int write_run(struct uvmp_pager *p, const struct area *area, struct block *block,
		     struct uvmp_region run)
{
	struct copy copy = {p, area, block, run, NULL};
	int error = p->store->is_parallel ? copiers_run(&p->copiers, write_part, &copy, run)
					  : write_part(&copy, run);

	if (error != 0)
		return error;
	uvmp_mask_region_set(&block->stored, run);
	uvmp_mask_region_clear(&block->dirty, run);
	p->stats.bytes_out += pages_bytes(p, run);
	p->stats.copies_out++;
	return 0;
}

static int write_dirty(struct uvmp_pager *p, const struct area *area, struct block *block,
		       const uvmp_mask *dirty)
{
	int error = 0;

	for (struct uvmp_region run = uvmp_mask_next_run(dirty, 0); run.end != 0 && error == 0;
	     run = uvmp_mask_next_run(dirty, run.end))
		error = write_run(p, area, block, run);
	return error;
}

/* The next range, from `from` on, with evicted pages and none that stay or are foreign. Pages between them
 * are missing, so one call drops the whole range. */
static struct uvmp_region next_stretch(const struct block *block, const uvmp_mask *evicted, uint32_t from)
{
	struct uvmp_region stretch = uvmp_mask_next_run(evicted, from), run = stretch;
	uvmp_mask stay;

	uvmp_mask_or(&stay, &block->resident, &block->foreign);
	uvmp_mask_andnot(&stay, &stay, evicted);
	while (run.end != 0 && uvmp_mask_next_set(&stay, stretch.first) >= run.end) {
		stretch.end = run.end;
		run = uvmp_mask_next_run(evicted, run.end);
	}
	return stretch;
}

/* Stays within the block, whose store pages begin with a cluster. */
static struct uvmp_region cluster_around(const struct uvmp_pager *p, struct uvmp_region run)
{
	uint32_t pages = p->store->cluster_pages / (p->page_bytes / UVMP_STORE_PAGE_BYTES);
	uint32_t block_pages = (uint32_t)(BLOCK_BYTES / p->page_bytes);

	if (pages <= 1u)
		return run;
	run.first -= run.first % pages;
	run.end += pages - 1u - (run.end - 1u) % pages;
	run.end = run.end < block_pages ? run.end : block_pages;
	return run;
}

/* Adds the pages of the set that adjoin the run, within the limits. */
static void add_beside(uvmp_mask *to, const uvmp_mask *pages, struct uvmp_region run,
		       struct uvmp_region limits)
{
	while (run.first > limits.first && uvmp_mask_test(pages, run.first - 1u))
		run.first--;
	while (run.end < limits.end && uvmp_mask_test(pages, run.end))
		run.end++;
	uvmp_mask_region_set(to, run);
}

/* Dirty pages, and neighbours that are written along. Stranded pages are not protected, and could not count
 * as clean. The block has no sampled pages: evict_pages. */
static uvmp_mask with_neighbours(const struct uvmp_pager *p, const struct block *block,
				 const uvmp_mask *dirty)
{
	uvmp_mask together = *dirty, others;

	uvmp_mask_and(&others, &block->resident, &block->dirty);
	uvmp_mask_andnot(&others, &others, &block->foreign);
	uvmp_mask_andnot(&others, &others, &block->stranded);
	for (struct uvmp_region run = uvmp_mask_next_run(dirty, 0); run.end != 0;
	     run = uvmp_mask_next_run(dirty, run.end))
		add_beside(&together, &others, run, cluster_around(p, run));
	return together;
}

/* `dirty`: on return, the pages that were written. */
static int write_back(struct uvmp_pager *p, const struct area *area, struct block *block, uvmp_mask *dirty)
{
	int error = read_dirty(p, area, block, dirty);

	if (error != 0)
		return error;
	skip_zeros(p, block, dirty);
	return write_dirty(p, area, block, dirty);
}

/* Neighbours that stay and have become clean. */
static void mark_cleaned(struct block *block, const uvmp_mask *together, const uvmp_mask *evicted)
{
	uvmp_mask cleaned;

	uvmp_mask_andnot(&cleaned, together, evicted);
	uvmp_mask_andnot(&cleaned, &cleaned, &block->dirty);
	uvmp_mask_or(&block->cleaned, &block->cleaned, &cleaned);
}

/* Finds clean pages that are not wholly present. The program has dropped them, so the store has old contents.
 * A page that the kernel swapped out is only written once more. */
static void find_dropped(const struct uvmp_pager *p, const struct area *area, struct block *block,
			 const uvmp_mask *evicted)
{
	uvmp_mask clean, present, in_part;

	uvmp_mask_and(&clean, evicted, &block->stored);
	uvmp_mask_andnot(&clean, &clean, &block->dirty);
	if (uvmp_mask_is_empty(&clean))
		return;
	pages_find_present(p, area, block, uvmp_mask_bounds(&clean), &present, &in_part);
	uvmp_mask_andnot(&clean, &clean, &present);
	uvmp_mask_or(&block->dirty, &block->dirty, &clean);
}

/* Clean pages are protected already: a thread that writes to one meanwhile stalls, and then faults on a
 * missing page. Pages of a mapped file are in the file. If neighbours cannot be written, the evicted pages
 * are written alone. -EAGAIN: nothing was written, as the program is changing its mappings. */
static int save(struct uvmp_pager *p, const struct area *area, struct block *block, const uvmp_mask *pages,
		uvmp_mask *written)
{
	uvmp_mask dirty, together;
	int error;

	uvmp_mask_zero(written);
	if (p->store->is_mapped) {
		uvmp_mask_or(&block->stored, &block->stored, pages);
		uvmp_mask_andnot(&block->dirty, &block->dirty, pages);
		return 0;
	}
	find_dropped(p, area, block, pages);
	uvmp_mask_and(&dirty, pages, &block->dirty);
	if (uvmp_mask_is_empty(&dirty))
		return 0;
	together = *written = with_neighbours(p, block, &dirty);
	error = write_back(p, area, block, written);
	mark_cleaned(block, &together, &dirty);
	if (error == 0 || error == -EAGAIN || uvmp_mask_equal(&together, &dirty))
		return error;
	uvmp_mask_and(&dirty, &dirty, &block->dirty);
	return write_back(p, area, block, &dirty);
}

/* Saves all pages before any is dropped: after an error all are resident, as the engine assumes. `written`:
 * pages that were not simply dropped. */
static int save_all(struct uvmp_pager *p, const struct area *area, struct block *block, uvmp_mask evicted,
		    uvmp_mask *written)
{
	uint32_t from = 0;

	uvmp_mask_zero(written);
	for (;;) {
		struct uvmp_region stretch;
		uvmp_mask pages, some;
		int error;

		uvmp_mask_andnot(&evicted, &evicted, &block->foreign);
		stretch = next_stretch(block, &evicted, from);
		if (stretch.end == 0)
			return 0;
		uvmp_mask_region_and(&pages, &evicted, stretch);
		error = save(p, area, block, &pages, &some);
		if (error == -EAGAIN) {
			messages_drain(p);
			continue;
		}
		if (error != 0)
			return error;
		uvmp_mask_and(&some, &some, &pages);
		uvmp_mask_or(written, written, &some);
		from = stretch.end;
	}
}

static void drop_stretch(struct uvmp_pager *p, const struct area *area, struct block *block,
			 const uvmp_mask *evicted, struct uvmp_region stretch)
{
	uvmp_mask pages;

	pages_drop(p, area, block, stretch);
	uvmp_mask_region_and(&pages, evicted, stretch);
	uvmp_mask_and(&pages, &pages, &block->resident); /* but for what was lost on the way */
	uvmp_mask_andnot(&block->resident, &block->resident, &pages);
	uvmp_mask_andnot(&block->stranded, &block->stranded, &pages);
	p->stats.resident_bytes -= (uint64_t)uvmp_mask_weight(&pages) * p->page_bytes;
}

static void drop_all(struct uvmp_pager *p, const struct area *area, struct block *block, uvmp_mask evicted)
{
	uint32_t from = 0;

	for (;;) {
		struct uvmp_region stretch;

		uvmp_mask_andnot(&evicted, &evicted, &block->foreign);
		stretch = next_stretch(block, &evicted, from);
		if (stretch.end == 0)
			return;
		drop_stretch(p, area, block, &evicted, stretch);
		from = stretch.end;
	}
}

static int evict_pages(struct uvmp_pager *p, const struct area *area, struct block *block, uvmp_mask evicted)
{
	uvmp_mask written, untouched;
	int error = 0;

	if (!uvmp_mask_is_empty(&block->sampled))
		error = sample_restore(p, pages_address(p, area, block, 0), BLOCK_BYTES);
	if (error == 0)
		error = save_all(p, area, block, evicted, &written);
	if (pages_note_error(p, error) != 0)
		return error;
	uvmp_mask_andnot(&untouched, &evicted, &written);
	uvmp_mask_andnot(&untouched, &untouched, &block->foreign);
	p->stats.bytes_dropped += (uint64_t)uvmp_mask_weight(&untouched) * p->page_bytes;
	drop_all(p, area, block, evicted);
	return 0;
}

enum uvmp_status pages_out(struct uvmp_pager *p, const struct uvmp_action *a, struct uvmp_region transfer)
{
	const struct area *area = areas_find(&p->areas, a->address);
	uint32_t first = pages_first(p, a);
	uvmp_mask evicted;

	uvmp_mask_zero(&evicted);
	uvmp_mask_region_set(&evicted, (struct uvmp_region){transfer.first + first, transfer.end + first});
	return pages_status(evict_pages(p, area, area_block(area, a->address), evicted));
}

void pages_out_stranded(struct uvmp_pager *p)
{
	bool is_left = false;

	for (size_t i = 0; i < p->areas.count && p->has_stranded; i++) {
		const struct area *area = p->areas.area[i];

		for (uint64_t k = 0; k < area->bytes / BLOCK_BYTES; k++) {
			struct block *block = &area->block[k];

			uvmp_mask_and(&block->stranded, &block->stranded, &block->resident);
			if (!uvmp_mask_is_empty(&block->stranded) &&
			    evict_pages(p, area, block, block->stranded) != 0)
				is_left = true;
		}
	}
	p->has_stranded = is_left;
}
