/* See naive_auto_prefetch.h. Prices are in sixteenths of a copy, as whole numbers. */
#include "model/naive_auto_prefetch.h"

#include <string.h>

/* The numbers of prefetch_auto*.c. */
enum {
	SIXTEENTHS = 16,
	YOUNG_STAYS = 16,	/* without a probe */
	FIRST_GAP = 4,
	LONGEST_HOLD = 32, /* turns */
	LARGEST_TURN = 1 << 25,
	MEAN_OF = 2,	/* stays before a mean counts */
	COUNTED = 255,	/* stays of a mean, at most */
	OWN_STAYS = 8,	/* before the mean of the present mode counts */
	OWN_HALVED = 64,
	LARGEST_SUM = 65535,
	EIGHTHS = 8,
	FREE_BLOCKS = 2,	/* that each range may bring ahead in vain */
	MOST_BLOCKS = 4000,	/* of credit */
	RESIDENT_PASSED = 4,	/* blocks of a walk */
	CHANCES = 16,		/* of which one is a check */
	WITH_FIRST = 2,		/* blocks with the first one of a range */
	UNCONFIRMED = 16,	/* such blocks of a GPU */
};

struct decision {
	const struct uvmp_prefetch_params *params;
	const struct uvmp_prefetch_facts *facts;
	struct naive_auto_block *b;
	struct naive_auto_range *r;
	struct naive_auto_processor *p;
	int64_t turn, price;
	bool is_part, is_opening;
};

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static bool has(const uvmp_mask *mask, unsigned page)
{
	return mask != NULL && (mask->word[page / 64] >> page % 64 & 1) != 0;
}

static int64_t count(const uvmp_mask *mask)
{
	int64_t pages = 0;

	for (unsigned page = 0; page < 512; page++)
		pages += has(mask, page);
	return pages;
}

/* -- prices and costs -- */

static void find_price(struct decision *d, int64_t evicted)
{
	int64_t most = (int64_t)d->params->auto_price * SIXTEENTHS, ago = evicted - d->b->left, room;
	struct naive_auto_processor *p = d->p;

	if (p->evicted == 0)
		p->departed = d->turn / 2;
	p->departed += evicted - p->evicted;
	p->evicted = evicted;
	/* m/x, at most auto_price */
	if (d->b->gone > 0)
		p->worth += d->b->gone * (ago == 0 ? most : least(most, d->turn * SIXTEENTHS / ago));
	d->b->gone = 0;
	d->b->left = 0;
	if (p->departed > d->turn * 2) {
		p->departed /= 2;
		p->worth /= 2;
	}
	room = least(p->worth / (p->departed + 1), most);
	d->price = SIXTEENTHS + (most == SIXTEENTHS ? 0 : room);
}

/* Twelve copies, if nothing else is said. */
static int64_t fault_cost(const struct decision *d)
{
	return d->params->auto_fault == 0 ? 12 : d->params->auto_fault;
}

static int64_t copies(const struct decision *d, int64_t pages)
{
	return pages * d->price / SIXTEENTHS;
}

static int64_t whole_cost(const struct decision *d)
{
	return fault_cost(d) + copies(d, d->facts->block.pages);
}

/* -1: not known. */
static int64_t mean_cost(const struct decision *d, enum naive_auto_mode mode)
{
	if (mode == NAIVE_WHOLE)
		return whole_cost(d);
	if (d->r->seen[mode] < MEAN_OF)
		return -1;
	return d->r->mean[mode].fixed + copies(d, d->r->mean[mode].pages);
}

/* -- modes -- */

static void change(struct decision *d, enum naive_auto_mode mode)
{
	struct naive_auto_range *r = d->r;

	r->has_changed = true;
	r->mode = mode;
	r->is_filling = mode != NAIVE_WHOLE;
	r->full_at = d->p->time + d->turn;
	r->hold_until = d->p->time + 2 * d->turn;
	if (mode == NAIVE_WHOLE) {
		r->patience = r->patience == 0 ? 1 : least(2 * r->patience, LONGEST_HOLD);
		r->hold_until = d->p->time + r->patience * d->turn;
		r->seen[NAIVE_DENSE] = r->seen[NAIVE_SPARSE] = 0;
	}
	r->stays = r->sum.pages = r->sum.fixed = 0;
	r->gap = 0;
}

/* To the cheapest mode, if it is cheaper by a fifth than the present one; unknown costs are infinite. */
static void compare(struct decision *d)
{
	struct naive_auto_range *r = d->r;
	int64_t now = mean_cost(d, r->mode), cheapest = now < 0 ? INT64_MAX : now / 5 * 4;
	enum naive_auto_mode best = r->mode;

	if (r->has_changed && d->p->time < r->hold_until)
		return;
	for (int mode = NAIVE_WHOLE; mode <= NAIVE_SPARSE; mode++) {
		int64_t cost = mean_cost(d, (enum naive_auto_mode)mode);

		if (mode != (int)r->mode && cost >= 0 && cost < cheapest) {
			cheapest = cost;
			best = (enum naive_auto_mode)mode;
		}
	}
	if (best != r->mode)
		change(d, best);
}

/* -- probes -- */

static int64_t range_time(const struct decision *d)
{
	return d->p->time - d->r->own + d->r->begun;
}

static void end_probe(struct decision *d, struct naive_auto_probe *probe)
{
	struct naive_auto_range *r = d->r;
	struct naive_auto_cost *mean = &r->mean[probe->mode];
	enum naive_auto_mode before = r->mode, mode = probe->mode;

	probe->mode = NAIVE_WHOLE;
	if (r->seen[mode] == 0) {
		*mean = probe->cost;
	} else {
		mean->pages = (3 * mean->pages + probe->cost.pages) / 4;
		mean->fixed = (3 * mean->fixed + probe->cost.fixed) / 4;
	}
	for (int i = NAIVE_DENSE; i <= NAIVE_SPARSE && r->seen[mode] == COUNTED; i++) {
		int other = i == NAIVE_DENSE ? NAIVE_DENSE + NAIVE_SPARSE - (int)mode : (int)mode;

		if (r->seen[other] / 2 >= MEAN_OF)
			r->seen[other] /= 2;
	}
	r->seen[mode]++;
	compare(d);
	if (r->mode == before)
		r->gap = least(2 * r->gap, d->params->auto_gap);
}

static bool looks_scanned(const struct decision *d)
{
	const struct naive_auto_cost *dense = &d->r->mean[NAIVE_DENSE];

	return dense->pages >= d->facts->block.pages / 16 * 15 &&
	       dense->fixed < 14 * fault_cost(d) + dense->pages / 4;
}

static enum naive_auto_mode next_probe(const struct decision *d)
{
	const struct naive_auto_range *r = d->r;

	if (r->mode == NAIVE_DENSE)
		return NAIVE_SPARSE;
	if (r->mode == NAIVE_SPARSE)
		return NAIVE_DENSE;
	if (r->seen[NAIVE_DENSE] < MEAN_OF)
		return NAIVE_DENSE;
	return r->seen[NAIVE_DENSE] > r->seen[NAIVE_SPARSE] && !looks_scanned(d) ? NAIVE_SPARSE : NAIVE_DENSE;
}

static void maybe_probe(struct decision *d)
{
	struct naive_auto_range *r = d->r;
	int64_t gap = d->params->auto_gap;

	if (gap == 0)
		return;
	if (r->gap == 0 && r->mode == NAIVE_WHOLE && r->patience == 0 && r->since < least(gap, YOUNG_STAYS)) {
		r->since++;
		return;
	}
	if (r->gap == 0)
		r->gap = r->since = least(gap, FIRST_GAP); /* at once */
	r->since++;
	for (int i = 0; i < 3 && r->since >= r->gap; i++) {
		if (r->probe[i].mode == NAIVE_WHOLE) {
			r->probe[i].mode = d->b->mode = next_probe(d);
			r->probe[i].begun = d->b->begun;
			r->probe[i].cost.pages = r->probe[i].cost.fixed = 0;
			d->b->probe = i;
			r->since = 0;
			return;
		}
	}
	if (r->since >= r->gap) /* no place: the next stay */
		r->since = r->gap - 1;
}

/* -- stays -- */

static void begin(struct decision *d)
{
	struct naive_auto_block stay = {
	        .is_known = true, .mode = d->r->mode, .begun = range_time(d), .probe = -1};

	*d->b = stay;
	d->r->begun += d->facts->block.pages;
	if (d->is_part)
		return;
	maybe_probe(d);
	if (d->b->probe < 0 && d->r->mode != NAIVE_WHOLE)
		d->r->stays++;
}

static void note_size(struct decision *d)
{
	int64_t size = (d->facts->block.pages + 1) / 2 - 1;

	d->is_part = size < d->r->largest;
	if (size > d->r->largest) {
		d->r->largest = size;
		d->r->seen[NAIVE_DENSE] = d->r->seen[NAIVE_SPARSE] = 0;
		for (int i = 0; i < 3; i++)
			d->r->probe[i].mode = NAIVE_WHOLE;
	}
}

/* The first mode is dense in a memory of 15 blocks or fewer, if the mean of the pages that fault together is below two,
 * and a block costs eight services or more. */
static void choose_first_mode(struct decision *d)
{
	if (d->r->is_old)
		return;
	d->r->is_old = true;
	if (d->turn / d->facts->block.pages <= 15 && d->params->auto_gap > 0 && d->p->together < 2 * d->p->alone &&
	    8 * fault_cost(d) <= d->facts->block.pages)
		change(d, NAIVE_DENSE);
}

static void before(struct decision *d)
{
	struct naive_auto_block *b = d->b;

	choose_first_mode(d);
	note_size(d);
	for (int i = 0; i < 3; i++)
		if (!d->is_part && d->r->probe[i].mode != NAIVE_WHOLE && range_time(d) >= d->r->probe[i].begun + d->turn)
			end_probe(d, &d->r->probe[i]);
	if (!b->is_known || range_time(d) >= b->begun + d->turn ||
	    (b->mode == NAIVE_WHOLE && count(d->facts->resident) == 0))
		begin(d);
}

static void charge_own(struct decision *d, const struct naive_auto_cost *cost)
{
	struct naive_auto_range *r = d->r;

	r->sum.pages += cost->pages;
	r->sum.fixed += cost->fixed;
	if (r->is_filling && d->p->time >= r->full_at) {
		r->is_filling = false;
		r->stays = r->sum.pages = r->sum.fixed = 0;
	}
	if (!r->is_filling && r->stays >= OWN_STAYS) {
		r->mean[r->mode].pages = least(r->sum.pages / r->stays, LARGEST_SUM);
		r->mean[r->mode].fixed = least(r->sum.fixed / r->stays, LARGEST_SUM);
		r->seen[r->mode] = OWN_STAYS;
		compare(d);
	}
	if (r->stays >= OWN_HALVED) {
		r->stays /= 2;
		r->sum.pages /= 2;
		r->sum.fixed /= 2;
	}
}

static void charge_probe(struct decision *d, const struct naive_auto_cost *cost, bool is_complete)
{
	struct naive_auto_probe *probe = &d->r->probe[d->b->probe];

	if (probe->mode == NAIVE_WHOLE || probe->begun != d->b->begun)
		return; /* it has ended */
	probe->cost.pages = least(probe->cost.pages + cost->pages, LARGEST_SUM);
	probe->cost.fixed = least(probe->cost.fixed + cost->fixed, LARGEST_SUM);
	if (!is_complete && d->b->spent < whole_cost(d))
		return;
	if (probe->cost.pages < d->facts->block.pages)
		probe->cost.pages = d->facts->block.pages;
	end_probe(d, probe);
}

static void after(struct decision *d, const struct naive_density *out)
{
	int64_t pages = 0, resident = count(d->facts->resident);
	struct naive_auto_cost cost;

	for (unsigned p = 0; p < 512; p++)
		pages += !has(d->facts->resident, p) &&
		         (has(d->facts->faulted, p) || (out->to != UVMP_PROC_NONE && out->pages[p]));
	d->p->time += pages;
	d->r->own += pages;
	if (d->b->mode == NAIVE_WHOLE)
		return;
	cost.pages = pages;
	cost.fixed = fault_cost(d) + pages / 4;
	d->b->spent = least(d->b->spent + cost.fixed + copies(d, pages), LARGEST_SUM);
	if (d->b->probe >= 0) {
		charge_probe(d, &cost, resident + pages >= d->facts->block.pages);
	} else if (d->b->mode == d->r->mode && !d->is_part) {
		if (d->b->spent >= whole_cost(d)) /* the others will come */
			cost.pages = d->facts->block.pages - resident;
		charge_own(d, &cost);
	}
	if (d->b->spent >= whole_cost(d))
		d->b->mode = NAIVE_WHOLE;
}

/* Services of blocks without pages, and what faulted in them; both are halved at 64 services. */
static void note_group(struct decision *d)
{
	d->p->together += count(d->facts->faulted);
	d->p->alone++;
	if (d->p->alone < 64)
		return;
	d->p->together /= 2;
	d->p->alone = 32;
}

/* Ranges below four blocks have one state together. */
static struct naive_auto_range *state_of(const struct naive_auto *own, const struct uvmp_prefetch_facts *facts)
{
	return facts->range_pages <= 4 * 512 - 1 ? &own->processor->small : own->range;
}

/* -- blocks ahead -- */

static int64_t blocks_of_memory(const struct decision *d)
{
	return d->turn / d->facts->block.pages;
}

/* How many blocks the stream that goes on with this fault may bring; 0: it begins. The blocks that it has brought are credited, and
 * an eighth of a block for each of them and for this one is earned. */
static int64_t stream_degree(struct decision *d)
{
	struct naive_auto_block *b = d->b;
	bool goes_on = b->is_expected && d->p->time - b->expected_at < d->turn / 8;
	int64_t most = d->facts->memory.fits ? MOST_BLOCKS : least(blocks_of_memory(d) / 8, MOST_BLOCKS);

	b->is_expected = false;
	if (!goes_on)
		return 0;
	d->r->earned = least((FREE_BLOCKS + b->came) * EIGHTHS + d->r->earned + b->came + 1, most * EIGHTHS) -
	               FREE_BLOCKS * EIGHTHS;
	d->p->opened -= least(d->p->opened, b->came);
	return b->degree;
}

/* How many blocks come with the first one of a range: as many as memory has room for, two at most. */
static int64_t open_range(struct decision *d, int64_t most)
{
	int64_t time = d->p->time & 0xffffffff; /* here, a time that has wrapped brings room */
	int64_t room = time > d->turn ? 0 : (d->turn - time) / d->facts->block.pages;

	return least(least(WITH_FIRST, most), least(room, UNCONFIRMED - d->p->opened));
}

/* Does the answer go on with the next block? */
static bool starts_walk(struct decision *d, int64_t degree)
{
	struct naive_auto_range *r = d->r;
	bool is_early = d->facts->memory.fits || d->is_opening;
	int64_t most = least(d->params->auto_ahead, blocks_of_memory(d) / (is_early ? 4 : 16));
	int64_t affordable = (FREE_BLOCKS * EIGHTHS + r->earned) / EIGHTHS;
	bool is_last = d->facts->range_first + d->facts->block.pages == d->facts->range_pages;

	if (most == 0 || r->mode != NAIVE_WHOLE || is_last)
		return false;
	if (d->facts->memory.fits && degree > 0)
		degree = most;
	degree = d->is_opening ? open_range(d, most) : least(degree, most);
	r->passed = r->came = r->to_bring = 0;
	r->degree = degree == 0 ? 1 : least(most, degree * 2);
	degree = d->is_opening ? degree : least(degree, affordable);
	if (degree == 0 || d->b->mode != NAIVE_WHOLE) /* a probe brings nothing ahead */
		return true;
	r->chances = (r->chances + 1) % CHANCES;
	if (r->chances == 0)
		return true;
	r->to_bring = degree;
	if (d->is_opening) {
		r->earned += degree * EIGHTHS;
		d->p->opened += degree;
	}
	return true;
}

static void come_ahead(struct decision *d, bool pages[512])
{
	const struct uvmp_prefetch_facts *f = d->facts;
	bool is_elsewhere = f->has_preferred && f->preferred != f->to;
	int64_t came = 0;

	d->r->to_bring--;
	for (unsigned p = 0; p < f->block.pages && !is_elsewhere; p++) {
		pages[p] = !has(f->faulted, p) && !has(f->pending, p) && !has(f->thrashing, p);
		came += pages[p];
	}
	if (came == 0)
		return;
	if (d->b->gone > 0) {
		int64_t most = (int64_t)d->params->auto_price * SIXTEENTHS, ago = (int64_t)f->memory.evicted_pages - d->b->left;

		d->p->worth += d->b->gone * (ago == 0 ? most : least(most, d->turn * SIXTEENTHS / ago));
	}
	*d->b = (struct naive_auto_block){.is_known = true, .begun = range_time(d), .probe = -1};
	d->r->begun += f->block.pages; /* a stay like others */
	d->r->own += came;
	d->p->time += came;
	d->r->came++;
	d->r->earned -= EIGHTHS;
}

enum uvmp_rule naive_auto_follow(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
                                          const struct naive_auto *own, bool pages[512], bool *goes_on)
{
	struct decision d = {
	        .params = params, .facts = facts, .b = own->block, .r = state_of(own, facts), .p = own->processor};
	int64_t came;

	memset(pages, 0, 512 * sizeof(bool));
	*goes_on = false;
	if (facts->to == UVMP_CPU || own->block == NULL || facts->memory.pages == 0)
		return UVMP_RULE_NONE;
	d.turn = facts->memory.pages < LARGEST_TURN ? (int64_t)facts->memory.pages : LARGEST_TURN;
	*goes_on = facts->range_first + facts->block.pages < facts->range_pages;
	came = d.r->came;
	if (count(facts->resident) != 0) {
		*goes_on = *goes_on && d.r->passed < RESIDENT_PASSED;
		d.r->passed++;
	} else if (d.r->to_bring > 0) {
		come_ahead(&d, pages);
	} else {
		*goes_on = false;
		d.b->is_known = false;
		d.b->is_expected = true;
		d.b->expected_at = d.p->time;
		d.b->degree = d.r->degree;
		d.b->came = d.r->came;
	}
	return d.r->came > came ? UVMP_RULE_AHEAD : UVMP_RULE_NONE;
}

/* -- */

static void ask_density(const struct decision *d, uint32_t threshold, const struct uvmp_prefetch_state *state,
                        struct naive_density *out)
{
	struct uvmp_prefetch_params params = *d->params;

	params.threshold = threshold;
	naive_density(&params, d->facts, state, out);
}

/* What is not given depends on the frames: of one page, or larger. */
static uint32_t sparse(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts)
{
	if (params->auto_threshold > 0)
		return params->auto_threshold;
	return facts->memory.frame_pages == 1 ? 100 : 99;
}

static enum uvmp_rule rule(const struct decision *d)
{
	static const enum uvmp_rule rules[3][2] = {
	        {UVMP_RULE_WHOLE, UVMP_RULE_REST}, /* of what was a finer stay */
	        {UVMP_RULE_DENSE, UVMP_RULE_PROBE_DENSE},
	        {UVMP_RULE_SPARSE, UVMP_RULE_PROBE_SPARSE},
	};

	if (d->facts->memory.evicted_pages == 0)
		return UVMP_RULE_FITS;
	return rules[d->b->mode][d->b->mode == NAIVE_WHOLE ? d->b->spent > 0 : d->b->probe >= 0];
}

enum uvmp_rule
naive_auto_decide(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
                  const struct uvmp_prefetch_state *state, const struct naive_auto *own, struct naive_density *out,
                  bool *goes_on)
{
	struct decision d = {.params = params, .facts = facts, .b = own->block, .r = own->range, .p = own->processor};
	enum uvmp_rule chosen;
	int64_t degree = 0;

	*goes_on = false;
	if (facts->to == UVMP_CPU || own->block == NULL || facts->memory.pages == 0) {
		ask_density(&d, facts->to == UVMP_CPU ? 1 : params->threshold, state, out);
		return UVMP_RULE_NONE;
	}
	d.r = state_of(own, facts);
	d.turn = facts->memory.pages < LARGEST_TURN ? (int64_t)facts->memory.pages : LARGEST_TURN;
	if (count(facts->resident) == 0) {
		note_group(&d);
		degree = stream_degree(&d);
		d.is_opening = facts->range_first == 0 && !d.b->is_known && facts->memory.evicted_pages == 0 &&
		               (facts->memory.fits || d.r != own->range);
	}
	find_price(&d, (int64_t)facts->memory.evicted_pages);
	if (facts->memory.evicted_pages == 0)
		*d.b = (struct naive_auto_block){.is_known = true, .begun = range_time(&d), .probe = -1};
	else
		before(&d);
	chosen = rule(&d);
	ask_density(&d, d.b->mode == NAIVE_WHOLE    ? 1
	                : d.b->mode == NAIVE_DENSE ? params->threshold
	                                           : sparse(params, facts),
	            state, out);
	after(&d, out);
	*goes_on = count(facts->resident) == 0 && starts_walk(&d, degree);
	return chosen;
}

void naive_auto_departed(struct naive_auto_block *block, int64_t pages, int64_t evicted)
{
	block->gone = least(block->gone + pages, LARGEST_SUM);
	block->left = evicted;
}
