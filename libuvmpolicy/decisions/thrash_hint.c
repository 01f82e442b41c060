/* The hint for a fault on a page that may be thrashing [driver: thrashing-hint, thrashing-table,
 * lapse-adaptation].
 *
 * In order: the history of a block without recent events is reset; a page that does not thrash gets no hint;
 * a throttled processor stays throttled until the period ends; the gap since the last event adapts the lapse
 * and decides whether the page still thrashes; if no period is running, a new one begins and does not
 * throttle the requester, unless the last one did not; then the table of [driver: thrashing-table] chooses. */
#include "../base/processor_internal.h"
#include "thrash_internal.h"

/* An 8-bit vote, and the largest threshold that a 32-bit one can reach. */
#define VOTE_MIN   (-128)
#define VOTE_MAX   127
#define NEEDED_MAX 0x7fffffffu

#define ADAPTING_LAPSE_US 500u
#define LAPSE_MAX_NS      500000000u
#define LAPSE_MIN_NS      5000u
#define STEP_UP_MAX_NS    50000000u
#define STEP_DOWN_MIN_NS  5000u

/* -- lapse [driver: lapse-adaptation] -- */

static uint64_t step_up(uint64_t lapse_ns)
{
	return lapse_ns / 8u < STEP_UP_MAX_NS ? lapse_ns / 8u : STEP_UP_MAX_NS;
}

static uint64_t step_down(uint64_t lapse_ns)
{
	return lapse_ns / 8u > STEP_DOWN_MIN_NS ? lapse_ns / 8u : STEP_DOWN_MIN_NS;
}

/* [driver: lapse-widens]: the vote is 8 bits; the first comparison takes it as unsigned, so that a negative
 * vote is a large one and lengthens the lapse too. */
static void adapt_as_driver(struct uvmp_thrash_space *space, int32_t change)
{
	uint32_t needed = space->params.vote_threshold;

	space->vote += change;
	if (space->vote < VOTE_MIN)
		space->vote = VOTE_MAX;
	if (space->vote > VOTE_MAX)
		space->vote = VOTE_MIN;
	if ((uint32_t)space->vote < needed)
		return;
	if (space->lapse_ns < LAPSE_MAX_NS)
		space->lapse_ns += step_up(space->lapse_ns);
	else if (space->vote >= (int64_t)needed)
		space->lapse_ns -= step_down(space->lapse_ns);
	else
		return;
	space->vote /= 2;
}

UVMPI_NOINLINE static void adapt_corrected(struct uvmp_thrash_space *space, int32_t change)
{
	int32_t needed = (int32_t)minimum(space->params.vote_threshold, NEEDED_MAX);
	uint64_t lapse = space->lapse_ns;

	if (space->vote != (change > 0 ? needed : -needed))
		space->vote += change;
	if (space->vote == needed && lapse < LAPSE_MAX_NS) {
		lapse += step_up(lapse);
		space->lapse_ns = lapse < LAPSE_MAX_NS ? lapse : LAPSE_MAX_NS;
		space->vote /= 2;
	} else if (space->vote == -needed && lapse > LAPSE_MIN_NS) {
		lapse -= step_down(lapse);
		space->lapse_ns = lapse > LAPSE_MIN_NS ? lapse : LAPSE_MIN_NS;
		space->vote /= 2;
	}
}

static void adapt(struct uvmp_thrash_space *space, uint64_t gap_ns)
{
	int32_t change = gap_ns >= space->lapse_ns ? 1 : -1;

	if (space->params.lapse_us != ADAPTING_LAPSE_US)
		return;
	if (space->params.quirks)
		adapt_as_driver(space, change);
	else
		adapt_corrected(space, change);
}

/* -- the table [driver: thrashing-table] -- */

/* What the rows ask about the page. */
struct relations {
	const struct uvmp_processors *processors;
	uint64_t procs; /* processors that took part */
	uint32_t near;	/* closest to the requester of those that hold the page */
};

static bool is_in(uint64_t set, uint32_t processor)
{
	return processor != UVMP_PROC_NONE && (set & BIT(processor)) != 0;
}

/* Processors whose memory all that took part can map. */
static uint64_t common(const struct relations *r)
{
	uint64_t set = ~(uint64_t)0;

	for (uint64_t rest = r->procs; rest != 0; rest &= rest - 1u)
		set &= r->processors->can_access[lowest_bit(rest)];
	return set;
}

/* Are all that took part tied to `near` by a fast link with atomics, or that itself, or parts of the same GPU? */
static bool is_near_fast(const struct relations *r)
{
	const struct uvmp_processors *p = r->processors;
	uint64_t fast;

	if (r->near == UVMP_PROC_NONE)
		return false;
	fast = (p->fast_link[r->near] & p->native_atomics[r->near]) | BIT(r->near) | p->smc[r->near];
	return (r->procs & ~fast) == 0;
}

/* Row 2. */
static enum uvmp_thrash_hint_kind choose_near(const struct relations *r, uint32_t requester, uint32_t *pin_to)
{
	bool can_stay = r->near == UVMP_CPU && is_in(common(r), requester);

	*pin_to = can_stay ? requester : r->near;
	return can_stay && requester == UVMP_CPU ? UVMP_THRASH_NONE : UVMP_THRASH_PIN;
}

/* Rows 3c to 3e and 5: the page is not pinned; the processor that is not throttled counts towards a pin at
 * itself. */
static enum uvmp_thrash_hint_kind choose_unpinned(const struct uvmp_thrash_space *space,
                                                  const struct uvmp_thrash_page *page, uint32_t requester,
                                                  uint32_t *pin_to)
{
	if (page->spared != requester)
		return UVMP_THRASH_THROTTLE;
	*pin_to = requester;
	return page->throttles >= space->params.pin_threshold ? UVMP_THRASH_PIN : UVMP_THRASH_NONE;
}

/* Rows 3a and 3b. */
static enum uvmp_thrash_hint_kind choose_preferred(const struct uvmp_thrash_page *page, uint32_t preferred,
                                                   uint32_t *pin_to)
{
	*pin_to = preferred;
	return page->pin_proc == preferred || page->spared == preferred ? UVMP_THRASH_PIN
	                                                                : UVMP_THRASH_THROTTLE;
}

/* Rows 4. */
static enum uvmp_thrash_hint_kind choose_pinned(const struct uvmp_thrash_page *page, const struct relations *r,
                                                uint32_t requester, uint32_t *pin_to)
{
	if (page->spared != requester) {
		*pin_to = page->pin_proc;
		return is_in(r->processors->can_access[requester], page->pin_proc) ? UVMP_THRASH_PIN
		                                                                   : UVMP_THRASH_THROTTLE;
	}
	/* A requester that all can reach is the closest of the common ones too. */
	*pin_to = uvmpi_closest_processor(r->processors, requester, common(r));
	if (*pin_to == UVMP_PROC_NONE)
		*pin_to = requester;
	return UVMP_THRASH_PIN;
}

static enum uvmp_thrash_hint_kind choose_row(const struct uvmp_thrash_space *space,
                                             const struct uvmp_thrash_page *page,
                                             const struct uvmp_processors *processors,
                                             const struct uvmp_thrash_facts *facts, uint32_t *pin_to)
{
	struct relations r = {processors, page->procs, 0};
	uint32_t preferred = optional_proc(facts->has_preferred, facts->preferred);

	if (preferred != UVMP_PROC_NONE && is_in(common(&r), preferred)) {
		*pin_to = preferred;
		return UVMP_THRASH_PIN;
	}
	if (!is_in(page->procs, preferred)) {
		r.near = uvmpi_closest_existing(processors, facts->requester, facts->residents);
		if (r.near == UVMP_PROC_NONE && facts->is_hmm)
			r.near = UVMP_CPU;
		if (is_near_fast(&r))
			return choose_near(&r, facts->requester, pin_to);
	}
	if (page->pin_proc == UVMP_PROC_NONE)
		return choose_unpinned(space, page, facts->requester, pin_to);
	if (facts->requester == preferred)
		return choose_preferred(page, preferred, pin_to);
	return choose_pinned(page, &r, facts->requester, pin_to);
}

/* *pin_to means something for PIN only. */
static enum uvmp_thrash_hint_kind choose(const struct uvmp_thrash_space *space,
                                         const struct uvmp_thrash_page *page,
                                         const struct uvmp_processors *processors,
                                         const struct uvmp_thrash_facts *facts, uint32_t *pin_to)
{
	enum uvmp_thrash_hint_kind kind;

	if (page->pin_proc != UVMP_PROC_NONE && page->has_revoked && facts->requester != page->spared)
		return UVMP_THRASH_THROTTLE;
	kind = choose_row(space, page, processors, facts, pin_to);
	if (kind == UVMP_THRASH_PIN && is_in(processors->no_memory, *pin_to))
		*pin_to = UVMP_CPU;
	return kind;
}

/* -- the hint [driver: thrashing-hint] -- */

/* Was the last event of a thrashing page more than an epoch ago? */
static inline bool is_epoch_over(const struct uvmp_thrash_space *space, const struct uvmp_thrash_block *block,
                                 uint64_t now_ns)
{
	return block->last_thrashing_ns != 0 &&
	       now_ns - block->last_thrashing_ns > uvmpi_thrash_lapses(space, space->params.epoch);
}

/* May an epoch reset the block? [driver: pinned-total-grows]; without any pin so far no page is pinned now. */
static bool may_reset(const struct uvmp_thrash_space *space, const struct uvmp_thrash_block *block)
{
	if (block->pins != 0 && (space->params.quirks || !uvmpi_mask_is_empty(&block->pinned)))
		return false;
	return block->resets < space->params.max_resets;
}

static enum uvmp_status hint_nothing(struct uvmp_thrash_hint *hint)
{
	*hint = (struct uvmp_thrash_hint){UVMP_THRASH_NONE, UVMP_PROC_NONE, 0, 0};
	return UVMP_OK;
}

static void throttle(struct uvmp_thrash_hint *hint, const struct uvmp_thrash_page *page)
{
	hint->kind = UVMP_THRASH_THROTTLE;
	hint->until_ns = page->throttle_end_ns;
}

/* True if the requester continues to wait. If it has waited enough, its throttling ends. */
static bool stays_throttled(struct uvmp_thrash_page *page, const struct uvmp_thrash_facts *facts)
{
	if ((page->throttled & BIT(facts->requester)) == 0)
		return false;
	if (facts->now_ns < page->throttle_end_ns && facts->requester != page->spared)
		return true;
	page->throttled &= ~BIT(facts->requester);
	if (page->throttled == 0)
		page->throttle_end_ns = 0;
	return false;
}

static void begin_period(const struct uvmp_thrash_space *space, struct uvmp_thrash_page *page,
                         const struct uvmp_thrash_facts *facts)
{
	uint8_t requester = (uint8_t)facts->requester;

	if (facts->now_ns > page->throttle_end_ns) {
		page->throttle_end_ns =
		        stored(space, facts->now_ns + uvmpi_thrash_lapses(space, space->params.nap));
		page->spared = page->spared == requester ? UVMP_PROC_NONE : requester;
	} else if (page->spared == UVMP_PROC_NONE) {
		page->spared = requester;
	}
}

/* A page that is pinned already may move; the time until its end stays. */
static void pin(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block,
                const struct uvmp_thrash_facts *facts, struct uvmp_thrash_page *page, uint32_t to)
{
	if (page->pin_proc == UVMP_PROC_NONE) {
		uvmpi_thrash_page_pin(space, block, facts->page, to, facts->now_ns);
		return;
	}
	if ((facts->residents & BIT(to)) == 0)
		uvmpi_thrash_end_throttling(page);
	page->pin_proc = (uint8_t)to;
}

/* The page thrashes, and no throttling of the requester runs. */
static void begin_hint(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block,
                       const struct uvmp_processors *processors, const struct uvmp_thrash_facts *facts,
                       struct uvmp_thrash_hint *hint)
{
	struct uvmp_thrash_page *page = &block->memory[facts->page];
	uint32_t pin_to = UVMP_PROC_NONE;
	enum uvmp_thrash_hint_kind kind;

	page->procs |= BIT(facts->requester);
	begin_period(space, page, facts);
	kind = choose(space, page, processors, facts, &pin_to);
	if (kind == UVMP_THRASH_PIN) {
		*hint = (struct uvmp_thrash_hint){UVMP_THRASH_PIN, pin_to, page->procs, 0};
		pin(space, block, facts, page, pin_to);
	} else if (kind == UVMP_THRASH_THROTTLE) {
		page->throttled |= BIT(facts->requester);
		if (page->pin_proc == UVMP_PROC_NONE && page->throttles != THROTTLES_MAX)
			page->throttles++;
		block->throttlings++;
		throttle(hint, page);
	}
}

/* The page had events enough to thrash. UVMP_ERR_RANGE: a processor that does not exist holds it, or took part. Out of line:
 * few pages thrash, and the way of the others saves no registers. */
UVMPI_NOINLINE static enum uvmp_status decide_thrashing(struct uvmp_thrash_space *space,
                                                        struct uvmp_thrash_block *block,
                                                        const struct uvmp_processors *processors,
                                                        const struct uvmp_thrash_facts *facts,
                                                        struct uvmp_thrash_hint *hint)
{
	struct uvmp_thrash_page *page = &block->memory[facts->page];
	uint64_t gap;

	if (((facts->residents | page->procs) >> (processors->count - 1u)) >> 1 != 0)
		return UVMP_ERR_RANGE;
	(void)hint_nothing(hint);
	if (stays_throttled(page, facts)) {
		throttle(hint, page);
		return UVMP_OK;
	}
	gap = facts->now_ns - page->event_ns;
	adapt(space, gap);
	if (gap <= space->lapse_ns || page->pin_proc != UVMP_PROC_NONE)
		begin_hint(space, block, processors, facts, hint);
	return UVMP_OK;
}

static inline enum uvmp_status decide_page(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block,
                                           const struct uvmp_processors *processors,
                                           const struct uvmp_thrash_facts *facts,
                                           struct uvmp_thrash_hint *hint)
{
	if (!uvmpi_thrash_in(&block->thrashing, facts->page))
		return hint_nothing(hint);
	UVMPI_ASSERT(block->memory[facts->page].events >= space->params.threshold);
	return decide_thrashing(space, block, processors, facts, hint);
}

/* As decide_page, after an epoch. */
UVMPI_NOINLINE static enum uvmp_status decide_late(struct uvmp_thrash_space *space,
                                                   struct uvmp_thrash_block *block,
                                                   const struct uvmp_processors *processors,
                                                   const struct uvmp_thrash_facts *facts,
                                                   struct uvmp_thrash_hint *hint)
{
	if (!may_reset(space, block))
		return decide_page(space, block, processors, facts, hint);
	block->resets++;
	uvmpi_thrash_block_forget(block);
	return hint_nothing(hint);
}

/* uvmp_thrash_decide without checks. */
static inline enum uvmp_status decide(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block,
                                      const struct uvmp_processors *processors,
                                      const struct uvmp_thrash_facts *facts, struct uvmp_thrash_hint *hint)
{
	UVMPI_ASSERT(uvmpi_thrash_accepts_facts(space, block, processors, facts));
	if (!space->params.is_enabled || !block->has_pages)
		return hint_nothing(hint);
	if (is_epoch_over(space, block, facts->now_ns))
		return decide_late(space, block, processors, facts, hint);
	return decide_page(space, block, processors, facts, hint);
}

enum uvmp_status uvmpi_thrash_decide(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block,
                                     const struct uvmp_processors *processors,
                                     const struct uvmp_thrash_facts *facts, struct uvmp_thrash_hint *hint)
{
	return decide(space, block, processors, facts, hint);
}

enum uvmp_status uvmp_thrash_decide(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block,
                                    const struct uvmp_processors *processors,
                                    const struct uvmp_thrash_facts *facts, struct uvmp_thrash_hint *hint)
{
	if (!uvmpi_thrash_is_ready(space) || block == NULL || processors == NULL ||
	    processors->count > UVMP_PROCS_MAX || facts == NULL || hint == NULL)
		return UVMP_ERR_ARGUMENT;
	if (facts->page >= block->pages || facts->requester >= processors->count ||
	    !is_optional_proc(facts->has_preferred, facts->preferred, processors->count))
		return UVMP_ERR_RANGE;
	return decide(space, block, processors, facts, hint);
}
