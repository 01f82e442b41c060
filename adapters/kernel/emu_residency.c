/* Attaches pages to frames, and frees the frames of pages that have departed.
 *
 * With evict=lru the engine allocates chunks. ALLOCATE says which pages of a block lie in a chunk, in
 * order. The frames stay attached, with or without contents, until FREE or an eviction of the root. The
 * other orders count pages, and their ALLOCATE and FREE are ignored: an arriving page takes a free page number, and a
 * departed page frees it.
 *
 * The engine knows whether a page has departed, and only when all copies of a block have completed. So
 * pages that may have departed are noted, and checked before the next action. */
#include "emu_bottom.h"

#define ALL_MEMORY ((u64)1 << 62)

/* -- who uses a frame -- */

/* The processor that changes the page does not count. */
bool emu_residency_is_used(const struct emu_page *page, u32 on, enum uvmp_right right)
{
	for (u32 processor = 0; processor < EMU_PROCS; processor++)
		if (page->right[processor] >= right && page->on[processor] == on)
			return true;
	return false;
}

bool emu_residency_is_mapped(const struct emu_page *page, u32 on)
{
	return emu_residency_is_used(page, on, UVMP_RIGHT_READ);
}

/* -- frames -- */

/* The private word of a frame is its page in a chunk, or the page number. */
void emu_residency_attach(struct emu_page *page, u32 processor, struct page *frame, unsigned long note)
{
	set_page_private(frame, note);
	page->data[processor] = frame;
}

void emu_residency_detach(struct emu_page *page, u32 processor)
{
	set_page_private(page->data[processor], 0);
	page->data[processor] = NULL;
}

static void free_cpu_frame(struct emu_bottom *b, struct emu_page *page)
{
	struct page *frame = page->data[UVMP_CPU];

	if (emu_residency_is_mapped(page, UVMP_CPU)) {
		emu_broken(b->driver, "a page that has departed from the CPU is still mapped there");
		return;
	}
	page->data[UVMP_CPU] = NULL;
	emu_frame_put_cpu(b->driver, frame);
}

static void free_frame_number(struct emu_bottom *b, struct emu_page *page, u32 processor)
{
	u64 place = page_private(page->data[processor]);

	if (emu_residency_is_mapped(page, processor)) {
		emu_broken(b->driver, "a page that has departed from a GPU is still mapped there");
		return;
	}
	emu_residency_detach(page, processor);
	emu_frame_put_gpu(emu_gpu_of(b, processor), place << PAGE_SHIFT, PAGE_SIZE);
	ida_free(&b->frame_numbers[processor], (unsigned int)place);
}

bool emu_residency_add_cpu_frame(struct emu_bottom *b, struct emu_page *page)
{
	if (page->data[UVMP_CPU] == NULL)
		page->data[UVMP_CPU] = emu_frame_get_cpu(b->driver);
	return page->data[UVMP_CPU] != NULL;
}

static bool take_frame_number(struct emu_bottom *b, struct emu_page *page, u32 processor)
{
	int place = ida_alloc(&b->frame_numbers[processor], GFP_KERNEL);
	struct page *frame =
		place < 0 ? NULL : emu_frame_get_gpu(emu_gpu_of(b, processor), (u64)place << PAGE_SHIFT);

	if (frame == NULL) {
		if (place >= 0)
			ida_free(&b->frame_numbers[processor], place);
		return false;
	}
	emu_residency_attach(page, processor, frame, (unsigned long)place);
	return true;
}

enum uvmp_status emu_residency_add_frame(struct emu_bottom *b, struct emu_page *page, u32 processor)
{
	if (page->data[processor] != NULL)
		return UVMP_OK;
	if (processor == UVMP_CPU)
		return emu_residency_add_cpu_frame(b, page) ? UVMP_OK : UVMP_ERR_NO_MEMORY;
	if (b->counts_pages)
		return take_frame_number(b, page, processor) ? UVMP_OK : UVMP_ERR_NO_MEMORY;
	emu_broken(b->driver, "a page arrives on a GPU without memory for it");
	return UVMP_ERR_STATE;
}

/* -- what has left -- */

static bool has_departed(struct emu_bottom *b, u64 space, u64 address, u32 processor)
{
	struct uvmp_page_state state = {.size = sizeof(state)};

	return uvmp_service_page(b->driver->service, space, address, &state) == UVMP_OK &&
	       (state.resident & (u64)1 << processor) == 0;
}

static void free_frame(struct emu_bottom *b, struct emu_page *page, const struct emu_departing *departing)
{
	if (departing->from == UVMP_CPU)
		free_cpu_frame(b, page);
	else if (departing->root == EMU_NO_ROOT)
		free_frame_number(b, page, departing->from);
	else
		emu_residency_detach(page, departing->from);
}

/* True: the note is done. A cancelled copy is mapped until its UNMAP, which is the next action. Pages
 * that were noted together mostly depart together: unless is_all, the first page that has not departed
 * ends the search. */
static bool settle(struct emu_bottom *b, struct emu_departing *departing, bool is_all)
{
	struct emu_space *space = xa_load(&b->spaces, departing->space);
	u32 at;

	if (space == NULL)
		return true;
	for (at = uvmp_mask_next_set(&departing->pages, 0); at < UVMP_MASK_BITS;
	     at = uvmp_mask_next_set(&departing->pages, at + 1u)) {
		u64 address = departing->address + (u64)at * PAGE_SIZE;
		struct emu_page *page = emu_page_find(space, address);

		if (page != NULL && page->data[departing->from] != NULL) {
			if (emu_residency_is_mapped(page, departing->from) ||
			    !has_departed(b, departing->space, address, departing->from)) {
				if (!is_all)
					return false;
				continue;
			}
			free_frame(b, page, departing);
		}
		uvmp_mask_clear(&departing->pages, at);
	}
	return uvmp_mask_is_empty(&departing->pages);
}

/* Frees the frames of an evicted root that no page is attached to; the root may be in use again, in parts. */
static void clear_root(struct emu_bottom *b, u32 processor, u64 root)
{
	struct emu_gpu *gpu = emu_gpu_of(b, processor);
	unsigned long at, first = root >> PAGE_SHIFT;
	struct page *frame;

	xa_for_each_range(&gpu->frames, at, frame, first,
			  first + UVMP_MASK_BITS - 1u) if (page_private(frame) == 0)
		emu_frame_put_gpu(gpu, (u64)at << PAGE_SHIFT, PAGE_SIZE);
}

/* Pages that were attached to an evicted root meanwhile stay. So a root is checked at the end of the
 * operation, or when there are many notes. True: the note is done. */
static bool settle_root(struct emu_bottom *b, struct emu_departing *departing)
{
	bool is_settled = settle(b, departing, true);

	clear_root(b, departing->from, departing->root);
	return is_settled;
}

static void settle_all(struct emu_bottom *b, bool with_roots, bool is_end)
{
	u32 stay = 0;

	for (u32 i = 0; i < b->departing_count; i++) {
		struct emu_departing *departing = &b->departing[i];
		bool is_root = departing->root != EMU_NO_ROOT, is_settled = false;

		if (is_root && with_roots)
			is_settled = settle_root(b, departing);
		else if (!is_root)
			is_settled = settle(b, departing, with_roots);
		if (!is_settled && !is_end)
			b->departing[stay++] = *departing;
	}
	b->departing_count = stay;
}

void emu_residency_settle(struct emu_bottom *b, bool is_all)
{
	settle_all(b, is_all, is_all);
}

static void remove_note(struct emu_bottom *b, u32 at)
{
	b->departing_count--;
	memmove(&b->departing[at], &b->departing[at + 1u],
		(b->departing_count - at) * sizeof(b->departing[0]));
}

/* Adds the pages of an older note of the same block, which is removed. */
static void join_noted(struct emu_bottom *b, struct emu_departing *departing)
{
	for (u32 i = 0; i < b->departing_count; i++) {
		const struct emu_departing *noted = &b->departing[i];

		if (noted->space != departing->space || noted->address != departing->address ||
		    noted->from != departing->from || noted->root != departing->root)
			continue;
		uvmp_mask_or(&departing->pages, &departing->pages, &noted->pages);
		remove_note(b, i);
		return;
	}
}

/* The list is long enough for all notes that matter: those of the current group of actions. The engine
 * ends a group before the next one, and each action is complete before the next. A group concerns one
 * block, or two where copies and evictions overlap: with one note for a block, processor and root that
 * is at most 2 * EMU_PROCS + 1, and they are the newest. Pages of older notes have not departed, such
 * as after an UNMAP without a move. */
static void note(struct emu_bottom *b, struct emu_departing departing)
{
	BUILD_BUG_ON(EMU_DEPARTING < 4u * EMU_PROCS);
	join_noted(b, &departing);
	if (b->departing_count == EMU_DEPARTING)
		settle_all(b, true, false);
	if (b->departing_count == EMU_DEPARTING)
		remove_note(b, 0);
	b->departing[b->departing_count++] = departing;
}

void emu_residency_departing(struct emu_bottom *b, const struct uvmp_action *a, u32 from, const uvmp_mask *pages)
{
	if (uvmp_mask_is_empty(pages))
		return;
	if (from == UVMP_CPU || b->counts_pages) /* frames of chunks stay attached */
		note(b, (struct emu_departing){a->space, a->address, EMU_NO_ROOT, from, *pages});
}

/* Frames of a chunk are freed when its root is evicted. If a copy of the block fails, the block keeps
 * all its memory there. So the eviction is noted when its copies are over. */
void emu_residency_evict(struct emu_bottom *b, const struct uvmp_action *a)
{
	emu_gpu_of(b, a->from)->stats.evictions++;
	b->is_evicting = !b->counts_pages;
	b->evicting = (struct emu_departing){a->space, a->address, a->offset, a->from, a->pages};
}

/* They are over when the engine continues: with the next block of the root, an allocation, or the answer. */
void emu_residency_end_eviction(struct emu_bottom *b, const struct uvmp_action *next)
{
	if (!b->is_evicting || (next->kind != UVMP_ACTION_EVICT && next->kind != UVMP_ACTION_ALLOCATE &&
				next->kind != UVMP_ACTION_DONE))
		return;
	b->is_evicting = false;
	note(b, b->evicting);
}

/* Arriving pages are resident before the engine reports it; they are not mistaken for departed ones. */
void emu_residency_arriving(struct emu_bottom *b, const struct uvmp_action *a)
{
	for (u32 i = 0; i < b->departing_count; i++) {
		struct emu_departing *departing = &b->departing[i];

		if (departing->from == a->to && departing->space == a->space &&
		    departing->address == a->address)
			uvmp_mask_andnot(&departing->pages, &departing->pages, &a->pages);
	}
}

/* -- release -- */

void emu_residency_forget(struct emu_bottom *b, struct emu_space *space, u64 address, u64 bytes)
{
	for (u64 at = address; at < address + bytes; at += PAGE_SIZE) {
		struct emu_page *page = emu_page_find(space, at);

		for (u32 processor = 1; page != NULL && processor < EMU_PROCS; processor++) {
			if (page->data[processor] == NULL)
				continue;
			if (b->counts_pages)
				free_frame_number(b, page, processor);
			else
				emu_residency_detach(page, processor);
		}
		if (at % ((u64)UVMP_MASK_BITS * PAGE_SIZE) == 0)
			cond_resched();
	}
}

void emu_residency_init(struct emu_bottom *b)
{
	for (u32 processor = 0; processor < EMU_PROCS; processor++)
		ida_init(&b->frame_numbers[processor]);
}

/* Frames of evicted roots are not attached to any page. */
void emu_residency_exit(struct emu_bottom *b)
{
	for (u32 processor = 1; processor <= b->driver->params.gpus; processor++) {
		emu_frame_put_gpu(emu_gpu_of(b, processor), 0, ALL_MEMORY);
		ida_destroy(&b->frame_numbers[processor]);
	}
	b->departing_count = 0;
	b->is_evicting = false;
}
