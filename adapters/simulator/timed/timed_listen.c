/* Reports of the GPU to the engine; timed_listen.h. */
#include "timed_listen.h"

#include "../counters.h"

static void tell_access(struct timed *m, const struct sim_block *block, uint32_t page, bool is_write)
{
	uvmp_service_access(m->system.host.service, HOST_GPU, HOST_SPACE,
			    block->shape.start + (uint64_t)page * m->system.model->page_bytes,
			    is_write ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
}

/* Accesses that were counted when they missed make the page the newest when they are done. */
static void tell_accesses(struct timed *m, const struct sim_block *block, uint32_t page, bool is_write, uint32_t accesses)
{
	if (accesses == 0)
		(void)uvmp_service_access(m->system.host.service, HOST_GPU, HOST_SPACE,
					  block->shape.start + (uint64_t)page * m->system.model->page_bytes,
					  UVMP_ACCESS_NONE);
	for (uint32_t i = 0; i < accesses; i++)
		tell_access(m, block, page, is_write);
}

/* Reports an access across the link, if the engine counts it. With holds_memory, the access is under way for the latency of
 * the memory. Where a use withdraws a victim, a load has left the SM at once. */
static void touch(void *context, struct sim_block *block, uint32_t page, bool is_write, uint32_t accesses, uint64_t now_ns)
{
	struct timed *m = context;

	if (block->staged != 0 && staged_use(&m->system.staged, block, page, now_ns))
		gpu_end_wait(m->system.gpu);
	if (m->model.holds_memory != 0 && (is_write || !m->withdraws))
		(void)uvmp_service_hold(m->system.host.service, HOST_GPU, HOST_SPACE,
					block->shape.start + (uint64_t)page * m->system.model->page_bytes,
					now_ns + m->model.memory_latency_ns);
	if (!m->counts_accesses || m->model.remote_miss_ns != 0 || !uvmp_mask_test(&block->remote, page))
		tell_accesses(m, block, page, is_write, accesses);
}

void timed_arrive(struct timed *m, const struct sim_block *block, const uvmp_mask *pages)
{
	for (uint32_t page = uvmp_mask_next_set(pages, 0); page < UVMP_MASK_BITS; page = uvmp_mask_next_set(pages, page + 1u))
		(void)uvmp_service_access(m->system.host.service, HOST_GPU, HOST_SPACE,
					  block->shape.start + (uint64_t)page * m->system.model->page_bytes,
					  UVMP_ACCESS_NONE);
}

static void arrive(void *context, const struct sim_block *block, const uvmp_mask *pages)
{
	timed_arrive(context, block, pages);
}

/* Is the page, whose access has been counted, to migrate? */
static bool miss(void *context, struct sim_block *block, uint32_t page, bool is_write)
{
	struct timed *m = context;
	bool migrates = false;

	(void)uvmp_service_miss(m->system.host.service, HOST_GPU, HOST_SPACE,
				block->shape.start + (uint64_t)page * m->system.model->page_bytes,
				is_write ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ, &migrates);
	return migrates;
}

/* A notification interrupts like a fault, and so does a page that has become hot. */
static void use_remote(void *context, struct sim_block *block, uint32_t page, bool is_write, uint32_t requests, uint64_t now_ns)
{
	struct timed *m = context;
	bool had_notes = uvmp_service_has_notes(m->system.host.service);

	if (m->counts_accesses)
		tell_access(m, block, page, is_write);
	if (m->has_counters)
		(void)counters_use(&m->system.host, block, page, requests);
	if (!had_notes && uvmp_service_has_notes(m->system.host.service))
		m->note_ns = now_ns;
}

static void busy(void *context, uint64_t from_ns, uint64_t until_ns)
{
	struct timed *m = context;

	watch_kernels_busy(&m->watch, from_ns, until_ns);
}

struct gpu_listener timed_listener(struct timed *m)
{
	const bool is_watching = m->counts_accesses || m->has_counters;

	return (struct gpu_listener){.touch = m->system.host.needs.touches ? touch : NULL,
				     .arrive = m->model.lists_arrivals != 0 ? arrive : NULL,
				     .remote = is_watching ? use_remote : NULL,
				     .miss = m->counts_accesses ? miss : NULL,
				     .busy = m->watch.observers ? busy : NULL,
				     .context = m};
}
