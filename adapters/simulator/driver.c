/* The untimed driver: see driver.h. The engine of libuvmpolicy decides everything; here are the agents that
 * fault, the machine's view of who may touch which page (space.c), and the counting of actions. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "progress.h"
#include "host.h"
#include "uvmpolicy/uvmpolicy.h"

#define UTLBS        64u   /* agents share uTLBs: agent modulo UTLBS */
#define IDLE_MOST    1000u /* bottom halves that may serve faults and release nobody */
#define BUFFER_LEAST 1024u /* entries of the fault buffer, more if a batch is larger */
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
	struct host host;
	uint64_t now_ns;
	uint64_t throttled_until_ns; /* of the last THROTTLE, 0: none since */
	enum uvmp_status ended;      /* status of the last DONE */

	struct agent *agent;
	uint32_t agents;
	uint32_t *stalled; /* agents that wait, in the order in which they stalled */
	uint32_t stalled_count, unreported_count;
	uint64_t released; /* agents that went on */
	uint32_t idle;     /* bottom halves in a row that released nobody */
};

/* -- agents and the fault buffer -- */

static uint32_t right_on(const struct sim_block *block, uint32_t processor, uint32_t page)
{
	return (uint32_t)uvmp_mask_test(&block->low[processor], page) |
	       (uint32_t)uvmp_mask_test(&block->high[processor], page) << 1;
}

static bool can_go_on(const struct agent *a)
{
	return right_on(a->block, HOST_GPU, a->page) >= (uint32_t)uvmp_access_prot(a->access);
}

static bool buffer_write(struct driver *d, uint32_t index)
{
	struct agent *a = &d->agent[index];
	uint32_t right = right_on(a->block, HOST_GPU, a->page);
	struct uvmp_fault fault = {.address = a->block->shape.start + (uint64_t)a->page * PAGE_BYTES,
	                           .aperture = UVMP_APERTURE_VID,
	                           .utlb = index % UTLBS,
	                           .type = right == UVMP_PROT_NONE   ? UVMP_FAULT_INVALID_PTE
	                                   : right == UVMP_PROT_READ ? UVMP_FAULT_WRITE
	                                                             : UVMP_FAULT_ATOMIC,
	                           .access = (uint8_t)a->access};

	if (uvmp_service_fault(d->host.service, HOST_GPU, &fault) != UVMP_OK) {
		d->unreported_count += !a->is_unreported;
		a->is_unreported = true;
		return false;
	}
	d->unreported_count -= a->is_unreported;
	a->is_unreported = false;
	a->reported = d->host.result->replays;
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
		d->host.result->pages_touched++;
	}
	uvmp_mask_clear(&block->unused, page);
	if (d->host.needs_touch)
		uvmp_service_touch(d->host.service, HOST_GPU, HOST_SPACE,
		                   block->shape.start + (uint64_t)page * PAGE_BYTES);
}

/* A replay: agents whose page has come go on, the others fault again; first those that the full buffer kept
 * waiting. */
static void replay(struct driver *d)
{
	uint32_t kept = 0;

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
		if (d->agent[d->stalled[i]].reported != d->host.result->replays)
			buffer_write(d, d->stalled[i]);
	}
}

/* -- actions -- */

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

static bool perform(struct driver *d, const struct uvmp_action *a)
{
	struct sim_block *block;

	if (!host_perform(&d->host, a, &block))
		return false;
	switch ((enum uvmp_action_kind)a->kind) {
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
	default: /* nothing to do without time */
		break;
	}
	return true;
}

/* Performs the engine's actions up to the end of one bottom half. */
static bool pump(struct driver *d)
{
	struct uvmp_action action = {.kind = UVMP_ACTION_BATCH};

	report_waiting(d);
	while (uvmp_service_next(d->host.service, d->now_ns, &action) == UVMP_OK) {
		if (!perform(d, &action))
			return false;
		uvmp_service_complete(d->host.service, action.id, UVMP_OK);
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
	uint64_t released = d->released, fetched = d->host.result->faults_raw,
	         far_faults = d->host.result->far_faults;

	if (!pump(d))
		return false;
	if (d->host.result->faults_raw == fetched && d->released == released)
		return host_fail(
		        &d->host,
		        "this policy never services a fault: max_batches and max_throttled of 0 stop "
		        "all servicing (driver quirk Q23; quirks=0 counts them as 1)");
	if (d->released == released)
		wait_for_throttled(d);
	if (d->released != released)
		d->idle = 0;
	else if (d->host.result->far_faults !=
	         far_faults) /* not counting stale faults: many may come in a row */
		d->idle++;
	if (d->idle == IDLE_MOST)
		return host_fail(
		        &d->host,
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
		return host_fail(&d->host, "out of memory");
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
	d->host.result->accesses++;
	block = space_find(&d->host.space, row->address, &page);
	if (!block)
		return host_fail(&d->host, "an access lies outside every range");
	while (right_on(block, UVMP_CPU, page) < (uint32_t)uvmp_access_prot(row->access)) {
		enum uvmp_access access =
		        row->access <= UVMP_ACCESS_READ ? UVMP_ACCESS_READ : UVMP_ACCESS_WRITE;

		if (uvmp_service_cpu_fault(d->host.service, HOST_SPACE, row->address, access, 0, NULL) !=
		            UVMP_OK ||
		    !pump(d))
			return host_fail(&d->host, "the CPU's access cannot be served");
		if (d->ended == UVMP_ERR_RETRY)
			wait_for_throttled(d);
		else if (d->ended != UVMP_OK)
			return host_fail(&d->host, uvmp_status_text(d->ended));
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
	d->host.result->accesses++;
	block = space_find(&d->host.space, row->address, &page);
	if (!block)
		return host_fail(&d->host, "an access lies outside every range");
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

/* Lets people see how far the run is, and end it. */
static bool look_up(struct driver *d, uint64_t kernels)
{
	const struct source *source = d->host.source;
	struct progress_at at = {d->host.result->accesses, source->done,        source->total, kernels,
	                         source->kernel_done,      source->kernel_total};

	if (interrupt_caught != 0)
		return host_fail(&d->host, "interrupted");
	if (d->host.result->accesses % PROGRESS_EVERY == 0)
		progress_show(&at, 1);
	return true;
}

static bool rows(struct driver *d)
{
	struct source *source = d->host.source;
	struct source_row row;
	bool is_open = false;
	uint64_t kernels = 0;

	for (;;) {
		source->next(source, &row);
		if (!look_up(d, kernels)) /* first: what interrupts also ends the source */
			return false;
		if (row.kind == SOURCE_BAD) {
			snprintf(d->host.error, SOURCE_ERROR_MAX, "%s", source->error);
			return false;
		}
		if (row.kind == SOURCE_RANGE) {
			if (!host_add_range(&d->host, &row.range))
				return false;
			continue;
		}
		if (!is_open && !host_open(&d->host))
			return false;
		is_open = true;
		if (row.kind == SOURCE_END)
			return release_all(d);
		kernels += row.kind == SOURCE_KERNEL;
		if (row.kind == SOURCE_ACCESS ? !access_row(d, &row)
		                              : row.kind == SOURCE_SYNC && !release_all(d))
			return false;
	}
}

bool driver_run(struct source *source, const struct uvmp_policy *policy, struct driver_memory memory,
                uint64_t seed, FILE *log, struct driver_result *result, char error[SOURCE_ERROR_MAX])
{
	struct host_params params = {.policy = policy,
	                             .memory = memory,
	                             .page_bytes = PAGE_BYTES,
	                             .utlbs = UTLBS,
	                             .fault_entries = BUFFER_LEAST,
	                             .seed = seed,
	                             .log = log};
	struct driver *d = calloc(1, sizeof(*d));
	bool is_done;

	memset(result, 0, sizeof(*result));
	if (!d) {
		snprintf(error, SOURCE_ERROR_MAX, "out of memory");
		return false;
	}
	is_done = host_init(&d->host, &params, source, result, error) && rows(d);
	host_close(&d->host, is_done);
	free(d->agent);
	free(d->stalled);
	free(d);
	return is_done;
}
