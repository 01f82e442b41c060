/* The thrashing detector's view of a block: which events the detector gets, and what it says of a fault. */
#include "space_internal.h"
#include "thrashing_internal.h"

/* Gives the block its array. False: the arena is full, and the event is forgotten. */
static bool suspect(struct uvmp_service *s, handle h)
{
	struct block *b = block_at(s, h);
	struct thrash *t;

	b->thrash = uvmpi_arena_take(s, SLAB_THRASH);
	if (b->thrash == 0)
		return false;
	t = thrash_at(s, b->thrash);
	(void)uvmp_thrash_block_init(&t->block, h, b->pages);
	t->block.last_ns = b->event_ns;
	t->block.last_proc = b->event_proc;
	(void)uvmp_thrash_block_give(&t->block, t + 1, uvmp_thrash_array_size(b->pages));
	return true;
}

/* An event that counts. Has the block an array of pages for it? Otherwise the event is kept or forgotten here. */
static bool needs_pages(struct uvmp_service *s, handle h, const struct uvmp_thrash_space *space, uint32_t proc)
{
	struct block *b = block_at(s, h);

	if (b->thrash != 0)
		return true;
	if (uvmpi_thrash_is_suspicious(space, b->event_ns, b->event_proc, proc, s->now_ns))
		return suspect(s, h);
	uvmpi_thrashing_keep_event(b, s->now_ns, proc);
	return false;
}

void uvmpi_thrashing_migrated(struct uvmp_service *s, handle h, const struct uvmp_thrash_migration *migration)
{
	struct block *b = block_at(s, h);
	struct uvmp_thrash_space *space = &space_of(s, b)->thrash;
	struct uvmp_thrash_block *t;

	if (b->thrash == 0 && uvmpi_thrash_effect_of(space, migration) != UVMP_THRASH_COUNTS)
		return;
	if (!needs_pages(s, h, space, migration->to))
		return;
	t = &thrash_at(s, b->thrash)->block;
	(void)uvmpi_thrash_migrate(space, t, migration);
	uvmpi_thrashing_keep_event(b, t->last_ns, t->last_proc);
}

void uvmpi_thrashing_revoked(struct uvmp_service *s, handle h, struct uvmp_region run, uint32_t proc)
{
	struct block *b = block_at(s, h);
	struct uvmp_thrash_space *space = &space_of(s, b)->thrash;
	struct uvmp_thrash_block *t;

	if (!space->params.is_enabled || !needs_pages(s, h, space, proc))
		return;
	t = &thrash_at(s, b->thrash)->block;
	(void)uvmpi_thrash_revoke(space, t, run, proc, s->now_ns);
	uvmpi_thrashing_keep_event(b, t->last_ns, t->last_proc);
}

void uvmpi_thrashing_reset(struct uvmp_service *s, handle h, const uvmp_mask *pages)
{
	struct block *b = block_at(s, h);
	struct uvmp_region run;

	if (b->thrash == 0)
		return;
	for (run = uvmp_mask_next_run(pages, 0); run.end != 0; run = uvmp_mask_next_run(pages, run.end))
		uvmp_thrash_reset(&space_of(s, b)->thrash, &thrash_at(s, b->thrash)->block, run);
}

/* The detector's hint for a fault on a block with thrashing state. The detector cannot refuse, as all its arguments exist. */
void uvmpi_thrashing_ask(struct uvmp_service *s, handle h, uint32_t page, uint32_t requester,
			 struct uvmp_thrash_hint *hint)
{
	struct block *b = block_at(s, h);
	struct uvmp_thrash_facts facts = {.page = page, .requester = requester, .now_ns = s->now_ns};

	*hint = (struct uvmp_thrash_hint){.kind = UVMP_THRASH_NONE, .pin_to = UVMP_PROC_NONE};
	facts.preferred = range_of(s, b)->preferred;
	facts.has_preferred = facts.preferred != UVMP_PROC_NONE;
	facts.residents = uvmpi_block_holders(s, b, page);
	(void)uvmpi_thrash_decide(&space_of(s, b)->thrash, &thrash_at(s, b->thrash)->block, &s->processors,
				 &facts, hint);
}

/* Times that a page that thrashes was throttled, before the pin sets it back. */
uint8_t uvmpi_thrashing_throttles(const struct uvmp_service *s, const struct block *b, uint32_t page)
{
	const struct uvmp_thrash_block *t = &thrash_at(s, b->thrash)->block;

	return uvmp_mask_test(&t->thrashing, page) ? t->memory[page].throttles : 0;
}

void uvmpi_thrashing_end(struct uvmp_service *s, handle h)
{
	struct block *b = block_at(s, h);

	b->event_ns = 0;
	b->event_proc = UVMP_PROC_NONE;
	if (b->thrash == 0)
		return;
	uvmp_thrash_block_end(&space_of(s, b)->thrash, &thrash_at(s, b->thrash)->block);
	uvmpi_arena_give(s, SLAB_THRASH, b->thrash);
	b->thrash = 0;
}
