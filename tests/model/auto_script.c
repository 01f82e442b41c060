/* See auto_script.h. */
#include "model/auto_script.h"

#include <string.h>

#include "model/naive_auto_prefetch.h"
#include "prefetch/prefetch_auto_internal.h"

#define RANGES 3
#define BLOCKS 10 /* of a range, at most */
#define STEPS  1000

struct block {
	uvmp_mask resident, faulted, pending, thrashing;
	struct uvmp_block shape;
	uint32_t used; /* number of its last batch */
	struct auto_block own;
	struct uvmp_prefetch_state state;
	struct naive_auto_block naive;
	struct uvmp_prefetch_state naive_state; /* last_proc and faults */
	uint32_t first;				/* page of the range */
};

struct range {
	struct auto_range own;
	struct naive_auto_range naive;
	struct block block[BLOCKS];
	uint32_t blocks;
	uint64_t pages; /* more than those of the blocks, where the script shows a part */
};

struct script {
	const uint8_t *data;
	size_t size, at;
	struct uvmp_prefetch_params params;
	struct range range[RANGES];
	uint32_t ranges, batches, preferred, to;
	uint32_t frame;	 /* pages of a frame */
	bool has_pieces; /* units of 64 KiB leave, not blocks */
	bool fits;	 /* as the caller says, also after evictions */
	bool is_dense;	 /* the program uses whole blocks now */
	struct auto_processor own;
	struct naive_auto_processor naive;
	uint64_t memory, evicted, resident;
	struct auto_script_stats *stats;
};

/* -- bytes -- */

/* Bytes behind the end read as 0. */
static uint32_t byte(struct script *s)
{
	return s->at < s->size ? s->data[s->at++] : 0;
}

static uint32_t in(struct script *s, uint32_t low, uint32_t high)
{
	uint32_t value = byte(s) << 8;

	return low + (value | byte(s)) % (high - low + 1);
}

static uint32_t one_of(struct script *s, uint32_t low, uint32_t high)
{
	return low + byte(s) % (high - low + 1);
}

/* -- the beginning -- */

static void open_block(struct script *s, struct block *block, uint32_t pages, uint32_t offset, uint32_t big_pages)
{
	uint32_t flags = byte(s);

	(void)uvmp_block_from_shape(pages, offset, big_pages, &block->shape);
	uvmp_prefetch_state_init(&block->state);
	uvmp_prefetch_state_init(&block->naive_state);
	if (flags % 16 != 0)
		block->state.block = &block->own;
	block->state.processor = &s->own;
	if (flags / 16 == 1)
		uvmp_mask_set(&block->thrashing, flags % pages);
	block->naive.probe = -1;
}

static void open_range(struct script *s, struct range *range, uint32_t block_pages, uint32_t big_pages)
{
	static const uint64_t more[] = {0, 0, 0, 1, 512, 2047, 2048, 100000};
	uint32_t flags = byte(s);

	range->own.checks = flags / 16 & 15u;
	range->naive.chances = range->own.checks;
	range->blocks = one_of(s, 1, BLOCKS);
	for (uint32_t b = 0; b < range->blocks; b++) {
		uint32_t pages = block_pages, offset = 0;

		if (b == 0 && byte(s) % 3 == 0) { /* the range begins inside a block */
			pages = in(s, 1, block_pages);
			offset = (block_pages - pages) % big_pages;
		} else if (b + 1 == range->blocks && byte(s) % 2 == 0) {
			pages = in(s, 1, block_pages);
		}
		open_block(s, &range->block[b], pages, offset, big_pages);
		range->block[b].state.range = &range->own;
		range->block[b].first = (uint32_t)range->pages;
		range->pages += pages;
	}
	range->pages += more[flags % 8];
}

static void open_params(struct script *s, bool is_large)
{
	static const uint32_t gaps[] = {64, 0, 1, 2, 4, 8, 255, 64};

	uvmp_prefetch_params_init(&s->params, UVMP_PREFETCH_AUTO);
	s->params.auto_fault = is_large ? 1 : 0;
	s->params.auto_gap = gaps[byte(s) % 8];
	s->params.auto_ahead = one_of(s, 0, 8);
	if (byte(s) % 2 == 0)
		return;
	s->params.threshold = one_of(s, 1, 100);
	s->params.auto_threshold = one_of(s, 0, 100);
	s->params.auto_fault = in(s, 0, 256);
	s->params.auto_price = one_of(s, 1, 16);
	s->params.min_faults = 1 + one_of(s, 0, 15) % 5;
	s->params.quirks = byte(s) % 2 == 0;
}

static void open(struct script *s)
{
	static const uint64_t times[] = {0, 0x7fffff00u, 0xffffff00u, 0xfffff000u};
	static const uint64_t memories[] = {1,   7,    20,   300, 600,   1000,     1500,     2500,
	                                    512, 1024, 2048, 800, 33333, 1u << 24, 1u << 26, 0};
	uint32_t flags = byte(s), block_pages = flags % 4 == 0 ? 32 : 512, big_pages = flags % 4 == 0 ? 1 : 16, past;
	uint64_t time = times[flags / 4 % 4];

	open_params(s, flags % 4 == 0);
	s->frame = flags / 8 % 3; /* 0, 1 or more */
	s->has_pieces = flags / 16 % 2 != 0;
	s->memory = memories[flags / 32 % 8 + (byte(s) % 4 == 0 ? 8 : 0)];
	if (block_pages == 32)
		s->memory = s->memory / 16 + (s->memory != 0);
	s->own.time = (uint32_t)time;
	s->naive.time = (int64_t)time;
	past = byte(s);
	s->fits = past / 4 % 2 != 0;
	s->own.opened = flags / 16 & 15u;
	s->naive.opened = s->own.opened;
	s->own.small.checks = past / 16 & 15u;
	s->naive.small.chances = s->own.small.checks;
	if (past % 4 == 0)
		s->evicted = times[one_of(s, 0, 3)];
	s->ranges = one_of(s, 1, RANGES);
	s->preferred = UVMP_PROC_NONE;
	for (uint32_t i = 0; i < s->ranges; i++)
		open_range(s, &s->range[i], block_pages, big_pages);
}

/* -- decisions -- */

static bool same_range(const struct auto_range *own, const struct naive_auto_range *naive)
{
	bool agrees = own->mode == (uint32_t)naive->mode && own->gap == naive->gap && own->since == naive->since &&
	              own->patience == naive->patience && own->largest == naive->largest && own->stays == naive->stays &&
	              own->is_filling == naive->is_filling && own->pages == naive->sum.pages &&
	              own->fixed == naive->sum.fixed && own->credit == naive->earned && own->checks == naive->chances &&
	              own->walk.budget == naive->to_bring && own->walk.passed == naive->passed &&
	              own->walk.degree == naive->degree && own->walk.came == naive->came && own->has_begun == naive->is_old;

	for (int i = 0; i < 2; i++) {
		agrees = agrees && own->seen[i] == naive->seen[i + 1] && own->mean[i].pages == naive->mean[i + 1].pages &&
		         own->mean[i].fixed == naive->mean[i + 1].fixed;
	}
	for (int i = 0; i < 3; i++)
		agrees = agrees && own->probing[i] == (uint32_t)naive->probe[i].mode;
	return agrees;
}

static bool same_block(const struct auto_block *own, const struct naive_auto_block *naive)
{
	return own->is_known == naive->is_known && own->mode == (uint32_t)naive->mode && own->spent == naive->spent &&
	       own->departed == naive->gone && own->degree == (naive->is_expected ? naive->degree : 0) &&
	       own->begun == (uint32_t)(naive->is_expected ? naive->expected_at : naive->begun) &&
	       (!own->is_known || own->probe == (naive->probe < 0 ? 3 : naive->probe));
}

/* The states that decide in the range. */
static const struct auto_range *own_state(const struct script *s, const struct range *range)
{
	return range->pages < 2048 ? &s->own.small : &range->own;
}

static bool same(const struct script *s, const struct range *range, const struct block *block)
{
	return block->state.last_proc == block->naive_state.last_proc && block->state.faults == block->naive_state.faults &&
	       same_range(&range->own, &range->naive) && same_range(&s->own.small, &s->naive.small) &&
	       same_block(&block->own, &block->naive) &&
	       s->own.opened == s->naive.opened &&
	       s->own.time == (uint32_t)s->naive.time && s->own.departed == (uint64_t)s->naive.departed &&
	       s->own.worth == (uint64_t)s->naive.worth;
}

static void note(struct script *s, const struct range *range, const struct block *block)
{
	struct auto_script_stats *stats = s->stats;
	const struct auto_range *own = own_state(s, range);
	const uint8_t *state = (const uint8_t *)own;

	stats->small += own != &range->own;

	stats->density += block->state.block == NULL || s->to == UVMP_CPU || s->memory == 0;
	stats->decisions[block->own.mode]++;
	stats->modes[own->mode]++;
	stats->parts += own->largest > (block->shape.pages - 1) / 2;
	stats->patience += own->patience > 1;
	stats->wraps += s->naive.time >> 32 != 0;
	stats->fits += s->fits && own->walk.budget == 0 && own->walk.came > 1;
	stats->credits += s->fits && own->credit > (int)(s->memory / block->shape.pages);
	stats->prices += s->own.worth > s->own.departed;
	stats->opened += s->own.opened != 0;
	stats->opened_most += s->own.opened == 16;
	for (int i = 0; i < 3; i++)
		stats->probes += own->probing[i] != 0;
	for (size_t i = 0; i < sizeof(*own); i++)
		stats->digest = stats->digest * 31 + state[i];
	for (int i = 0; i < 8; i++)
		stats->digest = stats->digest * 31 + block->resident.word[i];
}

static struct uvmp_prefetch_facts facts_of(const struct script *s, const struct range *range, const struct block *block)
{
	return (struct uvmp_prefetch_facts){
	        .block = block->shape,
	        .faulted = &block->faulted,
	        .faulted_region = uvmp_mask_bounds(&block->faulted),
	        .resident = uvmp_mask_is_empty(&block->resident) ? NULL : &block->resident,
	        .pending = &block->pending,
	        .thrashing = uvmp_mask_is_empty(&block->thrashing) ? NULL : &block->thrashing,
	        .to = s->to,
	        .has_preferred = s->preferred != UVMP_PROC_NONE,
	        .preferred = s->preferred,
	        .range_first = block->first,
	        .range_pages = range->pages,
	        .memory = {s->to == UVMP_CPU ? 0 : s->memory, s->to == UVMP_CPU ? 0 : s->evicted, s->frame, s->fits}};
}

static struct naive_auto naive_of(struct script *s, struct range *range, struct block *block)
{
	return (struct naive_auto){block->state.block != NULL ? &block->naive : NULL, &range->naive, &s->naive};
}

static void arrive(struct script *s, struct block *block, const struct uvmp_prefetch_hint *hint)
{
	if (s->to == UVMP_CPU)
		return;
	s->resident -= uvmp_mask_weight(&block->resident);
	uvmp_mask_or(&block->resident, &block->resident, &block->faulted);
	if (hint->to != UVMP_PROC_NONE)
		uvmp_mask_or(&block->resident, &block->resident, &hint->pages);
	s->resident += uvmp_mask_weight(&block->resident);
}

/* NULL: the script does not show it. */
static struct block *block_after(struct range *range, const struct block *block)
{
	uint32_t next = (uint32_t)(block - range->block) + 1;

	return next < range->blocks ? &range->block[next] : NULL;
}

static bool is_same_follow(const struct range *range, const struct block *block, const struct uvmp_prefetch_hint *hint,
			   bool goes_on)
{
	return goes_on ? block->first + block->shape.pages < range->pages && hint->follow == block->first + block->shape.pages
		       : hint->follow == UVMP_PAGE_NONE;
}

/* A block that follows, and those that follow it; single pages of some of them fault in the same batch. */
static bool follow(struct script *s, struct range *range, struct block *block)
{
	struct uvmp_prefetch_hint hint = {.follow = 0};
	bool pages[512], goes_on = true;

	for (uint32_t i = 0; goes_on && block != NULL; i++) {
		struct naive_auto naive = naive_of(s, range, block);
		struct uvmp_prefetch_facts facts;
		enum uvmp_rule rule;

		uvmp_mask_zero(&block->faulted);
		if (i % 4 == 3 && !uvmp_mask_test(&block->resident, 0))
			uvmp_mask_set(&block->faulted, 0);
		uvmp_mask_zero(&block->pending);
		facts = facts_of(s, range, block);
		facts.is_follow = true;
		rule = naive_auto_follow(&s->params, &facts, &naive, pages, &goes_on);
		if (uvmp_prefetch_decide(&s->params, &facts, &block->state, &hint) != UVMP_OK || hint.rule != (uint32_t)rule ||
		    !is_same_follow(range, block, &hint, goes_on))
			return false;
		for (unsigned p = 0; p < 512; p++)
			if (uvmp_mask_test(&hint.pages, p) != pages[p])
				return false;
		if (!same(s, range, block))
			return false;
		uvmp_mask_zero(&block->faulted); /* they are serviced later */
		arrive(s, block, &hint);
		if (rule == UVMP_RULE_AHEAD)
			block->used = s->batches;
		s->stats->ahead += rule == UVMP_RULE_AHEAD;
		s->stats->chains += i == 1 && rule == UVMP_RULE_AHEAD;
		block = block_after(range, block);
	}
	return true;
}

static bool decide(struct script *s, struct range *range, struct block *block)
{
	struct uvmp_prefetch_facts facts = facts_of(s, range, block);
	struct naive_auto naive = naive_of(s, range, block);
	struct naive_density out;
	struct uvmp_prefetch_hint hint;
	uint32_t checks = own_state(s, range)->checks;
	bool goes_on;
	enum uvmp_rule rule = naive_auto_decide(&s->params, &facts, &block->naive_state, &naive, &out, &goes_on);

	block->naive_state.last_proc = out.last_proc;
	block->naive_state.faults = (uint16_t)out.faults;
	if (uvmp_prefetch_decide(&s->params, &facts, &block->state, &hint) != UVMP_OK || hint.to != out.to ||
	    hint.rule != (uint32_t)rule || !is_same_follow(range, block, &hint, goes_on))
		return false;
	for (unsigned p = 0; p < 512; p++)
		if (uvmp_mask_test(&hint.pages, p) != out.pages[p])
			return false;
	if (!same(s, range, block))
		return false;
	arrive(s, block, &hint);
	note(s, range, block);
	s->stats->checks += own_state(s, range)->checks < checks;
	return !goes_on || follow(s, range, block_after(range, block));
}

/* -- commands -- */

static void leave(struct script *s, struct block *block, struct uvmp_region pages)
{
	uvmp_mask gone;
	struct uvmp_prefetch_departure departure = {.gone = &gone, .processor = 1};

	uvmp_mask_zero(&gone);
	uvmp_mask_region_set(&gone, pages);
	uvmp_mask_and(&gone, &gone, &block->resident);
	uvmp_mask_andnot(&block->resident, &block->resident, &gone);
	s->resident -= uvmp_mask_weight(&gone);
	s->evicted += uvmp_mask_weight(&gone);
	departure.evicted_pages = s->evicted;
	(void)uvmp_prefetch_left(UVMP_PREFETCH_AUTO, block->state.block, &departure);
	if (block->state.block != NULL)
		naive_auto_departed(&block->naive, uvmp_mask_weight(&gone), (int64_t)s->evicted);
}

static struct block *oldest(struct script *s)
{
	struct block *found = NULL;

	for (uint32_t i = 0; i < s->ranges; i++) {
		for (uint32_t b = 0; b < s->range[i].blocks; b++) {
			struct block *block = &s->range[i].block[b];

			if (!uvmp_mask_is_empty(&block->resident) && (found == NULL || block->used < found->used))
				found = block;
		}
	}
	return found;
}

/* Until memory holds what is resident. */
static void make_room(struct script *s)
{
	while (s->memory != 0 && s->resident > s->memory) {
		struct block *block = oldest(s);
		struct uvmp_region pages = {0, UVMP_MASK_BITS};

		if (s->has_pieces) {
			pages.first = uvmp_mask_bounds(&block->resident).first / 16 * 16;
			pages.end = pages.first + 16;
		}
		leave(s, block, pages);
	}
}

/* `most` pages, or those of them that are not there. */
static bool fault_pages(struct script *s, struct range *range, struct block *block, uint32_t first, uint32_t step, uint32_t most)
{
	uvmp_mask_zero(&block->faulted);
	for (uint32_t page = first; most > 0 && page < block->shape.pages; page += step, most--)
		if (!uvmp_mask_test(&block->resident, page))
			uvmp_mask_set(&block->faulted, page);
	if (uvmp_mask_is_empty(&block->faulted))
		return true;
	block->used = ++s->batches;
	if (!decide(s, range, block))
		return false;
	make_room(s);
	return true;
}

/* Pages of one block: runs, single pages, or all. */
static bool fault(struct script *s, uint32_t kind)
{
	struct range *range = &s->range[byte(s) % s->ranges];
	struct block *block = &range->block[byte(s) % range->blocks];
	uint32_t first = in(s, 0, block->shape.pages - 1), step = kind % 4 == 0 ? 1 : one_of(s, 1, 64);
	uint32_t most = kind % 4 == 1 ? 512 : one_of(s, 1, 8);

	s->to = kind / 4 % 16 == 0 ? UVMP_CPU : 1;
	s->preferred = kind / 4 % 16 == 1 ? 2 : UVMP_PROC_NONE;
	uvmp_mask_zero(&block->pending);
	if (kind / 4 % 16 == 2 && !uvmp_mask_test(&block->resident, 0))
		uvmp_mask_set(&block->pending, 0);
	if (!s->is_dense || s->to == UVMP_CPU)
		return fault_pages(s, range, block, first, step, s->is_dense || s->ranges == 1 ? most : 1);
	for (first = first % 16; first < block->shape.pages; first += 16) /* one after another */
		if (!fault_pages(s, range, block, first, 1, 1))
			return false;
	return true;
}

/* From a block to the end of its range: the first pages of each fault. */
static bool stream(struct script *s)
{
	struct range *range = &s->range[byte(s) % s->ranges];

	s->to = 1;
	s->preferred = UVMP_PROC_NONE;
	for (uint32_t b = byte(s) % range->blocks; b < range->blocks; b++) {
		uvmp_mask_zero(&range->block[b].pending);
		if (!fault_pages(s, range, &range->block[b], 0, 1, 4))
			return false;
	}
	return true;
}

static void evict(struct script *s)
{
	struct range *range = &s->range[byte(s) % s->ranges];
	struct block *block = &range->block[byte(s) % range->blocks];
	uint32_t first = in(s, 0, 511);

	leave(s, block, (struct uvmp_region){first, 512});
}

/* Of ranges that the script does not show. All of them together are less than half of the range of times. */
static void elsewhere(struct script *s)
{
	uint32_t pages = in(s, 1, 65535) << (byte(s) % 8 == 0 ? 4 : 0);

	s->own.time += pages;
	s->naive.time += pages;
}

bool auto_script_agrees(const uint8_t *data, size_t size, struct auto_script_stats *stats)
{
	static struct script s;

	memset(&s, 0, sizeof(s));
	s.data = data;
	s.size = size;
	s.stats = stats;
	open(&s);
	for (uint32_t step = 0; step < STEPS && s.at < s.size; step++) {
		uint32_t kind = byte(&s);

		if (kind == 0)
			elsewhere(&s);
		else if (kind < 4)
			evict(&s);
		else if (kind == 5)
			s.fits = !s.fits;
		else if (kind < 8)
			s.is_dense = !s.is_dense && kind % 4 == 0;
		else if (kind < 16 && !stream(&s))
			return false;
		else if (kind < 16)
			continue;
		else if (!fault(&s, kind))
			return false;
	}
	return true;
}
