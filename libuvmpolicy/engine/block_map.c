/* Block service: mappings of the pages that have arrived
 * [driver: block-service, other-mappings].
 *
 * The decision for a page depends on few facts, and each fact is a set of pages here. So the pages fall into few
 * equivalence classes, and one decision serves a class. What the classes ask for is collected per processor, then queued:
 * revoke, map the requester, map others. */
#include "../base/bits_internal.h"
#include "../base/debug_internal.h"
#include "../decisions/residency_internal.h"
#include "block_service_internal.h"
#include "job_internal.h"
#include "mapping_internal.h"
#include "memory_internal.h"
#include "space_internal.h"
#include "thrashing_internal.h"

/* -- classes -- */

/* Pages for which the decision is the same. */
struct map_class {
	uvmp_mask pages;
	struct uvmp_map map;
};

/* The pages that do not belong to a class yet, and whether some processor maps one of them. */
struct unclassified {
	uvmp_mask pages;
	bool are_mapped;
};

static enum uvmp_access access_of(const struct job *job, uint32_t page)
{
	uint32_t access = 0;

	for (uint32_t bit = 0; bit < 3u; bit++)
		access |= (uint32_t)uvmp_mask_test(&job->access[bit], page) << bit;
	return (enum uvmp_access)access;
}

/* The facts of a page that has migrated, without cold state, that no processor maps and that is not pinned. */
static struct uvmp_map_facts facts_of(const struct job *job, const struct range *range, enum uvmp_access access)
{
	return (struct uvmp_map_facts){.requester = job->requester,
				       .to = job->to,
				       .access = access,
				       .right = (enum uvmp_right)range->right,
				       .accessed_by = range->accessed_by,
				       .preferred = range->preferred,
				       .duplication = (enum uvmp_read_duplication)range->duplication,
				       .has_preferred = range->preferred != UVMP_PROC_NONE,
				       .has_migrated = true};
}

static void decide_map(const struct uvmp_service *s, const struct job *job, uint32_t page, bool is_mapped,
		       struct uvmp_map *map)
{
	const struct block *b = block_at(s, job->block);
	struct uvmp_map_facts facts = facts_of(job, range_of(s, b), access_of(job, page));
	uint64_t right[3] = {0, 0, 0};

	facts.is_duplicated = block_is_duplicated(s, b, page);
	facts.is_discarded = block_is_discarded(s, b, page);
	/* access counters never revoke [driver: counter-policy] */
	facts.has_migrated = job->operation == UVMP_OPERATION_ACCESS_COUNTER || uvmp_mask_test(&job->migrated, page);
	if (uvmp_mask_test(&job->pinned, page))
		facts.thrashing = job->pin_procs[page];
	if (is_mapped)
		uvmpi_block_mapped(s, b, page, right);
	facts.read = right[0];
	facts.write = right[1];
	facts.atomic = right[2];
	uvmpi_residency_rights(&s->processors, &facts, map); /* accesses that the range forbids were cancelled before */
}

/* All ones where the page is in the set, else 0. */
static uint64_t spread(const uvmp_mask *set, uint32_t page)
{
	return 0u - (set->word[page / 64u] >> (page % 64u) & 1u);
}

/* Of the pages without a class and without a pin, those with the access of `page` that have migrated if it has. */
static void keep_same_service(const struct job *job, const uvmp_mask *unclassified, uint32_t page, uvmp_mask *pages)
{
	uint64_t access[3], migrated = spread(&job->migrated, page);

	for (uint32_t bit = 0; bit < 3u; bit++)
		access[bit] = spread(&job->access[bit], page);
	UVMPI_EACH_WORD(i)
		pages->word[i] = unclassified->word[i] &
				 ~((job->access[0].word[i] ^ access[0]) | (job->access[1].word[i] ^ access[1]) |
				   (job->access[2].word[i] ^ access[2]) | (job->migrated.word[i] ^ migrated) |
				   job->pinned.word[i]);
}

/* The pages for which decide_map decides as for `page`, among those without a class. A pinned page is a class of its
 * own. */
static void find_class(const struct uvmp_service *s, const struct job *job,
		       const struct unclassified *unclassified, uint32_t page, uvmp_mask *class_pages)
{
	const struct block *b = block_at(s, job->block);

	if (uvmp_mask_test(&job->pinned, page)) {
		uvmpi_mask_zero(class_pages);
		uvmp_mask_set(class_pages, page);
		return;
	}
	keep_same_service(job, &unclassified->pages, page, class_pages);
	if (b->cold != 0) {
		uvmpi_mask_keep_same(class_pages, &cold_at(s, b->cold)->duplicated, page);
		uvmpi_mask_keep_same(class_pages, &cold_at(s, b->cold)->discarded, page);
	}
	if (!unclassified->are_mapped)
		return;
	EACH_RESIDENCY(p, s, b) {
		uvmpi_mask_keep_same(class_pages, &p->low, page);
		uvmpi_mask_keep_same(class_pages, &p->high, page);
	}
}

static void begin_classes(const struct uvmp_service *s, const struct job *job, const uvmp_mask *pages,
			  struct unclassified *unclassified)
{
	unclassified->pages = *pages;
	unclassified->are_mapped = false;
	/* pages that migrated lost all mappings when they were copied */
	if (uvmpi_mask_is_subset(pages, &job->migrated) &&
	    !(job->has_duplicates && uvmpi_mask_intersects(pages, &job->duplicate)))
		return;
	EACH_RESIDENCY(p, s, block_at(s, job->block)) {
		uint64_t any = 0;

		UVMPI_EACH_WORD(i)
			any |= (p->low.word[i] | p->high.word[i]) & pages->word[i];
		unclassified->are_mapped |= any != 0;
	}
}

/* The class of the first page without one, and its decision. False: every page has a class. */
static bool next_class(const struct uvmp_service *s, const struct job *job, struct unclassified *unclassified,
		       struct map_class *class)
{
	uint32_t page = uvmpi_mask_next_set(&unclassified->pages, 0);

	if (page == UVMP_MASK_BITS)
		return false;
	find_class(s, job, unclassified, page, &class->pages);
	uvmpi_mask_andnot(&unclassified->pages, &unclassified->pages, &class->pages);
	decide_map(s, job, page, unclassified->are_mapped, &class->map);
	return true;
}

/* The highest right with which the requester is mapped where others are mapped too. */
static enum uvmp_right highest_right(const struct uvmp_service *s, const struct job *job, const uvmp_mask *pages)
{
	struct unclassified unclassified;
	struct map_class class;
	uvmp_mask level[3];

	if (!job->has_pins) /* no level consists of pinned pages */
		return UVMP_RIGHT_READ_WRITE_ATOMIC;
	for (int i = 0; i < 3; i++)
		uvmpi_mask_zero(&level[i]);
	begin_classes(s, job, pages, &unclassified);
	while (next_class(s, job, &unclassified, &class))
		uvmpi_mask_or(&level[class.map.right - 1], &level[class.map.right - 1], &class.pages);
	return uvmp_residency_map_levels(level, &job->pinned, s->policy.quirks);
}

/* -- what the classes ask for -- */

/* Adds pages to one set of each processor. */
static void add_wants(struct map_wants *wants, uint64_t processors, uint32_t set, const uvmp_mask *pages)
{
	for (; processors != 0; processors &= processors - 1u) {
		uint32_t proc = lowest_bit(processors);
		struct map_want *want = &wants->of[proc];

		if ((wants->processors & BIT(proc)) == 0)
			want->sets = 0;
		wants->processors |= BIT(proc);
		if ((want->sets >> set & 1u) != 0)
			uvmpi_mask_or(&want->pages[set], &want->pages[set], pages);
		else
			want->pages[set] = *pages;
		want->sets |= 1u << set;
	}
}

static uint32_t want_right(uint8_t right)
{
	return (uint32_t)WANT_READ + right - UVMP_RIGHT_READ;
}

static void collect_wants(struct uvmp_service *s, const struct job *job, const uvmp_mask *pages)
{
	enum uvmp_right highest = highest_right(s, job, pages);
	struct block *b = block_at(s, job->block);
	struct unclassified unclassified;
	struct map_class class;

	s->wants.processors = 0;
	begin_classes(s, job, pages, &unclassified);
	while (next_class(s, job, &unclassified, &class)) {
		const struct uvmp_map *map = &class.map;

		add_wants(&s->wants, BIT(job->requester), want_right(map->right), &class.pages);
		if (map->left != UVMP_RIGHT_NONE)
			add_wants(&s->wants, map->victims,
				  map->left == UVMP_RIGHT_READ ? WANT_LESS_READ : WANT_LESS_WRITE, &class.pages);
		if (map->right <= highest) {
			add_wants(&s->wants, map->others_atomic, WANT_ATOMIC, &class.pages);
			if (map->others != 0)
				add_wants(&s->wants, map->others, want_right(map->others_right), &class.pages);
		}
		if (map->leaves_discarded && b->cold != 0)
			uvmpi_mask_andnot(&cold_at(s, b->cold)->discarded, &cold_at(s, b->cold)->discarded,
					  &class.pages);
	}
}

/* The set of a processor; NULL: no class asks for it. */
static const uvmp_mask *wanted(const struct uvmp_service *s, uint32_t proc, uint32_t set)
{
	const struct map_want *want = &s->wants.of[proc];

	return (s->wants.processors & BIT(proc)) != 0 && (want->sets >> set & 1u) != 0 ? &want->pages[set] : NULL;
}

/* -- actions -- */

static void revoke(struct uvmp_service *s, const struct job *job, struct residency *residency,
		   const uvmp_mask *pages, uint8_t left)
{
	struct uvmp_region run;

	uvmpi_mapping_revoke(s, job->block, residency, pages, left);
	for (run = uvmpi_mask_next_run(pages, 0); run.end != 0; run = uvmpi_mask_next_run(pages, run.end))
		uvmpi_thrashing_revoked(s, job->block, run, residency->proc);
}

static void revoke_victims(struct uvmp_service *s, const struct job *job)
{
	EACH_RESIDENCY(residency, s, block_at(s, job->block)) {
		const uvmp_mask *less_read = wanted(s, residency->proc, WANT_LESS_READ);
		const uvmp_mask *less_write = wanted(s, residency->proc, WANT_LESS_WRITE);

		if (less_read != NULL)
			revoke(s, job, residency, less_read, UVMP_RIGHT_READ);
		if (less_write != NULL)
			revoke(s, job, residency, less_write, UVMP_RIGHT_READ_WRITE);
	}
}

/* The pages on which the processor gains the right. False: none. */
static bool gains(const struct uvmp_service *s, const struct residency *residency, uint32_t proc, uint8_t right,
		  uvmp_mask *gain)
{
	const uvmp_mask *pages = wanted(s, proc, want_right(right));

	if (pages == NULL)
		return false;
	*gain = *pages;
	return residency == NULL || residency_without(residency, right, gain);
}

static void queue_map(struct uvmp_service *s, const struct job *job, struct residency *residency, uint8_t right,
		      const uvmp_mask *gain)
{
	struct reason reason = because(job->cause);
	struct uvmp_action *a;

	if (job->has_pins && uvmpi_mask_intersects(gain, &job->pinned))
		reason.cause = UVMP_CAUSE_PIN;
	else if (residency->proc != job->requester)
		reason.cause = UVMP_CAUSE_HINT;
	a = uvmpi_mapping_map(s, job->block, residency, gain, right, reason);
	a->from = (uint8_t)job->to;
	if (reason.cause == UVMP_CAUSE_PIN)
		a->throttles = job_throttles(job, gain);
}

static void map_processor(struct uvmp_service *s, struct job *job, uint32_t proc)
{
	struct residency *residency = uvmpi_residency_find(s, block_at(s, job->block), proc);
	uvmp_mask gain;

	for (uint8_t right = UVMP_RIGHT_READ; right <= UVMP_RIGHT_READ_WRITE_ATOMIC; right++) {
		if (!gains(s, residency, proc, right, &gain))
			continue;
		if (residency == NULL)
			residency = uvmpi_residency_make(s, block_at(s, job->block), proc);
		if (residency == NULL) {
			if (proc == job->requester) /* it would fault again without end */
				job->error = UVMP_ERR_NO_MEMORY;
			return;
		}
		queue_map(s, job, residency, right, &gain);
	}
}

/* [driver: root-queues]: all that the destination has is discarded, or some of what it has been mapped to now. */
static bool has_lost(const struct uvmp_service *s, const struct job *job, const uvmp_mask *pages)
{
	const struct block *b = block_at(s, job->block);
	const uvmp_mask *discarded = &cold_at(s, b->cold)->discarded;

	if (job->to == job->requester && uvmpi_mask_intersects(pages, discarded))
		return true;
	return uvmpi_mask_is_subset(&uvmpi_residency_find(s, b, job->to)->resident, discarded);
}

/* -- pages that all have just arrived, and that the requester alone is to map -- */

#define MAPS_OTHERS 0xffu /* in map_memo.of */

/* The memo for the policy of the range, emptied if it was for another policy. */
static struct map_memo *memo_of(struct uvmp_service *s, const struct job *job, const struct range *range)
{
	struct map_memo *memo = &s->map_memo;

	if (memo->accessed_by != range->accessed_by || memo->requester != job->requester ||
	    memo->right != range->right || memo->preferred != range->preferred ||
	    memo->duplication != range->duplication)
		*memo = (struct map_memo){.accessed_by = range->accessed_by,
					  .requester = (uint8_t)job->requester,
					  .right = range->right,
					  .preferred = range->preferred,
					  .duplication = range->duplication};
	return memo;
}

static uint8_t ask_right(const struct uvmp_service *s, const struct job *job, const struct range *range,
			 enum uvmp_access access)
{
	struct uvmp_map_facts facts = facts_of(job, range, access);
	struct uvmp_map map;

	uvmpi_residency_rights(&s->processors, &facts, &map);
	UVMPI_ASSERT(map.right != UVMP_RIGHT_NONE); /* a page that has arrived is mapped; NONE has other meanings in the memo */
	return (map.others | map.others_atomic) == 0 ? map.right : (uint8_t)MAPS_OTHERS;
}

/* The right that the requester gets on all pages with these accesses, if it is the same; else NONE. */
static uint8_t common_right(struct uvmp_service *s, const struct job *job, const struct range *range)
{
	struct map_memo *memo = memo_of(s, job, range);
	uint8_t right = UVMP_RIGHT_NONE;

	for (uint32_t left = job->accesses; left != 0; left &= left - 1u) {
		uint8_t *of = &memo->of[lowest_bit(left)];

		if (*of == UVMP_RIGHT_NONE)
			*of = ask_right(s, job, range, (enum uvmp_access)lowest_bit(left));
		right = right == UVMP_RIGHT_NONE || right == *of ? *of : MAPS_OTHERS;
	}
	return right != MAPS_OTHERS ? right : (uint8_t)UVMP_RIGHT_NONE;
}

/* Does one decision, without other processors, serve all pages? There are some, and they have moved: no processor maps
 * them. */
static bool map_requester(struct uvmp_service *s, const struct job *job, const struct block *b, const uvmp_mask *pages)
{
	uint8_t right;

	if (job->to != job->requester || b->cold != 0 || job->has_pins)
		return false;
	right = common_right(s, job, range_of(s, b));
	if (right != UVMP_RIGHT_NONE)
		queue_map(s, job, uvmpi_residency_find(s, b, job->to), right, pages);
	return right != UVMP_RIGHT_NONE;
}

void uvmpi_block_map(struct uvmp_service *s, struct job *job, const uvmp_mask *pages, bool have_migrated)
{
	const struct block *b = block_at(s, job->block);

	UVMPI_ASSERT(have_migrated ==
		     (uvmpi_mask_is_subset(pages, &job->migrated) && !uvmpi_mask_is_empty(pages)));
	if (have_migrated && map_requester(s, job, b, pages))
		return;
	uvmpi_job_name_accesses(job);
	collect_wants(s, job, pages);
	revoke_victims(s, job);
	if ((s->processors.can_access[job->requester] & BIT(job->to)) != 0)
		map_processor(s, job, job->requester);
	for (uint64_t others = s->wants.processors & ~BIT(job->requester); others != 0; others &= others - 1u)
		map_processor(s, job, lowest_bit(others));
	if (job->to != UVMP_CPU && b->cold != 0 && has_lost(s, job, pages))
		uvmpi_memory_mark(s, job->to, job->block, UVMP_MARK_DISCARDED);
}
