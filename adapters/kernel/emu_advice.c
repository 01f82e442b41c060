/* Advice in force: kept to be repeated to a new engine.
 *
 * Advice holds for the pages that were managed when it was given. Pages mapped later at the address of
 * unmapped ones are not advised. So each piece of advice has a number, and each range has the number of
 * the newest older piece. Unmapping a part changes neither number, needs no memory and cannot fail.
 * Advice ends when its last page is unmapped, or when later advice replaces all of it.
 *
 * Memory for a piece is reserved before the engine gets it: advice that the engine has taken must not
 * be lost. */
#include "emu_bottom.h"

#include <linux/slab.h>

#define ADVICE_MOST 1024u /* in a space, with those that the engine has not answered yet */

struct emu_advice {
	struct list_head link;
	u64 number;
	u64 address, bytes;
	u64 pages; /* of it that are still mapped */
	u32 advice, processor;
};

/* -- what it is about -- */

/* Advice of different classes is independent. */
static u32 class_of(const struct emu_advice *a)
{
	if (a->advice == UVMP_ADVISE_PREFERRED)
		return 0;
	return a->advice <= UVMP_ADVISE_NOT_ACCESSED_BY ? 2u + a->processor : 1u;
}

static bool replaces(const struct emu_advice *later, const struct emu_advice *a)
{
	return class_of(later) == class_of(a) && a->address >= later->address &&
	       a->address + a->bytes <= later->address + later->bytes;
}

/* Bytes of the advice in a piece of the range, from *first on; 0: none. */
static u64 part(const struct emu_advice *a, const struct emu_range *range, u64 base, u64 bytes, u64 *first)
{
	u64 end = min(base + bytes, a->address + a->bytes);

	*first = max(base, a->address);
	return range->first_advice >= a->number || *first >= end ? 0 : end - *first;
}

static int count_piece(struct emu_space *space, struct emu_range *range, u64 base, u64 bytes, void *argument)
{
	struct emu_advice *a = argument;
	u64 first;

	a->pages += part(a, range, base, bytes, &first) >> PAGE_SHIFT;
	return 0;
}

/* -- it comes and goes -- */

static void forget(struct emu_space *space, struct emu_advice *a)
{
	list_del(&a->link);
	space->advices--;
	kfree(a);
}

int emu_advice_reserve(struct emu_space *space, u64 address, u64 bytes, u32 advice, u32 processor,
		       struct emu_advice **reserved)
{
	struct emu_advice *later, *a;
	u32 stay = space->advices;

	later = kmalloc(sizeof(*later), GFP_KERNEL_ACCOUNT);
	if (later == NULL)
		return -ENOMEM;
	*later = (struct emu_advice){
		.address = address, .bytes = bytes, .advice = advice, .processor = processor};
	list_for_each_entry(a, &space->advice, link) stay -= replaces(later, a);
	if (stay >= ADVICE_MOST) {
		kfree(later);
		return -ENOMEM;
	}
	space->advices++;
	*reserved = later;
	return 0;
}

void emu_advice_release(struct emu_space *space, struct emu_advice *reserved)
{
	space->advices--;
	kfree(reserved);
}

void emu_advice_keep(struct emu_space *space, struct emu_advice *later)
{
	struct emu_advice *a, *next;

	list_for_each_entry_safe(a, next, &space->advice, link) if (replaces(later, a)) forget(space, a);
	later->number = ++space->advice_number;
	list_add_tail(&later->link, &space->advice);
	emu_range_each_piece(space, later->address, later->bytes, count_piece, later);
	if (later->pages == 0) /* they were unmapped meanwhile */
		forget(space, later);
}

void emu_advice_unmap(struct emu_range *range, u64 address, u64 bytes)
{
	struct emu_space *space = range->space;
	struct emu_advice *a, *next;
	u64 first;

	list_for_each_entry_safe(a, next, &space->advice, link)
	{
		u64 pages = part(a, range, address, bytes, &first) >> PAGE_SHIFT;

		a->pages -= pages;
		if (pages != 0 && a->pages == 0)
			forget(space, a);
	}
}

void emu_advice_close(struct emu_space *space)
{
	if (space->advices != 0)
		emu_broken(space->driver, "advice is in force for pages that were unmapped");
	while (!list_empty(&space->advice))
		forget(space, list_first_entry(&space->advice, struct emu_advice, link));
}

/* -- repeating -- */

struct repeating {
	const struct emu_advice *advice;
	emu_advice_use *use;
	void *argument;
};

static int repeat_piece(struct emu_space *space, struct emu_range *range, u64 base, u64 bytes, void *argument)
{
	const struct repeating *repeating = argument;
	const struct emu_advice *a = repeating->advice;
	u64 first, some = part(a, range, base, bytes, &first);

	if (some != 0)
		repeating->use(space, first, some, a->advice, a->processor, repeating->argument);
	return 0;
}

void emu_advice_repeat(struct emu_space *space, emu_advice_use *use, void *argument)
{
	struct repeating repeating = {.use = use, .argument = argument};

	list_for_each_entry(repeating.advice, &space->advice, link) emu_range_each_piece(
		space, repeating.advice->address, repeating.advice->bytes, repeat_piece, &repeating);
}
