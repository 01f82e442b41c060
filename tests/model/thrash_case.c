/* Bytes of the head: quirks and flags, threshold, pin threshold, lapse (0: 500 us), vote threshold, nap,
 * epoch, pin, resets, processors, preferred location, processors without memory, then four bytes of
 * relations. A step is what, page and block, processor, and time that passes. Behind each step the states are
 * compared. */
#include "model/thrash_case.h"

#include <string.h>

#include "model/naive_thrash.h"

#define BLOCKS    2u
#define PAGES     16u
#define STEPS_MAX 4096u

struct both {
	struct naive_thrash naive;
	struct uvmp_processors processors;
	struct uvmp_thrash_space space;
	struct uvmp_thrash_block block[BLOCKS];
	struct uvmp_thrash_page array[BLOCKS][PAGES];
	uint64_t holders[BLOCKS][PAGES];
	uint32_t preferred;
	bool is_hmm;
	uint64_t now;
};

static void take_params(const uint8_t *head, struct uvmp_thrash_params *params)
{
	uvmp_thrash_params_init(params);
	params->quirks = (head[0] & 1u) != 0;
	params->is_enabled = (head[0] & 0x3eu) != 0;
	params->threshold = 1u + head[1] % 7u;
	params->pin_threshold = 1u + head[2] % 12u;
	params->lapse_us = head[3] % 4u == 0 ? 500 : 1u + head[3] * 8u;
	params->vote_threshold = head[4] == 255 ? 4000000000u : head[4];
	params->nap = 1u + head[5] % 100u;
	params->epoch = 1u + head[6];
	params->pin = head[7];
	params->max_resets = head[8] % 5u;
}

static void take_processors(const uint8_t *head, struct uvmp_processors *p)
{
	uint64_t seed =
	        head[12] | (uint64_t)head[13] << 8 | (uint64_t)head[14] << 16 | (uint64_t)head[15] << 24;
	uint64_t all;

	memset(p, 0, sizeof(*p));
	p->count = 1u + head[9] % 5u;
	all = ((uint64_t)1 << p->count) - 1u;
	p->no_memory = head[11] & all & ~(uint64_t)1;
	for (uint32_t i = 0; i < p->count; i++) {
		uint64_t self = (uint64_t)1 << i, gpus = i == 0 ? 0 : all & ~self & ~(uint64_t)1;

		p->can_access[i] = (uvmp_random_next(&seed) >> 20 & all) | self;
		p->fast_link[i] = uvmp_random_next(&seed) >> 20 & all & ~self;
		p->native_atomics[i] = (uvmp_random_next(&seed) >> 20 & all) | self;
		p->smc[i] = (head[0] & 0x40u) != 0 ? uvmp_random_next(&seed) >> 20 & gpus : 0;
	}
}

static bool is_same_page(const struct both *b, uint32_t block, uint32_t page)
{
	static const struct uvmp_thrash_page fresh = {.pin_proc = UVMP_PROC_NONE, .spared = UVMP_PROC_NONE};
	const struct uvmp_thrash_page *c = &b->array[block][page];
	const struct naive_thrash_page *n = &b->naive.block[block].page[page];

	if (!uvmp_mask_test(&b->block[block].begun, page)) /* the array holds anything there */
		c = &fresh;
	return c->event_ns == n->ts && c->throttle_end_ns == n->end && c->procs == n->procs &&
	       c->throttled == n->throttled && (c->throttled & ~c->procs) == 0 && c->events == n->ev &&
	       c->throttles == n->thr_count && c->pin_proc == n->pin_res && c->spared == n->dnt &&
	       c->has_migrated == n->has_mig && c->has_revoked == n->has_rev &&
	       uvmp_mask_test(&b->block[block].pinned, page) == n->pinned &&
	       uvmp_mask_test(&b->block[block].thrashing, page) == n->thrashing;
}

static const char *compare(const struct both *b)
{
	uint32_t waiting = 0;

	if (!uvmp_thrash_space_is_valid(&b->space))
		return "the space is valid";
	if (b->space.lapse_ns != b->naive.lapse || b->space.vote != b->naive.stat)
		return "same lapse and vote";
	for (uint32_t i = 0; i < BLOCKS; i++) {
		const struct uvmp_thrash_block *c = &b->block[i];
		const struct naive_thrash_block *n = &b->naive.block[i];

		if (!uvmp_thrash_block_is_valid(c))
			return "the block is valid";
		if (c->has_pages != n->has_array || c->last_ns != n->last_ts ||
		    c->last_proc != n->last_proc || c->last_thrashing_ns != n->last_thrashing_ts ||
		    c->resets != n->reset_count || c->pins != n->pinned_total)
			return "same block";
		for (uint32_t page = 0; c->has_pages && page < PAGES; page++)
			if (!is_same_page(b, i, page))
				return "same page";
	}
	for (const struct uvmp_thrash_page *p = b->space.first; p != NULL; p = p->next, waiting++)
		if (waiting == b->naive.waiting || p->block->id != b->naive.fifo[waiting].block ||
		    p - p->block->memory != (ptrdiff_t)b->naive.fifo[waiting].page ||
		    p->deadline_ns != b->naive.fifo[waiting].deadline ||
		    (p->next == NULL ? b->space.last : p->next->previous) != p)
			return "same queue";
	return waiting == b->naive.waiting ? NULL : "same length of the queue";
}

static const char *unpin(struct both *b)
{
	struct uvmp_thrash_block *block = NULL;
	uint32_t page = 0, naive_block = 0, naive_page = 0;
	bool found = true;

	while (found) {
		if (uvmp_thrash_unpin(&b->space, b->now, &block, &page, &found) != UVMP_OK)
			return "the worker runs";
		if (found != naive_thrash_unpin(&b->naive, b->now, &naive_block, &naive_page))
			return "same number of pages unpinned";
		if (found && (block->id != naive_block || page != naive_page))
			return "same page unpinned";
	}
	return NULL;
}

static const char *migrate(struct both *b, uint32_t block, struct uvmp_region region, uint32_t proc,
                           uint8_t what)
{
	struct uvmp_thrash_migration m = {.region = region, .to = proc, .final_to = proc, .now_ns = b->now};

	if (what >= 240) {
		m.cause = (enum uvmp_migrate_cause)(what % 9u);
	} else if (what >= 230) {
		m.is_copy = what == 230;
		m.is_read_duplicated = what == 231;
		m.final_to = what == 232 ? 63 : proc;
	} else if (what >= 210) {
		m.cause = UVMP_MIGRATE_PREFETCH;
	}
	for (uint32_t p = region.first; p < region.end; p++)
		b->holders[block][p] = (uint64_t)1 << proc;
	naive_thrash_migrate(&b->naive, block, &m);
	return uvmp_thrash_migrate(&b->space, &b->block[block], &m) == UVMP_OK ? NULL
	                                                                       : "a migration is taken";
}

static const char *decide(struct both *b, uint32_t block, uint32_t page, uint32_t proc)
{
	struct uvmp_thrash_facts facts = {page,      proc,  b->preferred, b->holders[block][page],
	                                  b->is_hmm, b->now, b->preferred != UVMP_PROC_NONE};
	struct uvmp_thrash_hint naive = naive_thrash_decide(&b->naive, block, &facts), hint;

	if (uvmp_thrash_decide(&b->space, &b->block[block], &b->processors, &facts, &hint) != UVMP_OK)
		return "a question is answered";
	if (hint.kind != naive.kind || hint.pin_to != naive.pin_to || hint.procs != naive.procs ||
	    hint.until_ns != naive.until_ns)
		return "same hint";
	return NULL;
}

/* Times that matter: some microseconds, about a lapse, about an epoch or a pin. */
static uint64_t pause(const struct both *b, uint8_t byte)
{
	if (byte < 160)
		return byte * (uint64_t)1000 + byte;
	if (byte < 220)
		return b->space.lapse_ns - 190u + byte;
	return b->space.lapse_ns * (byte - 219u) * 10u;
}

static const char *step(struct both *b, const uint8_t *s)
{
	uint32_t block = s[1] >> 4 & 1u, page = s[1] % PAGES, proc = s[2] % b->processors.count;
	struct uvmp_region region = {page, page + 1u + (s[1] >> 5 == 7u ? 3u : 0)};

	b->now += pause(b, s[3]);
	if (region.end > PAGES)
		region.end = PAGES;
	if (s[0] < 110)
		return decide(b, block, page, proc);
	if (s[0] < 120) {
		naive_thrash_revoke(&b->naive, block, region, proc, b->now);
		return uvmp_thrash_revoke(&b->space, &b->block[block], region, proc, b->now) == UVMP_OK
		               ? NULL
		               : "a revocation is taken";
	}
	if (s[0] < 124)
		return unpin(b);
	if (s[0] == 124) {
		naive_thrash_reset(&b->naive, block, region);
		return uvmp_thrash_reset(&b->space, &b->block[block], region) == UVMP_OK ? NULL : "a reset";
	}
	if (s[0] == 125 && s[3] > 240) {
		naive_thrash_end(&b->naive, block);
		return uvmp_thrash_block_end(&b->space, &b->block[block]) == UVMP_OK ? NULL : "an end";
	}
	if (s[0] == 126) {
		b->holders[block][page] = s[2] & (((uint64_t)1 << b->processors.count) - 1u);
		return NULL;
	}
	return migrate(b, block, region, proc, s[0]);
}

static const char *begin(struct both *b, const struct uvmp_thrash_params *params)
{
	if (uvmp_thrash_space_init(&b->space, params) != UVMP_OK)
		return "the parameters are taken";
	for (uint32_t i = 0; i < BLOCKS; i++) {
		if (uvmp_thrash_block_init(&b->block[i], i, PAGES) != UVMP_OK ||
		    uvmp_thrash_block_give(&b->block[i], b->array[i], sizeof(b->array[i])) != UVMP_OK)
			return "the block is taken";
		for (uint32_t page = 0; page < PAGES; page++)
			b->holders[i][page] = 1;
	}
	return NULL;
}

const char *thrash_case_run(const uint8_t *data, size_t size)
{
	static struct both b;
	struct uvmp_thrash_params params;
	const char *wrong;

	if (size < THRASH_CASE_HEAD || size > THRASH_CASE_HEAD + 4u * STEPS_MAX)
		return NULL;
	memset(&b, 0, sizeof(b));
	take_params(data, &params);
	take_processors(data, &b.processors);
	b.preferred = data[10] % 8u < b.processors.count ? data[10] % 8u : UVMP_PROC_NONE;
	b.is_hmm = (data[0] & 0x80u) != 0;
	b.now = 1000000;
	naive_thrash_init(&b.naive, &params, &b.processors, BLOCKS, PAGES);
	wrong = begin(&b, &params);
	for (size_t at = THRASH_CASE_HEAD; at + 4u <= size && wrong == NULL; at += 4) {
		wrong = step(&b, data + at);
		if (wrong == NULL)
			wrong = compare(&b);
	}
	naive_thrash_free(&b.naive);
	return wrong;
}
