/* Creation and destruction of a pager. */
#include "engine_setup.h"
#include "pager_internal.h"
#include "store_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CUTS_MOST    2048u /* of memory by advice; each adds a range and a block to the engine */
#define AREAS_MOST   8192u /* at a time */
#define LARGE_PAGE   65536u
#define TIMES_BUDGET 64u /* default of managed memory */
/* The engine's limit of managed memory (service.h), less the blocks that ranges may need. */
#define BLOCKS_MOST ((1u << 24) - CUTS_MOST - AREAS_MOST)
#define SEED	    1u	  /* as in uvmsim */
#define FAULT_PAGES 5u	  /* cost of a fault, in copies of a page: docs/pager.md, Which policy */
#define SAMPLE_MOST 4096u /* pages */
/* Arena for what the engine may keep of a block beside the usual (service.h); memory is used only when
 * needed. */
#define EACH_BYTES 45056u

void uvmp_pager_config_init_size(struct uvmp_pager_config *config, size_t size)
{
	const struct uvmp_pager_config defaults = {.page_bytes = 4096, .batch_threads = 1};

	sized_copy(config, size, &defaults, sizeof(defaults));
}

static int check(const struct uvmp_pager_config *c, struct text error)
{
	uint64_t most = (uint64_t)1 << 46;

	if (c->budget_bytes < UVMP_PAGER_BUDGET_LEAST)
		return text_refuse(
			error, -EINVAL,
			"budget: %llu bytes are not accepted; 8 MiB and more: one instruction may need "
			"four VABlocks at once",
			(unsigned long long)c->budget_bytes);
	if (c->budget_bytes > most)
		return text_refuse(error, -EINVAL, "budget: %llu bytes are not accepted; 64 TiB at most",
				   (unsigned long long)c->budget_bytes);
	if (c->managed_bytes != 0 && (c->managed_bytes < BLOCK_BYTES || c->managed_bytes > most))
		return text_refuse(error, -EINVAL,
				   "managed memory: %llu bytes are not accepted; 2 MiB and more",
				   (unsigned long long)c->managed_bytes);
	if (c->page_bytes != 4096 && c->page_bytes != 65536)
		return text_refuse(error, -EINVAL, "pages of %u bytes are not accepted; 4096 65536",
				   c->page_bytes);
	if (c->sample_pages > SAMPLE_MOST)
		return text_refuse(error, -EINVAL, "a sample of %u pages is not accepted; 0..%u",
				   c->sample_pages, SAMPLE_MOST);
	if (c->batch_threads < 1 || c->batch_threads > 16)
		return text_refuse(error, -EINVAL, "%u threads are not accepted; 1..16", c->batch_threads);
	return 0;
}

static int take_policy(struct uvmp_pager *p, const struct uvmp_pager_config *c, struct text error)
{
	const char *text = c->policy ? c->policy : getenv("UVMP_POLICY");
	char evictors[UVMP_POLICY_EVICTORS_MAX];
	struct uvmp_needs needs = {.size = sizeof(needs)};
	struct uvmp_policy_error what;

	if (!text)
		text = c->page_bytes == KERNEL_PAGE ? UVMP_PAGER_POLICY : UVMP_PAGER_POLICY_64K;
	uvmp_policy_init(&p->policy);
	if (uvmp_policy_parse_plugins(text, strlen(text), c->plugins, &p->policy, &what) != UVMP_OK)
		return text_refuse(error, -EINVAL, "policy: %s", what.text);
	if (p->policy.prefetch.prefetcher == UVMP_PREFETCH_AUTO && p->policy.prefetch.auto_fault == 0)
		p->policy.prefetch.auto_fault = FAULT_PAGES;
	uvmp_policy_needs(&p->policy, &needs);
	p->wants_touches = needs.touches;
	if ((needs.page_bytes & c->page_bytes) == 0) {
		uvmp_policy_evictors(c->page_bytes, evictors, sizeof(evictors));
		return text_refuse(error, -EINVAL, "policy: with pages of %u bytes only evict=%s work",
				   c->page_bytes, evictors);
	}
	if (p->policy.replay.max_batches == 0 && p->policy.quirks)
		return text_refuse(error, -EINVAL, "policy: max_batches=0 services no fault");
	return 0;
}

/* A policy may assume compressed memory, which holds more than its size. Here the budget is what the
 * engine's memory holds. */
static uint64_t memory_for(const struct uvmp_policy *policy, uint64_t budget)
{
	uint64_t bytes = budget * 100u / policy->memory_ratio / LARGE_PAGE * LARGE_PAGE;

	return bytes < BLOCK_BYTES ? BLOCK_BYTES : bytes;
}

static int open_engine(struct uvmp_pager *p, uint64_t budget, uint64_t managed, struct text error)
{
	uint64_t held = memory_for(&p->policy, budget);
	struct uvmp_processors processors = {.count = 2, .can_access = {1u, 2u}, .native_atomics = {1u, 2u}};
	struct uvmp_service_gpu gpu = {
		.size = sizeof(gpu),
		.memory_bytes = held,
		.fault_entries = setup_fault_entries(&p->policy),
		.utlbs = SETUP_UTLBS};
	struct uvmp_service_params params = {.size = sizeof(params),
					     .policy = &p->policy,
					     .processors = &processors,
					     .gpu = &gpu,
					     .page_bytes = p->page_bytes,
					     .blocks = (uint32_t)(managed / BLOCK_BYTES),
					     .spaces = 1,
					     .instances = 1,
					     .requests = 16,
					     .seed = SEED,
					     .memory_is_zero = true};
	struct uvmp_service_error wrong;
	size_t size;

	params.ranges = CUTS_MOST + (params.blocks < AREAS_MOST ? params.blocks : AREAS_MOST);
	params.blocks += params.ranges;
	p->fault_capacity = gpu.fault_entries - 1u;
	gpu.splits = setup_splits(params.blocks, setup_capacity_bytes(&p->policy, held, p->page_bytes));
	size = uvmp_service_size(&params, params.blocks);
	if (uvmp_service_params_check(&params, &wrong) != UVMP_OK)
		return text_refuse(error, -EINVAL,
				   "budget or managed memory is too large for this policy: %s", wrong.text);
	if (size == 0)
		return text_refuse(error, -EINVAL, "budget or managed memory is too large for this policy");
	p->arena_bytes = size + (size_t)params.blocks * EACH_BYTES;
	p->arena = mmap(NULL, p->arena_bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p->arena == MAP_FAILED) {
		p->arena = NULL;
		return text_refuse(error, -ENOMEM, "no address space for the engine");
	}
	if (uvmp_service_init(&params, p->arena, p->arena_bytes, &p->service) != UVMP_OK)
		return text_refuse(error, -EINVAL, "the policy does not work with this memory");
	uvmp_service_bind(p->service, GPU, UVMP_APERTURE_VID, 0, 0, SPACE);
	return 0;
}

static int open_trace(struct uvmp_pager *p, const struct uvmp_pager_config *c, struct text error)
{
	char policy[UVMP_POLICY_TEXT_MAX];
	int status;

	if (!c->trace)
		return 0;
	p->trace = trace_file_open(c->trace, &status);
	if (status == -ENOTSUP)
		return text_refuse(error, status, "%s cannot be compressed: built without zstd", c->trace);
	if (!p->trace)
		return text_refuse(error, status, "%s: %s", c->trace, strerror(-status));
	uvmp_pager_policy(p, policy, sizeof(policy));
	trace_file_comment(p->trace, "recorded by the pager of libuvmpolicy from %s",
			   program_invocation_short_name);
	trace_file_comment(p->trace, "uvmsim run --memory %llu --policy '%s'",
			   (unsigned long long)c->budget_bytes, policy);
	trace_file_comment(p->trace, "pages of %u bytes; %u resident ones sampled every %u ms", p->page_bytes,
			   p->sample.pages, SAMPLE_MS);
	trace_file_flush(p->trace);
	return 0;
}

static const char *why_no_userfaultfd(const struct uvmp_pager *p, int status)
{
	if (status != -ENOTSUP)
		return strerror(-status);
	return p->store->is_mapped
		       ? "store map needs UFFDIO_CONTINUE for memory files, which this kernel does not have "
			 "(Linux 5.14 does)"
		       : "this kernel cannot write-protect pages, which keeps writes from being lost (Linux "
			 "5.7 "
			 "can); store map works without";
}

/* Managed memory that the engine can number: in blocks and in units of the eviction order, beside those
 * that ranges may need. */
static uint64_t managed_most(const struct uvmp_policy *policy)
{
	uint64_t blocks = BLOCKS_MOST;
	uint64_t numbered = UVMP_UNITS_MAX / (UVMP_MASK_BITS / uvmp_policy_unit_pages(policy));

	if (!uvmp_policy_evict_traits(policy)->is_chunked && numbered - CUTS_MOST - AREAS_MOST < blocks)
		blocks = numbered - CUTS_MOST - AREAS_MOST;
	return blocks * BLOCK_BYTES;
}

/* Whole blocks. */
static uint64_t managed_for(const struct uvmp_pager *p, const struct uvmp_pager_config *c)
{
	uint64_t most = managed_most(&p->policy);
	uint64_t bytes = c->managed_bytes != 0 ? c->managed_bytes : TIMES_BUDGET * c->budget_bytes;

	return (bytes < most ? bytes : most) / BLOCK_BYTES * BLOCK_BYTES;
}

static int open_all(struct uvmp_pager *p, const struct uvmp_pager_config *c, struct text error)
{
	char text[256] = "";
	int status = take_policy(p, c, error);
	uint64_t managed = status == 0 ? managed_for(p, c) : 0;

	if (status == 0 && c->managed_bytes > managed_most(&p->policy))
		return text_refuse(
			error, -EINVAL,
			"managed memory (managed_bytes, --managed): %llu bytes are not accepted; %llu at "
			"most with evict=%s",
			(unsigned long long)c->managed_bytes, (unsigned long long)managed_most(&p->policy),
			uvmp_policy_evict_name(&p->policy));
	if (status == 0 && c->budget_bytes > managed_most(&p->policy))
		return text_refuse(
			error, -EINVAL, "budget: %llu bytes are not accepted; %llu at most with evict=%s",
			(unsigned long long)c->budget_bytes, (unsigned long long)managed_most(&p->policy),
			uvmp_policy_evict_name(&p->policy));
	if (status == 0)
		status = open_engine(p, c->budget_bytes, managed, error);
	if (status != 0)
		return status;
	if (!p->store)
		p->store = uvmp_store_open(c->store ? c->store : "mem", managed / UVMP_STORE_PAGE_BYTES,
					   &status, text, sizeof(text));
	if (!p->store)
		return text_refuse(error, status, "%s", text);
	p->areas.most = managed;
	p->areas.page_bytes = p->page_bytes;
	p->bounce = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p->bounce == MAP_FAILED) {
		p->bounce = NULL;
		return text_refuse(error, -ENOMEM, "out of memory");
	}
	status = uffd_open(&p->uffd, c->is_user_mode, p->store->is_mapped);
	if (status != 0)
		return text_refuse(error, status, "userfaultfd: %s", why_no_userfaultfd(p, status));
	p->start_ns = pager_now_ns();
	status = sample_open(&p->sample, p->uffd.is_mapped ? 0 : c->sample_pages, p->page_bytes);
	if (status != 0)
		return text_refuse(error, status, "out of memory");
	status = open_trace(p, c, error);
	if (status != 0)
		return status;
	status = pager_start(p, c->batch_threads);
	return status == 0 ? 0 : text_refuse(error, status, "no thread: %s", strerror(-status));
}

static void close_all(struct uvmp_pager *p)
{
	pager_stop(p);
	(void)trace_file_close(p->trace);
	p->trace = NULL;
	for (size_t i = 0; i < p->areas.count; i++)
		mapping_unmap(p, p->areas.area[i]);
	areas_close(&p->areas);
	if (p->uffd.fd >= 0)
		close(p->uffd.fd);
	if (p->store)
		p->store->close(p->store);
	if (p->arena)
		munmap(p->arena, p->arena_bytes);
	for (uint32_t i = 0; i < SEGMENTS_MORE && p->segment[i]; i++)
		munmap(p->segment[i], p->arena_bytes);
	if (p->bounce)
		munmap(p->bounce, BLOCK_BYTES);
	pthread_mutex_destroy(&p->lock);
	free(p->stalled.fault);
	free(p->pending);
	free(p->moved);
	sample_close(&p->sample);
	threads_close(&p->threads);
	free(p);
}

/* Does the caller set a field that this library does not know? */
static bool is_beyond(const struct uvmp_pager_config *c, size_t size)
{
	const unsigned char *byte = (const unsigned char *)c;

	for (size_t i = sizeof(*c); i < size; i++) {
		if (byte[i] != 0)
			return true;
	}
	return false;
}

/* `is_newer`: the caller's configuration has values that this library does not know. */
static int create(const struct uvmp_pager_config *c, bool is_newer, struct uvmp_pager **pager, char *text,
		  size_t text_bytes)
{
	struct text error = {text, text ? text_bytes : 0};
	struct uvmp_pager *p = c && pager ? calloc(1, sizeof(*p)) : NULL;
	int status;

	if (!p && c && c->own_store)
		c->own_store->close(c->own_store);
	if (!c || !pager)
		return text_refuse(error, -EINVAL, "no configuration");
	if (!p)
		return text_refuse(error, -ENOMEM, "out of memory");
	pthread_mutex_init(&p->lock, NULL);
	p->uffd.fd = -1;
	p->store = c->own_store;
	p->thread_began = c->thread_began;
	p->log = c->log;
	p->logs_completions = c->logs_completions;
	p->page_bytes = c->page_bytes;
	p->stats.budget_bytes = c->budget_bytes / BLOCK_BYTES * BLOCK_BYTES;
	status = is_newer ? text_refuse(error, -EINVAL, "the configuration has fields that this library does not have")
			  : check(c, error);
	if (status == 0)
		status = open_all(p, c, error);
	if (status != 0) {
		close_all(p);
		return status;
	}
	pager_list_add(p);
	*pager = p;
	return 0;
}

int uvmp_pager_create_size(const struct uvmp_pager_config *c, size_t size, struct uvmp_pager **pager, char *text,
			   size_t text_bytes)
{
	struct uvmp_pager_config config;
	struct pager_caller caller;
	int status;

	if (c)
		sized_copy(&config, sizeof(config), c, size);
	pager_block_signals(&caller);
	status = create(c ? &config : NULL, c && is_beyond(c, size), pager, text, text_bytes);
	pager_restore_signals(&caller);
	return status;
}

void uvmp_pager_destroy(struct uvmp_pager *p)
{
	struct pager_caller caller;

	if (!p)
		return;
	pager_block_signals(&caller);
	pager_list_remove(p);
	close_all(p);
	pager_restore_signals(&caller);
}
