/* auto: the modes of ranges: whole blocks, or parts of them, by what each range of memory costs.
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
 * without pages, and if a service costs at most an eighth of a block. Programs with many threads that use whole blocks fault in
 * groups.
 *
 * A stay of a block begins with a fault, and ends when a memory full of pages has been brought since: in mode whole, the block
 * would have left by then. The time of a range counts the pages that others bring, and a whole block for each stay of its own, so
 * that stays last equally long in all modes. Costs are counted in copies of a page: one for each page, auto_fault for each time
 * that the block is serviced (the engine adds what the flush behind its batch costs), and a quarter for each page, since a block
 * in parts also leaves in parts. A stay in mode whole costs one service and a whole block; that needs no measurement. In the
 * finer modes the cost is counted: for all stays of the present mode, and in probes, which handle a stay now and then in another
 * mode. The first probe of a range whose first mode is whole follows 16 stays since the first eviction (auto_gap, if that is
 * less): a probe costs more than it may save if few stays follow. The gap between probes doubles up to auto_gap stays, and is
 * short again when the mode has changed. A range that its accesses go through from begin to end needs no sparse probes.
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
 * Costs are integers, and times wrap at 2^32 pages. One state serves all GPUs of a range. */
#include "prefetch_auto_internal.h"

#define FIRST_PROBE   16u /* stays of a range before its first probe */
#define GAP_LEAST     4u
#define PATIENCE_MOST 32u
#define SEEN_LEAST    2u   /* stays before a mean counts */
#define SEEN_MOST     255u
#define STAYS_LEAST   8u  /* of the present mode before their mean counts */
#define STAYS_MOST    64u /* before they count half */
#define FEW_BLOCKS    16u /* a memory of fewer blocks is small */
#define FEW_SERVICES  8u  /* if fewer cost as much as a block, services are dear */
#define GROUP	      2u  /* faults in a block without pages that come in groups, at least, in the mean */
#define SAMPLES_MOST  64u /* such services before they count half; below 256 */

_Static_assert(AUTO_TURN_MOST < ((uint32_t)1 << 31) / (PATIENCE_MOST + 1u), "hold_until is below half of the range of times away");

static bool is_past(uint32_t time, uint32_t mark)
{
	return (int32_t)(time - mark) >= 0;
}

/* -- costs of modes -- */

/* Of servicing a block. */
static uint32_t cost_of_fault(const struct auto_decision *d)
{
	return d->params->auto_fault != 0 ? d->params->auto_fault : FAULT_COPIES;
}

static uint32_t cost_of_pages(const struct auto_decision *d, uint32_t pages)
{
	return pages * d->price / AUTO_PRICE_UNIT;
}

static uint32_t cost_of_whole(const struct auto_decision *d)
{
	return cost_of_fault(d) + cost_of_pages(d, d->facts->block.pages);
}

/* Of a stay in the mode. */
static uint32_t cost_of(const struct auto_decision *d, uint32_t mode)
{
	const struct auto_range *r = d->range;

	if (mode == AUTO_WHOLE)
		return cost_of_whole(d);
	if (r->seen[mode - 1u] < SEEN_LEAST)
		return UINT32_MAX;
	return r->mean[mode - 1u].fixed + cost_of_pages(d, r->mean[mode - 1u].pages);
}

static void enter(struct auto_decision *d, uint32_t mode)
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
static void choose_mode(struct auto_decision *d)
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
static void settle(struct auto_decision *d, uint32_t probe)
{
	struct auto_range *r = d->range;
	uint32_t mode = r->mode;

	learn(r, r->probing[probe], &r->probe[probe].cost);
	r->probing[probe] = AUTO_WHOLE;
	choose_mode(d);
	if (r->mode == mode)
		r->gap = (uint8_t)(2u * r->gap < d->params->auto_gap ? 2u * r->gap : d->params->auto_gap);
}

static bool is_over(const struct auto_decision *d, uint32_t begun)
{
	return auto_time(d) - begun >= d->turn;
}

static void settle_old(struct auto_decision *d)
{
	for (uint32_t i = 0; i < AUTO_PROBES; i++)
		if (d->range->probing[i] != AUTO_WHOLE && is_over(d, d->range->probe[i].begun))
			settle(d, i);
}

/* Do dense stays bring nearly all of a block in a few steps, as accesses from begin to end do? */
static bool is_scanned(const struct auto_decision *d)
{
	const struct auto_cost *dense = &d->range->mean[AUTO_DENSE - 1];

	return dense->pages >= d->facts->block.pages / 16u * 15u && dense->fixed < 14u * cost_of_fault(d) + dense->pages / 4u;
}

/* The mode of the next probe. */
static uint32_t mode_to_probe(const struct auto_decision *d)
{
	const struct auto_range *r = d->range;

	if (r->mode != AUTO_WHOLE)
		return r->mode == AUTO_DENSE ? AUTO_SPARSE : AUTO_DENSE;
	if (r->seen[0] < SEEN_LEAST || r->seen[0] <= r->seen[1] || is_scanned(d))
		return AUTO_DENSE;
	return AUTO_SPARSE;
}

/* Has the range had no probe, and no other mode than whole? */
static bool is_young(const struct auto_range *r)
{
	return r->gap == 0 && r->mode == AUTO_WHOLE && r->patience == 0;
}

/* The stay becomes a probe if one is due and there is a place. */
static void begin_probe(struct auto_decision *d)
{
	struct auto_range *r = d->range;
	uint32_t most = d->params->auto_gap;

	if (is_young(r) && r->since < minimum(FIRST_PROBE, most)) {
		r->since++;
		return;
	}
	if (r->gap == 0) /* nothing is known of the mode */
		r->since = r->gap = (uint8_t)minimum(most, GAP_LEAST);
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
static void compare_size(struct auto_decision *d)
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

static void begin_stay(struct auto_decision *d)
{
	*d->block = (struct auto_block){
		.begun = auto_time(d), .mode = d->range->mode, .probe = AUTO_PROBES, .is_known = true};
	d->range->ahead += d->facts->block.pages;
	if (d->is_part)
		return;
	begin_probe(d);
	if (d->block->probe == AUTO_PROBES && d->range->mode != AUTO_WHOLE)
		d->range->stays++;
}

static enum uvmp_rule rule_of(const struct auto_block *b)
{
	if (b->mode == AUTO_WHOLE)
		return b->spent != 0 ? UVMP_RULE_REST : UVMP_RULE_WHOLE;
	if (b->probe != AUTO_PROBES)
		return b->mode == AUTO_DENSE ? UVMP_RULE_PROBE_DENSE : UVMP_RULE_PROBE_SPARSE;
	return b->mode == AUTO_DENSE ? UVMP_RULE_DENSE : UVMP_RULE_SPARSE;
}

/* -- the first mode -- */

void uvmpi_auto_modes_count_group(struct auto_decision *d)
{
	struct auto_processor *p = d->processor;

	p->faults = (uint16_t)(p->faults + uvmpi_mask_weight(&d->faulted));
	if (++p->groups == SAMPLES_MOST) {
		p->faults /= 2u;
		p->groups /= 2u;
	}
}

/* The range is used for the first time since memory was full. */
static void begin_range(struct auto_decision *d)
{
	const struct auto_processor *p = d->processor;

	d->range->has_begun = true;
	if (d->params->auto_gap != 0 && d->turn / d->facts->block.pages < FEW_BLOCKS && p->faults < GROUP * p->groups &&
	    cost_of_fault(d) <= d->facts->block.pages / FEW_SERVICES)
		enter(d, AUTO_DENSE);
}

/* -- before and after the decision -- */

enum uvmp_rule uvmpi_auto_modes_begin(struct auto_decision *d)
{
	struct auto_block *b = d->block;

	if (d->facts->memory.evicted_pages == 0) {
		auto_begin_whole(d);
		return UVMP_RULE_FITS;
	}
	if (!d->range->has_begun)
		begin_range(d);
	compare_size(d);
	if (!d->is_part)
		settle_old(d);
	if (!b->is_known || is_over(d, b->begun) || (b->mode == AUTO_WHOLE && uvmpi_mask_is_empty(&d->resident)))
		begin_stay(d);
	return rule_of(b);
}

/* A fault brings what takes room anyway: a big page, or the page alone where frames are pages. */
static uint32_t sparse_threshold(const struct auto_decision *d)
{
	if (d->params->auto_threshold != 0)
		return d->params->auto_threshold;
	return d->facts->memory.frame_pages == 1u ? 100u : 99u;
}

uint32_t uvmpi_auto_modes_threshold(const struct auto_decision *d)
{
	if (d->block->mode == AUTO_DENSE)
		return d->params->threshold;
	return d->block->mode == AUTO_WHOLE ? 1u : sparse_threshold(d);
}

/* A finer stay has cost so much; with the pages that will come if it has cost what the whole block costs. */
static void charge_mode(struct auto_decision *d, uint32_t pages, uint32_t fixed)
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

		mean->pages = auto_add_most(0, r->pages / r->stays);
		mean->fixed = auto_add_most(0, r->fixed / r->stays);
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
static void charge_probe(struct auto_decision *d, uint32_t pages, uint32_t fixed, bool is_complete)
{
	uint32_t i = d->block->probe;
	struct auto_probe *probe = &d->range->probe[i];

	if (d->range->probing[i] == AUTO_WHOLE || probe->begun != d->block->begun)
		return;
	probe->cost.pages = auto_add_most(probe->cost.pages, pages);
	probe->cost.fixed = auto_add_most(probe->cost.fixed, fixed);
	if (!is_complete && d->block->spent < cost_of_whole(d))
		return;
	if (probe->cost.pages < d->facts->block.pages)
		probe->cost.pages = (uint16_t)d->facts->block.pages;
	settle(d, i);
}

void uvmpi_auto_modes_charge(struct auto_decision *d, const struct uvmp_prefetch_hint *hint)
{
	uint32_t pages, fixed, rest;
	bool is_spent;
	struct auto_block *b = d->block;
	uvmp_mask all = d->faulted;

	if (hint->to != UVMP_PROC_NONE)
		uvmpi_mask_or(&all, &all, &hint->pages);
	uvmpi_mask_andnot(&all, &all, &d->resident);
	pages = uvmpi_mask_weight(&all);
	auto_pass(d, pages);
	if (b->mode == AUTO_WHOLE)
		return;
	fixed = cost_of_fault(d) + pages / 4u;
	rest = d->facts->block.pages - uvmpi_mask_weight(&d->resident) - pages;
	b->spent = auto_add_most(b->spent, fixed + cost_of_pages(d, pages));
	is_spent = b->spent >= cost_of_whole(d);
	if (b->probe != AUTO_PROBES)
		charge_probe(d, pages, fixed, rest == 0);
	else if (b->mode == d->range->mode && !d->is_part)
		charge_mode(d, is_spent ? pages + rest : pages, fixed);
	if (is_spent)
		b->mode = AUTO_WHOLE;
}
