/* remote=auto: pages that a GPU has lost by eviction stay mapped to it, and notifications of its access counters say when
 * they return (decisions/counter_return.c). Once memory has been full, they return only if their block is also chosen, or takes
 * the place of idle data (remote_idle.c). The counters know which parts of a block were used since they were cleared. The
 * residency of the block knows which parts were used since its pages returned last.
 *
 * Once memory has been full, pages of a block that the GPU has not used begin on the CPU in the same way, where the
 * allocation's pages that began there have mostly stayed. Advice takes precedence.
 *
 * Where the ranges that GPUs use are larger than the memory of all GPUs, memory will be full, and a block may begin on the CPU
 * before it is: a block that is used little then never moves. Ranges that no GPU has used yet do not count: a program may allocate
 * more than it uses, and moving is right if the rest fits. But a block that is used much pays up to half a move in addition, and
 * threads wait longer for the CPU's memory than for their GPU's. So it matters whether two conditions hold:
 *
 *   The batch is full: more threads wait than the batch has faults, so that waiting threads do not leave the link idle.
 *
 *   The faults are scattered: fewer than EARLY_GROUP pages fault together in an unused block of the range, in the mean. Threads
 *   that go through whole blocks fault in groups.
 *
 * If both hold, each block may begin on the CPU; if neither holds, blocks move. If one of them holds, at most EARLY_OPEN blocks of
 * the range may be open, and `more`. Blocks are open while their use is not known: until some batches after the oldest began. In
 * full batches that is EARLY_BATCHES: its threads continue at the end of its batch, and have used it during the next one. In
 * smaller batches fewer threads wait, and they need EARLY_PATIENCE batches to use their blocks. As long as notifications wait to
 * be read, blocks stay open. Each block that was open and has not returned by then allows one block more; a return halves `more`.
 * Thus in a range of densely used blocks EARLY_OPEN blocks at a time pay, until uvmp_remote_begins ends the trial. The limit of a
 * sparsely used range doubles.
 *
 * While the number of open blocks is limited, all other blocks move. So batches have EARLY_FAULTS faults at most until
 * EARLY_BATCHES batches after the latest one in which a block opened under the limit: then few blocks move before the use of the
 * open ones is known. Such a batch is full if it has that many faults, as is one that the prefetcher made small (batch.c).
 *
 * Two simplifications bound the state of a range, and both are on purpose:
 *
 *   Open blocks close together, with the oldest one. So a younger block is open for fewer batches, one at least, and a return
 *   after that counts as one of an open block if there are any. A count for each batch was tried: blocks that stay open
 *   for longer let fewer blocks begin on the CPU, and sparse programs were slower.
 *
 *   Open blocks are of one GPU, whose batches are counted. Other GPUs open no block in the range meanwhile: their blocks move, or
 *   begin on the CPU without being counted if both conditions hold. A return on any GPU halves `more`. If the GPU services no
 *   more batches, this lasts until memory is full. */
#include "../base/bits_internal.h"
#include "mapping_internal.h"
#include "memory_internal.h"
#include "operations_internal.h"
#include "remote_idle_internal.h"
#include "remote_internal.h"
#include "space_internal.h"

static struct uvmp_region part_at(const struct uvmp_service *s, uint32_t part)
{
	uint32_t pages = s->block_pages / UVMP_REMOTE_PARTS;

	return (struct uvmp_region){part * pages, (part + 1u) * pages};
}

static uint32_t parts_of(const struct uvmp_service *s, const uvmp_mask *pages)
{
	uint32_t parts = 0;

	for (uint32_t i = 0; i < UVMP_REMOTE_PARTS; i++)
		parts |= (uint32_t)uvmpi_mask_region_any(pages, part_at(s, i)) << i;
	return parts;
}

/* The pages of the parts that other processors hold, and the GPU does not. */
static void find_pages(const struct uvmp_service *s, const struct block *b, const struct residency *residency,
		       uint32_t parts, uvmp_mask *pages)
{
	uvmp_mask held;

	uvmpi_mask_zero(&held);
	uvmpi_mask_zero(pages);
	EACH_RESIDENCY (at, s, b)
		uvmpi_mask_or(&held, &held, &at->resident);
	uvmpi_mask_andnot(&held, &held, &residency->resident);
	for (uint32_t i = 0; i < UVMP_REMOTE_PARTS; i++)
		if ((parts >> i & 1u) != 0)
			uvmpi_mask_region_set(pages, part_at(s, i));
	uvmpi_mask_and(pages, pages, &held);
}

enum uvmp_rule uvmpi_remote_auto_rule(struct uvmp_service *s, const struct block *b, struct residency *residency,
				      uint64_t accesses, uvmp_mask *pages)
{
	enum uvmp_rule rule;
	uvmp_mask used;

	uvmpi_idle_note(s, b, residency, accesses);
	uvmp_remote_add(&residency->use, parts_of(s, pages), accesses);
	find_pages(s, b, residency, residency->use.parts, &used);
	uvmpi_mask_or(pages, pages, &used);
	rule = s->is_full ? uvmpi_idle_rule(s, residency->proc) : UVMP_RULE_NONE;
	if (rule != UVMP_RULE_NONE)
		return rule;
	if (!uvmp_remote_pays(&residency->use, uvmpi_mask_weight(pages) * s->page_bytes))
		return UVMP_RULE_BELOW;
	if (!s->is_full)
		return UVMP_RULE_LIMIT;
	if (uvmp_remote_is_chosen(&s->return_draws))
		return UVMP_RULE_DRAWN;
	residency->use.spent = 0;
	return UVMP_RULE_NOT_DRAWN;
}

/* -- first faults -- */

#define EARLY_GROUP    2u
#define EARLY_OPEN     2u
#define EARLY_BATCHES  2u
#define EARLY_PATIENCE 8u
#define EARLY_MOST     0x4000u
#define EARLY_SAMPLES  64u /* unused blocks before they count half */
#define EARLY_FAULTS   16u
#define EARLY_ROOM     32u /* used ranges leave less than so small a part of memory */
#define EARLY_BLOCKS   8u  /* a memory of fewer blocks is small */

/* Will memory become full? Yes, if all ranges together exceed the memory of all GPUs, and the ranges in use, this one included,
 * leave less than 1/EARLY_ROOM of it: further ranges will probably be used, and will have no room. If all GPUs
 * together have a small memory, the ranges in use must exceed it: few blocks fit, and those on the CPU would be many of them. */
static bool is_short(const struct uvmp_service *s, const struct range *range)
{
	uint64_t used = s->used_bytes + (range->is_used ? 0 : range->last - range->start + 1u), pages = uvmpi_memory_pages(s);
	uint64_t room = pages < EARLY_BLOCKS * s->block_pages ? 0 : pages / EARLY_ROOM;

	return uvmpi_memory_is_exceeded(s) && used / s->page_bytes > pages - room;
}

static bool is_scattered(const struct early_starts *early)
{
	return early->faults < EARLY_GROUP * early->blocks;
}

static void count_group(struct early_starts *early, uint32_t faults)
{
	early->faults = (uint16_t)(early->faults + faults);
	if (++early->blocks == EARLY_SAMPLES) {
		early->faults /= 2u;
		early->blocks /= 2u;
	}
}

/* Open blocks that have not returned in time, by the batches of their GPU, allow more blocks. Its latest batch says how long. */
static void close_open(const struct uvmp_service *s, struct early_starts *early)
{
	uint32_t batches, least;

	if (early->open == 0 || uvmpi_counter_is_due(s, early->gpu))
		return;
	batches = (uint32_t)s->gpu[early->gpu].counts.batches - early->batch;
	least = batch_is_full(&s->gpu[early->gpu]) ? EARLY_BATCHES : EARLY_PATIENCE;
	if (batches < least)
		return;
	early->more = (uint16_t)minimum((uint32_t)early->more + early->open, EARLY_MOST);
	early->open = 0;
}

/* May the GPU open one more block? */
static bool may_open(const struct early_starts *early, uint32_t gpu)
{
	return early->open == 0 || (early->gpu == gpu && early->open < EARLY_OPEN + early->more);
}

/* May a block with so many faulted pages begin on the CPU, although memory is not full yet? */
static bool may_begin_early(const struct uvmp_service *s, struct range *range, uint32_t gpu, uint32_t faulted)
{
	struct early_starts *early = &range->early_starts;

	count_group(early, faulted);
	close_open(s, early);
	if (is_scattered(early) && batch_is_full(&s->gpu[gpu]))
		return true;
	return (is_scattered(early) || batch_is_full(&s->gpu[gpu])) && may_open(early, gpu);
}

static void begun_early(struct uvmp_service *s, struct early_starts *early, uint32_t gpu)
{
	if (!is_scattered(early) || !batch_is_full(&s->gpu[gpu]))
		s->gpu[gpu].opening_batch = (uint32_t)s->gpu[gpu].counts.batches;
	if (early->open == 0) {
		early->gpu = (uint8_t)gpu;
		early->batch = (uint32_t)s->gpu[gpu].counts.batches;
	}
	if (early->gpu == gpu)
		early->open = (uint16_t)minimum(early->open + 1u, EARLY_MOST);
}

static void returned_early(struct early_starts *early, uint32_t gpu)
{
	early->more /= 2u;
	early->open = (uint16_t)(early->open - (early->open != 0 && early->gpu == gpu));
}

uint32_t uvmpi_remote_auto_batch(const struct uvmp_service *s, uint32_t gpu)
{
	const struct gpu *g = &s->gpu[gpu];
	bool has_open = g->opening_batch != 0 && !s->is_full &&
			(uint32_t)g->counts.batches - g->opening_batch < EARLY_BATCHES;

	return has_open ? minimum(g->params.max_batch, EARLY_FAULTS) : g->params.max_batch;
}

/* Is it for this module to say where the GPU uses the pages? */
static bool is_free(const struct uvmp_service *s, const struct range *range, uint32_t gpu)
{
	return s->maps_evicted && s->gpu[gpu].note_capacity != 0 && range->preferred == UVMP_PROC_NONE &&
	       range->duplication != UVMP_DUPLICATION_ENABLED && (range->accessed_by & BIT(gpu)) == 0 &&
	       (s->processors.can_access[gpu] & BIT(UVMP_CPU)) != 0;
}

/* Does the GPU neither hold nor map a page of the block? */
static bool is_unused(const struct residency *residency)
{
	uvmp_mask used;

	if (residency == NULL)
		return true;
	residency_mapped(residency, &used);
	uvmpi_mask_or(&used, &used, &residency->resident);
	return uvmpi_mask_is_empty(&used);
}

/* The pages that only the CPU holds. */
static void find_on_cpu(struct uvmp_service *s, const struct block *b, uvmp_mask *pages)
{
	uvmpi_block_residents(s, b);
	*pages = s->holders[UVMP_CPU];
	for (uint32_t p = UVMP_CPU + 1u; p < s->processors.count; p++)
		uvmpi_mask_andnot(pages, pages, &s->holders[p]);
}

void uvmpi_remote_auto_begin(struct uvmp_service *s, handle h, uint32_t gpu, const uvmp_mask *faulted)
{
	struct block *b = block_at(s, h);
	struct range *range = range_of(s, b);
	struct residency *residency;
	uvmp_mask pages;

	if (!is_free(s, range, gpu) || (!s->is_full && !is_short(s, range)) || !is_unused(uvmpi_residency_find(s, b, gpu)))
		return;
	find_on_cpu(s, b, &pages);
	if (uvmpi_mask_is_empty(&pages) || (!s->is_full && !may_begin_early(s, range, gpu, uvmpi_mask_weight(faulted))) ||
	    !uvmp_remote_begins(&range->first_faults, uvmpi_mask_weight(&pages) * s->page_bytes))
		return;
	residency = uvmpi_residency_make(s, b, gpu);
	if (residency == NULL) /* then the block service reports it */
		return;
	residency->has_begun_there = true;
	uvmpi_idle_leave(s, b, residency);
	if (!s->is_full)
		begun_early(s, &range->early_starts, gpu);
	uvmpi_mapping_map_remote(
		s, h, gpu, &pages,
		(struct reason){.cause = UVMP_CAUSE_COUNTER, .rule = (uint8_t)(s->is_full ? UVMP_RULE_FULL : UVMP_RULE_SHORT)});
}

void uvmpi_remote_auto_returned(struct uvmp_service *s, handle h, uint32_t gpu, const uvmp_mask *pages)
{
	struct block *b = block_at(s, h);
	struct range *range = range_of(s, b);
	struct residency *residency = uvmpi_residency_find(s, b, gpu);

	uvmp_remote_moved(&residency->use);
	if (!residency->has_begun_there)
		return;
	uvmp_remote_returned(&range->first_faults, uvmpi_mask_weight(pages) * s->page_bytes);
	returned_early(&range->early_starts, gpu);
}
