/* The untimed driver: see driver.h. The engine of libuvmpolicy decides everything; here are the agents that
 * fault, the machine's view of who may touch which page (space.c), and the counting of actions. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "space.h"
#include "uvmpolicy/uvmpolicy.h"

#define GPU          1u
#define VA_SPACE     1u
#define UTLBS        64u   /* agents share uTLBs: agent modulo UTLBS */
#define IDLE_MOST    1000u /* bottom halves that may serve faults and release nobody */
#define BUFFER_LEAST 1024u /* entries of the fault buffer, more if a batch is larger */
#define RANGES_MOST  65536u
#define ARENAS_MOST  8u    /* as many pieces as the engine takes */
#define BLOCKS_SPARE 1024u /* for ranges that are announced later */
#define REPLAY_NS    1000u /* time is not modelled: it goes on by this much with each replay */

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
	struct driver_memory memory;
	char *error;
	FILE *log;
	struct source *source;
	struct space space;

	struct uvmp_service *service;
	void *arena[ARENAS_MOST];
	uint32_t arenas, known_blocks; /* blocks for which the arena has room */
	uint64_t now_ns;
	uint64_t throttled_until_ns; /* of the last THROTTLE, 0: none since */
	enum uvmp_status ended;      /* status of the last DONE */
	bool needs_touch; /* the policy wants to know of accesses */

	struct agent *agent;
	uint32_t agents;
	uint32_t *stalled; /* agents that wait, in the order in which they stalled */
	uint32_t stalled_count, unreported_count;
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

/* -- the engine's arena -- */

/* Bytes for `blocks` blocks with all that the policy may keep of each. */
static size_t arena_bytes(const struct driver *d, const struct uvmp_service_params *params, uint32_t blocks)
{
	size_t bytes = uvmp_service_size(params, blocks), each = 512;
	size_t small = 2 * (d->space.ranges + 64) * 5120; /* first and last block of each range */

	if (d->policy->thrash.is_enabled)
		each += 64;
	return bytes == 0 ? 0 : bytes + blocks * each + small + 4096;
}

static bool open_engine(struct driver *d, uint64_t seed)
{
	struct uvmp_processors processors = {.count = 2,
	                                     .can_access = {1u, 3u},
	                                     .native_atomics = {1u, 2u}};
	uint64_t bytes = d->memory.bytes, roots;
	struct uvmp_service_gpu gpu = {.utlbs = UTLBS, .fault_entries = BUFFER_LEAST};
	struct uvmp_service_params params = {.policy = d->policy,
	                                     .processors = &processors,
	                                     .gpu = &gpu,
	                                     .page_bytes = PAGE_BYTES,
	                                     .spaces = 1,
	                                     .ranges = RANGES_MOST,
	                                     .instances = 1,
	                                     .requests = 1,
	                                     .seed = seed};
	size_t size;

	d->result->footprint_bytes = d->space.footprint_bytes;
	if (bytes == 0) /* whole roots, rounded up: at 100 % everything fits */
		bytes = (d->space.footprint_bytes * 100u / d->memory.oversub_percent + ROOT_BYTES - 1) /
		        ROOT_BYTES * ROOT_BYTES;
	roots = bytes / ROOT_BYTES;
	d->result->memory_bytes = roots * ROOT_BYTES;
	if (d->space.blocks == 0)
		return fail(d, "there is no range: nothing to run");
	if (roots == 0) {
		snprintf(d->error, SOURCE_ERROR_MAX,
		         "memory of %llu bytes is smaller than one VABlock (2 MiB)",
		         (unsigned long long)bytes);
		return false;
	}
	if (gpu.fault_entries <= d->policy->replay.max_batch)
		gpu.fault_entries = d->policy->replay.max_batch + 1u;
	gpu.memory_bytes = bytes;
	gpu.splits = (uint32_t)(roots < UVMP_SPLITS_MAX ? roots : UVMP_SPLITS_MAX);
	params.blocks = d->space.blocks + BLOCKS_SPARE;
	d->known_blocks = params.blocks;
	size = arena_bytes(d, &params, params.blocks);
	d->arena[0] = size == 0 ? NULL : malloc(size);
	d->arenas = 1;
	if (!d->arena[0] || uvmp_service_init(&params, d->arena[0], size, &d->service) != UVMP_OK) {
		snprintf(d->error, SOURCE_ERROR_MAX, "a GPU memory of %llu roots of 2 MiB cannot be managed",
		         (unsigned long long)roots);
		return false;
	}
	d->needs_touch = d->policy->evict != UVMP_EVICT_LRU || !d->policy->quirks;
	uvmp_service_bind(d->service, GPU, UVMP_APERTURE_VID, 0, 0, VA_SPACE);
	for (size_t i = 0; i < d->space.ranges; i++) {
		const struct sim_range *range = d->space.range[i];

		if (uvmp_service_add_range(d->service, VA_SPACE, range->start, range->end - range->start + 1u,
		                           UVMP_PROT_READ_WRITE_ATOMIC, UVMP_CPU) != UVMP_OK)
			return fail(d, "too many ranges");
	}
	return true;
}

/* A range that is announced when the run has begun. */
static bool add_range_late(struct driver *d, const struct source_range *source)
{
	uint64_t bytes = (source->bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);

	d->result->footprint_bytes = d->space.footprint_bytes;
	if (d->space.blocks > d->known_blocks) {
		size_t size = (size_t)d->space.blocks * 1024u + 65536u; /* doubles: eight pieces suffice */
		void *piece = d->arenas < ARENAS_MOST ? malloc(size) : NULL;

		if (!piece || uvmp_service_grow(d->service, piece, size) != UVMP_OK) {
			free(piece);
			return fail(d, "out of memory");
		}
		d->arena[d->arenas++] = piece;
		d->known_blocks = 2u * d->space.blocks;
	}
	if (uvmp_service_add_range(d->service, VA_SPACE, source->base, bytes, UVMP_PROT_READ_WRITE_ATOMIC,
	                           UVMP_CPU) != UVMP_OK)
		return fail(d, "too many ranges");
	return true;
}

/* -- agents and the fault buffer -- */

static uint32_t right_on(const struct sim_block *block, uint32_t processor, uint32_t page)
{
	return (uint32_t)uvmp_mask_test(&block->low[processor], page) |
	       (uint32_t)uvmp_mask_test(&block->high[processor], page) << 1;
}

static bool can_go_on(const struct agent *a)
{
	return right_on(a->block, GPU, a->page) >= (uint32_t)uvmp_access_prot(a->access);
}

static bool buffer_write(struct driver *d, uint32_t index)
{
	struct agent *a = &d->agent[index];
	uint32_t right = right_on(a->block, GPU, a->page);
	struct uvmp_fault fault = {.address = a->block->shape.start + (uint64_t)a->page * PAGE_BYTES,
	                           .aperture = UVMP_APERTURE_VID,
	                           .utlb = index % UTLBS,
	                           .type = right == UVMP_PROT_NONE   ? UVMP_FAULT_INVALID_PTE
	                                   : right == UVMP_PROT_READ ? UVMP_FAULT_WRITE
	                                                             : UVMP_FAULT_ATOMIC,
	                           .access = (uint8_t)a->access};

	if (uvmp_service_fault(d->service, GPU, &fault) != UVMP_OK) {
		d->unreported_count += !a->is_unreported;
		a->is_unreported = true;
		return false;
	}
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
	uvmp_mask_clear(&block->unused, page);
	if (d->needs_touch)
		uvmp_service_touch(d->service, GPU, VA_SPACE,
		                   block->shape.start + (uint64_t)page * PAGE_BYTES);
}

/* A replay: agents whose page has come go on, the others fault again; first those that the full buffer kept
 * waiting. */
static void replay(struct driver *d)
{
	uint32_t kept = 0;

	d->result->replays++;
	d->now_ns += REPLAY_NS;
	for (uint32_t i = 0; i < d->stalled_count; i++) {
		struct agent *a = &d->agent[d->stalled[i]];

		if (!can_go_on(a)) {
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

/* -- actions -- */

static void arrive(struct driver *d, struct sim_block *block, const struct uvmp_action *a)
{
	struct driver_result *r = d->result;
	uint32_t pages = uvmp_mask_weight(&a->pages);
	struct uvmp_region came = {a->run.first, a->run.outer - a->detail};
	uvmp_mask again = a->pages;

	uvmp_mask_region_clear(&again, came); /* those that faulted */
	uvmp_mask_and(&again, &again, &block->evicted);
	r->far_faults += a->detail;
	r->refaults += uvmp_mask_weight(&again);
	r->h2d_copies++;
	r->pages_prefetched += pages - a->detail;
	r->pages_migrated += pages;
	r->h2d_bytes = r->pages_migrated * PAGE_BYTES;
	uvmp_mask_or(&block->resident, &block->resident, &a->pages);
	uvmp_mask_region_set(&block->unused, came);
}

static void leave(struct driver *d, struct sim_block *block, const struct uvmp_action *a)
{
	struct driver_result *r = d->result;
	uvmp_mask unused;

	uvmp_mask_and(&unused, &a->pages, &block->unused);
	r->d2h_copies++;
	r->d2h_bytes += (uint64_t)uvmp_mask_weight(&a->pages) * PAGE_BYTES;
	r->pages_prefetched_unused += uvmp_mask_weight(&unused);
	uvmp_mask_andnot(&block->unused, &block->unused, &a->pages);
	uvmp_mask_andnot(&block->resident, &block->resident, &a->pages);
	if (a->cause != UVMP_CAUSE_EVICTION) /* the CPU wants it */
		return;
	r->pages_evicted += uvmp_mask_weight(&a->pages);
	uvmp_mask_or(&block->evicted, &block->evicted, &a->pages);
}

static void map(struct sim_block *block, const struct uvmp_action *a)
{
	uvmp_mask *low = &block->low[a->to], *high = &block->high[a->to];

	uvmp_mask_andnot(low, low, &a->pages);
	uvmp_mask_andnot(high, high, &a->pages);
	if ((a->right & 1u) != 0)
		uvmp_mask_or(low, low, &a->pages);
	if ((a->right & 2u) != 0)
		uvmp_mask_or(high, high, &a->pages);
}

static bool cancelled(struct driver *d)
{
	if (d->policy->evict == UVMP_EVICT_LRU)
		return fail(d, "no memory: every root holds a chunk that the block being serviced has pinned; the "
		               "driver would cancel the batch here");
	return fail(d, "no memory: nothing may be evicted for the block being serviced");
}

static bool perform(struct driver *d, const struct uvmp_action *a)
{
	struct sim_block *block = NULL;
	uint32_t page;

	if (a->page_bytes != 0)
		block = space_find(&d->space, a->address, &page);
	switch ((enum uvmp_action_kind)a->kind) {
	case UVMP_ACTION_BATCH:
		d->result->batches++;
		d->result->faults_raw += a->count;
		d->result->faults_coalesced += a->detail;
		break;
	case UVMP_ACTION_COPY:
		if (a->to == GPU)
			arrive(d, block, a);
		else
			leave(d, block, a);
		break;
	case UVMP_ACTION_EVICT:
		d->result->evictions += a->count == 0;
		break;
	case UVMP_ACTION_MAP:
	case UVMP_ACTION_REVOKE:
	case UVMP_ACTION_UNMAP:
		map(block, a);
		break;
	case UVMP_ACTION_THROTTLE:
		d->throttled_until_ns = a->until_ns;
		break;
	case UVMP_ACTION_REPLAY:
		replay(d);
		break;
	case UVMP_ACTION_CANCEL:
		return cancelled(d);
	default: /* nothing to do without time */
		break;
	}
	return true;
}

static bool write_log(struct driver *d, const struct uvmp_action *a)
{
	char text[UVMP_ACTION_TEXT_MAX];

	if (!d->log)
		return true;
	uvmp_action_print(a, text, sizeof(text));
	if (fprintf(d->log, "%s\n", text) < 0)
		return fail(d, "the decision log cannot be written");
	return true;
}

/* Performs the engine's actions up to the end of one bottom half. */
static bool pump(struct driver *d)
{
	struct uvmp_action action = {.kind = UVMP_ACTION_BATCH};

	report_waiting(d);
	while (uvmp_service_next(d->service, d->now_ns, &action) == UVMP_OK) {
		if (!write_log(d, &action) || !perform(d, &action))
			return false;
		uvmp_service_complete(d->service, action.id, UVMP_OK);
		report_waiting(d);
		if (action.kind == UVMP_ACTION_DONE) {
			d->ended = (enum uvmp_status)action.status;
			break;
		}
	}
	return true;
}

/* Nobody goes on before the throttled ones may. */
static void wait_for_throttled(struct driver *d)
{
	if (d->throttled_until_ns > d->now_ns)
		d->now_ns = d->throttled_until_ns;
	d->throttled_until_ns = 0;
}

static bool bottom_half(struct driver *d)
{
	uint64_t released = d->released, fetched = d->result->faults_raw, far_faults = d->result->far_faults;

	if (!pump(d))
		return false;
	if (d->result->faults_raw == fetched && d->released == released)
		return fail(d, "this policy never services a fault: max_batches and max_throttled of 0 stop "
		               "all servicing (driver quirk Q23; quirks=0 counts them as 1)");
	if (d->released == released)
		wait_for_throttled(d);
	if (d->released != released)
		d->idle = 0;
	else if (d->result->far_faults != far_faults) /* not counting stale faults: many may come in a row */
		d->idle++;
	if (d->idle == IDLE_MOST)
		return fail(d, "no agent goes on: with this policy and memory every page leaves before it is used");
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

static void pass_time(struct driver *d, const struct source_row *row)
{
	if (row->has_time && row->time_ns > d->now_ns)
		d->now_ns = row->time_ns;
}

/* The CPU comes after what the GPU has asked for. Its fault is repeated while it is throttled. */
static bool access_cpu(struct driver *d, const struct source_row *row)
{
	struct sim_block *block;
	uint32_t page;

	if (!release_all(d))
		return false;
	pass_time(d, row);
	d->result->accesses++;
	block = space_find(&d->space, row->address, &page);
	if (!block)
		return fail(d, "an access lies outside every range");
	while (right_on(block, UVMP_CPU, page) < (uint32_t)uvmp_access_prot(row->access)) {
		enum uvmp_access access =
		        row->access <= UVMP_ACCESS_READ ? UVMP_ACCESS_READ : UVMP_ACCESS_WRITE;

		if (uvmp_service_cpu_fault(d->service, VA_SPACE, row->address, access, 0, NULL) != UVMP_OK ||
		    !pump(d))
			return fail(d, "the CPU's access cannot be served");
		if (d->ended == UVMP_ERR_RETRY)
			wait_for_throttled(d);
		else if (d->ended != UVMP_OK)
			return fail(d, uvmp_status_text(d->ended));
	}
	return true;
}

static bool access_row(struct driver *d, const struct source_row *row)
{
	struct sim_block *block;
	uint32_t page;

	if (row->is_cpu)
		return access_cpu(d, row);
	if (row->agent >= d->agents && !grow_agents(d, row->agent))
		return false;
	if (!release(d, row->agent))
		return false;
	pass_time(d, row);
	d->result->accesses++;
	block = space_find(&d->space, row->address, &page);
	if (!block)
		return fail(d, "an access lies outside every range");
	d->agent[row->agent] = (struct agent){.block = block, .page = page, .access = row->access};
	if (can_go_on(&d->agent[row->agent])) {
		access_page(d, block, page);
		return true;
	}
	d->agent[row->agent].is_stalled = true;
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

static bool rows(struct driver *d, struct source *source, uint64_t seed)
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
			if (is_open && !add_range_late(d, &row.range))
				return false;
			continue;
		}
		if (!is_open && !open_engine(d, seed))
			return false;
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

bool driver_run(struct source *source, const struct uvmp_policy *policy, struct driver_memory memory,
                uint64_t seed, FILE *log, struct driver_result *result, char error[SOURCE_ERROR_MAX])
{
	struct driver *d = calloc(1, sizeof(*d));
	struct uvmp_service_counts counts;
	bool done;

	memset(result, 0, sizeof(*result));
	if (!d) {
		snprintf(error, SOURCE_ERROR_MAX, "out of memory");
		return false;
	}
	d->policy = policy;
	d->result = result;
	d->memory = memory;
	d->error = error;
	d->source = source;
	d->log = log;
	done = space_open(&d->space) && rows(d, source, seed);
	if (d->service && uvmp_service_count(d->service, GPU, &counts) == UVMP_OK)
		result->duplicates = counts.duplicates;
	if (done)
		result->pages_prefetched_unused += space_unused_pages(&d->space);
	space_close(&d->space);
	for (uint32_t i = 0; i < d->arenas; i++)
		free(d->arena[i]);
	free(d->agent);
	free(d->stalled);
	free(d);
	return done;
}
