/* [driver: thrashing-events, thrashing-hint, thrashing-table, lapse-adaptation, pin-and-reset], paragraph
 * by paragraph; the corrected forms are those of thrash.h. */
#include "model/naive_thrash.h"

#include <stdlib.h>
#include <string.h>

#define NONE UVMP_PROC_NONE

static bool in(uint64_t set, uint32_t p)
{
	return p < 64 && ((set >> p) & 1) != 0;
}

static uint64_t keep(const struct naive_thrash *t, uint64_t time)
{
	return t->params.quirks ? time / 64 * 64 : time;
}

static uint64_t lapses(const struct naive_thrash *t, uint64_t n)
{
	return n * (t->params.quirks ? t->params.lapse_us * (uint64_t)1000 : t->lapse);
}

void naive_thrash_init(struct naive_thrash *t, const struct uvmp_thrash_params *params,
                       const struct uvmp_processors *processors, uint32_t blocks, uint32_t pages)
{
	memset(t, 0, sizeof(*t));
	t->blocks = blocks;
	t->pages = pages;
	t->block = calloc(blocks, sizeof(*t->block));
	t->fifo = calloc((size_t)blocks * pages, sizeof(*t->fifo));
	t->params = *params;
	t->processors = *processors;
	if (t->params.vote_threshold == 0)
		t->params.vote_threshold = params->quirks ? 500 : 32;
	t->lapse = params->lapse_us * (uint64_t)1000;
	for (uint32_t b = 0; b < blocks; b++) {
		t->block[b].last_proc = NONE;
		t->block[b].page = calloc(pages, sizeof(*t->block[b].page));
	}
}

void naive_thrash_free(struct naive_thrash *t)
{
	for (uint32_t b = 0; b < t->blocks; b++)
		free(t->block[b].page);
	free(t->block);
	free(t->fifo);
}

static void end_throttling(struct naive_thrash_page *page)
{
	if (page->throttled != 0) {
		page->throttled = 0;
		page->end = 0;
	}
}

static void reset_page(struct naive_thrash *t, uint32_t b, uint32_t p)
{
	struct naive_thrash_page *page = &t->block[b].page[p];
	uint32_t kept = 0;

	end_throttling(page);
	for (uint32_t i = 0; i < t->waiting; i++)
		if (t->fifo[i].block != b || t->fifo[i].page != p)
			t->fifo[kept++] = t->fifo[i];
	t->waiting = kept;
	page->pinned = page->thrashing = page->has_mig = page->has_rev = false;
	page->pin_res = NONE;
	page->ts = page->procs = 0;
	page->ev = 0;
	if (!t->params.quirks) {
		page->thr_count = 0;
		page->dnt = NONE;
	}
}

void naive_thrash_reset(struct naive_thrash *t, uint32_t block, struct uvmp_region region)
{
	for (uint32_t p = region.first; p < region.end; p++)
		if (t->block[block].page[p].thrashing)
			reset_page(t, block, p);
}

static void drop_array(const struct naive_thrash *t, struct naive_thrash_block *block)
{
	memset(block->page, 0, t->pages * sizeof(*block->page));
	block->has_array = false;
	block->last_ts = block->last_thrashing_ts = 0;
	block->last_proc = NONE;
}

void naive_thrash_end(struct naive_thrash *t, uint32_t block)
{
	struct uvmp_region all = {0, t->pages};

	naive_thrash_reset(t, block, all);
	drop_array(t, &t->block[block]);
	t->block[block].reset_count = 0;
	t->block[block].pinned_total = 0;
}

static void event(struct naive_thrash *t, uint32_t b, struct uvmp_region region, uint32_t proc, bool is_mig,
                  uint64_t now)
{
	struct naive_thrash_block *block = &t->block[b];
	uint64_t since = now - block->last_ts;

	if (!block->has_array && block->last_ts != 0 && block->last_proc != proc && since <= t->lapse) {
		block->has_array = true;
		for (uint32_t p = 0; p < t->pages; p++)
			block->page[p].pin_res = block->page[p].dnt = NONE;
	}
	if (block->has_array)
		for (uint32_t p = region.first; p < region.end; p++) {
			struct naive_thrash_page *page = &block->page[p];
			uint64_t old = page->ts;

			page->procs |= (uint64_t)1 << proc;
			page->ts = keep(t, now);
			if (old == 0)
				continue;
			if (now - old <= t->lapse) {
				if (page->ev < 7)
					page->ev++;
				if (page->ev == t->params.threshold)
					page->thrashing = true;
				if (page->ev >= t->params.threshold)
					block->last_thrashing_ts = now;
				if (is_mig)
					page->has_mig = true;
				else
					page->has_rev = true;
			} else if (page->ev >= t->params.threshold && !page->pinned) {
				reset_page(t, b, p);
			} else if (page->ev < t->params.threshold && !t->params.quirks) {
				page->ev = 0;
				page->has_mig = page->has_rev = false;
			}
		}
	block->last_ts = now;
	block->last_proc = proc;
}

void naive_thrash_migrate(struct naive_thrash *t, uint32_t block, const struct uvmp_thrash_migration *m)
{
	bool all_pinned = true;

	if (m->cause == UVMP_MIGRATE_EVICTION || m->to != m->final_to || !t->params.is_enabled)
		return;
	if ((m->cause != UVMP_MIGRATE_FAULT && m->cause != UVMP_MIGRATE_ACCESS_COUNTER &&
	     m->cause != UVMP_MIGRATE_PREFETCH) ||
	    m->is_copy || m->is_read_duplicated) {
		naive_thrash_reset(t, block, m->region);
		return;
	}
	for (uint32_t p = m->region.first; p < m->region.end; p++)
		all_pinned = all_pinned && t->block[block].page[p].pinned;
	if (m->cause != UVMP_MIGRATE_PREFETCH && all_pinned)
		return;
	event(t, block, m->region, m->to, true, m->now_ns);
}

void naive_thrash_revoke(struct naive_thrash *t, uint32_t block, struct uvmp_region region, uint32_t proc,
                         uint64_t now)
{
	if (t->params.is_enabled)
		event(t, block, region, proc, false, now);
}

static void adapt(struct naive_thrash *t, uint64_t gap)
{
	const uint64_t cap = 500000000, floor = 5000;
	uint64_t up = t->lapse / 8, down = t->lapse / 8;
	int64_t vote = t->params.vote_threshold;

	if (t->params.lapse_us != 500)
		return;
	if (up > 50000000)
		up = 50000000;
	if (down < 5000)
		down = 5000;
	t->stat += gap >= t->lapse ? 1 : -1;
	if (t->params.quirks) {
		if (t->stat == 128)
			t->stat = -128;
		if (t->stat == -129)
			t->stat = 127;
		if ((uint32_t)t->stat >= (uint32_t)vote && t->lapse < cap)
			t->lapse += up;
		else if (t->stat >= vote && t->lapse > floor)
			t->lapse -= down;
		else
			return;
		t->stat /= 2;
		return;
	}
	if (t->stat > vote)
		t->stat = (int)vote;
	if (t->stat < -vote)
		t->stat = (int)-vote;
	if (t->stat >= vote && t->lapse < cap)
		t->lapse = t->lapse + up > cap ? cap : t->lapse + up;
	else if (t->stat <= -vote && t->lapse > floor)
		t->lapse = t->lapse - down < floor ? floor : t->lapse - down;
	else
		return;
	t->stat /= 2;
}

/* [driver: processors] */
static uint32_t closest(const struct uvmp_processors *ps, uint32_t src, uint64_t set)
{
	const uint64_t tier[] = {ps->smc[src], ps->fast_link[src], ps->can_access[src]};

	if (in(set, src))
		return src;
	for (int i = 0; i < 3; i++) {
		for (uint32_t p = 1; p < ps->count; p++)
			if (in(set & tier[i], p))
				return p;
		if (in(set & tier[i], 0))
			return 0;
	}
	for (uint32_t p = 0; p < ps->count; p++)
		if (in(set, p))
			return p;
	return NONE;
}

static bool acc(const struct uvmp_processors *ps, uint64_t procs, uint32_t x)
{
	if (x == NONE)
		return false;
	for (uint32_t p = 0; p < ps->count; p++)
		if (in(procs, p) && !in(ps->can_access[p], x))
			return false;
	return true;
}

static bool fast(const struct uvmp_processors *ps, uint64_t procs, uint32_t x)
{
	if (x == NONE)
		return false;
	for (uint32_t p = 0; p < ps->count; p++)
		if (in(procs, p) && p != x && !in(ps->smc[x], p) &&
		    !(in(ps->fast_link[x], p) && in(ps->native_atomics[x], p)))
			return false;
	return true;
}

/* [driver: thrashing-table] */
static int table(const struct naive_thrash *t, const struct naive_thrash_page *page,
                 const struct uvmp_thrash_facts *f, uint32_t *to)
{
	const struct uvmp_processors *ps = &t->processors;
	uint32_t r = f->requester, near = closest(ps, r, f->residents);
	uint64_t common = 0;

	if (near == NONE && f->is_hmm)
		near = 0;
	*to = f->preferred;
	if (acc(ps, page->procs, f->preferred)) /* 1 */
		return UVMP_THRASH_PIN;
	if ((f->preferred == NONE || !in(page->procs, f->preferred)) && fast(ps, page->procs, near)) { /* 2 */
		*to = near;
		if (near == 0 && acc(ps, page->procs, r)) {
			*to = r;
			return r == 0 ? UVMP_THRASH_NONE : UVMP_THRASH_PIN;
		}
		return UVMP_THRASH_PIN;
	}
	if (r == f->preferred) {
		if (page->pinned) /* 3a, 3b */
			return page->pin_res == r || page->dnt == r ? UVMP_THRASH_PIN : UVMP_THRASH_THROTTLE;
		if (page->dnt != r) /* 3c */
			return UVMP_THRASH_THROTTLE;
		return page->thr_count >= t->params.pin_threshold ? UVMP_THRASH_PIN
		                                                  : UVMP_THRASH_NONE; /* 3d, 3e */
	}
	if (page->pinned && r == page->dnt) { /* 4a */
		*to = r;
		if (acc(ps, page->procs, r))
			return UVMP_THRASH_PIN;
		for (uint32_t x = 0; x < ps->count; x++)
			if (acc(ps, page->procs, x))
				common |= (uint64_t)1 << x;
		if (common != 0)
			*to = closest(ps, r, common);
		return UVMP_THRASH_PIN;
	}
	if (page->pinned) { /* 4b, 4c */
		*to = page->pin_res;
		return in(ps->can_access[r], page->pin_res) ? UVMP_THRASH_PIN : UVMP_THRASH_THROTTLE;
	}
	if (r != page->dnt) /* 5a */
		return UVMP_THRASH_THROTTLE;
	*to = r;
	return page->thr_count >= t->params.pin_threshold ? UVMP_THRASH_PIN : UVMP_THRASH_NONE; /* 5b, 5c */
}

static void pin(struct naive_thrash *t, uint32_t b, const struct uvmp_thrash_facts *f, uint32_t to)
{
	struct naive_thrash_page *page = &t->block[b].page[f->page];

	if (!page->pinned || !in(f->residents, to))
		end_throttling(page);
	page->pin_res = to;
	if (page->pinned)
		return;
	if (t->params.pin > 0) {
		t->fifo[t->waiting].block = b;
		t->fifo[t->waiting].page = f->page;
		t->fifo[t->waiting++].deadline = f->now_ns + lapses(t, t->params.pin);
	}
	page->thr_count = 0;
	page->pinned = true;
	t->block[b].pinned_total++;
}

static bool is_epoch_over(const struct naive_thrash *t, const struct naive_thrash_block *block, uint64_t now)
{
	uint64_t pinned = block->pinned_total;

	if (!t->params.quirks) {
		pinned = 0;
		for (uint32_t p = 0; p < t->pages; p++)
			pinned += block->page[p].pinned;
	}
	return block->last_thrashing_ts != 0 && now - block->last_thrashing_ts > lapses(t, t->params.epoch) &&
	       pinned == 0 && block->reset_count < t->params.max_resets;
}

struct uvmp_thrash_hint naive_thrash_decide(struct naive_thrash *t, uint32_t b,
                                            const struct uvmp_thrash_facts *f)
{
	struct uvmp_thrash_hint hint = {UVMP_THRASH_NONE, NONE, 0, 0};
	struct naive_thrash_block *block = &t->block[b];
	struct naive_thrash_page *page = &block->page[f->page];
	uint64_t self = (uint64_t)1 << f->requester, t_old = page->ts;
	uint32_t to = NONE;
	int kind;

	if (!t->params.is_enabled || !block->has_array)
		return hint;
	if (is_epoch_over(t, block, f->now_ns)) {
		drop_array(t, block);
		block->reset_count++;
		return hint;
	}
	if (page->ev < t->params.threshold)
		return hint;
	if (in(page->throttled, f->requester)) {
		if (f->now_ns < page->end && f->requester != page->dnt) {
			hint.kind = UVMP_THRASH_THROTTLE;
			hint.until_ns = page->end;
			return hint;
		}
		page->throttled &= ~self;
		if (page->throttled == 0)
			page->end = 0;
	}
	adapt(t, f->now_ns - t_old);
	if (f->now_ns - t_old > t->lapse && !page->pinned)
		return hint;
	page->procs |= self;
	if (f->now_ns > page->end) {
		page->end = keep(t, f->now_ns + lapses(t, t->params.nap));
		page->dnt = page->dnt == f->requester ? NONE : f->requester;
	} else if (page->dnt == NONE) {
		page->dnt = f->requester;
	}
	if (page->pinned && page->has_rev && f->requester != page->dnt)
		kind = UVMP_THRASH_THROTTLE;
	else
		kind = table(t, page, f, &to);
	hint.kind = (enum uvmp_thrash_hint_kind)kind;
	if (kind == UVMP_THRASH_PIN) {
		hint.pin_to = in(t->processors.no_memory, to) ? 0 : to;
		hint.procs = page->procs;
		pin(t, b, f, hint.pin_to);
	} else if (kind == UVMP_THRASH_THROTTLE) {
		page->throttled |= self;
		if (!page->pinned && page->thr_count < 255)
			page->thr_count++;
		hint.until_ns = page->end;
	}
	return hint;
}

bool naive_thrash_unpin(struct naive_thrash *t, uint64_t now, uint32_t *block, uint32_t *page)
{
	if (t->waiting == 0 || t->fifo[0].deadline > now + 20000)
		return false;
	*block = t->fifo[0].block;
	*page = t->fifo[0].page;
	reset_page(t, *block, *page);
	return true;
}
