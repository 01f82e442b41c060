/* The engine's arena, ranges, and the counting of its actions; host.h. */
#include "host.h"

#include "counters.h"
#include "engine_setup.h"
#include "huge_pages.h"
#include "observe/host_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RANGES_MOST  65536u
#define BLOCKS_SPARE 1024u /* for ranges that are announced later */

bool host_fail(struct host *h, const char *text)
{
	if (!h->params.reads_ahead)
		return source_fail(h->source, text, h->error);
	snprintf(h->error, SOURCE_ERROR_MAX, "%.200s: %.270s", h->source->name, text);
	return false;
}

bool host_init(struct host *h, const struct host_params *params, struct source *source,
	       struct sim_result *result, char error[SOURCE_ERROR_MAX])
{
	memset(h, 0, sizeof(*h));
	memset(result, 0, sizeof(*result));
	h->params = *params;
	h->source = source;
	h->result = result;
	h->error = error;
	return space_open(&h->space, params->page_bytes);
}

/* -- the engine -- */

/* Bytes for `blocks` blocks with all that the policy may keep of each. */
static size_t arena_bytes(const struct host *h, const struct uvmp_service_params *params, uint32_t blocks)
{
	size_t bytes = uvmp_service_size(params, blocks), each = 512 + h->needs.block_bytes;
	size_t small = 2 * (h->space.ranges + 64) * 5120; /* first and last block of each range */

	if (h->params.run.policy->thrash.is_enabled)
		each += 64;
	return bytes == 0 ? 0 : bytes + blocks * each + small + 4096;
}

bool host_has_roots(const struct host *h)
{
	return uvmp_policy_evict_traits(h->params.run.policy)->is_chunked;
}

/* The memory for managed ranges; an engine has one root even without ranges. A percentage is of the managed
 * footprint alone. */
static bool choose_memory(struct host *h, uint64_t *roots)
{
	const struct sim_memory *memory = &h->params.run.memory;
	uint64_t bytes = space_memory_bytes(memory->bytes, memory->oversub_percent, h->space.footprint_bytes);
	uint64_t device = memory->bytes != 0 ? h->space.device_bytes : 0;

	if (h->space.ranges == 0 && h->source->line != 0) /* programs may do without managed memory */
		return host_fail(h, "there is no range: there is no memory to access");
	if (bytes == 0 && (memory->bytes != 0 || h->space.blocks != 0)) {
		snprintf(h->error, SOURCE_ERROR_MAX,
			 "memory of %llu bytes is smaller than one VABlock (2 MiB)",
			 (unsigned long long)memory->bytes);
		return false;
	}
	if (bytes < device || (bytes == device && h->space.blocks != 0))
		return host_fail(h, "the ranges that are not managed leave no memory for those that are");
	*roots = (bytes - device) / ROOT_BYTES;
	if (*roots == 0)
		*roots = 1;
	h->result->memory_bytes = *roots * ROOT_BYTES;
	if (!host_has_roots(h) && !h->params.counts_units && memory->bytes > device + *roots * ROOT_BYTES)
		h->result->memory_bytes = (memory->bytes - device) / PAGE_BYTES * PAGE_BYTES;
	return true;
}

static bool add_to_engine(struct host *h, uint64_t base, uint64_t bytes, bool is_fresh)
{
	if (uvmp_service_add_range(h->service, HOST_SPACE, base, bytes, UVMP_RIGHT_READ_WRITE_ATOMIC,
				   is_fresh ? UVMP_PROC_NONE : UVMP_CPU) != UVMP_OK)
		return host_fail(h, "too many ranges");
	return true;
}

static bool add_known_ranges(struct host *h)
{
	for (size_t i = 0; i < h->space.ranges; i++) {
		const struct sim_range *range = h->space.range[i];

		if (!range->is_device &&
		    !add_to_engine(h, range->start, range->last - range->start + 1u, range->is_fresh))
			return false;
	}
	return true;
}

/* What the engine would refuse without saying why. */
static bool check_policy(struct host *h)
{
	char text[UVMP_POLICY_EVICTORS_MAX + 96], evictors[UVMP_POLICY_EVICTORS_MAX];

	if ((h->needs.page_bytes & h->space.page_bytes) != 0)
		return true;
	uvmp_policy_evictors(h->space.page_bytes, evictors, sizeof(evictors));
	snprintf(text, sizeof(text), "on a host with pages of %u KiB only evict=%s work",
		 h->space.page_bytes / 1024u, evictors);
	return host_fail(h, text);
}

static bool open_engine(struct host *h, const struct uvmp_service_params *params, uint64_t roots)
{
	size_t size = arena_bytes(h, params, params->blocks);
	enum uvmp_status status = UVMP_ERR_NO_MEMORY;
	struct uvmp_service_error error;
	char text[256];

	h->known_blocks = params->blocks;
	h->arena[0] = size == 0 ? NULL : malloc(size);
	h->arenas = 1;
	huge_pages_advise(h->arena[0], size);
	if (h->arena[0])
		status = uvmp_service_init(params, h->arena[0], size, &h->service);
	if (status == UVMP_OK)
		return true;
	if (uvmp_service_params_check(params, &error) != UVMP_OK) {
		snprintf(h->error, SOURCE_ERROR_MAX, "no engine: %s", error.text);
		return false;
	}
	snprintf(text, sizeof(text),
		 "no engine for %llu roots of 2 MiB, %u VABlocks, %u fault entries and %u uTLBs: a number is too large, or memory is "
		 "short; use smaller ranges, or a smaller --memory",
		 (unsigned long long)roots, params->blocks, params->gpu->fault_entries, params->gpu->utlbs);
	return host_fail(h, text);
}

uint64_t host_capacity_bytes(const struct host *h)
{
	return setup_capacity_bytes(h->params.run.policy, h->result->memory_bytes, h->space.page_bytes);
}

/* What host_open asks of the engine. Parameters point at the other members. */
struct setup {
	struct uvmp_service_gpu gpu;
	struct uvmp_service_params params;
	uint64_t roots;
};

/* Chooses the memory, and fills *setup. False: memory or policy do not suit the ranges. */
static bool prepare(struct host *h, struct setup *setup)
{
	*setup = (struct setup){.gpu = {.size = sizeof(setup->gpu),
					.utlbs = h->params.utlbs,
					.fault_entries = h->params.fault_entries,
					.notes = COUNTERS_NOTES,
					.sms = h->params.sms,
					.counts_units = h->params.counts_units,
					.asks_at_misses = h->params.asks_at_misses},
				.params = {.size = sizeof(setup->params),
					   .policy = h->params.run.policy,
					   .gpu = &setup->gpu,
					   .page_bytes = h->space.page_bytes,
					   .has_ats = h->params.has_ats,
					   .blocks = h->space.blocks + BLOCKS_SPARE,
					   .spaces = 1,
					   .ranges = RANGES_MOST,
					   .instances = 1,
					   .requests = 16,
					   .seed = h->params.run.seed}};
	h->result->footprint_bytes = h->space.footprint_bytes;
	h->needs.size = sizeof(h->needs);
	uvmp_policy_needs(h->params.run.policy, &h->needs);
	if (!choose_memory(h, &setup->roots) || !check_policy(h))
		return false;
	setup->gpu.memory_bytes = h->result->memory_bytes;
	setup->gpu.splits = setup_splits(setup->params.blocks, host_capacity_bytes(h));
	return true;
}

bool host_open(struct host *h)
{
	struct setup setup;

	if (!prepare(h, &setup) || !open_engine(h, &setup.params, setup.roots))
		return false;
	uvmp_service_bind(h->service, HOST_GPU, UVMP_APERTURE_VID, 0, 0, HOST_SPACE);
	return add_known_ranges(h);
}

bool host_can_open(struct host *h)
{
	struct uvmp_service_error error;
	struct setup setup;

	return prepare(h, &setup) && h->space.ranges <= RANGES_MOST &&
	       uvmp_service_params_check(&setup.params, &error) == UVMP_OK &&
	       uvmp_service_size(&setup.params, setup.params.blocks) != 0;
}

static bool add_segment(struct host *h, size_t size)
{
	void *segment = h->arenas < HOST_ARENAS ? malloc(size) : NULL;
	if (!segment || uvmp_service_grow(h->service, segment, size) != UVMP_OK) {
		free(segment);
		return host_fail(h, "out of memory");
	}
	h->arena[h->arenas++] = segment;
	return true;
}

/* Memory for as many blocks as there are, and `more`. Each segment doubles the arena: eight suffice. */
static bool grow_engine(struct host *h, uint32_t more)
{
	uint32_t blocks = h->space.blocks + more;

	if (blocks <= h->known_blocks)
		return true;
	if (!add_segment(h, (size_t)blocks * 1024u + 65536u))
		return false;
	h->known_blocks = 2u * blocks;
	return true;
}

enum uvmp_status host_next(struct host *h, uint64_t now_ns, const struct uvmp_action **action)
{
	enum uvmp_status status = uvmp_service_next(h->service, now_ns, action);
	struct uvmp_service_memory memory = {.size = sizeof(memory)};

	while (status == UVMP_ERR_ARENA) {
		uvmp_service_memory_used(h->service, &memory);
		if (!add_segment(h, (size_t)memory.bytes + 65536u))
			break;
		status = uvmp_service_next(h->service, now_ns, action);
	}
	return status;
}

bool host_add_range(struct host *h, const struct source_range *range)
{
	char text[SOURCE_ERROR_MAX];

	if (h->service && range->is_device)
		return host_fail(h, "a range that is not managed must precede the first access");
	if (!space_add_range(&h->space, range, text))
		return host_fail(h, text);
	if (!h->service)
		return true;
	h->result->footprint_bytes = h->space.footprint_bytes;
	if (!grow_engine(h, 0))
		return false;
	return add_to_engine(h, range->base,
			     (range->bytes + h->space.page_bytes - 1) & ~(uint64_t)(h->space.page_bytes - 1),
			     range->is_fresh);
}

/* -- the program's calls -- */

bool host_fail_call(struct host *h, uint64_t address, uint64_t bytes, enum uvmp_status status)
{
	char text[160];

	snprintf(text, sizeof(text), "a prefetch, advice or free for %llu bytes at 0x%llx: %s",
		 (unsigned long long)bytes, (unsigned long long)address,
		 status == UVMP_ERR_UNKNOWN ? "a part of the range is not managed"
					    : uvmp_status_text(status));
	return host_fail(h, text);
}

/* Whole pages around [*address, *address + *bytes). */
static bool take_pages(struct host *h, uint64_t *address, uint64_t *bytes)
{
	uint64_t last = *address + (*bytes - 1u), first = *address & ~(uint64_t)(h->space.page_bytes - 1u);

	if (*bytes == 0 || last < *address)
		return host_fail_call(h, *address, *bytes, UVMP_ERR_UNKNOWN);
	last |= h->space.page_bytes - 1u;
	if (last - first == UINT64_MAX)
		return host_fail_call(h, *address, *bytes, UVMP_ERR_UNKNOWN);
	*address = first;
	*bytes = last - first + 1u;
	return true;
}

bool host_prefetch(struct host *h, uint64_t address, uint64_t bytes, bool to_gpu, uint64_t *ticket)
{
	enum uvmp_status status;

	if (!take_pages(h, &address, &bytes))
		return false;
	status = uvmp_service_migrate(h->service, HOST_SPACE, address, bytes, to_gpu ? HOST_GPU : UVMP_CPU,
				      ticket);
	return status == UVMP_OK || host_fail_call(h, address, bytes, status);
}

bool host_advise(struct host *h, uint64_t address, uint64_t bytes, enum uvmp_advice advice,
		 uint32_t processor, uint64_t *ticket)
{
	enum uvmp_status status;

	if (!take_pages(h, &address, &bytes))
		return false;
	status = uvmp_service_advise(h->service, HOST_SPACE, address, bytes, advice, processor, ticket);
	return status == UVMP_OK || host_fail_call(h, address, bytes, status);
}

bool host_free(struct host *h, uint64_t address, uint64_t bytes, bool is_part, uint64_t *ticket)
{
	enum uvmp_status status;

	if (is_part && (address | bytes) % h->space.page_bytes != 0)
		return host_fail(h, "a freed part is not made of whole pages of the simulated host");
	if (!is_part)
		status = uvmp_service_free_range(h->service, HOST_SPACE, address, ticket);
	else if (!grow_engine(h, 2)) /* each end may make two blocks of one */
		return false;
	else
		status = uvmp_service_free_part(h->service, HOST_SPACE, address, bytes, ticket);
	return status == UVMP_OK || host_fail(h, "a range cannot be freed");
}

/* -- actions -- */

/* Of one copy, into the least and the most of its direction. */
static void weigh_copy(uint64_t *least, uint64_t *most, uint64_t bytes)
{
	if (*least == 0 || bytes < *least)
		*least = bytes;
	if (bytes > *most)
		*most = bytes;
}

/* One transfer of an action, in pages of the block as the simulator counts them. */
struct transfer {
	struct sim_block *block;
	const struct uvmp_action *action;
	struct uvmp_region run;
	/* the run: prefetched pages, and behind them those that had faulted */
	struct uvmp_region came, faulted;
};

/* Pages that the program or an access counter requested have not faulted. */
static struct transfer transfer_of(const struct host_target *target, const struct uvmp_action *a,
				   struct uvmp_region run)
{
	bool has_faulted = a->cause != UVMP_CAUSE_MIGRATE && a->cause != UVMP_CAUSE_COUNTER;
	uint32_t faulted = has_faulted ? uvmp_action_faulted(a, run) : 0;

	run.first += target->first;
	run.end += target->first;
	return (struct transfer){
		target->block, a, run, {run.first, run.end - faulted}, {run.end - faulted, run.end}};
}

/* The pages of a transfer are on the GPU now. */
static void settle(struct host *h, const struct transfer *t)
{
	h->result->far_faults += uvmp_region_pages(t->faulted);
	h->result->pages_prefetched += uvmp_region_pages(t->came);
	uvmp_mask_region_set(&t->block->resident, t->run);
	if (t->came.first == t->came.end)
		return;
	t->block->had_unused = true;
	uvmp_mask_region_set(&t->block->unused, t->came);
}

static void arrive(struct host *h, const struct transfer *t)
{
	struct sim_result *r = h->result;
	uint32_t pages = uvmp_region_pages(t->run);

	if (t->block->had_evicted) {
		r->pages_thrashed += uvmp_mask_region_weight(&t->block->evicted, t->run);
		r->refaults += uvmp_mask_region_weight(&t->block->evicted, t->faulted);
	}
	r->h2d_copies++;
	r->pages_migrated += pages;
	r->h2d_bytes = r->pages_migrated * h->space.page_bytes;
	weigh_copy(&r->h2d_least_bytes, &r->h2d_most_bytes, (uint64_t)pages * h->space.page_bytes);
	settle(h, t);
}

/* Pages have left the GPU, or are about to. */
static void forget(struct host *h, struct sim_block *block, const uvmp_mask *pages)
{
	uvmp_mask unused;

	if (block->had_unused) {
		uvmp_mask_and(&unused, pages, &block->unused);
		h->result->pages_prefetched_unused += uvmp_mask_weight(&unused);
		uvmp_mask_andnot(&block->unused, &block->unused, pages);
	}
	uvmp_mask_andnot(&block->resident, &block->resident, pages);
	uvmp_mask_andnot(&block->written, &block->written, pages);
}

bool host_freed(struct host *h, uint64_t address, uint64_t bytes)
{
	uint64_t pages = (bytes - 1u) / h->space.page_bytes + 1u;

	for (uint64_t i = 0; i < pages; i++) {
		uvmp_mask gone = {{0}};
		uint32_t page;
		struct sim_block *block = space_find(&h->space, address + i * h->space.page_bytes, &page);

		if (!block || !uvmp_mask_test(&block->resident, page))
			continue;
		host_events_freed(h, block, page);
		uvmp_mask_set(&gone, page);
		forget(h, block, &gone);
	}
	return space_free(&h->space, address, pages * h->space.page_bytes) || host_fail(h, "out of memory");
}

static void leave(struct host *h, const struct transfer *t)
{
	struct sim_result *r = h->result;
	uint64_t bytes = (uint64_t)uvmp_region_pages(t->run) * h->space.page_bytes;
	uvmp_mask pages = {{0}};

	r->d2h_copies++;
	r->d2h_bytes += bytes;
	weigh_copy(&r->d2h_least_bytes, &r->d2h_most_bytes, bytes);
	uvmp_mask_region_set(&pages, t->run);
	forget(h, t->block, &pages);
	if (t->action->cause != UVMP_CAUSE_EVICTION) /* the CPU wants it */
		return;
	r->pages_evicted += uvmp_region_pages(t->run);
	t->block->had_evicted = true;
	uvmp_mask_region_set(&t->block->evicted, t->run);
}

void host_transfer(struct host *h, const struct uvmp_action *a, const struct host_target *target,
		   struct uvmp_region transfer)
{
	struct transfer t = transfer_of(target, a, transfer);

	host_events_note(h, a, target, t.run, uvmp_region_pages(t.faulted));
	if (a->kind == UVMP_ACTION_COPY && a->to != HOST_GPU)
		leave(h, &t);
	else if (a->kind == UVMP_ACTION_COPY)
		arrive(h, &t);
	else if (a->to == HOST_GPU)
		settle(h, &t);
}

void host_set_planes(uvmp_mask *low, uvmp_mask *high, const uvmp_mask *pages, uint32_t right)
{
	uvmp_mask_andnot(low, low, pages);
	uvmp_mask_andnot(high, high, pages);
	if ((right & 1u) != 0)
		uvmp_mask_or(low, low, pages);
	if ((right & 2u) != 0)
		uvmp_mask_or(high, high, pages);
}

void host_set_rights(const struct host_target *target, const struct uvmp_action *a)
{
	host_set_planes(&target->block->low[a->to], &target->block->high[a->to], target->pages, a->right);
}

static bool write_line(struct host *h, const char *text)
{
	const struct sim_log *log = &h->params.run.log;

	if (fprintf(log->file, "%s\n", text) >= 0)
		return true;
	snprintf(h->error, SOURCE_ERROR_MAX, "%s%.400s: %s", log->name ? "--log " : "the decision log cannot be written",
		 log->name ? log->name : "", strerror(errno));
	return false;
}

static bool write_log(struct host *h, const struct uvmp_action *a)
{
	char text[UVMP_ACTION_TEXT_MAX];

	if (!h->params.run.log.file)
		return true;
	uvmp_action_print(a, text, sizeof(text));
	return write_line(h, text);
}

bool host_log_completion(struct host *h, const struct uvmp_action *a, uint64_t end_ns)
{
	char text[UVMP_ACTION_TEXT_MAX];

	if (!h->params.run.log.file)
		return true;
	uvmp_completion_print(a->id, end_ns, UVMP_OK, text, sizeof(text));
	return write_line(h, text);
}

static bool cancelled(struct host *h)
{
	if (host_has_roots(h))
		return host_fail(
			h, "no memory: every root holds a chunk that the block being serviced has pinned; "
			   "the driver would cancel the batch here");
	return host_fail(h, "no memory: nothing may be evicted for the block being serviced");
}

/* What is counted of a batch; notifications of access counters are no faults. */
static void count_batch(struct host *h, const struct uvmp_action *a)
{
	if (a->cause == UVMP_CAUSE_COUNTER)
		return;
	h->result->batches++;
	h->result->faults_raw += a->faults;
	h->result->faults_coalesced += a->merged_faults;
}

/* Advice on a part of a block splits it for the engine; for the simulator it stays whole. The pages of an action
 * about an upper part are moved to where they lie in the whole. */
static void find_target(struct host *h, const struct uvmp_action *a, struct host_target *target)
{
	target->block = NULL;
	target->first = 0;
	target->pages = &a->pages;
	if (a->page_bytes == 0)
		return;
	target->block = space_find(&h->space, a->address, &target->first);
	if (!target->block || target->first == 0)
		return;
	uvmp_mask_shift_up(&h->shifted, &a->pages, target->first);
	target->pages = &h->shifted;
}

bool host_perform(struct host *h, const struct uvmp_action *a, struct host_target *target)
{
	if (!write_log(h, a))
		return false;
	find_target(h, a, target);
	switch ((enum uvmp_action_kind)a->kind) {
	case UVMP_ACTION_BATCH:
		count_batch(h, a);
		break;
	case UVMP_ACTION_DISCARD: /* on advice the pages stay for now */
		if (a->cause == UVMP_CAUSE_EVICTION && a->from == HOST_GPU)
			forget(h, target->block, target->pages);
		break;
	case UVMP_ACTION_EVICT:
		h->result->evictions += a->part == 0;
		break;
	case UVMP_ACTION_REPLAY:
		h->result->replays++;
		break;
	case UVMP_ACTION_CANCEL:
		return cancelled(h);
	default:
		break;
	}
	return true;
}

void host_close(struct host *h, bool is_complete)
{
	struct uvmp_service_counts counts = {.size = sizeof(counts)};

	if (h->service && uvmp_service_count(h->service, HOST_GPU, &counts) == UVMP_OK)
		h->result->duplicates = counts.duplicates;
	if (is_complete)
		h->result->pages_prefetched_unused += space_unused_pages(&h->space);
	space_close(&h->space);
	for (uint32_t i = 0; i < h->arenas; i++)
		free(h->arena[i]);
}
