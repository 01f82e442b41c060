/* Where pages lie, and what becomes of the frames that they leave.
 *
 * With evict=lru the engine hands out chunks. ALLOCATE says which pages of a block lie in a chunk, one behind
 * the other; the frames stay theirs, with or without contents, until FREE or an eviction of the root. The
 * other orders count pages and tell of no chunks: a page gets a place when it comes, and gives it back when
 * it has left.
 *
 * Whether a page has left is the engine's to say, and it says so only when all copies of a block have
 * arrived. So those that may have left are noted, and looked at before the next action. */
#include "emu_bottom.h"

#define ALL_MEMORY ((u64)1 << 62)

/* -- who uses a frame -- */

/* With at least this right; the processor that changes it does not count. */
bool emu_place_is_used(const struct emu_page *page, u32 on, enum uvmp_prot right)
{
	for (u32 processor = 0; processor < EMU_PROCS; processor++)
		if (page->right[processor] >= right && page->on[processor] == on)
			return true;
	return false;
}

bool emu_place_is_mapped(const struct emu_page *page, u32 on)
{
	return emu_place_is_used(page, on, UVMP_PROT_READ);
}

/* -- frames -- */

/* Whose data lies in a frame of a chunk is written on the frame; where places are counted, which place it is.
 */
void emu_place_lay(struct emu_page *page, u32 processor, struct page *frame, unsigned long note)
{
	set_page_private(frame, note);
	page->data[processor] = frame;
}

void emu_place_lift(struct emu_page *page, u32 processor)
{
	set_page_private(page->data[processor], 0);
	page->data[processor] = NULL;
}

static void give_cpu(struct emu_bottom *b, struct emu_page *page)
{
	struct page *frame = page->data[UVMP_CPU];

	if (emu_place_is_mapped(page, UVMP_CPU)) {
		emu_broken(b->driver, "a page that has left the CPU is still mapped there");
		return;
	}
	page->data[UVMP_CPU] = NULL;
	emu_frame_put_cpu(b->driver, frame);
}

static void give_place(struct emu_bottom *b, struct emu_page *page, u32 processor)
{
	u64 place = page_private(page->data[processor]);

	if (emu_place_is_mapped(page, processor)) {
		emu_broken(b->driver, "a page that has left a GPU is still mapped there");
		return;
	}
	emu_place_lift(page, processor);
	emu_frame_put_gpu(emu_gpu_of(b, processor), place << PAGE_SHIFT, PAGE_SIZE);
	ida_free(&b->place[processor], (unsigned int)place);
}

bool emu_place_take_cpu(struct emu_bottom *b, struct emu_page *page)
{
	if (page->data[UVMP_CPU] == NULL)
		page->data[UVMP_CPU] = emu_frame_get_cpu(b->driver);
	return page->data[UVMP_CPU] != NULL;
}

static bool take_place(struct emu_bottom *b, struct emu_page *page, u32 processor)
{
	int place = ida_alloc(&b->place[processor], GFP_KERNEL);
	struct page *frame =
	        place < 0 ? NULL : emu_frame_get_gpu(emu_gpu_of(b, processor), (u64)place << PAGE_SHIFT);

	if (frame == NULL) {
		if (place >= 0)
			ida_free(&b->place[processor], place);
		return false;
	}
	emu_place_lay(page, processor, frame, (unsigned long)place);
	return true;
}

/* A frame for what comes. */
enum uvmp_status emu_place_take(struct emu_bottom *b, struct emu_page *page, u32 processor)
{
	if (page->data[processor] != NULL)
		return UVMP_OK;
	if (processor == UVMP_CPU)
		return emu_place_take_cpu(b, page) ? UVMP_OK : UVMP_ERR_NO_MEMORY;
	if (b->counts_pages)
		return take_place(b, page, processor) ? UVMP_OK : UVMP_ERR_NO_MEMORY;
	emu_broken(b->driver, "a page comes to a GPU that has no memory for it");
	return UVMP_ERR_STATE;
}

/* -- what has left -- */

static bool has_left(struct emu_bottom *b, u64 space, u64 address, u32 processor)
{
	struct uvmp_page_state state;

	return uvmp_service_page(b->driver->service, space, address, &state) == UVMP_OK &&
	       (state.resident & (u64)1 << processor) == 0;
}

static void give(struct emu_bottom *b, struct emu_page *page, const struct emu_leaving *leaving)
{
	if (leaving->from == UVMP_CPU)
		give_cpu(b, page);
	else if (leaving->root == EMU_NO_ROOT)
		give_place(b, page, leaving->from);
	else
		emu_place_lift(page, leaving->from);
}

/* True: nothing of it is left to be looked at. A copy that was given up is mapped until its UNMAP,
 * which comes next. What was noted together mostly leaves together: unless all shall be looked at, the first
 * page that is still there speaks for those behind it. */
static bool settle(struct emu_bottom *b, struct emu_leaving *leaving, bool is_all)
{
	struct emu_space *space = xa_load(&b->spaces, leaving->space);
	u32 at;

	if (space == NULL)
		return true;
	for (at = uvmp_mask_next_set(&leaving->pages, 0); at < UVMP_MASK_BITS;
	     at = uvmp_mask_next_set(&leaving->pages, at + 1u)) {
		u64 address = leaving->address + (u64)at * PAGE_SIZE;
		struct emu_page *page = emu_page_find(space, address);

		if (page != NULL && page->data[leaving->from] != NULL) {
			if (emu_place_is_mapped(page, leaving->from) ||
			    !has_left(b, leaving->space, address, leaving->from)) {
				if (!is_all)
					return false;
				continue;
			}
			give(b, page, leaving);
		}
		uvmp_mask_clear(&leaving->pages, at);
	}
	return uvmp_mask_is_empty(&leaving->pages);
}

/* Frames of a root in which nobody's data lies: the root was evicted, and is given to others in parts, or
 * later. */
static void clear_root(struct emu_bottom *b, u32 processor, u64 root)
{
	struct emu_gpu *gpu = emu_gpu_of(b, processor);
	unsigned long at, first = root >> PAGE_SHIFT;
	struct page *frame;

	xa_for_each_range(&gpu->frames, at, frame, first,
	                  first + UVMP_MASK_BITS - 1u) if (page_private(frame) == 0)
	        emu_frame_put_gpu(gpu, (u64)at << PAGE_SHIFT, PAGE_SIZE);
}

/* Of an evicted root what others have got meanwhile is theirs: so it is looked at when the operation has
 * ended, or when there are many. True: nothing of it is left to be looked at. */
static bool settle_root(struct emu_bottom *b, struct emu_leaving *leaving)
{
	bool is_settled = settle(b, leaving, true);

	clear_root(b, leaving->from, leaving->root);
	return is_settled;
}

static void settle_all(struct emu_bottom *b, bool with_roots, bool is_end)
{
	u32 stay = 0;

	for (u32 i = 0; i < b->leavings; i++) {
		struct emu_leaving *leaving = &b->leaving[i];
		bool is_root = leaving->root != EMU_NO_ROOT, is_settled = false;

		if (is_root && with_roots)
			is_settled = settle_root(b, leaving);
		else if (!is_root)
			is_settled = settle(b, leaving, with_roots);
		if (!is_settled && !is_end)
			b->leaving[stay++] = *leaving;
	}
	b->leavings = stay;
}

void emu_place_settle(struct emu_bottom *b, bool is_all)
{
	settle_all(b, is_all, is_all);
}

static void forget_note(struct emu_bottom *b, u32 at)
{
	b->leavings--;
	memmove(&b->leaving[at], &b->leaving[at + 1u], (b->leavings - at) * sizeof(b->leaving[0]));
}

/* The pages that were noted of the same block, which are noted again, at the end. */
static void join_noted(struct emu_bottom *b, struct emu_leaving *leaving)
{
	for (u32 i = 0; i < b->leavings; i++) {
		const struct emu_leaving *noted = &b->leaving[i];

		if (noted->space != leaving->space || noted->address != leaving->address ||
		    noted->from != leaving->from || noted->root != leaving->root)
			continue;
		uvmp_mask_or(&leaving->pages, &leaving->pages, &noted->pages);
		forget_note(b, i);
		return;
	}
}

/* None is lost that is to leave yet. Those are pages of the group of actions at hand, for the engine ends a
 * group before it begins the next one, and each action is complete when the next one comes. A group is about
 * one block, and where copies and evictions go side by side about a second one: with one note for a block,
 * processor and root, at the most 2 * EMU_PROCS + 1, and they are the newest. What is still there of older
 * ones stays where it is: an UNMAP, say, behind which nothing was moved. */
static void note(struct emu_bottom *b, struct emu_leaving leaving)
{
	BUILD_BUG_ON(EMU_LEAVING < 4u * EMU_PROCS);
	join_noted(b, &leaving);
	if (b->leavings == EMU_LEAVING)
		settle_all(b, true, false);
	if (b->leavings == EMU_LEAVING)
		forget_note(b, 0);
	b->leaving[b->leavings++] = leaving;
}

void emu_place_leaving(struct emu_bottom *b, const struct uvmp_action *a, u32 from)
{
	if (from == UVMP_CPU || b->counts_pages) /* chunks keep their frames, */
		note(b, (struct emu_leaving){a->space, a->address, EMU_NO_ROOT, from, a->pages});
}

/* but when their root is evicted; and then, too, if one of the block's copies fails: it keeps all its memory
 * there, also that of pages which have left. So an eviction is noted when its copies are over. */
void emu_place_evict(struct emu_bottom *b, const struct uvmp_action *a)
{
	emu_gpu_of(b, a->from)->stats.evictions++;
	b->is_evicting = !b->counts_pages;
	b->evicting = (struct emu_leaving){a->space, a->address, a->offset, a->from, a->pages};
}

/* They are when the engine goes on: with the next block of the root, with what it gives the memory to, or
 * with its answer. */
void emu_place_end_eviction(struct emu_bottom *b, const struct uvmp_action *next)
{
	if (!b->is_evicting || (next->kind != UVMP_ACTION_EVICT && next->kind != UVMP_ACTION_ALLOCATE &&
	                        next->kind != UVMP_ACTION_DONE))
		return;
	b->is_evicting = false;
	note(b, b->evicting);
}

/* What comes is there before the engine says so: it must not be taken for what has left. */
void emu_place_coming(struct emu_bottom *b, const struct uvmp_action *a)
{
	for (u32 i = 0; i < b->leavings; i++) {
		struct emu_leaving *leaving = &b->leaving[i];

		if (leaving->from == a->to && leaving->space == a->space && leaving->address == a->address)
			uvmp_mask_andnot(&leaving->pages, &leaving->pages, &a->pages);
	}
}

/* -- nobody's any more -- */

void emu_place_forget(struct emu_bottom *b, struct emu_space *space, u64 address, u64 bytes)
{
	for (u64 at = address; at < address + bytes; at += PAGE_SIZE) {
		struct emu_page *page = emu_page_find(space, at);

		for (u32 processor = 1; page != NULL && processor < EMU_PROCS; processor++) {
			if (page->data[processor] == NULL)
				continue;
			if (b->counts_pages)
				give_place(b, page, processor);
			else
				emu_place_lift(page, processor);
		}
		if (at % ((u64)UVMP_MASK_BITS * PAGE_SIZE) == 0)
			cond_resched();
	}
}

void emu_place_init(struct emu_bottom *b)
{
	for (u32 processor = 0; processor < EMU_PROCS; processor++)
		ida_init(&b->place[processor]);
}

/* What evictions have left behind is in no page's name. */
void emu_place_exit(struct emu_bottom *b)
{
	for (u32 processor = 1; processor <= b->driver->params.gpus; processor++) {
		emu_frame_put_gpu(emu_gpu_of(b, processor), 0, ALL_MEMORY);
		ida_destroy(&b->place[processor]);
	}
	b->leavings = 0;
	b->is_evicting = false;
}
