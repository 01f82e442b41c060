/* auto: streams of faults, and the blocks that come ahead of them.
 *
 * A fault in a block without pages expects that the next block of the range faults soon, before an eighth of memory has
 * come. If that block does, the stream goes on, and blocks behind it come ahead, before they fault: 1, then 2, 4, up to auto_ahead
 * and a sixteenth of memory; the block behind them is expected. Any number of streams run at once, as the state is in the expected
 * block. Blocks ahead are paid from the credit of their range. It has two blocks at first. A block that comes ahead costs one
 * block, which is returned when its stream goes on; and each block that the stream has used earns an eighth. So at most two blocks
 * come in vain, and an eighth of those that streams have brought. Each sixteenth time nothing comes ahead: a program that
 * skips the blocks that came ends its stream then. Blocks with resident pages are passed, four of them at most. Only in mode
 * whole.
 *
 * While all data fit, blocks that come ahead seldom push out others. So a stream that goes on brings auto_ahead blocks at
 * once, a quarter of memory at most, as far as there is credit; and the credit is limited to CREDIT_MOST blocks only.
 *
 * Most programs use an allocation from its begin. So the first fault in the first block of a range opens it: before the first
 * eviction, two blocks come with the fault if memory has room, on credit that the range is given. If not all data fit, only small
 * ranges are opened, since most programs use all of these. Blocks that openings brought and that no stream has confirmed are at
 * most OPENED_MOST of a GPU. */
#include "prefetch_auto_internal.h"

#define AHEAD_SHARE   16u /* of memory may come ahead of one stream, */
#define CREDIT_SHARE  8u  /* and of a range while no stream goes on, */
#define CREDIT_MOST   4000u
#define FIRST_CREDIT  2u /* and so many blocks of a range of which nothing is known */
#define FITTING_SHARE 4u /* of memory may come ahead of one stream while all data fit */
#define CREDIT	      8u /* of a block: what blocks of confirmed streams earn are ones */
#define FRESH_SHARE   8u /* of a turn, until a stream must have gone on */
#define PASSED_MOST   4u
#define OPENING	      2u  /* blocks come with the first block of a range, at most, */
#define OPENED_MOST   16u /* and so many without a stream that went on */

static uint32_t blocks_of_memory(const struct auto_decision *d)
{
	return d->turn / d->facts->block.pages;
}

/* In eighths of a block, with what a range has at first. */
static uint32_t credit_of(const struct auto_range *r)
{
	return (uint32_t)(r->credit + (int32_t)(FIRST_CREDIT * CREDIT));
}

static void set_credit(struct auto_decision *d, uint32_t credit)
{
	uint32_t blocks = d->facts->memory.fits ? CREDIT_MOST : minimum(blocks_of_memory(d) / CREDIT_SHARE, CREDIT_MOST);

	d->range->credit = (int16_t)((int32_t)minimum(credit, blocks * CREDIT) - (int32_t)(FIRST_CREDIT * CREDIT));
}

uint32_t uvmpi_auto_ahead_confirm(struct auto_decision *d)
{
	struct auto_block *b = d->block;
	uint32_t ahead = 0;

	if (b->degree != 0 && d->processor->time - b->begun < d->turn / FRESH_SHARE) {
		ahead = b->degree;
		set_credit(d, credit_of(d->range) + b->came * CREDIT + b->came + 1u);
		d->processor->opened = (uint8_t)(d->processor->opened - minimum(d->processor->opened, b->came));
	}
	b->degree = 0;
	d->opens = d->facts->range_first == 0 && !b->is_known && d->facts->memory.evicted_pages == 0 &&
		   (d->facts->memory.fits || d->range == &d->processor->small);
	return ahead;
}

/* How many blocks come with the first one of a range. */
static uint32_t opening(const struct auto_decision *d, uint32_t most)
{
	uint32_t room = (d->turn - minimum(d->processor->time, d->turn)) / d->facts->block.pages;

	return minimum(minimum(OPENING, most), minimum(room, OPENED_MOST - d->processor->opened));
}

/* So many blocks come on credit that the range has not earned. */
static void advance(struct auto_decision *d, uint32_t blocks)
{
	d->range->credit = (int16_t)(d->range->credit + (int32_t)(blocks * CREDIT));
	d->processor->opened = (uint8_t)(d->processor->opened + blocks);
}

void uvmpi_auto_ahead_begin(struct auto_decision *d, uint32_t ahead, struct uvmp_prefetch_hint *hint)
{
	struct auto_range *r = d->range;
	bool fits = d->facts->memory.fits;
	uint32_t share = fits || d->opens ? FITTING_SHARE : AHEAD_SHARE;
	uint32_t most = minimum(d->params->auto_ahead, blocks_of_memory(d) / share);
	uint64_t end = d->facts->range_first + d->facts->block.pages;
	uint32_t budget = fits && ahead != 0 ? most : minimum(ahead, most);

	if (r->mode != AUTO_WHOLE || most == 0 || end >= d->facts->range_pages)
		return;
	if (d->opens)
		budget = opening(d, most);
	r->walk = (struct auto_walk){0};
	r->walk.degree = (budget == 0 ? 1u : minimum(2u * budget, most)) & 15u;
	if (!d->opens)
		budget = minimum(budget, credit_of(r) / CREDIT);
	if (budget != 0 && d->block->mode == AUTO_WHOLE && ++r->checks != 0) {
		r->walk.budget = budget & 15u;
		if (d->opens)
			advance(d, budget);
	}
	hint->follow = end;
}

/* All of the block comes. */
static void bring(struct auto_decision *d, struct uvmp_prefetch_hint *hint)
{
	struct auto_range *r = d->range;
	uvmp_mask pages;
	uint32_t count;

	r->walk.budget--;
	uvmpi_prefetch_admit(d->facts, &pages);
	uvmpi_prefetch_hint_set(hint, d->facts->to, &pages);
	count = uvmpi_mask_weight(&pages);
	if (count == 0)
		return;
	hint->rule = UVMP_RULE_AHEAD;
	uvmpi_auto_price_return(d);
	auto_begin_whole(d);
	r->ahead += d->facts->block.pages;
	auto_pass(d, count);
	r->walk.came++;
	r->credit = (int16_t)(r->credit - (int32_t)CREDIT);
}

void uvmpi_auto_ahead_follow(struct auto_decision *d, struct uvmp_prefetch_hint *hint)
{
	struct auto_walk *walk = &d->range->walk;
	uint64_t end = d->facts->range_first + d->facts->block.pages;
	bool ends = false;
	uvmp_mask none;

	uvmpi_mask_zero(&none);
	uvmpi_prefetch_hint_set(hint, d->facts->to, &none);
	if (!uvmpi_mask_is_empty(&d->resident)) {
		ends = walk->passed == PASSED_MOST;
		walk->passed++;
	} else if (walk->budget != 0) {
		bring(d, hint);
	} else {
		ends = true;
		d->block->is_known = false;
		d->block->begun = d->processor->time;
		d->block->degree = walk->degree;
		d->block->came = walk->came;
	}
	if (!ends && end < d->facts->range_pages)
		hint->follow = end;
}
