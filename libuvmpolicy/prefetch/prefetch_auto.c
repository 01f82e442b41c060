/* auto: whole blocks, or parts of them, by what each range of memory costs.
 *
 * Until the first eviction the answer is the whole block, as with threshold 1: everything fits, and each fault that is saved
 * counts. From then on, a page that is brought in vain costs its copy and the room that it takes from others. Each range has one
 * of three modes, the answers of density with a threshold:
 *
 *   whole    1: a fault brings the whole block
 *   dense    `threshold`: a fault brings as much as its neighbourhood is in use
 *   sparse   99: a fault brings the big pages that fault; 100, only the pages that fault, where memory has frames of single
 *            pages; or `auto_threshold`
 *
 * The first mode is whole. In a memory of fewer than 16 blocks, of the size of the block that faults first, a wrong block pushes
 * out much. There the first mode is dense if faults come one by one: fewer than two pages, in the mean, fault together in a block
 * without pages. Programs with many threads that use whole blocks fault in groups.
 *
 * Small ranges, below SMALL_PAGES, have one state together: programs that allocate much in small ranges do the same in most of
 * them, and each is too small to learn from.
 *
 * A stay of a block begins with a fault, and ends when a memory full of pages has been brought since: in mode whole, the block
 * would have left by then. The time of a range counts the pages that others bring, and a whole block for each stay of its own, so
 * that stays last equally long in all modes. Costs are counted in copies of a page: one for each page, auto_fault for each time
 * that the block is serviced, a third of it for each page that faults again, and a quarter for each page that later leaves in
 * small parts. A stay in mode whole costs one service and a whole block; that needs no measurement. In the finer modes the cost is
 * counted: for all stays of the present mode, and in probes, which handle a stay now and then in another mode. The gap between
 * probes doubles up to auto_gap stays, and is short again when the mode has changed. A range that its accesses go through
 * from begin to end needs no sparse probes.
 *
 * The mode changes to one that is cheaper by a fifth. First, memory must fill in the new mode: one turn of memory is not counted.
 * After another turn, the mode may change again. After a return to whole, finer modes are tried again after one turn, the next time
 * after two, and so on up to 32: what they cost in vain is bounded. Within a stay the bound is ski rental: once a stay in a finer
 * mode has cost what the whole block costs, the next fault brings the rest, so that no stay costs more than about twice the least.
 * The rest counts as cost of the mode.
 *
 * A block that is smaller than another block of its range has the mode of the range: it is no probe, and its cost does not
 * count.
 *
 * The price of a page is its copy and the room for it. Room has a price if pages return that were evicted. A page that
 * returns after x evictions from a memory of m pages shows that x/m of a turn more would have saved a copy: m/x, at most
 * auto_price. The mean over all pages that leave is the price of room.
 *
 * Streams. A fault in a block without pages expects that the next block of the range faults soon, before an eighth of memory has
 * come. If that block does, the stream goes on, and blocks behind it come ahead, before they fault: 1, then 2, 4, up to auto_ahead
 * and a sixteenth of memory; the block behind them is expected. Any number of streams run at once, as the state is in the expected
 * block. Blocks ahead are paid from the credit of their range. It has two blocks at first. A block that comes ahead costs one
 * block, which is returned when its stream goes on; and each block that the stream has used earns an eighth. So at most two blocks
 * come in vain, and an eighth of those that streams have brought. Each sixteenth time nothing comes ahead: a program that
 * skips the blocks that came ends its stream then. Blocks with resident pages are passed, four of them at most. Only in mode
 * whole.
 *
 * What faults on the CPU brings its whole block back.
 *
 * Integers only; times wrap at 2^32 pages. One state serves all GPUs of a range. */
#include "../base/bits_internal.h"
#include "prefetch_internal.h"
#include "prefetch_states_internal.h"

#define UNIT	      16u /* of prices: a copy */
#define GAP_LEAST     4u
#define PATIENCE_MOST 32u
#define TURN_MOST     ((uint32_t)1 << 25) /* times PATIENCE_MOST + 1 is below half of the range of times */
#define SEEN_LEAST    2u		  /* stays before a mean counts */
#define SEEN_MOST     255u
#define STAYS_LEAST   8u  /* of the present mode before their mean counts */
#define SMALL_PAGES   (4u * UVMP_MASK_BITS) /* a range of fewer pages is small */
#define STAYS_MOST    64u /* before they count half */
#define AHEAD_SHARE   16u /* of memory may come ahead of one stream, */
#define CREDIT_SHARE  8u  /* and of a range while no stream goes on, */
#define CREDIT_MOST   4000u
#define FIRST_CREDIT  2u /* and so many blocks of a range of which nothing is known */
#define CREDIT	      8u /* of a block: what blocks of confirmed streams earn are ones */
#define FRESH_SHARE   8u /* of a turn, until a stream must have gone on */
#define PASSED_MOST   4u
#define FEW_BLOCKS    16u /* a memory of fewer blocks is small */
#define GROUP	      2u  /* faults in a block without pages that come in groups, at least, in the mean */
#define SAMPLES_MOST  64u /* such services before they count half */

_Static_assert(sizeof(struct auto_block) == 16 && sizeof(struct auto_range) == 64, "bounded memory");

/* A decision. */
struct decision {
	const struct uvmp_prefetch_params *params;
	const struct uvmp_prefetch_facts *facts;
	struct auto_block *block;
	struct auto_range *range;
	struct auto_processor *processor;
	uint32_t turn;	/* pages of the memory */
	uint32_t fault; /* cost of servicing a block */
	uint32_t price; /* of a page, UNIT for a copy */
	bool begins;	/* a stay */
	enum uvmp_prefetch_rule rule;
	bool is_part;	/* the range has a larger block */
	uint32_t ahead; /* blocks to bring behind this one */
	/* of the facts, whose masks may be the hint's */
	uvmp_mask faulted, resident;
};

static bool is_past(uint32_t time, uint32_t mark)
{
	return (int32_t)(time - mark) >= 0;
}

static uint16_t add_most(uint16_t sum, uint32_t more)
{
	return (uint16_t)(more < 0xffffu - sum ? sum + more : 0xffffu);
}

/* -- the price of a page -- */

/* The pages of the block that left return now. */
static void value_return(struct decision *d)
{
	uint32_t most = d->params->auto_price, ago = (uint32_t)d->facts->memory.evicted_pages - d->block->left;
	uint32_t worth = (uint64_t)ago * most <= d->turn ? most * UNIT : d->turn * UNIT / ago;

	d->processor->worth += (uint64_t)d->block->departed * worth;
	d->block->left = d->block->departed = 0;
}

/* Before much has left, half a memory without returns counts. */
static void set_price(struct decision *d)
{
	struct auto_processor *p = d->processor;

	if (p->evicted == 0)
		p->departed = d->turn / 2u;
	p->departed += d->facts->memory.evicted_pages - p->evicted;
	p->evicted = d->facts->memory.evicted_pages;
	if (d->block->departed != 0)
		value_return(d);
	if (p->departed > 2u * (uint64_t)d->turn) {
		p->departed /= 2u;
		p->worth /= 2u;
	}
	d->price = UNIT;
	if (d->params->auto_price > 1u) {
		uint64_t room = p->worth / (p->departed + 1u), most = d->params->auto_price * UNIT;

		d->price += (uint32_t)(room < most ? room : most); /* above: pages return that left another GPU */
	}
}

/* -- costs of modes -- */

static uint32_t cost_of_pages(const struct decision *d, uint32_t pages)
{
	return pages * d->price / UNIT;
}

static uint32_t cost_of_whole(const struct decision *d)
{
	return d->fault + cost_of_pages(d, d->facts->block.pages);
}

/* Of a stay in the mode. */
static uint32_t cost_of(const struct decision *d, uint32_t mode)
{
	const struct auto_range *r = d->range;

	if (mode == AUTO_WHOLE)
		return cost_of_whole(d);
	if (r->seen[mode - 1u] < SEEN_LEAST)
		return UINT32_MAX;
	return r->mean[mode - 1u].fixed + cost_of_pages(d, r->mean[mode - 1u].pages);
}

static void enter(struct decision *d, uint32_t mode)
{
	struct auto_range *r = d->range;
	uint32_t now = d->processor->time, turns = 2;

	if (mode == AUTO_WHOLE) {
		if (r->patience < PATIENCE_MOST)
			r->patience = (uint8_t)(r->patience == 0 ? 1u : 2u * r->patience);
		turns = r->patience;
		r->seen[0] = r->seen[1] = 0;
	}
	r->mode = (uint8_t)mode;
	r->is_filling = mode != AUTO_WHOLE;
	r->hold_until = now + turns * d->turn;
	r->stays = 0;
	r->pages = r->fixed = 0;
	r->gap = 0;
}

/* The mode changes if another one is cheaper by a fifth. */
static void choose_mode(struct decision *d)
{
	struct auto_range *r = d->range;
	uint32_t best = r->mode, least = cost_of(d, best) / 5u * 4u;
	bool has_changed = best != AUTO_WHOLE || r->patience != 0;

	if (has_changed && !is_past(d->processor->time, r->hold_until))
		return;
	r->hold_until = d->processor->time; /* stays in the past, wherever times wrap */
	for (uint32_t mode = AUTO_WHOLE; mode <= AUTO_FINER; mode++) {
		if (mode != r->mode && cost_of(d, mode) < least) {
			least = cost_of(d, mode);
			best = mode;
		}
	}
	if (best != r->mode)
		enter(d, best);
}

/* -- probes -- */

/* A mean that counts goes on to count. */
static uint8_t half_seen(uint8_t seen)
{
	return (uint8_t)(seen < 2u * SEEN_LEAST ? seen : seen / 2u);
}

/* A quarter of the mean is the new stay. */
static void learn(struct auto_range *r, uint32_t mode, const struct auto_cost *cost)
{
	struct auto_cost *mean = &r->mean[mode - 1u];
	uint8_t *seen = &r->seen[mode - 1u];

	if (*seen == 0) {
		*mean = *cost;
	} else {
		mean->pages = (uint16_t)((mean->pages * 3u + cost->pages) / 4u);
		mean->fixed = (uint16_t)((mean->fixed * 3u + cost->fixed) / 4u);
	}
	if (*seen == SEEN_MOST) {
		r->seen[0] = half_seen(r->seen[0]);
		r->seen[1] = half_seen(r->seen[1]);
	}
	(*seen)++;
}

/* The probe has ended. */
static void settle(struct decision *d, uint32_t probe)
{
	struct auto_range *r = d->range;
	uint32_t mode = r->mode;

	learn(r, r->probing[probe], &r->probe[probe].cost);
	r->probing[probe] = AUTO_WHOLE;
	choose_mode(d);
	if (r->mode == mode)
		r->gap = (uint8_t)(2u * r->gap < d->params->auto_gap ? 2u * r->gap : d->params->auto_gap);
}

static uint32_t time_of_range(const struct decision *d)
{
	return d->processor->time + d->range->ahead;
}

static bool is_over(const struct decision *d, uint32_t begun)
{
	return time_of_range(d) - begun >= d->turn;
}

static void settle_old(struct decision *d)
{
	for (uint32_t i = 0; i < AUTO_PROBES; i++)
		if (d->range->probing[i] != AUTO_WHOLE && is_over(d, d->range->probe[i].begun))
			settle(d, i);
}

/* Do dense stays bring nearly all of a block in a few steps, as accesses from begin to end do? */
static bool is_scanned(const struct decision *d)
{
	const struct auto_cost *dense = &d->range->mean[AUTO_DENSE - 1];

	return dense->pages >= d->facts->block.pages / 16u * 15u && dense->fixed < 14u * d->fault + dense->pages / 4u;
}

/* The mode of the next probe. */
static uint32_t mode_to_probe(const struct decision *d)
{
	const struct auto_range *r = d->range;

	if (r->mode != AUTO_WHOLE)
		return r->mode == AUTO_DENSE ? AUTO_SPARSE : AUTO_DENSE;
	if (r->seen[0] < SEEN_LEAST || r->seen[0] <= r->seen[1] || is_scanned(d))
		return AUTO_DENSE;
	return AUTO_SPARSE;
}

/* The stay becomes a probe if one is due and there is a place. */
static void begin_probe(struct decision *d)
{
	struct auto_range *r = d->range;
	uint32_t most = d->params->auto_gap;

	if (r->gap == 0) /* the range is new, or has changed its mode */
		r->since = r->gap = (uint8_t)(most < GAP_LEAST ? most : GAP_LEAST);
	if (most == 0 || ++r->since < r->gap)
		return;
	for (uint32_t i = 0; i < AUTO_PROBES; i++) {
		if (r->probing[i] != AUTO_WHOLE)
			continue;
		r->probing[i] = d->block->mode = (uint8_t)mode_to_probe(d);
		r->probe[i] = (struct auto_probe){.begun = d->block->begun};
		d->block->probe = (uint8_t)i;
		r->since = 0;
		return;
	}
	r->since = (uint8_t)(r->gap - 1u); /* the next stay */
}

/* -- stays -- */

/* What smaller blocks cost says nothing about the range. */
static void compare_size(struct decision *d)
{
	struct auto_range *r = d->range;
	uint32_t size = (d->facts->block.pages - 1u) / 2u;

	d->is_part = size < r->largest;
	if (size <= r->largest)
		return;
	r->largest = (uint8_t)size;
	r->seen[0] = r->seen[1] = 0;
	for (uint32_t i = 0; i < AUTO_PROBES; i++)
		r->probing[i] = AUTO_WHOLE;
}

static void begin_stay(struct decision *d)
{
	*d->block = (struct auto_block){
		.begun = time_of_range(d), .mode = d->range->mode, .probe = AUTO_PROBES, .is_known = true};
	d->range->ahead += d->facts->block.pages;
	if (d->is_part)
		return;
	begin_probe(d);
	if (d->block->probe == AUTO_PROBES && d->range->mode != AUTO_WHOLE)
		d->range->stays++;
}

static enum uvmp_prefetch_rule rule_of(const struct auto_block *b)
{
	if (b->mode == AUTO_WHOLE)
		return b->spent != 0 ? UVMP_RULE_REST : UVMP_RULE_WHOLE;
	if (b->probe != AUTO_PROBES)
		return b->mode == AUTO_DENSE ? UVMP_RULE_PROBE_DENSE : UVMP_RULE_PROBE_SPARSE;
	return b->mode == AUTO_DENSE ? UVMP_RULE_DENSE : UVMP_RULE_SPARSE;
}

/* -- the first mode -- */

/* A block without pages was faulted. */
static void count_group(struct decision *d)
{
	struct auto_processor *p = d->processor;

	p->faults = (uint16_t)(p->faults + uvmpi_mask_weight(&d->faulted));
	if (++p->groups == SAMPLES_MOST) {
		p->faults /= 2u;
		p->groups /= 2u;
	}
}

/* The range is used for the first time since memory was full. */
static void begin_range(struct decision *d)
{
	const struct auto_processor *p = d->processor;

	d->range->has_begun = true;
	if (d->params->auto_gap != 0 && d->turn / d->facts->block.pages < FEW_BLOCKS && p->faults < GROUP * p->groups)
		enter(d, AUTO_DENSE);
}

/* Before the decision: the mode of the stay. */
static void look(struct decision *d)
{
	struct auto_block *b = d->block;

	set_price(d);
	if (d->facts->memory.evicted_pages == 0) {
		*b = (struct auto_block){.begun = time_of_range(d), .probe = AUTO_PROBES, .is_known = true};
		d->rule = UVMP_RULE_FITS;
		return;
	}
	if (!d->range->has_begun)
		begin_range(d);
	compare_size(d);
	if (!d->is_part)
		settle_old(d);
	d->begins = !b->is_known || is_over(d, b->begun) || (b->mode == AUTO_WHOLE && uvmpi_mask_is_empty(&d->resident));
	if (d->begins)
		begin_stay(d);
	d->rule = rule_of(b);
}

/* A finer stay has cost so much; with the pages that will come if it has cost what the whole block costs. */
static void charge_mode(struct decision *d, uint32_t pages, uint32_t fixed)
{
	struct auto_range *r = d->range;

	r->pages += pages;
	r->fixed += fixed;
	if (r->is_filling && is_past(d->processor->time, r->hold_until - d->turn)) {
		r->is_filling = false;
		r->stays = 0;
		r->pages = r->fixed = 0;
	}
	if (!r->is_filling && r->stays >= STAYS_LEAST) {
		struct auto_cost *mean = &r->mean[r->mode - 1u];

		mean->pages = add_most(0, r->pages / r->stays);
		mean->fixed = add_most(0, r->fixed / r->stays);
		r->seen[r->mode - 1u] = STAYS_LEAST;
		choose_mode(d);
	}
	if (r->stays >= STAYS_MOST) {
		r->stays /= 2u;
		r->pages /= 2u;
		r->fixed /= 2u;
	}
}

/* A probe that has cost what the whole block costs, or has brought all of it, ends. Then all of the block counts as used. */
static void charge_probe(struct decision *d, uint32_t pages, uint32_t fixed, bool is_complete)
{
	uint32_t i = d->block->probe;
	struct auto_probe *probe = &d->range->probe[i];

	if (d->range->probing[i] == AUTO_WHOLE || probe->begun != d->block->begun)
		return;
	probe->cost.pages = add_most(probe->cost.pages, pages);
	probe->cost.fixed = add_most(probe->cost.fixed, fixed);
	if (!is_complete && d->block->spent < cost_of_whole(d))
		return;
	if (probe->cost.pages < d->facts->block.pages)
		probe->cost.pages = (uint16_t)d->facts->block.pages;
	settle(d, i);
}

/* Faults behind the first service of the stay. */
static uint32_t again_cost(const struct decision *d)
{
	return d->begins ? 0 : d->fault * uvmpi_mask_weight(&d->faulted) / 3u;
}

/* After the decision: what it costs. */
static void charge(struct decision *d, const struct uvmp_prefetch_hint *hint)
{
	uint32_t pages, fixed, rest;
	bool is_spent;
	struct auto_block *b = d->block;
	uvmp_mask all = d->faulted;

	if (hint->to != UVMP_PROC_NONE)
		uvmpi_mask_or(&all, &all, &hint->pages);
	uvmpi_mask_andnot(&all, &all, &d->resident);
	pages = uvmpi_mask_weight(&all);
	d->processor->time += pages;
	d->range->ahead -= pages;
	if (b->mode == AUTO_WHOLE)
		return;
	fixed = d->fault + pages / 4u + again_cost(d);
	rest = d->facts->block.pages - uvmpi_mask_weight(&d->resident) - pages;
	b->spent = add_most(b->spent, fixed + cost_of_pages(d, pages));
	is_spent = b->spent >= cost_of_whole(d);
	if (b->probe != AUTO_PROBES)
		charge_probe(d, pages, fixed, rest == 0);
	else if (b->mode == d->range->mode && !d->is_part)
		charge_mode(d, is_spent ? pages + rest : pages, fixed);
	if (is_spent)
		b->mode = AUTO_WHOLE;
}

/* One block or a few are used too seldom to show what they cost. */
static bool is_small(const struct uvmp_prefetch_facts *facts)
{
	return facts->range_pages < SMALL_PAGES;
}

/* A fault brings what takes room anyway: a big page, or the page alone where frames are pages. */
static uint32_t sparse_threshold(const struct decision *d)
{
	if (d->params->auto_threshold != 0)
		return d->params->auto_threshold;
	return d->facts->memory.frame_pages == 1u ? 100u : 99u;
}

/* -- blocks ahead -- */

/* In eighths of a block, with what a range has at first. */
static uint32_t credit_of(const struct auto_range *r)
{
	return (uint32_t)(r->credit + (int32_t)(FIRST_CREDIT * CREDIT));
}

static void set_credit(struct decision *d, uint32_t credit)
{
	uint32_t most = minimum(d->turn / d->facts->block.pages / CREDIT_SHARE, CREDIT_MOST) * CREDIT;

	d->range->credit = (int16_t)((int32_t)minimum(credit, most) - (int32_t)(FIRST_CREDIT * CREDIT));
}

/* A fault in a block without pages: does it go on with a stream? Then the blocks that came ahead were right. */
static void confirm(struct decision *d)
{
	struct auto_block *b = d->block;

	if (b->degree != 0 && d->processor->time - b->begun < d->turn / FRESH_SHARE) {
		d->ahead = b->degree;
		set_credit(d, credit_of(d->range) + b->came * CREDIT + b->came + 1u);
	}
	b->degree = 0;
}

/* After the decision about a block that had no pages: the walk over the blocks behind it. The stream may double its degree;
 * each sixteenth time nothing comes, as a check. */
static void begin_walk(struct decision *d, struct uvmp_prefetch_hint *hint)
{
	struct auto_range *r = d->range;
	uint32_t most = minimum(d->params->auto_ahead, d->turn / d->facts->block.pages / AHEAD_SHARE);
	uint64_t end = d->facts->range_first + d->facts->block.pages;
	uint32_t budget = minimum(d->ahead, most);

	if (r->mode != AUTO_WHOLE || most == 0 || end >= d->facts->range_pages)
		return;
	r->walk = (struct auto_walk){0};
	r->walk.degree = (budget == 0 ? 1u : minimum(2u * budget, most)) & 15u;
	budget = minimum(budget, credit_of(r) / CREDIT);
	if (budget != 0 && d->block->mode == AUTO_WHOLE && ++r->checks != 0)
		r->walk.budget = budget & 15u;
	hint->follow = end;
}

/* All of the block comes. */
static void bring(struct decision *d, struct uvmp_prefetch_hint *hint)
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
	if (d->block->departed != 0)
		value_return(d);
	*d->block = (struct auto_block){.begun = time_of_range(d), .probe = AUTO_PROBES, .is_known = true};
	r->ahead += d->facts->block.pages - count;
	d->processor->time += count;
	r->walk.came++;
	r->credit = (int16_t)(r->credit - (int32_t)CREDIT);
}

/* The walk comes to the block: it passes pages that are there, brings blocks while it may, and expects the next one to fault. */
static void go_on(struct decision *d, struct uvmp_prefetch_hint *hint)
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

/* -- decisions -- */

/* Without a state of the block, or without memory: density. What follows a block without a state brings nothing. */
static enum uvmp_status decide_plainly(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
				       struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint)
{
	struct uvmp_prefetch_params density = *params;
	uvmp_mask none;

	if (facts->is_follow) {
		uvmpi_mask_zero(&none);
		uvmpi_prefetch_hint_set(hint, facts->to, &none);
		return UVMP_OK;
	}
	if (facts->to == UVMP_CPU)
		density.threshold = 1;
	return uvmpi_prefetch_density_decide(&density, facts, state, hint);
}

static enum uvmp_status decide(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
			       struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint)
{
	struct uvmp_prefetch_params density = *params;
	struct decision d = {.params = params,
			     .facts = facts,
			     .block = (struct auto_block *)state->block,
			     .range = (struct auto_range *)state->range,
			     .processor = (struct auto_processor *)state->processor,
			     .turn = facts->memory.pages < TURN_MOST ? (uint32_t)facts->memory.pages : TURN_MOST,
			     .fault = params->auto_fault != 0 ? params->auto_fault : FAULT_COPIES};
	enum uvmp_status status;
	bool is_empty;

	if (facts->to == UVMP_CPU || d.block == NULL || d.turn == 0)
		return decide_plainly(params, facts, state, hint);
	d.faulted = *facts->faulted;
	d.resident = *uvmpi_mask_or_none(facts->resident);
	if (is_small(facts))
		d.range = &d.processor->small;
	if (facts->is_follow) {
		go_on(&d, hint);
		return UVMP_OK;
	}
	is_empty = uvmpi_mask_is_empty(&d.resident);
	if (is_empty) {
		count_group(&d);
		confirm(&d);
	}
	look(&d);
	if (d.block->mode != AUTO_DENSE)
		density.threshold = d.block->mode == AUTO_WHOLE ? 1u : sparse_threshold(&d);
	status = uvmpi_prefetch_density_decide(&density, facts, state, hint);
	hint->rule = d.rule;
	charge(&d, hint);
	if (is_empty)
		begin_walk(&d, hint);
	return status;
}

static void left(void *state, const struct uvmp_prefetch_departure *departure)
{
	struct auto_block *block = (struct auto_block *)state;

	block->departed = add_most(block->departed, uvmpi_mask_weight(departure->gone));
	block->left = (uint32_t)departure->evicted_pages;
}

static const struct parameter parameters[] = {
	PREFETCH_PARAMETER(auto_ahead, "auto_ahead", 0, 8, 4,
			   "blocks that may come ahead of a stream of faults, at most; 0: none"),
	PREFETCH_PAGES(auto_fault, "auto_fault", 0, 256, 0,
		       "cost of servicing a block, in copies of 4 KiB; 0: that of a GPU, 12, or of the pager, 5"),
	PREFETCH_PARAMETER(auto_gap, "auto_gap", 0, 255, 64,
			   "residencies from one probe of another mode to the next, at most; 0: whole blocks only"),
	PREFETCH_PARAMETER(auto_price, "auto_price", 1, 16, 8,
			   "most that the room for a page may cost, in copies; 1: nothing"),
	PREFETCH_PARAMETER(auto_threshold, "auto_threshold", 0, 100, 0,
			   "threshold of the sparse mode; 0: 99, or 100 where memory has frames of pages"),
};

/* Before the first eviction density with threshold 1; then with 1, `threshold` or `auto_threshold`, by what each costs in the
 * range. All pages of blocks that follow in a stream of faults, through hint->follow (see struct uvmp_prefetch_hint). Without
 * facts->memory, or without a state of the block: density. UVMP_ERR_RANGE also: range_pages < range_first + block.pages. Quirks:
 * as density. */
const struct prefetcher uvmpi_prefetcher_auto = {
	.name = "auto",
	.traits = {.grouping = UVMP_GROUPING_BY_CAUSE,
		   .is_driver = true,
		   .walks_ranges = true,
		   .block_bytes = sizeof(struct auto_block),
		   .range_bytes = sizeof(struct auto_range),
		   .processor_bytes = sizeof(struct auto_processor),
		   .has_memory = true},
	.decide = decide,
	.left = left,
	.parameter = parameters,
	.parameters = sizeof(parameters) / sizeof(parameters[0]),
	.base = &uvmpi_prefetcher_density,
};
