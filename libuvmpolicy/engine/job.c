/* A job of the block service: which pages of one block are to arrive on which processor.
 *
 * The operation owns the job and fills it: page by page, with the thrashing detector's hint and the destination of
 * each fault [driver: residency-choice], or with a set of pages that nothing has faulted on. */
#include "../base/bits_internal.h"
#include "../base/debug_internal.h"
#include "../decisions/residency_internal.h"
#include "job_internal.h"
#include "queue_internal.h"
#include "space_internal.h"
#include "thrashing_internal.h"

/* Sets that few jobs use. Without the flag, a set is empty. */
static inline void clear_rare(struct job *job)
{
	if (job->has_duplicates)
		uvmpi_mask_zero(&job->duplicate);
	if (job->has_pins)
		uvmpi_mask_zero(&job->pinned);
	if (job->has_throttled)
		uvmpi_mask_zero(&job->throttled);
	if (job->has_remote)
		uvmpi_mask_zero(&job->remote);
	job->has_duplicates = job->has_pins = job->has_throttled = job->has_remote = false;
}

void uvmpi_job_clear(struct job *job, handle block, uint32_t requester)
{
	for (uint64_t used = job->used | BIT(requester); used != 0; used &= used - 1u)
		uvmpi_mask_zero(&job->arrive[lowest_bit(used)]);
	job->used = BIT(requester);
	for (uint32_t bit = 0; bit < 3u; bit++)
		uvmpi_mask_zero(&job->access[bit]);
	uvmpi_mask_zero(&job->alike.pages);
	job->alike.access = UVMP_ACCESS_NONE;
	job->alike.unnamed = 0;
	clear_rare(job);
	uvmpi_mask_zero(&job->faulted);
	job->block = block;
	job->requester = requester;
	job->operation = UVMP_OPERATION_FAULT;
	job->cause = UVMP_CAUSE_DEMAND;
	job->migrate = UVMP_MIGRATE_FAULT;
	job->is_prefetching = job->is_retry = job->is_follow = job->has_next = false;
	job->may_map = true;
	job->takes_back = false;
	job->rule = UVMP_RULE_NONE;
	job->keep = 0;
	job->utlbs = 0;
	job->destinations = 0;
	job->planned = 0;
	job->accesses = 0;
	job->phase = JOB_IDLE;
	job->status = job->error = UVMP_OK;
}

/* Sets the bit, or clears it. */
static inline void put_bit(uint64_t *word, uint64_t bit, uint32_t is_set)
{
	*word = (*word & ~bit) | (bit & (0u - (uint64_t)is_set));
}

static inline void add_page(struct job *job, uint32_t page, uint32_t to, enum uvmp_access access, bool is_duplicate)
{
	uint64_t bit = (uint64_t)1 << (page % 64u);
	uint32_t word = page / 64u;

	job->accesses |= 1u << access;
	put_bit(&job->access[0].word[word], bit, (uint32_t)access & 1u);
	put_bit(&job->access[1].word[word], bit, (uint32_t)access >> 1 & 1u);
	put_bit(&job->access[2].word[word], bit, (uint32_t)access >> 2 & 1u);
	job->has_duplicates |= is_duplicate;
	put_bit(&job->duplicate.word[word], bit, is_duplicate); /* of two verdicts the last: what is written has one home */
	job->arrive[to].word[word] |= bit;
	job->destinations |= BIT(to);
	job->used |= BIT(to);
}

void uvmpi_job_add(struct job *job, uint32_t page, uint32_t to, enum uvmp_access access, bool is_duplicate)
{
	add_page(job, page, to, access, is_duplicate);
}

/* These pages are to be duplicated, or none of them. */
static void set_duplicates(struct job *job, const uvmp_mask *pages, bool are_duplicates)
{
	uint64_t set = 0u - (uint64_t)are_duplicates;

	job->has_duplicates |= are_duplicates;
	if (!job->has_duplicates)
		return;
	UVMPI_EACH_WORD(i)
		job->duplicate.word[i] = (job->duplicate.word[i] & ~pages->word[i]) | (pages->word[i] & set);
}

/* Adds the pages that are duplicated. */
static void add_duplicated(struct job *job, const uvmp_mask *pages, const uvmp_mask *duplicated)
{
	job->has_duplicates = true;
	UVMPI_EACH_WORD(i)
		job->duplicate.word[i] |= pages->word[i] & duplicated->word[i];
}

void uvmpi_job_add_prefetched(const struct uvmp_service *s, struct job *job, const uvmp_mask *pages,
			      uint32_t to, uint8_t duplication)
{
	const struct block *b = block_at(s, job->block);
	uvmp_mask *arrive = &job->arrive[to];

	job->destinations |= BIT(to);
	job->used |= BIT(to);
	job->accesses |= 1u << UVMP_ACCESS_PREFETCH;
	uvmpi_mask_or(arrive, arrive, pages); /* their access is that of a new job: UVMP_ACCESS_PREFETCH is 0 */
	for (uint32_t bit = 0; bit < 3u; bit++)
		UVMPI_ASSERT(!uvmpi_mask_intersects(&job->access[bit], pages));
	set_duplicates(job, pages, duplication == UVMP_DUPLICATION_ENABLED);
	if (duplication == UVMP_DUPLICATION_UNSET && b->cold != 0)
		add_duplicated(job, pages, &cold_at(s, b->cold)->duplicated);
}

/* Destination of one page [driver: residency-choice]; pin: the hint's target or UVMP_PROC_NONE. */
static void select_place(const struct uvmp_service *s, const struct job *job, const struct block *b, uint32_t page,
			 uint8_t accesses, uint32_t pin, struct uvmp_residency_place *place)
{
	const struct range *range = range_of(s, b);
	struct uvmp_residency_facts facts = {.requester = job->requester,
					     .accesses = accesses,
					     .operation = (enum uvmp_operation)job->operation,
					     .preferred = range->preferred,
					     .accessed_by = range->accessed_by,
					     .resident = uvmpi_block_holders(s, b, page),
					     .pin = pin,
					     .duplication = (enum uvmp_read_duplication)range->duplication,
					     .has_preferred = range->preferred != UVMP_PROC_NONE,
					     .has_pin = pin != UVMP_PROC_NONE,
					     .is_duplicated = block_is_duplicated(s, b, page),
					     .maps_on_atomics = s->policy.map_on_atomics};

	uvmpi_residency_select(&s->processors, &facts, place);
}

static void queue_throttle(struct uvmp_service *s, struct job *job, uint32_t page, uint64_t until_ns)
{
	struct uvmp_action *a;
	uvmp_mask pages;

	if (uvmp_mask_test(&job->throttled, page)) /* behind a fatal fault each one of the page is judged */
		return;
	uvmp_mask_set(&job->throttled, page);
	job->has_throttled = true;
	uvmpi_mask_zero(&pages);
	uvmp_mask_set(&pages, page);
	a = uvmpi_queue(s, UVMP_ACTION_THROTTLE, UVMP_CAUSE_THRASHING, job->block, &pages);
	a->to = (uint8_t)job->requester;
	a->until_ns = until_ns;
}

/* The pages of the block that have the same holders as `page`, and are duplicated if the page is. Returns the holders. */
static uint64_t find_alike(const struct uvmp_service *s, const struct block *b, uint32_t page, uvmp_mask *pages)
{
	uint64_t holders = 0;

	uvmpi_mask_fill(pages);
	EACH_RESIDENCY(at, s, b) {
		holders |= (uint64_t)uvmp_mask_test(&at->resident, page) << at->proc;
		uvmpi_mask_keep_same(pages, &at->resident, page);
	}
	if (b->cold != 0)
		uvmpi_mask_keep_same(pages, &cold_at(s, b->cold)->duplicated, page);
	return holders;
}

/* select_place for a page without a pin, into the memo. The facts are often those of the page before. */
static void select_unpinned(struct uvmp_service *s, const struct job *job, const struct block *b, uint32_t page,
			    uint8_t accesses, uint64_t holders)
{
	const struct range *range = range_of(s, b);
	bool is_duplicated = block_is_duplicated(s, b, page);
	struct place_memo *memo = &s->place_memo;
	uint64_t key = (uint64_t)is_duplicated << 48 | (uint64_t)range->duplication << 40 |
		       (uint64_t)range->preferred << 32 | (uint64_t)accesses << 16 | (uint64_t)job->operation << 8 |
		       job->requester;

	if (memo->accessed_by != range->accessed_by || memo->holders != holders || memo->key != key) {
		memo->accessed_by = range->accessed_by;
		memo->holders = holders;
		memo->key = key;
		select_place(s, job, b, page, accesses, UVMP_PROC_NONE, &memo->place);
	}
}

/* The destination of a page without a pin: the one of its class. */
static const struct uvmp_residency_place *place_of(struct uvmp_service *s, struct job *job, const struct block *b,
						   uint32_t page, uint8_t accesses)
{
	struct job_class *alike = &job->alike;
	bool is_member = uvmp_mask_test(&alike->pages, page);

	if (!is_member)
		alike->holders = find_alike(s, b, page, &alike->pages);
	if (!is_member || alike->accesses != accesses) {
		alike->accesses = accesses;
		select_unpinned(s, job, b, page, accesses, alike->holders);
		alike->place = s->place_memo.place;
	}
	return &alike->place;
}

static bool is_copy(const struct uvmp_service *s, const struct job *job, const struct uvmp_residency_place *place)
{
	return place->is_duplicate && (job->operation != UVMP_OPERATION_ACCESS_COUNTER ||
				       !s->policy.quirks); /* [driver: counter-ignores-duplication] */
}

void uvmpi_job_name_more(const struct uvmp_service *s, struct job *job)
{
	struct job_class *alike = &job->alike;
	uvmp_mask *arrive = &job->arrive[alike->place.to];

	if ((alike->unnamed & UNNAMED_PLACE) == 0)
		return;
	alike->unnamed &= UNNAMED_ACCESS;
	uvmpi_mask_or(arrive, arrive, &alike->more);
	set_duplicates(job, &alike->more, is_copy(s, job, &alike->place));
}

void uvmpi_job_name_accesses(struct job *job)
{
	struct job_class *alike = &job->alike;
	uint64_t set[3];

	if ((alike->unnamed & UNNAMED_ACCESS) == 0)
		return;
	for (uint32_t bit = 0; bit < 3u; bit++)
		set[bit] = 0u - (uint64_t)((uint32_t)alike->access >> bit & 1u);
	UVMPI_EACH_WORD(i) {
		uint64_t pages = alike->more.word[i], others = ~pages;

		for (uint32_t bit = 0; bit < 3u; bit++)
			job->access[bit].word[i] = (job->access[bit].word[i] & others) | (pages & set[bit]);
	}
	alike->unnamed &= UNNAMED_PLACE;
}

/* What the detector says of the page: *pin is its target, or UVMP_PROC_NONE. False: the page is throttled. */
static bool ask_detector(struct uvmp_service *s, struct job *job, uint32_t page, uint32_t *pin)
{
	uint8_t before = uvmpi_thrashing_throttles(s, block_at(s, job->block), page);
	struct uvmp_thrash_hint hint;

	uvmpi_thrashing_ask(s, job->block, page, job->requester, &hint);
	if (hint.kind == UVMP_THRASH_THROTTLE) {
		if (!job->is_retry)
			queue_throttle(s, job, page, hint.until_ns);
		return false;
	}
	*pin = hint.pin_to;
	job->throttles[page] = before;
	if (hint.kind == UVMP_THRASH_PIN) {
		uvmp_mask_set(&job->pinned, page);
		job->has_pins = true;
		job->pin_procs[page] = hint.procs;
	}
	return true;
}

bool uvmpi_job_add_new_fault(struct uvmp_service *s, struct job *job, uint32_t page, enum uvmp_access access,
			     uint8_t accesses)
{
	const struct block *b = block_at(s, job->block);
	const struct uvmp_residency_place *place;
	struct uvmp_residency_place own;
	uint32_t pin = UVMP_PROC_NONE;

	if (b->thrash != 0 && !ask_detector(s, job, page, &pin))
		return false;
	uvmpi_job_name_more(s, job);
	uvmpi_job_name_accesses(job);
	if (pin == UVMP_PROC_NONE) {
		place = place_of(s, job, b, page, accesses);
	} else {
		select_place(s, job, b, page, accesses, pin, &own);
		place = &own;
	}
	add_page(job, page, place->to, access, is_copy(s, job, place));
	uvmpi_mask_zero(&job->alike.more);
	job->alike.access = b->thrash == 0 ? (uint8_t)access : (uint8_t)UVMP_ACCESS_NONE;
	return true;
}
