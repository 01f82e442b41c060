/* See prefetch_script.h. */
#include "model/prefetch_script.h"

#include <string.h>

#include "model/naive_density.h"
#include "model/naive_prefetch.h"
#include "prefetch/prefetch_states_internal.h"

#define BLOCKS 64u
#define STEPS  200u

struct block {
	uvmp_mask resident, faulted, pending, thrashing;
	struct pattern_block pattern;
	struct uvmp_region group;
	struct uvmp_prefetch_state state;
	/* the naive side */
	bool naive_pattern[512];
	struct uvmp_prefetch_state naive_state; /* last_proc and faults */
};

struct script {
	const uint8_t *data;
	size_t size, at;
	struct uvmp_prefetch_params params;
	uint32_t pages, block_pages, blocks, preferred, utlbs;
	uint32_t big_pages; /* 16, or 1: pages of 64 KiB */
	struct stride_range range;
	struct naive_streams streams;
	struct block block[BLOCKS];
	bool wanted[NAIVE_PAGES]; /* by the naive side, in this batch */
};

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

static uint32_t pages_of(const struct script *s, uint32_t b)
{
	uint32_t left = s->pages - b * s->block_pages;

	return left < s->block_pages ? left : s->block_pages;
}

static void open(struct script *s)
{
	uint32_t prefetcher = UVMP_PREFETCH_STRIDE + byte(s) % 4, flags;

	uvmp_prefetch_params_init(&s->params, (enum uvmp_prefetcher)prefetcher);
	s->block_pages = in(s, 1, 512);
	s->blocks = one_of(s, 1, BLOCKS);
	if (s->blocks * s->block_pages > NAIVE_PAGES)
		s->blocks = NAIVE_PAGES / s->block_pages;
	s->pages = s->blocks * s->block_pages - in(s, 0, s->block_pages - 1);
	s->params.stride_depth = one_of(s, 1, 64);
	s->params.stride_confidence = one_of(s, 1, 7);
	s->params.next_blocks = one_of(s, 1, 8);
	s->params.next_percent = one_of(s, 1, 100);
	s->params.shared_utlbs = one_of(s, 2, 5);
	s->params.shared_threshold = one_of(s, 1, 100);
	s->params.private_threshold = one_of(s, 1, 100);
	s->params.threshold = one_of(s, 1, 100);
	s->params.min_faults = 1 + one_of(s, 0, 15) % 5;
	s->preferred = UVMP_PROC_NONE;
	if (byte(s) % 8 == 0)
		s->preferred = 1 + s->params.threshold % 2;
	flags = byte(s);
	s->params.quirks = flags % 2 == 0;
	s->big_pages = s->block_pages <= 32 && flags / 2 % 2 == 0 ? 1 : 16;
	for (uint32_t b = 0; b < s->blocks; b++) {
		struct block *block = &s->block[b];

		uvmp_prefetch_state_init(&block->state);
		uvmp_prefetch_state_init(&block->naive_state);
		block->state.range = &s->range;
		if ((b + s->params.threshold) % 4 != 0)
			block->state.block = &block->pattern;
		block->group.end = 1 + s->params.private_threshold % pages_of(s, b);
	}
}

static struct uvmp_prefetch_facts facts_of(const struct script *s, uint32_t b, bool is_follow)
{
	const struct block *block = &s->block[b];
	struct uvmp_prefetch_facts facts = {
	        .faulted = &block->faulted,
	        .faulted_region = uvmp_mask_bounds(&block->faulted),
	        .resident = &block->resident,
	        .pending = &block->pending,
	        .thrashing = uvmp_mask_is_empty(&block->thrashing) ? NULL : &block->thrashing,
	        .to = 1,
	        .has_preferred = s->preferred != UVMP_PROC_NONE,
	        .preferred = s->preferred,
	        .range_group = &block->group,
	        .range_groups = (b + s->params.stride_depth) % 3 == 0,
	        .utlbs = s->utlbs,
	        .range_first = (uint64_t)b * s->block_pages,
	        .range_pages = s->pages,
	        .is_follow = is_follow,
	};

	(void)uvmp_block_from_shape(pages_of(s, b), 0, s->big_pages, &facts.block);
	return facts;
}

/* -- the naive side -- */

static void naive_density_of(struct script *s, uint32_t b, unsigned threshold,
                             const struct uvmp_prefetch_facts *facts, bool asked[512])
{
	struct uvmp_prefetch_params params = s->params;
	struct naive_density out;

	params.threshold = threshold;
	naive_density(&params, facts, &s->block[b].naive_state, &out);
	s->block[b].naive_state.last_proc = out.last_proc;
	s->block[b].naive_state.faults = (uint16_t)out.faults;
	for (unsigned p = 0; p < 512; p++)
		asked[p] = out.pages[p] && out.to == 1;
}

/* All pages of a block that may come. */
static void naive_rest(struct script *s, uint32_t b)
{
	struct uvmp_prefetch_facts facts = facts_of(s, b, true);

	for (unsigned p = 0; p < pages_of(s, b); p++)
		s->wanted[b * s->block_pages + p] |= naive_admits(&facts, p);
}

static void naive_strides(struct script *s, uint32_t b)
{
	bool faulted[NAIVE_PAGES] = {false}, wanted[NAIVE_PAGES] = {false};
	long first = (long)(b * s->block_pages);

	for (uint32_t p = 0; p < s->pages; p++)
		faulted[p] = uvmp_mask_test(&s->block[p / s->block_pages].faulted, p % s->block_pages);
	naive_stride(&s->params, &s->streams, faulted, first, first + (long)pages_of(s, b), (long)s->pages,
	             wanted);
	for (uint32_t i = 0; i < s->blocks; i++) {
		struct uvmp_prefetch_facts facts = facts_of(s, i, false);

		for (uint32_t p = 0, page = i * s->block_pages; p < pages_of(s, i); p++, page++)
			s->wanted[page] |= wanted[page] && naive_admits(&facts, p);
	}
}

static void naive_decide(struct script *s, uint32_t b)
{
	struct uvmp_prefetch_facts facts = facts_of(s, b, false);
	struct block *block = &s->block[b];
	unsigned threshold = s->params.threshold;
	bool asked[512] = {false};

	if (s->params.prefetcher == UVMP_PREFETCH_STRIDE) {
		naive_strides(s, b);
		return;
	}
	if (s->params.prefetcher == UVMP_PREFETCH_SAFE)
		threshold = naive_safe(&s->params, s->utlbs);
	if (s->params.prefetcher != UVMP_PREFETCH_PATTERN || block->state.block == NULL ||
	    !naive_pattern_holds(&facts, block->naive_pattern, asked))
		naive_density_of(s, b, threshold, &facts, asked);
	for (unsigned p = 0; p < pages_of(s, b); p++)
		s->wanted[b * s->block_pages + p] |= asked[p];
	if (s->params.prefetcher == UVMP_PREFETCH_NEXT && naive_is_full(&s->params, &facts, asked))
		for (uint32_t i = b + 1; i <= b + s->params.next_blocks && i < s->blocks; i++)
			naive_rest(s, i);
}

/* -- the library -- */

/* Asks for one block and wherever that leads; false for an error or for questions without end. */
static bool decide(struct script *s, uint32_t b)
{
	uint32_t asked = 0, most = s->params.next_blocks;
	uint64_t follow;

	if (s->params.prefetcher == UVMP_PREFETCH_STRIDE)
		most = s->params.stride_depth;
	do {
		struct uvmp_prefetch_facts facts = facts_of(s, b, asked > 0);
		struct uvmp_prefetch_hint hint;

		if (uvmp_prefetch_decide(&s->params, &facts, &s->block[b].state, &hint) != UVMP_OK)
			return false;
		if (hint.to != UVMP_PROC_NONE)
			uvmp_mask_or(&s->block[b].pending, &s->block[b].pending, &hint.pages);
		follow = hint.follow;
		b = (uint32_t)(follow / s->block_pages);
		asked++;
	} while (follow != UVMP_PAGE_NONE && asked <= most);
	return follow == UVMP_PAGE_NONE;
}

/* -- both -- */

static bool same_streams(const struct script *s)
{
	if ((int)s->range.streams != s->streams.count)
		return false;
	for (uint32_t i = 0; i < s->range.streams; i++) {
		const struct naive_stream *naive = &s->streams.stream[s->range.streams - 1 - i];
		const struct stride_stream *stream = &s->range.stream[i];

		if ((long)stream->page != naive->page || stream->stride != naive->stride ||
		    (long)stream->confidence != naive->confidence)
			return false;
	}
	return true;
}

static bool same_block(const struct script *s, uint32_t b)
{
	const struct block *block = &s->block[b];

	for (unsigned p = 0; p < 512; p++)
		if (block->state.block != NULL &&
		    uvmp_mask_test(&block->pattern.pages, p) != block->naive_pattern[p])
			return false;
	for (unsigned p = 0; p < pages_of(s, b); p++)
		if (uvmp_mask_test(&block->pending, p) != s->wanted[b * s->block_pages + p])
			return false;
	return block->state.last_proc == block->naive_state.last_proc &&
	       block->state.faults == block->naive_state.faults;
}

/* A run of faults; pages that are there do not fault. */
static void fault(struct script *s)
{
	uint32_t page = in(s, 0, s->pages - 1), step = one_of(s, 1, 200), count = one_of(s, 1, 20);

	for (; count > 0 && page < s->pages; count--, page += step) {
		struct block *block = &s->block[page / s->block_pages];

		if (!uvmp_mask_test(&block->resident, page % s->block_pages))
			uvmp_mask_set(&block->faulted, page % s->block_pages);
	}
}

static bool batch(struct script *s, uint32_t kind)
{
	bool agrees = true;

	memset(s->wanted, 0, sizeof(s->wanted));
	s->utlbs = kind >> 3 & 7u;
	fault(s);
	if ((kind & 1) != 0)
		fault(s);
	/* The naive side first, block by block as the library: both look at the same pending pages. */
	for (uint32_t b = 0; b < s->blocks && agrees; b++) {
		if (uvmp_mask_is_empty(&s->block[b].faulted))
			continue;
		naive_decide(s, b);
		agrees = decide(s, b) && same_streams(s);
	}
	for (uint32_t b = 0; b < s->blocks && agrees; b++) {
		struct block *block = &s->block[b];

		agrees = same_block(s, b);
		uvmp_mask_or(&block->resident, &block->resident, &block->faulted);
		uvmp_mask_or(&block->resident, &block->resident, &block->pending);
		uvmp_mask_zero(&block->faulted);
		uvmp_mask_zero(&block->pending);
	}
	return agrees;
}

/* Some pages of a block were touched; all of it leaves, and some pages may bounce from now on. */
static void evict(struct script *s)
{
	uint32_t b = byte(s) % s->blocks, step = one_of(s, 1, 9), phase = byte(s);
	struct block *block = &s->block[b];
	uvmp_mask all, touched;

	uvmp_mask_zero(&touched);
	uvmp_mask_zero(&all);
	uvmp_mask_region_set(&all, (struct uvmp_region){0, UVMP_MASK_BITS});
	for (uint32_t p = 0; p < 512; p++) {
		block->naive_pattern[p] = uvmp_mask_test(&block->resident, p) && (p + phase) % step != 0;
		if (block->naive_pattern[p])
			uvmp_mask_set(&touched, p);
	}
	(void)uvmp_prefetch_left(UVMP_PREFETCH_PATTERN, block->state.block,
				 &(struct uvmp_prefetch_departure){.gone = &all, .touched = &touched, .processor = 1});
	uvmp_mask_zero(&block->resident);
	uvmp_mask_zero(&block->thrashing);
	if (byte(s) % 4 == 0)
		uvmp_mask_set(&block->thrashing, phase % pages_of(s, b));
}

bool prefetch_script_agrees(const uint8_t *data, size_t size)
{
	static struct script s;

	memset(&s, 0, sizeof(s));
	s.data = data;
	s.size = size;
	open(&s);
	for (uint32_t step = 0; step < STEPS && s.at < s.size; step++) {
		uint32_t kind = byte(&s);

		if (kind % 8 == 0)
			evict(&s);
		else if (!batch(&s, kind))
			return false;
	}
	return true;
}
