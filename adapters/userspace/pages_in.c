/* Pages of a block become resident. Copies wake no thread; clean pages are write-protected. */
#include "pager_internal.h"

#include <errno.h>

static int read_run(const struct copy *copy, struct uvmp_region run, uint8_t *to)
{
	struct uvmp_pager *p = copy->pager;

	return p->store->read(p->store, pages_store_page(p, copy->area, copy->block, run.first),
			      pages_bytes(p, run) / UVMP_STORE_PAGE_BYTES, to);
}

/* Pages with a stalled writer are mapped without protection, unless pages are large: if such a copy fails
 * half way, a page that is present in part must not have been written to. */
static int load_part(void *context, struct uvmp_region rest)
{
	const struct copy *copy = context;
	struct uvmp_pager *p = copy->pager;
	uint64_t offset = (uint64_t)(rest.first - copy->run.first) * p->page_bytes;
	const uint8_t *data = copy->data ? copy->data + offset : p->bounce + offset;
	int error = copy->data ? 0 : read_run(copy, rest, p->bounce + offset);

	while (rest.first != rest.end && error == 0) {
		bool is_wanted;
		struct uvmp_region part = pages_next_part(&copy->block->write_wanted, rest, &is_wanted);

		error = uffd_copy(&p->uffd, pages_address(p, copy->area, copy->block, part.first), data,
				  pages_bytes(p, part), !is_wanted || p->page_bytes != UVMP_STORE_PAGE_BYTES);
		data += pages_bytes(p, part);
		rest.first = part.end;
	}
	return error;
}

static int allow_writes(struct uvmp_pager *p, const struct area *area, const struct block *block,
			const uvmp_mask *pages)
{
	int error = 0;

	for (struct uvmp_region run = uvmp_mask_next_run(pages, 0); run.end != 0 && error == 0;
	     run = uvmp_mask_next_run(pages, run.end))
		error = uffd_protect(&p->uffd, pages_address(p, area, block, run.first), pages_bytes(p, run),
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
		copy.data = p->store->at(p->store, pages_store_page(p, area, block, run.first));
	if (!copy.data && !p->store->is_parallel) {
		error = read_run(&copy, run, p->bounce);
		copy.data = p->bounce;
	}
	if (error == 0)
		error = copiers_run(&p->copiers, load_part, &copy, run);
	if (error != 0)
		return error;
	uvmp_mask_region_and(&written, &block->write_wanted, run);
	uvmp_mask_or(&block->dirty, &block->dirty, &written);
	return p->page_bytes == UVMP_STORE_PAGE_BYTES ? 0 : allow_writes(p, area, block, &written);
}

/* Pages that were discarded while resident were evicted as if the file had them. Where the file has nothing
 * they are zeros. */
static int map_stored(struct uvmp_pager *p, const struct area *area, const struct block *block,
		      struct uvmp_region run)
{
	uint64_t start = pages_address(p, area, block, run.first), bytes = pages_bytes(p, run);
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

/* The run is stored. */
static int load_stored(struct uvmp_pager *p, const struct area *area, struct block *block,
		       struct uvmp_region run)
{
	int error = p->store->is_mapped ? map_stored(p, area, block, run) : copy_stored(p, area, block, run);

	if (error != 0)
		return error;
	p->stats.bytes_in += pages_bytes(p, run);
	p->stats.copies_in++;
	return 0;
}

/* Zeros cannot be protected as they are mapped, and a thread may write to them at once. So they count as
 * dirty, and are compared with zero at eviction. A single page with a stalled writer gets memory at once:
 * after the kernel's zero page it would fault a second time. */
static int load_zeros(struct uvmp_pager *p, const struct area *area, struct block *block,
		      struct uvmp_region run)
{
	static const uint8_t zeros[UVMP_STORE_PAGE_BYTES] __attribute__((aligned(UVMP_STORE_PAGE_BYTES)));
	uint64_t at = pages_address(p, area, block, run.first), bytes = pages_bytes(p, run);
	bool is_written = bytes == sizeof(zeros) && uvmp_mask_test(&block->write_wanted, run.first);
	int error =
		is_written ? uffd_copy(&p->uffd, at, zeros, bytes, false) : uffd_zero(&p->uffd, at, bytes);

	if (error != 0)
		return error;
	uvmp_mask_region_set(&block->dirty, run);
	p->stats.bytes_zeroed += pages_bytes(p, run);
	return 0;
}

/* Foreign pages are skipped; the engine is not told. */
static int load_run(struct uvmp_pager *p, const struct area *area, struct block *block,
		    struct uvmp_region rest)
{
	int error = 0;

	while (rest.first != rest.end && error == 0) {
		bool is_foreign, is_stored = false;
		struct uvmp_region part = pages_next_part(&block->foreign, rest, &is_foreign);

		if (!is_foreign) {
			part = pages_next_part(&block->stored, part, &is_stored);
			error = is_stored ? load_stored(p, area, block, part)
					  : load_zeros(p, area, block, part);
		}
		if (error == -EAGAIN) {
			messages_drain(p);
			error = 0;
			continue;
		}
		rest.first = part.end;
	}
	return error;
}

/* A copy failed half way, and the engine counts none of its pages. Threads may have written to unprotected
 * pages, so these are stranded until they can be evicted like other pages. A page that is present in part and
 * stored cannot have been written to, and is dropped; if it is not stored, its missing part is zero. */
static void load_failed(struct uvmp_pager *p, const struct area *area, struct block *block,
			struct uvmp_region run, const uvmp_mask *arriving)
{
	uvmp_mask present, in_part, dirty;

	if (p->store->is_mapped) { /* what was written is in the file */
		pages_drop(p, area, block, run);
		return;
	}
	messages_drain(p);
	pages_find_present(p, area, block, run, &present, &in_part);
	uvmp_mask_or(&present, &present, &in_part);
	uvmp_mask_and(&in_part, &in_part, &block->stored);
	uvmp_mask_andnot(&present, &present, &in_part);
	uvmp_mask_and(&present, &present, arriving);
	uvmp_mask_andnot(&present, &present, &block->foreign);
	for (uint32_t page = uvmp_mask_next_set(&in_part, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(&in_part, page + 1u)) {
		if (uvmp_mask_test(arriving, page))
			pages_drop(p, area, block, (struct uvmp_region){page, page + 1u});
	}
	uvmp_mask_andnot(&dirty, &present, &block->stored);
	uvmp_mask_or(&dirty, &dirty, &block->write_wanted);
	uvmp_mask_and(&dirty, &dirty, &present);
	uvmp_mask_andnot(&block->dirty, &block->dirty, arriving);
	uvmp_mask_or(&block->dirty, &block->dirty, &dirty);
	uvmp_mask_or(&block->resident, &block->resident, &present);
	uvmp_mask_or(&block->stranded, &block->stranded, &present);
	p->has_stranded = true;
	p->stats.resident_bytes += (uint64_t)uvmp_mask_weight(&present) * p->page_bytes;
}

/* Pages that are resident already were stranded. */
enum uvmp_status pages_in(struct uvmp_pager *p, const struct uvmp_action *a, struct uvmp_region transfer)
{
	const struct area *area = areas_find(&p->areas, a->address);
	struct block *block = area_block(area, a->address);
	uint32_t first = pages_first(p, a);
	struct uvmp_region run = {transfer.first + first, transfer.end + first}, rest;
	uvmp_mask arriving;
	int error = 0;

	uvmp_mask_zero(&arriving);
	uvmp_mask_region_set(&arriving, run);
	uvmp_mask_andnot(&arriving, &arriving, &block->resident);
	uvmp_mask_andnot(&block->cleaned, &block->cleaned, &arriving);
	for (rest = uvmp_mask_next_run(&arriving, 0); rest.end != 0 && error == 0;
	     rest = uvmp_mask_next_run(&arriving, rest.end))
		error = load_run(p, area, block, rest);
	if (pages_note_error(p, error) != 0) {
		load_failed(p, area, block, run, &arriving);
		return pages_status(error);
	}
	p->cancels = 0;
	uvmp_mask_andnot(&arriving, &arriving, &block->foreign);
	uvmp_mask_region_clear(&block->stranded, run);
	uvmp_mask_or(&block->resident, &block->resident, &arriving);
	uvmp_mask_region_clear(&block->write_wanted, run);
	p->stats.resident_bytes += (uint64_t)uvmp_mask_weight(&arriving) * p->page_bytes;
	return UVMP_OK;
}
