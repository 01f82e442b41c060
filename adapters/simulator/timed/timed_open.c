/* Opening a timed run; timed_open.h. */
#include "timed_open.h"

#include <stdio.h>

#include "array.h"
#include "engine_setup.h"
#include "../workloads/recorded.h"
#include "timed_listen.h"

/* A trace runs as a workload of its rows; ranges are added as it announces them. */
static const char *add_range(void *context, const struct source_range *range)
{
	struct timed *m = context;
	struct source_range placed = *range;
	struct host *host = &m->system.host;
	bool is_added;

	if (m->system.model->data_on_cpu != 0)
		placed.is_fresh = false;
	host->params.reads_ahead = false; /* this error is one of the row that is being read */
	is_added = host_add_range(host, &placed);
	host->params.reads_ahead = true;
	return is_added ? NULL : host->error;
}

/* A range of a built-in program, as large as the system makes it. What rounding adds is managed, prefetched and counted like the
 * rest. Ranges of a program lie so far apart that they do not meet (workload_add_range); those of a trace have the sizes that it
 * states. */
static bool add_array(struct timed *m, const struct source_range *array)
{
	const struct model *model = m->system.model;
	uint64_t unit = model->range_bytes;
	struct source_range range = *array;
	struct uvmp_allocation allocation;

	if (model->data_on_cpu != 0)
		range.is_fresh = false;
	if (unit != 0 && !range.is_device)
		range.bytes = (range.bytes + unit - 1u) / unit * unit;
	if (model->rounds_ranges != 0 && !range.is_device &&
	    uvmp_allocation_round(range.bytes, &allocation) == UVMP_OK)
		range.bytes = allocation.rounded_bytes;
	return host_add_range(&m->system.host, &range);
}

static bool open_program(struct timed *m, struct source *source)
{
	const struct model *model = m->system.model;
	struct recorded_gpu gpu = {model->sms, model->blocks_per_sm, model->warps_per_sm};
	char error[SOURCE_ERROR_MAX];

	m->workload = workload_of(source);
	if (!m->workload) {
		m->workload = m->recorded = recorded_open(source, &gpu, RECORDED_WINDOW, add_range, m, error);
		if (!m->workload)
			snprintf(m->system.host.error, SOURCE_ERROR_MAX, "%s", error);
		return m->workload != NULL;
	}
	for (unsigned i = 0; i < m->workload->ranges; i++) {
		if (!add_array(m, &m->workload->range[i]))
			return false;
	}
	return true;
}

/* Frames of a page-wise order are scattered: no entry of a TLB holds more than one of them. An order with groups puts a block
 * that arrives whole into one piece, so that each block tells. */
static void limit_entries(struct timed *m)
{
	const struct uvmp_policy *policy = m->system.host.params.run.policy;
	uint32_t unit_bytes = uvmp_policy_unit_pages(policy) * PAGE_BYTES;

	if (m->model.counts_units == 0 || host_has_roots(&m->system.host))
		return;
	m->model.checks_frames = uvmp_policy_evict_traits(policy)->has_groups;
	if (m->model.tlb_entry_bytes > unit_bytes && !m->model.checks_frames)
		m->model.tlb_entry_bytes = unit_bytes;
}

bool timed_open(struct timed *m, struct source *source)
{
	struct system *system = &m->system;

	if (!open_program(m, source) || !host_open(&system->host))
		return false;
	m->counts_accesses = system->host.needs.accesses;
	m->has_counters = setup_counts_accesses(system->host.params.run.policy, system->model->page_bytes,
						system->model->has_ats != 0);
	m->withdraws = system_withdraws(system);
	limit_entries(m);
	system->root_ns =
		array_zeros(host_capacity_bytes(&system->host) / ROOT_BYTES, sizeof(*system->root_ns));
	reclaim_init(&system->reclaim, host_capacity_bytes(&system->host) / system->model->page_bytes);
	system->gpu = gpu_open(system->model, &system->host.space, &system->link, timed_listener(m));
	if (system->gpu)
		gpu_seed(system->gpu, system->host.params.run.seed);
	return (fault_buffer_open(&system->buffer, system->model->fault_entries) && system->root_ns &&
		system->gpu) ||
	       timed_fail(m, "out of memory");
}
