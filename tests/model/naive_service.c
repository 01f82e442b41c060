/* Events, queries, and which operation runs next. The service pass is in naive_service_*.c, as docs/engine.md tells it: every
 * paragraph of it is a function there. Sets of pages are arrays of flags; sets of ranges, blocks and channels are arrays with
 * holes. */
#include "naive_service_internal.h"

#include <stdlib.h>
#include <string.h>

#include "naive_withdraw.h"

uint64_t naive_service_due_ns(const struct naive_service *n)
{
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < NAIVE_SPACES; i++) {
		const struct naive_thrash *t = &n->space[i].thrash;

		if (n->space[i].exists && t->waiting > 0 && t->fifo[0].deadline < first)
			first = t->fifo[0].deadline;
	}
	return first;
}

/* At most 64 pages a group. */
static void unpin_pages(struct naive_service *n)
{
	uint32_t number, page, pages = 0;

	for (uint32_t i = 0; i < NAIVE_SPACES; i++)
		while (n->space[i].exists && pages < 64 &&
		       naive_thrash_unpin(&n->space[i].thrash, n->now, &number, &page)) {
			struct block *b = n->block[number];
			bool flag[PAGES] = {false};

			flag[page] = true;
			pages++;
			for (uint32_t k = 0; k < b->places; k++)
				if (!in(b->range->accessed_by, b->place[k]) &&
				    !in(b->page[page].resident, b->place[k]))
					naive_unmap(n, UVMP_CAUSE_PIN, b, b->place[k], flag, 0);
			naive_emit_pages(n, UVMP_ACTION_UNPIN, UVMP_CAUSE_PIN, b, flag);
		}
	(void)naive_perform_group(n);
}

/* GPUs in turn; 0: none. */
static uint32_t next_gpu(const struct naive_service *n)
{
	for (uint32_t i = 1; i < n->procs; i++) {
		uint32_t gpu = 1 + (n->last_gpu + i - 1) % (n->procs - 1);

		if (naive_is_pending(&n->gpu[gpu]))
			return gpu;
	}
	return 0;
}

void naive_service_run(struct naive_service *n)
{
	for (;;) {
		uint32_t gpu = next_gpu(n);

		if (n->requests > 0) {
			naive_serve_request(n);
		} else if (naive_service_due_ns(n) <= n->now + 20000u) {
			unpin_pages(n);
		} else if (gpu != 0) {
			n->last_gpu = gpu;
			naive_bottom_half(n, gpu);
		} else {
			for (gpu = 1; gpu < n->procs && !naive_has_notes(&n->gpu[gpu]);)
				gpu++;
			if (gpu == n->procs)
				return;
			naive_serve_notes(n, gpu);
		}
	}
}

struct naive_service *naive_service_new(const struct uvmp_service_params *params, naive_service_group *group,
                                        void *host)
{
	struct naive_service *n = calloc(1, sizeof(*n));

	n->policy = *params->policy;
	n->processors = *params->processors;
	n->procs = n->processors.count;
	n->page_bytes = params->page_bytes;
	n->max_spaces = params->spaces;
	n->max_ranges = params->ranges;
	n->max_instances = params->instances;
	n->max_requests = params->requests;
	n->has_counters = n->policy.counters == UVMP_COUNTERS_ON ||
	                  (n->policy.counters == UVMP_COUNTERS_DRIVER && params->has_ats);
	n->maps_evicted = n->has_counters && n->policy.map_on_eviction;
	n->host_group = group;
	n->host = host;
	n->group = calloc(8192, sizeof(*n->group));
	n->status = calloc(8192, sizeof(*n->status));
	n->moved = calloc(8192, sizeof(*n->moved));
	n->fetch = calloc(1, sizeof(*n->fetch));
	for (uint32_t i = 0; i < NAIVE_BLOCKS; i++)
		n->block[i] = calloc(1, sizeof(*n->block[i]));
	for (uint32_t p = 1; p < n->procs; p++) {
		const struct uvmp_service_gpu *from = &params->gpu[p - 1];
		struct gpu *g = &n->gpu[p];
		struct uvmp_pmm_params pmm = {(uint32_t)(from->memory_bytes / UVMP_ROOT_CHUNK_BYTES),
		                              from->splits, n->policy.pma_order, true, n->policy.quirks,
		                              n->page_bytes == 16384 ? 16384 : 4096};

		g->pmm = calloc(1, sizeof(*g->pmm));
		naive_pmm_init(g->pmm, &pmm);
		if (n->policy.evict != UVMP_EVICT_LRU)
			g->order_pages = uvmp_policy_unit_pages(&n->policy);
		g->unit_pages = g->order_pages * 4096 / n->page_bytes;
		g->counts_units = from->counts_units && g->unit_pages != 0;
		g->memory_pages = (g->order_pages == 0 ? (uint64_t)pmm.roots * UVMP_ROOT_CHUNK_BYTES : from->memory_bytes) /
		                  n->page_bytes;
		g->capacity = from->fault_entries;
		g->entry = calloc(g->capacity, sizeof(*g->entry));
		g->notes = from->notes;
		g->note = calloc(g->notes + 1, sizeof(*g->note));
		g->replay.is_prefetch_enabled = true;
	}
	return n;
}

void naive_service_free(struct naive_service *n)
{
	for (uint32_t i = 0; i < NAIVE_SPACES; i++)
		if (n->space[i].exists)
			naive_thrash_free(&n->space[i].thrash);
	for (uint32_t p = 1; p < n->procs; p++) {
		free(n->gpu[p].pmm);
		free(n->gpu[p].entry);
		free(n->gpu[p].note);
	}
	for (uint32_t i = 0; i < NAIVE_BLOCKS; i++)
		free(n->block[i]);
	free(n->fetch);
	free(n->status);
	free(n->moved);
	free(n->group);
	free(n);
}

void naive_service_set_time(struct naive_service *n, uint64_t now_ns)
{
	n->now = now_ns;
}

enum uvmp_status naive_service_bind(struct naive_service *n, uint32_t gpu, uint32_t aperture,
                                    uint64_t instance, uint32_t subcontext, uint64_t space)
{
	struct channel *unused = NULL;
	uint32_t channels = 0;

	for (uint32_t i = 0; i < NAIVE_CHANNELS; i++) {
		struct channel *c = &n->channel[i];

		channels += c->exists;
		if (!c->exists && unused == NULL)
			unused = c;
		if (c->exists && c->gpu == gpu && c->aperture == aperture && c->instance == instance &&
		    c->subcontext == subcontext)
			return UVMP_ERR_CONFLICT;
	}
	if (channels >= n->max_instances || naive_make_space(n, space) == NULL)
		return UVMP_ERR_SPACE;
	*unused = (struct channel){true, gpu, aperture, subcontext, instance, space};
	return UVMP_OK;
}

enum uvmp_status naive_service_unbind(struct naive_service *n, uint32_t gpu, uint32_t aperture,
                                      uint64_t instance, uint32_t subcontext)
{
	for (uint32_t i = 0; i < NAIVE_CHANNELS; i++) {
		struct channel *c = &n->channel[i];

		if (c->exists && c->gpu == gpu && c->aperture == aperture && c->instance == instance &&
		    c->subcontext == subcontext) {
			c->exists = false;
			naive_drop_space(n, c->space);
			return UVMP_OK;
		}
	}
	return UVMP_ERR_STATE;
}

enum uvmp_status naive_service_add_range(struct naive_service *n, uint64_t space, uvmp_addr base,
                                         uint64_t bytes, enum uvmp_right right, uint32_t home)
{
	struct range *unused = NULL;
	uint32_t ranges = 0;

	for (uint32_t i = 0; i < NAIVE_RANGES; i++) {
		struct range *r = &n->range[i];

		ranges += r->exists;
		if (!r->exists && unused == NULL)
			unused = r;
		if (r->exists && r->space == space && r->base <= base + bytes - 1 && base <= r->end)
			return UVMP_ERR_CONFLICT;
	}
	if (ranges >= n->max_ranges || naive_make_space(n, space) == NULL)
		return UVMP_ERR_SPACE;
	*unused = (struct range){.exists = true,
	                         .space = space,
	                         .base = base,
	                         .end = base + bytes - 1,
	                         .origin = base,
	                         .right = right,
	                         .home = home,
	                         .preferred = NONE};
	return UVMP_OK;
}

static enum uvmp_status enqueue(struct naive_service *n, struct request r)
{
	if (n->requests >= n->max_requests)
		return UVMP_ERR_SPACE;
	r.ticket = ++n->tickets;
	n->request[n->requests++] = r;
	return UVMP_OK;
}

enum uvmp_status naive_service_free_range(struct naive_service *n, uint64_t space, uvmp_addr base)
{
	return enqueue(n, (struct request){.kind = FREE_RANGE, .space = space, .base = base});
}

enum uvmp_status naive_service_free_part(struct naive_service *n, uint64_t space, uvmp_addr base,
                                         uint64_t bytes)
{
	return enqueue(n, (struct request){.kind = FREE_PART, .space = space, .base = base, .bytes = bytes});
}

enum uvmp_status naive_service_advise(struct naive_service *n, uint64_t space, uvmp_addr base, uint64_t bytes,
                                      enum uvmp_advice advice, uint32_t processor)
{
	return enqueue(n, (struct request){.kind = ADVISE,
	                                   .space = space,
	                                   .base = base,
	                                   .bytes = bytes,
	                                   .advice = advice,
	                                   .processor = processor});
}

enum uvmp_status naive_service_migrate(struct naive_service *n, uint64_t space, uvmp_addr base,
                                       uint64_t bytes, uint32_t processor)
{
	return enqueue(n, (struct request){.kind = MIGRATE,
	                                   .space = space,
	                                   .base = base,
	                                   .bytes = bytes,
	                                   .processor = processor});
}

enum uvmp_status naive_service_withdraw(struct naive_service *n, uint64_t space, uvmp_addr base,
                                        uint64_t bytes, uint32_t processor)
{
	bool has_victims = processor != UVMP_CPU && n->gpu[processor].unit_pages != 0 &&
	                   n->policy.evict != UVMP_EVICT_LFU_2M && !in(n->processors.no_memory, processor);

	if (!has_victims)
		return UVMP_ERR_RANGE;
	return enqueue(n, (struct request){.kind = WITHDRAW,
	                                   .space = space,
	                                   .base = base,
	                                   .bytes = bytes,
	                                   .processor = processor});
}

enum uvmp_status naive_service_cpu_fault(struct naive_service *n, uint64_t space, uvmp_addr address,
                                         enum uvmp_access access, uint64_t thread)
{
	return enqueue(n, (struct request){.kind = CPU_FAULT,
	                                   .space = space,
	                                   .base = address / n->page_bytes * n->page_bytes,
	                                   .access = access,
	                                   .thread = thread});
}

enum uvmp_status naive_service_fault(struct naive_service *n, uint32_t gpu, const struct uvmp_fault *fault)
{
	struct gpu *g = &n->gpu[gpu];

	if ((g->put + 1) % g->capacity == g->get)
		return UVMP_ERR_SPACE;
	g->entry[g->put] = *fault;
	g->entry[g->put].is_valid = true;
	g->put = (g->put + 1) % g->capacity;
	return UVMP_OK;
}

enum uvmp_status naive_service_note(struct naive_service *n, uint32_t gpu, const struct uvmp_note *note)
{
	struct gpu *g = &n->gpu[gpu];

	if (g->notes == 0)
		return UVMP_ERR_RANGE;
	if ((g->note_put + 1) % g->notes == g->note_get)
		return UVMP_ERR_SPACE;
	g->note[g->note_put] = *note;
	g->note_put = (g->note_put + 1) % g->notes;
	return UVMP_OK;
}

void naive_service_touch(struct naive_service *n, uint32_t processor, uint64_t space, uvmp_addr address)
{
	struct block *b = naive_find_block(n, space, address);
	uint32_t i;

	if (b == NULL || processor == UVMP_CPU)
		return;
	i = (uint32_t)((address - b->start) / n->page_bytes);
	if (in(b->page[i].resident, processor) && n->gpu[processor].unit_pages != 0) {
		bool pages[PAGES] = {false};

		pages[i] = true;
		naive_touch_units(n, b, processor, pages);
	} else if (in(b->page[i].resident, processor))
		naive_pmm_touch(n->gpu[processor].pmm,
		                b->owned[processor][naive_chunk_around(n, b, i).first].chunk);
}

/* The page has arrived: the newest for orders by recency. Nothing counts it. */
void naive_service_arrive(struct naive_service *n, uint32_t processor, uint64_t space, uvmp_addr address)
{
	struct block *b = naive_find_block(n, space, address);
	bool pages[PAGES] = {false};
	uint32_t i;

	if (b == NULL || processor == UVMP_CPU || n->policy.evict == UVMP_EVICT_LFU_2M)
		return;
	i = (uint32_t)((address - b->start) / n->page_bytes);
	if (!is_on(b, i, processor))
		return;
	n->gpu[processor].hears_arrivals = true;
	pages[i] = true;
	naive_touch_units(n, b, processor, pages);
}

void naive_service_hold(struct naive_service *n, uint32_t processor, uint64_t space, uvmp_addr address,
                        uint64_t until_ns)
{
	struct block *b = naive_find_block(n, space, address);
	uint32_t page;

	if (b == NULL || n->gpu[processor].order_pages < 16 || !b->is_known[processor])
		return;
	page = (uint32_t)((address - b->start) / n->page_bytes);
	naive_hold(&n->holds, processor, b->number, page / n->gpu[processor].unit_pages, until_ns);
}

enum uvmp_status naive_service_page(const struct naive_service *n, uint64_t space, uvmp_addr address,
                                    struct uvmp_page_state *state)
{
	const struct range *range = naive_find_range((struct naive_service *)(uintptr_t)n, space, address);
	const struct block *b = naive_find_block(n, space, address);
	uint32_t i;

	memset(state, 0, sizeof(*state));
	if (range == NULL)
		return UVMP_ERR_UNKNOWN;
	if (b == NULL) {
		if (range->home == UVMP_CPU) {
			state->resident = state->read = 1;
			state->write = range->right >= UVMP_RIGHT_READ_WRITE;
			state->atomic = range->right >= UVMP_RIGHT_READ_WRITE_ATOMIC;
		}
		return UVMP_OK;
	}
	i = (uint32_t)((address - b->start) / n->page_bytes);
	state->resident = b->page[i].resident;
	state->read = naive_mapped_at(n, &b->page[i], UVMP_RIGHT_READ);
	state->write = naive_mapped_at(n, &b->page[i], UVMP_RIGHT_READ_WRITE);
	state->atomic = naive_mapped_at(n, &b->page[i], UVMP_RIGHT_READ_WRITE_ATOMIC);
	state->is_duplicated = b->page[i].is_duplicated;
	state->is_discarded = b->page[i].is_discarded;
	for (uint32_t k = 0; k < NAIVE_SPACES; k++)
		if (n->space[k].exists && n->space[k].id == space) {
			const struct naive_thrash_page *page = &n->space[k].thrash.block[b->number].page[i];

			state->is_pinned = page->pinned;
			state->is_thrashing = page->thrashing;
		}
	return UVMP_OK;
}

void naive_service_count(const struct naive_service *n, uint32_t gpu, struct uvmp_service_counts *counts)
{
	*counts = n->gpu[gpu].counts;
}

void naive_service_used(const struct naive_service *n, uint32_t gpu, uint64_t *owned, uint64_t *resident)
{
	*owned = *resident = 0;
	for (uint32_t k = 0; k < NAIVE_BLOCKS; k++)
		for (uint32_t i = 0; n->block[k]->exists && i < n->block[k]->pages; i++) {
			const struct owned *o = &n->block[k]->owned[gpu][i];

			*owned += o->exists ? o->end - o->first : 0;
			*owned += n->gpu[gpu].unit_pages != 0 && naive_page_counts(n, n->block[k], gpu, i, NULL);
			*resident += in(n->block[k]->page[i].resident, gpu);
		}
}

uint32_t naive_service_waiting(const struct naive_service *n, uint32_t gpu)
{
	const struct gpu *g = &n->gpu[gpu];

	return (g->put + g->capacity - g->get) % g->capacity;
}
