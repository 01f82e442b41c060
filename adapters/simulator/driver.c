/* The untimed driver: see driver.h. Three rooms, each in a file of its own: space.c knows where addresses
 * lie, memory.c which pages are on the GPU and which leave, and this one the way of a fault from the agent
 * that raised it to the replay that ends it. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"
#include "space.h"
#include "uvmpolicy/uvmpolicy.h"

#define GPU          1u
#define VA_SPACE     1u
#define UTLBS        64u   /* agents share uTLBs: agent modulo UTLBS */
#define IDLE_MOST    1000u /* bottom halves that may serve faults and release nobody */
#define BUFFER_LEAST 1024u /* entries of the fault buffer, more if a batch is larger */

/* A warp or thread that may wait for a page. */
struct agent {
	struct sim_block *block;
	uint32_t page;
	enum uvmp_access access;
	uint64_t reported; /* number of replays when its fault was written last */
	bool is_stalled;
	bool is_unreported; /* the fault buffer was full: the fault is still to be written */
};

struct driver {
	const struct uvmp_policy *policy;
	struct driver_result *result;
	char *error;
	struct source *source;
	struct space space;
	struct memory memory;

	struct agent *agent;
	uint32_t agents;
	uint32_t *stalled; /* agents that wait, in the order in which they stalled */
	uint32_t stalled_count, unreported_count;

	struct uvmp_fault_buffer buffer;
	uint32_t put;
	struct uvmp_fault_batch batch;
	uint32_t *order;
	uint32_t next_bin; /* position in order of the next bin to service */
	struct uvmp_utlb utlb[UTLBS];
	struct uvmp_replay_state replay;
	uint64_t random;
	uint64_t released; /* agents that went on */
	uint32_t idle;     /* bottom halves in a row that released nobody */
};

/* The error names the source, and its line if it has any. */
static bool fail(struct driver *d, const char *text)
{
	if (d->source->line != 0)
		snprintf(d->error, SOURCE_ERROR_MAX, "%.200s:%llu: %.270s", d->source->name,
		         (unsigned long long)d->source->line, text);
	else
		snprintf(d->error, SOURCE_ERROR_MAX, "%.200s: %.270s", d->source->name, text);
	return false;
}

/* -- agents and the fault buffer -- */

static bool buffer_write(struct driver *d, uint32_t index)
{
	struct agent *a = &d->agent[index];
	uint32_t after = (d->put + 1u) % d->buffer.capacity;

	if (after == d->buffer.get) {
		d->unreported_count += !a->is_unreported;
		a->is_unreported = true;
		return false;
	}
	d->buffer.entry[d->put] =
	        (struct uvmp_fault){.address = a->block->shape.start + (uint64_t)a->page * PAGE_BYTES,
	                            .aperture = UVMP_APERTURE_VID,
	                            .utlb = index % UTLBS,
	                            .type = UVMP_FAULT_INVALID_PTE,
	                            .access = (uint8_t)a->access,
	                            .is_valid = true};
	d->put = after;
	d->unreported_count -= a->is_unreported;
	a->is_unreported = false;
	a->reported = d->result->replays;
	return true;
}

static void report_waiting(struct driver *d)
{
	for (uint32_t i = 0; i < d->stalled_count && d->unreported_count > 0; i++) {
		if (d->agent[d->stalled[i]].is_unreported && !buffer_write(d, d->stalled[i]))
			return;
	}
}

static void access_page(struct driver *d, struct sim_block *block, uint32_t page)
{
	if (!uvmp_mask_test(&block->touched, page)) {
		uvmp_mask_set(&block->touched, page);
		d->result->pages_touched++;
	}
	memory_touch(&d->memory, block, page);
}

/* A replay: agents whose page has come go on, the others fault again; first those that the full buffer kept
 * waiting. */
static void replay(struct driver *d)
{
	uint32_t kept = 0;

	d->result->replays++;
	for (uint32_t i = 0; i < d->stalled_count; i++) {
		struct agent *a = &d->agent[d->stalled[i]];

		if (!uvmp_mask_test(&a->block->resident, a->page)) {
			d->stalled[kept++] = d->stalled[i];
			continue;
		}
		d->unreported_count -= a->is_unreported;
		a->is_stalled = a->is_unreported = false;
		access_page(d, a->block, a->page);
		d->released++;
	}
	d->stalled_count = kept;
	report_waiting(d);
	for (uint32_t i = 0; i < kept; i++) {
		if (d->agent[d->stalled[i]].reported != d->result->replays)
			buffer_write(d, d->stalled[i]);
	}
}

/* -- servicing -- */

/* Walks one bin (driver specification, 3.2): which pages faulted and are not there? */
static void walk_bin(struct driver *d, const struct uvmp_fault_bin *bin, const struct sim_block *block,
                     bool is_retry, uvmp_mask *faulted, struct uvmp_replay_event *event)
{
	struct uvmp_fault_verdict verdict[2];
	const struct uvmp_fault *previous = NULL;

	uvmp_mask_zero(faulted);
	for (uint32_t i = 0; i < bin->count; i++) {
		const struct uvmp_fault *fault = &d->batch.entry[d->order[bin->first + i]];
		uint32_t page = (uint32_t)((fault->address - block->shape.start) / PAGE_BYTES);
		struct uvmp_fault_facts facts = {.logical = UVMP_PROT_READ_WRITE_ATOMIC,
		                                 .is_retry = is_retry};
		struct uvmp_fault_verdict *now = &verdict[i % 2u];

		if (uvmp_mask_test(&block->resident, page))
			facts.mapped = UVMP_PROT_READ_WRITE_ATOMIC;
		uvmp_fault_classify(fault, &facts, previous, previous ? &verdict[(i + 1u) % 2u] : NULL, now);
		event->invalid_prefetches += now->invalid_prefetches;
		if (now->service_access != UVMP_ACCESS_NONE)
			uvmp_mask_set(faulted, page);
		previous = fault;
	}
}

static enum uvmp_status decide(struct driver *d, struct sim_block *block, const uvmp_mask *faulted,
                               bool is_follow, struct uvmp_prefetch_hint *hint)
{
	struct uvmp_prefetch_facts facts = {.block = block->shape,
	                                    .faulted = faulted,
	                                    .faulted_region = uvmp_mask_hull(faulted),
	                                    .resident = &block->resident,
	                                    .dst = GPU,
	                                    .preferred = UVMP_PROC_NONE,
	                                    .range_first = block->range_page,
	                                    .range_pages = block->range->pages,
	                                    .is_follow = is_follow};
	bool with_tree = d->policy->prefetch.prefetcher == UVMP_PREFETCH_TBN ||
	                 d->policy->prefetch.prefetcher == UVMP_PREFETCH_SL;
	struct uvmp_prefetch_state *state = space_prefetch_state(block, with_tree);

	state->random = &d->random;
	return uvmp_prefetch_decide(&d->policy->prefetch, &facts, state, hint);
}

/* The driver copies runs of one cause; UVM Smart and its kin cut behind each fault (2.6), or move page by
 * page (2.3). */
static enum uvmp_grouping grouping_of(enum uvmp_prefetcher prefetcher)
{
	switch (prefetcher) {
	case UVMP_PREFETCH_NONE:
	case UVMP_PREFETCH_DENSITY:
	case UVMP_PREFETCH_BLOCK:
		return UVMP_GROUPING_BY_CAUSE;
	case UVMP_PREFETCH_RANDOM:
		return UVMP_GROUPING_SINGLE;
	default:
		return UVMP_GROUPING_RUN_TO_FAULT;
	}
}

/* Counts and carries out one migration of `faulted` and `prefetched` pages, for which memory is there. */
static void migrate(struct driver *d, struct sim_block *block, const uvmp_mask *faulted,
                    const uvmp_mask *prefetched)
{
	struct uvmp_group group[UVMP_MASK_BITS];
	struct driver_result *r = d->result;
	uvmp_mask pages, again;
	uint32_t groups = 0;

	uvmp_mask_or(&pages, faulted, prefetched);
	uvmp_prefetch_groups(grouping_of(d->policy->prefetch.prefetcher), &pages, faulted, false, group,
	                     UVMP_MASK_BITS, &groups);
	uvmp_mask_and(&again, faulted, &block->evicted);
	r->far_faults += uvmp_mask_weight(faulted);
	r->refaults += uvmp_mask_weight(&again);
	r->h2d_copies += groups;
	r->pages_prefetched += uvmp_mask_weight(prefetched);
	r->pages_migrated += uvmp_mask_weight(&pages);
	r->h2d_bytes = r->pages_migrated * PAGE_BYTES;
	memory_fill(&d->memory, block, &pages);
	uvmp_mask_or(&block->unused, &block->unused, prefetched);
}

/* Pages of a block that fault later in this batch: they come by themselves, as far faults. */
static void faulting_later(const struct driver *d, const struct sim_block *block, uvmp_mask *pages)
{
	uvmp_mask_zero(pages);
	for (uint32_t i = d->next_bin; i < d->batch.coalesced; i++) {
		uint64_t address = d->batch.entry[d->order[i]].address;

		if (address > block->shape.end)
			return;
		if (address >= block->shape.start)
			uvmp_mask_set(pages, (uint32_t)((address - block->shape.start) / PAGE_BYTES));
	}
}

/* Asks the blocks that a prefetcher named beyond the one that faulted. What would push that one out again, or
 * finds no memory, is not fetched: an agent that waits for it would wait for ever. */
static bool follow(struct driver *d, struct sim_block *block, uint64_t page)
{
	uvmp_mask none, later;

	uvmp_mask_zero(&none);
	while (page != UVMP_PAGE_NONE) {
		struct sim_block *next = space_range_block(block->range, page);
		struct uvmp_prefetch_hint hint;
		enum uvmp_status status;

		faulting_later(d, next, &later);
		uvmp_mask_andnot(&later, &later, &next->resident);
		status = decide(d, next, &later, true, &hint);
		if (status != UVMP_OK)
			return fail(d, uvmp_status_text(status));
		page = hint.follow;
		uvmp_mask_andnot(&hint.pages, &hint.pages, &next->resident);
		if (hint.dst != GPU || uvmp_mask_is_empty(&hint.pages))
			continue;
		do
			status = memory_back(&d->memory, next, &hint.pages, block);
		while (status == UVMP_ERR_RETRY);
		if (status == UVMP_OK)
			migrate(d, next, &none, &hint.pages);
		else
			page = UVMP_PAGE_NONE;
		if (next != block)
			memory_settle(&d->memory, next, status == UVMP_OK);
	}
	return true;
}

static const char *no_memory(const struct driver *d)
{
	if (d->policy->evict == UVMP_EVICT_LRU)
		return "no memory: every root holds a chunk that the block being serviced has pinned; the "
		       "driver would "
		       "cancel the batch here";
	return "no memory: nothing may be evicted for the block being serviced";
}

/* One bin. As in the driver the walk is repeated after each eviction; one eviction a pass (6.6). */
static bool service_bin(struct driver *d, const struct uvmp_fault_bin *bin, struct sim_block *block,
                        struct uvmp_replay_event *event)
{
	struct uvmp_prefetch_hint hint = {.dst = UVMP_PROC_NONE, .follow = UVMP_PAGE_NONE};
	enum uvmp_status status;
	uvmp_mask faulted, prefetched, pages;
	bool is_retry = false, is_served = false;

	do {
		walk_bin(d, bin, block, is_retry, &faulted, event);
		if (uvmp_mask_is_empty(&faulted))
			break;
		/* Only the driver decides anew after an eviction; the UVM Smart family has counted the pages
		 * in its tree. */
		if (!is_retry || d->policy->prefetch.prefetcher == UVMP_PREFETCH_DENSITY) {
			status = decide(d, block, &faulted, false, &hint);
			if (status != UVMP_OK)
				return fail(d, uvmp_status_text(status));
		}
		uvmp_mask_andnot(&prefetched, &hint.pages, &block->resident);
		uvmp_mask_andnot(&prefetched, &prefetched, &faulted);
		if (hint.dst != GPU)
			uvmp_mask_zero(&prefetched);
		uvmp_mask_or(&pages, &faulted, &prefetched);
		status = memory_back(&d->memory, block, &pages, NULL);
		if (status != UVMP_OK && status != UVMP_ERR_RETRY)
			return fail(d, no_memory(d));
		is_served = status == UVMP_OK;
		if (is_served)
			migrate(d, block, &faulted, &prefetched);
		is_retry = true;
	} while (!is_served);
	if (!follow(d, block, hint.follow))
		return false;
	memory_settle(&d->memory, block, is_served);
	return true;
}

static bool service_next(struct driver *d, struct uvmp_replay_event *event)
{
	struct uvmp_fault_bin bin;
	struct sim_block *block;
	uint32_t page;

	block = space_find(&d->space, d->batch.entry[d->order[d->next_bin]].address, &page);
	uvmp_fault_bin_next(d->batch.entry, d->order, d->batch.coalesced, d->next_bin, block->shape.end,
	                    &bin);
	event->duplicates = bin.duplicates;
	d->result->duplicates += bin.duplicates;
	d->next_bin += bin.count;
	event->is_last = d->next_bin == d->batch.coalesced;
	return service_bin(d, &bin, block, event);
}

/* -- the bottom half -- */

static bool fetch(struct driver *d, struct uvmp_replay_event *event)
{
	struct uvmp_fetch_params params = {.max_batch = d->policy->replay.max_batch,
	                                   .page_bytes = PAGE_BYTES,
	                                   .coalesce = d->policy->coalesce,
	                                   .quirks = d->policy->quirks};

	report_waiting(d);
	event->status = uvmp_fault_fetch(&params, UVMP_FETCH_BATCH_READY, d->put, &d->buffer, &d->batch);
	if (event->status != UVMP_OK)
		return fail(d, uvmp_status_text(event->status));
	event->cached = d->batch.cached;
	d->result->faults_raw += d->batch.cached;
	d->result->faults_coalesced += d->batch.coalesced;
	d->result->batches += d->batch.cached > 0;
	return true;
}

static void preprocess(struct driver *d)
{
	uint32_t count = uvmp_fault_representatives(&d->batch, d->order);

	for (uint32_t i = 0; i < d->batch.cached; i++) {
		d->batch.entry[i].va_space = VA_SPACE;
		d->batch.entry[i].gpu = GPU;
	}
	if (!d->batch.is_single_instance)
		uvmp_fault_order_by_instance(d->batch.entry, d->order, count);
	uvmp_fault_order(d->batch.entry, d->order, count);
	d->next_bin = 0;
}

/* Does what the machine says; false on an error of the run. */
static bool perform(struct driver *d, const struct uvmp_replay_action *action,
                    struct uvmp_replay_event *event)
{
	uint32_t discarded;

	*event = (struct uvmp_replay_event){.kind = UVMP_REPLAY_EVENT_DONE};
	switch (action->kind) {
	case UVMP_REPLAY_FETCH:
		event->kind = UVMP_REPLAY_EVENT_FETCHED;
		return fetch(d, event);
	case UVMP_REPLAY_PREPROCESS:
		event->kind = UVMP_REPLAY_EVENT_PREPROCESSED;
		preprocess(d);
		return true;
	case UVMP_REPLAY_SERVICE:
		event->kind = UVMP_REPLAY_EVENT_SERVICED;
		return service_next(d, event);
	case UVMP_REPLAY_FLUSH:
		uvmp_fault_flush(&d->buffer, action->update_put, d->put, &discarded);
		return true;
	case UVMP_REPLAY_PUSH:
		replay(d);
		return true;
	default: /* waits take no time here; nothing is ever cancelled */
		return true;
	}
}

static bool bottom_half(struct driver *d)
{
	uint64_t released = d->released, fetched = d->result->faults_raw, far_faults = d->result->far_faults;
	struct uvmp_replay_action action;
	struct uvmp_replay_event event;

	uvmp_replay_start(&d->policy->replay, &d->replay, &action);
	while (action.kind != UVMP_REPLAY_STOP) {
		if (!perform(d, &action, &event))
			return false;
		uvmp_replay_step(&d->policy->replay, &d->replay, &event, &action);
	}
	if (d->result->faults_raw == fetched && d->released == released)
		return fail(d, "this policy never services a fault: max_batches and max_throttled of 0 stop "
		               "all servicing "
		               "(driver quirk Q23; quirks=0 counts them as 1)");
	if (d->released != released)
		d->idle = 0;
	else if (d->result->far_faults !=
	         far_faults) /* not counting stale faults: there may be many in a row */
		d->idle++;
	if (d->idle == IDLE_MOST)
		return fail(
		        d,
		        "no agent goes on: with this policy and memory every page leaves before it is used");
	return true;
}

/* Services faults until the agent goes on. */
static bool release(struct driver *d, uint32_t index)
{
	while (d->agent[index].is_stalled) {
		if (!bottom_half(d))
			return false;
	}
	return true;
}

static bool release_all(struct driver *d)
{
	while (d->stalled_count > 0) {
		if (!bottom_half(d))
			return false;
	}
	return true;
}

/* -- rows -- */

static bool grow_agents(struct driver *d, uint32_t index)
{
	uint32_t agents = d->agents ? d->agents : 64u;
	struct agent *agent;
	uint32_t *stalled;

	while (agents <= index)
		agents *= 2u;
	agent = realloc(d->agent, agents * sizeof(*agent));
	if (agent)
		d->agent = agent;
	stalled = realloc(d->stalled, agents * sizeof(*stalled));
	if (stalled)
		d->stalled = stalled;
	if (!agent || !stalled)
		return fail(d, "out of memory");
	memset(agent + d->agents, 0, (agents - d->agents) * sizeof(*agent));
	d->agents = agents;
	return true;
}

static bool access_row(struct driver *d, const struct source_row *row)
{
	struct sim_block *block;
	uint32_t page;

	if (row->agent >= d->agents && !grow_agents(d, row->agent))
		return false;
	if (!release(d, row->agent))
		return false;
	d->result->accesses++;
	block = space_find(&d->space, row->address, &page);
	if (!block)
		return fail(d, "an access lies outside every range");
	if (uvmp_mask_test(&block->resident, page)) {
		access_page(d, block, page);
		return true;
	}
	d->agent[row->agent] =
	        (struct agent){.block = block, .page = page, .access = row->access, .is_stalled = true};
	d->stalled[d->stalled_count++] = row->agent;
	buffer_write(d, row->agent);
	return true;
}

/* Shows on a terminal that a long run is alive; quiet in a pipe. */
static void show_progress(const struct driver *d, time_t *shown)
{
	time_t now;

	if ((d->result->accesses & 0xfffffu) != 0 || !isatty(STDERR_FILENO))
		return;
	now = time(NULL);
	if (now == *shown)
		return;
	*shown = now;
	fprintf(stderr, "\r%llu million accesses, %llu far faults, %llu evictions ",
	        (unsigned long long)(d->result->accesses >> 20), (unsigned long long)d->result->far_faults,
	        (unsigned long long)d->result->evictions);
}

static bool rows(struct driver *d, struct source *source, struct driver_memory memory)
{
	time_t started = time(NULL), shown = started;
	char text[SOURCE_ERROR_MAX];
	struct source_row row;
	bool is_open = false;

	for (;;) {
		source->next(source, &row);
		if (row.kind == SOURCE_BAD) {
			snprintf(d->error, SOURCE_ERROR_MAX, "%s", source->error);
			return false;
		}
		if (row.kind == SOURCE_RANGE) {
			if (!space_add_range(&d->space, &row.range, text))
				return fail(d, text);
			if (is_open && !memory_grow(&d->memory, d->space.blocks))
				return fail(d, "out of memory");
			continue;
		}
		if (!is_open &&
		    !memory_open(&d->memory, d->policy, memory, &d->space, &d->random, d->result, text))
			return fail(d, text);
		is_open = true;
		if (row.kind == SOURCE_END)
			break;
		if (row.kind == SOURCE_ACCESS ? !access_row(d, &row)
		                              : row.kind == SOURCE_SYNC && !release_all(d))
			return false;
		show_progress(d, &shown);
	}
	if (shown != started)
		fprintf(stderr, "\r%60s\r", "");
	return release_all(d);
}

static bool driver_open(struct driver *d)
{
	uint32_t capacity = d->policy->replay.max_batch + 1u;

	if (capacity < BUFFER_LEAST)
		capacity = BUFFER_LEAST;
	d->buffer.entry = calloc(capacity, sizeof(struct uvmp_fault));
	d->buffer.capacity = d->batch.capacity = capacity;
	d->batch.entry = calloc(capacity, sizeof(struct uvmp_fault));
	d->batch.utlb = d->utlb;
	d->batch.utlbs = UTLBS;
	d->order = calloc(capacity, sizeof(*d->order));
	uvmp_replay_init(&d->replay);
	if (!d->buffer.entry || !d->batch.entry || !d->order || !space_open(&d->space))
		return fail(d, "out of memory");
	return true;
}

bool driver_run(struct source *source, const struct uvmp_policy *policy, struct driver_memory memory,
                uint64_t seed, struct driver_result *result, char error[SOURCE_ERROR_MAX])
{
	struct driver *d = calloc(1, sizeof(*d));
	bool done;

	memset(result, 0, sizeof(*result));
	if (!d) {
		snprintf(error, SOURCE_ERROR_MAX, "out of memory");
		return false;
	}
	d->policy = policy;
	d->result = result;
	d->error = error;
	d->source = source;
	d->random = seed;
	done = driver_open(d) && rows(d, source, memory);
	if (done)
		result->pages_prefetched_unused += space_unused_pages(&d->space);
	memory_close(&d->memory);
	space_close(&d->space);
	free(d->buffer.entry);
	free(d->batch.entry);
	free(d->order);
	free(d->agent);
	free(d->stalled);
	free(d);
	return done;
}
