/* The untimed simulator: see untimed.h. The engine of libuvmpolicy makes all decisions; here are the agents
 * that fault, the rights on pages as the GPU sees them (space.c), and the counting of actions. */
#include "untimed.h"

#include <stdlib.h>
#include <string.h>

#include "agents.h"
#include "counters.h"
#include "engine_setup.h"
#include "interrupt.h"
#include "progress.h"
#include "host.h"
#include "observe/host_events.h"
#include "stalled.h"
#include "uvmpolicy/uvmpolicy.h"

#define ROWS_AHEAD 8u

struct untimed {
	struct host host;
	uint64_t now_ns;
	uint64_t throttled_until_ns; /* of the last THROTTLE, 0: none since */
	enum uvmp_status ended;	     /* status of the last DONE, */
	uint64_t ticket;	     /* and its ticket */

	struct agents agents;
	uint64_t released;   /* agents that went on */
	uint32_t idle;	     /* bottom halves in a row that released no warp */
	bool has_counters;   /* remote accesses are counted by the GPU */
	bool may_have_notes; /* the engine has not been asked since an access was observed, or has had notes
	                        then */
	uint64_t kernel;     /* that runs, by the engine's number */
	bool has_kernel;

	struct source_row ahead[ROWS_AHEAD]; /* ring: rows that were read, */
	uint32_t row;			     /* the current one */
	uint32_t rows_read;		     /* how many are used; 0: none was read yet */
};

/* -- agents -- */

/* The engine gets every access if the policy needs them. The GPU counts those to the CPU's memory. Most
 * accesses are neither: out of line, so that they save no registers for these calls. */
__attribute__((noinline)) static void observe_access(struct untimed *d, struct sim_block *block,
						     uint32_t page, enum uvmp_access access)
{
	d->may_have_notes = true;
	if (d->host.needs.touches)
		uvmp_service_access(d->host.service, HOST_GPU, HOST_SPACE,
				    block->shape.start + (uint64_t)page * PAGE_BYTES, access);
	if (!block->had_remote || !uvmp_mask_test(&block->remote, page))
		return;
	d->host.result->remote_accesses++;
	if (d->has_counters)
		(void)counters_use(&d->host, block, page, 1);
}

static void access_page(struct untimed *d, struct sim_block *block, uint32_t page, enum uvmp_access access)
{
	if (!uvmp_mask_test(&block->touched, page)) {
		uvmp_mask_set(&block->touched, page);
		d->host.result->pages_touched++;
	}
	if (block->had_unused)
		uvmp_mask_clear(&block->unused, page);
	if (d->host.needs.touches || block->had_remote)
		observe_access(d, block, page, access);
}

/* Agents whose page has arrived continue, the others fault again. */
static void replay(struct untimed *d)
{
	const struct agent_turn *went;
	uint32_t count = agents_release(&d->agents, d->host.needs.touches, &went);

	d->now_ns += STALLED_REPLAY_NS;
	d->released += count;
	for (uint32_t i = 0; i < count; i++) {
		const struct agent *agent = &d->agents.agent[went[i].agent];

		access_page(d, agent->block, agent->page, agent->access);
	}
	agents_fault_again(&d->agents, d->host.service);
}

/* -- actions -- */

static void map(const struct host_target *target, const struct uvmp_action *a)
{
	uvmp_mask *remote = &target->block->remote;

	host_set_rights(target, a);
	if (a->to != HOST_GPU)
		return;
	if (a->kind == UVMP_ACTION_MAP && a->from == UVMP_CPU) {
		target->block->had_remote = true;
		uvmp_mask_or(remote, remote, target->pages);
	} else if (a->kind != UVMP_ACTION_REVOKE && target->block->had_remote) {
		uvmp_mask_andnot(remote, remote, target->pages);
	}
}

/* Observers count faults instead of time. */
static uint64_t clock_of(const struct untimed *d)
{
	return d->host.result->faults_raw;
}

static void transfer_all(struct untimed *d, const struct uvmp_action *a, const struct host_target *target)
{
	struct uvmp_region transfer;

	for (transfer = uvmp_action_next_transfer(a, 0); transfer.end != 0;
	     transfer = uvmp_action_next_transfer(a, transfer.end)) {
		host_transfer(&d->host, a, target, transfer);
		host_events_transfer(&d->host, OBSERVE_BOTTOM_HALF, clock_of(d), clock_of(d));
	}
}

static void tell(const struct untimed *d, struct observe_event event)
{
	event.start = event.end = clock_of(d);
	observe_tell(d->host.params.run.observers, &event);
}

/* What is no transfer. */
static void observe(struct untimed *d, const struct uvmp_action *a, const struct host_target *target)
{
	if (a->kind == UVMP_ACTION_BATCH && a->cause != UVMP_CAUSE_COUNTER)
		tell(d, (struct observe_event){
				.kind = OBSERVE_BATCH, .faults = a->faults, .merged = a->merged_faults});
	else if (a->kind == UVMP_ACTION_EVICT && a->part == 0)
		tell(d, (struct observe_event){
				.kind = OBSERVE_EVICTION, .address = a->address, .cause = a->cause});
	else if (a->kind == UVMP_ACTION_REPLAY)
		tell(d, (struct observe_event){.kind = OBSERVE_REPLAY});
	else if (a->kind == UVMP_ACTION_DISCARD)
		host_events_discard(&d->host, a, target, clock_of(d));
}

static bool perform(struct untimed *d, const struct uvmp_action *a)
{
	struct host_target target;

	if (!host_perform(&d->host, a, &target))
		return false;
	if (d->host.params.run.observers)
		observe(d, a, &target);
	switch ((enum uvmp_action_kind)a->kind) {
	case UVMP_ACTION_POPULATE:
	case UVMP_ACTION_COPY:
		transfer_all(d, a, &target);
		break;
	case UVMP_ACTION_MAP:
	case UVMP_ACTION_REVOKE:
	case UVMP_ACTION_UNMAP:
		if (a->to == HOST_GPU && !agents_see_change(&d->agents, target.block))
			return host_fail(&d->host, "out of memory");
		map(&target, a);
		break;
	case UVMP_ACTION_CLEAR:
		counters_clear(&d->host, a);
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

/* Performs the engine's actions up to the end of one bottom half. One row can cause many
 * bottom halves: a Ctrl-C does not wait for the next row. */
static bool pump(struct untimed *d)
{
	const struct uvmp_action *action;
	enum uvmp_status status;

	agents_report(&d->agents, d->host.service);
	while ((status = host_next(&d->host, d->now_ns, &action)) == UVMP_OK) {
		if (interrupt_caught != 0)
			return host_fail(&d->host, "interrupted");
		if (!perform(d, action) || !host_complete(&d->host, action, action->time_ns))
			return false;
		agents_report(&d->agents, d->host.service);
		if (action->kind == UVMP_ACTION_DONE) {
			d->ended = (enum uvmp_status)action->status;
			d->ticket = action->ticket;
			break;
		}
	}
	return status != UVMP_ERR_ARENA;
}

/* No agent continues before the throttled ones may. */
static void wait_for_throttled(struct untimed *d)
{
	if (d->throttled_until_ns > d->now_ns)
		d->now_ns = d->throttled_until_ns;
	d->throttled_until_ns = 0;
}

static bool bottom_half(struct untimed *d)
{
	uint64_t released = d->released, fetched = d->host.result->faults_raw,
		 far_faults = d->host.result->far_faults;

	if (!pump(d))
		return false;
	if (d->host.result->faults_raw == fetched && d->released == released)
		return host_fail(&d->host, HOST_NEVER_SERVICED);
	if (d->released == released)
		wait_for_throttled(d);
	if (d->released != released)
		d->idle = 0;
	else if (d->host.result->far_faults !=
		 far_faults) /* stale faults do not count: many may follow each other */
		d->idle++;
	if (d->idle == STALLED_IDLE_MOST)
		return host_fail(&d->host, HOST_NEVER_RESUMED);
	return true;
}

/* Services faults until the agent continues. */
static bool release(struct untimed *d, uint32_t index)
{
	while (d->agents.agent[index].is_stalled) {
		if (!bottom_half(d))
			return false;
	}
	return true;
}

static bool release_all(struct untimed *d)
{
	while (d->agents.stalled > 0) {
		if (!bottom_half(d))
			return false;
	}
	return true;
}

/* The same, and what else the engine has to do, as after a batch on the recording machine. */
static bool service_all(struct untimed *d)
{
	struct uvmp_service_counts before = {.size = sizeof(before)}, after = {.size = sizeof(after)};

	if (!release_all(d))
		return false;
	do {
		(void)uvmp_service_count(d->host.service, HOST_GPU, &before);
		if (!pump(d))
			return false;
		(void)uvmp_service_count(d->host.service, HOST_GPU, &after);
	} while (after.bottom_halves != before.bottom_halves);
	return true;
}

/* -- rows -- */

static void pass_time(struct untimed *d, const struct source_row *row)
{
	if (row->has_time && row->time_ns > d->now_ns)
		d->now_ns = row->time_ns;
}

/* An access of the CPU follows the pending faults of the GPU. Its fault is repeated while it is throttled. */
static bool access_cpu(struct untimed *d, const struct source_row *row)
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
	while (right_on(block, UVMP_CPU, page) < (uint32_t)uvmp_access_right(row->access)) {
		enum uvmp_access access =
			row->access <= UVMP_ACCESS_READ ? UVMP_ACCESS_READ : UVMP_ACCESS_WRITE;

		if (uvmp_service_cpu_fault(d->host.service, HOST_SPACE, row->address, access, 0, NULL) !=
		    UVMP_OK)
			return host_fail(&d->host, "the CPU's access cannot be served");
		if (!pump(d))
			return false;
		d->host.result->cpu_faults += d->ended == UVMP_OK;
		if (d->ended == UVMP_ERR_RETRY)
			wait_for_throttled(d);
		else if (d->ended != UVMP_OK)
			return host_fail(&d->host, uvmp_status_text(d->ended));
	}
	return true;
}

static bool request(struct untimed *d, const struct source_row *row, uint64_t *ticket)
{
	uint32_t processor = row->to_none ? UVMP_PROC_NONE : row->to_gpu ? HOST_GPU : UVMP_CPU;

	if (row->kind == SOURCE_FREE)
		return host_free(&d->host, row->address, row->bytes, row->is_part, ticket);
	if (row->kind == SOURCE_PREFETCH)
		return host_prefetch(&d->host, row->address, row->bytes, row->to_gpu, ticket);
	return host_advise(&d->host, row->address, row->bytes, row->advice, processor, ticket);
}

/* A free, prefetch or advice follows the pending faults of the GPU, and is complete before the program continues.
 */
static bool call(struct untimed *d, const struct source_row *row)
{
	uint64_t ticket;

	if (!release_all(d) || !request(d, row, &ticket))
		return false;
	d->ticket = 0;
	while (d->ticket != ticket) {
		if (!pump(d))
			return false;
	}
	if (d->ended != UVMP_OK)
		return host_fail_call(&d->host, row->address, row->bytes, d->ended);
	return row->kind != SOURCE_FREE || host_freed(&d->host, row->address, row->bytes);
}

static bool access_row(struct untimed *d, const struct source_row *row)
{
	struct sim_block *block;
	uint32_t page;

	if (row->is_cpu)
		return access_cpu(d, row);
	if (row->agent >= d->agents.count && !agents_grow(&d->agents, row->agent))
		return host_fail(&d->host, "out of memory");
	if (!release(d, row->agent))
		return false;
	pass_time(d, row);
	d->host.result->accesses++;
	block = space_find(&d->host.space, row->address, &page);
	if (!block)
		return host_fail(&d->host, "an access lies outside every range");
	if (right_on(block, HOST_GPU, page) >= (uint32_t)uvmp_access_right(row->access))
		access_page(d, block, page, row->access);
	else
		agents_stall(&d->agents, d->host.service, row->agent, block, page, row->access);
	return true;
}

/* Report progress; honour Ctrl-C. */
static bool look_up(struct untimed *d, uint64_t kernels)
{
	const struct source *source = d->host.source;

	if (interrupt_caught != 0)
		return host_fail(&d->host, "interrupted");
	if (d->host.result->accesses % PROGRESS_EVERY == 0) {
		struct progress_at at = {
			d->host.result->accesses, source->done,	       source->total, kernels,
			source->kernel_done,	  source->kernel_total};

		progress_show(&at, 1);
	}
	return true;
}

/* Services notifications of access counters and pages that have become hot. Only observed accesses make
 * either. */
static bool service_notes(struct untimed *d)
{
	if (!d->may_have_notes)
		return true;
	d->may_have_notes = uvmp_service_has_notes(d->host.service);
	return !d->may_have_notes || pump(d);
}

/* A kernel lasts until the next one begins, or the program waits. */
static void end_kernel(struct untimed *d)
{
	if (d->has_kernel)
		(void)uvmp_service_end_kernel(d->host.service, d->kernel, d->now_ns);
	d->has_kernel = false;
}

static void begin_kernel(struct untimed *d)
{
	end_kernel(d);
	d->has_kernel =
		uvmp_service_begin_kernel(d->host.service, HOST_GPU, d->now_ns, &d->kernel) == UVMP_OK;
}

static bool wait_for_all(struct untimed *d)
{
	if (!release_all(d))
		return false;
	end_kernel(d);
	return true;
}

static bool row_of_program(struct untimed *d, const struct source_row *row)
{
	switch (row->kind) {
	case SOURCE_ACCESS:
		return access_row(d, row) && service_notes(d);
	case SOURCE_SYNC:
		return wait_for_all(d);
	case SOURCE_KERNEL:
		begin_kernel(d);
		return true;
	case SOURCE_PREFETCH:
	case SOURCE_ADVISE:
	case SOURCE_FREE:
		return call(d, row);
	case SOURCE_BATCH:
		return service_all(d);
	default:
		return true;
	}
}

/* The next row of the source. Rows of a workload are read ahead, so that the cache has their blocks when they are used.
 * Errors in a trace name the row that was read last: its rows are read one by one. */
static const struct source_row *next_row(struct untimed *d)
{
	struct source *source = d->host.source;
	struct source_row *row = &d->ahead[d->row];

	if (d->rows_read == 0) {
		source->next(source, row);
		d->rows_read = source->line == 0 && !source->is_binary ? ROWS_AHEAD : 1u;
		for (uint32_t i = 1; i < d->rows_read; i++)
			source->next(source, &d->ahead[i]);
		return row;
	}
	source->next(source, row);
	if (row->kind == SOURCE_ACCESS)
		space_prefetch(&d->host.space, row->address);
	d->row++;
	if (d->row == d->rows_read)
		d->row = 0;
	return &d->ahead[d->row];
}

/* False: the run is over. */
static bool take_row(struct untimed *d, const struct source_row *row)
{
	if (row->kind == SOURCE_RANGE)
		return host_add_range(&d->host, &row->range);
	if (!d->host.service && !host_open(&d->host))
		return false;
	return row_of_program(d, row);
}

static bool rows(struct untimed *d)
{
	uint64_t kernels = 0;

	for (;;) {
		const struct source_row *row = next_row(d);

		if (!look_up(d, kernels)) /* first: what interrupts also ends the source */
			return false;
		if (row->kind == SOURCE_BAD) {
			snprintf(d->host.error, SOURCE_ERROR_MAX, "%s", d->host.source->error);
			return false;
		}
		if (!take_row(d, row))
			return false;
		if (row->kind == SOURCE_END)
			return release_all(d);
		kernels += row->kind == SOURCE_KERNEL;
	}
}

bool untimed_run(struct source *source, const struct sim_run *run, struct sim_result *result,
		 char error[SOURCE_ERROR_MAX])
{
	struct host_params params = {.run = *run,
				     .page_bytes = PAGE_BYTES,
				     .utlbs = SETUP_UTLBS,
				     .fault_entries = setup_fault_entries(run->policy)};
	struct untimed *d = calloc(1, sizeof(*d));
	bool is_done;

	memset(result, 0, sizeof(*result));
	if (!d) {
		snprintf(error, SOURCE_ERROR_MAX, "out of memory");
		return false;
	}
	d->has_counters = setup_counts_accesses(run->policy, PAGE_BYTES, false);
	is_done = host_init(&d->host, &params, source, result, error) && rows(d);
	host_close(&d->host, is_done);
	agents_close(&d->agents);
	free(d);
	return is_done;
}
