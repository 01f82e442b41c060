/* See forest_script.h. */
#include "model/forest_script.h"

#include <string.h>

#include "model/naive_density.h"
#include "model/naive_forest.h"
#include "model/naive_prefetch.h"
#include "prefetch/prefetch_states_internal.h"

#define BLOCK_BYTES 2097152L
#define BLOCKS	    12 /* that 4,096 pages of 4 KiB, or 256 of 64 KiB, touch at most */
#define STEPS	    150

struct block {
	uvmp_mask resident, faulted, pending, thrashing;
	struct uvmp_region group;
	struct forest_block own;
	struct uvmp_prefetch_state state;
	enum naive_forest_class was;
	struct uvmp_prefetch_state naive_state; /* last_proc and faults */
};

struct script {
	const uint8_t *data;
	size_t size, at;
	struct uvmp_prefetch_params params;
	struct naive_forest naive;
	struct forest_range range;
	struct block block[BLOCKS];
	bool faulted[NAIVE_FOREST_PAGES], resident[NAIVE_FOREST_PAGES], pending[NAIVE_FOREST_PAGES];
	uint32_t kernels, to, preferred;
	struct forest_script_stats *stats;
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

/* -- blocks -- */

static struct block *block_of(struct script *s, long page, long *first, long *end)
{
	naive_forest_block(&s->naive, page, first, end);
	return &s->block[(s->naive.first + page) / (BLOCK_BYTES / s->naive.page_bytes) -
	                 s->naive.first / (BLOCK_BYTES / s->naive.page_bytes)];
}

static void pack(const bool pages[NAIVE_FOREST_PAGES], long first, long end, uvmp_mask *mask)
{
	uvmp_mask_zero(mask);
	for (long p = first; p < end; p++)
		if (pages[p])
			uvmp_mask_set(mask, (uint32_t)(p - first));
}

static void fill_block(const struct script *s, long first, long end, struct uvmp_block *block)
{
	uint64_t bytes = (uint64_t)s->naive.page_bytes, start = (uint64_t)(s->naive.first + first);

	block->pages = (uint32_t)(end - first);
	block->big_pages = bytes == 4096 ? 16 : 1;
	block->offset = (uint32_t)(start % block->big_pages);
	block->start = start * bytes;
	block->last = block->start + block->pages * bytes - 1;
}

static struct uvmp_prefetch_facts facts_of(struct script *s, long page, bool is_follow)
{
	long first, end, window = BLOCK_BYTES / s->naive.page_bytes, other, from = 0, to = 0;
	struct block *block = block_of(s, page, &first, &end);
	struct uvmp_prefetch_facts facts = {
	        .faulted = &block->faulted,
	        .resident = &block->resident,
	        .pending = &block->pending,
	        .thrashing = uvmp_mask_is_empty(&block->thrashing) ? NULL : &block->thrashing,
	        .to = s->to,
	        .has_preferred = s->preferred != UVMP_PROC_NONE,
	        .preferred = s->preferred,
	        .range_group = &block->group,
	        .range_groups = block->group.end != 0,
	        .range_first = (uint64_t)(s->naive.before + first),
	        .range_pages = (uint64_t)s->naive.all,
	        .is_follow = is_follow,
	};

	pack(s->faulted, first, end, &block->faulted);
	pack(s->resident, first, end, &block->resident);
	pack(s->pending, first, end, &block->pending);
	facts.faulted_region = uvmp_mask_bounds(&block->faulted);
	fill_block(s, first, end, &facts.block);
	other = (s->naive.first + first) / window % 2 == 0 ? end : first - 1;
	if (other >= 0 && other < s->naive.pages)
		naive_forest_block(&s->naive, other, &from, &to);
	facts.neighbour_pages = (uint32_t)(to - from);
	for (; from < to; from++)
		facts.neighbour_present += s->resident[from];
	return facts;
}

static void open_blocks(struct script *s)
{
	long first, end = 0;

	for (long page = 0, b = 0; page < s->naive.pages; page = end, b++) {
		struct block *block = block_of(s, page, &first, &end);
		uint32_t flags = byte(s);

		uvmp_prefetch_state_init(&block->state);
		uvmp_prefetch_state_init(&block->naive_state);
		block->state.range = &s->range;
		if (flags % 8 != 0)
			block->state.block = &block->own;
		for (long p = first; p < end; p++)
			s->naive.is_unknown[p] = block->state.block == NULL;
		if (flags / 8 % 8 == 1)
			block->group.end = 1 + flags % (uint32_t)(end - first);
		if (flags / 8 % 8 == 2)
			uvmp_mask_set(&block->thrashing, flags % (uint32_t)(end - first));
	}
}

static void open(struct script *s)
{
	uint32_t flags = byte(s), is_large = flags % 4 == 0;
	static const uint32_t windows[] = {16, 32, 64, 200, 400};

	uvmp_prefetch_params_init(&s->params, UVMP_PREFETCH_FOREST);
	s->naive.page_bytes = is_large ? 65536 : 4096;
	s->naive.first = (long)in(s, 1024, 2047);
	s->naive.pages = (long)in(s, 1, is_large ? 256 : NAIVE_FOREST_PAGES);
	s->naive.all = s->naive.pages;
	if (flags / 4 % 4 == 0) {
		s->naive.before = (long)in(s, 0, 65535) * 16;
		s->naive.all += s->naive.before + (long)in(s, 0, 65535) * 16;
	}
	s->params.forest_window = windows[one_of(s, 0, 4)] + one_of(s, 0, 3);
	s->params.forest_linear = one_of(s, 1, 99);
	s->params.forest_coverage = one_of(s, 1, 100);
	s->params.forest_intensity = one_of(s, 1, 100);
	s->params.forest_rounds = one_of(s, 1, 4);
	s->params.threshold = one_of(s, 1, 100);
	s->params.quirks = flags / 16 % 2 == 0;
	s->preferred = UVMP_PROC_NONE;
	open_blocks(s);
}

/* -- both sides -- */

static bool same_range(const struct script *s)
{
	return s->range.class == s->naive.class && s->range.is_settled == s->naive.is_settled &&
	       s->range.rounds == s->naive.rounds && (long)s->range.time == s->naive.now &&
	       (long)s->range.pages == naive_forest_touched(&s->naive);
}

/* What the naive side fetches of the block; returns the page to follow, -1: none. */
static long naive_decide(struct script *s, const struct uvmp_prefetch_facts *facts, struct block *block, long first,
                         bool pages[512], uint32_t *to)
{
	bool there[NAIVE_FOREST_PAGES];
	long follow = -1, end = first + (long)facts->block.pages;
	struct naive_density out;

	if (!facts->is_follow && (facts->to == UVMP_CPU || (facts->has_preferred && facts->preferred != facts->to))) {
		naive_density(&s->params, facts, &block->naive_state, &out);
		block->naive_state.last_proc = out.last_proc;
		block->naive_state.faults = (uint16_t)out.faults;
		memcpy(pages, out.pages, sizeof(out.pages));
		*to = out.to;
		s->stats->density++;
		return -1;
	}
	for (long p = 0; p < s->naive.pages; p++)
		there[p] = s->resident[p] || s->pending[p] || s->faulted[p] || (facts->is_follow && p >= first && p < end);
	if (!facts->is_follow) {
		enum naive_forest_class was = block->state.block != NULL ? block->was : s->naive.class;

		s->stats->decisions[s->naive.class]++;
		s->stats->grown += was != s->naive.class;
		follow = naive_forest_grow(&s->naive, was, first, end, s->faulted, s->resident, there);
		block->was = s->naive.class;
	}
	*to = UVMP_PROC_NONE;
	for (unsigned p = 0; p < facts->block.pages; p++) {
		pages[p] = there[first + (long)p] && naive_admits(facts, p);
		*to = pages[p] ? facts->to : *to;
	}
	return follow;
}

/* Decides for the block of a page on both sides; *follow as the hint's, as page of the part. */
static bool decide(struct script *s, long page, bool is_follow, long *follow)
{
	struct uvmp_prefetch_facts facts = facts_of(s, page, is_follow);
	struct uvmp_prefetch_hint hint;
	bool pages[512] = {false};
	long first, end, naive_follow;
	struct block *block = block_of(s, page, &first, &end);
	uint32_t to;

	naive_follow = naive_decide(s, &facts, block, first, pages, &to);
	if (uvmp_prefetch_decide(&s->params, &facts, &block->state, &hint) != UVMP_OK)
		return false;
	*follow = hint.follow == UVMP_PAGE_NONE ? -1 : (long)hint.follow - s->naive.before;
	if (*follow != naive_follow || hint.to != to || block->state.last_proc != block->naive_state.last_proc ||
	    block->state.faults != block->naive_state.faults)
		return false;
	for (unsigned p = 0; p < 512; p++)
		if (uvmp_mask_test(&hint.pages, p) != pages[p])
			return false;
	for (long p = first; p < end && hint.to == 1; p++)
		s->pending[p] = s->pending[p] || pages[p - first];
	return true;
}

/* -- commands -- */

/* A run of faults; pages that are there do not fault. */
static void fault(struct script *s)
{
	long page = (long)in(s, 0, (uint32_t)s->naive.pages - 1), step = (long)one_of(s, 1, 200);
	uint32_t count = one_of(s, 1, 40);

	for (; count > 0 && page < s->naive.pages; count--, page += step)
		s->faulted[page] = s->faulted[page] || !s->resident[page];
}

static bool batch(struct script *s, uint32_t kind)
{
	bool agrees = true;
	long first, end = 0;

	s->to = kind % 16 == 0 ? UVMP_CPU : 1;
	s->preferred = kind % 16 == 1 ? 2 : kind % 16 == 2 ? 1 : UVMP_PROC_NONE;
	fault(s);
	if (kind % 2 != 0)
		fault(s);
	for (long page = 0; page < s->naive.pages && agrees; page = end) {
		bool has_faults = false;
		long follow = -1;

		naive_forest_block(&s->naive, page, &first, &end);
		for (long p = first; p < end; p++)
			has_faults = has_faults || s->faulted[p];
		if (!has_faults)
			continue;
		agrees = decide(s, page, false, &follow);
		if (agrees && follow >= 0) {
			s->stats->follows++;
			agrees = decide(s, follow, true, &follow) && follow < 0;
		}
	}
	for (long p = 0; p < s->naive.pages; p++)
		s->resident[p] = s->resident[p] || (s->to == 1 && (s->faulted[p] || s->pending[p]));
	memset(s->faulted, 0, sizeof(s->faulted));
	memset(s->pending, 0, sizeof(s->pending));
	return agrees;
}

static bool touch(struct script *s)
{
	long page = (long)in(s, 0, (uint32_t)s->naive.pages - 1), step = (long)in(s, 0, (uint32_t)s->naive.pages);
	uint32_t count = in(s, 1, 500);

	if (step % 3 == 0)
		step = step % 9 == 0 ? s->naive.pages - 1 : 1; /* backwards or forwards */
	for (; count > 0; count--, page = (page + step) % s->naive.pages) {
		long first, end;
		struct block *block = block_of(s, page, &first, &end);
		struct uvmp_prefetch_touch at = {.range_page = (uint64_t)(s->naive.before + page),
		                                 .range_pages = (uint64_t)s->naive.all,
		                                 .page = (uint32_t)(page - first),
		                                 .kernels = s->kernels};
		bool was_settled = s->naive.is_settled;

		if (uvmp_prefetch_touched(&s->params, &at, &block->state) != UVMP_OK)
			return false;
		naive_forest_touch(&s->params, &s->naive, page, s->kernels,
		                   s->range.is_settled ? (enum naive_forest_class)s->range.class : NAIVE_BASE);
		if (!was_settled && s->naive.is_settled)
			s->stats->classes[s->naive.class]++;
	}
	return same_range(s);
}

static void evict(struct script *s)
{
	long page = (long)in(s, 0, (uint32_t)s->naive.pages - 1), count = (long)in(s, 1, 1024);

	for (; count > 0 && page < s->naive.pages; count--, page++)
		s->resident[page] = false;
}

bool forest_script_agrees(const uint8_t *data, size_t size, struct forest_script_stats *stats)
{
	static struct script s;

	memset(&s, 0, sizeof(s));
	s.data = data;
	s.size = size;
	s.stats = stats;
	open(&s);
	for (uint32_t step = 0; step < STEPS && s.at < s.size; step++) {
		uint32_t kind = byte(&s);

		if (kind % 8 == 0)
			evict(&s);
		else if (kind % 16 == 1) {
			s.kernels++;
			stats->kernels++;
		} else if (kind % 8 <= 3 ? !touch(&s) : !batch(&s, kind / 8))
			return false;
	}
	return true;
}
