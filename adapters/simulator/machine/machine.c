/* The driver's thread as a host with time; machine.h, and gpu.h for the GPU.
 *
 * Two clocks: the GPU's, and that of the thread (now_ns). The thread sleeps until a fault has been written
 * and the interrupt has reached it. Before it asks the engine for the next action the GPU is let run up to
 * now_ns and the faults written by then are reported, so that the engine fetches what the driver would find.
 * Every action takes the thread the time of the model's steps; copies are only submitted, and end later on
 * the link: mappings, replays and whoever waits for copies come after them. */
#include "machine.h"

#include <stdlib.h>
#include <string.h>

#include "../host.h"
#include "../interrupt.h"
#include "../progress.h"
#include "gpu.h"
#include "link.h"

#define IDLE_MOST 1000u /* bottom halves in a row that bring nothing and after which nobody goes on */

struct machine {
	struct host host;
	const struct model *model;
	struct machine_times *times;
	struct gpu *gpu;
	struct link link;
	uint64_t now_ns;
	uint64_t copies_ns; /* all copies of this bottom half have ended */
	uint64_t replay_ns; /* the last replay has been seen */
	uint64_t *root_ns;  /* per root: what was to leave it has left; 0: the GPU's allocator still has it */
	uint64_t evict_root;   /* being emptied */
	uint64_t room_ns;      /* the memory of the block being serviced is free */
	uint32_t cached_roots; /* got from the physical allocator and not used yet */
	uvmp_addr block;       /* being serviced */
	bool is_done;          /* the bottom half */
};

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The thread works for `ns`, and `sum` hears of it. */
static void work(struct machine *m, uint64_t ns, uint64_t *sum)
{
	m->now_ns += ns;
	*sum += ns;
}

static void wait_until(struct machine *m, uint64_t ns, uint64_t *sum)
{
	if (ns > m->now_ns)
		work(m, ns - m->now_ns, sum);
}

static void touch(void *context, struct sim_block *block, uint32_t page)
{
	struct machine *m = context;

	uvmp_service_touch(m->host.service, HOST_GPU, HOST_SPACE,
	                   block->shape.start + (uint64_t)page * m->model->page_bytes);
}

/* -- faults -- */

static void report_faults(struct machine *m)
{
	const struct gpu_fault *at;

	gpu_advance(m->gpu, m->now_ns);
	while ((at = gpu_first_fault(m->gpu, m->now_ns)) != NULL) {
		struct uvmp_fault fault = {.address = at->address,
		                           .aperture = UVMP_APERTURE_VID,
		                           .utlb = at->utlb,
		                           .type = at->type,
		                           .access = at->access};

		if (uvmp_service_fault(m->host.service, HOST_GPU, &fault) != UVMP_OK) {
			gpu_block_faults(m->gpu);
			return;
		}
		gpu_take_fault(m->gpu);
	}
}

/* -- what actions cost -- */

static void fetch(struct machine *m, const struct uvmp_action *a)
{
	work(m, m->model->batch_ns + (uint64_t)a->count * m->model->fetch_ns, &m->times->fetch_ns);
	work(m, (uint64_t)a->detail * m->model->order_ns, &m->times->order_ns);
	m->block = UINT64_MAX;
}

/* The first action about a block pays for looking at it. */
static void look_at(struct machine *m, const struct uvmp_action *a)
{
	if (a->cause == UVMP_CAUSE_EVICTION || a->page_bytes == 0 || a->address == m->block)
		return;
	m->block = a->address;
	m->room_ns = 0;
	work(m, m->model->block_ns, &m->times->service_ns);
}

static void allocate(struct machine *m, const struct uvmp_action *a)
{
	uint64_t root = a->offset / ROOT_BYTES;

	m->room_ns = later(m->room_ns, m->root_ns[root]);
	if (m->root_ns[root] != 0) /* won by an eviction, or split before */
		return;
	m->root_ns[root] = 1;
	if (m->cached_roots == 0) {
		work(m, m->model->alloc_ns, &m->times->migrate_ns);
		m->cached_roots = m->model->alloc_roots;
	}
	m->cached_roots--;
}

static void copy(struct machine *m, const struct uvmp_action *a)
{
	uint32_t pages = uvmp_mask_weight(&a->pages);
	uint64_t bytes = (uint64_t)pages * m->model->page_bytes, end_ns;
	uint64_t *sum = a->cause == UVMP_CAUSE_EVICTION ? &m->times->evict_ns : &m->times->migrate_ns;
	enum model_direction direction = a->to == HOST_GPU ? MODEL_TO_GPU : MODEL_TO_CPU;

	work(m, m->model->copy_ns + (uint64_t)pages * m->model->page_ns, sum);
	end_ns = link_copy(&m->link, direction,
	                   direction == MODEL_TO_GPU ? later(m->now_ns, m->room_ns) : m->now_ns, bytes);
	m->copies_ns = later(m->copies_ns, end_ns);
	if (a->cause != UVMP_CAUSE_EVICTION)
		return;
	if (m->host.params.policy->evict == UVMP_EVICT_LRU)
		m->root_ns[m->evict_root] = later(m->root_ns[m->evict_root], end_ns);
	else
		m->room_ns = later(m->room_ns, end_ns);
}

static void populate(struct machine *m, const struct uvmp_action *a)
{
	uint64_t bytes = (uint64_t)uvmp_mask_weight(&a->pages) * m->model->page_bytes;

	work(m, m->model->copy_ns, &m->times->migrate_ns);
	m->copies_ns = later(m->copies_ns, m->now_ns) + bytes * 1000u / m->model->zero_mb_s;
}

static void map(struct machine *m, const struct uvmp_action *a, struct sim_block *block)
{
	uint32_t pages = uvmp_mask_weight(&a->pages);
	bool is_out = a->cause == UVMP_CAUSE_EVICTION;
	uint64_t *sum = is_out ? &m->times->evict_ns : &m->times->map_ns;

	if (a->to != HOST_GPU) { /* the CPU's own page tables */
		if (a->kind == UVMP_ACTION_UNMAP)
			work(m, m->model->unmap_ns + (uint64_t)pages * m->model->unmap_page_ns,
			     &m->times->migrate_ns);
		else
			work(m, m->model->map_ns + (uint64_t)pages * m->model->map_page_ns, sum);
		uvmp_mask_andnot(&block->low[0], &block->low[0], &a->pages);
		uvmp_mask_andnot(&block->high[0], &block->high[0], &a->pages);
		if ((a->right & 1u) != 0)
			uvmp_mask_or(&block->low[0], &block->low[0], &a->pages);
		if ((a->right & 2u) != 0)
			uvmp_mask_or(&block->high[0], &block->high[0], &a->pages);
		return;
	}
	work(m, m->model->map_ns + (uint64_t)pages * m->model->map_page_ns, sum);
	/* taking rights away is waited for; giving them comes after the data */
	gpu_map(m->gpu, a->kind == UVMP_ACTION_MAP ? later(m->now_ns, m->copies_ns) : m->now_ns, block,
	        &a->pages, a->right);
}

static void replay(struct machine *m)
{
	work(m, m->model->replay_push_ns, &m->times->replay_ns);
	m->replay_ns = later(m->now_ns, m->copies_ns) + m->model->replay_ns;
	gpu_replay(m->gpu, later(m->now_ns, m->copies_ns));
}

static bool perform(struct machine *m, const struct uvmp_action *a)
{
	struct sim_block *block;

	if (!host_perform(&m->host, a, &block))
		return false;
	look_at(m, a);
	switch ((enum uvmp_action_kind)a->kind) {
	case UVMP_ACTION_BATCH:
		fetch(m, a);
		break;
	case UVMP_ACTION_ALLOCATE:
		allocate(m, a);
		break;
	case UVMP_ACTION_POPULATE:
		populate(m, a);
		break;
	case UVMP_ACTION_COPY:
		copy(m, a);
		break;
	case UVMP_ACTION_EVICT:
		m->evict_root = a->offset / ROOT_BYTES;
		work(m, m->model->evict_ns, &m->times->evict_ns);
		break;
	case UVMP_ACTION_MAP:
	case UVMP_ACTION_UNMAP:
	case UVMP_ACTION_REVOKE:
		map(m, a, block);
		break;
	case UVMP_ACTION_FLUSH:
		work(m, m->model->flush_ns + (uint64_t)a->count * m->model->flush_entry_ns,
		     &m->times->replay_ns);
		break;
	case UVMP_ACTION_REPLAY:
		replay(m);
		break;
	case UVMP_ACTION_WAIT:
		wait_until(m, a->is_update ? m->copies_ns : m->replay_ns, &m->times->replay_ns);
		break;
	case UVMP_ACTION_DONE:
		m->is_done = true;
		if (a->status != UVMP_OK)
			return host_fail(&m->host, uvmp_status_text((enum uvmp_status)a->status));
		break;
	default:
		break;
	}
	return true;
}

static bool bottom_half(struct machine *m)
{
	struct uvmp_action action;

	work(m, m->model->wakeup_ns, &m->times->fetch_ns);
	for (m->is_done = false; !m->is_done;) {
		report_faults(m);
		if (uvmp_service_next(m->host.service, m->now_ns, &action) != UVMP_OK)
			return true;
		if (!perform(m, &action))
			return false;
		uvmp_service_complete(m->host.service, action.id, UVMP_OK);
	}
	return true;
}

/* -- kernels -- */

static bool is_lost(struct machine *m)
{
	uint64_t address;
	char text[96];

	if (!gpu_is_lost(m->gpu, &address))
		return false;
	if (address == GPU_OUT_OF_MEMORY) {
		host_fail(&m->host, "out of memory");
		return true;
	}
	snprintf(text, sizeof(text), "the access to 0x%llx lies outside every range",
	         (unsigned long long)address);
	host_fail(&m->host, text);
	return true;
}

/* Lets people see how far the run is, and end it. */
static bool look_up(struct machine *m, const struct workload *workload, uint64_t accesses)
{
	struct progress_at at = {.accesses = accesses, .kernels = workload->kernels_done + 1u};

	m->host.result->accesses = accesses;
	if (interrupt_caught != 0)
		return host_fail(&m->host, "interrupted");
	progress_show(&at, 1);
	return true;
}

static bool run_kernel(struct machine *m, struct workload *workload)
{
	uint32_t idle = 0;

	if (!gpu_launch(m->gpu, workload, later(m->now_ns, gpu_now_ns(m->gpu)) + m->model->launch_ns)) {
		char text[96];

		snprintf(text, sizeof(text), "a thread block of %u warps does not fit an SM",
		         workload->warps);
		return host_fail(&m->host, text);
	}
	for (;;) {
		uint64_t fault_ns = gpu_wait(m->gpu), migrated = m->host.result->pages_migrated;
		uint64_t used = m->host.result->accesses;
		struct gpu_counts counts;

		if (is_lost(m))
			return false;
		if (gpu_is_done(m->gpu) && gpu_first_fault(m->gpu, UINT64_MAX) == NULL)
			break;
		if (fault_ns == UINT64_MAX)
			return host_fail(&m->host, "every warp waits, and no fault is left to be serviced");
		wait_until(m, fault_ns + m->model->interrupt_ns, &m->times->idle_ns);
		if (!bottom_half(m))
			return false;
		gpu_count(m->gpu, &counts);
		idle = migrated != m->host.result->pages_migrated || used != counts.accesses ? 0 : idle + 1u;
		if (!look_up(m, workload, counts.accesses))
			return false;
		if (idle == IDLE_MOST)
			return host_fail(&m->host,
			                 "no warp goes on: with this policy and memory every page leaves "
			                 "before it is used");
	}
	workload_end_kernel(workload);
	m->now_ns = later(m->now_ns, gpu_now_ns(m->gpu));
	return true;
}

static bool open_ranges(struct machine *m, struct workload *workload)
{
	for (unsigned i = 0; i < workload->ranges; i++) {
		if (!host_add_range(&m->host, &workload->range[i]))
			return false;
	}
	if (!host_open(&m->host))
		return false;
	m->root_ns = calloc(m->host.result->memory_bytes / ROOT_BYTES, sizeof(*m->root_ns));
	m->gpu = gpu_open(m->model, &m->host.space, m->host.needs_touch ? touch : NULL, m);
	return (m->root_ns && m->gpu) || host_fail(&m->host, "out of memory");
}

static bool run(struct machine *m, struct source *source)
{
	struct workload *workload = workload_of(source);

	if (!workload)
		return host_fail(&m->host, "a trace has no thread blocks: --gpu takes a --workload");
	if (!open_ranges(m, workload))
		return false;
	while (workload_launch(workload)) {
		if (!run_kernel(m, workload))
			return false;
	}
	return true;
}

bool machine_run(struct source *source, const struct model *model, const struct uvmp_policy *policy,
                 struct driver_memory memory, uint64_t seed, FILE *log, struct driver_result *result,
                 struct machine_times *times, char error[SOURCE_ERROR_MAX])
{
	struct host_params params = {.policy = policy,
	                             .memory = memory,
	                             .page_bytes = model->page_bytes,
	                             .utlbs = (model->sms + model->sms_per_utlb - 1u) / model->sms_per_utlb,
	                             .fault_entries = model->fault_entries,
	                             .seed = seed,
	                             .log = log};
	struct machine *m = calloc(1, sizeof(*m));
	struct gpu_counts counts;
	bool is_done;

	memset(times, 0, sizeof(*times));
	if (!m) {
		snprintf(error, SOURCE_ERROR_MAX, "out of memory");
		return false;
	}
	m->model = m->link.model = model;
	m->times = times;
	is_done = host_init(&m->host, &params, source, result, error) && run(m, source);
	if (m->gpu) {
		gpu_count(m->gpu, &counts);
		result->accesses = counts.accesses;
		result->pages_touched = counts.pages_touched;
		times->compute_ns = counts.busy_ns;
		times->time_ns = later(m->now_ns, gpu_now_ns(m->gpu));
	}
	host_close(&m->host, is_done);
	gpu_close(m->gpu);
	free(m->root_ns);
	free(m);
	return is_done;
}
