/* See oracle.h: a sequence of events, hints and unpin runs over two blocks of one address space. */
#include "oracle.h"

#include <string.h>

#define BLOCKS	      ORACLE_BLOCKS
#define RECENT	      8u
#define PAGES_MAX     512u
#define UNPIN_AT_MOST (BLOCKS * PAGES_MAX)

/* -- the library's detector -- */

static struct {
	struct uvmp_thrash_space space;
	struct uvmp_thrash_block block[BLOCKS];
	struct uvmp_thrash_page memory[BLOCKS][PAGES_MAX];
	struct uvmp_processors processors;
} library;

static void begin(const struct uvmp_thrash_params *params, const struct uvmp_processors *processors,
		  bool is_hmm, const uint32_t pages[BLOCKS])
{
	(void)is_hmm;
	library.processors = *processors;
	uvmp_thrash_space_init(&library.space, params);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		uvmp_thrash_block_init(&library.block[i], i, pages[i]);
		uvmp_thrash_block_give(&library.block[i], library.memory[i], sizeof(library.memory[i]));
	}
}

static void end(void)
{
}

static enum uvmp_status move(uint32_t block, const struct uvmp_thrash_migration *migration)
{
	return uvmp_thrash_migrate(&library.space, &library.block[block], migration);
}

static enum uvmp_status revoke(uint32_t block, struct uvmp_region region, uint32_t processor, uint64_t now_ns)
{
	return uvmp_thrash_revoke(&library.space, &library.block[block], region, processor, now_ns);
}

static enum uvmp_status reset(uint32_t block, struct uvmp_region region)
{
	return uvmp_thrash_reset(&library.space, &library.block[block], region);
}

static enum uvmp_status unpin_due(uint64_t now_ns)
{
	struct uvmp_thrash_block *block;
	enum uvmp_status status = UVMP_OK;
	uint32_t page;
	bool found = true;

	for (uint32_t i = 0; i <= UNPIN_AT_MOST && found && status == UVMP_OK; i++)
		status = uvmp_thrash_unpin(&library.space, now_ns, &block, &page, &found);
	return status;
}

static enum uvmp_status decide(uint32_t block, const struct uvmp_thrash_facts *facts,
			       struct uvmp_thrash_hint *hint)
{
	return uvmp_thrash_decide(&library.space, &library.block[block], &library.processors, facts, hint);
}

static const uvmp_mask *thrashing(uint32_t block)
{
	return &library.block[block].thrashing;
}

const struct oracle_detector oracle_library_detector = {begin, end,	  move,	  revoke,
							reset, unpin_due, decide, thrashing};

/* -- sequences -- */

struct sequence {
	struct uvmp_thrash_params params;
	struct uvmp_processors processors;
	uint32_t pages[BLOCKS];
	uint64_t now_ns, lapse_ns, recent[RECENT];
	uint32_t active; /* processors that take part */
	uint32_t hot;	 /* page that most steps concern */
	uint32_t steps, hints;
	bool is_hmm, is_dense;
};

/* What all kinds of steps have in common. */
struct step {
	uint32_t block;
	struct uvmp_region pages;
	uint32_t processor;
};

static void draw_params(struct oracle *oracle, struct uvmp_thrash_params *params)
{
	uvmp_thrash_params_init(params);
	params->is_enabled = oracle_below(oracle, 40) != 0;
	params->threshold = oracle_below(oracle, 2) ? oracle_below(oracle, 10) : 3;
	params->pin_threshold =
		oracle_one_in(oracle, 3) ? oracle_below(oracle, 300) : 1u + oracle_below(oracle, 4);
	switch (oracle_below(oracle, 4)) {
	case 2:
		params->lapse_us = 1u + oracle_below(oracle, 2000);
		break;
	case 3:
		params->lapse_us = oracle_below(oracle, 3);
		break;
	default:
		params->lapse_us = 500;
		break;
	}
	switch (oracle_below(oracle, 4)) {
	case 2:
		params->vote_threshold = oracle_below(oracle, 6);
		break;
	case 3:
		params->vote_threshold = oracle_below(oracle, 200);
		break;
	default:
		params->vote_threshold = 32;
		break;
	}
	params->nap = oracle_below(oracle, 2) ? oracle_below(oracle, 110) : 1;
	params->epoch = oracle_below(oracle, 2) ? oracle_below(oracle, 40) : 2000;
	params->pin = oracle_below(oracle, 2) ? oracle_below(oracle, 30) : 300;
	params->max_resets = oracle_below(oracle, 2) ? oracle_below(oracle, 5) : 4;
}

static void start(struct oracle *oracle, struct sequence *s)
{
	draw_params(oracle, &s->params);
	oracle_processors(oracle, &s->processors);
	s->is_hmm = oracle_one_in(oracle, 4);
	s->pages[0] = oracle_below(oracle, 2) ? 1u + oracle_below(oracle, PAGES_MAX) : PAGES_MAX;
	s->pages[1] = 1u + oracle_below(oracle, 20);
	s->active = 2u + oracle_below(oracle, s->processors.count - 1u);
	s->steps = 20u + oracle_below(oracle, 400);
	s->is_dense = oracle_one_in(oracle, 16);
	if (s->is_dense) {
		s->params.lapse_us = 500;
		s->steps += 1000u;
	}
	s->now_ns = 1000000u + oracle_next(oracle) % 100000000000u;
	s->hot = oracle_below(oracle, PAGES_MAX);
	s->hints = 0;
	s->lapse_ns = (s->params.lapse_us == 0 ? 500u : s->params.lapse_us) * (uint64_t)1000;
	for (uint32_t i = 0; i < RECENT; i++)
		s->recent[i] = s->now_ns;
	oracle_subject->detector->begin(&s->params, &s->processors, s->is_hmm, s->pages);
}

static uint64_t draw_pause(struct oracle *oracle, const struct sequence *s)
{
	static const uint64_t jump[11] = {1,	  100,	  20000,   200000,    450000,	 499999,
					  500001, 600000, 3000000, 100000000, 1200000000};
	uint64_t pause;

	if (s->is_dense)
		return oracle_next(oracle) % (s->lapse_ns / 2u);
	switch (oracle_below(oracle, 8)) {
	case 3:
		return oracle_below(oracle, 3000);
	case 4:
		return oracle_below(oracle, 64);
	case 5:
		if (oracle_one_in(oracle, 4))
			return s->lapse_ns - oracle_below(oracle, 64);
		return oracle_next(oracle) % (2u * s->lapse_ns + 1u);
	case 6:
		return oracle_one_in(oracle, 4) ? jump[oracle_below(oracle, 11)]
						: oracle_below(oracle, 20000);
	case 7:
		pause = oracle_next(oracle) % (s->lapse_ns + 1u);
		return pause * (1u + oracle_below(oracle, 16)) / 4u;
	default:
		return oracle_next(oracle) % (s->lapse_ns + 1u);
	}
}

static enum uvmp_status migrate(struct oracle *oracle, struct sequence *s, const struct step *step)
{
	struct uvmp_thrash_migration migration;
	bool is_duplicated;

	migration.region = step->pages;
	migration.to = step->processor;
	migration.cause = (enum uvmp_migrate_cause)(oracle_below(oracle, 6) ? 0 : oracle_below(oracle, 9));
	migration.final_to =
		oracle_below(oracle, 12) ? step->processor : oracle_below(oracle, s->processors.count);
	migration.is_copy = oracle_one_in(oracle, 15);
	is_duplicated = oracle_one_in(oracle, 20);
	migration.is_read_duplicated = is_duplicated && !s->is_hmm;
	migration.now_ns = s->now_ns;
	return oracle_subject->detector->migrate(step->block, &migration);
}

/* The unpin worker, now or, half of the time, about when a recent hint's pin ends. */
static enum uvmp_status unpin(struct oracle *oracle, struct sequence *s)
{
	if (oracle_below(oracle, 2)) {
		uint64_t then = s->recent[oracle_below(oracle, RECENT)] + s->params.pin * s->lapse_ns;

		then -= oracle_below(oracle, 2) ? 19999u + oracle_below(oracle, 3)
						: 19000u + oracle_below(oracle, 2000);
		if ((int64_t)(then - s->now_ns) > 0)
			s->now_ns = then;
	}
	return oracle_subject->detector->unpin(s->now_ns);
}

static uint64_t draw_residents(struct oracle *oracle, const struct sequence *s)
{
	uint64_t residents = (uint64_t)1 << oracle_below(oracle, s->processors.count);

	if (oracle_one_in(oracle, 4))
		residents |= (uint64_t)1 << oracle_below(oracle, s->processors.count);
	residents &= ~s->processors.no_memory;
	if (residents == 0)
		residents = (uint64_t)1 << UVMP_CPU;
	if (oracle_one_in(oracle, 6) && s->is_hmm)
		residents = 0;
	return residents;
}

static enum uvmp_status ask(struct oracle *oracle, struct sequence *s, const struct step *step,
			    struct uvmp_thrash_hint *hint)
{
	struct uvmp_thrash_facts facts;

	memset(&facts, 0, sizeof(facts));
	facts.page = step->pages.first;
	facts.requester = step->processor;
	facts.preferred = oracle_below(oracle, 3) ? UVMP_PROC_NONE : oracle_below(oracle, s->active);
	facts.has_preferred = facts.preferred != UVMP_PROC_NONE;
	facts.residents = draw_residents(oracle, s);
	facts.is_hmm = s->is_hmm;
	facts.now_ns = s->now_ns;
	if (oracle_below(oracle, 2)) /* holders of other pages, without effect */
		(void)oracle_below(oracle, 1u << s->processors.count);
	s->recent[s->hints++ % RECENT] = s->now_ns;
	return oracle_subject->detector->decide(step->block, &facts, hint);
}

static void put_hint(struct oracle *oracle, const struct uvmp_thrash_hint *hint)
{
	oracle_put(oracle, hint->kind, 1);
	oracle_put(oracle, hint->pin_to, 4);
	oracle_put(oracle, hint->procs, 8);
	oracle_put(oracle, hint->until_ns, 8);
}

static void take_step(struct oracle *oracle, struct sequence *s)
{
	struct uvmp_thrash_hint hint;
	struct step step;
	uint32_t what, which;
	bool is_hot;

	if (oracle_one_in(oracle, 60))
		s->hot = oracle_below(oracle, PAGES_MAX);
	which = oracle_one_in(oracle, 8);
	step.block = s->is_dense ? 0 : which;
	step.processor = oracle_below(oracle, s->active);
	s->now_ns += draw_pause(oracle, s);
	is_hot = oracle_below(oracle, 3) != 0;
	step.pages.first = is_hot || s->is_dense ? s->hot % s->pages[step.block]
						 : oracle_below(oracle, s->pages[step.block]);
	step.pages.end = step.pages.first + 1u;
	if (oracle_one_in(oracle, 3))
		step.pages.end += oracle_below(oracle, s->pages[step.block] - step.pages.first);
	what = oracle_below(oracle, 100);
	if (what < 38u) {
		oracle_put(oracle, (uint32_t)migrate(oracle, s, &step), 4);
	} else if (what < 53u) {
		oracle_put(oracle,
			   (uint32_t)oracle_subject->detector->revoke(step.block, step.pages, step.processor,
								      s->now_ns),
			   4);
	} else if (what < 55u) {
		oracle_put(oracle, (uint32_t)oracle_subject->detector->reset(step.block, step.pages), 4);
	} else if (what < 58u) {
		oracle_put(oracle, (uint32_t)unpin(oracle, s), 4);
	} else {
		memset(&hint, 0, sizeof(hint));
		oracle_put(oracle, (uint32_t)ask(oracle, s, &step, &hint), 4);
		put_hint(oracle, &hint);
	}
	for (uint32_t i = 0; i < BLOCKS; i++)
		oracle_put_mask(oracle, oracle_subject->detector->thrashing(i));
}

void oracle_thrash(struct oracle *oracle)
{
	struct sequence s;

	start(oracle, &s);
	for (uint32_t i = 0; i < s.steps; i++)
		take_step(oracle, &s);
	oracle_subject->detector->end();
}
