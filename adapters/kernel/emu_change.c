/* A change of policy: an engine with the new policy replaces the engine in force.
 *
 * A change keeps nothing that the old engine has learned. While the old engine has nothing to do, it migrates
 * all data to the CPU. The new engine was given all ranges before, and finds the data there as after
 * initialisation. Advice is repeated, and all GPUs replay what stalled. All steps that can fail are done before the
 * old engine is freed. */
#include "emu_bottom.h"

#define WINDOW_BYTES ((u64)UVMP_MASK_BITS * PAGE_SIZE)

static int each_piece_of_all(struct emu_bottom *b,
			     int (*use)(struct emu_space *space, struct emu_range *range, u64 base, u64 bytes,
					void *argument),
			     void *argument)
{
	struct emu_space *space;
	unsigned long id;

	xa_for_each(&b->spaces, id, space)
	{
		int result = emu_range_each_piece(space, 0, U64_MAX, use, argument);

		if (result != 0)
			return result;
	}
	return 0;
}

/* -- before the change -- */

struct change {
	struct emu_bottom *bottom;
	struct emu_engine engine;
};

static int add_piece_of_range(struct emu_space *space, struct emu_range *range, u64 base, u64 bytes,
			      void *argument)
{
	struct change *change = argument;

	return uvmp_service_add_range(change->engine.service, space->id, base, bytes,
				      (enum uvmp_right)range->right, UVMP_CPU) == UVMP_OK
		       ? 0
		       : -ENOMEM;
}

static int add_ranges(struct emu_bottom *b, struct change *change)
{
	struct emu_space *space;
	unsigned long id;

	xa_for_each(&b->spaces, id, space)
	{
		int result = emu_engine_bind(b, change->engine.service, id);

		if (result != 0)
			return result;
	}
	return each_piece_of_all(b, add_piece_of_range, change);
}

static bool is_on_gpu(const struct emu_bottom *b, const struct emu_space *space, u64 address)
{
	struct uvmp_page_state state = {.size = sizeof(state)};

	return uvmp_service_page(b->driver->service, space->id, address, &state) == UVMP_OK &&
	       state.resident != 0 && (state.resident & 1u) == 0;
}

/* The part of a window with pages on GPUs. False: there are none. */
static bool find_on_gpu(const struct emu_bottom *b, const struct emu_space *space, u64 *first, u64 *end)
{
	u64 limit = *end;

	while (*first < limit && !is_on_gpu(b, space, *first))
		*first += PAGE_SIZE;
	while (*end > *first && !is_on_gpu(b, space, *end - PAGE_SIZE))
		*end -= PAGE_SIZE;
	return *first < *end;
}

static int migrate_window(struct emu_bottom *b, struct emu_space *space, u64 first, u64 end)
{
	u64 ticket, from = first, to = end;

	if (!find_on_gpu(b, space, &from, &to))
		return 0;
	if (uvmp_service_migrate(b->driver->service, space->id, from, to - from, UVMP_CPU, &ticket) !=
	    UVMP_OK)
		return -ENOMEM;
	emu_pump(b, false);
	if (b->ended_ticket != ticket || b->ended_status != UVMP_OK)
		return -ENOMEM;
	return find_on_gpu(b, space, &first, &end) ? -EBUSY : 0;
}

/* The engine has nothing to do and gets no events, so pages that were migrated to the CPU stay there. */
static int check_window_home(struct emu_bottom *b, struct emu_space *space, u64 first, u64 end)
{
	if (!find_on_gpu(b, space, &first, &end))
		return 0;
	emu_broken(b->driver, "a page has moved to a GPU during a change of policy");
	return -EBUSY;
}

static int each_window(struct emu_bottom *b, struct emu_space *space, u64 base, u64 bytes,
		       int (*use)(struct emu_bottom *b, struct emu_space *space, u64 first, u64 end))
{
	for (u64 at = base, end = base + bytes; at < end;) {
		u64 next = min(end, round_down(at, WINDOW_BYTES) + WINDOW_BYTES);
		int result = use(b, space, at, next);

		if (result != 0)
			return result;
		at = next;
		cond_resched();
	}
	return 0;
}

static int migrate_home(struct emu_space *space, struct emu_range *range, u64 base, u64 bytes, void *argument)
{
	return each_window(argument, space, base, bytes, migrate_window);
}

static int check_home(struct emu_space *space, struct emu_range *range, u64 base, u64 bytes, void *argument)
{
	return each_window(argument, space, base, bytes, check_window_home);
}

/* -- the change, which cannot fail -- */

static void set_window(struct emu_bottom *b, struct emu_space *space, u64 at, u64 end)
{
	struct uvmp_action *a = &b->made;

	*a = (struct uvmp_action){.space = space->id, .address = at, .page_bytes = PAGE_SIZE};
	uvmp_mask_region_set(&a->pages, (struct uvmp_region){0, (u32)((end - at) >> PAGE_SHIFT)});
}

static void keep_with_frame(struct emu_space *space, struct uvmp_action *a)
{
	for (u32 at = uvmp_mask_next_set(&a->pages, 0); at < UVMP_MASK_BITS;
	     at = uvmp_mask_next_set(&a->pages, at + 1u)) {
		const struct emu_page *page = emu_page_find(space, a->address + (u64)at * PAGE_SIZE);

		if (page == NULL || page->data[UVMP_CPU] == NULL)
			uvmp_mask_clear(&a->pages, at);
	}
}

/* The CPU maps all pages that have a frame, and no GPU maps any. */
static int settle_piece(struct emu_space *space, struct emu_range *range, u64 base, u64 bytes, void *argument)
{
	struct emu_bottom *b = argument;

	for (u64 at = base; at < base + bytes; at += WINDOW_BYTES) {
		u64 end = min(base + bytes, at + WINDOW_BYTES);

		set_window(b, space, at, end);
		for (u32 processor = 0; processor <= b->driver->params.gpus; processor++) {
			b->made.to = (u8)processor;
			emu_page_unmap(space, &b->made);
		}
		keep_with_frame(space, &b->made);
		b->made.from = b->made.to = UVMP_CPU;
		b->made.right = range->right;
		emu_page_map(space, &b->made);
		emu_residency_forget(b, space, at, end - at);
		cond_resched();
	}
	return 0;
}

static void restart_gpus(struct emu_bottom *b)
{
	for (u32 i = 0; i < b->driver->params.gpus; i++)
		emu_gpu_flush(&b->driver->gpu[i]);
	emu_stalled_give_up(b);
}

static void repeat_advice(struct emu_space *space, u64 address, u64 bytes, u32 advice, u32 processor,
			  void *argument)
{
	struct emu_bottom *b = argument;

	emu_record_advise(b, space->id, advice, processor, address, bytes);
	if (uvmp_service_advise(b->driver->service, space->id, address, bytes, (enum uvmp_advice)advice,
				processor, NULL) == UVMP_OK)
		emu_pump(b, false);
}

static void repeat_all_advice(struct emu_bottom *b)
{
	struct emu_space *space;
	unsigned long id;

	xa_for_each(&b->spaces, id, space) emu_advice_repeat(space, repeat_advice, b);
}

static void swap_engines(struct emu_bottom *b, const struct uvmp_policy *policy, const struct change *change)
{
	emu_residency_settle(b, true);
	each_piece_of_all(b, settle_piece, b);
	emu_residency_exit(b);
	emu_engine_free(&b->engine);
	emu_engine_take(b, policy, &change->engine);
	emu_text_clear(&b->driver->log);
	emu_record_begin(b);
	repeat_all_advice(b);
	restart_gpus(b);
	b->driver->stats.policy_changes++;
}

static int prepare(struct emu_bottom *b, struct change *change)
{
	int result = add_ranges(b, change);

	if (result != 0)
		return emu_engine_refuse(result, "the new engine has no memory for the state of all managed memory");
	result = each_piece_of_all(b, migrate_home, b);
	if (result == 0)
		result = each_piece_of_all(b, check_home, b);
	if (result == -EBUSY)
		return emu_engine_refuse(result, "a page cannot be moved to the CPU");
	if (result != 0)
		return emu_engine_refuse(result, "no memory on the CPU for all data of the GPUs");
	return 0;
}

int emu_change_policy(struct emu_bottom *b, const struct uvmp_policy *policy)
{
	struct change change = {.bottom = b};
	int result = emu_engine_make(b, policy, &change.engine);

	if (result != 0)
		return result;
	b->is_changing = true;
	result = prepare(b, &change);
	if (result == 0)
		swap_engines(b, policy, &change);
	else
		emu_engine_free(&change.engine);
	b->is_changing = false;
	return result;
}
