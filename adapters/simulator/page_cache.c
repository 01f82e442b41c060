/* A cache of pages: see page_cache.h.
 *
 * Order of the engine's calls at a fault: batch, victim, remove and left of the page that leaves, touch of the page that
 * arrives, and touch of the access that is repeated. An access to a resident page is one touch. */
#include "page_cache.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "engine_setup.h"
#include "host.h"
#include "interrupt.h"
#include "progress.h"

struct page_cache {
	struct host host;
	struct uvmp_evict order;
	uint64_t random;
	uint64_t capacity_pages;
	uint64_t faults, kernels;
	uint8_t *was_touched; /* of each unit */
	void *state;	      /* of the order */
	struct sim_piece piece; /* of the last access; its first page has unit first_unit; range NULL: none */
	uint32_t first_unit;
	uint32_t agent; /* that makes all accesses */
	bool has_agent;
};

/* -- which runs -- */

/* Does the order decide by the calls of this file alone? A plugin may learn from others. */
static bool is_order_of_pages(const struct uvmp_policy *policy)
{
	const struct uvmp_evict_traits *order = uvmp_policy_evict_traits(policy);

	return policy->evict != UVMP_EVICT_PLUGIN && order->unit_pages == 1 && !order->is_chunked && !order->has_granularity &&
	       !order->has_touches && !order->has_tree && !order->counts_uses && !order->spares_incomplete;
}

/* The thrashing detector watches for pages that move between processors; here all move to the same one. */
bool page_cache_suits(const struct sim_run *run)
{
	static const char text[] = "prefetch=none evict=lru4k";
	char wanted[UVMP_POLICY_TEXT_MAX], given[UVMP_POLICY_TEXT_MAX];
	struct uvmp_policy plain;

	if (run->log.file || run->observers || !is_order_of_pages(run->policy) ||
	    uvmp_policy_parse(text, sizeof(text) - 1u, &plain, NULL) != UVMP_OK)
		return false;
	plain.evict = run->policy->evict;
	plain.reserve = run->policy->reserve;
	plain.thrash = run->policy->thrash;
	return uvmp_policy_print(&plain, wanted, sizeof(wanted)) == UVMP_OK &&
	       uvmp_policy_print(run->policy, given, sizeof(given)) == UVMP_OK && strcmp(wanted, given) == 0;
}

/* -- accesses -- */

/* Units are the pages of the simulator's blocks, 512 to a block. */
static bool find_range(struct page_cache *c, uint64_t address)
{
	uint32_t page;
	const struct sim_block *block = space_find(&c->host.space, address, &page);

	if (!block || block->range->is_device)
		return false;
	c->piece = c->host.space.found;
	c->first_unit = c->piece.range->block[0].number * UVMP_MASK_BITS;
	return true;
}

static bool find_unit(struct page_cache *c, uint64_t address, uint32_t *unit)
{
	if (!c->piece.range || address < c->piece.start || address > c->piece.last) {
		if (!find_range(c, address))
			return false;
	}
	*unit = c->first_unit + (uint32_t)((address - c->piece.start) / PAGE_BYTES);
	return true;
}

/* False: the order names no victim. */
static bool evict(struct page_cache *c)
{
	uint32_t victim;

	return uvmp_evict_victim(&c->order, &c->random, &victim) == UVMP_OK &&
	       uvmp_evict_remove(&c->order, victim) == UVMP_OK &&
	       uvmp_evict_left(&c->order, victim, 1, 0) == UVMP_OK;
}

static bool fault(struct page_cache *c, uint32_t unit)
{
	(void)uvmp_evict_batch(&c->order);
	if (c->order.count >= c->capacity_pages && !evict(c))
		return false;
	c->faults++;
	c->host.result->pages_touched += c->was_touched[unit] == 0;
	c->was_touched[unit] = 1;
	return uvmp_evict_touch(&c->order, unit) == UVMP_OK;
}

static bool access_row(struct page_cache *c, const struct source_row *row)
{
	uint32_t unit;

	if (row->is_cpu || (c->has_agent && row->agent != c->agent) || row->access == UVMP_ACCESS_PREFETCH ||
	    !find_unit(c, row->address, &unit))
		return false;
	c->agent = row->agent;
	c->has_agent = true;
	if (!uvmp_evict_contains(&c->order, unit) && !fault(c, unit))
		return false;
	c->host.result->accesses++;
	return uvmp_evict_touch(&c->order, unit) == UVMP_OK;
}

/* -- the run -- */

/* After the ranges, before the first access. */
static bool open_cache(struct page_cache *c)
{
	uint64_t units = (uint64_t)c->host.space.numbers * UVMP_MASK_BITS;
	enum uvmp_evictor evictor = c->host.params.run.policy->evict;
	size_t bytes;

	if (!host_can_open(&c->host) || units > UVMP_UNITS_MAX)
		return false;
	for (size_t i = 0; i < c->host.space.ranges; i++)
		if (c->host.space.range[i]->is_fresh) /* pages without contents are not copied */
			return false;
	bytes = uvmp_evict_size(evictor, (uint32_t)units);
	c->state = bytes != 0 ? malloc(bytes) : NULL;
	c->was_touched = array_zeros(units, 1);
	if (!c->state || !c->was_touched ||
	    uvmp_evict_init(&c->order, evictor, (uint32_t)units, c->state, bytes) != UVMP_OK)
		return false;
	c->order.reserve_percent = c->host.params.run.policy->reserve;
	c->random = c->host.params.run.seed;
	c->capacity_pages = host_capacity_bytes(&c->host) / PAGE_BYTES;
	return true;
}

static bool is_interrupted(struct page_cache *c)
{
	const struct source *source = c->host.source;

	if (interrupt_caught != 0)
		return true;
	if (c->host.result->accesses % PROGRESS_EVERY == 0) {
		struct progress_at at = {c->host.result->accesses, source->done,	source->total,
					 c->kernels,		   source->kernel_done, source->kernel_total};

		progress_show(&at, 1);
	}
	return false;
}

static enum page_cache_end run_rows(struct page_cache *c)
{
	struct source_row row;

	for (;;) {
		c->host.source->next(c->host.source, &row);
		if (is_interrupted(c)) {
			(void)host_fail(&c->host, "interrupted");
			return PAGE_CACHE_INTERRUPTED;
		}
		if (row.kind == SOURCE_RANGE) {
			if (c->state || !host_add_range(&c->host, &row.range))
				return PAGE_CACHE_REFUSED;
			continue;
		}
		if (!c->state && !open_cache(c))
			return PAGE_CACHE_REFUSED;
		if (row.kind == SOURCE_END)
			return PAGE_CACHE_DONE;
		c->kernels += row.kind == SOURCE_KERNEL;
		if (row.kind == SOURCE_ACCESS ? !access_row(c, &row)
					      : row.kind != SOURCE_KERNEL && row.kind != SOURCE_SYNC)
			return PAGE_CACHE_REFUSED;
	}
}

/* Each fault is a batch and moves a page; a page that faults again was evicted. */
static void fill_result(const struct page_cache *c, struct sim_result *r)
{
	r->faults_raw = r->faults_coalesced = r->batches = r->replays = c->faults;
	r->far_faults = r->pages_migrated = r->h2d_copies = c->faults;
	r->h2d_bytes = c->faults * PAGE_BYTES;
	r->h2d_least_bytes = r->h2d_most_bytes = c->faults != 0 ? PAGE_BYTES : 0;
	r->refaults = r->pages_thrashed = c->faults - r->pages_touched;
	r->evictions = r->pages_evicted = r->d2h_copies = c->faults - c->order.count;
	r->d2h_bytes = r->d2h_copies * PAGE_BYTES;
	r->d2h_least_bytes = r->d2h_most_bytes = r->d2h_copies != 0 ? PAGE_BYTES : 0;
}

enum page_cache_end page_cache_run(struct source *source, const struct sim_run *run, struct sim_result *result,
				   char error[SOURCE_ERROR_MAX])
{
	struct host_params params = {.run = *run,
				     .page_bytes = PAGE_BYTES,
				     .utlbs = SETUP_UTLBS,
				     .fault_entries = setup_fault_entries(run->policy)};
	struct page_cache *c = calloc(1, sizeof(*c));
	enum page_cache_end end = PAGE_CACHE_REFUSED;

	if (!c)
		return end;
	if (host_init(&c->host, &params, source, result, error))
		end = run_rows(c);
	fill_result(c, result);
	host_close(&c->host, end == PAGE_CACHE_DONE);
	free(c->was_touched);
	free(c->state);
	free(c);
	return end;
}
