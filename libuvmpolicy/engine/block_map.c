/* Block service: mappings of the pages that have arrived
 * [driver: block-service, other-mappings].
 *
 * The decision for a page depends on few facts, and each fact is a set of pages here. So the pages fall into few
 * equivalence classes, and one decision serves a class. A class is named by its first page. */
#include "../base/bits_internal.h"
#include "../base/processor_internal.h"
#include "block_service_internal.h"
#include "job_internal.h"
#include "mapping_internal.h"
#include "memory_internal.h"
#include "space_internal.h"
#include "thrashing_internal.h"

static enum uvmp_access access_of(const struct job *job, uint32_t page)
{
	uint32_t access = 0;

	for (uint32_t bit = 0; bit < 3u; bit++)
		access |= (uint32_t)uvmp_mask_test(&job->access[bit], page) << bit;
	return (enum uvmp_access)access;
}

static void decide_map(const struct uvmp_service *s, const struct job *job, uint32_t page,
		       struct uvmp_map *map)
{
	const struct block *b = block_at(s, job->block);
	const struct range *range = range_of(s, b);
	struct uvmp_map_facts facts = {.requester = job->requester,
				       .to = job->to,
				       .access = access_of(job, page),
				       .right = range->right,
				       .accessed_by = range->accessed_by,
				       .has_preferred = range->preferred != UVMP_PROC_NONE,
				       .preferred = range->preferred,
				       .duplication = range->duplication,
				       .is_duplicated = block_is_duplicated(s, b, page),
				       .is_discarded = block_is_discarded(s, b, page),
				       /* access counters never revoke [driver: counter-policy] */
				       .has_migrated = job->operation == UVMP_OPERATION_ACCESS_COUNTER ||
						       uvmp_mask_test(&job->migrated, page)};
	uint64_t right[3];

	if (uvmp_mask_test(&job->pinned, page))
		facts.thrashing = job->pin_procs[page];
	uvmpi_block_mapped(s, b, page, right);
	facts.read = right[0];
	facts.write = right[1];
	facts.atomic = right[2];
	(void)uvmp_residency_map(&s->processors, &facts,
				 map); /* accesses that the range forbids were cancelled before */
}

/* Keeps the pages that are in the set if `page` is, or not in the set if `page` is not. */
static void keep_same(uvmp_mask *pages, const uvmp_mask *set, uint32_t page)
{
	if (uvmp_mask_test(set, page))
		uvmpi_mask_and(pages, pages, set);
	else
		uvmpi_mask_andnot(pages, pages, set);
}

/* The pages for which decide_map decides as for `page`. A pinned page is a class of its own. */
static void find_class(const struct uvmp_service *s, const struct job *job, const uvmp_mask *pages,
		       uint32_t page, uvmp_mask *class_pages)
{
	const struct block *b = block_at(s, job->block);

	if (uvmp_mask_test(&job->pinned, page)) {
		uvmpi_mask_zero(class_pages);
		uvmp_mask_set(class_pages, page);
		return;
	}
	uvmpi_mask_andnot(class_pages, pages, &job->pinned);
	for (uint32_t bit = 0; bit < 3u; bit++)
		keep_same(class_pages, &job->access[bit], page);
	keep_same(class_pages, &job->migrated, page);
	if (b->cold != 0) {
		keep_same(class_pages, &cold_at(s, b->cold)->duplicated, page);
		keep_same(class_pages, &cold_at(s, b->cold)->discarded, page);
	}
	for (handle at = b->residency; at != 0; at = residency_at(s, at)->next) {
		keep_same(class_pages, &residency_at(s, at)->low, page);
		keep_same(class_pages, &residency_at(s, at)->high, page);
	}
}

/* Divides the pages into classes, and decides for each class. */
static void decide_maps(struct uvmp_service *s, const struct job *job, const uvmp_mask *pages)
{
	uvmp_mask left = *pages;

	uvmpi_mask_zero(&s->classes.first);
	for (uint32_t page = uvmpi_mask_next_set(&left, 0); page < UVMP_MASK_BITS;
	     page = uvmpi_mask_next_set(&left, page)) {
		uvmp_mask_set(&s->classes.first, page);
		find_class(s, job, &left, page, &s->classes.pages[page]);
		uvmpi_mask_andnot(&left, &left, &s->classes.pages[page]);
		decide_map(s, job, page, &s->classes.map[page]);
	}
}

/* The first behind this one; UVMP_MASK_BITS: there is none. */
static uint32_t next_class(const struct map_classes *classes, uint32_t from)
{
	return uvmpi_mask_next_set(&classes->first, from);
}

/* The right that a processor gets on a page; NONE: its mapping stays as it is. */
static uint8_t right_of(const struct job *job, const struct uvmp_map *map, uint32_t proc)
{
	if (proc == job->requester)
		return map->right;
	if ((map->others_atomic & BIT(proc)) != 0)
		return UVMP_RIGHT_READ_WRITE_ATOMIC;
	return (map->others & BIT(proc)) != 0 ? map->others_right : UVMP_RIGHT_NONE;
}

static void revoke_victims(struct uvmp_service *s, const struct job *job)
{
	const struct block *b = block_at(s, job->block);
	struct uvmp_region run;
	uvmp_mask some;

	for (handle at = b->residency; at != 0; at = residency_at(s, at)->next) {
		struct residency *residency = residency_at(s, at);

		for (uint8_t left = UVMP_RIGHT_READ; left <= UVMP_RIGHT_READ_WRITE; left++) {
			uvmpi_mask_zero(&some);
			for (uint32_t first = next_class(&s->classes, 0); first < UVMP_MASK_BITS;
			     first = next_class(&s->classes, first + 1)) {
				const struct uvmp_map *map = &s->classes.map[first];

				if ((map->victims & BIT(residency->proc)) != 0 && map->left == left)
					uvmpi_mask_or(&some, &some, &s->classes.pages[first]);
			}
			if (uvmpi_mask_is_empty(&some))
				continue;
			uvmpi_mapping_revoke(s, job->block, residency, &some, left);
			for (run = uvmpi_mask_next_run(&some, 0); run.end != 0;
			     run = uvmpi_mask_next_run(&some, run.end))
				uvmpi_thrashing_revoked(s, job->block, run, residency->proc);
		}
	}
}

/* The pages on which the processor gains each right. */
static bool gains(const struct uvmp_service *s, const struct job *job, uint32_t proc, uvmp_mask gain[3])
{
	const struct residency *residency = uvmpi_residency_find(s, block_at(s, job->block), proc);
	bool any = false;
	uvmp_mask has;

	for (int i = 0; i < 3; i++)
		uvmpi_mask_zero(&gain[i]);
	uvmpi_mask_zero(&has);
	for (uint32_t first = next_class(&s->classes, 0); first < UVMP_MASK_BITS;
	     first = next_class(&s->classes, first + 1)) {
		uint8_t right = right_of(job, &s->classes.map[first], proc);

		if (right == UVMP_RIGHT_NONE)
			continue;
		if (residency)
			residency_has(residency, right, &has);
		uvmpi_mask_or(&gain[right - 1], &gain[right - 1], &s->classes.pages[first]);
		uvmpi_mask_andnot(&gain[right - 1], &gain[right - 1], &has);
		any = any || !uvmpi_mask_is_empty(&gain[right - 1]);
	}
	return any;
}

static void map_processor(struct uvmp_service *s, struct job *job, uint32_t proc)
{
	struct residency *residency;
	uvmp_mask gain[3];

	if (!gains(s, job, proc, gain))
		return;
	residency = uvmpi_residency_make(s, block_at(s, job->block), proc);
	if (!residency) {
		if (proc == job->requester) /* it would fault again without end */
			job->error = UVMP_ERR_NO_MEMORY;
		return;
	}
	for (uint8_t right = UVMP_RIGHT_READ; right <= UVMP_RIGHT_READ_WRITE_ATOMIC; right++) {
		struct reason reason = because(job->cause);
		struct uvmp_action *a;

		if (uvmpi_mask_is_empty(&gain[right - 1]))
			continue;
		if (uvmpi_mask_intersects(&gain[right - 1], &job->pinned))
			reason.cause = UVMP_CAUSE_PIN;
		else if (proc != job->requester)
			reason.cause = UVMP_CAUSE_HINT;
		a = uvmpi_mapping_map(s, job->block, residency, &gain[right - 1], right, reason);
		a->from = (uint8_t)job->to;
		if (reason.cause == UVMP_CAUSE_PIN)
			a->throttles = job_throttles(job, &gain[right - 1]);
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

void uvmpi_block_map(struct uvmp_service *s, struct job *job, const uvmp_mask *pages)
{
	struct block *b = block_at(s, job->block);
	uvmp_mask level[3], kept;
	enum uvmp_right highest;

	for (int i = 0; i < 3; i++)
		uvmpi_mask_zero(&level[i]);
	uvmpi_mask_zero(&kept);
	decide_maps(s, job, pages);
	for (uint32_t first = next_class(&s->classes, 0); first < UVMP_MASK_BITS;
	     first = next_class(&s->classes, first + 1)) {
		const struct uvmp_map *map = &s->classes.map[first];

		uvmpi_mask_or(&level[map->right - 1], &level[map->right - 1], &s->classes.pages[first]);
		if (map->leaves_discarded)
			uvmpi_mask_or(&kept, &kept, &s->classes.pages[first]);
	}
	highest = uvmp_residency_map_levels(level, &job->pinned, s->policy.quirks);
	for (uint32_t first = next_class(&s->classes, 0); first < UVMP_MASK_BITS;
	     first = next_class(&s->classes, first + 1)) {
		if (s->classes.map[first].right > highest)
			s->classes.map[first].others = s->classes.map[first].others_atomic = 0;
	}
	if (b->cold != 0)
		uvmpi_mask_andnot(&cold_at(s, b->cold)->discarded, &cold_at(s, b->cold)->discarded, &kept);
	revoke_victims(s, job);
	if ((uvmpi_accessible_from(&s->processors, job->to) & BIT(job->requester)) != 0)
		map_processor(s, job, job->requester);
	for (uint32_t proc = 0; proc < s->processors.count; proc++) {
		if (proc != job->requester)
			map_processor(s, job, proc);
	}
	if (job->to != UVMP_CPU && b->cold != 0 && has_lost(s, job, pages))
		uvmpi_memory_mark(s, job->to, job->block, UVMP_MARK_DISCARDED);
}
