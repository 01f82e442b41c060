/* Delayed migration: a GPU reads a page over the link until a migration pays off (UVM Smart, IPDPS'20;
 * [uvmsmart: counter-register, access-counting, round-trips, migrate-or-remote]).
 *
 * Each block counts the accesses and round trips of its basic blocks of 64 KiB. Serviced faults count, and so
 * do the local and remote accesses of all GPUs that the host reports. A faulted access counts again when it
 * succeeds, if the host reports accesses [uvmsmart: retry-counted]. In UVM Smart the GPU's memory unit counts,
 * and decides at each TLB miss without a fault. Here the driver decides, at as few faults as possible:
 *
 *   fault       uvmp_remote_decide, for data that only the CPU has. If the verdict is remote, the page is
 *               mapped for reading on the CPU, together with all pages of the block for which a read would
 *               give the same verdict. A store faults again, and migrates.
 *
 *   access      to a page mapped on the CPU: the decision is repeated, with one access more. If the verdict is
 *               migrate, the page has become hot.
 *
 *   hot pages   wait in their block, and blocks in a list, in the order in which they got their first one.
 *               All hot pages of a block migrate in one job, with prefetching, as faulted pages do.
 *
 *   eviction    adds one round trip when an eviction of pages of a block begins [uvmsmart: round-trips].
 *               Evicted pages that a read would leave on the CPU are mapped for reading; other pages fault.
 *
 * Advice takes precedence: if a range has a preferred location, read duplication, or the GPU among its
 * accessed-by processors, no decision is made here. Pages without residency are populated on the GPU; in UVM
 * Smart all data begins on the host. The thrashing detector sees only pages that migrate. Memory is
 * over-subscribed once an allocation did not fit [uvmsmart: oversubscription-switch], until the host reports a
 * device synchronisation, which also clears the counters [uvmsmart: device-synchronisation]. In UVM Smart a
 * remote access fills an SM's TLB, and hits there need no decision [uvmsmart: remote-page-in-list]; here each
 * access is decided, unless the host asks at its TLB misses (uvmp_service_miss). Then no page becomes hot: the
 * access faults, and the fault is decided although the GPU maps the page.
 *
 * A block holds hot pages of one GPU at a time; the next access of another GPU repeats the decision. Hot pages
 * that cannot migrate, because memory is full or a copy failed, stay mapped without a report. Their next access
 * repeats the decision.
 */
#include "../base/bits_internal.h"
#include "mapping_internal.h"
#include "memory_internal.h"
#include "remote_internal.h"
#include "space_internal.h"

/* -- counting [uvmsmart: counter-register, access-counting] -- */

/* The block\'s counters; NULL: accesses are not counted, or the arena is full. */
static struct counters *counted(struct uvmp_service *s, struct block *b)
{
	return remote_is_counting(s) ? uvmpi_counters_make(s, b) : NULL;
}

static void weigh_block(struct uvmp_service *s, handle h)
{
	EACH_RESIDENCY(at, s, block_at(s, h)) {
		for (uint32_t page = 0; page < block_at(s, h)->pages; page += counter_pages(s))
			uvmpi_memory_weigh(s, at->proc, h, page);
	}
}

/* One leaf was full: the trees of all other blocks are halved too. */
static void halve_others(struct uvmp_service *s, const struct counters *but)
{
	for (uint32_t i = 0; i < s->buckets; i++) {
		for (handle h = s->bucket[i]; h != 0; h = block_at(s, h)->chain) {
			struct counters *c = counters_of(s, block_at(s, h));

			if (c == NULL)
				continue;
			uvmp_counter_halve(&c->tree, c != but);
			weigh_block(s, h);
		}
	}
}

static void record(struct uvmp_service *s, struct counters *c, uint32_t page, bool is_write)
{
	struct uvmp_counter_access access = {.block = page / counter_pages(s), .is_write = is_write};
	uint32_t before = uvmp_counter_tree_count(&c->tree, access.block);

	(void)uvmp_counter_record(&c->tree, 1, &access, s->policy.quirks);
	/* 0: the count overflowed into the round trips [uvmsmart: counter-overflow] */
	if (before == UVMP_COUNTER_COUNT_MAX && uvmp_counter_tree_count(&c->tree, access.block) != 0)
		halve_others(s, c);
}

/* -- deciding [uvmsmart: migrate-or-remote] -- */

/* Would a basic block migrate at its `more`-th access from now? */
static bool migrates(const struct uvmp_service *s, uint32_t gpu, const struct counters *c, uint32_t leaf,
		     uint32_t more, bool is_write)
{
	const struct gpu *g = &s->gpu[gpu];
	struct uvmp_remote_facts facts = {.count = uvmp_counter_tree_count(&c->tree, leaf) + more,
					  .rounds = uvmp_counter_tree_rounds(&c->tree, leaf),
					  .is_write = is_write,
					  .is_oversubscribed = s->is_full,
					  .pressure = {.total_pages = g->capacity_pages,
						       .free_pages = uvmpi_memory_free_pages(g),
						       .incoming_pages = g->coming_pages,
						       .buffer_percent = s->policy.free_buffer,
						       .quirks = s->policy.quirks}};
	struct uvmp_remote_verdict verdict = {.migrates = true};

	(void)uvmp_remote_decide(&s->tuned.remote, &facts, &verdict);
	return verdict.migrates;
}

/* Does this module decide about the block's pages on the CPU? Advice takes precedence. */
static bool is_free(const struct uvmp_service *s, const struct block *b, uint32_t gpu)
{
	const struct range *range = range_of(s, b);

	return remote_has_counts(s) && range->preferred == UVMP_PROC_NONE &&
	       range->duplication != UVMP_DUPLICATION_ENABLED && (range->accessed_by & BIT(gpu)) == 0 &&
	       (s->processors.can_access[gpu] & BIT(UVMP_CPU)) != 0;
}

/* Keeps the pages that only the CPU holds and that a read now would not migrate. */
static void keep_staying(const struct uvmp_service *s, const struct block *b, uint32_t gpu,
			 const struct counters *c, uvmp_mask *pages)
{
	for (uint32_t leaf = 0; leaf < c->tree.blocks; leaf++) {
		struct uvmp_region region = {leaf * counter_pages(s), (leaf + 1u) * counter_pages(s)};

		if (uvmpi_mask_region_any(pages, region) && migrates(s, gpu, c, leaf, 1, false))
			uvmpi_mask_region_clear(pages, region);
	}
	EACH_RESIDENCY(at, s, b) {
		if (at->proc == UVMP_CPU)
			uvmpi_mask_and(pages, pages, &at->resident);
		else
			uvmpi_mask_andnot(pages, pages, &at->resident);
	}
}

/* -- faults -- */

bool uvmpi_remote_keeps_counted(struct uvmp_service *s, handle h, uint32_t gpu, uint32_t page,
				enum uvmp_access access)
{
	struct block *b = block_at(s, h);
	struct counters *c = uvmpi_counters_make(s, b);
	bool is_write = access >= UVMP_ACCESS_WRITE;

	if (c == NULL)
		return false;
	record(s, c, page, is_write);
	if (!is_free(s, b, gpu) || !block_is_on_cpu(s, b, page) ||
	    migrates(s, gpu, c, page / counter_pages(s), 0, is_write) ||
	    uvmpi_residency_make(s, b, gpu) == NULL) /* then the block service reports it */
		return false;
	return true;
}

void uvmpi_remote_map(struct uvmp_service *s, handle h, uint32_t gpu, const uvmp_mask *remote,
		      const uvmp_mask *arriving)
{
	const struct block *b = block_at(s, h);
	uvmp_mask pages;

	uvmpi_mask_zero(&pages);
	uvmpi_mask_region_set(&pages, (struct uvmp_region){0, b->pages});
	keep_staying(s, b, gpu, counters_of(s, b), &pages);
	uvmpi_mask_or(&pages, &pages, remote);
	uvmpi_mask_andnot(&pages, &pages, arriving); /* a store to the same page */
	uvmpi_mapping_map_reads(s, h, gpu, &pages, because(UVMP_CAUSE_COUNTER));
}

/* -- accesses -- */

void uvmpi_remote_use(struct uvmp_service *s, uint32_t gpu, handle h, uint32_t page, bool is_write)
{
	struct block *b = block_at(s, h);
	const struct residency *residency = uvmpi_residency_find(s, b, gpu);
	bool is_there = residency != NULL && (uvmp_mask_test(&residency->resident, page) ||
					      residency_right(residency, page) != UVMP_RIGHT_NONE);
	struct counters *c = is_there ? counted(s, b) : NULL;

	if (c == NULL)
		return;
	record(s, c, page, is_write);
	uvmpi_memory_weigh(s, gpu, h, page);
	if (!s->gpu[gpu].asks_at_misses && is_free(s, b, gpu) && block_is_on_cpu(s, b, page) &&
	    migrates(s, gpu, c, page / counter_pages(s), 0, is_write))
		uvmpi_hot_add(s, h, c, gpu, page);
}

bool uvmpi_remote_miss(const struct uvmp_service *s, uint32_t gpu, handle h, uint32_t page, bool is_write)
{
	const struct block *b = block_at(s, h);
	const struct counters *c = counters_of(s, b);

	return remote_is_counting(s) && c != NULL && is_free(s, b, gpu) && block_is_on_cpu(s, b, page) &&
	       migrates(s, gpu, c, page / counter_pages(s), 0, is_write);
}

bool uvmpi_remote_is_asked(const struct uvmp_service *s, const struct block *b, uint32_t gpu, uint32_t page)
{
	return s->gpu[gpu].asks_at_misses && remote_is_counting(s) && is_free(s, b, gpu) && block_is_on_cpu(s, b, page);
}

/* -- evictions [uvmsmart: round-trips] -- */

void uvmpi_remote_leave(struct uvmp_service *s, handle h, uint32_t gpu, const uvmp_mask *pages)
{
	const struct block *b = block_at(s, h);
	struct counters *c = counters_of(s, b);
	uvmp_mask rest;

	if (c == NULL || uvmpi_mask_is_empty(pages))
		return;
	uvmp_counter_tree_round_trip(&c->tree, s->policy.quirks);
	if (s->policy.quirks) /* [uvmsmart: written-mark-stays]: marks survive the eviction */
		return;
	uvmpi_mask_andnot(&rest, &uvmpi_residency_find(s, b, gpu)->resident, pages);
	for (uint32_t leaf = 0; leaf < c->tree.blocks; leaf++) {
		if (!uvmpi_mask_region_any(&rest, (struct uvmp_region){leaf * counter_pages(s),
								      (leaf + 1u) * counter_pages(s)}))
			uvmp_counter_tree_clear_marks(&c->tree, leaf);
	}
}

void uvmpi_remote_map_evicted(struct uvmp_service *s, handle h, uint32_t gpu, const uvmp_mask *pages,
			      uvmp_addr for_address)
{
	const struct block *b = block_at(s, h);
	const struct counters *c = counters_of(s, b);
	uvmp_mask stay = *pages;

	if (c == NULL || !is_free(s, b, gpu))
		return;
	keep_staying(s, b, gpu, c, &stay);
	uvmpi_mapping_map_reads(s, h, gpu, &stay, because_of_room(for_address));
}
