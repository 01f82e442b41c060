/* auto: when do evicted pages return to the GPU that uses them across the link?
 *
 * An access of 128 bytes takes the link as long as 1/32 of a copy of 4 KiB. Moving n pages of 4 KiB costs their copies and a
 * block service, which is as long as 12 copies. The block has reached its limit when its accesses have cost half of that. The
 * limit does not rise for blocks that have returned and were evicted again: those of a program that changes between two sets of
 * data would pay it at each change, though moving is right. */
#include "uvmpolicy/counter.h"

#include "../base/bits_internal.h"
#include "../base/random_internal.h"

#define SPENT_MAX  255u
#define SMALL_PAGE 4096u
#define START_BITS 20u /* pages of 4 GiB */
#define UNIT_PAGES 4u  /* UVMP_REMOTE_ACCESSES take as long as so many copies of 4 KiB */

void uvmp_remote_add(struct uvmp_remote_use *use, uint32_t parts, uint64_t accesses)
{
	uint64_t more = accesses / UVMP_REMOTE_ACCESSES + (accesses % UVMP_REMOTE_ACCESSES != 0);

	if (use == NULL)
		return;
	use->parts |= (uint16_t)parts;
	use->spent = (uint8_t)(more < SPENT_MAX - use->spent ? use->spent + more : SPENT_MAX);
}

bool uvmp_remote_pays(const struct uvmp_remote_use *use, uint32_t bytes)
{
	uint32_t cost = bytes / SMALL_PAGE + UVMP_REMOTE_FAULT_PAGES;

	return use != NULL && bytes != 0 && 2u * UNIT_PAGES * use->spent >= cost;
}

void uvmp_remote_moved(struct uvmp_remote_use *use)
{
	if (use != NULL)
		*use = (struct uvmp_remote_use){0};
}

bool uvmp_remote_is_chosen(uint64_t *draws)
{
	return draws == NULL || random_below(draws, UVMP_REMOTE_CHOICES) == 0;
}

/* -- first faults -- */

/* Fewer than half of the mapped pages have returned, beside one block's worth. */
static bool is_worth_it(const struct uvmp_remote_start *start)
{
	return 2u * (uint64_t)start->returned < (uint64_t)start->mapped + 2u * UVMP_REMOTE_TRIAL_PAGES;
}

/* The older half counts half as much, so that counts do not overflow and a change of the program shows. */
static void forget(struct uvmp_remote_start *start)
{
	if ((start->mapped | start->returned) >> START_BITS == 0)
		return;
	start->mapped /= 2u;
	start->returned /= 2u;
}

bool uvmp_remote_begins(struct uvmp_remote_start *start, uint32_t bytes)
{
	if (start == NULL)
		return true;
	if (start->left != 0) {
		start->left--;
		return false;
	}
	if (!is_worth_it(start)) {
		*start = (struct uvmp_remote_start){.left = UVMP_REMOTE_GAP - 1u};
		return false;
	}
	forget(start);
	start->mapped += bytes / SMALL_PAGE;
	return true;
}

void uvmp_remote_returned(struct uvmp_remote_start *start, uint32_t bytes)
{
	if (start == NULL)
		return;
	forget(start);
	start->returned += bytes / SMALL_PAGE;
}
