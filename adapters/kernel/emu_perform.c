/* Actions carried out, and checked: what an action counts on has to be there, and nobody may use what it
 * takes away or writes. A check that fails is a bug, of this module or of the engine, and is counted
 * (emu_broken).
 *
 * Where pages lie on a GPU: with evict=lru the engine hands out chunks. ALLOCATE says which pages of a block
 * lie in a chunk, one behind the other; the frames stay theirs, with or without contents, until FREE or an
 * eviction of the root. The other orders count pages and tell of no chunks: a page gets a
 * place when it comes, and gives it back when it has left.
 *
 * Whether a page has left is the engine's to say, and it says so only when all copies of a block have
 * arrived. So those that may have left are noted, and looked at before the next action. */
#include "emu_bottom.h"

#include <linux/highmem.h>
#include <linux/mm.h>

#define ALL_MEMORY ((u64)1 << 62)

static struct emu_gpu *gpu_of(struct emu_bottom *b, u32 processor)
{
	return &b->driver->gpu[processor - 1u];
}

/* -- who uses a frame -- */

/* With at least this right; the processor that changes it does not count. */
static bool is_used(const struct emu_page *page, u32 on, enum uvmp_prot right)
{
	for (u32 processor = 0; processor < EMU_PROCS; processor++)
		if (page->right[processor] >= right && page->on[processor] == on)
			return true;
	return false;
}

static bool is_mapped(const struct emu_page *page, u32 on)
{
	return is_used(page, on, UVMP_PROT_READ);
}

/* -- frames -- */

/* Whose data lies in a frame of a chunk is written on the frame; where places are counted, which place it is.
 */
static void lay(struct emu_page *page, u32 processor, struct page *frame, unsigned long note)
{
	set_page_private(frame, note);
	page->data[processor] = frame;
}

static void lift(struct emu_page *page, u32 processor)
{
	set_page_private(page->data[processor], 0);
	page->data[processor] = NULL;
}

static bool give_cpu(struct emu_bottom *b, struct emu_page *page)
{
	struct page *frame = page->data[UVMP_CPU];

	if (is_mapped(page, UVMP_CPU)) {
		emu_broken(b->driver, "a page that has left the CPU is still mapped there");
		return false;
	}
	page->data[UVMP_CPU] = NULL;
	emu_frame_put_cpu(b->driver, frame);
	return true;
}

static void give_place(struct emu_bottom *b, struct emu_page *page, u32 processor)
{
	u64 place = page_private(page->data[processor]);

	if (is_mapped(page, processor)) {
		emu_broken(b->driver, "a page that has left a GPU is still mapped there");
		return;
	}
	lift(page, processor);
	emu_frame_put_gpu(gpu_of(b, processor), place << PAGE_SHIFT, PAGE_SIZE);
	ida_free(&b->place[processor], (unsigned int)place);
}

static bool take_cpu(struct emu_bottom *b, struct emu_page *page)
{
	if (page->data[UVMP_CPU] == NULL)
		page->data[UVMP_CPU] = emu_frame_get_cpu(b->driver);
	return page->data[UVMP_CPU] != NULL;
}

static bool take_place(struct emu_bottom *b, struct emu_page *page, u32 processor)
{
	int place = ida_alloc(&b->place[processor], GFP_KERNEL);
	struct page *frame =
	        place < 0 ? NULL : emu_frame_get_gpu(gpu_of(b, processor), (u64)place << PAGE_SHIFT);

	if (frame == NULL) {
		if (place >= 0)
			ida_free(&b->place[processor], place);
		return false;
	}
	lay(page, processor, frame, (unsigned long)place);
	return true;
}

/* A frame for what comes. */
static enum uvmp_status take(struct emu_bottom *b, struct emu_page *page, u32 processor)
{
	if (page->data[processor] != NULL)
		return UVMP_OK;
	if (processor == UVMP_CPU)
		return take_cpu(b, page) ? UVMP_OK : UVMP_ERR_NO_MEMORY;
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
		lift(page, leaving->from);
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
			if (is_mapped(page, leaving->from) ||
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
	struct emu_gpu *gpu = gpu_of(b, processor);
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
	bool has_left = settle(b, leaving, true);

	clear_root(b, leaving->from, leaving->root);
	return has_left;
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

void emu_perform_settle(struct emu_bottom *b, bool is_all)
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

static void note_leaving(struct emu_bottom *b, const struct uvmp_action *a, u32 from)
{
	if (from == UVMP_CPU || b->counts_pages) /* chunks keep their frames, */
		note(b, (struct emu_leaving){a->space, a->address, EMU_NO_ROOT, from, a->pages});
}

/* but when their root is evicted; and then, too, if one of the block's copies fails: it keeps all its memory
 * there, also that of pages which have left. So an eviction is noted when its copies are over. */
static void evict(struct emu_bottom *b, const struct uvmp_action *a)
{
	gpu_of(b, a->from)->stats.evictions++;
	b->is_evicting = !b->counts_pages;
	b->evicting = (struct emu_leaving){a->space, a->address, a->offset, a->from, a->pages};
}

/* They are when the engine goes on: with the next block of the root, with what it gives the memory to, or
 * with its answer. */
static void end_eviction(struct emu_bottom *b, const struct uvmp_action *next)
{
	if (!b->is_evicting || (next->kind != UVMP_ACTION_EVICT && next->kind != UVMP_ACTION_ALLOCATE &&
	                        next->kind != UVMP_ACTION_DONE))
		return;
	b->is_evicting = false;
	note(b, b->evicting);
}

/* -- actions on memory -- */

static int lay_in_chunk(struct emu_page *page, u64 address, const struct uvmp_action *a, void *argument)
{
	struct emu_bottom *b = argument;
	u64 at = a->offset + (address - a->address) - (u64)a->run.first * PAGE_SIZE;
	struct page *frame = emu_frame_get_gpu(gpu_of(b, a->to), at);
	struct emu_page *before;

	if (frame == NULL)
		return -ENOMEM;
	before = (struct emu_page *)page_private(frame);
	if (before != NULL && before != page) {
		if (is_mapped(before, a->to))
			emu_broken(b->driver, "memory is given away that is still mapped");
		before->data[a->to] = NULL;
	}
	if (page->data[a->to] != NULL && page->data[a->to] != frame)
		lift(page, a->to);
	if (before != page)
		clear_highpage(frame); /* the frames of an evicted root go to the next with what they hold */
	lay(page, a->to, frame, (unsigned long)page);
	return 0;
}

/* They were evicted, and are back. */
static void forget_eviction(struct emu_bottom *b, const struct uvmp_action *a)
{
	for (u32 i = 0; i < b->leavings; i++) {
		struct emu_leaving *leaving = &b->leaving[i];

		if (leaving->root != EMU_NO_ROOT && leaving->from == a->to && leaving->space == a->space &&
		    leaving->address == a->address)
			uvmp_mask_andnot(&leaving->pages, &leaving->pages, &a->pages);
	}
}

/* A chunk that was refused is free for the engine, which tells of it no more. Whoever had data there had
 * been evicted. */
static void drop_chunk(struct emu_bottom *b, const struct uvmp_action *a)
{
	struct emu_gpu *gpu = gpu_of(b, a->to);
	unsigned long at, first = a->offset >> PAGE_SHIFT, pages = a->detail >> PAGE_SHIFT;
	struct page *frame;

	xa_for_each_range(&gpu->frames, at, frame, first, first + pages - 1u)
	{
		struct emu_page *page = (struct emu_page *)page_private(frame);

		if (page != NULL)
			page->data[a->to] = NULL;
	}
	emu_frame_put_gpu(gpu, a->offset, a->detail);
}

static enum uvmp_status allocate(struct emu_bottom *b, struct emu_space *space, const struct uvmp_action *a)
{
	if (emu_page_each(space, a, &a->pages, lay_in_chunk, b) != 0) {
		drop_chunk(b, a);
		return UVMP_ERR_NO_MEMORY;
	}
	forget_eviction(b, a);
	return UVMP_OK;
}

static int lift_from_chunk(struct emu_page *page, u64 address, const struct uvmp_action *a, void *argument)
{
	struct emu_bottom *b = argument;

	if (page->data[a->from] == NULL)
		return 0;
	if (is_mapped(page, a->from))
		emu_broken(b->driver, "memory is freed that is still mapped");
	lift(page, a->from);
	return 0;
}

static enum uvmp_status free_chunk(struct emu_bottom *b, struct emu_space *space, const struct uvmp_action *a)
{
	emu_page_each(space, a, &a->pages, lift_from_chunk, b);
	emu_frame_put_gpu(gpu_of(b, a->from), a->offset, a->detail);
	return UVMP_OK;
}

static int populate_one(struct emu_page *page, u64 address, const struct uvmp_action *a, void *argument)
{
	struct emu_bottom *b = argument;
	enum uvmp_status status = take(b, page, a->to);

	if (status != UVMP_OK)
		return status;
	if (is_mapped(page, a->to))
		emu_broken(b->driver, "a page is cleared that is mapped");
	clear_highpage(page->data[a->to]);
	return 0;
}

/* Data that is at home on the CPU and was never used has no frame: zeros. */
static int copy_one(struct emu_page *page, u64 address, const struct uvmp_action *a, void *argument)
{
	struct emu_bottom *b = argument;
	enum uvmp_status status = take(b, page, a->to);

	if (status != UVMP_OK)
		return status;
	if (is_mapped(page, a->to))
		emu_broken(b->driver, "a page is copied to where it is mapped");
	if (is_used(page, a->from, UVMP_PROT_READ_WRITE))
		emu_broken(b->driver, "a page is copied that somebody may write");
	if (page->data[a->from] != NULL)
		copy_highpage(page->data[a->to], page->data[a->from]);
	else if (a->from == UVMP_CPU)
		clear_highpage(page->data[a->to]);
	else
		emu_broken(b->driver, "a page is copied from where it is not");
	cond_resched();
	return 0;
}

static void count_copy(struct emu_bottom *b, const struct uvmp_action *a)
{
	u32 pages = uvmp_mask_weight(&a->pages);

	if (a->to == UVMP_CPU)
		gpu_of(b, a->from)->stats.pages_out += pages;
	else if (a->from == UVMP_CPU)
		gpu_of(b, a->to)->stats.pages_in += pages;
	else
		gpu_of(b, a->to)->stats.pages_peer += pages;
}

static enum uvmp_status copy(struct emu_bottom *b, struct emu_space *space, const struct uvmp_action *a)
{
	int status = emu_page_each(space, a, &a->pages, copy_one, b);

	note_leaving(b, a, status == 0 ? a->from : a->to);
	if (status == 0)
		count_copy(b, a);
	else if (a->cause == UVMP_CAUSE_EVICTION)
		b->is_evicting = false;
	return (enum uvmp_status)status;
}

static enum uvmp_status populate(struct emu_bottom *b, struct emu_space *space, const struct uvmp_action *a)
{
	int status = emu_page_each(space, a, &a->pages, populate_one, b);

	if (status != 0)
		note_leaving(b, a, a->to);
	else if (a->to == UVMP_CPU)
		b->driver->stats.pages_populated += uvmp_mask_weight(&a->pages);
	else
		gpu_of(b, a->to)->stats.pages_populated += uvmp_mask_weight(&a->pages);
	return (enum uvmp_status)status;
}

/* -- actions on page tables -- */

static int back_home(struct emu_page *page, u64 address, const struct uvmp_action *a, void *argument)
{
	return take_cpu(argument, page) ? 0 : -ENOMEM;
}

static enum uvmp_status map(struct emu_bottom *b, struct emu_space *space, const struct uvmp_action *a)
{
	if (a->from == UVMP_CPU && emu_page_each(space, a, &a->pages, back_home, b) != 0)
		return UVMP_ERR_NO_MEMORY;
	emu_page_map(space, a);
	return UVMP_OK;
}

int emu_perform_home(struct emu_bottom *b, struct emu_space *space, u64 address, enum uvmp_prot right)
{
	b->made = (struct uvmp_action){.kind = UVMP_ACTION_MAP,
	                               .from = UVMP_CPU,
	                               .to = UVMP_CPU,
	                               .right = (u8)right,
	                               .space = space->id,
	                               .address = address & PAGE_MASK,
	                               .page_bytes = PAGE_SIZE,
	                               .run = {0, 1}};
	uvmp_mask_set(&b->made.pages, 0);
	return map(b, space, &b->made) == UVMP_OK ? 0 : -ENOMEM;
}

/* -- actions on GPUs -- */

static enum uvmp_status cancel(struct emu_bottom *b, const struct uvmp_action *a)
{
	bool only_writes = a->right == UVMP_CANCEL_WRITE_AND_ATOMIC;
	u32 at;

	if (a->to == UVMP_CPU)
		return UVMP_OK;
	if (uvmp_mask_is_empty(&a->pages)) {
		emu_gpu_cancel(gpu_of(b, a->to), a->space, a->address, only_writes);
		emu_waiting_cancel(b, a->to, a->space, a->address, only_writes);
	}
	for (at = uvmp_mask_next_set(&a->pages, 0); at < UVMP_MASK_BITS;
	     at = uvmp_mask_next_set(&a->pages, at + 1u)) {
		u64 address = a->address + (u64)at * PAGE_SIZE;

		emu_gpu_cancel(gpu_of(b, a->to), a->space, address, only_writes);
		emu_waiting_cancel(b, a->to, a->space, address, only_writes);
	}
	return UVMP_OK;
}

static void count_batch(struct emu_bottom *b, const struct uvmp_action *a)
{
	struct uvmp_emu_stats *stats = &gpu_of(b, a->to)->stats;

	if (a->cause == UVMP_CAUSE_COUNTER)
		return;
	stats->batches++;
	stats->duplicates += a->count - a->detail;
}

static void throttle(struct emu_bottom *b, const struct uvmp_action *a)
{
	struct uvmp_emu_stats *stats = a->to == UVMP_CPU ? &b->driver->stats : &gpu_of(b, a->to)->stats;

	stats->throttled++;
	b->throttled_ns = a->until_ns;
}

static enum uvmp_status perform_on_gpu(struct emu_bottom *b, const struct uvmp_action *a)
{
	switch ((enum uvmp_action_kind)a->kind) {
	case UVMP_ACTION_BATCH:
		count_batch(b, a);
		break;
	case UVMP_ACTION_FLUSH:
		emu_gpu_flush(gpu_of(b, a->to));
		break;
	case UVMP_ACTION_REPLAY:
		emu_waiting_replay(b, a->to);
		break;
	case UVMP_ACTION_THROTTLE:
		throttle(b, a);
		break;
	case UVMP_ACTION_CANCEL:
		return cancel(b, a);
	case UVMP_ACTION_CLEAR:
		emu_counter_clear(gpu_of(b, a->to), (u32)a->offset, a->detail, a->is_update);
		break;
	case UVMP_ACTION_TOGGLE:
		emu_gpu_toggle(gpu_of(b, a->to), a->is_update);
		break;
	case UVMP_ACTION_LIMIT: /* without `detail`: warps come in no thread blocks here */
		emu_gpu_limit(gpu_of(b, a->to), a->count);
		break;
	default: /* for the log; and nothing goes on behind our back that we would have to wait for */
		break;
	}
	return UVMP_OK;
}

static enum uvmp_status perform_on_pages(struct emu_bottom *b, struct emu_space *space,
                                         const struct uvmp_action *a)
{
	switch ((enum uvmp_action_kind)a->kind) {
	case UVMP_ACTION_ALLOCATE:
		return allocate(b, space, a);
	case UVMP_ACTION_POPULATE:
		return populate(b, space, a);
	case UVMP_ACTION_COPY:
		return copy(b, space, a);
	case UVMP_ACTION_MAP:
		return map(b, space, a);
	case UVMP_ACTION_REVOKE:
		emu_page_revoke(space, a);
		break;
	case UVMP_ACTION_UNMAP: /* of copies, where one is written */
		emu_page_unmap(space, a);
		note_leaving(b, a, a->to);
		break;
	case UVMP_ACTION_EVICT:
		evict(b, a);
		break;
	case UVMP_ACTION_DISCARD:
		note_leaving(b, a, a->from);
		break;
	case UVMP_ACTION_FREE:
		return free_chunk(b, space, a);
	default:
		break;
	}
	return UVMP_OK;
}

static bool is_on_pages(const struct uvmp_action *a)
{
	return a->kind >= UVMP_ACTION_ALLOCATE && a->kind <= UVMP_ACTION_FREE;
}

enum uvmp_status emu_perform(struct emu_driver *driver, struct uvmp_action *a)
{
	struct emu_bottom *b = driver->bottom;
	struct emu_space *space;

	end_eviction(b, a);
	emu_perform_settle(b, a->kind == UVMP_ACTION_DONE);
	if (!is_on_pages(a))
		return perform_on_gpu(b, a);
	space = xa_load(&b->spaces, a->space);
	if (space != NULL)
		return perform_on_pages(b, space, a);
	emu_broken(driver, "an action is about an address space that is gone");
	return UVMP_ERR_STATE;
}

/* -- nobody's any more -- */

void emu_perform_forget(struct emu_bottom *b, struct emu_space *space, u64 address, u64 bytes)
{
	for (u64 at = address; at < address + bytes; at += PAGE_SIZE) {
		struct emu_page *page = emu_page_find(space, at);

		for (u32 processor = 1; page != NULL && processor < EMU_PROCS; processor++) {
			if (page->data[processor] == NULL)
				continue;
			if (b->counts_pages)
				give_place(b, page, processor);
			else
				lift(page, processor);
		}
		if (at % ((u64)UVMP_MASK_BITS * PAGE_SIZE) == 0)
			cond_resched();
	}
}

int emu_perform_init(struct emu_bottom *b)
{
	for (u32 processor = 0; processor < EMU_PROCS; processor++)
		ida_init(&b->place[processor]);
	return 0;
}

/* What evictions have left behind is in no page's name. */
void emu_perform_exit(struct emu_bottom *b)
{
	for (u32 processor = 1; processor <= b->driver->params.gpus; processor++) {
		emu_frame_put_gpu(gpu_of(b, processor), 0, ALL_MEMORY);
		ida_destroy(&b->place[processor]);
	}
	b->leavings = 0;
	b->is_evicting = false;
}
