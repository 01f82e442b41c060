/* Pages of a block in and out: what the engine's copies do.
 *
 * In: pages are put into place without waking anybody, clean ones write-protected.
 * Out: pages are protected, written if they are dirty, and dropped. Where a write of many pages costs the
 * store as much as one of a few, dirty pages beside them that stay are written along and are clean then: when
 * they leave there is nothing left to do. The engine knows nothing of it.
 *
 * While we work the program may unmap pages (away.c): then they are lost. */
#include "pager_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* -- pages of a block -- */

static uint64_t address_of(const struct uvmp_pager *p, const struct area *area, const struct block *block,
                           uint32_t page)
{
	return area->base + (uint64_t)(block - area->block) * BLOCK_BYTES + (uint64_t)page * p->page_bytes;
}

static uint64_t store_page(const struct uvmp_pager *p, const struct area *area, const struct block *block,
                           uint32_t page)
{
	return area->store_page + (address_of(p, area, block, page) - area->base) / UVMP_STORE_PAGE_BYTES;
}

static uint64_t run_bytes(const struct uvmp_pager *p, struct uvmp_region run)
{
	return (uint64_t)(run.outer - run.first) * p->page_bytes;
}

/* Advice cuts the engine's blocks: where in ours an action's block begins. */
static uint32_t first_page(const struct uvmp_pager *p, const struct uvmp_action *a)
{
	return (uint32_t)(a->address % BLOCK_BYTES / p->page_bytes);
}

/* The next run within `within`, from its start on, whose pages are all in the set, or all not. */
static struct uvmp_region next_part(const uvmp_mask *set, struct uvmp_region within, bool *is_in)
{
	uint32_t outer;

	*is_in = uvmp_mask_test(set, within.first);
	outer = *is_in ? uvmp_mask_next_clear(set, within.first) : uvmp_mask_next_set(set, within.first);
	within.outer = outer < within.outer ? outer : within.outer;
	return within;
}

static int fail(struct uvmp_pager *p, int error)
{
	if (error != 0 && p->error == 0)
		p->error = error;
	if (error != 0 && p->stats.store_error == 0)
		p->stats.store_error = error;
	return error;
}

/* For the engine; the errno itself is kept in p->error. */
static enum uvmp_status status_of(int error)
{
	if (error == 0)
		return UVMP_OK;
	if (error == -ENOMEM || error == -ENOSPC || error == -EDQUOT || error == -EFBIG)
		return UVMP_ERR_NO_MEMORY;
	return UVMP_ERR_STATE;
}

/* -- in -- */

/* A copy that several threads may work on: they only read what is known of the block. */
struct copy {
	struct uvmp_pager *pager;
	const struct area *area;
	const struct block *block;
	struct uvmp_region run;
	const uint8_t *data; /* of the run; NULL: to be read, each part by whoever copies it */
};

static int read_run(const struct copy *copy, struct uvmp_region run, uint8_t *to)
{
	struct uvmp_pager *p = copy->pager;

	return p->store->read(p->store, store_page(p, copy->area, copy->block, run.first),
	                      run_bytes(p, run) / UVMP_STORE_PAGE_BYTES, to);
}

/* Pages that somebody wants to write come without protection, but for large ones: when such a copy fails half
 * way, a page that is there in part must not have been written to. */
static int bring_part(void *context, struct uvmp_region rest)
{
	const struct copy *copy = context;
	struct uvmp_pager *p = copy->pager;
	uint64_t offset = (uint64_t)(rest.first - copy->run.first) * p->page_bytes;
	const uint8_t *data = copy->data ? copy->data + offset : p->bounce + offset;
	int error = copy->data ? 0 : read_run(copy, rest, p->bounce + offset);

	while (rest.first != rest.outer && error == 0) {
		bool is_wanted;
		struct uvmp_region part = next_part(&copy->block->wanted, rest, &is_wanted);

		error = uffd_copy(&p->uffd, address_of(p, copy->area, copy->block, part.first), data,
		                  run_bytes(p, part), !is_wanted || p->page_bytes != UVMP_STORE_PAGE_BYTES);
		data += run_bytes(p, part);
		rest.first = part.outer;
	}
	return error;
}

static int allow_writes(struct uvmp_pager *p, const struct area *area, const struct block *block,
                        const uvmp_mask *pages)
{
	int error = 0;

	for (struct uvmp_region run = uvmp_mask_next_run(pages, 0); run.outer != 0 && error == 0;
	     run = uvmp_mask_next_run(pages, run.outer))
		error = uffd_protect(&p->uffd, address_of(p, area, block, run.first), run_bytes(p, run),
		                     false);
	return error;
}

static int copy_stored(struct uvmp_pager *p, const struct area *area, struct block *block,
                       struct uvmp_region run)
{
	struct copy copy = {p, area, block, run, NULL};
	uvmp_mask written;
	int error = 0;

	if (p->store->at)
		copy.data = p->store->at(p->store, store_page(p, area, block, run.first));
	if (!copy.data && !p->store->is_parallel) {
		error = read_run(&copy, run, p->bounce);
		copy.data = p->bounce;
	}
	if (error == 0)
		error = copiers_run(&p->copiers, bring_part, &copy, run);
	if (error != 0)
		return error;
	uvmp_mask_region_and(&written, &block->wanted, run);
	uvmp_mask_or(&block->dirty, &block->dirty, &written);
	return p->page_bytes == UVMP_STORE_PAGE_BYTES ? 0 : allow_writes(p, area, block, &written);
}

/* What was given up while it was here left as if the file had it: where it has nothing there are zeros. */
static int map_stored(struct uvmp_pager *p, const struct area *area, const struct block *block,
                      struct uvmp_region run)
{
	uint64_t start = address_of(p, area, block, run.first), bytes = run_bytes(p, run);
	int error = uffd_continue(&p->uffd, start, bytes);

	if (error != -EFAULT)
		return error;
	error = 0;
	for (uint64_t at = start; at < start + bytes && error == 0; at += UVMP_STORE_PAGE_BYTES) {
		error = uffd_continue(&p->uffd, at, UVMP_STORE_PAGE_BYTES);
		if (error == -EFAULT)
			error = uffd_zero(&p->uffd, at, UVMP_STORE_PAGE_BYTES);
	}
	return error;
}

/* The run holds something in the store. */
static int bring_stored(struct uvmp_pager *p, const struct area *area, struct block *block,
                        struct uvmp_region run)
{
	int error = p->store->is_mapped ? map_stored(p, area, block, run) : copy_stored(p, area, block, run);

	if (error != 0)
		return error;
	p->stats.bytes_in += run_bytes(p, run);
	p->stats.copies_in++;
	return 0;
}

/* Zeros cannot be protected on the way in: whoever uses the page first may write. So they count as dirty, and
 * are looked at when they leave. A page that comes alone to be written gets memory at once: with the kernel's
 * page of zeros it would fault a second time. */
static int bring_zeros(struct uvmp_pager *p, const struct area *area, struct block *block,
                       struct uvmp_region run)
{
	static const uint8_t zeros[UVMP_STORE_PAGE_BYTES] __attribute__((aligned(UVMP_STORE_PAGE_BYTES)));
	uint64_t at = address_of(p, area, block, run.first), bytes = run_bytes(p, run);
	bool is_written = bytes == sizeof(zeros) && uvmp_mask_test(&block->wanted, run.first);
	int error =
	        is_written ? uffd_copy(&p->uffd, at, zeros, bytes, false) : uffd_zero(&p->uffd, at, bytes);

	if (error != 0)
		return error;
	uvmp_mask_region_set(&block->dirty, run);
	p->stats.bytes_zeroed += run_bytes(p, run);
	return 0;
}

/* Pages that are lost are as good as brought: the engine does not know better. */
static int bring_run(struct uvmp_pager *p, const struct area *area, struct block *block,
                     struct uvmp_region rest)
{
	int error = 0;

	while (rest.first != rest.outer && error == 0) {
		bool is_lost, is_stored = false;
		struct uvmp_region part = next_part(&block->lost, rest, &is_lost);

		if (!is_lost) {
			part = next_part(&block->stored, part, &is_stored);
			error = is_stored ? bring_stored(p, area, block, part)
			                  : bring_zeros(p, area, block, part);
		}
		if (error == -EAGAIN) {
			away_listen(p);
			error = 0;
			continue;
		}
		rest.first = part.outer;
	}
	return error;
}

/* What of the run is ours leaves the program's sight. Between the last look at what was unmapped and this
 * call nothing may come that takes time. */
static void drop(struct uvmp_pager *p, const struct area *area, struct block *block, struct uvmp_region rest)
{
	away_listen(p);
	while (rest.first != rest.outer) {
		bool is_lost;
		struct uvmp_region part = next_part(&block->lost, rest, &is_lost);

		if (!is_lost)
			madvise((void *)(uintptr_t)address_of(p, area, block, part.first), run_bytes(p, part),
			        MADV_DONTNEED);
		rest.first = part.outer;
	}
}

/* The pages of the run that are in place, and those of which only a part is. */
static void look(const struct uvmp_pager *p, const struct area *area, const struct block *block,
                 struct uvmp_region run, uvmp_mask *there, uvmp_mask *in_part)
{
	uint32_t parts = p->page_bytes / UVMP_STORE_PAGE_BYTES;
	unsigned char is_there[BLOCK_BYTES / UVMP_STORE_PAGE_BYTES] = {0};

	uvmp_mask_zero(there);
	uvmp_mask_zero(in_part);
	(void)mincore((void *)(uintptr_t)address_of(p, area, block, run.first), run_bytes(p, run), is_there);
	for (uint32_t page = run.first; page < run.outer; page++) {
		uint32_t count = 0;

		for (uint32_t i = 0; i < parts; i++)
			count += is_there[(page - run.first) * parts + i] & 1u;
		if (count == parts)
			uvmp_mask_set(there, page);
		else if (count != 0)
			uvmp_mask_set(in_part, page);
	}
}

/* A copy has failed half way, and the engine counts on none of it. But threads may have written to what came
 * without protection: it is kept, until it can leave as all pages leave. What is in place in part cannot have
 * been written to if it was stored, and goes; if not, what misses is zero. */
static void bring_failed(struct uvmp_pager *p, const struct area *area, struct block *block,
                         struct uvmp_region run, const uvmp_mask *coming)
{
	uvmp_mask there, in_part, dirty;

	if (p->store->is_mapped) { /* what was written is in the file */
		drop(p, area, block, run);
		return;
	}
	away_listen(p);
	look(p, area, block, run, &there, &in_part);
	uvmp_mask_or(&there, &there, &in_part);
	uvmp_mask_and(&in_part, &in_part, &block->stored);
	uvmp_mask_andnot(&there, &there, &in_part);
	uvmp_mask_and(&there, &there, coming);
	uvmp_mask_andnot(&there, &there, &block->lost);
	for (uint32_t page = uvmp_mask_next_set(&in_part, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(&in_part, page + 1u)) {
		if (uvmp_mask_test(coming, page))
			drop(p, area, block, (struct uvmp_region){page, page + 1u});
	}
	uvmp_mask_andnot(&dirty, &there, &block->stored);
	uvmp_mask_or(&dirty, &dirty, &block->wanted);
	uvmp_mask_and(&dirty, &dirty, &there);
	uvmp_mask_andnot(&block->dirty, &block->dirty, coming);
	uvmp_mask_or(&block->dirty, &block->dirty, &dirty);
	uvmp_mask_or(&block->here, &block->here, &there);
	uvmp_mask_or(&block->kept, &block->kept, &there);
	p->has_kept = true;
	p->stats.resident_bytes += (uint64_t)uvmp_mask_weight(&there) * p->page_bytes;
}

/* What is here already was kept. */
enum uvmp_status pages_bring(struct uvmp_pager *p, const struct uvmp_action *a)
{
	const struct area *area = areas_find(&p->areas, a->address);
	struct block *block = area_block(area, a->address);
	uint32_t first = first_page(p, a);
	struct uvmp_region run = {a->run.first + first, a->run.outer + first}, rest;
	uvmp_mask coming;
	int error = 0;

	uvmp_mask_zero(&coming);
	uvmp_mask_region_set(&coming, run);
	uvmp_mask_andnot(&coming, &coming, &block->here);
	uvmp_mask_andnot(&block->washed, &block->washed, &coming);
	for (rest = uvmp_mask_next_run(&coming, 0); rest.outer != 0 && error == 0;
	     rest = uvmp_mask_next_run(&coming, rest.outer))
		error = bring_run(p, area, block, rest);
	if (fail(p, error) != 0) {
		bring_failed(p, area, block, run, &coming);
		return status_of(error);
	}
	p->vain = 0;
	uvmp_mask_andnot(&coming, &coming, &block->lost);
	uvmp_mask_region_clear(&block->kept, run);
	uvmp_mask_or(&block->here, &block->here, &coming);
	uvmp_mask_region_clear(&block->wanted, run);
	p->stats.resident_bytes += (uint64_t)uvmp_mask_weight(&coming) * p->page_bytes;
	return UVMP_OK;
}

/* -- out -- */

static bool is_zero(const uint64_t *word, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes / sizeof(*word); i++) {
		if (word[i] != 0)
			return false;
	}
	return true;
}

static uint8_t *lifted(const struct uvmp_pager *p, uint32_t page)
{
	return p->bounce + (uint64_t)page * p->page_bytes;
}

static int lift_part(void *context, struct uvmp_region part)
{
	const struct copy *copy = context;
	struct uvmp_pager *p = copy->pager;

	return peek(&p->uffd, lifted(p, part.first), address_of(p, copy->area, copy->block, part.first),
	            run_bytes(p, part));
}

/* Dirty pages to where they can be looked at whatever the program does. What lies between them is clean, or
 * missing: one call protects it all. */
static int lift(struct uvmp_pager *p, const struct area *area, const struct block *block,
                const uvmp_mask *dirty)
{
	struct uvmp_region hull = uvmp_mask_hull(dirty), run;
	int error = 0;

	for (run = uvmp_mask_next_run(dirty, 0); run.outer != 0 && error == 0;
	     run = uvmp_mask_next_run(dirty, run.outer))
		error = peek_prepare(&p->uffd, address_of(p, area, block, run.first), run_bytes(p, run));
	if (error == 0)
		error = uffd_protect(&p->uffd, address_of(p, area, block, hull.first), run_bytes(p, hull),
		                     true);
	for (run = uvmp_mask_next_run(dirty, 0); run.outer != 0 && error == 0;
	     run = uvmp_mask_next_run(dirty, run.outer)) {
		struct copy copy = {p, area, block, run, NULL};

		error = copiers_run(&p->copiers, lift_part, &copy, run);
	}
	return error;
}

/* Dirty pages that the store does not know, and that hold zeros, are as if they had never been touched. */
static void forgive_zeros(const struct uvmp_pager *p, struct block *block, uvmp_mask *dirty)
{
	uvmp_mask fresh;

	uvmp_mask_andnot(&fresh, dirty, &block->stored);
	for (uint32_t page = uvmp_mask_next_set(&fresh, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(&fresh, page + 1u)) {
		if (!is_zero((const void *)lifted(p, page), p->page_bytes)) /* of a page, so aligned */
			continue;
		uvmp_mask_clear(dirty, page);
		uvmp_mask_clear(&block->dirty, page);
	}
}

static int write_part(void *context, struct uvmp_region part)
{
	const struct copy *copy = context;
	struct uvmp_pager *p = copy->pager;

	return p->store->write(p->store, store_page(p, copy->area, copy->block, part.first),
	                       run_bytes(p, part) / UVMP_STORE_PAGE_BYTES, lifted(p, part.first));
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
	p->stats.bytes_out += run_bytes(p, run);
	p->stats.copies_out++;
	return 0;
}

static int write_dirty(struct uvmp_pager *p, const struct area *area, struct block *block,
                       const uvmp_mask *dirty)
{
	int error = 0;

	for (struct uvmp_region run = uvmp_mask_next_run(dirty, 0); run.outer != 0 && error == 0;
	     run = uvmp_mask_next_run(dirty, run.outer))
		error = write_run(p, area, block, run);
	return error;
}

/* The next stretch, from `from` on, that holds leaving pages and none that stay or are lost: what lies
 * between them is missing, and one call does for all of it. */
static struct uvmp_region next_stretch(const struct block *block, const uvmp_mask *leaving, uint32_t from)
{
	struct uvmp_region stretch = uvmp_mask_next_run(leaving, from), run = stretch;
	uvmp_mask stay;

	uvmp_mask_or(&stay, &block->here, &block->lost);
	uvmp_mask_andnot(&stay, &stay, leaving);
	while (run.outer != 0 && uvmp_mask_next_set(&stay, stretch.first) >= run.outer) {
		stretch.outer = run.outer;
		run = uvmp_mask_next_run(leaving, run.outer);
	}
	return stretch;
}

/* Stays within the block, whose place in the store begins with a cluster. */
static struct uvmp_region cluster_around(const struct uvmp_pager *p, struct uvmp_region run)
{
	uint32_t pages = p->store->cluster_pages / (p->page_bytes / UVMP_STORE_PAGE_BYTES);
	uint32_t block_pages = (uint32_t)(BLOCK_BYTES / p->page_bytes);

	if (pages <= 1u)
		return run;
	run.first -= run.first % pages;
	run.outer += pages - 1u - (run.outer - 1u) % pages;
	run.outer = run.outer < block_pages ? run.outer : block_pages;
	return run;
}

/* Of `pages`, those that follow each other up to the run and from it on, within the limits. */
static void add_beside(uvmp_mask *to, const uvmp_mask *pages, struct uvmp_region run,
                       struct uvmp_region limits)
{
	while (run.first > limits.first && uvmp_mask_test(pages, run.first - 1u))
		run.first--;
	while (run.outer < limits.outer && uvmp_mask_test(pages, run.outer))
		run.outer++;
	uvmp_mask_region_set(to, run);
}

/* Dirty pages, and those that are written along. Without protection these could not be clean afterwards. The
 * sample has none of them: send_pages. */
static uvmp_mask with_neighbours(const struct uvmp_pager *p, const struct block *block,
                                 const uvmp_mask *dirty)
{
	uvmp_mask together = *dirty, others;

	uvmp_mask_and(&others, &block->here, &block->dirty);
	uvmp_mask_andnot(&others, &others, &block->lost);
	uvmp_mask_andnot(&others, &others, &block->kept);
	for (struct uvmp_region run = uvmp_mask_next_run(dirty, 0); run.outer != 0;
	     run = uvmp_mask_next_run(dirty, run.outer))
		add_beside(&together, &others, run, cluster_around(p, run));
	return together;
}

/* `dirty`: what was written, afterwards. */
static int write_back(struct uvmp_pager *p, const struct area *area, struct block *block, uvmp_mask *dirty)
{
	int error = lift(p, area, block, dirty);

	if (error != 0)
		return error;
	forgive_zeros(p, block, dirty);
	return write_dirty(p, area, block, dirty);
}

/* Those of `together` that stay, if they have become clean. */
static void wash(struct block *block, const uvmp_mask *together, const uvmp_mask *leaving)
{
	uvmp_mask washed;

	uvmp_mask_andnot(&washed, together, leaving);
	uvmp_mask_andnot(&washed, &washed, &block->dirty);
	uvmp_mask_or(&block->washed, &block->washed, &washed);
}

/* Clean pages of which something is not in place, as the program has dropped it: not what the store has.
 * Where the kernel has swapped a page out it is only written once more. */
static void find_dropped(const struct uvmp_pager *p, const struct area *area, struct block *block,
                         const uvmp_mask *leaving)
{
	uvmp_mask clean, there, in_part;

	uvmp_mask_and(&clean, leaving, &block->stored);
	uvmp_mask_andnot(&clean, &clean, &block->dirty);
	if (uvmp_mask_is_empty(&clean))
		return;
	look(p, area, block, uvmp_mask_hull(&clean), &there, &in_part);
	uvmp_mask_andnot(&clean, &clean, &there);
	uvmp_mask_or(&block->dirty, &block->dirty, &clean);
}

/* Pages that are clean are protected already: whoever writes to one of them meanwhile waits, and finds it
 * missing. Those of a mapped file are in it anyway. What the store has no room for, or cannot write, shall
 * not keep those from leaving for which it has. -EAGAIN, nothing written: the program is unmapping something.
 */
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
	wash(block, &together, &dirty);
	if (error == 0 || error == -EAGAIN || uvmp_mask_equal(&together, &dirty))
		return error;
	uvmp_mask_and(&dirty, &dirty, &block->dirty);
	return write_back(p, area, block, &dirty);
}

/* All is saved before any of it is dropped: after an error all of it is here, as the engine has it.
 * `written`: what could not just be dropped. */
static int save_all(struct uvmp_pager *p, const struct area *area, struct block *block, uvmp_mask leaving,
                    uvmp_mask *written)
{
	uint32_t from = 0;

	uvmp_mask_zero(written);
	for (;;) {
		struct uvmp_region stretch;
		uvmp_mask pages, some;
		int error;

		uvmp_mask_andnot(&leaving, &leaving, &block->lost);
		stretch = next_stretch(block, &leaving, from);
		if (stretch.outer == 0)
			return 0;
		uvmp_mask_region_and(&pages, &leaving, stretch);
		error = save(p, area, block, &pages, &some);
		if (error == -EAGAIN) {
			away_listen(p);
			continue;
		}
		if (error != 0)
			return error;
		uvmp_mask_and(&some, &some, &pages);
		uvmp_mask_or(written, written, &some);
		from = stretch.outer;
	}
}

static void drop_stretch(struct uvmp_pager *p, const struct area *area, struct block *block,
                         const uvmp_mask *leaving, struct uvmp_region stretch)
{
	uvmp_mask pages;

	drop(p, area, block, stretch);
	uvmp_mask_region_and(&pages, leaving, stretch);
	uvmp_mask_and(&pages, &pages, &block->here); /* but for what was lost on the way */
	uvmp_mask_andnot(&block->here, &block->here, &pages);
	uvmp_mask_andnot(&block->kept, &block->kept, &pages);
	p->stats.resident_bytes -= (uint64_t)uvmp_mask_weight(&pages) * p->page_bytes;
}

static void drop_all(struct uvmp_pager *p, const struct area *area, struct block *block, uvmp_mask leaving)
{
	uint32_t from = 0;

	for (;;) {
		struct uvmp_region stretch;

		uvmp_mask_andnot(&leaving, &leaving, &block->lost);
		stretch = next_stretch(block, &leaving, from);
		if (stretch.outer == 0)
			return;
		drop_stretch(p, area, block, &leaving, stretch);
		from = stretch.outer;
	}
}

static int send_pages(struct uvmp_pager *p, const struct area *area, struct block *block, uvmp_mask leaving)
{
	uvmp_mask written, untouched;
	int error = 0;

	if (!uvmp_mask_is_empty(&block->aside))
		error = sample_restore(p, address_of(p, area, block, 0), BLOCK_BYTES);
	if (error == 0)
		error = save_all(p, area, block, leaving, &written);
	if (fail(p, error) != 0)
		return error;
	uvmp_mask_andnot(&untouched, &leaving, &written);
	uvmp_mask_andnot(&untouched, &untouched, &block->lost);
	p->stats.bytes_dropped += (uint64_t)uvmp_mask_weight(&untouched) * p->page_bytes;
	drop_all(p, area, block, leaving);
	return 0;
}

/* Pages leave. */
enum uvmp_status pages_send(struct uvmp_pager *p, const struct uvmp_action *a)
{
	const struct area *area = areas_find(&p->areas, a->address);
	uvmp_mask leaving;

	uvmp_mask_shift_up(&leaving, &a->pages, first_page(p, a));
	return status_of(send_pages(p, area, area_block(area, a->address), leaving));
}

/* The store may work again. */
void pages_send_kept(struct uvmp_pager *p)
{
	bool is_left = false;

	for (size_t i = 0; i < p->areas.count && p->has_kept; i++) {
		const struct area *area = p->areas.area[i];

		for (uint64_t k = 0; k < area->bytes / BLOCK_BYTES; k++) {
			struct block *block = &area->block[k];

			uvmp_mask_and(&block->kept, &block->kept, &block->here);
			if (!uvmp_mask_is_empty(&block->kept) && send_pages(p, area, block, block->kept) != 0)
				is_left = true;
		}
	}
	p->has_kept = is_left;
}

static void disown_run(struct uvmp_pager *p, const struct area *area, struct block *block,
                       struct uvmp_region run)
{
	uint64_t bytes = run_bytes(p, run);
	uvmp_mask here;

	p->store->forget(p->store, store_page(p, area, block, run.first), bytes / UVMP_STORE_PAGE_BYTES);
	uvmp_mask_region_clear(&block->stored, run);
	uvmp_mask_region_clear(&block->washed, run);
	if (p->uffd.is_mapped)
		return;
	uvmp_mask_region_and(&here, &block->here, run);
	for (run = uvmp_mask_next_run(&here, 0); run.outer != 0; run = uvmp_mask_next_run(&here, run.outer)) {
		if (uffd_protect(&p->uffd, address_of(p, area, block, run.first), run_bytes(p, run), true) ==
		    0)
			uvmp_mask_region_clear(&block->dirty, run);
	}
}

void pages_disown(struct uvmp_pager *p, const struct area *area, struct block *block, struct uvmp_region rest)
{
	while (rest.first != rest.outer) {
		bool is_lost;
		struct uvmp_region part = next_part(&block->lost, rest, &is_lost);

		if (!is_lost)
			disown_run(p, area, block, part);
		rest.first = part.outer;
	}
}
